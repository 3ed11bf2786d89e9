#include "base/jsonw.h"
#include "calib/curve_check.h"
#include "calib/host_fit.h"
#include "cli/cli.h"
#include "report_card.h"
#include "report_validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const opt_spec OPTS[] = {
    {"session", 0, "DIR", "witnessed runs: host terms are fitted to those marked calibrate", false},
    {"with", 0, "CARD", "another card of the same engine and machine whose runs count too", true},
    {"summaries", 0, NULL, "use the summary of a run whose session records are missing", false},
    {"repeat-spread", 0, "FRAC",
     "standard deviation of identical runs' walls (default: pooled over the repeats in DIR)",
     false},
    OPT_OUTPUT,
    OPT_RATES,
    OPT_SIMULATED,
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
    cJSON *assumed = jw_arr(o, "assumed");
    if (!f->client_gap_seen) cJSON_AddItemToArray(assumed, cJSON_CreateString("client_gap_s"));
    cJSON_AddItemToArray(assumed, cJSON_CreateString("slot_save_s_per_tok"));
    cJSON_AddItemToArray(assumed, cJSON_CreateString("slot_restore_s_per_tok"));
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

/* Behind the value of a member that starts at `s`, its comma and white space included; of the last
 * member: the object's end. */
static const char *behind(const char *s) {
    int depth = 0;
    for (; *s; s++) {
        if (*s == '"')
            for (s++; *s != '"'; s++) s += *s == '\\';
        if (*s == '{' || *s == '[') depth++;
        if (*s == '}' || *s == ']') depth--;
        if (depth < 0) return s;
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
    const char *rest = old ? behind(old) : at;
    buf_add_n(out, f.s, (size_t)(at - f.s));
    buf_addf(out, "\"host_terms\": %s%s", terms, *rest == '}' ? "\n" : ",\n  ");
    buf_add(out, rest);
    return OK;
}

/* The card to fit, then those of --with. */
static err_code load_cards(const opts *o, card_library *lib, arena *mem, const card ***out,
                           size_t *n, err *e) {
    const parsed_opt *with = opts_all(o, "with");
    if (cli_cards(with, 1, lib, mem, out, e) ||
        card_find(lib, o->operands[0], NULL, mem, &(*out)[0], e) || card_usable(lib, (*out)[0], e))
        return e->code;
    *n = 1 + with->n;
    return OK;
}

typedef struct session {
    replay *all; /* n, excluded ones too */
    size_t n;
    const replay **calibrate;
    size_t calibrate_n;
} session;

static err_code read_session(const opts *o, const card *const *cards, size_t n, arena *mem,
                             session *out, err *e) {
    witness w;
    *out = (session){0};
    if (witness_load(opts_get(o, "session"), mem, &w, e)) return e->code;
    if (replay_set(&w, cards, n, opts_has(o, "summaries"), mem, &out->all, e)) return e->code;
    out->n = w.n;
    out->calibrate = ARENA_ARRAY(mem, const replay *, w.n);
    if (!out->calibrate) return err_set(e, E_LIMIT, "fit", "does not fit the memory budget");
    for (size_t i = 0; i < w.n; i++)
        if (!out->all[i].excluded && out->all[i].run->use == USE_CALIBRATE)
            out->calibrate[out->calibrate_n++] = &out->all[i];
    return OK;
}

/* What identical runs differ by, and where that comes from. The repeats may be scored runs: they
 * are compared with each other, never with a projection. */
static err_code repeat_spread(const opts *o, const session *s, const card *c, arena *mem,
                              double *frac, const char **from, err *e) {
    static const double NO_REPEATS_FRAC = 0.05;
    const char *given = opts_get(o, "repeat-spread");
    if (given) {
        char *end = NULL;
        *frac = strtod(given, &end);
        *from = "given by --repeat-spread";
        if (*given == '\0' || *end != '\0' || !(*frac >= 0 && *frac < 1))
            return err_set(e, E_USAGE, "--repeat-spread",
                           "found \"%s\", expected a fraction from 0 to 1", given);
        return OK;
    }
    size_t free_n = 0;
    *frac = replay_repeat_spread(s->all, s->n, c, &free_n);
    *from = arena_printf(mem, "of the repeats there, %zu degrees of freedom", free_n);
    if (free_n > 0) return OK;
    *frac = NO_REPEATS_FRAC;
    *from = "assumed: no run is repeated";
    return OK;
}

/* Without sessions: the curves of the card, as every command fits them when it loads it. */
static err_code check_curves(const opts *o, const card *c, card_library *lib, arena *mem, err *e) {
    static const char *const OF_SESSION[] = {"with", "summaries", "repeat-spread", "output"};
    for (size_t i = 0; i < sizeof OF_SESSION / sizeof *OF_SESSION; i++)
        if (opts_has(o, OF_SESSION[i]))
            return err_set(e, E_USAGE, "fit", "found --%s without --session DIR, expected both",
                           OF_SESSION[i]);
    curve_check check;
    buf out;
    if (curve_check_run(c, mem, &check, e)) return e->code;
    buf_init(&out);
    report_curves_text(c, &check, mem, &out);
    (void)cli_output(o, &out, lib, NULL, 0, e);
    buf_done(&out);
    return e->code;
}

/* Too few runs to fit to: with the first reason why a run marked calibrate does not count. */
static err_code refuse_few(const session *s, err *e) {
    size_t excluded = 0, alike = 0, marked = 0;
    const replay *first = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const replay *r = &s->all[i];
        if (r->run->use != USE_CALIBRATE) continue;
        marked++;
        if (!r->excluded) continue;
        excluded++;
        if (!first) first = r;
        alike += strcmp(first->excluded, r->excluded) == 0;
    }
    if (s->calibrate_n >= 2 || excluded == 0) return OK;
    return err_set(e, E_REFUSED, "fit",
                   "found %zu calibrate run%s of these cards, host terms need two or more: of the "
                   "%zu marked calibrate %zu %s left out, %s (%s%s)%s",
                   s->calibrate_n, s->calibrate_n == 1 ? "" : "s", marked, excluded,
                   excluded == 1 ? "is" : "are", first->excluded, first->run->id,
                   alike > 1 ? " and others" : "",
                   alike < excluded ? "; `ratecast validate --use calibrate` lists the rest" : "");
}

