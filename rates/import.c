#include "import.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A file of another kind can hold millions of lines: the first notes tell as much as all. */
enum { NOTES_MAX = 200, KEYS_MAX = 512, DETECT_BYTES = 1024 * 1024 };
static const int64_t COUNT_MAX = (int64_t)1 << 53;

const char *const IMPORT_PHASES[] = {"prefill", "decode", "mixed", NULL};

const import_format *const IMPORT_FORMATS[] = {&IMPORT_LLAMA_BENCH_JSONL, &IMPORT_LLAMA_BENCH_JSON,
                                               &IMPORT_BATCHED_BENCH_JSONL, NULL};

/* ---- the result ---- */

import import_new(arena * mem, err * e){return (import){.mem = mem, .e = e };
}

/* Room for one more of n items; the arena keeps the outgrown blocks, half as much again at most. */
static void *grow(import *in, void *v, size_t n, size_t *cap, size_t size) {
    if (n < *cap) return v;
    size_t more = *cap ? *cap * 2 : 32;
    void *bigger = arena_alloc(in->mem, more, size);
    if (!bigger) {
        err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
        return NULL;
    }
    if (n) memcpy(bigger, v, n * size);
    *cap = more;
    return bigger;
}

static const char *add_note(import *in, import_notes *to, const char *file, size_t line,
                            const char *what) {
    if (to->n >= NOTES_MAX) {
        to->more++;
        return NULL;
    }
    import_note *v = grow(in, to->v, to->n, &to->cap, sizeof *v);
    char *copy = arena_strdup(in->mem, what);
    if (!v || !copy) {
        err_set(in->e, E_LIMIT, file, "does not fit the memory budget");
        return NULL;
    }
    to->v = v;
    to->v[to->n++] = (import_note){file, line, copy};
    return copy;
}

#define FORMATTED(text, fmt)                                                                       \
    do {                                                                                           \
        va_list ap;                                                                                \
        va_start(ap, fmt);                                                                         \
        vsnprintf(text, sizeof(text), fmt, ap);                                                    \
        va_end(ap);                                                                                \
    } while (0)

void import_warn(import *in, const char *file, size_t line, const char *fmt, ...) {
    char what[512];
    FORMATTED(what, fmt);
    (void)add_note(in, &in->warnings, file, line, what);
}

void import_fault(import *in, const char *file, size_t line, const char *fmt, ...) {
    char what[512];
    FORMATTED(what, fmt);
    (void)add_note(in, &in->errors, file, line, what);
}

void import_refuse(import *in, import_row *r, const char *fmt, ...) {
    char what[512];
    FORMATTED(what, fmt);
    const char *kept = add_note(in, &in->errors, r->file, r->line, what);
    if (!r->refused) r->refused = kept ? kept : "faulty, as others before it";
}

import_row *import_row_new(import *in, const char *file, size_t line) {
    import_row *v = grow(in, in->rows, in->rows_n, &in->rows_cap, sizeof *v);
    if (!v) return NULL;
    in->rows = v;
    import_row *r = &v[in->rows_n++];
    *r = (import_row){.file = file,
                      .line = line,
                      .n_prompt = -1,
                      .n_gen = -1,
                      .batch_n = 1,
                      .tok_s = (double)NAN,
                      .tok_s_std = (double)NAN,
                      .per_seq_tok_s = (double)NAN};
    return r;
}

/* ---- pieces of a file ---- */

import_cursor import_start(import *in, const file_bytes *f) {
    bool bom = f->len >= 3 && memcmp(f->s, "\xEF\xBB\xBF", 3) == 0;
    return (import_cursor){.in = in, .f = f, .at = bom ? 3 : 0, .line = 1};
}

/* For a message: printable ASCII, the rest as '?', so that half a character does no harm. */
static const char *shown(const char *s, size_t len, char out[49]) {
    size_t n = len < 48 ? len : 48;
    for (size_t i = 0; i < n; i++) out[i] = s[i] >= 0x20 && s[i] < 0x7F ? s[i] : '?';
    out[n] = '\0';
    return out;
}

/* A row that somebody else's text precedes is a row lost: that is no mere stray line. */
static void skip_text(import_cursor *c, const char *s, size_t len, size_t line) {
    char text[49];
    for (size_t i = 0; i + 1 < len; i++)
        if (s[i] == '{' && s[i + 1] == '"') {
            import_fault(c->in, c->f->name, line,
                         "found \"%s\" before a JSON object on one line, expected the object alone "
                         "(keep stderr apart: 2>run.err)",
                         shown(s, i, text));
            return;
        }
    import_warn(c->in, c->f->name, line, "no JSON, skipped: \"%s\"", shown(s, len, text));
}

static bool is_space(char ch) {
    return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n';
}

