/* The backend "cuda": the kernels of kernels.metal as cuda/ compiles them. Built where
 * RATECAST_CUDA is asked for.
 *
 * A buffer is plain device memory with a mirror on the host. What the CPU may have changed goes to
 * the device before a run, outside its time; what a run may have changed comes back when the
 * contents are asked for. A list of dispatches is one graph, as an engine would have it, with an
 * event before and behind; the last graph is kept, for a measurement runs one list many times.
 * RATECAST_CUDA_GRAPHS=0 launches one by one. */
#include "gpu_backend.h"

#include "cuda/cuda_kernels.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KERNELS_MAX = 64, SIMD_WIDTH = 32, GRID_YZ_MAX = 65535 };

/* A dispatch as the device has it: no padding that two equal ones could differ in. */
typedef struct record {
    const void *run;
    void *buffers[GPU_BUFFERS_MAX];
    size_t buffers_n, group_memory_bytes;
    int64_t groups[3], group[3];
    unsigned char args[GPU_ARGS_MAX_BYTES];
} record;

typedef struct cuda_gpu {
    gpu base;
    char name[256];
    gpu_kernel kernels[KERNELS_MAX]; /* as CUDA_KERNELS */
    cudaStream_t stream;
    cudaEvent_t begin, end;
    bool graphs;
    cudaGraphExec_t graph; /* of the records; NULL: none yet */
    record *records;
    size_t records_n;
    cudaError_t lost; /* contents that could not be had; said by the next run */
} cuda_gpu;

typedef struct cuda_buffer {
    gpu_buffer base; /* contents: the mirror */
    void *memory;
    bool host_newer, device_newer;
} cuda_buffer;

static bool bad(cudaError_t c, const char *where, err *e) {
    if (c == cudaSuccess) return false;
    err_set(e, E_EXTERN, where, "%s (%s)", cudaGetErrorString(c), cudaGetErrorName(c));
    (void)cudaGetLastError(); /* or the next call would say it again */
    return true;
}

/* ---- the device ---- */

static void forget_graph(cuda_gpu *c) {
    if (c->graph) cudaGraphExecDestroy(c->graph);
    free(c->records);
    c->graph = NULL;
    c->records = NULL;
    c->records_n = 0;
}

static void close_gpu(gpu *g) {
    cuda_gpu *c = (cuda_gpu *)g;
    forget_graph(c);
    if (c->begin) cudaEventDestroy(c->begin);
    if (c->end) cudaEventDestroy(c->end);
    if (c->stream) cudaStreamDestroy(c->stream);
    free(c);
}

static err_code list_kernels(cuda_gpu *c, err *e) {
    for (size_t i = 0; i < KERNELS_MAX && CUDA_KERNELS[i].name; i++) {
        struct cudaFuncAttributes a;
        const char *name = CUDA_KERNELS[i].name;
        if (bad(cudaFuncGetAttributes(&a, CUDA_KERNELS[i].run), name, e)) return e->code;
        c->kernels[i] = (gpu_kernel){.name = name,
                                     .group_max = a.maxThreadsPerBlock,
                                     .group_memory_bytes = (int64_t)a.sharedSizeBytes};
    }
    return OK;
}

static err_code describe(cuda_gpu *c, err *e) {
    struct cudaDeviceProp p;
    size_t free_bytes = 0, all_bytes = 0;
    if (bad(cudaGetDeviceProperties(&p, 0), "cuda", e) ||
        bad(cudaMemGetInfo(&free_bytes, &all_bytes), "cuda", e))
        return e->code;
    if (p.warpSize != SIMD_WIDTH)
        return err_set(e, E_EXTERN, p.name,
                       "SIMD groups of %d threads: the kernels are written for %d", p.warpSize,
                       SIMD_WIDTH);
    snprintf(c->name, sizeof c->name, "%s", p.name);
    c->base.info = (gpu_info){.backend = "cuda",
                              .name = c->name,
                              .unified_memory = p.integrated,
                              .working_set_bytes = (int64_t)free_bytes,
                              .buffer_max_bytes = (int64_t)free_bytes,
                              .simd_width = SIMD_WIDTH,
                              .group_max_n = p.maxThreadsPerBlock,
                              .group_memory_max_bytes = (int64_t)p.sharedMemPerBlock};
    return OK;
}

