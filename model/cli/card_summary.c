#include "cli/card_summary.h"

#include "calib/curve.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void say_decode(const decode_curve *d, const err *e) {
    if (e->code) {
        fprintf(stderr, "  cannot project decode: %s\n", e->what);
        return;
    }
    fprintf(stderr, "  projects decode: B = %.0f to %.0f, context %lld to %lld tok\n",
            d->batch_n[0], d->batch_n[d->n - 1], (long long)d->context_min_tok,
            (long long)d->context_max_tok);
    if (d->n < 2)
        fprintf(stderr,
                "  cannot project decode of several sequences together: one batch size only "
                "was measured\n");
}

static bool has_depth(const card *c) {
    for (size_t i = 0; i < c->prefill_n; i++)
        if (c->prefill[i].depth_tok > 0) return true;
    return false;
}

static void say_prefill(const card *c, const prefill_curve *p, const err *e) {
    if (e->code) {
        fprintf(stderr, "  cannot project prefill: %s\n", e->what);
        return;
    }
    fprintf(
        stderr, "  projects prefill: from %lld tok, to %lld tok of context (fit within %.1f %%)\n",
        (long long)p->rows_min_tok, (long long)p->context_max_tok, 100 * p->worst_residual_frac);
    if (!has_depth(c))
        fprintf(stderr,
                "  prefill behind a cached prefix is not measured: its attention follows from "
                "long prompts only\n");
}

/* What other engines' own tools would have to measure. */
static void say_other_commands(const card *c, bool batches, bool prefills) {
    static const struct {
        const char *engine, *command;
    } TOOLS[] = {
        {"mlx", "mlx_lm.benchmark --model %s -p 512 -g 128 -b 1 (and -b 2, 4, 8; -p 2048, 8192)"},
        {"ollama",
         "llama-bench and llama-batched-bench on the GGUF of %s: ollama has no batched one"},
    };
    const char *line = "a benchmark of %s at fixed batch sizes and prompt lengths, nothing cached";
    if (batches && prefills) return;
    for (size_t i = 0; i < sizeof TOOLS / sizeof *TOOLS; i++)
        if (strcmp(c->engine.name, TOOLS[i].engine) == 0) line = TOOLS[i].command;
    fputs("  complete it: ", stderr);
    const char *at = strstr(line, "%s");
    fprintf(stderr, "%.*s%s%s\n", (int)(at - line), line, c->model, at + 2);
}

/* One command for each tool whose points are missing, with the settings of the rows there are. */
static void say_commands(const import *in, const card *c, bool batches, bool prefills, bool depth) {
    const import_row *fa = import_stated(in, IMPORT_FLASH_ATTN),
                     *ub = import_stated(in, IMPORT_N_UBATCH);
    const char *flash = fa ? fa->setting[IMPORT_FLASH_ATTN] : "-1";
    const char *batched = strcmp(flash, "1") == 0   ? " -fa on"
                          : strcmp(flash, "0") == 0 ? " -fa off"
                                                    : "";
    const char *bench = strcmp(flash, "1") == 0   ? " -fa 1"
                        : strcmp(flash, "0") == 0 ? " -fa 0"
                                                  : "";
    const char *micro = ub ? ub->setting[IMPORT_N_UBATCH] : "512";
    if (strcmp(c->engine.name, "llama.cpp") != 0) {
        say_other_commands(c, batches, prefills && depth);
        return;
    }
    if (!batches)
        fprintf(stderr,
                "  complete it: llama-batched-bench -m %s.gguf%s -ub %s --output-format jsonl "
                "-c 65536 -npp 512,4096 -ntg 64 -npl 1,2,4,8\n",
                c->model, batched, micro);
    if (!prefills || !depth)
        fprintf(stderr,
                "  complete it: llama-bench -m %s.gguf%s -ub %s -o jsonl -r 3 -n 0 "
                "-p 16,64,256,512,2048 -d 0,4096,8192\n",
                c->model, bench, micro);
}

/* Files that name neither model nor machine are believed to belong to the others: that is said. */
static void say_unstated(const import *in) {
    const import_row *named = import_stated(in, IMPORT_MODEL);
    const char *last = NULL;
    for (size_t i = 0; i < in->rows_n; i++) {
        const import_row *r = &in->rows[i];
        if (r->refused || r->setting[IMPORT_MODEL] || r->file == last) continue;
        last = r->file;
        fprintf(stderr, "  %s names no %s or machine: taken to be of %s\n", r->file,
                r->setting[IMPORT_BUILD] ? "model file" : "model, build",
                named ? named->file : "what the options say");
    }
}

/* Only what is missing is asked for. */
static void say_kv(const card *c) {
    const struct {
        const char *option;
        bool missing;
    } WHAT[] = {{"--layers", c->full_attention_layers == 0},
                {"--kv-heads", c->kv_heads == 0},
                {"--head-dim", c->head_dim == 0},
                {"--kv-type", c->engine.type_k || c->engine.type_v}};
    const char *between = ": ";
    if (card_kv_bytes_per_tok(c) > 0) {
        if (c->kv_prov == PROV_ASSUMED)
            fprintf(stderr, "  the KV types are not stated: f16 is assumed, --kv-type would say\n");
        return;
    }
    fputs("  cannot project anything before the KV bytes of a token are known", stderr);
    for (size_t i = 0; i < sizeof WHAT / sizeof *WHAT; i++) {
        if (!WHAT[i].missing) continue;
        fprintf(stderr, "%s%s", between, WHAT[i].option);
        between = ", ";
    }
    fputs(" would supply them (the shape stands in the model's config.json)\n", stderr);
}

card_abilities card_summary(const import *in, const card *c, arena *mem) {
    decode_curve d = {0};
    prefill_curve p = {0};
    err no_decode = {0}, no_prefill = {0};
    bool decodes = decode_curve_fit(c, -1, mem, &d, &no_decode) == OK;
    bool prefills = prefill_curve_fit(c, decodes ? &d : NULL, -1, mem, &p, &no_prefill) == OK;
    fprintf(stderr, "%s: card %s: %zu prefill and %zu decode points\n", cli_program, c->id,
            c->prefill_n, c->decode_n);
    if (strcmp(c->method, "engine") != 0) say_unstated(in); /* there we ran the tools ourselves */
    say_decode(&d, &no_decode);
    say_prefill(c, &p, &no_prefill);
    if (c->engine.layout == KV_LAYOUT_UNSTATED)
        fprintf(stderr, "  the KV layout is not stated: --kv-layout split or unified\n");
    say_kv(c);
    if (c->weights_bytes == 0)
        fprintf(stderr, "  the weights are not stated, and a projection needs them: "
                        "--weights-bytes would supply them\n");
    if (!c->hardware.id)
        fprintf(stderr, "  the machine has no name: --machine NAME, as sessions for `fit` and "
                        "`validate` name it\n");
    say_commands(in, c, decodes && d.n > 1, prefills, has_depth(c));
    return (card_abilities){.decode = decodes,
                            .batches = decodes && d.n > 1,
                            .prefill = prefills,
                            .kv = card_kv_bytes_per_tok(c) > 0,
                            .weights = c->weights_bytes > 0};
}
