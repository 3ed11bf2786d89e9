#!/bin/sh
# Public problem reports on slots, context and prefix reuse (llama.cpp, vLLM, ollama issue threads), each with the smallest
# input that carries its essence and the answer worked out by hand in the comment. Numbers are checked in the CSV.
set -u
: "${RATECAST:?path of the program}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0
failed=0

ok() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAILED $1: $2"
    sed 's/^/    /' out err | head -20
}

# scenario FILE WORKLOAD ARM_FIELDS [ASSUMPTIONS]: one arm "a" on declared rates
scenario() {
    cat >"$1" <<END
{"schema": "ratecast.scenario/1", "id": "t", "title": "t", "card": "qwen2.5-7b-instruct-q8_0-m3pro",
 "workload": {"turn_shape": "delta_first", $2},
 "arms": [{"name": "a", $3}],
 "assumptions": [${4:-$RATES}]}
END
}
rate() { echo "{\"term\": \"$1\", \"value\": $2, \"provenance\": \"assumed\", \"reason\": \"problem report\", \"source\": \"problem report\"${3:-}}"; }
RATES="$(rate prefill_tok_s 1000), $(rate decode_tok_s 25 ', "gain_per_seq_frac": 1')"
CONTINUOUS='"batching": "continuous"'

refused() { # NAME FILE TEXT|TEXT|...
    "$RATECAST" project "$2" >out 2>err
    code=$?
    if [ $code -ne 2 ] || [ -s out ]; then
        bad "$1" "exit code $code, expected 2 and nothing on standard output"
        return
    fi
    rest="$3|"
    while [ -n "$rest" ]; do
        text=${rest%%|*}
        rest=${rest#*|}
        if ! grep -qF -- "$text" err; then
            bad "$1" "the message lacks '$text'"
            return
        fi
    done
    ok
}

value() { # NAME FILE ROW COLUMN EXPECTED: a cell of the CSV
    "$RATECAST" project "$2" --csv >out 2>err || { bad "$1" "refused"; return; }
    got=$(awk -F, -v row="$3" -v col="$4" '$1 == row { print $col }' out)
    # equal to nine digits: the engine rounds to nanoseconds
    if awk -v a="$got" -v b="$5" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= 1e-8 * (b > 1 ? b : 1)) }'; then ok
    else bad "$1" "$3 is $got, expected $5"
    fi
}

says() { # NAME FILE TEXT
    "$RATECAST" project "$2" >out 2>err
    if grep -qF -- "$3" out; then ok; else bad "$1" "the report lacks '$3'"; fi
}

# BR-01 server context is the total over the slots: L(1) + O = 700 + 200 + 200 = 1100, a slot has 4096 / 4 = 1024.
W='"K": 4, "H": 1, "P": 700, "turn_delta_in_tok": 200, "turn_out_tok": 200'
SPLIT='"prefix_reuse": "per_slot", "kv_layout": "split", "context_tok": 4096, "context_scope": "total"'
scenario br01.json "$W" "$CONTINUOUS, $SPLIT, \"slots_n\": 4"
refused BR-01 br01.json 'needs 1100 tokens|prompt 900 + output 200|a slot has 1024 of 4096|total context of 4400|at most 3 slots'
scenario br01p.json "$W" "$CONTINUOUS, $SPLIT, \"slots_n\": 4, \"slot_pad_tok\": 256"
refused 'BR-01 padded' br01p.json '4 slots of 1280, 5120 cells'
scenario br01f.json "$W" "$CONTINUOUS, $SPLIT, \"slots_n\": 3"
value 'BR-01 three slots' br01f.json 'output tokens' 3 800
value 'BR-01 three slots reserve 3 x 1365' br01f.json 'KV reserved' 3 "$(awk 'BEGIN { printf "%.10f", 4095 * 57344 / 1048576 }')"
scenario br01q.json "$W" "$CONTINUOUS, $SPLIT, \"slots_n\": 3, \"slot_pad_tok\": 256"
value 'BR-01 three padded slots reserve 3 x 1536' br01q.json 'KV reserved' 3 "$(awk 'BEGIN { printf "%.10f", 4608 * 57344 / 1048576 }')"

