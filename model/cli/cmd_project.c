#include "cli/trace_files.h"
#include "invariants.h"
#include "project.h"
#include "report_explain.h"
#include "report_packet.h"
#include "report_project.h"
#include "report_stack_tsv.h"
#include "report_sweep_tsv.h"
#include "runs.h"

#include "base/jsonw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const opt_spec OPTS[] = {
    {"arm", 0, "NAME", "project this arm only", true},
    {"set", 0, "PATH=VALUE", "change the scenario: workload.K=8, arms.naive.slots_n=4", true},
    {"card", 0, "ID", "without SCENARIO: rate card by id or path", false},
    {"agents", 'K', "N", "without SCENARIO: agents (default 4)", false},
    {"turns", 'H', "N", "without SCENARIO: turns of each agent (default 20)", false},
    {"prefix", 'P', "N", "without SCENARIO: shared prefix tokens (default 4096)", false},
    {"delta-in", 0, "N", "without SCENARIO: new prompt tokens a turn (default 128)", false},
    {"turn-out", 0, "N", "without SCENARIO: output tokens a turn (default 64)", false},
    {"turn-shape", 0, "SHAPE", "without SCENARIO: delta_first (default) or result_after", false},
    OPT_JSON,
    {"csv", 0, NULL, "comma-separated values, full precision", false},
    {"md", 0, NULL, "Markdown", false},
    OPT_OUTPUT,
    OPT_RATES,
    OPT_SIMULATED,
    {"packet", 0, "FILE",
     "also write an agentic-comparison packet; goes with --json -o and --packet-identity", false},
    {"packet-identity", 0, "FILE",
     "a packet that says what no projection knows: time, host, revisions, digests, quality", false},
    {"plot", 0, "FILE", "also draw the arms' wall-clock, or a sweep: .svg or .png, by gnuplot",
     false},
    OPTS_TRACE,
    {"explain-assumptions", 0, NULL,
     "say what each assumption means and what 10 % more of it would change", false},
    {"strict", 0, NULL, "exit 1 when a rule is broken by an assumption or a price is extrapolated",
     false},
    OPT_HELP,
};

/* ---- a scenario from the command line ---- */

static const char *const WORKLOAD_OPTS[] = {"card",     "agents",   "turns",      "prefix",
                                            "delta-in", "turn-out", "turn-shape", NULL};

/* Digits go into the tree as they are: the scenario loader judges them, with their place. */
static void add_raw(cJSON *o, const char *key, const char *given, const char *otherwise) {
    const char *s = given ? given : otherwise;
    char *end;
    double v = strtod(s, &end);
    (void)v;
    if (*s && *end == '\0' && s[strspn(s, "0123456789")] == '\0')
        cJSON_AddRawToObject(o, key, s);
    else
        cJSON_AddStringToObject(o, key, s);
}

static void add_arm(cJSON *list, const char *name, const char *reuse) {
    cJSON *o = jw_item(list);
    jw_str(o, "name", name);
    jw_str(o, "prefix_reuse", reuse);
    jw_str(o, "batching", "continuous");
}

static char *scenario_text(const opts *o) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", SCENARIO_SCHEMA);
    jw_str(root, "id", "command-line");
    jw_str(root, "title", "workload given on the command line");
    jw_str(root, "card", opts_get(o, "card"));
    cJSON *w = jw_obj(root, "workload");
    add_raw(w, "K", opts_get(o, "agents"), "4");
    add_raw(w, "H", opts_get(o, "turns"), "20");
    add_raw(w, "P", opts_get(o, "prefix"), "4096");
    add_raw(w, "turn_delta_in_tok", opts_get(o, "delta-in"), "128");
    add_raw(w, "turn_out_tok", opts_get(o, "turn-out"), "64");
    jw_str(w, "turn_shape", opts_get(o, "turn-shape") ? opts_get(o, "turn-shape") : "delta_first");
    cJSON *arms = jw_arr(root, "arms");
    add_arm(arms, "shared", "shared");
    add_arm(arms, "per-slot", "per_slot");
    add_arm(arms, "naive", "none");
    jw_str(root, "baseline",
           "per-slot"); /* what a server does without sharing; naive is a worst case */
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}

static const char *const NO_FILE = "<command line>";

static err_code read_options(const opts *o, arena *mem, file_bytes *f, err *e) {
    if (!opts_has(o, "card"))
        return err_set(e, E_USAGE, "project",
                       "expected SCENARIO or --card ID (see `ratecast help project`)");
    char *text = scenario_text(o);
    char *kept = text ? arena_strdup(mem, text) : NULL;
    cJSON_free(text);
    if (!kept) return err_set(e, E_NOMEM, "project", "out of memory");
    *f = (file_bytes){.name = NO_FILE, .s = kept, .len = strlen(kept)};
    file_sha256_hex(f->s, f->len, f->sha256);
    return OK;
}

