/* Scenarios: a workload and the arms (engine configurations) that it is replayed on.
 *
 * Format `ratecast.scenario/1`, field by field in scenarios/README.md. A scenario never contains a
 * result. What a rate card cannot say may be declared here as an assumption, with provenance and
 * reason. A loaded scenario is const and lives in its arena.
 */
#ifndef RATECAST_SCENARIO_H
#define RATECAST_SCENARIO_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/prov.h"
#include "card.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCENARIO_SCHEMA "ratecast.scenario/1"

enum { SCENARIO_ARMS_MAX = 64, SCENARIO_SWEEP_MAX = 64 };
/* Turns of a session (K x H), and tokens of a context, at most. */
enum { WORKLOAD_TURNS_MAX = 1000000, WORKLOAD_TOK_MAX = 1000000000 };

/* What one declared assumption sets. The table in scenario.c says what each takes; README.md
 * explains. */
typedef enum term {
    TERM_PREFILL_TOK_S,   /* flat prefill rate: n tokens take n / value, at any depth */
    TERM_DELTA_PREFILL_S, /* a turn's own new tokens take `value` seconds, whatever their number */
    TERM_PREFILL_CONTEXT_S_PER_TOK2, /* prefill attention: seconds per new token and token before it
                                      */
    TERM_DECODE_TOK_S,     /* B = 1 decode rate, any context; `gain_per_seq_frac` f: B run at
                              value(1+f(B-1)) */
    TERM_DECODE_GAIN_CARD, /* batched step = own B = 1 step x another card's step(B)/step(1) */
    TERM_DECODE_CONTEXT_S_PER_TOK, /* decode attention: seconds per sequence and context token */
    TERM_HOST_STEP_S,              /* added to every decode step */
    TERM_CONSTANT_S, /* an event that occupies the device, `at` start or end, `per` what */
    TERM_WEIGHTS_BYTES,
    TERM_OVERHEAD_BYTES,
    TERM_KV_BYTES_PER_TOK,
    TERM_RECURRENT_STATE_BYTES,
    TERM_KV_EXCLUDES_LAST_OUTPUT, /* KV is booked when a prompt comes in, so a last turn's output is
                                     not counted */
    TERM_TTFT_CLAIM, /* the published TTFT formula, for `figures` only: no price depends on it */
    TERM_QUEUE_WAIT_IN_WALL, /* adds K (K - 1) / 2 prefix prefills of client queue wait to the
                                device time */
    TERM_N
} term;

/* Constants of the head-to-head document's TTFT formula (closed_form.c has the formula). */
typedef struct ttft_claim {
    double warm_base_s, warm_step_s, first_base_s, first_step_s;
    int64_t warm_mod, first_mod;
} ttft_claim;

typedef struct assumption {
    term what;
    double value;
    double
        growth_frac; /* gain_per_seq_frac or growth_per_agent_frac: value x (1 + growth (n - 1)) */
    bool at_start;   /* constant_s: before the first request instead of after the last token */
    int per;         /* constant_s: constant_per */
    const card *gain_card;
    const char *gain_card_ref;
    int64_t context_tok; /* where the gain card's step times are compared */
    ttft_claim ttft;
    prov prov;
    const char *reason, *source;
} assumption;

typedef enum constant_per { PER_SESSION, PER_AGENT, PER_TURN } constant_per;
typedef enum turn_shape { SHAPE_DELTA_FIRST, SHAPE_RESULT_AFTER } turn_shape;
typedef enum prefix_reuse { REUSE_NONE, REUSE_PER_SLOT, REUSE_SHARED } prefix_reuse;
typedef enum batching { BATCH_SERIAL, BATCH_LOCKSTEP, BATCH_CONTINUOUS } batching;
typedef enum first_comers { COMERS_WAIT, COMERS_EACH } first_comers;
/* How the server's loop runs: the general policies above, or llama-server's own
 * (model/llama_server.h). */
typedef enum engine_kind { ENGINE_GENERAL, ENGINE_LLAMA_SERVER } engine_kind;
/* What happened to the prefix before the agents start; its time is part of the session. */
typedef enum warm_up {
    WARM_NONE,
    WARM_FIRST_SLOT, /* one request computed the prefix, its slot keeps it */
    WARM_RESTORED,   /* computed once, saved, and restored into every other slot */
    WARM_SHARED      /* computed once, its cells shared by all slots */
} warm_up;
typedef enum prefill_mode { PREFILL_EXCLUSIVE, PREFILL_MIXED } prefill_mode;

extern const char *const TURN_SHAPE_NAMES[];
extern const char *const CLIENT_ORDER_NAMES[]; /* by one_after_another */
extern const char *const PREFIX_REUSE_NAMES[];
extern const char *const BATCHING_NAMES[];
extern const char *const COMERS_NAMES[];
extern const char *const PREFILL_MODE_NAMES[];
extern const char *const ENGINE_NAMES[];
extern const char *const WARM_NAMES[];
extern const char *const SCOPE_NAMES[]; /* by context_per_slot */
extern const char *const TERM_NAMES[];

