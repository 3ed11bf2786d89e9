#include "measure.h"

#include "base/stat.h"

#include <math.h>
#include <string.h>

static const double AGREE_FRAC = 0.02;
enum { DISPATCHES_MAX = 8192, P10_PPM = 100000, P90_PPM = 900000 };

double measure_spread(const measurement *m) {
    return m->p90_s / m->p10_s;
}

bool measure_agree(const double medians[3]) {
    double lo = fmin(medians[0], fmin(medians[1], medians[2]));
    double hi = fmax(medians[0], fmax(medians[1], medians[2]));
    return hi <= lo * (1 + AGREE_FRAC);
}

err_code measure_summarise(const double *samples, size_t n, arena *mem, measurement *out, err *e) {
    double *sorted = ARENA_ARRAY(mem, double, n);
    if (!sorted) return err_set(e, E_LIMIT, "probe", "does not fit the memory budget");
    memcpy(sorted, samples, n * sizeof *sorted);
    out->median_s = stat_median_f64(sorted, n); /* sorts */
    out->p10_s = sorted[stat_rank(n, P10_PPM)];
    out->p90_s = sorted[stat_rank(n, P90_PPM)];
    return OK;
}

/* One run of the whole list, per item. */
typedef struct sampler {
    gpu *g;
    const gpu_dispatch *d;
    size_t n;
    double items_n;
} sampler;

static double best_clock(const gpu_time *t) {
    return isnan(t->gpu_s) ? t->wall_s : t->gpu_s;
}

static err_code sample(const sampler *s, gpu_time *out, err *e) {
    if (gpu_run(s->g, s->d, s->n, out, e)) return e->code;
    if (!(best_clock(out) > 0))
        return err_set(e, E_EXTERN, "probe",
                       "the device says that it took %g s: its clock cannot be used",
                       best_clock(out));
    out->gpu_s /= s->items_n;
    out->wall_s /= s->items_n;
    return OK;
}

/* Puts the list several times behind itself where one run is too short for the clock. */
static err_code lengthen(sampler *s, double run_s, const measure_options *o, arena *mem,
                         measurement *out, err *e) {
    double wanted = ceil(o->sample_min_s / run_s), most = floor(DISPATCHES_MAX / (double)s->n);
    double repeats = fmax(1, fmin(wanted, most));
    out->repeats_n = (int64_t)repeats;
    if (out->repeats_n == 1) return OK;
    gpu_dispatch *all = ARENA_ARRAY(mem, gpu_dispatch, s->n * (size_t)out->repeats_n);
    if (!all) return err_set(e, E_LIMIT, "probe", "does not fit the memory budget");
    for (size_t i = 0; i < (size_t)out->repeats_n; i++)
        memcpy(all + i * s->n, s->d, s->n * sizeof *all);
    s->d = all;
    s->n *= (size_t)out->repeats_n;
    s->items_n *= repeats;
    return OK;
}

static err_code settle(const sampler *s, const measure_options *o, measurement *out, err *e) {
    double medians[3] = {0}, spent_s = 0;
    for (int round = 0; !out->settled && (round < 1 || spent_s < o->settle_limit_s); round++) {
        double times[MEASURE_ROUND_N];
        for (int i = 0; i < MEASURE_ROUND_N; i++) {
            gpu_time t;
            if (sample(s, &t, e)) return e->code;
            times[i] = best_clock(&t);
            spent_s += t.wall_s * s->items_n;
        }
        memmove(medians, medians + 1, 2 * sizeof *medians);
        medians[2] = stat_median_f64(times, MEASURE_ROUND_N);
        out->settled = round >= 2 && measure_agree(medians);
    }
    return OK;
}

err_code measure(gpu *g, const gpu_dispatch *d, size_t n, int64_t items_n, const measure_options *o,
                 arena *mem, measurement *out, err *e) {
    sampler s = {.g = g, .d = d, .n = n, .items_n = (double)items_n};
    double *gpu_s = ARENA_ARRAY(mem, double, o->samples_n);
    double *wall_s = ARENA_ARRAY(mem, double, o->samples_n);
    measurement wall = {0};
    gpu_time t = {0};
    *out = (measurement){.gpu_s = gpu_s, .wall_s = wall_s, .samples_n = o->samples_n};
    if (!gpu_s || !wall_s) return err_set(e, E_LIMIT, "probe", "does not fit the memory budget");
    if (sample(&s, &t, e) || lengthen(&s, best_clock(&t) * (double)items_n, o, mem, out, e) ||
        settle(&s, o, out, e))
        return e->code;
    out->gpu_clock = !isnan(t.gpu_s);
    for (size_t i = 0; i < o->samples_n; i++) {
        if (sample(&s, &t, e)) return e->code;
        gpu_s[i] = best_clock(&t);
        wall_s[i] = t.wall_s;
    }
    if (measure_summarise(gpu_s, o->samples_n, mem, out, e) ||
        measure_summarise(wall_s, o->samples_n, mem, &wall, e))
        return e->code;
    out->wall_median_s = wall.median_s;
    return OK;
}
