/* The texts of llama.cpp's tools: tables, CSV, SQL, logs, server JSON. Lines written here have
 * values worked out by hand; the shared corpus ($RATECAST_SHARED, default ../shared) is read where
 * it is there: every value that its index expects, then the same files damaged in many ways. */
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
    mem = arena_new((size_t)1 << 30);
    e = (err){0};
    in = import_new(mem, &e);
}

static void tear_down(void) {
    arena_free(mem);
}

TestSuite(import_llama, .init = set_up, .fini = tear_down);

static void add_n(import *to, const char *name, const char *text, size_t len) {
    file_bytes f = {.name = name, .s = text, .len = len};
    (void)import_add(to, &f, NULL);
    cr_assert_eq(to->e->code, OK, "%s: %s", to->e->where, to->e->what);
}

static void add(const char *text) {
    add_n(&in, "x.txt", text, strlen(text));
}

static void is_format(const char *name) {
    cr_assert_not_null(in.files[in.files_n - 1].format);
    cr_assert_str_eq(in.files[in.files_n - 1].format, name);
}

static bool noted(const import_notes *notes, const char *word) {
    for (size_t i = 0; i < notes->n; i++)
        if (strstr(notes->v[i].what, word)) return true;
    for (size_t i = 0; i < notes->n; i++)
        cr_log_warn("%s:%zu: %s", notes->v[i].file, notes->v[i].line, notes->v[i].what);
    return false;
}

static const import_value *value(size_t record, const char *key) {
    cr_assert_lt(record, in.records_n);
    const import_record *r = &in.records[record];
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->v[i].key, key) == 0) return &r->v[i];
    return NULL;
}

static void num(size_t record, const char *key, double want) {
    const import_value *v = value(record, key);
    cr_assert_not_null(v, "no %s", key);
    cr_assert(fabs(v->v - want) <= 1e-9 * fabs(want), "%s is %.15g, expected %.15g", key, v->v,
              want);
}

static void text(size_t record, const char *key, const char *want) {
    const import_value *v = value(record, key);
    cr_assert(v && v->text, "no %s", key);
    cr_assert_str_eq(v->text, want);
}

static void refused(size_t row, const char *word) {
    cr_assert_lt(row, in.rows_n);
    cr_assert_not_null(in.rows[row].refused, "row %zu is used", row);
    cr_assert_not_null(strstr(in.rows[row].refused, word), "%s", in.rows[row].refused);
}

static void setting(size_t row, import_setting s, const char *want) {
    const char *v = in.rows[row].setting[s];
    cr_assert_not_null(v, "%s is not stated", IMPORT_SETTINGS[s].key);
    cr_assert_str_eq(v, want);
}

/* ---- llama-bench tables ---- */

#define HEAD "| model | size | backend | ngl | test | t/s |\n|---|--:|---|--:|--:|--:|\n"
#define ROW(test, rate) "| llama 1B Q8_0 | 1.00 GiB | CUDA | 99 | " test " | " rate " |\n"

Test(import_llama, labels_of_all_eras) {
    add(HEAD ROW("pp 512", "100.50 ± 1.25") ROW("tg128", "**20.00** ± 0.10")
            ROW("pp512+tg128", "60.00 ± 0.50") ROW("tg32 @ d4096", "10.00 ± 0.25")
                ROW("tg64@pp256", "15.00 ± 0.50") ROW("pp8", "30.00 ± 0.50"));
    is_format("llama_bench_md");
    cr_assert_eq(in.rows_n, 6);
    cr_assert_eq(in.errors.n, 0);
    text(0, "test", "pp512");
    num(0, "tok_s", 100.5);
    num(0, "std", 1.25);
    num(0, "depth", 0);
    cr_assert_eq(in.rows[0].phase, IMPORT_PREFILL);
    num(1, "tok_s", 20);
    text(2, "test", "pp512+tg128");
    text(2, "kind", "mixed");
    refused(2, "neither can be told");
    cr_assert_eq(in.rows[3].depth_tok, 4096);
    cr_assert_eq(in.rows[4].depth_tok, 256, "behind a prompt that is not in the time");
    cr_assert_eq(in.rows[4].phase, IMPORT_DECODE);
    refused(5, "so few rows");
    cr_assert_null(in.rows[0].refused);
    setting(0, IMPORT_GPU_LAYERS, "99");
    setting(0, IMPORT_MODEL_TYPE, "llama 1B Q8_0");
}

Test(import_llama, banner_above_and_build_below_belong_to_one_table) {
    add("  Device 0: Card A, compute capability 9.0, VMM: yes\n" HEAD ROW(
        "tg128",
        "20.00 ± 0.10") "\nbuild: aaa111 (7)\n"
                        "ggml_vulkan: 0 = Card B (RADV) (radv) | uma: 0 | fp16: 1 | warp size: "
                        "64\n" HEAD ROW("tg128", "30.00 ± 0.10") "\nbuild: bbb222 (8)\n" HEAD ROW(
                            "tg128", "40.00 ± 0.10"));
    cr_assert_eq(in.rows_n, 3);
    setting(0, IMPORT_GPU, "Card A");
    setting(0, IMPORT_BUILD, "aaa111");
    setting(1, IMPORT_GPU, "Card B");
    setting(1, IMPORT_BUILD, "bbb222");
    cr_assert_null(in.rows[2].setting[IMPORT_GPU]);
    cr_assert_null(in.rows[2].setting[IMPORT_BUILD]);
    for (size_t i = 0; i < 3; i++) cr_assert_null(in.rows[i].refused);
}

Test(import_llama, cell_of_a_pivot_that_is_no_number) {
    add("| Model | pp512 | pp512 @ d4096 | tg128 |\n|---|---|---|---|\n"
        "| m | 100.5 | - | 20.5 |\n");
    is_format("pivot_md");
    cr_assert_eq(in.rows_n, 2);
    cr_assert(noted(&in.warnings, "pp512 @ d4096 is \"-\""), "named with its depth");
}

/* As a copy of a rendered page leaves it; a time of a log before a row is no cell. */
Test(import_llama, table_without_outer_pipes) {
    add("Results:\nmodel | size | backend | ngl | test | t/s\n-- | -- | -- | -- | -- | --\n"
        "llama 1B Q8_0 | 1.00 GiB | CUDA | 99 | pp512 @ d4096 | 100.50 ± 1.25\n"
        "llama 1B Q8_0 | 1.00 GiB | CUDA | 99 | tg128 | 20.00 ± 0.10\n"
        "llama 1B Q8_0 | 1.00 GiB | CU\n"
        "llama 1B Q8_0 | 1.00 GiB | CUDA | 99 | tg256 | 19.0");
    is_format("llama_bench_md");
    cr_assert_eq(in.rows_n, 2);
    num(0, "tok_s", 100.5);
    cr_assert_eq(in.rows[0].depth_tok, 4096);
    text(1, "model", "llama 1B Q8_0");
    num(1, "tok_s", 20);
    setting(1, IMPORT_GPU_LAYERS, "99");
    cr_assert(noted(&in.warnings, "a row of 3 of 6 cells"));
    cr_assert(noted(&in.warnings, "a row of 6 of 6 cells, the last without its end"));
    in = import_new(mem, &e);
    add("10:01 | model | test | t/s |\n10:02 | m | tg128 | 20.00 ± 0.10 |\n");
    cr_assert_eq(in.rows_n, 1);
    text(0, "model", "m");
    num(0, "tok_s", 20);
}

Test(import_llama, row_broken_by_a_narrow_terminal) {
    add(HEAD "| llama 1B Q8_0 | 1.00 GiB | CUDA\n   | 99 | tg128 | 95.60 ± 0.01 |\n"
             "| llama 1B Q8_0 | 1.00 GiB | CUDA\n| 98 | tg128 | 94.60 ± 0.01 |\n"
             "| llama 1B Q8_0 | 1.00 GiB | CUDA\n   | tg128 | 93.60 ± 0.01 |\n"
             "| llama 1B Q8_0 | 1.00");
    cr_assert_eq(in.rows_n, 1, "only both halves of one row make it");
    num(0, "tok_s", 95.6);
    num(0, "ngl", 99);
    cr_assert_eq(in.rows[0].line, 3);
    cr_assert_eq(in.errors.n, 0);
    for (size_t i = 0; i < in.warnings.n; i++)
        cr_assert(noted(&in.warnings, "not used"), "%s", in.warnings.v[i].what);
    cr_assert_eq(in.warnings.n, 5);
}

