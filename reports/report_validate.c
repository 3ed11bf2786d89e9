#include "report_validate.h"

#include "interval.h"
#include "table.h"

#include "base/jsonw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *pct(arena *mem, double frac) {
    return arena_printf(mem, "%+.1f", 100 * frac);
}

static const char *seconds(arena *mem, double s) {
    return s > 0 ? arena_printf(mem, "%.2f", s) : "–";
}

static const char *millis(arena *mem, double s) {
    return s > 0 ? arena_printf(mem, "%.1f", s * 1e3) : "–";
}

static double error(double model, double seen) {
    return model > 0 && seen > 0 ? model / seen - 1 : 0;
}

static bool has_interval(const score_run *r) {
    return r->lo_s < r->hi_s;
}

/* Over the intervals of these runs; `mixed`: some know the host's time, some do not. */
static const char *intervals_name(const score *s, bool *mixed) {
    size_t by_scatter = 0, with_host = 0;
    for (size_t i = 0; i < s->n; i++) {
        by_scatter += has_interval(&s->runs[i]) && !s->runs[i].with_host;
        with_host += has_interval(&s->runs[i]) && s->runs[i].with_host;
    }
    *mixed = by_scatter > 0 && with_host > 0;
    return interval_name(by_scatter, with_host);
}

static const char *interval_text(const score_run *r, bool mixed, arena *mem) {
    if (!has_interval(r)) return "none";
    return arena_printf(mem, "%.2f to %.2f%s", r->lo_s, r->hi_s,
                        mixed && !r->with_host ? " by scatter" : "");
}

static void run_table(const score *s, arena *mem, buf *out) {
    bool mixed;
    const char *const HEAD[] = {"run",
                                "arm",
                                "wall s",
                                intervals_name(s, &mixed),
                                "witnessed",
                                "error %",
                                "card only %",
                                "repeats %",
                                "TTFT warm p50 ms",
                                "witnessed",
                                "TTFT cold p50 ms",
                                "witnessed",
                                "ITL p50 ms",
                                "witnessed"};
    table *t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    table_left(t, 1);
    table_row(t, HEAD);
    for (size_t i = 0; i < s->n; i++) {
        const score_run *r = &s->runs[i];
        const char *row[] = {
            r->r->run->id,
            r->r->run->arm,
            seconds(mem, r->wall_s),
            interval_text(r, mixed, mem),
            arena_printf(mem, "%.2f%s", r->seen_wall_s, r->r->seen.from_turns ? "" : " *"),
            pct(mem, error(r->wall_s, r->seen_wall_s)),
            pct(mem, error(r->card_only_wall_s, r->seen_wall_s)),
            r->repeat_spread_frac > 0 ? arena_printf(mem, "%.1f%s", 100 * r->repeat_spread_frac,
                                                     r->against_median ? " m" : "")
                                      : "",
            millis(mem, r->warm.n ? r->warm.p50_s : 0),
            millis(mem, r->seen_warm_p50_s),
            millis(mem, r->cold.p50_s),
            millis(mem, r->seen_cold_p50_s),
            millis(mem, r->itl_p50_s),
            millis(mem, r->r->seen.itl_p50_s)};
        table_row(t, row);
    }
    table_markdown(t, out);
}

static void stats_row(table *t, const char *name, const error_stats *e, arena *mem) {
    if (e->n == 0) return;
    const char *row[] = {name,
                         arena_printf(mem, "%zu", e->n),
                         arena_printf(mem, "%.1f", 100 * e->mean_abs_frac),
                         arena_printf(mem, "%.1f", 100 * e->median_abs_frac),
                         arena_printf(mem, "%.1f", 100 * e->p90_abs_frac),
                         arena_printf(mem, "%.1f", 100 * e->max_abs_frac),
                         pct(mem, e->bias_frac)};
    table_row(t, row);
}

