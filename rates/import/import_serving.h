/* What load generators say of one run against a server: a summary over many requests, under the
 * same names whether it came as JSON or as a table of labels. */
#ifndef RATECAST_IMPORT_SERVING_H
#define RATECAST_IMPORT_SERVING_H

#include "import.h"

extern const import_format IMPORT_VLLM_JSON, IMPORT_VLLM_TEXT, IMPORT_SGLANG_JSONL,
    IMPORT_SGLANG_TEXT, IMPORT_GUIDELLM_JSON, IMPORT_GUIDELLM_TEXT;

enum { SERVING_VALUES = 160, SERVING_SEEN = 256 };

typedef struct serving_value {
    const char *key; /* kept, or a literal */
    double v;
    const char *text; /* NULL: a number */
    bool inside;      /* in the block of results, not in what was printed before it */
} serving_value;

typedef struct serving_run {
    size_t line;
    bool faulty; /* something in it cannot be */
    size_t n;
    serving_value v[SERVING_VALUES];
} serving_run;

/* What an earlier run of this import was, to compare later ones with it. */
typedef struct serving_mark {
    const char *file;
    size_t line;
    const char *dataset, *rate_text, *model;
    double rate, concurrency, completed, in_tok, out_tok, ttft_ms, out_tok_s, duration_s;
} serving_mark;

typedef struct serving {
    import *in;
    const char *file;
    serving_run run;
    size_t seen_n;
    serving_mark seen[SERVING_SEEN];
} serving;

/* NULL: memory. */
serving *serving_new(import *in, import_text *t);
void serving_clear(serving *s, size_t line);
/* NaN / NULL: not stated. */
double serving_num(const serving *s, const char *key);
const char *serving_text(const serving *s, const char *key);
void serving_set(serving *s, const char *key, double v);
void serving_set_text(serving *s, const char *key, const char *text);
/* "mean_ttft_ms" and its relatives: statistic, measure, unit. */
bool serving_is_latency(const char *key);
/* A stated value; what cannot be (negative, not finite, half a request) is a fault. */
void serving_state(serving *s, size_t line, const char *name, const char *key, double v);
/* Record, rows and warnings of the run; begins the next one. `settings` may be NULL. */
void serving_finish(serving *s, const char *const *settings);

/* The same of GuideLLM, whose words are others. */
void guidellm_finish(serving *s);

/* Readers of vLLM and SGLang, whose outputs have one ancestor. */
err_code serving_read_json(import *in, import_text *t);
err_code serving_read_text(import *in, import_text *t);

#endif
