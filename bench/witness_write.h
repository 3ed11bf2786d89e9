/* A session as a witnessed run: lines of the format `ratecast.witness/1` (calib/WITNESS.md), and a
 * folder that they are added to. */
#ifndef RATECAST_BENCH_WITNESS_WRITE_H
#define RATECAST_BENCH_WITNESS_WRITE_H

#include "session.h"

#include "calib/witness.h"

/* What the session itself does not know. NULL or 0: not known, left out. */
typedef struct witness_meta {
    const char *run_id, *model, *machine, *arm;
    witness_use use;
    int64_t rep; /* how many runs of its kind came before it */
    const char *const *server_args;
    size_t server_args_n;
    bool server_args_told; /* by the user; false: as far as the server tells */
    bool patched_server, slots_erased;
    int64_t warm_up_turns_n; /* turns before the run, not in it */
    const char *url, *client;
    const server_info *server;
} witness_meta;

/* The run as its reader sees it. */
typedef struct witness_seen {
    const witness_run *run;
    bool measured; /* complete: the numbers below are there */
    double wall_s, itl_mean_ms, itl_p50_ms, itl_p99_ms;
    witness_summary cold, warm, all;
} witness_seen;

/* The line of runs.jsonl and those of the session file, read back by calib/witness.h: what does not
 * read is an error. `seen` lives in `mem`. Times are rounded to microseconds. */
MUST_USE err_code witness_text(const session_spec *s, const session_log *log,
                               const witness_meta *meta, arena *mem, buf *run_line, buf *turn_lines,
                               witness_seen *seen, err *e);

/* Finds the id of the next run of folder `dir` ("" or absent: an empty one): `wanted`, which must
 * not be taken, or `stem`-rN with the lowest N that is free. `rep` is N, or how many runs there
 * are. E_USAGE: taken, or no name for a file; what the reader says of a damaged runs.jsonl. */
MUST_USE err_code witness_next_id(const char *dir, const char *wanted, const char *stem, arena *mem,
                                  const char **run_id, int64_t *rep, int64_t *runs_n, err *e);
/* Makes dir and dir/sessions where they are missing; `made` counts them, for witness_unmake. */
MUST_USE err_code witness_make(const char *dir, int *made, err *e);
/* Removes those that witness_make made, as far as they are empty. */
void witness_unmake(const char *dir, int made);
/* Writes dir/sessions/RUN_ID.jsonl, then dir/runs.jsonl with the line behind what it holds by then,
 * both beside the target and renamed. When either fails the folder is as it was. */
MUST_USE err_code witness_append(const char *dir, const char *run_id, const buf *run_line,
                                 const buf *turn_lines, err *e);

#endif
