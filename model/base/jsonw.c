#include "base/jsonw.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void jw_format(double v, char out[32]) {
    assert(isfinite(v));
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, v);
        if (strtod(out, NULL) == v) return;
    }
}

void jw_num(cJSON *obj, const char *key, double v) {
    char text[32];
    jw_format(v, text);
    cJSON_AddRawToObject(obj, key, text);
}

void jw_int(cJSON *obj, const char *key, int64_t v) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, v);
    cJSON_AddRawToObject(obj, key, text);
}

void jw_ns_as_s(cJSON *obj, const char *key, int64_t ns) {
    assert(ns > INT64_MIN);
    int64_t size = ns < 0 ? -ns : ns; /* the sign apart: whole seconds of -0.5 s are 0 */
    char text[40];
    int n = snprintf(text, sizeof text, "%s%" PRId64 ".%09" PRId64, ns < 0 ? "-" : "",
                     size / 1000000000, size % 1000000000);
    while (text[n - 1] == '0') text[--n] = '\0';
    if (text[n - 1] == '.') text[--n] = '\0';
    cJSON_AddRawToObject(obj, key, text);
}

void jw_str(cJSON *obj, const char *key, const char *s) {
    if (s) cJSON_AddStringToObject(obj, key, s);
}

void jw_bool(cJSON *obj, const char *key, int v) {
    cJSON_AddBoolToObject(obj, key, v);
}

cJSON *jw_obj(cJSON *obj, const char *key) {
    return cJSON_AddObjectToObject(obj, key);
}

cJSON *jw_arr(cJSON *obj, const char *key) {
    return cJSON_AddArrayToObject(obj, key);
}

cJSON *jw_item(cJSON *arr) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToArray(arr, o);
    return o;
}

void jw_print(const cJSON *root, buf *out) {
    char *s = cJSON_Print(root);
    if (!s) abort();
    for (const char *p = s;
         *p;) { /* cJSON indents with tabs and puts one behind each colon; spaces read better */
        size_t tabs = strspn(p, "\t");
        buf_fill(out, ' ', 2 * tabs);
        for (p += tabs; *p && *p != '\n'; p++) buf_add_n(out, *p == '\t' ? " " : p, 1);
        buf_add(out, "\n");
        p += *p == '\n';
    }
    cJSON_free(s);
}
