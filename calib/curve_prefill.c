#include "curve.h"

#include "base/stat.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_interp.h>
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The limits keep the fit a matter of milliseconds; a dense sweep of lengths has a few dozen. */
enum { UBATCH_DEFAULT = 512, KNOTS_MAX = 128, CELLS_MAX = 4096 };

static bool usable(const prefill_point *p) {
    return !p->origin.excluded && p->n_prompt_tok > 0 && p->batch_n == 1;
}

static int cmp_point(const void *a, const void *b) {
    const prefill_point *x = *(const prefill_point *const *)a,
                        *y = *(const prefill_point *const *)b;
    if (x->n_prompt_tok != y->n_prompt_tok) return x->n_prompt_tok < y->n_prompt_tok ? -1 : 1;
    if (x->depth_tok != y->depth_tok) return x->depth_tok < y->depth_tok ? -1 : 1;
    if (x->n_ubatch != y->n_ubatch) return x->n_ubatch < y->n_ubatch ? -1 : 1;
    return (x > y) - (x < y);
}

static bool same_key(const prefill_point *a, const prefill_point *b) {
    return a->n_prompt_tok == b->n_prompt_tok && a->depth_tok == b->depth_tok &&
           a->n_ubatch == b->n_ubatch;
}

int64_t prefill_ubatch(const card *c) {
    static const char FAMILY[] = "llama"; /* llama.cpp, llama-server, ollama */
    if (c->engine.n_ubatch) return c->engine.n_ubatch;
    for (const char *at = c->engine.name; *at; at++)
        if (strncasecmp(at, FAMILY, sizeof FAMILY - 1) == 0) return UBATCH_DEFAULT;
    return PREFILL_WHOLE;
}

const prefill_cell *prefill_cells(const card *c, arena *mem, size_t *n) {
    int64_t n_ubatch = prefill_ubatch(c);
    const prefill_point **p = ARENA_ARRAY(mem, const prefill_point *, c->prefill_n);
    prefill_cell *cells = ARENA_ARRAY(mem, prefill_cell, c->prefill_n);
    size_t used = 0, samples = 1;
    for (size_t i = 0; p && i < c->prefill_n; i++)
        if (usable(&c->prefill[i])) {
            p[used++] = &c->prefill[i];
            samples += c->prefill[i].origin.samples_n + 1;
        }
    double *pool = ARENA_ARRAY(mem, double, samples);
    if (!p || !cells || !pool) return NULL;
    if (used) qsort(p, used, sizeof *p, cmp_point);
    *n = 0;
    for (size_t i = 0; i < used;) {
        size_t m = 0, j = i;
        for (; j < used && same_key(p[i], p[j]); j++) {
            const point_origin *o = &p[j]->origin;
            if (o->samples_n == 0) pool[m++] = p[j]->s;
            for (size_t k = 0; k < o->samples_n; k++) pool[m++] = o->samples_s[k];
        }
        cells[(*n)++] =
            (prefill_cell){p[i]->n_prompt_tok, p[i]->depth_tok,
                           p[i]->n_ubatch ? p[i]->n_ubatch : n_ubatch, card_warm_sample_s(pool, m)};
        i = j;
    }
    return cells;
}

/* ---- knots ---- */

/* Row counts that get a T of their own: measured lengths up to the micro-batch of their
 * measurement, and that micro-batch itself once a longer prompt was measured; below the smallest of
 * them the decode steps stand in (T is one curve of rows). */
static void make_knots(const prefill_cell *cells, size_t n, const decode_curve *d, prefill_curve *p,
                       double *rows_n, double *T_s, double *scratch) {
    for (size_t i = 0; i < n; i++)
        scratch[i] = fmin((double)cells[i].n_tok, (double)cells[i].n_ubatch);
    stat_sort_f64(scratch, n);
    p->n = 0;
    for (size_t i = 0; d && i < d->n && d->batch_n[i] < scratch[0]; i++) {
        rows_n[p->n] = d->batch_n[i];
        T_s[p->n++] = d->a_s[i];
    }
    p->anchors_n = p->n;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || scratch[i] != scratch[i - 1]) rows_n[p->n++] = scratch[i];
    p->rows_n = rows_n;
    p->T_s = T_s;
}

/* The shortest and the longest length only: T is a line between them. */
static void draw_line(prefill_curve *p, double *rows_n) {
    if (p->n - p->anchors_n < 2) return;
    rows_n[p->anchors_n + 1] = rows_n[p->n - 1];
    p->n = p->anchors_n + 2;
}

/* Where `rows` lies among the knots: T = (1 - f) T[i] + f T[i + 1]. Held below the first knot; the
 * last segment is continued above the last (f > 1). */
