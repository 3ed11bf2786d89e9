#include "report_project.h"

#include "number.h"
#include "report_memory.h"
#include "report_project_json.h"
#include "report_trend.h"
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const double MIB = 1048576.0, GIB = 1073741824.0;

typedef struct view {
    const projection *p;
    arena *mem;
    table *t;
    bool csv; /* plain numbers, one unit column, no marks */
} view;

/* ---- rows ---- */

typedef enum value_kind {
    V_SECONDS,
    V_MILLIS,
    V_COUNT,
    V_MIB,
    V_RATE,
    V_DENSITY,
    V_SHARE
} value_kind;
/* How the gain column compares the first arm with the baseline. */
typedef enum gain_kind { G_NONE, G_LESS_X, G_MORE_X, G_LESS_MIB } gain_kind;

typedef struct value {
    double v;
    bool absent, timed; /* timed: depends on step times, so an extrapolation marks it */
    bool floor;         /* "at least" */
} value;

typedef value value_fn(const arm_result *a);

typedef struct metric_row {
    const char *name, *unit;
    value_kind kind;
    gain_kind gain;
    value_fn *get;
    enum { FROM_TIME, FROM_TOKENS, FROM_MEMORY } from;
} metric_row;

static value timed_ns(int64_t ns) {
    return (value){.v = (double)ns / 1e9, .timed = true};
}

static value pct_ns(const percentiles *p, int64_t ns) {
    return (value){.v = (double)ns / 1e9, .timed = true, .absent = p->n == 0};
}

static value plain(int64_t v) {
    return (value){.v = (double)v};
}

#define GETTER(fn, expr)                                                                           \
    static value fn(const arm_result *a) {                                                         \
        return expr;                                                                               \
    }
GETTER(get_wall, timed_ns(a->sim.wall_ns))
GETTER(get_rate, ((value){.v = a->m.effective_tok_s, .timed = true}))
GETTER(get_cold50, pct_ns(&a->m.ttft_cold, a->m.ttft_cold.p50_ns))
GETTER(get_cold95, pct_ns(&a->m.ttft_cold, a->m.ttft_cold.p95_ns))
GETTER(get_warm50, pct_ns(&a->m.ttft_warm, a->m.ttft_warm.p50_ns))
GETTER(get_warm95, pct_ns(&a->m.ttft_warm, a->m.ttft_warm.p95_ns))
GETTER(get_itl50, pct_ns(&a->m.itl, a->m.itl.p50_ns))
GETTER(get_itl99, pct_ns(&a->m.itl, a->m.itl.p99_ns))
GETTER(get_wait95, pct_ns(&a->m.queue_wait, a->m.queue_wait.p95_ns))
GETTER(get_prefill, timed_ns(a->sim.prefill_ns))
GETTER(get_decode, timed_ns(a->sim.decode_ns))
GETTER(get_other, timed_ns(a->sim.other_ns))
GETTER(get_idle, timed_ns(a->sim.idle_ns))
GETTER(get_evals, plain(a->sim.prefix_evals))
GETTER(get_presented, plain(a->sim.presented_tok))
GETTER(get_reused, plain(a->sim.reused_tok))
GETTER(get_cross, plain(a->sim.reused_cross_tok))
GETTER(get_computed, plain(a->sim.computed_tok))
GETTER(get_output, plain(a->sim.output_tok))
GETTER(get_peak, plain(a->m.memory.peak_bytes))
GETTER(get_reserved, plain(a->m.memory.kv_reserved_bytes))
GETTER(get_resident, plain(a->m.memory.kv_resident_bytes))
GETTER(get_density, ((value){.v = a->m.agents_per_gib}))
GETTER(get_largest,
       ((value){.v = (double)a->k_in_budget, .absent = a->k_in_budget < 0, .floor = a->k_capped}))

