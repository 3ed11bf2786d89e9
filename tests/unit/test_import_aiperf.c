/* AIPerf, genai-perf, LLMServingSim profiles, and traces of requests: on lines written here with
 * values worked out by hand, on the corpus where $RATECAST_SHARED (default: ../shared beside the
 * repository) has it, and on damaged copies of both. */
#include "import.h"

#include "base/jsonr.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static arena *mem;
static err e;
static import in;

static void set_up(void) {
    mem = arena_new((size_t)512 << 20);
    e = (err){0};
    in = import_new(mem, &e);
}

static void tear_down(void) {
    arena_free(mem);
}

TestSuite(aiperf, .init = set_up, .fini = tear_down);
TestSuite(trace, .init = set_up, .fini = tear_down);
TestSuite(profile, .init = set_up, .fini = tear_down);

static void add_bytes(import *to, const char *text, size_t len) {
    file_bytes f = {.name = "a", .s = text, .len = len};
    file_sha256_hex(text, len, f.sha256);
    (void)import_add(to, &f, NULL);
}

static void add(const char *text) {
    in = import_new(mem, &e);
    add_bytes(&in, text, strlen(text));
    cr_assert_eq(e.code, OK, "%s: %s", e.where, e.what);
}

static const char *format_of(const char *text) {
    add(text);
    return in.files[0].format ? in.files[0].format : "none";
}

static bool noted(const import_notes *notes, size_t line, const char *word) {
    for (size_t i = 0; i < notes->n; i++)
        if (notes->v[i].line == line && strstr(notes->v[i].what, word)) return true;
    for (size_t i = 0; i < notes->n; i++)
        cr_log_warn("%s:%zu: %s", notes->v[i].file, notes->v[i].line, notes->v[i].what);
    return false;
}

static const import_value *value_of(size_t record, const char *key) {
    cr_assert_lt(record, in.records_n, "%s", key);
    for (size_t i = 0; i < in.records[record].n; i++)
        if (strcmp(in.records[record].v[i].key, key) == 0) return &in.records[record].v[i];
    return NULL;
}

static void is_value(size_t record, const char *key, double want) {
    const import_value *v = value_of(record, key);
    cr_assert_not_null(v, "%s", key);
    cr_assert(fabs(v->v - want) <= 1e-9 * fabs(want), "%s: %.15g, expected %.15g", key, v->v, want);
}

static const import_row *row_of(import_phase phase) {
    for (size_t i = 0; i < in.rows_n; i++)
        if (in.rows[i].phase == phase) return &in.rows[i];
    return NULL;
}

/* ---- the JSON summary ---- */

#define METRIC(name, unit, rest) "\"" name "\": {\"unit\": \"" unit "\", " rest "}"
/* 100 requests of 200 and 50 tokens in 50 s: 2 a second, 100 tok/s */
#define RUN                                                                                                                                           \
    METRIC("request_throughput", "requests/sec", "\"avg\": 2.0")                                                                                      \
    ", " METRIC("request_latency", "ms", "\"avg\": 600, \"p50\": 590, \"min\": 500, \"max\": 800") ", " METRIC(                                       \
        "time_to_first_token", "ms",                                                                                                                  \
        "\"avg\": 110, \"p50\": 100, \"p99\": 190") ", " METRIC("inter_token_latency", "ms",                                                          \
                                                                "\"avg\": 10, \"p50\": 10") ","                                                       \
                                                                                            " " METRIC(                                               \
                                                                                                "output_token_throughput",                            \
                                                                                                "tokens/sec",                                         \
                                                                                                "\"avg\": 100") ", " METRIC("output_sequence_length", \
                                                                                                                            "tokens",                 \
                                                                                                                            "\"avg\": 50")
#define ISL ", " METRIC("input_sequence_length", "tokens", "\"avg\": 200")

