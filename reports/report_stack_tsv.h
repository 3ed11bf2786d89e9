/* The wall-clock of each arm by what it went into, as a table for plots/stack.gp: a row an arm. */
#ifndef RATECAST_REPORT_STACK_TSV_H
#define RATECAST_REPORT_STACK_TSV_H

#include "base/buf.h"
#include "project.h"

/* A comment (what it is, K, H, P, the baseline, what the intervals are called), then columns: arm,
 * wall_s, prefill_s, decode_s, other_s, idle_s (nine decimals; the four sum to the wall-clock
 * exactly), lo_s, hi_s (the 90 % interval of the wall-clock; empty: none), speedup (the baseline's
 * wall-clock over this arm's; empty: it takes no time), extrapolated (1: times depend on a price
 * outside the card's measured range). */
void report_stack_tsv(const projection *p, buf *out);

#endif
