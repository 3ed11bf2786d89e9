#!/bin/sh
# Bad input ends with exit code 2, nothing on standard output, and a message that names the file, the JSON pointer,
# what was found and what was expected. Below the bad cases: input that must work, and output that must not vary.
#
# RATECAST: the program, REPO: the source folder. A case is one line: a name, an edit of a good file, and the texts
# (separated by |) that the message has to hold.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
unset RATECAST_RATES
mkdir rates scenarios scenarios/published empty

refused() { # NAME TEXTS: judges the last run
    missing=$(lacks err "$2")
    if [ "$code" -ne 2 ]; then fail "$1" "exit code $code, expected 2"
    elif [ -s out ]; then fail "$1" "standard output is not empty"
    elif [ "$(wc -l <err)" -ne 1 ]; then fail "$1" "$(wc -l <err) lines on stderr, expected 1"
    elif ! grep -q '^ratecast: ' err; then fail "$1" "the message does not begin with 'ratecast: '"
    elif [ -n "$missing" ]; then fail "$1" "the message lacks '$missing'"
    else pass
    fi
}

bad() { # NAME TEXTS ARGS...
    name=$1 texts=$2
    shift 2
    run "$@"
    refused "$name" "$texts"
}

good() { # NAME ARGS...: exit 0, some output, silent stderr
    name=$1
    shift
    run "$@"
    if [ "$code" -ne 0 ]; then fail "$name" "exit code $code, expected 0"
    elif [ ! -s out ]; then fail "$name" "no output"
    elif [ -s err ]; then fail "$name" "stderr is not empty"
    else pass
    fi
}

# sed that must change something: an edit that matches nothing would test the good file
edit() { # FROM TO SCRIPT
    sed -e "$3" "$1" >"$2"
    if cmp -s "$1" "$2"; then fail "edit $3" "changes nothing in $1"; fi
}

# A faulty scenario is refused by `project` and by `check`, with the same words.
scen() { # NAME SCRIPT TEXTS
    edit base.json bad.json "$2"
    both "$1" "$3"
}

# `check` knows more formats than `project`, so a wrong "schema" is not said with the same words.
each() { # NAME TEXTS: bad.json
    bad "$1 (project)" "bad.json|$2" project --rates rates bad.json
    bad "$1 (check)" "bad.json|$2" check --rates rates bad.json
}

both() { # NAME TEXTS: bad.json
    bad "$1" "bad.json|$2" project --rates rates bad.json
    cp err err.project
    run check --rates rates bad.json
    if [ "$code" -eq 2 ] && cmp -s err err.project; then pass
    else fail "$1 (check)" "exit code $code, expected 2 and the words of project"
    fi
}

# A faulty card is refused by `check`, and by the scenario that refers to it, with its own place.
crd() { # NAME SCRIPT TEXTS
    edit rates/toy.json bad-card.json "$2"
    bad "$1" "bad-card.json#|$3" check --rates rates bad-card.json
    edit base.json uses-bad-card.json 's|"card": "toy"|"card": "./bad-card.json"|'
    bad "$1 (project)" "bad-card.json#|$3" project --rates rates uses-bad-card.json
}

# ---- good files to be spoilt ----

cat >rates/toy.json <<'END'
{
  "schema": "ratecast.rate-card/1",
  "id": "toy",
  "title": "a made-up machine",
  "method": "engine",
  "provenance": "assumed",
  "source": "invented for this test",
  "model": "toy-model",
  "quant": "Q8_0",
  "weights_bytes": 1000000000,
  "layers": 8,
  "full_attention_layers": 8,
  "kv_heads": 4,
  "head_dim": 64,
  "kv_element_bytes": 2,
  "engine": {"name": "toy", "n_ubatch": 512},
  "hardware": {"chip": "toy chip"},
  "prefill": [
    {"n_prompt_tok": 64, "depth_tok": 0, "s": 0.064},
    {"n_prompt_tok": 512, "depth_tok": 0, "samples_s": [0.25, 0.26, 0.25]},
    {"n_prompt_tok": 512, "depth_tok": 4096, "s": 0.3}
  ],
  "decode": [
    {"batch_n": 1, "context_tok": 64, "step_s": 0.02},
    {"batch_n": 1, "context_tok": 4096, "step_s": 0.024},
    {"batch_n": 4, "context_tok": 64, "step_s": 0.03},
    {"batch_n": 4, "context_tok": 4096, "step_s": 0.046}
  ]
}
END
cat >base.json <<'END'
{
  "schema": "ratecast.scenario/1",
  "id": "base",
  "title": "agents on a made-up machine",
  "model": "toy-model",
  "card": "toy",
  "workload": {
    "K": 4,
    "H": 3,
    "P": 64,
    "turn_delta_in_tok": 16,
    "turn_out_tok": 8,
    "turn_shape": "delta_first",
    "tool_latency_s": 0.5
  },
  "assumptions": [
    {"term": "host_step_s", "value": 0.001, "provenance": "assumed", "reason": "a test"}
  ],
  "arms": [
    {"name": "shared", "prefix_reuse": "shared", "batching": "continuous"},
    {"name": "naive", "prefix_reuse": "none", "batching": "serial", "slots_n": 2}
  ],
  "baseline": "naive",
  "unmodeled": ["thermal throttling"]
}
END

good "the good card" check --rates rates rates/toy.json
good "the good scenario" check --rates rates base.json
good "the good projection" project --rates rates base.json

# ---- keys ----

