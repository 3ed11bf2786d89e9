/* Folders of witnessed runs written by the test, and the shared recordings where they are at hand
 * (RATECAST_SHARED, default ../shared beside the repository). */
#include "witness.h"

#include "temp.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[TEMP_MAX];
static arena *mem;
static err e;
static witness w;

static void set_up_memory(void) {
    mem = arena_new(256 * 1024 * 1024);
    e = (err){0};
}

static void set_up(void) {
    set_up_memory();
    temp_folder(dir, "witness");
}

static void tear_down(void) {
    temp_remove(dir);
    arena_free(mem);
}

TestSuite(witness, .init = set_up, .fini = tear_down);
/* skipped where there are none: no folder is made for it */
TestSuite(witness_recordings, .init = set_up_memory);

static void put_n(const char *name, const char *s, size_t len) {
    err io = {0};
    mkdir(arena_printf(mem, "%s/sessions", dir), 0777);
    cr_assert_eq(file_write(arena_printf(mem, "%s/%s", dir, name), s, len, &io), OK, "%s", io.what);
}

static void put(const char *name, const char *s) {
    put_n(name, s, strlen(s));
}

static const char *run_line(const char *id, int k, int h, const char *config, const char *more) {
    return arena_printf(mem,
                        "{\"run_id\": \"%s\", \"machine\": \"box\", \"config\": {\"model\": \"m\", "
                        "\"arm\": \"slot-isolated\", \"K\": %d, \"H\": %d, \"P\": 100, \"din\": "
                        "10, \"out\": 3%s}%s}\n",
                        id, k, h, config, more);
}

/* A turn sent at `send`, first token `ttft` later, three tokens 10 ms apart, done 1 ms after. */
static const char *turn_line(const char *id, int agent, int turn, double send, double ttft,
                             const char *more) {
    return arena_printf(mem,
                        "{\"run_id\": \"%s\", \"agent\": %d, \"turn\": %d, \"prompt_tokens\": 120, "
                        "\"cached_tokens\": 109, \"new_prompt_tokens\": 11, \"out_tokens\": 3, "
                        "\"t_send_s\": %.6f, \"t_first_s\": %.6f, \"t_last_s\": %.6f, "
                        "\"t_done_s\": %.6f%s}\n",
                        id, agent, turn, send, send + ttft, send + ttft + 0.02, send + ttft + 0.021,
                        more);
}

static const char *cat(const char *a, const char *b) {
    return arena_printf(mem, "%s%s", a, b);
}

/* Agents 0..k-1, turns 1..h, in that order; turn t of agent a is sent at t + a/10. */
static const char *turns_of(const char *id, int k, int h) {
    const char *s = "";
    for (int a = 0; a < k; a++)
        for (int t = 1; t <= h; t++)
            s = cat(s, turn_line(id, a, t, t + a / 10.0, 0.1 * t + 0.01 * a, ""));
    return s;
}

static void load(void) {
    cr_assert_eq(witness_load(dir, mem, &w, &e), OK, "%s: %s", e.where, e.what);
}

static void has(const char *text, const char *part) {
    cr_assert_not_null(text, "nothing, expected \"%s\"", part);
    cr_assert_not_null(strstr(text, part), "\"%s\" lacks \"%s\"", text, part);
}

static void refused(err_code code, const char *where, const char *what) {
    cr_assert_eq(witness_load(dir, mem, &w, &e), code, "code %d: %s: %s", (int)e.code, e.where,
                 e.what);
    has(e.where, where);
    has(e.what, what);
    cr_assert_eq(w.n, 0);
    e = (err){0};
}

/* ---- what a good folder says ---- */

