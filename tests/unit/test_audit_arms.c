/* What an arm's own policy and own figures say of it: KV of a prefix that is held once, decode from
 * what the arm's own prefill leaves of its wall-clock, and memory that holds the weights. */
#include "audit_support.h"

/* K agents of H turns over a prefix of P tokens; D new ones and O output tokens a turn. */
static const double K = 8, H = 30, P = 6000, D = 100, O = 50;
static const double MIB = 1048576, GIB = 1073741824, WEIGHTS = 8092571648.0;
static const double KV = 2.0 * 28 * 4 * 128 * 2;
static const double CTX = 10500; /* P + H (D + O) */

/* Arm a shares the prefix, arm b keeps a copy for each agent, of c it is not said. */
static const audit *claimed(const char *reuse_c, const char *figures, const char *rates) {
    return support_audit_text(arena_printf(
        support_arena(),
        "{\"schema\": \"ratecast.claim/1\", \"id\": \"arms\", \"title\": \"t\", \"hardware\": "
        "{\"chip\": \"a device\", \"mem_bw_GBps\": 4800, \"memory_GB\": 141}, \"model\": "
        "{\"name\": \"m\", \"quant\": \"Q8_0\", \"params\": 7615616512, \"weight_bytes\": "
        "8092571648, \"layers\": 28, \"full_attention_layers\": 28, \"kv_heads\": 4, \"head_dim\": "
        "128, \"kv_bytes_per_element\": 2}, \"workload\": {\"K\": 8, \"H\": 30, \"P\": 6000, "
        "\"turn_delta_in_tok\": 100, \"turn_out_tok\": 50, \"turn_shape\": \"delta_first\"}, "
        "\"arms\": [{\"name\": \"a\", \"prefix_reuse\": \"shared\"}, {\"name\": \"b\", "
        "\"prefix_reuse\": \"per_slot\"}, {\"name\": \"c\"%s}], \"figures\": [%s], \"rates\": "
        "[%s]}",
        reuse_c, figures, rates));
}

static const char *figure(const char *name, const char *of, const char *kind, const char *digits,
                          const char *in, const char *more) {
    return arena_printf(support_arena(),
                        "{\"name\": \"%s\", \"arm\": \"%s\", \"metric\": \"%s\", \"value\": %s, "
                        "\"digits_as_printed\": \"%s\", \"unit\": \"%s\"%s}",
                        name, of, kind, digits, digits, in, more);
}

static const char *digits(double v, int decimals) {
    return arena_printf(support_arena(), "%.*f", decimals, v);
}

/* ---- KV of a prefix that is held once ---- */

static const double ONCE = P + K * (CTX - P), COPIES = K * CTX; /* tokens */

static void expect_kv(const char *of, const char *reuse_c, double tok, audit_outcome o,
                      const char *says) {
    const char *print = digits(tok * KV / MIB, 1);
    const audit *a = claimed(
        reuse_c, figure("kv", of, "kv", print, "MiB", ", \"agents_n\": 8, \"context_tok\": 10500"),
        "");
    const finding *f = support_finding(a, o, R_MEMORY, "kv-bytes", "kv");
    cr_expect_eq(support_fails(a), o == AUDIT_FAIL ? 1 : 0, "%s of %s:%s", print, of,
                 support_told(a));
    cr_assert_not_null(f, "%s of %s:%s", print, of, support_told(a));
    cr_expect_not_null(strstr(f->why, says), "%s", f->why);
}

Test(audit_arms, kv_follows_the_arms_policy) {
    const char *each = ", \"prefix_reuse\": \"shared\", \"first_comers\": \"each\"";
    expect_kv("a", "", ONCE, AUDIT_PASS, "(6,000 + 8 x 4,500) tokens");
    expect_kv("a", "", COPIES, AUDIT_FAIL, "a copy of the prefix for every agent");
    expect_kv("b", "", COPIES, AUDIT_PASS, "84,000 tokens");
    expect_kv("b", "", ONCE, AUDIT_FAIL, "the prefix counted once");
    /* not said: either, and nothing else */
    expect_kv("c", "", COPIES, AUDIT_PASS, "84,000 tokens");
    expect_kv("c", "", ONCE, AUDIT_CANNOT_TELL, "which of the two is not stated");
    expect_kv("c", "", (ONCE + COPIES) / 2, AUDIT_FAIL, "the architecture gives");
    /* those that came before the prefix was there may keep theirs */
    expect_kv("c", each, COPIES, AUDIT_PASS, "84,000 tokens");
    expect_kv("c", each, ONCE, AUDIT_CANNOT_TELL, "which of the two is not stated");
}

