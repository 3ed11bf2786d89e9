#include "import_text.h"

#include <errno.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK = 64 * 1024 };

typedef enum encoding { ENC_UNKNOWN, ENC_UTF8, ENC_UTF16_LE, ENC_UTF16_BE } encoding;

struct import_text {
    const char *name;
    FILE *in; /* NULL: from memory */
    const char *mem;
    size_t mem_len, mem_at;
    SHA2_CTX sha;
    encoding enc;
    unsigned char half[4]; /* bytes of a character that the last chunk ended in */
    size_t half_n;
    int escape; /* inside an ANSI sequence: 1 behind ESC, 2 behind ESC [ */
    char *buf;  /* decoded, from `at` on not yet given away */
    size_t len, cap, at;
    size_t line;
    char *held; /* the line given away, NUL-terminated */
    size_t held_cap;
    bool ended, failed;
    err error;
    file_bytes head;
};

static bool fail(import_text *t, err_code code, const char *what) {
    t->failed = t->ended = true;
    err_set(&t->error, code, t->name, "%s", what);
    return false;
}

static import_text *new_text(const char *name) {
    import_text *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->name = name;
    SHA256Init(&t->sha);
    return t;
}

err_code import_text_open(const char *path, import_text **out, err *e) {
    bool standard = strcmp(path, "-") == 0;
    struct stat st;
    *out = NULL;
    if (!standard && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(e, E_IO, path, "is a folder, expected a file");
    FILE *in = standard ? stdin : fopen(path, "rb");
    if (!in) return err_set(e, E_IO, path, "cannot be opened: %s", strerror(errno));
    import_text *t = new_text(standard ? "<stdin>" : path);
    if (!t) {
        if (!standard) fclose(in);
        return err_set(e, E_NOMEM, path, "out of memory");
    }
    t->in = in;
    *out = t;
    return OK;
}

err_code import_text_of(const file_bytes *f, import_text **out, err *e) {
    *out = new_text(f->name);
    if (!*out) return err_set(e, E_NOMEM, f->name, "out of memory");
    (*out)->mem = f->s;
    (*out)->mem_len = f->len;
    return OK;
}

void import_text_close(import_text *t) {
    if (!t) return;
    if (t->in && t->in != stdin) fclose(t->in);
    free(t->buf);
    free(t->held);
    free((char *)t->head.s);
    free(t);
}

const char *import_text_name(const import_text *t) {
    return t->name;
}

/* ---- bytes -> UTF-8 without colour ---- */

static bool room(import_text *t, size_t more) {
    if (t->len + more + 1 <= t->cap) return true;
    if (t->at > 0) { /* what was given away makes room first */
        memmove(t->buf, t->buf + t->at, t->len - t->at);
        t->len -= t->at;
        t->at = 0;
        if (t->len + more + 1 <= t->cap) return true;
    }
    size_t cap = t->cap ? t->cap * 2 : 2 * CHUNK;
    while (cap < t->len + more + 1) cap *= 2;
    char *bigger = realloc(t->buf, cap);
    if (!bigger) return fail(t, E_NOMEM, "out of memory");
    t->buf = bigger;
    t->cap = cap;
    return true;
}

/* One byte of UTF-8. ANSI sequences (ESC [ ... letter) are colour and cursor, never content. */
static void put(import_text *t, unsigned char c) {
    if (t->escape == 1) {
        t->escape = c == '[' ? 2 : 0;
        return;
    }
    if (t->escape == 2) {
        if (c >= 0x40 && c <= 0x7E) t->escape = 0;
        if (c != '\n') return;
        t->escape = 0; /* a sequence never spans lines */
    }
    if (c == 0x1B) {
        t->escape = 1;
        return;
    }
    t->buf[t->len++] = (char)(c == 0 ? '?' : c);
}

static void put_code(import_text *t, unsigned long c) {
    if (c < 0x80) {
        put(t, (unsigned char)c);
        return;
    }
    if (c < 0x800) {
        put(t, (unsigned char)(0xC0 | (c >> 6)));
    } else {
        if (c < 0x10000) {
            put(t, (unsigned char)(0xE0 | (c >> 12)));
        } else {
            put(t, (unsigned char)(0xF0 | (c >> 18)));
            put(t, (unsigned char)(0x80 | ((c >> 12) & 0x3F)));
        }
        put(t, (unsigned char)(0x80 | ((c >> 6) & 0x3F)));
    }
    put(t, (unsigned char)(0x80 | (c & 0x3F)));
}

/* UTF-16 in pairs of bytes; what is left of a pair, or of a surrogate pair, waits in `half`. */
static void put_utf16(import_text *t, const unsigned char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        t->half[t->half_n++] = s[i];
        if (t->half_n % 2) continue;
        unsigned a = t->half[t->half_n - 2], b = t->half[t->half_n - 1];
        unsigned long unit = t->enc == ENC_UTF16_LE ? a | b << 8 : a << 8 | b;
        if (t->half_n == 4) {
            unsigned long x = t->half[0], y = t->half[1];
            unsigned long high = t->enc == ENC_UTF16_LE ? x | y << 8 : x << 8 | y;
            bool low = unit >= 0xDC00 && unit <= 0xDFFF;
            put_code(t, low ? 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00) : 0xFFFD);
            t->half_n = 0;
        } else if (unit >= 0xD800 && unit <= 0xDBFF) {
            continue; /* its second half comes next */
        } else {
            put_code(t, unit);
            t->half_n = 0;
        }
    }
}