static err_code open_device(cuda_gpu *c, err *e) {
    const char *graphs = getenv("RATECAST_CUDA_GRAPHS");
    int n = 0;
    cudaError_t found = cudaGetDeviceCount(&n);
    if (found == cudaErrorNoDevice || found == cudaErrorInsufficientDriver || (!found && n == 0)) {
        (void)cudaGetLastError();
        return err_set(e, E_EXTERN, "cuda", "no device, or no driver for it");
    }
    if (bad(found, "cuda", e) || bad(cudaSetDevice(0), "cuda", e) || describe(c, e) ||
        list_kernels(c, e) || bad(cudaStreamCreate(&c->stream), "cuda", e) ||
        bad(cudaEventCreate(&c->begin), "cuda", e) || bad(cudaEventCreate(&c->end), "cuda", e))
        return e->code;
    c->graphs = !graphs || strcmp(graphs, "0") != 0;
    return OK;
}

static err_code open_gpu(gpu **out, err *e) {
    cuda_gpu *c = calloc(1, sizeof *c);
    if (!c) return err_set(e, E_NOMEM, "cuda", "out of memory");
    c->base.backend = &GPU_CUDA;
    if (open_device(c, e)) {
        close_gpu(&c->base);
        return e->code;
    }
    *out = &c->base;
    return OK;
}

/* ---- buffers ---- */

static gpu_buffer *buffer_new(gpu *g, size_t bytes, err *e) {
    cuda_buffer *b = calloc(1, sizeof *b);
    void *mirror = calloc(1, bytes);
    cudaError_t c = cudaErrorMemoryAllocation;
    if (b && mirror) c = cudaMalloc(&b->memory, bytes);
    if (c == cudaSuccess) c = cudaMemset(b->memory, 0, bytes);
    if (c != cudaSuccess) {
        (void)cudaGetLastError();
        if (b && b->memory) cudaFree(b->memory);
        free(mirror);
        free(b);
        err_set(e, E_LIMIT, g->info.name, "no memory for a buffer of %zu bytes: %s", bytes,
                cudaGetErrorString(c));
        return NULL;
    }
    b->base = (gpu_buffer){.owner = g, .contents = mirror, .bytes = bytes};
    return &b->base;
}

static void buffer_free(gpu_buffer *base) {
    cuda_buffer *b = (cuda_buffer *)base;
    cudaFree(b->memory);
    free(base->contents);
    free(b);
}

static void *contents(gpu_buffer *base) {
    cuda_buffer *b = (cuda_buffer *)base;
    cuda_gpu *g = (cuda_gpu *)base->owner;
    if (b->device_newer) {
        cudaError_t c = cudaMemcpy(base->contents, b->memory, base->bytes, cudaMemcpyDeviceToHost);
        if (c != cudaSuccess) g->lost = c;
    }
    b->device_newer = false;
    b->host_newer = true;
    return base->contents;
}

/* ---- runs ---- */

static const gpu_kernel *kernel_named(gpu *g, const char *name, err *e) {
    cuda_gpu *c = (cuda_gpu *)g;
    for (size_t i = 0; i < KERNELS_MAX && c->kernels[i].name; i++)
        if (strcmp(c->kernels[i].name, name) == 0) return &c->kernels[i];
    err_set(e, E_EXTERN, name, "no such kernel");
    return NULL;
}

static err_code upload(const gpu_dispatch *d, err *e) {
    for (size_t i = 0; i < d->buffers_n; i++) {
        cuda_buffer *b = (cuda_buffer *)d->buffers[i];
        if (b->host_newer &&
            bad(cudaMemcpy(b->memory, b->base.contents, b->base.bytes, cudaMemcpyHostToDevice),
                d->kernel->name, e))
            return e->code;
        b->host_newer = false;
        b->device_newer = true;
    }
    return OK;
}

static err_code record_of(const cuda_gpu *c, const gpu_dispatch *d, record *r, err *e) {
    const cuda_kernel *k = &CUDA_KERNELS[d->kernel - c->kernels];
    if (k->params_n != d->buffers_n + (d->args_bytes > 0))
        return err_set(e, E_EXTERN, k->name, "takes %u parameters, found %zu buffers", k->params_n,
                       d->buffers_n);
    if (d->groups[0] > INT32_MAX || d->groups[1] > GRID_YZ_MAX || d->groups[2] > GRID_YZ_MAX)
        return err_set(e, E_EXTERN, k->name, "more groups than a grid can have");
    r->run = k->run;
    r->buffers_n = d->buffers_n;
    r->group_memory_bytes = d->group_memory_bytes;
    for (size_t i = 0; i < d->buffers_n; i++)
        r->buffers[i] = (char *)((cuda_buffer *)d->buffers[i])->memory + d->offsets[i];
    if (d->args_bytes) memcpy(r->args, d->args, d->args_bytes);
    memcpy(r->groups, d->groups, sizeof r->groups);
    memcpy(r->group, d->group, sizeof r->group);
    return OK;
}

