#include "base/jsonr.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEPTH = 32 };
static const double MAX_EXACT_INT = 9007199254740992.0; /* 2^53 */

/* ---- before cJSON sees the bytes ---- */

static void line_column(const char *s, size_t at, size_t *line, size_t *col) {
    *line = 1;
    *col = 1;
    for (size_t i = 0; i < at; i++) {
        (*col)++;
        if (s[i] == '\n') {
            (*line)++;
            *col = 1;
        }
    }
}

static err_code fail_at(jr_doc *d, const char *s, size_t at, err_code code, const char *what) {
    size_t line, col;
    line_column(s, at, &line, &col);
    char where[256];
    snprintf(where, sizeof where, "%s:%zu:%zu", d->name, line, col);
    return err_set(d->e, code, where, "%s", what);
}

static void show_text(const char *s, size_t n, char *out, size_t cap);

/* "found "abc", expected …" at byte `at`. */
static err_code fail_found(jr_doc *d, const char *s, size_t len, size_t at, const char *expected) {
    char shown[96], what[256];
    show_text(s + at, strnlen(s + at, len - at), shown, 24);
    if (at >= len)
        snprintf(what, sizeof what, "found the end of the file, %s", expected);
    else
        snprintf(what, sizeof what, "found \"%s\", %s", shown, expected);
    return fail_at(d, s, at, E_SYNTAX, what);
}

/* Length of the UTF-8 sequence at s[0..n), 0 when it is not valid (overlong, surrogate, >
 * U+10FFFF). */
static size_t utf8_len(const unsigned char *s, size_t n) {
    if (s[0] < 0x80) return 1;
    size_t len = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || len > n) return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    if (s[0] == 0xE0 && s[1] < 0xA0) return 0;
    if (s[0] == 0xED && s[1] > 0x9F) return 0;
    if (s[0] == 0xF0 && s[1] < 0x90) return 0;
    if (s[0] == 0xF4 && s[1] > 0x8F) return 0;
    return len;
}

/* At most `cap` - 1 bytes of s[0..n) for a message: whole characters, control characters as '?'. */
static void show_text(const char *s, size_t n, char *out, size_t cap) {
    size_t at = 0;
    for (size_t i = 0; i < n;) {
        size_t len = utf8_len((const unsigned char *)s + i, n - i);
        bool plain = len > 0 && (unsigned char)s[i] >= 0x20 && s[i] != 0x7F;
        if (len == 0) len = 1;
        if (at + len >= cap) break;
        if (plain)
            memcpy(out + at, s + i, len);
        else
            out[at] = '?';
        at += plain ? len : 1;
        i += len;
    }
    out[at] = '\0';
}

/* cJSON reads numbers with strtod, which knows more than JSON does ("01", "1."): look at each
 * ourselves. */
static size_t json_number_len(const char *s, size_t n) {
    size_t i = 0;
    if (i < n && s[i] == '-') i++;
    if (i >= n || s[i] < '0' || s[i] > '9') return 0;
    if (s[i] == '0')
        i++;
    else
        while (i < n && s[i] >= '0' && s[i] <= '9') i++;
    if (i < n && s[i] == '.') {
        size_t frac = ++i;
        while (i < n && s[i] >= '0' && s[i] <= '9') i++;
        if (i == frac) return 0;
    }
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        if (i < n && (s[i] == '+' || s[i] == '-')) i++;
        size_t exp = i;
        while (i < n && s[i] >= '0' && s[i] <= '9') i++;
        if (i == exp) return 0;
    }
    return i;
}

/* One string literal from its opening quote; the index behind it, or 0 with the error set. */
static size_t scan_string(jr_doc *d, const char *s, size_t len, size_t i) {
    for (size_t j = i + 1; j < len; j++) {
        if ((unsigned char)s[j] < 0x20) {
            fail_at(d, s, j, E_SYNTAX, "control character inside a string");
            return 0;
        }
        if (s[j] == '"') return j + 1;
        if (s[j] != '\\') continue;
        if (len - j > 5 && memcmp(s + j, "\\u0000", 6) == 0) {
            fail_at(d, s, j, E_SYNTAX, "\\u0000 inside a string is not supported");
            return 0;
        }
        j++;
    }
    fail_at(d, s, i, E_SYNTAX, "string without an end");
    return 0;
}

