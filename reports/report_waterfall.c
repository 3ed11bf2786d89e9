#include "report_waterfall.h"

#include "table.h"

#include "base/jsonw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct view {
    const waterfall *f;
    arena *mem;
    int decimals; /* of seconds: the same in all of a table, so that its columns add up */
    int sides_n;  /* columns of walls: within a scenario the baseline stays */
} view;

enum { COLS_MAX = 10 };

static double s_of(int64_t ns) {
    return (double)ns / 1e9;
}

/* ---- numbers as text; an arena of output is far above what these take ---- */

static const char *fmt_s(const view *v, int64_t ns) {
    return arena_printf(v->mem, "%.*f", v->decimals, s_of(ns));
}

/* 0.0 has no sign, whatever it was rounded from. */
static const char *fmt_signed(arena *mem, int decimals, double x) {
    bool zero = fabs(x) < 0.5 * pow(10, -decimals);
    return arena_printf(mem, zero ? "%.*f" : "%+.*f", decimals, zero ? 0 : x);
}

static const char *fmt_change(const view *v, int64_t ns) {
    return fmt_signed(v->mem, v->decimals, s_of(ns));
}

static const char *fmt_x(const view *v, double x) {
    return arena_printf(v->mem, "%.2fx", x);
}

static const char *fmt_x_change(const view *v, double x) {
    return arena_printf(v->mem, "%sx", fmt_signed(v->mem, 2, x));
}

static const char *fmt_pct(const view *v, double part, double whole) {
    return whole != 0 ? fmt_signed(v->mem, 1, 100 * part / whole) : "–";
}

static const char *fmt_prov(int before, int after, arena *mem) {
    if (before < 0 && after < 0) return "";
    if (before == after) return PROV_UPPER[before];
    return arena_printf(mem, "%s -> %s", before < 0 ? "–" : PROV_UPPER[before],
                        after < 0 ? "–" : PROV_UPPER[after]);
}

static view view_of(const waterfall *f, arena *mem) {
    view v = {.f = f, .mem = mem, .sides_n = f->within ? 1 : SIDES_N};
    int64_t most = 0;
    for (int i = 0; i < SIDES_N; i++) {
        int64_t a = f->from.at.side[i].wall_ns, b = f->to.at.side[i].wall_ns;
        most = a > most ? a : most;
        most = b > most ? b : most;
    }
    v.decimals = most >= 100000000000 ? 1 : most >= 1000000000 ? 2 : 4;
    return v;
}

static const char *side_name(const waterfall *f, int side) {
    return f->to.arm[side]->name;
}

/* One change in words, with the arm that it is of; alike in both, or within a scenario: no name. */
static const char *cause_of(const waterfall *f, const waterfall_change *c, arena *mem) {
    if (f->within || c->side == SIDES_N) return c->what.text;
    return arena_printf(mem, "%s (%s)", c->what.text, side_name(f, c->side));
}

/* ---- the waterfall ---- */

typedef struct line {
    const char *step, *cause;
    const char *input;        /* provenance of what is changed; NULL: nothing is */
    prov prov;                /* of the walls of this line */
    const int64_t *wall_ns;   /* by side, -1: none */
    const int64_t *change_ns; /* by side; NULL: none */
    double speedup;           /* 0: none */
    double speedup_change;
    const bool *mark; /* by side: priced outside the measured range */
} line;

static void add_line(const view *v, table *t, const line *l) {
    const char *cells[COLS_MAX] = {l->step, l->cause, l->input ? l->input : ""};
    size_t c = 3;
    for (int side = 0; side < v->sides_n; side++) {
        int64_t ns = l->wall_ns[side];
        cells[c++] = ns < 0 ? ""
                            : arena_printf(v->mem, "%s%s", fmt_s(v, ns),
                                           l->mark && l->mark[side] ? "†" : "");
        cells[c++] = l->change_ns ? fmt_change(v, l->change_ns[side]) : "";
    }
    cells[c++] = l->speedup > 0 ? fmt_x(v, l->speedup) : "";
    cells[c++] = l->change_ns && l->speedup > 0 ? fmt_x_change(v, l->speedup_change) : "";
    cells[c] = PROV_UPPER[l->prov];
    table_row(t, cells);
}

