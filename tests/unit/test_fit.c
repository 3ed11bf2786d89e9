/* Host terms fitted to runs that the engine made with terms that the test knows. */
#include "calib/host_fit.h"

#include "temp.h"
#include "calib/score.h"

#include "witness_maker.h"

#include <math.h>
#include <unistd.h>

static const card *cards[2];
static const host_terms KNOWN = {.known = true,
                                 .sample_s = 5e-4,
                                 .sample_s_per_row = 4e-5,
                                 .shape_s = 6e-3,
                                 .graph_s = 9e-3,
                                 .request_s = 1.6e-3,
                                 .request_s_per_tok = 4e-7,
                                 .client_gap_s = 3e-3};

static void set_up(void) {
    cards[0] = made_card("qwen2-7b-like-q8_0-h200-split");
    cards[1] = made_card("qwen2-7b-like-q8_0-h200-unified");
}

TestSuite(fit, .init = set_up);

#define SPLIT(id, use, K, H, P, din, out)                                                          \
    { id, "slot-isolated", use, K, H, P, din, out, false, NULL, NULL, 0 }
#define UNIFIED(id, use, K, H, P, din, out)                                                        \
    { id, "isolated-kvu", use, K, H, P, din, out, true, NULL, NULL, 0 }
static const made_run CALIBRATE[] = {
    SPLIT("c1", "calibrate", 1, 10, 4096, 128, 32),  SPLIT("c2", "calibrate", 2, 8, 1024, 64, 24),
    SPLIT("c3", "calibrate", 4, 8, 2048, 128, 32),   SPLIT("c4", "calibrate", 5, 10, 512, 20, 16),
    SPLIT("c5", "calibrate", 8, 4, 1024, 200, 40),   UNIFIED("c6", "calibrate", 1, 8, 8000, 12, 8),
    UNIFIED("c7", "calibrate", 4, 8, 2048, 128, 32), UNIFIED("c8", "calibrate", 5, 6, 300, 40, 48),
    SPLIT("c9", "calibrate", 1, 40, 16, 4, 2),       SPLIT("c10", "calibrate", 8, 3, 64, 8, 90)};
static const made_run SCORE[] = {
    SPLIT("s1", "score", 3, 8, 3000, 100, 32), SPLIT("s2", "score", 6, 6, 2000, 128, 24),
    SPLIT("s3", "score", 1, 12, 6000, 64, 48), UNIFIED("s4", "score", 4, 6, 5000, 128, 32),
    UNIFIED("s5", "score", 7, 4, 1000, 30, 20)};
enum { CALIBRATE_N = sizeof CALIBRATE / sizeof *CALIBRATE, SCORE_N = sizeof SCORE / sizeof *SCORE };

/* The runs marked calibrate, none excluded. */
static size_t calibrating(made *m, const replay **out) {
    size_t all_n, n = 0;
    replay *all = made_set(m, cards, 2, false, &all_n);
    for (size_t i = 0; i < all_n; i++) {
        cr_assert_null(all[i].excluded, "%s: %s", all[i].run->id, all[i].excluded);
        if (all[i].run->use == USE_CALIBRATE) out[n++] = &all[i];
    }
    return n;
}

static host_fit fit_to(const made_run *runs, size_t n, const host_terms *host) {
    static const replay *picked[CALIBRATE_N];
    made m;
    host_fit f;
    err e = {0};
    made_init(&m);
    for (size_t i = 0; i < n; i++) made_add(&m, &runs[i], cards, 2, host);
    size_t picked_n = calibrating(&m, picked);
    cr_assert_eq(picked_n, n);
    cr_assert_eq(host_fit_run(picked, n, 0.03, support_arena(), &f, &e), OK, "%s: %s", e.where,
                 e.what);
    return f;
}

static void is_near(const host_fit *f, size_t i, double frac) {
    host_terms got = f->terms, want = KNOWN;
    double x = *host_term_at(&got, i), y = *host_term_at(&want, i);
    cr_expect(fabs(x / y - 1) <= frac, "%s is %.4g, made with %.4g", HOST_TERM_NAMES[i], x, y);
}

