#include "evq.h"

#include <criterion/criterion.h>
#include <signal.h>

enum { CAPACITY = 600 };

static arena *mem;

static void set_up(void) {
    mem = arena_new(4 * 1024 * 1024);
}

static void tear_down(void) {
    arena_free(mem);
}

TestSuite(evq, .init = set_up, .fini = tear_down);

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* What the queue should hold, as an unsorted list; `order` counts pushes. Shares no code with the
 * heap. */
typedef struct pending {
    int64_t t_ns, agent;
    int rank;
    uint64_t order;
} pending;

/* The documented total order: time, then rank, then first in. */
static bool earlier(const pending *a, const pending *b) {
    if (a->t_ns < b->t_ns) return true;
    if (a->t_ns > b->t_ns) return false;
    if (a->rank < b->rank) return true;
    return a->rank == b->rank && a->order < b->order;
}

static size_t first_of(const pending *p, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (earlier(&p[i], &p[best])) best = i;
    return best;
}

static bool same(const event *ev, const pending *p) {
    return ev->t_ns == p->t_ns && (int)ev->kind == p->rank && ev->agent == p->agent;
}

/* Times from a small range give many ties, so rank and order decide often. */
static pending random_event(uint64_t *state, uint64_t order, int64_t range) {
    return (pending){.t_ns = (int64_t)(next(state) % (uint64_t)range),
                     .rank = next(state) % 2 ? EV_SEND : EV_DEVICE_DONE,
                     .agent = (int64_t)order,
                     .order = order};
}

static void run_random(uint64_t seed, int64_t range) {
    static pending list[CAPACITY];
    evq *q = evq_new(mem, CAPACITY);
    uint64_t state = seed, order = 0;
    size_t n = 0;
    for (int op = 0; op < 3000; op++) {
        bool push = n == 0 || (n < CAPACITY && next(&state) % 100 < 55);
        if (push) {
            pending p = random_event(&state, order++, range);
            evq_push(q, (event){.t_ns = p.t_ns, .kind = (event_kind)p.rank, .agent = p.agent});
            list[n++] = p;
        } else {
            size_t i = first_of(list, n);
            event ev = evq_pop(q);
            cr_assert(same(&ev, &list[i]), "seed %zu op %d", (size_t)seed, op);
            list[i] = list[--n];
        }
        cr_assert_eq(evq_size(q), n, "seed %zu op %d", (size_t)seed, op);
        const event *top = evq_peek(q);
        cr_assert_eq(top == NULL, n == 0);
        if (top) cr_assert(same(top, &list[first_of(list, n)]), "seed %zu op %d", (size_t)seed, op);
    }
}

Test(evq, the_earliest_is_on_top_after_every_operation) {
    for (uint64_t seed = 1; seed <= 12; seed++) run_random(seed, seed % 3 ? 5 : INT64_MAX / 2);
}

/* Insertion sort: slow, stable and obviously right. */
static void insertion_sort(pending *p, size_t n) {
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && earlier(&p[j], &p[j - 1]); j--) {
            pending t = p[j];
            p[j] = p[j - 1];
            p[j - 1] = t;
        }
}

Test(evq, drains_in_the_order_of_an_independent_sort) {
    static pending list[CAPACITY];
    for (size_t n = 0; n <= CAPACITY; n += n < 20 ? 1 : 97) {
        evq *q = evq_new(mem, CAPACITY);
        uint64_t state = 1000 + n;
        for (size_t i = 0; i < n; i++) {
            list[i] = random_event(&state, i, 7);
            evq_push(q, (event){.t_ns = list[i].t_ns,
                                .kind = (event_kind)list[i].rank,
                                .agent = list[i].agent});
        }
        insertion_sort(list, n);
        for (size_t i = 0; i < n; i++) {
            event ev = evq_pop(q);
            cr_assert(same(&ev, &list[i]), "n %zu place %zu", n, i);
        }
        cr_assert_null(evq_peek(q));
    }
}

Test(evq, ties_by_rank_then_first_in_first_out) {
    evq *q = evq_new(mem, 8);
    evq_push(q, (event){.t_ns = 5, .kind = EV_SEND, .agent = 1});
    evq_push(q, (event){.t_ns = 5, .kind = EV_SEND, .agent = 2});
    evq_push(q, (event){.t_ns = 5, .kind = EV_DEVICE_DONE, .agent = 3});
    evq_push(q, (event){.t_ns = 4, .kind = EV_SEND, .agent = 4});
    evq_push(q, (event){.t_ns = 5, .kind = EV_SEND, .agent = 5});
    static const int64_t WANT[] = {4, 3, 1, 2, 5};
    for (size_t i = 0; i < 5; i++) cr_assert_eq(evq_pop(q).agent, WANT[i], "place %zu", i);
}

/* `seq` belongs to the queue: what the caller writes there must not decide. */
Test(evq, seq_is_set_by_push) {
    evq *q = evq_new(mem, 4);
    evq_push(q, (event){.t_ns = 1, .kind = EV_SEND, .agent = 1, .seq = 900});
    evq_push(q, (event){.t_ns = 1, .kind = EV_SEND, .agent = 2, .seq = 0});
    event a = evq_pop(q), b = evq_pop(q);
    cr_assert_eq(a.agent, 1);
    cr_assert_lt(a.seq, b.seq);
}

/* First in, first out has to survive emptying the queue: seq does not start over. */
Test(evq, order_survives_an_empty_queue) {
    evq *q = evq_new(mem, 2);
    evq_push(q, (event){.t_ns = 1});
    uint64_t first = evq_pop(q).seq;
    evq_push(q, (event){.t_ns = 1});
    cr_assert_gt(evq_pop(q).seq, first);
}

Test(evq, push_over_capacity_is_a_bug, .signal = SIGABRT) {
    evq *q = evq_new(mem, 1);
    evq_push(q, (event){.t_ns = 1});
    evq_push(q, (event){.t_ns = 2});
}

Test(evq, pop_of_nothing_is_a_bug, .signal = SIGABRT) {
    evq_pop(evq_new(mem, 1));
}

Test(evq, memory_short_gives_null) {
    arena *tiny = arena_new(128);
    cr_assert_null(evq_new(tiny, 1000));
    arena_free(tiny);
}
