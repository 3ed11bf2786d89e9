/* Templates of reports: no digit outside {{ }}, no bare number in {{lit:}}, and the place of
 * whatever is wrong, counted by hand. */
#include "support.h"

#include "template.h"

#include <criterion/parameterized.h>
#include <stdio.h>

static err_code parse_bytes(const char *text, size_t n, template_text *out, err *e) {
    file_bytes f = {.name = "t.md", .s = text, .len = n};
    *e = (err){0};
    return template_parse(&f, support_arena(), out, e);
}

static err_code parse(const char *text, template_text *out, err *e) {
    return parse_bytes(text, strlen(text), out, e);
}

/* ---- digits in the text ---- */

typedef struct wrong {
    const char *text, *where, *what;
} wrong;

static const wrong WRONG[] = {
    /* digits, wherever they stand */
    {"7", "t.md:1:1", "the digit \"7\""},
    {"wall 393.8 s", "t.md:1:6", "the digit \"3\""},
    {"a\nb\n  c9", "t.md:3:4", "the digit \"9\""},
    {"# H1", "t.md:1:4", "the digit \"1\""},
    {"1. one\n", "t.md:1:1", "the digit \"1\""},
    {"a\n\n2) two\n", "t.md:3:1", "the digit \"2\""},
    {"```text\nx\ny 5\n```\n", "t.md:3:3", "the digit \"5\""},
    {"    code 8\n", "t.md:1:10", "the digit \"8\""},
    {"`b4`", "t.md:1:3", "the digit \"4\""},
    {"[a](b#c6)", "t.md:1:8", "the digit \"6\""},
    {"<!-- 0 -->", "t.md:1:6", "the digit \"0\""},
    {"&#49;", "t.md:1:3", "the digit \"4\""},
    {"\\3", "t.md:1:2", "the digit \"3\""},
    {"\r\n4", "t.md:2:1", "the digit \"4\""},
    {"{{title}} 5", "t.md:1:11", "the digit \"5\""},
    {"{{! 5 }}\n6", "t.md:2:1", "the digit \"6\""},
    {"{{#claims}}1{{/claims}}", "t.md:1:12", "the digit \"1\""},
    /* those that are no ASCII; columns count characters */
    {"O(L²)", "t.md:1:4", "the digit \"²\""},
    {"³", "t.md:1:1", "the digit \"³\""},
    {"x¹", "t.md:1:2", "the digit \"¹\""},
    {"äö½", "t.md:1:3", "the digit \"½\""},
    {"¼", "t.md:1:1", "the digit \"¼\""},
    {"¾", "t.md:1:1", "the digit \"¾\""},
    {"⅓", "t.md:1:1", "the digit \"⅓\""},
    {"⅞", "t.md:1:1", "the digit \"⅞\""},
    {"a⁰", "t.md:1:2", "the digit \"⁰\""},
    {"a⁴", "t.md:1:2", "the digit \"⁴\""},
    {"a⁹", "t.md:1:2", "the digit \"⁹\""},
    {"a₀", "t.md:1:2", "the digit \"₀\""},
    {"a₉", "t.md:1:2", "the digit \"₉\""},
    {"０", "t.md:1:1", "the digit \"０\""},
    {"→ ９", "t.md:1:3", "the digit \"９\""},
    {"①", "t.md:1:1", "the digit \"①\""},
    {"٣", "t.md:1:1", "the digit \"٣\""},
    {"😀𝟗", "t.md:1:2", "the digit \"𝟗\""},
    /* numbers by hand in {{lit:}} */
    {"{{lit:5}}", "t.md:1:7", "{{lit:5}}"},
    {"{{lit:1.86x}}", "t.md:1:7", "{{lit:1.86x}}"},
    {"{{lit:1.86×}}", "t.md:1:7", "expected a name"},
    {"{{lit:393.8 s}}", "t.md:1:7", "expected a name"},
    {"{{lit:97 %}}", "t.md:1:7", "expected a name"},
    {"{{lit:97%}}", "t.md:1:7", "expected a name"},
    {"{{lit:4,096}}", "t.md:1:7", "expected a name"},
    {"{{lit:4,096 tokens}}", "t.md:1:7", "expected a name"},
    {"{{lit:≥ 30x}}", "t.md:1:7", "expected a name"},
    {"{{lit:~30 x}}", "t.md:1:7", "expected a name"},
    {"{{lit:±2 %}}", "t.md:1:7", "expected a name"},
    {"{{lit:-5}}", "t.md:1:7", "expected a name"},
    {"{{lit:−5}}", "t.md:1:7", "expected a name"},
    {"{{lit:≈ 3 ms}}", "t.md:1:7", "expected a name"},
    {"{{lit:3\u00A0ms}}", "t.md:1:7", "expected a name"},
    {"{{lit:  12 GiB  }}", "t.md:1:7", "expected a name"},
    {"{{lit:½}}", "t.md:1:7", "expected a name"},
    {"{{lit:150 GB/s}}", "t.md:1:7", "expected a name"},
    {"{{lit:7.61 tok/s}}", "t.md:1:7", "expected a name"},
    {"{{lit:４}}", "t.md:1:7", "expected a name"},
    {"{{lit:}}", "t.md:1:7", "expected a name"},
    /* beside words, with units that nobody listed, and as a value of something */
    {"{{lit:takes 42.75 seconds}}", "t.md:1:7", "\"42.75\""},
    {"{{lit:takes 12.3 s}}", "t.md:1:7", "\"12.3\""},
    {"{{lit:about 5x faster}}", "t.md:1:7", "\"5x\""},
    {"{{lit:3 watts}}", "t.md:1:7", "\"3\""},
    {"{{lit:3watts}}", "t.md:1:7", "\"3watts\""},
    {"{{lit:42s}}", "t.md:1:7", "\"42s\""},
    {"{{lit:1.86× less}}", "t.md:1:7", "\"1.86×\""},
    {"{{lit:H200 in 42 s}}", "t.md:1:7", "\"42\""},
    {"{{lit:42 s on H200}}", "t.md:1:7", "\"42\""},
    {"{{lit:5 times}}", "t.md:1:7", "\"5\""},
    {"{{lit:twice² 97%}}", "t.md:1:7", "\"97%\""},
    {"{{lit:gain97%}}", "t.md:1:7", "\"gain97%\""},
    {"{{lit:by3×}}", "t.md:1:7", "\"by3×\""},
    {"{{lit:20k tokens}}", "t.md:1:7", "\"20k\""},
    {"{{lit:2,048-token}}", "t.md:1:7", "\"2,048-token\""},
    {"{{lit:K=4}}", "t.md:1:7", "\"K=4\""},
    {"{{lit:wall:42.75}}", "t.md:1:7", "\"wall:42.75\""},
    {"{{lit:a~42}}", "t.md:1:7", "\"a~42\""},
    {"{{lit:3:1}}", "t.md:1:7", "\"3:1\""},
    {"{{lit:3 of a kind}}", "t.md:1:7", "\"3\""},
    {"{{lit:fig. 3 s}}", "t.md:1:7", "\"3\""},
    {"{{lit:wall 3}}", "t.md:1:7", "\"3\""},
    {"{{lit:1.5×2}}", "t.md:1:7", "\"1.5×2\""},
    {"{{lit:5×}}", "t.md:1:7", "\"5×\""},
    {"{{lit:10.5/s}}", "t.md:1:7", "\"10.5/s\""},
    {"{{lit:a\u202F42\u202Fs}}", "t.md:1:7", "\"42\""},
    {"{{lit:$5}}", "t.md:1:7", "\"$5\""},
    {"{{lit:−5dB}}", "t.md:1:7", "\"−5dB\""},
    /* braces and sections */
    {"{{}}", "t.md:1:3", "expected a name"},
    {"{{   }}", "t.md:1:6", "expected a name"},
    {"a {{title", "t.md:1:3", "{{ without }}"},
    {"a\n{{ {{title}", "t.md:2:1", "{{ without }}"},
    {"a }} b", "t.md:1:3", "}} without {{"},
    {"{{a}}}}", "t.md:1:6", "}} without {{"},
    {"{{ta\nble}}", "t.md:1:3", "line break"},
    {"{{lit:a\nb}}", "t.md:1:3", "line break"},
    {"{{#claims}}", "t.md", "{{#claims}} without {{/claims}}"},
    {"{{/claims}}", "t.md:1:4", "{{/claims}}"},
    {"{{#claims}}\n{{/runs}}", "t.md:2:4", "expected {{/claims"},
    {"{{#claims}}\n{{/claim}}", "t.md:2:4", "expected {{/claims"},
    {"{{#claims}}{{#runs}}{{/runs}}{{/claims}}", "t.md:1:15", "expected {{/claims"},
};