static size_t locate(const prefill_curve *p, double rows, double *f) {
    *f = 0;
    if (p->n == 1 || rows <= p->rows_n[0]) return 0;
    size_t i =
        rows >= p->rows_n[p->n - 1] ? p->n - 2 : gsl_interp_bsearch(p->rows_n, rows, 0, p->n - 1);
    *f = (rows - p->rows_n[i]) / (p->rows_n[i + 1] - p->rows_n[i]);
    return i;
}

/* ---- least squares: every unknown is linear ---- */

typedef struct design {
    const prefill_curve *p;
    const size_t *pool; /* of each free knot: those of one pool have one T */
    bool use_k0, use_k1;
    size_t pools, params; /* pools, then k0, then k1 */
} design;

/* Adds `times` steps of `rows` rows to the row of the design matrix; known anchors go to the
 * right-hand side. */
static void add_steps(const design *g, double *row, double *rhs, double rows, double times) {
    double f;
    size_t i = locate(g->p, rows, &f);
    for (size_t side = 0; side < 2; side++) {
        double w = times * (side ? f : 1 - f);
        size_t knot = i + side;
        if (w == 0) continue;
        if (knot < g->p->anchors_n)
            *rhs -= w * g->p->T_s[knot];
        else
            row[g->pool[knot - g->p->anchors_n]] += w;
    }
}

/* Sum over the steps of a prompt of the depth at which each starts. */
static double sum_depths(int64_t n_tok, int64_t depth_tok, int64_t ub) {
    double full = (double)(n_tok / ub), u = (double)ub, d = (double)depth_tok;
    double sum = full * d + u * full * (full - 1) / 2;
    return n_tok % ub ? sum + d + full * u : sum;
}

/* Exact for any split into steps: sum of n_j d_j + n_j^2 / 2 = n d + n^2 / 2. */
static double pair_count(int64_t n_tok, int64_t depth_tok) {
    double n = (double)n_tok;
    return n * (double)depth_tok + n * n / 2;
}

static void design_row(const design *g, const prefill_cell *c, double k1_declared_s, double *row,
                       double *rhs) {
    int64_t ub = c->n_ubatch;
    memset(row, 0, g->params * sizeof *row);
    *rhs = c->s;
    add_steps(g, row, rhs, (double)ub, (double)(c->n_tok / ub));
    if (c->n_tok % ub) add_steps(g, row, rhs, (double)(c->n_tok % ub), 1);
    size_t at = g->pools;
    if (g->use_k0) row[at++] = sum_depths(c->n_tok, c->depth_tok, ub);
    if (g->use_k1)
        row[at++] = pair_count(c->n_tok, c->depth_tok);
    else if (k1_declared_s >= 0)
        *rhs -= k1_declared_s * pair_count(c->n_tok, c->depth_tok);
}

/* Solves; false when the system does not have full rank, or gives an attention term or a step below
 * zero. */
static bool solve(const design *g, const prefill_cell *cells, size_t n, double k1_declared_s,
                  double *T_s, prefill_curve *p) {
    if (n < g->params) return false;
    gsl_matrix *X = gsl_matrix_calloc(n, g->params), *cov = gsl_matrix_alloc(g->params, g->params);
    gsl_vector *y = gsl_vector_alloc(n), *w = gsl_vector_alloc(n),
               *b = gsl_vector_calloc(g->params);
    gsl_multifit_linear_workspace *ws = gsl_multifit_linear_alloc(n, g->params);
    bool ok = X && cov && y && w && b && ws;
    for (size_t i = 0; ok && i < n; i++) {
        design_row(g, &cells[i], k1_declared_s, gsl_matrix_ptr(X, i, 0), gsl_vector_ptr(y, i));
        gsl_vector_set(w, i, 1 / (cells[i].s * cells[i].s)); /* relative errors count */
    }
    double chisq;
    size_t rank = 0;
    ok = ok && gsl_multifit_wlinear_tsvd(X, w, y, 1e-9, b, cov, &chisq, &rank, ws) == GSL_SUCCESS &&
         rank == g->params;
    for (size_t i = 0; ok && i < g->params; i++) ok = gsl_vector_get(b, i) >= 0;
    if (ok) {
        size_t free_n = p->n - p->anchors_n, at = g->pools;
        for (size_t i = 0; i < free_n; i++) T_s[p->anchors_n + i] = gsl_vector_get(b, g->pool[i]);
        p->k0_s = g->use_k0 ? gsl_vector_get(b, at++) : 0;
        p->k1_s = g->use_k1 ? gsl_vector_get(b, at++) : fmax(k1_declared_s, 0);
    }
    gsl_multifit_linear_free(ws);
    gsl_vector_free(b);
    gsl_vector_free(w);
    gsl_vector_free(y);
    gsl_matrix_free(cov);
    gsl_matrix_free(X);
    return ok;
}

