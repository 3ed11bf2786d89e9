/* Numbers as text: by the rules of number.h, written out. */
#include "number.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

typedef struct pair {
    const char *in, *out;
} pair;

static const pair GROUPED[] = {
    {"0", "0"},
    {"7", "7"},
    {"99", "99"},
    {"999", "999"},
    {"1000", "1,000"},
    {"9999", "9,999"},
    {"12345", "12,345"},
    {"999999", "999,999"},
    {"1000000", "1,000,000"},
    {"9223372036854775807", "9,223,372,036,854,775,807"},
    {"-0", "-0"},
    {"-1", "-1"},
    {"-12", "-12"},
    {"-999", "-999"},
    {"-1000", "-1,000"},
    {"-123456", "-123,456"},
    {"-1234567", "-1,234,567"},
    {"0.1234", "0.1234"},
    {"999.9999", "999.9999"},
    {"1000.5", "1,000.5"},
    {"126030.8", "126,030.8"},
    {"-126030.8", "-126,030.8"},
    {"1234567.1234567", "1,234,567.1234567"},
    {"", ""},
    {"-", "-"},
    {".5", ".5"},
    {"x1000", "x1000"},
    {"4,096", "4,096"}, /* grouped already */
    {"1000 s", "1,000 s"},
};

ParameterizedTestParameters(number, grouped) {
    static size_t index[sizeof GROUPED / sizeof *GROUPED];
    for (size_t i = 0; i < sizeof GROUPED / sizeof *GROUPED; i++) index[i] = i;
    return cr_make_param_array(size_t, index, sizeof GROUPED / sizeof *GROUPED);
}

ParameterizedTest(const size_t *index, number, grouped) {
    arena *mem = arena_new(1 << 16);
    const pair *p = &GROUPED[*index];
    const char *got = number_grouped(mem, p->in);
    cr_expect_str_eq(got, p->out, "%s gives %s", p->in, got);
    arena_free(mem);
}

Test(number, counts) {
    arena *mem = arena_new(1 << 16);
    static const struct {
        int64_t v;
        const char *text;
    } CASES[] = {{0, "0"},
                 {999, "999"},
                 {1000, "1,000"},
                 {469504, "469,504"},
                 {-1000, "-1,000"},
                 {-999, "-999"},
                 {INT64_MAX, "9,223,372,036,854,775,807"},
                 {INT64_MIN, "-9,223,372,036,854,775,808"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        cr_expect_str_eq(number_count(mem, CASES[i].v), CASES[i].text);
    arena_free(mem);
}

/* One decimal from 100 s on, two from 1 s on, four below; a plain 0. */
Test(number, seconds) {
    arena *mem = arena_new(1 << 16);
    static const struct {
        double v;
        const char *text;
    } CASES[] = {{0, "0"},          {393.76, "393.8"},   {100, "100.0"},
                 {99.99, "99.99"},  {1, "1.00"},         {13.456, "13.46"},
                 {0.913, "0.9130"}, {0.00004, "0.0000"}, {0.9999, "0.9999"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        cr_expect_str_eq(number_seconds(mem, CASES[i].v), CASES[i].text);
    arena_free(mem);
}

/* 64 x 1,048,576 bytes; half a MiB. */
Test(number, mib) {
    arena *mem = arena_new(1 << 16);
    cr_expect_str_eq(number_mib(mem, 67108864), "64.0");
    cr_expect_str_eq(number_mib(mem, 524288), "0.5");
    cr_expect_str_eq(number_mib(mem, 0), "0.0");
    arena_free(mem);
}
