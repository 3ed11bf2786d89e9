/* The importers, on lines written here with values worked out by hand, and on the raw outputs of
 * real runs where $RATECAST_SHARED (default: ../shared beside the repository) has them. */
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
    mem = arena_new((size_t)256 << 20);
    e = (err){0};
    in = import_new(mem, &e);
}

static void tear_down(void) {
    arena_free(mem);
}

TestSuite(import, .init = set_up, .fini = tear_down);

static void add_as(const char *name, const char *text, const char *format) {
    file_bytes f = {.name = name, .s = text, .len = strlen(text)};
    file_sha256_hex(text, f.len, f.sha256);
    (void)import_add(&in, &f, format);
}

static void add(const char *name, const char *text) {
    add_as(name, text, NULL);
    cr_assert_eq(e.code, OK, "%s: %s", e.where, e.what);
}

static bool noted(const import_notes *notes, size_t line, const char *word) {
    for (size_t i = 0; i < notes->n; i++)
        if (notes->v[i].line == line && strstr(notes->v[i].what, word)) return true;
    for (size_t i = 0; i < notes->n; i++)
        cr_log_warn("%s:%zu: %s", notes->v[i].file, notes->v[i].line, notes->v[i].what);
    return false;
}

static void near(double got, double want) {
    cr_assert(fabs(got - want) <= 1e-9 * fabs(want), "%.15g, expected %.15g", got, want);
}

#define HEAD                                                                                       \
    "\"build_commit\": \"b1\", \"model_filename\": \"/x/tiny.gguf\", \"model_type\": \"llama 1B "  \
    "Q4_K - Medium\", \"model_size\": 1000, \"model_n_params\": 2000, \"gpu_info\": \"G\", "       \
    "\"cpu_info\": \"C\", \"backends\": \"CUDA\", \"n_batch\": 2048, \"n_ubatch\": 512, "          \
    "\"n_threads\": 4, \"type_k\": \"f16\", \"type_v\": \"q8_0\", \"flash_attn\": true, "
/* 512 tokens in 0.5 s and in 0.25 s: 1024 and 2048 tok/s, mean 1536 */
#define PP                                                                                         \
    "{" HEAD                                                                                       \
    "\"n_prompt\": 512, \"n_gen\": 0, \"n_depth\": 0, \"avg_ns\": 375000000, \"avg_ts\": "         \
    "1536.0, \"stddev_ts\": 724.077, \"samples_ns\": [500000000, 250000000], \"samples_ts\": "     \
    "[1024, 2048]}\n"
/* 64 tokens in 2 s behind 1000: 32 tok/s, a step of 31.25 ms */
#define TG                                                                                         \
    "{" HEAD "\"n_prompt\": 0, \"n_gen\": 64, \"n_depth\": 1000, \"avg_ns\": 2000000000, "         \
    "\"avg_ts\": 32.0, \"stddev_ts\": 0, \"samples_ns\": [2000000000], \"samples_ts\": [32]}\n"
#define BB(pl, t_tg, speed_tg)                                                                     \
    "{\"n_kv_max\": 8192, \"n_batch\": 2048, \"n_ubatch\": 512, \"flash_attn\": 1, "               \
    "\"is_pp_shared\": 0, \"n_gpu_layers\": 99, \"n_threads\": 4, \"pp\": 100, \"tg\": 50, "       \
    "\"pl\": " #pl ", \"t_pp\": 0.5, \"t_tg\": " #t_tg ", \"speed_tg\": " #speed_tg "}\n"

/* ---- llama-bench ---- */

Test(import, llama_bench_rows) {
    add("a.jsonl", PP TG);
    cr_assert_str_eq(in.files[0].format, "llama_bench_jsonl");
    cr_assert_eq(in.rows_n, 2);
    cr_assert_eq(in.errors.n + in.warnings.n, 0);
    const import_row *p = &in.rows[0], *d = &in.rows[1];
    cr_assert_eq(p->phase, IMPORT_PREFILL);
    cr_assert_eq(p->line, 1);
    cr_assert_eq(p->n_prompt, 512);
    cr_assert_eq(p->samples_n, 2);
    near(p->samples_s[0], 0.5);
    near(p->samples_s[1], 0.25);
    near(p->tok_s, 1536);
    near(p->tok_s_std, 724.077);
    cr_assert_str_eq(p->setting[IMPORT_MODEL], "tiny");
    cr_assert_str_eq(p->setting[IMPORT_FLASH_ATTN], "1");
    cr_assert_str_eq(p->setting[IMPORT_TYPE_V], "q8_0");
    cr_assert_null(p->refused);
    cr_assert_eq(d->phase, IMPORT_DECODE);
    cr_assert_eq(d->line, 2);
    cr_assert_eq(d->depth_tok, 1000);
    near(d->samples_s[0], 2);
    near(d->tok_s, 32);
}

