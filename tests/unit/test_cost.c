/* Step times from cards, by independent arithmetic on the cards' own figures. */
#include "support.h"

#include <math.h>

static const card *shipped(const char *id) {
    err e = {0};
    card_library lib = support_library();
    const card *c = NULL;
    cr_assert_eq(card_find(&lib, id, NULL, support_arena(), &c, &e), OK, "%s: %s", e.where, e.what);
    return c;
}

static const card *from_text(const char *json) {
    err e = {0};
    card_library lib = support_library();
    file_bytes f = {.name = "<test>", .s = json, .len = strlen(json)};
    const card *c = NULL;
    cr_assert_eq(card_parse(&lib, &f, support_arena(), &c, &e), OK, "%s: %s", e.where, e.what);
    return c;
}

#define CARD(points)                                                                               \
    "{\"schema\":\"ratecast.rate-card/"                                                            \
    "1\",\"id\":\"t\",\"title\":\"t\",\"method\":\"engine\",\"provenance\":\"witnessed\","         \
    "\"source\":\"t\",\"model\":\"m\",\"quant\":\"q\",\"engine\":{\"name\":\"e\",\"n_ubatch\":"    \
    "512},\"hardware\":{\"chip\":\"c\"}," points "}"

/* BR-31 of the public problem reports: A(8) = 149, A(10) = 101 tok/s aggregate. Step time is
 * interpolated (53.7 and 99.0 ms, so K = 9 runs at 118 tok/s); interpolating the rate would say
 * 125. The fall stays. */
Test(cost, step_time_is_interpolated_not_the_rate) {
    const card *c = from_text(CARD(
        "\"prefill\":[],\"decode\":[{\"batch_n\":8,\"tok_s\":149},{\"batch_n\":10,\"tok_s\":101},"
        "{\"batch_n\":32,\"tok_s\":160}]"));
    decode_curve d;
    err e = {0};
    cr_assert_eq(decode_curve_fit(c, 0, support_arena(), &d, &e), OK, "%s", e.what);
    double nine = decode_curve_at(&d, 9).a_s;
    cr_expect_float_eq(nine, (8 / 149.0 + 10 / 101.0) / 2, 1e-12);
    cr_expect_float_eq(9 / nine, 118, 0.5);
    cr_expect_not(decode_curve_at(&d, 9).extrapolated);
    cr_expect(decode_curve_at(&d, 64).extrapolated);
    cr_expect_geq(decode_curve_at(&d, 64).a_s, 32 / 160.0);
    cr_expect_lt(9 / nine, 8 / decode_curve_at(&d, 8).a_s,
                 "the measured fall in aggregate rate stays");
}

/* A step time that falls with the batch is real and stays, and is not continued beyond the last
 * point. */
Test(cost, falling_step_times_stay_and_are_not_continued) {
    const card *c = from_text(CARD("\"prefill\":[],\"decode\":[{\"batch_n\":4,\"step_s\":0.030},{"
                                   "\"batch_n\":8,\"step_s\":0.020}]"));
    decode_curve d;
    err e = {0};
    cr_assert_eq(decode_curve_fit(c, 0, support_arena(), &d, &e), OK);
    cr_expect_float_eq(decode_curve_at(&d, 6).a_s, 0.025, 1e-12);
    cr_expect_float_eq(decode_curve_at(&d, 16).a_s, 0.020, 1e-12);
}

/* BR-36: 83.43, 70.36, 61.65 tok/s at depths 0, 16384, 32768; depth 24,576 is 65.7 by step time,
 * never 83.43. */
Test(cost, decode_slows_with_context) {
    const card *c = from_text(
        CARD("\"prefill\":[],\"decode\":[{\"batch_n\":1,\"context_tok\":0,\"tok_s\":83.43},"
             "{\"batch_n\":1,\"context_tok\":16384,\"tok_s\":70.36},{\"batch_n\":1,\"context_tok\":"
             "32768,\"tok_s\":61.65}]"));
    decode_curve d;
    err e = {0};
    cr_assert_eq(decode_curve_fit(c, -1, support_arena(), &d, &e), OK);
    decode_step s = decode_curve_at(&d, 1);
    cr_expect_float_eq(1 / (s.a_s + s.own_s * 24576), 65.7, 0.3);
}

/* The M3 Pro 7B card: one B has three contexts, the others borrow its slope; each measured cell
 * comes back. */
