/* Report templates: Markdown whose numbers all stand in {{ }}.
 *
 *   {{lit:Qwen3.8-27B}}    a name that holds digits, printed as it stands
 *   {{! ... }}             a remark, left out
 *   {{#claims}} {{/claims}} what is between is left out when there are no claims (runs, witness,
 *                          explain, plots, figures likewise); not nested
 *   {{anything else}}      a value or a block (compose.h)
 *
 * A digit anywhere else is an error: a number that is typed by hand is one that goes stale. A bare
 * number inside {{lit:}} ("1.86x", "393.8 s") is an error for the same reason. */
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
