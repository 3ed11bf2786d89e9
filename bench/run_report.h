/* What a run says: its plan, how far it is, and what came of it. Texts are added to buffers; the
 * command prints them. */
#ifndef RATECAST_BENCH_RUN_REPORT_H
#define RATECAST_BENCH_RUN_REPORT_H

#include "runner.h"

#define RUN_SUMMARY_SCHEMA "ratecast.bench-run/1"

/* Commands with estimates, one a line, and what is left out: for people. */
void run_report_plan(const grid *g, buf *out);
/* The same as ratecast.bench-run/1. */
void run_report_plan_json(const grid *g, buf *out);

/* "3/14 decode_depth: 12 s of about 20 s, about 4 min left": one line for a terminal. */
void run_report_progress(const run_plan *p, size_t i, double elapsed_s, buf *out);
/* "3/14 decode_depth: 5 of 5 cells in 18 s": one line for a step that has ended. */
void run_report_step(const run_plan *p, size_t i, buf *out);

/* Lines about the whole: cells, cells that the tools left out, failures, cold samples. */
void run_report_end(const run_plan *p, const run_cold *cold, buf *out);
/* ratecast.bench-run/1; `card_path` NULL: none was written. */
void run_report_json(const run_plan *p, const run_cold *cold, const char *card_path, buf *out);

#endif
