/* llama-server's loop on sessions small enough to work out by hand. The card is written here in
 * round numbers: a decode step takes 10 ms at any batch, a step of n rows that holds prompt rows
 * takes 9.9 ms + 0.1 ms x n (10.0 ms at 1, 61.1 ms at 512), attention is free unless a test asks
 * for it. */
#include "llama_server.h"

#include "support.h"

#include "base/buf.h"

#include <math.h>

typedef struct rates {
    double step0_ms;                  /* of a step with prompt rows, at 0 rows */
    double own_us, foreign_us, k1_us; /* attention, per cell */
    const char *layout;
} rates;
static const rates FLAT = {.step0_ms = 9.9, .layout = "split"},
                   FLAT_UNIFIED = {.step0_ms = 9.9, .layout = "unified"};

static double rows_ms(double n) {
    return 9.9 + 0.1 * n;
}

static void add_prefill(buf *out, const rates *r) {
    static const int N[] = {1, 512, 1024, 2048}, D[] = {0, 1000, 4000};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) {
            double n = N[i], d = D[j], steps = n < 512 ? 1 : n / 512;
            double ms = steps * r->step0_ms + 0.1 * n + r->k1_us / 1e3 * (n * d + n * n / 2);
            buf_addf(out, "%s{\"n_prompt_tok\":%d,\"depth_tok\":%d,\"samples_s\":[%.17g]}",
                     i + j ? "," : "", N[i], D[j], ms / 1e3);
        }
}

static void add_decode(buf *out, const rates *r) {
    for (int b = 1; b <= 8; b++)
        for (int c = 100; c <= 1100; c += 1000)
            for (int shared = 0; shared < 2; shared++) {
                double us = r->own_us * b * c + (shared ? 0 : r->foreign_us * b * (b - 1) * c);
                buf_addf(out,
                         "%s{\"batch_n\":%d,\"context_tok\":%d,\"shared_prompt\":%s,"
                         "\"samples_s\":[%.17g]}",
                         b == 1 && c == 100 && !shared ? "" : ",", b, c, shared ? "true" : "false",
                         0.010 + us / 1e6);
            }
}

static const card *small_card(const rates *r) {
    buf text;
    buf_init(&text);
    buf_addf(&text,
             "{\"schema\":\"ratecast.rate-card/1\",\"id\":\"t\",\"title\":\"t\",\"method\":"
             "\"engine\",\"provenance\":\"witnessed\",\"source\":\"t\",\"model\":\"m\",\"quant\":"
             "\"q\",\"weights_bytes\":1000000,\"layers\":2,\"full_attention_layers\":2,"
             "\"kv_heads\":1,\"head_dim\":64,\"kv_element_bytes\":2,\"engine\":{\"name\":\"e\","
             "\"n_batch\":2048,\"n_ubatch\":512,\"kv_layout\":\"%s\"},\"hardware\":{\"chip\":"
             "\"c\"},\"prefill\":[",
             r->layout);
    add_prefill(&text, r);
    buf_add(&text, "],\"decode\":[");
    add_decode(&text, r);
    buf_add(&text, "]}");
    err e = {0};
    card_library lib = support_library();
    file_bytes f = {.name = "<test>", .s = text.s, .len = text.len};
    const card *c = NULL;
    cr_assert_eq(card_parse(&lib, &f, support_arena(), &c, &e), OK, "%s: %s", e.where, e.what);
    buf_done(&text);
    return c;
}

/* ---- one session at a time ---- */

enum { MOST = 8 };
static arm a;
static workload w;
static host_terms host;
static int64_t offset_ns[MOST], own_tok[MOST], out_tok[64];
static sim_result r;
static const cost *prices;
static int64_t warm_only_tok; /* of the warm-up's prefix, what no agent finds */

/* K agents, H turns, prompts of `in` new tokens, `out` tokens each. */
static void session(const rates *of, int64_t K, int64_t H, int64_t in, int64_t out) {
    const card *c = small_card(of);
    memset(offset_ns, 0, sizeof offset_ns);
    memset(own_tok, 0, sizeof own_tok);
    warm_only_tok = 0;
    host = (host_terms){.known = true};
    a = (arm){.name = "a",
              .card = c,
              .engine = ENGINE_LLAMA_SERVER,
              .batch = BATCH_CONTINUOUS,
              .reuse = REUSE_PER_SLOT,
              .layout = c->engine.layout,
              .slots_n = K,
              .block_tok = 1,
              .cold_sights_n = 1,
              .slot_pad_tok = 1};
    w = (workload){.K = K,
                   .H = H,
                   .turn_delta_in_tok = in,
                   .turn_out_tok = out,
                   .shape = SHAPE_DELTA_FIRST,
                   .start_offset_ns = offset_ns,
                   .private_tok = own_tok};
}

static err_code attempt(err *e) {
    if (cost_new(&a, &w, w.K, support_arena(), &prices, e)) return e->code;
    return llama_server_run(&a, &w, prices, &host, support_arena(), &r, e);
}

