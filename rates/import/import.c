#include "import.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A file of another kind can hold millions of lines: the first notes tell as much as all. */
enum { NOTES_MAX = 200, DETECT_BYTES = 1024 * 1024 };

const char *const IMPORT_PHASES[] = {"prefill", "decode", "mixed", NULL};
const char *const IMPORT_KINDS[] = {"test", "request", "summary", "trial", NULL};

static const import_format *const *const FAMILIES[] = {
    IMPORT_LLAMA_BENCH_FORMATS, IMPORT_BATCHED_BENCH_FORMATS, IMPORT_LLAMA_TABLE_FORMATS,
    IMPORT_LLAMA_LOG_FORMATS,   IMPORT_LOCAL_FORMATS,         IMPORT_SERVING_FORMATS,
    IMPORT_AIPERF_FORMATS,      IMPORT_TRACE_FORMATS};

const import_format *import_format_at(size_t i) {
    for (size_t k = 0; k < sizeof FAMILIES / sizeof *FAMILIES; k++)
        for (size_t f = 0; FAMILIES[k][f]; f++)
            if (i-- == 0) return FAMILIES[k][f];
    return NULL;
}

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
    if (v) arena_give_back(in->mem, v); /* a large outgrown block is not kept */
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
    static const char *const NOTHING[IMPORT_SETTINGS_N];
    *r = (import_row){.file = file,
                      .line = line,
                      .setting = NOTHING,
                      .n_prompt = -1,
                      .n_gen = -1,
                      .batch_n = 1,
                      .tok_s = (double)NAN,
                      .tok_s_std = (double)NAN,
                      .per_seq_tok_s = (double)NAN};
    return r;
}

/* ---- kept texts ---- */

static size_t hash_of(const char *s, size_t len) {
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < len; i++) h = (h ^ (unsigned char)s[i]) * 1099511628211u;
    return (size_t)h;
}

/* Where `s` is, or where it would go: open addressing, capacity a power of two. */
static size_t slot_of(const char *const *words, size_t cap, const char *s) {
    size_t i = hash_of(s, strlen(s)) & (cap - 1);
    while (words[i] && strcmp(words[i], s) != 0) i = (i + 1) & (cap - 1);
    return i;
}

static bool grow_words(import *in) {
    size_t cap = in->words_cap ? in->words_cap * 2 : 256;
    const char **bigger = ARENA_ARRAY(in->mem, const char *, cap);
    if (!bigger) {
        err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
        return false;
    }
    for (size_t i = 0; i < in->words_cap; i++)
        if (in->words[i]) bigger[slot_of(bigger, cap, in->words[i])] = in->words[i];
    in->words = bigger;
    in->words_cap = cap;
    return true;
}

/* Length of the UTF-8 character at s; 0: none. */
static size_t utf8_len(const unsigned char *s) {
    size_t n = s[0] < 0x80                   ? 1
               : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
               : (s[0] & 0xF0) == 0xE0       ? 3
               : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    if (n == 3 && ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F))) return 0;
    if (n == 4 && ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))) return 0;
    return n;
}

static void make_printable(char *s) {
    for (unsigned char *p = (unsigned char *)s; *p;) {
        size_t n = utf8_len(p);
        if (n == 0 || *p < 0x20 || *p == 0x7F) *p = '?';
        p += n ? n : 1;
    }
}

const char *import_keep(import *in, const char *s) {
    enum { KEPT_MAX = 4096 };
    if (!s) return NULL;
    char text[KEPT_MAX];
    snprintf(text, sizeof text, "%s", s);
    make_printable(text);
    if (2 * in->words_n >= in->words_cap && !grow_words(in)) return NULL;
    size_t i = slot_of(in->words, in->words_cap, text);
    if (in->words[i]) return in->words[i];
    const char *copy = arena_strdup(in->mem, text);
    if (!copy) {
        err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
        return NULL;
    }
    in->words_n++;
    return in->words[i] = copy;
}

