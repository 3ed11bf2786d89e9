#include "report_waterfall_tsv.h"

#include "report_waterfall.h"
#include "tsv.h"

#include <stdbool.h>

typedef struct row {
    size_t link;
    const char *kind, *term;
    const int64_t *wall_ns;   /* by side, -1: none */
    const int64_t *change_ns; /* by side; NULL: a state */
    double speedup;           /* 0: none */
    double speedup_change;
    bool extrapolated;
} row;

/* What stands before the cause; the caller adds that and then the numbers. */
static void add_place(const row *r, buf *out) {
    buf_addf(out, "%zu\t%s\t", r->link, r->kind);
    tsv_text(r->term, out);
    buf_add(out, "\t");
}

static void add_numbers(const waterfall *f, const row *r, buf *out) {
    for (int side = 0; side < SIDES_N; side++) {
        bool there = (!f->within || side == SIDE_ARM) && r->wall_ns[side] >= 0;
        buf_add(out, "\t");
        if (there) tsv_ns_as_s(r->wall_ns[side], out);
        buf_add(out, "\t");
        if (there && r->change_ns) tsv_ns_as_s(r->change_ns[side], out);
    }
    buf_add(out, "\t");
    if (r->speedup > 0) buf_addf(out, "%.12f", r->speedup);
    buf_add(out, "\t");
    if (r->speedup > 0 && r->change_ns) buf_addf(out, "%.12f", r->speedup_change);
    buf_addf(out, "\t%d\n", r->extrapolated);
}

static void take_state(const waterfall_state *s, int64_t *wall, row *r) {
    r->extrapolated = false;
    for (int side = 0; side < SIDES_N; side++) {
        wall[side] = s->side[side].wall_ns;
        r->extrapolated |= s->side[side].extrapolated;
    }
    r->wall_ns = wall;
    r->speedup = s->speedup;
}

static void add_state(const waterfall *f, size_t link, const char *kind, const waterfall_end *end,
                      buf *out) {
    int64_t wall[SIDES_N];
    row r = {.link = link, .kind = kind, .term = f->within ? end->arm[SIDE_ARM]->name : end->s->id};
    take_state(&end->at, wall, &r);
    add_place(&r, out);
    if (end->printed_source && !end->printed_differs) {
        buf_add(out, "as printed: ");
        tsv_text(end->printed_source, out);
    }
    add_numbers(f, &r, out);
}

/* What is printed for an end, and the step between that and its projection: from the print (sign
 * -1) or to it (sign 1). */
static void add_printed(const waterfall *f, size_t link, const waterfall_end *end, int sign,
                        buf *out) {
    int64_t wall[SIDES_N], change[SIDES_N];
    double x = report_waterfall_printed_speedup(end);
    row print = {.link = link,
                 .kind = "printed",
                 .term = "printed",
                 .wall_ns = end->printed_ns,
                 .speedup = x};
    row step = print;
    step.kind = step.term = "unexplained";
    if (sign < 0) take_state(&end->at, wall, &step);
    step.change_ns = change;
    step.speedup_change = x > 0 ? sign * (x - end->at.speedup) : 0;
    for (int side = 0; side < SIDES_N; side++) change[side] = sign * end->unexplained_ns[side];
    for (int k = 0; k < 2; k++) {
        bool is_print = (k == 0) == (sign < 0);
        add_place(is_print ? &print : &step, out);
        tsv_text(is_print ? end->printed_source : "no declared term gives it", out);
        add_numbers(f, is_print ? &print : &step, out);
    }
}

static void add_step(const waterfall *f, size_t link, const waterfall_term *t, buf *out) {
    int64_t wall[SIDES_N];
    row r = {.link = link,
             .kind = "step",
             .term = t->name,
             .change_ns = t->step_ns,
             .speedup_change = t->step_speedup};
    take_state(&t->after, wall, &r);
    add_place(&r, out);
    for (size_t i = 0; i < t->changes_n; i++) {
        const waterfall_change *c = &t->changes[i];
        if (i > 0) buf_add(out, "; ");
        tsv_text(c->what.text, out);
        if (f->within || c->side == SIDES_N) continue;
        buf_add(out, " (");
        tsv_text(f->to.arm[c->side]->name, out);
        buf_add(out, ")");
    }
    add_numbers(f, &r, out);
}

void report_waterfall_tsv(const waterfall *const *links, size_t n, buf *out) {
    bool within = links[0]->within;
    tsv_banner(report_waterfall_weakest(links, n), false, out); /* `explain` refuses such cards */
    tsv_text(links[0]->from.s->id, out);
    for (size_t i = 0; i < n && !within; i++) {
        buf_add(out, " -> ");
        tsv_text(links[i]->to.s->id, out);
    }
    buf_addf(out, "\t%s\t", within ? "arms" : "scenarios");
    tsv_text(within && n > 1 ? "each other arm" : links[0]->to.arm[SIDE_ARM]->name, out);
    buf_add(out, "\t");
    tsv_text(links[n - 1]->to.arm[SIDE_BASE]->name, out);
    buf_add(out, "\nlink\tkind\tterm\tcause\tarm_s\tarm_change_s\tbase_s\tbase_change_s\tspeedup\t"
                 "speedup_change\textrapolated\n");
    for (size_t i = 0; i < n; i++) {
        const waterfall *f = links[i];
        bool first = within || i == 0, last = within || i + 1 == n;
        if (first && f->from.printed_differs) add_printed(f, i + 1, &f->from, -1, out);
        if (first) add_state(f, i + 1, "from", &f->from, out);
        for (size_t k = 0; k < f->n; k++) add_step(f, i + 1, &f->terms[k], out);
        add_state(f, i + 1, "to", &f->to, out);
        if (last && f->to.printed_differs) add_printed(f, i + 1, &f->to, 1, out);
    }
}
