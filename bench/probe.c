#include "probe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const model_shape PROBE_TINY = {.name = "tiny",
                                .architecture = "llama",
                                .source = "no model: a shape for tests",
                                .layers = 2,
                                .n_embd = 64,
                                .n_ff = 96,
                                .heads = 2,
                                .kv_heads = 1,
                                .head_dim = 64,
                                .vocab = 128,
                                .context_train_tok = 1024,
                                .rope_freq_base = 1e4,
                                .norm_eps = 1e-5};

static const double USABLE_FRAC = 0.8; /* of what the device says it can hold */
/* Four times the largest cache of a GPU that this runs on (M Ultra: 96 MB). */
static const int64_t CYCLE_BYTES = (int64_t)4 * 96 << 20;

#define GRID(...)                                                                                  \
    { .at = {__VA_ARGS__}, .n = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t) }

/* ---- the plan ---- */

static int64_t rounded(int64_t tok) {
    return LINEAR_GROUPS(tok, BLOCK_N) * BLOCK_N;
}

static int64_t last(const probe_grid *g) {
    return g->at[g->n - 1];
}

bool probe_fits(const probe_plan *p, int64_t batch, int64_t context_tok) {
    double model = (double)shape_weights_bytes(p->shape, p->quant) +
                   (double)(batch * context_tok) * (double)shape_kv_bytes_per_tok(p->shape);
    return batch * context_tok <= p->limits.cache_tok && model <= (double)p->budget_bytes;
}

/* Less KV until the run fits. */
static err_code shrink(const gpu_info *device, probe_plan *p, err *e) {
    int64_t least = rounded(p->limits.prompt_tok);
    int64_t one_max = device ? device->buffer_max_bytes : INT64_MAX;
    for (;;) {
        if (pass_bytes(p->shape, p->kind, &p->limits, &p->pass_bytes, e)) return e->code;
        /* K and V are the two largest buffers: half of all is an upper bound for one */
        if (p->pass_bytes <= p->budget_bytes && p->pass_bytes / 2 <= one_max) break;
        if (p->limits.cache_tok <= least && p->limits.prompt_tok <= PASS_UBATCH_TOK)
            return err_set(e, E_LIMIT, p->shape->name,
                           "a run takes %.1f GiB, this device has %.1f GiB for it (80 %% of its "
                           "working set)",
                           (double)p->pass_bytes / 0x1p30, (double)p->budget_bytes / 0x1p30);
        if (p->limits.cache_tok > least) {
            p->limits.cache_tok /= 2;
        } else {
            p->depths.n--;
            p->limits.prompt_tok = last(&p->depths) + last(&p->tokens);
        }
        least = rounded(p->limits.prompt_tok);
        if (p->limits.cache_tok < least) p->limits.cache_tok = least;
    }
    return OK;
}

static void choose_grid(probe_plan *p) {
    static const probe_plan REAL = {
        .batches = GRID(1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 32),
        .contexts = GRID(512, 4096, 16384),
        .tokens = GRID(16, 32, 64, 128, 256, PASS_UBATCH_TOK),
        .depths = GRID(0, 4096, 16384),
        .lengths = GRID(16, 32, 64, 128, 256, 512, 1024, 2048, 4096),
        .how = {.samples_n = MEASURE_SAMPLES_MIN, .settle_limit_s = 10, .sample_min_s = 2e-3}};
    static const probe_plan TINY = {
        .batches = GRID(1, 2),
        .contexts = GRID(16, 48),
        .tokens = GRID(8, 24),
        .depths = GRID(0, 32),
        .lengths = GRID(8, 24),
        .how = {.samples_n = MEASURE_SAMPLES_MIN, .settle_limit_s = 0.01, .sample_min_s = 0}};
    const probe_plan *from = p->tiny ? &TINY : &REAL;
    p->batches = from->batches;
    p->contexts = from->contexts;
    p->tokens = from->tokens;
    p->depths = from->depths;
    p->lengths = from->lengths;
    p->how = from->how;
    p->limits = (pass_limits){
        .batch_max = last(&p->batches),
        .columns_max = last(&p->tokens) > last(&p->batches) ? last(&p->tokens) : last(&p->batches),
        .cache_tok = last(&p->batches) * last(&p->contexts),
        .prompt_tok = last(&p->depths) + last(&p->tokens),
        .cycle_bytes = p->tiny ? 1 : CYCLE_BYTES};
    if (p->limits.cache_tok < rounded(p->limits.prompt_tok))
        p->limits.cache_tok = rounded(p->limits.prompt_tok);
}

