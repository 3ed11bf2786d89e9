// The kernels of the probe. Plain MSL that three other front ends take as well: a C++ compiler with
// and without address spaces (bench/msl/), and a CUDA compiler behind a rewrite of tokens.
// Therefore: vectors are made from one scalar and set by component; halves are read as bits and
// converted by value; threadgroup arguments are marked by GROUP_MEMORY.
#include <metal_stdlib>
#include "kernels.h"

using namespace metal;

#ifdef __METAL_VERSION__
#define GROUP_MEMORY(n) [[threadgroup(n)]]
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define GROUP_MEMORY(n)
#define UNROLL
#endif

// ---- dispatch, bandwidth, arithmetic ----

kernel void empty_kernel(device uint *out [[buffer(0)]],
                         constant stream_args &args [[buffer(1)]],
                         uint thread_at [[thread_position_in_grid]]) {
    if (thread_at < args.vectors_n) out[thread_at] = thread_at;
}

kernel void read_bandwidth(device const float4 *in [[buffer(0)]],
                           device float *out [[buffer(1)]],
                           constant stream_args &args [[buffer(2)]],
                           uint thread_at [[thread_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]]) {
    float4 sum = float4(0.0f);
    for (uint i = thread_at; i < args.vectors_n; i += args.threads_n) sum += in[i];
    float total = simd_sum(sum.x + sum.y + sum.z + sum.w);
    if (lane == 0) out[thread_at / SIMD_N] = total;
}

kernel void copy_bandwidth(device const float4 *in [[buffer(0)]],
                           device float4 *out [[buffer(1)]],
                           constant stream_args &args [[buffer(2)]],
                           uint thread_at [[thread_position_in_grid]]) {
    for (uint i = thread_at; i < args.vectors_n; i += args.threads_n) out[i] = in[i];
}

kernel void fma_chains(device float *out [[buffer(0)]],
                       constant fma_args &args [[buffer(1)]],
                       uint thread_at [[thread_position_in_grid]]) {
    float x[FMA_CHAINS];
    UNROLL
    for (uint c = 0; c < FMA_CHAINS; c++) x[c] = float(thread_at) * args.start + float(c);
    for (uint i = 0; i < args.steps_n; i++) {
        UNROLL
        for (uint c = 0; c < FMA_CHAINS; c++) x[c] = fma(x[c], args.factor, args.addend);
    }
    float sum = 0.0f;
    UNROLL
    for (uint c = 0; c < FMA_CHAINS; c++) sum += x[c];
    out[thread_at] = sum;
}

// ---- weights ----
//
// A block of 32 weights is read in four parts of 8 weights, a part a lane, by loads of 2 bytes
// (blocks of 34 and 18 bytes allow no wider ones). A part is two runs of 4 weights: from weight
// first(part) and from weight second(part) of the block. Integers become floats without the scale.

struct weights_f16 {
    enum { BLOCK = 32 }; // in units of 2 bytes
    static inline uint first(uint part) {
        return 8 * part;
    }
    static inline uint second(uint part) {
        return 8 * part + 4;
    }
    static inline float scale(device const ushort *) {
        return 1.0f;
    }
    static inline float4 run(device const ushort *from) {
        float4 v = float4(0.0f);
        v.x = float(as_type<half>(from[0]));
        v.y = float(as_type<half>(from[1]));
        v.z = float(as_type<half>(from[2]));
        v.w = float(as_type<half>(from[3]));
        return v;
    }
    static inline void part(device const ushort *block, uint part, thread float4 &a,
                            thread float4 &b) {
        a = run(block + first(part));
        b = run(block + second(part));
    }
};

// Two signed bytes of 2 loaded bytes, low one first.
static inline float low_byte(ushort v) {
    return float(int(int8_t(v & 0xff)));
}
static inline float high_byte(ushort v) {
    return float(int(int8_t(v >> 8)));
}

