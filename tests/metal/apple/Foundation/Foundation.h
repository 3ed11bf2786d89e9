/* The part of Apple's Foundation that bench/gpu_metal.m uses, as its documentation describes it:
 * with nullability and generics, which GNUstep's headers lack. Only for a look at the syntax under
 * Apple's target; nothing implements it. */
#ifndef RATECAST_TESTS_APPLE_FOUNDATION_H
#define RATECAST_TESTS_APPLE_FOUNDATION_H

#include <stdbool.h>
#include <stdint.h>

#define nil ((id)0)
typedef unsigned long NSUInteger;
#ifdef __arm64__
typedef bool BOOL;
#else
typedef signed char BOOL;
#endif

#pragma clang assume_nonnull begin

@protocol NSObject
- (instancetype)retain;
- (oneway void)release;
- (instancetype)autorelease;
@end

__attribute__((objc_root_class))
@interface NSObject<NSObject>
+ (instancetype)alloc;
- (instancetype)init;
@end

@interface NSString : NSObject
+ (nullable instancetype)stringWithUTF8String:(const char *)text;
- (nullable const char *)UTF8String;
@end

@interface NSArray<__covariant ObjectType> : NSObject
- (NSUInteger)count;
- (ObjectType)objectAtIndex:(NSUInteger)index;
@end

@interface NSError : NSObject
- (NSString *)localizedDescription;
@end

@interface NSAutoreleasePool : NSObject
@end

#pragma clang assume_nonnull end

#endif
