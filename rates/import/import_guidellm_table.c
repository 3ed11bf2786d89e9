/* The console tables of GuideLLM: 0.2 and 0.3 without outer pipes and with two header lines, 0.4 on
 * with three; a span is written as "||". A column is what its header lines say together; the rows
 * of the tables of one report belong together by their place. */
#include "import_number.h"
#include "import_serving.h"
#include "import_table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_LINES = 4, RUNS_MAX = 128, TITLE_BYTES = 128, LINE_BYTES = 4096 };

/* Titles of a column, line by line, joined by '|', lower case. */
static const struct {
    const char *title, *key;
} COLUMNS[] = {
    {"benchmark|strategy", "strategy"},
    {"metadata|benchmark", "strategy"},
    {"timings|dur|sec", "duration_s"},
    {"metadata|duration (s)", "duration_s"},
    {"input tokens|comp|tot", "input_tokens"},
    {"input tokens|inc|tot", "input_tokens_incomplete"},
    {"input tokens|err|tot", "input_tokens_errored"},
    {"output tokens|comp|tot", "output_tokens"},
    {"output tokens|inc|tot", "output_tokens_incomplete"},
    {"output tokens|err|tot", "output_tokens_errored"},
    {"prompt tok total|comp", "input_tokens"},
    {"output tok total|comp", "output_tokens"},
    {"requests made|comp", "completed"},
    {"requests made|inc", "incomplete"},
    {"requests made|err", "errored"},
    {"prompt tok/req|comp", "prompt_tokens_mean"},
    {"output tok/req|comp", "output_tokens_mean"},
    {"input tok|per req|mdn", "prompt_tokens_median"},
    {"input tok|per req|p95", "prompt_tokens_p95"},
    {"output tok|per req|mdn", "output_tokens_median"},
    {"output tok|per req|p95", "output_tokens_p95"},
    {"request latency|sec|mdn", "latency_s_median"},
    {"request latency|sec|p95", "latency_s_p95"},
    {"ttft|ms|mdn", "ttft_ms_median"},
    {"ttft|ms|p95", "ttft_ms_p95"},
    {"itl|ms|mdn", "itl_ms_median"},
    {"itl|ms|p95", "itl_ms_p95"},
    {"tpot|ms|mdn", "tpot_ms_median"},
    {"tpot|ms|p95", "tpot_ms_p95"},
    {"req latency (sec)|mean", "latency_s_mean"},
    {"req latency (s)|mean", "latency_s_mean"},
    {"req latency (ms)|mean", "latency_labelled_ms_mean"},
    {"req latency (sec)|median", "latency_s_median"},
    {"req latency (s)|median", "latency_s_median"},
    {"req latency (ms)|median", "latency_labelled_ms_median"},
    {"ttft (ms)|mean", "ttft_ms_mean"},
    {"ttft (ms)|median", "ttft_ms_median"},
    {"ttft (ms)|p99", "ttft_ms_p99"},
    {"itl (ms)|mean", "itl_ms_mean"},
    {"itl (ms)|median", "itl_ms_median"},
    {"itl (ms)|p99", "itl_ms_p99"},
    {"tpot (ms)|mean", "tpot_ms_mean"},
    {"tpot (ms)|median", "tpot_ms_median"},
    {"tpot (ms)|p99", "tpot_ms_p99"},
    {"requests|concurrency|mdn", "concurrency_median"},
    {"requests|concurrency|mean", "concurrency"},
    {"requests|per sec|mdn", "req_s_median"},
    {"requests|per sec|mean", "req_s"},
    {"input tokens|per sec|mdn", "input_tok_s_median"},
    {"input tokens|per sec|mean", "input_tok_s"},
    {"output tokens|per sec|mdn", "output_tok_s_median"},
    {"output tokens|per sec|mean", "output_tok_s_aggregate"},
    {"total tokens|per sec|mdn", "total_tok_s_median"},
    {"total tokens|per sec|mean", "total_tok_s_aggregate"},
    {"request stats|per second", "req_s"},
    {"request stats|concurrency", "concurrency"},
    {"out tok/sec|mean", "output_tok_s_aggregate"},
    {"tot tok/sec|mean", "total_tok_s_aggregate"},
};
enum { COLUMNS_N = sizeof COLUMNS / sizeof *COLUMNS };

typedef struct report {
    import *in;
    const char *file;
    serving *out; /* the record in the making */
    serving_run runs[RUNS_MAX];
    size_t runs_n, row;    /* row of the table that is read */
    bool in_table, merges; /* merges: its rows are of the runs of tables above */
    bool astray;           /* rows of two tables that do not belong together */
    size_t header_n;
    char titles[CELLS_MAX][TITLE_BYTES];
    size_t titles_n;
    int column[CELLS_MAX]; /* of COLUMNS, or -1 */
    bool seen[COLUMNS_N];
    char last[LINE_BYTES];
} report;

