#!/usr/bin/env python3
"""Write the rate cards of the witnessed llama.cpp runs from the raw tool outputs.

usage: h200_cards.py RAW_DIR OUT_DIR

RAW_DIR holds the stdout of llama-bench (-o jsonl) and llama-batched-bench
(--output-format jsonl), one object a line, in the files named in CARDS below.
One card per model and KV layout is written to OUT_DIR.  Every line of every
listed file becomes points: a llama-bench line gives one, a llama-batched-bench
line gives two (prefill and decode).  Nothing is averaged or left out.

The output depends on the input only: points are sorted, numbers carry 12
significant digits, and each card is written beside its place and renamed.

exit: 0 written, 2 bad usage or input that does not fit the table below.
"""
import json
import os
import sys

BUILD = "d32676d"
N_BATCH = 2048
N_UBATCH = 512

RUNS = "witnessed runs (llama.cpp %s on an H200, November 2026)" % BUILD
RUNS_CPU = ("witnessed runs (llama.cpp %s on 2 virtual EPYC cores, November 2026; "
            "taken with the H200 runs)" % BUILD)
TOOLS = "llama-bench (3 repetitions a cell) and llama-batched-bench (1 a cell)"

# n_embd and vocab only serve to price an untied input embedding.
MODELS = {
    "qwen2-7b-like": dict(layers=28, kv_heads=4, head_dim=128, n_embd=3584,
                          vocab=152064, tied=False),
    "qwen2-1.5b-like": dict(layers=28, kv_heads=2, head_dim=128, n_embd=1536,
                            vocab=151936, tied=True),
    "qwen2-60m-like": dict(layers=8, kv_heads=2, head_dim=64, n_embd=512,
                           vocab=32000, tied=True),
}

NOTE_SPLIT = ("shared_prompt points come from llama-batched-bench -pps: one prompt is prefilled and copied to "
              "every sequence. With split KV each sequence holds its own copy, so these are not shared cells.")
NOTE_UNIFIED = ("The llama-bench cells run one sequence and hold for both KV layouts: the split card has them too. "
                "shared_prompt points come from llama-batched-bench -pps: with unified KV the prompt's cells "
                "exist once and all sequences read them.")
NOTE_BB = (" llama-batched-bench runs each cell once, so its prefill points can include the cost of a shape's "
           "first use (several ms), which no warm-sample rule can remove from a single sample; "
           "the warm samples of the llama-bench points do not.")
NOTE_CPU = "A virtual machine with two cores: expect several percent of noise."

# id, title, model, KV layout, compute threads (CPU cards), files, note
CARDS = [
    ("qwen2-7b-like-q8_0-h200-split", "Qwen2 7B shape, Q8_0, H200, split KV",
     "qwen2-7b-like", "split", None,
     ["7b_lb_pp", "7b_lb_pp_depth", "7b_lb_tg_depth", "7b_lb_pp_ub2048",
      "7b_bb", "7b_bb_8192", "7b_bb_pps"], NOTE_SPLIT + NOTE_BB),
    ("qwen2-7b-like-q8_0-h200-unified", "Qwen2 7B shape, Q8_0, H200, unified KV",
     "qwen2-7b-like", "unified", None,
     ["7b_lb_pp", "7b_lb_pp_depth", "7b_lb_tg_depth", "7b_lb_pp_ub2048",
      "7b_bb_kvu", "7b_bb_pps_kvu"], NOTE_UNIFIED + NOTE_BB),
    ("qwen2-1.5b-like-q8_0-h200-split", "Qwen2 1.5B shape, Q8_0, H200, split KV",
     "qwen2-1.5b-like", "split", None,
     ["15b_lb_pp", "15b_lb_pp_depth", "15b_lb_tg_depth", "15b_bb"], NOTE_BB.strip()),
    ("qwen2-1.5b-like-q8_0-h200-unified", "Qwen2 1.5B shape, Q8_0, H200, unified KV",
     "qwen2-1.5b-like", "unified", None,
     ["15b_lb_pp", "15b_lb_pp_depth", "15b_lb_tg_depth", "15b_bb_pps_kvu"],
     NOTE_UNIFIED + NOTE_BB),
    ("qwen2-60m-like-q8_0-cpu-t1", "Qwen2 60M shape, Q8_0, CPU, 1 compute thread",
     "qwen2-60m-like", "split", 1,
     ["cpu60m_t1_lb_pp", "cpu60m_t1_lb_pp_depth", "cpu60m_t1_lb_tg_depth", "cpu60m_t1_bb"],
     NOTE_CPU),
    ("qwen2-60m-like-q8_0-cpu-t2", "Qwen2 60M shape, Q8_0, CPU, 2 compute threads",
     "qwen2-60m-like", "split", 2,
     ["cpu60m_t2_lb_pp", "cpu60m_t2_lb_pp_depth", "cpu60m_t2_lb_tg_depth", "cpu60m_t2_bb"],
     NOTE_CPU),
]


