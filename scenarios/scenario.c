#include "scenario.h"

#include "base/jsonr.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t TOK_MAX = 1000000000;
static const int64_t BYTES_MAX = (int64_t)1 << 53;
enum { K_MAX = 100000, H_MAX = 1000000, TURNS_MAX = 4000000, ASSUME_MAX = 64 };
static const double LATENCY_MAX_S = 1e7;

const char *const TURN_SHAPE_NAMES[] = {"delta_first", "result_after", NULL};
const char *const PREFIX_REUSE_NAMES[] = {"none", "per_slot", "shared", NULL};
const char *const BATCHING_NAMES[] = {"serial", "lockstep", "continuous", NULL};
static const char *const COMERS_NAMES[] = {"wait", "each", NULL};
static const char *const AT_NAMES[] = {"end", "start", NULL};
static const char *const PER_NAMES[] = {"session", "agent", "turn", NULL};

const char *const TERM_NAMES[] = {"prefill_tok_s",
                                  "delta_prefill_s",
                                  "prefill_context_s_per_tok2",
                                  "decode_tok_s",
                                  "decode_gain_card",
                                  "decode_context_s_per_tok",
                                  "host_step_s",
                                  "constant_s",
                                  "weights_bytes",
                                  "overhead_bytes",
                                  "kv_bytes_per_tok",
                                  "recurrent_state_bytes",
                                  "kv_excludes_last_output",
                                  NULL};

/* What each term's object holds beside term, provenance, reason and source. */
static const struct term_spec {
    const char *keys;
    enum { V_POSITIVE, V_NONNEG, V_BYTES, V_NONE } value;
} SPECS[TERM_N] = {
    [TERM_PREFILL_TOK_S] = {"value", V_POSITIVE},
    [TERM_DELTA_PREFILL_S] = {"value growth_per_agent_frac", V_POSITIVE},
    [TERM_PREFILL_CONTEXT_S_PER_TOK2] = {"value", V_NONNEG},
    [TERM_DECODE_TOK_S] = {"value gain_per_seq_frac", V_POSITIVE},
    [TERM_DECODE_GAIN_CARD] = {"card context_tok", V_NONE},
    [TERM_DECODE_CONTEXT_S_PER_TOK] = {"value", V_NONNEG},
    [TERM_HOST_STEP_S] = {"value", V_NONNEG},
    [TERM_CONSTANT_S] = {"value at per", V_NONNEG},
    [TERM_WEIGHTS_BYTES] = {"value", V_BYTES},
    [TERM_OVERHEAD_BYTES] = {"value", V_BYTES},
    [TERM_KV_BYTES_PER_TOK] = {"value", V_BYTES},
    [TERM_RECURRENT_STATE_BYTES] = {"value", V_BYTES},
    [TERM_KV_EXCLUDES_LAST_OUTPUT] = {"", V_NONE},
};

int64_t workload_prompt_tok(const workload *w, int64_t t) {
    if (w->shape == SHAPE_RESULT_AFTER) return w->P + (t - 1) * (w->turn_out_tok + w->turn_delta_in_tok);
    return w->P + t * w->turn_delta_in_tok + (t - 1) * w->turn_out_tok;
}

int64_t workload_max_context_tok(const workload *w) {
    return workload_prompt_tok(w, w->H) + w->turn_out_tok;
}

const assumption *arm_assumes(const arm *a, term what) {
    for (size_t i = 0; i < a->assume_n; i++)
        if (a->assume[i].what == what) return &a->assume[i];
    return NULL;
}

/* ---- --set PATH=VALUE ---- */

static cJSON *child_named(cJSON *node, const char *name) {
    if (cJSON_IsObject(node)) return cJSON_GetObjectItemCaseSensitive(node, name);
    if (!cJSON_IsArray(node)) return NULL;
    char *end;
    long i = strtol(name, &end, 10);
    if (*name && *end == '\0') return i >= 0 && i < INT_MAX ? cJSON_GetArrayItem(node, (int)i) : NULL;
    for (cJSON *c = node->child; c; c = c->next) { /* arms.fak-native.slots_n, assumptions by term */
        const cJSON *n = cJSON_GetObjectItemCaseSensitive(c, "name");
        const cJSON *t = cJSON_GetObjectItemCaseSensitive(c, "term");
        if (cJSON_IsString(n) && strcmp(n->valuestring, name) == 0) return c;
        if (cJSON_IsString(t) && strcmp(t->valuestring, name) == 0) return c;
    }
    return NULL;
}

