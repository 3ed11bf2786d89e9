/* Percentiles as the project reports them: nearest rank, sorted[ceil(p*n) - 1], the rank computed
 * in integers (0.95 * 20 in floating point can come out above 19 and be off by one). The median of
 * a sample is the ordinary one: of an even number of values the nearest rank is the lower of the
 * middle two, which flatters errors. TTFT and token gaps, p50 included, go by rank. */
#ifndef RATECAST_STAT_H
#define RATECAST_STAT_H

#include <stddef.h>
#include <stdint.h>

/* 0-based index of the p-th percentile among n > 0 sorted values; p in parts per million, 0 < p <=
 * 1e6. */
size_t stat_rank(size_t n, uint32_t p_ppm);
void stat_sort_i64(int64_t *v, size_t n);
void stat_sort_f64(double *v, size_t n);
/* Of n > 0 finite values, which are left sorted; halfway between the middle two when n is even. */
double stat_median_f64(double *v, size_t n);

#endif
