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
} reader;

static const char *place(const reader *r, const char *at) {
    size_t line = 1, column = 1;
    for (const char *s = r->f->s; s < at; s++) {
        bool newline = *s == '\n';
        line += newline;
        column = newline ? 1 : column + (((unsigned char)*s & 0xC0) != 0x80);
    }
    const char *text = arena_printf(r->mem, "%s:%zu:%zu", r->f->name, line, column);
    return text ? text : r->f->name;
}

/* Bytes of the digit that `s` begins with; 0: none. Superscripts and fractions count. */
static size_t digit_at(const char *s) {
    const unsigned char *u = (const unsigned char *)s;
    if (u[0] >= '0' && u[0] <= '9') return 1;
    if (u[0] == 0xC2)
        return u[1] == 0xB2 || u[1] == 0xB3 || u[1] == 0xB9 || (u[1] >= 0xBC && u[1] <= 0xBE) ? 2
                                                                                              : 0;
    if (u[0] == 0xE2 && (u[1] == 0x81 || u[1] == 0x82) && u[2] >= 0x80 && u[2] <= 0xB9)
        return (u[1] == 0x81 && u[2] >= 0xB0) || (u[1] == 0x82 && u[2] <= 0x89) ? 3 : 0;
    return u[0] == 0xEF && u[1] == 0xBC && u[2] >= 0x90 && u[2] <= 0x99 ? 3 : 0;
}

static err_code check_text(const reader *r, const char *from, const char *to) {
    for (const char *s = from; s < to; s++) {
        size_t n = digit_at(s);
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
    const char *s = text;
    double v = 1;
    size_t digits = strspn(s + strspn(s, "+-~<>=≥≤± "), "0123456789.,");
    if (digits == 0) return false;
    s += strspn(s, "+-~<>=≥≤± ") + digits;
    s += strspn(s, " ");
    if (strcmp(s, "×") == 0 || strcmp(s, "tokens") == 0) return true;
    return reference_in_unit(s, &v);
}

static err_code add(reader *r, piece_kind kind, const char *from, const char *to) {
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        piece *more = ARENA_ARRAY(r->mem, piece, cap);
        if (!more) return err_set(r->e, E_LIMIT, r->f->name, "does not fit the memory budget");
        if (r->n) memcpy(more, r->pieces, r->n * sizeof *more);
        r->pieces = more;
        r->cap = cap;
    }
    char *text = arena_printf(r->mem, "%.*s", (int)(to - from), from);
    if (!text) return err_set(r->e, E_LIMIT, r->f->name, "does not fit the memory budget");
    r->pieces[r->n++] = (piece){.kind = kind, .text = text, .where = place(r, from)};
    return OK;
}

static err_code add_section(reader *r, bool open, const char *name, const char *to) {
    size_t n = (size_t)(to - name);
    bool matches = r->open && strlen(r->open) == n && strncmp(r->open, name, n) == 0;
    if (open ? r->open != NULL : !matches)
        return err_set(r->e, E_SYNTAX, place(r, name), "found {{%c%.*s}}, expected %s%s",
                       open ? '#' : '/', (int)n, name, r->open ? "{{/" : "{{#",
                       r->open ? r->open : "...}} before it");
    if (add(r, open ? PIECE_IF : PIECE_END, name, to)) return r->e->code;
    r->open = open ? r->pieces[r->n - 1].text : NULL;
    return OK;
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
    if (strncmp(from, "lit:", 4) != 0) return add(r, PIECE_FIELD, from, to);
    if (add(r, PIECE_LITERAL, from + 4, to)) return r->e->code;
    const piece *p = &r->pieces[r->n - 1];
    if (!p->text[0] || bare_number(p->text))
        return err_set(r->e, E_SYNTAX, p->where,
                       "found {{lit:%s}}, expected a name: a number is given by reference",
                       p->text);
    return OK;
}

err_code template_parse(const file_bytes *f, arena *mem, template_text *out, err *e) {
    reader r = {.f = f, .mem = mem, .e = e};
    *out = (template_text){0};
    if (strlen(f->s) != f->len)
        return err_set(e, E_SYNTAX, f->name, "found a NUL byte, expected Markdown");
    for (const char *s = f->s; *s && !e->code;) {
        const char *open = strstr(s, "{{"), *end = open ? open : s + strlen(s);
        if (end > s && (check_text(&r, s, end) || add(&r, PIECE_TEXT, s, end))) break;
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
