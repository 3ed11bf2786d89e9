/* What the free text of a claim says of its figures: the field's words, and numbers beside them. */
#include "claim.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool part_of_word(char c) {
    return isalnum((unsigned char)c);
}

/* Where `word` (n bytes) stands in `text` between word boundaries; "_" is a boundary. */
static const char *find_word(const char *text, const char *word, size_t n) {
    for (const char *p = text; *p; p++) {
        if (p > text && part_of_word(p[-1]) && part_of_word(*p)) continue;
        size_t i = 0;
        while (i < n && p[i]) {
            char want = word[i], got = p[i];
            if (want == ' ' ? strchr(" _-", got) == NULL
                            : tolower((unsigned char)want) != tolower((unsigned char)got))
                break;
            i++;
        }
        if (i == n && !(part_of_word(p[n]) && part_of_word(word[n - 1]))) return p;
    }
    return NULL;
}

bool words_have(const char *text, const char *words) {
    if (!text) return false;
    while (*words) {
        size_t n = strcspn(words, "|");
        if (n > 0 && find_word(text, words, n)) return true;
        words += n + (words[n] == '|');
    }
    return false;
}

/* ---- numbers beside words ---- */

/* A whole number at p, thousands commas allowed; *end behind it. -1: none. */
static int64_t whole_at(const char *p, const char **end) {
    int64_t v = 0;
    if (!isdigit((unsigned char)*p)) return NOT_STATED;
    while (isdigit((unsigned char)*p) ||
           (*p == ',' && isdigit((unsigned char)p[1]) && isdigit((unsigned char)p[2]) &&
            isdigit((unsigned char)p[3]))) {
        if (*p != ',') v = v > 100000000000000 ? v : v * 10 + (*p - '0');
        p++;
    }
    if (*p == '.' && isdigit((unsigned char)p[1])) return NOT_STATED; /* a decimal fraction */
    *end = p;
    return v;
}

/* Does one of `words` begin at p, up to a word boundary? */
static bool word_at(const char *p, const char *words) {
    while (*words) {
        size_t n = strcspn(words, "|");
        if (strncasecmp(p, words, n) == 0 && !part_of_word(p[n]) && p[n] != '/') return true;
        words += n + (words[n] == '|');
    }
    return false;
}

/* "8 users", "4,096 tokens": the number before one of `words`. */
static int64_t number_before(const char *text, const char *words) {
    const char *end;
    for (const char *p = text; p && *p; p++) {
        if (p > text && (part_of_word(p[-1]) || p[-1] == '.' || p[-1] == ',')) continue;
        int64_t v = whole_at(p, &end);
        if (v < 0) continue;
        while (*end == ' ' || *end == '_' || *end == '-') end++;
        if (word_at(end, "concurrent")) end += strlen("concurrent ");
        if (word_at(end, "parallel")) end += strlen("parallel ");
        if (word_at(end, words)) return v;
    }
    return NOT_STATED;
}

/* "K=16", "batch 4", "c = 8", "TP=8": the number behind one of `words`. */
static int64_t number_behind(const char *text, const char *words) {
    const char *end;
    for (const char *p = text; p && *p; p++) {
        if (p > text && part_of_word(p[-1])) continue;
        const char *w = words;
        while (*w) {
            size_t n = strcspn(w, "|");
            if (strncasecmp(p, w, n) == 0 && !isalpha((unsigned char)p[n])) {
                const char *q = p + n;
                while (*q && strchr(" =:_", *q)) q++;
                int64_t v = whole_at(q, &end);
                if (v >= 0 && !isalpha((unsigned char)*end)) return v;
            }
            w += n + (w[n] == '|');
        }
    }
    return NOT_STATED;
}

int64_t words_number_behind(const char *text, const char *words) {
    return number_behind(text, words);
}

/* ---- precision ---- */