Test(import_llama, signs_of_a_deviation_from_a_web_page) {
    add(HEAD ROW("pp512", "100.50 &plusmn; 1.25") ROW("tg128", "__20.00__ ± 0.10")
            ROW("tg256", "19.00 &#177; 0.25") ROW("tg512", "18.00 &amp; 0.25"));
    cr_assert_eq(in.rows_n, 3);
    num(0, "tok_s", 100.5);
    num(0, "std", 1.25);
    num(1, "tok_s", 20);
    num(2, "std", 0.25);
    cr_assert_eq(in.errors.n, 1);
}

Test(import_llama, two_values_for_one_test_are_a_conflict) {
    add(HEAD ROW("tg128", "20.00 ± 0.10") ROW("tg128", "20.00 ± 0.10") ROW("pp512", "100.00 ± 1.00")
            ROW("pp512", "90.00 ± 1.00"));
    cr_assert_null(in.rows[0].refused);
    refused(1, "again");
    refused(2, "another value");
    refused(3, "another value");
    cr_assert(noted(&in.warnings, "conflict: 90 tok/s here and 100 tok/s on line 5"));
}

Test(import_llama, columns_in_another_order_and_unknown_ones) {
    add("| t/s | test | fmoe | model |\n|--:|--:|--:|---|\n"
        "| 20.00 ± 0.10 | tg128 | 0 | m 1B Q8_0 |\n| 25.00 ± 0.10 | tg128 | 1 | m 1B Q8_0 |\n");
    cr_assert_eq(in.rows_n, 2);
    num(0, "tok_s", 20);
    num(1, "fmoe", 1);
    setting(1, IMPORT_LABEL, "fmoe=1");
    cr_assert_null(in.rows[1].refused, "another setting is no conflict");
}

Test(import_llama, placement_with_pipes) {
    add("| model | ot | test | t/s |\n|---|---|--:|--:|\n"
        "| m | a|b|c=CPU | tg128 | 5.00 ± 0.10 |\n| m | a|b|c|d=CPU | tg128 | 6.00 ± 0.10 |\n");
    cr_assert_eq(in.rows_n, 2);
    text(0, "ot", "a|b|c=CPU");
    num(1, "tok_s", 6);
    cr_assert_null(in.rows[0].refused);
}

Test(import_llama, numbers_that_are_none) {
    add(HEAD ROW("pp512", "nan ± nan") ROW("tg128", "inf ± inf") ROW("tg64", "-3200.00 ± 0.00")
            ROW("tg32", "1,234 ± 1") ROW("tg16", "1.234,56 ± 1,00") ROW("tg256", "24,61 ± 0,25"));
    cr_assert_eq(in.rows_n, 6);
    refused(0, "nan");
    refused(1, "inf");
    refused(2, "negative");
    refused(3, "ambiguous");
    cr_assert_eq(in.errors.n, 4);
    cr_assert_float_eq(in.rows[4].tok_s, 1234.56, 1e-9);
    cr_assert_float_eq(in.rows[5].tok_s, 24.61, 1e-12);
    cr_assert_float_eq(in.rows[5].tok_s_std, 0.25, 1e-12);
}

Test(import_llama, sign_in_another_code_page) {
    add(HEAD ROW("tg128", "20.00 \xC3\x82\xC2\xB1 0.10")
            ROW("pp512", "100.00 \xE2\x94\xAC\xE2\x96\x92 2.00"));
    cr_assert_eq(in.errors.n, 0);
    cr_assert_float_eq(in.rows[0].tok_s, 20, 0);
    cr_assert_float_eq(in.rows[1].tok_s_std, 2, 0);
}

Test(import_llama, cut_rows_and_headers) {
    add(HEAD ROW("tg128", "20.00 ± 0.10") "| llama 1B Q8_0 | 1.00 GiB | CUDA | 99 | pp512 | 100.5");
    cr_assert_eq(in.rows_n, 1);
    cr_assert(noted(&in.warnings, "without its end"));
    add(HEAD ROW("tg128", "20.00 ± 0.20") "\n| model | size | ba");
    cr_assert(noted(&in.warnings, "header that is cut off"));
    cr_assert_eq(in.errors.n, 0);
}

Test(import_llama, aborted_benchmark) {
    add("ggml_cuda_init: found 1 CUDA devices:\n" HEAD "main: error: out of memory\n");
    cr_assert_eq(in.rows_n + in.records_n, 0);
    cr_assert(noted(&in.errors, "aborted"));
    cr_assert(noted(&in.warnings, "out of memory"));
    in = import_new(mem, &e);
    add(HEAD "\n" HEAD ROW("tg128", "20.00 ± 0.10"));
    cr_assert_eq(in.errors.n, 0);
    cr_assert(noted(&in.warnings, "aborted"), "the other table can be used");
}

Test(import_llama, another_table_behind_is_not_read) {
    add(HEAD ROW("tg128", "20.00 ± 0.10") "\n| a | b | c | d | e | f |\n|-|-|-|-|-|-|\n"
                                          "| x | 1 GiB | y | 1 | tg64 | 99.00 ± 0.10 |\n");
    cr_assert_eq(in.rows_n, 1);
    cr_assert_float_eq(in.rows[0].tok_s, 20, 0);
}

Test(import_llama, header_twice_is_no_header) {
    add("| model | test | t/s | t/s |\n|-|-|-|-|\n| m | tg128 | 20.00 | 30.00 |\n");
    cr_assert_eq(in.rows_n, 0);
    cr_assert(noted(&in.errors, "stands twice"));
}

Test(import_llama, rows_behind_a_time_stamp) {
    add("2026-01-02T03:04:05Z | model | test | t/s |\n2026-01-02T03:04:05Z |---|--:|--:|\n"
        "2026-01-02T03:04:09Z | m | tg128 | 20.00 ± 0.10 |\n");
    is_format("llama_bench_md");
    cr_assert_eq(in.rows_n, 1);
    cr_assert_float_eq(in.rows[0].tok_s, 20, 0);
}

Test(import_llama, comparison_is_no_rate_of_one_build) {
    add("| Model | FlashAttention | Test | t/s master | t/s fix | Speedup "
        "|\n|:--|:--|:--|--:|--:|--:|\n"
        "| m 1B Q8_0 | Yes | tg128 | 20.00 | 30.00 | 1.50 |\n");
    is_format("compare_llama_bench_md");
    cr_assert_eq(in.rows_n, 2);
    num(0, "t/s master", 20);
    num(0, "t/s fix", 30);
    setting(0, IMPORT_LABEL, "master");
    setting(1, IMPORT_LABEL, "fix");
    setting(0, IMPORT_FLASH_ATTN, "1");
    for (size_t i = 0; i < 2; i++) {
        refused(i, "side by side");
        cr_assert_neq(in.rows[i].tok_s, 1.5);
    }
}

Test(import_llama, builds_named_before_the_unit) {
    add("| Model | Test | main t/s | PR t/s |\n|--|--|--|--|\n| m 1B Q8_0 | tg128 | 20.00 | 30.00 "
        "|\n");
    is_format("compare_llama_bench_md");
    setting(0, IMPORT_LABEL, "main");
    setting(1, IMPORT_LABEL, "PR");
    refused(1, "side by side");
}

Test(import_llama, client_of_a_server_looks_alike) {
    add("| model | test | t/s | peak t/s | ttfr (ms) |\n|--|--|--|--|--|\n"
        "| m | pp2048 | 500.00 ± 9.00 | | 4100.00 ± 1.00 |\n| m | tg32 | 20.00 ± 1.00 | 21.00 | "
        "|\n");
    cr_assert_eq(in.rows_n, 2);
    refused(0, "client");
    refused(1, "client");
    num(1, "tok_s", 20);
}

