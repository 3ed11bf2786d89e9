#include "score.h"

#include "interval.h"

#include "base/stat.h"

#include <math.h>
#include <string.h>

enum { SCRATCH_MIB = 512 };
static const double REPEATS_DIFFER_FRAC = 0.20;

/* ---- statistics ---- */

static error_stats stats_of(double *errors, size_t n) {
    error_stats s = {.n = n};
    if (n == 0) return s;
    for (size_t i = 0; i < n; i++) {
        s.bias_frac += errors[i] / (double)n;
        errors[i] = fabs(errors[i]);
        s.mean_abs_frac += errors[i] / (double)n;
    }
    s.median_abs_frac = stat_median_f64(errors, n); /* sorts */
    s.p90_abs_frac = errors[stat_rank(n, 900000)];
    s.max_abs_frac = errors[n - 1];
    return s;
}

typedef double pick_fn(const score_run *r); /* the error; NaN: not known */

static double ratio(double model, double seen) {
    return model > 0 && seen > 0 ? model / seen - 1 : (double)NAN;
}

static bool interference(const score_run *r) {
    return r->r->run->N > 0;
}

static double wall_error(const score_run *r) {
    return interference(r) ? (double)NAN : ratio(r->wall_s, r->seen_wall_s);
}

static double card_only_error(const score_run *r) {
    return interference(r) ? (double)NAN : ratio(r->card_only_wall_s, r->seen_wall_s);
}

static double split_error(const score_run *r) {
    return r->r->run->layout == KV_LAYOUT_SPLIT ? wall_error(r) : (double)NAN;
}

static double unified_error(const score_run *r) {
    return r->r->run->layout == KV_LAYOUT_UNIFIED ? wall_error(r) : (double)NAN;
}

static double warm50_error(const score_run *r) {
    return ratio(r->warm.p50_s, r->seen_warm_p50_s);
}

static double warm95_error(const score_run *r) {
    return ratio(r->warm.p95_s, r->seen_warm_p95_s);
}

static double cold50_error(const score_run *r) {
    return ratio(r->cold.p50_s, r->seen_cold_p50_s);
}

static double memory_error(const score_run *r) {
    return ratio(r->memory_bytes, r->seen_memory_bytes);
}

static double gap_error(const score_run *r) {
    return interference(r) ? ratio(r->itl_p99_s, r->r->seen.itl_p99_s) : (double)NAN;
}

static error_stats collect(const score_run *runs, size_t n, pick_fn *pick, double *v) {
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        double x = pick(&runs[i]);
        if (!isnan(x)) v[m++] = x;
    }
    return stats_of(v, m);
}

/* ---- one run ---- */

static err_code project(const replay *r, score_run *out, err *e) {
    arena *scratch = arena_new((size_t)SCRATCH_MIB << 20);
    sim_result sim;
    metrics m;
    if (!scratch) return err_set(e, E_NOMEM, r->run->id, "out of memory");
    *out = (score_run){.r = r};
    if (replay_run(r, NULL, scratch, &sim, &m, e) == OK)
        out->card_only_wall_s = (double)sim.wall_ns / 1e9;
    const host_terms *host = &r->card->fitted_host;
    if (replay_run(r, host, scratch, &sim, &m, e) == OK) {
        wall_interval wall = {0};
        (void)interval_of(r->arm, r->work, r->cost, &sim, &wall, e);
        out->wall_s = (double)sim.wall_ns / 1e9;
        out->lo_s = (double)wall.lo_ns / 1e9;
        out->hi_s = (double)wall.hi_ns / 1e9;
        out->with_host = wall.with_host;
        out->cold = (witness_summary){m.ttft_cold.n, (double)m.ttft_cold.p50_ns / 1e9,
                                      (double)m.ttft_cold.p95_ns / 1e9};
        out->warm = (witness_summary){m.ttft_warm.n, (double)m.ttft_warm.p50_ns / 1e9,
                                      (double)m.ttft_warm.p95_ns / 1e9};
        out->itl_p50_s = (double)m.itl.p50_ns / 1e9;
        out->itl_p99_s = (double)m.itl.p99_ns / 1e9;
        out->memory_bytes = (double)m.memory.peak_bytes;
    }
    out->seen_wall_s = r->seen.wall_s;
    out->seen_warm_p50_s = r->seen.warm.p50_s;
    out->seen_warm_p95_s = r->seen.warm.p95_s;
    out->seen_cold_p50_s = r->seen.cold.p50_s;
    if (r->run->mem_peak_bytes > 0)
        out->seen_memory_bytes = r->run->mem_peak_bytes - r->run->mem_before_bytes;
    arena_free(scratch);
    return e->code;
}

/* ---- repeats ---- */