Test(aiperf, genai_perf_at_concurrency_one_gives_a_decode_term) {
    add("{" RUN ISL ", \"input_config\": {\"model\": [\"tiny\"], \"perf_analyzer\": "
        "{\"stimulus\": {\"concurrency\": 1}}}}");
    cr_assert_str_eq(in.files[0].format, "aiperf_json");
    cr_assert_eq(in.records_n, 1);
    is_value(0, "concurrency", 1);
    is_value(0, "ttft_ms_mean", 110);
    is_value(0, "ttft_ms_p99", 190);
    is_value(0, "itl_ms_mean", 10);
    is_value(0, "input_tokens_mean", 200);
    is_value(0, "output_tokens_mean", 50);
    is_value(0, "output_tok_s_aggregate", 100);
    is_value(0, "decode_tok_s_per_request", 100); /* 1000 / 10 */
    cr_assert_str_eq(value_of(0, "model")->text, "tiny");
    cr_assert_null(value_of(0, "completed"), "absent is not zero");
    const import_row *d = row_of(IMPORT_DECODE), *p = row_of(IMPORT_PREFILL);
    cr_assert_null(d->refused);
    cr_assert(d->n_prompt == 200 && d->n_gen == 50 && d->tok_s == 100 && d->batch_n == 1);
    cr_assert_str_eq(d->setting[IMPORT_MODEL], "tiny");
    cr_assert_not_null(strstr(p->refused, "cached"));
    cr_assert_not_null(strstr(row_of(IMPORT_MIXED)->refused, "prefill and queue"));
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.warnings.n, 1);
    cr_assert(noted(&in.warnings, 1, "200 prompt tokens over the 110 ms"));
}

/* BR-21: a rate under load is no rate at B = 1, and the aggregate is no rate of one request. */
Test(aiperf, under_load_or_of_unknown_concurrency_no_rate_is_a_term) {
    add("{" RUN ISL ", \"input_config\": {\"loadgen\": {\"concurrency\": 64}}}");
    cr_assert_eq(in.rows_n, 3);
    for (size_t i = 0; i < in.rows_n; i++) cr_assert_not_null(in.rows[i].refused);
    cr_assert_not_null(strstr(row_of(IMPORT_DECODE)->refused, "64 in flight"));
    add("{" RUN ISL "}");
    for (size_t i = 0; i < in.rows_n; i++) cr_assert_not_null(in.rows[i].refused);
    add("{" RUN ISL ", \"input_config\": {\"concurrency\": 1, \"loadgen\": {\"concurrency\": 2}}}");
    cr_assert_null(value_of(0, "concurrency"), "two values: neither");
    cr_assert(noted(&in.warnings, 1, "concurrency is 1 and 2"));
    cr_assert_not_null(row_of(IMPORT_DECODE)->refused);
}

Test(aiperf, first_versions_nest_the_metrics) {
    add("{\n \"records\": {" RUN "},\n \"input_config\": {\"endpoint\": {\"model_names\": [\"m\"], "
        "\"streaming\": true}},\n \"was_cancelled\": true, \"error_summary\": [{\"count\": 3}]}");
    is_value(0, "ttft_ms_mean", 110);
    is_value(0, "failed", 3);
    cr_assert_str_eq(value_of(0, "model")->text, "m");
    cr_assert(noted(&in.warnings, 1, "cancelled"));
    cr_assert(noted(&in.warnings, 1, "3 requests failed"));
    cr_assert(noted(&in.warnings, 1, "length of the prompts is not known"));
}

Test(aiperf, units_are_read_and_unknown_ones_are_not_guessed) {
    add("{" METRIC("request_latency", "sec", "\"avg\": 0.6") ", " METRIC(
        "time_to_first_token", "ns",
        "\"avg\": 110000000") ", " METRIC("inter_token_latency", "fortnights",
                                          "\"avg\": 10") ", " METRIC("benchmark_duration", "ms",
                                                                     "\"avg\": 50000") "}");
    is_value(0, "request_latency_ms_mean", 600);
    is_value(0, "ttft_ms_mean", 110);
    is_value(0, "duration_s", 50);
    cr_assert_null(value_of(0, "itl_ms_mean"));
    cr_assert_null(value_of(0, "decode_tok_s_per_request"));
    cr_assert(noted(&in.warnings, 1, "fortnights"));
}

Test(aiperf, what_cannot_be_is_said) {
    /* 100 tok/s in 50 s are 5000 tokens */
    add("{" RUN ISL ", " METRIC("benchmark_duration", "sec", "\"avg\": 50") ", " METRIC(
        "total_osl", "tokens", "\"avg\": 7000") "}");
    cr_assert(noted(&in.warnings, 1, "makes 5000, which contradicts total_output_tokens 7000"));
    add("{" RUN ISL ", " METRIC("total_osl", "tokens", "\"avg\": 7") ", " METRIC(
        "total_output_tokens", "tokens", "\"avg\": 8") "}");
    cr_assert_null(value_of(0, "output_tokens_total"), "two values: neither");
    cr_assert(noted(&in.warnings, 1, "neither is used"));
    add("{" METRIC("request_latency", "ms", "\"avg\": -3, \"p50\": 20, \"p99\": 10") "}");
    cr_assert(noted(&in.errors, 1, "-3"));
    cr_assert(noted(&in.warnings, 1, "p99 10 is below p50 20"));
    add("{" METRIC("request_latency", "ms", "\"avg\": nan, \"p50\": 20") "}");
    cr_assert_null(value_of(0, "request_latency_ms_mean"));
    is_value(0, "request_latency_ms_p50", 20);
    add("{" RUN ", " METRIC("request_latency", "ms", "\"avg\": 7") "}");
    cr_assert(noted(&in.errors, 1, "found key \"request_latency\" twice"));
    cr_assert_eq(in.records_n, 0);
}

