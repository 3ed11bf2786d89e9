#!/bin/bash
# What is run once on an NVIDIA machine: the probe's self-test, its measurements, and the self-test under compute-sanitizer.
#   h200.sh [RATECAST_BENCH]     default: beside this script. Everything it leaves: under $OUT (default ./out)
# BYTES_S: the datasheet's bandwidth (H200: 4.8e12). MINUTES: of all (6). SHAPE, QUANT: of the measurements.
# Exit 1 when something failed; summary.txt says what.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bench=${1:-$here/ratecast-bench} out=${OUT:-$PWD/out} bytes_s=${BYTES_S:-4.8e12} minutes=${MINUTES:-6}
shape=${SHAPE:-qwen2.5-7b} quant=${QUANT:-q8_0}
mkdir -p "$out"
summary=$out/summary.txt failed=0
: >"$summary"

left() { # of so many seconds, those that may still be had
    local l=$((minutes * 60 - SECONDS))
    echo $((l < $1 ? (l > 1 ? l : 1) : $1))
}
say() { printf '%4d s  %s\n' "$SECONDS" "$*" | tee -a "$summary"; }
stamp() { while IFS= read -r line; do printf '%4d  %s\n' "$SECONDS" "$line"; done; }
step() { # NAME SECONDS COMMAND...: standard output in NAME.txt, the rest in NAME.log
    local name=$1 limit rc
    limit=$(left "$2")
    shift 2
    timeout -k 5 "$limit" "$@" 2> >(stamp >"$out/$name.log") >"$out/$name.txt"
    rc=$?
    if [ $rc = 0 ]; then say "$name: passed"; else
        failed=1
        say "$name: FAILED, exit $rc (limit $limit s)"
        sleep 0.2
        tail -n 5 "$out/$name.log" "$out/$name.txt"
    fi
    return $rc
}
smi() { nvidia-smi --query-gpu=name,driver_version,memory.used,clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_throttle_reasons.active --format=csv 2>&1; }

smi | tee "$out/smi-before.txt"
step list 30 "$bench" probe --list
cat "$out/list.txt"
step self-test 60 "$bench" probe --self-test --backend cuda
graphs_failed=$?
step self-test-no-graphs 60 env RATECAST_CUDA_GRAPHS=0 "$bench" probe --self-test --backend cuda
without_failed=$?
cat "$out/self-test.txt"
if [ $graphs_failed != 0 ] && [ $without_failed = 0 ]; then
    say "measured without graphs"
    export RATECAST_CUDA_GRAPHS=0
fi
# another program for the products of matrices: what it says when the first one's do not pass
if [ -x "$bench-shuffles" ]; then step self-test-shuffles 60 "$bench-shuffles" probe --self-test --backend cuda; fi
# --force: unsteady times are said below, and there is no second run
step probe 260 "$bench" probe --backend cuda --shape "$shape" --quant "$quant" --settle 2 --force -o "$out/card.json" --json
if [ -s "$out/probe.txt" ]; then
    mv "$out/probe.txt" "$out/samples.json"
    [ -x "$here/ratecast" ] && "$here/ratecast" show "$out/card.json" >"$out/show.txt" 2>&1
    python3 - "$out/samples.json" "$bytes_s" >"$out/bandwidth.txt" 2>&1 <<'P' || { failed=1; say "bandwidth: FAILED"; }
import json, sys
run, sheet = json.load(open(sys.argv[1])), float(sys.argv[2])
read, gemv = {}, []
for k in run["kernels"]:
    s = k["median_s"]
    print("%-22s %-40s %12.3g s  %8.4g GB/s  %8.4g TFLOP/s" % (k["kernel"], k["what"], s, k["bytes"] / s / 1e9 if k.get("bytes") else 0,
          k["flops"] / s / 1e12 if k.get("flops") else 0))
    if k["kernel"] == "read_bandwidth": read[k["bytes"]] = k["bytes"] / s
    if k["kernel"].startswith("gemv") and k["kernel"].endswith("_c1"): gemv.append((k["bytes"] / s, k["what"]))
for p in run["output_matrix"]:
    if p["n"] == 1: gemv.append((run["output_matrix_bytes"] / p["median_s"], "output matrix, B = 1"))
plateau = read[max(read)]
best, what = max(gemv)
ok = plateau >= 0.85 * sheet
print("plateau: %.4g GB/s, %.1f %% of the datasheet's: %s" % (plateau / 1e9, 100 * plateau / sheet, "passed" if ok else "FAILED, expected 85 %"))
print("vector kernel, best matrix (%s): 1/%.2f of the plateau: %s" % (what, plateau / best, "passed" if best >= plateau / 2 else "FAILED, expected 1/2"))
parts = [p for l in ("step_layers", "micro_batch_layers", "output_matrix") for p in run[l]]
spreads = sorted((p["p90_s"] / p["p10_s"], p["kernel"], p["n"], p["keys_tok"]) for p in parts)
print("parts of steps: %d, p90 / p10 above 1.10 in %d, the largest" % (len(parts), sum(s[0] > 1.1 for s in spreads)), spreads[-1])
print("not settled: %d of %d" % (sum(not m["settled"] for m in parts + run["kernels"]), len(parts + run["kernels"])))
for b, w in gemv: print("  %s: %.4g GB/s" % (w, b / 1e9))
sys.exit(not (ok and best >= plateau / 2))
P
    cat "$out/bandwidth.txt"
fi
smi | tee "$out/smi-after.txt"
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck synccheck initcheck; do
        # graphs off: each launch by itself, as the tools know it best
        RATECAST_CUDA_GRAPHS=0 step "$tool" 90 compute-sanitizer --tool "$tool" --error-exitcode 9 \
            "$bench" probe --self-test --short --backend cuda
        grep -h 'ERROR SUMMARY\|RACECHECK SUMMARY' "$out/$tool.txt" "$out/$tool.log" | tee -a "$summary" | grep . || { failed=1; say "$tool: FAILED, no summary"; }
    done
else
    failed=1
    say "compute-sanitizer: not here"
fi
say "all: $([ $failed = 0 ] && echo passed || echo FAILED)"
exit $failed
