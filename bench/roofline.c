#include "roofline.h"

#include "base/stat.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <string.h>

typedef enum phase { DECODE, PREFILL } phase;

/* Terms 0 and 1 are common to a family; each class has two more, from FIRST_CLASS_TERM on. */
enum { FIRST_CLASS_TERM = 2 };
/* A term that lowers the error of left-out chips by less is not worth its freedom. */
static const double WORTH_FRAC = 0.05;
/* Weights of fewer bits are unpacked on the way, or multiplied in integers. */
static const double SMALL_BITS = 15.5;
/* Shorter differences of context are lost in the scatter of the steps. */
enum { CONTEXT_STEP_MIN_TOK = 2048 };

/* ---- work ---- */

double roofline_kv_bytes_per_tok(const roofline_work *w) {
    return 2.0 * 2.0 * (double)w->layers * (double)w->kv_heads * (double)w->head_dim;
}

double roofline_weight_bits(const roofline_work *w) {
    return 8 * (double)w->weights_bytes / (double)w->params;
}

double roofline_attention_width(const roofline_work *w) {
    if (w->heads > 0) return (double)w->heads * (double)w->head_dim;
    return sqrt((double)w->params / (12 * (double)w->layers)); /* 12 d^2 parameters a layer */
}

static double attention_flop(const roofline_work *w, double pairs) {
    return 4 * (double)w->layers * roofline_attention_width(w) * pairs;
}

static bool is_small(double weight_bits) {
    return weight_bits < SMALL_BITS;
}

/* ---- prediction ---- */

double roofline_pass_s(const roofline_rates *r, const roofline_work *w, int64_t rows) {
    double stream =
        (double)w->weights_bytes / (r->eta * r->bw_bytes_s) + (double)w->layers * r->layer_s;
    if (r->flop_s <= 0) return stream;
    double row_s = 2 * (double)w->params / r->flop_s;
    int64_t few = rows < ROOFLINE_FEW_ROWS ? rows : ROOFLINE_FEW_ROWS;
    double compute = r->mfu > 0 ? (double)rows * row_s / r->mfu : 0;
    return fmax(stream + r->row_cost * row_s * (double)(few - 1), compute);
}

static double context_s(const roofline_rates *r, const roofline_work *w, double sum_tok) {
    double eta = r->kv_eta > 0 ? r->kv_eta : r->eta;
    return sum_tok * roofline_kv_bytes_per_tok(w) / (eta * r->bw_bytes_s);
}

double roofline_decode_s(const roofline_rates *r, const roofline_work *w, int64_t batch_n,
                         double context_tok) {
    return roofline_pass_s(r, w, batch_n) + context_s(r, w, (double)batch_n * context_tok);
}

static double attention_s(const roofline_rates *r, const roofline_work *w, int64_t n_tok,
                          int64_t depth_tok) {
    if (r->fp16_flop_s <= 0) return 0;
    double n = (double)n_tok, pairs = n * (double)depth_tok + n * (n + 1) / 2;
    double mfu = r->attention_mfu > 0 ? r->attention_mfu : r->mfu;
    return attention_flop(w, pairs) / (mfu * r->fp16_flop_s);
}

double roofline_prefill_s(const roofline_rates *r, const roofline_work *w, int64_t n_tok,
                          int64_t depth_tok) {
    int64_t whole = n_tok / ROOFLINE_UBATCH_TOK, rest = n_tok % ROOFLINE_UBATCH_TOK;
    double s = (double)whole * roofline_pass_s(r, w, ROOFLINE_UBATCH_TOK);
    if (rest > 0) s += roofline_pass_s(r, w, rest);
    return s + attention_s(r, w, n_tok, depth_tok);
}

/* ---- rates ---- */

static double peak_of(roofline_arithmetic a, const hardware *chip, bool small, double given) {
    double listed = a == ARITHMETIC_INT8 && small ? chip->int8_op_s : chip->fp16_flop_s;
    return listed > 0 ? listed : given;
}

/* Engines that multiply in 8 bits still attend in fp16, at half the rate. */
static double fp16_of(roofline_arithmetic a, const hardware *chip, bool small, double given) {
    if (chip->fp16_flop_s > 0) return chip->fp16_flop_s;
    return a == ARITHMETIC_INT8 && small ? given / 2 : given;
}

