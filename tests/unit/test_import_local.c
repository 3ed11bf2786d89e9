/* Ollama and MLX: texts written here, with values worked out by hand, and the corpus. */
#include "import_trial.h"

TestSuite(local, .init = trial_set_up, .fini = trial_tear_down);

/* 600 tokens in 1.5 s: 400; 100 in 4 s: 25; together 5.6 s */
#define BLOCK(prompt_rate, gen_rate)                                                               \
    "total duration:       5.6s\nload duration:        100ms\n"                                    \
    "prompt eval count:    600 token(s)\nprompt eval duration: 1.5s\n"                             \
    "prompt eval rate:     " prompt_rate " tokens/s\n"                                             \
    "eval count:           100 token(s)\neval duration:        4s\n"                               \
    "eval rate:            " gen_rate " tokens/s\n"

Test(local, ollama_block) {
    add(">>> hi\nHello!\n\n" BLOCK("400.00", "25.00"), "ollama_verbose");
    cr_assert_eq(in.records_n, 1);
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.records[0].line, 4);
    near(num(0, "total_s"), 5.6);
    near(num(0, "prompt_tok_s"), 400);
    cr_assert_eq(usable(), 2);
    const import_row *p = row_of(IMPORT_PREFILL), *d = row_of(IMPORT_DECODE);
    cr_assert_eq(p->n_prompt, 600);
    near(p->samples_s[0], 1.5);
    cr_assert_eq(d->n_prompt, 600);
    cr_assert_eq(d->n_gen, 100);
    near(d->tok_s, 25);
    cr_assert_str_eq(d->setting[IMPORT_ENGINE], "ollama");
}

Test(local, ollama_microseconds_three_ways) {
    static const char *const US[] = {"891.5\xC2\xB5s", "891.5\xCE\xBCs", "891.5us"};
    for (size_t i = 0; i < 3; i++) {
        add(arena_printf(mem,
                         "total duration: 1h2m3.5s\nload duration: %s\neval count: 10 token(s)\n"
                         "eval duration: 2s\neval rate: 5.00 tokens/s\n",
                         US[i]),
            "ollama_verbose");
        near(num(0, "total_s"), 3723.5);
        near(num(0, "load_s"), 0.0008915);
        cr_assert(noted(&in.warnings, 1, "no prompt count"));
    }
}

Test(local, ollama_rates_that_contradict_are_no_rows) {
    add(BLOCK("400.00", "50.00"), "ollama_verbose");
    cr_assert(noted(&in.errors, 1, "contradicts"));
    cr_assert_eq(usable(), 0);
    add(BLOCK("inf", "25.00"), "ollama_verbose");
    cr_assert(noted(&in.errors, 5, "expected a finite rate"));
    cr_assert(isnan(num(0, "prompt_tok_s")));
    add(BLOCK("400.00", "-25.00"), "ollama_verbose");
    cr_assert(noted(&in.errors, 8, "expected a finite rate"));
    add("eval count: 10 token(s)\neval duration: 9s\neval rate: 1.11 tokens/s\n"
        "total duration: 1s\nload duration: 2s\neval count: 10 token(s)\neval duration: 0s\n"
        "eval rate: NaN tokens/s\n",
        "ollama_verbose");
    cr_assert(noted(&in.errors, 4, "exceed the total"));
    cr_assert(noted(&in.errors, 4, "time of zero"));
}

Test(local, ollama_two_runs_of_one_prompt_that_differ_are_not_used) {
    add(BLOCK("400.00", "25.00") "total duration: 5s\nprompt eval count: 600 token(s)\nprompt eval "
                                 "duration: 100ms\n"
                                 "prompt eval rate: 6000.00 tokens/s\neval count: 100 "
                                 "token(s)\neval duration: 4s\n"
                                 "eval rate: 25.00 tokens/s\n",
        "ollama_verbose");
    cr_assert_eq(in.records_n, 2);
    cr_assert(noted(&in.warnings, 9, "prompt cache"));
    cr_assert_eq(usable(), 2, "both decode rows, no prefill row");
    cr_assert(strstr(row_of(IMPORT_PREFILL)->refused, "another run"));
}

Test(local, ollama_json_cached_prompt_has_no_rate) {
    add("{\"prompt_eval_duration\":15000000,\"eval_count\":39,\"eval_duration\":595078000}\n",
        "ollama_json");
    near(num(0, "gen_tok_s"), 39 / 0.595078);
    cr_assert(isnan(num(0, "prompt_tok_s")), "unknown, not 0");
    cr_assert(isnan(num(0, "prompt_tokens")));
    cr_assert(noted(&in.warnings, 1, "cached"));
    cr_assert_eq(in.errors.n, 0);
}