err_code probe_plan_make(const gpu_info *device, const model_shape *shape, quant q, double soak_min,
                         probe_plan *out, err *e) {
    *out = (probe_plan){.shape = shape,
                        .quant = q,
                        .tiny = shape == &PROBE_TINY,
                        .soak_s = 60 * soak_min,
                        .budget_bytes = INT64_MAX};
    if (pass_weight_kind(q, &out->kind, e)) return e->code;
    if (device) out->budget_bytes = (int64_t)(USABLE_FRAC * (double)device->working_set_bytes);
    choose_grid(out);
    if (shrink(device, out, e)) return e->code;
    if (!probe_fits(out, 1, out->contexts.at[0]))
        return err_set(e, E_LIMIT, shape->name,
                       "%s in %s takes %.1f GiB, this device has %.1f GiB for it (80 %% of its "
                       "working set)",
                       shape->name, QUANT_NAMES[q], (double)shape_weights_bytes(shape, q) / 0x1p30,
                       (double)out->budget_bytes / 0x1p30);
    return OK;
}

/* ---- running ---- */

typedef struct runner {
    gpu *g;
    const probe_plan *p;
    probe_result *r;
    arena *mem;
    err *e;
    bool talk;
} runner;

static void say(const runner *x, const char *what, int64_t n, int64_t keys) {
    if (x->talk && keys >= 0)
        fprintf(stderr, "probe: %s %lld, %lld\n", what, (long long)n, (long long)keys);
    else if (x->talk)
        fprintf(stderr, "probe: %s\n", what);
}

/* The list holds items_n of what is measured. */
static err_code add_kernel(runner *x, const char *name, const char *what, double bytes,
                           double flops, const gpu_dispatch *d, size_t n, size_t items_n) {
    if (x->e->code || x->r->kernels_n == PROBE_CELLS_MAX) return x->e->code;
    probe_kernel *k = &x->r->kernels[x->r->kernels_n];
    *k = (probe_kernel){.name = name, .what = what, .bytes = bytes, .flops = flops};
    if (!what) return err_set(x->e, E_LIMIT, "probe", "does not fit the memory budget");
    if (measure(x->g, d, n, (int64_t)items_n, &x->p->how, x->mem, &k->m, x->e)) return x->e->code;
    x->r->kernels_n++;
    return OK;
}

/* Random floats: memory that holds zeros can be faster. */
static void fill(gpu_buffer *b) {
    float *f = gpu_buffer_contents(b);
    uint32_t v = 1;
    for (size_t i = 0; i < gpu_buffer_bytes(b) / sizeof *f; i++) {
        v = v * 1664525u + 1013904223u;
        f[i] = (float)(v >> 8) * 0x1p-24f;
    }
}

static void stream(runner *x, int64_t bytes, gpu_buffer *a, gpu_buffer *b) {
    gpu_dispatch d;
    int64_t vectors = bytes / 16, groups = vectors / STREAM_GROUP_N / 8;
    if (groups > 4096) groups = 4096;
    if (groups < 1) groups = 1;
    const char *what = arena_printf(x->mem, "%g MiB", (double)bytes / 0x1p20);
    if (!launch_stream(x->g, "read_bandwidth", (slice){a, 0}, (slice){b, 0}, vectors, groups,
                       x->mem, &d, x->e))
        (void)add_kernel(x, "read_bandwidth", what, (double)bytes, 0, &d, 1, 1);
    if (!x->e->code && !launch_stream(x->g, "copy_bandwidth", (slice){a, 0}, (slice){b, 0}, vectors,
                                      groups, x->mem, &d, x->e))
        (void)add_kernel(x, "copy_bandwidth", what, 2 * (double)bytes, 0, &d, 1, 1);
}

