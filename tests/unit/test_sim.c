/* The engine on sessions small enough to work out by hand. Prices are declared, so every second is
 * known. */
#include "support.h"

#include <stdio.h>

/* One arm; prefill 1000 tok/s flat, decode 10 tok/s at B = 1. */
static const projection *session(const char *work, const char *engine, const char *gain) {
    char json[4096];
    snprintf(json, sizeof json,
             "{\"schema\":\"ratecast.scenario/"
             "1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"qwen2.5-7b-instruct-q8_0-m3pro\","
             "\"workload\":{%s},\"arms\":[{\"name\":\"a\",%s}],\"assumptions\":["
             "{\"term\":\"prefill_tok_s\",\"value\":1000,\"provenance\":\"assumed\",\"reason\":"
             "\"test\",\"source\":\"test\"},"
             "{\"term\":\"decode_tok_s\",\"value\":10,\"gain_per_seq_frac\":%s,\"provenance\":"
             "\"assumed\",\"reason\":\"test\",\"source\":\"test\"}]}",
             work, engine, gain);
    return support_project_text(json);
}

/* gain 1: B sequences decode in the time of one, 0.1 s a step. gain 0: the device is shared, 0.1 s
 * x B a step. */
#define PERFECT "1"
#define NO_GAIN "0"
#define W(K, H, P, in, out)                                                                        \
    "\"K\":" #K ",\"H\":" #H ",\"P\":" #P ",\"turn_delta_in_tok\":" #in ",\"turn_out_tok\":" #out  \
    ",\"turn_shape\":\"delta_first\""
#define IDEAL ",\"reuse_last_token\":true"

static double seconds(int64_t ns) {
    return (double)ns / 1e9;
}

/* One agent, one turn: 1 s of prompt, then 9 steps; the prefill itself yields token 1 of 10. */
Test(sim, one_turn) {
    const arm_result *r = &session(W(1, 1, 900, 100, 10),
                                   "\"prefix_reuse\":\"none\",\"batching\":\"continuous\"", PERFECT)
                               ->arms[0];
    cr_expect_eq(r->sim.wall_ns, 1900000000);
    cr_expect_eq(r->sim.turns[0].first_ns, 1000000000);
    cr_expect_eq(r->m.itl.n, 9);
    cr_expect_eq(r->m.itl.p50_ns, 100000000);
    /* the published convention: 10 steps, so that the last token is cached too */
    r = &session(W(1, 1, 900, 100, 10),
                 "\"prefix_reuse\":\"none\",\"batching\":\"continuous\"" IDEAL, PERFECT)
             ->arms[0];
    cr_expect_eq(r->sim.wall_ns, 2000000000);
}

/* One output token is legal: the prefill yields it, no decode step runs. */
Test(sim, one_output_token) {
    const arm_result *r =
        &session(W(2, 3, 0, 100, 1), "\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\"",
                 PERFECT)
             ->arms[0];
    /* prompts 100, 201, 302; cached 0, 100, 201 (the sampled token is not): 100 + 101 + 101 new,
     * twice */
    cr_expect_eq(r->sim.decode_ns, 0);
    cr_expect_eq(r->sim.computed_tok, 2 * 302);
    cr_expect_float_eq(seconds(r->sim.wall_ns), 0.604, 1e-9);
    cr_expect_eq(r->m.itl.n, 0);
}

/* Warm turns compute what is new, plus the last sampled token unless the published convention is
 * asked for. */
Test(sim, reuse_accounting) {
    const arm_result *r =
        &session(W(1, 3, 1000, 50, 20), "\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\"",
                 PERFECT)
             ->arms[0];
    cr_expect_eq(r->sim.turns[0].computed_tok, 1050);
    cr_expect_eq(r->sim.turns[1].computed_tok, 51);
    cr_expect_eq(r->sim.turns[2].computed_tok, 51);
    r = &session(W(1, 3, 1000, 50, 20),
                 "\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\"" IDEAL, PERFECT)
             ->arms[0];
    cr_expect_eq(r->sim.turns[1].computed_tok, 50);
}

