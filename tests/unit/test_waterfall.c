/* Waterfalls: Shapley values against an average over all permutations, steps and shares against the
 * whole difference, and the mixtures against scenarios written out by hand. */
#include "support.h"

#include "waterfall.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Shapley values ---- */

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 20;
}

static bool next_permutation(size_t *p, size_t n) {
    size_t i = n - 1, j = n - 1;
    while (i > 0 && p[i - 1] >= p[i]) i--;
    if (i == 0) return false;
    while (p[j] <= p[i - 1]) j--;
    size_t t = p[i - 1];
    p[i - 1] = p[j];
    p[j] = t;
    for (j = n - 1; i < j; i++, j--) {
        t = p[i];
        p[i] = p[j];
        p[j] = t;
    }
    return true;
}

/* Sum over all n! orders of what each player adds when its turn comes. */
static void brute_force(const int64_t *v, size_t n, int64_t *sum, int64_t *orders_n) {
    size_t p[8];
    for (size_t i = 0; i < n; i++) {
        p[i] = i;
        sum[i] = 0;
    }
    *orders_n = 0;
    do {
        size_t set = 0;
        for (size_t i = 0; i < n; i++) {
            sum[p[i]] += v[set | (size_t)1 << p[i]] - v[set];
            set |= (size_t)1 << p[i];
        }
        ++*orders_n;
    } while (next_permutation(p, n));
}

Test(shapley, equals_the_average_over_all_orders) {
    uint64_t state = 11;
    for (size_t n = 1; n <= 6; n++)
        for (int round = 0; round < 20; round++) {
            int64_t v[64], share[6], sum[6], orders_n, all = 0;
            double x[64], xshare[6];
            for (size_t s = 0; s < (size_t)1 << n; s++) {
                v[s] = (int64_t)(next(&state) % 1000000) - 500000;
                x[s] = (double)v[s];
            }
            shapley_ns(v, n, share);
            shapley(x, n, xshare);
            brute_force(v, n, sum, &orders_n);
            for (size_t i = 0; i < n; i++) {
                int64_t off = share[i] * orders_n - sum[i]; /* rounded by less than 1 ns */
                cr_expect(off < orders_n && off > -orders_n, "n = %zu, player %zu", n, i);
                cr_expect_float_eq(xshare[i], (double)sum[i] / (double)orders_n, 1e-6);
                all += share[i];
            }
            cr_expect_eq(all, v[((size_t)1 << n) - 1] - v[0]);
        }
}

/* Multiples of n! have no remainder: then the shares are the averages exactly. */
Test(shapley, is_exact_where_the_average_is_whole) {
    uint64_t state = 3;
    int64_t v[32], share[5], sum[5], orders_n;
    for (size_t s = 0; s < 32; s++) v[s] = 120 * ((int64_t)(next(&state) % 2001) - 1000);
    shapley_ns(v, 5, share);
    brute_force(v, 5, sum, &orders_n);
    for (size_t i = 0; i < 5; i++) cr_expect_eq(share[i] * orders_n, sum[i], "player %zu", i);
}

Test(shapley, symmetric_players_get_the_same) {
    /* players 0 and 2 count alike, player 1 adds 7 to whatever is there, player 3 nothing */
    int64_t v[16], share[4];
    for (size_t s = 0; s < 16; s++) {
        size_t alike = (s & 1) + (s >> 2 & 1);
        v[s] = (int64_t)(alike * alike) * 50 + (s & 2 ? 7 : 0);
    }
    shapley_ns(v, 4, share);
    cr_expect_eq(share[0], 100);
    cr_expect_eq(share[2], 100);
    cr_expect_eq(share[1], 7);
    cr_expect_eq(share[3], 0);
}

