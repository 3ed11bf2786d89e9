/* A session written as a witnessed run, read back by its reader. */
#include "witness_write.h"

#include "temp.h"

#include "base/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { K = 2, H = 2, P = 50, DIN = 7, OUT = 3 };

static arena *mem;
static char dir[TEMP_MAX];

static void set_up(void) {
    mem = arena_new((size_t)64 << 20);
    temp_folder(dir, "witness-write");
}

static void tear_down(void) {
    temp_remove(dir);
    arena_free(mem);
}

TestSuite(witness_write, .init = set_up, .fini = tear_down);

static session_spec spec(void) {
    return (session_spec){.api = &SERVER_LLAMA,
                          .K = K,
                          .H = H,
                          .P = P,
                          .din = DIN,
                          .out = OUT,
                          .tool_s = 0.25,
                          .stagger_s = 0.5,
                          .pin = true,
                          .cache = true,
                          .seed = 1003,
                          .vocab_hi = 999};
}

/* Turn t of agent k begins at k/2 + t - 1 seconds; its first token comes 100 t + 10 k ms later, the
 * others 20 ms apart. */
static session_turn turn_of(int64_t k, int64_t t) {
    static const int64_t GAPS[OUT - 1] = {20000000, 20000000};
    int64_t send = k * 500000000 + (t - 1) * 1000000000,
            first = send + 100000000 * t + 10000000 * k;
    int64_t prompt = P + t * DIN + (t - 1) * OUT, cached = t == 1 ? 0 : prompt - DIN - 1;
    return (session_turn){.agent = k,
                          .turn = t,
                          .prompt_tok = prompt,
                          .cached_tok = cached,
                          .new_tok = prompt - cached,
                          .out_tok = OUT,
                          .out_requested = OUT,
                          .slot = k,
                          .send_ns = send,
                          .first_ns = first,
                          .last_ns = first + 40000000,
                          .done_ns = first + 41000000,
                          .prompt_ms = 99.5,
                          .predicted_ms = -1,
                          .gap_ns = GAPS,
                          .gaps_n = OUT - 1};
}

static session_log whole_log(void) {
    session_turn *turns = ARENA_ARRAY(mem, session_turn, K * H);
    for (int64_t i = 0; i < K * H; i++) turns[i] = turn_of(i % K, i / K + 1);
    return (session_log){.turns = turns, .n = K * H};
}

static const char *const ARGS[] = {"llama-server", "-np", "2", "-no-kvu", "-c", "4096", "-t", "6"};

static witness_meta meta_of(const char *id) {
    return (witness_meta){.run_id = id,
                          .model = "a \"model\"",
                          .machine = "m",
                          .arm = "slot-isolated",
                          .use = USE_CALIBRATE,
                          .rep = 3,
                          .server_args = ARGS,
                          .server_args_n = sizeof ARGS / sizeof *ARGS,
                          .server_args_told = true,
                          .url = "http://127.0.0.1:1",
                          .client = "test"};
}

static void append(const char *id, const session_log *log) {
    session_spec s = spec();
    witness_meta meta = meta_of(id);
    witness_seen seen;
    buf run, turns;
    err e = {0};
    buf_init(&run);
    buf_init(&turns);
    cr_assert_eq(witness_text(&s, log, &meta, mem, &run, &turns, &seen, &e), OK, "%s: %s", e.where,
                 e.what);
    cr_assert_eq(witness_append(dir, id, &run, &turns, &e), OK, "%s: %s", e.where, e.what);
    buf_done(&run);
    buf_done(&turns);
}

static witness load(void) {
    witness w;
    err e = {0};
    cr_assert_eq(witness_load(dir, mem, &w, &e), OK, "%s: %s", e.where, e.what);
    cr_assert_eq(w.warnings_n, 0, "%s", w.warnings_n ? w.warnings[0] : "");
    return w;
}

static void make(void) {
    err e = {0};
    int made;
    cr_assert_eq(witness_make(dir, &made, &e), OK, "%s: %s", e.where, e.what);
    cr_assert_eq(made, 1); /* sessions/ */
}

Test(witness_write, reads_back_field_by_field) {
    session_log log = whole_log();
    make();
    append("one", &log);
    witness w = load();
    cr_assert_eq(w.n, 1);
    const witness_run *r = w.runs;
    cr_assert_null(r->excluded, "%s", r->excluded);
    cr_assert(r->complete);
    cr_assert_str_eq(r->id, "one");
    cr_assert_str_eq(r->model, "a \"model\"");
    cr_assert_str_eq(r->machine, "m");
    cr_assert(r->K == K && r->H == H && r->P == P && r->din == DIN && r->out == OUT);
    cr_assert(r->tool_s == 0.25 && r->stagger_s == 0.5 && !r->serial && r->pinned);
    cr_assert(r->cache_prompt && !r->patched && r->use == USE_CALIBRATE && !r->warm);
    cr_assert(r->slots_n == 2 && r->layout == KV_LAYOUT_SPLIT && r->context_tok == 4096);
    cr_assert_eq(r->threads_n, 6);
    for (int64_t i = 0; i < K * H; i++) {
        const witness_turn *t = &r->turns[i];
        session_turn want = turn_of(i / H, i % H + 1);
        cr_assert(t->agent == want.agent && t->turn == want.turn && t->slot == want.slot);
        cr_assert(t->prompt_tok == want.prompt_tok && t->cached_tok == want.cached_tok);
        cr_assert(t->new_tok == want.new_tok && t->out_tok == OUT && t->out_requested == OUT);
        cr_assert_float_eq(t->t_send_s, (double)want.send_ns / 1e9, 1e-9);
        cr_assert_float_eq(t->t_first_s, (double)want.first_ns / 1e9, 1e-9);
        cr_assert_float_eq(t->t_last_s, (double)want.last_ns / 1e9, 1e-9);
        cr_assert_float_eq(t->t_done_s, (double)want.done_ns / 1e9, 1e-9);
        cr_assert(t->itl_n == OUT - 1 && t->itl_ms[0] == 20 && t->itl_ms[1] == 20);
    }
}

