/* llama-bench -o csv and -o sql, from 2023 (a column for each backend, table `test`) to today
 * (table `llama_bench`): columns by the names that the header or each INSERT gives. Values are
 * quoted, numbers too; a test is told by n_prompt and n_gen. */
#include "import_llama.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const double TOK_MAX = 1e9;
enum { MORE_VALUES = 6 }; /* of a record, beside its columns */

typedef struct bench_csv {
    import *in;
    const char *file;
    cells names, values;
    bool named;
    bool more; /* an INSERT whose values go on in the next line */
    char separator;
    bench_keys keys;
} bench_csv;

static const char *value_of(const bench_csv *b, const char *name) {
    return cells_at(&b->values, cells_column(&b->names, name));
}

static number number_of(const bench_csv *b, const char *name) {
    const char *cell = value_of(b, name);
    number none = {.kind = NUMBER_NONE, .v = (double)NAN};
    if (!cell) return none;
    number n = number_at(cell, number_text_has_decimal_comma(cell, strlen(cell)));
    return n.kind != NUMBER_NONE && cell[n.len] ? none : n;
}

/* A count; -1: not stated; -2: no count. */
static int64_t count_of(const bench_csv *b, const char *name) {
    if (!value_of(b, name)) return -1;
    number n = number_of(b, name);
    return n.kind == NUMBER_OK && n.v >= 0 && n.v <= TOK_MAX && n.v == floor(n.v) ? (int64_t)n.v
                                                                                  : -2;
}

/* Before `backends` there was a column for each. */
static const char *backend(const bench_csv *b) {
    static const char *const FLAGS[][2] = {
        {"cuda", "CUDA"}, {"metal", "Metal"}, {"vulkan", "Vulkan"}, {"kompute", "Kompute"},
        {"sycl", "SYCL"}, {"rpc", "RPC"},     {"opencl", "OpenCL"}, {"blas", "BLAS"}};
    const char *name = value_of(b, "backends");
    for (size_t i = 0; !name && i < sizeof FLAGS / sizeof *FLAGS; i++) {
        const char *v = value_of(b, FLAGS[i][0]);
        if (v && (strcmp(v, "1") == 0 || strcasecmp(v, "true") == 0)) name = FLAGS[i][1];
    }
    return name;
}

/* What differs from row to row without being a setting. */
static bool is_measured(const char *name) {
    static const char *const NAMES[] = {"test_time", "avg_ns",    "stddev_ns",
                                        "avg_ts",    "stddev_ts", "build_number"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcasecmp(name, NAMES[i]) == 0) return true;
    return false;
}

static void settings_of(const bench_csv *b, const char **setting, buf *key) {
    arena *mem = b->in->mem;
    for (size_t i = 0; i < b->names.n; i++) {
        if (!b->values.v[i][0]) continue;
        bench_set(mem, setting, b->names.v[i], b->values.v[i]);
        if (!is_measured(b->names.v[i])) buf_addf(key, "%s=%s|", b->names.v[i], b->values.v[i]);
    }
    setting[IMPORT_BACKEND] = backend(b);
    const char *f16 = value_of(b, "f16_kv");
    if (f16 && (strcmp(f16, "1") == 0 || strcasecmp(f16, "true") == 0))
        setting[IMPORT_TYPE_K] = setting[IMPORT_TYPE_V] = "f16";
}

static void add_record(const bench_csv *b, size_t line, const bench_test *t) {
    import *in = b->in;
    if (!import_record_new(in, b->file, line, IMPORT_TEST, b->names.n + MORE_VALUES)) return;
    import_record_text(in, "test", t->label);
    import_record_num(in, "depth", (double)t->depth);
    import_record_stated(in, "tok_s", number_of(b, "avg_ts").v);
    import_record_stated(in, "std", number_of(b, "stddev_ts").v);
    if (value_of(b, "model_type")) import_record_text(in, "model", value_of(b, "model_type"));
    if (t->pp > 0 && t->tg > 0) import_record_text(in, "kind", "mixed");
    for (size_t i = 0; i < b->names.n; i++) {
        const char *name = b->names.v[i], *key = import_keep(in, name);
        bool code = strcasecmp(name, "build_commit") == 0; /* may be all digits */
        number n = number_of(b, name);
        if (!key || !b->values.v[i][0] || !name[0] || bench_record_has(in, key)) continue;
        if (n.kind != NUMBER_NONE && !code)
            import_record_num(in, key, n.v);
        else
            import_record_text(in, key, b->values.v[i]);
    }
}

/* avg_ts is the mean of the rates: above the rate of the mean time, by the square of their spread.
 */
