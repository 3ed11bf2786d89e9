/* Which figures of a claim no statement of its audit rests on: change one alone, a thousandfold up
 * and down, audit again, and all that was said is said again, word for word. */
#include "audit/audit.h"

#include <math.h>
#include <string.h>

enum { TRIAL_BUDGET_MIB = 256 };

/* A copy of a claim whose figures may be changed. */
typedef struct trial {
    const claim *as_printed;
    claim changed;
    claim_figure *figures;
} trial;

static const claim_figure *copy_of(const trial *t, const claim_figure *f) {
    const claim *c = t->as_printed;
    return f && f >= c->figures && f < c->figures + c->figures_n ? &t->figures[f - c->figures] : f;
}

static bool copy_ratios(trial *t, arena *mem) {
    const claim *c = t->as_printed;
    ratio *r = ARENA_ARRAY(mem, ratio, c->ratios_n);
    if (!r) return false;
    for (size_t i = 0; i < c->ratios_n; i++) {
        r[i] = c->ratios[i];
        r[i].num = copy_of(t, r[i].num);
        r[i].den = copy_of(t, r[i].den);
    }
    t->changed.ratios = r;
    return true;
}

static bool copy_formulas(trial *t, arena *mem) {
    const claim *c = t->as_printed;
    formula *fm = ARENA_ARRAY(mem, formula, c->formulas_n);
    if (!fm) return false;
    for (size_t i = 0; i < c->formulas_n; i++) {
        fm[i] = c->formulas[i];
        sum_part *parts = ARENA_ARRAY(mem, sum_part, fm[i].parts_n);
        if (!parts) return false;
        for (size_t k = 0; k < fm[i].parts_n; k++) {
            parts[k] = fm[i].parts[k];
            parts[k].figure = copy_of(t, parts[k].figure);
        }
        fm[i].parts = parts;
        fm[i].gives = copy_of(t, fm[i].gives);
    }
    t->changed.formulas = fm;
    return true;
}

static bool trial_of(const claim *c, arena *mem, trial *t) {
    *t = (trial){.as_printed = c, .changed = *c};
    t->figures = ARENA_ARRAY(mem, claim_figure, c->figures_n);
    if (!t->figures) return false;
    if (c->figures_n) memcpy(t->figures, c->figures, c->figures_n * sizeof *t->figures);
    t->changed.figures = t->figures;
    return copy_ratios(t, mem) && copy_formulas(t, mem);
}

static void change(quantity *q, double by) {
    if (q->v == 0) { /* no multiple of it is another number */
        q->v = q->lo = q->hi = q->u->scale * by;
        return;
    }
    q->v *= by, q->lo *= by, q->hi *= by, q->step *= by;
}

static bool same_statement(const finding *x, const finding *y) {
    return x->rule == y->rule && x->outcome == y->outcome && strcmp(x->check, y->check) == 0 &&
           strcmp(x->about, y->about) == 0 && strcmp(x->why, y->why) == 0;
}

/* Are all of `was` among `is`, in their order? What is said besides does not count: that a number
 * out of all proportion would be noticed compares it with nothing. */
static bool still_said(const finding *was, size_t was_n, const finding *is, size_t is_n) {
    size_t k = 0;
    for (size_t i = 0; i < was_n; i++, k++) {
        while (k < is_n && !same_statement(&was[i], &is[k])) k++;
        if (k == is_n) return false;
    }
    return true;
}

static err_code changes_nothing(trial *t, size_t at, double by, const hardware_catalogue *chips,
                                const audit *was, arena *scratch, bool *nothing, err *e) {
    audit is;
    change(&t->figures[at].q, by);
    if (isfinite(t->figures[at].q.v)) {
        if (audit_claim(&t->changed, chips, scratch, &is, e)) return e->code;
        *nothing = still_said(was->findings, was->findings_n, is.findings, is.findings_n) &&
                   still_said(was->passes, was->passes_n, is.passes, is.passes_n);
    }
    t->figures[at] = t->as_printed->figures[at];
    arena_reset(scratch);
    return OK;
}

/* Is the figure's value the one that a statement about it found? That needs no trial. */
static bool found_in(const finding *list, size_t n, const claim_figure *f) {
    double v = f->q.v / f->q.u->scale;
    size_t len = strlen(f->name);
    for (size_t i = 0; i < n; i++) {
        const char *about = list[i].about;
        bool mine = strncmp(about, f->name, len) == 0 &&
                    (about[len] == '\0' || strncmp(about + len, " (", 2) == 0);
        if (mine && list[i].has_found && list[i].found == v &&
            strcmp(list[i].unit, f->q.u->name) == 0)
            return true;
    }
    return false;
}

err_code audit_not_compared(const claim *c, const hardware_catalogue *chips, arena *mem, audit *a,
                            err *e) {
    static const double BY[] = {1.3e3, 0.7e-3};
    const claim_figure **list = ARENA_ARRAY(mem, const claim_figure *, c->figures_n);
    arena *scratch = arena_new((size_t)TRIAL_BUDGET_MIB << 20);
    trial t;
    size_t n = 0;
    if (!list || !scratch || !trial_of(c, mem, &t)) {
        arena_free(scratch);
        return err_set(e, E_LIMIT, c->id, "the audit does not fit the memory budget");
    }
    for (size_t i = 0; i < c->figures_n && !e->code; i++) {
        bool nothing = !found_in(a->findings, a->findings_n, &c->figures[i]) &&
                       !found_in(a->passes, a->passes_n, &c->figures[i]);
        for (size_t k = 0; k < sizeof BY / sizeof *BY && nothing && !e->code; k++)
            (void)changes_nothing(&t, i, BY[k], chips, a, scratch, &nothing, e);
        if (nothing) list[n++] = &c->figures[i];
    }
    arena_free(scratch);
    a->not_compared = list;
    a->not_compared_n = n;
    a->figures_n = c->figures_n;
    return e->code;
}