static const metric_row ROWS[] = {
    {"wall-clock", "s", V_SECONDS, G_LESS_X, get_wall, FROM_TIME},
    {"effective output", "tok/s", V_RATE, G_MORE_X, get_rate, FROM_TIME},
    {"TTFT cold p50", "ms", V_MILLIS, G_LESS_X, get_cold50, FROM_TIME},
    {"TTFT cold p95", "ms", V_MILLIS, G_LESS_X, get_cold95, FROM_TIME},
    {"TTFT warm p50", "ms", V_MILLIS, G_LESS_X, get_warm50, FROM_TIME},
    {"TTFT warm p95", "ms", V_MILLIS, G_LESS_X, get_warm95, FROM_TIME},
    {"ITL p50", "ms", V_MILLIS, G_LESS_X, get_itl50, FROM_TIME},
    {"ITL p99", "ms", V_MILLIS, G_LESS_X, get_itl99, FROM_TIME},
    {"queue wait p95", "ms", V_MILLIS, G_NONE, get_wait95, FROM_TIME},
    {"device prefill", "s", V_SECONDS, G_LESS_X, get_prefill, FROM_TIME},
    {"device decode", "s", V_SECONDS, G_LESS_X, get_decode, FROM_TIME},
    {"device other", "s", V_SECONDS, G_NONE, get_other, FROM_TIME},
    {"device idle", "s", V_SECONDS, G_NONE, get_idle, FROM_TIME},
    {"prefix evaluations", "", V_COUNT, G_LESS_X, get_evals, FROM_TOKENS},
    {"prompt tokens presented", "tok", V_COUNT, G_NONE, get_presented, FROM_TOKENS},
    {"prompt tokens reused", "tok", V_COUNT, G_NONE, get_reused, FROM_TOKENS},
    {"reused across agents", "tok", V_COUNT, G_NONE, get_cross, FROM_TOKENS},
    {"prompt tokens computed", "tok", V_COUNT, G_LESS_X, get_computed, FROM_TOKENS},
    {"output tokens", "tok", V_COUNT, G_NONE, get_output, FROM_TOKENS},
    {"peak memory", "MiB", V_MIB, G_LESS_MIB, get_peak, FROM_MEMORY},
    {"KV reserved", "MiB", V_MIB, G_LESS_MIB, get_reserved, FROM_MEMORY},
    {"KV resident peak", "MiB", V_MIB, G_LESS_MIB, get_resident, FROM_MEMORY},
    {"agents per GiB", "1/GiB", V_DENSITY, G_MORE_X, get_density, FROM_MEMORY},
    {"largest K in budget", "", V_COUNT, G_NONE, get_largest, FROM_MEMORY},
};
enum { ROWS_N = sizeof ROWS / sizeof *ROWS };

/* "12.61 to 14.05", "by scatter" behind it where other arms of the row have more in theirs; a dash
 * where rates were declared. */
static const char *interval_text(const view *v, const arm_result *a, bool mixed) {
    if (!a->wall.known) return "–";
    double lo = (double)a->wall.lo_ns / 1e9, hi = (double)a->wall.hi_ns / 1e9;
    return arena_printf(v->mem, "%s to %s%s", number_seconds(v->mem, lo),
                        number_seconds(v->mem, hi),
                        mixed && !a->wall.with_host ? " by scatter" : "");
}

/* Does `x` rest on a price outside the card's range? Nothing does where no time is. */
static bool beyond(value x, const arm_result *a) {
    return x.timed && !x.absent && x.v != 0 && a->extrapolations_n > 0;
}

static const char *value_text(const view *v, const metric_row *row, const arm_result *a) {
    value x = row->get(a);
    if (x.absent) return v->csv ? "" : "–";
    const char *s = "";
    if (v->csv) {
        double scale = row->kind == V_MILLIS ? 1e3 : row->kind == V_MIB ? 1 / MIB : 1;
        return arena_printf(v->mem, "%.15g", x.v * scale);
    }
    switch (row->kind) {
    case V_SECONDS:
        s = number_seconds(v->mem, x.v);
        break;
    case V_MILLIS:
        s = arena_printf(v->mem, "%.1f", x.v * 1e3);
        break;
    case V_COUNT:
        s = number_count(v->mem, (int64_t)x.v);
        break;
    case V_MIB:
        s = number_mib(v->mem, (int64_t)x.v);
        break;
    case V_RATE:
    case V_DENSITY:
    case V_SHARE:
        s = arena_printf(v->mem, "%.2f", x.v);
        break;
    }
    return arena_printf(v->mem, "%s%s%s", x.floor ? "≥ " : "", s, beyond(x, a) ? " †" : "");
}

