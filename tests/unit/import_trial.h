/* For the tests of importers: one text in, its records and rows out; the corpus; and mutations that
 * may lose figures but may never make one up. */
#ifndef RATECAST_IMPORT_TRIAL_H
#define RATECAST_IMPORT_TRIAL_H

#include "import.h"

#include "base/jsonr.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static arena *mem;
static err e;
static import in;

static inline void trial_set_up(void) {
    mem = arena_new((size_t)256 << 20);
    e = (err){0};
    in = import_new(mem, &e);
}

static inline void trial_tear_down(void) {
    arena_free(mem);
}

static inline void add_bytes(const char *name, const char *s, size_t len, const char *format) {
    file_bytes f = {.name = name, .s = s, .len = len};
    file_sha256_hex(s, len, f.sha256);
    (void)import_add(&in, &f, format);
    cr_assert_eq(e.code, OK, "%s: %s", e.where, e.what);
}

/* A fresh import of one text. */
static inline void add(const char *text, const char *format) {
    in = import_new(mem, &e);
    add_bytes("a", text, strlen(text), NULL);
    cr_assert(in.files_n == 1 && in.files[0].format, "no format found");
    cr_assert_str_eq(in.files[0].format, format);
}

static inline bool noted(const import_notes *notes, size_t line, const char *word) {
    for (size_t i = 0; i < notes->n; i++)
        if ((line == 0 || notes->v[i].line == line) && strstr(notes->v[i].what, word)) return true;
    for (size_t i = 0; i < notes->n; i++)
        cr_log_warn("%s:%zu: %s", notes->v[i].file, notes->v[i].line, notes->v[i].what);
    return false;
}

static inline const import_value *value_of(const import_record *r, const char *key) {
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->v[i].key, key) == 0) return &r->v[i];
    return NULL;
}

/* NaN: the record does not state it. */
static inline double num(size_t record, const char *key) {
    cr_assert_lt(record, in.records_n, "no record %zu", record);
    const import_value *v = value_of(&in.records[record], key);
    return v && !v->text ? v->v : (double)NAN;
}

static inline const char *text(size_t record, const char *key) {
    const import_value *v = value_of(&in.records[record], key);
    return v && v->text ? v->text : "";
}

static inline void near(double got, double want) {
    cr_assert(fabs(got - want) <= 1e-9 * fabs(want), "%.15g, expected %.15g", got, want);
}

static inline const import_row *row_of(import_phase phase) {
    for (size_t i = 0; i < in.rows_n; i++)
        if (in.rows[i].phase == phase) return &in.rows[i];
    return NULL;
}

static inline size_t usable(void) {
    size_t n = 0;
    for (size_t i = 0; i < in.rows_n; i++) n += in.rows[i].refused == NULL;
    return n;
}

/* ---- corpus ---- */

static inline const char *shared_path(const char *path) {
    const char *root = getenv("RATECAST_SHARED");
    if (!root || !*root) root = RATECAST_REPO "/../shared";
    const char *full = arena_printf(mem, "%s/%s", root, path);
    if (access(full, R_OK) == 0) return full;
    fprintf(stderr, "SKIPPED: no %s (set RATECAST_SHARED)\n", full); /* Criterion skips silently */
    cr_skip_test("no %s", full);
    return NULL;
}

static inline file_bytes corpus_file(const char *name) {
    file_bytes f = {0};
    const char *path = shared_path(arena_printf(mem, "corpus/%s", name));
    cr_assert_eq(file_read(path, mem, &f, &e), OK, "%s", e.what);
    return f;
}

static inline void add_corpus(const char *name) {
    file_bytes f = corpus_file(name);
    in = import_new(mem, &e);
    add_bytes(name, f.s, f.len, NULL);
}

/* Each value of the corpus' index in the record of the same place among those of `kind`; values
 * there are rounded. */
static inline void check_expected(jr entry, import_kind kind) {
    size_t at = 0;
    jr values = jr_get(jr_get(entry, "expected"), "values");
    for (jr want = {0}; jr_each(values, &want); at++) {
        while (at < in.records_n && in.records[at].kind != kind) at++;
        cr_assert_lt(at, in.records_n);
        for (const cJSON *m = want.node->child; m; m = m->next)
            if (cJSON_IsNumber(m)) {
                double got = num(at, m->string), v = m->valuedouble;
                cr_assert(fabs(got - v) <= 3e-4 * fabs(v) + 1e-9, "%s: %s is %.9g, expected %.9g",
                          jr_str(entry, "file"), m->string, got, v);
            } else if (cJSON_IsString(m)) {
                cr_assert_str_eq(text(at, m->string), m->valuestring);
            }
    }
}

static inline void check_corpus(const char *name, import_kind kind) {
    file_bytes f = {0};
    add_corpus(name);
    cr_assert_eq(file_read(shared_path("corpus/INDEX.jsonl"), mem, &f, &e), OK, "%s", e.what);
    for (const char *s = f.s; *s;) {
        size_t len = strcspn(s, "\n");
        jr_doc doc;
        err line_error = {0};
        cr_assert_eq(jr_parse(&doc, "INDEX", s, len, mem, &line_error), OK, "%s", line_error.what);
        jr entry = jr_root(&doc);
        if (strcmp(jr_str(entry, "file"), name) == 0) {
            cr_assert_str_eq(in.files[0].format, jr_str(entry, "format"));
            check_expected(entry, kind);
            jr_free(&doc);
            return;
        }
        jr_free(&doc);
        s += len + (s[len] == '\n');
    }
    cr_assert_fail("%s is not in the index", name);
}

