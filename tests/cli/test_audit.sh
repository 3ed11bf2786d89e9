#!/bin/sh
# `ratecast audit` from the outside: what it reads and prints, exit codes, and public problem reports (BR-..) as claims,
# each with the answer worked out by hand in the comment.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"

claims=$REPO/scenarios/claims

audit() { run audit "$@"; }

# The last output holds the texts.
says() { # NAME TEXT...
    name=$1
    shift
    for text; do is "$name: says $text" grep -qF -e "$text" out; done
}

silent() { # NAME TEXT: the last output does not hold it
    if grep -qF -e "$2" out; then fail "$1" "says $2"; else pass; fi
}

# claim FILE FIGURES [MORE]: a small claim
claim() {
    cat >"$1" <<END
{"schema": "ratecast.claim/1", "id": "c", "title": "t", "figures": [$2]${3:+, $3}}
END
}

fig() { # NAME VALUE UNIT METRIC [MORE]
    printf '{"name": "%s", "value": %s, "unit": "%s", "metric": "%s"%s}' "$1" "$2" "$3" "$4" "${5:+, $5}"
}

# One finding or pass of the last --json output, by rule word and check: outcome, expected, found.
told() { # RULE CHECK
    python3 -c '
import json, sys
for f in (lambda d: d["findings"] + d["passes"])(json.load(open("out"))):
    if f["rule"] == sys.argv[1] and f["check"] == sys.argv[2]:
        print(f["outcome"], f["expected"], f["found"]); break
' "$1" "$2"
}

# The statement of RULE/CHECK has that outcome and these two numbers, to 1e-4 of them ("-": not compared).
tells() { # NAME RULE CHECK OUTCOME EXPECTED FOUND
    if ! command -v python3 >/dev/null; then
        echo "SKIPPED: $1 (no python3)"
        return
    fi
    if told "$2" "$3" | awk -v o="$4" -v x="$5" -v y="$6" '
        function near(a, b) { d = a - b; if (d < 0) d = -d; return b == "-" || d <= 1e-4 * (b < 0 ? -b : b) + 1e-12 }
        { exit !($1 == o && near($2, x) && near($3, y)) } END { if (NR == 0) exit 1 }'; then pass
    else fail "$1" "$2/$3 is $(told "$2" "$3"), expected $4 $5 $6"
    fi
}

# ---- a sound claim, a wrong one ----

claim sound.json "$(fig a 30.0 s wall_clock '"arm": "x"'), $(fig b 20.0 s wall_clock '"arm": "y"')" \
    '"ratios": [{"name": "r", "printed": "1.5x", "numerator_figure": "a", "denominator_figure": "b"}]'
sed 's/1.5x/1.7x/' sound.json >wrong.json
audit sound.json
is "sound: exit 0" test $code -eq 0
is "sound: silent stderr" test ! -s err
says sound 'SOUND  claim c: t' 'I-RATIO' '30 s / 20 s'
audit wrong.json
is "wrong: exit 1" test $code -eq 1
is "wrong: silent stderr" test ! -s err
says wrong 'DEFECT  claim c: t' 'FAIL  I-RATIO (ratio), r' 'expected 1.5, found 1.7' 'Rests on: printed.' 'Nothing to decide for: I-WALL'
cp out text
"$RATECAST" audit - <wrong.json >out 2>err
code=$?
is "stdin: exit 1" test $code -eq 1
is "stdin: the same text" cmp -s out text
audit wrong.json -o report.txt
is "-o: exit 1" test $code -eq 1
is "-o: nothing on stdout" test ! -s out
is "-o: the same text" cmp -s report.txt text
audit wrong.json --md
says markdown '**DEFECT**' '1. **FAIL** I-RATIO'
audit wrong.json --json
is "json: exit 1" test $code -eq 1
says json '"schema": "ratecast.audit/1"' '"verdict": "defect"' '"outcome": "fail"' \
    "\"input_sha256\": \"$(sha256sum wrong.json 2>/dev/null | cut -d' ' -f1)"
tells json arithmetic ratio fail 1.5 1.7
cp out once
audit wrong.json --json
is "json: the same bytes again" cmp -s out once

# a figure that nothing is compared with is listed, in text and JSON; where there is none, nothing is said
silent "all compared" 'Not compared'
claim lone.json "$(fig a 30.0 s wall_clock '"arm": "x"'), $(fig b 20.0 s wall_clock '"arm": "y"'), $(fig w 400 W power '"arm": "x"')" \
    '"ratios": [{"name": "r", "printed": "1.5x", "numerator_figure": "a", "denominator_figure": "b"}]'
