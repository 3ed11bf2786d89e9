#!/bin/sh
# Mutation check of the engine: the faults of tests/mutants.txt are put in one at a time, in a copy of the tracked tree,
# and the Criterion tests must notice every one. Needs git, cmake and ninja.
# usage: tests/mutants.sh [NAME...] (default: all). Exit 1: a mutant survived; 2: the check itself could not run.
set -u
TESTS="test_sim test_kv test_cost test_closed_form test_published test_oracle test_properties test_stat test_evq
       test_scenario test_figures test_metrics test_capacity
       test_llama_server test_llama_server_random test_fit test_score test_waterfall test_curve_rises" # those that the tree has
AUDIT_TESTS="test_unit test_claim test_audit_sources test_audit_mutants test_audit_broken test_audit_physical" # for its faults
HANG_S=60 # a test that takes longer on a mutant has caught an endless loop
cd "$(dirname "$0")/.." || exit 2
list=$PWD/tests/mutants.txt

give_up() {
    echo "mutants: $1" >&2
    exit 2
}

tree=$(mktemp -d) || give_up "no temporary folder"
trap 'rm -rf "$tree"' EXIT
trap 'exit 2' HUP INT TERM
git ls-files | tar -cf - -T - | tar -xf - -C "$tree" || give_up "cannot copy the tracked tree"
cd "$tree" || exit 2
export RATECAST_BIN="$tree/b/ratecast" # as tests/CMakeLists.txt sets it

# The mutated text of NAME's file on standard output; fails unless the old text stands there exactly once.
mutated() {
    NAME=$1 awk '
        /^#/ || /^$/ { next }
        /^- / { if (on) old = old (olds++ ? "\n" : "") substr($0, 3); next }
        /^[+] / { if (on) new = new (news++ ? "\n" : "") substr($0, 3); next }
        { on = $1 == ENVIRON["NAME"]; if (on) { file = $2; found++ } }
        END {
            if (found != 1 || old == "") { print "mutants.txt holds it " found + 0 " times, or without old text" | "cat >&2"; exit 1 }
            while ((getline line < file) > 0) text = text line "\n"
            for (rest = text; (at = index(rest, old)) > 0; rest = substr(rest, at + length(old))) n++
            if (n != 1) { print file ": its old text is there " n + 0 " times, expected once" | "cat >&2"; exit 1 }
            at = index(text, old)
            printf "%s%s%s", substr(text, 1, at - 1), new, substr(text, at + length(old))
        }' "$list"
}

file_of() {
    awk -v name="$1" '$1 == name { print $2 }' "$list"
}

# Builds and runs one test; 0: it passed, 1: it failed. Its output is in log. A test that ran nothing did neither.
passes() {
    ninja -C b "$1" >log 2>&1 || {
        cat log >&2
        give_up "$2 does not build"
    }
    if "b/tests/$1" -j2 --timeout "$HANG_S" >log 2>&1; then
        grep -q 'Synthesis: Tested: [1-9]' log && return 0
    else
        grep -Eq 'Synthesis: .*(Failing|Crashing): [1-9]' log && return 1
    fi
    cat log >&2
    give_up "$1 did not run on $2"
}

# Are faults in FILE for TEST to catch? The audit's tests look at claims only, the others at none.
is_for() {
    case $2 in model/audit/* | scenarios/claim* | model/base/unit.c) of_audit=1 ;; *) of_audit=0 ;; esac
    case " $AUDIT_TESTS " in *" $1 "*) [ $of_audit -eq 1 ] ;; *) [ $of_audit -eq 0 ] ;; esac
}

all=$(awk '/^[a-z]/ { print $1 }' "$list")
names=${*:-$all}
for name in $names; do # all of them first: a rotten list shows within a second
    mutated "$name" >changed || give_up "$name does not apply"
    cmp -s changed "$(file_of "$name")" && give_up "$name changes nothing"
done

cmake -S . -B b -G Ninja >log 2>&1 || {
    cat log >&2
    give_up "cmake failed"
}
present=
for test in $AUDIT_TESTS $TESTS; do
    [ -f "tests/unit/$test.c" ] || [ -f "tests/property/$test.c" ] || continue
    present="$present $test"
done
# shellcheck disable=SC2086 # a list of words is meant
ninja -C b ratecast $present >log 2>&1 || {
    tail -40 log >&2
    give_up "the tree does not build"
}
for test in $present; do
    passes "$test" "the tree as it is" || {
        cat log >&2
        give_up "$test fails without a mutant"
    }
done

killed=0
survived=0
for name in $names; do
    file=$(file_of "$name")
    cp "$file" original
    mutated "$name" >changed || give_up "$name does not apply"
    cp changed "$file"
    by=
    for test in $present; do
        is_for "$test" "$file" || continue
        passes "$test" "$name" || {
            by=$test
            break
        }
    done
    cp original "$file"
    if [ -n "$by" ]; then
        killed=$((killed + 1))
        echo "killed $name by $by"
    else
        survived=$((survived + 1))
        echo "SURVIVED $name"
    fi
done
echo "$killed killed, $survived survived"
[ "$survived" -eq 0 ]