/* "8" and "true" and "[1,2]" are JSON; anything else is a string. */
static cJSON *set_value(const char *text, const char *where, arena *mem, err *e) {
    err not_json = {0};
    jr_doc doc = {0};
    if (jr_parse(&doc, where, text, strlen(text), mem, &not_json) == OK) return doc.root;
    if (strchr("-0123456789{[\"", text[0])) {
        err_set(e, E_USAGE, where, "value \"%.80s\" is not JSON: %s", text, not_json.what);
        return NULL;
    }
    return cJSON_CreateString(text);
}

static err_code apply_set(cJSON *root, const char *set, arena *mem, err *e) {
    char where[200], path[160];
    snprintf(where, sizeof where, "--set %.150s", set);
    const char *eq = strchr(set, '=');
    if (!eq || eq == set || (size_t)(eq - set) >= sizeof path)
        return err_set(e, E_USAGE, where, "expected PATH=VALUE, such as workload.K=8");
    snprintf(path, sizeof path, "%.*s", (int)(eq - set), set);
    cJSON *node = root;
    char *part = path, *dot;
    while ((dot = strchr(part, '.'))) {
        *dot = '\0';
        node = child_named(node, part);
        if (!node) return err_set(e, E_USAGE, where, "the scenario has no \"%s\" there", part);
        part = dot + 1;
    }
    cJSON *old = child_named(node, part);
    if (!old && !cJSON_IsObject(node)) return err_set(e, E_USAGE, where, "the scenario has no \"%s\" there", part);
    cJSON *value = set_value(eq + 1, where, mem, e);
    if (!value) return err_set(e, E_NOMEM, where, "out of memory");
    if (old && cJSON_IsArray(node)) cJSON_ReplaceItemViaPointer(node, old, value);
    else if (old) cJSON_ReplaceItemInObjectCaseSensitive(node, part, value);
    else cJSON_AddItemToObject(node, part, value); /* an unknown key is then reported as such */
    return OK;
}

/* ---- reading ---- */

typedef struct loader {
    card_library *lib;
    const char *base_dir; /* card paths are relative to the scenario's file */
    arena *mem;
    bool published; /* the file lies in scenarios/published/ */
} loader;

static const card *read_card(const loader *l, jr at, const char *ref, const char *model) {
    const card *c = NULL;
    err inner = {0};
    if (!jr_ok(at)) return NULL;
    if (card_find(l->lib, ref, l->base_dir, l->mem, &c, &inner)) {
        if (inner.where[0]) err_set(at.doc->e, inner.code, inner.where, "%s", inner.what);
        else jr_fail(at, inner.code, "%s", inner.what);
        return NULL;
    }
    if (model && strcmp(model, c->model) != 0)
        jr_fail(at, E_SCHEMA, "card \"%s\" is of model \"%s\", expected the scenario's model \"%s\"", c->id, c->model,
                model);
    if (c->claim_only && !l->published)
        jr_fail(at, E_REFUSED,
                "card \"%s\" rests on a claim, nothing was measured: it may be used in scenarios/published/ only",
                c->id);
    return c;
}

static void read_assumption(const loader *l, jr o, assumption *a) {
    a->what = (term)jr_enum(o, "term", TERM_NAMES);
    if (!jr_ok(o)) return;
    const struct term_spec *spec = &SPECS[a->what];
    char keys[160];
    snprintf(keys, sizeof keys, "term provenance reason source %s", spec->keys);
    jr_keys(o, keys);
    a->prov = (prov)jr_enum(o, "provenance", PROV_NAMES);
    a->reason = jr_str(o, "reason");
    a->source = jr_str_or(o, "source", NULL);
    if (spec->value == V_POSITIVE) a->value = jr_pos(o, "value");
    if (spec->value == V_NONNEG) a->value = jr_num(o, "value", 0, 1e9);
    if (spec->value == V_BYTES) a->value = (double)jr_int(o, "value", 0, BYTES_MAX);
    if (a->what == TERM_DELTA_PREFILL_S) a->growth_frac = jr_num_or(o, "growth_per_agent_frac", 0, 1000, 0);
    if (a->what == TERM_DECODE_TOK_S) a->growth_frac = jr_num_or(o, "gain_per_seq_frac", 0, 1, -1);
    if (a->what == TERM_CONSTANT_S) {
        a->at_start = jr_enum_or(o, "at", AT_NAMES, 0) == 1;
        a->per = jr_enum_or(o, "per", PER_NAMES, PER_SESSION);
    }
    if (a->what == TERM_DECODE_GAIN_CARD) {
        a->gain_card_ref = jr_str(o, "card");
        a->context_tok = jr_int(o, "context_tok", 0, TOK_MAX);
        a->gain_card = read_card(l, jr_get(o, "card"), a->gain_card_ref, NULL);
    }
}

