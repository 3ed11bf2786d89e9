#!/bin/sh
# `ratecast project --trace-events --timeline-tsv --timeline-plot --trace-window` from the outside. Expected values come from the
# result of the same run, from a session drawn by hand, and from what the format asks for (M, X, s and f events).
# RATECAST: the program, REPO: the source folder.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
S=$REPO/scenarios
TAB=$(printf '\t')

# nanoseconds of a TSV's rows of a track and kind, and of a result's "busy_s" of the first arm
tsv_ns() { # FILE TRACK KIND
    awk -F '\t' -v track="$2" -v kind="$3" '
        function ns(t, p) { split(t, p, "."); return p[1] * 1e9 + p[2] }
        $2 == track && $3 == kind { sum += ns($6) - ns($5) } END { printf "%.0f", sum }' "$1"
}
busy_ns() {
    sed -n '/"busy_s"/,/}/p' result.json | awk -F '[:,]' -v key="\"$1\"" 'index($0, key) { printf "%.0f", $2 * 1e9 }'
}
# prompt tokens of the device's prefill in a TSV, and those that the result of an arm alone says it computed
tsv_tok() { awk -F '\t' '$2 == "device" && $3 == "prefill" { sum += $7 } END { print sum }' "$1"; }
computed_tok() { sed -n '/"tokens"/,/}/p' result.json | awk -F '[:,]' '/"computed"/ { print $2 + 0 }'; }
count() { grep -c "^{\"ph\":\"$2\"" "$1"; } # FILE PHASE

# ---- both engines: the files add up to the result, and tell the same ----