scen "unknown key at the top" 's|"title"|"titel"|' '#/titel|unknown key "titel"|nearest known key is "title"'
scen "unknown key in workload" 's|"turn_out_tok"|"turn_out_tk"|' '#/workload/turn_out_tk|unknown key|"turn_out_tok"'
scen "unknown key in an arm" 's|"slots_n"|"slot_n"|' '#/arms/1/slot_n|unknown key "slot_n"|"slots_n"'
scen "unknown key in an assumption" 's|"reason"|"reasons"|' '#/assumptions/0/reasons|unknown key "reasons"|"reason"'
scen "key of another term" 's|"reason"|"at": "end", "reason"|' '#/assumptions/0/at|unknown key "at"'
scen "key far from any" 's|"title"|"zzzzzzzzzzzzzzzz"|' '#/zzzzzzzzzzzzzzzz|unknown key|expected one of: schema id title'
scen "slash and tilde in a key" 's|"title"|"a/b~c": 1, "title"|' '#/a~1b~0c|unknown key "a/b~c"'
crd "unknown key in a card" 's|"quant"|"quantt"|' '#/quantt|unknown key "quantt"|nearest known key is "quant"'
crd "unknown key in a decode point" 's|"step_s": 0.03|"step_ms": 30|' '#/decode/2/step_ms|unknown key|"step_s"'
crd "unknown key in a prefill point" 's|"samples_s"|"sample_s"|' '#/prefill/1/sample_s|unknown key|"samples_s"'
crd "unknown key in engine" 's|"n_ubatch"|"n_ubach"|' '#/engine/n_ubach|unknown key|"n_ubatch"'
scen "duplicate key" 's|"K": 4|"K": 4, "K": 5|' '#/workload/K|"K"|twice'
scen "duplicate key at the top" 's|"id"|"title": "x", "id"|' '#/title|"title"|twice'
crd "duplicate key in a card" 's|"quant"|"id": "toy", "quant"|' '#/id|"id"|twice'

for key in id title; do
    grep -v "^  \"$key\":" base.json >bad.json
    both "missing $key" "#/$key|\"$key\" is missing"
done
grep -v '^  "schema":' base.json >bad.json
each "missing schema" '#/schema|"schema" is missing'
for key in K H P turn_delta_in_tok turn_out_tok turn_shape; do
    grep -v "^    \"$key\":" base.json >bad.json
    both "missing $key" "#/workload|\"$key\" is missing"
done
scen "missing workload" '/"workload"/,/^  },/d' '#/|"workload" is missing'
scen "missing arms" '/"arms"/,/^  \],/d' '#/|"arms" is missing'
scen "missing arm name" 's|"name": "naive", ||' '#/arms/1|"name" is missing'
scen "missing prefix_reuse" 's|"prefix_reuse": "none", ||' '#/arms/1|"prefix_reuse" is missing'
scen "missing batching" 's|"batching": "serial", ||' '#/arms/1|"batching" is missing'
scen "missing term" 's|"term": "host_step_s", ||' '#/assumptions/0|"term" is missing'
scen "missing reason" 's|, "reason": "a test"||' '#/assumptions/0|"reason" is missing'
scen "missing provenance" 's|"provenance": "assumed", ||' '#/assumptions/0|"provenance" is missing'
scen "no card at all" '/"card"/d' '#/arms/0|"card" is missing'
for key in schema id method provenance source model quant; do
    grep -v "^  \"$key\":" rates/toy.json >bad-card.json
    bad "card without $key" "bad-card.json#/|\"$key\" is missing" check --rates rates bad-card.json
done
crd "card without decode list" '/"decode"/,/^  \]/d; s|^  \],|  ]|' '#/|"decode" is missing'
crd "decode point without batch_n" 's|"batch_n": 4, "context_tok": 64, ||' '#/decode/2|"batch_n" is missing'
crd "point without a measurement" 's|, "step_s": 0.03||' '#/decode/2|no measurement|expected samples_s, a time or tok_s'

# ---- types ----

scen "string for K" 's|"K": 4|"K": "4"|' '#/workload/K|found the string "4"|expected a whole number'
scen "fraction for K" 's|"K": 4|"K": 4.5|' '#/workload/K|found 4.5|expected a whole number'
scen "null for H" 's|"H": 3|"H": null|' '#/workload/H|found null|expected a whole number'
scen "array for P" 's|"P": 64|"P": [64]|' '#/workload/P|found an array|expected a whole number'
scen "number for title" 's|"title": "[^"]*"|"title": 7|' '#/title|found the number 7|expected a string'
scen "empty id" 's|"id": "base"|"id": ""|' '#/id|found an empty string|expected'
scen "object for arms" 's|"arms": \[|"arms": {"x": [|; /"arms"/,/^  \],/s|^  \],|  ]},|' '#/arms|found an object|expected an array'
scen "no arm" '/"name"/d' '#/arms|found 0 arms|expected 1 to '
scen "number for an arm" 's|"arms": \[|"arms": [3,|' '#/arms/0|found the number 3|expected an object'
scen "string for workload" '/^    "[KHPt]/d; /"tool_latency_s"/d; s|"workload": {|"workload": "none",|; /^  },/d' '#/workload|found the string "none"|expected an object'
scen "wrong turn_shape" 's|delta_first|delta_last|' '#/workload/turn_shape|found the string "delta_last"|"delta_first", "result_after"'
scen "number for turn_shape" 's|"delta_first"|1|' '#/workload/turn_shape|found the number 1|"delta_first", "result_after"'
scen "wrong prefix_reuse" 's|"none"|"nothing"|' '#/arms/1/prefix_reuse|found the string "nothing"|expected one of "none"'
scen "wrong batching" 's|"serial"|"seriell"|' '#/arms/1/batching|found the string "seriell"|expected one of "serial"'
scen "wrong first_comers" 's|"batching": "continuous"|&, "first_comers": "all"|' '#/arms/0/first_comers|found the string "all"|"wait", "each"'
scen "first_comers without a shared prefix" 's|"slots_n"|"first_comers": "wait", "slots_n"|' '#/arms/1/first_comers|shared'
scen "wrong reuse_last_token" 's|"slots_n"|"reuse_last_token": "no", "slots_n"|' '#/arms/1/reuse_last_token|found the string "no"|expected true or false'
scen "wrong term" 's|"host_step_s"|"host_steps"|' '#/assumptions/0/term|found the string "host_steps"|expected one of|"host_step_s"'
scen "wrong provenance" 's|"assumed"|"guessed"|' '#/assumptions/0/provenance|found the string "guessed"|expected one of "witnessed"'
scen "number among unmodeled" 's|"thermal throttling"|12|' '#/unmodeled/0|found the number 12|expected a string'
# shellcheck disable=SC2016 # $ is sed's last line
edit base.json bad.json '1s|{|[{|; $s|}|}]|'
each "root is an array" '#|found an array|expected an object'
scen "number for a note" 's|"id"|"note": 5, "id"|' '#/note|found the number 5|expected a string'
crd "string for a rate" 's|"step_s": 0.03|"step_s": "0.03"|' '#/decode/2/step_s|found the string "0.03"|expected a number > 0'
crd "string among samples" 's|0.26|"0.26"|' '#/prefill/1/samples_s/1|found the string "0.26"|expected a number > 0'
crd "object for decode" 's|"decode": \[|"decode": {"x": [|; s|^  \]$|  ]}|' '#/decode|found an object|expected an array'
crd "wrong method" 's|"engine",|"guess",|' '#/method|found the string "guess"|expected one of "engine"'
crd "string for claim_only" 's|"quant"|"claim_only": "yes", "quant"|' '#/claim_only|found the string "yes"|expected true or false'
crd "upper case id" 's|"id": "toy"|"id": "Toy Card"|' '#/id|found "Toy Card"|expected lower-case letters'

