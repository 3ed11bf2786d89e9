#include "compose.h"

#include "blocks.h"
#include "expression.h"
#include "report_card_tsv.h"
#include "report_stack_tsv.h"
#include "report_sweep_tsv.h"
#include "report_trace.h"
#include "report_validate.h"
#include "report_waterfall_tsv.h"
#include "template.h"

#include <stdio.h>
#include <string.h>

typedef struct composer {
    const spec *s;
    const char *command;
    arena *mem;
    composed *out;
    err *e;
    size_t marks_cap;
    bool banner; /* the template has placed it */
} composer;

static void add_mark(composer *c, mark m, const char *text) {
    composed *out = c->out;
    if (out->marks_n == c->marks_cap) {
        size_t cap = c->marks_cap ? 2 * c->marks_cap : 64;
        mark *more = ARENA_ARRAY(c->mem, mark, cap);
        if (!more) {
            err_set(c->e, E_LIMIT, c->s->path, "does not fit the memory budget");
            return;
        }
        if (out->marks_n) memcpy(more, out->marks, out->marks_n * sizeof *more);
        out->marks = more;
        c->marks_cap = cap;
    }
    out->marks[out->marks_n] = m;
    mark_add(&out->text, out->marks_n++, &m, text);
}

/* ---- pictures ---- */

/* What a run changes in its scenario stands behind the title, which is of the scenario unchanged.
 */
static const char *run_title(const named_run *r, arena *mem) {
    const char *text = r->r.s->title;
    for (size_t i = 0; text && i < r->set_n; i++)
        if (!strchr(r->set[i], '{')) /* a sweep draws its values itself */
            text = arena_printf(mem, "%s, %s", text, r->set[i]);
    return text ? text : "";
}

static const char *shows(const spec *s, const spec_plot *p, arena *mem) {
    static const char *const WHAT[] = {
        "wall-clock of each arm by what the device did",
        "wall-clock, TTFT, memory and speedup over the swept value",
        "what happened when, arm by arm",
        "measured points and fitted curves of the rate card",
        "what each assumption accounts for",
        "projected against witnessed wall-clock",
    };
    const char *of = p->of;
    for (size_t i = 0; i < s->base.runs_n; i++)
        if (strcmp(s->base.runs[i].name, p->of) == 0 && p->kind != PLOT_CARD)
            of = run_title(&s->base.runs[i], mem);
    const spec_explain *x = p->kind == PLOT_WATERFALL ? spec_explain_named(s, p->of) : NULL;
    const spec_witness *w = p->kind == PLOT_VALIDATE ? spec_witness_named(s, p->of) : NULL;
    if (x) of = x->links[0]->from.s->title;
    if (w) of = w->title;
    char *text = arena_printf(mem, "%s: %s", WHAT[p->kind], of);
    if (!text) return "";
    for (char *c = text; *c; c++)
        if (strchr("[]<`\\\r\n", *c)) *c = ' '; /* stands in ![...] */
    return text;
}

static void put_plot(composer *c, const spec_plot *p) {
    /* their arms are panels, bars and sums, no curves */
    bool all_arms = p->kind == PLOT_STACK || p->kind == PLOT_TIMELINE || p->kind == PLOT_WATERFALL;
    mark m = {.kind = MARK_PICTURE,
              .title = shows(c->s, p, c->mem),
              .picture = p->name,
              .all_arms = all_arms};
    add_mark(c, m, "");
    buf_add(&c->out->text, "\n\n");
}

/* ---- fields ---- */

static void fail_at(composer *c, const piece *p, const err *inner) {
    if (inner->where[0]) /* somebody else's file */
        *c->e = *inner;
    else
        err_set(c->e, inner->code, p->where, "{{%.80s}}: %s", p->text, inner->what);
}

static void no_plot(composer *c, const piece *p) {
    const char *names[SPEC_LIST_MAX];
    for (size_t i = 0; i < c->s->plots_n; i++) names[i] = c->s->plots[i].name;
    err_set(c->e, E_SCHEMA, p->where, "found plot \"%s\", which the report does not list%s",
            p->text + 5, reference_near(c->mem, p->text + 5, names, c->s->plots_n));
}

