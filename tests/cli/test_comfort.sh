#!/bin/sh
# What makes the program pleasant to use, from the outside: figures, diff, init, --explain-assumptions, sweeps.
#
# RATECAST: the program, REPO: the source folder. Expected values are counted from the shipped files or worked out here.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"

bad() { # NAME TEXTS ARGS...: exit 2, nothing on stdout, one message that holds the texts
    name=$1 texts=$2
    shift 2
    run "$@"
    missing=$(lacks err "$texts")
    if [ "$code" -ne 2 ]; then fail "$name" "exit code $code, expected 2"
    elif [ -s out ]; then fail "$name" "standard output is not empty"
    elif [ "$(wc -l <err)" -ne 1 ]; then fail "$name" "$(wc -l <err) lines on stderr, expected 1"
    elif [ -n "$missing" ]; then fail "$name" "the message lacks '$missing'"
    else pass
    fi
}

ends() { # NAME CODE ARGS...: that exit code, some output, silent stderr
    name=$1 want=$2
    shift 2
    run "$@"
    if [ "$code" -ne "$want" ]; then fail "$name" "exit code $code, expected $want"
    elif [ ! -s out ]; then fail "$name" "no output"
    elif [ -s err ]; then fail "$name" "stderr is not empty"
    else pass
    fi
}

holds() { # NAME TEXTS: the last output holds all of them
    missing=$(lacks out "$2")
    if [ -n "$missing" ]; then fail "$1" "the output lacks '$missing'"; else pass; fi
}

is_json() { # NAME: the last output is JSON
    if command -v python3 >/dev/null; then is "$1 is JSON" python3 -m json.tool out
    else echo "SKIPPED: $1 is JSON (no python3)"
    fi
}

py() { # NAME CODE: exits 0
    if command -v python3 >/dev/null; then is "$1" python3 -c "$2"
    else echo "SKIPPED: $1 (no python3)"
    fi
}

# sed that must change something: an edit that matches nothing would test the good file
edit() { # FROM TO SCRIPT
    sed -e "$3" "$1" >"$2"
    if cmp -s "$1" "$2"; then fail "edit $3" "changes nothing in $1"; fi
}

# ---- figures ----

list=$REPO/reports/figures.json scenarios=$REPO/scenarios
listed=$(grep -c '^  {"id"' "$list")
ends "figures" 0 figures --list "$list" --scenarios "$scenarios"
holds "figures counts" "$listed figures: |$(grep -c '"does_not_follow"' "$list") do not follow|$(grep -c '"given"' "$list") given|, 0 differ"
is "figures prints a row for each" test "$(grep -c '^|' out)" -eq $((listed + 2))
ends "figures --json" 0 figures --list "$list" --scenarios "$scenarios" --json
is_json "figures --json"
py "figures --json has every figure, in order, with a reason where there is one" "
import json
l = json.load(open('$list'))['figures']
d = json.load(open('out'))
assert d['schema'] == 'ratecast.figures-result/1' and d['summary']['differs'] == 0
assert [f['id'] for f in d['figures']] == [f['id'] for f in l]
assert sum(d['summary'].values()) == len(l)
for f, g in zip(d['figures'], l):
    assert f['printed'] == g['printed']
    assert f['status'] == 'given' if 'given' in g else 'value' in f and f['regenerated']
    assert f.get('reason') == g.get('given', g.get('does_not_follow'))"
cp out first
run figures --list "$list" --scenarios "$scenarios" --json -o written.json
is "figures -o writes the same" cmp first written.json
run figures --list "$list" --scenarios "$scenarios" --json
is "figures twice: the same bytes" cmp first out
(cd "$REPO" && "$RATECAST" figures --json) >out 2>err
is "figures finds the shipped list and scenarios" cmp first out

