#!/bin/sh
# What no test on Linux can run: the build on a Mac. CMake is made to believe that it is on one, far enough to say how it
# would compile and link. A program without CoreGraphics is given no default device, and nothing but this would notice.
# REPO: the source folder.
# shellcheck source=tests/metal/support.sh
. "${REPO:?path of the repository}/tests/metal/support.sh"
command -v ninja >/dev/null || skip "no ninja"
clang=$(command -v "$METAL_CLANG")
is "CoreGraphics stands in the build file" grep -q '^ *target_link_libraries.*-framework CoreGraphics' "$REPO/bench/CMakeLists.txt"
cmake -S "$REPO" -B "$T/mac" -G Ninja -DBUILD_TESTING=OFF -DCMAKE_SYSTEM_NAME=Darwin -DCMAKE_INSTALL_NAME_TOOL=/bin/true \
    -DCMAKE_C_COMPILER="$clang" -DCMAKE_C_COMPILER_WORKS=1 -DCMAKE_OBJC_COMPILER="$clang" -DCMAKE_OBJC_COMPILER_WORKS=1 \
    >"$T/log" 2>&1 || { fail "CMake does not configure for a Mac" "$T/log"; totals; exit 1; }
ninja -C "$T/mac" -t commands ratecast-bench >"$T/commands" 2>"$T/log"
grep -e ' -o ratecast-bench ' "$T/commands" >"$T/links"
is "one link line" test "$(wc -l <"$T/links")" -eq 1
for framework in Foundation Metal CoreGraphics; do
    is "$framework is linked" grep -q -e "-framework $framework " "$T/links"
done
grep -e '-c [^ ]*gpu_metal\.m' "$T/commands" >"$T/compiles"
is "the host is compiled, once" test "$(wc -l <"$T/compiles")" -eq 1
is "it is Objective-C, of C11" grep -q -e '-x objective-c .*-std=c11' "$T/compiles"
is "without ARC" test "$(grep -c -e '-fobjc-arc' "$T/compiles")" -eq 0
is "the host is in the library" grep -q 'libratecast_bench\.a .*gpu_metal\.m\.o' "$T/commands"
is "gpu.c knows of it" grep -q -e '-DRATECAST_GPU_METAL .*-c [^ ]*/gpu\.c' "$T/commands"
is "the kernels' text is made" grep -q 'kernels_text\.cmake' "$T/commands"

# ---- the host under Apple's target and runtime, syntax only: other widths of types, nullability, generics ----

mkdir "$T/libc"
echo '#define NAN __builtin_nanf("")' >"$T/libc/math.h"
echo 'int snprintf(char *, unsigned long, const char *, ...) __attribute__((format(printf, 3, 4)));' >"$T/libc/stdio.h"
echo 'void *calloc(unsigned long, unsigned long); void free(void *);' >"$T/libc/stdlib.h"
echo 'int strcmp(const char *, const char *); void *memset(void *, int, unsigned long);' >"$T/libc/string.h"
cat >"$T/libc/time.h" <<'H'
struct timespec { long tv_sec, tv_nsec; };
enum { CLOCK_MONOTONIC = 6 };
int clock_gettime(int, struct timespec *);
H
for target in arm64-apple-macos13 x86_64-apple-macos13; do
    # shellcheck disable=SC2086 # a list of words is meant
    is "syntax for $target" "$METAL_CLANG" -target $target -fsyntax-only -ffreestanding -nostdlibinc $FLAGS \
        -D_DARWIN_C_SOURCE -isystem "$T/libc" -isystem "$REPO/tests/metal/apple" "$REPO/bench/gpu_metal.m"
done
# the guard of a file that counts by hand
# shellcheck disable=SC2086 # a list of words is meant
"$METAL_CLANG" -target arm64-apple-macos13 -fobjc-arc -fsyntax-only -ffreestanding -nostdlibinc $FLAGS -isystem "$T/libc" \
    -isystem "$REPO/tests/metal/apple" "$REPO/bench/gpu_metal.m" >"$T/out" 2>&1
is "ARC is refused" grep -q 'error: "gpu_metal.m counts its references by hand' "$T/out"
totals
