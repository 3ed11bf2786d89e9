#include "figures.h"

#include "reference.h"
#include "table.h"

#include "base/jsonr.h"
#include "base/jsonw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 64, FIGURES_MAX = 2000 };

const char *const FIGURE_STATUS_NAMES[] = {"same", "does not follow", "given", "differs", NULL};

typedef struct reader {
    const char *scenario_dir;
    const char *document; /* NULL: all */
    reference_base base;
    named_run runs[RUNS_MAX];
} reader;

/* ---- where values come from ---- */

/* What the inner error says, at the entry. */
static void fail_at(jr at, const err *inner) {
    if (inner->where[0]) /* a scenario's own error has its own place */
        *at.doc->e = *inner;
    else
        jr_fail(at, inner->code, "%s", inner->what);
}

static ref_value reference(reader *r, jr at, const char *ref) {
    ref_value v = {0};
    err inner = {0};
    if (reference_get(&r->base, ref, &v, &inner)) fail_at(at, &inner);
    return v;
}

/* A reference, or ["/" or "-" or "*", a, b]. Numbers are not allowed: nothing printed can slip into
 * a computation. */
static ref_value evaluate(reader *r, jr at) {
    if (!jr_ok(at)) return (ref_value){0};
    if (cJSON_IsString(at.node)) return reference(r, at, at.node->valuestring);
    ref_value v[2] = {0};
    err inner = {0};
    char op = 0;
    if (cJSON_IsArray(at.node) && jr_len(at) == 3)
        for (jr x = {0}; jr_each(at, &x);) {
            if (x.index == 0)
                op = cJSON_IsString(x.node) && strlen(x.node->valuestring) == 1
                         ? x.node->valuestring[0]
                         : 0;
            else
                v[x.index - 1] = evaluate(r, x);
        }
    if (!jr_ok(at)) return v[0];
    if (op != '*' && op != '-' && (op != '/' || v[1].v == 0))
        jr_fail(at, E_SCHEMA,
                "expected a reference or [\"/\", a, b], [\"-\", a, b], [\"*\", a, b] with b not 0");
    else if (reference_combine(&v[0], op, &v[1], r->base.mem, &inner))
        fail_at(at, &inner);
    return v[0];
}

/* ---- comparing ---- */

static double in_unit(reader *r, jr o, const char *unit, ref_value v) {
    err inner = {0};
    if (jr_ok(o) && reference_in_unit(&v, unit, r->base.mem, &inner))
        fail_at(jr_get(o, "unit"), &inner);
    return v.v;
}

static int decimals(const char *printed) {
    const char *dot = strchr(printed, '.');
    return dot ? (int)strlen(dot + 1) : 0;
}

typedef enum figure_test { TEST_DIGITS, TEST_ABOVE, TEST_BELOW } figure_test;
static const char *const TEST_NAMES[] = {"digits", "above", "below", NULL};

static bool agrees(const figure *f, figure_test how) {
    if (how == TEST_ABOVE) return f->value > strtod(f->printed, NULL);
    if (how == TEST_BELOW) return f->value < strtod(f->printed, NULL);
    return strcmp(f->regenerated, f->printed) == 0;
}

static void read_figure(reader *r, jr o, figure *f) {
    jr_keys(o, "id document what printed unit value test does_not_follow given");
    f->id = jr_str(o, "id");
    f->document = jr_str(o, "document");
    f->what = jr_str(o, "what");
    f->printed = jr_str(o, "printed");
    f->unit = jr_get(o, "unit").node ? jr_str_or(o, "unit", "") : "";
    figure_test how = (figure_test)jr_enum_or(o, "test", TEST_NAMES, TEST_DIGITS);
    const char *refuted = jr_str_or(o, "does_not_follow", NULL),
               *given = jr_str_or(o, "given", NULL);
    f->reason = refuted ? refuted : given;
    f->status = FIGURE_GIVEN;
    if (given && (refuted || jr_present(jr_get(o, "value"))))
        jr_fail(o, E_SCHEMA, "a given figure has no value and no \"does_not_follow\"");
    if (given || !jr_ok(o)) return;
    f->value = in_unit(r, o, f->unit, evaluate(r, jr_need(o, "value")));
    if (jr_ok(o) && !isfinite(f->value))
        jr_fail(jr_get(o, "value"), E_RANGE, "is not finite, expected a number");
    if (!jr_ok(o)) return;
    /* a bound is not printed at its own digits: two more show on which side the value lies */
    int digits = decimals(f->printed) + (how == TEST_DIGITS ? 0 : 2);
    f->regenerated = arena_printf(r->base.mem, "%.*f", digits, f->value);
    if (!f->regenerated)
        jr_fail(o, E_LIMIT, "does not fit the memory budget");
    else if (agrees(f, how))
        f->status =
            refuted ? FIGURE_DIFFERS : FIGURE_SAME; /* a stale "does not follow" is wrong too */
    else
        f->status = refuted ? FIGURE_NOT : FIGURE_DIFFERS;
}