Test(import, field_order_and_unknown_fields_do_not_matter) {
    add("a.jsonl", "{\"samples_ns\": [500000000], \"new\": {\"x\": [1, {}]}, \"n_gen\": 0, "
                   "\"avg_ts\": 256, \"n_prompt\": 128}\n");
    cr_assert_eq(in.rows_n, 1);
    cr_assert_eq(in.errors.n, 0);
    near(in.rows[0].tok_s, 256);
    cr_assert_eq(in.rows[0].depth_tok, 0);
    cr_assert_null(in.rows[0].setting[IMPORT_N_UBATCH], "not stated is not 0");
    cr_assert_null(in.rows[0].setting[IMPORT_THREADS]);
    cr_assert(isnan(in.rows[0].tok_s_std));
}

Test(import, json_array_has_the_line_of_each_object) {
    add("a.json", "[\n  {\n    \"n_prompt\": 100,\n    \"n_gen\": 0,\n    \"cuda\": true,\n"
                  "    \"f16_kv\": true,\n    \"samples_ns\": [ 1000000000 ]\n  },\n"
                  "  {\"n_prompt\": 0, \"n_gen\": 10, \"samples_ns\": [500000000]}\n]\n");
    cr_assert_str_eq(in.files[0].format, "llama_bench_json");
    cr_assert_eq(in.rows_n, 2);
    cr_assert_eq(in.warnings.n, 0);
    cr_assert_eq(in.rows[0].line, 2);
    cr_assert_eq(in.rows[1].line, 9);
    near(in.rows[0].tok_s, 100);
    near(in.rows[1].tok_s, 20);
    cr_assert_str_eq(in.rows[0].setting[IMPORT_BACKEND], "CUDA");
    cr_assert_str_eq(in.rows[0].setting[IMPORT_TYPE_K], "f16");
}

Test(import, json_array_cut_off) {
    add("a.json", "[\n{\"n_prompt\": 100, \"n_gen\": 0, \"samples_ns\": [1000000000]},\n"
                  "{\"n_prompt\": 200, \"n_gen\": 0, \"samp");
    cr_assert_eq(in.rows_n, 1);
    cr_assert_eq(in.errors.n, 0);
    cr_assert(noted(&in.warnings, 3, "cut off"));
    cr_assert(noted(&in.warnings, 3, "no end"));
}

Test(import, wrapped_object_counts_once) {
    add("a.jsonl", "{\"mode\": \"pp\", \"value\": 100, \"tokens_per_sec\": 50, \"bench_raw\": "
                   "{\"n_prompt\": 100, \"n_gen\": 0, \"samples_ns\": [2000000000]}}\n");
    cr_assert_eq(in.rows_n, 1);
    near(in.rows[0].tok_s, 50);
}

Test(import, few_rows_are_no_prefill) {
    add("a.jsonl", "{\"n_prompt\": 8, \"n_gen\": 0, \"samples_ns\": [1000000000]}\n"
                   "{\"n_prompt\": 9, \"n_gen\": 0, \"samples_ns\": [1000000000]}\n");
    cr_assert_not_null(in.rows[0].refused);
    cr_assert_null(in.rows[1].refused);
    cr_assert_eq(in.errors.n, 0, "a row that a card cannot take is no fault of the file");
}

Test(import, prompt_and_generation_in_one_time) {
    /* (100 + 20) tok / 2 s = 60 tok/s */
    add("a.jsonl", "{\"n_prompt\": 100, \"n_gen\": 20, \"samples_ns\": [2000000000], \"avg_ts\": "
                   "60}\n");
    cr_assert_eq(in.rows[0].phase, IMPORT_MIXED);
    near(in.rows[0].tok_s, 60);
    cr_assert_not_null(strstr(in.rows[0].refused, "-pg"));
    cr_assert_eq(in.errors.n, 0);
}

/* ---- llama-batched-bench ---- */

Test(import, batched_bench_gives_two_rows_a_line) {
    /* 4 x 100 tok / 0.5 s = 800 tok/s; 4 x 50 / 2 s = 100 tok/s, 25 a sequence */
    add("b.jsonl", BB(4, 2.0, 100.0));
    cr_assert_str_eq(in.files[0].format, "batched_bench_jsonl");
    cr_assert_eq(in.rows_n, 2);
    const import_row *p = &in.rows[0], *d = &in.rows[1];
    cr_assert_eq(p->phase, IMPORT_PREFILL);
    cr_assert_eq(p->batch_n, 4);
    near(p->tok_s, 800);
    near(p->per_seq_tok_s, 200);
    cr_assert_eq(d->phase, IMPORT_DECODE);
    cr_assert_not(d->per_request);
    near(d->tok_s, 100);
    near(d->per_seq_tok_s, 25);
    near(d->samples_s[0], 2);
    cr_assert_null(d->setting[IMPORT_MODEL]);
}

/* The first cell is cold: asked for twice in a row, its first rows stay in a card, unused. The same
 * cell twice further down is two measurements. */