static void check_time(const bench_csv *b, import_row *r) {
    double ns = number_of(b, "avg_ns").v, std = number_of(b, "stddev_ts").v;
    if (!value_of(b, "avg_ns")) return;
    if (!(ns > 0 && ns <= 1e18)) {
        import_refuse(b->in, r, "avg_ns is zero, negative or beyond a clock, expected a time > 0");
        return;
    }
    double computed = (double)(r->n_prompt + r->n_gen) / ns * 1e9;
    double spread = std > 0 ? std / r->tok_s : 0;
    if (fabs(r->tok_s - computed) > computed * (0.01 + 2 * spread * spread))
        import_refuse(b->in, r, "avg_ts %.6g tok/s contradicts avg_ns, which gives %.6g tok/s",
                      r->tok_s, computed);
}

static void read_row(bench_csv *b, size_t line) {
    import *in = b->in;
    int64_t pp = count_of(b, "n_prompt"), tg = count_of(b, "n_gen"), d = count_of(b, "n_depth");
    if (pp < 0 || tg < 0 || d == -2 || pp + tg == 0) {
        import_fault(in, b->file, line,
                     "n_prompt, n_gen or n_depth is missing or no count, or nothing was measured");
        return;
    }
    bench_test t = {.pp = pp, .tg = tg, .depth = d > 0 ? d : 0};
    bench_label(&t);
    number rate = number_of(b, "avg_ts");
    add_record(b, line, &t);
    import_row *r = bench_row(in, b->file, line, &t, rate.v, number_of(b, "stddev_ts").v);
    if (!r) return;
    const char *setting[IMPORT_SETTINGS_N] = {0};
    buf key;
    buf_init(&key);
    settings_of(b, setting, &key);
    import_settings_keep(in, r, setting);
    if (bench_rate_usable(in, r, rate.kind, rate.v, "avg_ts")) {
        check_time(b, r);
        bench_keys_add(in, &b->keys, key.s, in->rows_n - 1);
    }
    buf_done(&key);
}

/* ---- CSV ---- */

static bool is_header(const cells *c) {
    return cells_column(c, "n_prompt") >= 0 && cells_column(c, "n_gen") >= 0 &&
           cells_column(c, "avg_ts") >= 0;
}

static void take_names(bench_csv *b, const cells *c, size_t line) {
    b->names = *c;
    for (size_t i = 0; i < c->n; i++) b->names.v[i] = b->names.text + (c->v[i] - c->text);
    b->named = !c->cut;
    for (size_t i = 0; i < c->n && b->named; i++)
        if (c->v[i][0] && cells_count(c, c->v[i]) > 1) {
            import_fault(b->in, b->file, line, "column \"%.60s\" stands twice", c->v[i]);
            b->named = false;
        }
}

static void csv_line(bench_csv *b, const import_line *l) {
    static const char SEPARATORS[] = ",;\t"; /* a spreadsheet may have written it again */
    if (!b->separator) b->separator = ',';
    if (!cells_of_csv(l->s, b->separator, &b->values)) return;
    for (size_t i = 0; SEPARATORS[i] && !b->named && !is_header(&b->values); i++)
        if (cells_of_csv(l->s, SEPARATORS[i], &b->values) && is_header(&b->values))
            b->separator = SEPARATORS[i];
    if (is_header(&b->values)) {
        take_names(b, &b->values, l->number);
    } else if (!b->named || b->values.n == 1) {
        import_warn(b->in, b->file, l->number, "no row of the table, skipped");
    } else if (b->values.cut || !b->values.closed || b->values.n != b->names.n ||
               (!l->ended && l->s[l->len - 1] != '"')) {
        import_warn(b->in, b->file, l->number,
                    "a row of %zu of %zu cells, or one without its end: cut off, not used",
                    b->values.n, b->names.n);
    } else {
        read_row(b, l->number);
    }
}

/* ---- SQL ---- */

/* "(a, b, c)" at *p into out; strings are 'quoted', a quote inside is doubled. */
static bool list_at(const char **p, cells *out) {
    const char *s = *p + strspn(*p, " \t");
    size_t at = 0;
    out->n = 0;
    out->cut = false;
    if (*s++ != '(') return false;
    for (;;) {
        s += strspn(s, " \t");
        if (out->n == CELLS_MAX || at + 2 > sizeof out->text) return false;
        out->v[out->n++] = out->text + at;
        bool quoted = *s == '\'' || *s == '"' || *s == '`';
        char quote = *s;
        s += quoted;
        while (*s && (quoted ? *s != quote || s[1] == quote : *s != ',' && *s != ')')) {
            if (quoted && *s == quote) s++;
            if (at + 2 > sizeof out->text) return false;
            out->text[at++] = *s++;
        }
        while (!quoted && at > 0 && out->text[at - 1] == ' ') at--;
        out->text[at++] = '\0';
        if (quoted && *s++ != quote) return false;
        s += strspn(s, " \t");
        if (*s == ')') break;
        if (*s++ != ',') return false;
    }
    *p = s + 1;
    return true;
}

