#!/bin/sh
# `ratecast report` from the outside: its tables are those of `project --md`, its hashes those of sha256sum, the command
# that it prints makes it again, and a report that fails leaves an older one alone. RATECAST: the program, REPO: the
# source folder.
# shellcheck disable=SC2016 # of the stand-in for gnuplot
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
S=$REPO/scenarios

# A stand-in for gnuplot, called as SCRIPT DATA PICTURE behind -d -c: the picture is a mark and the table's length.
mkdir fake bin none
GOOD='printf "<svg xmlns=\"http://www.w3.org/2000/svg\"><g id=\"a\"/>%s</svg>\n" "$(wc -l <"$4")" >"$5"'
gnuplot_is "$GOOD"
ln -s "$RATECAST" bin/ratecast
usual_path=$PATH
PATH=$T/fake:$T/bin:$PATH

sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c1-64; }
first_table() { awk '/^\|/ { print; on = 1; next } on { exit }' "$1"; }
# The line of shell below "Made by".
command_of() { awk '/^Made by ratecast/ { made = 1 } made && on { print; exit } made && /^```sh/ { on = 1 }' "$1"; }
ok() { is "$1: exit 0" test $code -eq 0; }

# ---- of a scenario ----

made_files() { # FOLDER
    (cd "$1" && find . ! -name . | LC_ALL=C sort | tr '\n' ' ')
}

# every file of the report, and what of it is checked for each scenario
of_scenario() { # NAME FILES
    run report "$S/$1.json" -o "of_$1"
    ok "$1"
    is "$1: names what it wrote" grep -qx "of_$1/report.md" out
    is "$1: silent stderr" test ! -s err
    is "$1: files" test "$(made_files "of_$1")" = "$2"
    "$RATECAST" project "$S/$1.json" --md >project.md
    first_table project.md >want
    first_table "of_$1/report.md" >found
    is "$1: there is a table" test "$(wc -l <want)" -gt 5
    is "$1: the table of project --md" cmp want found
    page=of_$1/index.html
    is "$1: no NUL in the page" test "$(tr -d '\000' <"$page" | wc -c)" -eq "$(wc -c <"$page")"
    is "$1: no mark is left" sh -c 'LC_ALL=C; ! grep -q "$(printf "\356\200\200")" "$1" "$2"' x "$page" "of_$1/report.md"
    grep -oE '(src|srcset|data|poster|action|xlink:href)="[^#"][^"]*"|url\([^#)]*\)|@import[^;]*|<(link|iframe|object|embed|base)[ >]' \
        "$page" | grep -v '^data-' >requests
    is "$1: the page asks for nothing" test ! -s requests
    is "$1: nor may it" grep -q "Content-Security-Policy.*default-src 'none'" "$page"
    is "$1: pictures inside" test "$(grep -c '<svg' "$page")" -eq "$(grep -c '^!\[' "of_$1/report.md")"
}
ONE='./index.html ./report.md ./timeline.svg ./timeline.tsv ./wall.svg ./wall.tsv ./waterfall.svg ./waterfall.tsv '
of_scenario head_to_head_4k "$ONE"
of_scenario llama_server_h200 "$ONE"
of_scenario published/head_to_head_20k "$ONE" 2>/dev/null
of_scenario cache_ab './index.html ./report.md ./sweep.svg ./sweep.tsv '
run report "$S/cache_ab.json" --set workload.K=4 -o at4
ok "one value of a sweep"
"$RATECAST" project "$S/cache_ab.json" --set workload.K=4 --md >project.md
is "one value of a sweep: the table" test "$(first_table project.md)" = "$(first_table at4/report.md)"
run report "$S/fleet_5x200.json" -o fleet
is "a timeline of 1,000 turns shows none" test ! -e fleet/timeline.svg -a -e fleet/wall.svg

# the page's table has the same cells
if command -v python3 >/dev/null; then
    cat >cells.py <<'END'
