#!/bin/sh
# ratecast-bench gguf from the outside.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
[ -n "${RATECAST_BENCH:-}" ] || { echo "SKIP bench_gguf: built without ratecast-bench"; exit 77; }
case $RATECAST_BENCH in /*) ;; *) RATECAST_BENCH=$REPO/$RATECAST_BENCH ;; esac
RATECAST=$RATECAST_BENCH
has() { # FILE TEXT...
    file=$1
    shift
    for text; do grep -qF -e "$text" "$file" || return 1; done
}
left() { find . -name 'm.gguf*' | wc -l; }

run gguf --list
is "list" has out qwen2.5-0.5b qwen2.5-32b llama3-8b 7615616512 4677120000 57344
run gguf --list --json
is "list, JSON" has out '"kv_bytes_per_tok": 57344' '"q4_k_m": 4677120000' '"source": "config.json of Qwen/Qwen2.5-7B-Instruct"'
run gguf --shape qwen2.5-7b --quant Q4_K_M --dry-run
is "dry run" has out "would write a file" "7615616512 parameters in 339 tensors" "4677120000 bytes of weights"
run gguf --shape qwen2.5-7b --quant q4_k_m --dry-run --json -o m.gguf
is "dry run, JSON" has out '"written": false' '"tensors": 339' '"path": "m.gguf"'
is "a dry run writes nothing" test "$(left)" -eq 0

run gguf
refused "nothing given" "--shape, --quant and -o FILE"
run gguf --shape qwen2.5-7 --quant q4_0 -o m.gguf
refused "a wrong shape" '"qwen2.5-7b"'
run gguf --shape qwen2.5-7b --quant q4_1 -o m.gguf
refused "a wrong quantisation" q4_k_m
run gguf --shape qwen2.5-7b --quant q4_0 -o -
refused "standard output" "expected a file"
run gguf --shape qwen2.5-7b --quant q4_0 -o m.gguf --seed -1
refused "a wrong seed" "whole number"
run gguf --list --quant q4_0
refused "a list of one" "--json only"
run gguf --shape qwen2.5-7b --quant q4_0 -o no/such/m.gguf
refused "a missing folder" "no/such/m.gguf" "No such file"

# Ctrl-C: a background job of a script ignores SIGINT, so another signal of the same handler
"$RATECAST" gguf --shape qwen2.5-7b --quant q4_k_m -o m.gguf >out 2>err &
job=$!
n=0
while [ "$(left)" -eq 0 ] && [ $n -lt 100 ] && kill -0 $job 2>/dev/null; do
    sleep 0.05
    n=$((n + 1))
done
kill -TERM $job 2>/dev/null
wait $job
code=$?
if grep -q "GB free" err; then
    echo "SKIP bench_gguf, interrupted: not enough room for the model here"
else
    is "interrupted: ends by the signal" test $code -eq 143
    is "interrupted: says so" has err interrupted
    is "interrupted: nothing is left" test "$(left)" -eq 0
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
