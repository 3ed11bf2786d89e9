/* Which requests a figure speaks of, and whether two figures that are compared speak of the same.
 */
#include "audit/facts.h"

#include "base/stat.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- which turns a TTFT percentile can be over ---- */

enum { POP_COLD = 1, POP_WARM = 2, POP_ALL = 4 };

static int64_t population_size(const workload *w, int pop) {
    return pop == POP_COLD ? w->K : pop == POP_WARM ? w->K * (w->H - 1) : w->K * w->H;
}

static const char *population_words(int pops) {
    return pops == POP_COLD               ? "the cold first turns"
           : pops == POP_WARM             ? "the warm turns"
           : pops == POP_ALL              ? "all turns"
           : pops == (POP_WARM | POP_ALL) ? "warm or all turns, not the cold ones"
                                          : "one of several populations";
}

/* Closed-loop agents cannot wait longer than the session: of n values at least n - rank lie at or
 * above the percentile. */
static bool waits_too_long(const claim_figure *f, int64_t n, double budget_s, double *least_s) {
    size_t above = (size_t)n - stat_rank((size_t)n, f->percentile_ppm);
    *least_s = (double)above * f->q.lo;
    return *least_s > budget_s;
}

/* Somebody has to compute the prefix in its first turn: when the percentile bounds that turn, it
 * lasts at least as long as the device's arithmetic allows. */
static bool too_fast_for_prefix(auditor *a, const claim_figure *f, double *least_s) {
    const claim *c = a->claim;
    const claim_chip *chip = facts_chip(a, f);
    double params = facts_active_params(c, f);
    size_t at_most = stat_rank((size_t)c->work.K, f->percentile_ppm) + 1;
    bool all = at_most == (size_t)c->work.K; /* no first turn lies above */
    if (!chip || chip->fp16_flop_s <= 0 || params <= 0 || !all) return false;
    *least_s = (double)c->work.P * 2 * params /
               (chip->fp16_flop_s * (1 + chip->flop_uncertainty_frac) * (double)f->gpus_n);
    return f->q.hi < *least_s;
}

typedef struct arm_population {
    const char *arm;
    int pops;
    unsigned origins;
    const char *why;
} arm_population;

static void narrow(auditor *a, const claim_figure *f, const claim_figure *wall, arm_population *p) {
    const claim *c = a->claim;
    static const int POPS[] = {POP_COLD, POP_WARM, POP_ALL};
    double least = 0, budget = wall ? (double)c->work.K * wall->q.hi : HUGE_VAL;
    for (size_t i = 0; i < 3; i++) {
        int64_t n = population_size(&c->work, POPS[i]);
        if (n <= 0) p->pops &= ~POPS[i];
        if (n <= 0 || !(p->pops & POPS[i])) continue;
        if (wall && waits_too_long(f, n, budget, &least)) {
            p->pops &= ~POPS[i];
            const char *s = arena_printf(
                a->mem,
                "over %lld turns %s would mean at least %s of waiting, %lld agents have %s in %s",
                (long long)n, say_s(a, f->q.v), say_s(a, least), (long long)c->work.K,
                say_s(a, budget), say_s(a, wall->q.v));
            if (POPS[i] == POP_ALL && s) p->why = s;
            p->origins |= f->origin | wall->origin;
        }
    }
    if ((p->pops & POP_COLD) && c->work.P > 0 && too_fast_for_prefix(a, f, &least)) {
        p->pops &= ~POP_COLD;
        p->origins |= f->origin | c->model.origin | facts_chip(a, f)->origin;
        const char *s =
            arena_printf(a->mem,
                         "a first turn that computes %s prefix tokens takes at least %s, %s is "
                         "over warm or all turns",
                         say_num(a, (double)c->work.P, ""), say_s(a, least), say_s(a, f->q.v));
        if (s) p->why = s;
    }
}

