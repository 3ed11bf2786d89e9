/* Tables of llama-batched-bench (2023 to 2026, the configuration on a line above) and of
 * sweep-bench, which looks alike: no B, and N_KV is the depth before the test instead of the cells
 * used after it. sweep-bench's JSON lines as well. S_TG and S_PP are of all sequences together. */
#include "import_llama.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const int64_t TOK_MAX = 1000000000, BATCH_MAX = 100000;
static const double S_MAX = 1e9;
enum { FEW_ROWS = 8 };

/* One line of either tool. */
typedef struct line_of {
    int64_t pp, tg, b, n_kv; /* -1: not stated */
    double t_pp, s_pp, t_tg, s_tg, t, s;
    double time_step, rate_step; /* what the digits of times and rates leave open */
    bool shared, sweep;
    kv_layout layout;
} line_of;

/* ---- rows ---- */

/* `tok` tokens in `time` seconds at `rate`; either may be missing. Keeps what has more digits. */
static void take_rate(import *in, import_row *r, const line_of *l, const char *what, double time,
                      double rate, double tok) {
    bool timed = time > 0 && time <= S_MAX, rated = rate > 0 && rate <= 1e15;
    if (!timed && !rated) {
        import_refuse(in, r, "neither time nor rate of %s is a finite number > 0", what);
        return;
    }
    if ((isfinite(time) && !timed && time != 0) || (isfinite(rate) && !rated)) {
        import_refuse(in, r, "time or rate of %s is zero, negative or beyond a clock", what);
        return;
    }
    if (timed && rated && fabs(rate - tok / time) > l->rate_step &&
        import_contradicts(rate, tok / time, time, l->time_step)) {
        import_refuse(in, r, "S_%s %.6g tok/s contradicts %.0f tokens in %.6g s, %.6g tok/s", what,
                      rate, tok, time, tok / time);
        return;
    }
    r->tok_s = rated ? rate : tok / time;
    r->per_seq_tok_s = r->tok_s / (double)r->batch_n;
    bool finer = timed && (!rated || l->time_step / time < l->rate_step / rate);
    double *sample = finer ? ARENA_NEW(in->mem, double) : NULL;
    if (!sample) return;
    *sample = time;
    r->samples_s = sample;
    r->samples_n = 1;
}

static import_row *new_row(import *in, const char *file, size_t line, const line_of *l,
                           import_phase ph, const char *const *setting) {
    import_row *r = import_row_new(in, file, line);
    if (!r) return NULL;
    bool decode = ph == IMPORT_DECODE;
    r->phase = ph;
    r->n_prompt = decode && l->sweep ? 0 : l->pp;
    r->n_gen = decode ? l->tg : 0;
    r->depth_tok = l->sweep ? l->n_kv : 0;
    r->batch_n = !decode && l->shared ? 1 : l->b;
    r->shared_prompt = l->shared;
    r->per_request = l->sweep;
    r->layout = l->layout;
    import_settings_keep(in, r, setting);
    return r;
}

static void record_of(import *in, const char *file, size_t line, const line_of *l) {
    if (!import_record_new(in, file, line, IMPORT_TEST, 15)) return;
    import_record_num(in, "pp", (double)l->pp);
    import_record_num(in, "tg", (double)l->tg);
    if (!l->sweep) import_record_num(in, "b", (double)l->b);
    if (l->shared) import_record_num(in, "is_pp_shared", 1);
    if (l->n_kv >= 0) import_record_num(in, l->sweep ? "depth" : "n_kv", (double)l->n_kv);
    import_record_stated(in, "t_pp", l->t_pp);
    import_record_stated(in, "s_pp", l->s_pp);
    import_record_stated(in, "t_tg", l->t_tg);
    import_record_stated(in, "s_tg", l->s_tg);
    import_record_stated(in, "t", l->t);
    import_record_stated(in, "s", l->s);
    if (!l->sweep && l->tg > 0) import_record_stated(in, "per_seq_tg", l->s_tg / (double)l->b);
}

