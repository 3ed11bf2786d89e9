#include "audit/audit.h"
#include "base/jsonr.h"
#include "claim.h"
#include "cli/cli.h"
#include "hardware.h"
#include "project.h"
#include "report_audit.h"
#include "report_packet.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const opt_spec OPTS[] = {
    {"without", 0, "ORIGIN", "leave out a claim's items of this origin: recovered or external",
     true},
    {"packet", 0, "FILE", "validate an agentic-comparison packet by its own rules and by ours",
     false},
    {"rules", 0, NULL, "print the table of rules instead of auditing", false},
    OPT_JSON,
    {"md", 0, NULL, "Markdown", false},
    OPT_OUTPUT,
    OPT_RATES,
    {"strict", 0, NULL, "exit 1 also when something cannot be told", false},
    OPT_HELP,
};

static err_code origins_left_out(const opts *o, unsigned *out, err *e) {
    const parsed_opt *given = opts_all(o, "without");
    *out = 0;
    for (size_t i = 0; i < given->n; i++) {
        const char *w = given->value[i];
        if (strcmp(w, "recovered") == 0)
            *out |= ORIGIN_RECOVERED;
        else if (strcmp(w, "external") == 0)
            *out |= ORIGIN_EXTERNAL;
        else
            return err_set(e, E_USAGE, "--without", "found \"%s\", expected recovered or external",
                           w);
    }
    return OK;
}

typedef enum input_kind { INPUT_CLAIM, INPUT_CARD, INPUT_SCENARIO } input_kind;

/* What a file is, by its schema; a claim of the older shape has none. */
static err_code kind_of(const file_bytes *f, arena *mem, input_kind *out, err *e) {
    jr_doc doc = {0};
    if (jr_parse(&doc, f->name, f->s, f->len, mem, e)) return e->code;
    jr root = jr_root(&doc);
    const char *schema = jr_str_or(root, "schema", "");
    if (strcmp(schema, CLAIM_SCHEMA) == 0 || (!schema[0] && claim_shape(root.node)))
        *out = INPUT_CLAIM;
    else if (strcmp(schema, CARD_SCHEMA) == 0)
        *out = INPUT_CARD;
    else if (strcmp(schema, SCENARIO_SCHEMA) == 0)
        *out = INPUT_SCENARIO;
    else
        jr_fail(jr_get(root, "schema"), E_SCHEMA, "found \"%s\", expected \"%s\", \"%s\" or \"%s\"",
                schema, CLAIM_SCHEMA, CARD_SCHEMA, SCENARIO_SCHEMA);
    jr_free(&doc);
    return e->code;
}

typedef struct audited {
    audit audit;
    const char *sha256, *path;
} audited;

static err_code audit_claim_file(const opts *o, const file_bytes *f,
                                 const hardware_catalogue *chips, arena *mem, audited *out,
                                 err *e) {
    unsigned without;
    const claim *c = NULL;
    if (origins_left_out(o, &without, e) || claim_parse(f, without, mem, &c, e)) return e->code;
    out->sha256 = c->sha256;
    if (audit_claim(c, chips, mem, &out->audit, e)) return e->code;
    return audit_not_compared(c, chips, mem, &out->audit, e);
}

static err_code audit_scenario_file(const file_bytes *f, card_library *lib, arena *mem,
                                    audited *out, err *e) {
    const scenario *s = NULL;
    const projection *p = NULL;
    if (scenario_parse(f, lib, NULL, 0, mem, &s, e) || project_run(s, NULL, 0, mem, &p, e))
        return e->code;
    out->sha256 = s->sha256;
    return audit_projection(p, mem, &out->audit, e);
}

static err_code audit_one_card(const card *c, const hardware_catalogue *chips, arena *mem,
                               audited *out, err *e) {
    out->sha256 = c->sha256;
    out->path = c->path;
    return audit_card(c, chips, mem, &out->audit, e);
}

