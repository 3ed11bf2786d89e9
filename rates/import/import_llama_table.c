/* Texts that hold tables of llama.cpp's tools, as a terminal, a log or a forum keeps them: banners,
 * code fences, several tables, a cut end. Tables of other kinds are passed over. Eras: llama-bench
 * from 2023 ("pp 512", no depth) to 2026 ("@ d", lm, dev), ik_llama.cpp ("tg64@pp512", fmoe, mla),
 * llamafile-bench; compare-llama-bench; tables turned on their side (tests as columns);
 * llama-batched-bench and sweep-bench. */
#include "import_llama.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- which table ---- */

int table_column(const cells *header, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i < header->n; i++) {
        char text[128];
        bench_plain(header->v[i], text, sizeof text);
        if (strncasecmp(text, word, n) == 0 && (text[n] == '\0' || text[n] == ' ')) return (int)i;
    }
    return -1;
}

static bool is_pivot(const cells *header) {
    bench_test t;
    size_t tests = 0;
    double mean, std;
    for (size_t i = 0; i < header->n; i++) {
        if (number_cell(header->v[i], false, &mean, &std) != NUMBER_NONE) return false;
        tests += bench_test_parse(header->v[i], &t);
    }
    return tests > 0 && table_column(header, "model") >= 0;
}

table_kind table_kind_of(const cells *header) {
    bool test = table_column(header, "test") >= 0;
    if (table_column(header, "pp") >= 0 && table_column(header, "tg") >= 0 &&
        (table_column(header, "s_tg") >= 0 || table_column(header, "t_tg") >= 0)) {
        if (table_column(header, "b") >= 0) return TABLE_BATCHED;
        return table_column(header, "n_kv") >= 0 ? TABLE_SWEEP : TABLE_NONE;
    }
    for (size_t i = 0; test && i < header->n; i++) {
        char text[128];
        bench_plain(header->v[i], text, sizeof text);
        if (strcasecmp(text, "t/s") == 0) return TABLE_BENCH;
    }
    for (size_t i = 0; test && i < header->n; i++) {
        size_t n = strlen(header->v[i]);
        if (strncasecmp(header->v[i], "t/s ", 4) == 0 ||
            (n > 4 && strcasecmp(header->v[i] + n - 4, " t/s") == 0))
            return TABLE_COMPARE;
    }
    return is_pivot(header) ? TABLE_PIVOT : TABLE_NONE;
}

/* Begins like a header of llama-bench, and the rest of it is missing. */
static bool is_half_header(const cells *c) {
    return c->n > 0 && strcasecmp(c->v[0], "model") == 0 && !c->closed;
}

/* ---- the lines around a table ---- */

static void take_device(llama_table *t, const char *line) {
    char name[200];
    if (!banner_device(line, name, sizeof name)) return;
    if (t->devices_used && t->rows_n > 0) { /* of the next run */
        buf_reset(&t->devices);
        t->devices_used = false;
    }
    if (t->devices.len > 4000) return;
    buf_addf(&t->devices, "%s%s", t->devices.len ? ", " : "", name);
}

/* "build: 4efd326 (1)" stands behind the table that it made. */
static bool take_build(llama_table *t, const char *line) {
    const char *v = label_value(line, "build");
    if (!v || !*v) return false;
    char build[64];
    snprintf(build, sizeof build, "%.*s", (int)strcspn(v, " "), v);
    for (size_t i = t->first_row; i < t->in->rows_n && t->kind != TABLE_NONE; i++) {
        import_row *r = &t->in->rows[i];
        const char *s[IMPORT_SETTINGS_N];
        memcpy(s, r->setting, sizeof s);
        s[IMPORT_BUILD] = build;
        import_settings_keep(t->in, r, s);
    }
    return true;
}

static bool holds_word(const char *s, const char *word) {
    size_t n = strlen(word);
    for (; *s; s++)
        if (strncasecmp(s, word, n) == 0) return true;
    return false;
}