struct weights_q8_0 {
    enum { BLOCK = 17 };
    static inline uint first(uint part) {
        return 8 * part;
    }
    static inline uint second(uint part) {
        return 8 * part + 4;
    }
    static inline float scale(device const ushort *block) {
        return float(as_type<half>(block[0]));
    }
    static inline float4 run(device const ushort *from) {
        ushort low = from[0], high = from[1];
        float4 v = float4(0.0f);
        v.x = low_byte(low);
        v.y = high_byte(low);
        v.z = low_byte(high);
        v.w = high_byte(high);
        return v;
    }
    static inline void part(device const ushort *block, uint part, thread float4 &a,
                            thread float4 &b) {
        a = run(block + 1 + 4 * part);
        b = run(block + 1 + 4 * part + 2);
    }
};

// Four bytes hold 4 weights in their low nibbles and the weights 16 further in their high ones.
struct weights_q4_0 {
    enum { BLOCK = 9 };
    static inline uint first(uint part) {
        return 4 * part;
    }
    static inline uint second(uint part) {
        return 4 * part + 16;
    }
    static inline float scale(device const ushort *block) {
        return float(as_type<half>(block[0]));
    }
    static inline float4 nibbles(uint low, uint high) {
        float4 v = float4(0.0f);
        v.x = float(low & 15);
        v.y = float((low >> 8) & 15);
        v.z = float(high & 15);
        v.w = float((high >> 8) & 15);
        return v - float4(8.0f);
    }
    static inline void part(device const ushort *block, uint part, thread float4 &a,
                            thread float4 &b) {
        uint low = block[1 + 2 * part], high = block[2 + 2 * part];
        a = nibbles(low, high);
        b = nibbles(low >> 4, high >> 4);
    }
};

// ---- few columns: matrix times vectors ----
//
// A group takes ROWS rows, and its SIMD groups share their blocks out: a matrix of few rows still
// keeps a large GPU busy, and no SIMD group waits for memory many times in a row. A SIMD group takes
// 8 blocks at a time, four lanes a block, so that the lanes read one run of memory and each part of
// x serves all rows. Rows and columns beyond the last are read again from the last and not stored:
// every lane reaches simd_sum, every SIMD group the barrier.

