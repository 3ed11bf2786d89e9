/* Scores by hand on runs that the engine made, and the gates that the model has to pass on the
 * recordings in calib/witnessed. */
#include "calib/score.h"

#include "witness_maker.h"

#include "base/stat.h"

#include <math.h>

static const card *cards[2];

static void set_up(void) {
    cards[0] = made_card("qwen2-7b-like-q8_0-h200-split");
    cards[1] = made_card("qwen2-7b-like-q8_0-h200-unified");
}

TestSuite(score, .init = set_up);

#define RUN(id, K, H, P)                                                                           \
    { id, "slot-isolated", "score", K, H, P, 32, 8, false, NULL, NULL, 0 }

static replay *made_runs(const made_run *runs, size_t n) {
    made m;
    size_t got;
    made_init(&m);
    for (size_t i = 0; i < n; i++) made_add(&m, &runs[i], cards, 2, &cards[0]->fitted_host);
    replay *all = made_set(&m, cards, 2, false, &got);
    cr_assert_eq(got, n);
    return all;
}

static score scored(replay *all, size_t n, score_use use) {
    score s;
    err e = {0};
    cr_assert_eq(score_runs(all, n, use, support_arena(), &s, &e), OK, "%s: %s", e.where, e.what);
    return s;
}

#define NEAR(x, y) cr_expect_float_eq(x, y, 1e-6, "%s is %.9f", #x, (double)(x))

/* ---- statistics ---- */

/* Errors +10, -20, +30, -40, +50 %: mean |e| 30, median the third: 30, p90 the fifth (ceil 4.5):
 * 50, bias 6 %. */
Test(score, statistics_by_hand) {
    static const double ERRORS[] = {0.1, -0.2, 0.3, -0.4, 0.5};
    static const made_run RUNS[] = {RUN("a", 1, 2, 100), RUN("b", 1, 2, 200), RUN("c", 1, 2, 300),
                                    RUN("d", 2, 2, 400), RUN("e", 2, 2, 500)};
    replay *all = made_runs(RUNS, 5);
    score s = scored(all, 5, SCORE_SCORE);
    cr_assert_eq(s.wall.n, 5);
    cr_expect_lt(s.wall.max_abs_frac, 1e-6, "the engine made them");
    cr_expect_lt(s.warm_p50.max_abs_frac, 1e-6);
    for (int i = 0; i < 5; i++) {
        all[i].seen.wall_s = s.runs[i].wall_s / (1 + ERRORS[i]);
        all[i].seen.warm.p50_s = s.runs[i].warm.p50_s / (1 + ERRORS[4 - i] / 2);
    }
    s = scored(all, 5, SCORE_SCORE);
    NEAR(s.wall.mean_abs_frac, 0.3);
    NEAR(s.wall.median_abs_frac, 0.3);
    NEAR(s.wall.p90_abs_frac, 0.5);
    NEAR(s.wall.max_abs_frac, 0.5);
    NEAR(s.wall.bias_frac, 0.06);
    NEAR(s.warm_p50.mean_abs_frac, 0.15);
    NEAR(s.warm_p50.bias_frac, 0.03);
    NEAR(s.wall_split.bias_frac, 0.06);
    cr_expect_eq(s.wall_unified.n, 0);
    cr_expect_eq(s.floor_wall.n, 0, "no repeats");
    /* an even count: halfway between the middle two, 20 and 30 % */
    s = scored(all, 4, SCORE_SCORE);
    NEAR(s.wall.median_abs_frac, 0.25);
    NEAR(s.wall.p90_abs_frac, 0.4);
    NEAR(s.wall.bias_frac, -0.05);
    error_stats none = score_wall_of_arm(&s, "nobody", support_arena()),
                isolated = score_wall_of_arm(&s, "slot-isolated", support_arena());
    cr_expect(none.n == 0 && isolated.n == 4);
    NEAR(isolated.mean_abs_frac, 0.25);
}

/* Two of four walls inside their interval, one at its border, one outside; the projection's own
 * interval. */
