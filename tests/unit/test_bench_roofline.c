/* The roofline: its arithmetic by hand, its errors on chips that were left out, and what it
 * refuses. */
#include "hardware_support.h"

#include "base/stat.h"
#include "roofline_card.h"

#include <math.h>
#include <string.h>

static const roofline_points *points(void) {
    static roofline_points p;
    err e = {0};
    if (p.n == 0)
        cr_assert_eq(roofline_points_load(RATECAST_REPO "/bench/roofline_points.json",
                                          support_chips(), support_arena(), &p, &e),
                     OK, "%s: %s", e.where, e.what);
    return &p;
}

static roofline_fit fit_of(const roofline_family *f) {
    err e = {0};
    roofline_fit fit;
    cr_assert_eq(roofline_fit_family(f, support_arena(), &fit, &e), OK, "%s: %s", e.where, e.what);
    return fit;
}

/* By name, so that the order in the file does not matter. */
static const roofline_family *family(const char *name) {
    for (size_t i = 0; i < points()->n; i++)
        if (strcmp(points()->families[i].name, name) == 0) return &points()->families[i];
    cr_assert_fail("no family %s", name);
    return NULL;
}

static const hardware *chip(const char *name) {
    const hardware *h = hardware_find(support_chips(), name);
    cr_assert_not_null(h, "%s", name);
    return h;
}

/* Qwen2.5-7B in Q8_0: 8.5 bits a parameter. */
static const roofline_work QWEN = {.params = 7615616512,
                                   .weights_bytes = 8092571648,
                                   .layers = 28,
                                   .heads = 28,
                                   .kv_heads = 4,
                                   .head_dim = 128};

static roofline_request request(const char *name) {
    return (roofline_request){.model = "qwen2.5-7b",
                              .quant = "q8_0",
                              .sizes_source = "config.json",
                              .work = QWEN,
                              .chip = chip(name)};
}

/* ---- arithmetic ---- */

/* 1 GB at half of 100 GB/s is 20 ms, ten layers of 0.1 ms are 1 ms; 2 x 5e8 operations a row at
 * 1e12 are 1 ms, twice that for each further row up to the 16th, 4 ms at an efficiency of 1/4. */
Test(roofline, a_pass_by_hand) {
    const roofline_work w = {500000000, 1000000000, 10, 2, 64, 8};
    const roofline_rates r = {.eta = 0.5,
                              .layer_s = 1e-4,
                              .kv_eta = 0.25,
                              .mfu = 0.25,
                              .row_cost = 2,
                              .attention_mfu = 0.5,
                              .bw_bytes_s = 1e11,
                              .flop_s = 1e12,
                              .fp16_flop_s = 1e12};
    cr_assert_float_eq(roofline_pass_s(&r, &w, 1), 0.021, 1e-12);
    cr_assert_float_eq(roofline_pass_s(&r, &w, 5), 0.021 + 4 * 0.002, 1e-12);
    cr_assert_float_eq(roofline_pass_s(&r, &w, 16), 0.064, 1e-12, "4 ms a row is more than 51 ms");
    cr_assert_float_eq(roofline_pass_s(&r, &w, 512), 2.048, 1e-12);
    /* 2 x 10 layers x 2 heads x 64 x 2 bytes = 5120 bytes a token, read at 25 GB/s */
    cr_assert_float_eq(roofline_kv_bytes_per_tok(&w), 5120, 1e-9);
    cr_assert_float_eq(roofline_decode_s(&r, &w, 5, 1000) - 0.029, 5 * 1000 * 5120 / 2.5e10, 1e-12);
    /* 4 x 10 layers x 512 wide x pairs at 5e11 a second; 600 tokens are passes of 512 and 88 */
    double pairs = 600.0 * 4000 + 600.0 * 601 / 2;
    cr_assert_float_eq(roofline_prefill_s(&r, &w, 600, 4000),
                       2.048 + 88 * 0.004 + 4.0 * 10 * 512 * pairs / 5e11, 1e-9);
    /* no arithmetic: weights and layers, whatever the rows */
    roofline_rates dark = {.eta = 0.5, .layer_s = 1e-4, .bw_bytes_s = 1e11};
    cr_assert_float_eq(roofline_pass_s(&dark, &w, 9), 0.021, 1e-12);
}

