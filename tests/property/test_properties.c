/* Properties over random scenarios: what must hold whatever the workload. Each loop prints the
 * failing seed. */
#include "support.h"

#include "invariants.h"
#include "property/random_scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 1000, SOME = 300 };

typedef struct sample {
    gsl_rng *rng;
    buf text;
} sample;

static sample sample_new(void) {
    sample s = {.rng = gsl_rng_alloc(gsl_rng_mt19937)};
    buf_init(&s.text);
    return s;
}

static void draw_text(sample *s, int seed, random_scenario gen) {
    gsl_rng_set(s->rng, (unsigned long)seed);
    gen.rng = s->rng;
    random_scenario_text(&gen, &s->text);
}

/* The same text with every occurrence of one string replaced. */
static const char *with(const char *text, const char *from, const char *to) {
    buf b;
    buf_init(&b);
    for (const char *p = text, *hit; *p; p = hit + strlen(from)) {
        hit = strstr(p, from);
        if (!hit) {
            buf_add(&b, p);
            break;
        }
        buf_add_n(&b, p, (size_t)(hit - p));
        buf_add(&b, to);
    }
    const char *out = arena_strdup(support_arena(), b.s);
    buf_done(&b);
    return out;
}

static int64_t busy_ns(const arm_result *r) {
    return r->sim.prefill_ns + r->sim.decode_ns + r->sim.other_ns;
}

/* Presented tokens by a loop of its own over both turn shapes. */
static int64_t presented_by_hand(const workload *w) {
    int64_t sum = 0;
    for (int64_t k = 0; k < w->K; k++) {
        int64_t context = w->P + w->private_tok[k];
        for (int64_t t = 1; t <= w->H; t++) {
            if (t > 1 || w->shape == SHAPE_DELTA_FIRST) context += w->turn_delta_in_tok;
            sum += context;
            context += w->turn_out_tok;
        }
    }
    return sum;
}

Test(properties, every_run_conserves) {
    sample s = sample_new();
    for (int seed = 1; seed <= MANY; seed++) {
        draw_text(&s, seed, (random_scenario){0});
        const projection *p = support_project_text(s.text.s);
        const arm_result *r = &p->arms[0];
        const workload *w = &p->scenario->work;
        int64_t computed = 0, reused = 0, last = 0;
        for (int64_t i = 0; i < r->sim.turns_n; i++) {
            const turn_record *t = &r->sim.turns[i];
            computed += t->computed_tok;
            reused += t->reused_tok;
            last = t->done_ns > last ? t->done_ns : last;
            cr_assert(t->send_ns <= t->start_ns && t->start_ns <= t->first_ns &&
                          t->first_ns <= t->done_ns,
                      "seed %d\n%s", seed, s.text.s);
            cr_assert(t->reused_tok >= 0 && t->computed_tok >= (r->arm->reuse_last_token ? 0 : 1),
                      "seed %d\n%s", seed, s.text.s);
        }
        cr_assert_eq(r->sim.presented_tok, presented_by_hand(w), "seed %d\n%s", seed, s.text.s);
        cr_assert_eq(computed + reused, r->sim.presented_tok, "seed %d\n%s", seed, s.text.s);
        cr_assert_eq(r->sim.output_tok, w->K * w->H * w->turn_out_tok, "seed %d", seed);
        cr_assert_eq(busy_ns(r) + r->sim.idle_ns, r->sim.wall_ns, "seed %d\n%s", seed, s.text.s);
        cr_assert_geq(r->sim.idle_ns, 0, "seed %d\n%s", seed, s.text.s);
        cr_assert_eq(r->sim.wall_ns, last, "seed %d: no term is added after the last token\n%s",
                     seed, s.text.s);
        rule_result rules[RULES_N];
        invariants_check(p, rules);
        for (size_t i = 0; i < RULES_N; i++)
            cr_assert(rules[i].rule->kind == RULE_PLAUSIBILITY || rules[i].outcome != RULE_BROKEN,
                      "seed %d: %s %s\n%s", seed, rules[i].rule->id, rules[i].why, s.text.s);
    }
}

