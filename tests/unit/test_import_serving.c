/* vLLM, SGLang, GuideLLM: texts written here, with values worked out by hand, and the corpus. */
#include "import_trial.h"

TestSuite(serving, .init = trial_set_up, .fini = trial_tear_down);

/* 10 requests of 200 in and 50 out, one behind the other: 500 tokens in 25 s are 20 tok/s; 40 ms a
 * token are 25 tok/s */
#define RUN(more)                                                                                  \
    "{\"date\": \"d\", \"backend\": \"vllm\", \"model_id\": \"m/x\", \"num_prompts\": 10, "        \
    "\"request_rate\": \"inf\", \"max_concurrency\": 1, \"duration\": 25.0, \"completed\": 10, "   \
    "\"total_input_tokens\": 2000, \"total_output_tokens\": 500, \"request_throughput\": 0.4, "    \
    "\"output_throughput\": 20.0, \"mean_ttft_ms\": 500, \"median_ttft_ms\": 400, "                \
    "\"mean_tpot_ms\": 40, \"median_tpot_ms\": 40, \"mean_itl_ms\": 40" more "}\n"

Test(serving, requests_one_behind_the_other_give_a_decode_row) {
    add(RUN(""), "vllm_json");
    cr_assert_eq(in.errors.n, 0);
    near(num(0, "decode_tok_s_per_request"), 25);
    near(num(0, "output_tok_s_aggregate"), 20);
    near(num(0, "input_tokens_per_request"), 200);
    cr_assert_str_eq(text(0, "request_rate"), "inf");
    cr_assert_eq(usable(), 1);
    const import_row *d = row_of(IMPORT_DECODE);
    cr_assert_null(d->refused);
    cr_assert_eq(d->n_prompt, 200);
    cr_assert_eq(d->n_gen, 50);
    cr_assert_eq(d->batch_n, 1);
    cr_assert(d->per_request);
    near(d->tok_s, 25);
    cr_assert_str_eq(d->setting[IMPORT_MODEL], "m/x");
    cr_assert_not_null(row_of(IMPORT_PREFILL)->refused);
    cr_assert_not_null(row_of(IMPORT_MIXED)->refused);
}

Test(serving, old_names_lists_and_appended_runs) {
    add(RUN(", \"request_goodput:\": 0.3, \"total_token_throughput\": 100, \"ttfts\": [0.5, 0.4], "
            "\"itls\": [[0.04], []], \"generated_texts\": [\"{\\\"x\\\": 1}\"], \"p90_e2el_ms\": 9")
            RUN(", \"tensor_parallel_size\": \"4\", \"failed\": 2"),
        "vllm_json");
    cr_assert_eq(in.records_n, 1, "the second is the first again");
    near(num(0, "req_goodput_s"), 0.3);
    near(num(0, "total_tok_s_aggregate"), 100);
    near(num(0, "p90_e2el_ms"), 9);
    cr_assert(noted(&in.warnings, 2, "the same run as a:1"));
}

Test(serving, values_that_cannot_be) {
    add(RUN(", \"p99_ttft_ms\": 300"), "vllm_json");
    cr_assert(noted(&in.errors, 1, "above its p99"));
    cr_assert_eq(usable(), 0);
    add(RUN(", \"std_ttft_ms\": -1"), "vllm_json");
    cr_assert(noted(&in.errors, 1, "std_ttft_ms is -1"));
    add(RUN(", \"p99_tpot_ms\": NaN"), "vllm_json");
    cr_assert(noted(&in.warnings, 1, "p99_tpot_ms is null"));
    add("{\"duration\": 2, \"completed\": 0, \"output_throughput\": 0, \"mean_ttft_ms\": 0}\n",
        "vllm_json");
    cr_assert(noted(&in.errors, 1, "no request succeeded"));
    add("{\"duration\": 10, \"completed\": 4, \"total_output_tokens\": 400, "
        "\"output_throughput\": 90, \"mean_ttft_ms\": 5}\n",
        "vllm_json");
    cr_assert(noted(&in.errors, 1, "contradict"));
}