/* Two agents: prompts are served one after the other and wait is in TTFT, not in busy time. */
Test(sim, queue_wait_is_in_ttft_only) {
    const arm_result *r =
        &session(W(2, 1, 900, 100, 10), "\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\"",
                 PERFECT)
             ->arms[0];
    cr_expect_eq(r->sim.turns[1].first_ns - r->sim.turns[1].send_ns, 2000000000);
    cr_expect_eq(r->sim.turns[1].start_ns - r->sim.turns[1].send_ns, 1000000000);
    cr_expect_eq(r->sim.prefill_ns, 2000000000);
    cr_expect_eq(r->sim.wall_ns, 2900000000, "both decode together after both prompts");
    cr_expect_eq(r->sim.prefill_ns + r->sim.decode_ns, r->sim.wall_ns);
}

/* A shared prefix is computed once; the second agent waits for the first and computes its own part.
 */
Test(sim, shared_prefix_once) {
    const arm_result *r =
        &session(W(2, 1, 900, 100, 10), "\"prefix_reuse\":\"shared\",\"batching\":\"continuous\"",
                 PERFECT)
             ->arms[0];
    cr_expect_eq(r->sim.prefix_evals, 1);
    cr_expect_eq(r->sim.wall_ns, 1000000000 + 100000000 + 900000000);
    cr_expect_eq(r->sim.reused_cross_tok, 900);
    /* lookups at admission: both came before anybody had computed it */
    r = &session(
             W(2, 1, 900, 100, 10),
             "\"prefix_reuse\":\"shared\",\"first_comers\":\"each\",\"batching\":\"continuous\"",
             PERFECT)
             ->arms[0];
    cr_expect_eq(r->sim.prefix_evals, 2);
}

/* An agent that arrives while another decodes: the running step ends, its prompt goes first, then
 * both decode. Agent 0: prompt 0.1 s, steps from 0.1 s. Agent 1 arrives at 0.25 s, is taken up at
 * 0.3 s (step border), prefills until 0.4 s; agent 0 then has 7 of 9 steps left and both run; agent
 * 1 has 9: 0.4 + 0.7 + 0.2 = 1.3 s. */
Test(sim, arrival_during_decode) {
    const arm_result *r =
        &session(W(2, 1, 0, 100, 10) ",\"start_offsets_s\":[0,0.25]",
                 "\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\"", PERFECT)
             ->arms[0];
    cr_expect_eq(r->sim.turns[1].start_ns, 300000000);
    cr_expect_eq(r->sim.turns[1].first_ns, 400000000);
    cr_expect_eq(r->sim.turns[0].done_ns, 1100000000);
    cr_expect_eq(r->sim.wall_ns, 1300000000);
    cr_expect_eq(r->m.itl.max_ns, 200000000,
                 "agent 0 waited for agent 1's prompt between two tokens");
}

/* Tool latency idles a device that has nobody else to serve. */
Test(sim, tool_latency_is_idle_time) {
    const arm_result *r = &session(W(1, 3, 0, 100, 11) ",\"tool_latency_s\":2",
                                   "\"prefix_reuse\":\"none\",\"batching\":\"continuous\"", PERFECT)
                               ->arms[0];
    cr_expect_eq(r->sim.idle_ns, 4000000000);
    cr_expect_eq(r->sim.prefill_ns + r->sim.decode_ns + r->sim.idle_ns, r->sim.wall_ns);
}

/* Serial: one request at a time to its end, first come first served. */
Test(sim, serial_batching) {
    const arm_result *r = &session(W(2, 1, 0, 100, 11),
                                   "\"prefix_reuse\":\"per_slot\",\"batching\":\"serial\"", PERFECT)
                               ->arms[0];
    cr_expect_eq(r->sim.wall_ns, 2 * ((int64_t)100000000 + 1000000000));
    cr_expect_eq(r->sim.turns[1].start_ns, 1100000000);
    cr_expect_eq(r->sim.used.batch_max, 1);
}

/* Lockstep: nobody decodes before all have prefilled, no next turn before all have ended. */
Test(sim, lockstep_batching) {
    const arm_result *r = &session(W(2, 2, 0, 100, 11) ",\"start_offsets_s\":[0,1]",
                                   "\"prefix_reuse\":\"none\",\"batching\":\"lockstep\"", PERFECT)
                               ->arms[0];
    cr_expect_eq(r->sim.turns[0].done_ns, 1100000000 + 1000000000);
    cr_expect_eq(r->sim.turns[0].done_ns, r->sim.turns[2].done_ns);
    cr_expect_eq(r->sim.turns[1].send_ns, r->sim.turns[3].send_ns);
    cr_expect_eq(r->sim.idle_ns, 900000000);
}

