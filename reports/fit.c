#include "fit.h"

#include "table.h"

#include <stdbool.h>
#include <string.h>

enum {
    ROWS_MAX = 4096, /* a longer table is left as it is */
    CELL_LEAST = 14, /* a column of text is not wrapped narrower */
    FRAME = 3        /* "| " before a cell and " " behind it */
};

typedef struct grid {
    arena *mem;
    const char *cell[ROWS_MAX][TABLE_COLS_MAX]; /* row 0: heads; bars stay escaped */
    size_t rows_n, cols_n;
    size_t keys_n; /* leading columns that name a row: they stand in every part */
    bool left[TABLE_COLS_MAX];
    size_t width[TABLE_COLS_MAX];
} grid;

/* The cells of one line into row `row`; false: it is no line of a table of that many columns. */
static bool read_line(grid *g, const char *line, size_t n, size_t row) {
    size_t cols = 0, from = 1;
    for (size_t i = 1; i < n; i++) {
        if (line[i] == '\\' && i + 1 < n)
            i++;
        else if (line[i] == '|') {
            size_t a = from, b = i;
            while (a < b && line[a] == ' ') a++;
            while (b > a && line[b - 1] == ' ') b--;
            if (cols == TABLE_COLS_MAX) return false;
            const char *text = arena_printf(g->mem, "%.*s", (int)(b - a), line + a);
            g->cell[row][cols++] = text ? text : "";
            from = i + 1;
        }
    }
    if (row == 0) g->cols_n = cols;
    return cols > 0 && cols == g->cols_n && from == n;
}

/* Reads the table at `s`; the bytes it takes, 0: there is none, or it is too large. */
static size_t read_table(grid *g, const char *s) {
    size_t at = 0, lines = 0;
    g->rows_n = 0;
    while (s[at] == '|') {
        size_t n = strcspn(s + at, "\n");
        if (g->rows_n == ROWS_MAX || !read_line(g, s + at, n, g->rows_n)) return 0;
        if (lines == 1) { /* the rule below the heads */
            for (size_t c = 0; c < g->cols_n; c++) {
                const char *rule = g->cell[g->rows_n][c];
                if (rule[0] != '-') return 0;
                g->left[c] = rule[strlen(rule) - 1] != ':';
            }
        } else
            g->rows_n++;
        lines++;
        at += n + (s[at + n] == '\n');
    }
    return lines >= 2 ? at : 0;
}

static size_t longest_word(const char *s) {
    size_t most = 0;
    while (*s) {
        size_t n = strcspn(s, " ");
        const char *word = s;
        size_t w = 0;
        for (size_t i = 0; i < n; i++) w += ((unsigned char)word[i] & 0xC0) != 0x80;
        if (w > most) most = w;
        s += n + strspn(s + n, " ");
    }
    return most;
}

static size_t total(const grid *g, size_t from, size_t to) {
    size_t sum = 1;
    for (size_t c = from; c < to; c++) sum += g->width[c] + FRAME;
    return sum;
}

static bool same_keys(const grid *g, size_t a, size_t b) {
    for (size_t c = 0; c < g->keys_n; c++)
        if (strcmp(g->cell[a][c], g->cell[b][c]) != 0) return false;
    return true;
}

/* One column names a row where no two neighbours share it; else more of text are needed. */
static void find_keys(grid *g) {
    g->keys_n = 1;
    for (size_t r = 2; r < g->rows_n; r++)
        while (g->keys_n < g->cols_n && g->left[g->keys_n] && same_keys(g, r - 1, r)) g->keys_n++;
}

/* Narrows the widest columns of text, down to their longest word, until the table fits. */
static void fit_widths(grid *g, size_t columns) {
    size_t least[TABLE_COLS_MAX] = {0};
    for (size_t c = 0; c < g->cols_n; c++) {
        g->width[c] = 0;
        for (size_t r = 0; r < g->rows_n; r++) {
            size_t w = table_width(g->cell[r][c]), word = longest_word(g->cell[r][c]);
            if (w > g->width[c]) g->width[c] = w;
            if (r > 0 && !g->left[c]) word = w; /* a number stays on its line */
            if (word > least[c]) least[c] = word;
        }
        if (g->left[c] && least[c] < CELL_LEAST) least[c] = CELL_LEAST;
    }
    while (total(g, 0, g->cols_n) > columns) {
        size_t widest = g->cols_n;
        for (size_t c = 0; c < g->cols_n; c++)
            if (g->width[c] > least[c] && (widest == g->cols_n || g->width[c] > g->width[widest]))
                widest = c;
        if (widest == g->cols_n) break;
        g->width[widest]--;
    }
}

