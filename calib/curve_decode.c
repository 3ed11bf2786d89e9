#include "curve.h"

#include "base/stat.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_interp.h>
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdlib.h>

enum { BATCHES_MAX = 256, POINTS_MAX = 4096 };

/* One point as the model sees it. */
typedef struct sample {
    int64_t batch_n;
    double own_tok, foreign_tok; /* sums over the sequences */
    double step_s;
    bool has_context;
} sample;

typedef struct problem {
    const card *c;
    sample *v;
    size_t n;
    const double *batch_n;
    size_t *pool; /* of each batch size: those of one pool have one a */
    size_t batches_n, pools_n;
    bool fit_own, fit_foreign;
    double own_s; /* declared */
} problem;

/* Cells of others that a batch scans under unified KV. A shared prompt is held once, so nobody's
 * prompt is foreign. */
static double foreign_of(const card *c, const decode_point *p) {
    if (c->engine.layout != KV_LAYOUT_UNIFIED || p->origin.shared_prompt || p->context_tok <= 0)
        return 0;
    return (double)p->batch_n * (double)(p->batch_n - 1) * (double)p->context_tok;
}

static err_code gather(const card *c, bool need_context, arena *mem, problem *out, err *e) {
    out->v = ARENA_ARRAY(mem, sample, c->decode_n);
    if (!out->v) return err_set(e, E_LIMIT, c->id, "does not fit the memory budget");
    size_t any = 0;
    for (size_t i = 0; i < c->decode_n; i++) {
        const decode_point *p = &c->decode[i];
        if (p->origin.excluded) continue;
        any++;
        if (need_context && p->context_tok < 0) continue;
        double context = p->context_tok > 0 ? (double)p->context_tok : 0;
        out->v[out->n++] = (sample){p->batch_n, context * (double)p->batch_n, foreign_of(c, p),
                                    p->step_s, p->context_tok >= 0};
    }
    if (any == 0)
        return err_set(e, E_REFUSED, c->id,
                       "card has no decode point (prefill only): measure `llama-batched-bench -npl "
                       "1,2,4,8` or declare "
                       "decode_tok_s");
    if (out->n == 0)
        return err_set(e, E_REFUSED, c->id,
                       "no decode point states its context: measure `llama-batched-bench -npp "
                       "2048,8192 -ntg 64 -npl "
                       "1,2,4,8` or declare decode_context_s_per_tok");
    if (out->n > POINTS_MAX)
        return err_set(e, E_LIMIT, c->id, "found %zu decode points, expected at most %d", out->n,
                       POINTS_MAX);
    return OK;
}

static err_code list_batches(problem *q, arena *mem, err *e) {
    double *b = ARENA_ARRAY(mem, double, q->n);
    if (!b) return err_set(e, E_LIMIT, q->c->id, "does not fit the memory budget");
    for (size_t i = 0; i < q->n; i++) b[i] = (double)q->v[i].batch_n;
    stat_sort_f64(b, q->n);
    size_t u = 1;
    for (size_t i = 1; i < q->n; i++)
        if (b[i] != b[u - 1]) b[u++] = b[i];
    q->batch_n = b;
    q->batches_n = u;
    if (u > BATCHES_MAX)
        return err_set(e, E_LIMIT, q->c->id, "found %zu decode batch sizes, expected at most %d", u,
                       BATCHES_MAX);
    return OK;
}

static size_t batch_index(const problem *q, int64_t batch_n) {
    size_t lo = 0, hi = q->batches_n - 1;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (q->batch_n[mid] < (double)batch_n)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Can a slope over context be told from the a's? Some batch size must have two contexts. */
static bool sees_context(const problem *q) {
    for (size_t i = 0; i < q->n; i++)
        for (size_t j = 0; j < i; j++)
            if (q->v[i].batch_n == q->v[j].batch_n && q->v[i].own_tok != q->v[j].own_tok)
                return true;
    return false;
}

/* Own and foreign cells grow together unless some points share their prompt or differ in batch at
 * one context. */
static bool sees_foreign(const problem *q) {
    size_t with = 0, without = 0;
    for (size_t i = 0; i < q->n; i++) {
        if (q->v[i].batch_n == 1) continue;
        with += q->v[i].foreign_tok > 0;
        without += q->v[i].foreign_tok == 0;
    }
    return with >= 2 && without >= 2;
}

/* Rows are scaled by 1 / measured, so that every residual is relative. */
static void fill(const problem *q, gsl_matrix *X, gsl_vector *y) {
    for (size_t i = 0; i < q->n; i++) {
        const sample *p = &q->v[i];
        size_t at = q->pools_n;
        gsl_matrix_set(X, i, q->pool[batch_index(q, p->batch_n)], 1 / p->step_s);
        if (q->fit_own) gsl_matrix_set(X, i, at++, p->own_tok / p->step_s);
        if (q->fit_foreign) gsl_matrix_set(X, i, at, p->foreign_tok / p->step_s);
        gsl_vector_set(y, i, 1 - (q->fit_own ? 0 : q->own_s * p->own_tok / p->step_s));
    }
}

static bool all_finite(const gsl_vector *b) {
    for (size_t i = 0; i < b->size; i++)
        if (!isfinite(gsl_vector_get(b, i))) return false;
    return true;
}

/* Bisquare weights need points to spare; with few of them plain least squares is all there is. */
static bool least_squares(size_t n, size_t params, const gsl_matrix *X, const gsl_vector *y,
                          gsl_vector *b) {
    gsl_matrix *cov = gsl_matrix_alloc(params, params);
    double chisq;
    bool ok = false;
    if (n >= params + 6) {
        gsl_multifit_robust_workspace *w =
            gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, n, params);
        int status = w ? gsl_multifit_robust(X, y, b, cov, w) : GSL_ENOMEM;
        ok = (status == GSL_SUCCESS || status == GSL_EMAXITER) && all_finite(b);
        gsl_multifit_robust_free(w);
    }
    if (!ok) {
        gsl_multifit_linear_workspace *w = gsl_multifit_linear_alloc(n, params);
        ok = w && gsl_multifit_linear(X, y, b, cov, &chisq, w) == GSL_SUCCESS && all_finite(b);
        if (w) gsl_multifit_linear_free(w);
    }
    gsl_matrix_free(cov);
    return ok;
}

