"""Checks a recorded session against what the stand-in server saw.

usage: check_session.py RUNS_DIR RUN_ID LOG prefill_ms token_ms [no_ids]
"""
import json
import sys

d, run_id, log_path, prefill_ms, token_ms = sys.argv[1:6]
no_ids = "no_ids" in sys.argv
slack = 1e-3  # the server's clock ticks where it sleeps, the client's where bytes arrive
run = [r for r in map(json.loads, open(d + "/runs.jsonl")) if r["run_id"] == run_id]
assert len(run) == 1, run
run, c = run[0], run[0]["config"]
turns = {(t["agent"], t["turn"]): t for t in map(json.loads, open("%s/sessions/%s.jsonl" % (d, run_id)))}
asks = [json.loads(line) for line in open(log_path)]
K, H, P, din, out = (c[k] for k in ("K", "H", "P", "din", "out"))
first_new = 0 if c.get("turn_shape") == "result_after" else din  # new tokens of turn 1
assert run["errors"] == [] and run["n_turns"] == K * H and run["out_tokens"] == K * H * out
assert sorted(turns) == [(k, h) for k in range(K) for h in range(1, H + 1)], sorted(turns)
assert len(asks) == K * H + run["warmup_turns_n"]
asks = asks[run["warmup_turns_n"]:]

# whose request is it? the one whose prompt goes on from it
chains = []
for a in sorted(asks, key=lambda a: len(a["ask"]["prompt"])):
    prompt = a["ask"]["prompt"]
    if len(prompt) == P + first_new:
        chains.append([a])
        continue
    kept = [x for x in chains if len(x[-1]["ask"]["prompt"]) + out + din == len(prompt)
            and x[-1]["ask"]["prompt"] == prompt[:len(x[-1]["ask"]["prompt"])]]
    if len(kept) > 1 and not first_new:  # agents that began alike are told apart by their slot
        kept = [x for x in kept if x[-1]["slot"] == a["slot"]]
    assert len(kept) == 1, "the prompt goes on from %d others" % len(kept)
    kept[0].append(a)
assert len(chains) == K and all(len(x) == H for x in chains)
prefixes = {tuple(x[0]["ask"]["prompt"][:P]) for x in chains}
assert len(prefixes) == 1, "one prefix"
privates = [tuple(x[0]["ask"]["prompt"][P:]) for x in chains]
assert len(set(privates)) == (K if first_new else 1), "private first deltas"
deltas = []
for x in chains:
    for before, a in zip(x, x[1:]):
        old, new = before["ask"]["prompt"], a["ask"]["prompt"]
        if not no_ids:
            assert new[len(old):len(old) + out] == before["out"], "generated ids come next"
        deltas.append(tuple(new[len(old) + out:]))
assert len(set(deltas)) == len(deltas), "new ids each turn"
for a in asks:
    ids = a["ask"]["prompt"]
    assert all(isinstance(i, int) and 3 <= i <= c["vocab_hi"] for i in ids), "ids in range"
    assert a["ask"]["stream"] is True and a["ask"]["temperature"] == 0 and a["ask"]["ignore_eos"] is True
    if a["path"] == "/completion":
        assert a["ask"]["n_predict"] == out and a["ask"]["return_tokens"] is True
        assert a["ask"]["cache_prompt"] is c["cache"] and ("id_slot" in a["ask"]) is c["pin"]
    else:
        assert a["ask"]["max_tokens"] == a["ask"]["min_tokens"] == out and a["ask"]["model"] == "stand-in"
        assert a["ask"]["stream_options"] == {"include_usage": True}
assert len({a["peer"] for a in asks}) == len(asks), "a connection each"

# agents of the record: pinned ones have their slot's number; others are told apart by their times
if c["pin"]:
    chains.sort(key=lambda x: x[0]["ask"]["id_slot"])
    for k, x in enumerate(chains):
        assert all(a["ask"]["id_slot"] == k and a["slot"] == k for a in x), "pinned"
        assert all(turns[k, h]["id_slot"] == k for h in range(1, H + 1))
for k in range(K):
    for h in range(1, H + 1):
        t, before = turns[k, h], turns.get((k, h - 1))
        assert t["prompt_tokens"] == P + first_new + (h - 1) * (din + out)
        assert t["cached_tokens"] + t["new_prompt_tokens"] == t["prompt_tokens"]
        assert t["out_tokens"] == t["out_requested"] == out and len(t["itl_ms"]) == out - 1
        if c["pin"] and c["cache"]:
            # a slot of its own holds all of the prompt before, and what was generated but its last token
            want = 0 if h == 1 else t["prompt_tokens"] - din - (out if no_ids else 1)
            assert t["cached_tokens"] == want, (k, h, t["cached_tokens"], want)
        if not c["cache"]:
            assert t["cached_tokens"] == 0
        first, last = t["t_first_s"] - t["t_send_s"], t["t_last_s"] - t["t_first_s"]
        assert first >= (float(prefill_ms) + float(token_ms)) / 1e3 - slack, first
        # from the request on: a busy client may read the first token late, and those behind it at once
        assert first + last >= (float(prefill_ms) + float(token_ms) * out) / 1e3 - slack and t["t_done_s"] < 60
        assert abs(sum(t["itl_ms"]) - last * 1e3) < 0.01 * out
        if before:
            assert t["t_send_s"] >= before["t_done_s"] + c.get("tool_s", 0) - 1e-6, "tool latency"
        else:
            assert t["t_send_s"] >= k * c.get("stagger_s", 0) - 1e-6, "stagger"
        if h == 1 and c.get("serial") and k:
            assert t["t_send_s"] >= turns[k - 1, H]["t_done_s"], "serial"
assert abs(run["wall_s"] - max(t["t_last_s"] for t in turns.values())) < 2e-6
cold = sorted(turns[k, 1]["t_first_s"] - turns[k, 1]["t_send_s"] for k in range(K))
assert run["ttft_s"]["cold"]["n"] == K and run["ttft_s"]["all"]["n"] == K * H
assert abs(run["ttft_s"]["cold"]["p50"] - cold[(K + 1) // 2 - 1]) < 2e-6, "nearest rank"
