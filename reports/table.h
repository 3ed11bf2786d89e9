/* Tables of text cells: Markdown (aligned, so that it reads well on a terminal too) and CSV. */
#ifndef RATECAST_TABLE_H
#define RATECAST_TABLE_H

#include "base/arena.h"
#include "base/buf.h"

#include <stddef.h>

enum { TABLE_COLS_MAX = 72 };

typedef struct table table;

/* `cols` <= TABLE_COLS_MAX. The first column is aligned left, the others right unless table_left
 * says otherwise. NULL: memory. Strings are borrowed and have to outlive the table. */
table *table_new(arena *mem, size_t cols);
void table_left(table *t, size_t col);
/* Adds a row of `cols` cells; the first row is the header. A NULL cell is empty. */
void table_row(table *t, const char *const *cells);
void table_markdown(const table *t, buf *out);
/* RFC 4180: fields with a comma, a quote or a line break are quoted. */
void table_csv(const table *t, buf *out);
/* Columns a UTF-8 string takes: code points, which is right for all that these tables hold. */
size_t table_width(const char *s);

#endif
