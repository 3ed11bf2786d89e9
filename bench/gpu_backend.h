/* What a backend gives to gpu.c: the functions of gpu.h, and the structs that they share. A backend
 * puts each of these structs first in its own. */
#ifndef RATECAST_BENCH_GPU_BACKEND_H
#define RATECAST_BENCH_GPU_BACKEND_H

#include "gpu.h"

typedef struct gpu_backend {
    const char *name;
    bool simulated; /* only taken when it is asked for by name */
    err_code (*open)(gpu **out, err *e);
    void (*close)(gpu *g);
    gpu_buffer *(*buffer_new)(gpu *g, size_t bytes, err *e);
    void (*buffer_free)(gpu_buffer *b);
    void *(*contents)(gpu_buffer *b); /* NULL: contents below, all the time */
    const gpu_kernel *(*kernel_named)(gpu *g, const char *name, err *e);
    /* Called with dispatches that gpu_run has checked. */
    err_code (*run)(gpu *g, const gpu_dispatch *d, size_t n, gpu_time *out, err *e);
} gpu_backend;

struct gpu {
    const gpu_backend *backend;
    gpu_info info;
};

struct gpu_buffer {
    gpu *owner;
    void *contents;
    size_t bytes;
};

struct gpu_kernel {
    const char *name;
    int64_t group_max;
    int64_t group_memory_bytes; /* that it takes besides a dispatch's */
};

/* Compiled in where RATECAST_GPU_METAL, RATECAST_GPU_CUDA, RATECAST_GPU_CPU is defined. */
extern const gpu_backend GPU_METAL, GPU_CUDA, GPU_CPU;

#endif
