/* The commands of ratecast-bench, each in its cmd_*.c. */
#ifndef RATECAST_BENCH_COMMANDS_H
#define RATECAST_BENCH_COMMANDS_H

#include "cli/opts.h"

extern const command CMD_RUN, CMD_ROOFLINE, CMD_SESSION, CMD_GGUF, CMD_PROBE;

#endif