static const struct precision {
    const char *word;
    double bits; /* a weight, scales included */
} PRECISIONS[] = {
    {"FP32", 32},     {"F32", 32},       {"FP16", 16},     {"F16", 16},      {"BF16", 16},
    {"16-bit", 16},   {"Q8_0", 8.5},     {"FP8", 8},       {"INT8", 8},      {"W8A8", 8},
    {"8-bit", 8.5},   {"8bit", 8.5},     {"Q6_K", 6.5625}, {"Q5_K_M", 5.67}, {"Q5_K_S", 5.52},
    {"Q5_0", 5.5},    {"Q4_K_M", 4.85},  {"Q4_K_S", 4.58}, {"Q4_0", 4.5},    {"Q4_1", 5},
    {"IQ4_XS", 4.25}, {"4-bit", 4.5},    {"4bit", 4.5},    {"INT4", 4},      {"AWQ", 4},
    {"GPTQ", 4},      {"NVFP4", 4.5},    {"FP4", 4},       {"MXFP4", 4.25},  {"W4A16", 4},
    {"Q3_K_M", 3.91}, {"Q2_K_XL", 2.96}, {"Q2_K", 2.63},   {"3-bit", 3.5},   {"2-bit", 2.5},
};

double words_precision_bits(const char *text) {
    const char *first = NULL;
    double bits = 0;
    for (size_t i = 0; text && i < sizeof PRECISIONS / sizeof *PRECISIONS; i++) {
        const char *at = find_word(text, PRECISIONS[i].word, strlen(PRECISIONS[i].word));
        if (at && (!first || at < first)) {
            first = at;
            bits = PRECISIONS[i].bits;
        }
    }
    return bits;
}

/* ---- metric ---- */

typedef struct word_rule {
    dimension dim;
    const char *words; /* NULL: any figure of this dimension */
    metric metric;
} word_rule;

