#include "base/unit.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unit UNITS[] = {
    {"", DIM_OTHER, 1, PREFIX_NONE},
    {"s", DIM_TIME, 1, PREFIX_NONE},
    {"sec", DIM_TIME, 1, PREFIX_NONE},
    {"seconds", DIM_TIME, 1, PREFIX_NONE},
    {"ms", DIM_TIME, 1e-3, PREFIX_NONE},
    {"us", DIM_TIME, 1e-6, PREFIX_NONE},
    {"µs", DIM_TIME, 1e-6, PREFIX_NONE},
    {"ns", DIM_TIME, 1e-9, PREFIX_NONE},
    {"hr", DIM_TIME, 3600, PREFIX_NONE},
    {"min", DIM_TIME, 60, PREFIX_NONE},
    {"minutes", DIM_TIME, 60, PREFIX_NONE},
    {"h", DIM_TIME, 3600, PREFIX_NONE},
    {"hours", DIM_TIME, 3600, PREFIX_NONE},
    {"B", DIM_BYTES, 1, PREFIX_NONE},
    {"bytes", DIM_BYTES, 1, PREFIX_NONE},
    {"kB", DIM_BYTES, 1e3, PREFIX_DECIMAL},
    {"KB", DIM_BYTES, 1e3, PREFIX_DECIMAL},
    {"MB", DIM_BYTES, 1e6, PREFIX_DECIMAL},
    {"GB", DIM_BYTES, 1e9, PREFIX_DECIMAL},
    {"TB", DIM_BYTES, 1e12, PREFIX_DECIMAL},
    {"KiB", DIM_BYTES, 0x1p10, PREFIX_BINARY},
    {"MiB", DIM_BYTES, 0x1p20, PREFIX_BINARY},
    {"GiB", DIM_BYTES, 0x1p30, PREFIX_BINARY},
    {"TiB", DIM_BYTES, 0x1p40, PREFIX_BINARY},
    {"tok", DIM_TOK, 1, PREFIX_NONE},
    {"token", DIM_TOK, 1, PREFIX_NONE},
    {"tokens", DIM_TOK, 1, PREFIX_NONE},
    {"tok/s", DIM_TOK_S, 1, PREFIX_NONE},
    {"t/s", DIM_TOK_S, 1, PREFIX_NONE},
    {"tps", DIM_TOK_S, 1, PREFIX_NONE},
    {"tokens/s", DIM_TOK_S, 1, PREFIX_NONE},
    {"token/s", DIM_TOK_S, 1, PREFIX_NONE},
    {"tokens/sec", DIM_TOK_S, 1, PREFIX_NONE},
    {"tok/sec", DIM_TOK_S, 1, PREFIX_NONE},
    {"tokens per second", DIM_TOK_S, 1, PREFIX_NONE},
    {"tok/s/user", DIM_TOK_S, 1, PREFIX_NONE},
    {"tokens/s/user", DIM_TOK_S, 1, PREFIX_NONE},
    {"tok/s/stream", DIM_TOK_S, 1, PREFIX_NONE},
    {"tok/s/request", DIM_TOK_S, 1, PREFIX_NONE},
    {"ktok/s", DIM_TOK_S, 1e3, PREFIX_NONE},
    {"tok/min", DIM_TOK_S, 1 / 60.0, PREFIX_NONE},
    {"ms/tok", DIM_TIME, 1e-3, PREFIX_NONE},
    {"ms/token", DIM_TIME, 1e-3, PREFIX_NONE},
    {"s/tok", DIM_TIME, 1, PREFIX_NONE},
    {"s/token", DIM_TIME, 1, PREFIX_NONE},
    {"fraction", DIM_FRAC, 1, PREFIX_NONE},
    {"frac", DIM_FRAC, 1, PREFIX_NONE},
    {"%", DIM_FRAC, 0.01, PREFIX_NONE},
    {"percent", DIM_FRAC, 0.01, PREFIX_NONE},
    {"pct", DIM_FRAC, 0.01, PREFIX_NONE},
    {"x", DIM_RATIO, 1, PREFIX_NONE},
    {"×", DIM_RATIO, 1, PREFIX_NONE},
    {"times", DIM_RATIO, 1, PREFIX_NONE},
    {"ratio", DIM_RATIO, 1, PREFIX_NONE},
    {"rounds", DIM_COUNT, 1, PREFIX_NONE},
    {"agents", DIM_COUNT, 1, PREFIX_NONE},
    {"users", DIM_COUNT, 1, PREFIX_NONE},
    {"requests", DIM_COUNT, 1, PREFIX_NONE},
    {"req", DIM_COUNT, 1, PREFIX_NONE},
    {"streams", DIM_COUNT, 1, PREFIX_NONE},
    {"sequences", DIM_COUNT, 1, PREFIX_NONE},
    {"sessions", DIM_COUNT, 1, PREFIX_NONE},
    {"turns", DIM_COUNT, 1, PREFIX_NONE},
    {"evaluations", DIM_COUNT, 1, PREFIX_NONE},
    {"count", DIM_COUNT, 1, PREFIX_NONE},
    {"blocks", DIM_COUNT, 1, PREFIX_NONE},
    {"slots", DIM_COUNT, 1, PREFIX_NONE},
    {"steps", DIM_COUNT, 1, PREFIX_NONE},
    {"layers", DIM_COUNT, 1, PREFIX_NONE},
    {"GB/s", DIM_BYTES_S, 1e9, PREFIX_DECIMAL},
    {"GBps", DIM_BYTES_S, 1e9, PREFIX_DECIMAL},
    {"GiB/s", DIM_BYTES_S, 0x1p30, PREFIX_BINARY},
    {"TB/s", DIM_BYTES_S, 1e12, PREFIX_DECIMAL},
    {"MB/s", DIM_BYTES_S, 1e6, PREFIX_DECIMAL},
    {"GFLOPS", DIM_FLOP_S, 1e9, PREFIX_NONE},
    {"GFLOP/s", DIM_FLOP_S, 1e9, PREFIX_NONE},
    {"TFLOPS", DIM_FLOP_S, 1e12, PREFIX_NONE},
    {"TFLOP/s", DIM_FLOP_S, 1e12, PREFIX_NONE},
    {"PFLOPS", DIM_FLOP_S, 1e15, PREFIX_NONE},
    {"B/tok", DIM_BYTES_PER_TOK, 1, PREFIX_NONE},
    {"B/token", DIM_BYTES_PER_TOK, 1, PREFIX_NONE},
    {"bytes/tok", DIM_BYTES_PER_TOK, 1, PREFIX_NONE},
    {"bytes/token", DIM_BYTES_PER_TOK, 1, PREFIX_NONE},
    {"KB/tok", DIM_BYTES_PER_TOK, 1e3, PREFIX_DECIMAL},
    {"KB/token", DIM_BYTES_PER_TOK, 1e3, PREFIX_DECIMAL},
    {"kB/token", DIM_BYTES_PER_TOK, 1e3, PREFIX_DECIMAL},
    {"KiB/tok", DIM_BYTES_PER_TOK, 0x1p10, PREFIX_BINARY},
    {"KiB/token", DIM_BYTES_PER_TOK, 0x1p10, PREFIX_BINARY},
    {"MB/token", DIM_BYTES_PER_TOK, 1e6, PREFIX_DECIMAL},
    {"MiB/token", DIM_BYTES_PER_TOK, 0x1p20, PREFIX_BINARY},
    {"agents/GB", DIM_AGENTS_PER_BYTE, 1e-9, PREFIX_DECIMAL},
    {"agents/GiB", DIM_AGENTS_PER_BYTE, 0x1p-30, PREFIX_BINARY},
    {"req/s", DIM_REQ_S, 1, PREFIX_NONE},
    {"requests/s", DIM_REQ_S, 1, PREFIX_NONE},
    {"req/sec", DIM_REQ_S, 1, PREFIX_NONE},
    {"requests/sec", DIM_REQ_S, 1, PREFIX_NONE},
    {"rps", DIM_REQ_S, 1, PREFIX_NONE},
    {"req/min", DIM_REQ_S, 1 / 60.0, PREFIX_NONE},
    {"tokens/round", DIM_TOK_PER_ROUND, 1, PREFIX_NONE},
    {"tok/round", DIM_TOK_PER_ROUND, 1, PREFIX_NONE},
    {"tokens/step", DIM_TOK_PER_ROUND, 1, PREFIX_NONE},
    {"tok/step", DIM_TOK_PER_ROUND, 1, PREFIX_NONE},
    {"USD/h", DIM_MONEY_PER_TIME, 1 / 3600.0, PREFIX_NONE},
    {"USD/hr", DIM_MONEY_PER_TIME, 1 / 3600.0, PREFIX_NONE},
    {"$/h", DIM_MONEY_PER_TIME, 1 / 3600.0, PREFIX_NONE},
    {"$/hr", DIM_MONEY_PER_TIME, 1 / 3600.0, PREFIX_NONE},
    {"tok/USD", DIM_TOK_PER_MONEY, 1, PREFIX_NONE},
    {"tokens/USD", DIM_TOK_PER_MONEY, 1, PREFIX_NONE},
    {"tok/$", DIM_TOK_PER_MONEY, 1, PREFIX_NONE},
    {"USD/Mtok", DIM_MONEY_PER_TOK, 1e-6, PREFIX_NONE},
    {"USD/1M tokens", DIM_MONEY_PER_TOK, 1e-6, PREFIX_NONE},
    {"USD/M tokens", DIM_MONEY_PER_TOK, 1e-6, PREFIX_NONE},
    {"$/Mtok", DIM_MONEY_PER_TOK, 1e-6, PREFIX_NONE},
    {"$/1M tokens", DIM_MONEY_PER_TOK, 1e-6, PREFIX_NONE},
    {"$/M tokens", DIM_MONEY_PER_TOK, 1e-6, PREFIX_NONE},
    {"USD/1M tok", DIM_MONEY_PER_TOK, 1e-6, PREFIX_NONE},
    {"USD/million tokens", DIM_MONEY_PER_TOK, 1e-6, PREFIX_NONE},
    {"USD/1k tokens", DIM_MONEY_PER_TOK, 1e-3, PREFIX_NONE},
    {"USD/tok", DIM_MONEY_PER_TOK, 1, PREFIX_NONE},
    {"W", DIM_POWER, 1, PREFIX_NONE},
    {"kW", DIM_POWER, 1e3, PREFIX_NONE},
    {"J", DIM_ENERGY, 1, PREFIX_NONE},
    {"kJ", DIM_ENERGY, 1e3, PREFIX_NONE},
    {"Wh", DIM_ENERGY, 3600, PREFIX_NONE},
    {"kWh", DIM_ENERGY, 3.6e6, PREFIX_NONE},
    {"J/tok", DIM_ENERGY_PER_TOK, 1, PREFIX_NONE},
    {"J/token", DIM_ENERGY_PER_TOK, 1, PREFIX_NONE},
    {"mJ/tok", DIM_ENERGY_PER_TOK, 1e-3, PREFIX_NONE},
    {"mJ/token", DIM_ENERGY_PER_TOK, 1e-3, PREFIX_NONE},
    {"Wh/Mtok", DIM_ENERGY_PER_TOK, 3600e-6, PREFIX_NONE},
    {"kWh/Mtok", DIM_ENERGY_PER_TOK, 3.6, PREFIX_NONE},
    {"tok/J", DIM_TOK_PER_ENERGY, 1, PREFIX_NONE},
    {"tokens/J", DIM_TOK_PER_ENERGY, 1, PREFIX_NONE},
    {"tok/s/W", DIM_TOK_PER_ENERGY, 1, PREFIX_NONE},
    {"tokens/s/W", DIM_TOK_PER_ENERGY, 1, PREFIX_NONE},
    {"tok/Wh", DIM_TOK_PER_ENERGY, 1 / 3600.0, PREFIX_NONE},
    {"tokens/Wh", DIM_TOK_PER_ENERGY, 1 / 3600.0, PREFIX_NONE},
    {"tok/kWh", DIM_TOK_PER_ENERGY, 1 / 3.6e6, PREFIX_NONE},
};