Test(shapley, leftover_nanoseconds_go_to_the_largest_remainder) {
    int64_t share[3];
    int64_t one[8] = {0, 0, 0, 0, 0, 0, 0, 1}; /* a third each */
    shapley_ns(one, 3, share);
    cr_expect(share[0] == 1 && share[1] == 0 && share[2] == 0);
    int64_t minus[8] = {0, 0, 0, 0, 0, 0, 0, -1}; /* floors are -1, two thirds are left over each */
    shapley_ns(minus, 3, share);
    cr_expect(share[0] == 0 && share[1] == 0 && share[2] == -1);
    int64_t pair[4] = {0, 0, 1, 2}; /* 1/2 and 3/2: the same remainder, the lower one has it */
    shapley_ns(pair, 2, share);
    cr_expect(share[0] == 1 && share[1] == 1);
    int64_t larger[8] = {0, 0, 0, 0, 1, 1, 1, 1}; /* player 2 alone */
    larger[7] = 2;                                /* and a third of one more for each */
    shapley_ns(larger, 3, share);
    cr_expect_eq(share[0] + share[1] + share[2], 2);
    cr_expect(share[0] == 1 && share[1] == 0 && share[2] == 1);
}

/* Walls of 146 years and ten terms: no sum overflows. */
Test(shapley, holds_at_the_ends_of_the_clock) {
    static int64_t v[1024];
    int64_t share[10], most = ((int64_t)1 << 62) - 1, all = 0;
    v[1023] = most;
    shapley_ns(v, 10, share);
    for (size_t i = 0; i < 10; i++) {
        cr_expect(share[i] >= most / 10 && share[i] <= most / 10 + 1);
        all += share[i];
    }
    cr_expect_eq(all, most);
    for (size_t s = 0; s < 1024; s++) { /* each player alone swings the whole */
        size_t odd = 0;
        for (size_t t = s; t; t &= t - 1) odd ^= 1;
        v[s] = odd ? most : 0;
    }
    shapley_ns(v, 10, share);
    for (size_t i = 0; i < 10; i++) cr_expect_eq(share[i], 0);
    v[1] = 0;
    v[3] = most;
    shapley_ns(v, 2, share); /* none 0, {0} 0, {1} most, both most */
    cr_expect(share[0] == 0 && share[1] == most);
}

Test(shapley, of_nobody_is_nothing) {
    int64_t v[1] = {5}, share[1] = {77};
    shapley_ns(v, 0, share);
    cr_expect_eq(share[0], 77);
}

/* ---- waterfalls ---- */

static const scenario *load(const char *path, const char *const *sets, size_t sets_n) {
    err e = {0};
    const scenario *s = NULL;
    const char *full = arena_printf(support_arena(), "%s/scenarios/%s", RATECAST_REPO, path);
    cr_assert_eq(scenario_load(full, support_cards(), sets, sets_n, support_arena(), &s, &e), OK,
                 "%s: %s", e.where, e.what);
    return s;
}

static const scenario *parse(const char *json) {
    err e = {0};
    const scenario *s = NULL;
    cr_assert_eq(support_parse(json, &s, &e), OK, "%s: %s", e.where, e.what);
    return s;
}

static const waterfall *against(const scenario *a, const scenario *b, const char *const *order) {
    err e = {0};
    const waterfall *f = NULL;
    cr_assert_eq(waterfall_against(a, b, NULL, order, support_arena(), &f, &e), OK, "%s: %s",
                 e.where, e.what);
    return f;
}

static const waterfall_term *term_of(const waterfall *f, const char *name) {
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->terms[i].name, name) == 0) return &f->terms[i];
    cr_assert_fail("no term %s", name);
    return NULL;
}

static void check_sums(const waterfall *f) {
    double x = 0, x_share = 0;
    for (int side = 0; side < SIDES_N; side++) {
        int64_t whole = f->to.at.side[side].wall_ns - f->from.at.side[side].wall_ns;
        int64_t steps = 0, shares = 0;
        for (size_t i = 0; i < f->n; i++) {
            const waterfall_wall *w = &f->terms[i].after.side[side];
            steps += f->terms[i].step_ns[side];
            shares += f->terms[i].share_ns[side];
            cr_expect_eq(w->prefill_ns + w->decode_ns + w->other_ns + w->idle_ns, w->wall_ns);
        }
        cr_expect_eq(steps, whole, "steps of side %d", side);
        cr_expect_eq(shares, whole, "shares of side %d", side);
    }
    for (size_t i = 0; i < f->n; i++) {
        x += f->terms[i].step_speedup;
        x_share += f->terms[i].share_speedup;
    }
    cr_expect_float_eq(x, f->to.at.speedup - f->from.at.speedup, 1e-12);
    cr_expect_float_eq(x_share, f->to.at.speedup - f->from.at.speedup, 1e-12);
}

