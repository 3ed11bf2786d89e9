#!/bin/sh
# `ratecast explain` from the outside. Expected values come from the documents: the printed walls 412.5 and 1732.5 s
# (4.20x), 393.8 and 732.2 s (1.86x), the two corrections of 600 s and K (K - 1) / 2 x 4096 / 65 = 378.1 s, and 1.47x
# from the cards (test_published.c). 1732.5 - 600 - 378.1 = 754.4, printed 732.2: 22.2 s without a cause; the other arm
# moved from 412.5 to 393.8 s, 18.7 s, without one. RATECAST: the program, REPO: the source folder.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
S=$REPO/scenarios
P=$S/published

row() { # FIRST CELL: that row of the table in `out`, its cells without padding
    awk -F ' *[|] *' -v first="$1" '$2 == first { line = $2; for (i = 3; i < NF; i++) line = line "|" $i; print line }' out
}
has_row() { # NAME ROW: such a row is there
    row "${2%%|*}" >rows
    is "$1" grep -qxF -e "$2" rows
}

# ---- the published story ----

run explain "$P/legacy_4k.json" --against "$P/head_to_head_4k.json" --against "$S/head_to_head_4k.json"
is "chain: exit 0" test $code -eq 0
is "chain: silent stderr" test ! -s err
cp out chain.txt
head -1 out >verdict
for text in 'from 4.20x as printed' 'to 1.86x' 'to 1.47x' '18.7 s of the printed 412.5 s (fak-native)' '22.2 s of the printed 1732.5 s (llama.cpp-legacy)'; do
    is "chain: the verdict says $text" grep -qF -e "$text" verdict
done
is "chain: the verdict ends as a sentence" grep -q '\.$' verdict
is "chain: no line says it was measured" sh -c '! grep -q "MEASURED" out'
has_row "chain: what is printed" 'printed|head-to-head document, section 4: the earlier 4.20x||412.5||1732.5||4.20x||CLAIM'
has_row "chain: what is left" 'unexplained|left unexplained by the document: no declared term gives it||393.8|-18.7|1710.3|-22.2|4.34x|+0.14x|CLAIM'
has_row "chain: queue wait" 'queue_wait|queue_wait_in_wall removed (llama.cpp)|CLAIM -> –|393.8|0.0|1332.2|-378.1|3.38x|-0.96x|CLAIM'
has_row "chain: the penalty" 'constants|constant_s 7.5 per turn removed (llama.cpp)|CLAIM -> –|393.8|0.0|732.2|-600.0|1.86x|-1.52x|CLAIM'
has_row "chain: the corrected state is the printed one" 'to|published_head_to_head_4k, as printed (head-to-head document, 4k table)||393.8|0.0|732.2|-978.1|1.86x|-2.48x|CLAIM'
has_row "chain: the other constant" 'constants|constant_s 1.6 removed (fak-native)|CLAIM -> –|392.2|-1.6|732.2|0.0|1.87x|+0.01x|CLAIM'
has_row "chain: the prefill rate" 'prefill|prefill_tok_s 65 -> 48.54|CLAIM -> ASSUMED|413.5|+21.4|817.7|+85.5|1.98x|+0.11x|CLAIM'
is "chain: the deltas" grep -q '^| delta_prefill .*0\.012 a turn -> the prefill rate (fak-native) *| CLAIM -> ASSUMED *|' out
is "chain: the batching gains" grep -q '^| decode .*7\.61 x 2\.05 for 4 together -> .*decode_gain_card qwen2\.5-7b-instruct-q8_0-m3pro' out
is "chain: scheduling" grep -q '^| batching .*lockstep -> continuous' out
is "chain: the last token" grep -q '^| reuse_last_token .*true -> false' out
is "chain: the end" grep -q '^| to  *| head_to_head_4k  *|  *| *557\.1 |.* 818\.4 |.* 1\.47x |' out
# a wall is as weak as its weakest input: a claim until the last one is replaced, by assumptions; those are printed,
# unexplained, both from, queue_wait, both constants, the first to, prefill and delta_prefill
is "chain: claims are left while one is" test "$(grep -c '^| [a-z].* | CLAIM *|$' out)" -eq 10
is "chain: assumptions are left at the end" sh -c 'grep -E "^[|] (decode|batching|reuse_last_token|to) .*[|] ASSUMED +[|]$" out | wc -l | grep -qx 4'
is "chain: one residual, none hidden or invented" test "$(grep -c '^| unexplained ' out)" -eq 1

