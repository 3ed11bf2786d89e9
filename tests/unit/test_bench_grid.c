/* The grid of `ratecast-bench run`: budgets, what goes first, what is lost, command lines. */
#include "grid.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static arena *mem;
static grid_want want;
/* 7B Q8_0 on an H200: 11,700 tok/s, 4 ms */
static const grid_model MODEL = {.weights_bytes = 8092571648, .kv_bytes_per_tok = 57344};
static const grid_speed FAST = {.prefill_tok_s = 11700, .step_s = 0.004};
static const grid_speed SLOW = {.prefill_tok_s = 350, .step_s = 0.055};
static const int64_t GIB = (int64_t)1 << 30;

static void set_up(void) {
    mem = arena_new((size_t)64 << 20);
    grid_want_init(&want);
    want.bench = "llama-bench";
    want.batched = "llama-batched-bench";
    want.model = "m.gguf";
}

static void tear_down(void) {
    arena_free(mem);
}

TestSuite(bench_grid, .init = set_up, .fini = tear_down);

static grid make(const grid_model *m, const grid_speed *s, double time_s, int64_t memory) {
    grid g;
    err e = {0};
    cr_assert_eq(grid_make(&want, m, s, time_s, memory, mem, &g, &e), OK, "%s", e.what);
    return g;
}

static const grid_command *command(const grid *g, const char *name) {
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->commands[i].name, name) == 0) return &g->commands[i];
    return NULL;
}

static bool lost(const grid *g, const char *what, const char *why) {
    for (size_t i = 0; i < g->lost_n; i++)
        if (strstr(g->lost[i].what, what) && strcmp(g->lost[i].why, why) == 0) return true;
    return false;
}

static const char *line(const grid *g, const char *name) {
    static char text[1024];
    const grid_command *c = command(g, name);
    cr_assert_not_null(c, "no command %s", name);
    buf b;
    buf_init(&b);
    grid_command_line(c, &b);
    snprintf(text, sizeof text, "%s", b.s);
    buf_done(&b);
    return text;
}

Test(bench_grid, commands_of_a_large_machine) {
    grid g = make(&MODEL, &FAST, 600, 139 * GIB);
    cr_assert_str_eq(line(&g, "start"),
                     "llama-bench -m m.gguf -ngl 99 -fa 1 -o jsonl -r 5 -p 512 -n 64");
    /* 32 sequences of 512 + 64 cells: each share of 576 is rounded up to 768 */
    cr_assert_str_eq(line(&g, "batched_512_1"),
                     "llama-batched-bench -m m.gguf -ngl 99 -fa on --output-format jsonl -c 24576 "
                     "-npp 512 -ntg 64 -npl 1,1,2,3,4,5,6,8,9,12,16,32");
    cr_assert_str_eq(line(&g, "decode_depth"), "llama-bench -m m.gguf -ngl 99 -fa 1 -o jsonl -r 5 "
                                               "-p 0 -n 64 -d 1024,4096,8192,16384");
    cr_assert_str_eq(line(&g, "prefill_short"), "llama-bench -m m.gguf -ngl 99 -fa 1 -o jsonl -r 5 "
                                                "-p 12,16,32,64,128,256 -n 0");
    cr_assert_str_eq(line(&g, "prefill_long"), "llama-bench -m m.gguf -ngl 99 -fa 1 -o jsonl -r 3 "
                                               "-p 1024,2048,4096,8192 -n 0");
    cr_assert_str_eq(line(&g, "prefill_depth_8192"),
                     "llama-bench -m m.gguf -ngl 99 -fa 1 -o jsonl -r 5 "
                     "-p 12,16,32,64,128,256,512 -n 0 -d 8192");
    cr_assert_eq(g.lost_n, 0, "%s", g.lost_n ? g.lost[0].what : "");
    cr_assert_eq(g.n, 20, "start, decode, 2 prefill, 4 depths, 4 contexts three times: %zu", g.n);
}

