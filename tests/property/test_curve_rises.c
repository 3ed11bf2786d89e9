/* More work takes no less time: over the measured range of every shipped card a longer prompt, a
 * prompt behind more tokens, more sequences and longer contexts are never projected as shorter,
 * unless the card measured it so, and then its `show` and its audit say it. Which falls were
 * measured is found here from the points alone. */
#include "hardware_support.h"

#include "audit/audit.h"
#include "report_card.h"

#include <math.h>
#include <string.h>

static const double ROUNDING = 1e-9;

typedef struct shown {
    bool decode, prefill;
} shown;

static bool used(const point_origin *o) {
    return !o->excluded;
}

/* A step of so many rows, as it was measured: decode of that many sequences, or prompts whose
 * largest step has that many rows. */
typedef struct measured {
    double s;
    int64_t tok; /* context or depth */
} measured;

static size_t measured_at(const card *c, double rows, bool decode, measured *out) {
    size_t n = 0;
    for (size_t i = 0; decode && i < c->decode_n; i++) {
        const decode_point *p = &c->decode[i];
        if (used(&p->origin) && (double)p->batch_n == rows)
            out[n++] = (measured){p->step_s, p->context_tok};
    }
    for (size_t i = 0; !decode && i < c->prefill_n; i++) {
        const prefill_point *p = &c->prefill[i];
        int64_t ub = p->n_ubatch ? p->n_ubatch : prefill_ubatch(c);
        if (used(&p->origin) && p->batch_n == 1 &&
            fmin((double)p->n_prompt_tok, (double)ub) == rows)
            out[n++] = (measured){p->s, p->depth_tok};
    }
    return n;
}

/* Did more rows take less time somewhere, behind no fewer tokens? Between a decode step and a
 * prompt the tokens are not compared: both are there to be seen. */
static bool fell(const card *c, double few, bool few_decode, double many, bool many_decode) {
    size_t room = c->decode_n + c->prefill_n + 1;
    measured *x = ARENA_ARRAY(support_arena(), measured, room),
             *y = ARENA_ARRAY(support_arena(), measured, room);
    size_t n = measured_at(c, few, few_decode, x), m = measured_at(c, many, many_decode, y);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            if (y[j].s < x[i].s && (few_decode != many_decode || y[j].tok >= x[i].tok)) return true;
    return false;
}

static void check_decode_knots(const card *c, const decode_curve *d) {
    for (size_t i = 1; i < d->n; i++)
        if (d->a_s[i] < d->a_s[i - 1])
            cr_expect(fell(c, d->batch_n[i - 1], true, d->batch_n[i], true),
                      "%s: no two points show that %.0f sequences are faster than %.0f", c->id,
                      d->batch_n[i], d->batch_n[i - 1]);
}

static void check_prefill_knots(const card *c, const prefill_curve *p) {
    for (size_t i = 1; i < p->n; i++)
        if (p->T_s[i] < p->T_s[i - 1])
            cr_expect(
                fell(c, p->rows_n[i - 1], i - 1 < p->anchors_n, p->rows_n[i], i < p->anchors_n),
                "%s: no two points show that %.0f rows are faster than %.0f", c->id, p->rows_n[i],
                p->rows_n[i - 1]);
}

static bool prefill_rises_at(const prefill_curve *p, int64_t depth_tok) {
    double before = 0;
    for (int64_t n = p->rows_min_tok; n + depth_tok <= p->context_max_tok; n++) {
        double s = prefill_curve_s(p, n, depth_tok);
        if (s < before * (1 - ROUNDING)) return false;
        before = s;
    }
    return true;
}

static bool prefill_rises(const card *c, const prefill_curve *p) {
    for (size_t i = 0; i < c->prefill_n; i++)
        if (!prefill_rises_at(p, c->prefill[i].depth_tok)) return false;
    return true;
}

/* No card may have it otherwise: attention costs no less behind more tokens. */
static bool depth_rises(const prefill_curve *p) {
    for (int64_t n = p->rows_min_tok; n <= p->context_max_tok; n *= 2)
        for (int64_t d = 0; n + d < p->context_max_tok; d += 64)
            if (prefill_curve_s(p, n, d + 64) < prefill_curve_s(p, n, d) * (1 - ROUNDING))
                return false;
    return true;
}