/* A card whose shortest prompt has 512 tokens and whose largest decode step has far fewer rows:
 * what lies between is drawn as a line, and its time is a part of the prefill time. Passes that
 * decode rows share count with the prompts' share only. */
static int64_t gap_part(const char *text, int seed) {
    const sim_result *r = &support_project_text(text)->arms[0].sim;
    cr_assert_geq(r->used.gap_prefill_ns, 0, "seed %d\n%s", seed, text);
    cr_assert_leq(r->used.gap_prefill_ns, r->prefill_ns, "seed %d: %lld of %lld ns\n%s", seed,
                  (long long)r->used.gap_prefill_ns, (long long)r->prefill_ns, text);
    return r->used.gap_prefill_ns;
}

Test(properties, a_part_of_prefill_is_no_more_than_prefill) {
    static const char *const WITH[] = {
        "\"prefill\":\"mixed\"", "\"engine\":\"llama-server\",\"kv_layout\":\"split\"",
        "\"engine\":\"llama-server\",\"kv_layout\":\"unified\"" /* decode rows beside prompts */};
    buf b;
    buf_init(&b);
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    int none = 0, part = 0, all = 0;
    for (int seed = 1; seed <= SOME; seed++) {
        gsl_rng_set(rng, (unsigned long)seed);
        int server = draw(rng, 0, 2), K = draw(rng, 1, 8);
        buf_reset(&b);
        buf_add(&b, "{\"schema\":\"ratecast.scenario/1\",\"id\":\"t\",\"title\":\"t\",\"card\":"
                    "\"qwen2.5-coder-7b-q8_0-gb10\",");
        random_workload(rng, K, &b);
        buf_addf(&b,
                 ",\"arms\":[{\"name\":\"a\",\"prefix_reuse\":\"%s\",\"batching\":\"continuous\","
                 "%s,\"%s\":%d}]}",
                 draw(rng, 0, 1) ? "none" : "per_slot", WITH[server],
                 server ? "n_batch" : "max_batch_tok",
                 server || draw(rng, 0, 1) ? draw(rng, 64, 3000) : draw(rng, 64, 511));
        int64_t gap = gap_part(b.s, seed);
        int64_t whole = support_project_text(b.s)->arms[0].sim.prefill_ns;
        none += gap == 0;
        all += gap == whole;
        part += gap > 0 && gap < whole;
    }
    cr_expect(none > 0 && part > 0 && all > 0, "%d without, %d with a part, %d with all", none,
              part, all);
    gsl_rng_free(rng);
    buf_done(&b);
}

/* Queue wait stands in TTFT only: a device that is always the bottleneck is never idle however long
 * the queue is, and its busy time is the sum of what it was given, independent of who waited. */
Test(properties, queue_wait_is_never_busy_time) {
    sample s = sample_new();
    for (int seed = 1; seed <= SOME; seed++) {
        draw_text(&s, seed, (random_scenario){.declared = true, .batching = "serial"});
        const arm_result *r = &support_project_text(s.text.s)->arms[0];
        int64_t service = 0;
        for (int64_t i = 0; i < r->sim.turns_n; i++)
            service += r->sim.turns[i].done_ns - r->sim.turns[i].start_ns;
        cr_assert_eq(service, busy_ns(r), "seed %d: serial service %lld, busy %lld\n%s", seed,
                     (long long)service, (long long)busy_ns(r), s.text.s);
    }
}

