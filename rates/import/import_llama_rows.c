/* Rows of llama-bench tables, of compare-llama-bench.py and of tables whose columns are tests. */
#include "import_llama.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MORE_VALUES = 10 }; /* of a record, beside its columns */

/* What the row was run with, and a text that says all of it. */
typedef struct run_of {
    const char *setting[IMPORT_SETTINGS_N];
    buf key, label; /* label: columns that no setting names, "fmoe=1 mla=3" */
} run_of;

static bool is_column(const char *header, const char *name) {
    char text[128];
    return strcasecmp(bench_plain(header, text, sizeof text), name) == 0;
}

static bool is_rate_column(const char *header) {
    char text[128];
    bench_plain(header, text, sizeof text);
    size_t n = strlen(text);
    return (strncasecmp(text, "t/s", 3) == 0 && (text[3] == '\0' || text[3] == ' ')) ||
           (n > 4 && strcasecmp(text + n - 4, " t/s") == 0);
}

/* Clients that ask a server over HTTP print the same labels beside their own times. */
static bool is_client(const cells *header) {
    static const char *const NAMES[] = {"ttfr", "est_ppt", "e2e_ttft", "ttft", "peak t/s"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (table_column(header, NAMES[i]) >= 0) return true;
    return false;
}

static bool is_time(const char *header) {
    char text[128];
    bench_plain(header, text, sizeof text);
    return strstr(text, "(ms)") || strstr(text, "(s)");
}

/* A column that tells neither what was run nor how. */
static bool is_result(const char *header) {
    bench_test t;
    return is_rate_column(header) || is_column(header, "test") || is_column(header, "speedup") ||
           is_time(header) || is_column(header, "depth") || is_column(header, "n_depth") ||
           bench_test_parse(header, &t);
}

static bool is_size(const char *header) {
    return is_column(header, "size") || is_column(header, "params") ||
           is_column(header, "model size [gib]") || is_column(header, "num. of par.");
}

static void label_cell(run_of *run, const char *key, const char *cell) {
    buf_addf(&run->label, "%s%s=%s", run->label.len ? " " : "", key, cell);
}

/* `dev none` switches the device off that the backend column still names. */
static void no_device(llama_table *t, size_t line, run_of *run) {
    const char *dev = run->setting[IMPORT_DEVICES];
    if (!dev || strcasecmp(dev, "none") != 0) return;
    import_warn(t->in, t->file, line,
                "dev is none: the CPU computed, although the backend is %.40s",
                run->setting[IMPORT_BACKEND] ? run->setting[IMPORT_BACKEND] : "not stated");
    run->setting[IMPORT_BACKEND] = "CPU";
    run->setting[IMPORT_GPU] = NULL;
}

/* `row` has a cell for each column of the header. Free with end_run. */
static void begin_run(llama_table *t, size_t line, const cells *row, run_of *run) {
    arena *mem = t->in->mem;
    *run = (run_of){0};
    buf_init(&run->key);
    buf_init(&run->label);
    if (t->devices.len) run->setting[IMPORT_GPU] = t->devices.s;
    for (size_t i = 0; i < t->header.n; i++) {
        char cell[CELLS_BYTES];
        const char *key = bench_key(t->in, t->header.v[i]);
        if (!key || is_result(t->header.v[i]) || !row->v[i][0]) continue;
        bench_plain(row->v[i], cell, sizeof cell);
        buf_addf(&run->key, "%s=%s|", key, cell);
        if (bench_setting(key) != IMPORT_SETTINGS_N)
            bench_set(mem, run->setting, key, cell);
        else if (!is_size(t->header.v[i]) && strcmp(key, "quant") != 0)
            label_cell(run, key, cell);
    }
    int quant = table_column(&t->header, "quant");
    if (quant >= 0 && row->v[quant][0])
        run->setting[IMPORT_MODEL_TYPE] = arena_printf(
            mem, "%s %s", run->setting[IMPORT_MODEL_TYPE] ? run->setting[IMPORT_MODEL_TYPE] : "",
            row->v[quant]);
    no_device(t, line, run);
    if (run->setting[IMPORT_GPU]) buf_addf(&run->key, "gpu=%s|", run->setting[IMPORT_GPU]);
    if (run->label.len) run->setting[IMPORT_LABEL] = run->label.s;
}

static void end_run(run_of *run) {
    buf_done(&run->key);
    buf_done(&run->label);
}

/* Keys of what the label of the test and the rate's cell say. */
static bool is_taken(const char *key) {
    static const char *const KEYS[] = {"table", "test",  "n_prompt", "n_gen",  "kind",
                                       "depth", "tok_s", "std",      "n_depth"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (strcmp(KEYS[i], key) == 0) return true;
    return false;
}

static import_record *begin_record(llama_table *t, size_t line, const cells *row) {
    import_record *r =
        import_record_new(t->in, t->file, line, IMPORT_TEST, t->header.n + MORE_VALUES);
    if (!r) return NULL;
    import_record_num(t->in, "table", (double)t->tables_n);
    for (size_t i = 0; i < t->header.n; i++) {
        char cell[CELLS_BYTES];
        bench_test test;
        const char *key = bench_key(t->in, t->header.v[i]);
        if (!key || is_taken(key) || is_rate_column(t->header.v[i]) ||
            bench_test_parse(t->header.v[i], &test))
            continue;
        bench_record_cell(t->in, key, bench_plain(row->v[i], cell, sizeof cell));
    }
    return r;
}

/* Somebody who edits a table may give the depth a column. false: that is no count. */
static bool depth_of(const llama_table *t, const cells *row, bench_test *test) {
    static const char *const NAMES[] = {"depth", "n_depth"};
    for (size_t i = 0; i < 2 && !test->depth_stated; i++) {
        const char *cell = cells_at(row, table_column(&t->header, NAMES[i]));
        if (!cell) continue;
        number n = number_at(cell + (*cell == 'd'), false);
        if (n.kind != NUMBER_OK || n.v < 0 || n.v > 1e9 || n.v != floor(n.v)) return false;
        test->depth = (int64_t)n.v;
        test->depth_stated = true;
    }
    return true;
}

static void record_test(import *in, const bench_test *test) {
    import_record_text(in, "test", test->label);
    if (test->pp > 0) import_record_num(in, "n_prompt", (double)test->pp);
    if (test->tg > 0) import_record_num(in, "n_gen", (double)test->tg);
    if (test->pp > 0 && test->tg > 0) import_record_text(in, "kind", "mixed");
}

/* Mean and spread of a cell; a decimal comma is taken where only that explains the digits. A code
 * page that is not the text's turns the sign between them into other bytes, never into a digit. */
static number_kind rate_cell(const char *cell, double *mean, double *std) {
    bool comma = number_text_has_decimal_comma(cell, strlen(cell));
    number_kind kind = number_cell(cell, comma, mean, std);
    if (kind != NUMBER_NONE) return kind;
    number m = number_at(cell, comma);
    const char *p = cell + m.len + strspn(cell + m.len, " ");
    size_t sign = 0;
    while ((unsigned char)p[sign] >= 0x80) sign++;
    number d = number_at(p + sign, comma);
    if (m.kind != NUMBER_OK || d.kind != NUMBER_OK || sign == 0 || p[sign + d.len])
        return NUMBER_NONE;
    *mean = m.v;
    *std = d.v;
    return NUMBER_OK;
}

/* As many rows in a step as decode has. */
static bool is_small(const char *batch) {
    return batch && batch[1] == '\0' && batch[0] >= '1' && batch[0] <= '8';
}

static void add_row(llama_table *t, size_t line, const run_of *run, const bench_test *test,
                    number_kind kind, double mean, double std, const char *what) {
    import_row *r = bench_row(t->in, t->file, line, test, mean, std);
    if (!r) return;
    import_settings_keep(t->in, r, run->setting);
    if (!r->refused && test->tg == 0 &&
        (is_small(run->setting[IMPORT_N_BATCH]) || is_small(run->setting[IMPORT_N_UBATCH])))
        r->refused = "batches of so few rows run the kernels of decode: no prefill rate";
    if (!bench_rate_usable(t->in, r, kind, mean, what)) return;
    char key[160];
    snprintf(key, sizeof key, "%s @ %lld %.60s", test->label, (long long)test->depth, what);
    const char *text = arena_printf(t->in->mem, "%s%s", run->key.s, key);
    if (text) bench_keys_add(t->in, &t->keys, text, t->in->rows_n - 1);
}

/* A tensor placement is a regular expression whose pipes nothing escapes: columns before it count
 * from the left, those behind it from the right. */
static bool join_placement(const cells *header, cells *row, char *joined, size_t size) {
    size_t extra = row->n - header->n, ot = (size_t)table_column(header, "ot"), at = 0;
    if (extra == 0) return true;
    for (size_t i = ot; i <= ot + extra; i++) {
        int n = snprintf(joined + at, size - at, "%s%s", i > ot ? "|" : "", row->v[i]);
        if (n < 0 || (size_t)n >= size - at) return false;
        at += (size_t)n;
    }
    row->v[ot] = joined;
    for (size_t i = ot + 1; i < header->n; i++) row->v[i] = row->v[i + extra];
    row->n = header->n;
    return true;
}

void table_bench_row(llama_table *t, size_t line, cells *row) {
    char joined[CELLS_BYTES];
    bench_test test;
    int at = table_column(&t->header, "test"), rate = table_column(&t->header, "t/s");
    double mean, std;
    if (!join_placement(&t->header, row, joined, sizeof joined)) return;
    if (!bench_test_parse(row->v[at], &test) || !depth_of(t, row, &test)) {
        import_warn(t->in, t->file, line, "test \"%.40s\" is none of llama-bench, not used",
                    row->v[at]);
        return;
    }
    number_kind kind = rate_cell(row->v[rate], &mean, &std);
    if (kind == NUMBER_NONE) {
        import_fault(t->in, t->file, line, "t/s is \"%.40s\", expected MEAN or MEAN ± STD",
                     row->v[rate]);
        t->rows_n++;
        return;
    }
    t->rows_n++;
    t->all_std_zero = t->all_std_zero && std == 0;
    if (!begin_record(t, line, row)) return;
    record_test(t->in, &test);
    import_record_num(t->in, "depth", (double)test.depth);
    import_record_num(t->in, "tok_s", mean);
    import_record_stated(t->in, "std", std);
    run_of run;
    begin_run(t, line, row, &run);
    add_row(t, line, &run, &test, kind, mean, std, "t/s");
    import_row *r = t->in->rows_n ? &t->in->rows[t->in->rows_n - 1] : NULL;
    if (r && !r->refused && is_client(&t->header))
        r->refused = "measured by a client of a server: transport, queue and cache are in it";
    end_run(&run);
}

/* "t/s NAME" or "NAME t/s" */
static const char *build_name(arena *mem, const char *header) {
    size_t n = strlen(header);
    if (strncasecmp(header, "t/s", 3) == 0) return header + 3 + strspn(header + 3, " ");
    return arena_printf(mem, "%.*s", (int)(n > 4 ? n - 4 : n), header);
}

/* Two builds side by side, each value the mean of what a data base held. */
void table_compare_row(llama_table *t, size_t line, const cells *row) {
    bench_test test;
    int at = table_column(&t->header, "test");
    if (!bench_test_parse(row->v[at], &test) || !depth_of(t, row, &test)) {
        import_warn(t->in, t->file, line, "test \"%.40s\" is none of llama-bench, not used",
                    row->v[at]);
        return;
    }
    if (t->rows_n++ == 0)
        import_warn(t->in, t->file, t->header_line,
                    "builds side by side (\"t/s NAME\"): which one a card is to hold cannot be "
                    "told, import that build's llama-bench output; Speedup is no rate");
    if (!begin_record(t, line, row)) return;
    record_test(t->in, &test);
    import_record_num(t->in, "depth", (double)test.depth);
    for (size_t i = 0; i < t->header.n; i++)
        if (is_rate_column(t->header.v[i])) {
            double mean, std;
            (void)rate_cell(row->v[i], &mean, &std);
            import_record_num(t->in, import_keep(t->in, t->header.v[i]), mean);
        }
    run_of run;
    begin_run(t, line, row, &run);
    for (size_t i = 0; i < t->header.n; i++) {
        double mean, std;
        if (!is_rate_column(t->header.v[i])) continue;
        number_kind kind = rate_cell(row->v[i], &mean, &std);
        run.setting[IMPORT_LABEL] = build_name(t->in->mem, t->header.v[i]);
        add_row(t, line, &run, &test, kind, mean, std, t->header.v[i]);
        import_row *r = t->in->rows_n ? &t->in->rows[t->in->rows_n - 1] : NULL;
        if (r && !r->refused)
            r->refused = "one of several builds side by side (label), and a mean of several runs: "
                         "import that build's llama-bench output";
    }
    end_run(&run);
}

/* Prefill slower than decode can be right (an engine that feeds a prompt token by token). */
static void check_pivot(llama_table *t, size_t line, double pp, double tg) {
    if (pp < tg)
        import_warn(t->in, t->file, line,
                    "prefill %.6g tok/s is below decode %.6g tok/s: prompts fed token by token?",
                    pp, tg);
}

void table_pivot_row(llama_table *t, size_t line, const cells *row) {
    run_of run;
    double slowest_pp = (double)INFINITY, fastest_tg = 0;
    begin_run(t, line, row, &run);
    int model = table_column(&t->header, "model");
    if (row->v[model][0]) run.setting[IMPORT_MODEL] = row->v[model];
    t->rows_n++;
    for (size_t i = 0; i < t->header.n; i++) {
        bench_test test;
        double mean, std;
        if (!bench_test_parse(t->header.v[i], &test) || !row->v[i][0]) continue;
        if (!depth_of(t, row, &test)) continue;
        number_kind kind = rate_cell(row->v[i], &mean, &std);
        if (kind == NUMBER_NONE) {
            import_warn(t->in, t->file, line, "%.40s is \"%.40s\", no number: not measured",
                        t->header.v[i], row->v[i]);
            continue;
        }
        if (!begin_record(t, line, row)) break;
        record_test(t->in, &test);
        if (test.depth_stated) import_record_num(t->in, "depth", (double)test.depth);
        import_record_num(t->in, "tok_s", mean);
        import_record_stated(t->in, "std", std);
        add_row(t, line, &run, &test, kind, mean, std, test.label);
        if (test.tg == 0 && mean < slowest_pp) slowest_pp = mean;
        if (test.pp == 0 && mean > fastest_tg) fastest_tg = mean;
    }
    check_pivot(t, line, slowest_pp, fastest_tg);
    end_run(&run);
}