Test(bench_grid, options_reach_both_tools) {
    want.unified = want.shared_prompt = true;
    want.batch = "1024";
    want.ubatch = "256";
    want.threads = "6";
    want.flash_attn = "off";
    want.gpu_layers = "0";
    want.model = "my model's.gguf";
    want.bench = "/opt/a b/llama-bench";
    grid g = make(&MODEL, &FAST, 600, 139 * GIB);
    cr_assert_str_eq(line(&g, "start"),
                     "'/opt/a b/llama-bench' -m 'my model'\\''s.gguf' -ngl 0 -fa 0 -t 6 -b 1024 "
                     "-ub 256 -o jsonl -r 5 -p 512 -n 64");
    /* one prompt and 32 x 64 cells, to whole 256: 2560 */
    cr_assert_str_eq(line(&g, "batched_512_1"),
                     "llama-batched-bench -m 'my model'\\''s.gguf' -ngl 0 -fa off -t 6 -b 1024 "
                     "-ub 256 --output-format jsonl -c 2560 -kvu -pps -npp 512 -ntg 64 "
                     "-npl 1,1,2,3,4,5,6,8,9,12,16,32");
}

Test(bench_grid, cells_of_commands) {
    grid g = make(&MODEL, &FAST, 600, 139 * GIB);
    const grid_command *c = command(&g, "batched_4096_1");
    cr_assert_eq(c->cells_n, 12);
    cr_assert_eq(c->cells[0].batch_n, 1);
    cr_assert_eq(c->cells[1].batch_n, 1, "the first cell twice: it is measured cold");
    cr_assert_eq(c->cells[11].batch_n, 32);
    cr_assert_eq(c->cells[11].prompt_tok, 4096);
    cr_assert_eq(c->cells[11].gen_tok, 64);
    cr_assert_str_eq(grid_cell_text(c, &c->cells[11], mem), "B = 32 behind 4096");
    c = command(&g, "start");
    cr_assert_eq(c->cells_n, 2);
    cr_assert_str_eq(grid_cell_text(c, &c->cells[0], mem), "prompt 512 at depth 0");
    cr_assert_str_eq(grid_cell_text(c, &c->cells[1], mem), "decode at depth 0");
    c = command(&g, "decode_depth");
    cr_assert_eq(c->cells_n, 4);
    cr_assert_str_eq(grid_cell_text(c, &c->cells[3], mem), "decode at depth 16384");
}

Test(bench_grid, order_is_the_order_of_worth) {
    static const char *const FIRST[] = {
        "start",         "batched_512_1", "prefill_depth_4096", "decode_depth",
        "prefill_short", "prefill_long",  "batched_4096_1",     "prefill_depth_1024",
        "batched_512_2", "batched_512_3", "batched_4096_2",     "batched_4096_3"};
    grid g = make(&MODEL, &FAST, 600, 139 * GIB);
    for (size_t i = 0; i < sizeof FIRST / sizeof *FIRST; i++)
        cr_assert_str_eq(g.commands[i].name, FIRST[i]);
}

/* For any speed, time and memory: within both, and every value that is wanted is either in a
 * command or told as lost. */
Test(bench_grid, budgets_hold) {
    for (double speed = 0.02; speed < 2; speed *= 2.3)
        for (double time_s = 60; time_s < 4000; time_s *= 3.1)
            for (int64_t gib = 10; gib < 200; gib += 27) {
                grid_speed s = {11700 * speed, 0.004 / speed};
                grid g = make(&MODEL, &s, time_s, gib * GIB);
                double sum = 0;
                for (size_t i = 0; i < g.n; i++) {
                    const grid_command *c = &g.commands[i];
                    sum += c->estimate_s;
                    cr_assert_leq(c->memory_bytes, gib * GIB - gib * GIB / 10, "%s", c->name);
                    for (size_t k = 0; c->tool == GRID_BATCHED && k < c->cells_n; k++)
                        cr_assert_leq(c->cells[k].batch_n *
                                          (c->cells[k].prompt_tok + c->cells[k].gen_tok),
                                      c->ctx_tok);
                }
                cr_assert(fabs(sum - g.estimate_s) < 1e-6 * sum);
                cr_assert(g.estimate_s <= time_s || g.estimate_s - g.commands[0].estimate_s <= 0,
                          "%g s of %g s", g.estimate_s, time_s);
                cr_assert(g.n + g.lost_n >= 20, "a command is neither planned nor lost");
            }
}