/* The part of `*text` that fits `width`, cut between words; moves `*text` on. */
static size_t take_line(const char **text, size_t width, const char **line) {
    const char *s = *text;
    size_t n = 0, w = 0, fits = 0;
    *line = s;
    while (s[n]) {
        if (s[n] == ' ') fits = n;
        if (((unsigned char)s[n] & 0xC0) != 0x80 && ++w > width) break;
        n++;
    }
    if (s[n] && fits > 0) n = fits;
    *text = s + n + strspn(s + n, " ");
    return n;
}

static void put_cell(buf *out, const char *s, size_t n, size_t width, bool left) {
    size_t w = 0;
    for (size_t i = 0; i < n; i++) w += ((unsigned char)s[i] & 0xC0) != 0x80;
    size_t gap = width > w ? width - w : 0;
    buf_add(out, " ");
    if (!left) buf_fill(out, ' ', gap);
    buf_add_n(out, s, n);
    if (left) buf_fill(out, ' ', gap);
    buf_add(out, " |");
}

/* One row, on as many lines as its longest cell needs; the keys and columns from..to. */
static void put_row(const grid *g, size_t row, size_t from, size_t to, buf *out) {
    const char *rest[TABLE_COLS_MAX];
    bool more = true;
    for (size_t c = 0; c < g->cols_n; c++) rest[c] = g->cell[row][c];
    while (more) {
        more = false;
        buf_add(out, "|");
        for (size_t c = 0; c < to; c++) {
            if (c >= g->keys_n && c < from) continue;
            const char *line;
            size_t n = take_line(&rest[c], g->width[c], &line);
            put_cell(out, line, n, g->width[c], g->left[c]);
            more |= *rest[c] != '\0';
        }
        buf_add(out, "\n");
    }
}

static void put_block(const grid *g, size_t from, size_t to, buf *out) {
    for (size_t r = 0; r < g->rows_n; r++) {
        put_row(g, r, from, to, out);
        if (r > 0) continue;
        buf_add(out, "|");
        for (size_t c = 0; c < to; c++) {
            if (c >= g->keys_n && c < from) continue;
            buf_fill(out, '-', g->width[c] + 1);
            buf_add(out, g->left[c] ? "-|" : ":|");
        }
        buf_add(out, "\n");
    }
}

static void put_table(grid *g, size_t columns, buf *out) {
    fit_widths(g, columns);
    find_keys(g);
    size_t keys = total(g, 0, g->keys_n) - 1, from = g->keys_n;
    do {
        size_t to = from + (from < g->cols_n);
        while (to < g->cols_n && keys + total(g, from, to + 1) <= columns) to++;
        if (from > g->keys_n) buf_add(out, "\n");
        put_block(g, from, to, out);
        from = to;
    } while (from < g->cols_n);
}

void fit_tables(const char *text, size_t columns, arena *mem, buf *out) {
    grid *g = ARENA_NEW(mem, grid);
    if (!g) { /* nothing is lost but the fit */
        buf_add(out, text);
        return;
    }
    g->mem = mem;
    while (*text) {
        size_t n = *text == '|' ? read_table(g, text) : 0, line = strcspn(text, "\n");
        bool wide = false;
        for (size_t i = 0; i < n; i += strcspn(text + i, "\n") + 1) {
            char *one = arena_printf(mem, "%.*s", (int)strcspn(text + i, "\n"), text + i);
            wide |= one && table_width(one) > columns;
        }
        if (n > 0 && wide)
            put_table(g, columns, out);
        else {
            n = n ? n : line + (text[line] == '\n');
            buf_add_n(out, text, n);
        }
        text += n;
    }
}