Test(cost, the_7b_card_returns_its_own_cells) {
    const card *c = shipped("qwen2.5-7b-instruct-q8_0-m3pro");
    decode_curve d;
    prefill_curve p;
    err e = {0};
    cr_assert_eq(decode_curve_fit(c, -1, support_arena(), &d, &e), OK);
    cr_assert_eq(prefill_curve_fit(c, &d, -1, support_arena(), &p, &e), OK, "%s", e.what);
    static const struct {
        int64_t batch_n;
        double context, tok_s;
    } CELLS[] = {
        {1, 2048, 17.41}, {2, 2048, 33.92}, {5, 2048, 47.2}, {5, 5120, 44.4}, {5, 8192, 41.9}};
    for (size_t i = 0; i < sizeof CELLS / sizeof *CELLS; i++) {
        decode_step s = decode_curve_at(&d, CELLS[i].batch_n);
        double b = (double)CELLS[i].batch_n;
        cr_expect_float_eq(b / (s.a_s + s.own_s * b * CELLS[i].context), CELLS[i].tok_s, 0.05);
    }
    cr_expect_float_eq(2048 / prefill_curve_s(&p, 2048, 0), 392.0, 0.3);
    cr_expect_float_eq(5120 / prefill_curve_s(&p, 5120, 0), 369.42, 0.3);
    cr_expect_float_eq(8192 / prefill_curve_s(&p, 8192, 0), 348.95, 0.3);
}

/* Facts 1 and 2 of the witnessed H200 runs: a(B) in ms, and 12 new tokens cost 7.4 to 8.4 ms, seven
 * times what the rate at 512 tokens implies. Independent fits of the same raw outputs; 2 % and 8 %
 * are their stated errors. */
Test(cost, h200_step_times) {
    const card *c = shipped("qwen2-7b-like-q8_0-h200-split");
    decode_curve d;
    prefill_curve p;
    err e = {0};
    cr_assert_eq(decode_curve_fit(c, -1, support_arena(), &d, &e), OK);
    cr_assert_eq(prefill_curve_fit(c, &d, -1, support_arena(), &p, &e), OK);
    static const double A_MS[][2] = {{1, 4.03}, {2, 4.35}, {3, 4.57},  {4, 5.02},  {5, 5.26},
                                     {6, 6.16}, {8, 7.14}, {12, 7.44}, {16, 7.64}, {32, 9.46}};
    for (size_t i = 0; i < sizeof A_MS / sizeof *A_MS; i++)
        cr_expect_float_eq(decode_curve_at(&d, (int64_t)A_MS[i][0]).a_s * 1e3, A_MS[i][1],
                           A_MS[i][1] * 0.02, "B = %.0f", A_MS[i][0]);
    double delta_ms = prefill_curve_s(&p, 12, 4096) * 1e3;
    cr_expect(delta_ms > 7.4 && delta_ms < 8.4, "12 tokens at 4,096: %.2f ms", delta_ms);
    for (int64_t n = 16; n <= 512; n *= 2)
        for (int64_t depth = 1024; depth <= 16384; depth *= 4) {
            double ms = 6.5 + 0.071 * (double)n + (double)depth * (0.06e-3 + 1.95e-6 * (double)n);
            cr_expect_float_eq(prefill_curve_s(&p, n, depth) * 1e3, ms, ms * 0.08, "n %lld d %lld",
                               (long long)n, (long long)depth);
        }
}

/* No prefill is faster than one pass over the weights, whatever its length. */
Test(cost, a_delta_never_beats_the_weight_floor) {
    const card *c = shipped("qwen2.5-7b-instruct-q8_0-m3pro");
    decode_curve d;
    prefill_curve p;
    err e = {0};
    cr_assert_eq(decode_curve_fit(c, -1, support_arena(), &d, &e), OK);
    cr_assert_eq(prefill_curve_fit(c, &d, -1, support_arena(), &p, &e), OK);
    double floor_s = d.a_s[0];
    for (int64_t n = 1; n < 600; n++) cr_expect_geq(prefill_curve_s(&p, n, 0), floor_s);
    cr_expect_gt(floor_s, 7.54 * 1073741824 / 150e9, "measured floor above the bandwidth floor");
    cr_expect_gt(prefill_curve_s(&p, 12, 2048), 12 / 392.0,
                 "12 tokens cost more than the long-prompt rate says");
}

/* n d + n^2 / 2 does not care how a prompt is cut: a prompt in two pieces at micro-batch borders
 * costs the same. */
Test(cost, prefill_splits_at_micro_batches) {
    const card *c = shipped("qwen2-7b-like-q8_0-h200-split");
    decode_curve d;
    prefill_curve p;
    err e = {0};
    cr_assert_eq(decode_curve_fit(c, -1, support_arena(), &d, &e), OK);
    cr_assert_eq(prefill_curve_fit(c, &d, -1, support_arena(), &p, &e), OK);
    double whole = prefill_curve_s(&p, 4096 + 300, 1000);
    double parts = prefill_curve_s(&p, 2048, 1000) + prefill_curve_s(&p, 2048 + 300, 3048);
    cr_expect_float_eq(whole, parts, whole * 1e-12);
}

