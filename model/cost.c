#include "cost.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct cost {
    const arm *arm;
    const workload *work;
    decode_curve decode;
    prefill_curve prefill;
    bool decode_from_card, prefill_from_card; /* the curve is fitted */
    /* decode_gain_card: own B = 1 step times the other card's step(B) / step(1) at gain_context_tok
     */
    decode_curve gain;
    bool has_gain;
    double own_step1_s;
    double host_step_s;
    double context_s; /* declared decode attention, < 0: from the card */
};

static int64_t to_ns(double s) {
    assert(isfinite(s) && s >= 0);
    double ns = s * 1e9;
    return ns < (double)TIME_MAX_NS ? (int64_t)llround(ns) : TIME_MAX_NS;
}

const assumption *cost_assumes(const cost *c, term what) {
    return arm_assumes(c->arm, what);
}

static double declared(const cost *c, term what, double otherwise) {
    const assumption *a = cost_assumes(c, what);
    return a ? a->value : otherwise;
}

/* ---- set-up: what is missing is refused here, so that prices cannot fail ---- */

static err_code refuse_batch(const cost *c, int64_t batch_max, err *e) {
    char sizes[64];
    snprintf(sizes, sizeof sizes, batch_max > 2 ? "1,2,%lld" : "1,%lld", (long long)batch_max);
    return err_set(
        e, E_REFUSED, c->arm->card->id,
        "decode is known at one batch size only, but arm \"%s\" decodes up to %lld sequences "
        "together: "
        "measure `llama-batched-bench -npl %s`, or declare decode_gain_card or decode_tok_s with "
        "gain_per_seq_frac",
        c->arm->name, (long long)batch_max, sizes);
}

static err_code set_up_gain(cost *c, arena *mem, err *e) {
    const assumption *g = cost_assumes(c, TERM_DECODE_GAIN_CARD);
    if (!g) return OK;
    if (decode_curve_fit(g->gain_card, -1, mem, &c->gain, e)) return e->code;
    if (c->gain.n < 2)
        return err_set(
            e, E_REFUSED, g->gain_card->id,
            "a batching gain needs decode points at two batch sizes or more, the card has %zu",
            c->gain.n);
    c->has_gain = true;
    return OK;
}

static err_code set_up_decode(cost *c, int64_t batch_max, arena *mem, err *e) {
    const assumption *rate = cost_assumes(c, TERM_DECODE_TOK_S);
    if (set_up_gain(c, mem, e)) return e->code;
    if (!rate) {
        if (decode_curve_fit(c->arm->card, c->context_s, mem, &c->decode, e)) return e->code;
        c->decode_from_card = true;
        c->own_step1_s = c->decode.a_s[0];
        if (c->has_gain && c->decode.batch_n[0] != 1)
            return err_set(e, E_REFUSED, c->arm->card->id,
                           "decode_gain_card needs the card's own B = 1 decode point");
        if (batch_max > 1 && c->decode.n < 2 && !c->has_gain) return refuse_batch(c, batch_max, e);
        return OK;
    }
    c->own_step1_s = 1 / rate->value;
    if (batch_max > 1 && rate->growth_frac < 0 && !c->has_gain)
        return refuse_batch(c, batch_max, e);
    /* the card's own curve, where it has one, still says where the floor is */
    err ignored = {0};
    c->decode_from_card =
        decode_curve_fit(c->arm->card, c->context_s, mem, &c->decode, &ignored) == OK;
    return OK;
}

static err_code set_up_prefill(cost *c, arena *mem, err *e) {
    const decode_curve *anchors = c->decode_from_card ? &c->decode : NULL;
    double k1_s = declared(c, TERM_PREFILL_CONTEXT_S_PER_TOK2, -1);
    if (cost_assumes(c, TERM_PREFILL_TOK_S)) {
        err ignored = {0};
        c->prefill_from_card =
            prefill_curve_fit(c->arm->card, anchors, k1_s, mem, &c->prefill, &ignored) == OK;
        return OK;
    }
    if (prefill_curve_fit(c->arm->card, anchors, k1_s, mem, &c->prefill, e)) return e->code;
    c->prefill_from_card = true;
    return OK;
}

