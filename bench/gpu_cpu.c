/* The backend "cpu": the kernels of kernels.metal as msl/ runs them. It finds errors of kernels;
 * its times are those of a simulation. RATECAST_PROBE_SEED, a number, changes the order that the
 * threads run in. */
#include "gpu_backend.h"

#include "kernels.h"
#include "msl/fibers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KERNELS_MAX = 64, FENCE_BYTES = 64 << 10, FENCE = 0xFF };

typedef struct cpu_gpu {
    gpu base;
    gpu_kernel kernels[KERNELS_MAX]; /* as MSL_KERNELS */
    uint64_t seed;
} cpu_gpu;

static void close_gpu(gpu *g) {
    free(g);
}

static err_code open_gpu(gpu **out, err *e) {
    cpu_gpu *g = calloc(1, sizeof *g);
    const char *seed = getenv("RATECAST_PROBE_SEED");
    if (!g) return err_set(e, E_NOMEM, "cpu", "out of memory");
    for (size_t i = 0; i < KERNELS_MAX && MSL_KERNELS[i].name; i++)
        g->kernels[i] = (gpu_kernel){.name = MSL_KERNELS[i].name, .group_max = MSL_GROUP_MAX};
    g->seed = seed ? strtoull(seed, NULL, 10) : 1;
    g->base = (gpu){.backend = &GPU_CPU,
                    .info = {.backend = "cpu",
                             .name = "simulated GPU (CPU)",
                             .simulated = true,
                             .unified_memory = true,
                             .working_set_bytes = (int64_t)1 << 30,
                             .buffer_max_bytes = (int64_t)1 << 29,
                             .simd_width = MSL_SIMD_N,
                             .group_max_n = MSL_GROUP_MAX,
                             .group_memory_max_bytes = 32 << 10}};
    *out = &g->base;
    return OK;
}

/* Behind each buffer stand bytes that are no number when they are read as floats, and that must
 * still be there after a run. */
static gpu_buffer *buffer_new(gpu *g, size_t bytes, err *e) {
    gpu_buffer *b = calloc(1, sizeof *b);
    unsigned char *contents = calloc(1, bytes + FENCE_BYTES);
    if (!b || !contents) {
        free(b);
        free(contents);
        err_set(e, E_LIMIT, g->info.name, "no memory for a buffer of %zu bytes", bytes);
        return NULL;
    }
    memset(contents + bytes, FENCE, FENCE_BYTES);
    *b = (gpu_buffer){.owner = g, .contents = contents, .bytes = bytes};
    return b;
}

static void buffer_free(gpu_buffer *b) {
    free(b->contents);
    free(b);
}

static bool fence_stands(const gpu_buffer *b) {
    const unsigned char *fence = (const unsigned char *)b->contents + b->bytes;
    /* all bytes are the first one */
    return fence[0] == FENCE && memcmp(fence, fence + 1, FENCE_BYTES - 1) == 0;
}

static const gpu_kernel *kernel_named(gpu *g, const char *name, err *e) {
    cpu_gpu *c = (cpu_gpu *)g;
    for (size_t i = 0; i < KERNELS_MAX && c->kernels[i].name; i++)
        if (strcmp(c->kernels[i].name, name) == 0) return &c->kernels[i];
    err_set(e, E_EXTERN, name, "no such kernel");
    return NULL;
}

static err_code run_one(cpu_gpu *g, const gpu_dispatch *d, err *e) {
    /* a copy, so that a kernel cannot change the caller's */
    _Alignas(16) unsigned char args[GPU_ARGS_MAX_BYTES];
    msl_launch l = {.kernel = &MSL_KERNELS[d->kernel - g->kernels],
                    .group_memory_bytes = d->group_memory_bytes,
                    .seed = g->seed++};
    for (size_t i = 0; i < d->buffers_n; i++)
        l.bindings.buffer[i] = (unsigned char *)d->buffers[i]->contents + d->offsets[i];
    if (d->args_bytes) memcpy(args, d->args, d->args_bytes);
    l.bindings.buffer[d->buffers_n] = args;
    for (int a = 0; a < 3; a++) {
        l.groups[a] = (uint32_t)d->groups[a];
        l.group[a] = (uint32_t)d->group[a];
    }
    msl_run(&l);
    for (size_t i = 0; i < d->buffers_n; i++)
        if (!fence_stands(d->buffers[i]))
            return err_set(e, E_EXTERN, d->kernel->name, "writes behind the end of buffer %zu", i);
    return OK;
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static err_code run(gpu *g, const gpu_dispatch *d, size_t n, gpu_time *out, err *e) {
    double begin = now_s();
    for (size_t i = 0; i < n; i++)
        if (run_one((cpu_gpu *)g, &d[i], e)) return e->code;
    out->wall_s = now_s() - begin;
    out->gpu_s = out->wall_s; /* the clock of this device is the CPU's */
    return OK;
}

const gpu_backend GPU_CPU = {.name = "cpu",
                             .simulated = true,
                             .open = open_gpu,
                             .close = close_gpu,
                             .buffer_new = buffer_new,
                             .buffer_free = buffer_free,
                             .kernel_named = kernel_named,
                             .run = run};
