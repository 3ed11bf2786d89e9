#include "base/buf.h"

#include <criterion/criterion.h>
#include <string.h>

/* The invariant of buf.h. */
static void check(const buf *b) {
    cr_assert_not_null(b->s);
    cr_assert_lt(b->len, b->cap);
    cr_assert_eq(b->s[b->len], '\0');
}

Test(buf, starts_as_an_empty_string) {
    buf b;
    buf_init(&b);
    check(&b);
    cr_assert_str_eq(b.s, "");
    buf_done(&b);
}

Test(buf, adds_in_order) {
    buf b;
    buf_init(&b);
    buf_add(&b, "K=");
    buf_addf(&b, "%d, %s", 4, "H");
    buf_add_n(&b, "=20xxxx", 3);
    buf_fill(&b, '-', 4);
    buf_add(&b, "");
    buf_fill(&b, '-', 0);
    check(&b);
    cr_assert_str_eq(b.s, "K=4, H=20----");
    buf_reset(&b);
    check(&b);
    cr_assert_eq(b.len, 0);
    buf_add(&b, "again");
    cr_assert_str_eq(b.s, "again");
    buf_done(&b);
}

/* One byte at a time across every growth, by each way of adding. */
Test(buf, invariant_holds_across_growth) {
    enum { N = 20000 };
    static char want[N + 1];
    buf b;
    buf_init(&b);
    for (size_t i = 0; i < N; i++) {
        char c = (char)('a' + i % 26);
        want[i] = c;
        if (i % 3 == 0)
            buf_add_n(&b, &c, 1);
        else if (i % 3 == 1)
            buf_addf(&b, "%c", c);
        else
            buf_fill(&b, c, 1);
        check(&b);
        cr_assert_eq(b.len, i + 1);
    }
    cr_assert_str_eq(b.s, want);
    buf_done(&b);
}

/* Pieces of every length around the capacities, where one byte too few would be reserved. */
Test(buf, pieces_of_any_length) {
    static char piece[2050];
    memset(piece, 'p', sizeof piece - 1);
    for (size_t n = 0; n < sizeof piece; n++) {
        buf b;
        buf_init(&b);
        buf_add_n(&b, piece, n);
        check(&b);
        buf_addf(&b, "%.*s", (int)n, piece);
        check(&b);
        cr_assert_eq(b.len, 2 * n);
        cr_assert_eq(strspn(b.s, "p"), 2 * n);
        buf_done(&b);
    }
}