static bool fit_pools(const prefill_cell *cells, size_t n, double k1_declared_s, double *T_s,
                      const size_t *pool, prefill_curve *p) {
    size_t pools = pool[p->n - p->anchors_n - 1] + 1;
    bool declared = k1_declared_s >= 0;
    const design tries[] = {
        {p, pool, true, true, pools, pools + 2},  /* depth points: both attention terms */
        {p, pool, false, true, pools, pools + 1}, /* long prompts only */
        {p, pool, false, false, pools, pools},    /* attention declared, or measured as none */
    };
    for (size_t i = declared ? 2 : 0; i < sizeof tries / sizeof *tries; i++)
        if (solve(&tries[i], cells, n, k1_declared_s, T_s, p)) return true;
    return false;
}

static double rows_of(const prefill_cell *c) {
    return fmin((double)c->n_tok, (double)c->n_ubatch);
}

/* Did a prompt of `many` rows take less time than one of `few` behind no more tokens? */
static bool fall_is_shown(const prefill_cell *cells, size_t n, double few, double many) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n && rows_of(&cells[i]) == few; j++)
            if (rows_of(&cells[j]) == many && cells[j].depth_tok >= cells[i].depth_tok &&
                cells[j].n_ubatch == cells[i].n_ubatch && cells[j].s < cells[i].s)
                return true;
    return false;
}

/* Least squares may let T fall where no measurement does: an assumed micro-batch that is not the
 * engine's, or a depth that one length lacks. The closest fit that does not fall gives both steps
 * one T. Measured falls stay. Returns how many pools are left; 0: nothing fits. */
static size_t fit(const prefill_cell *cells, size_t n, double k1_declared_s, double *T_s,
                  size_t *pool, prefill_curve *p) {
    size_t free_n = p->n - p->anchors_n;
    for (size_t i = 0; i < free_n; i++) pool[i] = i;
    for (bool again = true; again;) {
        if (!fit_pools(cells, n, k1_declared_s, T_s, pool, p)) return 0;
        again = false;
        for (size_t i = 1, less = 0; i < free_n; i++) {
            const double *T = &T_s[p->anchors_n + i], *rows = &p->rows_n[p->anchors_n + i];
            bool one = T[0] < T[-1] && !fall_is_shown(cells, n, rows[-1], rows[0]);
            again |= one;
            less += one;
            pool[i] -= less;
        }
    }
    return pool[free_n - 1] + 1;
}

/* One length at two depths. Cells are sorted by length, then depth. */
static bool sees_depth(const prefill_cell *cells, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (cells[i].n_tok == cells[i - 1].n_tok && cells[i].depth_tok != cells[i - 1].depth_tok)
            return true;
    return false;
}

/* Attention is identifiable when the work per step varies: one length at two depths, two lengths
 * beyond the micro-batch, or three that are one step each. */
static bool sees_attention(const prefill_cell *cells, size_t n) {
    size_t longer = 0, whole = 0;
    for (size_t i = 0; i < n; i++) {
        bool again = i > 0 && cells[i].n_tok == cells[i - 1].n_tok;
        if (cells[i].depth_tok != 0 || again) continue;
        longer += cells[i].n_tok >= cells[i].n_ubatch;
        whole += cells[i].n_ubatch == PREFILL_WHOLE;
    }
    return sees_depth(cells, n) || longer >= 2 || whole >= 3;
}

/* `residual` has room for n values. */
static void describe(const prefill_cell *cells, size_t n, size_t pools, double *residual,
                     prefill_curve *p) {
    p->rows_min_tok = cells[0].n_tok;
    for (size_t i = 0; i < n; i++) {
        prefill_curve as_measured = *p;
        as_measured.n_ubatch = cells[i].n_ubatch;
        int64_t context = cells[i].n_tok + cells[i].depth_tok;
        if (context > p->context_max_tok) p->context_max_tok = context;
        residual[i] = fabs(
            prefill_curve_s(&as_measured, cells[i].n_tok, cells[i].depth_tok) / cells[i].s - 1);
    }
    p->median_residual_frac = stat_median_f64(residual, n); /* sorts */
    p->worst_residual_frac = residual[n - 1];
    size_t fitted = pools + (p->k0_s != 0) + (p->k1_s != 0);
    p->free_n = n > fitted ? n - fitted : 0;
}

