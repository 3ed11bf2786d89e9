/* The engine against the token-by-token stepper on random scenarios over all policies. */
#include "support.h"

#include "property/random_scenario.h"
#include "property/stepper.h"

#include <math.h>

enum { SCENARIOS = 400 };

/* Relative 1e-9; below a second the engine's half nanosecond a stretch is what is left. */
static bool close_ns(double a, double b, const sim_result *r) {
    return fabs(a - b) <= 1e-9 * fmax(a, b) + 0.5 * (double)(r->stretches_n + r->events_n) + 1;
}

static void compare(const arm_result *r, const workload *w, const char *text, int seed) {
    stepper_result q = stepper_run(r->arm, w, r->cost);
    double ttft = 0, wait = 0;
    for (int64_t i = 0; i < r->sim.turns_n; i++) {
        ttft += (double)(r->sim.turns[i].first_ns - r->sim.turns[i].send_ns);
        wait += (double)(r->sim.turns[i].start_ns - r->sim.turns[i].send_ns);
    }
    bool same_time = close_ns((double)r->sim.wall_ns, q.wall_ns, &r->sim) &&
                     close_ns((double)r->sim.prefill_ns, q.prefill_ns, &r->sim) &&
                     close_ns((double)r->sim.decode_ns, q.decode_ns, &r->sim) &&
                     close_ns((double)r->sim.other_ns, q.other_ns, &r->sim) &&
                     close_ns((double)r->sim.idle_ns, q.idle_ns, &r->sim);
    cr_assert(
        same_time,
        "seed %d: wall %lld / %.0f prefill %lld / %.0f decode %lld / %.0f other %lld / %.0f idle "
        "%lld / %.0f\n%s",
        seed, (long long)r->sim.wall_ns, q.wall_ns, (long long)r->sim.prefill_ns, q.prefill_ns,
        (long long)r->sim.decode_ns, q.decode_ns, (long long)r->sim.other_ns, q.other_ns,
        (long long)r->sim.idle_ns, q.idle_ns, text);
    double slack =
        (double)r->sim.turns_n * (1e-9 * q.wall_ns + 0.5 * (double)r->sim.stretches_n + 1);
    cr_assert(fabs(ttft - q.ttft_sum_ns) <= slack, "seed %d: TTFT sum %.0f / %.0f\n%s", seed, ttft,
              q.ttft_sum_ns, text);
    cr_assert(fabs(wait - q.wait_sum_ns) <= slack, "seed %d: wait sum %.0f / %.0f\n%s", seed, wait,
              q.wait_sum_ns, text);
    cr_assert_eq(r->sim.presented_tok, q.presented_tok, "seed %d\n%s", seed, text);
    cr_assert_eq(r->sim.computed_tok, q.computed_tok, "seed %d: computed %lld / %lld\n%s", seed,
                 (long long)r->sim.computed_tok, (long long)q.computed_tok, text);
    cr_assert_eq(r->sim.reused_tok, q.reused_tok, "seed %d\n%s", seed, text);
    cr_assert_eq(r->sim.output_tok, q.output_tok, "seed %d\n%s", seed, text);
    cr_assert_eq(r->sim.prefix_evals, q.prefix_evals, "seed %d\n%s", seed, text);
}

Test(oracle, engine_agrees_with_the_stepper) {
    random_scenario gen = {.rng = gsl_rng_alloc(gsl_rng_mt19937), .host_step = true};
    buf text;
    buf_init(&text);
    for (int seed = 1; seed <= SCENARIOS; seed++) {
        gsl_rng_set(gen.rng, (unsigned long)seed);
        random_scenario_text(&gen, &text);
        const projection *p = support_project_text(text.s);
        compare(&p->arms[0], &p->scenario->work, text.s, seed);
    }
    buf_done(&text);
    gsl_rng_free(gen.rng);
}

/* The shipped scenarios too, published and physical. */
Test(oracle, shipped_scenarios_agree) {
    static const char *const FILES[] = {
        "head_to_head_4k.json",     "published/head_to_head_4k.json",
        "published/legacy_4k.json", "published/fleet_5x200.json",
        "fleet_5x200.json",         "fleet_5x200_h200.json",
        "published/cache_ab.json",  "cache_ab.json"};
    for (size_t f = 0; f < sizeof FILES / sizeof *FILES; f++) {
        const char *path = arena_printf(support_arena(), "scenarios/%s", FILES[f]);
        const projection *p = support_project(path, NULL, 0);
        for (size_t a = 0; a < p->arms_n; a++)
            compare(&p->arms[a], &p->scenario->work, FILES[f], (int)a);
    }
}
