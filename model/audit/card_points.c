/* The points of a card against each other. No check here calls a measured fall wrong: engines do
 * fall between batches; what it says is that a second measurement would tell. */
#include "card_audit.h"

#include "base/stat.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double AGREE_FRAC = 0.10;
static const double FALL_FRAC = 0.03;
static const double COLD_FRAC = 0.20;
/* Aggregate at B sequences over that at one: below, it looks like the rate of one of them. */
static const double PER_REQUEST_FRAC = 0.6;
/* Steps of several sequences that are this much shorter than the step of one. */
static const double SUPERLINEAR_DOUBT = 1.10, SUPERLINEAR_FAIL = 1.50;
/* A step that grows by this much, and this many times faster than its neighbours. */
static const double JUMP_FRAC = 0.15, JUMP_TIMES = 4;

/* Points of one key, in either phase. */
typedef struct cell {
    int64_t x;      /* batch (decode), tokens of a prompt (prefill) */
    double s;       /* median of the points that are used; 0: none is */
    bool printed;   /* no repetitions: a rate as the source prints it */
    const void *at; /* a point of the key */
} cell;

static int order(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int order_f(double a, double b) {
    return (a > b) - (a < b);
}

/* ---- points that disagree ---- */

/* Two values of one key. */
typedef struct clash {
    tally t;
    double lo, hi; /* tok/s of the worst */
    bool plain;    /* it stands between values that nothing excuses */
} clash;

typedef struct spread {
    double lo, hi;
    bool doubtful; /* a single sample, a point not used, a key not stated */
    bool thin;     /* a printed rate: repetitions unknown */
    bool sources_differ;
    const char *source;
    size_t n;
} spread;

static void spread_add(spread *s, double tok_s, const point_origin *o, bool stated) {
    s->lo = s->n ? fmin(s->lo, tok_s) : tok_s;
    s->hi = s->n ? fmax(s->hi, tok_s) : tok_s;
    s->sources_differ |= s->n > 0 && strcmp(s->source, o->source) != 0;
    s->source = o->source;
    s->n++;
    s->doubtful |= o->samples_n == 1 || o->excluded || !stated;
    s->thin |= o->samples_n == 0;
}

static void clash_add(clash *c, const spread *s, const void *point) {
    if (s->n < 2) return;
    double apart = s->hi / s->lo - 1;
    bool off = apart > AGREE_FRAC, doubtful = s->doubtful || (s->thin && s->sources_differ),
         plain = off && !doubtful;
    if (off && c->plain && !plain) return; /* a plain one is heavier than any that has an excuse */
    if (plain && !c->plain) c->t.worst = -1;
    if (c->t.seen == 0 || apart > c->t.worst) {
        c->lo = s->lo;
        c->hi = s->hi;
    }
    c->plain |= plain;
    tally_add(&c->t, off, apart, point);
}

static void say_clash(const card_view *v, const clash *c, const char *name) {
    if (c->t.seen == 0) return;
    audit_outcome o = c->t.broken == 0 ? AUDIT_PASS : c->plain ? AUDIT_FAIL : AUDIT_CANNOT_TELL;
    const char *excuse = o == AUDIT_CANNOT_TELL
                             ? "; a single sample, another source, a point not used or an "
                               "unstated key is among them: reported, not averaged"
                             : "";
    finding *f = audit_say(v->a, R_CONSISTENCY, "same-key", o, name, 0,
                           "%zu of %zu keys measured twice differ by more than 10 %%; the most: "
                           "%s, %.4g and %.4g tok/s%s",
                           c->t.broken, c->t.seen, name, c->lo, c->hi, excuse);
    audit_numbers(f, c->hi, c->lo, "tok/s");
}

/* ---- rates of one sequence, and rates that are too good ---- */

static double rate(const cell *c) {
    return (double)c->x / c->s;
}

/* Cells of one context by batch, the first of them one sequence. A printed rate that is far below
 * that of one sequence, and no higher at more sequences, is one sequence's. */
static bool looks_per_request(const cell *cells, size_t n, size_t i) {
    if (!cells[i].printed || rate(&cells[i]) >= PER_REQUEST_FRAC * rate(&cells[0])) return false;
    for (size_t k = i + 1; k < n; k++)
        if (rate(&cells[k]) > rate(&cells[i])) return false;
    return true;
}

typedef struct batches {
    tally per_request, superlinear, step_falls, rate_falls, jumps;
    double one_tok_s, per_request_tok_s; /* of the worst */
    double few_s, many_s;                /* of the worst step fall */
    double few_tok_s, many_tok_s;        /* of the worst rate fall */
    double jump_from_s, jump_to_s;
    clash same_key;
} batches;

static void check_against_one(const cell *cells, size_t n, batches *b) {
    if (n < 2 || cells[0].x != 1) return;
    for (size_t i = 1; i < n; i++) {
        double share = rate(&cells[i]) / rate(&cells[0]);
        bool one = looks_per_request(cells, n, i);
        if (one && (b->per_request.broken == 0 || 1 / share > b->per_request.worst)) {
            b->one_tok_s = rate(&cells[0]);
            b->per_request_tok_s = rate(&cells[i]);
            b->per_request.worst = -1; /* broken ones before the rest */
        }
        if (one || b->per_request.broken == 0)
            tally_add(&b->per_request, one, 1 / share, cells[i].at);
        else
            b->per_request.seen++;
        double gain = share / (double)cells[i].x;
        tally_add(&b->superlinear, gain > SUPERLINEAR_DOUBT, gain, cells[i].at);
    }
}

/* ---- falls and jumps between neighbours ---- */

static void check_neighbours(const cell *cells, size_t n, batches *b) {
    for (size_t i = 1; i < n; i++) {
        const cell *few = &cells[i - 1], *many = &cells[i];
        double step = few->s / many->s, agg = rate(few) / rate(many);
        if (b->step_falls.seen == 0 || step > b->step_falls.worst) {
            b->few_s = few->s;
            b->many_s = many->s;
        }
        if (b->rate_falls.seen == 0 || agg > b->rate_falls.worst) {
            b->few_tok_s = rate(few);
            b->many_tok_s = rate(many);
        }
        tally_add(&b->step_falls, step > 1 + FALL_FRAC, step, many->at);
        tally_add(&b->rate_falls, agg > 1 + FALL_FRAC, agg, many->at);
    }
}

/* A rise that the neighbours do not show: the kernel changed there, or something else did. */
static void check_jumps(const cell *cells, size_t n, batches *b, double *slopes) {
    if (n < 4) return;
    size_t k = 0;
    for (size_t i = 1; i < n; i++)
        slopes[k++] = (cells[i].s - cells[i - 1].s) / (double)(cells[i].x - cells[i - 1].x);
    double usual = fmax(stat_median_f64(slopes, k), 0);
    for (size_t i = 1; i < n; i++) {
        double slope = (cells[i].s - cells[i - 1].s) / (double)(cells[i].x - cells[i - 1].x);
        double rise = cells[i].s / cells[i - 1].s - 1;
        bool jump = rise > JUMP_FRAC && slope > JUMP_TIMES * usual;
        if (jump && (b->jumps.broken == 0 || rise > b->jumps.worst)) {
            b->jump_from_s = cells[i - 1].s;
            b->jump_to_s = cells[i].s;
        }
        if (jump)
            tally_add(&b->jumps, true, rise, cells[i].at);
        else
            b->jumps.seen++;
    }
}

/* ---- decode ---- */

static int by_decode_key(const void *a, const void *b) {
    const decode_point *p = *(const decode_point *const *)a, *q = *(const decode_point *const *)b;
    int o = order(p->context_tok, q->context_tok);
    if (!o) o = order(p->origin.shared_prompt, q->origin.shared_prompt);
    if (!o) o = order(p->batch_n, q->batch_n);
    return o ? o : order_f(p->step_s, q->step_s);
}

static bool same_decode_group(const decode_point *p, const decode_point *q) {
    return p->context_tok == q->context_tok && p->origin.shared_prompt == q->origin.shared_prompt;
}

/* Times of the used points of a key, sorted: their median. */
static double median_of(const double *sorted, size_t n) {
    return n ? sorted[(n - 1) / 2] : 0;
}

/* Points of one key from `i` on; returns where the next key begins. */
static size_t decode_key(const decode_point *const *v, size_t n, size_t i, double *times, cell *out,
                         clash *same) {
    spread s = {0};
    size_t used = 0, k = i;
    *out = (cell){.x = v[i]->batch_n, .at = v[i], .printed = true};
    for (; k < n && same_decode_group(v[i], v[k]) && v[k]->batch_n == v[i]->batch_n; k++) {
        const point_origin *o = &v[k]->origin;
        spread_add(&s, v[k]->tok_s, o, v[k]->context_tok >= 0);
        if (o->excluded) continue;
        times[used++] = v[k]->step_s;
        out->printed &= o->samples_n == 0;
        out->at = v[k];
    }
    out->s = median_of(times, used);
    clash_add(same, &s, v[i]);
    return k;
}

static void say_step_falls(const card_view *v, const batches *b) {
    const tally *t = &b->step_falls;
    if (t->seen == 0) return;
    finding *f = audit_say(
        v->a, R_MONO, "step-fall", t->broken ? AUDIT_CANNOT_TELL : AUDIT_PASS,
        decode_name(v, t->at), 0,
        t->broken
            ? "in %zu of %zu steps to a larger batch the step gets shorter, most at %s: %.4g "
              "to %.4g ms; real or a fault: measure again"
            : "in %zu of %zu steps to a larger batch the step gets shorter by over 3 %%; %s is "
              "nearest to it: %.4g to %.4g ms",
        t->broken, t->seen, decode_name(v, t->at), b->few_s * 1e3, b->many_s * 1e3);
    audit_numbers(f, b->few_s * 1e3, b->many_s * 1e3, "ms");
    f->weight = WEIGHT_NOTE;
}

static void say_rate_falls(const card_view *v, const batches *b) {
    const tally *t = &b->rate_falls;
    if (t->seen == 0) return;
    finding *f = audit_say(
        v->a, R_MONO, "rate-fall", t->broken ? AUDIT_CANNOT_TELL : AUDIT_PASS,
        decode_name(v, t->at), 0,
        t->broken
            ? "in %zu of %zu steps to a larger batch the aggregate rate falls, most at %s: "
              "%.4g to %.4g tok/s; real or a fault: measure again"
            : "in %zu of %zu steps to a larger batch the aggregate rate falls by over 3 %%; %s "
              "is nearest to it: %.4g to %.4g tok/s",
        t->broken, t->seen, decode_name(v, t->at), b->few_tok_s, b->many_tok_s);
    audit_numbers(f, b->few_tok_s, b->many_tok_s, "tok/s");
    f->weight = WEIGHT_NOTE;
}

static void say_jumps(const card_view *v, const batches *b) {
    const tally *t = &b->jumps;
    if (t->broken == 0) return;
    finding *f = audit_say(
        v->a, R_MONO, "step-jump", AUDIT_CANNOT_TELL, decode_name(v, t->at), 0,
        "in %zu of %zu steps to a larger batch the step jumps, most at %s: %.4g "
        "to %.4g ms, over 4 times the usual rise; a change of kernel, or a fault: "
        "measure again",
        t->broken, t->seen, decode_name(v, t->at), b->jump_from_s * 1e3, b->jump_to_s * 1e3);
    audit_numbers(f, b->jump_from_s * 1e3, b->jump_to_s * 1e3, "ms");
    f->weight = WEIGHT_NOTE;
}

static void say_against_one(const card_view *v, const batches *b) {
    const tally *one = &b->per_request, *many = &b->superlinear;
    if (one->seen == 0) return;
    const char *name = decode_name(v, one->at);
    const decode_point *p = one->at;
    if (one->broken == 0)
        audit_say(v->a, R_UNITS, "per-request", AUDIT_PASS, name, 0,
                  "no printed rate of several sequences looks like that of one of them (%zu "
                  "compared with one sequence)",
                  one->seen);
    else
        audit_numbers(
            audit_say(
                v->a, R_UNITS, "per-request", AUDIT_FAIL, name, 0,
                "%zu of %zu rates look like those of one sequence, not of the batch; %s: %.4g "
                "tok/s against %.4g of one alone, times %lld it would be %.4g",
                one->broken, one->seen, name, b->per_request_tok_s, b->one_tok_s,
                (long long)p->batch_n, b->per_request_tok_s * (double)p->batch_n),
            b->per_request_tok_s * (double)p->batch_n, b->per_request_tok_s, "tok/s");
    name = decode_name(v, many->at);
    p = many->at;
    audit_outcome o = many->worst > SUPERLINEAR_FAIL    ? AUDIT_FAIL
                      : many->worst > SUPERLINEAR_DOUBT ? AUDIT_CANNOT_TELL
                                                        : AUDIT_PASS;
    finding *f = audit_say(v->a, R_POPULATION, "superlinear", o, name, 0,
                           "%zu of %zu rates are more than that many times one sequence's; the "
                           "highest is %s: %.4g times for %lld sequences%s",
                           many->broken, many->seen, name, many->worst * (double)p->batch_n,
                           (long long)p->batch_n,
                           o == AUDIT_FAIL ? ": another population, or counted twice" : "");
    audit_numbers(f, (double)p->batch_n, many->worst * (double)p->batch_n, "x");
}

/* Groups of one context, each as cells by batch. */
static void walk_decode(const decode_point *const *v, size_t n, cell *cells, double *times,
                        batches *b) {
    for (size_t i = 0; i < n;) {
        size_t first = i, cells_n = 0;
        while (i < n && same_decode_group(v[first], v[i])) {
            i = decode_key(v, n, i, times, &cells[cells_n], &b->same_key);
            if (cells[cells_n].s > 0) cells_n++;
        }
        check_against_one(cells, cells_n, b);
        check_neighbours(cells, cells_n, b);
        check_jumps(cells, cells_n, b, times);
    }
}

void card_check_batches(const card_view *v) {
    size_t n = v->c->decode_n;
    const decode_point **list = ARENA_ARRAY(v->a->mem, const decode_point *, n + 1);
    cell *cells = ARENA_ARRAY(v->a->mem, cell, n + 1);
    double *times = ARENA_ARRAY(v->a->mem, double, n + 1);
    if (!list || !cells || !times) {
        v->a->full = true;
        return;
    }
    for (size_t i = 0; i < n; i++) list[i] = &v->c->decode[i];
    qsort(list, n, sizeof *list, by_decode_key);
    batches b = {0};
    walk_decode(list, n, cells, times, &b);
    say_against_one(v, &b);
    say_step_falls(v, &b);
    say_rate_falls(v, &b);
    say_jumps(v, &b);
    if (b.same_key.t.seen) say_clash(v, &b.same_key, decode_name(v, b.same_key.t.at));
}

/* ---- prefill ---- */

static int64_t ubatch(const prefill_point *p) {
    return p->n_ubatch;
}

static int by_prefill_key(const void *a, const void *b) {
    const prefill_point *p = *(const prefill_point *const *)a,
                        *q = *(const prefill_point *const *)b;
    int o = order(ubatch(p), ubatch(q));
    if (!o) o = order(p->origin.shared_prompt, q->origin.shared_prompt);
    if (!o) o = order(p->batch_n, q->batch_n);
    if (!o) o = order(p->depth_tok, q->depth_tok);
    if (!o) o = order(p->n_prompt_tok, q->n_prompt_tok);
    return o ? o : order_f(p->s, q->s);
}

static bool same_prefill_group(const prefill_point *p, const prefill_point *q) {
    return ubatch(p) == ubatch(q) && p->batch_n == q->batch_n && p->depth_tok == q->depth_tok &&
           p->origin.shared_prompt == q->origin.shared_prompt;
}

static size_t prefill_key(const prefill_point *const *v, size_t n, size_t i, double *times,
                          cell *out, clash *same) {
    spread s = {0};
    size_t used = 0, k = i;
    *out = (cell){.x = v[i]->n_prompt_tok, .at = v[i]};
    for (; k < n && same_prefill_group(v[i], v[k]) && v[k]->n_prompt_tok == v[i]->n_prompt_tok;
         k++) {
        spread_add(&s, v[k]->tok_s, &v[k]->origin, v[k]->n_prompt_tok > 0);
        if (v[k]->origin.excluded) continue;
        times[used++] = v[k]->s;
        out->at = v[k];
    }
    out->s = median_of(times, used);
    clash_add(same, &s, v[i]);
    return k;
}

/* A longer prompt that takes less time, everything else the same. */
typedef struct lengths {
    tally falls;
    double short_s, long_s;
    clash same_key;
} lengths;

static void check_longer(const cell *shorter, const cell *longer, lengths *l) {
    double fall = shorter->s / longer->s;
    if (l->falls.seen == 0 || fall > l->falls.worst) {
        l->short_s = shorter->s;
        l->long_s = longer->s;
    }
    tally_add(&l->falls, fall > 1 + FALL_FRAC, fall, longer->at);
}

static void walk_prefill(const prefill_point *const *v, size_t n, double *times, lengths *l) {
    for (size_t i = 0; i < n;) {
        size_t first = i;
        cell before = {0};
        while (i < n && same_prefill_group(v[first], v[i])) {
            cell here;
            i = prefill_key(v, n, i, times, &here, &l->same_key);
            if (here.s <= 0) continue;
            if (before.s > 0) check_longer(&before, &here, l);
            before = here;
        }
    }
}

void card_check_lengths(const card_view *v) {
    size_t n = v->c->prefill_n;
    const prefill_point **list = ARENA_ARRAY(v->a->mem, const prefill_point *, n + 1);
    double *times = ARENA_ARRAY(v->a->mem, double, n + 1);
    if (!list || !times) {
        v->a->full = true;
        return;
    }
    for (size_t i = 0; i < n; i++) list[i] = &v->c->prefill[i];
    qsort(list, n, sizeof *list, by_prefill_key);
    lengths l = {0};
    walk_prefill(list, n, times, &l);
    const tally *t = &l.falls;
    if (t->seen > 0) {
        const char *name = prefill_name(v, t->at);
        finding *f = audit_say(
            v->a, R_MONO, "prefill-fall", t->broken ? AUDIT_CANNOT_TELL : AUDIT_PASS, name, 0,
            "%zu of %zu longer prompts take less time by over 3 %%; nearest to it "
            "or worst is %s: %.4g to %.4g ms%s",
            t->broken, t->seen, name, l.short_s * 1e3, l.long_s * 1e3,
            t->broken ? "; a slow first sample, or a fault: measure again" : "");
        audit_numbers(f, l.short_s * 1e3, l.long_s * 1e3, "ms");
        f->weight = WEIGHT_NOTE;
    }
    if (l.same_key.t.seen) say_clash(v, &l.same_key, prefill_name(v, l.same_key.t.at));
}

/* ---- cold samples ---- */

typedef struct cold {
    size_t seen, slow,
        in_mean;      /* points with repetitions; first one slow; and its value the mean */
    const char *name; /* a point of in_mean */
    double value_s, warm_s;
} cold;

/* Is the first repetition slow, and the value of the point the mean over all? */
static void cold_add(cold *k, const point_origin *o, double value_s, double *scratch,
                     const card_view *v, const void *point, bool decode) {
    if (o->samples_n < 2 || o->excluded) return;
    k->seen++;
    memcpy(scratch, o->samples_s + 1, (o->samples_n - 1) * sizeof *scratch);
    double rest = stat_median_f64(scratch, o->samples_n - 1), sum = 0;
    if (o->samples_s[0] <= rest * (1 + COLD_FRAC)) return;
    k->slow++;
    for (size_t i = 0; i < o->samples_n; i++) sum += o->samples_s[i];
    double mean = sum / (double)o->samples_n, warm = card_warm_sample_s(o->samples_s, o->samples_n);
    if (fabs(value_s / mean - 1) > 0.005 || value_s < warm * 1.05) return;
    if (k->in_mean++) return;
    k->name = decode ? decode_name(v, point) : prefill_name(v, point);
    k->value_s = value_s;
    k->warm_s = warm;
}

static size_t most_samples(const card *c) {
    size_t most = 1;
    for (size_t i = 0; i < c->decode_n; i++)
        if (c->decode[i].origin.samples_n > most) most = c->decode[i].origin.samples_n;
    for (size_t i = 0; i < c->prefill_n; i++)
        if (c->prefill[i].origin.samples_n > most) most = c->prefill[i].origin.samples_n;
    return most;
}

void card_check_cold_samples(const card_view *v) {
    const card *c = v->c;
    cold k = {0};
    double *scratch = ARENA_ARRAY(v->a->mem, double, most_samples(c));
    if (!scratch) {
        v->a->full = true;
        return;
    }
    for (size_t i = 0; i < c->prefill_n; i++)
        cold_add(&k, &c->prefill[i].origin, c->prefill[i].s, scratch, v, &c->prefill[i], false);
    for (size_t i = 0; i < c->decode_n; i++)
        cold_add(&k, &c->decode[i].origin, c->decode[i].step_s, scratch, v, &c->decode[i], true);
    if (k.seen == 0) return;
    if (k.in_mean == 0) {
        audit_say(
            v->a, R_POPULATION, "cold-sample", AUDIT_PASS, c->id, 0,
            "%zu of %zu points with repetitions have a slow first one; none has the mean over "
            "it as its value",
            k.slow, k.seen);
        return;
    }
    finding *f =
        audit_say(v->a, R_POPULATION, "cold-sample", AUDIT_FAIL, k.name, 0,
                  "%zu points hold the mean over a slow first repetition; %s: %.4g ms, the "
                  "warm sample is %.4g ms",
                  k.in_mean, k.name, k.value_s * 1e3, k.warm_s * 1e3);
    audit_numbers(f, k.warm_s * 1e3, k.value_s * 1e3, "ms");
}
