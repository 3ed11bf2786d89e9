#include "audit/facts.h"

#include "base/stat.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- intervals ---- */

iv iv_none(void) {
    return (iv){.ok = false};
}

iv iv_exact(double v, unsigned origins) {
    return (iv){.ok = isfinite(v), .v = v, .lo = v, .hi = v, .origins = origins};
}

iv iv_quantity(const quantity *q, unsigned origins) {
    return (iv){.ok = true, .v = q->v, .lo = q->lo, .hi = q->hi, .origins = origins};
}

iv iv_figure(const claim_figure *f) {
    return f ? iv_quantity(&f->q, f->origin) : iv_none();
}

iv iv_add(iv a, iv b) {
    return (iv){.ok = a.ok && b.ok,
                .v = a.v + b.v,
                .lo = a.lo + b.lo,
                .hi = a.hi + b.hi,
                .origins = a.origins | b.origins};
}

iv iv_scale(iv a, double by) {
    double lo = a.lo * by, hi = a.hi * by;
    return (iv){
        .ok = a.ok, .v = a.v * by, .lo = fmin(lo, hi), .hi = fmax(lo, hi), .origins = a.origins};
}

iv iv_sub(iv a, iv b) {
    return iv_add(a, iv_scale(b, -1));
}

/* Of factors >= 0, which all quantities here are. */
iv iv_mul(iv a, iv b) {
    return (iv){.ok = a.ok && b.ok,
                .v = a.v * b.v,
                .lo = fmax(a.lo, 0) * fmax(b.lo, 0),
                .hi = a.hi * b.hi,
                .origins = a.origins | b.origins};
}

iv iv_div(iv a, iv b) {
    if (!(b.v > 0 && b.hi > 0)) return iv_none();
    iv r = {.ok = a.ok && b.ok,
            .v = a.v / b.v,
            .lo = isfinite(b.hi) ? fmax(a.lo, 0) / b.hi : 0,
            .hi = b.lo > 0 ? a.hi / b.lo : HUGE_VAL,
            .origins = a.origins | b.origins};
    return r;
}

/* ---- figures beside each other ---- */

static bool agree(int64_t a, int64_t b) {
    return a < 0 || b < 0 || a == b;
}

bool facts_together(const claim_figure *a, const claim_figure *b) {
    if (a->arm && b->arm && strcmp(a->arm, b->arm) != 0) return false;
    if (!agree(a->streams_n, b->streams_n) || !agree(a->context_tok, b->context_tok)) return false;
    if (a->percentile_ppm && b->percentile_ppm && a->percentile_ppm != b->percentile_ppm)
        return false;
    return !(a->warm && b->cold) && !(a->cold && b->warm);
}

/* How much two figures have in common, of those that can stand together. */
static int kinship(const claim_figure *a, const claim_figure *b) {
    int n = 0;
    if (claim_same_arm(a->arm, b->arm)) n += 8;
    if (a->streams_n >= 0 && a->streams_n == b->streams_n) n += 4;
    if (a->context_tok >= 0 && a->context_tok == b->context_tok) n += 2;
    if (claim_same_arm(a->conditions, b->conditions)) n += 1;
    return n;
}

const claim_figure *facts_beside(const claim *c, const claim_figure *f, metric m) {
    const claim_figure *best = NULL;
    int most = -1;
    bool several = false;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *g = &c->figures[i];
        if (g == f || g->metric != m || !facts_together(f, g)) continue;
        int kin = kinship(f, g);
        bool twice =
            best && g->q.lo <= best->q.hi && best->q.lo <= g->q.hi; /* one value, printed */
        if (kin == most && !twice) several = true;
        bool sharper = kin == most && twice && g->q.hi - g->q.lo < best->q.hi - best->q.lo;
        if (kin > most || sharper) {
            most = kin;
            best = g;
            several = several && sharper;
        }
    }
    return several ? NULL : best;
}

