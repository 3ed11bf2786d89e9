#!/bin/sh
# Static checks. usage: tests/lint.sh BUILD_DIR (configured with clang, for its compile_commands.json)
set -u
build=$1
status=0
fail() {
    echo "lint: $1"
    status=1
}
product=$(git ls-files 'model/*.c' 'rates/*.c' 'calib/*.c' 'scenarios/*.c' 'reports/*.c' 'plots/*.c' 'bench/*.c')
all=$(git ls-files '*.c' '*.h' '*.m')
scripts=$(git ls-files '*.sh' .ci/run .ci/install)
# shellcheck disable=SC2046,SC2086 # lists of words are meant
{
    # one process that takes long: beside the others, until clang-tidy wants both cores
    cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,portability,performance --inline-suppr \
        --suppress=missingIncludeSystem -Imodel -Irates -Irates/import -Icalib -Iscenarios -Ireports -Ibench -I. $product &
    cppcheck=$!
    clang-format --dry-run -Werror $all || fail "clang-format -i would change these"
    shellcheck -x $scripts || fail shellcheck
    codespell -L Dout,Din,dout,din,ot,reqeuest $product $(git ls-files '*.h' '*.md' ':!tests/*') || fail codespell # tests misspell on purpose
}
# every header stands alone
for header in $(git ls-files '*.h' ':!tests/*'); do
    echo "#include \"$header\"" | clang -std=c11 -D_XOPEN_SOURCE=700 -fsyntax-only -Imodel -Irates -Irates/import -Icalib -Iscenarios -Ireports -Ibench -I. \
        -I/usr/include/cjson -x c - || fail "$header does not compile alone"
done
wait $cppcheck || fail cppcheck
# shellcheck disable=SC2046,SC2086 # lists of words are meant
{
    # the CUDA backend is compiled where nvcc is
    printf '%s\n' $product | grep -v gpu_cuda | xargs -P 2 -n 4 clang-tidy --quiet -p "$build" --warnings-as-errors='*' 2>/dev/null || fail clang-tidy
}
# no function over 70 lines
# shellcheck disable=SC2086 # a list of words is meant
ctags --languages=C --kinds-C=f --fields=+ne -f - $product 2>/dev/null | awk -F '\t' '
    { for (i = 1; i <= NF; i++) { if ($i ~ /^line:/) a = substr($i, 6); if ($i ~ /^end:/) b = substr($i, 5) }
      if (b - a > 70) { print $2 ": " $1 " has " b - a + 1 " lines"; bad = 1 } }
    END { exit bad }' || fail "functions over 70 lines"
[ $status -eq 0 ] && echo "lint: clean"
exit $status