static err_code prescan(jr_doc *d, const char *s, size_t len) {
    for (size_t i = 0; i < len;) {
        size_t n = utf8_len((const unsigned char *)s + i, len - i);
        if (n == 0) return fail_at(d, s, i, E_SYNTAX, "invalid UTF-8, expected a UTF-8 JSON file");
        if (s[i] == '\0') return fail_at(d, s, i, E_SYNTAX, "NUL byte, expected a JSON text file");
        i += n;
    }
    if (len >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0)
        return fail_at(d, s, 0, E_SYNTAX, "starts with a byte order mark, expected JSON");
    if (strspn(s, " \t\r\n") == len)
        return fail_at(d, s, 0, E_SYNTAX, "is empty, expected a JSON object");
    int depth = 0;
    for (size_t i = 0; i < len;) {
        char c = s[i];
        if (c == '"') {
            i = scan_string(d, s, len, i);
            if (i == 0) return d->e->code;
            continue;
        }
        if (c == '-' || (c >= '0' && c <= '9')) {
            size_t n = json_number_len(s + i, len - i);
            if (n == 0) return fail_at(d, s, i, E_SYNTAX, "found no JSON number, expected digits");
            if (n > 60)
                return fail_at(d, s, i, E_SYNTAX,
                               "found a number of over 60 characters, expected fewer");
            i += n;
            if (i < len && (s[i] == '.' || (s[i] >= '0' && s[i] <= '9')))
                return fail_at(d, s, i, E_SYNTAX,
                               "found a leading zero or a second point, expected a JSON number");
            continue;
        }
        if ((unsigned char)c < 0x20 && !strchr("\t\r\n", c)) /* white space to cJSON, not to JSON */
            return fail_at(d, s, i, E_SYNTAX, "control character, expected JSON");
        if ((c == '{' || c == '[') && ++depth > MAX_DEPTH)
            return fail_at(d, s, i, E_LIMIT, "nested deeper than 32 levels");
        if (c == '}' || c == ']') depth--;
        i++;
    }
    return OK;
}

err_code jr_parse(jr_doc *d, const char *name, const char *s, size_t len, arena *mem, err *e) {
    *d = (jr_doc){.name = name, .mem = mem, .e = e};
    if (e->code) return e->code;
    if (len > FILE_MAX_BYTES) return err_set(e, E_LIMIT, name, "is larger than 64 MiB");
    if (prescan(d, s, len)) return e->code;
    const char *end = s;
    d->root = cJSON_ParseWithLengthOpts(s, len, &end, 0);
    size_t at = end ? (size_t)(end - s) : 0;
    if (at > len) at = len;
    if (!d->root)
        return fail_found(
            d, s, len, at,
            "expected more of a JSON value (cut off, or a comma, colon or quote is missing)");
    at += strspn(s + at, " \t\r\n");
    if (at < len) {
        jr_free(d);
        return fail_found(d, s, len, at, "expected the end of the file behind the JSON value");
    }
    return OK;
}

err_code jr_parse_line(jr_doc *d, const char *name, const char *s, size_t len, arena *mem, err *e) {
    err bad = {.code = e->code};
    if (jr_parse(d, name, s, len, mem, &bad) == OK) {
        d->e = e;
        return OK;
    }
    d->e = e;
    size_t n = strlen(name); /* jr_parse took the line for a whole file: it said line 1 of it */
    char *file = strstr(bad.what, "end of the file");
    if (file) memcpy(file, "end of the line", 15);
    if (strncmp(bad.where, name, n) == 0 && strncmp(bad.where + n, ":1:", 3) == 0)
        memmove(bad.where + n, bad.where + n + 2, strlen(bad.where + n + 2) + 1);
    return err_set(e, bad.code, bad.where, "%s", bad.what);
}

void jr_free(jr_doc *d) {
    cJSON_Delete(d->root);
    d->root = NULL;
}

jr jr_root(jr_doc *d) {
    return (jr){.doc = d, .node = d->root};
}

/* ---- places and messages ---- */