static err_code refuse_attention(const card *c, bool whole, err *e) {
    if (whole)
        return err_set(e, E_REFUSED, c->id,
                       "engine \"%s\" states no micro-batch, and no three prompts of different "
                       "length (or one length at two depths) tell attention over context: measure "
                       "more lengths, state engine.n_ubatch or declare prefill_context_s_per_tok2",
                       c->engine.name);
    return err_set(e, E_REFUSED, c->id,
                   "no two prefill points tell attention over context (one length at two "
                   "depths, or two lengths from the micro-batch on): "
                   "measure `llama-bench -n 0 -p 128,512,4096 -d 0,4096` or declare "
                   "prefill_context_s_per_tok2");
}

err_code prefill_curve_fit(const card *c, const decode_curve *decode, double k1_declared_s,
                           arena *mem, prefill_curve *out, err *e) {
    int64_t n_ubatch = prefill_ubatch(c);
    bool whole = n_ubatch == PREFILL_WHOLE;
    *out = (prefill_curve){.n_ubatch = n_ubatch,
                           .n_ubatch_assumed = c->engine.n_ubatch == 0 && !whole};
    size_t n = 0, knots = c->prefill_n + 1 + (decode ? decode->n : 0);
    const prefill_cell *cells = prefill_cells(c, mem, &n);
    double *rows_n = ARENA_ARRAY(mem, double, knots), *T_s = ARENA_ARRAY(mem, double, knots);
    double *lengths = ARENA_ARRAY(mem, double, knots);
    size_t *pool = ARENA_ARRAY(mem, size_t, knots);
    if (!cells || !rows_n || !T_s || !lengths || !pool)
        return err_set(e, E_LIMIT, c->id, "does not fit the memory budget");
    if (n == 0)
        return err_set(e, E_REFUSED, c->id,
                       "card has no prefill point with a stated length: measure `llama-bench -n 0 "
                       "-p 128,512,4096 -d "
                       "0,4096` or declare prefill_tok_s");
    if (k1_declared_s < 0 && !sees_attention(cells, n)) return refuse_attention(c, whole, e);
    make_knots(cells, n, decode, out, rows_n, T_s, lengths);
    if (n > CELLS_MAX || out->n - out->anchors_n > KNOTS_MAX)
        return err_set(e, E_LIMIT, c->id,
                       "found %zu prefill cells with %zu lengths up to the micro-batch, expected "
                       "at most %d and %d",
                       n, out->n - out->anchors_n, CELLS_MAX, KNOTS_MAX);
    if (whole && k1_declared_s < 0 && !sees_depth(cells, n)) draw_line(out, rows_n);
    size_t pools = fit(cells, n, k1_declared_s, T_s, pool, out);
    if (pools == 0)
        return err_set(e, E_REFUSED, c->id, "the %zu prefill points fit no step-time curve", n);
    out->floor_s = decode && decode->batch_n[0] == 1 ? decode->a_s[0] : 0;
    describe(cells, n, pools, lengths, out);
    return OK;
}

double prefill_curve_step_s(const prefill_curve *p, double rows) {
    double f;
    size_t i = locate(p, rows, &f);
    double T = f == 0 ? p->T_s[i] : p->T_s[i] + f * (p->T_s[i + 1] - p->T_s[i]);
    if (p->n == 1 && rows > p->rows_n[0])
        T = p->T_s[0] * rows / p->rows_n[0];                   /* one knot: its rate */
    if (f > 1 && p->T_s[i + 1] < p->T_s[i]) T = p->T_s[i + 1]; /* never falling beyond the last */
    return fmax(T, p->floor_s);
}

double prefill_curve_attention_s(const prefill_curve *p, int64_t n_tok, int64_t depth_tok) {
    return p->k0_s * sum_depths(n_tok, depth_tok, p->n_ubatch) +
           p->k1_s * pair_count(n_tok, depth_tok);
}

double prefill_curve_s(const prefill_curve *p, int64_t n_tok, int64_t depth_tok) {
    int64_t full = n_tok / p->n_ubatch, rest = n_tok % p->n_ubatch;
    double t = full > 0 ? (double)full * prefill_curve_step_s(p, (double)p->n_ubatch) : 0;
    if (rest > 0) t += prefill_curve_step_s(p, (double)rest);
    return t + prefill_curve_attention_s(p, n_tok, depth_tok);
}

size_t prefill_curve_falls(const prefill_curve *p, curve_fall *worst) {
    size_t falls = 0;
    for (size_t i = 1; i < p->n; i++) {
        curve_fall f = {p->rows_n[i - 1], p->rows_n[i], prefill_curve_step_s(p, p->rows_n[i - 1]),
                        prefill_curve_step_s(p, p->rows_n[i])};
        if (f.many_s >= f.few_s) continue;
        if (falls++ == 0 || f.many_s / f.few_s < worst->many_s / worst->few_s) *worst = f;
    }
    return falls;
}