static const char *cell_text(const view *v, const metric_row *row, const arm_result *a) {
    if (row->get == get_peak && !v->csv) return report_peak(a, v->mem);
    return value_text(v, row, a);
}

/* First arm against the baseline: how many times less time or more rate, or how many MiB less. */
static const char *gain_text(const view *v, const metric_row *row, value first, value base) {
    if (row->gain == G_NONE || first.absent || base.absent) return "";
    if (row->gain == G_LESS_MIB) {
        double less = (base.v - first.v) / MIB;
        if (v->csv) return arena_printf(v->mem, "%.15g", less);
        return arena_printf(v->mem, "%.1f MiB %s", less >= 0 ? less : -less,
                            less >= 0 ? "less" : "more");
    }
    double over = row->gain == G_LESS_X ? base.v : first.v,
           under = row->gain == G_LESS_X ? first.v : base.v;
    if (under <= 0 || over <= 0) return "";
    return arena_printf(v->mem, v->csv ? "%.15g" : "%.2fx", over / under);
}

static prov row_prov(const view *v, const metric_row *row) {
    prov p = PROV_WITNESSED;
    for (size_t i = 0; i < v->p->arms_n; i++) {
        const arm_result *a = &v->p->arms[i];
        prov one = row->from == FROM_TIME     ? a->time_prov
                   : row->from == FROM_TOKENS ? PROV_DERIVED
                                              : a->m.memory.prov;
        p = prov_weakest(p, one);
    }
    return p;
}

static bool row_empty(const view *v, const metric_row *row) {
    bool zero_hides = row->get == get_other || row->get == get_cross;
    for (size_t i = 0; i < v->p->arms_n; i++) {
        value x = row->get(&v->p->arms[i]);
        if (!x.absent && !(zero_hides && x.v == 0)) return false;
    }
    return true;
}

/* ---- columns of the CSV that stand for marks and banners ---- */

typedef bool arm_is_fn(const metric_row *row, const arm_result *a);

static bool is_beyond(const metric_row *row, const arm_result *a) {
    return beyond(row->get(a), a);
}

static bool is_simulated(const metric_row *row, const arm_result *a) {
    value x = row->get(a);
    return x.timed && !x.absent && arm_simulated(a->arm);
}

/* `interval`: of the ends of an interval, which not every arm has. */
static const char *arms_that(const view *v, const metric_row *row, arm_is_fn *is, bool interval) {
    const char *names = "";
    for (size_t i = 0; i < v->p->arms_n; i++)
        if (is(row, &v->p->arms[i]) && (!interval || v->p->arms[i].wall.known))
            names =
                arena_printf(v->mem, "%s%s%s", names, *names ? "; " : "", v->p->arms[i].arm->name);
    return names;
}

/* What stands behind the arms' cells: gain, provenance, and in a CSV the arms that are marked. */
static void end_row(view *v, const metric_row *row, bool interval, const char *gain,
                    const char **cells, size_t at) {
    if (v->p->arms_n > 1) cells[at++] = gain;
    cells[at++] = PROV_UPPER[row_prov(v, row)];
    if (v->csv) {
        cells[at++] = arms_that(v, row, is_beyond, interval);
        cells[at++] = arms_that(v, row, is_simulated, interval);
    }
    table_row(v->t, cells);
}

/* Stand below the wall-clock when any arm has an interval: a row of both ends, in a CSV a row an
 * end. */
