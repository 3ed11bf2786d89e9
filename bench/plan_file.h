/* plan.json in the folder of a run: written beside and renamed, and read again. Of the runner
 * alone. */
#ifndef RATECAST_BENCH_PLAN_FILE_H
#define RATECAST_BENCH_PLAN_FILE_H

#include "runner.h"

/* What an earlier run left of a step. */
typedef struct saved_step {
    const char *name, *command, *why;
    int state;
    double wall_s;
} saved_step;

typedef struct saved_plan {
    bool there;
    saved_step *steps;
    size_t n;
} saved_plan;

/* FOLDER/NAMEENDING; NULL: memory. */
const char *plan_path(const run_plan *p, const char *name, const char *ending);
err_code plan_no_memory(err *e);

/* Two runs at once would write the same files, and measure each other. E_REFUSED, E_IO. */
MUST_USE err_code plan_lock(run_plan *p, err *e);
MUST_USE err_code plan_save(const run_plan *p, err *e);
/* What was saved goes into `old`, and memory and conditions into the plan; nothing where there is
 * no file. Errors as of runner_open. */
MUST_USE err_code plan_load(run_plan *p, saved_plan *old, err *e);

#endif
