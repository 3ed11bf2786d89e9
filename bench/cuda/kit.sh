#!/bin/sh
# What goes to an NVIDIA machine that has nvcc and a driver, and neither this repository nor its libraries.
# usage: kit.sh BUILD KIT [BUILD_WITH_SHUFFLES]    builds with -DRATECAST_CUDA=ON; needs patchelf
set -eu
build=$1 kit=$2 shuffles=${3:-}
cd "$(dirname "$0")/../.."
rm -rf "$kit"
mkdir -p "$kit/libs" "$kit/objs" "$kit/bench" "$kit/model"
cp "$build/ratecast-bench" "$build/ratecast" bench/h200.sh bench/cuda/rebuild.sh "$kit/"
[ -z "$shuffles" ] || cp "$shuffles/ratecast-bench" "$kit/ratecast-bench-shuffles"
ldd "$kit"/ratecast* | awk '$3 ~ /^\// { print $3 }' | sort -u | grep -v '/lib\(c\|m\|dl\|pthread\|rt\)\.so' | while read -r lib; do
    cp -L "$lib" "$kit/libs/"
done
chmod u+w "$kit"/libs/*
# shellcheck disable=SC2016 # $ORIGIN is for the loader
for f in "$kit"/ratecast*; do patchelf --set-rpath '$ORIGIN/libs' "$f"; done
# shellcheck disable=SC2016
for f in "$kit"/libs/*; do patchelf --set-rpath '$ORIGIN' "$f"; done
strip -g "$kit"/ratecast*
# for rebuild.sh
cp bench/*.c bench/*.h bench/kernels.metal bench/thunks.awk "$kit/bench/"
cp -r bench/cuda "$kit/bench/"
(cd model && find . -name '*.h' | cpio -pdm --quiet "$kit/model" 2>/dev/null) || (cd model && find . -name '*.h' -exec cp --parents {} "$kit/model/" \;)
cp "$build/bench/libratecast_bench.a" "$build/libratecast.a" "$build"/bench/CMakeFiles/ratecast-bench.dir/*.o \
    "$build"/CMakeFiles/rc_cli.dir/model/cli/*.o "$kit/objs/"
du -sh "$kit"
