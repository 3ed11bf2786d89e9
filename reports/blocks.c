#include "blocks.h"

#include "contrast.h"
#include "number.h"
#include "report_audit.h"
#include "report_memory.h"
#include "report_validate.h"
#include "report_waterfall.h"
#include "table.h"

#include <inttypes.h>
#include <string.h>

static const double GIB = 1073741824.0;

typedef void run_block(const block_context *c, const named_run *r, buf *out);

/* ---- blocks of a run ---- */

static const sweep_point *last_point(const named_run *r) {
    return &r->r.points[r->r.n - 1];
}

static void part(const block_context *c, const named_run *r, project_part what, buf *out) {
    const sweep_point *x = last_point(r);
    report_project_part(x->p, x->rules, what, c->mem, out);
}

static void put_session(const block_context *c, const named_run *r, buf *out) {
    buf_add(out, "```text\n");
    part(c, r, PART_HEAD, out);
    if (r->r.sweep) buf_addf(out, "sweep     %s over", r->r.s->sweep_path);
    for (size_t i = 0; r->r.sweep && i < r->r.n; i++)
        buf_addf(out, "%s %s%s", i ? "," : "", r->r.s->sweep_values[i], i + 1 < r->r.n ? "" : "\n");
    buf_add(out, "```\n");
}

static void put_table(const block_context *c, const named_run *r, buf *out) {
    if (r->r.sweep)
        report_sweep_table(r->r.s, r->r.points, c->mem, out);
    else
        part(c, r, PART_TABLE, out);
    part(c, r, PART_EXTRAPOLATIONS, out);
}

static void put_notes(const block_context *c, const named_run *r, buf *out) {
    part(c, r, PART_ASSUMPTIONS, out);
    part(c, r, PART_TAKEN, out);
}

static void put_rules(const block_context *c, const named_run *r, buf *out) {
    part(c, r, PART_RULES, out);
}

static void put_contrast(const block_context *c, const named_run *r, buf *out) {
    contrast_put(c->s, r, c->mem, out);
}

/* A table with a row for each value of a sweep and arm: its first columns say which. */
typedef struct run_table {
    table *t;
    const char *cells[16];
    size_t front_n;
} run_table;

static run_table run_table_new(const block_context *c, const named_run *r, const char *const *head,
                               size_t n) {
    run_table x = {.front_n = r->r.sweep ? 2 : 1};
    x.t = table_new(c->mem, x.front_n + n);
    if (r->r.sweep) x.cells[0] = r->r.s->sweep_path;
    x.cells[x.front_n - 1] = "arm";
    table_left(x.t, x.front_n - 1);
    for (size_t i = 0; i < n; i++) x.cells[x.front_n + i] = head[i];
    table_row(x.t, x.cells);
    return x;
}

static void row_of(run_table *x, const named_run *r, size_t point, const arm_result *a) {
    if (r->r.sweep) x->cells[0] = r->r.s->sweep_values[point];
    x->cells[x->front_n - 1] = a->arm->name;
}

static const char *millis(arena *mem, const arm_result *a, int64_t ns) {
    return arena_printf(mem, "%.1f%s", (double)ns / 1e6, a->extrapolations_n > 0 ? " †" : "");
}