Test(import, cold_first_cell_of_a_batched_run) {
    add("c.jsonl", BB(1, 1.5, 33.3) BB(1, 1.0, 50.0) BB(4, 2.0, 100.0) BB(4, 2.0, 100.0));
    cr_assert_eq(in.rows_n, 8);
    for (size_t i = 0; i < 8; i++) {
        cr_assert_eq(in.rows[i].excluded != NULL, i < 2, "row %zu", i);
        cr_assert_null(in.rows[i].refused);
    }
    import_card_options o = {.model = "m", .chip = "c", .method = "engine", .note = "by hand"};
    buf text;
    buf_init(&text);
    cr_assert_eq(import_card_text(&in, &o, &text, &e), OK, "%s", e.what);
    const card *c = NULL;
    card_library none = {0};
    file_bytes f = {.name = "<card>", .s = text.s, .len = text.len};
    cr_assert_eq(card_parse(&none, &f, mem, &c, &e), OK, "%s: %s", e.where, e.what);
    cr_assert_str_eq(c->method, "engine");
    cr_assert_not_null(strstr(text.s, "\"note\": \"by hand; imported from c.jsonl"));
    cr_assert_eq(c->decode_n, 4);
    cr_assert_not_null(c->decode[0].origin.excluded);
    near(c->decode[0].step_s, 1.5 / 50);
    cr_assert_null(c->decode[1].origin.excluded);
    buf_done(&text);
}

Test(import, shared_prompt_is_computed_once_and_shows_the_layout) {
    /* n_kv: split KV 4 x (100 + 50) = 600, unified 100 + 4 x 50 = 300 */
    add("s.jsonl",
        "{\"pp\": 100, \"tg\": 50, \"pl\": 4, \"is_pp_shared\": 1, \"n_kv\": 600, "
        "\"t_pp\": 0.5, \"speed_pp\": 200, \"t_tg\": 2}\n"
        "{\"pp\": 100, \"tg\": 50, \"pl\": 4, \"is_pp_shared\": 1, \"n_kv\": 300, "
        "\"t_pp\": 0.5, \"speed_pp\": 200, \"t_tg\": 2}\n"
        "{\"pp\": 100, \"tg\": 50, \"pl\": 4, \"n_kv\": 300, \"t_pp\": 0.5, \"t_tg\": 2}\n"
        "{\"pp\": 100, \"tg\": 50, \"pl\": 4, \"is_pp_shared\": 0, \"n_kv\": 601, "
        "\"t_pp\": 0.5, \"t_tg\": 2}\n"
        "{\"pp\": 100, \"tg\": 50, \"pl\": 4, \"n_kv\": 601, \"t_pp\": 0.5, \"t_tg\": "
        "2}\n");
    /* neither 600 nor 300 and no flag: one prompt or four, nothing tells */
    cr_assert_eq(in.errors.n, 1);
    cr_assert(noted(&in.errors, 5, "n_kv is 601, expected 600"));
    cr_assert_eq(in.rows_n, 8);
    cr_assert_eq(in.rows[0].batch_n, 1);
    cr_assert_eq(in.rows[1].batch_n, 4);
    cr_assert(in.rows[1].shared_prompt);
    cr_assert_eq(in.rows[0].layout, KV_LAYOUT_SPLIT);
    cr_assert_eq(in.rows[2].layout, KV_LAYOUT_UNIFIED);
    cr_assert(in.rows[4].shared_prompt, "n_kv says it where the flag is missing");
    cr_assert_not(in.rows[6].shared_prompt);
    cr_assert(noted(&in.warnings, 4, "n_kv is 601, expected 600"));
}

Test(import, no_generation_is_no_decode_row) {
    add("b.jsonl", "{\"pp\": 100, \"tg\": 0, \"pl\": 2, \"is_pp_shared\": 0, \"n_kv\": 200, "
                   "\"t_pp\": 0.5, \"speed_pp\": 400, \"t_tg\": 0.0, \"speed_tg\": -nan}\n");
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.rows_n, 1);
    cr_assert_eq(in.rows[0].phase, IMPORT_PREFILL);
    cr_assert_null(in.rows[0].refused);
}

Test(import, falling_aggregate_is_kept) {
    add("b.jsonl", BB(1, 1.0, 50.0) BB(2, 4.0, 25.0));
    cr_assert_eq(in.rows_n, 4);
    cr_assert_null(in.rows[3].refused);
    cr_assert(noted(&in.warnings, 2, "kept as measured"));
}

Test(import, sequences_one_after_another_are_no_batch) {
    add("b.jsonl", "{\"pp\": 100, \"tg\": 50, \"pl\": 4, \"is_tg_separate\": 1, \"t_pp\": 0.5, "
                   "\"t_tg\": 2}\n");
    cr_assert_null(in.rows[0].refused);
    cr_assert_not_null(strstr(in.rows[1].refused, "-tgs"));
}

/* ---- faulty lines ---- */