void jr_fail(jr at, err_code code, const char *fmt, ...) {
    if (at.doc->e->code) return;
    char what[512], where[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    snprintf(where, sizeof where, "%s#%s", at.doc->name, at.path);
    err_set(at.doc->e, code, where, "%s", what);
}

bool jr_ok(jr at) {
    return at.doc->e->code == OK;
}

bool jr_present(jr at) {
    return at.node != NULL;
}

/* What a node is, for "found …": a short value is shown itself. */
static void describe(const cJSON *n, char *out, size_t cap) {
    char shown[64];
    if (!n)
        snprintf(out, cap, "nothing");
    else if (cJSON_IsString(n)) {
        show_text(n->valuestring, strlen(n->valuestring), shown, sizeof shown);
        snprintf(out, cap, "the string \"%s\"", shown);
    } else if (cJSON_IsNumber(n))
        snprintf(out, cap, "the number %.15g", n->valuedouble);
    else if (cJSON_IsBool(n))
        snprintf(out, cap, "%s", cJSON_IsTrue(n) ? "true" : "false");
    else if (cJSON_IsNull(n))
        snprintf(out, cap, "null");
    else if (cJSON_IsArray(n))
        snprintf(out, cap, "an array");
    else
        snprintf(out, cap, "an object");
}

static void fail_type(jr at, const char *wanted) {
    char found[96];
    describe(at.node, found, sizeof found);
    jr_fail(at, E_SCHEMA, "found %s, expected %s", found, wanted);
}

/* Appends "/key" with JSON pointer escapes (RFC 6901). */
static void path_push(jr *at, const char *key) {
    size_t n = strlen(at->path);
    size_t cap = sizeof at->path;
    if (n + 1 < cap) at->path[n++] = '/';
    for (; *key && n + 2 < cap; key++) {
        if (*key == '~' || *key == '/') {
            at->path[n++] = '~';
            at->path[n++] = *key == '~' ? '0' : '1';
        } else {
            at->path[n++] = *key;
        }
    }
    at->path[n < cap ? n : cap - 1] = '\0';
}

/* ---- objects and arrays ---- */

/* Edit distance of two short words, case ignored; capped at 32 letters. */
static int edit_distance(const char *a, const char *b) {
    enum { N = 32 };
    int la = (int)strlen(a), lb = (int)strlen(b);
    if (la >= N || lb >= N) return N;
    int row[N + 1];
    for (int j = 0; j <= lb; j++) row[j] = j;
    for (int i = 1; i <= la; i++) {
        int diag = row[0];
        row[0] = i;
        for (int j = 1; j <= lb; j++) {
            int same = strncasecmp(a + i - 1, b + j - 1, 1) == 0;
            int best = diag + !same;
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diag = row[j];
            row[j] = best;
        }
    }
    return row[lb];
}

static bool next_word(const char **p, char *word, size_t cap) {
    *p += strspn(*p, " ");
    size_t n = strcspn(*p, " ");
    if (n == 0) return false;
    snprintf(word, cap, "%.*s", (int)n, *p);
    *p += n;
    return true;
}

const char *jr_nearest(const char *got, const char *words, char *out, size_t cap) {
    size_t letters = strlen(got);
    int best = letters < 24 ? (int)letters / 2 + 2 : 8; /* further off is no hint */
    bool found = false;
    char word[64];
    const char *again = words;
    while (next_word(&words, word, sizeof word)) {
        int dist = edit_distance(got, word);
        if (dist >= best) continue;
        best = dist;
        found = true;
        snprintf(out, cap, "%s", word);
    }
    while (!found && letters >= 2 &&
           next_word(&again, word, sizeof word)) /* part of a name, as people type it */
        if (strstr(word, got) || strstr(got, word)) {
            found = true;
            snprintf(out, cap, "%s", word);
        }
    return found ? out : NULL;
}

static bool word_in(const char *w, const char *words) {
    char word[64];
    while (next_word(&words, word, sizeof word))
        if (strcmp(word, w) == 0) return true;
    return false;
}

void jr_keys(jr at, const char *keys) {
    if (!jr_ok(at)) return;
    if (!cJSON_IsObject(at.node)) {
        fail_type(at, "an object");
        return;
    }
    for (const cJSON *c = at.node->child; c; c = c->next) {
        jr key = at;
        path_push(&key, c->string);
        key.node = c;
        char shown[64];
        show_text(c->string, strlen(c->string), shown, sizeof shown);
        for (const cJSON *o = at.node->child; o != c; o = o->next)
            if (strcmp(o->string, c->string) == 0) {
                jr_fail(key, E_SCHEMA, "found key \"%s\" twice, expected it once in one object",
                        shown);
                return;
            }
        if (strcmp(c->string, "note") == 0) {
            if (!cJSON_IsString(c)) fail_type(key, "a string");
            continue;
        }
        if (word_in(c->string, keys)) continue;
        char near[64];
        if (jr_nearest(c->string, keys, near, sizeof near))
            jr_fail(key, E_SCHEMA, "unknown key \"%s\", nearest known key is \"%s\"", shown, near);
        else
            jr_fail(key, E_SCHEMA, "unknown key \"%s\", expected one of: %s", shown, keys);
        return;
    }
}

void jr_schema(jr root, const char *name) {
    if (!cJSON_IsObject(root.node)) {
        fail_type(root, "an object with a \"schema\"");
        return;
    }
    jr at = jr_get(root, "schema");
    if (!at.node)
        jr_fail(at, E_SCHEMA, "key \"schema\" is missing, expected \"%s\"", name);
    else if (!cJSON_IsString(at.node)) {
        char wanted[96];
        snprintf(wanted, sizeof wanted, "a string, \"%s\"", name);
        fail_type(at, wanted);
    } else if (strcmp(at.node->valuestring, name) != 0) {
        char shown[64];
        show_text(at.node->valuestring, strlen(at.node->valuestring), shown, sizeof shown);
        jr_fail(at, E_SCHEMA, "found \"%s\", expected \"%s\"", shown, name);
    }
}

jr jr_get(jr obj, const char *key) {
    jr m = obj;
    path_push(&m, key);
    m.node = cJSON_IsObject(obj.node) ? cJSON_GetObjectItemCaseSensitive(obj.node, key) : NULL;
    return m;
}

jr jr_need(jr obj, const char *key) {
    jr m = jr_get(obj, key);
    if (!m.node) jr_fail(m, E_SCHEMA, "key \"%s\" is missing, expected it here", key);
    return m;
}

size_t jr_len(jr arr) {
    if (!arr.node) return 0;
    if (!cJSON_IsArray(arr.node)) {
        fail_type(arr, "an array");
        return 0;
    }
    return (size_t)cJSON_GetArraySize(arr.node);
}

bool jr_each(jr arr, jr *item) {
    const cJSON *next = item->node ? item->node->next : arr.node ? arr.node->child : NULL;
    size_t index = item->node ? item->index + 1 : 0;
    if (!next || !jr_ok(arr)) return false;
    char idx[24];
    snprintf(idx, sizeof idx, "%zu", index);
    *item = arr;
    path_push(item, idx);
    item->node = next;
    item->index = index;
    return true;
}

/* ---- values ---- */

static const char *str_of(jr m) {
    if (!m.node) return "";
    if (!cJSON_IsString(m.node)) {
        fail_type(m, "a string");
        return "";
    }
    if (m.node->valuestring[0] == '\0')
        jr_fail(m, E_RANGE, "found an empty string, expected some text");
    for (const char *p = m.node->valuestring; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F) {
            fail_type(m, "printable text without control characters");
            break;
        }
    const char *s = arena_strdup(m.doc->mem, m.node->valuestring);
    if (!s) jr_fail(m, E_LIMIT, "does not fit the memory budget");
    return s ? s : "";
}

const char *jr_str(jr obj, const char *key) {
    return str_of(jr_need(obj, key));
}

const char *jr_str_or(jr obj, const char *key, const char *def) {
    jr m = jr_get(obj, key);
    return m.node ? str_of(m) : def;
}

static double num_of(jr m, double min, double max) {
    if (!m.node) return min;
    if (!cJSON_IsNumber(m.node)) {
        fail_type(m, "a number");
        return min;
    }
    double v = m.node->valuedouble;
    if (!isfinite(v))
        jr_fail(m, E_RANGE, "found a number over the range of a double, expected a finite one");
    else if (v < min || v > max)
        jr_fail(m, E_RANGE, "found %.15g, expected a number from %.15g to %.15g", v, min, max);
    else
        return v;
    return min;
}

double jr_num(jr obj, const char *key, double min, double max) {
    return num_of(jr_need(obj, key), min, max);
}

double jr_num_or(jr obj, const char *key, double min, double max, double def) {
    jr m = jr_get(obj, key);
    return m.node ? num_of(m, min, max) : def;
}

/* The bounds keep every later product finite; nothing measured in this field comes near them. */
static double pos_of(jr m) {
    if (!m.node) return 1;
    if (!cJSON_IsNumber(m.node)) {
        fail_type(m, "a number > 0");
        return 1;
    }
    double v = m.node->valuedouble;
    if (!isfinite(v))
        jr_fail(m, E_RANGE, "found a number over the range of a double, expected a finite one");
    else if (v <= 0)
        jr_fail(m, E_RANGE, "found %.15g, expected a number > 0", v);
    else if (v < 1e-12 || v > 1e21)
        jr_fail(m, E_RANGE, "found %.15g, expected a number from 1e-12 to 1e21", v);
    else
        return v;
    return 1;
}

double jr_pos(jr obj, const char *key) {
    return pos_of(jr_need(obj, key));
}

double jr_pos_or(jr obj, const char *key, double def) {
    jr m = jr_get(obj, key);
    return m.node ? pos_of(m) : def;
}

static int64_t int_of(jr m, int64_t min, int64_t max) {
    if (!m.node) return min;
    if (!cJSON_IsNumber(m.node)) {
        fail_type(m, "a whole number");
        return min;
    }
    double v = m.node->valuedouble;
    if (!isfinite(v) || fabs(v) >= MAX_EXACT_INT)
        jr_fail(m, E_RANGE, "found a number of 2^53 or more, expected a whole number below that");
    else if (v != floor(v))
        jr_fail(m, E_RANGE, "found %.15g, expected a whole number", v);
    else if ((int64_t)v < min || (int64_t)v > max)
        jr_fail(m, E_RANGE, "found %.0f, expected a whole number from %lld to %lld", v,
                (long long)min, (long long)max);
    else
        return (int64_t)v;
    return min;
}

int64_t jr_int(jr obj, const char *key, int64_t min, int64_t max) {
    return int_of(jr_need(obj, key), min, max);
}

int64_t jr_int_or(jr obj, const char *key, int64_t min, int64_t max, int64_t def) {
    jr m = jr_get(obj, key);
    return m.node ? int_of(m, min, max) : def;
}

bool jr_bool_or(jr obj, const char *key, bool def) {
    jr m = jr_get(obj, key);
    if (!m.node) return def;
    if (!cJSON_IsBool(m.node)) fail_type(m, "true or false");
    return cJSON_IsTrue(m.node);
}

static int enum_of(jr m, const char *const *names) {
    if (!m.node) return 0;
    char all[256] = "";
    for (int i = 0; names[i]; i++) {
        if (cJSON_IsString(m.node) && strcmp(m.node->valuestring, names[i]) == 0) return i;
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s\"%s\"", i ? ", " : "one of ", names[i]);
    }
    fail_type(m, all);
    return 0;
}

