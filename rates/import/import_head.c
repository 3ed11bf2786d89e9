#include "import_head.h"

#include <ctype.h>
#include <string.h>

enum { KEY_BYTES = 128, HEAD_LINE_BYTES = 8192 };

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Walks the keys of one object and of what it holds. */
typedef struct key_walk {
    const file_bytes *f;
    size_t at;
    int depth; /* of the object whose keys are given: 1 the first one */
    char key[KEY_BYTES];
} key_walk;

/* The string at w->at, which stands on its opening quote, into w->key. false: the text ends in it.
 */
static bool take_string(key_walk *w) {
    size_t n = 0;
    for (w->at++; w->at < w->f->len && w->f->s[w->at] != '"'; w->at++) {
        if (w->f->s[w->at] == '\\') w->at++;
        if (w->at < w->f->len && n + 1 < sizeof w->key) w->key[n++] = w->f->s[w->at];
    }
    w->key[n] = '\0';
    w->at++;
    return w->at <= w->f->len;
}

/* The next key, at any depth; false behind the end of the first object. */
static bool next_key(key_walk *w) {
    while (w->at < w->f->len) {
        char c = w->f->s[w->at];
        if (c == '{') {
            w->depth++;
        } else if (c == '}' && --w->depth <= 0) {
            return false;
        } else if (c == '"') {
            if (!take_string(w)) return false;
            while (w->at < w->f->len && blank(w->f->s[w->at])) w->at++;
            if (w->at < w->f->len && w->f->s[w->at] == ':') return true;
            continue;
        }
        w->at++;
    }
    return false;
}

/* Where the first object begins; false: the text begins with something else. */
static bool first_object(const file_bytes *f, key_walk *w) {
    size_t i = 0;
    while (i < f->len && (blank(f->s[i]) || f->s[i] == '[')) i++;
    *w = (key_walk){.f = f, .at = i};
    return i < f->len && f->s[i] == '{';
}

bool head_has_key(const file_bytes *f, const char *key) {
    key_walk w;
    if (!first_object(f, &w)) return false;
    while (next_key(&w))
        if (w.depth == 1 && strcmp(w.key, key) == 0) return true;
    return false;
}

bool head_has_inner_key(const file_bytes *f, const char *outer, const char *key) {
    key_walk w;
    bool inside = false;
    if (!first_object(f, &w)) return false;
    while (next_key(&w)) {
        if (w.depth == 1) inside = strcmp(w.key, outer) == 0;
        if (inside && w.depth == 2 && strcmp(w.key, key) == 0) return true;
    }
    return false;
}

bool head_has_key_like(const file_bytes *f, const char *const *words) {
    key_walk w;
    if (!first_object(f, &w)) return false;
    while (next_key(&w)) {
        if (w.depth != 1) continue;
        for (char *p = w.key; *p; p++) *p = (char)tolower((unsigned char)*p);
        for (size_t i = 0; words[i]; i++) {
            size_t n = strlen(words[i]), len = strlen(w.key);
            if (strncmp(w.key, words[i], n) == 0) return true;
            if (len > n && strcmp(w.key + len - n, words[i]) == 0) return true;
        }
    }
    return false;
}

bool head_header(const file_bytes *f, cells *out, char *separator) {
    char line[HEAD_LINE_BYTES];
    size_t from = 0, n = 0;
    while (from < f->len && blank(f->s[from])) from++;
    while (from + n < f->len && f->s[from + n] != '\n' && f->s[from + n] != '\r') n++;
    if (n == 0 || n >= sizeof line) return false;
    memcpy(line, f->s + from, n);
    line[n] = '\0';
    *separator = strchr(line, '\t') ? '\t' : strchr(line, ';') && !strchr(line, ',') ? ';' : ',';
    return cells_of_csv(line, *separator, out) && out->n > 1 && !out->cut;
}

bool head_has_columns(const cells *header, const char *const *names) {
    for (size_t i = 0; names[i]; i++)
        if (cells_column(header, names[i]) < 0) return false;
    return true;
}