def refuse(text):
    sys.stderr.write("h200_cards.py: %s\n" % text)
    sys.exit(2)


def need(ok, where, text):
    if not ok:
        refuse("%s: %s" % (where, text))


def sig12(value):
    return float("%.12g" % value)


def read_lines(raw_dir, name):
    """Yield (place, object) for each line of a raw file; place is 'file:line'."""
    path = os.path.join(raw_dir, name + ".jsonl")
    try:
        with open(path, encoding="utf-8") as handle:
            lines = handle.read().splitlines()
    except OSError as err:
        refuse("%s: %s" % (path, err.strerror))
    need(lines, path, "empty")
    for number, line in enumerate(lines, 1):
        place = "%s.jsonl:%d" % (name, number)
        try:
            yield place, json.loads(line)
        except ValueError:
            refuse("%s: not JSON" % place)


def bench_point(cell, place, model, threads, facts):
    """One llama-bench line -> ('prefill' or 'decode', point)."""
    need(cell["build_commit"] == BUILD, place, "another build")
    need(cell["model_filename"] == model + ".gguf", place, "another model")
    need(cell["n_batch"] == N_BATCH and cell["flash_attn"] == 1, place, "other settings")
    need(cell["type_k"] == "f16" and cell["type_v"] == "f16", place, "KV is not f16")
    need(threads is None or cell["n_threads"] == threads, place, "other thread count")
    facts.add((cell["model_size"], cell["model_n_params"]))
    pp, tg, depth, samples = (cell["n_prompt"], cell["n_gen"], cell["n_depth"],
                              cell["samples_ns"])
    need((pp == 0) != (tg == 0), place, "mixes prompt and generation")
    if tg:
        need(tg % 2 == 0, place, "odd n_gen: context_tok would not be an integer")
        return "decode", {"batch_n": 1, "context_tok": depth + tg // 2,
                          "samples_s": [sig12(ns / 1e9 / tg) for ns in samples],
                          "source": place}
    point = {"n_prompt_tok": pp}
    if depth:
        point["depth_tok"] = depth
    point["samples_s"] = [sig12(ns / 1e9) for ns in samples]
    if cell["n_ubatch"] != N_UBATCH:
        point["n_ubatch"] = cell["n_ubatch"]
    point["source"] = place
    return "prefill", point


def batched_points(cell, place, threads):
    """One llama-batched-bench line -> its prefill point and its decode point."""
    need(cell["n_batch"] == N_BATCH and cell["n_ubatch"] == N_UBATCH
         and cell["flash_attn"] == 1, place, "other settings")
    need(threads is None or cell["n_threads"] == threads, place, "other thread count")
    pp, tg, pl = cell["pp"], cell["tg"], cell["pl"]
    need(tg % 2 == 0, place, "odd tg: context_tok would not be an integer")
    shared = bool(cell["is_pp_shared"])
    prefill = {"n_prompt_tok": pp}
    if not shared and pl != 1:
        prefill["batch_n"] = pl
    prefill["samples_s"] = [sig12(cell["t_pp"])]
    decode = {"batch_n": pl, "context_tok": pp + tg // 2,
              "samples_s": [sig12(cell["t_tg"] / tg)]}
    for point in (prefill, decode):
        if shared:
            point["shared_prompt"] = True
        point["source"] = place
    return prefill, decode


def place_key(point):
    name, line = point["source"].rsplit(":", 1)
    return name, int(line)


def prefill_key(point):
    return (point["n_prompt_tok"], point.get("depth_tok", 0), point.get("batch_n", 1),
            point.get("n_ubatch", N_UBATCH), point.get("shared_prompt", False)) + place_key(point)


def decode_key(point):
    return (point["batch_n"], point["context_tok"],
            point.get("shared_prompt", False)) + place_key(point)


def h200_hardware():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hardware.json")
    with open(path, encoding="utf-8") as handle:
        devices = json.load(handle)["devices"]
    entry = [d for d in devices if d["chip"] == "NVIDIA H200 SXM"]
    need(len(entry) == 1, path, "needs exactly one entry for NVIDIA H200 SXM")
    entry = entry[0]
    return {"id": "gpu-h200", "chip": entry["chip"],
            "mem_bw_bytes_s": round(entry["mem_bw_GBps"] * 1e9),
            "fp16_flop_s": round(entry["fp16_TFLOPS"] * 1e12),
            "memory_bytes": round(entry["max_memory_GB"] * 1e9),
            "source": entry["source"]}


