/* What the formats of single runs on one machine share: a run has a prompt and a generation, each
 * with tokens, a time or a rate. */
#ifndef RATECAST_IMPORT_LOCAL_H
#define RATECAST_IMPORT_LOCAL_H

#include "import.h"

extern const import_format IMPORT_OLLAMA_VERBOSE, IMPORT_OLLAMA_JSON, IMPORT_MLX_BENCHMARK,
    IMPORT_MLX_GENERATE;

/* NaN: not stated. Rates are of the whole batch. */
typedef struct local_run {
    const char *file;
    size_t line;
    int64_t batch_n;
    double prompt_tok, prompt_s, prompt_tok_s;
    double gen_tok, gen_s, gen_tok_s;
    const char *setting[IMPORT_SETTINGS_N];
} local_run;

/* Completes rates from tokens and times (a rate without both stays NaN), and names what cannot be:
 * a time of zero, a rate that tokens and time contradict. False: such a fault was found. */
bool local_run_rates(import *in, local_run *r);
/* The prefill and the decode row of a run; too few tokens are refused as a term. */
void local_run_rows(import *in, const local_run *r, bool sound);
/* Refuses rows from `first` on that measured the same thing and differ by more than noise. */
void local_run_conflicts(import *in, size_t first);

#endif
