#include "template.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct reader {
    const file_bytes *f;
    arena *mem;
    err *e;
    piece *pieces;
    size_t n, cap;
    const char *open; /* section that is open */
    const char *at;   /* below: where this byte stands */
    size_t line, column;
} reader;

/* Asked from the front to the back, mostly: the count goes on where it was. */
static const char *place(reader *r, const char *at) {
    if (at < r->at) {
        r->at = r->f->s;
        r->line = r->column = 1;
    }
    for (; r->at < at; r->at++) {
        bool newline = *r->at == '\n';
        r->line += newline;
        r->column = newline ? 1 : r->column + (((unsigned char)*r->at & 0xC0) != 0x80);
    }
    const char *text = arena_printf(r->mem, "%s:%zu:%zu", r->f->name, r->line, r->column);
    return text ? text : r->f->name;
}

/* The code point that `s` begins with and its bytes; of broken UTF-8 none that anybody looks for.
 */
static unsigned long code_point(const char *s, size_t *n) {
    const unsigned char *u = (const unsigned char *)s;
    size_t more = u[0] >= 0xF0 ? 3 : u[0] >= 0xE0 ? 2 : u[0] >= 0xC0 ? 1 : 0;
    unsigned long c = more == 0 ? u[0] : u[0] & (0x3FU >> more);
    for (*n = 1; *n <= more && (u[*n] & 0xC0) == 0x80; ++*n) c = c << 6 | (u[*n] & 0x3F);
    bool broken = *n <= more || (u[0] & 0xC0) == 0x80;
    return broken ? ~0UL : c;
}

size_t template_digit(const char *s) {
    static const struct {
        unsigned long first, last;
    } DIGITS[] = {{'0', '9'},       {0xB2, 0xB3},      {0xB9, 0xB9},     /* superscripts */
                  {0xBC, 0xBE},     {0x660, 0x669},    {0x6F0, 0x6F9},   /* fractions */
                  {0x966, 0x96F},   {0x2070, 0x2070},  {0x2074, 0x2079}, /* Devanagari */
                  {0x2080, 0x2089}, {0x2150, 0x215F},  {0x2189, 0x2189}, /* subscripts */
                  {0x2460, 0x249B}, {0x24EA, 0x24FF},  {0x2776, 0x2793}, /* in circles */
                  {0xFF10, 0xFF19}, {0x1D7CE, 0x1D7FF}};                 /* full-width, bold */
    size_t n;
    unsigned long c = code_point(s, &n);
    for (size_t i = 0; i < sizeof DIGITS / sizeof *DIGITS; i++)
        if (c >= DIGITS[i].first && c <= DIGITS[i].last) return n;
    return 0;
}

static err_code check_text(reader *r, const char *from, const char *to) {
    for (const char *s = from; s < to; s++) {
        size_t n = template_digit(s);
        if (n > 0)
            return err_set(r->e, E_SYNTAX, place(r, s),
                           "found the digit \"%.*s\" in the text, expected a value by reference "
                           "({{RUN/ARM.METRIC:.1}}) or a name ({{lit:...}})",
                           (int)n, s);
        if (s[0] == '}' && s[1] == '}')
            return err_set(r->e, E_SYNTAX, place(r, s), "found }} without {{");
    }
    return OK;
}

/* ---- names in {{lit:}} ---- */

static bool is_letter(unsigned long c) {
    unsigned long small = c | 0x20;
    return (small >= 'a' && small <= 'z') || (c >= 0xC0 && c <= 0x52F && c != 0xD7 && c != 0xF7);
}

/* A word is cut at blanks: its bytes, and where its first digit stands (NULL: it has none). */
typedef struct lit_word {
    const char *s;
    size_t n;
    const char *digit;
} lit_word;

static size_t blank_bytes(const char *s) {
    static const char *const BLANKS[] = {" ",      "\t",     "\u00A0", "\u2007",
                                         "\u2009", "\u202F", "\u3000", "\r"};
    for (size_t i = 0; i < sizeof BLANKS / sizeof *BLANKS; i++)
        if (strncmp(s, BLANKS[i], strlen(BLANKS[i])) == 0) return strlen(BLANKS[i]);
    return 0;
}

