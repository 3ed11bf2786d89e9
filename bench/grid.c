#include "grid.h"

#include "process.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is wanted ---- */

void grid_want_init(grid_want *w) {
    *w = (grid_want){
        .prefill_tok = {{12, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}, 11},
        .batch_n = {{1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 32}, 11},
        .depth_tok = {{4096, 1024, 8192, 16384}, 4},
        .context_tok = {{512, 4096, 2048, 128}, 4},
        .samples_n = 5,
        .repeats_n = 3,
        .flash_attn = "on",
        .gpu_layers = "99",
    };
}

static int by_value(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_unique(grid_list *l) {
    size_t n = 0;
    qsort(l->v, l->n, sizeof *l->v, by_value);
    for (size_t i = 0; i < l->n; i++)
        if (n == 0 || l->v[n - 1] != l->v[i]) l->v[n++] = l->v[i];
    l->n = n;
}

err_code grid_list_parse(const char *option, const char *text, bool rising, grid_list *out,
                         err *e) {
    const long long max = 10000000;
    *out = (grid_list){0};
    for (const char *p = text;; p++) {
        char *end = NULL;
        errno = 0;
        long long v = strtoll(p, &end, 10);
        if (errno || end == p || (*end && *end != ',') || v < 1 || v > max)
            return err_set(e, E_USAGE, option,
                           "found \"%.60s\", expected whole numbers > 0 with commas between", text);
        if (out->n == GRID_LIST_MAX)
            return err_set(e, E_USAGE, option, "over %d values", GRID_LIST_MAX);
        out->v[out->n++] = v;
        p = end;
        if (!*p) break;
    }
    if (rising) sort_unique(out);
    return OK;
}

/* ---- how long things take ---- */

/* About a laptop's GPU: 100 GB/s of weights in a decode step, 5 x 10^12 operations a second in a
 * prompt, two for each of about 1.4 parameters a byte. */
grid_speed grid_speed_guess(const grid_model *m) {
    double bytes = (double)m->weights_bytes;
    return (grid_speed){.prefill_tok_s = 5e12 / (2 * 1.4 * bytes), .step_s = bytes / 100e9 + 0.002};
}

static double load_s(const grid_model *m) {
    return 2 + (double)m->weights_bytes / 2e9;
}

/* Short prompts cost a pass over the weights; attention doubles a token's price by 30,000 tokens of
 * depth (between what Apple and NVIDIA chips of the shipped cards show). */
static double prompt_s(const grid_speed *s, int64_t n, int64_t depth) {
    double rows = (double)n / s->prefill_tok_s, pass = 1.3 * s->step_s;
    double attention = 1 + ((double)depth + (double)n / 2) / 30000;
    return (rows > pass ? rows : pass) * attention;
}

/* A step of 32 sequences takes 2.3 (H200) to 4 times (M2 Ultra) the one of one; KV is read at the
 * speed of weights. */
static double step_s(const grid_model *m, const grid_speed *s, int64_t batch, int64_t context) {
    double kv = (double)(batch * context) * (double)m->kv_bytes_per_tok;
    return s->step_s * (1 + 0.1 * (double)(batch - 1) + kv / (double)m->weights_bytes);
}

/* ---- one command in the making ---- */

enum { LOST_MAX = 256, COMMANDS_MAX = 256 };

typedef struct maker {
    const grid_want *w;
    const grid_model *m;
    const grid_speed *s;
    arena *mem;
    double left_s;
    int64_t kv_tok; /* KV cells that fit the memory */
    grid *g;
    bool no_memory;
} maker;

/* Prompts x depths, or decodes x depths, or batches behind one context. */
typedef struct sketch {
    const char *name;
    grid_tool tool;
    grid_list prompt, depth, batch; /* llama-bench: prompt or gen; batched: one prompt */
    bool decode;                    /* llama-bench: generate GRID_GEN_TOK tokens, too */
    int64_t samples_n;
    bool kept; /* stays however long it takes */
} sketch;

static void lose(maker *k, const char *why, const char *what) {
    if (!what) k->no_memory = true;
    if (what && k->g->lost_n < LOST_MAX)
        k->g->lost[k->g->lost_n++] = (grid_lost){.what = what, .why = why};
}

/* KV cells of one batched cell. */
static int64_t batched_tok(const grid_want *w, int64_t context, int64_t batch) {
    int64_t prompts = w->shared_prompt && w->unified ? 1 : batch;
    return prompts * context + batch * GRID_GEN_TOK;
}

static int64_t last(const grid_list *l) {
    return l->n ? l->v[l->n - 1] : 0;
}

static int64_t largest(const grid_list *l) {
    int64_t v = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i] > v) v = l->v[i];
    return v;
}