audit lone.json
is "not compared: exit 0" test $code -eq 0
says 'not compared' 'SOUND' '1 of 3 figures is in none of them.' 'Not compared with anything (1)' '- w (x): 400 W'
silent 'not compared: the others' '- a (x): 30'
audit lone.json --json
is "not compared: JSON" grep -qF '"not_compared":' out
tr -d ' \n' <out >flat
is "not compared: JSON names it" grep -qF '"not_compared":[{"figure":"w","arm":"x","value":400,"unit":"W"}]' flat

# ---- exit codes, what is refused ----

claim open.json "$(fig rate 100 tok/s decode_rate)"
audit open.json
is "nothing can be told: exit 0" test $code -eq 0
says 'nothing can be told' 'CANNOT TELL' 'no ceiling can be formed'
audit open.json --strict
is "--strict: exit 1" test $code -eq 1
audit sound.json --strict
is "--strict on a sound claim: exit 0" test $code -eq 0
audit nowhere.json
refused "no such file" nowhere.json
audit
refused "no operand" audit 'expected FILE or CARD'
audit sound.json wrong.json
refused "two operands" audit
audit sound.json --md --json
refused "two formats" '--json and --md'
audit sound.json --without printed
refused "--without printed" '--without' 'found "printed", expected recovered or external'
audit sound.json -o sound.json
refused "the input as output" sound.json
is "the input is untouched" grep -q '"1.5x"' sound.json
ln -s sound.json link.json
audit sound.json -o ./link.json
is "the input as output, by a link: exit 2" test $code -eq 2
is "the input is untouched behind a link" grep -q '"1.5x"' sound.json
echo '{"schema": "ratecast.claim/2"}' >later.json
audit later.json
refused "another schema" 'later.json#/schema' ratecast.claim/1
echo '[]' >list.json
audit list.json
refused "no object" list.json
printf '{"schema": "ratecast.claim/1", ' >cut.json
audit cut.json
refused "cut off" cut.json
claim key.json "$(fig a 1 s wall_clock '"vlaue": 2')"
audit key.json
refused "unknown key" 'key.json#/figures/0/vlaue' value
claim metric.json "$(fig a 1 tokens ttft)"
audit metric.json
refused "a unit that does not fit" '#/figures/0/unit' 'found "tokens", expected a unit of ttft'

# ---- rules, cards, scenarios ----

audit --rules
is "--rules: exit 0" test $code -eq 0
for id in WALL EVIDENCE QUEUE TOKENS POPULATION ROOFLINE FLOOR CARD RATIO CONSISTENCY UNITS MEMORY CONDITIONS MONO DETERMINISM; do
    says --rules "I-$id ("
    id=$(echo "$id" | tr '[:upper:]' '[:lower:]')
    audit "$claims/broken/i_$id.json"
    is "broken/i_$id: exit 1" test $code -eq 1
    says "broken/i_$id" ", 1 do not,"
    audit --rules
done
audit qwen2-7b-like-q8_0-h200-split
is "card by id: exit 0" test $code -eq 0
says "card by id" 'card qwen2-7b-like-q8_0-h200-split'
audit "$REPO/rates/qwen2-7b-like-q8_0-h200-split.json"
is "card by path: exit 0" test $code -eq 0
audit qwen2-7b-like-q8_0-h200-splat
refused "unknown card" qwen2-7b-like-q8_0-h200-splat
audit qwen2-7b-like-q8_0-h200-split --without recovered
is "--without on a card: exit 2 or no such option for it" test $code -ne 1
audit "$REPO/scenarios/head_to_head_4k.json"
is "scenario: exit 0" test $code -eq 0
says scenario 'SOUND  projection'
audit "$REPO/scenarios/published/legacy_4k.json"
is "legacy scenario: exit 1" test $code -eq 1
says "legacy scenario" 'FAIL  I-WALL (wall), llama.cpp-legacy' '378.1 s of client queue wait' 'constant_s adds 600.0 s'
audit "$REPO/scenarios/head_to_head_4k.json" --without recovered
refused "--without on a scenario" 'found no claim'

# ---- the source documents ----

for name in head_to_head_4k head_to_head_20k cache_ab fleet_5x200; do
    audit "$claims/$name.json"
    is "$name: exit 1" test $code -eq 1