void import_settings_keep(import *in, import_row *r, const char *const *settings) {
    const char *kept[IMPORT_SETTINGS_N];
    for (size_t i = 0; i < IMPORT_SETTINGS_N; i++) kept[i] = import_keep(in, settings[i]);
    if (!kept[IMPORT_ENGINE]) kept[IMPORT_ENGINE] = import_keep(in, in->engine);
    for (size_t i = 0; i < SETS_KEPT; i++)
        if (in->sets[i] && memcmp(in->sets[i], kept, sizeof kept) == 0) {
            r->setting = in->sets[i];
            return;
        }
    const char **copy = ARENA_ARRAY(in->mem, const char *, IMPORT_SETTINGS_N);
    if (!copy) {
        err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
        return;
    }
    memcpy(copy, kept, sizeof kept);
    r->setting = in->sets[in->sets_n++ % SETS_KEPT] = copy;
}

/* ---- records ---- */

/* The record that was filled last keeps as many values as it has. */
static void settle_record(import *in) {
    import_record *r = in->records_n ? &in->records[in->records_n - 1] : NULL;
    if (!r || r->v != in->pending) return;
    import_value *exact = ARENA_ARRAY(in->mem, import_value, r->n);
    if (!exact) {
        err_set(in->e, E_LIMIT, r->file, "does not fit the memory budget");
        r->n = 0;
        return;
    }
    if (r->n) memcpy(exact, r->v, r->n * sizeof *exact);
    r->v = exact;
}

import_record *import_record_new(import *in, const char *file, size_t line, import_kind kind,
                                 size_t values_max) {
    settle_record(in);
    import_record *v = grow(in, in->records, in->records_n, &in->records_cap, sizeof *v);
    if (v && values_max > in->pending_cap) {
        in->pending = ARENA_ARRAY(in->mem, import_value, values_max);
        in->pending_cap = in->pending ? values_max : 0;
    }
    if (!v || !in->pending) {
        err_set(in->e, E_LIMIT, file, "does not fit the memory budget");
        return NULL;
    }
    in->records = v;
    import_record *r = &v[in->records_n++];
    *r = (import_record){.file = file, .line = line, .kind = kind, .v = in->pending};
    in->record_max = values_max;
    return r;
}

/* Room for a value of the record that was begun last; NULL: none. */
static import_value *value_of(import *in, const char *key) {
    import_record *r = in->records_n ? &in->records[in->records_n - 1] : NULL;
    if (!r || r->n == in->record_max) return NULL;
    import_value *v = (import_value *)&r->v[r->n++];
    *v = (import_value){.key = key, .v = (double)NAN};
    return v;
}

void import_record_num(import *in, const char *key, double v) {
    import_value *x = value_of(in, key);
    if (x) x->v = v;
}

void import_record_stated(import *in, const char *key, double v) {
    if (isfinite(v)) import_record_num(in, key, v);
}

void import_record_text(import *in, const char *key, const char *text) {
    const char *kept = import_keep(in, text);
    import_value *x = kept ? value_of(in, key) : NULL;
    if (x) x->text = kept;
}

/* ---- finding the format ---- */

static bool is_space(char ch) {
    return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n';
}

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

/* Does the line from `at` on end inside a value: "{", or "{"host": "h", "results": ["? */
static bool goes_on(const file_bytes *f, size_t at) {
    const char *end = memchr(f->s + at, '\n', f->len - at);
    size_t n = end ? (size_t)(end - f->s) : at;
    while (n > at && is_space(f->s[n - 1])) n--;
    return n > at && strchr("{[,:", f->s[n - 1]);
}