# one link at a time says the same
run explain "$P/head_to_head_4k.json" --against "$S/head_to_head_4k.json"
is "link: exit 0" test $code -eq 0
sed -n '/^| step/,$p' out >link.txt
sed -n '/^published_head_to_head_4k -> /,$p' chain.txt | sed -n '/^| step/,$p' >tail.txt
is "link: as in the chain" cmp link.txt tail.txt

# a residual at the far end is a step to the print
run explain "$P/head_to_head_4k.json" --against "$P/legacy_4k.json"
has_row "residual at the end" 'unexplained|left unexplained by the document: no declared term gives it||412.5|+18.7|1732.5|+22.2|4.20x|-0.14x|CLAIM'
is "residual at the end: the verdict" sh -c 'head -1 out | grep -q "22.2 s of the printed 1732.5 s"'

# ---- within a scenario ----

run explain "$S/head_to_head_4k.json"
is "arms: exit 0" test $code -eq 0
is "arms: the verdict" sh -c 'head -1 out | grep -q "^fak-native takes 557.1 s where llama.cpp takes 818.4 s, a speedup of 1.47x"'
# three prefixes of 4096 tokens at 48.54 tok/s: 253.2 s
has_row "arms: the prefix" 'prefix_reuse|prefix_reuse per_slot -> shared||565.2|-253.2|1.45x|+0.45x|ASSUMED'
run explain "$S/fleet_5x200.json"
is "arms: each other arm" test "$(grep -c '^| from  *| A ' out)" -eq 2
run explain "$S/fleet_5x200.json" --arm B
is "arms: one arm" test "$(grep -c '^| from ' out)" -eq 1
is "arms: that arm" grep -q '^| to  *| B ' out

# The class of what was put in is not that of the wall: a measured card, a modeled session. `project` says the same of it.
cat >cards.json <<'END'
{"schema": "ratecast.scenario/1", "id": "cards", "title": "two cards", "card": "qwen2-7b-like-q8_0-h200-unified",
 "workload": {"K": 2, "H": 3, "P": 1000, "turn_delta_in_tok": 100, "turn_out_tok": 50, "turn_shape": "delta_first"},
 "arms": [{"name": "A", "prefix_reuse": "per_slot", "batching": "continuous"},
          {"name": "B", "card": "qwen2.5-coder-7b-q8_0-gb10", "prefix_reuse": "per_slot", "batching": "continuous"}],
 "baseline": "B"}
END
run project cards.json
is "cards: projected" grep -q '^| wall-clock  *| s .*| MODELED  *|$' out
run explain cards.json
is "cards: the head of each class" grep -qE '^[|] step .*[|] cause .*[|] changed input [|] wall-clock s .*[|] provenance [|]$' out
is "cards: both classes" grep -qE '^[|] card .*gb10 -> .*[|] WITNESSED +[|].*[|] MODELED +[|]$' out
is "cards: no wall without one" test "$(grep -cE '^[|] (from|card|to) .*[|] MODELED +[|]$' out)" -eq 3

# ---- order, sets, formats ----