/* ---- requests ---- */

#define REQUEST(start, end, metrics, error)                                                        \
    "{\"metadata\": {\"session_num\": 7, \"request_start_ns\": " start                             \
    ", \"request_end_ns\": " end ", \"benchmark_phase\": \"profiling\"}, \"metrics\": {" metrics   \
    "}, \"error\": " error "}\n"
#define VALUE(name, v, unit) "\"" name "\": {\"value\": " v ", \"unit\": \"" unit "\"}"

Test(aiperf, nanoseconds_stay_exact) {
    /* doubles near 1.76e18 are 256 apart */
    add(REQUEST("1759813207532900363", "1759813207532900364", VALUE("request_latency", "1", "ms"),
                "null"));
    is_value(0, "session", 7);
    is_value(0, "duration_from_ns_ms", 1e-6);
    add(REQUEST("1759813207532900363", "1759813207532900300", VALUE("request_latency", "1", "ms"),
                "null"));
    cr_assert(noted(&in.errors, 1, "lies before"));
}

/* BR-24: no time between tokens where there are fewer than two. */
Test(aiperf, outputs_of_length_one_have_no_rate) {
    add(REQUEST("1", "2",
                VALUE("output_sequence_length", "1", "tokens") ", " VALUE(
                    "request_latency", "200", "ms") ", " VALUE("time_to_first_token", "200", "ms"),
                "null") REQUEST("3", "4",
                                VALUE("output_sequence_length", "16",
                                      "tokens") ", " VALUE("inter_token_latency", "20", "ms"),
                                "null"));
    cr_assert_eq(in.records_n, 2);
    cr_assert_null(value_of(0, "decode_tok_s_per_request"));
    is_value(1, "decode_tok_s_per_request", 50);
    cr_assert_eq(in.rows_n, 1);
    cr_assert_eq(in.rows[0].line, 2);
    cr_assert_not_null(in.rows[0].refused);
}

Test(aiperf, a_latency_that_its_parts_contradict) {
    add(REQUEST("1", "2",
                VALUE("output_sequence_length", "11", "tokens") ", " VALUE(
                    "request_latency", "900",
                    "ms") ", " VALUE("time_to_first_token", "100",
                                     "ms") ", " VALUE("inter_token_latency", "20", "ms"),
                "null"));
    cr_assert(noted(&in.warnings, 1, "contradicts")); /* 100 + 10 x 20 = 300 */
}

Test(aiperf, a_key_twice_with_one_value_counts_once) {
    add(REQUEST("1", "2",
                VALUE("request_latency", "9", "ms") ", " VALUE("request_latency", "9", "ms"),
                "null"));
    is_value(0, "request_latency_ms", 9);
    cr_assert_eq(in.warnings.n, 0);
}

/* ---- CSV and console ---- */

Test(aiperf, genai_perf_csv) {
    add("Metric,avg,min,max,p99,p50\r\n"
        "Time To First Token (ms),\"1,110.50\",1.00,\"2,000.00\",\"1,990.00\",\"1,100.00\"\r\n"
        "Inter Token Latency (ms),20.00,10.00,30.00,29.00,20.00\r\n"
        "Output Sequence Length,50.00,40.00,60.00,59.00,50.00\r\n"
        "Input Sequence Length,200.00,200.00,200.00,200.00,200.00\r\n"
        "\r\n"
        "Metric,Value\r\n"
        "Output Token Throughput (per sec),\"1,234.50\"\r\n"
        "Request Throughput (per sec),27.80\r\n"
        "\r\n"
        "Endpoint,GPU,Metric,avg\r\n"
        "x,0,GPU Power Usage (W),300.00\r\n");
    cr_assert_str_eq(in.files[0].format, "aiperf_csv");
    cr_assert_eq(in.records_n, 1);
    is_value(0, "ttft_ms_mean", 1110.5);
    is_value(0, "ttft_ms_p99", 1990);
    is_value(0, "output_tok_s_aggregate", 1234.5);
    is_value(0, "req_s", 27.8);
    is_value(0, "decode_tok_s_per_request", 50);
    cr_assert_eq(in.errors.n, 0);
    cr_assert_not_null(row_of(IMPORT_DECODE)->refused);
}