/* The first that fits wins. */
static const word_rule WORD_RULES[] = {
    {DIM_TIME, "ttft|first token|time to first", METRIC_TTFT},
    {DIM_TIME, "itl|tpot|per token|inter token|per output token", METRIC_ITL},
    {DIM_TIME, "queue|queued|wait|waiting|contention", METRIC_QUEUE_TIME},
    {DIM_TIME, "prefill|prompt eval|prompt processing|prompt time", METRIC_PREFILL_TIME},
    {DIM_TIME, "decode|generation time|eval time|generation", METRIC_DECODE_TIME},
    {DIM_TIME, "latency|e2e|e2el|request time|response time", METRIC_LATENCY},
    {DIM_TIME, "wall|wall clock|total|elapsed|session|duration|end to end|makespan|runtime",
     METRIC_WALL},
    {DIM_TOK_S, "ceiling|roofline|theoretical|upper bound|maximum possible", METRIC_CEILING_RATE},
    {DIM_TOK_S, "prefill|prompt|pp|pp512|pp1024|pp2048|pp4096|prompt eval|prompt processing",
     METRIC_PREFILL_RATE},
    {DIM_TOK_S, "total token|total tokens|total throughput|input and output|in and out",
     METRIC_TOTAL_RATE},
    {DIM_TOK_S,
     "per stream|of each|each stream|per user|per request|per agent|per sequence|per client",
     METRIC_STREAM_RATE},
    {DIM_TOK_S, "decode only|decode rate|tg|tg128|tg64|tg32|generation speed|eval rate",
     METRIC_DECODE_RATE},
    {DIM_TOK_S, "aggregate|effective|throughput|output|total|system|server", METRIC_OUTPUT_RATE},
    {DIM_TOK_S, "decode|generation|batch|single stream", METRIC_DECODE_RATE},
    {DIM_BYTES, "saved|saving|savings|reduction|freed", METRIC_SAVED_BYTES},
    {DIM_BYTES, "budget|available|headroom|leaving|left", METRIC_BUDGET_BYTES},
    {DIM_BYTES, "per token", METRIC_KV_BYTES_PER_TOK},
    {DIM_BYTES, "kv|kv cache|cache", METRIC_KV_BYTES},
    {DIM_BYTES, "weight|weights|model size|file size|gguf|checkpoint", METRIC_WEIGHTS_BYTES},
    {DIM_BYTES, "peak|memory|footprint|total|vram|ram|mem|usage", METRIC_MEMORY_BYTES},
    {DIM_BYTES_PER_TOK, NULL, METRIC_KV_BYTES_PER_TOK},
    {DIM_TOK, "reused|cached|hit|saved|matched", METRIC_REUSED_TOK},
    {DIM_TOK, "computed|evaluated|prefilled|uncached|recomputed", METRIC_COMPUTED_TOK},
    {DIM_TOK, "generated|output|completion|decoded|emitted|new tokens", METRIC_OUTPUT_TOK},
    {DIM_TOK, "prompt|input|presented", METRIC_PROMPT_TOK},
    {DIM_TOK, "context|ctx", METRIC_CONTEXT_TOK},
    {DIM_FRAC, "acceptance|accepted|accept", METRIC_ACCEPTANCE},
    {DIM_FRAC, "reuse|hit rate|hit|reused|cache", METRIC_REUSE_FRAC},
    {DIM_FRAC, "utilisation|utilization|mbu|bandwidth|of peak", METRIC_UTILISATION},
    {DIM_RATIO, "speedup|faster|gain|speed up", METRIC_SPEEDUP},
    {DIM_COUNT, "rounds|steps|iterations", METRIC_ROUNDS},
    {DIM_COUNT, "prefix eval|prefix evals|prefix evaluations|prefix", METRIC_PREFIX_EVALS},
    {DIM_COUNT, "requests", METRIC_REQUESTS},
    {DIM_COUNT, "max|up to|capacity|fit|fits|supports|agents|users|largest", METRIC_AGENTS_MAX},
    {DIM_TOK_PER_ROUND, "accepted|accept|acceptance", METRIC_MEAN_ACCEPTED},
    {DIM_REQ_S, NULL, METRIC_REQUEST_RATE},
    {DIM_BYTES_S, NULL, METRIC_BANDWIDTH},
    {DIM_FLOP_S, NULL, METRIC_COMPUTE},
    {DIM_AGENTS_PER_BYTE, NULL, METRIC_DENSITY},
    {DIM_MONEY_PER_TIME, NULL, METRIC_PRICE},
    {DIM_TOK_PER_MONEY, NULL, METRIC_TOK_PER_MONEY},
    {DIM_MONEY_PER_TOK, NULL, METRIC_MONEY_PER_TOK},
    {DIM_POWER, NULL, METRIC_POWER},
    {DIM_ENERGY, NULL, METRIC_ENERGY},
    {DIM_ENERGY_PER_TOK, NULL, METRIC_ENERGY_PER_TOK},
    {DIM_TOK_PER_ENERGY, NULL, METRIC_TOK_PER_ENERGY},
};

static metric metric_of(const claim *c, const claim_figure *f) {
    if (strchr(f->q.u->name, '/') && f->q.u->dim == DIM_TIME) return METRIC_ITL; /* ms/token */
    const char *texts[] = {f->name, f->conditions}; /* a name says more than its conditions do */
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof WORD_RULES / sizeof *WORD_RULES; i++) {
            const word_rule *r = &WORD_RULES[i];
            if (r->dim == f->q.u->dim && (!r->words || words_have(texts[k], r->words)))
                return r->metric;
        }
    if (f->q.u->dim != DIM_TOK_S) return METRIC_OTHER;
    /* a bare rate: of one sequence it is decode, of several what they have together */
    double together = claim_number(c, "batch batch_size streams concurrency", 1);
    return f->streams_n > 1 || together > 1 ? METRIC_OUTPUT_RATE : METRIC_DECODE_RATE;
}

/* ---- conditions ---- */

static bool is_context_fact(const claim *c, int64_t v) {
    const workload_fact *f = claim_fact(
        c, "context_tokens context_tok context ctx contexts prompt_tokens P shared_prefix_tokens");
    for (size_t i = 0; f && i < f->n; i++)
        if (f->v[i] == (double)v) return true;
    return false;
}

