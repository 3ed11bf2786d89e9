#!/bin/sh
# Makes every committed report again, beside the committed one, and compares: Markdown, tables of the pictures and the
# page byte for byte. Pictures are drawn, but only looked for: they differ between versions of gnuplot.
# usage: tests/reports.sh RATECAST OUT_DIR [REPORTS_DIR], from the root of the repository
set -u
ratecast=$1 out=$2 reports=${3:-reports} stale=0 same=0
# an inline picture begins with a line that holds <svg and ends with one that holds </svg>
without_pictures() { awk '/<svg/ { skip = 1 } !skip { print } /<\/svg>/ { skip = 0 }' "$1"; }
compare() { # committed, again
    case $1 in
    *.svg) [ -s "$1" ] && [ -s "$2" ] ;;
    *.html) without_pictures "$1" >"$out/a" && without_pictures "$2" >"$out/b" && diff -u "$out/a" "$out/b" ;;
    *) diff -u "$1" "$2" ;;
    esac
}
mkdir -p "$out" || exit 1
for spec in "$reports"/*/report.json; do
    dir=${spec%/report.json} name=$(basename "${spec%/report.json}") bad=0
    rm -rf "${out:?}/$name"
    "$ratecast" report "$spec" -o "$out/$name" >/dev/null || bad=1
    for f in "$dir"/* "$out/$name"/*; do
        file=$(basename "$f")
        case $file in report.json | template.md) continue ;; esac
        if [ ! -f "$dir/$file" ] || [ ! -f "$out/$name/$file" ]; then
            echo "$name/$file: only one of the committed report and the new one has it"
            bad=1
        else
            compare "$dir/$file" "$out/$name/$file" >"$out/diff" 2>&1 || { head -20 "$out/diff"; bad=1; }
        fi
    done
    if [ $bad -eq 0 ]; then
        same=$((same + 1))
    else
        stale=$((stale + 1))
        echo "STALE $name: \`$ratecast report $spec\` writes it again"
    fi
done
rm -f "$out/a" "$out/b" "$out/diff"
echo "$same reports the same, $stale stale"
[ $stale -eq 0 ] && [ $same -gt 0 ]
