/* A session against a server that runs: K closed-loop agents, H turns each, a shared prefix.
 *
 * The prompt of turn 1 is P token ids that all agents share and `din` of the agent's own
 * (result_after: the P alone); the prompt of turn t is that of the turn before, the ids generated
 * there and `din` new ones. The next turn is sent as soon as the one before it ended and `tool_s`
 * passed. All ids are random and follow from the seed. One thread, one new connection a turn.
 */
#ifndef RATECAST_BENCH_SESSION_H
#define RATECAST_BENCH_SESSION_H

#include "server.h"

#include <signal.h>

/* The smallest id of a prompt: the first three are unknown, begin and end of text in many
 * vocabularies. */
enum { SESSION_VOCAB_LO = 3 };

typedef struct session_spec {
    const server_api *api;
    const char *model_id; /* NULL: the server has one only */
    int64_t K, H, P, din, out;
    bool result_after; /* a turn's din come with the prompt behind it */
    double tool_s, stagger_s;
    double timeout_s; /* of a turn */
    bool serial, pin, cache;
    uint64_t seed;
    int64_t vocab_hi; /* largest id of a prompt */
} session_spec;

typedef struct session_turn {
    int64_t agent, turn; /* from 0; from 1 */
    int64_t prompt_tok, cached_tok, new_tok, out_tok, out_requested;
    int64_t slot;                                /* -1: not stated */
    int64_t send_ns, first_ns, last_ns, done_ns; /* from the start of the session */
    double prompt_ms, predicted_ms;              /* the server's; below 0: not stated */
    const int64_t *gap_ns;                       /* between tokens, as they arrived */
    size_t gaps_n;
} session_turn;

typedef struct session_log {
    const session_turn *turns; /* whole ones, as they ended */
    size_t n;
    const char *const *errors; /* what went wrong, a line a turn; the session ends with the first */
    size_t errors_n;
    int64_t foreign_ids_n; /* generated ids that were not told: random ones stand in their place */
    int64_t uncounted_n; /* turns of which the server did not say how much it reused: taken as 0 */
} session_log;

/* Called as turns end. */
typedef void session_progress(void *arg, int64_t done, int64_t all, double at_s);

/* Tokens of the first prompt and of the longest context; prompt tokens of all turns. */
int64_t session_first_tok(const session_spec *s);
int64_t session_context_tok(const session_spec *s);
int64_t session_presented_tok(const session_spec *s);
/* The first request's body, from the same code that sends it. */
MUST_USE err_code session_first_body(const session_spec *s, buf *out, err *e);

/* `log` lives in `mem`. A turn that fails is no `err`: it stands in the log. E_EXTERN: libcurl
 * failed, or `*stop` was set ("interrupted"): there is no log then. E_LIMIT, E_NOMEM. */
MUST_USE err_code session_run(const session_spec *s, http *h, const volatile sig_atomic_t *stop,
                              session_progress *progress, void *progress_arg, arena *mem,
                              session_log *log, err *e);

#endif
