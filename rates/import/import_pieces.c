/* JSON in benchmark outputs: objects one a line, or the elements of an array, with whatever else
 * was written between them; and typed getters for which absent is not zero. */
#include "import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KEYS_MAX = 512, OBJECT_BYTES = 64 * 1024 * 1024, SCRATCH_BYTES = 192 * 1024 * 1024 };
static const int64_t COUNT_MAX = (int64_t)1 << 53;

import_cursor import_start(import *in, import_text *t) {
    return (import_cursor){.in = in, .t = t, .name = import_keep(in, import_text_name(t))};
}

void import_end(import_cursor *c) {
    buf_done(&c->object);
    arena_free(c->scratch);
    c->scratch = NULL;
    (void)import_text_error(c->t, c->in->e);
}

/* For a message: printable ASCII, the rest as '?', so that half a character does no harm. */
static const char *shown(const char *s, size_t len, char out[49]) {
    size_t n = len < 48 ? len : 48;
    for (size_t i = 0; i < n; i++) out[i] = s[i] >= 0x20 && s[i] < 0x7F ? s[i] : '?';
    out[n] = '\0';
    return out;
}

/* A row that somebody else's text precedes is a row lost: that is no mere stray line. In single
 * quotes it is an argument, as of curl -d. */
static void skip_text(import_cursor *c, const char *s, size_t len, size_t line) {
    char text[49];
    for (size_t i = 0; i + 1 < len; i++)
        if (s[i] == '{' && s[i + 1] == '"' && (i == 0 || s[i - 1] != '\'')) {
            import_fault(c->in, c->name, line,
                         "found \"%s\" before a JSON object on one line, expected the object alone "
                         "(keep stderr apart: 2>run.err)",
                         shown(s, i, text));
            return;
        }
    import_warn(c->in, c->name, line, "no JSON, skipped: \"%s\"", shown(s, len, text));
}

static bool is_space(char ch) {
    return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n';
}

bool import_next_line(import_cursor *c, import_piece *p) {
    import_line l;
    while (!c->in->e->code && import_text_line(c->t, &l)) {
        const char *s = l.s;
        size_t len = l.len;
        while (len > 0 && is_space(s[len - 1])) len--;
        while (len > 0 && is_space(*s)) s++, len--;
        c->line = l.number;
        if (len == 0) {
            import_warn(c->in, c->name, l.number, "blank line, skipped");
        } else if (*s != '{') {
            skip_text(c, s, len, l.number);
        } else {
            *p = (import_piece){s, len, l.number, !l.ended};
            return true;
        }
    }
    return false;
}

/* The next line into the cursor; false at the end. */
static bool feed(import_cursor *c) {
    import_line l;
    if (!import_text_line(c->t, &l)) return false;
    c->rest = l.s;
    c->rest_len = l.len;
    c->line = l.number;
    return true;
}

/* Copies an object that may span lines; c->rest stands on its '{'. *cut: the text ends before it.
 */
static void gather(import_cursor *c, bool *cut) {
    size_t depth = 0;
    bool in_string = false;
    if (!c->object.s) buf_init(&c->object);
    buf_reset(&c->object);
    for (*cut = false;;) {
        size_t i = 0;
        for (; i < c->rest_len; i++) {
            char ch = c->rest[i];
            if (in_string) {
                if (ch == '\\')
                    i++;
                else
                    in_string = ch != '"';
            } else if (ch == '"') {
                in_string = true;
            } else if (ch == '{') {
                depth++;
            } else if (ch == '}' && --depth == 0) {
                buf_add_n(&c->object, c->rest, i + 1);
                c->rest += i + 1;
                c->rest_len -= i + 1;
                return;
            }
        }
        buf_add_n(&c->object, c->rest, c->rest_len);
        buf_add(&c->object, "\n");
        c->rest_len = 0;
        in_string = false; /* no string of JSON spans lines */
        if (c->object.len > OBJECT_BYTES || !feed(c)) {
            *cut = true;
            return;
        }
    }
}