Test(witness, good_folder) {
    put("runs.jsonl",
        run_line("r", 2, 2,
                 ", \"warm\": \"n_cmpl\", \"stagger_s\": 0.5, \"tool_s\": 0.25, \"out_jitter\": "
                 "0.5, \"serial\": true, \"pin\": false, \"cache\": false",
                 ", \"schema\": \"ratecast.witness/1\", \"use\": \"calibrate\", \"wall_s\": 2.33, "
                 "\"patched_server\": true, \"errors\": [], \"warmup\": null, \"unheard_of\": {}, "
                 "\"itl_mean_ms\": 10.5, \"itl_p50_ms\": 10, \"gpu_mem_before_server_mib\": null, "
                 "\"gpu_mem_after_load_mib\": 2, \"gpu_mem_peak_mib\": 2.5, \"ttft_s\": {\"cold\": "
                 "{\"n\": 2, \"p50\": 0.1, \"p95\": 0.11}, \"warm\": {\"n\": 0, \"p50\": null, "
                 "\"p95\": null}}"));
    put("sessions/b.jsonl", turn_line("r", 0, 2, 2, 0.2, ", \"itl_ms\": [10, 11], \"id_slot\": 3"));
    put("sessions/c.jsonl", cat(turn_line("r", 1, 1, 1.1, 0.11, ""), "\n  \n"));
    put("sessions/a.jsonl",
        cat(turn_line("r", 1, 2, 2.1, 0.21, ""),
            turn_line("r", 0, 1, 1, 0.1, ", \"out_requested\": 3, \"itl_ms\": null")));
    put("sessions/._a.jsonl", "not a session");
    put("sessions/README.md", "neither");
    load();
    cr_assert_eq(w.n, 1);
    cr_assert_eq(w.warnings_n, 0);
    const witness_run *r = &w.runs[0];
    cr_assert_str_eq(r->id, "r");
    cr_assert_str_eq(r->model, "m");
    cr_assert_str_eq(r->machine, "box");
    cr_assert_str_eq(r->arm, "slot-isolated");
    cr_assert_str_eq(r->warm, "n_cmpl");
    cr_assert(r->K == 2 && r->H == 2 && r->P == 100 && r->din == 10 && r->out == 3);
    cr_assert(r->stagger_s == 0.5 && r->tool_s == 0.25 && r->out_jitter == 0.5);
    cr_assert(r->serial && !r->pinned && !r->cache_prompt && r->patched);
    cr_assert_eq(r->use, USE_CALIBRATE);
    cr_assert(r->wall_s == 2.33 && r->itl_mean_ms == 10.5 && r->itl_p50_ms == 10);
    cr_assert(r->cold.n == 2 && r->cold.p50_s == 0.1 && r->cold.p95_s == 0.11);
    cr_assert(r->warm_ttft.n == 0 && r->all.n == 0);
    cr_assert(r->mem_before_bytes == 0 && r->mem_after_load_bytes == 2097152 &&
              r->mem_peak_bytes == 2621440);
    cr_assert(r->complete && !r->excluded);
    cr_assert_eq(r->turns_n, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(r->turns[i].agent, (int64_t)i / 2);
        cr_assert_eq(r->turns[i].turn, (int64_t)i % 2 + 1);
    }
    const witness_turn *t = &r->turns[1];
    cr_assert(t->prompt_tok == 120 && t->cached_tok == 109 && t->new_tok == 11 && t->out_tok == 3);
    cr_assert(t->out_requested == 3 && t->slot == 3 && r->turns[0].slot == -1);
    cr_assert(t->t_send_s == 2 && t->t_first_s == 2.2 && t->t_last_s == 2.22 &&
              t->t_done_s == 2.221);
    cr_assert(t->itl_n == 2 && t->itl_ms[0] == 10 && t->itl_ms[1] == 11);
}

Test(witness, defaults_of_what_is_not_stated) {
    put("runs.jsonl", run_line("r", 1, 1, "", ""));
    put("sessions/a.jsonl",
        "{\"run_id\": \"r\", \"agent\": 0, \"turn\": 1, \"prompt_tokens\": 5, \"cached_tokens\": "
        "0, \"new_prompt_tokens\": 5, \"out_tokens\": 2, \"t_send_s\": 0, \"t_first_s\": 1, "
        "\"t_last_s\": 2}"); /* no line end either */
    load();
    const witness_run *r = &w.runs[0];
    cr_assert_eq(r->use, USE_SCORE);
    cr_assert_null(r->warm);
    cr_assert(!r->serial && r->pinned && r->cache_prompt && !r->patched);
    cr_assert(r->wall_s == 0 && r->mem_peak_bytes == 0 && r->all.n == 0);
    cr_assert(r->complete && !r->excluded);
    cr_assert(r->turns[0].t_done_s == 2 && r->turns[0].out_requested == 2);
}