static void line_at(const view *v, table *t, const waterfall_state *s, line *l) {
    int64_t wall[SIDES_N];
    bool mark[SIDES_N];
    for (int side = 0; side < SIDES_N; side++) {
        wall[side] = s->side[side].wall_ns;
        mark[side] = s->side[side].extrapolated;
    }
    l->wall_ns = wall;
    l->mark = mark;
    l->speedup = s->speedup;
    for (int side = 0; side < SIDES_N; side++) /* a speedup is of both */
        l->prov = prov_weakest(l->prov, s->side[side].prov);
    add_line(v, t, l);
    l->wall_ns = NULL;
    l->mark = NULL;
}

double report_waterfall_printed_speedup(const waterfall_end *end) {
    if (end->printed_ns[SIDE_ARM] <= 0 || end->printed_ns[SIDE_BASE] <= 0) return 0;
    return (double)end->printed_ns[SIDE_BASE] / (double)end->printed_ns[SIDE_ARM];
}

static void printed_line(const view *v, table *t, const waterfall_end *end) {
    line l = {.step = "printed",
              .cause = end->printed_source,
              .prov = PROV_CLAIM,
              .wall_ns = end->printed_ns,
              .speedup = report_waterfall_printed_speedup(end)};
    add_line(v, t, &l);
}

/* The part of a printed wall that the declared terms do not give, as a step from (sign -1) or to
 * (sign 1) the print. */
static void unexplained_line(const view *v, table *t, const waterfall_end *end, int sign) {
    int64_t change[SIDES_N];
    double x = report_waterfall_printed_speedup(end);
    for (int side = 0; side < SIDES_N; side++) change[side] = sign * end->unexplained_ns[side];
    line l = {.step = "unexplained",
              .cause = "left unexplained by the document: no declared term gives it",
              .prov = PROV_CLAIM, /* a printed wall less a projected one */
              .change_ns = change};
    if (sign < 0) {
        l.speedup_change = x > 0 ? end->at.speedup - x : 0;
        line_at(v, t, &end->at, &l);
        return;
    }
    l.wall_ns = end->printed_ns;
    l.speedup = x;
    l.speedup_change = x - end->at.speedup;
    add_line(v, t, &l);
}

static const char *end_name(const view *v, const waterfall_end *end) {
    const char *name = v->f->within ? end->arm[SIDE_ARM]->name : end->s->id;
    if (!end->printed_source || end->printed_differs) return name;
    return arena_printf(v->mem, "%s, as printed (%s)", name, end->printed_source);
}

static table *waterfall_table(const view *v) {
    const char *head[COLS_MAX] = {"step", "cause", "changed input"};
    size_t c = 3;
    for (int side = 0; side < v->sides_n; side++) {
        head[c++] =
            arena_printf(v->mem, "%s s", v->f->within ? "wall-clock" : side_name(v->f, side));
        head[c++] = "change";
    }
    head[c++] = "speedup";
    head[c++] = "change";
    head[c++] = "provenance"; /* a new input's class is not that of the wall that follows from it */
    table *t = table_new(v->mem, c);
    table_left(t, 1);
    table_left(t, 2);
    table_left(t, c - 1);
    table_row(t, head);
    return t;
}

/* The first change with the numbers of the term, the others below it. */
static void term_lines(const view *v, table *t, const waterfall_term *x) {
    for (size_t i = 0; i < x->changes_n; i++) {
        const waterfall_change *c = &x->changes[i];
        line l = {.cause = cause_of(v->f, c, v->mem),
                  .input = fmt_prov(c->what.prov_before, c->what.prov_after, v->mem)};
        if (i > 0) {
            const char *below[COLS_MAX] = {"", l.cause, l.input};
            table_row(t, below);
            continue;
        }
        l.step = x->name;
        l.change_ns = x->step_ns;
        l.speedup_change = x->step_speedup;
        line_at(v, t, &x->after, &l);
    }
}