/* Solves for the a's and slopes; false when a slope comes out negative (noise: try again without
 * it). */
static bool solve(const problem *q, double *a_s, decode_curve *out) {
    size_t params = q->pools_n + q->fit_own + q->fit_foreign;
    if (q->n < params) return false;
    gsl_matrix *X = gsl_matrix_calloc(q->n, params);
    gsl_vector *y = gsl_vector_alloc(q->n), *b = gsl_vector_calloc(params);
    bool ok = X && y && b;
    if (ok) fill(q, X, y);
    ok = ok && least_squares(q->n, params, X, y, b);
    if (ok) {
        size_t at = q->pools_n;
        for (size_t i = 0; i < q->batches_n; i++) a_s[i] = gsl_vector_get(b, q->pool[i]);
        out->own_s = q->fit_own ? gsl_vector_get(b, at++) : q->own_s;
        out->foreign_s = q->fit_foreign ? gsl_vector_get(b, at) : 0;
        ok = out->own_s >= 0 && out->foreign_s >= 0;
    }
    gsl_vector_free(b);
    gsl_vector_free(y);
    gsl_matrix_free(X);
    return ok;
}

/* Slopes that come out negative are left out, the least certain first. */
static bool solve_slopes(problem *q, double *a_s, decode_curve *out) {
    const bool own = q->fit_own, foreign = q->fit_foreign;
    bool ok = solve(q, a_s, out);
    if (!ok && q->fit_foreign) {
        q->fit_foreign = false;
        ok = solve(q, a_s, out);
    }
    if (!ok && q->fit_own) {
        q->fit_own = false;
        ok = solve(q, a_s, out);
    }
    q->fit_own = own; /* fewer pools are another fit */
    q->fit_foreign = foreign;
    return ok;
}

/* Did a step of `many` sequences take less time than one of `few` at contexts no shorter? */
static bool fall_is_shown(const problem *q, double few, double many) {
    for (size_t i = 0; i < q->n; i++)
        for (size_t j = 0; j < q->n && (double)q->v[i].batch_n == few; j++) {
            const sample *x = &q->v[i], *y = &q->v[j];
            if ((double)y->batch_n == many && y->step_s < x->step_s &&
                x->has_context == y->has_context && y->own_tok / many >= x->own_tok / few)
                return true;
        }
    return false;
}

/* One slope for all may let `a` fall where no measurement does: the closest fit that does not gives
 * both batch sizes one a. Measured falls stay. */
static bool solve_pools(problem *q, double *a_s, decode_curve *out) {
    for (size_t i = 0; i < q->batches_n; i++) q->pool[i] = i;
    for (bool again = true; again;) {
        q->pools_n = q->pool[q->batches_n - 1] + 1;
        if (!solve_slopes(q, a_s, out)) return false;
        again = false;
        for (size_t i = 1, less = 0; i < q->batches_n; i++) {
            bool one = a_s[i] < a_s[i - 1] && !fall_is_shown(q, q->batch_n[i - 1], q->batch_n[i]);
            again |= one;
            less += one;
            q->pool[i] -= less;
        }
    }
    return true;
}