/* What the tool allocates: without unified KV it divides -c by the largest batch, and rounds each
 * share up to 256. */
static int64_t context_size(const grid_want *w, const sketch *k) {
    if (k->tool == GRID_BENCH) {
        int64_t most = largest(&k->prompt), gen = k->decode ? GRID_GEN_TOK : 0;
        return largest(&k->depth) + (most > gen ? most : gen);
    }
    int64_t batch = last(&k->batch), all = batched_tok(w, k->prompt.v[0], batch);
    int64_t step = w->unified ? 256 : 256 * batch;
    return (all + step - 1) / step * step;
}

static double bench_s(const maker *k, const sketch *c) {
    double s = load_s(k->m);
    for (size_t d = 0; d < c->depth.n; d++) {
        int64_t depth = c->depth.v[d];
        if (depth > 0) s += prompt_s(k->s, depth, 0); /* later tests restore it */
        for (size_t i = 0; i < c->prompt.n; i++)
            s += (double)(c->samples_n + 1) * prompt_s(k->s, c->prompt.v[i], depth);
        if (c->decode) s += (double)(c->samples_n * GRID_GEN_TOK) * step_s(k->m, k->s, 1, depth);
    }
    return s;
}

static double batched_s(const maker *k, const sketch *c) {
    int64_t context = c->prompt.v[0];
    double s = load_s(k->m);
    for (size_t i = 0; i <= c->batch.n; i++) { /* the first one twice */
        int64_t b = c->batch.v[i ? i - 1 : 0];
        s += (double)(k->w->shared_prompt ? 1 : b) * prompt_s(k->s, context, 0);
        s += GRID_GEN_TOK * step_s(k->m, k->s, b, context + GRID_GEN_TOK / 2);
    }
    return s;
}

static double sketch_s(const maker *k, const sketch *c) {
    return c->tool == GRID_BENCH ? bench_s(k, c) : batched_s(k, c);
}

static void take_out(grid_list *l, size_t at) {
    memmove(l->v + at, l->v + at + 1, (l->n - at - 1) * sizeof *l->v);
    l->n--;
}

/* The batch that can be spared first; the smallest one stays last. */
static size_t sparest(const grid_list *l) {
    static const int64_t SPARE[] = {32, 12, 6, 16, 5, 3, 9, 8, 4, 2};
    int64_t most = last(l);
    if (most > 32) return l->n - 1;
    for (size_t i = 0; i < sizeof SPARE / sizeof *SPARE; i++)
        for (size_t b = 1; b < l->n; b++)
            if (l->v[b] == SPARE[i]) return b;
    return l->n - 1;
}

/* Takes one value off a sketch and says which in `lost`; false: nothing is left. For room the
 * largest batch has to go, for time the one that can be spared. */
static bool shrink(sketch *c, bool for_room, buf *lost) {
    grid_list *l = c->tool == GRID_BATCHED ? &c->batch : c->depth.n > 1 ? &c->depth : &c->prompt;
    if (l->n == 0 || (l == &c->prompt && c->decode)) return false;
    size_t at = c->tool == GRID_BATCHED && !for_room ? sparest(l) : l->n - 1;
    const char *of = l == &c->batch ? "B =" : l == &c->depth ? "depth" : "prompts of";
    if (lost->len == 0)
        buf_addf(lost, "%s: %s %lld", c->name, of, (long long)l->v[at]);
    else
        buf_addf(lost, ", %lld", (long long)l->v[at]);
    take_out(l, at);
    return l->n > 0;
}

/* Of one sequence. */
static int64_t reach_tok(const maker *k, const sketch *c) {
    return c->tool == GRID_BATCHED ? c->prompt.v[0] + GRID_GEN_TOK : context_size(k->w, c);
}

