#!/bin/sh
# `ratecast import` from the outside: exit codes, what goes to which stream, and that a card it writes is accepted.
# RATECAST: the program, REPO: the source folder.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"

import() {
    run import "$@"
}

same() { cmp "$1" "$2"; }

run_text='"model_filename": "m/tiny.gguf", "model_type": "llama 1B Q8_0", "build_commit": "b1", "gpu_info": "G", "type_k": "f16", "type_v": "f16", "n_batch": 2048, "n_ubatch": 512'
bench() { # N_PROMPT N_GEN DEPTH NS
    printf '{%s, "n_prompt": %s, "n_gen": %s, "n_depth": %s, "samples_ns": [%s]}\n' "$run_text" "$1" "$2" "$3" "$4"
}
cell() { # PP TG PL T_PP T_TG
    printf '{"n_batch": 2048, "n_ubatch": 512, "pp": %s, "tg": %s, "pl": %s, "t_pp": %s, "t_tg": %s}\n' "$@"
}
{ bench 64 0 0 100000000; bench 512 0 0 500000000; bench 512 0 4096 600000000; bench 0 64 0 1000000000; } >bench.jsonl
{ cell 512 64 1 0.5 1.1; cell 2048 64 1 2.1 1.3; cell 512 64 4 2.0 1.5; cell 2048 64 4 8.4 2.3; } >batched.jsonl

# ---- a table, JSON, standard input ----

import bench.jsonl batched.jsonl
is "table: exit 0" test $code -eq 0
is "table: silent stderr" test ! -s err
is "table: 4 + 2 x 4 rows and two lines of header" test "$(wc -l <out)" -eq 14
import --json bench.jsonl
is "json: exit 0" test $code -eq 0
is "json: schema" grep -q '"schema": "ratecast.import/1"' out
sed 's/bench\.jsonl/<stdin>/' out >want
"$RATECAST" import --json - <bench.jsonl >got
is "stdin gives the same rows" same want got
import --format llama_bench_jsonl batched.jsonl
is "a forced format is not guessed again" test $code -eq 2
import --format nonsense bench.jsonl
is "unknown format" test $code -eq 2

# ---- a card ----

import bench.jsonl batched.jsonl --kv-layout split --layers 2 --kv-heads 1 --head-dim 64 --weights-bytes 1000000 -o my-card.json
is "card: exit 0" test $code -eq 0
is "card: silent stdout" test ! -s out
is "card: says what it projects" grep -q 'projects decode: B = 1 to 4, context 32 to 2080 tok' err
is "card: says what it took for granted" grep -q 'batched.jsonl names no model' err
is "card: check accepts it" "$RATECAST" check my-card.json
is "card: a projection runs on it" "$RATECAST" project --card ./my-card.json -K 2 -H 2 -P 1000
cp my-card.json before.json
import batched.jsonl bench.jsonl --kv-layout split --layers 2 --kv-heads 1 --head-dim 64 --weights-bytes 1000000 -o my-card.json
grep -v '"note"' before.json >want
grep -v '"note"' my-card.json >got
is "card: the order of the files does not matter" same want got
import bench.jsonl -o bench.jsonl
is "card: never over its input" test $code -eq 2
is "card: the input is untouched" grep -q samples_ns bench.jsonl
import bench.jsonl -o thin.json
is "thin card: exit 0" test $code -eq 0
is "thin card: names the benchmark that completes it" grep -q 'complete it: llama-batched-bench' err
import batched.jsonl -o none.json
is "no model: exit 2" test $code -eq 2
is "no model: names the option" grep -q -e '--model-name' err
is "no model: no file" test ! -e none.json
import batched.jsonl --kv-layout both -o none.json
is "bad layout" test $code -eq 2
import --layers 0 bench.jsonl -o none.json
is "bad count" test $code -eq 2
import --json -o - bench.jsonl
is "card and JSON on one stream" test $code -eq 2
sed 's/"b1"/"b2"/' bench.jsonl >other.jsonl
import bench.jsonl other.jsonl -o none.json
is "two builds: exit 2" test $code -eq 2
is "two builds: both lines" grep -q 'other.jsonl:1: engine build is b2, on bench.jsonl:1 it is b1' err
import bench.jsonl bench.jsonl
is "one file twice" test $code -eq 2

# ---- a table: what it prints is not asked for, and only what is missing is ----