/* The list behind "assumptions"; one term twice in a list is an error, except constants. */
static const assumption *read_assumptions(const loader *l, jr owner, size_t *n) {
    jr list = jr_get(owner, "assumptions");
    *n = jr_len(list);
    if (*n > ASSUME_MAX) jr_fail(list, E_LIMIT, "more than %d assumptions", ASSUME_MAX);
    assumption *a = ARENA_ARRAY(l->mem, assumption, *n);
    if (!a) jr_fail(list, E_LIMIT, "does not fit the memory budget");
    for (jr o = {0}; jr_each(list, &o);) {
        read_assumption(l, o, &a[o.index]);
        for (size_t i = 0; i < o.index && jr_ok(o); i++)
            if (a[i].what == a[o.index].what && a[i].what != TERM_CONSTANT_S)
                jr_fail(o, E_SCHEMA, "term \"%s\" is assumed twice in one list", TERM_NAMES[a[i].what]);
    }
    return a;
}

/* An arm's own assumptions first, then the scenario's for the terms that the arm does not set. */
static void merge_assumptions(const loader *l, jr at, arm *a, const assumption *common, size_t common_n) {
    size_t own_n;
    const assumption *own = read_assumptions(l, at, &own_n);
    if (!jr_ok(at)) return;
    assumption *all = ARENA_ARRAY(l->mem, assumption, own_n + common_n);
    if (!all) {
        jr_fail(at, E_LIMIT, "does not fit the memory budget");
        return;
    }
    memcpy(all, own, own_n * sizeof *all);
    size_t n = own_n;
    for (size_t i = 0; i < common_n; i++) {
        bool set = false;
        for (size_t j = 0; j < own_n; j++) set |= own[j].what == common[i].what;
        if (!set) all[n++] = common[i];
    }
    a->assume = all;
    a->assume_n = n;
}

static int64_t seconds_to_ns(double s) {
    return (int64_t)llround(s * 1e9);
}

static void read_offsets(jr w, workload *out) {
    int64_t *off = ARENA_ARRAY(w.doc->mem, int64_t, out->K);
    if (!off) {
        jr_fail(w, E_LIMIT, "K = %lld does not fit the memory budget", (long long)out->K);
        return;
    }
    jr list = jr_get(w, "start_offsets_s"), stagger = jr_get(w, "stagger_s");
    if (jr_present(list) && jr_present(stagger))
        jr_fail(list, E_SCHEMA, "start_offsets_s and stagger_s exclude each other");
    size_t n;
    const double *s = jr_nonneg_array(w, "start_offsets_s", &n);
    if (jr_present(list) && jr_ok(w) && (int64_t)n != out->K)
        jr_fail(list, E_RANGE, "found %zu offsets, expected K = %lld", n, (long long)out->K);
    double step = jr_num_or(w, "stagger_s", 0, LATENCY_MAX_S, 0);
    for (int64_t k = 0; k < out->K && jr_ok(w); k++) {
        double at = jr_present(list) ? s[k] : step * (double)k;
        if (at > LATENCY_MAX_S) jr_fail(w, E_RANGE, "agent %lld starts %.6g s late, expected at most 1e7 s", (long long)k, at);
        else off[k] = seconds_to_ns(at);
    }
    out->start_offset_ns = off;
}

