#!/bin/sh
# `ratecast fit`, `validate` and scenarios of engine llama-server from the outside: exit codes, places, and that a
# fitted card differs from the old one in its host terms only. RATECAST: the program, REPO: the source folder.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
SPLIT=qwen2-7b-like-q8_0-h200-split

# ---- a folder of runs that their summaries tell ----

summary() { # ID USE K P WALL WARM_P50
    printf '{"run_id": "%s", "use": "%s", "machine": "gpu-h200", "config": {"model": "qwen2-7b-like", "arm": "slot-isolated", "K": %s, "H": 6, "P": %s, "din": 64, "out": 32}, "server_args": ["-np", "%s", "-no-kvu"], "wall_s": %s, "itl_p50_ms": 6, "ttft_s": {"warm": {"n": 5, "p50": %s, "p95": 0.1}}}\n' \
        "$1" "$2" "$3" "$4" "$3" "$5" "$6"
}
mkdir -p good/sessions
: >good/sessions/a.jsonl
{ summary one calibrate 1 4096 1.5 0.026; summary two calibrate 2 2048 2.0 0.03; summary four calibrate 4 1024 2.6 0.04
  summary first score 3 2048 2.4 0.035; summary second score 4 512 2.5 0.04; } >good/runs.jsonl

# ---- fit ----

fit() { run fit "$@" --session good --summaries; }

fit $SPLIT -o fitted.json
is "fit: exit 0" test $code -eq 0
is "fit: fewer terms than runs" grep -q '2 terms from 3 calibrate runs' out
is "fit: what is missing" grep -q 'Not identified by these runs: .*graph_s (add a calibrate run)' out
is "fit: the score runs are not in it" test -z "$(grep -E '\| (first|second) ' out)"
is "fit: check accepts the card" "$RATECAST" check fitted.json
is "fit: the old terms stand on one line" test "$(grep -c '"host_terms"' "$REPO/rates/$SPLIT.json")" -eq 1
diff "$REPO/rates/$SPLIT.json" fitted.json >difference
is "fit: something changed" test -s difference
is "fit: only the host terms" test -z "$(grep '^[<>]' difference | grep -v '^[<>]   *"host_terms": {.*},$')"
is "fit: names its runs" grep -q '"runs":\["one","two","four"\]' fitted.json
cp fitted.json once.json
fit ./fitted.json -o fitted.json
is "fit twice, in place: exit 0" test $code -eq 0
is "fit twice, in place: the same bytes" cmp once.json fitted.json
# a card without host terms gets them before its points
awk '/"host_terms"/ { next } { print }' once.json >bare.json
is "bare card: check accepts it" "$RATECAST" check bare.json
fit ./bare.json -o bare-fitted.json
is "bare card: exit 0" test $code -eq 0
is "bare card: check accepts what was written" "$RATECAST" check bare-fitted.json
grep -v '"host_terms"' bare-fitted.json >rest.json
is "bare card: the rest stands" cmp bare.json rest.json
# host terms that stand last
awk '/^ *"host_terms"/ { sub(/,$/, ""); last = $0; next } /^}/ { print last; print; next } { line[NR] = $0; print }' once.json |
    awk '{ if (held != "" && $0 ~ /"host_terms"/) { print held ","; held = $0 } else { if (NR > 1) print held; held = $0 } } END { print held }' >last.json
