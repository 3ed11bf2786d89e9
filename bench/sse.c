#include "sse.h"

#include <string.h>

void sse_init(sse *s, size_t limit, void (*hear)(void *arg, const sse_event *ev), void *arg) {
    *s = (sse){.limit = limit, .hear = hear, .arg = arg};
    buf_init(&s->line);
    buf_init(&s->data);
}

void sse_done(sse *s) {
    buf_done(&s->line);
    buf_done(&s->data);
}

static void end_event(sse *s) {
    buf_reset(&s->data);
    s->has_data = s->error = false;
}

void sse_reset(sse *s) {
    buf_reset(&s->line);
    end_event(s);
    s->line_no = 0;
    s->behind_cr = s->over = false;
}

static bool is_field(const char *line, size_t name_len, const char *name) {
    return name_len == strlen(name) && memcmp(line, name, name_len) == 0;
}

static void add_data(sse *s, const char *value, size_t len) {
    if (s->data.len + s->has_data + len > s->limit) {
        s->over = true;
        return;
    }
    if (s->has_data) buf_add(&s->data, "\n");
    buf_add_n(&s->data, value, len);
    s->has_data = true;
}

static void read_field(sse *s, const char *line, size_t len) {
    const char *colon = memchr(line, ':', len);
    size_t name_len = colon ? (size_t)(colon - line) : len;
    const char *value = colon ? colon + 1 : line + len;
    size_t value_len = colon ? len - name_len - 1 : 0;
    if (value_len > 0 && *value == ' ') {
        value++;
        value_len--;
    }
    if (is_field(line, name_len, "data")) {
        add_data(s, value, value_len);
    } else if (is_field(line, name_len, "error")) {
        /* no field of the standard: llama-server of 2024 to 2025 writes its errors so */
        add_data(s, value, value_len);
        s->error = true;
    } else if (is_field(line, name_len, "event")) {
        s->error = is_field(value, value_len, "error");
    }
}

static void end_line(sse *s) {
    const char *line = s->line.s;
    size_t len = s->line.len;
    if (s->line_no++ == 0 && len >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) {
        line += 3; /* a byte order mark */
        len -= 3;
    }
    if (len > 0) {
        read_field(s, line, len);
    } else {
        if (s->has_data)
            s->hear(s->arg, &(sse_event){.data = s->data.s, .len = s->data.len, .error = s->error});
        end_event(s);
    }
    buf_reset(&s->line);
}

bool sse_feed(sse *s, const char *bytes, size_t n) {
    while (n > 0 && !s->over) {
        if (s->behind_cr && *bytes == '\n') { /* the second half of a CRLF */
            s->behind_cr = false;
            bytes++;
            n--;
            continue;
        }
        s->behind_cr = false;
        const char *lf = memchr(bytes, '\n', n);
        size_t len = lf ? (size_t)(lf - bytes) : n;
        const char *cr = memchr(bytes, '\r', len);
        if (cr) len = (size_t)(cr - bytes);
        if (s->line.len + len > s->limit) {
            s->over = true;
            break;
        }
        buf_add_n(&s->line, bytes, len);
        bytes += len;
        n -= len;
        if (n == 0) break;
        s->behind_cr = *bytes == '\r';
        bytes++;
        n--;
        end_line(s);
    }
    return !s->over;
}
