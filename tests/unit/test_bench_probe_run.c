/* A whole run of the probe at the sizes of a real one, on a device that computes the self-test on
 * the CPU and after that answers every dispatch with a time by formula. What it must not do: reach
 * behind a buffer. What it must say: sums of those times, exactly. */
#include "support.h"

#include "gpu_backend.h"
#include "probe_card.h"

#include <math.h>
#include <string.h>

#ifdef RATECAST_GPU_CPU

enum {
    FORMULA_BYTES = 1 << 20
}; /* no buffer of the self-test has so many, that of the first dispatch after it has */

static gpu_backend backend;
static gpu *device;
static bool by_formula;
static int64_t runs_n;

static int64_t threads(const gpu_dispatch *d) {
    return d->groups[0] * d->groups[1] * d->groups[2] * d->group[0];
}

static void within(const gpu_dispatch *d, size_t i, double bytes) {
    double end = (double)d->offsets[i] + bytes;
    cr_assert_leq(end, (double)gpu_buffer_bytes(d->buffers[i]), "%s, buffer %zu: %.0f bytes of %zu",
                  d->kernel->name, i, end, gpu_buffer_bytes(d->buffers[i]));
    cr_assert_eq(d->offsets[i] % 64, 0, "%s", d->kernel->name);
}

static void check_linear(const gpu_dispatch *d) {
    linear_args a;
    memcpy(&a, d->args, sizeof a);
    weight_kind k = strstr(d->kernel->name, "f16")    ? WEIGHT_F16
                    : strstr(d->kernel->name, "q8_0") ? WEIGHT_Q8_0
                                                      : WEIGHT_Q4_0;
    cr_assert_eq(a.cols_n % BLOCK_N, 0);
    within(d, 0, (double)a.rows_n * (double)weight_row_bytes(k, a.cols_n));
    within(d, 1, 4.0 * a.columns_n * a.cols_n);
    within(d, 2, 4.0 * a.columns_n * a.rows_n);
    /* places in x and y are 32 bits in the kernels */
    cr_assert_lt((double)a.columns_n * fmax(a.cols_n, a.rows_n), 0x1p32);
}

static void check_attention(const gpu_dispatch *d) {
    attention_args a;
    memcpy(&a, d->args, sizeof a);
    bool merge = strcmp(d->kernel->name, "attention_merge") == 0;
    double sequences = (double)d->groups[merge ? 1 : 2], heads = sequences * a.heads_n;
    double parts = 4 * heads * a.parts_n * (a.head_dim + 2);
    double cache = 2 * sequences * a.kv_heads_n * a.keys_n * a.head_dim;
    cr_assert_eq(a.parts_n % ATTENTION_SIMDS, 0);
    within(d, merge ? 0 : 3, parts);
    within(d, merge ? 1 : 0, 4 * heads * a.head_dim);
    if (!merge) within(d, 1, cache);
    if (!merge) within(d, 2, cache);
    cr_assert_lt(parts, 0x1p34);
}

static void check(const gpu_dispatch *d) {
    const char *name = d->kernel->name;
    stream_args s;
    softmax_args m;
    memcpy(&s, d->args, sizeof s);
    memcpy(&m, d->args, d->args_bytes < sizeof m ? d->args_bytes : sizeof m);
    if (strncmp(name, "gemv", 4) == 0 || strncmp(name, "matmul", 6) == 0) check_linear(d);
    if (strncmp(name, "attention", 9) == 0) check_attention(d);
    if (strcmp(name, "softmax_causal") == 0) within(d, 0, 4.0 * m.keys_n * (double)d->groups[0]);
    if (strcmp(name, "copy_bandwidth") == 0) {
        within(d, 0, 16.0 * s.vectors_n);
        within(d, 1, 16.0 * s.vectors_n);
    }
}

/* 10 us a dispatch and 1 ns a thread, in command buffers of 100 us. */
static err_code run(gpu *g, const gpu_dispatch *d, size_t n, gpu_time *out, err *e) {
    double s = 0;
    by_formula |= gpu_buffer_bytes(d->buffers[0]) > FORMULA_BYTES;
    if (!by_formula) return GPU_CPU.run(g, d, n, out, e);
    for (size_t i = 0; i < n; i++) {
        if (runs_n < 200000) check(&d[i]); /* enough for each list: repeats are copies */
        s += 1e-5 + 1e-9 * (double)threads(&d[i]);
    }
    runs_n++;
    *out = (gpu_time){.gpu_s = s, .wall_s = s + 1e-4};
    return OK;
}

static const model_shape SMALL = {.name = "small",
                                  .architecture = "llama",
                                  .source = "a test's",
                                  .layers = 3,
                                  .n_embd = 128,
                                  .n_ff = 352,
                                  .heads = 4,
                                  .kv_heads = 2,
                                  .head_dim = 64,
                                  .vocab = 512};

