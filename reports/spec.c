#include "spec.h"

#include "base/jsonr.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { INPUTS_MAX = 512 };

const char *const PLOT_KIND_NAMES[] = {"stack",     "sweep",    "timeline", "card",
                                       "waterfall", "validate", NULL};

typedef struct reader {
    spec *s;
    const spec_places *where;
    const char *dir; /* of the specification, "" or with a slash behind it */
    arena *mem;
    err *e;
    spec_input *inputs;
    hardware_catalogue chips;
} reader;

/* ---- files ---- */

static const char *locate(const reader *r, const char *name) {
    struct stat st;
    if (name[0] == '/') return name;
    if (strcmp(name, "-") == 0) return "./-"; /* not standard input: a report names what it read */
    const char *path = arena_printf(r->mem, "%s%s", r->dir, name);
    if (path && stat(path, &st) == 0) return path;
    for (size_t i = 0; i < r->where->n; i++) {
        const char *root = r->where->roots[i];
        path = root[0] ? arena_printf(r->mem, "%s/%s", root, name) : name;
        if (path && stat(path, &st) == 0) return path;
    }
    return name; /* reading it says what is wrong */
}

static void add_input(reader *r, const char *what, const char *name, const char *path,
                      const char *sha256) {
    for (size_t i = 0; i < r->s->inputs_n; i++)
        if (strcmp(r->inputs[i].what, what) == 0 && strcmp(r->inputs[i].name, name) == 0) return;
    if (r->s->inputs_n == INPUTS_MAX) {
        err_set(r->e, E_LIMIT, r->s->path, "more than %d inputs", (int)INPUTS_MAX);
        return;
    }
    const char *hex = arena_strdup(r->mem, sha256);
    r->inputs[r->s->inputs_n++] = (spec_input){what, name, path, hex ? hex : ""};
}

static void add_cards(reader *r, const scenario *s) {
    for (size_t i = 0; i < s->arms_n; i++) {
        const assumption *g = arm_assumes(&s->arms[i], TERM_DECODE_GAIN_CARD);
        const card *c = s->arms[i].card;
        add_input(r, "card", c->id, c->path, c->sha256);
        if (g) add_input(r, "card", g->gain_card->id, g->gain_card->path, g->gain_card->sha256);
    }
}

static err_code read_named(reader *r, const char *what, const char *name, file_bytes *f) {
    const char *path = locate(r, name);
    if (file_read(path, r->mem, f, r->e)) return r->e->code;
    add_input(r, what, name, path, f->sha256);
    return OK;
}

/* ---- what a report names; each is one entry of a list ---- */

static bool valid_name(jr o, const char *name) {
    if (!jr_ok(o)) return false;
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (n > 0 && n < 64 && !name[n]) return true;
    jr_fail(jr_get(o, "name"), E_SCHEMA, "found \"%s\", expected letters, digits, - and _", name);
    return false;
}

static void no_second(jr o, const char *name, bool found) {
    if (found) jr_fail(jr_get(o, "name"), E_SCHEMA, "found a second \"%s\"", name);
}

static void read_run(reader *r, jr o) {
    jr_keys(o, "name file set");
    named_run *it = &r->s->base.runs[r->s->base.runs_n];
    const char *name = jr_str(o, "name"), *file = jr_str(o, "file");
    const char *const *set = jr_str_array(o, "set", &it->set_n);
    if (!valid_name(o, name)) return;
    for (size_t i = 0; i < r->s->base.runs_n; i++)
        no_second(o, name, strcmp(r->s->base.runs[i].name, name) == 0);
    it->name = name;
    it->set = set;
    it->path = locate(r, file);
    r->s->base.runs_n++;
    if (!jr_ok(o) || !reference_run(&r->s->base, name, r->e)) return;
    add_input(r, "scenario", file, it->path, it->file.sha256);
    add_cards(r, it->r.s);
}

static void read_claim(reader *r, jr o) {
    file_bytes f = {0};
    spec_claim *it = &r->s->claims[r->s->claims_n++];
    if (!cJSON_IsString(o.node)) {
        jr_fail(o, E_SCHEMA, "expected the file name of a claim");
        return;
    }
    it->path = arena_strdup(r->mem, o.node->valuestring);
    if (!it->path || read_named(r, "claim", it->path, &f) ||
        claim_parse(&f, 0, r->mem, &it->claim, r->e))
        return;
    if (!r->chips.n) {
        const char *path = locate(r, "rates/hardware.json");
        if (read_named(r, "hardware", "rates/hardware.json", &f) ||
            hardware_load(path, r->mem, &r->chips, r->e))
            return;
    }
    if (audit_claim(it->claim, &r->chips, r->mem, &it->audit, r->e) == OK)
        (void)audit_not_compared(it->claim, &r->chips, r->mem, &it->audit, r->e);
}

