/* What a run of the probe says: a rate card, a table, and everything as JSON. */
#ifndef RATECAST_BENCH_PROBE_CARD_H
#define RATECAST_BENCH_PROBE_CARD_H

#include "base/buf.h"
#include "probe.h"

enum { PROBE_SPREAD_PERCENT_MAX = 10 };

/* A ratecast.rate-card/1, method probe. Its points are derived: sums of measured kernels (modeled
 * where the device is simulated, and then the card says so). `id` NULL: from model and device.
 * E_REFUSED: a cell whose p90 is over 10 % above its p10, unless `force`; no cell at all. */
MUST_USE err_code probe_card_write(const probe_result *r, const char *id, bool force, arena *mem,
                                   buf *out, err *e);
/* ratecast.probe/1: the device, the self-test, every measurement with its samples. */
MUST_USE err_code probe_json(const probe_result *r, buf *out, err *e);
/* For readers: Markdown tables. */
void probe_table(const probe_result *r, arena *mem, buf *out);
void probe_checks_table(const gpu_info *device, const probe_checks *c, arena *mem, buf *out);

#endif