static void check_end(const waterfall_end *end) {
    const projection *p = support_run(end->s);
    for (int side = 0; side < SIDES_N; side++)
        cr_expect_eq(end->at.side[side].wall_ns, support_arm(p, end->arm[side]->name)->sim.wall_ns);
}

/* The document's closed form, typed here: prefix + deltas + decode + constants, in seconds. */
static double fak_s(void) {
    return 4096 / 65.0 + 80 * 0.012 + 5120 / (7.61 * 2.05) + 1.6;
}

static double llama_s(void) {
    return 4 * 4096 / 65.0 + 80 * 0.012 * 1.75 + 5120 / (7.38 * 1.45);
}

Test(waterfall, the_corrections_are_the_two_terms_and_a_residual) {
    const waterfall *f = against(load("published/legacy_4k.json", NULL, 0),
                                 load("published/head_to_head_4k.json", NULL, 0), NULL);
    check_sums(f);
    check_end(&f->from);
    check_end(&f->to);
    cr_assert_eq(f->n, 2);
    const waterfall_term *wait = term_of(f, "queue_wait"), *slot = term_of(f, "constants");
    double queue_s = 6 * 4096 / 65.0; /* K (K - 1) / 2 prefixes */
    cr_expect_eq(slot->step_ns[SIDE_BASE], -600000000000);
    cr_expect_eq(wait->step_ns[SIDE_BASE], -llround(queue_s * 1e9));
    for (size_t i = 0; i < 2; i++) { /* they add, so every order gives the same */
        cr_expect_eq(f->terms[i].share_ns[SIDE_BASE], f->terms[i].step_ns[SIDE_BASE]);
        cr_expect_eq(f->terms[i].step_ns[SIDE_ARM], 0);
        cr_expect_eq(f->terms[i].prov_before, PROV_CLAIM);
        cr_expect_eq(f->terms[i].prov_after, -1);
    }
    cr_assert_eq(slot->changes_n, 1);
    cr_expect_eq(slot->changes[0].side, SIDE_BASE);
    cr_expect_str_eq(slot->changes[0].what.text, "constant_s 7.5 per turn removed");
    cr_expect_str_eq(wait->changes[0].what.text, "queue_wait_in_wall removed");
    /* printed 412.5 and 1732.5, then 393.8 and 732.2 */
    cr_expect(f->from.printed_differs);
    cr_expect_eq(f->from.printed_ns[SIDE_BASE], 1732500000000);
    cr_expect_float_eq((double)f->from.unexplained_ns[SIDE_BASE] / 1e9,
                       1732.5 - (llama_s() + queue_s + 600), 1e-4);
    cr_expect_float_eq((double)f->from.unexplained_ns[SIDE_ARM] / 1e9, 412.5 - fak_s(), 1e-4);
    cr_expect_not(f->to.printed_differs);
    cr_expect_eq(f->to.printed_ns[SIDE_ARM], 393800000000);
    cr_expect_eq(f->to.unexplained_ns[SIDE_ARM], 0);
    cr_expect_eq(f->to.unexplained_ns[SIDE_BASE], 0);
    cr_expect_str_eq(f->silent, "");
}

