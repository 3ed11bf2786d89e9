/* Tables in text: Markdown pipe tables and CSV, read by header. */
#ifndef RATECAST_IMPORT_TABLE_H
#define RATECAST_IMPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { CELLS_MAX = 64, CELLS_BYTES = 8192 };

/* The cells of one line; they point into `text`. */
typedef struct cells {
    size_t n;
    const char *v[CELLS_MAX];
    bool closed; /* a pipe row that ends with its pipe, a CSV row whose quotes are closed */
    bool cut;    /* more cells or bytes than fit: such a row is no row of a table */
    char text[CELLS_BYTES];
} cells;

/* A line that begins with '|' (blanks and '>' of a quote skipped): its cells, trimmed. false: it
 * does not. A row of an empty table line still has its cells. */
bool cells_of_pipes(const char *line, cells *out);
/* A line of a table without the outer pipes, "model | test | t/s" over "-- | -- | --", as a copy of
 * a rendered page leaves it. false: no pipe in it, or one before its first cell. */
bool cells_of_bare(const char *line, cells *out);
/* RFC 4180 with `separator`; quotes are taken off. false: an empty line. */
bool cells_of_csv(const char *line, char separator, cells *out);
/* |---|---:| */
bool cells_are_separator(const cells *c);
/* Column whose header is `name`, in any case; -1: none. Of several, the first. */
int cells_column(const cells *header, const char *name);
/* Cell of that column; NULL: no such column, or the row is shorter, or the cell is empty. */
const char *cells_at(const cells *row, int column);
/* How often a header stands in it: a header twice is no header. */
size_t cells_count(const cells *header, const char *name);

/* `line` is "LABEL: value" (blanks around, any case): the value; NULL: another line. */
const char *label_value(const char *line, const char *label);

#endif
