#include "ledger.h"

#include "base/buf.h"
#include "base/jsonr.h"
#include "base/jsonw.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

const char *const LEDGER_DOUBT_NAMES[] = {"ratio", "ratio_cut", "stats", "duplicate"};
const char *const LEDGER_TREND_NAMES[] = {"new", "improved", "regressed", "flat"};

static const int64_t COUNT_MAX = 9007199254740991; /* 2^53 - 1: whole and exact in a double */

/* ---- dates ---- */

static int days_of_month(int year, int month) {
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return DAYS[month - 1] + (month == 2 && leap);
}

/* Whole number of the n digits at s; -1: something else stands there. */
static int digits(const char *s, size_t n) {
    int v = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') return -1;
        v = 10 * v + (s[i] - '0');
    }
    return v;
}

/* Days from Monday 0001-01-01 to the first day of the year. */
static int days_before_year(int year) {
    int y = year - 1;
    return 365 * y + y / 4 - y / 100 + y / 400;
}

bool ledger_date(const char *date, char week[16]) {
    if (strlen(date) != 10 || date[4] != '-' || date[7] != '-') return false;
    int year = digits(date, 4), month = digits(date + 5, 2), day = digits(date + 8, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
        return false;
    int yday = day - 1;
    for (int m = 1; m < month; m++) yday += days_of_month(year, m);
    /* Everything that %G and %V look at; mktime would ask for a time zone. */
    struct tm tm = {.tm_year = year - 1900,
                    .tm_mon = month - 1,
                    .tm_mday = day,
                    .tm_yday = yday,
                    .tm_wday = (days_before_year(year) + yday + 1) % 7};
    return !week || strftime(week, 16, "%G-W%V", &tm) == 8;
}

/* ---- the text of a row ---- */

typedef struct slice {
    size_t at, len;
} slice;

/* Scratch of one file; grows to its longest row. */
typedef struct reader {
    ledger *l;
    err *e;
    buf tight, joined; /* the row without white space; its members in order */
    slice *members;    /* malloc'ed; in `tight` */
    size_t members_n, members_cap;
} reader;

static void no_room(err *e, const char *where) {
    err_set(e, E_LIMIT, where, "does not fit the memory budget");
}

static bool add_member(reader *r, size_t at, size_t end) {
    if (r->members_n == r->members_cap) {
        size_t cap = r->members_cap ? 2 * r->members_cap : 32;
        slice *grown = realloc(r->members, cap * sizeof *grown);
        if (!grown) return false;
        r->members = grown;
        r->members_cap = cap;
    }
    r->members[r->members_n++] = (slice){.at = at, .len = end - at};
    return true;
}

/* Cuts the text of an object, which has been parsed already, into its members. cJSON keeps neither
 * the digits of a number nor whole numbers over 2^53, and both tell rows apart. */
static bool cut_members(reader *r, const char *s, size_t len) {
    buf_reset(&r->tight);
    r->members_n = 0;
    size_t from = 1; /* behind the opening brace */
    int depth = 0;
    bool ok = true, text = false;
    for (size_t i = 0; i < len && ok; i++) {
        if (!text && strchr(" \t\r\n", s[i])) continue;
        if (text && s[i] == '\\')
            buf_add_n(&r->tight, &s[i++], 1);
        else if (s[i] == '"')
            text = !text;
        else if (!text && (s[i] == '{' || s[i] == '['))
            depth++;
        else if (!text && (s[i] == '}' || s[i] == ']'))
            depth--;
        size_t at = r->tight.len;
        bool ends = !text && ((depth == 1 && s[i] == ',') || (depth == 0 && s[i] == '}'));
        if (ends && at > from) ok = add_member(r, from, at);
        if (ends) from = at + 1;
        buf_add_n(&r->tight, &s[i], 1);
    }
    return ok;
}

static const char *sort_base; /* qsort has no argument of its own; one thread, set before use */

static int by_text(const void *a, const void *b) {
    const slice *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;
    int c = memcmp(sort_base + x->at, sort_base + y->at, n);
    return c ? c : (x->len > y->len) - (x->len < y->len);
}

/* SHA-256 of the members in order of their text: the order of keys is no difference. */
static void digest(reader *r, char out[65]) {
    sort_base = r->tight.s;
    if (r->members_n > 1) qsort(r->members, r->members_n, sizeof *r->members, by_text);
    buf_reset(&r->joined);
    for (size_t i = 0; i < r->members_n; i++) {
        buf_add_n(&r->joined, r->tight.s + r->members[i].at, r->members[i].len);
        buf_add(&r->joined, ","); /* as between members: no two lists of members join alike */
    }
    file_sha256_hex(r->joined.s, r->joined.len, out);
}

/* ---- printed ratios ---- */

typedef struct printed {
    double v;
    char text[64];
    int decimals;
} printed;

/* Places behind the point. JSON writers drop trailing zeros, so a bare 0 or 1 is held to two;
 * behind the twelfth the digits are those of a double and say no more. */
static int decimals_of(const char *text) {
    enum { BARE = 2, MOST = 12 };
    const char *point = strchr(text, '.'), *exponent = strpbrk(text, "eE");
    long n = point ? (long)strspn(point + 1, "0123456789") : 0;
    if (exponent) {
        long power = strtol(exponent + 1, NULL, 10);
        n = power < -MOST ? MOST : power > MOST ? 0 : n - power;
    }
    return n <= 0 ? BARE : n < MOST ? (int)n : MOST;
}

static printed print_of(double v, const char *text, size_t len) {
    printed p = {.v = v};
    if (text && len < sizeof p.text) {
        memcpy(p.text, text, len);
        p.text[len] = '\0';
    } else
        jw_format(v, p.text);
    p.decimals = decimals_of(p.text);
    return p;
}

/* The ratio as the row writes it. A key written with escapes is not found: then its shortest
 * digits. */
static printed row_ratio(const reader *r, double v) {
    static const char KEY[] = "\"reuse_ratio\":";
    size_t n = sizeof KEY - 1;
    for (size_t i = 0; i < r->members_n; i++) {
        const char *s = r->tight.s + r->members[i].at;
        if (r->members[i].len > n && memcmp(s, KEY, n) == 0)
            return print_of(v, s + n, r->members[i].len - n);
    }
    return print_of(v, NULL, 0);
}

static const double SLACK = 1e-14; /* of doubles between 0 and 1, far below any printed digit */

static bool rounds_to(const printed *p, double v) {
    return fabs(p->v - v) <= pow(10, -p->decimals) / 2 + SLACK;
}

static void judge_ratio(reader *r, const printed *p, ledger_row *row) {
    ledger_sums s = {.prompt_tok = row->prompt_tok, .reused_tok = row->reused_tok};
    double v = 0; /* without a prompt token nothing can be reused */
    bool known = ledger_ratio(&s, &v);
    if (rounds_to(p, v)) return;
    row->ratio_cut = p->v <= v + SLACK && v < p->v + pow(10, -p->decimals);
    row->ratio_fault =
        known ? arena_printf(
                    r->l->mem,
                    "reuse_ratio %s is %s reused_tokens / prompt_tokens = %lld / %lld = "
                    "%.*f",
                    p->text,
                    row->ratio_cut ? "cut, not rounded, from" : "neither rounded nor cut from",
                    (long long)row->reused_tok, (long long)row->prompt_tok, p->decimals + 1, v)
              : arena_printf(r->l->mem, "reuse_ratio %s, but prompt_tokens is 0", p->text);
    if (!row->ratio_fault) no_room(r->e, row->file);
}

/* ---- rows ---- */

/* Writers that have nothing to say leave a key out or write null. */
static bool absent(jr obj, const char *key) {
    jr m = jr_get(obj, key);
    return !m.node || cJSON_IsNull(m.node);
}

/* Keys that are read may stand once; of two values neither is the row's. */
static void check_keys(jr obj) {
    static const char *const KNOWN[] = {
        "schema", "date",          "session_type",  "provider",    "mechanism", "context",
        "turns",  "prompt_tokens", "reused_tokens", "reuse_ratio", "stats",     "provenance"};
    enum { N = sizeof KNOWN / sizeof *KNOWN };
    size_t seen[N] = {0};
    for (const cJSON *c = obj.node ? obj.node->child : NULL; c; c = c->next)
        for (size_t i = 0; i < N; i++)
            if (c->string && strcmp(c->string, KNOWN[i]) == 0 && seen[i]++ == 1)
                jr_fail(jr_get(obj, KNOWN[i]), E_SCHEMA,
                        "found key \"%s\" twice, expected it once in one object", KNOWN[i]);
}

typedef struct counts {
    int64_t turns, prompt_tok, reused_tok;
    double ratio;
} counts;

static counts read_counts(jr obj) {
    counts c = {.turns = jr_int(obj, "turns", 0, COUNT_MAX),
                .prompt_tok = jr_int(obj, "prompt_tokens", 0, COUNT_MAX),
                .reused_tok = jr_int(obj, "reused_tokens", 0, COUNT_MAX),
                .ratio = jr_num(obj, "reuse_ratio", 0, 1)};
    if (c.reused_tok > c.prompt_tok)
        jr_fail(jr_get(obj, "reused_tokens"), E_RANGE,
                "found %lld, expected at most prompt_tokens, %lld", (long long)c.reused_tok,
                (long long)c.prompt_tok);
    return c;
}

static void read_date(jr root, ledger_row *row) {
    static const char WANTED[] = "expected a date YYYY-MM-DD from 1970-01-01 on";
    const char *date = jr_str(root, "date");
    if (!jr_ok(root) || ledger_date(date, row->week)) return;
    if (strlen(date) <= 24)
        jr_fail(jr_get(root, "date"), E_RANGE, "found \"%s\", %s", date, WANTED);
    else
        jr_fail(jr_get(root, "date"), E_RANGE, "found a text of %zu bytes, %s", strlen(date),
                WANTED);
}

/* The words of base/prov.h, in any case. Another word is an error: the verdict hangs on it. */
static void read_provenance(jr root, ledger_row *row) {
    row->prov = PROV_WITNESSED;
    row->prov_stated = !absent(root, "provenance");
    if (!row->prov_stated) return;
    const char *word = cJSON_GetStringValue(jr_get(root, "provenance").node);
    for (int i = 0; word && PROV_NAMES[i]; i++)
        if (strcasecmp(word, PROV_NAMES[i]) == 0) {
            row->prov = (prov)i;
            return;
        }
    row->prov = (prov)jr_enum(root, "provenance", PROV_NAMES);
}

static void differ(buf *out, const char *key, int64_t stats, int64_t row) {
    if (stats == row) return;
    buf_addf(out, "%sstats.%s is %lld, the row has %lld", out->len ? "; " : "", key,
             (long long)stats, (long long)row);
}

static void judge_stats(reader *r, jr root, const counts *c, const printed *ratio,
                        ledger_row *row) {
    if (absent(root, "stats")) return;
    jr stats = jr_get(root, "stats");
    if (!cJSON_IsObject(stats.node)) {
        jr_fail(stats, E_SCHEMA, "found something else, expected an object");
        return;
    }
    check_keys(stats);
    counts s = read_counts(stats);
    if (!jr_ok(root)) return;
    buf_reset(&r->joined);
    differ(&r->joined, "turns", s.turns, c->turns);
    differ(&r->joined, "prompt_tokens", s.prompt_tok, c->prompt_tok);
    differ(&r->joined, "reused_tokens", s.reused_tok, c->reused_tok);
    printed other = print_of(s.ratio, NULL, 0);
    /* one may have more digits than the other */
    if (!rounds_to(ratio, s.ratio) && !rounds_to(&other, c->ratio))
        buf_addf(&r->joined, "%sstats.reuse_ratio is %s, the row has %s", r->joined.len ? "; " : "",
                 other.text, ratio->text);
    if (r->joined.len == 0) return;
    row->stats_fault = arena_strdup(r->l->mem, r->joined.s);
    if (!row->stats_fault) no_room(r->e, row->file);
}

static void read_row(reader *r, jr root, const char *s, size_t len, ledger_row *row) {
    jr_schema(root, LEDGER_SCHEMA);
    if (!jr_ok(root)) return;
    check_keys(root);
    read_date(root, row);
    (void)jr_str(root, "session_type");
    (void)jr_str(root, "provider");
    (void)jr_str(root, "mechanism");
    jr context = jr_get(root, "context");
    if (!absent(root, "context") && !cJSON_IsString(context.node))
        jr_fail(context, E_SCHEMA, "found something else, expected a string");
    counts c = read_counts(root);
    row->turns = c.turns;
    row->prompt_tok = c.prompt_tok;
    row->reused_tok = c.reused_tok;
    read_provenance(root, row);
    if (!jr_ok(root)) return;
    if (!cut_members(r, s, len)) {
        err_set(r->e, E_NOMEM, row->file, "out of memory");
        return;
    }
    printed ratio = row_ratio(r, c.ratio);
    judge_ratio(r, &ratio, row);
    judge_stats(r, root, &c, &ratio, row);
    digest(r, row->digest);
}

static ledger_row *new_row(ledger *l) {
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        ledger_row *rows = ARENA_ARRAY(l->mem, ledger_row, cap);
        if (!rows) return NULL;
        if (l->n) memcpy(rows, l->rows, l->n * sizeof *rows);
        l->rows = rows;
        l->cap = cap;
    }
    l->rows[l->n] = (ledger_row){0};
    return &l->rows[l->n];
}

