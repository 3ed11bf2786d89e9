/* bench/gpu_metal.m through gpu.h, on the double of Metal. Without an argument: what must work;
 * each check counts, and the double prints its census at exit. With the name of a step: that step
 * alone, which is expected to fail; its error goes to stderr, and its exit code is the program's.
 */
#include "gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_N = 4096 };

static int passed_n, failed_n;
static void *volatile lost; /* the step "leak": what a leak looks like to whoever looks for them */

static void check(const char *name, bool ok) {
    if (ok)
        passed_n++;
    else
        printf("FAILED %s\n", name), failed_n++;
}

static uint32_t *words(gpu_buffer *b) {
    return gpu_buffer_contents(b);
}

static gpu_dispatch dispatch(gpu *g, const char *kernel, int64_t groups, int64_t group, err *e) {
    return (gpu_dispatch){
        .kernel = gpu_kernel_named(g, kernel, e), .groups = {groups, 1, 1}, .group = {group, 1, 1}};
}

static void check_device(gpu *g) {
    const gpu_info *about = gpu_about(g);
    check("backend", strcmp(about->backend, "metal") == 0);
    check("name", strcmp(about->name, "Fake Metal (CPU)") == 0);
    check("the double is called simulated", about->simulated);
    check("unified memory", about->unified_memory);
    check("working set", about->working_set_bytes == INT64_C(1) << 31);
    check("longest buffer", about->buffer_max_bytes == 1 << 30);
    check("SIMD width", about->simd_width == 32);
    check("threads of a group", about->group_max_n == 1024);
    check("group memory", about->group_memory_max_bytes == 32768);
}

static void check_buffers(gpu *g, err *e) {
    gpu_buffer *b = gpu_buffer_new(g, 4 * WORDS_N, e);
    check("a buffer", b && gpu_buffer_bytes(b) == 4 * WORDS_N);
    bool zero = true;
    for (size_t i = 0; i < WORDS_N; i++) zero = zero && words(b)[i] == 0;
    check("a buffer is zeroed", zero);
    gpu_buffer_free(b);
    gpu_buffer_free(NULL);
}

/* Copy, then add twice to what was copied: only that order gives the sums. */
static void check_order(gpu *g, err *e) {
    gpu_buffer *in = gpu_buffer_new(g, 4 * WORDS_N, e);
    gpu_buffer *out = gpu_buffer_new(g, 4 * WORDS_N, e);
    for (uint32_t i = 0; i < WORDS_N; i++) words(in)[i] = i;
    uint32_t args[2][2] = {{0, 7}, {16, 100}};
    gpu_dispatch d[3] = {dispatch(g, "tiny_copy", 16, 256, e), dispatch(g, "tiny_add", 16, 256, e),
                         dispatch(g, "tiny_add", 1, 32, e)};
    d[0].buffers[0] = in;
    d[0].buffers[1] = out;
    d[0].buffers_n = 2;
    for (int i = 0; i < 2; i++) {
        d[i + 1].buffers[0] = out;
        d[i + 1].buffers_n = 1;
        d[i + 1].args = args[i];
        d[i + 1].args_bytes = sizeof args[i];
    }
    gpu_time t = {0};
    check("three dispatches run", gpu_run(g, d, 3, &t, e) == OK);
    check("GPU time", t.gpu_s >= 0 && t.gpu_s <= t.wall_s);
    bool right = true;
    for (uint32_t i = 0; i < WORDS_N; i++)
        right = right && words(out)[i] == i + 7 + (i >= 16 && i < 48 ? 100 : 0);
    check("dispatches run in order, arguments are theirs", right);
    gpu_buffer_free(in);
    gpu_buffer_free(out);
}

static void check_group_memory_and_offsets(gpu *g, err *e) {
    gpu_buffer *in = gpu_buffer_new(g, 4 * WORDS_N, e);
    gpu_buffer *out = gpu_buffer_new(g, 4 * WORDS_N, e);
    for (uint32_t i = 0; i < WORDS_N; i++) words(in)[i] = i;
    gpu_dispatch d = dispatch(g, "tiny_group_sum", 4, 64, e);
    d.groups[0] = 2;
    d.groups[1] = 2; /* 4 groups in all: no dimension is lost */
    d.buffers[0] = in;
    d.offsets[0] = 4 * 1024;
    d.buffers[1] = out;
    d.offsets[1] = 8;
    d.buffers_n = 2;
    d.group_memory_bytes = 256;
    gpu_time t;
    check("group memory", gpu_run(g, &d, 1, &t, e) == OK);
    bool right = words(out)[0] == 0 && words(out)[1] == 0 && words(out)[6] == 0;
    for (uint32_t i = 0; i < 4; i++)
        right = right && words(out)[2 + i] == 64 * (1024 + 64 * i) + 63 * 64 / 2;
    check("offsets of buffers", right);
    gpu_buffer_free(in);
    gpu_buffer_free(out);
}

