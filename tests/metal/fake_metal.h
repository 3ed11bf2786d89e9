/* The double of Metal: the classes behind tests/metal/Metal/Metal.h. It does what the documentation
 * promises and no more; where that calls a use wrong, it aborts with a line on stderr. Its GPU is
 * the CPU and so is its clock.
 *
 * Environment: FAKE_METAL_FAULT names one failure to act out (no-device, no-queue, msl-error,
 * msl-warning, no-functions, pipeline-error, no-buffer, no-commands, no-encoder, gpu-error,
 * no-times, simd-width); FAKE_METAL_GROUP_MAX is the pipelines' maxTotalThreadsPerThreadgroup. */
#ifndef RATECAST_TESTS_FAKE_METAL_H
#define RATECAST_TESTS_FAKE_METAL_H

#import <Metal/Metal.h>

#include "fake_kernels.h"

#include <stdbool.h>

void fake_misuse(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
bool fake_has_fault(const char *name);
NSError *fake_error(NSString *text);

/* Counted while it lives; whoever messages it afterwards is told so by abort. The counts are
 * printed at exit, which fails when one is not zero. */
@interface FakeObject : NSObject {
    const char *released_as;
}
- (void)drop; /* lets go of what it holds */
@end

@interface FakeDevice : FakeObject <MTLDevice>
@end

/* What a kernel takes, by the attributes in its source. */
typedef struct fake_signature {
    const fake_kernel *kernel;
    unsigned slots;          /* bit i: it has an argument at buffer index i */
    bool takes_group_memory; /* it has an argument at threadgroup index 0 */
} fake_signature;

@interface FakeFunction : FakeObject <MTLFunction> {
  @public
    fake_signature signature;
}
@end

@interface FakePipeline : FakeObject <MTLComputePipelineState> {
  @public
    fake_signature signature;
}
@end

@interface FakeLibrary : FakeObject <MTLLibrary> {
  @public
    FakeDevice *device;
    NSString *text;
    NSArray *names;
}
@end

@interface FakeBuffer : FakeObject <MTLBuffer> {
  @public
    FakeDevice *device;
    unsigned char *bytes;
    NSUInteger length;
}
- (void)checkGuard; /* misuse when something wrote behind its end */
@end

@interface FakeQueue : FakeObject <MTLCommandQueue> {
  @public
    FakeDevice *device;
    NSMutableArray *committed; /* command buffers, in order, until they have run */
}
@end

@interface FakeCommandBuffer : FakeObject <MTLCommandBuffer> {
  @public
    FakeQueue *queue;
    NSMutableArray *dispatches;
    bool encoding;
    MTLCommandBufferStatus status;
    NSError *error;
    CFTimeInterval start_s, end_s;
}
@end

enum { FAKE_GROUP_MEMORY_MAX = 32768 };

#endif