Test(waterfall, from_the_published_form_to_what_was_measured) {
    const scenario *a = load("published/head_to_head_4k.json", NULL, 0),
                   *b = load("head_to_head_4k.json", NULL, 0);
    const waterfall *f = against(a, b, NULL);
    check_sums(f);
    check_end(&f->from);
    check_end(&f->to);
    static const char *const NAMES[] = {"constants", "prefill",  "delta_prefill",
                                        "decode",    "batching", "reuse_last_token"};
    cr_assert_eq(f->n, 6);
    for (size_t i = 0; i < 6; i++) cr_expect_str_eq(f->terms[i].name, NAMES[i]);
    cr_expect_eq(f->terms[0].step_ns[SIDE_ARM], -1600000000);
    cr_expect_eq(f->terms[0].step_ns[SIDE_BASE], 0);
    /* the prefix at the witnessed rate, once and four times; then the 10,240 delta tokens at it */
    double slower = 4096 / 48.54 - 4096 / 65.0, deltas = 10240 / 48.54;
    cr_expect_float_eq((double)f->terms[1].step_ns[SIDE_ARM] / 1e9, slower, 1e-6);
    cr_expect_float_eq((double)f->terms[1].step_ns[SIDE_BASE] / 1e9, 4 * slower, 1e-6);
    cr_expect_float_eq((double)f->terms[2].step_ns[SIDE_ARM] / 1e9, deltas - 80 * 0.012, 1e-6);
    cr_expect_float_eq((double)f->terms[2].step_ns[SIDE_BASE] / 1e9, deltas - 80 * 0.021, 1e-6);
    cr_expect_str_eq(f->terms[1].changes[0].what.text, "prefill_tok_s 65 -> 48.54");
    cr_expect_eq(f->terms[1].changes[0].side, SIDES_N);
    cr_expect_eq(f->terms[1].prov_before, PROV_CLAIM);
    cr_expect_eq(f->terms[1].prov_after, PROV_ASSUMED);
    cr_expect_str_eq(f->terms[4].changes[0].what.text, "batching lockstep -> continuous");
    cr_expect_str_eq(f->terms[5].changes[0].what.text, "reuse_last_token true -> false");
    cr_expect_str_eq(f->silent, "weights_bytes, overhead_bytes, kv_bytes_per_tok, "
                                "kv_excludes_last_output, ttft_claim");
    cr_expect_null(f->joined);
}

Test(waterfall, the_order_moves_steps_and_no_share) {
    const scenario *a = load("published/head_to_head_4k.json", NULL, 0),
                   *b = load("head_to_head_4k.json", NULL, 0);
    const char *const order[] = {"reuse_last_token", "queue_wait", "delta_prefill", NULL};
    const waterfall *f = against(a, b, NULL), *g = against(a, b, order);
    check_sums(g);
    cr_expect_str_eq(g->terms[0].name, "reuse_last_token");
    cr_expect_str_eq(g->terms[1].name, "delta_prefill");
    cr_expect_str_eq(g->terms[2].name, "constants");
    bool moved = false;
    for (size_t i = 0; i < f->n; i++) {
        const waterfall_term *x = &f->terms[i], *y = term_of(g, x->name);
        for (int side = 0; side < SIDES_N; side++) {
            cr_expect_eq(x->share_ns[side], y->share_ns[side], "%s", x->name);
            moved |= x->step_ns[side] != y->step_ns[side];
        }
        cr_expect_eq(x->share_speedup, y->share_speedup);
    }
    cr_expect(moved);
}

Test(waterfall, the_way_back_is_the_way_there) {
    const scenario *a = load("published/head_to_head_4k.json", NULL, 0),
                   *b = load("head_to_head_4k.json", NULL, 0);
    const waterfall *f = against(a, b, NULL), *g = against(b, a, NULL);
    check_sums(g);
    for (size_t i = 0; i < f->n; i++) {
        int64_t sum =
            f->terms[i].share_ns[SIDE_BASE] + term_of(g, f->terms[i].name)->share_ns[SIDE_BASE];
        cr_expect(sum >= -1 && sum <= 1, "%s", f->terms[i].name); /* each rounded on its own */
    }
}

