/* Memory: KV bytes from the architecture, what sharing saves, how many agents fit, what a device
 * holds. */
#include "audit/facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double SAME_FRAC = 0.005;

/* ---- KV cache ---- */

/* Bits of an element of the workload's cache, from what it says of its type. */
static double workload_kv_bits(const claim *c) {
    static const char *const KEYS =
        "kv_quantisation kv_quantization kv_cache_dtype kv_dtype "
        "kv_cache_type kv_type kv_precision cache_type kv_cache_precision";
    const workload_fact *f = claim_fact(c, KEYS);
    double bits = f ? words_kv_bits(f->text) : 0;
    return bits > 0 ? bits : f && words_have(f->text, "none|no|off|unquantised") ? 16 : 0;
}

/* KV bytes per token for `f`: a cache type beside the figure goes before that of the model. */
static double per_tok(const claim *c, const claim_figure *f, bool all_layers) {
    double elements = claim_kv_elements_per_tok(facts_shape(c, f), all_layers);
    if (f->kv_bits > 0) return elements * f->kv_bits / 8;
    if (c->model.kv_element_bytes > 0) return elements * c->model.kv_element_bytes;
    return elements * workload_kv_bits(c) / 8;
}

/* Tokens whose KV is kept, of what a figure says of its run. */
typedef struct kv_run {
    double n, context_tok; /* sequences, tokens of each; 0: not stated */
    double kept;           /* as the arm's policy has it; each sequence whole where it has none */
    double copies, once;   /* each sequence whole; the prefix of all sequences once */
    bool policy;           /* the arm says which of the two it is */
} kv_run;

/* Sequences of `tok` tokens that begin alike, the prefix kept once. */
static double once_of(const claim *c, double n, double tok) {
    double shared = fmin((double)c->work.P, tok);
    return c->work.P > 0 ? shared + n * (tok - shared) : n * tok;
}

/* Sequences as the arm's policy keeps them: a shared prefix once. Where all that come compute a
 * prefix that is not there yet, they may keep theirs. */
static kv_run run_with(const claim *c, const claim_figure *f, double n) {
    const claim_arm *by = claim_arm_of(c, f->arm);
    kv_run r = {.n = n,
                .context_tok = f->context_tok > 0
                                   ? (double)f->context_tok
                                   : claim_number(c, "context_tokens context_tok context ctx", 0)};
    r.copies = r.n * r.context_tok;
    r.once = n >= 1 ? once_of(c, r.n, r.context_tok) : r.copies;
    r.policy = by && by->reuse_known && !(by->reuse == REUSE_SHARED && by->comers == COMERS_EACH);
    r.kept = r.policy && by->reuse == REUSE_SHARED ? r.once : r.copies;
    return r;
}

static const char SEQUENCES[] = "sequences concurrent_users users agents batch";

/* A KV cache is as large as the room that is printed beside it, else as its sequences need. */
static kv_run run_of(const claim *c, const claim_figure *f) {
    iv room = facts_kv_room_tok(c, f);
    if (room.ok) return (kv_run){.kept = room.v, .copies = room.v, .once = room.v, .policy = true};
    return run_with(c, f, f->streams_n > 0 ? (double)f->streams_n : claim_number(c, SEQUENCES, 1));
}

/* A figure of an arm that does not say how many agents it is of may be of one or of all. */
static void of_all_agents(const claim *c, const claim_figure *f, double each, kv_run *r) {
    if (!c->has_workload || f->streams_n > 0 || claim_fact(c, SEQUENCES) || r->context_tok <= 0 ||
        !claim_arm_of(c, f->arm) || quantity_allows(&f->q, r->kept * each, r->kept * each))
        return;
    kv_run all = run_with(c, f, (double)c->work.K);
    if (quantity_allows(&f->q, all.kept * each, all.kept * each)) *r = all;
}

static unsigned shape_origins(const claim *c, const claim_figure *f) {
    return f->origin | c->model.shape_origin;
}

