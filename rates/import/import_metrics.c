#include "import_metrics.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef enum metric_unit { UNIT_TIME, UNIT_DURATION, UNIT_RATE, UNIT_COUNT } metric_unit;
enum { FEW_GENERATED = 8 };
static const double RATE_MAX = 1e12;

/* In the order of the record. */
enum {
    M_COUNT,
    M_DURATION,
    M_REQ_RATE,
    M_ISL,
    M_OSL,
    M_TTFT,
    M_TTST,
    M_ITL,
    M_ICL,
    M_LATENCY,
    M_OUT_RATE,
    M_TOTAL_RATE,
    M_USER_RATE,
    M_E2E_RATE,
    M_PREFILL_RATE,
    M_GOODPUT,
    M_GOOD,
    M_FAILED,
    M_TOTAL_OUT,
    M_TOTAL_IN,
    M_OUT_COUNT,
    M_REASONING,
    M_TTFO,
    METRICS_N
};

static const struct {
    const char *tag, *key; /* of the source, of the record */
    metric_unit unit;
    bool single; /* one value of the run, under `avg` */
} METRICS[METRICS_N] = {
    [M_COUNT] = {"request_count", "completed", UNIT_COUNT, true},
    [M_DURATION] = {"benchmark_duration", "duration_s", UNIT_DURATION, true},
    [M_REQ_RATE] = {"request_throughput", "req_s", UNIT_RATE, true},
    [M_ISL] = {"input_sequence_length", "input_tokens", UNIT_COUNT, false},
    [M_OSL] = {"output_sequence_length", "output_tokens", UNIT_COUNT, false},
    [M_TTFT] = {"time_to_first_token", "ttft_ms", UNIT_TIME, false},
    [M_TTST] = {"time_to_second_token", "ttst_ms", UNIT_TIME, false},
    [M_ITL] = {"inter_token_latency", "itl_ms", UNIT_TIME, false},
    [M_ICL] = {"inter_chunk_latency", "icl_ms", UNIT_TIME, false},
    [M_LATENCY] = {"request_latency", "request_latency_ms", UNIT_TIME, false},
    [M_OUT_RATE] = {"output_token_throughput", "output_tok_s_aggregate", UNIT_RATE, true},
    [M_TOTAL_RATE] = {"total_token_throughput", "total_tok_s_aggregate", UNIT_RATE, true},
    [M_USER_RATE] = {"output_token_throughput_per_user", "user_tok_s", UNIT_RATE, false},
    [M_E2E_RATE] = {"e2e_output_token_throughput", "e2e_tok_s", UNIT_RATE, false},
    [M_PREFILL_RATE] = {"prefill_throughput_per_user", "isl_over_ttft_tok_s", UNIT_RATE, false},
    [M_GOODPUT] = {"goodput", "goodput_req_s", UNIT_RATE, true},
    [M_GOOD] = {"good_request_count", "good_requests", UNIT_COUNT, true},
    [M_FAILED] = {"error_request_count", "failed", UNIT_COUNT, true},
    [M_TOTAL_OUT] = {"total_output_tokens", "output_tokens_total", UNIT_COUNT, true},
    [M_TOTAL_IN] = {"total_input_tokens", "input_tokens_total", UNIT_COUNT, true},
    [M_OUT_COUNT] = {"output_token_count", "visible_output_tokens", UNIT_COUNT, false},
    [M_REASONING] = {"reasoning_token_count", "reasoning_tokens", UNIT_COUNT, false},
    [M_TTFO] = {"time_to_first_output_token", "ttfo_ms", UNIT_TIME, false},
};

/* Names of other versions. */
static const char *const ALIASES[][2] = {
    {"output_token_throughput_per_request", "output_token_throughput_per_user"},
    {"num_output_token", "output_sequence_length"},
    {"num_input_token", "input_sequence_length"},
    {"total_osl", "total_output_tokens"},
    {"total_output_sequence_length", "total_output_tokens"},
    {"total_isl", "total_input_tokens"},
    {"total_input_sequence_length", "total_input_tokens"},
    {"prefill_throughput", "prefill_throughput_per_user"},
};