/* Prompt tokens in the device's prefill, as a timeline shows it. */
static int64_t recorded_prefill_tok(void) {
    err e = {0};
    span_list l = span_list_new((span_window){.from_ns = 0, .to_ns = TIME_MAX_NS}, (size_t)1 << 20);
    sim_result again;
    cr_assert_eq(llama_server_run_recorded(&a, &w, prices, &host, &l, support_arena(), &again, &e),
                 OK, "%s: %s", e.where, e.what);
    int64_t tok = 0;
    cr_assert_not(l.more);
    for (size_t i = 0; i < l.n; i++) tok += l.v[i].kind == SPAN_PREFILL ? l.v[i].tokens : 0;
    span_list_free(&l);
    return tok;
}

/* What holds for every session. */
static void go(void) {
    err e = {0};
    cr_assert_eq(attempt(&e), OK, "%s: %s", e.where, e.what);
    cr_assert_eq(r.prefill_ns + r.decode_ns + r.other_ns + r.idle_ns, r.wall_ns);
    cr_assert_eq(r.host_ns, r.other_ns);
    cr_assert_eq(r.presented_tok, workload_presented_tok(&w) + warm_only_tok);
    cr_assert_eq(r.presented_tok, r.reused_tok + r.computed_tok);
    cr_assert_eq(r.computed_tok, recorded_prefill_tok());
    cr_assert_eq(r.computed_tok, r.prefill_tok);
    int64_t out = 0;
    for (int64_t k = 0; k < w.K; k++)
        for (int64_t t = 1; t <= w.H; t++) out += workload_out_tok(&w, k, t);
    cr_assert_eq(r.output_tok, out);
    cr_assert_eq((int64_t)r.itl_n, out - w.K * w.H);
}

#define MS(x) ((int64_t)llround((x)*1e6))
/* Each call is rounded to a nanosecond. */
#define IS_MS(ns, ms)                                                                              \
    cr_expect(llabs((long long)((ns)-MS(ms))) <= 100, "%s is %.6f ms, expected %.6f", #ns,         \
              (double)(ns) / 1e6, (double)(ms))

static const turn_record *turn(int64_t k, int64_t t) {
    return &r.turns[k * w.H + t - 1];
}

static int64_t longest_gap(void) {
    int64_t most = 0;
    for (size_t i = 0; i < r.itl_n; i++)
        if (r.itl[i].gap_ns > most) most = r.itl[i].gap_ns;
    return most;
}

/* ---- split KV ---- */

/* Three prompts of 10 make one step of 30 rows, 12.9 ms; a decode step until 22.9 ms; then the 129
 * tokens that came meanwhile: one row of each of the four slots (10.3 ms), and the 128 that are
 * left (22.7 ms). */
Test(llama_server, split_delta_beside_three_decoders) {
    session(&FLAT, 4, 1, 10, 20);
    own_tok[3] = 119;
    offset_ns[3] = MS(15);
    go();
    IS_MS(turn(0, 1)->first_ns, 12.9);
    IS_MS(turn(2, 1)->first_ns, 12.9);
    IS_MS(turn(3, 1)->start_ns, 22.9);
    IS_MS(turn(3, 1)->first_ns, 22.9 + rows_ms(4) + rows_ms(128));
    IS_MS(longest_gap(), 33.0);
}

/* Agent 1 ends with its first token; slots 0, 2 and 3 are no row of consecutive slots: two steps of
 * 10 ms a token. */
Test(llama_server, split_gap_among_decoders_is_two_steps) {
    session(&FLAT, 4, 1, 10, 5);
    for (int i = 0; i < 4; i++) out_tok[i] = i == 1 ? 1 : 5;
    w.out_tok = out_tok;
    go();
    IS_MS(r.wall_ns, rows_ms(40) + 4 * 20);
    IS_MS(r.decode_ns, 80);
    session(&FLAT_UNIFIED, 4, 1, 10, 5);
    w.out_tok = out_tok;
    go();
    IS_MS(r.wall_ns, rows_ms(40) + 4 * 10);
}

static void prompts_of_two(int64_t first, int64_t second, int64_t absent) {
    session(&FLAT, 3, 1, 10, 1);
    offset_ns[absent] = MS(5000);
    own_tok[0] = first - 10;
    own_tok[absent == 1 ? 2 : 1] = second - 10;
    go();
}

Test(llama_server, split_prompts_share_a_step_when_consecutive) {
    prompts_of_two(100, 100, 2);
    IS_MS(turn(0, 1)->first_ns, rows_ms(200));
    IS_MS(turn(1, 1)->first_ns, rows_ms(200));
    prompts_of_two(100, 100, 1); /* slots 0 and 2 */
    IS_MS(turn(0, 1)->first_ns, 2 * rows_ms(100));
    IS_MS(turn(2, 1)->first_ns, 2 * rows_ms(100));
    prompts_of_two(100, 60, 2); /* equal rows: 60 of each, then 40 */
    IS_MS(turn(1, 1)->first_ns, rows_ms(120) + rows_ms(40));
    prompts_of_two(300, 300, 2); /* 256 of each fill the micro-batch */
    IS_MS(turn(1, 1)->first_ns, rows_ms(512) + rows_ms(88));
}