Test(import_llama, tests_as_columns) {
    add("| Model | Quant | pp512 (t/s) | tg128 t/s |\n|---|---|--:|--:|\n"
        "| M | Q8_0 | 100.00 ± 1.00 | 20.00 ± 0.10 |\n| M | Q4_0 | 120.00 | n/a |\n");
    is_format("pivot_md");
    cr_assert_eq(in.rows_n, 3);
    setting(0, IMPORT_MODEL, "M");
    cr_assert_float_eq(in.rows[2].tok_s, 120, 0);
    cr_assert_null(in.rows[2].refused, "another quantization is no conflict");
    cr_assert(noted(&in.warnings, "no number"));
}

/* ---- llama-batched-bench and sweep-bench ---- */

#define BB                                                                                         \
    "| PP | TG | B | N_KV | T_PP s | S_PP t/s | T_TG s | S_TG t/s | T s | S t/s "                  \
    "|\n|--|--|--|--|--|--|--|--|--|--|\n"

Test(import_llama, batched_table) {
    add("main: n_kv_max = 2048, n_batch = 512, n_ubatch = 256, flash_attn = 0, is_pp_shared = 0, "
        "n_gpu_layers = 99, n_threads = 4, n_threads_batch = 8\n" BB
        "| 100 | 50 | 4 | 600 | 0.500 | 800.00 | 2.000 | 100.00 | 2.500 | 240.00 |\n");
    is_format("batched_bench_md");
    cr_assert_eq(in.rows_n, 2);
    cr_assert_eq(in.errors.n + in.warnings.n, 0);
    num(0, "per_seq_tg", 25);
    cr_assert_eq(in.rows[1].batch_n, 4);
    cr_assert_float_eq(in.rows[1].per_seq_tok_s, 25, 0);
    cr_assert_not(in.rows[1].per_request);
    setting(0, IMPORT_N_BATCH, "512");
    setting(0, IMPORT_N_UBATCH, "256");
    setting(0, IMPORT_THREADS, "4");
}

/* T_PP 0.437 s for 512 tokens at B 4: 1172 tok/s with one prompt (N_KV 640), 4686 with four (2176)
 */
Test(import_llama, shared_prompt_by_cells_used) {
    add(BB "| 512 | 32 | 4 | 640 | 0.437 | 1171.62 | 1.000 | 128.00 | 1.437 | 445.37 |\n");
    cr_assert_eq(in.errors.n, 0);
    cr_assert(in.rows[0].shared_prompt);
    cr_assert_eq(in.rows[0].batch_n, 1);
    cr_assert_eq(in.rows[0].layout, KV_LAYOUT_UNIFIED);
    in = import_new(mem, &e);
    add(BB "| 512 | 32 | 4 | 2176 | 0.437 | 4686.50 | 1.000 | 128.00 | 1.437 | 1514.27 |\n");
    cr_assert_eq(in.errors.n, 0);
    cr_assert_not(in.rows[0].shared_prompt);
    in = import_new(mem, &e);
    add(BB "| 512 | 32 | 4 | 999 | 0.437 | 4686.50 | 1.000 | 128.00 | 1.437 | 1514.27 |\n");
    refused(0, "N_KV is 999");
    refused(1, "N_KV is 999");
}

Test(import_llama, batched_rate_against_time) {
    add(BB "| 100 | 50 | 4 | 600 | 0.500 | 200.00 | 2.000 | 100.00 | 2.500 | 240.00 |\n");
    refused(0, "contradicts 400 tokens");
    cr_assert_null(in.rows[1].refused);
    in = import_new(mem, &e);
    add(BB "| 0 | 50 | 1 | 50 | 0.000 | nan | 2,000 | 25,00 | 2,000 | 25,00 |\n");
    cr_assert_eq(in.rows_n, 1);
    cr_assert_null(in.rows[0].refused);
    cr_assert_float_eq(in.rows[0].tok_s, 25, 0);
}

Test(import_llama, sweep_table_has_depths) {
    add("| PP | TG | N_KV | T_PP s | S_PP t/s | T_TG s | S_TG t/s |\n|--|--|--|--|--|--|--|\n"
        "| 512 | 128 | 0 | 1.000 | 512.00 | 4.000 | 32.00 |\n"
        "| 512 | 128 | 512 | 1.024 | 500.00 | 5.000 | 25.60 |\n");
    is_format("sweep_bench_md");
    cr_assert_eq(in.rows_n, 4);
    num(0, "depth", 0);
    num(1, "depth", 512);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(in.rows[i].depth_tok, i < 2 ? 0 : 512);
        cr_assert_eq(in.rows[i].batch_n, 1);
        cr_assert_null(in.rows[i].refused);
    }
}

Test(import_llama, sweep_lines) {
    add("{\"n_kv_max\": 4096, \"n_batch\": 2048, \"n_ubatch\": 512, \"flash_attn\": 1, \"pp\": "
        "512, "
        "\"tg\": 128, \"n_kv\": 1024, \"t_pp\": 1.0, \"speed_pp\": 512.0, \"t_tg\": 4.0, "
        "\"speed_tg\": 32.0 }\n");
    is_format("sweep_bench_jsonl");
    cr_assert_eq(in.rows_n, 2);
    cr_assert_eq(in.rows[1].depth_tok, 1024);
    setting(1, IMPORT_FLASH_ATTN, "1");
}

/* ---- CSV and SQL ---- */

#define NAMES                                                                                      \
    "avg_ts,n_gen,new_column,n_prompt,n_depth,stddev_ts,avg_ns,backends,type_k,model_filename,"    \
    "model_type\n"

Test(import_llama, csv_by_name) {
    add("noise\n" NAMES "\"32.0\",\"64\",\"a,\"\"b\"\"\",\"0\",\"1000\",\"0.5\",\"2000000000\","
        "\"CUDA\",\"q8_0\",\"/x/tiny.gguf\","
        "\"llama 1B Q8_0\"\n256.0,0,,128,0,1.0,500000000,CUDA,q8_0,/x/tiny.gguf,llama 1B Q8_0\n");
    is_format("llama_bench_csv");
    cr_assert_eq(in.rows_n, 2);
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.rows[0].depth_tok, 1000);
    cr_assert_float_eq(in.rows[0].tok_s, 32, 0);
    cr_assert_float_eq(in.rows[1].tok_s, 256, 0);
    setting(0, IMPORT_MODEL, "tiny");
    setting(0, IMPORT_TYPE_K, "q8_0");
}

Test(import_llama, csv_of_a_spreadsheet) {
    add("n_prompt;n_gen;avg_ts;stddev_ts\n0;64;32,5;0,25\n");
    is_format("llama_bench_csv");
    cr_assert_eq(in.rows_n, 1);
    cr_assert_float_eq(in.rows[0].tok_s, 32.5, 0);
}

Test(import_llama, csv_cut_and_contradicting) {
    add(NAMES
        "32.0,64,,0,0,0.5,1000000000,CUDA,f16,m,t\n32.0,64,,0,0,0.5,2000000000,CUDA,f16,m,llam");
    cr_assert_eq(in.rows_n, 1);
    refused(0, "contradicts avg_ns");
    cr_assert(noted(&in.warnings, "cut off"));
}

Test(import_llama, sql_by_its_own_columns) {
    add("CREATE TABLE IF NOT EXISTS llama_bench (\n  n_prompt INTEGER,\n  n_gen INTEGER,\n  avg_ts "
        "REAL\n);\n"
        "INSERT INTO llama_bench (avg_ts, n_gen, n_prompt, cpu_info) VALUES ('32.0', '64', '0', "
        "'it''s');\n"
        "INSERT INTO llama_bench VALUES ('0', '64', '32.0');\n"
        "INSERT INTO llama_bench (avg_ts, n_gen, n_prompt, cpu_info) VALUES ('16.0', '64', '0', "
        "'it");
    is_format("llama_bench_sql");
    cr_assert_eq(in.rows_n, 1);
    cr_assert_float_eq(in.rows[0].tok_s, 32, 0);
    setting(0, IMPORT_CPU, "it's");
    cr_assert(noted(&in.errors, "names no columns"));
    cr_assert(noted(&in.warnings, "cut off"));
}

