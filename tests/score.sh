#!/bin/sh
# The accuracy that README.md and calib/README.md state, from the recordings in calib/witnessed: projects them, prints the
# tables, and fails when a number that is written there is another one.
# usage: tests/score.sh PROGRAM
set -u
program=$1
for tool in "$program" README.md calib/README.md; do
    [ -e "$tool" ] || { echo "score: no $tool here" >&2; exit 2; }
done
T=$(mktemp -d) || exit 2
trap 'rm -rf "$T"' EXIT
trap 'exit 1' HUP INT TERM

validate() { # NAME FOLDER CARD...
    name=$1 folder=$2
    shift 2
    for card; do
        set -- "$@" --card "$card"
        shift
    done
    "$program" validate "$folder" --summaries "$@" >"$T/$name" || exit 1
    echo "$folder"
    sed -n '/^| error in %/,/^90 % /p' "$T/$name"
    echo
    # name, runs, mean, median, p90, max, bias; then covered and half-width of the intervals
    sed -n '/^| error in %/,$s/^| \(.*\) |$/\1/p' "$T/$name" | sed '1d; s/ *| */|/g; s/|-/|−/g' >"$T/$name.rows"
    sed -n 's/^90 % [^:]*: contains \([0-9]*\) %.*half-width \([0-9.]*\) %$/\1|\2/p' "$T/$name" >"$T/$name.covered"
}
validate h200 calib/witnessed/h200-llama-server qwen2-7b-like-q8_0-h200-split qwen2-7b-like-q8_0-h200-unified \
    qwen2-1.5b-like-q8_0-h200-split
validate cpu calib/witnessed/cpu-llama-server qwen2-60m-like-q8_0-cpu-t1 qwen2-60m-like-q8_0-cpu-t2

validate fleet calib/witnessed/h200-fleet-5x50 qwen2-7b-like-q8_0-h200-split qwen2-7b-like-q8_0-h200-unified
validate v040 calib/witnessed/h200-7b-4x20 qwen2.5-7b-like-q8_0-h200-v040

failed=0
states() { # FILE TEXT
    tr '\n' ' ' <"$1" | grep -qF -e "$2" && return
    failed=$((failed + 1))
    echo "FAILED: $1 does not say: $2"
}
cells() { # MACHINE ROW: the cells of a row, or of no run
    row=$(awk -F'|' -v name="$2" '$1 == name' "$T/$1.rows")
    [ -n "$row" ] || { echo "0 | | | | |"; return; }
    echo "${row#*|}" | sed 's/|/ | /g'
}
for row in 'wall' 'wall, card only' 'wall, split KV' 'wall, unified KV' 'TTFT warm p50' 'TTFT warm p95' 'TTFT cold p50' \
    'interference, p99 token gap' 'device memory' 'floor: a repeat predicts its sibling'; do
    states calib/README.md "| $row | $(cells h200 "$row") | $(cells cpu "$row") |"
done
runs() { cells "$1" wall | cut -d' ' -f1; }
covered() { sed 's/|/ | /' "$T/$1.covered"; }
states calib/README.md "| 90 % intervals: covered, half-width | $(runs h200) | $(covered h200) | | | | $(runs cpu) | $(covered cpu) | | | |"
states README.md "Over the $(cells h200 wall | awk -F' [|] ' '{
    printf "%s H200 sessions that no term was fitted to, wall-clock is off by %s %% on average (bias %s %%)", $1, $2, $6 }')"
states README.md "the $(cells fleet wall | awk -F' [|] ' '{ printf "%s of the K = 5 fleet are off by %s %% (bias %s %%)", $1, $2, $6 }')"
states README.md "come out $(cells v040 wall | awk -F' [|] ' '{ sub(/^−/, "", $6); print $6 }') % fast"
if [ $failed -gt 0 ]; then
    echo "$failed stated figures are stale"
    exit 1
fi
echo "README.md and calib/README.md state these figures"
