#!/bin/sh
# `ratecast ledger` from the outside: what goes to which stream, exit codes, and that a ledger is only ever added to.
# RATECAST: the program, REPO: the source folder. Expected numbers are sums of the rows written here.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"

row() { # DATE TURNS PROMPT REUSED RATIO [MORE]
    printf '{"schema": "fak-cache-value-ledger/1", "date": "%s", "session_type": "run", "provider": "fak", "mechanism": "kv_prefix_reuse", "context": "c", "turns": %s, "prompt_tokens": %s, "reused_tokens": %s, "reuse_ratio": %s%s}\n' "$1" "$2" "$3" "$4" "$5" "${6-}"
}
same() { cmp "$1" "$2"; }
says() { grep -qF -e "$1" "${2:-out}"; }
first() { head -n 1 out | grep -qF -e "$1"; }
lacking() { ! grep -qiE "$1" "${2:-out}"; }

# ---- the document's row ----

row 2026-09-03 10 69632 61440 0.88234 ', "stats": {"turns": 10, "prompt_tokens": 69632, "reused_tokens": 61440, "reuse_ratio": 0.88234}' >doc.jsonl
run ledger fold doc.jsonl
is "document: exit 0" test $code -eq 0
is "document: verdict first" first 'MEASURED  0.88235 of the prompt tokens were reused: 61440 of 69632, in 1 row'
is "document: its week" says '| 2026-W36 |    1 |      69632 |      61440 | 0.88235 | new   | thin |'
is "document: the printed ratio is flagged" says 'ratecast: doc.jsonl:1: warning: reuse_ratio 0.88234 is neither rounded nor cut' err
is "document: with what it would be" says '61440 / 69632 = 0.882353' err
is "document: no multiple against naive" lacking 'naive|[0-9]x|speedup|multiple'
run ledger fold --strict doc.jsonl
is "document, --strict: exit 1" test $code -eq 1
is "document, --strict: still printed" first MEASURED
run ledger fold doc.jsonl --json
is "document, --json: exit 0" test $code -eq 0
is "document, --json: silent stderr" test ! -s err
for text in '"schema": "fak-cache-value-rollup/1"' '"ok": true' '"verdict": "MEASURED"' '"gate_prompt_tokens": 69632' \
    '"gate_reused_tokens": 61440' '"realized_reuse_ratio": 0.88235' '"kind": "ratio"' '"week": "2026-W36"'; do
    is "document, --json: $text" says "$text"
done
is "document, --json: no multiple against naive" lacking 'naive|_x"|speedup|multiple'
run ledger fold --json --strict doc.jsonl
is "document, --json --strict: exit 1" test $code -eq 1

# ---- streams and files ----

run ledger fold doc.jsonl
cp out want
"$RATECAST" ledger fold - <doc.jsonl >got 2>err
is "stdin gives the same" same want got
is "stdin is named in warnings" says '<stdin>:1: warning' err
run ledger fold doc.jsonl -o rollup.txt
is "-o: silent stdout" test ! -s out
is "-o: the same" same want rollup.txt
cp doc.jsonl kept
run ledger fold doc.jsonl -o doc.jsonl
refused "-o onto the ledger" 'is an input'
is "-o onto the ledger: untouched" same kept doc.jsonl
TZ=Asia/Tokyo LC_ALL=C.UTF-8 "$RATECAST" ledger fold doc.jsonl >got 2>err
is "another time zone: the same bytes" same want got
: >empty.jsonl
run ledger fold empty.jsonl
is "empty ledger: exit 0" test $code -eq 0
is "empty ledger: INSUFFICIENT" first INSUFFICIENT

# ---- weeks ----