template <typename W, uint ROWS, uint COLUMNS>
static inline void gemv(device const ushort *weights, device const float4 *x, device float *y,
                        constant linear_args &args, threadgroup float *memory, uint3 group,
                        uint simd, uint lane) {
    uint row0 = group.x * ROWS, column0 = group.y * COLUMNS;
    uint blocks_n = args.cols_n / BLOCK_N, part = lane % 4;
    float sums[ROWS][COLUMNS];
    UNROLL
    for (uint r = 0; r < ROWS; r++) {
        UNROLL
        for (uint c = 0; c < COLUMNS; c++) sums[r][c] = 0.0f;
    }
    for (uint b = (simd * SIMD_N + lane) / 4; b < blocks_n; b += GEMV_GROUP_N / 4) {
        float4 x1[COLUMNS], x2[COLUMNS];
        UNROLL
        for (uint c = 0; c < COLUMNS; c++) {
            uint column = min(column0 + c, args.columns_n - 1);
            uint at = column * args.cols_n + b * BLOCK_N;
            x1[c] = x[(at + W::first(part)) / 4];
            x2[c] = x[(at + W::second(part)) / 4];
        }
        UNROLL
        for (uint r = 0; r < ROWS; r++) {
            ulong row = min(row0 + r, args.rows_n - 1);
            device const ushort *block = weights + (row * blocks_n + b) * W::BLOCK;
            float4 w1 = float4(0.0f), w2 = float4(0.0f);
            W::part(block, part, w1, w2);
            float scale = W::scale(block);
            UNROLL
            for (uint c = 0; c < COLUMNS; c++)
                sums[r][c] += scale * (dot(w1, x1[c]) + dot(w2, x2[c]));
        }
    }
    UNROLL
    for (uint r = 0; r < ROWS; r++) {
        UNROLL
        for (uint c = 0; c < COLUMNS; c++) {
            float sum = simd_sum(sums[r][c]);
            if (lane == 0) memory[(simd * COLUMNS + c) * ROWS + r] = sum;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // the sums of all SIMD groups are there
    uint at = simd * SIMD_N + lane, row = row0 + at % ROWS, column = column0 + at / ROWS;
    if (at < COLUMNS * ROWS && row < args.rows_n && column < args.columns_n) {
        float sum = 0.0f;
        UNROLL
        for (uint s = 0; s < GEMV_SIMDS; s++) sum += memory[s * COLUMNS * ROWS + at];
        y[column * args.rows_n + row] = sum;
    }
}

kernel void gemv_q8_0_c1(device const ushort *weights [[buffer(0)]],
                         device const float4 *x [[buffer(1)]],
                         device float *y [[buffer(2)]],
                         constant linear_args &args [[buffer(3)]],
                         threadgroup float *memory GROUP_MEMORY(0),
                         uint3 group [[threadgroup_position_in_grid]],
                         uint simd [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    gemv<weights_q8_0, GEMV_ROWS, 1>(weights, x, y, args, memory, group, simd, lane);
}

kernel void gemv_q8_0_c4(device const ushort *weights [[buffer(0)]],
                         device const float4 *x [[buffer(1)]],
                         device float *y [[buffer(2)]],
                         constant linear_args &args [[buffer(3)]],
                         threadgroup float *memory GROUP_MEMORY(0),
                         uint3 group [[threadgroup_position_in_grid]],
                         uint simd [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    gemv<weights_q8_0, GEMV_ROWS, 4>(weights, x, y, args, memory, group, simd, lane);
}

kernel void gemv_q8_0_c8(device const ushort *weights [[buffer(0)]],
                         device const float4 *x [[buffer(1)]],
                         device float *y [[buffer(2)]],
                         constant linear_args &args [[buffer(3)]],
                         threadgroup float *memory GROUP_MEMORY(0),
                         uint3 group [[threadgroup_position_in_grid]],
                         uint simd [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    gemv<weights_q8_0, GEMV_ROWS_8, 8>(weights, x, y, args, memory, group, simd, lane);
}

kernel void gemv_q4_0_c1(device const ushort *weights [[buffer(0)]],
                         device const float4 *x [[buffer(1)]],
                         device float *y [[buffer(2)]],
                         constant linear_args &args [[buffer(3)]],
                         threadgroup float *memory GROUP_MEMORY(0),
                         uint3 group [[threadgroup_position_in_grid]],
                         uint simd [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    gemv<weights_q4_0, GEMV_ROWS, 1>(weights, x, y, args, memory, group, simd, lane);
}

kernel void gemv_q4_0_c4(device const ushort *weights [[buffer(0)]],
                         device const float4 *x [[buffer(1)]],
                         device float *y [[buffer(2)]],
                         constant linear_args &args [[buffer(3)]],
                         threadgroup float *memory GROUP_MEMORY(0),
                         uint3 group [[threadgroup_position_in_grid]],
                         uint simd [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    gemv<weights_q4_0, GEMV_ROWS, 4>(weights, x, y, args, memory, group, simd, lane);
}

kernel void gemv_q4_0_c8(device const ushort *weights [[buffer(0)]],
                         device const float4 *x [[buffer(1)]],
                         device float *y [[buffer(2)]],
                         constant linear_args &args [[buffer(3)]],
                         threadgroup float *memory GROUP_MEMORY(0),
                         uint3 group [[threadgroup_position_in_grid]],
                         uint simd [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    gemv<weights_q4_0, GEMV_ROWS_8, 8>(weights, x, y, args, memory, group, simd, lane);
}

// ---- many columns: matrix product ----
//
// A group makes 32 columns x 64 rows of y. For each 32 of K it stages both operands as halves in
// threadgroup memory, [row][k] and [column][k], and each SIMD group multiplies 16 x 32 of the
// result in 8 x 8 tiles. The sums go through the same memory, so that only those inside are stored.

template <typename W>
static inline void stage_weights(device const ushort *weights, threadgroup half *to, uint row0,
                                 uint b, constant linear_args &args, uint thread_at) {
    uint blocks_n = args.cols_n / BLOCK_N;
    for (uint i = thread_at; i < MATMUL_ROWS * 4; i += MATMUL_GROUP_N) {
        uint row = i / 4, part = i % 4;
        ulong from = min(row0 + row, args.rows_n - 1);
        device const ushort *block = weights + (from * blocks_n + b) * W::BLOCK;
        float4 w1 = float4(0.0f), w2 = float4(0.0f);
        W::part(block, part, w1, w2);
        w1 = w1 * W::scale(block);
        w2 = w2 * W::scale(block);
        threadgroup half *a = to + row * MATMUL_K + W::first(part);
        threadgroup half *c = to + row * MATMUL_K + W::second(part);
        UNROLL
        for (uint k = 0; k < 4; k++) {
            a[k] = half(w1[k]);
            c[k] = half(w2[k]);
        }
    }
}

static inline void stage_columns(device const float4 *x, threadgroup half *to, uint column0, uint b,
                                 constant linear_args &args, uint thread_at) {
    for (uint i = thread_at; i < MATMUL_COLUMNS * (MATMUL_K / 4); i += MATMUL_GROUP_N) {
        uint column = i / (MATMUL_K / 4), run = i % (MATMUL_K / 4);
        uint from = min(column0 + column, args.columns_n - 1);
        float4 v = x[(from * args.cols_n + b * BLOCK_N) / 4 + run];
        threadgroup half *a = to + column * MATMUL_K + run * 4;
        UNROLL
        for (uint k = 0; k < 4; k++) a[k] = half(v[k]);
    }
}

template <typename W>
static inline void matmul(device const ushort *weights, device const float4 *x, device float *y,
                          constant linear_args &args, threadgroup float *memory, uint3 group,
                          uint thread_at, uint simd) {
    threadgroup half *w_tile = (threadgroup half *)memory;
    threadgroup half *x_tile = w_tile + MATMUL_ROWS * MATMUL_K;
    uint row0 = group.x * MATMUL_ROWS, column0 = group.y * MATMUL_COLUMNS;
    uint simd_row = (simd % 2) * 32, simd_column = (simd / 2) * 16;
    simdgroup_float8x8 sums[2][4];
    UNROLL
    for (uint c = 0; c < 2; c++) {
        UNROLL
        for (uint r = 0; r < 4; r++) sums[c][r] = make_filled_simdgroup_matrix<float, 8>(0.0f);
    }
    for (uint b = 0; b < args.cols_n / BLOCK_N; b++) {
        stage_weights<W>(weights, w_tile, row0, b, args, thread_at);
        stage_columns(x, x_tile, column0, b, args, thread_at);
        threadgroup_barrier(mem_flags::mem_threadgroup); // both tiles are whole
        UNROLL
        for (uint k = 0; k < MATMUL_K; k += 8) {
            simdgroup_half8x8 left[2], right[4];
            UNROLL
            for (uint c = 0; c < 2; c++)
                simdgroup_load(left[c], x_tile + (simd_column + 8 * c) * MATMUL_K + k, MATMUL_K);
            UNROLL
            for (uint r = 0; r < 4; r++)
                simdgroup_load(right[r], w_tile + (simd_row + 8 * r) * MATMUL_K + k, MATMUL_K,
                               ulong2(0), true);
            UNROLL
            for (uint c = 0; c < 2; c++) {
                UNROLL
                for (uint r = 0; r < 4; r++)
                    simdgroup_multiply_accumulate(sums[c][r], left[c], right[r], sums[c][r]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup); // nobody reads them any more
    }
    UNROLL
    for (uint c = 0; c < 2; c++) {
        UNROLL
        for (uint r = 0; r < 4; r++)
            simdgroup_store(sums[c][r],
                            memory + (simd_column + 8 * c) * MATMUL_ROWS + simd_row + 8 * r,
                            MATMUL_ROWS);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // the result is whole
    for (uint i = thread_at; i < MATMUL_COLUMNS * MATMUL_ROWS; i += MATMUL_GROUP_N) {
        uint column = column0 + i / MATMUL_ROWS, row = row0 + i % MATMUL_ROWS;
        if (column < args.columns_n && row < args.rows_n) y[column * args.rows_n + row] = memory[i];
    }
}

kernel void matmul_f16(device const ushort *weights [[buffer(0)]],
                       device const float4 *x [[buffer(1)]],
                       device float *y [[buffer(2)]],
                       constant linear_args &args [[buffer(3)]],
                       threadgroup float *memory GROUP_MEMORY(0),
                       uint3 group [[threadgroup_position_in_grid]],
                       uint thread_at [[thread_index_in_threadgroup]],
                       uint simd [[simdgroup_index_in_threadgroup]]) {
    matmul<weights_f16>(weights, x, y, args, memory, group, thread_at, simd);
}

kernel void matmul_q8_0(device const ushort *weights [[buffer(0)]],
                        device const float4 *x [[buffer(1)]],
                        device float *y [[buffer(2)]],
                        constant linear_args &args [[buffer(3)]],
                        threadgroup float *memory GROUP_MEMORY(0),
                        uint3 group [[threadgroup_position_in_grid]],
                        uint thread_at [[thread_index_in_threadgroup]],
                        uint simd [[simdgroup_index_in_threadgroup]]) {
    matmul<weights_q8_0>(weights, x, y, args, memory, group, thread_at, simd);
}

kernel void matmul_q4_0(device const ushort *weights [[buffer(0)]],
                        device const float4 *x [[buffer(1)]],
                        device float *y [[buffer(2)]],
                        constant linear_args &args [[buffer(3)]],
                        threadgroup float *memory GROUP_MEMORY(0),
                        uint3 group [[threadgroup_position_in_grid]],
                        uint thread_at [[thread_index_in_threadgroup]],
                        uint simd [[simdgroup_index_in_threadgroup]]) {
    matmul<weights_q4_0>(weights, x, y, args, memory, group, thread_at, simd);
}

// ---- attention of one new token ----
//
// The keys of a sequence are shared out to parts, a SIMD group a part, which reads K and V of one KV
// head once for all its query heads. 32 keys at a time, a lane takes the scores of one key; the
// weights then go through threadgroup memory, and a lane takes PER of the D values. The softmax
// runs along: a new maximum rescales what was summed. Minus infinity is no number under fast math.

constant float LOWEST = -1e30f;

static inline float2 two_halves(uint bits) {
    half2 h = as_type<half2>(bits);
    float2 v = float2(0.0f);
    v.x = float(h.x);
    v.y = float(h.y);
    return v;
}

// The scores of one key for all heads: 8 halves a load.
static inline void key_scores(device const uint4 *key, threadgroup const float4 *q, uint ratio,
                              uint dim, thread float *scores) {
    UNROLL
    for (uint g = 0; g < ATTENTION_RATIO_MAX; g++) scores[g] = 0.0f;
    for (uint i = 0; i < dim / 8; i++) {
        uint4 bits = key[i];
        float2 a = two_halves(bits.x), b = two_halves(bits.y), c = two_halves(bits.z),
               d = two_halves(bits.w);
        float4 k1 = float4(a.x), k2 = float4(c.x);
        k1.y = a.y;
        k1.z = b.x;
        k1.w = b.y;
        k2.y = c.y;
        k2.z = d.x;
        k2.w = d.y;
        UNROLL
        for (uint g = 0; g < ATTENTION_RATIO_MAX; g++)
            if (g < ratio)
                scores[g] += dot(q[(g * dim) / 4 + 2 * i], k1) +
                             dot(q[(g * dim) / 4 + 2 * i + 1], k2);
    }
}

template <int PER>
static inline void attention_part(device const float *q, device const uint *k,
                                  device const uint *v, device float *parts,
                                  constant attention_args &args, threadgroup float *memory,
                                  uint3 group, uint thread_at, uint simd, uint lane) {
    uint dim = PER * SIMD_N, ratio = args.heads_n / args.kv_heads_n;
    uint head0 = group.z * args.heads_n + group.y * ratio;
    threadgroup float *weights =
        memory + ATTENTION_RATIO_MAX * (ATTENTION_DIM_MAX + simd * SIMD_N);
    for (uint i = thread_at; i < ratio * dim; i += ATTENTION_GROUP_N)
        memory[i] = q[head0 * dim + i] * args.scale;
    threadgroup_barrier(mem_flags::mem_threadgroup); // the queries are whole
    uint part = group.x * ATTENTION_SIMDS + simd;
    uint share = (args.keys_n + args.parts_n - 1) / args.parts_n;
    uint begin = min(part * share, args.keys_n), end = min(begin + share, args.keys_n);
    ulong cache = ulong(group.z * args.kv_heads_n + group.y) * args.keys_n;
    float out[ATTENTION_RATIO_MAX][PER], top[ATTENTION_RATIO_MAX], sum[ATTENTION_RATIO_MAX];
    UNROLL
    for (uint g = 0; g < ATTENTION_RATIO_MAX; g++) {
        top[g] = LOWEST;
        sum[g] = 0.0f;
        UNROLL
        for (uint i = 0; i < PER; i++) out[g][i] = 0.0f;
    }
    for (uint key0 = begin; key0 < end; key0 += SIMD_N) {
        bool inside = key0 + lane < end;
        ulong key = cache + min(key0 + lane, end - 1);
        float scores[ATTENTION_RATIO_MAX];
        key_scores((device const uint4 *)(k + key * (dim / 2)), (threadgroup const float4 *)memory,
                   ratio, dim, scores);
        UNROLL
        for (uint g = 0; g < ATTENTION_RATIO_MAX; g++) {
            if (g >= ratio) break;
            float new_top = max(top[g], simd_max(inside ? scores[g] : LOWEST));
            float weight = inside ? exp(scores[g] - new_top) : 0.0f, shrink = exp(top[g] - new_top);
            weights[g * SIMD_N + lane] = weight;
            sum[g] = sum[g] * shrink + simd_sum(weight);
            top[g] = new_top;
            UNROLL
            for (uint i = 0; i < PER; i++) out[g][i] *= shrink;
        }
        simdgroup_barrier(mem_flags::mem_threadgroup); // the weights are whole
        for (uint j = 0; j < min(uint(SIMD_N), end - key0); j++) {
            float values[PER];
            UNROLL
            for (uint i = 0; i < PER; i += 2) {
                float2 pair = two_halves(v[((cache + key0 + j) * dim + lane * PER + i) / 2]);
                values[i] = pair.x;
                values[i + 1] = pair.y;
            }
            UNROLL
            for (uint g = 0; g < ATTENTION_RATIO_MAX; g++) {
                if (g >= ratio) break;
                UNROLL
                for (uint i = 0; i < PER; i++) out[g][i] += weights[g * SIMD_N + j] * values[i];
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup); // nobody reads them any more
    }
    UNROLL
    for (uint g = 0; g < ATTENTION_RATIO_MAX; g++) {
        if (g >= ratio) break;
        device float *to = parts + ((head0 + g) * args.parts_n + part) * (dim + 2);
        UNROLL
        for (uint i = 0; i < PER; i++) to[lane * PER + i] = out[g][i];
        if (lane == 0) {
            to[dim] = top[g];
            to[dim + 1] = sum[g];
        }
    }
}

kernel void attention_part_64(device const float *q [[buffer(0)]],
                              device const uint *k [[buffer(1)]],
                              device const uint *v [[buffer(2)]],
                              device float *parts [[buffer(3)]],
                              constant attention_args &args [[buffer(4)]],
                              threadgroup float *memory GROUP_MEMORY(0),
                              uint3 group [[threadgroup_position_in_grid]],
                              uint thread_at [[thread_index_in_threadgroup]],
                              uint simd [[simdgroup_index_in_threadgroup]],
                              uint lane [[thread_index_in_simdgroup]]) {
    attention_part<2>(q, k, v, parts, args, memory, group, thread_at, simd, lane);
}

kernel void attention_part_128(device const float *q [[buffer(0)]],
                               device const uint *k [[buffer(1)]],
                               device const uint *v [[buffer(2)]],
                               device float *parts [[buffer(3)]],
                               constant attention_args &args [[buffer(4)]],
                               threadgroup float *memory GROUP_MEMORY(0),
                               uint3 group [[threadgroup_position_in_grid]],
                               uint thread_at [[thread_index_in_threadgroup]],
                               uint simd [[simdgroup_index_in_threadgroup]],
                               uint lane [[thread_index_in_simdgroup]]) {
    attention_part<4>(q, k, v, parts, args, memory, group, thread_at, simd, lane);
}

kernel void attention_merge(device const float *parts [[buffer(0)]],
                            device float *out [[buffer(1)]],
                            constant attention_args &args [[buffer(2)]],
                            uint3 group [[threadgroup_position_in_grid]],
                            uint thread_at [[thread_index_in_threadgroup]]) {
    uint dim = args.head_dim, head = group.y * args.heads_n + group.x;
    device const float *from = parts + head * args.parts_n * (dim + 2);
    float top = LOWEST, sum = 0.0f, value = 0.0f;
    for (uint p = 0; p < args.parts_n; p++) top = max(top, from[p * (dim + 2) + dim]);
    for (uint p = 0; p < args.parts_n; p++) {
        device const float *part = from + p * (dim + 2);
        float weight = exp(part[dim] - top);
        sum += weight * part[dim + 1];
        value += weight * part[thread_at];
    }
    out[head * dim + thread_at] = value / sum;
}

// ---- attention of a prompt: the rows between two matrix products ----

// One value of the whole group from one a SIMD group; `memory` holds SOFTMAX_GROUP_N / SIMD_N.
static inline float group_max(float v, threadgroup float *memory, uint simd, uint lane) {
    float most = simd_max(v);
    if (lane == 0) memory[simd] = most;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < SOFTMAX_GROUP_N / SIMD_N; i++) most = max(most, memory[i]);
    return most;
}

static inline float group_sum(float v, threadgroup float *memory, uint simd, uint lane) {
    float sum = simd_sum(v), total = 0.0f;
    if (lane == 0) memory[simd] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < SOFTMAX_GROUP_N / SIMD_N; i++) total += memory[i];
    return total;
}

kernel void softmax_causal(device float *scores [[buffer(0)]],
                           constant softmax_args &args [[buffer(1)]],
                           threadgroup float *memory GROUP_MEMORY(0),
                           uint3 group [[threadgroup_position_in_grid]],
                           uint thread_at [[thread_index_in_threadgroup]],
                           uint simd [[simdgroup_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]]) {
    device float *row = scores + ulong(group.x) * args.keys_n;
    uint seen = min(args.keys_n, args.depth_tok + group.x / args.ratio_n + 1);
    float most = LOWEST, sum = 0.0f;
    for (uint i = thread_at; i < seen; i += SOFTMAX_GROUP_N) most = max(most, row[i]);
    most = group_max(most, memory, simd, lane);
    for (uint i = thread_at; i < seen; i += SOFTMAX_GROUP_N) {
        float weight = exp((row[i] - most) * args.scale);
        row[i] = weight;
        sum += weight;
    }
    sum = group_sum(sum, memory + SOFTMAX_GROUP_N / SIMD_N, simd, lane);
    for (uint i = thread_at; i < args.keys_n; i += SOFTMAX_GROUP_N)
        row[i] = i < seen ? row[i] / sum : 0.0f;
}