is "host terms last: check accepts it" "$RATECAST" check last.json
fit ./last.json -o last-fitted.json
is "host terms last: exit 0" test $code -eq 0
is "host terms last: check accepts what was written" "$RATECAST" check last-fitted.json
fit ./bare.json
is "without -o: exit 0" test $code -eq 0
is "without -o: a report" grep -q 'sample_s = ' out
fit $SPLIT --repeat-spread 2
refused "fit --repeat-spread 2" '--repeat-spread' 'expected a fraction'
mkdir -p few/sessions
: >few/sessions/a.jsonl
head -1 good/runs.jsonl >few/runs.jsonl
run fit $SPLIT --session few --summaries -o none.json
refused "fit to one run" 'found 1 calibrate run'
is "fit to one run: nothing was left out" sh -c '! grep -q "left out" err'
run fit $SPLIT --session good
refused "fit without the summaries" 'found 0 calibrate runs' 'of the 3 marked calibrate 3 are left out, session records are missing or incomplete' '(one and others)'
mkdir -p crowded/sessions
: >crowded/sessions/a.jsonl
{ head -2 good/runs.jsonl; summary four calibrate 4 1024 2.6 0.04 | sed 's/"-np", "4"/"-np", "3"/'; } >crowded/runs.jsonl
run fit $SPLIT --session crowded --summaries
is "fit: exit 0 with a run left out" test $code -eq 0
is "fit: names the run that it left out" grep -qx -e '- 3 slots for 4 agents: four' out
{ head -1 good/runs.jsonl; summary four calibrate 4 1024 2.6 0.04 | sed 's/"-np", "4"/"-np", "3"/'; } >crowded/runs.jsonl
run fit $SPLIT --session crowded --summaries
refused "fit to one of two" 'found 1 calibrate run of' 'of the 2 marked calibrate 1 is left out, 3 slots for 4 agents (four)'
is "fit to one run: no file" test ! -e none.json
printf '{"schema": "ratecast.rate-card/1", "id": "heir", "title": "t", "method": "engine", "provenance": "witnessed", "source": "t", "extends": "%s"}\n' $SPLIT >heir.json
fit ./heir.json -o none.json
is "fit of a card that has no points of its own: exit 2" test $code -eq 2
is "fit of a card that has no points of its own: silent stdout" test ! -s out
is "fit of a card that has no points of its own: says what to do" grep -q 'heir.json: .*fit the card that it extends' err
is "fit of a card that has no points of its own: no file" test ! -e none.json

# ---- validate ----

run validate good --summaries --card $SPLIT
is "validate: exit 0" test $code -eq 0
is "validate: both score runs" test "$(grep -cE '^\| (first|second) ' out)" -eq 2
is "validate: none of the calibrate runs" test "$(grep -cE '^\| (one|two|four) ' out)" -eq 0
is "validate: says that a summary was used" grep -q 'from the run.s own summary' out
cp out text
run validate good --summaries --card $SPLIT
is "validate: the same again" cmp text out
is "validate: an interval with host terms" grep -q '| wall s | *90 % interval |' out
run validate good --summaries --card ./bare.json
is "validate, a card without host terms: by card scatter" grep -q '| wall s | *90 % by card scatter |' out
is "validate, a card without host terms: so does the share" grep -q '^90 % by card scatter: contains ' out
is "validate, a card without host terms: never an interval" sh -c '! grep -q "90 % interval" out'
run validate good --summaries --card ./bare.json --tsv
# shellcheck disable=SC2016 # of awk
is "validate, a card without host terms: the table of the picture" awk -F '\t' 'NR > 1 && $8 != 0 || NF != 9 { exit 1 }' out
sed '1s/{/{"simulated_device": true,/' bare.json >sim.json
run validate good --summaries --card ./sim.json
refused "a card of a simulated device" --allow-simulated-device
run validate good --summaries --card ./sim.json --allow-simulated-device
is "a simulated device, allowed: says so" grep -q '^\[SIMULATED DEVICE\]' out
run validate good --summaries --card ./sim.json --allow-simulated-device --json
is "a simulated device, allowed: JSON says so" test "$(grep -c '"simulated_device": true' out)" -eq 2
run validate good --summaries --card ./sim.json --allow-simulated-device --tsv
# shellcheck disable=SC2016 # of awk
is "a simulated device, allowed: the table of the picture" awk -F '\t' 'NR > 1 && $9 != 1 { exit 1 }' out
run validate good --summaries --card $SPLIT --json
is "a real device: JSON says nothing" sh -c '! grep -q simulated_device out'
run validate good --summaries --card $SPLIT --tsv
# shellcheck disable=SC2016 # of awk
is "validate, host terms: the table of the picture" awk -F '\t' 'NR > 1 && $8 != 1 || NF != 9 { exit 1 }' out
run validate good --summaries --card $SPLIT --use calibrate
is "validate --use calibrate" test "$(grep -cE '^\| (one|two|four) ' out)" -eq 3
run validate good --summaries --card $SPLIT --json
is "validate --json: exit 0" test $code -eq 0
is "validate --json: schema" grep -q '"schema": "ratecast.validate/1"' out
if command -v python3 >/dev/null; then
    is "validate --json parses" python3 -c '
import json, sys
d = json.load(open("out"))
sys.exit(not ([r["run_id"] for r in d["runs"]] == ["first", "second"] and d["summary"]["wall"]["n"] == 2
              and len(d["excluded"]) == 0 and all(r["wall_s"]["lo"] < r["wall_s"]["hi"] for r in d["runs"])))'
