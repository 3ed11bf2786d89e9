/* GuideLLM: the JSON report of 0.2 to 0.5, where the strategy, the numbers of requests and the
 * times moved from release to release; and what its console says in the same words. Its own
 * *_per_second statistics are over intervals between events, not over time: rates come from totals
 * and duration. Latencies of requests are seconds, TTFT and ITL milliseconds. */
#include "import_serving.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FEW_GEN = 8, PERCENTILES_MIN = 100 };
static const double TOK_MAX = 1e9;

#define WARN(s, ...) import_warn((s)->in, (s)->file, (s)->run.line, __VA_ARGS__)

/* ---- what both forms say ---- */

static int64_t tokens(double v) {
    return v >= 0.5 && v <= TOK_MAX ? llround(v) : 0;
}

static import_row *add_row(serving *s, import_phase phase, double in, double out) {
    const char *settings[IMPORT_SETTINGS_N] = {0};
    double together = serving_num(s, "concurrency");
    if (phase == IMPORT_PREFILL ? tokens(in) == 0 : tokens(out) == 0) return NULL;
    import_row *r = import_row_new(s->in, s->file, s->run.line);
    if (!r) return NULL;
    settings[IMPORT_MODEL] = serving_text(s, "model");
    r->phase = phase;
    r->n_prompt = tokens(in);
    r->n_gen = phase == IMPORT_PREFILL ? 0 : tokens(out);
    r->batch_n = together >= 1 && together <= 1e6 ? llround(together) : 1;
    import_settings_keep(s->in, r, settings);
    return r;
}

/* Requests one behind the other, of one length, whose gaps explain their whole time. */
static const char *decode_refused(const serving *s, double in, double out) {
    double itl = serving_num(s, "itl_ms_mean"), latency = serving_num(s, "latency_s_mean"),
           ttft = serving_num(s, "ttft_ms_mean");
    const char *strategy = serving_text(s, "strategy");
    bool alone = strategy &&
                 (strncmp(strategy, "synchronous", 11) == 0 ||
                  (strncmp(strategy, "concurrent", 10) == 0 && serving_num(s, "concurrency") == 1));
    if (s->run.faulty) return "its figures contradict each other";
    if (out < 2) return "one output token per request: no time between tokens";
    if (!(itl > 0)) return "no mean time between tokens";
    if (!alone)
        return "requests ran together: how many in a step is unknown, and their steps contain the "
               "prefill of others";
    if (serving_num(s, "errored") > 0 || serving_num(s, "incomplete") > 0)
        return "some of the requests failed or did not end";
    if (out < FEW_GEN) return "too few generated tokens for a decode rate";
    if (!(in >= 1) || in != floor(in) || out != floor(out) || serving_num(s, "lengths_differ") > 0)
        return "requests of different lengths: a mean over them is of no one context";
    double expected = (latency * 1000 - ttft) / (out - 1);
    if (!(fabs(expected - itl) <= 0.05 * itl))
        return "the gaps do not add up to the time of a request: they are of pieces of the stream";
    return NULL;
}

static void add_rows(serving *s) {
    double in = serving_num(s, "prompt_tokens_mean"), out = serving_num(s, "output_tokens_mean");
    if (!isfinite(in)) in = serving_num(s, "prompt_tokens_median");
    if (!isfinite(out)) out = serving_num(s, "output_tokens_median");
    import_row *r = add_row(s, IMPORT_PREFILL, in, out);
    if (r) {
        r->per_request = true;
        r->refused = "a time to first token contains the queue, and the tool's own prompt rate is "
                     "of intervals between events: no prefill rate";
    }
    r = add_row(s, IMPORT_DECODE, in, out);
    if (r) {
        double rate = serving_num(s, "decode_tok_s_per_request");
        r->per_request = true;
        r->refused = decode_refused(s, in, out);
        if (rate > 0) r->tok_s = r->per_seq_tok_s = rate;
    }
    r = add_row(s, IMPORT_MIXED, in, out);
    if (r) {
        double rate = serving_num(s, "output_tok_s_aggregate");
        r->refused = "an aggregate over a whole run, with prefill and queueing in its time";
        if (rate > 0) r->tok_s = rate;
    }
}

