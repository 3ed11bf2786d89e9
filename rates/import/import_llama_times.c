/* One time of a log: "prompt eval time = 406.30 ms / 10 tokens (40.63 ms per token, 24.61 tokens
 * per second)". Found anywhere in a line, as a paste that has lost its line ends leaves it; 2023
 * without tokens per second, some programs without the parenthesis. */
#include "import_llama.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const int64_t TOK_MAX = 1000000000;

/* ---- words of a line ---- */

int64_t number_behind(const char *line, const char *word) {
    const char *p = strstr(line, word);
    if (!p) return -1;
    p += strlen(word);
    p += strspn(p, " =:\"[");
    number n = number_at(p, false);
    return n.kind == NUMBER_OK && n.v >= 0 && n.v <= (double)TOK_MAX && n.v == floor(n.v)
               ? (int64_t)n.v
               : -1;
}

double time_behind(const char *line, const char *word, bool comma) {
    const char *p = strstr(line, word);
    if (!p) return (double)NAN;
    p += strlen(word);
    p += strspn(p, " =:\"");
    number n = number_at(p, comma);
    return n.kind == NUMBER_OK ? n.v : (double)NAN;
}

/* ---- items ---- */

static bool ends_with(const char *line, size_t len, const char *word) {
    size_t n = strlen(word);
    return len >= n && strncasecmp(line + len - n, word, n) == 0;
}

static item_kind kind_of(const char *line, size_t len) {
    while (len > 0 && line[len - 1] == ' ') len--;
    if (ends_with(line, len, "prompt eval")) return ITEM_PROMPT;
    if (ends_with(line, len, "eval")) return ITEM_GEN; /* and "generation eval" */
    if (ends_with(line, len, "load")) return ITEM_LOAD;
    if (ends_with(line, len, "sample") || ends_with(line, len, "sampling")) return ITEM_SAMPLE;
    return ends_with(line, len, "total") ? ITEM_TOTAL : ITEM_OTHER;
}

/* "( 40.63 ms per token, 24.61 tokens per second)"; 2023: without the second. false: no end. */
static bool read_rates(const char *p, bool comma, time_item *out) {
    const char *end = strchr(p, ')');
    if (strncmp(p + 1 + strspn(p + 1, " -+"), "nan(ind)", 8) == 0 && end) {
        end = strstr(p, "second)");
        out->undefined = true;
    }
    if (!end) return false;
    const char *word = strstr(p, "tokens per second");
    if (!word || word > end) return true;
    const char *s = word;
    while (s > p && s[-1] == ' ') s--;
    while (s > p && !strchr(" ,(", s[-1])) s--; /* a decimal comma is inside the number */
    if (comma && s > p && s[-1] == ',' && s - 2 > p && s[-2] >= '0' && s[-2] <= '9') {
        s--;
        while (s > p && !strchr(" (", s[-1])) s--;
    }
    number n = number_at(s, comma);
    if (n.kind == NUMBER_OK)
        out->tok_s = n.v;
    else
        out->undefined = n.kind == NUMBER_NAN || n.kind == NUMBER_INF;
    return true;
}

/* The item whose '=' stands at p; false: none, or one that the end of the text cuts. */
static bool read_item(const char *p, bool comma, bool ended, time_item *out) {
    *out = (time_item){.ms = (double)NAN, .tok_s = (double)NAN, .n = -1};
    number ms = number_at(p + 1, comma);
    p += 1 + ms.len;
    if (ms.kind == NUMBER_NONE || ms.kind == NUMBER_AMBIGUOUS) return false;
    if (strncmp(p + strspn(p, " "), "ms", 2) != 0) return false;
    p += strspn(p, " ") + 2;
    p += strspn(p, " ");
    out->ms = ms.v;
    if (*p == '/') {
        p++;
        p += strspn(p, " ");
        size_t d = strspn(p, "0123456789");
        if (d == 0 || d > 9) return false;
        out->n = 0;
        for (size_t i = 0; i < d; i++) out->n = out->n * 10 + (p[i] - '0');
        p += d;
        p += strspn(p, " ");
        out->runs = strncmp(p, "run", 3) == 0;
        if (!out->runs && strncmp(p, "token", 5) != 0) return false;
        p += strcspn(p, " \t");
        p += strspn(p, " ");
    }
    return *p == '(' ? read_rates(p, comma, out) : ended;
}

bool next_time_item(const char *line, size_t *at, bool comma, bool ended, time_item *out) {
    for (const char *p; (p = strstr(line + *at, " time"));) {
        size_t label = (size_t)(p - line);
        *at = label + 5;
        const char *equal = line + *at + strspn(line + *at, " ");
        item_kind kind = kind_of(line, label);
        if (*equal != '=' || kind == ITEM_OTHER) continue;
        if (!read_item(equal, comma, ended, out)) continue;
        out->kind = kind;
        return true;
    }
    return false;
}
