#!/bin/sh
# kernels.metal as an object for the CPU. usage: build.sh CXX BENCH_DIR OBJECT
set -eu
thunks=$(dirname "$3")/thunks.inc
awk -f "$2/thunks.awk" -f "$2/msl/thunks.awk" "$2/kernels.metal" >"$thunks"
# attributes of Metal and pragmas mean nothing here
exec "$1" -std=c++17 -O2 -Wall -Wextra -Wno-attributes -Wno-unknown-attributes -Wno-unknown-pragmas -ffp-contract=off \
    -fno-strict-aliasing -fno-exceptions -fno-rtti -fPIC -I "$2/msl" -I "$2" -I "$(dirname "$3")" \
    -c "$2/msl/kernels_cpu.cpp" -o "$3"