import html, re, sys
md = open(sys.argv[1], encoding="utf-8").read()
page = open(sys.argv[2], encoding="utf-8").read()
rows = [[c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in md.splitlines()
        if line.startswith("|") and not re.match(r"^\|[-:|]+$", line)]
cells = [html.unescape(re.sub("<[^>]*>", "", c)) for c in re.findall(r"<t[hd](?: [^>]*)?>(.*?)</t[hd]>", page, re.S)]
want = [c for row in rows for c in row]
off = [pair for pair in zip(want, cells) if pair[0] != pair[1]]
sys.exit(0 if want == cells and len(want) > 100 else f"{len(want)} cells in Markdown, {len(cells)} in the page: {off[:3]}")
END
    for name in head_to_head_4k cache_ab; do
        is "$name: the page has the cells of the Markdown" python3 cells.py of_$name/report.md of_$name/index.html
    done
fi

# ---- inputs, and the command ----

cp "$S/head_to_head_4k.json" mine.json
cp "$S/claims/head_to_head_4k.json" claim.json
run report mine.json --claim claim.json -o mine
ok "inputs"
hash_is() { # NAME FILE FOLDER
    is "SHA-256 of $1" grep -qE "^\| [a-z ]+ +\| $1 +\| $(sha256 <"$2") \|" "$3/report.md"
}
hash_is mine.json mine.json mine
hash_is claim.json claim.json mine
hash_is reports/templates/session.md "$REPO/reports/templates/session.md" mine
hash_is rates/hardware.json "$REPO/rates/hardware.json" mine
for card in qwen3.8-27b-q4_k_m-m3pro-fak qwen3.8-27b-q4_k_m-m3pro-llamacpp qwen2.5-7b-instruct-q8_0-m3pro; do
    hash_is $card "$REPO/rates/$card.json" mine
done
is "inputs: eight" test "$(grep -cE '[0-9a-f]{64} \|$' mine/report.md)" -eq 8

again() { # NAME FOLDER: the printed command makes the same bytes
    line=$(command_of "$2/report.md")
    is "$1: a command" test "${line#ratecast report }" != "$line"
    rm -rf again
    sh -c "ratecast report -o again ${line#ratecast report }" >out 2>err
    code=$?
    ok "$1, again"
    is "$1: the same bytes" diff -r "$2" again
}
again "claim" mine
run report mine.json -o sets --set workload.K=3 --set 'workload.H=5' --against "$S/head_to_head_20k.json"
ok "--set, --against"
is "--set: said" grep -qF -- '--set workload.K=3 --set workload.H=5' sets/report.md
again "--set" sets
cp -r "$REPO/rates" "my rates"
run report mine.json -o rates --rates 'my rates'
ok "--rates"
again "--rates" rates

odd="a folder/it's \"one\" \$HOME"
mkdir -p "$odd"
cp mine.json "$odd/my \`scenario\`.json"
cp claim.json "$odd/--claim;.json"
printf '# {{title}}\n\n{{table}}\n\n{{inputs}}\n' >"$odd/a template.md"
run report "$odd/my \`scenario\`.json" --claim "$odd/--claim;.json" --template "$odd/a template.md" -o "$odd/the report"
ok "blanks and quotes"
again "blanks and quotes" "$odd/the report"
cp mine.json ./-mine.json
run report -o dash -- -mine.json
ok "a name with a dash"
again "a name with a dash" dash
run report mine.json -o 'berichte/größe 4k – η'
ok "a folder in UTF-8"
is "a folder in UTF-8: the same" cmp "berichte/größe 4k – η/index.html" berichte/../"berichte/größe 4k – η/index.html"

# nothing depends on the surroundings
run report mine.json --claim claim.json -o plain
LC_ALL=C.UTF-8 LC_NUMERIC=de_DE.UTF-8 TZ=Asia/Tokyo "$RATECAST" report mine.json --claim claim.json -o elsewhere >out 2>err
code=$?
ok "another locale"
is "another locale: the same bytes" diff -r plain elsewhere
german=$(locale -a 2>/dev/null | grep -iE '^(de|fr|nl|pl)_.*utf-?8$' | head -1)
if [ -n "$german" ]; then
    rm -rf elsewhere
    LC_ALL=$german "$RATECAST" report mine.json --claim claim.json -o elsewhere >out 2>err
    is "$german: the same bytes" diff -r plain elsewhere
else
    echo "SKIPPED: no locale with a decimal comma here"
fi

# ---- of a specification ----

mkdir spec
cat >spec/template.md <<'END'
# {{title}}

{{h/fak-native.wall_s :.1}} s for {{lit:4k}}, {{h.K}} agents. {{! 5 }}

{{table h}}

{{table ab}}

{{plots}}

{{inputs}}
END
base() { # JSON members
    printf '{"schema": "ratecast.report/1", "id": "t", "title": "a title"%s}' "${1:+, $1}"
}
RUNS='"runs": [{"name": "h", "file": "scenarios/head_to_head_4k.json"}, {"name": "ab", "file": "scenarios/cache_ab.json"}]'
TEMPLATE='"template": "template.md"'
PLOTS='"plots": [{"name": "wall", "kind": "stack", "of": "h"}, {"name": "swept", "kind": "sweep", "of": "ab"},
    {"name": "part", "kind": "timeline", "of": "h", "from_s": 100, "to_s": 110},
    {"name": "late", "kind": "timeline", "of": "h", "from_s": 500},
    {"name": "rates", "kind": "card", "of": "qwen2.5-7b-instruct-q8_0-m3pro"}]'