static bool next_lit_word(const char **from, lit_word *out) {
    const char *s = *from;
    for (size_t n; (n = blank_bytes(s)) > 0;) s += n;
    *out = (lit_word){.s = s};
    for (; *s && blank_bytes(s) == 0; s++)
        if (!out->digit && template_digit(s) > 0) out->digit = s;
    out->n = (size_t)(s - out->s);
    *from = s;
    return out->n > 0;
}

/* Bytes of `s` that spell `shape`: 9 stands for one digit or more, x also for the sign of times. */
static size_t spells(const char *s, const char *shape) {
    static const char TIMES[] = "×";
    const char *at = s;
    for (; *shape; shape++) {
        size_t n = *shape == '9' ? strspn(at, "0123456789")
                   : *shape == 'x' && strncmp(at, TIMES, strlen(TIMES)) == 0 ? strlen(TIMES)
                                                                             : *at == *shape;
        if (n == 0) return 0;
        at += n;
    }
    return (size_t)(at - s);
}

/* "5×200", "2026-11-30", "10.1145/x": numbers that are names by their shape. */
static bool is_shaped(const lit_word *w) {
    static const char *const SHAPES[] = {"9x9", "9x9x9", "9-9-9"};
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
        if (spells(w->s, SHAPES[i]) == w->n) return true;
    return strncmp(w->s, "10.", 3) == 0 && strspn(w->s + 3, "0123456789") >= 4 &&
           spells(w->s, "9.9/") > 0;
}

/* "7B", "1.5B", "20k": a size that a model or a prompt is called by. */
static bool is_size(const lit_word *w) {
    size_t n = spells(w->s, "9.9");
    if (n == 0) n = spells(w->s, "9");
    return n > 0 && n + 1 == w->n && strchr("kKMBTb", w->s[n]);
}

/* "H200", "Q4_K_M", "#2723", "O(L²)", "e5-2690": a letter or # stands before the first digit, and
 * nothing that a value follows (K=4, ~x3). What ends with × or % is an amount. */
static bool is_named(const lit_word *w) {
    const char *end = w->s + w->n;
    bool letter = false;
    size_t n;
    for (const char *s = w->s; s < end; s += n) {
        unsigned long c = code_point(s, &n);
        if (template_digit(s) > 0) continue;
        if (c == '%' || c == 0x2030 || c == 0xD7) return false;
        if (s > w->digit) continue;
        letter = letter || is_letter(c) || c == '#';
        if (!is_letter(c) && !strchr("#._-+/()[]'\"`*@&", (int)(c < 0x80 ? c : '='))) return false;
    }
    return letter;
}

/* "fig. 3", "section 4.2": what a number at the end counts. */
static bool is_label(const lit_word *w) {
    static const char *const LABELS[] = {"fig.",    "figure",   "table",   "section",
                                         "chapter", "appendix", "version", "page"};
    for (size_t i = 0; i < sizeof LABELS / sizeof *LABELS; i++)
        if (strlen(LABELS[i]) == w->n && strncasecmp(LABELS[i], w->s, w->n) == 0) return true;
    return false;
}

/* The first word of `text` that holds a digit and is no name; false: there is none. */
static bool number_in(const char *text, lit_word *w) {
    lit_word before = {0}, after;
    for (; next_lit_word(&text, w); before = *w) {
        const char *rest = text;
        if (!w->digit || is_named(w) || is_shaped(w)) continue;
        bool more = next_lit_word(&rest, &after);
        bool unit = more && after.s[0] >= 'a' && after.s[0] <= 'z';
        bool plain = strspn(w->s, "0123456789.") == w->n;
        if (is_size(w) && !unit) continue; /* not "20k tokens" */
        if (plain && !more && before.n > 0 && is_label(&before)) continue;
        return true;
    }
    return false;
}