/* K agents, H turns each, a shared prefix of P tokens; closed loop. */
typedef struct workload {
    int64_t K, H, P;
    int64_t turn_delta_in_tok, turn_out_tok;
    turn_shape shape;
    int64_t tool_latency_ns;
    const int64_t *start_offset_ns; /* K values */
    const int64_t *private_tok; /* K values: tokens of its own behind the prefix, in every prompt */
    /* K * H output lengths where they vary, turn t of agent k at k * H + t - 1; NULL: turn_out_tok
     */
    const int64_t *out_tok;
    bool one_after_another; /* agent k + 1 starts when agent k has ended its last turn */
} workload;

typedef struct arm {
    const char *name, *title;
    const char *card_ref;
    const card *card;
    prefix_reuse reuse;
    first_comers comers;
    batching batch;
    bool reuse_last_token; /* the published forms count a turn's last sampled token as cached;
                              engines do not */
    prefill_mode prefill;
    engine_kind engine;
    int64_t n_batch, n_ubatch; /* llama-server: rows of one batch, of one micro-batch */
    warm_up warm;
    int64_t max_batch_tok; /* mixed: rows of one iteration, decode rows included */
    int64_t slots_n;       /* requests that can be in flight */
    int64_t block_tok;     /* prefix cache granularity */
    int64_t cold_sights_n; /* shared: how often a prefix is computed before it is found (1: the
                              second time) */
    /* KV capacity; context_tok 0: as much as is used */
    int64_t context_tok;
    bool context_per_slot; /* context_scope: each slot has context_tok, or all slots together */
    kv_layout layout;      /* split: a slot has its part; unified: one pool */
    int64_t slot_pad_tok;  /* split: a slot's part is rounded up to a multiple of this */
    const assumption *assume;
    size_t assume_n;
} arm;

/* Wall-clocks that a document prints for this scenario: claims to compare with, which no engine
 * reads. */
typedef struct printed_walls {
    const char *source;     /* where they are printed; NULL: none are given */
    int64_t decimals;       /* of the printed seconds */
    const int64_t *wall_ns; /* by arm; -1: not printed */
} printed_walls;

typedef struct scenario {
    const char *path, *id, *title, *model;
    char sha256[65];
    workload work;
    int64_t memory_budget_bytes; /* 0: not given */
    const arm *arms;
    size_t arms_n;
    size_t baseline;                 /* index of the arm that gains are measured against */
    const char *sweep_path;          /* "workload.K"; NULL: no sweep */
    const char *const *sweep_values; /* as --set takes them */
    size_t sweep_n;
    printed_walls printed;
    const char *const *unmodeled;
    size_t unmodeled_n;
    const char *const *overrides; /* the --set texts that were applied */
    size_t overrides_n;
} scenario;

/* Loads `path` ("-": stdin), with `sets` ("workload.K=8") applied to the tree before it is read,
 * and every card that it refers to. */
MUST_USE err_code scenario_load(const char *path, card_library *lib, const char *const *sets,
                                size_t sets_n, arena *mem, const scenario **out, err *e);
MUST_USE err_code scenario_parse(const file_bytes *f, card_library *lib, const char *const *sets,
                                 size_t sets_n, arena *mem, const scenario **out, err *e);

/* The scenario with point `point` of its sweep set on top of `sets`; `swept` is what scenario_parse
 * gave for `sets`. */
MUST_USE err_code scenario_parse_point(const file_bytes *f, card_library *lib,
                                       const char *const *sets, size_t sets_n,
                                       const scenario *swept, size_t point, arena *mem,
                                       const scenario **out, err *e);

/* ---- token accounting (design model, section 3): exact integers ---- */

/* Prompt tokens that an agent presents in turn t = 1..H.
 *   delta_first:  P + t Din + (t-1) Dout
 *   result_after: P + (t-1)(Dout + Din), the first turn has no result yet */
int64_t workload_prompt_tok(const workload *w, int64_t t);
/* Output tokens of turn t of agent k. */
int64_t workload_out_tok(const workload *w, int64_t k, int64_t t);
/* Prompt tokens of agent k (from 0): with its private tokens and its own output lengths. */
int64_t workload_agent_prompt_tok(const workload *w, int64_t k, int64_t t);
/* Longest context of agent k: its last prompt and output. */
int64_t workload_max_context_tok(const workload *w, int64_t k);
/* Prompt tokens that all agents present over the whole session. */
int64_t workload_presented_tok(const workload *w);
/* The session of clients that are answered at once: what their starts and tool latencies alone
 * take. No wall-clock is shorter. */
int64_t workload_waiting_ns(const workload *w);

/* The assumption about `what` that holds for this arm; NULL: none. */
const assumption *arm_assumes(const arm *a, term what);

#endif
