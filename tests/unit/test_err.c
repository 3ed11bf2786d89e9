#include "base/err.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(err, sets_code_place_and_formatted_text) {
    err e = {0};
    cr_assert_eq(err_set(&e, E_RANGE, "a.json#/x", "must be > %d, is %d", 0, -3), E_RANGE);
    cr_assert_eq(e.code, E_RANGE);
    cr_assert_str_eq(e.where, "a.json#/x");
    cr_assert_str_eq(e.what, "must be > 0, is -3");
}

Test(err, first_error_wins) {
    err e = {0};
    err_set(&e, E_IO, "first", "one");
    cr_assert_eq(err_set(&e, E_USAGE, "second", "two"), E_IO, "the code that e holds is returned");
    cr_assert_eq(e.code, E_IO);
    cr_assert_str_eq(e.where, "first");
    cr_assert_str_eq(e.what, "one");
}

Test(err, place_may_be_null) {
    err e = {0};
    err_set(&e, E_USAGE, NULL, "text");
    cr_assert_str_eq(e.where, "");
}

/* The end of a pointer says most, the start names the file: both have to survive a cut. */
Test(err, long_place_is_cut_in_the_middle) {
    char where[1000];
    memset(where, 'm', sizeof where);
    memcpy(where, "head.json#", 10);
    memcpy(where + 990, "/slots_n", 9);
    err e = {0};
    err_set(&e, E_SCHEMA, where, "x");
    size_t len = strlen(e.where);
    cr_assert_eq(len, sizeof e.where - 1);
    cr_assert_eq(strncmp(e.where, "head.json#", 10), 0);
    cr_assert_str_eq(e.where + len - 8, "/slots_n");
    cr_assert_not_null(strstr(e.where, "..."));
}

/* Around the capacity, where an off-by-one would show: up to 255 bytes nothing is cut. */
Test(err, place_that_just_fits_is_whole) {
    for (size_t n = 250; n < 262; n++) {
        char where[300] = {0};
        memset(where, 'w', n);
        where[n - 1] = 'z';
        err e = {0};
        err_set(&e, E_SCHEMA, where, "x");
        bool whole = n <= sizeof e.where - 1;
        cr_assert_eq(strcmp(e.where, where) == 0, whole, "length %zu", n);
        cr_assert_eq(e.where[strlen(e.where) - 1], 'z', "length %zu keeps its end", n);
    }
}

Test(err, long_text_stays_inside_the_struct) {
    char text[2000];
    memset(text, 't', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    err e = {0};
    err_set(&e, E_SCHEMA, "here", "%s", text);
    cr_assert_eq(strlen(e.what), sizeof e.what - 1);
    cr_assert_str_eq(e.where, "here");
}

/* 0 fine, 2 usage, bad or refused input, 4 an external program failed, 70 not the input's fault. */
Test(err, exit_codes) {
    static const struct {
        err_code code;
        int status;
    } CASES[] = {{OK, 0},        {E_IO, 2},    {E_SYNTAX, 2}, {E_SCHEMA, 2}, {E_RANGE, 2},
                 {E_REFUSED, 2}, {E_LIMIT, 2}, {E_USAGE, 2},  {E_EXTERN, 4}, {E_NOMEM, 70}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        cr_assert_eq(err_exit_code(CASES[i].code), CASES[i].status, "code %d", (int)CASES[i].code);
}
