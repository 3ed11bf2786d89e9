/* Sparklines: a series as one line of blocks, for terminals. */
#ifndef RATECAST_SPARK_H
#define RATECAST_SPARK_H

#include "base/buf.h"

#include <stddef.h>

/* A block a value, from lo (the lowest block) to hi (the full one); NaN is a blank. All the same
 * when lo = hi. */
void spark(const double *v, size_t n, double lo, double hi, buf *out);

#endif
