/* Claims: a published statement about speed or memory, as data.
 *
 * Format `ratecast.claim/1`, field by field in scenarios/claims/README.md. A claim says what was
 * printed, with which digits; it never says what follows from it. Files of the older shape without
 * "schema" load too: unknown keys are then passed over. A loaded claim is const and lives in its
 * arena. Numbers are in base units (seconds, bytes, tokens).
 */
#ifndef RATECAST_CLAIM_H
#define RATECAST_CLAIM_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/unit.h"
#include "scenario.h"

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLAIM_SCHEMA "ratecast.claim/1"

/* Where an item of a claim comes from; bits, so that a finding can name several. */
typedef enum origin {
    ORIGIN_PRINTED = 1,   /* stands in the source */
    ORIGIN_RECOVERED = 2, /* worked out from printed figures */
    ORIGIN_EXTERNAL = 4   /* stands elsewhere: another document, a data sheet */
} origin;

/* What a figure measures: given by its "metric", else read from its name, unit and conditions
 * (claim_words.c). */
typedef enum metric {
    METRIC_OTHER,
    METRIC_WALL,
    METRIC_TTFT,
    METRIC_PREFILL_TIME,
    METRIC_DECODE_TIME,
    METRIC_QUEUE_TIME,
    METRIC_ITL,     /* seconds between two tokens of one stream */
    METRIC_TPOT,    /* seconds per token of one request, the first apart */
    METRIC_LATENCY, /* a whole request */
    METRIC_DECODE_RATE,
    METRIC_PREFILL_RATE,
    METRIC_OUTPUT_RATE,  /* output tokens over wall-clock, all streams */
    METRIC_TOTAL_RATE,   /* prompt and output tokens over wall-clock */
    METRIC_INPUT_RATE,   /* prompt tokens over wall-clock */
    METRIC_STREAM_RATE,  /* decode rate of one stream among several */
    METRIC_CEILING_RATE, /* a rate that is called a ceiling */
    METRIC_REQUEST_RATE,
    METRIC_OUTPUT_TOK,
    METRIC_PROMPT_TOK,
    METRIC_REUSED_TOK,
    METRIC_COMPUTED_TOK,
    METRIC_CONTEXT_TOK,
    METRIC_KV_TOK, /* tokens that a KV cache has room for */
    METRIC_KV_BLOCKS,
    METRIC_REUSE_FRAC,
    METRIC_ACCEPTANCE,
    METRIC_ROUNDS,
    METRIC_MEAN_ACCEPTED,
    METRIC_ROUND_TOK, /* tokens a round emits, the target's own included */
    METRIC_KV_BYTES,
    METRIC_KV_BYTES_PER_TOK,
    METRIC_WEIGHTS_BYTES,
    METRIC_MEMORY_BYTES, /* peak memory */
    METRIC_SAVED_BYTES,
    METRIC_BUDGET_BYTES,
    METRIC_DENSITY,
    METRIC_AGENTS_MAX,
    METRIC_PREFIX_EVALS,
    METRIC_REQUESTS,
    METRIC_CONCURRENCY, /* requests that run at once */
    METRIC_SPEEDUP,
    METRIC_BANDWIDTH,
    METRIC_UTILISATION,
    METRIC_COMPUTE,
    METRIC_PRICE,
    METRIC_TOK_PER_MONEY,
    METRIC_MONEY_PER_TOK,
    METRIC_POWER,
    METRIC_ENERGY,
    METRIC_ENERGY_PER_TOK,
    METRIC_TOK_PER_ENERGY,
    METRIC_N
} metric;
extern const char *const METRIC_NAMES[]; /* NULL-terminated, by metric */

enum { NOT_STATED = -1 };

/* Facts of a workload that say how many requests run at once. */
#define CLAIM_STREAM_KEYS                                                                          \
    "batch batch_size streams concurrency max_concurrency concurrent_users concurrent_requests "   \
    "users clients sequences K agents slots parallel num_seqs max_num_seqs"