done
audit "$claims/head_to_head_4k.json" --without recovered
is "without recovered: exit 1" test $code -eq 1
silent "without recovered" 'recovered'
silent "without recovered" 'constant of the fak arm'
says "without recovered" '600 s in the wall-clock has no evidence'
audit "$claims/head_to_head_4k.json" --without recovered --without external
silent "without both" '768 MiB' # the architecture stands elsewhere

# ---- problem reports ----

# BR-15 one length, 9.8 s and 0.2 s: 16,384 / 9.8 = 1,672 and 16,384 / 0.2 = 81,920 tok/s, 49 times: not to be merged.
claim br15.json "$(fig cell_1 9.8 s ttft '"agents_n": 1, "context_tok": 16384'), $(fig cell_2 0.2 s ttft '"agents_n": 1, "context_tok": 16384')"
audit br15.json
is "BR-15 is no defect: exit 0" test $code -eq 0
says BR-15 'CANNOT TELL  I-CONSISTENCY' 'TTFT differs 49x' '1,671.8 tok/s' '81,920 tok/s' 'warm cache? never to be merged or averaged'

# BR-16 P = 4000, S = 200, O = 1000 at 2,000 and 25 tok/s: 2.1 + 40 = 42.1 s cold, 0.1 + 40 = 40.1 s warm: 1.05x, not the
# 21x of the first token.
walls="$(fig ttft_cold 2.1 s ttft '"arm": "cold"'), $(fig wall_cold 42.1 s wall_clock '"arm": "cold"'), $(fig ttft_warm 0.1 s ttft '"arm": "warm"'), $(fig wall_warm 40.1 s wall_clock '"arm": "warm"')"
ratio() { echo "\"ratios\": [{\"name\": \"gain\", \"printed\": \"$1\", \"numerator_figure\": \"wall_cold\", \"denominator_figure\": \"wall_warm\"}]"; }
claim br16.json "$walls" "$(ratio 1.05x)"
audit br16.json
is "BR-16 1.05x follows: exit 0" test $code -eq 0
claim br16b.json "$walls" "$(ratio 21x)"
audit br16b.json --json
is "BR-16 21x does not: exit 1" test $code -eq 1
tells BR-16 arithmetic ratio fail 1.049875 21
scenario() { # FILE P D O H
    cat >"$1" <<END
{"schema": "ratecast.scenario/1", "id": "t", "title": "t", "card": "qwen2.5-7b-instruct-q8_0-m3pro",
 "workload": {"turn_shape": "delta_first", "K": 1, "H": $5, "P": $2, "turn_delta_in_tok": $3, "turn_out_tok": $4},
 "arms": [{"name": "a", "batching": "serial", "prefix_reuse": "per_slot", "reuse_last_token": true}],
 "assumptions": [{"term": "prefill_tok_s", "value": 2000, "provenance": "assumed", "reason": "BR", "source": "BR"},
  {"term": "decode_tok_s", "value": 25, "provenance": "assumed", "reason": "BR", "source": "BR"}]}
END
}
value() { # ROW: of the last CSV
    awk -F, -v row="$1" '$1 == row { print $3 }' out
}
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= 1e-6 * b) }'; }
scenario br16.scenario.json 4000 200 1000 1
run project br16.scenario.json --csv
is "BR-16 cold request" near "$(value wall-clock)" 42.1
scenario br16.scenario.json 4000 200 1000 2
run project br16.scenario.json --csv
is "BR-16 warm request behind it" near "$(value wall-clock)" 82.2
is "BR-16 TTFT cold" near "$(value 'TTFT cold p50')" 2100
is "BR-16 TTFT warm" near "$(value 'TTFT warm p50')" 100

# BR-18 one cold TTFT of 4.0 s and 19 warm ones of 0.1 s: P + D = 8,000 cold, D = 200 warm at 2,000 tok/s. Never one
# number for both: cold and warm stand apart, p50 of all 20 is 0.1 s and p99 is the maximum.
scenario br18.json 7800 200 1 20
run project br18.json --csv
is "BR-18 cold apart" near "$(value 'TTFT cold p50')" 4000
is "BR-18 warm apart" near "$(value 'TTFT warm p95')" 100
is "BR-18 no percentile over both in the table" test -z "$(value 'TTFT p50')"
# ... and a claim that sets one arm's cold turns against the other's warm ones
session='"workload": {"K": 1, "H": 20, "P": 7800, "turn_delta_in_tok": 200, "turn_out_tok": 1, "turn_shape": "delta_first"}, "arms": [{"name": "x"}, {"name": "y"}]'
claim br18c.json "$(fig tx 4.0 s ttft '"arm": "x", "percentile": 50, "conditions": "cold"'), $(fig ty 0.1 s ttft '"arm": "y", "percentile": 50, "conditions": "warm"')" "$session"
audit br18c.json
is "BR-18 cold against warm: exit 1" test $code -eq 1
says BR-18 'FAIL  I-POPULATION (turns)' 'of x is over the cold first turns, of y over the warm turns'