static bool is_plot(composer *c, const piece *p) {
    if (strcmp(p->text, "plots") == 0) {
        for (size_t i = 0; i < c->s->plots_n; i++) put_plot(c, &c->s->plots[i]);
        return true;
    }
    if (strncmp(p->text, "plot ", 5) != 0) return false;
    const spec_plot *plot = spec_plot_named(c->s, p->text + 5);
    if (plot)
        put_plot(c, plot);
    else
        no_plot(c, p);
    return true;
}

/* One line, whatever the specification holds. */
static void put_title(composer *c) {
    for (const char *t = c->s->title; *t; t++)
        buf_add_n(&c->out->text, *t == '\n' || *t == '\r' ? " " : t, 1);
}

static void put_field(composer *c, const piece *p) {
    err inner = {0};
    expressed v;
    size_t from = c->out->text.len;
    if (is_plot(c, p)) return;
    block_context b = {.s = c->s, .command = c->command, .mem = c->mem};
    if (strcmp(p->text, "title") == 0)
        put_title(c);
    else if (!block_put(&b, p->text, &c->out->text, &inner) && !inner.code) {
        if (expression_get(c->s, p->text, c->mem, &v, &inner) == OK)
            add_mark(c, (mark){.kind = MARK_NUMBER, .title = v.title}, v.text);
        from = c->out->text.len;
    }
    marks_disarm(&c->out->text, from);
    c->banner = c->banner || strcmp(p->text, "banner") == 0;
    if (!inner.code) return;
    size_t n = strlen(inner.what);
    if (!inner.where[0] && !strstr(inner.what, "nearest"))
        snprintf(inner.what + n, sizeof inner.what - n, "%s", block_near(p->text, c->mem));
    fail_at(c, p, &inner);
}

static bool has(const composer *c, const piece *p) {
    const spec *s = c->s;
    const struct {
        const char *name;
        size_t n;
    } lists[] = {{"runs", s->base.runs_n},  {"claims", s->claims_n}, {"explain", s->explains_n},
                 {"witness", s->witness_n}, {"plots", s->plots_n},   {"figures", s->figures.n}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(lists[i].name, p->text) == 0) return lists[i].n > 0;
    err_set(c->e, E_SCHEMA, p->where,
            "found {{#%s}}, expected runs, claims, explain, witness, plots or figures", p->text);
    return false;
}

static void collect_arms(composer *c) {
    const reference_base *b = &c->s->base;
    size_t n = 0, most = b->runs_n * SCENARIO_ARMS_MAX;
    const char **arms = ARENA_ARRAY(c->mem, const char *, most ? most : 1);
    for (size_t i = 0; arms && i < b->runs_n; i++) {
        const scenario *s = b->runs[i].r.s;
        for (size_t a = 0; a < s->arms_n; a++) {
            bool seen = false;
            for (size_t k = 0; k < n; k++) seen |= strcmp(arms[k], s->arms[a].name) == 0;
            if (!seen) arms[n++] = s->arms[a].name;
        }
    }
    c->out->arms = arms;
    c->out->arms_n = n;
}

/* Blocks and sections that are left out leave blank lines: one is kept, none at the ends. No block
 * has two of its own. */
static void one_blank_line(buf *b) {
    size_t at = 0, newlines = 2;
    for (size_t i = 0; i < b->len; i++) {
        newlines = b->s[i] == '\n' ? newlines + 1 : 0;
        if (newlines <= 2) b->s[at++] = b->s[i];
    }
    while (at > 1 && b->s[at - 1] == '\n' && b->s[at - 2] == '\n') at--;
    b->s[at] = '\0';
    b->len = at;
}

/* What the numbers are stands in every report: below its title when the template places it nowhere.
 */
static void add_banner(composer *c) {
    const block_context b = {.s = c->s, .command = c->command, .mem = c->mem};
    buf *text = &c->out->text, whole;
    size_t head = strncmp(text->s, "# ", 2) == 0 ? strcspn(text->s, "\n") : 0;
    if (c->banner || c->e->code) return;
    buf_init(&whole);
    buf_add_n(&whole, text->s, head);
    buf_add(&whole, "\n\n");
    (void)block_put(&b, "banner", &whole, c->e);
    buf_add(&whole, "\n");
    buf_add(&whole, text->s + head);
    buf_done(text);
    *text = whole;
}