Test(aiperf, csv_by_header_not_by_position) {
    add("Metric,p99,avg\nTime to First Token (ms),9,5\nRequest Latency (ms),\"1,5\"\n"
        "Inter Token Latency (ms),7,\nRequest Count (requests),\"1,234\",\"1,234\"\n"
        "Time to Second Token (ms),inf,3\nTime to First Token (ms),9,6\nRequest Latency (ms),1,2");
    is_value(0, "ttft_ms_p99", 9);
    cr_assert_null(value_of(0, "ttft_ms_mean"), "5 and 6: neither");
    cr_assert(noted(&in.warnings, 7, "6 here and 5 on line 2"));
    cr_assert(noted(&in.warnings, 3, "2 cells, expected the header's 3"));
    cr_assert_null(value_of(0, "itl_ms_mean"), "an empty cell is not zero");
    cr_assert(noted(&in.warnings, 5, "thousand or a decimal comma"));
    cr_assert(noted(&in.errors, 6, "infinite"));
    cr_assert(noted(&in.warnings, 8, "ends inside this line"));
    cr_assert_null(value_of(0, "request_latency_ms_mean"));
    add("Metric;avg;p99\nTime to First Token (ms);5,25;9,5\n");
    is_value(0, "ttft_ms_mean", 5.25);
    add("Metric,avg,avg\nTime to First Token (ms),5,6\n");
    cr_assert(noted(&in.errors, 1, "\"avg\" stands twice"));
    cr_assert_eq(in.records_n, 0);
}

#define TOP "┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━┳━━━━━━━┓\n"
#define MID "┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━┩\n"
#define END "└──────────────────────────────────┴───────────┴───────┘\n"

Test(aiperf, csv_of_two_runs_in_one_file) {
#define RUN_CSV(ms, n)                                                                             \
    "Metric,avg,min\nRequest Latency (ms)," ms ",1\n\nMetric,Value\nRequest Count," n "\n\n"
    add(RUN_CSV("100", "10") RUN_CSV("200", "20"));
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.records_n, 2);
    is_value(0, "request_latency_ms_mean", 100);
    is_value(0, "completed", 10);
    is_value(1, "request_latency_ms_mean", 200);
    is_value(1, "completed", 20);
#undef RUN_CSV
}

Test(aiperf, units_in_a_column_and_dashes) {
    add("Metric,Unit,avg,min,max\n"
        "request_latency,s,3.5,3.4,3.6\n"
        "inter_token_latency,ms,20.0,-,21.0\n"
        "input_sequence_length,tokens,550,550,550\n"
        "output_token_throughput,tokens/sec,50.5,,\n");
    cr_assert_eq(in.errors.n, 0);
    is_value(0, "request_latency_ms_mean", 3500);
    is_value(0, "itl_ms_mean", 20);
    cr_assert_null(value_of(0, "itl_ms_min"));
    is_value(0, "decode_tok_s_per_request", 50);
    is_value(0, "output_tok_s_aggregate", 50.5);
    add("Metric,Unit,avg\ninter_token_latency,fortnights,20.0\n");
    cr_assert(noted(&in.warnings, 2, "not known"), "no unit is guessed");
}

Test(aiperf, console_tables) {
    add("$ aiperf profile --model tiny \\\n    --concurrency 4 \\\n    --streaming\n"
        "            NVIDIA AIPerf | LLM Metrics\n" TOP
        "┃                           Metric ┃       avg ┃   p99 ┃\n" MID
        "│         Time to First Token (ms) │     18.26 │ 68.82 │\n"
        "│         Inter Token Latency (ms) │     20.00 │ 22.48 │\n"
        "│ Output Token Throughput Per User │     51.23 │ 52.28 │\n"
        "│                (tokens/sec/user) │           │       │\n"
        "│  Output Sequence Length (tokens) │     42.83 │ 64.00 │\n"
        "│          Output Token Throughput │ 10,944.03 │   N/A │\n"
        "│                     (tokens/sec) │           │       │\n"
        "│         Request Count (requests) │    711.00 │   N/A │\n"
        "│            Request Latency (ms…  │    711.00 │   N/A │\n" END
        "Benchmark Duration: 2.78 sec\n"
        "  NVIDIA AIPerf | LLM Metrics\n" TOP
        "┃                           Metric ┃       avg ┃   p99 ┃\n" MID
        "│         Time to First Token (ms) │     28.26 │ 78.82 │\n" END
        "CLI Command: aiperf profile --model 'other' --concurrency 1\n");
    cr_assert_str_eq(in.files[0].format, "aiperf_text");
    cr_assert_eq(in.records_n, 2);
    is_value(0, "ttft_ms_mean", 18.26);
    is_value(0, "user_tok_s_p99", 52.28);
    is_value(0, "decode_tok_s_per_request", 51.23);
    is_value(0, "output_tok_s_aggregate", 10944.03);
    is_value(0, "completed", 711);
    is_value(0, "duration_s", 2.78);
    is_value(0, "concurrency", 4);
    cr_assert_str_eq(value_of(0, "model")->text, "tiny");
    cr_assert(noted(&in.warnings, 16, "cut short"));
    is_value(1, "ttft_ms_mean", 28.26);
    is_value(1, "concurrency", 1);
    cr_assert_str_eq(value_of(1, "model")->text, "other");
    cr_assert_null(value_of(1, "completed"));
}

