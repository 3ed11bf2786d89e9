/* `ratecast-bench run`: options -> a request, the plan on paper or for real, and the card. */
#include "commands.h"

#include "cli/card_summary.h"
#include "cli/cli.h"
#include "gguf.h"
#include "machine.h"
#include "model_file.h"
#include "process.h"
#include "run_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const opt_spec OPTS[] = {
    {"model", 'm', "FILE", "GGUF to measure", false},
    {"shape", 0, "NAME", "instead: write a GGUF of this shape with random weights, beside the card",
     false},
    {"quant", 0, "NAME", "of --shape: f16, q8_0, q4_0 or q4_k_m (default)", false},
    {"output", 'o', "CARD",
     "the card, CARD.json; raw outputs and the plan go to the folder CARD.raw", false},
    {"minutes", 0, "N", "time budget (default 10); a run ends within one and a half of it", false},
    {"memory-gib", 0, "N",
     "memory budget (default: free memory of the device, as llama-bench says)", false},
    {"dry-run", 0, NULL, "print the commands with estimates, run nothing", false},
    {"resume", 0, NULL, "insist on going on with CARD.raw (it is gone on with anyway)", false},
    OPT_JSON,
    {"llama-bench", 0, "FILE", "the program (default: from PATH)", false},
    {"batched-bench", 0, "FILE", "llama-batched-bench (default: from PATH)", false},
    {"kv-unified", 0, NULL, "one KV buffer for all sequences, as llama-server has by default",
     false},
    {"shared-prompt", 0, NULL, "batched: one prompt for all sequences", false},
    {"batch", 0, "N", "n_batch of the engine", false},
    {"ubatch", 0, "N", "n_ubatch of the engine", false},
    {"flash-attn", 0, "WORD", "on (default), off or auto", false},
    {"gpu-layers", 0, "N", "layers on the device (default 99: all)", false},
    {"threads", 0, "N", "threads of the host", false},
    {"prompts", 0, "LIST", "lengths of prompts", false},
    {"depths", 0, "LIST", "depths, most wanted first", false},
    {"sequences", 0, "LIST", "batch sizes of decode", false},
    {"contexts", 0, "LIST", "contexts of batched decode, most wanted first", false},
    {"samples", 0, "N", "repetitions of a llama-bench test (default 5)", false},
    {"repeats", 0, "N", "runs of a llama-batched-bench command (default 3)", false},
    {"conditions", 0, "TEXT", "conditions for the card, instead of load, power and heat as read",
     false},
    {"machine", 0, "NAME", "hardware.id of the card: the machine, as sessions name it", false},
    {"layers", 0, "N", "layers (default: from the file or the shape; so the next three)", false},
    {"full-attention-layers", 0, "N", "layers that keep KV per token", false},
    {"kv-heads", 0, "N", "KV heads of a layer", false},
    {"head-dim", 0, "N", "size of a KV head", false},
    OPT_HELP};

enum { FACTS_MAX = 32, SEED = 1 };
static const double GIB = 1024.0 * 1024 * 1024;
/* Where nothing says it: KV of a 7B without grouped heads, f16. */
static const int64_t KV_GUESS_BYTES = 524288;

typedef struct job {
    const opts *o;
    arena *mem;
    const char *card_path, *folder, *model_name;
    const model_shape *shape; /* NULL: a file of the user */
    quant q;
    run_request request;
    import_card_options card;
    run_fact facts[FACTS_MAX];
    bool kv_guessed;
} job;

/* ---- options ---- */

static double number_option(const opts *o, const char *name, double def, double most, err *e) {
    const char *s = opts_get(o, name);
    if (!s) return def;
    char *end = NULL, where[64];
    double v = strtod(s, &end);
    snprintf(where, sizeof where, "--%s", name);
    if (end == s || *end || !(v > 0 && v <= most))
        err_set(e, E_USAGE, where, "found \"%s\", expected a number > 0, at most %.0f", s, most);
    return v;
}