/* n_batch 1024: agent 0 has one row in every call, agent 1's 3,000 tokens come as 1,023 + 1,023 +
 * 954; each call is one equal step of two rows and the rest in micro-batches of 512. Agent 0's gap
 * is the whole call. */
Test(llama_server, split_long_prompt_is_cut_by_n_batch) {
    session(&FLAT, 2, 1, 10, 40);
    a.n_batch = 1024;
    own_tok[1] = 2990;
    offset_ns[1] = MS(15);
    go();
    double full = rows_ms(2) + rows_ms(512) + rows_ms(510),
           rest = rows_ms(2) + rows_ms(512) + rows_ms(441);
    IS_MS(r.itl[0].gap_ns, 10);
    IS_MS(r.itl[1].gap_ns, full);
    IS_MS(r.itl[2].gap_ns, full);
    IS_MS(r.itl[3].gap_ns, rest);
    IS_MS(turn(1, 1)->first_ns, rows_ms(10) + 10 + 2 * full + rest);
}

/* ---- unified KV ---- */

Test(llama_server, unified_rows_fill_micro_batches_in_order) {
    session(&FLAT_UNIFIED, 2, 1, 10, 40);
    a.n_batch = 1024;
    own_tok[1] = 2990;
    offset_ns[1] = MS(15);
    go();
    IS_MS(r.itl[1].gap_ns, 2 * rows_ms(512));
    IS_MS(r.itl[3].gap_ns, rows_ms(512) + rows_ms(443));
    /* prompts of any length share a step */
    session(&FLAT_UNIFIED, 3, 1, 10, 1);
    own_tok[0] = 90;
    own_tok[2] = 50;
    go();
    IS_MS(turn(2, 1)->first_ns, rows_ms(170));
}

/* The decoding row comes first whatever its slot. Prompt rows cost 11.9 ms + 0.1 ms x n here, a
 * decode row alone 10 ms: 1 + 511 and 1 prompt row (63.1 + 12.0), where prompt first would be 512
 * and 1 decode row (63.1 + 10). */
Test(llama_server, unified_decoding_rows_come_first) {
    rates r2 = FLAT_UNIFIED;
    r2.step0_ms = 11.9;
    session(&r2, 2, 1, 10, 10);
    own_tok[0] = 502;
    offset_ns[0] = MS(15);
    go();
    IS_MS(longest_gap(), 63.1 + 12.0);
}

/* Slot 1 ended and keeps its 500 cells: slot 0 scans them with every token. 1 us a cell of its own
 * or of others. */
Test(llama_server, unified_foreign_cells_are_scanned) {
    rates u = {.step0_ms = 9.9, .own_us = 1, .foreign_us = 1, .layout = "unified"};
    session(&u, 2, 1, 10, 3);
    own_tok[1] = 490;
    out_tok[0] = 3;
    out_tok[1] = 1;
    w.out_tok = out_tok;
    go();
    IS_MS(r.wall_ns, rows_ms(510) + (10 + 0.010 + 0.5) + (10 + 0.011 + 0.5));
    u = (rates){.step0_ms = 9.9, .own_us = 1, .layout = "split"};
    session(&u, 2, 1, 10, 3);
    own_tok[1] = 490;
    w.out_tok = out_tok;
    go(); /* equal rows: 10 of each slot, then 490 */
    IS_MS(r.wall_ns, rows_ms(20) + rows_ms(490) + (10 + 0.010) + (10 + 0.011));
}

/* A shared prefix is held once: nobody's foreign cell. */
Test(llama_server, shared_prefix_is_nobodys_foreign_cell) {
    rates u = {.step0_ms = 9.9, .own_us = 1, .foreign_us = 1, .layout = "unified"};
    session(&u, 2, 1, 10, 3);
    w.P = 1000;
    a.warm = WARM_SHARED;
    a.reuse = REUSE_SHARED;
    go();
    IS_MS(r.wall_ns, rows_ms(512) + rows_ms(488) + rows_ms(20) + (10 + 2 * 1.010 + 2 * 0.010) +
                         (10 + 2 * 1.011 + 2 * 0.011));
}

/* Attention of prompt rows: n d + n^2 / 2 pairs, 0.1 us each; under unified KV d counts the 500
 * cells of slot 0. */
Test(llama_server, prompt_rows_scan_foreign_cells) {
    rates u = {.step0_ms = 9.9, .k1_us = 0.1, .layout = "unified"};
    for (int unified = 0; unified < 2; unified++) {
        u.layout = unified ? "unified" : "split";
        session(&u, 2, 1, 10, 1);
        own_tok[0] = 490;
        offset_ns[1] = MS(1000);
        go();
        IS_MS(turn(0, 1)->first_ns, rows_ms(500) + 1e-4 * 125000);
        IS_MS(turn(1, 1)->first_ns, 1000 + rows_ms(10) + 1e-4 * (50 + (unified ? 10.0 * 500 : 0)));
        cr_expect_eq(r.used.prefill_cells_tok, unified ? 500 + 10 : 0);
    }
}

