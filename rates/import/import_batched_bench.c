/* llama-batched-bench --output-format jsonl: one object is one cell, pl sequences of pp prompt and
 * tg generated tokens each. It gives a prefill row and a decode row. The output names no model, no
 * build and no machine. */
#include "import_llama.h"

#include <math.h>
#include <string.h>

static const int64_t TOK_MAX = 1000000000, BATCH_MAX = 100000;
static const double S_MAX = 1e9;
static const double PRINTED_S = 5e-7; /* times have six decimals */
enum { FEW_ROWS = 8 };

typedef struct cell {
    int64_t pp, tg, pl, n_kv;
    bool shared, shared_stated, separate;
    kv_layout layout;
    const char *setting[IMPORT_SETTINGS_N];
} cell;

static void read_cell(jr o, cell *k) {
    *k = (cell){0};
    k->pp = jr_int(o, "pp", 0, TOK_MAX);
    k->tg = jr_int(o, "tg", 0, TOK_MAX);
    k->pl = jr_int(o, "pl", 1, BATCH_MAX);
    k->n_kv = import_count(o, "n_kv", (int64_t)1 << 53);
    const char *shared = import_num_text(o, "is_pp_shared");
    const char *separate = import_num_text(o, "is_tg_separate");
    /* where the flag is missing, the cells used tell one prompt from pl of them */
    k->shared = shared ? strcmp(shared, "0") != 0 : k->pl > 1 && k->n_kv == k->pp + k->pl * k->tg;
    k->shared_stated = shared != NULL;
    k->separate = separate && strcmp(separate, "0") != 0;
    import_common_settings(o, k->setting);
}

/* One of the two times of a cell with its rate. `tok` tokens were computed in it. */
static void read_time(import *in, jr o, import_row *r, const char *time_key, const char *rate_key,
                      double tok) {
    double s = import_num(o, time_key), rate = import_num(o, rate_key);
    if (!jr_ok(o)) return;
    if (!(s > 0 && s <= S_MAX)) {
        import_refuse(in, r, "%s is %s, expected a time > 0", time_key,
                      isnan(s) ? "missing or no number" : "zero, negative or beyond a clock");
        return;
    }
    double *sample = ARENA_NEW(in->mem, double);
    if (!sample) {
        jr_fail(o, E_LIMIT, "does not fit the memory budget");
        return;
    }
    *sample = s;
    r->samples_s = sample;
    r->samples_n = 1;
    if (jr_present(jr_get(o, rate_key)) && !(rate > 0 && rate <= 1e15)) {
        import_refuse(in, r, "%s is zero, negative or no finite number, expected a rate > 0",
                      rate_key);
        return;
    }
    if (import_contradicts(rate, tok / s, s, PRINTED_S))
        import_refuse(in, r, "%s %.6g tok/s contradicts %.0f tokens in %.6g s, %.6g tok/s",
                      rate_key, rate, tok, s, tok / s);
    r->tok_s = isfinite(rate) ? rate : tok / s;
    r->per_seq_tok_s = r->tok_s / (double)r->batch_n;
}

static import_row *new_row(import_cursor *c, const import_piece *p, const cell *k,
                           import_phase ph) {
    import_row *r = import_row_new(c->in, c->name, p->line);
    if (!r) return NULL;
    r->phase = ph;
    r->n_prompt = k->pp;
    r->n_gen = ph == IMPORT_DECODE ? k->tg : 0;
    r->batch_n = ph == IMPORT_PREFILL && k->shared ? 1 : k->pl;
    r->shared_prompt = k->shared;
    r->layout = k->layout;
    import_settings_keep(c->in, r, k->setting);
    return r;
}

bool batched_layout(int64_t pp, int64_t tg, int64_t pl, int64_t n_kv, bool shared,
                    kv_layout *layout) {
    int64_t once = pp + pl * tg, copies = pl * (pp + tg);
    *layout = KV_LAYOUT_UNSTATED;
    if (n_kv < 0 || (n_kv == copies && (!shared || once == copies))) return true;
    if (shared && n_kv == copies)
        *layout = KV_LAYOUT_SPLIT;
    else if (shared && n_kv == once)
        *layout = KV_LAYOUT_UNIFIED;
    else
        return false;
    return true;
}

static bool find_layout(import_cursor *c, const import_piece *p, cell *k) {
    if (batched_layout(k->pp, k->tg, k->pl, k->n_kv, k->shared, &k->layout)) return true;
    if (k->shared_stated)
        import_warn(c->in, c->name, p->line,
                    "n_kv is %lld, expected %lld of pp %lld, tg %lld, pl %lld", (long long)k->n_kv,
                    (long long)(k->pl * (k->pp + k->tg)), (long long)k->pp, (long long)k->tg,
                    (long long)k->pl);
    else /* one prompt or a prompt for each: nothing tells */
        import_fault(
            c->in, c->name, p->line,
            "n_kv is %lld, expected %lld (a prompt for each of %lld) or %lld (one for all): "
            "is_pp_shared is missing, and the cells fit neither",
            (long long)k->n_kv, (long long)(k->pl * (k->pp + k->tg)), (long long)k->pl,
            (long long)(k->pp + k->pl * k->tg));
    return k->shared_stated;
}