edit "$list" doctored.json 's/"printed": "393.8"/"printed": "393.9"/'
ends "figures of a doctored list" 1 figures --list doctored.json --scenarios "$scenarios"
holds "the doctored figure differs" ', 1 differ'
is "the doctored figure shows both values" sh -c 'grep -F "| differs " out | grep -qE "\| +393\.9 \| +393\.8 \|"'
ends "figures --json of a doctored list" 1 figures --list doctored.json --scenarios "$scenarios" --json
is_json "figures --json of a doctored list"
ends "figures -o of a doctored list is written" 1 figures --list doctored.json --scenarios "$scenarios"
run figures --list doctored.json --scenarios "$scenarios" -o written.txt
is "figures -o of a doctored list holds it" sh -c 'grep -q "1 differ" written.txt'
is "figures -o of a doctored list exits 1" test "$code" -eq 1
edit "$list" doctored.json 's/, "does_not_follow": "the totals[^"]*"//'
ends "figures with its reasons taken away" 1 figures --list doctored.json --scenarios "$scenarios"
holds "two figures lost their reason" ', 2 differ'
edit "$list" doctored.json 's|"value": "h4k/fak-native.prefix_evals"|"value": 1|'
bad "figures with a number in an expression" 'doctored.json#/figures/0/value|expected a reference' \
    figures --list doctored.json --scenarios "$scenarios"
edit "$list" doctored.json 's|ratecast.figures/1|ratecast.figures/9|'
bad "figures of a later format" 'doctored.json#/schema|ratecast.figures/9' figures --list doctored.json
bad "figures of a scenario" 'head_to_head_4k.json#/schema|ratecast.scenario/1' figures --list "$scenarios/head_to_head_4k.json"
bad "figures without its list" 'gone.json|No such file' figures --list gone.json
bad "figures without its scenarios" 'nowhere/published/head_to_head_4k.json|No such file' \
    figures --list "$list" --scenarios nowhere
echo '{"schema": ' >broken.json
bad "figures of half a list" 'broken.json:' figures --list broken.json
bad "figures with an operand" '"x"|expected' figures x

# Copies, so that a broken refusal costs nothing.
cp "$list" list.json
cp -R "$scenarios" scenarios
cp -R "$REPO/rates" rates
for input in list.json scenarios/head_to_head_4k.json scenarios/published/cache_ab.json \
    rates/qwen2.5-7b-instruct-q8_0-m3pro.json; do
    [ -f "$input" ] || { fail "figures -o" "no file $input"; continue; }
    cp "$input" kept
    bad "figures -o onto $input" "--output|$input is an input|expected another file" \
        figures --list list.json --scenarios scenarios --rates rates -o "$input"
    is "figures leaves $input" cmp "$input" kept
done

# ---- diff ----

base=$scenarios/head_to_head_4k.json
ends "a result" 0 project "$base" --json
cp out a.json
cp out same.json
ends "another result" 0 project "$base" --set workload.K=8 --json
cp out b.json
ends "diff of equal results" 0 diff a.json same.json
is "diff of equal results says so" grep -qE '^0 values differ, [1-9][0-9]* are the same$' out
is "diff of equal results has no table" sh -c '! grep -q "^|" out'
ends "diff --strict of equal results" 0 diff --strict a.json same.json
ends "diff of different results" 0 diff a.json b.json
is "diff shows K" grep -qE '^\| workload/K +\| +4 \| +8 \| \+4 \(\+100\.00 %\) +\|' out
is "diff shows the hash or the overrides" grep -q '^| inputs/overrides/0 ' out
is "diff shows both arms" sh -c 'grep -q "^| arms/fak-native/wall_s " out && grep -q "^| arms/llama.cpp/wall_s " out'
ends "diff --strict of different results" 1 diff --strict a.json b.json
ends "diff --json" 0 diff a.json b.json --json
is_json "diff --json"
py "diff --json has numbers as numbers and nothing that is equal" "
import json
a, b, d = (json.load(open(f)) for f in ('a.json', 'b.json', 'out'))
arm = lambda r, n: next(x for x in r['arms'] if x['name'] == n)
c = {x['path']: x for x in d['changes']}
assert d['schema'] == 'ratecast.diff/1' and d['same_n'] > 0
for n in 'fak-native', 'llama.cpp':
    x = c['arms/%s/wall_s' % n]
    assert x['a'] == arm(a, n)['wall_s'] and x['b'] == arm(b, n)['wall_s'] and abs(x['change'] - (x['b'] - x['a'])) < 1e-9
    assert abs(x['change_frac'] - (x['b'] / x['a'] - 1)) < 1e-12
