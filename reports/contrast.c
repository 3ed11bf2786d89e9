#include "contrast.h"

#include "contrast_rates.h"
#include "contrast_verify.h"
#include "metric.h"
#include "number.h"
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct view {
    const spec *s;
    const named_run *r;
    const projection *p;
    arena *mem;
    table *t;
} view;

static const char *rate(arena *mem, double tok_s) {
    return arena_printf(mem, tok_s >= 1000 ? "%.0f tok/s" : "%.2f tok/s", tok_s);
}

static const char *seconds(arena *mem, double s) {
    return s < 1 ? arena_printf(mem, "%.1f ms", s * 1e3)
                 : arena_printf(mem, "%s s", number_seconds(mem, s));
}

/* The column says MODELED; a value of a weaker class says so itself. */
static const char *classed(const view *v, const char *text, prov p) {
    return p == PROV_MODELED ? text : arena_printf(v->mem, "%s (%s)", text, PROV_UPPER[p]);
}

static void row(const view *v, const char *what, const char *witnessed, const char *modeled,
                const char *roofline, const char *verify) {
    const char *cells[] = {what, witnessed ? witnessed : "–", modeled ? modeled : "–",
                           roofline ? roofline : "–", verify};
    table_row(v->t, cells);
}

/* ---- what was measured ---- */

static const char *range_of(const view *v, const char *lo, const char *hi) {
    const char *a = strchr(lo, ' '), *b = strchr(hi, ' ');
    if (strcmp(lo, hi) == 0) return lo;
    size_t n =
        a && b && strcmp(a, b) == 0 ? (size_t)(a - lo) : strlen(lo); /* one unit, said once */
    return arena_printf(v->mem, "%.*s to %s", (int)n, lo, hi);
}

/* The column says WITNESSED; what is less, and what the row cannot say of it, stands behind. */
static const char *measured_rate(const view *v, double lo, double hi, prov p, const char *lacks) {
    const char *text = range_of(v, rate(v->mem, lo), rate(v->mem, hi));
    if (lacks) text = arena_printf(v->mem, "%s (%s not stated)", text, lacks);
    return p == PROV_WITNESSED ? text : arena_printf(v->mem, "%s (%s)", text, PROV_UPPER[p]);
}

/* ---- rates: all columns of a row are of one batch and context, of one prompt ---- */

/* A step as the curve says it of the very point that was measured, with the cells that others hold
 * there; without such a point, or with declared rates, at that context. */
static double modeled_step_s(const arm_result *a, const rates_decode *seen, int64_t batch_n,
                             int64_t context_tok) {
    const decode_curve *curve = cost_decode_curve(a->cost);
    const assumption *host = cost_assumes(a->cost, TERM_HOST_STEP_S);
    bool declared = cost_assumes(a->cost, TERM_DECODE_TOK_S) ||
                    cost_assumes(a->cost, TERM_DECODE_GAIN_CARD) || !curve;
    if (seen->p && seen->p->context_tok >= 0 && !declared)
        return decode_curve_point_s(curve, a->arm->card, seen->p) + (host ? host->value : 0);
    decode_price price = cost_decode(a->cost, batch_n);
    return (double)cost_decode_run_ns(&price, batch_n * context_tok, 1) / 1e9;
}

/* What a point of the arm's card does not say of itself, and the arm does; NULL: nothing. */
static const char *decode_lacks(const arm *a, bool context) {
    bool layout = a->layout == KV_LAYOUT_UNSTATED || a->card->engine.layout != KV_LAYOUT_UNSTATED;
    if (!layout) return context ? "KV layout" : "context and KV layout";
    return context ? NULL : "context";
}

static void decode_row(const view *v, const arm_result *a, int64_t batch_n) {
    const workload *w = &v->p->scenario->work;
    rates_decode seen = rates_decode_near(a->arm->card, a->arm, w, batch_n);
    bool stated = seen.p && seen.p->context_tok >= 0;
    int64_t context_tok = stated ? seen.p->context_tok : rates_mean_context_tok(w);
    bool shared = stated && batch_n > 1 && seen.p->origin.shared_prompt;
    double step_s = modeled_step_s(a, &seen, batch_n, context_tok),
           floor_s = cost_bandwidth_floor_s(a->cost);
    const char *what =
        arena_printf(v->mem, "%s: decode of %" PRId64 " sequence%s at %s tokens of context%s",
                     a->arm->name, batch_n, batch_n == 1 ? "" : "s",
                     number_count(v->mem, context_tok), shared ? ", one prompt shared" : "");
    const char *witnessed = NULL, *modeled = NULL, *most = NULL;
    if (seen.other_layout) /* what another layout took is no measurement of this arm */
        witnessed =
            arena_printf(v->mem, "– (%s KV only)", KV_LAYOUT_NAMES[a->arm->card->engine.layout]);
    if (seen.p)
        witnessed =
            measured_rate(v, seen.lo_tok_s, seen.hi_tok_s, seen.prov, decode_lacks(a->arm, stated));
    if (step_s > 0)
        modeled = classed(v, rate(v->mem, (double)batch_n / step_s),
                          prov_weakest(PROV_MODELED, cost_decode_prov(a->cost)));
    if (floor_s > 0) most = arena_printf(v->mem, "≤ %s", rate(v->mem, (double)batch_n / floor_s));
    row(v, what, witnessed, modeled, most, "rates");
}

