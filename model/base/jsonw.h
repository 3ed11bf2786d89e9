/* Exact numbers into cJSON trees, and the one way a tree is printed.
 *
 * cJSON stops at 15 digits and prints NaN as null; here a number is the shortest of 15, 16 or 17
 * digits that reads back equal, and a number that is not finite is a bug (assert), never output. */
#ifndef RATECAST_JSONW_H
#define RATECAST_JSONW_H

#include "base/buf.h"

#include <cjson/cJSON.h>
#include <stdint.h>

void jw_num(cJSON *obj, const char *key, double v);
void jw_int(cJSON *obj, const char *key, int64_t v);
void jw_str(cJSON *obj, const char *key, const char *s); /* NULL: key left out */
void jw_bool(cJSON *obj, const char *key, int v);
cJSON *jw_obj(cJSON *obj, const char *key);
cJSON *jw_arr(cJSON *obj, const char *key);
cJSON *jw_item(cJSON *arr); /* appends an object */
/* Shortest decimal that reads back as v. */
void jw_format(double v, char out[32]);
/* Seconds of a count of nanoseconds, exactly: 393773500000 -> "393.7735". Trailing zeros dropped.
 * Negative ones are changes. */
void jw_ns_as_s(cJSON *obj, const char *key, int64_t ns);
/* Prints with indentation and a final newline. */
void jw_print(const cJSON *root, buf *out);

#endif