/* ---- logs ---- */

Test(import_llama, perf_of_2023_without_rates) {
    add("llama_print_timings:        load time =   134.84 ms\n"
        "llama_print_timings:      sample time =    12.25 ms /    32 runs   (    0.38 ms per "
        "token)\n"
        "llama_print_timings: prompt eval time =  1000.00 ms /    50 tokens (   20.00 ms per "
        "token)\n"
        "llama_print_timings:        eval time =  4000.00 ms /    80 runs   (   50.00 ms per "
        "token)\n"
        "llama_print_timings:       total time =  5211.06 ms\n");
    is_format("llama_perf_log");
    cr_assert_eq(in.records_n, 1);
    num(0, "prompt_tok_s", 50);
    num(0, "gen_tok_s", 20);
    num(0, "load_ms", 134.84);
    cr_assert_eq(in.rows_n, 2);
    cr_assert_null(in.rows[0].refused);
    cr_assert_null(in.rows[1].refused);
    cr_assert_eq(in.rows[1].depth_tok, 50);
    cr_assert(noted(&in.warnings, "only if it ran one prompt"));
}

Test(import_llama, perf_that_contradicts_itself) {
    add("llama_perf_context_print: prompt eval time =  1000.00 ms /    50 tokens (   20.00 ms per "
        "token,    90.00 tokens per second)\n");
    refused(0, "contradicts 50 tokens");
    cr_assert_eq(in.errors.n, 1);
}

#define TIMES(slot, task, pp_ms, pp, pp_rate, tg_ms, tg, tg_rate)                                  \
    "0.40.000.000 I slot print_timing: id  " slot " | task " task " | prompt eval time = " pp_ms   \
    " ms / " pp " tokens ( 1.00 ms per token, " pp_rate " tokens per second)\n"                    \
    "0.41.000.000 I slot print_timing: id  " slot " | task " task " |        eval time = " tg_ms   \
    " ms / " tg " tokens ( 1.00 ms per token, " tg_rate " tokens per second)\n"                    \
    "0.41.000.001 I slot print_timing: id  " slot " | task " task                                  \
    " |       total time = 1.00 ms / 1 tokens\n"
#define END(slot, task, n)                                                                         \
    "0.41.000.002 I slot      release: id  " slot " | task " task                                  \
    " | stop processing: n_tokens = " n ", truncated = 0\n"

Test(import_llama, server_request_cold_and_warm) {
    add("slot launch_slot_: id  0 | task 5 | processing task, is_child = 0\n"
        "slot update_slots: id  0 | task 5 | new prompt, n_ctx_slot = 4096, n_keep = 0, "
        "task.n_tokens = 100\n"
        "slot update_slots: id  0 | task 5 | n_tokens = 0, memory_seq_rm [0, end)\n"
        "slot update_slots: id  0 | task 5 | n_tokens = 64, memory_seq_rm [64, end)\n"
        "slot print_timing: id  0 | task 5 | prompt processing, n_tokens = 94, progress = 0.96, t "
        "= 3.93 s / 23.90 tokens per second\n"
        "slot print_timing: id  0 | task 5 | n_decoded = 100, tg = 5.68 t/s\n" TIMES(
            "0", "5", "1000.00", "100", "100.00", "2000.00", "50", "25.00") END("0", "5", "149")
            TIMES("0", "9", "500.00", "50", "100.00", "2000.00", "50", "25.00")
                END("0", "9", "249"));
    is_format("llama_server_log");
    cr_assert_eq(in.records_n, 2);
    num(0, "cached", 0);
    num(1, "cached", 150);
    num(1, "prompt_tokens", 200);
    cr_assert_eq(in.rows_n, 4);
    cr_assert_null(in.rows[0].refused);
    setting(0, IMPORT_CACHE, "cold");
    cr_assert_null(in.rows[1].refused);
    cr_assert_eq(in.rows[1].depth_tok, 100);
    refused(2, "warm");
    cr_assert_eq(in.rows[3].depth_tok, 200);
}

Test(import_llama, server_slots_at_once) {
    add("slot launch_slot_: id  0 | task 1 | processing task\n"
        "slot launch_slot_: id  1 | task 2 | processing task\n" TIMES(
            "0", "1", "1000.00", "100", "100.00", "2000.00", "50", "25.00") END("0", "1", "149"));
    cr_assert_eq(in.rows_n, 2);
    refused(0, "another slot");
    refused(1, "another slot");
    cr_assert(noted(&in.warnings, "task 2 in slot 1 has no timing"));
}

Test(import_llama, release_line_before_the_times) {
    add("slot launch_slot_: id  0 | task 1 | processing task\n"
        "slot      release: id  0 | task 1 | stop processing: n_past = 149, truncated = 0\n"
        "slot print_timing: id  0 | task 1 | \n"
        "prompt eval time =    1000.00 ms /   100 tokens\n       eval time =    2000.00 ms /    50 "
        "tokens\n"
        "      total time =    3000.00 ms /   150 tokens\n"
        "slot launch_slot_: id  0 | task 7 | processing task\n"
        "slot      release: id  0 | task 7 | stop processing: n_past = 300, truncated = 0\n");
    cr_assert_eq(in.records_n, 1);
    num(0, "cached", 0);
    num(0, "n_tokens_end", 149);
    num(0, "gen_tok_s", 25);
    cr_assert_null(in.rows[1].refused);
}

Test(import_llama, server_log_of_json_lines) {
    add("{\"msg\":\"slot is processing task\",\"slot_id\":0,\"task_id\":6}\n"
        "{\"msg\":\"kv cache rm [p0, end)\",\"p0\":40,\"slot_id\":0,\"task_id\":6}\n"
        "{\"function\":\"print_timings\",\"msg\":\"prompt eval time     =    1000.00 ms /    50 "
        "tokens (   20.00 ms per token,    50.00 tokens per "
        "second)\",\"slot_id\":0,\"t_prompt_processing\":1000.001,\"task_id\":6}\n"
        "{\"function\":\"print_timings\",\"msg\":\"generation eval time =    2000.00 ms /    50 "
        "runs   (   40.00 ms per token,    25.00 tokens per "
        "second)\",\"slot_id\":0,\"t_token_generation\":2000.002,\"task_id\":6}\n");
    is_format("llama_server_log");
    cr_assert_eq(in.records_n, 1);
    num(0, "task", 6);
    num(0, "cached", 40);
    num(0, "prompt_ms", 1000.001);
    num(0, "gen_ms", 2000.002);
    refused(0, "warm");
    cr_assert_eq(in.rows[1].depth_tok, 90);
}

Test(import_llama, server_says_what_it_runs) {
    add("build: 5315 (8c83449c) with cc for x86_64-linux-gnu\n"
        "  Device 0: Card A, compute capability 9.0, VMM: yes\n"
        "srv    load_model: loading model '/x/tiny-q8.gguf'\n"
        "llama_context: n_batch       = 2048\nllama_context: n_ubatch      = 512\n"
        "llama_context: flash_attn    = enabled\nllama_context: kv_unified    = true\n" TIMES(
            "0", "5", "1000.00", "100", "100.00", "2000.00", "50", "25.00") END("0", "5", "149"));
    cr_assert_eq(in.rows_n, 2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_null(in.rows[i].refused);
        setting(i, IMPORT_BUILD, "8c83449c");
        setting(i, IMPORT_GPU, "Card A");
        setting(i, IMPORT_MODEL, "tiny-q8");
        setting(i, IMPORT_N_UBATCH, "512");
        setting(i, IMPORT_FLASH_ATTN, "1");
        setting(i, IMPORT_KV_LAYOUT, "unified");
    }
}