static void add_waterfall(const view *v, buf *out) {
    const waterfall *f = v->f;
    table *t = waterfall_table(v);
    if (f->from.printed_differs) {
        printed_line(v, t, &f->from);
        unexplained_line(v, t, &f->from, -1);
    }
    line_at(v, t, &f->from.at, &(line){.step = "from", .cause = end_name(v, &f->from)});
    for (size_t i = 0; i < f->n; i++) term_lines(v, t, &f->terms[i]);
    int64_t whole[SIDES_N];
    for (int side = 0; side < SIDES_N; side++)
        whole[side] = f->to.at.side[side].wall_ns - f->from.at.side[side].wall_ns;
    line last = {.step = "to",
                 .cause = end_name(v, &f->to),
                 .change_ns = whole,
                 .speedup_change = f->to.at.speedup - f->from.at.speedup};
    line_at(v, t, &f->to.at, &last);
    if (f->to.printed_differs) {
        unexplained_line(v, t, &f->to, 1);
        printed_line(v, t, &f->to);
    }
    table_markdown(t, out);
}

/* ---- shares ---- */

static void add_shares(const view *v, buf *out) {
    const waterfall *f = v->f;
    const char *row[COLS_MAX] = {"term"};
    size_t c = 1;
    for (int side = 0; side < v->sides_n; side++) {
        row[c++] = arena_printf(v->mem, "%s s", f->within ? "wall-clock" : side_name(f, side));
        row[c++] = "%";
    }
    row[c++] = "speedup";
    row[c++] = "%";
    table *t = table_new(v->mem, c);
    table_row(t, row);
    double whole_x = f->to.at.speedup - f->from.at.speedup;
    for (size_t i = 0; i < f->n; i++) {
        const waterfall_term *x = &f->terms[i];
        c = 0;
        row[c++] = x->name;
        for (int side = 0; side < v->sides_n; side++) {
            int64_t whole = f->to.at.side[side].wall_ns - f->from.at.side[side].wall_ns;
            row[c++] = fmt_change(v, x->share_ns[side]);
            row[c++] = fmt_pct(v, (double)x->share_ns[side], (double)whole);
        }
        row[c++] = fmt_x_change(v, x->share_speedup);
        row[c++] = fmt_pct(v, x->share_speedup, whole_x);
        table_row(t, row);
    }
    buf_add(out, "\nShares, whatever the order of the steps (Shapley values: each term's change, "
                 "averaged over all orders)\n\n");
    table_markdown(t, out);
}

static void add_notes(const view *v, buf *out) {
    const waterfall *f = v->f;
    const char *gap = "\n";
    if (f->silent[0]) buf_addf(out, "%s- also different, at no cost in time: %s\n", gap, f->silent);
    if (f->silent[0]) gap = "";
    if (f->joined)
        buf_addf(out,
                 "%s- terms joined by + were taken together: between them a session cannot be "
                 "priced (%s)\n",
                 gap, f->joined);
    if (f->joined) gap = "";
    bool mark = false;
    for (int side = 0; side < v->sides_n; side++) {
        mark |= f->from.at.side[side].extrapolated;
        for (size_t i = 0; i < f->n; i++) mark |= f->terms[i].after.side[side].extrapolated;
    }
    if (mark) buf_addf(out, "%s- † priced outside the card's measured range\n", gap);
}

/* ---- the verdict ---- */

/* What of the whole change the verdict speaks of: within a scenario seconds, else the speedup. */
static double whole_of(const waterfall *f) {
    return f->within ? s_of(f->to.at.side[SIDE_ARM].wall_ns - f->from.at.side[SIDE_ARM].wall_ns)
                     : f->to.at.speedup - f->from.at.speedup;
}

static double part_of(const waterfall *f, const waterfall_term *t) {
    return f->within ? s_of(t->share_ns[SIDE_ARM]) : t->share_speedup;
}

/* The term with the largest share in the direction of the whole; NULL: nothing changes at the
 * printed digits. */
static const waterfall_term *main_term(const view *v) {
    const waterfall *f = v->f;
    double whole = whole_of(f), least = 0.5 * pow(10, f->within ? -v->decimals : -2);
    const waterfall_term *best = NULL;
    for (size_t i = 0; i < f->n; i++) {
        double part = part_of(f, &f->terms[i]);
        if (part * whole > 0 && (!best || fabs(part) > fabs(part_of(f, best)))) best = &f->terms[i];
    }
    return fabs(whole) >= least ? best : NULL;
}

