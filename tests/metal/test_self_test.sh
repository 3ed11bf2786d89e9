#!/bin/sh
# The probe's own kernels and self-test through bench/gpu_metal.m on the double, which runs kernels.metal on the CPU.
# REPO: the source folder; CXX: a C++ compiler (default c++). The seed is the order that the threads run in.
# shellcheck source=tests/metal/support.sh
. "${REPO:?path of the repository}/tests/metal/support.sh"
CXX=${CXX:-c++}
command -v "$CXX" >/dev/null || skip "no C++ compiler"

build() {
    cmake -DIN="$REPO/bench/kernels.metal" -DHEADER="$REPO/bench/kernels.h" -DOUT="$T/kernels_text.c" \
        -P "$REPO/bench/kernels_text.cmake" || return 1
    sh "$REPO/bench/msl/build.sh" "$CXX" "$REPO/bench" "$T/kernels_cpu.o" || return 1
    for source in bench/gpu.c bench/gpu_metal.m bench/launch.c bench/reference.c bench/probe_test.c bench/msl/fibers.c \
        model/base/err.c model/base/arena.c tests/metal/fake_metal.m tests/metal/fake_commands.m \
        tests/metal/msl_kernels.c tests/metal/self_test.c; do
        object=${source##*/}
        compile "$REPO/$source" "$T/${object%.*}.o" -DRATECAST_GPU_METAL -O2 -Wno-error || return 1
    done
    compile "$T/kernels_text.c" "$T/kernels_text.o" || return 1
    rm -f "$T/hello.o"
    link "$T/self_test" "$T"/*.o
}
build || { fail "the build"; totals; exit 1; }

"$T/self_test" >"$T/out" 2>"$T/err"
code=$?
cat "$T/out" # its line of totals counts
is "self-test: exit 0" test $code -eq 0
[ $code -eq 0 ] || cat "$T/err"
is "self-test: live objects 0" grep -qx "live objects 0" "$T/err"
kernels=$(grep -c '^kernel void ' "$REPO/bench/kernels.metal")
is "self-test: all $kernels kernels" test "$(grep -c ' cases, error ' "$T/out")" -eq "$kernels"
# the text in the program is kernels.metal with kernels.h in its place
"$T/self_test" text 2>"$T/err" | grep -v '^$' >"$T/text"
sed -e '/^#include "kernels.h"$/{' -e "r $REPO/bench/kernels.h" -e d -e '}' "$REPO/bench/kernels.metal" | grep -v '^$' >"$T/want"
is "kernels_text" diff "$T/want" "$T/text"
totals