Test(fit, known_terms_come_back) {
    host_fit f = fit_to(CALIBRATE, CALIBRATE_N, &KNOWN);
    cr_assert_eq(f.params_n, HOST_FITTED_N);
    cr_assert_eq(f.runs_n, CALIBRATE_N);
    cr_expect_str_eq(f.dropped, "");
    for (size_t i = 0; i < HOST_FITTED_N; i++) {
        is_near(&f, i, 0.15);
        cr_expect(f.terms.stderr_frac[i] > 0 && f.terms.stderr_frac[i] < 0.5, "%s: %.3f",
                  HOST_TERM_NAMES[i], f.terms.stderr_frac[i]);
    }
    cr_expect_float_eq(f.terms.client_gap_s, KNOWN.client_gap_s, 1e-6);
    cr_expect_eq(f.terms.repeat_spread_frac, 0.03);
    cr_expect(f.terms.known && f.terms.prov == PROV_DERIVED);
    cr_expect(f.card_only_mean_frac > 0.1);
    for (size_t i = 0; i < f.runs_n; i++) {
        cr_expect_str_eq(f.run_ids[i], CALIBRATE[i].id);
        cr_expect(fabs(f.residual_frac[i]) < 0.005, "%s: %.4f", f.run_ids[i], f.residual_frac[i]);
        cr_expect(f.loo_frac[i] != 0 && fabs(f.loo_frac[i]) < 0.05, "%s left out: %.4f",
                  f.run_ids[i], f.loo_frac[i]);
    }
}

/* The runs that the fit has not seen. */
Test(fit, predicts_the_others) {
    host_fit f = fit_to(CALIBRATE, CALIBRATE_N, &KNOWN);
    card fitted[2] = {*cards[0], *cards[1]};
    const card *with[] = {&fitted[0], &fitted[1]};
    made m;
    size_t n;
    score s;
    err e = {0};
    made_init(&m);
    for (size_t i = 0; i < SCORE_N; i++) made_add(&m, &SCORE[i], cards, 2, &KNOWN);
    fitted[0].fitted_host = fitted[1].fitted_host = f.terms;
    replay *all = made_set(&m, with, 2, false, &n);
    cr_assert_eq(score_runs(all, n, SCORE_SCORE, support_arena(), &s, &e), OK, "%s", e.what);
    cr_assert_eq(s.wall.n, SCORE_N);
    cr_expect(s.wall.max_abs_frac < 0.01, "worst wall %.4f", s.wall.max_abs_frac);
    cr_expect(s.warm_p50.max_abs_frac < 0.05, "worst TTFT %.4f", s.warm_p50.max_abs_frac);
    cr_expect(s.wall_card_only.mean_abs_frac > 0.1);
    cr_expect_eq(s.covered_frac, 1);
}

/* A run left out of the fit does not move its own prediction: its walls may say what they will. */
Test(fit, leave_one_out_has_not_seen_the_run) {
    made_run odd[CALIBRATE_N];
    memcpy(odd, CALIBRATE, sizeof odd);
    odd[2].scale = 1.3;
    host_fit f = fit_to(odd, CALIBRATE_N, &KNOWN);
    cr_expect(f.loo_frac[2] < -0.2, "%.3f", f.loo_frac[2]);
    cr_expect(fabs(f.loo_frac[2]) > fabs(f.residual_frac[2]), "left out %.3f, fitted %.3f",
              f.loo_frac[2], f.residual_frac[2]);
}

Test(fit, fewer_terms_than_runs) {
    for (size_t n = 2; n <= CALIBRATE_N; n++) {
        host_fit f = fit_to(CALIBRATE, n, &KNOWN);
        cr_expect_lt(f.params_n, f.runs_n);
        cr_expect_leq(f.params_n, (size_t)HOST_FITTED_N);
        host_terms t = f.terms;
        size_t set = 0;
        for (size_t i = 0; i < HOST_FITTED_N; i++) {
            bool dropped = strstr(f.dropped, HOST_TERM_NAMES[i]) != NULL;
            set += *host_term_at(&t, i) > 0;
            if (!dropped) cr_expect_gt(*host_term_at(&t, i), 0, "%s", HOST_TERM_NAMES[i]);
        }
        cr_expect_eq(set, f.params_n);
        cr_expect_eq(f.dropped[0] == '\0', n > HOST_FITTED_N);
    }
}

