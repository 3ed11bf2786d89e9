/* Units as people print them, and printed numbers with what their digits leave open.
 *
 * GB is 10^9 and GiB 2^30: the suffix decides, always. A bare multiple ("64 M") is no unit. A
 * printed number stands for every value that rounds to its digits: 8.2 min is 8.15 to 8.25 min, "~"
 * in front makes trailing zeros of a whole number part of the rounding (~132,400 is 132,350 to
 * 132,450).
 */
#ifndef RATECAST_UNIT_H
#define RATECAST_UNIT_H

#include <stdbool.h>

typedef enum dimension {
    DIM_OTHER, /* not known to the table: kept, never computed with */
    DIM_TIME,
    DIM_BYTES,
    DIM_TOK,
    DIM_TOK_S,
    DIM_FRAC,
    DIM_RATIO,
    DIM_COUNT,
    DIM_BYTES_S,
    DIM_FLOP_S,
    DIM_BYTES_PER_TOK,
    DIM_AGENTS_PER_BYTE,
    DIM_REQ_S,
    DIM_TOK_PER_ROUND,
    DIM_MONEY_PER_TIME,
    DIM_TOK_PER_MONEY,
    DIM_MONEY_PER_TOK,
    DIM_POWER,
    DIM_ENERGY,
    DIM_ENERGY_PER_TOK,
    DIM_TOK_PER_ENERGY
} dimension;

typedef enum unit_prefix { PREFIX_NONE, PREFIX_DECIMAL, PREFIX_BINARY } unit_prefix;

typedef struct unit {
    const char *name;
    dimension dim;
    double scale; /* to base units: seconds, bytes, tokens, USD ... */
    unit_prefix prefix;
} unit;

/* By the name as written ("tok/s", "GiB", "ms"); NULL: not in the table. */
const unit *unit_find(const char *name);
/* A multiple without the thing it counts: "M", "k", "G". */
bool unit_is_bare(const char *name);
/* The unit of bytes with the other kind of multiple (GB for GiB); NULL: none. */
const unit *unit_other_prefix(const unit *u);

/* A printed number in base units. */
typedef struct quantity {
    double v;
    double lo, hi; /* what rounds to the print; +-infinity on the open side of a bound */
    const unit *u; /* never NULL */
    const char *print;
    double step; /* one unit in its last printed place, in base units */
    bool about, bound;
} quantity;

/* `print` holds the digits of `value` (both in units of u) somewhere in its text: "0.52-0.55s",
 * "~140 GB (2 GPU)", "132,400", ">19,500x". NULL, or without them: the shortest digits of `value`.
 */
quantity quantity_of(double value, const unit *u, const char *print);
/* An exact number of base units. */
quantity quantity_exact(double v, const unit *u);

/* Can [lo, hi] hold a value that is printed as q? Widened by 1e-9 of the value for sums in floating
 * point. */
bool quantity_allows(const quantity *q, double lo, double hi);
/* Is q what v becomes when its digits are cut off where rounding would have raised the last one? */
bool quantity_cut(const quantity *q, double v);

#endif