Test(import_llama, depth_in_a_column) {
    add("| model | depth | test | t/s |\n|--|--|--|--|\n| m | 4096 | tg128 | 30.00 ± 0.50 |\n"
        "| m | 8192 | tg128 | 20.00 ± 0.50 |\n| m | deep | tg128 | 10.00 ± 0.50 |\n");
    cr_assert_eq(in.rows_n, 2);
    cr_assert_eq(in.rows[0].depth_tok, 4096);
    num(1, "depth", 8192);
    cr_assert_null(in.rows[0].refused, "another depth is no conflict");
}

Test(import_llama, keys_of_a_record_are_told_once) {
    add("{\"n_prompt\": 100, \"n_gen\": 0, \"depth\": 7, \"test\": \"mine\", \"samples_ns\": "
        "[1000000000]}\n");
    for (size_t i = 0; i < in.records[0].n; i++)
        for (size_t k = 0; k < i; k++)
            cr_assert_str_neq(in.records[0].v[i].key, in.records[0].v[k].key);
    text(0, "test", "pp100");
    num(0, "depth", 0);
}

Test(import_llama, prompt_in_tiny_batches_is_no_prefill) {
    add("| model | n_batch | test | t/s |\n|--|--|--|--|\n| m | 4 | pp512 | 30.00 ± 0.50 |\n");
    refused(0, "so few rows");
}

Test(import_llama, python_binding_with_a_warm_prefix) {
    add("Llama.generate: prefix-match hit\n"
        "llama_print_timings: prompt eval time = 1000.00 ms / 100 tokens (10.00 ms per token, "
        "100.00 tokens per second)\n"
        "llama_print_timings:        eval time = 2000.00 ms /  50 runs   (40.00 ms per token,  "
        "25.00 tokens per second)\n");
    refused(0, "not stated");
    refused(1, "not stated");
}

Test(import_llama, server_with_drafts) {
    add("slot print_timing: id  3 | task 0 | \n"
        "prompt eval time =   16743.45 ms / 33191 tokens (    0.50 ms per token,  1982.33 tokens "
        "per second)\n"
        "       eval time =    1000.00 ms /    50 tokens (   20.00 ms per token,    50.00 tokens "
        "per second)\n"
        "      total time =   17743.45 ms / 33241 tokens\n"
        "draft acceptance rate = 0.37500 (    3 accepted /     8 generated)\n"
        "slot      release: id  3 | task 0 | stop processing: n_tokens = 33240, truncated = 0\n");
    cr_assert_eq(in.records_n, 1);
    num(0, "draft_n", 8);
    num(0, "draft_n_accepted", 3);
    num(0, "cached", 0);
    refused(1, "speculative");
    setting(1, IMPORT_SPECULATION, "draft");
}

Test(import_llama, server_sums_at_the_end_are_no_request) {
    add("slot print_timing: id  0 | task 0 |\n"
        "prompt eval time =    1000.00 ms /   100 tokens (   10.00 ms per token,   100.00 tokens "
        "per second)\n"
        "       eval time =    2000.00 ms /    50 tokens (   40.00 ms per token,    25.00 tokens "
        "per second)\n"
        "llama_perf_context_print: prompt eval time =    3000.00 ms /   300 tokens (   10.00 ms "
        "per token,   100.00 tokens per second)\n");
    cr_assert_eq(in.records_n, 1);
    cr_assert(noted(&in.warnings, "sums of the whole server"));
    cr_assert_eq(in.warnings.n, 1, "no word of a cut text");
}

/* ---- server JSON ---- */

#define TIMINGS                                                                                    \
    "\"timings\":{\"cache_n\":0,\"prompt_n\":100,\"prompt_ms\":1000.0,\"prompt_per_second\":100."  \
    "0,"                                                                                           \
    "\"predicted_n\":50,\"predicted_ms\":2000.0,\"predicted_per_second\":25.0}"

Test(import_llama, responses_one_a_line) {
    add("{\"system_fingerprint\":\"b6000-abcdef\"," TIMINGS "}\n{\"error\":{\"code\":500}}\n");
    is_format("llama_server_json");
    cr_assert_eq(in.records_n, 1);
    num(0, "prompt_tokens", 100);
    num(0, "gen_tok_s", 25);
    cr_assert_null(in.rows[0].refused);
    cr_assert_eq(in.rows[1].depth_tok, 100);
    setting(0, IMPORT_BUILD, "abcdef");
    cr_assert(noted(&in.warnings, "error"));
}

Test(import_llama, event_stream_with_timings_per_token) {
    add("data: "
        "{\"choices\":[],\"timings\":{\"prompt_n\":100,\"prompt_ms\":1000.0,\"predicted_n\":1,"
        "\"predicted_ms\":0.5}}\n\ndata: {\"choices\":[]," TIMINGS "}\n\ndata: [DONE]\n\n"
        "data: {\"choices\":[]," TIMINGS "}\n\ndata: [DONE]\n");
    cr_assert_eq(in.records_n, 2);
    num(0, "gen_tokens", 50);
    cr_assert_eq(in.records[0].line, 3);
}

Test(import_llama, timings_alone) {
    add("{\n  \"prompt_n\": 1,\n  \"prompt_ms\": 228.522,\n  \"prompt_per_second\": "
        "4.375946298387026,\n"
        "  \"predicted_n\": 200,\n  \"predicted_ms\": 10000.0,\n  \"predicted_per_second\": 20.0,\n"
        "  \"draft_n\": 347,\n  \"draft_n_accepted\": 65\n}\n");
    is_format("llama_server_json");
    num(0, "gen_tok_s", 20);
    num(0, "draft_n", 347);
    refused(0, "not stated");
    refused(1, "speculative");
}

Test(import_llama, tables_of_two_tools_in_one_text) {
    add("main: n_kv_max = 20480, n_batch = 2048, n_ubatch = 2048, flash_attn = 1, is_pp_shared = "
        "0, n_gpu_layers = -1\n" BB
        "| 100 | 50 | 4 | 600 | 0.500 | 800.00 | 2.000 | 100.00 | 2.500 | 240.00 |\n\n" HEAD ROW(
            "tg128", "20.00 ± 0.10"));
    cr_assert_eq(in.rows_n, 3);
    for (size_t i = 0; i < 3; i++) cr_assert_null(in.rows[i].refused);
    cr_assert_eq(in.rows[1].batch_n, 4);
    cr_assert_eq(in.rows[2].batch_n, 1);
}

Test(import_llama, response_without_cache_count) {
    add("{\"timings\":{\"prompt_n\":100,\"prompt_ms\":1000.0,\"predicted_n\":50,\"predicted_ms\":"
        "2000.0}}\n");
    cr_assert_null(value(0, "cached"));
    refused(0, "not stated");
    refused(1, "not stated");
}

/* ---- the shared corpus ---- */

static const char *shared_path(const char *path) {
    const char *dir = getenv("RATECAST_SHARED");
    const char *all = arena_printf(mem, "%s/%s", dir ? dir : RATECAST_REPO "/../shared", path);
    if (access(all, R_OK) == 0) return all;
    fprintf(stderr, "SKIPPED: no %s (set RATECAST_SHARED)\n", all);
    cr_skip_test("no %s", all);
    return NULL;
}

static bool is_ours(const char *format) {
    static const char *const FORMATS[] = {
        "llama_bench_md",   "llama_bench_log",     "compare_llama_bench_md", "pivot_md",
        "llama_bench_csv",  "llama_bench_json",    "llama_bench_jsonl",      "llama_bench_sql",
        "batched_bench_md", "batched_bench_jsonl", "sweep_bench_md",         "llama_perf_log",
        "llama_server_log", "llama_server_json"};
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        if (strcmp(FORMATS[i], format) == 0) return true;
    return false;
}

