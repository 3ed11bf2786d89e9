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
is "refused: nothing is written" test ! -e card.svg
if command -v gnuplot >/dev/null; then
    for card in "$REPO"/rates/*.json ./exact.json; do
        grep -q '"schema": *"ratecast.rate-card/1"' "$card" || continue
        [ "$("$RATECAST" show "$card" --tsv | wc -l)" -gt 2 ] || continue
        run show "$card" --plot card.svg
        is "picture of $(basename "$card"): exit 0" test $code -eq 0
    done
    is "picture: names its card" grep -q 'exact' card.svg
    is "picture: both phases" sh -c 'grep -q "time of a step" card.svg && grep -q "tokens a second" card.svg'
    is "picture: a series" grep -q 'context 1100' card.svg
else
    echo "SKIPPED: no gnuplot, no picture drawn"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
