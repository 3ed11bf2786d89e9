#include "cli/program.h"

#include "cli/cli.h"

#include "base/jsonr.h"

#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <string.h>

static void print_overview(const program *p, FILE *to) {
    fprintf(to, "%s\n\nusage: %s COMMAND [options] ...\n\ncommands:\n", p->about, p->name);
    for (size_t i = 0; i < p->commands_n; i++) {
        const command *c = p->commands[i];
        fprintf(to, "  %-9s %.*s\n", c->name, (int)strcspn(c->summary, "\n"), c->summary);
    }
    fprintf(to,
            "  help      show this, or `%s help COMMAND`\n\n"
            "example:\n  %s\n\n"
            "exit codes: 0 fine, 1 a check failed, 2 usage or bad input, 4 an external program "
            "failed, 70 bug\n",
            p->name, p->example);
}

static const command *find(const program *p, const char *name) {
    for (size_t i = 0; i < p->commands_n; i++)
        if (strcmp(p->commands[i]->name, name) == 0) return p->commands[i];
    return NULL;
}

static int unknown_command(const program *p, const char *name) {
    char words[256] = "help", near[64];
    for (size_t i = 0; i < p->commands_n; i++) {
        size_t n = strlen(words);
        snprintf(words + n, sizeof words - n, " %s", p->commands[i]->name);
    }
    err e = {0};
    for (size_t i = 0; i < p->hints_n; i++)
        if (strcmp(p->hints[i].word, name) == 0)
            err_set(&e, E_USAGE, "", "unknown command \"%s\": %s", name, p->hints[i].instead);
    if (jr_nearest(name, words, near, sizeof near))
        err_set(&e, E_USAGE, "", "unknown command \"%s\", nearest is \"%s\"", name, near);
    else
        err_set(&e, E_USAGE, "", "unknown command \"%s\" (see `%s help`)", name, p->name);
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

static int dispatch(const program *p, int argc, char **argv) {
    if (argc < 2) {
        print_overview(p, stderr);
        return 2;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("%s %s\n", p->name, RATECAST_VERSION);
        return 0;
    }
    bool help = strcmp(name, "help") == 0;
    if (help && argc > 2 && strcmp(argv[2], "help") != 0) {
        const command *about = find(p, argv[2]);
        return about ? show_help(about) : unknown_command(p, argv[2]);
    }
    if (help || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_overview(p, stdout);
        return 0;
    }
    const command *c = find(p, name);
    return c ? run(c, argc - 1, argv + 1) : unknown_command(p, name);
}

int program_run(const program *p, int argc, char **argv) {
    gsl_set_error_handler_off(); /* errors come back as codes, GSL must not abort */
    cli_program = p->name;
    int code = dispatch(p, argc, argv);
    if (fflush(stdout) != 0 && code == 0)
        code = cli_fail(&(err){.code = E_IO, .where = "<stdout>", .what = "cannot be written"});
    return code;
}