/* What would explain a KV figure that the architecture does not give. NULL: nothing known. */
static const char *explained(auditor *a, const claim_figure *f, double right, double all,
                             rule_id *filed) {
    const unit *other = unit_other_prefix(f->q.u);
    double printed = f->q.v / f->q.u->scale;
    quantity q = f->q;
    *filed = R_MEMORY;
    if (all > right * (1 + SAME_FRAC) && quantity_allows(&f->q, all, all))
        return "all layers of a hybrid model are charged; only its full-attention layers keep "
               "token-indexed KV";
    if (other && f->q.u->dim == DIM_BYTES) {
        q.lo = q.lo / f->q.u->scale * other->scale;
        q.hi = q.hi / f->q.u->scale * other->scale;
        q.v = printed * other->scale;
        *filed = R_UNITS;
        if (quantity_allows(&q, right, right))
            return arena_printf(a->mem, "the number is right in %s: binary and decimal units mixed",
                                other->name);
        /* 0.224 "GB" that is 224 MiB */
        const unit *mib = unit_find("MiB"), *gb = unit_find("GB");
        double mixed = printed * (f->q.u == gb ? 1000 : 0.001) * mib->scale;
        double width = (f->q.hi - f->q.lo) / f->q.v;
        if ((f->q.u == gb || f->q.u == unit_find("GiB")) &&
            fabs(mixed / right - 1) <= width / 2 + 1e-9)
            return arena_printf(a->mem,
                                "%s are meant: a thousand binary units counted as one decimal one",
                                say_num(a, printed * 1000, "MiB"));
    }
    *filed = R_MEMORY;
    double plain = f->kv_bits > 0 && f->kv_bits < 16 ? right * 16 / f->kv_bits : 0;
    if (plain > 0 && quantity_allows(&f->q, plain, plain))
        return "the size of a cache that is not quantised";
    if (quantity_allows(&f->q, right / 2, right / 2)) return "half: one byte an element, or only K";
    if (quantity_allows(&f->q, right * 2, right * 2)) return "double: four bytes an element?";
    return NULL;
}

/* The size that the other way of keeping a prefix would give. */
static const char *other_keeping(const claim_figure *f, const kv_run *r, double each) {
    double other = (r->kept == r->once ? r->copies : r->once) * each;
    if (!r->policy || r->once == r->copies || !quantity_allows(&f->q, other, other)) return NULL;
    return r->kept == r->once ? "a copy of the prefix for every agent; this arm's agents share one"
                              : "the prefix counted once; this arm keeps a copy for every agent";
}

static void kv_finding(auditor *a, const claim_figure *f, double right, double all,
                       const char *what, const char *known) {
    rule_id filed = R_MEMORY;
    if (quantity_allows(&f->q, right, right) || quantity_cut(&f->q, right)) {
        bool cut = !quantity_allows(&f->q, right, right);
        audit_follows(a, cut ? R_RATIO : R_MEMORY, "kv-bytes", f->name, &f->q, right, right, right,
                      shape_origins(a->claim, f), what);
        return;
    }
    if (a->claim->model.sliding_window && f->q.hi > right && f->q.lo < all * (1 + SAME_FRAC))
        return; /* windows come on top of the full-attention layers */
    const char *why = known ? known : explained(a, f, right, all, &filed);
    finding *say =
        audit_say(a, filed, "kv-bytes", AUDIT_FAIL, f->name, shape_origins(a->claim, f),
                  "printed %s, the architecture gives %s (%s)%s%s", say_in(a, f->q.v, f->q.u),
                  say_in(a, right, f->q.u), what, why ? ": " : "", why ? why : "");
    audit_numbers(say, right / f->q.u->scale, f->q.v / f->q.u->scale, f->q.u->name);
    const unit *other = unit_other_prefix(f->q.u);
    if (filed != R_UNITS || !other) return;
    say = audit_say(a, R_MEMORY, "kv-bytes", AUDIT_PASS, f->name, shape_origins(a->claim, f),
                    "the label apart, the number follows from the architecture: %s (%s)",
                    say_in(a, right, other), what);
    audit_numbers(say, right / other->scale, f->q.v / f->q.u->scale, other->name);
}

