/* Public performance claims, each with what an auditor must conclude: verdict, findings, and checks
 * that must raise no alarm. They live outside the repository (RATECAST_SHARED, default ../shared
 * beside it); what is expected is read from the claim files, not from the program. */
#include "audit_support.h"

#include <cjson/cJSON.h>

enum { CORPUS_N = 6 };

typedef struct corpus_claim {
    const audit *audit;
    const cJSON *expected;
    const char *id;
} corpus_claim;

static bool load(int i, corpus_claim *out) {
    const char *path =
        support_shared(arena_printf(support_arena(), "corpus/claims/claim_%02d.json", i));
    file_bytes f = {0};
    err e = {0};
    if (!path) return false;
    cr_assert_eq(file_read(path, support_arena(), &f, &e), OK);
    const cJSON *root = cJSON_Parse(f.s);
    out->expected = cJSON_GetObjectItem(root, "expected");
    out->id = cJSON_GetObjectItem(root, "id")->valuestring;
    out->audit = support_audit_file(path, 0);
    cr_assert_not_null(out->expected);
    return true;
}

static const char *text_of(const cJSON *x, const char *key) {
    return cJSON_GetObjectItem(x, key)->valuestring;
}

static rule_id rule_by_word(const char *word) {
    for (int i = 0; i < R_N; i++)
        if (strcmp(RULES[i].word, word) == 0) return (rule_id)i;
    cr_assert_fail("no rule is called %s", word);
    return R_N;
}

static audit_outcome outcome_by_name(const char *name) {
    for (int i = 0; AUDIT_OUTCOME_NAMES[i]; i++)
        if (strcmp(AUDIT_OUTCOME_NAMES[i], name) == 0) return (audit_outcome)i;
    cr_assert_fail("no outcome is called %s", name);
    return AUDIT_PASS;
}

static void each(void (*check)(const corpus_claim *c)) {
    corpus_claim c;
    for (int i = 1; i <= CORPUS_N; i++) {
        if (!load(i, &c)) cr_skip_test("no corpus");
        check(&c);
    }
}

static void check_verdict(const corpus_claim *c) {
    cr_expect_str_eq(VERDICT_NAMES[c->audit->verdict], text_of(c->expected, "verdict"), "%s:%s",
                     c->id, support_told(c->audit));
}

Test(audit_corpus, verdicts) {
    each(check_verdict);
}

static void check_listed(const corpus_claim *c, const char *list) {
    const cJSON *x;
    cJSON_ArrayForEach(x, cJSON_GetObjectItem(c->expected, list)) {
        const finding *f = support_finding(c->audit, outcome_by_name(text_of(x, "outcome")),
                                           rule_by_word(text_of(x, "rule")), NULL, NULL);
        cr_expect_not_null(f, "%s: %s of %s: %s%s", c->id, text_of(x, "outcome"),
                           text_of(x, "rule"), text_of(x, "what"), support_told(c->audit));
    }
}

static void check_findings(const corpus_claim *c) {
    check_listed(c, "findings");
}

static void check_passes(const corpus_claim *c) {
    check_listed(c, "passes");
}

Test(audit_corpus, expected_findings) {
    each(check_findings);
}

Test(audit_corpus, expected_passes) {
    each(check_passes);
}

/* A fail of a rule that the file does not list is a false alarm. */
static void check_false_alarms(const corpus_claim *c) {
    for (size_t i = 0; i < c->audit->findings_n; i++) {
        const finding *f = &c->audit->findings[i];
        const cJSON *x;
        bool listed = false;
        cJSON_ArrayForEach(x, cJSON_GetObjectItem(c->expected, "findings")) listed |=
            strcmp(text_of(x, "rule"), f->rule->word) == 0 &&
            strcmp(text_of(x, "outcome"), "fail") == 0;
        cr_expect(f->outcome != AUDIT_FAIL || listed, "%s: %s/%s %s: %s", c->id, f->rule->word,
                  f->check, f->about, f->why);
    }
}

Test(audit_corpus, no_false_alarm) {
    each(check_false_alarms);
}

/* ---- numbers, worked out from what the claims print ---- */

typedef struct number {
    int claim;
    audit_outcome outcome;
    rule_id rule;
    const char *check, *about;
    double expected, found, within;
} number;

