#!/bin/sh
# `ratecast explain --plot` from the outside: the table that the picture is drawn from tells what --json tells, and each
# step leads from the row above it. Printed values are the documents' (test_explain.sh says where they stand).
# RATECAST: the program, REPO: the source folder.
# shellcheck disable=SC2016 # of awk and of the stand-in
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
TAB=$(printf '\t')
S=$REPO/scenarios
P=$S/published

mkdir fake

# States and steps of --json, a line each: walls and changes in nanoseconds, speedup and its change to six digits. A chain
# has the start of its later links at the end of those before.
json_rows() {
    awk '
        function text() { t = $0; sub(/^[^:]*: *"?/, "", t); sub(/"?,?$/, "", t); return t }
        function ns(t, p, minus) { minus = sub(/^-/, "", t); p = index(t, "."); if (!p) { t = t "."; p = length(t) }
            t = substr(t, 1, p - 1) * 1e9 + substr(substr(t, p + 1) "000000000", 1, 9)
            return sprintf("%.0f", minus ? -t : t) }
        function x(t) { return sprintf("%.6g", t) }
        function flush() {
            if (kind == "") return
            if (within) { wall["baseline"] = change["baseline"] = "-" }
            if (kind != "from" || within || !any) print kind "|" term "|" wall["arm"] "|" change["arm"] "|" wall["baseline"] "|" change["baseline"] "|" speed "|" step
            any = 1
            kind = "" }
        function start(k) { flush(); kind = k; term = "-"; split("", wall); change["arm"] = change["baseline"] = step = "-" }
        /^  "compares":/ { within = text() == "arms" }
        /^      "from":/ { start("from") }
        /^      "to":/ { start("to") }
        /^          "term":/ { start("step"); term = text() }
        /^ *"(arm|baseline)": \{/ { side = $1; gsub(/[":]/, "", side) }
        /^ *"wall_s":/ { wall[side] = ns(text()) }
        /^            "change_s":/ { change[side] = ns(text()) }
        /^        "speedup": [0-9]/ || /^            "after":/ { speed = x(text()) }
        /^            "change":/ { step = x(text()) }
        END { flush() }' "$1"
}
tsv_rows() {
    awk -F '\t' '
        function ns(t, minus) { if (t == "") return "-"
            minus = sub(/^-/, "", t); sub(/\./, "", t); sub(/^0+/, "", t); return t == "" ? "0" : (minus ? "-" : "") t }
        function x(t) { return t == "" ? "-" : sprintf("%.6g", t) }
        NR > 2 && $2 != "printed" && $2 != "unexplained" {
            print $2 "|" ($2 == "step" ? $3 : "-") "|" ns($5) "|" ns($6) "|" ns($7) "|" ns($8) "|" x($9) "|" x($10) }' seen.tsv
}
# Every change leads from the row above it, in each of the three quantities; a nanosecond is 1e-9 s.
adds_up() {
    awk -F '\t' '
        function off(now, change, before, most) { return now != "" && before != "" && (now - change - before > most || before - now + change > most) }
        NR > 3 && link == $1 && $2 != "from" && $2 != "printed" && $2 != "to" {
            if (off($5, $6, arm, 1e-8) || off($7, $8, base, 1e-8) || off($9, $10, x, 1e-7 * $9)) exit 1
        }
        NR > 3 && link == $1 && ($2 == "from" || $2 == "to" || $2 == "printed") && ($5 != arm || $7 != base || $9 != x) { exit 1 }
        NR > 2 { arm = $5; base = $7; x = $9; link = within ? $1 : 0; $1 = link }
        NR == 1 { within = $2 == "arms" }' "$1"
}
usual_path=$PATH
PATH=$T/fake:$PATH
gnuplot_is 'cp "$4" seen.tsv; echo "$3" >script; echo picture >"$5"'
compare() { # NAME ARGUMENTS...
    what=$1
    shift
    run explain "$@" --json
    cp out plain.json
    run explain "$@" --json --plot steps.svg
    is "$what: exit 0" test $code -eq 0
    is "$what: the report stays" cmp out plain.json
    is "$what: drawn" grep -qx picture steps.svg
    is "$what: by its own script" grep -q 'plots/waterfall\.gp$' script
    json_rows plain.json >want
    tsv_rows >found
    is "$what: has rows" test "$(wc -l <want)" -ge 3
    is "$what: what --json tells" cmp want found
    is "$what: every step of --json" test "$(grep -c '^step' found)" -eq "$(grep -c '^          "term":' plain.json)"
    is "$what: steps add up" adds_up seen.tsv
}
compare chain "$P/legacy_4k.json" --against "$P/head_to_head_4k.json" --against "$S/head_to_head_4k.json"
is "chain: what it is" grep -qx "# \[CLAIM PROJECTION\] published_legacy_4k -> published_head_to_head_4k -> head_to_head_4k${TAB}scenarios${TAB}fak-native${TAB}llama.cpp" seen.tsv
is "chain: the header" sh -c 'sed -n 2p seen.tsv | grep -qx "link.kind.term.cause.arm_s.arm_change_s.base_s.base_change_s.speedup.speedup_change.extrapolated"'
is "chain: what is printed, once" test "$(awk -F '\t' '$2 == "printed" { print $1, $5, $7, $9 }' seen.tsv)" = '1 412.500000000 1732.500000000 4.200000000000'
is "chain: what is left" test "$(awk -F '\t' '$2 == "unexplained" { printf "%.1f %.1f %.2f", $6, $8, $10 }' seen.tsv)" = '-18.7 -22.2 0.14'
is "chain: the print and the start come first" test "$(awk -F '\t' 'NR > 2 && NR < 6 { printf "%s ", $2 }' seen.tsv)" = 'printed unexplained from '
is "chain: one start, an end a link" test "$(cut -f 2 seen.tsv | grep -c '^from$') $(cut -f 2 seen.tsv | grep -c '^to$')" = '1 2'
is "chain: a cause names its arm" grep -q "step${TAB}queue_wait${TAB}queue_wait_in_wall removed (llama.cpp)${TAB}" seen.tsv
is "chain: causes of both arms" grep -q "delta_prefill${TAB}.*(fak-native); .*(llama.cpp)${TAB}" seen.tsv
is "chain: the speedups" test "$(awk -F '\t' '$2 == "from" || $2 == "to" { printf "%.2f ", $9 }' seen.tsv)" = '4.34 1.86 1.47 '
compare back "$P/head_to_head_4k.json" --against "$P/legacy_4k.json"
is "back: ends in the print" test "$(tail -1 seen.tsv | cut -f 2,9)" = "printed${TAB}4.200000000000"
is "back: what is left" test "$(awk -F '\t' '$2 == "unexplained" { printf "%.1f %.1f %.2f", $6, $8, $10 }' seen.tsv)" = '18.7 22.2 -0.14'
compare arms "$S/head_to_head_4k.json"
is "arms: from the baseline" test "$(awk -F '\t' '$2 == "from" { print $3, $9 }' seen.tsv)" = 'llama.cpp 1.000000000000'
is "arms: no second wall-clock" test -z "$(awk -F '\t' 'NR > 2 { print $7 $8 }' seen.tsv | tr -d '\n')"
compare several "$S/llama_server_h200.json"
is "several: a waterfall an arm" test "$(awk -F '\t' '$2 == "to" { printf "%s %s ", $1, $3 }' seen.tsv)" = '1 isolated 2 restored '
compare same "$S/head_to_head_4k.json" --against "$S/head_to_head_4k.json" --against "$S/head_to_head_4k.json"
is "same: no step" test "$(grep -c "${TAB}step${TAB}" seen.tsv)" -eq 0

# ---- refused, failed: nothing is left ----

gnuplot_is 'echo half >"$5"; echo complaint'
run explain "$S/head_to_head_4k.json" --plot steps.svg
is "gnuplot complains: exit 4" test $code -eq 4
is "gnuplot complains: silent stdout" test ! -s out
is "gnuplot complains: the old picture stands" grep -qx picture steps.svg
is "gnuplot complains: no folder left" test -z "$(find . -name 'steps.svg.*')"
run explain "$S/head_to_head_4k.json" --plot steps.svg -o report.txt
is "gnuplot complains: no report either" test ! -e report.txt
PATH=$usual_path
rm steps.svg
run explain "$S/head_to_head_4k.json" --plot steps.pdf
refused "another format" --plot '.svg or .png'
run explain "$S/head_to_head_4k.json" --plot steps.svg -o steps.svg
refused "over the report" steps.svg --output
run explain "$S/cache_ab.json" --plot steps.svg
refused "a sweep" workload.K
cp "$S/head_to_head_4k.json" mine.svg
run explain "$P/head_to_head_4k.json" --against mine.svg --plot mine.svg
refused "onto a scenario" mine.svg input
is "onto a scenario: untouched" cmp mine.svg "$S/head_to_head_4k.json"
is "refused: nothing is written" sh -c 'test ! -e steps.svg && test ! -e steps.pdf'

# ---- the picture ----

if command -v gnuplot >/dev/null; then
    draws() { # NAME ARGUMENTS...
        what=$1
        shift
        run explain "$@" --plot real.svg
        is "picture of $what: exit 0" test $code -eq 0
    }
    draws arms "$S/head_to_head_4k.json"
    # a step that shortens the wall-clock is no step up
    is "picture of arms: faster, slower" sh -c 'grep -q "<text>faster</text>" real.svg && grep -q "<text>slower</text>" real.svg'
    is "picture of arms: no other words" sh -c '! grep -qE "<text>(step|speedup) (up|down)</text>" real.svg'
    # which of the two colours: boxes beside the two of the key; no speedup is known, only the wall-clock
    colours() { # CHANGE: of the wall-clock of a step from 4 s
        printf '# [MODELED PROJECTION] x\tarms\ta\tb\nheader\n1\tfrom\tb\t\t4\t\t\t\t\t\t0\n1\tstep\tt\twhy\t%s\t%s\t\t\t\t\t0\n1\tto\ta\t\t%s\t\t\t\t\t\t0\n' \
            $((4 + $1)) "$1" $((4 + $1)) >step.tsv
        LC_ALL=C.UTF-8 gnuplot -d -c "$REPO/plots/waterfall.gp" step.tsv step.svg 2>&1
        echo "$(grep -ciE '0, *114, *178|#0072b2' step.svg) $(grep -ciE '213, *94, *0|#d55e00' step.svg)"
    }
    colours -1 >down
    colours 1 >up
    # the key has both in either picture
    is "a fall is blue, a rise orange" sh -c "paste -d ' ' down up | awk '{ exit !(\$1 > \$3 && \$2 < \$4) }'"
    draws several "$S/llama_server_h200.json"
    draws same "$S/head_to_head_4k.json" --against "$S/head_to_head_4k.json"
    draws back "$P/head_to_head_4k.json" --against "$P/legacy_4k.json"
    draws chain "$P/legacy_4k.json" --against "$P/head_to_head_4k.json" --against "$S/head_to_head_4k.json"
    for text in 'speedup up' 'speedup down' 'CLAIM PROJECTION' queue_wait unexplained 4.20x +0.14x -0.96x -1.52x 1.86x 1.47x '1732.5 s' '-600.0 s' 'wall-clock, s' fak-native llama.cpp; do
        is "picture of a chain: $text" grep -q -e "<text>.*$text" real.svg
    done
    # walls of a millisecond and of days, a printed wall-clock of one arm only, names as long as may be
    long=$(printf '%0200d' 7)
    {
        printf '# [CLAIM PROJECTION] %s\tscenarios\t%s\t%s\nheader\n' "$long" "$long" "$long"
        printf '1\tprinted\tprinted\t%s\t0.001\t\t\t\t\t\t0\n' "$long"
        printf '1\tunexplained\tunexplained\twhy\t0.002\t0.001\t1000000\t0\t500000000\t0\t0\n'
        printf '1\tfrom\t%s\t\t0.002\t\t1000000\t\t500000000\t\t1\n' "$long"
        printf '1\tstep\t#_%s\t%s\t0.004\t0.002\t1000000\t0\t250000000\t-250000000\t1\n' "$long" "$long"
        printf '1\tto\t%s\t\t0.004\t\t1000000\t\t250000000\t\t0\n' "$long"
    } >made.tsv
    is "picture of extremes" sh -c "LC_ALL=C.UTF-8 gnuplot -d -c '$REPO/plots/waterfall.gp' made.tsv made.svg 2>&1 | (! grep .)"
    is "picture of extremes, PNG" sh -c "LC_ALL=C.UTF-8 gnuplot -d -c '$REPO/plots/waterfall.gp' made.tsv made.png 2>&1 | (! grep .)"
    is "picture of extremes: is there" test -s made.svg
else
    echo "SKIPPED: no gnuplot, no picture drawn"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
