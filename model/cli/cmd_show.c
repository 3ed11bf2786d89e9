#include "cli/cli.h"
#include "report_card.h"

static const opt_spec OPTS[] = {OPT_JSON, OPT_OUTPUT, OPT_RATES, OPT_HELP};

static int run(const opts *o) {
    arena *mem = arena_new((size_t)INPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    err e = {0};
    card_library lib = cli_library(o);
    const card *c = NULL;
    if (card_find(&lib, o->operands[0], NULL, mem, &c, &e) == OK) {
        buf out;
        buf_init(&out);
        if (opts_has(o, "json"))
            report_card_json(c, mem, &out);
        else
            report_card_text(c, mem, &out);
        (void)cli_output(o, &out, &lib, &c->path, 1, &e);
        buf_done(&out);
    }
    int code = e.code ? cli_fail(&e) : 0;
    arena_free(mem);
    return code;
}

const command CMD_SHOW = {
    .name = "show",
    .operands = "CARD",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "show a rate card: its points, what they imply against the hardware's ceiling, its "
               "step times",
    .example = "example:\n  ratecast show qwen2.5-7b-instruct-q8_0-m3pro\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
