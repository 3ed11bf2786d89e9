#!/usr/bin/env python3
"""Rate cards from public measurements: one table of rates with their sources -> cards.

    python3 public_cards.py RATES.json OUT_DIR

RATES.json is an array of objects, one rate each: chip, model, quant, engine, build, test
("pp512@d4096", "tg32", "batched pp512 B4", "batched tg32 B4@d512"), tok_s, source, and where
known params, size_bytes, stddev, samples (tok/s), t_s, ubatch. A card takes the rows that agree in
chip, model, quant, engine, build and source, and no others. Same input, same bytes. What a row
says twice in different ways (a rate and its time, two rates of one cell) is reported and never
averaged: the rows stay apart, and a row that contradicts itself is kept as excluded.
"""
import json
import os
import re
import sys

# Shapes: layers, layers with KV for every token, KV heads, head size, sliding window (0: none),
# bytes of an element in f16 (a latent cache keeps one entry for K and V, so half of it), source
F16 = 2
SHAPES = {
    "gpt-oss-20b": (24, 12, 8, 64, 128, F16, "config.json of openai/gpt-oss-20b"),
    "gpt-oss-120b": (36, 18, 8, 64, 128, F16, "config.json of openai/gpt-oss-120b"),
    "Qwen3-Coder-30B-A3B-Instruct": (48, 48, 4, 128, 0, F16, "config.json of Qwen/Qwen3-Coder-30B-A3B-Instruct"),
    "Qwen2.5-Coder-7B": (28, 28, 4, 128, 0, F16, "config.json of Qwen/Qwen2.5-Coder-7B"),
    "gemma-3-4b-it-qat": (34, 5, 4, 256, 1024, F16,
                          "config.json of google/gemma-3-4b-it; every sixth layer is global"),
    "GLM-4.7-Flash": (47, 47, 1, 576, 0, F16 / 2,
                      "config.json of zai-org/GLM-4.7-Flash: latent of 512 and 64 rotary elements a layer"),
    "qwen2.5-7b-like": (28, 28, 4, 128, 0, F16, "config.json of Qwen/Qwen2.5-7B"),
    "qwen2.5-32b-like": (64, 64, 8, 128, 0, F16, "config.json of Qwen/Qwen2.5-32B"),
    "Meta-Llama-3-8B": (32, 32, 8, 128, 0, F16, "config.json of meta-llama/Meta-Llama-3-8B"),
    "Llama-2-7B": (32, 32, 32, 128, 0, F16, "config.json of meta-llama/Llama-2-7b-hf"),
}
DENSE, EXPERTS = "dense, grouped-query attention", "mixture of experts"
ARCHITECTURES = {
    "gpt-oss-20b": EXPERTS + ", grouped-query attention, a sliding window in every second layer",
    "gpt-oss-120b": EXPERTS + ", grouped-query attention, a sliding window in every second layer",
    "Qwen3-Coder-30B-A3B-Instruct": EXPERTS + ", grouped-query attention",
    "GLM-4.7-Flash": EXPERTS + ", latent attention",
    "Nemotron-3-Super-120B": EXPERTS + ", Mamba and attention layers",
    "Nemotron-3-Nano-4B": "dense, Mamba and attention layers",
    "Qwen2.5-Coder-7B": "qwen2 (%s)" % DENSE,
    "gemma-3-4b-it-qat": DENSE + ", a sliding window in five of six layers",
    "qwen2.5-7b-like": "qwen2 (%s), random weights" % DENSE,
    "qwen2.5-32b-like": "qwen2 (%s), random weights" % DENSE,
    "Meta-Llama-3-8B": DENSE,
    "Llama-2-7B": "dense, multi-head attention",
}
NO_SHAPE = {
    "Nemotron-3-Super-120B": "layers with Mamba state keep no KV and their number is not stated: no KV shape on the card",
    "Nemotron-3-Nano-4B": "layers with Mamba state keep no KV and their number is not stated: no KV shape on the card",
}
BENCHES = "https://github.com/ggml-org/llama.cpp/blob/master/benches/"
M2_URL, SPARK_URL, NEMOTRON_URL = (BENCHES + "mac-m2-ultra/mac-m2-ultra.md",
                                   BENCHES + "dgx-spark/dgx-spark.md",
                                   BENCHES + "nemotron/nemotron-dgx-spark.md")
