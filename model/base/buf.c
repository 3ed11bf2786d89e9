#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(buf *b, size_t extra) {
    if (b->cap - b->len > extra) return;
    size_t cap = b->cap ? b->cap * 2 : 256;
    while (cap - b->len <= extra) cap *= 2;
    char *s = realloc(b->s, cap);
    if (!s) abort();
    b->s = s;
    b->cap = cap;
}

void buf_init(buf *b) {
    *b = (buf){0};
    reserve(b, 1);
    b->s[0] = '\0';
}

void buf_done(buf *b) {
    free(b->s);
    *b = (buf){0};
}

void buf_reset(buf *b) {
    b->len = 0;
    b->s[0] = '\0';
}

void buf_add_n(buf *b, const char *s, size_t n) {
    reserve(b, n);
    memcpy(b->s + b->len, s, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void buf_add(buf *b, const char *s) {
    buf_add_n(b, s, strlen(s));
}

void buf_addf(buf *b, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n > 0) {
        reserve(b, (size_t)n);
        vsnprintf(b->s + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buf_fill(buf *b, char c, size_t n) {
    reserve(b, n);
    memset(b->s + b->len, c, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void buf_add_word(buf *b, const char *word) {
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./,:=+@%";
    if (*word && word[strspn(word, PLAIN)] == '\0') {
        buf_add(b, word);
        return;
    }
    buf_add(b, "'");
    for (const char *p = word; *p; p++) {
        if (*p == '\'')
            buf_add(b, "'\\''");
        else
            buf_add_n(b, p, 1);
    }
    buf_add(b, "'");
}
