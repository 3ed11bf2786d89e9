/* The event engine against the published closed form: same unit prices, integer counts, equality to
 * the nanosecond.
 *
 * The closed form is written here from the document's formula (wall = prefix + delta + decode +
 * constant) and shares with the engine only `cost`. */
#include "support.h"

#include "closed_form.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t closed_form_ns(const arm_result *r, const workload *w, bool shared,
                              double constant_s) {
    int64_t prefix = cost_prefill_ns(r->cost, w->P, 0, 0);
    int64_t delta = cost_prefill_ns(r->cost, 0, w->turn_delta_in_tok, w->P);
    int64_t step = cost_decode(r->cost, w->K).fixed_ns;
    return prefix * (shared ? 1 : w->K) + delta * w->K * w->H + step * w->H * w->turn_out_tok +
           (int64_t)llround(constant_s * 1e9);
}

/* The same without rounding, from the document's constants alone. */
static double formula_s(const workload *w, bool shared, double prefill_tok_s) {
    double K = (double)w->K, H = (double)w->H, out = (double)w->turn_out_tok, P = (double)w->P;
    if (shared)
        return P / prefill_tok_s + K * H * 0.012 + K * H * out / (7.61 * (1 + 0.35 * (K - 1))) +
               1.6;
    return K * P / prefill_tok_s + K * H * 0.012 * (1 + 0.25 * (K - 1)) +
           K * H * out / (7.38 * (1 + 0.15 * (K - 1)));
}

static void check_both_arms(const projection *p, double prefill_tok_s) {
    const workload *w = &p->scenario->work;
    for (size_t i = 0; i < 2; i++) {
        const arm_result *r = &p->arms[i];
        bool shared = i == 0;
        int64_t want = closed_form_ns(r, w, shared, shared ? 1.6 : 0);
        cr_expect_eq(r->sim.wall_ns, want, "%s K=%lld H=%lld P=%lld: engine %lld, closed form %lld",
                     r->arm->name, (long long)w->K, (long long)w->H, (long long)w->P,
                     (long long)r->sim.wall_ns, (long long)want);
        /* half a nanosecond for each price: prefixes, deltas, decode steps, the constant */
        double events = (double)(w->K + w->K * w->H + w->H * w->turn_out_tok + 1);
        double off_ns = fabs((double)r->sim.wall_ns - formula_s(w, shared, prefill_tok_s) * 1e9);
        cr_expect_leq(off_ns, events / 2 + 1, "%s: %.1f ns off the unrounded formula", r->arm->name,
                      off_ns);
    }
}

Test(closed_form, published_4k_and_20k) {
    check_both_arms(support_project("scenarios/published/head_to_head_4k.json", NULL, 0), 65);
    check_both_arms(support_project("scenarios/published/head_to_head_20k.json", NULL, 0), 85);
}

/* Equality is not a property of one workload. */
Test(closed_form, any_workload_of_that_shape) {
    srand(20260905);
    for (int round = 0; round < 200; round++) {
        char text[5][64];
        const char *sets[5];
        const char *keys[5] = {"K", "H", "P", "turn_delta_in_tok", "turn_out_tok"};
        int values[5] = {1 + rand() % 24, 1 + rand() % 40, rand() % 30000, 1 + rand() % 500,
                         1 + rand() % 300};
        for (int i = 0; i < 5; i++) {
            snprintf(text[i], sizeof text[i], "workload.%s=%d", keys[i], values[i]);
            sets[i] = text[i];
        }
        check_both_arms(support_project("scenarios/published/head_to_head_4k.json", sets, 5), 65);
    }
}

/* The product's own closed forms (model/closed_form.c), which `figures` uses, on every published
 * scenario: the engine lands on the same nanosecond, token and byte. */
Test(closed_form, engine_equals_the_closed_form_of_every_published_arm) {
    static const struct {
        const char *file;
        const char *set;
        size_t arms;
    } CASES[] = {
        {"head_to_head_4k.json", NULL, 2},
        {"head_to_head_20k.json", NULL, 2},
        {"legacy_4k.json", NULL, 2},
        {"fleet_5x200.json", NULL, 5},
        {"fleet_5x200.json", "workload.turn_delta_in_tok=40", 5},
        {"fleet_5x200.json", "workload.H=50", 5},
        {"cache_ab.json", "workload.K=1", 2},
        {"cache_ab.json", "workload.K=4", 2},
        {"cache_ab.json", "workload.K=8", 2},
        {"cache_ab.json", "workload.K=12", 2},
        {"cache_ab.json", "workload.K=16", 2},
        {"cache_ab.json", "workload.P=0", 2},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *path = arena_printf(support_arena(), "scenarios/published/%s", CASES[i].file);
        const projection *p = support_project(path, &CASES[i].set, CASES[i].set ? 1 : 0);
        cr_assert_eq(p->arms_n, CASES[i].arms);
        for (size_t a = 0; a < p->arms_n; a++) {
            const arm_result *r = &p->arms[a];
            closed_form f;
            cr_assert(closed_form_of(r->arm, &p->scenario->work, r->cost, &f),
                      "%s %s is not covered", CASES[i].file, r->arm->name);
            cr_expect_eq(r->sim.wall_ns, f.wall_ns, "%s %s: %lld, %lld", CASES[i].file,
                         r->arm->name, (long long)r->sim.wall_ns, (long long)f.wall_ns);
            cr_expect_eq(r->sim.prefill_ns, f.prefill_ns);
            cr_expect_eq(r->sim.decode_ns, f.decode_ns);
            cr_expect_eq(r->sim.other_ns, f.host_ns + f.constant_ns);
            cr_expect_eq(r->sim.presented_tok, f.presented_tok);
            cr_expect_eq(r->sim.computed_tok, f.computed_tok);
            cr_expect_eq(r->sim.reused_tok, f.reused_tok);
            cr_expect_eq(r->sim.prefix_evals, f.prefix_evals);
            bool serial_none = r->arm->batch == BATCH_SERIAL &&
                               r->arm->reuse == REUSE_NONE; /* one context at a time */
            cr_expect_eq(r->sim.kv_peak_tok,
                         serial_none ? f.kv_tok / p->scenario->work.K : f.kv_tok, "%s %s",
                         CASES[i].file, r->arm->name);
        }
    }
}

/* What a closed form does not cover it refuses. */
Test(closed_form, physical_arms_are_not_covered) {
    const projection *p = support_project("scenarios/head_to_head_4k.json", NULL, 0);
    closed_form f;
    cr_expect_not(closed_form_of(p->arms[0].arm, &p->scenario->work, p->arms[0].cost, &f));
}
