/* Children of ratecast-bench: ends, limits, groups, words. */
#include "process.h"

#include "temp.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char dir[TEMP_MAX], out[TEMP_MAX + 8], messages[TEMP_MAX + 8];
static arena *mem;

static void set_up(void) {
    temp_folder(dir, "process");
    snprintf(out, sizeof out, "%s/out", dir);
    snprintf(messages, sizeof messages, "%s/err", dir);
    mem = arena_new((size_t)16 << 20);
}

static void tear_down(void) {
    unlink(out);
    unlink(messages);
    rmdir(dir);
    arena_free(mem);
}

TestSuite(bench_process, .init = set_up, .fini = tear_down);

static process_result sh(const char *script, double timeout_s) {
    const char *argv[] = {"sh", "-c", script, NULL};
    process_call c = {.argv = argv,
                      .stdout_path = out,
                      .stderr_path = messages,
                      .timeout_s = timeout_s,
                      .grace_s = 0.3};
    process_result r;
    err e = {0};
    cr_assert_eq(process_run(&c, &r, &e), OK, "%s", e.what);
    return r;
}

static const char *text_of(const char *path) {
    static char text[256];
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

Test(bench_process, outputs_and_exit_code) {
    process_result r = sh("echo one; echo two >&2; read x || echo none; exit 7", 10);
    cr_assert_eq(r.end, PROCESS_EXITED);
    cr_assert_eq(r.code, 7);
    cr_assert_str_eq(text_of(out), "one\nnone\n", "standard input is empty");
    cr_assert_str_eq(text_of(messages), "two\n");
}

Test(bench_process, killed_by_somebody) {
    process_result r = sh("kill -9 $$", 10);
    cr_assert_eq(r.end, PROCESS_KILLED);
    cr_assert_eq(r.code, SIGKILL);
}

Test(bench_process, too_long) {
    process_result r = sh("sleep 60", 0.2);
    cr_assert_eq(r.end, PROCESS_TIMED_OUT);
    cr_assert_lt(r.wall_s, 10);
}

static void nap_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A process that is gone writes no more; its id may live on until somebody waits for it. */
static void nobody_writes(const char *path) {
    struct stat before, after;
    nap_ms(100);
    cr_assert_eq(stat(path, &before), 0);
    cr_assert_gt(before.st_size, 0, "it has never run");
    nap_ms(600);
    cr_assert_eq(stat(path, &after), 0);
    cr_assert_eq(before.st_size, after.st_size, "it still runs");
}

#define BEAT "while :; do echo x >&2; sleep 0.1; done"

/* One that ignores SIGTERM, and whose own child does, too: both are gone. */
Test(bench_process, the_whole_group_ends) {
    process_result r = sh("trap '' TERM; (" BEAT ") & " BEAT, 0.4);
    cr_assert_eq(r.end, PROCESS_TIMED_OUT);
    cr_assert_lt(r.wall_s, 10);
    nobody_writes(messages);
}

/* What ended well, but left something running that holds its output, does not make us wait. */
Test(bench_process, leftovers_end_with_it) {
    process_result r = sh("(" BEAT ") & sleep 0.3", 20);
    cr_assert_eq(r.end, PROCESS_EXITED);
    cr_assert_lt(r.wall_s, 10);
    nobody_writes(messages);
}

static bool thrice(double elapsed_s, void *arg) {
    int *n = arg;
    cr_assert_geq(elapsed_s, 0);
    return ++*n < 3;
}

Test(bench_process, stopped_by_tick) {
    const char *argv[] = {"sleep", "60", NULL};
    int ticks = 0;
    process_call c = {.argv = argv,
                      .stdout_path = out,
                      .stderr_path = out,
                      .timeout_s = 30,
                      .tick = thrice,
                      .arg = &ticks};
    process_result r;
    err e = {0};
    cr_assert_eq(process_run(&c, &r, &e), OK);
    cr_assert_eq(r.end, PROCESS_STOPPED);
    cr_assert_eq(ticks, 3);
}

/* Signals that this program has blocked or ignored reach the child. */
Test(bench_process, child_has_default_signals) {
    signal(SIGTERM, SIG_IGN);
    process_result r = sh("kill -TERM $$; echo survived", 10);
    cr_assert_eq(r.end, PROCESS_KILLED);
    cr_assert_eq(r.code, SIGTERM);
}

Test(bench_process, missing_program) {
    const char *argv[] = {"ratecast-no-such-program", NULL};
    process_call c = {.argv = argv, .stdout_path = out, .stderr_path = messages, .timeout_s = 5};
    process_result r;
    err e = {0};
    /* some C libraries find it out in the child, which then exits with 127 */
    cr_assert(process_run(&c, &r, &e) == E_EXTERN || r.code == 127);
    cr_assert_null(process_find("ratecast-no-such-program", mem));
    cr_assert_null(process_find("/tmp", mem), "a folder is no program");
    cr_assert_not_null(process_find("sh", mem));
    cr_assert_str_eq(process_find("/bin/sh", mem), "/bin/sh");
}

Test(bench_process, caught_signals) {
    process_catch_signals();
    cr_assert_eq(process_caught(), 0);
    raise(SIGINT);
    cr_assert_eq(process_caught(), SIGINT);
    raise(SIGTERM);
    cr_assert_eq(process_caught(), SIGINT, "the first one counts");
}

/* Whatever the word, a shell reads it back. */
Test(bench_process, quoting) {
    static const char *const WORDS[] = {
        "plain-1.2_/x", "",      "a b", "it's", "'",   "''", "$HOME",   "`x`", "a\\b", "*",
        "a\nb",         "\"q\"", "~",   "#x",   "a;b", "-n", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        buf b;
        buf_init(&b);
        buf_add(&b, "printf %s ");
        buf_add_word(&b, WORDS[i]);
        process_result r = sh(b.s, 10);
        cr_assert_eq(r.code, 0);
        cr_assert_str_eq(text_of(out), WORDS[i]);
        buf_done(&b);
    }
    buf b;
    buf_init(&b);
    buf_add_word(&b, "a.gguf");
    cr_assert_str_eq(b.s, "a.gguf", "no quotes where none are needed");
    buf_done(&b);
}
