#include "base/jsonw.h"
#include "calib/host_fit.h"
#include "cli/cli.h"
#include "report_validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const opt_spec OPTS[] = {
    {"session", 0, "DIR", "witnessed runs: host terms are fitted to those marked calibrate", false},
    {"with", 0, "CARD", "another card of the same engine and machine whose runs count too", true},
    {"summaries", 0, NULL, "use the summary of a run whose session records are missing", false},
    {"repeat-spread", 0, "FRAC", "standard deviation of identical runs' walls (default 0.026)",
     false},
    OPT_OUTPUT,
    OPT_RATES,
    OPT_HELP,
};

/* `"host_terms": {...}` as one line of a card. */
static char *terms_text(const host_fit *f, const char *source) {
    cJSON *o = cJSON_CreateObject();
    host_terms t = f->terms;
    for (size_t i = 0; i < HOST_FITTED_N; i++) jw_num(o, HOST_TERM_NAMES[i], *host_term_at(&t, i));
    cJSON *se = jw_obj(o, "stderr_frac");
    for (size_t i = 0; i < HOST_FITTED_N; i++) jw_num(se, HOST_TERM_NAMES[i], t.stderr_frac[i]);
    jw_num(o, "client_gap_s", t.client_gap_s);
    jw_num(o, "slot_save_s_per_tok", t.slot_save_s_per_tok);
    jw_num(o, "slot_restore_s_per_tok", t.slot_restore_s_per_tok);
    jw_num(o, "repeat_spread_frac", t.repeat_spread_frac);
    jw_num(o, "device_overhead_bytes", t.device_overhead_bytes);
    cJSON *runs = jw_arr(o, "runs");
    for (size_t i = 0; i < f->runs_n; i++)
        cJSON_AddItemToArray(runs, cJSON_CreateString(f->run_ids[i]));
    jw_str(o, "provenance", "derived");
    jw_str(o, "source", source);
    char *text = cJSON_PrintUnformatted(o);
    cJSON_Delete(o);
    return text;
}

/* Where the member `key` of the top-level object begins (its quote); NULL: not there. The text is
 * valid JSON. */
static const char *member(const char *s, const char *key) {
    int depth = 0;
    size_t n = strlen(key);
    for (; *s; s++) {
        if (*s == '{' || *s == '[') depth++;
        if (*s == '}' || *s == ']') depth--;
        if (*s != '"') continue;
        if (depth == 1 && strncmp(s + 1, key, n) == 0 && s[n + 1] == '"' &&
            s[n + 2 + strspn(s + n + 2, " \t\r\n")] == ':')
            return s;
        for (s++; *s != '"'; s++) s += *s == '\\';
    }
    return NULL;
}

/* Behind the value of a member that starts at `s`, its comma and white space included. */
static const char *behind(const char *s) {
    int depth = 0;
    for (; *s; s++) {
        if (*s == '"')
            for (s++; *s != '"'; s++) s += *s == '\\';
        if (*s == '{' || *s == '[') depth++;
        if (*s == '}' || *s == ']') depth--;
        if (depth == 0 && *s == ',') return s + 1 + strspn(s + 1, " \t\r\n");
    }
    return s;
}

/* The card's text with its host terms replaced: the measurements stay as they are written, byte for
 * byte. */
static err_code new_card(const card *c, const char *terms, arena *mem, buf *out, err *e) {
    file_bytes f = {0};
    if (file_read(c->path, mem, &f, e)) return e->code;
    const char *old = member(f.s, "host_terms"), *at = old ? old : member(f.s, "prefill");
    if (!at)
        return err_set(e, E_REFUSED, c->path,
                       "card has no prefill list of its own: fit the card that it extends");
    buf_add_n(out, f.s, (size_t)(at - f.s));
    buf_addf(out, "\"host_terms\": %s,\n  ", terms);
    buf_add(out, old ? behind(old) : at);
    return OK;
}