# ---- numbers ----

scen "NaN" 's|"K": 4|"K": NaN|' ':8:'
scen "Infinity" 's|"value": 0.001|"value": Infinity|' ':17:'
scen "-Infinity" 's|"value": 0.001|"value": -Infinity|' ':17:|no JSON number'
scen "1e400" 's|"value": 0.001|"value": 1e400|' '#/assumptions/0/value|found a number over the range of a double|expected'
scen "-1e400" 's|"K": 4|"K": -1e400|' '#/workload/K|found|expected a whole number'
scen "leading zero" 's|"K": 4|"K": 04|' ':8:|expected a JSON number'
scen "hexadecimal" 's|"K": 4|"K": 0x4|' ':8:'
scen "K = 0" 's|"K": 4|"K": 0|' '#/workload/K|found 0|from 1 to 10000'
scen "H = 0" 's|"H": 3|"H": 0|' '#/workload/H|found 0|from 1 to'
scen "turn_out_tok = 0" 's|"turn_out_tok": 8|"turn_out_tok": 0|' '#/workload/turn_out_tok|found 0|from 1 to'
scen "K = -1" 's|"K": 4|"K": -1|' '#/workload/K|found -1|from 1 to 10000'
scen "K over range" 's|"K": 4|"K": 100001|' '#/workload/K|found 100001|from 1 to 10000'
scen "P over range" 's|"P": 64|"P": 1000000001|' '#/workload/P|found 1000000001|from 0 to 1000000000'
scen "P beyond 2^53" 's|"P": 64|"P": 9007199254740993|' '#/workload/P|found|expected a whole number'
scen "P = -1" 's|"P": 64|"P": -1|' '#/workload/P|found -1|from 0 to'
scen "too many turns" 's|"K": 4|"K": 10000|; s|"H": 3|"H": 1000|' '#/workload|10000000 turns|expected at most 1000000'
scen "contexts too long" 's|"H": 3|"H": 1000000|; s|"K": 4|"K": 1|; s|"turn_out_tok": 8|"turn_out_tok": 5000|' '#/workload|tokens|expected at most 1000000000'
scen "empty first prompt" 's|"P": 64|"P": 0|; s|_in_tok": 16|_in_tok": 0|' '#/workload|first prompt is empty|expected P|turn_delta_in_tok'
scen "empty first prompt, result_after" 's|"P": 64|"P": 0|; s|delta_first|result_after|' '#/workload|first prompt is empty|expected P'
scen "negative tool latency" 's|0.5|-0.5|' '#/workload/tool_latency_s|found -0.5|expected a number from 0'
scen "slots_n = 0" 's|"slots_n": 2|"slots_n": 0|' '#/arms/1/slots_n|found 0|from 1 to'
scen "block_tok = 0" 's|"slots_n": 2|"block_tok": 0|' '#/arms/1/block_tok|found 0|from 1 to'
scen "memory budget = 0" 's|"id"|"memory_budget_bytes": 0, "id"|' '#/memory_budget_bytes|found 0|from 1 to'
scen "negative assumption" 's|0.001|-0.001|' '#/assumptions/0/value|found -0.001|expected a number from 0'
scen "zero rate assumed" 's|"host_step_s", "value": 0.001|"prefill_tok_s", "value": 0|' '#/assumptions/0/value|found 0|expected a number > 0'
scen "negative rate assumed" 's|"host_step_s", "value": 0.001|"decode_tok_s", "value": -3|' '#/assumptions/0/value|found -3|expected a number > 0'
scen "gain over range" 's|"host_step_s", "value": 0.001|"decode_tok_s", "value": 3, "gain_per_seq_frac": 1.5|' '#/assumptions/0/gain_per_seq_frac|found 1.5|from 0 to 1'
crd "zero rate" 's|"step_s": 0.03|"tok_s": 0|' '#/decode/2/tok_s|found 0|expected a number > 0'
crd "negative rate" 's|"step_s": 0.03|"tok_s": -30|' '#/decode/2/tok_s|found -30|expected a number > 0'
crd "zero sample" 's|0.26|0|' '#/prefill/1/samples_s/1|found 0|expected a number > 0'
crd "rate of 1e400" 's|"step_s": 0.03|"tok_s": 1e400|' '#/decode/2/tok_s|found a number over the range|expected'
crd "rate over range" 's|"step_s": 0.03|"tok_s": 1e30|' '#/decode/2/tok_s|found 1e+30|expected a number from'
crd "batch_n = 0" 's|"batch_n": 4, "context_tok": 64|"batch_n": 0, "context_tok": 64|' '#/decode/2/batch_n|found 0|from 1 to'
crd "negative weights" 's|1000000000|-1|' '#/weights_bytes|found -1|from 1 to'
crd "more attention layers than layers" 's|"full_attention_layers": 8|"full_attention_layers": 9|' '#/full_attention_layers|found 9|expected at most layers = 8'
crd "time and rate disagree" 's|"step_s": 0.03|"step_s": 0.03, "tok_s": 300|' '#/decode/2|300|0.03|disagree'
edit rates/toy.json bad-card.json 's|1000000000|nan|'
bad "NaN in a card" 'bad-card.json:10:20' check bad-card.json

