#include "base/file.h"
#include "base/jsonr.h"
#include "calib/witness.h"
#include "cli/cli.h"
#include "ledger.h"
#include "ledger_entry.h"
#include "report_ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const opt_spec OPTS[] = {
    {"json", 0, NULL, "fold: fak-cache-value-rollup/1", false},
    {"strict", 0, NULL, "fold: exit 1 when there are warnings", false},
    {"result", 0, "RESULT.json", "add: a row of a projection, as `project --json` prints it",
     false},
    {"arm", 0, "NAME", "add --result: of this arm (default: the only one)", false},
    {"witness", 0, "DIR", "add: a row of a witnessed run (calib/WITNESS.md)", false},
    {"run", 0, "ID", "add --witness: of this run", false},
    {"date", 0, "YYYY-MM-DD", "add: date of the row; there is no clock to take it from", false},
    {"context", 0, "TEXT", "add: context of the row (default: scenario or run, and arm)", false},
    {"provider", 0, "NAME", "add: provider of the row (default: ratecast; llama-server)", false},
    {"output", 'o', "FILE", "fold: write to FILE; add: append to the ledger FILE, new or not",
     false},
    OPT_HELP,
};

/* Options that belong to one of the two forms. */
static const char *const OF_FOLD[] = {"json", "strict", NULL};
static const char *const OF_ADD[] = {"result", "arm",     "witness",  "run",
                                     "date",   "context", "provider", NULL};

static err_code refuse_options(const opts *o, const char *const *names, const char *form, err *e) {
    for (; *names; names++)
        if (opts_has(o, *names)) {
            char where[64];
            snprintf(where, sizeof where, "--%s", *names);
            return err_set(e, E_USAGE, where, "belongs to `ratecast ledger %s`", form);
        }
    return OK;
}

/* ---- fold ---- */

static void print_warnings(const rollup *r) {
    for (size_t i = 0; i < r->warnings_kept_n; i++)
        fprintf(stderr, "ratecast: %s:%zu: warning: %s\n", r->warnings[i].file, r->warnings[i].line,
                r->warnings[i].what);
    if (r->warnings_n > r->warnings_kept_n)
        fprintf(stderr, "ratecast: and %zu more like these\n", r->warnings_n - r->warnings_kept_n);
}

static err_code fold(const opts *o, arena *mem, int *code, err *e) {
    if (refuse_options(o, OF_ADD, "add", e)) return e->code;
    const char *const *names = o->operands + 1;
    size_t n = o->operands_n - 1;
    if (n == 0)
        return err_set(e, E_USAGE, "ledger fold",
                       "expected FILE..., found nothing (see `ratecast help ledger`)");
    file_bytes *files = ARENA_ARRAY(mem, file_bytes, n);
    if (!files) return err_set(e, E_LIMIT, "ledger", "does not fit the memory budget");
    ledger l = {.mem = mem};
    rollup r;
    for (size_t i = 0; i < n; i++)
        if (file_read(names[i], mem, &files[i], e) || ledger_read(&l, &files[i], e)) return e->code;
    if (ledger_fold(&l, mem, &r, e)) return e->code;
    buf out;
    buf_init(&out);
    if (opts_has(o, "json"))
        report_rollup_json(&r, files, n, &out);
    else
        report_rollup_text(&r, mem, &out);
    *code = r.warnings_n > 0 && opts_has(o, "strict") ? 1 : 0;
    if (cli_output(o, &out, NULL, names, n, e) == OK && !opts_has(o, "json")) print_warnings(&r);
    buf_done(&out);
    return e->code;
}

/* ---- add ---- */

static err_code check_add(const opts *o, err *e) {
    bool result = opts_has(o, "result"), run = opts_has(o, "witness");
    if (refuse_options(o, OF_FOLD, "fold", e)) return e->code;
    if (o->operands_n > 1)
        return err_set(e, E_USAGE, "ledger add", "found \"%s\", expected options only",
                       o->operands[1]);
    if (result == run)
        return err_set(e, E_USAGE, "ledger add", "expected one of --result and --witness");
    if (result && opts_has(o, "run")) return err_set(e, E_USAGE, "--run", "belongs to --witness");
    if (run && opts_has(o, "arm")) return err_set(e, E_USAGE, "--arm", "belongs to --result");
    if (run && !opts_has(o, "run"))
        return err_set(e, E_USAGE, "ledger add", "expected --run ID, a run_id of its runs.jsonl");
    const char *date = opts_get(o, "date");
    if (!date) return err_set(e, E_USAGE, "ledger add", "expected --date YYYY-MM-DD");
    if (!ledger_date(date, NULL))
        return err_set(e, E_USAGE, "--date",
                       "found \"%s\", expected a date YYYY-MM-DD from 1970-01-01 on", date);
    return OK;
}