static void prefill_rows(const view *v, const arm_result *a) {
    const workload *w = &v->p->scenario->work;
    rates_prefill seen = rates_prefill_near(a->arm->card, w);
    bool stated = seen.p && seen.p->n_prompt_tok > 0;
    int64_t n_tok = stated ? seen.p->n_prompt_tok : workload_prompt_tok(w, 1);
    int64_t alone_ns = cost_prefill_ns(a->cost, n_tok, 0, 0);
    prov p = prov_weakest(PROV_MODELED, cost_prefill_prov(a->cost));
    const char *witnessed = NULL, *modeled = NULL;
    if (seen.p)
        witnessed =
            measured_rate(v, seen.lo_tok_s, seen.hi_tok_s, seen.prov, stated ? NULL : "length");
    if (alone_ns > 0) modeled = classed(v, rate(v->mem, (double)n_tok * 1e9 / (double)alone_ns), p);
    row(v,
        arena_printf(v->mem, "%s: prefill of one prompt of %s tokens", a->arm->name,
                     number_count(v->mem, n_tok)),
        witnessed, modeled, NULL, "rates");
    if (a->sim.prefill_ns <= 0) return;
    /* no card measures the session's mix of short and long parts: nothing stands beside it */
    double mean = (double)a->sim.computed_tok * 1e9 / (double)a->sim.prefill_ns;
    row(v, arena_printf(v->mem, "%s: prefill, mean over the session", a->arm->name), NULL,
        classed(v, rate(v->mem, mean), p), NULL, "session");
}

static void rate_rows(const view *v, const arm_result *a) {
    int64_t most = rates_together_n(&v->p->scenario->work, a->arm);
    decode_row(v, a, 1);
    if (most > 1) decode_row(v, a, most);
    prefill_rows(v, a);
}

/* ---- the session ---- */

/* A scored run of this very session: the same workload on an arm of the same name, model and
 * machine. */
static bool is_run_of(const score_run *x, const workload *w, const arm *a) {
    const witness_run *r = x->r->run;
    const card *c = a->card;
    bool same_work = r->N == 0 && r->K == w->K && r->H == w->H && r->P == w->P &&
                     r->din == w->turn_delta_in_tok && r->out == w->turn_out_tok && !w->out_tok &&
                     r->out_jitter == 0 && r->result_after == (w->shape == SHAPE_RESULT_AFTER) &&
                     r->serial == w->one_after_another &&
                     llround(r->tool_s * 1e9) == w->tool_latency_ns;
    for (int64_t k = 0; same_work && k < w->K; k++)
        same_work = w->private_tok[k] == 0 &&
                    llround(r->stagger_s * 1e9 * (double)k) == w->start_offset_ns[k];
    return same_work && strcmp(r->arm, a->name) == 0 && strcmp(r->model, c->model) == 0 &&
           c->hardware.id && strcmp(r->machine, c->hardware.id) == 0;
}

/* What all runs of the session show: a range of each figure, never one run of several. */
typedef enum seen_what { SEEN_WALL, SEEN_COLD, SEEN_WARM, SEEN_N } seen_what;
typedef struct seen_session {
    size_t n, summaries_n;
    double lo_s[SEEN_N], hi_s[SEEN_N];
} seen_session;

static seen_session witnessed(const view *v, const arm_result *a) {
    seen_session all = {0};
    for (size_t i = 0; i < v->s->witness_n; i++)
        for (size_t k = 0; k < v->s->witness[i].score.n; k++) {
            const score_run *x = &v->s->witness[i].score.runs[k];
            const measured *m = &x->r->seen;
            const double of[SEEN_N] = {m->wall_s, m->cold.p50_s, m->warm.p50_s};
            if (!is_run_of(x, &v->p->scenario->work, a->arm)) continue;
            for (int j = 0; j < SEEN_N; j++) {
                if (all.n == 0 || of[j] < all.lo_s[j]) all.lo_s[j] = of[j];
                if (all.n == 0 || of[j] > all.hi_s[j]) all.hi_s[j] = of[j];
            }
            all.n++;
            all.summaries_n += !m->from_turns;
        }
    return all;
}

