/* The part of Apple's Metal that bench/gpu_metal.m uses, for Foundation of GNUstep: protocols
 * written from what the API's documentation says of these methods, none more.
 * tests/metal/selectors.tsv is the reviewed table of them; a test compares the two. fake_metal.m
 * implements them. */
#ifndef RATECAST_TESTS_METAL_H
#define RATECAST_TESTS_METAL_H

#import <Foundation/Foundation.h>

@class MTLCompileOptions;
@protocol MTLBuffer
, MTLCommandQueue, MTLCommandBuffer, MTLComputeCommandEncoder;
@protocol MTLComputePipelineState
, MTLFunction, MTLLibrary;

typedef double CFTimeInterval; /* of CoreFoundation; GNUstep has none */

typedef struct {
    NSUInteger width, height, depth;
} MTLSize;

typedef enum : NSUInteger {
    MTLResourceStorageModeShared = 0,
} MTLResourceOptions;

typedef enum : NSUInteger {
    MTLCommandBufferStatusNotEnqueued = 0,
    MTLCommandBufferStatusEnqueued = 1,
    MTLCommandBufferStatusCommitted = 2,
    MTLCommandBufferStatusScheduled = 3,
    MTLCommandBufferStatusCompleted = 4,
    MTLCommandBufferStatusError = 5,
} MTLCommandBufferStatus;

@protocol MTLDevice <NSObject>
- (NSString *)name;
- (uint64_t)recommendedMaxWorkingSetSize;
- (BOOL)hasUnifiedMemory;
- (NSUInteger)maxBufferLength;
- (NSUInteger)maxThreadgroupMemoryLength;
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLLibrary>)newLibraryWithSource:(NSString *)source
                               options:(MTLCompileOptions *)options
                                 error:(NSError **)error;
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                                             error:(NSError **)error;
@end

@protocol MTLLibrary <NSObject>
- (id<MTLFunction>)newFunctionWithName:(NSString *)name;
- (NSArray *)functionNames;
@end

@protocol MTLFunction <NSObject>
@end

@protocol MTLComputePipelineState <NSObject>
- (NSUInteger)maxTotalThreadsPerThreadgroup;
- (NSUInteger)threadExecutionWidth;
- (NSUInteger)staticThreadgroupMemoryLength;
@end

@protocol MTLBuffer <NSObject>
- (void *)contents;
@end

@protocol MTLCommandQueue <NSObject>
- (id<MTLCommandBuffer>)commandBuffer;
@end

@protocol MTLCommandBuffer <NSObject>
- (id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (void)commit;
- (void)waitUntilCompleted;
- (MTLCommandBufferStatus)status;
- (NSError *)error;
- (CFTimeInterval)GPUStartTime;
- (CFTimeInterval)GPUEndTime;
@end

@protocol MTLComputeCommandEncoder <NSObject>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads;
- (void)endEncoding;
@end

id<MTLDevice> MTLCreateSystemDefaultDevice(void); /* its caller owns it */

#endif