/* The first bytes say what the text is written in. */
static size_t byte_order_mark(import_text *t, const unsigned char *s, size_t n) {
    if (t->enc != ENC_UNKNOWN) return 0;
    t->enc = ENC_UTF8;
    if (n >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0) return 3;
    if (n >= 2 && memcmp(s, "\xFF\xFE", 2) == 0) {
        t->enc = ENC_UTF16_LE;
        return 2;
    }
    if (n >= 2 && memcmp(s, "\xFE\xFF", 2) == 0) {
        t->enc = ENC_UTF16_BE;
        return 2;
    }
    return 0;
}

/* Reads one chunk into `buf`; false at the end or on an error. */
static bool more(import_text *t) {
    unsigned char chunk[CHUNK];
    size_t n;
    if (t->ended) return false;
    if (t->in) {
        n = fread(chunk, 1, sizeof chunk, t->in);
        if (n < sizeof chunk && ferror(t->in)) return fail(t, E_IO, "cannot be read");
    } else {
        n = t->mem_len - t->mem_at < sizeof chunk ? t->mem_len - t->mem_at : sizeof chunk;
        if (n) memcpy(chunk, t->mem + t->mem_at, n);
        t->mem_at += n;
    }
    if (n == 0) {
        t->ended = true;
        return false;
    }
    SHA256Update(&t->sha, chunk, n);
    size_t skip = byte_order_mark(t, chunk, n);
    if (!room(t, 4 * (n + 4))) return false;
    bool plain = t->escape == 0 && !memchr(chunk, 0x1B, n) && !memchr(chunk, 0, n);
    if (t->enc == ENC_UTF8 && plain) {
        memcpy(t->buf + t->len, chunk + skip, n - skip);
        t->len += n - skip;
    } else if (t->enc == ENC_UTF8) {
        for (size_t i = skip; i < n; i++) put(t, chunk[i]);
    } else
        put_utf16(t, chunk + skip, n - skip);
    t->buf[t->len] = '\0';
    return true;
}

const file_bytes *import_text_head(import_text *t) {
    if (t->head.s) return &t->head;
    while (t->len < IMPORT_HEAD_BYTES && more(t)) continue;
    size_t n = t->len < IMPORT_HEAD_BYTES ? t->len : IMPORT_HEAD_BYTES;
    char *copy = malloc(n + 1);
    if (!copy) {
        (void)fail(t, E_NOMEM, "out of memory");
        t->head = (file_bytes){.name = t->name, .s = NULL};
        return &t->head;
    }
    if (n) memcpy(copy, t->buf, n);
    copy[n] = '\0';
    t->head = (file_bytes){.name = t->name, .s = copy, .len = n};
    return &t->head;
}

/* ---- lines ---- */

static bool hold(import_text *t, size_t n) {
    if (n + 1 > t->held_cap) {
        size_t cap = t->held_cap ? t->held_cap : 512;
        while (cap < n + 1) cap *= 2;
        char *bigger = realloc(t->held, cap);
        if (!bigger) return fail(t, E_NOMEM, "out of memory");
        t->held = bigger;
        t->held_cap = cap;
    }
    if (n) memcpy(t->held, t->buf + t->at, n);
    t->held[n] = '\0';
    return true;
}

bool import_text_line(import_text *t, import_line *out) {
    size_t seen = 0; /* bytes of this line that hold no terminator */
    for (;;) {
        if (t->failed) return false;
        const char *from = t->buf + t->at + seen;
        size_t rest = t->len - t->at - seen;
        const char *end = rest ? memchr(from, '\n', rest) : NULL;
        if (end) {
            size_t n = (size_t)(end - (t->buf + t->at));
            if (!hold(t, n)) return false;
            t->at += n + 1;
            if (n > 0 && t->held[n - 1] == '\r') t->held[--n] = '\0';
            *out = (import_line){t->held, n, ++t->line, true};
            return true;
        }
        seen += rest;
        if (seen > IMPORT_LINE_BYTES) return fail(t, E_LIMIT, "holds a line of over 16 MiB");
        if (!more(t)) break;
    }
    size_t n = t->len - t->at;
    if (t->failed || n == 0 || !hold(t, n)) return false;
    t->at = t->len;
    if (t->held[n - 1] == '\r') t->held[--n] = '\0';
    *out = (import_line){t->held, n, ++t->line, false};
    return true;
}

err_code import_text_error(const import_text *t, err *e) {
    if (t->error.code) return err_set(e, t->error.code, t->error.where, "%s", t->error.what);
    return OK;
}

void import_text_sha256(import_text *t, char out[65]) {
    unsigned char digest[SHA256_DIGEST_LENGTH];
    while (!t->ended) {
        t->at = t->len; /* the rest is only counted */
        (void)more(t);
    }
    SHA2_CTX copy = t->sha;
    SHA256Final(digest, &copy);
    for (size_t i = 0; i < sizeof digest; i++) snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

bool import_text_was_utf16(const import_text *t) {
    return t->enc == ENC_UTF16_LE || t->enc == ENC_UTF16_BE;
}

bool import_text_empty(import_text *t) {
    while (t->len == 0 && more(t)) continue;
    return t->len == 0;
}