void batched_fall(import *in, const import_row *before, const import_row *r) {
    if (!before || before->refused || r->refused || before->n_prompt != r->n_prompt ||
        before->n_gen != r->n_gen || before->shared_prompt != r->shared_prompt ||
        before->batch_n >= r->batch_n || r->tok_s >= before->tok_s * 0.99)
        return;
    import_warn(in, r->file, r->line,
                "%lld sequences together make %.6g tok/s, %lld made %.6g on line %zu: kept as "
                "measured",
                (long long)r->batch_n, r->tok_s, (long long)before->batch_n, before->tok_s,
                before->line);
}

/* The cell as it is written; a record of a cell with wrong types is not made. */
static void add_record(import_cursor *c, const import_piece *p, jr o, const cell *k) {
    static const char *const KEYS[] = {"t_pp", "speed_pp", "t_tg", "speed_tg", "t", "speed"};
    import *in = c->in;
    double v[6];
    for (size_t i = 0; i < 6; i++) v[i] = import_num(o, KEYS[i]);
    if (!jr_ok(o) || !import_record_new(in, c->name, p->line, IMPORT_TEST, 13)) return;
    import_record_num(in, "pp", (double)k->pp);
    import_record_num(in, "tg", (double)k->tg);
    import_record_num(in, "pl", (double)k->pl);
    if (k->shared) import_record_num(in, "is_pp_shared", 1);
    if (k->n_kv >= 0) import_record_num(in, "n_kv", (double)k->n_kv);
    for (size_t i = 0; i < 6; i++)
        if (jr_present(jr_get(o, KEYS[i]))) import_record_num(in, KEYS[i], v[i]);
    import_record_stated(in, "per_seq_tg", v[3] / (double)k->pl);
}

/* `last`: index + 1 of the decode row before, an index because rows move when they grow. */
static void read_rows(import_cursor *c, const import_piece *p, jr o, size_t *last) {
    import *in = c->in;
    size_t first = in->rows_n;
    cell k;
    read_cell(o, &k);
    if (!jr_ok(o)) return;
    if (k.pp == 0 && k.tg == 0)
        import_fault(in, c->name, p->line, "pp and tg are 0: nothing was measured");
    if (!find_layout(c, p, &k)) return;
    import_row *r = k.pp > 0 ? new_row(c, p, &k, IMPORT_PREFILL) : NULL;
    if (r) {
        double tok = (double)(r->batch_n * k.pp);
        read_time(in, o, r, "t_pp", "speed_pp", tok);
        if (!r->refused && tok <= FEW_ROWS)
            r->refused = "a step of so few rows runs the kernels of decode: no prefill rate";
    }
    r = k.tg > 0 ? new_row(c, p, &k, IMPORT_DECODE) : NULL;
    if (r) {
        read_time(in, o, r, "t_tg", "speed_tg", (double)(k.pl * k.tg));
        if (!r->refused && k.separate && k.pl > 1)
            r->refused = "sequences decoded one after another (-tgs): no step of a batch";
        if (jr_ok(o)) batched_fall(in, *last ? &in->rows[*last - 1] : NULL, r);
        *last = in->rows_n;
    }
    add_record(c, p, o, &k);
    if (!jr_ok(o)) {
        in->rows_n = first; /* wrong types: the note is all that stays */
        *last = 0;
    }
}

/* The tool measures its first cell cold. Who asks for that cell twice knows it: the first of the
 * two stays in a card, unused. `first`: the file's first row. */
static void exclude_cold(import *in, size_t first) {
    size_t n = 0;
    if (first == in->rows_n) return; /* no row at all */
    const import_row *r = in->rows + first;
    while (first + n < in->rows_n && r[n].line == r->line) n++;
    if (n == 0 || first + 2 * n > in->rows_n) return;
    for (size_t i = 0; i < n; i++) {
        const import_row *a = &r[i], *b = &r[n + i];
        if (a->phase != b->phase || a->n_prompt != b->n_prompt || a->n_gen != b->n_gen ||
            a->batch_n != b->batch_n || a->shared_prompt != b->shared_prompt || b->refused)
            return;
    }
    for (size_t i = 0; i < n; i++)
        in->rows[first + i].excluded = "first cell of the run, cold: measured again right after";
}

static err_code read_lines(import *in, import_text *t) {
    import_cursor c = import_start(in, t);
    import_piece p;
    size_t last = 0, first = in->rows_n;
    while (import_next_line(&c, &p)) {
        jr_doc doc;
        err e;
        if (!import_open(&c, &p, &doc, &e)) continue;
        jr o = jr_root(&doc);
        if (jr_present(jr_get(o, "pl")) || jr_present(jr_get(o, "speed_tg")) ||
            jr_present(jr_get(o, "t_tg")))
            read_rows(&c, &p, o, &last);
        else
            import_warn(in, c.name, p.line, "JSON, but no llama-batched-bench row, skipped");
        (void)import_close(&c, &p, &doc);
    }
    import_end(&c);
    exclude_cold(in, first);
    return in->e->code;
}

static int detect_lines(const file_bytes *f) {
    return import_holds(f, "\"pl\"") && import_holds(f, "\"pp\"") && import_holds(f, "\"tg\"") &&
                   (import_holds(f, "\"t_tg\"") || import_holds(f, "\"speed_tg\""))
               ? 90
               : 0;
}

static const import_format JSONL = {
    .name = "batched_bench_jsonl",
    .about = "llama-batched-bench --output-format jsonl",
    .detect = detect_lines,
    .read = read_lines,
    .engine = "llama.cpp",
};

const import_format *const IMPORT_BATCHED_BENCH_FORMATS[] = {&JSONL, NULL};