Test(serving, speculation_counts_tokens_not_pieces) {
    add(RUN(", \"spec_decode_acceptance_rate\": 50.0, \"spec_decode_acceptance_length\": 2.5, "
            "\"spec_decode_draft_tokens\": 600, \"spec_decode_accepted_tokens\": 300"),
        "vllm_json");
    near(num(0, "acceptance"), 0.5);
    cr_assert(strstr(row_of(IMPORT_DECODE)->refused, "speculative"));
    cr_assert(strstr(row_of(IMPORT_DECODE)->setting[IMPORT_SPECULATION], "2.5"));
    add(RUN(", \"spec_decode_acceptance_rate\": 70.0, \"spec_decode_draft_tokens\": 600, "
            "\"spec_decode_accepted_tokens\": 300"),
        "vllm_json");
    cr_assert(noted(&in.errors, 1, "contradicts its counts"));
}

/* 16384 tokens alone, TTFT 9.8 s and 0.2 s: a cache, not two speeds */
Test(serving, warm_cache_between_two_runs) {
#define WARM(ttft, s)                                                                              \
    "{\"duration\": " s ", \"completed\": 10, \"max_concurrency\": 1, \"total_input_tokens\": "    \
    "163840, \"total_output_tokens\": 500, \"mean_ttft_ms\": " ttft ", \"median_ttft_ms\": " ttft  \
    ", \"output_throughput\": "
    add(WARM("9800", "100") "5.0}\n" WARM("200", "20") "25.0}\n", "vllm_json");
    cr_assert_eq(in.records_n, 2);
    cr_assert(noted(&in.warnings, 2, "TTFT differs 49.0 times: a warm prompt cache?"));
    cr_assert_eq(usable(), 0);
    in = import_new(mem, &e); /* the tool writes a file a run */
    static const char COLD[] = WARM("9800", "100") "5.0}\n", HOT[] = WARM("200", "20") "25.0}\n";
    add_bytes("cold.json", COLD, sizeof COLD - 1, NULL);
    add_bytes("warm.json", HOT, sizeof HOT - 1, NULL);
    cr_assert(noted(&in.warnings, 1, "as cold.json:1, TTFT differs 49.0 times"));
}

Test(serving, sglang_infinity_and_server) {
    add("{\"backend\": \"sglang\", \"request_rate\": Infinity, \"max_concurrency\": null, "
        "\"duration\": 10.0, \"completed\": 5, \"total_input_tokens\": 500, "
        "\"total_output_tokens\": 100, \"total_output_tokens_retokenized\": 90, "
        "\"output_throughput\": 10.0, \"mean_ttft_ms\": 100.0, \"median_ttft_ms\": 90.0, "
        "\"mean_e2e_latency_ms\": 2000, \"accept_length\": null, \"server_info\": "
        "{\"model_path\": \"q/y\", \"version\": \"0.5\", \"tp_size\": 2}}\n",
        "sglang_jsonl");
    cr_assert_str_eq(text(0, "request_rate"), "inf");
    cr_assert_str_eq(text(0, "model"), "q/y");
    cr_assert(isnan(num(0, "max_concurrency")));
    near(num(0, "output_tokens_retokenized"), 90);
    cr_assert(noted(&in.warnings, 1, "retokenize to 90"));
    cr_assert(noted(&in.warnings, 1, "5 requests at once"));
}

#define TABLE(more)                                                                                \
    "============ Serving Benchmark Result ============\n"                                         \
    "Successful requests:                     10        \n"                                        \
    "Maximum request concurrency:             1         \n"                                        \
    "Benchmark duration (s):                  25.00     \n"                                        \
    "Total input tokens:                      2000      \n"                                        \
    "Total generated tokens:                  500       \n" more                                   \
    "Output token throughput (tok/s):         20.00     \n"                                        \
    "Mean TPOT (ms):                          40.00     \n"                                        \
    "==================================================\n"