enum { UNITS_N = sizeof UNITS / sizeof *UNITS };

const unit *unit_find(const char *name) {
    for (size_t i = 0; i < UNITS_N; i++)
        if (strcmp(UNITS[i].name, name) == 0) return &UNITS[i];
    return NULL;
}

bool unit_is_bare(const char *name) {
    static const char *const BARE[] = {"k", "K", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "m", "mi"};
    for (size_t i = 0; i < sizeof BARE / sizeof *BARE; i++)
        if (strcmp(BARE[i], name) == 0) return true;
    return false;
}

const unit *unit_other_prefix(const unit *u) {
    if (u->prefix == PREFIX_NONE) return NULL;
    for (size_t i = 0; i < UNITS_N; i++) {
        const unit *o = &UNITS[i];
        if (o->dim != u->dim || o->prefix == u->prefix || o->prefix == PREFIX_NONE) continue;
        double ratio = o->scale / u->scale;
        if (ratio > 0.9 && ratio < 1.11) return o;
    }
    return NULL;
}

/* ---- printed numbers ---- */

typedef struct print {
    double v;
    int decimals, trailing_zeros;
    const char *at, *end;
} print;

/* The number at `s`, thousands commas and all; false: none begins here. */
static bool number_at(const char *s, print *out) {
    double v = 0, place = 1;
    int decimals = 0, zeros = 0, digits = 0;
    bool point = false;
    const char *p = s;
    for (; *p; p++) {
        if (*p == ',' && !point && digits > 0 && isdigit((unsigned char)p[1]) &&
            isdigit((unsigned char)p[2]) && isdigit((unsigned char)p[3]) &&
            !isdigit((unsigned char)p[4]))
            continue;
        if (*p == '.' && !point && isdigit((unsigned char)p[1])) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)*p)) break;
        digits++;
        zeros = *p == '0' ? zeros + 1 : 0;
        v = v * 10 + (*p - '0');
        if (point) {
            decimals++;
            place *= 10;
        }
    }
    *out =
        (print){.v = v / place, .decimals = decimals, .trailing_zeros = zeros, .at = s, .end = p};
    return digits > 0;
}