for scenario in head_to_head_4k:fak-native llama_server_h200:restored llama_server_h200:isolated; do
    arm=${scenario#*:}
    file=$S/${scenario%:*}.json
    run project "$file" --arm "$arm" --json -o result.json --trace-events t.json --timeline-tsv t.tsv
    is "$arm: exit 0" test $code -eq 0
    is "$arm: silent" test ! -s err -a ! -s out
    for kind in prefill decode host; do
        [ -n "$(busy_ns $kind)" ] || continue # host time is llama-server's
        is "$arm: $kind" test "$(tsv_ns t.tsv device $kind)" = "$(busy_ns $kind)"
    done
    # 4 agents, 20 turns; names: the arm twice, the device, the agents
    is "$arm: names" test "$(count t.json M)" -eq 7
    is "$arm: rows are events" test "$(count t.json X)" -eq "$(($(wc -l <t.tsv) - 2))"
    is "$arm: an arrow a turn" test "$(count t.json s)" -eq 80
    is "$arm: arrows end" test "$(count t.json f)" -eq 80
    is "$arm: a decode a turn" test "$(grep -c "agent [1-4]${TAB}decode" t.tsv)" -eq 80
    is "$arm: the process" grep -qF "\"process_name\",\"args\":{\"name\":\"$arm\"}" t.json
    is "$arm: exact microseconds" sh -c '! grep "^{\"ph\":\"[Xsf]" t.json | grep -qv "\"ts\":[0-9]*\.[0-9][0-9][0-9][,}]"'
    class=ASSUMED # declared rates; slot files at an assumed speed
    [ "$arm" = isolated ] && class=MODELED
    is "$arm: $class" test "$(head -1 t.json | grep -c "$class PROJECTION")" -eq 1 -a "$(sed -n 1p t.tsv | cut -c1-$((${#class} + 3)))" = "# [$class"
    "$RATECAST" project "$file" --arm "$arm" --json >plain.json 2>err
    is "$arm: the result is the same without it" cmp plain.json result.json
    cp t.json one.json
    LC_ALL=C.UTF-8 TZ=Asia/Tokyo "$RATECAST" project "$file" --arm "$arm" --trace-events t.json >out 2>err
    is "$arm: the same bytes" cmp one.json t.json
    if command -v python3 >/dev/null; then
        is "$arm: JSON" python3 -c 'import json; json.load(open("t.json"))'
    fi
done

# what a warm-up computes is in the device's tokens and in the table's
for warm in none first_slot restored; do
    run project "$S/llama_server_h200.json" --set arms.restored.warm=$warm --arm restored --json -o result.json --timeline-tsv t.tsv
    is "warm $warm: tokens" test "$(tsv_tok t.tsv)" -gt 0 -a "$(tsv_tok t.tsv)" = "$(computed_tok)"
done
run project "$S/head_to_head_4k.json" --arm fak-native --json -o result.json --timeline-tsv t.tsv
is "general engine: tokens" test "$(tsv_tok t.tsv)" -gt 0 -a "$(tsv_tok t.tsv)" = "$(computed_tok)"

# every arm is a process
run project "$S/head_to_head_4k.json" --trace-events t.json
is "arms: two" test "$(grep -c process_name t.json)" -eq 2
is "arms: thread ids differ" test "$(grep thread_name t.json | grep -o '"tid":[0-9]*' | sort -u | wc -l)" -eq 10

# ---- windows ----

run project "$S/head_to_head_4k.json" --arm fak-native --timeline-tsv all.tsv --trace-events all.json
run project "$S/head_to_head_4k.json" --arm fak-native --timeline-tsv some.tsv --trace-window 100:200.5
is "window: exit 0" test $code -eq 0
awk -F '\t' 'NR > 2 && $5 < 200.5 && $6 > 100' all.tsv >want
sed 1,2d some.tsv >found
is "window: what touches it, whole" cmp want found
is "window: some" test -s found
is "window: said" sh -c 'head -1 some.tsv | grep -q "only what touches 100.000000000 to 200.500000000 s"'
is "window: all is no window" sh -c '! head -1 all.tsv | grep -q touches'
for w in 1 1: :1 2:1 1:1 1.5:x -1:2 1e3:2e3 0:1.1234567891 .5:1 '1.:2' 0:9999999999 0:1:2 ' 0:1' ''; do
    run project "$S/head_to_head_4k.json" --timeline-tsv never.tsv "--trace-window=$w"
    refused "window '$w'" --trace-window FROM:TO
done
run project "$S/head_to_head_4k.json" --trace-window 0:1
refused "a window of nothing" --trace-window --trace-events --timeline-tsv
is "refused: no file" test ! -e never.tsv

# ---- too much is refused, with what would fit ----

big() { run project --card qwen2-7b-like-q8_0-h200-split -K 100 -H 2500 -P 64 --delta-in 1 --turn-out 2 --arm shared "$@"; }
big --trace-events big.json
refused "too many events" 'more than 1000000 trace events' '--trace-window 0:' fits --arm
is "too many: no file" test ! -e big.json
window=$(sed -n 's/.*--trace-window \([0-9.:]*\) fits.*/\1/p' err)
big --trace-events big.json --trace-window "$window" -o report.txt
is "too many: what would fit does" test $code -eq 0
is "too many: and is no more" test "$(grep -c '^{"ph"' big.json)" -le 1000000
is "too many: nearly all" test "$(grep -c '^{"ph"' big.json)" -ge 999000
is "too many: 160 bytes an event at most" test "$(wc -c <big.json)" -le 160000000
rm -f big.json

# ---- files ----

cp "$S/head_to_head_4k.json" mine.json
mkdir cards
cp "$REPO"/rates/*.json cards
CARD=cards/qwen3.8-27b-q4_k_m-m3pro-fak.json
OTHER=cards/llama-2-7b-q4_0-a100.json # not of this scenario
for option in --trace-events --timeline-tsv; do
    run project mine.json $option mine.json
    refused "$option onto the scenario" $option mine.json input
    run project mine.json --rates cards $option $CARD
    refused "$option onto its card" $option $CARD input
    run project mine.json --rates cards $option $OTHER
    refused "$option onto another card" $option $OTHER input
    run project mine.json $option ''
    refused "$option without a name" $option 'expected a file'
    run project mine.json $option -
    refused "$option onto standard output" $option 'expected a file'
    run project mine.json $option gone/t.json
    refused "$option into no folder" gone/t.json 'No such file'
    run project mine.json $option same -o same
    refused "$option is the report" $option --output another
    run project "$S/cache_ab.json" $option never
    refused "$option of a sweep" $option sweep --set
    run project "$S/cache_ab.json" --set workload.K=4 $option t
    is "$option at one value of a sweep" test $code -eq 0
done
is "onto an input: untouched" cmp mine.json "$S/head_to_head_4k.json"
for card in $CARD $OTHER; do is "onto an input: $card untouched" cmp "$card" "$REPO/rates/${card#*/}"; done
run project mine.json --trace-events same --timeline-tsv same
refused "one file for both" --trace-events --timeline-tsv another
echo good >kept
run project mine.json --timeline-tsv kept --set workload.K=0
is "a failing run leaves the file" grep -qx good kept