static void run_streams(runner *x) {
    static const int64_t MIB[] = {16, 64, 256, 1024, 4096};
    int64_t most = x->r->device->buffer_max_bytes, half = x->p->budget_bytes / 2;
    if (half < most) most = half;
    if (x->p->tiny) most = 1;
    for (size_t i = 0; i < 5 && !x->e->code; i++) {
        int64_t bytes = x->p->tiny ? 65536 : MIB[i] << 20;
        if (i > 0 && bytes > most) break;
        gpu_buffer *a = gpu_buffer_new(x->g, (size_t)bytes, x->e);
        gpu_buffer *b = a ? gpu_buffer_new(x->g, (size_t)bytes, x->e) : NULL;
        if (b) {
            say(x, "bandwidth, MiB", bytes >> 20, 0);
            fill(a);
            fill(b);
            stream(x, bytes, a, b);
        }
        gpu_buffer_free(a);
        gpu_buffer_free(b);
    }
}

static void run_arithmetic(runner *x) {
    const int64_t groups = x->p->tiny ? 1 : 4096;
    const fma_args a = {x->p->tiny ? 16 : 2048, 0.96875f, 0.25f, 0.0625f};
    gpu_dispatch d;
    gpu_buffer *b = gpu_buffer_new(x->g, (size_t)groups * STREAM_GROUP_N * sizeof(float), x->e);
    say(x, "arithmetic", 0, -1);
    if (b && !launch_fma(x->g, (slice){b, 0}, groups, &a, x->mem, &d, x->e))
        (void)add_kernel(x, "fma_chains", "single precision", 0,
                         2.0 * FMA_CHAINS * STREAM_GROUP_N * (double)groups * a.steps_n, &d, 1, 1);
    gpu_buffer_free(b);
    for (int64_t n = 2048; n <= 4096 && !x->e->code; n *= 2) {
        const int64_t side = x->p->tiny ? n / 32 : n;
        const linear_args m = {(uint32_t)side, (uint32_t)side, (uint32_t)side};
        size_t floats = (size_t)(side * side) * sizeof(float);
        gpu_buffer *w = gpu_buffer_new(x->g, floats / 2, x->e), *in = NULL, *out = NULL;
        if (w) in = gpu_buffer_new(x->g, floats, x->e);
        if (in) out = gpu_buffer_new(x->g, floats, x->e);
        if (out) {
            fill(in);
            memset(gpu_buffer_contents(w), 0x2D, floats / 2); /* halves of 0.08 */
            if (!launch_linear(x->g, WEIGHT_F16, LINEAR_MATRIX, (slice){w, 0}, (slice){in, 0},
                               (slice){out, 0}, &m, x->mem, &d, x->e))
                (void)add_kernel(x, "matmul_f16", arena_printf(x->mem, "n = %lld", (long long)side),
                                 0, 2.0 * (double)side * (double)side * (double)side, &d, 1, 1);
        }
        gpu_buffer_free(w);
        gpu_buffer_free(in);
        gpu_buffer_free(out);
        if (x->p->tiny) break;
    }
}

/* 64 empty dispatches in one command buffer: what one adds. One alone: what a command buffer costs,
 * by the wall clock. */
static void run_dispatches(runner *x) {
    enum { N = 64 };
    gpu_dispatch d[N];
    gpu_buffer *b = gpu_buffer_new(x->g, 256, x->e);
    probe_plan alone = *x->p;
    if (b && !launch_empty(x->g, (slice){b, 0}, 1, x->mem, &d[0], x->e)) {
        for (size_t i = 1; i < N; i++) d[i] = d[0];
        say(x, "dispatches", 0, -1);
        const probe_plan *kept = x->p;
        alone.how.sample_min_s = 0;
        x->p = &alone;
        (void)add_kernel(x, "empty_kernel", "64 in a command buffer", 0, 0, d, N, N);
        (void)add_kernel(x, "empty_kernel", "a command buffer of one", 0, 0, d, 1, 1);
        x->p = kept;
    }
    gpu_buffer_free(b);
}