static void median_of(const double *v, size_t n, double *out, bool *used) {
    double sorted[64], lo, hi;
    size_t m = 0;
    for (size_t i = 0; i < n && m < 64; i++)
        if (v[i] > 0) sorted[m++] = v[i];
    if (m < 2) return;
    double median = stat_median_f64(sorted, m); /* sorts */
    lo = sorted[0];
    hi = sorted[m - 1];
    if ((hi - lo) / lo <= REPEATS_DIFFER_FRAC) return;
    *out = median;
    *used = true;
}

/* Where repeats differ by more than 20 % nobody can do better than their median. */
static void use_medians(score_run *runs, size_t n, score_run *r) {
    double wall[64] = {0}, p50[64] = {0}, p95[64] = {0}, cold[64] = {0};
    size_t m = 0;
    for (size_t i = 0; i < n && m < 64; i++) {
        if (!replay_siblings(runs[i].r->run, r->r->run)) continue;
        wall[m] = runs[i].r->seen.wall_s;
        p50[m] = runs[i].r->seen.warm.p50_s;
        p95[m] = runs[i].r->seen.warm.p95_s;
        cold[m++] = runs[i].r->seen.cold.p50_s;
    }
    double lo = r->seen_wall_s, hi = lo;
    for (size_t i = 0; i < m; i++) {
        lo = fmin(lo, wall[i]);
        hi = fmax(hi, wall[i]);
    }
    if (m > 1 && lo > 0) r->repeat_spread_frac = (hi - lo) / lo;
    median_of(wall, m, &r->seen_wall_s, &r->against_median);
    median_of(p50, m, &r->seen_warm_p50_s, &r->against_median);
    median_of(p95, m, &r->seen_warm_p95_s, &r->against_median);
    median_of(cold, m, &r->seen_cold_p50_s, &r->against_median);
}

/* The floor: each run predicted by the next one of its kind. */
static error_stats floor_of(const score_run *runs, size_t n, double *v) {
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            if (replay_siblings(runs[i].r->run, runs[j].r->run)) {
                v[m++] = ratio(runs[i].r->seen.wall_s, runs[j].r->seen.wall_s);
                break;
            }
    return stats_of(v, m);
}

static void intervals(score *s, double *v) {
    size_t inside = 0, n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const score_run *r = &s->runs[i];
        if (interference(r)) continue;
        inside += r->lo_s <= r->r->seen.wall_s && r->r->seen.wall_s <= r->hi_s;
        v[n++] = (r->hi_s - r->lo_s) / 2 / r->wall_s;
    }
    if (n == 0) return;
    s->covered_frac = (double)inside / (double)n;
    s->median_half_width_frac = stat_median_f64(v, n);
}

err_code score_runs(replay *all, size_t n, score_use use, arena *mem, score *out, err *e) {
    score_run *runs = ARENA_ARRAY(mem, score_run, n);
    double *v = ARENA_ARRAY(mem, double, n + 1);
    size_t m = 0;
    if (!runs || !v) return err_set(e, E_LIMIT, "validate", "does not fit the memory budget");
    for (size_t i = 0; i < n; i++) {
        bool wanted =
            use == SCORE_ALL || (use == SCORE_CALIBRATE) == (all[i].run->use == USE_CALIBRATE);
        if (all[i].excluded || !wanted) continue;
        if (project(&all[i], &runs[m], e) == OK)
            m++;
        else if (e->code == E_LIMIT || e->code == E_REFUSED) { /* this run's fault alone */
            all[i].excluded = arena_printf(mem, "cannot be projected: %s", e->what);
            *e = (err){0};
        } else {
            return e->code;
        }
    }
    for (size_t i = 0; i < m; i++) use_medians(runs, m, &runs[i]);
    *out = (score){.runs = runs, .n = m, .all = all, .all_n = n};
    out->wall = collect(runs, m, wall_error, v);
    out->wall_card_only = collect(runs, m, card_only_error, v);
    out->wall_split = collect(runs, m, split_error, v);
    out->wall_unified = collect(runs, m, unified_error, v);
    out->warm_p50 = collect(runs, m, warm50_error, v);
    out->warm_p95 = collect(runs, m, warm95_error, v);
    out->cold_p50 = collect(runs, m, cold50_error, v);
    out->memory = collect(runs, m, memory_error, v);
    out->gap_p99 = collect(runs, m, gap_error, v);
    out->floor_wall = floor_of(runs, m, v);
    intervals(out, v);
    return OK;
}

error_stats score_wall_of_arm(const score *s, const char *name, arena *scratch) {
    double *v = ARENA_ARRAY(scratch, double, s->n + 1);
    size_t m = 0;
    for (size_t i = 0; v && i < s->n; i++) {
        double x = wall_error(&s->runs[i]);
        if (strcmp(s->runs[i].r->run->arm, name) == 0 && !isnan(x)) v[m++] = x;
    }
    return v ? stats_of(v, m) : (error_stats){0};
}
