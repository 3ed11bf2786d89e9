#include "cli/cli.h"
#include "cli/terminal.h"

#include "base/file.h"
#include "plots/plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *cli_program = "ratecast";

int cli_fail(const err *e) {
    fprintf(stderr, "%s: %s%s%s\n", cli_program, e->where, e->where[0] ? ": " : "", e->what);
    return err_exit_code(e->code);
}

static bool is_folder(const char *path) {
    struct stat st;
    return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

card_library cli_library(const opts *o) {
    const char *given = opts_get(o, "rates");
    if (!given) given = getenv("RATECAST_RATES");
    bool simulated = opts_given(o, "allow-simulated-device");
    if (given && given[0])
        return (card_library){.dirs = {given}, .n = 1, .allow_simulated = simulated};
    const char *const places[] = {"rates", RATECAST_DATA_DIR "/rates",
                                  RATECAST_SOURCE_DIR "/rates"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (is_folder(places[i]))
            return (card_library){.dirs = {places[i]}, .n = 1, .allow_simulated = simulated};
    return (card_library){.allow_simulated = simulated};
}

const char *const *cli_data_roots(size_t *n) {
    static const char *const ROOTS[] = {"", RATECAST_DATA_DIR, RATECAST_SOURCE_DIR};
    *n = sizeof ROOTS / sizeof *ROOTS;
    return ROOTS;
}

const char *cli_data_path(const char *name, arena *mem) {
    size_t n;
    const char *const *roots = cli_data_roots(&n);
    const char *path = name;
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        const char *full = i == 0 ? name : arena_printf(mem, "%s/%s", roots[i], name);
        if (full && stat(full, &st) == 0) return full;
        if (full) path = full;
    }
    return path;
}

static bool is_input(const char *path, const char *const *inputs, size_t n, const char **which) {
    for (size_t i = 0; i < n; i++)
        if (inputs[i] && file_same(path, inputs[i])) {
            *which = inputs[i];
            return true;
        }
    return false;
}

err_code cli_target_check(const opts *o, const char *name, const card_library *lib,
                          const char *const *inputs, size_t inputs_n, err *e) {
    const char *path = opts_get(o, name), *which = NULL;
    char option[64];
    bool to_file = path && strcmp(path, "-") != 0;
    if (!to_file || !(is_input(path, inputs, inputs_n, &which) ||
                      (lib && is_input(path, lib->paths, lib->files_n, &which))))
        return OK;
    snprintf(option, sizeof option, "--%s", name);
    return err_set(e, E_USAGE, option, "%s is an input (%s), expected another file", path, which);
}

err_code cli_output(const opts *o, const buf *text, const card_library *lib,
                    const char *const *inputs, size_t inputs_n, err *e) {
    const char *path = opts_get(o, "output");
    if (cli_target_check(o, "output", lib, inputs, inputs_n, e)) return e->code;
    terminal t;
    bool plain = opts_given(o, "json") || opts_given(o, "csv") || opts_given(o, "tsv") ||
                 opts_given(o, "md");
    if ((path && strcmp(path, "-") != 0) || plain || !terminal_of_stdout(&t))
        return file_write(path, text->s, text->len, e);
    buf shown;
    buf_init(&shown);
    arena *mem = arena_new((size_t)INPUT_BUDGET_MIB << 20);
    if (mem) terminal_text(&t, text->s, mem, &shown);
    (void)file_write(path, mem ? shown.s : text->s, mem ? shown.len : text->len, e);
    arena_free(mem);
    buf_done(&shown);
    return e->code;
}

int cli_in_arena(const opts *o, err_code (*body)(const opts *, card_library *, arena *, err *)) {
    arena *mem = arena_new((size_t)OUTPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    err e = {0};
    card_library lib = cli_library(o);
    int code = body(o, &lib, mem, &e) ? cli_fail(&e) : 0;
    arena_free(mem);
    return code;
}

err_code cli_cards(const parsed_opt *given, size_t front_n, card_library *lib, arena *mem,
                   const card ***out, err *e) {
    const card **cards = ARENA_ARRAY(mem, const card *, front_n + given->n);
    if (!cards) return err_set(e, E_LIMIT, "cards", "does not fit the memory budget");
    for (size_t i = 0; i < given->n; i++)
        if (card_find(lib, given->value[i], NULL, mem, &cards[front_n + i], e) ||
            card_usable(lib, cards[front_n + i], e))
            return e->code;
    *out = cards;
    return OK;
}

bool cli_same_target(const char *a, const char *b) {
    return a && b && (strcmp(a, b) == 0 || file_same(a, b));
}

err_code cli_plot_check(const opts *o, err *e) {
    const char *path = opts_get(o, "plot");
    if (!path || plot_check_path("--plot", path, e)) return e->code;
    if (cli_same_target(path, opts_get(o, "output")))
        return err_set(e, E_USAGE, "--plot", "found %s, which --output names too", path);
    return OK;
}