/* Was any model of such weights measured? What 8 bits do says nothing of 16. */
static bool has_prefill_of(const roofline_family *f, bool small) {
    for (size_t i = 0; i < f->n; i++) {
        const roofline_point *p = &f->points[i];
        if (!p->slopes && p->prefill_s > 0 && is_small(roofline_weight_bits(&p->work)) == small)
            return true;
    }
    return false;
}

/* A sum of coefficients is 1 / efficiency; no efficiency is above 1. */
static double efficiency(double inverse) {
    return 1 / fmax(inverse, 1);
}

roofline_rates roofline_rates_of(const roofline_fit *fit, const hardware *chip, double weight_bits,
                                 double peak_flop_s) {
    const roofline_family *f = fit->family;
    bool small = is_small(weight_bits);
    double stream = fit->decode.b[0], layer = fit->decode.b[1];
    double compute = fit->prefill.b[0] + (small ? fit->prefill.b[1] : 0);
    for (size_t k = 0; k < f->classes_n; k++) {
        if (!roofline_in_class(&f->classes[k], chip)) continue;
        size_t at = FIRST_CLASS_TERM + 2 * k;
        layer += fit->decode.b[at];
        stream += fit->decode.b[at + 1];
        compute += fit->prefill.b[at] + (small ? fit->prefill.b[at + 1] : 0);
    }
    roofline_rates r = {.eta = efficiency(stream),
                        .layer_s = fmax(layer, 0),
                        .kv_eta = fit->kv_eta,
                        .row_cost = fit->row_cost,
                        .attention_mfu = fit->attention_mfu,
                        .bw_bytes_s = chip->mem_bw_bytes_s};
    if (fit->prefill.n == 0 || !has_prefill_of(f, small)) return r;
    r.flop_s = peak_of(f->arithmetic, chip, small, peak_flop_s);
    r.fp16_flop_s = fp16_of(f->arithmetic, chip, small, peak_flop_s);
    r.mfu = r.flop_s > 0 ? efficiency(compute) : 0;
    return r;
}

roofline_rates roofline_rates_declared(const hardware *chip, double declared, double peak_flop_s) {
    double peak = chip->fp16_flop_s > 0 ? chip->fp16_flop_s : peak_flop_s;
    return (roofline_rates){.eta = declared,
                            .kv_eta = declared,
                            .mfu = peak > 0 ? declared : 0,
                            .row_cost = 1 / declared,
                            .attention_mfu = declared,
                            .bw_bytes_s = chip->mem_bw_bytes_s,
                            .flop_s = peak,
                            .fp16_flop_s = peak};
}

/* ---- slopes: context, rows, attention ---- */

static bool same_series(const roofline_point *a, const roofline_point *b) {
    return a->chip == b->chip && strcmp(a->model, b->model) == 0 && strcmp(a->quant, b->quant) == 0;
}

/* The shortest-context step of one sequence, or with `context_tok` >= 0 the one of that context. */
static const roofline_point *single_step(const roofline_family *f, const roofline_point *like,
                                         int64_t context_tok) {
    const roofline_point *best = NULL;
    for (size_t i = 0; i < f->n; i++) {
        const roofline_point *p = &f->points[i];
        if (p->decode_s <= 0 || p->batch_n != 1 || !same_series(p, like)) continue;
        if (context_tok >= 0 ? p->context_tok == context_tok
                             : !best || p->context_tok < best->context_tok)
            best = p;
    }
    return best;
}

static double kv_eta_at(const roofline_fit *fit, const roofline_point *p) {
    const roofline_point *ref = p->batch_n == 1 ? single_step(fit->family, p, -1) : NULL;
    if (!ref || p->context_tok - ref->context_tok < CONTEXT_STEP_MIN_TOK) return 0;
    double bytes =
        roofline_kv_bytes_per_tok(&p->work) * (double)(p->context_tok - ref->context_tok);
    double s = p->decode_s - ref->decode_s;
    return s > 0 ? bytes / p->chip->mem_bw_bytes_s / s : 0;
}