static arm_population population_of(auditor *a, const char *arm_name) {
    const claim *c = a->claim;
    arm_population p = {.arm = arm_name, .pops = POP_COLD | POP_WARM | POP_ALL, .why = ""};
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (f->metric != METRIC_TTFT || f->percentile_ppm == 0 || !claim_same_arm(f->arm, arm_name))
            continue;
        if (f->cold) p.pops &= POP_COLD;
        if (f->warm) p.pops &= POP_WARM;
        narrow(a, f, facts_beside(c, f, METRIC_WALL), &p);
    }
    return p;
}

bool population_is_cold(auditor *a, const char *arm_name) {
    return population_of(a, arm_name).pops == POP_COLD;
}

static bool compares(const ratio *r, const char *x, const char *y) {
    return (claim_same_arm(r->num->arm, x) && claim_same_arm(r->den->arm, y)) ||
           (claim_same_arm(r->num->arm, y) && claim_same_arm(r->den->arm, x));
}

static void compare_arms(auditor *a, const arm_population *x, const arm_population *y) {
    const claim *c = a->claim;
    const ratio *r = NULL;
    for (size_t i = 0; i < c->ratios_n && !r; i++)
        if (c->ratios[i].num->metric == METRIC_TTFT && compares(&c->ratios[i], x->arm, y->arm))
            r = &c->ratios[i];
    if (x->pops & y->pops) {
        if (x->pops == y->pops && (x->pops & (x->pops - 1)) == 0)
            audit_say(a, R_POPULATION, "turns", AUDIT_PASS, r ? r->name : "TTFT",
                      x->origins | y->origins, "both arms' percentiles are over %s",
                      population_words(x->pops));
        return;
    }
    audit_say(a, R_POPULATION, "turns", AUDIT_FAIL, r ? r->name : "TTFT",
              x->origins | y->origins | (r ? (unsigned)r->origin : 0u),
              "%s%sTTFT of %s is over %s, of %s over %s: %s; %s", r ? r->print : "",
              r ? " compares different populations: " : "", x->arm, population_words(x->pops),
              y->arm, population_words(y->pops), x->why, y->why);
}

static void check_turns(auditor *a) {
    const claim *c = a->claim;
    arm_population *p = ARENA_ARRAY(a->mem, arm_population, c->arms_n);
    if (!p) a->full = true;
    if (!p || !c->has_workload) return;
    for (size_t i = 0; i < c->arms_n; i++) p[i] = population_of(a, c->arms[i].name);
    for (size_t i = 0; i < c->arms_n; i++)
        for (size_t k = i + 1; k < c->arms_n; k++)
            if (p[i].pops && p[k].pops) compare_arms(a, &p[i], &p[k]);
}

/* ---- first token or last ---- */

/* A "TTFT" that equals the time in which the aggregate rate emits all tokens of all requests is the
 * end of the batch. */
static void check_whole_batch(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    iv all = facts_run_output_tok(c, f), rate = facts_range(c, f, METRIC_OUTPUT_RATE);
    if (!all.ok || !rate.ok || all.v < 16 || c->has_workload) return;
    iv end = iv_div(all, rate);
    double width = (f->q.hi - f->q.lo) / f->q.v;
    if (!end.ok || width > 0.02 || !quantity_allows(&f->q, end.lo, end.hi)) return;
    for (size_t i = 0; i < a->n; i++) /* once for an arm */
        if (strcmp(a->list[i].check, "first-or-last") == 0 && f->arm &&
            strcmp(a->list[i].about, f->arm) == 0)
            return;
    double implied = all.v / f->q.v;
    finding *say =
        audit_say(a, R_POPULATION, "first-or-last", AUDIT_FAIL, f->arm ? f->arm : f->name,
                  all.origins | rate.origins | f->origin,
                  "%s: %s is the time of the whole batch: %s output tokens over it are %s, the "
                  "printed rate of "
                  "all requests: a last token is called a first token",
                  f->name, say_s(a, f->q.v), say_num(a, all.v, ""), say_num(a, implied, "tok/s"));
    audit_numbers(say, rate.v, implied, "tok/s");
    say = audit_say(a, R_RATIO, "batch-rate", AUDIT_PASS, f->arm ? f->arm : f->name,
                    all.origins | rate.origins | f->origin,
                    "rate and time agree with each other: %s tokens / %s = %s",
                    say_num(a, all.v, ""), say_num(a, rate.v, "tok/s"), say_s(a, end.v));
    audit_numbers(say, end.v, f->q.v, "s");
}

