/* The ceilings of the contrast, from their rule: a token of a sequence takes a pass over the
 * weights, 17,106,775,008 bytes at 150 GB/s, and what waits for another takes its time too. */
#include "support.h"

#include "contrast.h"

#include <stdio.h>

static const double PASS_S = 17106775008 / 150e9;

/* The contrast of head_to_head_4k, changed, or of any other file. */
static const char *contrast_of(const char *file, const char *sets, const score_run *seen) {
    static const char *const ROOTS[] = {RATECAST_REPO};
    arena *mem = support_arena();
    spec_places where = {.roots = ROOTS, .n = 1, .lib = support_cards()};
    const char *text =
        arena_printf(mem,
                     "{\"schema\": \"ratecast.report/1\", \"id\": \"t\", \"title\": \"t\", "
                     "\"runs\": [{\"name\": \"h\", \"file\": \"%s\", \"set\": [%s]}]}",
                     file, sets);
    file_bytes f = {.name = "t.json", .s = text, .len = strlen(text)};
    const spec *parsed;
    err e = {0};
    buf out;
    cr_assert_eq(spec_parse(&f, &where, mem, &parsed, &e), OK, "%s: %s", e.where, e.what);
    spec s = *parsed;
    if (seen) {
        s.witness[0] = (spec_witness){.name = "m", .score = {.runs = seen, .n = 1}};
        s.witness_n = 1;
    }
    buf_init(&out);
    contrast_put(&s, &s.base.runs[0], mem, &out);
    const char *kept = arena_strdup(mem, out.s);
    buf_done(&out);
    return kept;
}

static const char *changed(const char *sets) {
    return contrast_of("scenarios/head_to_head_4k.json", sets, NULL);
}

/* Cell `column` (0: the figure) of the row that says `row_name`; "" when there is none. */
static const char *cell(const char *text, const char *row_name, int column) {
    arena *mem = support_arena();
    const char *row = strstr(text, arena_printf(mem, "\n| %s ", row_name));
    if (!row) return "";
    const char *at = row + 2;
    for (int i = 0; i < column; i++) at = strchr(at, '|') + 1;
    at += strspn(at, " ");
    size_t n = strcspn(at, "|");
    while (n > 0 && at[n - 1] == ' ') n--;
    return arena_printf(mem, "%.*s", (int)n, at);
}
enum { WITNESSED = 1, MODELED, ROOFLINE, VERIFY };

static void expect_cell(const char *text, const char *row_name, int column, const char *want) {
    const char *got = cell(text, row_name, column);
    cr_expect_str_eq(got, want, "%s, column %d: \"%s\", expected \"%s\"", row_name, column, got,
                     want);
}

static const char *at_most(double tok_s) {
    return arena_printf(support_arena(), "≤ %.2f tok/s", tok_s);
}

/* Seconds of three digits and more have one decimal, others two. */
static const char *at_least(double s) {
    return arena_printf(support_arena(), s >= 100 ? "≥ %.1f s" : "≥ %.2f s", s);
}

/* K = 4, H = 20, 64 tokens out: 20 x 64 passes one after another, 4 sequences in each. */
Test(contrast, agents_together) {
    const char *text = changed("");
    expect_cell(text, "fak-native: decode of 1 sequence", ROOFLINE, at_most(1 / PASS_S));
    expect_cell(text, "fak-native: decode of 4 sequences", ROOFLINE, at_most(4 / PASS_S));
    expect_cell(text, "fak-native: wall-clock", ROOFLINE, at_least(20 * 64 * PASS_S));
    expect_cell(text, "fak-native: effective output", ROOFLINE, at_most(4 / PASS_S));
    expect_cell(text, "llama.cpp: wall-clock", ROOFLINE, at_least(20 * 64 * PASS_S));
    expect_cell(text, "llama.cpp: TTFT warm p50", ROOFLINE, "≥ 114.0 ms");
    expect_cell(text, "llama.cpp: TTFT cold p50", ROOFLINE, "≥ 114.0 ms");
    expect_cell(text, "llama.cpp: prefill, mean over the session", ROOFLINE, "–");
}

/* One at a time: every token of every agent is a pass. */
Test(contrast, agents_one_by_one) {
    static const char *const SETS[] = {"\"arms.0.batching=serial\"",
                                       "\"workload.client_order=one_after_another\""};
    for (size_t i = 0; i < 2; i++) {
        const char *text = changed(SETS[i]);
        expect_cell(text, "fak-native: wall-clock", ROOFLINE, at_least(4 * 20 * 64 * PASS_S));
        expect_cell(text, "fak-native: effective output", ROOFLINE, at_most(1 / PASS_S));
    }
    const char *text = changed(SETS[0]);
    cr_expect_str_eq(cell(text, "fak-native: decode of 4 sequences", 0), "", "it never happens");
    expect_cell(text, "llama.cpp: wall-clock", ROOFLINE, at_least(20 * 64 * PASS_S));
}

