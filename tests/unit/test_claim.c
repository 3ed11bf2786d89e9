/* Claims: what the loader takes, what it refuses and with which place, and what the words of a
 * figure say. */
#include "audit_support.h"

#define HEAD "{\"schema\": \"ratecast.claim/1\", \"id\": \"c\", \"title\": \"t\""

static const char *with_figures(const char *figures, const char *more) {
    return arena_printf(support_arena(), HEAD ", \"figures\": [%s]%s}", figures, more);
}

#define WALL                                                                                       \
    "{\"name\": \"w\", \"value\": 8.2, \"unit\": \"min\", \"digits_as_printed\": \"8.2 min\"}"

/* ---- refused, with the place ---- */

static const struct refusal {
    const char *figures, *more; /* behind the figures */
    const char *where, *what;
} REFUSED[] = {
    {WALL, ", \"figurs\": []", "#/figurs", "figures"},
    {"{\"name\": \"w\", \"value\": 1, \"unti\": \"s\"}", "", "#/figures/0/unti", "unit"},
    {"{\"name\": \"w\", \"value\": \"1\", \"unit\": \"s\"}", "", "#/figures/0/value", "number"},
    {"{\"name\": \"w\", \"unit\": \"s\"}", "", "#/figures/0/value", ""},
    {"{\"name\": \"w\", \"value\": null, \"unit\": \"s\"}", "", "#/figures/0/value", ""},
    {"{\"name\": 7, \"value\": 1, \"unit\": \"s\"}", "", "#/figures/0/name", "string"},
    {"{\"name\": \"w\", \"value\": 1, \"unit\": 5}", "", "#/figures/0/unit", "string"},
    {WALL ", " WALL, "", "#/figures/1/name", "found \"w\" twice"},
    {"{\"name\": \"w\", \"value\": 64, \"unit\": \"M\"}", "", "#/figures/0/unit",
     "found \"M\", expected a unit that says what is counted"},
    {"{\"name\": \"w\", \"value\": 1, \"unit\": \"s\", \"metric\": \"tfft\"}", "",
     "#/figures/0/metric", "ttft"},
    {"{\"name\": \"w\", \"value\": 1, \"unit\": \"tokens\", \"metric\": \"wall_clock\"}", "",
     "#/figures/0/unit", "found \"tokens\", expected a unit of wall_clock"},
    {"{\"name\": \"w\", \"value\": -1, \"unit\": \"tok/s\"}", "", "#/figures/0/value",
     "found -1, expected 0 or more"},
    {"{\"name\": \"w\", \"value\": 1, \"unit\": \"s\", \"origin\": \"guessed\"}", "",
     "#/figures/0/origin", "printed"},
    {"{\"name\": \"w\", \"value\": 1, \"unit\": \"s\", \"percentile\": 101}", "",
     "#/figures/0/percentile", "100"},
    {"{\"name\": \"w\", \"value\": 1, \"unit\": \"s\", \"agents_n\": 1.5}", "",
     "#/figures/0/agents_n", "whole"},
    {WALL,
     ", \"ratios\": [{\"name\": \"r\", \"printed\": \"2x\", \"numerator_figure\": \"w\", "
     "\"denominator_figure\": \"v\"}]",
     "#/ratios/0/denominator_figure", "found \"v\", expected the name of a figure"},
    {WALL,
     ", \"ratios\": [{\"name\": \"r\", \"printed\": \"twice\", \"numerator_figure\": \"w\", "
     "\"denominator_figure\": \"w\"}]",
     "#/ratios/0/printed", "found \"twice\", expected a printed number"},
    {WALL, ", \"rates\": [{\"value\": 5, \"phase\": \"decode\", \"role\": \"guessed\"}]",
     "#/rates/0/role", "stated"},
    {WALL,
     ", \"rates\": [{\"value\": 5, \"unit\": \"s\", \"phase\": \"decode\", \"role\": "
     "\"used\"}]",
     "#/rates/0/value", "tokens per second"},
    {WALL, ", \"rates\": [{\"value\": 0, \"phase\": \"decode\", \"role\": \"used\"}]",
     "#/rates/0/value", "tokens per second > 0"},
    {WALL, ", \"terms\": [{\"kind\": \"delta\", \"value\": 5, \"unit\": \"tokens\"}]",
     "#/terms/0/value", "seconds"},
    {WALL, ", \"terms\": [{\"kind\": \"magic\", \"value\": 5}]", "#/terms/0/kind", "delta"},
    {WALL, ", \"revisions\": [{\"before\": 5, \"after\": 4, \"unit\": \"GB\"}]",
     "#/revisions/0/unit", "unit of time"},
    {WALL,
     ", \"formulas\": [{\"name\": \"f\", \"gives\": \"w\", \"parts\": [{\"figure\": "
     "\"v\"}]}]",
     "#/formulas/0/parts/0/figure", "found \"v\""},
    {WALL, ", \"formulas\": [{\"name\": \"f\", \"gives\": \"w\"}]", "#/formulas/0/parts", ""},
    {WALL, ", \"arms\": [{\"name\": \"a\", \"prefix_reuse\": \"all\"}]", "#/arms/0/prefix_reuse",
     "shared"},
    {WALL, ", \"arms\": {\"name\": \"a\"}", "#/arms", "array"},
    {WALL, ", \"hardware\": {\"chip\": \"c\", \"cores\": 8}", "#/hardware/cores", ""},
    {WALL, ", \"hardware\": {\"chip\": \"c\", \"devices_n\": 0}", "#/hardware/devices_n", "1"},
    {WALL, ", \"model\": {\"layers\": \"many\"}", "#/model/layers", "number"},
    {WALL, ", \"statements\": [7]", "#/statements/0", "string"},
};