{
    row 2026-09-13 2 100 60 0.6 ', "n": 1'
    row 2026-09-07 2 100 60 0.6
    row 2026-09-08 3 100 60 0.6
    row 2026-09-06 2 100 50 0.5
    row 2021-01-03 2 10 4 0.4
    row 2020-12-31 2 10 6 0.6
    row 2026-09-08 0 7 0 0
    row 2026-09-08 1 7 0 0
} >weeks.jsonl
run ledger fold weeks.jsonl
is "weeks: exit 0" test $code -eq 0
is "weeks: silent stderr" test ! -s err
is "weeks: sum" first '0.57143 of the prompt tokens were reused: 240 of 420, in 6 rows'
is "weeks: trend of the last" says 'improved, in 2026-W37'
is "weeks: every row accounted for" says '8 read: 6 counted, 0 not measured, 1 of 1 turn, 1 of 0 turns, 0 duplicates'
is "weeks: in order" test "$(grep -o '20..-W..' out | tail -n 3 | tr '\n' ' ')" = '2020-W53 2026-W36 2026-W37 '
is "weeks: three rows are not thin" test "$(grep -c thin out)" -eq 2
run ledger fold weeks.jsonl --json
grep -vE '"(file|sha256|line)"' out >want
sort -r weeks.jsonl >turned.jsonl
run ledger fold turned.jsonl --json
grep -vE '"(file|sha256|line)"' out >got
is "the order of rows does not matter" same want got
head -n 3 weeks.jsonl >a.jsonl
tail -n +4 weeks.jsonl >b.jsonl
run ledger fold weeks.jsonl
cp out want
run ledger fold b.jsonl a.jsonl
is "files do not matter" same want out
run ledger fold a.jsonl b.jsonl a.jsonl
is "a file twice: its figures once" says '0.57143 of the prompt tokens were reused: 240 of 420, in 6 rows'
is "a file twice: said" test "$(grep -c 'again, not counted' err)" -eq 3
is "a file twice: where" says 'a.jsonl:1: warning: the row of a.jsonl:1 again' err
sed 's/$/\r/' weeks.jsonl >crlf.jsonl
run ledger fold crlf.jsonl
is "CRLF" same want out
{ echo; head -n 7 weeks.jsonl; echo ' '; tail -n 1 weeks.jsonl | tr -d '\n'; } >loose.jsonl
run ledger fold loose.jsonl
is "blank lines, no last end" same want out

# ---- modeled rows ----

row 2026-09-08 8 1000 1000 1 ', "provenance": "modeled"' >modeled.jsonl
run ledger fold modeled.jsonl
is "modeled alone: exit 0" test $code -eq 0
is "modeled alone: INSUFFICIENT" first INSUFFICIENT
is "modeled alone: never MEASURED" test "$(grep -c '^MEASURED' out)" -eq 0
is "modeled alone: says so" says 'MODELED   1000 of 1000 prompt tokens reused, 1.00000, in 1 row that nobody measured'
run ledger fold weeks.jsonl modeled.jsonl
is "modeled beside: folded apart" first '0.57143 of the prompt tokens were reused: 240 of 420, in 6 rows'
is "modeled beside: says so" says 'in 1 row that nobody measured'
run ledger fold modeled.jsonl --json
is "modeled, --json: verdict" says '"verdict": "INSUFFICIENT"'
is "modeled, --json: apart" says '"not_measured": {'
is "modeled, --json: no ratio" says '"realized_reuse_ratio": null'

# ---- faults ----