/* The last number of `text` that is `value`. */
static bool find_print(const char *text, double value, print *out) {
    bool found = false;
    for (const char *p = text; *p;) {
        print one;
        if (isdigit((unsigned char)*p) && number_at(p, &one)) {
            if (fabs(one.v - fabs(value)) <= 1e-9 * fabs(value)) {
                *out = one;
                found = true;
            }
            p = one.end;
        } else
            p++;
    }
    return found;
}

/* Ends the text before `at` with `mark`, blanks and currency signs apart? */
static bool preceded(const char *text, const char *at, const char *mark) {
    size_t n = strlen(mark);
    while (at > text && (at[-1] == ' ' || at[-1] == '$')) at--;
    return (size_t)(at - text) >= n && strncmp(at - n, mark, n) == 0;
}

static bool about(const char *text, const char *at) {
    return preceded(text, at, "~") || preceded(text, at, "about") || preceded(text, at, "≈") ||
           preceded(text, at, "≥ ~") || preceded(text, at, "ca.") || preceded(text, at, "nearly") ||
           preceded(text, at, "almost") || preceded(text, at, "roughly") ||
           preceded(text, at, "around") || preceded(text, at, "approx.");
}

/* ">19,500x", "over 3x", "100+". */
static bool at_least(const char *text, const print *p) {
    static const char *const MARKS[] = {">", "≥", ">=", "over", "more than", "at least"};
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++)
        if (preceded(text, p->at, MARKS[i])) return true;
    return *p->end == '+';
}