Test(claim, refused_with_the_place) {
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        const struct refusal *r = &REFUSED[i];
        const char *text = with_figures(r->figures, r->more);
        const claim *c = NULL;
        err e;
        cr_expect_neq(support_claim_parse(text, 0, &c, &e), OK, "%s", text);
        cr_expect_null(c);
        const char *end = strstr(e.where, r->where);
        cr_expect(end && strcmp(end, r->where) == 0, "%s: at %s, expected %s", text, e.where,
                  r->where);
        cr_expect_not_null(strstr(e.what, r->what), "%s: \"%s\" lacks \"%s\"", text, e.what,
                           r->what);
    }
}

static void refuses(const char *text, const char *what) {
    const claim *c = NULL;
    err e;
    cr_expect_neq(support_claim_parse(text, 0, &c, &e), OK, "%.200s", text);
    cr_expect_not_null(strstr(e.what, what), "\"%s\" lacks \"%s\"", e.what, what);
}

Test(claim, refused_as_a_whole) {
    refuses("{\"schema\": \"ratecast.claim/2\", \"id\": \"c\", \"title\": \"t\", \"figures\": []}",
            "ratecast.claim/1");
    refuses("{\"schema\": \"ratecast.claim/1\", \"title\": \"t\", \"figures\": []}", "");
    refuses("{\"schema\": \"ratecast.claim/1\", \"id\": \"c\", \"title\": \"t\"}", "");
    refuses("{\"id\": \"c\"}", "expected a claim");
    refuses("{\"id\": \"c\", \"figures\": []}", "expected a claim");
    refuses("[]", "");
    refuses("{\"schema\": \"ratecast.claim/1\"", "");
}

/* A list that is longer than its limit, and a text that is longer than its own. */
Test(claim, limits) {
    buf b;
    buf_init(&b);
    for (int i = 0; i < 512; i++)
        buf_addf(&b, "%s{\"name\": \"f%d\", \"value\": 1, \"unit\": \"s\"}", i ? "," : "", i);
    cr_expect_eq(support_claim(with_figures(b.s, ""))->figures_n, 512);
    buf_add(&b, ",{\"name\": \"last\", \"value\": 1, \"unit\": \"s\"}");
    refuses(with_figures(b.s, ""), "found 513 items, expected at most 512");
    buf_reset(&b);
    for (int i = 0; i < 65; i++) buf_addf(&b, "%s{\"name\": \"a%d\"}", i ? "," : "", i);
    refuses(with_figures(WALL, arena_printf(support_arena(), ", \"arms\": [%s]", b.s)),
            "found 65 items, expected at most 64");
    buf_reset(&b);
    for (int i = 0; i < 4001; i++) buf_add(&b, "x");
    refuses(with_figures(WALL, arena_printf(support_arena(), ", \"kind\": \"%s\"", b.s)),
            "found a text of 4001 bytes, expected at most 4000");
    b.s[4000] = '\0';
    cr_expect_not_null(support_claim(
        with_figures(WALL, arena_printf(support_arena(), ", \"kind\": \"%s\"", b.s))));
    buf_done(&b);
}

