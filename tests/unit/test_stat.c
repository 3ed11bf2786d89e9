#include "base/stat.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>

/* Nearest rank by its definition: the first of the sorted values that at least p of all values do
 * not exceed. i + 1 of n distinct values are <= sorted[i]; integers only. */
static size_t rank_by_counting(uint64_t n, uint64_t p_ppm) {
    uint64_t i = 0;
    while ((i + 1) * 1000000 < p_ppm * n) i++;
    return (size_t)i;
}

Test(stat, rank_equals_counting) {
    static const uint32_t PPM[] = {1,      2,      10000,  333333, 333334, 499999, 500000, 500001,
                                   900000, 949999, 950000, 950001, 990000, 999000, 999999, 1000000};
    for (uint64_t n = 1; n <= 2100; n++)
        for (size_t i = 0; i < sizeof PPM / sizeof *PPM; i++)
            cr_assert_eq(stat_rank(n, PPM[i]), rank_by_counting(n, PPM[i]), "n %zu p %u", (size_t)n,
                         PPM[i]);
}

Test(stat, rank_by_hand) {
    cr_assert_eq(stat_rank(20, 950000), 18, "p95 of 20 is the 19th value, not the 20th");
    cr_assert_eq(stat_rank(1, 1), 0);
    cr_assert_eq(stat_rank(1, 1000000), 0);
    cr_assert_eq(stat_rank(2, 500000), 0, "nearest rank takes the lower of two");
    cr_assert_eq(stat_rank(3, 500000), 1);
    cr_assert_eq(stat_rank(100, 990000), 98);
    cr_assert_eq(stat_rank(101, 990000), 99);
    cr_assert_eq(stat_rank(80, 950000), 75);
}

/* Here p x n in 64 bits is still exact for the definition, but a 32-bit or a double product is not.
 */
Test(stat, rank_of_many) {
    static const uint64_t N[] = {999999,     1000000,       1000001,
                                 4294967296, 1000000000001, 9007199254740993 / 1000};
    static const uint32_t PPM[] = {1, 500000, 950000, 990001, 999999, 1000000};
    for (size_t i = 0; i < sizeof N / sizeof *N; i++)
        for (size_t j = 0; j < sizeof PPM / sizeof *PPM; j++) {
            uint64_t r = stat_rank((size_t)N[i], PPM[j]), need = N[i] * PPM[j];
            cr_assert_geq((r + 1) * 1000000, need, "enough values at or below");
            cr_assert(r == 0 || r * 1000000 < need, "one less would not be enough");
        }
}

Test(stat, rank_of_nothing_is_a_bug, .signal = SIGABRT) {
    stat_rank(0, 500000);
}

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 16;
}

/* Wraps around on purpose: equal for equal values in any order. */
static uint64_t checksum(const int64_t *v, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += (uint64_t)v[i] * ((uint64_t)v[i] + 3);
    return sum;
}

Test(stat, sorts_integers) {
    enum { N = 5000 };
    static int64_t v[N];
    uint64_t state = 7;
    for (size_t i = 0; i < N; i++) v[i] = (int64_t)(next(&state) % 1000) - 500;
    v[17] = INT64_MIN; /* a comparison by subtraction would overflow here */
    v[99] = INT64_MAX;
    uint64_t before = checksum(v, N);
    stat_sort_i64(v, N);
    cr_assert_eq(v[0], INT64_MIN);
    cr_assert_eq(v[N - 1], INT64_MAX);
    for (size_t i = 1; i < N; i++) cr_assert_leq(v[i - 1], v[i]);
    cr_assert_eq(checksum(v, N), before, "the same values");
    stat_sort_i64(v, 0);
    stat_sort_i64(NULL, 0);
}

Test(stat, median_is_the_ordinary_one) {
    double odd[] = {3, 1, 2}, even[] = {10, 2.5, 1, 4.5}, pair[] = {1, 1.5}, one[] = {7};
    double large[] = {1e308, 1.5e308}, low[] = {-4, -1};
    cr_expect(stat_median_f64(odd, 3) == 2);
    cr_expect(stat_median_f64(even, 4) == 3.5, "halfway between 2.5 and 4.5");
    cr_expect(even[0] == 1 && even[3] == 10, "left sorted");
    cr_expect(stat_median_f64(pair, 2) == 1.25);
    cr_expect(stat_median_f64(one, 1) == 7);
    cr_expect(stat_median_f64(low, 2) == -2.5);
    cr_expect_float_eq(stat_median_f64(large, 2), 1.25e308, 1e294, "no sum that overflows");
}

Test(stat, sorts_doubles) {
    double v[] = {3e-9, -1, 1e300, 0, 2.5, 2.5, -1e300, 1e-300};
    static const double WANT[] = {-1e300, -1, 0, 1e-300, 3e-9, 2.5, 2.5, 1e300};
    stat_sort_f64(v, sizeof v / sizeof *v);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        cr_assert(v[i] == WANT[i], "at %zu: %g", i, v[i]);
    stat_sort_f64(NULL, 0);
}
