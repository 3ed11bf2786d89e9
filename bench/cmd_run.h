/* What the options of `ratecast-bench run` come to. */
#ifndef RATECAST_BENCH_CMD_RUN_H
#define RATECAST_BENCH_CMD_RUN_H

#include "cli/opts.h"
#include "runner.h"
#include "shapes.h"

enum { RUN_FACTS_MAX = 32 };
/* Where nothing says it: KV of a 7B without grouped heads, f16. */
enum { RUN_KV_GUESS_BYTES = 524288 };

typedef struct run_job {
    const opts *o;
    arena *mem;
    const char *card_path, *folder;
    const model_shape *shape; /* NULL: a file of the user */
    quant q;
    run_request request;
    import_card_options card;
    run_fact facts[RUN_FACTS_MAX];
    bool kv_guessed;
} run_job;

/* `j->o` and `j->mem` are set, the rest is zeros. E_USAGE, E_IO, E_SYNTAX: an option or the model;
 * E_EXTERN: a tool is missing (never with --dry-run). */
MUST_USE err_code run_job_make(run_job *j, err *e);

#endif
