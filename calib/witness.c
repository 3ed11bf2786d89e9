#include "witness.h"

#include "base/jsonr.h"
#include "base/stat.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t TOK_MAX = 1000000000, COUNT_MAX = 1000000;
static const double TIME_MAX_S = 1e9, MIB = 1048576.0;
static const char *const USES[] = {"calibrate", "score", NULL};

typedef struct found_turn {
    size_t run;
    witness_turn t;
} found_turn;

typedef struct reader {
    arena *mem;
    err *e;
    size_t skip; /* leading bytes of a file's name that warnings leave out */
    witness_run *runs;
    size_t runs_n;
    witness_run **by_id; /* sorted by id, equal ids in file order */
    found_turn *found;   /* malloc'ed */
    size_t found_n, found_cap;
    const char **warnings;
    size_t warnings_n;
} reader;

static void no_room(reader *r, const char *where) {
    err_set(r->e, E_LIMIT, where, "does not fit the memory budget");
}

/* ---- lines ---- */

/* A stretch of a file without line ends and without NUL bytes. */
typedef struct piece {
    const char *s;
    size_t len, line;
    bool cut; /* NUL bytes stand right before or behind it */
} piece;

typedef struct lines {
    const file_bytes *f;
    size_t at, line, nul_n;
} lines;

static bool is_blank(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (!strchr(" \t\r", s[i])) return false; /* s[i] is no NUL here */
    return true;
}

/* The next piece that is not blank; false at the end of the file. */
static bool next_piece(lines *l, piece *p) {
    const char *s = l->f->s;
    size_t len = l->f->len;
    while (l->at < len) {
        if (s[l->at] == '\n' || s[l->at] == '\0') {
            l->line += s[l->at] == '\n';
            l->nul_n += s[l->at] == '\0';
            l->at++;
            continue;
        }
        size_t from = l->at;
        while (l->at < len && s[l->at] != '\n' && s[l->at] != '\0') l->at++;
        *p = (piece){.s = s + from, .len = l->at - from, .line = l->line + 1};
        p->cut = (from > 0 && s[from - 1] == '\0') || (l->at < len && s[l->at] == '\0');
        if (!is_blank(p->s, p->len)) return true;
    }
    return false;
}

/* Parses one piece as an object. A fragment beside NUL bytes is no error: false with `e` unset. */
static bool parse_piece(reader *r, const piece *p, const char *name, jr_doc *d) {
    err bad = {0};
    if (jr_parse_line(d, name, p->s, p->len, r->mem, &bad)) {
        if (!p->cut || bad.code != E_SYNTAX) err_set(r->e, bad.code, bad.where, "%s", bad.what);
        return false;
    }
    d->e = r->e;
    if (cJSON_IsObject(d->root)) return true;
    if (!p->cut)
        err_set(r->e, E_SCHEMA, name, "found no object, expected one JSON object on each line");
    jr_free(d);
    return false;
}

static void name_line(const file_bytes *f, size_t line, char out[256]) {
    snprintf(out, 256, "%.220s:%zu", f->name, line);
}

/* ---- fields ---- */

/* A member that is null counts as absent: recorders write null for what they could not read. */
static bool absent(jr obj, const char *key) {
    jr m = jr_get(obj, key);
    return !m.node || cJSON_IsNull(m.node);
}

static double opt_num(jr obj, const char *key, double max) {
    return absent(obj, key) ? 0 : jr_num(obj, key, 0, max);
}

static int64_t opt_int(jr obj, const char *key, int64_t min, int64_t max, int64_t def) {
    return absent(obj, key) ? def : jr_int(obj, key, min, max);
}

static const char *opt_str(jr obj, const char *key) {
    return absent(obj, key) ? NULL : jr_str(obj, key);
}

static bool opt_bool(jr obj, const char *key, bool def) {
    return absent(obj, key) ? def : jr_bool_or(obj, key, def);
}

/* The flags of llama-server that a projection needs. */
typedef struct flag {
    const char *names[3];
    int64_t *value, min;
} flag;