/* Cells of others are scanned under unified KV only, whatever layout the card was measured with; an
 * arm that states none has the card's. */
Test(cost, foreign_cells_are_of_unified_kv) {
    static const char *const CARDS[] = {"qwen2-7b-like-q8_0-h200-unified",
                                        "qwen2-7b-like-q8_0-h200-split"},
                             *const LAYOUT[] = {"", ",\"kv_layout\":\"unified\"",
                                                ",\"kv_layout\":\"split\""};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) {
            decode_curve d;
            err e = {0};
            cr_assert_eq(decode_curve_fit(shipped(CARDS[i]), -1, support_arena(), &d, &e), OK);
            cr_assert(i == 0 ? d.foreign_s > 0 : d.foreign_s == 0);
            char text[600];
            snprintf(text, sizeof text,
                     "{\"schema\":\"ratecast.scenario/1\",\"id\":\"t\",\"title\":\"t\",\"card\":"
                     "\"%s\",\"workload\":{\"K\":4,\"H\":2,\"P\":100,\"turn_delta_in_tok\":10,"
                     "\"turn_out_tok\":5,\"turn_shape\":\"delta_first\"},\"arms\":[{\"name\":\"a\","
                     "\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\"%s}]}",
                     CARDS[i], LAYOUT[j]);
            const cost *c = support_project_text(text)->arms[0].cost;
            double own_ns = d.own_s * 1e9, foreign_ns = j == 2 ? 0 : d.foreign_s * 1e9;
            for (int64_t b = 1; b <= 4; b++)
                cr_expect_float_eq(cost_decode(c, b).per_context_ns,
                                   own_ns + foreign_ns * (double)(b - 1), 1e-9, "%s%s, %lld",
                                   CARDS[i], LAYOUT[j], (long long)b);
        }
}

/* A run of steps in closed form is the sum of its steps. */
Test(cost, decode_run_is_the_sum_of_its_steps) {
    decode_price p = {.batch_n = 5, .fixed_ns = 5274123, .per_context_ns = 19.94};
    double sum = 0;
    for (int64_t i = 0, S = 12345; i < 300; i++, S += 5)
        sum += (double)p.fixed_ns + p.per_context_ns * (double)S;
    cr_expect_float_eq((double)cost_decode_run_ns(&p, 12345, 300), sum, 1);
    p.per_context_ns = 0;
    cr_expect_eq(cost_decode_run_ns(&p, 12345, 300), 300 * p.fixed_ns,
                 "without attention: exact multiples");
    cr_expect_eq(cost_decode_run_ns(&p, 1, INT64_MAX / 2), TIME_MAX_NS,
                 "saturates, never overflows");
}

/* What a card cannot say is refused with the measurement that would help. */
Test(cost, unknown_terms_are_refused) {
    decode_curve d;
    prefill_curve p;
    err e = {0};
    cr_expect_eq(
        decode_curve_fit(shipped("smollm2-135m-m3pro-fak-cpu"), -1, support_arena(), &d, &e),
        E_REFUSED);
    cr_expect(strstr(e.what, "llama-batched-bench"), "%s", e.what);
    e = (err){0};
    cr_expect_eq(
        decode_curve_fit(shipped("qwen3.8-27b-q4_k_m-m3pro-fak"), -1, support_arena(), &d, &e),
        E_REFUSED);
    cr_expect(strstr(e.what, "states its context"), "%s", e.what);
    e = (err){0};
    cr_expect_eq(prefill_curve_fit(shipped("qwen3.8-27b-q4_k_m-m3pro-fak"), NULL, -1,
                                   support_arena(), &p, &e),
                 E_REFUSED);
    cr_expect(strstr(e.what, "llama-bench"), "%s", e.what);
    e = (err){0};
    const card *one =
        from_text(CARD("\"prefill\":[{\"n_prompt_tok\":512,\"tok_s\":500}],\"decode\":[]"));
    cr_expect_eq(prefill_curve_fit(one, NULL, -1, support_arena(), &p, &e), E_REFUSED);
    cr_expect(strstr(e.what, "attention"), "%s", e.what);
}

/* One kernel of llama.cpp's samples: (first, slow, fast) spread over 20 %: the fastest; else the
 * median. */
Test(cost, cold_samples_do_not_price) {
    const card *c = from_text(CARD(
        "\"decode\":[],\"prefill\":[{\"n_prompt_tok\":512,\"samples_s\":[0.0538,0.0438,0.0428]},"
        "{\"n_prompt_tok\":1024,\"samples_s\":[0.0874,0.0875,0.0870]}]"));
    cr_expect_float_eq(c->prefill[0].s, 0.0428, 1e-12);
    cr_expect_float_eq(c->prefill[1].s, 0.0874, 1e-12);
}
