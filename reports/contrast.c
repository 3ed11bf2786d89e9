#include "contrast.h"

#include "metric.h"
#include "number.h"
#include "table.h"

#include <inttypes.h>
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

/* ---- rates: what the card has ---- */

static const char *card_point(const view *v, const card *c, bool decode, int64_t n) {
    const char *text = NULL;
    int64_t best = -1;
    for (size_t i = 0; i < (decode ? c->decode_n : c->prefill_n); i++) {
        const point_origin *o = decode ? &c->decode[i].origin : &c->prefill[i].origin;
        int64_t size = decode ? c->decode[i].batch_n : c->prefill[i].n_prompt_tok;
        double tok_s = decode ? c->decode[i].tok_s : c->prefill[i].tok_s;
        bool plain = decode || (c->prefill[i].depth_tok == 0 && c->prefill[i].batch_n <= 1);
        /* decode: that batch; prefill: the longest prompt that is not longer, else any */
        if (o->excluded || !plain || (decode ? size != n || text : size > n || size <= best))
            continue;
        best = size;
        text = rate(v->mem, tok_s);
        if (!decode && size > 0)
            text = arena_printf(v->mem, "%s over %s tokens", text, number_count(v->mem, size));
        if (o->prov != PROV_WITNESSED)
            text = arena_printf(v->mem, "%s (%s)", text, PROV_UPPER[o->prov]);
    }
    return text;
}

static const char *decode_modeled(const view *v, const arm_result *a, int64_t batch_n) {
    decode_price price = cost_decode(a->cost, batch_n);
    if (price.fixed_ns <= 0) return NULL;
    prov p = prov_weakest(PROV_MODELED, cost_decode_prov(a->cost));
    return classed(v, rate(v->mem, (double)batch_n * 1e9 / (double)price.fixed_ns), p);
}

static const char *ceiling(const view *v, const arm_result *a, int64_t batch_n) {
    double floor_s = cost_bandwidth_floor_s(a->cost);
    if (floor_s <= 0) return NULL;
    return arena_printf(v->mem, "≤ %s", rate(v->mem, (double)batch_n / floor_s));
}

static void rate_rows(const view *v, const arm_result *a) {
    const card *c = a->arm->card;
    const workload *w = &v->p->scenario->work;
    int64_t together = a->arm->batch == BATCH_SERIAL ? 1
                       : a->arm->slots_n < w->K      ? a->arm->slots_n
                                                     : w->K;
    const char *what = arena_printf(v->mem, "%s: decode of 1 sequence", a->arm->name);
    row(v, what, card_point(v, c, true, 1), decode_modeled(v, a, 1), ceiling(v, a, 1), "rates");
    if (together > 1) {
        what = arena_printf(v->mem, "%s: decode of %" PRId64 " sequences", a->arm->name, together);
        row(v, what, card_point(v, c, true, together), decode_modeled(v, a, together),
            ceiling(v, a, together), "rates");
    }
    if (a->sim.prefill_ns <= 0) return;
    prov p = prov_weakest(PROV_MODELED, cost_prefill_prov(a->cost));
    const char *mean = rate(v->mem, (double)a->sim.computed_tok * 1e9 / (double)a->sim.prefill_ns);
    row(v, arena_printf(v->mem, "%s: prefill, mean over the session", a->arm->name),
        card_point(v, c, false, w->P > 0 ? w->P : 1), classed(v, mean, p), NULL, "rates");
}

/* ---- the session ---- */