/* ---- the same time for different work ---- */

typedef struct spread {
    const claim_figure *lo, *hi; /* fewest and most streams */
    double t_lo, t_hi, work_lo,
        work_hi; /* shortest and longest time; least and most work a request */
    size_t n;
    unsigned origins;
} spread;

static spread spread_of(const claim *c, const claim_figure *first) {
    spread s = {.t_lo = HUGE_VAL, .t_hi = 0, .work_lo = HUGE_VAL, .work_hi = 0};
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (f->metric != METRIC_TTFT || f->streams_n <= 0 || !claim_same_arm(f->arm, first->arm) ||
            f->percentile_ppm != first->percentile_ppm)
            continue;
        iv work = facts_request_computed_tok(c, f);
        s.n++;
        s.origins |= f->origin;
        if (!s.lo || f->streams_n < s.lo->streams_n) s.lo = f;
        if (!s.hi || f->streams_n > s.hi->streams_n) s.hi = f;
        s.t_lo = fmin(s.t_lo, f->q.v);
        s.t_hi = fmax(s.t_hi, f->q.v);
        if (work.ok) {
            s.work_lo = fmin(s.work_lo, work.v);
            s.work_hi = fmax(s.work_hi, work.v);
        }
    }
    return s;
}

/* Is `f` the one with the fewest streams, of its arm and percentile? */
static bool is_lowest(const claim *c, const claim_figure *f) {
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *g = &c->figures[i];
        bool beside = g->metric == METRIC_TTFT && g->streams_n > 0 &&
                      claim_same_arm(g->arm, f->arm) && g->percentile_ppm == f->percentile_ppm;
        if (beside && (g->streams_n < f->streams_n || (g->streams_n == f->streams_n && g < f)))
            return false;
    }
    return true;
}

static void check_flat(auditor *a, const claim_figure *f) {
    static const double FLAT_FRAC = 0.01;
    const claim *c = a->claim;
    if (!is_lowest(c, f)) return;
    spread s = spread_of(c, f);
    if (s.n < 3 || s.t_hi > s.t_lo * (1 + FLAT_FRAC)) return;
    double requests = claim_number(c, "requests requests_n num_prompts", 0);
    bool other_work = s.work_hi > 1.5 * s.work_lo;
    bool held_back = requests > (double)s.lo->streams_n && s.hi->streams_n > 2 * s.lo->streams_n;
    const char *arm_name = f->arm ? f->arm : "the arm";
    for (size_t i = 0; i < a->n; i++) /* once for an arm, whatever the percentile */
        if (strcmp(a->list[i].check, "flat") == 0 && strcmp(a->list[i].about, arm_name) == 0)
            return;
    if (other_work)
        audit_numbers(
            audit_say(a, R_POPULATION, "flat", AUDIT_FAIL, arm_name, s.origins,
                      "%s reports %s at %lld and %s at %lld agents, though a request computes %s "
                      "tokens in one and %s in the other: the time does not depend on the work",
                      arm_name, say_s(a, s.lo->q.v), (long long)s.lo->streams_n,
                      say_s(a, s.hi->q.v), (long long)s.hi->streams_n, say_num(a, s.work_hi, ""),
                      say_num(a, s.work_lo, "")),
            s.work_hi / s.work_lo, s.lo->q.v / s.hi->q.v, "x");
    else if (held_back)
        audit_say(
            a, R_POPULATION, "flat", AUDIT_FAIL, arm_name, s.origins,
            "%s shows the same %s at %lld to %lld of %s requests: it takes all of them at once "
            "at any setting, while an arm that holds requests back leaves their wait out of its "
            "TTFT",
            arm_name, say_s(a, s.lo->q.v), (long long)s.lo->streams_n, (long long)s.hi->streams_n,
            say_num(a, requests, ""));
}