/* Printed digits agree: the index rounds what is derived or long. */
static bool matches(const import_value *v, const cJSON *want) {
    if (!v) return cJSON_IsNull(want);
    if (cJSON_IsNull(want)) return !v->text && !isfinite(v->v);
    if (cJSON_IsString(want)) return v->text && strcmp(v->text, want->valuestring) == 0;
    return cJSON_IsNumber(want) && !v->text &&
           fabs(v->v - want->valuedouble) <= 0.00501 + 1e-6 * fabs(v->v);
}

/* Words of the index that tell a reader what to do, and are no values. */
static bool is_advice(const char *key) {
    return strcmp(key, "use") == 0;
}

static bool record_has(size_t record, const cJSON *want) {
    for (const cJSON *m = want->child; m; m = m->next)
        if (!is_advice(m->string) && !matches(value(record, m->string), m)) return false;
    return true;
}

static void check_entry(const char *file, const cJSON *expected) {
    file_bytes f = {0};
    const char *path = arena_printf(mem, "corpus/%s", file);
    cr_assert_eq(file_read(shared_path(path), mem, &f, &e), OK);
    in = import_new(mem, &e);
    add_n(&in, file, f.s, f.len);
    const cJSON *rows = cJSON_GetObjectItem(expected, "rows");
    const cJSON *values = cJSON_GetObjectItem(expected, "values");
    const cJSON *requests = cJSON_GetObjectItem(expected, "requests");
    if (cJSON_GetObjectItem(expected, "error")) cr_assert_gt(in.errors.n, 0, "%s", file);
    if (cJSON_IsNumber(rows) && !strstr(file, "pivot"))
        cr_assert_eq(in.records_n, (size_t)rows->valuedouble, "%s: %zu records", file,
                     in.records_n);
    size_t found = 0;
    for (size_t i = 0; i < in.records_n; i++) found += in.records[i].kind == IMPORT_REQUEST;
    if (cJSON_IsNumber(requests)) cr_assert_eq(found, (size_t)requests->valuedouble, "%s", file);
    for (const cJSON *want = values ? values->child : NULL; want; want = want->next) {
        bool any = false;
        for (size_t i = 0; i < in.records_n && !any; i++) any = record_has(i, want);
        char *s = cJSON_PrintUnformatted(want);
        cr_assert(any, "%s: no record has %s", file, s);
        cJSON_free(s);
    }
}

static void each_entry(void (*check)(const char *file, const cJSON *expected)) {
    file_bytes f = {0};
    size_t checked = 0;
    cr_assert_eq(file_read(shared_path("corpus/INDEX.jsonl"), mem, &f, &e), OK, "%s", e.what);
    for (const char *s = f.s; *s;) {
        size_t len = strcspn(s, "\n");
        cJSON *entry = cJSON_ParseWithLength(s, len);
        cr_assert_not_null(entry);
        if (is_ours(cJSON_GetObjectItem(entry, "format")->valuestring)) {
            check(cJSON_GetObjectItem(entry, "file")->valuestring,
                  cJSON_GetObjectItem(entry, "expected"));
            checked++;
        }
        cJSON_Delete(entry);
        s += len + (s[len] == '\n');
    }
    cr_assert_geq(checked, 20);
}

Test(import_llama, shared_corpus_values) {
    each_entry(check_entry);
}

static void read_shared(const char *name) {
    file_bytes f = {0};
    cr_assert_eq(file_read(shared_path(arena_printf(mem, "corpus/%s", name)), mem, &f, &e), OK);
    in = import_new(mem, &e);
    add_n(&in, name, f.s, f.len);
}

Test(import_llama, shared_rows_that_differ_in_settings_are_apart) {
    read_shared("corpus_01_llama_bench_md.md");
    for (size_t i = 0; i < in.rows_n; i++) cr_assert_null(in.rows[i].refused);
    setting(6, IMPORT_N_BATCH, "128");
    setting(9, IMPORT_N_BATCH, "1024");
    setting(10, IMPORT_THREADS, "1");
}

static bool card_is_refused(const char *word) {
    buf out;
    buf_init(&out);
    err why = {0};
    import_card_options o = {.id = "x", .model = "m", .chip = "c", .quant = "q"};
    bool refused_it = import_card_text(&in, &o, &out, &why) == E_REFUSED && strstr(why.what, word);
    if (!refused_it) cr_log_warn("%s: %s", why.where, why.what);
    buf_done(&out);
    return refused_it;
}

Test(import_llama, shared_cards_of_one_run_only) {
    read_shared("corpus_02_llama_bench_md.md");
    cr_assert(card_is_refused("backend") || card_is_refused("layers"),
              "no rate is borrowed from another backend");
    cr_assert(noted(&in.warnings, "1 of 7 cells"));
    read_shared("corpus_05_llama_bench_md.txt");
    cr_assert(card_is_refused("layers on the device"), "three cards, not one");
    read_shared("corpus_14_llama_bench_md.md");
    cr_assert(card_is_refused("model type"), "two models");
    cr_assert(noted(&in.warnings, "header that is cut off"));
    setting(0, IMPORT_GPU, "AMD Radeon RX 9070 XT");
}

Test(import_llama, shared_mixed_test_is_no_rate) {
    read_shared("corpus_03_llama_bench_md.md");
    refused(2, "neither can be told");
    cr_assert_null(in.rows[0].refused);
}

Test(import_llama, shared_aborted) {
    read_shared("corpus_07_llama_bench_log.log");
    cr_assert_eq(in.rows_n + in.records_n, 0);
    cr_assert(noted(&in.errors, "aborted"));
}

Test(import_llama, shared_conflicts) {
    read_shared("corpus_09_llama_bench_log.log");
    cr_assert(noted(&in.warnings, "conflict: 603.27"));
    cr_assert(noted(&in.warnings, "conflict: 40.02"));
    for (size_t i = 0; i < in.rows_n; i++)
        cr_assert_eq(in.rows[i].refused == NULL, in.rows[i].depth_tok == 65536);
    read_shared("corpus_11_llama_bench_md.txt");
    cr_assert(noted(&in.warnings, "conflict: 24.78"));
    cr_assert(noted(&in.warnings, "one repetition"));
}

Test(import_llama, shared_no_device_is_the_cpu) {
    read_shared("corpus_12_llama_bench_md.txt");
    setting(0, IMPORT_BACKEND, "CPU");
    cr_assert_null(in.rows[0].setting[IMPORT_GPU]);
    cr_assert_eq(in.rows_n, 1, "the cut cell is not used");
}

Test(import_llama, shared_comparison) {
    read_shared("corpus_16_compare_llama_bench_md.md");
    for (size_t i = 0; i < in.rows_n; i++) {
        refused(i, "side by side");
        cr_assert_gt(in.rows[i].tok_s, 2, "Speedup is no rate");
    }
}

Test(import_llama, shared_pivot) {
    read_shared("corpus_18_pivot_md.md");
    cr_assert_eq(in.rows_n, 8);
    cr_assert(noted(&in.warnings, "below decode"));
    cr_assert(noted(&in.warnings, "without its end"));
}

/* 128 tokens in 2 s, 512 in 0.1 s. */
Test(import_llama, insert_of_several_rows_over_lines) {
    add("INSERT INTO test (n_prompt, n_gen, avg_ns, avg_ts, stddev_ts) VALUES\n"
        "('512', '0', '100000000', '5120.0', '1.5'),\n  (0, 128, 2000000000, 64.0, 0.5);\n"
        "(0, 64, 1000000000, 64.0, 0.5)\n"
        "INSERT INTO test (n_gen, n_prompt, avg_ns, avg_ts) VALUES (128, 0, 4000000000, 32.0),\n"
        "(128, 0, 40000");
    is_format("llama_bench_sql");
    cr_assert_eq(in.rows_n, 3, "what stands behind the ; is of no INSERT");
    num(0, "tok_s", 5120);
    num(0, "std", 1.5);
    num(1, "tok_s", 64);
    num(1, "n_gen", 128);
    num(2, "tok_s", 32);
    num(2, "n_prompt", 0);
    cr_assert(noted(&in.warnings, "cut off"));
    cr_assert_eq(in.errors.n, 0);
}

