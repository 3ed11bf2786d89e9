/* Command buffers and encoders of the double. A committed command buffer runs when somebody waits
 * for it, not before: who does not wait finds nothing done. Until then its queue keeps it, which
 * the census shows. */
#import "fake_metal.h"

#include <string.h>
#include <time.h>

enum { SET_BYTES_MAX = 4096 };

/* What stands at one buffer index. */
typedef struct {
    FakeBuffer *buffer;
    NSUInteger offset;
    NSMutableData *bytes; /* of setBytes; then there is no buffer */
} slot;

@interface FakeDispatch : FakeObject {
  @public
    FakePipeline *pipeline;
    slot slots[FAKE_SLOTS];
    fake_launch launch;
}
- (void)run;
@end

@implementation FakeDispatch
- (void)run {
    for (int i = 0; i < FAKE_SLOTS; i++) {
        slot *s = &slots[i];
        launch.slots[i] = s->bytes    ? [s->bytes mutableBytes]
                          : s->buffer ? s->buffer->bytes + s->offset
                                      : NULL;
        launch.slot_bytes[i] = s->bytes    ? [s->bytes length]
                               : s->buffer ? s->buffer->length - s->offset
                                           : 0;
    }
    const fake_kernel *k = pipeline->signature.kernel;
    k->run(k, &launch);
    for (int i = 0; i < FAKE_SLOTS; i++) [slots[i].buffer checkGuard];
}
- (void)drop {
    for (int i = 0; i < FAKE_SLOTS; i++) {
        [slots[i].buffer release];
        [slots[i].bytes release];
    }
    [pipeline release];
}
@end

@interface FakeEncoder : FakeObject <MTLComputeCommandEncoder> {
  @public
    FakeCommandBuffer *commands;
    FakePipeline *pipeline;
    slot slots[FAKE_SLOTS];
    NSUInteger group_memory_bytes;
    bool ended;
}
@end

@implementation FakeEncoder
- (void)mustBeOpen:(const char *)method {
    if (ended) fake_misuse("%s after endEncoding", method);
}
- (slot *)slotAt:(NSUInteger)index {
    if (index >= FAKE_SLOTS) fake_misuse("buffer index %lu, 30 is the last", index);
    slot *s = &slots[index];
    [s->buffer release];
    [s->bytes release];
    *s = (slot){nil, 0, nil};
    return s;
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
    [self mustBeOpen:"setComputePipelineState"];
    if (!state) fake_misuse("no pipeline");
    [state retain];
    [pipeline release];
    pipeline = (FakePipeline *)state;
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
    [self mustBeOpen:"setBuffer"];
    FakeBuffer *b = [(FakeBuffer *)buffer retain];
    slot *s = [self slotAt:index];
    if (b && offset >= b->length) fake_misuse("offset %lu in a buffer of %lu", offset, b->length);
    if (offset % 4 != 0) fake_misuse("offset %lu is no multiple of 4", offset);
    *s = (slot){b, offset, nil};
}
- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
    [self mustBeOpen:"setBytes"];
    slot *s = [self slotAt:index];
    if (!bytes || length == 0 || length > SET_BYTES_MAX)
        fake_misuse("setBytes of %lu bytes, 1 to %d are taken", length, SET_BYTES_MAX);
    s->bytes = [[NSMutableData alloc] initWithBytes:bytes length:length];
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
    [self mustBeOpen:"setThreadgroupMemoryLength"];
    if (length % 16 != 0) fake_misuse("threadgroup memory of %lu bytes, no multiple of 16", length);
    if (length > FAKE_GROUP_MEMORY_MAX) fake_misuse("threadgroup memory of %lu bytes", length);
    if (index != 0) fake_misuse("threadgroup memory %lu, the double has 0 only", index);
    group_memory_bytes = length;
}
- (void)checkDispatch:(MTLSize)groups threads:(MTLSize)threads {
    [self mustBeOpen:"dispatchThreadgroups"];
    if (!pipeline) fake_misuse("dispatch without a pipeline");
    fake_signature takes = pipeline->signature;
    const fake_kernel *k = takes.kernel;
    if (groups.width * groups.height * groups.depth == 0) fake_misuse("%s: an empty grid", k->name);
    NSUInteger threads_n = threads.width * threads.height * threads.depth;
    if (threads_n == 0) fake_misuse("%s: an empty group", k->name);
    if (threads_n > [pipeline maxTotalThreadsPerThreadgroup])
        fake_misuse("%s: a group of %lu threads, over its pipeline's limit", k->name, threads_n);
    for (unsigned i = 0; i < FAKE_SLOTS; i++)
        if (takes.slots >> i & 1 && !slots[i].buffer && !slots[i].bytes)
            fake_misuse("%s: nothing is bound at buffer index %u", k->name, i);
    if (takes.takes_group_memory && group_memory_bytes == 0)
        fake_misuse("%s: its threadgroup memory has no length", k->name);
}
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads {
    [self checkDispatch:groups threads:threads];
    FakeDispatch *d = [[FakeDispatch alloc] init];
    d->pipeline = [pipeline retain];
    for (int i = 0; i < FAKE_SLOTS; i++) {
        d->slots[i] = slots[i];
        [slots[i].buffer retain];
        [slots[i].bytes retain];
    }
    d->launch = (fake_launch){
        .group_memory_bytes = group_memory_bytes,
        .groups = {groups.width, groups.height, groups.depth},
        .group = {threads.width, threads.height, threads.depth},
    };
    [commands->dispatches addObject:d];
    [d release];
}
- (void)endEncoding {
    [self mustBeOpen:"endEncoding"];
    ended = true;
    commands->encoding = false;
}
- (void)drop {
    if (!ended) fake_misuse("an encoder released before endEncoding");
    for (int i = 0; i < FAKE_SLOTS; i++) {
        [slots[i].buffer release];
        [slots[i].bytes release];
    }
    [pipeline release];
    [commands release];
}
@end

