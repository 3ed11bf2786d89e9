/* What changes when a report goes to a terminal instead of a file or a pipe: tables that are wider
 * than the window are wrapped and split, and classes of provenance and verdicts are coloured. The
 * bytes that go anywhere else are never touched. */
#ifndef RATECAST_TERMINAL_H
#define RATECAST_TERMINAL_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct terminal {
    size_t columns; /* 0: not known, nothing is made to fit */
    bool colour;
} terminal;

/* Is standard output a terminal, and what is it like? The width is its window's, else COLUMNS;
 * colour unless NO_COLOR is set and not empty or TERM is "dumb". */
bool terminal_of_stdout(terminal *out);

/* `text` for that terminal: its tables made to fit (reports/fit.h), coloured. */
void terminal_text(const terminal *t, const char *text, arena *mem, buf *out);

#endif