static void interval_rows(view *v) {
    const char *cells[TABLE_COLS_MAX];
    size_t by_scatter = 0, with_host = 0;
    for (size_t i = 0; i < v->p->arms_n; i++) {
        const wall_interval *w = &v->p->arms[i].wall;
        by_scatter += w->known && !w->with_host;
        with_host += w->known && w->with_host;
    }
    if (!v->csv && by_scatter + with_host == 0) return;
    const char *name = interval_name(by_scatter, with_host);
    for (int end = 0; end < (v->csv ? 2 : 1); end++) {
        size_t at = 0;
        const char *which = !v->csv ? "" : end ? " high" : " low";
        cells[at++] = arena_printf(v->mem, "wall-clock %s%s", name, which);
        cells[at++] = "s";
        for (size_t i = 0; i < v->p->arms_n; i++) {
            const arm_result *a = &v->p->arms[i];
            int64_t ns = end ? a->wall.hi_ns : a->wall.lo_ns;
            cells[at++] = !v->csv         ? interval_text(v, a, by_scatter > 0 && with_host > 0)
                          : a->wall.known ? arena_printf(v->mem, "%.15g", (double)ns / 1e9)
                                          : "";
        }
        end_row(v, &ROWS[0], true, "", cells, at);
    }
}

static void head_to_head(view *v) {
    const projection *p = v->p;
    bool gain = p->arms_n > 1;
    size_t cols = p->arms_n + 3 + gain + (v->csv ? 2 : 0), at = 0;
    const char *cells[TABLE_COLS_MAX];
    v->t = table_new(v->mem, cols);
    table_left(v->t, 1);
    table_left(v->t, cols - 1);
    cells[at++] = "metric";
    cells[at++] = "unit";
    for (size_t i = 0; i < p->arms_n; i++) cells[at++] = p->arms[i].arm->name;
    if (gain)
        cells[at++] = v->csv ? "gain"
                             : arena_printf(v->mem, "%s vs %s", p->arms[0].arm->name,
                                            p->arms[p->baseline].arm->name);
    cells[at++] = "provenance";
    cells[at++] = "extrapolated"; /* these two in a CSV only */
    cells[at++] = "simulated device";
    table_row(v->t, cells);
    for (size_t r = 0; r < ROWS_N; r++) {
        const metric_row *row = &ROWS[r];
        if (!v->csv && row_empty(v, row)) continue;
        at = 0;
        cells[at++] = row->name;
        cells[at++] = row->unit;
        for (size_t i = 0; i < p->arms_n; i++) cells[at++] = cell_text(v, row, &p->arms[i]);
        end_row(v, row, false,
                gain_text(v, row, row->get(&p->arms[0]), row->get(&p->arms[p->baseline])), cells,
                at);
        if (r == 0) interval_rows(v);
    }
}

/* ---- what stands around the table ---- */

static const char *assumption_value(arena *mem, const assumption *a) {
    if (a->what == TERM_DECODE_GAIN_CARD)
        return arena_printf(mem, "of card %s at %lld tokens of context", a->gain_card_ref,
                            (long long)a->context_tok);
    if (a->what == TERM_KV_EXCLUDES_LAST_OUTPUT) return "yes";
    if (a->what == TERM_DECODE_TOK_S && a->growth_frac >= 0)
        return arena_printf(mem, "%.10g × (1 + %.10g (B − 1))", a->value, a->growth_frac);
    if (a->what == TERM_DELTA_PREFILL_S && a->growth_frac > 0)
        return arena_printf(mem, "%.10g × (1 + %.10g (K − 1))", a->value, a->growth_frac);
    bool bytes = a->what >= TERM_WEIGHTS_BYTES && a->what <= TERM_RECURRENT_STATE_BYTES;
    return bytes ? number_count(mem, (int64_t)a->value) : arena_printf(mem, "%.10g", a->value);
}

static bool same_assumption(const assumption *a, const assumption *b) {
    return a->what == b->what && a->value == b->value && a->growth_frac == b->growth_frac &&
           strcmp(a->reason, b->reason) == 0;
}

/* Names of the arms that hold an assumption; "all arms" when everybody does. */
static const char *holders(const view *v, const assumption *a) {
    const char *names = "";
    size_t n = 0;
    for (size_t i = 0; i < v->p->arms_n; i++) {
        const arm *b = v->p->arms[i].arm;
        for (size_t j = 0; j < b->assume_n; j++) {
            if (!same_assumption(a, &b->assume[j])) continue;
            names = arena_printf(v->mem, "%s%s%s", names, n++ ? ", " : "", b->name);
            break;
        }
    }
    return n == v->p->arms_n && n > 1 ? "all arms" : names;
}