/* ---- taken ---- */

Test(claim, members_that_are_null_are_absent) {
    const claim *c = support_claim(
        HEAD
        ", \"kind\": null, \"hardware\": {\"chip\": null, \"mem_bw_GBps\": null}, \"model\": "
        "{\"name\": \"m\", \"params\": null, \"layers\": null}, \"ratios\": null, \"figures\": "
        "[{\"name\": \"w\", \"value\": 2, \"unit\": \"s\", \"arm\": null, \"conditions\": "
        "null, \"agents_n\": null, \"digits_as_printed\": null}]}");
    cr_expect_null(c->kind);
    cr_expect_eq(c->chips_n, 0);
    cr_expect_eq(c->model.params, 0);
    cr_expect_eq(c->model.shape.layers, NOT_STATED);
    cr_expect_eq(c->ratios_n, 0);
    cr_expect_eq(c->figures_n, 1);
    cr_expect_null(c->figures[0].arm);
    cr_expect_null(c->figures[0].conditions);
    cr_expect_eq(c->figures[0].streams_n, NOT_STATED);
}

/* A figure in base units; an explicit metric and explicit numbers go before the words. */
Test(claim, a_figure) {
    const claim *c = support_claim(with_figures(
        WALL ", {\"name\": \"ttft p95\", \"value\": 250, \"unit\": \"ms\", \"metric\": \"itl\", "
             "\"conditions\": \"8 users, 4,096 tokens\", \"agents_n\": 3, \"context_tok\": 100, "
             "\"percentile\": 99.9, \"origin\": \"external\"}",
        ""));
    const claim_figure *w = &c->figures[0], *t = &c->figures[1];
    cr_expect_float_eq(w->q.v, 492, 1e-9);
    cr_expect_float_eq(w->q.lo, 489, 1e-9);
    cr_expect_float_eq(w->q.hi, 495, 1e-9);
    cr_expect_eq(w->origin, ORIGIN_PRINTED);
    cr_expect_eq(t->metric, METRIC_ITL);
    cr_expect_eq(t->streams_n, 3);
    cr_expect_eq(t->context_tok, 100);
    cr_expect_eq(t->percentile_ppm, 999000);
    cr_expect_eq(t->origin, ORIGIN_EXTERNAL);
    cr_expect_float_eq(t->q.v, 0.25, 1e-12);
}

Test(claim, an_unknown_unit_is_kept_and_not_computed_with) {
    const claim *c =
        support_claim(with_figures("{\"name\": \"x\", \"value\": 5, \"unit\": \"furlongs\"}", ""));
    cr_expect_eq(c->figures[0].q.u->dim, DIM_OTHER);
    cr_expect_str_eq(c->figures[0].q.u->name, "furlongs");
    cr_expect_eq(c->figures[0].metric, METRIC_OTHER);
}

/* 5 agents x 200 turns x 20 tokens; P = 2,048. */
Test(claim, a_workload_is_a_session_when_all_of_it_is_known) {
    static const char FULL[] =
        ", \"workload\": {\"K\": 5, \"H\": 200, \"P\": 2048, \"turn_delta_in_tok\": 12, "
        "\"turn_out_tok\": 20%s}";
    const claim *c = support_claim(with_figures(
        WALL, arena_printf(support_arena(), FULL, ", \"turn_shape\": \"result_after\"")));
    cr_expect(c->has_workload);
    cr_expect(c->work.K == 5 && c->work.H == 200 && c->work.P == 2048);
    cr_expect(c->work.turn_delta_in_tok == 12 && c->work.turn_out_tok == 20);
    cr_expect_eq(c->work.shape, SHAPE_RESULT_AFTER);
    cr_expect(
        !support_claim(with_figures(WALL, arena_printf(support_arena(), FULL, "")))->has_workload,
        "without a turn shape");
    cr_expect(!support_claim(with_figures(WALL, arena_printf(support_arena(), FULL,
                                                             ", \"turn_shape\": \"delta_first\", "
                                                             "\"private_tok\": [0, 5]")))
                   ->has_workload,
              "private tokens are of no closed form");
    c = support_claim(with_figures(WALL, ", \"workload\": {\"K\": [1, 4], \"name\": \"n\"}"));
    cr_expect_eq(claim_fact(c, "none K")->n, 2);
    cr_expect_eq(claim_fact(c, "K")->v[1], 4);
    cr_expect_eq(claim_number(c, "K", -7), -7, "a list is no number");
    cr_expect_str_eq(claim_fact(c, "name")->text, "n");
    cr_expect_null(claim_fact(c, "absent"));
}

