/* The self-test of the probe: every kernel on this device against reference.h, at odd sizes, for
 * every number of columns up to 9 and some beyond, at every ratio of query to KV heads. A kernel
 * that fails it has no speed worth knowing. */
#ifndef RATECAST_BENCH_PROBE_TEST_H
#define RATECAST_BENCH_PROBE_TEST_H

#include "base/arena.h"
#include "gpu.h"

/* All cases of one kernel. */
typedef struct probe_check {
    const char *kernel;
    int64_t cases_n, failed_n;
    double error, limit; /* the largest of all cases, relative to the sum of the terms' sizes */
    const char *worst;   /* which case that was */
} probe_check;

enum { PROBE_CHECKS_MAX = 32 };

typedef struct probe_checks {
    probe_check at[PROBE_CHECKS_MAX];
    size_t n;
    int64_t failed_n; /* kernels */
} probe_checks;

/* Failed checks are in the result; E_EXTERN: the device itself failed, E_LIMIT: no memory. */
MUST_USE err_code probe_test_run(gpu *g, arena *mem, probe_checks *out, err *e);
/* One in five of the cases of matrices and attention: for tools that make everything slow. */
MUST_USE err_code probe_test_run_short(gpu *g, arena *mem, probe_checks *out, err *e);

#endif
