#!/bin/sh
# bench/gpu_metal.m on the double of Metal: what must work, each failure that the double acts out, each misuse that it
# aborts on. REPO: the source folder.
# shellcheck source=tests/metal/support.sh
. "${REPO:?path of the repository}/tests/metal/support.sh"
if ! { build_double && build_host "$REPO/bench/gpu_metal.m" "$T/host_run" &&
    link "$T/misuse" "$T/misuse.o" "$T/fake_metal.o" "$T/fake_commands.o" "$T/tiny_kernels.o"; }; then
    fail "the build"
    totals
    exit 1
fi

# ---- what must work; its line of totals counts ----

"$T/host_run" >"$T/out" 2>"$T/err"
code=$?
cat "$T/out"
is "host_run: exit 0" test $code -eq 0
is "host_run: live objects 0" grep -qx "live objects 0" "$T/err"
is "host_run: silent otherwise" test "$(wc -l <"$T/err")" -eq 1

# ---- failures ----

while IFS='	' read -r fault exit_code text; do
    is "$fault" under_fault "$T/host_run" "$fault" "$exit_code" "$text"
done <"$REPO/tests/metal/faults.tsv"
grep -o 'fake_has_fault("[a-z-]*")' "$REPO"/tests/metal/fake_*.m | sed 's/.*"\(.*\)".*/\1/' | sort -u >"$T/acted"
cut -f 1 "$REPO/tests/metal/faults.tsv" | sort >"$T/listed"
is "every failure of the double is listed" diff "$T/acted" "$T/listed"

FAKE_METAL_GROUP_MAX=16 "$T/host_run" step 2>"$T/err"
code=$?
is "a pipeline's own limit: exit 4" test $code -eq 4
is "a pipeline's own limit: says so" grep -qF "code 9: tiny_overrun: more threads in a group than the kernel can have" "$T/err"

# ---- misuses ----

aborts() { # PROGRAM NAME TEXT
    # shellcheck disable=SC2016 # its own arguments are meant
    sh -c '"$@"; exit $?' sh "$1" "$2" >"$T/out" 2>"$T/err" # that shell's "Aborted" goes to err
    code=$?
    is "$2: aborts" test $code -eq 134
    is "$2: says $3" grep -qF "fake metal: misuse: $3" "$T/err"
}
"$T/misuse" none 2>"$T/err"
code=$?
is "misuse none: exit 0" test $code -eq 0
is "misuse none: live objects 0" grep -qx "live objects 0" "$T/err"
aborts "$T/host_run" overrun "byte 0 behind a buffer was written"
while IFS='	' read -r name text; do
    aborts "$T/misuse" "$name" "$text"
done <"$REPO/tests/metal/misuses.tsv"
# none of misuse.m is left out of the list
grep -o 'name, "[a-z-]*"' "$REPO/tests/metal/misuse.m" | sed 's/.*"\(.*\)"/\1/' | sort >"$T/provoked"
cut -f 1 "$REPO/tests/metal/misuses.tsv" | grep -v forgotten-encoder | sort >"$T/listed"
is "every misuse is listed" cmp "$T/provoked" "$T/listed"

# ---- what the census does not see: memory of C ----

SANITIZE=-fsanitize=address,undefined
for clang in "$METAL_CLANG" clang-14 clang ''; do
    METAL_CLANG=$clang
    [ -n "$clang" ] && compile "$T/hello.m" "$T/hello.o" 2>"$T/log" && link "$T/hello" "$T/hello.o" 2>"$T/log" && break
done
if [ -n "$METAL_CLANG" ] && build_double && build_host "$REPO/bench/gpu_metal.m" "$T/host_run"; then
    ASAN_OPTIONS=detect_leaks=1 "$T/host_run" >"$T/out" 2>"$T/err"
    is "sanitized: every check" grep -q ' passed, 0 failed$' "$T/out"
    is "sanitized: no error" test "$(grep -cE 'ERROR: AddressSanitizer|runtime error' "$T/err")" -eq 0
    # the runtime's own leaks, and what the double keeps of released objects, are not the host's
    grep -E '#1 .*/(gpu_metal\.m|gpu\.c):' "$T/err" >"$T/leaks"
    is "sanitized: none is the host's" test ! -s "$T/leaks"
    ASAN_OPTIONS=detect_leaks=1 "$T/host_run" leak >"$T/out" 2>"$T/err"
    is "sanitized: a leak is seen, and named" grep -qE '#1 .*/host_run\.c:' "$T/err"
else
    echo "skipped: no sanitizer of any clang here"
fi
totals