static err_code check_memory(const cost *c, err *e) {
    if (!cost_assumes(c, TERM_WEIGHTS_BYTES) && c->arm->card->weights_bytes == 0)
        return err_set(e, E_REFUSED, c->arm->card->id,
                       "card does not state weights_bytes: add it or declare weights_bytes");
    if (!cost_assumes(c, TERM_KV_BYTES_PER_TOK) && card_kv_bytes_per_tok(c->arm->card) == 0)
        return err_set(e, E_REFUSED, c->arm->card->id,
                       "card does not state full_attention_layers, kv_heads, head_dim and "
                       "kv_element_bytes: add them or "
                       "declare kv_bytes_per_tok");
    return OK;
}

static bool priced_by_card(const cost *c) {
    static const term REPLACING[] = {TERM_PREFILL_TOK_S, TERM_DECODE_TOK_S, TERM_DECODE_GAIN_CARD};
    for (size_t i = 0; i < sizeof REPLACING / sizeof *REPLACING; i++)
        if (cost_assumes(c, REPLACING[i])) return false;
    return true;
}

/* A declared time for a whole delta cannot be cut into the pieces of a mixed iteration. */
static err_code check_mixed(const cost *c, err *e) {
    if (c->arm->engine == ENGINE_LLAMA_SERVER &&
        (!c->decode_from_card || !c->prefill_from_card || !priced_by_card(c)))
        return err_set(e, E_REFUSED, c->arm->name,
                       "engine llama-server prices micro-batches from the card's own curves, found "
                       "a declared rate instead");
    if (c->arm->prefill != PREFILL_MIXED || !cost_assumes(c, TERM_DELTA_PREFILL_S)) return OK;
    return err_set(e, E_REFUSED, c->arm->name,
                   "delta_prefill_s prices whole deltas: it needs prefill exclusive");
}

err_code cost_new(const arm *a, const workload *w, int64_t batch_max, arena *mem, const cost **out,
                  err *e) {
    cost *c = ARENA_NEW(mem, cost);
    if (!c) return err_set(e, E_LIMIT, a->name, "does not fit the memory budget");
    c->arm = a;
    c->work = w;
    c->host_step_s = declared(c, TERM_HOST_STEP_S, 0);
    c->context_s = declared(c, TERM_DECODE_CONTEXT_S_PER_TOK, -1);
    if (set_up_decode(c, batch_max, mem, e) || set_up_prefill(c, mem, e) || check_memory(c, e) ||
        check_mixed(c, e))
        return e->code;
    *out = c;
    return OK;
}

/* ---- prices ---- */

static double prefill_s(const cost *c, int64_t n_tok, int64_t depth_tok) {
    if (n_tok == 0) return 0;
    const assumption *flat = cost_assumes(c, TERM_PREFILL_TOK_S);
    return flat ? (double)n_tok / flat->value : prefill_curve_s(&c->prefill, n_tok, depth_tok);
}

/* The published forms give a turn's delta a time of its own, growing with the number of agents. */
static double delta_s(const assumption *delta, int64_t agents_n) {
    return delta->value * (1 + delta->growth_frac * (double)(agents_n - 1));
}

int64_t cost_prefill_ns(const cost *c, int64_t prefix_tok, int64_t own_tok, int64_t depth_tok) {
    const assumption *delta = cost_assumes(c, TERM_DELTA_PREFILL_S);
    if (!delta) return to_ns(prefill_s(c, prefix_tok + own_tok, depth_tok));
    int64_t t = to_ns(prefill_s(c, prefix_tok, depth_tok));
    return own_tok > 0 ? t + to_ns(delta_s(delta, c->work->K)) : t;
}

