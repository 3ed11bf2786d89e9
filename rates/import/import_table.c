#include "import_table.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool blank(char c) {
    return c == ' ' || c == '\t';
}

/* Ends the cell [from, to) of out->text, trimmed, and appends it. */
static void end_cell(cells *out, size_t from, size_t to) {
    while (from < to && blank(out->text[from])) from++;
    while (to > from && blank(out->text[to - 1])) to--;
    out->text[to] = '\0';
    if (out->n < CELLS_MAX)
        out->v[out->n++] = out->text + from;
    else
        out->cut = true;
}

/* Cells from `line` on, which stands behind the first pipe if the table has one there. */
static bool split_pipes(const char *line, cells *out) {
    out->n = 0;
    out->closed = out->cut = false;
    size_t len = strlen(line);
    while (len > 0 && blank(line[len - 1])) len--;
    out->closed = len > 0 && line[len - 1] == '|';
    if (out->closed) len--;
    if (len + 1 > sizeof out->text) {
        out->cut = true;
        return true;
    }
    memcpy(out->text, line, len);
    out->text[len] = '\0';
    size_t from = 0;
    for (size_t i = 0; i <= len; i++) {
        bool escaped = i > 0 && i < len && out->text[i] == '|' && out->text[i - 1] == '\\';
        if (i < len && (out->text[i] != '|' || escaped)) continue;
        end_cell(out, from, i);
        from = i + 1;
    }
    return true;
}

bool cells_of_pipes(const char *line, cells *out) {
    while (blank(*line) || *line == '>') line++;
    if (*line == '|') return split_pipes(line + 1, out);
    out->n = 0;
    out->closed = out->cut = false;
    return false;
}

bool cells_of_bare(const char *line, cells *out) {
    while (blank(*line) || *line == '>') line++;
    return *line != '|' && strchr(line, '|') && split_pipes(line, out);
}

bool cells_of_csv(const char *line, char separator, cells *out) {
    size_t at = 0, from = 0;
    bool quoted = false;
    out->n = 0;
    out->cut = false;
    out->closed = true;
    if (line[strspn(line, " \t")] == '\0') return false;
    for (const char *p = line;; p++) {
        if (at + 2 > sizeof out->text) {
            out->cut = true;
            return true;
        }
        if (quoted && *p == '"' && p[1] == '"')
            out->text[at++] = *p++;
        else if (*p == '"' && (quoted || at == from))
            quoted = !quoted;
        else if (*p == '\0' || (!quoted && *p == separator)) {
            out->closed = !quoted;
            end_cell(out, from, at);
            at++;
            from = at;
            if (*p == '\0') return true;
        } else
            out->text[at++] = *p;
    }
}

bool cells_are_separator(const cells *c) {
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i][0] == '\0' || c->v[i][strspn(c->v[i], "-:= ")] != '\0') return false;
    return c->n > 0;
}

int cells_column(const cells *header, const char *name) {
    for (size_t i = 0; i < header->n; i++)
        if (strcasecmp(header->v[i], name) == 0) return (int)i;
    return -1;
}

size_t cells_count(const cells *header, const char *name) {
    size_t n = 0;
    for (size_t i = 0; i < header->n; i++) n += strcasecmp(header->v[i], name) == 0;
    return n;
}

const char *cells_at(const cells *row, int column) {
    if (column < 0 || (size_t)column >= row->n || row->v[column][0] == '\0') return NULL;
    return row->v[column];
}

const char *label_value(const char *line, const char *label) {
    size_t n = strlen(label);
    while (blank(*line)) line++;
    if (strncasecmp(line, label, n) != 0) return NULL;
    line += n;
    while (blank(*line)) line++;
    if (*line != ':') return NULL;
    line++;
    while (blank(*line)) line++;
    return line;
}