/* llama-server's own rules: common/arg.cpp and tools/server of the recorded build. */
Test(witness, server_args) {
    static const struct {
        const char *args;
        int64_t threads_n, n_batch, n_ubatch, context_tok, slots_n;
        kv_layout layout;
    } CASES[] = {
        {"null", 0, 2048, 512, 0, 4, KV_LAYOUT_UNIFIED},
        {"[]", 0, 2048, 512, 0, 4, KV_LAYOUT_UNIFIED},
        {"[\"llama-server\", \"-m\", \"\", \"-c\", \"40960\"]", 0, 2048, 512, 40960, 4,
         KV_LAYOUT_UNIFIED},
        {"[\"-np\", \"-1\", \"-t\", \"-1\"]", 0, 2048, 512, 0, 4, KV_LAYOUT_UNIFIED},
        {"[\"--parallel\", \"3\"]", 0, 2048, 512, 0, 3, KV_LAYOUT_SPLIT},
        {"[\"--parallel\", \"3\", \"-kvu\"]", 0, 2048, 512, 0, 3, KV_LAYOUT_UNIFIED},
        {"[\"-no-kvu\"]", 0, 2048, 512, 0, 4, KV_LAYOUT_SPLIT},
        {"[\"--threads\", \"2\", \"-b\", \"512\", \"-ub\", \"128\", \"--kv-unified\"]", 2, 512, 128,
         0, 4, KV_LAYOUT_UNIFIED},
        {"[\"--threads-http\", \"48\", \"--batch-size\", \"9\", \"--ubatch-size\", \"8\", "
         "\"--ctx-size\", \"7\", \"--no-kv-unified\"]",
         0, 9, 8, 7, 4, KV_LAYOUT_SPLIT},
    };
    put("sessions/a.jsonl", "");
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        put("runs.jsonl",
            run_line("r", 1, 1, "", arena_printf(mem, ", \"server_args\": %s", CASES[i].args)));
        load();
        const witness_run *r = &w.runs[0];
        cr_assert(r->threads_n == CASES[i].threads_n && r->n_batch == CASES[i].n_batch &&
                      r->n_ubatch == CASES[i].n_ubatch && r->context_tok == CASES[i].context_tok &&
                      r->slots_n == CASES[i].slots_n && r->layout == CASES[i].layout,
                  "case %zu", i);
    }
}

static const char INTERFERENCE[] =
    "{\"run_id\": \"i\", \"machine\": \"box\", \"config\": {\"model\": \"m\", \"arm\": "
    "\"interference\", \"K\": %d, \"H\": 1, \"P\": 0, \"n0\": 64, \"out0\": 200, \"N\": 128, "
    "\"out1\": 8, \"delay_s\": 0.6}}\n";

Test(witness, interference) {
    put("runs.jsonl", arena_printf(mem, INTERFERENCE, 2));
    put("sessions/a.jsonl", turn_line("i", 0, 1, 0, 0.1, ""));
    load();
    const witness_run *r = &w.runs[0];
    cr_assert(r->n0 == 64 && r->out0 == 200 && r->N == 128 && r->out1 == 8 && r->delay_s == 0.6);
    cr_assert(!r->complete && !r->excluded && r->turns_n == 1);
    put("sessions/b.jsonl", turn_line("i", 1, 1, 0.6, 0.1, ""));
    load();
    cr_assert(w.runs[0].complete && !w.runs[0].excluded);
    put("runs.jsonl", arena_printf(mem, INTERFERENCE, 3));
    refused(E_RANGE, "runs.jsonl:1#/config/K", "found 3, expected 2");
}

/* ---- runs that must not be used ---- */

static const witness_run *loaded(const char *run, const char *turns) {
    put("runs.jsonl", run);
    put("sessions/a.jsonl", turns);
    load();
    return &w.runs[0];
}

Test(witness, duplicate_run_id) {
    put("runs.jsonl", cat(run_line("r", 1, 1, "", ""),
                          cat(run_line("s", 1, 1, "", ""), run_line("r", 1, 1, "", ""))));
    put("sessions/a.jsonl", cat(turns_of("r", 1, 1), turns_of("s", 1, 1)));
    load();
    has(w.runs[0].excluded, "run_id");
    has(w.runs[2].excluded, "run_id");
    cr_assert_null(w.runs[1].excluded);
    cr_assert_eq(w.runs[0].turns_n + w.runs[2].turns_n, 1);
    cr_assert(w.runs[1].complete);
}

