/* The double of Metal, used wrong on purpose: one misuse a run, named by the argument; the double
 * has to abort. With "none" the same set-up is used right, so that no misuse passes for want of
 * anything else. */
#import <Metal/Metal.h>

#include <stdio.h>
#include <string.h>

typedef struct {
    id<MTLDevice> device;
    id<MTLCommandQueue> queue;
    id<MTLBuffer> buffer;
    id<MTLComputePipelineState> add, sum;
    id<MTLCommandBuffer> commands;
    id<MTLComputeCommandEncoder> encoder;
} setup;

static const MTLSize ONE = {1, 1, 1};
static const unsigned ARGS[2048] = {0, 1};

/* Only the attributes count: the double runs tiny_kernels.c. */
static NSString *const SOURCE =
    @"\nkernel void tiny_add(device uint *out [[buffer(0)]], constant uint *args [[buffer(1)]]) {}"
    @"\nkernel void tiny_group_sum(device uint *out [[buffer(0)]], device uint *in [[buffer(1)]],"
    @" threadgroup uint *memory [[threadgroup(0)]]) {}\n";

static id<MTLComputePipelineState> pipeline(id<MTLDevice> device, id<MTLLibrary> library,
                                            NSString *name) {
    id<MTLFunction> function = [library newFunctionWithName:name];
    id<MTLComputePipelineState> p = [device newComputePipelineStateWithFunction:function
                                                                          error:NULL];
    [function release];
    return p;
}

static setup set_up(void) {
    setup s = {.device = MTLCreateSystemDefaultDevice()};
    s.queue = [s.device newCommandQueue];
    s.buffer = [s.device newBufferWithLength:64 options:MTLResourceStorageModeShared];
    id<MTLLibrary> library = [s.device newLibraryWithSource:SOURCE options:nil error:NULL];
    s.add = pipeline(s.device, library, @"tiny_add");
    s.sum = pipeline(s.device, library, @"tiny_group_sum");
    [library release];
    s.commands = [s.queue commandBuffer];
    s.encoder = [s.commands computeCommandEncoder];
    [s.encoder setComputePipelineState:s.add];
    [s.encoder setBuffer:s.buffer offset:0 atIndex:0];
    [s.encoder setBytes:ARGS length:8 atIndex:1];
    return s;
}

static void finish(setup *s) {
    [s->encoder dispatchThreadgroups:ONE threadsPerThreadgroup:ONE];
    [s->encoder endEncoding];
    [s->commands commit];
    [s->commands waitUntilCompleted];
}

static void tear_down(setup *s) {
    [s->add release];
    [s->sum release];
    [s->buffer release];
    [s->queue release];
    [s->device release];
}

static void misuse_of_encoder(setup *s, const char *name) {
    MTLSize none = {0, 1, 1}, many = {1025, 1, 1};
    id<MTLComputeCommandEncoder> encoder = s->encoder;
    if (strcmp(name, "unbound-buffer") == 0) [encoder setBuffer:nil offset:0 atIndex:0];
    if (strcmp(name, "empty-grid") == 0)
        [encoder dispatchThreadgroups:none threadsPerThreadgroup:ONE];
    if (strcmp(name, "empty-group") == 0)
        [encoder dispatchThreadgroups:ONE threadsPerThreadgroup:none];
    if (strcmp(name, "large-group") == 0)
        [encoder dispatchThreadgroups:ONE threadsPerThreadgroup:many];
    if (strcmp(name, "long-bytes") == 0) [encoder setBytes:ARGS length:4100 atIndex:1];
    if (strcmp(name, "no-bytes") == 0) [encoder setBytes:ARGS length:0 atIndex:1];
    if (strcmp(name, "buffer-index") == 0) [encoder setBuffer:s->buffer offset:0 atIndex:31];
    if (strcmp(name, "buffer-offset") == 0) [encoder setBuffer:s->buffer offset:64 atIndex:0];
    if (strcmp(name, "odd-offset") == 0) [encoder setBuffer:s->buffer offset:6 atIndex:0];
    if (strcmp(name, "odd-group-memory") == 0) [encoder setThreadgroupMemoryLength:24 atIndex:0];
    if (strcmp(name, "large-group-memory") == 0)
        [encoder setThreadgroupMemoryLength:32784 atIndex:0];
    if (strcmp(name, "no-group-memory") == 0) [encoder setComputePipelineState:s->sum];
    if (strcmp(name, "open-encoder") == 0) [s->commands commit];
    if (strcmp(name, "second-encoder") == 0) [s->commands computeCommandEncoder];
    if (strcmp(name, "wait-before-commit") == 0) [s->commands waitUntilCompleted];
    if (strcmp(name, "early-time") == 0) (void)[s->commands GPUStartTime];
    if (strcmp(name, "early-end-time") == 0) (void)[s->commands GPUEndTime];
    if (strcmp(name, "no-pipeline") == 0) {
        [encoder endEncoding];
        s->encoder = [s->commands computeCommandEncoder];
    }
    if (strcmp(name, "encode-after-end") == 0) {
        [encoder endEncoding];
        [encoder setBytes:ARGS length:8 atIndex:1];
    }
    if (strcmp(name, "end-twice") == 0) {
        [encoder endEncoding];
        [encoder endEncoding];
    }
}

static void misuse_of_commands(setup *s, const char *name) {
    if (strcmp(name, "dispatch-after-commit") == 0)
        [s->encoder dispatchThreadgroups:ONE threadsPerThreadgroup:ONE];
    if (strcmp(name, "encoder-after-commit") == 0) [s->commands computeCommandEncoder];
    if (strcmp(name, "commit-twice") == 0) [s->commands commit];
}

static void misuse_of_objects(setup *s, const char *name, NSAutoreleasePool *pool) {
    if (strcmp(name, "buffer-of-nothing") == 0)
        [s->device newBufferWithLength:0 options:MTLResourceStorageModeShared];
    if (strcmp(name, "release-twice") == 0) {
        [s->add release];
        [s->add release];
    }
    if (strcmp(name, "use-after-release") == 0) {
        [s->buffer release];
        printf("%p\n", [s->buffer contents]);
    }
    if (strcmp(name, "use-after-pool") == 0) {
        [pool release];
        [s->commands status];
    }
}

/* An encoder that nobody ends is noticed when the pool lets go of it. */
static int forget_encoder(void) {
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    set_up();
    [pool release];
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    if (strcmp(argv[1], "forgotten-encoder") == 0) return forget_encoder();
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    setup s = set_up();
    misuse_of_encoder(&s, argv[1]);
    finish(&s);
    misuse_of_commands(&s, argv[1]);
    misuse_of_objects(&s, argv[1], pool);
    tear_down(&s);
    [pool release];
    return 0;
}
