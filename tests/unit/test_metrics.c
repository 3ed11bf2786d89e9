#include "support.h"

#include "capacity.h"

#include <stdio.h>

static const projection *session(const char *work, const char *engine, const char *more) {
    char json[4096];
    snprintf(json, sizeof json,
             "{\"schema\":\"ratecast.scenario/"
             "1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"qwen2.5-7b-instruct-q8_0-m3pro\","
             "\"workload\":{%s,\"turn_shape\":\"delta_first\"},\"arms\":[{\"name\":\"a\",%s}],"
             "\"assumptions\":["
             "{\"term\":\"prefill_tok_s\",\"value\":1000,\"provenance\":\"assumed\",\"reason\":"
             "\"test\"},"
             "{\"term\":\"decode_tok_s\",\"value\":10,\"gain_per_seq_frac\":1,\"provenance\":"
             "\"assumed\",\"reason\":\"test\"}%s]}",
             work, engine, more);
    return support_project_text(json);
}
#define W(K, H, P, in, out)                                                                        \
    "\"K\":" #K ",\"H\":" #H ",\"P\":" #P ",\"turn_delta_in_tok\":" #in ",\"turn_out_tok\":" #out
#define OWN "\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\""

/* arrival-at-a-step-border-misses-it */
Test(metrics, arrival_at_a_step_border_is_served_at_it) {
    const arm_result *r =
        &session(W(2, 1, 0, 100, 10) ",\"start_offsets_s\":[0,0.3]", OWN, "")->arms[0];
    cr_expect_eq(r->sim.turns[1].start_ns, 300000000);
    cr_expect_eq(r->sim.wall_ns, 1300000000);
}

/* constants-swap-ends */
Test(metrics, a_constant_stands_at_its_end) {
    const arm_result *r = &session(W(1, 1, 0, 100, 11), OWN,
                                   ",{\"term\":\"constant_s\",\"value\":3,\"at\":\"start\",\"per\":"
                                   "\"session\",\"provenance\":\"assumed\",\"reason\":\"t\"}"
                                   ",{\"term\":\"constant_s\",\"value\":5,\"at\":\"end\",\"per\":"
                                   "\"session\",\"provenance\":\"assumed\",\"reason\":\"t\"}")
                               ->arms[0];
    cr_expect_eq(r->sim.turns[0].first_ns, 3100000000);
    cr_expect_eq(r->sim.turns[0].done_ns, 4100000000);
    cr_expect_eq(r->sim.wall_ns, 9100000000);
    cr_expect_eq(r->sim.other_ns, 8000000000);
}

/* Mixed prefill priced by a card's own curves. */
static const projection *mixed_session(const char *assumptions) {
    char json[1024];
    snprintf(
        json, sizeof json,
        "{\"schema\":\"ratecast.scenario/"
        "1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"qwen2-7b-like-q8_0-h200-split\","
        "\"workload\":{\"K\":8,\"H\":1,\"P\":2000,\"turn_delta_in_tok\":64,\"turn_out_tok\":40,"
        "\"turn_shape\":\"delta_first\"},"
        "\"arms\":[{\"name\":\"a\",\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\","
        "\"prefill\":\"mixed\",\"max_batch_tok\":2048}],\"assumptions\":[%s]}",
        assumptions);
    return support_project_text(json);
}

/* micro-batch-remainder-dropped-in-mixed, mixed-without-decode-attention */
Test(metrics, mixed_rows_by_hand) {
    const projection *p = mixed_session("");
    const cost *c = p->arms[0].cost;
    const prefill_curve *q = cost_prefill_curve(c);
    cr_assert_eq(q->n_ubatch, 512);
    /* 5 rows of decode and 600 of a prompt at depth 1000: a full pass of 512 rows and one of 93 */
    double passes = prefill_curve_step_s(q, 512) + prefill_curve_step_s(q, 93);
    double attention = prefill_curve_attention_s(q, 600, 1000) +
                       decode_curve_at(cost_decode_curve(c), 5).own_s * 5 * 3000;
    int64_t got = cost_mixed_ns(c, 5, 5 * 3000, &(prompt_piece){600, 1000}, 1);
    cr_expect_float_eq((double)got, (passes + attention) * 1e9, 1);
    /* host time of a decode step: none where only prompt rows run */
    const cost *h = mixed_session("{\"term\":\"host_step_s\",\"value\":0.01,\"provenance\":"
                                  "\"assumed\",\"reason\":\"t\"}")
                        ->arms[0]
                        .cost;
    int64_t with = cost_mixed_ns(h, 5, 5 * 3000, &(prompt_piece){600, 1000}, 1);
    cr_expect_float_eq((double)(with - got), 1e7, 1);
    cr_expect_eq(cost_mixed_ns(h, 0, 0, &(prompt_piece){600, 1000}, 1),
                 cost_mixed_ns(c, 0, 0, &(prompt_piece){600, 1000}, 1));
}

