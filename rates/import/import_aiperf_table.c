/* AIPerf and genai-perf: the CSV summary and the table on the console.
 *
 * CSV: sections, each with a header of its own, "Metric,avg,min,..." and "Metric,Value"; the first
 * cell of a row is "Time to First Token (ms)", in genai-perf "Time To First Token (ms)". Numbers of
 * a thousand and more stand in quotes with separators. Sections on GPUs have other first columns.
 * Console: a table drawn with box characters (or |), "Metric" or "Statistic" in its first column;
 * a long title goes on in the next line, beside empty cells. A text may hold several tables, each
 * one run. */
#include "import_aiperf.h"
#include "import_head.h"
#include "import_metrics.h"
#include "import_number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { TITLE_BYTES = 192, COLUMNS_MAX = 32 };

typedef struct reader {
    import *in;
    import_text *t;
    const char *name;
    metric_set set;
    size_t line; /* of the header of the set */
    bool any;    /* something is in the set */
    bool decimal_comma;
    char separator;
    size_t first_header; /* hash of the line */
    size_t columns_n;    /* of the header; 0: outside a table */
    int stat[COLUMNS_MAX];
    size_t unit; /* column of the units; 0: they stand in the titles */
    /* a row waits for its title to go on */
    char title[TITLE_BYTES];
    double cell[COLUMNS_MAX];
    size_t title_line;
    /* of a command line above a table that is still to come */
    double concurrency;
    const char *model;
    bool command; /* the line goes on in the next one */
} reader;

/* "Time to First Token (ms)" -> title without the unit; *unit points into `text`, NULL: none. */
static void split_unit(char *text, char **unit) {
    char *open = strrchr(text, '('), *close = open ? strchr(open, ')') : NULL;
    *unit = NULL;
    if (!close) return;
    *unit = open + 1;
    *close = '\0';
    while (open > text && open[-1] == ' ') open--;
    *open = '\0';
}

static void put_row(reader *r) {
    char title[TITLE_BYTES], *unit;
    snprintf(title, sizeof title, "%s", r->title);
    split_unit(title, &unit);
    int m = metric_of(title);
    if (m < 0 && strstr(title, "…"))
        import_warn(r->in, r->name, r->title_line, "\"%.80s\" is cut short: not used", title);
    for (size_t i = 1; m >= 0 && i < r->columns_n; i++) {
        if (r->stat[i] < 0 || isnan(r->cell[i])) continue;
        metric_put(r->in, r->name, r->title_line, &r->set, m, r->stat[i], r->cell[i], unit);
        r->any = true;
    }
    r->title[0] = '\0';
}

static void flush(reader *r) {
    if (r->title[0]) put_row(r);
}

/* Emits what the tables since the last run stated. */
static void end_run(reader *r) {
    flush(r);
    if (r->any) metric_set_emit(r->in, r->name, r->line, &r->set);
    r->set = metric_set_new();
    r->any = false;
}

/* A header: which column is which statistic. A column that stands twice is none. */
static void take_header(reader *r, const cells *c, size_t line) {
    r->columns_n = c->n < COLUMNS_MAX ? c->n : COLUMNS_MAX;
    r->unit = cells_count(c, "Unit") == 1 ? (size_t)cells_column(c, "Unit") : 0;
    if (r->unit >= r->columns_n) r->unit = 0;
    for (size_t i = 0; i < r->columns_n; i++) {
        bool twice = i > 0 && cells_count(c, c->v[i]) > 1;
        r->stat[i] = i == 0 || twice ? -1 : metric_stat_of(c->v[i]);
        if (twice)
            import_fault(r->in, r->name, line, "column \"%.40s\" stands twice: not used", c->v[i]);
    }
    if (!r->any) r->line = line;
}

static bool is_header(const cells *c) {
    if (c->n < 2 || (strcasecmp(c->v[0], "Metric") != 0 && strcasecmp(c->v[0], "Statistic") != 0))
        return false;
    for (size_t i = 1; i < c->n; i++)
        if (metric_stat_of(c->v[i]) >= 0) return true;
    return false;
}

static bool is_nothing(const char *s) {
    return s[0] == '\0' || strcasecmp(s, "N/A") == 0 || strcmp(s, "-") == 0;
}

