#include "claim.h"
#include "cli/cli.h"
#include "compose.h"
#include "figures.h"
#include "hardware.h"
#include "scenario.h"

#include "base/jsonr.h"
#include "base/jsonw.h"

#include <stdio.h>
#include <string.h>

static const opt_spec OPTS[] = {OPT_JSON, OPT_OUTPUT, OPT_RATES, OPT_HELP};

/* The "schema" of a JSON file, before anybody loads it; "$schema" of a JSON Schema, which is no
 * input of ours. */
static err_code read_schema(const file_bytes *f, arena *mem, const char **schema,
                            bool *is_json_schema, err *e) {
    jr_doc doc = {0};
    if (jr_parse(&doc, f->name, f->s, f->len, mem, e)) return e->code;
    jr root = jr_root(&doc);
    *is_json_schema = jr_present(jr_get(root, "$schema"));
    if (!cJSON_IsObject(root.node))
        jr_fail(root, E_SCHEMA, "found %s, expected an object with a \"schema\"",
                cJSON_IsArray(root.node) ? "an array" : "no object");
    else
        *schema = jr_str_or(root, *is_json_schema ? "$schema" : "schema", "");
    if (!e->code && (*schema)[0] == '\0')
        jr_fail(jr_get(root, "schema"), E_SCHEMA,
                "key \"schema\" is missing, expected \"" CARD_SCHEMA "\" or \"" SCENARIO_SCHEMA
                "\"");
    jr_free(&doc);
    return e->code;
}

static const char *about_card(const card *c, arena *mem) {
    return arena_printf(mem,
                        "rate card %s: %s %s, %s on %s, %zu prefill and %zu decode points [%s]%s",
                        c->id, c->model, c->quant, c->engine.name, c->hardware.chip, c->prefill_n,
                        c->decode_n, PROV_NAMES[c->prov],
                        c->claim_only         ? ", claim only"
                        : c->simulated_device ? ", simulated device: describes no machine"
                                              : "");
}

static const char *about_scenario(const scenario *s, arena *mem) {
    const char *names = "";
    for (size_t i = 0; i < s->arms_n; i++) {
        const char *more = arena_printf(mem, "%s%s%s", names, i ? ", " : "", s->arms[i].name);
        if (more) names = more;
    }
    return arena_printf(mem, "scenario %s: K = %lld, H = %lld, P = %lld, arms %s", s->id,
                        (long long)s->work.K, (long long)s->work.H, (long long)s->work.P, names);
}

static const char *about_claim(const claim *c, arena *mem) {
    return arena_printf(mem, "claim %s: %zu figures, %zu ratios, %zu rates", c->id, c->figures_n,
                        c->ratios_n, c->rates_n);
}

/* A report that could be written: what it names is there, its template and pictures find it. */
static err_code check_report(const file_bytes *f, card_library *lib, arena *mem, const char **about,
                             err *e) {
    spec_places where = {.lib = lib};
    where.roots = cli_data_roots(&where.n);
    const spec *s = NULL;
    composed c;
    if (spec_parse(f, &where, mem, &s, e)) return e->code;
    for (size_t i = 0; i < s->plots_n; i++) {
        buf tsv;
        buf_init(&tsv);
        err_code code = compose_plot(s, &s->plots[i], mem, &tsv, e);
        buf_done(&tsv);
        if (code) return code;
    }
    if (compose(s, "", mem, &c, e) == OK)
        *about = arena_printf(mem, "report %s: %zu runs, %zu claims, %zu pictures, %zu inputs",
                              s->id, s->base.runs_n, s->claims_n, s->plots_n, s->inputs_n);
    composed_done(&c);
    return e->code;
}

