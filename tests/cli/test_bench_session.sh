#!/bin/sh
# `ratecast-bench session` against a stand-in server: what is sent, what is recorded, and every way in which a server can
# misbehave. RATECAST_BENCH: the program; RATECAST: the program that reads the record; REPO: the source folder.
: "${RATECAST_BENCH:?path of ratecast-bench}"
command -v python3 >/dev/null || { echo "SKIPPED: no python3 for the stand-in server"; exit 77; }
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
case $RATECAST_BENCH in /*) ;; *) RATECAST_BENCH=$REPO/$RATECAST_BENCH ;; esac
STAND_IN=$REPO/tests/stand_in
CARD=qwen2-7b-like-q8_0-h200-split
server=''
trap 'rm -f "$T"/port*; [ -z "$server" ] || wait "$server"; rm -rf "$T"' EXIT

# Until the file is there, a minute at most.
await() { # FILE
    waited=0
    while [ ! -e "$1" ] && [ $waited -lt 600 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
}

# Starts a server of its own and waits until it listens; URL and a fresh log.
serve() { # OPTIONS...
    [ -z "$server" ] || { rm -f port; wait "$server"; }
    rm -f port log.jsonl*
    : >log.jsonl
    python3 "$STAND_IN/completion_server.py" port log.jsonl "$@" 2>server.err &
    server=$!
    await port
    URL=http://127.0.0.1:$(cat port)
}

# The output of a run is its summary; stdin is not a terminal, so there is no progress.
session() {
    "$RATECAST_BENCH" session --url "$URL" -K 3 -H 4 -P 40 --delta-in 8 --turn-out 6 "$@" >out 2>err </dev/null
    code=$?
}

check() { # NAME RUN_ID PREFILL_MS TOKEN_MS [no_ids]
    what=$1
    shift
    is "$what: exit 0" test $code -eq 0
    is "$what: silent stderr" test ! -s err
    is "$what: as the protocol says" python3 "$STAND_IN/check_session.py" runs "$1" log.jsonl "$2" "$3" "${4:-}"
}

# ---- as it should be ----

ARGS='llama-server -m "models/a b.gguf" -np 4 -no-kvu -c 16384 -t 8'
serve
session --model qwen2-7b-like --machine gpu-h200 --server-args "$ARGS" --run-id one -o runs
check "pinned" one 3 1
is "pinned: says how to score it" grep -qF 'ratecast validate runs --card CARD' out
is "pinned: erased first" grep -qF 'slots erased before' out
is "pinned: the server's arguments" grep -qF '"-m","models/a b.gguf","-np","4"' runs/runs.jsonl
run validate runs --card $CARD --json
is "pinned: validate reads it" test $code -eq 0
cp out validated.json
is "pinned: validate scores what was measured" python3 -c '
import json
run = json.loads(open("runs/runs.jsonl").readline())
seen = json.load(open("validated.json"))
assert [r["run_id"] for r in seen["runs"]] == ["one"] and seen["excluded"] == [], seen
assert abs(seen["runs"][0]["wall_s"]["witnessed"] - run["wall_s"]) < 2e-6, seen["runs"][0]["wall_s"]'
if python3 -c 'import jsonschema' 2>/dev/null; then
    is "pinned: the schema accepts it" python3 -c '
import glob, json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
for name in ["runs/runs.jsonl"] + glob.glob("runs/sessions/*.jsonl"):
    for line in open(name):
        jsonschema.validate(json.loads(line), schema)' "$REPO/calib/witness.schema.json"
fi

serve --prefill-ms 20 --token-ms 2
session --free-slots --tool-latency 0.03 --stagger 0.02 --warm-up 2 --use calibrate -o runs
check "free slots, pauses, warm-up" stand-in-K3-P40-server-default-r0 20 2
is "free slots: a second line" test "$(wc -l <runs/runs.jsonl)" -eq 2
is "free slots: warm-up is not recorded" test "$(wc -l <runs/sessions/stand-in-K3-P40-server-default-r0.jsonl)" -eq 12
is "free slots: says how to fit" grep -qF 'ratecast fit CARD --session runs' out

serve --no-erase
session --no-cache --serial -o runs
check "no cache, serial" stand-in-K3-P40-serial-r0 3 1
is "no erase: said" grep -qF 'slots not erased before' out

serve
session --json --seed 7 -o runs
check "json" stand-in-K3-P40-slot-isolated-r0 3 1
is "json: parses" python3 -c 'import json; d = json.load(open("out")); assert d["config"]["seed"] == 7 and d["dir"] == "runs"'
session --seed 7 --free-slots --arm-name again --run-id again -o runs
is "the same ids again: exit 0" test $code -eq 0
session --seed 7 --free-slots --arm-name again --run-id more -o runs
is "the same ids again: no cold start is noted" test -z "$(grep 'left by another run' out)"
serve --no-erase
session --seed 7 --run-id unclean1 -o runs
session --seed 7 --run-id unclean2 -o runs
is "what another run left is noted" grep -qF 'the first turn found 47 tokens of its prompt' out
session -o runs
session -o runs
is "repeats are counted" grep -q '"run_id":"stand-in-K3-P40-slot-isolated-r2".*"rep":2,"seed":1009' runs/runs.jsonl
is "repeats have seeds of their own" test "$(grep -o '"seed":[0-9]*' runs/runs.jsonl | sort | uniq -d)" = '"seed":7'

serve --no-ids --no-cache-n
session --run-id foreign -o runs
check "no ids" foreign 3 1 no_ids
is "no ids: said" grep -qF 'did not tell 54 of its generated token ids' out # 3 agents, 3 prompts after a turn, 6 each
for mode in crlf trickle huge; do
    serve --mode $mode --at 0
    session --run-id $mode -o runs
    is "$mode: exit 0" test $code -eq 0
    is "$mode: all tokens" grep -q "\"run_id\":\"$mode\".*\"out_tokens\":72,\"errors\":\[\]" runs/runs.jsonl
done
serve --mode held --at 0
session --run-id held -o runs
is "held back tokens: exit 0" test $code -eq 0
is "held back tokens: counted" grep -q '"run_id":"held".*"out_tokens":72,"errors":\[\],"foreign_ids_n":18' runs/runs.jsonl

serve --api openai
session --run-id vllm -o runs
check "openai" vllm 3 1
is "openai: validate is no judge of it" grep -qF 'scores no other engine fairly' out
serve --api openai --no-ids --no-details
session --run-id bare -o runs
check "openai without ids and counts" bare 3 1 no_ids
is "openai without counts: said" grep -qF 'did not say of 12 turns how many tokens it reused' out
session --pin -o runs
refused "openai --pin" --pin 'has no slots'
session --no-cache -o runs
refused "openai --no-cache" --no-cache 'without its prefix cache'

# ---- a scenario ----

cat >scenario.json <<'END'
{"schema": "ratecast.scenario/1", "id": "scenario", "title": "t", "card": "qwen2-7b-like-q8_0-h200-split",
 "workload": {"K": 2, "H": 3, "P": 30, "turn_delta_in_tok": 4, "turn_out_tok": 5, "turn_shape": "delta_first",
              "tool_latency_s": 0.01},
 "arms": [{"name": "mine", "prefix_reuse": "per_slot", "batching": "continuous"},
          {"name": "none", "prefix_reuse": "none", "batching": "continuous"}], "baseline": "mine"}
END
serve
"$RATECAST_BENCH" session --url "$URL" --scenario scenario.json --arm mine --run-id scenario -o runs >out 2>err
code=$?
check "scenario" scenario 3 1
is "scenario: its workload" grep -q '"run_id":"scenario".*"arm":"mine","K":2,"H":3,"P":30,"din":4,"out":5' runs/runs.jsonl
bench() {
    "$RATECAST_BENCH" session --url "$URL" "$@" >out 2>err </dev/null
    code=$?
}
bench --scenario scenario.json -o runs
refused "scenario without --arm" --arm 'expected one of: mine, none'
bench --arm mine -o runs
refused "--arm without scenario" --arm 'expected --scenario'
sed 's/delta_first/result_after/' scenario.json >after.json
sed 's/"P": 30/"P": 30, "private_tok": 5/' scenario.json >private.json
bench --scenario private.json --arm mine -o runs
refused "scenario with private tokens" private.json 'private prompt tokens'
bench --scenario scenario.json --arm mine --dry-run
is "dry run: exit 0" test $code -eq 0
is "dry run: counts" grep -qF '6 requests: K = 2 agents, H = 3 turns each' out
is "dry run: shape" grep -qF ',...,' out
is "dry run: nothing was sent" test "$(wc -l <log.jsonl)" -eq 6

# ---- the other turn shape ----

"$RATECAST" project after.json --json >after.result
serve --prefill-ms 2
bench --scenario after.json --arm mine --run-id after -o runs
check "scenario, result_after" after 2 1
is "result_after: recorded" grep -q '"run_id":"after".*"turn_shape":"result_after"' runs/runs.jsonl
is "result_after: what was sent is what is projected" python3 -c '
import json
asks = [json.loads(line)["ask"]["prompt"] for line in open("log.jsonl")]
assert sorted(map(len, asks)) == sorted(2 * [30 + t * (4 + 5) for t in range(3)]), asks
arms = json.load(open("after.result"))["arms"]
assert sum(map(len, asks)) == next(a for a in arms if a["name"] == "mine")["tokens"]["presented"], arms'
serve --prefill-ms 2
bench -K 2 -H 3 -P 30 --delta-in 4 --turn-out 5 --turn-shape result_after --arm-name options --run-id options -o runs
check "result_after by options" options 2 1
bench -K 2 -H 3 -P 0 --delta-in 4 --turn-shape result_after -o runs
refused "result_after without a prefix" 'empty first prompt' 'expected --prefix > 0'
bench --turn-shape delta_last -o runs
refused "another shape" --turn-shape 'found "delta_last"'
serve

# ---- the commands that a report prints ----

# Every session command of the report sends what the report projects: the tokens, from the first prompt on.
"$RATECAST" report "$REPO/scenarios/fleet_llama_server_h200.json" -o rep >/dev/null
"$RATECAST" project "$REPO/scenarios/fleet_llama_server_h200.json" --json >fleet.json
grep '^ratecast-bench session ' rep/report.md >commands
is "report: a command for each arm but the prepared one" test "$(wc -l <commands)" -eq 2
is "report: the shape of the session" test "$(grep -c -- '--turn-shape result_after' commands)" -eq 2
while read -r _ command; do
    eval "set -- $command"
    shift
    bench "$@" --dry-run
    is "report: $7: dry run" test $code -eq 0
    is "report: the projected tokens" python3 -c '
import json, re, sys
name = sys.argv[sys.argv.index("--arm-name") + 1]
arm = next(a for a in json.load(open("fleet.json"))["arms"] if a["name"] == name)
first, last, presented = map(int, re.search(r"prompts of (\d+) to (\d+) tokens, (\d+) in all", open("out").read()).groups())
assert first == 2048 and arm["tokens"]["presented"] == presented, (name, first, presented)' "$@"
done <commands

# ---- what is refused before anything is sent ----

before=$(cat log.jsonl runs/runs.jsonl | cksum)
bench -K 5 -H 2 -P 20 -o runs
refused "more agents than slots" '5 agents cannot have a slot each, the server has 4'
bench -K 2 -H 40 -P 4096 -o runs
refused "a context that does not fit" 'an agent needs' 'the server has 4096'
bench -K 2 -H 2 -P 20 --vocab-hi 1000 -o runs
refused "ids beyond the vocabulary" --vocab-hi 'ends at 999'
bench -K 2 -H 2 -P 20 --server-args 'llama-server -np 3' -o runs
refused "arguments of another server" --server-args 'says 3 slots, the server has 4'
bench -K 2 -H 2 -P 20 --run-id one -o runs
refused "a run id that is taken" --run-id '"one"'
bench -K 2 -H 2 -P 20 --run-id ../x -o runs
refused "a run id that is no file name" --run-id
bench -K 2 -H 2 -P 20 --server-args 'llama-server "-m' -o runs
refused "an open quote" --server-args 'not closed'
bench -K 0 -o runs
refused "-K 0" --agents 'from 1'
bench --tool-latency nan -o runs
refused "--tool-latency nan" --tool-latency
bench --pin --free-slots -o runs
refused "--pin --free-slots" 'exclude each other'
bench
refused "no folder" 'RUNS_DIR'
bench --use some -o runs
refused "--use some" --use '"some"'
bench --api other -o runs
refused "--api other" --api '"other"'
mkdir -p damaged/sessions
echo '{"run_id": ' >damaged/runs.jsonl
bench -K 1 -H 1 -P 20 -o damaged
refused "a damaged folder" damaged/runs.jsonl:1
is "refused: nothing was sent or written" test "$(cat log.jsonl runs/runs.jsonl | cksum)" = "$before"

# ---- a server that is not there, or not ready ----

external() { # NAME TEXT
    is "$1: exit 4" test $code -eq 4
    is "$1: silent stdout" test ! -s out
    is "$1: says $2" grep -qF -e "$2" err
    is "$1: no folder" test ! -e none
}
"$RATECAST_BENCH" session --url http://127.0.0.1:1 -o none >out 2>err
code=$?
external "connection refused" 'is it running, and is --url its address?'
"$RATECAST_BENCH" session --url "file:///etc/passwd" -o none >out 2>err
code=$?
refused "no http" --url 'expected a server'
serve --loading
bench -K 1 -H 1 -P 20 -o none
external "loading" 'Loading model'

# ---- servers that misbehave: the run is recorded with its error, and validate leaves it out ----

broken() { # MODE TEXT [OPTIONS...]
    mode=$1 text=$2
    shift 2
    serve --mode "$mode" --at 2 --no-erase
    session --model qwen2-7b-like --machine gpu-h200 --server-args "$ARGS" --run-id "broken-$mode" "$@" -o broken
    is "$mode: exit 1" test $code -eq 1
    is "$mode: says $text" grep -qF -e "$text" err
    is "$mode: one line" test "$(wc -l <err)" -eq 1
    is "$mode: agent and turn" grep -q 'agent [0-2] turn 1: ' err
    is "$mode: recorded" grep -qF "\"run_id\":\"broken-$mode\"" broken/runs.jsonl
}
broken http500 'HTTP status 500: {"error": {"code": 500, "message": "out of sheep\nand wool"'
broken html502 'HTTP status 502: <html><body>Bad Gateway'
broken no_stream 'no event came, the reply begins: {"content": "all at once"'
broken empty 'no event came, the reply begins: (empty)'
broken reset 'agent'
broken malformed 'expected a JSON object, found: {"content": "x", "tok'
broken no_object 'expected a JSON object, found: hello'
broken bad_ids 'expected token ids'
broken error_event 'the server says: the sheep escaped'
broken old_error 'the server says: the old sheep escaped'
broken cut 'after 2 of 6 tokens'
broken early_end 'the stream ended after 2 of 6 tokens'
broken fewer '5 tokens instead of the 6 that were asked for (stopped: eos)'
broken more 'more tokens than the 6'
broken bad_counts 'the server counts 0 reused and 53 computed tokens of a prompt of 48'
broken bos 'the server counts 49 prompt tokens, 48 were sent'
broken stall 'after 2 of 6 tokens: Operation timed out' --timeout 2
is "broken: validate leaves all of them out" python3 -c '
import json
runs = [json.loads(line) for line in open("broken/runs.jsonl")]
assert len(runs) == 17 and all(len(r["errors"]) == 1 for r in runs), len(runs)'
run validate broken --card $CARD
is "broken: validate says why" test "$(grep -c 'errors: the client recorded 1' out err | awk -F: '{ n += $2 } END { print n }')" -ge 1

# ---- interrupted ----

for signal in INT TERM; do
    serve --token-ms 200 --no-erase
    before=$(cat runs/runs.jsonl runs/sessions/* | cksum)
    "$RATECAST_BENCH" session --url "$URL" -K 2 -H 3 -P 40 --turn-out 30 -o runs >out 2>err </dev/null &
    recorder=$!
    await log.jsonl.started
    kill -$signal $recorder
    wait $recorder
    code=$?
    is "$signal: exit 130" test $code -eq 130
    is "$signal: said" grep -qF 'interrupted: the run is dropped' err
    is "$signal: earlier runs stay as they were" test "$(cat runs/runs.jsonl runs/sessions/* | cksum)" = "$before"
    rm -f log.jsonl.started
    "$RATECAST_BENCH" session --url "$URL" -K 2 -H 3 -P 40 --turn-out 30 -o fresh >out 2>err </dev/null &
    recorder=$!
    await log.jsonl.started
    kill -$signal $recorder
    wait $recorder
    is "$signal: a folder that it made is gone" test ! -e fresh
done
is "nothing is left beside the files" test -z "$(find runs broken -type f ! -name '*.jsonl')"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
