#include "cli/cli.h"
#include "figures.h"

static const opt_spec OPTS[] = {
    OPT_JSON,
    OPT_OUTPUT,
    OPT_RATES,
    {"scenarios", 0, "DIR", "folder of scenarios (default: ./scenarios, the shipped ones)", false},
    {"list", 0, "FILE", "list of figures (default: the shipped reports/figures.json)", false},
    OPT_HELP,
};

static err_code write_out(const opts *o, const buf *out, const card_library *lib, const char *list,
                          const figure_list *l, arena *mem, err *e) {
    const char **inputs = ARENA_ARRAY(mem, const char *, l->inputs_n + 1);
    if (!inputs) return err_set(e, E_NOMEM, "", "out of memory");
    for (size_t i = 0; i < l->inputs_n; i++) inputs[i] = l->inputs[i];
    inputs[l->inputs_n] = list;
    return cli_output(o, out, lib, inputs, l->inputs_n + 1, e);
}

static int run(const opts *o) {
    arena *mem = arena_new((size_t)OUTPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    err e = {0};
    int code = 0;
    card_library lib = cli_library(o);
    const char *list = opts_get(o, "list"), *scenarios = opts_get(o, "scenarios");
    figure_list l;
    if (!list) list = cli_data_path("reports/figures.json", mem);
    if (!scenarios) scenarios = cli_data_path("scenarios", mem);
    if (figures_run(list, scenarios, &lib, mem, &l, &e) == OK) {
        buf out;
        buf_init(&out);
        if (opts_has(o, "json"))
            figures_json(&l, &out);
        else
            figures_text(&l, true, mem, &out);
        code = l.count[FIGURE_DIFFERS] > 0 ? 1 : 0;
        (void)write_out(o, &out, &lib, list, &l, mem, &e);
        buf_done(&out);
    }
    if (e.code) code = cli_fail(&e);
    arena_free(mem);
    return code;
}

const command CMD_FIGURES = {
    .name = "figures",
    .operands = "",
    .summary =
        "regenerate every figure of the source documents and compare at the printed digits\n\n"
        "Status: same; does not follow (from its own parts, with the reason); given (a measurement "
        "or bare claim);\n"
        "differs (exit 1).",
    .example = "example:\n  ratecast figures --json -o figures-result.json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
