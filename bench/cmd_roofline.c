#include "commands.h"

#include "cli/cli.h"

static const opt_spec OPTS[] = {OPT_HELP};

static int run(const opts *o) {
    (void)o;
    return cli_fail(&(err){.code = E_USAGE, .where = "roofline", .what = "is not there yet"});
}

const command CMD_ROOFLINE = {
    .name = "roofline",
    .operands = "",
    .summary = "not there yet",
    .example = "",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