static bool is_one_of(const char *arg, const char *const *names) {
    for (; *names; names++)
        if (strcmp(arg, *names) == 0) return true;
    return false;
}

/* The value behind a flag. */
static void read_flag(jr at, const char *name, const char *text, const flag *f) {
    char *end = NULL;
    errno = 0;
    long long v = text ? strtoll(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || v < f->min || v > TOK_MAX)
        jr_fail(at, E_RANGE, "found no value behind %s, expected a whole number from %lld to %lld",
                name, (long long)f->min, (long long)TOK_MAX);
    else
        *f->value = v;
}

/* Without --parallel (or with -1) the server takes 4 slots and unified KV; with a number of slots,
 * KV is split unless a flag says otherwise. */
static void read_server_args(jr root, witness_run *run) {
    static const char *const UNIFIED[] = {"-kvu", "--kv-unified", NULL};
    static const char *const SPLIT[] = {"-no-kvu", "--no-kv-unified", NULL};
    run->n_batch = 2048;
    run->n_ubatch = 512;
    int64_t parallel = -1;
    const flag FLAGS[] = {{{"-t", "--threads"}, &run->threads_n, -1},
                          {{"-b", "--batch-size"}, &run->n_batch, 1},
                          {{"-ub", "--ubatch-size"}, &run->n_ubatch, 1},
                          {{"-c", "--ctx-size"}, &run->context_tok, 0},
                          {{"-np", "--parallel"}, &parallel, -1}};
    const flag *open = NULL; /* its value comes next */
    const char *open_name = "";
    jr args = jr_get(root, "server_args"), m = {0};
    if (!absent(root, "server_args")) jr_len(args);
    while (jr_each(args, &m)) {
        const char *arg = cJSON_GetStringValue(m.node);
        if (!arg) jr_fail(m, E_SCHEMA, "found something else, expected a string");
        if (!arg) break;
        if (open) read_flag(m, open_name, arg, open);
        const flag *of = NULL;
        for (size_t i = 0; !open && i < sizeof FLAGS / sizeof *FLAGS; i++)
            if (is_one_of(arg, FLAGS[i].names)) of = &FLAGS[i];
        if (!open && is_one_of(arg, UNIFIED)) run->layout = KV_LAYOUT_UNIFIED;
        if (!open && is_one_of(arg, SPLIT)) run->layout = KV_LAYOUT_SPLIT;
        open = of;
        if (of) open_name = of->names[strcmp(arg, of->names[0]) != 0];
    }
    if (open) read_flag(args, open_name, NULL, open);
    if (run->threads_n < 0) run->threads_n = 0;
    run->slots_n = parallel > 0 ? parallel : 4;
    if (run->layout == KV_LAYOUT_UNSTATED)
        run->layout = parallel > 0 ? KV_LAYOUT_SPLIT : KV_LAYOUT_UNIFIED;
}

static void read_config(jr c, witness_run *run) {
    run->model = jr_str(c, "model");
    run->arm = jr_str(c, "arm");
    run->warm = opt_str(c, "warm");
    run->K = jr_int(c, "K", 1, COUNT_MAX);
    run->H = jr_int(c, "H", 1, COUNT_MAX);
    run->P = jr_int(c, "P", 0, TOK_MAX);
    run->stagger_s = opt_num(c, "stagger_s", TIME_MAX_S);
    run->tool_s = opt_num(c, "tool_s", TIME_MAX_S);
    run->out_jitter = opt_num(c, "out_jitter", 1);
    static const char *const SHAPES[] = {"delta_first", "result_after", NULL};
    run->result_after = !absent(c, "turn_shape") && jr_enum(c, "turn_shape", SHAPES) == 1;
    run->serial = opt_bool(c, "serial", false);
    run->pinned = opt_bool(c, "pin", true);
    run->cache_prompt = opt_bool(c, "cache", true);
    if (strcmp(run->arm, "interference") != 0) {
        run->din = jr_int(c, "din", 0, TOK_MAX);
        run->out = jr_int(c, "out", 1, TOK_MAX);
        return;
    }
    if (run->K != 2)
        jr_fail(jr_get(c, "K"), E_RANGE, "found %lld, expected 2 in an interference run",
                (long long)run->K);
    run->n0 = jr_int(c, "n0", 1, TOK_MAX);
    run->out0 = jr_int(c, "out0", 1, TOK_MAX);
    run->N = jr_int(c, "N", 1, TOK_MAX);
    run->out1 = jr_int(c, "out1", 1, TOK_MAX);
    run->delay_s = jr_num(c, "delay_s", 0, TIME_MAX_S);
}