/* A cell as a number; NaN where it is empty, N/A or a dash, or no number (noted). */
static double number_of_cell(reader *r, const cells *c, size_t i, size_t line) {
    double mean = (double)NAN, std;
    const char *s = c->v[i];
    if (is_nothing(s)) return mean;
    switch (number_cell(s, r->decimal_comma, &mean, &std)) {
    case NUMBER_OK:
        return mean;
    case NUMBER_NAN:
        return (double)NAN;
    case NUMBER_INF:
        import_fault(r->in, r->name, line, "%.60s: infinite, expected a number", c->v[0]);
        break;
    case NUMBER_AMBIGUOUS:
        import_warn(r->in, r->name, line,
                    "%.60s: \"%.24s\" may be a thousand or a decimal comma: not used", c->v[0], s);
        break;
    case NUMBER_NONE:
        import_fault(r->in, r->name, line, "%.60s: found \"%.24s\", expected a number", c->v[0], s);
        break;
    }
    return (double)NAN;
}

static void take_row(reader *r, const cells *c, size_t line) {
    if (c->n != r->columns_n) {
        import_warn(r->in, r->name, line, "found %zu cells, expected the header's %zu: not used",
                    c->n, r->columns_n);
        return;
    }
    if (r->unit && c->v[r->unit][0])
        snprintf(r->title, sizeof r->title, "%.96s (%.48s)", c->v[0], c->v[r->unit]);
    else
        snprintf(r->title, sizeof r->title, "%s", c->v[0]);
    r->title_line = line;
    for (size_t i = 1; i < c->n; i++)
        r->cell[i] = i == r->unit ? (double)NAN : number_of_cell(r, c, i, line);
}

/* ---- CSV ---- */

static void csv_line(reader *r, const import_line *l) {
    cells c;
    if (!cells_of_csv(l->s, r->separator, &c)) {
        r->columns_n = 0; /* an empty line ends a section */
    } else if (!l->ended) {
        import_warn(r->in, r->name, l->number, "the file ends inside this line, which is not used");
    } else if (c.cut || !c.closed) {
        import_fault(r->in, r->name, l->number, "a line that is no row: too long, or a quote open");
    } else if (is_header(&c)) {
        size_t hash = 5381; /* the first header again: the file of another run, appended */
        for (const char *s = l->s; *s; s++) hash = hash * 33 + (unsigned char)*s;
        if (r->any && hash == r->first_header) end_run(r);
        if (!r->any) r->first_header = hash;
        take_header(r, &c, l->number);
    } else if (r->columns_n > 0) {
        take_row(r, &c, l->number);
        flush(r);
    }
}

static err_code read_csv(import *in, import_text *t) {
    const file_bytes *head = import_text_head(t);
    cells c;
    reader r = {.in = in,
                .t = t,
                .name = import_keep(in, import_text_name(t)),
                .separator = ',',
                .set = metric_set_new()};
    if (head->s && !head_header(head, &c, &r.separator)) r.separator = ',';
    r.decimal_comma =
        r.separator == ';' && head->s && number_text_has_decimal_comma(head->s, head->len);
    for (import_line l; !in->e->code && import_text_line(t, &l);) csv_line(&r, &l);
    end_run(&r);
    return in->e->code;
}

static int detect_csv(const file_bytes *f) {
    cells c;
    char separator;
    return head_header(f, &c, &separator) && strcasecmp(c.v[0], "Metric") == 0 && is_header(&c) ? 90
                                                                                                : 0;
}

/* ---- console ---- */

/* The line with every bar of a box as '|', and its other drawing as '-'. */
static void plain_bars(const char *s, char *out, size_t cap) {
    size_t n = 0;
    while (*s && n + 1 < cap) {
        if (strncmp(s, "┃", 3) == 0 || strncmp(s, "│", 3) == 0) {
            out[n++] = '|';
            s += 3;
        } else if ((unsigned char)s[0] == 0xE2 &&
                   ((unsigned char)s[1] == 0x94 || (unsigned char)s[1] == 0x95) && s[2]) {
            out[n++] = '-';
            s += 3;
        } else {
            out[n++] = *s++;
        }
    }
    out[n] = '\0';
}

/* The value of an option in a command line that is printed above the table. */
static bool option_value(const char *line, const char *option, char *out, size_t cap) {
    const char *p = strstr(line, option);
    if (!p) return false;
    p += strlen(option);
    if (*p != ' ' && *p != '=') return false;
    p += 1 + strspn(p + 1, " '\"");
    size_t n = strcspn(p, " '\"\\");
    if (n == 0 || n >= cap) return false;
    memcpy(out, p, n);
    out[n] = '\0';
    return true;
}

static void command_options(reader *r, const char *s, double *concurrency, const char **model) {
    char value[128];
    if (option_value(s, "--concurrency", value, sizeof value)) {
        number n = number_at(value, false);
        bool whole = n.kind == NUMBER_OK && value[n.len] == '\0';
        *concurrency = whole ? n.v : (double)NAN;
    }
    if (option_value(s, "--model", value, sizeof value) ||
        option_value(s, " -m", value, sizeof value))
        *model = import_keep(r->in, value);
}