def build_card(raw_dir, card_id, title, model, layout, threads, names, note):
    shape = MODELS[model]
    prefill, decode, facts, cells = [], [], set(), [0, 0]
    for name in names:
        for place, cell in read_lines(raw_dir, name):
            try:
                if "samples_ns" in cell:
                    cells[0] += 1
                    kind, point = bench_point(cell, place, model, threads, facts)
                    (decode if kind == "decode" else prefill).append(point)
                else:
                    cells[1] += 1
                    first, second = batched_points(cell, place, threads)
                    prefill.append(first)
                    decode.append(second)
            except KeyError as err:
                refuse("%s: no field %s" % (place, err))
    if layout == "unified":  # llama-bench runs one sequence in a KV cache of its own
        for point in decode:
            if "_lb_" in point["source"]:
                point["excluded"] = "one sequence without unified KV: another attention kernel"
    need(len(facts) == 1, card_id, "model size or parameter count differs between files")
    need(len(prefill) + len(decode) == cells[0] + 2 * cells[1], card_id, "lost a cell")
    model_size, params = facts.pop()
    prefill.sort(key=prefill_key)
    decode.sort(key=decode_key)

    on_host = 0 if shape["tied"] else shape["vocab"] * shape["n_embd"] * 34 // 32
    if shape["tied"]:
        weights_source = ("model_size printed by llama-bench; the input embedding is tied to the output "
                          "and counted once, on the device")
        host_source = "tied input embedding: no part of the weights is counted on the host"
    else:
        weights_source = ("model_size printed by llama-bench (%d) less the input embedding, "
                          "which stays on the host" % model_size)
        host_source = ("input embedding, %d x %d elements in Q8_0 (34 bytes per 32)"
                       % (shape["vocab"], shape["n_embd"]))
    card = {
        "schema": "ratecast.rate-card/1",
        "id": card_id,
        "title": title,
        "note": note,
        "method": "engine",
        "provenance": "witnessed",
        "source": "%s: %s" % (RUNS if threads is None else RUNS_CPU, TOOLS),
        "model": model,
        "quant": "Q8_0",
        "architecture": "qwen2 (dense, grouped-query attention), random weights",
        "params": params,
        "weights_bytes": model_size - on_host,
        "weights_host_bytes": on_host,
        "layers": shape["layers"],
        "full_attention_layers": shape["layers"],
        "kv_heads": shape["kv_heads"],
        "head_dim": shape["head_dim"],
        "kv_element_bytes": 2,
        "field_provenance": {
            "weights_bytes": {"provenance": "derived", "source": weights_source},
            "weights_host_bytes": {"provenance": "derived", "source": host_source},
        },
        "engine": {"name": "llama.cpp", "build": BUILD, "n_batch": N_BATCH, "n_ubatch": N_UBATCH,
                   "type_k": "f16", "type_v": "f16", "kv_layout": layout, "flash_attention": True},
    }
    if threads is None:
        card["hardware"] = h200_hardware()
        card["host"] = {"cpu": "16 virtual Intel Xeon cores"}
    else:
        card["hardware"] = {"id": "cpu-2core", "chip": "2 virtual EPYC cores"}
        card["host"] = {"cpu": "AMD EPYC, 2 virtual cores", "threads_n": threads}
    card["prefill"] = prefill
    card["decode"] = decode
    return card, cells


def to_text(card):
    """JSON with one top-level field, one field_provenance entry or one point per line."""
    rows = []
    for key, value in card.items():
        if isinstance(value, list):
            inner = ",\n".join("    " + json.dumps(item) for item in value)
            text = "[\n%s\n  ]" % inner
        elif key == "field_provenance":
            inner = ",\n".join("    %s: %s" % (json.dumps(name), json.dumps(item))
                               for name, item in value.items())
            text = "{\n%s\n  }" % inner
        else:
            text = json.dumps(value)
        rows.append("  %s: %s" % (json.dumps(key), text))
    return "{\n%s\n}\n" % ",\n".join(rows)


def write_beside(path, text):
    beside = path + ".new"
    with open(beside, "w", encoding="utf-8", newline="\n") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(beside, path)


def keep_host_terms(card, path):
    """Terms that `ratecast fit` wrote into the card that is made again stay, in front of the points."""
    if not os.path.exists(path):
        return card
    with open(path, encoding="utf-8") as handle:
        old = json.load(handle)
    if "host_terms" not in old:
        return card
    kept = {}
    for key, value in card.items():
        if key == "prefill":
            kept["host_terms"] = old["host_terms"]
        kept[key] = value
    return kept


def main(argv):
    if len(argv) != 3 or not os.path.isdir(argv[1]) or not os.path.isdir(argv[2]):
        refuse("usage: h200_cards.py RAW_DIR OUT_DIR (two existing folders)")
    built = [build_card(argv[1], *row) for row in CARDS]
    for card, cells in built:
        path = os.path.join(argv[2], card["id"] + ".json")
        write_beside(path, to_text(keep_host_terms(card, path)))
        print("%-34s %3d llama-bench + %3d batched-bench cells -> %3d prefill + %3d decode points"
              % (card["id"], cells[0], cells[1], len(card["prefill"]), len(card["decode"])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
