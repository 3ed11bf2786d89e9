/* What the free text of a claim says of its figures: the field's words, and numbers beside them. */
#include "claim.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
                bool equals = false;
                for (; *q && strchr(" =:_", *q); q++) equals |= *q == '=' || *q == ':';
                /* a letter is a sign of its own ("K q8_0", "Kimi-K2") unless it is set equal */
                bool apart = n > 1 || equals || (q == p + n && strchr("cd", *w));
                int64_t v = whole_at(q, &end);
                if (v >= 0 && apart && !isalpha((unsigned char)*end)) return v;
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

double words_active_params(const char *text) {
    for (const char *p = text; p && *p; p++) {
        if ((*p != 'A' && *p != 'a') || p == text || part_of_word(p[-1])) continue;
        char *end = NULL;
        double v = isdigit((unsigned char)p[1]) ? strtod(p + 1, &end) : 0;
        if (end && v > 0 && v < 1e4 && (*end == 'B' || *end == 'b') && !part_of_word(end[1]))
            return v * 1e9;
    }
    return 0;
}

bool words_experts(const char *text) {
    if (words_have(text, "moe|mixture of experts|experts|sparse")) return true;
    for (const char *p = text; p && *p; p++) { /* "8x7B" */
        if (!isdigit((unsigned char)*p) || (p > text && part_of_word(p[-1]))) continue;
        char *end;
        strtol(p, &end, 10);
        if (*end == 'x' && isdigit((unsigned char)end[1]) && strtod(end + 1, &end) > 0 &&
            (*end == 'B' || *end == 'b'))
            return true;
    }
    return false;
}

/* Types that caches are kept in; formats of weights alone are not among them. */
static const struct precision KV_TYPES[] = {
    {"FP32", 32},  {"F32", 32},    {"FP16", 16},  {"F16", 16},   {"BF16", 16},    {"Q8_0", 8.5},
    {"q8", 8.5},   {"FP8", 8},     {"INT8", 8},   {"E4M3", 8},   {"E5M2", 8},     {"8-bit", 8.5},
    {"8bit", 8.5}, {"Q6_0", 6.5},  {"Q5_0", 5.5}, {"Q5_1", 6},   {"Q4_0", 4.5},   {"Q4_1", 5},
    {"q4", 4.5},   {"4-bit", 4.5}, {"4bit", 4.5}, {"INT4", 4.5}, {"IQ4_NL", 4.5},
};

double words_kv_bits(const char *text) {
    double sum = 0, seen[2] = {0, 0};
    size_t n = 0;
    for (size_t i = 0; text && i < sizeof KV_TYPES / sizeof *KV_TYPES && n < 2; i++) {
        const char *at = find_word(text, KV_TYPES[i].word, strlen(KV_TYPES[i].word));
        size_t len = strlen(KV_TYPES[i].word);
        if (!at || at[len] == '_' || (n > 0 && seen[0] == KV_TYPES[i].bits)) continue;
        seen[n++] = KV_TYPES[i].bits;
        sum += KV_TYPES[i].bits;
    }
    return n ? sum / (double)n : 0;
}

/* ---- what a per cent is ---- */

ratio_reading words_reading(const char *text) {
    if (words_have(text, "reduction|reduced|reduces|less|lower|saving|savings|saved|fewer|shorter|"
                         "decrease|drop|smaller|cheaper|slower"))
        return READ_CUT;
    if (words_have(text, "faster|increase|improvement|higher|uplift|gain|more|quicker|better"))
        return READ_GAIN;
    return READ_ANY;
}

/* ---- metric ---- */

typedef struct word_rule {
    dimension dim;
    const char *words; /* NULL: any figure of this dimension */
    metric metric;
} word_rule;

/* Said by the name or by the conditions, they leave no choice. */
static const word_rule STRONG_RULES[] = {
    {DIM_TIME, "std|stddev|stdev|standard deviation", METRIC_OTHER},
    {DIM_TOK_S,
     "std|stddev|stdev|standard deviation|peak output|peak token|peak throughput|max output",
     METRIC_OTHER},
    {DIM_TOK_S,
     "input + output|input and output|input plus output|in and out|in + out|prompt + output|"
     "prompt and output|prompt + generation|prompt + generated|prompt and generated",
     METRIC_TOTAL_RATE},
    {DIM_BYTES, "recurrent|recurrent state|ssm state|conv state|mamba state|linear state",
     METRIC_OTHER},
};

