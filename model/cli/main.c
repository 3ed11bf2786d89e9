#include "base/buf.h"
#include "cli/cli.h"

#include "base/jsonr.h"

#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <string.h>

static const command *const COMMANDS[] = {
    &CMD_PROJECT, &CMD_CHECK, &CMD_SHOW,  &CMD_CARDS,    &CMD_FIGURES, &CMD_DIFF,   &CMD_INIT,
    &CMD_IMPORT,  &CMD_FIT,   &CMD_AUDIT, &CMD_VALIDATE, &CMD_EXPLAIN, &CMD_LEDGER, &CMD_REPORT};
enum { COMMANDS_N = sizeof COMMANDS / sizeof *COMMANDS };

static void print_overview(FILE *to) {
    fputs("ratecast projects how long a fleet of LLM agents takes before it runs on silicon,\n"
          "and says what that projection rests on.\n\n"
          "usage: ratecast COMMAND [options] ...\n\ncommands:\n",
          to);
    for (size_t i = 0; i < COMMANDS_N; i++) {
        const command *c = COMMANDS[i];
        fprintf(to, "  %-9s %.*s\n", c->name, (int)strcspn(c->summary, "\n"), c->summary);
    }
    fputs("  help      show this, or `ratecast help COMMAND`\n\n"
          "example:\n  ratecast project scenarios/head_to_head_4k.json\n\n"
          "exit codes: 0 fine, 1 a check failed, 2 usage or bad input, 4 an external program "
          "failed, 70 bug\n",
          to);
}

static const command *find(const char *name) {
    for (size_t i = 0; i < COMMANDS_N; i++)
        if (strcmp(COMMANDS[i]->name, name) == 0) return COMMANDS[i];
    return NULL;
}

static int unknown_command(const char *name) {
    char words[256] = "help", near[64];
    for (size_t i = 0; i < COMMANDS_N; i++) {
        size_t n = strlen(words);
        snprintf(words + n, sizeof words - n, " %s", COMMANDS[i]->name);
    }
    err e = {0};
    if (jr_nearest(name, words, near, sizeof near))
        err_set(&e, E_USAGE, "", "unknown command \"%s\", nearest is \"%s\"", name, near);
    else
        err_set(&e, E_USAGE, "", "unknown command \"%s\" (see `ratecast help`)", name);
    return cli_fail(&e);
}

static int show_help(const command *c) {
    buf b;
    buf_init(&b);
    opts_help(c, &b);
    fputs(b.s, stdout);
    buf_done(&b);
    return 0;
}

static int run(const command *c, int argc, char **argv) {
    err e = {0};
    opts o;
    int code = opts_parse(c, argc, argv, &o, &e) ? cli_fail(&e)
               : opts_has(&o, "help")            ? show_help(c)
                                                 : c->run(&o);
    opts_done(&o);
    return code;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_overview(stderr);
        return 2;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("ratecast " RATECAST_VERSION);
        return 0;
    }
    bool help = strcmp(name, "help") == 0;
    if (help && argc > 2 && strcmp(argv[2], "help") != 0) {
        const command *about = find(argv[2]);
        return about ? show_help(about) : unknown_command(argv[2]);
    }
    if (help || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_overview(stdout);
        return 0;
    }
    const command *c = find(name);
    return c ? run(c, argc - 1, argv + 1) : unknown_command(name);
}

int main(int argc, char **argv) {
    gsl_set_error_handler_off(); /* errors come back as codes, GSL must not abort */
    int code = dispatch(argc, argv);
    if (fflush(stdout) != 0 && code == 0)
        code = cli_fail(&(err){.code = E_IO, .where = "<stdout>", .what = "cannot be written"});
    return code;
}