/* Is the file as a whole what no line of it is? Pasted rows are often spread over lines. */
static bool spread_over_lines(const file_bytes *f, arena *mem) {
    jr_doc d;
    err e = {0};
    if (jr_parse(&d, f->name, f->s, f->len, mem, &e)) return false;
    jr_free(&d);
    return true;
}

static void read_line(reader *r, const file_bytes *f, size_t line, const char *s, size_t len) {
    char name[256];
    snprintf(name, sizeof name, "%.220s:%zu", f->name, line);
    jr_doc d;
    err bad = {0};
    if (jr_parse_line(&d, name, s, len, r->l->mem, &bad)) {
        if (bad.code == E_SYNTAX && spread_over_lines(f, r->l->mem))
            err_set(r->e, E_SYNTAX, name,
                    "found JSON spread over several lines, expected one whole row on each line");
        else
            err_set(r->e, bad.code, bad.where, "%s", bad.what);
        return;
    }
    d.e = r->e;
    ledger_row *row = new_row(r->l);
    if (row) {
        row->file = f->name;
        row->line = line;
        read_row(r, jr_root(&d), s, len, row);
        if (r->e->code == OK) r->l->n++;
    } else
        no_room(r->e, name);
    jr_free(&d);
}

static bool is_blank(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (s[i] != ' ' && s[i] != '\t' && s[i] != '\r') return false;
    return true;
}

