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
    if (a->percentile_ppm == b->percentile_ppm) n += 1;
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

const claim_figure *facts_tok_time(const claim *c, const claim_figure *f) {
    const claim_figure *g = facts_beside(c, f, METRIC_TPOT);
    return g ? g : facts_beside(c, f, METRIC_ITL);
}

/* The next word of the name `whole` that tells it from another, from *p on, *n long; NULL: none is
 * left. A place is said at an end of a name ("rate_table"), within it the word means itself. */
static const char *telling_word(const char *whole, const char **p, size_t *n, const char *apart) {
    static const char *const PLACES =
        "text|table|headline|title|summary|abstract|prose|chart|graph|plot|log|readme|intro|body|"
        "caption|conclusion|claimed|stated|printed|quoted|again|repeated|post|slide";
    for (;;) {
        while (**p && strchr(" _-,;", **p)) (*p)++;
        *n = strcspn(*p, " _-,;");
        if (*n == 0) return NULL;
        const char *word = *p;
        char own[32];
        *p += *n;
        if (*n >= sizeof own) return word;
        memcpy(own, word, *n);
        own[*n] = '\0';
        bool end = word == whole || !**p;
        if (!(end && words_have(own, PLACES)) && !words_have(own, apart)) return word;
    }
}

bool facts_one_name(const char *x, const char *y, const char *apart) {
    const char *p = x, *q = y;
    for (;;) {
        size_t n = 0, m = 0;
        const char *v = telling_word(x, &p, &n, apart), *w = telling_word(y, &q, &m, apart);
        if (!v || !w) return !v && !w;
        if (n != m || strncmp(v, w, n) != 0) return false;
    }
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
    return fact(c, CLAIM_STREAM_KEYS);
}

iv facts_streams(const claim *c, const claim_figure *f) {
    static const char *const ONE =
        "single stream|single user|single request|single sequence|one stream|one user|"
        "one request|batch 1|bs1|batch size 1|single batch";
    if (f->metric == METRIC_STREAM_RATE) return iv_exact(1, f->origin);
    if (f->streams_n > 0) return iv_exact((double)f->streams_n, f->origin);
    iv n = fact(c, CLAIM_STREAM_KEYS);
    if (n.ok || claim_fact(c, CLAIM_STREAM_KEYS)) return n;
    const char *const texts[] = {f->name, f->conditions, f->arm, c->kind, c->title};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (words_have(texts[i], ONE)) return iv_exact(1, f->origin);
    return n;
}

iv facts_kv_room_tok(const claim *c, const claim_figure *f) {
    iv room = iv_figure(facts_beside(c, f, METRIC_KV_TOK));
    if (room.ok) return room;
    return iv_mul(iv_figure(facts_beside(c, f, METRIC_KV_BLOCKS)),
                  fact(c, "block_size_tokens tokens_per_block kv_block_size block_size"));
}

iv facts_output_tok(const claim *c, const claim_figure *f) {
    (void)f;
    return fact(c, "max_tokens output_tokens_per_request output_tokens output_tok turn_out_tok "
                   "turn_output_tokens generated_tokens max_new_tokens output_len osl gen_tokens "
                   "completion_tokens tokens_out output_length");
}

