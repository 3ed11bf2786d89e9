/* What a session is to be, from options and a scenario, and whether the server can do it. */
#ifndef RATECAST_BENCH_SESSION_PLAN_H
#define RATECAST_BENCH_SESSION_PLAN_H

#include "session.h"

#include "scenario.h"

typedef struct server_args {
    const char *const *arg;
    size_t n;
} server_args;

/* A command line as a shell splits it: at blanks, with '...', "..." and \ taken away. No variables,
 * no globs. E_USAGE: a quote that is not closed, or nothing in it. */
MUST_USE err_code plan_split_args(const char *text, arena *mem, server_args *out, err *e);
/* What /props tells, as arguments: model, slots, context. Says nothing of the KV layout. */
MUST_USE err_code plan_args_of(const server_info *server, arena *mem, server_args *out, err *e);

/* Workload and cache policy of a scenario and one of its arms (NULL: the only one). E_USAGE: no
 * such arm; E_REFUSED: what an agent of this recorder cannot do (private tokens, lengths that vary,
 * a prepared prefix). */
MUST_USE err_code plan_from_scenario(const scenario *s, const char *arm_name, session_spec *spec,
                                     const char **name, err *e);

/* E_REFUSED: contexts or pinned slots that this server does not have, or arguments that contradict
 * it. Otherwise sentences about what the run will lack go to `notes` (room for PLAN_NOTES_MAX), and
 * *n grows. */
enum { PLAN_NOTES_MAX = 12 };
MUST_USE err_code plan_check(const session_spec *spec, const server_info *server,
                             const server_args *args, bool args_told, arena *mem,
                             const char **notes, size_t *n, err *e);

#endif