static const probe_result *run_small(double soak_min) {
    static probe_plan p;
    probe_result *r = NULL;
    err e = {0};
    cr_assert_eq(gpu_open("cpu", &device, &e), OK, "%s", e.what);
    backend = GPU_CPU;
    backend.run = run;
    device->backend = &backend;
    device->info.simulated = false;
    cr_assert_eq(probe_plan_make(gpu_about(device), &SMALL, QUANT_Q4_0, soak_min, &p, &e), OK, "%s",
                 e.what);
    cr_assert_not(p.tiny);
    cr_assert_eq(probe_run(device, &p, false, support_arena(), &r, &e), OK, "%s: %s", e.where,
                 e.what);
    return r;
}

static const probe_part *part(const probe_part *list, size_t n, int64_t tok, int64_t keys) {
    for (size_t i = 0; i < n; i++)
        if (list[i].n == tok && list[i].keys_tok == keys) return &list[i];
    cr_assert_fail("no part of %lld at %lld", (long long)tok, (long long)keys);
    return NULL;
}

static void adds_up(const probe_result *r) {
    cr_assert(by_formula);
    cr_assert_eq(r->checks.failed_n, 0);
    cr_assert_geq(r->decode_n, 20);
    cr_assert_geq(r->prefill_n, 9);
    for (size_t i = 0; i < r->decode_n; i++) {
        const probe_cell *c = &r->decode[i];
        const probe_part *layer = part(r->steps, r->steps_n, c->n, c->keys_tok),
                         *head = part(r->outputs, r->outputs_n, c->n, 0);
        cr_assert_float_eq(c->m.median_s, 3 * layer->m.median_s + head->m.median_s, 1e-12);
        cr_assert(layer->m.settled && layer->m.gpu_clock);
        cr_assert_eq(measure_spread(&c->m), 1);
        cr_assert_gt(layer->m.wall_median_s, layer->m.median_s, "both clocks are kept");
    }
    const probe_part *first = part(r->micro, r->micro_n, 512, 0);
    for (size_t i = 0; i < r->prefill_n; i++)
        if (r->prefill[i].n == 512 && r->prefill[i].keys_tok == 0)
            cr_assert_float_eq(
                r->prefill[i].m.median_s,
                3 * first->m.median_s + part(r->outputs, r->outputs_n, 1, 0)->m.median_s, 1e-12);
    /* 16 dispatches of 10 us a layer and more: a layer is one of a run's, not two or all of them */
    cr_assert_geq(part(r->steps, r->steps_n, 1, 512)->m.median_s, 16e-5);
    cr_assert_leq(part(r->steps, r->steps_n, 1, 512)->m.median_s, 32e-5);
    cr_assert_gt(r->soaked_step_s, 0);
}

/* By this clock, which charges threads alone, one wins here and the other there. */
static void takes_the_faster_kernel(const probe_result *r) {
    for (size_t i = 0; i < r->steps_n; i++) {
        if (r->steps[i].n <= 8) cr_assert_eq(r->steps[i].by, linear_by_columns(r->steps[i].n));
        if (r->steps[i].n > 8)
            cr_assert(r->steps[i].by == LINEAR_8 || r->steps[i].by == LINEAR_MATRIX);
    }
    for (size_t i = 0; i < r->micro_n; i++)
        if (r->micro[i].n > 32) cr_assert_eq(r->micro[i].by, LINEAR_MATRIX);
}

static void makes_a_card_that_loads(const probe_result *r) {
    card_library lib = {0};
    const card *c = NULL;
    err e = {0};
    buf out;
    buf_init(&out);
    cr_assert_eq(probe_card_write(r, "small", false, support_arena(), &out, &e), OK, "%s", e.what);
    file_bytes f = {.name = "small.json", .s = out.s, .len = out.len};
    cr_assert_eq(card_parse(&lib, &f, support_arena(), &c, &e), OK, "%s: %s", e.where, e.what);
    cr_assert_eq(c->prov, PROV_DERIVED);
    cr_assert_str_eq(c->method, "probe");
    cr_assert_not(c->simulated_device);
    cr_assert_eq(c->decode_n, r->decode_n);
    cr_assert_eq(c->decode[0].step_s, r->decode[0].m.median_s);
    buf_done(&out);
}

/* One test: each has a process of its own, and the run takes seconds. */
Test(probe_run, at_real_sizes) {
    const probe_result *r = run_small(0.0001);
    adds_up(r);
    takes_the_faster_kernel(r);
    makes_a_card_that_loads(r);
}

#else

Test(probe_run, needs_the_cpu_backend) {
    cr_skip_test("built without the CPU backend");
}

#endif
