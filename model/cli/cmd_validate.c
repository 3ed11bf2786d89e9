#include "calib/score.h"
#include "cli/cli.h"
#include "plots/plot.h"
#include "report_validate.h"

#include <string.h>

static const opt_spec OPTS[] = {
    {"card", 0, "CARD",
     "rate card by id or path; runs are matched by model, machine, threads and KV layout", true},
    {"use", 0, "WHICH", "score (default), calibrate or all", false},
    {"summaries", 0, NULL, "use the summary of a run whose session records are missing (marked *)",
     false},
    OPT_JSON,
    {"md", 0, NULL, "Markdown (the text output is)", false},
    {"tsv", 0, NULL, "projected and witnessed walls for plots/validate.gp", false},
    {"plot", 0, "FILE", "also draw projected against witnessed walls: .svg or .png, by gnuplot",
     false},
    OPT_OUTPUT,
    OPT_RATES,
    OPT_SIMULATED,
    OPT_HELP,
};

static err_code pick_use(const opts *o, score_use *use, err *e) {
    static const char *const NAMES[] = {"score", "calibrate", "all"};
    const char *got = opts_get(o, "use");
    *use = SCORE_SCORE;
    if (!got) return OK;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(got, NAMES[i]) == 0) {
            *use = (score_use)i;
            return OK;
        }
    return err_set(e, E_USAGE, "--use", "found \"%s\", expected score, calibrate or all", got);
}

static err_code load_cards(const opts *o, card_library *lib, arena *mem, const card ***out,
                           size_t *n, err *e) {
    const parsed_opt *given = opts_all(o, "card");
    if (given->n == 0) return err_set(e, E_USAGE, "validate", "expected --card CARD, once or more");
    *n = given->n;
    return cli_cards(given, 0, lib, mem, out, e);
}

static err_code draw(const char *path, const score *s, arena *mem, err *e) {
    if (s->wall.n == 0)
        return err_set(
            e, E_REFUSED, "--plot",
            "no wall-clock to draw: no run is scored that has one and is no interference "
            "run");
    buf tsv;
    buf_init(&tsv);
    report_validate_tsv(s, &tsv);
    (void)plot_run(cli_data_path("plots/validate.gp", mem), tsv.s, tsv.len, path, e);
    buf_done(&tsv);
    return e->code;
}

static err_code check_format(const opts *o, err *e) {
    if (opts_has(o, "json") + opts_has(o, "md") + opts_has(o, "tsv") <= 1) return OK;
    return err_set(e, E_USAGE, "validate", "--json, --md and --tsv exclude each other");
}

static err_code validate(const opts *o, card_library *lib, arena *mem, err *e) {
    score_use use = SCORE_SCORE;
    const card **cards = NULL;
    size_t n = 0;
    witness w;
    replay *all = NULL;
    score s;
    if (check_format(o, e) || cli_plot_check(o, e) || pick_use(o, &use, e) ||
        load_cards(o, lib, mem, &cards, &n, e) || witness_load(o->operands[0], mem, &w, e) ||
        replay_set(&w, cards, n, opts_has(o, "summaries"), mem, &all, e) ||
        score_runs(all, w.n, use, mem, &s, e))
        return e->code;
    if (opts_has(o, "plot") && draw(opts_get(o, "plot"), &s, mem, e)) return e->code;
    buf out;
    buf_init(&out);
    if (opts_has(o, "json"))
        report_validate_json(&s, &w, &out);
    else if (opts_has(o, "tsv"))
        report_validate_tsv(&s, &out);
    else
        report_validate_text(&s, &w, mem, &out);
    (void)cli_output(o, &out, lib, NULL, 0, e);
    buf_done(&out);
    return e->code;
}

static int run(const opts *o) {
    return cli_in_arena(o, validate);
}

const command CMD_VALIDATE = {
    .name = "validate",
    .operands = "DIR",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "project witnessed runs from their configuration and score the projections\n\n"
               "DIR is a folder of witnessed runs (calib/WITNESS.md). Nothing measured in a run "
               "enters its projection.",
    .example = "example:\n"
               "  ratecast validate runs/ --card qwen2-7b-like-q8_0-h200-split --card "
               "qwen2-7b-like-q8_0-h200-unified\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
