/* Strict, typed reading of JSON on top of cJSON.
 *
 * What cJSON lets pass and this reader refuses: bytes behind the end, duplicate keys, unknown keys,
 * infinity (1e400), strings with a NUL, invalid UTF-8, nesting over 32, files over 64 MiB, integers
 * that a double cannot hold. The typed getters *are* the validation; the schema files are
 * documentation.
 *
 * Errors are sticky: the first one is kept with its place ("file#/arms/0/slots_n") and every getter
 * then returns a harmless default, so a loader reads everything and looks at the error once, at its
 * end.
 *
 * A cursor (`jr`) is a value; it points into the document and lives as long as it. Strings that
 * getters return are copied into the document's arena and outlive the document.
 */
#ifndef RATECAST_JSONR_H
#define RATECAST_JSONR_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct jr_doc {
    const char *name; /* for messages */
    cJSON *root;
    arena *mem;
    err *e;
} jr_doc;

typedef struct jr {
    jr_doc *doc;
    const cJSON *node; /* NULL: absent; getters on it give the default */
    size_t index;      /* position in its array, set by jr_each */
    char path[200];    /* JSON pointer of the node */
} jr;

/* Parses `len` bytes. On failure `doc->e` is set and `doc->root` is NULL. Free with jr_free. */
MUST_USE err_code jr_parse(jr_doc *doc, const char *name, const char *s, size_t len, arena *mem,
                           err *e);
/* The same for one line of a file of lines: `name` is "FILE:LINE", so an error stands at
 * FILE:LINE:COLUMN. */
MUST_USE err_code jr_parse_line(jr_doc *doc, const char *name, const char *s, size_t len,
                                arena *mem, err *e);
void jr_free(jr_doc *doc);
jr jr_root(jr_doc *doc);

/* Records an error at this node. */
void jr_fail(jr at, err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool jr_ok(jr at);
bool jr_present(jr at);

/* `node` must be an object whose keys are all in `keys` ("id model note"), none twice; the nearest
 * known key is named otherwise. "note" is always allowed: it is where comments go. */
void jr_keys(jr node, const char *keys);
/* `root` must be an object whose "schema" is `name`: looked at first, so that another kind of file,
 * or a later version of the format, is named as such instead of by its first unknown key. */
void jr_schema(jr root, const char *name);
/* Member of an object; absent member: a cursor with node NULL. */
jr jr_get(jr obj, const char *key);
/* The same for a member that must be there. */
jr jr_need(jr obj, const char *key);
/* Length of an array (0 when absent); fails on anything but an array. */
size_t jr_len(jr arr);
/* Walks an array: start with item->node == NULL (a zeroed jr); false at the end. Linear in the
 * array. */
bool jr_each(jr arr, jr *item);

/* Values. The `_or` forms return the default when the member is absent. Bounds are inclusive. */
const char *jr_str(jr obj, const char *key);
const char *jr_str_or(jr obj, const char *key, const char *def);
double jr_num(jr obj, const char *key, double min, double max);
double jr_num_or(jr obj, const char *key, double min, double max, double def);
/* A number that must be > 0 (rates, times). */
double jr_pos(jr obj, const char *key);
double jr_pos_or(jr obj, const char *key, double def);
int64_t jr_int(jr obj, const char *key, int64_t min, int64_t max);
int64_t jr_int_or(jr obj, const char *key, int64_t min, int64_t max, int64_t def);
bool jr_bool_or(jr obj, const char *key, bool def);
/* One of the words in `names` (NULL-terminated); its index. */
int jr_enum(jr obj, const char *key, const char *const *names);
int jr_enum_or(jr obj, const char *key, const char *const *names, int def);
int jr_enum_of(jr value, const char *const *names); /* of an element of an array */
/* All numbers of an array member, each > 0; *n is 0 when absent. */
const double *jr_pos_array(jr obj, const char *key, size_t *n);
const double *jr_nonneg_array(jr obj, const char *key, size_t *n);
/* All strings of an array member; *n is 0 when absent. */
const char *const *jr_str_array(jr obj, const char *key, size_t *n);
/* The nearest of the space-separated words to `got`, or NULL when none is near. Written into `out`.
 */
const char *jr_nearest(const char *got, const char *words, char *out, size_t cap);

#endif