static bool listed_before(const view *v, size_t arm_i, size_t assume_i) {
    const assumption *a = &v->p->arms[arm_i].arm->assume[assume_i];
    for (size_t i = 0; i < arm_i; i++)
        for (size_t j = 0; j < v->p->arms[i].arm->assume_n; j++)
            if (same_assumption(a, &v->p->arms[i].arm->assume[j])) return true;
    return false;
}

static void add_assumptions(const view *v, buf *out) {
    bool any = false;
    for (size_t i = 0; i < v->p->arms_n; i++) {
        const arm *b = v->p->arms[i].arm;
        for (size_t j = 0; j < b->assume_n; j++) {
            const assumption *a = &b->assume[j];
            if (listed_before(v, i, j)) continue;
            if (!any) buf_add(out, "\nDeclared assumptions\n\n");
            any = true;
            buf_addf(out, "- %s = %s [%s] (%s): %s", TERM_NAMES[a->what],
                     assumption_value(v->mem, a), PROV_UPPER[a->prov], holders(v, a), a->reason);
            buf_addf(out, "%s%s\n", a->source ? "; source: " : "; no source",
                     a->source ? a->source : "");
        }
    }
}

/* One bullet a text, with the arms it holds for. */
static void add_notes(const view *v, buf *out, const char *title, bool extrapolations) {
    bool any = false;
    for (size_t i = 0; i < v->p->arms_n; i++) {
        const arm_result *a = &v->p->arms[i];
        size_t n = extrapolations ? a->extrapolations_n : a->notes_n;
        const char *const *s = extrapolations ? a->extrapolations : a->notes;
        for (size_t j = 0; j < n; j++) {
            if (!any) buf_addf(out, "\n%s\n\n", title);
            any = true;
            buf_addf(out, "- %s: %s\n", a->arm->name, s[j]);
        }
    }
}

static void add_cards(const view *v, buf *out) {
    for (size_t i = 0; i < v->p->arms_n; i++) {
        const card *c = v->p->arms[i].arm->card;
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen |= v->p->arms[j].arm->card == c || strcmp(v->p->arms[j].arm->card->id, c->id) == 0;
        if (seen) continue;
        buf_addf(out, "card      %s: %s %s, %s on %s [%s]\n", c->id, c->model, c->quant,
                 c->engine.name, c->hardware.chip, PROV_UPPER[c->prov]);
    }
}

/* What an arm is, in the terms of the field. */
static void add_arms(const view *v, buf *out) {
    static const char *const REUSE[] = {"no prefix reuse", "prefix reuse per slot",
                                        "shared prefix"};
    for (size_t i = 0; i < v->p->arms_n; i++) {
        const arm *a = v->p->arms[i].arm;
        buf_addf(out, "arm       %s: %s", a->name, REUSE[a->reuse]);
        if (a->reuse == REUSE_SHARED)
            buf_addf(out, " (later agents %s, found after %lld sight%s)",
                     a->comers == COMERS_WAIT ? "wait for the first"
                                              : "that start together each compute it",
                     (long long)a->cold_sights_n, a->cold_sights_n == 1 ? "" : "s");
        buf_addf(out, ", %s batching", BATCHING_NAMES[a->batch]);
        if (a->engine == ENGINE_LLAMA_SERVER)
            buf_addf(out, ", llama-server's loop on %s KV%s", KV_LAYOUT_NAMES[a->layout],
                     a->card->fitted_host.known ? " with the card's host terms"
                                                : ", no host terms (card only)");
        if (a->prefill == PREFILL_MIXED)
            buf_addf(out, ", prefill mixed in up to %lld rows", (long long)a->max_batch_tok);
        buf_addf(out, ", %lld slot%s%s\n", (long long)a->slots_n, a->slots_n == 1 ? "" : "s",
                 a->reuse_last_token ? ", last sampled token counted as cached" : "");
    }
}