/* A context within the prefix is the same tokens for all. */
Test(audit_arms, kv_of_the_prefix_alone) {
    const char *print = digits(4000 * KV / MIB, 1);
    const audit *a = claimed(
        "", figure("kv", "a", "kv", print, "MiB", ", \"agents_n\": 8, \"context_tok\": 4000"), "");
    cr_expect_not_null(support_finding(a, AUDIT_PASS, R_MEMORY, "kv-bytes", "kv"), "%s",
                       support_told(a));
}

/* Without a number of agents the figure is of one or of all: 10,500 tokens, or 42,000 of arm a and
 * 84,000 of arm b; nothing else. */
Test(audit_arms, kv_of_one_agent_or_of_all) {
    const struct {
        const char *of;
        double tok;
        audit_outcome outcome;
    } CASES[] = {{"a", CTX, AUDIT_PASS},    {"a", ONCE, AUDIT_PASS},   {"a", COPIES, AUDIT_FAIL},
                 {"b", CTX, AUDIT_PASS},    {"b", COPIES, AUDIT_PASS}, {"b", ONCE, AUDIT_FAIL},
                 {"a", 2 * CTX, AUDIT_FAIL}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *print = digits(CASES[i].tok * KV / MIB, 1);
        const audit *a = claimed(
            "", figure("kv", CASES[i].of, "kv", print, "MiB", ", \"context_tok\": 10500"), "");
        cr_expect_not_null(support_finding(a, CASES[i].outcome, R_MEMORY, "kv-bytes", "kv"),
                           "%s of %s:%s", print, CASES[i].of, support_told(a));
    }
}

/* 80 GiB of KV: whole tokens first, then agents; the prefix goes in once or with each. */
Test(audit_arms, agents_that_fit) {
    double room = floor(80 * GIB / KV), once = floor((room - P) / (CTX - P)),
           copies = floor(room / CTX);
    cr_assert_gt(once, copies);
    for (int shared = 0; shared < 2; shared++)
        for (int printed = 0; printed < 2; printed++) {
            const char *figures = arena_printf(
                support_arena(), "%s, %s",
                figure("budget", shared ? "a" : "b", "memory_budget", "80", "GiB",
                       ", \"conditions\": \"left for KV\""),
                figure("agents", shared ? "a" : "b", "agents_max",
                       digits(printed ? once : copies, 0), "agents", ", \"context_tok\": 10500"));
            const audit *a = claimed("", figures, "");
            const finding *f = support_finding(a, shared == printed ? AUDIT_PASS : AUDIT_FAIL,
                                               R_MEMORY, "agents-fit", "agents");
            cr_assert_not_null(f, "%d %d:%s", shared, printed, support_told(a));
            cr_expect_float_eq(f->expected, shared ? once : copies, 1e-9);
        }
}

/* ---- decode from what an arm's own prefill leaves of its wall-clock ---- */

static const double PREFILL_A = 9000, DECODE_A = 700;

static const char *const RATES_A =
    "{\"value\": 9000, \"phase\": \"prefill\", \"role\": \"stated\", \"arm\": \"a\", "
    "\"n_prompt_tok\": 6000}, "
    "{\"value\": 700, \"phase\": \"decode\", \"role\": \"stated\", \"arm\": \"a\", \"batch_n\": 8}";

static const finding *decode_of_a(const char *wall_s, double ttft_b_s, const char *rates,
                                  audit_outcome o, const char *check) {
    const char *figures = arena_printf(
        support_arena(), "%s, %s, %s", figure("wall_a", "a", "wall_clock", wall_s, "s", ""),
        figure("ttft_a", "a", "ttft", "12", "ms", ", \"percentile\": 50"),
        figure("ttft_b", "b", "ttft", digits(ttft_b_s, 3), "s",
               ", \"percentile\": 50, \"conditions\": \"cold first turn\""));
    const audit *a = claimed("", figures, rates);
    const finding *f = support_finding(a, o, R_CARD, check, NULL);
    cr_assert_not_null(f, "wall of a %s s, TTFT of b %.3f s: %s", wall_s, ttft_b_s,
                       support_told(a));
    return f;
}