/* Least squares of relative errors leave residuals at right angles to every term in use; here with
 * the decode terms of Apple, from the numbers of the file alone. */
Test(roofline, residuals_are_at_right_angles_to_the_terms) {
    const roofline_family *f = family("apple");
    roofline_fit fit = fit_of(f);
    double by_bandwidth = 0, by_layers = 0, sum = 0;
    for (size_t i = 0; i < f->n; i++) {
        const roofline_point *p = &f->points[i];
        if (p->slopes) continue;
        roofline_rates r = roofline_rates_of(&fit, p->chip, roofline_weight_bits(&p->work), 0);
        double x = (double)p->work.weights_bytes / p->chip->mem_bw_bytes_s, s = p->decode_s;
        double off = roofline_decode_s(&r, &p->work, 1, (double)p->context_tok) / s - 1;
        by_bandwidth += off * x / s;
        by_layers += off * 32 / s;
        sum += 32 / s;
    }
    cr_assert_float_eq(by_bandwidth, 0, 1e-9);
    cr_assert_float_eq(by_layers / sum, 0, 1e-12);
}

/* ---- chips left out ---- */

static roofline_left_out *left_out(const roofline_fit *fit, size_t *n) {
    err e = {0};
    roofline_left_out *rows = NULL;
    cr_assert_eq(roofline_leave_out(fit, support_arena(), &rows, n, &e), OK, "%s", e.what);
    return rows;
}

/* The acceptance of the fit: 28 chips of llama.cpp discussion 4167, each predicted from the other
 * 27; errors are counted here again. */
Test(roofline, apple_chips_that_were_left_out) {
    size_t n = 0, decode_n = 0, prefill_n = 0;
    roofline_fit fit = fit_of(family("apple"));
    const roofline_left_out *rows = left_out(&fit, &n);
    double decode[128], prefill[128];
    cr_assert_eq(n, 79);
    for (size_t i = 0; i < n; i++) {
        const roofline_point *p = rows[i].point;
        cr_assert_not_null(strstr(p->source, "discussions/4167"));
        decode[decode_n++] = fabs(rows[i].decode_s / p->decode_s - 1);
        prefill[prefill_n++] = fabs(rows[i].prefill_s / p->prefill_s - 1);
    }
    double decode_median = stat_median_f64(decode, n), prefill_median = stat_median_f64(prefill, n);
    cr_assert_leq(decode_median, 0.05, "%g", decode_median);
    cr_assert_leq(decode[n - 1], 0.25, "%g", decode[n - 1]);
    cr_assert_leq(prefill_median, 0.10, "%g", prefill_median);
    cr_assert_leq(prefill[n - 1], 0.25, "%g", prefill[n - 1]);
    cr_assert_float_eq(fit.decode_error.median_frac, decode_median, 1e-12);
    cr_assert_float_eq(fit.decode_error.worst_frac, decode[n - 1], 1e-12);
    cr_assert_float_eq(fit.prefill_error.median_frac, prefill_median, 1e-12);
    /* the terms of classes earn their place on chips that they have not seen */
    cr_assert_lt(fit.decode_error.mean_frac, fit.decode_plain_error.mean_frac);
    cr_assert_lt(fit.prefill_error.mean_frac, fit.prefill_plain_error.mean_frac);
}