/* KV figures that hold as printed and would not with the other kind of multiple settle the unit. */
static void check_unit(auditor *a, const claim_figure *f, double right) {
    const unit *other = unit_other_prefix(f->q.u);
    if (!other || !quantity_allows(&f->q, right, right)) return;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->list[i].check, "kv-unit") == 0) return; /* once */
    quantity q = f->q;
    double k = other->scale / f->q.u->scale;
    q.v *= k, q.lo *= k, q.hi *= k;
    if (!quantity_allows(&q, right, right))
        audit_say(a, R_UNITS, "kv-unit", AUDIT_PASS, f->name, shape_origins(a->claim, f),
                  "%s is right in %s and would not be in %s", f->name, f->q.u->name, other->name);
}

/* "57,344 bytes a token x (6,000 + 8 x 4,500) tokens" */
static const char *kv_words(auditor *a, const kv_run *r, double each) {
    double shared = r->n > 1 ? (r->copies - r->once) / (r->n - 1) : 0;
    bool parts = r->kept == r->once && r->once < r->copies;
    const char *tok =
        parts ? arena_printf(a->mem, "(%s + %s x %s)", say_num(a, shared, ""), say_num(a, r->n, ""),
                             say_num(a, r->context_tok - shared, ""))
              : say_num(a, r->kept, "");
    const char *s =
        arena_printf(a->mem, "%s bytes a token x %s tokens", say_num(a, each, ""), tok ? tok : "");
    return s ? s : "";
}

/* No arm says whether a prefix is kept once: a size that fits that is no fault. */
static bool may_be_once(auditor *a, const claim_figure *f, const kv_run *r, double each) {
    double once = r->once * each, copies = r->copies * each;
    if (r->policy || once == copies || !quantity_allows(&f->q, once, once)) return false;
    finding *say =
        audit_say(a, R_MEMORY, "kv-bytes", AUDIT_CANNOT_TELL, f->name, shape_origins(a->claim, f),
                  "printed %s, which is right where the prefix of %s tokens is kept once, and %s "
                  "where every agent keeps its own: which of the two is not stated",
                  say_in(a, f->q.v, f->q.u), say_num(a, (double)a->claim->work.P, ""),
                  say_in(a, copies, f->q.u));
    audit_numbers(say, copies / f->q.u->scale, f->q.v / f->q.u->scale, f->q.u->name);
    return true;
}

static void check_kv_per_tok(auditor *a, const claim_figure *f) {
    double right = per_tok(a->claim, f, false), all = per_tok(a->claim, f, true);
    if (right <= 0) return;
    kv_finding(a, f, right, all,
               "2 x full-attention layers x KV heads x head dim x bytes an element", NULL);
    check_unit(a, f, right);
}

/* Tokens of one agent's history when its session ends. */
static double history_tok(const workload *w) {
    double h = (double)w->H, turns = w->shape == SHAPE_DELTA_FIRST ? h : h - 1;
    return (double)w->P + turns * (double)w->turn_delta_in_tok + h * (double)w->turn_out_tok;
}

/* An arm's KV without a context is that of all its agents at the end of the session, the last token
 * of each written or not, or of another moment, which is not stated. */