iv facts_range(const claim *c, const claim_figure *f, metric m) {
    iv r = iv_none();
    int most = -1;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *g = &c->figures[i];
        if (g == f || g->metric != m || !facts_together(f, g)) continue;
        int kin = kinship(f, g);
        iv one = iv_figure(g);
        if (kin > most) {
            most = kin;
            r = one;
        } else if (kin == most) {
            r.lo = fmin(r.lo, one.lo);
            r.hi = fmax(r.hi, one.hi);
            r.v = (r.lo + r.hi) / 2;
            r.origins |= one.origins;
        }
    }
    return r;
}

const claim_figure *facts_used(const claim *c, const claim_figure *f) {
    const char *at = f->conditions ? strstr(f->conditions, "uses ") : NULL;
    if (!at) return NULL;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *g = &c->figures[i];
        char number[64];
        snprintf(number, sizeof number, "%.12g %s", g->q.v / g->q.u->scale, g->q.u->name);
        const char *hit = strstr(at, number);
        if (g != f && hit && hit == at + strlen("uses ")) return g;
    }
    return NULL;
}

/* ---- tokens and agents ---- */

static iv fact(const claim *c, const char *names) {
    double v = claim_number(c, names, -1);
    return v >= 0 ? iv_exact(v, ORIGIN_PRINTED) : iv_none();
}

iv facts_agents(const claim *c, const claim_figure *f) {
    if (f->streams_n > 0) return iv_exact((double)f->streams_n, f->origin);
    return fact(c, "K agents concurrency streams concurrent_users sequences batch");
}

iv facts_output_tok(const claim *c, const claim_figure *f) {
    (void)f;
    return fact(c, "max_tokens output_tokens_per_request output_tokens output_tok turn_out_tok "
                   "turn_output_tokens generated_tokens");
}

iv facts_run_output_tok(const claim *c, const claim_figure *f) {
    const claim_figure *g = facts_beside(c, f, METRIC_OUTPUT_TOK);
    if (g) return iv_figure(g);
    if (c->has_workload)
        return iv_exact((double)(c->work.K * c->work.H * c->work.turn_out_tok), ORIGIN_PRINTED);
    iv n = fact(c, "requests requests_n num_prompts");
    return iv_mul(n, facts_output_tok(c, f));
}

iv facts_request_computed_tok(const claim *c, const claim_figure *f) {
    const claim_figure *g = facts_beside(c, f, METRIC_COMPUTED_TOK);
    if (!g) g = facts_beside(c, f, METRIC_PROMPT_TOK);
    if (!g || c->work.H > 1) return iv_none(); /* tokens of many turns are no request's */
    iv n = iv_figure(facts_beside(c, f, METRIC_REQUESTS));
    if (!n.ok) n = fact(c, "requests requests_n num_prompts");
    if (!n.ok) n = facts_agents(c, f);
    if (!n.ok && words_have(g->name, "total|all|sum")) return n;
    return n.ok ? iv_div(iv_figure(g), n) : iv_figure(g);
}

double facts_presented_tok(const workload *w) {
    double d = (double)w->turn_delta_in_tok, o = (double)w->turn_out_tok, h = (double)w->H;
    double grown = w->shape == SHAPE_DELTA_FIRST ? d * h * (h + 1) / 2 : d * h * (h - 1) / 2;
    return (double)w->K * (h * (double)w->P + grown + o * h * (h - 1) / 2);
}

double facts_policy_tok(const workload *w, prefix_reuse reuse, bool each) {
    double k = (double)w->K, h = (double)w->H, p = (double)w->P;
    double turns = w->shape == SHAPE_DELTA_FIRST ? h : h - 1;
    if (reuse == REUSE_NONE) return facts_presented_tok(w);
    return (reuse == REUSE_SHARED && !each ? p : k * p) + k * turns * (double)w->turn_delta_in_tok;
}

const claim_figure *facts_fastest_ttft(const claim *c, iv *tok, iv *rate) {
    const claim_figure *best = NULL;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (f->metric != METRIC_TTFT || f->streams_n > 1 || f->warm || f->model) continue;
        iv n = facts_request_computed_tok(c, f), r = iv_div(n, iv_figure(f));
        if (!r.ok || (best && r.v <= rate->v)) continue;
        best = f;
        *tok = n;
        *rate = r;
    }
    return best;
}

