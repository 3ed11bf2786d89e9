/* Shapes against what is printed about the real models. */
#include "shapes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const model_shape *shape(const char *name) {
    const model_shape *s = NULL;
    err e = {0};
    cr_assert_eq(shape_find(name, &s, &e), OK, "%s", e.what);
    return s;
}

/* Parameters to the last one: model_n_params of llama-bench (7B: its README), and the safetensors'
 * own counts. */
Test(shapes, parameters) {
    static const struct {
        const char *name;
        int64_t params;
    } ROWS[] = {
        {"qwen2.5-0.5b", 494032768},  {"qwen2.5-1.5b", 1543714304}, {"qwen2.5-7b", 7615616512},
        {"qwen2.5-14b", 14770033664}, {"qwen2.5-32b", 32763876352}, {"llama3-8b", 8030261248},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        cr_expect_eq(shape_params(shape(ROWS[i].name)), ROWS[i].params, "%s: %lld", ROWS[i].name,
                     (long long)shape_params(shape(ROWS[i].name)));
}

/* model_size of llama-bench to the byte. The Q4_K_M one stands in its README; the others it printed
 * for models of the same shape on the H200 that rates/ has cards of. */
Test(shapes, weight_bytes_to_the_byte) {
    static const struct {
        const char *name;
        quant q;
        int64_t bytes;
    } ROWS[] = {
        {"qwen2.5-7b", QUANT_Q4_K_M, 4677120000},
        {"qwen2.5-1.5b", QUANT_Q8_0, 1640622080},
        {"qwen2.5-7b", QUANT_Q8_0, 8092571648},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        cr_expect_eq(shape_weights_bytes(shape(ROWS[i].name), ROWS[i].q), ROWS[i].bytes,
                     "%s %s: %lld", ROWS[i].name, QUANT_NAMES[ROWS[i].q],
                     (long long)shape_weights_bytes(shape(ROWS[i].name), ROWS[i].q));
}

/* The size column of llama-bench's tables, as people posted them. */
Test(shapes, weight_bytes_as_printed) {
    const double gib = 1024.0 * 1024 * 1024, mib = 1024.0 * 1024;
    const struct {
        const char *name;
        quant q;
        double print, unit;
    } rows[] = {
        {"qwen2.5-0.5b", QUANT_Q4_K_M, 373.71, mib}, {"qwen2.5-0.5b", QUANT_Q4_0, 330.17, mib},
        {"qwen2.5-1.5b", QUANT_Q4_K_M, 934.69, mib}, {"qwen2.5-1.5b", QUANT_Q4_0, 885.97, mib},
        {"qwen2.5-7b", QUANT_Q4_K_M, 4.36, gib},     {"qwen2.5-7b", QUANT_Q4_0, 4.12, gib},
        {"qwen2.5-14b", QUANT_Q4_K_M, 8.37, gib},    {"qwen2.5-14b", QUANT_Q4_0, 7.93, gib},
        {"qwen2.5-32b", QUANT_Q4_K_M, 18.48, gib},   {"qwen2.5-32b", QUANT_Q8_0, 32.42, gib},
        {"llama3-8b", QUANT_Q4_K_M, 4.58, gib},      {"llama3-8b", QUANT_Q4_0, 4.33, gib},
        {"llama3-8b", QUANT_Q8_0, 7.95, gib},        {"llama3-8b", QUANT_F16, 14.96, gib},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double got = (double)shape_weights_bytes(shape(rows[i].name), rows[i].q) / rows[i].unit;
        cr_expect_leq(fabs(got - rows[i].print), 0.005 + 1e-9, "%s %s: %.4f, printed %.2f",
                      rows[i].name, QUANT_NAMES[rows[i].q], got, rows[i].print);
    }
}

/* By hand from the config.json: layers x KV heads x head size x (K and V) x 2 bytes. */
Test(shapes, kv_bytes_per_token) {
    cr_expect_eq(shape_kv_bytes_per_tok(shape("qwen2.5-0.5b")), 12288);
    cr_expect_eq(shape_kv_bytes_per_tok(shape("qwen2.5-7b")), 57344);
    cr_expect_eq(shape_kv_bytes_per_tok(shape("qwen2.5-32b")), 262144);
    cr_expect_eq(shape_kv_bytes_per_tok(shape("llama3-8b")), 131072);
}

static size_t count(const model_shape *s, quant q, tensor_type type) {
    size_t n = 0;
    shape_tensor t;
    for (size_t i = 0; shape_tensor_at(s, q, i, &t); i++) n += t.type == type;
    return n;
}

/* What llama-quantize leaves of these models: 7B and its 28 layers, of which 14 get more bits
 * (0-2, 5, 8, 11, 14, 17, 20, 23, 24-27): attn_v and ffn_down of each, and the output. */
Test(shapes, types_of_a_medium_k_quantisation) {
    const model_shape *s = shape("qwen2.5-7b");
    cr_expect_eq(count(s, QUANT_Q4_K_M, TENSOR_Q6_K), 2 * 14 + 1);
    cr_expect_eq(count(s, QUANT_Q4_K_M, TENSOR_Q4_K), 28 * 7 + 2 - 29);
    cr_expect_eq(count(s, QUANT_Q4_K_M, TENSOR_F32), 28 * 5 + 1);
    /* 896 is no multiple of 256, 4864 is: only ffn_down keeps K-blocks */
    s = shape("qwen2.5-0.5b");
    cr_expect_eq(count(s, QUANT_Q4_K_M, TENSOR_Q4_K) + count(s, QUANT_Q4_K_M, TENSOR_Q6_K), 24);
    cr_expect_eq(count(s, QUANT_Q4_K_M, TENSOR_Q5_0), 24 * 6 - 12);
    cr_expect_eq(count(s, QUANT_Q4_K_M, TENSOR_Q8_0), 12 + 1);
    cr_expect_eq(count(s, QUANT_Q4_0, TENSOR_Q8_0), 1, "the tied embedding");
    cr_expect_eq(count(shape("llama3-8b"), QUANT_Q4_0, TENSOR_Q6_K), 1, "the output");
    cr_expect_eq(count(shape("llama3-8b"), QUANT_F16, TENSOR_F32), 32 * 2 + 1, "no biases");
}

Test(shapes, every_name_is_found_and_every_tensor_has_its_own) {
    for (size_t i = 0; shape_at(i); i++) {
        const model_shape *s = shape(shape_at(i)->name);
        cr_assert_eq(s, shape_at(i));
        cr_expect_not_null(strstr(s->source, "config.json"));
        cr_expect_eq(s->heads % s->kv_heads, 0);
        static shape_tensor all[1024];
        size_t n = 0;
        while (shape_tensor_at(s, QUANT_Q4_0, n, &all[n])) n++;
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < a; b++) cr_assert_str_neq(all[a].name, all[b].name);
    }
}

Test(shapes, unknown_names) {
    const model_shape *s = NULL;
    quant q = QUANT_N;
    err e = {0};
    cr_expect_eq(shape_find("qwen2.5-7", &s, &e), E_USAGE);
    cr_expect_not_null(strstr(e.what, "\"qwen2.5-7b\""), "%s", e.what);
    e = (err){0};
    cr_expect_eq(shape_find("gpt", &s, &e), E_USAGE);
    cr_expect_not_null(strstr(e.what, "llama3-8b"), "%s", e.what);
    e = (err){0};
    cr_expect_eq(quant_find("q5_1", &q, &e), E_USAGE);
    cr_expect_not_null(strstr(e.what, "q4_k_m"), "%s", e.what);
    e = (err){0};
    cr_expect_eq(quant_find("Q4_K_M", &q, &e), OK);
    cr_expect_eq(q, QUANT_Q4_K_M);
}
