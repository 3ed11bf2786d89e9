#include "host_fit.h"

#include "base/stat.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PER_RUN = 4, SCRATCH_MIB = 512, MAX_ROUNDS = 25 };

/* Candidates in the order in which they are taken while there are runs for them. `start_s` is where
 * the search begins, and a weak prior (PRIOR_WEIGHT) keeps a term there that the runs say little
 * about. */
static const struct candidate {
    size_t term; /* index into HOST_TERM_NAMES */
    double start_s;
    bool needs_batches; /* only runs with several agents tell it */
} CANDIDATES[HOST_FITTED_N] = {
    {0, 4e-4, false}, {4, 1e-3, false}, {2, 5e-3, false},
    {1, 3e-5, true},  {3, 7e-3, true},  {5, 3e-7, false},
};
static const double PRIOR_WEIGHT = 0.05;
/* Of a term's logarithm: about the smallest standard error that a term has had. */
static const double SLOPE_STEP = 0.1;
/* How much a relative error of each figure counts: the wall first; TTFT and ITL are noisier and say
 * where time goes. */
static const double WEIGHTS[PER_RUN] = {1, 0.3, 0.4, 0.1};

typedef struct problem {
    const replay *const *runs;
    size_t runs_n, left_out; /* index of the run that is not fitted to; runs_n: none */
    const struct candidate *const *params;
    size_t params_n;
    host_terms fixed; /* terms that are not fitted */
    err *e;
} problem;

static host_terms terms_at(const problem *q, const double *log_x) {
    host_terms t = q->fixed;
    t.known = true;
    for (size_t i = 0; i < q->params_n; i++) {
        double x = fmax(fmin(log_x[i], 6), -12);
        *host_term_at(&t, q->params[i]->term) = q->params[i]->start_s * exp(x);
    }
    return t;
}

static double log_ratio(double model, double seen) {
    return model > 0 && seen > 0 ? log(model / seen) : 0;
}

/* Replays one run; its weighted log errors. */
static err_code errors_of(const replay *r, const host_terms *t, double out[PER_RUN], err *e) {
    arena *scratch = arena_new((size_t)SCRATCH_MIB << 20);
    sim_result sim;
    metrics m;
    if (!scratch) return err_set(e, E_NOMEM, r->run->id, "out of memory");
    if (replay_run(r, t, scratch, &sim, &m, e) == OK) {
        out[0] = WEIGHTS[0] * log_ratio((double)sim.wall_ns / 1e9, r->seen.wall_s);
        out[1] = WEIGHTS[1] * log_ratio((double)m.itl.p50_ns / 1e9, r->seen.itl_p50_s);
        out[2] =
            WEIGHTS[2] *
            (r->seen.warm.n ? log_ratio((double)m.ttft_warm.p50_ns / 1e9, r->seen.warm.p50_s) : 0);
        out[3] =
            WEIGHTS[3] *
            (r->seen.cold.n ? log_ratio((double)m.ttft_cold.p50_ns / 1e9, r->seen.cold.p50_s) : 0);
    }
    arena_free(scratch);
    return e->code;
}

static int residuals(const gsl_vector *x, void *data, gsl_vector *f) {
    problem *q = data;
    host_terms t = terms_at(q, x->data);
    size_t at = 0;
    for (size_t i = 0; i < q->runs_n; i++) {
        double v[PER_RUN] = {0};
        if (i != q->left_out && errors_of(q->runs[i], &t, v, q->e)) return GSL_EFAILED;
        for (size_t k = 0; k < PER_RUN; k++) gsl_vector_set(f, at++, v[k]);
    }
    for (size_t i = 0; i < q->params_n; i++)
        gsl_vector_set(f, at++, PRIOR_WEIGHT * gsl_vector_get(x, i));
    return GSL_SUCCESS;
}

/* Slopes of the residuals in the logarithms of the terms, for their standard errors: by central
 * differences over SLOPE_STEP to each side. A replay is no smooth function of its terms: a request
 * falls into one step or the next, a median goes from one turn to its neighbour. Over a step much
 * smaller than the standard error one such jump is all the slope, and a step relative to the
 * logarithm, as GSL takes it, shrinks to nothing for a term that stays near its start. */
