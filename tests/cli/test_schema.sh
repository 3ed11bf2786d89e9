#!/bin/sh
# The JSON Schemas against what is shipped and printed, and against the loaders: a file that one of them refuses must
# not pass the other. Needs python3 with jsonschema; exit code 77 (skipped) without.
#
# RATECAST: the program, REPO: the source folder.
set -u
: "${RATECAST:?path of the program}" "${REPO:?path of the repository}"
case $RATECAST in /*) ;; *) RATECAST=$PWD/$RATECAST ;; esac
case $REPO in /*) ;; *) REPO=$PWD/$REPO ;; esac

# The system's python3 first: it is the one that a package of jsonschema belongs to.
python=
for p in /usr/bin/python3 python3; do
    "$p" -W ignore -c 'import jsonschema' 2>/dev/null && { python=$p; break; }
done
if [ -z "$python" ]; then
    echo "SKIPPED: python3 with jsonschema is not here (package python3-jsonschema)"
    exit 77
fi

T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' HUP INT TERM
cd "$T" || exit 1
export RATECAST REPO RATECAST_RATES="$REPO/rates"

cat >schemas.py <<'END'
import copy, decimal, glob, json, os, subprocess, sys
import jsonschema

REPO, RATECAST = os.environ["REPO"], os.environ["RATECAST"]
passed = failed = 0


def judge(name, ok, why=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {name}: {why}")


def schema(path):
    with open(os.path.join(REPO, path)) as f:
        s = json.load(f)
    jsonschema.Draft7Validator.check_schema(s)
    return jsonschema.Draft7Validator(s)


def complaint(validator, doc):
    e = jsonschema.exceptions.best_match(validator.iter_errors(doc))
    return f"/{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" if e else ""


def undescribed(node, path=""):
    """Fields without a description of their own or of what they refer to."""
    for key, sub in node.get("properties", {}).items():
        if "$ref" not in sub and "description" not in sub:
            yield f"{path}/{key}"
        yield from undescribed(sub, f"{path}/{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from undescribed(node[key], f"{path}/{key}")
    for key, sub in node.get("definitions", {}).items():
        yield from undescribed(sub, f"{path}/definitions/{key}")


SCENARIO = schema("scenarios/scenario.schema.json")
RESULT = schema("reports/result.schema.json")
CARD = schema("rates/rate-card.schema.json")
WITNESS = schema("calib/witness.schema.json")
VALIDATE = schema("reports/validate.schema.json")
EXPLAIN = schema("reports/explain.schema.json")
ROLLUP = schema("reports/rollup.schema.json")
REPORT = schema("reports/report.schema.json")
for name, v in (("scenario", SCENARIO), ("result", RESULT), ("rate-card", CARD), ("witness", WITNESS), ("validate", VALIDATE),
                ("explain", EXPLAIN), ("rollup", ROLLUP), ("report", REPORT)):
    judge(f"{name}.schema.json describes every field", not list(undescribed(v.schema)), list(undescribed(v.schema)))

# ---- shipped files ----

def shipped(pattern, schema_id):
    found = []
    for path in sorted(glob.glob(os.path.join(REPO, pattern))):
        with open(path) as f:
            doc = json.load(f)
        if doc.get("schema") == schema_id:
            found.append((path, doc))
    return found


cards = shipped("rates/*.json", "ratecast.rate-card/1")
scenarios = shipped("scenarios/*.json", "ratecast.scenario/1") + shipped("scenarios/published/*.json", "ratecast.scenario/1")
judge("there are cards and scenarios", cards and scenarios, f"{len(cards)} cards, {len(scenarios)} scenarios")
for path, doc in cards:
    judge(os.path.relpath(path, REPO), not complaint(CARD, doc), complaint(CARD, doc))
    judge("file is named for its id", os.path.basename(path) == doc["id"] + ".json", path)
for path, doc in scenarios:
    judge(os.path.relpath(path, REPO), not complaint(SCENARIO, doc), complaint(SCENARIO, doc))
for path, doc in shipped("reports/*/*.json", "ratecast.report/1"):
    judge(os.path.relpath(path, REPO), not complaint(REPORT, doc), complaint(REPORT, doc))

# ---- witnessed runs: those of the repository, and the damaged copy of them where it is at hand ----

