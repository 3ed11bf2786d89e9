#!/bin/sh
# `ratecast-bench probe` from the outside, on the simulated GPU: the self-test, and a card that `ratecast` takes only when told
# to. RATECAST, RATECAST_BENCH: the programs, REPO: the source folder.
# shellcheck disable=SC2016 # of awk and of the stand-in
[ -n "${RATECAST_BENCH:-}" ] || exit 77
case $RATECAST_BENCH in /*) ;; *) RATECAST_BENCH=$PWD/$RATECAST_BENCH ;; esac
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"

probe() {
    "$RATECAST_BENCH" probe "$@" >out 2>err </dev/null
    code=$?
}

done_here() {
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
    exit
}

# ---- without a device ----

probe --list
is "list: exit 0" test $code -eq 0
is "list: shapes" grep -q 'qwen2.5-7b: 7.5 GiB in q8_0' out
probe --dry-run --shape qwen2.5-7b
is "dry run: exit 0" test $code -eq 0
is "dry run: micro-batches" grep -q '^- micro-batches of so many tokens: 16 .* 512' out
is "dry run: samples" grep -q 'then 15 samples' out
probe --shape qwen2.5-7 --dry-run
is "shape: nearest named" grep -q 'nearest is "qwen2.5-7b"' err
probe --quant q4_k_m --dry-run
is "quant: no kernels" grep -q 'kernels for q8_0 and q4_0, not for q4_k_m' err
is "quant: exit 2" test $code -eq 2
probe --soak 0 --dry-run
is "soak: minutes above 0" grep -q 'expected minutes above 0' err
probe --self-test --dry-run
is "modes exclude each other" test $code -eq 2
probe --backend none --self-test
is "backend: no such" grep -q '"none" is not compiled in' err

# ---- the simulated GPU ----

"$RATECAST_BENCH" probe --list >out
if ! grep -q '^- cpu:' out; then
    echo "SKIP probe: built without the CPU backend (no C++ compiler)"
    done_here
fi
if ! grep -Eq '^- (metal|cuda): .*working set' out; then
    probe --tiny
    is "cpu is never taken unasked" grep -q 'no GPU that this build can drive' err
    is "cpu is never taken unasked: exit 4" test $code -eq 4
fi
for seed in 1 2 3; do
    RATECAST_PROBE_SEED=$seed
    export RATECAST_PROBE_SEED
    probe --backend cpu --self-test
    is "self-test, seed $seed: exit 0" test $code -eq 0
    is "self-test, seed $seed: passed" grep -q '^self-test: passed, 17 kernels' out
done
probe --self-test
is "self-test: without a GPU the kernels run on the CPU" grep -q '^self-test: passed, 17 kernels' out
probe --backend cpu --self-test --json
is "self-test: JSON" grep -q '"passed": true' out
probe --backend cpu --shape qwen2.5-32b
is "memory: refused with both sizes" grep -Eq 'GiB, this device has 0.8 GiB' err

probe --backend cpu --tiny --force -o sim.json
is "tiny: exit 0" test $code -eq 0
is "tiny: banner" grep -q '^\[SIMULATED DEVICE\]' out
is "tiny: gemv in the table" grep -q '^| gemv_q8_0_c1 .*B = 1' out
is "card: says it is simulated" grep -q '"simulated_device": true' sim.json
is "card: no measured class" grep -q '"provenance": "modeled"' sim.json
is "card: a kernel probe by title" grep -q '"title": ".*kernel probe (SIMULATED DEVICE)"' sim.json
is "card: check reads it" "$RATECAST" check sim.json
run project --card ./sim.json -K 2 -H 2 -P 16 --delta-in 8 --turn-out 8
is "project refuses it" test $code -eq 2
is "project says why" grep -q 'simulated device (simulated GPU (CPU)): its times are those of the simulation' err
is "project says how" grep -q -e '--allow-simulated-device' err
run project --card ./sim.json -K 2 -H 2 -P 16 --delta-in 8 --turn-out 8 --allow-simulated-device
is "allowed: exit 0" test $code -eq 0
is "allowed: second line" sh -c 'sed -n 2p out | grep -q "^\[SIMULATED DEVICE\]"'
is "allowed: a note in each arm" grep -q 'was timed on a simulated device, which was allowed' out
run project --card ./sim.json -K 2 -H 2 -P 16 --delta-in 8 --turn-out 8 --allow-simulated-device --json
is "allowed: JSON says so" grep -q '"simulated_device": true' out
run project --card ./sim.json -K 2 -H 2 -P 16 --delta-in 8 --turn-out 8 --allow-simulated-device --csv
is "allowed: CSV says so, of each time" awk -F, 'NR == 1 { is = $NF == "simulated device" } $1 == "wall-clock" { is = is && $NF == "shared; per-slot; naive" } END { exit !is }' out
is "allowed: CSV, tokens are counted, not timed" awk -F, '$1 == "output tokens" { is = $NF == "" } END { exit !is }' out
mkdir fake
gnuplot_is 'cp "$4" seen.tsv; echo picture >"$5"'
usual_path=$PATH
for kind in plot timeline-plot; do
    PATH=$T/fake:$PATH
    run project --card ./sim.json -K 2 -H 2 -P 16 --delta-in 8 --turn-out 8 --allow-simulated-device --$kind sim.svg
    PATH=$usual_path
    is "allowed: --$kind has it in its first line" sh -c 'head -1 seen.tsv | grep -q "^# \[MODELED PROJECTION, SIMULATED DEVICE\] "'
done
run project --card ./sim.json -K 2 -H 2 -P 16 --delta-in 8 --turn-out 8 --allow-simulated-device --trace-events trace.json
is "allowed: so has a trace" grep -q '"what":"\[MODELED PROJECTION, SIMULATED DEVICE\]' trace.json
PATH=$T/fake:$PATH
run show ./sim.json --plot sim.svg
PATH=$usual_path
is "show: its picture says so" sh -c 'head -1 seen.tsv | grep -q "SIMULATED DEVICE\]$"'
run fit ./sim.json
is "fit refuses it" test $code -eq 2
run validate "$REPO/calib/witnessed" --card ./sim.json
is "validate refuses it" grep -q 'simulated device' err
probe --backend cpu --tiny --json --quant q4_0
is "JSON: every sample" sh -c 'grep -c samples_s out | grep -qx "[1-9][0-9]*"'
is "JSON: schema" grep -q '"schema": "ratecast.probe/1"' out
done_here