bool import_next_element(import_cursor *c, import_piece *p) {
    while (!c->in->e->code) {
        if (c->rest_len == 0 && !feed(c)) return false;
        if (c->rest_len == 0) continue;
        char ch = *c->rest;
        if (ch == '[') c->opened = true;
        if (ch == ']') c->closed = true;
        if (is_space(ch) || ch == ',' || ch == '[' || ch == ']') {
            c->rest++;
            c->rest_len--;
        } else if (ch != '{') {
            skip_text(c, c->rest, c->rest_len, c->line);
            c->rest_len = 0;
        } else {
            size_t line = c->line;
            bool cut;
            gather(c, &cut);
            *p = (import_piece){c->object.s, c->object.len, line, cut};
            return true;
        }
    }
    return false;
}

/* Length of nan, -inf, -nan(ind), as C libraries print them; 0: something else. */
static size_t not_finite_len(const char *s, size_t len) {
    static const char *const WORDS[] = {"nan(ind)", "nan", "infinity", "inf"};
    size_t sign = len > 0 && (*s == '-' || *s == '+');
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        size_t n = strlen(WORDS[i]);
        if (len - sign >= n && strncasecmp(s + sign, WORDS[i], n) == 0) return sign + n;
    }
    return 0;
}

/* Looked at for every byte of a file: no search through a string. */
static bool may_begin_word(char c) {
    return c == '-' || c == '+' || (c | 32) == 'n' || (c | 32) == 'i';
}

/* The piece with null for every number that is not finite; false: it has none. */
static bool without_nan(const import_piece *p, buf *out) {
    bool found = false, in_string = false;
    size_t done = 0;
    for (size_t i = 0; i < p->len; i++) {
        if (in_string && p->s[i] == '\\') {
            i++;
        } else if (p->s[i] == '"') {
            in_string = !in_string;
        } else if (!in_string && may_begin_word(p->s[i])) {
            size_t n = not_finite_len(p->s + i, p->len - i);
            if (n == 0) continue;
            buf_add_n(out, p->s + done, i - done);
            buf_add(out, "null");
            done = i + n;
            i = done - 1;
            found = true;
        }
    }
    if (found) buf_add_n(out, p->s + done, p->len - done);
    return found;
}

/* "found …" of an error whose place begins with `name`, which the note says already. */
static void note_error(import_cursor *c, const import_piece *p, const char *name, const err *e) {
    size_t n = strlen(name);
    const char *rest = strncmp(e->where, name, n) == 0 ? e->where + n : "";
    char *end = NULL;
    long line = rest[0] == ':' ? strtol(rest + 1, &end, 10) : 0,
         column = end && *end == ':' ? strtol(end + 1, NULL, 10) : 0; /* ":LINE:COLUMN" */
    if (e->code == E_LIMIT && strstr(e->what, "memory budget")) {
        err_set(c->in->e, E_LIMIT, c->name, "%s", e->what);
    } else if (p->cut && e->code == E_SYNTAX) {
        import_warn(c->in, c->name, p->line,
                    "cut off: the file ends inside this line, which is not used");
    } else if (line > 0 && column > 0) {
        if (line == 1)
            import_fault(c->in, c->name, p->line, "column %ld: %s", column, e->what);
        else
            import_fault(c->in, c->name, p->line, "line %ld, column %ld from here: %s", line,
                         column, e->what);
    } else {
        import_fault(c->in, c->name, p->line, "%s%s%s", rest, rest[0] ? ": " : "", e->what);
    }
}

/* First key that stands twice in `o`, looking into nested objects as well. */
static void no_key_twice(jr o) {
    size_t n = 0;
    for (const cJSON *m = o.node->child; m && jr_ok(o); m = m->next) {
        if (n == KEYS_MAX) {
            jr_fail(o, E_LIMIT, "more than %d keys in one object", KEYS_MAX);
            return;
        }
        for (const cJSON *other = o.node->child; other != m; other = other->next)
            if (*other->string == *m->string && strcmp(other->string, m->string) == 0) {
                char text[49];
                jr_fail(o, E_SCHEMA, "found key \"%s\" twice, expected it once",
                        shown(m->string, strlen(m->string), text));
                return;
            }
        n++;
    }
}

