/* Text made to fit a window: its Markdown tables (table.h) that are too wide. */
#ifndef RATECAST_FIT_H
#define RATECAST_FIT_H

#include "base/arena.h"
#include "base/buf.h"

#include <stddef.h>

/* `text` with every table that is wider than `columns` wrapped between the words of its heads and
 * of its columns of text; what is still too wide stands in several tables, each with the columns
 * that name a row. Numbers stay on their line. Other lines are as they were. */
void fit_tables(const char *text, size_t columns, arena *mem, buf *out);

#endif
