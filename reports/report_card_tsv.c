#include "report_card_tsv.h"

#include "calib/curve.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SERIES_MAX = 5, CURVE_X_MAX = 200 };

/* One phase: its measured cells, and what its curve says of any. */
typedef struct cell {
    int64_t context_tok, x;
    double s;
    bool apart;    /* measured in a way that the curve does not say: another micro-batch */
    bool excluded; /* kept on the card, and used by nothing */
} cell;

typedef struct phase {
    const char *name;
    const cell *v;
    size_t n;
    const card *c;
    const decode_curve *decode; /* one of the two, or neither: no curve */
    const prefill_curve *prefill;
} phase;

static int by_context(const void *a, const void *b) {
    const cell *x = a, *y = b;
    if (x->context_tok != y->context_tok) return x->context_tok < y->context_tok ? -1 : 1;
    return (x->x > y->x) - (x->x < y->x);
}

/* Whether the cells from `i` on that share its context have more than one x: a curve to compare. */
static bool has_several(const phase *p, size_t i) {
    int64_t x = 0;
    for (size_t k = i; k < p->n && p->v[k].context_tok == p->v[i].context_tok; k++) {
        if (p->v[k].apart || p->v[k].excluded) continue;
        if (x > 0 && p->v[k].x != x) return true;
        x = p->v[k].x;
    }
    return false;
}

/* Contexts with a series of their own: among those stated with more than one x (or, if there are
 * none, all stated) the shortest and the longest, and the ones between at equal distance in the
 * list. Returns how many. */
static size_t pick_series(const phase *p, arena *mem, int64_t out[SERIES_MAX]) {
    int64_t *all = ARENA_ARRAY(mem, int64_t, p->n + 1);
    size_t n = 0;
    for (int lenient = 0; all && n == 0 && lenient < 2; lenient++)
        for (size_t i = 0; i < p->n; i++) {
            bool used = !p->v[i].excluded && p->v[i].context_tok >= 0;
            bool seen = n > 0 && all[n - 1] == p->v[i].context_tok; /* sorted by it */
            if (used && !seen && (lenient || has_several(p, i))) all[n++] = p->v[i].context_tok;
        }
    size_t want = n < SERIES_MAX ? n : SERIES_MAX;
    for (size_t i = 0; i < want; i++) out[i] = all[want > 1 ? i * (n - 1) / (want - 1) : 0];
    return want;
}

/* 0: there is no curve. */
static double curve_s(const phase *p, int64_t context_tok, int64_t x) {
    if (p->prefill) return prefill_curve_s(p->prefill, x, context_tok);
    if (!p->decode) return 0;
    return decode_curve_point_s(p->decode, p->c,
                                &(decode_point){.batch_n = x, .context_tok = context_tok});
}

static void row(const phase *p, const char *kind, size_t series, const cell *v, buf *out) {
    /* a prefill cell is one prompt of x tokens, a decode step makes x tokens */
    buf_addf(out, "%s\t%s\t%zu\t", p->name, kind, series);
    if (v->context_tok >= 0) buf_addf(out, "%" PRId64, v->context_tok);
    buf_addf(out, "\t%" PRId64 "\t%.9g\t%.9g\n", v->x, v->s * 1e3, (double)v->x / v->s);
}

static void add_curve(const phase *p, size_t series, int64_t context_tok, buf *out) {
    int64_t lo = 0, hi = 0, last = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->v[i].context_tok != context_tok || p->v[i].apart || p->v[i].excluded) continue;
        if (lo == 0) lo = p->v[i].x;
        hi = p->v[i].x;
    }
    for (int i = 0; i <= CURVE_X_MAX && hi > lo; i++) {
        double at = (double)lo * pow((double)hi / (double)lo, (double)i / CURVE_X_MAX);
        cell v = {.context_tok = context_tok, .x = llround(at)};
        if (v.x == last) continue;
        last = v.x;
        v.s = curve_s(p, context_tok, v.x);
        if (isfinite(v.s) && v.s > 0) row(p, "curve", series, &v, out);
    }
}

static void add_phase(const phase *p, arena *mem, buf *out) {
    int64_t series[SERIES_MAX];
    size_t n = pick_series(p, mem, series);
    for (size_t i = 0; i < p->n; i++) {
        size_t k = 0;
        while (k < n && series[k] != p->v[i].context_tok) k++;
        bool alone = k == n || p->v[i].apart || p->v[i].excluded;
        row(p, p->v[i].excluded ? "excluded" : "measured", alone ? 0 : k + 1, &p->v[i], out);
    }
    for (size_t k = 0; k < n; k++) add_curve(p, k + 1, series[k], out);
}

