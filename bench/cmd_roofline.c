#include "commands.h"

#include "base/jsonw.h"
#include "cli/cli.h"
#include "roofline_card.h"
#include "shapes.h"
#include "table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const opt_spec OPTS[] = {
    {"chip", 0, "NAME", "chip of the hardware catalogue, as --list names it", false},
    {"shape", 0, "NAME", "model by its shape; or give the sizes below", false},
    {"quant", 0, "NAME", "weights: f16, q8_0, q4_0, q4_k_m", false},
    {"model-name", 0, "NAME", "model of the card, without --shape", false},
    {"weights-bytes", 0, "N", "weights on the device, without --shape", false},
    {"params", 0, "N", "parameters", false},
    {"layers", 0, "N", "layers", false},
    {"heads", 0, "N", "query heads (default: a width that fits the parameters)", false},
    {"kv-heads", 0, "N", "KV heads of a layer", false},
    {"head-dim", 0, "N", "size of a head", false},
    {"efficiency", 0, "FRAC", "assume that of bandwidth and arithmetic, instead of a fit", false},
    {"tflops", 0, "N", "assume that arithmetic peak where the catalogue has none", false},
    {"id", 0, "ID", "id of the card (default: name of FILE without .json)", false},
    {"list", 0, NULL, "chips, and what is fitted for them", false},
    {"check", 0, NULL, "every measured point beside what a fit without its chip predicts", false},
    OPT_JSON,
    OPT_OUTPUT,
    OPT_RATES,
    OPT_HELP};

/* ---- options ---- */

static double number(const opts *o, const char *name, double max, err *e) {
    const char *s = opts_get(o, name);
    if (!s) return 0;
    char *end = NULL, where[64];
    errno = 0;
    double v = strtod(s, &end);
    if (!errno && end != s && !*end && v > 0 && v <= max) return v;
    snprintf(where, sizeof where, "--%s", name);
    err_set(e, E_USAGE, where, "found \"%s\", expected a number above 0, at most %g", s, max);
    return 0;
}

static int64_t count(const opts *o, const char *name, bool needed, err *e) {
    double v = number(o, name, 0x1p53, e);
    char where[64];
    snprintf(where, sizeof where, "--%s", name);
    if (needed && !opts_has(o, name))
        err_set(e, E_USAGE, where, "is needed without --shape");
    else if (v != floor(v))
        err_set(e, E_USAGE, where, "found \"%s\", expected a whole number", opts_get(o, name));
    return e->code ? 0 : (int64_t)v;
}

static const char *const SIZES[] = {"model-name", "weights-bytes", "params",   "layers",
                                    "heads",      "kv-heads",      "head-dim", NULL};

static err_code sizes_of_options(const opts *o, roofline_request *q, err *e) {
    q->model = opts_get(o, "model-name");
    q->quant = opts_get(o, "quant");
    if (!q->model) q->model = "unnamed";
    if (!q->quant) q->quant = "unstated";
    q->sizes_source = "given on the command line";
    q->work = (roofline_work){.params = count(o, "params", true, e),
                              .weights_bytes = count(o, "weights-bytes", true, e),
                              .layers = count(o, "layers", true, e),
                              .heads = count(o, "heads", false, e),
                              .kv_heads = count(o, "kv-heads", true, e),
                              .head_dim = count(o, "head-dim", true, e)};
    return e->code;
}

static err_code sizes_of_shape(const opts *o, roofline_request *q, err *e) {
    const model_shape *s = NULL;
    quant w = QUANT_F16;
    for (size_t i = 0; SIZES[i]; i++)
        if (opts_has(o, SIZES[i]))
            return err_set(e, E_USAGE, "--shape", "and --%s exclude each other", SIZES[i]);
    if (!opts_has(o, "quant")) return err_set(e, E_USAGE, "--quant", "is needed: --quant q8_0");
    if (shape_find(opts_get(o, "shape"), &s, e) || quant_find(opts_get(o, "quant"), &w, e))
        return e->code;
    q->model = s->name;
    q->quant = QUANT_NAMES[w];
    q->architecture = s->architecture;
    q->sizes_source = s->source;
    q->work = (roofline_work){.params = shape_params(s),
                              .weights_bytes = shape_weights_bytes(s, w),
                              .layers = s->layers,
                              .heads = s->heads,
                              .kv_heads = s->kv_heads,
                              .head_dim = s->head_dim};
    return OK;
}