static bool too_large(const maker *k, const sketch *c) {
    return context_size(k->w, c) > k->kv_tok;
}

static bool too_long(const maker *k, const sketch *c) {
    return k->m->context_train_tok > 0 && reach_tok(k, c) > k->m->context_train_tok;
}

static bool too_slow(const maker *k, const sketch *c) {
    return !c->kept && sketch_s(k, c) > k->left_s;
}

/* Makes a sketch smaller until it is no longer too much; what was lost is told. false: all of it.
 */
static bool fit(maker *k, sketch *c, bool (*too_much)(const maker *, const sketch *), bool for_room,
                const char *why) {
    buf lost;
    buf_init(&lost);
    bool any = true;
    while (any && too_much(k, c)) any = shrink(c, for_room, &lost);
    if (any && lost.len) lose(k, why, arena_strdup(k->mem, lost.s));
    buf_done(&lost);
    return any;
}

/* Within the model's context, the memory and the time; all or part of it may be lost. */
static bool fit_all(maker *k, sketch *c) {
    static const char CONTEXT[] = "the model's context", MEMORY[] = "memory", TIME[] = "time";
    size_t before = k->g->lost_n;
    const char *why = !fit(k, c, too_long, true, CONTEXT)   ? CONTEXT
                      : !fit(k, c, too_large, true, MEMORY) ? MEMORY
                      : !fit(k, c, too_slow, false, TIME)   ? TIME
                                                            : NULL;
    if (!why) return true;
    k->g->lost_n = before;
    lose(k, why, arena_printf(k->mem, "%s", c->name));
    return false;
}

/* ---- its command line and its cells ---- */

enum { ARGV_MAX = 48 };

typedef struct words {
    const char **v;
    size_t n;
    arena *mem;
} words;

static void word(words *w, const char *s) {
    if (w->n + 1 < ARGV_MAX) w->v[w->n++] = s;
}

static void option(words *w, const char *name, const char *value) {
    if (!value) return;
    word(w, name);
    word(w, value);
}

static const char *list_text(const grid_list *l, bool twice, arena *mem) {
    buf b;
    buf_init(&b);
    if (twice && l->n) buf_addf(&b, "%lld,", (long long)l->v[0]);
    for (size_t i = 0; i < l->n; i++) buf_addf(&b, "%s%lld", i ? "," : "", (long long)l->v[i]);
    const char *s = arena_strdup(mem, b.s);
    buf_done(&b);
    return s;
}

static const char *count_text(int64_t v, arena *mem) {
    return arena_printf(mem, "%lld", (long long)v);
}

static void bench_words(const grid_want *w, const sketch *c, words *a) {
    const char *fa = w->flash_attn; /* builds before "on" know 1 and 0 only */
    if (fa && strcmp(fa, "on") == 0) fa = "1";
    if (fa && strcmp(fa, "off") == 0) fa = "0";
    word(a, w->bench);
    option(a, "-m", w->model);
    option(a, "-ngl", w->gpu_layers);
    option(a, "-fa", fa);
    option(a, "-t", w->threads);
    option(a, "-b", w->batch);
    option(a, "-ub", w->ubatch);
    option(a, "-o", "jsonl");
    option(a, "-r", count_text(c->samples_n, a->mem));
    option(a, "-p", c->prompt.n ? list_text(&c->prompt, false, a->mem) : "0");
    option(a, "-n", c->decode ? count_text(GRID_GEN_TOK, a->mem) : "0");
    if (largest(&c->depth) > 0) option(a, "-d", list_text(&c->depth, false, a->mem));
}

static void batched_words(const grid_want *w, const sketch *c, words *a) {
    word(a, w->batched);
    option(a, "-m", w->model);
    option(a, "-ngl", w->gpu_layers);
    option(a, "-fa", w->flash_attn);
    option(a, "-t", w->threads);
    option(a, "-b", w->batch);
    option(a, "-ub", w->ubatch);
    option(a, "--output-format", "jsonl");
    option(a, "-c", count_text(context_size(w, c), a->mem));
    if (w->unified) word(a, "-kvu");
    if (w->shared_prompt) word(a, "-pps");
    option(a, "-npp", count_text(c->prompt.v[0], a->mem));
    option(a, "-ntg", count_text(GRID_GEN_TOK, a->mem));
    option(a, "-npl", list_text(&c->batch, true, a->mem));
}