# BR-03 unified: four requests that end at 300 each need 1200 of 1024; three fit with 124 to spare.
W='"K": 4, "H": 1, "P": 0, "turn_delta_in_tok": 200, "turn_out_tok": 100'
POOL='"prefix_reuse": "per_slot", "kv_layout": "unified", "context_tok": 1024, "context_scope": "total"'
scenario br03.json "$W" "$CONTINUOUS, $POOL, \"slots_n\": 4"
refused BR-03 br03.json 'overflows by 176 tokens|4 requests at their longest need 1200, the pool has 1024|up to 4 requests fail together|3 of them fit together with 124 to spare'
scenario br03f.json '"K": 3, "H": 1, "P": 0, "turn_delta_in_tok": 200, "turn_out_tok": 100' "$CONTINUOUS, $POOL"
value 'BR-03 three fit' br03f.json 'output tokens' 3 300

# BR-05 a coordinator of 60,000 and three helpers of 8,000 (output 10 of it): split has 21,000 a slot, a split server
# needs 4 x 60,000; unified the sum is exactly 84,000.
W='"K": 4, "H": 1, "P": 0, "private_tok": [59900, 7900, 7900, 7900], "turn_delta_in_tok": 90, "turn_out_tok": 10'
scenario br05.json "$W" "$CONTINUOUS, \"prefix_reuse\": \"per_slot\", \"kv_layout\": \"split\", \"context_tok\": 84000, \"context_scope\": \"total\""
refused BR-05 br05.json 'agent 1 needs 60000 tokens|a slot has 21000|total context of 240000'
scenario br05p.json "$W" "$CONTINUOUS, \"prefix_reuse\": \"per_slot\", \"kv_layout\": \"split\", \"context_tok\": 84000, \"context_scope\": \"total\", \"slot_pad_tok\": 256"
refused 'BR-05 padded' br05p.json 'a slot has 21248'
scenario br05u.json "$W" "$CONTINUOUS, \"prefix_reuse\": \"per_slot\", \"kv_layout\": \"unified\", \"context_tok\": 84000, \"context_scope\": \"total\""
says 'BR-05 unified fits with nothing to spare' br05u.json '0 tokens to spare'

# BR-06 one word, two conventions: 4096 with 4 in parallel and a request of 3000.
W='"K": 4, "H": 1, "P": 0, "turn_delta_in_tok": 2900, "turn_out_tok": 100'
scenario br06.json "$W" "$CONTINUOUS, \"prefix_reuse\": \"per_slot\", \"kv_layout\": \"split\", \"context_tok\": 4096"
refused 'BR-06 not said' br06.json '#/arms/0/context_tok|4096 with 4 slots|"total"|"per_slot"'
scenario br06t.json "$W" "$CONTINUOUS, \"prefix_reuse\": \"per_slot\", \"kv_layout\": \"split\", \"context_tok\": 4096, \"context_scope\": \"total\""
refused 'BR-06 total' br06t.json 'a slot has 1024|total context of 12000'
scenario br06p.json "$W" "$CONTINUOUS, \"prefix_reuse\": \"per_slot\", \"kv_layout\": \"split\", \"context_tok\": 4096, \"context_scope\": \"per_slot\""
value 'BR-06 per request: KV for 16,384 tokens' br06p.json 'KV reserved' 3 896

