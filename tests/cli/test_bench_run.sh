#!/bin/sh
# `ratecast-bench run` from the outside, with stub tools that replay lines which the real ones printed on an H200
# (bench_run/ here; all of them where RATECAST_SHARED is): no engine is needed, and none is measured.
# RATECAST, RATECAST_BENCH: the programs, REPO: the source folder.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
: "${RATECAST_BENCH:?path of ratecast-bench}"
SHARED=${RATECAST_SHARED:-$REPO/../shared}

mkdir tools
cat >tools/llama-bench <<'EOF'
#!/bin/sh
# STUB_BENCH: files with recorded lines. *_AT: a piece of the command line at which something goes wrong.
if [ "$1" = --list-devices ] && [ -n "${STUB_NO_DEVICE:-}" ]; then # a CPU build's, word for word
    echo "warning: asserts enabled, performance may be affected" >&2
    echo "load_backend: loaded CPU backend from /usr/lib/libggml-cpu-zen4.so" >&2
    printf 'Available devices:\n  (none)\n'
    exit 0
fi
if [ "$1" = --list-devices ]; then
    printf 'Available devices:\n  CUDA0: NVIDIA H200 (143155 MiB, %s MiB free)\n' "${STUB_FREE_MIB:-142500}"
    exit 0
fi
. "$STUB_TROUBLE"
p=0 n=0 d=0
while [ $# -gt 0 ]; do
    case $1 in -p) p=$2 ;; -n) n=$2 ;; -d) d=$2 ;; esac
    shift
done
line() {
    # shellcheck disable=SC2086 # a list of files
    cat $STUB_BENCH | grep -F -e "\"n_prompt\": $1, \"n_gen\": $2, \"n_depth\": $3," | grep -v -F -e "${DROP:-no such text}" |
        head -n 1 | sed "${EDIT:-}"
}
words() { echo "$1" | tr , ' '; }
for depth in $(words "$d"); do
    for prompt in $(words "$p"); do [ "$prompt" = 0 ] || line "$prompt" 0 "$depth"; done
    for gen in $(words "$n"); do [ "$gen" = 0 ] || line 0 "$gen" "$depth"; done
done
EOF
cat >tools/llama-batched-bench <<'EOF'
#!/bin/sh
. "$STUB_TROUBLE"
while [ $# -gt 0 ]; do
    case $1 in -npp) p=$2 ;; -ntg) n=$2 ;; -npl) b=$2 ;; esac
    shift
done
for batch in $(echo "$b" | tr , ' '); do
    echo
    # shellcheck disable=SC2086 # a list of files
    cat $STUB_BATCHED | grep -F -e "\"pp\": $p, \"tg\": $n, \"pl\": $batch," | grep -v -F -e "${DROP:-no such text}" |
        head -n 1 | sed "${EDIT:-}"
done
echo "llama_perf_context_print: load time = 1700.00 ms"
EOF
cat >trouble <<'EOF'
at() { # PIECE: is it in the command line?
    [ -n "$1" ] && case "$line" in *"$1"*) true ;; *) false ;; esac
}
line=" $* "
echo "$line" >>"$STUB_LOG"
if [ -n "${STUB_NO_DEVICE:-}" ]; then
    echo "warning: asserts enabled, performance may be affected" >&2
    echo "warning: no usable GPU found, --gpu-layers option will be ignored" >&2
    echo "warning: one possible reason is that llama.cpp was compiled without GPU support" >&2
    echo "warning: consult docs/build.md for compilation instructions" >&2
fi
echo "load_backend: loaded CUDA backend" >&2
if at "${SILENT_AT:-}"; then exit 0; fi
if at "${KILLED_AT:-}"; then kill -9 $$; fi
if at "${FAIL_AT:-}"; then
    echo "error: failed to create context" >&2
    exit 3
fi
if at "${HANG_AT:-}"; then
    trap '' TERM
    echo here >"$STUB_HANGS"
    while :; do sleep 1; done
