#include "commands.h"

#include "cli/program.h"

int main(int argc, char **argv) {
    static const command *const COMMANDS[] = {&CMD_RUN, &CMD_ROOFLINE, &CMD_SESSION, &CMD_GGUF,
                                              &CMD_PROBE};
    static const program BENCH = {
        .name = "ratecast-bench",
        .about =
            "ratecast-bench measures the engine on the machine in front of you: rate cards, and\n"
            "witnessed sessions that projections are scored against.",
        .example = "ratecast-bench run --shape qwen2.5-7b --quant q4_k_m -o my-gpu.json",
        .commands = COMMANDS,
        .commands_n = sizeof COMMANDS / sizeof *COMMANDS,
    };
    return program_run(&BENCH, argc, argv);
}