#define TEST_OF(pp, tg, ns, ts)                                                                    \
    "{\"n_prompt\": " pp ", \"n_gen\": " tg ", \"model_type\": \"m\",\n \"avg_ns\": " ns           \
    ", \"samples_ns\": [" ns "], \"avg_ts\": " ts "}"

Test(import_llama, tests_inside_an_object_of_a_script) {
    add("{\"host\": \"h\", \"results\": [\n" TEST_OF(
        "512", "0", "100000000", "5120.0") ",\n" TEST_OF("0", "128", "2000000000",
                                                         "64.0") "], \"total\": 3}\n");
    is_format("llama_bench_json");
    cr_assert_eq(in.rows_n, 2);
    cr_assert_eq(in.errors.n + in.warnings.n, 0);
    num(0, "tok_s", 5120);
    num(1, "tok_s", 64);
    cr_assert_eq(in.rows[1].phase, IMPORT_DECODE);
    in = import_new(mem, &e);
    add("{\n\"runs\": {\"a\": [" TEST_OF("512", "0", "100000000", "5120.0") "], \"b\": 1}}\n");
    cr_assert_eq(in.rows_n, 1);
    num(0, "tok_s", 5120);
    in = import_new(mem, &e);
    add("{\n\"runs\": {\"n_prompt\": 1, \"samples_ns\": []}, \"n_gen\": 2}\n");
    cr_assert_eq(in.rows_n, 0);
    cr_assert(noted(&in.errors, "missing"), "a part of a test is none");
}

/* Two runs of one test are two points, unless they cannot both be right. */
Test(import_llama, one_test_twice_in_json) {
    add("[" TEST_OF("512", "0", "100000000", "5120.0") ",\n" TEST_OF("512", "0", "100000000", "5120.0") ",\n" TEST_OF(
        "0", "128", "2000000000",
        "64.0") ",\n" TEST_OF("0", "128", "2100000000",
                              "60.952381") ",\n" TEST_OF("0", "64", "1000000000",
                                                         "64.0") ",\n" TEST_OF("0", "64",
                                                                               "2000000000",
                                                                               "32.0") "]\n");
    cr_assert_eq(in.rows_n, 6);
    cr_assert_null(in.rows[0].refused);
    refused(1, "again");
    cr_assert_null(in.rows[2].refused);
    cr_assert_null(in.rows[3].refused);
    refused(4, "another value");
    refused(5, "another value");
    cr_assert(noted(&in.warnings, "conflict: 32 tok/s here and 64 tok/s"));
}

#define PERF(name, p_ms, p_n, p_s, g_ms, g_n, g_s)                                                 \
    name ": prompt eval time = " p_ms " ms / " p_n " tokens ( 1.00 ms per token, " p_s             \
         " tokens per second)\n" name ": eval time = " g_ms " ms / " g_n                           \
         " runs ( 1.00 ms per token, " g_s " tokens per second)\n"

/* The draft's 250 tokens are guesses, the target's 500 are prompt and checks. */
Test(import_llama, two_models_of_a_speculative_run) {
    add("n_draft   = 16\nn_predict = 259\nn_drafted = 300\nn_accept  = 200\naccept    = 66.667%\n"
        "\ndraft:\n\n" PERF("llama_perf_context_print", "800.00", "400", "500.00", "1000.00", "250",
                            "250.00") "\ntarget:\n\n" PERF("llama_perf_context_print", "2000.00",
                                                           "500", "250.00", "150.00", "10", "66.67")
            PERF("llama_perf_context_print", "1000.00", "500", "500.00", "2000.00", "100",
                 "50.00"));
    is_format("llama_perf_log");
    cr_assert_eq(in.records_n, 3);
    text(0, "model", "draft");
    text(1, "model", "target");
    num(1, "draft_n", 300);
    num(1, "draft_n_accepted", 200);
    num(1, "prompt_tok_s", 250);
    for (size_t i = 0; i < 4; i++) refused(i, "speculative run");
    cr_assert_null(value(2, "model"));
    cr_assert_null(in.rows[4].refused, "a run behind it is an ordinary one");
    cr_assert_null(in.rows[5].refused);
    in = import_new(mem, &e);
    add("W = 15\nN =  5\nG = 15\n\nn_predict = 100\nn_accept  = 40\n\n" PERF(
        "llama_print_timings", "2000.00", "500", "250.00", "1000.00", "50", "50.00")
            PERF("llama_print_timings", "1000.00", "500", "500.00", "2000.00", "100", "50.00"));
    refused(0, "speculative run");
    refused(1, "speculative run");
    cr_assert_null(in.rows[2].refused);
}

Test(import_llama, server_of_2023_names_its_slots_around_the_times) {
    add("slot 0 is processing [task id: 3]\nslot 0 : in cache: 700 tokens | to process: 100 "
        "tokens\n"
        "slot 0 : kv cache rm - [700, end)\n\n" PERF(
            "print_timings", "100.00", "100", "1000.00", "6000.00", "300",
            "50.00") "slot 0 released (1100 tokens in cache)\n"
                     "slot 0 is processing [task id: 4]\nslot 1 is processing [task id: 5]\n"
                     "slot 0 : kv cache rm - [0, end)\nslot 1 : kv cache rm - [0, end)\n\n" PERF(
                         "print_timings", "200.00", "100", "500.00", "6000.00", "300",
                         "50.00") "slot 1 released (400 tokens in "
                                  "cache)\n\n" PERF("print_timings", "100.00", "50", "500.00",
                                                    "6000.00", "300", "50.00") "slot 0 released "
                                                                               "(350 tokens in "
                                                                               "cache)\n");
    is_format("llama_server_log");
    cr_assert_eq(in.records_n, 3);
    num(0, "slot", 0);
    num(0, "task", 3);
    num(0, "cached", 700);
    num(0, "prompt_tokens", 800);
    refused(0, "warm");
    cr_assert_null(in.rows[1].refused);
    cr_assert_eq(in.rows[1].depth_tok, 800);
    cr_assert_null(value(1, "slot"), "two slots were busy");
    refused(2, "not stated");
    refused(3, "not stated");
    num(2, "task", 4);
    num(2, "cached", 0);
    refused(4, "another slot");
    refused(5, "another slot");
    cr_assert_eq(in.warnings.n, 0);
}

/* What a server of 2023 printed of its context was one request, with whatever it had cached. */
Test(import_llama, process_times_of_a_server_of_2023) {
    add("{\"message\":\"HTTP server listening\"}\n" PERF("llama_print_timings", "100.00", "100",
                                                         "1000.00", "6000.00", "300", "50.00"));
    num(0, "prompt_tok_s", 1000);
    refused(0, "cache is not stated");
    refused(1, "depth");
}

Test(import_llama, context_cut_while_it_generates) {
    add("slot launch_slot_: id  0 | task 7 | processing task\n"
        "slot update_slots: id  0 | task 7 | kv cache rm [0, end)\n"
        "slot print_timing: id  0 | task 7 | \n"
        "prompt eval time = 1000.00 ms / 1000 tokens ( 1.00 ms per token, 1000.00 tokens per "
        "second)\n eval time = 100000.00 ms / 5000 tokens ( 20.00 ms per token, 50.00 tokens per "
        "second)\nslot release: id  0 | task 7 | stop processing: n_past = 3100, truncated = 1\n");
    cr_assert_eq(in.rows_n, 2);
    num(0, "truncated", 1);
    num(0, "gen_tok_s", 50);
    refused(1, "truncated = 1");
    cr_assert(noted(&in.warnings, "context was cut"));
}