Test(properties, sharing_never_computes_more) {
    sample s = sample_new();
    for (int seed = 1; seed <= SOME; seed++) {
        draw_text(&s, seed, (random_scenario){.reuse = "shared"});
        const char *own = with(with(s.text.s, ",\"first_comers\":\"wait\"", ""),
                               ",\"first_comers\":\"each\"", "");
        for (int n = 1; n <= 3; n++) {
            char sights[32];
            snprintf(sights, sizeof sights, ",\"cold_sights_n\":%d", n);
            own = with(own, sights, "");
        }
        own = with(own, "\"prefix_reuse\":\"shared\"", "\"prefix_reuse\":\"per_slot\"");
        const char *none = with(own, "\"prefix_reuse\":\"per_slot\"", "\"prefix_reuse\":\"none\"");
        int64_t a = support_project_text(s.text.s)->arms[0].sim.computed_tok;
        int64_t b = support_project_text(own)->arms[0].sim.computed_tok;
        int64_t c = support_project_text(none)->arms[0].sim.computed_tok;
        bool slots_for_all = support_project_text(own)->arms[0].arm->slots_n ==
                             support_project_text(own)->scenario->work.K;
        bool late = strstr(s.text.s, "cold_sights_n") !=
                    NULL; /* a prefix found late can cost more than a slot's own */
        if (slots_for_all && !late)
            cr_assert_leq(a, b, "seed %d: shared %lld, per slot %lld\n%s", seed, (long long)a,
                          (long long)b, s.text.s);
        cr_assert_leq(b, c, "seed %d: per slot %lld, none %lld\n%s", seed, (long long)b,
                      (long long)c, s.text.s);
        cr_assert_leq(a, c, "seed %d", seed);
    }
}

Test(properties, one_agent_makes_shared_and_per_slot_equal) {
    sample s = sample_new();
    for (int seed = 1; seed <= SOME; seed++) {
        draw_text(&s, seed, (random_scenario){.reuse = "per_slot"});
        const workload *w = &support_project_text(s.text.s)->scenario->work;
        if (w->K != 1) continue;
        const char *shared =
            with(s.text.s, "\"prefix_reuse\":\"per_slot\"", "\"prefix_reuse\":\"shared\"");
        const arm_result *a = &support_project_text(s.text.s)->arms[0],
                         *b = &support_project_text(shared)->arms[0];
        cr_assert_eq(a->sim.wall_ns, b->sim.wall_ns, "seed %d\n%s", seed, s.text.s);
        cr_assert_eq(a->sim.computed_tok, b->sim.computed_tok, "seed %d\n%s", seed, s.text.s);
        cr_assert_eq(a->sim.kv_peak_tok, b->sim.kv_peak_tok, "seed %d\n%s", seed, s.text.s);
    }
}

/* Idealised policies, no constants: doubling every rate halves the busy time, to a nanosecond an
 * event. */
Test(properties, twice_the_rate_half_the_time) {
    sample s = sample_new();
    int checked = 0;
    for (int seed = 1; seed <= MANY; seed++) {
        draw_text(&s, seed, (random_scenario){.declared = true});
        if (strstr(s.text.s, "tool_latency_s") || strstr(s.text.s, "stagger_s"))
            continue; /* they would not halve */
        const char *at = strstr(s.text.s, "\"prefill_tok_s\",\"value\":"),
                   *dt = strstr(s.text.s, "\"decode_tok_s\",\"value\":");
        int prefill = atoi(at + strlen("\"prefill_tok_s\",\"value\":")),
            decode = atoi(dt + strlen("\"decode_tok_s\",\"value\":"));
        char old[64], new[64];
        snprintf(old, sizeof old, "\"prefill_tok_s\",\"value\":%d", prefill);
        snprintf(new, sizeof new, "\"prefill_tok_s\",\"value\":%d", 2 * prefill);
        const char *fast = with(s.text.s, old, new);
        snprintf(old, sizeof old, "\"decode_tok_s\",\"value\":%d", decode);
        snprintf(new, sizeof new, "\"decode_tok_s\",\"value\":%d", 2 * decode);
        fast = with(fast, old, new);
        const arm_result *a = &support_project_text(s.text.s)->arms[0],
                         *b = &support_project_text(fast)->arms[0];
        double slack = (double)(a->sim.events_n + a->sim.stretches_n) + (double)a->sim.output_tok;
        cr_assert(fabs((double)busy_ns(a) - 2 * (double)busy_ns(b)) <= slack,
                  "seed %d: %lld, %lld\n%s", seed, (long long)busy_ns(a), (long long)busy_ns(b),
                  s.text.s);
        checked++;
    }
    cr_assert_gt(checked, 100);
}