/* queue-wait-term-counts-the-own-prefill */
Test(metrics, queue_wait_term) {
    const arm_result *r =
        &session(W(4, 1, 1000, 100, 11), OWN,
                 ",{\"term\":\"queue_wait_in_wall\",\"provenance\":\"assumed\",\"reason\":\"t\"}")
             ->arms[0];
    cr_expect_eq(r->sim.other_ns, 6000000000, "0 + 1 + 2 + 3 prefixes of 1 s");
}

/* host-time-left-out-of-the-step */
Test(metrics, host_time_is_in_every_step) {
    const arm_result *r = &session(W(1, 1, 0, 100, 11), OWN,
                                   ",{\"term\":\"host_step_s\",\"value\":0.01,\"provenance\":"
                                   "\"assumed\",\"reason\":\"t\"}")
                               ->arms[0];
    cr_expect_eq(r->sim.decode_ns, 10 * (int64_t)100000000);
    cr_expect_eq(r->sim.other_ns, 10 * (int64_t)10000000, "the device waits for it");
    cr_expect_eq(r->sim.host_ns, r->sim.other_ns);
    cr_expect_eq(r->sim.wall_ns, 100000000 + 10 * (int64_t)110000000);
    cr_expect_eq(r->m.itl.p50_ns, 110000000);
}

static bool notes_have(const arm_result *r, const char *text) {
    for (size_t i = 0; i < r->notes_n; i++)
        if (strstr(r->notes[i], text)) return true;
    return false;
}

/* What is declared is not said to be left out. */
Test(metrics, host_time_is_noted_as_it_is_priced) {
    const char *declared = ",{\"term\":\"host_step_s\",\"value\":0.01,\"provenance\":\"assumed\","
                           "\"reason\":\"t\"}";
    for (int host = 0; host < 2; host++) {
        const arm_result *r = &session(W(1, 1, 0, 100, 11), OWN, host ? declared : "")->arms[0];
        cr_expect_eq(notes_have(r, "host_step_s declares, 0.01 s a decode step"), host == 1);
        cr_expect_eq(notes_have(r, "is not priced: counted as 0"), host == 0);
    }
}

/* Every term that costs time weakens the projection to its own class: one without evidence can be
 * no better than assumed, and one with a source is the class that it declares. */
Test(metrics, a_projection_is_its_weakest_assumption) {
    static const char *const TERMS[] = {
        "prefill_tok_s\",\"value\":900",
        "delta_prefill_s\",\"value\":0.01",
        "prefill_context_s_per_tok2\",\"value\":0",
        "decode_tok_s\",\"value\":30,\"gain_per_seq_frac\":0.5",
        "decode_gain_card\",\"card\":\"qwen2.5-7b-instruct-q8_0-m3pro\",\"context_tok\":2048",
        "decode_context_s_per_tok\",\"value\":0",
        "host_step_s\",\"value\":0.001",
        "constant_s\",\"value\":1",
        "queue_wait_in_wall\"",
    };
    static const struct {
        const char *words;
        prov want;
    } CLASSES[] = {{"assumed\"", PROV_ASSUMED},
                   {"claim\"", PROV_CLAIM},
                   {"witnessed\",\"source\":\"s\"", PROV_MODELED},
                   {"roofline\",\"source\":\"s\"", PROV_ROOFLINE}};
    for (size_t i = 0; i < sizeof TERMS / sizeof *TERMS; i++)
        for (size_t j = 0; j < sizeof CLASSES / sizeof *CLASSES; j++) {
            char json[2048];
            snprintf(json, sizeof json,
                     "{\"schema\":\"ratecast.scenario/1\",\"id\":\"t\",\"title\":\"t\",\"card\":"
                     "\"qwen2-7b-like-q8_0-h200-split\",\"workload\":{" W(
                         2, 2, 1000, 100,
                         11) ",\"turn_shape\":\"delta_first\"},\"arms\":[{\"name\":\"a\"," OWN
                             "}],\"assumptions\":[{\"term\":\"%s,\"reason\":\"t\",\"provenance\":"
                             "\"%s}]}",
                     TERMS[i], CLASSES[j].words);
            cr_expect_eq(projection_prov(support_project_text(json)), CLASSES[j].want, "%s: %s",
                         TERMS[i], CLASSES[j].words);
        }
}

/* Mixed: the host's time comes with a decode step, not with an iteration of prompt rows alone. The
 * second agent sends while the first decodes: 1 s of its prompt shares one of ten steps. */
