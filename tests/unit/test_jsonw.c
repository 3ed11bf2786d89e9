#include "base/jsonw.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state ^ (*state >> 29);
}

static double from_bits(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Digits that count: no leading zeros, no trailing ones, no exponent. */
static int significant_digits(const char *s) {
    int n = 0, zeros = 0;
    for (; *s && *s != 'e'; s++) {
        if (*s < '0' || *s > '9' || (n == 0 && *s == '0')) continue;
        zeros = *s == '0' ? zeros + 1 : 0;
        n++;
    }
    return n - zeros;
}

static bool reads_back(double v, int digits) {
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, v);
    return strtod(text, NULL) == v;
}

static void check_shortest(double v) {
    char text[32];
    jw_format(v, text);
    cr_assert(strtod(text, NULL) == v, "%s is not %a", text, v);
    int n = significant_digits(text);
    cr_assert_leq(n, 17);
    cr_assert(n <= 15 || !reads_back(v, 15), "%s: 15 digits would do", text);
    cr_assert(n <= 16 || !reads_back(v, 16), "%s: 16 digits would do", text);
}

/* Any bit pattern: all magnitudes, subnormals too. */
Test(jsonw, shortest_round_trip_of_a_million_bit_patterns) {
    uint64_t state = 20261130;
    for (int i = 0; i < 1000000; i++) {
        double v = from_bits(next(&state));
        if (isfinite(v)) check_shortest(v);
    }
}

/* The magnitudes that reports hold: seconds, rates and ratios with full mantissas. */
Test(jsonw, shortest_round_trip_of_a_million_everyday_numbers) {
    uint64_t state = 1;
    for (int i = 0; i < 1000000; i++) {
        double frac = (double)(next(&state) >> 11) * 0x1p-53;
        check_shortest(ldexp(frac + 0.5, (int)(next(&state) % 60) - 30));
    }
}

Test(jsonw, format_by_hand) {
    static const struct {
        double v;
        const char *text;
    } CASES[] = {{0, "0"},
                 {48.54, "48.54"},
                 {0.1, "0.1"},
                 {-2.5, "-2.5"},
                 {4096, "4096"},
                 {1e300, "1e+300"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {1.0 / 3, "0.3333333333333333"},
                 {9007199254740992.0, "9007199254740992"}};
    char text[32];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        jw_format(CASES[i].v, text);
        cr_assert_str_eq(text, CASES[i].text);
    }
}

Test(jsonw, infinity_is_a_bug, .signal = SIGABRT) {
    char text[32];
    jw_format(HUGE_VAL, text);
}

Test(jsonw, nan_is_a_bug, .signal = SIGABRT) {
    cJSON *o = cJSON_CreateObject();
    jw_num(o, "x", (double)NAN);
}

static const char *raw_of(const cJSON *obj, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(obj, key)->valuestring;
}

Test(jsonw, nanoseconds_as_seconds) {
    static const struct {
        int64_t ns;
        const char *s;
    } CASES[] = {{0, "0"},
                 {1, "0.000000001"},
                 {10, "0.00000001"},
                 {999999999, "0.999999999"},
                 {1000000000, "1"},
                 {1000000001, "1.000000001"},
                 {10000000000, "10"},
                 {393773500000, "393.7735"},
                 {100500000000, "100.5"},
                 {4611686018427387903, "4611686018.427387903"},
                 {INT64_MAX, "9223372036.854775807"},
                 {-1, "-0.000000001"},
                 {-500000000, "-0.5"},
                 {-10000000000, "-10"},
                 {-378092307692, "-378.092307692"},
                 {-INT64_MAX, "-9223372036.854775807"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        cJSON *o = cJSON_CreateObject();
        jw_ns_as_s(o, "wall_s", CASES[i].ns);
        cr_assert_str_eq(raw_of(o, "wall_s"), CASES[i].s);
        cJSON_Delete(o);
    }
}

/* Exact for every count: the digits give the nanoseconds back. */
Test(jsonw, nanoseconds_survive) {
    uint64_t state = 5;
    for (int i = 0; i < 100000; i++) {
        int64_t ns = (int64_t)(next(&state) >> (1 + next(&state) % 60)), back = 0;
        cJSON *o = cJSON_CreateObject();
        jw_ns_as_s(o, "s", ns);
        const char *s = raw_of(o, "s"), *dot = strchr(s, '.');
        size_t decimals = dot ? strlen(dot + 1) : 0;
        for (const char *p = s; *p; p++)
            if (*p != '.') back = 10 * back + (*p - '0');
        for (size_t d = decimals; d < 9; d++) back *= 10;
        cr_assert_eq(back, ns, "%s", s);
        cr_assert(decimals == 0 || s[strlen(s) - 1] != '0', "%s: trailing zero", s);
        cJSON_Delete(o);
    }
}

Test(jsonw, integers_are_exact) {
    cJSON *o = cJSON_CreateObject();
    jw_int(o, "a", INT64_MAX);
    jw_int(o, "b", INT64_MIN);
    jw_int(o, "c", 9007199254740993);
    cr_assert_str_eq(raw_of(o, "a"), "9223372036854775807");
    cr_assert_str_eq(raw_of(o, "b"), "-9223372036854775808");
    cr_assert_str_eq(raw_of(o, "c"), "9007199254740993");
    cJSON_Delete(o);
}

/* What is printed has to read back as the same tree, member by member. */
Test(jsonw, print_reads_back) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "title", "tab\there, \"quoted\", \xC2\xB1");
    jw_str(root, "left_out", NULL);
    jw_bool(root, "yes", 1);
    jw_num(root, "rate", 0.1 + 0.2);
    cJSON *arms = jw_arr(root, "arms");
    jw_int(jw_item(arms), "n", 7);
    jw_num(jw_obj(jw_item(arms), "sub"), "x", -1.5);
    buf out;
    buf_init(&out);
    jw_print(root, &out);
    cr_assert_eq(out.s[out.len - 1], '\n');
    cr_assert_neq(out.s[out.len - 2], '\n', "one newline at the end");
    cJSON *back = cJSON_Parse(out.s);
    cr_assert_not_null(back, "%s", out.s);
    cr_assert_str_eq(raw_of(back, "title"), "tab\there, \"quoted\", \xC2\xB1");
    cr_assert_null(cJSON_GetObjectItemCaseSensitive(back, "left_out"));
    cr_assert(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(back, "yes")));
    cr_assert(cJSON_GetObjectItemCaseSensitive(back, "rate")->valuedouble == 0.1 + 0.2);
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(back, "arms");
    cr_assert_eq(cJSON_GetArraySize(items), 2);
    const cJSON *sub = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(items, 1), "sub");
    cr_assert(cJSON_GetObjectItemCaseSensitive(sub, "x")->valuedouble == -1.5);
    cJSON_Delete(back);
    cJSON_Delete(root);
    buf_done(&out);
}