/* The first that fits wins. */
static const word_rule WORD_RULES[] = {
    {DIM_TIME, "ttft|first token|time to first", METRIC_TTFT},
    {DIM_TIME, "tpot|per output token", METRIC_TPOT},
    {DIM_TIME, "itl|per token|inter token", METRIC_ITL},
    {DIM_TIME, "queue|queued|wait|waiting|contention", METRIC_QUEUE_TIME},
    {DIM_TIME, "prefill|prompt eval|prompt processing|prompt time", METRIC_PREFILL_TIME},
    {DIM_TIME, "decode|generation time|eval time|generation", METRIC_DECODE_TIME},
    {DIM_TIME, "latency|e2e|e2el|request time|response time", METRIC_LATENCY},
    {DIM_TIME, "wall|wall clock|total|elapsed|session|duration|end to end|makespan|runtime",
     METRIC_WALL},
    {DIM_TOK_S, "ceiling|roofline|theoretical|upper bound|maximum possible", METRIC_CEILING_RATE},
    {DIM_TOK_S,
     "input token|input tokens|input rate|input throughput|input tok|prompt throughput|"
     "prompt token throughput",
     METRIC_INPUT_RATE},
    {DIM_TOK_S, "prefill|pp|prompt eval|prompt processing|prompt speed|prompt rate",
     METRIC_PREFILL_RATE},
    {DIM_TOK_S, "total token|total tokens|total throughput", METRIC_TOTAL_RATE},
    {DIM_TOK_S,
     "per stream|of each|each stream|per user|per request|per agent|per sequence|per client",
     METRIC_STREAM_RATE},
    {DIM_TOK_S, "decode only|decode rate|tg|tg128|tg64|tg32|generation speed|eval rate",
     METRIC_DECODE_RATE},
    {DIM_TOK_S, "aggregate|effective|throughput|output|total|system|server", METRIC_OUTPUT_RATE},
    {DIM_TOK_S, "decode|generation", METRIC_DECODE_RATE},
    {DIM_TOK_S, "prompt", METRIC_PREFILL_RATE},
    {DIM_TOK_S, "batch|single stream", METRIC_DECODE_RATE},
    {DIM_BYTES, "saved|saving|savings|reduction|freed", METRIC_SAVED_BYTES},
    {DIM_BYTES, "budget|available|headroom|leaving|left|remaining|free", METRIC_BUDGET_BYTES},
    {DIM_BYTES, "per token", METRIC_KV_BYTES_PER_TOK},
    {DIM_BYTES, "kv|kv cache|cache", METRIC_KV_BYTES},
    {DIM_BYTES, "weight|weights|model size|file size|gguf|checkpoint", METRIC_WEIGHTS_BYTES},
    {DIM_BYTES, "peak|memory|footprint|total|vram|ram|mem|usage", METRIC_MEMORY_BYTES},
    {DIM_BYTES_PER_TOK, NULL, METRIC_KV_BYTES_PER_TOK},
    {DIM_TOK, "reused|cached|hit|saved|matched", METRIC_REUSED_TOK},
    {DIM_TOK, "acceptance length|accept length|accept len|accepted length|acceptance len",
     METRIC_ROUND_TOK},
    {DIM_TOK, "mean accepted|accepted per", METRIC_MEAN_ACCEPTED},
    {DIM_TOK, "kv|kv cache|kv capacity|cache size|cache capacity", METRIC_KV_TOK},
    {DIM_TOK, "computed|evaluated|prefilled|uncached|recomputed", METRIC_COMPUTED_TOK},
    {DIM_TOK, "generated|output|completion|decoded|emitted|new tokens", METRIC_OUTPUT_TOK},
    {DIM_TOK, "prompt|input|presented", METRIC_PROMPT_TOK},
    {DIM_TOK, "context|ctx", METRIC_CONTEXT_TOK},
    {DIM_FRAC, "acceptance|accepted|accept", METRIC_ACCEPTANCE},
    {DIM_FRAC, "reuse|hit rate|hit|reused|cache", METRIC_REUSE_FRAC},
    {DIM_FRAC, "utilisation|utilization|mbu|bandwidth|of peak", METRIC_UTILISATION},
    {DIM_RATIO, "speedup|faster|gain|speed up", METRIC_SPEEDUP},
    {DIM_RATIO, "concurrency", METRIC_CONCURRENCY},
    {DIM_RATIO, "acceptance length|accept length|accept len|accepted length", METRIC_ROUND_TOK},
    {DIM_COUNT, "rounds|steps|iterations", METRIC_ROUNDS},
    {DIM_COUNT, "blocks", METRIC_KV_BLOCKS},
    {DIM_COUNT, "concurrency|in flight|running requests|concurrent requests|running",
     METRIC_CONCURRENCY},
    {DIM_COUNT, "prefix eval|prefix evals|prefix evaluations|prefix", METRIC_PREFIX_EVALS},
    {DIM_COUNT, "requests", METRIC_REQUESTS},
    {DIM_COUNT, "max|up to|capacity|fit|fits|supports|agents|users|largest", METRIC_AGENTS_MAX},
    {DIM_TOK_PER_ROUND,
     "acceptance length|accept length|accept len|accepted length|per step|tok per step|"
     "tokens per step|tokens per round|per pass|emitted",
     METRIC_ROUND_TOK},
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

/* "pp512", "tg128 @ d4096": the tests of llama-bench. */
static bool bench_test(const char *text, const char *prefix) {
    for (const char *p = text; p && *p; p++)
        if ((p == text || !part_of_word(p[-1])) && strncmp(p, prefix, 2) == 0 &&
            isdigit((unsigned char)p[2 + (p[2] == ' ')]))
            return true;
    return false;
}

static metric metric_of(const claim *c, const claim_figure *f) {
    if (strchr(f->q.u->name, '/') && f->q.u->dim == DIM_TIME) return METRIC_ITL; /* ms/token */
    const char *texts[] = {f->name, f->conditions}; /* a name says more than its conditions do */
    for (size_t i = 0; i < sizeof STRONG_RULES / sizeof *STRONG_RULES; i++) {
        const word_rule *r = &STRONG_RULES[i];
        if (r->dim == f->q.u->dim &&
            (words_have(texts[0], r->words) || words_have(texts[1], r->words)))
            return r->metric;
    }
    bool rate = f->q.u->dim == DIM_TOK_S;
    if (rate && strchr(f->q.u->name, '/') != strrchr(f->q.u->name, '/'))
        return METRIC_STREAM_RATE; /* tok/s/user */
    for (size_t k = 0; rate && k < 2; k++) {
        bool pp = bench_test(texts[k], "pp"), tg = bench_test(texts[k], "tg");
        if (pp != tg) return pp ? METRIC_PREFILL_RATE : METRIC_DECODE_RATE;
    }
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof WORD_RULES / sizeof *WORD_RULES; i++) {
            const word_rule *r = &WORD_RULES[i];
            if (r->dim == f->q.u->dim && (!r->words || words_have(texts[k], r->words)))
                return r->metric;
        }
    if (f->q.u->dim != DIM_TOK_S) return METRIC_OTHER;
    /* a bare rate: of one sequence it is decode, of several what they have together */
    double together = claim_number(c, CLAIM_STREAM_KEYS, 1);
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
    if (words_have(text, "tokens per block|tokens a block|tokens each|block size"))
        return NOT_STATED;
    int64_t v = number_before(text, "tokens|token|tok|ctx|context|prompt|input");
    v = first_stated(v, number_behind(text, "ctx|context|prompt|depth|L|len|isl|input len|"
                                            "input length|prompt length|d"));
    return first_stated(v, thousands(c, text));
}

