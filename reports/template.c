#include "template.h"

#include "reference.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* "1.86x", "393.8 s", "97 %", "4,096" are numbers; "5x200", "Qwen3.8", "#2723", "20k" are names. */
static bool bare_number(const char *text) {
    static const char SIGNS[] = "+-~<>=≥≤±≈−", BLANKS[] = " \t\u00A0\u202F";
    const char *s = text;
    double v = 1;
    bool digits = false;
    /* bytes of these, which will do */
    while (*s && template_digit(s) == 0 && (strchr(SIGNS, *s) || strchr(BLANKS, *s))) s++;
    for (size_t n; (n = template_digit(s)) > 0 || (digits && *s && strchr(".,", *s)); digits = true)
        s += n > 0 ? n : 1;
    if (!digits) return false;
    while (*s && strchr(BLANKS, *s)) s++;
    if (strcmp(s, "×") == 0 || strcmp(s, "tokens") == 0) return true;
    return reference_in_unit(s, &v);
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
    if (literal && p && (!p->text[0] || bare_number(p->text)))
        return err_set(r->e, E_SYNTAX, p->where,
                       "found {{lit:%s}}, expected a name: a number is given by reference",
                       p->text);
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