static void tell_perf(llama_table *t, const import_line *l) {
    if (t->perf_told || !strstr(l->s, "eval time")) return;
    t->perf_told = true;
    import_warn(t->in, t->file, l->number,
                "timings of the whole process beside a table of it: warm-up included, so they are "
                "no second measurement and are skipped");
}

/* ---- tables ---- */

static void end_table(llama_table *t) {
    if (t->kind != TABLE_NONE && t->rows_n == 0 &&
        t->aborted_n < sizeof t->aborted / sizeof *t->aborted)
        t->aborted[t->aborted_n++] = t->header_line;
    if (t->kind == TABLE_BENCH && t->rows_n > 0 && t->all_std_zero)
        import_warn(t->in, t->file, t->header_line,
                    "every spread of this table is 0.00: one repetition (-r 1) measures no spread");
    t->kind = TABLE_NONE;
}

static bool begin_table(llama_table *t, const cells *c, size_t line) {
    table_kind kind = table_kind_of(c);
    if (kind == TABLE_NONE) return false;
    end_table(t);
    if (t->devices_used) buf_reset(&t->devices); /* a banner belongs to one table */
    t->devices_used = true;
    t->kind = kind;
    t->header = *c;
    /* cells point into their own text */
    for (size_t i = 0; i < c->n; i++) t->header.v[i] = t->header.text + (c->v[i] - c->text);
    t->header_line = line;
    t->tables_n++;
    t->rows_n = 0;
    t->first_row = t->in->rows_n;
    t->last_decode = 0;
    t->all_std_zero = true;
    t->only_header = true;
    t->error_told = false;
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i][0] && cells_count(c, c->v[i]) > 1) {
            import_fault(t->in, t->file, line,
                         "column \"%.60s\" stands twice: which one is meant cannot be told",
                         c->v[i]);
            t->kind = TABLE_NONE;
            break;
        }
    return true;
}

static void data_row(llama_table *t, const import_line *l, cells *c) {
    size_t want = t->header.n;
    while (c->n > want && c->v[c->n - 1][0] == '\0') c->n--; /* a pipe too many at the end */
    bool pipes = t->kind == TABLE_BENCH && c->n > want && table_column(&t->header, "ot") >= 0;
    bool whole = !c->cut && (c->closed || (!t->header.closed && l->ended));
    if (!c->closed && t->header.closed && l->ended && !c->cut && c->n < want) {
        buf_reset(&t->part);
        buf_add(&t->part, l->s);
        t->part_line = l->number;
        t->part_n = c->n;
        return;
    }
    if (!whole || (c->n != want && !pipes)) {
        import_warn(t->in, t->file, l->number,
                    "a row of %zu of %zu cells%s: cut off or of another table, not used", c->n,
                    want, whole ? "" : ", the last without its end");
        return;
    }
    switch (t->kind) {
    case TABLE_BENCH:
        table_bench_row(t, l->number, c);
        break;
    case TABLE_COMPARE:
        table_compare_row(t, l->number, c);
        break;
    case TABLE_PIVOT:
        table_pivot_row(t, l->number, c);
        break;
    case TABLE_BATCHED:
    case TABLE_SWEEP:
        table_batched_row(t, l->number, l->s, c);
        break;
    case TABLE_NONE:
        break;
    }
}

static void pipe_line(llama_table *t, const import_line *l, cells *c) {
    if (cells_are_separator(c)) {
        /* behind a line that is no header of ours, a table of another kind begins */
        if (t->kind != TABLE_NONE && !t->only_header) end_table(t);
        t->only_header = false;
        return;
    }
    if ((c->closed || l->ended) && begin_table(t, c, l->number)) return;
    t->only_header = false;
    if (is_half_header(c) && (t->kind == TABLE_NONE || c->n != t->header.n)) {
        bench_test test;
        bool row = c->n > 1 && t->kind == TABLE_BENCH && bench_test_parse(c->v[c->n - 1], &test);
        if (!row) {
            import_warn(t->in, t->file, l->number,
                        "a header that is cut off: incomplete, no table");
            end_table(t);
            return;
        }
    }
    if (t->kind != TABLE_NONE) data_row(t, l, c);
}

