#include "probe_test.h"

#include "launch.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Rounding of single precision, over sums that differ in order; a GPU's exp() under fast math is
 * off by a few units more. What mutants of the kernels get wrong is off by 1e-2. */
static const double LIMIT = 2e-6, LIMIT_EXP = 1e-5;

enum {
    SHORT_EVERY = 5,
    BUFFERS_MAX = 8,
    SLACK_N = 64 /* floats behind a result, which must stay */
};

typedef struct bed {
    gpu *g;
    arena *mem;
    probe_checks *out;
    err *e;
    uint64_t random;
    gpu_buffer *buffers[BUFFERS_MAX];
    size_t n;
    size_t every, cases_n; /* of the matrix and attention cases, one in `every` is run */
} bed;

/* ---- data ---- */

static uint32_t draw(bed *b, uint32_t n) {
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((b->random >> 33) % n);
}

/* A half of 4 significant bits: its product with a byte is a half again, so that kernels which
 * multiply halves round nothing and the same limit holds for all. */
static uint16_t short_half(bed *b, uint32_t exponent) {
    return (uint16_t)(draw(b, 2) << 15 | exponent << 10 | draw(b, 8) << 7);
}

static void *buffer(bed *b, size_t bytes, slice *s) {
    *s = (slice){0};
    if (b->e->code) return NULL;
    assert(b->n < BUFFERS_MAX);
    s->buffer = gpu_buffer_new(b->g, bytes, b->e);
    if (!s->buffer) return NULL;
    b->buffers[b->n++] = s->buffer;
    return gpu_buffer_contents(s->buffer);
}

static void clear(bed *b) {
    for (size_t i = 0; i < b->n; i++) gpu_buffer_free(b->buffers[i]);
    b->n = 0;
}

/* Halves that single precision holds, as floats. */
static float *floats(bed *b, size_t n, slice *s) {
    float *f = buffer(b, n * sizeof *f, s);
    for (size_t i = 0; f && i < n; i++) f[i] = (float)half_value(short_half(b, 12 + draw(b, 4)));
    return f;
}

static uint16_t *halves(bed *b, size_t n, slice *s) {
    uint16_t *h = buffer(b, n * sizeof *h, s);
    for (size_t i = 0; h && i < n; i++) h[i] = short_half(b, 12 + draw(b, 4));
    return h;
}

/* A result: no number at first, and a slack behind it that is none of the kernel's. */
static float *result(bed *b, size_t n, slice *s) {
    float *f = buffer(b, (n + SLACK_N) * sizeof *f, s);
    if (f) memset(f, 0xFF, (n + SLACK_N) * sizeof *f);
    return f;
}

static void *weights(bed *b, weight_kind kind, const linear_args *a, slice *s) {
    size_t bytes = weight_row_bytes(kind, a->cols_n) * a->rows_n;
    if (kind == WEIGHT_F16) return halves(b, bytes / 2, s);
    unsigned char *w = buffer(b, bytes, s);
    size_t block = weight_row_bytes(kind, BLOCK_N);
    for (size_t i = 0; w && i < bytes; i++) w[i] = (unsigned char)(draw(b, 255) + 1);
    for (size_t i = 0; w && i < bytes; i += block) {
        uint16_t scale = short_half(b, 8 + draw(b, 3));
        memcpy(w + i, &scale, sizeof scale);
        for (size_t k = 2; k < block; k++) /* -128 has an eighth bit and is no quant of Q8_0 */
            if (kind == WEIGHT_Q8_0 && w[i + k] == 128) w[i + k] = 127;
    }
    return w;
}

/* ---- verdicts ---- */

static probe_check *check_of(bed *b, const char *kernel) {
    for (size_t i = 0; i < b->out->n; i++)
        if (strcmp(b->out->at[i].kernel, kernel) == 0) return &b->out->at[i];
    assert(b->out->n < PROBE_CHECKS_MAX);
    probe_check *c = &b->out->at[b->out->n++];
    bool exponential = strstr(kernel, "attention") || strstr(kernel, "softmax");
    *c = (probe_check){.kernel = kernel, .limit = exponential ? LIMIT_EXP : LIMIT, .worst = ""};
    return c;
}

