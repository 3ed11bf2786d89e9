/* From a scenario to the results of its arms: price, replay, measure, check. */
#ifndef RATECAST_PROJECT_H
#define RATECAST_PROJECT_H

#include "base/arena.h"
#include "base/err.h"
#include "cost.h"
#include "interval.h"
#include "metrics.h"
#include "scenario.h"
#include "sim.h"

#include <stddef.h>

/* Whether an arm's peak memory fits what there is: the scenario's budget, where it states one, else
 * the memory of the card's device. A vendor's GB may be 2^30, so up to that it cannot be told. */
typedef enum memory_outcome {
    MEMORY_NOT_KNOWN, /* neither is stated */
    MEMORY_FITS,
    MEMORY_CANNOT_TELL,
    MEMORY_TOO_MUCH
} memory_outcome;

typedef struct memory_fit {
    memory_outcome outcome;
    int64_t limit_bytes; /* 0: not known */
    bool is_budget;
    int64_t over_bytes; /* peak less limit; 0: it fits */
} memory_fit;

typedef struct arm_result {
    const arm *arm;
    const cost *cost;
    sim_result sim;
    metrics m;
    prov time_prov;     /* of wall-clock, TTFT and rates: weakest input, at best modeled */
    wall_interval wall; /* 90 % */
    memory_fit fit;
    int64_t k_in_budget; /* largest K whose peak fits memory_budget_bytes; -1: no budget given */
    const char *k_note;  /* what limits it, where that is not memory; NULL: memory */
    bool k_capped;       /* the search stopped at its limit, more may fit */
    const char *const *extrapolations; /* "decode at 16 sequences (measured: 1 to 5)" */
    size_t extrapolations_n;
    const char *const *notes; /* what was taken as given without a measurement */
    size_t notes_n;
} arm_result;

typedef struct projection {
    const scenario *scenario;
    const arm_result *arms;
    size_t arms_n;
    size_t baseline; /* index into arms */
} projection;

/* Runs the arms named in `only` (all when only_n is 0). E_USAGE: an unknown arm name. The
 * projection lives in `mem` and borrows the scenario. */
MUST_USE err_code project_run(const scenario *s, const char *const *only, size_t only_n, arena *mem,
                              const projection **out, err *e);
/* "peak memory is 101510.4 MiB, the device has 36864.0 MiB: 64646.4 MiB too much", of an arm that
 * is over its limit; else empty. */
void memory_fit_say(const arm_result *r, char *out, size_t cap);
/* Weakest class of any arm's times, at best MODELED: what a projection as a whole may call itself.
 */
prov projection_prov(const projection *p);
/* Does any card behind it, or behind one of its arms, describe a simulated device? */
bool projection_simulated(const projection *p);
bool arm_simulated(const arm *a);
/* Replays an arm of `p`, with the device's time in `device`: the session that `p` has, again. */
MUST_USE err_code project_record(const projection *p, size_t arm_i, span_list *device, err *e);

#endif
