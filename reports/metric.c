#include "metric.h"

#include "closed_form.h"

#include <string.h>

static double s_of(int64_t ns) {
    return (double)ns / 1e9;
}

static bool pct(const percentiles *p, int64_t ns, double *out) {
    *out = s_of(ns);
    return p->n > 0;
}

/* The published TTFT formula, evaluated from the constants that the scenario declares. */
static bool claimed_ttft(const projection *p, const arm_result *r, bool p95, double *out) {
    arena *scratch = arena_new((size_t)256 << 20);
    percentiles q;
    bool ok = scratch && closed_form_ttft(r->arm, &p->scenario->work, r->cost, scratch, &q);
    if (ok) *out = s_of(p95 ? q.p95_ns : q.p50_ns);
    arena_free(scratch);
    return ok;
}

typedef bool get_fn(const projection *p, const arm_result *r, double *out);

#define METRIC(fn, expr)                                                                           \
    static bool fn(const projection *p, const arm_result *r, double *out) {                        \
        (void)p;                                                                                   \
        return (expr);                                                                             \
    }
#define VALUE(fn, value) METRIC(fn, (*out = (double)(value), true))

VALUE(get_wall, s_of(r->sim.wall_ns))
VALUE(get_prefill, s_of(r->sim.prefill_ns))
VALUE(get_decode, s_of(r->sim.decode_ns))
VALUE(get_other, s_of(r->sim.other_ns))
VALUE(get_idle, s_of(r->sim.idle_ns))
VALUE(get_rate, r->m.effective_tok_s)
METRIC(get_cold50, pct(&r->m.ttft_cold, r->m.ttft_cold.p50_ns, out))
METRIC(get_cold95, pct(&r->m.ttft_cold, r->m.ttft_cold.p95_ns, out))
METRIC(get_warm50, pct(&r->m.ttft_warm, r->m.ttft_warm.p50_ns, out))
METRIC(get_warm95, pct(&r->m.ttft_warm, r->m.ttft_warm.p95_ns, out))
METRIC(get_all50, pct(&r->m.ttft_all, r->m.ttft_all.p50_ns, out))
METRIC(get_all95, pct(&r->m.ttft_all, r->m.ttft_all.p95_ns, out))
METRIC(get_wait50, pct(&r->m.queue_wait, r->m.queue_wait.p50_ns, out))
METRIC(get_wait95, pct(&r->m.queue_wait, r->m.queue_wait.p95_ns, out))
METRIC(get_itl50, pct(&r->m.itl, r->m.itl.p50_ns, out))
METRIC(get_itl99, pct(&r->m.itl, r->m.itl.p99_ns, out))
METRIC(get_wall_lo, (*out = s_of(r->wall.lo_ns), r->wall.known))
METRIC(get_wall_hi, (*out = s_of(r->wall.hi_ns), r->wall.known))
METRIC(get_claim50, claimed_ttft(p, r, false, out))
METRIC(get_claim95, claimed_ttft(p, r, true, out))
VALUE(get_evals, r->sim.prefix_evals)
VALUE(get_presented, r->sim.presented_tok)
VALUE(get_reused, r->sim.reused_tok)
VALUE(get_cross, r->sim.reused_cross_tok)
VALUE(get_computed, r->sim.computed_tok)
VALUE(get_output, r->sim.output_tok)
METRIC(get_reused_frac,
       (*out = (double)r->sim.reused_tok / (double)r->sim.presented_tok, r->sim.presented_tok > 0))
METRIC(get_cross_frac, (*out = (double)r->sim.reused_cross_tok / (double)r->sim.presented_tok,
                        r->sim.presented_tok > 0))
VALUE(get_peak, r->m.memory.peak_bytes)
VALUE(get_weights, r->m.memory.weights_bytes)
VALUE(get_kv, r->m.memory.kv_resident_bytes)
VALUE(get_reserved, r->m.memory.kv_reserved_bytes)
VALUE(get_overhead, r->m.memory.overhead_bytes)
VALUE(get_recurrent, r->m.memory.recurrent_bytes)
VALUE(get_kv_tok, cost_memory(r->cost).kv_bytes_per_tok)
VALUE(get_prefix_kv, cost_memory(r->cost).kv_bytes_per_tok * p->scenario->work.P)
VALUE(get_per_gib, r->m.agents_per_gib)
METRIC(get_per_gb, (*out = (double)p->scenario->work.K / ((double)r->m.memory.peak_bytes / 1e9),
                    r->m.memory.peak_bytes > 0))
METRIC(get_largest, (*out = (double)r->k_in_budget, r->k_in_budget >= 0))
METRIC(get_floor, (*out = cost_bandwidth_floor_s(r->cost), *out > 0))
METRIC(get_ceiling,
       (*out = cost_bandwidth_floor_s(r->cost), *out = *out > 0 ? 1 / *out : 0, *out > 0))
VALUE(get_decode_used,
      (double)p->scenario->work.K / s_of(cost_decode(r->cost, p->scenario->work.K).fixed_ns))
/* tokens that decode steps produced (an engine's first token of a turn comes from its prefill) over
 * their time */
METRIC(get_decode_mean,
       (*out = (double)(r->sim.output_tok - (r->arm->reuse_last_token ? 0 : r->sim.turns_n)) /
               s_of(r->sim.decode_ns),
        r->sim.decode_ns > 0))