static void check_kv_at_end(auditor *a, const claim_figure *f, double each) {
    const claim *c = a->claim;
    const claim_arm *by = claim_arm_of(c, f->arm);
    if (!c->has_workload || !by || !by->reuse_known) return;
    double n = f->streams_n > 0 ? (double)f->streams_n : (double)c->work.K;
    double end = history_tok(&c->work), copies = n * end, once = once_of(c, n, end);
    bool shared = by->reuse == REUSE_SHARED, either = shared && by->comers == COMERS_EACH;
    double tok = shared ? once : copies;
    bool ok = quantity_allows(&f->q, (tok - n) * each, tok * each) ||
              (either && quantity_allows(&f->q, (copies - n) * each, copies * each));
    double most = (either ? copies : tok) * each, least = (double)c->work.P * each;
    bool beyond = f->q.lo > most || f->q.hi < least;
    finding *say = audit_say(
        a, R_MEMORY, "kv-at-end", ok ? AUDIT_PASS : AUDIT_CANNOT_TELL, f->name, shape_origins(c, f),
        "printed %s, %s agents end the session with %s (%s tokens%s)%s", say_in(a, f->q.v, f->q.u),
        say_num(a, n, ""), say_in(a, tok * each, f->q.u), say_num(a, tok, ""),
        shared && c->work.P > 0 ? ", the prefix once" : "",
        ok       ? ""
        : beyond ? "; no moment of the session has as much or as little, and what is counted is "
                   "not stated"
                 : "; of which moment and of how many agents it is is not stated");
    if (!ok && beyond) say->weight = WEIGHT_MAJOR;
    audit_numbers(say, tok * each / f->q.u->scale, f->q.v / f->q.u->scale, f->q.u->name);
}

static void check_kv(auditor *a, const claim_figure *f) {
    double each = per_tok(a->claim, f, false), all = per_tok(a->claim, f, true);
    kv_run r = run_of(a->claim, f);
    if (each > 0 && r.context_tok <= 0 && r.kept <= 0) check_kv_at_end(a, f, each);
    of_all_agents(a->claim, f, each, &r);
    if (each <= 0 || r.kept <= 0 || may_be_once(a, f, &r, each)) return;
    kv_finding(a, f, each * r.kept, all * r.kept, kv_words(a, &r, each),
               other_keeping(f, &r, each));
    check_unit(a, f, each * r.kept);
}

/* Weights and cache beside a total, or what is left of it: said when they add up, as either may
 * hold more than is printed. */
static void check_parts(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    const claim_figure *w = facts_beside(c, f, METRIC_WEIGHTS_BYTES);
    bool total = f->metric == METRIC_MEMORY_BYTES;
    const claim_figure *g = facts_beside(c, f, total ? METRIC_KV_BYTES : METRIC_MEMORY_BYTES);
    if (!w || !g) return;
    iv v = total ? iv_add(iv_figure(w), iv_figure(g)) : iv_sub(iv_figure(g), iv_figure(w));
    if (!quantity_allows(&f->q, v.lo, v.hi)) return;
    finding *say =
        audit_say(a, R_CONSISTENCY, "parts", AUDIT_PASS, f->name, v.origins | f->origin,
                  total ? "weights %s + cache %s = %s" : "weights %s of %s leave %s",
                  say_in(a, w->q.v, w->q.u), say_in(a, g->q.v, g->q.u), say_in(a, f->q.v, f->q.u));
    audit_numbers(say, v.v / f->q.u->scale, f->q.v / f->q.u->scale, f->q.u->name);
}

/* "keys 128 + values 128" beside 256. */
static void check_keys_values(auditor *a, const claim_figure *f) {
    const char *k = f->conditions ? strstr(f->conditions, "keys ") : NULL;
    const char *v = k ? strstr(k, "+ values ") : NULL;
    if (!v) return;
    double sum = strtod(k + strlen("keys "), NULL) + strtod(v + strlen("+ values "), NULL);
    sum *= f->q.u->scale;
    if (!isfinite(sum)) return;
    audit_follows(a, R_CONSISTENCY, "keys-values", f->name, &f->q, sum, sum, sum, f->origin,
                  "keys + values");
}

/* Several models side by side: the spread of their figures against that of their architectures. */
static void check_spread(auditor *a) {
    const claim *c = a->claim;
    const claim_figure *lo = NULL, *hi = NULL;
    if (c->model.variants_n < 2) return;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (f->metric != METRIC_KV_BYTES || per_tok(c, f, false) <= 0 || f->q.v <= 0) continue;
        if (!lo || f->q.v < lo->q.v) lo = f;
        if (!hi || f->q.v > hi->q.v) hi = f;
    }
    if (!lo || lo == hi) return;
    double tok = run_of(c, hi).kept / run_of(c, lo).kept;
    double right = per_tok(c, hi, false) / per_tok(c, lo, false) * tok, got = hi->q.v / lo->q.v;
    if (!isfinite(right) || fabs(got / right - 1) > 0.02) return; /* said figure by claim_figure */
    finding *say =
        audit_say(a, R_MEMORY, "kv-spread", AUDIT_PASS, hi->name, shape_origins(c, hi) | lo->origin,
                  "%s is %s times %s, and so are the KV bytes a token of the two architectures",
                  hi->name, say_num(a, got, ""), lo->name);
    audit_numbers(say, right, got, "x");
}