/* The loader wants a card's file to be named after its id. */
static const char *id_of(const opts *o, arena *mem) {
    const char *id = opts_get(o, "id"), *path = opts_get(o, "output");
    if (id || !path || strcmp(path, "-") == 0) return id;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base);
    bool json = n > 5 && strcmp(base + n - 5, ".json") == 0;
    return json ? arena_printf(mem, "%.*s", (int)n - 5, base) : NULL;
}

static err_code read_request(const opts *o, const hardware_catalogue *chips, arena *mem,
                             roofline_request *q, err *e) {
    const char *chip = opts_get(o, "chip");
    if (!chip) return err_set(e, E_USAGE, "--chip", "is needed; --list names the chips");
    *q = (roofline_request){.id = id_of(o, mem),
                            .efficiency = number(o, "efficiency", 1, e),
                            .peak_flop_s = number(o, "tflops", 1e6, e) * 1e12};
    if (e->code || hardware_pick(chips, chip, "--chip", &q->chip, e)) return e->code;
    return opts_has(o, "shape") ? sizes_of_shape(o, q, e) : sizes_of_options(o, q, e);
}

/* ---- the card ---- */

static err_code write_card(const opts *o, const hardware_catalogue *chips,
                           const roofline_points *points, card_library *lib, arena *mem, err *e) {
    roofline_request q = {0};
    roofline_answer a = {0};
    if (read_request(o, chips, mem, &q, e) || !q.chip || roofline_ask(points, &q, mem, &a, e))
        return e->code;
    const char *const inputs[] = {chips->path, points->path};
    buf out;
    buf_init(&out);
    if (!roofline_card_write(&q, &a, mem, &out, e) && !cli_output(o, &out, lib, inputs, 2, e)) {
        fprintf(stderr, "%s: %s: nothing of this card was measured: every point is %s\n",
                cli_program, q.chip->chip, PROV_UPPER[a.prov]);
        if (a.rates.mfu <= 0)
            fprintf(stderr,
                    "  one sequence and no prefill: the catalogue has no arithmetic of this chip "
                    "for such weights; --tflops N assumes one\n");
    }
    buf_done(&out);
    return e->code;
}

/* ---- the table of left-out chips ---- */

static const char *off(double predicted, double measured, arena *mem) {
    return predicted > 0 ? arena_printf(mem, "%+.1f %%", 100 * (predicted / measured - 1)) : NULL;
}

static const char *shown(double v, int digits, arena *mem) {
    return v > 0 && isfinite(v) ? arena_printf(mem, "%.*f", digits, v) : NULL;
}

static void check_table(const roofline_left_out *rows, size_t n, arena *mem, buf *out) {
    static const char *const HEAD[] = {"chip",        "model",     "quant",
                                       "step ms",     "predicted", "error",
                                       "pp512 tok/s", "predicted", "error in time"};
    table *t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    if (!t) return;
    table_left(t, 1);
    table_left(t, 2);
    table_row(t, HEAD);
    for (size_t i = 0; i < n; i++) {
        const roofline_point *p = rows[i].point;
        double tok = (double)p->prefill_tok;
        bool prefill = rows[i].prefill_s > 0;
        const char *row[] = {p->chip->chip,
                             p->model,
                             p->quant,
                             shown(1e3 * p->decode_s, 2, mem),
                             shown(1e3 * rows[i].decode_s, 2, mem),
                             off(rows[i].decode_s, p->decode_s, mem),
                             prefill ? shown(tok / p->prefill_s, 1, mem) : NULL,
                             prefill ? shown(tok / rows[i].prefill_s, 1, mem) : NULL,
                             off(rows[i].prefill_s, p->prefill_s, mem)};
        table_row(t, row);
    }
    table_markdown(t, out);
}

static const char *terms_text(const roofline_fit *fit, const roofline_terms *t, bool decode,
                              arena *mem) {
    const char *list = decode ? "bandwidth, time a layer" : "arithmetic";
    for (size_t k = decode ? 2 : 1; k < t->n; k++) {
        if (!t->used[k]) continue;
        const char *of = k >= 2 ? fit->family->classes[(k - 2) / 2].name : "all";
        const char *what = decode ? (k % 2 ? "bandwidth" : "time a layer")
                                  : (k % 2 ? "weights under 16 bits" : "arithmetic");
        list = arena_printf(mem, "%s, %s of %s", list, what, of);
    }
    return list;
}