Test(local, ollama_json_stream_and_laid_out) {
    add("{\"model\":\"m\",\"created_at\":\"x\",\"response\":\"a\",\"done\":false}\n"
        "{\"model\":\"m\",\"created_at\":\"x\",\"response\":\"\",\"done\":true,\"total_duration\":"
        "6000000000,\"prompt_eval_count\":64,\"prompt_eval_duration\":1000000000,\"eval_count\":1,"
        "\"eval_duration\":50000000}\n{\"error\":\"out of memory\"}\n",
        "ollama_json");
    cr_assert_eq(in.records_n, 1);
    cr_assert_str_eq(text(0, "model"), "m");
    cr_assert(strstr(row_of(IMPORT_DECODE)->refused, "too few generated"));
    cr_assert_null(row_of(IMPORT_PREFILL)->refused);
    cr_assert(noted(&in.warnings, 3, "out of memory"));
    add("[\n  {\n    \"done\": true,\n    \"eval_count\": 0,\n    \"eval_duration\": 0,\n"
        "    \"prompt_eval_count\": 64,\n    \"prompt_eval_duration\": 500000000\n  }\n]\n",
        "ollama_json");
    near(num(0, "prompt_tok_s"), 128);
    cr_assert(isnan(num(0, "gen_tok_s")), "0 tokens are no rate");
    cr_assert(noted(&in.warnings, 2, "empty answer"));
    add("{\"eval_count\":10,\"eval_duration\":0}\n{\"eval_count\":-1,\"eval_duration\":5}\n",
        "ollama_json");
    cr_assert(noted(&in.errors, 1, "time of zero"));
    cr_assert(noted(&in.errors, 2, "expected a count"));
    cr_assert_eq(usable(), 0);
}

Test(local, mlx_benchmark_with_batch) {
    add("Running warmup..\nTiming with prompt_tokens=100, generation_tokens=50, batch_size=4.\n"
        "Trial 1:  prompt_tps=800.000, generation_tps=40.000, peak_memory=3.502, total_time=5.500\n"
        "Trial 2:  prompt_tps=1000.000, generation_tps=50.000, peak_memory=3.503, total_time=4.4\n"
        "Averages: prompt_tps=900.000, generation_tps=45.000, peak_memory=3.502\n",
        "mlx_benchmark");
    cr_assert_eq(in.records_n, 3);
    cr_assert_eq(in.records[0].kind, IMPORT_SUMMARY);
    near(num(0, "batch"), 4);
    near(num(1, "total_s"), 5.5);
    cr_assert_eq(usable(), 2);
    const import_row *d = row_of(IMPORT_DECODE);
    cr_assert_eq(d->batch_n, 4);
    cr_assert_not(d->per_request, "all sequences together");
    near(d->tok_s, 45);
    near(d->per_seq_tok_s, 11.25);
    near(d->samples_s[0], 5); /* 4 times 50 tokens at 40 tok/s */
    near(row_of(IMPORT_PREFILL)->samples_s[1], 0.4);
}

Test(local, mlx_benchmark_two_runs_in_one_file) {
    add("Timing with prompt_tokens=100 and generation_tokens=50.\n"
        "Trial 1:  prompt_tps=800.000, generation_tps=40.000, peak_memory=3.502\n"
        "Averages: prompt_tps=800.000, generation_tps=40.000, peak_memory=3.502\n"
        "Timing with prompt_tokens=200 and generation_tokens=50.\n"
        "Trial 1:  prompt_tps=700.000, generation_tps=30.000, peak_memory=3.502\n"
        "Averages: prompt_tps=900.000, generation_tps=30.000, peak_memory=3.502\n",
        "mlx_benchmark");
    cr_assert_eq(in.rows_n, 4);
    cr_assert(noted(&in.errors, 6, "contradicts its trials"));
    cr_assert_eq(usable(), 3);
}

Test(local, mlx_averages_below_their_commands) {
    add("$ mlx_lm.benchmark --model org/M-4bit -p 100 -g 40 -n 2 -b 1\n"
        "Averages: prompt_tps=1000.000, generation_tps=50.000, peak_memory=4.074\n\n"
        "$ mlx_lm benchmark --model org/M-4bit \\\n  --prompt-tokens=100 -g 40 -b 8\n"
        "Averages: prompt_tps=2000.000, generation_tps=200.000, peak_memory=6.375\n",
        "mlx_benchmark");
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.records_n, 2);
    cr_assert_str_eq(text(0, "model"), "org/M-4bit");
    near(num(0, "batch"), 1);
    near(num(1, "batch"), 8);
    near(num(1, "prompt_tokens"), 100);
    cr_assert(isnan(num(1, "trials")), "not printed: unknown, not 0");
    cr_assert_eq(usable(), 4);
    cr_assert_eq(in.rows[3].batch_n, 8);
    near(in.rows[3].per_seq_tok_s, 25); /* 200 tok/s of eight */
}

