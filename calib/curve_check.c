#include "curve_check.h"

#include "base/stat.h"

#include <math.h>
#include <string.h>

enum { SCRATCH_MIB = 64 };

/* A card with room to mark points as left out. */
typedef struct trial {
    const card *whole;
    card part;
    decode_point *decode;
    prefill_point *prefill;
} trial;

typedef struct errors {
    double *v;
    size_t n;
    double worst;
    const char *worst_at;
} errors;

static void add(errors *r, double said_s, double seen_s, const char *at) {
    double off = fabs(said_s / seen_s - 1);
    if (r->n == 0 || off > r->worst) {
        r->worst = off;
        r->worst_at = at;
    }
    r->v[r->n++] = off;
}

static left_out summary(errors *r) {
    if (r->n == 0) return (left_out){0};
    return (left_out){r->n, stat_median_f64(r->v, r->n), r->worst, r->worst_at};
}

static void restore(trial *t) {
    memcpy(t->decode, t->whole->decode, t->whole->decode_n * sizeof *t->decode);
    memcpy(t->prefill, t->whole->prefill, t->whole->prefill_n * sizeof *t->prefill);
}

static const char LEFT_OUT[] = "left out";

/* ---- decode ---- */

static bool decode_used(const decode_point *p) {
    return !p->origin.excluded && p->context_tok >= 0;
}

/* Says the points that are marked, and adds how far off that is. */
static void say_decode(trial *t, arena *mem, errors *r) {
    err e = {0};
    decode_curve d;
    arena *scratch = arena_new((size_t)SCRATCH_MIB << 20);
    if (scratch && decode_curve_fit(&t->part, -1, scratch, &d, &e) == OK)
        for (size_t i = 0; i < t->part.decode_n; i++) {
            const decode_point *p = &t->decode[i];
            if (p->origin.excluded == LEFT_OUT)
                add(r, decode_curve_point_s(&d, t->whole, p), p->step_s,
                    arena_printf(mem, "%lld sequences, context %lld", (long long)p->batch_n,
                                 (long long)p->context_tok));
        }
    arena_free(scratch);
    restore(t);
}

static void check_batches(trial *t, const decode_curve *d, arena *mem, errors *r) {
    for (size_t b = 1; b + 1 < d->n; b++) {
        for (size_t i = 0; i < t->part.decode_n; i++)
            if (decode_used(&t->decode[i]) && (double)t->decode[i].batch_n == d->batch_n[b])
                t->decode[i].origin.excluded = LEFT_OUT;
        say_decode(t, mem, r);
    }
}

static void check_contexts(trial *t, arena *mem, errors *r) {
    const card *c = t->whole;
    for (size_t i = 0; i < c->decode_n; i++) {
        bool other = false;
        for (size_t j = 0; j < c->decode_n; j++)
            other |= decode_used(&c->decode[j]) && c->decode[j].batch_n == c->decode[i].batch_n &&
                     c->decode[j].context_tok != c->decode[i].context_tok;
        if (!other || !decode_used(&c->decode[i])) continue;
        t->decode[i].origin.excluded = LEFT_OUT;
        say_decode(t, mem, r);
    }
}

/* ---- prefill ---- */

/* Cells with this length and, unless it is < 0, depth: a curve that has seen none of them says
 * them. */
static void say_prefill(trial *t, const decode_curve *d, const prefill_cell *cells, size_t n,
                        int64_t n_tok, int64_t depth_tok, arena *mem, errors *r) {
    err e = {0};
    prefill_curve p;
    arena *scratch = arena_new((size_t)SCRATCH_MIB << 20);
    for (size_t i = 0; i < t->part.prefill_n; i++) {
        prefill_point *q = &t->prefill[i];
        if (q->n_prompt_tok == n_tok && (depth_tok < 0 || q->depth_tok == depth_tok))
            q->origin.excluded = LEFT_OUT;
    }
    bool ok = scratch && prefill_curve_fit(&t->part, d, -1, scratch, &p, &e) == OK;
    for (size_t i = 0; ok && i < n; i++) {
        if (cells[i].n_tok != n_tok || (depth_tok >= 0 && cells[i].depth_tok != depth_tok))
            continue;
        p.n_ubatch = cells[i].n_ubatch;
        add(r, prefill_curve_s(&p, n_tok, cells[i].depth_tok), cells[i].s,
            arena_printf(mem, "%lld tokens at depth %lld", (long long)n_tok,
                         (long long)cells[i].depth_tok));
    }
    arena_free(scratch);
    restore(t);
}

/* Cells are sorted by length, then depth. */
static void check_depths(trial *t, const decode_curve *d, const prefill_cell *v, size_t n,
                         arena *mem, errors *r) {
    for (size_t i = 0, first = 0; i < n; i++) {
        if (v[i].n_tok != v[first].n_tok) first = i;
        size_t last = i;
        while (last + 1 < n && v[last + 1].n_tok == v[i].n_tok) last++;
        bool again = i > first && v[i - 1].depth_tok == v[i].depth_tok;
        if (!again && v[first].depth_tok != v[last].depth_tok)
            say_prefill(t, d, v, n, v[i].n_tok, v[i].depth_tok, mem, r);
    }
}

static void check_lengths(trial *t, const decode_curve *d, const prefill_cell *v, size_t n,
                          arena *mem, errors *r) {
    for (size_t i = 1; i < n; i++)
        if (v[i].n_tok != v[i - 1].n_tok && v[i].n_tok != v[n - 1].n_tok)
            say_prefill(t, d, v, n, v[i].n_tok, -1, mem, r);
}

static err_code make_trial(const card *c, arena *mem, trial *t, errors *r, err *e) {
    size_t points = c->decode_n + c->prefill_n;
    *t = (trial){.whole = c, .part = *c};
    t->decode = ARENA_ARRAY(mem, decode_point, c->decode_n + 1);
    t->prefill = ARENA_ARRAY(mem, prefill_point, c->prefill_n + 1);
    r->v = ARENA_ARRAY(mem, double, points + 1);
    if (!t->decode || !t->prefill || !r->v)
        return err_set(e, E_LIMIT, c->id, "does not fit the memory budget");
    restore(t);
    t->part.decode = t->decode;
    t->part.prefill = t->prefill;
    return OK;
}

err_code curve_check_run(const card *c, arena *mem, curve_check *out, err *e) {
    trial t;
    errors r = {0};
    decode_curve d;
    prefill_curve p;
    err none = {0};
    *out = (curve_check){0};
    if (make_trial(c, mem, &t, &r, e)) return e->code;
    bool decodes = decode_curve_fit(c, -1, mem, &d, e) == OK;
    if (decodes) {
        check_batches(&t, &d, mem, &r);
        out->decode_batch = summary(&r);
        r.n = 0;
        check_contexts(&t, mem, &r);
        out->decode_context = summary(&r);
    }
    const decode_curve *steps = decodes ? &d : NULL;
    if (prefill_curve_fit(c, steps, -1, mem, &p, &none)) return decodes ? OK : e->code;
    *e = (err){0}; /* prefill alone can be checked too */
    size_t n = 0;
    const prefill_cell *cells = prefill_cells(c, mem, &n);
    if (!cells) return err_set(e, E_LIMIT, c->id, "does not fit the memory budget");
    r.n = 0;
    check_depths(&t, steps, cells, n, mem, &r);
    out->prefill_depth = summary(&r);
    r.n = 0;
    check_lengths(&t, steps, cells, n, mem, &r);
    out->prefill_length = summary(&r);
    return OK;
}