/* What a decoding sequence scans: its own cells, the token in work, and what the other slot holds,
 * idle as it is. */
Test(llama_server, decoding_rows_scan_foreign_cells) {
    for (int unified = 0; unified < 2; unified++) {
        session(unified ? &FLAT_UNIFIED : &FLAT, 2, 1, 10, 3);
        own_tok[0] = 490;
        offset_ns[1] = MS(1000);
        go(); /* slot 0 ends with 502 cells, slot 1 begins its last step with 11 */
        cr_expect_eq(r.used.decode_cells_tok, unified ? 502 + 12 : 0);
    }
}

/* ---- results, sampling ---- */

/* Agent 0's 10 rows are in the first of five steps; its token waits for the other four. */
Test(llama_server, results_come_after_the_whole_call) {
    session(&FLAT, 2, 1, 10, 1);
    own_tok[1] = 1990;
    go();
    double call = rows_ms(20) + 3 * rows_ms(512) + rows_ms(1990 - 3 * 512);
    IS_MS(turn(0, 1)->first_ns, call);
    IS_MS(turn(1, 1)->first_ns, call);
    cr_expect_eq(r.events_n, 1);
}

Test(llama_server, tokens_leave_slot_by_slot) {
    session(&FLAT, 2, 1, 10, 2);
    host.sample_s = 0.002;
    go();
    IS_MS(turn(0, 1)->first_ns, rows_ms(20) + 2);
    IS_MS(turn(1, 1)->first_ns, rows_ms(20) + 4);
    IS_MS(turn(0, 1)->done_ns, rows_ms(20) + 4 + 10 + 2);
    IS_MS(turn(1, 1)->done_ns, rows_ms(20) + 4 + 10 + 4);
    IS_MS(r.other_ns, 8);
}

/* ---- host terms, each by itself ---- */

/* K = 1, two turns of 10 tokens in and 3 out: 10 rows, 2 steps, 10 + 1 rows (the last sampled token
 * is not cached), 2 steps. */
static const double PLAIN_MS = 10.9 + 20 + 11.0 + 20;

static void plain(void) {
    session(&FLAT, 1, 2, 10, 3);
}

Test(llama_server, without_host_terms) {
    plain();
    go();
    IS_MS(r.wall_ns, PLAIN_MS);
    cr_expect_eq(r.other_ns, 0);
    cr_expect_eq(r.idle_ns, 0);
    host.sample_s = 1;
    host.known = false; /* terms that are not known do not count */
    go();
    IS_MS(r.wall_ns, PLAIN_MS);
}

Test(llama_server, term_sample) {
    plain();
    host.sample_s = 0.001;
    go();
    IS_MS(r.wall_ns, PLAIN_MS + 6);
    IS_MS(r.host_ns, 6);
}

/* Grows with the rows sampled in the iteration: two rows, 2 ms for each of two tokens. A prompt
 * that is not complete is not sampled. */
Test(llama_server, term_sample_per_row) {
    plain();
    host.sample_s_per_row = 0.001;
    go();
    IS_MS(r.wall_ns, PLAIN_MS + 6);
    session(&FLAT, 2, 1, 10, 3);
    host.sample_s_per_row = 0.001;
    go();
    IS_MS(r.wall_ns, rows_ms(20) + 20 + 3 * 4);
    session(&FLAT, 2, 1, 10, 4);
    a.n_batch = 512;
    own_tok[1] =
        990; /* 502 rows beside agent 0's prompt, then 498 beside its row: sampled 1, 2, 2, 2, 1 */
    host.sample_s_per_row = 0.001;
    go();
    IS_MS(r.host_ns, 1 + 4 + 4 + 4 + 1);
}

/* rows / (rows + 64); none once the batch is full. */
Test(llama_server, term_shape_levels_off) {
    plain();
    host.shape_s = 0.010;
    go();
    IS_MS(r.host_ns, 10 * (10.0 / 74 + 11.0 / 75));
    session(&FLAT, 1, 1, 64, 1);
    host.shape_s = 0.010;
    go();
    IS_MS(r.host_ns, 5);
    session(&FLAT, 1, 1, 5000, 1); /* 2048, 2048, 904 */
    host.shape_s = 0.010;
    go();
    IS_MS(r.host_ns, 10 * 904.0 / 968);
    cr_expect_eq(r.events_n, 3);
}

