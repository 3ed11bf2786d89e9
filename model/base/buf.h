/* Growing text buffer. Invariant: `s` is always a valid NUL-terminated string of length `len`.
 * Out of memory is fatal here on purpose: the buffer only ever holds output that the program itself
 * composes, so a failure is no error of the input. Release with `buf_done`. */
#ifndef RATECAST_BUF_H
#define RATECAST_BUF_H

#include <stddef.h>

typedef struct buf {
    char *s;
    size_t len, cap;
} buf;

void buf_init(buf *b);
void buf_done(buf *b);
void buf_reset(buf *b);
void buf_add(buf *b, const char *s);
void buf_add_n(buf *b, const char *s, size_t n);
void buf_addf(buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* n times the character c. */
void buf_fill(buf *b, char c, size_t n);
/* A word that a POSIX shell reads back unchanged; quotes only where needed. */
void buf_add_word(buf *b, const char *word);

#endif