static void warn_run(serving *s) {
    double n = serving_num(s, "completed"), failed = serving_num(s, "errored"),
           open = serving_num(s, "incomplete"), mean = serving_num(s, "ttft_ms_mean"),
           median = serving_num(s, "ttft_ms_median"), itl = serving_num(s, "itl_ms_mean"),
           in = serving_num(s, "input_tok_s"), out = serving_num(s, "output_tok_s_aggregate"),
           total = serving_num(s, "total_tok_s_aggregate"),
           together = serving_num(s, "concurrency");
    if (failed > 0) WARN(s, "%.0f requests failed: the figures are of the others", failed);
    if (open > 0)
        WARN(s, "%.0f requests did not end: what they computed is in the time and not in the rate",
             open);
    if (mean > 2 * median)
        WARN(s, "mean TTFT %.6g ms is %.1f times the median: a cold start or a queue is in it",
             mean, mean / median);
    if (n < PERCENTILES_MIN &&
        (isfinite(serving_num(s, "ttft_ms_p99")) || isfinite(serving_num(s, "itl_ms_p99"))))
        WARN(s, "a p99 over %.0f requests is the maximum", n);
    if (itl == 0 || serving_num(s, "itl_ms_median") == 0)
        WARN(s, "an ITL of 0 ms: the answers came in one piece, no decode rate");
    if (!isfinite(itl) && !isfinite(serving_num(s, "itl_ms_median")) && out > 0 && together > 0)
        WARN(s,
             "no latencies: no decode rate per request (%.6g tok/s by %.6g at once, %.4g, contains "
             "the prefill)",
             out, together, out / together);
    if (fabs(in + out - total) > 0.01 * total + 0.2)
        WARN(s, "inconsistent totals: %.6g + %.6g != %.6g tok/s", in, out, total);
}

/* A release printed seconds under "ms": a request is not shorter than its first token. */
static void derive_latency(serving *s, const char *labelled, const char *key) {
    double v = serving_num(s, labelled), ttft = serving_num(s, "ttft_ms_mean");
    if (!(v > 0 && ttft > 0)) return;
    serving_set(s, key, v < ttft ? v : v / 1000);
    if (v < ttft)
        WARN(s, "a request latency of %.6g ms is below the TTFT of %.6g ms: these are seconds", v,
             ttft);
}

/* The printed rate is the tool's statistic where totals say another one. */
static void derive_rate(serving *s) {
    double printed = serving_num(s, "output_tok_s_aggregate"),
           total = serving_num(s, "output_tokens") / serving_num(s, "duration_s");
    if (!(total > 0 && isfinite(total)) || fabs(printed - total) <= 0.02 * total + 0.1) return;
    serving_set(s, "output_tok_s_from_totals", total);
    WARN(s,
         "%.6g output tok/s are printed, totals and duration give %.6g: the tool's statistic is "
         "not a rate over time",
         printed, total);
}

static void derive(serving *s) {
    double itl = serving_num(s, "itl_ms_mean"), mid = serving_num(s, "itl_ms_median"),
           out = serving_num(s, "output_tokens_mean");
    if (itl > 0 && !(out < 2)) serving_set(s, "decode_tok_s_per_request", 1000 / itl);
    if (mid > 0 && !(out < 2)) serving_set(s, "decode_tok_s_per_request_median", 1000 / mid);
    derive_latency(s, "latency_labelled_ms_mean", "latency_s_mean");
    derive_latency(s, "latency_labelled_ms_median", "latency_s_median");
    derive_rate(s);
}

void guidellm_finish(serving *s) {
    if (s->run.n == 0) return;
    derive(s);
    if (serving_num(s, "completed") == 0) {
        import_fault(s->in, s->file, s->run.line, "no request succeeded: nothing was measured");
        s->run.faulty = true;
    }
    warn_run(s);
    if (import_record_new(s->in, s->file, s->run.line, IMPORT_SUMMARY, s->run.n))
        for (size_t i = 0; i < s->run.n; i++) {
            const serving_value *v = &s->run.v[i];
            if (v->text)
                import_record_text(s->in, v->key, v->text);
            else if (strcmp(v->key, "lengths_differ") != 0)
                import_record_stated(s->in, v->key, v->v);
        }
    add_rows(s);
    serving_clear(s, 0);
}

/* ---- JSON ---- */

/* The first of several places ("a/b") that holds something. */
static jr first_of(jr o, const char *const *paths) {
    jr found = {.doc = o.doc};
    for (size_t i = 0; paths[i]; i++) {
        char part[48];
        jr at = o;
        for (const char *p = paths[i]; *p && at.node;) {
            size_t n = strcspn(p, "/");
            snprintf(part, sizeof part, "%.*s", (int)n, p);
            at = jr_get(at, part);
            p += n + (p[n] == '/');
            if (at.node && *p && !cJSON_IsObject(at.node)) at.node = NULL;
        }
        if (at.node && !cJSON_IsNull(at.node)) return at;
    }
    return found;
}

