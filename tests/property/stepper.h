/* The slow oracle: the same session token by token.
 *
 * Shares with the engine only `cost` and the workload's arithmetic: no event queue, no KV module,
 * no closed-form stretch. Time is a double in nanoseconds, advanced one decode step, one prompt or
 * one mixed iteration at a time; every agent is looked at in every round. Slots, reuse and waiting
 * are kept in plain arrays of its own. */
#ifndef RATECAST_TESTS_STEPPER_H
#define RATECAST_TESTS_STEPPER_H

#include "cost.h"
#include "scenario.h"

#include <stdint.h>

typedef struct stepper_result {
    double wall_ns, prefill_ns, decode_ns, other_ns, idle_ns;
    int64_t presented_tok, reused_tok, computed_tok, output_tok, prefix_evals;
    double ttft_sum_ns, ttft_max_ns, wait_sum_ns;
} stepper_result;

stepper_result stepper_run(const arm *a, const workload *w, const cost *c);

#endif