static void read_explain(reader *r, jr o) {
    jr_keys(o, "name scenarios set arm");
    size_t n, set_n;
    const char *const *files = jr_str_array(o, "scenarios", &n), *const *set =
                                                                     jr_str_array(o, "set", &set_n);
    const char *arm_name = jr_str_or(o, "arm", NULL), *name = jr_str(o, "name");
    const waterfall **links = ARENA_ARRAY(r->mem, const waterfall *, n ? n : 1);
    const scenario *last = NULL;
    if (!valid_name(o, name)) return;
    no_second(o, name, spec_explain_named(r->s, name) != NULL);
    if (n == 0 || !links) {
        jr_fail(jr_get(o, "scenarios"), E_SCHEMA, "expected the names of one scenario or more");
        return;
    }
    for (size_t i = 0; i < n && jr_ok(o); i++) {
        const scenario *s = NULL;
        file_bytes f = {0};
        if (read_named(r, "scenario", files[i], &f) ||
            scenario_parse(&f, r->where->lib, set, set_n, r->mem, &s, r->e))
            return;
        add_cards(r, s);
        if (s->sweep_path && !runs_is_set(set, set_n, s->sweep_path))
            jr_fail(o, E_SCHEMA, "%s has a sweep, expected one session: set %s", files[i],
                    s->sweep_path);
        if (!arm_name) arm_name = waterfall_default_arm(s, r->e);
        if (!jr_ok(o) || !arm_name) return;
        if (i > 0 && waterfall_against(last, s, arm_name, NULL, r->mem, &links[i - 1], r->e))
            return;
        if (n == 1 && waterfall_within(s, arm_name, NULL, r->mem, &links[0], r->e)) return;
        last = s;
    }
    r->s->explains[r->s->explains_n++] =
        (spec_explain){.name = name, .links = links, .n = n > 1 ? n - 1 : 1};
}

static void read_witness(reader *r, jr o) {
    jr_keys(o, "name title runs cards summaries");
    size_t n;
    const char *name = jr_str(o, "name"), *dir = jr_str(o, "runs");
    const char *const *ids = jr_str_array(o, "cards", &n);
    spec_witness *it = &r->s->witness[r->s->witness_n];
    const card **cards = ARENA_ARRAY(r->mem, const card *, n ? n : 1);
    replay *all = NULL;
    if (!valid_name(o, name)) return;
    no_second(o, name, spec_witness_named(r->s, name) != NULL);
    if (n == 0 || !cards) {
        jr_fail(jr_get(o, "cards"), E_SCHEMA, "expected the ids of one card or more");
        return;
    }
    *it = (spec_witness){.name = name,
                         .path = locate(r, dir),
                         .title = jr_str_or(o, "title", name),
                         .summaries = jr_bool_or(o, "summaries", false),
                         .cards = cards,
                         .cards_n = n};
    for (size_t i = 0; i < n; i++) {
        if (card_find(r->where->lib, ids[i], NULL, r->mem, &cards[i], r->e) ||
            card_usable(r->where->lib, cards[i], r->e))
            return;
        add_input(r, "card", cards[i]->id, cards[i]->path, cards[i]->sha256);
    }
    if (!jr_ok(o) || witness_load(it->path, r->mem, &it->witness, r->e)) return;
    for (size_t i = 0; i < it->witness.files_n; i++) {
        const file_bytes *f = &it->witness.files[i];
        const char *file = arena_printf(r->mem, "%s%s", dir, f->name + strlen(it->path));
        if (file) add_input(r, "witnessed runs", file, f->name, f->sha256);
    }
    if (!jr_ok(o) || replay_set(&it->witness, cards, n, it->summaries, r->mem, &all, r->e) ||
        score_runs(all, it->witness.n, SCORE_SCORE, r->mem, &it->score, r->e))
        return;
    r->s->witness_n++;
}

static int64_t ns_of(double s) {
    return (int64_t)llround(s * 1e9);
}

