/* What a card measured nearest to a session: the points that its rates are compared at. */
#ifndef RATECAST_CONTRAST_RATES_H
#define RATECAST_CONTRAST_RATES_H

#include "scenario.h"

/* Points with one key: one of them, and the range of their rates. */
typedef struct rates_decode {
    const decode_point *p; /* NULL: the card has none */
    double lo_tok_s, hi_tok_s;
    prov prov;         /* the weakest */
    bool other_layout; /* the card has points of that batch, of another KV layout than the arm's */
} rates_decode;
typedef struct rates_prefill {
    const prefill_point *p;
    double lo_tok_s, hi_tok_s;
    prov prov;
} rates_prefill;

/* Mean context of a decoding sequence, over all output tokens of the session. */
int64_t rates_mean_context_tok(const workload *w);
/* Sequences of this arm that decode together at most. */
int64_t rates_together_n(const workload *w, const arm *a);

/* The KV layout that this arm runs on: the card's where it states none. */
kv_layout rates_layout(const arm *a);
/* Does a layout stand on both sides, and another one on the card? */
bool rates_other_layout(const card *c, const arm *a);

/* The points of `batch_n` sequences whose context is nearest to the session's mean: of a shared
 * prompt where the arm shares it, of prompts of their own where it does not, if the card has both.
 * Points that state no context (context_tok < 0) only where none does. None of another KV layout:
 * its steps read other cells, and were measured to take another time even for one sequence. */
rates_decode rates_decode_near(const card *c, const arm *a, const workload *w, int64_t batch_n);
/* The points of one prompt alone, behind nothing, whose length is nearest to the first prompt's. A
 * point without a stated length (n_prompt_tok 0) only where none has one. Of any KV layout: a
 * prompt alone computes and reads the same cells in each. */
rates_prefill rates_prefill_near(const card *c, const workload *w);

#endif