/* `sets_n`: how many of the overrides were given; a sweep's own value is not among them. */
static void add_head(const view *v, size_t sets_n, buf *out) {
    const scenario *s = v->p->scenario;
    const workload *w = &s->work;
    buf_addf(out,
             "[%s PROJECTION] replayed by a simulator; no part of this session ran on silicon\n",
             PROV_UPPER[projection_prov(v->p)]);
    if (projection_simulated(v->p))
        buf_add(out, "[SIMULATED DEVICE] a card was timed on a GPU that is none: no time here "
                     "describes a machine\n");
    buf_addf(out, "scenario  %s: %s\n", s->id, s->title);
    buf_addf(out,
             "workload  K = %" PRId64 " agents, H = %" PRId64 " turns, P = %" PRId64
             " shared tokens, + %" PRId64 " in / %" PRId64
             " out a turn (%s), tool latency %.10g s\n",
             w->K, w->H, w->P, w->turn_delta_in_tok, w->turn_out_tok, TURN_SHAPE_NAMES[w->shape],
             (double)w->tool_latency_ns / 1e9);
    add_cards(v, out);
    add_arms(v, out);
    for (size_t i = 0; i < sets_n; i++) buf_addf(out, "set       %s\n", s->overrides[i]);
    if (s->memory_budget_bytes > 0)
        buf_addf(out, "budget    %.2f GiB of memory\n", (double)s->memory_budget_bytes / GIB);
}

static void add_unmodeled(const view *v, buf *out) {
    const scenario *s = v->p->scenario;
    if (s->unmodeled_n > 0) buf_add(out, "\nNot modeled\n\n");
    for (size_t i = 0; i < s->unmodeled_n; i++) buf_addf(out, "- %s\n", s->unmodeled[i]);
}

static void add_rules(const rule_result rules[RULES_N], buf *out) {
    char line[400];
    invariants_summary(rules, line, sizeof line);
    buf_addf(out, "\nInvariants  %s\n", line);
    bool any = false;
    for (size_t i = 0; i < RULES_N; i++) {
        const rule_result *r = &rules[i];
        if (r->outcome == RULE_HOLDS || r->outcome == RULE_NEEDS_MORE_RUNS) continue;
        if (!any) buf_add(out, "\n");
        any = true;
        buf_addf(out, "- %s (%s): %s\n", r->rule->id, r->arm ? r->arm : "-", r->why);
    }
}

void report_project_part(const projection *p, const rule_result rules[RULES_N], project_part part,
                         arena *scratch, buf *out) {
    view v = {.p = p, .mem = scratch};
    switch (part) {
    case PART_HEAD:
        add_head(&v, p->scenario->overrides_n, out);
        break;
    case PART_TABLE:
        head_to_head(&v);
        table_markdown(v.t, out);
        report_misfits(p->scenario, &(sweep_point){p, rules}, 1, out);
        break;
    case PART_EXTRAPOLATIONS:
        add_notes(&v, out, "† Priced outside the measured range", true);
        break;
    case PART_ASSUMPTIONS:
        add_assumptions(&v, out);
        break;
    case PART_TAKEN:
        add_notes(&v, out, "Taken as given", false);
        break;
    case PART_UNMODELED:
        add_unmodeled(&v, out);
        break;
    case PART_RULES:
        add_rules(rules, out);
        break;
    }
}

static void report_text(const projection *p, const rule_result rules[RULES_N], bool md,
                        arena *scratch, buf *out) {
    if (md) buf_add(out, "```text\n");
    report_project_part(p, rules, PART_HEAD, scratch, out);
    buf_add(out, md ? "```\n\n" : "\n");
    for (project_part part = PART_TABLE; part <= PART_RULES; part++)
        report_project_part(p, rules, part, scratch, out);
}

void report_project(const projection *p, const rule_result rules[RULES_N], report_format f,
                    arena *scratch, buf *out) {
    view v = {.p = p, .mem = scratch, .csv = true};
    switch (f) {
    case REPORT_JSON:
        report_project_json(p, rules, out);
        break;
    case REPORT_CSV:
        head_to_head(&v);
        table_csv(v.t, out);
        break;
    case REPORT_MD:
    case REPORT_TEXT:
        report_text(p, rules, f == REPORT_MD, scratch, out);
        break;
    }
}

/* ---- sweeps ---- */

static const metric_row *row_named(const char *name) {
    for (size_t i = 0; i < ROWS_N; i++)
        if (strcmp(ROWS[i].name, name) == 0) return &ROWS[i];
    return NULL;
}

