#include "report_card.h"

#include "calib/curve.h"
#include "table.h"

#include "base/jsonw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One point of either phase, with what follows from it. */
typedef struct line {
    const char *phase;
    int64_t rows_n,
        position_tok; /* prompt length and depth, or batch and context; -1: not stated */
    int64_t batch_n;
    double s, tok_s;
    double bytes_s, flop_s; /* 0: cannot be said */
    const point_origin *origin;
} line;

/* Weights are read once a step; a prompt longer than the micro-batch reads them again for each. */
static double passes(const card *c, const prefill_point *p) {
    int64_t ub = p->n_ubatch ? p->n_ubatch : prefill_ubatch(c);
    return ceil((double)(p->n_prompt_tok * p->batch_n) / (double)ub);
}

static line prefill_line(const card *c, const prefill_point *p) {
    line l = {.phase = "prefill",
              .rows_n = p->n_prompt_tok ? p->n_prompt_tok : -1,
              .position_tok = p->depth_tok,
              .batch_n = p->batch_n,
              .s = p->s,
              .tok_s = p->tok_s,
              .origin = &p->origin};
    if (c->params > 0) l.flop_s = 2 * (double)c->params * p->tok_s;
    if (c->weights_bytes > 0 && p->s > 0)
        l.bytes_s = (double)c->weights_bytes * passes(c, p) / p->s;
    return l;
}

static line decode_line(const card *c, const decode_point *p) {
    line l = {.phase = "decode",
              .rows_n = -1,
              .position_tok = p->context_tok,
              .batch_n = p->batch_n,
              .s = p->step_s,
              .tok_s = p->tok_s,
              .origin = &p->origin};
    double kv = p->context_tok > 0
                    ? (double)card_kv_bytes_per_tok(c) * (double)(p->context_tok * p->batch_n)
                    : 0;
    if (c->params > 0) l.flop_s = 2 * (double)c->params * p->tok_s;
    if (c->weights_bytes > 0) l.bytes_s = ((double)c->weights_bytes + kv) / p->step_s;
    return l;
}

static const char *tokens(arena *mem, int64_t v) {
    return v < 0 ? "?" : arena_printf(mem, "%lld", (long long)v);
}

/* "141 GB/s (94 %)" */
static const char *against(arena *mem, double v, double unit, const char *name, double ceiling) {
    if (v <= 0) return "–";
    if (ceiling <= 0) return arena_printf(mem, "%.3g %s", v / unit, name);
    return arena_printf(mem, "%.3g %s (%.0f %%)", v / unit, name, 100 * v / ceiling);
}

static const char *spread(arena *mem, const point_origin *o) {
    if (o->samples_n < 2) return arena_printf(mem, "%zu", o->samples_n ? o->samples_n : 1);
    double lo = o->samples_s[0], hi = lo;
    for (size_t i = 1; i < o->samples_n; i++) {
        lo = fmin(lo, o->samples_s[i]);
        hi = fmax(hi, o->samples_s[i]);
    }
    return arena_printf(mem, "%zu ± %.0f %%", o->samples_n, 50 * (hi - lo) / lo);
}

static void add_line(table *t, const card *c, const line *l, arena *mem) {
    const point_origin *o = l->origin;
    const char *remark = o->excluded        ? arena_printf(mem, "not used: %s", o->excluded)
                         : o->shared_prompt ? "shared prompt"
                                            : "";
    const char *row[] = {l->phase,
                         l->phase[0] == 'p' ? tokens(mem, l->rows_n) : "1",
                         tokens(mem, l->position_tok),
                         tokens(mem, l->batch_n),
                         l->s > 0 ? arena_printf(mem, "%.3f", l->s * 1e3) : "?",
                         arena_printf(mem, "%.2f", l->tok_s),
                         against(mem, l->bytes_s, 1e9, "GB/s", c->hardware.mem_bw_bytes_s),
                         against(mem, l->flop_s, 1e12, "TFLOP/s", c->hardware.fp16_flop_s),
                         spread(mem, o),
                         PROV_UPPER[o->prov],
                         o->source,
                         remark};
    table_row(t, row);
}

