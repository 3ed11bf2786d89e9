/* Shapes of real models: what a synthetic GGUF, a grid and a roofline need of them.
 *
 * Sizes in bytes are of the tensors alone, as llama-bench prints them (model_size), without the
 * header of the file. */
#ifndef RATECAST_BENCH_SHAPES_H
#define RATECAST_BENCH_SHAPES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct model_shape {
    const char *name;         /* "qwen2.5-7b" */
    const char *architecture; /* of the GGUF: "qwen2", "llama" */
    const char *source;       /* where the numbers are from: the model's config.json */
    int64_t layers, n_embd, n_ff, heads, kv_heads, head_dim, vocab;
    int64_t context_train_tok;
    double rope_freq_base, norm_eps;
    bool tied; /* the output matrix is the token embedding */
    bool qkv_bias;
} model_shape;

typedef enum quant { QUANT_F16, QUANT_Q8_0, QUANT_Q4_0, QUANT_Q4_K_M, QUANT_N } quant;
extern const char *const QUANT_NAMES[]; /* "f16", "q8_0", "q4_0", "q4_k_m"; NULL-terminated */

/* By index; NULL behind the last. */
const model_shape *shape_at(size_t i);
/* E_USAGE: no such shape (nearest named). */
MUST_USE err_code shape_find(const char *name, const model_shape **out, err *e);
MUST_USE err_code quant_find(const char *name, quant *out, err *e);

int64_t shape_params(const model_shape *s);
int64_t shape_weights_bytes(const model_shape *s, quant q);
/* Both K and V in f16, one token. */
int64_t shape_kv_bytes_per_tok(const model_shape *s);

#endif