Test(witness, errors_not_empty) {
    const witness_run *r =
        loaded(run_line("r", 1, 1, "", ", \"errors\": [\"timeout\", {}]"), turns_of("r", 1, 1));
    has(r->excluded, "errors: the client recorded 2");
    cr_assert(r->complete);
}

Test(witness, turns_that_do_not_fit) {
    static const struct {
        int agent, turn;
        double send, ttft;
        const char *more, *why;
    } CASES[] = {
        {0, 4, 9, 0.1, "", "agent 0 turn 4: a gap in the turns"},
        {0, 2, 9, 0.1, "", "agent 0 turn 2: the turn is there twice"},
        {2, 1, 9, 0.1, "", "agent 2 turn 1: an agent beyond K"},
        {1, 6, 9, 0.1, "", "agent 1 turn 6: a turn beyond H"},
        {0, 3, 2.1, 0.1, "", "agent 0 turn 3: impossible times, sent before"},
        {0, 3, 9, -0.1, "", "agent 0 turn 3: impossible times"},
        {1, 1, -5, 6, "", "agent 1 turn 1: impossible times"},
        {0, 3, 9, 0.1, ", \"out_requested\": 4", "out_tokens differs from out_requested"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const witness_run *r = loaded(
            run_line("r", 2, 5, "", ""),
            cat(turns_of("r", 1, 2), turn_line("r", CASES[i].agent, CASES[i].turn, CASES[i].send,
                                               CASES[i].ttft, CASES[i].more)));
        has(r->excluded, CASES[i].why);
        cr_assert(!r->complete);
    }
    const char *cached = "\"cached_tokens\": 109", *at;
    char *turn = arena_printf(mem, "%s", turns_of("r", 1, 1));
    at = strstr(turn, cached);
    turn[at - turn + 17] = '2';
    has(loaded(run_line("r", 1, 1, "", ""), turn)->excluded, "is not cached_tokens + new_prompt");
}

/* Missing turns at the start or the end of an agent are what a cut recording lacks: no reason to
 * distrust the others. */
Test(witness, incomplete_is_not_excluded) {
    const witness_run *r =
        loaded(run_line("r", 1, 4, "", ""),
               cat(turn_line("r", 0, 2, 2, 0.1, ""), turn_line("r", 0, 3, 3, 0.1, "")));
    cr_assert(!r->complete && !r->excluded && r->turns_n == 2);
    double wall, p50, p99;
    witness_summary c, h, a;
    cr_assert_not(witness_measure(r, mem, &wall, &c, &h, &a, &p50, &p99));
    r = loaded(run_line("r", 1, 4, "", ""), "");
    cr_assert(!r->complete && !r->excluded && r->turns_n == 0);
}

/* ---- damaged copies ---- */

static void put_pieces(const char *name, const char *const *pieces, size_t n, size_t nul_n) {
    char *s = calloc(1, 65536);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(s + at, pieces[i], strlen(pieces[i]));
        at += strlen(pieces[i]) + (i + 1 < n ? nul_n : 0);
    }
    put_n(name, s, at);
    free(s);
}

Test(witness, nul_bytes_are_a_damaged_copy) {
    put("runs.jsonl", run_line("r", 2, 2, "", ""));
    const char *whole[] = {"", turns_of("r", 1, 2),
                           turns_of("r", 2, 2) + 2 * strlen(turn_line("r", 0, 1, 1, 0.1, ""))};
    put_pieces("sessions/x.jsonl", whole, 3, 5000);
    load();
    cr_assert_eq(w.warnings_n, 1);
    cr_assert_str_eq(w.warnings[0],
                     "sessions/x.jsonl: 10000 NUL bytes where records should be: damaged copy");
    cr_assert(w.runs[0].complete && !w.runs[0].excluded);
}

