/* The Metal backend. Nobody who wrote this had a Mac: it runs in the tests against a double of
 * Metal (tests/metal), so it keeps to what clang compiles with GNUstep's Foundation as well:
 * references counted by hand, no blocks, no literals of objects, methods instead of dots.
 *
 * It sends only the messages of tests/metal/selectors.tsv; a test holds it to that. */
#if __has_feature(objc_arc)
#error "gpu_metal.m counts its references by hand: compile it without ARC"
#endif

#include "gpu_backend.h"
#include "kernels_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

enum { SIMD_WIDTH = 32 }; /* what the kernels are written for, and every Apple GPU has */
/* By its name, so that the tests run this very file: a card from the double must say so. */
static const char DOUBLE_NAME[] = "Fake Metal (CPU)";
_Static_assert(GPU_ARGS_MAX_BYTES <= 4096, "setBytes takes 4 KiB at most");
_Static_assert(GPU_BUFFERS_MAX < 31, "31 buffer slots, one is of the arguments");

typedef struct metal_kernel metal_kernel;

typedef struct metal_gpu {
    gpu base;
    metal_kernel *kernels; /* made so far */
    id<MTLDevice> device;
    id<MTLCommandQueue> queue;
    id<MTLLibrary> library;
    char name[128];
} metal_gpu;

typedef struct metal_buffer {
    gpu_buffer base;
    id<MTLBuffer> buffer;
} metal_buffer;

struct metal_kernel {
    gpu_kernel base;
    metal_kernel *next;
    id<MTLComputePipelineState> pipeline;
    char name[64];
};

/* Every function of the backend has an autorelease pool of its own: its caller is C and has none.
 *
 * The text lives as long as the autorelease pool around it. */
static const char *reason(NSError *error) {
    const char *text = [[error localizedDescription] UTF8String];
    return text ? text : "Metal gave no reason";
}

static void metal_close(gpu *g) {
    metal_gpu *m = (metal_gpu *)g;
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    for (metal_kernel *k = m->kernels, *next; k; k = next) {
        next = k->next;
        [k->pipeline release];
        free(k);
    }
    [m->library release];
    [m->queue release];
    [m->device release];
    [pool release];
    free(m);
}

/* A library may come with an error that is a warning: only its absence tells. */
static err_code open_library(metal_gpu *m, err *e) {
    NSError *error = nil;
    NSString *text = [NSString stringWithUTF8String:KERNELS_TEXT];
    m->library = [m->device newLibraryWithSource:text options:nil error:&error];
    if (!m->library)
        return err_set(e, E_EXTERN, "metal", "the kernels do not compile: %s", reason(error));
    return OK;
}

static id<MTLComputePipelineState> pipeline_new(metal_gpu *m, const char *name, err *e) {
    id<MTLFunction> function =
        [m->library newFunctionWithName:[NSString stringWithUTF8String:name]];
    if (!function) {
        err_set(e, E_EXTERN, name, "no such kernel");
        return nil;
    }
    NSError *error = nil;
    id<MTLComputePipelineState> pipeline = [m->device newComputePipelineStateWithFunction:function
                                                                                    error:&error];
    [function release];
    if (!pipeline) {
        err_set(e, E_EXTERN, name, "no pipeline: %s", reason(error));
        return nil;
    }
    unsigned long width = [pipeline threadExecutionWidth];
    if (width != SIMD_WIDTH) {
        err_set(e, E_EXTERN, name, "SIMD groups of %lu threads: the kernels are written for %d",
                width, SIMD_WIDTH);
        [pipeline release];
        return nil;
    }
    return pipeline;
}

/* Only a pipeline knows its limits, so those of the device are those of the first kernel. */
static err_code read_limits(metal_gpu *m, err *e) {
    NSArray *names = [m->library functionNames];
    if ([names count] == 0) return err_set(e, E_EXTERN, "metal", "the library has no kernel");
    NSString *first = [names objectAtIndex:0];
    id<MTLComputePipelineState> pipeline = pipeline_new(m, [first UTF8String], e);
    if (!pipeline) return e->code;
    m->base.info.group_max_n = (int64_t)[pipeline maxTotalThreadsPerThreadgroup];
    [pipeline release];
    return OK;
}

static void describe(metal_gpu *m) {
    const char *name = [[m->device name] UTF8String];
    snprintf(m->name, sizeof m->name, "%s", name ? name : "");
    m->base.info = (gpu_info){
        .backend = "metal",
        .name = m->name,
        .simulated = strcmp(m->name, DOUBLE_NAME) == 0,
        .unified_memory = [m->device hasUnifiedMemory],
        .working_set_bytes = (int64_t)[m->device recommendedMaxWorkingSetSize],
        .buffer_max_bytes = (int64_t)[m->device maxBufferLength],
        .simd_width = SIMD_WIDTH,
        .group_memory_max_bytes = (int64_t)[m->device maxThreadgroupMemoryLength],
    };
}

static err_code open_device(metal_gpu *m, err *e) {
    m->device = MTLCreateSystemDefaultDevice();
    if (!m->device)
        return err_set(e, E_EXTERN, "metal",
                       "no device (a virtual machine, or a program without CoreGraphics?)");
    describe(m);
    m->queue = [m->device newCommandQueue];
    if (!m->queue) return err_set(e, E_EXTERN, "metal", "no command queue");
    if (open_library(m, e) != OK) return e->code;
    return read_limits(m, e);
}

