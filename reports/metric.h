/* Metrics by name: what reports, figure lists and templates may ask of an arm's result. SI units
 * and plain counts, the unit in the name. */
#ifndef RATECAST_METRIC_H
#define RATECAST_METRIC_H

#include "project.h"

#include <stdbool.h>

enum { METRICS_MAX = 64 };

/* The i-th metric's name, NULL past the last. */
const char *metric_name(size_t i);
/* false: no such metric, or it means nothing for this arm (no budget, no claimed TTFT, an empty
 * population). */
bool metric_get(const projection *p, const arm_result *r, const char *name, double *out);
/* Of a metric that metric_get knows: the weakest input of its kind, at best DERIVED. */
prov metric_prov(const arm_result *r, const char *name);

#endif
