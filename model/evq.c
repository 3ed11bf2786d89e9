#include "evq.h"

#include <assert.h>

struct evq {
    event *heap;
    size_t n, cap;
    uint64_t next_seq;
};

static bool before(const event *a, const event *b) {
    if (a->t_ns != b->t_ns) return a->t_ns < b->t_ns;
    if (a->kind != b->kind) return a->kind < b->kind;
    return a->seq < b->seq;
}

static void swap(event *a, event *b) {
    event t = *a;
    *a = *b;
    *b = t;
}

evq *evq_new(arena *mem, size_t capacity) {
    evq *q = ARENA_NEW(mem, evq);
    if (!q) return NULL;
    q->heap = ARENA_ARRAY(mem, event, capacity);
    q->cap = capacity;
    return q->heap ? q : NULL;
}

void evq_push(evq *q, event ev) {
    assert(q->n < q->cap);
    ev.seq = q->next_seq++;
    size_t i = q->n++;
    q->heap[i] = ev;
    for (; i > 0 && before(&q->heap[i], &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&q->heap[i], &q->heap[(i - 1) / 2]);
}

event evq_pop(evq *q) {
    assert(q->n > 0);
    event top = q->heap[0];
    q->heap[0] = q->heap[--q->n];
    for (size_t i = 0;;) {
        size_t least = i, l = 2 * i + 1, r = l + 1;
        if (l < q->n && before(&q->heap[l], &q->heap[least])) least = l;
        if (r < q->n && before(&q->heap[r], &q->heap[least])) least = r;
        if (least == i) return top;
        swap(&q->heap[i], &q->heap[least]);
        i = least;
    }
}

const event *evq_peek(const evq *q) {
    return q->n ? &q->heap[0] : NULL;
}

size_t evq_size(const evq *q) {
    return q->n;
}