fi
run validate good --card $SPLIT
is "without --summaries: exit 0" test $code -eq 0
is "without --summaries: no empty tables" grep -qx 'No run is projected.' out
is "without --summaries: no share of nothing" sh -c '! grep -q "of the witnessed walls" out'
is "without --summaries: the reason" grep -q '^- session records are missing or incomplete: ' out
run validate absent --card $SPLIT
refused "missing folder" absent 'expected a folder'
run validate good
refused "no card" 'expected --card CARD'
run validate good --summaries --card $SPLIT --use some
refused "unknown --use" --use '"some"' 'score, calibrate or all'
run validate good --summaries --card qwen2-1.5b-like-q8_0-h200-split
refused "no matching card" runs.jsonl '(one: no card: model qwen2-7b-like, the card qwen2-1.5b-like'
run validate good --summaries --card $SPLIT-x
refused "unknown card" $SPLIT-x
mkdir -p bad/sessions
cp good/runs.jsonl bad
printf '{"run_id": "one", "agent": 0,\n' >bad/sessions/a.jsonl
run validate bad --summaries --card $SPLIT
refused "damaged session" sessions/a.jsonl:1 'expected'
printf '{"run_id": "one", "agent": "x"}\n' >bad/sessions/a.jsonl
run validate bad --summaries --card $SPLIT
refused "session with a wrong type" 'sessions/a.jsonl:1#/agent' 'found the string'
: >bad/sessions/a.jsonl
sed '2s/"H": 6/"H": 0/' good/runs.jsonl >bad/runs.jsonl
run validate bad --summaries --card $SPLIT
refused "run with a wrong value" 'runs.jsonl:2#/config/H' 'found 0'
# runs that the engine cannot replay are left out, the others are scored
{ cat good/runs.jsonl; summary crowd score 4 512 2.5 0.04 | sed 's/"-np", "4"/"-np", "3"/'; } >bad/runs.jsonl
run validate bad --summaries --card $SPLIT
is "fewer slots than agents: exit 0" test $code -eq 0
is "fewer slots than agents: the reason" grep -q '3 slots for 4 agents: crowd' out

# ---- scenarios of engine llama-server ----

scenario() { # ARM-KEYS
    printf '{"schema": "ratecast.scenario/1", "id": "t", "title": "t", "card": "%s", "workload": {"K": 2, "H": 3, "P": 1000, "turn_delta_in_tok": 50, "turn_out_tok": 20, "turn_shape": "delta_first"}, "arms": [{"name": "a", "batching": "continuous", %s}]}\n' $SPLIT "$1" >s.json
    run project s.json
}
OK='"engine": "llama-server", "kv_layout": "split", "prefix_reuse": "per_slot"'
scenario "$OK"
is "llama-server: exit 0" test $code -eq 0
is "llama-server: interval row" grep -qE '^\| wall-clock,? 90 % .*[0-9] to [0-9]' out
is "llama-server: host time is other" test -n "$(awk -F'|' '/device other/ && $4 + 0 > 0' out)"
scenario "$OK, \"n_batch\": 512, \"n_ubatch\": 256, \"warm\": \"restored\""
is "llama-server with its keys: exit 0" test $code -eq 0
for key in '"n_batch": 512' '"n_ubatch": 512' '"warm": "restored"'; do
    scenario "\"prefix_reuse\": \"per_slot\", $key"
    refused "$key without engine" s.json '#/arms/0' 'with engine llama-server only'
done
for key in '"prefill": "exclusive"' '"max_batch_tok": 512' '"block_tok": 16'; do
    scenario "$OK, $key"
    refused "$key with engine" s.json '#/arms/0'
done
scenario "$OK, \"prefill\": \"exclusive\""
refused "prefill with engine" '#/arms/0/prefill' 'engine llama-server does not take'
scenario '"engine": "llama-server", "prefix_reuse": "per_slot"'
refused "no kv_layout" '#/arms/0' 'kv_layout' 'split'
scenario "$OK, \"warm\": \"shared\""
refused "warm shared without reuse shared" '#/arms/0' 'prefix_reuse shared and warm shared together'
scenario '"engine": "llama-server", "kv_layout": "split", "prefix_reuse": "shared"'
refused "reuse shared without warm shared" '#/arms/0' 'prefix_reuse shared and warm shared together'
scenario "$OK, \"engine_\": 1"
refused "unknown key" '#/arms/0/engine_'
scenario "$OK, \"n_batch\": 0"
refused "n_batch 0" '#/arms/0/n_batch' 'found 0'
scenario "$OK, \"slots_n\": 1"
refused "fewer slots than agents" '1 slots for K = 2'
scenario "$OK, \"assumptions\": [{\"term\": \"prefill_tok_s\", \"value\": 1000, \"provenance\": \"assumed\", \"reason\": \"t\"}]"
refused "declared rate" 'engine llama-server prices micro-batches from the card'