base "$RUNS, $TEMPLATE, $PLOTS" >spec/report.json
run report spec/report.json
ok "specification"
is "specification: into its own folder" grep -qx spec/report.md out
is "specification: files" test "$(made_files spec)" = "./index.html ./late.svg ./late.tsv ./part.svg ./part.tsv ./rates.svg \
./rates.tsv ./report.json ./report.md ./swept.svg ./swept.tsv ./template.md ./wall.svg ./wall.tsv "
"$RATECAST" project "$S/head_to_head_4k.json" --md >project.md
first_table project.md >want
first_table spec/report.md >found
is "specification: the table of project --md" cmp want found
"$RATECAST" project "$S/cache_ab.json" --md >project.md
first_table project.md >want
sed '1,/^| metric/d' spec/report.md | awk '/^\| workload/ { on = 1 } on && !/^\|/ { exit } on' >found
is "specification: the sweep's" cmp want found
hash_is spec/report.json spec/report.json spec
hash_is template.md spec/template.md spec
hash_is scenarios/cache_ab.json "$S/cache_ab.json" spec
"$RATECAST" project "$S/head_to_head_4k.json" --json >result.json
wall=$(sed -n 's/^      "wall_s": \([0-9.]*\),.*/\1/p' result.json | head -1)
is "specification: a value" grep -q "^$(printf '%.1f' "$wall") s for 4k, 4 agents\. $" spec/report.md
is "specification: a value says where it is from" grep -q \
    "<span class=\"number assumed\" title=\"ASSUMED: h/fak-native.wall_s\">$(printf '%.1f' "$wall")</span> s for 4k" spec/index.html
"$RATECAST" project "$S/head_to_head_4k.json" --plot p.svg >/dev/null
"$RATECAST" project "$S/cache_ab.json" --plot q.svg >/dev/null
is "specification: pictures of the same tables" sh -c 'cmp p.svg spec/wall.svg && cmp q.svg spec/swept.svg'
"$RATECAST" project "$S/head_to_head_4k.json" --timeline-tsv all.tsv >/dev/null
is "from_s alone: what ends later" test "$(sed 1,2d spec/late.tsv | wc -l)" -lt "$(sed 1,2d all.tsv | wc -l)"
is "from_s alone: nothing else" awk -F '\t' 'NR > 2 && $6 <= 500 { exit 1 }' spec/late.tsv
line=$(command_of spec/report.md)
is "specification: its command" test "$line" = 'ratecast report spec/report.json'
cp -r spec first
sh -c "$line" >out 2>err
is "specification: the same bytes again" diff -r first spec
run report spec/report.json -o spec/elsewhere
is "-o: the same bytes" cmp spec/elsewhere/index.html spec/index.html
rm -r spec/elsewhere

