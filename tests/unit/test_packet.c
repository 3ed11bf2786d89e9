/* The published rules of the agentic-comparison packet. packets/example.json holds the format's
 * fields with the published figures; each row of MUTANTS changes one thing and must be rejected by
 * exactly one rule. Tolerances: boundary max(0.1 ms, 0.1 % of the wall), speedup 0.05, memory saved
 * 0.5 MB, TTFT ratio 0.5. */
#include "support.h"

#include "audit/packet.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char EXAMPLE[] = RATECAST_REPO "/tests/unit/packets/example.json";

static cJSON *example(void) {
    arena *mem = support_arena();
    file_bytes f = {0};
    err e = {0};
    cr_assert_eq(file_read(EXAMPLE, mem, &f, &e), OK, "%s", e.what);
    cJSON *root = cJSON_Parse(f.s);
    cr_assert_not_null(root);
    return root;
}

static packet_check checked(const cJSON *root) {
    static packet_check p;
    char *text = cJSON_Print(root);
    file_bytes f = {.name = "packet", .s = text, .len = strlen(text)};
    err e = {0};
    file_sha256_hex(f.s, f.len, f.sha256);
    cr_assert_eq(packet_parse(&f, support_arena(), &p, &e), OK, "%s", e.what);
    cJSON_free(text);
    return p;
}

/* Steps through "arms/0/quality/passed"; the last key stays in `key`. */
static cJSON *parent_of(cJSON *root, const char *path, char *key, size_t cap) {
    cJSON *node = root;
    for (;;) {
        size_t n = strcspn(path, "/");
        snprintf(key, cap, "%.*s", (int)n, path);
        if (path[n] == '\0') return node;
        node = cJSON_IsArray(node) ? cJSON_GetArrayItem(node, atoi(key))
                                   : cJSON_GetObjectItemCaseSensitive(node, key);
        cr_assert_not_null(node, "no %s in the example", key);
        path += n + 1;
    }
}

/* NULL: taken away. */
static void change(cJSON *root, const char *path, const char *json) {
    char key[64];
    cJSON *at = parent_of(root, path, key, sizeof key);
    cJSON *v = json ? cJSON_Parse(json) : NULL;
    cr_assert(!json || v, "the test's own value: %s", json);
    if (cJSON_IsArray(at)) {
        if (v)
            cJSON_ReplaceItemInArray(at, atoi(key), v);
        else
            cJSON_DeleteItemFromArray(at, atoi(key));
        return;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(at, key);
    if (v) cJSON_AddItemToObject(at, key, v);
}

static void rejected_by(const cJSON *root, const char *rule, const char *what) {
    packet_check p = checked(root);
    cr_assert_not(p.valid, "%s: valid", what);
    char all[600] = "";
    for (size_t i = 0; i < p.n; i++) {
        size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, " [%s: %s]", p.violations[i].rule, p.violations[i].what);
    }
    cr_assert_eq(p.n, 1, "%s:%s, expected %s alone", what, all, rule);
    cr_assert_str_eq(p.violations[0].rule, rule, "%s:%s, expected %s", what, all, rule);
}

Test(packet, example_is_valid_under_its_own_gate) {
    cJSON *root = example();
    packet_check p = checked(root);
    cr_assert(p.valid, "%s", p.n ? p.violations[0].what : "");
    cr_assert_float_eq(p.speedup_ratio, 1.91, 1e-12);
    cr_assert_float_eq(p.gate, 1.5, 1e-12);
    cr_assert_not(p.legacy);
    cr_assert_not_null(p.claim);
    cJSON_Delete(root);
}

