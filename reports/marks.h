/* Marks inside a report's Markdown: private-use characters around a number or in the place of a
 * picture. They say where the number comes from; Markdown is written without them. */
#ifndef RATECAST_MARKS_H
#define RATECAST_MARKS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum mark_kind { MARK_NUMBER, MARK_PICTURE } mark_kind;

typedef struct mark {
    mark_kind kind;
    const char *title;   /* number: provenance and reference; picture: what it shows */
    const char *picture; /* name of the file without its ending */
    bool all_arms;       /* a picture of arms of which none can be taken away on the page */
} mark;

/* Mark `index` around `text` (a number) or in its own paragraph (a picture, `text` unused). */
void mark_add(buf *out, size_t index, const mark *m, const char *text);

/* Text of others from byte `from` on may hold such characters, even a whole mark: none of them
 * opens one afterwards. */
void marks_disarm(buf *b, size_t from);

/* Walks a text with marks. `from` is where the last call left off; returns the next mark's index
 * and its text, or false at the end; everything before it is [*plain, *plain + *plain_n). */
typedef struct mark_found {
    const char *plain;
    size_t plain_n;
    size_t index;
    const char *text;
    size_t text_n;
} mark_found;
int mark_next(const char **from, size_t marks_n, mark_found *out);

/* The text without marks: numbers as they stand, pictures as ![what it shows](NAME.svg). */
void marks_markdown(const char *text, const mark *marks, size_t n, buf *out);

#endif