static struct dim3 dim(const int64_t n[3]) {
    return (struct dim3){(unsigned)n[0], (unsigned)n[1], (unsigned)n[2]};
}

static cudaError_t launch(const cuda_gpu *c, record *records, size_t n) {
    for (size_t i = 0; i < n; i++) {
        record *r = &records[i];
        void *params[GPU_BUFFERS_MAX + 1];
        for (size_t k = 0; k < r->buffers_n; k++) params[k] = &r->buffers[k];
        params[r->buffers_n] = r->args;
        cudaError_t failed = cudaLaunchKernel(r->run, dim(r->groups), dim(r->group), params,
                                              r->group_memory_bytes, c->stream);
        if (failed != cudaSuccess) return failed;
    }
    return cudaSuccess;
}

/* The records between two events, captured. */
static cudaError_t capture(const cuda_gpu *c, record *records, size_t n, cudaGraph_t *out) {
    cudaError_t failed = cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeRelaxed);
    if (failed != cudaSuccess) return failed;
    failed = cudaEventRecordWithFlags(c->begin, c->stream, cudaEventRecordExternal);
    if (!failed) failed = launch(c, records, n);
    if (!failed) failed = cudaEventRecordWithFlags(c->end, c->stream, cudaEventRecordExternal);
    cudaError_t ended = cudaStreamEndCapture(c->stream, out);
    return failed ? failed : ended;
}

/* Takes the records over. */
static err_code make_graph(cuda_gpu *c, record *records, size_t n, err *e) {
    cudaGraph_t graph = NULL;
    forget_graph(c);
    c->records = records;
    c->records_n = n;
    if (bad(capture(c, records, n, &graph), "cuda: graph", e)) return e->code;
    bool failed = bad(cudaGraphInstantiate(&c->graph, graph, 0), "cuda: graph", e);
    cudaGraphDestroy(graph);
    if (failed || bad(cudaGraphUpload(c->graph, c->stream), "cuda: graph", e)) return e->code;
    (void)bad(cudaStreamSynchronize(c->stream), "cuda: graph", e);
    return e->code;
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cudaError_t submit(cuda_gpu *c, record *records, size_t n) {
    cudaError_t failed;
    if (c->graph) return cudaGraphLaunch(c->graph, c->stream);
    if ((failed = cudaEventRecord(c->begin, c->stream)) || (failed = launch(c, records, n)))
        return failed;
    return cudaEventRecord(c->end, c->stream);
}

static err_code run_records(cuda_gpu *c, record *records, size_t n, gpu_time *out, err *e) {
    const char *first = n == 1 ? "cuda: a dispatch" : "cuda: a list of dispatches";
    float ms = 0;
    double begin = now_s();
    if (bad(submit(c, records, n), first, e) || bad(cudaStreamSynchronize(c->stream), first, e))
        return e->code;
    out->wall_s = now_s() - begin;
    if (bad(cudaEventElapsedTime(&ms, c->begin, c->end), first, e)) return e->code;
    out->gpu_s = 1e-3 * (double)ms;
    return OK;
}

static err_code run(gpu *g, const gpu_dispatch *d, size_t n, gpu_time *out, err *e) {
    cuda_gpu *c = (cuda_gpu *)g;
    cudaError_t lost = c->lost;
    c->lost = cudaSuccess;
    if (bad(lost, "cuda: contents of a buffer", e)) return e->code;
    record *records = calloc(n ? n : 1, sizeof *records);
    if (!records) return err_set(e, E_NOMEM, "cuda", "out of memory");
    for (size_t i = 0; i < n && !e->code; i++)
        if (!record_of(c, &d[i], &records[i], e)) (void)upload(&d[i], e);
    bool kept =
        c->graph && c->records_n == n && memcmp(c->records, records, n * sizeof *records) == 0;
    if (e->code || kept || n < 2 || !c->graphs) {
        if (!kept) forget_graph(c);
        if (!e->code) (void)run_records(c, records, n, out, e);
        free(records);
        return e->code;
    }
    if (!make_graph(c, records, n, e)) (void)run_records(c, records, n, out, e);
    return e->code;
}

const gpu_backend GPU_CUDA = {.name = "cuda",
                              .open = open_gpu,
                              .close = close_gpu,
                              .buffer_new = buffer_new,
                              .buffer_free = buffer_free,
                              .contents = contents,
                              .kernel_named = kernel_named,
                              .run = run};
