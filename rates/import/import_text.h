/* A text read piece by piece, whatever its bytes: lines without terminators, a byte order mark and
 * ANSI colour codes taken off, UTF-16 (as PowerShell's > writes it) turned into UTF-8. A file of
 * any size is read with a few MiB of memory.
 */
#ifndef RATECAST_IMPORT_TEXT_H
#define RATECAST_IMPORT_TEXT_H

#include "base/err.h"
#include "base/file.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct import_text import_text;

typedef struct import_line {
    const char *s; /* NUL-terminated; valid until the next call */
    size_t len, number;
    bool ended; /* with a line terminator; false: the text ends in it */
} import_line;

enum { IMPORT_HEAD_BYTES = 1024 * 1024, IMPORT_LINE_BYTES = 16 * 1024 * 1024 };

/* `path` "-" is standard input. E_IO, E_NOMEM. Free with import_text_close. */
MUST_USE err_code import_text_open(const char *path, import_text **out, err *e);
/* Of bytes in memory, which have to live as long. */
MUST_USE err_code import_text_of(const file_bytes *f, import_text **out, err *e);
void import_text_close(import_text *t);

const char *import_text_name(const import_text *t);
/* The first IMPORT_HEAD_BYTES of the text at most, as the lines will show them, to find a format.
 */
const file_bytes *import_text_head(import_text *t);
/* The next line; false at the end, or after an error: E_IO, E_LIMIT (a line over
 * IMPORT_LINE_BYTES). */
bool import_text_line(import_text *t, import_line *out);
err_code import_text_error(const import_text *t, err *e);
/* Lower-case hex of the file's own bytes; whole once the text has ended. */
void import_text_sha256(import_text *t, char out[65]);
bool import_text_was_utf16(const import_text *t);
bool import_text_empty(import_text *t);

#endif
