#!/bin/sh
# `ratecast-bench probe` as it would be on a Mac, on the double of Metal: the program's own objects, with the Metal backend.
# REPO: the source folder; PROGRAM: objects of ratecast-bench and its archives; RATECAST: the program that reads its card.
# shellcheck source=tests/metal/support.sh
. "${REPO:?path of the repository}/tests/metal/support.sh"
: "${RATECAST:?path of the program}"
[ -n "${PROGRAM:-}" ] || skip "objects of a build with a sanitizer or counters do not link here"

build() {
    for source in fake_metal.m fake_commands.m msl_kernels.c; do
        compile "$REPO/tests/metal/$source" "$T/${source%.*}.o" -O2 || return 1
    done
    compile "$REPO/bench/gpu.c" "$T/gpu.o" -DRATECAST_GPU_METAL -DRATECAST_GPU_CPU &&
        compile "$REPO/bench/gpu_metal.m" "$T/gpu_metal.o" || return 1
    # shellcheck disable=SC2086 # a list of words is meant
    link "$T/bench" "$T/gpu.o" "$T/gpu_metal.o" "$T/fake_metal.o" "$T/fake_commands.o" "$T/msl_kernels.o" $PROGRAM
}
build || { fail "the build"; totals; exit 1; }
cd "$T" || exit 1
RATECAST_RATES=$REPO/rates
export RATECAST_RATES

probe() { # EXIT_CODE OPTION...
    want=$1
    shift
    ./bench probe "$@" >out 2>err
    code=$?
    is "probe $*: exit $want" test $code -eq "$want"
    grep -q '^fake metal' err && fail "probe $*" err
    is "probe $*: live objects 0" grep -qx "live objects 0" err
}
probe 0 --list
is "list: the double is called simulated" grep -q '^- metal: Fake Metal (CPU), .*simulated' out
probe 0 --self-test --backend metal
is "self-test: on the double" grep -q 'Fake Metal (CPU)' out
probe 0 --tiny --backend metal --force -o card.json
is "card: of a simulated device" grep -q '"simulated_device": true' card.json
is "card: of this backend" grep -q 'Fake Metal (CPU)' card.json
is "card: can be read" "$RATECAST" check card.json
"$RATECAST" project --card ./card.json -K 2 -H 2 -P 256 >out 2>err
code=$?
is "card: a projection on it is refused" test $code -eq 2
FAKE_METAL_FAULT=gpu-error probe 4 --tiny --backend metal -o none.json
is "gpu-error: says so" grep -q 'the device failed: Caused GPU Timeout Error' err
is "gpu-error: no card" test ! -e none.json
totals
