#include "cli/card_summary.h"
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
    {"weights-bytes", 0, "N", "weights on the device (default: the model size printed)", false},
    {"layers", 0, "N", "layers of the model", false},
    {"full-attention-layers", 0, "N", "those that keep KV per token (default: all)", false},
    {"kv-heads", 0, "N", "KV heads of a layer", false},
    {"head-dim", 0, "N", "size of a KV head", false},
    {"kv-type", 0, "TYPE", "of K and V (default: type_k and type_v; f16 is assumed)", false},
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
                               .kv_type = opts_get(o, "kv-type"),
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
                             r->refused    ? arena_printf(mem, "no: %s", r->refused)
                             : r->excluded ? arena_printf(mem, "kept: %s", r->excluded)
                                           : "yes"};
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
            (void)card_summary(in, c, mem);
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