/* Fields that have to be there, and a value that each must not have. */
static const struct {
    const char *path, *wrong;
} FIELDS[] = {
    {"schema", "\"fak.macbench.agentic-comparison.v2\""},
    {"generated_at", "\"2026-09-05\""},
    {"campaign_id", "\"\""},
    {"host_id", "\"66\""},
    {"provenance", "\"MEASURED\""},
    {"is_physical_silicon", "\"no\""},
    {"model/family", "\"Qwen3.5\""},
    {"model/id", "\"qwen3.80\""},
    {"model/source_revision", "\"\""},
    {"model/canonical_weights_sha256",
     "\"7e78da5d7e3ae28d178121f58646953305f3e5bd3cb46f4a75584e8b6c6fe16\""},
    {"model/quant", "\"Q8_0\""},
    {"hardware/model", "\"\""},
    {"hardware/chip", "3"},
    {"hardware/memory_bytes", "0"},
    {"os/name", "\"\""},
    {"os/version", "\" \""},
    {"os/build", "null"},
    {"workload/concurrency", "1"},
    {"workload/horizon", "4"},
    {"workload/shared_prefix_tokens", "1023"},
    {"workload/turn_delta_tokens", "0"},
    {"workload/turn_output_tokens", "0.5"},
    {"quality_policy/id", "\"\""},
    {"quality_policy/version", "1"},
    {"quality_policy/sha256", "\"zz\""},
    {"quality_policy/minimum_score", "0"},
    {"summary/memory_saved_mb", "-1"},
    {"summary/ttft_speedup_p50", "0"},
    {"summary/speedup_ratio", "\"1.91\""},
    {"summary/verified", "false"},
    {"arms/0/engine", "\"llama.cpp\""},
    {"arms/1/engine", "\"fak-native\""},
    {"arms/0/runtime", "\"reference\""},
    {"arms/1/runtime", "\"inkernel\""},
    {"arms/0/prefix_strategy", "\"slot-isolated\""},
    {"arms/1/prefix_strategy", "\"radix-shared\""},
    {"arms/0/prefix_eval_count", "2"},
    {"arms/1/prefix_eval_count", "3"},
    {"arms/0/p50_ttft_ms", "0"},
    {"arms/1/p50_ttft_ms", "0"},
    {"arms/0/reused_tokens", "0"},
    {"arms/1/reused_tokens", "-1"},
    {"arms/0/reuse_ratio", "0.69"},
    {"arms/1/reuse_ratio", "1.01"},
    {"arms/0/runtime_revision", "\"\""},
    {"arms/1/prompt_tokens", "0"},
    {"arms/0/total_wall_ms", "0"},
    {"arms/1/total_wall_ms", "-5"},
    {"arms/0/prefill_ms", "-1"},
    {"arms/1/decode_ms", "-1"},
    {"arms/1/queue_contention_ms", "-1"},
    {"arms/0/p95_ttft_ms", "0"},
    {"arms/0/peak_memory_mb", "0"},
    {"arms/1/agents_per_gb", "0"},
    {"arms/0/effective_tok_s", "-12"},
    {"arms/0/quality/passed", "false"},
    {"arms/1/quality/policy_id", "\"another\""},
    {"arms/0/quality/policy_version", "\"2\""},
    {"arms/1/quality/policy_sha256",
     "\"9999999999999999999999999999999999999999999999999999999999999999\""},
    {"arms/0/quality/result_sha256", "\"\""},
    {"arms/1/raw_result/sha256", "\"dd\""},
    {"arms/0/repro", "[]"},
};

Test(packet, a_missing_field_is_rejected_by_its_rule_alone) {
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        cJSON *root = example();
        change(root, FIELDS[i].path, NULL);
        rejected_by(root, FIELDS[i].path, FIELDS[i].path);
        cJSON_Delete(root);
    }
}

Test(packet, a_wrong_field_is_rejected_by_its_rule_alone) {
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        cJSON *root = example();
        change(root, FIELDS[i].path, FIELDS[i].wrong);
        rejected_by(root, FIELDS[i].path, FIELDS[i].path);
        cJSON_Delete(root);
    }
}