Test(serving, vllm_table_of_today) {
    add("Namespace(backend='vllm', model='m/x', dataset_name='random')\n"
        "Traffic request rate: inf\nBurstiness factor: 1.0 (Poisson process)\n" TABLE(
            "Failed requests:                         0\n"
            "Peak output token throughput (tok/s):    30.00\n"
            "Acceptance rate (%):                     50.00\n"
            "Per-position acceptance (%):\n  Position 0:                 60.00\n"),
        "vllm_text");
    cr_assert_eq(in.records_n, 1);
    cr_assert_eq(in.errors.n, 0);
    cr_assert_str_eq(text(0, "model"), "m/x");
    cr_assert_str_eq(text(0, "request_rate"), "inf");
    near(num(0, "peak_output_tok_s"), 30);
    near(num(0, "acceptance"), 0.5);
    near(num(0, "decode_tok_s_per_request"), 25);
}

Test(serving, tables_quoted_in_a_script_are_two_runs) {
    add("# ============ Serving Benchmark Result ============\n# Successful requests: 10\n"
        "# Benchmark duration (s): 25.00\n# Total generated tokens: 500\n# Mean TTFT (ms): 50.00\n"
        "# ==================================================\n\n"
        "# ============ Serving Benchmark Result ============\n# Successful requests: 20\n"
        "# Benchmark duration (s): 25.00\n# Total generated tokens: 900\n# Mean TTFT (ms): 60.00\n"
        "# ==================================================\n",
        "vllm_text");
    cr_assert_eq(in.records_n, 2);
    near(num(1, "completed"), 20);
    cr_assert_eq(in.records[1].line, 8);
}

Test(serving, table_in_a_log_with_remarks) {
    add("Traffic request rate: 15.0 RPS.\n"
        "10:00:01 pod/x ====== Serving Benchmark Result ======\n"
        "10:00:01 pod/x Successful requests:         10        \n"
        "10:00:02 pod/x Benchmark duration (s):      20.00     \n"
        "10:00:02 pod/x Total input tokens:          1000      \n"
        "10:00:02 pod/x Total generated tokens:      400       \n"
        "10:00:02 pod/x Mean TTFT (ms):              30.87     \n"
        "10:00:02 pod/x Median TTFT (ms):            27.44        <=====\n"
        "10:00:02 pod/x Mean TPOT (ms):              40.00     \n"
        "10:00:02 pod/x ==================\n",
        "vllm_text");
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.records_n, 1);
    near(num(0, "request_rate"), 15);
    near(num(0, "completed"), 10);
    near(num(0, "median_ttft_ms"), 27.44);
    near(num(0, "decode_tok_s_per_request"), 25);
    add("====== Serving Benchmark Result ======\nSuccessful requests:         10\n"
        "Benchmark duration (s):      20.00\nMean TTFT (ms):              0.5   s\n"
        "Median TTFT (ms):            27.44      28.50\n==================\n",
        "vllm_text");
    cr_assert(noted(&in.errors, 4, "expected a finite number"), "another unit is no remark");
    cr_assert(noted(&in.errors, 5, "expected a finite number"), "a second value neither");
}

