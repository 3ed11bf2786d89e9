/* What the commands share: where cards lie, how errors are said, how a result is written. */
#ifndef RATECAST_CLI_H
#define RATECAST_CLI_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "card.h"
#include "cli/opts.h"

enum { INPUT_BUDGET_MIB = 512, OUTPUT_BUDGET_MIB = 1536 };

extern const command CMD_PROJECT, CMD_CHECK, CMD_SHOW, CMD_CARDS, CMD_FIGURES, CMD_DIFF, CMD_INIT,
    CMD_IMPORT, CMD_FIT, CMD_VALIDATE, CMD_AUDIT, CMD_EXPLAIN, CMD_LEDGER, CMD_REPORT;

/* Options that several commands have; each command lists them in its own table. */
#define OPT_HELP                                                                                   \
    { "help", 'h', NULL, "show this help", false }
#define OPT_JSON                                                                                   \
    { "json", 0, NULL, "machine-readable output", false }
#define OPT_OUTPUT                                                                                 \
    {                                                                                              \
        "output", 'o', "FILE",                                                                     \
            "write to FILE (beside it, then renamed) instead of standard output", false            \
    }
#define OPT_RATES                                                                                  \
    {                                                                                              \
        "rates", 0, "DIR",                                                                         \
            "folder of rate cards (default: $RATECAST_RATES, ./rates, the shipped cards)", false   \
    }

#define OPT_SIMULATED                                                                              \
    {                                                                                              \
        "allow-simulated-device", 0, NULL,                                                         \
            "take cards that were timed on a simulated device: their times describe no machine",   \
            false                                                                                  \
    }

/* Both given, and the same file. */
bool cli_same_target(const char *a, const char *b);
/* E_USAGE: the file of --plot is neither .svg nor .png, or is the one of --output. */
MUST_USE err_code cli_plot_check(const opts *o, err *e);

/* Name of the program that runs, for messages. */
extern const char *cli_program;
/* Prints "PROGRAM: place: what" and returns the exit code. */
int cli_fail(const err *e);
/* The card library for --rates, --allow-simulated-device and the environment. */
card_library cli_library(const opts *o);
/* Runs `body` with an arena and a card library of its own, says its error, and returns the exit
 * code. */
int cli_in_arena(const opts *o, err_code (*body)(const opts *, card_library *, arena *, err *));
/* The cards that were named by an option that repeats, behind room for `front_n` others. E_REFUSED:
 * as card_usable. */
MUST_USE err_code cli_cards(const parsed_opt *given, size_t front_n, card_library *lib, arena *mem,
                            const card ***out, err *e);
/* A shipped file or folder ("scenarios"): below the current folder, else where it was installed,
 * else the source tree. */
const char *cli_data_path(const char *name, arena *mem);
/* The folders that it looks below, "" for the current one. */
const char *const *cli_data_roots(size_t *n);
/* Writes `text` to --output or standard output. Refuses (E_USAGE) a target that is one of the
 * inputs: a named one, or any rate card of the library, since a result must never take the place of
 * what it was made from. `lib` may be NULL. */
MUST_USE err_code cli_output(const opts *o, const buf *text, const card_library *lib,
                             const char *const *inputs, size_t inputs_n, err *e);
/* Is the file of option `name` none of the inputs? E_USAGE otherwise. */
MUST_USE err_code cli_target_check(const opts *o, const char *name, const card_library *lib,
                                   const char *const *inputs, size_t inputs_n, err *e);

#endif