shared = os.path.join(os.environ.get("RATECAST_SHARED", os.path.join(REPO, "../shared")), "witness/llamacpp")
for folder in [*sorted(glob.glob(os.path.join(REPO, "calib/witnessed/*/"))), shared]:
    lines = []
    for path in [os.path.join(folder, "runs.jsonl"), *sorted(glob.glob(os.path.join(folder, "sessions/*.jsonl")))]:
        if os.path.exists(path):
            with open(path, "rb") as f:  # NUL bytes: a damaged copy
                lines += [(path, line) for line in f.read().replace(b"\0", b"").splitlines()]
    if folder == shared and not lines:
        print("SKIPPED: no damaged copy here (set RATECAST_SHARED to the shared folder)")
        continue
    bad = [f"{path}: {why}" for path, line in lines if (why := complaint(WITNESS, json.loads(line)))]
    judge(f"{len(lines)} lines of {folder}", lines and not bad, bad[:1])

# ---- results ----

def run(*args):
    return subprocess.run([RATECAST, *args], capture_output=True, text=True)


FILE = os.path.join(REPO, "scenarios/head_to_head_4k.json")
SERVER = {"name": "server", "engine": "llama-server", "prefix_reuse": "per_slot", "batching": "continuous",
          "kv_layout": "split", "warm": "restored"}
ENGINE = {"schema": "ratecast.scenario/1", "id": "engine", "title": "llama-server beside the general policies",
          "card": "qwen2-7b-like-q8_0-h200-split",
          "workload": {"K": 3, "H": 2, "P": 500, "turn_delta_in_tok": 64, "turn_out_tok": 16, "turn_shape": "delta_first"},
          "arms": [SERVER, {"name": "general", "prefix_reuse": "per_slot", "batching": "continuous"}]}
with open("engine.json", "w") as f:
    json.dump(ENGINE, f)
runs = [[path] for path, _ in scenarios]
runs += [
    [FILE, "--set", "memory_budget_bytes=25769803776"],
    [FILE, "--set", "memory_budget_bytes=1000000"],
    [FILE, "--set", "workload.H=1"],
    [FILE, "--set", "workload.turn_out_tok=1"],
    [FILE, "--set", "workload.P=0", "--set", "workload.stagger_s=1.5", "--set", "workload.tool_latency_s=2"],
    [FILE, "--arm", "llama.cpp"],
    [FILE, "--set", "arms.0.batching=serial"],
    ["engine.json"],
    ["engine.json", "--set", "workload.client_order=one_after_another", "--set", "arms.0.n_batch=1024", "--set", "arms.0.n_ubatch=256"],
    ["--card", "qwen2-7b-like-q8_0-h200-split", "-K", "3", "-H", "2", "-P", "500"],
    ["--card", "qwen2-7b-like-q8_0-h200-split", "-K", "40", "-H", "2", "-P", "30000"],
]
for args in runs:
    name = "project --json " + " ".join(args).replace(REPO + "/", "")
    r = run("project", "--json", *args)
    try:
        why = complaint(RESULT, json.loads(r.stdout))
    except ValueError as e:
        why = f"{e}; {r.stderr.strip()}"
    judge(name, r.returncode == 0 and not why, why or f"exit code {r.returncode}")

# ---- a validate run over two runs ----

os.makedirs("witness/sessions")
RUN = {"schema": "ratecast.witness/1", "machine": "gpu-h200", "use": "score",
       "config": {"model": "qwen2-7b-like", "arm": "slot-isolated", "K": 1, "H": 2, "P": 96, "din": 32, "out": 3},
       "server_args": ["llama-server", "-c", "4096", "--parallel", "1", "-no-kvu"]}


def turn(number, cached, sent, first, gap):
    times = [first + gap * i for i in range(3)]
    return {"run_id": "with-turns", "agent": 0, "turn": number, "prompt_tokens": cached + (128 if number == 1 else 33),
            "cached_tokens": cached, "new_prompt_tokens": 128 if number == 1 else 33, "out_tokens": 3, "t_send_s": sent,
            "t_first_s": times[0], "t_last_s": times[2], "itl_ms": [1e3 * gap] * 2}


lines = [dict(RUN, run_id="with-turns"),
         dict(RUN, run_id="summary-only", wall_s=0.07, itl_p50_ms=4.5, gpu_mem_before_server_mib=600, gpu_mem_peak_mib=9000,
              ttft_s={"cold": {"n": 1, "p50": 0.02, "p95": 0.02}, "warm": {"n": 1, "p50": 0.018, "p95": 0.018}})]