/* A text that is a whole number from `min` on; NULL: not given. */
static const char *count_text(const opts *o, const char *name, long long min, err *e) {
    const char *s = opts_get(o, name);
    if (!s) return NULL;
    char *end = NULL, where[64];
    errno = 0;
    long long v = strtoll(s, &end, 10);
    snprintf(where, sizeof where, "--%s", name);
    if (errno || end == s || *end || v < min || v > 1000000000)
        err_set(e, E_USAGE, where, "found \"%s\", expected a whole number from %lld on", s, min);
    return s;
}

static int64_t count_option(const opts *o, const char *name, int64_t def, err *e) {
    const char *s = count_text(o, name, 1, e);
    return s ? strtoll(s, NULL, 10) : def;
}

static void list_option(const opts *o, const char *name, bool rising, grid_list *l, err *e) {
    char where[64];
    snprintf(where, sizeof where, "--%s", name);
    if (opts_get(o, name)) (void)grid_list_parse(where, opts_get(o, name), rising, l, e);
}

static void want_options(const opts *o, grid_want *w, err *e) {
    const char *fa = opts_get(o, "flash-attn");
    grid_want_init(w);
    list_option(o, "prompts", true, &w->prefill_tok, e);
    list_option(o, "depths", false, &w->depth_tok, e);
    list_option(o, "sequences", true, &w->batch_n, e);
    list_option(o, "contexts", false, &w->context_tok, e);
    w->samples_n = count_option(o, "samples", w->samples_n, e);
    w->repeats_n = count_option(o, "repeats", w->repeats_n, e);
    if (w->repeats_n > 20) w->repeats_n = 20;
    w->unified = opts_has(o, "kv-unified");
    w->shared_prompt = opts_has(o, "shared-prompt");
    w->batch = count_text(o, "batch", 1, e);
    w->ubatch = count_text(o, "ubatch", 1, e);
    w->threads = count_text(o, "threads", 1, e);
    if (opts_get(o, "gpu-layers")) w->gpu_layers = count_text(o, "gpu-layers", 0, e);
    if (fa) w->flash_attn = fa;
    if (fa && strcmp(fa, "on") != 0 && strcmp(fa, "off") != 0 && strcmp(fa, "auto") != 0)
        err_set(e, E_USAGE, "--flash-attn", "found \"%s\", expected on, off or auto", fa);
}

/* The card's file is named after its id, and that has to hold before an hour is spent. */
static err_code card_path(job *j, err *e) {
    const char *path = opts_get(j->o, "output");
    if (!path && opts_has(j->o, "dry-run")) path = "card.json";
    if (!path)
        return err_set(e, E_USAGE, "run", "expected -o CARD.json (see `ratecast-bench help run`)");
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base), at = strlen(path) - n;
    if (n <= 5 || strcmp(base + n - 5, ".json") != 0 ||
        strspn(base, "abcdefghijklmnopqrstuvwxyz0123456789._-") != n)
        return err_set(e, E_USAGE, "--output",
                       "found \"%s\", expected a name in .json of a-z, 0-9, '.', '_' and '-'",
                       path);
    j->card_path = path;
    j->card.id = arena_printf(j->mem, "%.*s", (int)n - 5, base);
    j->folder = arena_printf(j->mem, "%.*s.raw", (int)(at + n - 5), path);
    j->request.folder = j->folder;
    return j->card.id && j->folder ? OK : err_set(e, E_NOMEM, "", "out of memory");
}

/* ---- the model ---- */

/* Both K and V in f16, one token; 0: not known. */
static int64_t kv_bytes(int64_t layers, int64_t heads, int64_t dim, err *e) {
    const double most = 1e9;
    double bytes = 4 * (double)layers * (double)heads * (double)dim;
    if (bytes > most)
        err_set(e, E_USAGE, "run",
                "%lld layers, %lld KV heads of %lld: %.3g bytes a token are too many",
                (long long)layers, (long long)heads, (long long)dim, bytes);
    return bytes > most ? 0 : (int64_t)bytes;
}

