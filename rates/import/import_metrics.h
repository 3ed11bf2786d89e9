/* The metrics of AIPerf and genai-perf, whichever of their outputs stated them: by tag, with the
 * statistics of each, in milliseconds, tokens and tokens a second. */
#ifndef RATECAST_IMPORT_METRICS_H
#define RATECAST_IMPORT_METRICS_H

#include "import.h"

#include <stdbool.h>
#include <stddef.h>

enum { METRICS_MAX = 24, STATS_MAX = 14 };

typedef struct metric {
    double stat[STATS_MAX];   /* by metric_stat_of; NaN: not stated */
    bool conflict[STATS_MAX]; /* two different values: neither is the one */
    bool stated, unit_unknown;
    size_t line;
} metric;

typedef struct metric_set {
    metric m[METRICS_MAX]; /* by metric_of */
    const char *model;
    double concurrency, request_rate; /* NaN: not stated */
    double failed;                    /* requests; NaN: not stated */
    bool streaming_off;               /* stated so */
} metric_set;

metric_set metric_set_new(void);
/* Index of the metric with this tag ("time_to_first_token") or title ("Time to First Token"); -1:
 * another one. */
int metric_of(const char *name);
/* Index of a statistic ("avg", "p99"); -1: another one. */
int metric_stat_of(const char *name);
/* One value with the unit that the source prints. A value that cannot be (negative, an unknown
 * unit, a second one that differs) is noted with its line and not kept. */
void metric_put(import *in, const char *file, size_t line, metric_set *s, int metric, int stat,
                double v, const char *unit);
/* The set as one record, and its rates as rows. */
void metric_set_emit(import *in, const char *file, size_t line, const metric_set *s);

#endif