APPLE_URL = "https://github.com/ggml-org/llama.cpp/discussions/4167"
CUDA_URL = "https://github.com/ggml-org/llama.cpp/discussions/15013"
LLAMA3_URL = "https://github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference"
STRIX_URL = "https://llm-tracker.info/AMD-Strix-Halo-(Ryzen-AI-Max+-395)-GPU-Performance"
OWN = "measured on an NVIDIA H200 with llama.cpp d32676d, 2026-11-30"

# Chip in the table -> short name in ids, chip of the card, entry of hardware.json or None,
# bytes of memory where the source states them, what to say of the ceilings.
GIB = 1 << 30
LARGER = "the source does not tell its variants apart: ceilings of the larger one, "
CHIPS = {
    "Apple M2 Ultra (192 GB Mac Studio)": ("m2-ultra-192gb", "Apple M2 Ultra", "Apple M2 Ultra (76-core GPU)", 192 * GIB, LARGER),
    "NVIDIA DGX Spark (GB10)": ("gb10", "NVIDIA DGX Spark (GB10)", "NVIDIA DGX Spark (GB10)", 0, ""),
    "NVIDIA H200": ("h200", "NVIDIA H200 SXM", "NVIDIA H200 SXM", 0, ""),
    "Apple M1 Max (32 GPU cores, 64 GB)": ("m1-max-32c", "Apple M1 Max (32-core GPU)", "Apple M1 Max (32-core GPU)", 64 * GIB, ""),
    "Apple M2 Ultra (76 GPU cores, 192 GB)": ("m2-ultra-76c", "Apple M2 Ultra (76-core GPU)", "Apple M2 Ultra (76-core GPU)", 192 * GIB, ""),
    "NVIDIA RTX 4090": ("rtx4090", "NVIDIA RTX 4090", "NVIDIA RTX 4090", 0, ""),
    "NVIDIA RTX 3090": ("rtx3090", "NVIDIA RTX 3090", "NVIDIA RTX 3090", 0, ""),
    "NVIDIA RTX 5090": ("rtx5090", "NVIDIA RTX 5090", "NVIDIA RTX 5090", 0, ""),
    "NVIDIA RTX PRO 6000 Blackwell": ("rtx-pro-6000", "NVIDIA RTX PRO 6000 Blackwell", None, 0, ""),
    "NVIDIA H100 80GB": ("h100", "NVIDIA H100 80GB", "NVIDIA H100 SXM 80GB", 0, LARGER),
    "NVIDIA A100 80GB": ("a100", "NVIDIA A100 80GB", "NVIDIA A100 SXM 80GB", 0, LARGER),
    "AMD Ryzen AI Max+ 395 (Strix Halo, 40 CU)": ("strix-halo", "AMD Ryzen AI Max+ 395 (Strix Halo, Radeon 8060S 40 CU)", "AMD Ryzen AI Max+ 395 (Strix Halo, Radeon 8060S 40 CU)", 0, ""),
    "Apple M3 Pro (18 GPU cores)": ("m3-pro-18c", "Apple M3 Pro (18-core GPU)", "Apple M3 Pro (18-core GPU)", 0, ""),
    "Apple M4 Pro (20 GPU cores)": ("m4-pro-20c", "Apple M4 Pro (20-core GPU)", "Apple M4 Pro (20-core GPU)", 0, ""),
    "Apple M4 Max (40 GPU cores)": ("m4-max-40c", "Apple M4 Max (40-core GPU)", "Apple M4 Max (40-core GPU)", 0, ""),
    "Apple M3 Ultra (80 GPU cores)": ("m3-ultra-80c", "Apple M3 Ultra (80-core GPU)", "Apple M3 Ultra (80-core GPU)", 0, ""),
}

# chip, model in the table, model of the card, quant in the table, source, the model in the id
GGML = (("gpt-oss-20b-GGUF", "gpt-oss-20b", "MXFP4"), ("gpt-oss-120b-GGUF", "gpt-oss-120b", "MXFP4"),
        ("Qwen3-Coder-30B-A3B-Instruct-Q8_0-GGUF", "Qwen3-Coder-30B-A3B-Instruct", "Q8_0"),
        ("Qwen2.5-Coder-7B-Q8_0-GGUF", "Qwen2.5-Coder-7B", "Q8_0"),
        ("gemma-3-4b-it-qat-GGUF", "gemma-3-4b-it-qat", "Q4_0"),
        ("GLM-4.7-Flash-GGUF", "GLM-4.7-Flash", "Q8_0"))