static err_code shape_facts(job *j, err *e) {
    const char *q = opts_get(j->o, "quant");
    if (quant_find(q ? q : "q4_k_m", &j->q, e) || shape_find(opts_get(j->o, "shape"), &j->shape, e))
        return e->code;
    const model_shape *s = j->shape;
    const char *slash = strrchr(j->card_path, '/');
    int folder = slash ? (int)(slash - j->card_path) + 1 : 0;
    j->request.want.model = arena_printf(j->mem, "%.*s%s-like-%s.gguf", folder, j->card_path,
                                         s->name, QUANT_NAMES[j->q]);
    j->card.model = arena_printf(j->mem, "%s-like", s->name);
    j->card.layers = j->card.full_attention_layers = s->layers;
    j->card.kv_heads = s->kv_heads;
    j->card.head_dim = s->head_dim;
    j->request.model = (grid_model){.weights_bytes = shape_weights_bytes(s, j->q),
                                    .kv_bytes_per_tok = shape_kv_bytes_per_tok(s),
                                    .context_train_tok = s->context_train_tok};
    return OK;
}

/* What the file's header says; options overrule it. */
static err_code file_facts(job *j, const char *path, model_file *f, err *e) {
    if (strchr(path, ','))
        return err_set(e, E_USAGE, "--model",
                       "\"%s\" holds a comma, where llama-bench would see two files", path);
    if (model_file_read(path, j->mem, f, e)) return e->code;
    j->request.want.model = path;
    j->request.model =
        (grid_model){.weights_bytes = f->file_bytes, .context_train_tok = f->context_train_tok};
    if (!f->kv_differs) {
        j->card.layers = f->layers;
        j->card.full_attention_layers = f->full_attention_layers;
        j->card.kv_heads = f->kv_heads;
        j->card.head_dim = f->head_dim;
    }
    /* for the budget an upper bound is right, for the card it is not */
    j->request.model.kv_bytes_per_tok =
        kv_bytes(f->full_attention_layers, f->kv_heads, f->head_dim, e);
    return e->code;
}

static err_code model_facts(job *j, err *e) {
    const char *path = opts_get(j->o, "model"), *shape = opts_get(j->o, "shape");
    model_file f = {0};
    if (!path == !shape)
        return err_set(e, E_USAGE, "run",
                       "expected either --model FILE.gguf or --shape NAME (see `ratecast-bench "
                       "help run`)");
    if (opts_get(j->o, "quant") && !shape)
        return err_set(e, E_USAGE, "--quant", "is of --shape; a file has its own");
    if (shape ? shape_facts(j, e) : file_facts(j, path, &f, e)) return e->code;
    import_card_options *c = &j->card;
    c->layers = count_option(j->o, "layers", c->layers, e);
    c->full_attention_layers =
        count_option(j->o, "full-attention-layers",
                     opts_get(j->o, "layers") ? c->layers : c->full_attention_layers, e);
    c->kv_heads = count_option(j->o, "kv-heads", c->kv_heads, e);
    c->head_dim = count_option(j->o, "head-dim", c->head_dim, e);
    int64_t stated = kv_bytes(c->full_attention_layers, c->kv_heads, c->head_dim, e);
    if (stated > 0) j->request.model.kv_bytes_per_tok = stated;
    j->kv_guessed = j->request.model.kv_bytes_per_tok <= 0;
    if (j->kv_guessed) j->request.model.kv_bytes_per_tok = KV_GUESS_BYTES;
    return e->code;
}

/* ---- the tools, and what a plan belongs to ---- */

static err_code find_tools(job *j, err *e) {
    const char *bench = opts_get(j->o, "llama-bench"), *batched = opts_get(j->o, "batched-bench");
    grid_want *w = &j->request.want;
    w->bench = process_find(bench ? bench : "llama-bench", j->mem);
    w->batched = process_find(batched ? batched : "llama-batched-bench", j->mem);
    bool paper = opts_has(j->o, "dry-run");
    if (!w->bench && !paper)
        return runner_tool_missing(bench ? bench : "llama-bench", "--llama-bench", e);
    if (!w->batched && !paper)
        return runner_tool_missing(batched ? batched : "llama-batched-bench", "--batched-bench", e);
    if (!w->bench) w->bench = bench ? bench : "llama-bench";
    if (!w->batched) w->batched = batched ? batched : "llama-batched-bench";
    return OK;
}