/* ---- mutations ---- */

static inline bool has_values(const import_record *all, const import_record *r) {
    for (size_t i = 0; i < r->n; i++) {
        const import_value *v = value_of(all, r->v[i].key);
        if (!v || (v->text != NULL) != (r->v[i].text != NULL)) return false;
        if (v->text ? strcmp(v->text, r->v[i].text) != 0
                    : !(v->v == r->v[i].v || (isnan(v->v) && isnan(r->v[i].v))))
            return false;
    }
    return true;
}

/* Every record of `now` says part of what one of `then` says, every usable row is a row of it. */
static inline void says_no_more(const import *then, const import *now, const char *what) {
    for (size_t i = 0; i < now->records_n; i++) {
        bool found = false;
        for (size_t k = 0; k < then->records_n && !found; k++)
            found = has_values(&then->records[k], &now->records[i]);
        cr_assert(found, "%s: record %zu says what no original says", what, i);
    }
    for (size_t i = 0; i < now->rows_n; i++) {
        const import_row *r = &now->rows[i];
        bool found = r->refused != NULL;
        for (size_t k = 0; k < then->rows_n && !found; k++) {
            const import_row *o = &then->rows[k];
            found = o->phase == r->phase && o->n_prompt == r->n_prompt && o->n_gen == r->n_gen &&
                    o->batch_n == r->batch_n && o->tok_s == r->tok_s;
        }
        cr_assert(found, "%s: row %zu is no row of the original", what, i);
    }
}

static inline void mutate(const import *then, const char *s, size_t len, const char *format,
                          const char *what) {
    arena *own = mem;
    mem = arena_new((size_t)64 << 20);
    in = import_new(mem, &e);
    add_bytes("m", s, len, format);
    says_no_more(then, &in, what);
    arena_free(mem);
    mem = own;
}

static inline void equal(const import *then, const char *s, size_t len, const char *what) {
    in = import_new(mem, &e);
    add_bytes("m", s, len, NULL);
    cr_assert_eq(in.records_n, then->records_n, "%s", what);
    cr_assert_eq(in.rows_n, then->rows_n, "%s", what);
    says_no_more(then, &in, what);
    says_no_more(&in, then, what);
}

static inline void mutate_cuts(const import *then, const file_bytes *f, const char *format) {
    for (size_t n = 1; n<f->len; n += f->len> 8000 ? 97 : 7) {
        char what[48];
        snprintf(what, sizeof what, "cut at %zu", n);
        char *copy = arena_printf(mem, "%.*s", (int)n, f->s);
        mutate(then, copy, n, format, what);
    }
}

static inline void mutate_lines(const import *then, const file_bytes *f, const char *format,
                                bool leave_out) {
    buf b;
    buf_init(&b);
    for (size_t at = 0, n; at < f->len; at += n) {
        n = strcspn(f->s + at, "\n");
        n += f->s[at + n] == '\n';
        if (f->s[at + n - 1] != '\n') break;
        char what[48];
        snprintf(what, sizeof what, "doubled at %zu", at);
        buf_reset(&b);
        buf_add_n(&b, f->s, at + n);
        buf_add_n(&b, f->s + at, f->len - at);
        mutate(then, b.s, b.len, format, what);
        if (!leave_out) continue;
        buf_reset(&b);
        buf_add_n(&b, f->s, at);
        buf_add_n(&b, f->s + at + n, f->len - at - n);
        snprintf(what, sizeof what, "left out at %zu", at);
        mutate(then, b.s, b.len, format, what);
    }
    buf_done(&b);
}

static inline void mutate_ends(const import *then, const file_bytes *f) {
    buf b;
    buf_init(&b);
    buf_add(&b, "\xEF\xBB\xBF");
    buf_add_n(&b, f->s, f->len);
    equal(then, b.s, b.len, "byte order mark");
    buf_reset(&b);
    for (size_t i = 0; i < f->len; i++) {
        if (f->s[i] == '\n') buf_add(&b, "\r");
        buf_add_n(&b, f->s + i, 1);
    }
    equal(then, b.s, b.len, "CRLF");
    buf_done(&b);
}

static inline void mutate_commas(const import *then, const file_bytes *f, const char *format) {
    char *copy = arena_printf(mem, "%.*s", (int)f->len, f->s);
    for (size_t i = 1; i + 1 < f->len; i++)
        if (copy[i] == '.' && strchr("0123456789", copy[i - 1]) &&
            strchr("0123456789", copy[i + 1]) && copy[i + 1])
            copy[i] = ',';
    mutate(then, copy, f->len, format, "decimal commas");
}

/* `leave_out`: a line less may not change what the others say (a record may say less); it may where
 * lines are counted. */
static inline void mutate_corpus(const char *name, bool leave_out) {
    add_corpus(name);
import then = in;
    file_bytes f = corpus_file(name);
    const char *format = then.files[0].format;
    mutate_cuts(&then, &f, format);
    mutate_lines(&then, &f, format, leave_out);
    mutate_ends(&then, &f);
    mutate_commas(&then, &f, format);
}

#endif