# ---- what the numbers are stands in every report ----

banner_of() { # NAME TEMPLATE LINE: as printf reads it; the line that the banner is
    mkdir -p banner
    base "$RUNS, $TEMPLATE" >banner/report.json
    # shellcheck disable=SC2059 # a template is a format here
    printf "$2" >banner/template.md
    run report banner/report.json
    ok "banner, $1"
    is "banner, $1: once" test "$(grep -c 'PROJECTION\]\*\* .*replayed by a simulator' banner/report.md)" -eq 1
    is "banner, $1: line $3" sh -c "sed -n $3p banner/report.md | grep -q '^> \*\*\[ASSUMED PROJECTION\]'"
    is "banner, $1: on the page" test "$(grep -c 'ASSUMED PROJECTION.*replayed by a simulator' banner/index.html)" -eq 1
}
banner_of "not placed" '# x\n\n{{lit:a}} {{h/fak-native.wall_s:.1}} s\n' 3
is "banner, not placed: the text below" grep -q '^a [0-9.]* s$' banner/report.md
banner_of "an empty template" '' 1
banner_of "no heading" 'some text\n' 1
banner_of "a heading alone" '# x' 3
banner_of "text right below the heading" '# x\ny\n' 3
banner_of "in a list that is left out" '# x\n{{#claims}}{{banner}}{{/claims}}\ny\n' 3
banner_of "placed below" '# x\n\ny\n\n{{banner}}\n' 5

# ---- what fails leaves everything as it was ----

same() { # NAME CODE TEXT...
    name=$1 want=$2
    shift 2
    is "$name: exit $want" test $code -eq "$want"
    is "$name: silent stdout" test ! -s out
    is "$name: one line" test "$(wc -l <err)" -eq 1
    for text; do is "$name: says $text" grep -qF -e "$text" err; done
    cp good/report.json good/template.md spec
    is "$name: the older report stands" diff -r good spec
}
cp -r spec good
printf 'a\nb 5\n' >spec/template.md
run report spec/report.json
same "a digit" 2 'spec/template.md:2:3' 'digit "5"'
printf '{{h/fak-native.wall}}' >spec/template.md
run report spec/report.json
same "a metric" 2 'spec/template.md:1:3' 'metric "wall"'
wrong() { # NAME LINE TEXT...: a template of a line, refused at its column
    what=$1
    printf '%s\n' "$2" >spec/template.md
    shift 2
    run report spec/report.json
    same "$what" 2 "$@"
}
wrong "seconds in bytes" '{{h/fak-native.wall_s in GB:.9}}' spec/template.md:1:3 '"GB" of a value that is s, expected s, ms, min, h'
wrong "seconds in %" 'a {{h/fak-native.wall_s in %:.1}}' spec/template.md:1:5 'expected s, ms, min, h'
wrong "bytes and seconds" '{{h/fak-native.peak_bytes + h/fak-native.wall_s:.1}}' spec/template.md:1:3 'found bytes + s'
wrong "a number by hand" '{{lit:takes 42.75 seconds}}' spec/template.md:1:7 '"42.75"'
wrong "a slip in a metric" '{{h/fak-native.wal_s:.1}}' spec/template.md:1:3 'nearest is "wall_s"'
wrong "a slip in an arm" '{{h/fak-nativ.wall_s:.1}}' spec/template.md:1:3 'nearest is "fak-native"'
wrong "a slip in a block" '{{tabel h}}' spec/template.md:1:3 'nearest is "table"'
wrong "a slip in a block's run" '{{table an}}' spec/template.md:1:3 'nearest is "ab"'
wrong "a slip in a plot" '{{plot wal}}' spec/template.md:1:3 'nearest is "wall"'
wrong "a slip in a unit" '{{h/fak-native.wall_s in minutes:.1}}' spec/template.md:1:3 '"minutes"' 'min'
printf 'a {{plot p}}' >spec/template.md
run report spec/report.json
same "a plot" 2 'spec/template.md:1:5' '"p"'
printf '{{#wall}}x{{/wall}}' >spec/template.md
run report spec/report.json
same "a section" 2 'spec/template.md:1:4' 'runs, claims, explain, witness, plots or figures'
printf '{{table ab}}{{table h4k}}' >spec/template.md
run report spec/report.json
same "a block of no run" 2 'spec/template.md:1:15' '"h4k"'
: >spec/template.md
printf 'x\0' >spec/template.md
run report spec/report.json
same "a NUL" 2 'spec/template.md' NUL
rm spec/template.md
run report spec/report.json
same "no template" 2 'template.md' 'No such file'
run report spec/report.json --rates none
same "no card" 2 'no card with id'
PATH=$T/none:$T/none
run report spec/report.json
PATH=$T/fake:$T/bin:$usual_path
same "no gnuplot" 4 gnuplot 'not found'
gnuplot_is 'case $3 in *sweep.gp) echo broken >&2; exit 1 ;; esac; '"echo other >\"\$5\""
run report spec/report.json
same "gnuplot fails at the second picture" 4 gnuplot broken
gnuplot_is 'case $3 in *card.gp) exit 0 ;; esac; '"echo other >\"\$5\""
run report spec/report.json
same "gnuplot draws no last picture" 4 gnuplot 'no picture'
gnuplot_is "$GOOD"
base "$RUNS, $TEMPLATE, \"plots\": [{\"name\": \"wall\", \"kind\": \"stack\", \"of\": \"h\"}, {\"name\": \"b\", \"kind\": \"stack\", \"of\": \"ab\"}]" \
    >spec/report.json
