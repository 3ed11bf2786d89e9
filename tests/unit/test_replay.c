/* The spread of identical runs, by hand from their walls. */
#include "witness_maker.h"

#include <math.h>

#define RUN(id, K, H, P)                                                                           \
    { id, "slot-isolated", "score", K, H, P, 32, 8, false, NULL, NULL, 0 }

static const card *split_card(void) {
    err e = {0};
    card_library lib = support_library();
    const card *c = NULL;
    cr_assert_eq(card_find(&lib, "qwen2-7b-like-q8_0-h200-split", NULL, support_arena(), &c, &e),
                 OK, "%s: %s", e.where, e.what);
    return c;
}

static replay *made_runs(const made_run *runs, size_t n, const card *c) {
    made m;
    size_t got;
    made_init(&m);
    for (size_t i = 0; i < n; i++) made_add(&m, &runs[i], &c, 1, &c->fitted_host);
    replay *all = made_set(&m, &c, 1, false, &got);
    cr_assert_eq(got, n);
    return all;
}

/* Two groups, log walls +-0.1 and 0, 0.3, 0.6; a run without a repeat. Squares 0.02 + 0.18 over
 * 1 + 2 degrees of freedom. */
Test(replay, spread_is_pooled_over_groups) {
    static const made_run RUNS[] = {RUN("a", 2, 2, 100), RUN("b", 2, 2, 100), RUN("c", 2, 2, 101),
                                    RUN("d", 2, 2, 101), RUN("e", 2, 2, 101), RUN("f", 2, 2, 102)};
    static const double LOG_WALL[] = {0.9, 1.1, 0, 0.3, 0.6, 5};
    const card *c = split_card();
    replay *all = made_runs(RUNS, 6, c);
    for (int i = 0; i < 6; i++) all[i].seen.wall_s = exp(LOG_WALL[i]);
    size_t free_n = 0;
    cr_expect_float_eq(replay_repeat_spread(all, 6, c, &free_n), sqrt(0.2 / 3), 1e-12);
    cr_expect_eq(free_n, 3);
    all[1].excluded = "a reason"; /* leaves the second group */
    cr_expect_float_eq(replay_repeat_spread(all, 6, c, &free_n), sqrt(0.18 / 2), 1e-12);
    cr_expect_eq(free_n, 2);
}

Test(replay, no_repeat_no_spread) {
    static const made_run RUNS[] = {RUN("a", 2, 2, 100), RUN("b", 2, 2, 101)};
    const card *c = split_card();
    size_t free_n = 9;
    cr_expect_eq(replay_repeat_spread(made_runs(RUNS, 2, c), 2, c, &free_n), 0);
    cr_expect_eq(free_n, 0);
}

/* A card with eight degrees of freedom of its own has its own spread; one with fewer takes that of
 * all runs. */
Test(replay, few_repeats_of_a_card_take_those_of_all) {
    made_run runs[12];
    for (int i = 0; i < 12; i++) runs[i] = (made_run)RUN("", 2, 2, i < 9 ? 100 : 101);
    static const char *const IDS[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    for (int i = 0; i < 12; i++) runs[i].id = IDS[i];
    const card *c = split_card();
    static card other; /* only its address counts */
    replay *all = made_runs(runs, 12, c);
    double mine = 0, both = 0;
    for (int i = 0; i < 12; i++) {
        double x = i < 9 ? 0.01 * (i - 4) : 0.1 * (i - 10); /* around 0 in each group */
        all[i].seen.wall_s = exp(x);
        both += x * x;
        if (i < 9)
            mine += x * x;
        else
            all[i].card = &other;
    }
    size_t free_n = 0;
    cr_expect_float_eq(replay_repeat_spread(all, 12, c, &free_n), sqrt(mine / 8), 1e-12);
    cr_expect_eq(free_n, 8);
    cr_expect_float_eq(replay_repeat_spread(all, 12, &other, &free_n), sqrt(both / 10), 1e-12);
    cr_expect_eq(free_n, 10);
}