/* ---- hardware and model ---- */

static const claim_chip *chip_in_text(const claim *c, const char *text) {
    for (size_t i = 0; text && i < c->chips_n; i++)
        if (words_have(text, c->chips[i].name)) return &c->chips[i];
    return NULL;
}

static const claim_chip *completed(const auditor *a, const claim_chip *chip) {
    const hardware *h = hardware_find(a->chips, chip->name);
    claim_chip *full = ARENA_NEW(a->mem, claim_chip);
    if (!full) return chip;
    *full = *chip;
    if (!h) return full;
    if (full->mem_bw_bytes_s <= 0 || (full->fp16_flop_s <= 0 && h->fp16_flop_s > 0))
        full->origin |= ORIGIN_EXTERNAL;
    if (full->mem_bw_bytes_s <= 0) full->mem_bw_bytes_s = h->mem_bw_bytes_s;
    if (full->fp16_flop_s <= 0) full->fp16_flop_s = h->fp16_flop_s;
    if (full->memory_bytes <= 0) full->memory_bytes = h->memory_bytes;
    if (full->fp16_flop_s == h->fp16_flop_s) full->flop_uncertainty_frac = h->flop_uncertainty_frac;
    return full;
}

const claim_chip *facts_chip(const auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    const claim_chip *chip = NULL;
    if (c->chips_n == 1) chip = &c->chips[0];
    if (c->chips_n > 1 && f) chip = chip_in_text(c, f->arm);
    if (c->chips_n > 1 && f && !chip) chip = chip_in_text(c, f->conditions);
    if (c->chips_n > 1 && f && !chip) chip = chip_in_text(c, f->name);
    return chip ? completed(a, chip) : NULL;
}

iv facts_pass_bytes(const claim *c, const claim_figure *f, bool *unstated) {
    iv r = iv_none();
    *unstated = false;
    if (f->model) return r;
    if (f->weight_bits == NOT_STATED && c->model.by_precision_n > 0) {
        *unstated = true;
        r = iv_exact(c->model.by_precision[0].bytes, ORIGIN_EXTERNAL);
        for (size_t i = 1; i < c->model.by_precision_n; i++) {
            r.lo = fmin(r.lo, c->model.by_precision[i].bytes);
            r.hi = fmax(r.hi, c->model.by_precision[i].bytes);
        }
        r.v = r.lo;
        return r;
    }
    for (size_t i = 0; f->weight_bits > 0 && i < c->model.by_precision_n; i++)
        if (words_precision_bits(c->model.by_precision[i].name) == f->weight_bits)
            return iv_exact(c->model.by_precision[i].bytes, c->model.weights_origin);
    double bytes =
        c->model.active_weight_bytes > 0 ? c->model.active_weight_bytes : c->model.weight_bytes;
    if (bytes <= 0 && f->weight_bits > 0 && c->model.params > 0) {
        double params = c->model.active_params > 0 ? c->model.active_params : c->model.params;
        bytes = params * f->weight_bits / 8;
    }
    if (bytes <= 0) return r;
    r = iv_exact(bytes, c->model.weights_origin);
    /* bits a weight are those of the format, not of the file */
    bool guess = c->model.weights_guessed || bytes == c->model.active_weight_bytes;
    if (guess) {
        r.lo *= 0.85;
        r.hi *= 1.15;
    }
    return r;
}

/* ---- rates ---- */

bool facts_own_model(const claim *c, const claim_rate *r) {
    if (r->model && c->model.name && !words_have(c->model.name, r->model) &&
        !words_have(r->model, c->model.name))
        return false;
    return !(r->quant && c->model.quant && strcmp(r->quant, c->model.quant) != 0);
}

