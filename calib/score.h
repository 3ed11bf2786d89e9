/* Projections scored against witnessed runs: `ratecast validate`. */
#ifndef RATECAST_SCORE_H
#define RATECAST_SCORE_H

#include "calib/replay.h"

typedef struct error_stats {
    size_t n;
    double mean_abs_frac, median_abs_frac, p90_abs_frac, max_abs_frac, bias_frac;
} error_stats;

typedef struct score_run {
    const replay *r;
    double wall_s, lo_s, hi_s; /* projected, with its 90 % interval */
    bool with_host;            /* the interval is of more than the card's scatter */
    double card_only_wall_s;
    witness_summary cold, warm; /* projected */
    double itl_p50_s, itl_p99_s, memory_bytes;
    /* what they are scored against: the run itself, or the median of repeats that differ by more
     * than 20 % */
    double seen_wall_s, seen_warm_p50_s, seen_warm_p95_s, seen_cold_p50_s;
    double seen_memory_bytes;  /* 0: not measured */
    double repeat_spread_frac; /* (max - min) / min of the walls of identical runs; 0: no sibling */
    bool against_median;
} score_run;

typedef struct score {
    const score_run *runs;
    size_t n;
    const replay *all; /* every run of the folder, for the list of the excluded */
    size_t all_n;
    error_stats wall, wall_card_only, wall_split, wall_unified, warm_p50, warm_p95, cold_p50,
        memory, gap_p99;
    error_stats floor_wall;                      /* each run predicted by its sibling */
    double covered_frac, median_half_width_frac; /* of the 90 % intervals */
} score;

typedef enum score_use { SCORE_SCORE, SCORE_CALIBRATE, SCORE_ALL } score_use;

/* Runs that cannot be projected are marked as excluded in `all`. */
MUST_USE err_code score_runs(replay *all, size_t n, score_use use, arena *mem, score *out, err *e);
/* Errors of the walls of one arm. */
error_stats score_wall_of_arm(const score *s, const char *name, arena *scratch);

#endif