static err_code load_cards(const opts *o, card_library *lib, arena *mem, const card ***out,
                           size_t *n, err *e) {
    const parsed_opt *with = opts_all(o, "with");
    const card **cards = ARENA_ARRAY(mem, const card *, with->n + 1);
    if (!cards) return err_set(e, E_LIMIT, "fit", "does not fit the memory budget");
    if (card_find(lib, o->operands[0], NULL, mem, &cards[0], e)) return e->code;
    for (size_t i = 0; i < with->n; i++)
        if (card_find(lib, with->value[i], NULL, mem, &cards[i + 1], e)) return e->code;
    *out = cards;
    *n = with->n + 1;
    return OK;
}

static err_code calibrate_runs(const opts *o, const card *const *cards, size_t n, arena *mem,
                               const replay ***out, size_t *out_n, err *e) {
    witness w;
    replay *all = NULL;
    if (witness_load(opts_get(o, "session"), mem, &w, e)) return e->code;
    if (replay_set(&w, cards, n, opts_has(o, "summaries"), mem, &all, e)) return e->code;
    const replay **runs = ARENA_ARRAY(mem, const replay *, w.n);
    if (!runs) return err_set(e, E_LIMIT, "fit", "does not fit the memory budget");
    for (size_t i = 0; i < w.n; i++)
        if (!all[i].excluded && all[i].run->use == USE_CALIBRATE) runs[(*out_n)++] = &all[i];
    *out = runs;
    return OK;
}

/* Two identical H200 runs differ by 2.9 % on average: the mean difference of two draws is 1.13
 * standard deviations. */
static const double REPEAT_SPREAD_FRAC = 0.026;

static err_code read_spread(const opts *o, double *spread, err *e) {
    const char *given = opts_get(o, "repeat-spread");
    char *end = NULL;
    if (!given) return OK;
    double v = strtod(given, &end);
    if (*given == '\0' || *end != '\0' || !(v >= 0 && v < 1))
        return err_set(e, E_USAGE, "--repeat-spread",
                       "found \"%s\", expected a fraction from 0 to 1", given);
    *spread = v;
    return OK;
}

static err_code fit(const opts *o, card_library *lib, arena *mem, err *e) {
    const card **cards = NULL;
    const replay **runs = NULL;
    size_t n = 0, runs_n = 0;
    host_fit f;
    if (load_cards(o, lib, mem, &cards, &n, e)) return e->code;
    if (!opts_has(o, "session"))
        return err_set(
            e, E_USAGE, "fit",
            "expected --session DIR with witnessed runs (the curves of a card need no fit of "
            "their own: `ratecast show CARD`)");
    if (calibrate_runs(o, cards, n, mem, &runs, &runs_n, e)) return e->code;
    double spread = REPEAT_SPREAD_FRAC;
    if (read_spread(o, &spread, e) || host_fit_run(runs, runs_n, spread, mem, &f, e))
        return e->code;
    f.terms.device_overhead_bytes = round(host_fit_overhead_bytes(runs, runs_n, cards[0]));
    buf report, out;
    buf_init(&report);
    buf_init(&out);
    report_fit_text(&f, cards[0], mem, &report);
    char *terms = terms_text(&f, "fitted by `ratecast fit` to the calibrate runs named here");
    bool to_file = opts_has(o, "output");
    if (to_file) {
        fputs(report.s, stdout);
        if (new_card(cards[0], terms, mem, &out, e) == OK)
            (void)file_write(opts_get(o, "output"), out.s, out.len,
                             e); /* a card may be renewed in place */
    } else {
        (void)cli_output(o, &report, lib, NULL, 0, e);
    }
    cJSON_free(terms);
    buf_done(&out);
    buf_done(&report);
    return e->code;
}

static int run(const opts *o) {
    arena *mem = arena_new((size_t)OUTPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    err e = {0};
    card_library lib = cli_library(o);
    int code = fit(o, &lib, mem, &e) ? cli_fail(&e) : 0;
    arena_free(mem);
    return code;
}

const command CMD_FIT = {
    .name = "fit",
    .operands = "CARD",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "fit a card's host terms to the witnessed runs marked calibrate\n\n"
               "With -o the card is written with its host terms; it may be the same file.",
    .example = "example:\n  ratecast fit my-card --session runs/ -o rates/my-card.json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