# ---- runs that do not belong ----

for pair in '--json --md' '--json --tsv' '--md --tsv'; do
    # shellcheck disable=SC2086 # two words
    run validate good --summaries --card $SPLIT $pair
    refused "validate $pair" 'exclude each other'
done
mkdir -p odd/sessions
: >odd/sessions/a.jsonl
{ cat good/runs.jsonl; summary long score 4 1024 2.6 0.04 | sed 's/"-no-kvu"/"-no-kvu", "-c", "4096"/'
  summary bare score 2 1000 2.6 0.04 | sed 's/"wall_s": 2.6, //'; summary bare2 score 2 1000 2.6 0.04 | sed 's/"wall_s": 2.6, //'
  summary blink calibrate 2 1000 1e-300 0.04
  summary other score 2 512 2.6 0.04 | sed 's/gpu-h200/gpu-x/'; } >odd/runs.jsonl
run validate odd --summaries --card $SPLIT
is "odd runs: exit 0" test $code -eq 0
is "odd runs: the others stand" test "$(grep -cE '^\| (first|second) ' out)" -eq 2
# the sixth turn: 1024 + 6 * 64 + 5 * 32 + 32 = 1600 tokens
is "odd runs: more than the slot holds" grep -q 'needs 1600 tokens, a slot has 1024: long$' out
is "odd runs: no wall" grep -q 'its summary has no wall_s: bare and 1 more$' out
is "odd runs: a wall of nothing" grep -q 'a wall-clock of 1e-300 s: blink$' out
is "odd runs: another machine" grep -q "machine gpu-x, the card $SPLIT is of gpu-h200: other\$" out
run validate good --summaries --card $SPLIT --card $SPLIT
refused "a card given twice" "card $SPLIT is given twice"
grep -v '"host_terms"' "$REPO/rates/$SPLIT.json" | sed 's/"id": "gpu-h200", //' >nameless.json
run validate good --summaries --card ./nameless.json
refused "a card whose machine has no name" 'states no hardware.id'

# ---- plot: a stand-in for gnuplot, called as SCRIPT DATA PICTURE behind -d -c ----

plot() { run validate good --summaries --card $SPLIT --plot "$@"; }
mkdir fake
usual_path=$PATH
PATH=$T/fake:$PATH
# shellcheck disable=SC2016 # the stand-in expands them
gnuplot_is 'cp "$4" seen.tsv; echo picture >"$5"'
plot walls.svg
is "plot: exit 0" test $code -eq 0
is "plot: the picture" grep -qx picture walls.svg
is "plot: the text as well" grep -q 'first' out
is "plot: gnuplot saw both walls" test "$(grep -cE '^(first|second)	' seen.tsv)" -eq 2
run validate good --summaries --card $SPLIT --tsv
is "plot: of the table that --tsv prints" cmp seen.tsv out
# shellcheck disable=SC2016 # the stand-in expands them
for fault in 'exit 3' 'echo "line 3: warning" >&2; echo other >"$5"' ':' 'kill -9 $$'; do
    gnuplot_is "$fault"
    plot walls.svg
    is "plot, gnuplot does '$fault': exit 4" test $code -eq 4
    is "plot, gnuplot does '$fault': the old picture stands" grep -qx picture walls.svg
    is "plot, gnuplot does '$fault': nothing is left over" test "$(find . -name 'walls.svg*' | wc -l)" -eq 1