Test(fit, what_would_identify_a_dropped_term) {
    static const made_run ALONE[] = {
        SPLIT("a", "calibrate", 1, 8, 4096, 128, 32), SPLIT("b", "calibrate", 1, 8, 512, 12, 32),
        SPLIT("c", "calibrate", 1, 4, 9000, 64, 8), SPLIT("d", "calibrate", 1, 9, 100, 300, 16)};
    host_fit f = fit_to(ALONE, 4, &KNOWN);
    cr_expect_eq(f.params_n, 3);
    cr_expect(strstr(f.dropped, "sample_s_per_row (add a calibrate run with another K)"), "%s",
              f.dropped);
    cr_expect(strstr(f.dropped, "graph_s (add a calibrate run with another K)"), "%s", f.dropped);
    cr_expect(strstr(f.dropped, "request_s_per_tok (add a calibrate run)"), "%s", f.dropped);
}

Test(fit, one_run_is_refused) {
    made m;
    const replay *picked[1];
    host_fit f;
    err e = {0};
    made_init(&m);
    made_add(&m, &CALIBRATE[0], cards, 2, &KNOWN);
    size_t n = calibrating(&m, picked);
    cr_expect_eq(host_fit_run(picked, n, 0.03, support_arena(), &f, &e), E_REFUSED);
    cr_expect(strstr(e.what, "found 1 calibrate run") && strstr(e.what, "two or more"), "%s",
              e.what);
    e = (err){0};
    cr_expect_eq(host_fit_run(picked, 0, 0.03, support_arena(), &f, &e), E_REFUSED);
}

/* Peak less what was there before, weights and KV cells. The median of the runs of that card. */
Test(fit, overhead_is_what_weights_and_cells_leave) {
    const replay *picked[CALIBRATE_N];
    made m;
    made_init(&m);
    for (size_t i = 0; i < 2; i++) made_add(&m, &CALIBRATE[i], cards, 2, &KNOWN);
    size_t n = calibrating(&m, picked);
    double want = (12000 - 600) * 1048576.0 - (double)cards[0]->weights_bytes - 65536 * 57344.0;
    cr_expect_float_eq(host_fit_overhead_bytes(picked, n, cards[0]), want, 1);
    cr_expect_eq(host_fit_overhead_bytes(picked, n, cards[1]), 0);
}

/* The calibrate runs of the documented fit: the recordings and the cards that ship. */
static size_t recorded(const replay **out, size_t room) {
    const card *const of[] = {cards[0], cards[1], made_card("qwen2-1.5b-like-q8_0-h200-split")};
    witness w;
    replay *all = NULL;
    err e = {0};
    size_t n = 0;
    cr_assert_eq(
        witness_load(RATECAST_REPO "/calib/witnessed/h200-llama-server", support_arena(), &w, &e),
        OK, "%s: %s", e.where, e.what);
    cr_assert_eq(replay_set(&w, of, 3, true, support_arena(), &all, &e), OK, "%s", e.what);
    for (size_t i = 0; i < w.n && n < room; i++)
        if (!all[i].excluded && all[i].run->use == USE_CALIBRATE) out[n++] = &all[i];
    return n;
}

static host_fit fit_recorded(const replay *const *runs, size_t n) {
    host_fit f;
    err e = {0};
    cr_assert_eq(host_fit_run(runs, n, 0.03, support_arena(), &f, &e), OK, "%s", e.what);
    cr_assert_eq(f.params_n, HOST_FITTED_N);
    return f;
}

/* A ten-thousandth of one run's wall is no news: it moves no standard error by more than a few per
 * cent, whichever run it is. */
