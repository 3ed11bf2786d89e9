/* The event engine: one arm of a scenario, replayed on one device.
 *
 * Agents are closed-loop clients. A request waits for a slot, then for the device (first come,
 * first served); its prompt is prefilled (in one piece ahead of decode, or in pieces mixed into
 * running batches), which yields the first output token; then the sequence decodes with whatever
 * else runs until its output is complete; after the tool latency the agent sends its next turn. The
 * device does one thing at a time, and nothing but that work, priced by `cost`, passes time.
 * Between two changes of the running batch decode is one closed-form stretch: cost grows with
 * requests, not with tokens.
 *
 * Clock: int64 nanoseconds. Events are totally ordered (evq.h), so the same input gives the same
 * bytes.
 */
#ifndef RATECAST_SIM_H
#define RATECAST_SIM_H

#include "base/arena.h"
#include "base/err.h"
#include "cost.h"
#include "usage.h"
#include "itl.h"
#include "scenario.h"
#include "spans.h"

#include <stdint.h>

typedef struct turn_record {
    int64_t send_ns;  /* the request leaves the client */
    int64_t start_ns; /* the device takes up its prompt; start - send is the queue wait */
    int64_t first_ns; /* first output token; first - send is the TTFT */
    int64_t done_ns;  /* last output token */
    int64_t reused_tok, reused_cross_tok, computed_tok;
} turn_record;

typedef struct sim_result {
    int64_t wall_ns; /* end of the last event */
    int64_t prefill_ns, decode_ns, other_ns, idle_ns;
    int64_t host_ns;          /* of other_ns: time on the host while the device waits */
    int64_t slot_files_ns;    /* of host_ns: saving and restoring slots (llama-server) */
    const turn_record *turns; /* K * H; turn t (from 1) of agent k is turns[k * H + t - 1] */
    int64_t turns_n;
    /* reused + computed = presented; what the agents present, and of a warm-up's prefix what no
     * agent finds */
    int64_t presented_tok, reused_tok, reused_cross_tok, computed_tok, output_tok;
    int64_t prefill_tok;  /* prompt tokens in the device's prefill, piece by piece */
    int64_t prefix_evals; /* prefills that computed the whole shared prefix */
    const itl_run
        *itl; /* inside an undisturbed stretch the mean gap stands for all but the first */
    size_t itl_n;
    int64_t kv_peak_tok, kv_peak_sequences;
    int64_t stretches_n, events_n;
    sim_usage used;
} sim_result;

/* E_LIMIT: the projection would take 2^62 ns (146 years) or more, or does not fit the memory
 * budget. */
MUST_USE err_code sim_run(const arm *a, const workload *w, const cost *c, arena *mem,
                          sim_result *out, err *e);
/* The same run, and the same result, with the device's time in `device` (NULL: not recorded). */
MUST_USE err_code sim_run_recorded(const arm *a, const workload *w, const cost *c,
                                   span_list *device, arena *mem, sim_result *out, err *e);

#endif
