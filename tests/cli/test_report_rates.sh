#!/bin/sh
# One rate of one card, 10 % up: in the two reports of one scenario exactly the numbers that depend on it differ, in
# tables, in prose and in the data of the pictures. What depends on what is derived in the script, not observed.
# Needs python3; exit code 77 (skipped) without. RATECAST: the program, REPO: the source folder.
set -u
: "${RATECAST:?path of the program}" "${REPO:?path of the repository}"
case $RATECAST in /*) ;; *) RATECAST=$PWD/$RATECAST ;; esac
case $REPO in /*) ;; *) REPO=$PWD/$REPO ;; esac
command -v python3 >/dev/null || { echo "SKIPPED: no python3 here"; exit 77; }

T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' HUP INT TERM
cd "$T" || exit 1
# a stand-in for gnuplot: the pictures are not looked at, their tables are
mkdir fake
# shellcheck disable=SC2016 # the stand-in expands it
printf '#!/bin/sh\necho "<svg></svg>" >"$5"\n' >fake/gnuplot
chmod +x fake/gnuplot
PATH=$T/fake:$PATH
export RATECAST REPO

cat >rates.py <<'END'
import copy, json, os, re, subprocess, sys

REPO, RATECAST = os.environ["REPO"], os.environ["RATECAST"]
passed = failed = 0


def judge(name, ok, why=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {name}: {why}")


# ---- two arms that differ in nothing but the name of their card ----

with open(os.path.join(REPO, "rates/qwen2.5-7b-instruct-q8_0-m3pro.json")) as f:
    CARD = json.load(f)
# One agent, so nobody waits for another's decode. Each prompt part is 2,560 tokens or more, which the card measured:
# shorter ones are priced by a line that begins at a decode step.
SCENARIO = {"schema": "ratecast.scenario/1", "id": "s", "title": "two arms",
            "workload": {"K": 1, "H": 2, "P": 2560, "turn_delta_in_tok": 2560, "turn_out_tok": 64, "turn_shape": "delta_first"},
            "arms": [{"name": "a", "card": "card-a", "prefix_reuse": "per_slot", "batching": "continuous", "reuse_last_token": True},
                     {"name": "b", "card": "card-b", "prefix_reuse": "per_slot", "batching": "continuous", "reuse_last_token": True}],
            "baseline": "b"}

# What each metric is made of. TTFT of a single agent is the prefill of its prompt (the first token comes out of it), ITL
# is decode steps; tokens, memory and the datasheet know no rate.
PREFILL, DECODE = "prefill", "decode"
DEPENDS = {"wall_s": {PREFILL, DECODE}, "effective_tok_s": {PREFILL, DECODE}, "prefill_s": {PREFILL}, "decode_s": {DECODE},
           "ttft_cold_p50_s": {PREFILL}, "ttft_cold_p95_s": {PREFILL}, "ttft_warm_p50_s": {PREFILL},
           "ttft_warm_p95_s": {PREFILL}, "ttft_all_p50_s": {PREFILL}, "ttft_all_p95_s": {PREFILL},
           "itl_p50_s": {DECODE}, "itl_p99_s": {DECODE}, "decode_used_tok_s": {DECODE}, "decode_mean_tok_s": {DECODE}}
NEVER = ["other_s", "idle_s", "queue_wait_p50_s", "queue_wait_p95_s", "prefix_evals", "prefix_tok_computed", "presented_tok",
         "reused_tok", "reused_across_agents_tok", "reused_frac", "computed_tok", "output_tok", "peak_bytes", "weights_bytes",
         "overhead_bytes", "kv_reserved_bytes", "kv_resident_bytes", "recurrent_bytes", "kv_bytes_per_tok", "prefix_kv_bytes",
         "agents_per_gib", "agents_per_gb", "weight_stream_s", "bandwidth_ceiling_tok_s", "turn_constants_s"]
METRICS = {**DEPENDS, **{m: set() for m in NEVER}}
HEAD_TO_HEAD = {"wall-clock": {PREFILL, DECODE}, "effective output": {PREFILL, DECODE}, "TTFT cold p50": {PREFILL},
                "TTFT cold p95": {PREFILL}, "TTFT warm p50": {PREFILL}, "TTFT warm p95": {PREFILL}, "ITL p50": {DECODE},
                "ITL p99": {DECODE}, "device prefill": {PREFILL}, "device decode": {DECODE},
                "wall-clock 90 % by card scatter": {PREFILL, DECODE}}
CONTRAST = {"a: decode of 1 sequence at 2,048 tokens of context": {DECODE}, "a: prefill of one prompt of 5,120 tokens": {PREFILL},
            "a: prefill, mean over the session": {PREFILL}, "a: wall-clock": {PREFILL, DECODE},
            "a: effective output": {PREFILL, DECODE}, "a: TTFT cold p50": {PREFILL}, "a: TTFT warm p50": {PREFILL}}
TTFT = {PREFILL}
STACK = {"wall_s": {PREFILL, DECODE}, "prefill_s": {PREFILL}, "decode_s": {DECODE}, "lo_s": {PREFILL, DECODE},
         "hi_s": {PREFILL, DECODE}, "speedup": {PREFILL, DECODE}}

with open("template.md", "w") as f:
    f.write("# {{title}}\n\n{{session}}\n\n## Prose\n\n")
    for arm in "ab":
        for m in METRICS:
            f.write(f"- {{{{lit:{arm} {m}}}}} is {{{{run/{arm}.{m}:.9}}}}\n")
    f.write("- ratio wall_s is {{run/b.wall_s / run/a.wall_s:.9}}\n- difference tokens is {{run/a.presented_tok - run/a.reused_tok}}\n")
    f.write("- card decode is {{card card-a decode 1:.3}}\n- card prefill is {{card card-a prefill 5120:.3}}\n")
    f.write("- other card decode is {{card card-b decode 1:.3}}\n- agents is {{run.K}}\n\n")
    f.write("## Head to head\n\n{{table}}\n\n## Contrast\n\n{{contrast}}\n\n## TTFT\n\n{{ttft}}\n\n## Memory\n\n{{memory}}\n\n"
            "## Notes\n\n{{notes}}\n\n{{unmodeled}}\n\n## Inputs\n\n{{inputs}}\n\n## Why\n\n{{explain}}\n")
with open("s.json", "w") as f:
    json.dump(SCENARIO, f)


def card(name, change=None):
    c = copy.deepcopy(CARD)
    c["id"] = name
    if change:
        change(c)
    with open(f"rates/{name}.json", "w") as f:
        json.dump(c, f)


def report(change):
    os.makedirs("rates", exist_ok=True)
    card("card-a", change)
    card("card-b")
    r = subprocess.run([RATECAST, "report", "s.json", "--template", "template.md", "--rates", "rates", "-o", "out"],
                       capture_output=True, text=True)
    judge("report: exit 0", r.returncode == 0, r.stderr)
    files = {}
    for name in os.listdir("out"):
        with open(os.path.join("out", name), encoding="utf-8") as f:
            files[name] = f.read()
    return files


def sections(md):
    parts = re.split(r"^## (.*)\n", md, flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2]))}


def cells(line, sep="|"):
    return [c.strip() for c in line.strip(sep).split(sep)]


def rows(text):
    return [cells(line) for line in text.splitlines() if line.startswith("|")]


def same_but(what, before, after, allowed):
    """Both lists of rows alike but for the (row, column) of which `allowed` says that it must differ."""
    judge(f"{what}: as many rows", len(before) == len(after) and before, (len(before), len(after)))
    for a, b in zip(before, after):
        for i, (x, y) in enumerate(zip(a, b)):
            must = allowed(a, i)
            judge(f"{what}, {a[0]}, column {i}", (x != y) == must, f"{x} and {y}, expected {'another' if must else 'the same'}")


def compare(changed, before, after):
    md, now = sections(before["report.md"]), sections(after["report.md"])
    value = re.compile(r"^- (.*?) is (.*)$", re.M)
    prose, prose_now = value.findall(md["Prose"]), value.findall(now["Prose"])
    must = {f"a {m}" for m, on in METRICS.items() if changed in on} | {"ratio wall_s", f"card {changed}"}
    judge(f"{changed}: every value is there", len(prose) == 2 * len(METRICS) + 6 == len(prose_now), len(prose))
    moved = {n for (n, x), (_, y) in zip(prose, prose_now) if x != y}
    judge(f"{changed}: values that change", moved == must, f"too many {moved - must}, too few {must - moved}")

    head = rows(md["Head to head"])
    a_column = head[0].index("a")
    ratio = next(i for i, c in enumerate(head[0]) if " vs " in c)
    same_but(f"{changed}, head to head", head, rows(now["Head to head"]),
             lambda row, i: i in (a_column, ratio) and row[i] != "" and changed in HEAD_TO_HEAD.get(row[0], ()))
    contrast = rows(md["Contrast"])
    # the measured cell of a rate is the card's: at the one context it has, and of a prompt as long as the first one
    same_but(f"{changed}, contrast", contrast, rows(now["Contrast"]),
             lambda row, i: changed in CONTRAST.get(row[0], ()) and (i == 2 or (i == 1 and (" decode of " in row[0] or " one prompt " in row[0]))))
    ttft = rows(md["TTFT"])
    same_but(f"{changed}, TTFT", ttft, rows(now["TTFT"]),
             lambda row, i: row[0] == "a" and changed in TTFT and 3 <= i <= 6 and "queue" not in row[1])
    for name in ("", "Memory", "Notes"):
        judge(f"{changed}: section '{name}' is the same", md[name] == now[name])
    same_but(f"{changed}, inputs", rows(md["Inputs"]), rows(now["Inputs"]), lambda row, i: row[1] == "card-a" and i == 2)
    judge(f"{changed}: the explanation differs", md["Why"] != now["Why"])

    tsv = [line.split("\t") for line in before["wall.tsv"].splitlines()]
    names = tsv[1]
    same_but(f"{changed}, wall.tsv", tsv, [line.split("\t") for line in after["wall.tsv"].splitlines()],
             lambda row, i: row[0] == "a" and row[i] != "" and changed in STACK.get(names[i], ()))
    spans = [[line.split("\t") for line in f["timeline.tsv"].splitlines()[2:]] for f in (before, after)]
    for arm in "ab":
        x, y = ([r for r in s if r[0] == arm] for s in spans)
        judge(f"{changed}, timeline.tsv: rows of {arm}", len(x) == len(y) > 0)
        judge(f"{changed}, timeline.tsv: {arm}", (x != y) == (arm == "a"))

        def lengths(part, kind):
            return [round(float(r[5]) - float(r[4]), 9) for r in part if r[1] == "device" and r[2] == kind]
        for kind in (PREFILL, DECODE):
            p, q = lengths(x, kind), lengths(y, kind)
            moves = arm == "a" and kind == changed
            judge(f"{changed}, timeline.tsv: {kind} of {arm}", p and (all(u != v for u, v in zip(p, q)) if moves else p == q), (p[:3], q[:3]))

    for (n, x), (_, y) in zip(prose, prose_now):  # the page says what the Markdown says
        for html, v in ((before, x), (after, y)):
            judge(f"{changed}: page, {n}", f"{n} is <span class=\"number" in html["index.html"] and
                  re.search(re.escape(n) + r" is <span class=\"number [a-z]+\" title=\"[^\"]*\">" + re.escape(v) + "</span>", html["index.html"]), v)
    return dict(prose), dict(prose_now)


def faster(points, key):
    def change(c):
        for p in c[points]:
            if key(p):
                p["tok_s"] = round(p["tok_s"] * 1.1, 6)
    return change


before = report(None)
judge("the same card, the same report", report(None) == before)
old, new = compare(DECODE, before, report(faster("decode", lambda p: p["batch_n"] == 1)))
# Every step of a lone agent is that rate's: 1.1 times as fast where it was measured (at 2,048 tokens of context); at 2,560
# and more the part for the context stays, so a little less.
ratio = float(old["a decode_s"]) / float(new["a decode_s"])
judge("decode: nearly 1.1 times as fast", 1.07 < ratio <= 1.1, ratio)
old, new = compare(PREFILL, before, report(faster("prefill", lambda p: p.get("n_prompt_tok") == 5120)))
judge("prefill: faster, by less than the one point of several", float(old["a prefill_s"]) > float(new["a prefill_s"]) > float(old["a prefill_s"]) / 1.1)

print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
END
python3 rates.py