static double off(double got, double want, double size) {
    double error = fabs(got - want) / (size > 0 ? size : 1);
    return isfinite(error) ? error : (double)INFINITY; /* a value never written is no number */
}

static bool untouched(const float *f, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isnan(f[i])) return false;
    return true;
}

static void judge(bed *b, const char *kernel, double error, const float *slack, const char *what) {
    probe_check *c = check_of(b, kernel);
    if (!untouched(slack, SLACK_N)) error = (double)INFINITY;
    c->cases_n++;
    if (!(error <= c->limit)) c->failed_n++;
    if (c->cases_n == 1 || error > c->error) {
        c->error = error;
        c->worst = what ? what : "";
    }
}

static double compare(const float *got, const double *want, const double *size, size_t n) {
    double error = 0;
    for (size_t i = 0; i < n; i++) error = fmax(error, off((double)got[i], want[i], size[i]));
    return error;
}

static bool ran(bed *b, const gpu_dispatch *d, size_t n) {
    gpu_time t;
    if (b->e->code || gpu_run(b->g, d, n, &t, b->e)) return false;
    for (size_t i = 0; i < b->n; i++) (void)gpu_buffer_contents(b->buffers[i]);
    return true;
}

/* Is this case one of those to be run? */
static bool chosen(bed *b) {
    return b->cases_n++ % b->every == 0;
}

/* ---- kernels ---- */

static void test_empty(bed *b) {
    slice s;
    gpu_dispatch d;
    float *out = result(b, 5, &s);
    if (out && launch_empty(b->g, s, 5, b->mem, &d, b->e) == OK && ran(b, &d, 1)) {
        double error = 0;
        for (uint32_t i = 0; i < 5; i++) {
            uint32_t v;
            memcpy(&v, &out[i], sizeof v);
            error = fmax(error, v == i ? 0 : 1);
        }
        judge(b, "empty_kernel", error, out + 5, "5 of 32 threads");
    }
    clear(b);
}

static void test_read(bed *b, int64_t vectors, int64_t groups) {
    slice in, out_at;
    gpu_dispatch d;
    size_t sums_n = (size_t)groups * STREAM_GROUP_N / SIMD_N, threads = sums_n * SIMD_N;
    const float *from = floats(b, 4 * (size_t)vectors, &in), *out = result(b, sums_n, &out_at);
    if (out &&
        launch_stream(b->g, "read_bandwidth", in, out_at, vectors, groups, b->mem, &d, b->e) ==
            OK &&
        ran(b, &d, 1)) {
        double *want = ARENA_ARRAY(b->mem, double, sums_n);
        double *size = ARENA_ARRAY(b->mem, double, sums_n);
        for (size_t i = 0; want && size && i < 4 * (size_t)vectors; i++) {
            want[i / 4 % threads / SIMD_N] += (double)from[i];
            size[i / 4 % threads / SIMD_N] += fabs((double)from[i]);
        }
        if (want && size)
            judge(b, "read_bandwidth", compare(out, want, size, sums_n), out + sums_n,
                  arena_printf(b->mem, "%lld vectors", (long long)vectors));
    }
    clear(b);
}

static void test_copy(bed *b, int64_t vectors, int64_t groups) {
    slice in, out_at;
    gpu_dispatch d;
    size_t n = 4 * (size_t)vectors;
    const float *from = floats(b, n, &in), *out = result(b, n, &out_at);
    if (out &&
        launch_stream(b->g, "copy_bandwidth", in, out_at, vectors, groups, b->mem, &d, b->e) ==
            OK &&
        ran(b, &d, 1))
        judge(b, "copy_bandwidth", memcmp(from, out, n * sizeof *out) == 0 ? 0 : 1, out + n,
              arena_printf(b->mem, "%lld vectors", (long long)vectors));
    clear(b);
}