static void put_ttft(const block_context *c, const named_run *r, buf *out) {
    static const char *const HEAD[] = {"population", "n",           "p50, ms",   "p95, ms",
                                       "p99, ms",    "longest, ms", "provenance"};
    enum { N = sizeof HEAD / sizeof *HEAD };
    run_table x = run_table_new(c, r, HEAD, N);
    table_left(x.t, x.front_n);
    table_left(x.t, x.front_n + N - 1);
    for (size_t k = 0; k < r->r.n; k++)
        for (size_t i = 0; i < r->r.points[k].p->arms_n; i++) {
            const arm_result *a = &r->r.points[k].p->arms[i];
            const struct {
                const char *name;
                const percentiles *p;
            } rows[] = {{"cold: first turns", &a->m.ttft_cold},
                        {"warm: later turns", &a->m.ttft_warm},
                        {"all turns", &a->m.ttft_all},
                        {"of which queue wait", &a->m.queue_wait}};
            row_of(&x, r, k, a);
            for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
                const percentiles *p = rows[j].p;
                const char **cell = &x.cells[x.front_n];
                if (p->n == 0) continue;
                cell[0] = rows[j].name;
                cell[1] = number_count(c->mem, p->n);
                cell[2] = millis(c->mem, a, p->p50_ns);
                cell[3] = millis(c->mem, a, p->p95_ns);
                cell[4] = millis(c->mem, a, p->p99_ns);
                cell[5] = millis(c->mem, a, p->max_ns);
                cell[6] = PROV_UPPER[a->time_prov];
                table_row(x.t, x.cells);
            }
        }
    table_markdown(x.t, out);
}

static const char *mib_or_dash(arena *mem, int64_t bytes, bool known) {
    return known ? number_mib(mem, bytes) : "not known";
}

static void put_memory(const block_context *c, const named_run *r, buf *out) {
    static const char *const HEAD[] = {
        "weights, MiB",          "runtime overhead, MiB", "KV reserved, MiB",
        "KV resident peak, MiB", "recurrent state, MiB",  "peak, MiB",
        "agents per GiB",        "largest K in budget",   "provenance"};
    enum { N = sizeof HEAD / sizeof *HEAD };
    run_table x = run_table_new(c, r, HEAD, N);
    table_left(x.t, x.front_n + N - 1);
    for (size_t k = 0; k < r->r.n; k++)
        for (size_t i = 0; i < r->r.points[k].p->arms_n; i++) {
            const arm_result *a = &r->r.points[k].p->arms[i];
            const memory_use *m = &a->m.memory;
            const char **cell = &x.cells[x.front_n];
            row_of(&x, r, k, a);
            cell[0] = number_mib(c->mem, m->weights_bytes);
            cell[1] = mib_or_dash(c->mem, m->overhead_bytes, m->overhead_known);
            cell[2] = number_mib(c->mem, m->kv_reserved_bytes);
            cell[3] = number_mib(c->mem, m->kv_resident_bytes);
            cell[4] = mib_or_dash(c->mem, m->recurrent_bytes, m->recurrent_known);
            cell[5] = report_peak(a, c->mem);
            cell[6] = arena_printf(c->mem, "%.2f", a->m.agents_per_gib);
            cell[7] = a->k_in_budget < 0 ? "–"
                                         : arena_printf(c->mem, "%s%" PRId64,
                                                        a->k_capped ? "≥ " : "", a->k_in_budget);
            cell[8] = PROV_UPPER[m->prov];
            table_row(x.t, x.cells);
        }
    table_markdown(x.t, out);
    buf_add(out, "\nPeak is weights, overhead, recurrent state and the larger of KV reserved and "
                 "resident; what is not known is counted as nothing.\n");
    if (r->r.s->memory_budget_bytes > 0)
        buf_addf(out, "The budget is %.2f GiB.\n", (double)r->r.s->memory_budget_bytes / GIB);
    report_misfits(r->r.s, r->r.points, r->r.n, out);
}

static void put_unmodeled(const block_context *c, const named_run *r, buf *out) {
    (void)c;
    const scenario *s = r->r.s;
    for (size_t i = 0; i < s->unmodeled_n; i++) buf_addf(out, "- %s\n", s->unmodeled[i]);
    if (s->unmodeled_n == 0) buf_add(out, "- the scenario lists nothing\n");
}

/* ---- blocks of the whole report ---- */