CARDS = (
    [("Apple M2 Ultra (192 GB Mac Studio)", "ggml-org/" + f, m, q, M2_URL) for f, m, q in GGML]
    + [("NVIDIA DGX Spark (GB10)", "ggml-org/" + f, m, q, SPARK_URL) for f, m, q in GGML]
    + [("NVIDIA DGX Spark (GB10)", "ggml-org/Nemotron-3-Super-120B-GGUF", "Nemotron-3-Super-120B", "Q4_K", NEMOTRON_URL),
       ("NVIDIA DGX Spark (GB10)", "ggml-org/Nemotron-3-Nano-4B-GGUF", "Nemotron-3-Nano-4B", "Q8_0", NEMOTRON_URL),
       ("NVIDIA H200", "Qwen2.5-7B shape", "qwen2.5-7b-like", "Q4_K - Medium", OWN),
       ("NVIDIA H200", "Qwen2.5-32B shape", "qwen2.5-32b-like", "Q4_K - Medium", OWN)]
    + [(chip, "LLaMA 3 8B", "Meta-Llama-3-8B", q, LLAMA3_URL)
       for chip, q in (("Apple M1 Max (32 GPU cores, 64 GB)", "Q4_K_M"), ("Apple M1 Max (32 GPU cores, 64 GB)", "F16"),
                       ("Apple M2 Ultra (76 GPU cores, 192 GB)", "Q4_K_M"),
                       ("NVIDIA RTX 4090", "Q4_K_M"), ("NVIDIA RTX 3090", "Q4_K_M"))]
    + [(chip, "Llama 2 7B", "Llama-2-7B", "Q4_0", CUDA_URL)
       for chip in ("NVIDIA RTX PRO 6000 Blackwell", "NVIDIA RTX 5090", "NVIDIA H100 80GB", "NVIDIA A100 80GB")]
    + [("AMD Ryzen AI Max+ 395 (Strix Halo, 40 CU)", "Llama 2 7B", "Llama-2-7B", "Q4_0", STRIX_URL)]
    + [(chip, "LLaMA 7B v2", "Llama-2-7B", "Q8_0", APPLE_URL)
       for chip in ("Apple M3 Pro (18 GPU cores)", "Apple M4 Pro (20 GPU cores)", "Apple M4 Max (40 GPU cores)",
                    "Apple M3 Ultra (80 GPU cores)")]
)

TEST = re.compile(r"(batched )?(pp|tg)([0-9]+)(?: B([0-9]+))?(?:@d([0-9]+))?$")
APART = 0.10  # two rates of one cell further apart than this are a conflict


def refuse(text):
    sys.stderr.write("public_cards.py: %s\n" % text)
    sys.exit(1)


def need(ok, place, what):
    if not ok:
        refuse("%s: %s" % (place, what))


def say(text):
    sys.stderr.write(text + "\n")


def sig12(x):
    return float("%.12g" % x)


def quant_name(quant):
    return {"Q4_K - Medium": "Q4_K_M"}.get(quant, quant)


def short_source(url):
    """What a point calls its source; the card has the whole address."""
    if url == OWN:
        return "llama.cpp d32676d, H200"
    return "/".join(url.rstrip("/").split("/")[-2:]) if "discussions" in url else url.rsplit("/", 1)[1]


def contradicts(row, tokens):
    """A rate and the printed time of the same cell that no rounding of the two reconciles."""
    if "t_s" not in row:
        return False
    half = 0.5 * 10 ** -len(repr(row["t_s"]).partition(".")[2])
    low, high = tokens / (row["t_s"] + half), tokens / max(row["t_s"] - half, 1e-9)
    return not low * 0.999 <= row["tok_s"] <= high * 1.001


