#include "launch.h"

#include <string.h>

const char *linear_kernel_name(weight_kind kind, linear_by by) {
    static const char *const NAMES[WEIGHT_KINDS_N][LINEAR_BY_N] = {
        {NULL, NULL, NULL, "matmul_f16"},
        {"gemv_q8_0_c1", "gemv_q8_0_c4", "gemv_q8_0_c8", "matmul_q8_0"},
        {"gemv_q4_0_c1", "gemv_q4_0_c4", "gemv_q4_0_c8", "matmul_q4_0"}};
    return NAMES[kind][by];
}

linear_by linear_by_columns(int64_t columns) {
    return columns == 1 ? LINEAR_1 : columns <= 4 ? LINEAR_4 : LINEAR_8;
}

/* Kernel, arguments and buffers; the grid is the caller's. */
static err_code fill(gpu *g, const char *kernel, const slice *slices, size_t n, const void *args,
                     size_t args_bytes, arena *mem, gpu_dispatch *out, err *e) {
    void *kept = arena_alloc(mem, 1, args_bytes);
    *out = (gpu_dispatch){.buffers_n = n, .args = kept, .args_bytes = args_bytes};
    if (!kept) return err_set(e, E_LIMIT, kernel, "does not fit the memory budget");
    memcpy(kept, args, args_bytes);
    for (size_t i = 0; i < n; i++) {
        out->buffers[i] = slices[i].buffer;
        out->offsets[i] = slices[i].offset;
    }
    out->kernel = gpu_kernel_named(g, kernel, e);
    return e->code;
}

static void grid(gpu_dispatch *d, int64_t x, int64_t y, int64_t z, int64_t group_n,
                 size_t memory_bytes) {
    d->groups[0] = x;
    d->groups[1] = y;
    d->groups[2] = z;
    d->group[0] = group_n;
    d->group[1] = d->group[2] = 1;
    d->group_memory_bytes = memory_bytes;
}

err_code launch_linear(gpu *g, weight_kind kind, linear_by by, slice weights, slice x, slice y,
                       const linear_args *a, arena *mem, gpu_dispatch *out, err *e) {
    static const int64_t COLUMNS[] = {1, 4, 8, MATMUL_COLUMNS};
    static const int64_t ROWS[] = {GEMV_ROWS, GEMV_ROWS, GEMV_ROWS_8, MATMUL_ROWS};
    const slice slices[] = {weights, x, y};
    const char *name = linear_kernel_name(kind, by);
    if (!name) return err_set(e, E_EXTERN, WEIGHT_NAMES[kind], "no such kernel");
    if (fill(g, name, slices, 3, a, sizeof *a, mem, out, e)) return e->code;
    bool matrix = by == LINEAR_MATRIX;
    grid(out, LINEAR_GROUPS((int64_t)a->rows_n, ROWS[by]),
         LINEAR_GROUPS((int64_t)a->columns_n, COLUMNS[by]), 1,
         matrix ? MATMUL_GROUP_N : GEMV_GROUP_N, matrix ? MATMUL_MEMORY_BYTES : GEMV_MEMORY_BYTES);
    return OK;
}

size_t attention_parts_bytes(const attention_args *a, int64_t sequences) {
    return (size_t)sequences * a->heads_n * a->parts_n * (a->head_dim + 2) * sizeof(float);
}

/* Shares of one sequence, and of each of MANY or more: a lone one has as many as four have. */
enum { PARTS_ALONE = 256, PARTS_EACH = 64, MANY = PARTS_ALONE / PARTS_EACH };

static int64_t whole_groups(int64_t parts) {
    return LINEAR_GROUPS(parts, ATTENTION_SIMDS) * ATTENTION_SIMDS;
}

uint32_t attention_parts(int64_t keys, int64_t sequences) {
    int64_t share = sequences < MANY ? SIMD_N : SIMD_N * MANY;
    int64_t most = sequences < MANY ? PARTS_ALONE / sequences : PARTS_EACH;
    int64_t parts = LINEAR_GROUPS(keys, share);
    return (uint32_t)whole_groups(parts < most ? parts : most);
}

int64_t attention_parts_most(int64_t sequences_max) {
    int64_t most = PARTS_ALONE + MANY * ATTENTION_SIMDS; /* with what whole groups add */
    return sequences_max * PARTS_EACH > most ? sequences_max * PARTS_EACH : most;
}

err_code launch_attention(gpu *g, slice q, slice k, slice v, slice parts, slice out_at,
                          const attention_args *a, int64_t sequences, arena *mem,
                          gpu_dispatch out[2], err *e) {
    const slice first[] = {q, k, v, parts}, second[] = {parts, out_at};
    const char *name = a->head_dim == 64 ? "attention_part_64" : "attention_part_128";
    if (a->head_dim != 64 && a->head_dim != 128)
        return err_set(e, E_EXTERN, "attention", "no kernel for heads of %u, expected 64 or 128",
                       a->head_dim);
    if (a->heads_n % a->kv_heads_n || a->heads_n / a->kv_heads_n > ATTENTION_RATIO_MAX)
        return err_set(e, E_EXTERN, "attention",
                       "no kernel for %u query heads on %u KV heads, expected at most %d on each",
                       a->heads_n, a->kv_heads_n, ATTENTION_RATIO_MAX);
    if (fill(g, name, first, 4, a, sizeof *a, mem, &out[0], e) ||
        fill(g, "attention_merge", second, 2, a, sizeof *a, mem, &out[1], e))
        return e->code;
    grid(&out[0], a->parts_n / ATTENTION_SIMDS, a->kv_heads_n, sequences, ATTENTION_GROUP_N,
         ATTENTION_MEMORY_BYTES);
    grid(&out[1], a->heads_n, sequences, 1, a->head_dim, 0);
    return OK;
}

err_code launch_softmax(gpu *g, slice scores, int64_t rows, const softmax_args *a, arena *mem,
                        gpu_dispatch *out, err *e) {
    if (fill(g, "softmax_causal", &scores, 1, a, sizeof *a, mem, out, e)) return e->code;
    grid(out, rows, 1, 1, SOFTMAX_GROUP_N, SOFTMAX_MEMORY_BYTES);
    return OK;
}

err_code launch_stream(gpu *g, const char *kernel, slice in, slice out_at, int64_t vectors,
                       int64_t groups, arena *mem, gpu_dispatch *out, err *e) {
    const slice slices[] = {in, out_at};
    const stream_args a = {.vectors_n = (uint32_t)vectors,
                           .threads_n = (uint32_t)(groups * STREAM_GROUP_N)};
    if (fill(g, kernel, slices, 2, &a, sizeof a, mem, out, e)) return e->code;
    grid(out, groups, 1, 1, STREAM_GROUP_N, 0);
    return OK;
}

err_code launch_fma(gpu *g, slice out_at, int64_t groups, const fma_args *a, arena *mem,
                    gpu_dispatch *out, err *e) {
    if (fill(g, "fma_chains", &out_at, 1, a, sizeof *a, mem, out, e)) return e->code;
    grid(out, groups, 1, 1, STREAM_GROUP_N, 0);
    return OK;
}

err_code launch_empty(gpu *g, slice out_at, int64_t n, arena *mem, gpu_dispatch *out, err *e) {
    const stream_args a = {.vectors_n = (uint32_t)n, .threads_n = SIMD_N};
    if (fill(g, "empty_kernel", &out_at, 1, &a, sizeof a, mem, out, e)) return e->code;
    grid(out, 1, 1, 1, SIMD_N, 0);
    return OK;
}
