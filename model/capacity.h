/* KV capacity: what a slot or a pool holds against what the session needs, before anything runs.
 *
 * A request needs its last prompt and its output. Split KV: every slot has its own part. Unified
 * KV: each request may use all of the pool, but what is held together has to fit together; passing
 * because each alone fits is the fault that servers fail on. */
#ifndef RATECAST_CAPACITY_H
#define RATECAST_CAPACITY_H

#include "base/arena.h"
#include "base/err.h"
#include "scenario.h"

#include <stdint.h>

/* KV tokens that the engine allocates up front; 0: the arm gives no context_tok. */
int64_t capacity_reserved_tok(const arm *a);
/* Tokens that one slot has (split), or the whole pool (unified). */
int64_t capacity_slot_tok(const arm *a);
/* E_REFUSED: what is needed, what there is, the smallest context that would do, the largest safe
 * number of slots. */
MUST_USE err_code capacity_check(const arm *a, const workload *w, arena *scratch, err *e);
/* Tokens to spare when everybody is at the longest; -1: no capacity is given. */
int64_t capacity_spare_tok(const arm *a, const workload *w, arena *scratch);

#endif