Test(import_llama, shared_batched) {
    read_shared("corpus_28_batched_bench_md.md");
    cr_assert_eq(in.rows_n, 24);
    for (size_t i = 0; i < in.rows_n; i++) {
        cr_assert_null(in.rows[i].refused);
        cr_assert_not(in.rows[i].shared_prompt, "N_KV is B*(PP+TG)");
        cr_assert_float_eq(in.rows[i].per_seq_tok_s, in.rows[i].tok_s / (double)in.rows[i].batch_n,
                           1e-9);
    }
    read_shared("corpus_30_batched_bench_md.txt");
    cr_assert_eq(in.rows_n, 2, "the perf block is no second measurement");
    setting(0, IMPORT_FLASH_ATTN, "-1");
    read_shared("corpus_31_batched_bench_jsonl.jsonl");
    cr_assert(noted(&in.warnings, "kept as measured"));
    read_shared("corpus_33_sweep_bench_md.md");
    for (size_t i = 0; i < in.rows_n; i++) cr_assert_null(in.rows[i].refused);
}

Test(import_llama, shared_logs) {
    read_shared("corpus_35_llama_perf_log.log");
    cr_assert_eq(in.records_n, 2);
    for (size_t i = 0; i < in.rows_n; i++) refused(i, "too few");
    read_shared("corpus_37_llama_server_log.log");
    refused(0, "warm");
    refused(1, "another slot");
    refused(2, "warm");
    refused(3, "another slot");
    read_shared("corpus_39_llama_server_log.log");
    cr_assert(noted(&in.warnings, "too few"));
    read_shared("corpus_41_llama_server_log.log");
    cr_assert(noted(&in.warnings, "without reuse"));
    cr_assert(noted(&in.warnings, "task 135 in slot 0 has no timing"));
    num(1, "common_prefix", 848);
    num(1, "reused", 0);
    read_shared("corpus_83_llama_perf_log.txt");
    refused(0, "generates nothing");
    refused(1, "not measured");
    cr_assert(noted(&in.warnings, "19 %"));
}

Test(import_llama, shared_server_json) {
    read_shared("corpus_42_llama_server_json.json");
    refused(0, "warm");
    num(0, "prompt_tokens", 237);
    read_shared("corpus_44_llama_server_json.txt");
    cr_assert(noted(&in.warnings, "cut off"));
    refused(0, "too few");
    refused(1, "too few");
}

Test(import_llama, shared_unsupported) {
    read_shared("corpus_84_unsupported.txt");
    cr_assert_eq(in.rows_n + in.records_n, 0);
    cr_assert(noted(&in.errors, "no known format"));
}

/* ---- damaged ---- */

/* Is every number of the rows and records of `got` one of `want`? Where a stream of events or a log
 * is cut, partial counts of the text itself may stand: `whole` lets them. */
static bool has_number(const import *want, double v) {
    for (size_t i = 0; i < want->records_n; i++)
        for (size_t k = 0; k < want->records[i].n; k++)
            if (want->records[i].v[k].v == v) return true;
    for (size_t i = 0; i < want->rows_n; i++)
        if (want->rows[i].tok_s == v) return true;
    return false;
}

static void no_new_number(const import *want, const import *got, const char *how, size_t at) {
    for (size_t i = 0; i < got->rows_n; i++)
        if (!got->rows[i].refused)
            cr_assert(has_number(want, got->rows[i].tok_s), "%s %s at %zu: row with %.9g",
                      got->files[0].file, how, at, got->rows[i].tok_s);
    for (size_t i = 0; i < got->records_n; i++)
        for (size_t k = 0; k < got->records[i].n; k++) {
            const import_value *v = &got->records[i].v[k];
            if (v->text || !isfinite(v->v)) continue;
            if (strcmp(v->key, "table") == 0 || strcmp(v->key, "run") == 0) continue;
            cr_assert(has_number(want, v->v), "%s %s at %zu: %s is %.9g", got->files[0].file, how,
                      at, v->key, v->v);
        }
}

static void damaged(const import *want, const char *name, const char *text, size_t len,
                    const char *how, size_t at) {
    arena *own = arena_new((size_t)64 << 20);
    err why = {0};
import got = import_new(own, & why);
    file_bytes f = {.name = name, .s = text, .len = len};
    (void)import_add(&got, &f, NULL);
    cr_assert_eq(why.code, OK);
    cr_assert(got.rows_n + got.records_n + got.errors.n > 0);
    no_new_number(want, &got, how, at);
    arena_free(own);
}

static void rewrite(const import *want, const char *name, const file_bytes *f, const char *how) {
    buf out;
    buf_init(&out);
    if (strcmp(how, "bom") == 0) buf_add(&out, "\xEF\xBB\xBF");
    for (size_t i = 0; i < f->len; i++) {
        char c = f->s[i];
        bool in_number = i > 0 && i + 1 < f->len && f->s[i - 1] >= '0' && f->s[i - 1] <= '9' &&
                         f->s[i + 1] >= '0' && f->s[i + 1] <= '9';
        if (c == '\n' && strcmp(how, "crlf") == 0) buf_add(&out, "\r");
        if (c == '.' && in_number && strcmp(how, "comma") == 0) c = ',';
        buf_add_n(&out, &c, 1);
    }
    if (strcmp(how, "twice") == 0) {
        const char *end = f->len > 1 ? strrchr(f->s, '\n') : NULL;
        while (end && end > f->s && end[-1] != '\n') end--;
        if (end) buf_add(&out, end);
    }
    damaged(want, name, out.s, out.len, how, 0);
    buf_done(&out);
}

/* Every row of a pipe table with one cell more at its left. */
static void more_columns(const import *want, const char *name, const file_bytes *f) {
    buf out;
    buf_init(&out);
    size_t number = 0;
    for (const char *s = f->s; *s; number++) {
        size_t n = strcspn(s, "\n");
        if (*s == '|')
            buf_add(&out, strncmp(s, "|-", 2) == 0 || strncmp(s, "| -", 3) == 0 ? "|---"
                          : strstr(s, "t/s") && strstr(s, "t/s") < s + n        ? "| xnew "
                                                                                : "| a ");
        buf_add_n(&out, s, n);
        buf_add(&out, "\n");
        s += n + (s[n] == '\n');
    }
    damaged(want, name, out.s, out.len, "column", number);
    buf_done(&out);
}

/* Every row of a pipe table with its last cell first. */
static void turned_columns(const import *want, const char *name, const file_bytes *f) {
    buf out;
    buf_init(&out);
    for (const char *s = f->s; *s;) {
        size_t n = strcspn(s, "\r\n"), end = n, last;
        while (end > 0 && s[end - 1] == ' ') end--;
        last = end > 1 ? end - 1 : 0;
        while (last > 0 && s[last - 1] != '|') last--;
        if (*s == '|' && last > 1 && s[end - 1] == '|') {
            buf_add(&out, "|");
            buf_add_n(&out, s + last, end - last);
            buf_add_n(&out, s + 1, last - 1);
        } else
            buf_add_n(&out, s, n);
        buf_add(&out, "\n");
        s += n + strspn(s + n, "\r\n");
    }
    damaged(want, name, out.s, out.len, "turned", 0);
    buf_done(&out);
}

static void damage_entry(const char *file, const cJSON *expected) {
    (void)expected;
    file_bytes f = {0};
    cr_assert_eq(file_read(shared_path(arena_printf(mem, "corpus/%s", file)), mem, &f, &e), OK);
import want = import_new(mem, & e);
    add_n(&want, file, f.s, f.len);
    static const char *const HOW[] = {"crlf", "bom", "twice"};
    for (size_t i = 0; i < 3; i++) rewrite(&want, file, &f, HOW[i]);
    bool json = strstr(file, "json") != NULL, list = strstr(file, "csv") || strstr(file, "sql");
    if (!json && !list) rewrite(&want, file, &f, "comma");
    if (!json && !list && !strstr(file, "log")) {
        more_columns(&want, file, &f);
        turned_columns(&want, file, &f);
    }
    for (size_t at = 1; at < f.len; at += 97) {
        char *cut = arena_alloc(mem, at + 1, 1);
        cr_assert_not_null(cut);
        memcpy(cut, f.s, at);
        damaged(&want, file, cut, at, "cut", at);
    }
}

Test(import_llama, shared_corpus_damaged) {
    each_entry(damage_entry);
}
