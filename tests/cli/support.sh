# shellcheck shell=sh disable=SC2034
# Sourced by the tests in this folder, with RATECAST (the program) and REPO (the source folder) set: works in a folder
# of its own, which is gone afterwards.
set -u
: "${RATECAST:?path of the program}" "${REPO:?path of the repository}"
case $RATECAST in /*) ;; *) RATECAST=$PWD/$RATECAST ;; esac
case $REPO in /*) ;; *) REPO=$PWD/$REPO ;; esac
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' HUP INT TERM
cd "$T" || exit 1
RATECAST_RATES=$REPO/rates
export RATECAST_RATES
passed=0 failed=0 code=0

run() {
    "$RATECAST" "$@" >out 2>err </dev/null
    code=$?
}

pass() { passed=$((passed + 1)); }

is() { # NAME COMMAND...: the command succeeds
    name=$1
    shift
    if "$@" >log 2>&1; then
        pass
    else
        failed=$((failed + 1))
        echo "FAILED $name (exit code of the run: $code)"
        sed -n '1,5s/^/    /p' err log
    fi
}

# The last run ended with exit code 2, one line on stderr that holds the texts, and no output.
refused() { # NAME TEXT...
    name=$1
    shift
    is "$name: exit 2" test $code -eq 2
    is "$name: silent stdout" test ! -s out
    is "$name: one line" test "$(wc -l <err)" -eq 1
    for text; do is "$name: says $text" grep -qF -e "$text" err; done
}

fail() { # NAME TEXT...
    failed=$((failed + 1))
    echo "FAILED $1: $2"
    sed -n '1,5s/^/    stderr: /p' err
}

# The first of the texts "a|b|c" that the file lacks.
lacks() { # FILE TEXTS
    saved=$IFS IFS='|'
    set -f
    # shellcheck disable=SC2086 # split at |
    set -- "$1" $2
    set +f
    IFS=$saved
    file=$1
    shift
    for text; do
        grep -qF -e "$text" "$file" || { echo "$text"; return; }
    done
}

# A stand-in for gnuplot in the folder fake/, for who puts it first in PATH.
gnuplot_is() { # SCRIPT
    printf '#!/bin/sh\n%s\n' "$1" >fake/gnuplot
    chmod +x fake/gnuplot
}