static double row_cost_at(const roofline_fit *fit, const roofline_point *p) {
    const roofline_point *ref = p->batch_n > 1 ? single_step(fit->family, p, p->context_tok) : NULL;
    bool small = is_small(roofline_weight_bits(&p->work));
    double peak = peak_of(fit->family->arithmetic, p->chip, small, 0);
    if (!ref || peak <= 0 || fit->kv_eta <= 0 || p->batch_n > ROOFLINE_FEW_ROWS) return 0;
    double more = (double)(p->batch_n - 1);
    roofline_rates r = {.kv_eta = fit->kv_eta, .bw_bytes_s = p->chip->mem_bw_bytes_s};
    double s = p->decode_s - ref->decode_s - context_s(&r, &p->work, more * (double)p->context_tok);
    return s / more * peak / (2 * (double)p->work.params);
}

static double attention_mfu_at(const roofline_fit *fit, const roofline_point *p) {
    const roofline_family *f = fit->family;
    double fp16 = p->chip->fp16_flop_s;
    if (p->prefill_s <= 0 || fp16 <= 0 || p->depth_tok < CONTEXT_STEP_MIN_TOK) return 0;
    for (size_t i = 0; i < f->n; i++) {
        const roofline_point *q = &f->points[i];
        if (q->prefill_tok != p->prefill_tok || q->depth_tok != 0 || !same_series(p, q)) continue;
        double pairs = (double)p->prefill_tok * (double)p->depth_tok,
               s = p->prefill_s - q->prefill_s;
        return s > 0 ? attention_flop(&p->work, pairs) / fp16 / s : 0;
    }
    return 0;
}

/* Median of what the points say that say anything; 0: none does. */
static double median_of(const roofline_fit *fit,
                        double (*value)(const roofline_fit *, const roofline_point *),
                        double *room) {
    size_t n = 0;
    for (size_t i = 0; i < fit->family->n; i++) {
        double v = value(fit, &fit->family->points[i]);
        if (v > 0) room[n++] = v;
    }
    return n ? stat_median_f64(room, n) : 0;
}

/* ---- least squares ---- */

static bool takes_part(const roofline_family *f, const roofline_point *p, phase ph) {
    if (p->slopes || p->batch_n != 1) return false;
    if (ph == DECODE) return p->decode_s > 0;
    return p->prefill_s > 0 &&
           peak_of(f->arithmetic, p->chip, is_small(roofline_weight_bits(&p->work)), 0) > 0;
}

static void terms_at(const roofline_family *f, const roofline_point *p, phase ph,
                     double x[ROOFLINE_TERMS_MAX]) {
    bool small = is_small(roofline_weight_bits(&p->work));
    memset(x, 0, ROOFLINE_TERMS_MAX * sizeof *x);
    if (ph == DECODE) {
        x[0] = (double)p->work.weights_bytes / p->chip->mem_bw_bytes_s;
        x[1] = (double)p->work.layers;
    } else {
        x[0] = 2 * (double)p->work.params * (double)p->prefill_tok /
               peak_of(f->arithmetic, p->chip, small, 0);
        x[1] = small ? x[0] : 0;
    }
    for (size_t k = 0; k < f->classes_n; k++) {
        if (!roofline_in_class(&f->classes[k], p->chip)) continue;
        x[FIRST_CLASS_TERM + 2 * k] = ph == DECODE ? x[1] : x[0];
        x[FIRST_CLASS_TERM + 2 * k + 1] = ph == DECODE ? x[0] : x[1];
    }
}

/* What the linear terms do not hold: attention over what is in the cache. */
static double rest_s(const roofline_fit *fit, const roofline_point *p, phase ph) {
    roofline_rates r = {.kv_eta = fit->kv_eta,
                        .eta = 1,
                        .mfu = 1,
                        .attention_mfu = fit->attention_mfu,
                        .bw_bytes_s = p->chip->mem_bw_bytes_s,
                        .fp16_flop_s = p->chip->fp16_flop_s};
    return ph == DECODE ? context_s(&r, &p->work, (double)p->context_tok)
                        : attention_s(&r, &p->work, p->prefill_tok, p->depth_tok);
}

static bool solve_rows(const gsl_matrix *X, const gsl_vector *y, gsl_vector *b) {
    gsl_matrix *cov = gsl_matrix_alloc(X->size2, X->size2);
    gsl_multifit_linear_workspace *w = gsl_multifit_linear_alloc(X->size1, X->size2);
    double chisq;
    bool ok = cov && w && gsl_multifit_linear(X, y, b, cov, &chisq, w) == GSL_SUCCESS;
    for (size_t i = 0; ok && i < b->size; i++) ok = isfinite(gsl_vector_get(b, i));
    gsl_multifit_linear_free(w);
    gsl_matrix_free(cov);
    return ok;
}