run report spec/report.json
same "a sweep in a stack" 2 'spec/report.json, plot b' '"ab" is a sweep'
base "$RUNS, $TEMPLATE, \"plots\": [{\"name\": \"b\", \"kind\": \"timeline\", \"of\": \"h\", \"from_s\": 100000, \"to_s\": 200000}]" \
    >spec/report.json
run report spec/report.json
same "a timeline after the end" 2 'spec/report.json, plot b' 'nothing happens in the window'
mv spec/report.md kept.md
mkdir spec/report.md
run report spec/report.json -o spec
rmdir spec/report.md
mv kept.md spec/report.md
same "a folder where the report goes" 2
cp good/report.json good/template.md spec

# nothing that a report is made from is overwritten
mkdir inputs
printf '{{title}}\n' >inputs/report.md
base "\"template\": \"report.md\"" >inputs/spec.json
cp -r inputs inputs_before
run report inputs/spec.json
refused "onto its template" inputs/report.md 'is an input' 'another folder'
ln -s ../mine.json inputs/wall.tsv
cp -r inputs inputs_before2
run report mine.json --template reports/templates/session.md -o inputs
refused "through a link onto the scenario" inputs/wall.tsv 'is an input'
is "onto inputs: untouched" diff -r inputs inputs_before2
is "onto inputs: the scenario too" cmp mine.json "$S/head_to_head_4k.json"

# `check` finds the same, and writes nothing
run check spec/report.json
ok "check"
is "check: what it holds" grep -qx 'spec/report.json: ok, report t: 2 runs, 0 claims, 5 pictures, [0-9]* inputs' out
printf 'a {{h.k}}' >spec/template.md
run check spec/report.json
refused "check: a template" spec/template.md:1:5 '"k"'
cp good/template.md spec
base "$RUNS, \"plots\": [{\"name\": \"b\", \"kind\": \"stack\", \"of\": \"ab\"}]" >bad.json
run check bad.json
refused "check: a picture" 'bad.json, plot b' 'is a sweep'
is "check: nothing was written" diff -r good spec

# ---- bad specifications ----

