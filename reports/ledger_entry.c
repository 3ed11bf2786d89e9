#include "ledger_entry.h"

#include "base/jsonr.h"
#include "base/jsonw.h"
#include "ledger.h"
#include "report_project.h"

#include <stdlib.h>
#include <string.h>

static const int64_t TOK_MAX = 9007199254740991; /* 2^53 - 1 */

/* "has no WHAT "x"", with the nearest of the names. */
static err_code not_there(const char *option, const char *what, const char *got, const buf *names,
                          err *e) {
    char near[64];
    if (jr_nearest(got, names->s, near, sizeof near))
        return err_set(e, E_USAGE, option, "there is no %s \"%.100s\", nearest is \"%s\"", what,
                       got, near);
    return err_set(e, E_USAGE, option, "there is no %s \"%.100s\"", what, got);
}

static void add_name(buf *names, const char *name) {
    buf_add(names, " ");
    buf_add(names, name);
}

/* The arm of that name; a cursor with node NULL and `e` set when there is none. */
static jr find_arm(jr arms, const char *name, err *e) {
    jr found = {0};
    size_t n = jr_len(arms), hits = 0;
    buf names;
    buf_init(&names);
    for (jr a = {0}; jr_each(arms, &a);) {
        const char *its = jr_str(a, "name");
        add_name(&names, its);
        if (name ? strcmp(its, name) != 0 : n != 1) continue;
        found = a;
        hits++;
    }
    if (e->code == OK && !name && n != 1)
        err_set(e, E_USAGE, "--arm", "expected one of the %zu arms:%.300s", n, names.s);
    else if (e->code == OK && hits == 0)
        (void)not_there("--arm", "arm", name, &names, e);
    else if (hits > 1)
        jr_fail(found, E_SCHEMA, "found a second arm of this name, expected one");
    buf_done(&names);
    return found;
}

static void read_tokens(jr of, ledger_entry *x) {
    jr tok = jr_need(of, "tokens");
    x->prompt_tok = jr_int(tok, "presented", 0, TOK_MAX);
    x->reused_tok = jr_int(tok, "reused", 0, TOK_MAX);
    int64_t computed = jr_int(tok, "computed", 0, TOK_MAX);
    if (x->reused_tok > x->prompt_tok || computed != x->prompt_tok - x->reused_tok)
        jr_fail(tok, E_RANGE,
                "found %lld reused and %lld computed, expected a sum of %lld presented",
                (long long)x->reused_tok, (long long)computed, (long long)x->prompt_tok);
}

err_code ledger_of_result(const file_bytes *f, const char *arm_name, arena *mem, ledger_entry *out,
                          err *e) {
    jr_doc doc;
    if (jr_parse(&doc, f->name, f->s, f->len, mem, e)) return e->code;
    jr root = jr_root(&doc);
    *out = (ledger_entry){.session_type = "projection",
                          .mechanism = "kv_prefix_reuse",
                          .prov = PROV_MODELED,
                          .source_schema = RESULT_SCHEMA,
                          .source_sha256 = arena_strdup(mem, f->sha256)};
    if (!out->source_sha256) err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    jr_schema(root, RESULT_SCHEMA);
    if (jr_ok(root)) {
        out->source_id = jr_str(root, "scenario");
        jr work = jr_need(root, "workload");
        int64_t K = jr_int(work, "K", 1, 1000000), H = jr_int(work, "H", 1, 1000000000);
        out->turns = K * H;
        jr a = find_arm(jr_need(root, "arms"), arm_name, e);
        if (e->code == OK) {
            out->source_arm = jr_str(a, "name");
            read_tokens(a, out);
        }
    }
    jr_free(&doc);
    return e->code;
}

err_code ledger_of_witness(const witness *w, const char *run_id, arena *mem, ledger_entry *out,
                           err *e) {
    const witness_run *run = NULL;
    buf names;
    buf_init(&names);
    for (size_t i = 0; i < w->n; i++) {
        add_name(&names, w->runs[i].id);
        if (strcmp(w->runs[i].id, run_id) == 0) run = &w->runs[i];
    }
    if (!run) (void)not_there("--run", "run", run_id, &names, e);
    buf_done(&names);
    if (!run) return e->code;
    const char *where = arena_printf(mem, "run %s", run->id);
    if (run->excluded) return err_set(e, E_REFUSED, where, "is excluded: %s", run->excluded);
    if (!run->complete)
        return err_set(e, E_REFUSED, where,
                       "found records of %zu turns, expected all of them: the run's summary counts "
                       "no prompt tokens",
                       run->turns_n);
    *out = (ledger_entry){.session_type = "run",
                          .mechanism = "kv_prefix_reuse",
                          .turns = (int64_t)run->turns_n,
                          .prov = PROV_WITNESSED,
                          .source_schema = WITNESS_SCHEMA,
                          .source_id = run->id,
                          .source_arm = run->arm};
    for (size_t i = 0; i < run->turns_n; i++) {
        const witness_turn *t = &run->turns[i]; /* each below 10^9, at most 10^12 of them */
        if (t->prompt_tok > TOK_MAX - out->prompt_tok)
            return err_set(e, E_LIMIT, where, "its prompts come to 2^53 tokens or more");
        out->prompt_tok += t->prompt_tok;
        out->reused_tok += t->cached_tok; /* at most as many, or the run is excluded */
    }
    return OK;
}

static void add_counts(cJSON *o, const ledger_entry *x) {
    jw_int(o, "turns", x->turns);
    jw_int(o, "prompt_tokens", x->prompt_tok);
    jw_int(o, "reused_tokens", x->reused_tok);
    ledger_sums s = {.prompt_tok = x->prompt_tok, .reused_tok = x->reused_tok};
    double ratio = 0;
    (void)ledger_ratio(&s, &ratio); /* without a prompt token nothing was reused: 0 */
    jw_num(o, "reuse_ratio", ratio);
}

void ledger_entry_line(const ledger_entry *x, buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", LEDGER_SCHEMA);
    jw_str(root, "date", x->date);
    jw_str(root, "session_type", x->session_type);
    jw_str(root, "provider", x->provider);
    jw_str(root, "mechanism", x->mechanism);
    jw_str(root, "context", x->context);
    add_counts(root, x);
    add_counts(jw_obj(root, "stats"), x);
    jw_str(root, "provenance", PROV_NAMES[x->prov]);
    cJSON *source = jw_obj(root, "source");
    jw_str(source, "schema", x->source_schema);
    jw_str(source, "id", x->source_id);
    jw_str(source, "arm", x->source_arm);
    jw_str(source, "sha256", x->source_sha256);
    char *s = cJSON_PrintUnformatted(root);
    if (!s) abort();
    buf_add(out, s);
    buf_add(out, "\n");
    cJSON_free(s);
    cJSON_Delete(root);
}
