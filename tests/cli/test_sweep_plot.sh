#!/bin/sh
# `ratecast project SWEEP --plot` from the outside: the table that the picture is drawn from tells what the report's CSV
# tells; speedups are divided here.
# RATECAST: the program, REPO: the source folder.
# shellcheck disable=SC2016 # of awk and of the stand-in
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
TAB=$(printf '\t')
S=$REPO/scenarios/cache_ab.json
sed 's/"H": 1/"H": 3/' "$S" >turns.json

mkdir fake
usual_path=$PATH
PATH=$T/fake:$PATH
gnuplot_is 'cp "$4" seen.tsv; echo picture >"$5"'
for file in "$S" turns.json; do
    name=$(basename "$file")
    run project "$file" --rates "$REPO/rates" --plot sweep.svg --csv
    is "$name: exit 0" test $code -eq 0
    is "$name: drawn" grep -qx picture sweep.svg
    is "$name: budget of 27 GiB, baseline" grep -qx "# \[MODELED PROJECTION\] cache_ab${TAB}workload.K${TAB}27648${TAB}cache-off" seen.tsv
    is "$name: the header" sh -c 'sed -n 2p seen.tsv | grep -qx "value.arm.wall_s.speedup.ttft_cold_p50_ms.ttft_warm_p50_ms.peak_mib.extrapolated"'
    # value, arm, wall-clock, TTFT cold and warm, memory: the CSV has them in columns 1, 2, 3, 5, 6 and 10
    awk -F , 'function s(x) { return x == "" ? "-" : sprintf("%.5g", x) }
        NR > 1 { print $1, $2, s($3), s($5), s($6), s($10) }' out >want
    awk -F '\t' 'function s(x) { return x == "" ? "-" : sprintf("%.5g", x) }
        NR > 2 { print $1, $2, s($3), s($5), s($6), s($7) }' seen.tsv >found
    is "$name: what the report tells" cmp want found
    is "$name: ten rows" test "$(wc -l <found)" -eq 10
    awk -F '\t' 'NR > 2 { wall[$1, $2] = $3; told[$1, $2] = $4; value[$1] }
        END { for (v in value) { d = told[v, "cache-on"] * wall[v, "cache-on"] / wall[v, "cache-off"] - 1
            if (d > 1e-6 || d < -1e-6 || told[v, "cache-off"] != 1) exit 1 } }' seen.tsv
    is "$name: speedups" test $? -eq 0
done
is "turns.json: warm turns" test "$(cut -f 6 seen.tsv | grep -c '^[0-9]')" -eq 10
# over the prefix: each value as when it is set
sed '/^  "baseline"/i\
  "sweep": {"path": "workload.P", "values": [1024, 4096, 8192, 20000]},' "$REPO/scenarios/head_to_head_4k.json" >prefix.json
run project prefix.json --plot sweep.svg
is "prefix: exit 0" test $code -eq 0
is "prefix: eight rows" test "$(wc -l <seen.tsv)" -eq 10
for value in 1024 4096 8192 20000; do
    run project prefix.json --set workload.P=$value --json
    awk '/^      "name":/ { sub(/^[^:]*: "/, ""); sub(/",$/, ""); name = $0 } /^      "wall_s":/ { sub(/,$/, "", $2); wall[name] = $2 }
        END { printf "%.6f\n", wall["llama.cpp"] / wall["fak-native"] }' out >want
    awk -F '\t' -v v=$value '$1 == v && $2 == "fak-native" { printf "%.6f\n", $4 }' seen.tsv >found
    is "prefix $value: the speedup of --json" cmp want found
