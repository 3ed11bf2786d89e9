#include "cli/cli.h"
#include "page.h"
#include "plots/plot.h"

#include "base/jsonr.h"
#include "base/jsonw.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const opt_spec OPTS[] = {
    {"claim", 0, "FILE", "with SCENARIO: a claim to audit", true},
    {"witness", 0, "DIR", "with SCENARIO: witnessed runs to score; goes with --card", true},
    {"card", 0, "CARD", "with SCENARIO: rate card of the witnessed runs", true},
    {"summaries", 0, NULL, "with --witness: use the summary of a run whose records are missing",
     false},
    {"against", 0, "SCENARIO", "with SCENARIO: explain the way to another scenario's head-to-head",
     true},
    {"set", 0, "PATH=VALUE", "with SCENARIO: change it: workload.K=8", true},
    {"template", 0, "FILE", "with SCENARIO: Markdown with {{ }} for every number", false},
    {"output", 'o', "DIR", "folder to write to (default: of SPEC its own, else reports/ID)", false},
    OPT_RATES,
    OPT_HELP,
};

enum { PATH_CHARS = 1024 };

/* ---- a report of a scenario, as a specification ---- */

static void add_strings(cJSON *o, const char *key, const parsed_opt *values) {
    cJSON *list = jw_arr(o, key);
    for (size_t i = 0; i < values->n; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(values->value[i]));
}

static void add_plot(cJSON *plots, const char *name, const char *kind, const char *of) {
    cJSON *o = jw_item(plots);
    jw_str(o, "name", name);
    jw_str(o, "kind", kind);
    jw_str(o, "of", of);
}

/* A timeline of more turns shows none of them. */
enum { TIMELINE_TURNS_MAX = 400 };

static void add_plots(const opts *o, const run_set *r, cJSON *root) {
    cJSON *plots = jw_arr(root, "plots");
    const workload *w = &r->s->work;
    if (r->sweep)
        add_plot(plots, "sweep", "sweep", "run");
    else {
        add_plot(plots, "wall", "stack", "run");
        if (w->K * w->H <= TIMELINE_TURNS_MAX) add_plot(plots, "timeline", "timeline", "run");
        if (r->s->arms_n > 1) add_plot(plots, "waterfall", "waterfall", "why");
    }
    if (opts_has(o, "witness")) add_plot(plots, "validate", "validate", "measured");
}

static void add_explain(const opts *o, const run_set *r, cJSON *root) {
    const parsed_opt *against = opts_all(o, "against");
    if (r->sweep || r->s->arms_n < 2) return;
    cJSON *x = jw_item(jw_arr(root, "explain"));
    jw_str(x, "name", "why");
    cJSON *files = jw_arr(x, "scenarios");
    cJSON_AddItemToArray(files, cJSON_CreateString(o->operands[0]));
    for (size_t i = 0; i < against->n; i++)
        cJSON_AddItemToArray(files, cJSON_CreateString(against->value[i]));
    add_strings(x, "set", opts_all(o, "set"));
}

static char *spec_text(const opts *o, const run_set *r) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", REPORT_SCHEMA);
    jw_str(root, "id", r->s->id);
    jw_str(root, "title", r->s->title);
    jw_str(root, "template", opts_get(o, "template"));
    cJSON *run = jw_item(jw_arr(root, "runs"));
    jw_str(run, "name", "run");
    jw_str(run, "file", o->operands[0]);
    add_strings(run, "set", opts_all(o, "set"));
    add_strings(root, "claims", opts_all(o, "claim"));
    add_explain(o, r, root);
    const parsed_opt *dirs = opts_all(o, "witness");
    for (size_t i = 0; i < dirs->n; i++) {
        cJSON *w = jw_item(i ? cJSON_GetObjectItem(root, "witness") : jw_arr(root, "witness"));
        char name[32];
        snprintf(name, sizeof name, i ? "measured%zu" : "measured", i + 1);
        jw_str(w, "name", name);
        jw_str(w, "title", dirs->value[i]);
        jw_str(w, "runs", dirs->value[i]);
        add_strings(w, "cards", opts_all(o, "card"));
        jw_bool(w, "summaries", opts_has(o, "summaries"));
    }
    add_plots(o, r, root);
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}

