/* The probe apart from any GPU: its statistics, its references by hand, its plan for a device, how
 * a prompt is summed. */
#include "support.h"

#include "launch.h"
#include "probe_card.h"

#include <math.h>
#include <string.h>

/* ---- statistics ---- */

static measurement summary(const double *samples, size_t n) {
    measurement m = {0};
    err e = {0};
    cr_assert_eq(measure_summarise(samples, n, support_arena(), &m, &e), OK, "%s", e.what);
    return m;
}

Test(probe, percentiles_are_nearest_rank_and_leave_the_order) {
    const double samples[] = {9, 1, 8, 2, 7, 3, 6, 4, 5, 10, 15, 11, 14, 12, 13};
    measurement m = summary(samples, 15);
    cr_assert_eq(m.p10_s, 2, "ceil(0.1 * 15) = 2nd");
    cr_assert_eq(m.median_s, 8);
    cr_assert_eq(m.p90_s, 14, "ceil(0.9 * 15) = 14th");
    cr_assert_eq(measure_spread(&m), 7);
    cr_assert_eq(samples[0], 9);
}

Test(probe, three_medians_agree_within_two_percent) {
    cr_assert(measure_agree((double[]){1.0, 1.01, 1.02}));
    cr_assert_not(measure_agree((double[]){1.0, 1.01, 1.0201}));
    cr_assert_not(measure_agree((double[]){1.1, 1.0, 1.0}), "the first one counts as well");
}

/* ---- a device with a clock of its own, given as numbers ---- */

Test(probe, a_prompt_is_summed_from_micro_batches) {
    double at_0[] = {1.0, 2.0}, at_1024[] = {3.0, 4.0}, of_100[] = {0.25, 0.5};
    const probe_part micro[] = {{.n = 512, .keys_tok = 0, .m = {.gpu_s = at_0}},
                                {.n = 512, .keys_tok = 1024, .m = {.gpu_s = at_1024}},
                                {.n = 100, .keys_tok = 1024, .m = {.gpu_s = of_100}}};
    cr_assert_eq(probe_prompt_s(micro, 3, 10, 0.5, 512, 0, 0), 10 * 1.0 + 0.5);
    /* the second micro-batch lies at depth 512, half way between 1 and 3 */
    cr_assert_eq(probe_prompt_s(micro, 3, 10, 0.5, 1024, 0, 0), 10 * (1.0 + 2.0) + 0.5);
    cr_assert_eq(probe_prompt_s(micro, 3, 10, 0.5, 1124, 0, 0), 10 * (1.0 + 2.0 + 0.25) + 0.5);
    cr_assert_eq(probe_prompt_s(micro, 3, 10, 0.5, 1124, 0, 1), 10 * (2.0 + 3.0 + 0.5) + 0.5);
    cr_assert(isnan(probe_prompt_s(micro, 3, 10, 0.5, 512, 1025, 0)), "deeper than measured");
    cr_assert(isnan(probe_prompt_s(micro, 3, 10, 0.5, 64, 0, 0)), "no such micro-batch");
}

/* ---- references ---- */

Test(probe, halves_of_known_bits) {
    cr_assert_eq(half_value(0x3C00), 1);
    cr_assert_eq(half_value(0xC000), -2);
    cr_assert_eq(half_value(0x7BFF), 65504);
    cr_assert_eq(half_value(0x0001), 0x1p-24);
    cr_assert(isinf(half_value(0xFC00)) && half_value(0xFC00) < 0);
    cr_assert(isnan(half_value(0x7E00)));
}

Test(probe, weights_of_known_bytes) {
    unsigned char q8[2 * 34] = {
        [0] = 0x00, [1] = 0x38, [2] = 0xFF, [33] = 0x7F, [35] = 0x3C, [36] = 5};
    cr_assert_eq(weight_value(WEIGHT_Q8_0, q8, 0), -0.5, "a half times -1");
    cr_assert_eq(weight_value(WEIGHT_Q8_0, q8, 31), 63.5);
    cr_assert_eq(weight_value(WEIGHT_Q8_0, q8, 32), 5, "the next block has its own scale");
    unsigned char q4[18] = {[1] = 0x3C, [2] = 0x9F, [17] = 0x01};
    cr_assert_eq(weight_value(WEIGHT_Q4_0, q4, 0), 7, "low nibble");
    cr_assert_eq(weight_value(WEIGHT_Q4_0, q4, 16), 1, "high nibble: 16 further");
    cr_assert_eq(weight_value(WEIGHT_Q4_0, q4, 15), -7);
    cr_assert_eq(weight_value(WEIGHT_Q4_0, q4, 31), -8);
    cr_assert_eq(weight_row_bytes(WEIGHT_Q8_0, 3584), 3808);
}