Test(aiperf, console_of_genai_perf_and_wrapped_numbers) {
    add("NVIDIA GenAI-Perf | LLM Metrics\n| Statistic                | avg   | p99  |\n"
        "|--------------------------|-------|------|\n| Time to first token (ms) | 11.59 | 41.11 "
        "|\n"
        "| Inter token latency (ms) | 4.03  | 4.3  |\n|                          |       | 7    |\n"
        "| Request Latency (ms)     | 5     |\n| Request Throughput (per sec) | 27.80 | N/A |\n");
    cr_assert_eq(in.records_n, 1);
    is_value(0, "ttft_ms_mean", 11.59);
    is_value(0, "req_s", 27.8);
    cr_assert_null(value_of(0, "itl_ms_p99"), "4.3 or 4.37");
    cr_assert(noted(&in.warnings, 6, "go on in a second line"));
    cr_assert(noted(&in.warnings, 7, "2 cells, expected the header's 3"));
}

/* ---- profiles ---- */

Test(profile, every_version_gives_records_and_no_rate) {
    add("layer,tokens,time_us\nqkv_proj,16,20.5\nqkv_proj,32,\nqkv_proj,64,-1\nqkv_proj,128,3");
    cr_assert_str_eq(in.files[0].format, "llmservingsim_csv");
    cr_assert_eq(in.records_n, 1);
    cr_assert_eq(in.rows_n, 0);
    is_value(0, "tokens", 16);
    is_value(0, "time_us", 20.5);
    cr_assert_str_eq(value_of(0, "layer")->text, "qkv_proj");
    cr_assert(noted(&in.warnings, 1, "no rate"));
    cr_assert(noted(&in.errors, 3, "states no time"));
    cr_assert(noted(&in.errors, 4, "\"-1\""));
    cr_assert(noted(&in.warnings, 5, "ends inside"));
    add("time_us,kv_decode,n_decode,kv_prefill,prefill_chunk\n8.1,16,1,0,0\n");
    is_value(0, "n_decode", 1);
    is_value(0, "time_us", 8.1);
    add("hardware,model,layer_name,input,kv_cache,latency(ns)\nG,m,attn,1,0,91011\n");
    is_value(0, "time_us", 91.011);
    add("branch,num_tokens,n_decode,kv_decode,prefill_chunk,step_us,sem_us\nfull,4,4,1024,0,13319."
        "856,20\n");
    is_value(0, "time_us", 13319.856);
    cr_assert_eq(in.rows_n, 0);
    add("time_stats.attn_prefill.mean,time_stats.attn_prefill.std,time_stats.attn_decode.mean,"
        "batch_size\n"
        "0.0043,0,,1\n");
    is_value(0, "time_stats.attn_prefill.mean", 0.0043);
    add("layer,tokens,time_us,time_us\na,1,2,3\n");
    cr_assert(noted(&in.errors, 1, "twice"));
    cr_assert_eq(in.records_n, 0);
}

/* ---- traces ---- */

static void refused(const char *text, const char *format, const char *name) {
    cr_assert_str_eq(format_of(text), format);
    cr_assert(
        noted(&in.errors, 0, arena_printf(mem, "a trace of requests (%s): use replay", name)));
    cr_assert_eq(in.rows_n + in.records_n, 0);
}