static int slopes(const gsl_vector *x, problem *q, gsl_matrix *J) {
    gsl_vector *at = gsl_vector_alloc(x->size), *up = gsl_vector_alloc(J->size1),
               *down = gsl_vector_alloc(J->size1);
    int rc = at && up && down ? GSL_SUCCESS : GSL_ENOMEM;
    for (size_t i = 0; i < x->size && rc == GSL_SUCCESS; i++) {
        gsl_vector_memcpy(at, x);
        gsl_vector_set(at, i, gsl_vector_get(x, i) + SLOPE_STEP);
        rc = residuals(at, q, up);
        gsl_vector_set(at, i, gsl_vector_get(x, i) - SLOPE_STEP);
        if (rc == GSL_SUCCESS) rc = residuals(at, q, down);
        if (rc != GSL_SUCCESS) break;
        gsl_vector_sub(up, down);
        gsl_vector_scale(up, 1 / (2 * SLOPE_STEP));
        gsl_matrix_set_col(J, i, up);
    }
    gsl_vector_free(at);
    gsl_vector_free(up);
    gsl_vector_free(down);
    return rc;
}

/* Trust-region least squares from `x` (kept there); the covariance's diagonal when `variance` is
 * not NULL. */
static err_code solve(problem *q, double *x, size_t rounds, double *variance) {
    size_t n = q->runs_n * PER_RUN + q->params_n, p = q->params_n;
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    how.h_df = 1e-3; /* the replay is a step function of its terms at the nanosecond: a coarse
                        difference is smoother; it serves the search alone */
    gsl_multifit_nlinear_fdf fdf = {.f = residuals, .n = n, .p = p, .params = q};
    gsl_multifit_nlinear_workspace *w =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, n, p);
    gsl_vector_view start = gsl_vector_view_array(x, p);
    gsl_matrix *cov = gsl_matrix_calloc(p, p), *J = gsl_matrix_calloc(n, p);
    if (!w || !cov || !J) {
        err_set(q->e, E_NOMEM, "fit", "out of memory");
    } else if (!q->e->code) {
        int info;
        (void)gsl_multifit_nlinear_init(&start.vector, &fdf, w);
        (void)gsl_multifit_nlinear_driver(rounds, 1e-3, 1e-6, 1e-6, NULL, NULL, &info, w);
        gsl_vector_memcpy(&start.vector, gsl_multifit_nlinear_position(w));
        double chi2;
        gsl_vector *f = gsl_multifit_nlinear_residual(w);
        gsl_blas_ddot(f, f, &chi2);
        if (variance && (slopes(&start.vector, q, J) || gsl_multifit_nlinear_covar(J, 1e-8, cov)) &&
            !q->e->code)
            err_set(q->e, E_NOMEM, "fit", "out of memory");
        for (size_t i = 0; variance && i < p; i++)
            variance[i] = gsl_matrix_get(cov, i, i) * chi2 / (double)(n - p);
    }
    gsl_matrix_free(cov);
    gsl_matrix_free(J);
    if (w) gsl_multifit_nlinear_free(w);
    return q->e->code;
}

static double wall_error(const problem *q, const host_terms *t, size_t i) {
    double v[PER_RUN] = {0};
    if (errors_of(q->runs[i], t, v, q->e)) return 0;
    return exp(v[0] / WEIGHTS[0]) - 1;
}

/* Gaps between a turn's end and the client's next request, seen directly in the turns: the median,
 * or what was seen elsewhere when no record shows it. */
static double client_gap_s(const replay *const *runs, size_t n, bool *seen) {
    size_t cap = 0, m = 0;
    for (size_t i = 0; i < n; i++) cap += runs[i]->run->turns_n;
    double *gap = malloc((cap + 1) * sizeof *gap), median = 2.4e-3;
    if (!gap) return median;
    for (size_t i = 0; i < n; i++)
        for (size_t t = 1; t < runs[i]->run->turns_n; t++) {
            const witness_turn *a = &runs[i]->run->turns[t - 1], *b = a + 1;
            if (a->agent != b->agent || b->turn != a->turn + 1) continue;
            gap[m++] = fmax(b->t_send_s - a->t_done_s - runs[i]->run->tool_s, 0) +
                       (a->t_done_s - a->t_last_s);
        }
    *seen = m > 0;
    if (m > 0) median = stat_median_f64(gap, m);
    free(gap);
    return median;
}

/* Fewer terms than runs; terms of batches need two different numbers of agents above one. */
static size_t choose(const replay *const *runs, size_t n, const struct candidate **out,
                     const char **dropped, arena *mem) {
    int64_t lo = INT64_MAX, hi = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t K = runs[i]->work->K;
        if (K < lo) lo = K;
        if (K > hi) hi = K;
    }
    *dropped = "";
    for (size_t i = 0; i < HOST_FITTED_N; i++) {
        bool told = !CANDIDATES[i].needs_batches || (hi > 1 && hi > lo);
        if (told && count + 1 < n)
            out[count++] = &CANDIDATES[i];
        else
            *dropped =
                arena_printf(mem, "%s%s%s (%s)", *dropped, (*dropped)[0] ? ", " : "",
                             HOST_TERM_NAMES[CANDIDATES[i].term],
                             told ? "add a calibrate run" : "add a calibrate run with another K");
    }
    return count;
}

