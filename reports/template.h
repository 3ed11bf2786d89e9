/* Report templates: Markdown whose numbers all stand in {{ }}.
 *
 *   {{lit:Qwen3.8-27B}}    a name that holds digits, printed as it stands
 *   {{! ... }}             a remark, left out
 *   {{#claims}} {{/claims}} what is between is left out when there are no claims (runs, witness,
 *                          explain, plots, figures likewise); not nested
 *   {{anything else}}      a value or a block (compose.h)
 *
 * A digit anywhere else is an error: a number that is typed by hand is one that goes stale. For the
 * same reason every word of {{lit:}} that holds a digit has to be a name:
 *
 *   H200  Q4_K_M  #2723  O(L²)   a letter or # before the first digit, no = : ~ < > before it and
 *                                no % or × in it
 *   5×200  2026-11-30  10.1145/x grids, dates, DOIs
 *   7B  1.5B  20k                sizes, unless a word in small letters follows (20k tokens)
 *   fig. 3                       a number at the end behind fig., figure, table, section, chapter,
 *                                appendix, version or page
 *
 * All others are numbers: "1.86x", "393.8 s", "takes 42.75 seconds", "3 watts", "K=4". */
#ifndef RATECAST_TEMPLATE_H
#define RATECAST_TEMPLATE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"

#include <stddef.h>

typedef enum piece_kind {
    PIECE_TEXT,
    PIECE_LITERAL,
    PIECE_FIELD, /* a value or a block */
    PIECE_IF,
    PIECE_END
} piece_kind;

typedef struct piece {
    piece_kind kind;
    const char *text;  /* of a field: what stands between the braces, blanks at its ends dropped */
    const char *where; /* "FILE:LINE:COLUMN" of its first byte */
} piece;

typedef struct template_text {
    const piece *pieces;
    size_t n;
} template_text;

/* Bytes of the digit that `s` begins with; 0: none. Superscripts, fractions and digits of other
 * alphabets count: whatever reads as a number. */
size_t template_digit(const char *s);

/* E_SYNTAX at FILE:LINE:COLUMN. */
MUST_USE err_code template_parse(const file_bytes *f, arena *mem, template_text *out, err *e);

#endif