bool import_next_line(import_cursor *c, import_piece *p) {
    while (c->at < c->f->len && !c->in->e->code) {
        const char *s = c->f->s + c->at, *end = memchr(s, '\n', c->f->len - c->at);
        size_t len = end ? (size_t)(end - s) : c->f->len - c->at, line = c->line;
        c->at += len + (end != NULL);
        c->line += end != NULL;
        while (len > 0 && is_space(s[len - 1])) len--;
        while (len > 0 && is_space(*s)) s++, len--;
        if (len == 0) {
            import_warn(c->in, c->f->name, line, "blank line, skipped");
        } else if (*s != '{') {
            skip_text(c, s, len, line);
        } else {
            *p = (import_piece){s, len, line, !end};
            return true;
        }
    }
    return false;
}

/* Bytes of the object that s[0] opens; 0: the text ends before it does. */
static size_t object_len(const char *s, size_t len) {
    size_t depth = 0;
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '"') {
            for (i++; i < len && s[i] != '"'; i++)
                if (s[i] == '\\') i++;
        } else if (s[i] == '{') {
            depth++;
        } else if (s[i] == '}' && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

bool import_next_element(import_cursor *c, import_piece *p) {
    while (c->at < c->f->len && !c->in->e->code) {
        const char *s = c->f->s + c->at;
        size_t rest = c->f->len - c->at;
        if (*s == ']') c->closed = true;
        if (is_space(*s) || *s == ',' || *s == '[' || *s == ']') {
            c->line += *s == '\n';
            c->at++;
        } else if (*s != '{') {
            const char *end = memchr(s, '\n', rest);
            size_t len = end ? (size_t)(end - s) : rest;
            skip_text(c, s, len, c->line);
            c->at += len;
        } else {
            size_t len = object_len(s, rest);
            *p = (import_piece){s, len ? len : rest, c->line, len == 0};
            for (size_t i = 0; i < p->len; i++) c->line += s[i] == '\n';
            c->at += p->len;
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

/* The piece with null for every number that is not finite; false: it has none. */
static bool without_nan(const import_piece *p, buf *out) {
    bool found = false, in_string = false;
    size_t done = 0;
    for (size_t i = 0; i < p->len; i++) {
        if (in_string && p->s[i] == '\\') {
            i++;
        } else if (p->s[i] == '"') {
            in_string = !in_string;
        } else if (!in_string && strchr("-+nNiI", p->s[i]) && p->s[i]) {
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
        err_set(c->in->e, E_LIMIT, c->f->name, "%s", e->what);
    } else if (p->cut && e->code == E_SYNTAX) {
        import_warn(c->in, c->f->name, p->line,
                    "cut off: the file ends inside this line, which is not used");
    } else if (line > 0 && column > 0) {
        if (line == 1)
            import_fault(c->in, c->f->name, p->line, "column %ld: %s", column, e->what);
        else
            import_fault(c->in, c->f->name, p->line, "line %ld, column %ld from here: %s", line,
                         column, e->what);
    } else {
        import_fault(c->in, c->f->name, p->line, "%s%s%s", rest, rest[0] ? ": " : "", e->what);
    }
}

/* First key that stands twice in `o`, looking into nested objects as well. */
static void no_key_twice(jr o) {
    size_t n = 0;
    for (const cJSON *m = o.node->child; m && jr_ok(o); m = m->next) {
        if (++n > KEYS_MAX) {
            jr_fail(o, E_LIMIT, "more than %d keys in one object", KEYS_MAX);
            return;
        }
        for (const cJSON *other = o.node->child; other != m; other = other->next)
            if (strcmp(other->string, m->string) == 0) {
                char text[49];
                jr_fail(o, E_SCHEMA, "found key \"%s\" twice, expected it once",
                        shown(m->string, strlen(m->string), text));
                return;
            }
    }
}

bool import_open(import_cursor *c, const import_piece *p, jr_doc *doc, err *e) {
    const char *name = arena_printf(c->in->mem, "%s:%zu", c->f->name, p->line);
    if (!name) {
        err_set(c->in->e, E_LIMIT, c->f->name, "does not fit the memory budget");
        return false;
    }
    buf clean;
    buf_init(&clean);
    bool changed = without_nan(p, &clean);
    *e = (err){0};
    (void)jr_parse(doc, name, changed ? clean.s : p->s, changed ? clean.len : p->len, c->in->mem,
                   e);
    buf_done(&clean);
    if (!e->code) {
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
    return false;
}

bool import_close(import_cursor *c, const import_piece *p, jr_doc *doc) {
    bool failed = doc->e->code != OK;
    if (failed) note_error(c, p, doc->name, doc->e);
    jr_free(doc);
    return failed;
}

/* ---- values ---- */

static bool stated(jr m) {
    return m.node && !cJSON_IsNull(m.node);
}

const char *import_text(jr o, const char *key) {
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

/* ---- finding the format ---- */

bool import_holds(const file_bytes *f, const char *word) {
    size_t n = strlen(word), len = f->len < DETECT_BYTES ? f->len : DETECT_BYTES;
    for (size_t i = 0; i + n <= len; i++) {
        const char *p = memchr(f->s + i, word[0], len - i);
        if (!p || (size_t)(p - f->s) + n > len) return false;
        if (memcmp(p, word, n) == 0) return true;
        i = (size_t)(p - f->s);
    }
    return false;
}

bool import_is_array(const file_bytes *f) {
    for (size_t at = 0; at < f->len;) {
        size_t i = at;
        while (i < f->len && is_space(f->s[i])) i++;
        if (i < f->len && (f->s[i] == '{' || f->s[i] == '[')) {
            bool array = f->s[i] == '[', alone;
            size_t j = i + 1;
            while (j < f->len && (f->s[j] == ' ' || f->s[j] == '\t' || f->s[j] == '\r')) j++;
            alone = j < f->len && f->s[j] == '\n';
            while (j < f->len && is_space(f->s[j])) j++;
            if (!array) return alone;
            /* a log line may begin with "[12:00:01]" */
            if (j >= f->len || f->s[j] == '{' || f->s[j] == ']') return true;
        }
        const char *end = memchr(f->s + i, '\n', f->len - i);
        at = end ? (size_t)(end - f->s) + 1 : f->len;
    }
    return false;
}

static const import_format *detect(const file_bytes *f) {
    const import_format *best = NULL;
    int sure = 0;
    for (size_t i = 0; IMPORT_FORMATS[i]; i++) {
        int s = IMPORT_FORMATS[i]->detect(f);
        if (s <= sure) continue;
        sure = s;
        best = IMPORT_FORMATS[i];
    }
    return best;
}

static err_code by_name(import *in, const char *name, const import_format **out) {
    char words[256] = "", near[64];
    for (size_t i = 0; IMPORT_FORMATS[i]; i++) {
        if (strcmp(IMPORT_FORMATS[i]->name, name) == 0) {
            *out = IMPORT_FORMATS[i];
            return OK;
        }
        size_t n = strlen(words);
        snprintf(words + n, sizeof words - n, "%s%s", i ? " " : "", IMPORT_FORMATS[i]->name);
    }
    if (jr_nearest(name, words, near, sizeof near))
        return err_set(in->e, E_USAGE, "--format", "unknown format \"%s\", nearest is \"%s\"", name,
                       near);
    return err_set(in->e, E_USAGE, "--format", "unknown format \"%s\", expected one of: %s", name,
                   words);
}

static void no_format(import *in, const file_bytes *f) {
    char names[256] = "";
    bool utf16 =
        f->len >= 2 && (memcmp(f->s, "\xFF\xFE", 2) == 0 || memcmp(f->s, "\xFE\xFF", 2) == 0);
    for (size_t i = 0; IMPORT_FORMATS[i]; i++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", IMPORT_FORMATS[i]->about);
    }
    if (f->len == 0)
        import_fault(in, f->name, 0, "is empty");
    else if (utf16)
        import_fault(in, f->name, 0, "is UTF-16, as PowerShell's > writes it, expected UTF-8");
    else
        import_fault(in, f->name, 0, "holds no known format, expected one of: %s", names);
}

err_code import_add(import *in, const file_bytes *f, const char *format) {
    const import_format *fmt = NULL;
    if (in->e->code || (format && by_name(in, format, &fmt))) return in->e->code;
    import_source *v = grow(in, in->files, in->files_n, &in->files_cap, sizeof *v);
    if (!v) return in->e->code;
    in->files = v;
    import_source *src = &v[in->files_n++];
    *src = (import_source){.file = f->name};
    memcpy(src->sha256, f->sha256, sizeof src->sha256);
    for (size_t i = 0; i + 1 < in->files_n; i++)
        if (f->len > 0 && strcmp(v[i].sha256, src->sha256) == 0) {
            import_fault(in, f->name, 0, "has the content of %s: every row would count twice",
                         v[i].file);
            return OK;
        }
    if (!format) fmt = detect(f);
    if (!fmt) {
        no_format(in, f);
        return in->e->code;
    }
    src->format = fmt->name;
    size_t rows = in->rows_n, faults = in->errors.n;
    (void)fmt->read(in, f);
    src->rows_n = in->rows_n - rows;
    if (src->rows_n == 0 && in->errors.n == faults)
        import_fault(in, f->name, 0, "holds no row of %s", fmt->about);
    return in->e->code;
}
