/* Why two head-to-heads, or two arms, differ: text, Markdown, and `ratecast.explain/1`
 * (reports/explain.schema.json). */
#ifndef RATECAST_REPORT_WATERFALL_H
#define RATECAST_REPORT_WATERFALL_H

#include "base/arena.h"
#include "base/buf.h"
#include "report_project.h"
#include "waterfall.h"

#include <stddef.h>

#define EXPLAIN_SCHEMA "ratecast.explain/1"

/* `links`, n > 0 of them: a chain, each from where the last one ended, or one scenario's arms, each
 * from its baseline. `f`: text, Markdown or JSON. `scratch` holds its strings. */
void report_waterfall(const waterfall *const *links, size_t n, report_format f, arena *scratch,
                      buf *out);
/* The weakest provenance of all states, at best modeled. */
prov report_waterfall_weakest(const waterfall *const *links, size_t n);
/* Speedup of the printed walls; 0: one of them is not printed. */
double report_waterfall_printed_speedup(const waterfall_end *end);

#endif
