/* What to measure of an engine, within a memory and a time budget: commands of llama-bench and
 * llama-batched-bench, in the order of their worth.
 *
 *  1. start            one prompt and one decode at depth 0: the speeds that price everything else
 *  2. batched_C_1      decode of several sequences together behind the first context C
 *  3. decode_depth     decode of one sequence at depth
 *  4. prefill_short    prompts up to 512 tokens, as turns of a session bring them
 *  5. prefill_depth_D  the same behind the first depth D
 *  6. prefill_long     prompts beyond 512 tokens
 *  7. batched_C_1      the second context
 *  8. prefill_depth_D  the second depth
 *  9. batched_C_2, _3  both contexts again: that tool measures each cell once, a card wants three
 * 10. prefill_depth_D  the other depths
 * 11. batched_C_*      the other contexts
 *
 * A command that does not fit what the ones before it leave of the time loses cells: the longest
 * prompts, the deepest depths, of batches 32, then 12, 6, 16, 5, 3, 9, 8 and 4 (one on each side of
 * 8 stays long: engines change kernels there). What is lost is listed. Estimates are coarse (within
 * a factor of two or so) and depend on nothing but the arguments: the same plan comes out again.
 */
#ifndef RATECAST_BENCH_GRID_H
#define RATECAST_BENCH_GRID_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GRID_LIST_MAX = 32, GRID_GEN_TOK = 64, GRID_SHORT_TOK = 512 };

typedef struct grid_list {
    int64_t v[GRID_LIST_MAX];
    size_t n;
} grid_list;

/* What is wanted. Texts that are NULL are not passed on: the tool's default holds. */
typedef struct grid_want {
    grid_list prefill_tok, batch_n;   /* rising */
    grid_list depth_tok, context_tok; /* first things first */
    int64_t samples_n;                /* repetitions of a llama-bench test */
    int64_t repeats_n;                /* runs of a llama-batched-bench command */
    bool unified, shared_prompt;
    const char *batch, *ubatch, *flash_attn, *gpu_layers, *threads;
    const char *bench, *batched, *model; /* the two programs, the file */
} grid_want;

/* The defaults of the lists and counts. */
void grid_want_init(grid_want *w);
/* "1,2,8" -> a list of whole numbers from 1 to 10^7. `rising`: sorted, each once. E_USAGE at
 * `option`. */
MUST_USE err_code grid_list_parse(const char *option, const char *text, bool rising, grid_list *out,
                                  err *e);

typedef struct grid_model {
    int64_t weights_bytes, kv_bytes_per_tok; /* both > 0 */
    int64_t context_train_tok;               /* nothing longer is measured; 0: not known */
} grid_model;

typedef struct grid_speed {
    double prefill_tok_s, step_s;
} grid_speed;

/* What to expect of a machine nobody has measured: a laptop's GPU. */
grid_speed grid_speed_guess(const grid_model *m);

typedef enum grid_tool { GRID_BENCH, GRID_BATCHED } grid_tool;

/* One measurement: a prompt (gen_tok 0) or a decode (prompt_tok 0) of llama-bench; both, for
 * batch_n sequences, of llama-batched-bench. */
typedef struct grid_cell {
    int64_t prompt_tok, gen_tok, depth_tok, batch_n;
} grid_cell;

typedef struct grid_command {
    const char *name; /* of its files, too */
    grid_tool tool;
    const char *const *argv; /* NULL-terminated */
    const grid_cell *cells;  /* the first of a batched command twice: it is measured cold */
    size_t cells_n;
    int64_t ctx_tok; /* KV cells that it allocates, at most */
    int64_t memory_bytes;
    double estimate_s;
} grid_command;

typedef struct grid_lost {
    const char *what; /* "batched_4096_1: B = 32, 12"; all of it: "batched_4096_1" */
    const char *why;  /* "time", "memory", "the model's context" */
} grid_lost;

typedef struct grid {
    grid_command *commands;
    size_t n;
    grid_lost *lost;
    size_t lost_n;
    double estimate_s;
} grid;

/* The commands within `time_s` and `memory_bytes`; `start` is always the first. E_REFUSED: the
 * weights alone do not fit the memory. Everything lives in `mem`. */
MUST_USE err_code grid_make(const grid_want *w, const grid_model *m, const grid_speed *s,
                            double time_s, int64_t memory_bytes, arena *mem, grid *out, err *e);

/* Adds the command line as a shell would take it. */
void grid_command_line(const grid_command *c, buf *out);
/* "prompt 512 at depth 4096", "decode at depth 0", "B = 8 behind 512". */
const char *grid_cell_text(const grid_command *c, const grid_cell *cell, arena *mem);

#endif