Test(witness, records_cut_by_nul_bytes) {
    put("runs.jsonl", run_line("r", 2, 1, "", ""));
    const char *first = turn_line("r", 0, 1, 1, 0.1, ""),
               *second = turn_line("r", 1, 1, 1, 0.1, "");
    const char *cut[] = {arena_printf(mem, "%s%.40s", first, second), second + 80};
    put_pieces("sessions/x.jsonl", cut, 2, 40);
    load();
    cr_assert_eq(w.warnings_n, 1);
    has(w.warnings[0], "40 NUL bytes");
    has(w.warnings[0], "2 cut pieces");
    cr_assert(!w.runs[0].complete && !w.runs[0].excluded && w.runs[0].turns_n == 1);
    /* a piece that does not touch the NUL bytes has no excuse */
    const char *bad[] = {cat(first, "{\"run_id\": \n"), second};
    put_pieces("sessions/x.jsonl", bad, 2, 40);
    refused(E_SYNTAX, "sessions/x.jsonl:2:", "expected more of a JSON value");
}

Test(witness, unknown_run_id_is_a_warning) {
    put("runs.jsonl", run_line("r", 1, 1, "", ""));
    put("sessions/x.jsonl", cat(turns_of("r", 1, 1), turns_of("zzz", 2, 2)));
    load();
    cr_assert_eq(w.warnings_n, 1);
    has(w.warnings[0], "sessions/x.jsonl: 4 records");
    has(w.warnings[0], "line 2 (\"zzz\")");
    cr_assert(w.runs[0].complete);
}

Test(witness, wall_of_another_run_is_a_warning) {
    loaded(run_line("r", 1, 1, "", ", \"wall_s\": 1.12"), turns_of("r", 1, 1));
    cr_assert_eq(w.warnings_n, 0); /* 1 + 0.1 + 0.02 */
    loaded(run_line("r", 1, 1, "", ", \"wall_s\": 1.2"), turns_of("r", 1, 1));
    cr_assert_eq(w.warnings_n, 1);
    has(w.warnings[0], "runs.jsonl: run r has wall_s 1.200000, but its last token is at 1.120000");
}

/* ---- folders and lines that are refused ---- */

Test(witness, missing_parts) {
    err gone = {0};
    cr_assert_eq(witness_load("/nonexistent/witness", mem, &w, &gone), E_IO);
    has(gone.where, "/nonexistent/witness");
    has(gone.what, "expected a folder with runs.jsonl");
    put("sessions/a.jsonl", "");
    refused(E_IO, "runs.jsonl", "cannot be opened");
    unlink(arena_printf(mem, "%s/sessions/a.jsonl", dir));
    put("runs.jsonl", run_line("r", 1, 1, "", ""));
    refused(E_IO, "sessions", "found no *.jsonl file");
    rmdir(arena_printf(mem, "%s/sessions", dir));
    refused(E_IO, "sessions", "expected a folder of *.jsonl files");
    put("sessions/a.jsonl", "");
    put("runs.jsonl", " \n\n");
    refused(E_SCHEMA, "runs.jsonl", "found no run");
    put_n("runs.jsonl", "{}\n\0\0", 5);
    refused(E_SYNTAX, "runs.jsonl", "NUL byte");
}