/* For readers who do not know the names. */
static const char *const TITLES[MIX_N] = {
    [MIX_AGENTS] = "the number of agents",
    [MIX_TURNS] = "the number of turns",
    [MIX_PREFIX] = "the length of the shared prefix",
    [MIX_TURN] = "the tokens of a turn",
    [MIX_PACE] = "the pace of the clients",
    [MIX_QUEUE_WAIT] = "queue wait counted as work",
    [MIX_CONSTANT] = "constants that no rate explains",
    [MIX_REUSE] = "prefix reuse",
    [MIX_PREFILL] = "the prefill rate",
    [MIX_DELTA] = "the price of a turn's own prompt tokens",
    [MIX_DECODE] = "the rates of decode, alone and batched",
    [MIX_HOST_STEP] = "host time added to a step",
    [MIX_BATCHING] = "how requests are batched",
    [MIX_LAST_TOKEN] = "whether the last token counts as cached",
    [MIX_CAPACITY] = "the KV capacity",
    [MIX_ENGINE] = "the engine's own loop",
    [MIX_CARD] = "the rate card",
};

/* ", mostly by the prefill rate (prefill_tok_s 65 -> 48.54; -0.27x of -0.39x)"; "" where nothing
 * changes. */
static const char *mostly(const view *v) {
    const waterfall *f = v->f;
    const waterfall_term *t = main_term(v);
    const char *title = "", *unit = f->within ? " s" : "x";
    mix_kind last = MIX_N;
    if (f->n == 0) return ", the same in every term that costs time";
    if (!t) return "";
    for (size_t i = 0; i < t->changes_n && title; last = t->changes[i++].kind)
        if (t->changes[i].kind != last)
            title = arena_printf(v->mem, "%s%s%s", title, i ? " with " : "",
                                 TITLES[t->changes[i].kind]);
    int decimals = f->within ? v->decimals : 2;
    return arena_printf(v->mem, ", mostly by %s (%s%s%s%s of %s%s)", title,
                        t->changes_n == 1 ? t->changes[0].what.text : "",
                        t->changes_n == 1 ? "; " : "", fmt_signed(v->mem, decimals, part_of(f, t)),
                        unit, fmt_signed(v->mem, decimals, whole_of(f)), unit);
}

static void verdict_within(const view *v, buf *out) {
    const waterfall *f = v->f;
    buf_addf(out, "%s takes %s s where %s takes %s s, a speedup of %s%s", side_name(f, SIDE_ARM),
             fmt_s(v, f->to.at.side[SIDE_ARM].wall_ns), side_name(f, SIDE_BASE),
             fmt_s(v, f->from.at.side[SIDE_ARM].wall_ns), fmt_x(v, f->to.at.speedup), mostly(v));
}

static void add_unexplained(const view *v, const waterfall_end *end, bool *any, buf *out) {
    for (int side = 0; side < SIDES_N; side++) {
        if (end->unexplained_ns[side] == 0) continue;
        if (v->f->within && side == SIDE_BASE) continue; /* said of the arm that starts there */
        int64_t off = end->unexplained_ns[side];
        buf_addf(out, "%s%s s of the printed %s s (%s)",
                 *any ? " and " : "; no declared term explains ", fmt_s(v, off < 0 ? -off : off),
                 fmt_s(v, end->printed_ns[side]), end->arm[side]->name);
        *any = true;
    }
}

static void verdict_chain(const waterfall *const *links, size_t n, arena *mem, buf *out) {
    view v = view_of(links[0], mem);
    const waterfall_end *first = &links[0]->from;
    double printed = first->printed_differs ? report_waterfall_printed_speedup(first) : 0;
    buf_addf(out, "The speedup of %s over %s goes from %s", side_name(links[0], SIDE_ARM),
             links[n - 1]->to.arm[SIDE_BASE]->name,
             fmt_x(&v, printed > 0 ? printed : first->at.speedup));
    if (printed > 0)
        buf_addf(out, " as printed (%s by its declared terms)", fmt_x(&v, first->at.speedup));
    for (size_t i = 0; i < n; i++) {
        view link = view_of(links[i], mem);
        const char *why = mostly(&link);
        buf_addf(out, "%s to %s (%s)%s%s", i ? " and" : "", fmt_x(&v, links[i]->to.at.speedup),
                 links[i]->to.s->id, why, why[0] && i + 1 < n ? "," : "");
    }
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (i == 0) add_unexplained(&v, first, &any, out);
        add_unexplained(&v, &links[i]->to, &any, out);
    }
}