Test(score, coverage_by_hand) {
    static const made_run RUNS[] = {RUN("a", 1, 2, 100), RUN("b", 1, 2, 200), RUN("c", 1, 2, 300),
                                    RUN("d", 2, 2, 400)};
    replay *all = made_runs(RUNS, 4);
    score s = scored(all, 4, SCORE_SCORE);
    cr_expect_eq(s.covered_frac, 1);
    double half[4];
    for (int i = 0; i < 4; i++) {
        const score_run *r = &s.runs[i];
        cr_assert(r->lo_s < r->wall_s && r->wall_s < r->hi_s);
        NEAR(r->lo_s * r->hi_s / (r->wall_s * r->wall_s), 1);
        half[i] = (r->hi_s - r->lo_s) / 2 / r->wall_s;
    }
    stat_sort_f64(half, 4);
    NEAR(s.median_half_width_frac, (half[1] + half[2]) / 2);
    all[0].seen.wall_s = s.runs[0].hi_s;
    all[1].seen.wall_s = s.runs[1].lo_s * 0.999;
    all[2].seen.wall_s = s.runs[2].hi_s * 1.001;
    s = scored(all, 4, SCORE_SCORE);
    NEAR(s.covered_frac, 0.5);
    NEAR(s.median_half_width_frac, (half[1] + half[2]) / 2);
}

/* ---- repeats ---- */

Test(score, repeats_that_differ_are_scored_against_their_median) {
    static const made_run RUNS[] = {RUN("a", 2, 2, 100), RUN("b", 2, 2, 100), RUN("c", 2, 2, 100),
                                    RUN("other", 2, 2, 101)};
    replay *all = made_runs(RUNS, 4);
    double wall = 10; /* a fifth more of it, the limit below, is exact */
    all[0].seen.wall_s = wall;
    all[1].seen.wall_s = wall * 1.1;
    all[2].seen.wall_s = wall * 1.3;
    score s = scored(all, 4, SCORE_SCORE);
    for (int i = 0; i < 3; i++) {
        NEAR(s.runs[i].seen_wall_s, wall * 1.1);
        NEAR(s.runs[i].repeat_spread_frac, 0.3);
        cr_expect(s.runs[i].against_median);
        cr_expect_eq(s.runs[i].seen_warm_p50_s, all[i].seen.warm.p50_s, "TTFT did not differ");
    }
    cr_expect(!s.runs[3].against_median && s.runs[3].repeat_spread_frac == 0);
    /* of two it is neither, but halfway */
    all[2].seen.wall_s = 0;
    all[1].seen.wall_s = wall * 1.4;
    s = scored(all, 4, SCORE_SCORE);
    NEAR(s.runs[0].seen_wall_s, wall * 1.2);
    NEAR(s.runs[1].seen_wall_s, wall * 1.2);
    all[1].seen.wall_s = wall * 1.1;
    /* up to 20 % each stands for itself; the floor: a by b, b by c */
    all[2].seen.wall_s = wall * 1.2;
    s = scored(all, 4, SCORE_SCORE);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(s.runs[i].seen_wall_s, all[i].seen.wall_s);
        cr_expect(!s.runs[i].against_median);
        NEAR(s.runs[i].repeat_spread_frac, 0.2);
    }
    cr_expect_eq(s.floor_wall.n, 2);
    NEAR(s.floor_wall.max_abs_frac, 1 - 1 / 1.1);
    NEAR(s.floor_wall.bias_frac, (1 / 1.1 - 1 + 1.1 / 1.2 - 1) / 2);
}

/* What the server did before the start, its slots, or a request that came later: another
 * configuration. */
Test(score, only_identical_runs_are_repeats) {
    static const char TWO[] = "\"-np\",\"2\",\"-no-kvu\"";
    made_run runs[] = {RUN("a", 2, 2, 100), RUN("b", 2, 2, 100), RUN("c", 2, 2, 100),
                       RUN("d", 2, 2, 100), RUN("e", 2, 2, 100)};
    runs[0].args = runs[1].args = runs[3].args = runs[4].args = TWO;
    runs[1].config = ",\"warm\":\"save_restore\"";
    runs[2].args = "\"-np\",\"3\",\"-no-kvu\"";
    runs[3].config = ",\"serial\":true";
    runs[4].config = ",\"cache\":false";
    score s = scored(made_runs(runs, 5), 5, SCORE_SCORE);
    for (int i = 0; i < 5; i++) cr_expect_eq(s.runs[i].repeat_spread_frac, 0, "%s", runs[i].id);
    cr_expect_eq(s.floor_wall.n, 0);
}