static bool at_most(const char *text, const print *p) {
    static const char *const MARKS[] = {"<", "≤", "<=", "under", "less than"};
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++)
        if (preceded(text, p->at, MARKS[i])) return true;
    return false;
}

quantity quantity_exact(double v, const unit *u) {
    return (quantity){.v = v, .lo = v, .hi = v, .u = u, .print = ""};
}

/* Things that are counted one by one. */
static bool counts(const unit *u) {
    return (u->dim == DIM_TOK || u->dim == DIM_COUNT || u->dim == DIM_BYTES ||
            u->dim == DIM_BYTES_PER_TOK) &&
           u->scale == 1;
}

quantity quantity_of(double value, const unit *u, const char *text) {
    print p;
    char digits[40];
    quantity q = {.u = u, .print = text ? text : ""};
    if (!text || !find_print(text, value, &p)) {
        snprintf(digits, sizeof digits, "%.12g", fabs(value));
        if (strchr(digits, 'e') || !find_print(digits, value, &p)) {
            double v = value * u->scale;
            return (quantity){.v = v, .lo = v, .hi = v, .u = u, .print = q.print};
        }
        text = digits;
    }
    q.about = about(text, p.at);
    if (counts(u) && !q.about && p.decimals == 0 && !at_least(text, &p) &&
        !at_most(text, &p)) { /* a whole number of things is meant exactly */
        q.v = q.lo = q.hi = value * u->scale;
        q.step = u->scale;
        return q;
    }
    double step = pow(10, -p.decimals);
    if (p.decimals == 0 && q.about && value != 0) step = pow(10, p.trailing_zeros);
    q.v = value * u->scale;
    q.step = step * u->scale;
    q.lo = q.v - q.step / 2;
    q.hi = q.v + q.step / 2;
    if (at_least(text, &p)) {
        q.bound = true;
        q.lo = q.v;
        q.hi = HUGE_VAL;
    }
    if (at_most(text, &p)) {
        q.bound = true;
        q.hi = q.v;
        q.lo = -HUGE_VAL;
    }
    return q;
}

bool quantity_allows(const quantity *q, double lo, double hi) {
    double slack = 1e-9 * fabs(q->v);
    return lo <= q->hi + slack && hi >= q->lo - slack;
}

bool quantity_cut(const quantity *q, double v) {
    return !q->bound && q->hi > q->lo && v >= q->v - 1e-9 * fabs(v) && v < q->v + q->step;
}