err_code ledger_read(ledger *l, const file_bytes *f, err *e) {
    if (e->code) return e->code;
    reader r = {.l = l, .e = e};
    buf_init(&r.tight);
    buf_init(&r.joined);
    size_t line = 1;
    for (size_t at = 0; at < f->len && e->code == OK; line++) {
        const char *s = f->s + at, *end = memchr(s, '\n', f->len - at);
        size_t len = end ? (size_t)(end - s) : f->len - at;
        if (!is_blank(s, len)) read_line(&r, f, line, s, len);
        at += len + 1;
    }
    buf_done(&r.tight);
    buf_done(&r.joined);
    free(r.members);
    return e->code;
}

/* ---- fold ---- */

bool ledger_ratio(const ledger_sums *s, double *out) {
    if (s->prompt_tok == 0) return false;
    *out = (double)s->reused_tok / (double)s->prompt_tok;
    return true;
}

/* a/b against c/d (b, d > 0): -1, 0, 1. By continued fractions: products would overflow, doubles
 * would round at the edge of a band. */
static int cmp_fractions(int64_t a, int64_t b, int64_t c, int64_t d) {
    for (int sign = 1;; sign = -sign) {
        int64_t x = a / b, y = c / d;
        if (x != y) return x < y ? -sign : sign;
        int64_t rest_a = a % b, rest_c = c % d;
        if (rest_a == 0 || rest_c == 0) return sign * ((rest_a != 0) - (rest_c != 0));
        a = b;
        b = rest_a;
        c = d;
        d = rest_c;
    }
}