/* ---- what a shared prefix saves ---- */

static bool reuse_is(const claim *c, const char *arm_name, prefix_reuse reuse) {
    const claim_arm *p = claim_arm_of(c, arm_name);
    return p && p->reuse_known && p->reuse == reuse;
}

static bool has_both_arms(const claim *c) {
    bool shared = false, isolated = false;
    for (size_t i = 0; i < c->arms_n; i++) {
        shared |= reuse_is(c, c->arms[i].name, REUSE_SHARED);
        isolated |= reuse_is(c, c->arms[i].name, REUSE_PER_SLOT);
    }
    return shared && isolated;
}

/* A prefix held once instead of K times saves (K - 1) P tokens of KV. */
static void check_saved(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    double n = f->streams_n > 0 ? (double)f->streams_n : (double)c->work.K;
    double tok = (n - 1) * (double)c->work.P, right = per_tok(c, f, false);
    if (!has_both_arms(c) || c->work.P <= 0 || n < 2 || right <= 0) return;
    double implied = f->q.v / tok, all = per_tok(c, f, true);
    bool ok = quantity_allows(&f->q, right * tok, right * tok);
    bool hybrid = all > right * (1 + SAME_FRAC) && quantity_allows(&f->q, all * tok, all * tok);
    finding *say = audit_say(
        a, R_MEMORY, "saved", ok ? AUDIT_PASS : AUDIT_FAIL, f->name, shape_origins(c, f),
        "%s saved over %s tokens held once instead of %s times is %s bytes a token, the "
        "architecture has %s: %s%s",
        say_in(a, f->q.v, f->q.u), say_num(a, (double)c->work.P, ""), say_num(a, n, ""),
        say_num(a, implied, ""), say_num(a, right, ""), say_in(a, right * tok, f->q.u),
        hybrid ? " saved; all layers of a hybrid model are charged, only its full-attention layers "
                 "keep token-indexed KV"
               : " saved");
    audit_numbers(say, right * tok / f->q.u->scale, f->q.v / f->q.u->scale, f->q.u->name);
}

/* A printed saving is the difference of two printed peaks. */
static void check_difference(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    const claim_figure *lo = NULL, *hi = NULL;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *g = &c->figures[i];
        if (g->metric != METRIC_MEMORY_BYTES || !g->arm || g->q.u != f->q.u ||
            g->streams_n != f->streams_n || !claim_arm_of(c, g->arm))
            continue;
        if (reuse_is(c, g->arm, REUSE_SHARED)) lo = g;
        if (reuse_is(c, g->arm, REUSE_PER_SLOT)) hi = g;
    }
    if (!lo || !hi) return;
    iv d = iv_sub(iv_figure(hi), iv_figure(lo));
    audit_follows(a, R_RATIO, "difference", f->name, &f->q, d.v, d.lo, d.hi, d.origins | f->origin,
                  "peak of one arm less that of the other");
}

/* ---- how many agents fit ---- */

/* Memory of `fm`'s arm = base + each x agents. */
static bool linear_formula(const claim *c, const formula *fm, double *base, double *each) {
    *base = *each = 0;
    if (fm->gives_metric != METRIC_MEMORY_BYTES) return false;
    for (size_t i = 0; i < fm->parts_n; i++) {
        double v = fm->parts[i].figure->q.v;
        if (fm->parts[i].times_agents)
            *each += v;
        else
            *base += v * fm->parts[i].times;
    }
    (void)c;
    return *each > 0;
}