static err_code fit(const opts *o, card_library *lib, arena *mem, err *e) {
    const card **cards = NULL;
    size_t n = 0;
    session s;
    host_fit f;
    if (load_cards(o, lib, mem, &cards, &n, e) || !cards) return e->code;
    if (!opts_has(o, "session")) return check_curves(o, cards[0], lib, mem, e);
    if (read_session(o, cards, n, mem, &s, e)) return e->code;
    double spread = 0;
    const char *from = "";
    if (refuse_few(&s, e) || repeat_spread(o, &s, cards[0], mem, &spread, &from, e) ||
        host_fit_run(s.calibrate, s.calibrate_n, spread, mem, &f, e))
        return e->code;
    f.terms.device_overhead_bytes =
        round(host_fit_overhead_bytes(s.calibrate, s.calibrate_n, cards[0]));
    host_fit_slot_files(cards[0], &f.terms);
    buf report, out;
    buf_init(&report);
    buf_init(&out);
    report_fit_text(&f, cards[0], from, mem, &report);
    report_excluded(s.all, s.n, true, &report);
    char *terms = terms_text(
        &f,
        arena_printf(mem,
                     "fitted by `ratecast fit` to the calibrate runs named here; client gap %s; "
                     "slot files assumed at the speed of one machine; repeat spread %s",
                     f.client_gap_seen ? "seen between their turns" : "assumed", from));
    bool to_file = opts_has(o, "output");
    if (to_file) {
        if (new_card(cards[0], terms, mem, &out, e) == OK &&
            file_write(opts_get(o, "output"), out.s, out.len, e) == OK) /* also in place */
            fputs(report.s, stdout);
    } else {
        (void)cli_output(o, &report, lib, NULL, 0, e);
    }
    cJSON_free(terms);
    buf_done(&out);
    buf_done(&report);
    return e->code;
}

static int run(const opts *o) {
    return cli_in_arena(o, fit);
}

const command CMD_FIT = {
    .name = "fit",
    .operands = "CARD",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "fit a card's curves and check them, or its host terms to witnessed runs\n\n"
               "Alone: the curves, and how far they are off at points left out. With --session: "
               "host terms from the runs marked calibrate; with -o the card is written with them; "
               "it may be the same file.",
    .example = "example:\n"
               "  ratecast fit my-card\n"
               "  ratecast fit my-card --session runs/ -o rates/my-card.json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