/* "K = 3" of a draft is no number of agents. */
static const char *stream_words(const char *text) {
    bool draft = words_have(text, "draft|eagle|mtp|spec|speculative|speculation|topk|top k|medusa");
    return draft ? "c|B|batch|bs|batch size|concurrency|conc|parallel|np|users|streams|slots"
                 : "K|c|B|batch|bs|batch size|concurrency|conc|parallel|np|users|streams|slots|"
                   "agents|num seqs";
}

static int64_t streams_of(const char *text) {
    int64_t v = number_before(text, "streams|stream|users|user|agents|agent|sequences|sequence|"
                                    "clients|client|sessions|session|requests|slots|concurrent");
    return first_stated(v, number_behind(text, stream_words(text)));
}

/* Length of a sign of multiplication at p. */
static size_t times_sign(const char *p) {
    if (*p == 'x' || *p == 'X') return 1;
    return strncmp(p, "×", strlen("×")) == 0 ? strlen("×") : 0;
}

/* "8x H100", "8 x H100", "2×RTX": a number, the sign, and a name. */
static int64_t number_of_things(const char *p) {
    const char *end;
    int64_t n = whole_at(p, &end);
    if (n < 0) return NOT_STATED;
    while (*end == ' ') end++;
    size_t sign = times_sign(end);
    if (sign == 0) return NOT_STATED;
    end += sign;
    while (*end == ' ') end++;
    return isupper((unsigned char)*end) &&
                   isalpha((unsigned char)end[1]) + isdigit((unsigned char)end[1])
               ? n
               : NOT_STATED;
}