Test(contrast, fewer_slots_than_agents) {
    const char *text = changed("\"arms.1.slots_n=2\"");
    expect_cell(text, "llama.cpp: decode of 2 sequences", ROOFLINE, at_most(2 / PASS_S));
    cr_expect_str_eq(cell(text, "llama.cpp: decode of 4 sequences", 0), "");
    expect_cell(text, "fak-native: decode of 4 sequences", ROOFLINE, at_most(4 / PASS_S));
}

Test(contrast, one_turn_one_token) {
    const char *text = changed("\"workload.H=1\", \"workload.turn_out_tok=1\", \"workload.K=1\"");
    expect_cell(text, "fak-native: wall-clock", ROOFLINE, "≥ 114.0 ms");
    expect_cell(text, "fak-native: effective output", ROOFLINE, at_most(1 / PASS_S));
    cr_expect_str_eq(cell(text, "fak-native: TTFT warm p50", 0), "", "there is no second turn");
}

/* What was measured is what the cards say, with its class where that is another. */
Test(contrast, rates_of_the_cards) {
    const char *text = changed("");
    expect_cell(text, "fak-native: decode of 1 sequence", WITNESSED, "7.61 tok/s");
    expect_cell(text, "llama.cpp: decode of 1 sequence", WITNESSED, "7.38 tok/s");
    expect_cell(text, "fak-native: decode of 4 sequences", WITNESSED, "–");
    expect_cell(text, "fak-native: prefill, mean over the session", WITNESSED, "48.54 tok/s");
    expect_cell(text, "fak-native: prefill, mean over the session", MODELED,
                "48.54 tok/s (ASSUMED)");
    expect_cell(text, "fak-native: decode of 1 sequence", VERIFY, "rates");
    expect_cell(text, "fak-native: wall-clock", VERIFY, "session");
    expect_cell(text, "fak-native: wall-clock", WITNESSED, "–");
}

/* A run of the same session: 640 s for 5,120 tokens. Another workload or arm is none. */
Test(contrast, the_session_where_it_was_measured) {
    witness_run run = {
        .id = "r", .arm = "llama.cpp", .K = 4, .H = 20, .P = 4096, .din = 128, .out = 64};
    replay of = {.run = &run};
    score_run seen = {.r = &of, .seen_wall_s = 640, .seen_cold_p50_s = 80, .seen_warm_p50_s = 0.25};
    static const char FILE_4K[] = "scenarios/head_to_head_4k.json";
    const char *text = contrast_of(FILE_4K, "", &seen);
    expect_cell(text, "llama.cpp: wall-clock", WITNESSED, "640.0 s");
    expect_cell(text, "llama.cpp: effective output", WITNESSED, "8.00 tok/s");
    expect_cell(text, "llama.cpp: TTFT cold p50", WITNESSED, "80.00 s");
    expect_cell(text, "llama.cpp: TTFT warm p50", WITNESSED, "250.0 ms");
    expect_cell(text, "fak-native: wall-clock", WITNESSED, "–");
    int64_t *const FIELDS[] = {&run.K, &run.H, &run.P, &run.din, &run.out, &run.N};
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        ++*FIELDS[i];
        expect_cell(contrast_of(FILE_4K, "", &seen), "llama.cpp: wall-clock", WITNESSED, "–");
        --*FIELDS[i];
    }
}

static double number_in(const char *text) {
    const char *digits = text + strcspn(text, "0123456789");
    double v = strtod(digits, NULL);
    return strstr(text, " ms") ? v / 1000 : v;
}

/* No projection from measured rates is beyond its ceilings; the published constants are. */
Test(contrast, modeled_is_within_the_ceilings) {
    static const char *const FILES[] = {
        "scenarios/head_to_head_4k.json", "scenarios/head_to_head_20k.json",
        "scenarios/cache_ab.json", "scenarios/fleet_5x200_h200.json",
        "scenarios/llama_server_h200.json"};
    size_t compared = 0;
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        const char *text = contrast_of(FILES[i], "", NULL);
        for (const char *row = strstr(text, "\n| "); row; row = strstr(row + 1, "\n| ")) {
            size_t n = strcspn(row + 3, "|");
            while (n > 0 && row[2 + n] == ' ') n--;
            const char *name = arena_printf(support_arena(), "%.*s", (int)n, row + 3);
            const char *modeled = cell(text, name, MODELED), *most = cell(text, name, ROOFLINE);
            if (strncmp(most, "≤", 3) == 0)
                cr_expect_leq(number_in(modeled), number_in(most), "%s, %s: %s, %s", FILES[i], name,
                              modeled, most);
            else if (strncmp(most, "≥", 3) == 0)
                cr_expect_geq(number_in(modeled), number_in(most), "%s, %s: %s, %s", FILES[i], name,
                              modeled, most);
            else
                continue;
            compared++;
        }
    }
    cr_expect_gt(compared, 40, "%zu compared", compared);
}