# ---- start offsets ----

scen "offsets too few" 's|"tool_latency_s": 0.5|"start_offsets_s": [0, 1]|' '#/workload/start_offsets_s|found 2 offsets|expected K = 4'
scen "offsets too many" 's|"tool_latency_s": 0.5|"start_offsets_s": [0, 1, 2, 3, 4]|' '#/workload/start_offsets_s|found 5 offsets|expected K = 4'
scen "negative offset" 's|"tool_latency_s": 0.5|"start_offsets_s": [0, 1, -2, 3]|' '#/workload/start_offsets_s/2|found -2|expected a number from 0'
scen "offsets and stagger" 's|"tool_latency_s": 0.5|"start_offsets_s": [0, 1, 2, 3], "stagger_s": 1|' '#/workload/start_offsets_s|stagger_s|exclude each other'

# ---- private tokens, capacity, mixed prefill, sweeps ----

scen "private tokens too few" 's|"P": 64|"P": 64, "private_tok": [1, 2]|' '#/workload/private_tok|found 2 values|expected K = 4'
scen "half a private token" 's|"P": 64|"P": 64, "private_tok": [1, 2, 3, 0.5]|' '#/workload/private_tok|found 0.5|expected a whole number'
scen "string for private tokens" 's|"P": 64|"P": 64, "private_tok": "many"|' '#/workload/private_tok|found the string "many"|expected'
scen "capacity without a scope" 's|"slots_n": 2|"slots_n": 2, "context_tok": 4096|' '#/arms/1/context_tok|found context_tok 4096|expected context_scope "total"|"per_slot"'
scen "capacity without a layout" 's|"slots_n": 2|"slots_n": 2, "context_tok": 4096, "context_scope": "total"|' '#/arms/1/context_tok|expected "split" or "unified"'
scen "scope without a capacity" 's|"slots_n": 2|"slots_n": 2, "context_scope": "total"|' '#/arms/1/context_scope|context_tok|expected both'
scen "mixed without a budget" 's|"batching": "continuous"|&, "prefill": "mixed"|' '#/arms/0|"max_batch_tok" is missing'
scen "mixed without continuous batching" 's|"slots_n": 2|"prefill": "mixed", "max_batch_tok": 64|' '#/arms/1/prefill|found mixed|expected exclusive'
scen "budget without mixed" 's|"batching": "continuous"|&, "max_batch_tok": 64|' '#/arms/0/max_batch_tok|prefill mixed'
scen "budget too small" 's|"batching": "continuous"|&, "prefill": "mixed", "max_batch_tok": 4|' '#/arms/0/max_batch_tok|found 4|expected more than'
scen "cold_sights_n without a shared prefix" 's|"slots_n": 2|"cold_sights_n": 2|' '#/arms/1/cold_sights_n|shared'
scen "sweep without values" 's|"baseline"|"sweep": {"path": "workload.K", "values": []}, "baseline"|' '#/sweep/values|found 0 values|expected 1 to'
scen "sweep of words" 's|"baseline"|"sweep": {"path": "workload.K", "values": ["a"]}, "baseline"|' '#/sweep/values/0|found the string "a"|expected a number'
scen "sweep without a path" 's|"baseline"|"sweep": {"values": [1]}, "baseline"|' '#/sweep|"path" is missing'
edit base.json bad.json 's|"baseline"|"sweep": {"path": "workload.Q", "values": [1]}, "baseline"|'
each "sweep of an unknown key" '#|Q|unknown key'
edit base.json bad.json 's|"baseline"|"sweep": {"path": "workload.K", "values": [1, 0]}, "baseline"|'
bad "sweep out of range" 'bad.json|/workload/K|found 0|from 1 to 10000' project --rates rates bad.json

# ---- schema and version ----

edit base.json bad.json 's|ratecast.scenario/1|ratecast.result/1|'
each "wrong schema" '#/schema|found "ratecast.result/1"|expected|ratecast.scenario/1'
edit base.json bad.json 's|ratecast.scenario/1|ratecast.scenario/2|'
each "wrong version" '#/schema|found "ratecast.scenario/2"|expected|ratecast.scenario/1'
edit base.json bad.json 's|"ratecast.scenario/1"|1|'
each "number for schema" '#/schema|found the number 1|expected a string'
bad "card where a scenario is expected" 'rates/toy.json#/schema|found "ratecast.rate-card/1"|expected' project --rates rates rates/toy.json
crd "wrong card version" 's|rate-card/1|rate-card/9|' '#/schema|found "ratecast.rate-card/9"|expected|ratecast.rate-card/1'

# ---- references ----

scen "unknown card" 's|"card": "toy"|"card": "tyo"|' '#/card|no card with id "tyo"|nearest id is "toy"'
scen "unknown card of an arm" 's|"slots_n"|"card": "other-machine", "slots_n"|' '#/arms/1/card|no card with id "other-machine"'
scen "missing card file" 's|"card": "toy"|"card": "./nowhere.json"|' '#/card|nowhere.json|No such file'
scen "card of another model" 's|"model": "toy-model"|"model": "another"|' '#/card|"toy-model"|expected the scenario'"'"'s model "another"'
scen "unknown gain card" 's|"host_step_s", "value": 0.001|"decode_gain_card", "card": "tyo", "context_tok": 64|' '#/assumptions/0/card|no card with id "tyo"|nearest id is "toy"'
scen "unknown baseline" 's|"baseline": "naive"|"baseline": "nave"|' '#/baseline|"nave"|expected|"naive"'
scen "two arms with one name" 's|"name": "naive"|"name": "shared"|' '#/arms/1|"shared"'
scen "term assumed twice" 's|^    {"term".*|&, &|' '#/assumptions/1|"host_step_s"|twice'
scen "lockstep with too few slots" 's|"batching": "serial"|"batching": "lockstep"|' '#/arms/1/slots_n|found 2 slots|K = 4|needs a slot for each'
bad "show of an unknown card" 'no card with id "tyo"|nearest id is "toy"' show --rates rates tyo
bad "missing folder of cards" 'no-such-folder|No such file' project --rates no-such-folder base.json

