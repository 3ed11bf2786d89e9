/* Shapes of real models: what a synthetic GGUF, a grid and a roofline need of them.
 *
 * A shape gives its tensors by quantisation, with the types that llama.cpp's own quantiser would
 * choose (without an importance matrix). Sizes in bytes are of the tensors alone, as llama-bench
 * prints them (model_size), without the header of the file. */
#ifndef RATECAST_BENCH_SHAPES_H
#define RATECAST_BENCH_SHAPES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n_embd, n_ff and heads * head_dim are multiples of 32, the smallest block of a quantisation. */
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

/* How one tensor is stored. Weights come in blocks of a row. */
typedef enum tensor_type {
    TENSOR_F32,
    TENSOR_F16,
    TENSOR_Q4_0,
    TENSOR_Q5_0,
    TENSOR_Q8_0,
    TENSOR_Q4_K,
    TENSOR_Q6_K
} tensor_type;

typedef struct tensor_format {
    uint32_t id; /* of the type in a GGUF */
    int64_t block_weights, block_bytes;
} tensor_format;
extern const tensor_format TENSOR_FORMATS[]; /* by tensor_type */

typedef struct shape_tensor {
    char name[40]; /* in the GGUF: "blk.0.attn_q.weight" */
    tensor_type type;
    int64_t cols, rows; /* cols weights stand together in the file; rows 1: a vector */
} shape_tensor;

/* By index; NULL behind the last. */
const model_shape *shape_at(size_t i);
/* E_USAGE: no such shape (nearest named). */
MUST_USE err_code shape_find(const char *name, const model_shape **out, err *e);
/* In any case of letters. E_USAGE: no such quantisation. */
MUST_USE err_code quant_find(const char *name, quant *out, err *e);

/* The tensors in the order of the file; false behind the last. */
bool shape_tensor_at(const model_shape *s, quant q, size_t i, shape_tensor *out);
int64_t shape_tensor_bytes(const shape_tensor *t);

int64_t shape_params(const model_shape *s);
int64_t shape_weights_bytes(const model_shape *s, quant q);
/* Both K and V in f16, one token. */
int64_t shape_kv_bytes_per_tok(const model_shape *s);

#endif