static void add_errors(const char *what, const char *terms, const roofline_errors *x,
                       const roofline_errors *plain, buf *out) {
    if (x->n == 0) return;
    buf_addf(out,
             "- %s, %zu points: %.1f %% median, %.1f %% mean, %.1f %% worst (%s %s); without terms "
             "for classes %.1f %%, %.1f %% and %.1f %%. Terms: %s\n",
             what, x->n, 100 * x->median_frac, 100 * x->mean_frac, 100 * x->worst_frac,
             x->worst->chip->chip, x->worst->quant, 100 * plain->median_frac,
             100 * plain->mean_frac, 100 * plain->worst_frac, terms);
}

static void errors_json(cJSON *o, const char *key, const roofline_errors *x) {
    if (x->n == 0) return;
    cJSON *j = jw_obj(o, key);
    jw_int(j, "points", (int64_t)x->n);
    jw_num(j, "median_frac", x->median_frac);
    jw_num(j, "mean_frac", x->mean_frac);
    jw_num(j, "worst_frac", x->worst_frac);
    jw_str(j, "worst_chip", x->worst->chip->chip);
    jw_str(j, "worst_quant", x->worst->quant);
}

static void check_json(const roofline_fit *fit, const roofline_left_out *rows, size_t n,
                       cJSON *families) {
    cJSON *f = jw_item(families);
    jw_str(f, "name", fit->family->name);
    jw_str(f, "title", fit->family->title);
    errors_json(f, "decode", &fit->decode_error);
    errors_json(f, "decode_without_classes", &fit->decode_plain_error);
    errors_json(f, "prefill", &fit->prefill_error);
    errors_json(f, "prefill_without_classes", &fit->prefill_plain_error);
    cJSON *list = jw_arr(f, "points");
    for (size_t i = 0; i < n; i++) {
        const roofline_point *p = rows[i].point;
        cJSON *r = jw_item(list);
        jw_str(r, "chip", p->chip->chip);
        jw_str(r, "model", p->model);
        jw_str(r, "quant", p->quant);
        jw_num(r, "step_s", p->decode_s);
        jw_num(r, "step_predicted_s", rows[i].decode_s);
        if (rows[i].prefill_s > 0) {
            jw_int(r, "prefill_tok", p->prefill_tok);
            jw_num(r, "prefill_s", p->prefill_s);
            jw_num(r, "prefill_predicted_s", rows[i].prefill_s);
        }
        jw_str(r, "source", p->source);
    }
}

static err_code check_family(const roofline_family *f, cJSON *families, arena *mem, buf *out,
                             err *e) {
    roofline_fit fit;
    roofline_left_out *rows = NULL;
    size_t n = 0;
    if (roofline_fit_family(f, mem, &fit, e) || roofline_leave_out(&fit, mem, &rows, &n, e))
        return e->code;
    if (families) {
        check_json(&fit, rows, n, families);
        return OK;
    }
    buf_addf(out, "%s%s: each chip predicted by a fit to the others\n\n", out->len ? "\n" : "",
             f->title);
    check_table(rows, n, mem, out);
    buf_add(out, "\n");
    add_errors("decode step", terms_text(&fit, &fit.decode, true, mem), &fit.decode_error,
               &fit.decode_plain_error, out);
    add_errors("prefill", terms_text(&fit, &fit.prefill, false, mem), &fit.prefill_error,
               &fit.prefill_plain_error, out);
    return OK;
}

/* ---- the chips ---- */

typedef struct listed {
    const hardware *chip;
    const roofline_family *family;
    roofline_rates rates; /* for 8-bit weights */
    size_t points;
} listed;

static listed list_chip(const hardware *h, const roofline_points *p, const roofline_fit *fits) {
    listed l = {.chip = h, .family = roofline_family_of(p, h)};
    if (!l.family) return l;
    l.rates = roofline_rates_of(&fits[l.family - p->families], h, 8, 0);
    for (size_t i = 0; i < l.family->n; i++)
        l.points += l.family->points[i].chip == h && !l.family->points[i].slopes;
    return l;
}

