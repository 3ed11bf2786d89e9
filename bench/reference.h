/* What the kernels of kernels.metal compute, in double precision and in the plainest way, and the
 * formats that they read. */
#ifndef RATECAST_BENCH_REFERENCE_H
#define RATECAST_BENCH_REFERENCE_H

#include "kernels.h"

#include <stddef.h>
#include <stdint.h>

typedef enum weight_kind { WEIGHT_F16, WEIGHT_Q8_0, WEIGHT_Q4_0, WEIGHT_KINDS_N } weight_kind;
extern const char *const WEIGHT_NAMES[]; /* "f16", "q8_0", "q4_0", as in kernel names */

/* `cols` is a multiple of BLOCK_N. */
size_t weight_row_bytes(weight_kind kind, size_t cols);
double weight_value(weight_kind kind, const void *row, size_t col);

/* IEEE 754 binary16. */
double half_value(uint16_t bits);

/* y and size are [columns][rows]; size is the sum of the terms' absolute values: what an error of
 * rounding is relative to. */
void reference_linear(weight_kind kind, const void *weights, const float *x, const linear_args *a,
                      double *y, double *size);
/* What thread number `thread` writes; *size as above. */
double reference_fma(const fma_args *a, uint32_t thread, double *size);
/* k and v in half; out and size are [sequences][heads][head_dim]. */
void reference_attention(const float *q, const uint16_t *k, const uint16_t *v,
                         const attention_args *a, size_t sequences_n, double *out, double *size);
/* `row` of scores into out, keys_n each. */
void reference_softmax(const float *scores, const softmax_args *a, size_t row, double *out);

#endif
