/* What the kernels of kernels.metal take: one header for the host (C11), the kernels (MSL) and the
 * references. The text of the Metal library is kernels.metal with this file in the place of its
 * #include "kernels.h" (Metal compiles a string, which has no folder).
 *
 * Buffers stand at the indices listed with each kernel, its arguments (a struct, by constant
 * reference) behind the last buffer. Everything is dense: no padding between rows. Weights are
 * stored by output row, `cols_n` of them, in the blocks of GGUF: f16 plain, q8_0 a half scale and
 * 32 bytes, q4_0 a half scale and 16 bytes (low nibbles are weights 0 to 15, high ones 16 to 31,
 * minus 8).
 *
 *   empty_kernel         stream_args    any grid
 *     0 out uint
 *   read_bandwidth       stream_args    any groups of STREAM_GROUP_N
 *     0 in float4, 1 out float, one a SIMD group
 *   copy_bandwidth       stream_args    any groups of STREAM_GROUP_N
 *     0 in float4, 1 out float4
 *   fma_chains           fma_args       any groups of STREAM_GROUP_N
 *     0 out float, one a thread
 *   gemv_Q_cC            linear_args    groups by rows, by columns; of GEMV_GROUP_N
 *     0 weights, 1 x float [columns][cols], 2 y float [columns][rows]
 *     Q: q8_0, q4_0. C: 1, 4, 8, the columns of one group
 *   matmul_W             linear_args    groups by rows, by columns; of MATMUL_GROUP_N
 *     as gemv. W: f16, q8_0, q4_0
 *   attention_part_D     attention_args groups parts_n / ATTENTION_SIMDS, kv_heads_n, sequences; of
 *                                       ATTENTION_GROUP_N
 *     0 q float [sequences][heads][D], 1 k and 2 v half [sequences][kv_heads][keys][D],
 *     3 parts float [sequences][heads][parts][D + 2]. D: 64, 128
 *   attention_merge      attention_args groups heads_n, sequences; of head_dim
 *     0 parts, 1 out float [sequences][heads][head_dim]
 *   softmax_causal       softmax_args   a group of SOFTMAX_GROUP_N for each row
 *     0 scores float [rows][keys], in place
 *
 * Threadgroup memory (index 0): GEMV_MEMORY_BYTES, MATMUL_MEMORY_BYTES, SOFTMAX_MEMORY_BYTES,
 * ATTENTION_MEMORY_BYTES; the others take none. */
#ifndef RATECAST_BENCH_KERNELS_H
#define RATECAST_BENCH_KERNELS_H

#ifndef __METAL_VERSION__
#include <stdint.h>
#endif

enum {
    SIMD_N = 32,
    BLOCK_N = 32, /* weights of a quantised block; cols_n is a multiple of it */

    STREAM_GROUP_N = 256,
    FMA_CHAINS = 8, /* independent chains of a thread: 2 * FMA_CHAINS * steps_n operations */

    GEMV_ROWS = 2,   /* rows of a group; of 8 columns each row more reads x less often: */
    GEMV_ROWS_8 = 4, /* 1.1 to 1.7 times as fast on an H200 as 2, which win for fewer columns */
    GEMV_SIMDS = 4,  /* SIMD groups of a group, which share the blocks of its rows out */
    GEMV_GROUP_N = GEMV_SIMDS * SIMD_N,
    GEMV_MEMORY_BYTES = 4 * GEMV_SIMDS * GEMV_ROWS_8 * 8, /* a sum of each SIMD group */

    MATMUL_COLUMNS = 32, /* the tile of a group: columns (tokens) x rows, K by MATMUL_K */
    MATMUL_ROWS = 64,
    MATMUL_K = 32,
    MATMUL_GROUP_N = 128,
    MATMUL_MEMORY_BYTES = 4 * MATMUL_COLUMNS * MATMUL_ROWS, /* the result; both tiles fit in it */

    ATTENTION_SIMDS = 4,
    ATTENTION_GROUP_N = ATTENTION_SIMDS * SIMD_N,
    ATTENTION_RATIO_MAX = 8, /* query heads of a KV head */
    ATTENTION_DIM_MAX = 128,
    /* the queries, and a weight for each head of 32 keys for each SIMD group */
    ATTENTION_MEMORY_BYTES =
        4 * ATTENTION_RATIO_MAX * (ATTENTION_DIM_MAX + ATTENTION_SIMDS * SIMD_N),

    SOFTMAX_GROUP_N = 128,
    SOFTMAX_MEMORY_BYTES = 32 /* two floats a SIMD group */
};

typedef struct stream_args {
    uint32_t vectors_n; /* float4s */
    uint32_t threads_n; /* of the whole grid */
} stream_args;

/* x = x * factor + addend, steps_n times, from x = index of the thread * start + chain. */
typedef struct fma_args {
    uint32_t steps_n;
    float factor, addend, start;
} fma_args;

/* y[c][r] = sum over k of x[c][k] * weights[r][k] */
typedef struct linear_args {
    uint32_t rows_n, cols_n, columns_n;
} linear_args;

/* Groups by rows and by columns of a linear kernel; the grid is rows x columns x 1. */
#define LINEAR_GROUPS(n, of_group) (((n) + (of_group)-1) / (of_group))

/* out = softmax(scale * q.K) . V over keys_n keys; parts_n, a multiple of ATTENTION_SIMDS, shares
 * of the keys, each with its own maximum and sum behind its D values. */
typedef struct attention_args {
    uint32_t heads_n, kv_heads_n, head_dim; /* heads_n / kv_heads_n <= ATTENTION_RATIO_MAX */
    uint32_t keys_n, parts_n;
    float scale;
} attention_args;

/* Row i holds the scores of token i / ratio_n of a prompt behind depth_tok older ones: it sees
 * depth_tok + i / ratio_n + 1 keys, the others become 0. */
typedef struct softmax_args {
    uint32_t keys_n, ratio_n, depth_tok;
    float scale;
} softmax_args;

#endif