Test(bench_grid, time_takes_what_can_be_spared_first) {
    grid g = make(&MODEL, &SLOW, 600, 139 * GIB);
    const grid_command *c = command(&g, "batched_512_1");
    cr_assert_not_null(c);
    cr_assert_eq(c->cells_n, 12, "the first batched command still has room for all");
    c = command(&g, "batched_4096_1");
    cr_assert(c == NULL || c->cells_n < 12);
    cr_assert(lost(&g, "batched_4096", "time"));
    want.context_tok = (grid_list){{4096}, 1};
    g = make(&MODEL, &SLOW, 1000, 139 * GIB);
    c = command(&g, "batched_4096_1");
    cr_assert_not_null(c);
    bool eight = false, nine = false, most = false;
    for (size_t i = 0; i < c->cells_n; i++) {
        eight = eight || c->cells[i].batch_n == 8;
        nine = nine || c->cells[i].batch_n == 9;
        most = most || c->cells[i].batch_n == 32;
    }
    cr_assert(eight && nine && !most, "both sides of 8 stay longer than 32");
}

Test(bench_grid, memory_takes_the_largest_batches) {
    grid g = make(&MODEL, &FAST, 600, 12 * GIB);
    /* 12 GiB less a tenth, 1 GiB and 7.54 GiB: 2.26 GiB are 42,000 cells */
    const grid_command *c = command(&g, "batched_4096_1");
    cr_assert_not_null(c);
    cr_assert_eq(c->cells[c->cells_n - 1].batch_n, 9);
    cr_assert(lost(&g, "batched_4096_1: B = 32, 16, 12", "memory"));
    c = command(&g, "batched_512_1");
    cr_assert_eq(c->cells[c->cells_n - 1].batch_n, 32);
}

Test(bench_grid, nothing_longer_than_the_model_knows) {
    grid_model small = MODEL;
    small.context_train_tok = 4096;
    grid g = make(&small, &FAST, 600, 139 * GIB);
    cr_assert(lost(&g, "batched_4096_1", "the model's context"));
    cr_assert(lost(&g, "prefill_depth_8192", "the model's context"));
    cr_assert(lost(&g, "prefill_long: prompts of 8192", "the model's context"));
    cr_assert_str_eq(line(&g, "decode_depth"),
                     "llama-bench -m m.gguf -ngl 99 -fa 1 -o jsonl -r 5 -p 0 -n 64 -d 1024");
}

Test(bench_grid, no_room_at_all_is_refused) {
    grid g;
    err e = {0};
    cr_assert_eq(grid_make(&want, &MODEL, &FAST, 600, 8 * GIB, mem, &g, &e), E_REFUSED);
    cr_assert_not_null(strstr(e.what, "--memory-gib"), "%s", e.what);
}

Test(bench_grid, lists) {
    grid_list l;
    err e = {0};
    cr_assert_eq(grid_list_parse("--x", "8,1,2,8", true, &l, &e), OK);
    cr_assert_eq(l.n, 3);
    cr_assert(l.v[0] == 1 && l.v[1] == 2 && l.v[2] == 8);
    cr_assert_eq(grid_list_parse("--x", "8,1,2", false, &l, &e), OK);
    cr_assert(l.v[0] == 8 && l.v[1] == 1 && l.v[2] == 2);
    static const char *const WRONG[] = {"",   ",",   "1,",   ",1",  "0",
                                        "-1", "1;2", "1, x", "1.5", "99999999999999999999"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        e = (err){0};
        cr_assert_eq(grid_list_parse("--x", WRONG[i], true, &l, &e), E_USAGE, "%s", WRONG[i]);
    }
}
