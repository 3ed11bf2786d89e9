/* How an arm of a claim comes to its wall-clock, from the claim's own rates, terms and workload. */
#ifndef RATECAST_AUDIT_ACCOUNT_H
#define RATECAST_AUDIT_ACCOUNT_H

#include "audit/facts.h"

/* Where the rate of an arm's prefill is from, the surest first. */
typedef enum prefill_source {
    PREFILL_UNKNOWN,
    PREFILL_USED,      /* declared as used */
    PREFILL_OWN_TTFT,  /* implied by the arm's own cold TTFTs */
    PREFILL_STATED,    /* measured, of this arm or of all */
    PREFILL_OTHER_TTFT /* implied by another arm's: a guess about this one */
} prefill_source;

/* Parts in seconds; a part that the claim does not let compute is not ok. */
typedef struct account {
    const char *arm;
    const claim_figure *wall;    /* printed; NULL: none */
    iv computed_tok;             /* prompt tokens that the policy computes, the published way */
    iv prefix_rate, decode_rate; /* tok/s that the claim uses, all agents together */
    prefill_source prefix_from;
    const claim_rate *prefix_stated; /* the rate of the claim that it is; NULL: implied */
    const claim_rate *decode_used;   /* NULL: taken from what is left of the wall-clock */
    bool prefill_stated;     /* rate declared as used, or implied and new tokens charged apart */
    iv prefill;              /* all prompt tokens, or the prefix when `delta` is charged apart */
    iv delta, other, decode; /* new tokens of turns; constants, penalties; decode */
    iv residual; /* printed wall less prefill, delta and other: what is left for decode */
} account;

/* Of one arm of a claim with a workload. */
account account_of(auditor *a, const char *arm);
/* Prefill + delta + other + decode; not ok when a part is not. */
iv account_wall(const account *x);
/* Seconds of one term over the whole session. */
iv account_term(const claim *c, const claim_term *t);
/* Client queue wait before the first prefill, summed over agents: K (K - 1) / 2 prefixes. */
iv account_queue_wait(auditor *a, const char *arm);
/* Prefill of `arm` with the measured curve over length (t = a L + b L^2, least squares over the
 * stated rates of the claim's own model), every prompt of a session without reuse computed whole;
 * not ok with fewer than three lengths. */
iv account_curve_prefill(auditor *a, const char *arm);

#endif