/* ---- aggregate and per-stream rates ---- */

/* A stream decodes at its rate once its first token is there: the aggregate over the whole run is
 * lower than streams x rate. */
static void check_streams(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    const claim_figure *one = facts_beside(c, f, METRIC_STREAM_RATE);
    if (!one || f->metric != METRIC_OUTPUT_RATE || !claim_same_arm(one->arm, f->arm) ||
        f->streams_n < 2 || one->streams_n != f->streams_n)
        return;
    iv n = iv_exact((double)f->streams_n, f->origin), tok = facts_output_tok(c, f);
    iv wait = facts_range(c, f, METRIC_TTFT), run = iv_div(tok, iv_figure(one));
    iv most = iv_mul(n, iv_figure(one)), all = iv_div(iv_mul(n, tok), iv_add(wait, run));
    bool windows = all.ok && quantity_allows(&f->q, all.lo, all.hi);
    bool plain = quantity_allows(&f->q, most.lo, most.hi);
    bool below = f->q.v < most.hi && !all.ok;
    /* the wait that the two rates imply when none is printed */
    double left = tok.ok && f->q.v > 0 ? n.v * tok.v / f->q.v - run.v : -1;
    bool waits = below && left > 0 && left < run.v / 2;
    iv say_v = windows || all.ok ? all : most;
    /* more than all streams have is impossible; somewhat less is what stragglers leave */
    bool above = f->q.lo > most.hi * 1.01, near = all.ok && fabs(f->q.v / all.v - 1) < 0.1;
    bool far_below = all.ok && f->q.v < all.v / 2;
    audit_outcome o = above || far_below                  ? AUDIT_FAIL
                      : windows || plain || waits || near ? AUDIT_PASS
                                                          : AUDIT_CANNOT_TELL;
    finding *say = audit_say(
        a, R_POPULATION, "aggregate", o, f->name, say_v.origins | f->origin | one->origin,
        windows ? "printed %s for all, %s streams of %s a stream with the first-token wait counted "
                  "give %s"
        : plain ? "printed %s for all, %s streams of %s a stream are %s"
        : waits ? "printed %s for all, %s streams of %s a stream are %s at most: waiting for first "
                  "tokens explains the rest"
                : "printed %s for all, %s streams of %s a stream give %s",
        say_in(a, f->q.v, f->q.u), say_num(a, n.v, ""), say_in(a, one->q.v, one->q.u),
        say_num(a, windows || all.ok ? all.v : most.v, "tok/s"));
    audit_numbers(say, say_v.v, f->q.v, "tok/s");
}

/* An aggregate and a time per token of one request say how many ran together. */
static void check_together(auditor *a, const claim_figure *f) {
    const claim_figure *itl = facts_tok_time(a->claim, f);
    if (!itl || f->metric != METRIC_OUTPUT_RATE || !claim_same_arm(itl->arm, f->arm)) return;
    double n = f->q.v * itl->q.v, each = 1 / itl->q.v;
    bool known = f->streams_n > 0;
    if (known && n > (double)f->streams_n * 1.1) {
        finding *say =
            audit_say(a, R_POPULATION, "together", AUDIT_FAIL, f->name, f->origin | itl->origin,
                      "%s in all at %s a token means %s requests at once, %lld are stated",
                      say_in(a, f->q.v, f->q.u), say_s(a, itl->q.v), say_num(a, round(n), ""),
                      (long long)f->streams_n);
        audit_numbers(say, (double)f->streams_n, n, "requests");
        return;
    }
    if (known || n < 1.5) return;
    finding *say = audit_say(
        a, R_POPULATION, "together", AUDIT_PASS, f->name, f->origin | itl->origin,
        "%s in all and %s a token of one request (%s) agree when about %s requests ran together: "
        "neither is the rate of one request alone",
        say_in(a, f->q.v, f->q.u), say_s(a, itl->q.v), say_num(a, each, "tok/s"),
        say_num(a, round(n), ""));
    audit_numbers(say, each, f->q.v, "tok/s");
}