static witness_summary read_summary(jr root, const char *population) {
    witness_summary s = {0};
    if (absent(root, "ttft_s")) return s;
    jr ttft = jr_get(root, "ttft_s");
    if (!cJSON_IsObject(ttft.node))
        jr_fail(ttft, E_SCHEMA, "found something else, expected an object of cold, warm and all");
    if (absent(ttft, population)) return s;
    jr p = jr_get(ttft, population);
    s.n = jr_int(p, "n", 0, TOK_MAX);
    if (s.n == 0) return s;
    s.p50_s = jr_num(p, "p50", 0, TIME_MAX_S);
    s.p95_s = jr_num(p, "p95", 0, TIME_MAX_S);
    return s;
}

static void read_run(reader *r, jr root, witness_run *run) {
    if (!absent(root, "schema")) jr_schema(root, WITNESS_SCHEMA);
    run->id = jr_str(root, "run_id");
    run->machine = jr_str(root, "machine");
    jr config = jr_need(root, "config");
    if (jr_present(config) && !cJSON_IsObject(config.node))
        jr_fail(config, E_SCHEMA, "found something else, expected an object");
    read_config(config, run);
    read_server_args(root, run);
    run->patched = opt_bool(root, "patched_server", false);
    run->use = (witness_use)(absent(root, "use") ? USE_SCORE : jr_enum(root, "use", USES));
    run->wall_s = opt_num(root, "wall_s", TIME_MAX_S);
    run->itl_mean_ms = opt_num(root, "itl_mean_ms", TIME_MAX_S);
    run->itl_p50_ms = opt_num(root, "itl_p50_ms", TIME_MAX_S);
    run->cold = read_summary(root, "cold");
    run->warm_ttft = read_summary(root, "warm");
    run->all = read_summary(root, "all");
    run->mem_before_bytes = opt_num(root, "gpu_mem_before_server_mib", 1e12) * MIB;
    run->mem_after_load_bytes = opt_num(root, "gpu_mem_after_load_mib", 1e12) * MIB;
    run->mem_peak_bytes = opt_num(root, "gpu_mem_peak_mib", 1e12) * MIB;
    size_t errors_n = absent(root, "errors") ? 0 : jr_len(jr_get(root, "errors"));
    if (errors_n == 0) return;
    run->excluded = arena_printf(r->mem, "errors: the client recorded %zu", errors_n);
    if (!run->excluded) no_room(r, "");
}

/* ---- runs.jsonl ---- */

static int cmp_id(const void *a, const void *b) {
    const witness_run *x = *(witness_run *const *)a, *y = *(witness_run *const *)b;
    int c = strcmp(x->id, y->id);
    return c ? c : (x > y) - (x < y);
}

/* The first run of the file with this id. */
static witness_run *find_run(const reader *r, const char *id) {
    size_t lo = 0, hi = r->runs_n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(r->by_id[mid]->id, id) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < r->runs_n && strcmp(r->by_id[lo]->id, id) == 0 ? r->by_id[lo] : NULL;
}

