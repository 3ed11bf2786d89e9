#!/bin/sh
# The shipped cards: each loads and prints, each of the public ones projects what the table in rates/README.md says, and the
# script that made them makes them again.
# RATECAST: the program, REPO: the source folder.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
shared=${RATECAST_SHARED:-$REPO/../shared}

in_table() { # MARK: ids of the rows whose last column holds it
    sed -n '/^## Cards from public/,/^## Making/p' "$REPO/rates/README.md" |
        sed -n "s/^| \`\([a-z0-9._-]*\)\` |.*| \($1\) |\$/\1/p"
}

workload='-H 10 -P 2048'
scenario() { # CARD TERM=VALUE...: one agent, with these terms declared
    card=$1 terms=''
    shift
    for t; do
        terms="$terms${terms:+, }{\"term\": \"${t%=*}\", \"value\": ${t#*=}, \"provenance\": \"assumed\", \"reason\": \"r\"}"
    done
    printf '{"schema": "ratecast.scenario/1", "id": "s", "title": "t", "card": "%s", "assumptions": [%s],
  "workload": {"K": 1, "H": 10, "P": 2048, "turn_delta_in_tok": 128, "turn_out_tok": 64, "turn_shape": "delta_first"},
  "arms": [{"name": "a", "prefix_reuse": "per_slot", "batching": "continuous"}]}\n' "$card" "$terms"
}

# ---- every card ----

cards=0
for file in "$REPO"/rates/*.json; do
    grep -q '"schema": *"ratecast.rate-card/1"' "$file" || continue
    cards=$((cards + 1))
    run check "$file"
    is "check $file: exit 0" test $code -eq 0
    run show "$file"
    is "show $file: exit 0" test $code -eq 0
done
is "there are cards" test $cards -ge 41

# ---- the table ----

run cards
cp out listed
grep -l '"method": "import"' "$REPO"/rates/*.json | xargs grep -L '"extends"' | sed 's|.*/||; s/\.json$//' | sort >have
in_table '.*' | sort >want
is "the table has every public card, and no other" cmp have want
is "public cards" test "$(wc -l <have)" -ge 30

for id in $(in_table 'K agents'); do
    # shellcheck disable=SC2086 # words
    run project --card "$id" -K 4 $workload
    is "$id, 4 agents: exit 0" test $code -eq 0
    is "$id: no rule broken" test "$(grep -c BROKEN out)" -eq 0
    is "$id: listed so" grep -q "^| $id .*| any batch " listed
done
for id in $(in_table 'one agent'); do
    # shellcheck disable=SC2086
    run project --card "$id" -K 1 $workload
    is "$id, 1 agent: exit 0" test $code -eq 0
    is "$id: no rule broken" test "$(grep -c BROKEN out)" -eq 0
    is "$id: listed so" grep -q "^| $id .*| one agent at a time " listed
    # shellcheck disable=SC2086
    run project --card "$id" -K 4 $workload
    refused "$id, 4 agents" 'decode is known at one batch size only'
done
declares() { # FIRST_TERM TERM=VALUE...: the cards that need them, without and with
    first=$1
    shift
    for id in $(in_table "declare \`$first\`.*"); do
        # shellcheck disable=SC2086
        run project --card "$id" -K 1 $workload
        refused "$id" "declare $first"
        is "$id: listed so" grep -q "^| $id .*| needs declared assumptions " listed
        scenario "$id" "$@" >s.json
        run project s.json
        is "$id, with $*: exit 0" test $code -eq 0
    done
}
declares kv_bytes_per_tok kv_bytes_per_tok=65536
declares decode_context_s_per_tok decode_context_s_per_tok=1e-7 prefill_context_s_per_tok2=1e-9

# ---- made again ----

if [ -f "$shared/data/public_rates.json" ]; then
    mkdir again
    python3 "$REPO/rates/public_cards.py" "$shared/data/public_rates.json" again >made 2>conflicts
    is "made again: as many" test "$(wc -l <made)" -eq "$(wc -l <have)"
    for file in again/*.json; do is "made again: $file" cmp "$file" "$REPO/rates/${file#again/}"; done
    is "conflicts are said" grep -q 'conflict: .*mac-m2-ultra.md: tg32@d4096' conflicts
    is "and each is a left-out point" test "$(cat again/*.json | grep -c '"excluded"')" -eq "$(wc -l <conflicts)"
    # a rate that its own time contradicts: 32 tokens in 0.409 s are 78.2 tok/s
    sed 's/"tok_s": 78.17,/"tok_s": 98.17,/' "$shared/data/public_rates.json" >wrong.json
    python3 "$REPO/rates/public_cards.py" wrong.json again >/dev/null 2>conflicts
    is "a rate that contradicts its time is said" grep -q 'conflict: .*98.17 tok/s, 0.409 s for 32 tokens' conflicts
else
    echo "SKIPPED: no table of public rates here (set RATECAST_SHARED to the shared folder)"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