Test(score, interference_is_scored_by_its_gaps) {
    static const char ONE[] =
        "{\"run_id\":\"i\",\"machine\":\"gpu-h200\",\"config\":{\"model\":\"qwen2-7b-like\","
        "\"arm\":\"interference\",\"K\":2,\"H\":1,\"P\":0,\"n0\":64,\"out0\":200,\"N\":4096,"
        "\"out1\":8,\"delay_s\":0.6},\"server_args\":[\"-np\",\"2\",\"-no-kvu\"],\"wall_s\":1.5}\n";
    witness w;
    err e = {0};
    replay *r = NULL;
    file_bytes f = {.name = "runs.jsonl", .s = ONE, .len = sizeof ONE - 1};
    cr_assert_eq(witness_parse(&f, NULL, 0, support_arena(), &w, &e), OK, "%s", e.what);
    cr_assert_eq(replay_set(&w, cards, 2, true, support_arena(), &r, &e), OK, "%s", e.what);
    cr_assert_null(r->excluded, "%s", r->excluded);
    cr_assert(r->work->K == 2 && r->work->H == 1 && r->work->P == 0);
    cr_expect_eq(workload_agent_prompt_tok(r->work, 0, 1), 64);
    cr_expect_eq(workload_agent_prompt_tok(r->work, 1, 1), 4096);
    cr_expect_eq(workload_out_tok(r->work, 0, 1), 200);
    cr_expect_eq(workload_out_tok(r->work, 1, 1), 8);
    cr_expect_eq(r->work->start_offset_ns[1], 600000000);
    score s = scored(r, 1, SCORE_SCORE);
    cr_expect(s.wall.n == 0 && s.covered_frac == 0 && s.gap_p99.n == 0);
    r->seen.itl_p99_s = s.runs[0].itl_p99_s * 2;
    s = scored(r, 1, SCORE_SCORE);
    cr_expect_eq(s.gap_p99.n, 1);
    NEAR(s.gap_p99.bias_frac, -0.5);
}

/* ---- which runs ---- */

Test(score, use_picks_the_runs) {
    made_run runs[] = {RUN("a", 1, 2, 100), RUN("b", 1, 2, 200), RUN("c", 1, 2, 300)};
    runs[1].use = "calibrate";
    replay *all = made_runs(runs, 3);
    score s = scored(all, 3, SCORE_CALIBRATE);
    cr_assert_eq(s.n, 1);
    cr_expect_str_eq(s.runs[0].r->run->id, "b");
    cr_expect_eq(scored(all, 3, SCORE_SCORE).n, 2);
    cr_expect_eq(scored(all, 3, SCORE_ALL).n, 3);
    cr_expect_eq(scored(all, 3, SCORE_ALL).all_n, 3);
}

static void excluded_for(const made_run *run, const card *const *with, size_t n, bool summaries,
                         const char *why) {
    made_run good = RUN("good", 1, 2, 100);
    made m;
    size_t got;
    made_init(&m);
    made_add(&m, &good, cards, 2, NULL);
    made_run_line(run, ",\"wall_s\":1", &m.runs);
    replay *all = made_set(&m, with, n, summaries, &got);
    cr_assert_eq(got, 2);
    cr_assert_not_null(all[1].excluded, "%s", why);
    cr_expect(strstr(all[1].excluded, why), "\"%s\" lacks \"%s\"", all[1].excluded, why);
    score s = scored(all, 2, SCORE_SCORE);
    cr_expect_eq(s.n, all[0].excluded ? 0 : 1);
}

Test(score, excluded_with_the_reason) {
    static card same; /* as the unified card, by another name */
    same = *cards[1];
    same.id = "same";
    const card *two[] = {cards[0], cards[1], &same}, *twice[] = {cards[0], cards[1], cards[1]};
    made_run r = RUN("r", 1, 2, 100);
    r.unified = true;
    excluded_for(&r, cards, 1, true,
                 "no card: unified KV, the card qwen2-7b-like-q8_0-h200-split is of split KV");
    excluded_for(&r, two, 3, true, "two cards match: qwen2-7b-like-q8_0-h200-unified and same");
    excluded_for(&r, twice, 3, true, "card qwen2-7b-like-q8_0-h200-unified is given twice");
    excluded_for(&r, cards, 2, false, "session records are missing or incomplete");
    r.config = ",\"out_jitter\":0.5";
    excluded_for(&r, cards, 2, true, "output lengths vary and no session record states them");
    r = (made_run)RUN("r", 5, 2, 100);
    r.args = "\"-np\",\"4\",\"-no-kvu\"";
    excluded_for(&r, cards, 2, true, "4 slots for 5 agents");
    r = (made_run)RUN("r", 2, 3, 100); /* 100 + 3 * 32 + 2 * 8, and 8 more of the last answer */
    r.args = "\"-np\",\"2\",\"-no-kvu\",\"-c\",\"438\"";
    excluded_for(&r, cards, 2, true, "needs 220 tokens, a slot has 219");
    r = (made_run)RUN("r", 1, 2, 0);
    r.din = 0;
    excluded_for(&r, cards, 2, true, "an empty prompt");
}