/* Rows of several tables belong together by their place. The last table may have been cut off. */
static void end_table(report *r, size_t line, bool last) {
    if (r->in_table && r->merges && r->row > 0 && r->row != r->runs_n && !last && !r->astray) {
        import_fault(r->in, r->file, line,
                     "%zu rows here, %zu in the tables above: which belongs to which is unknown, "
                     "none is used",
                     r->row, r->runs_n);
        r->astray = true;
    }
    r->in_table = false;
    r->header_n = 0;
}

static void flush(report *r) {
    for (size_t i = 0; i < r->runs_n && !r->astray; i++) {
        r->out->run = r->runs[i];
        guidellm_finish(r->out);
        r->runs[i].n = 0;
    }
    r->runs_n = 0;
    r->astray = false;
    memset(r->seen, 0, sizeof r->seen);
}

/* The line as a row between outer pipes; false: it is none. */
static bool cells_of(const import_line *l, cells *out) {
    char line[LINE_BYTES];
    const char *s = l->s + strspn(l->s, " \t>#");
    const char *first = strchr(s, '|');
    if (!first || !strchr(first + 1, '|') || strlen(s) + 3 > sizeof line) return false;
    if (*s == '|') return cells_of_pipes(s, out);
    snprintf(line, sizeof line, "|%s|", s);
    bool row = cells_of_pipes(line, out);
    out->closed = l->ended; /* nothing else shows where such a row ends */
    return row;
}

/* An empty cell of a header belongs to the one before it, except in the first column. */
static void add_header(report *r, const cells *c) {
    if (r->header_n == HEADER_LINES) r->header_n = 0;
    if (r->header_n == 0) {
        r->titles_n = c->n;
        for (size_t i = 0; i < c->n; i++) r->titles[i][0] = '\0';
    }
    const char *span = "";
    for (size_t i = 0; i < c->n && i < r->titles_n; i++) {
        if (c->v[i][0]) span = c->v[i];
        size_t n = strlen(r->titles[i]);
        if (*span)
            snprintf(r->titles[i] + n, TITLE_BYTES - n, "%s%.40s", r->header_n ? "|" : "", span);
    }
    if (c->n != r->titles_n) r->titles_n = 0; /* wrapped by a terminal: no header of a table */
    r->header_n++;
}

static void end_header(report *r, size_t line) {
    bool repeated = false;
    if (r->header_n > 0 && r->titles_n == 0)
        import_warn(r->in, r->file, line,
                    "the header lines above have different numbers of columns (wrapped?): this "
                    "table is not read");
    r->in_table = r->header_n > 0;
    r->row = 0;
    for (size_t i = 0; i < r->titles_n; i++) {
        for (char *p = r->titles[i]; *p; p++) *p = (char)tolower((unsigned char)*p);
        r->column[i] = -1;
        for (int k = 0; k < (int)COLUMNS_N; k++)
            if (strcmp(COLUMNS[k].title, r->titles[i]) == 0) r->column[i] = k;
        int k = r->column[i];
        if (k < 0 || strcmp(COLUMNS[k].key, "strategy") == 0) continue;
        for (size_t j = 0; j < i; j++)
            if (r->column[j] == k) {
                import_fault(r->in, r->file, line, "two columns \"%s\": neither is used",
                             COLUMNS[k].title);
                r->column[i] = r->column[j] = -1;
                break;
            }
        repeated = repeated || r->seen[k];
    }
    if (repeated) flush(r); /* the tables of the next report */
    r->merges = r->runs_n > 0;
    for (size_t i = 0; i < r->titles_n; i++)
        if (r->column[i] >= 0) r->seen[r->column[i]] = true;
    r->header_n = 0;
}

static void take_cell(report *r, size_t line, int column, const char *cell) {
    const char *key = COLUMNS[column].key;
    if (strcmp(key, "strategy") == 0 || cell[0] == '\0' || strcmp(cell, "--") == 0) return;
    number n = number_at(cell, number_text_has_decimal_comma(cell, strlen(cell)));
    bool all = n.kind == NUMBER_OK && cell[n.len] == '\0';
    if (all) {
        serving_state(r->out, line, COLUMNS[column].title, key, n.v);
    } else {
        import_fault(r->in, r->file, line, "\"%s\" is \"%.32s\", expected a finite number",
                     COLUMNS[column].title, cell);
        r->out->run.faulty = true;
    }
}