{
    echo '| model | size | params | backend | ngl | test | t/s |'
    echo '| --- | ---: | ---: | --- | --: | ---: | ---: |'
    echo '| qwen2 7B Q8_0 | 7.54 GiB | 7.62 B | Metal | 99 | pp512 | 345.10 ± 1.20 |'
    echo '| qwen2 7B Q8_0 | 7.54 GiB | 7.62 B | Metal | 99 | tg128 | 17.41 ± 0.02 |'
} >table.md
named='--model-name m --chip C --machine g'
shape='--layers 28 --kv-heads 4 --head-dim 128'
# shellcheck disable=SC2086
table() { run import table.md -o table.json $named "$@"; }
# shellcheck disable=SC2086
table $shape
is "table: exit 0" test $code -eq 0
# 7.54 x 2^30 = 8096013352.96
is "table: its size" grep -q '"weights_bytes": 8096013353' table.json
is "table: its parameters" grep -q '"params": 7620000000' table.json
is "table: the size has its source" grep -q '"weights_bytes":{"provenance":"derived","source":"\\"7.54 GiB' table.json
is "table: asks for no weights" sh -c '! grep -q weights err'
is "table: asks for no shape" sh -c '! grep -q "cannot project anything" err'
is "table: the KV type is assumed" grep -q '"kv_element_bytes":{"provenance":"assumed"' table.json
is "table: and that is said" grep -q 'the KV types are not stated: f16 is assumed, --kv-type would say' err
"$RATECAST" show ./table.json --json >card
# 2 x 28 x 4 x 128 x 2
is "table: bytes of a token" grep -q '"kv_bytes_per_tok": 57344' card
# shellcheck disable=SC2086
table $shape --kv-type q8_0
is "KV type: as ggml packs it, 34 bytes for 32" grep -q '"kv_element_bytes": 1.0625' table.json
is "KV type: stated" grep -q '"type_k":"q8_0","type_v":"q8_0"' table.json
is "KV type: nothing assumed" sh -c '! grep -q assumed table.json err'
table --layers 28 --head-dim 128
is "a head count lacks: it alone is asked for" grep -q 'known: --kv-heads would supply' err
table
is "no shape: all of it is asked for" grep -q 'known: --layers, --kv-heads, --head-dim would supply' err
is "no shape: no KV bytes" sh -c '! grep -q kv_element_bytes table.json'
# shellcheck disable=SC2086
table $shape --weights-bytes 5
is "weights given: they go before the table" grep -q '"weights_bytes": 5,' table.json
table --kv-type f17
is "no KV type of that name" test $code -eq 2
run import bench.jsonl -o other-type.json --kv-type q8_0
is "a KV type that the rows contradict" test $code -eq 2
is "names the row" grep -q 'bench.jsonl:1 has KV type K f16' err
sed 's/7.54 GiB/8.10 GB/g' table.md >gb.md
run import gb.md -o gb.json --model-name m --chip C
is "GB may be either: not taken" sh -c '! grep -q weights_bytes gb.json'
is "GB: the weights are asked for" grep -q -e '--weights-bytes would supply them' err

sed 's/345.10 ± 1.20/nan/' table.md >nan.md
sed 's/345.10 ± 1.20/345.10 ± nan/' table.md >spread.md
sed 's/345.10 ± 1.20/inf ± inf/' table.md >inf.md
for file in nan inf; do
    # shellcheck disable=SC2086
    run import $file.md -o $file.json $named
    is "$file as a rate: exit 2" test $code -eq 2
    is "$file as a rate: says so" grep -q "$file.md:3: .*$file" err
    is "$file as a rate: no card" test ! -e $file.json
done
# shellcheck disable=SC2086
run import spread.md -o spread.json $named
is "nan as a spread: exit 0" test $code -eq 0
is "nan as a spread: the rate stays" grep -q '"tok_s":345.1' spread.json

# ---- faults ----

{ echo 'ggml_cuda_init: found 1 CUDA devices'; cat bench.jsonl; } >mixed.jsonl
import mixed.jsonl
is "stderr in the file: exit 0" test $code -eq 0
is "stderr in the file: a warning with its line" grep -q 'mixed.jsonl:1: warning: no JSON, skipped: "ggml_cuda_init' err
import --strict mixed.jsonl
is "stderr in the file, --strict: exit 1" test $code -eq 1
{ cat bench.jsonl; bench 64 0 0 100 | cut -c1-90 | tr -d '\n'; } >cut.jsonl
import cut.jsonl
is "cut off: exit 0" test $code -eq 0
is "cut off: a warning with its line" grep -q 'cut.jsonl:5: warning: cut off' err
{ cat bench.jsonl; bench 64 0 0 -5; } >negative.jsonl
import negative.jsonl -o none.json
is "negative time: exit 2" test $code -eq 2
is "negative time: its line" grep -q '^ratecast: negative.jsonl:5: samples_ns\[0\]' err
is "negative time: nothing on stdout" test ! -s out
is "negative time: no card" test ! -e none.json
import --json negative.jsonl
is "negative time, --json: exit 2" test $code -eq 2
is "negative time, --json: the row stays, refused" grep -q '"used": false' out
import absent.jsonl
is "no such file" test $code -eq 2

import bench.jsonl batched.jsonl --kv-layout split --machine my-gpu -o named.json
is "--machine: exit 0" test $code -eq 0
is "--machine: hardware.id" grep -Eq '"id": *"my-gpu"' named.json
is "--machine: nothing to say of it" test "$(grep -c -e --machine err)" -eq 0
import bench.jsonl batched.jsonl --kv-layout split -o nameless.json
is "no --machine: says what it is for" grep -q -e '--machine NAME' err
is "no --machine: no hardware.id" test "$(grep -c '"id"' nameless.json)" -eq 1

{ cat bench.jsonl; echo '{"n_prompt"::3}'; bench 64 0 0 100000000; } >broken.jsonl
import broken.jsonl
is "a broken line: exit 2" test $code -eq 2
is "a broken line: file, line and column" grep -q '^ratecast: broken.jsonl:5: column 13: found ' err

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
