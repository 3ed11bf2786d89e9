/* Marks in a report's Markdown: what is put in comes out again, and nothing else is taken for one.
 */
#include "marks.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define OPEN "\xEE\x80\x80"
#define MIDDLE "\xEE\x80\x81"
#define CLOSE "\xEE\x80\x82"

static const mark MARKS[] = {{MARK_NUMBER, "MODELED: h/a.wall_s", NULL, false},
                             {MARK_PICTURE, "what it shows", "wall", false},
                             {MARK_NUMBER, "CLAIM: x", NULL, false}};
enum { N = sizeof MARKS / sizeof *MARKS };

static void expect_markdown(const char *text, const char *want) {
    buf out;
    buf_init(&out);
    marks_markdown(text, MARKS, N, &out);
    cr_expect_str_eq(out.s, want, "\"%s\" gives \"%s\"", text, out.s);
    buf_done(&out);
}

Test(marks, round_trip) {
    buf b;
    buf_init(&b);
    buf_add(&b, "takes ");
    mark_add(&b, 0, &MARKS[0], "557.1");
    buf_add(&b, " s\n\n");
    mark_add(&b, 1, &MARKS[1], "not printed");
    mark_add(&b, 2, &MARKS[2], "");
    static const struct {
        const char *plain, *text;
        size_t index;
    } WANT[] = {{"takes ", "557.1", 0}, {" s\n\n", "", 1}, {"", "", 2}};
    const char *from = b.s;
    mark_found f;
    for (size_t i = 0; i < 3; i++) {
        cr_assert(mark_next(&from, N, &f));
        cr_expect_eq(f.index, WANT[i].index);
        cr_expect(f.plain_n == strlen(WANT[i].plain) &&
                  strncmp(f.plain, WANT[i].plain, f.plain_n) == 0);
        cr_expect(f.text_n == strlen(WANT[i].text) && strncmp(f.text, WANT[i].text, f.text_n) == 0);
    }
    cr_expect_not(mark_next(&from, N, &f));
    cr_expect_eq(f.plain_n, 0);
    cr_expect_not(mark_next(&from, N, &f), "the end stays the end");
    expect_markdown(b.s, "takes 557.1 s\n\n![what it shows](wall.svg)");
    buf_done(&b);
}

Test(marks, what_is_no_mark_stays_text) {
    static const char *const TEXTS[] = {
        "",
        "plain",
        OPEN,
        OPEN MIDDLE CLOSE,
        OPEN "x" MIDDLE "5" CLOSE,
        OPEN "0",
        OPEN "0" MIDDLE,
        OPEN "0" MIDDLE "5",
        OPEN "0" CLOSE,
        OPEN "0x" MIDDLE "5" CLOSE,
        OPEN "-0" MIDDLE "5" CLOSE,
        OPEN " 0" MIDDLE "5" CLOSE,
        OPEN "3" MIDDLE "5" CLOSE, /* there are 3 */
        OPEN "99999999999999999999999999" MIDDLE "5" CLOSE,
        OPEN "18446744073709551616" MIDDLE "5" CLOSE, /* 2^64 */
        CLOSE MIDDLE OPEN,
        "\xEE\x80",
        "\xEE",
        "\xEE\x80\x83",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) expect_markdown(TEXTS[i], TEXTS[i]);
}

Test(marks, a_mark_behind_what_is_none) {
    expect_markdown(OPEN "7" MIDDLE "a" CLOSE OPEN "2" MIDDLE "b" CLOSE "c",
                    OPEN "7" MIDDLE "a" CLOSE "bc");
    expect_markdown(OPEN OPEN "0" MIDDLE "1" CLOSE, OPEN "1");
    expect_markdown("\xEE\x80" OPEN "0" MIDDLE "1" CLOSE, "\xEE\x80"
                                                          "1");
}

Test(marks, of_no_mark_at_all) {
    buf out;
    buf_init(&out);
    marks_markdown("a" OPEN "0" MIDDLE "b" CLOSE, NULL, 0, &out);
    cr_expect_str_eq(out.s, "a" OPEN "0" MIDDLE "b" CLOSE);
    buf_done(&out);
}

/* Words of a template stand in marks, too. */
Test(marks, no_mark_ends_in_its_text) {
    buf b;
    buf_init(&b);
    mark_add(&b, 0, &MARKS[0], "a" CLOSE "b" OPEN "0" MIDDLE "c\xEE\x80\x83\xEE");
    expect_markdown(b.s, "a\xEF\xBF\xBD"
                         "b\xEF\xBF\xBD"
                         "0\xEF\xBF\xBD"
                         "c\xEE\x80\x83\xEE");
    buf_done(&b);
}

/* A scenario's title may hold a whole mark: after that it is none, and what was there before is. */
Test(marks, forged_ones_are_disarmed) {
    buf b;
    buf_init(&b);
    mark_add(&b, 0, &MARKS[0], "1.5");
    size_t from = b.len;
    buf_add(&b, OPEN "0" MIDDLE "9" CLOSE " title " OPEN);
    size_t len = b.len;
    marks_disarm(&b, from);
    cr_expect_eq(b.len, len);
    expect_markdown(b.s, "1.5\xEF\xBF\xBD"
                         "0" MIDDLE "9" CLOSE " title \xEF\xBF\xBD");
    buf_done(&b);
}
