/* Host terms from witnessed runs marked `calibrate`: time that the engine spends outside the
 * device.
 *
 * A few numbers, smooth in the number of rows, one set for an engine on a machine: no value per K,
 * per arm or per run, and fewer of them than runs. They are found by replaying the runs and fitting
 * wall-clock, ITL and TTFT together.
 */
#ifndef RATECAST_HOST_FIT_H
#define RATECAST_HOST_FIT_H

#include "calib/replay.h"

typedef struct host_fit {
    host_terms terms;
    size_t params_n, runs_n;
    const char *
        dropped; /* terms that these runs do not identify, and what would; "" when all are fitted */
    const char *const *run_ids;
    const double *residual_frac; /* wall projected / seen - 1 of each run */
    const double *loo_frac;      /* the same from a fit without that run */
    double card_only_mean_frac;  /* mean |error| of the walls without host terms */
    bool client_gap_seen; /* false: no turns of these runs are recorded, the gap is assumed */
} host_fit;

/* Runtime buffers on the device: the median of what runs of `c` used beside weights and KV; 0: no
 * run of it says. */
double host_fit_overhead_bytes(const replay *const *runs, size_t n, const card *c);
/* Seconds to save and restore a token of a slot of `c`: bytes at the speed seen on one machine
 * (assumed on any other). */
void host_fit_slot_files(const card *c, host_terms *out);
/* `runs` are those to fit to, none excluded. `repeat_spread_frac`: standard deviation of identical
 * runs, from elsewhere. E_REFUSED: fewer than two runs. */
MUST_USE err_code host_fit_run(const replay *const *runs, size_t n, double repeat_spread_frac,
                               arena *mem, host_fit *out, err *e);

#endif
