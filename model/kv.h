/* The KV cache of one engine: slots, who holds what, what a new prompt can reuse, and how many
 * tokens are resident.
 *
 * Three policies (design model, section 2). `none`: nothing survives a turn. `per_slot`: a slot
 * keeps the tokens of the agent that used it last; another agent that takes the slot finds only the
 * shared prefix. `shared`: one tree over all agents; the prefix is held once. Reuse is block
 * granular: floor(match / block) * block.
 */
#ifndef RATECAST_KV_H
#define RATECAST_KV_H

#include "base/arena.h"
#include "scenario.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct kv kv;

/* NULL: memory. `book_at_prompt`: generated tokens are counted when the next prompt brings them
 * back (kv_excludes_last_output). */
kv *kv_new(const arm *a, const workload *w, bool book_at_prompt, arena *mem);

/* A slot for the agent's request, preferring the one that holds its history, then the least
 * recently used free one (an empty one counts as used never). false: all are busy. */
bool kv_take_slot(kv *c, int64_t agent);
/* The turn is over; what stays depends on the policy. */
void kv_release_slot(kv *c, int64_t agent);

/* How a prompt splits. reused_tok + prefix_tok + own_tok = prompt; the computed tokens stand behind
 * reused_tok. */
typedef struct kv_match {
    int64_t reused_tok;
    int64_t reused_cross_tok; /* of these, tokens that another agent computed */
    int64_t prefix_tok;       /* of the shared prefix, to be computed */
    int64_t own_tok;          /* of the agent's own tokens, to be computed */
} kv_match;

/* What the cache holds of the agent's prompt now. Needs a slot. */
kv_match kv_lookup(const kv *c, int64_t agent, int64_t prompt_tok);
/* A prompt was computed: it is resident, and under `shared`, once it was seen often enough, so is
 * the prefix for everybody. */
void kv_book_prompt(kv *c, int64_t agent, int64_t prompt_tok);
/* The agent decoded n more tokens into the cache. */
void kv_book_decode(kv *c, int64_t agent, int64_t n_tok);

int64_t kv_resident_tok(const kv *c);
int64_t kv_peak_tok(const kv *c);
/* Most sequences with tokens at one time (recurrent state is held for each). */
int64_t kv_peak_sequences(const kv *c);

#endif