static bool open_piece(import_cursor *c, const import_piece *p, jr_doc *doc, err *e, bool twice) {
    if (!c->scratch) c->scratch = arena_new(SCRATCH_BYTES);
    arena *scratch = c->scratch;
    const char *name = scratch ? arena_printf(scratch, "%s:%zu", c->name, p->line) : NULL;
    if (!name) {
        err_set(c->in->e, E_LIMIT, c->name, "does not fit the memory budget");
        return false;
    }
    buf clean;
    buf_init(&clean);
    bool changed = without_nan(p, &clean);
    *e = (err){0};
    (void)jr_parse(doc, name, changed ? clean.s : p->s, changed ? clean.len : p->len, scratch, e);
    buf_done(&clean);
    if (!e->code && !twice) {
        jr root = jr_root(doc);
        no_key_twice(root);
        for (const cJSON *m = root.node->child; m && !e->code; m = m->next)
            if (cJSON_IsObject(m)) {
                jr inner = root;
                inner.node = m;
                no_key_twice(inner);
            }
    }
    if (!e->code) return true;
    note_error(c, p, name, e);
    jr_free(doc);
    arena_reset(scratch);
    return false;
}

bool import_open(import_cursor *c, const import_piece *p, jr_doc *doc, err *e) {
    return open_piece(c, p, doc, e, false);
}

bool import_open_twice(import_cursor *c, const import_piece *p, jr_doc *doc, err *e) {
    return open_piece(c, p, doc, e, true);
}

bool import_close(import_cursor *c, const import_piece *p, jr_doc *doc) {
    bool failed = doc->e->code != OK;
    if (failed) note_error(c, p, doc->name, doc->e);
    jr_free(doc);
    arena_reset(c->scratch);
    return failed;
}

/* ---- values ---- */

static bool stated(jr m) {
    return m.node && !cJSON_IsNull(m.node);
}

const char *import_str(jr o, const char *key) {
    jr m = jr_get(o, key);
    if (!stated(m)) return NULL;
    if (!cJSON_IsString(m.node)) {
        jr_fail(m, E_SCHEMA, "found no text, expected a string");
        return NULL;
    }
    if (m.node->valuestring[0] == '\0') return NULL;
    char *copy = arena_strdup(o.doc->mem, m.node->valuestring);
    if (!copy) jr_fail(m, E_LIMIT, "does not fit the memory budget");
    for (char *p = copy; p && *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F) *p = '?';
    return copy;
}

double import_num(jr o, const char *key) {
    jr m = jr_get(o, key);
    if (!stated(m)) return (double)NAN;
    if (!cJSON_IsNumber(m.node)) {
        jr_fail(m, E_SCHEMA, "found no number, expected one");
        return (double)NAN;
    }
    return m.node->valuedouble;
}

int64_t import_count(jr o, const char *key, int64_t max) {
    return stated(jr_get(o, key)) ? jr_int(o, key, 0, max) : -1;
}

const char *import_num_text(jr o, const char *key) {
    jr m = jr_get(o, key);
    if (!stated(m)) return NULL;
    int64_t v = cJSON_IsBool(m.node) ? cJSON_IsTrue(m.node) : jr_int(o, key, -COUNT_MAX, COUNT_MAX);
    const char *text = arena_printf(o.doc->mem, "%lld", (long long)v);
    if (!text) jr_fail(m, E_LIMIT, "does not fit the memory budget");
    return text;
}

void import_common_settings(jr o, const char **setting) {
    setting[IMPORT_N_BATCH] = import_num_text(o, "n_batch");
    setting[IMPORT_N_UBATCH] = import_num_text(o, "n_ubatch");
    setting[IMPORT_FLASH_ATTN] = import_num_text(o, "flash_attn");
    setting[IMPORT_THREADS] = import_num_text(o, "n_threads");
    setting[IMPORT_GPU_LAYERS] = import_num_text(o, "n_gpu_layers");
}

bool import_contradicts(double printed, double computed, double time_s, double resolution_s) {
    if (!isfinite(printed)) return false; /* not stated */
    return fabs(printed - computed) > computed * (0.01 + resolution_s / time_s);
}