Test(waterfall, a_scenario_against_itself_has_no_steps) {
    const scenario *s = load("head_to_head_4k.json", NULL, 0);
    const waterfall *f = against(s, load("head_to_head_4k.json", NULL, 0), NULL);
    cr_expect_eq(f->n, 0);
    cr_expect_eq(f->from.at.speedup, f->to.at.speedup);
    check_end(&f->to);
    check_sums(f);
}

/* ---- mixtures against scenarios written out ---- */

/* Eight scenarios: prefill rate, constants and scheduling each as at one end or the other. */
static const scenario *corner(size_t set) {
    char json[1600];
    snprintf(json, sizeof json,
             "{\"schema\": \"ratecast.scenario/1\", \"id\": \"corner\", \"title\": \"t\", "
             "\"card\": \"qwen2-7b-like-q8_0-h200-split\", "
             "\"workload\": {\"K\": 3, \"H\": 5, \"P\": 1000, \"turn_delta_in_tok\": 70, "
             "\"turn_out_tok\": 20, \"turn_shape\": \"delta_first\", \"tool_latency_s\": 0.3}, "
             "\"assumptions\": [{\"term\": \"prefill_tok_s\", \"value\": %s, \"provenance\": "
             "\"assumed\", \"reason\": \"r\"}%s], "
             "\"arms\": [{\"name\": \"a\", \"prefix_reuse\": \"shared\", \"batching\": \"%s\"}, "
             "{\"name\": \"b\", \"prefix_reuse\": \"per_slot\", \"batching\": \"%s\"}]}",
             set & 1 ? "3000" : "900",
             set & 2 ? ", {\"term\": \"constant_s\", \"value\": 0.7, \"per\": \"agent\", "
                       "\"provenance\": \"claim\", \"reason\": \"r\"}"
                     : "",
             set & 4 ? "continuous" : "serial", set & 4 ? "continuous" : "serial");
    return parse(json);
}

Test(waterfall, shares_are_those_of_scenarios_written_out) {
    static const char *const NAMES[] = {"prefill", "constants", "batching"};
    int64_t wall[SIDES_N][8], sum[3], orders_n;
    for (size_t set = 0; set < 8; set++) {
        const projection *p = support_run(corner(set));
        wall[SIDE_ARM][set] = p->arms[0].sim.wall_ns;
        wall[SIDE_BASE][set] = p->arms[1].sim.wall_ns;
    }
    const waterfall *f = against(corner(0), corner(7), NULL);
    cr_assert_eq(f->n, 3);
    check_sums(f);
    for (int side = 0; side < SIDES_N; side++) {
        brute_force(wall[side], 3, sum, &orders_n);
        for (size_t i = 0; i < 3; i++) {
            int64_t off = term_of(f, NAMES[i])->share_ns[side] * orders_n - sum[i];
            cr_expect(off < orders_n && off > -orders_n, "%s", NAMES[i]);
        }
        /* steps: constants, then prefill, then batching */
        cr_expect_eq(f->terms[0].after.side[side].wall_ns, wall[side][2]);
        cr_expect_eq(f->terms[1].after.side[side].wall_ns, wall[side][3]);
        cr_expect_eq(f->terms[2].after.side[side].wall_ns, wall[side][7]);
    }
    double x[8], share[3];
    for (size_t set = 0; set < 8; set++)
        x[set] = (double)wall[SIDE_BASE][set] / (double)wall[SIDE_ARM][set];
    shapley(x, 3, share);
    for (size_t i = 0; i < 3; i++)
        cr_expect_float_eq(term_of(f, NAMES[i])->share_speedup, share[i], 1e-12);
}

/* K slots stay K slots: no term of their own. */
Test(waterfall, slots_follow_the_agents_where_each_has_one) {
    const char *sets[] = {"workload.K=6"};
    const waterfall *f =
        against(load("fleet_5x200.json", NULL, 0), load("fleet_5x200.json", sets, 1), NULL);
    cr_assert_eq(f->n, 1);
    cr_expect_str_eq(f->terms[0].name, "agents");
    cr_expect_str_eq(f->terms[0].changes[0].what.text, "K 5 -> 6");
    check_sums(f);
    check_end(&f->to);
}