run explain "$P/legacy_4k.json" --against "$P/head_to_head_4k.json" --order constants
is "order: the named one comes first" test "$(grep -A 1 '^| from ' out | grep -c '^| constants ')" -eq 1
is "order: the other one follows" test "$(grep -B 1 '^| to ' out | grep -c '^| queue_wait ')" -eq 1
run explain "$P/legacy_4k.json" --against "$P/head_to_head_4k.json" --set workload.K=2 --set workload.P=65
# 2 agents, 65 tokens: 1 x 1 s of queue wait, 2 x 20 x 7.5 s
is "set: every scenario" grep -q '^| queue_wait .* -1\.0 |' out
is "set: penalties" grep -q '^| constants .* -300\.0 |' out
is "set: nothing was printed of that" sh -c '! grep -qE "printed|unexplained" out'
is "set: said" grep -q '^set       workload.K=2$' out
run explain "$S/head_to_head_4k.json" --against "$S/head_to_head_4k.json"
is "same: exit 0" test $code -eq 0
is "same: says so" sh -c 'head -1 out | grep -q "the same in every term that costs time"'
is "same: no shares" sh -c '! grep -q "^Shares" out'
run explain "$P/legacy_4k.json" --against "$P/head_to_head_4k.json" --md
is "md: bold verdict" sh -c 'head -1 out | grep -qE "^\*\*The speedup .*\.\*\*$"'
is "md: heading" grep -q '^## published_legacy_4k -> published_head_to_head_4k$' out
run explain "$P/legacy_4k.json" --against "$P/head_to_head_4k.json" --json
is "json: schema" grep -q '"schema":.*"ratecast.explain/1"' out
cp out one.json
"$RATECAST" explain "$P/legacy_4k.json" --against "$P/head_to_head_4k.json" --json >two.json 2>err
is "json: the same bytes" cmp one.json two.json
# shares of both arms: -600 and -378.092307692 exactly
sum_ns() { awk -F '[:,]' -v key="\"$1\"" 'index($0, key) { sum += $2 * 1e9 } END { printf "%.0f", sum }' one.json; }
is "json: shares add up" test "$(sum_ns share_s)" -eq -978092307692
is "json: steps add up" test "$(sum_ns change_s)" -eq -978092307692
run explain "$S/head_to_head_4k.json" -o written.txt
is "-o: silent" test ! -s out
run explain "$S/head_to_head_4k.json"
is "-o: the same" cmp out written.txt

# ---- what is refused ----

run explain
refused "no scenario" SCENARIO
run explain "$S/head_to_head_4k.json" --arm fak
refused "unknown arm" head_to_head_4k.json 'no arm "fak"' fak-native
run explain "$S/head_to_head_4k.json" --against "$S/fleet_5x200.json"
refused "other arms" fleet_5x200.json 'no arm "fak-native"' 'C B' --arm
run explain "$S/cache_ab.json"
refused "a sweep" cache_ab.json sweep '--set workload.K'
run explain "$S/cache_ab.json" --set workload.K=4
is "a sweep at one value: exit 0" test $code -eq 0
run explain "$P/legacy_4k.json" --against "$S/head_to_head_20k.json" --set workload.K=4
is "model and prefix may differ" test $code -eq 0
sed -e 's/"K": 4, "H": 20/"K": 2, "H": 3/' -e 's/"turn_out_tok": 64,/"turn_out_tok": 9, "tool_latency_s": 1,/' -e 's/"P": 4096/"P": 100/' \
    "$S/head_to_head_4k.json" >far.json
run explain "$P/legacy_4k.json" --against far.json
refused "too many terms" far.json 'in 12 terms' 'agents+turns+prefix+turn+pace+queue_wait' 'at most 10' --set
run explain "$S/head_to_head_4k.json" --order prefill,speed
refused "unknown term" --order '"speed"' delta_prefill
run explain "$S/head_to_head_4k.json" --json --md
refused "two formats" --json --md exclude
run explain "$S/head_to_head_4k.json" --against gone.json
refused "no such file" gone.json 'No such file'
cp "$S/head_to_head_4k.json" mine.json
run explain "$S/head_to_head_4k.json" --against mine.json -o mine.json
refused "onto an input" --output mine.json
is "onto an input: untouched" cmp mine.json "$S/head_to_head_4k.json"
sed 's/"baseline"/"printed": {"source": "s", "decimals": 1, "walls": [{"arm": "fak", "wall_s": 1}]},\n  "baseline"/' mine.json >bad.json
run explain bad.json
refused "printed of no arm" 'bad.json#/printed/walls/0/arm' '"fak"' 'name of an arm'
sed 's/"baseline"/"printed": {"source": "s", "decimals": 1, "walls": [{"arm": "llama.cpp", "wall_s": 1}, {"arm": "llama.cpp", "wall_s": 2}]},\n  "baseline"/' mine.json >bad.json
run check bad.json
is "printed twice: exit 2" test $code -eq 2
is "printed twice: the place" sh -c 'cat out err | grep -qF "bad.json#/printed/walls/1/arm"'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
