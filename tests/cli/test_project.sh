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

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