bool import_is_array(const file_bytes *f) {
    for (size_t at = 0; at < f->len;) {
        size_t i = at;
        while (i < f->len && is_space(f->s[i])) i++;
        if (i < f->len && (f->s[i] == '{' || f->s[i] == '[')) {
            size_t j = i + 1;
            while (j < f->len && is_space(f->s[j])) j++;
            if (f->s[i] == '{') return goes_on(f, i);
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
    for (size_t i = 0; import_format_at(i); i++) {
        int s = import_format_at(i)->detect(f);
        if (s <= sure) continue;
        sure = s;
        best = import_format_at(i);
    }
    return best;
}

static err_code by_name(import *in, const char *name, const import_format **out) {
    char words[1024] = "", near[64];
    for (size_t i = 0; import_format_at(i); i++) {
        if (strcmp(import_format_at(i)->name, name) == 0) {
            *out = import_format_at(i);
            return OK;
        }
        size_t n = strlen(words);
        snprintf(words + n, sizeof words - n, "%s%s", i ? " " : "", import_format_at(i)->name);
    }
    if (jr_nearest(name, words, near, sizeof near))
        return err_set(in->e, E_USAGE, "--format", "unknown format \"%s\", nearest is \"%s\"", name,
                       near);
    return err_set(in->e, E_USAGE, "--format", "unknown format \"%s\", expected one of: %s", name,
                   words);
}

static void no_format(import *in, const char *file, bool empty) {
    buf names;
    buf_init(&names);
    for (size_t i = 0; import_format_at(i); i++)
        if (!import_format_at(i)->refuse)
            buf_addf(&names, "%s%s", i ? ", " : "", import_format_at(i)->name);
    if (empty)
        import_fault(in, file, 0, "is empty");
    else
        import_fault(in, file, 0, "holds no known format, expected one of: %s", names.s);
    buf_done(&names);
}

/* The bytes of another file of this import. */
static bool seen_before(import *in, const import_source *src) {
    for (size_t i = 0; i + 1 < in->files_n; i++)
        if (strcmp(in->files[i].sha256, src->sha256) == 0) {
            import_fault(in, src->file, 0, "has the content of %s: every row would count twice",
                         in->files[i].file);
            return true;
        }
    return false;
}

static void read_text(import *in, import_text *t, const import_format *fmt, import_source *src) {
    size_t rows = in->rows_n, records = in->records_n, faults = in->errors.n + in->errors.more;
    src->format = fmt->name;
    if (fmt->refuse) {
        import_fault(in, src->file, 0, "%s", fmt->refuse);
        return;
    }
    in->engine = fmt->engine;
    (void)fmt->read(in, t);
    in->engine = NULL;
    settle_record(in);
    (void)import_text_error(t, in->e);
    src->rows_n = in->rows_n - rows;
    src->records_n = in->records_n - records;
    if (src->rows_n + src->records_n == 0 && in->errors.n + in->errors.more == faults)
        import_fault(in, src->file, 0, "holds no row of %s", fmt->about);
}

static err_code add_text(import *in, import_text *t, const import_format *fmt) {
    import_source *v = grow(in, in->files, in->files_n, &in->files_cap, sizeof *v);
    const char *name = import_keep(in, import_text_name(t));
    if (!v || !name) return in->e->code;
    in->files = v;
    size_t at = in->files_n++, rows = in->rows_n, records = in->records_n;
    v[at] = (import_source){.file = name};
    const file_bytes *head = import_text_head(t);
    if (head->s && !fmt) fmt = detect(head);
    if (fmt && head->len > 0)
        read_text(in, t, fmt, &v[at]);
    else if (import_text_error(t, in->e) == OK)
        no_format(in, name, head->len == 0);
    import_text_sha256(t, v[at].sha256);
    if (head->len > 0 && seen_before(in, &v[at])) { /* what was read of it counts once */
        in->rows_n = rows;
        in->records_n = records;
    }
    return in->e->code;
}

static err_code add_and_close(import *in, import_text *t, const char *format) {
    const import_format *fmt = NULL;
    if (!format || by_name(in, format, &fmt) == OK) (void)add_text(in, t, fmt);
    import_text_close(t);
    return in->e->code;
}

err_code import_add_path(import *in, const char *path, const char *format) {
    import_text *t = NULL;
    if (in->e->code || import_text_open(path, &t, in->e)) return in->e->code;
    return add_and_close(in, t, format);
}

err_code import_add(import *in, const file_bytes *f, const char *format) {
    import_text *t = NULL;
    if (in->e->code || import_text_of(f, &t, in->e)) return in->e->code;
    return add_and_close(in, t, format);
}