static err_code spec_of_scenario(const opts *o, card_library *lib, arena *mem, file_bytes *f,
                                 err *e) {
    const parsed_opt *sets = opts_all(o, "set");
    run_set r;
    if (opts_has(o, "witness") != opts_has(o, "card"))
        return err_set(e, E_USAGE, "report", "--witness and --card go together");
    if (opts_has(o, "summaries") && !opts_has(o, "witness"))
        return err_set(e, E_USAGE, "--summaries", "found no --witness DIR, expected one");
    if (runs_read(f, lib, sets->value, sets->n, mem, &r, e)) return e->code;
    char *text = spec_text(o, &r);
    char *kept = text ? arena_strdup(mem, text) : NULL;
    cJSON_free(text);
    if (!kept) return err_set(e, E_NOMEM, "report", "out of memory");
    *f = (file_bytes){.name = "command line", .s = kept, .len = strlen(kept)};
    file_sha256_hex(f->s, f->len, f->sha256);
    return OK;
}

/* ---- reading ---- */

static err_code is_spec(const file_bytes *f, arena *mem, bool *out, err *e) {
    jr_doc doc = {0};
    if (jr_parse(&doc, f->name, f->s, f->len, mem, e)) return e->code;
    const char *schema = jr_str_or(jr_root(&doc), "schema", "");
    *out = strcmp(schema, REPORT_SCHEMA) == 0;
    if (!*out && strcmp(schema, SCENARIO_SCHEMA) != 0)
        jr_fail(jr_get(jr_root(&doc), "schema"), E_SCHEMA,
                "found \"%s\", expected \"%s\" or \"%s\"", schema, REPORT_SCHEMA, SCENARIO_SCHEMA);
    jr_free(&doc);
    return e->code;
}

static err_code read_spec(const opts *o, card_library *lib, arena *mem, const spec **out, bool *own,
                          err *e) {
    static const char *const OF_SCENARIO[] = {"claim",   "witness", "card",    "summaries",
                                              "against", "set",     "template"};
    spec_places where = {.lib = lib};
    where.roots = cli_data_roots(&where.n);
    file_bytes f = {0};
    if (strcmp(o->operands[0], "-") == 0)
        return err_set(e, E_USAGE, "report", "found -, expected a file: the report names it");
    if (file_read(o->operands[0], mem, &f, e) || is_spec(&f, mem, own, e)) return e->code;
    for (size_t i = 0; *own && i < sizeof OF_SCENARIO / sizeof *OF_SCENARIO; i++)
        if (opts_has(o, OF_SCENARIO[i]))
            return err_set(e, E_USAGE, "report",
                           "--%s goes with a scenario; a specification says it itself",
                           OF_SCENARIO[i]);
    if (!*own && spec_of_scenario(o, lib, mem, &f, e)) return e->code;
    return spec_parse(&f, &where, mem, out, e);
}

/* The command that makes the report again: all options but where it is written. */
static const char *command_line(const opts *o, arena *mem) {
    buf line;
    const char *file = o->operands[0];
    buf_init(&line);
    buf_add(&line, "ratecast report");
    if (file[0] != '-') {
        buf_add(&line, " ");
        buf_add_word(&line, file);
    }
    for (size_t i = 0; i < o->cmd->opts_n; i++) {
        const char *name = o->cmd->opts[i].name;
        const parsed_opt *given = opts_all(o, name);
        for (size_t k = 0; k < given->n && strcmp(name, "output") != 0; k++) {
            buf_addf(&line, " --%s", name);
            if (!o->cmd->opts[i].arg) continue;
            buf_add(&line, " ");
            buf_add_word(&line, given->value[k]);
        }
    }
    if (file[0] == '-') {
        buf_add(&line, " -- ");
        buf_add_word(&line, file);
    }
    const char *kept = arena_strdup(mem, line.s);
    buf_done(&line);
    return kept ? kept : "";
}

/* ---- writing ---- */