Test(import, faults_name_their_line) {
    static const struct {
        const char *row, *word;
    } CASES[] = {
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"samples_ns\": [0], \"avg_ts\": 5}", "samples_ns[0]"},
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"samples_ns\": [-1]}", "samples_ns[0]"},
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"samples_ns\": [1, nan]}", "samples_ns[1]"},
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"samples_ns\": [1e400]}", "samples_ns[0]"},
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"samples_ns\": [1000000000], \"avg_ts\": 102}",
         "avg_ts 102 tok/s contradicts"},
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"samples_ns\": [1000000000], \"avg_ns\": 2000000000}",
         "avg_ns 2 s contradicts"},
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"samples_ns\": [1000000000], \"samples_ts\": [90]}",
         "samples_ts[0] 90 tok/s contradicts"},
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"avg_ts\": inf}", "avg_ts"},
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"avg_ts\": -3}", "avg_ts"},
        {"{\"n_prompt\": 100, \"n_gen\": 0}", "neither"},
        {"{\"n_prompt\": 100, \"avg_ts\": 5}", "n_gen is missing"},
        {"{\"n_prompt\": 0, \"n_gen\": 0, \"avg_ts\": 5}", "nothing was measured"},
        {"{\"n_prompt\": 1.5, \"n_gen\": 0, \"avg_ts\": 5}", "whole number"},
        {"{\"n_prompt\": \"512\", \"n_gen\": 0, \"avg_ts\": 5}", "whole number"},
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"avg_ts\": 5, \"avg_ts\": 6}", "twice"},
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"avg_ts\": 5", "cut off"},
        {"{\"n_prompt\": 100, \"n_gen\": 0, \"avg_ts\": 5} {}", "expected the end"},
        {"load: done {\"n_prompt\": 100, \"n_gen\": 0, \"avg_ts\": 5}", "before a JSON object"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        e = (err){0};
        in = import_new(mem, &e);
        add("a.jsonl", arena_printf(mem, "%s%s\n%s", PP, CASES[i].row, TG));
        cr_assert(noted(&in.errors, 2, CASES[i].word), "case %zu", i);
        cr_assert_eq(in.errors.n, 1, "case %zu", i);
        size_t used = 0;
        for (size_t k = 0; k < in.rows_n; k++) used += in.rows[k].refused == NULL;
        cr_assert_eq(used, 2, "case %zu: the other rows stay", i);
    }
}

Test(import, batched_bench_faults) {
    add("b.jsonl", BB(1, 0.0, 50.0) BB(1, -1, 50.0) BB(1, nan, 50.0) BB(2, 1.0, 50.0)
                       BB(2, 1.0, inf) BB(0, 1.0, 50.0) BB("2", 1.0, 50.0));
    cr_assert(noted(&in.errors, 1, "t_tg is zero"));
    cr_assert(noted(&in.errors, 2, "t_tg is zero, negative"));
    cr_assert(noted(&in.errors, 3, "t_tg is missing or no number"));
    cr_assert(noted(&in.errors, 4, "speed_tg 50 tok/s contradicts 100 tokens in 1 s"));
    cr_assert(noted(&in.errors, 5, "speed_tg is zero, negative or no finite number"));
    cr_assert(noted(&in.errors, 6, "/pl"));
    cr_assert(noted(&in.errors, 7, "/pl"));
    cr_assert_eq(in.rows_n, 10, "five prefill rows are fine, five decode rows refused");
}

/* 100 tokens in 10 us: the printed time leaves 5 % open, so 9.6 M tok/s is none; in 10 ms it is */
Test(import, digits_of_short_times_are_no_contradiction) {
    add("b.jsonl", "{\"pp\": 100, \"tg\": 0, \"pl\": 1, \"t_pp\": 0.000010, \"speed_pp\": 9600000, "
                   "\"t_tg\": 0}\n"
                   "{\"pp\": 100, \"tg\": 0, \"pl\": 1, \"t_pp\": 0.010000, \"speed_pp\": 9600, "
                   "\"t_tg\": 0}\n");
    cr_assert_null(in.rows[0].refused);
    cr_assert_not_null(in.rows[1].refused);
}

Test(import, text_between_rows_is_skipped_with_a_warning) {
    add("a.jsonl", "\xEF\xBB\xBF"
                   "ggml_cuda_init: found 1 CUDA devices\r\n" PP "\n"
                   "{\"progress\": 1}\n" TG);
    cr_assert_eq(in.rows_n, 2);
    cr_assert_eq(in.errors.n, 0);
    cr_assert_eq(in.warnings.n, 3);
    cr_assert(noted(&in.warnings, 1, "ggml_cuda_init"));
    cr_assert(noted(&in.warnings, 3, "blank"));
    cr_assert(noted(&in.warnings, 4, "no llama-bench row"));
    cr_assert_eq(in.rows[1].line, 5);
}

Test(import, last_line_without_its_end) {
    const char *text = PP "{" HEAD "\"n_prompt\": 0, \"n_gen\": 64, \"samples_ns\": [2000";
    add("a.jsonl", text);
    cr_assert_eq(in.rows_n, 1);
    cr_assert_eq(in.errors.n, 0);
    cr_assert(noted(&in.warnings, 2, "cut off"));
    e = (err){0};
    in = import_new(mem, &e);
    add("a.jsonl", arena_printf(mem, "%s%.*s", PP, (int)strlen(TG) - 1, TG));
    cr_assert_eq(in.rows_n, 2, "a whole object without a terminator is whole");
    cr_assert_eq(in.warnings.n, 0);
}