Test(audit_corpus, numbers) {
    static const number N[] = {
        /* 2 x 40 layers x 64 heads x 128 x 2 B x 2,048 tokens in MiB */
        {1, AUDIT_PASS, R_MEMORY, "kv-bytes", "kv_command_r_35b",
         2.0 * 40 * 64 * 128 * 2 * 2048 / 1048576, 2560, 1e-6},
        {1, AUDIT_PASS, R_CONSISTENCY, "keys-values", "kv_llama3_70b", 320 + 320, 640, 1e-6},
        /* 88 tokens in 5.9361 s; 0.504 x 3 drafted tokens; 47 x (1 + 1.51) */
        {2, AUDIT_PASS, R_RATIO, "rate", "a_rate (Gemma 4 31B)", 88 / 5.9361, 14.8, 0.05},
        {2, AUDIT_PASS, R_RATIO, "accepted", "b_mean_accepted (Qwen 3.8 27B)", 0.504 * 3, 1.51,
         0.0051},
        {2, AUDIT_PASS, R_CONSISTENCY, "rounds", "b_generated (Qwen 3.8 27B)", 47 * 2.51, 119, 1.1},
        {2, AUDIT_PASS, R_RATIO, "wall", "a_wall (Gemma 4 31B)", 0.306 + 5.9361, 6.2, 0.05},
        /* 5 x 256 tokens over 0.89 to 0.98 s of first-token wait and 256 tokens at 40 tok/s */
        {3, AUDIT_PASS, R_POPULATION, "aggregate", "mlxlm_5", 5 * 256 / (0.935 + 256 / 40.0), 173.6,
         1.5},
        {3, AUDIT_PASS, R_RATIO, "ratio", "aggregate_gap_5_streams", 173.6 / 98.2, 1.8, 0.05},
        /* 2 x 80 x 8 x 128 x 2 B x 32,768 x 8 in GB, against 140 GB */
        {4, AUDIT_FAIL, R_CONSISTENCY, "statement", "kv_32k_8", 140, 86, 1e-6},
        {4, AUDIT_PASS, R_MEMORY, "kv-bytes", "kv_16k_1", 327680.0 * 16384 / 1e9, 5.4, 0.05},
        {4, AUDIT_FAIL, R_RATIO, "kv-bytes", "kv_128k_8", 327680.0 * 131072 * 8 / 1e9, 343, 1e-3},
        /* 8 x 64 tokens in 3.04 s are the printed 168.5 tok/s */
        {5, AUDIT_FAIL, R_POPULATION, "first-or-last", "static", 168.5, 512 / 3.04, 0.5},
        /* 85 tok/s x 140 GB in GB/s of 3,350; 35 of 2,039 */
        {6, AUDIT_FAIL, R_FLOOR, "weight-stream", "h100_vllm (H100 x1 vLLM)", 3350, 85 * 140.0,
         1e-6},
        {6, AUDIT_FAIL, R_FLOOR, "weight-stream", "a100_vllm (A100 x1 vLLM)", 2039, 35 * 140.0,
         1e-6},
        {6, AUDIT_FAIL, R_FLOOR, "weight-stream", "h100_fp8 (H100 x1)", 3350, 155 * 70.0, 1e-6},
        /* 2 cards; even four-bit weights of 35 GB would need 7,700 of 6,700 GB/s */
        {6, AUDIT_FAIL, R_FLOOR, "weight-stream", "h100x2_trt (H100 x2)", 2 * 3350, 220 * 35.0,
         1e-6},
        {6, AUDIT_FAIL, R_FLOOR, "weight-stream", "h200x8_trt (H200 x8)", 8 * 4800, 850 * 140.0,
         1e-6},
        /* the ceiling of 23.93 tok/s over 2.99 USD an hour; 132,400 stands for 132,350 to 132,450
         */
        {6, AUDIT_FAIL, R_CARD, "inherited", "tpd_h100", 3350 / 140.0 * 3600 / 2.99, 132400, 11},
        {6, AUDIT_PASS, R_RATIO, "price", "tpd_l40s (L40S CoreWeave)", 25 * 3600 / 1.58, 56960, 5},
    };
    corpus_claim c;
    for (int i = 1; i <= CORPUS_N; i++) {
        if (!load(i, &c)) cr_skip_test("no corpus");
        for (size_t k = 0; k < sizeof N / sizeof *N; k++) {
            if (N[k].claim != i) continue;
            const finding *f =
                support_finding(c.audit, N[k].outcome, N[k].rule, N[k].check, N[k].about);
            cr_expect_not_null(f, "%s: no %s %s %s:%s", c.id, RULES[N[k].rule].word, N[k].check,
                               N[k].about, support_told(c.audit));
            if (!f) continue;
            cr_expect_float_eq(f->expected, N[k].expected, N[k].within, "%s %s: %.10g, by hand %g",
                               c.id, f->about, f->expected, N[k].expected);
            cr_expect_float_eq(f->found, N[k].found, N[k].within, "%s %s: %.10g, by hand %g", c.id,
                               f->about, f->found, N[k].found);
        }
    }
}

/* ---- what does not need the corpus ---- */

/* One claim in the older shape and in the present one: the same is found. 80 layers x 8 heads x 128
 * x 2 x 2 B are 327,680 bytes a token, 8,192 tokens 2.684 GB; 2.5 GiB are right, 2.5 GB are not. */
Test(audit_corpus, both_shapes_say_the_same) {
    static const char BODY[] =
        "\"hardware\": {\"chip\": null}, \"model\": {\"name\": \"m\", \"layers\": 80, "
        "\"full_attention_layers\": 80, \"kv_heads\": 8, \"head_dim\": 128, "
        "\"kv_bytes_per_element\": 2}, \"workload\": {\"context_tokens\": 8192}, \"figures\": "
        "[{\"name\": \"kv\", \"value\": 2.5, \"unit\": \"%s\", \"digits_as_printed\": \"2.5\"}]}";
    for (int bad = 0; bad < 2; bad++)
        for (int old = 0; old < 2; old++) {
            const char *body = arena_printf(support_arena(), BODY, bad ? "GB" : "GiB");
            const char *head = old ? "{\"id\": \"a\", \"title_in_own_words\": \"t\", "
                                   : "{\"schema\": \"ratecast.claim/1\", \"id\": \"a\", "
                                     "\"title\": \"t\", ";
            const audit *a = support_audit_text(arena_printf(support_arena(), "%s%s", head, body));
            cr_expect_eq(a->verdict, bad ? VERDICT_DEFECT : VERDICT_SOUND, "%s", support_told(a));
            cr_expect_eq(support_finding(a, AUDIT_FAIL, R_UNITS, "kv-bytes", "kv") != NULL, bad);
            /* the number follows from the architecture either way; the label does not */
            cr_expect_not_null(support_finding(a, AUDIT_PASS, R_MEMORY, "kv-bytes", "kv"));
        }
}
