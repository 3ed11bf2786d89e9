/* The published closed forms: what the sources' tables were computed with (design model, section
 * 5).
 *
 * A closed form sums unit prices times integer counts. It shares nothing with the event engine
 * above `cost`; given the same assumptions the engine must land on the same wall-clock to the
 * nanosecond, and that equality is tested. It covers idealised arms only: lockstep or serial
 * batching, the last sampled token counted as cached, all agents starting together, no tool
 * latency, a slot for each agent, prices that do not depend on context.
 */
#ifndef RATECAST_CLOSED_FORM_H
#define RATECAST_CLOSED_FORM_H

#include "cost.h"
#include "metrics.h"
#include "scenario.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct closed_form {
    int64_t prefill_ns, decode_ns, host_ns, constant_ns, wall_ns;
    int64_t presented_tok, computed_tok, reused_tok;
    int64_t prefix_evals;
    int64_t kv_tok; /* at the last prompt, the last turn's output left out when
                       kv_excludes_last_output */
} closed_form;

/* false: the arm is not of a shape that the closed forms cover. */
bool closed_form_of(const arm *a, const workload *w, const cost *c, closed_form *out);

/* The TTFT that the head-to-head document prints, from its own formulas (ttft_claim): over all K *
 * H turns for the shared arm, over the K cold turns for the other one. false: the arm declares no
 * such claim. */
bool closed_form_ttft(const arm *a, const workload *w, const cost *c, arena *scratch,
                      percentiles *out);

#endif
