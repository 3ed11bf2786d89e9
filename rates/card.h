/* Rate cards: what one engine measured on one machine with one model.
 *
 * Format `ratecast.rate-card/1`, field by field in rates/README.md. A loaded card is const and
 * lives in the arena it was loaded into. Times are seconds; token counts are tokens; nothing here
 * is fitted or interpolated (calib/ does that).
 */
#ifndef RATECAST_CARD_H
#define RATECAST_CARD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/prov.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CARD_SCHEMA "ratecast.rate-card/1"

/* How a point was taken and how far it can be trusted; the same for both phases. */
typedef struct point_origin {
    const double
        *samples_s; /* every repetition, in the order measured; empty when only a value is known */
    size_t samples_n;
    bool shared_prompt; /* batch over one shared prompt (llama-batched-bench -pps) */
    prov prov;
    const char *source;
    const char *excluded; /* why the point is kept but not used; NULL: used */
} point_origin;

typedef struct prefill_point {
    int64_t n_prompt_tok; /* per prompt; 0: the source does not state a length */
    int64_t depth_tok;    /* tokens already in the KV cache */
    int64_t batch_n;      /* prompts prefilled together */
    int64_t n_ubatch;     /* micro-batch the engine used, 0: the card's engine.n_ubatch */
    double s;             /* warm sample, all batch_n prompts; 0 when no length is stated */
    double tok_s;         /* the same as a rate, as printed or computed */
    point_origin origin;
} prefill_point;

typedef struct decode_point {
    int64_t batch_n;
    int64_t context_tok; /* mean KV length per sequence; -1: not stated */
    double step_s;       /* one step of all batch_n sequences, warm sample */
    double tok_s;        /* aggregate: batch_n / step_s */
    point_origin origin;
} decode_point;

typedef enum kv_layout { KV_LAYOUT_UNSTATED, KV_LAYOUT_SPLIT, KV_LAYOUT_UNIFIED } kv_layout;
/* By kv_layout: NULL for unstated, and NULL again behind the last, so that from 1 on it is a list.
 */
extern const char *const KV_LAYOUT_NAMES[];

/* Time that an engine spends outside the device, fitted from witnessed runs (`ratecast fit`);
 * smooth in the number of rows, one set for an engine on a machine. */
enum { HOST_FITTED_N = 6 };

typedef struct host_terms {
    bool known;
    double sample_s;         /* per sampled token, slot by slot */
    double sample_s_per_row; /* more of it for each row that is sampled in the iteration */
    double shape_s;   /* first use of a shape: a call with prompt rows that is no full batch */
    double graph_s;   /* change of the set of decoding slots, over the next two steps */
    double request_s; /* taking up a request */
    double request_s_per_tok;          /* more of it for each prompt token */
    double stderr_frac[HOST_FITTED_N]; /* relative standard error of each of these, in this order */
    double client_gap_s; /* last token of a turn to the client's next request, tool latency apart */
    double slot_save_s_per_tok, slot_restore_s_per_tok;
    bool client_gap_assumed, slot_files_assumed; /* not measured, whatever class the fit has */
    double device_overhead_bytes; /* runtime buffers beside weights and KV; 0: not seen */
    double repeat_spread_frac;    /* standard deviation of the wall-clock of identical runs */
    prov prov;
    const char *source;
} host_terms;

/* The six fitted terms by name, in the order of stderr_frac. */
extern const char *const HOST_TERM_NAMES[]; /* NULL-terminated */
double *host_term_at(host_terms *t, size_t i);

/* Numbers that a card may lack are 0 (sizes, counts, rates) or -1 where 0 means something. */
typedef struct card {
    const char *path, *id, *title, *extends;
    char sha256[65];
    const char *method;
    prov prov;
    const char *source;
    const char *model, *quant, *architecture;
    int64_t params, weights_bytes, weights_host_bytes;
    int64_t overhead_bytes;        /* runtime buffers on the device; -1: not known */
    int64_t recurrent_state_bytes; /* per sequence; -1: not known */
    int64_t layers, full_attention_layers, kv_heads, head_dim;
    double kv_element_bytes;
    prov kv_prov, weights_prov; /* weakest class among the fields that give KV bytes / weights */
    struct {
        const char *name, *build, *type_k, *type_v;
        int64_t n_batch, n_ubatch;
        kv_layout layout;
        int flash_attention; /* 1 on, 0 off, -1 not stated */
    } engine;
    struct {
        const char *id, *chip, *source;
        double mem_bw_bytes_s, fp16_flop_s;
        int64_t memory_bytes;
    } hardware;
    int64_t host_threads_n;
    host_terms fitted_host;
    bool claim_only;       /* no measurement behind it: refused outside scenarios/published/ */
    bool simulated_device; /* timed on a GPU that is none, or taken over from such a card */
    const prefill_point *prefill;
    size_t prefill_n;
    const decode_point *decode;
    size_t decode_n;
} card;

/* Where cards are looked up by id: folders in order, each scanned once, at the first need, for
 * *.json. Set `dirs` and `n`; the rest belongs to the functions below. */
typedef struct card_library {
    const char *dirs[4];
    size_t n;
    bool allow_simulated; /* card_usable lets cards of a simulated device through */
    bool scanned;
    const char **paths, **ids; /* ids[i] NULL: a file that is no rate card */
    size_t files_n;
} card_library;

/* A card by id or by path (a reference with a '/' or ending in ".json" is a path, relative to
 * `base_dir` unless it is absolute). Errors: E_SCHEMA unknown id (nearest named), two cards with
 * one id, cyclic or missing `extends`, bad fields; E_REFUSED never. */
MUST_USE err_code card_find(card_library *lib, const char *ref, const char *base_dir, arena *mem,
                            const card **out, err *e);
MUST_USE err_code card_load(card_library *lib, const char *path, arena *mem, const card **out,
                            err *e);
/* The same from bytes already read (fuzzing, stdin). */
MUST_USE err_code card_parse(card_library *lib, const file_bytes *f, arena *mem, const card **out,
                             err *e);

/* May projections, fits and scores rest on it? E_REFUSED: its device is simulated, and the library
 * was not told to allow that. Reading and listing it is always allowed. */
MUST_USE err_code card_usable(const card_library *lib, const card *c, err *e);

/* Every card file of the library in name order. A file that does not load has `c` NULL and its
 * error. */
typedef struct card_entry {
    const char *path;
    const card *c;
    err error;
} card_entry;
MUST_USE err_code card_list(card_library *lib, arena *mem, card_entry **out, size_t *n, err *e);

/* KV bytes per token: 2 (K and V) x full-attention layers x kv_heads x head_dim x bytes per element
 * (design model, section 4); 0 when the card lacks a factor. */
int64_t card_kv_bytes_per_tok(const card *c);

/* The warm sample of repetitions: the fastest where they spread by more than 20 %, else the median
 * (of an even count the lower one). First repetitions of a shape are slow on every engine seen. */
double card_warm_sample_s(const double *samples_s, size_t n);

#endif