def point_of(row, place, url):
    """A row of the table -> ('prefill' or 'decode', point)."""
    m = TEST.match(row["test"])
    need(m, place, "no prefill or decode test: \"%s\"" % row["test"])
    kind, n, batch, depth = m.group(2), int(m.group(3)), int(m.group(4) or 1), int(m.group(5) or 0)
    need(row["batch"] == batch and row["depth"] == depth, place, "batch or depth is not that of the test")
    need(row["tok_s"] > 0, place, "no rate")
    if kind == "pp":
        point, tokens, per = {"n_prompt_tok": n}, n * batch, n
        if depth:
            point["depth_tok"] = depth
        if batch != 1:
            point["batch_n"] = batch
    else:
        need(n % 2 == 0, place, "odd number generated: context_tok would not be an integer")
        point, tokens, per = {"batch_n": batch, "context_tok": depth + n // 2}, n * batch, 1
    if "samples" in row and batch == 1:
        point["samples_s"] = [sig12(per / rate) for rate in row["samples"]]
    else:
        point["tok_s"] = row["tok_s"]
    point["source"] = "%s: %s" % (short_source(url), row["test"])
    if "stddev" in row:
        point["note"] = "standard deviation %s tok/s, as printed" % json.dumps(row["stddev"])
    if contradicts(row, tokens):
        point["excluded"] = "rate and time of the source disagree: %s tok/s, %s s for %d tokens" % (
            row["tok_s"], row["t_s"], tokens)
        say("conflict: %s: %s" % (place, point["excluded"]))
    return ("prefill" if kind == "pp" else "decode"), point


def rate_of(kind, point):
    if "tok_s" in point:
        return point["tok_s"]
    samples = sorted(point["samples_s"])
    tokens = point["n_prompt_tok"] if kind == "prefill" else 1
    return tokens / samples[(len(samples) - 1) // 2]


def cell_key(kind, point):
    if kind == "prefill":
        return point["n_prompt_tok"], point.get("depth_tok", 0), point.get("batch_n", 1)
    return point["batch_n"], point["context_tok"]


def conflicts(card_id, kind, points):
    """Rates of one cell that are far apart: named, never averaged. llama-batched-bench times a cell
    once, with the first use of its shape; against llama-bench's repetitions its row is left out."""
    found = []
    for i, a in enumerate(points):
        for b in points[:i]:
            x, y = rate_of(kind, b), rate_of(kind, a)
            if cell_key(kind, a) != cell_key(kind, b) or abs(x - y) <= APART * min(x, y):
                continue
            found.append("%s %s: %.6g and %.6g tok/s (%s; %s)"
                         % (kind, cell_key(kind, a), x, y, b["source"], a["source"]))
            single = [p for p in (a, b) if "batched" in p["source"]]
            need(len(single) == 1, card_id, "nothing says which rate to prefer: " + found[-1])
            single[0]["excluded"] = ("one timing, %.0f %% from llama-bench's repetitions of the same cell"
                                     % (100 * abs(x - y) / min(x, y)))
    for text in found:
        say("conflict: %s: %s" % (card_id, text))
    return found


def hardware(chip, model, devices):
    """The chip and its ceilings. With experts a step reads and multiplies a part of the weights
    that no field of a card states, so that neither ceiling could be held against it."""
    _, name, entry, memory, words = CHIPS[chip]
    out = {"chip": name}
    sparse = ARCHITECTURES[model].startswith(EXPERTS)
    if entry:
        one = [d for d in devices if d["chip"] == entry]
        need(len(one) == 1, "hardware.json", "needs exactly one entry for " + entry)
        one = one[0]
        if one.get("mem_bw_GBps") and not sparse:
            out["mem_bw_bytes_s"] = round(one["mem_bw_GBps"] * 1e9)
        if one.get("fp16_TFLOPS") and not sparse:
            out["fp16_flop_s"] = round(one["fp16_TFLOPS"] * 1e12)
        if not memory and not entry.startswith("Apple"):  # Apple: the largest that is sold
            memory = round(one["max_memory_GB"] * 1e9)
        out["source"] = "hardware.json, %s%s" % (words, entry)
        if sparse:
            out["source"] = ("memory only: a step uses a part of the experts, which bandwidth and arithmetic "
                             "ceilings cannot be compared with")
    if memory:
        out["memory_bytes"] = memory
    return out


def shape_fields(model):
    """Fields of the KV cache, and where each comes from."""
    layers, full, heads, dim, window, element, source = SHAPES[model]
    fields = {"layers": layers, "full_attention_layers": full, "kv_heads": heads, "head_dim": dim,
              "kv_element_bytes": element}
    origin = {name: {"provenance": "derived", "source": source}
              for name in ("layers", "full_attention_layers", "kv_heads", "head_dim")}
    origin["kv_element_bytes"] = {"provenance": "assumed", "source": "f16, the engine's default; the source names no KV type"}
    if element != F16:
        origin["kv_element_bytes"]["source"] += "; kept once for K and V together (llama.cpp pull request 19067), hence half"
    if window:
        fields["recurrent_state_bytes"] = (layers - full) * window * 2 * heads * dim * 2
        origin["recurrent_state_bytes"] = {
            "provenance": "assumed",
            "source": "%d layers with a window of %d tokens (%s), f16; shorter sequences hold less, the engine "
                      "may hold a micro-batch more" % (layers - full, window, source)}
    return fields, origin


def engine_of(rows, place):
    """Name, build, micro-batch: one of each, or no card."""
    first = rows[0]
    need(all(r.get("ubatch") == first.get("ubatch") for r in rows), place, "several micro-batches")
    backend = first["engine"].partition("llama.cpp")[2].strip(" ,")
    engine = {"name": "llama.cpp"}
    if "build" in first:
        engine["build"] = first["build"]
    if "ubatch" in first:
        engine["n_ubatch"] = first["ubatch"]
    if backend:
        engine["note"] = backend
    return engine, backend


def build_card(spec, table, devices):
    chip, table_model, model, quant, url = spec
    name = quant_name(quant)
    card_id = "%s-%s-%s" % (model.lower(), name.lower(), CHIPS[chip][0])
    same = [r for r in table if (r["chip"], r["model"], r["quant"]) == (chip, table_model, quant)
            and (r["source"] == url or (url == OWN and r["source"].startswith("measured")))]
    need(same, card_id, "no rows")
    for key in ("engine", "build", "source", "params", "size_bytes"):
        need(len({r.get(key) for r in same}) == 1, card_id, "rows differ in " + key)
    engine, backend = engine_of(same, card_id)
    points = {"prefill": [], "decode": []}
    for i, row in enumerate(same):
        kind, point = point_of(row, "%s, row %d" % (card_id, i + 1), url)
        points[kind].append(point)
    notes = []
    for kind in ("prefill", "decode"):
        points[kind].sort(key=lambda p, k=kind: cell_key(k, p) + (p["source"],))
        notes += conflicts(card_id, kind, points[kind])
    words = [] if not notes else ["Two rates for one cell, the single timing kept as excluded: " + "; ".join(notes) + "."]
    words.append("context_tok is depth + half of the tokens generated.")
    if model in NO_SHAPE:
        words.append(NO_SHAPE[model][0].upper() + NO_SHAPE[model][1:] + ".")
    if any("samples" in r for r in same):
        words.append("samples_s of llama-bench are computed from its rates, printed to 0.1 tok/s.")
    if same[0].get("via"):
        words.append("Read from a copy: " + same[0]["via"] + ".")
    where = url if url == OWN else "%s, measured by its authors" % url
    card = {
        "schema": "ratecast.rate-card/1", "id": card_id,
        "title": "%s %s, %s, llama.cpp%s" % (model, name, CHIPS[chip][1], " (%s)" % backend if backend else ""),
        "note": " ".join(words), "method": "import", "provenance": "witnessed", "source": where,
        "model": model, "quant": name, "architecture": ARCHITECTURES[model],
        "params": same[0]["params"], "weights_bytes": same[0]["size_bytes"],
    }
    origin = {
        "params": {"provenance": "derived", "source": "as the source prints it, rounded"},
        "weights_bytes": {"provenance": "derived", "source": "size of the model as llama-bench prints it, rounded; "
                          "the input embedding is counted, which a decode step does not stream"},
    }
    need(("random" in ARCHITECTURES[model]) == bool(same[0].get("synthetic_weights")), card_id, "weights: random or real?")
    if model in SHAPES:
        fields, more = shape_fields(model)
        card.update(fields)
        origin.update(more)
    card.update({"field_provenance": origin, "engine": engine, "hardware": hardware(chip, model, devices)})
    card.update(points)
    return card


def to_text(card):
    """JSON with one top-level field, one field_provenance entry or one point per line."""
    rows = []
    for key, value in card.items():
        if isinstance(value, list):
            text = "[\n%s\n  ]" % ",\n".join("    " + json.dumps(item) for item in value)
        elif key == "field_provenance":
            text = "{\n%s\n  }" % ",\n".join("    %s: %s" % (json.dumps(n), json.dumps(v)) for n, v in value.items())
        else:
            text = json.dumps(value)
        rows.append("  %s: %s" % (json.dumps(key), text))
    return "{\n%s\n}\n" % ",\n".join(rows)


def main(argv):
    if len(argv) != 3 or not os.path.isfile(argv[1]) or not os.path.isdir(argv[2]):
        refuse("usage: public_cards.py RATES.json OUT_DIR (a file and a folder that exist)")
    with open(argv[1], encoding="utf-8") as handle:
        table = json.load(handle)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "hardware.json"), encoding="utf-8") as handle:
        devices = json.load(handle)["devices"]
    cards = [build_card(spec, table, devices) for spec in CARDS]
    need(len({c["id"] for c in cards}) == len(cards), "CARDS", "an id twice")
    for card in cards:
        path = os.path.join(argv[2], card["id"] + ".json")
        with open(path + ".new", "w", encoding="utf-8", newline="\n") as handle:
            handle.write(to_text(card))
        os.replace(path + ".new", path)
        print("%-52s %2d prefill + %2d decode points" % (card["id"], len(card["prefill"]), len(card["decode"])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
