/* llama-server's loop over random arms and workloads on the shipped H200 cards. */
#include "llama_server.h"

#include "random_scenario.h"
#include "support.h"

enum { ROUNDS = 300, K_MOST = 9, H_MOST = 5 };

typedef struct random_run {
    arm a;
    workload w;
    host_terms host;
    int64_t offset_ns[K_MOST], own_tok[K_MOST], out_tok[K_MOST * H_MOST];
} random_run;

static const card *draw_card(gsl_rng *r) {
    static const char *const CARDS[] = {
        "qwen2-7b-like-q8_0-h200-split", "qwen2-7b-like-q8_0-h200-unified",
        "qwen2-1.5b-like-q8_0-h200-split", "qwen2-1.5b-like-q8_0-h200-unified"};
    static const card *known[4];
    int i = draw(r, 0, 3);
    err e = {0};
    if (!known[i])
        cr_assert_eq(card_find(support_cards(), CARDS[i], NULL, support_arena(), &known[i], &e), OK,
                     "%s: %s", e.where, e.what);
    return known[i];
}

static host_terms draw_terms(gsl_rng *r) {
    static const double MOST[HOST_FITTED_N] = {1e-3, 1e-4, 1e-2, 1e-2, 5e-3, 1e-6};
    host_terms t = {.known = true};
    for (size_t i = 0; i < HOST_FITTED_N; i++)
        if (draw(r, 0, 3) > 0) *host_term_at(&t, i) = gsl_rng_uniform(r) * MOST[i];
    if (draw(r, 0, 1)) t.client_gap_s = gsl_rng_uniform(r) * 5e-3;
    t.slot_save_s_per_tok = 3e-5;
    t.slot_restore_s_per_tok = 2e-5;
    return t;
}

static void draw_workload(gsl_rng *r, int K, random_run *x) {
    int H = draw(r, 1, H_MOST);
    x->w = (workload){.K = K,
                      .H = H,
                      .P = draw(r, 0, 3) ? draw(r, 1, 5000) : 0,
                      .turn_delta_in_tok = draw(r, 1, 300),
                      .turn_out_tok = draw(r, 1, 40),
                      .shape = draw(r, 0, 3) ? SHAPE_DELTA_FIRST : SHAPE_RESULT_AFTER,
                      .start_offset_ns = x->offset_ns,
                      .private_tok = x->own_tok};
    if (draw(r, 0, 2) == 0) x->w.tool_latency_ns = draw(r, 0, 500000000);
    x->w.one_after_another = draw(r, 0, 7) == 0;
    for (int k = 0; k < K; k++) {
        x->offset_ns[k] = draw(r, 0, 1) ? draw(r, 0, 300000000) : 0;
        x->own_tok[k] = draw(r, 0, 2) ? draw(r, 1, 700) : x->w.P == 0; /* no empty prompt */
    }
    if (draw(r, 0, 1)) {
        for (int i = 0; i < K * H; i++) x->out_tok[i] = draw(r, 1, 40);
        x->w.out_tok = x->out_tok;
    }
}

static void draw_run(gsl_rng *r, int K, random_run *x) {
    const card *c = draw_card(r);
    memset(x, 0, sizeof *x);
    draw_workload(r, K, x);
    x->host = draw_terms(r);
    x->a = (arm){.name = "a",
                 .card = c,
                 .engine = ENGINE_LLAMA_SERVER,
                 .batch = BATCH_CONTINUOUS,
                 .reuse = draw(r, 0, 4) ? REUSE_PER_SLOT : REUSE_NONE,
                 .layout = c->engine.layout,
                 .slots_n = K + draw(r, 0, 2),
                 .n_batch = draw(r, 0, 1) ? draw(r, 16, 4096) : 0,
                 .n_ubatch = draw(r, 0, 1) ? draw(r, 8, 1024) : 0,
                 .warm = (warm_up)draw(r, 0, 2),
                 .block_tok = 1,
                 .cold_sights_n = 1,
                 .slot_pad_tok = 1};
    if (c->engine.layout == KV_LAYOUT_UNIFIED && x->a.reuse == REUSE_PER_SLOT &&
        draw(r, 0, 3) == 0) {
        x->a.warm = WARM_SHARED;
        x->a.reuse = REUSE_SHARED;
    }
}