Test(trace, each_is_refused_by_name) {
    refused("{\"hash_ids\": [0], \"output_length\": 5, \"input_length\": 9, \"timestamp\": 0}\n",
            "mooncake_jsonl", "Mooncake");
    refused("[{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 5}]", "mooncake_jsonl",
            "Mooncake");
    refused("\xEF\xBB\xBFTIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9,4,1\r\n",
            "azure_csv", "Azure");
    refused("Model,Timestamp,Response tokens,Request tokens,Total tokens,Log Type\nm,5,1,2,3,x\n",
            "burstgpt_csv", "BurstGPT");
    refused("{\"id\": \"x\", \"conversations\": [{\"value\": \"a\", \"from\": \"human\"}]}\n",
            "sharegpt_json", "ShareGPT");
    refused("{\"input_toks\": 1, \"output_toks\": 2, \"arrival_time_ns\": 0}\n",
            "llmservingsim_jsonl", "LLMServingSim");
    refused("input_toks,output_toks,arrival_time_ns\n128,512,0\n", "llmservingsim_jsonl",
            "LLMServingSim");
    refused("num_decode_tokens,num_prefill_tokens,arrived_at\n1,2,0\n", "vidur_csv", "Vidur");
}

/* A text that quotes a benchmark is still a trace, and a benchmark with lengths still none. */
Test(trace, neighbours_are_told_apart) {
    refused(
        "[{\"id\": \"a\", \"conversations\": [{\"from\": \"human\", \"value\": \"{\\\"pp\\\": 1, "
        "\\\"tg\\\": 2, \\\"pl\\\": 3, \\\"t_tg\\\": 4} NVIDIA AIPerf | Metric Request Latency "
        "(ms)\"}]}]",
        "sharegpt_json", "ShareGPT");
    static const char *const NONE[] = {
        "{\"timestamp\": 1, \"input_length\": 5, \"output_length\": 6, \"ttft\": 0.1}\n",
        "{\"input_length\": 5, \"output_length\": 6, \"hash_ids\": [], \"latency_ms\": 9}\n",
        "{\"x\": {\"input_length\": 5, \"output_length\": 6, \"hash_ids\": []}}\n",
        "{\"note\": \"hash_ids input_length output_length\"}\n",
        "num_prefill_tokens,num_decode_tokens,ttft\n1,2,3\n",
        "Timestamp,Model,Tokens\n1,m,3\n"};
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++)
        cr_assert_str_eq(format_of(NONE[i]), "none", "%s", NONE[i]);
}

/* ---- the corpus ---- */

static const char *shared_path(const char *path) {
    const char *root = getenv("RATECAST_SHARED");
    if (!root || !*root) root = RATECAST_REPO "/../shared";
    const char *full = arena_printf(mem, "%s/%s", root, path);
    if (access(full, R_OK) == 0) return full;
    fprintf(stderr, "SKIPPED: no %s (set RATECAST_SHARED)\n", full); /* Criterion skips silently */
    cr_skip_test("no %s", full);
    return NULL;
}

static const char *const MINE[] = {"aiperf_json",    "aiperf_csv",          "aiperf_jsonl",
                                   "mooncake_jsonl", "azure_csv",           "burstgpt_csv",
                                   "sharegpt_json",  "llmservingsim_jsonl", "vidur_csv"};
enum { TRACES_FROM = 3, MINE_N = sizeof MINE / sizeof *MINE };

/* Every value that the index names stands in the record, to the digits of the index. */
static void check_values(jr want, size_t record) {
    for (const cJSON *m = want.node->child; m; m = m->next) {
        const import_value *v = value_of(record, m->string);
        cr_assert_not_null(v, "%s", m->string);
        cr_assert(fabs(v->v - m->valuedouble) <= 2e-5 * fabs(m->valuedouble),
                  "%s: %.12g, expected %.12g", m->string, v->v, m->valuedouble);
    }
}

static void check_entry(jr entry, size_t mine) {
    in = import_new(mem, &e);
    (void)import_add_path(&in, shared_path(arena_printf(mem, "corpus/%s", jr_str(entry, "file"))),
                          NULL);
    cr_assert_str_eq(in.files[0].format, MINE[mine]);
    if (mine >= TRACES_FROM) {
        cr_assert(noted(&in.errors, 0, "a trace of requests"));
        cr_assert_eq(in.rows_n + in.records_n, 0);
        return;
    }
    cr_assert_eq(in.errors.n, 0);
    size_t i = 0;
    for (jr want = {0}; jr_each(jr_get(jr_get(entry, "expected"), "values"), &want);)
        check_values(want, i++);
    for (size_t r = 0; r < in.rows_n; r++)
        cr_assert_not_null(in.rows[r].refused, "all ran under load or unknown");
}