static void add_cell(grid_command *c, grid_cell *cells, grid_cell cell) {
    cells[c->cells_n++] = cell;
}

static void make_cells(const sketch *k, grid_command *c, grid_cell *cells) {
    if (k->tool == GRID_BATCHED) {
        for (size_t i = 0; i <= k->batch.n; i++)
            add_cell(c, cells,
                     (grid_cell){k->prompt.v[0], GRID_GEN_TOK, 0, k->batch.v[i ? i - 1 : 0]});
        return;
    }
    for (size_t i = 0; i < k->prompt.n; i++)
        for (size_t d = 0; d < k->depth.n; d++)
            add_cell(c, cells, (grid_cell){k->prompt.v[i], 0, k->depth.v[d], 1});
    for (size_t d = 0; k->decode && d < k->depth.n; d++)
        add_cell(c, cells, (grid_cell){0, GRID_GEN_TOK, k->depth.v[d], 1});
}

/* A sketch becomes a command if anything of it fits; what does not is told. */
static void add(maker *k, sketch c) {
    if (!c.name) k->no_memory = true;
    if (k->no_memory || k->g->n == COMMANDS_MAX) return;
    if (c.tool == GRID_BENCH ? c.prompt.n == 0 && !c.decode : c.batch.n == 0) return;
    if (!fit_all(k, &c)) return;
    size_t cells_n = c.tool == GRID_BATCHED ? c.batch.n + 1 : (c.prompt.n + 1) * c.depth.n;
    words a = {.v = ARENA_ARRAY(k->mem, const char *, ARGV_MAX), .mem = k->mem};
    grid_cell *cells = ARENA_ARRAY(k->mem, grid_cell, cells_n);
    if (!a.v || !cells) {
        k->no_memory = true;
        return;
    }
    grid_command *o = &k->g->commands[k->g->n++];
    *o = (grid_command){.name = c.name, .tool = c.tool, .argv = a.v, .cells = cells};
    (c.tool == GRID_BENCH ? bench_words : batched_words)(k->w, &c, &a);
    make_cells(&c, o, cells);
    o->ctx_tok = context_size(k->w, &c);
    o->memory_bytes = k->m->weights_bytes + o->ctx_tok * k->m->kv_bytes_per_tok;
    o->estimate_s = sketch_s(k, &c);
    k->left_s -= o->estimate_s;
    k->g->estimate_s += o->estimate_s;
}

/* ---- the order ---- */

static void add_start(maker *k) {
    const grid_list *p = &k->w->prefill_tok;
    int64_t prompt = p->v[0];
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i] <= GRID_SHORT_TOK) prompt = p->v[i];
    add(k, (sketch){.name = "start",
                    .prompt = {{prompt}, 1},
                    .depth = {{0}, 1},
                    .decode = true,
                    .samples_n = k->w->samples_n,
                    .kept = true});
}

static void add_batched(maker *k, size_t context, int64_t run) {
    if (context >= k->w->context_tok.n || run > k->w->repeats_n) return;
    int64_t c = k->w->context_tok.v[context];
    add(k, (sketch){.name = arena_printf(k->mem, "batched_%lld_%lld", (long long)c, (long long)run),
                    .tool = GRID_BATCHED,
                    .prompt = {{c}, 1},
                    .batch = k->w->batch_n});
}

static void add_decode_depth(maker *k) {
    sketch c = {.name = "decode_depth",
                .depth = k->w->depth_tok,
                .decode = true,
                .samples_n = k->w->samples_n};
    sort_unique(&c.depth);
    if (c.depth.n) add(k, c);
}

/* Prompts of one side of GRID_SHORT_TOK. Long ones know no cold start: three samples are enough. */
static void add_prompts(maker *k, const char *name, bool is_short, int64_t depth) {
    int64_t n = k->w->samples_n;
    sketch c = {.name = name, .depth = {{depth}, 1}, .samples_n = is_short || n < 3 ? n : 3};
    const grid_list *p = &k->w->prefill_tok;
    int64_t started = k->g->n ? k->g->commands[0].cells[0].prompt_tok : 0;
    for (size_t i = 0; i < p->n; i++)
        if ((p->v[i] <= GRID_SHORT_TOK) == is_short && (depth > 0 || p->v[i] != started))
            c.prompt.v[c.prompt.n++] = p->v[i];
    add(k, c);
}