static cell *decode_cells(const card *c, arena *mem, size_t *n) {
    cell *v = ARENA_ARRAY(mem, cell, c->decode_n + 1);
    *n = 0;
    for (size_t i = 0; v && i < c->decode_n; i++)
        v[(*n)++] = (cell){c->decode[i].context_tok, c->decode[i].batch_n, c->decode[i].step_s,
                           false, c->decode[i].origin.excluded != NULL};
    if (v) qsort(v, *n, sizeof *v, by_context);
    return v;
}

static bool is_one_prompt(const prefill_point *p) {
    return p->n_prompt_tok > 0 && p->batch_n == 1;
}

/* What the fit pools, and the prompts that it does not use. `n_ubatch`: of the curve; 0: none. */
static cell *prompt_cells(const card *c, int64_t n_ubatch, arena *mem, size_t *n) {
    size_t cells_n = 0;
    const prefill_cell *cells = prefill_cells(c, mem, &cells_n);
    cell *v = ARENA_ARRAY(mem, cell, cells_n + c->prefill_n + 1);
    *n = 0;
    for (size_t i = 0; v && cells && i < cells_n; i++)
        v[(*n)++] = (cell){cells[i].depth_tok, cells[i].n_tok, cells[i].s,
                           n_ubatch > 0 && cells[i].n_ubatch != n_ubatch, false};
    for (size_t i = 0; v && i < c->prefill_n; i++) {
        const prefill_point *p = &c->prefill[i];
        if (p->origin.excluded && is_one_prompt(p))
            v[(*n)++] = (cell){p->depth_tok, p->n_prompt_tok, p->s, false, true};
    }
    if (v) qsort(v, *n, sizeof *v, by_context);
    return v;
}

const char *report_card_undrawn(const card *c, arena *mem) {
    size_t no_length = 0, together = 0;
    const prefill_point *one = NULL;
    for (size_t i = 0; i < c->prefill_n; i++) {
        const prefill_point *p = &c->prefill[i];
        if (p->n_prompt_tok == 0 && no_length++ == 0) one = p;
        together += p->n_prompt_tok > 0 && p->batch_n > 1;
    }
    const char *lacks = !one ? ""
                        : no_length > 1
                            ? arena_printf(mem, "%zu prefill rates of unstated length", no_length)
                            : arena_printf(mem, "a prefill rate of unstated length (%.6g tok/s%s)",
                                           one->tok_s, one->origin.excluded ? ", not used" : "");
    const char *many = together == 0   ? ""
                       : together == 1 ? "a prefill rate of several prompts together"
                                       : arena_printf(mem,
                                                      "%zu prefill rates of several prompts "
                                                      "together",
                                                      together);
    if (!lacks || !many) return NULL;
    return lacks[0] && many[0] ? arena_printf(mem, "%s, %s", lacks, many) : lacks[0] ? lacks : many;
}

err_code report_card_no_points(const card *c, const char *where, arena *mem, err *e) {
    const char *undrawn = report_card_undrawn(c, mem);
    bool some = undrawn && undrawn[0];
    return err_set(e, E_REFUSED, where, "%s has no points to draw%s%s", c->id,
                   some ? ", only " : "", some ? undrawn : "");
}

size_t report_card_tsv(const card *c, arena *scratch, buf *out) {
    err e = {0};
    decode_curve d = {0};
    prefill_curve p = {0};
    phase decode = {.name = "decode", .c = c}, prefill = {.name = "prefill", .c = c};
    decode.v = decode_cells(c, scratch, &decode.n);
    /* what cannot be fitted has points alone; `show` says why */
    if (decode_curve_fit(c, -1, scratch, &d, &e) == OK) decode.decode = &d;
    e = (err){0};
    if (prefill_curve_fit(c, decode.decode, -1, scratch, &p, &e) == OK) prefill.prefill = &p;
    prefill.v = prompt_cells(c, prefill.prefill ? p.n_ubatch : 0, scratch, &prefill.n);
    const char *undrawn = report_card_undrawn(c, scratch);
    bool all = undrawn && !undrawn[0];
    buf_addf(out, "# %s [%s%s]\n# not drawn: %s\nphase\tkind\tseries\tcontext_tok\tx\tms\ttok_s\n",
             c->id, PROV_UPPER[c->prov], c->simulated_device ? ", SIMULATED DEVICE" : "",
             all       ? "nothing"
             : undrawn ? undrawn
                       : "?");
    add_phase(&decode, scratch, out);
    add_phase(&prefill, scratch, out);
    return decode.n + prefill.n;
}
