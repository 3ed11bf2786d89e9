#include "cli/cli.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int cli_fail(const err *e) {
    fprintf(stderr, "ratecast: %s%s%s\n", e->where, e->where[0] ? ": " : "", e->what);
    return err_exit_code(e->code);
}

static bool is_folder(const char *path) {
    struct stat st;
    return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

card_library cli_library(const opts *o) {
    const char *given = opts_get(o, "rates");
    if (!given) given = getenv("RATECAST_RATES");
    if (given && given[0]) return (card_library){.dirs = {given}, .n = 1};
    const char *const places[] = {"rates", RATECAST_DATA_DIR "/rates", RATECAST_SOURCE_DIR "/rates"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (is_folder(places[i])) return (card_library){.dirs = {places[i]}, .n = 1};
    return (card_library){0};
}

err_code cli_output(const opts *o, const buf *text, const char *const *inputs, size_t inputs_n, err *e) {
    const char *path = opts_get(o, "output");
    for (size_t i = 0; path && i < inputs_n; i++)
        if (strcmp(path, "-") != 0 && inputs[i] && file_same(path, inputs[i]))
            return err_set(e, E_USAGE, "--output", "%s is an input (%s), expected another file", path, inputs[i]);
    return file_write(path, text->s, text->len, e);
}
