/* Cells of the tables that plots/ draws from. */
#ifndef RATECAST_TSV_H
#define RATECAST_TSV_H

#include "base/buf.h"
#include "base/prov.h"

#include <stdbool.h>
#include <stdint.h>

/* A text as gnuplot can read it back: a quotation mark ends a field for gnuplot, whatever stands
 * before it, so it becomes U+2033. */
void tsv_text(const char *s, buf *out);
/* The banner that a table begins with, "# [MODELED PROJECTION] ": what a picture says of itself. */
void tsv_banner(prov weakest, bool simulated, buf *out);
/* Seconds with nine decimals, exactly. */
void tsv_ns_as_s(int64_t ns, buf *out);

#endif