Test(waterfall, every_part_of_a_workload_is_a_term) {
    const char *sets[] = {"workload.H=3", "workload.P=512", "workload.turn_out_tok=9",
                          "workload.tool_latency_s=0.25", "workload.K=5"};
    const char *few[] = {"workload.H=4"};
    const waterfall *f =
        against(load("head_to_head_4k.json", few, 1), load("head_to_head_4k.json", sets, 5), NULL);
    static const char *const NAMES[] = {"agents", "turns", "prefix", "turn", "pace"};
    static const char *const TEXTS[] = {"K 4 -> 5", "H 4 -> 3", "P 4096 -> 512",
                                        "turn_out_tok 64 -> 9", "tool_latency_s 0 -> 0.25"};
    cr_assert_eq(f->n, 5);
    for (size_t i = 0; i < 5; i++) {
        cr_expect_str_eq(f->terms[i].name, NAMES[i]);
        cr_expect_str_eq(f->terms[i].changes[0].what.text, TEXTS[i]);
        cr_expect_eq(f->terms[i].prov_before, -1);
    }
    check_sums(f);
    check_end(&f->to);
    cr_expect_not(f->from.printed_differs);
}

/* ---- within a scenario ---- */

Test(waterfall, within_a_scenario_the_baseline_stays) {
    const scenario *s = load("head_to_head_4k.json", NULL, 0);
    const projection *p = support_run(s);
    err e = {0};
    const waterfall *f = NULL;
    cr_assert_eq(waterfall_within(s, NULL, NULL, support_arena(), &f, &e), OK, "%s", e.what);
    int64_t llama = support_arm(p, "llama.cpp")->sim.wall_ns;
    cr_expect(f->within);
    cr_expect_eq(f->from.at.side[SIDE_ARM].wall_ns, llama);
    cr_expect_eq(f->to.at.side[SIDE_ARM].wall_ns, support_arm(p, "fak-native")->sim.wall_ns);
    cr_expect_eq(f->from.at.speedup, 1);
    check_sums(f);
    cr_assert_eq(f->n, 2);
    for (size_t i = 0; i < f->n; i++) {
        cr_expect_eq(f->terms[i].after.side[SIDE_BASE].wall_ns, llama);
        cr_expect_eq(f->terms[i].share_ns[SIDE_BASE], 0);
    }
    /* three prefixes of 4096 tokens at 48.54 tok/s are not computed again */
    cr_expect_float_eq((double)f->terms[0].step_ns[SIDE_ARM] / 1e9, -3 * 4096 / 48.54, 1e-6);
    cr_expect_eq(f->terms[1].prov_before, PROV_WITNESSED);
}

/* ---- what cannot be priced in between, and what is refused ---- */

Test(waterfall, a_card_that_lacks_rates_goes_with_the_rates_declared_for_it) {
    static const char ARMS[] =
        "\"workload\": {\"K\": 2, \"H\": 3, \"P\": 300, \"turn_delta_in_tok\": 20, "
        "\"turn_out_tok\": 8, \"turn_shape\": \"delta_first\"}, "
        "\"arms\": [{\"name\": \"a\", \"prefix_reuse\": \"shared\", \"batching\": "
        "\"continuous\"}, {\"name\": \"b\", \"prefix_reuse\": \"per_slot\", \"batching\": "
        "\"continuous\"}]}";
    char whole[1200], lacking[1600];
    snprintf(whole, sizeof whole,
             "{\"schema\": \"ratecast.scenario/1\", \"id\": \"x\", \"title\": \"t\", \"card\": "
             "\"qwen2-7b-like-q8_0-h200-split\", %s",
             ARMS);
    snprintf(lacking, sizeof lacking,
             "{\"schema\": \"ratecast.scenario/1\", \"id\": \"y\", \"title\": \"t\", \"card\": "
             "\"qwen3.8-27b-q4_k_m-m3pro-fak\", \"assumptions\": [{\"term\": \"prefill_tok_s\", "
             "\"value\": 48, \"provenance\": \"assumed\", \"reason\": \"r\"}, {\"term\": "
             "\"decode_tok_s\", \"value\": 7, \"gain_per_seq_frac\": 0.5, \"provenance\": "
             "\"assumed\", \"reason\": \"r\"}], %s",
             ARMS);
    const waterfall *f = against(parse(whole), parse(lacking), NULL);
    cr_assert_eq(f->n, 1);
    cr_expect_str_eq(f->terms[0].name, "prefill+decode+card");
    cr_assert_not_null(f->joined);
    cr_expect_eq(f->terms[0].changes_n, 3);
    check_sums(f);
    check_end(&f->to);
}

