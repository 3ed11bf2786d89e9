#include "table.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

typedef struct row {
    struct row *next;
    const char *const *cells;
} row;

struct table {
    arena *mem;
    size_t cols;
    bool left[TABLE_COLS_MAX];
    row *first, **end;
};

table *table_new(arena *mem, size_t cols) {
    assert(cols > 0 && cols <= TABLE_COLS_MAX);
    table *t = ARENA_NEW(mem, table);
    if (!t) return NULL;
    t->mem = mem;
    t->cols = cols;
    t->left[0] = true;
    t->end = &t->first;
    return t;
}

void table_left(table *t, size_t col) {
    assert(col < t->cols);
    t->left[col] = true;
}

void table_row(table *t, const char *const *cells) {
    row *r = ARENA_NEW(t->mem, row);
    const char **copy = ARENA_ARRAY(t->mem, const char *, t->cols);
    if (!r || !copy) return; /* the budget of an output arena is far above any table */
    for (size_t i = 0; i < t->cols; i++) copy[i] = cells[i] ? cells[i] : "";
    r->cells = copy;
    *t->end = r;
    t->end = &r->next;
}

size_t table_width(const char *s) {
    size_t n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

/* A bar inside a cell would end it. */
static size_t bars(const char *s) {
    size_t n = 0;
    for (; *s; s++) n += *s == '|';
    return n;
}

static void pad_cell(buf *out, const char *s, size_t width, bool left) {
    size_t gap = width - table_width(s) - bars(s);
    buf_add(out, " ");
    if (!left) buf_fill(out, ' ', gap);
    for (; *s; s++) buf_add_n(out, *s == '|' ? "\\|" : s, *s == '|' ? 2 : 1);
    if (left) buf_fill(out, ' ', gap);
    buf_add(out, " |");
}

void table_markdown(const table *t, buf *out) {
    size_t width[TABLE_COLS_MAX] = {0};
    for (const row *r = t->first; r; r = r->next)
        for (size_t i = 0; i < t->cols; i++) {
            size_t w = table_width(r->cells[i]) + bars(r->cells[i]);
            if (w > width[i]) width[i] = w;
        }
    for (const row *r = t->first; r; r = r->next) {
        buf_add(out, "|");
        for (size_t i = 0; i < t->cols; i++) pad_cell(out, r->cells[i], width[i], t->left[i]);
        buf_add(out, "\n");
        if (r != t->first) continue;
        buf_add(out, "|");
        for (size_t i = 0; i < t->cols; i++) {
            buf_fill(out, '-', width[i] + 1);
            buf_add(out, t->left[i] ? "-|" : ":|");
        }
        buf_add(out, "\n");
    }
}

static void csv_field(buf *out, const char *s) {
    if (!strpbrk(s, ",\"\r\n")) {
        buf_add(out, s);
        return;
    }
    buf_add(out, "\"");
    for (; *s; s++) buf_add_n(out, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
    buf_add(out, "\"");
}

void table_csv(const table *t, buf *out) {
    for (const row *r = t->first; r; r = r->next)
        for (size_t i = 0; i < t->cols; i++) {
            csv_field(out, r->cells[i]);
            buf_add(out, i + 1 < t->cols ? "," : "\n");
        }
}
