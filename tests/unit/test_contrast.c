/* The ceilings of the contrast, from their rule: a token of a sequence takes a pass over the
 * weights, 17,106,775,008 bytes at 150 GB/s, and what waits for another takes its time too. */
#include "support.h"

#include "contrast.h"

#include <math.h>
#include <stdio.h>

static const double PASS_S = 17106775008 / 150e9;

/* The contrast of head_to_head_4k, changed, or of any other file. */
static const char *contrast_with(const char *file, const char *sets, const score_run *seen,
                                 size_t seen_n) {
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
        s.witness[0] = (spec_witness){.name = "m", .score = {.runs = seen, .n = seen_n}};
        s.witness_n = 1;
    }
    buf_init(&out);
    contrast_put(&s, &s.base.runs[0], mem, &out);
    const char *kept = arena_strdup(mem, out.s);
    buf_done(&out);
    return kept;
}

static const char *contrast_of(const char *file, const char *sets, const score_run *seen) {
    return contrast_with(file, sets, seen, 1);
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

static double number_in(const char *text) {
    const char *digits = text + strcspn(text, "0123456789");
    double v = strtod(digits, NULL);
    return strstr(text, " ms") ? v / 1000 : v;
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
    expect_cell(text, "fak-native: decode of 1 sequence", WITNESSED,
                "7.61 tok/s (context not stated)");
    expect_cell(text, "llama.cpp: decode of 1 sequence", WITNESSED,
                "7.38 tok/s (context not stated)");
    expect_cell(text, "fak-native: decode of 4 sequences", WITNESSED, "–");
    /* the rate of a prompt stands beside that of a prompt; nobody measured the session's mix */
    expect_cell(text, "fak-native: prefill of one prompt of 4,224 tokens", WITNESSED,
                "48.54 tok/s (length not stated)");
    expect_cell(text, "fak-native: prefill of one prompt of 4,224 tokens", MODELED,
                "48.54 tok/s (ASSUMED)");
    expect_cell(text, "fak-native: prefill, mean over the session", WITNESSED, "–");
    expect_cell(text, "fak-native: prefill, mean over the session", MODELED,
                "48.54 tok/s (ASSUMED)");
    expect_cell(text, "fak-native: decode of 1 sequence", VERIFY, "rates");
    expect_cell(text, "fak-native: wall-clock", VERIFY, "session");
    expect_cell(text, "fak-native: wall-clock", WITNESSED, "–");
}

/* ---- rates at the session's own contexts ---- */

/* Mean context of a decoding agent: its prompt and, on average, half of the turn's output. */
static double mean_context(int64_t H, int64_t P, int64_t din, int64_t out, bool after) {
    double sum = 0;
    for (int64_t t = 1; t <= H; t++)
        sum += (double)(P + (after ? t - 1 : t) * din + (t - 1) * out) + (double)out / 2;
    return sum / (double)H;
}

static const card *h200_split(void) {
    err e = {0};
    const card *c = NULL;
    cr_assert_eq(
        card_find(support_cards(), "qwen2-7b-like-q8_0-h200-split", NULL, support_arena(), &c, &e),
        OK, "%s", e.what);
    return c;
}

static const char *tok_s(double v) {
    return arena_printf(support_arena(), v >= 1000 ? "%.0f" : "%.2f", v);
}

/* All columns of the row are what the card's own points, the curve at them and the weights say of
 * one batch at one context: that of the points nearest to the session's mean. */
static int64_t expect_decode(const char *text, const card *c, int64_t batch_n, double mean) {
    arena *mem = support_arena();
    const decode_point *near = NULL;
    double lo = 0, hi = 0;
    for (size_t i = 0; i < c->decode_n; i++) {
        const decode_point *p = &c->decode[i];
        if (p->batch_n != batch_n || (batch_n > 1 && p->origin.shared_prompt)) continue;
        if (near && fabs((double)p->context_tok - mean) > fabs((double)near->context_tok - mean))
            continue;
        bool again = near && p->context_tok == near->context_tok;
        lo = again ? fmin(lo, p->tok_s) : p->tok_s;
        hi = again ? fmax(hi, p->tok_s) : p->tok_s;
        near = p;
    }
    cr_assert_not_null(near);
    decode_curve curve;
    err e = {0};
    cr_assert_eq(decode_curve_fit(c, -1, mem, &curve, &e), OK, "%s", e.what);
    decode_step step = decode_curve_at(&curve, batch_n);
    double b = (double)batch_n, step_s = step.a_s + step.own_s * b * (double)near->context_tok,
           most = b * c->hardware.mem_bw_bytes_s / (double)c->weights_bytes;
    const char *name =
        arena_printf(mem,
                     "slot-isolated: decode of %d sequence%s at %d,%03d tokens "
                     "of context",
                     (int)batch_n, batch_n > 1 ? "s" : "", (int)(near->context_tok / 1000),
                     (int)(near->context_tok % 1000));
    const char *seen = lo < hi ? arena_printf(mem, "%s to %s tok/s", tok_s(lo), tok_s(hi))
                               : arena_printf(mem, "%s tok/s", tok_s(lo));
    expect_cell(text, name, WITNESSED, seen);
    expect_cell(text, name, MODELED, arena_printf(mem, "%s tok/s", tok_s(b / step_s)));
    expect_cell(text, name, ROOFLINE, arena_printf(mem, "≤ %s tok/s", tok_s(most)));
    return near->context_tok;
}

Test(contrast, rates_are_at_the_context_of_the_session) {
    static const char FLEET[] = "scenarios/fleet_llama_server_h200.json";
    const struct {
        const char *sets;
        int64_t H, P;
        bool after;
        int64_t near_tok; /* of the contexts that the card has: 2,080, 4,128 and others */
    } cases[] = {{"", 200, 2048, true, 4128},
                 {"\"workload.H=50\", \"workload.turn_shape=delta_first\"", 50, 2048, false, 2080},
                 {"\"workload.H=2\", \"workload.P=400\"", 2, 400, true, 544}};
    err e = {0};
    const card *c = NULL;
    cr_assert_eq(
        card_find(support_cards(), "qwen2-7b-like-q8_0-h200-split", NULL, support_arena(), &c, &e),
        OK, "%s", e.what);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = contrast_of(FLEET, cases[i].sets, NULL);
        double mean = mean_context(cases[i].H, cases[i].P, 12, 20, cases[i].after);
        if (cases[i].near_tok < 1000) { /* no thousands in the row's name */
            cr_expect(strstr(text, "slot-isolated: decode of 5 sequences at 544 tokens"), "%s",
                      text);
            continue;
        }
        cr_expect_eq(expect_decode(text, c, 1, mean), cases[i].near_tok);
        cr_expect_eq(expect_decode(text, c, 5, mean), cases[i].near_tok);
        /* llama-batched-bench decodes 64 tokens behind the context it is asked for */
        const char *command = arena_printf(support_arena(), " --contexts %lld --sequences 1,5 ",
                                           (long long)(cases[i].near_tok - 64 / 2));
        cr_expect(strstr(text, command), "no \"%s\" in %s", command, text);
    }
}

