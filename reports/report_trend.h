/* How a sweep goes, at a glance: a sparkline for each arm under its table, text only. */
#ifndef RATECAST_REPORT_TREND_H
#define RATECAST_REPORT_TREND_H

#include "base/arena.h"
#include "base/buf.h"
#include "report_project.h"

/* Nothing for a sweep of one value. */
void report_trend(const scenario *s, const sweep_point *points, arena *scratch, buf *out);

#endif
