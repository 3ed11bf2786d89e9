#include "cli/cli.h"

#include <sys/stat.h>

static const opt_spec OPTS[] = {
    {"output", 'o', "FILE", "write to FILE, which must not exist yet, instead of standard output",
     false},
    OPT_HELP};

/* Valid JSON has no comments: "note" keys are where they go, and every object may have one. */
static const char STARTER[] =
    "{\n"
    "  \"schema\": \"ratecast.scenario/1\",\n"
    "  \"id\": \"my_session\",\n"
    "  \"title\": \"4 agents on one shared prefix\",\n"
    "  \"note\": \"Project it with: ratecast project FILE. Field by field: "
    "scenarios/README.md.\",\n"
    "  \"card\": \"qwen2-7b-like-q8_0-h200-split\",\n"
    "  \"workload\": {\n"
    "    \"note\": \"K agents, H turns each, P shared prefix tokens; a turn brings new prompt "
    "tokens and makes output tokens. turn_shape "
    "delta_first: prompt t = P + t x in + (t - 1) x out; result_after: turn 1 is the prefix alone. "
    "tool_latency_s passes between the end of a "
    "turn and the next request.\",\n"
    "    \"K\": 4,\n"
    "    \"H\": 20,\n"
    "    \"P\": 4096,\n"
    "    \"turn_delta_in_tok\": 128,\n"
    "    \"turn_out_tok\": 64,\n"
    "    \"turn_shape\": \"delta_first\",\n"
    "    \"tool_latency_s\": 0.5\n"
    "  },\n"
    "  \"assumptions\": [\n"
    "    {\n"
    "      \"note\": \"What no card measured is declared, with provenance and reason. This one "
    "adds nothing; scenarios/README.md lists the "
    "terms.\",\n"
    "      \"term\": \"host_step_s\",\n"
    "      \"value\": 0,\n"
    "      \"provenance\": \"assumed\",\n"
    "      \"reason\": \"time of sampling and scheduling for each decode step: not measured "
    "here\"\n"
    "    }\n"
    "  ],\n"
    "  \"arms\": [\n"
    "    {\n"
    "      \"note\": \"One tree over all agents: the prefix is computed once.\",\n"
    "      \"name\": \"shared\",\n"
    "      \"prefix_reuse\": \"shared\",\n"
    "      \"first_comers\": \"wait\",\n"
    "      \"batching\": \"continuous\"\n"
    "    },\n"
    "    {\n"
    "      \"note\": \"A slot for each agent finds that agent's own history.\",\n"
    "      \"name\": \"per-slot\",\n"
    "      \"prefix_reuse\": \"per_slot\",\n"
    "      \"batching\": \"continuous\"\n"
    "    }\n"
    "  ],\n"
    "  \"baseline\": \"per-slot\",\n"
    "  \"unmodeled\": [\"host time per token, step and request\"]\n"
    "}\n";

static int run(const opts *o) {
    err e = {0};
    struct stat st;
    const char *path = opts_get(o, "output");
    if (path && stat(path, &st) == 0)
        err_set(&e, E_USAGE, "--output", "%s exists, expected a file that does not", path);
    else
        (void)file_write(path, STARTER, sizeof STARTER - 1, &e);
    return e.code ? cli_fail(&e) : 0;
}

const command CMD_INIT = {
    .name = "init",
    .operands = "",
    .summary = "write a commented starter scenario",
    .example = "example:\n  ratecast init -o my_session.json && ratecast project my_session.json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