Test(metrics, host_time_is_of_decode_steps_in_mixed_batches) {
    const arm_result *r = &session(W(2, 1, 0, 1000, 11) ",\"start_offsets_s\":[0,1.05]",
                                   OWN ",\"prefill\":\"mixed\",\"max_batch_tok\":2000",
                                   ",{\"term\":\"host_step_s\",\"value\":0.01,\"provenance\":"
                                   "\"assumed\",\"reason\":\"t\"}")
                               ->arms[0];
    cr_expect_eq(r->sim.prefill_ns, 2000000000);
    /* steps at 1.00 and, with the prompt, at 1.11; then eight of both, and two of the second */
    cr_expect_eq(r->sim.decode_ns, 12 * (int64_t)100000000);
    cr_expect_eq(r->sim.other_ns, 12 * (int64_t)10000000);
    cr_expect_eq(r->sim.wall_ns, 2000000000 + 12 * (int64_t)110000000);
}

/* p95-is-p99 */
Test(metrics, percentiles_by_hand) {
    int64_t v[100];
    for (int64_t i = 0; i < 100; i++) v[i] = i + 1;
    percentiles p = percentiles_of_sorted(v, 100);
    cr_expect_eq(p.n, 100);
    cr_expect_eq(p.p50_ns, 50);
    cr_expect_eq(p.p95_ns, 95);
    cr_expect_eq(p.p99_ns, 99);
    cr_expect_eq(p.max_ns, 100);
    cr_expect_float_eq(p.mean_ns, 50.5, 1e-12);
}

/* gap-percentile-one-run-too-far: 20 gaps, 19 of 0.1 s and one of 0.2 s */
Test(metrics, gap_percentiles_by_hand) {
    const arm_result *r =
        &session(W(2, 1, 0, 100, 11) ",\"start_offsets_s\":[0,0.25]", OWN, "")->arms[0];
    cr_expect_eq(r->m.itl.n, 20);
    cr_expect_eq(r->m.itl.p95_ns, 100000000);
    cr_expect_eq(r->m.itl.p99_ns, 200000000);
}

/* ttft-from-the-start-of-the-prompt, cold-turns-are-the-first-k */
Test(metrics, ttft_by_hand) {
    /* lockstep, so turns do not overlap: cold prompts of 1 s each, warm ones of 101 tokens */
    const arm_result *r = &session(W(2, 2, 900, 100, 11),
                                   "\"prefix_reuse\":\"per_slot\",\"batching\":\"lockstep\"", "")
                               ->arms[0];
    cr_expect_eq(r->m.ttft_cold.n, 2);
    cr_expect_eq(r->m.ttft_cold.p50_ns, 1000000000);
    cr_expect_eq(r->m.ttft_cold.max_ns, 2000000000, "the second waits for the first");
    cr_expect_eq(r->m.ttft_warm.p50_ns, 101000000);
    cr_expect_eq(r->m.ttft_warm.max_ns, 202000000);
    cr_expect_eq(r->m.ttft_all.n, 4);
    cr_expect_eq(r->m.queue_wait.max_ns, 1000000000);
}

/* memory-takes-the-smaller-of-reserved-and-resident, slot-padding-rounded-down */
Test(metrics, reserved_memory_counts) {
    const arm_result *r = &session(W(2, 1, 0, 100, 11),
                                   OWN ",\"kv_layout\":\"split\",\"context_tok\":1000,\"context_"
                                       "scope\":\"total\",\"slot_pad_tok\":256",
                                   "")
                               ->arms[0];
    cr_expect_eq(capacity_slot_tok(r->arm), 512, "1000 / 2 = 500, padded to 256");
    cr_expect_eq(capacity_reserved_tok(r->arm), 1024);
    const memory_use *m = &r->m.memory;
    cr_expect_gt(m->kv_reserved_bytes, m->kv_resident_bytes);
    cr_expect_eq(m->peak_bytes,
                 m->weights_bytes + m->overhead_bytes + m->recurrent_bytes + m->kv_reserved_bytes);
}

/* pool-counts-the-prefix-per-agent */
Test(metrics, a_pool_holds_a_shared_prefix_once) {
    const projection *p =
        session(W(4, 1, 1000, 100, 11),
                "\"prefix_reuse\":\"shared\",\"batching\":\"continuous\",\"kv_layout\":\"unified\","
                "\"context_tok\":2000,\"context_scope\":\"total\"",
                "");
    cr_expect_eq(capacity_spare_tok(p->arms[0].arm, &p->scenario->work, support_arena()),
                 2000 - 1000 - 4 * 111);
}

/* A first prompt that is the prefix alone computes its last token again: the forked prefix's own is
 * presented by the warm-up, and the arm says why it presents one token more than the others. */