assert 'workload/P' not in c and all(x.get('a') != x.get('b') for x in d['changes'])"
ends "diff --json --strict" 1 diff a.json b.json --json --strict
run diff a.json b.json -o written.txt
"$RATECAST" diff a.json b.json >out 2>err
is "diff -o writes the same" cmp out written.txt

# Arms go by name: turned round they are equal, and a value that changes in one is found under its name.
if command -v python3 >/dev/null; then
    python3 -c "
import json
r = json.load(open('a.json'))
r['arms'].reverse()
json.dump(r, open('turned.json', 'w'))
r['arms'][0]['wall_s'] += 1
json.dump(r, open('turned1.json', 'w'))"
    ends "diff of arms in another order" 0 diff --strict a.json turned.json
    ends "diff of arms in another order, one value changed" 1 diff --strict a.json turned1.json
    is "the changed value goes by its arm's name" grep -qE '^\| arms/llama\.cpp/wall_s .*\| \+1 \(' out
    is "it is the only one" grep -q '^1 values differ' out
fi
printf '{"schema": "ratecast.result/1", "arms": [{"name": "a", "x": 1}, {"name": "b", "x": 2}]}' >l.json
printf '{"schema": "ratecast.result/1", "arms": [{"name": "b", "x": 2}, {"name": "c", "x": 1}]}' >r.json
ends "diff with an arm more and one less" 0 diff l.json r.json
holds "each side's own arm" 'arms/a/x|only in the first|arms/c/x|only in the second|4 values differ, 3 are the same'
# Terms that stand twice in a list pair up in their order.
printf '{"schema": "ratecast.result/1", "l": [{"term": "t", "value": 1}, {"term": "t", "value": 2}]}' >l.json
printf '{"schema": "ratecast.result/1", "z": 0, "l": [{"term": "s"}, {"term": "t", "value": 1}, {"term": "t", "value": 2}]}' >r.json
ends "diff of a term that stands twice" 0 diff l.json r.json
holds "only what was added differs" '2 values differ, 5 are the same'

# Nine digits and more: full precision in and out.
printf '{"schema": "ratecast.result/1", "a": 557.127292381, "b": 123456789012, "c": 0.1234567891}' >l.json
printf '{"schema": "ratecast.result/1", "a": 557.127292382, "b": 123456789013, "c": 0.1234567892}' >r.json
ends "diff at the last digit" 0 diff l.json r.json
holds "values at their digits" '557.127292381|557.127292382|123456789012|123456789013|0.1234567891|0.1234567892|3 values differ, 1 are the same'
ends "diff --json at the last digit" 0 diff l.json r.json --json
holds "JSON values at their digits" '557.127292381|557.127292382|123456789012|123456789013|0.1234567891|0.1234567892'
# A change that a double cannot hold is left out, not printed as infinity.
printf '{"schema": "ratecast.result/1", "a": -1e308, "b": 5e-324}' >l.json
printf '{"schema": "ratecast.result/1", "a": 1e308, "b": 1e300}' >r.json
ends "diff of extremes" 0 diff l.json r.json
is "no infinite percentage" sh -c '! grep -qi "inf %" out'
ends "diff --json of extremes" 0 diff l.json r.json --json
is_json "diff --json of extremes"

