#import "fake_metal.h"

#include <objc/runtime.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 64, GUARD = 0xC5, FRESH = 0xAA, CLASSES_MAX = 16 };

void fake_misuse(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fputs("fake metal: misuse: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}

bool fake_has_fault(const char *name) {
    const char *fault = getenv("FAKE_METAL_FAULT");
    return fault && strcmp(fault, name) == 0;
}

NSError *fake_error(NSString *text) {
    return [NSError errorWithDomain:@"FakeMetal"
                               code:1
                           userInfo:[NSDictionary dictionaryWithObject:text
                                                                forKey:NSLocalizedDescriptionKey]];
}

// ---- the census ----

static struct {
    Class class;
    long live_n;
} census[CLASSES_MAX];

static void print_census(void) {
    long live_n = 0;
    for (int i = 0; i < CLASSES_MAX; i++) live_n += census[i].live_n;
    fflush(stdout);
    fprintf(stderr, "live objects %ld", live_n);
    for (int i = 0; i < CLASSES_MAX; i++)
        if (census[i].live_n != 0)
            fprintf(stderr, ", %s %ld", class_getName(census[i].class), census[i].live_n);
    fputc('\n', stderr);
    if (live_n != 0) _Exit(97);
}

static void count(Class class, long change) {
    int i = 0;
    while (census[i].class && census[i].class != class) i++;
    if (i == 0 && !census[0].class) atexit(print_census);
    census[i].class = class;
    census[i].live_n += change;
}

/* What an object is after its last release: kept, so that a later message finds this class. */
@interface FakeReleased : FakeObject
@end

@implementation FakeReleased
- (id)retain {
    fake_misuse("%s used after its release (retain)", released_as);
}
- (oneway void)release {
    fake_misuse("%s used after its release (release)", released_as);
}
- (id)autorelease {
    fake_misuse("%s used after its release (autorelease)", released_as);
}
- (NSMethodSignature *)methodSignatureForSelector:(SEL)selector {
    fake_misuse("%s used after its release (%s)", released_as, sel_getName(selector));
}
@end

@implementation FakeObject
- (id)init {
    self = [super init];
    count([self class], 1);
    return self;
}
- (void)drop {
}
- (oneway void)release {
    if ([self retainCount] > 1) {
        [super release];
        return;
    }
    [self drop];
    count([self class], -1);
    released_as = class_getName([self class]);
    object_setClass(self, [FakeReleased class]);
}
@end

/* Any call of Metal may leave objects of its own to the autorelease pool; this one counts whether
 * there is a pool, and whether somebody empties it. */
@interface FakeTemporary : FakeObject
@end

@implementation FakeTemporary
@end

static void leave_temporary(void) {
    [[[FakeTemporary alloc] init] autorelease];
}

/* The names in the lines that begin with "kernel void ". */
static NSArray *names_in(NSString *source) {
    NSMutableArray *names = [NSMutableArray array];
    const char *head = "\nkernel void ";
    for (const char *at = [source UTF8String]; (at = strstr(at, head));) {
        at += strlen(head);
        NSUInteger length = strcspn(at, "( \n");
        [names addObject:[[[NSString alloc] initWithBytes:at
                                                   length:length
                                                 encoding:NSUTF8StringEncoding] autorelease]];
    }
    return names;
}

/* Attributes count wherever they stand between a kernel's name and its body; the kernels of the
 * product mark threadgroup memory by a macro. */
static fake_signature signature_of(NSString *name, NSString *source) {
    fake_signature s = {.kernel = fake_kernel_named([name UTF8String])};
    if (!s.kernel)
        fake_misuse("kernel %s is in the source, but not in the double", [name UTF8String]);
    const char *head = [[NSString stringWithFormat:@"\nkernel void %@(", name] UTF8String];
    const char *begin = strstr([source UTF8String], head);
    if (!begin) fake_misuse("kernel %s has no list of arguments", [name UTF8String]);
    const char *end = begin + strcspn(begin, "{");
    for (const char *at = begin; (at = strstr(at, "[[buffer(")) && at < end; at++)
        s.slots |= 1U << strtoul(at + strlen("[[buffer("), NULL, 10);
    const char *own = strstr(begin, "[[threadgroup(0)]]"),
               *macro = strstr(begin, "GROUP_MEMORY(0)");
    s.takes_group_memory = (own && own < end) || (macro && macro < end);
    return s;
}

// ---- device ----

id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
    if (fake_has_fault("no-device")) return nil;
    leave_temporary();
    return [[FakeDevice alloc] init];
}

@implementation FakeDevice
- (NSString *)name {
    leave_temporary();
    return @"Fake Metal (CPU)";
}
- (uint64_t)recommendedMaxWorkingSetSize {
    return (uint64_t)1 << 31;
}
- (BOOL)hasUnifiedMemory {
    return YES;
}
- (NSUInteger)maxBufferLength {
    return (NSUInteger)1 << 30;
}
- (NSUInteger)maxThreadgroupMemoryLength {
    return FAKE_GROUP_MEMORY_MAX;
}
- (id<MTLCommandQueue>)newCommandQueue {
    leave_temporary();
    if (fake_has_fault("no-queue")) return nil;
    FakeQueue *q = [[FakeQueue alloc] init];
    q->device = [self retain];
    q->committed = [[NSMutableArray alloc] init];
    return q;
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
    leave_temporary();
    if (length == 0) fake_misuse("a buffer of no bytes");
    if (options != MTLResourceStorageModeShared) fake_misuse("storage other than shared");
    if (length > [self maxBufferLength] || fake_has_fault("no-buffer")) return nil;
    FakeBuffer *b = [[FakeBuffer alloc] init];
    b->device = [self retain];
    b->length = length;
    b->bytes = aligned_alloc(4096, (length + GUARD_BYTES + 4095) / 4096 * 4096);
    if (!b->bytes) fake_misuse("this machine lacks memory for the double");
    memset(b->bytes, FRESH, length); /* zeros are promised nowhere */
    memset(b->bytes + length, GUARD, GUARD_BYTES);
    return b;
}
- (id<MTLLibrary>)newLibraryWithSource:(NSString *)source
                               options:(MTLCompileOptions *)options
                                 error:(NSError **)error {
    if (!source) fake_misuse("no source");
    if (options) fake_misuse("compile options, which the double does not know");
    NSString *wrong = nil;
    if (fake_has_fault("msl-error"))
        wrong = @"program_source:7:5: error: unknown type name 'flaot4'";
    else if ([source rangeOfString:@"\n#include \""].length > 0)
        wrong = @"program_source:1:10: error: a file of your own cannot be included";
    else if (fake_has_fault("msl-warning")) /* comes with a library all the same */
        *error = fake_error(@"program_source:9:9: warning: unused variable 'x'");
    if (wrong) {
        if (error) *error = fake_error(wrong);
        return nil;
    }
    FakeLibrary *library = [[FakeLibrary alloc] init];
    library->device = [self retain];
    library->text = [source copy];
    library->names = [names_in(source) retain];
    return library;
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                                             error:(NSError **)error {
    if (!function) fake_misuse("a pipeline of no function");
    if (fake_has_fault("pipeline-error")) {
        if (error) *error = fake_error(@"Compiler encountered an internal error");
        return nil;
    }
    FakePipeline *p = [[FakePipeline alloc] init];
    p->signature = ((FakeFunction *)function)->signature;
    return p;
}
@end

// ---- library, pipeline, buffer, queue ----

@implementation FakeLibrary
- (void)drop {
    leave_temporary();
    [names release];
    [text release];
    [device release];
}
- (NSArray *)functionNames {
    leave_temporary();
    return fake_has_fault("no-functions") ? [NSArray array] : names;
}
- (id<MTLFunction>)newFunctionWithName:(NSString *)name {
    leave_temporary();
    if (!name) fake_misuse("a function of no name");
    if (![names containsObject:name]) return nil;
    FakeFunction *f = [[FakeFunction alloc] init];
    f->signature = signature_of(name, text);
    return f;
}
@end

@implementation FakeFunction
@end

@implementation FakePipeline
- (NSUInteger)maxTotalThreadsPerThreadgroup {
    const char *max = getenv("FAKE_METAL_GROUP_MAX");
    return max ? (NSUInteger)strtoul(max, NULL, 10) : 1024;
}
- (NSUInteger)threadExecutionWidth {
    return fake_has_fault("simd-width") ? 16 : 32;
}
- (NSUInteger)staticThreadgroupMemoryLength {
    return 0;
}
@end

@implementation FakeBuffer
- (void *)contents {
    return bytes;
}
- (void)checkGuard {
    for (NSUInteger i = 0; i < GUARD_BYTES; i++)
        if (bytes[length + i] != GUARD) fake_misuse("byte %lu behind a buffer was written", i);
}
- (void)drop {
    leave_temporary();
    [self checkGuard];
    memset(bytes, FRESH, length);
    free(bytes);
    [device release];
}
@end

@implementation FakeQueue
- (id<MTLCommandBuffer>)commandBuffer {
    leave_temporary();
    if (fake_has_fault("no-commands")) return nil;
    FakeCommandBuffer *c = [[[FakeCommandBuffer alloc] init] autorelease];
    c->queue = [self retain];
    c->dispatches = [[NSMutableArray alloc] init];
    return c;
}
- (void)drop {
    [committed release];
    [device release];
}
@end
