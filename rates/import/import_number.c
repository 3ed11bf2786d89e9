#include "import_number.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t digits(const char *s) {
    size_t n = 0;
    while (digit(s[n])) n++;
    return n;
}

/* nan, inf and their relatives; 0: something else. */
static size_t word_len(const char *s, number_kind *kind) {
    static const struct {
        const char *word;
        number_kind kind;
    } WORDS[] = {{"nan(ind)", NUMBER_NAN},
                 {"nan", NUMBER_NAN},
                 {"infinity", NUMBER_INF},
                 {"inf", NUMBER_INF}};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        size_t n = strlen(WORDS[i].word);
        if (strncasecmp(s, WORDS[i].word, n) == 0 && !isalnum((unsigned char)s[n])) {
            *kind = WORDS[i].kind;
            return n;
        }
    }
    return 0;
}

/* Whole part with its thousands groups; the separator may be a comma, where a comma is no decimal
 * sign, or a point, where it is. *groups: how many. */
static size_t whole_part(const char *s, char separator, double *v, int *groups) {
    size_t n = digits(s), first = n;
    *groups = 0;
    *v = 0;
    for (size_t i = 0; i < n; i++) *v = *v * 10 + (s[i] - '0');
    if (first == 0 || first > 3 || s[0] == '0') return n;
    while (s[n] == separator && digits(s + n + 1) == 3) {
        for (size_t i = 1; i <= 3; i++) *v = *v * 10 + (s[n + i] - '0');
        n += 4;
        ++*groups;
    }
    return n;
}

static size_t exponent(const char *s, int *e) {
    size_t n = 1;
    bool minus = false;
    if (*s != 'e' && *s != 'E') return 0;
    if (s[n] == '+' || s[n] == '-') minus = s[n++] == '-';
    size_t d = digits(s + n);
    if (d == 0 || d > 3) return 0;
    *e = 0;
    for (size_t i = 0; i < d; i++) *e = *e * 10 + (s[n + i] - '0');
    if (minus) *e = -*e;
    return n + d;
}

/* The finite number at s, behind its sign. */
static number finite_at(const char *s, bool decimal_comma) {
    number r = {.kind = NUMBER_NONE, .v = (double)NAN};
    char point = decimal_comma ? ',' : '.';
    int groups, e = 0;
    double whole, fraction = 0, place = 1;
    size_t n = whole_part(s, decimal_comma ? '.' : ',', &whole, &groups);
    if (n == 0 && !(s[0] == point && digit(s[1]))) return r;
    if (s[n] == point && digit(s[n + 1])) {
        for (n++; digit(s[n]); n++, r.decimals++) {
            if (r.decimals >= 17) continue; /* beyond what a double tells apart */
            fraction = fraction * 10 + (s[n] - '0');
            place *= 10;
        }
    } else if (!decimal_comma && s[n] == ',' && digit(s[n + 1])) {
        return r; /* "24,61" where no decimal comma is expected */
    }
    r.kind = groups == 1 && r.decimals == 0 ? NUMBER_AMBIGUOUS : NUMBER_OK;
    n += exponent(s + n, &e);
    r.len = n;
    if (r.kind == NUMBER_OK) {
        /* the digits as one decimal text: strtod would ask the locale, so one division or
         * multiplication by an exact power of ten rounds once for up to 15 digits */
        double v = whole * place + fraction;
        int p = e - (place > 1 ? (int)lround(log10(place)) : 0);
        r.v = p < 0 ? v / pow(10, -p) : v * pow(10, p);
        if (!isfinite(r.v)) r.kind = NUMBER_INF, r.v = (double)NAN;
    }
    return r;
}

number number_at(const char *s, bool decimal_comma) {
    size_t skip = strspn(s, " \t"), sign = s[skip] == '-' || s[skip] == '+';
    bool minus = s[skip] == '-';
    number r = {.kind = NUMBER_NONE, .v = (double)NAN};
    r.len = word_len(s + skip + sign, &r.kind);
    if (r.len == 0) r = finite_at(s + skip + sign, decimal_comma);
    if (r.kind == NUMBER_NONE) return r;
    r.len += skip + sign;
    if (minus && r.kind == NUMBER_OK) r.v = -r.v;
    return r;
}

bool number_text_has_decimal_comma(const char *s, size_t len) {
    for (size_t i = 1; i + 1 < len; i++) {
        if (s[i] != ',' || !digit(s[i - 1]) || !digit(s[i + 1])) continue;
        size_t before = i, n = digits(s + i + 1);
        while (before > 0 && digit(s[before - 1])) before--;
        bool alone = before == 0 || !strchr(".,", s[before - 1]);
        char behind = s[i + 1 + n];
        if (alone && n != 3 && behind != ',' && behind != '.') return true;
    }
    return false;
}

static size_t skip_bold(const char *s) {
    return strspn(s, "*_ \t");
}

/* Bytes of the sign between a mean and its deviation; 0: another text. */
static size_t plus_minus(const char *s) {
    static const char *const SIGNS[] = {"±", "+/-", "&plusmn;", "&#177;"};
    for (size_t i = 0; i < sizeof SIGNS / sizeof *SIGNS; i++)
        if (strncmp(s, SIGNS[i], strlen(SIGNS[i])) == 0) return strlen(SIGNS[i]);
    return 0;
}

number_kind number_cell(const char *cell, bool decimal_comma, double *mean, double *std) {
    *mean = *std = (double)NAN;
    const char *s = cell + skip_bold(cell);
    number m = number_at(s, decimal_comma);
    if (m.kind == NUMBER_NONE) return NUMBER_NONE;
    s += m.len;
    s += skip_bold(s);
    if (plus_minus(s)) {
        s += plus_minus(s);
        number d = number_at(s, decimal_comma);
        if (d.kind == NUMBER_NONE) return NUMBER_NONE;
        if (d.kind == NUMBER_OK) *std = d.v;
        s += d.len;
        s += skip_bold(s);
    }
    if (*s) return NUMBER_NONE;
    *mean = m.v;
    return m.kind;
}

bool number_go_duration(const char *s, double *out_s) {
    static const struct {
        const char *unit;
        double s;
    } UNITS[] = {{"h", 3600},         {"ms", 1e-3},        {"m", 60},    {"ns", 1e-9},
                 {"\xC2\xB5s", 1e-6}, {"\xCE\xBCs", 1e-6}, {"us", 1e-6}, {"s", 1}};
    double sum = 0;
    bool any = false;
    s += strspn(s, " \t");
    while (digit(*s) || *s == '.') {
        number n = number_at(s, false);
        if (n.kind != NUMBER_OK) return false;
        s += n.len;
        size_t i = 0;
        while (i < sizeof UNITS / sizeof *UNITS &&
               strncmp(s, UNITS[i].unit, strlen(UNITS[i].unit)) != 0)
            i++;
        if (i == sizeof UNITS / sizeof *UNITS) return false;
        s += strlen(UNITS[i].unit);
        sum += n.v * UNITS[i].s;
        any = true;
    }
    s += strspn(s, " \t");
    *out_s = sum;
    return any && *s == '\0';
}
