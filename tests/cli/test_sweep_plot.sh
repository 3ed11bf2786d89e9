#!/bin/sh
# `ratecast project SWEEP --plot` from the outside: the table that the picture is drawn from tells what the report's CSV
# tells; speedups are divided here.
# RATECAST: the program, REPO: the source folder.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
TAB=$(printf '\t')
S=$REPO/scenarios/cache_ab.json
sed 's/"H": 1/"H": 3/' "$S" >turns.json

mkdir fake
gnuplot_is() { # SCRIPT
    printf '#!/bin/sh\n%s\n' "$1" >fake/gnuplot
    chmod +x fake/gnuplot
}
usual_path=$PATH
PATH=$T/fake:$PATH
# shellcheck disable=SC2016 # the stand-in expands them
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
    is "picture: says what it is" grep -q 'modeled projection' real.svg
    run project "$S" --rates "$REPO/rates" --arm cache-on --plot real.svg
    is "picture of one arm: exit 0" test $code -eq 0
    grep -v memory_budget "$S" >free.json
    run project free.json --rates "$REPO/rates" --plot real.svg
    is "picture without a budget: exit 0" test $code -eq 0
else
    echo "SKIPPED: no gnuplot, no picture drawn"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