decode_price cost_decode(const cost *c, int64_t batch_n) {
    const assumption *rate = cost_assumes(c, TERM_DECODE_TOK_S);
    double b = (double)batch_n;
    decode_step own = {.a_s = c->own_step1_s, .own_s = fmax(c->context_s, 0)};
    if (!rate && !c->has_gain)
        own = decode_curve_at(&c->decode, batch_n);
    else if (rate && rate->growth_frac >= 0)
        own.a_s = b / (rate->value * (1 + rate->growth_frac * (b - 1)));
    if (c->has_gain) {
        const assumption *g = cost_assumes(c, TERM_DECODE_GAIN_CARD);
        decode_step one = decode_curve_at(&c->gain, 1), many = decode_curve_at(&c->gain, batch_n);
        double x = (double)g->context_tok;
        if (c->decode_from_card && !rate) own.own_s = c->decode.own_s;
        own.a_s = c->own_step1_s * (many.a_s + many.own_s * b * x) / (one.a_s + one.own_s * x);
        own.extrapolated = many.extrapolated || one.extrapolated;
    }
    /* unified KV: everybody scans the cells of the B - 1 others; a prefix that is held once is
     * nobody's foreign cell. An arm that states no layout has the card's. */
    double foreign_s = c->arm->layout == KV_LAYOUT_SPLIT ? 0 : own.foreign_s * (b - 1),
           once_tok = c->arm->reuse == REUSE_SHARED ? (double)c->work->P : 0;
    double fixed_s = fmax(own.a_s + c->host_step_s - foreign_s * b * once_tok, 0);
    return (decode_price){.batch_n = batch_n,
                          .fixed_ns = to_ns(fixed_s),
                          .host_ns = to_ns(c->host_step_s),
                          .per_context_ns = (own.own_s + foreign_s) * 1e9,
                          .reach_tok = rate || c->has_gain || c->context_s >= 0 ? 0 : own.reach_tok,
                          .extrapolated = own.extrapolated,
                          .scans_pool = foreign_s > 0,
                          .once_tok = (int64_t)once_tok};
}

int64_t cost_decode_run_ns(const decode_price *p, int64_t sum_context_tok, int64_t steps_n) {
    double m = (double)steps_n;
    double context = m * (double)sum_context_tok + (double)p->batch_n * m * (m - 1) / 2;
    double attention_ns = p->per_context_ns * context;
    if (m * (double)p->fixed_ns + attention_ns >= (double)TIME_MAX_NS) return TIME_MAX_NS;
    return steps_n * p->fixed_ns + (int64_t)llround(attention_ns);
}

int64_t cost_decode_host_ns(const decode_price *p, int64_t steps_n, int64_t run_ns) {
    if (p->host_ns > 0 && steps_n > run_ns / p->host_ns) return run_ns;
    return steps_n * p->host_ns;
}

double cost_host_step_s(const cost *c) {
    return c->host_step_s;
}

/* Rows of decode and prompts go through the weights together, n_ubatch at a time. */
static double shared_passes_s(const cost *c, int64_t rows) {
    const prefill_curve *p = &c->prefill;
    int64_t full = rows / p->n_ubatch, rest = rows % p->n_ubatch;
    double t = full > 0 ? (double)full * prefill_curve_step_s(p, (double)p->n_ubatch) : 0;
    return rest > 0 ? t + prefill_curve_step_s(p, (double)rest) : t;
}

int64_t cost_mixed_ns(const cost *c, int64_t batch_n, int64_t sum_context_tok,
                      const prompt_piece *pieces, size_t pieces_n) {
    decode_price d = batch_n > 0 ? cost_decode(c, batch_n) : (decode_price){0};
    if (pieces_n == 0) return cost_decode_run_ns(&d, sum_context_tok, 1);
    double t = 0;
    int64_t rows = batch_n;
    if (!priced_by_card(c)) {
        for (size_t i = 0; i < pieces_n; i++)
            t += prefill_s(c, pieces[i].n_tok, pieces[i].depth_tok);
        return to_ns(t) + (batch_n > 0 ? cost_decode_run_ns(&d, sum_context_tok, 1) : 0);
    }
    for (size_t i = 0; i < pieces_n; i++) {
        rows += pieces[i].n_tok;
        t += prefill_curve_attention_s(&c->prefill, pieces[i].n_tok, pieces[i].depth_tok);
    }
    double host_s = batch_n > 0 ? c->host_step_s : 0; /* it is of decode steps */
    return to_ns(t + shared_passes_s(c, rows) + host_s +
                 d.per_context_ns * (double)sum_context_tok / 1e9);
}

double cost_micro_batch_s(const cost *c, const micro_batch *m) {
    double attention_s =
        c->decode.own_s * (double)m->own_tok + c->decode.foreign_s * (double)m->foreign_tok;
    if (m->rows_n == m->decode_rows_n)
        return decode_curve_at(&c->decode, m->rows_n).a_s + attention_s;
    return prefill_curve_step_s(&c->prefill, (double)m->rows_n) + attention_s;
}

