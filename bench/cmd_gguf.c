#include "commands.h"

#include "gguf.h"

#include "base/file.h"
#include "base/jsonw.h"
#include "cli/cli.h"
#include "table.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const opt_spec OPTS[] = {
    {"shape", 0, "NAME", "the model whose shape it has (--list has the names)", false},
    {"quant", 0, "Q", "f16, q8_0, q4_0 or q4_k_m, with llama.cpp's types by tensor", false},
    {"output", 'o', "FILE", "the model (written beside it, then renamed)", false},
    {"seed", 0, "N", "of the random weights: the same, the same bytes (default 1)", false},
    {"dry-run", 0, NULL, "say what would be written", false},
    {"list", 0, NULL, "all shapes: parameters, bytes by quantisation, KV bytes a token", false},
    OPT_JSON,
    OPT_HELP};

typedef struct request {
    const model_shape *shape;
    quant q;
    uint64_t seed;
    const char *path; /* may be NULL in a dry run */
} request;

static volatile sig_atomic_t stopped; /* the signal that asked for it */

static void on_signal(int sig) {
    stopped = sig;
}

static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS_N = sizeof SIGNALS / sizeof *SIGNALS };

static void catch_signals(struct sigaction old[SIGNALS_N]) {
    struct sigaction act = {.sa_handler = on_signal};
    sigemptyset(&act.sa_mask);
    for (int i = 0; i < SIGNALS_N; i++) {
        sigaction(SIGNALS[i], NULL, &old[i]);
        /* what nohup ignores stays ignored */
        if (old[i].sa_handler != SIG_IGN) sigaction(SIGNALS[i], &act, NULL);
    }
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

typedef struct progress_line {
    bool shown; /* standard error is a terminal */
    double start_s, last_s;
} progress_line;

static bool on_progress(int64_t done, int64_t all, void *arg) {
    progress_line *p = arg;
    double now = now_s(), spent = now - p->start_s;
    if (p->shown && now - p->last_s >= 0.2) {
        p->last_s = now;
        double left = spent / (double)done * (double)(all - done);
        fprintf(stderr, "\r%.2f of %.2f GB  %3.0f %%  %.0f MB/s  %.0f s left \033[K",
                (double)done / 1e9, (double)all / 1e9, 100 * (double)done / (double)all,
                (double)done / 1e6 / spent, left);
    }
    return !stopped;
}

static err_code seed_of(const opts *o, uint64_t *seed, err *e) {
    const char *text = opts_get(o, "seed");
    char *end = NULL;
    *seed = 1;
    if (!text) return OK;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    /* JSON holds whole numbers up to 2^53 */
    if (text[0] < '0' || text[0] > '9' || *end || errno || *seed > (uint64_t)1 << 53)
        return err_set(e, E_USAGE, "--seed", "must be a whole number up to 2^53, is \"%s\"", text);
    return OK;
}

static err_code request_of(const opts *o, request *r, err *e) {
    bool dry = opts_has(o, "dry-run");
    const char *shape = opts_get(o, "shape"), *q = opts_get(o, "quant");
    r->path = opts_get(o, "output");
    if (!shape || !q || (!r->path && !dry))
        return err_set(e, E_USAGE, "gguf", "wants --shape, --quant and %s (or --list)",
                       dry ? "nothing else" : "-o FILE");
    if (r->path && r->path[0] == '-' && !r->path[1])
        return err_set(e, E_USAGE, "--output", "found -, expected a file: a model has gigabytes");
    if (shape_find(shape, &r->shape, e) || quant_find(q, &r->q, e)) return e->code;
    return seed_of(o, &r->seed, e);
}

static size_t tensors_n(const request *r) {
    size_t n = 0;
    shape_tensor t;
    while (shape_tensor_at(r->shape, r->q, n, &t)) n++;
    return n;
}

static err_code say(const opts *o, const request *r, err *e) {
    assert(r->shape);
    int64_t params = shape_params(r->shape), bytes = shape_weights_bytes(r->shape, r->q);
    int64_t all = gguf_file_bytes(r->shape, r->q, r->seed);
    bool dry = opts_has(o, "dry-run");
    buf out;
    buf_init(&out);
    if (opts_has(o, "json")) {
        cJSON *root = cJSON_CreateObject();
        jw_str(root, "schema", "ratecast.bench-gguf/1");
        jw_bool(root, "written", !dry);
        jw_str(root, "path", r->path);
        jw_str(root, "shape", r->shape->name);
        jw_str(root, "quant", QUANT_NAMES[r->q]);
        jw_int(root, "seed", (int64_t)r->seed);
        jw_int(root, "params", params);
        jw_int(root, "weights_bytes", bytes);
        jw_int(root, "file_bytes", all);
        jw_int(root, "tensors", (int64_t)tensors_n(r));
        jw_print(root, &out);
        cJSON_Delete(root);
    } else {
        buf_addf(&out,
                 "%s%s: %s %s, random weights of seed %" PRIu64 "\n%" PRId64
                 " parameters in %zu tensors, %" PRId64
                 " bytes of weights (%.2f GiB), file %" PRId64 " bytes\n",
                 dry ? "would write " : "wrote ", r->path ? r->path : "a file", r->shape->name,
                 QUANT_NAMES[r->q], r->seed, params, tensors_n(r), bytes, (double)bytes / (1 << 30),
                 all);
    }
    (void)file_write(NULL, out.s, out.len, e);
    buf_done(&out);
    return e->code;
}

static err_code write_model(const request *r, err *e) {
    struct sigaction old[SIGNALS_N];
    progress_line p = {.shown = isatty(STDERR_FILENO) == 1, .start_s = now_s()};
    catch_signals(old);
    (void)gguf_write(r->path, r->shape, r->q, r->seed, on_progress, &p, e);
    for (int i = 0; i < SIGNALS_N; i++) sigaction(SIGNALS[i], &old[i], NULL);
    if (p.shown) fputs("\r\033[K", stderr);
    return e->code;
}

static void list_json(buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", "ratecast.bench-shapes/1");
    cJSON *shapes = jw_arr(root, "shapes");
    const model_shape *s;
    for (size_t i = 0; (s = shape_at(i)); i++) {
        cJSON *one = jw_item(shapes);
        jw_str(one, "name", s->name);
        jw_str(one, "architecture", s->architecture);
        jw_str(one, "source", s->source);
        jw_int(one, "layers", s->layers);
        jw_int(one, "embedding", s->n_embd);
        jw_int(one, "feed_forward", s->n_ff);
        jw_int(one, "heads", s->heads);
        jw_int(one, "kv_heads", s->kv_heads);
        jw_int(one, "head_dim", s->head_dim);
        jw_int(one, "vocab", s->vocab);
        jw_int(one, "context_train_tok", s->context_train_tok);
        jw_int(one, "params", shape_params(s));
        cJSON *bytes = jw_obj(one, "weights_bytes");
        for (quant q = QUANT_F16; q < QUANT_N; q++)
            jw_int(bytes, QUANT_NAMES[q], shape_weights_bytes(s, q));
        jw_int(one, "kv_bytes_per_tok", shape_kv_bytes_per_tok(s));
    }
    jw_print(root, out);
    cJSON_Delete(root);
}

static err_code list_text(arena *mem, buf *out, err *e) {
    enum { COLS = 4 + QUANT_N };
    table *t = table_new(mem, COLS);
    if (!t) return err_set(e, E_NOMEM, "gguf", "out of memory");
    const char *cells[COLS] = {"shape", "parameters"};
    for (quant q = QUANT_F16; q < QUANT_N; q++)
        cells[2 + q] = arena_printf(mem, "%s, bytes", QUANT_NAMES[q]);
    cells[2 + QUANT_N] = "KV, bytes/token";
    cells[3 + QUANT_N] = "source";
    table_left(t, 3 + QUANT_N);
    table_row(t, cells);
    const model_shape *s;
    for (size_t i = 0; (s = shape_at(i)); i++) {
        cells[0] = s->name;
        cells[1] = arena_printf(mem, "%" PRId64, shape_params(s));
        for (quant q = QUANT_F16; q < QUANT_N; q++)
            cells[2 + q] = arena_printf(mem, "%" PRId64, shape_weights_bytes(s, q));
        cells[2 + QUANT_N] = arena_printf(mem, "%" PRId64, shape_kv_bytes_per_tok(s));
        cells[3 + QUANT_N] = s->source;
        table_row(t, cells);
    }
    table_markdown(t, out);
    return OK;
}

static err_code list(const opts *o, arena *mem, err *e) {
    if (opts_has(o, "output") || opts_has(o, "shape") || opts_has(o, "quant"))
        return err_set(e, E_USAGE, "--list", "goes with --json only");
    buf out;
    buf_init(&out);
    if (opts_has(o, "json"))
        list_json(&out);
    else
        (void)list_text(mem, &out, e);
    if (e->code == OK) (void)cli_output(o, &out, NULL, NULL, 0, e);
    buf_done(&out);
    return e->code;
}

static int run(const opts *o) {
    err e = {0};
    request r = {0};
    arena *mem = arena_new((size_t)INPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    if (opts_has(o, "list"))
        (void)list(o, mem, &e);
    else if (request_of(o, &r, &e) == OK && (opts_has(o, "dry-run") || write_model(&r, &e) == OK))
        (void)say(o, &r, &e);
    arena_free(mem);
    int code = e.code ? cli_fail(&e) : 0;
    /* the shell that runs us in a loop has to see that we were interrupted, or it goes on */
    if (stopped && e.code == E_EXTERN) raise(stopped);
    return code;
}

const command CMD_GGUF = {
    .name = "gguf",
    .operands = "",
    .summary = "write a model of a real shape with random weights: nothing to download",
    .example = "examples:\n  ratecast-bench gguf --list\n"
               "  ratecast-bench gguf --shape qwen2.5-7b --quant q4_k_m -o model.gguf\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