static void add_points(const card *c, arena *mem, buf *out) {
    static const char *const HEAD[] = {"phase",
                                       "new tok/seq",
                                       "context tok",
                                       "batch",
                                       "ms",
                                       "tok/s",
                                       "implied weight + KV stream",
                                       "implied compute",
                                       "samples",
                                       "provenance",
                                       "source",
                                       "remark"};
    table *t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    for (size_t i = 9; i < 12; i++) table_left(t, i);
    table_row(t, HEAD);
    for (size_t i = 0; i < c->prefill_n; i++) {
        line l = prefill_line(c, &c->prefill[i]);
        add_line(t, c, &l, mem);
    }
    for (size_t i = 0; i < c->decode_n; i++) {
        line l = decode_line(c, &c->decode[i]);
        add_line(t, c, &l, mem);
    }
    table_markdown(t, out);
}

/* Kept, because the card measured it; said, because a projection then makes more work shorter. */
static void fall_line(buf *out, const char *what, size_t falls, size_t of, const curve_fall *f,
                      const char *so) {
    if (falls > 0)
        buf_addf(out,
                 "- %s: %zu of %zu steps to more rows get shorter, most from %.0f (%.3f ms) to "
                 "%.0f (%.3f ms), as measured: %s\n",
                 what, falls, of, f->few_n, f->few_s * 1e3, f->many_n, f->many_s * 1e3, so);
}

static void add_step_times(const card *c, arena *mem, buf *out) {
    err e = {0};
    decode_curve d = {0};
    prefill_curve p;
    bool decodes = decode_curve_fit(c, -1, mem, &d, &e) == OK;
    buf_add(out, "\nStep times a projection takes from it [DERIVED]\n\n");
    if (!decodes) buf_addf(out, "- decode: %s\n", e.what);
    for (size_t i = 0; i < d.n; i++)
        buf_addf(out, "- decode, %.0f sequences: %.3f ms\n", d.batch_n[i], d.a_s[i] * 1e3);
    if (decodes)
        buf_addf(out,
                 "- decode attention: %.2f ns per sequence and own context token, %.2f ns per "
                 "foreign cell; "
                 "residuals: median %.1f %%, worst %.1f %%\n",
                 d.own_s * 1e9, d.foreign_s * 1e9, 100 * d.median_residual_frac,
                 100 * d.worst_residual_frac);
    curve_fall fall = {0};
    size_t falls = decodes ? decode_curve_falls(&d, &fall) : 0;
    fall_line(out, "decode falls", falls, d.n - 1, &fall,
              "more sequences can be projected as faster");
    e = (err){0};
    if (prefill_curve_fit(c, decodes ? &d : NULL, -1, mem, &p, &e)) {
        buf_addf(out, "- prefill: %s\n", e.what);
        return;
    }
    for (size_t i = p.anchors_n; i < p.n; i++)
        buf_addf(out, "- prefill, a step of %.0f rows: %.3f ms\n", p.rows_n[i], p.T_s[i] * 1e3);
    buf_addf(out,
             "- prefill attention: %.3f ns per new token and token before it, %.3f ns per step and "
             "depth token; worst "
             "residual over its points %.1f %%\n",
             p.k1_s * 1e9, p.k0_s * 1e9, 100 * p.worst_residual_frac);
    falls = prefill_curve_falls(&p, &fall);
    fall_line(out, "prefill falls", falls, p.n - 1, &fall,
              "a longer prompt can be projected as shorter");
    if (p.n_ubatch == PREFILL_WHOLE)
        buf_add(out, "- micro-batch: none is known of this engine, a prompt is one step\n");
    else
        buf_addf(out, "- micro-batch: %lld tokens%s\n", (long long)p.n_ubatch,
                 p.n_ubatch_assumed ? " (assumed)" : "");
}

static void left_out_line(buf *out, const char *what, const left_out *l) {
    if (l->n == 0)
        buf_addf(out, "- %s: nothing can be left out\n", what);
    else
        buf_addf(out, "- %s: %zu points, median %.1f %%, worst %.1f %% (%s)\n", what, l->n,
                 100 * l->median_frac, 100 * l->worst_frac, l->worst_at);
}

void report_curves_text(const card *c, const curve_check *check, arena *mem, buf *out) {
    buf_addf(out, "card      %s [%s]\n", c->id, PROV_UPPER[c->prov]);
    add_step_times(c, mem, out);
    buf_add(out, "\nLeft out, and said by curves fitted to the rest\n\n");
    left_out_line(out, "decode, a batch size between two others", &check->decode_batch);
    left_out_line(out, "decode, a context of a batch size", &check->decode_context);
    left_out_line(out, "prefill, a depth of a length", &check->prefill_depth);
    left_out_line(out, "prefill, a length between two others", &check->prefill_length);
}

