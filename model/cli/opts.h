/* Commands and their options as tables: parsing, --help and the error messages all come from them.
 */
#ifndef RATECAST_OPTS_H
#define RATECAST_OPTS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { OPTS_MAX = 48 };

typedef struct opt_spec {
    const char *name; /* long name without dashes */
    char letter;      /* 0: none */
    const char *arg;  /* name of the value in --help; NULL: a flag */
    const char *help;
    bool repeats;
} opt_spec;

typedef struct parsed_opt {
    size_t n;           /* times given */
    const char **value; /* of options with a value, in order */
} parsed_opt;

typedef struct opts {
    const struct command *cmd;
    parsed_opt opt[OPTS_MAX]; /* same index as cmd->opts */
    const char *const *operands;
    size_t operands_n;
    const char **values; /* storage behind opt[].value; owned, opts_done frees it */
} opts;

typedef struct command {
    const char *name;
    const char *operands; /* "SCENARIO", "FILE...", "" */
    size_t operands_min, operands_max;
    const char *summary;
    const char *example; /* lines of --help below the options */
    const opt_spec *opts;
    size_t opts_n;
    int (*run)(const opts *o);
} command;

/* argv[0] is the command's name. E_USAGE: unknown option (nearest named), missing value, option
 * given twice, operands too few or many. */
MUST_USE err_code opts_parse(const command *cmd, int argc, char **argv, opts *out, err *e);
void opts_done(opts *o);
void opts_help(const command *cmd, buf *out);

bool opts_has(const opts *o, const char *name);
/* The same of an option that the command may not have. */
bool opts_given(const opts *o, const char *name);
/* Value of an option that was given at most once; NULL when it was not. */
const char *opts_get(const opts *o, const char *name);
const parsed_opt *opts_all(const opts *o, const char *name);

#endif
