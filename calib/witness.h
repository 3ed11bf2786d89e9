/* Witnessed runs: what a real server did with K agents over H turns, turn by turn.
 *
 * A folder holds runs.jsonl (one object a run: configuration, server arguments, summary) and
 * sessions/ (*.jsonl, one object a turn, joined by run_id). Format `ratecast.witness/1`, field by
 * field in calib/WITNESS.md. Everything loaded is const and lives in the arena. Times are seconds
 * from the start of the run, token counts are the server's own.
 *
 * A wrong file is an `err`. A run that is on record but must not be used is loaded with `excluded`
 * set; a run whose turns were not all found has `complete` false. Which of them to leave out is up
 * to the caller.
 */
#ifndef RATECAST_WITNESS_H
#define RATECAST_WITNESS_H

#include "card.h"

#define WITNESS_SCHEMA "ratecast.witness/1"

typedef struct witness_turn {
    int64_t agent; /* 0-based */
    int64_t turn;  /* 1-based */
    int64_t prompt_tok, cached_tok, new_tok, out_tok, out_requested;
    double t_send_s, t_first_s, t_last_s, t_done_s;
    int64_t slot;         /* -1: not stated */
    const double *itl_ms; /* gaps between tokens */
    size_t itl_n;
} witness_turn;

typedef enum witness_use { USE_CALIBRATE, USE_SCORE } witness_use;

/* Time to first token of one population; n = 0: not there. */
typedef struct witness_summary {
    int64_t n;
    double p50_s, p95_s;
} witness_summary;

typedef struct witness_run {
    const char *id, *model, *machine, *arm;
    const char *warm; /* what happened before the agents started, inside the wall; NULL: nothing */
    int64_t K, H, P, din, out; /* din and out are 0 in an interference run */
    bool result_after;         /* a turn's din come with the prompt behind it, not with its own */
    double stagger_s, tool_s, out_jitter;
    bool serial, pinned, cache_prompt, patched;
    /* From server_args, with llama-server's defaults, as stated: the engine may lower n_batch to
     * the context and n_ubatch to n_batch. threads_n, context_tok 0: not stated (the engine's
     * choice). */
    int64_t threads_n, n_batch, n_ubatch, context_tok, slots_n;
    kv_layout layout;
    /* Arm "interference", K = 2: agent 0 sends n0 tokens and decodes out0, agent 1 sends N tokens
     * delay_s later and decodes out1. 0 in any other run. */
    int64_t n0, out0, N, out1;
    double delay_s;
    witness_use use;
    /* The file's own summary; 0: not there. */
    double wall_s, itl_mean_ms, itl_p50_ms;
    witness_summary cold, warm_ttft, all;
    double mem_before_bytes, mem_peak_bytes, mem_after_load_bytes; /* 0: not there */
    const witness_turn *turns; /* by agent, then turn; those that were found */
    size_t turns_n;
    bool complete;        /* every agent has turns 1..H; interference: both requests */
    const char *excluded; /* NULL, or why this run must not be used */
} witness_run;

typedef struct witness {
    const witness_run *runs; /* in the order of runs.jsonl */
    size_t n;
    const char *const *warnings;
    size_t warnings_n;
    const file_bytes *files; /* runs.jsonl, then the session files; witness_load only */
    size_t files_n;
} witness;

/* DIR/runs.jsonl and DIR/sessions/ (*.jsonl in name order). E_IO: a folder or file is missing;
 * E_SYNTAX, E_SCHEMA, E_RANGE with FILE:LINE: a line is not what the format asks for. NUL bytes in
 * a session file are what a damaged copy has where records were: a warning, and the records that
 * remain are used. */
MUST_USE err_code witness_load(const char *dir, arena *mem, witness *out, err *e);
/* The same from bytes already read. */
MUST_USE err_code witness_parse(const file_bytes *runs, const file_bytes *sessions,
                                size_t sessions_n, arena *mem, witness *out, err *e);

/* What the turns themselves say: percentiles by nearest rank, wall = last token of the last turn.
 * The ITL percentiles are over the gaps of all turns, 0 when there are none. False when the run is
 * not complete or `scratch` is spent; nothing is written then. */
bool witness_measure(const witness_run *r, arena *scratch, double *wall_s, witness_summary *cold,
                     witness_summary *warm, witness_summary *all, double *itl_p50_ms,
                     double *itl_p99_ms);

#endif