Test(serving, vllm_text_of_the_first_versions) {
#define EARLY(n, mean)                                                                             \
    "Successful requests: " n "\nBenchmark duration: 250.000000 s\nTotal input tokens: 215000\n"   \
    "Total generated tokens: 197000\nRequest throughput: 4.00 requests/s\n"                        \
    "Input token throughput: 860.00 tokens/s\nOutput token throughput: 788.00 tokens/s\n"          \
    "Mean TTFT: 45.52 ms\nMean TPOT: " mean "\nMedian TPOT: 20.52 ms\n"
    add("Traffic request rate: 4.0\n" EARLY("1000", "20.00 ms") EARLY("1001", "25.00 ms"),
        "vllm_text");
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.warnings.n, 0, "nothing is cut off");
    cr_assert_eq(in.records_n, 2);
    near(num(0, "duration_s"), 250);
    near(num(0, "mean_ttft_ms"), 45.52);
    near(num(0, "output_tok_s_aggregate"), 788);
    near(num(0, "decode_tok_s_per_request"), 50);
    near(num(1, "decode_tok_s_per_request"), 40);
    add(EARLY("1000", "0.02 s"), "vllm_text");
    cr_assert(noted(&in.errors, 9, "expected a finite number"), "seconds are no milliseconds");
    add(EARLY("1000", "20.00"), "vllm_text");
    cr_assert(noted(&in.errors, 9, "expected a finite number"), "no unit at all");
    add("====== Serving Benchmark Result ======\nSuccessful requests:         10\n"
        "Benchmark duration (s):      20.00\nMean TTFT (ms):              30.87\n"
        "==================\nStartup latency: 5 s\nMean TTFT: 99.00 ms\n"
        "Request throughput: 7 req/s\n",
        "vllm_text");
    cr_assert_eq(in.errors.n, 0, "other lines of a log");
    cr_assert_eq(in.records_n, 1);
    near(num(0, "mean_ttft_ms"), 30.87);
#undef EARLY
}

/* A mean that is whole by chance */
Test(serving, lists_of_lengths_that_differ_are_of_no_one_context) {
    static const char *const IN[] = {"[1024, 1024]", "[48, 2000]", "[1024, 1024]"},
                             *const OUT[] = {"[256, 256]", "[256, 256]", "[12, 500]"};
    for (size_t i = 0; i < 3; i++) {
        add(arena_printf(mem,
                         "{\"backend\":\"vllm\",\"max_concurrency\":1,\"duration\":20.0,"
                         "\"completed\":2,\"total_input_tokens\":2048,\"total_output_tokens\":512,"
                         "\"output_throughput\":25.6,\"request_throughput\":0.1,"
                         "\"mean_ttft_ms\":200.0,\"mean_tpot_ms\":40.0,"
                         "\"input_lens\":%s,\"output_lens\":%s}\n",
                         IN[i], OUT[i]),
            "vllm_json");
        cr_assert_eq(in.errors.n, 0);
        near(row_of(IMPORT_DECODE)->tok_s, 25);
        cr_assert_eq(usable(), i == 0);
        if (i) cr_assert(strstr(row_of(IMPORT_DECODE)->refused, "different lengths"));
    }
}

Test(serving, arguments_of_sglang_name_the_model) {
    add("benchmark_args=Namespace(backend='sglang', base_url=None, model='org/M', x=1)\n"
        "====== Serving Benchmark Result ======\nBackend: sglang\n"
        "Successful requests:                 10\nBenchmark duration (s):  20.00\n"
        "Total generated tokens (retokenized):    90\n==================\n",
        "sglang_text");
    cr_assert_str_eq(text(0, "model"), "org/M");
}

Test(serving, embeddings_have_no_time_to_a_token) {
    add("{\"backend\":\"openai-embeddings\",\"model_id\":\"e\",\"request_rate\":\"inf\","
        "\"max_concurrency\":null,\"duration\":12.5,\"completed\":1000,\"failed\":0,"
        "\"total_input_tokens\":1024000,\"request_throughput\":80.0,"
        "\"total_token_throughput\":81920.0,\"mean_e2el_ms\":6250.1,\"p99_e2el_ms\":12000.3}\n",
        "vllm_json");
    cr_assert_eq(in.errors.n, 0);
    near(num(0, "input_tokens_per_request"), 1024);
    near(num(0, "mean_e2el_ms"), 6250.1);
    cr_assert(isnan(num(0, "output_tokens")) && isnan(num(0, "decode_tok_s_per_request")));
    cr_assert_eq(usable(), 0);
    for (size_t i = 0; i < in.warnings.n; i++) cr_assert_not(strstr(in.warnings.v[i].what, "nan"));
}