/* The rate of the card's points of five sequences at 4,128 tokens, of a shared prompt or not. */
static const char *five_at_4128(const card *c, bool shared) {
    for (size_t i = 0; i < c->decode_n; i++) {
        const decode_point *p = &c->decode[i];
        if (p->batch_n == 5 && p->context_tok == 4128 && p->origin.shared_prompt == shared)
            return arena_printf(support_arena(), "%s tok/s", tok_s(p->tok_s));
    }
    return "no such point";
}

/* An arm that shares its prompt is compared with steps over a shared one, others with others. */
Test(contrast, a_shared_prompt_beside_a_shared_prompt) {
    const char *text = contrast_of("scenarios/fleet_5x200_h200.json", "", NULL);
    const card *c = h200_split();
    cr_assert_str_neq(five_at_4128(c, true), five_at_4128(c, false));
    expect_cell(text, "shared: decode of 5 sequences at 4,128 tokens of context, one prompt shared",
                WITNESSED, five_at_4128(c, true));
    expect_cell(text, "per-slot: decode of 5 sequences at 4,128 tokens of context", WITNESSED,
                five_at_4128(c, false));
    cr_expect_null(strstr(text, "per-slot: decode of 5 sequences at 4,128 tokens of context, one"));
    cr_expect_str_eq(cell(text, "serial: decode of 5 sequences", 0), "", "it never happens");
    cr_expect(strstr(text, "run --model MODEL.gguf --shared-prompt --prompts 2048 "));
    cr_expect(strstr(text, "run --model MODEL.gguf --prompts 2048 "));
    /* the M3 Pro's card has no such points: the command measures what stands in the row */
    text = contrast_of("scenarios/fleet_5x200.json", "", NULL);
    cr_expect_null(strstr(text, "one prompt shared"));
    cr_expect_null(strstr(text, "--shared-prompt"));
}