/* A prefill row and a decode row; *decode: index + 1 of the latter. `separate`: -tgs. */
static void add_rows(import *in, const char *file, size_t line, const line_of *l, bool separate,
                     const char *const *setting, size_t *prefill, size_t *decode) {
    *prefill = *decode = 0;
    import_row *r = l->pp > 0 ? new_row(in, file, line, l, IMPORT_PREFILL, setting) : NULL;
    if (r) {
        double tok = (double)(r->batch_n * l->pp);
        take_rate(in, r, l, "PP", l->t_pp, l->s_pp, tok);
        if (!r->refused && tok <= FEW_ROWS)
            r->refused = "a step of so few rows runs the kernels of decode: no prefill rate";
        *prefill = in->rows_n;
    }
    r = l->tg > 0 ? new_row(in, file, line, l, IMPORT_DECODE, setting) : NULL;
    if (!r) return;
    take_rate(in, r, l, "TG", l->t_tg, l->s_tg, (double)(l->b * l->tg));
    if (!r->refused && separate && l->b > 1)
        r->refused = "sequences decoded one after another (-tgs): no step of a batch";
    *decode = in->rows_n;
}

/* ---- tables ---- */

static double step_of(const number *n) {
    return n->kind == NUMBER_OK ? 0.5 * pow(10, -n->decimals) : 0;
}

static number cell_number(const llama_table *t, const cells *row, const char *column, bool comma) {
    const char *cell = cells_at(row, table_column(&t->header, column));
    char text[128];
    if (!cell) return (number){.kind = NUMBER_NONE, .v = (double)NAN};
    bench_plain(cell, text, sizeof text);
    number n = number_at(text, comma);
    if (n.kind != NUMBER_NONE && text[n.len]) n = (number){.kind = NUMBER_NONE, .v = (double)NAN};
    return n;
}

/* A count of that column; -1: no column or an empty cell; -2: no count. */
static int64_t cell_count(const llama_table *t, const cells *row, const char *column, int64_t max) {
    if (!cells_at(row, table_column(&t->header, column))) return -1;
    number n = cell_number(t, row, column, false);
    if (n.kind != NUMBER_OK || n.v < 0 || n.v > (double)max || n.v != floor(n.v)) return -2;
    return (int64_t)n.v;
}

/* false: cells that are no numbers, which is a note already. */
static bool read_line(llama_table *t, size_t line, const char *text, const cells *row, line_of *l) {
    static const char *const COLUMNS[] = {"T_PP", "S_PP", "T_TG", "S_TG", "T", "S"};
    /* three decimals are ambiguous ("0,108"); the two of a rate in the same line are not */
    bool comma = number_text_has_decimal_comma(text, strlen(text));
    double *v[] = {&l->t_pp, &l->s_pp, &l->t_tg, &l->s_tg, &l->t, &l->s};
    *l = (line_of){.sweep = t->kind == TABLE_SWEEP};
    l->pp = cell_count(t, row, "PP", TOK_MAX);
    l->tg = cell_count(t, row, "TG", TOK_MAX);
    l->b = l->sweep ? 1 : cell_count(t, row, "B", BATCH_MAX);
    l->n_kv = cell_count(t, row, "N_KV", (int64_t)1 << 40);
    bool ok = l->pp >= 0 && l->tg >= 0 && l->b >= 1 && l->n_kv != -2 && (!l->sweep || l->n_kv >= 0);
    if (!ok || l->pp + l->tg == 0) {
        import_fault(t->in, t->file, line,
                     "PP, TG%s or N_KV is no whole number in range, or nothing was measured",
                     l->sweep ? "" : ", B");
        return false;
    }
    for (size_t i = 0; i < 6; i++) {
        number n = cell_number(t, row, COLUMNS[i], comma);
        *v[i] = n.v;
        double step = step_of(&n);
        if (i % 2 == 0 && step > l->time_step) l->time_step = step;
        if (i % 2 == 1 && step > l->rate_step) l->rate_step = step;
    }
    return true;
}

void table_batched_row(llama_table *t, size_t line, const char *text, const cells *row) {
    import *in = t->in;
    line_of l;
    size_t prefill, decode;
    t->rows_n++;
    if (!read_line(t, line, text, row, &l)) return;
    bool fits = true;
    if (!l.sweep) {
        l.shared = t->shared >= 0
                       ? t->shared == 1
                       : l.b > 1 && l.n_kv == l.pp + l.b * l.tg && l.n_kv != l.b * (l.pp + l.tg);
        fits = batched_layout(l.pp, l.tg, l.b, l.n_kv, l.shared, &l.layout);
    }
    record_of(in, t->file, line, &l);
    add_rows(in, t->file, line, &l, t->separate == 1, t->config, &prefill, &decode);
    for (int i = 0; i < 2 && !fits; i++) {
        size_t at = i ? decode : prefill;
        if (at)
            import_refuse(in, &in->rows[at - 1],
                          "N_KV is %lld, expected %lld (%lld with one prompt for all)",
                          (long long)l.n_kv, (long long)(l.b * (l.pp + l.tg)),
                          (long long)(l.pp + l.b * l.tg));
    }
    if (decode && !l.sweep)
        batched_fall(in, t->last_decode ? &in->rows[t->last_decode - 1] : NULL,
                     &in->rows[decode - 1]);
    if (decode) t->last_decode = decode;
    for (int i = 0; i < 2; i++) {
        size_t at = i ? decode : prefill;
        if (!at) continue;
        char key[200];
        snprintf(key, sizeof key, "%d %zu %lld %lld %lld %lld %d", i, t->tables_n, (long long)l.pp,
                 (long long)l.tg, (long long)l.b, (long long)l.n_kv, l.shared);
        bench_keys_add(in, &t->keys, key, at - 1);
    }
}

