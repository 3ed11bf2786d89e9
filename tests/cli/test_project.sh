#!/bin/sh
# What `ratecast project` says of its own numbers: intervals, prices outside the measured range, what is taken as given.
# RATECAST: the program, REPO: the source folder.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"

scenario() { # FILE CARD WORKLOAD ARMS: the members of the workload and the arms, as JSON
    printf '{"schema":"ratecast.scenario/1","id":"t","title":"t","card":"%s","workload":{%s,"turn_shape":"delta_first"},"arms":[%s]}\n' \
        "$2" "$3" "$4" >"$1"
}
holds() { python3 -c "import json, math
a = {x['name']: x for x in json.load(open('out'))['arms']}
assert $1" 2>>err; }

# ---- an interval is of what varies: not of declared waiting ----

scenario wait.json qwen2-7b-like-q8_0-h200-split '"K":8,"H":30,"P":6000,"turn_delta_in_tok":100,"turn_out_tok":50' \
    '{"name":"gen","prefix_reuse":"shared","batching":"continuous"},
     {"name":"ls","engine":"llama-server","kv_layout":"split","prefix_reuse":"per_slot","batching":"continuous"}'
run project wait.json --json
is "no waiting: an interval" holds "all(x['wall_interval']['lo_s'] < x['wall_s'] < x['wall_interval']['hi_s'] for x in a.values())"
width=$(python3 -c "import json; x = json.load(open('out'))['arms'][1]['wall_interval']; print(x['hi_s'] - x['lo_s'])")
for tool in 10 60 600; do
    run project wait.json --set workload.tool_latency_s=$tool --json
    # the calls of one agent, one behind the other; and no more uncertain than the same session without them
    is "tool latency $tool s: not below the calls" holds "all(x['wall_interval']['lo_s'] >= 29 * $tool for x in a.values())"
    is "tool latency $tool s: as wide as its work" holds "$width / 3 < a['ls']['wall_interval']['hi_s'] - a['ls']['wall_interval']['lo_s'] < $width"
done
# the last agent starts after 4200 s, waits 29 s, and works alone: less is uncertain than where eight work side by side
run project wait.json --set workload.stagger_s=600 --set workload.tool_latency_s=1 --json
is "late starts: not below them" holds "all(x['wall_interval']['lo_s'] >= 4229 for x in a.values())"
is "late starts: as wide as the last agent's work" holds "0 < a['ls']['wall_interval']['hi_s'] - a['ls']['wall_interval']['lo_s'] < $width"

# ---- unified KV: what is scanned against what was measured, not the position alone ----

U=qwen2-7b-like-q8_0-h200-unified
unified='"engine":"llama-server","batching":"continuous","kv_layout":"unified"'
scenario pool.json $U '"K":16,"H":20,"P":4096,"turn_delta_in_tok":128,"turn_out_tok":64' \
    "{\"name\":\"none\",\"prefix_reuse\":\"none\",$unified},{\"name\":\"slot\",\"prefix_reuse\":\"per_slot\",$unified}"
# the deepest prompt on the card, its own tokens included, and the largest pool of a decode step without a shared prompt
set -- "$(python3 -c "import json; c = json.load(open('$REPO/rates/$U.json'))
print(max(p.get('depth_tok', 0) + p['n_prompt_tok'] for p in c['prefill'] if p.get('batch_n', 1) == 1 and not p.get('shared_prompt')),
      max(p['batch_n'] * p['context_tok'] for p in c['decode'] if not p.get('shared_prompt')))")"
prefill=${1% *} decode=${1#* }
run project pool.json --json
# all slots at their ends: the prefix, 20 deltas, 20 outputs but for the last token
for arm in none slot; do
    is "$arm: decode" holds "'decode that scans %d cells of the pool, those of others included (measured: up to $decode)' % (16 * (4096 + 20 * 128 + 20 * 64 - 1)) in a['$arm']['extrapolations']"
    is "$arm: prefill" holds "any(x.startswith('prefill that scans ') and x.endswith('(measured: up to $prefill)') for x in a['$arm']['extrapolations'])"
done
run project pool.json
is "marked" grep -q '^| wall-clock .*†' out
run project pool.json --strict
is "strict: exit 1" test $code -eq 1
run project pool.json --set workload.K=2 --set workload.P=1024 --strict --json
is "a small pool: no mark" holds "not any(x['extrapolations'] for x in a.values())"
is "a small pool: exit 0" test $code -eq 0

# ---- assumed host terms are named, with what they make up ----

S7=qwen2-7b-like-q8_0-h200-split CPU=qwen2-60m-like-q8_0-cpu-t2
restored='{"name":"restored","engine":"llama-server","prefix_reuse":"per_slot","warm":"restored","batching":"continuous","kv_layout":"split"}'
isolated='{"name":"isolated","engine":"llama-server","prefix_reuse":"per_slot","batching":"continuous","kv_layout":"split"}'
# the notes of an arm that speak of such a term, and its class
assumed() { python3 -c "import json
a = {x['name']: x for x in json.load(open('out'))['arms']}['$1']
print('; '.join([a['provenance']] + [n for n in a['notes'] if 'assumed, not measured' in n]))"; }
# one copy saved, seven restored; from the card's own terms
slots() { python3 -c "import json; h = json.load(open('$1'))['host_terms']
print('%.4g' % ($2 * (h['slot_save_s_per_tok'] + ($3 - 1) * h['slot_restore_s_per_tok'])))"; }
scenario host.json $S7 '"K":8,"H":5,"P":6000,"turn_delta_in_tok":100,"turn_out_tok":50' "$restored,$isolated"
run project host.json --json
is "H200, restored" test "$(assumed restored)" = "assumed; saving and restoring slots takes $(slots "$REPO/rates/$S7.json" 6000 8) s, at speeds that are assumed, not measured"
is "H200, isolated: the gap was seen" test "$(assumed isolated)" = modeled
run project host.json --set workload.P=0 --json
is "H200, no prefix to restore" test "$(assumed restored)" = modeled
scenario cpu.json $CPU '"K":2,"H":4,"P":1000,"turn_delta_in_tok":50,"turn_out_tok":20' "$restored,$isolated"
run project cpu.json --json
gap=$(python3 -c "import json; g = json.load(open('$REPO/rates/$CPU.json'))['host_terms']['client_gap_s']; print('%.4g s, %.4g s' % (g, 3 * g))")
gap="the client's gap between two turns is assumed, not measured: $gap over the turns of each agent"
is "CPU, restored" test "$(assumed restored)" = "assumed; saving and restoring slots takes $(slots "$REPO/rates/$CPU.json" 1000 2) s, at speeds that are assumed, not measured; $gap"
is "CPU, isolated" test "$(assumed isolated)" = "modeled; $gap"
run project cpu.json --set workload.H=1 --json
is "CPU, one turn: no gap" test "$(assumed isolated)" = modeled
# a card that measured its slot files says so; the class of its host terms is an input like any other
for change in '"assumed":[]/modeled' '"assumed":["client_gap_s"]/modeled' '"assumed":["slot_save_s_per_tok"]/assumed'; do
    sed "s/\"assumed\":\[[^]]*\]/${change%/*}/" "$REPO/rates/$S7.json" >own.json
    run project host.json --set card=./own.json --json
    is "${change%/*}" test "$(assumed restored | cut -d';' -f1)" = "${change#*/}"
done
sed 's/"assumed":\[[^]]*\],//' "$REPO/rates/$S7.json" >own.json
run project host.json --set card=./own.json --json
is "no list: nobody measured slot files" test "$(assumed restored | cut -d';' -f1)" = assumed
sed '/"host_terms"/s/"provenance":"derived"/"provenance":"assumed"/' "$REPO/rates/$S7.json" >own.json
run project host.json --set card=./own.json --json
is "host terms that are assumed" test "$(assumed isolated)" = assumed

# ---- the arm's KV layout against the card's ----

both() { # ENGINE: an arm of each layout
    for layout in unified split; do
        printf '{"name":"%s","prefix_reuse":"per_slot","batching":"continuous","kv_layout":"%s"%s},' $layout $layout "$1"
    done | sed 's/,$//'
}
foreign='has no price of the cells of others that a decoding sequence scans'
for engine in '' ',"engine":"llama-server"'; do
    scenario layout.json $U '"K":4,"H":3,"P":1000,"turn_delta_in_tok":100,"turn_out_tok":50' "$(both "$engine")"
    run project layout.json --json
    is "unified card$engine: more to scan" holds "a['unified']['busy_s']['decode'] > a['split']['busy_s']['decode']"
    is "unified card$engine: unified has its price" holds "not any('$foreign' in n for n in a['unified']['notes'])"
    is "unified card$engine: split was not measured" holds "any('was measured with unified KV' in n for n in a['split']['notes'])"
    run project layout.json --set card=qwen2-7b-like-q8_0-h200-split --json
    is "split card$engine: unified has no price" holds "any('$foreign' in n and n.endswith('counted as 0') for n in a['unified']['notes'])"
    is "split card$engine: split was measured" holds "not any('KV is' in n for n in a['split']['notes'])"
    run project layout.json --set card=qwen2-7b-like-q8_0-h200-split --set workload.K=1 --json
    is "one agent$engine: there are no others" holds "not any('KV is' in n for x in a.values() for n in x['notes'])"
    # its batches had a shared prompt, so the cells of others cannot be told apart
    run project layout.json --set card=qwen2-1.5b-like-q8_0-h200-unified --json
    is "1.5B unified card$engine: not measured apart" holds "any('(not measured apart): counted as 0' in n for n in a['unified']['notes'])"
done

# ---- a part is no larger than its whole ----

# the card's shortest prompt has 512 tokens: what an iteration of fewer rows takes lies in the hole below it. Of iterations of at
# most 256 rows that is all prefill, however many decode rows share them
scenario hole.json qwen2.5-coder-7b-q8_0-gb10 '"K":8,"H":10,"P":6000,"turn_delta_in_tok":100,"turn_out_tok":50' \
    '{"name":"C","prefix_reuse":"none","batching":"continuous","prefill":"mixed","max_batch_tok":512},
     {"name":"D","prefix_reuse":"per_slot","batching":"continuous","prefill":"mixed","max_batch_tok":256}'
part() { sed -n "s/^- $1: prefill of .* below the shortest measured prompt (512): \([0-9.]*\) s of \([0-9.]*\) s of prefill.*/\1 \2/p" out; }
for rows in 512 256 64; do
    run project hole.json --set arms.C.max_batch_tok=$rows
    is "$rows rows: some of it" awk -v p="$(part C)" 'BEGIN { exit split(p, x, " ") != 2 || x[1] <= 0 || x[1] > x[2] }'
    is "256 rows: all of it" awk -v p="$(part D)" 'BEGIN { exit split(p, x, " ") != 2 || x[1] != x[2] }'
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