Test(import, every_cut_uses_whole_objects_only) {
    const char *text = PP TG BB(4, 2.0, 100.0);
    size_t first = strlen(PP);
    for (size_t n = 0; n < first + strlen(TG); n += 3) {
        e = (err){0};
        in = import_new(mem, &e);
        add_as("a.jsonl", arena_printf(mem, "%.*s", (int)n, text), "llama_bench_jsonl");
        size_t whole = n + 1 >= first ? 1 : 0; /* the terminator alone may be missing */
        if (n + 1 >= first + strlen(TG)) whole = 2;
        cr_assert_eq(in.rows_n, whole, "cut at %zu", n);
        cr_assert_eq(in.errors.n > 0, whole == 0, "cut at %zu", n);
    }
}

Test(import, unknown_formats) {
    add("x.txt", "| model | score |\n|---|---|\n| a | 202.7 tok/s |\n");
    cr_assert(noted(&in.errors, 0, "no known format"));
    add("y.txt", "");
    cr_assert(noted(&in.errors, 0, "is empty"));
    add("z.txt", "\xFF\xFE{");
    cr_assert(noted(&in.errors, 0, "is empty"));
    add_as("a.jsonl", PP, "llama_bench_jsnol");
    cr_assert_eq(e.code, E_USAGE);
    cr_assert_not_null(strstr(e.what, "nearest is \"llama_bench_json"));
}

Test(import, same_content_twice) {
    add("a.jsonl", PP);
    add("b.jsonl", PP);
    cr_assert(noted(&in.errors, 0, "content of a.jsonl"));
    cr_assert_eq(in.rows_n, 1);
}

Test(import, many_notes_are_counted) {
    buf b;
    buf_init(&b);
    for (int i = 0; i < 1000; i++) buf_add(&b, "noise\n");
    buf_add(&b, PP);
    add("a.jsonl", b.s);
    buf_done(&b);
    cr_assert_eq(in.rows_n, 1);
    cr_assert_eq(in.warnings.n + in.warnings.more, 1000);
    cr_assert_lt(in.warnings.n, 500);
}

/* ---- the card ---- */

static const card *make_card(import_card_options o) {
    buf text;
    buf_init(&text);
    cr_assert_eq(import_card_text(&in, &o, &text, &e), OK, "%s: %s", e.where, e.what);
    file_bytes f = {.name = "c.json", .s = arena_strdup(mem, text.s), .len = text.len};
    buf_done(&text);
    card_library none = {0};
    const card *c = NULL;
    cr_assert_eq(card_parse(&none, &f, mem, &c, &e), OK, "%s: %s", e.where, e.what);
    return c;
}

static void card_refused(import_card_options o, err_code code, const char *where,
                         const char *word) {
    buf text;
    buf_init(&text);
    cr_assert_eq(import_card_text(&in, &o, &text, &e), code, "%s: %s", e.where, e.what);
    cr_assert_str_eq(e.where, where);
    cr_assert_not_null(strstr(e.what, word), "%s lacks %s", e.what, word);
    buf_done(&text);
}

Test(import, card_of_both_tools) {
    add("dir/b.jsonl", BB(4, 2.0, 100.0));
    add("dir/a.jsonl", TG PP);
    const card *c = make_card((import_card_options){.layout = KV_LAYOUT_SPLIT, .layers = 4});
    cr_assert_str_eq(c->id, "tiny-q4_k_m-g");
    cr_assert_str_eq(c->method, "import");
    cr_assert_str_eq(c->quant, "Q4_K_M");
    cr_assert_str_eq(c->engine.build, "b1");
    cr_assert_str_eq(c->hardware.chip, "G");
    cr_assert_eq(c->weights_bytes, 1000);
    cr_assert_eq(c->full_attention_layers, 4);
    near(c->kv_element_bytes, (2 + 34.0 / 32) / 2);
    cr_assert_eq(c->engine.layout, KV_LAYOUT_SPLIT);
    cr_assert_eq(c->host_threads_n, 0, "the GPU computes");
    cr_assert_eq(c->prefill_n, 2);
    cr_assert_eq(c->prefill[0].n_prompt_tok, 100);
    cr_assert_eq(c->prefill[0].batch_n, 4);
    near(c->prefill[0].s, 0.5);
    cr_assert_str_eq(c->prefill[0].origin.source, "b.jsonl:1");
    cr_assert_str_eq(c->prefill[1].origin.source, "a.jsonl:2");
    cr_assert_eq(c->prefill[1].origin.samples_n, 2);
    cr_assert_eq(c->decode_n, 2);
    cr_assert_eq(c->decode[0].context_tok, 1000 + 32);
    near(c->decode[0].step_s, 0.03125);
    cr_assert_eq(c->decode[1].batch_n, 4);
    cr_assert_eq(c->decode[1].context_tok, 100 + 25);
    near(c->decode[1].step_s, 0.04);
}

/* Two lines that differ in one field. */
static void mixture(const char *field, const char *a, const char *b, const char *word) {
    e = (err){0};
    in = import_new(mem, &e);
    add("m.jsonl",
        arena_printf(mem,
                     "{%s: %s, \"model_filename\": \"m\", \"cpu_info\": \"C\", \"n_prompt\": 100, "
                     "\"n_gen\": 0, \"avg_ts\": 5}\n{\"n_prompt\": 100, \"n_gen\": 0, \"avg_ts\": "
                     "5}\n{%s: %s, \"n_prompt\": 100, \"n_gen\": 0, \"avg_ts\": 6}\n",
                     field, a, field, b));
    cr_assert_eq(in.errors.n, 0);
    if (word)
        card_refused((import_card_options){.model = "m", .chip = "c"}, E_REFUSED, "m.jsonl:3",
                     word);
    else
        (void)make_card((import_card_options){.id = "x", .model = "m", .chip = "c"});
}