static void index_runs(reader *r) {
    for (size_t i = 0; i < r->runs_n; i++) r->by_id[i] = &r->runs[i];
    qsort(r->by_id, r->runs_n, sizeof(witness_run *), cmp_id);
    for (size_t i = 1; i < r->runs_n; i++) {
        if (strcmp(r->by_id[i]->id, r->by_id[i - 1]->id) != 0) continue;
        r->by_id[i - 1]->excluded = r->by_id[i]->excluded =
            "run_id: more than one run has it, so the turns belong to none for certain";
    }
}

static void read_runs(reader *r, const file_bytes *f, size_t sessions_n) {
    if (f->len && memchr(f->s, '\0', f->len)) {
        err_set(r->e, E_SYNTAX, f->name, "found a NUL byte, expected JSON text (damaged copy?)");
        return;
    }
    size_t n = 0;
    piece p;
    for (lines l = {.f = f}; next_piece(&l, &p);) n++;
    if (n == 0) {
        err_set(r->e, E_SCHEMA, f->name, "found no run, expected one JSON object on each line");
        return;
    }
    r->runs = ARENA_ARRAY(r->mem, witness_run, n);
    r->by_id = ARENA_ARRAY(r->mem, witness_run *, n);
    /* at most one warning a run and two a session file */
    r->warnings = sessions_n < SIZE_MAX / 4 && n < SIZE_MAX / 4
                      ? ARENA_ARRAY(r->mem, const char *, n + 2 * sessions_n)
                      : NULL;
    if (!r->runs || !r->by_id || !r->warnings) {
        no_room(r, f->name);
        return;
    }
    for (lines l = {.f = f}; r->e->code == OK && next_piece(&l, &p);) {
        char name[256];
        name_line(f, p.line, name);
        jr_doc d;
        if (!parse_piece(r, &p, name, &d)) return;
        read_run(r, jr_root(&d), &r->runs[r->runs_n++]);
        jr_free(&d);
    }
    if (r->e->code == OK) index_runs(r);
}

/* ---- session files ---- */

static void read_turn(jr root, witness_turn *t) {
    t->agent = jr_int(root, "agent", 0, TOK_MAX);
    t->turn = jr_int(root, "turn", 1, TOK_MAX);
    t->prompt_tok = jr_int(root, "prompt_tokens", 0, TOK_MAX);
    t->cached_tok = jr_int(root, "cached_tokens", 0, TOK_MAX);
    t->new_tok = jr_int(root, "new_prompt_tokens", 0, TOK_MAX);
    t->out_tok = jr_int(root, "out_tokens", 0, TOK_MAX);
    t->out_requested = opt_int(root, "out_requested", 0, TOK_MAX, t->out_tok);
    t->t_send_s = jr_num(root, "t_send_s", -TIME_MAX_S, TIME_MAX_S);
    t->t_first_s = jr_num(root, "t_first_s", -TIME_MAX_S, TIME_MAX_S);
    t->t_last_s = jr_num(root, "t_last_s", -TIME_MAX_S, TIME_MAX_S);
    t->t_done_s =
        absent(root, "t_done_s") ? t->t_last_s : jr_num(root, "t_done_s", -TIME_MAX_S, TIME_MAX_S);
    t->slot = opt_int(root, "id_slot", -1, TOK_MAX, -1);
    if (!absent(root, "itl_ms")) t->itl_ms = jr_nonneg_array(root, "itl_ms", &t->itl_n);
}

static void keep_turn(reader *r, const witness_run *run, const witness_turn *t, const char *where) {
    if (r->found_n == r->found_cap) {
        size_t cap = r->found_cap ? 2 * r->found_cap : 256;
        found_turn *grown = realloc(r->found, cap * sizeof *grown);
        if (!grown) {
            err_set(r->e, E_NOMEM, where, "out of memory");
            return;
        }
        r->found = grown;
        r->found_cap = cap;
    }
    r->found[r->found_n++] = (found_turn){.run = (size_t)(run - r->runs), .t = *t};
}

static void warn(reader *r, const char *text) {
    assert(r->warnings); /* made by read_runs, for as many as there can be */
    if (text)
        r->warnings[r->warnings_n++] = text;
    else
        no_room(r, "");
}

