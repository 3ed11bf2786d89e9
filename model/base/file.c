#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void file_sha256_hex(const char *s, size_t len, char out[65]) {
    SHA256Data((const uint8_t *)s, len, out);
}

/* Reads until the end into a malloc'ed block; NULL and `e` set on failure. */
static char *slurp(int fd, const char *name, size_t *len, err *e) {
    size_t cap = 64 * 1024, n = 0;
    char *s = malloc(cap);
    while (s) {
        ssize_t got = read(fd, s + n, cap - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            err_set(e, E_IO, name, "cannot be read: %s", strerror(errno));
            break;
        }
        if (got == 0) {
            *len = n;
            return s;
        }
        n += (size_t)got;
        if (n > FILE_MAX_BYTES) {
            err_set(e, E_LIMIT, name, "is larger than %d MiB", FILE_MAX_BYTES / (1024 * 1024));
            break;
        }
        if (n == cap) {
            char *grown = realloc(s, cap *= 2);
            if (!grown) break;
            s = grown;
        }
    }
    err_set(e, E_NOMEM, name, "out of memory");
    free(s);
    return NULL;
}

err_code file_read(const char *path, arena *mem, file_bytes *out, err *e) {
    if (path[0] == '\0')
        return err_set(e, E_IO, "", "found an empty file name, expected a path or -");
    bool std_in = strcmp(path, "-") == 0;
    out->name = std_in ? "<stdin>" : arena_strdup(mem, path);
    if (!out->name) return err_set(e, E_NOMEM, path, "out of memory");
    int fd = std_in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return err_set(e, E_IO, path, "cannot be opened: %s", strerror(errno));
    struct stat st;
    char *raw = NULL;
    size_t len = 0;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        err_set(e, E_IO, path, "is a directory, expected a file");
    else
        raw = slurp(fd, out->name, &len, e);
    if (!std_in) close(fd);
    if (!raw) return e->code;
    char *s = arena_alloc(mem, len + 1, 1);
    if (s) memcpy(s, raw, len);
    free(raw);
    if (!s) return err_set(e, E_LIMIT, path, "does not fit the memory budget");
    out->s = s;
    out->len = len;
    file_sha256_hex(s, len, out->sha256);
    return OK;
}

static bool write_all(int fd, const char *s, size_t len) {
    while (len > 0) {
        ssize_t n = write(fd, s, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        s += n;
        len -= (size_t)n;
    }
    return true;
}

/* Only a regular file can be replaced by a rename; a device or a pipe is written as it stands. */
static bool is_special(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static err_code write_special(const char *path, const char *s, size_t len, err *e) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return err_set(e, E_IO, path, "cannot be written: %s", strerror(errno));
    bool ok = write_all(fd, s, len);
    int why = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    return ok ? OK : err_set(e, E_IO, path, "cannot be written: %s", strerror(why));
}

err_code file_out_open(const char *path, file_out *out, err *e) {
    *out = (file_out){.path = path, .fd = -1};
    size_t cap = strlen(path) + 16;
    out->tmp = malloc(cap);
    if (!out->tmp) return err_set(e, E_NOMEM, path, "out of memory");
    snprintf(out->tmp, cap, "%s.XXXXXX", path);
    out->fd = mkstemp(out->tmp);
    if (out->fd < 0) return err_set(e, E_IO, path, "cannot be written: %s", strerror(errno));
    return OK;
}

err_code file_out_add(file_out *out, const void *bytes, size_t len, err *e) {
    if (write_all(out->fd, bytes, len)) return OK;
    return err_set(e, E_IO, out->path, "cannot be written: %s", strerror(errno));
}

err_code file_out_end(file_out *out, err *e) {
    /* mkstemp makes 0600; a result file gets what any new file would get. */
    mode_t mask = umask(0);
    umask(mask);
    bool opened = out->fd >= 0;
    if (opened && fchmod(out->fd, 0666 & ~mask) != 0)
        err_set(e, E_IO, out->path, "cannot be written: %s", strerror(errno));
    if (opened && close(out->fd) != 0)
        err_set(e, E_IO, out->path, "cannot be written: %s", strerror(errno));
    if (opened && e->code == OK && rename(out->tmp, out->path) != 0)
        err_set(e, E_IO, out->path, "cannot be written: %s", strerror(errno));
    if (opened && e->code != OK) unlink(out->tmp);
    free(out->tmp);
    *out = (file_out){.fd = -1};
    return e->code;
}

err_code file_write(const char *path, const char *s, size_t len, err *e) {
    if (!path || strcmp(path, "-") == 0) {
        bool ok = fwrite(s, 1, len, stdout) == len && fflush(stdout) == 0;
        return ok ? OK : err_set(e, E_IO, "<stdout>", "cannot be written: %s", strerror(errno));
    }
    if (is_special(path)) return write_special(path, s, len, e);
    file_out out;
    if (file_out_open(path, &out, e) == OK) (void)file_out_add(&out, s, len, e);
    return file_out_end(&out, e);
}

bool file_same(const char *a, const char *b) {
    struct stat sa, sb;
    if (stat(a, &sa) != 0 || stat(b, &sb) != 0) return false;
    return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}