/* Text around the tables. What a shell was asked stands above its table, what AIPerf says of
 * itself ("CLI Command:") below. */
static void other_line(reader *r, const char *s, size_t line) {
    const char *said = label_value(s, "CLI Command"),
               *lasted = label_value(s, "Benchmark Duration");
    bool asked = !said && (strstr(s, "aiperf profile") || strstr(s, "genai-perf profile"));
    size_t n = strlen(s);
    if (said && r->any) command_options(r, said, &r->set.concurrency, &r->set.model);
    if (asked) {
        r->concurrency = (double)NAN;
        r->model = NULL;
    }
    if (asked || r->command) command_options(r, s, &r->concurrency, &r->model);
    r->command = (asked || r->command) && n > 0 && s[n - 1] == '\\';
    if (!lasted || !r->any) return;
    number v = number_at(lasted, r->decimal_comma);
    const char *unit = lasted + v.len + (v.kind == NUMBER_OK ? strspn(lasted + v.len, " ") : 0);
    if (v.kind == NUMBER_OK)
        metric_put(r->in, r->name, line, &r->set, metric_of("benchmark_duration"),
                   metric_stat_of("avg"), v.v, unit);
}

static bool all_empty(const cells *c) {
    for (size_t i = 1; i < c->n; i++)
        if (c->v[i][0]) return false;
    return true;
}

static void console_row(reader *r, const cells *c, const import_line *l) {
    if (is_header(c)) {
        end_run(r);
        take_header(r, c, l->number);
        r->set.concurrency = r->concurrency;
        r->set.model = r->model;
        r->concurrency = (double)NAN;
        r->model = NULL;
    } else if (r->columns_n == 0) {
        return;
    } else if (!c->closed) {
        flush(r);
        import_warn(r->in, r->name, l->number, "the row has no end: not used");
    } else if (all_empty(c) && r->title[0]) { /* the title goes on */
        size_t n = strlen(r->title);
        snprintf(r->title + n, sizeof r->title - n, " %s", c->v[0]);
    } else if (c->v[0][0] == '\0') {
        import_warn(r->in, r->name, l->number,
                    "numbers go on in a second line: the row above is not used");
        r->title[0] = '\0';
    } else {
        flush(r);
        take_row(r, c, l->number);
    }
}

static err_code read_console(import *in, import_text *t) {
    const file_bytes *head = import_text_head(t);
    cells c;
    char line[CELLS_BYTES];
    reader r = {.in = in,
                .t = t,
                .name = import_keep(in, import_text_name(t)),
                .set = metric_set_new(),
                .concurrency = (double)NAN};
    r.decimal_comma = head->s && number_text_has_decimal_comma(head->s, head->len);
    for (import_line l; !in->e->code && import_text_line(t, &l);) {
        plain_bars(l.s, line, sizeof line);
        if (cells_of_pipes(line, &c) && !c.cut) {
            if (!cells_are_separator(&c)) console_row(&r, &c, &l);
        } else if (line[strspn(line, " -+")] != '\0') {
            flush(&r);
            r.columns_n = 0;
            other_line(&r, line, l.number);
        }
    }
    end_run(&r);
    return in->e->code;
}

/* A table with the right header, and under it a metric that is known. */
static int detect_console(const file_bytes *f) {
    cells c;
    char raw[CELLS_BYTES], line[CELLS_BYTES], *unit;
    bool header = false;
    for (size_t at = 0, n; at < f->len; at += n + 1) {
        const char *end = memchr(f->s + at, '\n', f->len - at);
        n = end ? (size_t)(end - (f->s + at)) : f->len - at;
        if (n >= sizeof raw) continue;
        memcpy(raw, f->s + at, n);
        raw[n] = '\0';
        raw[strcspn(raw, "\r")] = '\0';
        plain_bars(raw, line, sizeof line);
        if (!cells_of_pipes(line, &c) || c.cut || c.n < 2) continue;
        if (is_header(&c)) {
            header = true;
        } else if (header) {
            snprintf(raw, sizeof raw, "%s", c.v[0]);
            split_unit(raw, &unit);
            if (metric_of(raw) < 0) continue;
            bool named = import_holds(f, "NVIDIA AIPerf") || import_holds(f, "NVIDIA GenAI-Perf");
            return named ? 90 : 75;
        }
    }
    return 0;
}

const import_format IMPORT_AIPERF_CSV = {.name = "aiperf_csv",
                                         .about = "AIPerf and genai-perf, profile_export_*.csv",
                                         .detect = detect_csv,
                                         .read = read_csv};
const import_format IMPORT_AIPERF_TEXT = {.name = "aiperf_text",
                                          .about =
                                              "AIPerf and genai-perf, the table on the console",
                                          .detect = detect_console,
                                          .read = read_console};