int64_t words_gpus(const char *text) {
    const char *end;
    int64_t v = number_before(text, "GPUs|GPU|devices|cards");
    v = first_stated(v, number_behind(text, "TP|tensor parallel"));
    for (const char *p = text; p && *p && v < 0; p++) {
        if (p > text && part_of_word(p[-1])) continue;
        size_t sign = times_sign(p);
        if (sign > 0 && isdigit((unsigned char)p[sign])) { /* H100 x4, but no PCIe x16 */
            int64_t n = whole_at(p + sign, &end);
            bool link = p - text >= 5 && strncasecmp(p - 5, "PCIe ", 5) == 0;
            if (n > 0 && !link && !part_of_word(*end)) v = n;
        }
        int64_t n = number_of_things(p);
        if (n > 0) v = n;
    }
    if (v < 0 && words_have(text, "dual")) v = 2;
    return v;
}

static uint32_t percentile_of(const char *text) {
    static const struct {
        const char *words;
        uint32_t ppm;
    } P[] = {{"p999|p99.9", 999000}, {"p50|median", 500000}, {"p90", 900000},
             {"p95", 950000},        {"p99", 990000},        {"p10", 100000},
             {"p25", 250000},        {"p75", 750000},        {"p80", 800000}};
    for (size_t i = 0; i < sizeof P / sizeof *P; i++)
        if (words_have(text, P[i].words)) return P[i].ppm;
    return 0;
}

/* A precision beside a figure is that of its weights, unless the text speaks of the cache. */
static void read_precision(claim_figure *f, const char *t, bool of_arm) {
    static const char *const CACHE = "kv|cache|ctk|ctv|cache type|kv cache";
    bool cache = words_have(t, CACHE), weights = words_have(t, "weight|weights");
    bool bytes = f->q.u->dim == DIM_BYTES || f->q.u->dim == DIM_BYTES_PER_TOK;
    if (words_have(t, "precision not stated|precision unstated|precision unknown"))
        f->weight_bits = NOT_STATED;
    if (f->weight_bits == 0 && (!cache || bytes)) f->weight_bits = words_precision_bits(t);
    double bits = words_kv_bits(t);
    /* an arm is a cache type when it begins with one ("q8_0"), else it names a model's file */
    char first[16] = "";
    snprintf(first, sizeof first, "%.*s", (int)strcspn(t, " ,;("), t);
    if (of_arm && !cache && words_kv_bits(first) == 0) bits = 0;
    if (f->kv_bits == 0 && !(weights && !cache)) f->kv_bits = bits;
}

void claim_read_words(const claim *c, claim_figure *f) {
    static const char *const FIRST_CALL =
        "first call|first run|cold start|after idle|after start|after startup|startup|start up|"
        "after load|includes load|load time|loading|compile|compilation|jit|no warmup|"
        "without warmup|no warm up|without warm up";
    const char *texts[] = {f->conditions, f->arm, f->name};
    f->streams_n = f->context_tok = f->gpus_n = NOT_STATED;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *t = texts[i];
        if (!t) continue;
        f->streams_n = first_stated(f->streams_n, streams_of(t));
        f->context_tok = first_stated(f->context_tok, context_of(c, t));
        if (i < 2) f->gpus_n = first_stated(f->gpus_n, words_gpus(t));
        if (f->percentile_ppm == 0) f->percentile_ppm = percentile_of(t);
        read_precision(f, t, i == 1);
        if (words_have(t, "warm|cached|cache hit|prefix hit")) f->warm = true;
        if (words_have(t, "cold|uncached|first turn|turn 1")) f->cold = true;
        if (words_have(t, FIRST_CALL)) f->first_call = true;
    }
    if (f->gpus_n < 1) f->gpus_n = c->devices_n;
    if (f->metric == METRIC_OTHER) f->metric = metric_of(c, f);
}

/* A "total" rate beside an output or an input rate of the same arm counts both kinds of tokens. */
void claim_settle_words(claim_figure *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool total = v[i].metric == METRIC_OUTPUT_RATE && words_have(v[i].name, "total") &&
                     !words_have(v[i].name, "output|generated|decode");
        for (size_t k = 0; total && k < n; k++) {
            bool part = v[k].metric == METRIC_INPUT_RATE ||
                        (v[k].metric == METRIC_OUTPUT_RATE && words_have(v[k].name, "output"));
            if (k != i && part && claim_same_arm(v[i].arm, v[k].arm) &&
                v[i].streams_n == v[k].streams_n)
                v[i].metric = METRIC_TOTAL_RATE;
        }
    }
}