/* 2 : 5 over the two steps behind a change of the set, nothing afterwards. */
Test(llama_server, term_graph_ramp) {
    session(&FLAT, 1, 1, 10, 5);
    host.graph_s = 0.007;
    go();
    IS_MS(r.itl[0].gap_ns, 12);
    IS_MS(r.itl[1].gap_ns, 15);
    IS_MS(r.itl[2].gap_ns, 10);
    IS_MS(r.host_ns, 7);
    session(&FLAT, 1, 1, 10, 2); /* one step */
    host.graph_s = 0.007;
    go();
    IS_MS(r.host_ns, 2);
    session(&FLAT, 2, 1, 10, 8); /* both for three steps, one for four: two changes */
    out_tok[0] = 4;
    out_tok[1] = 8;
    w.out_tok = out_tok;
    host.graph_s = 0.007;
    go();
    IS_MS(r.host_ns, 14);
    session(&FLAT, 2, 1, 10, 8); /* the second change cuts the first ramp short: 2, 2, 5 */
    out_tok[0] = 2;
    w.out_tok = out_tok;
    host.graph_s = 0.007;
    go();
    IS_MS(r.host_ns, 9);
    plain();
    host.graph_s = 0.007;
    go(); /* a call with prompt rows in between: the set counts as changed */
    IS_MS(r.host_ns, 14);
}

/* What passes before the server can take a request up is idle time of the device. */
Test(llama_server, term_request) {
    plain();
    host.request_s = 0.004;
    go();
    IS_MS(r.wall_ns, PLAIN_MS + 8);
    IS_MS(r.idle_ns, 8);
    IS_MS(turn(0, 1)->start_ns, 4);
    cr_expect_eq(turn(0, 1)->send_ns, 0);
    plain();
    host.request_s_per_tok = 0.0001; /* prompts of 10 and of 10 + 3 + 10 */
    go();
    IS_MS(r.idle_ns, 1.0 + 2.3);
}

Test(llama_server, client_gap_and_tool_latency) {
    plain();
    host.client_gap_s = 0.003;
    go();
    IS_MS(r.wall_ns, PLAIN_MS + 3); /* not behind the last turn */
    IS_MS(turn(0, 2)->send_ns - turn(0, 1)->done_ns, 3);
    plain();
    w.tool_latency_ns = MS(5);
    go();
    IS_MS(r.idle_ns, 5);
    host.client_gap_s = 0.003;
    go();
    IS_MS(r.idle_ns, 8);
}

/* A request that comes while a call runs waits for its end. */
Test(llama_server, requests_are_taken_up_between_calls) {
    session(&FLAT, 2, 1, 10, 6);
    offset_ns[1] = MS(14);
    host.request_s = 0.001;
    go();
    IS_MS(turn(0, 1)->start_ns, 1);
    IS_MS(turn(1, 1)->start_ns, 1 + rows_ms(10) + 10); /* ready at 15 ms, step from 11.9 to 21.9 */
    IS_MS(turn(1, 1)->first_ns, 21.9 + rows_ms(2) + rows_ms(9));
}

/* Declared host time comes with every call that decodes, and is no time of the device: 30 rows of a
 * prompt give the first token, two steps the others. */
Test(llama_server, declared_host_time) {
    static const assumption STEP = {
        .what = TERM_HOST_STEP_S, .value = 0.002, .prov = PROV_ASSUMED, .reason = "test"};
    session(&FLAT, 1, 1, 30, 3);
    a.assume = &STEP;
    a.assume_n = 1;
    go();
    IS_MS(r.wall_ns, rows_ms(30) + 2 * (10 + 2));
    IS_MS(r.decode_ns, 2 * 10);
    IS_MS(r.other_ns, 2 * 2);
}

/* ---- tokens ---- */

Test(llama_server, warm_turns_compute_the_delta_and_the_last_token) {
    session(&FLAT, 2, 4, 50, 20);
    w.P = 300;
    go();
    for (int64_t k = 0; k < 2; k++) {
        cr_expect_eq(turn(k, 1)->computed_tok, 350);
        for (int64_t t = 2; t <= 4; t++) {
            cr_expect_eq(turn(k, t)->computed_tok, 51);
            cr_expect_eq(turn(k, t)->reused_tok, 300 + 50 * (t - 1) + 20 * (t - 1) - 1);
        }
    }
    cr_expect_eq(r.prefix_evals, 2);
    cr_expect_eq(r.reused_cross_tok, 0);
    cr_expect_eq(r.kv_peak_tok, 2 * (300 + 4 * 50 + 4 * 20 - 1));
}

Test(llama_server, naive_computes_everything) {
    session(&FLAT, 1, 3, 50, 20);
    a.reuse = REUSE_NONE;
    go();
    cr_expect_eq(r.computed_tok, r.presented_tok);
    IS_MS(r.wall_ns, rows_ms(50) + rows_ms(120) + rows_ms(190) + 3 * 190);
}

