#include "calib/curve.h"
#include "cli/cli.h"
#include "import.h"
#include "table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const opt_spec OPTS[] = {
    {"output", 'o', "CARD", "write all usable rows as a rate card to CARD (- is standard output)",
     false},
    OPT_JSON,
    {"format", 0, "NAME", "read every file as this format instead of finding it by content", false},
    {"formats", 0, NULL, "list the formats", false},
    {"strict", 0, NULL, "exit 1 when there are warnings", false},
    {"kv-layout", 0, "WORD", "split or unified: no output says it (card)", false},
    {"id", 0, "ID", "id of the card (default: name of CARD without .json)", false},
    {"title", 0, "TEXT", "title of the card", false},
    {"source", 0, "TEXT", "who measured, when and where (card)", false},
    {"model-name", 0, "NAME", "model of the card (default: the model file's name)", false},
    {"quant", 0, "NAME", "quantization (default: from the model type)", false},
    {"chip", 0, "NAME", "device (default: gpu_info, else cpu_info)", false},
    {"machine", 0, "NAME",
     "hardware.id: the machine of the sessions that `fit` and `validate` match", false},
    {"weights-bytes", 0, "N", "weights on the device (default: model_size)", false},
    {"layers", 0, "N", "layers of the model", false},
    {"full-attention-layers", 0, "N", "those that keep KV per token (default: all)", false},
    {"kv-heads", 0, "N", "KV heads of a layer", false},
    {"head-dim", 0, "N", "size of a KV head", false},
    OPT_HELP};

/* ---- options ---- */

static int64_t count_option(const opts *o, const char *name, err *e) {
    const char *s = opts_get(o, name);
    if (!s) return 0;
    char *end = NULL;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (errno || end == s || *end || v < 1 || v >= 1LL << 53) {
        char where[64];
        snprintf(where, sizeof where, "--%s", name);
        err_set(e, E_USAGE, where, "found \"%s\", expected a whole number > 0", s);
        return 0;
    }
    return v;
}

/* The loader wants a card's file to be named after its id. */
static const char *id_of_path(const char *path, arena *mem) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base);
    if (strcmp(path, "-") == 0 || n <= 5 || strcmp(base + n - 5, ".json") != 0) return NULL;
    return arena_printf(mem, "%.*s", (int)n - 5, base);
}

static err_code card_options(const opts *o, arena *mem, import_card_options *c, err *e) {
    const char *layout = opts_get(o, "kv-layout"), *path = opts_get(o, "output");
    *c = (import_card_options){.id = opts_get(o, "id"),
                               .title = opts_get(o, "title"),
                               .source = opts_get(o, "source"),
                               .model = opts_get(o, "model-name"),
                               .quant = opts_get(o, "quant"),
                               .chip = opts_get(o, "chip"),
                               .machine = opts_get(o, "machine"),
                               .weights_bytes = count_option(o, "weights-bytes", e),
                               .layers = count_option(o, "layers", e),
                               .full_attention_layers = count_option(o, "full-attention-layers", e),
                               .kv_heads = count_option(o, "kv-heads", e),
                               .head_dim = count_option(o, "head-dim", e)};
    if (!c->id && path) c->id = id_of_path(path, mem);
    if (layout && strcmp(layout, "split") == 0)
        c->layout = KV_LAYOUT_SPLIT;
    else if (layout && strcmp(layout, "unified") == 0)
        c->layout = KV_LAYOUT_UNIFIED;
    else if (layout)
        err_set(e, E_USAGE, "--kv-layout", "found \"%s\", expected split or unified", layout);
    if (path && strcmp(path, "-") == 0 && opts_has(o, "json"))
        err_set(e, E_USAGE, "import", "the card (-o -) and --json both go to standard output");
    return e->code;
}

/* ---- what was read ---- */

enum { SHOWN_MAX = 1000 };

static const char *rate(double v, arena *mem) {
    return isfinite(v) ? arena_printf(mem, "%.2f", v) : NULL;
}

