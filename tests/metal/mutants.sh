#!/bin/sh
# Do the double and its tests notice faults of bench/gpu_metal.m? Those of mutants.tsv are put in one at a time; each has
# to be noticed where its line says. REPO: the source folder. Exit 1: one was not.
# shellcheck source=tests/metal/support.sh
. "${REPO:?path of the repository}/tests/metal/support.sh"
build_double || exit 1
export REPO
host=$REPO/bench/gpu_metal.m
mutant=$T/mutant.m

# host_run counts its own checks; its census is part of its exit code
survives() { # BY
    case $1 in
    host) "$T/run" ;;
    table) METAL_HOST=$mutant sh "$REPO/tests/metal/test_selectors.sh" ;;
    *)
        grep "^$1	" "$REPO/tests/metal/faults.tsv" >"$T/line"
        IFS='	' read -r fault exit_code text <"$T/line"
        under_fault "$T/run" "$fault" "$exit_code" "$text"
        ;;
    esac
}

cp "$host" "$mutant"
build_host "$mutant" "$T/run" || exit 1
for by in host table $(cut -f 1 "$REPO/tests/metal/faults.tsv"); do
    is "$by passes the host as it is" survives "$by"
done
while IFS='	' read -r name by edit; do
    case $name in \#*) continue ;; esac
    sed "$edit" "$host" >"$mutant"
    if cmp -s "$host" "$mutant"; then
        fail "$name changes nothing"
    elif [ "$by" != table ] && ! build_host "$mutant" "$T/run" 2>"$T/log"; then
        fail "$name does not compile" "$T/log"
    elif (survives "$by") >"$T/said" 2>&1; then
        fail "$name SURVIVED" "$T/said"
    else
        pass
        echo "noticed $name by $by: $(cat "$T/said" "$T/err" 2>/dev/null | grep -E 'misuse|live objects [1-9]|FAILED|exit code|say|left' | head -1)"
    fi
    rm -f "$T/err"
done <"$REPO/tests/metal/mutants.tsv"
totals
