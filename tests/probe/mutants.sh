#!/bin/sh
# Mutation check of the probe's kernels: the faults of mutants.txt are put into bench/kernels.metal one at a time, in a copy,
# and what mutants.txt names must notice each: the compile with address spaces, the self-test's values, or the fibers.
# usage: tests/probe/mutants.sh [--compile-only] [NAME...] (default: all)
# CC, CXX: compilers ; CLANGXX: a clang++ for the address spaces (defaults: the first found)
# Exit 1: a mutant survived, or the kernels as they are do not pass; 2: the check could not run; 77: no compiler for it.
set -u
cd "$(dirname "$0")/../.." || exit 2
list=$PWD/tests/probe/mutants.txt
bench=$PWD/bench
first_of() {
    for c; do command -v "$c" && break; done
}
: "${CC:=cc}" "${CXX:=$(first_of c++ g++ clang++)}"
: "${CLANGXX:=$(first_of clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14)}"
SEEDS="1 2 3" # of the order that threads run in; each has to notice
compile_only=
[ "${1:-}" = --compile-only ] && compile_only=1 && shift

give_up() {
    echo "probe mutants: $1" >&2
    exit "${2:-2}"
}

[ -n "$CLANGXX" ] || give_up "SKIP: no clang++ for the compile with address spaces" 77
T=$(mktemp -d) || give_up "no temporary folder"
trap 'rm -rf "$T"' EXIT
trap 'exit 2' HUP INT TERM

# The mutated kernels on standard output; fails unless the old text stands there exactly once.
mutated() {
    NAME=$1 awk -v file="$bench/kernels.metal" '
        /^#/ || /^$/ { next }
        /^- / { if (on) old = old (olds++ ? "\n" : "") substr($0, 3); next }
        /^[+] / { if (on) new = new (news++ ? "\n" : "") substr($0, 3); next }
        { on = $1 == ENVIRON["NAME"]; found += on }
        END {
            if (found != 1 || old == "") { print "mutants.txt holds it " found + 0 " times, or without old text" | "cat >&2"; exit 1 }
            while ((getline line < file) > 0) text = text line "\n"
            for (rest = text; (at = index(rest, old)) > 0; rest = substr(rest, at + length(old))) n++
            if (n != 1) { print "its old text is there " n + 0 " times, expected once" | "cat >&2"; exit 1 }
            at = index(text, old)
            printf "%s%s%s", substr(text, 1, at - 1), new, substr(text, at + length(old))
        }' "$list"
}

# A folder like bench/ with other kernels.
folder() {
    rm -rf "$T/bench"
    mkdir "$T/bench"
    cp -R "$bench/msl" "$bench/kernels.h" "$bench/thunks.awk" "$T/bench/"
    cp "$1" "$T/bench/kernels.metal"
}

addresses_ok() { # compile with address spaces
    "$CLANGXX" -std=c++17 -x c++ -fsyntax-only -Wall -Wno-unknown-attributes -Wno-unknown-pragmas -DMSL_CHECK_AS \
        -I "$T/bench/msl" -I "$T/bench" "$T/bench/kernels.metal" >"$T/log" 2>&1
}

build() { # the self-test with the folder's kernels
    sh "$T/bench/msl/build.sh" "$CXX" "$T/bench" "$T/kernels_cpu.o" >"$T/log" 2>&1 &&
        "$CC" "$T"/host/*.o "$T/kernels_cpu.o" -lm -o "$T/selftest" >"$T/log" 2>&1
}

# What notices the folder's kernels with a seed: "values", "runtime", or nothing.
noticed() {
    RATECAST_PROBE_SEED=$1 "$T/selftest" >"$T/log" 2>&1
    case $? in
    0) echo nothing ;;
    1) echo values ;;
    *) echo runtime ;;
    esac
}

host() { # the rest of the self-test, once
    mkdir "$T/host"
    for source in bench/probe_test.c bench/launch.c bench/reference.c bench/gpu.c bench/gpu_cpu.c bench/msl/fibers.c \
        model/base/arena.c model/base/err.c tests/probe/selftest.c; do
        "$CC" -std=c11 -O1 -D_XOPEN_SOURCE=700 -D_DARWIN_C_SOURCE -DRATECAST_GPU_CPU -I bench -I model -c "$source" \
            -o "$T/host/$(basename "$source" .c).o" || give_up "$source does not compile"
    done
}

caught() { # NAME BY: prints how, or fails
    mutated "$1" >"$T/mutant" || give_up "$1 does not apply"
    folder "$T/mutant"
    if [ "$2" = compile ]; then
        addresses_ok && return 1
        grep -Eq "address.space|const-qualified|read-only|'(device|threadgroup|constant) " "$T/log" || give_up "$1: an error, but not of address spaces: $(cat "$T/log")"
        sed -n 's/.*error: //p' "$T/log" | head -n 1
        return
    fi
    addresses_ok || give_up "$1 does not compile: $(cat "$T/log")"
    build || give_up "$1 does not build: $(cat "$T/log")"
    for seed in $SEEDS; do
        by=$(noticed "$seed")
        [ "$by" = "$2" ] || {
            echo "seed $seed: $by"
            return 1
        }
    done
    head -n 1 "$T/log"
}

names=${*:-$(awk '/^[a-z]/ { print $1 }' "$list")}
folder "$bench/kernels.metal"
addresses_ok || {
    cat "$T/log"
    give_up "the kernels do not compile with address spaces" 1
}
echo "kernels: compile with address spaces ($CLANGXX)"
if [ -z "$compile_only" ]; then
    [ -n "$CXX" ] || give_up "SKIP: no C++ compiler" 77
    host
    build || give_up "the kernels do not build: $(cat "$T/log")"
    for seed in $SEEDS; do
        [ "$(noticed "$seed")" = nothing ] || give_up "the kernels as they are fail with seed $seed: $(cat "$T/log")" 1
    done
    echo "kernels: pass the self-test with seeds $SEEDS ($CXX)"
fi
killed=0
survived=0
for name in $names; do
    by=$(awk -v name="$name" '$1 == name { print $2 }' "$list")
    [ -n "$compile_only" ] && [ "$by" != compile ] && continue
    if how=$(caught "$name" "$by"); then
        killed=$((killed + 1))
        echo "killed $name by $by: $how"
    else
        [ $? -eq 1 ] || exit 2
        survived=$((survived + 1))
        echo "SURVIVED $name: $how"
    fi
done
echo "$killed killed, $survived survived"
[ "$survived" -eq 0 ]