bad() { # NAME ROW TEXT...
    name=$1
    { row 2026-09-08 2 100 60 0.6; echo "$2"; } >bad.jsonl
    shift 2
    run ledger fold bad.jsonl -o untouched.txt
    refused "$name" "$@"
    is "$name: no file" test ! -e untouched.txt
}
bad "no JSON" 'words' 'bad.jsonl:2:1: found "words"'
bad "cut off" '{"schema": "fak-cache' 'bad.jsonl:2:12: string without an end'
bad "schema" '{"schema": "ratecast.result/1"}' 'bad.jsonl:2#/schema' 'expected "fak-cache-value-ledger/1"'
bad "30 February" "$(row 2026-02-30 2 1 0 0)" 'bad.jsonl:2#/date' 'found "2026-02-30"' 'YYYY-MM-DD'
bad "month 13" "$(row 2026-13-01 2 1 0 0)" 'bad.jsonl:2#/date' 'found "2026-13-01"'
bad "short date" "$(row 2026-9-3 2 1 0 0)" 'bad.jsonl:2#/date' 'found "2026-9-3"'
bad "negative" "$(row 2026-09-03 -2 1 0 0)" 'bad.jsonl:2#/turns' 'found -2'
bad "not whole" "$(row 2026-09-03 2 1.5 0 0)" 'bad.jsonl:2#/prompt_tokens' 'found 1.5'
bad "reused over prompt" "$(row 2026-09-03 2 1 2 1)" 'bad.jsonl:2#/reused_tokens' 'found 2, expected at most'
bad "ratio" "$(row 2026-09-03 2 1 1 1.5)" 'bad.jsonl:2#/reuse_ratio' 'found 1.5'
bad "stats" "$(row 2026-09-03 2 1 1 1 ', "stats": []')" 'bad.jsonl:2#/stats'
{ printf '\357\273\277'; row 2026-09-08 2 100 60 0.6; } >bom.jsonl
run ledger fold bom.jsonl
refused "byte order mark" 'bom.jsonl:1:1' 'byte order mark'
run ledger fold doc.jsonl bad.jsonl
is "a good file before it: silent stdout" test ! -s out
run ledger fold gone.jsonl
refused "no such file" gone.jsonl 'No such file'

# ---- usage ----

run ledger
refused "nothing" 'fold FILE... | add'
run ledger flod doc.jsonl
refused "a wrong form" 'nearest is "fold"'
run ledger fold
refused "fold of nothing" 'expected FILE'
run ledger fold doc.jsonl --date 2026-09-03
refused "fold with an option of add" '--date' 'ledger add'
run ledger add --json --date 2026-09-03
refused "add with an option of fold" '--json' 'ledger fold'
run ledger add --date 2026-09-03
refused "add of nothing" '--result and --witness'
run help ledger
is "help: exit 0" test $code -eq 0
for text in 'ledger fold FILE...' 'ledger add --result' 'ledger add --witness' 'examples:' '--strict'; do
    is "help: $text" says "$text"
done

# ---- add: a projection ----

run project --card qwen2-7b-like-q8_0-h200-split -K 3 -H 4 -P 1000 --json -o result.json
# shared prefix, delta_first, 128 in and 64 out a turn: 3 agents of prompts P + 128, + 192 more each turn
# = 3 * (4 * 1128 + 192 * (0 + 1 + 2 + 3)) = 16992 tokens; naive reuses none
run ledger add --result result.json --arm naive --date 2026-09-03
is "add: exit 0" test $code -eq 0
is "add: one line" test "$(wc -l <out)" -eq 1
for text in '"date":"2026-09-03"' '"turns":12' '"prompt_tokens":16992' '"reused_tokens":0' '"provenance":"modeled"' \
    '"context":"command-line/naive"'; do
    is "add: $text" says "$text"