VALUE(get_prefix_tok, p->scenario->work.P * r->sim.prefix_evals)

/* Declared seconds a turn, summed over the session: the slot penalty of the legacy model. */
static bool get_turn_constants(const projection *p, const arm_result *r, double *out) {
    (void)p;
    *out = 0;
    for (size_t i = 0; i < r->arm->assume_n; i++)
        if (r->arm->assume[i].what == TERM_CONSTANT_S && r->arm->assume[i].per == PER_TURN)
            *out += s_of(cost_constant_of_ns(r->cost, &r->arm->assume[i]));
    return true;
}

typedef enum metric_source {
    FROM_TIME,
    FROM_TOKENS,
    FROM_MEMORY,
    FROM_CLAIM,
    FROM_DATASHEET
} metric_source;

static const struct {
    const char *name;
    get_fn *get;
    metric_source from;
} METRICS[] = {
    {"wall_s", get_wall, FROM_TIME},
    {"wall_lo_s", get_wall_lo, FROM_TIME},
    {"wall_hi_s", get_wall_hi, FROM_TIME},
    {"prefill_s", get_prefill, FROM_TIME},
    {"decode_s", get_decode, FROM_TIME},
    {"other_s", get_other, FROM_TIME},
    {"idle_s", get_idle, FROM_TIME},
    {"effective_tok_s", get_rate, FROM_TIME},
    {"ttft_cold_p50_s", get_cold50, FROM_TIME},
    {"ttft_cold_p95_s", get_cold95, FROM_TIME},
    {"ttft_warm_p50_s", get_warm50, FROM_TIME},
    {"ttft_warm_p95_s", get_warm95, FROM_TIME},
    {"ttft_all_p50_s", get_all50, FROM_TIME},
    {"ttft_all_p95_s", get_all95, FROM_TIME},
    {"queue_wait_p50_s", get_wait50, FROM_TIME},
    {"queue_wait_p95_s", get_wait95, FROM_TIME},
    {"itl_p50_s", get_itl50, FROM_TIME},
    {"itl_p99_s", get_itl99, FROM_TIME},
    {"claimed_ttft_p50_s", get_claim50, FROM_CLAIM},
    {"claimed_ttft_p95_s", get_claim95, FROM_CLAIM},
    {"prefix_evals", get_evals, FROM_TOKENS},
    {"prefix_tok_computed", get_prefix_tok, FROM_TOKENS},
    {"presented_tok", get_presented, FROM_TOKENS},
    {"reused_tok", get_reused, FROM_TOKENS},
    {"reused_across_agents_tok", get_cross, FROM_TOKENS},
    {"reused_frac", get_reused_frac, FROM_TOKENS},
    {"reused_across_agents_frac", get_cross_frac, FROM_TOKENS},
    {"computed_tok", get_computed, FROM_TOKENS},
    {"output_tok", get_output, FROM_TOKENS},
    {"peak_bytes", get_peak, FROM_MEMORY},
    {"weights_bytes", get_weights, FROM_MEMORY},
    {"overhead_bytes", get_overhead, FROM_MEMORY},
    {"kv_reserved_bytes", get_reserved, FROM_MEMORY},
    {"kv_resident_bytes", get_kv, FROM_MEMORY},
    {"recurrent_bytes", get_recurrent, FROM_MEMORY},
    {"kv_bytes_per_tok", get_kv_tok, FROM_MEMORY},
    {"prefix_kv_bytes", get_prefix_kv, FROM_MEMORY},
    {"agents_per_gib", get_per_gib, FROM_MEMORY},
    {"agents_per_gb", get_per_gb, FROM_MEMORY},
    {"largest_k_in_budget", get_largest, FROM_MEMORY},
    {"weight_stream_s", get_floor, FROM_DATASHEET},
    {"bandwidth_ceiling_tok_s", get_ceiling, FROM_DATASHEET},
    {"decode_used_tok_s", get_decode_used, FROM_TIME},
    {"decode_mean_tok_s", get_decode_mean, FROM_TIME},
    {"turn_constants_s", get_turn_constants, FROM_TIME},
};
enum { METRICS_N = sizeof METRICS / sizeof *METRICS };
_Static_assert((int)METRICS_N <= (int)METRICS_MAX, "who lists the names has room for so many");

const char *metric_name(size_t i) {
    return i < METRICS_N ? METRICS[i].name : NULL;
}

bool metric_get(const projection *p, const arm_result *r, const char *name, double *out) {
    for (size_t i = 0; i < METRICS_N; i++)
        if (strcmp(METRICS[i].name, name) == 0) return METRICS[i].get(p, r, out);
    return false;
}

prov metric_prov(const arm_result *r, const char *name) {
    for (size_t i = 0; i < METRICS_N; i++) {
        if (strcmp(METRICS[i].name, name) != 0) continue;
        switch (METRICS[i].from) {
        case FROM_TIME:
            return r->time_prov;
        case FROM_TOKENS:
            return PROV_DERIVED;
        case FROM_MEMORY:
            return r->m.memory.prov;
        case FROM_CLAIM:
            return PROV_CLAIM;
        case FROM_DATASHEET:
            return PROV_ROOFLINE;
        }
    }
    return PROV_CLAIM;
}
