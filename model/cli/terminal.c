#include "cli/terminal.h"

#include "fit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_of_stdout(terminal *out) {
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR"), *given = getenv("COLUMNS");
    struct winsize w = {0};
    *out = (terminal){0};
    if (!isatty(STDOUT_FILENO)) return false;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0) out->columns = w.ws_col;
    if (out->columns == 0 && given) {
        long n = strtol(given, NULL, 10);
        out->columns = n > 0 && n < 100000 ? (size_t)n : 0;
    }
    out->colour = !(no_colour && no_colour[0]) && !(term && strcmp(term, "dumb") == 0);
    return true;
}

/* ---- colour ---- */

static const struct {
    const char *word, *code;
} WORDS[] = {{"WITNESSED", "32"}, {"ASSUMED", "33"}, {"CLAIM", "33"}, {"DEFECT", "1;31"},
             {"FAIL", "31"},      {"SOUND", "1;32"}, {"STALE", "31"}, {"differs", "31"}};
enum { WORDS_N = sizeof WORDS / sizeof *WORDS };

static bool letter(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static void colour(const char *text, buf *out) {
    for (const char *s = text; *s;) {
        size_t hit = WORDS_N;
        for (size_t i = 0; i < WORDS_N && (s == text || !letter(s[-1])); i++) {
            size_t n = strlen(WORDS[i].word);
            if (strncmp(s, WORDS[i].word, n) == 0 && !letter(s[n])) hit = i;
        }
        if (hit < WORDS_N) {
            buf_addf(out, "\x1b[%sm%s\x1b[0m", WORDS[hit].code, WORDS[hit].word);
            s += strlen(WORDS[hit].word);
        } else
            buf_add_n(out, s++, 1);
    }
}

void terminal_text(const terminal *t, const char *text, arena *mem, buf *out) {
    buf fitted;
    buf_init(&fitted);
    if (t->columns > 0)
        fit_tables(text, t->columns, mem, &fitted);
    else
        buf_add(&fitted, text);
    if (t->colour)
        colour(fitted.s, out);
    else
        buf_add_n(out, fitted.s, fitted.len);
    buf_done(&fitted);
}