/* Just outside a tolerance, and just inside it. */
static const struct {
    const char *path, *outside, *inside, *rule;
} EDGES[] = {
    /* 786,100 / 410,900 = 1.913117: 0.05 either way */
    {"summary/speedup_ratio", "1.9632", "1.9631", "summary/speedup_ratio"},
    {"summary/speedup_ratio", "1.8631", "1.8632", "summary/speedup_ratio"},
    /* 25,792 - 22,208 = 3,584 */
    {"summary/memory_saved_mb", "3584.51", "3584.5", "summary/memory_saved_mb"},
    {"summary/memory_saved_mb", "3583.49", "3583.5", "summary/memory_saved_mb"},
    /* 84,480 / 12.6 = 6,704.7619 */
    {"summary/ttft_speedup_p50", "6705.27", "6705.26", "summary/ttft_speedup_p50"},
    {"summary/ttft_speedup_p50", "6704.26", "6704.27", "summary/ttft_speedup_p50"},
    /* 182,400 + 228,500 = 410,900; 0.1 % of it is 410.9 */
    {"arms/0/prefill_ms", "182811", "182810.8", "boundary"},
    {"arms/0/decode_ms", "228089", "228089.2", "boundary"},
    /* the example's own gate is 1.5, its ratio 1.91 */
    {"min_speedup_ratio", "1.92", "1.91", "gate"},
    {"arms/0/reuse_ratio", "0.6999", "0.70", "arms/0/reuse_ratio"},
    {"workload/horizon", "4", "5", "workload/horizon"},
    {"workload/shared_prefix_tokens", "1023", "1024", "workload/shared_prefix_tokens"},
    {"arms/0/p95_ttft_ms", "12.5", "12.6", "p95_at_least_p50"},
    {"arms/0/reused_tokens", "483841", "483840", "reused_within_prompt"},
    {"workload/concurrency", "5", "3", "arms/1/prefix_eval_count"},
    {"unmodeled_effects", "[\"a\", \"b\"]", "[\"a\", \"b\", \"c\"]", "unmodeled_effects"},
    {"unmodeled_effects", "null", "[\"a\", \"b\", \"c\", \"d\"]", "unmodeled_effects"},
    {"provenance", "\"WITNESSED\"", "\"SIMULATED\"", "provenance_physical"},
    {"generated_at", "\"2026-02-29T12:00:00Z\"", "\"2024-02-29T12:00:00.5+02:00\"", "generated_at"},
    {"generated_at", "\"2026-09-05T12:00:00\"", "\"2026-09-05T23:59:60Z\"", "generated_at"},
    {"generated_at", "\"2026-09-05T24:00:00Z\"", "\"2026-09-05T12:00:00-05:30\"", "generated_at"},
    {"model/id", "\"qwen3.8x\"", "\"QWEN3.8\"", "model/id"},
    {"model/id", "\"qwen3.8-\"", "\"Qwen3.8-4B-Instruct\"", "model/id"},
    {"min_speedup_ratio", "\"1.5\"", "0", "min_speedup_ratio"},
};

Test(packet, tolerances_are_kept_to_the_edge) {
    for (size_t i = 0; i < sizeof EDGES / sizeof *EDGES; i++) {
        cJSON *root = example();
        change(root, EDGES[i].path, EDGES[i].outside);
        rejected_by(root, EDGES[i].rule, EDGES[i].outside);
        cJSON_Delete(root);
        root = example();
        change(root, EDGES[i].path, EDGES[i].inside);
        packet_check p = checked(root);
        cr_assert(p.valid, "%s = %s: %s", EDGES[i].path, EDGES[i].inside,
                  p.n ? p.violations[0].what : "");
        cJSON_Delete(root);
    }
}

/* p50 of the shared arm above 25 ms; p95 and the printed ratio go along. */
Test(packet, interactive_ttft_is_gated_at_25_ms) {
    cJSON *root = example();
    change(root, "arms/0/p50_ttft_ms", "25.01");
    change(root, "arms/0/p95_ttft_ms", "26");
    change(root, "summary/ttft_speedup_p50", "3377.85"); /* 84,480 / 25.01 */
    rejected_by(root, "arms/0/p50_ttft_ms", "25.01 ms");
    change(root, "arms/0/p50_ttft_ms", "25");
    change(root, "summary/ttft_speedup_p50", "3379.2"); /* 84,480 / 25 */
    cr_assert(checked(root).valid);
    cJSON_Delete(root);
}

Test(packet, exactly_the_two_arms) {
    cJSON *root = example();
    change(root, "arms/1/name", "\"vllm\"");
    rejected_by(root, "arms", "another arm");
    cJSON_Delete(root);
    root = example();
    change(root, "arms/1", NULL);
    rejected_by(root, "arms", "one arm");
    cJSON_Delete(root);
    root = example();
    cJSON_AddItemToArray(
        cJSON_GetObjectItem(root, "arms"),
        cJSON_Duplicate(cJSON_GetArrayItem(cJSON_GetObjectItem(root, "arms"), 0), 1));
    rejected_by(root, "arms", "three arms");
    cJSON_Delete(root);
    root = example();
    change(root, "arms", NULL);
    rejected_by(root, "arms", "no arms");
    cJSON_Delete(root);
}

/* The order of the arms means nothing. */
Test(packet, arms_are_found_by_name) {
    cJSON *root = example();
    cJSON *arms = cJSON_GetObjectItem(root, "arms");
    cJSON_AddItemToArray(arms, cJSON_DetachItemFromArray(arms, 0));
    cr_assert(checked(root).valid);
    cJSON_Delete(root);
}

/* 182,400 + 228,500 + 1,600 = 412,500 and 504,800 + 281,300 + 946,400 = 1,732,500: the accounting
 * before the correction, 4.2 times. */
static cJSON *legacy(void) {
    cJSON *root = example();
    change(root, "arms/0/total_wall_ms", "412500");
    change(root, "arms/1/total_wall_ms", "1732500");
    change(root, "summary/speedup_ratio", "4.2");
    return root;
}

