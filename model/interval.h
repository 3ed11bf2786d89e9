/* How far a projected wall-clock can be off by what went into it: a 90 % interval, log-normal, from
 * the scatter of the card's points about their curves and, on llama-server's loop, the standard
 * errors of the host terms and the spread of identical runs. Declared waiting (tool latency, the
 * agents' starts) does not vary, and the lower end is never below it. What is not modeled is not in
 * it. */
#ifndef RATECAST_INTERVAL_H
#define RATECAST_INTERVAL_H

#include "base/err.h"
#include "cost.h"
#include "scenario.h"
#include "sim.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct wall_interval {
    bool known; /* false: a declared rate prices the run, or points that nobody measured, or too few
                   to show their scatter */
    bool with_host; /* host terms and identical runs are in it, not the card's scatter alone */
    int64_t lo_ns, hi_ns;
    const char *from; /* what it is made of */
} wall_interval;

/* What stands over intervals of which so many rest on the card's scatter alone and so many on host
 * terms too: "90 % interval" only where the host's time is in it. */
const char *interval_name(size_t by_scatter_n, size_t with_host_n);

/* Of the finished run `sim`. Under llama-server the run is replayed once a host term. */
MUST_USE err_code interval_of(const arm *a, const workload *w, const cost *c, const sim_result *sim,
                              wall_interval *out, err *e);

#endif