/* Each run predicted by a fit that has not seen it. */
static void leave_one_out(problem *q, const double *x, double *loo) {
    for (size_t i = 0; i < q->runs_n && !q->e->code; i++) {
        double y[HOST_FITTED_N];
        memcpy(y, x, sizeof y);
        q->left_out = i;
        if (q->runs_n > q->params_n && solve(q, y, 4, NULL) == OK) {
            host_terms t = terms_at(q, y);
            loo[i] = wall_error(q, &t, i);
        }
    }
    q->left_out = q->runs_n;
}

static err_code report(problem *q, const double *x, const double *variance,
                       double repeat_spread_frac, arena *mem, host_fit *out) {
    const char **ids = ARENA_ARRAY(mem, const char *, q->runs_n);
    double *residual = ARENA_ARRAY(mem, double, q->runs_n),
           *loo = ARENA_ARRAY(mem, double, q->runs_n);
    if (!ids || !residual || !loo)
        return err_set(q->e, E_LIMIT, "fit", "does not fit the memory budget");
    out->terms = terms_at(q, x);
    host_terms none = {0};
    for (size_t i = 0; i < q->runs_n; i++) {
        ids[i] = q->runs[i]->run->id;
        residual[i] = wall_error(q, &out->terms, i);
        out->card_only_mean_frac += fabs(wall_error(q, &none, i)) / (double)q->runs_n;
    }
    for (size_t i = 0; i < q->params_n; i++) {
        out->terms.stderr_frac[q->params[i]->term] = sqrt(fmax(variance[i], 0));
    }
    leave_one_out(q, x, loo);
    out->params_n = q->params_n;
    out->runs_n = q->runs_n;
    out->run_ids = ids;
    out->residual_frac = residual;
    out->loo_frac = loo;
    out->terms.repeat_spread_frac = repeat_spread_frac;
    out->terms.prov = PROV_DERIVED;
    return q->e->code;
}

err_code host_fit_run(const replay *const *runs, size_t n, double repeat_spread_frac, arena *mem,
                      host_fit *out, err *e) {
    *out = (host_fit){0};
    if (n < 2)
        return err_set(e, E_REFUSED, "fit",
                       "found %zu calibrate run of these cards, host terms need two or more (fewer "
                       "terms than runs)",
                       n);
    const struct candidate *params[HOST_FITTED_N];
    double x[HOST_FITTED_N] = {0}, variance[HOST_FITTED_N] = {0};
    problem q = {.runs = runs, .runs_n = n, .left_out = n, .params = params, .e = e};
    q.params_n = choose(runs, n, params, &out->dropped, mem);
    q.fixed.client_gap_s = client_gap_s(runs, n, &out->client_gap_seen);
    if (solve(&q, x, MAX_ROUNDS, variance)) return e->code;
    return report(&q, x, variance, repeat_spread_frac, mem, out);
}

/* 4,096 tokens of the 7B (235 MB) were saved to memory-backed files in 140 ms and restored in 60 to
 * 70 ms on the host of the H200. */
void host_fit_slot_files(const card *c, host_terms *out) {
    static const double SEEN_BYTES = 4096 * 57344.0, SAVE_S = 0.140, RESTORE_S = 0.065;
    double bytes_per_tok = (double)card_kv_bytes_per_tok(c);
    out->slot_save_s_per_tok = SAVE_S / SEEN_BYTES * bytes_per_tok;
    out->slot_restore_s_per_tok = RESTORE_S / SEEN_BYTES * bytes_per_tok;
}

double host_fit_overhead_bytes(const replay *const *runs, size_t n, const card *c) {
    double *v = malloc((n + 1) * sizeof *v), median = 0;
    size_t m = 0;
    for (size_t i = 0; v && i < n; i++) {
        const witness_run *r = runs[i]->run;
        if (runs[i]->card != c || r->mem_peak_bytes <= 0 || r->context_tok <= 0) continue;
        double kv = (double)r->context_tok * (double)card_kv_bytes_per_tok(c);
        v[m++] = fmax(r->mem_peak_bytes - r->mem_before_bytes - (double)c->weights_bytes - kv, 0);
    }
    if (m > 0) median = stat_median_f64(v, m);
    free(v);
    return median;
}