/* Calls `f` for every entry of these formats in the index. */
static size_t each_entry(void (*f)(jr, size_t)) {
    file_bytes index = {0};
    size_t n = 0;
    cr_assert_eq(file_read(shared_path("corpus/INDEX.jsonl"), mem, &index, &e), OK, "%s", e.what);
    for (const char *s = index.s; *s;) {
        size_t len = strcspn(s, "\n");
        jr_doc doc;
        err line_error = {0};
        cr_assert_eq(jr_parse(&doc, "INDEX", s, len, mem, &line_error), OK, "%s", line_error.what);
        jr entry = jr_root(&doc);
        for (size_t i = 0; i < MINE_N; i++)
            if (strcmp(jr_str(entry, "format"), MINE[i]) == 0) {
                f(entry, i);
                n++;
            }
        jr_free(&doc);
        s += len + (s[len] == '\n');
    }
    return n;
}

Test(aiperf, shared_corpus_values) {
    cr_assert_geq(each_entry(check_entry), 12);
}

static void add_corpus(const char *name) {
    in = import_new(mem, &e);
    (void)import_add_path(&in, shared_path(arena_printf(mem, "corpus/%s", name)), NULL);
}

Test(aiperf, shared_corpus_musts) {
    add_corpus("corpus_67_aiperf_json.json");
    is_value(0, "decode_tok_s_per_request", 18.62825580156237); /* not 4520 / 768 = 5.9 */
    cr_assert_null(row_of(IMPORT_PREFILL),
                   "no prompt length: no prefill rate, not even a refused one");
    cr_assert(noted(&in.warnings, 1, "length of the prompts is not known"));
    cr_assert(noted(&in.warnings, 1, "5093 of 5097 requests"));
    add_corpus("corpus_69_aiperf_csv.csv");
    cr_assert(noted(&in.warnings, 1, "the mean 1652.3 ms is pulled up"));
    cr_assert(noted(&in.warnings, 1, "no prefill rate"));
    cr_assert_not_null(strstr(row_of(IMPORT_PREFILL)->refused, "cached prompt"));
    add_corpus("corpus_70_aiperf_jsonl.jsonl");
    cr_assert(noted(&in.warnings, 1, "\"time_to_first_token\" twice, 255.887 and 4.89844"));
    cr_assert_null(value_of(0, "ttft_ms"));
    is_value(0, "duration_from_ns_ms", 305.864241);
    is_value(1, "session", 80);
    is_value(1, "code", 499);
    cr_assert_null(value_of(1, "decode_tok_s_per_request"));
    cr_assert_eq(in.rows_n, 1);
    cr_assert(noted(&in.warnings, 2, "no sample"));
}

/* ---- damage ---- */

/* Is this value a record's of `whole`? */
static bool known_value(const import *whole, const import_value *v) {
    if (v->text || isnan(v->v) || strcmp(v->key, "77") == 0)
        return true; /* a column that was added */
    for (size_t r = 0; r < whole->records_n; r++)
        for (size_t i = 0; i < whole->records[r].n; i++)
            if (strcmp(whole->records[r].v[i].key, v->key) == 0 && whole->records[r].v[i].v == v->v)
                return true;
    return false;
}

static bool known_row(const import *whole, const import_row *row) {
    if (row->refused) return true;
    for (size_t i = 0; i < whole->rows_n; i++)
        if (!whole->rows[i].refused && whole->rows[i].phase == row->phase &&
            whole->rows[i].tok_s == row->tok_s && whole->rows[i].n_prompt == row->n_prompt)
            return true;
    return false;
}

/* No number that the undamaged text does not have. A rate that follows from another value when the
 * stated one was lost is no new statement. */
static void no_new_number(const import *whole, const char *text, size_t len, const char *what) {
    arena *scratch = arena_new((size_t)64 << 20);
    err problem = {0};
import damaged = import_new(scratch, & problem);
    add_bytes(&damaged, text, len);
    cr_assert(problem.code == OK || problem.code == E_LIMIT, "%s: %s", what, problem.what);
    for (size_t r = 0; r < damaged.records_n; r++)
        for (size_t i = 0; i < damaged.records[r].n; i++) {
            const import_value *v = &damaged.records[r].v[i];
            cr_assert(strcmp(v->key, "decode_tok_s_per_request") == 0 || known_value(whole, v),
                      "%s: %s %.15g", what, v->key, v->v);
        }
    for (size_t i = 0; i < damaged.rows_n; i++)
        cr_assert(known_row(whole, &damaged.rows[i]), "%s: row %zu", what, damaged.rows[i].line);
    arena_free(scratch);
}

