/* Any two texts as results: compared or refused; what a result is compared with itself is equal.
 * The input is cut at its first NUL, else at its first empty line, else both sides are the whole.
 */
#include "fuzz.h"

#include "report_diff.h"

#include <string.h>

static bool copy(const uint8_t *s, size_t n, const char *name, arena *mem, file_bytes *out) {
    char *text = arena_alloc(mem, n + 1, 1);
    if (text && n) memcpy(text, s, n);
    *out = (file_bytes){.name = name, .s = text, .len = n};
    return text != NULL;
}

/* Bytes before the cut; *skip: how many the cut itself takes. */
static size_t cut_at(const uint8_t *data, size_t size, size_t *skip) {
    for (size_t i = 0; i < size; i++)
        if (data[i] == '\0') {
            *skip = 1;
            return i;
        }
    for (size_t i = 0; i + 1 < size; i++)
        if (data[i] == '\n' && data[i + 1] == '\n') {
            *skip = 2;
            return i;
        }
    *skip = 0;
    return size;
}

static bool same_or_null(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

static void print(const diff *d, arena *mem) {
    buf out;
    buf_init(&out);
    diff_text(d, "a", "b", mem, &out);
    EXPECT(out.len > 0);
    diff_json(d, &out);
    buf_done(&out);
}

static void compare(const file_bytes *a, const file_bytes *b, bool equal, arena *mem) {
    diff d = {0};
    err e = {0};
    err_code code = diff_results(a, b, mem, &d, &e);
    EXPECT(code == e.code);
    EXPECT(code == OK || e.what[0] != '\0');
    if (code) return;
    EXPECT(!equal || d.n == 0);
    for (size_t i = 0; i < d.n; i++) {
        EXPECT(d.lines[i].path && (d.lines[i].a || d.lines[i].b));
        EXPECT(!same_or_null(d.lines[i].a, d.lines[i].b));
    }
    print(&d, mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gsl_set_error_handler_off();
    arena *mem = arena_new((size_t)256 << 20);
    size_t skip, n = cut_at(data, size, &skip);
    file_bytes a, b;
    bool one = skip == 0;
    if (copy(data, n, "<a>", mem, &a) &&
        copy(data + (one ? 0 : n + skip), one ? size : size - n - skip, "<b>", mem, &b)) {
        compare(&a, &b, one, mem);
        compare(&a, &a, true, mem);
    }
    arena_free(mem);
    return 0;
}