printf '{"schema": "ratecast.result/1", "arms": [{"name": "a", "x": 1e400}]}' >l.json
bad "diff of infinity" 'l.json: arms/a/x|infinite' diff r.json l.json --json
bad "diff with a scenario" 'head_to_head_4k.json#/schema|ratecast.scenario/1|ratecast.result/1' diff a.json "$base"
bad "diff with a scenario first" 'head_to_head_4k.json#/schema|ratecast.scenario/1' diff "$base" a.json
run project "$scenarios/cache_ab.json" --json -o sweep.json
bad "diff with a sweep" 'sweep.json#/schema|ratecast.sweep/1' diff a.json sweep.json
bad "diff with no JSON" 'broken.json:1:12:' diff a.json broken.json
echo '[]' >array.json
bad "diff with an array" 'array.json#' diff array.json a.json
echo '{}' >object.json
bad "diff with an empty object" 'object.json#|schema' diff a.json object.json
bad "diff with a missing file" 'gone.json|No such file' diff a.json gone.json
bad "diff with a folder" 'scenarios|directory' diff scenarios a.json
bad "diff without files" 'expected RESULT_A RESULT_B' diff
bad "diff with one operand" 'expected RESULT_A RESULT_B' diff a.json
bad "diff with three files" '"b.json"|expected at most 2' diff a.json a.json b.json
for input in a.json b.json; do
    cp "$input" kept
    bad "diff -o onto $input" "--output|$input is an input|expected another file" diff a.json b.json -o "$input"
    is "diff leaves $input" cmp "$input" kept
done
bad "diff -o onto an input by another name" '--output|is an input' diff a.json b.json -o ./rates/../a.json

# ---- init ----

ends "init" 0 init
cp out first
is_json "init"
run init -o my.json
is "init -o exits 0 and is silent" test "$code" -eq 0 -a ! -s out -a ! -s err
is "init -o writes what init prints" cmp first my.json
ends "init's scenario loads" 0 check my.json
ends "init's scenario projects" 0 project my.json
holds "init's scenario has both arms" 'shared|per-slot|wall-clock'
ends "init's scenario projects as JSON" 0 project my.json --json
ends "init's notes do not stop --set" 0 project my.json --set workload.K=2 --set arms.per-slot.slots_n=1 \
    --set assumptions.host_step_s.value=0.001
echo precious >taken.json
cp taken.json kept
bad "init -o of a file that exists" '--output|taken.json exists' init -o taken.json
is "init leaves the file" cmp taken.json kept
bad "init -o of a folder" '--output|scenarios exists' init -o scenarios
bad "init -o in a missing folder" 'nowhere/my.json|No such file' init -o nowhere/my.json
bad "init with an operand" '"x.json"|expected' init x.json

# ---- project --explain-assumptions ----

ends "explain" 0 project "$base" --explain-assumptions
sed -n '/^Assumptions explained$/,$p' out >explained
terms=$(grep -o '"term": "[a-z0-9_]*"' "$base" | cut -d'"' -f4)
is "the 4k scenario has terms" test -n "$terms"
for arm in fak-native llama.cpp; do
    for term in $terms; do
        is "explains $term of $arm" grep -qE "^\| $arm +\| $term +\| [a-z].*\| ASSUMED +\| [a-zA-Z0-9]" explained
    done
done
is "explains nothing else" test "$(grep -c '^|' explained)" -eq $((2 + 2 * $(echo "$terms" | wc -l)))
# 10 % more prefill rate: fak-native's wall is 296.9 s of prefill and 260.2 s of decode, so -(296.9 / 11) of 557.1
is "explains by how much" grep -qE '^\| fak-native \| prefill_tok_s .*wall-clock -4\.8[45] %' explained
sed '/^Assumptions explained$/,$d' out | sed '$d' >before
"$RATECAST" project "$base" >plain 2>err
is "explaining leaves the report as it is" cmp before plain
ends "explain in Markdown" 0 project "$base" --explain-assumptions --md
ends "explain one arm" 0 project "$base" --explain-assumptions --arm llama.cpp
sed -n '/^Assumptions explained$/,$p' out | grep '^|' >explained
is "explain one arm only" test "$(wc -l <explained)" -eq $((2 + $(echo "$terms" | wc -l))) -a "$(grep -c fak-native explained)" -eq 0
ends "explain without assumptions" 0 project --card qwen2-7b-like-q8_0-h200-split -K 2 -H 2 --explain-assumptions
holds "explain without assumptions says so" 'Assumptions explained|none: every price comes from the card'
bad "explain with --json" '--explain-assumptions|--md' project "$base" --explain-assumptions --json
bad "explain with --csv" '--explain-assumptions|--md' project "$base" --explain-assumptions --csv