static err_code fit(problem *q, double *a_s, decode_curve *out, err *e) {
    if (q->fit_own && !sees_context(q))
        return err_set(e, E_REFUSED, q->c->id,
                       "every decode batch has one context only, so attention over context is not "
                       "known: measure "
                       "`llama-batched-bench -npp 2048,8192 -ntg 64 -npl 1,2,4,8` or declare "
                       "decode_context_s_per_tok");
    q->fit_foreign = q->c->engine.layout == KV_LAYOUT_UNIFIED && sees_foreign(q);
    if (!solve_pools(q, a_s, out))
        return err_set(e, E_REFUSED, q->c->id, "the %zu decode points fit no step-time curve",
                       q->n);
    for (size_t i = 0; i < q->batches_n; i++)
        if (a_s[i] <= 0)
            return err_set(e, E_REFUSED, q->c->id,
                           "attention of %.6g s per sequence and context token is more than the "
                           "measured step at B = %.0f "
                           "takes: nothing is left for the weights",
                           out->own_s, q->batch_n[i]);
    return OK;
}

static err_code describe(const problem *q, arena *mem, decode_curve *out, err *e) {
    double *residual = ARENA_ARRAY(mem, double, q->n);
    int64_t *reach = ARENA_ARRAY(mem, int64_t, q->batches_n);
    if (!residual || !reach) return err_set(e, E_LIMIT, q->c->id, "does not fit the memory budget");
    for (size_t i = 0; i < q->n; i++) {
        const sample *p = &q->v[i];
        double t = out->a_s[batch_index(q, p->batch_n)] + out->own_s * p->own_tok +
                   out->foreign_s * p->foreign_tok;
        residual[i] = fabs(t / p->step_s - 1);
        if (!p->has_context) continue;
        int64_t context = (int64_t)llround(p->own_tok / (double)p->batch_n);
        int64_t pool = (int64_t)llround((p->own_tok + p->foreign_tok) / (double)p->batch_n);
        if (pool > out->pool_reach_tok) out->pool_reach_tok = pool;
        if (context > reach[batch_index(q, p->batch_n)])
            reach[batch_index(q, p->batch_n)] = context;
        if (out->context_max_tok == 0 || context < out->context_min_tok)
            out->context_min_tok = context;
        if (context > out->context_max_tok) out->context_max_tok = context;
    }
    out->reach_tok = reach;
    out->median_residual_frac = stat_median_f64(residual, q->n); /* sorts */
    out->worst_residual_frac = residual[q->n - 1];
    size_t fitted = q->pools_n + (out->own_s != 0) + (out->foreign_s != 0);
    out->free_n = q->n > fitted ? q->n - fitted : 0;
    return OK;
}

err_code decode_curve_fit(const card *c, double k_declared_s, arena *mem, decode_curve *out,
                          err *e) {
    *out = (decode_curve){0};
    bool declared = k_declared_s >= 0;
    problem q = {.c = c, .fit_own = !declared, .own_s = declared ? k_declared_s : 0};
    if (gather(c, !declared, mem, &q, e) || list_batches(&q, mem, e) || !q.batch_n) return e->code;
    double *a_s = ARENA_ARRAY(mem, double, q.batches_n);
    q.pool = ARENA_ARRAY(mem, size_t, q.batches_n);
    if (!a_s || !q.pool) return err_set(e, E_LIMIT, c->id, "does not fit the memory budget");
    if (fit(&q, a_s, out, e)) return e->code;
    out->batch_n = q.batch_n;
    out->a_s = a_s;
    out->n = q.batches_n;
    return describe(&q, mem, out, e);
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

/* The context that is measured at this batch size, or at both neighbours. */
static int64_t reach_at(const decode_curve *d, double batch_n) {
    size_t last = d->n - 1;
    if (batch_n <= d->batch_n[0]) return d->reach_tok[0];
    if (batch_n >= d->batch_n[last]) return d->reach_tok[last];
    size_t i = gsl_interp_bsearch(d->batch_n, batch_n, 0, last);
    if (batch_n == d->batch_n[i]) return d->reach_tok[i];
    return d->reach_tok[i] < d->reach_tok[i + 1] ? d->reach_tok[i] : d->reach_tok[i + 1];
}

decode_step decode_curve_at(const decode_curve *d, int64_t batch_n) {
    double b = (double)batch_n;
    return (decode_step){.a_s = at(d, d->a_s, b),
                         .own_s = d->own_s,
                         .foreign_s = d->foreign_s,
                         .reach_tok = reach_at(d, b),
                         .extrapolated = b < d->batch_n[0] || b > d->batch_n[d->n - 1]};
}

double decode_curve_point_s(const decode_curve *d, const card *c, const decode_point *p) {
    double own_tok = p->context_tok > 0 ? (double)p->batch_n * (double)p->context_tok : 0;
    return at(d, d->a_s, (double)p->batch_n) + d->own_s * own_tok + d->foreign_s * foreign_of(c, p);
}

size_t decode_curve_falls(const decode_curve *d, curve_fall *worst) {
    size_t falls = 0;
    for (size_t i = 1; i < d->n; i++) {
        curve_fall f = {d->batch_n[i - 1], d->batch_n[i], d->a_s[i - 1], d->a_s[i]};
        if (f.many_s >= f.few_s) continue;
        if (falls++ == 0 || f.many_s / f.few_s < worst->many_s / worst->few_s) *worst = f;
    }
    return falls;
}