static void arm_rows(table *t, const score *s, arena *mem) {
    for (size_t i = 0; i < s->n; i++) {
        const char *name = s->runs[i].r->run->arm;
        bool seen = false;
        for (size_t j = 0; j < i; j++) seen |= strcmp(s->runs[j].r->run->arm, name) == 0;
        if (seen) continue;
        error_stats e = score_wall_of_arm(s, name, mem);
        stats_row(t, arena_printf(mem, "wall, %s", name), &e, mem);
    }
}

static void summary_table(const score *s, arena *mem, buf *out) {
    static const char *const HEAD[] = {"error in %", "runs", "mean", "median",
                                       "p90",        "max",  "bias"};
    table *t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    table_row(t, HEAD);
    stats_row(t, "wall", &s->wall, mem);
    stats_row(t, "wall, card only", &s->wall_card_only, mem);
    stats_row(t, "wall, split KV", &s->wall_split, mem);
    stats_row(t, "wall, unified KV", &s->wall_unified, mem);
    arm_rows(t, s, mem);
    stats_row(t, "TTFT warm p50", &s->warm_p50, mem);
    stats_row(t, "TTFT warm p95", &s->warm_p95, mem);
    stats_row(t, "TTFT cold p50", &s->cold_p50, mem);
    stats_row(t, "interference, p99 token gap", &s->gap_p99, mem);
    stats_row(t, "device memory", &s->memory, mem);
    stats_row(t, "floor: a repeat predicts its sibling", &s->floor_wall, mem);
    table_markdown(t, out);
    bool mixed;
    const char *name = intervals_name(s, &mixed);
    if (s->median_half_width_frac > 0)
        buf_addf(out,
                 "\n%s: contains %.0f %% of the witnessed walls; median "
                 "half-width %.1f %%\n",
                 name, 100 * s->covered_frac, 100 * s->median_half_width_frac);
    else
        buf_add(out,
                "\nNo 90 % intervals: the card does not show its scatter, and no host terms are "
                "fitted\n");
}

static bool listed(const replay *r, bool calibrate_only) {
    return r->excluded && (!calibrate_only || r->run->use == USE_CALIBRATE);
}

void report_excluded(const replay *all, size_t n, bool calibrate_only, buf *out) {
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const char *why = all[i].excluded;
        size_t before = 0, count = 0;
        if (!listed(&all[i], calibrate_only)) continue;
        for (size_t j = 0; j < n; j++)
            if (listed(&all[j], calibrate_only) && strcmp(all[j].excluded, why) == 0) {
                before += j < i;
                count++;
            }
        if (before > 0) continue;
        if (!any) buf_add(out, "\nExcluded\n\n");
        any = true;
        buf_addf(out, "- %s: %s", why, all[i].run->id);
        if (count > 1) buf_addf(out, " and %zu more", count - 1);
        buf_add(out, "\n");
    }
}

void report_validate_text(const score *s, const witness *w, arena *mem, buf *out) {
    bool summaries = false, fitted = false, median = false;
    for (size_t i = 0; i < s->n; i++) {
        summaries |= !s->runs[i].r->seen.from_turns;
        fitted |= s->runs[i].r->run->use == USE_CALIBRATE;
        median |= s->runs[i].against_median;
    }
    buf_addf(out,
             "[MODELED against WITNESSED] projections from rate cards and configurations; %s\n\n",
             fitted ? "host terms were fitted to runs marked calibrate, which are among these"
                    : "no host term was fitted to these runs");
    for (size_t i = 0; i < s->n; i++)
        if (s->runs[i].r->card->simulated_device) {
            buf_add(out, "[SIMULATED DEVICE] a card was timed on a GPU that is none: no projected "
                         "time here describes a machine\n\n");
            break;
        }
    if (s->n)
        run_table(s, mem, out);
    else
        buf_add(out, "No run is projected.\n");
    if (median)
        buf_add(out,
                "\nm: repeats of this session differ by over 20 % in one of its figures, which "
                "stands for its median\n");
    if (summaries)
        buf_add(out,
                "\nMarked *: from the run's own summary, since its session records are missing or "
                "incomplete\n");
    if (s->n) {
        buf_add(out, "\n");
        summary_table(s, mem, out);
    }
    report_excluded(s->all, s->all_n, false, out);
    for (size_t i = 0; i < w->warnings_n; i++)
        buf_addf(out, "%s- %s\n", i ? "" : "\nWarnings\n\n", w->warnings[i]);
}