@implementation FakeCommandBuffer
- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
    if (status != MTLCommandBufferStatusNotEnqueued) fake_misuse("an encoder after commit");
    if (encoding) fake_misuse("a second encoder while one is open");
    if (fake_has_fault("no-encoder")) return nil;
    FakeEncoder *encoder = [[[FakeEncoder alloc] init] autorelease];
    encoder->commands = [self retain];
    encoding = true;
    return encoder;
}
- (void)commit {
    if (encoding) fake_misuse("commit with an open encoder");
    if (status != MTLCommandBufferStatusNotEnqueued) fake_misuse("a second commit");
    status = MTLCommandBufferStatusCommitted;
    [queue->committed addObject:self];
}
static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
- (void)complete {
    if (fake_has_fault("gpu-error")) {
        status = MTLCommandBufferStatusError;
        error = [fake_error(@"Caused GPU Timeout Error (00000002)") retain];
        return;
    }
    double began_s = now_s();
    for (NSUInteger i = 0; i < [dispatches count]; i++)
        [(FakeDispatch *)[dispatches objectAtIndex:i] run];
    if (!fake_has_fault("no-times")) {
        start_s = began_s;
        end_s = now_s();
    }
    status = MTLCommandBufferStatusCompleted;
}
- (bool)isCompleted {
    return status == MTLCommandBufferStatusCompleted || status == MTLCommandBufferStatusError;
}
- (void)waitUntilCompleted {
    if (status == MTLCommandBufferStatusNotEnqueued) fake_misuse("a wait before commit");
    while (![self isCompleted]) { /* a queue runs its command buffers in the order of commits */
        FakeCommandBuffer *first = [queue->committed objectAtIndex:0];
        [first complete];
        [first->dispatches removeAllObjects];
        [queue->committed removeObjectAtIndex:0];
    }
}
- (MTLCommandBufferStatus)status {
    return status;
}
- (NSError *)error {
    return error;
}
- (CFTimeInterval)GPUStartTime {
    if (![self isCompleted]) fake_misuse("GPUStartTime before completion");
    return start_s;
}
- (CFTimeInterval)GPUEndTime {
    if (![self isCompleted]) fake_misuse("GPUEndTime before completion");
    return end_s;
}
- (void)drop {
    [dispatches release];
    [error release];
    [queue release];
}
@end