int jr_enum(jr obj, const char *key, const char *const *names) {
    jr m = jr_get(obj, key);
    char all[256] = "";
    for (int i = 0; !m.node && names[i]; i++) {
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s\"%s\"", i ? ", " : "", names[i]);
    }
    if (!m.node) jr_fail(m, E_SCHEMA, "key \"%s\" is missing, expected one of %s", key, all);
    return enum_of(m, names);
}

int jr_enum_or(jr obj, const char *key, const char *const *names, int def) {
    jr m = jr_get(obj, key);
    return m.node ? enum_of(m, names) : def;
}

int jr_enum_of(jr value, const char *const *names) {
    return enum_of(value, names);
}

static const double *array_of(jr obj, const char *key, size_t *n, bool positive) {
    jr arr = jr_get(obj, key);
    *n = jr_len(arr);
    double *v = ARENA_ARRAY(obj.doc->mem, double, *n);
    if (!v) {
        jr_fail(arr, E_LIMIT, "does not fit the memory budget");
        *n = 0;
        return NULL;
    }
    jr m = {0};
    while (jr_each(arr, &m)) v[m.index] = positive ? pos_of(m) : num_of(m, 0, 1e15);
    return v;
}

const double *jr_pos_array(jr obj, const char *key, size_t *n) {
    return array_of(obj, key, n, true);
}

const double *jr_nonneg_array(jr obj, const char *key, size_t *n) {
    return array_of(obj, key, n, false);
}

const char *const *jr_str_array(jr obj, const char *key, size_t *n) {
    jr arr = jr_get(obj, key);
    *n = jr_len(arr);
    const char **v = ARENA_ARRAY(obj.doc->mem, const char *, *n);
    if (!v) {
        jr_fail(arr, E_LIMIT, "does not fit the memory budget");
        *n = 0;
        return NULL;
    }
    for (jr m = {0}; jr_each(arr, &m);) v[m.index] = str_of(m);
    return v;
}