static void put_banner(const block_context *c, buf *out) {
    const reference_base *b = &c->s->base;
    prov worst = PROV_MODELED;
    for (size_t i = 0; i < b->runs_n; i++)
        for (size_t k = 0; k < b->runs[i].r.n; k++)
            worst = prov_weakest(worst, projection_prov(b->runs[i].r.points[k].p));
    buf_addf(out,
             "> **[%s PROJECTION]** Every session figure here was replayed by a simulator; no part "
             "of these sessions ran on silicon.\n",
             PROV_UPPER[worst]);
    for (size_t i = 0; i < c->s->witness_n; i++)
        buf_addf(out, "> What stands as WITNESSED was measured: %s (%zu runs scored).\n",
                 c->s->witness[i].title, c->s->witness[i].score.n);
    buf_add(out,
            "> Each number has the class of its weakest input, from strong to weak: WITNESSED, "
            "DERIVED, MODELED, ROOFLINE, ASSUMED, CLAIM.\n");
}

static void put_figures(const block_context *c, buf *out) {
    figures_text(&c->s->figures, false, c->mem, out);
}

static void put_inputs(const block_context *c, buf *out) {
    static const char *const HEAD[] = {"input", "name", "SHA-256"};
    table *t = table_new(c->mem, sizeof HEAD / sizeof *HEAD);
    for (size_t i = 1; i < sizeof HEAD / sizeof *HEAD; i++) table_left(t, i);
    table_row(t, HEAD);
    for (size_t i = 0; i < c->s->inputs_n; i++) {
        const spec_input *in = &c->s->inputs[i];
        const char *row[] = {in->what, in->name, in->sha256};
        table_row(t, row);
    }
    buf_addf(out, "Made by ratecast " RATECAST_VERSION " with\n\n```sh\n%s\n```\n\nfrom\n\n",
             c->command);
    table_markdown(t, out);
}

/* ---- blocks by name ---- */

/* A finding is a paragraph of several lines, in Markdown by two blanks at their ends. */
static void put_audit_text(const block_context *c, const audit *a, buf *out) {
    buf own;
    buf_init(&own);
    report_audit_text(a, true, c->mem, &own);
    for (const char *s = own.s; *s; s++) {
        if (strncmp(s, "\n    ", 5) == 0) buf_add(out, "  ");
        buf_add_n(out, s, 1);
    }
    buf_done(&own);
}

static bool put_audit(const block_context *c, const char *id, buf *out, err *e) {
    bool any = false;
    for (size_t i = 0; i < c->s->claims_n; i++) {
        const spec_claim *x = &c->s->claims[i];
        if (id && strcmp(x->claim->id, id) != 0) continue;
        if (any) buf_add(out, "\n");
        any = true;
        put_audit_text(c, &x->audit, out);
    }
    const char *names[SPEC_LIST_MAX];
    for (size_t i = 0; i < c->s->claims_n; i++) names[i] = c->s->claims[i].claim->id;
    if (id && !any)
        err_set(e, E_SCHEMA, "", "found claim \"%s\", which the report does not list%s", id,
                reference_near(c->mem, id, names, c->s->claims_n));
    return true;
}

/* An explanation has headings of its own: they go below those of the report. */
static void put_explanation(const block_context *c, const spec_explain *x, buf *out) {
    buf own;
    buf_init(&own);
    report_waterfall(x->links, x->n, REPORT_MD, c->mem, &own);
    for (const char *s = own.s; *s;) {
        const char *heading = strstr(s, "\n## ");
        size_t n = heading ? (size_t)(heading - s) + 1 : strlen(s);
        buf_add_n(out, s, n);
        if (heading) buf_add(out, "#");
        s += n;
    }
    buf_done(&own);
}

static bool put_explain(const block_context *c, const char *name, buf *out, err *e) {
    const spec_explain *x = name ? spec_explain_named(c->s, name) : NULL;
    for (size_t i = 0; !name && i < c->s->explains_n; i++)
        put_explanation(c, &c->s->explains[i], out);
    if (x) put_explanation(c, x, out);
    const char *names[SPEC_LIST_MAX];
    for (size_t i = 0; i < c->s->explains_n; i++) names[i] = c->s->explains[i].name;
    if (name && !x)
        err_set(e, E_SCHEMA, "", "found explanation \"%s\", which the report does not list%s", name,
                reference_near(c->mem, name, names, c->s->explains_n));
    return true;
}