static double decode_s(const card *c, const decode_curve *d, int64_t batch_n, int64_t context_tok) {
    return decode_curve_point_s(d, c,
                                &(decode_point){.batch_n = batch_n, .context_tok = context_tok});
}

static bool decode_rises(const card *c, const decode_curve *d, bool over_context) {
    int64_t most = (int64_t)d->batch_n[d->n - 1], step = d->context_max_tok / 8 + 1;
    for (int64_t b = (int64_t)d->batch_n[0]; b < most; b++)
        for (int64_t x = d->context_min_tok; x < d->context_max_tok; x += step) {
            double more = over_context ? decode_s(c, d, b, x + step) : decode_s(c, d, b + 1, x);
            if (more < decode_s(c, d, b, x) * (1 - ROUNDING)) return false;
        }
    return true;
}

static const finding *said(const audit *a, const char *check) {
    for (size_t i = 0; i < a->findings_n; i++)
        if (strcmp(a->findings[i].check, check) == 0) return &a->findings[i];
    return NULL;
}

static void check_said(const card *c, const char *phase, const audit *a, const char *text) {
    const char *line = arena_printf(support_arena(), "- %s falls: ", phase);
    const char *check = arena_printf(support_arena(), "%s-curve", phase);
    cr_expect_not_null(strstr(text, line), "%s: show does not say \"%s\"", c->id, line);
    cr_expect_not_null(said(a, check), "%s: the audit has no finding %s", c->id, check);
}

static void check_card(const card *c, const hardware_catalogue *chips, shown *seen) {
    err e = {0}, no_decode = {0}, no_prefill = {0};
    decode_curve d;
    prefill_curve p;
    audit a;
    buf text;
    arena *mem = support_arena();
    bool decodes = decode_curve_fit(c, -1, mem, &d, &no_decode) == OK;
    bool prefills = prefill_curve_fit(c, decodes ? &d : NULL, -1, mem, &p, &no_prefill) == OK;
    buf_init(&text);
    report_card_text(c, mem, &text);
    cr_assert_eq(audit_card(c, chips, mem, &a, &e), OK, "%s", e.what);
    if (decodes) cr_expect(decode_rises(c, &d, true), "%s: a longer context is shorter", c->id);
    if (prefills) cr_expect(depth_rises(&p), "%s: a deeper prompt is shorter", c->id);
    if (decodes) check_decode_knots(c, &d);
    if (prefills) check_prefill_knots(c, &p);
    if (decodes && !decode_rises(c, &d, false)) {
        seen->decode = true;
        check_said(c, "decode", &a, text.s);
    }
    if (prefills && !prefill_rises(c, &p)) {
        seen->prefill = true;
        check_said(c, "prefill", &a, text.s);
    }
    buf_done(&text);
}

Test(curve_rises, every_shipped_card) {
    card_entry *list;
    size_t n = 0;
    err e = {0};
    shown seen = {0};
    card_library lib = support_library();
    arena *mem = support_arena();
    cr_assert_eq(card_list(&lib, mem, &list, &n, &e), OK, "%s", e.what);
    for (size_t i = 0; i < n; i++) {
        cr_assert_not_null(list[i].c, "%s", list[i].error.what);
        check_card(list[i].c, support_chips(), &seen);
    }
    /* an H200 changes its kernels at 16 sequences: without such cards half of this says nothing */
    cr_expect(seen.decode && seen.prefill, "no shipped card has a measured fall any more");
}

/* ---- made cards ---- */

static const card *made(const char *engine, const char *prefill) {
    const char *text = arena_printf(
        support_arena(),
        "{\"schema\": \"ratecast.rate-card/1\", \"id\": \"made\", \"title\": \"t\", \"method\": "
        "\"engine\", \"provenance\": \"witnessed\", \"source\": \"s\", \"model\": \"m\", "
        "\"quant\": \"Q8_0\", \"engine\": {%s}, \"hardware\": {\"chip\": \"c\"}, \"prefill\": "
        "[%s], \"decode\": []}",
        engine, prefill);
    file_bytes f = {.name = "<card>", .s = text, .len = strlen(text)};
    err e = {0};
    const card *c = NULL;
    cr_assert_eq(card_parse(support_cards(), &f, support_arena(), &c, &e), OK, "%s", e.what);
    return c;
}