bad() { # NAME JSON TEXT...
    what=$1
    printf '%s' "$2" >bad.json
    shift 2
    run report bad.json -o never
    refused "$what" "$@"
}
plot() { base "$RUNS, \"plots\": [$1]"; }
bad "no JSON" '{"schema": "ratecast.report/1", ' bad.json
bad "an array" '[]' bad.json
bad "a string" '"ratecast.report/1"' bad.json
bad "no schema" '{"id": "t"}' 'bad.json#/schema' ratecast.report/1
bad "another schema" '{"schema": "ratecast.report/2"}' 'bad.json#/schema' ratecast.report/2
bad "a rate card" "$(cat "$REPO/rates/llama-2-7b-q4_0-a100.json")" 'bad.json#/schema' ratecast.rate-card/1
bad "no id" '{"schema": "ratecast.report/1", "title": "t"}' 'bad.json#/id'
bad "no title" '{"schema": "ratecast.report/1", "id": "t"}' 'bad.json#/title'
bad "an unknown key" "$(base '"run": []')" bad.json '"run"' runs
bad "a key given twice" "$(base '"id": "x"')" bad.json '"id"'
bad "an unknown key of a run" "$(base '"runs": [{"name": "h", "file": "scenarios/head_to_head_4k.json", "sets": []}]')" \
    'bad.json#/runs/0' '"sets"' set
bad "runs that are no list" "$(base '"runs": {}')" 'bad.json#/runs'
bad "a run that is no object" "$(base '"runs": ["scenarios/head_to_head_4k.json"]')" 'bad.json#/runs/0'
bad "a run without a file" "$(base '"runs": [{"name": "h"}]')" 'bad.json#/runs/0/file'
bad "a run of no file" "$(base '"runs": [{"name": "h", "file": "nowhere.json"}]')" nowhere.json 'No such file'
bad "a run of the report" "$(base '"runs": [{"name": "h", "file": "bad.json"}]')" 'bad.json#/schema'
bad "a run from standard input" "$(base '"runs": [{"name": "h", "file": "-"}]')" ./- 'No such file'
bad "a run that sets nonsense" "$(base '"runs": [{"name": "h", "file": "scenarios/head_to_head_4k.json", "set": ["workload.K=0"]}]')" K
bad "two runs of a name" "$(base '"runs": [{"name": "h", "file": "scenarios/head_to_head_4k.json"}, {"name": "h", "file": "scenarios/cache_ab.json"}]')" \
    'bad.json#/runs/1/name' 'a second "h"'
for name in a/b a.b a@b 'a b' '' ../a é; do
    bad "a run called '$name'" "$(base "\"runs\": [{\"name\": \"$name\", \"file\": \"scenarios/head_to_head_4k.json\"}]")" 'bad.json#/runs/0/name'
    bad "a plot called '$name'" "$(plot "{\"name\": \"$name\", \"kind\": \"stack\", \"of\": \"h\"}")" 'bad.json#/plots/0/name' "\"$name\""
done
bad "an unknown kind" "$(plot '{"name": "p", "kind": "pie", "of": "h"}')" 'bad.json#/plots/0/kind' pie
bad "no kind" "$(plot '{"name": "p", "of": "h"}')" 'bad.json#/plots/0/kind'
bad "two plots of a name" "$(plot '{"name": "p", "kind": "stack", "of": "h"}, {"name": "p", "kind": "sweep", "of": "ab"}')" \
    'bad.json#/plots/1/name' 'a second "p"'
