/* More work takes no less time: over the measured range of every shipped card a longer prompt, a
 * prompt behind more tokens, more sequences and longer contexts are never projected as shorter,
 * unless the card measured it so, and then its `show` and its audit say it. Which falls were
 * measured is found here from the points alone. */
#include "support.h"

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

/* Did some larger batch take a shorter step at a context no shorter? */
static bool decode_fell(const card *c) {
    for (size_t i = 0; i < c->decode_n; i++)
        for (size_t j = 0; j < c->decode_n; j++) {
            const decode_point *a = &c->decode[i], *b = &c->decode[j];
            if (used(&a->origin) && used(&b->origin) && b->context_tok >= a->context_tok &&
                a->batch_n < b->batch_n && b->step_s < a->step_s)
                return true;
        }
    return false;
}

/* The same of prompts, one or several decode steps among them: a step of B sequences does the work
 * of B rows, and some prompt of more rows took less time. */
static bool prefill_fell(const card *c) {
    for (size_t j = 0; j < c->prefill_n; j++) {
        const prefill_point *b = &c->prefill[j];
        if (!used(&b->origin) || b->batch_n != 1 || b->n_prompt_tok == 0) continue;
        for (size_t i = 0; i < c->prefill_n; i++) {
            const prefill_point *a = &c->prefill[i];
            if (used(&a->origin) && a->batch_n == 1 && b->depth_tok >= a->depth_tok &&
                a->n_prompt_tok > 0 && a->n_prompt_tok < b->n_prompt_tok && b->s < a->s)
                return true;
        }
        for (size_t i = 0; i < c->decode_n; i++)
            if (used(&c->decode[i].origin) && c->decode[i].batch_n < b->n_prompt_tok &&
                b->s < c->decode[i].step_s)
                return true;
    }
    return decode_fell(c);
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
    if (decodes && !decode_rises(c, &d, false)) {
        seen->decode = true;
        cr_expect(decode_fell(c), "%s: no two points show that decode falls", c->id);
        check_said(c, "decode", &a, text.s);
    }
    if (prefills && !prefill_rises(c, &p)) {
        seen->prefill = true;
        cr_expect(prefill_fell(c), "%s: no two points show that prefill falls", c->id);
        check_said(c, "prefill", &a, text.s);
    }
    buf_done(&text);
}

Test(curve_rises, every_shipped_card) {
    card_entry *list;
    size_t n = 0;
    err e = {0};
    hardware_catalogue chips;
    shown seen = {0};
    card_library lib = support_library();
    arena *mem = support_arena();
    cr_assert_eq(card_list(&lib, mem, &list, &n, &e), OK, "%s", e.what);
    cr_assert_eq(hardware_load(RATECAST_REPO "/rates/hardware.json", mem, &chips, &e), OK);
    for (size_t i = 0; i < n; i++) {
        cr_assert_not_null(list[i].c, "%s", list[i].error.what);
        check_card(list[i].c, &chips, &seen);
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

Test(curve_rises, an_assumed_micro_batch_makes_no_fall) {
    prefill_curve p = fitted(made("\"name\": \"llama.cpp\"", whole_points()));
    cr_expect_eq(p.n_ubatch, 512);
    cr_expect(p.n_ubatch_assumed);
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
