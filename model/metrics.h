/* What one arm's run reports (design model, section 4). Times in seconds come from integer
 * nanoseconds. */
#ifndef RATECAST_METRICS_H
#define RATECAST_METRICS_H

#include "base/arena.h"
#include "base/err.h"
#include "cost.h"
#include "sim.h"

#include <stdbool.h>
#include <stdint.h>

/* Nearest-rank percentiles of one population; n = 0: the population is empty and the rest means
 * nothing. */
typedef struct percentiles {
    int64_t n;
    int64_t p50_ns, p95_ns, p99_ns, max_ns;
    double mean_ns;
} percentiles;

/* Of n sorted values. */
percentiles percentiles_of_sorted(const int64_t *v, size_t n);

typedef struct memory_use {
    int64_t peak_bytes; /* weights + overhead + max(KV reserved, KV resident) + recurrent state */
    int64_t weights_bytes, overhead_bytes;
    int64_t kv_reserved_bytes; /* what the engine allocates up front; without context_tok on the
                                  arm: the resident peak */
    int64_t kv_resident_bytes; /* peak of tokens really held */
    int64_t kv_resident_tok;
    int64_t recurrent_bytes;
    bool overhead_known, recurrent_known;
    prov prov;
} memory_use;

typedef struct metrics {
    percentiles ttft_cold, ttft_warm, ttft_all; /* turn 1, turns >= 2, all */
    percentiles queue_wait;                     /* request sent to prompt taken up */
    percentiles itl;
    double effective_tok_s; /* output tokens / wall-clock */
    memory_use memory;
    double agents_per_gib;
} metrics;

MUST_USE err_code metrics_of(const sim_result *r, const arm *a, const workload *w, const cost *c,
                             arena *scratch, metrics *out, err *e);

#endif