/* "128k": what the workload lists decides between 1,000 and 1,024, else powers of two are binary.
 */
static int64_t kilo(const claim *c, int64_t n) {
    if (is_context_fact(c, n * 1024)) return n * 1024;
    if (is_context_fact(c, n * 1000)) return n * 1000;
    return (n & (n - 1)) == 0 ? n * 1024 : n * 1000;
}

static int64_t thousands(const claim *c, const char *text) {
    const char *end;
    for (const char *p = text; p && *p; p++) {
        if (p > text && part_of_word(p[-1])) continue;
        int64_t v = whole_at(p, &end);
        if (v > 0 && v < 10000 && (*end == 'k' || *end == 'K') && !part_of_word(end[1]))
            return kilo(c, v);
    }
    return NOT_STATED;
}

static int64_t first_stated(int64_t a, int64_t b) {
    return a >= 0 ? a : b;
}

static int64_t context_of(const claim *c, const char *text) {
    int64_t v = number_before(text, "tokens|token|tok|ctx|context");
    v = first_stated(v, number_behind(text, "ctx|context|prompt|depth|L|len"));
    return first_stated(v, thousands(c, text));
}

static int64_t streams_of(const char *text) {
    int64_t v = number_before(text, "streams|stream|users|user|agents|agent|sequences|sequence|"
                                    "clients|client|sessions|session|requests|slots|concurrent");
    return first_stated(v,
                        number_behind(text, "K|c|B|batch|bs|batch size|concurrency|parallel|np"));
}

/* "H100 x4", "8x H200", "TP=2", "4 GPUs". */
static int64_t gpus_of(const char *text) {
    const char *end;
    int64_t v = number_before(text, "GPUs|GPU|devices|cards");
    v = first_stated(v, number_behind(text, "TP|tensor parallel"));
    for (const char *p = text; p && *p && v < 0; p++) {
        if (p > text && part_of_word(p[-1])) continue;
        if ((*p == 'x' || *p == 'X') && isdigit((unsigned char)p[1])) {
            int64_t n = whole_at(p + 1, &end);
            if (n > 0 && !part_of_word(*end)) v = n;
        }
        int64_t n = whole_at(p, &end);
        if (n > 0 && (*end == 'x' || *end == 'X') && end[1] == ' ' &&
            isupper((unsigned char)end[2]))
            v = n;
    }
    return v;
}

static uint32_t percentile_of(const char *text) {
    static const struct {
        const char *words;
        uint32_t ppm;
    } P[] = {{"p50|median", 500000},
             {"p90", 900000},
             {"p95", 950000},
             {"p99", 990000},
             {"p999|p99.9", 999000}};
    for (size_t i = 0; i < sizeof P / sizeof *P; i++)
        if (words_have(text, P[i].words)) return P[i].ppm;
    return 0;
}

void claim_read_words(const claim *c, claim_figure *f) {
    const char *texts[] = {f->conditions, f->arm, f->name};
    f->streams_n = f->context_tok = f->gpus_n = NOT_STATED;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *t = texts[i];
        if (!t) continue;
        f->streams_n = first_stated(f->streams_n, streams_of(t));
        f->context_tok = first_stated(f->context_tok, context_of(c, t));
        if (i < 2) f->gpus_n = first_stated(f->gpus_n, gpus_of(t));
        if (f->percentile_ppm == 0) f->percentile_ppm = percentile_of(t);
        if (words_have(t, "precision not stated|precision unstated|precision unknown"))
            f->weight_bits = NOT_STATED;
        if (f->weight_bits == 0) f->weight_bits = words_precision_bits(t);
        if (words_have(t, "warm|cached|cache hit|prefix hit")) f->warm = true;
        if (words_have(t, "cold|uncached|first turn|turn 1")) f->cold = true;
    }
    if (f->gpus_n < 1) f->gpus_n = c->devices_n;
    if (f->metric == METRIC_OTHER) f->metric = metric_of(c, f);
}