ParameterizedTestParameters(template, refused) {
    static size_t index[sizeof WRONG / sizeof *WRONG];
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) index[i] = i;
    return cr_make_param_array(size_t, index, sizeof WRONG / sizeof *WRONG);
}

ParameterizedTest(const size_t *index, template, refused) {
    const wrong *w = &WRONG[*index];
    template_text t;
    err e;
    cr_assert_eq(parse(w->text, &t, &e), E_SYNTAX, "\"%s\" passes", w->text);
    cr_expect_str_eq(e.where, w->where, "\"%s\": at %s", w->text, e.where);
    cr_expect(strstr(e.what, w->what), "\"%s\": \"%s\" lacks \"%s\"", w->text, e.what, w->what);
}

/* ---- names ---- */

static const char *const NAMES[] = {
    "5×200",       "Qwen3.8-27B",  "#2723",      "20k",        "O(L²)",    "4k",
    "M3 Pro",      "llama-2-7b",   "7B",         "2026-11-30", "H200",     "Q4_K_M",
    "issue #3809", "1.5B",         "B200 x",     "5x200",      "7B Q8_0",  "v1.2.3-rc",
    "fig. 3",      "10.1145/x",    "e5-2690 v4", "fp8",        "no digit", "llama.cpp b9960",
    "section 4.2", "M3 Pro, H200", "(#11855)",   "ä2",         "2×3×4",    "a/ttft_p50_s",
};

