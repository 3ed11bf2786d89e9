/* How the probe takes a time: warm up, sample, keep every sample.
 *
 * Clocks of a GPU ramp up and its first use of anything is slow, so a list of dispatches runs in
 * rounds until the medians of three rounds in a row agree within 2 %, or a time limit. Then it is
 * sampled. A list that is shorter than `sample_min_s` stands several times in one command buffer.
 * Times are seconds of one item: the list has `items_n` of them. */
#ifndef RATECAST_BENCH_MEASURE_H
#define RATECAST_BENCH_MEASURE_H

#include "base/arena.h"
#include "gpu.h"

enum { MEASURE_ROUND_N = 5, MEASURE_SAMPLES_MIN = 15 };

typedef struct measure_options {
    size_t samples_n;      /* at least MEASURE_SAMPLES_MIN for anything published */
    double settle_limit_s; /* of the wall clock */
    double sample_min_s;
} measure_options;

typedef struct measurement {
    double p10_s, median_s, p90_s; /* by the GPU's clock; by the wall clock where it has none */
    double wall_median_s;
    const double *gpu_s, *wall_s; /* samples_n each, in the order taken */
    size_t samples_n;
    int64_t repeats_n; /* of the list in one command buffer */
    bool settled;      /* the warm-up ended by agreement, not by the limit */
    bool gpu_clock;
} measurement;

MUST_USE err_code measure(gpu *g, const gpu_dispatch *d, size_t n, int64_t items_n,
                          const measure_options *o, arena *mem, measurement *out, err *e);

/* p90 / p10. */
double measure_spread(const measurement *m);
/* Do three medians agree within 2 %? */
bool measure_agree(const double medians[3]);
/* Median, p10 and p90 (nearest rank) of n > 0 samples into `out`; they keep their order. E_LIMIT.
 */
MUST_USE err_code measure_summarise(const double *samples, size_t n, arena *mem, measurement *out,
                                    err *e);

#endif
