#include "cli/cli.h"
#include "report_diff.h"

static const opt_spec OPTS[] = {
    OPT_JSON, OPT_OUTPUT, {"strict", 0, NULL, "exit 1 when anything differs", false}, OPT_HELP};

static int run(const opts *o) {
    arena *mem = arena_new((size_t)INPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    err e = {0};
    file_bytes a = {0}, b = {0};
    diff d;
    int code = 0;
    if (file_read(o->operands[0], mem, &a, &e) == OK &&
        file_read(o->operands[1], mem, &b, &e) == OK && diff_results(&a, &b, mem, &d, &e) == OK) {
        buf out;
        buf_init(&out);
        if (opts_has(o, "json"))
            diff_json(&d, &out);
        else
            diff_text(&d, a.name, b.name, mem, &out);
        code = opts_has(o, "strict") && d.n > 0 ? 1 : 0;
        (void)cli_output(o, &out, NULL, o->operands, 2, &e);
        buf_done(&out);
    }
    if (e.code) code = cli_fail(&e);
    arena_free(mem);
    return code;
}

const command CMD_DIFF = {
    .name = "diff",
    .operands = "RESULT_A RESULT_B",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "compare two results of `project --json`: what changed and by how much",
    .example =
        "example:\n"
        "  ratecast project scenarios/head_to_head_4k.json --json -o a.json\n"
        "  ratecast project scenarios/head_to_head_4k.json --set workload.K=8 --json -o b.json\n"
        "  ratecast diff a.json b.json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