Test(import, mixtures_are_refused_with_both_lines) {
    mixture("\"build_commit\"", "\"b1\"", "\"b2\"", "engine build is b2, on m.jsonl:1 it is b1");
    mixture("\"model_size\"", "1", "2", "model size");
    mixture("\"model_type\"", "\"a 1B Q4_0\"", "\"a 1B Q8_0\"", "model type");
    mixture("\"gpu_info\"", "\"G\"", "\"H\"", "device is H");
    mixture("\"backends\"", "\"CUDA\"", "\"Vulkan\"", "backend");
    mixture("\"flash_attn\"", "true", "0", "flash attention is 0");
    mixture("\"flash_attn\"", "-1", "0", NULL);
    mixture("\"type_k\"", "\"f16\"", "\"q8_0\"", "KV type K");
    mixture("\"n_batch\"", "2048", "512", "n_batch");
    mixture("\"n_ubatch\"", "2048", "512", NULL);
    mixture("\"n_threads\"", "1", "2", "threads");
    mixture("\"n_gpu_layers\"", "0", "99", "layers on the device");
    mixture("\"n_gpu_layers\"", "-1", "99", NULL);
    mixture("\"no_kv_offload\"", "false", "true", "KV offload");
}

Test(import, card_wants_what_no_row_states) {
    add("b.jsonl", BB(4, 2.0, 100.0));
    card_refused((import_card_options){.chip = "c"}, E_USAGE, "--model-name", "--model-name");
    e = (err){0};
    card_refused((import_card_options){.model = "m"}, E_USAGE, "--chip", "--chip");
    e = (err){0};
    const card *c = make_card((import_card_options){.id = "x", .model = "m", .chip = "c"});
    cr_assert_str_eq(c->quant, "unstated");
    cr_assert_eq(c->engine.layout, KV_LAYOUT_UNSTATED);
}

#define PPS(n_kv)                                                                                  \
    "{\"pp\": 100, \"tg\": 50, \"pl\": 4, \"is_pp_shared\": 1, \"n_kv\": " #n_kv                   \
    ", \"t_pp\": 0.5, \"t_tg\": 2}\n"

Test(import, card_has_one_layout) {
    import_card_options o = {.id = "x", .model = "m", .chip = "c"};
    add("u.jsonl", PPS(300));
    cr_assert_eq(make_card(o)->engine.layout, KV_LAYOUT_UNIFIED);
    o.layout = KV_LAYOUT_SPLIT;
    card_refused(o, E_REFUSED, "u.jsonl:1", "--kv-layout says split");
    e = (err){0};
    o.layout = KV_LAYOUT_UNSTATED;
    add("s.jsonl", PPS(600));
    card_refused(o, E_REFUSED, "s.jsonl:1", "on u.jsonl:1 of unified KV");
}

Test(import, card_without_usable_rows) {
    add("a.jsonl", "{\"n_prompt\": 100, \"n_gen\": 20, \"samples_ns\": [2000000000]}\n");
    card_refused((import_card_options){.model = "m", .chip = "c"}, E_REFUSED, "a.jsonl", "-pg");
}

Test(import, order_of_files_does_not_matter) {
    import_card_options o = {.source = "s"};
    add("b.jsonl", BB(4, 2.0, 100.0));
    add("a.jsonl", TG PP);
    const card *one = make_card(o);
    in = import_new(mem, &e);
    add("a.jsonl", TG PP);
    add("b.jsonl", BB(4, 2.0, 100.0));
    const card *two = make_card(o);
    cr_assert_eq(one->prefill_n + one->decode_n, two->prefill_n + two->decode_n);
    for (size_t i = 0; i < one->prefill_n; i++)
        cr_assert_str_eq(one->prefill[i].origin.source, two->prefill[i].origin.source);
    for (size_t i = 0; i < one->decode_n; i++)
        cr_assert_str_eq(one->decode[i].origin.source, two->decode[i].origin.source);
}

/* ---- ratecast.import/1 ---- */

Test(import, json_leaves_out_what_is_not_stated) {
    buf out;
    buf_init(&out);
    add("a.jsonl", "noise\n{\"n_prompt\": 128, \"n_gen\": 0, \"samples_ns\": [500000000]}\n");
    import_json(&in, &out);
    jr_doc doc;
    cr_assert_eq(jr_parse(&doc, "out", out.s, out.len, mem, &e), OK);
    jr root = jr_root(&doc), row = {0}, warning = {0};
    cr_assert_str_eq(jr_str(root, "schema"), "ratecast.import/1");
    cr_assert_str_eq(jr_str(root, "format"), "llama_bench_jsonl");
    cr_assert(jr_each(jr_get(root, "rows"), &row));
    cr_assert_eq(jr_int(row, "line", 0, 9), 2);
    cr_assert_str_eq(jr_str(row, "phase"), "prefill");
    near(jr_num(row, "tok_s", 0, 1e9), 256);
    cr_assert(jr_bool_or(row, "used", false));
    cr_assert(cJSON_IsNull(jr_get(row, "refused").node));
    cr_assert_not(jr_present(jr_get(row, "tok_s_std")));
    cr_assert_not(jr_present(jr_get(row, "n_batch")));
    cr_assert(jr_each(jr_get(root, "warnings"), &warning));
    cr_assert_eq(jr_int(warning, "line", 0, 9), 1);
    cr_assert_eq(jr_len(jr_get(root, "errors")) + jr_len(jr_get(root, "requests")), 0);
    jr_free(&doc);
    buf_done(&out);
}