static void test_fma(bed *b, uint32_t steps, int64_t groups) {
    slice s;
    gpu_dispatch d;
    const fma_args a = {.steps_n = steps, .factor = 0.96875f, .addend = 0.25f, .start = 0.0625f};
    size_t n = (size_t)groups * STREAM_GROUP_N;
    const float *out = result(b, n, &s);
    if (out && launch_fma(b->g, s, groups, &a, b->mem, &d, b->e) == OK && ran(b, &d, 1)) {
        double error = 0;
        for (size_t i = 0; i < n; i++) {
            double size, want = reference_fma(&a, (uint32_t)i, &size);
            error = fmax(error, off((double)out[i], want, size));
        }
        judge(b, "fma_chains", error, out + n, arena_printf(b->mem, "%u steps", steps));
    }
    clear(b);
}

static void test_linear(bed *b, weight_kind kind, linear_by by, linear_args a) {
    if (!chosen(b)) return;
    slice ws, xs, ys;
    gpu_dispatch d;
    size_t n = (size_t)a.columns_n * a.rows_n;
    const void *w = weights(b, kind, &a, &ws);
    const float *x = floats(b, (size_t)a.columns_n * a.cols_n, &xs), *y = result(b, n, &ys);
    double *want = ARENA_ARRAY(b->mem, double, n), *size = ARENA_ARRAY(b->mem, double, n);
    if (!want || !size) err_set(b->e, E_LIMIT, "self-test", "does not fit the memory budget");
    if (y && want && size &&
        launch_linear(b->g, kind, by, ws, xs, ys, &a, b->mem, &d, b->e) == OK && ran(b, &d, 1)) {
        reference_linear(kind, w, x, &a, want, size);
        judge(b, linear_kernel_name(kind, by), compare(y, want, size, n), y + n,
              arena_printf(b->mem, "%u x %u, %u columns", a.rows_n, a.cols_n, a.columns_n));
    }
    clear(b);
}

static void test_attention(bed *b, attention_args a, int64_t sequences) {
    if (!chosen(b)) return;
    slice q, k, v, parts, out_at;
    gpu_dispatch d[2];
    size_t heads = (size_t)sequences * a.heads_n, n = heads * a.head_dim;
    size_t cache = (size_t)sequences * a.kv_heads_n * a.keys_n * a.head_dim;
    const float *qs = floats(b, n, &q);
    const uint16_t *ks = halves(b, cache, &k), *vs = halves(b, cache, &v);
    const float *shares = result(b, attention_parts_bytes(&a, sequences) / sizeof(float), &parts),
                *out = result(b, n, &out_at);
    double *want = ARENA_ARRAY(b->mem, double, n), *size = ARENA_ARRAY(b->mem, double, n);
    if (!want || !size) err_set(b->e, E_LIMIT, "self-test", "does not fit the memory budget");
    if (out && want && size &&
        launch_attention(b->g, q, k, v, parts, out_at, &a, sequences, b->mem, d, b->e) == OK &&
        ran(b, d, 2)) {
        reference_attention(qs, ks, vs, &a, (size_t)sequences, want, size);
        const char *what = arena_printf(b->mem, "%u heads on %u, %u keys, %lld sequences",
                                        a.heads_n, a.kv_heads_n, a.keys_n, (long long)sequences);
        double error = compare(out, want, size, n);
        judge(b, a.head_dim == 64 ? "attention_part_64" : "attention_part_128", error,
              shares + attention_parts_bytes(&a, sequences) / sizeof(float), what);
        judge(b, "attention_merge", error, out + n, what);
    }
    clear(b);
}

/* All scores are negative: their maximum and the sum of the weights cannot stand for each other. */
static void test_softmax(bed *b, softmax_args a, size_t rows) {
    slice s;
    gpu_dispatch d;
    size_t n = rows * a.keys_n;
    float *scores = result(b, n, &s);
    float *before = ARENA_ARRAY(b->mem, float, n);
    double *want = ARENA_ARRAY(b->mem, double, n);
    if (!before || !want) err_set(b->e, E_LIMIT, "self-test", "does not fit the memory budget");
    if (scores && before && want) {
        for (size_t i = 0; i < n; i++)
            before[i] = scores[i] = (float)half_value(short_half(b, 12 + draw(b, 6))) - 8;
        double error = 0;
        if (launch_softmax(b->g, s, (int64_t)rows, &a, b->mem, &d, b->e) == OK && ran(b, &d, 1)) {
            for (size_t r = 0; r < rows; r++) reference_softmax(before, &a, r, want + r * a.keys_n);
            for (size_t i = 0; i < n; i++) error = fmax(error, off((double)scores[i], want[i], 1));
            judge(b, "softmax_causal", error, scores + n,
                  arena_printf(b->mem, "%zu rows of %u keys", rows, a.keys_n));
        }
    }
    clear(b);
}

