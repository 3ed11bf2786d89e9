#include "marks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* U+E000 index U+E001 text U+E002 */
static const char OPEN[] = "\xEE\x80\x80", MIDDLE[] = "\xEE\x80\x81", CLOSE[] = "\xEE\x80\x82";
enum { MARK_BYTES = 3 };

static const char REPLACEMENT[] = "\xEF\xBF\xBD"; /* U+FFFD, as long as each of them */

void mark_add(buf *out, size_t index, const mark *m, const char *text) {
    buf_addf(out, "%s%zu%s", OPEN, index, MIDDLE);
    for (const char *s = text; m->kind == MARK_NUMBER && *s; s++) {
        bool ours = strncmp(s, OPEN, 2) == 0 && s[2] >= OPEN[2] && s[2] <= CLOSE[2];
        buf_add_n(out, ours ? REPLACEMENT : s, ours ? MARK_BYTES : 1);
        if (ours) s += MARK_BYTES - 1;
    }
    buf_add(out, CLOSE);
}

void marks_disarm(buf *b, size_t from) {
    for (char *s = b->s + from; (s = strstr(s, OPEN)) != NULL; s += MARK_BYTES)
        memcpy(s, REPLACEMENT, MARK_BYTES);
}

/* A mark at `s`, or false: a text may hold such characters of its own. */
static int read_mark(const char *s, size_t marks_n, mark_found *out, const char **end) {
    char *digits_end;
    const char *at = s + MARK_BYTES;
    if (*at < '0' || *at > '9') return 0;
    unsigned long long index = strtoull(at, &digits_end, 10);
    if (index >= marks_n || strncmp(digits_end, MIDDLE, MARK_BYTES) != 0) return 0;
    const char *text = digits_end + MARK_BYTES, *close = strstr(text, CLOSE);
    if (!close) return 0;
    out->index = (size_t)index;
    out->text = text;
    out->text_n = (size_t)(close - text);
    *end = close + MARK_BYTES;
    return 1;
}

int mark_next(const char **from, size_t marks_n, mark_found *out) {
    const char *s = *from, *end;
    *out = (mark_found){.plain = s};
    while ((s = strstr(s, OPEN)) != NULL) {
        if (read_mark(s, marks_n, out, &end)) {
            out->plain_n = (size_t)(s - out->plain);
            *from = end;
            return 1;
        }
        s += MARK_BYTES;
    }
    out->plain_n = strlen(*from);
    *from += out->plain_n;
    return 0;
}

void marks_markdown(const char *text, const mark *marks, size_t n, buf *out) {
    mark_found f;
    while (mark_next(&text, n, &f)) {
        const mark *m = &marks[f.index];
        buf_add_n(out, f.plain, f.plain_n);
        if (m->kind == MARK_NUMBER)
            buf_add_n(out, f.text, f.text_n);
        else
            buf_addf(out, "![%s](%s.svg)", m->title, m->picture);
    }
    buf_add_n(out, f.plain, f.plain_n);
}