static const char *folder_of(const opts *o, const spec *s, bool own, arena *mem, err *e) {
    const char *given = opts_get(o, "output"), *slash = strrchr(s->path, '/');
    if (given) return given;
    if (!own && (!s->id[0] || s->id[0] == '.' || strchr(s->id, '/')))
        err_set(e, E_USAGE, "--output", "is needed: the id \"%s\" is no name of a folder", s->id);
    if (!own) return arena_printf(mem, "reports/%s", s->id);
    return slash ? arena_printf(mem, "%.*s", (int)(slash - s->path) + (slash == s->path), s->path)
                 : ".";
}

static err_code make_folder(const char *path, err *e) {
    char part[PATH_CHARS];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part)
        return err_set(e, E_USAGE, "--output", "found \"%s\", expected a folder", path);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i]) continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return err_set(e, E_IO, part, "cannot be made: %s", strerror(errno));
    }
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return err_set(e, E_IO, path, "is no folder");
    return OK;
}

/* Files are made in a folder of their own and moved when all of them are there: a report that fails
 * leaves an older one as it was. */
typedef struct output {
    const char *folder;
    char *staged; /* folder below it, NULL: none */
    const spec *s;
    arena *mem;
    const buf *tables;  /* of each plot */
    const char **names; /* of the files made so far */
    size_t n;
} output;

enum { FILES_MAX = 2 * SPEC_LIST_MAX + 2 };

static err_code no_room(err *e) {
    return err_set(e, E_LIMIT, "report", "does not fit the memory budget");
}

static err_code open_output(output *w, err *e) {
    char *path = arena_printf(w->mem, "%s/.report.XXXXXX", w->folder);
    w->names = ARENA_ARRAY(w->mem, const char *, FILES_MAX);
    if (!path || !w->names) return no_room(e);
    if (!mkdtemp(path))
        return err_set(e, E_IO, w->folder, "cannot be written: %s", strerror(errno));
    w->staged = path;
    return OK;
}

static const char *path_in(const output *w, const char *folder, const char *name, err *e) {
    const char *path = arena_printf(w->mem, "%s/%s", folder, name);
    if (!path) no_room(e);
    return path;
}

/* What is not moved yet is gone afterwards. */
static void close_output(output *w) {
    err ignored = {0};
    for (size_t i = 0; w->staged && i < w->n; i++) {
        const char *path = path_in(w, w->staged, w->names[i], &ignored);
        if (path) unlink(path);
    }
    if (w->staged) rmdir(w->staged);
}

static err_code publish(const output *w, err *e) {
    for (size_t i = 0; i < w->n && !e->code; i++) {
        const char *from = path_in(w, w->staged, w->names[i], e),
                   *to = path_in(w, w->folder, w->names[i], e);
        if (!e->code && rename(from, to) != 0)
            err_set(e, E_IO, to, "cannot be written: %s", strerror(errno));
    }
    return e->code;
}

