/* A witnessed run as a session that the engine can replay: its lengths and its configuration, and
 * nothing measured. */
#ifndef RATECAST_REPLAY_H
#define RATECAST_REPLAY_H

#include "base/arena.h"
#include "base/err.h"
#include "calib/witness.h"
#include "card.h"
#include "cost.h"
#include "metrics.h"
#include "scenario.h"
#include "sim.h"

#include <stdbool.h>

/* What was measured of a run: from its turns where they are complete, else from the summary of
 * runs.jsonl. */
typedef struct measured {
    double wall_s;
    witness_summary cold, warm, all;
    double itl_p50_s, itl_p99_s; /* 0: not known */
    bool from_turns;
} measured;

typedef struct replay {
    const witness_run *run;
    const card *card;
    const arm *arm;
    const workload *work;
    const cost *cost;
    measured seen;
    const char *excluded; /* why the run is left out; NULL: it is in */
} replay;

/* Matches every run to a card by model, machine, compute threads and KV layout and builds its
 * replay; a card that states no layout is for runs of any that no other card is for. Excluded with
 * the reason is a run without a card, with two, with errors, without turns (unless `summaries`: its
 * wall and TTFT are then those of runs.jsonl), with output lengths that no record states, with an
 * empty prompt or answer, or with fewer slots than agents. E_SCHEMA when no run matches any card.
 */
MUST_USE err_code replay_set(const witness *w, const card *const *cards, size_t cards_n,
                             bool summaries, arena *mem, replay **out, err *e);

/* Why `ratecast-bench session` cannot make this session on this arm: a recorded run has no field
 * for it. NULL: it can. */
const char *replay_not_recorded(const workload *w, const arm *a);

/* Two runs of one configuration: what differs is chance. */
bool replay_siblings(const witness_run *a, const witness_run *b);

/* Standard deviation of the log walls of identical runs, pooled over the groups of `c`'s runs, or
 * of all where those leave fewer than eight degrees of freedom (a standard deviation good to a
 * quarter) (*free_n). Projects nothing. 0: no run has a repeat. */
double replay_repeat_spread(const replay *all, size_t n, const card *c, size_t *free_n);

/* Runs one replay. `host` NULL: card only. */
MUST_USE err_code replay_run(const replay *r, const host_terms *host, arena *scratch,
                             sim_result *sim, metrics *m, err *e);

#endif