/* Records whose run is not in runs.jsonl, and pieces that NUL bytes have cut. */
typedef struct stray {
    size_t unknown_n, first_line, cut_n;
    const char *first_id;
} stray;

static void read_record(reader *r, const file_bytes *f, const piece *p, stray *s) {
    char name[256];
    name_line(f, p->line, name);
    jr_doc d;
    if (!parse_piece(r, p, name, &d)) {
        s->cut_n++;
        return;
    }
    jr root = jr_root(&d);
    if (!absent(root, "schema")) jr_schema(root, WITNESS_SCHEMA);
    witness_turn t = {0};
    const char *id = jr_str(root, "run_id");
    read_turn(root, &t);
    const witness_run *run = find_run(r, id);
    if (r->e->code == OK && run) keep_turn(r, run, &t, name);
    if (!run && s->unknown_n++ == 0) {
        s->first_id = id;
        s->first_line = p->line;
    }
    jr_free(&d);
}

static void read_session(reader *r, const file_bytes *f) {
    stray s = {0};
    piece p;
    lines l = {.f = f};
    while (r->e->code == OK && next_piece(&l, &p)) read_record(r, f, &p, &s);
    if (r->e->code) return;
    const char *name = f->name + r->skip;
    if (l.nul_n && s.cut_n)
        warn(r, arena_printf(r->mem,
                             "%s: %zu NUL bytes where records should be: damaged copy; %zu cut "
                             "pieces of records left out",
                             name, l.nul_n, s.cut_n));
    else if (l.nul_n)
        warn(r, arena_printf(r->mem, "%s: %zu NUL bytes where records should be: damaged copy",
                             name, l.nul_n));
    if (s.unknown_n)
        warn(r, arena_printf(r->mem,
                             "%s: %zu records of a run_id that is not in runs.jsonl left out, "
                             "the first on line %zu (\"%s\")",
                             name, s.unknown_n, s.first_line, s.first_id));
}

/* ---- turns to their runs ---- */

