/* What checks compute with: intervals of printed numbers, and figures that stand beside each other.
 */
#ifndef RATECAST_AUDIT_FACTS_H
#define RATECAST_AUDIT_FACTS_H

#include "audit/audit.h"

/* A value and what rounding leaves open, with the origins it rests on. */
typedef struct iv {
    bool ok; /* false: something it needs is not known; propagates */
    double v, lo, hi;
    unsigned origins;
} iv;

iv iv_none(void);
iv iv_exact(double v, unsigned origins);
iv iv_quantity(const quantity *q, unsigned origins);
iv iv_figure(const claim_figure *f); /* NULL: not ok */
iv iv_add(iv a, iv b);
iv iv_sub(iv a, iv b);
iv iv_mul(iv a, iv b);
iv iv_div(iv a, iv b); /* not ok when b can be 0 or less */
iv iv_scale(iv a, double by);

/* Do arm, streams, context and percentile of two figures allow that they tell of one run? */
bool facts_together(const claim_figure *a, const claim_figure *b);
/* The figure of `m` that stands beside `f`: of several prints of one value the one with the most
 * digits; NULL: none, or several that differ. */
const claim_figure *facts_beside(const claim *c, const claim_figure *f, metric m);
/* All figures of `m` beside `f` as one interval. */
iv facts_range(const claim *c, const claim_figure *f, metric m);
/* The figure that the conditions of `f` refer to by value and unit ("uses 110 tok/s"). */
const claim_figure *facts_used(const claim *c, const claim_figure *f);

/* Time per token of one request beside `f`: the first apart, else between two tokens. */
const claim_figure *facts_tok_time(const claim *c, const claim_figure *f);

/* Do `x` and `y` name one term of one kind (TTFT, mean of it, P99 of it), not two that share a
 * metric? Where it stands (text, table) and the words of
 * `apart` are no part of a name. */
bool facts_one_name(const char *x, const char *y, const char *apart);

/* Agents of the run that `f` tells of. */
iv facts_agents(const claim *c, const claim_figure *f);
/* Output tokens of one request / of the whole run of `f`. */
iv facts_output_tok(const claim *c, const claim_figure *f);
/* Are these no more than a limit ("max_tokens") that answers may end before? */
bool facts_output_is_limit(const claim *c, const claim_figure *f);
iv facts_run_output_tok(const claim *c, const claim_figure *f);
/* Prompt tokens that one request of `f` computes. */
iv facts_request_computed_tok(const claim *c, const claim_figure *f);

/* Prompt tokens that all agents present over a session, and those that a policy computes when an
 * agent's whole history is cached (design model, section 3); `each`: every agent computes a shared
 * prefix that is not there yet. Doubles: exact below 2^53, and a hostile workload overflows
 * nothing.
 */
double facts_presented_tok(const workload *w);
double facts_policy_tok(const workload *w, prefix_reuse reuse, bool each);

/* The time to first token of one request alone that implies the highest prefill rate: a lower bound
 * of the rate, the tokens it computes over the time. NULL: none. */
const claim_figure *facts_fastest_ttft(const claim *c, iv *tok, iv *rate);

/* The chip that `f` was taken on: by name among several, else the only one; from the catalogue what
 * the claim does not state. mem_bw 0: not known. NULL: no chip is named. */
const claim_chip *facts_chip(const auditor *a, const claim_figure *f);

/* The variant that the arm's name begins like; else the model itself. */
const kv_shape *facts_shape(const claim *c, const claim_figure *f);
/* Parameters that a token of `f` goes through; 0: not stated. */
double facts_active_params(const claim *c, const claim_figure *f);
/* Sequences that a rate is over: its own, else the workload's. Not ok: neither says. */
iv facts_streams(const claim *c, const claim_figure *f);
/* Tokens that the KV cache of `f`'s run has room for: printed, or blocks of stated size. */
iv facts_kv_room_tok(const claim *c, const claim_figure *f);

/* Weight bytes of one pass for `f`, lightest and heaviest that what is stated leaves open. */
iv facts_pass_bytes(const claim *c, const claim_figure *f, bool *unstated);

/* Prefill rate that an arm's cold TTFTs imply when its K agents compute the prefix one after the
 * other (nearest rank: the r-th of K is done after r prefixes; what each adds is left out). Not ok:
 * not such an arm. */
iv facts_implied_prefill(auditor *a, const char *arm, const claim_figure **from);
/* Can the arm's TTFT percentiles be over nothing but its cold first turns? (check_population.c) */
bool population_is_cold(auditor *a, const char *arm);
/* Do several tokens come out of a pass over the weights of the run of `f`? The most that a round
 * can emit: what is printed, else one more than is drafted; not ok: not known. (check_physics.c) */
bool physics_speculative(const claim *c, const claim_figure *f);
iv physics_round_tok(const claim *c, const claim_figure *f);
/* The measured prefill rate for an arm: its own, else one without an arm; NULL: none. */
const claim_rate *facts_stated(const claim *c, const char *arm, rate_phase phase, int64_t batch_n);
bool facts_own_model(const claim *c, const claim_rate *r);

/* Text of a number with its unit, for sentences: "126.0 s", "10,667 tok/s", "3072 MiB". In the
 * auditor's arena. */
const char *say_s(auditor *a, double s);
const char *say_num(auditor *a, double v, const char *unit);
const char *say_in(auditor *a, double v, const unit *u);

#endif