static void read_workload(jr w, workload *out) {
    jr_keys(w, "K H P turn_delta_in_tok turn_out_tok turn_shape tool_latency_s start_offsets_s stagger_s");
    out->K = jr_int(w, "K", 1, K_MAX);
    out->H = jr_int(w, "H", 1, H_MAX);
    out->P = jr_int(w, "P", 0, TOK_MAX);
    out->turn_delta_in_tok = jr_int(w, "turn_delta_in_tok", 0, TOK_MAX);
    out->turn_out_tok = jr_int(w, "turn_out_tok", 1, TOK_MAX);
    out->shape = (turn_shape)jr_enum(w, "turn_shape", TURN_SHAPE_NAMES);
    out->tool_latency_ns = seconds_to_ns(jr_num_or(w, "tool_latency_s", 0, LATENCY_MAX_S, 0));
    if (!jr_ok(w)) return;
    if (out->K * out->H > TURNS_MAX)
        jr_fail(w, E_LIMIT, "K x H is %lld turns, expected at most %d", (long long)(out->K * out->H), TURNS_MAX);
    double context = (double)out->P + (double)out->H * (double)(out->turn_delta_in_tok + out->turn_out_tok);
    if (context > (double)TOK_MAX)
        jr_fail(w, E_LIMIT, "contexts grow to %.0f tokens, expected at most %lld", context, (long long)TOK_MAX);
    if (out->P == 0 && out->turn_delta_in_tok == 0)
        jr_fail(w, E_RANGE, "P and turn_delta_in_tok are both 0: the first prompt would be empty");
    if (out->P == 0 && out->shape == SHAPE_RESULT_AFTER)
        jr_fail(w, E_RANGE, "P is 0 with turn_shape result_after: the first prompt would be empty");
    if (jr_ok(w)) read_offsets(w, out);
}

static void read_arm(const loader *l, jr o, const scenario *s, const char *common_card, arm *a) {
    jr_keys(o, "name title card prefix_reuse first_comers batching reuse_last_token slots_n context_tok block_tok "
               "assumptions");
    a->name = jr_str(o, "name");
    a->title = jr_str_or(o, "title", a->name);
    a->reuse = (prefix_reuse)jr_enum(o, "prefix_reuse", PREFIX_REUSE_NAMES);
    a->comers = (first_comers)jr_enum_or(o, "first_comers", COMERS_NAMES, COMERS_WAIT);
    a->batch = (batching)jr_enum(o, "batching", BATCHING_NAMES);
    a->reuse_last_token = jr_bool_or(o, "reuse_last_token", false);
    a->slots_n = jr_int_or(o, "slots_n", 1, K_MAX, s->work.K);
    a->context_tok = jr_int_or(o, "context_tok", 1, TOK_MAX, 0);
    a->block_tok = jr_int_or(o, "block_tok", 1, TOK_MAX, 1);
    if (jr_ok(o) && jr_present(jr_get(o, "first_comers")) && a->reuse != REUSE_SHARED)
        jr_fail(jr_get(o, "first_comers"), E_SCHEMA, "only prefix_reuse shared has a prefix to wait for");
    if (jr_ok(o) && a->batch == BATCH_LOCKSTEP && a->slots_n < s->work.K)
        jr_fail(jr_get(o, "slots_n"), E_REFUSED,
                "found %lld slots for K = %lld agents: lockstep needs a slot for each, use batching continuous",
                (long long)a->slots_n, (long long)s->work.K);
    jr card_at = jr_get(o, "card");
    a->card_ref = jr_str_or(o, "card", common_card);
    if (jr_ok(o) && !a->card_ref)
        jr_fail(o, E_SCHEMA, "key \"card\" is missing, in the arm and in the scenario");
    a->card = read_card(l, jr_present(card_at) ? card_at : o, a->card_ref, s->model);
}

static void read_arms(const loader *l, jr root, scenario *s) {
    jr list = jr_need(root, "arms");
    const char *card_ref = jr_str_or(root, "card", NULL);
    size_t common_n;
    const assumption *common = read_assumptions(l, root, &common_n);
    s->arms_n = jr_len(list);
    if (jr_ok(root) && (s->arms_n == 0 || s->arms_n > SCENARIO_ARMS_MAX))
        jr_fail(list, E_RANGE, "found %zu arms, expected 1 to %d", s->arms_n, SCENARIO_ARMS_MAX);
    arm *arms = ARENA_ARRAY(l->mem, arm, s->arms_n);
    if (!arms) jr_fail(list, E_LIMIT, "does not fit the memory budget");
    for (jr o = {0}; jr_each(list, &o);) {
        arm *a = &arms[o.index];
        read_arm(l, o, s, card_ref, a);
        merge_assumptions(l, o, a, common, common_n);
        for (size_t i = 0; i < o.index && jr_ok(o); i++)
            if (strcmp(arms[i].name, a->name) == 0) jr_fail(o, E_SCHEMA, "second arm with name \"%s\"", a->name);
    }
    s->arms = arms;
    const char *base = jr_str_or(root, "baseline", NULL);
    s->baseline = s->arms_n ? s->arms_n - 1 : 0;
    bool found = !base;
    for (size_t i = 0; base && i < s->arms_n && jr_ok(root); i++)
        if (strcmp(arms[i].name, base) == 0) {
            s->baseline = i;
            found = true;
        }
    if (!found) jr_fail(jr_get(root, "baseline"), E_SCHEMA, "no arm is named \"%s\"", base);
}

