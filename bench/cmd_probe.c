#include "commands.h"

#include "base/jsonw.h"
#include "cli/cli.h"
#include "probe_card.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const opt_spec OPTS[] = {
    {"shape", 0, "NAME", "model by its shape (default: qwen2.5-7b)", false},
    {"quant", 0, "NAME", "weights: q8_0 (default), q4_0", false},
    {"tiny", 0, NULL, "a shape of no model, for a test of the probe in seconds", false},
    {"backend", 0, "NAME", "metal, cuda, cpu; cpu simulates a GPU and measures nothing", false},
    {"self-test", 0, NULL, "only run every kernel against its reference; exit 1 on a failure",
     false},
    {"short", 0, NULL, "with --self-test: a fifth of its cases, for tools that make it slow",
     false},
    {"settle", 0, "SECONDS", "warm-up before each measurement, at most (default: 10)", false},
    {"soak", 0, "MINUTES", "also the step after that long under load", false},
    {"force", 0, NULL, "write a card although its times spread by more than 10 %", false},
    {"id", 0, "ID", "id of the card (default: name of FILE without .json)", false},
    {"list", 0, NULL, "backends, their devices, and shapes", false},
    {"dry-run", 0, NULL, "say what would be measured, and measure nothing", false},
    {"json", 0, NULL, "every measurement with its samples, on standard output", false},
    {"output", 'o', "CARD", "write the rate card to CARD; the table stays on standard output",
     false},
    OPT_RATES,
    OPT_HELP};

/* ---- what is asked for ---- */

/* The loader wants a card's file to be named after its id. */
static const char *id_of(const opts *o, arena *mem) {
    const char *id = opts_get(o, "id"), *path = opts_get(o, "output");
    if (id || !path || strcmp(path, "-") == 0) return id;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base);
    bool json = n > 5 && strcmp(base + n - 5, ".json") == 0;
    return json ? arena_printf(mem, "%.*s", (int)n - 5, base) : NULL;
}

/* 0: not given. */
static double number(const opts *o, const char *name, const char *unit, double most, err *e) {
    const char *s = opts_get(o, name);
    if (!s) return 0;
    char *end = NULL;
    errno = 0;
    double v = strtod(s, &end);
    if (!errno && end != s && !*end && v > 0 && v <= most) return v;
    char where[16];
    snprintf(where, sizeof where, "--%s", name);
    err_set(e, E_USAGE, where, "found \"%s\", expected %s above 0, at most %g", s, unit, most);
    return 0;
}

static err_code read_plan(const opts *o, const gpu_info *device, probe_plan *p, err *e) {
    const model_shape *s = &PROBE_TINY;
    quant q = QUANT_Q8_0;
    double soak = number(o, "soak", "minutes", 600, e);
    double settle = number(o, "settle", "seconds", 600, e);
    const char *name = opts_get(o, "shape"), *weights = opts_get(o, "quant");
    if (opts_has(o, "tiny") && name)
        return err_set(e, E_USAGE, "--tiny", "and --shape exclude each other");
    if (e->code || (weights && quant_find(weights, &q, e)) ||
        (!opts_has(o, "tiny") && shape_find(name ? name : "qwen2.5-7b", &s, e)))
        return e->code;
    if (probe_plan_make(device, s, q, soak, p, e)) return e->code;
    if (settle > 0) p->how.settle_limit_s = settle;
    return OK;
}

static err_code check_options(const opts *o, err *e) {
    static const char *const MODES[] = {"self-test", "list", "dry-run", NULL};
    int n = 0;
    for (size_t i = 0; MODES[i]; i++) n += opts_has(o, MODES[i]);
    if (n > 1)
        return err_set(e, E_USAGE, "probe", "--self-test, --list and --dry-run exclude each other");
    if (n && opts_has(o, "output"))
        return err_set(e, E_USAGE, "--output", "is for the card, and none is made here");
    if (opts_has(o, "short") && !opts_has(o, "self-test"))
        return err_set(e, E_USAGE, "--short", "goes with --self-test");
    const char *path = opts_get(o, "output");
    if (path && strcmp(path, "-") == 0)
        return err_set(e, E_USAGE, "--output", "expected a file: the table takes standard output");
    return OK;
}

/* ---- what it says ---- */

static void print(const buf *out) {
    fwrite(out->s, 1, out->len, stdout);
}

static err_code list_all(buf *out) {
    const char *const *names = gpu_backends();
    buf_add(out, "Backends\n\n");
    if (!names[0]) buf_add(out, "- none compiled in\n");
    for (size_t i = 0; names[i]; i++) {
        gpu *g = NULL;
        err failed = {0};
        if (gpu_open(names[i], &g, &failed) == OK) {
            const gpu_info *d = gpu_about(g);
            buf_addf(out, "- %s: %s, working set %.1f GiB%s\n", names[i], d->name,
                     (double)d->working_set_bytes / 0x1p30,
                     d->simulated ? "; simulated: only when asked for" : "");
        } else {
            buf_addf(out, "- %s: %s\n", names[i], failed.what);
        }
        gpu_close(g);
    }
    buf_add(out, "\nShapes\n\n");
    for (size_t i = 0; shape_at(i); i++)
        buf_addf(out, "- %s: %.1f GiB in q8_0, %.1f GiB in q4_0\n", shape_at(i)->name,
                 (double)shape_weights_bytes(shape_at(i), QUANT_Q8_0) / 0x1p30,
                 (double)shape_weights_bytes(shape_at(i), QUANT_Q4_0) / 0x1p30);
    return OK;
}