Test(audit_arms, decode_does_not_hang_on_another_arms_ttft) {
    double computed = P + K * H * D, out = K * H * O, rate = out / (50 - computed / PREFILL_A);
    static const double TTFT_B[] = {2.29, 5, 8, 10, 15, 20, 30};
    for (size_t i = 0; i < sizeof TTFT_B / sizeof *TTFT_B; i++) {
        const finding *f =
            decode_of_a("50.0", TTFT_B[i], RATES_A, AUDIT_CANNOT_TELL, "batched-decode");
        cr_expect_float_eq(f->found, rate, 1e-6, "%.10g, by hand %.10g", f->found, rate);
        cr_expect_float_eq(f->expected, DECODE_A, 1e-9);
        cr_expect_not_null(strstr(f->why, "slower than stated"), "%s", f->why);
    }
}

/* The wall-clock of the stated rates themselves, and ones that are too short for them. */
Test(audit_arms, decode_no_faster_than_stated) {
    double prefill = (P + K * H * D) / PREFILL_A, decode = K * H * O / DECODE_A;
    decode_of_a(digits(prefill + decode, 3), 20, RATES_A, AUDIT_PASS, "batched-decode");
    const finding *f =
        decode_of_a(digits(prefill + decode / 2, 3), 20, RATES_A, AUDIT_FAIL, "batched-decode");
    cr_expect_float_eq(f->found, 2 * DECODE_A, 0.1, "%.10g", f->found);
    f = decode_of_a(digits(prefill / 2, 3), 20, RATES_A, AUDIT_FAIL, "prefill-fits");
    cr_expect_float_eq(f->expected, prefill, 1e-9);
}

/* Another arm's TTFT implies 4 x 6,000 / 20 s = 1,200 tok/s: of a, without a rate of its own, it
 * settles nothing, though 12,000 / (32 - 25) is faster than 700 tok/s. */
Test(audit_arms, a_borrowed_rate_is_no_defect) {
    const char *decode = strstr(RATES_A, ", {\"value\": 700") + 2;
    const finding *f = decode_of_a("32.00", 20, decode, AUDIT_CANNOT_TELL, "batched-decode");
    cr_expect_float_eq(f->found, K * H * O / (32 - (P + K * H * D) / (4 * P / 20)), 1e-6);
    cr_expect_not_null(strstr(f->why, "another arm's TTFT"), "%s", f->why);
}

/* ---- memory holds the weights ---- */

static const audit *with_memory(double bytes, const char *name, const char *more) {
    return claimed("", figure(name, "a", "memory", digits(bytes / GIB, 2), "GiB", more), "");
}

Test(audit_arms, a_peak_holds_the_weights) {
    const audit *a = with_memory(WEIGHTS / 2, "peak", "");
    const finding *f = support_finding(a, AUDIT_FAIL, R_MEMORY, "holds-weights", "peak");
    cr_assert_not_null(f, "%s", support_told(a));
    cr_expect_float_eq(f->expected, WEIGHTS / GIB, 1e-9, "%.10g", f->expected);
    a = with_memory(WEIGHTS + ONCE * KV, "peak", "");
    cr_expect_not_null(support_finding(a, AUDIT_PASS, R_MEMORY, "holds-weights", "peak"));
    cr_expect_eq(a->verdict, VERDICT_SOUND, "%s", support_told(a));
}

/* Half the weights are no fault of a memory that is not said to hold them all: a part of it, what
 * lies on the host, one of two devices. */
Test(audit_arms, a_part_of_memory_need_not) {
    static const struct {
        const char *name, *more;
    } PARTS[] = {{"memory per agent", ""},
                 {"peak", ", \"conditions\": \"KV cache and buffers\""},
                 {"peak", ", \"conditions\": \"half the layers offloaded\""},
                 {"peak", ", \"conditions\": \"TP=2\""}};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        const audit *a = with_memory(WEIGHTS / 2 * 1.01, PARTS[i].name, PARTS[i].more);
        cr_expect_eq(support_fails(a), 0, "%s%s:%s", PARTS[i].name, PARTS[i].more, support_told(a));
    }
    const audit *a = with_memory(WEIGHTS / 2 * 0.9, "peak", ", \"conditions\": \"TP=2\"");
    cr_expect_not_null(support_finding(a, AUDIT_FAIL, R_MEMORY, "holds-weights", "peak"), "%s",
                       support_told(a));
}
