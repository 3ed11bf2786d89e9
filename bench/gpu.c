#include "gpu_backend.h"

#include <stdio.h>
#include <string.h>

/* The best first. */
static const gpu_backend *const BACKENDS[] = {
#ifdef RATECAST_GPU_METAL
    &GPU_METAL,
#endif
    NULL};

const char *const *gpu_backends(void) {
    static const char *const NAMES[] = {
#ifdef RATECAST_GPU_METAL
        "metal",
#endif
        NULL};
    return NAMES;
}

static bool is_compiled_in(const char *name) {
    for (const gpu_backend *const *b = BACKENDS; *b; b++)
        if (strcmp((*b)->name, name) == 0) return true;
    return false;
}

err_code gpu_open(const char *backend, gpu **out, err *e) {
    *out = NULL;
    if (backend && !is_compiled_in(backend))
        return err_set(e, E_USAGE, backend, "no such GPU backend in this build");
    err why = {0};
    for (const gpu_backend *const *b = BACKENDS; *b && !*out; b++) {
        if (backend && strcmp((*b)->name, backend) != 0) continue;
        err here = {0};
        /* of several that failed, the first would have been the best: its error is the answer */
        if ((*b)->open(out, &here) != OK && why.code == OK) why = here;
    }
    if (*out) return OK;
    if (why.code == OK) return err_set(e, E_EXTERN, "gpu", "this build has no GPU backend");
    return err_set(e, why.code, why.where, "%s", why.what);
}

void gpu_close(gpu *g) {
    if (!g) return;
    for (gpu_kernel *k = g->kernels, *next; k; k = next) {
        next = k->next;
        g->backend->kernel_free(k);
    }
    g->kernels = NULL;
    g->backend->close(g);
}

const gpu_info *gpu_about(const gpu *g) {
    return &g->info;
}

gpu_buffer *gpu_buffer_new(gpu *g, size_t bytes, err *e) {
    if (bytes == 0 || bytes > (size_t)g->info.buffer_max_bytes) {
        err_set(e, E_LIMIT, "buffer", "of %zu bytes: must be 1 to %lld", bytes,
                (long long)g->info.buffer_max_bytes);
        return NULL;
    }
    return g->backend->buffer_new(g, bytes, e);
}

void gpu_buffer_free(gpu_buffer *b) {
    if (b) b->owner->backend->buffer_free(b);
}

void *gpu_buffer_contents(gpu_buffer *b) {
    return b->contents;
}

size_t gpu_buffer_bytes(const gpu_buffer *b) {
    return b->bytes;
}

const gpu_kernel *gpu_kernel_named(gpu *g, const char *name, err *e) {
    for (const gpu_kernel *k = g->kernels; k; k = k->next)
        if (strcmp(k->name, name) == 0) return k;
    gpu_kernel *k = g->backend->kernel_new(g, name, e);
    if (!k) return NULL;
    snprintf(k->name, sizeof k->name, "%s", name);
    k->next = g->kernels;
    g->kernels = k;
    return k;
}

int64_t gpu_kernel_group_max(const gpu_kernel *k) {
    return k->group_max_n;
}

/* What a device would answer with a crash, or with silence, is an error here. */
static err_code check_sizes(const gpu_info *about, const gpu_dispatch *d, err *e) {
    const char *name = d->kernel->name;
    int64_t threads_n = 1;
    for (size_t i = 0; i < 3; i++) {
        if (d->groups[i] < 1 || d->group[i] < 1 || d->groups[i] > INT32_MAX ||
            d->group[i] > INT32_MAX)
            return err_set(e, E_LIMIT, name, "%lld groups of %lld threads in dimension %zu",
                           (long long)d->groups[i], (long long)d->group[i], i);
        threads_n *= d->group[i];
        if (threads_n > d->kernel->group_max_n)
            return err_set(e, E_LIMIT, name,
                           "a group of %lld threads, this device takes %lld of it",
                           (long long)threads_n, (long long)d->kernel->group_max_n);
    }
    if (d->group_memory_bytes % 16 != 0)
        return err_set(e, E_RANGE, name, "group memory of %zu bytes, must be a multiple of 16",
                       d->group_memory_bytes);
    int64_t memory_bytes = d->kernel->group_memory_bytes + (int64_t)d->group_memory_bytes;
    if (memory_bytes > about->group_memory_max_bytes)
        return err_set(e, E_LIMIT, name, "group memory of %lld bytes, this device has %lld",
                       (long long)memory_bytes, (long long)about->group_memory_max_bytes);
    return OK;
}

static err_code check_dispatch(const gpu *g, const gpu_dispatch *d, err *e) {
    const char *name = d->kernel->name;
    if (check_sizes(&g->info, d, e) != OK) return e->code;
    if (d->args_bytes > GPU_ARGS_MAX_BYTES)
        return err_set(e, E_RANGE, name, "%zu bytes of arguments, must be %d at most",
                       d->args_bytes, (int)GPU_ARGS_MAX_BYTES);
    if (d->buffers_n > GPU_BUFFERS_MAX)
        return err_set(e, E_RANGE, name, "%zu buffers, must be %d at most", d->buffers_n,
                       (int)GPU_BUFFERS_MAX);
    for (size_t i = 0; i < d->buffers_n; i++)
        if (!d->buffers[i] || d->offsets[i] >= d->buffers[i]->bytes || d->offsets[i] % 4 != 0)
            return err_set(e, E_RANGE, name, "buffer %zu is absent, or its offset is off", i);
    return OK;
}

err_code gpu_run(gpu *g, const gpu_dispatch *d, size_t n, gpu_time *out, err *e) {
    if (n == 0) return err_set(e, E_RANGE, "gpu", "nothing to run");
    for (size_t i = 0; i < n; i++)
        if (check_dispatch(g, &d[i], e) != OK) return e->code;
    return g->backend->run(g, d, n, out, e);
}