ParameterizedTestParameters(template, names) {
    static size_t index[sizeof NAMES / sizeof *NAMES];
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) index[i] = i;
    return cr_make_param_array(size_t, index, sizeof NAMES / sizeof *NAMES);
}

ParameterizedTest(const size_t *index, template, names) {
    template_text t;
    err e;
    const char *text = arena_printf(support_arena(), "a {{lit:%s}} b", NAMES[*index]);
    cr_assert_eq(parse(text, &t, &e), OK, "%s: %s", text, e.what);
    cr_assert_eq(t.n, 3);
    cr_expect_eq(t.pieces[1].kind, PIECE_LITERAL);
    cr_expect_str_eq(t.pieces[1].text, NAMES[*index]);
}

/* ---- pieces ---- */

static void expect_pieces(const char *text, const piece *want, size_t n) {
    template_text t;
    err e;
    cr_assert_eq(parse(text, &t, &e), OK, "%s: %s %s", text, e.where, e.what);
    cr_assert_eq(t.n, n, "%zu pieces of %s", t.n, text);
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(t.pieces[i].kind, want[i].kind, "%s: piece %zu", text, i);
        cr_expect_str_eq(t.pieces[i].text, want[i].text, "%s: piece %zu", text, i);
        cr_expect_str_eq(t.pieces[i].where, want[i].where, "%s: piece %zu at %s", text, i,
                         t.pieces[i].where);
    }
}

Test(template, pieces_and_their_places) {
    static const piece WANT[] = {
        {PIECE_TEXT, "ä ", "t.md:1:1"},      {PIECE_FIELD, "h/a.wall_s :.2", "t.md:1:6"},
        {PIECE_TEXT, "\n", "t.md:1:23"},     {PIECE_IF, "runs", "t.md:2:4"},
        {PIECE_TEXT, "x", "t.md:2:10"},      {PIECE_END, "runs", "t.md:2:14"},
        {PIECE_TEXT, " ", "t.md:2:20"},      {PIECE_LITERAL, "H200", "t.md:2:28"},
        {PIECE_TEXT, "\nend}", "t.md:2:34"},
    };
    expect_pieces("ä {{ h/a.wall_s :.2 }}\n{{#runs}}x{{/runs}} {{ lit:H200}}\nend}", WANT,
                  sizeof WANT / sizeof *WANT);
}

Test(template, remarks_are_left_out) {
    static const piece WANT[] = {{PIECE_TEXT, "a", "t.md:1:1"}, {PIECE_TEXT, "b", "t.md:3:9"}};
    expect_pieces("a{{! 12 lines,\n  #claims, /x, 3.5 s {{\n lit:5}}b", WANT, 2);
}

Test(template, an_empty_file_has_no_piece) {
    template_text t;
    err e;
    cr_assert_eq(parse("", &t, &e), OK);
    cr_expect_eq(t.n, 0);
    cr_assert_eq(parse("{{!}}", &t, &e), OK);
    cr_expect_eq(t.n, 0);
}

Test(template, a_nul_is_refused) {
    template_text t;
    err e;
    cr_assert_eq(parse_bytes("a\0b", 3, &t, &e), E_SYNTAX);
    cr_expect_str_eq(e.where, "t.md");
    cr_expect(strstr(e.what, "NUL"), "%s", e.what);
    cr_expect_eq(parse_bytes("a\0", 2, &t, &e), E_SYNTAX);
}

/* Bytes that are no UTF-8, and characters that end with the file. */
Test(template, broken_characters_are_text) {
    static const char *const TEXTS[] = {"\xC2",     "\xE2\x81", "\xEF\xBC", "\xF0\x9D\x9F",
                                        "\xB2\xBC", "\xFF\xFE", "\xE0\xB9", "a\xC2{{title}}"};
    template_text t;
    err e;
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        cr_expect_eq(parse(TEXTS[i], &t, &e), OK, "text %zu: %s", i, e.what);
}

Test(template, many_pieces) {
    enum { N = 20000 };
    char *text = arena_alloc(support_arena(), N * 6 + 1, 1);
    for (size_t i = 0; i < N; i++) memcpy(text + 6 * i, "\n{{a}}", 6);
    template_text t;
    err e;
    cr_assert_eq(parse(text, &t, &e), OK);
    cr_assert_eq(t.n, 2 * N);
    cr_expect_str_eq(t.pieces[2 * N - 1].where, "t.md:20001:3");
}

Test(template, the_shipped_ones_pass) {
    file_bytes f = {0};
    template_text t;
    err e = {0};
    cr_assert_eq(file_read(RATECAST_REPO "/reports/templates/session.md", support_arena(), &f, &e),
                 OK);
    cr_assert_eq(template_parse(&f, support_arena(), &t, &e), OK, "%s: %s", e.where, e.what);
    cr_expect_gt(t.n, 20);
}