const claim_rate *facts_stated(const claim *c, const char *arm_name, rate_phase phase,
                               int64_t batch_n) {
    const claim_rate *other = NULL;
    for (size_t i = 0; i < c->rates_n; i++) {
        const claim_rate *r = &c->rates[i];
        if (r->role != ROLE_STATED || r->phase != phase || !facts_own_model(c, r)) continue;
        if (batch_n > 0 && r->batch_n > 0 && r->batch_n != batch_n) continue;
        if (batch_n > 1 && r->batch_n != batch_n) continue;
        if (claim_same_arm(r->arm, arm_name)) return r;
        if (!other && (phase == PHASE_PREFILL || !r->arm)) other = r;
    }
    return other;
}

static iv implied_prefill(auditor *a, const char *arm_name, const claim_figure **from) {
    const claim *c = a->claim;
    const claim_arm *policy = claim_arm_of(c, arm_name);
    iv rate = iv_none();
    if (!c->has_workload || !policy || !policy->reuse_known || policy->reuse != REUSE_PER_SLOT ||
        c->work.P == 0 || !population_is_cold(a, arm_name))
        return rate;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (f->metric != METRIC_TTFT || f->percentile_ppm == 0 || !f->arm ||
            strcmp(f->arm, arm_name) != 0 || f->warm)
            continue;
        double done = (double)(stat_rank((size_t)c->work.K, f->percentile_ppm) + 1);
        iv one = iv_div(iv_exact(done * (double)c->work.P, ORIGIN_PRINTED), iv_figure(f));
        if (!one.ok) continue;
        if (!rate.ok) {
            rate = one;
            *from = f;
        } else if (one.lo > rate.hi * 1.001 || one.hi < rate.lo * 0.999)
            return iv_none(); /* the percentiles do not tell of prefixes in a row */
    }
    return rate;
}

struct implied_memo {
    bool known;
    iv rate;
    const claim_figure *from;
};

iv facts_implied_prefill(auditor *a, const char *arm_name, const claim_figure **from) {
    const claim_arm *arm_is = claim_arm_of(a->claim, arm_name);
    if (!arm_is) return iv_none();
    if (!a->implied) a->implied = ARENA_ARRAY(a->mem, struct implied_memo, a->claim->arms_n);
    if (!a->implied) {
        a->full = true;
        return iv_none();
    }
    struct implied_memo *m = &a->implied[arm_is - a->claim->arms];
    if (!m->known) {
        m->rate = implied_prefill(a, arm_name, &m->from);
        m->known = true;
    }
    if (from) *from = m->from;
    return m->rate;
}

/* ---- text ---- */

const char *say_s(auditor *a, double s) {
    if (s == 0) return "0 s";
    if (fabs(s) < 0.9995) return say_num(a, s * 1e3, "ms");
    return say_num(a, s, "s");
}

/* Four digits that mean something; whole numbers get thousands commas. */
const char *say_num(auditor *a, double v, const char *unit_name) {
    char digits[64], out[96];
    int decimals = fabs(v) >= 10000 || v == floor(v) ? 0
                   : fabs(v) >= 100                  ? 1
                   : fabs(v) >= 10                   ? 2
                   : fabs(v) >= 0.1                  ? 3
                                                     : 6;
    if (!isfinite(v) || fabs(v) >= 1e15)
        snprintf(out, sizeof out, "%.4g", v);
    else {
        snprintf(digits, sizeof digits, "%.*f", decimals, v);
        const char *d = digits;
        size_t at = 0, whole = strcspn(digits, ".");
        for (size_t i = 0; d[i] && at + 2 < sizeof out; i++) {
            bool minus = digits[0] == '-';
            size_t left = i < whole ? whole - i : 0;
            if (i > (minus ? 1u : 0u) && left > 0 && left % 3 == 0) out[at++] = ',';
            out[at++] = d[i];
        }
        out[at] = '\0';
    }
    const char *s = arena_printf(a->mem, "%s%s%s", out, unit_name[0] ? " " : "", unit_name);
    return s ? s : "";
}

const char *say_in(auditor *a, double v, const unit *u) {
    return say_num(a, v / u->scale, u->name);
}