/* Where the file NAME is made. No file of the report may be one that it is made from. */
static const char *target(output *w, const char *name, const char *ending, err *e) {
    const char *file = arena_printf(w->mem, "%s%s", name, ending);
    const char *path = file ? path_in(w, w->folder, file, e) : NULL;
    struct stat st;
    if (!file) no_room(e);
    if (path && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        err_set(e, E_IO, path, "is a folder, expected a file or nothing");
    for (size_t i = 0; path && i < w->s->inputs_n; i++)
        if (w->s->inputs[i].path && file_same(path, w->s->inputs[i].path))
            err_set(e, E_USAGE, path, "is an input (%s), expected another folder",
                    w->s->inputs[i].name);
    if (e->code) return NULL;
    w->names[w->n++] = file;
    return path_in(w, w->staged, file, e);
}

/* Table, picture, and the picture's text for the page. */
static err_code write_plot(output *w, size_t i, const char **svg, err *e) {
    const spec_plot *p = &w->s->plots[i];
    const buf *tsv = &w->tables[i];
    file_bytes f = {0};
    const char *table = target(w, p->name, ".tsv", e), *picture = target(w, p->name, ".svg", e);
    const char *script = arena_printf(w->mem, "plots/%s.gp", PLOT_KIND_NAMES[p->kind]);
    if (!e->code && script &&
        plot_run(cli_data_path(script, w->mem), tsv->s, tsv->len, picture, e) == OK &&
        file_write(table, tsv->s, tsv->len, e) == OK && file_read(picture, w->mem, &f, e) == OK)
        *svg = f.s;
    return e->code;
}

static err_code write_page(output *w, const composed *c, const char *const *svg, err *e) {
    file_bytes css = {0}, js = {0};
    buf html;
    buf_init(&html);
    const char *path = target(w, "index", ".html", e);
    if (!e->code &&
        file_read(cli_data_path("reports/page/page.css", w->mem), w->mem, &css, e) == OK &&
        file_read(cli_data_path("reports/page/page.js", w->mem), w->mem, &js, e) == OK) {
        page_parts parts = {.title = w->s->title, .css = css.s, .js = js.s, .svg = svg};
        if (page_html(c, &parts, &html, e) == OK) (void)file_write(path, html.s, html.len, e);
    }
    buf_done(&html);
    return e->code;
}

static err_code write_all(output *w, const composed *c, err *e) {
    const char **svg = ARENA_ARRAY(w->mem, const char *, c->marks_n ? c->marks_n : 1);
    if (!svg) return no_room(e);
    for (size_t i = 0; i < w->s->plots_n && !e->code; i++) {
        const spec_plot *p = &w->s->plots[i];
        const char *text = NULL;
        if (write_plot(w, i, &text, e)) break;
        for (size_t k = 0; k < c->marks_n; k++)
            if (c->marks[k].kind == MARK_PICTURE && strcmp(c->marks[k].picture, p->name) == 0)
                svg[k] = text;
    }
    const char *md = e->code ? NULL : target(w, "report", ".md", e);
    buf plain;
    buf_init(&plain);
    marks_markdown(c->text.s, c->marks, c->marks_n, &plain);
    if (!e->code && write_page(w, c, svg, e) == OK) (void)file_write(md, plain.s, plain.len, e);
    buf_done(&plain);
    return e->code;
}

static err_code compose_plots(const spec *s, arena *mem, buf *tables, err *e) {
    for (size_t i = 0; i < s->plots_n; i++) buf_init(&tables[i]);
    for (size_t i = 0; i < s->plots_n && !e->code; i++)
        (void)compose_plot(s, &s->plots[i], mem, &tables[i], e);
    return e->code;
}

static err_code report(const opts *o, card_library *lib, arena *mem, err *e) {
    const spec *s = NULL;
    bool own = false;
    composed c;
    buf tables[SPEC_LIST_MAX];
    if (read_spec(o, lib, mem, &s, &own, e) || !s) return e->code;
    output w = {.folder = folder_of(o, s, own, mem, e), .s = s, .mem = mem, .tables = tables};
    if (e->code) return e->code;
    if (!w.folder) return no_room(e);
    (void)compose_plots(s, mem, tables, e);
    if (compose(s, command_line(o, mem), mem, &c, e) == OK && make_folder(w.folder, e) == OK &&
        open_output(&w, e) == OK && write_all(&w, &c, e) == OK && publish(&w, e) == OK)
        printf("%s/index.html\n%s/report.md\n", w.folder, w.folder);
    close_output(&w);
    composed_done(&c);
    for (size_t i = 0; i < s->plots_n; i++) buf_done(&tables[i]);
    return e->code;
}

static int run(const opts *o) {
    return cli_in_arena(o, report);
}

const command CMD_REPORT = {
    .name = "report",
    .operands = "SPEC|SCENARIO",
    .operands_min = 1,
    .operands_max = 1,
    .summary =
        "write a report: Markdown and one HTML page that needs nothing else, with its pictures\n\n"
        "SPEC is a ratecast.report/1 file that names scenarios, claims, witnessed runs, pictures "
        "and a template;\n"
        "of a SCENARIO the shipped template makes one. Every number comes from the results by "
        "reference.",
    .example = "examples:\n"
               "  ratecast report scenarios/head_to_head_4k.json --claim "
               "scenarios/claims/head_to_head_4k.json -o my-report\n"
               "  ratecast report reports/head_to_head/report.json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