Test(witness, bad_lines) {
    static const struct {
        const char *config, *more;
        err_code code;
        const char *where, *what;
    } RUNS[] = {
        {", \"tool_s\": \"1\"", "", E_SCHEMA, "runs.jsonl:2#/config/tool_s", "found the string"},
        {", \"tool_s\": -1", "", E_RANGE, "runs.jsonl:2#/config/tool_s", "found -1"},
        {", \"serial\": 1", "", E_SCHEMA, "#/config/serial", "expected true or false"},
        {"", ", \"use\": \"fit\"", E_SCHEMA, "runs.jsonl:2#/use", "\"calibrate\", \"score\""},
        {"", ", \"schema\": \"ratecast.witness/2\"", E_SCHEMA, "#/schema", "ratecast.witness/1"},
        {"", ", \"ttft_s\": 3", E_SCHEMA, "#/ttft_s", "expected an object"},
        {"", ", \"ttft_s\": {\"all\": {\"n\": 1, \"p50\": null}}", E_SCHEMA, "#/ttft_s/all/p50",
         ""},
        {"", ", \"server_args\": \"-c 5\"", E_SCHEMA, "#/server_args", "expected an array"},
        {"", ", \"server_args\": [5]", E_SCHEMA, "#/server_args/0", "expected a string"},
        {"", ", \"server_args\": [\"-c\", \"x\"]", E_RANGE, "#/server_args/1", "behind -c"},
        {"", ", \"server_args\": [\"-np\"]", E_RANGE, "#/server_args", "behind -np"},
        {"", ", \"errors\": {}", E_SCHEMA, "#/errors", "expected an array"},
        {"", "} x", E_SYNTAX, "runs.jsonl:2:", "expected the end of the line"},
    };
    put("sessions/a.jsonl", "");
    for (size_t i = 0; i < sizeof RUNS / sizeof *RUNS; i++) {
        put("runs.jsonl",
            cat(run_line("r", 1, 1, "", ""), run_line("s", 1, 1, RUNS[i].config, RUNS[i].more)));
        refused(RUNS[i].code, RUNS[i].where, RUNS[i].what);
    }
    put("runs.jsonl", "[]\n");
    refused(E_SCHEMA, "runs.jsonl:1", "found no object");
    put("runs.jsonl", "{\"run_id\": \"r\", \"machine\": \"b\"}\n");
    refused(E_SCHEMA, "runs.jsonl:1#/config", "missing");
    put("runs.jsonl", run_line("r", 1, 1, "", ""));
    put("sessions/a.jsonl", cat("\n", turn_line("r", 0, 1, 1, 0.1, ", \"itl_ms\": [1, \"2\"]")));
    refused(E_SCHEMA, "sessions/a.jsonl:2#/itl_ms/1", "found the string");
    put("sessions/a.jsonl", turn_line("r", 0, 0, 1, 0.1, ""));
    refused(E_RANGE, "sessions/a.jsonl:1#/turn", "found 0");
}

Test(witness, truncated_last_line) {
    put("runs.jsonl", run_line("r", 1, 2, "", ""));
    const char *turns = turns_of("r", 1, 2);
    put_n("sessions/a.jsonl", turns, strlen(turns) - 2);
    refused(E_SYNTAX, "sessions/a.jsonl:2:", "expected more of a JSON value");
    put_n("sessions/a.jsonl", turns, strlen(turns) - 1); /* only the line end is missing */
    load();
    cr_assert(w.runs[0].complete);
}

Test(witness, budget) {
    put("runs.jsonl", run_line("r", 1, 1, "", ""));
    put("sessions/a.jsonl", turns_of("r", 1, 1));
    for (size_t budget = 0; budget < 4096; budget += 64) {
        arena *small = arena_new(budget);
        err spent = {0};
        err_code code = witness_load(dir, small, &w, &spent);
        cr_assert(code == OK || code == E_LIMIT || code == E_NOMEM, "%d: %s", (int)code,
                  spent.what);
        arena_free(small);
    }
}

/* ---- percentiles ---- */

/* K = 1, H = 21. TTFT of turn t is 0.1 t. Warm: 0.2 .. 2.1 in 20 steps, rank ceil(0.5 * 20) = 10th:
 * 1.1, ceil(0.95 * 20) = 19th: 2.0. All 21: 11th: 1.1, ceil(19.95) = 20th: 2.0. Gaps 1 .. 200 ms,
 * ten a turn in 20 turns: 100th and 198th. The last token: sent 21 * 10, TTFT 2.1, 20 ms. */
Test(witness, percentiles_by_hand) {
    const char *s = "";
    for (int t = 21; t >= 1; t--) {
        const char *itl = ", \"itl_ms\": [";
        for (int i = 0; t > 1 && i < 10; i++)
            itl = arena_printf(mem, "%s%s%d", itl, i ? ", " : "", (t - 2) + 20 * i + 1);
        s = cat(s, turn_line("r", 0, t, 10 * t, 0.1 * t, cat(itl, "]")));
    }
    const witness_run *r = loaded(run_line("r", 1, 21, "", ""), s);
    double wall = 0, p50 = 0, p99 = 0;
    witness_summary c, h, a;
    cr_assert(witness_measure(r, mem, &wall, &c, &h, &a, &p50, &p99));
    cr_assert_float_eq(wall, 212.12, 1e-9);
    cr_assert_eq(c.n, 1);
    cr_assert_float_eq(c.p50_s, 0.1, 1e-9);
    cr_assert_float_eq(c.p95_s, 0.1, 1e-9);
    cr_assert_eq(h.n, 20);
    cr_assert_float_eq(h.p50_s, 1.1, 1e-9);
    cr_assert_float_eq(h.p95_s, 2.0, 1e-9);
    cr_assert_eq(a.n, 21);
    cr_assert_float_eq(a.p50_s, 1.1, 1e-9);
    cr_assert_float_eq(a.p95_s, 2.0, 1e-9);
    cr_assert(p50 == 100 && p99 == 198);
}

