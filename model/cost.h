/* What work costs on a device: a rate card, and the declared assumptions of an arm, as integer
 * nanoseconds.
 *
 * This is the only door from rates to time: the event engine, the closed forms and the oracles all
 * price here and share nothing else. Rounding happens once per price (llround); every price is
 * finite, >= 0 and below 2^62 ns.
 */
#ifndef RATECAST_COST_H
#define RATECAST_COST_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/prov.h"
#include "calib/curve.h"
#include "scenario.h"

#include <stdbool.h>
#include <stdint.h>

#define TIME_MAX_NS ((int64_t)1 << 62)

typedef struct cost cost;

/* Prices of `arm` when at most `batch_max` sequences decode together. E_REFUSED names the term that
 * the card cannot give, and the measurement or the assumption that would. The cost borrows `a` and
 * `w`. */
MUST_USE err_code cost_new(const arm *a, const workload *w, int64_t batch_max, arena *mem,
                           const cost **out, err *e);

/* Prefill of one turn behind depth_tok cached tokens: `prefix_tok` tokens of the shared prefix and
 * `own_tok` of the agent's. 0 when both are 0. */
int64_t cost_prefill_ns(const cost *c, int64_t prefix_tok, int64_t own_tok, int64_t depth_tok);

/* One decode step of B sequences whose contexts sum to S: fixed_ns + llround(per_context_ns * S); m
 * steps in a row, with every context growing by one a step, by cost_decode_run_ns. */
typedef struct decode_price {
    int64_t batch_n;
    int64_t fixed_ns;
    int64_t host_ns; /* of fixed_ns: declared host time (host_step_s), the device waits */
    double per_context_ns;
    int64_t reach_tok; /* longest context measured at this batch size; 0: a declared rate, or none
                          is stated */
    bool extrapolated; /* the batch is outside the measured ones */
    bool scans_pool;   /* the cells of the others are in the price (unified KV) */
    int64_t once_tok;  /* a prefix that all hold and the pool has once */
} decode_price;

decode_price cost_decode(const cost *c, int64_t batch_n);
/* m * fixed + llround(per_context * (m S + B m (m - 1) / 2)), saturating at TIME_MAX_NS. */
int64_t cost_decode_run_ns(const decode_price *p, int64_t sum_context_tok, int64_t steps_n);
/* Of a run of so many steps that takes run_ns: the host's share. */
int64_t cost_decode_host_ns(const decode_price *p, int64_t steps_n, int64_t run_ns);
/* Declared host time of one decode step, in seconds; 0: none. */
double cost_host_step_s(const cost *c);

/* One iteration that mixes decode rows with prompt rows: `batch_n` decoding sequences (0: none)
 * whose contexts sum to sum_context_tok, and pieces of prompts. With both curves from the card the
 * rows share the passes over the weights (T of all rows, micro-batch by micro-batch); with a
 * declared rate nothing is known about sharing and the parts add. */
typedef struct prompt_piece {
    int64_t n_tok, depth_tok;
} prompt_piece;
int64_t cost_mixed_ns(const cost *c, int64_t batch_n, int64_t sum_context_tok,
                      const prompt_piece *pieces, size_t pieces_n);

/* One forward pass over `rows_n` rows, of which decode_rows_n are single tokens of running
 * sequences: their contexts and, under unified KV, the cells of others that they scan. Attention of
 * prompt rows comes on top. Card prices only. */
typedef struct micro_batch {
    int64_t rows_n, decode_rows_n;
    int64_t own_tok, foreign_tok;
} micro_batch;
double cost_micro_batch_s(const cost *c, const micro_batch *m);
/* n new tokens of one sequence in one micro-batch behind `depth_tok` cells that they scan. */
double cost_prompt_attention_s(const cost *c, int64_t n_tok, int64_t depth_tok);

/* Declared constants that occupy the device before the first request / after the last token. */
int64_t cost_constant_ns(const cost *c, bool at_start);
/* Of one assumption (constant_s, queue_wait_in_wall); 0 for any other. */
int64_t cost_constant_of_ns(const cost *c, const assumption *a);

/* The batch sizes that decode prices come from; false: a declared rate. */
bool cost_batch_range(const cost *c, int64_t *lo, int64_t *hi);
/* Do all decode prices come from the card's own curve? */
bool cost_card_decodes(const cost *c);
/* Most cells that a sequence of a measured decode step scanned, those of the others included; 0:
 * the card has no price of them. */
int64_t cost_pool_reach_tok(const cost *c);
/* Does a prefill step of so many rows lie in a wide hole of the card, between its decode steps and
 * its shortest prefill? */
bool cost_in_gap(const cost *c, int64_t rows);

/* ---- memory ---- */

typedef struct memory_terms {
    int64_t weights_bytes, overhead_bytes, kv_bytes_per_tok, recurrent_state_bytes;
    bool kv_excludes_last_output;
    prov prov; /* weakest of what is used */
    bool overhead_known, recurrent_known;
} memory_terms;
memory_terms cost_memory(const cost *c);

/* ---- where the prices come from ---- */

prov cost_prefill_prov(const cost *c); /* weakest input of a prefill price */
prov cost_decode_prov(const cost *c);
/* Terms that an assumption sets; NULL where the card does. */
const assumption *cost_assumes(const cost *c, term what);
/* NULL when the card (or a declared term) does not supply the curve. */
const decode_curve *cost_decode_curve(const cost *c);
const prefill_curve *cost_prefill_curve(const cost *c);
/* The card's measured B = 1 step without attention and the time to stream the weights once, in
 * seconds: the two floors of a forward pass (I-FLOOR). 0: not known. */
double cost_measured_floor_s(const cost *c);
double cost_bandwidth_floor_s(const cost *c);
/* What the card measured for a rate that an assumption replaces, in the assumption's unit; 0:
 * nothing to compare. */
double cost_card_value(const cost *c, term what);

#endif