mkdir cycle two lost
edit rates/toy.json cycle/a.json 's|"id": "toy"|"id": "a", "extends": "b"|'
edit rates/toy.json cycle/b.json 's|"id": "toy"|"id": "b", "extends": "a"|'
edit rates/toy.json cycle/self.json 's|"id": "toy"|"id": "self", "extends": "self"|'
bad "cyclic extends" 'cycle/b.json#/extends|cyclic' check --rates cycle cycle/a.json
bad "cyclic extends by reference" '.json#/extends|cyclic' show --rates cycle a
bad "card extends itself" 'cycle/self.json#/extends|cyclic' check --rates cycle cycle/self.json
edit rates/toy.json lost/toy.json 's|"id": "toy"|"id": "toy", "extends": "parnet"|'
edit rates/toy.json lost/parent.json 's|"id": "toy"|"id": "parent"|'
bad "extends an unknown card" 'lost/toy.json#/extends|no card with id "parnet"|nearest id is "parent"' check --rates lost lost/toy.json
edit rates/toy.json lost/child.json 's|"id": "toy"|"id": "child", "extends": 3|'
bad "extends a number" 'lost/child.json#/extends|found the number 3|expected a string' check --rates lost lost/child.json
edit rates/toy.json lost/broken.json 's|"id": "toy"|"id": "broken"|; s|"quant"|"qant"|'
printf '{"schema": "ratecast.rate-card/1", "id": "heir", "extends": "broken"}\n' >lost/heir.json
bad "fault in a parent" 'lost/broken.json#/qant|unknown key|"quant"' check --rates lost lost/heir.json
cp rates/toy.json two/one.json
cp rates/toy.json two/other.json
bad "two cards with one id" 'two/other.json|two/one.json|"toy"' project --rates two base.json
RATECAST_RATES=two bad "two cards with one id, by environment" 'two/other.json|two/one.json|"toy"' project base.json
printf '{"schema": "ratecast.rate-card/1", "id": "heir", "extends": "toy"}\n' >heir.json
bad "extends one of two" 'heir.json#/extends|two/other.json|two/one.json|"toy"' check --rates two heir.json

# ---- files ----

: >empty.json
printf ' \n\n' >blank.json
printf '{"schema": "ratecast.scenario/1", "id": "\377\376"}\n' >latin.json
printf '{"schema": "ratecast.scenario/1", "id": "\300\257"}\n' >overlong.json
printf '\357\273\277{}\n' >bom.json
printf '{"schema": "a\000b"}\n' >nul.json
head -c 300 base.json >truncated.json
{ cat base.json; echo 'trailing'; } >trailing.json
{ cat base.json; cat base.json; } >double.json
sed 's|"P": 64,|"P": 64|' base.json >comma.json
awk 'BEGIN { for (i = 0; i < 10000; i++) printf "["; print "" }' >deep.json
mkdir folder.json
for command in check project; do
    bad "empty file ($command)" 'empty.json:1:1|empty|expected' "$command" --rates rates empty.json
    bad "blank file ($command)" 'blank.json:1:1|empty|expected' "$command" --rates rates blank.json
    bad "directory ($command)" 'folder.json|is a directory|expected a file' "$command" --rates rates folder.json
    bad "missing file ($command)" 'missing.json|No such file' "$command" --rates rates missing.json
    bad "invalid UTF-8 ($command)" 'latin.json:1:42|invalid UTF-8|expected' "$command" --rates rates latin.json
    bad "overlong UTF-8 ($command)" 'overlong.json:1:42|invalid UTF-8|expected' "$command" --rates rates overlong.json
    bad "byte order mark ($command)" 'bom.json:1:1|byte order mark|expected' "$command" --rates rates bom.json
    bad "NUL byte ($command)" 'nul.json:1:|NUL|expected' "$command" --rates rates nul.json
    bad "truncated file ($command)" 'truncated.json:14:|expected' "$command" --rates rates truncated.json
    bad "trailing garbage ($command)" 'trailing.json:26:1|found|expected' "$command" --rates rates trailing.json
    bad "two values ($command)" 'double.json:26:1|expected' "$command" --rates rates double.json
    bad "missing comma ($command)" 'comma.json:11:|expected' "$command" --rates rates comma.json
    bad "100,000 brackets ($command)" 'deep.json:1:33|32 levels' "$command" --rates rates deep.json
done
bad "missing card file (show)" 'rates/none.json|No such file' show --rates rates rates/none.json
"$RATECAST" project --rates rates - <truncated.json >out 2>err
code=$?
refused "truncated standard input" '<stdin>:'
sed 's|"K": 4|"K": 0|' base.json | "$RATECAST" project --rates rates - >out 2>err
code=$?
refused "fault on standard input" '<stdin>#/workload/K|found 0|from 1 to 10000'
run check --rates rates base.json bad.json missing.json rates/toy.json
if [ "$code" -eq 2 ] && [ "$(grep -c ': ok' out)" -eq 2 ] && [ "$(wc -l <err)" -eq 2 ]; then pass
else fail "check of four files" "exit code $code, expected 2, two files ok and two messages"
fi

# ---- cards that cannot answer ----

ship=$REPO/rates
edit base.json thin.json 's|"toy-model"|"SmolLM2-135M"|; s|"card": "toy"|"card": "smollm2-135m-m3pro-fak-cpu"|'
bad "prefill-only card" 'smollm2-135m-m3pro-fak-cpu|no decode point|measure `llama-batched-bench|decode_tok_s' \
    project --rates "$ship" thin.json