/* ---- chips ---- */

Test(claim, chip_tables) {
    const claim *c = support_claim(with_figures(
        WALL, ", \"hardware\": {\"chip\": \"H100 SXM 80GB, A100 SXM 40 GiB\", \"mem_bw_GBps\": "
              "{\"H100\": 3350, \"A100\": 1555}, \"fp16_TFLOPS\": {\"A100\": 312, \"T4\": 65}, "
              "\"devices_n\": 2}"));
    cr_assert_eq(c->chips_n, 2); /* a chip without bandwidth is none */
    cr_expect_str_eq(c->chips[0].name, "H100");
    cr_expect_float_eq(c->chips[0].mem_bw_bytes_s, 3350e9, 1);
    cr_expect_eq(c->chips[0].fp16_flop_s, 0);
    cr_expect_float_eq(c->chips[0].memory_bytes, 80e9, 1);
    cr_expect_float_eq(c->chips[1].mem_bw_bytes_s, 1555e9, 1);
    cr_expect_float_eq(c->chips[1].fp16_flop_s, 312e12, 1);
    cr_expect_float_eq(c->chips[1].memory_bytes, 40.0 * 1073741824, 1);
    cr_expect_eq(c->devices_n, 2);
    cr_expect_eq(c->figures[0].gpus_n, 2);
    c = support_claim(with_figures(
        WALL, ", \"hardware\": {\"chip\": \"Apple M5 Max, 128 GB\", \"mem_bw_GBps\": 614}"));
    cr_assert_eq(c->chips_n, 1);
    cr_expect_float_eq(c->chips[0].memory_bytes, 128e9, 1);
    c = support_claim(with_figures(
        WALL, ", \"hardware\": {\"chip\": \"X\", \"memory_GB\": 24, \"memory_bytes\": 7}"));
    cr_expect_eq(c->chips[0].memory_bytes, 7);
}

/* ---- models ---- */

Test(claim, weights_from_parameters_and_a_precision) {
    static const struct {
        const char *model;
        double bytes;
        bool guessed;
    } M[] = {{"\"params\": 8e9, \"quant\": \"FP16\"", 16e9, true},
             {"\"params\": 8e9, \"quant\": \"Q8_0\"", 8.5e9, true}, /* 34 bytes for 32 weights */
             {"\"params\": 8e9, \"name\": \"m 4-bit\"", 4.5e9, true},
             {"\"params\": 8e9, \"quant\": \"FP16\", \"weight_bytes\": 15e9", 15e9, false},
             {"\"params\": 8e9", 0, false}};
    for (size_t i = 0; i < sizeof M / sizeof *M; i++) {
        const claim *c = support_claim(
            with_figures(WALL, arena_printf(support_arena(), ", \"model\": {%s}", M[i].model)));
        cr_expect_float_eq(c->model.weight_bytes, M[i].bytes, 1, "%s: %g", M[i].model,
                           c->model.weight_bytes);
        cr_expect_eq(c->model.weights_guessed, M[i].guessed, "%s", M[i].model);
    }
    /* 2 x 32 x 8 x 128 x 2 B, and on 8 of 32 layers a quarter */
    const claim *c = support_claim(
        with_figures(WALL, ", \"model\": {\"layers\": 32, \"full_attention_layers\": 8, "
                           "\"kv_heads\": 8, \"head_dim\": 128, \"kv_bytes_per_element\": 2}"));
    cr_expect_eq(claim_kv_bytes_per_tok(c, &c->model.shape, true), 131072);
    cr_expect_eq(claim_kv_bytes_per_tok(c, &c->model.shape, false), 32768);
}

/* ---- origins left out ---- */

static const claim *without(const char *text, unsigned bits) {
    const claim *c = NULL;
    err e;
    cr_assert_eq(support_claim_parse(text, bits, &c, &e), OK, "%s: %s", e.where, e.what);
    return c;
}

