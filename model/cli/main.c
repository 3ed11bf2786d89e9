#include "cli/cli.h"
#include "cli/program.h"

int main(int argc, char **argv) {
    static const command *const COMMANDS[] = {
        &CMD_PROJECT, &CMD_CHECK, &CMD_SHOW,   &CMD_CARDS, &CMD_FIGURES,
        &CMD_DIFF,    &CMD_INIT,  &CMD_IMPORT, &CMD_FIT,   &CMD_VALIDATE,
        &CMD_EXPLAIN, &CMD_AUDIT, &CMD_LEDGER, &CMD_REPORT};
    static const program_hint HINTS[] = {
        {"sweep", "`project` sweeps a scenario that holds \"sweep\": {\"path\": \"workload.K\", "
                  "\"values\": [1, 4, 16]}, as scenarios/cache_ab.json does"}};
    static const program RATECAST = {
        .name = "ratecast",
        .about =
            "ratecast projects how long a fleet of LLM agents takes before it runs on silicon,\n"
            "and says what that projection rests on.",
        .example = "ratecast project scenarios/head_to_head_4k.json",
        .commands = COMMANDS,
        .commands_n = sizeof COMMANDS / sizeof *COMMANDS,
        .hints = HINTS,
        .hints_n = sizeof HINTS / sizeof *HINTS,
    };
    return program_run(&RATECAST, argc, argv);
}