ledger_trend ledger_trend_of(const ledger_sums *before, const ledger_sums *now) {
    const int64_t B = LEDGER_BAND_PER_1; /* B * 2^53 stays far below 2^63 */
    int64_t p = before->prompt_tok, q = now->prompt_tok;
    if (p == 0 || q == 0) return TREND_NEW;
    int64_t r = before->reused_tok, s = now->reused_tok;
    if (cmp_fractions(s, q, B * r + p, B * p) > 0) return TREND_IMPROVED;
    if (cmp_fractions(B * s + q, B * q, r, p) < 0) return TREND_REGRESSED;
    return TREND_FLAT;
}

static void add_row(ledger_sums *s, const ledger_row *row, err *e) {
    s->rows++;
    if (row->prompt_tok > COUNT_MAX - s->prompt_tok) {
        char where[256];
        snprintf(where, sizeof where, "%.220s:%zu", row->file, row->line);
        err_set(e, E_LIMIT, where,
                "with this row the prompt_tokens come to 2^53 or more, expected a sum below that");
        return;
    }
    s->prompt_tok += row->prompt_tok;
    s->reused_tok += row->reused_tok; /* at most as many */
}

/* Rows as the fold orders them: a view, so that the ledger stays as it was read. */
typedef struct view {
    const ledger_row *row;
    const ledger_row *same_as; /* an equal row before it */
} view;