/* ---- the rate of a whole request ---- */

/* Does anything beside `f` say that a request is more than its decode? */
static bool more_than_decode(const claim *c, const claim_figure *f, const claim_figure *whole) {
    const claim_figure *d = facts_beside(c, f, METRIC_DECODE_TIME),
                       *faster = facts_beside(c, f, METRIC_DECODE_RATE);
    static const metric BEFORE[] = {METRIC_TTFT, METRIC_PREFILL_TIME};
    for (size_t i = 0; i < 2; i++) {
        const claim_figure *t = facts_beside(c, f, BEFORE[i]);
        if (t && claim_same_arm(t->arm, f->arm) && t->q.lo > whole->q.step) return true;
    }
    return (d && claim_same_arm(d->arm, f->arm) && d->q.hi < whole->q.lo) ||
           (faster && claim_same_arm(faster->arm, f->arm) && faster->q.lo > f->q.hi);
}

/* All output tokens over all of the time is no decode rate: prefill and waiting are in it. */
static void check_whole_request(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    const claim_figure *whole = facts_beside(c, f, METRIC_LATENCY),
                       *n = facts_beside(c, f, METRIC_OUTPUT_TOK);
    if (!whole) whole = facts_beside(c, f, METRIC_WALL);
    if (f->metric != METRIC_DECODE_RATE || !whole || !n || !claim_same_arm(whole->arm, f->arm))
        return;
    iv all = iv_div(iv_figure(n), iv_figure(whole));
    if (!all.ok || !isfinite(all.hi) || !quantity_allows(&f->q, all.lo, all.hi) ||
        !more_than_decode(c, f, whole))
        return;
    finding *say =
        audit_say(a, R_POPULATION, "whole-request", AUDIT_FAIL, f->name, all.origins | f->origin,
                  "%s is %s tokens over the whole %s, prefill and waiting included: no decode rate",
                  say_in(a, f->q.v, f->q.u), say_num(a, n->q.v, ""), say_s(a, whole->q.v));
    say->has_found = true;
    say->found = f->q.v;
    say->unit = "tok/s";
}

/* ---- a latency that is bought with throughput ---- */

typedef struct arm_range {
    const char *arm;
    const claim_figure *first;
    iv ttft, rate;
} arm_range;

static arm_range range_of(const claim *c, const claim_figure *first) {
    arm_range r = {.arm = first->arm, .first = first};
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        iv *into = f->metric == METRIC_TTFT          ? &r.ttft
                   : f->metric == METRIC_OUTPUT_RATE ? &r.rate
                                                     : NULL;
        if (!into || !f->arm || strcmp(f->arm, r.arm) != 0) continue;
        if (!into->ok)
            *into = iv_figure(f);
        else {
            into->lo = fmin(into->lo, f->q.lo);
            into->hi = fmax(into->hi, f->q.hi);
        }
    }
    return r;
}

/* Has a TTFT of the claim already been found to be something else? */
static bool suspect(const auditor *a) {
    for (size_t i = 0; i < a->n; i++)
        if (a->list[i].rule == &RULES[R_POPULATION] && a->list[i].outcome == AUDIT_FAIL)
            return true;
    return false;
}