static void fit_finding(auditor *a, const claim_figure *f, double fits, const char *how,
                        unsigned origins) {
    const claim *c = a->claim;
    bool ok = quantity_allows(&f->q, fits, fits);
    const claim_figure *d = facts_beside(c, f, METRIC_DENSITY),
                       *b = facts_beside(c, f, METRIC_BUDGET_BYTES);
    bool rounded = !ok && d && b && floor(d->q.v * b->q.v) == f->q.v;
    finding *say = audit_say(
        a, R_MEMORY, "agents-fit", ok ? AUDIT_PASS : AUDIT_FAIL, f->name, origins,
        "printed %s, %s fits %s%s", say_num(a, f->q.v, ""), how, say_num(a, fits, ""),
        rounded ? arena_printf(a->mem, "; the printed number follows from the rounded density %s",
                               say_in(a, d->q.v, d->q.u))
                : "");
    audit_numbers(say, fits, f->q.v, "agents");
}

/* Memory that is left for KV when the weights are loaded, said so or worked out. */
static double room_for_kv(auditor *a, const claim_figure *f, const claim_figure *budget) {
    static const char *const KV = "kv|kv cache|cache|left|leaving|remaining|free|headroom|"
                                  "after weights|available for";
    const claim *c = a->claim;
    const claim_chip *chip = facts_chip(a, f);
    const claim_figure *w = facts_beside(c, f, METRIC_WEIGHTS_BYTES);
    double weights = w ? w->q.v : c->model.weight_bytes;
    if (budget && (!w || words_have(budget->name, KV) || words_have(budget->conditions, KV)))
        return budget->q.v;
    double memory = budget ? budget->q.v : chip ? chip->memory_bytes * (double)f->gpus_n : 0;
    return memory > 0 && weights > 0 ? memory - weights : 0;
}

/* How many sequences of `tok` tokens go into `room` tokens of KV when a prefix is kept once; not
 * finite where that is all that they hold. */
static double fits_once(const claim *c, double room, double tok) {
    double shared = fmin((double)c->work.P, tok);
    return c->work.P > 0 && room >= shared ? floor((room - shared) / (tok - shared))
                                           : floor(room / tok);
}

/* How many agents of so many tokens the memory holds: more are too many; fewer leave room that
 * something unstated may need. */
static void check_fit(auditor *a, const claim_figure *f, const claim_figure *budget) {
    static const char *const CAPACITY =
        "max|maximum|up to|capacity|fit|fits|supports|support|largest|hold|holds|most|limit";
    const claim *c = a->claim;
    const claim_figure *k = facts_beside(c, f, METRIC_KV_BYTES_PER_TOK);
    const claim_chip *chip = facts_chip(a, f);
    bool capacity =
        f->metric_stated || words_have(f->name, CAPACITY) || words_have(f->conditions, CAPACITY);
    double left = room_for_kv(a, f, budget), kv = k ? k->q.v : per_tok(c, f, false);
    double tok = f->context_tok > 0
                     ? (double)f->context_tok
                     : claim_number(c, "tokens_per_agent context_tokens context_tok", 0);
    if (left <= 0 || kv <= 0 || tok <= 0 || c->model.weights_guessed || !(budget || capacity))
        return;
    const claim_arm *by = claim_arm_of(c, f->arm);
    bool once = by && by->reuse_known && by->reuse == REUSE_SHARED && by->comers != COMERS_EACH;
    double room = floor(left / kv), fits = once ? fits_once(c, room, tok) : floor(room / tok);
    if (!isfinite(fits)) return;
    const char *how =
        arena_printf(a->mem, "%s of KV at %s bytes a token (%s tokens), %s tokens an agent%s",
                     say_num(a, left / 0x1p30, "GiB"), say_num(a, kv, ""), say_num(a, room, ""),
                     say_num(a, tok, ""), once && c->work.P > 0 ? ", the prefix held once" : "");
    /* a device's own memory is what its maker calls GB, and something else needs some of it */
    bool within = !budget && !(chip && chip->memory_exact) &&
                  f->q.v <= (once ? fits_once(c, left * 0x1p30 / 1e9 / kv, tok)
                                  : floor(left * 0x1p30 / 1e9 / kv / tok)) &&
                  f->q.v > fits / 2;
    if (!within || quantity_allows(&f->q, fits, fits)) {
        fit_finding(a, f, fits, how ? how : "", f->origin | shape_origins(c, f));
        return;
    }
    finding *say = audit_say(a, R_MEMORY, "agents-fit", AUDIT_PASS, f->name,
                             f->origin | shape_origins(c, f), "printed %s, %s holds about %s",
                             say_num(a, f->q.v, ""), how ? how : "", say_num(a, fits, ""));
    audit_numbers(say, fits, f->q.v, "agents");
}

