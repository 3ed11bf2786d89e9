/* The machine in front of the user, as far as it can be read portably: memory of the device that
 * the engine would use, and the conditions of a measurement. */
#ifndef RATECAST_BENCH_MACHINE_H
#define RATECAST_BENCH_MACHINE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>

typedef struct machine_memory {
    int64_t bytes;
    const char *source; /* "llama-bench: NVIDIA H200", "half of the memory of the host, ..." */
    int guessed;        /* no device said it */
} machine_memory;

/* Free memory in the text that `llama-bench --list-devices` prints: of the device that has most,
 * all of its description together; 0: none is named. `name`: its description (may be NULL, lives in
 * `mem`). */
int64_t machine_devices_bytes(const char *text, arena *mem, const char **name);

/* On the safe side: half of the host's memory, 8 GiB at most; but the weights and 2 GiB of KV
 * cache, since a machine that cannot hold them cannot be measured. */
machine_memory machine_memory_guess(int64_t weights_bytes, arena *mem);
/* Asks the tool (output kept in `folder`/devices.txt): free memory of its device, or of the host
 * where it lists none; else guesses. */
machine_memory machine_memory_ask(const char *bench, const char *folder, int64_t weights_bytes,
                                  arena *mem);

/* The host's name, or "unknown"; NULL: no memory. Cards and sessions name the machine so. */
const char *machine_name(arena *mem);

/* Processes that want to run, over the last minute, for each core; 0 where it cannot be read. */
double machine_load_per_core(void);

/* One line: load of the host, mains or battery, temperature or throttling, as far as the system
 * says them. Where there is a `pmset` it is asked; its output is kept in `folder`. */
const char *machine_conditions(const char *folder, arena *mem);

#endif