static char *verdict_of(const waterfall *const *links, size_t n, arena *mem) {
    buf b;
    buf_init(&b);
    if (!links[0]->within) {
        verdict_chain(links, n, mem, &b);
    } else {
        for (size_t i = 0; i < n; i++) {
            view v = view_of(links[i], mem);
            bool any = false;
            if (i) buf_add(&b, "; ");
            verdict_within(&v, &b);
            add_unexplained(&v, &links[i]->from, &any, &b);
            add_unexplained(&v, &links[i]->to, &any, &b);
        }
    }
    buf_add(&b, ".");
    char *text = arena_strdup(mem, b.s);
    buf_done(&b);
    return text;
}

/* ---- text and Markdown ---- */

prov report_waterfall_weakest(const waterfall *const *links, size_t n) {
    prov p = PROV_MODELED;
    for (size_t i = 0; i < n; i++)
        for (int side = 0; side < SIDES_N; side++) {
            p = prov_weakest(p, links[i]->from.at.side[side].prov);
            for (size_t k = 0; k < links[i]->n; k++)
                p = prov_weakest(p, links[i]->terms[k].after.side[side].prov);
        }
    return p;
}

static void report_text(const waterfall *const *links, size_t n, bool md, arena *mem, buf *out) {
    const scenario *s = links[0]->from.s;
    const char *bold = md ? "**" : "", *code = md ? "```text\n" : "";
    buf_addf(out, "%s%s%s\n\n%s", bold, verdict_of(links, n, mem), bold, code);
    buf_addf(out,
             "[%s PROJECTION] replayed by a simulator; no part of these sessions ran on silicon\n",
             PROV_UPPER[report_waterfall_weakest(links, n)]);
    buf_addf(out, "speedup   wall-clock of %s over that of %s\n",
             links[n - 1]->to.arm[SIDE_BASE]->name,
             links[0]->within && n > 1 ? "each other arm" : side_name(links[0], SIDE_ARM));
    for (size_t i = 0; i <= n; i++) {
        const scenario *x = i ? links[i - 1]->to.s : s;
        if (i == 0 || !links[0]->within) buf_addf(out, "scenario  %s: %s\n", x->id, x->title);
    }
    for (size_t i = 0; i < s->overrides_n; i++) buf_addf(out, "set       %s\n", s->overrides[i]);
    if (md) buf_add(out, "```\n");
    for (size_t i = 0; i < n; i++) {
        const waterfall *f = links[i];
        view v = view_of(f, mem);
        bool in = f->within;
        buf_addf(out, "\n%s%s -> %s\n\n", md ? "## " : "",
                 in ? f->from.arm[SIDE_ARM]->name : f->from.s->id,
                 in ? f->to.arm[SIDE_ARM]->name : f->to.s->id);
        add_waterfall(&v, out);
        if (f->n > 0) add_shares(&v, out);
        add_notes(&v, out);
    }
}

/* ---- JSON ---- */

static const char *const SIDE_KEYS[] = {"arm", "baseline"};

static cJSON *json_wall(cJSON *o, const char *key, const waterfall_wall *w) {
    cJSON *x = jw_obj(o, key);
    jw_ns_as_s(x, "wall_s", w->wall_ns);
    jw_ns_as_s(x, "prefill_s", w->prefill_ns);
    jw_ns_as_s(x, "decode_s", w->decode_ns);
    jw_ns_as_s(x, "other_s", w->other_ns);
    jw_ns_as_s(x, "idle_s", w->idle_ns);
    jw_str(x, "provenance", PROV_NAMES[w->prov]);
    jw_bool(x, "extrapolated", w->extrapolated);
    return x;
}