bool facts_output_is_limit(const claim *c, const claim_figure *f) {
    return !facts_beside(c, f, METRIC_OUTPUT_TOK) && !c->has_workload &&
           !claim_fact(c, "ignore_eos") &&
           !claim_fact(c, "output_tokens_per_request output_tokens output_tok turn_out_tok "
                          "turn_output_tokens generated_tokens output_len osl gen_tokens "
                          "completion_tokens tokens_out output_length") &&
           claim_fact(c, "max_tokens max_new_tokens");
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
    double flop_s = hardware_is_cpu(chip->name) ? 0 : h->fp16_flop_s; /* the GPU's */
    if (full->mem_bw_bytes_s <= 0 || (full->fp16_flop_s <= 0 && flop_s > 0))
        full->origin |= ORIGIN_EXTERNAL;
    if (full->mem_bw_bytes_s <= 0) full->mem_bw_bytes_s = h->mem_bw_bytes_s;
    if (full->fp16_flop_s <= 0) full->fp16_flop_s = flop_s;
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

/* How many letters and digits two names share from the start, punctuation and case apart. */
static size_t common_start(const char *x, const char *y) {
    size_t n = 0;
    while (*x && *y) {
        while (*x && strchr(" -_.()", *x)) x++;
        while (*y && strchr(" -_.()", *y)) y++;
        if (!*x || (*x | 32) != (*y | 32)) break;
        x++, y++, n++;
    }
    return n;
}

const kv_shape *facts_shape(const claim *c, const claim_figure *f) {
    const kv_shape *best = NULL;
    size_t most = 4;
    for (size_t i = 0; f->arm && i < c->model.variants_n; i++) {
        size_t n = common_start(f->arm, c->model.variants[i].name);
        if (n > most) {
            most = n;
            best = &c->model.variants[i];
        }
    }
    return best ? best : &c->model.shape;
}

double facts_active_params(const claim *c, const claim_figure *f) {
    const kv_shape *s = facts_shape(c, f);
    double own = s->active_params > 0 ? s->active_params : s->params;
    if (own <= 0 && c->model.experts) return 0;
    return own > 0 ? own : c->model.active_params > 0 ? c->model.active_params : c->model.params;
}

/* Bits a weight are those of the format, not of the file. */
static iv guessed(double bytes, unsigned origins) {
    iv r = iv_exact(bytes, origins);
    r.lo *= 0.85;
    r.hi *= 1.15;
    return r;
}

static iv unstated_bytes(const claim *c) {
    iv r = iv_exact(c->model.by_precision[0].bytes, ORIGIN_EXTERNAL);
    for (size_t i = 1; i < c->model.by_precision_n; i++) {
        r.lo = fmin(r.lo, c->model.by_precision[i].bytes);
        r.hi = fmax(r.hi, c->model.by_precision[i].bytes);
    }
    r.v = r.lo;
    return r;
}

iv facts_pass_bytes(const claim *c, const claim_figure *f, bool *unstated) {
    unsigned from = c->model.weights_origin;
    *unstated = false;
    if (f->model || c->model.experts) return iv_none();
    if (f->weight_bits == NOT_STATED && c->model.by_precision_n > 0) {
        *unstated = true;
        return unstated_bytes(c);
    }
    for (size_t i = 0; f->weight_bits > 0 && i < c->model.by_precision_n; i++)
        if (words_precision_bits(c->model.by_precision[i].name) == f->weight_bits)
            return iv_exact(c->model.by_precision[i].bytes, from);
    const kv_shape *own = facts_shape(c, f);
    bool variant = own != &c->model.shape;
    double params = facts_active_params(c, f), all = variant ? own->params : c->model.params;
    double bytes = variant                            ? own->weight_bytes
                   : c->model.active_weight_bytes > 0 ? c->model.active_weight_bytes
                                                      : c->model.weight_bytes;
    bool sparse = params > 0 && all > params;
    if (f->weight_bits > 0 && params > 0) { /* the file of another precision than this figure's */
        double named = params * f->weight_bits / 8;
        bool other = bytes > 0 && (bytes / named > 1.25 || bytes / named < 0.8);
        if (bytes <= 0 || sparse || other) return guessed(named, from);
    }
    if (variant && bytes <= 0) {
        double bits = words_precision_bits(c->model.name);
        return bits > 0 && params > 0 ? guessed(params * bits / 8, from) : iv_none();
    }
    if (sparse && bytes > 0 && bytes == c->model.weight_bytes)
        return guessed(bytes * params / all, from); /* a token reads its experts only */
    if (bytes <= 0) return iv_none();
    bool guess = c->model.weights_guessed || bytes == c->model.active_weight_bytes;
    return guess ? guessed(bytes, from) : iv_exact(bytes, from);
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