static void read_plot(reader *r, jr o) {
    jr_keys(o, "name kind of from_s to_s");
    spec_plot *p = &r->s->plots[r->s->plots_n];
    *p = (spec_plot){.name = jr_str(o, "name"),
                     .kind = (plot_kind)jr_enum(o, "kind", PLOT_KIND_NAMES),
                     .of = jr_str(o, "of"),
                     .window = TRACE_ALL};
    double from = jr_num_or(o, "from_s", 0, 1e9, 0), to = jr_num_or(o, "to_s", 0, 1e9, -1);
    if (!valid_name(o, p->name)) return;
    if (from > 0) p->window.from_ns = ns_of(from);
    if (to >= 0) p->window = (span_window){ns_of(from), ns_of(to)};
    if (p->kind != PLOT_TIMELINE && (jr_present(jr_get(o, "from_s")) || to >= 0))
        jr_fail(o, E_SCHEMA, "found from_s or to_s, which only a timeline has");
    if (p->window.from_ns >= p->window.to_ns)
        jr_fail(o, E_RANGE, "found from_s %g and to_s %g, expected from_s before to_s", from, to);
    no_second(o, p->name, spec_plot_named(r->s, p->name) != NULL);
    r->s->plots_n++;
}

static void each(reader *r, jr root, const char *key, void (*read)(reader *, jr)) {
    jr list = jr_get(root, key);
    if (!jr_present(list)) return;
    if (jr_len(list) > SPEC_LIST_MAX)
        jr_fail(list, E_LIMIT, "more than %d entries", (int)SPEC_LIST_MAX);
    for (jr o = {0}; jr_ok(list) && jr_each(list, &o);) read(r, o);
}

static void read_figures(reader *r, jr root) {
    static const char *const LIST = "reports/figures.json";
    file_bytes f = {0};
    figure_list *l = &r->s->figures;
    r->s->figures_of = jr_str_or(root, "figures", NULL);
    const char *dir = locate(r, "scenarios");
    if (!jr_ok(root) || !r->s->figures_of || read_named(r, "figures", LIST, &f) ||
        figures_parse(&f, dir, r->s->figures_of, r->where->lib, r->mem, l, r->e))
        return;
    if (l->n == 0)
        jr_fail(jr_get(root, "figures"), E_SCHEMA, "found \"%s\", which is no document of %s",
                r->s->figures_of, LIST);
    for (size_t i = 0; i < l->inputs_n; i++) {
        const char *name = arena_printf(r->mem, "scenarios%s", l->inputs[i] + strlen(dir));
        if (!name || read_named(r, "scenario", name, &f)) return;
    }
}

/* ---- the whole ---- */

static void read_spec(reader *r, jr root) {
    jr_schema(root, REPORT_SCHEMA);
    jr_keys(root, "schema id title template runs claims explain witness plots figures");
    r->s->id = jr_str(root, "id");
    r->s->title = jr_str(root, "title");
    const char *template = jr_str_or(root, "template", "reports/templates/session.md");
    if (jr_ok(root)) (void)read_named(r, "template", template, &r->s->template);
    each(r, root, "runs", read_run);
    each(r, root, "claims", read_claim);
    each(r, root, "explain", read_explain);
    each(r, root, "witness", read_witness);
    each(r, root, "plots", read_plot);
    read_figures(r, root);
}

err_code spec_parse(const file_bytes *f, const spec_places *where, arena *mem, const spec **out,
                    err *e) {
    jr_doc doc = {0};
    const char *slash = strrchr(f->name, '/');
    reader r = {.s = ARENA_NEW(mem, spec), .where = where, .mem = mem, .e = e};
    r.inputs = ARENA_ARRAY(mem, spec_input, INPUTS_MAX);
    r.dir = slash ? arena_printf(mem, "%.*s", (int)(slash - f->name) + 1, f->name) : "";
    named_run *runs = ARENA_ARRAY(mem, named_run, SPEC_LIST_MAX);
    if (!r.s || !r.inputs || !r.dir || !runs)
        return err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    r.s->path = f->name;
    r.s->inputs = r.inputs;
    r.s->base = (reference_base){.runs = runs, .lib = where->lib, .mem = mem};
    add_input(&r, "report", f->name, f->name, f->sha256);
    if (jr_parse(&doc, f->name, f->s, f->len, mem, e) == OK) read_spec(&r, jr_root(&doc));
    jr_free(&doc);
    *out = r.s;
    return e->code;
}

/* ---- by name ---- */

const spec_explain *spec_explain_named(const spec *s, const char *name) {
    for (size_t i = 0; i < s->explains_n; i++)
        if (strcmp(s->explains[i].name, name) == 0) return &s->explains[i];
    return NULL;
}

const spec_witness *spec_witness_named(const spec *s, const char *name) {
    for (size_t i = 0; i < s->witness_n; i++)
        if (strcmp(s->witness[i].name, name) == 0) return &s->witness[i];
    return NULL;
}

const spec_plot *spec_plot_named(const spec *s, const char *name) {
    for (size_t i = 0; i < s->plots_n; i++)
        if (strcmp(s->plots[i].name, name) == 0) return &s->plots[i];
    return NULL;
}