/* Points of another KV layout are no measurement of the arm, whichever is which: no rate stands as
 * WITNESSED, the row says which layout was measured, and the command measures the arm's. */
Test(contrast, points_of_another_kv_layout) {
    static const char FLEET[] = "scenarios/fleet_llama_server_h200.json";
    static const struct {
        const char *card, *layout, *other;
        bool unified;
    } cases[] = {{"qwen2-7b-like-q8_0-h200-split", "split", "unified", false},
                 {"qwen2-7b-like-q8_0-h200-unified", "unified", "split", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena *mem = support_arena();
        const char *same = arena_printf(mem, "\"arms.1.card=%s\", \"arms.1.kv_layout=%s\"",
                                        cases[i].card, cases[i].layout);
        const char *text = contrast_of(FLEET, same, NULL);
        for (int n = 1; n <= 5; n += 4)
            cr_expect(number_in(cell(text,
                                     arena_printf(mem, "slot-isolated: decode of %d sequence%s", n,
                                                  n > 1 ? "s" : ""),
                                     WITNESSED)) > 0,
                      "%s", text);
        const char *not_same = arena_printf(mem, "\"arms.1.card=%s\", \"arms.1.kv_layout=%s\"",
                                            cases[i].card, cases[i].other);
        text = contrast_of(FLEET, not_same, NULL);
        for (int n = 1; n <= 5; n += 4) {
            const char *name =
                arena_printf(mem, "slot-isolated: decode of %d sequence%s", n, n > 1 ? "s" : "");
            expect_cell(text, name, WITNESSED,
                        arena_printf(mem, "– (%s KV only)", cases[i].layout));
            cr_expect(number_in(cell(text, name, MODELED)) > 0, "%s", text);
        }
        /* the only arm of that card and layout: its command, and the flag as the arm has it */
        const char *head = arena_printf(mem, "# %s: ", cases[i].card);
        bool found = false;
        for (const char *at = strstr(text, head); at; at = strstr(at + 1, head)) {
            const char *line = strchr(at, '\n') + 1;
            size_t end = strcspn(line, "\n");
            const char *flag = strstr(line, " --kv-unified"),
                       *whole = strstr(line, "--sequences 1,5");
            bool unified = flag && flag < line + end;
            found |= whole && whole < line + end && unified != cases[i].unified;
        }
        cr_expect(found, "no command for the %s layout in %s", cases[i].other, text);
        /* `validate` finds no card for such a run: a run's layout picks its card */
        cr_expect(strstr(text, arena_printf(mem,
                                            "# slot-isolated: not scored, the wall-clock above is "
                                            "to be compared by hand: the card is of %s KV",
                                            cases[i].layout)),
                  "%s", text);
    }
}

/* A card that does not say its layout, beside an arm that does. */
Test(contrast, a_layout_that_the_card_does_not_state) {
    const char *text = changed("\"arms.0.kv_layout=unified\"");
    expect_cell(text, "fak-native: decode of 1 sequence", WITNESSED,
                "7.61 tok/s (context and KV layout not stated)");
    expect_cell(text, "llama.cpp: decode of 1 sequence", WITNESSED,
                "7.38 tok/s (context not stated)");
}

/* ---- sessions ---- */

/* A run of the same session: 640 s for 5,120 tokens. Another workload, machine or arm is none. */
Test(contrast, the_session_where_it_was_measured) {
    witness_run run = {.id = "r",
                       .arm = "llama.cpp",
                       .model = "Qwen3.8-27B",
                       .machine = "node-macos-a",
                       .K = 4,
                       .H = 20,
                       .P = 4096,
                       .din = 128,
                       .out = 64};
    replay of = {.run = &run,
                 .seen = {.wall_s = 640, .cold.p50_s = 80, .warm.p50_s = 0.25, .from_turns = true}};
    score_run seen = {.r = &of};
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
    double *const TIMES[] = {&run.tool_s, &run.stagger_s, &run.out_jitter};
    for (size_t i = 0; i < sizeof TIMES / sizeof *TIMES; i++) {
        *TIMES[i] = 0.5;
        expect_cell(contrast_of(FILE_4K, "", &seen), "llama.cpp: wall-clock", WITNESSED, "–");
        *TIMES[i] = 0;
    }
    bool *const MODES[] = {&run.serial, &run.result_after};
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        *MODES[i] = true;
        expect_cell(contrast_of(FILE_4K, "", &seen), "llama.cpp: wall-clock", WITNESSED, "–");
        *MODES[i] = false;
    }
    run.machine = "another";
    expect_cell(contrast_of(FILE_4K, "", &seen), "llama.cpp: wall-clock", WITNESSED, "–");
    run.machine = "node-macos-a";
    of.seen.from_turns = false;
    text = contrast_of(FILE_4K, "", &seen);
    expect_cell(text, "llama.cpp: wall-clock", WITNESSED, "640.0 s *");
    cr_expect(strstr(text, "Marked *"));
}