Test(claim, items_of_an_origin_are_left_out) {
    const char *text = with_figures(
        WALL ", {\"name\": \"r\", \"value\": 2, \"unit\": \"s\", \"origin\": \"recovered\"}, "
             "{\"name\": \"e\", \"value\": 2, \"unit\": \"s\", \"origin\": \"external\"}",
        ", \"ratios\": [{\"name\": \"wr\", \"printed\": \"2x\", \"numerator_figure\": \"w\", "
        "\"denominator_figure\": \"r\"}, {\"name\": \"we\", \"printed\": \"2x\", "
        "\"numerator_figure\": \"w\", \"denominator_figure\": \"e\"}], \"rates\": [{\"value\": 1, "
        "\"phase\": \"decode\", \"role\": \"used\", \"origin\": \"recovered\"}], \"terms\": "
        "[{\"kind\": \"delta\", \"value\": 1, \"origin\": \"recovered\"}], \"formulas\": "
        "[{\"name\": \"f\", \"gives\": \"w\", \"parts\": [{\"figure\": \"r\"}]}], \"arms\": "
        "[{\"name\": \"a\", \"origin\": \"recovered\"}], \"revisions\": [{\"before\": 2, "
        "\"after\": 1, \"removed\": [{\"kind\": \"penalty\", \"value\": 1, \"origin\": "
        "\"recovered\"}]}], \"hardware\": {\"chip\": \"c\", \"mem_bw_GBps\": 5, \"origin\": "
        "\"external\"}, \"model\": {\"params\": 5, \"weight_bytes\": 7, \"weights_origin\": "
        "\"recovered\", \"layers\": 3, \"shape_origin\": \"external\"}");
    const claim *all = without(text, 0), *no_r = without(text, ORIGIN_RECOVERED),
                *no_e = without(text, ORIGIN_EXTERNAL),
                *none = without(text, ORIGIN_RECOVERED | ORIGIN_EXTERNAL);
    cr_expect(all->figures_n == 3 && all->ratios_n == 2 && all->rates_n == 1 && all->terms_n == 1);
    cr_expect(all->formulas_n == 1 && all->arms_n == 1 && all->revisions[0].removed_n == 1);
    cr_expect(no_r->figures_n == 2 && no_r->ratios_n == 1 && no_r->rates_n == 0);
    cr_expect(no_r->terms_n == 0 && no_r->formulas_n == 0 && no_r->arms_n == 0);
    cr_expect_eq(no_r->revisions[0].removed_n, 0);
    cr_expect_str_eq(no_r->ratios[0].name, "we");
    cr_expect(all->model.weight_bytes == 7 && no_r->model.weight_bytes == 0);
    cr_expect(no_e->model.weight_bytes == 7 && no_e->model.params == 5);
    cr_expect(all->chips_n == 1 && no_r->chips_n == 1 && no_e->chips_n == 0);
    cr_expect(no_r->model.shape.layers == 3 && no_e->model.shape.layers == NOT_STATED);
    cr_expect(no_e->figures_n == 2 && no_e->formulas_n == 1 && none->figures_n == 1);
    cr_expect_eq(none->ratios_n, 0);
}

/* ---- the older shape ---- */

Test(claim, the_older_shape_passes_over_what_it_does_not_know) {
    const claim *c = support_claim(
        "{\"id\": \"o\", \"source_url\": \"u\", \"title_in_own_words\": \"at 8 users the cache "
        "exceeds the weights\", \"hardware\": {\"chip\": null, \"mem_bw_GBps\": \"not stated\", "
        "\"unknown\": 1}, \"model\": {\"name\": \"m\", \"params\": \"8B\", \"note\": \"n\"}, "
        "\"workload\": {\"requests\": 8}, \"figures\": [{\"name\": \"w\", \"value\": 2, \"unit\": "
        "\"s\", \"extra\": true}, {\"name\": \"v\", \"value\": \"n/a\", \"unit\": \"s\"}], "
        "\"ratios\": [{\"name\": \"r\", \"printed\": 2, \"numerator_figure\": \"w\", "
        "\"denominator_figure\": \"w\", \"note\": \"n\"}, {\"name\": \"s\", \"printed\": \"2x\", "
        "\"numerator_figure\": null, \"denominator_figure\": \"w\"}], \"expected\": {\"verdict\": "
        "\"sound\"}, \"anything\": []}");
    cr_expect_str_eq(c->source, "u");
    cr_expect_str_eq(c->title, "at 8 users the cache exceeds the weights");
    cr_expect_eq(c->statements_n, 1);
    cr_expect_str_eq(c->statements[0], c->title);
    cr_expect_eq(c->figures_n, 1);
    cr_expect_eq(c->ratios_n, 1);
    cr_expect_eq(c->model.params, 0);
    cr_expect(!claim_shape(NULL));
    refuses("{\"id\": \"o\", \"model\": {}, \"figures\": [{\"name\": \"m\", \"value\": 64, "
            "\"unit\": \"M\"}]}",
            "found \"M\"");
}