static void check_agents_max(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    const claim_figure *budget = facts_beside(c, f, METRIC_BUDGET_BYTES);
    double base, each;
    for (size_t i = 0; budget && i < c->formulas_n; i++) {
        const formula *fm = &c->formulas[i];
        if (!claim_same_arm(fm->arm, f->arm) || !linear_formula(c, fm, &base, &each)) continue;
        const char *how =
            arena_printf(a->mem, "the printed formula in %s", say_in(a, budget->q.v, budget->q.u));
        fit_finding(a, f, floor((budget->q.v - base) / each + 1e-9), how ? how : "",
                    f->origin | fm->origin | budget->origin);
        return;
    }
    check_fit(a, f, budget);
}

/* ---- what a device holds ---- */

/* Weights on fewer devices than hold them; once for each chip, number of chips and precision. */
static bool said_before(const auditor *a, const claim_figure *f, double bytes) {
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->list[i].check, "capacity") == 0 && a->list[i].found == bytes / 1e9 &&
            f->arm && a->list[i].about &&
            strncmp(a->list[i].about, f->arm, strcspn(f->arm, " ")) == 0)
            return true;
    return false;
}

/* Is a part of the weights said to lie elsewhere than on the device? */
static bool offloaded(const claim *c, const claim_figure *f) {
    static const char *const WORDS =
        "offload|offloaded|offloading|cpu moe|n cpu moe|ncmoe|ngl|gpu layers|n gpu layers|"
        "system ram|host memory|nvme|ssd|hybrid cpu|partial";
    const char *const texts[] = {f->name, f->arm, f->conditions, c->kind, c->title};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (words_have(texts[i], WORDS)) return true;
    for (size_t i = 0; i < c->facts_n; i++)
        if (words_have(c->facts[i].text, WORDS) || words_have(c->facts[i].key, WORDS)) return true;
    return false;
}

static void check_capacity(auditor *a, const claim_figure *f) {
    bool unstated, rate = f->q.u->dim == DIM_TOK_S && f->metric != METRIC_CEILING_RATE;
    const claim_chip *chip = facts_chip(a, f);
    const claim *c = a->claim;
    if (!rate || !chip || chip->memory_bytes <= 0 || offloaded(c, f)) return;
    iv bytes = facts_pass_bytes(c, f, &unstated);
    if (c->model.active_params > 0 || unstated || !bytes.ok) return; /* not the whole model */
    double room = chip->memory_bytes * (double)f->gpus_n;
    if (bytes.lo <= room || said_before(a, f, bytes.v)) return;
    finding *say =
        audit_say(a, R_MEMORY, "capacity", AUDIT_FAIL, f->arm ? f->arm : f->name,
                  bytes.origins | f->origin, "%s: weights of %s do not fit the %s of %lld x %s",
                  f->name, say_num(a, bytes.v / 1e9, "GB"), say_num(a, room / 1e9, "GB"),
                  (long long)f->gpus_n, chip->name);
    audit_numbers(say, room / 1e9, bytes.v / 1e9, "GB");
}

/* Does the claim itself say what this memory is made of, or that it is not all of it? Then it
 * may count no weights. */