/* ---- raw outputs of real runs ---- */

static const char *shared_path(const char *path) {
    const char *root = getenv("RATECAST_SHARED");
    if (!root || !*root) root = RATECAST_REPO "/../shared";
    const char *full = arena_printf(mem, "%s/%s", root, path);
    if (access(full, R_OK) == 0) return full;
    fprintf(stderr, "SKIPPED: no %s (set RATECAST_SHARED)\n", full); /* Criterion skips silently */
    cr_skip_test("no %s", full);
    return NULL;
}

static void add_shared(const char *path) {
    file_bytes f = {0};
    cr_assert_eq(file_read(shared_path(path), mem, &f, &e), OK, "%s", e.what);
    cr_assert_eq(import_add(&in, &f, NULL), OK, "%s", e.what);
}

static void equal_points(const card *a, const card *b) {
    cr_assert_eq(a->prefill_n, b->prefill_n);
    cr_assert_eq(a->decode_n, b->decode_n);
    for (size_t i = 0; i < a->prefill_n; i++) {
        const prefill_point *x = &a->prefill[i], *y = &b->prefill[i];
        cr_assert_str_eq(x->origin.source, y->origin.source);
        cr_assert(x->n_prompt_tok == y->n_prompt_tok && x->depth_tok == y->depth_tok &&
                      x->batch_n == y->batch_n && x->n_ubatch == y->n_ubatch && x->s == y->s &&
                      x->origin.shared_prompt == y->origin.shared_prompt &&
                      x->origin.samples_n == y->origin.samples_n,
                  "prefill %zu, %s", i, x->origin.source);
        for (size_t k = 0; k < x->origin.samples_n; k++)
            cr_assert_eq(x->origin.samples_s[k], y->origin.samples_s[k]);
    }
    for (size_t i = 0; i < a->decode_n; i++) {
        const decode_point *x = &a->decode[i], *y = &b->decode[i];
        cr_assert_str_eq(x->origin.source, y->origin.source);
        cr_assert(x->batch_n == y->batch_n && x->context_tok == y->context_tok &&
                      x->step_s == y->step_s &&
                      x->origin.shared_prompt == y->origin.shared_prompt &&
                      x->origin.samples_n == y->origin.samples_n,
                  "decode %zu, %s", i, x->origin.source);
        for (size_t k = 0; k < x->origin.samples_n; k++)
            cr_assert_eq(x->origin.samples_s[k], y->origin.samples_s[k]);
    }
}

/* The shipped cards were made from the same files by a script that shares nothing with this code.
 */
Test(import, shared_raw_files_give_the_points_of_the_shipped_cards) {
    static const struct {
        const char *id, *files;
        kv_layout layout;
    } CARDS[] = {
        {"qwen2-7b-like-q8_0-h200-split",
         "7b_lb_pp 7b_lb_pp_depth 7b_lb_tg_depth 7b_lb_pp_ub2048 7b_bb 7b_bb_8192 7b_bb_pps",
         KV_LAYOUT_SPLIT},
        {"qwen2-7b-like-q8_0-h200-unified",
         "7b_lb_pp 7b_lb_pp_depth 7b_lb_tg_depth 7b_lb_pp_ub2048 7b_bb_kvu 7b_bb_pps_kvu",
         KV_LAYOUT_UNIFIED},
        {"qwen2-1.5b-like-q8_0-h200-split", "15b_lb_pp 15b_lb_pp_depth 15b_lb_tg_depth 15b_bb",
         KV_LAYOUT_SPLIT},
        {"qwen2-1.5b-like-q8_0-h200-unified",
         "15b_lb_pp 15b_lb_pp_depth 15b_lb_tg_depth 15b_bb_pps_kvu", KV_LAYOUT_UNIFIED},
        {"qwen2-60m-like-q8_0-cpu-t1",
         "cpu60m_t1_lb_pp cpu60m_t1_lb_pp_depth cpu60m_t1_lb_tg_depth cpu60m_t1_bb",
         KV_LAYOUT_SPLIT},
        {"qwen2-60m-like-q8_0-cpu-t2",
         "cpu60m_t2_lb_pp cpu60m_t2_lb_pp_depth cpu60m_t2_lb_tg_depth cpu60m_t2_bb",
         KV_LAYOUT_SPLIT},
    };
    for (size_t i = 0; i < sizeof CARDS / sizeof *CARDS; i++) {
        in = import_new(mem, &e);
        char *names = arena_strdup(mem, CARDS[i].files), *rest = NULL;
        for (char *n = strtok_r(names, " ", &rest); n; n = strtok_r(NULL, " ", &rest))
            add_shared(arena_printf(mem, "witness/llamacpp/raw/%s.jsonl", n));
        cr_assert_eq(in.errors.n, 0);
        const card *made = make_card((import_card_options){.layout = CARDS[i].layout}),
                   *want = NULL;
        card_library lib = {.dirs = {RATECAST_REPO "/rates"}, .n = 1};
        cr_assert_eq(card_find(&lib, CARDS[i].id, NULL, mem, &want, &e), OK, "%s", e.what);
        equal_points(made, want);
        cr_assert_eq(made->engine.n_ubatch, want->engine.n_ubatch);
        cr_assert_eq(made->host_threads_n, want->host_threads_n);
    }
}

