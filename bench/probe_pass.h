/* A synthetic forward pass: the kernels of some layers of a model shape, in an engine's order, on
 * random weights.
 *
 * A step of an engine is layers x (one layer) + (the output matrix). One layer is timed as a run of
 * several with weights and KV of their own, enough that no cache holds them. Norms, rotary
 * embeddings, activations and residual sums are stood in for by copies of their size. A prompt is
 * taken in micro-batches of PASS_UBATCH_TOK, its attention as two matrix products a KV head. */
#ifndef RATECAST_BENCH_PROBE_PASS_H
#define RATECAST_BENCH_PROBE_PASS_H

#include "launch.h"
#include "shapes.h"

enum { PASS_UBATCH_TOK = 512 };

typedef struct pass pass;

typedef struct pass_limits {
    int64_t batch_max;   /* sequences of a step */
    int64_t columns_max; /* tokens of a run: sequences, or tokens of a micro-batch */
    int64_t cache_tok;   /* tokens in KV of one layer, all sequences together */
    int64_t prompt_tok;  /* tokens in KV in front of and in a micro-batch */
    int64_t cycle_bytes; /* weights that a run goes through before it meets the same again */
} pass_limits;

typedef struct dispatches {
    gpu_dispatch *d;
    size_t n;
    int64_t layers_n; /* that it runs */
} dispatches;

/* Which weights a quantisation has here: E_USAGE when the kernels have no such format. */
MUST_USE err_code pass_weight_kind(quant q, weight_kind *out, err *e);
/* Device memory that it takes; E_USAGE: the kernels cannot do the shape (heads). */
MUST_USE err_code pass_bytes(const model_shape *s, weight_kind kind, const pass_limits *l,
                             int64_t *out, err *e);
/* Allocates and fills the buffers. Free with pass_free. */
MUST_USE err_code pass_new(gpu *g, const model_shape *s, weight_kind kind, const pass_limits *l,
                           arena *mem, pass **out, err *e);
void pass_free(pass *p);

/* One step of `batch` sequences with context_tok keys each; `by` for the weights. */
MUST_USE err_code pass_decode(pass *p, int64_t batch, int64_t context_tok, linear_by by, arena *mem,
                              dispatches *out, err *e);
/* One micro-batch of n tokens behind depth_tok. */
MUST_USE err_code pass_prefill(pass *p, int64_t n, int64_t depth_tok, linear_by by, arena *mem,
                               dispatches *out, err *e);
/* The output matrix for `columns` tokens, over copies that no cache holds: layers_n of them. */
MUST_USE err_code pass_output(pass *p, int64_t columns, linear_by by, arena *mem, dispatches *out,
                              err *e);
/* One matrix of the layers, by index into PASS_MATRICES, over all layers of the run. */
typedef enum pass_matrix {
    PASS_Q,
    PASS_K,
    PASS_V,
    PASS_O,
    PASS_GATE,
    PASS_UP,
    PASS_DOWN
} pass_matrix;
enum { PASS_MATRICES_N = PASS_DOWN + 1 };
extern const char *const PASS_MATRIX_NAMES[];
MUST_USE err_code pass_one_matrix(pass *p, pass_matrix m, int64_t columns, linear_by by, arena *mem,
                                  dispatches *out, err *e);
/* Attention alone, as in pass_decode. */
MUST_USE err_code pass_attention(pass *p, int64_t batch, int64_t context_tok, arena *mem,
                                 dispatches *out, err *e);
linear_args pass_matrix_args(const pass *p, pass_matrix m, int64_t columns);
int64_t pass_layers(const pass *p); /* of a run */

#endif