static bool counts_own_parts(const claim *c, const claim_figure *f) {
    static const char *const PART =
        "kv|cache|per|agent|each|extra|additional|increase|growth|delta|overhead|"
        "activation|activations|buffer|buffers|beside|besides|without weights|excluding|"
        "saved|host|cpu|ram|swap|free|left";
    for (size_t i = 0; i < c->formulas_n; i++)
        if (c->formulas[i].gives == f || (c->formulas[i].gives_metric == f->metric &&
                                          claim_same_arm(c->formulas[i].arm, f->arm)))
            return true;
    return words_have(f->name, PART) || words_have(f->conditions, PART);
}

/* A peak of device memory holds the weights at least; of several devices each may hold a part. */
static void check_holds_weights(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    const claim_figure *w = facts_beside(c, f, METRIC_WEIGHTS_BYTES);
    bool unstated;
    bool sparse = c->model.active_params > 0 || c->model.active_weight_bytes > 0;
    iv bytes = w ? iv_figure(w) : facts_pass_bytes(c, f, &unstated);
    if (!w && sparse) /* a token reads some of the experts; all are held */
        bytes = c->model.weight_bytes > 0 && !c->model.weights_guessed && f->weight_bits == 0
                    ? iv_exact(c->model.weight_bytes, c->model.weights_origin)
                    : iv_none();
    if (f->metric != METRIC_MEMORY_BYTES || !bytes.ok || f->model || offloaded(c, f) ||
        counts_own_parts(c, f))
        return;
    bytes = iv_scale(bytes, 1 / (double)f->gpus_n);
    bool ok = f->q.hi >= bytes.lo;
    finding *say = audit_say(a, R_MEMORY, "holds-weights", ok ? AUDIT_PASS : AUDIT_FAIL, f->name,
                             f->origin | bytes.origins,
                             ok ? "%s of memory hold the weights of %s%s"
                                : "%s of memory do not hold the weights alone, which are %s%s",
                             say_in(a, f->q.v, f->q.u), say_in(a, bytes.v, f->q.u),
                             f->gpus_n > 1 ? " a device" : "");
    audit_numbers(say, bytes.v / f->q.u->scale, f->q.v / f->q.u->scale, f->q.u->name);
}

/* Printed weights against parameters times the bits of a precision that is named. */
static void check_weights(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    double bits = f->weight_bits > 0 ? f->weight_bits : words_precision_bits(c->model.quant);
    if (bits == 0) bits = words_precision_bits(c->model.name);
    double right = c->model.params * bits / 8;
    if (right <= 0 || f->model || facts_shape(c, f) != &c->model.shape) return;
    /* embeddings, and whatever a recipe leaves alone, keep their 16 bits */
    double off = f->q.v / right - 1, kept = bits < 16 ? 0.15 * (16 - bits) / bits : 0;
    bool ok = off >= -0.15 && off <= 0.15 + kept;
    finding *say =
        audit_say(a, R_MEMORY, "weights", ok ? AUDIT_PASS : AUDIT_FAIL, f->name,
                  f->origin | c->model.origin, "printed %s, %s parameters x %s bits are %s",
                  say_in(a, f->q.v, f->q.u), say_num(a, c->model.params / 1e9, "billion"),
                  say_num(a, bits, ""), say_in(a, right, f->q.u));
    audit_numbers(say, right / f->q.u->scale, f->q.v / f->q.u->scale, f->q.u->name);
}

void check_memory(auditor *a) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (f->metric == METRIC_KV_BYTES_PER_TOK) check_kv_per_tok(a, f);
        if (f->metric == METRIC_KV_BYTES) check_kv(a, f);
        if (f->metric == METRIC_KV_BYTES) check_keys_values(a, f);
        if (f->metric == METRIC_MEMORY_BYTES || f->metric == METRIC_BUDGET_BYTES) check_parts(a, f);
        if (f->metric == METRIC_SAVED_BYTES) check_saved(a, f);
        if (f->metric == METRIC_SAVED_BYTES) check_difference(a, f);
        if (f->metric == METRIC_AGENTS_MAX) check_agents_max(a, f);
        if (f->metric == METRIC_WEIGHTS_BYTES) check_weights(a, f);
        check_capacity(a, f);
        check_holds_weights(a, f);
    }
    check_spread(a);
}
