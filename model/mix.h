/* What two arms differ in, sorted into a handful of kinds, and arms made of some kinds of the one
 * and the rest of the other: the intermediate steps between two projections.
 *
 * A kind is what makes sense together: a policy, a rate and what extends it, the constants. Terms
 * that cost no time (memory, ttft_claim) are no kind: they go with the card. Everything here lives
 * in the arena that is passed and borrows the arms and workloads. */
#ifndef RATECAST_MIX_H
#define RATECAST_MIX_H

#include "base/arena.h"
#include "base/err.h"
#include "scenario.h"

/* In the order in which steps are taken unless another one is asked for: the session, what is no
 * work at all, then the work: what is computed, at which rates, scheduled how, by what. */
typedef enum mix_kind {
    MIX_AGENTS,     /* K, private_tok, start offsets; slots_n where it is one an agent */
    MIX_TURNS,      /* H */
    MIX_PREFIX,     /* P */
    MIX_TURN,       /* turn_delta_in_tok, turn_out_tok, turn_shape */
    MIX_PACE,       /* tool latency, client_order */
    MIX_QUEUE_WAIT, /* queue_wait_in_wall */
    MIX_CONSTANT,   /* every constant_s */
    MIX_REUSE,      /* prefix_reuse and what belongs to it */
    MIX_PREFILL,    /* prefill_tok_s, prefill_context_s_per_tok2, or the card's points */
    MIX_DELTA,      /* delta_prefill_s, or the prefill rate */
    MIX_DECODE,     /* decode_tok_s, decode_gain_card, decode_context_s_per_tok, or the card's */
    MIX_HOST_STEP,
    MIX_BATCHING, /* batching, prefill mode, slots_n */
    MIX_LAST_TOKEN,
    MIX_CAPACITY, /* context_tok and its division */
    MIX_ENGINE,
    MIX_CARD,
    MIX_N
} mix_kind;
/* By mix_kind, NULL-terminated. */
extern const char *const MIX_NAMES[];

/* Sets of kinds: bit k is mix_kind k. */
#define MIX_BIT(kind) (1U << (kind))
#define MIX_POLICIES                                                                               \
    (MIX_BIT(MIX_REUSE) | MIX_BIT(MIX_BATCHING) | MIX_BIT(MIX_LAST_TOKEN) |                        \
     MIX_BIT(MIX_CAPACITY) | MIX_BIT(MIX_ENGINE))
#define MIX_RATES                                                                                  \
    (MIX_BIT(MIX_PREFILL) | MIX_BIT(MIX_DELTA) | MIX_BIT(MIX_DECODE) | MIX_BIT(MIX_CARD))
#define MIX_SIZES                                                                                  \
    (MIX_BIT(MIX_AGENTS) | MIX_BIT(MIX_TURNS) | MIX_BIT(MIX_PREFIX) | MIX_BIT(MIX_TURN) |          \
     MIX_BIT(MIX_PACE) | MIX_BIT(MIX_CAPACITY) | MIX_BIT(MIX_BATCHING))
#define MIX_ALL (MIX_BIT(MIX_N) - 1)

typedef struct mix_end {
    const workload *w; /* out_tok NULL, as in every scenario file */
    const arm *a;
} mix_end;

/* "prefill_tok_s 65 -> 48.54", with the weakest provenance of what is left out and of what takes
 * its place; -1: nothing that has one (a policy, an absent term). */
typedef struct mix_change {
    const char *text; /* NULL: this kind is the same at both ends */
    int prov_before, prov_after;
} mix_change;
MUST_USE err_code mix_compare(mix_kind kind, const mix_end *from, const mix_end *to, arena *mem,
                              mix_change *out, err *e);

/* Names of assumptions that differ and cost no time, "weights_bytes, ttft_claim"; "" when there are
 * none. */
MUST_USE err_code mix_silent(const mix_end *from, const mix_end *to, arena *mem, const char **out,
                             err *e);

/* The kinds in `kinds` as in `to`, the others as in `from`. E_REFUSED: rules of the scenario format
 * that hold at both ends are broken between them (lockstep with too few slots, say). */
MUST_USE err_code mix_take(const mix_end *from, const mix_end *to, unsigned kinds, arena *mem,
                           workload *w, arm *a, err *e);

#endif