/* "(1, 2), (3, 4)," from p on: values of the columns named before. */
static void insert_values(bench_csv *b, const import_line *l, const char *p) {
    cells *c = &b->values;
    b->more = false;
    for (p += strspn(p, " \t"); *p; p += strspn(p, " \t")) {
        if (!list_at(&p, c) || c->n != b->names.n) {
            import_warn(b->in, b->file, l->number,
                        "values of %zu of %zu columns: cut off, not used", c->n, b->names.n);
            return;
        }
        read_row(b, l->number);
        p += strspn(p, " \t");
        if (*p != ',') break;
        p++;
    }
    b->more = *p == '\0' && l->ended;
    if (*p != ';' && !b->more)
        import_warn(b->in, b->file, l->number, "no ; behind the INSERT: the text may be cut off");
}

static void insert_line(bench_csv *b, const import_line *l, const char *p) {
    cells *c = &b->values;
    p += strcspn(p, "( ");
    p += strspn(p, " ");
    const char *values = p;
    if (*p != '(') {
        import_fault(b->in, b->file, l->number,
                     "an INSERT that names no columns: which value is which is not stated");
        return;
    }
    if (!list_at(&values, c)) {
        import_warn(b->in, b->file, l->number, "an INSERT that is cut off, not used");
        return;
    }
    if (!is_header(c)) {
        import_warn(b->in, b->file, l->number, "an INSERT of another table, skipped");
        return;
    }
    take_names(b, c, l->number);
    p = values + strspn(values, " ");
    if (!b->named || strncasecmp(p, "VALUES", 6) != 0) return;
    insert_values(b, l, p + 6);
}

static void sql_line(bench_csv *b, const import_line *l) {
    const char *p = l->s + strspn(l->s, " \t");
    bool more = b->more && (*p == '(' || *p == ',');
    if (b->more && *p == ';') b->more = false;
    if (more) {
        insert_values(b, l, p + (*p == ','));
    } else if (strncasecmp(p, "INSERT INTO ", 12) == 0) {
        b->more = false;
        insert_line(b, l, p + 12 + strspn(p + 12, " "));
    }
}

/* ---- the formats ---- */

static err_code read_with(import *in, import_text *t,
                          void (*line)(bench_csv *, const import_line *)) {
    bench_csv *b = ARENA_NEW(in->mem, bench_csv);
    if (!b) return err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
    b->in = in;
    b->file = import_keep(in, import_text_name(t));
    import_line l;
    while (!in->e->code && import_text_line(t, &l)) line(b, &l);
    bench_keys_check(in, &b->keys);
    return in->e->code;
}

static err_code read_csv(import *in, import_text *t) {
    return read_with(in, t, csv_line);
}

static err_code read_sql(import *in, import_text *t) {
    return read_with(in, t, sql_line);
}

static bool has_columns(const file_bytes *f) {
    return import_holds(f, "n_prompt") && import_holds(f, "n_gen") && import_holds(f, "avg_ts") &&
           !import_holds(f, "\"n_prompt\":") && !import_holds(f, "\"n_prompt\" :");
}

static bool is_sql(const file_bytes *f) {
    return import_holds(f, "INSERT INTO ") || import_holds(f, "insert into ") ||
           import_holds(f, "CREATE TABLE");
}

static int detect_csv(const file_bytes *f) {
    static const char *const NEXT_TO[] = {",n_gen",  "n_gen,",  ";n_gen",   "n_gen;",
                                          "\tn_gen", "n_gen\t", "\"n_gen\""};
    bool found = false;
    for (size_t i = 0; i < sizeof NEXT_TO / sizeof *NEXT_TO; i++)
        found = found || import_holds(f, NEXT_TO[i]);
    return found && has_columns(f) && !is_sql(f) ? 85 : 0;
}

static int detect_sql(const file_bytes *f) {
    return has_columns(f) && is_sql(f) ? 85 : 0;
}

const import_format IMPORT_LLAMA_CSV = {
    .name = "llama_bench_csv",
    .about = "llama-bench -o csv",
    .detect = detect_csv,
    .read = read_csv,
    .engine = "llama.cpp",
};

const import_format IMPORT_LLAMA_SQL = {
    .name = "llama_bench_sql",
    .about = "llama-bench -o sql",
    .detect = detect_sql,
    .read = read_sql,
    .engine = "llama.cpp",
};