/* Relative errors: rows are scaled by 1 / measured. `without` (may be NULL) is left out. */
static bool solve(const roofline_fit *fit, phase ph, const hardware *without, roofline_terms *t) {
    const roofline_family *f = fit->family;
    size_t n = 0, cols = 0, row = 0;
    for (size_t i = 0; i < f->n; i++)
        n += takes_part(f, &f->points[i], ph) && f->points[i].chip != without;
    for (size_t k = 0; k < t->n; k++) cols += t->used[k];
    memset(t->b, 0, sizeof t->b);
    if (n < cols || cols == 0) return false;
    gsl_matrix *X = gsl_matrix_alloc(n, cols);
    gsl_vector *y = gsl_vector_alloc(n), *b = gsl_vector_alloc(cols);
    for (size_t i = 0; X && y && b && i < f->n; i++) {
        const roofline_point *p = &f->points[i];
        if (!takes_part(f, p, ph) || p->chip == without) continue;
        double x[ROOFLINE_TERMS_MAX], s = ph == DECODE ? p->decode_s : p->prefill_s;
        terms_at(f, p, ph, x);
        for (size_t k = 0, at = 0; k < t->n; k++)
            if (t->used[k]) gsl_matrix_set(X, row, at++, x[k] / s);
        gsl_vector_set(y, row++, 1 - rest_s(fit, p, ph) / s);
    }
    bool ok = X && y && b && solve_rows(X, y, b);
    for (size_t k = 0, at = 0; ok && k < t->n; k++)
        if (t->used[k]) t->b[k] = gsl_vector_get(b, at++);
    gsl_vector_free(b);
    gsl_vector_free(y);
    gsl_matrix_free(X);
    return ok;
}

/* ---- leaving chips out ---- */

static double predict(const roofline_fit *fit, const roofline_point *p, phase ph) {
    roofline_rates r = roofline_rates_of(fit, p->chip, roofline_weight_bits(&p->work), 0);
    return ph == DECODE ? roofline_decode_s(&r, &p->work, p->batch_n, (double)p->context_tok)
                        : roofline_prefill_s(&r, &p->work, p->prefill_tok, p->depth_tok);
}

/* Predictions of the points that take part, each by a fit without its chip; 0 elsewhere. */
static bool leave_out(const roofline_fit *fit, phase ph, const roofline_terms *t, double *out_s) {
    const roofline_family *f = fit->family;
    for (size_t i = 0; i < f->n; i++) {
        const roofline_point *p = &f->points[i];
        out_s[i] = 0;
        if (!takes_part(f, p, ph)) continue;
        roofline_fit without = *fit;
        roofline_terms *own = ph == DECODE ? &without.decode : &without.prefill;
        *own = *t;
        if (!solve(fit, ph, p->chip, own)) return false;
        out_s[i] = predict(&without, p, ph);
    }
    return true;
}

static roofline_errors errors_of(const roofline_family *f, phase ph, const double *predicted_s,
                                 double *room) {
    roofline_errors out = {0};
    double sum = 0;
    for (size_t i = 0; i < f->n; i++) {
        const roofline_point *p = &f->points[i];
        if (predicted_s[i] <= 0) continue;
        double measured = ph == DECODE ? p->decode_s : p->prefill_s;
        double off = fabs(predicted_s[i] / measured - 1);
        room[out.n++] = off;
        sum += off;
        if (!out.worst || off > out.worst_frac) {
            out.worst = p;
            out.worst_frac = off;
        }
    }
    if (out.n == 0) return out;
    out.mean_frac = sum / (double)out.n;
    out.median_frac = stat_median_f64(room, out.n);
    return out;
}

/* Adds the optional term that helps most chips that were left out, until none is worth it. */
static bool choose(const roofline_fit *fit, phase ph, roofline_terms *t, roofline_errors *plain,
                   roofline_errors *chosen, double *predicted_s, double *room) {
    const roofline_family *f = fit->family;
    size_t required = ph == DECODE ? 2 : 1;
    *t = (roofline_terms){.n = FIRST_CLASS_TERM + 2 * f->classes_n};
    for (size_t k = 0; k < required; k++) t->used[k] = true;
    if (!leave_out(fit, ph, t, predicted_s)) return false;
    *plain = *chosen = errors_of(f, ph, predicted_s, room);
    for (bool better = true; better;) {
        roofline_terms best = *t;
        roofline_errors best_error = *chosen;
        for (size_t k = required; k < t->n; k++) {
            roofline_terms more = *t;
            if (more.used[k]) continue;
            more.used[k] = true;
            if (!leave_out(fit, ph, &more, predicted_s)) continue;
            roofline_errors e = errors_of(f, ph, predicted_s, room);
            if (e.mean_frac >= best_error.mean_frac) continue;
            best = more;
            best_error = e;
        }
        better = best_error.mean_frac < chosen->mean_frac * (1 - WORTH_FRAC);
        if (!better) break;
        *t = best;
        *chosen = best_error;
    }
    return solve(fit, ph, NULL, t);
}