static bool put_witnessed(const block_context *c, const char *name, buf *out, err *e) {
    bool any = false;
    for (size_t i = 0; i < c->s->witness_n; i++) {
        const spec_witness *w = &c->s->witness[i];
        if (name && strcmp(w->name, name) != 0) continue;
        any = true;
        report_validate_text(&w->score, &w->witness, c->mem, out);
    }
    const char *names[SPEC_LIST_MAX];
    for (size_t i = 0; i < c->s->witness_n; i++) names[i] = c->s->witness[i].name;
    if (name && !any)
        err_set(e, E_SCHEMA, "", "found witnessed runs \"%s\", which the report does not list%s",
                name, reference_near(c->mem, name, names, c->s->witness_n));
    return true;
}

/* ---- the door ---- */

static const struct {
    const char *name;
    run_block *put;
    bool heading; /* named after the run when all are put */
} RUN_BLOCKS[] = {{"session", put_session, false},  {"table", put_table, true},
                  {"notes", put_notes, true},       {"rules", put_rules, true},
                  {"contrast", put_contrast, true}, {"ttft", put_ttft, true},
                  {"memory", put_memory, true},     {"unmodeled", put_unmodeled, true}};

static bool put_run_block(const block_context *c, size_t which, const char *name, buf *out,
                          err *e) {
    reference_base base = c->s->base;
    if (name) {
        const named_run *r = reference_run(&base, name, e);
        if (r) RUN_BLOCKS[which].put(c, r, out);
        return true;
    }
    for (size_t i = 0; i < base.runs_n; i++) {
        if (i > 0) buf_add(out, "\n");
        if (RUN_BLOCKS[which].heading && base.runs_n > 1)
            buf_addf(out, "**%s**\n\n", base.runs[i].r.s->id);
        RUN_BLOCKS[which].put(c, &base.runs[i], out);
    }
    return true;
}

bool block_put(const block_context *c, const char *field, buf *out, err *e) {
    size_t n = strcspn(field, " ");
    const char *arg = field[n] ? field + n + 1 : NULL;
    for (size_t i = 0; i < sizeof RUN_BLOCKS / sizeof *RUN_BLOCKS; i++)
        if (strlen(RUN_BLOCKS[i].name) == n && strncmp(RUN_BLOCKS[i].name, field, n) == 0)
            return put_run_block(c, i, arg, out, e);
    static const struct {
        const char *name;
        void (*put)(const block_context *, buf *);
    } WHOLE[] = {{"banner", put_banner}, {"figures", put_figures}, {"inputs", put_inputs}};
    for (size_t i = 0; !arg && i < sizeof WHOLE / sizeof *WHOLE; i++)
        if (strcmp(WHOLE[i].name, field) == 0) {
            WHOLE[i].put(c, out);
            return true;
        }
    static const struct {
        const char *name;
        bool (*put)(const block_context *, const char *, buf *, err *);
    } NAMED[] = {{"audit", put_audit}, {"explain", put_explain}, {"witnessed", put_witnessed}};
    /* "audit ID.WORD" and "explain NAME.WORD" are values */
    for (size_t i = 0; (!arg || !strchr(arg, '.')) && i < sizeof NAMED / sizeof *NAMED; i++)
        if (strlen(NAMED[i].name) == n && strncmp(NAMED[i].name, field, n) == 0)
            return NAMED[i].put(c, arg, out, e);
    return false;
}

const char *block_near(const char *field, arena *mem) {
    static const char *const NAMES[] = {"banner", "title",     "inputs",    "session",  "table",
                                        "notes",  "rules",     "unmodeled", "contrast", "ttft",
                                        "memory", "witnessed", "audit",     "explain",  "figures",
                                        "plot",   "plots"};
    size_t n = strcspn(field, " ");
    if (n == 0 || strcspn(field, "./@") < n) return ""; /* a value */
    const char *word = arena_printf(mem, "%.*s", (int)n, field);
    return word ? reference_near(mem, word, NAMES, sizeof NAMES / sizeof *NAMES) : "";
}