double cost_prompt_attention_s(const cost *c, int64_t n_tok, int64_t depth_tok) {
    double n = (double)n_tok;
    return c->prefill.k0_s * (double)depth_tok +
           c->prefill.k1_s * (n * (double)depth_tok + n * n / 2);
}

int64_t cost_constant_of_ns(const cost *c, const assumption *a) {
    double K = (double)c->work->K;
    if (a->what == TERM_QUEUE_WAIT_IN_WALL)
        return to_ns(K * (K - 1) / 2 * prefill_s(c, c->work->P, 0));
    if (a->what != TERM_CONSTANT_S) return 0;
    double times = a->per == PER_TURN ? K * (double)c->work->H : a->per == PER_AGENT ? K : 1;
    return to_ns(a->value * times);
}

int64_t cost_constant_ns(const cost *c, bool at_start) {
    int64_t sum = 0;
    for (size_t i = 0; i < c->arm->assume_n; i++) {
        const assumption *a = &c->arm->assume[i];
        if (a->at_start != at_start) continue;
        int64_t ns = cost_constant_of_ns(c, a);
        sum = ns < TIME_MAX_NS - sum ? sum + ns : TIME_MAX_NS;
    }
    return sum;
}

bool cost_batch_range(const cost *c, int64_t *lo, int64_t *hi) {
    const decode_curve *d = c->has_gain ? &c->gain : &c->decode;
    if (!c->has_gain && (cost_assumes(c, TERM_DECODE_TOK_S) || !c->decode_from_card)) return false;
    *lo = (int64_t)d->batch_n[0];
    *hi = (int64_t)d->batch_n[d->n - 1];
    return true;
}

bool cost_card_decodes(const cost *c) {
    return c->decode_from_card && !c->has_gain && !cost_assumes(c, TERM_DECODE_TOK_S);
}

int64_t cost_pool_reach_tok(const cost *c) {
    return cost_card_decodes(c) && c->decode.foreign_s > 0 ? c->decode.pool_reach_tok : 0;
}

bool cost_in_gap(const cost *c, int64_t rows) {
    static const double WIDE = 4; /* a step of four times the rows is another regime */
    const prefill_curve *p = &c->prefill;
    if (cost_assumes(c, TERM_PREFILL_TOK_S) || !c->prefill_from_card || p->anchors_n == p->n)
        return false;
    double below = p->anchors_n > 0 ? p->rows_n[p->anchors_n - 1] : 1,
           above = p->rows_n[p->anchors_n];
    return above > WIDE * below && (double)rows > below && (double)rows < above;
}

memory_terms cost_memory(const cost *c) {
    const card *k = c->arm->card;
    const assumption *w = cost_assumes(c, TERM_WEIGHTS_BYTES),
                     *o = cost_assumes(c, TERM_OVERHEAD_BYTES);
    const assumption *kv = cost_assumes(c, TERM_KV_BYTES_PER_TOK),
                     *r = cost_assumes(c, TERM_RECURRENT_STATE_BYTES);
    const assumption *last = cost_assumes(c, TERM_KV_EXCLUDES_LAST_OUTPUT);
    int64_t overhead = k->overhead_bytes > 0 ? k->overhead_bytes : 0;
    bool seen = k->fitted_host.known && k->fitted_host.device_overhead_bytes > 0;
    if (k->overhead_bytes < 0 && seen) overhead = (int64_t)k->fitted_host.device_overhead_bytes;
    memory_terms m = {.weights_bytes = w ? (int64_t)w->value : k->weights_bytes,
                      .overhead_bytes = o ? (int64_t)o->value : overhead,
                      .kv_bytes_per_tok = kv ? (int64_t)kv->value : card_kv_bytes_per_tok(k),
                      .recurrent_state_bytes = r ? (int64_t)r->value
                                               : k->recurrent_state_bytes > 0
                                                   ? k->recurrent_state_bytes
                                                   : 0,
                      .kv_excludes_last_output = last != NULL,
                      .overhead_known = o || k->overhead_bytes >= 0 || seen};
    /* a model whose layers all keep KV has no recurrent state to know */
    bool all_attention = k->layers > 0 && k->layers == k->full_attention_layers;
    m.recurrent_known = r || all_attention || k->recurrent_state_bytes >= 0;
    m.prov = prov_weakest(PROV_DERIVED,
                          prov_weakest(w ? w->prov : k->weights_prov, kv ? kv->prov : k->kv_prov));
    if (o) m.prov = prov_weakest(m.prov, o->prov);
    if (r) m.prov = prov_weakest(m.prov, r->prov);
    if (last) m.prov = prov_weakest(m.prov, last->prov);
    return m;
}