/* ---- ratios ---- */

Test(claim, printed_ratios) {
    static const struct {
        const char *print;
        const char *in;
        double v, lo, hi;
    } R[] = {{"1.86x", "x", 1.86, 1.855, 1.865},
             {"~1.8x", "x", 1.8, 1.75, 1.85},
             {"88.2%", "%", 0.882, 0.8815, 0.8825},
             {">19,500x", "x", 19500, 19500, (double)INFINITY},
             {"10,002.4×", "x", 10002.4, 10002.35, 10002.45},
             {"14.8", "x", 14.8, 14.75, 14.85}};
    for (size_t i = 0; i < sizeof R / sizeof *R; i++) {
        const claim *c = support_claim(with_figures(
            WALL, arena_printf(support_arena(),
                               ", \"ratios\": [{\"name\": \"r\", \"printed\": \"%s\", "
                               "\"numerator_figure\": \"w\", \"denominator_figure\": \"w\"}]",
                               R[i].print)));
        const quantity *q = &c->ratios[0].q;
        cr_expect_str_eq(q->u->name, R[i].in, "%s", R[i].print);
        cr_expect_float_eq(q->v, R[i].v, 1e-9, "%s: %g", R[i].print, q->v);
        cr_expect_float_eq(q->lo, R[i].lo, 1e-9, "%s: from %g", R[i].print, q->lo);
        cr_expect(q->hi == R[i].hi || fabs(q->hi - R[i].hi) < 1e-9, "%s: to %g", R[i].print, q->hi);
    }
}

/* ---- words ---- */