static void run_matrices(runner *x, pass *p) {
    static const pass_matrix MATRICES[] = {PASS_Q, PASS_K, PASS_GATE, PASS_DOWN};
    for (size_t m = 0; m < (x->p->tiny ? 1 : 4); m++)
        for (size_t i = 0; i < x->p->batches.n && !x->e->code; i++) {
            int64_t columns = x->p->batches.at[i];
            for (int matrix = 0; matrix < (columns > 8 ? 2 : 1); matrix++) {
                linear_by by = matrix ? LINEAR_MATRIX : linear_by_columns(columns);
                linear_args a = pass_matrix_args(p, MATRICES[m], columns);
                double weights = (double)a.rows_n * a.cols_n;
                dispatches d;
                say(x, PASS_MATRIX_NAMES[MATRICES[m]], columns, 0);
                if (!pass_one_matrix(p, MATRICES[m], columns, by, x->mem, &d, x->e))
                    (void)add_kernel(
                        x, linear_kernel_name(x->p->kind, by),
                        arena_printf(x->mem, "%s %u x %u, B = %lld", PASS_MATRIX_NAMES[MATRICES[m]],
                                     a.rows_n, a.cols_n, (long long)columns),
                        weights / a.cols_n * (double)weight_row_bytes(x->p->kind, a.cols_n),
                        2 * weights * (double)columns, d.d, d.n, d.n);
            }
        }
}

static void run_attention(runner *x, pass *p) {
    const model_shape *s = x->p->shape;
    for (int64_t keys = x->p->tiny ? 32 : 1024; keys <= 32768 && !x->e->code; keys *= 2) {
        dispatches d;
        if (!probe_fits(x->p, 1, keys)) break;
        say(x, "attention, keys", keys, 0);
        if (pass_attention(p, 1, keys, x->mem, &d, x->e) ||
            add_kernel(x, s->head_dim == 64 ? "attention_part_64" : "attention_part_128",
                       arena_printf(x->mem, "and merge, %lld heads on %lld, %lld keys",
                                    (long long)s->heads, (long long)s->kv_heads, (long long)keys),
                       4.0 * (double)(s->kv_heads * s->head_dim * keys),
                       4.0 * (double)(s->heads * s->head_dim * keys), d.d, d.n,
                       d.n / 2)) /* parts and merge make one */
            return;
        if (x->p->tiny) return;
    }
}

/* ---- parts of a pass ---- */

typedef err_code list_fn(pass *p, int64_t n, int64_t keys, linear_by by, arena *mem,
                         dispatches *out, err *e);

static err_code output_of(pass *p, int64_t n, int64_t keys, linear_by by, arena *mem,
                          dispatches *out, err *e) {
    (void)keys;
    return pass_output(p, n, by, mem, out, e);
}

/* Up to 8 columns an engine would take the vector kernels, above 32 the matrix product; between
 * them both are tried. */
static err_code run_part(runner *x, pass *p, list_fn *list, int64_t n, int64_t keys,
                         probe_part *out) {
    *out = (probe_part){.n = n, .keys_tok = keys};
    for (int matrix = n > 32; matrix < (n > 8 ? 2 : 1); matrix++) {
        linear_by by = matrix ? LINEAR_MATRIX : linear_by_columns(n);
        dispatches d;
        measurement m;
        if (list(p, n, keys, by, x->mem, &d, x->e) ||
            measure(x->g, d.d, d.n, d.layers_n, &x->p->how, x->mem, &m, x->e))
            return x->e->code;
        if (out->m.samples_n > 0 && out->m.median_s <= m.median_s) continue;
        out->m = m;
        out->by = by;
    }
    return OK;
}