/* A program by its content; a very large one by size and time. */
static const char *tool_text(job *j, const char *path) {
    struct stat st;
    file_bytes f;
    err e = {0};
    arena *own = arena_new((size_t)FILE_MAX_BYTES + 4096);
    const char *text = NULL;
    if (own && file_read(path, own, &f, &e) == OK)
        text = arena_printf(j->mem, "%s (sha256 %.16s)", path, f.sha256);
    else if (stat(path, &st) == 0)
        text = arena_printf(j->mem, "%s (%lld bytes, changed %lld)", path, (long long)st.st_size,
                            (long long)st.st_mtime);
    arena_free(own);
    return text;
}

static const char *model_text(job *j) {
    struct stat st;
    const char *path = j->request.want.model;
    if (j->shape || stat(path, &st) != 0) return path;
    return arena_printf(j->mem, "%s (%lld bytes, changed %lld)", path, (long long)st.st_size,
                        (long long)st.st_mtime);
}

static void fact(job *j, const char *key, const char *value) {
    if (j->request.facts_n < FACTS_MAX)
        j->facts[j->request.facts_n++] = (run_fact){key, value ? value : "not given"};
}

static void list_facts(job *j) {
    static const char *const OPTIONS[] = {
        "shape",  "quant",     "minutes",  "memory-gib", "kv-unified", "shared-prompt",
        "batch",  "ubatch",    "threads",  "gpu-layers", "flash-attn", "prompts",
        "depths", "sequences", "contexts", "samples",    "repeats"};
    fact(j, "model", model_text(j));
    fact(j, "llama-bench", tool_text(j, j->request.want.bench));
    fact(j, "llama-batched-bench", tool_text(j, j->request.want.batched));
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++) {
        bool flag =
            strcmp(OPTIONS[i], "kv-unified") == 0 || strcmp(OPTIONS[i], "shared-prompt") == 0;
        fact(j, OPTIONS[i],
             !opts_has(j->o, OPTIONS[i]) ? NULL
             : flag                      ? "given"
                                         : opts_get(j->o, OPTIONS[i]));
    }
    j->request.facts = j->facts;
}

static err_code make_job(job *j, err *e) {
    run_request *r = &j->request;
    want_options(j->o, &r->want, e);
    r->time_s = 60 * number_option(j->o, "minutes", 10, 10000, e);
    r->memory_bytes = (int64_t)(GIB * number_option(j->o, "memory-gib", 0, 1000000, e));
    r->conditions = opts_get(j->o, "conditions");
    r->must_resume = opts_has(j->o, "resume");
    j->card.machine = opts_get(j->o, "machine");
    /* of a shared prompt the output says it, and older builds know unified KV only */
    j->card.layout = r->want.unified         ? KV_LAYOUT_UNIFIED
                     : r->want.shared_prompt ? KV_LAYOUT_UNSTATED
                                             : KV_LAYOUT_SPLIT;
    j->card.method = "engine";
    if (e->code || card_path(j, e) || model_facts(j, e) || find_tools(j, e)) return e->code;
    list_facts(j);
    return OK;
}

/* ---- on paper ---- */

static void say_guesses(const job *j, const char *memory_source, double bytes, bool guessed) {
    fprintf(stderr, "%s: memory budget %.2f GiB (%s)%s\n", cli_program, bytes / GIB, memory_source,
            guessed ? ": --memory-gib N where there is more or less" : "");
    if (j->kv_guessed)
        fprintf(stderr,
                "%s: the KV bytes of a token are not known, counted as %lld; --layers, --kv-heads "
                "and --head-dim would say them\n",
                cli_program, (long long)KV_GUESS_BYTES);
}

static err_code dry_run(const job *j, err *e) {
    const run_request *r = &j->request;
    machine_memory m = {r->memory_bytes, "--memory-gib", 0};
    if (m.bytes == 0) m = machine_memory_guess(r->model.weights_bytes, j->mem);
    grid_speed speed = grid_speed_guess(&r->model);
    grid g;
    if (grid_make(&r->want, &r->model, &speed, r->time_s, m.bytes, j->mem, &g, e)) return e->code;
    buf out;
    buf_init(&out);
    if (opts_has(j->o, "json"))
        run_report_plan_json(&g, &out);
    else
        run_report_plan(&g, &out);
    say_guesses(j, m.source, (double)m.bytes, m.guessed);
    fprintf(stderr,
            "%s: estimates for a device of %.0f tok/s prefill and %.1f ms a decode step; a run "
            "measures these first, asks the device for its memory, and plans again\n",
            cli_program, speed.prefill_tok_s, 1e3 * speed.step_s);
    (void)file_write(NULL, out.s, out.len, e);
    buf_done(&out);
    return e->code;
}