static err_code metal_open(gpu **out, err *e) {
    metal_gpu *m = calloc(1, sizeof *m);
    if (!m) return err_set(e, E_NOMEM, "metal", "out of memory");
    m->base.backend = &GPU_METAL;
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    err_code code = open_device(m, e);
    if (code == OK)
        *out = &m->base;
    else
        metal_close(&m->base);
    [pool release];
    return code;
}

static gpu_buffer *metal_buffer_new(gpu *g, size_t bytes, err *e) {
    metal_gpu *m = (metal_gpu *)g;
    metal_buffer *b = calloc(1, sizeof *b);
    if (!b) {
        err_set(e, E_NOMEM, "metal", "out of memory");
        return NULL;
    }
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    b->buffer = [m->device newBufferWithLength:bytes options:MTLResourceStorageModeShared];
    [pool release];
    if (!b->buffer) {
        err_set(e, E_LIMIT, "metal", "no buffer of %zu bytes", bytes);
        free(b);
        return NULL;
    }
    b->base = (gpu_buffer){.owner = g, .contents = [b->buffer contents], .bytes = bytes};
    memset(b->base.contents, 0, bytes); /* nobody promises zeros; and every page is touched once */
    return &b->base;
}

static void metal_buffer_free(gpu_buffer *b) {
    metal_buffer *mb = (metal_buffer *)b;
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    [mb->buffer release];
    [pool release];
    free(mb);
}

static metal_kernel *kernel_new(metal_gpu *m, const char *name, err *e) {
    metal_kernel *k = calloc(1, sizeof *k);
    if (!k) {
        err_set(e, E_NOMEM, "metal", "out of memory");
        return NULL;
    }
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    k->pipeline = pipeline_new(m, name, e);
    [pool release];
    if (!k->pipeline) {
        free(k);
        return NULL;
    }
    snprintf(k->name, sizeof k->name, "%s", name);
    k->base = (gpu_kernel){
        .name = k->name,
        .group_max = (int64_t)[k->pipeline maxTotalThreadsPerThreadgroup],
        .group_memory_bytes = (int64_t)[k->pipeline staticThreadgroupMemoryLength],
    };
    k->next = m->kernels;
    m->kernels = k;
    return k;
}

static const gpu_kernel *metal_kernel_named(gpu *g, const char *name, err *e) {
    metal_gpu *m = (metal_gpu *)g;
    metal_kernel *k = m->kernels;
    while (k && strcmp(k->name, name) != 0) k = k->next;
    if (!k) k = kernel_new(m, name, e);
    return k ? &k->base : NULL;
}

static MTLSize size_of(const int64_t n[3]) {
    return (MTLSize){(NSUInteger)n[0], (NSUInteger)n[1], (NSUInteger)n[2]};
}

static void encode(id<MTLComputeCommandEncoder> encoder, const gpu_dispatch *d) {
    [encoder setComputePipelineState:((const metal_kernel *)d->kernel)->pipeline];
    for (size_t i = 0; i < d->buffers_n; i++)
        [encoder setBuffer:((metal_buffer *)d->buffers[i])->buffer offset:d->offsets[i] atIndex:i];
    if (d->args_bytes > 0) [encoder setBytes:d->args length:d->args_bytes atIndex:d->buffers_n];
    if (d->group_memory_bytes > 0)
        [encoder setThreadgroupMemoryLength:d->group_memory_bytes atIndex:0];
    [encoder dispatchThreadgroups:size_of(d->groups) threadsPerThreadgroup:size_of(d->group)];
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Both times are 0 where the driver took none. */
static double gpu_seconds(id<MTLCommandBuffer> commands) {
    double start_s = [commands GPUStartTime], end_s = [commands GPUEndTime];
    return start_s > 0 && end_s >= start_s ? end_s - start_s : (double)NAN;
}

/* One encoder: its dispatches run in order, each sees what those before it wrote. */
static err_code run_commands(metal_gpu *m, const gpu_dispatch *d, size_t n, gpu_time *out, err *e) {
    id<MTLCommandBuffer> commands = [m->queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    if (!encoder) return err_set(e, E_EXTERN, "metal", "no command buffer or encoder");
    for (size_t i = 0; i < n; i++) encode(encoder, &d[i]);
    [encoder endEncoding];
    double submitted_s = now_s();
    [commands commit];
    [commands waitUntilCompleted];
    double wall_s = now_s() - submitted_s;
    if ([commands status] != MTLCommandBufferStatusCompleted)
        return err_set(e, E_EXTERN, d[0].kernel->name, "the device failed: %s",
                       reason([commands error]));
    *out = (gpu_time){.gpu_s = gpu_seconds(commands), .wall_s = wall_s};
    return OK;
}

static err_code metal_run(gpu *g, const gpu_dispatch *d, size_t n, gpu_time *out, err *e) {
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    err_code code = run_commands((metal_gpu *)g, d, n, out, e);
    [pool release];
    return code;
}

const gpu_backend GPU_METAL = {
    .name = "metal",
    .open = metal_open,
    .close = metal_close,
    .buffer_new = metal_buffer_new,
    .buffer_free = metal_buffer_free,
    .kernel_named = metal_kernel_named,
    .run = metal_run,
};