/* Turn t's prompt holds the outputs that came before it, each with its own length. */
Test(llama_server, output_lengths_turn_by_turn) {
    static const int64_t LENGTHS[] = {5, 1, 9, 2, 8, 3};
    session(&FLAT, 2, 3, 10, 4);
    memcpy(out_tok, LENGTHS, sizeof LENGTHS);
    w.out_tok = out_tok;
    go();
    cr_expect_eq(turn(0, 3)->computed_tok + turn(0, 3)->reused_tok, 30 + 5 + 1);
    cr_expect_eq(turn(1, 3)->computed_tok + turn(1, 3)->reused_tok, 30 + 2 + 8);
    for (int64_t k = 0; k < 2; k++)
        for (int64_t t = 2; t <= 3; t++) cr_expect_eq(turn(k, t)->computed_tok, 11);
    cr_expect_eq(turn(0, 2)->first_ns, turn(0, 2)->done_ns, "one token: no gap");
    cr_expect_eq(r.output_tok, 28);
}

/* The prefix is computed before the agents start, 512 + 488 rows = 119.8 ms; with warm first_slot
 * only slot 0 has it. */
Test(llama_server, warm_first_slot) {
    session(&FLAT, 3, 1, 10, 1);
    w.P = 1000;
    a.warm = WARM_FIRST_SLOT;
    host.request_s = 0.004;
    host.request_s_per_tok = 0.00001;
    host.sample_s = 0.001;
    go();
    double warm = rows_ms(512) + rows_ms(488) + 4 + 10 + 1;
    IS_MS(turn(0, 1)->send_ns, warm);
    IS_MS(turn(2, 1)->start_ns, warm + 4 + 10.1);
    cr_expect_eq(turn(0, 1)->computed_tok, 10);
    cr_expect_eq(turn(0, 1)->reused_cross_tok, 1000);
    cr_expect_eq(turn(1, 1)->computed_tok, 1010);
    cr_expect_eq(turn(2, 1)->computed_tok, 1010);
    cr_expect_eq(r.computed_tok, 3 * 1010, "the warm-up's 1000 are those of agent 1");
    cr_expect_eq(r.reused_tok, 0);
    cr_expect_eq(r.reused_cross_tok, 0);
    cr_expect_eq(r.prefix_evals, 3);
    cr_expect_eq(r.kv_peak_tok, 3 * 1010);
}

/* Saved once, restored into the two other slots. */
Test(llama_server, warm_restored) {
    session(&FLAT, 3, 1, 10, 1);
    w.P = 1000;
    a.warm = WARM_RESTORED;
    host.slot_save_s_per_tok = 0.00003;
    host.slot_restore_s_per_tok = 0.00002;
    go();
    double warm = rows_ms(512) + rows_ms(488) + 30 + 2 * 20;
    IS_MS(turn(0, 1)->send_ns, warm);
    IS_MS(r.wall_ns, warm + rows_ms(30));
    IS_MS(r.host_ns, 70);
    for (int64_t k = 0; k < 3; k++) cr_expect_eq(turn(k, 1)->computed_tok, 10);
    cr_expect_eq(r.computed_tok, 1000 + 3 * 10);
    cr_expect_eq(r.reused_tok, 2000);
    cr_expect_eq(r.reused_cross_tok, 2000, "computed once for three agents");
    cr_expect_eq(r.prefix_evals, 1);
    cr_expect_eq(r.kv_peak_tok, 3 * 1010);
}

/* A first prompt that is the prefix and nothing else: its last token is computed for its logits,
 * with every layout. */
Test(llama_server, last_prompt_token_is_always_computed) {
    for (int shared = 0; shared < 2; shared++) {
        session(shared ? &FLAT_UNIFIED : &FLAT, 2, 2, 10, 3);
        w.P = 1000;
        w.shape = SHAPE_RESULT_AFTER;
        a.warm = shared ? WARM_SHARED : WARM_RESTORED;
        a.reuse = shared ? REUSE_SHARED : REUSE_PER_SLOT;
        warm_only_tok = 1; /* the last token of the prefix is computed again by everybody */
        go();
        cr_expect_eq(r.computed_tok, 1000 + 2 * 1 + 2 * 11);
        cr_expect_eq(r.reused_cross_tok, 999);
        for (int64_t k = 0; k < 2; k++) {
            cr_expect_eq(turn(k, 1)->reused_tok, 999);
            cr_expect_eq(turn(k, 1)->computed_tok, 1);
            cr_expect_eq(turn(k, 2)->computed_tok, 11);
        }
        IS_MS(turn(1, 1)->first_ns, rows_ms(512) + rows_ms(488) + rows_ms(2));
        cr_expect_eq(r.kv_peak_tok, shared ? 1000 + 2 * 15 : 2 * 1015);
    }
}

Test(llama_server, warm_shared) {
    session(&FLAT_UNIFIED, 3, 1, 10, 1);
    w.P = 1000;
    a.warm = WARM_SHARED;
    a.reuse = REUSE_SHARED;
    host.slot_save_s_per_tok = 0.00003; /* nothing is saved */
    go();
    IS_MS(r.wall_ns, rows_ms(512) + rows_ms(488) + rows_ms(30));
    cr_expect_eq(r.host_ns, 0);
    cr_expect_eq(r.computed_tok, 1000 + 30);
    cr_expect_eq(r.reused_cross_tok, 2000);
    cr_expect_eq(r.prefix_evals, 1);
    cr_expect_eq(r.kv_peak_tok, 1000 + 30, "the prefix is held once");
}

