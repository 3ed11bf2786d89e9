/* What the first bytes of a text show: the keys of its first JSON object, the header of a CSV. To
 * tell formats apart by structure, where a word could stand in any text. */
#ifndef RATECAST_IMPORT_HEAD_H
#define RATECAST_IMPORT_HEAD_H

#include "base/file.h"
#include "import_table.h"

#include <stdbool.h>

/* Is `key` a key of the first JSON object? Blanks, and the bracket of an array, may stand before
 * it. Keys of nested objects do not count. */
bool head_has_key(const file_bytes *f, const char *key);
/* Is `key` a key of the first object that stands in the value of `outer`, a key of the first one?
 */
bool head_has_inner_key(const file_bytes *f, const char *outer, const char *key);
/* Does a key of the first object begin or end so? In lower case; NULL-terminated list. */
bool head_has_key_like(const file_bytes *f, const char *const *words);
/* The cells of the first line that is not empty, by the separator that it uses (comma, semicolon or
 * tab). false: no such line, or one cell only. */
bool head_header(const file_bytes *f, cells *out, char *separator);
/* Are all of these columns of it, in any case? NULL-terminated. */
bool head_has_columns(const cells *header, const char *const *names);

#endif