static void drop_part(llama_table *t) {
    if (t->part.len == 0) return;
    buf_reset(&t->part);
    import_warn(t->in, t->file, t->part_line,
                "a row of %zu of %zu cells, the last without its end: cut off or of another table, "
                "not used",
                t->part_n, t->header.n);
}

/* The second half begins with blanks and a pipe; both together are one whole row. */
static bool join_part(llama_table *t, const import_line *l, cells *c) {
    const char *s = l->s + strspn(l->s, " \t");
    if (t->part.len == 0) return false;
    if (s > l->s && *s == '|' && t->kind != TABLE_NONE && t->part.len + l->len < CELLS_BYTES) {
        buf_add(&t->part, l->s);
        import_line whole = {t->part.s, t->part.len, t->part_line, l->ended};
        if (cells_of_pipes(t->part.s, c) && c->closed && c->n == t->header.n) {
            data_row(t, &whole, c);
            buf_reset(&t->part);
            return true;
        }
    }
    drop_part(t);
    return false;
}

static void finish(llama_table *t, size_t rows, size_t records) {
    drop_part(t);
    end_table(t);
    bench_keys_check(t->in, &t->keys);
    bool any = t->in->rows_n > rows || t->in->records_n > records;
    for (size_t i = 0; i < t->aborted_n; i++) {
        static const char WHAT[] =
            "a header without a row behind it: the benchmark was aborted, nothing was measured";
        if (any)
            import_warn(t->in, t->file, t->aborted[i], "%s", WHAT);
        else
            import_fault(t->in, t->file, t->aborted[i], "%s", WHAT);
    }
}

/* A header without the outer pipes begins with the name of a column, as no prefix of a log does. */
static bool is_bare_header(const cells *c) {
    bool column = bench_setting(c->v[0]) != IMPORT_SETTINGS_N || strcasecmp(c->v[0], "pp") == 0;
    return c->n > 2 && column && table_kind_of(c) != TABLE_NONE;
}

/* Where the cells of a line begin; logs put a time before them. false: no row or header of a table
 * of ours. */
static bool cells_of_line(llama_table *t, const char *line, cells *c) {
    enum { PREFIX_MAX = 64 };
    bool pipes = cells_of_pipes(line, c);
    if (!pipes && cells_of_bare(line, c)) {
        bool row = t->bare && t->kind != TABLE_NONE && (c->n > 2 || cells_are_separator(c));
        if (row || is_bare_header(c)) return t->bare = true;
    }
    if (pipes) {
        t->bare = t->bare && !c->closed;
        return true;
    }
    const char *p = strchr(line, '|');
    if (!p || p - line > PREFIX_MAX || !cells_of_pipes(p, c) || !c->closed) return false;
    return table_kind_of(c) != TABLE_NONE ||
           (t->kind != TABLE_NONE && (c->n == t->header.n || cells_are_separator(c)));
}

static void tell_error(llama_table *t, const import_line *l) {
    if (t->error_told || t->kind == TABLE_NONE || !holds_word(l->s, "error")) return;
    t->error_told = true;
    import_warn(t->in, t->file, l->number,
                "an error inside the benchmark: \"%.80s\"; tests behind it may be missing", l->s);
}

