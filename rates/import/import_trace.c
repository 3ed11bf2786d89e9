/* Traces of requests: when each came and how many tokens it had. They state no rate, so they are
 * recognised and refused by name. By the keys of the first object or the columns of the header; a
 * text that has times beside them is a benchmark's output and none of these. */
#include "import.h"
#include "import_head.h"

#include <stddef.h>

enum { SURE = 92, LESS_SURE = 80 };

/* Keys and columns of measurements, which no trace has. */
static const char *const MEASURED[] = {
    "ttft",    "tpot",  "itl",     "latency",  "latencies",  "e2e",           "tok_s",
    "metrics", "error", "success", "duration", "throughput", "response_time", NULL};

static int by_keys(const file_bytes *f, const char *const *keys, int sure) {
    for (size_t i = 0; keys[i]; i++)
        if (!head_has_key(f, keys[i])) return 0;
    return head_has_key_like(f, MEASURED) ? 0 : sure;
}

static int by_columns(const file_bytes *f, const char *const *names) {
    cells header;
    char separator;
    if (!head_header(f, &header, &separator) || !head_has_columns(&header, names)) return 0;
    for (size_t i = 0; MEASURED[i]; i++)
        if (cells_column(&header, MEASURED[i]) >= 0) return 0;
    return SURE;
}

static int detect_mooncake(const file_bytes *f) {
    static const char *const HASHED[] = {"input_length", "output_length", "hash_ids", NULL};
    static const char *const TIMED[] = {"timestamp", "input_length", "output_length", NULL};
    int sure = by_keys(f, HASHED, SURE);
    return sure ? sure : by_keys(f, TIMED, LESS_SURE);
}

static int detect_azure(const file_bytes *f) {
    static const char *const COLUMNS[] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens", NULL};
    return by_columns(f, COLUMNS);
}

static int detect_burstgpt(const file_bytes *f) {
    static const char *const COLUMNS[] = {"Timestamp", "Model", "Request tokens", "Response tokens",
                                          NULL};
    return by_columns(f, COLUMNS);
}

static int detect_vidur(const file_bytes *f) {
    static const char *const COLUMNS[] = {"num_prefill_tokens", "num_decode_tokens", NULL};
    return by_columns(f, COLUMNS);
}

static int detect_sharegpt(const file_bytes *f) {
    static const char *const KEYS[] = {"conversations", NULL};
    bool said = head_has_inner_key(f, "conversations", "from") &&
                head_has_inner_key(f, "conversations", "value");
    return by_keys(f, KEYS, said ? SURE : LESS_SURE);
}

static int detect_llmservingsim(const file_bytes *f) {
    static const char *const KEYS[] = {"input_toks", "output_toks", NULL};
    int sure = by_keys(f, KEYS, SURE);
    return sure ? sure : by_columns(f, KEYS); /* older ones are CSV */
}

static err_code read_nothing(import *in, import_text *t) {
    (void)t;
    return in->e->code;
}

static const import_format MOONCAKE = {.name = "mooncake_jsonl",
                                       .about = "Mooncake",
                                       .detect = detect_mooncake,
                                       .read = read_nothing,
                                       .refuse = "a trace of requests (Mooncake): use replay"};
static const import_format AZURE = {.name = "azure_csv",
                                    .about = "Azure",
                                    .detect = detect_azure,
                                    .read = read_nothing,
                                    .refuse = "a trace of requests (Azure): use replay"};
static const import_format BURSTGPT = {.name = "burstgpt_csv",
                                       .about = "BurstGPT",
                                       .detect = detect_burstgpt,
                                       .read = read_nothing,
                                       .refuse = "a trace of requests (BurstGPT): use replay"};
static const import_format SHAREGPT = {.name = "sharegpt_json",
                                       .about = "ShareGPT",
                                       .detect = detect_sharegpt,
                                       .read = read_nothing,
                                       .refuse = "a trace of requests (ShareGPT): use replay"};
static const import_format LLMSERVINGSIM = {.name = "llmservingsim_jsonl",
                                            .about = "LLMServingSim",
                                            .detect = detect_llmservingsim,
                                            .read = read_nothing,
                                            .refuse =
                                                "a trace of requests (LLMServingSim): use replay"};
static const import_format VIDUR = {.name = "vidur_csv",
                                    .about = "Vidur",
                                    .detect = detect_vidur,
                                    .read = read_nothing,
                                    .refuse = "a trace of requests (Vidur): use replay"};

const import_format *const IMPORT_TRACE_FORMATS[] = {&MOONCAKE,      &AZURE, &BURSTGPT, &SHAREGPT,
                                                     &LLMSERVINGSIM, &VIDUR, NULL};
