#include "table.h"

#include <criterion/criterion.h>
#include <string.h>

static arena *mem;

static void set_up(void) {
    mem = arena_new(1024 * 1024);
}

static void tear_down(void) {
    arena_free(mem);
}

TestSuite(table, .init = set_up, .fini = tear_down);

Test(table, width_counts_code_points) {
    static const struct {
        const char *s;
        size_t width;
    } CASES[] = {{"", 0},
                 {"tok/s", 5},
                 {"\xC3\xA4", 1},
                 {"\xC2\xB1 30 %", 6},
                 {"\xE2\x86\x92", 1},
                 {"p \xE2\x89\xA4 q", 5},
                 {"\xF0\x9F\x98\x80!", 2}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        cr_assert_eq(table_width(CASES[i].s), CASES[i].width, "case %zu", i);
}

static table *sample(void) {
    static const char *const HEAD[] = {"arm", "tok/s", "note"};
    static const char *const ROW1[] = {"fak-native", "7.61", "x"};
    static const char *const ROW2[] = {"\xC3\xA4\xC3\xB6", "123.4", NULL};
    table *t = table_new(mem, 3);
    table_left(t, 2);
    table_row(t, HEAD);
    table_row(t, ROW1);
    table_row(t, ROW2);
    return t;
}

/* Written by hand from table.h: first column left, second right, third left on request; NULL is
 * empty. */
Test(table, markdown) {
    buf b;
    buf_init(&b);
    table_markdown(sample(), &b);
    cr_assert_str_eq(b.s, "| arm        | tok/s | note |\n"
                          "|------------|------:|------|\n"
                          "| fak-native |  7.61 | x    |\n"
                          "| \xC3\xA4\xC3\xB6         | 123.4 |      |\n");
    buf_done(&b);
}

static size_t code_points(const char *s, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += ((unsigned char)s[i] & 0xC0) != 0x80;
    return count;
}

/* Aligned for a terminal: every line takes the same number of columns, whatever the cells hold. */
Test(table, markdown_lines_have_one_width) {
    static const char *const WORDS[] = {"",
                                        "a",
                                        "\xC2\xB5s",
                                        "\xE2\x80\x93",
                                        "some longer text",
                                        "1.5",
                                        "12345678901234567890",
                                        "\xC3\xA9t\xC3\xA9"};
    enum { COLS = 7, W = sizeof WORDS / sizeof *WORDS };
    table *t = table_new(mem, COLS);
    for (size_t r = 0; r < 40; r++) {
        const char *cells[COLS];
        for (size_t c = 0; c < COLS; c++) cells[c] = WORDS[(r * 5 + c * 3 + r * c) % W];
        table_row(t, cells);
    }
    buf b;
    buf_init(&b);
    table_markdown(t, &b);
    size_t width = code_points(b.s, strcspn(b.s, "\n")), lines = 0;
    for (const char *line = b.s; *line; line += strcspn(line, "\n") + 1, lines++)
        cr_assert_eq(code_points(line, strcspn(line, "\n")), width, "line %zu", lines);
    cr_assert_eq(lines, 41, "40 rows and the rule below the header");
    buf_done(&b);
}

Test(table, csv_quotes_what_rfc_4180_asks_for) {
    static const char *const HEAD[] = {"plain", "two words", "a,b"};
    static const char *const ROW1[] = {"say \"hi\"", "line\nbreak", "cr\rhere"};
    static const char *const ROW2[] = {"", NULL, "\""};
    static const char *const ROW3[] = {"it's", "semi;colon", "tab\t"};
    table *t = table_new(mem, 3);
    table_row(t, HEAD);
    table_row(t, ROW1);
    table_row(t, ROW2);
    table_row(t, ROW3);
    buf b;
    buf_init(&b);
    table_csv(t, &b);
    cr_assert_str_eq(b.s, "plain,two words,\"a,b\"\n"
                          "\"say \"\"hi\"\"\",\"line\nbreak\",\"cr\rhere\"\n"
                          ",,\"\"\"\"\n"
                          "it's,semi;colon,tab\t\n");
    buf_done(&b);
}

Test(table, widest_table) {
    const char *cells[TABLE_COLS_MAX];
    for (size_t i = 0; i < TABLE_COLS_MAX; i++) cells[i] = "c";
    table *t = table_new(mem, TABLE_COLS_MAX);
    table_row(t, cells);
    buf b;
    buf_init(&b);
    table_csv(t, &b);
    cr_assert_eq(b.len, 2 * TABLE_COLS_MAX, "one letter and one separator a column");
    buf_done(&b);
}

Test(table, empty_table_prints_nothing) {
    buf b;
    buf_init(&b);
    table *t = table_new(mem, 2);
    table_markdown(t, &b);
    table_csv(t, &b);
    cr_assert_str_eq(b.s, "");
    buf_done(&b);
}

Test(table, memory_short_gives_null) {
    arena *tiny = arena_new(8);
    cr_assert_null(table_new(tiny, 3));
    arena_free(tiny);
}