done
is "prefix 4096: 1.47x as in README.md" test "$(awk -F '\t' '$1 == 4096 && $2 == "fak-native" { printf "%.2f", $4 }' seen.tsv)" = 1.47
sed 's/"cache-off"/"say \\"off\\""/' "$S" >quoted.json
run project quoted.json --rates "$REPO/rates" --plot sweep.svg
is "a quotation mark, which gnuplot would cut at" test "$(cut -f 2 seen.tsv | grep -c '^say ″off″$')" -eq 5
gnuplot_is 'exit 3'
run project "$S" --plot sweep.svg
is "gnuplot fails: exit 4" test $code -eq 4
is "gnuplot fails: the old picture stands" grep -qx picture sweep.svg
PATH=$usual_path
run project "$S" --plot sweep.txt
refused "another format" --plot '.svg or .png'
run project "$S" --plot sweep.svg -o sweep.svg
refused "over the report" sweep.svg --output
cp "$S" mine.svg
run project mine.svg --rates "$REPO/rates" --plot mine.svg
refused "onto the scenario" mine.svg input
is "onto the scenario: untouched" cmp mine.svg "$S"
if command -v gnuplot >/dev/null; then
    for file in "$S" turns.json; do
        run project "$file" --rates "$REPO/rates" --plot real.svg
        is "picture of $(basename "$file"): exit 0" test $code -eq 0
    done
    is "picture: the budget" grep -q 'memory budget, 27 GiB' real.svg
    is "picture: both arms" sh -c 'grep -q ">cache-on<" real.svg && grep -q ">cache-off<" real.svg'
    is "picture: says what it is" grep -q 'MODELED PROJECTION' real.svg
    run project "$S" --rates "$REPO/rates" --arm cache-on --plot real.svg
    is "picture of one arm: exit 0" test $code -eq 0
    grep -v memory_budget "$S" >free.json
    run project free.json --rates "$REPO/rates" --plot real.svg
    is "picture without a budget: exit 0" test $code -eq 0
    run project prefix.json --plot real.svg
    is "picture over the prefix: exit 0" test $code -eq 0
    for text in 'wall-clock, s' 'speedup over llama.cpp, x' 'TTFT p50, s' 'peak memory, GiB' 'workload.P, tokens'; do
        is "picture over the prefix: $text" grep -q "<text>.*$text" real.svg
    done
    # wall-clock, speedup, both TTFT, memory of two arms
    is "picture over the prefix: ten lines through four points" test "$(grep -c "d='M[0-9.,]* L[0-9.,]* L[0-9.,]* L[0-9.,]*  '/>" real.svg)" -eq 10
    run project quoted.json --rates "$REPO/rates" --plot real.svg
    is "picture of a quotation mark: exit 0" test $code -eq 0
    sed 's/"cache-on"/"NaN"/' quoted.json >odd.json
    run project odd.json --rates "$REPO/rates" --plot real.svg
    is "picture of an arm called NaN: exit 0" test $code -eq 0
    is "picture of an arm called NaN: its lines" test "$(grep -c "rgb(  0, 114, 178)'  d='M[0-9.,]* L[0-9.,]* L[0-9.,]* L[0-9.,]* L" real.svg)" -eq 4
    made() { # NAME VALUE...: a sweep of one arm over the values, drawn; the x of the points of its first curve
        made=$1
        shift
        printf '# [MODELED PROJECTION] made-up\tpath\t-\ta\nheader\n' >"$made.tsv"
        for value; do printf '%s\ta\t2\t1\t3\t\t5\t0\n' "$value" >>"$made.tsv"; done
        LC_ALL=C.UTF-8 gnuplot -d -c "$REPO/plots/sweep.gp" "$made.tsv" "$made.svg" >said 2>&1
        is "picture of $made: exit 0" test $? -eq 0
        is "picture of $made: silent" test ! -s said
        grep -o "<use xlink:href='#gpPt[0-9]*' transform='translate([0-9.]*" "$made.svg" | sed 's/.*(//' | head -n $# | tr '\n' ' ' >spots
    }
    made linear 10 20 40 100
    is "numbers stand where they are" awk '{ d = $2 - $1; exit !(NF == 4 && d > 5 && ($3 - $2) / d > 1.98 && ($3 - $2) / d < 2.02 &&
        ($4 - $3) / d > 5.95 && ($4 - $3) / d < 6.05) }' spots
    made unsorted 100 10 40 20
    is "numbers in any order" awk '{ d = $2 - $1; exit !(NF == 4 && d > 5 && ($4 - $3) / d > 5.95 && ($4 - $3) / d < 6.05) }' spots
    made words red green blue
    is "words stand at equal distances" awk '{ d = $3 - 2 * $2 + $1; exit !(NF == 3 && $2 - $1 > 20 && d < 0.5 && d > -0.5) }' spots
    made single 4096
    made none 0
    made close 1 2 3 1e-05 1000000
else
    echo "SKIPPED: no gnuplot, no picture drawn"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
