#!/bin/sh
# `ratecast audit --packet` and `ratecast project --packet`, as a user drives them.
# shellcheck source=tests/cli/support.sh
. "$REPO/tests/cli/support.sh"
P="$REPO/tests/unit/packets/example.json"

# the published example: valid, 1.91 under its own gate of 1.5, and what the format does not check
"$RATECAST" audit --packet "$P" >out 2>err
code=$?
if [ $code -eq 0 ]; then pass; else fail 'example' "exit $code"; fi
for words in '^VALID' '1.91x, the gate is 1.50x' 'prefill + decode = wall-clock' 'I-POPULATION' 'I-FLOOR .first-token' \
    '1.600 s of queue wait' '946.4 s of queue wait'; do
    if grep -q "$words" out; then pass; else fail 'example' "no '$words'"; fi
done

"$RATECAST" audit --packet "$P" --json >out 2>err
if command -v sha256sum >/dev/null; then want=$(sha256sum <"$P"); else want=$(shasum -a 256 <"$P"); fi
want=${want%% *}
for words in '"schema": "fak.macbench.agentic-comparison.validation.v1"' '"valid": true' '"speedup_ratio": 1.91' \
    "\"packet_sha256\": \"$want\"" '"violations": \[\]' '"accounting": "boundary"'; do
    if grep -q "$words" out; then pass; else fail 'example --json' "no '$words'"; fi
done
"$RATECAST" audit --packet - --json <"$P" >out2 2>err
if cmp -s out out2; then pass; else fail 'stdin' 'another result than from the file'; fi
run audit --packet "$P" --strict
if [ $code -eq 1 ]; then pass; else fail '--strict' 'exit 0 with findings'; fi

# two faults, both said, exit 1
sed 's/"verified": true/"verified": false/; s/"quant": "Q4_K_M"/"quant": "Q8_0"/' "$P" >bad.json
run audit --packet bad.json
if [ $code -eq 1 ]; then pass; else fail 'two faults' 'exit 0'; fi
for words in '^INVALID' 'own rules (2)' 'summary/verified' 'model/quant'; do
    if grep -q "$words" out; then pass; else fail 'two faults' "no '$words'"; fi
done

# refused: not JSON, no file, both a file and a packet, an output over the input
echo '{' >broken.json
for args in '--packet broken.json' '--packet none.json' "--packet $P $P" '' '--packet bad.json -o bad.json'; do
    # shellcheck disable=SC2086 # words
    "$RATECAST" audit $args >out 2>err
    code=$?
    if [ $code -eq 2 ] && [ -s err ]; then pass; else fail "audit $args" "exit $code"; fi
done
if grep -q '"verified": false' bad.json; then pass; else fail 'output over the input' 'the packet was overwritten'; fi

# from a projection: the published constants validate at the documents' 1.86 and 3,072 MB
"$RATECAST" project "$REPO/scenarios/published/head_to_head_4k.json" --json -o result.json --packet packet.json \
    --packet-identity "$P" 2>err
code=$?
if [ $code -eq 0 ]; then pass; else fail 'project --packet' "exit $code: $(cat err)"; fi
run audit --packet packet.json
if [ $code -eq 0 ] && grep -q '^VALID' out && grep -q '1.86x' out; then pass; else fail 'project --packet' 'not valid at 1.86'; fi
if command -v sha256sum >/dev/null; then want=$(sha256sum <result.json); else want=$(shasum -a 256 <result.json); fi
for words in '"provenance": "MODELED"' '"is_physical_silicon": false' '"memory_saved_mb": 3072' '"speedup_ratio": 1.86' \
    '"evidence_kind": "modeled"' "\"sha256\": \"${want%% *}\"" '"path": "result.json"' '"other_in_decode_ms": 1600' \
    'ratecast project .*head_to_head_4k.json --json'; do
    if grep -q "$words" packet.json; then pass; else fail 'project --packet' "no '$words'"; fi
done

# the physical scenario does not reach the format's gates, and says so: written, exit 1
"$RATECAST" project "$REPO/scenarios/head_to_head_4k.json" --json -o result2.json --packet packet2.json \
    --packet-identity "$P" 2>err
code=$?
if [ $code -eq 1 ] && grep -q 'p50_ttft_ms' err && grep -q 'found 1.47' err; then pass; else fail 'physical packet' "exit $code: $(cat err)"; fi
if [ -s packet2.json ]; then pass; else fail 'physical packet' 'not written'; fi

# what a projection cannot know has to be given
sed 's/"campaign_id": "example",//' "$P" >thin.json
rm -f packet3.json
"$RATECAST" project "$REPO/scenarios/published/head_to_head_4k.json" --json -o result3.json --packet packet3.json \
    --packet-identity thin.json 2>err
code=$?
if [ $code -eq 2 ] && grep -q 'thin.json#/campaign_id' err && [ ! -e packet3.json ]; then pass; else fail 'thin identity' "exit $code: $(cat err)"; fi
for args in '--packet p.json' "--packet p.json --packet-identity $P" "--json -o r.json --packet-identity $P" \
    "--json -o r.json --packet thin.json --packet-identity thin.json"; do
    # shellcheck disable=SC2086 # words
    "$RATECAST" project "$REPO/scenarios/published/head_to_head_4k.json" $args >out 2>err
    code=$?
    if [ $code -eq 2 ]; then pass; else fail "project $args" "exit $code"; fi
done
"$RATECAST" project "$REPO/scenarios/published/fleet_5x200.json" --json -o r5.json --packet p5.json --packet-identity "$P" 2>err
code=$?
if [ $code -eq 2 ] && grep -q 'expected exactly fak-native and llama.cpp' err; then pass; else fail 'other arms' "exit $code"; fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