bad "a plot of nothing" "$(plot '{"name": "p", "kind": "stack", "of": "x"}')" 'bad.json, plot p' '"x"'
bad "a sweep in a timeline" "$(plot '{"name": "p", "kind": "timeline", "of": "ab"}')" 'plot p' 'is a sweep'
bad "no sweep" "$(plot '{"name": "p", "kind": "sweep", "of": "h"}')" 'plot p' 'is not a sweep'
bad "a card that is none" "$(plot '{"name": "p", "kind": "card", "of": "h"}')" 'plot p' '"h"'
bad "no explanation" "$(plot '{"name": "p", "kind": "waterfall", "of": "h"}')" 'plot p' 'an explanation'
bad "no witnessed runs" "$(plot '{"name": "p", "kind": "validate", "of": "h"}')" 'plot p' 'witnessed runs'
bad "a window backwards" "$(plot '{"name": "p", "kind": "timeline", "of": "h", "from_s": 2, "to_s": 1}')" 'bad.json#/plots/0' 'from_s before to_s'
bad "a window of a stack" "$(plot '{"name": "p", "kind": "stack", "of": "h", "to_s": 1}')" 'bad.json#/plots/0' timeline
bad "a claim of no file" "$(base '"claims": ["nowhere.json"]')" nowhere.json
bad "a claim that is none" "$(base '"claims": ["scenarios/cache_ab.json"]')" 'cache_ab.json#/schema'
bad "a claim that is no name" "$(base '"claims": [5]')" 'bad.json#/claims/0'
bad "an explanation of nothing" "$(base '"explain": [{"name": "w", "scenarios": []}]')" 'bad.json#/explain/0/scenarios'
bad "an explanation of a sweep" "$(base '"explain": [{"name": "w", "scenarios": ["scenarios/cache_ab.json"]}]')" 'bad.json#/explain/0' sweep
bad "two explanations of a name" "$(base '"explain": [{"name": "w", "scenarios": ["scenarios/head_to_head_4k.json"]}, {"name": "w", "scenarios": ["scenarios/head_to_head_4k.json"]}]')" \
    'bad.json#/explain/1/name' 'a second "w"'
bad "witnessed runs without a card" "$(base '"witness": [{"name": "m", "runs": "x", "cards": []}]')" 'bad.json#/witness/0/cards'
bad "witnessed runs of no folder" "$(base '"witness": [{"name": "m", "runs": "x", "cards": ["qwen2-7b-like-q8_0-h200-split"]}]')" x runs.jsonl 'No such file'
bad "witnessed runs of no card" "$(base '"witness": [{"name": "m", "runs": "x", "cards": ["nobody"]}]')" nobody
bad "figures of no document" "$(base '"figures": "nobody"')" 'bad.json#/figures' '"nobody"'
many=$(awk 'BEGIN { for (i = 0; i < 65; i++) printf "%s{\"name\": \"p%d\", \"kind\": \"stack\", \"of\": \"h\"}", i ? ", " : "", i }')
bad "65 plots" "$(plot "$many")" 'bad.json#/plots' 64
is "bad specifications: nothing was made" test ! -e never

# ---- command line ----

run report -
refused "standard input" 'expected a file'
run report nowhere.json
refused "no file" nowhere.json 'No such file'
run report
refused "no operand" report
run report mine.json mine.json
refused "two operands" report
run report mine.json -o ''
refused "no folder" --output 'expected a folder'
run report mine.json -o mine.json
refused "a file for a folder" mine.json
run report mine.json -o mine.json/below
refused "a folder below a file" mine.json
is "a file for a folder: untouched" cmp mine.json "$S/head_to_head_4k.json"
run report mine.json -o "$(awk 'BEGIN { for (i = 0; i < 1100; i++) printf "a" }')"
refused "a long name" --output
for option in claim=x witness=x card=x against=x set=a=1 template=x summaries; do
    run report spec/report.json "--$option" -o never
    refused "--$option with a specification" "--${option%%=*}" 'a specification says it itself'
done
run report mine.json --witness x -o never
refused "--witness alone" --witness --card
run report mine.json --card qwen2-7b-like-q8_0-h200-split -o never
refused "--card alone" --witness --card
run report mine.json --summaries -o never
refused "--summaries alone" --summaries --witness
run report mine.json --set workload.K=0 -o never
refused "--set of nonsense" workload K
run report mine.json --claim nowhere.json -o never
refused "a claim that is not there" nowhere.json
run report mine.json --output never --output other
refused "two folders" --output twice
is "refused: nothing was made" test ! -e never
for id in a/b ../up .hidden ''; do
    sed "s|\"id\": \"head_to_head_4k\"|\"id\": \"$id\"|" "$S/head_to_head_4k.json" >id.json
    run report id.json
    is "the id '$id' names no folder" test $code -eq 2
    is "the id '$id': nothing was made" test ! -e reports -a ! -e up