/* A card that states no layout is refused to no run for its layout; where another states that of
 * the run, it is that card's. */
Test(score, a_card_without_a_layout_fits_any) {
    static card bare, twin; /* as the split card, which says less of itself */
    bare = twin = *cards[0];
    bare.id = "bare";
    twin.id = "twin";
    bare.engine.layout = twin.engine.layout = KV_LAYOUT_UNSTATED;
    const card *const with[] = {&bare, cards[1], &twin};
    made_run split = RUN("s", 1, 2, 100), unified = RUN("u", 1, 2, 100);
    unified.unified = true;
    cr_expect_str_eq(made_replay(&split, with, 1)->card->id, "bare");
    cr_expect_str_eq(made_replay(&unified, with, 1)->card->id, "bare");
    cr_expect_str_eq(made_replay(&unified, with, 2)->card->id, cards[1]->id);
    cr_expect_str_eq(made_replay(&unified, with, 3)->card->id, cards[1]->id);
    cr_expect_str_eq(made_replay(&split, with, 2)->card->id, "bare");
    made m;
    size_t got;
    made_init(&m);
    made_add(&m, &unified, cards, 2, NULL);
    made_run_line(&split, ",\"wall_s\":1", &m.runs);
    replay *all = made_set(&m, with, 3, true, &got);
    cr_expect_null(all[0].excluded);
    cr_assert_not_null(all[1].excluded);
    cr_expect_str_eq(all[1].excluded, "two cards match: bare and twin");
}

/* The first prompt is the prefix alone, and the others are a delta shorter: P + (t - 1)(32 + 8). */
Test(score, the_turn_shape_is_the_run_s) {
    made_run r = RUN("r", 1, 3, 100);
    r.config = ",\"turn_shape\":\"result_after\"";
    const replay *x = made_replay(&r, cards, 2);
    for (int64_t t = 1; t <= 3; t++)
        cr_expect_eq(workload_prompt_tok(x->work, t), 100 + (t - 1) * (32 + 8));
    made_run other = RUN("o", 1, 3, 100);
    const replay *y = made_replay(&other, cards, 2);
    cr_expect_eq(workload_prompt_tok(y->work, 1), 132);
    cr_expect_not(replay_siblings(x->run, y->run));
    other.config = ",\"turn_shape\":\"delta_first\"";
    cr_expect(replay_siblings(made_replay(&other, cards, 2)->run, y->run));
}

/* A record of an answer without a token: nothing to replay. */
Test(score, empty_answer_is_excluded) {
    made_run good = RUN("good", 1, 2, 100), empty = RUN("r", 1, 1, 100);
    made m;
    size_t got;
    made_init(&m);
    made_add(&m, &good, cards, 2, NULL);
    made_run_line(&empty, "", &m.runs);
    buf_add(&m.sessions,
            "{\"run_id\":\"r\",\"agent\":0,\"turn\":1,\"prompt_tokens\":132,\"cached_tokens\":0,"
            "\"new_prompt_tokens\":132,\"out_tokens\":0,\"t_send_s\":0,\"t_first_s\":1,"
            "\"t_last_s\":1}\n");
    replay *all = made_set(&m, cards, 2, false, &got);
    cr_assert_not_null(all[1].excluded);
    cr_expect(strstr(all[1].excluded, "0 output tokens"), "%s", all[1].excluded);
}

Test(score, no_match_is_an_error) {
    made_run r = RUN("r", 1, 2, 100);
    made m;
    witness w;
    err e = {0};
    replay *all = NULL;
    made_init(&m);
    r.unified = true;
    made_run_line(&r, ",\"wall_s\":1", &m.runs);
    file_bytes f = made_bytes("runs.jsonl", &m.runs);
    cr_assert_eq(witness_parse(&f, NULL, 0, support_arena(), &w, &e), OK);
    cr_expect_eq(replay_set(&w, cards, 1, true, support_arena(), &all, &e), E_SCHEMA);
    made_done(&m);
    cr_expect(e.where[0] && strstr(e.what, "r: no card: unified KV"), "%s: %s", e.where, e.what);
}