/* Behind a measured value: of how many runs, and whether it is of a summary. */
static const char *of_runs(const view *v, const seen_session *x, const char *text) {
    const char *star = x->summaries_n > 0 ? " *" : "";
    return x->n == 1 ? arena_printf(v->mem, "%s%s", text, star)
                     : arena_printf(v->mem, "%s, %zu runs%s", text, x->n, star);
}

static const char *seen_time(const view *v, const seen_session *x, seen_what what) {
    if (x->n == 0 || x->lo_s[what] <= 0) return NULL;
    return of_runs(v, x,
                   range_of(v, seconds(v->mem, x->lo_s[what]), seconds(v->mem, x->hi_s[what])));
}

static const char *seen_rate(const view *v, const seen_session *x, double tok) {
    if (x->n == 0 || x->lo_s[SEEN_WALL] <= 0) return NULL;
    return of_runs(v, x,
                   range_of(v, rate(v->mem, tok / x->hi_s[SEEN_WALL]),
                            rate(v->mem, tok / x->lo_s[SEEN_WALL])));
}

static double least_wall_s(const view *v, const arm_result *a) {
    const workload *w = &v->p->scenario->work;
    bool serial = a->arm->batch == BATCH_SERIAL || w->one_after_another;
    int64_t most = 0, all = 0;
    for (int64_t k = 0; k < w->K; k++) {
        int64_t own = 0;
        for (int64_t t = 1; t <= w->H; t++) own += workload_out_tok(w, k, t);
        all += own;
        if (own > most) most = own;
    }
    return (double)(serial ? all : most) * cost_bandwidth_floor_s(a->cost);
}

static void session_rows(const view *v, const arm_result *a, const seen_session *seen) {
    arena *mem = v->mem;
    const char *name = a->arm->name;
    double least = least_wall_s(v, a), pass = cost_bandwidth_floor_s(a->cost),
           tok = (double)a->sim.output_tok;
    const char *floor = least > 0 ? arena_printf(mem, "≥ %s", seconds(mem, least)) : NULL;
    const char *one = pass > 0 ? arena_printf(mem, "≥ %s", seconds(mem, pass)) : NULL;
    row(v, arena_printf(mem, "%s: wall-clock", name), seen_time(v, seen, SEEN_WALL),
        classed(v, seconds(mem, (double)a->sim.wall_ns / 1e9), a->time_prov), floor, "session");
    row(v, arena_printf(mem, "%s: effective output", name), seen_rate(v, seen, tok),
        classed(v, rate(mem, a->m.effective_tok_s), a->time_prov),
        least > 0 ? arena_printf(mem, "≤ %s", rate(mem, tok / least)) : NULL, "session");
    const struct {
        const char *what;
        const percentiles *p;
        seen_what seen;
    } ttft[] = {{"TTFT cold p50", &a->m.ttft_cold, SEEN_COLD},
                {"TTFT warm p50", &a->m.ttft_warm, SEEN_WARM}};
    for (size_t i = 0; i < sizeof ttft / sizeof *ttft; i++)
        if (ttft[i].p->n > 0)
            row(v, arena_printf(mem, "%s: %s", name, ttft[i].what),
                seen_time(v, seen, ttft[i].seen),
                classed(v, seconds(mem, (double)ttft[i].p->p50_ns / 1e9), a->time_prov), one,
                "session");
}

static void put_legend(const view *v, const seen_session *all, buf *out) {
    buf_addf(out,
             "\nDecode rates are at the context measured nearest to %s tokens, the mean over the "
             "session's output; ROOFLINE\nis the passes over the weights alone, at any context.\n",
             number_count(v->mem, rates_mean_context_tok(&v->p->scenario->work)));
    if (all->n > 0)
        buf_add(out, "Of a session, WITNESSED is the range of all runs of it that no term was "
                     "fitted to.\n");
    if (all->summaries_n > 0)
        buf_add(out, "Marked *: of a run or more from its own summary, since its session records "
                     "are missing or incomplete.\n");
}

void contrast_put(const spec *s, const named_run *r, arena *mem, buf *out) {
    static const char *const HEAD[] = {"figure", "WITNESSED", "MODELED", "ROOFLINE", "verify"};
    seen_session all = {0};
    view v = {.s = s, .r = r, .p = r->r.points[r->r.n - 1].p, .mem = mem};
    v.t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    table_left(v.t, 4);
    table_row(v.t, HEAD);
    for (size_t i = 0; i < v.p->arms_n; i++) {
        seen_session seen = witnessed(&v, &v.p->arms[i]);
        rate_rows(&v, &v.p->arms[i]);
        session_rows(&v, &v.p->arms[i], &seen);
        all.n += seen.n;
        all.summaries_n += seen.summaries_n;
    }
    if (r->r.sweep)
        buf_addf(out, "Of %s = %s:\n\n", r->r.s->sweep_path, r->r.s->sweep_values[r->r.n - 1]);
    table_markdown(v.t, out);
    put_legend(&v, &all, out);
    contrast_verify(v.p, mem, out);
}