/* What is read from a figure's unit, name, arm and conditions; -1: nothing. */
static const struct words {
    const char *name, *in, *more; /* further members */
    metric metric;
    int64_t streams, context, gpus;
    uint32_t percentile_ppm;
    double bits;
    int warm; /* 1 warm, -1 cold, 0 neither */
} WORDS[] = {
    {"wall_clock", "s", "", METRIC_WALL, -1, -1, 1, 0, 0, 0},
    {"total time", "min", "", METRIC_WALL, -1, -1, 1, 0, 0, 0},
    {"ttft_p95", "ms", "", METRIC_TTFT, -1, -1, 1, 950000, 0, 0},
    {"time to first token", "ms", ", \"conditions\": \"median, warm cache\"", METRIC_TTFT, -1, -1,
     1, 500000, 0, 1},
    {"first token", "s", ", \"conditions\": \"cold, turn 1\"", METRIC_TTFT, -1, -1, 1, 0, 0, -1},
    {"tpot", "ms", "", METRIC_TPOT, -1, -1, 1, 0, 0, 0},
    {"itl", "ms", "", METRIC_ITL, -1, -1, 1, 0, 0, 0},
    {"decode", "ms/token", "", METRIC_ITL, -1, -1, 1, 0, 0, 0},
    {"queue wait", "ms", ", \"conditions\": \"p99\"", METRIC_QUEUE_TIME, -1, -1, 1, 990000, 0, 0},
    {"prompt eval", "ms", "", METRIC_PREFILL_TIME, -1, -1, 1, 0, 0, 0},
    {"generation", "ms", "", METRIC_DECODE_TIME, -1, -1, 1, 0, 0, 0},
    {"e2e latency", "s", "", METRIC_LATENCY, -1, -1, 1, 0, 0, 0},
    {"pp512", "tok/s", "", METRIC_PREFILL_RATE, -1, -1, 1, 0, 0, 0},
    {"tg128", "t/s", "", METRIC_DECODE_RATE, -1, -1, 1, 0, 0, 0},
    {"a rate", "tok/s", ", \"conditions\": \"batch 1\"", METRIC_DECODE_RATE, 1, -1, 1, 0, 0, 0},
    {"a rate", "tok/s", ", \"conditions\": \"8 users, FP16\"", METRIC_OUTPUT_RATE, 8, -1, 1, 0, 16,
     0},
    {"throughput", "tok/s", ", \"conditions\": \"5 concurrent requests\"", METRIC_OUTPUT_RATE, 5,
     -1, 1, 0, 0, 0},
    {"per user", "tok/s", ", \"conditions\": \"K = 4\"", METRIC_STREAM_RATE, 4, -1, 1, 0, 0, 0},
    {"theoretical", "tok/s", "", METRIC_CEILING_RATE, -1, -1, 1, 0, 0, 0},
    {"total throughput", "tok/s", "", METRIC_TOTAL_RATE, -1, -1, 1, 0, 0, 0},
    {"kv cache", "GiB", ", \"conditions\": \"32K, 8 sequences\"", METRIC_KV_BYTES, 8, 32768, 1, 0,
     0, 0},
    {"kv", "GB", ", \"conditions\": \"4,096 tokens\"", METRIC_KV_BYTES, -1, 4096, 1, 0, 0, 0},
    {"kv", "MB", ", \"conditions\": \"20k context\"", METRIC_KV_BYTES, -1, 20000, 1, 0, 0, 0},
    {"kv per token", "bytes/token", "", METRIC_KV_BYTES_PER_TOK, -1, -1, 1, 0, 0, 0},
    {"weights", "GB", ", \"conditions\": \"Q4_0\"", METRIC_WEIGHTS_BYTES, -1, -1, 1, 0, 4.5, 0},
    {"peak memory", "GB", "", METRIC_MEMORY_BYTES, -1, -1, 1, 0, 0, 0},
    {"saved", "GB", "", METRIC_SAVED_BYTES, -1, -1, 1, 0, 0, 0},
    {"headroom", "GB", "", METRIC_BUDGET_BYTES, -1, -1, 1, 0, 0, 0},
    {"tokens reused", "tokens", "", METRIC_REUSED_TOK, -1, -1, 1, 0, 0, 0},
    {"generated", "tokens", "", METRIC_OUTPUT_TOK, -1, -1, 1, 0, 0, 0},
    {"prompt", "tokens", "", METRIC_PROMPT_TOK, -1, -1, 1, 0, 0, 0},
    {"hit rate", "%", "", METRIC_REUSE_FRAC, -1, -1, 1, 0, 0, 0},
    {"acceptance", "fraction", "", METRIC_ACCEPTANCE, -1, -1, 1, 0, 0, 0},
    {"max agents", "agents", "", METRIC_AGENTS_MAX, -1, -1, 1, 0, 0, 0},
    {"speedup", "x", "", METRIC_SPEEDUP, -1, -1, 1, 0, 0, 0},
    {"anything", "tok/USD", "", METRIC_TOK_PER_MONEY, -1, -1, 1, 0, 0, 0},
    {"anything", "W", "", METRIC_POWER, -1, -1, 1, 0, 0, 0},
    {"anything", "s", "", METRIC_OTHER, -1, -1, 1, 0, 0, 0},
    /* devices */
    {"rate", "tok/s", ", \"arm\": \"H100 x4\", \"conditions\": \"batch 1\"", METRIC_DECODE_RATE, 1,
     -1, 4, 0, 0, 0},
    {"rate", "tok/s", ", \"arm\": \"8x H200\", \"conditions\": \"batch 1\"", METRIC_DECODE_RATE, 1,
     -1, 8, 0, 0, 0},
    {"rate", "tok/s", ", \"conditions\": \"TP=2, batch 1\"", METRIC_DECODE_RATE, 1, -1, 2, 0, 0, 0},
    {"rate", "tok/s", ", \"conditions\": \"2 GPUs, c=1\"", METRIC_DECODE_RATE, 1, -1, 2, 0, 0, 0},
    /* precisions */
    {"rate", "tok/s", ", \"conditions\": \"batch 1, INT4 AWQ\"", METRIC_DECODE_RATE, 1, -1, 1, 0, 4,
     0},
    {"rate", "tok/s", ", \"conditions\": \"batch 1, precision not stated\"", METRIC_DECODE_RATE, 1,
     -1, 1, 0, NOT_STATED, 0},
    /* letters of other words are no numbers' words */
    {"wall", "s", ", \"conditions\": \"build 4096b, v1.5, 3.5 tokens\"", METRIC_WALL, -1, -1, 1, 0,
     0, 0},
};