/* BR-29: more agents than slots. r(1) = 10, r(4) = 4 x ... here no batching gain: 0.1 s x B a step.
 * Five agents on four slots, 10 tokens each, idealised: four end after 10 steps of 0.4 s, the fifth
 * waits 4 s and runs alone for 1 s. */
Test(sim, fewer_slots_than_agents) {
    const arm_result *r =
        &session(W(5, 1, 0, 1, 10),
                 "\"slots_n\":4,\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\"" IDEAL,
                 NO_GAIN)
             ->arms[0];
    cr_expect_eq(r->sim.used.batch_max, 4);
    cr_expect_float_eq(seconds(r->sim.turns[4].start_ns), 4.004, 1e-9);
    cr_expect_float_eq(seconds(r->sim.wall_ns), 4.004 + 0.001 + 1.0, 1e-9);
}

/* BR-33: private prompts 8000 (P = 0), 6 turns, S = O = 100, one slot. Rp = 800, r(1) = 25 scaled
 * here to 1000 and 10: every turn is cold because the four agents evict each other: L(h) = 8000 +
 * 100 h + 100 (h - 1), sum 51,600. */
Test(sim, one_slot_four_agents_evict_each_other) {
    const projection *p = support_project_text(
        "{\"schema\":\"ratecast.scenario/"
        "1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"qwen2.5-7b-instruct-q8_0-m3pro\",\"workload\":"
        "{\"K\":4,\"H\":1,"
        "\"P\":0,\"turn_delta_in_tok\":8100,\"turn_out_tok\":100,\"turn_shape\":\"delta_first\"},"
        "\"arms\":[{\"name\":\"a\",\"slots_n\":1,\"prefix_reuse\":\"per_slot\",\"batching\":"
        "\"continuous\",\"reuse_last_token\":true}],\"assumptions\":["
        "{\"term\":\"prefill_tok_s\",\"value\":800,\"provenance\":\"assumed\",\"reason\":\"BR-33\"}"
        ","
        "{\"term\":\"decode_tok_s\",\"value\":25,\"provenance\":\"assumed\",\"reason\":\"BR-33\"}]"
        "}");
    cr_expect_float_eq(seconds(p->arms[0].sim.wall_ns), 4 * (8100 / 800.0 + 4), 1e-6);
    const arm_result *r =
        &session(W(4, 6, 0, 100, 100),
                 "\"slots_n\":1,\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\"" IDEAL,
                 PERFECT)
             ->arms[0];
    cr_expect_eq(r->sim.reused_tok, 0, "round robin on one slot: nobody ever finds its history");
    cr_expect_eq(r->sim.computed_tok, r->sim.presented_tok);
}

/* K = 1: nothing to share, so shared and per-slot are one. */
Test(sim, one_agent_makes_shared_and_per_slot_equal) {
    const arm_result *a =
        &session(W(1, 7, 2000, 64, 33), "\"prefix_reuse\":\"shared\",\"batching\":\"continuous\"",
                 PERFECT)
             ->arms[0];
    int64_t wall = a->sim.wall_ns, reused = a->sim.reused_tok, kv = a->sim.kv_peak_tok;
    const arm_result *b =
        &session(W(1, 7, 2000, 64, 33), "\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\"",
                 PERFECT)
             ->arms[0];
    cr_expect_eq(wall, b->sim.wall_ns);
    cr_expect_eq(reused, b->sim.reused_tok);
    cr_expect_eq(kv, b->sim.kv_peak_tok);
}

/* Time beyond the clock is refused, not wrapped. */
Test(sim, time_beyond_the_clock_is_refused) {
    const scenario *s = NULL;
    err e = {0};
    cr_assert_eq(support_parse("{\"schema\":\"ratecast.scenario/"
                               "1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"qwen2.5-7b-instruct-q8_"
                               "0-m3pro\",\"workload\":{\"K\":2,"
                               "\"H\":2,\"P\":100000,\"turn_delta_in_tok\":1,\"turn_out_tok\":2,"
                               "\"turn_shape\":\"delta_first\"},\"arms\":[{\"name\":\"a\","
                               "\"prefix_reuse\":\"none\",\"batching\":\"continuous\"}],"
                               "\"assumptions\":[{\"term\":\"prefill_tok_s\",\"value\":1e-9,"
                               "\"provenance\":\"assumed\",\"reason\":\"slow\"}]}",
                               &s, &e),
                 OK, "%s %s", e.where, e.what);
    const projection *p = NULL;
    cr_expect_eq(project_run(s, NULL, 0, support_arena(), &p, &e), E_LIMIT);
    cr_expect(strstr(e.what, "2^62"), "%s", e.what);
}