void report_card_text(const card *c, arena *mem, buf *out) {
    buf_addf(out, "card      %s [%s]\n          %s\n", c->id, PROV_UPPER[c->prov], c->title);
    if (c->simulated_device)
        buf_add(out, "          SIMULATED DEVICE: its times describe no machine\n");
    buf_addf(out, "source    %s\n", c->source);
    buf_addf(out, "model     %s %s", c->model, c->quant);
    if (c->params) buf_addf(out, ", %lld parameters", (long long)c->params);
    /* an input embedding may stay on the host: whether it was counted moves the peak */
    if (c->weights_bytes && c->weights_host_bytes)
        buf_addf(out, ", %lld weight bytes on the device and %lld on the host",
                 (long long)c->weights_bytes, (long long)c->weights_host_bytes);
    else if (c->weights_bytes)
        buf_addf(out, ", %lld weight bytes, all counted as on the device",
                 (long long)c->weights_bytes);
    if (card_kv_bytes_per_tok(c))
        buf_addf(out, ", %lld KV bytes a token [%s]", (long long)card_kv_bytes_per_tok(c),
                 PROV_UPPER[c->kv_prov]);
    buf_addf(out, "\nengine    %s%s%s\n", c->engine.name, c->engine.build ? " " : "",
             c->engine.build ? c->engine.build : "");
    buf_addf(out, "hardware  %s", c->hardware.chip);
    if (c->hardware.mem_bw_bytes_s > 0)
        buf_addf(out,
                 c->hardware.mem_bw_bytes_s < 1e9 ? ", ceiling %.3g GB/s" : ", ceiling %.0f GB/s",
                 c->hardware.mem_bw_bytes_s / 1e9);
    if (c->hardware.fp16_flop_s > 0)
        buf_addf(out, ", %.4g TFLOP/s", c->hardware.fp16_flop_s / 1e12);
    if (c->weights_bytes && c->hardware.mem_bw_bytes_s > 0)
        buf_addf(out, "; one pass over the weights takes at least %.2f ms",
                 (double)c->weights_bytes / c->hardware.mem_bw_bytes_s * 1e3);
    buf_add(out, "\n\n");
    add_points(c, mem, out);
    add_step_times(c, mem, out);
}

static void json_line(cJSON *list, const line *l) {
    cJSON *o = jw_item(list);
    if (l->phase[0] == 'p' && l->rows_n >= 0) jw_int(o, "n_prompt_tok", l->rows_n);
    if (l->position_tok >= 0)
        jw_int(o, l->phase[0] == 'p' ? "depth_tok" : "context_tok", l->position_tok);
    jw_int(o, "batch_n", l->batch_n);
    if (l->s > 0) jw_num(o, l->phase[0] == 'p' ? "s" : "step_s", l->s);
    jw_num(o, "tok_s", l->tok_s);
    if (l->bytes_s > 0) jw_num(o, "implied_bytes_s", l->bytes_s);
    if (l->flop_s > 0) jw_num(o, "implied_flop_s", l->flop_s);
    jw_int(o, "samples_n", (int64_t)l->origin->samples_n);
    jw_str(o, "provenance", PROV_NAMES[l->origin->prov]);
    jw_str(o, "source", l->origin->source);
    jw_str(o, "excluded", l->origin->excluded);
}

void report_card_json(const card *c, arena *mem, buf *out) {
    (void)mem;
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", "ratecast.card-view/1");
    jw_str(root, "id", c->id);
    jw_str(root, "title", c->title);
    jw_str(root, "model", c->model);
    jw_str(root, "quant", c->quant);
    jw_str(root, "provenance", PROV_NAMES[c->prov]);
    jw_str(root, "source", c->source);
    jw_str(root, "chip", c->hardware.chip);
    if (c->hardware.mem_bw_bytes_s > 0) jw_num(root, "mem_bw_bytes_s", c->hardware.mem_bw_bytes_s);
    if (c->hardware.fp16_flop_s > 0) jw_num(root, "fp16_flop_s", c->hardware.fp16_flop_s);
    jw_int(root, "kv_bytes_per_tok", card_kv_bytes_per_tok(c));
    cJSON *prefill = jw_arr(root, "prefill"), *decode = jw_arr(root, "decode");
    for (size_t i = 0; i < c->prefill_n; i++) {
        line l = prefill_line(c, &c->prefill[i]);
        json_line(prefill, &l);
    }
    for (size_t i = 0; i < c->decode_n; i++) {
        line l = decode_line(c, &c->decode[i]);
        json_line(decode, &l);
    }
    jw_print(root, out);
    cJSON_Delete(root);
}
