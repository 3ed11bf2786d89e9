/* What a chip that nobody measured would do: ceilings of the catalogue times efficiencies that are
 * fitted to public measurements of its relatives.
 *
 * One forward pass over n rows (sequences of a decode step, or tokens of a prompt), W bytes of
 * weights, P parameters, L layers, on a chip of bandwidth BW and arithmetic F:
 *
 *     pass(n) = max( W / (eta BW) + L t0 + r (2 P / F) (min(n, 16) - 1),   n 2 P / (mfu F) )
 *
 * The first is a pass that streams the weights once, for all rows (design study of the benchmark,
 * section 6: without t0 the bare bytes / BW is wrong by up to 2.2x); engines multiply few rows by
 * kernels far below the chip's arithmetic, so a row more costs r times its arithmetic until the
 * kernels for many rows take over; the second is a pass that computes. On top, over what the KV
 * cache holds,
 *
 *     decode  += sum of contexts x KV bytes a token / (kv_eta BW)
 *     prefill += 4 L heads head_dim x pairs of (new token, token it sees) / (attention_mfu F16)
 *
 * with prompts cut into passes of 512 rows. eta and t0, and mfu, are least squares of relative
 * errors over the points of a family; a class of its chips (Ultra, HBM) and weights under 16 bits
 * get terms of their own where that lowers the error of chips that were left out of the fit. r,
 * kv_eta and attention_mfu are medians over the points marked `slopes`, which come from one or two
 * chips a family: they cannot be checked by leaving chips out.
 *
 * Seconds, bytes, tokens; nothing is owned: everything lives in the arena of the caller.
 */
#ifndef RATECAST_ROOFLINE_H
#define RATECAST_ROOFLINE_H

#include "roofline_points.h"

enum { ROOFLINE_UBATCH_TOK = 512, ROOFLINE_FEW_ROWS = 16 };

/* Terms of a linear model t = sum of b x term; which of the optional ones are used. */
enum { ROOFLINE_TERMS_MAX = 6 };
typedef struct roofline_terms {
    double b[ROOFLINE_TERMS_MAX];
    bool used[ROOFLINE_TERMS_MAX];
    size_t n; /* that the family has */
} roofline_terms;

/* Errors of points whose chip was left out of the fit, relative: predicted / measured - 1. */
typedef struct roofline_errors {
    size_t n;
    double median_frac, worst_frac, mean_frac; /* of the absolute values */
    const roofline_point *worst;
} roofline_errors;

typedef struct roofline_fit {
    const roofline_family *family;
    roofline_terms decode, prefill;
    double kv_eta, row_cost, attention_mfu;                  /* 0: the family has no such points */
    roofline_errors decode_error, prefill_error;             /* of the terms chosen */
    roofline_errors decode_plain_error, prefill_plain_error; /* without the optional terms */
    double eta_min, eta_max; /* that each chip's points alone would give, with the fitted t0 */
    double mfu_min, mfu_max;
} roofline_fit;

/* One left-out point. */
typedef struct roofline_left_out {
    const roofline_point *point;
    double decode_s, prefill_s; /* predicted; 0: the point has none */
} roofline_left_out;

/* Efficiencies of one chip for one format of weights. */
typedef struct roofline_rates {
    double eta, layer_s, kv_eta;
    double mfu, row_cost, attention_mfu; /* 0: not known, with flop_s */
    double bw_bytes_s, flop_s, fp16_flop_s;
} roofline_rates;

/* E_REFUSED: the points do not determine the terms. */
MUST_USE err_code roofline_fit_family(const roofline_family *f, arena *mem, roofline_fit *out,
                                      err *e);
/* The table behind the errors: every point that takes part, predicted without its chip. */
MUST_USE err_code roofline_leave_out(const roofline_fit *fit, arena *mem, roofline_left_out **out,
                                     size_t *n, err *e);

/* `weight_bits` (8 x bytes / parameters) selects the arithmetic. `peak_flop_s` > 0 stands for an
 * arithmetic peak that the catalogue lacks (of 8-bit weights where the family computes so).
 * Without arithmetic mfu is 0: one sequence can be priced, and no prefill. */
roofline_rates roofline_rates_of(const roofline_fit *fit, const hardware *chip, double weight_bits,
                                 double peak_flop_s);
/* No fit: `efficiency` of bandwidth and fp16 arithmetic alike, whatever the weights; no fixed
 * time. */
roofline_rates roofline_rates_declared(const hardware *chip, double efficiency, double peak_flop_s);

double roofline_pass_s(const roofline_rates *r, const roofline_work *w, int64_t rows);
double roofline_decode_s(const roofline_rates *r, const roofline_work *w, int64_t batch_n,
                         double context_tok);
double roofline_prefill_s(const roofline_rates *r, const roofline_work *w, int64_t n_tok,
                          int64_t depth_tok);
double roofline_kv_bytes_per_tok(const roofline_work *w); /* K and V in f16 */
double roofline_weight_bits(const roofline_work *w);
/* heads x head_dim; not known: of a plain transformer of that size, sqrt(P / 12 L), which is
 * rather too wide. */
double roofline_attention_width(const roofline_work *w);

#endif