Test(serving, a_label_twice_with_two_values) {
    add(TABLE("Total generated tokens:                  600       \n"), "vllm_text");
    cr_assert(noted(&in.errors, 7, "neither is used"));
    cr_assert(isnan(num(0, "output_tokens")));
    cr_assert_eq(usable(), 0);
    add(TABLE("Mean TTFT (ms):                          inf\n"), "vllm_text");
    cr_assert(noted(&in.errors, 7, "expected a finite number"));
}

Test(serving, sglang_table_with_the_old_spelling) {
    add("============ Serving Benchmark Result ============\n"
        "Backend:                                 sglang    \n"
        "Traffic request rate:                    2.0       \n"
        "Max reqeuest concurrency:                8         \n"
        "Successful requests:                     10        \n"
        "Benchmark duration (s):                  25.00     \n"
        "Total generated tokens:                  500       \n"
        "P99 E2E Latency (ms):                    900.00    \n"
        "==================================================\n",
        "sglang_text");
    near(num(0, "max_concurrency"), 8);
    near(num(0, "request_rate"), 2);
    near(num(0, "p99_e2e_latency_ms"), 900);
}

/* ---- GuideLLM ---- */

#define STAT(mean, sum)                                                                            \
    "{\"successful\": {\"mean\": " mean ", \"median\": " mean ", \"std_dev\": 0.0, "               \
    "\"total_sum\": " sum "}}"
/* 4 requests of 100 in and 11 out in 8 s; 0.9 s to the first token, 1.9 s in all: 10 gaps of 100 ms
 */
#define METRICS                                                                                    \
    "\"metrics\": {\"requests_per_second\": " STAT("9.0", "9") ", \"request_latency\": " STAT(     \
        "1.9",                                                                                     \
        "7.6") ", \"prompt_token_count\": " STAT("100",                                            \
                                                 "400") ", "                                       \
                                                        "\"output_token_count\":"                  \
                                                        " " STAT("11",                             \
                                                                 "44") ", "                        \
                                                                       "\"time_to_"                \
                                                                       "first_"                    \
                                                                       "token_ms\":"               \
                                                                       " " STAT(                   \
                                                                           "90"                    \
                                                                           "0",                    \
                                                                           "36"                    \
                                                                           "0"                     \
                                                                           "0") ", "               \
                                                                                "\"inter_token_"   \
                                                                                "latency_ms\":"    \
                                                                                " " STAT(          \
                                                                                    "100",         \
                                                                                    "4000") "}"

Test(serving, guidellm_json_of_older_releases) {
    add("{\"benchmarks\": [{\"type_\": \"generative_benchmark\", \"args\": {\"strategy\": "
        "{\"type_\": \"synchronous\"}}, \"run_stats\": {\"requests_made\": {\"successful\": 4, "
        "\"errored\": 0, \"incomplete\": 0}}, \"start_time\": 100.0, \"end_time\": 108.0, " METRICS
        "}]}\n",
        "guidellm_json");
    cr_assert_eq(in.errors.n, 0);
    near(num(0, "duration_s"), 8);
    near(num(0, "req_s"), 0.5);
    near(num(0, "stated_req_s_mean"), 9);
    near(num(0, "output_tok_s_aggregate"), 5.5);
    near(num(0, "decode_tok_s_per_request"), 10);
    cr_assert(noted(&in.warnings, 1, "not a rate over time"));
    cr_assert_eq(usable(), 1, "one behind the other: a decode row");
    near(row_of(IMPORT_DECODE)->tok_s, 10);
    add("{\n  \"benchmarks\": [\n    {\"type_\": \"generative_benchmark\", \"scheduler\": "
        "{\"strategy\": {\"type_\": \"constant\", \"rate\": 3.5}}, \"request_totals\": "
        "{\"successful\": 4, \"errored\": 1, \"incomplete\": 2}, \"duration\": 8, " METRICS
        "},\n    {\"mode\": \"x\", \"results\": []}\n  ]\n}\n",
        "guidellm_json");
    near(num(0, "request_rate"), 3.5);
    cr_assert_eq(usable(), 0);
    cr_assert(noted(&in.warnings, 1, "1 requests failed"));
    cr_assert(noted(&in.warnings, 1, "2 requests did not end"));
    cr_assert(noted(&in.errors, 1, "has no metrics"));
}