Test(fit, standard_errors_do_not_hang_on_the_last_digit) {
    const replay *runs[16];
    size_t n = recorded(runs, 16);
    cr_assert_gt(n, (size_t)HOST_FITTED_N);
    host_fit base = fit_recorded(runs, n);
    for (size_t k = 0; k < n; k++) {
        const replay *as_seen = runs[k];
        replay moved = *as_seen;
        moved.seen.wall_s *= 1.0001;
        runs[k] = &moved;
        host_fit f = fit_recorded(runs, n);
        runs[k] = as_seen;
        for (size_t i = 0; i < HOST_FITTED_N; i++) {
            double ratio = f.terms.stderr_frac[i] / base.terms.stderr_frac[i];
            cr_expect(fabs(ratio - 1) < 0.03, "%s: error of %s %.4f, was %.4f", f.run_ids[k],
                      HOST_TERM_NAMES[i], f.terms.stderr_frac[i], base.terms.stderr_frac[i]);
        }
    }
}

/* The cards that ship carry what the documented fit gives: terms within half a per cent, and
 * errors as near as a compiler's rounding leaves them. */
Test(fit, shipped_cards_carry_the_documented_fit) {
    const replay *runs[16];
    host_fit f = fit_recorded(runs, recorded(runs, 16));
    for (size_t c = 0; c < 2; c++) {
        host_terms got = f.terms, want = cards[c]->fitted_host;
        cr_assert(want.known);
        for (size_t i = 0; i < HOST_FITTED_N; i++) {
            double x = *host_term_at(&got, i), y = *host_term_at(&want, i);
            cr_expect(fabs(x / y - 1) < 0.005, "%s: fitted %.5g, on %s %.5g", HOST_TERM_NAMES[i], x,
                      cards[c]->id, y);
            cr_expect(fabs(got.stderr_frac[i] / want.stderr_frac[i] - 1) < 0.03,
                      "%s: error %.4f, on %s %.4f", HOST_TERM_NAMES[i], got.stderr_frac[i],
                      cards[c]->id, want.stderr_frac[i]);
        }
    }
}

/* ---- `ratecast fit`: runs marked score are not looked at ---- */

static const char *fit_output(const char *dir) {
    const char *program = getenv("RATECAST_BIN");
    cr_assert_not_null(program, "RATECAST_BIN is the path of the program");
    arena *mem = support_arena();
    FILE *p = popen(arena_printf(mem,
                                 "%s fit qwen2-7b-like-q8_0-h200-split --with "
                                 "qwen2-7b-like-q8_0-h200-unified --session %s --rates %s/rates",
                                 program, dir, RATECAST_REPO),
                    "r");
    cr_assert_not_null(p);
    static char text[2][16384];
    static int at;
    char *out = text[at++ % 2];
    out[fread(out, 1, sizeof text[0] - 1, p)] = '\0';
    cr_assert_eq(pclose(p), 0);
    return out;
}

static char folders[2][TEMP_MAX];

static const char *folder_with(double scale) {
    static int at;
    char *d = folders[at++ % 2];
    made m;
    temp_folder(d, "fit");
    made_init(&m);
    for (size_t i = 0; i < 4; i++) {
        made_run s = SCORE[i];
        s.scale = scale;
        made_add(&m, &CALIBRATE[i], cards, 2, &KNOWN);
        made_add(&m, &s, cards, 2, &KNOWN);
    }
    made_write(&m, d);
    return d;
}

/* also of a test that failed half-way */
static void drop(void) {
    for (size_t i = 0; i < 2; i++)
        if (folders[i][0]) temp_remove(folders[i]);
}

Test(fit, score_runs_never_count, .fini = drop) {
    const char *as_made = folder_with(1), *doctored = folder_with(1.7);
    const char *first = fit_output(as_made), *second = fit_output(doctored);
    cr_expect(strstr(first, "3 terms from 4 calibrate runs"), "%s", first);
    cr_expect_str_eq(first, second);
    cr_expect(!strstr(first, "s1"), "%s", first);
}
