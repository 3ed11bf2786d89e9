/* One small claim for each rule, which breaks that rule and no other; and the published scenario
 * from before its corrections, which breaks two. */
#include "audit_support.h"

#include <ctype.h>

/* The numbers of each finding, from the note of its file. */
static const struct broken {
    rule_id rule;
    const char *check, *about;
    double expected, found, within;
} BROKEN[] = {
    {R_WALL, "queue-wait", "queue contention", 0, 4 * 3 / 2 * 2000 / 1000.0, 1e-9},
    {R_EVIDENCE, "no-evidence", "slot penalty", 0, 4 * 10 * 2, 1e-9},
    {R_QUEUE, "in-ttft", "ttft_p50", 4.2, 0.8, 1e-9},
    {R_TOKENS, "session", "prompt_tok", 4 * (10 * 2000 + 100 * 55 + 50 * 45), 111001, 1e-9},
    {R_POPULATION, "aggregate", "all", 8 * 200 / (0.5 + 200 / 30.0), 30, 1e-6},
    {R_ROOFLINE, "flops", "prefill", 400, 2 * 8e9 * 30000 / 1e12, 1e-9},
    {R_FLOOR, "weight-stream", "decode", 2000, 160 * 16, 1e-9},
    {R_CARD, "used", "prefill of the projection", 100, 120, 1e-9},
    {R_RATIO, "ratio", "speedup", 30.0 / 20.0, 1.61, 1e-9},
    {R_CONSISTENCY, "said-twice", "wall_text", 20.1, 22.4, 1e-9},
    {R_UNITS, "kv-bytes", "kv", 2.0 * 32 * 8 * 128 * 2 * 32768 / 1e9, 4, 1e-9},
    {R_MEMORY, "kv-bytes", "kv_per_tok", 2 * 8 * 8 * 128 * 2, 131072, 1e-9},
    {R_CONDITIONS, "same", "gain", (double)NAN, (double)NAN, 0}, /* 32 streams against 8 */
    {R_MONO, "sharing", "computed_shared", 6000, 9000, 1e-9},
    {R_DETERMINISM, "same-seed", "tokens_first", 4800, 4796, 1e-9},
};

static const char *path_of(rule_id id) {
    char *name = arena_strdup(support_arena(), RULES[id].id);
    for (char *p = name; *p; p++) *p = *p == '-' ? '_' : (char)tolower((unsigned char)*p);
    return arena_printf(support_arena(), "scenarios/claims/broken/%s.json", name);
}

Test(audit_broken, each_breaks_its_rule_and_no_other) {
    cr_assert_eq(sizeof BROKEN / sizeof *BROKEN, R_N);
    for (size_t i = 0; i < R_N; i++) {
        const struct broken *b = &BROKEN[i];
        cr_assert_eq(b->rule, (rule_id)i, "in the order of the rules");
        const audit *a = support_audit_file(path_of(b->rule), 0);
        const finding *f = support_finding(a, AUDIT_FAIL, b->rule, b->check, b->about);
        cr_expect_eq(a->verdict, VERDICT_DEFECT);
        cr_expect_eq(support_fails(a), 1, "%s:%s", RULES[i].id, support_told(a));
        cr_expect_not_null(f, "%s %s:%s", RULES[i].id, b->check, support_told(a));
        if (!f || isnan(b->expected)) continue;
        cr_expect_float_eq(f->expected, b->expected, b->within, "%s: %.10g", RULES[i].id,
                           f->expected);
        cr_expect_float_eq(f->found, b->found, b->within, "%s: %.10g", RULES[i].id, f->found);
    }
}

static const finding *same_seed(audit_outcome o, const char *kind, const char *in,
                                const char *metric_is, const char *second) {
    const audit *a = support_audit_text(arena_printf(
        support_arena(),
        "{\"schema\": \"ratecast.claim/1\", \"id\": \"d\", \"title\": \"t\", \"kind\": \"%s\", "
        "\"figures\": [{\"name\": \"x\", \"value\": 100, \"unit\": \"%s\", \"metric\": \"%s\", "
        "\"conditions\": \"seed 7, run 1\"}, {\"name\": \"y\", \"value\": 103, \"unit\": \"%s\", "
        "\"metric\": \"%s\", \"conditions\": \"%s\"}]}",
        kind, in, metric_is, in, metric_is, second));
    return support_finding(a, o, R_DETERMINISM, NULL, NULL);
}

/* Another seed, no run, or a measured time: nothing to compare. A model's time is its result. */
Test(audit_broken, runs_of_one_seed) {
    cr_expect_not_null(same_seed(AUDIT_FAIL, "measured", "tokens", "output_tok", "seed 7, run 2"));
    cr_expect_not_null(
        same_seed(AUDIT_FAIL, "simulated session", "s", "wall_clock", "seed 7, run 2"));
    cr_expect_null(same_seed(AUDIT_FAIL, "measured", "s", "wall_clock", "seed 7, run 2"));
    cr_expect_null(same_seed(AUDIT_FAIL, "measured", "tokens", "output_tok", "seed 8, run 2"));
    cr_expect_null(same_seed(AUDIT_FAIL, "measured", "tokens", "output_tok", "run 2"));
}

/* The state before the corrections: 4 x 3 / 2 x 4,096 / 65 tok/s = 378.1 s of queue wait and
 * 4 x 20 x 7.5 s = 600 s of penalty in the reference arm's wall-clock. */
Test(audit_broken, the_published_form_before_its_corrections) {
    err e = {0};
    audit a;
    const projection *p = support_project("scenarios/published/legacy_4k.json", NULL, 0);
    cr_assert_eq(audit_projection(p, support_arena(), &a, &e), OK);
    const char *arm_is = "llama.cpp-legacy";
    const finding *wall = support_finding(&a, AUDIT_FAIL, R_WALL, NULL, arm_is),
                  *evidence = support_finding(&a, AUDIT_FAIL, R_EVIDENCE, NULL, arm_is);
    cr_assert_eq(a.verdict, VERDICT_DEFECT);
    cr_assert_not_null(wall, "%s", support_told(&a));
    cr_assert_not_null(evidence, "%s", support_told(&a));
    cr_expect_not_null(strstr(wall->why, "378.1 s"), "%s", wall->why);
    cr_expect_not_null(strstr(evidence->why, "600.0 s"), "%s", evidence->why);
}

Test(audit_broken, a_projection_from_measured_rates_is_no_defect) {
    err e = {0};
    audit a;
    const projection *p = support_project("scenarios/head_to_head_4k.json", NULL, 0);
    cr_assert_eq(audit_projection(p, support_arena(), &a, &e), OK);
    cr_expect_eq(a.verdict, VERDICT_SOUND, "%s", support_told(&a));
}