turns = [turn(1, 0, 0.0, 0.021, 0.0045), turn(2, 130, 0.032, 0.05, 0.0045)]
for path, rows in (("witness/runs.jsonl", lines), ("witness/sessions/one.jsonl", turns)):
    with open(path, "w") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    judge(path, not any(complaint(WITNESS, row) for row in rows), "not ratecast.witness/1")
for options, included in (([], 1), (["--summaries"], 2)):
    r = run("validate", "witness", "--json", "--card", "qwen2-7b-like-q8_0-h200-split", *options)
    try:
        doc = json.loads(r.stdout)
        why = complaint(VALIDATE, doc)
    except ValueError as e:
        doc, why = {"runs": [], "excluded": []}, f"{e}; {r.stderr.strip()}"
    name = " ".join(["validate --json", *options])
    judge(name, r.returncode == 0 and not why, why or f"exit code {r.returncode}")
    judge(f"{name}: {included} of two runs", (len(doc["runs"]), len(doc["excluded"])) == (included, 2 - included), doc)
r = run("validate", "witness", "--card", "qwen2-7b-like-q8_0-h200-split", "--json", "--use", "calibrate")
judge("validate --json of no run", r.returncode == 0 and not complaint(VALIDATE, json.loads(r.stdout)), r.stdout[:200] + r.stderr)

# ---- explain: its schema, and its sums in exact decimals ----

def explained(*args):
    name = "explain --json " + " ".join(args).replace(REPO + "/", "")
    r = run("explain", "--json", *args)
    try:
        doc = json.loads(r.stdout, parse_float=decimal.Decimal, parse_int=decimal.Decimal)
        why = complaint(EXPLAIN, json.loads(r.stdout))
    except ValueError as e:
        doc, why = {"links": []}, f"{e}; {r.stderr.strip()}"
    judge(name, r.returncode == 0 and not why and doc["links"], why or f"exit code {r.returncode}")
    for i, link in enumerate(doc["links"]):
        for side in "arm", "baseline":
            whole = link["to"][side]["wall_s"] - link["from"][side]["wall_s"]
            for key in "change_s", "share_s":
                got = sum(step[side][key] for step in link["steps"])
                judge(f"{name}: {key} of {side} {i}", got == whole, f"{got}, expected {whole}")
            fracs = [step[side]["share_frac"] for step in link["steps"] if "share_frac" in step[side]]
            judge(f"{name}: fractions of {side} {i}", abs(sum(fracs) - (whole != 0)) < 1e-9, fracs)
        whole = link["to"]["speedup"] - link["from"]["speedup"]
        for key in "change", "share":
            got = sum(step["speedup"][key] for step in link["steps"])
            judge(f"{name}: {key} of speedup {i}", abs(got - whole) < 1e-9, f"{got}, expected {whole}")
    return doc["links"]


PUBLISHED = os.path.join(REPO, "scenarios/published")
chain = explained(f"{PUBLISHED}/legacy_4k.json", "--against", f"{PUBLISHED}/head_to_head_4k.json", "--against", FILE)
# 1732.5 - (4 x 4096 / 65 + 80 x 0.021 + 5120 / (7.38 x 1.45) + 6 x 4096 / 65 + 600) and 412.5 - (4096 / 65 + 80 x 0.012 +
# 5120 / (7.61 x 2.05) + 1.6), which the document leaves open
for side, unexplained in ("baseline", 22.21), ("arm", 18.73):
    got = chain[0]["from"][side]["unexplained_s"]
    judge(f"residual of {side}", abs(float(got) - unexplained) < 0.005, got)
judge("the chain is one", chain[0]["to"] == chain[1]["from"] and len(chain) == 2, "")
explained(FILE, "--against", FILE)
explained(FILE)
explained(os.path.join(REPO, "scenarios/llama_server_h200.json"))
explained(f"{PUBLISHED}/legacy_4k.json", "--order", "decode,card", "--set", "workload.K=3")
explained(f"{PUBLISHED}/head_to_head_20k.json", "--against", os.path.join(REPO, "scenarios/head_to_head_20k.json"))

# ---- roll-ups of ledgers ----

ROW = {"schema": "fak-cache-value-ledger/1", "date": "2026-09-03", "session_type": "run", "provider": "fak",
       "mechanism": "kv_prefix_reuse", "context": "c", "turns": 10, "prompt_tokens": 69632, "reused_tokens": 61440,
       "reuse_ratio": 0.88234}