Test(waterfall, slots_for_one_session_go_with_its_agents) {
    const char *few[] = {"workload.K=2", "arms.fak-native.slots_n=3", "arms.llama.cpp.slots_n=3",
                         "arms.fak-native.batching=lockstep", "arms.llama.cpp.batching=lockstep"};
    const char *many[] = {"workload.H=7", "arms.fak-native.batching=lockstep",
                          "arms.llama.cpp.batching=lockstep"};
    const waterfall *f =
        against(load("head_to_head_4k.json", few, 5), load("head_to_head_4k.json", many, 3), NULL);
    cr_assert_eq(f->n, 1);
    cr_expect_str_eq(f->terms[0].name, "agents+turns+batching");
    cr_expect(strstr(f->joined, "lockstep") != NULL, "%s", f->joined);
    check_sums(f);
}

Test(waterfall, an_engine_brings_its_policies) {
    const scenario *s = load("llama_server_h200.json", NULL, 0);
    const char *sets[] = {"arms.isolated.engine=general", "arms.isolated.prefix_reuse=none"};
    const scenario *t = load("llama_server_h200.json", sets, 2);
    err e = {0};
    const waterfall *f = NULL;
    cr_assert_eq(waterfall_against(s, t, "isolated", NULL, support_arena(), &f, &e), OK, "%s",
                 e.what);
    cr_assert_eq(f->n, 1);
    cr_expect_str_eq(f->terms[0].name, "prefix_reuse+engine");
    check_sums(f);
    check_end(&f->to);
}

static void refused(const scenario *a, const scenario *b, const char *name,
                    const char *const *order, const char *where, const char *what) {
    err e = {0};
    const waterfall *f = NULL;
    cr_expect_eq(waterfall_against(a, b, name, order, support_arena(), &f, &e), E_USAGE);
    cr_expect_null(f);
    cr_expect(strstr(e.where, where) != NULL, "%s", e.where);
    cr_expect(strstr(e.what, what) != NULL, "%s", e.what);
}

Test(waterfall, refusals_say_what_does_not_fit) {
    const scenario *h = load("head_to_head_4k.json", NULL, 0),
                   *fleet = load("fleet_5x200.json", NULL, 0);
    refused(h, fleet, NULL, NULL, "fleet_5x200.json", "has no arm \"fak-native\"");
    refused(h, h, "fak", NULL, "head_to_head_4k.json", "has no arm \"fak\"");
    refused(h, h, "llama.cpp", NULL, "head_to_head_4k.json", "beside its baseline");
    const char *const order[] = {"delta_prefil", NULL};
    refused(h, h, NULL, order, "--order", "nearest term is \"delta_prefill\"");
    const char *base[] = {"baseline=C"};
    refused(fleet, load("fleet_5x200.json", base, 1), "B", NULL, "fleet_5x200.json",
            "--set baseline=A");
    const char *const *none = NULL;
    err e = {0};
    const waterfall *f = NULL;
    const char *one[] = {"arms=[{\"name\":\"a\",\"card\":\"qwen3.8-27b-q4_k_m-m3pro-fak\","
                         "\"prefix_reuse\":\"none\",\"batching\":\"serial\"}]",
                         "baseline=a"};
    const scenario *alone = load("head_to_head_4k.json", one, 2);
    cr_expect_eq(waterfall_within(alone, NULL, none, support_arena(), &f, &e), E_USAGE);
    cr_expect(strstr(e.what, "one arm") != NULL, "%s", e.what);
}