# ---- sweeps and --strict ----

sweep=$scenarios/cache_ab.json
ends "a sweep" 0 project "$sweep"
holds "a sweep names its values" 'sweep     workload.K over 1, 4, 8, 12, 16'
is "a sweep has a row for each value and arm" test "$(sed -n '/^| workload.K /,/^$/p' out | grep -c '^|')" -eq $((2 + 5 * 2))
ends "a sweep as JSON" 0 project "$sweep" --json
holds "a sweep as JSON is a sweep" '"ratecast.sweep/1"'
ends "--set of the swept path" 0 project "$sweep" --set workload.K=2 --json
holds "--set of the swept path gives one result" '"ratecast.result/1"|"K": 2|workload.K=2'
ends "--set of the swept path, as text" 0 project "$sweep" --set workload.K=2
is "--set of the swept path switches the sweep off" sh -c '! grep -q "^sweep " out && grep -q "K = 2 agents" out'
ends "--set of another path keeps the sweep" 0 project "$sweep" --set workload.P=2048
holds "--set of another path keeps the values" 'sweep     workload.K over 1, 4, 8, 12, 16|P = 2048'
# a path that only begins like the swept one
ends "--set of a longer path keeps the sweep" 0 project "$sweep" --set workload.turn_delta_in_tok=128
holds "--set of a longer path keeps the values" 'sweep     workload.K'
ends "an arm with a dot in its name" 0 project "$base" --set arms.llama.cpp.slots_n=2 --json
holds "an arm with a dot in its name is set" 'arms.llama.cpp.slots_n=2|"slots_n": 2'
bad "an arm with a dot, misspelt" '--set arms.llama.cp.slots_n=2|"llama"' project "$base" --set arms.llama.cp.slots_n=2

# ---- arms that do not fit: said beside the peak, with both figures and what it makes of the gain ----

ends "over the card's memory" 0 project --card qwen2.5-7b-instruct-q8_0-m3pro -K 200 -H 2 -P 8192
holds "over the card's memory: marked" '‡ Does not fit the memory|the device has 36864.0 MiB|it cannot run, and a gain over it is over an arm that cannot run|1 BROKEN (I-MEMORY)'
is "over the card's memory: the peak's cell" sh -c 'grep "^| peak memory " out | grep -q "‡"'
is "over the card's memory: the arm that fits is not named" sh -c '! grep -q "^- shared: peak memory" out'
ends "over the card's memory, --md" 0 project --card qwen2.5-7b-instruct-q8_0-m3pro -K 200 -H 2 -P 8192 --md
holds "over the card's memory, --md: said" '- per-slot: peak memory is'
ends "over the card's memory, --strict" 1 project --card qwen2.5-7b-instruct-q8_0-m3pro -K 200 -H 2 -P 8192 --strict
ends "over the budget" 0 project "$sweep" --set workload.K=100
holds "over the budget: the budget is named" "- cache-off: peak memory is|the scenario's budget is 27648.0 MiB"
ends "over the budget, as JSON" 0 project "$sweep" --set workload.K=100 --json
holds "over the budget, as JSON: fields" '"limit_from": "budget"|"fits": "no"|"fits": "yes"|"limit_bytes": 28991029248'
ends "a sweep over its budget" 0 project "$scenarios/published/cache_ab.json"
holds "a sweep over its budget: which value" '- cache-off, workload.K = 16: peak memory is'
ends "within memory" 0 project "$sweep" --set workload.K=4
is "within memory: nothing is said" sh -c '! grep -q "‡" out'

ends "the published 4k" 0 project "$scenarios/published/head_to_head_4k.json"
ends "--strict on the published 4k" 1 project --strict "$scenarios/published/head_to_head_4k.json"
ends "--strict --json on the published 4k" 1 project --strict --json "$scenarios/published/head_to_head_4k.json"
is_json "--strict --json"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