/* The scenario's bytes, read once: a sweep parses them again for each value. */
static err_code read_input(const opts *o, arena *mem, file_bytes *f, err *e) {
    if (o->operands_n == 0) return read_options(o, mem, f, e);
    for (size_t i = 0; WORKLOAD_OPTS[i]; i++)
        if (opts_has(o, WORKLOAD_OPTS[i]))
            return err_set(e, E_USAGE, "project",
                           "--%s and a SCENARIO file exclude each other: use --set workload.K=8",
                           WORKLOAD_OPTS[i]);
    return file_read(o->operands[0], mem, f, e);
}

/* ---- */

static err_code pick_format(const opts *o, report_format *f, err *e) {
    int n = opts_has(o, "json") + opts_has(o, "csv") + opts_has(o, "md");
    if (n > 1) return err_set(e, E_USAGE, "project", "--json, --csv and --md exclude each other");
    if (opts_has(o, "explain-assumptions") && opts_has(o, "json") + opts_has(o, "csv") > 0)
        return err_set(e, E_USAGE, "project",
                       "--explain-assumptions is for reading: it goes with text and --md");
    *f = opts_has(o, "json")  ? REPORT_JSON
         : opts_has(o, "csv") ? REPORT_CSV
         : opts_has(o, "md")  ? REPORT_MD
                              : REPORT_TEXT;
    return OK;
}

static int exit_code(const sweep_point *points, size_t n, bool strict) {
    bool engine_broken = false, broken = false;
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < RULES_N; i++) {
            const rule_result *r = &points[k].rules[i];
            engine_broken |= r->rule->kind == RULE_ENGINE && r->outcome == RULE_BROKEN;
            broken |= r->outcome == RULE_BROKEN || r->outcome == RULE_BROKEN_DECLARED;
        }
        for (size_t i = 0; i < points[k].p->arms_n; i++)
            broken |= points[k].p->arms[i].extrapolations_n > 0;
    }
    return engine_broken || (strict && broken) ? 1 : 0;
}

/* No target may be an input, and all are looked at before the first is written. */
static err_code write_out(const opts *o, const scenario *s, const card_library *lib, const buf *out,
                          const trace_texts *t, arena *mem, err *e) {
    enum { INPUTS_MAX = 2 + 2 * SCENARIO_ARMS_MAX };
    const char *inputs[INPUTS_MAX];
    size_t n = 0;
    inputs[n++] = s->path;
    inputs[n++] = opts_get(o, "packet-identity");
    for (size_t i = 0; i < s->arms_n; i++) {
        const assumption *g = arm_assumes(&s->arms[i], TERM_DECODE_GAIN_CARD);
        inputs[n++] = s->arms[i].card->path;
        if (g) inputs[n++] = g->gain_card->path;
    }
    if (cli_target_check(o, "output", lib, inputs, n, e) ||
        cli_target_check(o, "trace-events", lib, inputs, n, e) ||
        cli_target_check(o, "timeline-tsv", lib, inputs, n, e) ||
        cli_target_check(o, "timeline-plot", lib, inputs, n, e) ||
        cli_target_check(o, "plot", lib, inputs, n, e))
        return e->code;
    /* the report last: standard output stays empty when a file cannot be written */
    if (trace_files_write(o, t, mem, e)) return e->code;
    return cli_output(o, out, lib, inputs, n, e);
}

static err_code check_packet_options(const opts *o, bool sweep, err *e) {
    if (!opts_has(o, "packet")) {
        if (opts_has(o, "packet-identity"))
            return err_set(e, E_USAGE, "--packet-identity",
                           "found no --packet FILE, expected both");
        return OK;
    }
    if (!opts_has(o, "packet-identity") || !opts_has(o, "json") || !opts_has(o, "output") ||
        sweep || o->operands_n == 0)
        return err_set(e, E_USAGE, "--packet",
                       "expected SCENARIO without a sweep, --json, -o RESULT and --packet-identity "
                       "FILE beside it: a packet names its result by the digest of the bytes");
    return OK;
}

/* A packet of the projection whose JSON is `result`, written and held against the format's own
 * rules: code 1 when it breaks one. */
