/* Why head-to-heads or arms differ as a table for plots/waterfall.gp: a row a state or a step. */
#ifndef RATECAST_REPORT_WATERFALL_TSV_H
#define RATECAST_REPORT_WATERFALL_TSV_H

#include "base/buf.h"
#include "waterfall.h"

#include <stddef.h>

/* `links` as in report_waterfall. A comment (what it is with the scenarios, "arms" or "scenarios"
 * as what is compared, the arm, the baseline), then columns: link (from 1), kind, term, cause,
 * arm_s, arm_change_s, base_s, base_change_s, speedup, speedup_change, extrapolated (1: a price
 * outside the card's measured range). Walls have nine decimals, and changes sum to them exactly.
 * No number has an exponent: gnuplot takes a text such as 1e-06 for none.
 *
 * kind: printed (by a document), from, to: states, with no change; unexplained, step: the state
 * behind them, and the change to it. A chain has its inner states once, as what they are projected
 * to, so that it is one column of steps. Within a scenario there is no base_s: the baseline stays,
 * and arm_s goes from its wall-clock to the arm's. Empty: nothing is printed there. */
void report_waterfall_tsv(const waterfall *const *links, size_t n, buf *out);

#endif