/* Agents have no names: with their private tokens and start times they can change places. */
Test(properties, permuting_agents_changes_no_total) {
    sample s = sample_new();
    for (int seed = 1; seed <= SOME; seed++) {
        gsl_rng_set(s.rng, (unsigned long)seed);
        int K = draw(s.rng, 2, 8), own[8], turn = draw(s.rng, 1, K - 1);
        double off[8];
        bool lockstep = seed % 2;
        for (int k = 0; k < K; k++) {
            own[k] = draw(s.rng, 0, 2000);
            off[k] = lockstep ? 0 : gsl_rng_uniform(s.rng) * 30 + 1e-3 * k;
        }
        const arm_result *r[2];
        for (int v = 0; v < 2; v++) {
            buf_reset(&s.text);
            buf_add(&s.text, "{\"schema\":\"ratecast.scenario/"
                             "1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"qwen2.5-7b-instruct-q8_0-"
                             "m3pro\",\"workload\":{");
            buf_addf(&s.text,
                     "\"K\":%d,\"H\":3,\"P\":1000,\"turn_delta_in_tok\":50,\"turn_out_tok\":30,"
                     "\"turn_shape\":\"delta_first\",\"private_tok\":[",
                     K);
            for (int k = 0; k < K; k++)
                buf_addf(&s.text, "%s%d", k ? "," : "", own[(k + v * turn) % K]);
            buf_add(&s.text, "],\"start_offsets_s\":[");
            for (int k = 0; k < K; k++)
                buf_addf(&s.text, "%s%.9f", k ? "," : "", off[(k + v * turn) % K]);
            buf_addf(&s.text,
                     "]},\"arms\":[{\"name\":\"a\",\"prefix_reuse\":\"per_slot\",\"batching\":\"%"
                     "s\",\"reuse_last_token\":true}],\"assumptions\":["
                     "{\"term\":\"prefill_tok_s\",\"value\":400,\"provenance\":\"assumed\","
                     "\"reason\":\"t\"},"
                     "{\"term\":\"decode_tok_s\",\"value\":17,\"gain_per_seq_frac\":0.4,"
                     "\"provenance\":\"assumed\",\"reason\":\"t\"}]}",
                     lockstep ? "lockstep" : "continuous");
            r[v] = &support_project_text(s.text.s)->arms[0];
        }
        int64_t slack = r[0]->sim.events_n + r[0]->sim.stretches_n;
        cr_assert_leq(llabs(r[0]->sim.wall_ns - r[1]->sim.wall_ns), slack, "seed %d: %lld %lld\n%s",
                      seed, (long long)r[0]->sim.wall_ns, (long long)r[1]->sim.wall_ns, s.text.s);
        cr_assert_leq(llabs(busy_ns(r[0]) - busy_ns(r[1])), slack, "seed %d", seed);
        cr_assert_eq(r[0]->sim.computed_tok, r[1]->sim.computed_tok, "seed %d", seed);
        cr_assert_eq(r[0]->sim.presented_tok, r[1]->sim.presented_tok, "seed %d", seed);
        cr_assert_eq(r[0]->sim.kv_peak_tok, r[1]->sim.kv_peak_tok, "seed %d", seed);
    }
}