Test(local, mlx_averages_before_and_after_a_change) {
    add("mlx_lm.benchmark -m org/M -p 2048 -g 64\n\n"
        "Pre: Averages: prompt_tps=400.000, generation_tps=80.000, peak_memory=61.3\n"
        "Post: prompt_tps=600.000, generation_tps=81.000, peak_memory=23.5\n"
        "batch 4: prompt_tps=700.000, generation_tps=99.000, peak_memory=23.5\n",
        "mlx_benchmark");
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.records_n, 3);
    cr_assert_str_eq(text(0, "label"), "Pre");
    cr_assert_str_eq(text(1, "label"), "Post");
    near(num(1, "prompt_tok_s"), 600);
    near(num(1, "batch"), 1); /* what the tool takes without -b */
    cr_assert(isnan(num(2, "batch")), "the command's is contradicted by the label");
    cr_assert(noted(&in.warnings, 5, "lengths are unknown"));
    cr_assert_eq(usable(), 2, "decode agrees, two prefill rates of one length do not");
}

Test(local, mlx_averages_of_unknown_lengths) {
    add("mlx_lm.benchmark is new\n"
        "Averages: prompt_tps=400.000, generation_tps=80.000, peak_memory=61.3\n",
        "mlx_benchmark");
    near(num(0, "gen_tok_s"), 80);
    cr_assert(isnan(num(0, "prompt_tokens")) && isnan(num(0, "batch")) && isnan(num(0, "trials")));
    cr_assert_eq(in.rows_n, 0);
}

Test(local, ollama_in_a_list_and_without_counts) {
    add("**Throughput**:\n- total duration:       5.6s\n- load duration:        100ms\n"
        "- prompt eval count:    600 token(s)\n- prompt eval duration: 1.5s\n"
        "- prompt eval rate:     400.00 tokens/s\n- eval count:           100 token(s)\n"
        "- eval duration:        4s\n- eval rate:            25.00 tokens/s\n",
        "ollama_verbose");
    cr_assert_eq(usable(), 2);
    near(num(0, "gen_s"), 4);
    add("prompt eval rate:     1354.84 tokens/s\neval rate:            88.77 tokens/s\n",
        "ollama_verbose");
    near(num(0, "gen_tok_s"), 88.77);
    cr_assert_eq(in.rows_n, 0);
    cr_assert(noted(&in.warnings, 1, "without a number of tokens"));
}

Test(local, ollama_answers_within_an_object) {
    add("{\n  \"host\": \"x\",\n  \"results\": [{\"model\": \"a\", \"prompt_eval_count\": 500, "
        "\"prompt_eval_duration\": 1000000000, \"eval_count\": 100, \"eval_duration\": "
        "4000000000},\n    {\"model\": \"b\", \"done\": false, \"eval_count\": 9, "
        "\"eval_duration\": 5}],\n  \"last\": {\"model\": \"c\", \"eval_count\": 100, "
        "\"eval_duration\": 2000000000}\n}\n",
        "ollama_json");
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.records_n, 2, "and a part of an answer");
    cr_assert_str_eq(text(0, "model"), "a");
    near(num(0, "gen_tok_s"), 25);
    cr_assert_str_eq(text(1, "model"), "c");
    near(num(1, "gen_tok_s"), 50);
    cr_assert(isnan(num(1, "prompt_tokens")));
}

Test(local, ollama_json_below_its_request) {
    add("curl http://localhost:11434/api/generate -d '{\"model\":\"m\",\"stream\":false}'\n"
        "{\"model\":\"m\",\"done\":true,\"total_duration\":5000000000,\"load_duration\":0,"
        "\"prompt_eval_count\":500,\"prompt_eval_duration\":1000000000,\"eval_count\":100,"
        "\"eval_duration\":4000000000}\n",
        "ollama_json");
    cr_assert_eq(in.errors.n, 0, "the request is no lost answer");
    near(num(0, "gen_tok_s"), 25);
    cr_assert_eq(usable(), 2);
}