Test(import, shared_raw_files_of_two_layouts_are_no_card) {
    add_shared("witness/llamacpp/raw/7b_bb_pps.jsonl");
    add_shared("witness/llamacpp/raw/7b_bb_pps_kvu.jsonl");
    buf text;
    buf_init(&text);
    import_card_options o = {.model = "m", .chip = "c"};
    cr_assert_eq(import_card_text(&in, &o, &text, &e), E_REFUSED);
    buf_done(&text);
}

/* `values` of a corpus entry, key by key, against the row with the same index. */
static void check_value(jr want, const import_row *r) {
    double v;
    if (jr_present(jr_get(want, "n_prompt")))
        cr_assert_eq(r->n_prompt, jr_int(want, "n_prompt", 0, 1000000));
    if (jr_present(jr_get(want, "n_gen")))
        cr_assert_eq(r->n_gen, jr_int(want, "n_gen", 0, 1000000));
    if (jr_present(jr_get(want, "n_depth")))
        cr_assert_eq(r->depth_tok, jr_int(want, "n_depth", 0, 1000000));
    if (jr_present(jr_get(want, "samples")))
        cr_assert_eq((int64_t)r->samples_n, jr_int(want, "samples", 0, 1000));
    if ((v = jr_num_or(want, "avg_ts", 0, 1e9, 0)) > 0) near(r->tok_s, v);
    if ((v = jr_num_or(want, "inner_avg_ts", 0, 1e9, 0)) > 0) near(r->tok_s, v);
    if ((v = jr_num_or(want, "stddev_ts", 0, 1e9, 0)) > 0) near(r->tok_s_std, v);
}

static void check_cell(jr want, const import_row *p, const import_row *d) {
    cr_assert_eq(p->phase, IMPORT_PREFILL);
    cr_assert_eq(d->phase, IMPORT_DECODE);
    cr_assert_eq(d->n_prompt, jr_int(want, "pp", 0, 1000000));
    cr_assert_eq(d->n_gen, jr_int(want, "tg", 0, 1000000));
    cr_assert_eq(d->batch_n, jr_int(want, "pl", 0, 1000000));
    near(p->tok_s, jr_num(want, "speed_pp", 0, 1e9));
    near(d->tok_s, jr_num(want, "speed_tg", 0, 1e9));
    /* a half, printed at six digits */
    cr_assert_lt(fabs(d->per_seq_tok_s - jr_num(want, "per_seq_tg", 0, 1e9)), 1e-6);
}

static void check_entry(jr entry) {
    const char *format = jr_str(entry, "format");
    bool cells = strcmp(format, "batched_bench_jsonl") == 0;
    in = import_new(mem, &e);
    add_shared(arena_printf(mem, "corpus/%s", jr_str(entry, "file")));
    cr_assert_eq(in.errors.n, 0);
    cr_assert_str_eq(in.files[0].format, format);
    jr expected = jr_get(entry, "expected");
    int64_t rows = jr_int(expected, "rows", 0, 1000);
    cr_assert_eq((int64_t)in.rows_n, cells ? 2 * rows : rows);
    for (jr want = {0}; jr_each(jr_get(expected, "values"), &want);)
        if (cells)
            check_cell(want, &in.rows[2 * want.index], &in.rows[2 * want.index + 1]);
        else
            check_value(want, &in.rows[want.index]);
}

Test(import, shared_corpus_values) {
    file_bytes f = {0};
    size_t checked = 0;
    cr_assert_eq(file_read(shared_path("corpus/INDEX.jsonl"), mem, &f, &e), OK, "%s", e.what);
    for (const char *s = f.s; *s;) {
        size_t len = strcspn(s, "\n");
        jr_doc doc;
        err line_error = {0};
        cr_assert_eq(jr_parse(&doc, "INDEX", s, len, mem, &line_error), OK, "%s", line_error.what);
        jr entry = jr_root(&doc);
        static const char *const JSON_FORMATS[] = {"llama_bench_jsonl", "llama_bench_json",
                                                   "batched_bench_jsonl"};
        for (size_t i = 0; i < sizeof JSON_FORMATS / sizeof *JSON_FORMATS; i++)
            if (strcmp(jr_str(entry, "format"), JSON_FORMATS[i]) == 0) {
                check_entry(entry);
                checked++;
            }
        jr_free(&doc);
        s += len + (s[len] == '\n');
    }
    cr_assert_geq(checked, 4);
}