/* A server without a prompt cache computes the prefix for nobody: the warm-up presents it alone. */
Test(llama_server, warm_up_that_nobody_finds) {
    session(&FLAT, 2, 1, 10, 1);
    w.P = 1000;
    a.warm = WARM_FIRST_SLOT;
    a.reuse = REUSE_NONE;
    warm_only_tok = 1000;
    go();
    cr_expect_eq(r.computed_tok, 3 * 1000 + 2 * 10);
    cr_expect_eq(r.reused_tok, 0);
    cr_expect_eq(r.prefix_evals, 3);
}

/* ---- order, sizes, refusals ---- */

Test(llama_server, one_after_another) {
    session(&FLAT, 3, 2, 10, 3);
    w.one_after_another = true;
    host.client_gap_s = 0.003;
    go();
    IS_MS(r.wall_ns, 3 * (PLAIN_MS + 3) + 2 * 3);
    for (int64_t k = 1; k < 3; k++) IS_MS(turn(k, 1)->send_ns - turn(k - 1, 2)->done_ns, 3);
    cr_expect_eq(r.used.batch_max, 1);
}

/* n_batch and n_ubatch: of the arm, else of the card; a micro-batch is never more than a batch. */
Test(llama_server, batch_sizes) {
    session(&FLAT, 1, 1, 512, 1);
    go();
    IS_MS(r.wall_ns, rows_ms(512));
    a.n_ubatch = 128;
    go();
    IS_MS(r.wall_ns, 4 * rows_ms(128));
    a.n_ubatch = 0;
    a.n_batch = 256;
    go();
    IS_MS(r.wall_ns, 2 * rows_ms(256));
    cr_expect_eq(r.events_n, 2);
}

/* Prompts in slot order until the batch is full: 400 of slot 0 and 200 of slot 1, then the other
 * 200. */
Test(llama_server, prompts_fill_the_batch_in_slot_order) {
    session(&FLAT_UNIFIED, 2, 1, 400, 1);
    a.n_batch = 600;
    a.n_ubatch = 600;
    go();
    IS_MS(turn(0, 1)->first_ns, rows_ms(600));
    IS_MS(turn(1, 1)->first_ns, rows_ms(600) + rows_ms(200));
}

Test(llama_server, fewer_slots_than_agents_are_refused) {
    session(&FLAT, 3, 1, 10, 1);
    a.slots_n = 2;
    err e = {0};
    cr_expect_eq(attempt(&e), E_REFUSED);
    cr_expect(strstr(e.what, "2 slots for K = 3"), "%s", e.what);
}

Test(llama_server, declared_rates_are_refused) {
    static const assumption DECLARED[] = {
        {.what = TERM_PREFILL_TOK_S, .value = 1000, .growth_frac = -1},
        {.what = TERM_DECODE_TOK_S, .value = 10, .growth_frac = 1}};
    for (size_t i = 0; i < 2; i++) {
        session(&FLAT, 2, 1, 10, 1);
        a.assume = &DECLARED[i];
        a.assume_n = 1;
        err e = {0};
        cr_expect_eq(attempt(&e), E_REFUSED);
        cr_expect(strstr(e.what, "declared rate"), "%s", e.what);
    }
}

/* K = 1 and no host terms: the sum of prefills (n new tokens at depth d) and decode steps,
 * attention included. */
Test(llama_server, one_agent_closed_form) {
    static const int64_t P[] = {0, 1, 700, 5000}, OUT[] = {1, 2, 33};
    rates u = {.step0_ms = 9.9, .own_us = 2, .k1_us = 0.01, .layout = "split"};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 3; j++) {
            session(&u, 1, 3, 77, OUT[j]);
            w.P = P[i];
            go();
            double ms = 0;
            for (int64_t t = 1, held = 0; t <= 3; t++) {
                int64_t L = P[i] + 77 * t + OUT[j] * (t - 1), n = L - held, d = held;
                for (int64_t left = n; left > 0; left -= 512)
                    ms += rows_ms(left < 512 ? (double)left : 512);
                ms += 1e-5 * ((double)n * (double)d + (double)n * (double)n / 2);
                for (int64_t s = 0; s < OUT[j] - 1; s++) ms += 10 + 2e-3 * (double)(L + s);
                held = L + OUT[j] - 1;
            }
            cr_expect(fabs((double)r.wall_ns / 1e6 - ms) < 1e-3, "P %lld out %lld: %.6f and %.6f",
                      (long long)P[i], (long long)OUT[j], (double)r.wall_ns / 1e6, ms);
            cr_expect_eq(r.decode_ns + r.prefill_ns, r.wall_ns);
        }
}