/* ---- for real ---- */

typedef struct view {
    bool terminal;
    double said_s; /* of the step, when the line was drawn last */
} view;

static bool on_tick(const run_plan *p, size_t i, double elapsed_s, void *arg) {
    view *v = arg;
    if (v->terminal && (elapsed_s < v->said_s || elapsed_s - v->said_s > 0.5)) {
        buf b;
        buf_init(&b);
        run_report_progress(p, i, elapsed_s, &b);
        fprintf(stderr, "\r\033[K%.78s", b.s);
        fflush(stderr);
        buf_done(&b);
        v->said_s = elapsed_s;
    }
    return process_caught() == 0;
}

static void on_end(const run_plan *p, size_t i, void *arg) {
    const view *v = arg;
    buf b;
    buf_init(&b);
    run_report_step(p, i, &b);
    fprintf(stderr, "%s%s: %s", v->terminal ? "\r\033[K" : "", cli_program, b.s);
    buf_done(&b);
}

static bool on_write(int64_t done, int64_t all, void *arg) {
    view *v = arg;
    double now = process_clock_s();
    if (v->terminal && now - v->said_s > 0.5) {
        fprintf(stderr, "\r\033[Kwriting the model: %.1f of %.1f GiB", (double)done / GIB,
                (double)all / GIB);
        fflush(stderr);
        v->said_s = now;
    }
    return process_caught() == 0;
}

/* The GGUF of a shape is written once; only a whole one has its name. */
static err_code write_model(const job *j, view *v, err *e) {
    const char *path = j->request.want.model;
    struct stat st;
    if (!j->shape || stat(path, &st) == 0) return OK;
    fprintf(stderr, "%s: writing %s, %.2f GiB of random weights; remove it when you are done\n",
            cli_program, path, (double)j->request.model.weights_bytes / GIB);
    (void)gguf_write(path, j->shape, j->q, SEED, on_write, v, e);
    if (v->terminal) fputs("\r\033[K", stderr);
    return e->code;
}

/* The tools' own log lines stand between results and are nothing to tell one by one. */
static void say_import(const import_notes *notes, const char *kind) {
    size_t skipped = 0;
    for (size_t i = 0; i < notes->n; i++) {
        const import_note *k = &notes->v[i];
        if (strncmp(k->what, "blank line", 10) == 0 || strncmp(k->what, "no JSON", 7) == 0)
            skipped++;
        else if (k->line)
            fprintf(stderr, "%s: %s:%zu: %s%s\n", cli_program, k->file, k->line, kind, k->what);
        else
            fprintf(stderr, "%s: %s: %s%s\n", cli_program, k->file, kind, k->what);
    }
    if (skipped)
        fprintf(stderr, "%s: %zu blank and log lines of the tools skipped\n", cli_program, skipped);
    if (notes->more) fprintf(stderr, "%s: and %zu more notes\n", cli_program, notes->more);
}

static void say_next(const job *j) {
    buf b;
    buf_init(&b);
    process_quote(&b, j->card_path);
    const char *here = strchr(j->card_path, '/') ? "" : "./";
    fprintf(stderr,
            "next: ratecast show %s%s\n"
            "      ratecast project --card %s%s -K 4 -H 20 -P 4096\n"
            "      ratecast fit %s%s\n",
            here, b.s, here, b.s, here, b.s);
    buf_done(&b);
}

