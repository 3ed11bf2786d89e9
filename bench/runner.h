/* A run of the engine's own benchmarks: a plan of commands, kept in a folder beside the card so
 * that it can go on after an interruption, and the import of what they printed.
 *
 * The folder holds plan.json (what was asked, the state and the exact command line of each),
 * NAME.jsonl and NAME.stderr.txt of each command that came to an end, NAME.part.* of the one that
 * runs. plan.json is written beside and renamed after every command, so that a run can be killed at
 * any time: what was measured stays, the command that was interrupted begins again.
 *
 * A command that fails does not end the run: what it printed is kept and the next one begins. */
#ifndef RATECAST_BENCH_RUNNER_H
#define RATECAST_BENCH_RUNNER_H

#include "grid.h"
#include "import.h"

#define RUN_PLAN_SCHEMA "ratecast.bench-plan/1"

/* What a plan belongs to: another value is another plan. */
typedef struct run_fact {
    const char *key, *value;
} run_fact;

typedef struct run_request {
    const char *folder; /* made when it is not there */
    grid_want want;
    grid_model model;
    double time_s;
    int64_t memory_bytes;   /* 0: asked from the tool's device, else guessed */
    const char *conditions; /* of the user; NULL: read from the system */
    const run_fact *facts;
    size_t facts_n;
    bool must_resume; /* a folder without a plan is an error */
} run_request;

typedef enum run_state { RUN_PENDING, RUN_DONE, RUN_FAILED, RUN_LEFT_OUT } run_state;
extern const char *const RUN_STATES[]; /* NULL-terminated */

typedef struct run_step {
    grid_command command;
    run_state state;
    const char *why; /* of a failure, or of what was left out; NULL */
    double wall_s;
    size_t returned_n;         /* of command.cells_n */
    const grid_cell **missing; /* requested, not printed */
    size_t missing_n;
} run_step;

typedef struct run_plan {
    const run_request *asked;
    arena *mem;
    int64_t memory_bytes;
    const char *memory_source, *conditions;
    bool memory_guessed;
    bool resumed; /* a plan was there */
    grid grid;
    run_step *steps; /* grid.n of them; one before `start` has been measured */
    size_t n;
    double used_s; /* wall-clock of all commands, earlier runs included */
    int lock;      /* descriptor that keeps others out of the folder */
} run_plan;

/* Who watches. Any may be NULL. */
typedef struct run_watch {
    /* While step i runs, `elapsed_s` since it began; false stops it and the run. */
    bool (*tick)(const run_plan *p, size_t i, double elapsed_s, void *arg);
    /* Step i has ended, or was left out. */
    void (*ended)(const run_plan *p, size_t i, void *arg);
    void *arg;
} run_watch;

/* Takes up the plan in the folder, or begins one. E_REFUSED: the plan is of other facts (the first
 * difference named), must_resume and there is none, or another run works in the folder; E_IO;
 * E_SYNTAX, E_SCHEMA: plan.json is damaged. `r` must outlive the plan. Whatever it returns:
 * runner_close. */
MUST_USE err_code runner_open(const run_request *r, arena *mem, run_plan *out, err *e);
void runner_close(run_plan *p);

/* Runs what is not done. *stopped: `tick` ended it. E_EXTERN: a tool cannot be started at all, or
 * `start` failed, so that nothing can be planned; later failures are states of their steps. */
MUST_USE err_code runner_measure(run_plan *p, const run_watch *w, bool *stopped, err *e);

/* Adds the outputs of all steps that have some. */
MUST_USE err_code runner_import(const run_plan *p, import *in, err *e);

/* Samples that the card's rule for warm samples passes over: slower by more than 20 % than the
 * fastest of their row; and rows that are kept unused. */
typedef struct run_cold {
    size_t samples_n, rows_n, excluded_n;
} run_cold;
run_cold runner_cold(const import *in);

/* Cells of all steps (the doubled first ones counted): asked for, printed, not printed by a
 * command that ended well. */
typedef struct run_cells {
    size_t requested_n, returned_n, skipped_n;
} run_cells;
run_cells runner_cells(const run_plan *p);

/* Why a program may be missing, with the lines that install it. */
err_code runner_tool_missing(const char *tool, const char *option, err *e);

#endif