static sim_result run_it(const random_run *x, const host_terms *host, arena *mem) {
    const cost *c = NULL;
    sim_result r;
    err e = {0};
    cr_assert_eq(cost_new(&x->a, &x->w, x->w.K, mem, &c, &e), OK, "%s: %s", e.where, e.what);
    cr_assert_eq(llama_server_run(&x->a, &x->w, c, host, mem, &r, &e), OK, "%s: %s", e.where,
                 e.what);
    return r;
}

static void for_each(int K_lo, int K_hi, unsigned long seed,
                     void (*check)(gsl_rng *, random_run *, arena *)) {
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(r, seed);
    for (int i = 0; i < ROUNDS; i++) {
        static random_run x;
        arena *mem = arena_new((size_t)256 << 20);
        cr_assert_not_null(mem);
        draw_run(r, draw(r, K_lo, K_hi), &x);
        check(r, &x, mem);
        arena_free(mem);
    }
    gsl_rng_free(r);
}

/* ---- conservation ---- */

static void turns_in_order(const random_run *x, const sim_result *r) {
    for (int64_t i = 0; i < r->turns_n; i++) {
        const turn_record *t = &r->turns[i];
        int64_t k = i / x->w.H, h = i % x->w.H + 1;
        cr_assert(t->send_ns <= t->start_ns && t->start_ns < t->first_ns &&
                  t->first_ns <= t->done_ns && t->done_ns <= r->wall_ns);
        cr_assert_eq(t->reused_tok + t->computed_tok, workload_agent_prompt_tok(&x->w, k, h));
        cr_assert_gt(t->computed_tok, 0);
        if (h > 1) cr_assert_geq(t->send_ns, t[-1].done_ns + x->w.tool_latency_ns);
        if (x->a.reuse == REUSE_NONE) cr_assert_eq(t->reused_tok, 0);
    }
}

/* Of the warm-up's prefix, what no agent finds: all of it without reuse, else what the prompt of
 * the agent that is taken up first leaves over. */
static int64_t warm_only_tok(const random_run *x, const sim_result *r) {
    if (x->a.warm == WARM_NONE) return 0;
    if (x->a.reuse == REUSE_NONE) return x->w.P;
    int64_t reach = x->a.warm == WARM_FIRST_SLOT ? 1 : x->w.K, first = 0;
    for (int64_t k = 1; k < reach; k++)
        if (r->turns[k * x->w.H].start_ns < r->turns[first * x->w.H].start_ns) first = k;
    return x->w.P - r->turns[first * x->w.H].reused_tok;
}

static void conserves(gsl_rng *rng, random_run *x, arena *mem) {
    (void)rng;
    sim_result r = run_it(x, &x->host, mem);
    int64_t out = 0, last = 0, gaps = 0, spans = 0;
    for (int64_t k = 0; k < x->w.K; k++)
        for (int64_t t = 1; t <= x->w.H; t++) out += workload_out_tok(&x->w, k, t);
    for (int64_t i = 0; i < r.turns_n; i++) {
        if (r.turns[i].done_ns > last) last = r.turns[i].done_ns;
        spans += r.turns[i].done_ns - r.turns[i].first_ns;
    }
    for (size_t i = 0; i < r.itl_n; i++) gaps += r.itl[i].gap_ns;
    cr_assert_eq(r.presented_tok, workload_presented_tok(&x->w) + warm_only_tok(x, &r));
    cr_assert_eq(r.presented_tok, r.reused_tok + r.computed_tok);
    int64_t computed = x->a.warm == WARM_NONE ? 0 : x->w.P; /* by the warm-up, then turn by turn */
    for (int64_t i = 0; i < r.turns_n; i++) computed += r.turns[i].computed_tok;
    cr_assert_eq(r.computed_tok, computed);
    cr_assert_eq(r.computed_tok, r.prefill_tok);
    cr_assert_eq(r.output_tok, out);
    cr_assert_eq((int64_t)r.itl_n, out - r.turns_n);
    cr_assert_eq(gaps, spans, "token gaps fill the time from first to last token");
    cr_assert_eq(r.prefill_ns + r.decode_ns + r.other_ns + r.idle_ns, r.wall_ns);
    cr_assert(r.prefill_ns >= 0 && r.decode_ns >= 0 && r.other_ns >= 0 && r.idle_ns >= 0);
    cr_assert_eq(r.wall_ns, last, "the wall ends with the last token");
    cr_assert_gt(r.wall_ns, workload_waiting_ns(&x->w));
    int64_t most = 0;
    for (int64_t k = 0; k < x->w.K; k++) most += workload_max_context_tok(&x->w, k);
    cr_assert(r.kv_peak_tok > 0 && r.kv_peak_tok < most);
    turns_in_order(x, &r);
}