/* 512.3 times 30 in binary */
Test(serving, guidellm_sums_that_are_a_mean_times_a_count) {
    static const char *const SUMS[] = {"15368.999999999998", "15368.5"};
    for (size_t i = 0; i < 2; i++) {
        add(arena_printf(
                mem,
                "{\"benchmarks\": [{\"type_\": \"generative_benchmark\", \"scheduler\": "
                "{\"strategy\": {\"type_\": \"synchronous\"}}, \"request_totals\": "
                "{\"successful\": 30, \"errored\": 0, \"incomplete\": 0}, \"duration\": 60, "
                "\"metrics\": {\"prompt_token_count\": " STAT(
                    "512.3", "%s") ", "
                                   "\"output_token_count\": " STAT("8", "240") "}}]}",
                SUMS[i]),
            "guidellm_json");
        if (i == 0) near(num(0, "input_tokens"), 15369);
        if (i == 0) near(num(0, "output_tok_s_aggregate"), 4);
        cr_assert_eq(in.errors.n, i, "half a token is none");
    }
}

#define THEN_INFO                                                                                  \
    "Benchmarks Info:\n==========\n"                                                               \
    "Metadata                                  |||| Requests Made||| Prompt Tok/Req||| Output "    \
    "Tok/Req||| Prompt Tok Total||| Output Tok Total||\n"                                          \
    "  Benchmark| Start Time| End Time| Duration (s)| Comp| Inc| Err| Comp| Inc| Err| Comp| Inc| " \
    "Err| Comp| Inc| Err| Comp| Inc| Err\n"                                                        \
    "-----------|-----------|---------|-------------|-----|----|----|-----|----|----|-----|----|-" \
    "---|-----|----|----|-----|----|----\n"                                                        \
    "synchronous|   10:00:00| 10:00:40|         40.0|   10|   0|   0|100.0| 0.0| 0.0| 11.0| 0.0| " \
    "0.0| 1000|   0|   0|  110|   0|   0\n==========\n"
#define THEN_STATS                                                                                 \
    "Benchmarks Stats:\n==========\n"                                                              \
    "Metadata   | Request Stats         || Out Tok/sec| Tot Tok/sec| Req Latency (ms)||| TTFT "    \
    "(ms)||| ITL (ms)||| TPOT (ms)||\n"                                                            \
    "  Benchmark| Per Second| Concurrency| mean| mean| mean| median| p99| mean| median| p99| "     \
    "mean| median| p99| mean| median| p99\n"                                                       \
    "-----------|-----------|------------|-----|-----|-----|------|----|-----|------|----|-----|-" \
    "-----|----|-----|------|----\n"                                                               \
    "synchronous|       0.25|        1.00|  2.8| 27.8|  1.9|   1.8| 2.0|  900|   890|1000|100.0| " \
    "99.0|   120|  80.0|  79.0| 90\n==========\n"

Test(serving, guidellm_tables_without_outer_pipes) {
    add(THEN_INFO "\n\n" THEN_STATS, "guidellm_text");
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.records_n, 1);
    cr_assert_str_eq(text(0, "strategy"), "synchronous");
    near(num(0, "completed"), 10);
    near(num(0, "duration_s"), 40);
    near(num(0, "output_tokens"), 110);
    near(num(0, "req_s"), 0.25);
    near(num(0, "ttft_ms_median"), 890);
    near(num(0, "itl_ms_mean"), 100);
    near(num(0, "latency_s_mean"), 1.9);
    cr_assert(noted(&in.warnings, 0, "these are seconds"));
    near(num(0, "decode_tok_s_per_request"), 10);
    near(row_of(IMPORT_DECODE)->tok_s, 10);
}

