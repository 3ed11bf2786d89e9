#include "curve.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_interp.h>
#include <math.h>
#include <stdlib.h>

enum { BATCHES_MAX = 1024 };

/* The points of one batch size, gathered for the line fit. */
typedef struct group {
    double *sum_context, *step_s, *weight;
    size_t n;
    bool varied; /* more than one context */
} group;

static bool usable(const decode_point *p, bool need_context) {
    return !p->origin.excluded && (!need_context || p->context_tok >= 0);
}

static int cmp_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Distinct batch sizes of the usable points, rising. */
static size_t distinct_batches(const card *c, bool need_context, int64_t *out) {
    size_t n = 0;
    for (size_t i = 0; i < c->decode_n; i++)
        if (usable(&c->decode[i], need_context)) out[n++] = c->decode[i].batch_n;
    if (n == 0) return 0;
    qsort(out, n, sizeof *out, cmp_i64);
    size_t u = 1;
    for (size_t i = 1; i < n; i++)
        if (out[i] != out[u - 1]) out[u++] = out[i];
    return u;
}

static void gather(const card *c, int64_t batch_n, bool need_context, group *g) {
    g->n = 0;
    g->varied = false;
    for (size_t i = 0; i < c->decode_n; i++) {
        const decode_point *p = &c->decode[i];
        if (!usable(p, need_context) || p->batch_n != batch_n) continue;
        double context = p->context_tok > 0 ? (double)p->context_tok : 0;
        g->sum_context[g->n] = context * (double)batch_n;
        g->step_s[g->n] = p->step_s;
        g->weight[g->n] = 1 / (p->step_s * p->step_s); /* relative errors count */
        if (g->n > 0 && g->sum_context[g->n] != g->sum_context[0]) g->varied = true;
        g->n++;
    }
}

/* a with a given k: the weighted mean of what is left when attention is taken off. */
static double offset_with(const group *g, double k_s) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < g->n; i++) {
        sum += g->weight[i] * (g->step_s[i] - k_s * g->sum_context[i]);
        weights += g->weight[i];
    }
    return fmax(sum / weights, 0);
}

/* a and k of one batch size by weighted least squares. A context slope below zero is noise: it
 * becomes 0. */
static void fit_line(const group *g, double *a_s, double *k_s) {
    double cov00, cov01, cov11, chisq;
    gsl_fit_wlinear(g->sum_context, 1, g->weight, 1, g->step_s, 1, g->n, a_s, k_s, &cov00, &cov01,
                    &cov11, &chisq);
    if (*k_s >= 0 && *a_s > 0) return;
    *k_s = fmax(*k_s, 0);
    if (*a_s <= 0) *k_s = 0;
    *a_s = offset_with(g, *k_s);
}

/* The batch size nearest to knot i that has a slope of its own. */
static double nearest_slope(const double *batch_n, const double *k_s, size_t n, size_t i) {
    double best = HUGE_VAL, k = 0;
    for (size_t j = 0; j < n; j++) {
        if (isnan(k_s[j])) continue;
        double dist = fabs(log(batch_n[j] / batch_n[i]));
        if (dist < best) {
            best = dist;
            k = k_s[j];
        }
    }
    return best < HUGE_VAL ? k : (double)NAN;
}

static void context_range(const card *c, decode_curve *out) {
    for (size_t i = 0; i < c->decode_n; i++) {
        const decode_point *p = &c->decode[i];
        if (!usable(p, true)) continue;
        if (out->context_max_tok == 0 || p->context_tok < out->context_min_tok)
            out->context_min_tok = p->context_tok;
        if (p->context_tok > out->context_max_tok) out->context_max_tok = p->context_tok;
    }
}

/* Fills a and k of every knot. `own_k` is scratch: slopes that a batch size has of its own, else
 * NaN. */
