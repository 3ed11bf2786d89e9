#include "base/stat.h"

#include <assert.h>
#include <stdlib.h>

size_t stat_rank(size_t n, uint32_t p_ppm) {
    assert(n > 0 && p_ppm > 0 && p_ppm <= 1000000);
    size_t whole = n / 1000000, rest = n % 1000000; /* keeps the product inside 64 bits */
    size_t ceil_pn = whole * p_ppm + (rest * p_ppm + 999999) / 1000000;
    return ceil_pn - 1;
}

static int cmp_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int cmp_f64(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void stat_sort_i64(int64_t *v, size_t n) {
    if (n > 1) qsort(v, n, sizeof *v, cmp_i64);
}

void stat_sort_f64(double *v, size_t n) {
    if (n > 1) qsort(v, n, sizeof *v, cmp_f64);
}

double stat_median_f64(double *v, size_t n) {
    stat_sort_f64(v, n);
    double upper = v[n / 2], lower = v[(n - 1) / 2];
    return lower == upper ? lower : lower + (upper - lower) / 2; /* their sum could overflow */
}