done
PATH=$usual_path
env PATH="$T/empty" "$RATECAST" validate good --summaries --card $SPLIT --plot walls.svg >out 2>err </dev/null
code=$?
is "plot without gnuplot: exit 4" test $code -eq 4
is "plot without gnuplot: says so" grep -q gnuplot err
plot walls.pdf
refused "plot of another format" '--plot' '.svg or .png'
plot walls.svg -o walls.svg
refused "plot over the output" 'walls.svg'
if command -v gnuplot >/dev/null; then
    plot real.svg
    is "plot by gnuplot: exit 0" test $code -eq 0
    is "plot by gnuplot: an SVG that names its axes" grep -q 'witnessed' real.svg
    cp real.svg again.svg
    plot real.svg
    is "plot by gnuplot: the same bytes again" cmp real.svg again.svg
    # how many runs lie in each band, its edges included; an arm without a card-only wall, a run without an interval
    walls() { # NAME SEEN:PROJECTED...
        made=$1
        shift
        printf 'run_id\tarm\twitnessed_s\tprojected_s\tlo_s\thi_s\tcard_only_s\twith_host\tsimulated\n' >"$made.tsv"
        for pair; do printf 'r\tarm\t%s\t%s\t%s\t%s\t0\t1\t0\n' "${pair%:*}" "${pair#*:}" "${pair#*:}" "${pair#*:}"; done >>"$made.tsv"
        LC_ALL=C.UTF-8 gnuplot -d -c "$REPO/plots/validate.gp" "$made.tsv" "$made.svg" >said 2>&1
        is "$made: drawn" test $? -eq 0
        is "$made: silent" test ! -s said
    }
    # 5 % off is 105 and 95 of 100, 10 % off 110 and 90
    walls edges 100:100 100:105 100:95 100:105.001 100:94.999 100:110 100:90 100:110.001 100:89.999 100:250
    is "edges: 3 and 7 of 10" grep -q 'inside ± 5 %: 3 of 10; inside ± 10 %: 7 of 10' edges.svg
    walls small 0.001:0.00105 0.001:0.0012
    is "small: 1 and 1 of 2" grep -q 'inside ± 5 %: 1 of 2; inside ± 10 %: 1 of 2' small.svg
    walls one 1000000:1000000
    is "one: 1 and 1 of 1" grep -q 'inside ± 5 %: 1 of 1; inside ± 10 %: 1 of 1' one.svg
    is "a real machine: no word of a simulated one" sh -c '! grep -q SIMULATED one.svg real.svg'
    # what an interval is of: host terms (1) or the card's scatter alone (0); one that is none counts for neither
    key() { # NAME LO:HI:WITH_HOST:SIMULATED...
        made=$1
        shift
        head -1 edges.tsv >"$made.tsv"
        for run; do
            saved=$IFS IFS=:
            # shellcheck disable=SC2086 # split at :
            printf 'r\tarm\t10\t10\t%s\t%s\t0\t%s\t%s\n' $run >>"$made.tsv"
            IFS=$saved
        done
        LC_ALL=C.UTF-8 gnuplot -d -c "$REPO/plots/validate.gp" "$made.tsv" "$made.svg" >said 2>&1
        is "$made: silent" test ! -s said
    }
    key host 9:11:1:0 10:10:0:0
    is "key of host terms" grep -q '<text>90 % interval</text>' host.svg
    key scatter 9:11:0:0 10:10:1:0
    is "key of the card's scatter" grep -q '<text>90 % by card scatter</text>' scatter.svg
    key mixed 9:11:0:0 9:11:1:1
    is "key of both" grep -q '<text>90 % interval or by card scatter</text>' mixed.svg
    is "title of a simulated device" grep -q '<text>SIMULATED DEVICE. Projected against' mixed.svg
    is "both bands in the key" sh -c 'grep -q "<text>.*± 5 %<" one.svg && grep -q "<text>.*± 10 %<" one.svg'
    is "no symbol of size 0, an SVG that some viewers refuse" sh -c '! grep -q "scale(0\.00" one.svg real.svg'
else
    echo "SKIPPED: gnuplot is not installed"
fi

# ---- fit without sessions ----

run fit $SPLIT
is "fit alone: exit 0" test $code -eq 0
is "fit alone: the four ways to leave out" test "$(grep -c 'points, median' out)" -eq 4
run fit smollm2-135m-m3pro-fak-cpu
is "fit of a card without decode: exit 0" test $code -eq 0
is "fit of a card without decode says so" grep -q 'decode, a batch size.*nothing can be left out' out
run fit qwen3.8-27b-q4_k_m-m3pro-llamacpp
refused "fit of a card that gives no curve" 'context'
for o in "--with $SPLIT" --summaries '--repeat-spread 0.1' '-o new.json'; do
    # shellcheck disable=SC2086 # two words
    run fit $SPLIT $o
    refused "fit $o without --session" '--session'
done
is "no card was written" test ! -e new.json

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