/* The text with every `from` as `to`; a comma only between digits. */
static char *swapped(const char *s, size_t len, const char *from, const char *to, bool in_numbers,
                     size_t *out_len) {
    size_t f = strlen(from), t = strlen(to), n = 0;
    char *out = arena_alloc(mem, len * (t > f ? t : 1) + 1, 1);
    for (size_t i = 0; i < len;) {
        bool digits = i > 0 && i + 1 < len && strchr("0123456789", s[i - 1]) &&
                      strchr("0123456789", s[i + 1]);
        if (i + f <= len && memcmp(s + i, from, f) == 0 && (!in_numbers || digits)) {
            memcpy(out + n, to, t);
            n += t;
            i += f;
        } else {
            out[n++] = s[i++];
        }
    }
    out[n] = '\0';
    *out_len = n;
    return out;
}

/* The text with its line `k` twice. */
static char *doubled(const char *s, size_t len, size_t k, size_t *out_len) {
    char *out = arena_alloc(mem, 2 * len + 2, 1);
    size_t at = 0, n = 0;
    for (size_t line = 0; at < len; line++) {
        const char *end = memchr(s + at, '\n', len - at);
        size_t l = end ? (size_t)(end - s) + 1 - at : len - at;
        memcpy(out + n, s + at, l);
        n += l;
        if (line == k) {
            memcpy(out + n, s + at, l);
            n += l;
        }
        at += l;
    }
    out[n] = '\0';
    *out_len = n;
    return out;
}

static void damage(const char *s, size_t len, bool flips) {
    err problem = {0};
import whole = import_new(mem, & problem);
    add_bytes(&whole, s, len);
    for (size_t cut = 0; cut < len; cut += 97)
        no_new_number(&whole, s, cut, arena_printf(mem, "cut at %zu", cut));
    size_t n;
    char *t = swapped(s, len, "\n", "\r\n", false, &n);
    no_new_number(&whole, t, n, "CRLF");
    t = swapped(s, len, ".", ",", true, &n);
    no_new_number(&whole, t, n, "decimal commas");
    t = arena_printf(mem, "\xEF\xBB\xBF%.*s", (int)len, s);
    no_new_number(&whole, t, len + 3, "byte order mark");
    t = swapped(s, len, "{", "{\"new\": {\"x\": [9, {}]}, ", false, &n);
    no_new_number(&whole, t, n, "unknown keys");
    t = swapped(s, len, "\n", ",77\n", false, &n);
    no_new_number(&whole, t, n, "a cell too many");
    for (size_t k = 0; k < 12; k++) {
        t = doubled(s, len, k, &n);
        no_new_number(&whole, t, n, arena_printf(mem, "line %zu twice", k));
    }
    for (size_t i = 0; flips && i < len; i += 31) { /* a bit flipped in a byte that is no digit */
        if (strchr("0123456789.-", s[i])) continue;
        t = arena_printf(mem, "%.*s", (int)len, s);
        t[i] = (char)(t[i] ^ 4);
        if (!strchr("0123456789.-+eE", t[i]))
            no_new_number(&whole, t, len, arena_printf(mem, "byte %zu", i));
    }
}

static void damage_entry(jr entry, size_t mine) {
    file_bytes f = {0};
    cr_assert_eq(
        file_read(shared_path(arena_printf(mem, "corpus/%s", jr_str(entry, "file"))), mem, &f, &e),
        OK);
    /* with one of two equal keys misspelt the other one stands alone */
    damage(f.s, f.len, strcmp(MINE[mine], "aiperf_jsonl") != 0);
}

Test(aiperf, damaged_corpus_makes_no_number) {
    cr_assert_geq(each_entry(damage_entry), 12);
}

Test(aiperf, damaged_tables_make_no_number) {
    static const char CONSOLE[] = "  NVIDIA AIPerf | LLM Metrics\n" TOP
                                  "┃                           Metric ┃       avg ┃   p99 ┃\n" MID
                                  "│         Time to First Token (ms) │     18.26 │ 68.82 │\n"
                                  "│ Output Token Throughput Per User │     51.23 │ 52.28 │\n"
                                  "│                (tokens/sec/user) │           │       │\n"
                                  "│         Request Count (requests) │    711.00 │   N/A │\n" END;
    static const char PROFILE[] = "layer,tokens,time_us\nqkv_proj,16,20.5\nqkv_proj,32,21.25\n";
    damage(CONSOLE, sizeof CONSOLE - 1, true);
    damage(PROFILE, sizeof PROFILE - 1, true);
}