/* A scored run of this very session: the same workload on an arm of the same name. */
static const score_run *witnessed(const view *v, const arm_result *a) {
    const workload *w = &v->p->scenario->work;
    for (size_t i = 0; i < v->s->witness_n; i++)
        for (size_t k = 0; k < v->s->witness[i].score.n; k++) {
            const score_run *x = &v->s->witness[i].score.runs[k];
            const witness_run *r = x->r->run;
            if (w->shape == SHAPE_DELTA_FIRST && r->N == 0 && r->K == w->K && r->H == w->H &&
                r->P == w->P && r->din == w->turn_delta_in_tok && r->out == w->turn_out_tok &&
                strcmp(r->arm, a->arm->name) == 0)
                return x;
        }
    return NULL;
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

static void session_rows(const view *v, const arm_result *a) {
    const score_run *seen = witnessed(v, a);
    arena *mem = v->mem;
    const char *name = a->arm->name, *none = NULL;
    double least = least_wall_s(v, a), pass = cost_bandwidth_floor_s(a->cost);
    const char *floor = least > 0 ? arena_printf(mem, "≥ %s", seconds(mem, least)) : NULL;
    const char *one = pass > 0 ? arena_printf(mem, "≥ %s", seconds(mem, pass)) : NULL;
    row(v, arena_printf(mem, "%s: wall-clock", name), seen ? seconds(mem, seen->seen_wall_s) : none,
        classed(v, seconds(mem, (double)a->sim.wall_ns / 1e9), a->time_prov), floor, "session");
    row(v, arena_printf(mem, "%s: effective output", name),
        seen ? rate(mem, (double)a->sim.output_tok / seen->seen_wall_s) : none,
        classed(v, rate(mem, a->m.effective_tok_s), a->time_prov),
        least > 0 ? arena_printf(mem, "≤ %s", rate(mem, (double)a->sim.output_tok / least)) : NULL,
        "session");
    const struct {
        const char *what;
        const percentiles *p;
        double seen_s;
    } ttft[] = {{"TTFT cold p50", &a->m.ttft_cold, seen ? seen->seen_cold_p50_s : 0},
                {"TTFT warm p50", &a->m.ttft_warm, seen ? seen->seen_warm_p50_s : 0}};
    for (size_t i = 0; i < sizeof ttft / sizeof *ttft; i++)
        if (ttft[i].p->n > 0)
            row(v, arena_printf(mem, "%s: %s", name, ttft[i].what),
                ttft[i].seen_s > 0 ? seconds(mem, ttft[i].seen_s) : none,
                classed(v, seconds(mem, (double)ttft[i].p->p50_ns / 1e9), a->time_prov), one,
                "session");
}

/* ---- how to verify ---- */

/* Cards of the arms, each once. */
static size_t cards_of(const projection *p, const card **out) {
    size_t n = 0;
    for (size_t i = 0; i < p->arms_n; i++) {
        bool known = false;
        for (size_t k = 0; k < n; k++) known |= strcmp(out[k]->id, p->arms[i].arm->card->id) == 0;
        if (!known) out[n++] = p->arms[i].arm->card;
    }
    return n;
}

static void verify_rates(const workload *w, const card *c, buf *out) {
    int64_t prompt = w->P > 0 ? w->P : w->turn_delta_in_tok;
    buf_addf(out, "# %s: %s %s on %s\n", c->id, c->model, c->quant, c->hardware.chip);
    if (strstr(c->engine.name, "llama"))
        buf_addf(out,
                 "ratecast-bench run --model MODEL.gguf --contexts %" PRId64
                 " --sequences 1,%" PRId64 " -o card.json\n",
                 prompt, w->K);
    else
        buf_addf(out,
                 "# %s has no benchmark that is known here: prompts of %" PRId64
                 " tokens, 1 and %" PRId64 " sequences (`ratecast import --formats`)\n"
                 "ratecast import rates.jsonl -o card.json\n",
                 c->engine.name, prompt, w->K);
}

/* The session as it was projected, whatever a scenario's file says: --set may have changed it. */
static void verify_session(const workload *w, const arm *a, buf *out) {
    buf_addf(out,
             "ratecast-bench session -K %" PRId64 " -H %" PRId64 " -P %" PRId64
             " --delta-in %" PRId64 " --turn-out %" PRId64,
             w->K, w->H, w->P, w->turn_delta_in_tok, w->turn_out_tok);
    if (w->tool_latency_ns > 0)
        buf_addf(out, " --tool-latency %.10g", (double)w->tool_latency_ns / 1e9);
    if (a->reuse == REUSE_NONE) buf_add(out, " --no-cache");
    if (a->batch == BATCH_SERIAL || w->one_after_another) buf_add(out, " --serial");
    const struct {
        const char *option, *word;
    } names[] = {{"arm-name", a->name},
                 {"model", a->card->model},
                 {"machine", a->card->hardware.id ? a->card->hardware.id : "MACHINE"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        buf_addf(out, " --%s ", names[i].option);
        buf_add_word(out, names[i].word);
    }
    buf_add(out, " -o runs\n");
}

static void verify(const view *v, buf *out) {
    const workload *w = &v->p->scenario->work;
    const card *cards[SCENARIO_ARMS_MAX];
    size_t n = cards_of(v->p, cards);
    buf_add(out, "\nVerify the rates, by a card of your own:\n\n```sh\n");
    for (size_t i = 0; i < n; i++) verify_rates(w, cards[i], out);
    buf_add(out,
            "```\n\nVerify the session, against a server that runs that way (bench/README.md):\n\n"
            "```sh\n");
    for (size_t i = 0; i < v->p->arms_n; i++) verify_session(w, v->p->arms[i].arm, out);
    buf_add(out, "ratecast validate runs");
    for (size_t i = 0; i < n; i++) buf_addf(out, " --card %s", cards[i]->id);
    buf_add(out, "\n```\n");
}

void contrast_put(const spec *s, const named_run *r, arena *mem, buf *out) {
    static const char *const HEAD[] = {"figure", "WITNESSED", "MODELED", "ROOFLINE", "verify"};
    view v = {.s = s, .r = r, .p = r->r.points[r->r.n - 1].p, .mem = mem};
    v.t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    table_left(v.t, 4);
    table_row(v.t, HEAD);
    for (size_t i = 0; i < v.p->arms_n; i++) {
        rate_rows(&v, &v.p->arms[i]);
        session_rows(&v, &v.p->arms[i]);
    }
    if (r->r.sweep)
        buf_addf(out, "Of %s = %s:\n\n", r->r.s->sweep_path, r->r.s->sweep_values[r->r.n - 1]);
    table_markdown(v.t, out);
    verify(&v, out);
}