/* Column of the strategy; -1: nothing of such a table is kept (words, characters). */
static int strategy_column(const report *r) {
    int at = -1;
    bool any = false;
    for (size_t i = 0; i < r->titles_n; i++) {
        if (r->column[i] < 0) continue;
        if (strcmp(COLUMNS[r->column[i]].key, "strategy") == 0)
            at = (int)i;
        else
            any = true;
    }
    return any ? at : -1;
}

static bool of_strategy(report *r, size_t run, const char *strategy) {
    r->out->run = r->runs[run];
    const char *there = serving_text(r->out, "strategy");
    return there && strcmp(there, strategy) == 0;
}

/* The run that this row tells of into r->out; false: none, which is a note. */
static bool find_run(report *r, size_t line, const char *strategy) {
    if (r->merges && r->row == 0 && !of_strategy(r, 0, strategy)) { /* another report */
        flush(r);
        r->merges = false;
        for (size_t i = 0; i < r->titles_n; i++)
            if (r->column[i] >= 0) r->seen[r->column[i]] = true;
    }
    if (r->row == RUNS_MAX) {
        import_fault(r->in, r->file, line, "more than %d benchmarks of one report", RUNS_MAX);
        return false;
    }
    if (r->row < r->runs_n && of_strategy(r, r->row, strategy)) return true;
    if (r->merges) {
        r->astray = true;
        import_fault(r->in, r->file, line,
                     "row %zu, \"%.32s\", has no such row in the tables above: which belongs to "
                     "which is unknown, none is used",
                     r->row + 1, strategy);
        return false;
    }
    serving_clear(r->out, line);
    serving_set_text(r->out, "strategy", strategy);
    const char *rate = strchr(strategy, '@');
    number n = number_at(rate ? rate + 1 : "", false);
    bool streams = strncmp(strategy, "concurrent", 10) == 0;
    if (n.kind == NUMBER_OK) serving_set(r->out, streams ? "streams" : "request_rate", n.v);
    r->runs_n++;
    return true;
}

static void take_row(report *r, const import_line *l, const cells *c) {
    int at = strategy_column(r);
    if (at < 0 || r->astray) return;
    if (c->n != r->titles_n || c->cut || !c->closed) {
        import_warn(r->in, r->file, l->number,
                    "cut off or wrapped: this row has not the columns of its table, not used");
        return;
    }
    if (strcmp(l->s, r->last) == 0 && r->row > 0)
        import_warn(r->in, r->file, l->number,
                    "the same row twice: two runs alike, or one of them counted twice");
    if (!find_run(r, l->number, c->v[at])) return;
    for (size_t i = 0; i < c->n; i++)
        if (r->column[i] >= 0) take_cell(r, l->number, r->column[i], c->v[i]);
    r->runs[r->row++] = r->out->run;
    snprintf(r->last, sizeof r->last, "%s", l->s);
}

static bool only(const char *s, const char *set) {
    return s[0] && s[strspn(s, set)] == '\0';
}

static void take_line(report *r, const import_line *l) {
    cells c;
    const char *s = l->s + strspn(l->s, " \t>#");
    if (only(s, "=| ") && strchr(s, '=')) {
        end_table(r, l->number, false); /* or begins; the next table may follow at once */
    } else if (only(s, "-|: ") && strchr(s, '-') && strchr(s, '|')) {
        end_header(r, l->number);
    } else if (!cells_of(l, &c)) {
        end_table(r, l->number, !l->ended);
    } else if (r->in_table) {
        take_row(r, l, &c);
    } else {
        add_header(r, &c);
    }
}

static err_code read_text(import *in, import_text *t) {
    report *r = ARENA_NEW(in->mem, report);
    if (!r) return err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
    r->in = in;
    r->file = import_keep(in, import_text_name(t));
    r->out = serving_new(in, t);
    import_line l;
    if (!r->out) return in->e->code;
    while (!in->e->code && import_text_line(t, &l)) take_line(r, &l);
    flush(r);
    return in->e->code;
}

static int detect_text(const file_bytes *f) {
    if (import_holds(f, "\"benchmarks\"")) return 0;
    bool now = import_holds(f, "Strategy") &&
               (import_holds(f, "Server Throughput Statistics") ||
                import_holds(f, "Request Latency Statistics") ||
                import_holds(f, "Request Token Statistics") || import_holds(f, "Run Summary Info"));
    bool then = import_holds(f, "Benchmark|") &&
                (import_holds(f, "Out Tok/sec") || import_holds(f, "Prompt Tok/Req"));
    bool bare = import_holds(f, "| Strategy") && import_holds(f, "| Benchmark");
    return now || then ? 90 : bare ? 70 : 0;
}

const import_format IMPORT_GUIDELLM_TEXT = {
    .name = "guidellm_text",
    .about = "the console tables of GuideLLM",
    .detect = detect_text,
    .read = read_text,
};