/* Mixed prefill by hand. Declared rates do not say what sharing a pass saves, so an iteration costs
 * its parts: agent 0 decodes (0.1 s a step alone), agent 1 arrives during its first step with 100
 * tokens, the budget is 51 rows, so its prompt takes two iterations of 50 tokens (0.05 s each)
 * beside agent 0's step. */
Test(sim, mixed_prefill_runs_beside_decode) {
    const arm_result *r = &session(W(2, 1, 0, 100, 10) ",\"start_offsets_s\":[0,0.15]",
                                   "\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\","
                                   "\"prefill\":\"mixed\",\"max_batch_tok\":51",
                                   PERFECT)
                               ->arms[0];
    /* agent 0: 51 + 49 tokens in two iterations alone: 0.1 s, then steps at 0.2 s; two mixed ones
     * until 0.5 s */
    cr_expect_eq(r->sim.turns[0].first_ns, 100000000);
    cr_expect_eq(r->sim.turns[1].start_ns, 200000000);
    cr_expect_eq(r->sim.turns[1].first_ns, 500000000);
    cr_expect_eq(r->m.itl.max_ns, 150000000, "a decoding agent waits for the whole iteration");
    /* agent 0 has 9 - 1 - 2 = 6 steps left at 0.5 s, both run 6, agent 1 has 3 more: 0.5 + 0.9 */
    cr_expect_eq(r->sim.turns[0].done_ns, 1100000000);
    cr_expect_eq(r->sim.wall_ns, 1400000000);
    cr_expect_eq(r->sim.prefill_ns, 200000000);
    cr_expect_eq(r->sim.decode_ns, 1200000000);
}

/* On a measured card the rows share the pass: beside seven decoding sequences a prompt costs less
 * than alone and after. */
Test(sim, mixed_rows_share_the_pass_over_the_weights) {
    static const char *const TEXT =
        "{\"schema\":\"ratecast.scenario/"
        "1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"qwen2-7b-like-q8_0-h200-split\",\"workload\":{"
        "\"K\":8,\"H\":10,"
        "\"P\":2000,\"turn_delta_in_tok\":64,\"turn_out_tok\":40,\"turn_shape\":\"delta_first\","
        "\"stagger_s\":0.05},\"arms\":["
        "{\"name\":\"alone\",\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\"},"
        "{\"name\":\"mixed\",\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\",\"prefill\":"
        "\"mixed\",\"max_batch_tok\":512}]}";
    const projection *p = support_project_text(TEXT);
    const arm_result *alone = support_arm(p, "alone"), *mixed = support_arm(p, "mixed");
    cr_expect_lt(mixed->sim.wall_ns, alone->sim.wall_ns);
    cr_expect_lt(mixed->m.itl.p99_ns, alone->m.itl.p99_ns,
                 "chunks bound how long a decoding agent waits");
    cr_expect_eq(mixed->sim.computed_tok, alone->sim.computed_tok);
}

/* Later agents hold still while the first computes the shared prefix, also when prompts are cut
 * into pieces. */
Test(sim, mixed_waits_for_the_prefix_in_work) {
    const char *arm_wait = "\"prefix_reuse\":\"shared\",\"batching\":\"continuous\",\"prefill\":"
                           "\"mixed\",\"max_batch_tok\":600";
    const char *arm_each = "\"prefix_reuse\":\"shared\",\"first_comers\":\"each\",\"batching\":"
                           "\"continuous\",\"prefill\":\"mixed\",\"max_batch_tok\":600";
    const arm_result *w = &session(W(4, 1, 3000, 100, 5), arm_wait, PERFECT)->arms[0];
    cr_expect_eq(w->sim.prefix_evals, 1);
    cr_expect_eq(w->sim.computed_tok, 3000 + 4 * 100);
    const arm_result *e = &session(W(4, 1, 3000, 100, 5), arm_each, PERFECT)->arms[0];
    cr_expect_eq(e->sim.prefix_evals, 4);
    cr_expect_eq(e->sim.computed_tok, 4 * 3100);
}