# ---- picture: a stand-in for gnuplot, called as SCRIPT DATA PICTURE behind -d -c ----

plot() { run project mine.json --timeline-plot "$@"; }
mkdir fake
usual_path=$PATH
PATH=$T/fake:$PATH
# shellcheck disable=SC2016 # the stand-in expands them
gnuplot_is 'cp "$4" seen.tsv; echo picture >"$5"'
plot session.svg --timeline-tsv rows.tsv
is "picture: exit 0" test $code -eq 0
is "picture: drawn" grep -qx picture session.svg
is "picture: of the table that --timeline-tsv writes" cmp seen.tsv rows.tsv
is "picture: the report as well" grep -q 'llama.cpp' out
gnuplot_is 'exit 3'
plot session.svg
is "picture, gnuplot fails: exit 4" test $code -eq 4
is "picture, gnuplot fails: the old one stands" grep -qx picture session.svg
is "picture, gnuplot fails: no report" test ! -s out
PATH=$usual_path
plot session.pdf
refused "picture of another format" --timeline-plot '.svg or .png'
plot session.svg -o session.svg
refused "picture over the report" session.svg another
cp mine.json mine.svg
run project mine.svg --timeline-plot mine.svg
refused "picture onto the scenario" mine.svg input
plot none.svg --trace-window 100000:100001
refused "picture of a window behind the session" --timeline-plot 'nothing happens'
# The picture that gnuplot draws is looked at by people; here: it accepts every session, and draws what there is.
if command -v gnuplot >/dev/null; then
    for file in head_to_head_4k head_to_head_20k llama_server_h200; do
        run project "$S/$file.json" --timeline-plot $file.svg
        is "picture of $file: exit 0" test $code -eq 0
    done
    sed 's/"fak-native"/"#say \\"when\\""/; s/"llama.cpp"/"NaN"/' mine.json >odd.json
    run project odd.json --timeline-plot odd.svg
    is "picture of names that gnuplot reads otherwise: exit 0" test $code -eq 0
    is "picture of names that gnuplot reads otherwise: both" sh -c 'grep -q ">#say ″when″<" odd.svg && grep -q ">NaN<" odd.svg'
    run project odd.json --set workload.K=1 --plot odd.svg
    is "stack of such names: exit 0" test $code -eq 0
    run explain odd.json --plot odd.svg
    is "waterfall of such names: exit 0" test $code -eq 0
    plot part.svg --trace-window 100:200 --arm fak-native
    is "picture of a window: exit 0" test $code -eq 0
    is "picture: its axis" grep -q 'seconds since the session began' part.svg
    is "picture: says what it is" grep -q 'ASSUMED PROJECTION' part.svg
    is "picture: the device's row" grep -q '>device<' part.svg
    is "picture: one arm" sh -c 'grep -q ">fak-native<" part.svg && ! grep -q ">llama.cpp<" part.svg'
else
    echo "SKIPPED: no gnuplot, no picture drawn"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