Test(llama_server_random, conservation) {
    for_each(1, K_MOST, 11, conserves);
}

/* ---- the same again ---- */

static void repeats(gsl_rng *rng, random_run *x, arena *mem) {
    (void)rng;
    sim_result a = run_it(x, &x->host, mem), b = run_it(x, &x->host, mem);
    cr_assert_eq(a.wall_ns, b.wall_ns);
    cr_assert_eq(a.itl_n, b.itl_n);
    cr_assert_eq(memcmp(a.turns, b.turns, (size_t)a.turns_n * sizeof *a.turns), 0);
    if (a.itl_n) cr_assert_eq(memcmp(a.itl, b.itl, a.itl_n * sizeof *a.itl), 0);
}

Test(llama_server_random, same_input_same_result) {
    for_each(1, K_MOST, 12, repeats);
}

/* ---- host terms ---- */

/* With several agents a delay can bring two prompts into one batch; alone, time that is added is
 * time that passes. */
static void more_is_longer(gsl_rng *rng, random_run *x, arena *mem) {
    host_terms more = x->host;
    int i = draw(rng, 0, HOST_FITTED_N);
    if (i < HOST_FITTED_N)
        *host_term_at(&more, (size_t)i) += 1e-7 + gsl_rng_uniform(rng) * 1e-3;
    else
        more.client_gap_s += gsl_rng_uniform(rng) * 1e-3;
    int64_t before = run_it(x, &x->host, mem).wall_ns, after = run_it(x, &more, mem).wall_ns;
    cr_assert_geq(after, before, "term %d", i);
    cr_assert_geq(before, run_it(x, NULL, mem).wall_ns);
}

Test(llama_server_random, host_terms_never_shorten_a_single_agent) {
    for_each(1, 1, 13, more_is_longer);
}

/* ---- batch size ---- */

/* Once a batch takes all rows that there can be, a larger one changes nothing. (The card alone: the
 * cost of a shape asks whether the batch is full.) */
static void wide_batches_are_equal(gsl_rng *rng, random_run *x, arena *mem) {
    int64_t rows = 0;
    for (int64_t k = 0; k < x->w.K; k++) rows += workload_max_context_tok(&x->w, k);
    x->a.n_ubatch = draw(rng, 8, 512);
    x->a.n_batch = rows < 512 ? 512 : rows;
    sim_result a = run_it(x, NULL, mem);
    x->a.n_batch += draw(rng, 1, 100000);
    sim_result b = run_it(x, NULL, mem);
    cr_assert_eq(a.wall_ns, b.wall_ns);
    cr_assert_eq(memcmp(a.turns, b.turns, (size_t)a.turns_n * sizeof *a.turns), 0);
}

Test(llama_server_random, batches_wider_than_all_rows) {
    for_each(1, K_MOST, 14, wide_batches_are_equal);
}

/* ---- what was done before the start ---- */

static void restored_computes_once(gsl_rng *rng, random_run *x, arena *mem) {
    (void)rng;
    if (x->a.reuse == REUSE_SHARED) x->a.reuse = REUSE_PER_SLOT;
    x->a.warm = WARM_NONE;
    sim_result isolated = run_it(x, &x->host, mem);
    x->a.warm = WARM_FIRST_SLOT;
    sim_result first = run_it(x, &x->host, mem);
    x->a.warm = WARM_RESTORED;
    sim_result restored = run_it(x, &x->host, mem);
    /* the prefix of every agent, but for the last token of a prompt, for one computation of it */
    int64_t saved = 0, saved_first = 0;
    for (int64_t k = 0; k < x->w.K && x->a.reuse != REUSE_NONE; k++) {
        int64_t most = workload_agent_prompt_tok(&x->w, k, 1) - 1,
                found = x->w.P < most ? x->w.P : most;
        saved += found;
        if (k == 0) saved_first = found;
    }
    cr_assert_eq(isolated.computed_tok - first.computed_tok, saved_first - x->w.P);
    cr_assert_eq(isolated.computed_tok - restored.computed_tok, saved - x->w.P);
    cr_assert_eq(first.reused_cross_tok, 0);
    int64_t own = saved > 0 ? x->w.P - warm_only_tok(x, &restored) : 0; /* of the first agent */
    cr_assert_eq(restored.reused_cross_tok, saved - own);
}

Test(llama_server_random, a_warm_up_computes_the_prefix_once) {
    for_each(1, K_MOST, 15, restored_computes_once);
}