enum {
    S_MEAN,
    S_MIN,
    S_MAX,
    S_P1,
    S_P5,
    S_P10,
    S_P25,
    S_P50,
    S_P75,
    S_P90,
    S_P95,
    S_P99,
    S_STD,
    S_COUNT
};
static const struct {
    const char *name, *suffix;
} STATS[STATS_MAX] = {
    [S_MEAN] = {"avg", "mean"}, [S_MIN] = {"min", "min"},   [S_MAX] = {"max", "max"},
    [S_P1] = {"p1", "p1"},      [S_P5] = {"p5", "p5"},      [S_P10] = {"p10", "p10"},
    [S_P25] = {"p25", "p25"},   [S_P50] = {"p50", "p50"},   [S_P75] = {"p75", "p75"},
    [S_P90] = {"p90", "p90"},   [S_P95] = {"p95", "p95"},   [S_P99] = {"p99", "p99"},
    [S_STD] = {"std", "std"},   [S_COUNT] = {"count", "n"},
};

_Static_assert((int)METRICS_N <= (int)METRICS_MAX, "room for the metrics");

metric_set metric_set_new(void) {
    metric_set s = {.concurrency = (double)NAN, .request_rate = (double)NAN, .failed = (double)NAN};
    for (size_t i = 0; i < METRICS_MAX; i++)
        for (size_t k = 0; k < STATS_MAX; k++) s.m[i].stat[k] = (double)NAN;
    return s;
}

int metric_of(const char *name) {
    char tag[64];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof tag; n++)
        tag[n] = strchr(" -", name[n]) ? '_' : (char)tolower((unsigned char)name[n]);
    tag[n] = '\0';
    const char *canonical = tag;
    for (size_t i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++)
        if (strcmp(tag, ALIASES[i][0]) == 0) canonical = ALIASES[i][1];
    for (int i = 0; i < METRICS_N; i++)
        if (strcmp(canonical, METRICS[i].tag) == 0) return i;
    return -1;
}

int metric_stat_of(const char *name) {
    if (strcasecmp(name, "mean") == 0 || strcasecmp(name, "value") == 0) return S_MEAN;
    if (strcasecmp(name, "median") == 0) return S_P50;
    for (int i = 0; i < STATS_MAX; i++)
        if (strcasecmp(name, STATS[i].name) == 0) return i;
    return -1;
}

/* Factor to milliseconds; 0: no unit of time. */
static double to_ms(const char *unit) {
    static const struct {
        const char *unit;
        double ms;
    } UNITS[] = {{"ms", 1},  {"milliseconds", 1}, {"us", 1e-3},     {"µs", 1e-3}, {"ns", 1e-6},
                 {"s", 1e3}, {"sec", 1e3},        {"seconds", 1e3}, {"min", 6e4}};
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
        if (strcasecmp(unit, UNITS[i].unit) == 0) return UNITS[i].ms;
    return 0;
}

/* Factor to the unit of the record; 0: not known. */
static double factor(metric_unit kind, const char *unit) {
    if (kind == UNIT_COUNT) return 1;
    if (!unit) return 0;
    if (kind == UNIT_TIME) return to_ms(unit);
    if (kind == UNIT_DURATION) return to_ms(unit) / 1e3;
    if (strstr(unit, "min")) return 1.0 / 60;
    return strstr(unit, "sec") || strstr(unit, "/s") ? 1 : 0;
}

void metric_put(import *in, const char *file, size_t line, metric_set *s, int i, int stat, double v,
                const char *unit) {
    const char *tag = METRICS[i].tag;
    if (METRICS[i].single && stat != S_MEAN) return; /* of one value there are no others */
    double scale = stat == S_COUNT ? 1 : factor(METRICS[i].unit, unit);
    metric *m = &s->m[i];
    if (scale == 0) {
        if (!m->unit_unknown)
            import_warn(in, file, line, "%s has the unit \"%.40s\", which is not known: not used",
                        tag, unit ? unit : "");
        m->unit_unknown = true;
    } else if (v < 0) {
        import_fault(in, file, line, "%s: %s is %.6g, expected a value >= 0", tag, STATS[stat].name,
                     v);
    } else if (isfinite(v) && isfinite(m->stat[stat]) && m->stat[stat] != v * scale) {
        import_warn(in, file, line, "%s: %s is %.6g here and %.6g on line %zu: neither is used",
                    tag, STATS[stat].name, v * scale, m->stat[stat], m->line);
        m->conflict[stat] = true;
    } else if (isfinite(v)) {
        if (!m->stated) m->line = line;
        m->stated = true;
        m->stat[stat] = v * scale;
    }
}

