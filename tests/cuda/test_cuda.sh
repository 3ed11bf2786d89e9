#!/bin/sh
# The CUDA backend without a GPU: kernels.metal compiles for sm_90 and spills nothing; the host's side passes the
# self-test on a double of the CUDA runtime, with graphs and without. Skipped, aloud, where there is no nvcc.
# REPO: the source folder; CXX, CC.
# shellcheck disable=SC2317 # functions that `is` calls by name
set -u
: "${REPO:?path of the repository}"
NVCC=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$NVCC" ] || { echo "skipped: no nvcc"; exit 77; }
include=$(sh "$REPO/bench/cuda/root.sh" "$NVCC")/include
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
failures=0
is() { # NAME COMMAND...
    name=$1
    shift
    if "$@"; then echo "ok: $name"; else echo "FAILED: $name"; failures=$((failures + 1)); fi
}

for flag in -DNDEBUG -DRATECAST_CUDA_SHUFFLES; do
    is "nvcc $flag: no word" test -z "$(sh "$REPO/bench/cuda/build.sh" "$NVCC" "$REPO/bench" "$T/k.o" $flag 2>&1)"
    is "nvcc $flag: 17 kernels, nothing in local memory" test "$(grep -c ' 0 bytes stack frame, 0 bytes spill' "$T/k.o.log")" = 17
done
rm -f "$T/k.o"

# the toolkit's folder comes from the compiler: a script of its name elsewhere finds the same one
mkdir "$T/elsewhere"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(readlink -f "$NVCC")" >"$T/elsewhere/nvcc"
chmod +x "$T/elsewhere/nvcc"
is "headers found from a wrapper" test -f "$(sh "$REPO/bench/cuda/root.sh" "$T/elsewhere/nvcc")/include/cuda_runtime_api.h"

build() {
    sh "$REPO/bench/msl/build.sh" "${CXX:-c++}" "$REPO/bench" "$T/kernels_cpu.o" || return 1
    for source in bench/gpu.c bench/gpu_cuda.c bench/launch.c bench/reference.c bench/probe_test.c bench/msl/fibers.c \
        model/base/err.c model/base/arena.c tests/cuda/cudart_double.c tests/cuda/self_test.c; do
        table=CUDA_KERNELS_MADE
        case $source in *double*) table=CUDA_KERNELS_UNUSED ;; esac
        "${CC:-cc}" -std=gnu11 -O2 -w "-DCUDA_KERNELS=$table" -DRATECAST_GPU_CUDA -I "$REPO/bench" -I "$REPO/model" -isystem "$include" \
            -c "$REPO/$source" -o "$T/$(basename "$source").o" || return 1
    done
    "${CC:-cc}" "$T"/*.o -lm -o "$T/self_test"
}
is "the build on the double" build
export CUDART_DOUBLE_TELL=1
for graphs in 1 0; do
    is "self-test, graphs $graphs" env RATECAST_CUDA_GRAPHS=$graphs "$T/self_test" 2>"$T/err"
    cat "$T/err"
    is "  no memory left" grep -q 'blocks left: none' "$T/err"
done
exit $((failures > 0))