static void read_list(reader *r, jr root, figure_list *out) {
    jr_schema(root, FIGURES_SCHEMA);
    jr_keys(root, "schema scenarios figures");
    jr scenarios = jr_need(root, "scenarios"), list = jr_need(root, "figures");
    for (jr s = {0}; jr_each(scenarios, &s);) {
        jr_keys(s, "name file set");
        if (r->base.runs_n == RUNS_MAX) {
            jr_fail(s, E_LIMIT, "more than %d scenarios", RUNS_MAX);
            break;
        }
        named_run *it = &r->runs[r->base.runs_n++];
        *it = (named_run){.name = jr_str(s, "name")};
        it->set = jr_str_array(s, "set", &it->set_n);
        it->path = arena_printf(r->base.mem, "%s/%s", r->scenario_dir, jr_str(s, "file"));
        if (!it->path) jr_fail(s, E_LIMIT, "does not fit the memory budget");
    }
    size_t n = jr_len(list);
    if (n > FIGURES_MAX) jr_fail(list, E_LIMIT, "more than %d figures", FIGURES_MAX);
    figure *f = jr_ok(root) ? ARENA_ARRAY(r->base.mem, figure, n) : NULL;
    if (!f) jr_fail(list, E_LIMIT, "does not fit the memory budget");
    for (jr o = {0}; f && jr_each(list, &o);) {
        if (r->document && strcmp(jr_str(o, "document"), r->document) != 0) continue;
        figure *it = &f[out->n++];
        read_figure(r, o, it);
        out->count[it->status]++;
    }
    out->figures = f;
}

err_code figures_parse(const file_bytes *f, const char *scenario_dir, const char *document,
                       card_library *lib, arena *mem, figure_list *out, err *e) {
    *out = (figure_list){0};
    jr_doc doc = {0};
    reader *r = ARENA_NEW(mem, reader);
    if (!r) return err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    *r = (reader){
        .scenario_dir = scenario_dir, .document = document, .base = {.lib = lib, .mem = mem}};
    r->base.runs = r->runs;
    if (jr_parse(&doc, f->name, f->s, f->len, mem, e) == OK) read_list(r, jr_root(&doc), out);
    jr_free(&doc);
    const char **inputs = ARENA_ARRAY(mem, const char *, RUNS_MAX);
    for (size_t i = 0; inputs && i < r->base.runs_n; i++)
        if (r->runs[i].loaded) inputs[out->inputs_n++] = r->runs[i].path;
    out->inputs = inputs;
    return e->code;
}

err_code figures_run(const char *path, const char *scenario_dir, card_library *lib, arena *mem,
                     figure_list *out, err *e) {
    file_bytes f = {0};
    *out = (figure_list){0};
    if (file_read(path, mem, &f, e)) return e->code;
    return figures_parse(&f, scenario_dir, NULL, lib, mem, out, e);
}

/* ---- printing ---- */

void figures_text(const figure_list *l, bool documents, arena *scratch, buf *out) {
    static const char *const HEAD[] = {"document", "figure", "printed", "regenerated",
                                       "unit",     "status", "reason"};
    enum { N = sizeof HEAD / sizeof *HEAD };
    size_t skip = documents ? 0 : 1; /* of one document the first column says nothing */
    table *t = table_new(scratch, N - skip);
    static const size_t LEFT[] = {1, 4, 5, 6};
    for (size_t i = 0; i < sizeof LEFT / sizeof *LEFT; i++) table_left(t, LEFT[i] - skip);
    table_row(t, HEAD + skip);
    for (size_t i = 0; i < l->n; i++) {
        const figure *f = &l->figures[i];
        const char *row[N] = {f->document, f->what,
                              f->printed,  f->regenerated ? f->regenerated : "–",
                              f->unit,     FIGURE_STATUS_NAMES[f->status],
                              f->reason};
        table_row(t, row + skip);
    }
    table_markdown(t, out);
    buf_addf(out, "\n%zu figures: %zu same, %zu do not follow, %zu given, %zu differ\n", l->n,
             l->count[FIGURE_SAME], l->count[FIGURE_NOT], l->count[FIGURE_GIVEN],
             l->count[FIGURE_DIFFERS]);
}

void figures_json(const figure_list *l, buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", "ratecast.figures-result/1");
    cJSON *list = jw_arr(root, "figures");
    for (size_t i = 0; i < l->n; i++) {
        const figure *f = &l->figures[i];
        cJSON *o = jw_item(list);
        jw_str(o, "id", f->id);
        jw_str(o, "document", f->document);
        jw_str(o, "figure", f->what);
        jw_str(o, "printed", f->printed);
        jw_str(o, "unit", f->unit);
        jw_str(o, "regenerated", f->regenerated);
        if (f->regenerated) jw_num(o, "value", f->value);
        jw_str(o, "status", FIGURE_STATUS_NAMES[f->status]);
        jw_str(o, "reason", f->reason);
    }
    static const char *const KEYS[] = {"same", "does_not_follow", "given", "differs"};
    cJSON *sum = jw_obj(root, "summary");
    for (size_t i = 0; i < FIGURE_STATUS_N; i++) jw_int(sum, KEYS[i], (int64_t)l->count[i]);
    jw_print(root, out);
    cJSON_Delete(root);
}