/* ---- out of a set ---- */

static double value_of(const metric_set *s, int i, int stat) {
    return s->m[i].conflict[stat] ? (double)NAN : s->m[i].stat[stat];
}

static double mean_of(const metric_set *s, int i) {
    return value_of(s, i, S_MEAN);
}

/* Of one request while it decodes: as stated, else from the mean time between its tokens. */
static double decode_rate(const metric_set *s) {
    double rate = mean_of(s, M_USER_RATE), itl = mean_of(s, M_ITL);
    if (!(rate > 0)) rate = 1e3 / itl;
    return rate > 0 && rate <= RATE_MAX ? rate : (double)NAN;
}

static void record_metric(import *in, const metric_set *s, int i) {
    if (METRICS[i].single) {
        import_record_stated(in, METRICS[i].key, mean_of(s, i));
        return;
    }
    for (int k = 0; k < STATS_MAX; k++) {
        char key[64];
        double v = value_of(s, i, k);
        if (!isfinite(v)) continue;
        snprintf(key, sizeof key, "%s_%s", METRICS[i].key, STATS[k].suffix);
        if (import_keep(in, key)) import_record_num(in, import_keep(in, key), v);
    }
}

/* ---- what does not fit together ---- */

static void check_product(import *in, const char *file, size_t line, const metric_set *s, int rate,
                          int total) {
    double r = mean_of(s, rate), t = mean_of(s, M_DURATION), n = mean_of(s, total);
    if (!(r > 0 && t > 0 && n > 0) || fabs(r * t - n) <= 0.01 * n) return;
    import_warn(in, file, line, "%s %.6g in %.6g s makes %.6g, which contradicts %s %.6g",
                METRICS[rate].tag, r, t, r * t, METRICS[total].tag, n);
}

/* Percentiles in their order, the mean between the ends. */
static void check_order(import *in, const char *file, const metric_set *s, int i) {
    double before = value_of(s, i, S_MIN), mean = mean_of(s, i);
    int last = S_MIN;
    for (int k = S_P1; k <= S_P99 + 1; k++) {
        int stat = k > S_P99 ? S_MAX : k;
        double v = value_of(s, i, stat);
        if (!isfinite(v)) continue;
        if (v < before * (1 - 1e-9))
            import_warn(in, file, s->m[i].line, "%s: %s %.6g is below %s %.6g", METRICS[i].tag,
                        STATS[stat].name, v, STATS[last].name, before);
        before = v;
        last = stat;
    }
    double lo = value_of(s, i, S_MIN), hi = value_of(s, i, S_MAX);
    if (mean < lo * 0.999 || mean > hi * 1.001)
        import_warn(in, file, s->m[i].line, "%s: avg %.6g lies outside %.6g to %.6g",
                    METRICS[i].tag, mean, lo, hi);
}

static void check_requests(import *in, const char *file, size_t line, const metric_set *s) {
    double n = mean_of(s, M_COUNT), two = value_of(s, M_ITL, S_COUNT),
           failed = mean_of(s, M_FAILED);
    if (!isfinite(failed)) failed = s->failed;
    if (two < n)
        import_warn(in, file, line,
                    "%.0f of %.0f requests have a second token: the others count "
                    "in no time between tokens",
                    two, n);
    if (failed > 0)
        import_warn(in, file, line, "%.0f requests failed: they are in no figure of the others",
                    failed);
    if (!isfinite(mean_of(s, M_ISL)))
        import_warn(in, file, line,
                    "no input_sequence_length: the length of the prompts is not "
                    "known");
}

static void check_times(import *in, const char *file, size_t line, const metric_set *s) {
    double mean = mean_of(s, M_LATENCY), mid = value_of(s, M_LATENCY, S_P50),
           max = value_of(s, M_LATENCY, S_MAX), itl = mean_of(s, M_ITL),
           second = value_of(s, M_TTST, S_P50), rate = mean_of(s, M_USER_RATE);
    if (mean > 1.1 * mid && max > 2 * mid)
        import_warn(in, file, line,
                    "request_latency: the mean %.6g ms is pulled up, the median is %.6g and the "
                    "longest request took %.6g: a cold start?",
                    mean, mid, max);
    if (second < itl / 10)
        import_warn(in, file, line,
                    "the second token comes %.3g ms behind the first, the others %.3g ms apart: "
                    "several arrive together",
                    second, itl);
    /* the mean of rates is never below the rate of the mean */
    if (rate < 0.9 * 1e3 / itl)
        import_warn(in, file, line,
                    "output_token_throughput_per_user %.6g contradicts inter_token_latency %.6g "
                    "ms, %.6g tok/s",
                    rate, itl, 1e3 / itl);
}