/* Cold 100 and 110 ms, warm 200 and 210 ms; the last token: agent 1, turn 2, at 1.5 + 0.21 + 0.04.
 */
Test(witness_write, states_its_summary) {
    session_log log = whole_log();
    make();
    append("one", &log);
    const witness_run *r = load().runs;
    cr_assert_float_eq(r->wall_s, 1.75, 1e-9);
    cr_assert(r->cold.n == 2 && r->warm_ttft.n == 2 && r->all.n == 4);
    cr_assert_float_eq(r->cold.p50_s, 0.1, 1e-9); /* nearest rank */
    cr_assert_float_eq(r->cold.p95_s, 0.11, 1e-9);
    cr_assert_float_eq(r->warm_ttft.p50_s, 0.2, 1e-9);
    cr_assert_float_eq(r->all.p50_s, 0.11, 1e-9);
    cr_assert(r->itl_mean_ms == 20 && r->itl_p50_ms == 20);
}

Test(witness_write, a_run_with_errors_is_excluded) {
    static const char *const ERRORS[] = {"agent 1 turn 2: HTTP status 500: \"x\""};
    session_log log = whole_log();
    log.n = 2;
    log.errors = ERRORS;
    log.errors_n = 1;
    make();
    append("broken", &log);
    const witness_run *r = load().runs;
    cr_assert_str_eq(r->excluded, "errors: the client recorded 1");
    cr_assert(!r->complete && r->turns_n == 2 && r->wall_s == 0);
    log.n = 0;
    append("nothing", &log);
    cr_assert_eq(load().n, 2);
}

Test(witness_write, adds_to_what_is_there) {
    session_log log = whole_log();
    const char *id;
    int64_t rep, runs_n;
    err e = {0};
    make();
    cr_assert_eq(witness_next_id(dir, NULL, "a b/c-K2", mem, &id, &rep, &runs_n, &e), OK);
    cr_assert(strcmp(id, "a-b-c-K2-r0") == 0 && rep == 0);
    append(id, &log);
    cr_assert_eq(witness_next_id(dir, NULL, "a b/c-K2", mem, &id, &rep, &runs_n, &e), OK);
    cr_assert(strcmp(id, "a-b-c-K2-r1") == 0 && rep == 1 && runs_n == 1);
    append(id, &log);
    cr_assert_eq(witness_next_id(dir, "mine", "x", mem, &id, &rep, &runs_n, &e), OK);
    cr_assert(strcmp(id, "mine") == 0 && rep == 2);
    append(id, &log);
    witness w = load();
    cr_assert_eq(w.n, 3);
    for (size_t i = 0; i < w.n; i++) cr_assert(w.runs[i].complete && !w.runs[i].excluded);
    cr_assert_eq(witness_next_id(dir, "mine", "x", mem, &id, &rep, &runs_n, &e), E_USAGE);
    for (const char *const *bad = (const char *const[]){"", ".a", "a/b", "a b", "\xC3\xA9", NULL};
         *bad; bad++) {
        e = (err){0};
        cr_assert_eq(witness_next_id(dir, *bad, "x", mem, &id, &rep, &runs_n, &e), E_USAGE, "%s",
                     *bad);
    }
}

Test(witness_write, a_last_line_without_its_end_stays_a_line) {
    session_log log = whole_log();
    err e = {0};
    file_bytes f;
    make();
    append("one", &log);
    const char *path = arena_printf(mem, "%s/runs.jsonl", dir);
    cr_assert_eq(file_read(path, mem, &f, &e), OK);
    cr_assert_eq(file_write(path, f.s, f.len - 1, &e), OK);
    append("two", &log);
    cr_assert_eq(load().n, 2);
}

Test(witness_write, a_failure_leaves_the_folder_as_it_was) {
    session_log log = whole_log();
    buf line;
    err e = {0};
    struct stat st;
    make();
    append("one", &log);
    buf_init(&line);
    buf_add(&line, "x");
    /* turns of this name are there */
    cr_assert_eq(witness_append(dir, "one", &line, &line, &e), E_IO);
    cr_assert_eq(load().n, 1);
    /* runs.jsonl cannot be replaced */
    const char *runs = arena_printf(mem, "%s/runs.jsonl", dir);
    cr_assert_eq(unlink(runs), 0);
    cr_assert_eq(mkdir(runs, 0777), 0);
    e = (err){0};
    cr_assert_eq(witness_append(dir, "two", &line, &line, &e), E_IO);
    cr_assert_neq(stat(arena_printf(mem, "%s/sessions/two.jsonl", dir), &st), 0);
    buf_done(&line);
}

Test(witness_write, folders_that_were_made_are_unmade_when_empty) {
    const char *inner = arena_printf(mem, "%s/runs", dir);
    struct stat st;
    int made;
    err e = {0};
    cr_assert_eq(witness_make(inner, &made, &e), OK);
    cr_assert_eq(made, 2);
    witness_unmake(inner, made);
    cr_assert_neq(stat(inner, &st), 0);
    cr_assert_eq(witness_make(arena_printf(mem, "%s/a/b", dir), &made, &e), E_IO);
    cr_assert_eq(made, 0);
}
