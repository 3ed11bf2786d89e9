/* Tables made to fit a window, and sparklines. Expected texts are written by hand from fit.h. */
#include "fit.h"
#include "spark.h"
#include "table.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static arena *mem;
static buf out;

static void set_up(void) {
    mem = arena_new(64 * 1024 * 1024);
    buf_init(&out);
}

static void tear_down(void) {
    buf_done(&out);
    arena_free(mem);
}

TestSuite(fit, .init = set_up, .fini = tear_down);

static size_t widest_line(const char *s) {
    size_t most = 0;
    while (*s) {
        size_t n = strcspn(s, "\n");
        char *line = arena_printf(mem, "%.*s", (int)n, s);
        size_t w = table_width(line);
        if (w > most) most = w;
        s += n + (s[n] == '\n');
    }
    return most;
}

static const char TABLE[] = "| arm | wall-clock, s | why it is so long       |\n"
                            "|-----|--------------:|-------------------------|\n"
                            "| a   |         11.66 | the prefix is new to it |\n"
                            "| b   |       1234.50 |                         |\n";

Test(fit, what_fits_is_untouched) {
    fit_tables(TABLE, 54, mem, &out);
    cr_assert_str_eq(out.s, TABLE);
}

/* 40 columns leave 40 - 1 - 6 - 16 - 3 = 14 for the text. */
Test(fit, text_and_heads_wrap_and_numbers_do_not) {
    fit_tables(TABLE, 40, mem, &out);
    cr_assert_str_eq(out.s, "| arm | wall-clock, s | why it is so   |\n"
                            "|     |               | long           |\n"
                            "|-----|--------------:|----------------|\n"
                            "| a   |         11.66 | the prefix is  |\n"
                            "|     |               | new to it      |\n"
                            "| b   |       1234.50 |                |\n");
}

Test(fit, too_many_columns_become_several_tables) {
    const char *wide = "| metric | aaaa | bbbb | cccc |\n"
                       "|--------|-----:|-----:|-----:|\n"
                       "| wall   |    1 |    2 |    3 |\n";
    fit_tables(wide, 24, mem, &out);
    cr_assert_str_eq(out.s, "| metric | aaaa | bbbb |\n"
                            "|--------|-----:|-----:|\n"
                            "| wall   |    1 |    2 |\n"
                            "\n"
                            "| metric | cccc |\n"
                            "|--------|-----:|\n"
                            "| wall   |    3 |\n");
}

Test(fit, every_part_has_the_columns_that_name_a_row) {
    const char *wide = "| K | arm | aaaa | bbbb |\n"
                       "|---|-----|-----:|-----:|\n"
                       "| 1 | on  |    1 |    2 |\n"
                       "| 1 | off |    3 |    4 |\n";
    fit_tables(wide, 26, mem, &out);
    cr_assert_str_eq(out.s, wide, "26 columns: as it is");
    buf_reset(&out);
    fit_tables(wide, 20, mem, &out);
    cr_assert_str_eq(out.s, "| K | arm | aaaa |\n"
                            "|---|-----|-----:|\n"
                            "| 1 | on  |    1 |\n"
                            "| 1 | off |    3 |\n"
                            "\n"
                            "| K | arm | bbbb |\n"
                            "|---|-----|-----:|\n"
                            "| 1 | on  |    2 |\n"
                            "| 1 | off |    4 |\n");
}

/* Other lines, what only looks like a table, escaped bars, and UTF-8. */
Test(fit, leaves_the_rest_alone) {
    const char *text = "a line that is much longer than any window of ten columns\n"
                       "| no table |\n\n"
                       "| a | b\n"
                       "|---|---|\n"
                       "end";
    fit_tables(text, 10, mem, &out);
    cr_assert_str_eq(out.s, text);
}

Test(fit, escaped_bars_and_utf8_stay_whole) {
    const char *text = "| größe | b\\|c | note                |\n"
                       "|-------|-----:|---------------------|\n"
                       "| äöü   |  1 † | ein Wort nach einem |\n";
    fit_tables(text, 33, mem, &out);
    cr_assert_str_eq(out.s, "| größe | b\\|c | note           |\n"
                            "|-------|-----:|----------------|\n"
                            "| äöü   |  1 † | ein Wort nach  |\n"
                            "|       |      | einem          |\n");
}

/* Whatever the window: every cell is still there, and nothing is wider where columns can give. */
Test(fit, no_word_is_lost) {
    for (size_t columns = 1; columns < 60; columns++) {
        buf_reset(&out);
        arena_reset(mem);
        fit_tables(TABLE, columns, mem, &out);
        static const char *const WORDS[] = {"arm",    "wall-clock,", "11.66", "1234.50",
                                            "prefix", "new",         "long"};
        for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
            cr_assert(strstr(out.s, WORDS[i]), "%zu columns: %s", columns, WORDS[i]);
        /* the key and the widest other column: 5 + 3 + 11 + 4 and 5 + 3 + 14 + 1 */
        if (columns >= 24) cr_assert_leq(widest_line(out.s), columns, "%zu columns", columns);
    }
}

Test(fit, sparkline_from_lo_to_hi) {
    const double v[] = {0, 7, 3.5, (double)NAN, 14, -1, 100};
    spark(v, 7, 0, 14, &out);
    /* eight blocks, so a step is 2: 0 -> 1st, 7 and 3.5 are halves that round away from zero */
    cr_assert_str_eq(out.s, "▁▅▃ █▁█");
    buf_reset(&out);
    spark(v, 3, 5, 5, &out);
    cr_assert_str_eq(out.s, "▁▁▁", "no range");
}