# BR-21 529 tok/s in all, 108 ms a token of one request = 9.26 tok/s: 57 ran together. Neither is a rate of one alone.
claim br21.json "$(fig all 529 tok/s output_rate), $(fig each 108 ms itl)"
audit br21.json --json
is "BR-21 no contradiction: exit 0" test $code -eq 0
tells BR-21 population together pass 9.259259 529
says BR-21 'about 57 requests ran together' 'neither is the rate of one request alone'
claim br21b.json "$(fig all 529 tok/s output_rate '"agents_n": 8'), $(fig each 108 ms itl '"agents_n": 8')"
audit br21b.json --json
is "BR-21 with 8 stated: exit 1" test $code -eq 1
tells 'BR-21 with 8 stated' population together fail 8 57.132
mkdir own
cat >own/br21.json <<'END'
{"schema": "ratecast.rate-card/1", "id": "br21", "title": "BR-21", "method": "import", "provenance": "claim", "source": "problem report",
 "model": "m", "quant": "q", "weights_bytes": 1000, "layers": 1, "full_attention_layers": 1, "kv_heads": 1, "head_dim": 1, "kv_element_bytes": 1,
 "engine": {"name": "e"}, "hardware": {"chip": "c"}, "prefill": [], "decode": [{"batch_n": 57, "tok_s": 529}]}
END
sed 's|"card": "[^"]*"|"card": "./own/br21.json"|; s|,$|,|; /decode_tok_s/d; s|"source": "BR"},$|"source": "BR"}]}|' br16.scenario.json >br21.scenario.json
run project br21.scenario.json
is "BR-21 no plan for one agent from it: exit 2" test $code -eq 2
is "BR-21 says what is missing" grep -Eq 'B = 1|batch|decode' err

# BR-22 190 tokens in 4.41 s are 43.08 tok/s, generation alone 50.379: it took 190 / 50.379 = 3.771 s, 0.639 s came before.
claim br22.json "$(fig out 190 tokens output_tok '"arm": "x"'), $(fig whole 4.41 s latency '"arm": "x"'), $(fig generation 50.379 tok/s decode_rate '"arm": "x"'), $(fig before 0.639 s ttft '"arm": "x"')"
audit br22.json
is "BR-22 generation rate: exit 0" test $code -eq 0
sed 's/50.379/43.08/' br22.json >br22b.json
audit br22b.json
is "BR-22 the whole request's rate as decode: exit 1" test $code -eq 1
says BR-22 'FAIL  I-POPULATION (whole-request), generation' '43.08 tok/s is 190 tokens over the whole 4.410 s' 'no decode rate'

# BR-24 outputs 16 and 1, first token after 0.2 s: 0.2 + 15 x 20 ms = 0.5 s; one token ends where it begins. Rates are
# never negative, infinite or no number.
claim br24.json "$(fig first 200 ms ttft), $(fig gap 20 ms itl), $(fig whole 500 ms latency)" '"workload": {"output_tokens_per_request": 16}'
audit br24.json --json
is "BR-24 sixteen tokens: exit 0" test $code -eq 0
tells 'BR-24 sixteen tokens' arithmetic latency pass 500 500
sed 's/"output_tokens_per_request": 16/"output_tokens_per_request": 1/; s/500/200/' br24.json >br24b.json
audit br24b.json --json
tells 'BR-24 one token' arithmetic latency pass 200 200
claim br24c.json "$(fig out 0 tokens output_tok), $(fig t 0 s decode_time), $(fig whole 0 s wall_clock), $(fig r 0 tok/s decode_rate)"
audit br24c.json --json
is "BR-24 an empty answer: no number that is none" test "$(grep -ciE '[^a-z](inf|nan)[^a-z]' out)" -eq 0
is "BR-24 an empty answer is no crash" test $code -le 1
for bad in -3200 1e400 NaN; do
    claim br24d.json "$(fig r $bad tok/s output_rate)"
    audit br24d.json
    is "BR-24 $bad: exit 2" test $code -eq 2
    is "BR-24 $bad: says where" grep -q 'br24d.json' err
