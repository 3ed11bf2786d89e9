#!/bin/sh
# `ratecast project --csv`: what the other formats say in marks and banners stands in columns, and both ends of an interval
# are numbers. RATECAST: the program, REPO: the source folder.
# shellcheck disable=SC2016 # of awk
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
S=$REPO/scenarios

cell() { # ROW COLUMN: of the last CSV, by their names; no name here holds a comma
    awk -F, -v row="$1" -v col="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == col) at = i } $1 == row { print $at }' out
}
# The arms that the text lists as priced outside the measured range, as the column has them.
listed() { awk '/^† Priced/ { on = 1; next } on && /^- / { sub(/^- /, ""); sub(/: .*/, ""); if (!($0 in seen)) a = a (a == "" ? "" : "; ") $0; seen[$0]; next }
    on && NF { exit } END { print a }' "$1"; }

# ---- extrapolated ----

# all arms, no arm, and one of two: the shared prefix of four agents asks for a batch that nobody measured
set -- --card qwen2.5-7b-instruct-q8_0-m3pro -K 16 -H 3 -P 2048
run project "$@"
cp out text
is "all: what the text lists" test "$(listed text)" = 'shared; per-slot; naive'
is "all: a time of nothing has no mark" grep -q '^| device idle *| s *| *0 | *0 | *0 |' text
run project "$@" --csv
is "all: exit 0" test $code -eq 0
for row in wall-clock 'effective output' 'TTFT warm p50' 'device prefill'; do
    is "all: $row" test "$(cell "$row" extrapolated)" = 'shared; per-slot; naive'
done
for row in 'device idle' 'prompt tokens presented' 'peak memory' 'wall-clock 90 % interval low'; do
    is "all: not $row" test -z "$(cell "$row" extrapolated)"
done
found=0
for k in 1 4 8 12 16; do
    for arm in cache-on cache-off; do
        run project "$S/cache_ab.json" --set workload.K=$k
        cp out text
        case "; $(listed text); " in *"; $arm; "*) is_out=1 ;; *) is_out=0 ;; esac
        found=$((found + is_out))
        run project "$S/cache_ab.json" --csv
        is "sweep: $arm of $k" test "$(sed 's/"[^"]*"/x/g' out | awk -F, -v k=$k -v a=$arm '
            NR == 1 { for (i = 1; i <= NF; i++) if ($i == "extrapolated") at = i } $1 == k && $2 == a { print $at }')" = $is_out
        run project "$S/cache_ab.json" --set workload.K=$k --csv
        case "; $(cell wall-clock extrapolated); " in *"; $arm; "*) got=1 ;; *) got=0 ;; esac
        is "$k agents: $arm" test $got = $is_out
    done
done
is "sweep: some, not all" test $found -gt 0 -a $found -lt 10
run project "$S/cache_ab.json" --csv
is "sweep: no device is simulated" awk -F, 'NR > 1 && $NF != 0 { exit 1 }' out
run project "$S/cache_ab.json"
is "sweep: nobody set its value" sh -c '! grep -q "^set " out'
run project "$S/cache_ab.json" --set workload.P=1024
is "sweep: what was set is said, once" test "$(grep '^set ' out)" = 'set       workload.P=1024'

# ---- intervals ----

interval() { # NAME SCENARIO LABEL
    run project "$2" --json
    cp out json
    run project "$2" --csv
    for end in low high; do
        key=lo_s
        [ $end = high ] && key=hi_s
        # numbers of both, arm by arm; a nanosecond is 1e-9
        sed -n "s/^ *\"$key\": *\([0-9.e+-]*\),*\$/\1/p" json >want
        awk -F, -v row="wall-clock $3 $end" '$1 == row { for (i = 3; i <= NF && $i ~ /^[0-9.e+-]+$/; i++) print $i }' out >got
        is "$1: $end of each arm" test "$(wc -l <got)" -eq "$(grep -c '^      "name":' json)"
        is "$1: $end as --json" sh -c "paste want got | awk '\$1 - \$2 > 5e-10 || \$2 - \$1 > 5e-10 || NF != 2 { exit 1 }'"
    done
    is "$1: no cell holds two numbers" sh -c '! grep -q "[0-9] to [0-9]" out'
    is "$1: every row has the same cells" awk -F, 'NR == 1 { n = NF } NF != n { exit 1 }' out
    is "$1: no device is simulated" test -z "$(cell wall-clock 'simulated device')"
}
interval "host terms" "$S/llama_server_h200.json" '90 % interval'
interval "card only" "$S/fleet_5x200_h200.json" '90 % by card scatter'
# one arm knows the host's time, the other does not: neither name stands for both
cat >mixed.json <<'END'
{"schema": "ratecast.scenario/1", "id": "mixed", "title": "t", "card": "qwen2-7b-like-q8_0-h200-split",
 "workload": {"K": 2, "H": 3, "P": 1000, "turn_delta_in_tok": 50, "turn_out_tok": 20, "turn_shape": "delta_first"},
 "arms": [{"name": "server", "engine": "llama-server", "kv_layout": "split", "prefix_reuse": "per_slot", "batching": "continuous"},
          {"name": "device", "prefix_reuse": "per_slot", "batching": "continuous"}]}
END
interval mixed mixed.json '90 % interval or by card scatter'
run project mixed.json
is "mixed: the text says which" grep -qE '^\| wall-clock 90 % interval or by card scatter *\| s *\| *[0-9.]+ to [0-9.]+ \| *[0-9.]+ to [0-9.]+ by scatter \|' out

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