/* Two runs of one session, 640 and 512 s: neither stands for both, whatever their order. */
Test(contrast, all_runs_of_a_session) {
    witness_run run = {.id = "r",
                       .arm = "llama.cpp",
                       .model = "Qwen3.8-27B",
                       .machine = "node-macos-a",
                       .K = 4,
                       .H = 20,
                       .P = 4096,
                       .din = 128,
                       .out = 64};
    witness_run again = run;
    again.id = "s";
    replay of[2] = {
        {.run = &run, .seen = {.wall_s = 640, .cold.p50_s = 80, .warm.p50_s = 0.25}},
        {.run = &again,
         .seen = {.wall_s = 512, .cold.p50_s = 90, .warm.p50_s = 0.25, .from_turns = true}}};
    for (int first = 0; first < 2; first++) {
        const score_run seen[2] = {{.r = &of[first]}, {.r = &of[!first]}};
        const char *text = contrast_with("scenarios/head_to_head_4k.json", "", seen, 2);
        expect_cell(text, "llama.cpp: wall-clock", WITNESSED, "512.0 to 640.0 s, 2 runs *");
        expect_cell(text, "llama.cpp: effective output", WITNESSED,
                    "8.00 to 10.00 tok/s, 2 runs *");
        expect_cell(text, "llama.cpp: TTFT cold p50", WITNESSED, "80.00 to 90.00 s, 2 runs *");
        expect_cell(text, "llama.cpp: TTFT warm p50", WITNESSED, "250.0 ms, 2 runs *");
        expect_cell(text, "fak-native: wall-clock", WITNESSED, "–");
    }
}

/* ---- how to verify ---- */

Test(contrast, commands_say_what_the_arms_are) {
    const char *text = contrast_of("scenarios/fleet_llama_server_h200.json", "", NULL);
    cr_expect(strstr(text, "# prefix-shared-kvu: `ratecast-bench session` cannot record it: the "
                           "prefix is prepared"));
    cr_expect_null(strstr(text, "--arm-name prefix-shared-kvu"));
    cr_expect(strstr(text, "llama-server -m MODEL.gguf -np 5 -no-kvu -c 42496"));
    cr_expect(strstr(text, "--turn-shape result_after --pin --arm-name slot-isolated"));
    cr_expect(strstr(text, "--turn-shape result_after --no-cache --pin --arm-name naive"));
    cr_expect(strstr(text, "ratecast validate runs-qwen2-7b-like-q8_0-h200-split --card "
                           "qwen2-7b-like-q8_0-h200-split\n"));
    cr_expect_null(strstr(text, "--card qwen2-7b-like-q8_0-h200-unified"), "no run of it");
    text = changed("");
    cr_expect(strstr(text, "# fak-native: on fak-native with 4 slots"));
    cr_expect(strstr(text, "--server-args 'llama-server -m MODEL.gguf -np 4 -c "));
    cr_expect(strstr(text, "# llama.cpp: not scored, the wall-clock above is to be compared by "
                           "hand: no decode point states its context"));
    cr_expect_null(strstr(text, "ratecast validate runs"), "no card of it can be priced alone");
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