Test(probe, attention_by_hand) {
    enum { D = 64 };
    float q[2 * D] = {0};
    uint16_t k[2 * D] = {0}, v[2 * D] = {0};
    double out[2 * D], size[2 * D];
    const attention_args a = {2, 1, D, 2, 4, 0.5f};
    q[0] = 2;
    k[0] = 0x3C00; /* the first head prefers the first key by exp(2 * 1 * 0.5) */
    v[0] = 0x3C00;
    v[D + 1] = 0x4000;
    reference_attention(q, k, v, &a, 1, out, size);
    cr_assert_float_eq(out[0], exp(1) / (exp(1) + 1), 1e-12);
    cr_assert_float_eq(out[1], 2 / (exp(1) + 1), 1e-12);
    cr_assert_float_eq(out[D], 0.5, 1e-12, "the second head has no preference");
    cr_assert_float_eq(out[D + 1], 1, 1e-12);
}

/* Every key has a share, none but the last groups' are empty, and the buffer has room. */
Test(probe, shares_of_the_keys_fit) {
    for (int64_t sequences = 1; sequences <= 40; sequences++)
        for (int64_t keys = 1; keys < 200000; keys += 1 + keys / 7) {
            int64_t parts = attention_parts(keys, sequences);
            cr_assert_eq(parts % ATTENTION_SIMDS, 0);
            cr_assert_gt(parts, 0);
            cr_assert_leq(sequences * parts, attention_parts_most(sequences));
            cr_assert_leq(attention_parts_most(sequences), attention_parts_most(sequences + 1));
            cr_assert_lt((parts - ATTENTION_SIMDS) * SIMD_N, keys, "%lld shares of %lld keys",
                         (long long)parts, (long long)keys);
        }
    cr_assert_eq(attention_parts(1024, 1), 32, "32 keys a SIMD group of one sequence");
    cr_assert_eq(attention_parts(1024, 8), 8, "128 keys where sequences are many");
}

Test(probe, causal_mask_by_hand) {
    const float scores[6] = {0, 0, 5, 0, 0, 5};
    const softmax_args a = {.keys_n = 3, .ratio_n = 1, .depth_tok = 1, .scale = 1};
    double out[3];
    reference_softmax(scores, &a, 0, out);
    cr_assert_float_eq(out[0], 0.5, 1e-12, "token 0 sees 2 keys");
    cr_assert_eq(out[2], 0);
    reference_softmax(scores, &a, 1, out);
    cr_assert_float_eq(out[2], exp(5) / (exp(5) + 2), 1e-12, "token 1 sees all 3");
}

/* ---- plans ---- */

static const model_shape *shape(const char *name) {
    const model_shape *s = NULL;
    err e = {0};
    cr_assert_eq(shape_find(name, &s, &e), OK, "%s", e.what);
    return s;
}

static gpu_info device_of(double gib) {
    return (gpu_info){.backend = "metal",
                      .name = "d",
                      .working_set_bytes = (int64_t)(gib * 0x1p30),
                      .buffer_max_bytes = (int64_t)(gib * 0x1p29)};
}

Test(probe, plan_stays_within_the_working_set) {
    static const double GIB[] = {12, 24, 64, 140};
    for (size_t i = 0; i < 4; i++) {
        gpu_info d = device_of(GIB[i]);
        probe_plan p;
        err e = {0};
        cr_assert_eq(probe_plan_make(&d, shape("qwen2.5-7b"), QUANT_Q8_0, 0, &p, &e), OK, "%s",
                     e.what);
        cr_assert_leq((double)p.pass_bytes, 0.8 * GIB[i] * 0x1p30);
        cr_assert(probe_fits(&p, 1, 512));
        /* weights 7.5 GiB, KV of 32 x 16384 tokens 28 GiB: with all layers of the model */
        cr_assert_eq(probe_fits(&p, 32, 16384), GIB[i] > 60, "%g GiB", GIB[i]);
        cr_assert_geq((double)p.how.samples_n, 15);
    }
}