MODELED = dict(ROW, provenance="modeled")
LEDGERS = {  # name: rows
    "the document's row": [ROW],
    "no row": [],
    "modeled": [MODELED],
    "no prompt token": [dict(ROW, prompt_tokens=0, reused_tokens=0, reuse_ratio=0)],
    "weeks": [ROW, ROW, MODELED, dict(ROW, date="2020-12-31", stats=dict(ROW, turns=9)), dict(ROW, turns=1), dict(ROW, turns=0)],
    "many warnings": [ROW] * 300,
}
for name, rows in LEDGERS.items():
    with open("ledger.jsonl", "w") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    r = run("ledger", "fold", "ledger.jsonl", "--json")
    try:
        doc = json.loads(r.stdout)
        why = complaint(ROLLUP, doc)
    except ValueError as e:
        doc, why = {"rows": {}}, f"{e}; {r.stderr.strip()}"
    judge(f"ledger fold --json: {name}", r.returncode == 0 and not why, why or f"exit code {r.returncode}")
    counts = doc["rows"]
    parts = sum(counts.get(k, 0) for k in ("counted", "not_measured", "single_turn", "zero_turns", "duplicate"))
    judge(f"ledger fold --json: {name}, rows", counts.get("read") == len(rows) == parts, counts)

# ---- agreement ----

def changed(doc, path, value):
    doc = copy.deepcopy(doc)
    *parents, last = path
    node = doc
    for p in parents:
        node = node[p]
    if value is DELETE:
        del node[last]
    elif isinstance(node, list) and last == len(node):
        node.append(value)
    else:
        node[last] = value
    return doc


DELETE = object()
with open(FILE) as f:
    scenario = json.load(f)
card = next(d for p, d in cards if d["id"] == "qwen2.5-7b-instruct-q8_0-m3pro")
last_assumption = len(scenario["assumptions"])


def assumed(term, **fields):
    return {"term": term, "provenance": "assumed", "reason": "r", **fields}


HOST = {"sample_s": 0.0004, "client_gap_s": 0.002, "provenance": "derived", "source": "s"}

REPORTED = {"schema": "ratecast.report/1", "id": "r", "title": "t",
            "runs": [{"name": "h", "file": "scenarios/head_to_head_4k.json", "set": ["workload.K=2"]}, {"name": "ab", "file": "scenarios/cache_ab.json"}],
            "claims": ["scenarios/claims/head_to_head_4k.json"], "figures": "head-to-head",
            "explain": [{"name": "why", "scenarios": ["scenarios/head_to_head_4k.json"]}],
            "plots": [{"name": "p", "kind": "timeline", "of": "h", "from_s": 1, "to_s": 2.5}]}
PLOT = {"name": "p", "kind": "stack", "of": "h"}

PRINTED = {"source": "s", "decimals": 1, "walls": [{"arm": "llama.cpp", "wall_s": 732.2, "note": "n"}]}

