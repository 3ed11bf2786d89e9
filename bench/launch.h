/* The dispatches of the kernels: grids, groups and threadgroup memory from the sizes of the work.
 *
 * A dispatch points to its arguments, which lie in the arena. Errors: E_EXTERN no such kernel, or
 * its groups are too large for this device; E_LIMIT the arena is full. */
#ifndef RATECAST_BENCH_LAUNCH_H
#define RATECAST_BENCH_LAUNCH_H

#include "base/arena.h"
#include "gpu.h"
#include "reference.h"

/* A buffer from a place on; offsets are bytes. */
typedef struct slice {
    gpu_buffer *buffer;
    size_t offset;
} slice;

/* The kernels of matrix times columns: by columns of one group; MATRIX is matmul_*. */
typedef enum linear_by { LINEAR_1, LINEAR_4, LINEAR_8, LINEAR_MATRIX, LINEAR_BY_N } linear_by;
/* NULL: there is none (f16 has the matrix product only). */
const char *linear_kernel_name(weight_kind kind, linear_by by);
/* The matrix-times-vectors kernel for that many columns. */
linear_by linear_by_columns(int64_t columns);

MUST_USE err_code launch_linear(gpu *g, weight_kind kind, linear_by by, slice weights, slice x,
                                slice y, const linear_args *a, arena *mem, gpu_dispatch *out,
                                err *e);
/* Both dispatches, parts then merge; `parts` has room for attention_parts_bytes. */
MUST_USE err_code launch_attention(gpu *g, slice q, slice k, slice v, slice parts, slice out_at,
                                   const attention_args *a, int64_t sequences, arena *mem,
                                   gpu_dispatch out[2], err *e);
size_t attention_parts_bytes(const attention_args *a, int64_t sequences);
/* How many shares the keys of each sequence are cut into, a multiple of ATTENTION_SIMDS: of one or
 * of a few sequences, short ones, or most of a GPU would idle; no more than 32 keys need. All
 * sequences together have at most attention_parts_most. */
uint32_t attention_parts(int64_t keys, int64_t sequences);
int64_t attention_parts_most(int64_t sequences_max);
MUST_USE err_code launch_softmax(gpu *g, slice scores, int64_t rows, const softmax_args *a,
                                 arena *mem, gpu_dispatch *out, err *e);
/* read_bandwidth and copy_bandwidth; out_at as kernels.h says. */
MUST_USE err_code launch_stream(gpu *g, const char *kernel, slice in, slice out_at, int64_t vectors,
                                int64_t groups, arena *mem, gpu_dispatch *out, err *e);
MUST_USE err_code launch_fma(gpu *g, slice out_at, int64_t groups, const fma_args *a, arena *mem,
                             gpu_dispatch *out, err *e);
/* One SIMD group that writes `n` numbers. */
MUST_USE err_code launch_empty(gpu *g, slice out_at, int64_t n, arena *mem, gpu_dispatch *out,
                               err *e);

#endif