typedef struct claim_figure {
    const char *name, *arm, *conditions, *source; /* arm, conditions, source: NULL when absent */
    const char *model; /* of a figure of another model than the claim's; NULL: the claim's */
    quantity q;
    metric metric;
    bool metric_stated; /* by the claim, not read from words */
    origin origin;
    /* read from conditions, arm and name; NOT_STATED (or 0) where they say nothing */
    int64_t streams_n;   /* agents, users, streams, batch */
    int64_t context_tok; /* tokens of context or prompt */
    int64_t gpus_n;      /* at least 1 */
    uint32_t percentile_ppm;
    double weight_bits; /* of a precision that is named; 0: none; NOT_STATED: called unstated */
    double kv_bits;     /* of a precision that is named for the KV cache; 0: none */
    bool warm, cold;    /* cached prompt, first turn */
    bool first_call;    /* pays what only a first call pays: loading, compiling */
} claim_figure;

/* What the words of a printed per cent say that it is. */
typedef enum ratio_reading { READ_ANY, READ_GAIN, READ_CUT } ratio_reading;

typedef struct ratio {
    const char *name, *print, *source;
    ratio_reading reading;
    bool reading_printed; /* by the print itself, not by the name alone */
    const claim_figure *num, *den;
    quantity q; /* unit x or % */
    origin origin;
} ratio;

typedef enum rate_phase { PHASE_PREFILL, PHASE_DECODE } rate_phase;
/* stated: measured, or said to be; used: a result of the claim was computed with it. */
typedef enum rate_role { ROLE_STATED, ROLE_USED } rate_role;

typedef struct claim_rate {
    const char *name, *arm, *model, *quant, *machine, *source;
    quantity q;
    rate_phase phase;
    rate_role role;
    int64_t batch_n, context_tok, n_prompt_tok; /* NOT_STATED */
    double
        gain_per_seq_frac; /* used: K sequences run at value (1 + gain (K - 1)); NAN: not given */
    origin origin;
} claim_rate;

typedef enum term_kind {
    TERM_KIND_PREFILL, /* the prefix, or all prompt tokens of an arm without a separate delta */
    TERM_KIND_DELTA,   /* new tokens of a turn */
    TERM_KIND_DECODE,
    TERM_KIND_CONSTANT,
    TERM_KIND_QUEUE_WAIT,
    TERM_KIND_PENALTY,
    TERM_KIND_N
} term_kind;
extern const char *const TERM_KIND_NAMES[];

/* A part of an arm's wall-clock, as its author accounts for it. */
typedef struct claim_term {
    const char *name, *arm, *source, *evidence; /* evidence NULL: none is named */
    term_kind kind;
    bool has_value; /* else the author names the term without a number */
    quantity q;
    constant_per per;
    double growth_per_agent_frac;
    origin origin;
} claim_term;

/* A published change of an arm's wall-clock and what its author says was taken out. */
typedef struct revision {
    const char *name, *arm, *source;
    quantity before, after;
    const claim_term *removed;
    size_t removed_n;
    origin origin;
} revision;

/* A printed sum: `gives` = sum of factor x figure. */
typedef struct sum_part {
    const claim_figure *figure;
    double times;
    bool times_agents; /* times the number of agents of the figure that it gives */
} sum_part;

typedef struct formula {
    const char *name, *arm, *source;
    metric gives_metric; /* every figure of this metric and arm; METRIC_OTHER: one claim_figure */
    const claim_figure *gives;
    const sum_part *parts;
    size_t parts_n;
    origin origin;
} formula;

typedef struct claim_arm {
    const char *name;
    prefix_reuse reuse;
    bool reuse_known;
    batching batch;
    bool batch_known;
    first_comers comers; /* wait unless it says each */
} claim_arm;

typedef struct claim_chip {
    const char *name;
    double mem_bw_bytes_s, fp16_flop_s; /* 0: not known */
    double flop_uncertainty_frac;
    double memory_bytes; /* of one device; 0: not known */
    bool memory_exact;   /* stated by itself, not read from the name of the chip */
    origin origin;
} claim_chip;

typedef struct kv_shape {
    const char *name;
    int64_t layers, full_attention_layers, kv_heads, head_dim; /* NOT_STATED */
    double params, active_params, weight_bytes;                /* of a variant; 0: not stated */
} kv_shape;