fi
EOF
chmod +x tools/*
STUB_TROUBLE=$T/trouble STUB_LOG=$T/stub.log STUB_HANGS=$T/hangs
STUB_BENCH=$REPO/tests/cli/bench_run/bench.jsonl STUB_BATCHED=$REPO/tests/cli/bench_run/batched.jsonl
export STUB_TROUBLE STUB_LOG STUB_HANGS STUB_BENCH STUB_BATCHED
here=$PATH

# A GGUF of no tensors that says what a 7B says of itself, as long as its weights, without taking their room.
# shellcheck disable=SC2059 # bytes by their octal numbers
u32() { printf "\\$(printf %o $(($1 % 256)))\\$(printf %o $(($1 / 256 % 256)))\\$(printf %o $(($1 / 65536)))\\0"; }
text() { u32 ${#1}; printf '\0\0\0\0%s' "$1"; }
count() { text "$1"; u32 4; u32 "$2"; }
{
    printf GGUF
    u32 3
    printf '\0\0\0\0\0\0\0\0\006\0\0\0\0\0\0\0'
    text general.architecture
    u32 8
    text qwen2
    count qwen2.block_count 28
    count qwen2.embedding_length 3584
    count qwen2.attention.head_count 28
    count qwen2.attention.head_count_kv 4
    count qwen2.context_length 131072
} >qwen2-7b-like.gguf
dd if=/dev/null of=qwen2-7b-like.gguf bs=1 seek=8092571648 2>/dev/null

small="--prompts 16,64,512,2048 --depths 4096 --sequences 1,2,4,8 --contexts 512,4096 --repeats 1"
# In a folder of its own, so that every run has the same names.
engine() { # FOLDER [VARIABLE=VALUE...] OPTION...
    mkdir -p "$1" && cd "$1" || exit 1
    shift
    while [ $# -gt 0 ]; do
        case $1 in [A-Z]*=*) export "${1?}" ;; *) break ;; esac
        shift
    done
    PATH=$T/tools:$here
    # shellcheck disable=SC2086 # options
    exec "$RATECAST_BENCH" run --model "$T/qwen2-7b-like.gguf" --conditions quiet -o my-gpu.json $small "$@"
}
bench() {
    (engine "$@") >out 2>err </dev/null
    code=$?
}
says() { grep -qF -e "$1" err; }
points() { # CARD: its points without where they are from
    grep -E '^ {4}\{' "$1" | sed 's/,"source".*//' | sort -u
}

# ---- a whole run ----

bench a
is "run: exit 0" test $code -eq 0
is "run: silent stdout" test ! -s out
is "run: memory from the device" says "memory budget 139.16 GiB (free on NVIDIA H200, says llama-bench)"
is "run: all cells" says "19 of 19 cells measured"
# 16, 64, 512 tokens at depth 0: 15.1, 15.2, 53.8 ms and then 7.3, 10.6, 42.8; 16 and 64 at depth 4096: the second one
is "run: cold samples" says "cold: 5 samples of 5 points"
is "run: cold first cells" says "cold: 4 points of first cells of batched runs stay unused"
is "run: what it projects" says "projects decode: B = 1 to 8, context 32 to 4128 tok"
is "run: what to do next" says "ratecast fit ./my-gpu.json"
is "run: and the advice is the projection" says "ratecast project --card ./my-gpu.json -K 4 -H 20 -P 4096"
is "run: the card is accepted" "$RATECAST" check a/my-gpu.json
is "run: a projection runs on it" "$RATECAST" project --card a/my-gpu.json -K 4 -H 2 -P 1000
is "run: method" grep -q '"method": "engine"' a/my-gpu.json
is "run: conditions" grep -q '"note": "measured by ratecast-bench [0-9.]* run; conditions: quiet;' a/my-gpu.json
is "run: KV from the file's header" grep -q '"kv_heads": 4' a/my-gpu.json
is "run: head size from the file's header" grep -q '"head_dim": 128' a/my-gpu.json
is "run: all samples" grep -q '"n_prompt_tok":16,"samples_s":\[0.015131509,0.007379509,0.007255553\]' a/my-gpu.json
is "run: raw outputs" test -s a/my-gpu.raw/start.jsonl -a -s a/my-gpu.raw/start.stderr.txt
is "run: no parts left" test -z "$(find a/my-gpu.raw -name '*.part.*')"
is "run: commands in the plan" grep -qF -- "-npp 512 -ntg 64 -npl 1,1,2,4,8" a/my-gpu.raw/plan.json
bench a --json
is "again: exit 0" test $code -eq 0
is "again: nothing is measured twice" test "$(grep -c -e '-npp 512 ' stub.log)" -eq 1
is "again: json" grep -q '"cells_returned_n": 19' out
is "again: json, cold" grep -q '"cold_samples_n": 5' out
is "again: json, schema" grep -q '"schema": "ratecast.bench-run/1"' out