#define NOW_LATENCY(rows)                                                                          \
    "\xE2\x84\xB9 Request Latency Statistics (Completed Requests)\n"                               \
    "|======|=====|=====|=====|=====|\n"                                                           \
    "| Benchmark | ITL      || Request Latency ||\n"                                               \
    "| Strategy  | ms       || Sec             ||\n"                                               \
    "|           | Mdn | p95 | Mdn     | p95    |\n"                                               \
    "|-----------|-----|-----|---------|--------|\n" rows "|======|=====|=====|=====|=====|\n\n"
#define NOW_SERVER(rows)                                                                           \
    "\xE2\x84\xB9 Server Throughput Statistics\n|======|=====|\n"                                  \
    "| Benchmark | Requests               |||| Output Tokens |\n"                                  \
    "| Strategy  | Per Sec   || Concurrency || Per Sec       |\n"                                  \
    "|           | Mdn | Mean | Mdn  | Mean  | Mean          |\n"                                  \
    "|-----------|-----|------|------|-------|---------------|\n" rows "|======|=====|\n\n"

Test(serving, guidellm_tables_of_today_join_by_place) {
    add(NOW_LATENCY(
            "| constant  | 20.0 | 30.0 | 1.5 | 2.5 |\n| constant  | 40.0 | 50.0 | 3.5 | 4.5 "
            "|\n") NOW_SERVER("| constant  | 0.5 | 0.6 | 1.0 | 1.1 | 70.0 |\n| constant  | "
                              "0.7 | 0.8 | 2.0 | 2.1 | 90.0 |\n"),
        "guidellm_text");
    cr_assert_eq(in.records_n, 2);
    near(num(0, "itl_ms_median"), 20);
    near(num(0, "concurrency"), 1.1);
    near(num(1, "itl_ms_median"), 40);
    near(num(1, "latency_s_p95"), 4.5);
    near(num(1, "req_s"), 0.8);
    near(num(1, "output_tok_s_aggregate"), 90);
    near(num(1, "decode_tok_s_per_request_median"), 25);
}

Test(serving, guidellm_tables_of_different_length_are_not_joined) {
    add(NOW_LATENCY("| constant | 20.0 | 30.0 | 1.5 | 2.5 |\n")
            NOW_SERVER("| constant | 0.5 | 0.6 | 1.0 | 1.1 | 70.0 |\n| constant | 0.7 | 0.8 | 2.0 "
                       "| 2.1 | 90.0 |\n"),
        "guidellm_text");
    cr_assert_eq(in.records_n, 0);
    cr_assert(noted(&in.errors, 0, "which belongs to which"));
}

Test(serving, guidellm_two_reports_in_one_file) {
    add(NOW_LATENCY("| constant | 20.0 | 30.0 | 1.5 | 2.5 |\n")
            NOW_LATENCY("| constant | 0.0 | 0.0 | 1.5 | 2.5 |\n"),
        "guidellm_text");
    cr_assert_eq(in.records_n, 2);
    cr_assert(noted(&in.warnings, 0, "came in one piece"));
    cr_assert(isnan(num(1, "decode_tok_s_per_request_median")), "0 ms is no infinite rate");
}

/* ---- corpus ---- */

static bool refused(import_phase phase, const char *word) {
    const import_row *r = row_of(phase);
    return r && r->refused && strstr(r->refused, word);
}

Test(serving, corpus_54_cold_start_in_the_mean) {
    check_corpus("corpus_54_vllm_json.json", IMPORT_SUMMARY);
    cr_assert(noted(&in.warnings, 0, "3.9 times the median"));
    cr_assert(noted(&in.warnings, 0, "a p99 over 8 requests is the maximum"));
    cr_assert(refused(IMPORT_PREFILL, "no prefill rate"));
    cr_assert_eq(usable(), 0);
}