static err_code read_tables(import *in, import_text *text) {
    llama_table *t = ARENA_NEW(in->mem, llama_table);
    cells *c = ARENA_NEW(in->mem, cells);
    if (!t || !c) return err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
    *t = (llama_table){
        .in = in, .file = import_keep(in, import_text_name(text)), .shared = -1, .separate = -1};
    size_t rows = in->rows_n, records = in->records_n;
    buf_init(&t->devices);
    buf_init(&t->part);
    import_line l;
    while (!in->e->code && import_text_line(text, &l)) {
        if (join_part(t, &l, c)) continue;
        if (cells_of_line(t, l.s, c))
            pipe_line(t, &l, c);
        else if (strstr(l.s, "n_kv_max") && strchr(l.s, '='))
            table_config(t, l.s);
        else if (l.ended && take_build(t, l.s))
            end_table(t);
        else {
            take_device(t, l.s);
            tell_perf(t, &l);
            tell_error(t, &l);
        }
    }
    finish(t, rows, records);
    buf_done(&t->devices);
    buf_done(&t->part);
    return in->e->code;
}

/* ---- detection ---- */

/* Lines of the head; NUL-terminated copies, as the cells want them. */
static bool next_line(const file_bytes *f, size_t *at, char *line, size_t size) {
    if (*at >= f->len) return false;
    const char *s = f->s + *at, *end = memchr(s, '\n', f->len - *at);
    size_t n = end ? (size_t)(end - s) : f->len - *at;
    *at += n + 1;
    while (n > 0 && s[n - 1] == '\r') n--;
    snprintf(line, size, "%.*s", (int)(n < size ? n : size - 1), s);
    return true;
}

static int sure_of(const file_bytes *f, table_kind kind) {
    char line[4096];
    cells c;
    llama_table none = {.kind = TABLE_NONE};
    for (size_t at = 0; next_line(f, &at, line, sizeof line);) {
        if (!strchr(line, '|') || !cells_of_line(&none, line, &c)) continue;
        table_kind found = table_kind_of(&c);
        if (found != TABLE_NONE) return found == kind ? 80 : 0;
    }
    return 0;
}

static int detect_bench(const file_bytes *f) {
    return sure_of(f, TABLE_BENCH);
}

static int detect_compare(const file_bytes *f) {
    return sure_of(f, TABLE_COMPARE);
}

static int detect_pivot(const file_bytes *f) {
    return sure_of(f, TABLE_PIVOT);
}

static int detect_batched(const file_bytes *f) {
    return sure_of(f, TABLE_BATCHED);
}

static int detect_sweep(const file_bytes *f) {
    return sure_of(f, TABLE_SWEEP);
}

static int detect_none(const file_bytes *f) {
    (void)f;
    return 0;
}

static const import_format BENCH = {
    .name = "llama_bench_md",
    .about = "llama-bench tables (Markdown)",
    .detect = detect_bench,
    .read = read_tables,
    .engine = "llama.cpp",
};

/* The same reader under the name of what surrounds the table. */
static const import_format LOG = {
    .name = "llama_bench_log",
    .about = "llama-bench tables in a log",
    .detect = detect_none,
    .read = read_tables,
    .engine = "llama.cpp",
};

static const import_format COMPARE = {
    .name = "compare_llama_bench_md",
    .about = "compare-llama-bench.py tables",
    .detect = detect_compare,
    .read = read_tables,
    .engine = "llama.cpp",
};

static const import_format PIVOT = {
    .name = "pivot_md",
    .about = "tables with a column for each test (pp512, tg128)",
    .detect = detect_pivot,
    .read = read_tables,
};

static const import_format BATCHED = {
    .name = "batched_bench_md",
    .about = "llama-batched-bench tables",
    .detect = detect_batched,
    .read = read_tables,
    .engine = "llama.cpp",
};

static const import_format SWEEP = {
    .name = "sweep_bench_md",
    .about = "sweep-bench tables",
    .detect = detect_sweep,
    .read = read_tables,
    .engine = "llama.cpp",
};

const import_format *const IMPORT_LLAMA_TABLE_FORMATS[] = {&BENCH,
                                                           &LOG,
                                                           &COMPARE,
                                                           &PIVOT,
                                                           &IMPORT_LLAMA_CSV,
                                                           &IMPORT_LLAMA_SQL,
                                                           &BATCHED,
                                                           &SWEEP,
                                                           &IMPORT_SWEEP_JSONL,
                                                           NULL};