# ---- the points are those of `ratecast import` ----

run import "$STUB_BENCH" "$STUB_BATCHED" --kv-layout split -o want.json
points want.json >want
points a/my-gpu.json >got
is "same points as import of the recorded lines" cmp want got
run import a/my-gpu.raw/*.jsonl --kv-layout split --layers 28 --kv-heads 4 --head-dim 128 --id my-gpu --machine "$(uname -n)" -o again.json
sed -e '/"note"/d' -e '/"method"/d' again.json >want
sed -e '/"note"/d' -e '/"method"/d' a/my-gpu.json >got
is "same card as import of the raw files" cmp want got

# ---- what a card cannot project is not advised ----

bench one FAIL_AT=" -npp "
is "no batches: exit 4" test $code -eq 4
is "no batches: one agent is advised" says "ratecast project --card ./my-gpu.json -K 1 -H 20 -P 4096"
is "no batches: and can be projected" "$RATECAST" project --card one/my-gpu.json -K 1 -H 20 -P 4096
# decode at one context only
bench none FAIL_AT=" -npp " DROP='"n_prompt": 0, "n_gen": 64, "n_depth": 4096,'
is "no decode: a card is written" test -s none/my-gpu.json
is "no decode: no projection is advised" sh -c '! grep -q "ratecast project --card" err'
# shellcheck disable=SC2016 # a command in a text
is "no decode: what lacks is said" says 'no `ratecast project` on it yet: it lacks decode (see above)'
run project --card none/my-gpu.json -K 1 -H 20 -P 4096
is "no decode: and it is refused indeed" test $code -eq 2
(cd "$T" && "$RATECAST_BENCH" run --model "$T/tools" -o x.json --dry-run) >out 2>err
code=$?
is "a folder is no model: exit 2" test $code -eq 2
is "a folder is no model: said" says "tools: is a directory, expected a file"

# ---- on paper ----

bench paper --dry-run
is "dry run: exit 0" test $code -eq 0
is "dry run: is a script" sh -n out
is "dry run: exact command" grep -qF -e "-ngl 99 -fa on --output-format jsonl -c" out
is "dry run: nothing written" test ! -e paper/my-gpu.raw
bench paper --dry-run --json
is "dry run: json" grep -q '"dry_run": true' out
(PATH=$T/only "$RATECAST_BENCH" run --model qwen2-7b-like.gguf --dry-run >paper.out 2>/dev/null)
run_line=$(sed -n 2p paper.out)
is "dry run: needs no tool" test "${run_line%% *}" = llama-bench

# ---- Ctrl-C in the middle ----

interrupt() { # FOLDER PIECE
    rm -f hangs
    (engine "$1" HANG_AT="$2") >out 2>err </dev/null &
    pid=$!
    tries=0
    while [ ! -e hangs ] && [ $tries -lt 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -INT $pid
    wait $pid
    code=$?
}
interrupt b "-npp 4096"
is "interrupted: exit 130" test $code -eq 130
is "interrupted: says what is kept" says "interrupted; 6 commands are measured and kept in my-gpu.raw"
is "interrupted: no card" test ! -e b/my-gpu.json
is "interrupted: no parts left" test -z "$(find b/my-gpu.raw -name '*.part.*')"
interrupt b "-npp 4096"
is "interrupted twice: exit 130" test $code -eq 130
bench b --resume
is "resumed: exit 0" test $code -eq 0
is "resumed: the card is the one without interruption" cmp a/my-gpu.json b/my-gpu.json
interrupt c "-p 512 -n 64"
is "interrupted at once: exit 130" test $code -eq 130
bench c
is "interrupted at once: the same card" cmp a/my-gpu.json c/my-gpu.json
bench c --minutes 20
is "more minutes: the run goes on" test $code -eq 0
is "more minutes: nothing is measured twice" cmp a/my-gpu.json c/my-gpu.json
bench c --samples 4
refused "another plan" "samples was not given, now it is 4" "another -o"
bench d --resume
refused "nothing to resume" "nothing can be resumed"
echo '{"schema": "ratecast.bench-plan/1", "asked": ' >c/my-gpu.raw/plan.json
bench c
refused "a damaged plan" "plan.json"

echo '{"n_prompt": 512, "n_gen": 0,' >a/my-gpu.raw/start.jsonl
mkdir -p m
cp -r a/my-gpu.raw m
bench m
is "a damaged output is measured again" test $code -eq 0
is "a damaged output: the same card" cmp a/my-gpu.json m/my-gpu.json

# ---- a build without a device ----

if grep -q MemAvailable /proc/meminfo 2>/dev/null; then
    bench o STUB_NO_DEVICE=1
    is "no device: the host's memory" says "GiB (free on the host; llama-bench lists no device)"
fi
bench p --minutes 0.2
is "too few minutes: exit 0" test $code -eq 0
is "too few minutes: how to go on" says "the same command with more than --minutes 0.2 measures what time left out"
bench p
is "enough minutes: the same points" test "$(points a/my-gpu.json)" = "$(points p/my-gpu.json)"
is "the machine has a name" grep -qF "\"hardware\": {\"id\":\"$(uname -n)\"" a/my-gpu.json

# ---- two at once ----

rm -f hangs
(engine n HANG_AT="-npp 512") >/dev/null 2>&1 </dev/null &
pid=$!
while [ ! -e hangs ]; do sleep 0.1; done
bench n
refused "two at once" "another run is at work here"
kill -TERM $pid
wait $pid
is "terminated: exit 143" test $? -eq 143

# ---- tools that fail ----

fails() { # NAME TEXT...: exit 4, and the texts are said
    name=$1
    shift
    is "$name: exit 4" test $code -eq 4
    for text; do is "$name: says $text" says "$text"; done
}
bench e FAIL_AT="-npp 4096"
fails "exit code" "batched_4096_1: 0 of 5 cells" "failed: batched_4096_1: exit code 3: error: failed to create context"
is "exit code: the rest is a card" "$RATECAST" check e/my-gpu.json
bench e
is "exit code: a second run has it all" cmp a/my-gpu.json e/my-gpu.json
bench f KILLED_AT="-d 4096"
fails "killed" "was killed by signal 9 (out of memory?)"
bench g SILENT_AT="-npp 512"
fails "silent" "batched_512_1: printed no result"
bench h FAIL_AT="-p 512 -n 64"
fails "start fails" "exit code 3: error: failed to create context" "start.stderr.txt"
is "start fails: no card" test ! -e h/my-gpu.json
bench h --samples 5 --resume
refused "nothing measured, but insisted on" "samples was not given, now it is 5"
bench h --samples 5
is "nothing measured: other options begin anew" test $code -eq 0
begin=$(date +%s)
bench i HANG_AT="-p 512 -n 64" --minutes 0.02
fails "hangs" "did not end within 2 s and was stopped"
is "hangs: not for long" test $(($(date +%s) - begin)) -lt 30
mkdir only
cp tools/llama-bench only
(PATH=$T/only "$RATECAST_BENCH" run --model qwen2-7b-like.gguf -o x.json >out 2>err)
code=$?
fails "missing tool" "llama-batched-bench: not found" "brew install llama.cpp" "apt-get install" "--batched-bench FILE"
"$RATECAST_BENCH" run --model qwen2-7b-like.gguf --llama-bench ./nowhere -o x.json >out 2>err
code=$?
fails "missing tool by name" "./nowhere: not found" "--llama-bench FILE"
is "missing tool: nothing begun" test ! -e x.raw

# ---- cells that the tools leave out, fields that they add ----

bench j DROP='"pl": 4,'
is "missing cells: exit 0" test $code -eq 0
is "missing cells: counted" says "17 of 19 cells measured"
is "missing cells: named" says "not printed, though asked for: batched_4096_1: B = 4 behind 4096"
bench k EDIT='s/^{/{"new_field": "x", /'
is "unknown field: exit 0" test $code -eq 0
points k/my-gpu.json >got
points a/my-gpu.json >want
is "unknown field: same points" cmp want got
bench l STUB_FREE_MIB=11000
is "small memory: exit 0" test $code -eq 0
is "small memory: says so" says "left out for memory: batched_4096_1: B = 8"

# ---- options ----

usage() { # NAME TEXT OPTION...
    name=$1 text=$2
    shift 2
    "$RATECAST_BENCH" run "$@" >out 2>err </dev/null
    code=$?
    refused "$name" "$text"
}
usage "no model" "expected either --model FILE.gguf or --shape NAME" -o x.json
usage "both models" "expected either" --model a.gguf --shape b -o x.json
usage "no card" "expected -o CARD.json" --model qwen2-7b-like.gguf
usage "a name no card can have" "expected a name in .json of a-z" --model qwen2-7b-like.gguf -o "My GPU.json"
usage "no GGUF" "is no GGUF file" --model tools/llama-bench -o x.json
usage "no file" "cannot be read" --model nowhere.gguf -o x.json
usage "a list" "expected whole numbers" --model qwen2-7b-like.gguf -o x.json --prompts 1,x
usage "minutes" "expected a number > 0" --model qwen2-7b-like.gguf -o x.json --minutes -1
usage "flash attention" "expected on, off or auto" --model qwen2-7b-like.gguf -o x.json --flash-attn yes
head -c 40 qwen2-7b-like.gguf >cut.gguf
usage "a cut file" "ends inside its header" --model cut.gguf -o x.json

# ---- everything that was recorded ----

raw=$SHARED/witness/llamacpp/raw
if [ -r "$raw/7b_bb.jsonl" ]; then
    STUB_BENCH="$raw/7b_lb_pp.jsonl $raw/7b_lb_tg_depth.jsonl $raw/7b_lb_pp_depth.jsonl" STUB_BATCHED=$raw/7b_bb.jsonl
    small="--prompts 12,16,32,64,128,256,512,1024,2048,4096,8192,16384 --depths 1024,2048,4096,8192,16384 --repeats 1"
    small="$small --sequences 1,2,3,4,5,6,8,12,16,32 --contexts 128,512,2048,4096 --minutes 60"
    bench all
    # 12 tokens at depth 0, and prompts behind 2048, were not recorded
    fails "all recorded" "89 of 97 cells measured" "prefill_short: prompt 12 at depth 0" \
        "failed: prefill_depth_2048: printed no result"
    # shellcheck disable=SC2086 # a list of files
    run import $STUB_BENCH $STUB_BATCHED --kv-layout split -o want.json
    points want.json >want
    points all/my-gpu.json >got
    is "all recorded: same points as import" cmp want got
else
    echo "SKIPPED: no $raw (set RATECAST_SHARED)"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