done

# BR-26 a cached prompt without a count: decode 39 / 0.595078 = 65.54 tok/s, prefill unknown: neither 0 nor an error. (Read
# as a claim: there is no importer of this server's output.)
claim br26.json "$(fig count 39 tokens output_tok), $(fig took 595.078 ms decode_time), $(fig rate 65.54 tok/s decode_rate), $(fig prompt_took 15 ms prefill_time)"
audit br26.json --json
is "BR-26 exit 0" test $code -eq 0
tells BR-26 arithmetic rate pass 65.53762 65.54
silent 'BR-26 no prefill rate is made up' prefill_rate

# BR-28 weights of 40 GiB, 73,728 bytes a token, agents of 8,192 tokens: 64 GB leave 285,513 tokens, 34 agents; 64 GiB
# leave 349,525, 42 agents. The suffix decides, a bare M is none.
room() { # GB|GiB AGENTS
    claim br28.json "$(fig mem 64 "$1" memory_budget), $(fig w 40 GiB weights), $(fig kv 73728 bytes/token kv_per_tok), $(fig fit "$2" agents agents_max '"context_tok": 8192')"
    audit br28.json --json
}
room GB 34
is "BR-28 64 GB hold 34: exit 0" test $code -eq 0
says 'BR-28 64 GB' '285,513 tokens'
room GB 42
is "BR-28 64 GB do not hold 42: exit 1" test $code -eq 1
tells 'BR-28 64 GB' memory agents-fit fail 34 42
room GiB 42
is "BR-28 64 GiB hold 42: exit 0" test $code -eq 0
says 'BR-28 64 GiB' '349,525 tokens'
room GiB 34
tells 'BR-28 64 GiB' memory agents-fit fail 42 34
room M 34
refused "BR-28 a bare M" '#/figures/0/unit' 'found "M"'
room Gb 34
refused "BR-28 an unknown suffix" '#/figures/0/unit' 'found "Gb"'

# BR-36 83.43, 70.36 and 61.65 tok/s at depths 0, 16,384 and 32,768: at 24,576 the step is the mean of 1 / 70.36 and
# 1 / 61.65 s, 65.72 tok/s; never 83.43.
depth() { # USED
    claim br36.json '' "\"rates\": [{\"value\": 83.43, \"phase\": \"decode\", \"role\": \"stated\", \"batch_n\": 1, \"context_tok\": 0},
        {\"value\": 70.36, \"phase\": \"decode\", \"role\": \"stated\", \"batch_n\": 1, \"context_tok\": 16384},
        {\"value\": 61.65, \"phase\": \"decode\", \"role\": \"stated\", \"batch_n\": 1, \"context_tok\": 32768},
        {\"value\": $1, \"phase\": \"decode\", \"role\": \"used\", \"batch_n\": 1, \"context_tok\": 24576}]"
    audit br36.json --json
}
at=$(awk 'BEGIN { printf "%.9f", 2 / (1 / 70.36 + 1 / 61.65) }')
depth 83.43
is "BR-36 83.43 at depth 24,576: exit 1" test $code -eq 1
tells BR-36 card context-mean fail "$at" 83.43
depth 65.7
is "BR-36 65.7 at depth 24,576: exit 0" test $code -eq 0
tells BR-36 card context-mean pass "$at" 65.7
# ... and the benchmark's two ways to count: N_KV 2,176 (each prompt its own) or 640 (shared), 2,048 or 512 tokens in
# 0.437 s: 4,686 or 1,172 tok/s. Not said: read from N_KV; one that fits neither is named.
cell() { # N_KV [IS_PP_SHARED]
    echo "{\"n_batch\": 2048, \"n_ubatch\": 512, \"pp\": 512, \"tg\": 32, \"pl\": 4, \"n_kv\": $1, \"t_pp\": 0.437, \"t_tg\": 1.0${2:+, \"is_pp_shared\": $2}}" >br36.jsonl
    run import br36.jsonl
}
cell 2176
says 'BR-36 separate, from N_KV' 4686.50
cell 640
says 'BR-36 shared, from N_KV' '1 (shared prompt)' 1171.62
cell 2176 0
says 'BR-36 separate' 4686.50
cell 640 1
says 'BR-36 shared' '1 (shared prompt)' 1171.62
cell 1000
is "BR-36 fits neither: said" grep -q 'n_kv is 1000, expected 2176' err

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