Test(local, mlx_generate_of_both_eras) {
    add("==========\nPrompt: Write a story\nOnce...\n==========\n"
        "Prompt: 64 tokens, 512.000 tokens-per-sec\nGeneration: 100 tokens, 25.500 tokens-per-sec\n"
        "Peak memory: 1.250 GB\n",
        "mlx_generate");
    cr_assert_eq(in.records_n, 1);
    near(num(0, "gen_tok_s"), 25.5);
    near(num(0, "peak_memory_gb"), 1.25);
    cr_assert_eq(usable(), 2);
    add("Prompt: 512.000 tokens-per-sec\nGeneration: 25.500 tokens-per-sec\n", "mlx_generate");
    near(num(0, "prompt_tok_s"), 512);
    cr_assert_eq(in.rows_n, 0);
    cr_assert(noted(&in.warnings, 1, "without a number of tokens"));
    add("[batch_generate] Prompt: 640 tokens, 512.000 tokens-per-sec\n"
        "[batch_generate] Generation: 100 tokens, 25.500 tokens-per-sec\n",
        "mlx_generate");
    cr_assert_eq(usable(), 0, "an aggregate of an unknown number of sequences");
    add("Prompt: 64 tokens, inf tokens-per-sec\nGeneration: 100 tokens, 25.5 tokens-per-sec\n",
        "mlx_generate");
    cr_assert(noted(&in.errors, 1, "finite rate"));
    cr_assert_eq(usable(), 0);
}

/* ---- corpus ---- */

Test(local, corpus_45_cold_start) {
    check_corpus("corpus_45_ollama_verbose.txt", IMPORT_REQUEST);
    cr_assert(noted(&in.warnings, 0, "cold start"));
    cr_assert_not_null(row_of(IMPORT_PREFILL)->refused);
}

Test(local, corpus_46_micro_sign) {
    check_corpus("corpus_46_ollama_verbose.txt", IMPORT_REQUEST);
}

Test(local, corpus_49_rates_from_nanoseconds) {
    check_corpus("corpus_49_ollama_json.jsonl", IMPORT_REQUEST);
    cr_assert(noted(&in.warnings, 2, "cut off"));
    cr_assert_eq(in.records_n, 1);
}

Test(local, corpus_50_trials_or_average_not_six_samples) {
    check_corpus("corpus_50_mlx_benchmark.txt", IMPORT_SUMMARY);
    cr_assert_eq(in.rows_n, 2);
    cr_assert_eq(in.rows[0].samples_n, 5);
    near(in.rows[0].tok_s, 2902.166);
    cr_assert(isnan(num(0, "peak_memory_gib")), "GB of 10^9, and named so");
}

Test(local, corpus_52_two_values_for_one_length) {
    check_corpus("corpus_52_mlx_generate.txt", IMPORT_REQUEST);
    cr_assert_eq(usable(), 0, "choose or refuse");
    cr_assert_eq(in.rows[0].n_prompt, 33898);
    cr_assert(noted(&in.warnings, 0, "no decode rate"));
}

Test(local, mutations_make_nothing_up) {
    mutate_corpus("corpus_45_ollama_verbose.txt", true);
    mutate_corpus("corpus_46_ollama_verbose.txt", true);
    mutate_corpus("corpus_49_ollama_json.jsonl", true);
    mutate_corpus("corpus_50_mlx_benchmark.txt", false);
    mutate_corpus("corpus_52_mlx_generate.txt", false);
}

Test(local, unknown_lines_and_keys_do_not_matter) {
    add(BLOCK("400.00", "25.00"), "ollama_verbose");
import then = in;
    static const char MORE[] = "total duration:       5.6s\nqueue duration: 3s\n"
                               "load duration:        100ms\n"
                               "prompt eval count:    600 token(s)\nprompt eval duration: 1.5s\n"
                               "prompt eval rate:     400.00 tokens/s\npeak memory: 3 GB\n"
                               "eval count:           100 token(s)\neval duration:        4s\n"
                               "eval rate:            25.00 tokens/s\n";
    equal(&then, MORE, sizeof MORE - 1, "unknown labels");
}

/* Under a locale with a decimal comma Python and Go print points; a spreadsheet does not. */
Test(local, decimal_commas_are_read_or_refused_by_name) {
    add(BLOCK("400,00", "25,00"), "ollama_verbose");
    near(num(0, "gen_tok_s"), 25);
    cr_assert_eq(in.errors.n, 0);
    add("Timing with prompt_tokens=100 and generation_tokens=50.\n"
        "Trial 1:  prompt_tps=800,125, generation_tps=40,125, peak_memory=3,502\n"
        "Averages: prompt_tps=800,125, generation_tps=40,125, peak_memory=3,502\n",
        "mlx_benchmark");
    cr_assert_eq(usable(), 0);
    cr_assert(noted(&in.errors, 2, "prompt_tps is \"800,125"));
}
