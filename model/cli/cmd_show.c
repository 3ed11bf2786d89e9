#include "cli/cli.h"
#include "plots/plot.h"
#include "report_card.h"
#include "report_card_tsv.h"

static const opt_spec OPTS[] = {
    OPT_JSON,
    {"tsv", 0, NULL, "its points and curves as tab-separated values, for plots/card.gp", false},
    {"plot", 0, "FILE", "also draw points and curves: .svg or .png, by gnuplot", false},
    OPT_OUTPUT,
    OPT_RATES,
    OPT_HELP};

static err_code check_options(const opts *o, err *e) {
    if (opts_has(o, "json") && opts_has(o, "tsv"))
        return err_set(e, E_USAGE, "show", "--json and --tsv exclude each other");
    return cli_plot_check(o, e);
}

static err_code draw(const opts *o, card_library *lib, const card *c, arena *mem, err *e) {
    buf tsv;
    buf_init(&tsv);
    if (cli_target_check(o, "plot", lib, &c->path, 1, e) == OK) {
        if (report_card_tsv(c, mem, &tsv) == 0)
            (void)report_card_no_points(c, "--plot", mem, e);
        else
            (void)plot_run(cli_data_path("plots/card.gp", mem), tsv.s, tsv.len, opts_get(o, "plot"),
                           e);
    }
    buf_done(&tsv);
    return e->code;
}

static int run(const opts *o) {
    arena *mem = arena_new((size_t)INPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    err e = {0};
    card_library lib = cli_library(o);
    const card *c = NULL;
    if (check_options(o, &e) == OK && card_find(&lib, o->operands[0], NULL, mem, &c, &e) == OK) {
        buf out;
        buf_init(&out);
        if (opts_has(o, "json"))
            report_card_json(c, mem, &out);
        else if (opts_has(o, "tsv"))
            (void)report_card_tsv(c, mem, &out);
        else
            report_card_text(c, mem, &out);
        if (!opts_has(o, "plot") || draw(o, &lib, c, mem, &e) == OK)
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
    .example = "example:\n  ratecast show qwen2.5-7b-instruct-q8_0-m3pro\n"
               "  ratecast show qwen2-7b-like-q8_0-h200-split --plot card.svg\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