static const char *point(int64_t n, double s) {
    return arena_printf(support_arena(), "{\"n_prompt_tok\": %lld, \"s\": %.17g}", (long long)n, s);
}

/* One pass of 0.2 s and 1 ms a token, attention of 500 ns a pair: no micro-batch in it. */
static double whole_s(int64_t n) {
    return 0.2 + 1e-3 * (double)n + 500e-9 * (double)n * (double)n / 2;
}

static const char *whole_points(void) {
    return arena_printf(support_arena(), "%s, %s, %s, %s", point(256, whole_s(256)),
                        point(2048, whole_s(2048)), point(4352, whole_s(4352)),
                        point(8448, whole_s(8448)));
}

static prefill_curve fitted(const card *c) {
    err e = {0};
    prefill_curve p;
    cr_assert_eq(prefill_curve_fit(c, NULL, -1, support_arena(), &p, &e), OK, "%s", e.what);
    return p;
}

Test(curve_rises, an_engine_without_micro_batches_has_none_made_up) {
    prefill_curve p = fitted(made("\"name\": \"other\"", whole_points()));
    cr_expect_eq(p.n_ubatch, PREFILL_WHOLE);
    cr_expect_not(p.n_ubatch_assumed);
    for (int64_t n = 256; n <= 8448; n += 64)
        cr_expect_float_eq(prefill_curve_s(&p, n, 0), whole_s(n), 1e-6, "%lld tokens",
                           (long long)n);
    cr_expect_float_eq(p.k1_s, 500e-9, 1e-12);
}

/* The rates of an engine without micro-batches, fitted with one of 512: least squares alone gives a
 * step of 512 rows less time than one of 256, and no prompt shows it. */
Test(curve_rises, an_assumed_micro_batch_makes_no_fall) {
    const char *points = arena_printf(
        support_arena(), "%s, %s, %s, %s, %s", point(256, 256 / 676.0), point(2048, 2048 / 751.0),
        point(4352, 4352 / 475.0), point(6400, 6400 / 338.0), point(8448, 8448 / 266.0));
    curve_fall worst = {0};
    prefill_curve p = fitted(made("\"name\": \"llama.cpp\"", points));
    cr_expect_eq(p.n_ubatch, 512);
    cr_expect(p.n_ubatch_assumed);
    cr_expect_eq(prefill_curve_falls(&p, &worst), 0);
    cr_expect(prefill_rises_at(&p, 0));
}

Test(curve_rises, a_stated_micro_batch_is_taken_of_any_engine) {
    prefill_curve p = fitted(made("\"name\": \"other\", \"n_ubatch\": 128", whole_points()));
    cr_expect_eq(p.n_ubatch, 128);
    cr_expect_not(p.n_ubatch_assumed);
}

Test(curve_rises, a_measured_fall_stays) {
    const char *points = arena_printf(support_arena(), "%s, %s, %s, %s", point(64, 1.0),
                                      point(128, 0.8), point(512, 2.0), point(1024, 4.1));
    prefill_curve p = fitted(made("\"name\": \"llama.cpp\", \"n_ubatch\": 512", points));
    curve_fall worst = {0};
    cr_expect_lt(prefill_curve_s(&p, 128, 0), prefill_curve_s(&p, 64, 0));
    cr_expect_eq(prefill_curve_falls(&p, &worst), 1);
    cr_expect_float_eq(worst.few_n, 64, 0);
    cr_expect_float_eq(worst.many_n, 128, 0);
}

Test(curve_rises, two_lengths_tell_no_attention_of_whole_prompts) {
    err e = {0};
    prefill_curve p;
    const char *two = arena_printf(support_arena(), "%s, %s", point(1024, whole_s(1024)),
                                   point(4096, whole_s(4096)));
    cr_expect_eq(
        prefill_curve_fit(made("\"name\": \"other\"", two), NULL, -1, support_arena(), &p, &e),
        E_REFUSED);
    cr_expect_not_null(strstr(e.what, "other"), "%s", e.what);
    e = (err){0};
    cr_expect_eq(
        prefill_curve_fit(made("\"name\": \"other\"", two), NULL, 500e-9, support_arena(), &p, &e),
        OK, "%s", e.what);
    cr_expect_float_eq(prefill_curve_s(&p, 2048, 0), whole_s(2048), 1e-6, "declared attention");
}