static void as_table(const import *in, arena *mem, buf *out) {
    static const char *const HEAD[] = {"row",       "phase",    "prompt",  "gen",
                                       "depth",     "batch",    "samples", "tok/s",
                                       "± std dev", "per seq.", "card"};
    table *t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    if (!t) return;
    table_left(t, 1);
    table_left(t, 10);
    table_row(t, HEAD);
    for (size_t i = 0; i < in->rows_n && i < SHOWN_MAX; i++) {
        const import_row *r = &in->rows[i];
        const char *row[] = {arena_printf(mem, "%s:%zu", r->file, r->line),
                             IMPORT_PHASES[r->phase],
                             arena_printf(mem, "%lld", (long long)r->n_prompt),
                             arena_printf(mem, "%lld", (long long)r->n_gen),
                             arena_printf(mem, "%lld", (long long)r->depth_tok),
                             arena_printf(mem, "%lld%s", (long long)r->batch_n,
                                          r->shared_prompt ? " (shared prompt)" : ""),
                             r->samples_n ? arena_printf(mem, "%zu", r->samples_n) : NULL,
                             rate(r->tok_s, mem),
                             rate(r->tok_s_std, mem),
                             rate(r->per_seq_tok_s, mem),
                             r->refused ? arena_printf(mem, "no: %s", r->refused) : "yes"};
        table_row(t, row);
    }
    if (in->rows_n > 0) table_markdown(t, out);
    if (in->rows_n > SHOWN_MAX)
        buf_addf(out, "\n... and %zu more rows (--json has them all)\n", in->rows_n - SHOWN_MAX);
}

/* Requests and summaries of runs hold more than rates: one line each. */
static void list_records(const import *in, buf *out) {
    size_t shown = 0, more = 0;
    for (size_t i = 0; i < in->records_n; i++) {
        const import_record *r = &in->records[i];
        if (r->kind == IMPORT_TEST && in->rows_n > 0) continue;
        if (shown == SHOWN_MAX) {
            more++;
            continue;
        }
        if (shown++ == 0) buf_addf(out, "%sRecords, as printed\n\n", in->rows_n ? "\n" : "");
        buf_addf(out, "- %s:%zu, %s:", r->file, r->line, IMPORT_KINDS[r->kind]);
        for (size_t k = 0; k < r->n; k++) {
            buf_addf(out, "%s %s ", k ? "," : "", r->v[k].key);
            if (r->v[k].text)
                buf_add(out, r->v[k].text);
            else if (isfinite(r->v[k].v))
                buf_addf(out, "%.10g", r->v[k].v);
            else
                buf_add(out, "undefined");
        }
        buf_add(out, "\n");
    }
    if (more) buf_addf(out, "\n... and %zu more records (--json has them all)\n", more);
}

static void print_notes(const import_notes *notes, const char *kind) {
    for (size_t i = 0; i < notes->n; i++) {
        const import_note *k = &notes->v[i];
        if (k->line)
            fprintf(stderr, "ratecast: %s:%zu: %s%s\n", k->file, k->line, kind, k->what);
        else
            fprintf(stderr, "ratecast: %s: %s%s\n", k->file, kind, k->what);
    }
    if (notes->more) fprintf(stderr, "ratecast: and %zu more like these\n", notes->more);
}

/* ---- what the card can do ---- */

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
        fprintf(stderr, "  %s names no model, build or machine: taken to be of %s\n", r->file,
                named ? named->file : "what the options say");
    }
}

static void say_card(const import *in, const card *c, arena *mem) {
    decode_curve d = {0};
    prefill_curve p = {0};
    err no_decode = {0}, no_prefill = {0};
    bool decodes = decode_curve_fit(c, -1, mem, &d, &no_decode) == OK;
    bool prefills = prefill_curve_fit(c, decodes ? &d : NULL, -1, mem, &p, &no_prefill) == OK;
    fprintf(stderr, "ratecast: card %s: %zu prefill and %zu decode points\n", c->id, c->prefill_n,
            c->decode_n);
    say_unstated(in);
    say_decode(&d, &no_decode);
    say_prefill(c, &p, &no_prefill);
    if (c->engine.layout == KV_LAYOUT_UNSTATED)
        fprintf(stderr, "  the KV layout is not stated: --kv-layout split or unified\n");
    if (card_kv_bytes_per_tok(c) == 0)
        fprintf(stderr, "  cannot project anything before the KV bytes of a token are known: "
                        "--layers, --kv-heads and --head-dim (in the model's config.json) would "
                        "supply them\n");
    if (c->weights_bytes == 0)
        fprintf(stderr, "  the weights are not stated, and a projection needs them: "
                        "--weights-bytes would supply it\n");
    if (!c->hardware.id)
        fprintf(stderr, "  the machine has no name: --machine NAME, as sessions for `fit` and "
                        "`validate` name it\n");
    say_commands(in, c, decodes && d.n > 1, prefills, has_depth(c));
}