Test(probe, plan_refuses_what_does_not_fit_or_has_no_kernel) {
    gpu_info d = device_of(8);
    probe_plan p;
    err e = {0};
    cr_assert_eq(probe_plan_make(&d, shape("qwen2.5-7b"), QUANT_Q8_0, 0, &p, &e), E_LIMIT);
    e = (err){0};
    cr_assert_eq(probe_plan_make(NULL, shape("qwen2.5-7b"), QUANT_F16, 0, &p, &e), E_USAGE);
    e = (err){0};
    model_shape odd = *shape("qwen2.5-7b");
    odd.head_dim = 96;
    cr_assert_eq(probe_plan_make(NULL, &odd, QUANT_Q8_0, 0, &p, &e), E_USAGE);
}

Test(probe, every_shape_has_a_plan_without_a_device) {
    for (size_t i = 0; shape_at(i); i++)
        for (int q = 0; q < 2; q++) {
            probe_plan p;
            err e = {0};
            cr_assert_eq(probe_plan_make(NULL, shape_at(i), q ? QUANT_Q4_0 : QUANT_Q8_0, 0, &p, &e),
                         OK, "%s: %s", shape_at(i)->name, e.what);
        }
}

/* ---- cards ---- */

/* A result with one step and one prompt; p90 / p10 of the step as given. */
static probe_result *result_of(const probe_plan *p, const gpu_info *d, double spread) {
    static double samples[15];
    probe_result *r = ARENA_NEW(support_arena(), probe_result);
    for (size_t i = 0; i < 15; i++) samples[i] = i < 8 ? 0.010 : 0.010 * spread;
    r->plan = p;
    r->device = d;
    r->decode_n = r->prefill_n = 1;
    r->decode[0] = (probe_cell){.n = 1, .keys_tok = 512, .m = summary(samples, 15)};
    r->decode[0].m.gpu_s = samples;
    r->decode[0].m.samples_n = 15;
    r->prefill[0] = r->decode[0];
    r->prefill[0].n = 64;
    r->prefill[0].keys_tok = 0;
    return r;
}

static err_code card_of(double spread, bool force, bool simulated, buf *out, err *e) {
    static probe_plan p;
    static gpu_info d;
    d = device_of(64);
    d.simulated = simulated;
    cr_assert_eq(probe_plan_make(&d, shape("qwen2.5-7b"), QUANT_Q8_0, 0, &p, e), OK);
    buf_init(out);
    return probe_card_write(result_of(&p, &d, spread), "id", force, support_arena(), out, e);
}

Test(probe, a_card_needs_steady_times) {
    err e = {0};
    buf out;
    cr_assert_eq(card_of(1.09, false, false, &out, &e), OK, "%s", e.what);
    cr_assert_not_null(strstr(out.s, "\"provenance\": \"derived\""));
    cr_assert_null(strstr(out.s, "simulated_device"));
    cr_assert_not_null(strstr(out.s, "kernel probe"));
    buf_done(&out);
    cr_assert_eq(card_of(1.11, false, false, &out, &e), E_REFUSED);
    cr_assert_not_null(strstr(e.what, "p90 is 11 % above p10"));
    buf_done(&out);
    e = (err){0};
    cr_assert_eq(card_of(1.11, true, false, &out, &e), OK);
    buf_done(&out);
}

Test(probe, a_card_of_a_simulation_says_so) {
    err e = {0};
    buf out;
    cr_assert_eq(card_of(1, false, true, &out, &e), OK, "%s", e.what);
    cr_assert_not_null(strstr(out.s, "\"simulated_device\": true"));
    cr_assert_not_null(strstr(out.s, "\"provenance\": \"modeled\""));
    buf_done(&out);
}