static void json_end(cJSON *o, const char *key, const waterfall_end *end) {
    cJSON *x = jw_obj(o, key);
    jw_str(x, "scenario", end->s->id);
    jw_str(x, "title", end->s->title);
    jw_str(x, "sha256", end->s->sha256);
    jw_num(x, "speedup", end->at.speedup);
    double printed_x = end->printed_source ? report_waterfall_printed_speedup(end) : 0;
    if (end->printed_source) {
        cJSON *p = jw_obj(x, "printed");
        jw_str(p, "source", end->printed_source);
        jw_str(p, "provenance", PROV_NAMES[PROV_CLAIM]);
        if (printed_x > 0) jw_num(p, "speedup", printed_x);
        jw_bool(p, "follows", !end->printed_differs);
    }
    for (int side = 0; side < SIDES_N; side++) {
        cJSON *w = json_wall(x, SIDE_KEYS[side], &end->at.side[side]);
        jw_str(w, "name", end->arm[side]->name);
        if (end->printed_ns[side] < 0) continue;
        jw_ns_as_s(w, "printed_s", end->printed_ns[side]);
        jw_ns_as_s(w, "unexplained_s", end->unexplained_ns[side]);
    }
}

static void json_prov(cJSON *o, int before, int after) {
    jw_str(o, "provenance_before", before < 0 ? NULL : PROV_NAMES[before]);
    jw_str(o, "provenance_after", after < 0 ? NULL : PROV_NAMES[after]);
}

static void json_step(cJSON *list, const waterfall *f, const waterfall_term *t) {
    cJSON *o = jw_item(list);
    jw_str(o, "term", t->name);
    json_prov(o, t->prov_before, t->prov_after);
    cJSON *changes = jw_arr(o, "changes");
    for (size_t i = 0; i < t->changes_n; i++) {
        const waterfall_change *c = &t->changes[i];
        cJSON *x = jw_item(changes);
        jw_str(x, "kind", MIX_NAMES[c->kind]);
        jw_str(x, "in", c->side == SIDES_N ? "both" : SIDE_KEYS[c->side]);
        jw_str(x, "cause", c->what.text);
        json_prov(x, c->what.prov_before, c->what.prov_after);
    }
    for (int side = 0; side < SIDES_N; side++) {
        cJSON *w = json_wall(o, SIDE_KEYS[side], &t->after.side[side]);
        int64_t whole = f->to.at.side[side].wall_ns - f->from.at.side[side].wall_ns;
        jw_ns_as_s(w, "change_s", t->step_ns[side]);
        jw_ns_as_s(w, "share_s", t->share_ns[side]);
        if (whole != 0) jw_num(w, "share_frac", (double)t->share_ns[side] / (double)whole);
    }
    cJSON *x = jw_obj(o, "speedup");
    double whole = f->to.at.speedup - f->from.at.speedup;
    jw_num(x, "after", t->after.speedup);
    jw_num(x, "change", t->step_speedup);
    jw_num(x, "share", t->share_speedup);
    if (whole != 0) jw_num(x, "share_frac", t->share_speedup / whole);
}

static void report_json(const waterfall *const *links, size_t n, arena *mem, buf *out) {
    const scenario *s = links[0]->from.s;
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", EXPLAIN_SCHEMA);
    jw_str(root, "verdict", verdict_of(links, n, mem));
    jw_str(root, "compares", links[0]->within ? "arms" : "scenarios");
    cJSON *sets = jw_arr(root, "overrides");
    for (size_t i = 0; i < s->overrides_n; i++)
        cJSON_AddItemToArray(sets, cJSON_CreateString(s->overrides[i]));
    cJSON *list = jw_arr(root, "links");
    for (size_t i = 0; i < n; i++) {
        const waterfall *f = links[i];
        cJSON *o = jw_item(list);
        json_end(o, "from", &f->from);
        cJSON *steps = jw_arr(o, "steps");
        for (size_t k = 0; k < f->n; k++) json_step(steps, f, &f->terms[k]);
        json_end(o, "to", &f->to);
        jw_str(o, "no_cost_in_time", f->silent[0] ? f->silent : NULL);
        jw_str(o, "joined_because", f->joined);
    }
    jw_print(root, out);
    cJSON_Delete(root);
}

void report_waterfall(const waterfall *const *links, size_t n, report_format f, arena *scratch,
                      buf *out) {
    if (f == REPORT_JSON)
        report_json(links, n, scratch, out);
    else
        report_text(links, n, f == REPORT_MD, scratch, out);
}
