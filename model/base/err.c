#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Long places are cut in the middle, never silently at the end: the pointer's tail tells most. */
static void copy_cut(char *dst, size_t cap, const char *src) {
    size_t len = strlen(src);
    if (len < cap) {
        memcpy(dst, src, len + 1);
        return;
    }
    size_t head = cap / 3;
    size_t tail = cap - 1 - head - 3;
    memcpy(dst, src, head);
    memcpy(dst + head, "...", 3);
    memcpy(dst + head + 3, src + len - tail, tail + 1);
}

err_code err_set(err *e, err_code code, const char *where, const char *fmt, ...) {
    if (e->code != OK) return e->code;
    e->code = code;
    copy_cut(e->where, sizeof e->where, where ? where : "");
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->what, sizeof e->what, fmt, ap);
    va_end(ap);
    return code;
}

int err_exit_code(err_code code) {
    switch (code) {
    case OK:
        return 0;
    case E_EXTERN:
        return 4;
    case E_NOMEM:
        return 70;
    default:
        return 2;
    }
}