static int by_digest(const void *a, const void *b) {
    const view *x = a, *y = b;
    int c = strcmp(x->row->digest, y->row->digest);
    return c ? c : (x->row > y->row) - (x->row < y->row);
}

static int by_place(const void *a, const void *b) {
    const view *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_week(const void *a, const void *b) {
    const view *x = a, *y = b;
    int c = strcmp(x->row->week, y->row->week);
    return c ? c : by_place(a, b);
}

static view *find_duplicates(const ledger *l, arena *mem) {
    view *v = ARENA_ARRAY(mem, view, l->n);
    if (!v) return NULL;
    for (size_t i = 0; i < l->n; i++) v[i].row = &l->rows[i];
    if (l->n > 1) qsort(v, l->n, sizeof *v, by_digest);
    for (size_t i = 1, first = 0; i < l->n; i++)
        if (strcmp(v[i].row->digest, v[first].row->digest) == 0)
            v[i].same_as = v[first].row;
        else
            first = i;
    if (l->n > 1) qsort(v, l->n, sizeof *v, by_place);
    return v;
}

const char *ledger_repeats(const ledger *l, size_t i, arena *mem) {
    for (size_t j = 0; j < i; j++)
        if (strcmp(l->rows[j].digest, l->rows[i].digest) == 0)
            return arena_printf(mem, "%s:%zu", l->rows[j].file, l->rows[j].line);
    return NULL;
}

typedef struct warnings {
    ledger_warning *v;
    size_t n; /* found; the first LEDGER_WARNINGS_MAX are kept */
} warnings;

static void warn(warnings *w, const ledger_row *row, ledger_doubt kind, const char *what) {
    if (w->n < LEDGER_WARNINGS_MAX)
        w->v[w->n] =
            (ledger_warning){.file = row->file, .line = row->line, .kind = kind, .what = what};
    w->n++;
}

static err_code judge_rows(const view *v, size_t n, arena *mem, rollup *out, err *e) {
    warnings w = {.v = ARENA_ARRAY(mem, ledger_warning, LEDGER_WARNINGS_MAX)};
    if (!w.v) {
        no_room(e, "ledger");
        return e->code;
    }
    for (size_t i = 0; i < n && e->code == OK; i++) {
        const ledger_row *row = v[i].row;
        if (v[i].same_as) {
            bool kept = w.n < LEDGER_WARNINGS_MAX;
            const char *what = kept ? arena_printf(mem, "the row of %s:%zu again, not counted",
                                                   v[i].same_as->file, v[i].same_as->line)
                                    : "";
            if (!what) no_room(e, row->file);
            warn(&w, row, DOUBT_DUPLICATE, what);
            continue;
        }
        if (row->ratio_fault)
            warn(&w, row, row->ratio_cut ? DOUBT_RATIO_CUT : DOUBT_RATIO, row->ratio_fault);
        if (row->stats_fault) warn(&w, row, DOUBT_STATS, row->stats_fault);
    }
    out->warnings = w.v;
    out->warnings_n = w.n;
    out->warnings_kept_n = w.n < LEDGER_WARNINGS_MAX ? w.n : LEDGER_WARNINGS_MAX;
    return e->code;
}

/* Sums everything up; v[0..result) are then the rows of the gate. */
static size_t sort_out(view *v, size_t n, rollup *out, err *e) {
    size_t gate_n = 0;
    out->rows_n = n;
    for (size_t i = 0; i < n && e->code == OK; i++) {
        const ledger_row *row = v[i].row;
        if (v[i].same_as)
            out->duplicates_n++;
        else if (row->turns == 0)
            out->zero_turn_n++;
        else if (row->turns < LEDGER_GATE_TURNS)
            out->single_turn_n++;
        else if (row->prov != PROV_WITNESSED) {
            add_row(&out->not_measured, row, e);
            out->not_measured_weakest = prov_weakest(out->not_measured_weakest, row->prov);
        } else {
            add_row(&out->gate, row, e);
            out->unstated_n += !row->prov_stated;
            v[gate_n++] = v[i];
        }
    }
    return gate_n;
}

static err_code fold_weeks(view *gate, size_t n, arena *mem, rollup *out, err *e) {
    if (n > 1) qsort(gate, n, sizeof *gate, by_week);
    size_t weeks_n = n > 0;
    for (size_t i = 1; i < n; i++) weeks_n += strcmp(gate[i].row->week, gate[i - 1].row->week) != 0;
    ledger_week *weeks = ARENA_ARRAY(mem, ledger_week, weeks_n), *w = weeks;
    if (!weeks) {
        no_room(e, "ledger");
        return e->code;
    }
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && strcmp(gate[i].row->week, gate[i - 1].row->week) != 0) w++;
        memcpy(w->week, gate[i].row->week, sizeof w->week);
        add_row(&w->sum, gate[i].row, e); /* part of a sum that did not overflow */
    }
    for (size_t i = 0; i < weeks_n; i++) {
        weeks[i].thin = weeks[i].sum.rows < LEDGER_THIN_ROWS;
        weeks[i].trend = i ? ledger_trend_of(&weeks[i - 1].sum, &weeks[i].sum) : TREND_NEW;
    }
    out->weeks = weeks;
    out->weeks_n = weeks_n;
    out->trend = weeks_n ? weeks[weeks_n - 1].trend : TREND_NEW;
    return e->code;
}

err_code ledger_fold(const ledger *l, arena *mem, rollup *out, err *e) {
    *out = (rollup){0};
    if (e->code) return e->code;
    view *v = find_duplicates(l, mem);
    if (!v) {
        no_room(e, "ledger");
        return e->code;
    }
    if (judge_rows(v, l->n, mem, out, e)) return e->code;
    size_t gate_n = sort_out(v, l->n, out, e);
    out->measured = out->gate.prompt_tok > 0;
    return e->code ? e->code : fold_weeks(v, gate_n, mem, out, e);
}