/* ---- rows ---- */

static import_row *new_row(import *in, const char *file, size_t line, const metric_set *s,
                           import_phase phase) {
    import_row *r = import_row_new(in, file, line);
    const char *settings[IMPORT_SETTINGS_N] = {0};
    if (!r) return NULL;
    settings[IMPORT_MODEL] = s->model;
    import_settings_keep(in, r, settings);
    r->phase = phase;
    r->per_request = true;
    return r;
}

static int64_t tokens(double mean) {
    return isfinite(mean) && mean < 1e9 ? (int64_t)llround(mean) : -1;
}

static const char *no_decode_term(import *in, const metric_set *s) {
    char why[160];
    if (s->streaming_off) return "not streamed: no time between tokens was seen";
    if (isnan(s->concurrency))
        return "of one request among an unknown number: how many decoded together is not stated";
    if (s->concurrency > 1) {
        snprintf(why, sizeof why,
                 "of one request among %.0f in flight: how many decoded together is not stated",
                 s->concurrency);
        return import_keep(in, why);
    }
    if (!(mean_of(s, M_OSL) >= FEW_GENERATED)) return "fewer than 8 tokens generated";
    if (!(mean_of(s, M_ISL) >= 1)) return "the length of the prompts is not stated";
    return NULL;
}

static void add_rows(import *in, const char *file, size_t line, const metric_set *s) {
    double isl = mean_of(s, M_ISL), osl = mean_of(s, M_OSL), ttft = mean_of(s, M_TTFT),
           rate = decode_rate(s);
    import_row *r = rate > 0 && tokens(osl) > 0 ? new_row(in, file, line, s, IMPORT_DECODE) : NULL;
    if (r) {
        r->n_prompt = tokens(isl);
        r->n_gen = tokens(osl);
        r->tok_s = r->per_seq_tok_s = rate;
        r->refused = no_decode_term(in, s);
    }
    bool rated = ttft > 0 && tokens(isl) > 0 && isl / ttft * 1e3 <= RATE_MAX;
    r = rated ? new_row(in, file, line, s, IMPORT_PREFILL) : NULL;
    if (r) {
        r->n_prompt = tokens(isl);
        r->tok_s = r->per_seq_tok_s = isl / ttft * 1e3;
        r->refused = "the time to the first token holds client, queue and that token, and a cached "
                     "prompt does not show in it";
        import_warn(in, file, line,
                    "%.6g prompt tokens over the %.6g ms to the first token are no prefill rate: "
                    "queue and a cached prefix do not show in them",
                    isl, ttft);
    }
    if (!(mean_of(s, M_OUT_RATE) > 0 && tokens(osl) > 0)) return;
    r = new_row(in, file, line, s, IMPORT_MIXED);
    if (!r) return;
    r->per_request = false;
    r->n_prompt = tokens(isl);
    r->n_gen = tokens(osl);
    r->tok_s = mean_of(s, M_OUT_RATE);
    r->refused = "output of the whole run over its wall-clock: prefill and queue are in it";
}

void metric_set_emit(import *in, const char *file, size_t line, const metric_set *s) {
    if (!import_record_new(in, file, line, IMPORT_SUMMARY, (size_t)METRICS_N * STATS_MAX + 8))
        return;
    if (s->model) import_record_text(in, "model", s->model);
    import_record_stated(in, "concurrency", s->concurrency);
    import_record_stated(in, "request_rate", s->request_rate);
    for (int i = 0; i < METRICS_N; i++) record_metric(in, s, i);
    if (!isfinite(mean_of(s, M_FAILED))) import_record_stated(in, "failed", s->failed);
    import_record_stated(in, "decode_tok_s_per_request", decode_rate(s));
    check_requests(in, file, line, s);
    check_times(in, file, line, s);
    check_product(in, file, line, s, M_OUT_RATE, M_TOTAL_OUT);
    check_product(in, file, line, s, M_REQ_RATE, M_COUNT);
    for (int i = 0; i < METRICS_N; i++)
        if (!METRICS[i].single) check_order(in, file, s, i);
    add_rows(in, file, line, s);
}