/* ---- all cases ---- */

static void test_streams(bed *b) {
    static const int64_t VECTORS[] = {1, 31, 1000, 4099};
    static const uint32_t STEPS[] = {0, 1, 17, 200};
    test_empty(b);
    for (size_t i = 0; i < 4; i++) {
        test_read(b, VECTORS[i], 1 + (int64_t)i % 3);
        test_copy(b, VECTORS[i], 1 + (int64_t)i % 3);
        test_fma(b, STEPS[i], 1 + (int64_t)i % 2);
    }
}

static void test_linears(bed *b) {
    static const uint32_t COLUMNS[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 32};
    static const struct {
        uint32_t rows, cols;
    } SHAPES[] = {{1, 32}, {8, 64}, {13, 96}, {67, 288}, {5, 1056}};
    static const linear_args MATRICES[] = {
        {64, 32, 32}, {1, 64, 33}, {130, 96, 64}, {65, 160, 71}, {32, 512, 1}};
    for (weight_kind k = WEIGHT_F16; k < WEIGHT_KINDS_N; k++)
        for (linear_by by = LINEAR_1; by < LINEAR_BY_N; by++) {
            if (!linear_kernel_name(k, by)) continue;
            for (size_t i = 0; i < sizeof COLUMNS / sizeof *COLUMNS; i++)
                for (size_t s = i % 2; s < 5; s += 2) /* two or three shapes each, in turn */
                    test_linear(b, k, by,
                                (linear_args){SHAPES[s].rows, SHAPES[s].cols, COLUMNS[i]});
            for (size_t i = 0; by == LINEAR_MATRIX && i < 5; i++)
                test_linear(b, k, by, MATRICES[i]);
        }
}

static void test_attentions(bed *b) {
    static const uint32_t KEYS[] = {1, 31, 32, 33, 100, 257}, RATIOS[] = {1, 2, 3, 4, 7, 8};
    for (uint32_t dim = 64; dim <= 128; dim += 64)
        for (uint32_t i = 0; i < 6; i++)
            for (uint32_t r = 0; r < 6; r++) {
                uint32_t kv_heads = 1 + (i + r) % 3, parts = (i + r) % 2 ? 4 : 8;
                if ((i + r) % 2 && KEYS[i] > 100) continue; /* the long ones at half the ratios */
                attention_args a = {.heads_n = kv_heads * RATIOS[r],
                                    .kv_heads_n = kv_heads,
                                    .head_dim = dim,
                                    .keys_n = KEYS[i],
                                    .parts_n = parts,
                                    .scale = 0.125f};
                test_attention(b, a, 1 + r % 2);
            }
    for (uint32_t i = 0; i < 6; i++)
        for (uint32_t depth = 0; depth < KEYS[i]; depth += 1 + KEYS[i] / 2)
            test_softmax(b, (softmax_args){KEYS[i], RATIOS[i], depth, 0.5f}, 1 + 5 * i);
}

static err_code run_cases(gpu *g, size_t every, arena *mem, probe_checks *out, err *e) {
    bed b = {.g = g, .mem = mem, .out = out, .e = e, .random = 1, .every = every};
    *out = (probe_checks){0};
    test_streams(&b);
    test_linears(&b);
    test_attentions(&b);
    for (size_t i = 0; i < out->n; i++) out->failed_n += out->at[i].failed_n > 0;
    return e->code;
}

err_code probe_test_run(gpu *g, arena *mem, probe_checks *out, err *e) {
    return run_cases(g, 1, mem, out, e);
}

err_code probe_test_run_short(gpu *g, arena *mem, probe_checks *out, err *e) {
    return run_cases(g, SHORT_EVERY, mem, out, e);
}