/* ---- what the wall can be off by ---- */

static double spread_ms(void) {
    err e = {0};
    double frac = 0;
    cr_assert_eq(llama_server_wall_spread_frac(&a, &w, prices, &host, r.wall_ns, &frac, &e), OK,
                 "%s: %s", e.where, e.what);
    return frac * (double)r.wall_ns / 1e6;
}

/* Identical runs differ by a share of what they do, not of what they wait for. */
Test(llama_server, spread_of_repeats_is_none_of_waiting) {
    static const double TOOL_MS[] = {0, 100, 60000};
    for (size_t i = 0; i < 3; i++) {
        session(&FLAT, 1, 4, 100, 11);
        host.repeat_spread_frac = 0.05;
        host.client_gap_s = 0.004;
        w.tool_latency_ns = MS(TOOL_MS[i]);
        go();
        /* turn 1 computes 100 rows, the others the delta and the last token; ten steps each */
        double busy_ms = rows_ms(100) + 3 * rows_ms(101) + 4 * 10 * 10 + 3 * 4;
        IS_MS(r.wall_ns, busy_ms + 3 * TOOL_MS[i]);
        cr_expect_float_eq(spread_ms(), 0.05 * busy_ms, 1e-4, "%g ms: %g of %g", TOOL_MS[i],
                           spread_ms(), busy_ms);
    }
}

/* Of agents that start one long after the other only the last one's work moves the end. */
Test(llama_server, spread_of_repeats_behind_a_late_start) {
    session(&FLAT, 2, 1, 100, 11);
    host.repeat_spread_frac = 0.05;
    offset_ns[1] = MS(5000);
    go();
    double last_ms = rows_ms(100) + 10 * 10;
    IS_MS(r.wall_ns, 5000 + last_ms);
    cr_expect_float_eq(spread_ms(), 0.05 * last_ms, 1e-4);
}

/* ---- what is recorded ---- */

typedef struct piece_of_time {
    span_kind kind;
    double ms;
    int64_t batch_n, tokens;
} piece_of_time;

/* Two agents: 512 rows and 10, a batch of 522 in one call of two micro-batches (split KV: 10 rows
 * of each, then the 502 that are left). Then the second slot's sampling, each slot 2 ms, follows on
 * the first's: one span of host time. Behind it two steps of two, of which the second ends. */
Test(llama_server, recorded_spans) {
    session(&FLAT, 2, 1, 10, 3);
    own_tok[0] = 502;
    host.sample_s = 0.002;
    span_list l = span_list_new((span_window){0, TIME_MAX_NS}, 100);
    err e = {0};
    const piece_of_time want[] = {{SPAN_PREFILL, rows_ms(20) + rows_ms(502), 2, 522},
                                  {SPAN_HOST, 4, 0, 0},
                                  {SPAN_DECODE, 10, 2, 2},
                                  {SPAN_HOST, 4, 0, 0},
                                  {SPAN_DECODE, 10, 2, 2},
                                  {SPAN_HOST, 4, 0, 0}};
    go();
    cr_assert_eq(llama_server_run_recorded(&a, &w, prices, &host, &l, support_arena(), &r, &e), OK);
    cr_assert_eq(l.n, sizeof want / sizeof *want);
    double at = 0;
    for (size_t i = 0; i < l.n; i++) {
        IS_MS(l.v[i].start_ns, at);
        at += want[i].ms;
        IS_MS(l.v[i].end_ns, at);
        cr_expect(l.v[i].kind == want[i].kind && l.v[i].batch_n == want[i].batch_n &&
                      l.v[i].tokens == want[i].tokens,
                  "%zu: %s, batch %lld, %lld tokens", i, SPAN_KIND_NAMES[l.v[i].kind],
                  (long long)l.v[i].batch_n, (long long)l.v[i].tokens);
    }
    span_list_free(&l);
}

/* 129 tokens beside three decoders (split_delta_beside_three_decoders): one call of 33 ms. What the
 * three would take alone, 10 ms, is its decode, recorded behind its prefill. */
Test(llama_server, recorded_shares_of_a_call) {
    session(&FLAT, 4, 1, 10, 20);
    own_tok[3] = 119;
    offset_ns[3] = MS(15);
    span_list l = span_list_new((span_window){MS(23), MS(54)}, 100);
    err e = {0};
    go();
    cr_assert_eq(llama_server_run_recorded(&a, &w, prices, &host, &l, support_arena(), &r, &e), OK);
    cr_assert_eq(l.n, 2);
    IS_MS(l.v[0].start_ns, 22.9);
    IS_MS(l.v[0].end_ns, 45.9);
    IS_MS(l.v[1].end_ns, 55.9);
    cr_expect(l.v[0].kind == SPAN_PREFILL && l.v[0].batch_n == 1 && l.v[0].tokens == 129);
    cr_expect(l.v[1].kind == SPAN_DECODE && l.v[1].batch_n == 3 && l.v[1].tokens == 3);
    span_list_free(&l);
}