Test(serving, corpus_56_speculation) {
    check_corpus("corpus_56_vllm_json.json", IMPORT_SUMMARY);
    cr_assert(refused(IMPORT_DECODE, "speculative"));
    cr_assert(noted(&in.warnings, 0, "TPOT 14.4666 ms is per token"));
    cr_assert(noted(&in.warnings, 0, "impossible for tokens"));
}

Test(serving, corpus_58_queueing) {
    check_corpus("corpus_58_vllm_text.txt", IMPORT_SUMMARY);
    cr_assert(refused(IMPORT_PREFILL, "no prefill rate"));
    cr_assert(noted(&in.warnings, 0, "queueing"));
    cr_assert(noted(&in.warnings, 0, "12.84 tok/s from the mean and 20.48 from the median"));
}

Test(serving, corpus_60_two_workloads) {
    check_corpus("corpus_60_sglang_jsonl.jsonl", IMPORT_SUMMARY);
    cr_assert_eq(in.records_n, 6);
    cr_assert(noted(&in.warnings, 5, "another workload"));
    cr_assert(noted(&in.warnings, 6, "another workload"));
    cr_assert(noted(&in.warnings, 1, "random_input_len says 1024, the totals give 508.7"));
    cr_assert(noted(&in.warnings, 1, "retokenize"));
    cr_assert_eq(usable(), 0);
}

Test(serving, corpus_62_one_token) {
    check_corpus("corpus_62_sglang_text.txt", IMPORT_SUMMARY);
    cr_assert(isnan(num(0, "decode_tok_s_per_request")));
    cr_assert(refused(IMPORT_DECODE, "one output token"));
    cr_assert(noted(&in.warnings, 0, "768 requests at once"));
    cr_assert(noted(&in.warnings, 26, "cut off"));
}

Test(serving, corpus_64_own_statistics_are_no_rates) {
    check_corpus("corpus_64_guidellm_json.json", IMPORT_SUMMARY);
    near(num(0, "stated_output_tok_s_median"), 84.91353375847758);
    cr_assert(noted(&in.warnings, 0, "stated_output_tok_s_median is 84.9"));
    cr_assert(refused(IMPORT_PREFILL, "no prefill rate"));
    cr_assert_eq(usable(), 0);
}

Test(serving, corpus_66_columns_and_totals) {
    check_corpus("corpus_66_guidellm_text.txt", IMPORT_SUMMARY);
    cr_assert(noted(&in.warnings, 0, "2662.3 + 2319.4 != 4775.9"));
    cr_assert(noted(&in.warnings, 0, "no decode rate per request"));
}

Test(serving, mutations_make_nothing_up) {
    mutate_corpus("corpus_54_vllm_json.json", true);
    mutate_corpus("corpus_56_vllm_json.json", true);
    mutate_corpus("corpus_58_vllm_text.txt", true);
    mutate_corpus("corpus_60_sglang_jsonl.jsonl", true);
    mutate_corpus("corpus_62_sglang_text.txt", true);
    mutate_corpus("corpus_64_guidellm_json.json", true);
    mutate_corpus("corpus_66_guidellm_text.txt", true);
}

Test(serving, order_and_unknown_lines_do_not_matter) {
    file_bytes f = corpus_file("corpus_58_vllm_text.txt");
    add_corpus("corpus_58_vllm_text.txt");
import then = in;
    const char *lines[64] = {0};
    size_t n = 0;
    char *copy = arena_printf(mem, "%.*s", (int)f.len, f.s), *rest = NULL;
    for (char *l = strtok_r(copy, "\n", &rest); l && n < 64; l = strtok_r(NULL, "\n", &rest))
        lines[n++] = l;
    buf b;
    buf_init(&b);
    buf_addf(&b, "%s\nNew measure (s):   17.5\n", lines[0]);
    for (size_t i = n - 2; i > 0; i--) buf_addf(&b, "%s\n", lines[i]);
    buf_addf(&b, "%s\n", lines[n - 1]);
    equal(&then, b.s, b.len, "lines from behind, and one more");
    buf_done(&b);
}
