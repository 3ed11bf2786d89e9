/* Numbers as text, with the digits that mean something. Strings live in the arena. */
#ifndef RATECAST_NUMBER_H
#define RATECAST_NUMBER_H

#include "base/arena.h"

#include <stdint.h>

/* 393.8, 13.46, 0.9130 */
const char *number_seconds(arena *mem, double s);
/* 469504 -> 469,504 */
const char *number_count(arena *mem, int64_t v);
const char *number_mib(arena *mem, int64_t bytes);
/* Thousands separators for digits that are printed already: 126030.8 -> 126,030.8 */
const char *number_grouped(arena *mem, const char *digits);

#endif
