#!/bin/sh
# `ratecast-bench roofline` from the outside: its card is one that `ratecast` takes, and says of itself what it is.
# RATECAST, RATECAST_BENCH: the programs, REPO: the source folder.
[ -n "${RATECAST_BENCH:-}" ] || exit 77
case $RATECAST_BENCH in /*) ;; *) RATECAST_BENCH=$PWD/$RATECAST_BENCH ;; esac
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"

roofline() {
    "$RATECAST_BENCH" roofline "$@" >out 2>err </dev/null
    code=$?
}

not() { ! "$@"; }

sizes() { # CHIP OPTIONS...: a 7B in Q8_0, without the table of shapes
    chip=$1
    shift
    roofline --chip "$chip" --model-name tiny --quant q8_0 --params 7615616512 --weights-bytes 8092571648 --layers 28 \
        --heads 28 --kv-heads 4 --head-dim 128 "$@"
}

# ---- the card ----

sizes "Apple M4 Pro (20-core GPU)" -o card.json
is "card: exit 0" test $code -eq 0
is "card: silent stdout" test ! -s out
is "card: says that nothing was measured" grep -q 'every point is ROOFLINE' err
is "card: named after its file" grep -q '"id": "card"' card.json
is "card: check accepts it" "$RATECAST" check card.json
is "card: the spread of the fit is in it" grep -q 'chips left out of the fit' card.json
run project --card ./card.json -K 4 -H 3 -P 1024
is "card: a projection runs" test $code -eq 0
is "card: its banner is ROOFLINE" grep -q 'ROOFLINE PROJECTION' out
is "card: so is the wall-clock" grep -q '^| wall-clock  *| s .*ROOFLINE' out
"$RATECAST" audit card.json >out 2>err
is "audit: no physics against it" not grep -q 'FAIL' out
for chip in "NVIDIA H200 SXM" "NVIDIA RTX 4090" "NVIDIA L40S" "Apple M1 (8-core GPU)" "Apple M3 Ultra (80-core GPU)"; do
    sizes "$chip" -o other.json
    is "$chip: exit 0" test $code -eq 0
    "$RATECAST" audit other.json >out 2>err
    is "$chip: no physics against it" not grep -q 'FAIL' out
done
sizes "Apple M4 Pro (20-core GPU)"
is "stdout: a card" grep -q '"method": "roofline"' out
roofline --chip "Apple M4 Pro (20-core GPU)" --shape qwen2.5-7b --quant q8_0 -o shape.json
is "shape: exit 0" test $code -eq 0
is "shape: check accepts it" "$RATECAST" check shape.json

# ---- one sequence, no prefill; assumptions ----

sizes "Apple M5 Max (40-core GPU)" -o m5.json
is "M5: exit 0" test $code -eq 0
is "M5: says what is missing" grep -q 'no prefill' err
sizes "Apple M5 Max (40-core GPU)" --tflops 60 -o m5.json
is "M5 with a declared peak: ASSUMED" grep -q 'every point is ASSUMED' err
is "M5 with a declared peak: check accepts it" "$RATECAST" check m5.json
sizes "AMD Instinct MI300X" --efficiency 0.4 -o amd.json
is "efficiency: ASSUMED" grep -q '"provenance": "assumed"' amd.json
is "efficiency: check accepts it" "$RATECAST" check amd.json

# ---- refusals ----

sizes "AMD Instinct MI300X"
refused "no fit" "do not carry over" "--efficiency"
sizes "Apple M99"
refused "no chip" "no single chip"
sizes "M4 Pro"
refused "two sizes of one chip" "no single chip" "Apple M4 Pro (16-core GPU)" "Apple M4 Pro (20-core GPU)"
sizes "NVIDIA H100"
refused "two chips of one name" "NVIDIA H100 SXM 80GB" "NVIDIA H100 PCIe 80GB"
roofline --shape qwen2.5-7b --quant q8_0
refused "no chip given" "--chip"
roofline --chip "Apple M4 (10-core GPU)" --shape qwen2.5-7b
refused "no quant" "--quant"
roofline --chip "Apple M4 (10-core GPU)" --shape qwen2.5-7b --quant q8_0 --layers 3
refused "shape and sizes" "exclude each other"
roofline --chip "Apple M4 (10-core GPU)" --params 7
refused "sizes missing" "needed without --shape"
sizes "Apple M4 (10-core GPU)" --efficiency 2
refused "efficiency above 1" "at most 1"
sizes "Apple M4 (10-core GPU)" -o "$REPO/bench/roofline_points.json"
refused "not over its input" "is an input"

# ---- what stands behind it ----

roofline --check
is "check: exit 0" test $code -eq 0
is "check: 79 Apple rows" test "$(grep -c '^| Apple' out)" -eq 79
is "check: a summary of each family" test "$(grep -c '^- decode step, ' out)" -eq 2
roofline --check --json
is "check: JSON" grep -q '"schema": "ratecast.roofline-check/1"' out
is "check: as many points" test "$(grep -c 'discussions/4167' out)" -eq 79
roofline --list
is "list: chips without a fit say so" grep -q 'MI300X.*none' out
roofline --list --json
is "list: JSON" grep -q '"bandwidth_efficiency"' out

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
