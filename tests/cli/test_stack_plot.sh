#!/bin/sh
# `ratecast project SCENARIO --plot` without a sweep: the table that the picture is drawn from tells what --json tells, to
# the nanosecond, and the four parts of each bar sum to its wall-clock. RATECAST: the program, REPO: the source folder.
# shellcheck disable=SC2016 # of awk and of the stand-in
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
TAB=$(printf '\t')
S=$REPO/scenarios

mkdir fake

# A line an arm of --json: name, wall-clock, prefill, decode, other, idle, both ends of the interval, in nanoseconds; -: none
json_rows() {
    awk '
        function text() { t = $0; sub(/^[^:]*: *"?/, "", t); sub(/"?,?$/, "", t); return t }
        function ns(t, p) { p = index(t, "."); if (!p) { t = t "."; p = length(t) }
            return sprintf("%.0f", substr(t, 1, p - 1) * 1e9 + substr(substr(t, p + 1) "000000000", 1, 9)) }
        function flush() { if (name != "") print name "|" wall "|" prefill "|" decode "|" other "|" idle "|" lo "|" hi }
        /^  "arms":/ { on = 1 }
        !on { next }
        /^      "name":/ { flush(); name = text(); lo = hi = "-" }
        /^      "wall_s":/ { wall = ns(text()) }
        /^        "lo_s":/ { lo = ns(text()) }
        /^        "hi_s":/ { hi = ns(text()) }
        /^        "prefill":/ { prefill = ns(text()) }
        /^        "decode":/ { decode = ns(text()) }
        /^        "other":/ { other = ns(text()) }
        /^      "idle_s":/ { idle = ns(text()) }
        END { flush() }' "$1"
}
tsv_rows() {
    awk -F '\t' '
        function ns(t) { if (t == "") return "-"
            sub(/\./, "", t); sub(/^0+/, "", t); return t == "" ? "0" : t }
        NR > 2 { print $1 "|" ns($2) "|" ns($3) "|" ns($4) "|" ns($5) "|" ns($6) "|" ns($7) "|" ns($8) }' seen.tsv
}
usual_path=$PATH
PATH=$T/fake:$PATH
gnuplot_is 'cp "$4" seen.tsv; echo "$3" >script; echo picture >"$5"'
for name in head_to_head_4k llama_server_h200 published/legacy_4k cache_ab; do
    set -- "$S/$name.json"
    [ $name = cache_ab ] && set -- "$@" --set workload.K=4
    run project "$@" --json --plot stack.svg
    is "$name: exit 0" test $code -eq 0
    is "$name: drawn" grep -qx picture stack.svg
    is "$name: by its own script" grep -q 'plots/stack\.gp$' script
    json_rows out >want
    tsv_rows >found
    is "$name: arms" test "$(wc -l <want)" -ge 2
    is "$name: what --json tells" cmp want found
    is "$name: no arm left out" test "$(wc -l <found)" -eq "$(grep -c '^      "name":' out)"
    # nanoseconds below 2^53 are exact here
    is "$name: the parts sum to the wall-clock" awk -F '|' '$2 != $3 + $4 + $5 + $6 { exit 1 }' found
    run project "$@" --json
    cp out plain.json
    run project "$@" --json --plot stack.svg
    is "$name: the report stays" cmp out plain.json
done
run project "$S/head_to_head_4k.json" --plot stack.svg
is "what it is, the session, the baseline" grep -qx "# \[ASSUMED PROJECTION\] head_to_head_4k${TAB}4${TAB}20${TAB}4096${TAB}llama.cpp${TAB}90 % interval" seen.tsv
is "the header" sh -c 'sed -n 2p seen.tsv | grep -qx "arm.wall_s.prefill_s.decode_s.other_s.idle_s.lo_s.hi_s.speedup.extrapolated"'
# 818.4 s over 557.1 s (README.md)
is "speedups" test "$(awk -F '\t' 'NR > 2 { printf "%s %.2f ", $1, $9 }' seen.tsv)" = 'fak-native 1.47 llama.cpp 1.00 '
run project "$S/llama_server_h200.json" --plot stack.svg
is "host terms are in it" grep -q "${TAB}90 % interval\$" seen.tsv
is "an interval on each side" awk -F '\t' 'NR > 2 && !($7 < $2 && $2 < $8) { exit 1 }' seen.tsv
run project "$S/fleet_5x200_h200.json" --plot stack.svg
is "by the card's scatter alone" grep -q "${TAB}90 % by card scatter\$" seen.tsv
is "as the report says" grep -q '^| wall-clock 90 % by card scatter ' out
run project "$S/head_to_head_4k.json" --arm fak-native --plot stack.svg
is "one arm: one row" test "$(wc -l <seen.tsv)" -eq 3
sed 's/"fak-native"/"say \\"when\\""/' "$S/head_to_head_4k.json" >quoted.json
run project quoted.json --plot stack.svg
is "a quotation mark, which gnuplot would cut at" grep -q '^say ″when″	' seen.tsv

# ---- refused, failed: nothing is left ----