/* A trade-off is no fault; one that rests on figures of different events is. */
static void check_trade(auditor *a) {
    const claim *c = a->claim;
    arm_range *ranges = ARENA_ARRAY(a->mem, arm_range, c->figures_n);
    size_t n = 0;
    if (!ranges) {
        a->full = true;
        return;
    }
    for (size_t i = 0; i < c->figures_n; i++) { /* of every arm that has a TTFT, once */
        const claim_figure *f = &c->figures[i];
        bool first = f->metric == METRIC_TTFT && f->arm;
        for (size_t j = 0; first && j < n; j++) first = strcmp(ranges[j].arm, f->arm) != 0;
        if (first) ranges[n++] = range_of(c, f);
    }
    audit_outcome o = suspect(a) ? AUDIT_FAIL : AUDIT_CANNOT_TELL;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            arm_range x = ranges[i], y = ranges[k];
            if (i == k || !x.rate.ok || !y.rate.ok || x.ttft.hi >= y.ttft.lo ||
                x.rate.hi >= y.rate.lo)
                continue;
            finding *say = audit_say(
                a, R_CONDITIONS, "trade", o, x.arm,
                x.first->origin | y.first->origin | x.rate.origins | y.rate.origins,
                "%s has the lower TTFT (%s against %s) and the lower throughput (%s to %s against "
                "%s to %s): a reading of latency alone hides it",
                x.arm, say_s(a, x.ttft.hi), say_s(a, y.ttft.lo), say_num(a, x.rate.lo, ""),
                say_num(a, x.rate.hi, "tok/s"), say_num(a, y.rate.lo, ""),
                say_num(a, y.rate.hi, "tok/s"));
            audit_numbers(say, y.rate.v, x.rate.v, "tok/s");
            say->weight = o == AUDIT_FAIL ? WEIGHT_MINOR : WEIGHT_NOTE;
        }
}

/* ---- concurrency cannot speed up a saturated device ---- */

/* A percentile that is the slowest of n requests bounds the time of all their tokens. */
static void check_saturated(auditor *a) {
    static const double LONG_PROMPT_TOK = 2048; /* a pass over that many rows is compute-bound */
    const claim *c = a->claim;
    const claim_figure *worst = NULL, *alone = NULL;
    double most = 0, one = 0;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (f->metric != METRIC_TTFT || f->streams_n < 1) continue;
        iv tok = facts_request_computed_tok(c, f);
        const claim_figure *all = facts_beside(c, f, METRIC_COMPUTED_TOK);
        if (!tok.ok || !all || tok.v < LONG_PROMPT_TOK || !claim_same_arm(all->arm, f->arm))
            continue;
        size_t n = (size_t)f->streams_n;
        if (f->streams_n == 1 && tok.v / f->q.v > one) {
            one = tok.v / f->q.v;
            alone = f;
        }
        bool slowest = f->percentile_ppm > 0 && stat_rank(n, f->percentile_ppm) + 1 == n;
        if (f->streams_n > 1 && slowest && all->q.v / f->q.v > most) {
            most = all->q.v / f->q.v;
            worst = f;
        }
    }
    if (!worst || !alone) return;
    bool ok = most <= one * 1.1;
    finding *say = audit_say(
        a, R_MONO, "saturated", ok ? AUDIT_PASS : AUDIT_FAIL, worst->name,
        worst->origin | alone->origin,
        "%s: the slowest of %lld requests has its first token after %s, so all their tokens are "
        "computed at %s or more; one request alone runs at %s, and concurrency cannot raise the "
        "rate of a saturated device",
        worst->arm ? worst->arm : worst->name, (long long)worst->streams_n, say_s(a, worst->q.v),
        say_num(a, most, "tok/s"), say_num(a, one, "tok/s"));
    audit_numbers(say, one, most, "tok/s");
}

/* ---- queue wait is part of TTFT ---- */