static const piece *no_room(const reader *r) {
    err_set(r->e, E_LIMIT, r->f->name, "does not fit the memory budget");
    return NULL;
}

/* The new piece, NULL with an error. */
static const piece *add(reader *r, piece_kind kind, const char *from, const char *to) {
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        piece *more = ARENA_ARRAY(r->mem, piece, cap);
        if (!more) return no_room(r);
        if (r->n) memcpy(more, r->pieces, r->n * sizeof *more);
        r->pieces = more;
        r->cap = cap;
    }
    char *text = arena_printf(r->mem, "%.*s", (int)(to - from), from);
    if (!text) return no_room(r);
    piece *it = &r->pieces[r->n++];
    *it = (piece){.kind = kind, .text = text, .where = place(r, from)};
    return it;
}

static err_code add_section(reader *r, bool open, const char *name, const char *to) {
    size_t n = (size_t)(to - name);
    bool matches = r->open && strlen(r->open) == n && strncmp(r->open, name, n) == 0;
    if (open ? r->open != NULL : !matches)
        return err_set(r->e, E_SYNTAX, place(r, name), "found {{%c%.*s}}, expected %s%s",
                       open ? '#' : '/', (int)n, name, r->open ? "{{/" : "{{#",
                       r->open ? r->open : "...}} before it");
    const piece *p = add(r, open ? PIECE_IF : PIECE_END, name, to);
    r->open = open && p ? p->text : NULL;
    return r->e->code;
}

/* What stands between {{ and }}. */
static err_code add_field(reader *r, const char *from, const char *to) {
    while (from < to && from[0] == ' ') from++;
    while (to > from && to[-1] == ' ') to--;
    if (from == to) return err_set(r->e, E_SYNTAX, place(r, from), "found {{}}, expected a name");
    if (memchr(from, '\n', (size_t)(to - from)) && *from != '!')
        return err_set(r->e, E_SYNTAX, place(r, from), "found a line break, expected }} before it");
    if (*from == '!') return OK;
    if (*from == '#' || *from == '/') return add_section(r, *from == '#', from + 1, to);
    bool literal = strncmp(from, "lit:", 4) == 0;
    const piece *p = add(r, literal ? PIECE_LITERAL : PIECE_FIELD, from + (literal ? 4 : 0), to);
    lit_word w;
    if (literal && p && !p->text[0])
        return err_set(r->e, E_SYNTAX, p->where, "found {{lit:}}, expected a name");
    if (literal && p && number_in(p->text, &w))
        return err_set(r->e, E_SYNTAX, p->where,
                       "found \"%.*s\" in {{lit:%.80s}}, expected a name (H200, #2723, 5×200, 7B): "
                       "a number is given by reference",
                       (int)(w.n < 80 ? w.n : 80), w.s, p->text);
    return r->e->code;
}

err_code template_parse(const file_bytes *f, arena *mem, template_text *out, err *e) {
    reader r = {.f = f, .mem = mem, .e = e, .at = f->s, .line = 1, .column = 1};
    *out = (template_text){0};
    if (strlen(f->s) != f->len)
        return err_set(e, E_SYNTAX, f->name, "found a NUL byte, expected Markdown");
    for (const char *s = f->s; *s && !e->code;) {
        const char *open = strstr(s, "{{"), *end = open ? open : s + strlen(s);
        if (end > s && (check_text(&r, s, end) || !add(&r, PIECE_TEXT, s, end))) break;
        if (!open) break;
        const char *close = strstr(open, "}}");
        if (!close) return err_set(e, E_SYNTAX, place(&r, open), "found {{ without }}");
        (void)add_field(&r, open + 2, close);
        s = close + 2;
    }
    if (!e->code && r.open)
        err_set(e, E_SYNTAX, f->name, "found {{#%s}} without {{/%s}}", r.open, r.open);
    *out = (template_text){.pieces = r.pieces, .n = r.n};
    return e->code;
}
