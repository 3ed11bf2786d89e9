#include "spans.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_CAP = 256 };

const char *const SPAN_KIND_NAMES[SPAN_KINDS_N] = {"queue", "prefill",  "decode",
                                                   "tool",  "constant", "host"};

bool span_in(const span *s, span_window w) {
    if (s->start_ns >= w.to_ns) return false;
    return s->end_ns > w.from_ns || (s->start_ns == s->end_ns && s->start_ns == w.from_ns);
}

span_list span_list_new(span_window w, size_t most_n) {
    return (span_list){.window = w, .most_n = most_n};
}

static void keep(span_list *l, const span *s) {
    if (l->failed || !span_in(s, l->window)) return;
    if (l->n == l->most_n) {
        l->more = true;
        return;
    }
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : FIRST_CAP;
        span *grown = realloc(l->v, cap * sizeof *grown);
        if (!grown) {
            l->failed = true;
            return;
        }
        l->v = grown;
        l->cap = cap;
    }
    l->v[l->n++] = *s;
}

void span_list_add(span_list *l, span s) {
    if (!l || (s.start_ns == s.end_ns && s.tokens == 0)) return;
    assert(s.start_ns <= s.end_ns);
    /* a server samples slot by slot: one span for the whole of it, not one a slot */
    if (l->open && s.kind == SPAN_HOST && l->last.kind == SPAN_HOST &&
        l->last.end_ns == s.start_ns) {
        l->last.end_ns = s.end_ns;
        return;
    }
    if (l->open) {
        assert(l->last.end_ns <= s.start_ns);
        keep(l, &l->last);
    }
    l->last = s;
    l->open = true;
}

err_code span_list_end(span_list *l, const char *where, err *e) {
    if (l->open) keep(l, &l->last);
    l->open = false;
    return l->failed ? err_set(e, E_NOMEM, where, "out of memory") : OK;
}

void span_list_free(span_list *l) {
    free(l->v);
    *l = (span_list){0};
}
