#!/bin/sh
# `ratecast show --tsv --plot` from the outside. The card is exact: a decode step is a(B) + 1 us for each token of each
# sequence, a(1) = 9.9 ms, a(4) = 19.6 ms; the prompts of 256 and 512 tokens take 25.6 and 51.2 ms.
# RATECAST: the program, REPO: the source folder.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
TAB=$(printf '\t')

cat >exact.json <<'END'
{"schema": "ratecast.rate-card/1", "id": "exact", "title": "exact", "method": "import", "provenance": "assumed", "source": "by hand",
 "model": "m", "quant": "f16", "engine": {"name": "e"}, "hardware": {"chip": "c"},
 "prefill": [{"n_prompt_tok": 256, "tok_s": 10000}, {"n_prompt_tok": 512, "tok_s": 10000}],
 "decode": [
  {"batch_n": 1, "context_tok": 100, "tok_s": 100},
  {"batch_n": 1, "context_tok": 1100, "tok_s": 90.909090909090909},
  {"batch_n": 4, "context_tok": 100, "tok_s": 200},
  {"batch_n": 4, "context_tok": 1100, "tok_s": 166.66666666666667},
  {"batch_n": 4, "context_tok": 600, "tok_s": 181.81818181818181}]}
END
run show ./exact.json --tsv -o card.tsv
is "tsv: exit 0" test $code -eq 0
is "tsv: names card and class" grep -qx '# exact \[ASSUMED\]' card.tsv
is "tsv: all of it is drawn" grep -qx '# not drawn: nothing' card.tsv
is "tsv: the header" grep -qx "phase${TAB}kind${TAB}series${TAB}context_tok${TAB}x${TAB}ms${TAB}tok_s" card.tsv
is "tsv: every decode point" test "$(grep -c "^decode${TAB}measured" card.tsv)" -eq 5
is "tsv: every prompt" test "$(grep -c "^prefill${TAB}measured" card.tsv)" -eq 2
ms() { # PHASE KIND SERIES CONTEXT X: rounded to 0.001 ms
    awk -F '\t' -v p="$1" -v k="$2" -v s="$3" -v c="$4" -v x="$5" \
        '$1 == p && $2 == k && $3 == s && $4 == c && $5 == x { printf "%.3f", $6 }' card.tsv
}
is "tsv: a point" test "$(ms decode measured 1 100 4)" = 20.000
is "tsv: a context with one batch size has no series" test "$(ms decode measured 0 600 4)" = 22.000
is "tsv: the curve meets the points" test "$(ms decode curve 1 100 1) $(ms decode curve 2 1100 4)" = '10.000 24.000'
# a(2) = 9.9 + (19.6 - 9.9) / 3 = 13.133 ms, and 2 sequences of 100 and 1100 tokens
is "tsv: between two batch sizes" test "$(ms decode curve 1 100 2) $(ms decode curve 2 1100 2)" = '13.333 15.333'
is "tsv: no curve beyond the points" test -z "$(ms decode curve 1 100 5)"
is "tsv: a prompt" test "$(ms prefill measured 1 0 512)" = 51.200
is "tsv: tokens a second" test "$(grep -c "^prefill${TAB}measured.*${TAB}10000\$" card.tsv)" -eq 2
# points that nothing uses, and points without a place: of the exact card plus five
sed 's/"id": "exact"/"id": "more"/
s/"decode": \[/"decode": [ {"batch_n": 1, "context_tok": 100, "tok_s": 50, "excluded": "cold"},\
  {"batch_n": 2, "context_tok": 3000, "tok_s": 50, "excluded": "cold"},/
s/"prefill": \[/&{"tok_s": 48.54}, {"n_prompt_tok": 512, "batch_n": 2, "tok_s": 12000},\
  {"n_prompt_tok": 512, "tok_s": 5000, "excluded": "cold"}, /' exact.json >more.json
run show ./more.json --tsv -o more.tsv
is "not used: every one is there as such" test "$(grep -c "^decode${TAB}excluded${TAB}0" more.tsv) $(grep -c "^prefill${TAB}excluded${TAB}0" more.tsv)" = '2 1'
is "not used: with its time" grep -qx "decode${TAB}excluded${TAB}0${TAB}100${TAB}1${TAB}20${TAB}50" more.tsv
is "not used: the others stay as they are" sh -c 'grep -v excluded more.tsv | sed 1,2d >rest && sed 1,2d card.tsv | cmp - rest'
is "no place: said" grep -qx '# not drawn: a prefill rate of unstated length (48.54 tok/s), a prefill rate of several prompts together' more.tsv
run show ./exact.json --tsv --json
refused "tsv and json" --tsv --json

# ---- picture ----

run show ./exact.json --plot card.pdf
refused "picture of another format" --plot '.svg or .png'
run show ./exact.json --plot card.svg -o card.svg
refused "picture over the text" card.svg --output
sed 's/"prefill": .*/"claim_only": true, "prefill": [], "decode": []}/; /^ "decode"/,$d' exact.json >empty.json
run show ./empty.json --plot card.svg
refused "picture of no points" 'no points to draw'
sed 's/"prefill": \[/&{"tok_s": 85}/; s/"id": "exact"/"id": "empty"/' empty.json >one.json
run show ./one.json --plot card.svg
refused "picture of a point without a place" 'no points to draw, only a prefill rate of unstated length (85 tok/s)'
is "refused: nothing is written" test ! -e card.svg
if command -v gnuplot >/dev/null; then
    for card in "$REPO"/rates/*.json ./exact.json; do
        grep -q '"schema": *"ratecast.rate-card/1"' "$card" || continue
        [ "$("$RATECAST" show "$card" --tsv | wc -l)" -gt 3 ] || continue
        run show "$card" --plot card.svg
        is "picture of $(basename "$card"): exit 0" test $code -eq 0
    done
    is "picture: nothing is unused" sh -c '! grep -q "not used" card.svg'
    is "picture: names its card" grep -q 'exact' card.svg
    is "picture: both phases" sh -c 'grep -q "time of a step" card.svg && grep -q "tokens a second" card.svg'
    is "picture: a series" grep -q 'context 1100' card.svg
    run show ./more.json --plot more.svg
    is "picture: what is not used is named so" grep -q 'not used' more.svg
    is "picture: what is not drawn is said" grep -q 'not drawn: a prefill rate of unstated length (48.54 tok/s)' more.svg
else
    echo "SKIPPED: no gnuplot, no picture drawn"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
