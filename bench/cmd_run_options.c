#include "cmd_run.h"

#include "machine.h"
#include "model_file.h"
#include "process.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double GIB = 1024.0 * 1024 * 1024;

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
static err_code card_path(run_job *j, err *e) {
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

static err_code shape_facts(run_job *j, err *e) {
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
static err_code file_facts(run_job *j, const char *path, model_file *f, err *e) {
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

static err_code model_facts(run_job *j, err *e) {
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
    if (j->kv_guessed) j->request.model.kv_bytes_per_tok = RUN_KV_GUESS_BYTES;
    return e->code;
}

/* ---- the tools, and what a plan belongs to ---- */

static err_code find_tools(run_job *j, err *e) {
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
static const char *tool_text(run_job *j, const char *path) {
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

static const char *model_text(run_job *j) {
    struct stat st;
    const char *path = j->request.want.model;
    if (j->shape || stat(path, &st) != 0) return path;
    return arena_printf(j->mem, "%s (%lld bytes, changed %lld)", path, (long long)st.st_size,
                        (long long)st.st_mtime);
}

static void fact(run_job *j, const char *key, const char *value) {
    if (j->request.facts_n < RUN_FACTS_MAX)
        j->facts[j->request.facts_n++] = (run_fact){key, value ? value : "not given"};
}

/* --minutes is none: a run that had too few of them goes on with more. */
static void list_facts(run_job *j) {
    static const char *const OPTIONS[] = {"shape",         "quant",      "memory-gib", "kv-unified",
                                          "shared-prompt", "batch",      "ubatch",     "threads",
                                          "gpu-layers",    "flash-attn", "prompts",    "depths",
                                          "sequences",     "contexts",   "samples",    "repeats"};
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

err_code run_job_make(run_job *j, err *e) {
    run_request *r = &j->request;
    want_options(j->o, &r->want, e);
    r->time_s = 60 * number_option(j->o, "minutes", 10, 10000, e);
    r->memory_bytes = (int64_t)(GIB * number_option(j->o, "memory-gib", 0, 1000000, e));
    r->conditions = opts_get(j->o, "conditions");
    r->must_resume = opts_has(j->o, "resume");
    j->card.machine = opts_get(j->o, "machine");
    if (!j->card.machine) j->card.machine = machine_name(j->mem);
    /* of a shared prompt the output says it, and older builds know unified KV only */
    j->card.layout = r->want.unified         ? KV_LAYOUT_UNIFIED
                     : r->want.shared_prompt ? KV_LAYOUT_UNSTATED
                                             : KV_LAYOUT_SPLIT;
    j->card.method = "engine";
    if (e->code || card_path(j, e) || model_facts(j, e) || find_tools(j, e)) return e->code;
    list_facts(j);
    return OK;
}