static void add_grid(buf *out, const char *what, const probe_grid *g) {
    buf_addf(out, "- %s:", what);
    for (size_t i = 0; i < g->n; i++) buf_addf(out, " %lld", (long long)g->at[i]);
    buf_add(out, "\n");
}

static void tell_plan(const probe_plan *p, const gpu_info *device, buf *out) {
    buf_addf(out, "Would measure %s in %s on %s:\n\n", p->shape->name, QUANT_NAMES[p->quant],
             device ? device->name : "a device that is not here (nothing is left out for memory)");
    add_grid(out, "steps of so many sequences", &p->batches);
    add_grid(out, "  with so many tokens each, where they fit", &p->contexts);
    add_grid(out, "micro-batches of so many tokens", &p->tokens);
    add_grid(out, "  behind so many", &p->depths);
    add_grid(out, "prompts, summed from them", &p->lengths);
    buf_addf(out,
             "- and alone: bandwidth, arithmetic, dispatches, each kind of matrix, attention\n"
             "- each: warm-up of at most %g s, then %zu samples of at least %g ms\n"
             "- device memory: %.2f GiB for the pass\n",
             p->how.settle_limit_s, p->how.samples_n, 1e3 * p->how.sample_min_s,
             (double)p->pass_bytes / 0x1p30);
    if (p->soak_s > 0)
        buf_addf(out, "- %g minutes of steps, then the first again\n", p->soak_s / 60);
}

/* ---- the command ---- */

static err_code self_test(gpu *g, bool few, bool json, arena *mem, buf *out, int *code, err *e) {
    probe_result *r = ARENA_NEW(mem, probe_result);
    if (!r) return err_set(e, E_LIMIT, "probe", "does not fit the memory budget");
    if (few ? probe_test_run_short(g, mem, &r->checks, e) : probe_test_run(g, mem, &r->checks, e))
        return e->code;
    *code = r->checks.failed_n > 0;
    if (!json) {
        probe_checks_table(gpu_about(g), &r->checks, mem, out);
        return OK;
    }
    probe_plan none = {.shape = &PROBE_TINY};
    r->plan = &none;
    r->device = gpu_about(g);
    return probe_json(r, out, e);
}

static err_code write_card(const opts *o, const probe_result *r, const card_library *lib,
                           arena *mem, err *e) {
    buf text;
    if (!opts_has(o, "output")) return OK;
    buf_init(&text);
    if (!probe_card_write(r, id_of(o, mem), opts_has(o, "force"), mem, &text, e))
        (void)cli_output(o, &text, lib, NULL, 0, e);
    buf_done(&text);
    return e->code;
}

static err_code run_probe(const opts *o, gpu *g, card_library *lib, arena *mem, buf *out, err *e) {
    probe_plan plan;
    probe_result *r = NULL;
    if (read_plan(o, gpu_about(g), &plan, e)) return e->code;
    if (probe_run(g, &plan, true, mem, &r, e)) {
        if (r && r->checks.failed_n) probe_checks_table(gpu_about(g), &r->checks, mem, out);
        return e->code;
    }
    if (opts_has(o, "json")) {
        if (probe_json(r, out, e)) return e->code;
    } else {
        probe_table(r, mem, out);
    }
    return write_card(o, r, lib, mem, e);
}

static err_code dry_run(const opts *o, gpu *g, buf *out, err *e) {
    probe_plan plan = {0};
    const gpu_info *device = g ? gpu_about(g) : NULL;
    if (read_plan(o, device, &plan, e) || !plan.shape) return e->code;
    tell_plan(&plan, device, out);
    return OK;
}

static err_code body(const opts *o, card_library *lib, arena *mem, buf *out, int *code, err *e) {
    gpu *g = NULL;
    err no_device = {0};
    const char *backend = opts_get(o, "backend");
    if (check_options(o, e)) return e->code;
    if (opts_has(o, "list")) return list_all(out);
    bool dry = opts_has(o, "dry-run");
    bool opened = gpu_open(backend, &g, &no_device) == OK;
    /* the kernels can be tested where no GPU is: it measures nothing, and says on what it ran */
    if (!opened && !backend && opts_has(o, "self-test")) {
        err no_cpu = {0};
        opened = gpu_open("cpu", &g, &no_cpu) == OK;
    }
    if (!opened && (!dry || backend))
        return err_set(e, no_device.code, no_device.where, "%s", no_device.what);
    if (dry)
        (void)dry_run(o, g, out, e);
    else if (opts_has(o, "self-test"))
        (void)self_test(g, opts_has(o, "short"), opts_has(o, "json"), mem, out, code, e);
    else
        (void)run_probe(o, g, lib, mem, out, e);
    gpu_close(g);
    return e->code;
}

/* What was measured is said even when no card comes of it. */
static int run(const opts *o) {
    err e = {0};
    int code = 0;
    card_library lib = cli_library(o);
    arena *mem = arena_new((size_t)OUTPUT_BUDGET_MIB << 20);
    buf out;
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    buf_init(&out);
    (void)body(o, &lib, mem, &out, &code, &e);
    print(&out);
    if (e.code) code = cli_fail(&e);
    buf_done(&out);
    arena_free(mem);
    return code;
}

const command CMD_PROBE = {
    .name = "probe",
    .operands = "",
    .summary = "what this machine's GPU does with the probe's own kernels, and a rate card of it",
    .example =
        "example: ratecast-bench probe --self-test\n"
        "         ratecast-bench probe --shape qwen2.5-7b --quant q8_0 -o my-gpu-probe.json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