/* A chip's own points move the prediction of every other chip and never its own. */
Test(roofline, left_out_means_left_out) {
    roofline_family f = *family("apple");
    roofline_fit fit = fit_of(&f);
    const hardware *own = chip("Apple M3 Max (40-core GPU)");
    roofline_point *copy = ARENA_ARRAY(support_arena(), roofline_point, f.n);
    memcpy(copy, f.points, f.n * sizeof *copy);
    for (size_t i = 0; i < f.n; i++)
        if (copy[i].chip == own) copy[i].decode_s *= 2;
    size_t n = 0, m = 0;
    const roofline_left_out *before = left_out(&fit, &n);
    f.points = copy;
    const roofline_left_out *after = left_out(&fit, &m);
    cr_assert_eq(n, m);
    for (size_t i = 0; i < n; i++)
        if (before[i].point->chip == own)
            cr_assert_eq(before[i].decode_s, after[i].decode_s);
        else
            cr_assert_neq(before[i].decode_s, after[i].decode_s);
}

/* The H200 gives no point to the efficiencies: its witnessed card is a test of them. */
Test(roofline, an_h200_against_its_witnessed_card) {
    err e = {0};
    const card *c = NULL;
    cr_assert_eq(
        card_find(support_cards(), "qwen2-7b-like-q8_0-h200-split", NULL, support_arena(), &c, &e),
        OK, "%s", e.what);
    roofline_fit fit = fit_of(family("nvidia"));
    roofline_work w = QWEN;
    w.weights_bytes = c->weights_bytes;
    roofline_rates r = roofline_rates_of(&fit, chip("NVIDIA H200 SXM"), 8, 0);
    size_t single = 0;
    for (size_t i = 0; i < c->decode_n; i++) {
        const decode_point *p = &c->decode[i];
        double off = roofline_decode_s(&r, &w, p->batch_n, (double)p->context_tok) / p->step_s - 1;
        if (p->origin.shared_prompt || p->origin.excluded) continue;
        single += p->batch_n == 1;
        cr_assert_leq(fabs(off), p->batch_n == 1 ? 0.20 : 0.60, "B = %lld at %lld: %+.0f %%",
                      (long long)p->batch_n, (long long)p->context_tok, 100 * off);
    }
    cr_assert_geq(single, 10);
}

/* ---- what must hold of any answer ---- */

Test(roofline, more_bandwidth_never_slower_more_weights_never_faster) {
    static const char *const NAMES[] = {"Apple M4 Pro (20-core GPU)",
                                        "Apple M2 Ultra (76-core GPU)", "NVIDIA RTX 4090",
                                        "NVIDIA H200 SXM"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const hardware *h = chip(NAMES[i]);
        roofline_fit fit = fit_of(roofline_family_of(points(), h));
        roofline_rates r = roofline_rates_of(&fit, h, 8, 0), wide = r;
        for (int64_t b = 1; b <= 64; b *= 2)
            for (int64_t tok = 16; tok <= 16384; tok *= 4) {
                double decode = roofline_decode_s(&r, &QWEN, b, (double)tok);
                double prefill = roofline_prefill_s(&r, &QWEN, tok, 0);
                wide.bw_bytes_s = r.bw_bytes_s * (1 + (double)b / 8);
                roofline_work heavy = QWEN;
                heavy.weights_bytes += heavy.weights_bytes / 10 * b;
                cr_assert_leq(roofline_decode_s(&wide, &QWEN, b, (double)tok), decode);
                cr_assert_leq(roofline_prefill_s(&wide, &QWEN, tok, 0), prefill);
                cr_assert_geq(roofline_decode_s(&r, &heavy, b, (double)tok), decode);
                cr_assert_geq(roofline_prefill_s(&r, &heavy, tok, 0), prefill);
                cr_assert_geq(roofline_decode_s(&r, &QWEN, b + 1, (double)tok), decode);
                /* never above a ceiling */
                double bytes = (double)QWEN.weights_bytes +
                               (double)(b * tok) * roofline_kv_bytes_per_tok(&QWEN);
                cr_assert_leq(bytes / decode, r.bw_bytes_s);
                cr_assert_leq(2 * (double)QWEN.params * (double)tok / prefill, r.flop_s);
            }
    }
}

