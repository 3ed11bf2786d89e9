#include "cli/opts.h"

#include "cli/cli.h"

#include "base/jsonr.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_BASE = 1000 }; /* getopt values of long options: LONG_BASE + index */

static size_t index_of(const command *cmd, int got) {
    if (got >= LONG_BASE) return (size_t)(got - LONG_BASE);
    for (size_t i = 0; i < cmd->opts_n; i++)
        if (cmd->opts[i].letter == got) return i;
    return SIZE_MAX;
}

static void make_tables(const command *cmd, struct option *longs, char *shorts, size_t cap) {
    size_t n = 0;
    n += (size_t)snprintf(shorts, cap, ":");
    for (size_t i = 0; i < cmd->opts_n; i++) {
        const opt_spec *s = &cmd->opts[i];
        longs[i] = (struct option){s->name, s->arg ? required_argument : no_argument, NULL,
                                   LONG_BASE + (int)i};
        if (s->letter)
            n += (size_t)snprintf(shorts + n, cap - n, "%c%s", s->letter, s->arg ? ":" : "");
    }
    longs[cmd->opts_n] = (struct option){0};
}

static err_code unknown_option(const command *cmd, const char *got, err *e) {
    char words[512] = "", near[64];
    for (size_t i = 0; i < cmd->opts_n; i++) {
        size_t n = strlen(words);
        snprintf(words + n, sizeof words - n, " %s", cmd->opts[i].name);
    }
    char bare[64];
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(got, "="), got);
    const char *name = bare + strspn(bare, "-");
    if (strncmp(got, "--", 2) == 0 && jr_nearest(name, words, near, sizeof near))
        return err_set(e, E_USAGE, cmd->name, "unknown option %s, nearest is --%s", bare, near);
    return err_set(e, E_USAGE, cmd->name, "unknown option %s (see `%s help %s`)", bare, cli_program,
                   cmd->name);
}

static err_code check_operands(const opts *o, err *e) {
    const command *cmd = o->cmd;
    if (o->operands_n < cmd->operands_min)
        return err_set(e, E_USAGE, cmd->name, "expected %s, found nothing (see `%s help %s`)",
                       cmd->operands, cli_program, cmd->name);
    if (o->operands_n > cmd->operands_max)
        return err_set(e, E_USAGE, cmd->name, "found \"%s\", expected at most %zu operand%s",
                       o->operands[cmd->operands_max], cmd->operands_max,
                       cmd->operands_max == 1 ? "" : "s");
    return OK;
}

err_code opts_parse(const command *cmd, int argc, char **argv, opts *out, err *e) {
    assert(cmd->opts_n < OPTS_MAX);
    *out = (opts){.cmd = cmd};
    struct option longs[OPTS_MAX + 1];
    char shorts[3 * OPTS_MAX];
    make_tables(cmd, longs, shorts, sizeof shorts);
    size_t cap = (size_t)argc + 1;
    out->values = calloc(cap * cmd->opts_n + 1, sizeof *out->values);
    if (!out->values) return err_set(e, E_NOMEM, cmd->name, "out of memory");
    for (size_t i = 0; i < cmd->opts_n; i++) out->opt[i].value = out->values + i * cap;
    opterr = 0;
    optind = 1;
    int got;
    while ((got = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (got == ':')
            return err_set(e, E_USAGE, cmd->name, "option %s needs a value", argv[optind - 1]);
        if (got == '?') {
            char letter[3] = {'-', (char)optopt, '\0'};
            bool short_one = optopt > 0 && optopt < LONG_BASE;
            return unknown_option(cmd, short_one ? letter : argv[optind - 1], e);
        }
        size_t i = index_of(cmd, got);
        assert(i < cmd->opts_n);
        parsed_opt *p = &out->opt[i];
        if (p->n > 0 && cmd->opts[i].arg && !cmd->opts[i].repeats)
            return err_set(e, E_USAGE, cmd->name, "option --%s is given twice", cmd->opts[i].name);
        p->value[p->n++] = optarg;
    }
    out->operands = (const char *const *)argv + optind;
    out->operands_n = (size_t)(argc - optind);
    return opts_has(out, "help") ? OK : check_operands(out, e);
}

void opts_done(opts *o) {
    free(o->values);
    o->values = NULL;
}

bool opts_given(const opts *o, const char *name) {
    for (size_t i = 0; i < o->cmd->opts_n; i++)
        if (strcmp(o->cmd->opts[i].name, name) == 0) return o->opt[i].n > 0;
    return false;
}

const parsed_opt *opts_all(const opts *o, const char *name) {
    for (size_t i = 0; i < o->cmd->opts_n; i++)
        if (strcmp(o->cmd->opts[i].name, name) == 0) return &o->opt[i];
    assert(0 && "no such option in the command's table");
    return NULL;
}

bool opts_has(const opts *o, const char *name) {
    return opts_all(o, name)->n > 0;
}

const char *opts_get(const opts *o, const char *name) {
    const parsed_opt *p = opts_all(o, name);
    return p->n ? p->value[p->n - 1] : NULL;
}

void opts_help(const command *cmd, buf *out) {
    buf_addf(out, "usage: %s %s [options] %s\n\n%s\n\noptions:\n", cli_program, cmd->name,
             cmd->operands, cmd->summary);
    for (size_t i = 0; i < cmd->opts_n; i++) {
        const opt_spec *s = &cmd->opts[i];
        char left[64];
        char letter[8] = "    ";
        if (s->letter) snprintf(letter, sizeof letter, "-%c, ", s->letter);
        snprintf(left, sizeof left, "  %s--%s%s%s", letter, s->name, s->arg ? " " : "",
                 s->arg ? s->arg : "");
        buf_addf(out, "%-28s %s%s\n", left, s->help, s->repeats ? " (repeatable)" : "");
    }
    buf_addf(out, "\n%s", cmd->example);
}
