/* A GPU as the probe sees it: buffers, kernels by name, dispatches, and how long they took.
 *
 * One backend is compiled in for each of: Metal (gpu_metal.m), the CPU (gpu_cpu.c: the same
 * kernels, one fiber a GPU thread), CUDA (gpu_cuda.c, where it is built). All run the kernels of
 * kernels.metal; kernels.h says what each takes. One thread uses a gpu at a time. */
#ifndef RATECAST_BENCH_GPU_H
#define RATECAST_BENCH_GPU_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gpu gpu;
typedef struct gpu_buffer gpu_buffer;
typedef struct gpu_kernel gpu_kernel;

typedef struct gpu_info {
    const char *backend; /* "metal", "cpu", "cuda" */
    const char *name;    /* of the device */
    bool simulated;      /* no GPU: a card from it is refused unless that is forced */
    bool unified_memory;
    int64_t working_set_bytes, buffer_max_bytes;
    int64_t simd_width, group_max_n, group_memory_max_bytes;
} gpu_info;

/* `backend` NULL: the best that is compiled in and has a device, never a simulated one. E_USAGE: no
 * such backend; E_EXTERN: no device, kernels that do not compile, a SIMD width other than 32. Free
 * with gpu_close. */
MUST_USE err_code gpu_open(const char *backend, gpu **out, err *e);
void gpu_close(gpu *g);
const gpu_info *gpu_about(const gpu *g);
/* Names of the backends that are compiled in; NULL-terminated. */
const char *const *gpu_backends(void);

/* Memory of the GPU that the CPU can read and write, zeroed. NULL, E_LIMIT: it cannot be had. */
gpu_buffer *gpu_buffer_new(gpu *g, size_t bytes, err *e);
void gpu_buffer_free(gpu_buffer *b);
/* One address for the life of the buffer. Ask again after a run to see what it wrote, and to write
 * what the next one is to see: some devices have memory of their own. */
void *gpu_buffer_contents(gpu_buffer *b);
size_t gpu_buffer_bytes(const gpu_buffer *b);

/* Owned by `g`. NULL, E_EXTERN: no such kernel, or its pipeline cannot be made. */
const gpu_kernel *gpu_kernel_named(gpu *g, const char *name, err *e);
/* Threads that a group of this kernel may have at most. */
int64_t gpu_kernel_group_max(const gpu_kernel *k);

enum { GPU_BUFFERS_MAX = 8, GPU_ARGS_MAX_BYTES = 256 };

/* Buffers stand at indices 0..buffers_n - 1, the bytes of `args` at buffers_n. */
typedef struct gpu_dispatch {
    const gpu_kernel *kernel;
    gpu_buffer *buffers[GPU_BUFFERS_MAX];
    size_t offsets[GPU_BUFFERS_MAX]; /* bytes */
    size_t buffers_n;
    const void *args; /* copied */
    size_t args_bytes;
    size_t group_memory_bytes;   /* a multiple of 16; 0: none */
    int64_t groups[3], group[3]; /* thread groups, threads of a group */
} gpu_dispatch;

typedef struct gpu_time {
    double gpu_s;  /* by the device's own clock; NaN: it has none */
    double wall_s; /* submitted until complete */
} gpu_time;

/* Runs n dispatches in order, each after the one before, in one command buffer, and waits.
 * E_EXTERN: the device failed, or a dispatch that it could not run (nothing was run then). */
MUST_USE err_code gpu_run(gpu *g, const gpu_dispatch *d, size_t n, gpu_time *out, err *e);

#endif