static err_code audit_input(const opts *o, card_library *lib, arena *mem, audited *out, err *e) {
    const char *name = o->operands[0];
    struct stat st;
    file_bytes f = {0};
    input_kind kind = INPUT_CLAIM;
    hardware_catalogue chips;
    const card *c = NULL;
    out->path = name;
    if (hardware_load(cli_data_path("rates/hardware.json", mem), mem, &chips, e)) return e->code;
    if (strcmp(name, "-") != 0 && stat(name, &st) != 0 && !strchr(name, '/') &&
        !strstr(name, ".json")) {
        if (card_find(lib, name, NULL, mem, &c, e)) return e->code;
        return audit_one_card(c, &chips, mem, out, e);
    }
    if (file_read(name, mem, &f, e) || kind_of(&f, mem, &kind, e)) return e->code;
    if (kind == INPUT_CLAIM) return audit_claim_file(o, &f, &chips, mem, out, e);
    if (opts_has(o, "without"))
        return err_set(e, E_USAGE, "--without",
                       "found no claim, expected one: only claims name origins");
    if (kind == INPUT_SCENARIO) return audit_scenario_file(&f, lib, mem, out, e);
    if (card_parse(lib, &f, mem, &c, e)) return e->code;
    return audit_one_card(c, &chips, mem, out, e);
}

static int exit_code(const audit *a, bool strict) {
    bool fail = false, open = false;
    for (size_t i = 0; i < a->findings_n; i++) {
        fail |= a->findings[i].outcome == AUDIT_FAIL;
        open |= a->findings[i].outcome == AUDIT_CANNOT_TELL;
    }
    return fail || (strict && open) ? 1 : 0;
}

/* The format's own rules decide the exit code; what it does not know is said beside them. */
static err_code audit_packet(const opts *o, arena *mem, buf *out, int *code, err *e) {
    file_bytes f = {0};
    packet_check p;
    audit a;
    hardware_catalogue chips;
    if (hardware_load(cli_data_path("rates/hardware.json", mem), mem, &chips, e) ||
        file_read(opts_get(o, "packet"), mem, &f, e) || packet_parse(&f, mem, &p, e))
        return e->code;
    if (p.claim && (audit_claim(p.claim, &chips, mem, &a, e) ||
                    audit_not_compared(p.claim, &chips, mem, &a, e)))
        return e->code;
    if (opts_has(o, "json"))
        report_packet_json(&p, p.claim ? &a : NULL, out);
    else
        report_packet_text(&p, p.claim ? &a : NULL, opts_has(o, "md"), mem, out);
    bool strict = opts_has(o, "strict") && p.claim && exit_code(&a, true);
    *code = !p.valid || strict ? 1 : 0;
    return OK;
}

static err_code audit_and_print(const opts *o, arena *mem, int *code, err *e) {
    card_library lib = cli_library(o);
    audited x = {0};
    buf out;
    if (opts_has(o, "json") && opts_has(o, "md"))
        return err_set(e, E_USAGE, "audit", "--json and --md exclude each other");
    bool packet = opts_has(o, "packet"), rules = opts_has(o, "rules");
    if (packet + rules + (o->operands_n > 0) != 1)
        return err_set(e, E_USAGE, "audit",
                       "expected FILE or CARD, --packet FILE or --rules, one of them (see "
                       "`ratecast help audit`)");
    if (!rules && !packet && audit_input(o, &lib, mem, &x, e)) return e->code;
    buf_init(&out);
    if (packet) {
        x.path = opts_get(o, "packet");
        (void)audit_packet(o, mem, &out, code, e);
    } else if (rules)
        report_rules(mem, &out);
    else if (opts_has(o, "json"))
        report_audit_json(&x.audit, x.sha256, &out);
    else
        report_audit_text(&x.audit, opts_has(o, "md"), mem, &out);
    if (!packet) *code = rules ? 0 : exit_code(&x.audit, opts_has(o, "strict"));
    if (!e->code) (void)cli_output(o, &out, &lib, &x.path, x.path ? 1 : 0, e);
    buf_done(&out);
    return e->code;
}

static int run(const opts *o) {
    arena *mem = arena_new((size_t)OUTPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    err e = {0};
    int code = 0;
    if (audit_and_print(o, mem, &code, &e)) code = cli_fail(&e);
    arena_free(mem);
    return code;
}

const command CMD_AUDIT = {
    .name = "audit",
    .operands = "[FILE|CARD]",
    .operands_max = 1,
    .summary =
        "take a claim, a rate card or a scenario's projection apart: what follows, what does "
        "not, what cannot be told\n\n"
        "FILE is a ratecast.claim/1, a rate card or a scenario; - is standard input. Exit code "
        "1: something does not hold.",
    .example = "examples:\n"
               "  ratecast audit scenarios/claims/head_to_head_4k.json\n"
               "  ratecast audit scenarios/claims/head_to_head_4k.json --without recovered --json\n"
               "  ratecast audit qwen2-7b-like-q8_0-h200-split\n"
               "  ratecast audit --packet packet.json --json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