err_code compose(const spec *s, const char *command, arena *mem, composed *out, err *e) {
    *out = (composed){0};
    composer c = {.s = s, .command = command, .mem = mem, .out = out, .e = e};
    template_text t;
    bool skip = false;
    buf_init(&out->text);
    if (template_parse(&s->template, mem, &t, e)) return e->code;
    for (size_t i = 0; i < t.n && !e->code; i++) {
        const piece *p = &t.pieces[i];
        if (p->kind == PIECE_IF)
            skip = !has(&c, p);
        else if (p->kind == PIECE_END)
            skip = false;
        else if (skip)
            continue;
        else if (p->kind == PIECE_FIELD)
            put_field(&c, p);
        else {
            size_t from = out->text.len;
            buf_add(&out->text, p->text);
            marks_disarm(&out->text, from);
        }
    }
    one_blank_line(&out->text);
    add_banner(&c);
    one_blank_line(&out->text);
    collect_arms(&c);
    return e->code;
}

void composed_done(composed *c) {
    buf_done(&c->text);
}

/* ---- data of pictures ---- */

static err_code timeline(const projection *p, span_window w, arena *mem, buf *tsv, err *e) {
    trace t;
    trace_options how = {.window = w, .most_n = TRACE_PLOT_SPANS_MAX, .rows_only = true};
    if (trace_new(p, how, mem, &t, e) == OK) report_timeline_tsv(&t, tsv);
    trace_done(&t);
    if (!e->code && !report_timeline_has_rows(tsv))
        return err_set(e, E_REFUSED, "", "nothing happens in the window");
    return e->code;
}

static err_code plot_run_data(const spec *s, const spec_plot *p, arena *mem, buf *tsv, err *e) {
    reference_base base = s->base;
    const named_run *r = reference_run(&base, p->of, e);
    if (!r) return e->code;
    if ((p->kind == PLOT_SWEEP) != r->r.sweep)
        return err_set(e, E_REFUSED, "", "\"%s\" %s a sweep", p->of, r->r.sweep ? "is" : "is not");
    if (p->kind == PLOT_SWEEP)
        report_sweep_tsv(r->r.s, r->r.points, tsv);
    else if (p->kind == PLOT_STACK)
        report_stack_tsv(r->r.points[0].p, tsv);
    else
        return timeline(r->r.points[0].p, p->window, mem, tsv, e);
    return OK;
}

err_code compose_plot(const spec *s, const spec_plot *p, arena *mem, buf *tsv, err *e) {
    err inner = {0};
    const card *c = NULL;
    const spec_explain *x = spec_explain_named(s, p->of);
    const spec_witness *w = spec_witness_named(s, p->of);
    if (p->kind == PLOT_CARD) {
        if (card_find(s->base.lib, p->of, NULL, mem, &c, &inner) == OK &&
            report_card_tsv(c, mem, tsv) == 0)
            (void)report_card_no_points(c, "", mem, &inner);
    } else if (p->kind == PLOT_WATERFALL && x)
        report_waterfall_tsv(x->links, x->n, tsv);
    else if (p->kind == PLOT_VALIDATE && w && w->score.wall.n > 0)
        report_validate_tsv(&w->score, tsv);
    else if (p->kind == PLOT_WATERFALL || p->kind == PLOT_VALIDATE)
        err_set(&inner, E_SCHEMA, "", "found \"%s\", expected the name of %s of the report", p->of,
                p->kind == PLOT_WATERFALL ? "an explanation" : "scored witnessed runs");
    else
        (void)plot_run_data(s, p, mem, tsv, &inner);
    if (!inner.code) return OK;
    char where[256];
    snprintf(where, sizeof where, "%.120s, plot %.64s", s->path, p->name);
    return err_set(e, inner.code, where, "%s%s%s", inner.where, inner.where[0] ? ": " : "",
                   inner.what);
}