Test(properties, peak_memory_never_falls_with_more_agents) {
    sample s = sample_new();
    for (int seed = 1; seed <= SOME; seed++) {
        gsl_rng_set(s.rng, (unsigned long)seed);
        static const char *const REUSE[] = {"none", "per_slot", "shared"};
        int P = draw(s.rng, 0, 5000) + 1, H = draw(s.rng, 1, 6), out = draw(s.rng, 1, 60);
        const char *reuse = pick(s.rng, REUSE, 3);
        int64_t before = 0;
        for (int K = 1; K <= 9; K++) {
            buf_reset(&s.text);
            buf_addf(&s.text,
                     "{\"schema\":\"ratecast.scenario/"
                     "1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"qwen2-7b-like-q8_0-h200-split\","
                     "\"workload\":{\"K\":%d,\"H\":%d,"
                     "\"P\":%d,\"turn_delta_in_tok\":40,\"turn_out_tok\":%d,\"turn_shape\":\"delta_"
                     "first\"},\"arms\":[{\"name\":\"a\",\"prefix_reuse\":\"%s\","
                     "\"batching\":\"lockstep\"}]}",
                     K, H, P, out, reuse);
            const arm_result *r = &support_project_text(s.text.s)->arms[0];
            cr_assert_geq(r->m.memory.peak_bytes, before, "seed %d K %d\n%s", seed, K, s.text.s);
            before = r->m.memory.peak_bytes;
        }
    }
}

/* A closed queue with a deterministic server: K clients think Z and are served D each. Saturated (K
 * D > Z + D) the cycle is K D, every warm request waits (K - 1) D - Z, and the server is busy from
 * the first request to the last; else nobody waits once the start is over. */
Test(properties, deterministic_closed_queue) {
    for (int K = 1; K <= 12; K++)
        for (int think = 0; think <= 20; think += 4) {
            char json[1024];
            snprintf(json, sizeof json,
                     "{\"schema\":\"ratecast.scenario/"
                     "1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"qwen2.5-7b-instruct-q8_0-m3pro\","
                     "\"workload\":{\"K\":%d,\"H\":40,"
                     "\"P\":0,\"private_tok\":0,\"turn_delta_in_tok\":1000,\"turn_out_tok\":1,"
                     "\"turn_shape\":\"delta_first\",\"tool_latency_s\":%d},\"arms\":[{"
                     "\"name\":\"a\",\"prefix_reuse\":\"per_slot\",\"batching\":\"serial\",\"reuse_"
                     "last_token\":true}],\"assumptions\":["
                     "{\"term\":\"prefill_tok_s\",\"value\":1000,\"provenance\":\"assumed\","
                     "\"reason\":\"t\"},"
                     "{\"term\":\"decode_tok_s\",\"value\":1,\"provenance\":\"assumed\",\"reason\":"
                     "\"t\"}]}",
                     K, think);
            const arm_result *r = &support_project_text(json)->arms[0];
            int64_t D = 2000000000,
                    Z = think * (int64_t)1000000000; /* 1 s of prompt and 1 s of its one token */
            bool saturated = K * D > Z + D;
            int64_t want = saturated ? (K - 1) * D - Z : 0;
            const turn_record *t = &r->sim.turns[(K - 1) * 40 + 30];
            cr_assert_eq(t->start_ns - t->send_ns, want, "K %d Z %d: wait %lld", K, think,
                         (long long)(t->start_ns - t->send_ns));
            if (saturated)
                cr_assert_eq(r->sim.wall_ns, 40 * K * D, "K %d Z %d", K, think);
            else
                cr_assert_eq(r->sim.wall_ns, 40 * D + 39 * Z + (K - 1) * D, "K %d Z %d: %lld", K,
                             think, (long long)r->sim.wall_ns);
            cr_assert_eq(busy_ns(r), 40 * K * D);
        }
}

/* Same input, same bytes: two runs in one process and the rules agree. */
Test(properties, same_input_same_result) {
    sample s = sample_new();
    for (int seed = 1; seed <= SOME; seed++) {
        draw_text(&s, seed, (random_scenario){0});
        const arm_result *a = &support_project_text(s.text.s)->arms[0],
                         *b = &support_project_text(s.text.s)->arms[0];
        size_t n = (size_t)a->sim.turns_n * sizeof *a->sim.turns;
        cr_assert_eq(memcmp(a->sim.turns, b->sim.turns, n), 0, "seed %d", seed);
    }
}