done
cp out want
run ledger add --result result.json --arm naive --date 2026-09-03 -o new.jsonl
is "add -o: silent stdout" test ! -s out
is "add -o: a new ledger" same want new.jsonl
run ledger add --result result.json --arm naive --date 2026-09-03 -o new.jsonl
refused "add -o: the same row again" 'new.jsonl:1' 'is this row already'
is "add -o: nothing was added" same want new.jsonl
run ledger add --result result.json --arm shared --date 2026-09-03 --context 'ein Käse "x"' -o new.jsonl
is "add -o: a second row" test "$(wc -l <new.jsonl)" -eq 2
is "add -o: --context" says 'ein Käse \"x\"' new.jsonl
run ledger fold new.jsonl
is "add -o: fold reads it" test $code -eq 0
is "add -o: without a warning" test ! -s err
is "add -o: and does not call it measured" first INSUFFICIENT
is "add -o: both rows" says 'of 33984 prompt tokens reused'
tr -d '\n' <doc.jsonl >ledger.jsonl
ln -s ledger.jsonl link.jsonl
run ledger add --result result.json --arm naive --date 2026-09-03 -o link.jsonl
is "add -o: behind a line without an end" test "$(wc -l <ledger.jsonl)" -eq 2
is "add -o: the first row as it was" sh -c 'head -n 1 ledger.jsonl | cmp - doc.jsonl'
is "add -o: a link stays a link" test -h link.jsonl
run ledger add --result result.json --arm naive --date 2026-09-03 -o -
is "add -o -: printed" same want out
cp bad.jsonl kept
run ledger add --result result.json --arm naive --date 2026-09-03 -o bad.jsonl
refused "add to a faulty ledger" 'bad.jsonl:2#/stats'
is "add to a faulty ledger: untouched" same kept bad.jsonl
cp result.json kept
run ledger add --result result.json --arm naive --date 2026-09-03 -o result.json
is "add onto the result: exit 2" test $code -eq 2
is "add onto the result: untouched" same kept result.json
run ledger add --result result.json --arm naiv --date 2026-09-03
refused "add: no such arm" 'nearest is "naive"'
run ledger add --result result.json --date 2026-09-03
refused "add: which arm" 'shared per-slot naive'
run ledger add --result result.json --arm naive
refused "add: no date" '--date YYYY-MM-DD'
run ledger add --result result.json --arm naive --date 2026-02-30
refused "add: bad date" '--date' '2026-02-30'
run ledger add --result doc.jsonl --arm naive --date 2026-09-03
refused "add: no result" 'doc.jsonl#/schema' 'ratecast.result/1'
run ledger add --result result.json --arm naive --date 2026-09-03 --context "$(printf '\377')"
refused "add: context that is no UTF-8" 'UTF-8'
run ledger add --result result.json --arm naive --date 2026-09-03 -o gone/new.jsonl
refused "add: no folder" 'gone/new.jsonl'

# ---- add: a witnessed run ----

mkdir -p runs/sessions
echo '{"run_id": "r1", "machine": "m", "config": {"model": "x", "arm": "iso", "K": 2, "H": 1, "P": 50, "din": 5, "out": 2}}' >runs/runs.jsonl
echo '{"run_id": "r2", "machine": "m", "config": {"model": "x", "arm": "iso", "K": 1, "H": 2, "P": 50, "din": 5, "out": 2}, "wall_s": 3}' >>runs/runs.jsonl
for agent in 0 1; do
    printf '{"run_id": "r1", "agent": %s, "turn": 1, "prompt_tokens": 55, "cached_tokens": %s, "new_prompt_tokens": %s, "out_tokens": 2, "t_send_s": 0, "t_first_s": 1, "t_last_s": 2}\n' \
        $agent $((agent * 50)) $((55 - agent * 50))
done >runs/sessions/a.jsonl
run ledger add --witness runs --run r1 --date 2026-09-04 -o seen.jsonl
is "witness: exit 0" test $code -eq 0
for text in '"turns":2' '"prompt_tokens":110' '"reused_tokens":50' '"provenance":"witnessed"' '"context":"r1/iso"' \
    '"provider":"llama-server"'; do
    is "witness: $text" says "$text" seen.jsonl
done
run ledger fold seen.jsonl
is "witness: MEASURED" first 'MEASURED  0.45455 of the prompt tokens were reused: 50 of 110, in 1 row'
is "witness: no warning" test ! -s err
run ledger add --witness runs --run r2 --date 2026-09-04
refused "witness: turns are missing" 'run r2' 'found records of 0 turns'
run ledger add --witness runs --run r3 --date 2026-09-04
refused "witness: no such run" '--run' 'nearest is'
run ledger add --witness runs --date 2026-09-04
refused "witness: which run" '--run ID'
run ledger add --witness runs --run r1 --arm iso --date 2026-09-04
refused "witness: --arm" '--arm' '--result'

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