CASES = [  # validator, good file, path, value, accepted?
    (SCENARIO, scenario, ["note"], "a note", True),
    (SCENARIO, scenario, ["note"], 5, False),
    (SCENARIO, scenario, ["titel"], "x", False),
    (SCENARIO, scenario, ["schema"], "ratecast.scenario/2", False),
    (SCENARIO, scenario, ["model"], DELETE, True),
    (SCENARIO, scenario, ["workload", "K"], 1, True),
    (SCENARIO, scenario, ["workload", "K"], 4.0, True),
    (SCENARIO, scenario, ["workload", "K"], 4.5, False),
    (SCENARIO, scenario, ["workload", "K"], 0, False),
    (SCENARIO, scenario, ["workload", "K"], 100001, False),
    (SCENARIO, scenario, ["workload", "K"], "4", False),
    (SCENARIO, scenario, ["workload", "P"], 0, True),
    (SCENARIO, scenario, ["workload", "turn_out_tok"], 0, False),
    (SCENARIO, scenario, ["workload", "turn_shape"], DELETE, False),
    (SCENARIO, scenario, ["workload", "turn_shape"], "result_first", False),
    (SCENARIO, scenario, ["workload", "start_offsets_s"], [0, 0.5, 1, 1], True),
    (SCENARIO, scenario, ["workload", "start_offsets_s"], [0, -0.5, 1, 1], False),
    (SCENARIO, scenario, ["workload"], dict(scenario["workload"], P=0, turn_delta_in_tok=0), False),
    (SCENARIO, scenario, ["workload"], dict(scenario["workload"], P=0, turn_shape="result_after"), False),
    (SCENARIO, scenario, ["workload"], dict(scenario["workload"], start_offsets_s=[0, 1, 2, 3], stagger_s=1), False),
    (SCENARIO, scenario, ["workload"], dict(scenario["workload"], P=0, turn_delta_in_tok=0, private_tok=7), True),
    (SCENARIO, scenario, ["workload", "private_tok"], [1, 2, 3, 4], True),
    (SCENARIO, scenario, ["workload", "private_tok"], [1, 2, 3, 4.5], False),
    (SCENARIO, scenario, ["workload", "private_tok"], -1, False),
    (SCENARIO, scenario, ["sweep"], {"path": "workload.K", "values": [1, 2, 4]}, True),
    (SCENARIO, scenario, ["sweep"], {"path": "workload.K", "values": []}, False),
    (SCENARIO, scenario, ["sweep"], {"path": "workload.K"}, False),
    (SCENARIO, scenario, ["sweep"], {"path": "workload.K", "values": ["a"]}, False),
    (SCENARIO, scenario, ["arms"], [], False),
    (SCENARIO, scenario, ["arms"], [dict(scenario["arms"][0], name=f"arm{i}") for i in range(33)], False),
    (SCENARIO, scenario, ["baseline"], "", False),
    (SCENARIO, scenario, ["arms", 0, "card"], DELETE, False),
    (SCENARIO, scenario, ["arms", 0, "first_comers"], "each", True),
    (SCENARIO, scenario, ["arms", 1, "first_comers"], "each", False),
    (SCENARIO, scenario, ["arms", 0, "reuse_last_token"], 1, False),
    (SCENARIO, scenario, ["arms", 0, "block_tok"], 16, True),
    (SCENARIO, scenario, ["arms", 0, "slots_n"], 0, False),
    (SCENARIO, scenario, ["arms", 1, "cold_sights_n"], 2, False),
    (SCENARIO, scenario, ["arms", 0, "cold_sights_n"], 2, True),
    (SCENARIO, scenario, ["arms", 0, "prefill"], "mixed", False),
    (SCENARIO, scenario, ["arms", 0, "max_batch_tok"], 512, False),
    (SCENARIO, scenario, ["arms", 0], dict(scenario["arms"][0], prefill="mixed", max_batch_tok=512), True),
    (SCENARIO, scenario, ["arms", 0], dict(scenario["arms"][0], prefill="mixed", max_batch_tok=512, batching="serial"), False),
    (SCENARIO, scenario, ["arms", 0, "context_scope"], "total", False),
    (SCENARIO, scenario, ["arms", 0], dict(scenario["arms"][0], slots_n=2, context_tok=9000), False),
    (SCENARIO, scenario, ["arms", 0], dict(scenario["arms"][0], slots_n=2, context_tok=9000, context_scope="total"), False),
    (SCENARIO, scenario, ["arms", 0],
     dict(scenario["arms"][0], slots_n=2, context_tok=9000, context_scope="total", kv_layout="unified"), True),
    (SCENARIO, scenario, ["assumptions", 0, "reason"], DELETE, False),
    (SCENARIO, scenario, ["assumptions", 0, "provenance"], "guessed", False),
    (SCENARIO, scenario, ["assumptions", 0, "value"], 0, False),
    (SCENARIO, scenario, ["assumptions", 1, "value"], 3, False),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("host_step_s", value=0), True),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("host_step_s", value=0, provenance="claim"), True),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("host_step_s", value=0, provenance="witnessed"), False),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("host_step_s", value=0, provenance="roofline"), False),
    (SCENARIO, scenario, ["assumptions", last_assumption],
     assumed("host_step_s", value=0, provenance="witnessed", source="a log"), True),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("host_step_s", value=0.1, at="end"), False),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("constant_s", value=1, at="start", per="turn"), True),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("constant_s", value=1, per="day"), False),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("weights_bytes", value=1.5), False),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("kv_excludes_last_output"), True),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("kv_excludes_last_output", value=1), False),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("decode_tok_s", value=7, gain_per_seq_frac=0.5), True),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("decode_tok_s", value=7, gain_per_seq_frac=2), False),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("speed_tok_s", value=7), False),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("queue_wait_in_wall"), True),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("ttft_claim", warm_base_s=0.1, warm_mod=4), True),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("ttft_claim", warm_mod=0), False),
    (SCENARIO, scenario, ["assumptions", last_assumption], assumed("weights_bytes", value=9007199254740992), False),
    (SCENARIO, scenario, ["unmodeled"], ["a", 1], False),
    (SCENARIO, scenario, ["printed"], PRINTED, True),
    (SCENARIO, scenario, ["printed"], dict(PRINTED, decimals=7), False),
    (SCENARIO, scenario, ["printed"], dict(PRINTED, decimals=0.5), False),
    (SCENARIO, scenario, ["printed"], {"source": "s", "walls": PRINTED["walls"]}, False),
    (SCENARIO, scenario, ["printed"], {"decimals": 1, "walls": PRINTED["walls"]}, False),
    (SCENARIO, scenario, ["printed"], dict(PRINTED, source=""), False),
    (SCENARIO, scenario, ["printed"], dict(PRINTED, walls=[]), False),
    (SCENARIO, scenario, ["printed"], dict(PRINTED, provenance="claim"), False),
    (SCENARIO, scenario, ["printed"], dict(PRINTED, walls=[{"arm": "llama.cpp", "wall_s": 0}]), False),
    (SCENARIO, scenario, ["printed"], dict(PRINTED, walls=[{"arm": "llama.cpp", "wall_s": 1e10}]), False),
    (SCENARIO, scenario, ["printed"], dict(PRINTED, walls=[{"arm": "llama.cpp", "wall_s": 1e9}]), True),
    (SCENARIO, scenario, ["printed"], dict(PRINTED, walls=[{"wall_s": 1}]), False),
    (SCENARIO, scenario, ["printed"], dict(PRINTED, walls=[{"arm": "llama.cpp", "wall": 1}]), False),
    (SCENARIO, scenario, ["arms", 0, "kv_layout"], "unstated", False),
    (SCENARIO, scenario, ["arms", 0, "engine"], "general", True),
    (SCENARIO, scenario, ["arms", 0, "n_batch"], 512, False),
    (SCENARIO, scenario, ["workload", "client_order"], "one_after_another", True),
    (SCENARIO, scenario, ["workload", "client_order"], "serial", False),
    (SCENARIO, ENGINE, ["workload", "client_order"], "together", True),
    (SCENARIO, ENGINE, ["arms", 0], dict(SERVER, n_batch=2048, n_ubatch=512), True),
    (SCENARIO, ENGINE, ["arms", 0, "n_ubatch"], 0, False),
    (SCENARIO, ENGINE, ["arms", 0, "engine"], "llama.cpp", False),
    (SCENARIO, ENGINE, ["arms", 0, "engine"], DELETE, False),
    (SCENARIO, ENGINE, ["arms", 0, "kv_layout"], DELETE, False),
    (SCENARIO, ENGINE, ["arms", 0, "batching"], "serial", False),
    (SCENARIO, ENGINE, ["arms", 0, "reuse_last_token"], True, False),
    (SCENARIO, ENGINE, ["arms", 0, "block_tok"], 16, False),
    (SCENARIO, ENGINE, ["arms", 0, "prefill"], "exclusive", False),
    (SCENARIO, ENGINE, ["arms", 0, "warm"], "shared", False),
    (SCENARIO, ENGINE, ["arms", 0, "prefix_reuse"], "shared", False),
    (SCENARIO, ENGINE, ["arms", 0], dict(SERVER, prefix_reuse="shared", warm="shared"), True),
    (SCENARIO, ENGINE, ["arms", 0, "warm"], DELETE, True),
    (CARD, card, ["note"], "a note", True),
    (CARD, card, ["note"], 5, False),
    (CARD, card, ["quantt"], "x", False),
    (CARD, card, ["schema"], "ratecast.rate-card/2", False),
    (CARD, card, ["id"], "Upper Case", False),
    (CARD, card, ["quant"], DELETE, False),
    (CARD, card, ["method"], "guess", False),
    (CARD, card, ["claim_only"], "yes", False),
    (CARD, card, ["weights_bytes"], 0, False),
    (CARD, card, ["architecture"], "", False),
    (CARD, card, ["kv_element_bytes"], 17, False),
    (CARD, card, ["engine", "name"], DELETE, False),
    (CARD, card, ["engine", "kv_layout"], "split", True),
    (CARD, card, ["engine", "kv_layout"], "unstated", False),
    (CARD, card, ["engine", "kv_layout"], "paged", False),
    (CARD, card, ["host"], {"threads_n": 0}, False),
    (CARD, card, ["field_provenance"], {"params": {"provenance": "assumed", "source": "s"}}, True),
    (CARD, card, ["field_provenance"], {"params": {"provenance": "assumed"}}, False),
    (CARD, card, ["field_provenance"], {"decode": {"provenance": "assumed", "source": "s"}}, False),
    (CARD, card, ["host_terms"], {"provenance": "derived", "source": "s"}, True),
    (CARD, card, ["host_terms"], dict(HOST, runs=["a"], stderr_frac={"sample_s": 0.1}), True),
    (CARD, card, ["host_terms"], {"sample_s": 0.001, "source": "s"}, False),
    (CARD, card, ["host_terms"], dict(HOST, sample_s=-1), False),
    (CARD, card, ["host_terms"], dict(HOST, sampel_s=1), False),
    (CARD, card, ["host_terms"], dict(HOST, stderr_frac={"client_gap_s": 0.1}), False),
    (CARD, card, ["host_terms"], dict(HOST, device_overhead_bytes=1.5), False),
    (CARD, card, ["host_terms"], dict(HOST, runs=[1]), False),
    (CARD, card, ["host_terms"], dict(HOST, assumed=[]), True),
    (CARD, card, ["host_terms"], dict(HOST, assumed=["client_gap_s", "slot_save_s_per_tok"]), True),
    (CARD, card, ["host_terms"], dict(HOST, assumed=["sample_s"]), False),
    (CARD, card, ["host_terms"], dict(HOST, assumed="client_gap_s"), False),
    (CARD, card, ["host_terms"], dict(HOST, assumed=[1]), False),
    (CARD, card, ["host_terms"], dict(HOST, repeat_spread_frac=11), False),
    (CARD, card, ["decode"], DELETE, False),
    (CARD, card, ["decode", 0], {"batch_n": 1, "context_tok": 9, "tok_s": 7.5}, True),
    (CARD, card, ["decode", 0], {"batch_n": 1, "context_tok": 9, "step_s": 0.125, "tok_s": 8}, True),
    (CARD, card, ["decode", 0], {"batch_n": 1, "context_tok": 9}, False),
    (CARD, card, ["decode", 0], {"context_tok": 9, "tok_s": 7.5}, False),
    (CARD, card, ["decode", 0], {"batch_n": 1, "tok_s": -7.5}, False),
    (CARD, card, ["decode", 0], {"batch_n": 1, "samples_s": []}, False),
    (CARD, card, ["prefill", 0], {"tok_s": 100}, True),
    (CARD, card, ["prefill", 0], {"s": 100}, False),
    (CARD, card, ["prefill", 0], {"s": 100, "tok_s": 100}, False),
    (CARD, card, ["prefill", 0], {"n_prompt_tok": 64, "samples_s": [1, 0]}, False),
    (REPORT, REPORTED, ["note"], "a note", True),
    (REPORT, REPORTED, ["note"], 5, False),
    (REPORT, REPORTED, ["run"], [], False),
    (REPORT, REPORTED, ["schema"], "ratecast.report/2", False),
    (REPORT, REPORTED, ["id"], DELETE, False),
    (REPORT, REPORTED, ["id"], "", False),
    (REPORT, REPORTED, ["title"], DELETE, False),
    (REPORT, REPORTED, ["title"], 5, False),
    (REPORT, REPORTED, ["template"], "reports/templates/session.md", True),
    (REPORT, REPORTED, ["template"], "", False),
    (REPORT, REPORTED, ["template"], ["reports/templates/session.md"], False),
    (REPORT, REPORTED, ["figures"], DELETE, True),
    (REPORT, REPORTED, ["figures"], "", False),
    (REPORT, REPORTED, ["claims"], DELETE, True),
    (REPORT, REPORTED, ["claims"], [], True),
    (REPORT, REPORTED, ["claims"], "scenarios/claims/head_to_head_4k.json", False),
    (REPORT, REPORTED, ["claims", 0], "", False),
    (REPORT, REPORTED, ["claims", 0], 5, False),
    (REPORT, REPORTED, ["runs", 0, "note"], "a note", True),
    (REPORT, REPORTED, ["runs", 0, "sets"], [], False),
    (REPORT, REPORTED, ["runs", 0, "file"], DELETE, False),
    (REPORT, REPORTED, ["runs", 0, "file"], "", False),
    (REPORT, REPORTED, ["runs", 0, "set"], [], True),
    (REPORT, REPORTED, ["runs", 0, "set"], "workload.K=2", False),
    (REPORT, REPORTED, ["runs", 0, "set"], [5], False),
    (REPORT, REPORTED, ["runs", 1, "name"], "a-B_9", True),
    (REPORT, REPORTED, ["runs", 1, "name"], "a" * 63, True),
    (REPORT, REPORTED, ["runs", 1, "name"], "a" * 64, False),
    (REPORT, REPORTED, ["runs", 1, "name"], "a/b", False),
    (REPORT, REPORTED, ["runs", 1, "name"], "a.b", False),
    (REPORT, REPORTED, ["runs", 1, "name"], "\u00e9", False),
    (REPORT, REPORTED, ["runs", 1, "name"], "", False),
    (REPORT, REPORTED, ["runs", 0], "scenarios/head_to_head_4k.json", False),
    (REPORT, REPORTED, ["explain", 0, "scenarios"], [], False),
    (REPORT, REPORTED, ["explain", 0, "scenarios"], DELETE, False),
    (REPORT, REPORTED, ["explain", 0, "scenarios", 1], "scenarios/head_to_head_20k.json", True),
    (REPORT, REPORTED, ["explain", 0, "scenarios", 0], "", False),
    (REPORT, REPORTED, ["explain", 0, "arm"], "fak-native", True),
    (REPORT, REPORTED, ["explain", 0, "arm"], "", False),
    (REPORT, REPORTED, ["explain", 0, "against"], "x", False),
    (REPORT, REPORTED, ["explain", 0, "name"], DELETE, False),
    (REPORT, REPORTED, ["witness"], [], True),
    (REPORT, REPORTED, ["witness"], [{"name": "m", "cards": ["qwen2-7b-like-q8_0-h200-split"]}], False),
    (REPORT, REPORTED, ["witness"], [{"name": "m", "runs": "x", "cards": []}], False),
    (REPORT, REPORTED, ["plots", 0, "to_s"], DELETE, True),
    (REPORT, REPORTED, ["plots", 0, "from_s"], DELETE, True),
    (REPORT, REPORTED, ["plots", 0, "from_s"], -1, False),
    (REPORT, REPORTED, ["plots", 0, "from_s"], "1", False),
    (REPORT, REPORTED, ["plots", 0, "to_s"], 1e10, False),
    (REPORT, REPORTED, ["plots", 0, "kind"], "pie", False),
    (REPORT, REPORTED, ["plots", 0, "kind"], "stack", False),
    (REPORT, REPORTED, ["plots", 0], PLOT, True),
    (REPORT, REPORTED, ["plots", 0], dict(PLOT, from_s=0), False),
    (REPORT, REPORTED, ["plots", 0], dict(PLOT, to_s=0), False),
    (REPORT, REPORTED, ["plots", 0], dict(PLOT, kind="sweep", of="ab"), True),
    (REPORT, REPORTED, ["plots", 0], dict(PLOT, kind="waterfall", of="why"), True),
    (REPORT, REPORTED, ["plots", 0], dict(PLOT, kind="card", of="qwen2.5-7b-instruct-q8_0-m3pro"), True),
    (REPORT, REPORTED, ["plots", 0, "of"], DELETE, False),
    (REPORT, REPORTED, ["plots", 0, "of"], "", False),
    (REPORT, REPORTED, ["plots", 0, "width"], 5, False),
    (REPORT, REPORTED, ["plots"], [dict(PLOT, name=f"p{i}") for i in range(64)], True),
    (REPORT, REPORTED, ["plots"], [dict(PLOT, name=f"p{i}") for i in range(65)], False),
]
for validator, doc, path, value, accepted in CASES:
    doc = changed(doc, path, value)
    what = "scenario" if validator is SCENARIO else "card" if validator is CARD else "report"
    shown = "absent" if value is DELETE else json.dumps(value)[:70]
    with open("case.json", "w") as f:
        json.dump(doc, f)
    by_schema = not complaint(validator, doc)
    by_check = run("check", "case.json")
    name = f"{what} /{'/'.join(map(str, path))} {shown}"
    judge(name + " (schema)", by_schema == accepted, complaint(validator, doc) or "accepted, expected a complaint")
    judge(name + " (check)", by_check.returncode == (0 if accepted else 2),
          f"exit code {by_check.returncode}: {by_check.stderr.strip() or 'accepted, expected a complaint'}")

print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
END
"$python" -W ignore schemas.py
