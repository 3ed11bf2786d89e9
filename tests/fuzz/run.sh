#!/bin/sh
# Fuzzes every target for an equal share of SECONDS. usage: tests/fuzz/run.sh BUILD_DIR SECONDS
set -eu
build=$1
seconds=$2
here=$(dirname "$0")
set -- "$build"/tests/fuzz_*
n=0
for target in "$@"; do [ -x "$target" ] && n=$((n + 1)); done
[ "$n" -gt 0 ] || { echo "no fuzz target in $build/tests"; exit 1; }
for target in "$@"; do
    [ -x "$target" ] || continue
    name=$(basename "$target")
    found=$(mktemp -d)
    echo "$name: $((seconds / n)) s"
    "$target" -max_total_time=$((seconds / n)) -max_len=65536 -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
        -dict="$here/ratecast.dict" -artifact_prefix="$build/" "$found" "$here/corpus/$name" 2>"$build/$name.log" ||
        { tail -40 "$build/$name.log"; exit 1; }
    grep -E 'number_of_executed_units' "$build/$name.log"
    rm -rf "$found"
done