/* Lengths as requested, turn by turn, are configuration. */
Test(score, lengths_come_from_the_records) {
    made_run r = RUN("r", 2, 2, 100);
    made m;
    size_t n;
    made_init(&m);
    made_add(&m, &r, cards, 2, NULL);
    char *second = strstr(m.sessions.s, "\"agent\":0,\"turn\":2"), *out;
    cr_assert_not_null(second);
    out = strstr(second, "\"out_tokens\":8");
    cr_assert_not_null(out);
    out[13] = '5';
    replay *all = made_set(&m, cards, 2, false, &n);
    cr_assert_null(all[0].excluded, "%s", all[0].excluded);
    cr_expect_eq(workload_out_tok(all[0].work, 0, 1), 8);
    cr_expect_eq(workload_out_tok(all[0].work, 0, 2), 5);
    cr_expect_eq(workload_out_tok(all[0].work, 1, 2), 8);
}

/* ---- nothing measured enters a projection ---- */

Test(score, nothing_measured_enters_a_projection) {
    made_run runs[] = {RUN("a", 1, 3, 4000), RUN("b", 4, 3, 600), RUN("c", 2, 4, 900)};
    runs[2].unified = true;
    runs[2].config = ",\"stagger_s\":0.1,\"tool_s\":0.05";
    score fair = scored(made_runs(runs, 3), 3, SCORE_SCORE);
    for (int i = 0; i < 3; i++) runs[i].scale = 1.9 + i; /* walls, TTFT, gaps, memory */
    score lied = scored(made_runs(runs, 3), 3, SCORE_SCORE);
    cr_assert(fair.n == 3 && lied.n == 3);
    for (int i = 0; i < 3; i++) {
        const score_run *x = &fair.runs[i], *y = &lied.runs[i];
        cr_assert_gt(y->seen_wall_s, 1.8 * x->seen_wall_s);
        cr_assert_gt(y->seen_warm_p50_s, 1.8 * x->seen_warm_p50_s);
        cr_assert_gt(y->seen_memory_bytes, 1.8 * x->seen_memory_bytes);
        cr_assert_gt(y->r->seen.itl_p50_s, 1.8 * x->r->seen.itl_p50_s);
        cr_expect_eq(memcmp(&x->wall_s, &y->wall_s, 3 * sizeof(double)), 0, "wall, lo, hi");
        cr_expect_eq(memcmp(&x->card_only_wall_s, &y->card_only_wall_s, sizeof(double)), 0);
        cr_expect_eq(memcmp(&x->cold, &y->cold, sizeof x->cold), 0);
        cr_expect_eq(memcmp(&x->warm, &y->warm, sizeof x->warm), 0);
        cr_expect_eq(memcmp(&x->itl_p50_s, &y->itl_p50_s, 3 * sizeof(double)), 0,
                     "ITL p50, p99, memory");
    }
    cr_expect_eq(fair.median_half_width_frac, lied.median_half_width_frac);
    cr_expect(fair.wall.max_abs_frac < 1e-6 && lied.wall.max_abs_frac > 0.4);
}

/* ---- gates on the recordings ---- */

static score score_recorded(const char *folder, const char *const *ids, size_t n) {
    const card *c[4];
    witness w;
    err e = {0};
    replay *all = NULL;
    for (size_t i = 0; i < n; i++) c[i] = made_card(ids[i]);
    cr_assert_eq(witness_load(folder, support_arena(), &w, &e), OK, "%s: %s", e.where, e.what);
    cr_assert_eq(replay_set(&w, c, n, true, support_arena(), &all, &e), OK, "%s: %s", e.where,
                 e.what);
    return scored(all, w.n, SCORE_SCORE);
}

#define AT_MOST(x, percent)                                                                        \
    cr_expect(fabs(x) <= (percent) / 100.0, "%s is %.2f %%, at most %g %%", #x, 100 * (x),         \
              (double)(percent))