/* ---- a family ---- */

/* The efficiency that a chip's points together would give, all other terms as fitted; 0: none. */
static double chip_efficiency(const roofline_fit *fit, const hardware *chip, phase ph) {
    const roofline_family *f = fit->family;
    double ideal_s = 0, s = 0;
    for (size_t i = 0; i < f->n; i++) {
        const roofline_point *p = &f->points[i];
        if (p->chip != chip || !takes_part(f, p, ph)) continue;
        roofline_rates r = roofline_rates_of(fit, chip, roofline_weight_bits(&p->work), 0);
        double x[ROOFLINE_TERMS_MAX];
        terms_at(f, p, ph, x);
        ideal_s += x[0];
        s += ph == DECODE ? p->decode_s - r.layer_s * x[1] : p->prefill_s;
        s -= rest_s(fit, p, ph);
    }
    return s > 0 ? ideal_s / s : 0;
}

static void find_spread(const roofline_fit *fit, phase ph, double *lo, double *hi) {
    for (size_t i = 0; i < fit->family->n; i++) {
        double v = chip_efficiency(fit, fit->family->points[i].chip, ph);
        if (v <= 0) continue;
        if (*lo <= 0 || v < *lo) *lo = v;
        if (v > *hi) *hi = v;
    }
}

err_code roofline_fit_family(const roofline_family *f, arena *mem, roofline_fit *out, err *e) {
    *out = (roofline_fit){.family = f};
    double *room = ARENA_ARRAY(mem, double, f->n), *predicted_s = ARENA_ARRAY(mem, double, f->n);
    if (!room || !predicted_s)
        return err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    out->kv_eta = fmin(median_of(out, kv_eta_at, room), 1);
    out->row_cost = median_of(out, row_cost_at, room);
    out->attention_mfu = fmin(median_of(out, attention_mfu_at, room), 1);
    if (!choose(out, DECODE, &out->decode, &out->decode_plain_error, &out->decode_error,
                predicted_s, room))
        return err_set(e, E_REFUSED, f->name, "the %zu points do not determine a decode step",
                       f->n);
    roofline_terms prefill;
    out->prefill.n = FIRST_CLASS_TERM + 2 * f->classes_n; /* > 0: predictions are being made */
    bool ok = choose(out, PREFILL, &prefill, &out->prefill_plain_error, &out->prefill_error,
                     predicted_s, room);
    out->prefill = ok ? prefill : (roofline_terms){0};
    find_spread(out, DECODE, &out->eta_min, &out->eta_max);
    if (ok) find_spread(out, PREFILL, &out->mfu_min, &out->mfu_max);
    return OK;
}

err_code roofline_leave_out(const roofline_fit *fit, arena *mem, roofline_left_out **out, size_t *n,
                            err *e) {
    const roofline_family *f = fit->family;
    double *decode_s = ARENA_ARRAY(mem, double, f->n), *prefill_s = ARENA_ARRAY(mem, double, f->n);
    roofline_left_out *rows = ARENA_ARRAY(mem, roofline_left_out, f->n);
    *n = 0;
    if (!decode_s || !prefill_s || !rows)
        return err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    if (!leave_out(fit, DECODE, &fit->decode, decode_s) ||
        (fit->prefill.n > 0 && !leave_out(fit, PREFILL, &fit->prefill, prefill_s)))
        return err_set(e, E_REFUSED, f->name, "too few points to leave a chip out");
    for (size_t i = 0; i < f->n; i++)
        if (decode_s[i] > 0 || prefill_s[i] > 0)
            rows[(*n)++] = (roofline_left_out){&f->points[i], decode_s[i], prefill_s[i]};
    *out = rows;
    return OK;
}