static int cmp_turn(const void *a, const void *b) {
    const witness_turn *x = a, *y = b;
    if (x->agent != y->agent) return x->agent < y->agent ? -1 : 1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

static int64_t turns_each(const witness_run *run) {
    return run->n0 ? 1 : run->H;
}

/* What is wrong with turn t, whose neighbour before it in order is `before` (NULL: none); NULL:
 * nothing. */
static const char *fault_of(const witness_run *run, const witness_turn *t,
                            const witness_turn *before) {
    if (t->agent >= run->K) return "an agent beyond K";
    if (t->turn > turns_each(run)) return "a turn beyond H";
    if (t->out_tok != t->out_requested) return "out_tokens differs from out_requested";
    if (t->prompt_tok != t->cached_tok + t->new_tok)
        return "prompt_tokens is not cached_tokens + new_prompt_tokens";
    if (t->t_send_s < 0 || t->t_first_s < t->t_send_s || t->t_last_s < t->t_first_s ||
        t->t_done_s < t->t_last_s)
        return "impossible times, expected 0 <= t_send_s <= t_first_s <= t_last_s <= t_done_s";
    if (!before || before->agent != t->agent) return NULL;
    if (before->turn == t->turn) return "the turn is there twice";
    if (before->turn + 1 != t->turn) return "a gap in the turns before it";
    if (t->t_send_s < before->t_done_s)
        return "impossible times, sent before the turn before it was done";
    return NULL;
}

static void check_run(reader *r, witness_run *run) {
    int64_t distinct = 0;
    for (size_t i = 0; i < run->turns_n; i++) {
        const witness_turn *t = &run->turns[i], *before = i ? t - 1 : NULL;
        bool again = before && cmp_turn(before, t) == 0;
        distinct += t->agent < run->K && t->turn <= turns_each(run) && !again;
        const char *fault = run->excluded ? NULL : fault_of(run, t, before);
        if (!fault) continue;
        run->excluded = arena_printf(r->mem, "agent %lld turn %lld: %s", (long long)t->agent,
                                     (long long)t->turn, fault);
        if (!run->excluded) no_room(r, "");
    }
    run->complete = distinct == run->K * turns_each(run);
}

static double last_token_s(const witness_run *run) {
    double last = 0;
    for (size_t i = 0; i < run->turns_n; i++) last = fmax(last, run->turns[i].t_last_s);
    return last;
}

/* The two kinds of record were written by one client: more than rounding between them means that
 * one of them is of another run. */
static void check_wall(reader *r, const char *runs_name, const witness_run *run) {
    double last = last_token_s(run);
    if (!run->complete || run->excluded || run->wall_s == 0 || fabs(last - run->wall_s) <= 1e-3)
        return;
    warn(r, arena_printf(r->mem, "%s: run %s has wall_s %.6f, but its last token is at %.6f",
                         runs_name + r->skip, run->id, run->wall_s, last));
}

static void deal_out(reader *r, const char *runs_name) {
    witness_turn *turns = ARENA_ARRAY(r->mem, witness_turn, r->found_n);
    witness_turn **next = ARENA_ARRAY(r->mem, witness_turn *, r->runs_n);
    if (!turns || !next) {
        no_room(r, runs_name);
        return;
    }
    for (size_t i = 0; i < r->found_n; i++) r->runs[r->found[i].run].turns_n++;
    size_t at = 0;
    for (size_t i = 0; i < r->runs_n; i++) {
        r->runs[i].turns = next[i] = turns + at;
        at += r->runs[i].turns_n;
    }
    for (size_t i = 0; i < r->found_n; i++) *next[r->found[i].run]++ = r->found[i].t;
    for (size_t i = 0; i < r->runs_n && r->e->code == OK; i++) {
        witness_run *run = &r->runs[i];
        if (run->turns_n > 1) qsort(next[i] - run->turns_n, run->turns_n, sizeof *turns, cmp_turn);
        check_run(r, run);
        check_wall(r, runs_name, run);
    }
}

/* ---- entry points ---- */

static err_code parse_all(const file_bytes *runs, const file_bytes *sessions, size_t sessions_n,
                          size_t skip, arena *mem, witness *out, err *e) {
    reader r = {.mem = mem, .e = e, .skip = skip};
    *out = (witness){0};
    if (e->code) return e->code;
    read_runs(&r, runs, sessions_n);
    for (size_t i = 0; i < sessions_n && e->code == OK; i++) read_session(&r, &sessions[i]);
    if (e->code == OK) deal_out(&r, runs->name);
    free(r.found);
    if (e->code == OK)
        *out = (witness){
            .runs = r.runs, .n = r.runs_n, .warnings = r.warnings, .warnings_n = r.warnings_n};
    return e->code;
}

err_code witness_parse(const file_bytes *runs, const file_bytes *sessions, size_t sessions_n,
                       arena *mem, witness *out, err *e) {
    return parse_all(runs, sessions, sessions_n, 0, mem, out, e);
}

static bool is_session(const char *name) {
    size_t len = strlen(name);
    return name[0] != '.' && len > 6 && strcmp(name + len - 6, ".jsonl") == 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Paths of the session files in name order; *n 0 with `e` set when there are none. */
static const char **session_paths(const char *folder, arena *mem, size_t *n, err *e) {
    *n = 0;
    DIR *d = opendir(folder);
    if (!d) {
        err_set(e, E_IO, folder, "cannot be opened: %s, expected a folder of *.jsonl files",
                strerror(errno));
        return NULL;
    }
    size_t max = 0;
    for (const struct dirent *it; (it = readdir(d));) max += is_session(it->d_name);
    const char **paths = ARENA_ARRAY(mem, const char *, max);
    rewinddir(d);
    for (const struct dirent *it; paths && *n < max && (it = readdir(d));) {
        if (!is_session(it->d_name)) continue;
        const char *path = arena_printf(mem, "%s/%s", folder, it->d_name);
        if (path)
            paths[(*n)++] = path;
        else
            err_set(e, E_LIMIT, folder, "does not fit the memory budget");
    }
    closedir(d);
    if (!paths) err_set(e, E_LIMIT, folder, "does not fit the memory budget");
    if (*n == 0) err_set(e, E_IO, folder, "found no *.jsonl file, expected one or more");
    if (*n > 1) qsort(paths, *n, sizeof *paths, by_name);
    return paths;
}

err_code witness_load(const char *dir, arena *mem, witness *out, err *e) {
    *out = (witness){0};
    DIR *d = opendir(dir);
    if (!d)
        return err_set(e, E_IO, dir,
                       "cannot be opened: %s, expected a folder with runs.jsonl and sessions/",
                       strerror(errno));
    closedir(d);
    const char *runs_path = arena_printf(mem, "%s/runs.jsonl", dir);
    const char *folder = arena_printf(mem, "%s/sessions", dir);
    if (!runs_path || !folder) return err_set(e, E_LIMIT, dir, "does not fit the memory budget");
    size_t n = 0;
    const char **paths = session_paths(folder, mem, &n, e);
    file_bytes *files = ARENA_ARRAY(mem, file_bytes, n + 1);
    if (!files) err_set(e, E_LIMIT, dir, "does not fit the memory budget");
    if (e->code || file_read(runs_path, mem, &files[0], e)) return e->code;
    for (size_t i = 0; i < n; i++)
        if (file_read(paths[i], mem, &files[i + 1], e)) return e->code;
    if (parse_all(&files[0], files + 1, n, strlen(dir) + 1, mem, out, e)) return e->code;
    out->files = files;
    out->files_n = n + 1;
    return OK;
}

/* ---- what the turns say ---- */

static witness_summary summarise(double *ttft_s, size_t n) {
    if (n == 0) return (witness_summary){0};
    stat_sort_f64(ttft_s, n);
    return (witness_summary){.n = (int64_t)n,
                             .p50_s = ttft_s[stat_rank(n, 500000)],
                             .p95_s = ttft_s[stat_rank(n, 950000)]};
}

bool witness_measure(const witness_run *r, arena *scratch, double *wall_s, witness_summary *cold,
                     witness_summary *warm, witness_summary *all, double *itl_p50_ms,
                     double *itl_p99_ms) {
    if (!r->complete) return false;
    size_t itl_n = 0, cold_n = 0, warm_n = 0;
    for (size_t i = 0; i < r->turns_n; i++) itl_n += r->turns[i].itl_n;
    double *itl = ARENA_ARRAY(scratch, double, itl_n);
    double *cold_s = ARENA_ARRAY(scratch, double, r->turns_n);
    double *warm_s = ARENA_ARRAY(scratch, double, r->turns_n);
    double *all_s = ARENA_ARRAY(scratch, double, r->turns_n);
    if (!itl || !cold_s || !warm_s || !all_s) return false;
    size_t at = 0;
    for (size_t i = 0; i < r->turns_n; i++) {
        const witness_turn *t = &r->turns[i];
        double ttft_s = t->t_first_s - t->t_send_s;
        all_s[i] = ttft_s;
        if (t->turn == 1)
            cold_s[cold_n++] = ttft_s;
        else
            warm_s[warm_n++] = ttft_s;
        if (t->itl_n) memcpy(itl + at, t->itl_ms, t->itl_n * sizeof *itl);
        at += t->itl_n;
    }
    stat_sort_f64(itl, itl_n);
    *wall_s = last_token_s(r);
    *cold = summarise(cold_s, cold_n);
    *warm = summarise(warm_s, warm_n);
    *all = summarise(all_s, r->turns_n);
    *itl_p50_ms = itl_n ? itl[stat_rank(itl_n, 500000)] : 0;
    *itl_p99_ms = itl_n ? itl[stat_rank(itl_n, 990000)] : 0;
    return true;
}