/* Value of "NAME = N" in the line; false: not there. */
static bool config_value(const char *line, const char *name, char *out, size_t size) {
    size_t n = strlen(name);
    for (const char *p = line; (p = strstr(p, name)); p += n) {
        const char *v = p + n + strspn(p + n, " ");
        if ((p > line && p[-1] != ' ' && p[-1] != ',') || *v != '=') continue;
        v += 1 + strspn(v + 1, " ");
        size_t len = strcspn(v, ", \t");
        snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), v);
        return len > 0;
    }
    return false;
}

void table_config(llama_table *t, const char *line) {
    static const char *const NAMES[] = {"n_batch", "n_ubatch", "flash_attn", "n_gpu_layers",
                                        "n_threads"};
    char v[32];
    memset(t->config, 0, sizeof t->config);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (config_value(line, NAMES[i], v, sizeof v))
            bench_set(t->in->mem, t->config, NAMES[i], v);
    t->shared = config_value(line, "is_pp_shared", v, sizeof v) ? strcmp(v, "0") != 0 : -1;
    t->separate = config_value(line, "is_tg_separate", v, sizeof v) ? strcmp(v, "0") != 0 : -1;
}

/* ---- sweep-bench --output-format jsonl ---- */

static void read_sweep(import_cursor *c, const import_piece *p, jr o) {
    line_of l = {.b = 1, .sweep = true, .time_step = 5e-7, .rate_step = 5e-7};
    const char *setting[IMPORT_SETTINGS_N] = {0};
    l.pp = jr_int(o, "pp", 0, TOK_MAX);
    l.tg = jr_int(o, "tg", 0, TOK_MAX);
    l.n_kv = jr_int(o, "n_kv", 0, TOK_MAX);
    l.t_pp = import_num(o, "t_pp");
    l.s_pp = import_num(o, "speed_pp");
    l.t_tg = import_num(o, "t_tg");
    l.s_tg = import_num(o, "speed_tg");
    l.t = l.s = (double)NAN;
    import_common_settings(o, setting);
    size_t prefill, decode;
    if (jr_ok(o) && l.pp + l.tg == 0)
        import_fault(c->in, c->name, p->line, "pp and tg are 0: nothing was measured");
    if (!jr_ok(o) || l.pp + l.tg == 0) return;
    record_of(c->in, c->name, p->line, &l);
    add_rows(c->in, c->name, p->line, &l, false, setting, &prefill, &decode);
}

static err_code read_sweep_lines(import *in, import_text *t) {
    import_cursor c = import_start(in, t);
    import_piece p;
    while (import_next_line(&c, &p)) {
        jr_doc doc;
        err e;
        if (!import_open(&c, &p, &doc, &e)) continue;
        jr o = jr_root(&doc);
        if (jr_present(jr_get(o, "speed_tg")) && !jr_present(jr_get(o, "pl")))
            read_sweep(&c, &p, o);
        else
            import_warn(in, c.name, p.line, "JSON, but no sweep-bench row, skipped");
        (void)import_close(&c, &p, &doc);
    }
    import_end(&c);
    return in->e->code;
}

static int detect_sweep(const file_bytes *f) {
    return import_holds(f, "\"n_kv\"") && import_holds(f, "\"pp\"") &&
                   import_holds(f, "\"speed_tg\"") && !import_holds(f, "\"pl\"")
               ? 85
               : 0;
}

const import_format IMPORT_SWEEP_JSONL = {
    .name = "sweep_bench_jsonl",
    .about = "sweep-bench --output-format jsonl",
    .detect = detect_sweep,
    .read = read_sweep_lines,
    .engine = "llama.cpp",
};