void report_validate_tsv(const score *s, buf *out) {
    buf_add(out, "run_id\tarm\twitnessed_s\tprojected_s\tlo_s\thi_s\tcard_only_s\twith_host\t"
                 "simulated\n");
    for (size_t i = 0; i < s->n; i++) {
        const score_run *r = &s->runs[i];
        if (r->r->run->N > 0) continue;
        buf_addf(out, "%s\t%s\t%.6f\t%.6f\t%.6f\t%.6f\t%.6f\t%d\t%d\n", r->r->run->id,
                 r->r->run->arm, r->seen_wall_s, r->wall_s, r->lo_s, r->hi_s, r->card_only_wall_s,
                 r->with_host, r->r->card->simulated_device);
    }
}

/* ---- JSON ---- */

static void json_pair(cJSON *o, const char *key, double projected, double witnessed) {
    if (!(projected > 0)) return;
    cJSON *p = jw_obj(o, key);
    jw_num(p, "projected", projected);
    if (!(witnessed > 0)) return;
    jw_num(p, "witnessed", witnessed);
    jw_num(p, "error_pct", 100 * (projected / witnessed - 1));
}

static void json_run(cJSON *list, const score_run *r) {
    cJSON *o = jw_item(list);
    jw_str(o, "run_id", r->r->run->id);
    jw_str(o, "arm", r->r->run->arm);
    jw_str(o, "card", r->r->card->id);
    if (r->r->card->simulated_device) jw_bool(o, "simulated_device", true);
    jw_str(o, "kv_layout", KV_LAYOUT_NAMES[r->r->run->layout]);
    jw_str(o, "use", r->r->run->use == USE_CALIBRATE ? "calibrate" : "score");
    jw_str(o, "witnessed_from", r->r->seen.from_turns ? "sessions" : "summary");
    json_pair(o, "wall_s", r->wall_s, r->seen_wall_s);
    cJSON *wall = cJSON_GetObjectItemCaseSensitive(o, "wall_s");
    jw_num(wall, "lo", r->lo_s);
    jw_num(wall, "hi", r->hi_s);
    jw_num(wall, "card_only", r->card_only_wall_s);
    cJSON *ttft = jw_obj(o, "ttft");
    json_pair(ttft, "warm_p50_s", r->warm.n ? r->warm.p50_s : 0, r->seen_warm_p50_s);
    json_pair(ttft, "warm_p95_s", r->warm.n ? r->warm.p95_s : 0, r->seen_warm_p95_s);
    json_pair(ttft, "cold_p50_s", r->cold.p50_s, r->seen_cold_p50_s);
    json_pair(o, "itl_p50_s", r->itl_p50_s, r->r->seen.itl_p50_s);
    json_pair(o, "itl_p99_s", r->itl_p99_s, r->r->seen.itl_p99_s);
    json_pair(o, "memory_bytes", r->memory_bytes, r->seen_memory_bytes);
    if (r->repeat_spread_frac > 0) jw_num(o, "repeat_spread_pct", 100 * r->repeat_spread_frac);
    jw_bool(o, "against_median", r->against_median);
}

