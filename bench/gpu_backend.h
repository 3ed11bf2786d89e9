/* What a backend of gpu.h gives: gpu.c chooses one, keeps its kernels and checks every dispatch
 * before it gets there. Its own structs begin with these. */
#ifndef RATECAST_BENCH_GPU_BACKEND_H
#define RATECAST_BENCH_GPU_BACKEND_H

#include "gpu.h"

typedef struct gpu_backend gpu_backend;

struct gpu {
    const gpu_backend *backend;
    gpu_kernel *kernels; /* made so far; gpu.c's */
    gpu_info info;
};

struct gpu_buffer {
    gpu *owner;
    void *contents;
    size_t bytes;
};

struct gpu_kernel {
    gpu_kernel *next;
    char name[64];
    int64_t group_memory_bytes; /* that it declares itself */
    int64_t group_max_n;
};

struct gpu_backend {
    const char *name;
    err_code (*open)(gpu **out, err *e);
    void (*close)(gpu *g); /* no kernels are left */
    /* bytes > 0, within info.buffer_max_bytes; zeroed */
    gpu_buffer *(*buffer_new)(gpu *g, size_t bytes, err *e);
    void (*buffer_free)(gpu_buffer *b);
    gpu_kernel *(*kernel_new)(gpu *g, const char *name, err *e);
    void (*kernel_free)(gpu_kernel *k);
    /* n > 0 dispatches that gpu.c has checked */
    err_code (*run)(gpu *g, const gpu_dispatch *d, size_t n, gpu_time *out, err *e);
};

extern const gpu_backend GPU_METAL;

#endif