static const char *const SWEEP_COLUMNS[] = {"wall-clock",
                                            "effective output",
                                            "TTFT cold p50",
                                            "TTFT warm p50",
                                            "prompt tokens presented",
                                            "prompt tokens reused",
                                            "prompt tokens computed",
                                            "peak memory",
                                            "agents per GiB"};
enum { SWEEP_COLUMNS_N = sizeof SWEEP_COLUMNS / sizeof *SWEEP_COLUMNS };

static table *sweep_table(const scenario *s, const sweep_point *points, bool csv, arena *mem) {
    const char *cells[SWEEP_COLUMNS_N + 5];
    table *t = table_new(mem, SWEEP_COLUMNS_N + (csv ? 5 : 3));
    table_left(t, 1);
    table_left(t, SWEEP_COLUMNS_N + 2);
    cells[0] = s->sweep_path;
    cells[1] = "arm";
    for (size_t c = 0; c < SWEEP_COLUMNS_N; c++) {
        const metric_row *row = row_named(SWEEP_COLUMNS[c]);
        cells[c + 2] = row->unit[0] ? arena_printf(mem, "%s, %s", row->name, row->unit) : row->name;
    }
    cells[SWEEP_COLUMNS_N + 2] = "provenance of times";
    cells[SWEEP_COLUMNS_N + 3] = "extrapolated"; /* these two in a CSV only */
    cells[SWEEP_COLUMNS_N + 4] = "simulated device";
    table_row(t, cells);
    for (size_t i = 0; i < s->sweep_n; i++)
        for (size_t a = 0; a < points[i].p->arms_n; a++) {
            const arm_result *r = &points[i].p->arms[a];
            view v = {.p = points[i].p, .mem = mem, .csv = csv};
            cells[0] = s->sweep_values[i];
            cells[1] = r->arm->name;
            for (size_t c = 0; c < SWEEP_COLUMNS_N; c++) {
                const metric_row *row = row_named(SWEEP_COLUMNS[c]);
                cells[c + 2] = cell_text(&v, row, r);
            }
            cells[SWEEP_COLUMNS_N + 2] = PROV_UPPER[r->time_prov];
            cells[SWEEP_COLUMNS_N + 3] = r->extrapolations_n > 0 ? "1" : "0";
            cells[SWEEP_COLUMNS_N + 4] = arm_simulated(r->arm) ? "1" : "0";
            table_row(t, cells);
        }
    return t;
}

void report_sweep_table(const scenario *s, const sweep_point *points, arena *scratch, buf *out) {
    table_markdown(sweep_table(s, points, false, scratch), out);
    report_misfits(s, points, s->sweep_n, out);
}

void report_sweep(const scenario *s, const sweep_point *points, report_format f, arena *scratch,
                  buf *out) {
    if (f == REPORT_JSON) {
        report_sweep_json(s, points, out);
        return;
    }
    table *t = sweep_table(s, points, f == REPORT_CSV, scratch);
    if (f == REPORT_CSV) {
        table_csv(t, out);
        return;
    }
    view v = {.p = points[s->sweep_n - 1].p,
              .mem = scratch}; /* head and notes: those of the last value */
    if (f == REPORT_MD) buf_add(out, "```text\n");
    add_head(&v, s->overrides_n, out);
    buf_addf(out, "sweep     %s over", s->sweep_path);
    for (size_t i = 0; i < s->sweep_n; i++)
        buf_addf(out, "%s %s", i ? "," : "", s->sweep_values[i]);
    buf_addf(out, "; what stands below the table is of %s = %s\n", s->sweep_path,
             s->sweep_values[s->sweep_n - 1]);
    buf_add(out, f == REPORT_MD ? "```\n\n" : "\n");
    table_markdown(t, out);
    report_misfits(s, points, s->sweep_n, out);
    if (f == REPORT_TEXT) report_trend(s, points, scratch, out);
    add_notes(&v, out, "† Priced outside the measured range", true);
    add_assumptions(&v, out);
    add_notes(&v, out, "Taken as given", false);
    add_unmodeled(&v, out);
    add_rules(points[s->sweep_n - 1].rules, out);
}