edit base.json thin.json 's|"toy-model"|"Qwen3.8-27B"|; s|"card": "toy"|"card": "qwen3.8-27b-q4_k_m-m3pro-llamacpp"|'
sed 's|^    {"term".*|    {"term": "decode_tok_s", "value": 7, "gain_per_seq_frac": 0.2, "provenance": "assumed", "reason": "a test"}|' \
    thin.json >thin2.json
bad "decode-only card" 'qwen3.8-27b-q4_k_m-m3pro-llamacpp|no prefill point|measure `llama-bench|prefill_tok_s' \
    project --rates "$ship" thin2.json
bad "decode without context" 'qwen3.8-27b-q4_k_m-m3pro-llamacpp|context|measure `llama-batched-bench|decode_context_s_per_tok' \
    project --rates "$ship" thin.json
mkdir thin
edit rates/toy.json thin/toy.json '/"batch_n": 4/d; s|"step_s": 0.024},|"step_s": 0.024}|'
bad "one batch size, four agents" 'toy|one batch size|"shared"|4 sequences|measure `llama-batched-bench|decode_gain_card' \
    project --rates thin base.json
good "one batch size, one agent" project --rates thin base.json --set workload.K=1 --set arms.naive.slots_n=1
good "one batch size, one agent, in a budget" project --rates thin base.json --set workload.K=1 \
    --set arms.naive.slots_n=1 --set memory_budget_bytes=1100000000
good "one batch size, serial" project --rates thin base.json --arm naive
edit rates/toy.json thin/toy.json '/"context_tok": 4096/d; s|"step_s": 0.03},|"step_s": 0.03}|'
bad "one context" 'toy|one context only|measure|decode_context_s_per_tok' project --rates thin base.json
edit rates/toy.json thin/toy.json '/"n_prompt_tok": 512/d; s|"s": 0.064},|"s": 0.064}|'
bad "one prefill length" 'toy|one length|measure|prefill_context_s_per_tok2' project --rates thin base.json
edit rates/toy.json thin/toy.json '/"weights_bytes"/d'
bad "card without weights" 'toy|weights_bytes' project --rates thin base.json
edit rates/toy.json thin/toy.json '/"kv_heads"/d'
bad "card without KV shape" 'toy|kv_heads|kv_bytes_per_tok' project --rates thin base.json
edit rates/toy.json thin/toy.json '/"n_prompt_tok"/d; /"batch_n"/d'
bad "card without points" 'thin/toy.json#|no prefill and no decode point|expected at least one' check thin/toy.json

claims=$REPO/scenarios/published/head_to_head_20k.json
cp "$claims" claims.json
cp "$claims" scenarios/claims.json
cp "$claims" scenarios/published/claims.json
said='#/arms/0/card|qwen3.8-27b-ud-q2_k_xl-m3pro|claim|scenarios/published/'
bad "claim-only card elsewhere" "claims.json$said" project --rates "$ship" claims.json
bad "claim-only card beside published/" "scenarios/claims.json$said" check --rates "$ship" scenarios/claims.json
good "claim-only card in published/" project --rates "$ship" scenarios/published/claims.json
"$RATECAST" project --rates "$ship" - <"$claims" >out 2>err
code=$?
refused "claim-only card on standard input" "<stdin>$said"
bad "claim-only card on the command line" 'qwen3.8-27b-ud-q2_k_xl-m3pro|claim|scenarios/published/' \
    project --rates "$ship" --card qwen3.8-27b-ud-q2_k_xl-m3pro

# ---- time beyond the clock ----

edit rates/toy.json thin/toy.json 's|"step_s": 0.0[0-9]*|"tok_s": 1e-11|'
bad "decode beyond 2^62 ns" 'shared|2^62 ns|expected less' project --rates thin base.json
edit rates/toy.json thin/toy.json 's|"s": [0-9.]*|"tok_s": 1e-9|; s|"samples_s": .*\]|"tok_s": 1e-9|'
bad "prefill beyond 2^62 ns" 'shared|2^62 ns|expected less' project --rates thin base.json
bad "prefill assumed beyond 2^62 ns" 'shared|2^62 ns|expected less' \
    project --rates rates base.json --set assumptions.host_step_s.term=prefill_tok_s --set assumptions.0.value=1e-12
bad "waiting beyond 2^62 ns" 'shared|2^62 ns|expected less' \
    project --rates rates base.json --set workload.tool_latency_s=1e7 --set workload.H=1000 --set workload.K=1
bad "memory beyond 2^63 bytes" '2^63' project --rates rates base.json --set assumptions.0.term=kv_bytes_per_tok \
    --set assumptions.0.value=9000000000000000 --set workload.P=100000000

# ---- the command line ----

bad "unknown arm" '--arm|"sharde"|nearest is "shared"' project --rates rates base.json --arm sharde
bad "arm unlike any" '--arm|"zzzzzzzzzz"|shared naive' project --rates rates base.json --arm zzzzzzzzzz
bad "--set of an unknown key" '#/workload/Q|unknown key "Q"' project --rates rates base.json --set workload.Q=3
bad "--set of an unknown parent" '--set wrkload.K=3|"wrkload"' project --rates rates base.json --set wrkload.K=3
bad "--set of an unknown arm" '--set arms.nave.slots_n=3|"nave"' project --rates rates base.json --set arms.nave.slots_n=3
bad "--set of an index too large" '--set arms.7.slots_n=3|"7"' project --rates rates base.json --set arms.7.slots_n=3
bad "--set of a negative index" '--set arms.-1.slots_n=3|"-1"' project --rates rates base.json --set arms.-1.slots_n=3
bad "--set below a number" '--set workload.K.x=3|"x"' project --rates rates base.json --set workload.K.x=3
bad "--set without =" '--set workload.K|expected PATH=VALUE' project --rates rates base.json --set workload.K
bad "--set without a path" '--set =3|expected PATH=VALUE' project --rates rates base.json --set =3
bad "--set without a value" '--set workload.K=|found no value behind|PATH=VALUE' project --rates rates base.json --set workload.K=
own='[{"term": "host_step_s", "value": 0, "provenance": "assumed", "reason": "r"}]'
bad "--set of a card that no arm takes" '--set card=nonexistent|changes nothing|arms.NAME.card' \
    project --rates "$REPO/rates" "$REPO/scenarios/head_to_head_4k.json" --set card=nonexistent
