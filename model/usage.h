/* What a simulation priced, at its extremes: what the invariants compare with physics, and what a
 * report marks as outside the card's measurements. Both engines note their work here. */
#ifndef RATECAST_USAGE_H
#define RATECAST_USAGE_H

#include "cost.h"

#include <stdint.h>

typedef struct sim_usage {
    int64_t batch_max; /* sequences in one decode step */
    int64_t prefill_context_max_tok;
    int64_t prefill_shortest_ns,
        prefill_shortest_tok; /* shortest prefill of n >= 1 tokens, and its tokens */
    int64_t prefill_fastest_ns, prefill_fastest_tok; /* most tokens per second */
    int64_t step_shortest_ns, step_shortest_batch_n; /* shortest decode step */
    int64_t decode_extrapolated_ns; /* decode time at batch sizes outside the measured ones */
    int64_t beyond_batch_n, beyond_context_tok,
        beyond_reach_tok; /* furthest beyond the measured context, if any */
    /* unified KV: most cells that one prompt (its new tokens included) and one decoding sequence
     * scan, those of others too; 0: nobody pays for the cells of others */
    int64_t prefill_cells_tok, decode_cells_tok;
    int64_t gap_prefill_ns,
        gap_prefill_tok; /* prefill in a wide hole of the card: its time, its shortest prompt */
} sim_usage;

/* n_tok new tokens behind depth_tok cached ones took ns, decode rows of the same pass included. */
void usage_note_prefill(sim_usage *u, int64_t n_tok, int64_t depth_tok, int64_t ns);
/* The same tokens in a wide hole of the card: prefill_ns is what counts as prefill, so of a pass
 * that decode rows share only the prompts' part. */
void usage_note_gap(sim_usage *u, const cost *c, int64_t n_tok, int64_t prefill_ns);
/* Decode at `p` for ns in all, the first step of which took one_step_ns, from contexts that sum to
 * sum_context_tok. */
void usage_note_decode(sim_usage *u, const decode_price *p, int64_t sum_context_tok,
                       int64_t one_step_ns, int64_t ns);
/* A step whose sequences are on average longer than what was measured at its batch size. */
void usage_note_context(sim_usage *u, const decode_price *p, int64_t mean_context_tok);

#endif
