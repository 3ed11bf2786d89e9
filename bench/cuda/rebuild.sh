#!/bin/sh
# In the kit that kit.sh makes, on a machine with nvcc and no libraries: the kernels and gpu_cuda.c, probe*.c, launch.c,
# measure.c anew, linked with the kit's objects. usage: rebuild.sh [FLAG_OF_NVCC]...; result: ratecast-bench-new beside it.
set -eu
kit=$(cd "$(dirname "$0")" && pwd)
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
root=$(sh "$kit/bench/cuda/root.sh" "$nvcc")
work=$(mktemp -d)
sh "$kit/bench/cuda/build.sh" "$nvcc" "$kit/bench" "$work/kernels_cuda.o" "$@"
cd "$work"
for f in gpu_cuda gpu probe probe_test probe_pass launch measure; do
    "${CC:-gcc}" -std=c11 -O3 -DNDEBUG -D_POSIX_C_SOURCE=200809L -DRATECAST_GPU_CUDA -DRATECAST_GPU_CPU -I "$kit/bench" -I "$kit/model" \
        -isystem "$root/include" -c "$kit/bench/$f.c" -o "$f.c.o"
done
cp "$kit/objs/libratecast_bench.a" .
chmod u+w libratecast_bench.a
ar r libratecast_bench.a kernels_cuda.o ./*.c.o
cudart=$(find "$root/" -name libcudart_static.a | head -n 1)
"${CC:-gcc}" "$kit"/objs/*.o libratecast_bench.a "$kit/objs/libratecast.a" "$kit"/libs/*.so.* -lm "$cudart" -ldl -lrt -lpthread \
    -Wl,-rpath,"\$ORIGIN/libs" -Wl,--allow-shlib-undefined -o "$kit/ratecast-bench-new"
cp kernels_cuda.o.log "$kit/kernels_cuda.log"
"$kit/ratecast-bench-new" --version