static void add_depth(maker *k, size_t i) {
    if (i >= k->w->depth_tok.n) return;
    int64_t d = k->w->depth_tok.v[i];
    add_prompts(k, arena_printf(k->mem, "prefill_depth_%lld", (long long)d), true, d);
}

static void add_all(maker *k) {
    const grid_want *w = k->w;
    add_start(k);
    add_batched(k, 0, 1);
    add_depth(k, 0); /* with `start`, the least that a projection can be made of */
    add_decode_depth(k);
    add_prompts(k, "prefill_short", true, 0);
    add_prompts(k, "prefill_long", false, 0);
    add_batched(k, 1, 1);
    add_depth(k, 1);
    for (size_t c = 0; c < 2; c++)
        for (int64_t run = 2; run <= w->repeats_n; run++) add_batched(k, c, run);
    for (size_t d = 2; d < w->depth_tok.n; d++) add_depth(k, d);
    for (size_t c = 2; c < w->context_tok.n; c++)
        for (int64_t run = 1; run <= w->repeats_n; run++) add_batched(k, c, run);
}

/* A tenth of the memory stays free, and 1 GiB (of a small memory an eighth) is for buffers. */
static int64_t kv_room_bytes(int64_t memory_bytes, int64_t weights_bytes) {
    int64_t gib = (int64_t)1 << 30, buffers = memory_bytes / 8 < gib ? memory_bytes / 8 : gib;
    return memory_bytes - memory_bytes / 10 - buffers - weights_bytes;
}

err_code grid_make(const grid_want *w, const grid_model *m, const grid_speed *s, double time_s,
                   int64_t memory_bytes, arena *mem, grid *out, err *e) {
    const double gib = 1024.0 * 1024 * 1024;
    int64_t room = kv_room_bytes(memory_bytes, m->weights_bytes);
    if (room < (GRID_SHORT_TOK + GRID_GEN_TOK) * m->kv_bytes_per_tok)
        return err_set(e, E_REFUSED, "memory",
                       "weights of %.2f GiB, buffers and a cache do not fit %.2f GiB: a smaller "
                       "model, or --memory-gib N where there is more",
                       (double)m->weights_bytes / gib, (double)memory_bytes / gib);
    *out = (grid){.commands = ARENA_ARRAY(mem, grid_command, COMMANDS_MAX),
                  .lost = ARENA_ARRAY(mem, grid_lost, LOST_MAX)};
    maker k = {.w = w,
               .m = m,
               .s = s,
               .mem = mem,
               .left_s = time_s,
               .kv_tok = room / m->kv_bytes_per_tok,
               .g = out,
               .no_memory = !out->commands || !out->lost};
    if (!k.no_memory) add_all(&k);
    if (k.no_memory) return err_set(e, E_LIMIT, "", "the plan does not fit the memory budget");
    if (out->n == 0 || strcmp(out->commands[0].name, "start") != 0)
        return err_set(e, E_REFUSED, "start", "not even the first measurement fits: %s",
                       out->lost_n ? out->lost[0].why : "memory");
    return OK;
}

void grid_command_line(const grid_command *c, buf *out) {
    for (size_t i = 0; c->argv[i]; i++) {
        if (i) buf_add(out, " ");
        buf_add_word(out, c->argv[i]);
    }
}

const char *grid_cell_text(const grid_command *c, const grid_cell *cell, arena *mem) {
    if (c->tool == GRID_BATCHED)
        return arena_printf(mem, "B = %lld behind %lld", (long long)cell->batch_n,
                            (long long)cell->prompt_tok);
    if (cell->prompt_tok > 0)
        return arena_printf(mem, "prompt %lld at depth %lld", (long long)cell->prompt_tok,
                            (long long)cell->depth_tok);
    return arena_printf(mem, "decode at depth %lld", (long long)cell->depth_tok);
}