static bool same_statistic(const claim_figure *f, const claim_figure *g) {
    static const char *const MEAN = "mean|average|avg";
    if (f->warm != g->warm || f->cold != g->cold) return false;
    if (f->percentile_ppm || g->percentile_ppm) return f->percentile_ppm == g->percentile_ppm;
    return words_have(f->name, MEAN) && words_have(g->name, MEAN);
}

static void check_queue_in_ttft(auditor *a, const claim_figure *f) {
    const claim_figure *wait = facts_beside(a->claim, f, METRIC_QUEUE_TIME);
    if (!wait || !same_statistic(f, wait) || !claim_same_arm(f->arm, wait->arm)) return;
    bool ok = wait->q.lo <= f->q.hi;
    finding *say = audit_say(
        a, R_QUEUE, "in-ttft", ok ? AUDIT_PASS : AUDIT_FAIL, f->name, f->origin | wait->origin,
        ok ? "TTFT of %s holds the queue wait of %s"
           : "TTFT of %s is shorter than the queue wait of %s: it was left out",
        say_s(a, f->q.v), say_s(a, wait->q.v));
    audit_numbers(say, wait->q.v, f->q.v, "s");
}

/* Queue wait printed beside a wall-clock that its parts fill without it. */
static void check_queue_beside_wall(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    const claim_figure *wall = facts_beside(c, f, METRIC_WALL);
    iv busy = iv_add(iv_figure(facts_beside(c, f, METRIC_PREFILL_TIME)),
                     iv_figure(facts_beside(c, f, METRIC_DECODE_TIME)));
    if (f->metric != METRIC_QUEUE_TIME || f->percentile_ppm || f->q.v <= 0 || !wall || !busy.ok ||
        !claim_same_arm(wall->arm, f->arm) || !quantity_allows(&wall->q, busy.lo, busy.hi))
        return;
    finding *say = audit_say(a, R_QUEUE, "beside-wall", AUDIT_CANNOT_TELL, f->name,
                             f->origin | wall->origin | busy.origins,
                             "%s of queue wait stand beside a wall-clock of %s that prefill and "
                             "decode fill: in no part of it, and not said to be in TTFT",
                             say_s(a, f->q.v), say_s(a, wall->q.v));
    audit_numbers(say, 0, f->q.v, "s");
}

/* A time of nothing was not taken: the answer came in one piece. */
static void check_untimed(auditor *a, const claim_figure *f) {
    if (f->q.u->dim != DIM_TIME || f->q.v != 0 || f->q.bound) return;
    bool between = f->metric == METRIC_ITL || f->metric == METRIC_TPOT;
    if (f->metric != METRIC_TTFT && !between && f->metric != METRIC_LATENCY) return;
    iv tok = facts_output_tok(a->claim, f);
    if (!tok.ok)
        tok = iv_div(iv_figure(facts_beside(a->claim, f, METRIC_OUTPUT_TOK)),
                     iv_figure(facts_beside(a->claim, f, METRIC_REQUESTS)));
    if (between && (!tok.ok || tok.v <= 1)) return; /* one token has no next one */
    audit_say(a, R_POPULATION, "untimed", AUDIT_FAIL, f->name, f->origin,
              "%s is printed as 0: no first or next token was timed, so what stands beside it is "
              "not split into them",
              f->name);
}

void check_populations(auditor *a) {
    const claim *c = a->claim;
    check_turns(a);
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        check_queue_beside_wall(a, f);
        check_untimed(a, f);
        if (f->metric == METRIC_TTFT) check_queue_in_ttft(a, f);
        if (f->metric == METRIC_TTFT) check_whole_batch(a, f);
        if (f->metric == METRIC_TTFT && f->streams_n > 0) check_flat(a, f);
        check_streams(a, f);
        check_together(a, f);
        check_whole_request(a, f);
    }
    check_trade(a);
    check_saturated(a);
}