static double number_of(jr at) {
    return at.node && cJSON_IsNumber(at.node) ? at.node->valuedouble : (double)NAN;
}

/* A statistic of the successful requests. */
static double stat_of(jr metrics, const char *metric, const char *stat) {
    char path[96];
    snprintf(path, sizeof path, "%s/successful/%s", metric, stat);
    return number_of(first_of(metrics, (const char *const[]){path, NULL}));
}

static void take_strategy(serving *s, const import_piece *p, jr b) {
    jr st = first_of(b, (const char *const[]){"config/strategy", "scheduler/strategy",
                                              "args/strategy", "strategy", NULL});
    const char *type = NULL;
    if (cJSON_IsString(st.node)) type = st.node->valuestring;
    if (!cJSON_IsObject(st.node)) {
        serving_set_text(s, "strategy", type);
        return;
    }
    if (cJSON_IsString(jr_get(st, "type_").node)) type = import_str(st, "type_");
    double streams = number_of(jr_get(st, "streams")), rate = number_of(jr_get(st, "rate")),
           limit = number_of(jr_get(st, "max_concurrency"));
    serving_set_text(s, "strategy", type);
    if (type && strcmp(type, "synchronous") == 0) streams = 1;
    if (isfinite(streams)) serving_state(s, p->line, "streams", "concurrency", streams);
    if (isfinite(rate)) serving_state(s, p->line, "rate", "request_rate", rate);
    if (isfinite(limit)) serving_state(s, p->line, "max_concurrency", "max_concurrency", limit);
}

static double duration_of(jr b) {
    static const char *const ENDS[][2] = {
        {"scheduler_metrics/measure_start_time", "scheduler_metrics/measure_end_time"},
        {"start_time", "end_time"},
        {"run_stats/start_time", "run_stats/end_time"},
        {"scheduler_state/start_time", "scheduler_state/end_time"}};
    double d = number_of(jr_get(b, "duration"));
    for (size_t i = 0; !(d > 0) && i < sizeof ENDS / sizeof *ENDS; i++)
        d = number_of(first_of(b, (const char *const[]){ENDS[i][1], NULL})) -
            number_of(first_of(b, (const char *const[]){ENDS[i][0], NULL}));
    return d;
}

static void take_requests(serving *s, const import_piece *p, jr b) {
    static const char *const KEYS[][2] = {
        {"successful", "completed"}, {"errored", "errored"}, {"incomplete", "incomplete"}};
    jr totals = first_of(b, (const char *const[]){"metrics/request_totals", "request_totals",
                                                  "scheduler_metrics/requests_made",
                                                  "run_stats/requests_made", NULL});
    for (size_t i = 0; i < 3 && cJSON_IsObject(totals.node); i++) {
        double v = number_of(jr_get(totals, KEYS[i][0]));
        if (isfinite(v)) serving_state(s, p->line, KEYS[i][0], KEYS[i][1], v);
    }
    double d = duration_of(b);
    if (isfinite(d)) serving_state(s, p->line, "duration", "duration_s", d);
    if (!(d > 0)) {
        import_fault(s->in, s->file, p->line, "no duration > 0: no rate can be computed");
        s->run.faulty = true;
    }
}

static void take_metrics(serving *s, const import_piece *p, jr m) {
    static const struct {
        const char *metric, *stat, *key;
    } STATS[] = {
        {"time_to_first_token_ms", "mean", "ttft_ms_mean"},
        {"time_to_first_token_ms", "median", "ttft_ms_median"},
        {"time_to_first_token_ms", "percentiles/p99", "ttft_ms_p99"},
        {"inter_token_latency_ms", "mean", "itl_ms_mean"},
        {"inter_token_latency_ms", "median", "itl_ms_median"},
        {"inter_token_latency_ms", "percentiles/p99", "itl_ms_p99"},
        {"time_per_output_token_ms", "mean", "tpot_ms_mean"},
        {"time_per_output_token_ms", "median", "tpot_ms_median"},
        {"request_latency", "mean", "latency_s_mean"},
        {"request_latency", "median", "latency_s_median"},
        {"request_concurrency", "mean", "concurrency_mean"},
        {"prompt_token_count", "mean", "prompt_tokens_mean"},
        {"output_token_count", "mean", "output_tokens_mean"},
        {"prompt_token_count", "total_sum", "input_tokens"},
        {"output_token_count", "total_sum", "output_tokens"},
        {"requests_per_second", "mean", "stated_req_s_mean"},
        {"prompt_tokens_per_second", "mean", "stated_prompt_tok_s_mean"},
        {"output_tokens_per_second", "mean", "stated_output_tok_s_mean"},
        {"output_tokens_per_second", "median", "stated_output_tok_s_median"},
        {"tokens_per_second", "mean", "stated_total_tok_s_mean"},
    };
    for (size_t i = 0; i < sizeof STATS / sizeof *STATS; i++) {
        double v = stat_of(m, STATS[i].metric, STATS[i].stat);
        bool sum = strcmp(STATS[i].stat, "total_sum") == 0; /* a mean times a count, at times */
        if (sum && fabs(v - round(v)) <= 1e-9 * fabs(v)) v = round(v);
        if (isfinite(v)) serving_state(s, p->line, STATS[i].metric, STATS[i].key, v);
    }
    if (stat_of(m, "prompt_token_count", "std_dev") > 0 ||
        stat_of(m, "output_token_count", "std_dev") > 0)
        serving_set(s, "lengths_differ", 1);
}