Test(score, gate_h200) {
    static const char *const IDS[] = {
        "qwen2-7b-like-q8_0-h200-split", "qwen2-7b-like-q8_0-h200-unified",
        "qwen2-1.5b-like-q8_0-h200-split", "qwen2-1.5b-like-q8_0-h200-unified"};
    score s = score_recorded(RATECAST_REPO "/calib/witnessed/h200-llama-server", IDS, 4);
    cr_assert_geq(s.wall.n, 35);
    AT_MOST(s.wall.mean_abs_frac, 4);
    AT_MOST(s.wall.median_abs_frac, 3);
    AT_MOST(s.wall.bias_frac, 1.5);
    AT_MOST(s.wall_split.mean_abs_frac, 5);
    AT_MOST(s.wall_unified.mean_abs_frac, 5);
    AT_MOST(s.warm_p50.median_abs_frac, 8);
    AT_MOST(s.warm_p50.mean_abs_frac, 12);
    AT_MOST(s.warm_p95.median_abs_frac, 10);
    AT_MOST(s.memory.mean_abs_frac, 3);
    cr_expect_geq(s.covered_frac, 0.85);
    AT_MOST(s.median_half_width_frac, 7);
    for (size_t i = 0; i < s.n; i++) cr_expect_eq(s.runs[i].r->run->use, USE_SCORE);
}

Test(score, gate_cpu) {
    static const char *const IDS[] = {"qwen2-60m-like-q8_0-cpu-t1", "qwen2-60m-like-q8_0-cpu-t2"};
    score s = score_recorded(RATECAST_REPO "/calib/witnessed/cpu-llama-server", IDS, 2);
    cr_assert_geq(s.wall.n, 26);
    AT_MOST(s.wall.median_abs_frac, 12);
    AT_MOST(s.wall.mean_abs_frac, 15);
}

/* ---- gates on the cards' own points ---- */

Test(score, gate_decode_residuals) {
    static const char *const IDS[] = {"qwen2-7b-like-q8_0-h200-split",
                                      "qwen2-7b-like-q8_0-h200-unified",
                                      "qwen2-1.5b-like-q8_0-h200-split"};
    for (int i = 0; i < 3; i++) {
        const card *c = made_card(IDS[i]);
        decode_curve d;
        err e = {0};
        cr_assert_eq(decode_curve_fit(c, -1, support_arena(), &d, &e), OK, "%s", e.what);
        double v[512];
        size_t n = 0;
        for (size_t j = 0; j < c->decode_n; j++) {
            const decode_point *p = &c->decode[j];
            if (p->origin.excluded) continue;
            double B = (double)p->batch_n, x = (double)p->context_tok;
            bool foreign = c->engine.layout == KV_LAYOUT_UNIFIED && !p->origin.shared_prompt;
            double t = decode_curve_at(&d, p->batch_n).a_s + d.own_s * B * x +
                       (foreign ? d.foreign_s * B * (B - 1) * x : 0);
            v[n++] = fabs(t / p->step_s - 1);
        }
        cr_assert(n > 40 && n < 512);
        stat_sort_f64(v, n);
        AT_MOST(v[stat_rank(n, 500000)], 2);
        AT_MOST(v[n - 1], 6);
    }
}

/* The depth cells of llama-bench, by the files that the points name. */
Test(score, gate_prefill_residuals) {
    static const char *const IDS[] = {"qwen2-7b-like-q8_0-h200-split",
                                      "qwen2-1.5b-like-q8_0-h200-split"};
    double sum = 0, worst = 0;
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        const card *c = made_card(IDS[i]);
        decode_curve d;
        prefill_curve p;
        err e = {0};
        cr_assert_eq(decode_curve_fit(c, -1, support_arena(), &d, &e), OK, "%s", e.what);
        cr_assert_eq(prefill_curve_fit(c, &d, -1, support_arena(), &p, &e), OK, "%s", e.what);
        size_t before = n;
        for (size_t j = 0; j < c->prefill_n; j++) {
            const prefill_point *x = &c->prefill[j];
            if (x->origin.excluded || !strstr(x->origin.source, "_lb_pp_depth")) continue;
            double error = fabs(prefill_curve_s(&p, x->n_prompt_tok, x->depth_tok) / x->s - 1);
            sum += error;
            worst = fmax(worst, error);
            n++;
        }
        cr_assert_gt(n, before + 10, "%s", IDS[i]);
    }
    AT_MOST(sum / (double)n, 3);
    AT_MOST(worst, 8);
    printf("%zu prefill depth cells: mean %.2f %%, worst %.2f %%\n", n, 100 * sum / (double)n,
           100 * worst);
}