static void read_unmodeled(jr root, scenario *s) {
    jr list = jr_get(root, "unmodeled");
    s->unmodeled_n = jr_len(list);
    const char **text = ARENA_ARRAY(root.doc->mem, const char *, s->unmodeled_n);
    if (!text) jr_fail(list, E_LIMIT, "does not fit the memory budget");
    for (jr o = {0}; jr_each(list, &o);) {
        text[o.index] = "";
        if (cJSON_IsString(o.node)) text[o.index] = arena_strdup(root.doc->mem, o.node->valuestring);
        else jr_fail(o, E_SCHEMA, "expected a string that names an effect");
    }
    s->unmodeled = text;
}

static void read_scenario(const loader *l, jr root, scenario *s) {
    jr_keys(root, "schema id title model card workload memory_budget_bytes assumptions arms baseline unmodeled");
    const char *schema = jr_str(root, "schema");
    if (jr_ok(root) && strcmp(schema, SCENARIO_SCHEMA) != 0)
        jr_fail(jr_get(root, "schema"), E_SCHEMA, "found \"%s\", expected \"" SCENARIO_SCHEMA "\"", schema);
    s->id = jr_str(root, "id");
    s->title = jr_str(root, "title");
    s->model = jr_str_or(root, "model", NULL);
    s->memory_budget_bytes = jr_int_or(root, "memory_budget_bytes", 1, BYTES_MAX, 0);
    read_workload(jr_need(root, "workload"), &s->work);
    if (jr_ok(root)) read_arms(l, root, s);
    read_unmodeled(root, s);
}

/* The folder of a path, resolved, so that `cd scenarios/published && ratecast project x.json` is seen too. */
static const char *folder_of(const char *path, arena *mem) {
    if (strcmp(path, "<stdin>") == 0) return arena_strdup(mem, ".");
    const char *slash = strrchr(path, '/');
    if (!slash) return arena_strdup(mem, ".");
    return arena_printf(mem, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

static bool in_published(const char *path, const char *folder) {
    static const char TAIL[] = "/scenarios/published";
    if (strcmp(path, "<stdin>") == 0) return false;
    char *real = realpath(folder, NULL);
    size_t n = real ? strlen(real) : 0, t = sizeof TAIL - 1;
    bool yes = n >= t && strcmp(real + n - t, TAIL) == 0;
    free(real);
    return yes;
}

err_code scenario_parse(const file_bytes *f, card_library *lib, const char *const *sets, size_t sets_n, arena *mem,
                        const scenario **out, err *e) {
    scenario *s = ARENA_NEW(mem, scenario);
    loader l = {.lib = lib, .base_dir = folder_of(f->name, mem), .mem = mem};
    if (!s || !l.base_dir) return err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    l.published = in_published(f->name, l.base_dir);
    jr_doc doc = {0};
    if (jr_parse(&doc, f->name, f->s, f->len, mem, e) == OK) {
        for (size_t i = 0; i < sets_n && !e->code; i++) apply_set(doc.root, sets[i], mem, e);
        if (!e->code) read_scenario(&l, jr_root(&doc), s);
    }
    jr_free(&doc);
    if (e->code) return e->code;
    s->path = f->name;
    memcpy(s->sha256, f->sha256, sizeof s->sha256);
    s->overrides = sets;
    s->overrides_n = sets_n;
    *out = s;
    return OK;
}

err_code scenario_load(const char *path, card_library *lib, const char *const *sets, size_t sets_n, arena *mem,
                       const scenario **out, err *e) {
    file_bytes f = {0};
    if (file_read(path, mem, &f, e)) return e->code;
    return scenario_parse(&f, lib, sets, sets_n, mem, out, e);
}