/* ---- provenance ---- */

static prov points_prov(const card *k, bool prefill) {
    prov p = PROV_WITNESSED;
    for (size_t i = 0; prefill && i < k->prefill_n; i++)
        if (!k->prefill[i].origin.excluded) p = prov_weakest(p, k->prefill[i].origin.prov);
    for (size_t i = 0; !prefill && i < k->decode_n; i++)
        if (!k->decode[i].origin.excluded) p = prov_weakest(p, k->decode[i].origin.prov);
    return p;
}

static prov weakest_of(const cost *c, prov p, const term *terms, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const assumption *a = cost_assumes(c, terms[i]);
        if (a) p = prov_weakest(p, a->prov);
    }
    return p;
}

prov cost_prefill_prov(const cost *c) {
    static const term TERMS[] = {TERM_PREFILL_TOK_S, TERM_DELTA_PREFILL_S,
                                 TERM_PREFILL_CONTEXT_S_PER_TOK2};
    prov p = cost_assumes(c, TERM_PREFILL_TOK_S) ? PROV_WITNESSED : points_prov(c->arm->card, true);
    return weakest_of(c, p, TERMS, sizeof TERMS / sizeof *TERMS);
}

prov cost_decode_prov(const cost *c) {
    static const term TERMS[] = {TERM_DECODE_TOK_S, TERM_DECODE_GAIN_CARD,
                                 TERM_DECODE_CONTEXT_S_PER_TOK, TERM_HOST_STEP_S};
    prov p = cost_assumes(c, TERM_DECODE_TOK_S) ? PROV_WITNESSED : points_prov(c->arm->card, false);
    const assumption *gain = cost_assumes(c, TERM_DECODE_GAIN_CARD);
    if (gain) p = prov_weakest(p, points_prov(gain->gain_card, false));
    return weakest_of(c, p, TERMS, sizeof TERMS / sizeof *TERMS);
}

const decode_curve *cost_decode_curve(const cost *c) {
    return c->decode_from_card ? &c->decode : NULL;
}

const prefill_curve *cost_prefill_curve(const cost *c) {
    return c->prefill_from_card ? &c->prefill : NULL;
}

double cost_bandwidth_floor_s(const cost *c) {
    double bw = c->arm->card->hardware.mem_bw_bytes_s;
    return bw > 0 ? (double)cost_memory(c).weights_bytes / bw : 0;
}

/* The card's B = 1 decode step, from whatever point there is: attention only makes it longer, so
 * the shortest. */
static const decode_point *fastest_single(const card *k) {
    const decode_point *best = NULL;
    for (size_t i = 0; i < k->decode_n; i++) {
        const decode_point *p = &k->decode[i];
        if (p->batch_n != 1 || p->origin.excluded) continue;
        if (!best || p->step_s < best->step_s) best = p;
    }
    return best;
}

double cost_measured_floor_s(const cost *c) {
    const decode_curve *d = cost_decode_curve(c);
    if (d && d->batch_n[0] == 1) return d->a_s[0];
    const decode_point *p = fastest_single(c->arm->card);
    return p ? p->step_s : 0;
}

double cost_card_value(const cost *c, term what) {
    const card *k = c->arm->card;
    const decode_point *one = fastest_single(k);
    switch (what) {
    case TERM_PREFILL_TOK_S:
        for (size_t i = 0; i < k->prefill_n; i++)
            if (!k->prefill[i].origin.excluded && k->prefill[i].depth_tok == 0)
                return k->prefill[i].tok_s;
        return 0;
    case TERM_DECODE_TOK_S:
        return one ? one->tok_s : 0;
    case TERM_WEIGHTS_BYTES:
        return (double)k->weights_bytes;
    case TERM_KV_BYTES_PER_TOK:
        return (double)card_kv_bytes_per_tok(k);
    default:
        return 0;
    }
}