static void list_json(const listed *l, cJSON *chips) {
    cJSON *c = jw_item(chips);
    jw_str(c, "chip", l->chip->chip);
    jw_str(c, "family", l->family ? l->family->name : NULL);
    if (!l->family) return;
    jw_num(c, "bandwidth_efficiency", l->rates.eta);
    jw_num(c, "layer_s", l->rates.layer_s);
    if (l->rates.mfu > 0) jw_num(c, "arithmetic_efficiency", l->rates.mfu);
    jw_int(c, "points", (int64_t)l->points);
}

static err_code list_chips(const hardware_catalogue *chips, const roofline_points *p, cJSON *root,
                           arena *mem, buf *out, err *e) {
    static const char *const HEAD[] = {"chip",       "fit",        "GB/s",  "of bandwidth",
                                       "ms a layer", "of arithm.", "points"};
    roofline_fit *fits = ARENA_ARRAY(mem, roofline_fit, p->n);
    table *t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    if (!fits || !t) return err_set(e, E_LIMIT, "roofline", "does not fit the memory budget");
    for (size_t i = 0; i < p->n; i++)
        if (roofline_fit_family(&p->families[i], mem, &fits[i], e)) return e->code;
    table_left(t, 1);
    table_row(t, HEAD);
    cJSON *list = root ? jw_arr(root, "chips") : NULL;
    for (size_t i = 0; i < chips->n; i++) {
        listed l = list_chip(&chips->chips[i], p, fits);
        if (list) list_json(&l, list);
        const char *row[] = {l.chip->chip,
                             l.family ? l.family->name : "none: --efficiency",
                             shown(l.chip->mem_bw_bytes_s / 1e9, 0, mem),
                             shown(l.rates.eta, 2, mem),
                             shown(1e3 * l.rates.layer_s, 3, mem),
                             shown(l.rates.mfu, 2, mem),
                             l.family ? arena_printf(mem, "%zu", l.points) : NULL};
        table_row(t, row);
    }
    table_markdown(t, out);
    buf_add(out, "\nFor 8-bit weights. No arithmetic: one sequence and no prefill, unless --tflops "
                 "declares a peak.\npoints: measured on that very chip and in the fit.\n");
    return OK;
}

/* ---- the command ---- */

static err_code tell(const opts *o, const hardware_catalogue *chips, const roofline_points *points,
                     card_library *lib, arena *mem, err *e) {
    bool json = opts_has(o, "json"), check = opts_has(o, "check");
    cJSON *root = json ? cJSON_CreateObject() : NULL;
    buf out;
    buf_init(&out);
    if (root) jw_str(root, "schema", check ? "ratecast.roofline-check/1" : "ratecast.roofline/1");
    if (!check) (void)list_chips(chips, points, root, mem, &out, e);
    cJSON *families = root && check ? jw_arr(root, "families") : NULL;
    for (size_t i = 0; check && !e->code && i < points->n; i++)
        (void)check_family(&points->families[i], families, mem, &out, e);
    if (root) {
        buf_reset(&out);
        jw_print(root, &out);
    }
    const char *const inputs[] = {chips->path, points->path};
    if (!e->code) (void)cli_output(o, &out, lib, inputs, 2, e);
    cJSON_Delete(root);
    buf_done(&out);
    return e->code;
}

static err_code body(const opts *o, card_library *lib, arena *mem, err *e) {
    hardware_catalogue chips;
    roofline_points points;
    if (opts_has(o, "check") && opts_has(o, "list"))
        return err_set(e, E_USAGE, "--check", "and --list exclude each other");
    if (hardware_load(cli_data_path("rates/hardware.json", mem), mem, &chips, e) ||
        roofline_points_load(cli_data_path("bench/roofline_points.json", mem), &chips, mem, &points,
                             e))
        return e->code;
    bool tells = opts_has(o, "check") || opts_has(o, "list");
    return tells ? tell(o, &chips, &points, lib, mem, e)
                 : write_card(o, &chips, &points, lib, mem, e);
}

static int run(const opts *o) {
    return cli_in_arena(o, body);
}

const command CMD_ROOFLINE = {
    .name = "roofline",
    .operands = "",
    .summary = "a rate card for a machine that nobody measured, from fitted efficiencies",
    .example =
        "example: ratecast-bench roofline --chip \"Apple M4 Pro (20-core GPU)\" --shape qwen2.5-7b "
        "--quant q8_0 -o card.json\n         ratecast-bench roofline --check\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