static err_code write_packet(const opts *o, const projection *p, const buf *result, arena *mem,
                             int *code, err *e) {
    char sha256[65];
    file_bytes identity = {0};
    packet_check check;
    buf out;
    file_sha256_hex(result->s, result->len, sha256);
    const char *line = arena_printf(mem, "ratecast project %s --json", o->operands[0]);
    const parsed_opt *sets = opts_all(o, "set");
    for (size_t i = 0; line && i < sets->n; i++)
        line = arena_printf(mem, "%s --set %s", line, sets->value[i]);
    if (!line) return err_set(e, E_NOMEM, "project", "out of memory");
    if (file_read(opts_get(o, "packet-identity"), mem, &identity, e)) return e->code;
    buf_init(&out);
    if (report_packet_write(p, &identity, opts_get(o, "output"), sha256, line, mem, &out, e) ==
            OK &&
        file_same(opts_get(o, "packet"), opts_get(o, "packet-identity")))
        err_set(e, E_USAGE, "--packet", "%s is an input, expected another file",
                opts_get(o, "packet"));
    file_bytes f = {.name = opts_get(o, "packet"), .s = out.s, .len = out.len};
    if (!e->code && packet_parse(&f, mem, &check, e) == OK &&
        file_write(f.name, out.s, out.len, e) == OK) {
        for (size_t i = 0; i < check.n; i++)
            fprintf(stderr, "ratecast: %s#%s: %s\n", f.name, check.violations[i].where,
                    check.violations[i].what);
        if (!check.valid) *code = 1;
    }
    buf_done(&out);
    return e->code;
}

/* Everything is composed before anything is written. */
static err_code report(const opts *o, const run_set *r, const card_library *lib, report_format f,
                       span_window w, arena *mem, int *code, err *e) {
    const scenario *s = r->s;
    const sweep_point *points = r->points;
    buf out;
    trace_texts t;
    buf_init(&out);
    trace_texts_init(&t);
    bool sweep = r->sweep;
    if (sweep)
        report_sweep(s, points, f, mem, &out);
    else
        report_project(points[0].p, points[0].rules, f, mem, &out);
    if (opts_has(o, "plot") && sweep) report_sweep_tsv(s, points, &t.arms);
    if (opts_has(o, "plot") && !sweep) report_stack_tsv(points[0].p, &t.arms);
    t.script = sweep ? "plots/sweep.gp" : "plots/stack.gp";
    const projection *last = points[r->n - 1].p;
    if (opts_has(o, "explain-assumptions")) (void)report_explain(last, mem, &out, e);
    if (!e->code) (void)trace_files_compose(o, last, w, mem, &t, e);
    if (!e->code) (void)write_out(o, s, lib, &out, &t, mem, e);
    if (!e->code && opts_has(o, "packet")) (void)write_packet(o, points[0].p, &out, mem, code, e);
    buf_done(&out);
    trace_texts_done(&t);
    return e->code;
}

static err_code project(const opts *o, arena *mem, int *code, err *e) {
    card_library lib = cli_library(o);
    const parsed_opt *sets = opts_all(o, "set");
    report_format f = REPORT_TEXT;
    file_bytes in = {0};
    run_set r;
    span_window window;
    if (pick_format(o, &f, e) || read_input(o, mem, &in, e) ||
        runs_read(&in, &lib, sets->value, sets->n, mem, &r, e) ||
        check_packet_options(o, r.sweep, e) || trace_files_check(o, r.sweep, &window, e) ||
        runs_project(&r, &in, &lib, sets->value, sets->n, opts_all(o, "arm")->value,
                     opts_all(o, "arm")->n, mem, e))
        return e->code;
    *code = exit_code(r.points, r.n, opts_has(o, "strict"));
    return report(o, &r, &lib, f, window, mem, code, e);
}

static int run(const opts *o) {
    err e = {0};
    int code = 0;
    arena *mem = arena_new((size_t)OUTPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    if (project(o, mem, &code, &e)) code = cli_fail(&e);
    arena_free(mem);
    return code;
}

const command CMD_PROJECT = {
    .name = "project",
    .operands = "[SCENARIO]",
    .operands_max = 1,
    .summary =
        "replay every arm of a scenario and print the head-to-head\n\n"
        "SCENARIO is a ratecast.scenario/1 file, - is standard input. Without it the workload "
        "comes from\n"
        "--card, -K, -H and -P, on the arms shared, per-slot and naive with continuous batching.",
    .example = "examples:\n"
               "  ratecast project scenarios/head_to_head_4k.json\n"
               "  ratecast project scenarios/head_to_head_4k.json --set workload.K=8 --json -o "
               "result.json\n"
               "  ratecast project --card qwen2-7b-like-q8_0-h200-split -K 4 -H 20 -P 4096\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
