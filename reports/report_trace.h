/* A trace for a viewer (Trace Event JSON: Perfetto, chrome://tracing) and for tables (TSV). Both
 * hold the same spans. */
#ifndef RATECAST_REPORT_TRACE_H
#define RATECAST_REPORT_TRACE_H

#include "base/buf.h"
#include "trace.h"

#include <stdbool.h>

/* A process an arm, a thread a track (the device, then the agents), a complete event a span, a flow
 * a request. Times in microseconds with three decimals: exact. */
void report_trace_events(const trace *t, buf *out);
/* A comment, a header, a row a span. Times in seconds with nine decimals: exact. */
void report_timeline_tsv(const trace *t, buf *out);

/* Whether there is a span in such a table: a picture of none cannot be drawn. */
bool report_timeline_has_rows(const buf *tsv);

#endif