Test(witness, one_turn_has_no_warm_population) {
    const witness_run *r = loaded(run_line("r", 2, 1, "", ""), turns_of("r", 2, 1));
    double wall, p50, p99;
    witness_summary c, h, a;
    cr_assert(witness_measure(r, mem, &wall, &c, &h, &a, &p50, &p99));
    cr_assert(c.n == 2 && h.n == 0 && h.p50_s == 0 && a.n == 2 && p50 == 0 && p99 == 0);
}

/* ---- the shared recordings ---- */

static bool equal_to_the_microsecond(const witness_summary *a, const witness_summary *b) {
    return a->n == b->n && fabs(a->p50_s - b->p50_s) < 1e-6 && fabs(a->p95_s - b->p95_s) < 1e-6;
}

static void agrees(const witness_run *r) {
    double wall, p50, p99;
    witness_summary c, h, a;
    cr_assert(witness_measure(r, mem, &wall, &c, &h, &a, &p50, &p99));
    cr_assert_float_eq(wall, r->wall_s, 1e-6, "%s", r->id);
    cr_assert(equal_to_the_microsecond(&c, &r->cold), "%s", r->id);
    cr_assert(equal_to_the_microsecond(&h, &r->warm_ttft), "%s", r->id);
    cr_assert(equal_to_the_microsecond(&a, &r->all), "%s", r->id);
    /* the client took the mean of the middle two where the count is even */
    cr_assert(fabs(p50 - r->itl_p50_ms) < 0.05 && p99 >= p50, "%s", r->id);
}

static void check_k16(const witness_run *r) {
    cr_assert(r->complete && r->turns_n == 320);
    cr_assert(r->K == 16 && r->slots_n == 16 && r->layout == KV_LAYOUT_SPLIT);
    cr_assert(r->context_tok == 131072 && r->n_batch == 2048 && r->n_ubatch == 512);
    for (size_t i = 0; i < r->turns_n; i++)
        if (r->turns[i].turn > 1) cr_assert_eq(r->turns[i].new_tok, r->din + 1);
}

Test(witness_recordings, shared) {
    const char *shared = getenv("RATECAST_SHARED");
    const char *folder =
        arena_printf(mem, "%s/witness/llamacpp", shared ? shared : RATECAST_REPO "/../shared");
    if (access(folder, R_OK) != 0) {
        printf("SKIPPED: no recordings at %s (set RATECAST_SHARED to the shared folder)\n", folder);
        cr_skip_test("no recordings");
    }
    cr_assert_eq(witness_load(folder, mem, &w, &e), OK, "%s: %s", e.where, e.what);
    file_bytes runs = {0};
    cr_assert_eq(file_read(arena_printf(mem, "%s/runs.jsonl", folder), mem, &runs, &e), OK);
    size_t lines_n = 0, calibrate_n = 0, complete_n = 0, k16_n = 0;
    for (size_t i = 0; i < runs.len; i++) lines_n += runs.s[i] == '\n';
    cr_assert_eq(w.n, lines_n);
    for (size_t i = 0; i < w.n; i++) {
        const witness_run *r = &w.runs[i];
        cr_assert_null(r->excluded, "%s: %s", r->id, r->excluded);
        calibrate_n += r->use == USE_CALIBRATE;
        complete_n += r->complete;
        if (r->complete) agrees(r);
        if (strcmp(r->id, "7b-K16-P4096-iso-r0") == 0) {
            check_k16(r);
            k16_n++;
        }
    }
    cr_assert_eq(calibrate_n, 11); /* as their README says */
    cr_assert_eq(k16_n, 1);
    for (size_t i = 0; i < w.warnings_n; i++) {
        has(w.warnings[i], "damaged copy");
        printf("%s\n", w.warnings[i]);
    }
    printf("%zu runs, %zu complete\n", w.n, complete_n);
}