static cJSON *json_stats(cJSON *o, const char *key, const error_stats *e) {
    cJSON *s = jw_obj(o, key);
    jw_int(s, "n", (int64_t)e->n);
    if (e->n == 0) return s;
    jw_num(s, "mean_abs_pct", 100 * e->mean_abs_frac);
    jw_num(s, "median_abs_pct", 100 * e->median_abs_frac);
    jw_num(s, "p90_abs_pct", 100 * e->p90_abs_frac);
    jw_num(s, "max_abs_pct", 100 * e->max_abs_frac);
    jw_num(s, "bias_pct", 100 * e->bias_frac);
    return s;
}

void report_validate_json(const score *s, const witness *w, buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", "ratecast.validate/1");
    cJSON *runs = jw_arr(root, "runs");
    for (size_t i = 0; i < s->n; i++) json_run(runs, &s->runs[i]);
    cJSON *sum = jw_obj(root, "summary");
    json_stats(sum, "wall", &s->wall);
    json_stats(sum, "wall_split", &s->wall_split);
    json_stats(sum, "wall_unified", &s->wall_unified);
    json_stats(sum, "ttft_warm_p50", &s->warm_p50);
    json_stats(sum, "ttft_warm_p95", &s->warm_p95);
    json_stats(sum, "ttft_cold_p50", &s->cold_p50);
    json_stats(sum, "interference_gap_p99", &s->gap_p99);
    json_stats(sum, "memory", &s->memory);
    json_stats(sum, "floor_wall", &s->floor_wall);
    json_stats(jw_obj(sum, "card_only"), "wall", &s->wall_card_only);
    cJSON *iv = jw_obj(sum, "intervals");
    jw_num(iv, "level_pct", 90);
    jw_num(iv, "covered_pct", 100 * s->covered_frac);
    jw_num(iv, "median_half_width_pct", 100 * s->median_half_width_frac);
    cJSON *ex = jw_arr(root, "excluded");
    for (size_t i = 0; i < s->all_n; i++) {
        if (!s->all[i].excluded) continue;
        cJSON *o = jw_item(ex);
        jw_str(o, "run_id", s->all[i].run->id);
        jw_str(o, "why", s->all[i].excluded);
    }
    cJSON *warn = jw_arr(root, "warnings");
    for (size_t i = 0; i < w->warnings_n; i++)
        cJSON_AddItemToArray(warn, cJSON_CreateString(w->warnings[i]));
    jw_print(root, out);
    cJSON_Delete(root);
}

/* ---- fit ---- */

void report_fit_text(const host_fit *f, const card *c, const char *spread_from, arena *mem,
                     buf *out) {
    static const char *const HEAD[] = {"run", "wall error %", "left out %"};
    host_terms h = f->terms;
    buf_addf(out, "host terms of %s, %zu terms from %zu calibrate runs [DERIVED]\n\n", c->id,
             f->params_n, f->runs_n);
    for (size_t i = 0; i < HOST_FITTED_N; i++)
        if (*host_term_at(&h, i) > 0)
            buf_addf(out, "- %s = %.4g ms (± %.0f %%)\n", HOST_TERM_NAMES[i],
                     *host_term_at(&h, i) * 1e3, 100 * h.stderr_frac[i]);
    buf_addf(out, "- client_gap_s = %.4g ms (%s)\n", h.client_gap_s * 1e3,
             f->client_gap_seen ? "seen between turns" : "assumed: no run has its turns");
    if (f->dropped[0]) buf_addf(out, "\nNot identified by these runs: %s\n", f->dropped);
    buf_add(out, "\n");
    table *t = table_new(mem, 3);
    table_row(t, HEAD);
    for (size_t i = 0; i < f->runs_n; i++) {
        const char *row[] = {f->run_ids[i], pct(mem, f->residual_frac[i]),
                             pct(mem, f->loo_frac[i])};
        table_row(t, row);
    }
    table_markdown(t, out);
    buf_addf(out,
             "\ncard only: mean error %.1f %%; standard deviation of identical runs %.1f %% "
             "(%s)\n",
             100 * f->card_only_mean_frac, 100 * f->terms.repeat_spread_frac, spread_from);
}
