#include "report_ledger.h"

#include "base/jsonw.h"
#include "table.h"

static const char *ratio_text(const ledger_sums *s, arena *mem) {
    double v;
    return ledger_ratio(s, &v) ? arena_printf(mem, "%.5f", v) : NULL;
}

static const char *s_of(size_t n) {
    return n == 1 ? "" : "s";
}

static void add_verdict(const rollup *r, arena *mem, buf *out) {
    const char *ratio = ratio_text(&r->gate, mem);
    if (r->measured && ratio)
        buf_addf(out, "MEASURED  %s of the prompt tokens were reused: %lld of %lld, in %zu row%s\n",
                 ratio, (long long)r->gate.reused_tok, (long long)r->gate.prompt_tok, r->gate.rows,
                 s_of(r->gate.rows));
    else
        buf_add(out, "INSUFFICIENT  no prompt token in a measured row of 2 turns or more\n");
    if (r->weeks_n)
        buf_addf(out, "trend     %s, in %s%s\n", LEDGER_TREND_NAMES[r->trend],
                 r->weeks[r->weeks_n - 1].week, r->weeks[r->weeks_n - 1].thin ? " (thin)" : "");
}

static void add_rows(const rollup *r, arena *mem, buf *out) {
    buf_addf(out,
             "rows      %zu read: %zu counted, %zu not measured, %zu of 1 turn, %zu of 0 turns, "
             "%zu duplicate%s\n",
             r->rows_n, r->gate.rows, r->not_measured.rows, r->single_turn_n, r->zero_turn_n,
             r->duplicates_n, s_of(r->duplicates_n));
    if (r->unstated_n)
        buf_addf(out, "          %zu counted row%s no provenance and %s taken as measured\n",
                 r->unstated_n, r->unstated_n == 1 ? " states" : "s state",
                 r->unstated_n == 1 ? "is" : "are");
    if (r->not_measured.rows == 0) return;
    const char *ratio = ratio_text(&r->not_measured, mem);
    buf_addf(out,
             "%-9s %lld of %lld prompt tokens reused%s%s, in %zu row%s that nobody measured: in no "
             "figure above or below\n",
             PROV_UPPER[r->not_measured_weakest], (long long)r->not_measured.reused_tok,
             (long long)r->not_measured.prompt_tok, ratio ? ", " : "", ratio ? ratio : "",
             r->not_measured.rows, s_of(r->not_measured.rows));
}

static void add_weeks(const rollup *r, arena *mem, buf *out) {
    static const char *const HEAD[] = {"week",  "rows",  "prompt tok", "reused tok",
                                       "ratio", "trend", "note"};
    table *t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    if (!t || r->weeks_n == 0) return;
    table_left(t, 5);
    table_left(t, 6);
    table_row(t, HEAD);
    for (size_t i = 0; i < r->weeks_n; i++) {
        const ledger_week *w = &r->weeks[i];
        const char *row[] = {w->week,
                             arena_printf(mem, "%zu", w->sum.rows),
                             arena_printf(mem, "%lld", (long long)w->sum.prompt_tok),
                             arena_printf(mem, "%lld", (long long)w->sum.reused_tok),
                             ratio_text(&w->sum, mem),
                             LEDGER_TREND_NAMES[w->trend],
                             w->thin ? "thin" : ""};
        table_row(t, row);
    }
    buf_add(out, "\n");
    table_markdown(t, out);
}

void report_rollup_text(const rollup *r, arena *mem, buf *out) {
    add_verdict(r, mem, out);
    add_rows(r, mem, out);
    add_weeks(r, mem, out);
}

/* ---- JSON ---- */

static void add_ratio(cJSON *o, const char *key, const ledger_sums *s) {
    double v;
    if (ledger_ratio(s, &v))
        jw_num(o, key, v);
    else
        cJSON_AddNullToObject(o, key);
}

static void add_sums(cJSON *o, const ledger_sums *s) {
    jw_int(o, "rows", (int64_t)s->rows);
    jw_int(o, "prompt_tokens", s->prompt_tok);
    jw_int(o, "reused_tokens", s->reused_tok);
    add_ratio(o, "reuse_ratio", s);
}

static void add_row_counts(cJSON *root, const rollup *r) {
    cJSON *o = jw_obj(root, "rows");
    jw_int(o, "read", (int64_t)r->rows_n);
    jw_int(o, "counted", (int64_t)r->gate.rows);
    jw_int(o, "not_measured", (int64_t)r->not_measured.rows);
    jw_int(o, "single_turn", (int64_t)r->single_turn_n);
    jw_int(o, "zero_turns", (int64_t)r->zero_turn_n);
    jw_int(o, "duplicate", (int64_t)r->duplicates_n);
    jw_int(o, "counted_without_provenance", (int64_t)r->unstated_n);
}

static void add_warnings(cJSON *root, const rollup *r) {
    cJSON *list = jw_arr(root, "warnings");
    for (size_t i = 0; i < r->warnings_kept_n; i++) {
        const ledger_warning *w = &r->warnings[i];
        cJSON *o = jw_item(list);
        jw_str(o, "file", w->file);
        jw_int(o, "line", (int64_t)w->line);
        jw_str(o, "kind", LEDGER_DOUBT_NAMES[w->kind]);
        jw_str(o, "what", w->what);
    }
    if (r->warnings_n > r->warnings_kept_n)
        jw_int(root, "warnings_not_kept_n", (int64_t)(r->warnings_n - r->warnings_kept_n));
}

void report_rollup_json(const rollup *r, const file_bytes *files, size_t files_n, buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", ROLLUP_SCHEMA);
    jw_bool(root, "ok", 1); /* a faulty ledger has no roll-up */
    jw_str(root, "verdict", r->measured ? "MEASURED" : "INSUFFICIENT");
    jw_int(root, "gate_prompt_tokens", r->gate.prompt_tok);
    jw_int(root, "gate_reused_tokens", r->gate.reused_tok);
    add_ratio(root, "realized_reuse_ratio", &r->gate);
    if (r->weeks_n)
        jw_str(root, "trend", LEDGER_TREND_NAMES[r->trend]);
    else
        cJSON_AddNullToObject(root, "trend");
    cJSON *weeks = jw_arr(root, "weeks");
    for (size_t i = 0; i < r->weeks_n; i++) {
        cJSON *o = jw_item(weeks);
        jw_str(o, "week", r->weeks[i].week);
        add_sums(o, &r->weeks[i].sum);
        jw_bool(o, "thin", r->weeks[i].thin);
        jw_str(o, "trend", LEDGER_TREND_NAMES[r->weeks[i].trend]);
    }
    if (r->not_measured.rows) {
        cJSON *o = jw_obj(root, "not_measured");
        jw_str(o, "provenance", PROV_NAMES[r->not_measured_weakest]);
        add_sums(o, &r->not_measured);
    }
    add_row_counts(root, r);
    cJSON *in = jw_arr(root, "inputs");
    for (size_t i = 0; i < files_n; i++) {
        cJSON *o = jw_item(in);
        jw_str(o, "file", files[i].name);
        jw_str(o, "sha256", files[i].sha256);
    }
    add_warnings(root, r);
    jw_print(root, out);
    cJSON_Delete(root);
}