# BR-08 block granularity: floor(P / block) x block. 552 in blocks of 528: 528 (95.65 %); 480: 0 and a warning; 100 in 16:
# 96. Two agents with identical prompts: the second reuses. 528 of 528: the last block is computed again, never TTFT 0.
one_more='"K": 2, "H": 1, "turn_delta_in_tok": 0, "turn_out_tok": 2'
SHARED="$CONTINUOUS, \"prefix_reuse\": \"shared\""
for case in 480:528:0 552:528:528 979:528:528 100:16:96 528:528:0 1056:528:528; do
    P=${case%%:*} reused=${case##*:} block=${case#*:}
    block=${block%:*}
    scenario br08.json "$one_more, \"P\": $P" "$SHARED, \"block_tok\": $block"
    value "BR-08 prompt $P in blocks of $block" br08.json 'prompt tokens reused' 3 "$reused"
done
scenario br08w.json "$one_more, \"P\": 480" "$SHARED, \"block_tok\": 528"
says 'BR-08 warns' br08w.json 'shorter than a cache block of 528'

# BR-10 found at the third sight: 20,000 tokens cold in 12.80 s, warm in 1.67 s. Cold once says 12.80 + 2 x 1.67 = 16.14,
# cold twice 2 x 12.80 + 1.67 = 27.27 (measured 27.41, the second try took 12.94). One output token.
COLD="$(rate prefill_tok_s "$(awk 'BEGIN { printf "%.12f", 20000 / (12.80 - 1.67) }')"), $(rate delta_prefill_s 1.67), $(rate decode_tok_s 25)"
W='"K": 3, "H": 1, "P": 20000, "turn_delta_in_tok": 1, "turn_out_tok": 1'
SERIAL='"batching": "serial", "prefix_reuse": "shared"'
scenario br10.json "$W" "$SERIAL" "$COLD"
value 'BR-10 cold once' br10.json wall-clock 3 16.14
scenario br10b.json "$W" "$SERIAL, \"cold_sights_n\": 2" "$COLD"
value 'BR-10 cold twice' br10b.json wall-clock 3 27.27
says 'BR-10 the number is printed' br10.json 'found after 1 sight'

# BR-11 P = 8000, S = 200, O = 300, H = 5, K = 1, 1000 tok/s: nothing reused 46,000 tokens and 46 s, all reused 9,000 and
# 9 s (earlier outputs are in the cache). Unknown: both.
W='"K": 1, "H": 5, "P": 8000, "turn_delta_in_tok": 200, "turn_out_tok": 300'
scenario br11n.json "$W" "$CONTINUOUS, \"prefix_reuse\": \"none\", \"reuse_last_token\": true"
value 'BR-11 none' br11n.json 'prompt tokens computed' 3 46000
value 'BR-11 none' br11n.json 'device prefill' 3 46
scenario br11f.json "$W" "$CONTINUOUS, \"prefix_reuse\": \"per_slot\", \"reuse_last_token\": true"
value 'BR-11 full' br11f.json 'prompt tokens computed' 3 9000
value 'BR-11 full' br11f.json 'device prefill' 3 9
scenario br11u.json "$W" "$CONTINUOUS, \"prefix_reuse\": \"unknown\", \"reuse_last_token\": true"
value 'BR-11 unknown, best' br11u.json 'device prefill' 3 9
value 'BR-11 unknown, worst' br11u.json 'device prefill' 4 46
says 'BR-11 unknown' br11u.json 'a/per_slot'

# BR-13 five agents on four slots in a fixed order: everybody evicts the next one. Round 2 computes all it holds, 19,500
# tokens and 39 s at 500 tok/s (outputs of one token, counted as cached); with five slots 5 x 100 and 1 s. The round is
# the difference between a session of two turns and one of one.
OWN='"K": 5, "P": 0, "private_tok": [1900, 1900, 1900, 1900, 10900], "turn_delta_in_tok": 100, "turn_out_tok": 1'
SLOW="$(rate prefill_tok_s 500), $(rate decode_tok_s 1000000 ', "gain_per_seq_frac": 1')"
for slots in 4 5; do
    scenario one.json "$OWN, \"H\": 1" "\"batching\": \"serial\", \"prefix_reuse\": \"per_slot\", \"reuse_last_token\": true, \"slots_n\": $slots" "$SLOW"
    scenario two.json "$OWN, \"H\": 2" "\"batching\": \"serial\", \"prefix_reuse\": \"per_slot\", \"reuse_last_token\": true, \"slots_n\": $slots" "$SLOW"
    value "BR-13 first round, $slots slots" one.json 'prompt tokens computed' 3 19000
    # second round: prompts 2000 + 1 + 100 and 11000 + 1 + 100 - the report leaves the one output token out
    if [ $slots -eq 4 ]; then value 'BR-13 nobody finds its history' two.json 'prompt tokens reused' 3 0
    else value 'BR-13 five slots' two.json 'prompt tokens computed' 3 19500
    fi
done
value 'BR-13 five slots, second round 1 s' two.json 'device prefill' 3 39

# BR-20 H = 1: nothing of an agent's own to reuse, no term of (H - 1) goes negative.
scenario br20.json '"K": 1, "H": 1, "P": 0, "turn_delta_in_tok": 100, "turn_out_tok": 50' "$CONTINUOUS, \"prefix_reuse\": \"per_slot\""
value BR-20 br20.json 'prompt tokens reused' 3 0
# ... and with turns: prompts 100, 250, 400, reusable 0, 150, 300
scenario br20t.json '"K": 1, "H": 3, "P": 0, "turn_delta_in_tok": 100, "turn_out_tok": 50' "$CONTINUOUS, \"prefix_reuse\": \"per_slot\", \"reuse_last_token\": true"
value 'BR-20 presented' br20t.json 'prompt tokens presented' 3 750
value 'BR-20 reused' br20t.json 'prompt tokens reused' 3 450

# BR-29 r(1..5) = 42.3, 27.6, 21.9, 18.5, 14.9 tok/s a request, O = 450, prefill ignored: with four slots four end at
# 24.32 s, the fifth waits that long and runs alone for 10.64 s: 34.96 s; with eight slots 30.20 s. Never r(5) with N = 4.
mkdir own
cat >own/br29.json <<'END'
{"schema": "ratecast.rate-card/1", "id": "br29", "title": "BR-29", "method": "import", "provenance": "claim", "source": "problem report",
 "model": "m", "quant": "q", "weights_bytes": 1000, "layers": 1, "full_attention_layers": 1, "kv_heads": 1, "head_dim": 1, "kv_element_bytes": 1,
 "engine": {"name": "e"}, "hardware": {"chip": "c"}, "prefill": [],
 "decode": [{"batch_n": 1, "tok_s": 42.3}, {"batch_n": 2, "tok_s": 55.2}, {"batch_n": 3, "tok_s": 65.7}, {"batch_n": 4, "tok_s": 74.0}, {"batch_n": 5, "tok_s": 74.5}]}
END
for case in 4:34.96 8:30.20; do
    scenario br29.json '"K": 5, "H": 1, "P": 0, "turn_delta_in_tok": 1, "turn_out_tok": 450' \
        "$CONTINUOUS, \"card\": \"./own/br29.json\", \"prefix_reuse\": \"per_slot\", \"reuse_last_token\": true, \"slots_n\": ${case%:*}" \
        "$(rate prefill_tok_s 1000000000), $(rate decode_context_s_per_tok 0)"
    "$RATECAST" project br29.json --csv >out 2>err
    got=$(awk -F, '$1 == "wall-clock" { printf "%.2f", $3 }' out)
    if [ "$got" = "${case#*:}" ]; then ok; else bad "BR-29 ${case%:*} slots" "wall-clock $got, expected ${case#*:}"; fi
done

# BR-33 --parallel 0 is an error, and four agents on one slot are cold every turn: 51,600 tokens an agent.
scenario br33.json '"K": 4, "H": 6, "P": 0, "private_tok": 8000, "turn_delta_in_tok": 100, "turn_out_tok": 100' \
    '"batching": "serial", "prefix_reuse": "per_slot", "reuse_last_token": true, "slots_n": 1' "$(rate prefill_tok_s 800), $(rate decode_tok_s 25)"
value 'BR-33 round robin on one slot' br33.json wall-clock 3 354
sed 's/"slots_n": 1/"slots_n": 4/' br33.json >br33b.json
value 'BR-33 a slot for each: as one after another' br33b.json wall-clock 3 139
sed 's/"slots_n": 1/"slots_n": 0/' br33.json >br33c.json
refused 'BR-33 no slot' br33c.json '#/arms/0/slots_n|found 0|from 1'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
