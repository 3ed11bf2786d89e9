#include "session_plan.h"

#include <criterion/criterion.h>
#include <string.h>

static arena *mem;

static void set_up(void) {
    mem = arena_new((size_t)16 << 20);
}

static void tear_down(void) {
    arena_free(mem);
}

TestSuite(session_plan, .init = set_up, .fini = tear_down);

/* The words with "|" behind each; NULL: refused. */
static const char *split(const char *text) {
    server_args args;
    err e = {0};
    if (plan_split_args(text, mem, &args, &e)) {
        cr_assert_eq(e.code, E_USAGE);
        return NULL;
    }
    const char *all = "";
    for (size_t i = 0; i < args.n; i++) all = arena_printf(mem, "%s%s|", all, args.arg[i]);
    return all;
}

Test(session_plan, splits_as_a_shell_does) {
    cr_assert_str_eq(split("llama-server -np 4"), "llama-server|-np|4|");
    cr_assert_str_eq(split("  a\t b\n"), "a|b|");
    cr_assert_str_eq(split("a"), "a|");
    cr_assert_str_eq(split("-m \"a b\" 'c \"d' e\\ f g\"h\"'i'"), "-m|a b|c \"d|e f|ghi|");
    cr_assert_str_eq(split("'a\\b' \"a\\\"b\" \"\" c"), "a\\b|a\"b||c|");
    cr_assert_str_eq(split("a\\"), "a\\|");
    cr_assert_null(split(""));
    cr_assert_null(split("  \t"));
    cr_assert_null(split("a 'b"));
    cr_assert_null(split("a \"b c"));
}

static session_spec spec_of(int64_t K, int64_t H, int64_t P) {
    return (session_spec){.api = &SERVER_LLAMA,
                          .K = K,
                          .H = H,
                          .P = P,
                          .din = 10,
                          .out = 5,
                          .pin = true,
                          .cache = true,
                          .vocab_hi = 99};
}

/* P + H (din + out), and prompts P + t din + (t - 1) out of every agent. */
Test(session_plan, counts_tokens) {
    session_spec s = spec_of(3, 4, 100);
    int64_t presented = 0;
    for (int64_t t = 1; t <= 4; t++) presented += 3 * (100 + t * 10 + (t - 1) * 5);
    cr_assert_eq(session_presented_tok(&s), presented);
    cr_assert_eq(session_context_tok(&s), 100 + 4 * 15);
}

/* result_after: the first prompt is the prefix, the others P + (t - 1)(din + out). */
Test(session_plan, counts_tokens_of_result_after) {
    session_spec s = spec_of(3, 4, 100);
    int64_t presented = 0;
    s.result_after = true;
    for (int64_t t = 1; t <= 4; t++) presented += 3 * (100 + (t - 1) * (10 + 5));
    cr_assert_eq(session_presented_tok(&s), presented);
    cr_assert_eq(session_first_tok(&s), 100);
    cr_assert_eq(session_context_tok(&s), 100 + 3 * 15 + 5);
}

static err_code check(const session_spec *s, const server_info *server, const char *args,
                      size_t *notes_n, err *e) {
    const char *notes[PLAN_NOTES_MAX];
    server_args a = {0};
    *notes_n = 0;
    *e = (err){0};
    if (args) cr_assert_eq(plan_split_args(args, mem, &a, e), OK);
    return plan_check(s, server, &a, args != NULL, mem, notes, notes_n, e);
}

Test(session_plan, a_server_that_can_do_it) {
    session_spec s = spec_of(4, 4, 100);
    server_info server = {.slots_n = 4, .slot_context_tok = 1024, .vocab_n = 100};
    err e;
    size_t n;
    cr_assert_eq(check(&s, &server, "x -np 4 -no-kvu -c 4096", &n, &e), OK, "%s", e.what);
    cr_assert_eq(n, 0);
    cr_assert_eq(check(&s, &server, "x -c 1024", &n, &e), OK, "%s", e.what); /* 4 unified slots */
    cr_assert_eq(n, 0);
    cr_assert_eq(check(&s, &server, "x -np 4 -c 1024", &n, &e), OK, "%s", e.what);
    cr_assert_eq(n, 1); /* split: 256 tokens a slot, not 1024 */
    cr_assert_eq(check(&s, &server, NULL, &n, &e), OK, "%s", e.what);
    cr_assert_eq(n, 1); /* arguments not told */
    cr_assert_eq(check(&s, &(server_info){0}, "x", &n, &e), OK, "%s", e.what);
}

Test(session_plan, servers_that_cannot) {
    session_spec s = spec_of(4, 4, 100);
    err e;
    size_t n;
    cr_assert_eq(check(&s, &(server_info){.slots_n = 4, .slot_context_tok = 159}, NULL, &n, &e),
                 E_REFUSED);
    cr_assert_eq(check(&s, &(server_info){.slots_n = 3}, NULL, &n, &e), E_REFUSED);
    cr_assert_eq(check(&s, &(server_info){.slots_n = 4, .vocab_n = 99}, NULL, &n, &e), E_REFUSED);
    cr_assert_eq(check(&s, &(server_info){.slots_n = 4}, "x -np 5", &n, &e), E_REFUSED);
    cr_assert_eq(check(&s, &(server_info){.slots_n = 5}, "x", &n, &e), E_REFUSED);
    s.pin = false;
    cr_assert_eq(check(&s, &(server_info){.slots_n = 3}, "x -np 3", &n, &e), OK);
    cr_assert_eq(n, 1); /* fewer slots than agents */
}

Test(session_plan, arguments_from_props_read_as_they_were) {
    server_args args;
    err e = {0};
    server_info server = {.slots_n = 4, .slot_context_tok = 8192, .model_path = "m.gguf"};
    cr_assert_eq(plan_args_of(&server, mem, &args, &e), OK);
    const char *all = "";
    for (size_t i = 0; i < args.n; i++) all = arena_printf(mem, "%s%s ", all, args.arg[i]);
    cr_assert_str_eq(all, "llama-server -m m.gguf --parallel 4 -c 32768 ");
    cr_assert_eq(plan_args_of(&(server_info){0}, mem, &args, &e), OK);
    cr_assert_eq(args.n, 0);
}