static err_code check_file(const char *path, card_library *lib, arena *mem, const char **schema,
                           const char **about, err *e) {
    file_bytes f = {0};
    bool is_json_schema = false;
    if (file_read(path, mem, &f, e) || read_schema(&f, mem, schema, &is_json_schema, e))
        return e->code;
    if (is_json_schema) {
        *about = "a JSON Schema: documentation, not an input";
    } else if (strcmp(*schema, CARD_SCHEMA) == 0) {
        const card *c = NULL;
        if (card_parse(lib, &f, mem, &c, e) == OK) *about = about_card(c, mem);
    } else if (strcmp(*schema, SCENARIO_SCHEMA) == 0) {
        const scenario *s = NULL;
        if (scenario_parse(&f, lib, NULL, 0, mem, &s, e) == OK) *about = about_scenario(s, mem);
    } else if (strcmp(*schema, FIGURES_SCHEMA) == 0) {
        figure_list l;
        if (figures_run(path, cli_data_path("scenarios", mem), lib, mem, &l, e) == OK)
            *about = arena_printf(mem, "list of %zu figures", l.n);
    } else if (strcmp(*schema, REPORT_SCHEMA) == 0) {
        (void)check_report(&f, lib, mem, about, e);
    } else if (strcmp(*schema, CLAIM_SCHEMA) == 0) {
        const claim *c = NULL;
        if (claim_parse(&f, 0, mem, &c, e) == OK) *about = about_claim(c, mem);
    } else if (strcmp(*schema, HARDWARE_SCHEMA) == 0) {
        hardware_catalogue chips;
        if (hardware_parse(&f, mem, &chips, e) == OK)
            *about = arena_printf(mem, "hardware catalogue: %zu chips", chips.n);
    } else {
        char where[300];
        snprintf(where, sizeof where, "%s#/schema", path);
        err_set(e, E_SCHEMA, where,
                "found \"%s\", expected \"" CARD_SCHEMA "\", \"" SCENARIO_SCHEMA
                "\", \"" CLAIM_SCHEMA "\", \"" REPORT_SCHEMA "\" or \"" FIGURES_SCHEMA "\"",
                *schema);
    }
    return e->code;
}

/* One file, with an arena and a library of its own. Returns its exit code. */
static int check_one(const opts *o, const char *path, bool json, cJSON *files, buf *out) {
    arena *mem = arena_new((size_t)INPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    card_library lib = cli_library(o);
    err e = {0};
    const char *schema = "", *about = NULL;
    int code = 0;
    (void)check_file(path, &lib, mem, &schema, &about, &e);
    cJSON *it = jw_item(files);
    jw_str(it, "file", path);
    jw_bool(it, "ok", e.code == OK);
    jw_str(it, "input_schema", schema[0] ? schema : NULL);
    jw_str(it, "about", about);
    if (e.code) {
        jw_str(it, "where", e.where);
        jw_str(it, "error", e.what);
        code = json ? err_exit_code(e.code) : cli_fail(&e);
    } else {
        buf_addf(out, "%s: ok, %s\n", path, about);
    }
    arena_free(mem);
    return code;
}

static int run(const opts *o) {
    int code = 0;
    bool json = opts_has(o, "json");
    buf out;
    buf_init(&out);
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", "ratecast.check/1");
    cJSON *files = jw_arr(root, "files");
    for (size_t i = 0; i < o->operands_n; i++) {
        int c = check_one(o, o->operands[i], json, files, &out);
        if (c > code) code = c;
    }
    if (json) {
        buf_reset(&out);
        jw_print(root, &out);
    }
    cJSON_Delete(root);
    err e = {0};
    arena *mem = arena_new((size_t)INPUT_BUDGET_MIB << 20);
    card_library lib = cli_library(o);
    card_entry *cards;
    size_t n;
    err ignored = {0};
    if (mem)
        (void)card_list(&lib, mem, &cards, &n, &ignored); /* the files that -o may not replace */
    if (cli_output(o, &out, &lib, o->operands, o->operands_n, &e)) code = cli_fail(&e);
    arena_free(mem);
    buf_done(&out);
    return code;
}

const command CMD_CHECK = {
    .name = "check",
    .operands = "FILE...",
    .operands_min = 1,
    .operands_max = (size_t)-1,
    .summary =
        "validate input files (rate cards, scenarios, claims, reports) and say what they hold",
    .example = "example:\n  ratecast check rates/*.json scenarios/*.json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