Test(metrics, a_warm_up_token_that_no_agent_finds) {
    const projection *p = support_project("scenarios/fleet_llama_server_h200.json", NULL, 0);
    const workload *w = &p->scenario->work;
    cr_assert_eq(w->shape, SHAPE_RESULT_AFTER);
    const arm_result *shared = support_arm(p, "prefix-shared-kvu"),
                     *isolated = support_arm(p, "slot-isolated");
    const char *why = "the warm-up computes 1 prefix token that no agent finds";
    cr_expect_eq(isolated->sim.presented_tok, workload_presented_tok(w));
    cr_expect_eq(shared->sim.presented_tok, workload_presented_tok(w) + 1);
    int64_t warm_turns = w->K * (w->H - 1) * (w->turn_delta_in_tok + 1);
    cr_expect_eq(shared->sim.computed_tok, w->P + w->K + warm_turns);
    cr_expect_eq(isolated->sim.computed_tok, w->K * w->P + warm_turns);
    cr_expect(notes_have(shared, why));
    cr_expect_not(notes_have(isolated, why));
}

/* ---- what there is ---- */

static const arm_result *with_weights(int64_t bytes, const char *more) {
    char json[4096];
    snprintf(
        json, sizeof json,
        "{\"schema\":\"ratecast.scenario/1\",\"id\":\"t\",\"title\":\"t\",\"card\":"
        "\"qwen2.5-7b-instruct-q8_0-m3pro\",%s\"workload\":{" W(
            1, 1, 0, 100,
            11) ",\"turn_shape\":\"delta_first\"},\"arms\":[{\"name\":\"a\"," OWN
                "}],\"assumptions\":[{\"term\":\"weights_bytes\",\"value\":%lld,\"provenance\":"
                "\"assumed\",\"reason\":\"t\"}]}",
        more, (long long)bytes);
    return &support_project_text(json)->arms[0];
}

/* The edges, to the byte: what the device has, what it has if its GB are GiB, and a budget, which
 * is what it says and goes before the card. */
Test(metrics, peak_against_what_there_is) {
    const card *c = with_weights(1, "")->arm->card;
    int64_t kv = with_weights(0, "")->m.memory.peak_bytes, has = c->hardware.memory_bytes,
            gib = (int64_t)((double)has * 1.073741824), budget = 5000000000;
    cr_assert_eq(has, (int64_t)36 << 30, "36 GB, as Apple counts them");
    const struct {
        int64_t peak;
        bool budget;
        memory_outcome want;
        int64_t over;
    } CASES[] = {{has, false, MEMORY_FITS, 0},
                 {has + 1, false, MEMORY_CANNOT_TELL, 1},
                 {gib, false, MEMORY_CANNOT_TELL, gib - has},
                 {gib + 1, false, MEMORY_TOO_MUCH, gib + 1 - has},
                 {budget, true, MEMORY_FITS, 0},
                 {budget + 1, true, MEMORY_TOO_MUCH, 1}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const arm_result *a =
            with_weights(CASES[i].peak - kv, CASES[i].budget ? "\"memory_budget_bytes\":5e9," : "");
        char text[160];
        memory_fit_say(a, text, sizeof text);
        cr_assert_eq(a->m.memory.peak_bytes, CASES[i].peak);
        cr_expect_eq(a->fit.outcome, CASES[i].want, "%zu", i);
        cr_expect_eq(a->fit.over_bytes, CASES[i].over, "%zu", i);
        cr_expect_eq(a->fit.is_budget, CASES[i].budget, "%zu", i);
        cr_expect_eq(a->fit.limit_bytes, CASES[i].budget ? budget : has, "%zu", i);
        cr_expect_eq(text[0] != '\0', CASES[i].over > 0, "%zu: %s", i, text);
    }
    const arm_result *much = with_weights(((int64_t)40 << 30) - kv, "");
    char text[160];
    memory_fit_say(much, text, sizeof text);
    cr_expect_str_eq(text, "peak memory is 40960.0 MiB, the device has 36864.0 MiB: 4096.0 MiB too "
                           "much");
}

/* The largest K in the budget fits it, one more does not: two ways to the same edge. */
Test(metrics, one_agent_more_than_the_largest_k_does_not_fit) {
    const char *sets[] = {"workload.K=4"};
    const projection *p = support_project("scenarios/cache_ab.json", sets, 1);
    const arm_result *off = support_arm(p, "cache-off");
    cr_assert_gt(off->k_in_budget, 4);
    for (int64_t more = 0; more < 2; more++) {
        sets[0] =
            arena_printf(support_arena(), "workload.K=%lld", (long long)(off->k_in_budget + more));
        const arm_result *a =
            support_arm(support_project("scenarios/cache_ab.json", sets, 1), "cache-off");
        cr_expect_eq(a->fit.outcome, more ? MEMORY_TOO_MUCH : MEMORY_FITS);
        cr_expect(a->fit.is_budget);
    }
}
