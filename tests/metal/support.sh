# shellcheck shell=sh
# Sourced by the tests in this folder, with REPO (the source folder) set: finds a clang that compiles Objective-C for
# GNUstep, works in a folder of its own, T, and has the pieces of the build. Skips, aloud, where something is missing.
set -u
: "${REPO:?path of the repository}"
case $REPO in /*) ;; *) REPO=$PWD/$REPO ;; esac
skip() {
    echo "SKIP ${0##*/}: $1"
    exit 77
}
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' HUP INT TERM
# shellcheck disable=SC3045 # no core files of the aborts that are meant; nothing lost where it is unknown
ulimit -c 0 2>/dev/null
unset FAKE_METAL_FAULT FAKE_METAL_GROUP_MAX
passed=0 failed=0

pass() { passed=$((passed + 1)); }
fail() { # NAME [FILE]
    failed=$((failed + 1))
    echo "FAILED $1"
    [ $# -lt 2 ] || sed -n '1,10s/^/    /p' "$2"
}
is() { # NAME COMMAND...: the command succeeds (its output is in T/log, so it must not look at that)
    name=$1
    shift
    if "$@" >"$T/log" 2>&1; then pass; else fail "$name" "$T/log"; fi
}
totals() {
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
}

# ---- compilers ----

# objc/objc.h is gcc's, behind clang's own headers; GNUstep's headers are full of warnings, so they are the system's.
OBJC="-fobjc-runtime=gcc -fexceptions -fobjc-exceptions -D_NATIVE_OBJC_EXCEPTIONS -fconstant-string-class=NSConstantString
    -isystem /usr/include/GNUstep -idirafter $(gcc -print-file-name=include 2>/dev/null)"
# those of the top CMakeLists.txt
WARNINGS="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -Wformat=2 -Wundef -Werror"
FLAGS="-std=c11 -D_XOPEN_SOURCE=700 -g -ffp-contract=off $WARNINGS -I$REPO/bench -I$REPO/model -I$REPO/tests/metal"

SANITIZE=

compile() { # SOURCE OBJECT [FLAG...]
    source=$1 object=$2
    shift 2
    # shellcheck disable=SC2086 # lists of words are meant
    case $source in
    *.m) "$METAL_CLANG" $FLAGS $SANITIZE $OBJC "$@" -c "$source" -o "$object" ;;
    *) "$METAL_CLANG" $FLAGS $SANITIZE "$@" -c "$source" -o "$object" ;;
    esac
}
link() { # PROGRAM OBJECT...
    program=$1
    shift
    # shellcheck disable=SC2086 # empty, or one word
    "$METAL_CLANG" $SANITIZE "$@" -o "$program" -lgnustep-base -lobjc -lm
}

printf '#import <Foundation/Foundation.h>\nint main(void) { [NSObject class]; return 0; }\n' >"$T/hello.m"
found=
for METAL_CLANG in ${METAL_CLANG:-clang-16 clang-15 clang-14 clang}; do
    command -v "$METAL_CLANG" >/dev/null && compile "$T/hello.m" "$T/hello.o" 2>"$T/log" &&
        link "$T/hello" "$T/hello.o" 2>"$T/log" && found=yes && break
done
[ -n "$found" ] || skip "no clang that compiles Objective-C for GNUstep (clang, gobjc, libgnustep-base-dev)"

# ---- the double, and the tiny kernels that it runs ----

build_double() {
    cmake -DIN="$REPO/tests/metal/tiny.metal" -DHEADER="$REPO/tests/metal/tiny.h" -DOUT="$T/tiny_text.c" \
        -P "$REPO/bench/kernels_text.cmake" || return 1
    for source in fake_metal.m fake_commands.m tiny_kernels.c host_run.c misuse.m; do
        compile "$REPO/tests/metal/$source" "$T/${source%.*}.o" || return 1
    done
    compile "$REPO/bench/gpu.c" "$T/gpu.o" -DRATECAST_GPU_METAL &&
        compile "$REPO/model/base/err.c" "$T/err.o" &&
        compile "$T/tiny_text.c" "$T/tiny_text.o"
}
build_host() { # GPU_METAL_SOURCE PROGRAM
    compile "$1" "$T/gpu_metal.o" &&
        link "$2" "$T/gpu_metal.o" "$T/host_run.o" "$T/gpu.o" "$T/err.o" "$T/tiny_text.o" "$T/fake_metal.o" "$T/fake_commands.o" \
            "$T/tiny_kernels.o"
}

# ---- one run of a host under a fault of faults.tsv ----

# The run ended as its line says: exit code, text (on stderr after "code N: ", or on stdout), census.
under_fault() { # PROGRAM FAULT EXIT_CODE TEXT
    FAKE_METAL_FAULT=$2 "$1" step >"$T/out" 2>"$T/err"
    code=$?
    [ $code -eq "$3" ] || { echo "$2: exit code $code"; return 1; }
    cat "$T/out" "$T/err" | grep -qF -e "$4" || { echo "$2: does not say $4"; return 1; }
    # without a device no object was ever made, and the double takes no census
    [ "$2" = no-device ] || grep -qx "live objects 0" "$T/err" || { echo "$2: objects are left"; return 1; }
}
