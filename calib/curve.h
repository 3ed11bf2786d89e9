/* From the points of a rate card to step times.
 *
 * One forward pass ("step") over n rows costs
 *
 *     t = T(n) + k_dec(B) * sum of contexts + k0 * sum of d_j + k1 * sum of (n_j d_j + n_j^2 / 2)
 *
 * (design model, section 1): T is the weight-bound part, the k terms are attention over what the KV
 * cache holds. The two curves here are what a card alone says about it: step *time* is
 * interpolated, never tok/s, piecewise linear between measured batch sizes, linear in context.
 * Measured falls stay; a fall that no two points show is the fit's own, and is taken out.
 */
#ifndef RATECAST_CURVE_H
#define RATECAST_CURVE_H

#include "base/arena.h"
#include "base/err.h"
#include "card.h"

#include <stdbool.h>

/* ---- decode: step(B, contexts) = a(B) + own * sum of contexts + foreign * sum of foreign cells
 * ---- */

/* Under unified KV every sequence scans all used cells: `foreign` prices the cells of others,
 * counted once for each sequence that scans them. Under split KV it is 0. */
typedef struct decode_curve {
    const double *batch_n, *a_s; /* n knots, rising batch_n */
    const int64_t *reach_tok;    /* longest context measured at each; 0: none is stated */
    size_t n;
    double own_s, foreign_s;
    int64_t context_min_tok,
        context_max_tok;    /* measured range; 0, 0 when no point states its context */
    int64_t pool_reach_tok; /* most cells, own and foreign, that a sequence scanned in a measured
                               step; 0: no point states its context */
    double median_residual_frac, worst_residual_frac; /* of the fit, over the points used */
    size_t free_n; /* points that the fit did not need: without some, residuals say nothing */
} decode_curve;

/* Robust least squares (bisquare) of relative errors over all used points: one a for each batch
 * size, which does not fall from one to the next unless two points show that it does, one slope for
 * all. `k_declared_s` >= 0 replaces what the card says about context (and lets
 * points without a stated context count); < 0: from the card. E_REFUSED with the measurement that
 * would help: no decode points, no stated context, one context only. */
MUST_USE err_code decode_curve_fit(const card *c, double k_declared_s, arena *mem,
                                   decode_curve *out, err *e);

typedef struct decode_step {
    double a_s, own_s, foreign_s;
    int64_t reach_tok; /* longest context measured at this batch size (between two: the shorter); 0:
                          not stated */
    bool extrapolated; /* batch_n outside the measured ones */
} decode_step;

/* Beyond the largest measured batch the last segment is continued (never falling). Needs n >= 2
 * there. */
decode_step decode_curve_at(const decode_curve *d, int64_t batch_n);

/* What the curve says of a point of the card it was fitted to (or of one that was left out). */
double decode_curve_point_s(const decode_curve *d, const card *c, const decode_point *p);

/* ---- prefill: n new tokens at depth d, as steps of n_ubatch rows ---- */

/* The micro-batch of an engine that is not known to have one: a prompt is one step. */
#define PREFILL_WHOLE INT64_MAX

/* What the card states; else 512 where the engine is llama.cpp or built on it (its default:
 * assumed), and PREFILL_WHOLE for any other. */
int64_t prefill_ubatch(const card *c);

/* One (length, depth): repetitions of all points with that key are pooled before the warm sample is
 * taken, so that a single cold cell of one tool does not stand beside the warm one of another. */
typedef struct prefill_cell {
    int64_t n_tok, depth_tok, n_ubatch; /* the micro-batch that it was measured with */
    double s;
} prefill_cell;

/* What the prefill fit sees of a card: prompts alone, with a stated length, sorted by length and
 * depth. NULL when memory is short. */
const prefill_cell *prefill_cells(const card *c, arena *mem, size_t *n);

typedef struct prefill_curve {
    int64_t n_ubatch;           /* PREFILL_WHOLE: there is none */
    bool n_ubatch_assumed;      /* the card does not state it: 512, the llama.cpp default */
    const double *rows_n, *T_s; /* n knots: weight-bound time of one step of that many rows */
    size_t n;
    size_t anchors_n;        /* the first knots are decode steps a(B), not prefill measurements */
    double k0_s, k1_s;       /* attention, see the top */
    double floor_s;          /* no step is faster: a(1), one pass over the weights; 0: not known */
    int64_t rows_min_tok;    /* smallest measured prefill */
    int64_t context_max_tok; /* largest measured depth + new tokens */
    double median_residual_frac, worst_residual_frac; /* of the fit, over the points used */
    size_t free_n;                                    /* as above */
} prefill_curve;

/* `decode` may be NULL (a prefill-only card). `k1_declared_s` as above. Least squares over all used
 * points of one prompt at the card's micro-batch; T does not fall from one prefill length to the
 * next unless two measured prompts show that it does. Where a prompt is one step and no depth was
 * measured, T is a line, so that three lengths tell it from attention. E_REFUSED: no point with a
 * stated length, or attention over depth not identifiable (one length at one depth only). */
MUST_USE err_code prefill_curve_fit(const card *c, const decode_curve *decode, double k1_declared_s,
                                    arena *mem, prefill_curve *out, err *e);
/* Seconds to compute n >= 1 new tokens behind depth_tok that are in the cache. */
double prefill_curve_s(const prefill_curve *p, int64_t n_tok, int64_t depth_tok);
/* Its attention part alone: k0 and k1. */
double prefill_curve_attention_s(const prefill_curve *p, int64_t n_tok, int64_t depth_tok);
/* Weight-bound time of one step of `rows` <= n_ubatch rows. */
double prefill_curve_step_s(const prefill_curve *p, double rows);

/* ---- falls: more work in less time, because it was measured so ---- */

typedef struct curve_fall {
    double few_n, many_n; /* sequences, or rows of a step */
    double few_s, many_s;
} curve_fall;

/* How many neighbouring knots of the curve fall; the steepest of them in *worst. */
size_t decode_curve_falls(const decode_curve *d, curve_fall *worst);
/* Decode steps that stand in for short prefills count: 32 sequences may take longer than one prompt
 * of 512 tokens, and a prompt whose last step has 32 rows is then projected as longer than one
 * whose last step has more. */
size_t prefill_curve_falls(const prefill_curve *p, curve_fall *worst);

#endif
