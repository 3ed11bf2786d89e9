/* What a value is a value of: time, bytes, tokens, plain numbers, and products and quotients of
 * these. Names of values end with their unit (wall_s, peak_bytes, effective_tok_s), so a name says
 * its dimension. */
#ifndef RATECAST_UNITS_H
#define RATECAST_UNITS_H

#include "base/arena.h"

#include <stdbool.h>

/* Densities are in units of their own: agents per GiB times bytes would be off by 2^30. */
typedef enum units_base {
    BASE_TIME,
    BASE_BYTES,
    BASE_TOK,
    BASE_PER_GIB,
    BASE_PER_GB,
    BASE_N
} units_base;

typedef struct units {
    int power[BASE_N]; /* all 0: a plain number */
} units;

/* Of a value by its name, "wall_s"; false: the name does not say. */
bool units_of_name(const char *name, units *out);
bool units_same(units a, units b);
/* a * b with times 1, a / b with -1. */
units units_product(units a, units b, int times);
/* "s", "tok/s", "a plain number": for who reads that two do not fit. */
const char *units_text(units d, arena *mem);

/* SI value times *factor is the number of `unit`; "" is of every dimension (*any). False: no such
 * unit. */
bool units_find(const char *unit, double *factor, units *d, bool *any);
/* The units of a dimension: "s, ms, min, h"; "none" when it has none. */
const char *units_list(units d, arena *mem);

#endif