bad "--set of a card that one arm takes" 'nonexistent' project --rates "$REPO/rates" "$REPO/scenarios/llama_server_h200.json" --set card=nonexistent
bad "--set of an assumption that every arm makes itself" '--set assumptions.host_step_s.value=1|changes nothing|arms.NAME.assumptions.host_step_s' \
    project --rates rates base.json --set "assumptions=$own" \
    --set "arms.naive.assumptions=$own" --set "arms.shared.assumptions=$own" --set assumptions.host_step_s.value=1
bad "the same, by its number" '--set assumptions.0.value=1|changes nothing' \
    project --rates rates base.json --set "assumptions=$own" \
    --set "arms.naive.assumptions=$own" --set "arms.shared.assumptions=$own" --set assumptions.0.value=1
bad "--set of a broken number" '--set workload.K=3x|"3x" is not JSON' project --rates rates base.json --set workload.K=3x
bad "--set of a broken object" '--set workload={|not JSON' project --rates rates base.json --set 'workload={'
bad "--set of a word for a number" '#/workload/K|found the string "many"' project --rates rates base.json --set workload.K=many
bad "--set over range" '#/workload/K|found 0|from 1 to' project --rates rates base.json --set workload.K=0
bad "--set of no value" '--set|needs a value' project --rates rates base.json --set
bad "-o equal to the scenario" '--output|base.json is an input|expected another file' \
    project --rates rates base.json -o base.json
bad "-o equal to the scenario, by another name" '--output|is an input' project --rates rates base.json -o ./rates/../base.json
bad "-o equal to a card" '--output|rates/toy.json is an input|expected another file' \
    project --rates rates base.json -o rates/toy.json
printf '{"schema": "ratecast.rate-card/1", "id": "heir", "title": "t", "method": "engine", "provenance": "assumed",
 "source": "s", "extends": "toy"}\n' >rates/heir.json
edit base.json heir-base.json 's|"card": "toy"|"card": "heir"|'
cp rates/toy.json toy.before
bad "-o equal to a card that a card extends" '--output|rates/toy.json is an input' \
    project --rates rates heir-base.json -o rates/toy.json
cp toy.before rates/toy.json
bad "show -o equal to the card" '--output|is an input' show --rates rates toy -o rates/toy.json
cp toy.before rates/toy.json
bad "cards -o equal to a card" '--output|is an input' cards --rates rates -o rates/toy.json
cp toy.before rates/toy.json
bad "check -o equal to a file" '--output|is an input' check --rates rates base.json -o base.json
bad "check -o equal to a card of a scenario" '--output|is an input' check --rates rates base.json -o rates/toy.json
cp toy.before rates/toy.json
rm rates/heir.json
bad "-o in a missing folder" 'nowhere/x.json|No such file' project --rates rates base.json -o nowhere/x.json
bad "-o onto a folder" 'empty|directory' project --rates rates base.json -o empty
is "no file is left in a folder" test -z "$(ls empty)"
bad "unknown option" 'project|unknown option --jsn|nearest is --json' project --jsn base.json
bad "unknown option with a value" 'unknown option --agent-count|project' project --agent-count=3 base.json
bad "unknown letter" 'unknown option -x' project -x base.json
bad "option twice" '--card|twice' project --card a --card b
bad "unknown command" 'unknown command "projct"|nearest is "project"' projct base.json
# shellcheck disable=SC2016 # no command
bad "a sweep is no command" 'unknown command "sweep"|`project`|"sweep": {"path": "workload.K"|cache_ab.json' sweep base.json
bad "help of an unknown command" 'unknown command "chek"|nearest is "check"' help chek
bad "two formats" '--json|--csv|exclude each other' project --rates rates base.json --json --csv
bad "two other formats" '--csv|--md|exclude each other' project --rates rates base.json --md --csv
bad "scenario and -K" '--agents|SCENARIO|exclude each other|--set workload.K=8' project --rates rates base.json -K 2
bad "scenario and --card" '--card|SCENARIO|exclude each other' project --rates rates base.json --card toy
bad "two scenarios" '"bad.json"|expected at most 1' project --rates rates base.json bad.json
bad "neither scenario nor card" 'expected SCENARIO or --card' project
bad "check without a file" 'expected FILE' check
bad "show without a card" 'expected CARD' show
bad "cards with an operand" '"toy"|expected' cards toy
bad "-K 0" '/workload/K|found 0|from 1 to 10000' project --rates rates --card toy -K 0
bad "-K word" '/workload/K|found the string "four"|expected a whole number' project --rates rates --card toy -K four
bad "-K -3" '/workload/K|-3|expected a whole number' project --rates rates --card toy -K -3
bad "--turn-shape word" '/workload/turn_shape|"round"|"delta_first"' project --rates rates --card toy --turn-shape round
bad "--card unknown" 'no card with id "tyo"|nearest id is "toy"' project --rates rates --card tyo
run
if [ "$code" -eq 2 ] && [ ! -s out ] && grep -q '^usage: ratecast' err; then pass
else fail "no command" "exit code $code, expected 2 and the usage on stderr"
fi

# A run that fails leaves a good file as it was.
echo "precious" >kept
cp kept kept.before
for spoil in '--set workload.K=0' '--arm none' '--set workload.tool_latency_s=1e7 --set workload.H=1000000 --set workload.K=1'; do
    # shellcheck disable=SC2086 # several words
    bad "failing run with -o ($spoil)" '' project --rates rates base.json -o kept $spoil
    is "the file before $spoil is kept" cmp kept kept.before
done

# ---- what must work ----

