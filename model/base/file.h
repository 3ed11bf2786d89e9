/* Whole files in, whole files out, and their SHA-256.
 *
 * Reading: "-" is standard input. Writing: beside the target, then renamed, so that a reader sees
 * the old file or the new one and a failure never costs a good file. */
#ifndef RATECAST_FILE_H
#define RATECAST_FILE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { FILE_MAX_BYTES = 64 * 1024 * 1024 };

typedef struct file_bytes {
    const char *name; /* as the user wrote it; "<stdin>" for "-" */
    const char *s;    /* NUL-terminated behind `len` bytes */
    size_t len;
    char sha256[65]; /* lower-case hex */
} file_bytes;

/* E_IO: cannot be opened, is a directory, cannot be read; E_LIMIT: over FILE_MAX_BYTES. */
MUST_USE err_code file_read(const char *path, arena *mem, file_bytes *out, err *e);
/* "-" or NULL writes to standard output. E_IO with the reason; the target is then untouched. */
MUST_USE err_code file_write(const char *path, const char *s, size_t len, err *e);

/* A file that is written in pieces, for what is too large to hold. */
typedef struct file_out {
    const char *path; /* borrowed */
    char *tmp;        /* beside it */
    int fd;
} file_out;

/* The target has to be a path that file_write would rename to. E_IO. */
MUST_USE err_code file_out_open(const char *path, file_out *out, err *e);
/* E_IO with the reason (disk full). */
MUST_USE err_code file_out_add(file_out *out, const void *bytes, size_t len, err *e);
/* Closes, and renames when `e` is clear; otherwise, and when closing fails (E_IO), nothing is left
 * and the target is untouched. Once for each file_out_open, also for one that failed. */
MUST_USE err_code file_out_end(file_out *out, err *e);

void file_sha256_hex(const char *s, size_t len, char out[65]);
/* Do both paths name one existing file? */
bool file_same(const char *a, const char *b);

#endif