gnuplot_is 'echo half >"$5"; exit 3'
run project "$S/head_to_head_4k.json" --plot stack.svg
is "gnuplot fails: exit 4" test $code -eq 4
is "gnuplot fails: silent stdout" test ! -s out
is "gnuplot fails: the old picture stands" grep -qx picture stack.svg
is "gnuplot fails: no folder left" test -z "$(find . -name 'stack.svg.*')"
PATH=$usual_path
rm stack.svg
run project "$S/head_to_head_4k.json" --plot stack.pdf
refused "another format" --plot '.svg or .png'
run project "$S/head_to_head_4k.json" --plot stack.svg --timeline-plot stack.svg
refused "both pictures in one file" stack.svg --plot
run project "$S/head_to_head_4k.json" --json -o result.json --packet stack.svg --packet-identity x.json --plot stack.svg
refused "over the packet" stack.svg --packet
run project "$S/head_to_head_4k.json" --plot stack.svg -o stack.svg
refused "over the report" stack.svg --output
run project "$S/head_to_head_4k.json" --arm nobody --plot stack.svg
refused "an unknown arm" nobody
cp "$S/head_to_head_4k.json" mine.svg
run project mine.svg --plot mine.svg
refused "onto the scenario" mine.svg input
is "onto the scenario: untouched" cmp mine.svg "$S/head_to_head_4k.json"
is "refused: nothing is written" sh -c 'test ! -e stack.svg && test ! -e stack.pdf && test ! -e result.json'

# ---- the picture ----

cell() { printf '%s\t' "$@"; }
if command -v gnuplot >/dev/null; then
    for file in "$S/head_to_head_4k.json" "$S/llama_server_h200.json" quoted.json; do
        run project "$file" --plot real.svg
        is "picture of $(basename "$file"): exit 0" test $code -eq 0
    done
    run project "$S/llama_server_h200.json" --plot real.svg
    is "picture: says what it is" grep -q 'ASSUMED PROJECTION' real.svg # of the arm that restores its slots
    for text in isolated restored no-cache 'device prefill' 'device decode' other idle '90 % interval' 'wall-clock, s'; do
        is "picture: $text" grep -q "<text>.*$text" real.svg
    done
    run project "$S/llama_server_h200.json" --arm isolated --plot real.svg
    is "picture of one arm: says what it is" grep -q 'MODELED PROJECTION' real.svg
    run project "$S/fleet_5x200_h200.json" --plot real.svg
    is "picture: by card scatter" grep -q '<text>90 % by card scatter</text>' real.svg
    is "picture: not as if the host were in it" sh -c '! grep -q "90 % interval" real.svg'
    is "picture: a real machine" sh -c '! grep -q SIMULATED real.svg'
    # a wall-clock of nothing, of a millisecond, of days; without prefill; one arm; 64 arms with long names
    { printf '# [MODELED PROJECTION] made-up\t1\t1\t0\ta\t90 %% interval\nheader\n'
      cell a 0 0 0 0 0 '' '' ''; echo 0; } >zero.tsv
    { printf '# [MODELED PROJECTION] made-up\t2\t1\t0\ta\t90 %% interval\nheader\n'
      cell a 0.001 0 0.0008 0.0002 0 0.0009 0.0011 1; echo 1
      cell '#b_{c}^d NaN' 0.0005 0 0.0005 0 0 '' '' 2; echo 0; } >small.tsv
    { printf '# [MODELED PROJECTION] made-up\t2\t1\t0\ta\t90 %% interval\nheader\n'
      cell a 1000000 900000 50000 25000 25000 '' '' 1; echo 0; } >large.tsv
    { printf '# [MODELED PROJECTION] made-up\t2\t1\t0\ta\t90 %% interval\nheader\n'
      i=0; while [ $((i += 1)) -le 64 ]; do cell "arm $i, whose name does not end where others do, über alles" $i 0 $i 0 0 '' '' 1; echo 0; done; } >many.tsv
    for made in zero small large many; do
        is "picture of made-up $made" sh -c "LC_ALL=C.UTF-8 gnuplot -d -c '$REPO/plots/stack.gp' $made.tsv $made.svg 2>&1 | (! grep .)"
        is "picture of made-up $made: is there" test -s $made.svg
    done
    sed 's/MODELED PROJECTION/MODELED PROJECTION, SIMULATED DEVICE/' small.tsv >sim.tsv
    LC_ALL=C.UTF-8 gnuplot -d -c "$REPO/plots/stack.gp" sim.tsv sim.svg
    is "picture of a simulated device: its title" grep -q '<text>SIMULATED DEVICE. Where the wall-clock goes' sim.svg
    is "picture of small: no prefill in the key" sh -c '! grep -q "device prefill" small.svg'
    is "picture of large: 1000000 s" grep -q '<text>.*1000000 s' large.svg
    is "picture: no symbol of size 0, an SVG that some viewers refuse" sh -c '! grep -q "scale(0\.00" small.svg real.svg'
else
    echo "SKIPPED: no gnuplot, no picture drawn"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
