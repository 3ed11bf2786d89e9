/* Why two wall-clocks, and the speedup between two arms, differ: a waterfall of assumptions
 * replaced, and what each of them accounts for.
 *
 * The two ends differ in terms (mix.h). Every subset of the terms is taken from the one end, the
 * rest from the other, and projected by the engine (project_run). A step is the change when a term
 * is replaced after those before it, so it depends on the order; a share is the term's Shapley
 * value, its change averaged over all orders (Shapley 1953: sum over the subsets S without term i
 * of |S|! (n - |S| - 1)! / n! * (v(S + i) - v(S))), and depends on no order. Both sum to the whole
 * difference: steps and shares of wall-clock to the nanosecond.
 *
 * Everything lives in the arena that is passed and borrows the scenarios. */
#ifndef RATECAST_WATERFALL_H
#define RATECAST_WATERFALL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/prov.h"
#include "mix.h"
#include "scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WATERFALL_TERMS_MAX = 10 }; /* 2^10 projections of each arm */

/* The two sides of a speedup. */
enum { SIDE_ARM, SIDE_BASE, SIDES_N };

/* One arm's session: the wall-clock and its exact parts. */
typedef struct waterfall_wall {
    int64_t wall_ns, prefill_ns, decode_ns, other_ns, idle_ns;
    prov prov;         /* weakest input, at best modeled */
    bool extrapolated; /* some price lies outside the card's measured range */
} waterfall_wall;

typedef struct waterfall_state {
    waterfall_wall side[SIDES_N];
    double speedup; /* wall-clock of the base over that of the arm */
} waterfall_state;

/* One end: a scenario, its two arms, their walls. */
typedef struct waterfall_end {
    const scenario *s;
    const arm *arm[SIDES_N];
    waterfall_state at;
    /* What a document prints for this end; source NULL: nothing, or the scenario was changed by
     * --set. */
    const char *printed_source;
    int64_t printed_ns[SIDES_N]; /* -1: not printed */
    /* printed minus projected, 0 where the projection rounds to the print or nothing is printed */
    int64_t unexplained_ns[SIDES_N];
    bool printed_differs; /* some unexplained_ns is not 0 */
} waterfall_end;

typedef struct waterfall_change {
    mix_kind kind;
    int side; /* SIDE_ARM or SIDE_BASE; SIDES_N: the same at both */
    mix_change what;
} waterfall_change;

typedef struct waterfall_term {
    const char *name; /* "prefill"; kinds that were taken together: "prefill+card" */
    unsigned kinds;   /* set of mix_kind */
    const waterfall_change *changes;
    size_t changes_n;
    int prov_before, prov_after; /* weakest of the changes; -1: none has one */
    /* after this term and those before it */
    waterfall_state after;
    int64_t step_ns[SIDES_N];
    double step_speedup;
    /* independent of the order */
    int64_t share_ns[SIDES_N];
    double share_speedup;
} waterfall_term;

typedef struct waterfall {
    bool within; /* one scenario: SIDE_ARM goes from the baseline arm to the other; SIDE_BASE stays
                  */
    waterfall_end from, to;
    const waterfall_term *terms; /* in the order of the steps */
    size_t n;
    const char *silent; /* "weights_bytes, ttft_claim": differ and cost no time; "": none */
    const char *joined; /* why some terms were taken together; NULL: none was */
} waterfall;

/* Within `s`: from its baseline arm to `name`. `order`: names of MIX_NAMES, NULL-terminated, to be
 * stepped first, or NULL; one that does not differ is passed over, an unknown one is E_USAGE.
 * E_USAGE also: an unknown arm, more than WATERFALL_TERMS_MAX terms. */
MUST_USE err_code waterfall_within(const scenario *s, const char *name, const char *const *order,
                                   arena *mem, const waterfall **out, err *e);

/* From the head-to-head of `from` to that of `to`: baseline stands for baseline, whatever their
 * names; the other arm is `name` in both, by default the first arm of `from` that is not its
 * baseline. E_USAGE: no such arm, or baselines that the other scenario has as another arm. */
MUST_USE err_code waterfall_against(const scenario *from, const scenario *to, const char *name,
                                    const char *const *order, arena *mem, const waterfall **out,
                                    err *e);

/* Name of the first arm that is not the baseline. NULL, E_USAGE: the scenario has one arm only. */
const char *waterfall_default_arm(const scenario *s, err *e);

/* Shapley values of n <= WATERFALL_TERMS_MAX players; v[S] is the value of the set S of players
 * (bit i: player i), 2^n of them. Nanoseconds: |v[S]| < 2^62; computed exactly, then rounded so
 * that they sum to v[all] - v[none] (largest remainder; the lower player of two equal ones). */
void shapley_ns(const int64_t *v, size_t n, int64_t *share);
void shapley(const double *v, size_t n, double *share);

#endif
