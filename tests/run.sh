#!/bin/sh
# Runs all tests of a build folder and adds up what each framework counted. Fails when a test fails, and when fewer
# tests ran than the floor below: a suite that silently ran nothing must not pass.
# usage: tests/run.sh BUILD_DIR
set -u
FLOOR=2000
build=$1
log=$build/tests.log
# what tests leave in TMPDIR is counted below
TMPDIR=$(mktemp -d) || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' HUP INT TERM
ctest --test-dir "$build" --parallel 2 --verbose --no-tests=error >"$log" 2>&1
status=$?
[ $status -eq 0 ] || grep -E '^ *[0-9]+: (\[FAIL\]|\[CRASH\]|\[----\]|FAIL|.*Sanitizer|.*runtime error)|\*\*\*' "$log" | head -100
# the end of what each failed test said: a log that is gone with its machine explains nothing
[ $status -eq 0 ] || sed -nE 's/.*Test *#([0-9]+): .*\*\*\*(Failed|Timeout|Exception).*/\1/p' "$log" | sort -un | while read -r n; do
    grep -E "^ *$n: " "$log" | tail -40
done
grep -E '^ *[0-9]+: .*(SKIP|skipped)' "$log" | head -20
grep -E '% tests passed' "$log"
left=$(find "$TMPDIR" -mindepth 1 -maxdepth 1 | sort | head -20)
[ -z "$left" ] || { printf 'left behind by tests:\n%s\n' "$left"; [ $status -ne 0 ] || status=1; }
# Criterion: "Tested: 4 | Passing: 4 | ..."; shell tests: "31 passed, 0 failed"; replay: "12 inputs replayed"
awk -v floor=$FLOOR -v status=$status '
    /Synthesis: Tested:/ { for (i = 1; i <= NF; i++) { if ($i == "Passing:") p += $(i + 1); if ($i == "Failing:" || $i == "Crashing:") f += $(i + 1) } }
    /^ *[0-9]+: [0-9]+ passed, [0-9]+ failed/ { p += $2; f += $4 }
    /^ *[0-9]+: [0-9]+ inputs replayed/ { p += $2 }
    END {
        if (status != 0 && f == 0) f = 1
        printf "%d passed, %d failed\n", p, f
        if (p < floor) { printf "only %d tests ran, expected at least %d\n", p, floor; exit 1 }
        exit f > 0
    }' "$log"