static err_code ask(const roofline_request *q, roofline_answer *a, err *e) {
    *e = (err){0};
    return roofline_ask(points(), q, support_arena(), a, e);
}

Test(roofline, refusals) {
    err e;
    roofline_answer a;
    roofline_request q = request("AMD Instinct MI300X");
    cr_assert_eq(ask(&q, &a, &e), E_REFUSED);
    cr_assert_not_null(strstr(e.what, "do not carry over; --efficiency"), "%s", e.what);
    q.efficiency = 0.5;
    cr_assert_eq(ask(&q, &a, &e), OK, "%s", e.what);
    cr_assert_eq(a.prov, PROV_ASSUMED);
    hardware dark = *chip("Apple M4 Pro (20-core GPU)");
    dark.mem_bw_bytes_s = 0;
    q = request("Apple M4 Pro (20-core GPU)");
    q.chip = &dark;
    cr_assert_eq(ask(&q, &a, &e), E_REFUSED);
    cr_assert_not_null(strstr(e.what, "no memory bandwidth"), "%s", e.what);
    q = request("NVIDIA RTX 4090");
    q.work.weights_bytes = (int64_t)25 << 30;
    cr_assert_eq(ask(&q, &a, &e), E_REFUSED);
    cr_assert_not_null(strstr(e.what, "its largest memory is 24 GiB"), "%s", e.what);
}

/* The M5's matrix units have no published rate, and no NVIDIA was measured with 16-bit weights. */
Test(roofline, no_prefill_without_arithmetic) {
    err e;
    roofline_answer a;
    roofline_request q = request("Apple M5 Max (40-core GPU)");
    cr_assert_eq(ask(&q, &a, &e), OK, "%s", e.what);
    cr_assert_eq(a.rates.mfu, 0);
    q.peak_flop_s = 6e13;
    cr_assert_eq(ask(&q, &a, &e), OK, "%s", e.what);
    cr_assert_gt(a.rates.mfu, 0);
    cr_assert_eq(a.prov, PROV_ASSUMED, "a peak that nobody published is an assumption");
    q = request("NVIDIA RTX 4090");
    q.work.weights_bytes = 2 * q.work.params;
    cr_assert_eq(ask(&q, &a, &e), OK, "%s", e.what);
    cr_assert_eq(a.rates.mfu, 0);
}

/* ---- the card ---- */

Test(roofline, the_card_loads_and_every_point_is_roofline) {
    err e;
    roofline_answer a;
    roofline_request q = request("Apple M4 Pro (20-core GPU)");
    cr_assert_eq(ask(&q, &a, &e), OK, "%s", e.what);
    buf text;
    buf_init(&text);
    cr_assert_eq(roofline_card_write(&q, &a, support_arena(), &text, &e), OK, "%s", e.what);
    file_bytes f = {.name = "<card>", .s = text.s, .len = text.len};
    const card *c = NULL;
    cr_assert_eq(card_parse(support_cards(), &f, support_arena(), &c, &e), OK, "%s: %s", e.where,
                 e.what);
    cr_assert_str_eq(c->id, "qwen2.5-7b-q8_0-apple-m4-pro-20-core-gpu-roofline");
    cr_assert_str_eq(c->method, "roofline");
    cr_assert_eq(c->prov, PROV_ROOFLINE);
    cr_assert_geq(c->decode_n, 20);
    cr_assert_geq(c->prefill_n, 20);
    for (size_t i = 0; i < c->decode_n; i++) {
        const decode_point *p = &c->decode[i];
        cr_assert_eq(p->origin.prov, PROV_ROOFLINE);
        cr_assert_float_eq(p->step_s,
                           roofline_decode_s(&a.rates, &QWEN, p->batch_n, (double)p->context_tok),
                           1e-12);
    }
    for (size_t i = 0; i < c->prefill_n; i++)
        cr_assert_eq(c->prefill[i].origin.prov, PROV_ROOFLINE);
    buf_done(&text);
}