static void run_parts(runner *x, pass *p) {
    probe_result *r = x->r;
    for (size_t i = 0; i < x->p->batches.n && !x->e->code; i++) {
        int64_t n = x->p->batches.at[i];
        say(x, "output matrix, columns", n, 0);
        if (!run_part(x, p, output_of, n, 0, &r->outputs[r->outputs_n])) r->outputs_n++;
        for (size_t k = 0; k < x->p->contexts.n && !x->e->code; k++) {
            if (!probe_fits(x->p, n, x->p->contexts.at[k])) continue;
            say(x, "a layer of a step: sequences, keys", n, x->p->contexts.at[k]);
            if (!run_part(x, p, pass_decode, n, x->p->contexts.at[k], &r->steps[r->steps_n]))
                r->steps_n++;
        }
    }
    for (size_t k = 0; k < x->p->depths.n; k++)
        for (size_t i = 0; i < x->p->tokens.n && !x->e->code; i++) {
            int64_t n = x->p->tokens.at[i], depth = x->p->depths.at[k];
            if (!probe_fits(x->p, 1, rounded(n + depth))) continue;
            say(x, "a layer of a micro-batch: tokens, depth", n, depth);
            if (!run_part(x, p, pass_prefill, n, depth, &r->micro[r->micro_n])) r->micro_n++;
        }
}

/* ---- the whole model ---- */

static const probe_part *micro_at(const probe_part *micro, size_t n, int64_t tok, int64_t depth) {
    for (size_t i = 0; i < n; i++)
        if (micro[i].n == tok && micro[i].keys_tok == depth) return &micro[i];
    return NULL;
}

/* Layer seconds of a micro-batch at a depth, measured or between two that were. */
static double micro_s(const probe_part *micro, size_t n, int64_t tok, int64_t depth, size_t i) {
    const probe_part *below = NULL, *above = NULL;
    for (size_t k = 0; k < n; k++) {
        if (micro[k].n != tok) continue;
        if (micro[k].keys_tok <= depth && (!below || micro[k].keys_tok > below->keys_tok))
            below = &micro[k];
        if (micro[k].keys_tok >= depth && (!above || micro[k].keys_tok < above->keys_tok))
            above = &micro[k];
    }
    if (!below || !above) return (double)NAN;
    if (below == above) return below->m.gpu_s[i];
    double at = (double)(depth - below->keys_tok) / (double)(above->keys_tok - below->keys_tok);
    return below->m.gpu_s[i] + at * (above->m.gpu_s[i] - below->m.gpu_s[i]);
}

double probe_prompt_s(const probe_part *micro, size_t micro_n, int64_t layers, double output_s,
                      int64_t n, int64_t depth_tok, size_t i) {
    double sum = 0;
    for (int64_t done = 0; done < n; done += PASS_UBATCH_TOK) {
        int64_t tok = n - done < PASS_UBATCH_TOK ? n - done : PASS_UBATCH_TOK;
        sum += micro_s(micro, micro_n, tok, depth_tok + done, i);
    }
    return (double)layers * sum + output_s;
}

static err_code add_cell(runner *x, int64_t n, int64_t keys, const double *samples,
                         probe_cell *out) {
    *out = (probe_cell){.n = n, .keys_tok = keys};
    out->m.gpu_s = samples;
    out->m.samples_n = x->p->how.samples_n;
    return measure_summarise(samples, out->m.samples_n, x->mem, &out->m, x->e);
}

static const probe_part *output_for(const probe_result *r, int64_t n) {
    return micro_at(r->outputs, r->outputs_n, n, 0);
}

static void sum_decode(runner *x) {
    probe_result *r = x->r;
    for (size_t i = 0; i < r->steps_n && !x->e->code; i++) {
        double *s = ARENA_ARRAY(x->mem, double, x->p->how.samples_n);
        const probe_part *layer = &r->steps[i], *head = output_for(r, layer->n);
        for (size_t k = 0; s && head && k < x->p->how.samples_n; k++)
            s[k] = (double)x->p->shape->layers * layer->m.gpu_s[k] + head->m.gpu_s[k];
        if (!s)
            err_set(x->e, E_LIMIT, "probe", "does not fit the memory budget");
        else if (head && !add_cell(x, layer->n, layer->keys_tok, s, &r->decode[r->decode_n]))
            r->decode_n++;
    }
}