done
run report mine.json
ok "the usual folder"
is "the usual folder" test -s reports/head_to_head_4k/index.html
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked
    chmod 555 locked
    run report mine.json -o locked
    refused "a folder that is read-only" locked 'cannot be written'
    chmod 755 locked
elif [ -d /proc/self ]; then # root writes everywhere but here
    run report mine.json -o /proc/self
    refused "a folder that takes no files" /proc/self 'cannot be written'
fi

# ---- text of others stays text ----

mark() { printf '\\uE000%s\\uE001' "$1"; }
sed "s|\"title\": \"4 agents[^\"]*\"|\"title\": \"<script>alert()</script> ![p](http://x.invalid/p.png) $(mark 0)forged\\\\uE002 \`\"|" mine.json >evil.json
run report evil.json -o evil
ok "a title with everything"
is "evil: no script of it" sh -c '! grep -q "<script>alert" evil/index.html'
is "evil: no image is fetched" sh -c '! grep -qE "<img[^>]* src=" evil/index.html'
is "evil: no forged picture" test "$(grep -o '<figure' evil/index.html | wc -l)" -eq 3
is "evil: a title of one line" test "$(grep -c '^# <script' evil/report.md)" -eq 1

# ---- the pictures that gnuplot draws ----

PATH=$T/bin:$usual_path
if command -v gnuplot >/dev/null; then
    run report mine.json -o drawn
    ok "drawn"
    run report spec/report.json -o drawn_spec
    ok "drawn: every kind"
    is "drawn: no two elements of one id" test -z "$(grep -oE ' id="[^"]*"' drawn_spec/index.html | sort | uniq -d)"
    again "drawn" drawn
else
    echo "SKIPPED: no gnuplot, no picture drawn"
fi

# ---- a committed report does not contradict itself ----

# The companion's prose against its own tables: what it calls the host is the device's other time, the difference of its
# two engines is the sum of its named parts, and its interval is held up by the score and no more.
if command -v python3 >/dev/null; then
    run report "$REPO/reports/fleet_5x200_h200/report.json" -o companion
    ok "companion"
    cat >agree.py <<'END'
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
prose = re.sub(r"\s+", " ", text)


def rows(part):
    return [[c.strip(" †") for c in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]


def column(heading, names, arm):
    table = rows(text[text.index(heading):])
    return {n: float(next(r for r in table if r[0] == n)[table[0].index(arm)]) for n in names}


def near(a, b):
    return abs(a - b) < 0.06  # a decimal, and what the tables round


loop = column("## The fleet", ["wall-clock", "device prefill", "device decode", "device other"], "slot-isolated")
card = column("## From the card alone", ["wall-clock", "device prefill", "device decode"], "per-slot")
less, host, prefill, decode = map(float, re.search(
    r"([\d.]+) s less than on llama-server's own loop\. Of that difference the host is ([\d.]+) s .*?: ([\d.]+) s of prefill and "
    r"([\d.]+) s of decode", prose).groups())
assert near(host, loop["device other"]), (host, loop)
assert near(less, loop["wall-clock"] - card["wall-clock"]), (less, loop, card)
assert near(prefill, loop["device prefill"] - card["device prefill"]), (prefill, loop, card)
assert near(decode, loop["device decode"] - card["device decode"]), (decode, loop, card)
assert abs(host + prefill + decode - less) < 0.2, (host, prefill, decode, less)
share = int(re.search(r"(\d+) % the host", prose).group(1))
assert share == round(100 * loop["device other"] / loop["wall-clock"]), share
held = int(re.search(r"nine runs in ten; of the shorter sessions that were run, it held (\d+) %", prose).group(1))
runs = [r for r in rows(text) if r[0].startswith("7b-K5-")]
inside = 0
for r in runs:
    lo, hi = map(float, r[3].split(" to "))
    inside += lo <= float(r[4].strip(" *")) <= hi
assert len(runs) == 9 and held == round(100 * inside / len(runs)), (held, inside, len(runs))
END
    is "companion: prose and tables agree" python3 agree.py companion/report.md
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