/* The tool's rate against the one that follows from totals and time. */
static void compare_rate(serving *s, const char *stated, const char *derived) {
    double a = serving_num(s, stated), b = serving_num(s, derived);
    if (b > 0 && fabs(a - b) > 0.1 * b)
        WARN(s,
             "%s is %.6g, totals and duration give %.6g: the tool's statistic is not a rate "
             "over time",
             stated, a, b);
}

static void take_rates(serving *s) {
    double n = serving_num(s, "completed"), d = serving_num(s, "duration_s"),
           in = serving_num(s, "input_tokens"), out = serving_num(s, "output_tokens");
    if (!isfinite(in)) in = serving_num(s, "prompt_tokens_mean") * n;
    if (!isfinite(out)) out = serving_num(s, "output_tokens_mean") * n;
    if (d > 0) {
        serving_set(s, "req_s", n / d);
        serving_set(s, "input_tok_s", in / d);
        serving_set(s, "output_tok_s_aggregate", out / d);
    }
    compare_rate(s, "stated_req_s_mean", "req_s");
    compare_rate(s, "stated_output_tok_s_mean", "output_tok_s_aggregate");
    compare_rate(s, "stated_output_tok_s_median", "output_tok_s_aggregate");
    compare_rate(s, "stated_prompt_tok_s_mean", "input_tok_s");
}

static void read_benchmark(serving *s, const import_piece *p, jr b, const char *model) {
    jr m = jr_get(b, "metrics");
    if (!cJSON_IsObject(m.node)) {
        import_fault(s->in, s->file, p->line,
                     "benchmark %zu has no metrics: a report of a release that is not read",
                     b.index);
        return;
    }
    serving_clear(s, p->line);
    if (model) serving_set_text(s, "model", model);
    take_strategy(s, p, b);
    take_requests(s, p, b);
    take_metrics(s, p, m);
    take_rates(s);
    guidellm_finish(s);
}

static void read_report(serving *s, const import_piece *p, jr root) {
    jr list = jr_get(root, "benchmarks");
    const char *model = NULL;
    jr named = first_of(root, (const char *const[]){"args/model", "metadata/model", NULL});
    const char *name = cJSON_GetStringValue(named.node);
    if (name) model = import_keep(s->in, name);
    if (!cJSON_IsArray(list.node)) {
        import_warn(s->in, s->file, p->line, "JSON, but no GuideLLM report, skipped");
        return;
    }
    for (jr b = {0}; jr_each(list, &b);)
        if (cJSON_IsObject(b.node)) read_benchmark(s, p, b, model);
}

static err_code read_json(import *in, import_text *t) {
    serving *s = serving_new(in, t);
    if (!s) return in->e->code;
    import_cursor c = import_start(in, t);
    import_piece p;
    while (import_next_element(&c, &p)) {
        jr_doc doc;
        err e;
        if (!import_open(&c, &p, &doc, &e)) continue;
        read_report(s, &p, jr_root(&doc));
        (void)import_close(&c, &p, &doc);
    }
    import_end(&c);
    return in->e->code;
}

static int detect_json(const file_bytes *f) {
    if (!import_holds(f, "\"benchmarks\"")) return 0;
    if (import_holds(f, "generative_benchmark") || import_holds(f, "\"guidellm_version\""))
        return 92;
    return import_holds(f, "\"inter_token_latency_ms\"") &&
                   import_holds(f, "\"time_to_first_token_ms\"")
               ? 85
               : 0;
}

const import_format IMPORT_GUIDELLM_JSON = {
    .name = "guidellm_json",
    .about = "guidellm benchmark --output-path",
    .detect = detect_json,
    .read = read_json,
};