static err_code fit_knots(const card *c, double k_declared_s, const int64_t *batches, group *g,
                          double *own_k, double *a_s, double *k_s, const decode_curve *d, err *e) {
    bool declared = k_declared_s >= 0;
    for (size_t i = 0; i < d->n; i++) {
        gather(c, batches[i], !declared, g);
        own_k[i] = declared ? k_declared_s : (double)NAN;
        if (!declared && g->varied) fit_line(g, &a_s[i], &own_k[i]);
    }
    for (size_t i = 0; i < d->n; i++) {
        k_s[i] = nearest_slope(d->batch_n, own_k, d->n, i); /* its own where it has one */
        if (isnan(k_s[i]))
            return err_set(e, E_REFUSED, c->id,
                           "every decode batch has one context only, so attention over context is "
                           "not known: measure "
                           "`llama-batched-bench -npp 2048,8192 -ntg 64 -npl 1,2,4,8` or declare "
                           "decode_context_s_per_tok");
        gather(c, batches[i], !declared, g);
        if (declared || isnan(own_k[i])) a_s[i] = offset_with(g, k_s[i]);
        if (a_s[i] <= 0)
            return err_set(e, E_REFUSED, c->id,
                           "attention of %.6g s per sequence and context token is more than the "
                           "measured step at B = "
                           "%.0f takes: nothing is left for the weights",
                           k_s[i], d->batch_n[i]);
    }
    return OK;
}

err_code decode_curve_fit(const card *c, double k_declared_s, arena *mem, decode_curve *out,
                          err *e) {
    *out = (decode_curve){0};
    bool need_context = k_declared_s < 0;
    int64_t *batches = ARENA_ARRAY(mem, int64_t, c->decode_n);
    group g = {.sum_context = ARENA_ARRAY(mem, double, c->decode_n),
               .step_s = ARENA_ARRAY(mem, double, c->decode_n),
               .weight = ARENA_ARRAY(mem, double, c->decode_n)};
    if (!batches || !g.sum_context || !g.step_s || !g.weight)
        return err_set(e, E_LIMIT, c->id, "does not fit the memory budget");
    if (distinct_batches(c, false, batches) == 0)
        return err_set(e, E_REFUSED, c->id,
                       "card has no decode point (prefill only): measure `llama-batched-bench -npl "
                       "1,2,4,8` or declare "
                       "decode_tok_s");
    size_t n = distinct_batches(c, need_context, batches);
    if (n == 0)
        return err_set(e, E_REFUSED, c->id,
                       "no decode point states its context: measure `llama-batched-bench -npp "
                       "2048,8192 -ntg 64 -npl "
                       "1,2,4,8` or declare decode_context_s_per_tok");
    double *batch_n = ARENA_ARRAY(mem, double, n), *a_s = ARENA_ARRAY(mem, double, n);
    double *k_s = ARENA_ARRAY(mem, double, n), *own_k = ARENA_ARRAY(mem, double, n);
    if (!batch_n || !a_s || !k_s || !own_k)
        return err_set(e, E_LIMIT, c->id, "does not fit the memory budget");
    if (n > BATCHES_MAX)
        return err_set(e, E_LIMIT, c->id, "found %zu decode batch sizes, expected at most %d", n,
                       BATCHES_MAX);
    for (size_t i = 0; i < n; i++) batch_n[i] = (double)batches[i];
    *out = (decode_curve){.batch_n = batch_n, .a_s = a_s, .k_s = k_s, .n = n};
    if (fit_knots(c, k_declared_s, batches, &g, own_k, a_s, k_s, out, e)) return e->code;
    context_range(c, out);
    return OK;
}

/* Piecewise linear inside the knots; `y` continued by its last segment, never falling, beyond them.
 */
static double at(const decode_curve *d, const double *y, double batch_n) {
    size_t last = d->n - 1;
    if (batch_n <= d->batch_n[0]) return y[0];
    if (batch_n < d->batch_n[last]) {
        size_t i = gsl_interp_bsearch(d->batch_n, batch_n, 0, last);
        double f = (batch_n - d->batch_n[i]) / (d->batch_n[i + 1] - d->batch_n[i]);
        return y[i] + f * (y[i + 1] - y[i]);
    }
    if (batch_n == d->batch_n[last] || last == 0) return y[last];
    double slope = (y[last] - y[last - 1]) / (d->batch_n[last] - d->batch_n[last - 1]);
    return y[last] + fmax(slope, 0) * (batch_n - d->batch_n[last]);
}

decode_step decode_curve_at(const decode_curve *d, int64_t batch_n) {
    double b = (double)batch_n;
    return (decode_step){.a_s = at(d, d->a_s, b),
                         .k_s = at(d, d->k_s, b),
                         .extrapolated = b < d->batch_n[0] || b > d->batch_n[d->n - 1]};
}
