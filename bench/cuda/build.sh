#!/bin/sh
# kernels.metal as an object for NVIDIA GPUs. usage: build.sh NVCC BENCH_DIR OBJECT [FLAG]...
# ARCH: sm_90 unless set. What ptxas says of registers and spills: OBJECT.log
set -eu
nvcc=$1 bench=$2 object=$3
shift 3
{
    sed -f "$bench/cuda/rewrite.sed" "$bench/kernels.metal"
    echo '#include "cuda_kernels.h"'
    awk -f "$bench/thunks.awk" -f "$bench/cuda/thunks.awk" "$bench/kernels.metal" | sed -f "$bench/cuda/rewrite.sed"
} >"$object.cu"
# fast math as Metal has it by default
"$nvcc" -std=c++17 -O3 -arch="${ARCH:-sm_90}" --use_fast_math -lineinfo -Xptxas -v -Xcompiler -fPIC,-fno-exceptions,-fno-threadsafe-statics \
    -I "$bench/cuda" -I "$bench" "$@" -c "$object.cu" -o "$object" >"$object.log" 2>&1 || {
    cat "$object.log" >&2
    exit 1
}
grep -v 'ptxas info\|bytes stack frame\|^$' "$object.log" >&2 || true
