#include "cli/cli.h"
#include "plots/plot.h"
#include "report_waterfall.h"
#include "report_waterfall_tsv.h"
#include "runs.h"
#include "waterfall.h"

#include <string.h>

static const opt_spec OPTS[] = {
    {"against", 0, "SCENARIO",
     "the scenario whose head-to-head this one is turned into; again for a chain", true},
    {"arm", 0, "NAME", "the arm beside the baseline (default: the first; without --against: each)",
     false},
    {"order", 0, "TERM,...", "terms to step first (shares do not depend on it)", false},
    {"set", 0, "PATH=VALUE", "change every scenario: workload.K=8", true},
    OPT_JSON,
    {"md", 0, NULL, "Markdown", false},
    {"plot", 0, "FILE", "also draw the steps: .svg or .png, by gnuplot", false},
    OPT_OUTPUT,
    OPT_RATES,
    OPT_HELP,
};

enum { CHAIN_MAX = 16, ORDER_MAX = 32 };

typedef struct request {
    const scenario *s[CHAIN_MAX + 1];
    size_t n;                         /* scenarios */
    const char *order[ORDER_MAX + 1]; /* NULL-terminated */
    const waterfall *links[SCENARIO_ARMS_MAX + CHAIN_MAX];
    size_t links_n;
} request;

static err_code read_order(const opts *o, request *r, arena *mem, err *e) {
    const char *given = opts_get(o, "order");
    char *text = given ? arena_strdup(mem, given) : NULL;
    if (given && !text) return err_set(e, E_LIMIT, "--order", "does not fit the memory budget");
    for (size_t n = 0; text; n++) {
        char *comma = strchr(text, ',');
        if (n == ORDER_MAX)
            return err_set(e, E_USAGE, "--order", "more than %d terms", (int)ORDER_MAX);
        if (comma) *comma = '\0';
        r->order[n] = text;
        text = comma ? comma + 1 : NULL;
    }
    return OK;
}

static err_code load(const opts *o, const char *path, card_library *lib, request *r, arena *mem,
                     err *e) {
    const parsed_opt *sets = opts_all(o, "set");
    const scenario **s = &r->s[r->n++];
    if (scenario_load(path, lib, sets->value, sets->n, mem, s, e)) return e->code;
    if ((*s)->sweep_path && !runs_is_set(sets->value, sets->n, (*s)->sweep_path))
        return err_set(e, E_USAGE, (*s)->path,
                       "found a sweep, expected one session: --set %s to one of its values",
                       (*s)->sweep_path);
    return OK;
}

static err_code explain_arms(const opts *o, request *r, arena *mem, err *e) {
    const scenario *s = r->s[0];
    const char *only = opts_get(o, "arm");
    if (!only && !waterfall_default_arm(s, e)) return e->code;
    for (size_t i = 0; i < (only ? 1 : s->arms_n); i++) {
        if (!only && i == s->baseline) continue;
        if (waterfall_within(s, only ? only : s->arms[i].name, r->order, mem,
                             &r->links[r->links_n++], e))
            return e->code;
    }
    return OK;
}

static err_code explain_chain(const opts *o, request *r, arena *mem, err *e) {
    const char *name = opts_get(o, "arm");
    if (!name) name = waterfall_default_arm(r->s[0], e);
    if (!name) return e->code;
    for (size_t i = 1; i < r->n; i++)
        if (waterfall_against(r->s[i - 1], r->s[i], name, r->order, mem, &r->links[r->links_n++],
                              e))
            return e->code;
    return OK;
}

static err_code draw(const opts *o, const request *r, arena *mem, err *e) {
    buf tsv;
    buf_init(&tsv);
    report_waterfall_tsv(r->links, r->links_n, &tsv);
    (void)plot_run(cli_data_path("plots/waterfall.gp", mem), tsv.s, tsv.len, opts_get(o, "plot"),
                   e);
    buf_done(&tsv);
    return e->code;
}

static err_code write_out(const opts *o, const request *r, const card_library *lib, arena *mem,
                          const buf *out, err *e) {
    size_t n = 0, most = r->n * (1 + 2 * (size_t)SCENARIO_ARMS_MAX);
    const char **inputs = ARENA_ARRAY(mem, const char *, most);
    if (!inputs) return err_set(e, E_LIMIT, "explain", "does not fit the memory budget");
    for (size_t i = 0; i < r->n; i++) {
        inputs[n++] = r->s[i]->path;
        for (size_t k = 0; k < r->s[i]->arms_n; k++) {
            const assumption *g = arm_assumes(&r->s[i]->arms[k], TERM_DECODE_GAIN_CARD);
            inputs[n++] = r->s[i]->arms[k].card->path;
            if (g) inputs[n++] = g->gain_card->path;
        }
    }
    /* the report last: standard output stays empty when there is no picture */
    if (cli_target_check(o, "output", lib, inputs, n, e) ||
        cli_target_check(o, "plot", lib, inputs, n, e) ||
        (opts_has(o, "plot") && draw(o, r, mem, e)))
        return e->code;
    return cli_output(o, out, lib, inputs, n, e);
}

static err_code explain(const opts *o, card_library *lib, arena *mem, err *e) {
    const parsed_opt *against = opts_all(o, "against");
    request *r = ARENA_NEW(mem, request);
    if (!r) return err_set(e, E_LIMIT, "explain", "does not fit the memory budget");
    if (opts_has(o, "json") && opts_has(o, "md"))
        return err_set(e, E_USAGE, "explain", "--json and --md exclude each other");
    if (against->n > CHAIN_MAX)
        return err_set(e, E_USAGE, "--against", "given %zu times, expected at most %d", against->n,
                       (int)CHAIN_MAX);
    if (cli_plot_check(o, e) || read_order(o, r, mem, e) || load(o, o->operands[0], lib, r, mem, e))
        return e->code;
    for (size_t i = 0; i < against->n; i++)
        if (load(o, against->value[i], lib, r, mem, e)) return e->code;
    if (against->n ? explain_chain(o, r, mem, e) : explain_arms(o, r, mem, e)) return e->code;
    report_format f = opts_has(o, "json") ? REPORT_JSON
                      : opts_has(o, "md") ? REPORT_MD
                                          : REPORT_TEXT;
    buf out;
    buf_init(&out);
    report_waterfall(r->links, r->links_n, f, mem, &out);
    (void)write_out(o, r, lib, mem, &out, e);
    buf_done(&out);
    return e->code;
}

static int run(const opts *o) {
    return cli_in_arena(o, explain);
}

const command CMD_EXPLAIN = {
    .name = "explain",
    .operands = "SCENARIO",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "say why two arms, or two scenarios' speedups, differ: each assumption's part\n\n"
               "Replaces one assumption after the other, from the baseline arm to another, or from "
               "SCENARIO's\n"
               "head-to-head to that of --against; beside the steps it gives shares that depend on "
               "no order.",
    .example = "examples:\n"
               "  ratecast explain scenarios/head_to_head_4k.json\n"
               "  ratecast explain scenarios/published/legacy_4k.json --against "
               "scenarios/published/head_to_head_4k.json \\\n"
               "      --against scenarios/head_to_head_4k.json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
