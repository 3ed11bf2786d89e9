/* A sweep as a table for plots/sweep.gp: a row for each value and arm. */
#ifndef RATECAST_REPORT_SWEEP_TSV_H
#define RATECAST_REPORT_SWEEP_TSV_H

#include "base/buf.h"
#include "report_project.h"

/* A comment (what it is, the swept path, the memory budget in MiB or "-", the baseline), then
 * columns: value (as the scenario has it), arm, wall_s, speedup (baseline's wall-clock over this
 * arm's), ttft_cold_p50_ms, ttft_warm_p50_ms (empty: no such turns), peak_mib, extrapolated (1:
 * times depend on a price outside the card's measured range). */
void report_sweep_tsv(const scenario *s, const sweep_point *points, buf *out);

#endif