export RATECAST_RATES=rates
good "turn_out_tok = 1" project base.json --set workload.turn_out_tok=1
good "turn_out_tok = 1, everywhere" project base.json --set workload.turn_out_tok=1 --set workload.H=1 --set workload.K=1 \
    --set arms.naive.slots_n=1 --json
good "P = 0" project base.json --set workload.P=0
good "P = 1 and no delta" project base.json --set workload.P=1 --set workload.turn_delta_in_tok=0
good "result_after" project base.json --set workload.turn_shape=result_after
edit base.json fine.json 's|"K"|"note": "n", "K"|; s|"name"|"note": "n", "name"|; s|"term"|"note": "n", "term"|; s|"id"|"note": "n", "id"|'
good "notes" check fine.json
edit base.json fine.json 's|"tool_latency_s": 0.5|"start_offsets_s": [0, 1, 2.5, 2.5]|'
good "start offsets" project fine.json
good "memory budget" project base.json --set memory_budget_bytes=1100000000
is "memory budget says how many fit" grep -q '^| largest K' out
edit base.json fine.json 's|"baseline"|"sweep": {"path": "workload.K", "values": [1, 2, 4]}, "baseline"|'
for format in '' --json --csv --md; do
    # shellcheck disable=SC2086 # none or one word
    good "sweep $format" project fine.json $format
done
good "mixed prefill" project base.json --set arms.shared.prefill=mixed --set arms.shared.max_batch_tok=64
good "capacity" project base.json --set arms.naive.context_tok=4096 --set arms.naive.context_scope=total \
    --set arms.naive.kv_layout=unified
good "unknown reuse" project base.json --set arms.shared.prefix_reuse=unknown
good "private tokens" project base.json --set 'workload.private_tok=[0, 1, 2, 3]' --set workload.P=0
good "stagger" project base.json --set workload.stagger_s=0.25
edit base.json fine.json 's|"card": "toy"|"card": "./rates/toy.json"|'
good "card by path" project fine.json
good "command line workload" project --card toy -K 2 -H 2 -P 100 --delta-in 8 --turn-out 4 --turn-shape result_after
good "arms of one" project base.json --arm naive
good "lockstep with a slot for each" project base.json --set arms.naive.batching=lockstep --set arms.naive.slots_n=4
for format in '' --json --csv --md; do
    # shellcheck disable=SC2086 # none or one word
    good "to standard output $format" project base.json $format
    cp out first
    # shellcheck disable=SC2086
    run project base.json $format -o written
    if [ "$code" -eq 0 ] && [ ! -s out ] && cmp -s first written; then pass
    else fail "-o FILE $format" "FILE differs from standard output, or something was printed"
    fi
    # shellcheck disable=SC2086
    "$RATECAST" project - $format <base.json >second 2>err
    is "scenario on standard input $format" cmp first second
    # shellcheck disable=SC2086
    "$RATECAST" project base.json $format >second 2>err
    is "two runs $format" cmp first second
    for zone in UTC America/New_York Pacific/Kiritimati; do
        # shellcheck disable=SC2086
        TZ=$zone "$RATECAST" project base.json $format >second 2>err
        is "TZ=$zone $format" cmp first second
    done
done
is "no temporary file is left" sh -c '! ls | grep "^written\."'

if command -v localedef >/dev/null && localedef -i de_DE -f UTF-8 "$T/locale-de" >/dev/null 2>&1; then
    mkdir locale
    mv locale-de locale/de_DE.UTF-8
    is "the locale is there" test "$(LOCPATH=$T/locale LC_ALL=de_DE.UTF-8 locale decimal_point)" = ,
    for what in 'project base.json' 'project base.json --json' 'project base.json --csv' 'show toy' 'cards' 'check base.json'; do
        # shellcheck disable=SC2086 # several words
        "$RATECAST" $what >first 2>err
        # shellcheck disable=SC2086
        LOCPATH=$T/locale LC_ALL=de_DE.UTF-8 "$RATECAST" $what >second 2>err
        is "German locale: $what" cmp first second
    done
else
    echo "SKIPPED: German locale (localedef cannot make de_DE.UTF-8 here)"
fi

for what in 'project base.json' 'check base.json rates/toy.json' 'show toy' 'cards'; do
    # shellcheck disable=SC2086 # several words
    good "$what --json" $what --json
    if command -v python3 >/dev/null; then is "$what --json is JSON" python3 -m json.tool out
    else echo "SKIPPED: $what --json is JSON (no python3)"
    fi
done

"$RATECAST" project base.json --csv >out 2>err
is "every CSV row has the same fields" awk -F, 'NR == 1 { n = NF } NF != n { bad = 1 } END { exit bad || NR < 10 }' out
if command -v python3 >/dev/null; then
    "$RATECAST" project base.json --csv --set 'arms.naive.name=a, "quoted" name' --set 'baseline=a, "quoted" name' >out 2>err
    is "CSV quotes an arm's name" python3 -c 'import csv, sys
rows = list(csv.reader(open("out", newline="")))
sys.exit(not (len({len(r) for r in rows}) == 1 and rows[0][3] == "a, \"quoted\" name"))'
fi
"$RATECAST" project base.json --md --set 'arms.naive.name=a|b' --set 'baseline=a|b' >out 2>err
is "tables escape a bar in an arm's name" awk '/^\|/ { gsub(/\\\|/, ""); n = gsub(/\|/, ""); if (!m) m = n; if (n != m) bad = 1 } END { exit bad || !m }' out

good "--version" --version
is "--version says ratecast and digits" grep -qx 'ratecast [0-9][0-9.]*' out
good "--help" --help
is "--help lists an example and exit codes" sh -c 'grep -q "^example" out && grep -q "exit codes" out'
for command in $("$RATECAST" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    [ "$command" = help ] && continue
    good "help $command" help "$command"
    is "help $command holds an example" grep -q "^  ratecast $command" out
    cp out first
    good "$command --help" "$command" --help
    is "$command --help is help $command" cmp out first
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
