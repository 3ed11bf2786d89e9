#include "gpu_backend.h"

#include <string.h>

static const gpu_backend *const BACKENDS[] = {
#ifdef RATECAST_GPU_METAL
    &GPU_METAL,
#endif
#ifdef RATECAST_GPU_CUDA
    &GPU_CUDA,
#endif
#ifdef RATECAST_GPU_CPU
    &GPU_CPU,
#endif
    NULL};

const char *const *gpu_backends(void) {
    static const char *const NAMES[] = {
#ifdef RATECAST_GPU_METAL
        "metal",
#endif
#ifdef RATECAST_GPU_CUDA
        "cuda",
#endif
#ifdef RATECAST_GPU_CPU
        "cpu",
#endif
        NULL};
    return NAMES;
}

/* The first that is no simulation: a card made of one has to be asked for. */
static err_code open_best(gpu **out, err *e) {
    err first = {0}; /* what the first that failed said, where none opens */
    for (size_t i = 0; BACKENDS[i]; i++) {
        err failed = {0};
        if (BACKENDS[i]->simulated) continue;
        if (BACKENDS[i]->open(out, &failed) == OK) return OK;
        err_set(&first, failed.code, failed.where, "%s", failed.what);
    }
    if (first.code) return err_set(e, first.code, first.where, "%s", first.what);
    return err_set(e, E_EXTERN, "probe", "no GPU that this build can drive (Metal on a Mac)%s",
                   gpu_backends()[0] ? "; --backend cpu runs the kernels on the CPU, which tests "
                                       "them and measures nothing"
                                     : "");
}

err_code gpu_open(const char *backend, gpu **out, err *e) {
    *out = NULL;
    if (!backend) return open_best(out, e);
    for (size_t i = 0; BACKENDS[i]; i++)
        if (strcmp(BACKENDS[i]->name, backend) == 0) return BACKENDS[i]->open(out, e);
    return err_set(e, E_USAGE, "--backend",
                   "\"%s\" is not compiled in; --list names those that are", backend);
}

void gpu_close(gpu *g) {
    if (g) g->backend->close(g);
}

const gpu_info *gpu_about(const gpu *g) {
    return &g->info;
}

gpu_buffer *gpu_buffer_new(gpu *g, size_t bytes, err *e) {
    if (bytes == 0 || (int64_t)bytes > g->info.buffer_max_bytes) {
        err_set(e, E_LIMIT, g->info.name, "a buffer of %zu bytes, expected 1 to %lld", bytes,
                (long long)g->info.buffer_max_bytes);
        return NULL;
    }
    return g->backend->buffer_new(g, bytes, e);
}

void gpu_buffer_free(gpu_buffer *b) {
    if (b) b->owner->backend->buffer_free(b);
}

void *gpu_buffer_contents(gpu_buffer *b) {
    return b->owner->backend->contents ? b->owner->backend->contents(b) : b->contents;
}

size_t gpu_buffer_bytes(const gpu_buffer *b) {
    return b->bytes;
}

const gpu_kernel *gpu_kernel_named(gpu *g, const char *name, err *e) {
    return g->backend->kernel_named(g, name, e);
}

int64_t gpu_kernel_group_max(const gpu_kernel *k) {
    return k->group_max;
}

static bool too_many_threads(const gpu_dispatch *d) {
    int64_t left = d->kernel->group_max; /* divided, for a product could overflow */
    for (int a = 0; a < 3; a++) left /= d->group[a];
    return left < 1;
}

/* What a GPU would not refuse but do wrong. */
static const char *wrong_with(const gpu *g, const gpu_dispatch *d) {
    if (!d->kernel) return "no kernel";
    for (int a = 0; a < 3; a++)
        if (d->groups[a] < 1 || d->group[a] < 1) return "an empty grid";
    if (too_many_threads(d)) return "more threads in a group than the kernel can have";
    if (d->buffers_n > GPU_BUFFERS_MAX || d->args_bytes > GPU_ARGS_MAX_BYTES)
        return "too many buffers, or arguments too long";
    for (size_t i = 0; i < d->buffers_n; i++)
        if (!d->buffers[i] || d->offsets[i] >= d->buffers[i]->bytes || d->offsets[i] % 4)
            return "a buffer that is not there, or an offset behind its end or between its words";
    if (d->group_memory_bytes % 16 ||
        (int64_t)d->group_memory_bytes >
            g->info.group_memory_max_bytes - d->kernel->group_memory_bytes)
        return "threadgroup memory that is no multiple of 16 bytes, or too large";
    return NULL;
}

err_code gpu_run(gpu *g, const gpu_dispatch *d, size_t n, gpu_time *out, err *e) {
    for (size_t i = 0; i < n; i++) {
        const char *wrong = wrong_with(g, &d[i]);
        if (wrong)
            return err_set(e, E_EXTERN, d[i].kernel ? d[i].kernel->name : "dispatch", "%s", wrong);
    }
    return g->backend->run(g, d, n, out, e);
}