Test(packet, legacy_accounting_is_recognised_and_gated_at_four) {
    cJSON *root = legacy();
    packet_check p = checked(root);
    cr_assert(p.valid, "%s", p.n ? p.violations[0].what : "");
    cr_assert(p.legacy);
    cr_assert_float_eq(p.gate, 4.0, 1e-12);
    /* the reference without its slot penalty: 1,132,500 / 412,500 = 2.745 */
    change(root, "arms/1/total_wall_ms", "1132500");
    change(root, "arms/1/queue_contention_ms", "346400");
    change(root, "summary/speedup_ratio", "2.75");
    rejected_by(root, "gate", "legacy below four");
    change(root, "min_speedup_ratio", "5");
    rejected_by(root, "gate", "its own gate is higher still");
    cr_assert_float_eq(checked(root).gate, 5.0, 1e-12);
    cJSON_Delete(root);
}

Test(packet, gate_of_a_packet_that_names_none) {
    cJSON *root = example();
    change(root, "min_speedup_ratio", NULL);
    cr_assert(checked(root).valid);
    cr_assert_float_eq(checked(root).gate, 1.5, 1e-12);
    change(root, "min_speedup_ratio", "-1");
    cr_assert_float_eq(checked(root).gate, 1.5, 1e-12);
    change(root, "quality_policy/id", "\"agentic-4x-parity\"");
    change(root, "arms/0/quality/policy_id", "\"agentic-4x-parity\"");
    change(root, "arms/1/quality/policy_id", "\"agentic-4x-parity\"");
    rejected_by(root, "gate", "a 4x policy");
    cJSON_Delete(root);
}

/* 100 ms of wall: the tolerance is 0.1 ms, not 0.1 %. */
Test(packet, short_walls_have_a_tolerance_in_milliseconds) {
    cJSON *root = example();
    change(root, "arms/0/total_wall_ms", "50");
    change(root, "arms/0/prefill_ms", "20");
    change(root, "arms/1/total_wall_ms", "100");
    change(root, "arms/1/prefill_ms", "50");
    change(root, "arms/1/decode_ms", "50");
    change(root, "summary/speedup_ratio", "2");
    change(root, "arms/0/decode_ms", "30.09");
    cr_assert(checked(root).valid);
    change(root, "arms/0/decode_ms", "30.11");
    rejected_by(root, "boundary", "0.11 ms off");
    cJSON_Delete(root);
}

Test(packet, all_violations_are_reported_together) {
    cJSON *root = example();
    change(root, "campaign_id", "\"\"");
    change(root, "model/quant", "\"Q8_0\"");
    change(root, "arms/1/prefix_eval_count", "1");
    change(root, "summary/verified", "false");
    cr_assert_eq(checked(root).n, 4);
    cJSON_Delete(root);
}

Test(packet, a_key_twice_is_a_violation) {
    cJSON *root = example();
    cJSON_AddNumberToObject(root, "min_speedup_ratio", 1.0);
    rejected_by(root, "duplicate", "min_speedup_ratio twice");
    cJSON_Delete(root);
}

/* Witnessed on silicon needs no list of what was not modeled. */
Test(packet, silicon_may_be_witnessed) {
    cJSON *root = example();
    change(root, "is_physical_silicon", "true");
    change(root, "provenance", "\"WITNESSED\"");
    change(root, "unmodeled_effects", NULL);
    cr_assert(checked(root).valid);
    cJSON_Delete(root);
}

Test(packet, no_object_is_an_error) {
    err e = {0};
    packet_check p;
    file_bytes f = {.name = "p", .s = "[]", .len = 2};
    cr_assert_eq(packet_parse(&f, support_arena(), &p, &e), E_SCHEMA);
    e = (err){0};
    f = (file_bytes){.name = "p", .s = "{", .len = 1};
    cr_assert_eq(packet_parse(&f, support_arena(), &p, &e), E_SYNTAX);
}

/* The digest is of the bytes: a blank more is another packet. */
Test(packet, digest_is_of_the_bytes) {
    char a[65], b[65];
    err e = {0};
    file_bytes f = {0};
    packet_check p;
    cr_assert_eq(file_read(EXAMPLE, support_arena(), &f, &e), OK);
    cr_assert_eq(packet_parse(&f, support_arena(), &p, &e), OK);
    file_sha256_hex(f.s, f.len, a);
    cr_assert_str_eq(p.sha256, a);
    file_sha256_hex(f.s, f.len - 1, b);
    cr_assert_str_neq(p.sha256, b);
}