Test(waterfall, ten_terms_are_not_too_many_and_eleven_are) {
    const char *sets[] = {"workload.K=2", "workload.H=3", "workload.P=512",
                          "workload.turn_out_tok=9"};
    const scenario *a = load("published/legacy_4k.json", NULL, 0),
                   *b = load("head_to_head_4k.json", sets, 4);
    refused(a, b, NULL, NULL, "scenarios/head_to_head_4k.json", "in 11 terms (agents+turns+");
    const scenario *c = load("head_to_head_4k.json", sets, 3);
    const waterfall *f = against(a, c, NULL);
    cr_expect_eq(f->n, 10);
    check_sums(f);
    check_end(&f->to);
}

/* ---- printed walls ---- */

static const scenario *printed(const char *block) {
    char json[1200];
    snprintf(json, sizeof json,
             "{\"schema\": \"ratecast.scenario/1\", \"id\": \"p\", \"title\": \"t\", \"card\": "
             "\"qwen3.8-27b-q4_k_m-m3pro-fak\", \"workload\": {\"K\": 1, \"H\": 1, \"P\": 100, "
             "\"turn_delta_in_tok\": 0, \"turn_out_tok\": 1, \"turn_shape\": \"delta_first\"}, "
             "\"assumptions\": [{\"term\": \"prefill_tok_s\", \"value\": 100, \"provenance\": "
             "\"assumed\", \"reason\": \"r\"}, {\"term\": \"decode_tok_s\", \"value\": 10, "
             "\"provenance\": \"assumed\", \"reason\": \"r\"}], \"printed\": %s, "
             "\"arms\": [{\"name\": \"a\", \"prefix_reuse\": \"none\", \"batching\": \"serial\"}, "
             "{\"name\": \"b\", \"prefix_reuse\": \"none\", \"batching\": \"serial\"}]}",
             block);
    return parse(json);
}

#define WALLS(decimals, a)                                                                         \
    "{\"source\": \"doc\", \"decimals\": " #decimals                                               \
    ", \"walls\": [{\"arm\": \"a\", \"wall_s\": " #a "}]}"

/* Both arms take exactly 1 s: 100 tokens of prefill, and the first token comes with it. */
Test(waterfall, a_print_is_met_to_half_its_last_digit) {
    static const struct {
        const char *block;
        int64_t unexplained_ns;
    } CASES[] = {{WALLS(1, 1.05), 0},         {WALLS(1, 0.95), 0},
                 {WALLS(1, 1.06), 60000000},  {WALLS(2, 1.05), 50000000},
                 {WALLS(2, 0.99), -10000000}, {WALLS(0, 1.5), 0},
                 {WALLS(0, 2), 1000000000}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const scenario *s = printed(CASES[i].block);
        const waterfall *f = against(s, s, NULL);
        cr_assert_eq(f->from.at.side[SIDE_ARM].wall_ns, 1000000000);
        cr_expect_eq(f->from.unexplained_ns[SIDE_ARM], CASES[i].unexplained_ns, "%s",
                     CASES[i].block);
        cr_expect_eq(f->from.printed_differs, CASES[i].unexplained_ns != 0);
        cr_expect_eq(f->from.printed_ns[SIDE_BASE], -1);
        cr_expect_eq(f->from.unexplained_ns[SIDE_BASE], 0);
    }
}

Test(waterfall, of_a_changed_scenario_nothing_was_printed) {
    const char *sets[] = {"workload.H=20"}; /* the value that it has */
    const waterfall *f = against(load("published/legacy_4k.json", sets, 1),
                                 load("published/head_to_head_4k.json", sets, 1), NULL);
    cr_expect_null(f->from.printed_source);
    cr_expect_eq(f->from.printed_ns[SIDE_ARM], -1);
    cr_expect_eq(f->from.unexplained_ns[SIDE_BASE], 0);
    cr_expect_not(f->from.printed_differs);
}