/* The card is loaded again before it is written: no file that `check` would refuse. */
static err_code write_card(const opts *o, const import *in, const import_card_options *co,
                           arena *mem, err *e) {
    buf text;
    buf_init(&text);
    const card *c = NULL;
    card_library none = {0};
    if (import_card_text(in, co, &text, e) == OK) {
        file_bytes f = {.name = opts_get(o, "output"), .s = text.s, .len = text.len};
        if (card_parse(&none, &f, mem, &c, e) == OK &&
            cli_output(o, &text, NULL, o->operands, o->operands_n, e) == OK)
            say_card(in, c, mem);
    }
    buf_done(&text);
    return e->code;
}

static err_code read_all(const opts *o, import *in, err *e) {
    for (size_t i = 0; i < o->operands_n && !e->code; i++)
        (void)import_add_path(in, o->operands[i], opts_get(o, "format"));
    return e->code;
}

static err_code print_result(const opts *o, const import *in, arena *mem, err *e) {
    buf out;
    buf_init(&out);
    if (opts_has(o, "json")) {
        import_json(in, &out);
    } else if (!opts_has(o, "output") && in->errors.n == 0) {
        as_table(in, mem, &out);
        list_records(in, &out);
    }
    if (out.len) (void)file_write(NULL, out.s, out.len, e);
    buf_done(&out);
    return e->code;
}

static err_code list_formats(arena *mem, err *e) {
    buf out;
    buf_init(&out);
    table *t = table_new(mem, 2);
    const char *head[] = {"format", "what"};
    if (t) {
        table_left(t, 1);
        table_row(t, head);
        for (size_t i = 0; import_format_at(i); i++) {
            const char *row[] = {import_format_at(i)->name, import_format_at(i)->about};
            table_row(t, row);
        }
        table_markdown(t, &out);
    }
    (void)file_write(NULL, out.s, out.len, e);
    buf_done(&out);
    return e->code;
}

/* What is wrong with the operands; the formats need none. */
static err_code check_operands(const opts *o, err *e) {
    if (o->operands_n == 0 && !opts_has(o, "formats"))
        return err_set(e, E_USAGE, "import", "expected FILE... (see `ratecast help import`)");
    return OK;
}

static int run(const opts *o) {
    arena *mem = arena_new((size_t)OUTPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    err e = {0};
    struct import in = import_new(mem, &e);
    import_card_options co;
    int code = 0;
    if (opts_has(o, "formats"))
        (void)list_formats(mem, &e);
    else if (check_operands(o, &e) == OK && card_options(o, mem, &co, &e) == OK &&
             read_all(o, &in, &e) == OK) {
        if (!opts_has(o, "json")) {
            print_notes(&in.warnings, "warning: ");
            print_notes(&in.errors, "");
        }
        if (print_result(o, &in, mem, &e) == OK && in.errors.n == 0 && opts_has(o, "output"))
            (void)write_card(o, &in, &co, mem, &e);
        code = in.errors.n ? 2 : in.warnings.n && opts_has(o, "strict") ? 1 : 0;
    }
    if (e.code) code = cli_fail(&e);
    arena_free(mem);
    return code;
}

const command CMD_IMPORT = {
    .name = "import",
    .operands = "FILE...",
    .operands_max = (size_t)-1,
    .summary = "read outputs of benchmarks and servers, make a rate card of them",
    .example = "`ratecast import --formats` lists the formats.\n\n"
               "examples:\n"
               "  llama-bench -m MODEL.gguf -o jsonl -r 3 | ratecast import -\n"
               "  ratecast import bench.jsonl batched.jsonl --kv-layout split -o my-card.json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