Test(claim, what_words_say) {
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        const struct words *w = &WORDS[i];
        const char *text =
            arena_printf(support_arena(), "{\"name\": \"%s\", \"value\": 5, \"unit\": \"%s\"%s}",
                         w->name, w->in, w->more);
        const claim_figure *f = &support_claim(with_figures(text, ""))->figures[0];
        cr_expect_str_eq(METRIC_NAMES[f->metric], METRIC_NAMES[w->metric], "%s", text);
        cr_expect_eq(f->streams_n, w->streams, "%s: %lld streams", text, (long long)f->streams_n);
        cr_expect_eq(f->context_tok, w->context, "%s: context %lld", text,
                     (long long)f->context_tok);
        cr_expect_eq(f->gpus_n, w->gpus, "%s: %lld devices", text, (long long)f->gpus_n);
        cr_expect_eq(f->percentile_ppm, w->percentile_ppm, "%s", text);
        cr_expect_eq(f->weight_bits, w->bits, "%s: %g bits", text, f->weight_bits);
        cr_expect_eq(f->warm, w->warm > 0, "%s", text);
        cr_expect_eq(f->cold, w->warm < 0, "%s", text);
    }
}

/* "128k" is 131,072 or 128,000: what the workload lists decides. */
Test(claim, thousands_of_tokens) {
    static const struct {
        const char *said, *facts;
        int64_t tok;
    } T[] = {{"128k", "", 131072},
             {"128k", ", \"workload\": {\"context_tokens\": [4096, 128000]}", 128000},
             {"20k", "", 20000},
             {"20k", ", \"workload\": {\"P\": 20480}", 20480}};
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        const char *text = arena_printf(
            support_arena(),
            "{\"name\": \"kv\", \"value\": 5, \"unit\": \"GB\", \"conditions\": \"%s\"}",
            T[i].said);
        cr_expect_eq(support_claim(with_figures(text, T[i].facts))->figures[0].context_tok,
                     T[i].tok, "%s %s", T[i].said, T[i].facts);
    }
}

Test(claim, words_stand_between_boundaries) {
    cr_expect(words_have("the KV-cache", "kv") && words_have("kv_cache", "cache"));
    cr_expect(words_have("Time To First Token", "time to first token"));
    cr_expect(words_have("ttft_p50", "ttft") && words_have("a|b", "x|b"));
    cr_expect(!words_have("cached", "cache") && !words_have("recache", "cache"));
    cr_expect(!words_have(NULL, "x") && !words_have("", "x") && !words_have("x", ""));
    cr_expect_eq(words_number_behind("seed 7, run 12", "seed"), 7);
    cr_expect_eq(words_number_behind("seed=7, run 12", "run|repeat"), 12);
    cr_expect_eq(words_number_behind("seeds", "seed"), NOT_STATED);
    cr_expect_eq(words_number_behind(NULL, "seed"), NOT_STATED);
    /* 32 weights in 34 and in 18 bytes; the first that is named counts */
    cr_expect_eq(words_precision_bits("m-Q8_0.gguf"), 34 * 8 / 32.0);
    cr_expect_eq(words_precision_bits("Q4_0 against FP16"), 18 * 8 / 32.0);
    cr_expect_eq(words_precision_bits("nothing"), 0);
    cr_expect_eq(words_precision_bits(NULL), 0);
}

/* The shipped claims load, strictly. */
Test(claim, shipped_claims) {
    static const char *const NAMES[] = {"head_to_head_4k", "head_to_head_20k", "cache_ab",
                                        "fleet_5x200"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const claim *c = NULL;
        err e = {0};
        const char *path =
            arena_printf(support_arena(), "%s/scenarios/claims/%s.json", RATECAST_REPO, NAMES[i]);
        cr_assert_eq(claim_load(path, 0, support_arena(), &c, &e), OK, "%s: %s", e.where, e.what);
        cr_expect_str_eq(c->id, NAMES[i]);
        cr_expect_eq(strlen(c->sha256), 64);
        for (size_t k = 0; k < c->figures_n; k++)
            cr_expect_neq(c->figures[k].q.u->dim, DIM_OTHER, "%s", c->figures[k].name);
    }
}