/* A number or a list of numbers of the workload, by its key. */
typedef struct workload_fact {
    const char *key;
    const double *v;
    size_t n;
    const char *text; /* a string value instead */
} workload_fact;

typedef struct claim {
    const char *path, *id, *title, *kind, *source;
    char sha256[65];
    const claim_chip *chips;
    size_t chips_n;
    int64_t devices_n; /* at least 1 */
    struct {
        const char *name, *quant;
        double params, active_params; /* 0: not stated */
        double weight_bytes, active_weight_bytes;
        bool weights_guessed; /* from params and a precision in the name */
        bool experts;         /* a mixture of experts whose active part is not known */
        bool sliding_window;  /* some layers keep no more than a window */
        double kv_element_bytes;
        kv_shape shape;
        const kv_shape *variants;
        size_t variants_n;
        struct {
            const char *name;
            double bytes;
        } by_precision[8];
        size_t by_precision_n;
        origin origin, weights_origin, shape_origin;
    } model;
    const workload_fact *facts;
    size_t facts_n;
    bool has_workload; /* K, H, P and turn sizes are known: `work` is valid */
    workload work;
    const claim_arm *arms;
    size_t arms_n;
    const claim_figure *figures;
    size_t figures_n;
    const ratio *ratios;
    size_t ratios_n;
    const claim_rate *rates;
    size_t rates_n;
    const claim_term *terms;
    size_t terms_n;
    const revision *revisions;
    size_t revisions_n;
    const formula *formulas;
    size_t formulas_n;
    const char *const *statements; /* sentences of the source that compare two things */
    size_t statements_n;
} claim;

/* Leaves out the items whose origin is in `without` (bits). */
MUST_USE err_code claim_load(const char *path, unsigned without, arena *mem, const claim **out,
                             err *e);
MUST_USE err_code claim_parse(const file_bytes *f, unsigned without, arena *mem, const claim **out,
                              err *e);

/* Is this JSON text a claim without "schema" (the older shape)? */
bool claim_shape(const cJSON *root);

/* First of `keys` (space separated) among the workload's facts; NULL: none. */
const workload_fact *claim_fact(const claim *c, const char *keys);
/* The same when it is one number; `otherwise` when there is none, or a list. */
double claim_number(const claim *c, const char *keys, double otherwise);
/* 2 x layers x kv_heads x head_dim x bytes per element; 0: not known. */
double claim_kv_bytes_per_tok(const claim *c, const kv_shape *s, bool all_layers);
/* 2 x layers x kv_heads x head_dim; 0: not known. */
double claim_kv_elements_per_tok(const kv_shape *s, bool all_layers);
const claim_arm *claim_arm_of(const claim *c, const char *name);
/* Same arm name, or both absent. */
bool claim_same_arm(const char *a, const char *b);

/* ---- words (claim_words.c) ---- */

/* Fills what figure f's texts say: metric (unless set), streams, context, percentile, precision. */
void claim_read_words(const claim *c, claim_figure *f);
/* What the texts of several figures say together; metrics that are stated are left alone. */
void claim_settle_words(claim_figure *v, size_t n);
/* Does `text` hold `word` between word boundaries, in any case? `words` may hold several,
 * separated by '|'. */
bool words_have(const char *text, const char *words);
/* The whole number behind one of `words` ("seed 7", "run = 2"); NOT_STATED: none. */
int64_t words_number_behind(const char *text, const char *words);
/* Bits of a weight precision named in the text ("FP16", "Q8_0", "4-bit"); 0: none. */
double words_precision_bits(const char *text);
/* Bits of an element of a KV cache of the type that the text names, the mean when K and V have
 * different ones; 0: none. */
double words_kv_bits(const char *text);
/* Of "30B-A3B": 3e9; 0: the name says nothing of the kind. */
double words_active_params(const char *text);
/* "Mixtral-8x7B", "MoE". */
bool words_experts(const char *text);
/* "8x H100", "H100 x4", "TP=2", "4 GPUs"; NOT_STATED. */
int64_t words_gpus(const char *text);
/* "40% faster", "60% less memory". */
ratio_reading words_reading(const char *text);

#endif