/* The output matrix serves the last token of a prompt alone. */
static void sum_prefill(runner *x) {
    probe_result *r = x->r;
    const probe_part *head = output_for(r, 1);
    for (size_t d = 0; d < x->p->depths.n; d++)
        for (size_t l = 0; l < x->p->lengths.n && head && !x->e->code; l++) {
            double *s = ARENA_ARRAY(x->mem, double, x->p->how.samples_n);
            int64_t n = x->p->lengths.at[l], depth = x->p->depths.at[d];
            for (size_t k = 0; s && k < x->p->how.samples_n; k++)
                s[k] = probe_prompt_s(r->micro, r->micro_n, x->p->shape->layers, head->m.gpu_s[k],
                                      n, depth, k);
            if (!s)
                err_set(x->e, E_LIMIT, "probe", "does not fit the memory budget");
            else if (!isnan(s[0]) && !add_cell(x, n, depth, s, &r->prefill[r->prefill_n]))
                r->prefill_n++;
        }
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Steps of one sequence for that long, then its first cell again. */
static void soak(runner *x, pass *p) {
    probe_result *r = x->r;
    double begin = now_s();
    dispatches d;
    gpu_time t;
    probe_part layer, head;
    if (x->p->soak_s <= 0 || r->steps_n == 0 || x->e->code) return;
    say(x, "soak, seconds", (int64_t)x->p->soak_s, 0);
    if (pass_decode(p, 1, r->steps[0].keys_tok, LINEAR_1, x->mem, &d, x->e)) return;
    while (now_s() - begin < x->p->soak_s)
        if (gpu_run(x->g, d.d, d.n, &t, x->e)) return;
    if (run_part(x, p, pass_decode, 1, r->steps[0].keys_tok, &layer) ||
        run_part(x, p, output_of, 1, 0, &head))
        return;
    r->soaked_step_s = (double)x->p->shape->layers * layer.m.median_s + head.m.median_s;
}

err_code probe_run(gpu *g, const probe_plan *p, bool talk, arena *mem, probe_result **out, err *e) {
    pass *pass_of = NULL;
    probe_result *r = ARENA_NEW(mem, probe_result);
    runner x = {.g = g, .p = p, .r = r, .mem = mem, .e = e, .talk = talk};
    *out = r;
    if (!r) return err_set(e, E_LIMIT, "probe", "does not fit the memory budget");
    r->plan = p;
    r->device = gpu_about(g);
    say(&x, "self-test", 0, -1);
    if (probe_test_run(g, mem, &r->checks, e)) return e->code;
    if (r->checks.failed_n > 0)
        return err_set(e, E_REFUSED, "probe",
                       "%lld kernels compute something else on %s: nothing was measured "
                       "(--self-test says which)",
                       (long long)r->checks.failed_n, r->device->name);
    run_streams(&x);
    run_arithmetic(&x);
    run_dispatches(&x);
    if (!e->code) (void)pass_new(g, p->shape, p->kind, &p->limits, mem, &pass_of, e);
    if (!e->code) run_matrices(&x, pass_of);
    if (!e->code) run_attention(&x, pass_of);
    if (!e->code) run_parts(&x, pass_of);
    if (!e->code) soak(&x, pass_of);
    pass_free(pass_of);
    if (!e->code) sum_decode(&x);
    if (!e->code) sum_prefill(&x);
    return e->code;
}

const probe_cell *probe_worst(const probe_result *r) {
    const probe_cell *worst = NULL;
    for (size_t i = 0; i < r->decode_n + r->prefill_n; i++) {
        const probe_cell *c = i < r->decode_n ? &r->decode[i] : &r->prefill[i - r->decode_n];
        if (!worst || measure_spread(&c->m) > measure_spread(&worst->m)) worst = c;
    }
    return worst;
}
