#include "trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { NS_PER_S = 1000000000 };

static const turn_record *record(const trace *t, size_t arm_i, int64_t agent, int64_t turn) {
    return &t->p->arms[arm_i].sim.turns[(agent - 1) * t->p->scenario->work.H + turn - 1];
}

/* ---- one turn ---- */

static size_t keep(const trace *t, span s, span *out, size_t n) {
    bool nothing = s.start_ns == s.end_ns && s.tokens == 0;
    if (nothing || !span_in(&s, t->o.window)) return n;
    out[n] = s;
    return n + 1;
}

/* When the request is sent that waits for the tool behind this turn; false: none does. */
static bool next_send(const trace *t, size_t arm_i, int64_t agent, int64_t turn, int64_t *ns) {
    const workload *w = &t->p->scenario->work;
    bool own = turn < w->H, other = w->one_after_another && agent < w->K;
    if (!own && !other) return false;
    *ns = (own ? record(t, arm_i, agent, turn + 1) : record(t, arm_i, agent + 1, 1))->send_ns;
    return true;
}

size_t trace_turn(const trace *t, size_t arm_i, int64_t agent, int64_t turn,
                  span out[TRACE_TURN_SPANS_MAX]) {
    const workload *w = &t->p->scenario->work;
    const turn_record *r = record(t, arm_i, agent, turn);
    int64_t next_ns, output_tok = workload_out_tok(w, agent - 1, turn);
    size_t n = 0;
    n = keep(t, (span){r->send_ns, r->start_ns, SPAN_QUEUE, 0, 0}, out, n);
    n = keep(t, (span){r->start_ns, r->first_ns, SPAN_PREFILL, 0, r->computed_tok}, out, n);
    /* the first token ends the prefill */
    n = keep(t, (span){r->first_ns, r->done_ns, SPAN_DECODE, 0, output_tok - 1}, out, n);
    if (next_send(t, arm_i, agent, turn, &next_ns))
        n = keep(t, (span){next_ns - w->tool_latency_ns, next_ns, SPAN_TOOL, 0, 0}, out, n);
    return n;
}

/* The first of the device's recorded spans that starts at `ns` or later. */
static size_t first_from(const span_list *l, int64_t ns) {
    size_t lo = 0, hi = l->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (l->v[mid].start_ns < ns)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool prefill_at(const trace *t, size_t arm_i, int64_t ns) {
    const span_list *l = &t->device[arm_i];
    for (size_t i = first_from(l, ns); i < l->n && l->v[i].start_ns == ns; i++)
        if (l->v[i].kind == SPAN_PREFILL && span_in(&l->v[i], t->o.window)) return true;
    return false;
}

bool trace_turn_flow(const trace *t, size_t arm_i, int64_t agent, int64_t turn, trace_flow *out) {
    const turn_record *r = record(t, arm_i, agent, turn);
    span own[TRACE_TURN_SPANS_MAX];
    bool has[SPAN_KINDS_N] = {false}, waited = r->start_ns > r->send_ns;
    size_t n = trace_turn(t, arm_i, agent, turn, own);
    for (size_t i = 0; i < n; i++) has[own[i].kind] = true;
    *out = (trace_flow){r->send_ns, r->start_ns, prefill_at(t, arm_i, r->start_ns)};
    if (!has[waited ? SPAN_QUEUE : SPAN_PREFILL]) return false;
    return out->to_device || (waited && has[SPAN_PREFILL]);
}

/* ---- how much it is ---- */

/* Events of the arms recorded so far, if the window ended at to_ns. It grows with to_ns, and where
 * a list is full it is too many. */
static int64_t events_n(const trace *given, int64_t to_ns) {
    trace t = *given;
    const workload *w = &t.p->scenario->work;
    span own[TRACE_TURN_SPANS_MAX];
    trace_flow f;
    int64_t n = 0;
    t.o.window.to_ns = to_ns;
    for (size_t i = 0; i < t.arms_n; i++) {
        n += (int64_t)first_from(&t.device[i], to_ns);
        if (!t.o.rows_only) n += 2 + 1 + w->K; /* name and label of the arm, names of its tracks */
        for (int64_t k = 1; k <= w->K; k++)
            for (int64_t h = 1; h <= w->H && record(&t, i, k, h)->send_ns < to_ns; h++) {
                n += (int64_t)trace_turn(&t, i, k, h, own);
                if (!t.o.rows_only && trace_turn_flow(&t, i, k, h, &f)) n += 2;
            }
    }
    return n;
}

/* The latest end at which the events fit; from_ns when there is none. */
static int64_t latest_end(const trace *t) {
    int64_t lo = t->o.window.from_ns, hi = t->o.window.to_ns;
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (events_n(t, mid) <= t->o.most_n)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Seconds, exactly, without trailing zeros. */
static void print_s(int64_t ns, char *out, size_t cap) {
    int n = snprintf(out, cap, "%" PRId64 ".%09" PRId64, ns / NS_PER_S, ns % NS_PER_S);
    while (out[n - 1] == '0') out[--n] = '\0';
    if (out[n - 1] == '.') out[--n] = '\0';
}

static err_code too_many(const trace *t, int64_t fits_ns, err *e) {
    char from[40], to[40];
    if (fits_ns == t->o.window.from_ns)
        return err_set(e, E_LIMIT, t->p->scenario->id,
                       "found more than %lld trace events in any window, expected fewer arms "
                       "(--arm NAME) or agents",
                       (long long)t->o.most_n);
    print_s(t->o.window.from_ns, from, sizeof from);
    print_s(fits_ns, to, sizeof to);
    return err_set(e, E_LIMIT, t->p->scenario->id,
                   "found more than %lld trace events; --trace-window %s:%s fits, or fewer arms "
                   "(--arm NAME)",
                   (long long)t->o.most_n, from, to);
}

err_code trace_new(const projection *p, trace_options o, arena *mem, trace *out, err *e) {
    *out = (trace){.p = p, .o = o, .device = ARENA_ARRAY(mem, span_list, p->arms_n)};
    if (!out->device) return err_set(e, E_LIMIT, p->scenario->id, "does not fit the memory budget");
    bool over = false;
    for (size_t i = 0; i < p->arms_n; i++) {
        /* one more than fit: a full list says that it is too many */
        out->device[i] = span_list_new(out->o.window, (size_t)o.most_n + 1);
        out->arms_n = i + 1;
        if (project_record(p, i, &out->device[i], e)) return e->code;
        if (events_n(out, out->o.window.to_ns) <= o.most_n) {
            assert(!out->device[i].more); /* nothing is left out unsaid */
            continue;
        }
        /* what does not fit now fits no better with more arms: they need not be recorded beyond */
        over = true;
        out->o.window.to_ns = latest_end(out);
    }
    return over ? too_many(out, out->o.window.to_ns, e) : OK;
}

void trace_done(trace *t) {
    for (size_t i = 0; i < t->arms_n; i++) span_list_free(&t->device[i]);
    t->arms_n = 0;
}
