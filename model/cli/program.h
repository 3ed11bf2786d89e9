/* A program as a table of commands: `ratecast` and `ratecast-bench` are two of them. */
#ifndef RATECAST_PROGRAM_H
#define RATECAST_PROGRAM_H

#include "cli/opts.h"

/* A word that people try, and what there is instead. */
typedef struct program_hint {
    const char *word, *instead;
} program_hint;

typedef struct program {
    const char *name;  /* "ratecast" */
    const char *about; /* first lines of its help, without a line break at the end */
    const char *example;
    const command *const *commands;
    size_t commands_n;
    const program_hint *hints;
    size_t hints_n;
} program;

/* Runs the command that argv[1] names; the exit code. Help, --version and unknown commands are
 * dealt with here. */
int program_run(const program *p, int argc, char **argv);

#endif