/* What gpu.c refuses before the device sees it: a dispatch that is right but for one thing. */
static void check_refusals(gpu *g, err *all) {
    gpu_buffer *b = gpu_buffer_new(g, 4 * WORDS_N, all);
    const uint32_t big[2048] = {0}; /* 8 KiB */
    gpu_dispatch good = dispatch(g, "tiny_add", 1, 32, all);
    good.buffers[0] = b;
    good.buffers_n = 1;
    good.args = big;
    good.args_bytes = 8;
    gpu_dispatch bad[8];
    for (int i = 0; i < 8; i++) bad[i] = good;
    bad[0].args_bytes = sizeof big;
    bad[1].group_memory_bytes = 24;
    bad[2].group[0] = 2048;
    bad[3].group[0] = 0;
    bad[4].groups[2] = 0;
    bad[5].buffers[0] = NULL;
    bad[6].group_memory_bytes = 65536;
    bad[7].offsets[0] = 4 * WORDS_N;
    static const char *const WHAT[] = {
        "arguments too long", "multiple of 16", "more threads in a group",
        "an empty grid",      "an empty grid",  "a buffer that is not there",
        "or too large",       "behind its end"};
    gpu_time t;
    for (int i = 0; i < 8; i++) {
        gpu_dispatch two[2] = {good, bad[i]};
        err e = {0};
        check(WHAT[i], gpu_run(g, two, 2, &t, &e) == E_EXTERN && strstr(e.what, WHAT[i]));
    }
    gpu_dispatch square = good;
    square.group[0] = square.group[1] = 64;
    err e = {0};
    check("a group of 64 x 64", gpu_run(g, &square, 1, &t, &e) == E_EXTERN);
    check("nothing ran", words(b)[0] == 0);
    gpu_buffer_free(b);
}

static void check_errors(gpu *g) {
    err e = {0};
    check("no such kernel", !gpu_kernel_named(g, "tiny_none", &e) && e.code == E_EXTERN);
    e = (err){0};
    check("a buffer of no bytes", !gpu_buffer_new(g, 0, &e) && e.code == E_LIMIT);
    e = (err){0};
    check("too long a buffer", !gpu_buffer_new(g, (size_t)1 << 31, &e) && e.code == E_LIMIT);
    e = (err){0};
    gpu *other = g;
    check("no such backend", gpu_open("vulkan", &other, &e) == E_USAGE && !other);
    e = (err){0};
    const gpu_kernel *k = gpu_kernel_named(g, "tiny_copy", &e);
    check("a kernel is made once", k && k == gpu_kernel_named(g, "tiny_copy", &e));
    check("its group limit", gpu_kernel_group_max(k) == 1024);
}

static int run_checks(void) {
    err e = {0};
    for (int round = 0; round < 2; round++) { /* twice: the second open finds nothing left over */
        gpu *g = NULL;
        check("open", gpu_open(round == 0 ? "metal" : NULL, &g, &e) == OK && g);
        if (!g) break;
        check_device(g);
        check_buffers(g, &e);
        check_order(g, &e);
        check_group_memory_and_offsets(g, &e);
        check_refusals(g, &e);
        check_errors(g);
        gpu_close(g);
    }
    gpu_close(NULL);
    check("no error on the way", e.code == OK);
    if (e.code != OK) printf("%s: %s\n", e.where, e.what);
    printf("%d passed, %d failed\n", passed_n, failed_n);
    return failed_n > 0;
}

static void one_step(gpu *g, const char *step, err *e) {
    gpu_buffer *b = gpu_buffer_new(g, 64, e);
    if (!b) return;
    uint32_t args[2] = {strcmp(step, "overrun") == 0 ? 16 : 0, 1};
    gpu_dispatch d = dispatch(g, "tiny_overrun", 1, 32, e);
    d.buffers[0] = b;
    d.buffers_n = 1;
    d.args = args;
    d.args_bytes = sizeof args;
    gpu_time t = {0};
    if (d.kernel && gpu_run(g, &d, 1, &t, e) == OK)
        printf("gpu_s %g, wrote %u\n", t.gpu_s, words(b)[0]);
    gpu_buffer_free(b);
}

int main(int argc, char **argv) {
    if (argc == 1) return run_checks();
    if (strcmp(argv[1], "leak") == 0) {
        lost = malloc(77);
        lost = NULL;
    }
    err e = {0};
    gpu *g = NULL;
    if (gpu_open("metal", &g, &e) == OK) one_step(g, argv[1], &e);
    gpu_close(g);
    if (e.code != OK) fprintf(stderr, "code %d: %s: %s\n", (int)e.code, e.where, e.what);
    return err_exit_code(e.code);
}