static err_code make_entry(const opts *o, arena *mem, ledger_entry *x, err *e) {
    const char *result = opts_get(o, "result");
    if (result) {
        file_bytes f = {0};
        if (file_read(result, mem, &f, e) || ledger_of_result(&f, opts_get(o, "arm"), mem, x, e))
            return e->code;
    } else {
        const char *dir = opts_get(o, "witness");
        witness w;
        if (witness_load(dir, mem, &w, e)) return e->code;
        for (size_t i = 0; i < w.warnings_n; i++)
            fprintf(stderr, "ratecast: %s: warning: %s\n", dir, w.warnings[i]);
        if (ledger_of_witness(&w, opts_get(o, "run"), mem, x, e)) return e->code;
    }
    x->date = opts_get(o, "date");
    x->provider = opts_get(o, "provider");
    x->context = opts_get(o, "context");
    if (!x->provider) x->provider = result ? "ratecast" : "llama-server";
    if (!x->context) x->context = arena_printf(mem, "%s/%s", x->source_id, x->source_arm);
    return x->context ? OK : err_set(e, E_LIMIT, "ledger", "does not fit the memory budget");
}

/* Only a regular file holds rows to keep; a device or a pipe takes the new row as it comes. */
static bool has_rows(const char *path) {
    struct stat st;
    return path && strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The ledger so far, and an end behind its last line. */
static err_code start_with(const char *path, arena *mem, buf *out, err *e) {
    file_bytes old = {0};
    if (!has_rows(path)) return OK;
    if (file_read(path, mem, &old, e)) return e->code;
    ledger l = {.mem = mem};
    if (ledger_read(&l, &old, e)) return e->code;
    buf_add_n(out, old.s, old.len);
    if (old.len && old.s[old.len - 1] != '\n') buf_add(out, "\n");
    return OK;
}

/* No ledger that `fold` would refuse or not count is ever written. */
static err_code check_text(const char *path, const buf *text, arena *mem, err *e) {
    file_bytes f = {.name = path ? path : "the new row", .s = text->s, .len = text->len};
    if (text->len > FILE_MAX_BYTES)
        return err_set(e, E_LIMIT, f.name, "would be larger than 64 MiB with this row");
    ledger l = {.mem = mem};
    rollup r;
    if (ledger_read(&l, &f, e) || ledger_fold(&l, mem, &r, e)) return e->code;
    const char *same = ledger_repeats(&l, l.n - 1, mem);
    if (same) return err_set(e, E_REFUSED, same, "is this row already");
    return OK;
}

/* A link to a ledger stays a link: the rename takes the place of what it points to. */
static err_code write_ledger(const char *path, const char *result, const buf *text, err *e) {
    if (!has_rows(path)) return file_write(path, text->s, text->len, e);
    if (result && file_same(path, result))
        return err_set(e, E_USAGE, "--output", "%s is an input, expected another file", path);
    char *real = realpath(path, NULL);
    (void)file_write(real ? real : path, text->s, text->len, e);
    free(real);
    return e->code;
}

static err_code add(const opts *o, arena *mem, err *e) {
    ledger_entry x;
    if (check_add(o, e) || make_entry(o, mem, &x, e)) return e->code;
    const char *path = opts_get(o, "output"), *result = opts_get(o, "result");
    buf text;
    buf_init(&text);
    if (start_with(path, mem, &text, e) == OK) {
        ledger_entry_line(&x, &text);
        if (check_text(path, &text, mem, e) == OK) (void)write_ledger(path, result, &text, e);
    }
    buf_done(&text);
    return e->code;
}

/* ---- the command ---- */

static err_code either(const opts *o, arena *mem, int *code, err *e) {
    const char *form = o->operands[0];
    char near[16];
    if (strcmp(form, "fold") == 0) return fold(o, mem, code, e);
    if (strcmp(form, "add") == 0) return add(o, mem, e);
    if (jr_nearest(form, "fold add", near, sizeof near))
        return err_set(e, E_USAGE, "ledger", "found \"%s\", nearest is \"%s\"", form, near);
    return err_set(e, E_USAGE, "ledger", "found \"%s\", expected fold or add", form);
}

static int run(const opts *o) {
    arena *mem = arena_new((size_t)OUTPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    err e = {0};
    int code = 0;
    if (either(o, mem, &code, &e)) code = cli_fail(&e);
    arena_free(mem);
    return code;
}

const command CMD_LEDGER = {
    .name = "ledger",
    .operands = "fold FILE... | add",
    .operands_min = 1,
    .operands_max = (size_t)-1,
    .summary =
        "fold ledgers of prefix reuse into weeks, or add a row to one\n\n"
        "  ratecast ledger fold FILE... [--json] [--strict] [-o FILE]\n"
        "  ratecast ledger add --result RESULT.json --arm NAME --date YYYY-MM-DD [-o "
        "LEDGER.jsonl]\n"
        "  ratecast ledger add --witness DIR --run ID --date YYYY-MM-DD [-o LEDGER.jsonl]\n\n"
        "FILE holds a row of fak-cache-value-ledger/1 on each line; - is standard input. "
        "Rows that nobody measured\n(provenance modeled and weaker) are folded apart and "
        "never called MEASURED.",
    .example =
        "examples:\n"
        "  ratecast project scenarios/cache_ab.json --set workload.K=16 --json -o r.json\n"
        "  ratecast ledger add --result r.json --arm cache-on --date 2026-09-03 -o ledger.jsonl\n"
        "  ratecast ledger fold ledger.jsonl\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