/* The card is loaded again before it is written: no file that `check` would refuse. */
static err_code write_card(job *j, const run_plan *p, const import *in, err *e) {
    const card *c = NULL;
    card_library none = {0};
    buf text;
    buf_init(&text);
    j->card.note = arena_printf(
        j->mem, "measured by ratecast-bench " RATECAST_VERSION " run%s; conditions: %s",
        j->shape ? " on random weights of this shape" : "", p->conditions);
    if (import_card_text(in, &j->card, &text, e) == OK) {
        file_bytes f = {.name = j->card_path, .s = text.s, .len = text.len};
        if (card_parse(&none, &f, j->mem, &c, e) == OK &&
            file_write(j->card_path, text.s, text.len, e) == OK) {
            card_summary(in, c, j->mem);
            say_next(j);
        }
    }
    buf_done(&text);
    return e->code;
}

static bool any_failed(const run_plan *p) {
    for (size_t i = 0; i < p->n; i++)
        if (p->steps[i].state == RUN_FAILED) return true;
    return false;
}

/* What was measured becomes a card, and what was not is said. Returns the exit code. */
static int conclude(job *j, run_plan *p, err *e) {
import in = import_new(j->mem, e);
    buf b;
    buf_init(&b);
    int code = 0;
    if (runner_import(p, &in, e) == OK) {
        say_import(&in.warnings, "warning: ");
        say_import(&in.errors, "");
        run_cold cold = runner_cold(&in);
        run_report_end(p, &cold, &b);
        fprintf(stderr, "%s: %s", cli_program, b.s);
        bool written = write_card(j, p, &in, e) == OK;
        if (opts_has(j->o, "json")) {
            buf_reset(&b);
            run_report_json(p, &cold, written ? j->card_path : NULL, &b);
            (void)file_write(NULL, b.s, b.len, e);
        }
        code = any_failed(p) || in.errors.n ? 4 : 0;
    }
    buf_done(&b);
    return e->code ? cli_fail(e) : code;
}

static int interrupted(const job *j, const run_plan *p, const view *v) {
    size_t done = 0;
    for (size_t i = 0; i < p->n; i++) done += p->steps[i].state == RUN_DONE;
    fprintf(stderr,
            "%s%s: interrupted; %zu commands are measured and kept in %s, the same command goes "
            "on from there\n",
            v->terminal ? "\r\033[K" : "", cli_program, done, j->folder);
    return 128 + process_caught();
}

static int measure(job *j, err *e) {
    view v = {.terminal = isatty(STDERR_FILENO) == 1};
    run_watch w = {on_tick, on_end, &v};
    run_plan p = {0};
    bool stopped = false;
    process_catch_signals();
    if (runner_open(&j->request, j->mem, &p, e)) {
        runner_close(&p);
        return cli_fail(e);
    }
    say_guesses(j, p.memory_source, (double)p.memory_bytes, p.memory_guessed);
    if (p.resumed) fprintf(stderr, "%s: going on with %s\n", cli_program, j->folder);
    bool wrote = write_model(j, &v, e) == OK;
    if (wrote) (void)runner_measure(&p, &w, &stopped, e);
    int code = stopped || process_caught() ? interrupted(j, &p, &v)
               : e->code                   ? cli_fail(e)
                                           : conclude(j, &p, e);
    runner_close(&p);
    return code;
}

static int run(const opts *o) {
    job *j = calloc(1, sizeof *j);
    arena *mem = j ? arena_new((size_t)OUTPUT_BUDGET_MIB << 20) : NULL;
    err e = {0};
    int code = 0;
    if (!mem) {
        free(j);
        return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    }
    j->o = o;
    j->mem = mem;
    if (make_job(j, &e))
        code = cli_fail(&e);
    else if (opts_has(o, "dry-run"))
        code = dry_run(j, &e) ? cli_fail(&e) : 0;
    else
        code = measure(j, &e);
    arena_free(mem);
    free(j);
    return code;
}

const command CMD_RUN = {
    .name = "run",
    .operands = "",
    .summary = "measure llama.cpp on this machine, make a rate card of it",
    .example =
        "examples:\n"
        "  ratecast-bench run --model model.gguf -o my-gpu.json --dry-run\n"
        "  ratecast-bench run --shape qwen2.5-7b --quant q4_k_m -o my-gpu.json --minutes 20\n\n"
        "Ctrl-C keeps what was measured; the same command goes on. Exit code 4: a tool is missing\n"
        "or failed (the card then holds what was measured), 130: interrupted.\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
