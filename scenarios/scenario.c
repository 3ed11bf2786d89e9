#include "scenario.h"

#include "base/jsonr.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t TOK_MAX = WORKLOAD_TOK_MAX;
static const int64_t BYTES_MAX = (int64_t)1 << 53;
enum { K_MAX = 10000, H_MAX = 1000000, TURNS_MAX = WORKLOAD_TURNS_MAX, ASSUME_MAX = 64 };
enum { PRINTED_DECIMALS_MAX = 6 };
static const double PRINTED_MAX_S = 1e9;
static const double LATENCY_MAX_S = 1e7;

const char *const TURN_SHAPE_NAMES[] = {"delta_first", "result_after", NULL};
const char *const PREFIX_REUSE_NAMES[] = {"none", "per_slot", "shared", NULL};
const char *const BATCHING_NAMES[] = {"serial", "lockstep", "continuous", NULL};
const char *const COMERS_NAMES[] = {"wait", "each", NULL};
const char *const PREFILL_MODE_NAMES[] = {"exclusive", "mixed", NULL};
/* prefix_reuse in a file: "unknown" stands for both bounds and becomes two arms */
static const char *const REUSE_OR_UNKNOWN[] = {"none", "per_slot", "shared", "unknown", NULL};
enum { REUSE_UNKNOWN = 3 };
const char *const ENGINE_NAMES[] = {"general", "llama-server", NULL};
const char *const WARM_NAMES[] = {"none", "first_slot", "restored", "shared", NULL};
const char *const CLIENT_ORDER_NAMES[] = {"together", "one_after_another", NULL};
const char *const SCOPE_NAMES[] = {"total", "per_slot", NULL};
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
                                  "ttft_claim",
                                  "queue_wait_in_wall",
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
    [TERM_TTFT_CLAIM] = {"warm_base_s warm_step_s warm_mod first_base_s first_step_s first_mod",
                         V_NONE},
    [TERM_QUEUE_WAIT_IN_WALL] = {"", V_NONE},
};

int64_t workload_prompt_tok(const workload *w, int64_t t) {
    if (w->shape == SHAPE_RESULT_AFTER)
        return w->P + (t - 1) * (w->turn_out_tok + w->turn_delta_in_tok);
    return w->P + t * w->turn_delta_in_tok + (t - 1) * w->turn_out_tok;
}

int64_t workload_out_tok(const workload *w, int64_t k, int64_t t) {
    return w->out_tok ? w->out_tok[k * w->H + t - 1] : w->turn_out_tok;
}

int64_t workload_agent_prompt_tok(const workload *w, int64_t k, int64_t t) {
    int64_t prompt = workload_prompt_tok(w, t) + w->private_tok[k];
    for (int64_t u = 1; w->out_tok && u < t; u++)
        prompt += workload_out_tok(w, k, u) - w->turn_out_tok;
    return prompt;
}

int64_t workload_max_context_tok(const workload *w, int64_t k) {
    return workload_agent_prompt_tok(w, k, w->H) + workload_out_tok(w, k, w->H);
}

int64_t workload_presented_tok(const workload *w) {
    int64_t common = 0, sum = 0;
    for (int64_t t = 1; t <= w->H; t++) common += workload_prompt_tok(w, t);
    for (int64_t k = 0; k < w->K; k++) {
        sum += common + w->H * w->private_tok[k];
        for (int64_t t = 1; w->out_tok && t < w->H; t++) /* an output stands in all later prompts */
            sum += (w->H - t) * (workload_out_tok(w, k, t) - w->turn_out_tok);
    }
    return sum;
}

int64_t workload_waiting_ns(const workload *w) {
    int64_t last_ns = w->start_offset_ns[0], turns = w->one_after_another ? w->K * w->H : w->H;
    for (int64_t k = 1; k < w->K && !w->one_after_another; k++)
        if (w->start_offset_ns[k] > last_ns) last_ns = w->start_offset_ns[k];
    if (w->tool_latency_ns > 0 && turns - 1 > (INT64_MAX - last_ns) / w->tool_latency_ns)
        return INT64_MAX;
    return last_ns + (turns - 1) * w->tool_latency_ns;
}

const assumption *arm_assumes(const arm *a, term what) {
    for (size_t i = 0; i < a->assume_n; i++)
        if (a->assume[i].what == what) return &a->assume[i];
    return NULL;
}

/* ---- --set PATH=VALUE ---- */

/* The child of `node` that `path` begins with, and how many letters of the path it took. Array
 * items go by index, or by their "name" or "term" (arms.llama.cpp.slots_n: names may hold dots, so
 * the longest that fits wins). */
static cJSON *child_at(cJSON *node, const char *path, size_t *used) {
    *used = strcspn(path, ".");
    if (cJSON_IsObject(node)) {
        for (cJSON *c = node->child; c; c = c->next)
            if (strlen(c->string) == *used && strncmp(c->string, path, *used) == 0) return c;
        return NULL;
    }
    if (!cJSON_IsArray(node)) return NULL;
    if (*used > 0 && *used < 6 && strspn(path, "0123456789") == *used)
        return cJSON_GetArrayItem(node, (int)strtol(path, NULL, 10));
    cJSON *best = NULL;
    size_t longest = 0;
    for (cJSON *c = node->child; c; c = c->next) {
        const cJSON *n = cJSON_GetObjectItemCaseSensitive(c, "name");
        if (!n) n = cJSON_GetObjectItemCaseSensitive(c, "term");
        size_t len = cJSON_IsString(n) ? strlen(n->valuestring) : 0;
        if (len <= longest || strncmp(path, n->valuestring, len) != 0) continue;
        if (path[len] != '.' && path[len] != '\0') continue;
        best = c;
        longest = len;
    }
    if (best) *used = longest;
    return best;
}

/* "8" and "true" and "[1,2]" are JSON; anything else is a string, as strict about its bytes as a
 * file is. */
static cJSON *set_value(const char *text, const char *where, arena *mem, err *e) {
    err not_json = {0};
    jr_doc doc = {0};
    if (jr_parse(&doc, where, text, strlen(text), mem, &not_json) == OK) return doc.root;
    if (strchr("-0123456789{[\"", text[0])) {
        err_set(e, E_USAGE, where, "value \"%.80s\" is not JSON: %s", text, not_json.what);
        return NULL;
    }
    cJSON *string = cJSON_CreateString(text);
    char *quoted = string ? cJSON_PrintUnformatted(string) : NULL;
    if (quoted) (void)jr_parse(&doc, where, quoted, strlen(quoted), mem, e);
    cJSON_free(quoted);
    cJSON_Delete(string);
    return doc.root;
}

static err_code apply_set(cJSON *root, const char *set, arena *mem, err *e) {
    char where[200], path[160];
    snprintf(where, sizeof where, "--set %.150s", set);
    const char *eq = strchr(set, '=');
    if (!eq || eq == set || (size_t)(eq - set) >= sizeof path)
        return err_set(e, E_USAGE, where,
                       "found no name before a '=', expected PATH=VALUE such as workload.K=8");
    if (eq[1] == '\0')
        return err_set(e, E_USAGE, where,
                       "found no value behind the '=', expected PATH=VALUE such as workload.K=8 "
                       "(an empty text is \"\")");
    snprintf(path, sizeof path, "%.*s", (int)(eq - set), set);
    cJSON *node = root, *child;
    const char *part = path;
    size_t used;
    while ((child = child_at(node, part, &used)) && part[used] == '.') {
        node = child;
        part += used + 1;
    }
    bool last = strlen(part) == used;
    if (!child && !(last && cJSON_IsObject(node)))
        return err_set(e, E_USAGE, where, "found \"%.*s\", expected a path that the scenario has",
                       (int)strcspn(part, "."), part);
    cJSON *value = set_value(eq + 1, where, mem, e);
    if (!value) return err_set(e, E_NOMEM, where, "out of memory"); /* keeps what set_value said */
    if (cJSON_IsArray(node))
        cJSON_ReplaceItemViaPointer(node, child, value);
    else if (child)
        cJSON_ReplaceItemInObjectCaseSensitive(node, part, value);
    else
        cJSON_AddItemToObject(node, part, value); /* an unknown key is then reported as such */
    return OK;
}

/* ---- reading ---- */

typedef struct loader {
    card_library *lib;
    const char *base_dir; /* card paths are relative to the scenario's file */
    arena *mem;
    bool published; /* the file lies in scenarios/published/ */
    jr root;
    struct taken *taken;
} loader;

/* What the arms took of what stands for all of them. */
typedef struct taken {
    bool card;
    const assumption *common; /* of the scenario */
    size_t common_n;
    bool *assumed; /* common_n */
} taken;

static const card *read_card(const loader *l, jr at, const char *ref, const char *model) {
    const card *c = NULL;
    err inner = {0};
    if (!jr_ok(at)) return NULL;
    if (card_find(l->lib, ref, l->base_dir, l->mem, &c, &inner)) {
        /* a fault inside the card's file is told there; a card that is not to be had is the
         * scenario's fault */
        if (inner.where[0] && inner.code != E_IO)
            err_set(at.doc->e, inner.code, inner.where, "%s", inner.what);
        else
            jr_fail(at, inner.code, "found card \"%s\": %s%s%s", ref, inner.where,
                    inner.where[0] ? " " : "", inner.what);
        return NULL;
    }
    if (model && strcmp(model, c->model) != 0)
        jr_fail(at, E_SCHEMA,
                "card \"%s\" is of model \"%s\", expected the scenario's model \"%s\"", c->id,
                c->model, model);
    if (c->claim_only && !l->published)
        jr_fail(at, E_REFUSED,
                "card \"%s\" rests on a claim, nothing was measured: it may be used in "
                "scenarios/published/ only",
                c->id);
    if (card_usable(l->lib, c, &inner)) jr_fail(at, inner.code, "%s", inner.what);
    return c;
}

/* Whatever is more than an assumption rests on something, which has to be named: no class is
 * stronger because somebody writes so. */
static void check_evidence(jr o, const assumption *a) {
    if (a->prov >= PROV_ASSUMED || a->source || !jr_ok(o)) return;
    jr_fail(jr_get(o, "provenance"), E_SCHEMA,
            "found \"%s\" without a \"source\", expected where it comes from, or \"assumed\" or "
            "\"claim\"",
            PROV_NAMES[a->prov]);
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
    check_evidence(o, a);
    if (spec->value == V_POSITIVE) a->value = jr_pos(o, "value");
    if (spec->value == V_NONNEG) a->value = jr_num(o, "value", 0, 1e9);
    if (spec->value == V_BYTES) a->value = (double)jr_int(o, "value", 0, BYTES_MAX);
    if (a->what == TERM_DELTA_PREFILL_S)
        a->growth_frac = jr_num_or(o, "growth_per_agent_frac", 0, 1000, 0);
    if (a->what == TERM_DECODE_TOK_S) a->growth_frac = jr_num_or(o, "gain_per_seq_frac", 0, 1, -1);
    if (a->what == TERM_CONSTANT_S) {
        a->at_start = jr_enum_or(o, "at", AT_NAMES, 0) == 1;
        a->per = jr_enum_or(o, "per", PER_NAMES, PER_SESSION);
    }
    if (a->what == TERM_TTFT_CLAIM) {
        a->ttft.warm_base_s = jr_num_or(o, "warm_base_s", 0, 1e6, 0);
        a->ttft.warm_step_s = jr_num_or(o, "warm_step_s", 0, 1e6, 0);
        a->ttft.warm_mod = jr_int_or(o, "warm_mod", 1, 1000, 1);
        a->ttft.first_base_s = jr_num_or(o, "first_base_s", 0, 1e6, 0);
        a->ttft.first_step_s = jr_num_or(o, "first_step_s", 0, 1e6, 0);
        a->ttft.first_mod = jr_int_or(o, "first_mod", 1, 1000, 1);
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
                jr_fail(o, E_SCHEMA, "term \"%s\" is assumed twice in one list",
                        TERM_NAMES[a[i].what]);
    }
    return a;
}

/* An arm's own assumptions first, then the scenario's for the terms that the arm does not set. */
static void merge_assumptions(const loader *l, jr at, arm *a, const assumption *common,
                              size_t common_n) {
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
        if (set) continue;
        all[n++] = common[i];
        l->taken->assumed[i] = true;
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
        if (at > LATENCY_MAX_S)
            jr_fail(w, E_RANGE, "agent %lld starts %.6g s late, expected at most 1e7 s",
                    (long long)k, at);
        else
            off[k] = seconds_to_ns(at);
    }
    out->start_offset_ns = off;
}

/* One number for all agents or an array of K. */
static void read_private(jr w, workload *out) {
    int64_t *own = ARENA_ARRAY(w.doc->mem, int64_t, out->K);
    jr at = jr_get(w, "private_tok");
    if (!own) {
        jr_fail(w, E_LIMIT, "K = %lld does not fit the memory budget", (long long)out->K);
        return;
    }
    bool list = cJSON_IsArray(at.node);
    size_t n = 0;
    const double *v = list ? jr_nonneg_array(w, "private_tok", &n) : NULL;
    int64_t all = list ? 0 : jr_int_or(w, "private_tok", 0, TOK_MAX, 0);
    if (list && jr_ok(w) && (int64_t)n != out->K)
        jr_fail(at, E_RANGE, "found %zu values, expected K = %lld", n, (long long)out->K);
    for (int64_t k = 0; k < out->K && jr_ok(w); k++) {
        if (list && (v[k] != floor(v[k]) || v[k] > (double)TOK_MAX))
            jr_fail(at, E_RANGE, "found %.15g for agent %lld, expected a whole number up to %lld",
                    v[k], (long long)k, (long long)TOK_MAX);
        else
            own[k] = list ? (int64_t)v[k] : all;
        if (jr_ok(w) && workload_prompt_tok(out, out->H) + out->turn_out_tok + own[k] > TOK_MAX)
            jr_fail(at, E_LIMIT, "contexts grow over %lld tokens, expected at most that",
                    (long long)TOK_MAX);
        if (jr_ok(w) && workload_prompt_tok(out, 1) + own[k] == 0)
            jr_fail(w, E_RANGE,
                    "agent %lld's first prompt is empty, expected P, private_tok or "
                    "turn_delta_in_tok > 0",
                    (long long)k);
    }
    out->private_tok = own;
}

static void read_workload(jr w, workload *out) {
    jr_keys(
        w,
        "K H P private_tok turn_delta_in_tok turn_out_tok turn_shape tool_latency_s client_order "
        "start_offsets_s stagger_s");
    out->K = jr_int(w, "K", 1, K_MAX);
    out->H = jr_int(w, "H", 1, H_MAX);
    out->P = jr_int(w, "P", 0, TOK_MAX);
    out->turn_delta_in_tok = jr_int(w, "turn_delta_in_tok", 0, TOK_MAX);
    out->turn_out_tok = jr_int(w, "turn_out_tok", 1, TOK_MAX);
    out->shape = (turn_shape)jr_enum(w, "turn_shape", TURN_SHAPE_NAMES);
    out->one_after_another = jr_enum_or(w, "client_order", CLIENT_ORDER_NAMES, 0) == 1;
    out->tool_latency_ns = seconds_to_ns(jr_num_or(w, "tool_latency_s", 0, LATENCY_MAX_S, 0));
    if (!jr_ok(w)) return;
    if (out->K * out->H > TURNS_MAX)
        jr_fail(w, E_LIMIT, "K x H is %lld turns, expected at most %d",
                (long long)(out->K * out->H), TURNS_MAX);
    double context =
        (double)out->P + (double)out->H * (double)(out->turn_delta_in_tok + out->turn_out_tok);
    if (context > (double)TOK_MAX)
        jr_fail(w, E_LIMIT, "contexts grow to %.0f tokens, expected at most %lld", context,
                (long long)TOK_MAX);
    if (jr_ok(w)) read_private(w, out);
    if (jr_ok(w)) read_offsets(w, out);
}

/* KV capacity and how it is divided. What "context" means differs between servers (total over the
 * slots in one, per request in another), so there is no default once there is more than one slot.
 */
static void read_capacity(jr o, arm *a) {
    jr context = jr_get(o, "context_tok"), scope = jr_get(o, "context_scope");
    a->context_tok = jr_int_or(o, "context_tok", 1, TOK_MAX, 0);
    a->context_per_slot = jr_enum_or(o, "context_scope", SCOPE_NAMES, 0) == 1;
    a->layout = (kv_layout)(jr_enum_or(o, "kv_layout", KV_LAYOUT_NAMES + 1, -1) + 1);
    a->slot_pad_tok = jr_int_or(o, "slot_pad_tok", 1, TOK_MAX, 1);
    if (!jr_ok(o)) return;
    if (jr_present(scope) && !jr_present(context))
        jr_fail(scope, E_SCHEMA, "context_scope without context_tok says nothing, expected both");
    if (!jr_present(context) || a->slots_n == 1) return;
    if (!jr_present(scope))
        jr_fail(context, E_SCHEMA,
                "found context_tok %lld with %lld slots, expected context_scope \"total\" (divided "
                "over the slots) or "
                "\"per_slot\" (each slot has it)",
                (long long)a->context_tok, (long long)a->slots_n);
    else if (a->layout == KV_LAYOUT_UNSTATED)
        jr_fail(context, E_SCHEMA,
                "context_tok needs kv_layout, expected \"split\" or \"unified\"");
}

static void read_batching(jr o, const scenario *s, arm *a) {
    jr budget = jr_get(o, "max_batch_tok");
    a->batch = (batching)jr_enum(o, "batching", BATCHING_NAMES);
    a->prefill = (prefill_mode)jr_enum_or(o, "prefill", PREFILL_MODE_NAMES, PREFILL_EXCLUSIVE);
    a->max_batch_tok = jr_int_or(o, "max_batch_tok", 1, TOK_MAX, 0);
    a->slots_n = jr_int_or(o, "slots_n", 1, K_MAX, s->work.K);
    if (!jr_ok(o)) return;
    if (a->batch == BATCH_LOCKSTEP && a->slots_n < s->work.K)
        jr_fail(jr_get(o, "slots_n"), E_REFUSED,
                "found %lld slots for K = %lld agents: lockstep needs a slot for each, use "
                "batching continuous",
                (long long)a->slots_n, (long long)s->work.K);
    if (a->batch == BATCH_LOCKSTEP && s->work.one_after_another)
        jr_fail(jr_get(o, "batching"), E_SCHEMA,
                "found lockstep with client_order one_after_another, expected another batching");
    if (a->prefill == PREFILL_MIXED && a->batch != BATCH_CONTINUOUS)
        jr_fail(jr_get(o, "prefill"), E_SCHEMA,
                "found mixed, expected exclusive: only batching continuous mixes");
    if (a->prefill == PREFILL_MIXED && !jr_present(budget))
        jr_fail(o, E_SCHEMA,
                "key \"max_batch_tok\" is missing, prefill mixed needs a token budget for an "
                "iteration");
    if (a->prefill == PREFILL_EXCLUSIVE && jr_present(budget))
        jr_fail(budget, E_SCHEMA, "max_batch_tok belongs to prefill mixed");
    int64_t in_flight = a->slots_n < s->work.K ? a->slots_n : s->work.K;
    if (jr_ok(o) && a->prefill == PREFILL_MIXED && a->max_batch_tok <= in_flight)
        jr_fail(budget, E_REFUSED,
                "found %lld, expected more than the %lld sequences that can decode: a prompt would "
                "never get a row",
                (long long)a->max_batch_tok, (long long)in_flight);
}

/* llama-server's own loop takes its sizes from the card unless the arm gives them, and has no other
 * policy to choose. */
static void read_engine(jr o, arm *a) {
    static const char *const OWN[] = {"n_batch", "n_ubatch", "warm"};
    static const char *const OTHER[] = {"prefill", "max_batch_tok", "first_comers", "cold_sights_n",
                                        "block_tok"};
    a->engine = (engine_kind)jr_enum_or(o, "engine", ENGINE_NAMES, ENGINE_GENERAL);
    a->n_batch = jr_int_or(o, "n_batch", 1, TOK_MAX, 0);
    a->n_ubatch = jr_int_or(o, "n_ubatch", 1, TOK_MAX, 0);
    a->warm = (warm_up)jr_enum_or(o, "warm", WARM_NAMES, WARM_NONE);
    bool server = a->engine == ENGINE_LLAMA_SERVER;
    for (size_t i = 0; i < 3 && jr_ok(o) && !server; i++)
        if (jr_present(jr_get(o, OWN[i])))
            jr_fail(jr_get(o, OWN[i]), E_SCHEMA,
                    "found %s, expected it with engine llama-server only", OWN[i]);
    for (size_t i = 0; i < 5 && jr_ok(o) && server; i++)
        if (jr_present(jr_get(o, OTHER[i])))
            jr_fail(jr_get(o, OTHER[i]), E_SCHEMA,
                    "found %s, which engine llama-server does not take", OTHER[i]);
    if (!server || !jr_ok(o)) return;
    if (a->layout == KV_LAYOUT_UNSTATED)
        jr_fail(o, E_SCHEMA,
                "key \"kv_layout\" is missing, engine llama-server needs \"split\" or \"unified\"");
    if (a->batch != BATCH_CONTINUOUS || a->reuse_last_token)
        jr_fail(o, E_SCHEMA,
                "engine llama-server runs batching continuous with reuse_last_token false, "
                "expected those");
    if ((a->reuse == REUSE_SHARED) != (a->warm == WARM_SHARED))
        jr_fail(
            o, E_SCHEMA,
            "llama-server shares a prefix across slots only when it was forked before the start: "
            "expected prefix_reuse shared and warm shared together");
}

static void read_arm(const loader *l, jr o, const scenario *s, jr common_card, arm *a,
                     bool *unknown) {
    jr_keys(o, "name title card prefix_reuse first_comers batching prefill max_batch_tok "
               "reuse_last_token slots_n "
               "context_tok context_scope kv_layout slot_pad_tok block_tok cold_sights_n engine "
               "n_batch n_ubatch warm assumptions");
    a->name = jr_str(o, "name");
    a->title = jr_str_or(o, "title", a->name);
    int reuse = jr_enum(o, "prefix_reuse", REUSE_OR_UNKNOWN);
    *unknown = reuse == REUSE_UNKNOWN;
    a->reuse = *unknown ? REUSE_PER_SLOT : (prefix_reuse)reuse;
    a->comers = (first_comers)jr_enum_or(o, "first_comers", COMERS_NAMES, COMERS_WAIT);
    a->reuse_last_token = jr_bool_or(o, "reuse_last_token", false);
    a->block_tok = jr_int_or(o, "block_tok", 1, TOK_MAX, 1);
    a->cold_sights_n = jr_int_or(o, "cold_sights_n", 1, K_MAX, 1);
    read_batching(o, s, a);
    read_capacity(o, a);
    read_engine(o, a);
    static const char *const SHARED_ONLY[] = {"first_comers", "cold_sights_n"};
    for (size_t i = 0; i < 2 && jr_ok(o); i++)
        if (jr_present(jr_get(o, SHARED_ONLY[i])) && a->reuse != REUSE_SHARED)
            jr_fail(jr_get(o, SHARED_ONLY[i]), E_SCHEMA,
                    "only prefix_reuse shared has a prefix to wait for");
    jr own = jr_get(o, "card"), at = jr_present(own) ? own : common_card;
    if (jr_ok(o) && !jr_present(at))
        jr_fail(o, E_SCHEMA, "key \"card\" is missing, expected it in the arm or in the scenario");
    if (!jr_ok(o)) return;
    l->taken->card |= !jr_present(own);
    a->card_ref = jr_present(own) ? jr_str(o, "card") : jr_str(l->root, "card");
    a->card = read_card(l, at, a->card_ref, s->model);
}

/* Nobody knows whether this engine finds a history again: both bounds, as two arms. */
static void split_unknown(const loader *l, jr o, arm *a, arm *second) {
    *second = *a;
    second->reuse = REUSE_NONE;
    second->name = arena_printf(l->mem, "%s/none", a->name);
    second->title = second->name;
    a->name = arena_printf(l->mem, "%s/per_slot", a->name);
    if (!a->name || !second->name) jr_fail(o, E_LIMIT, "does not fit the memory budget");
}

static void fail_baseline(jr root, const scenario *s, const char *base) {
    char names[256] = "";
    for (size_t i = 0; i < s->arms_n; i++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s\"%s\"", i ? ", " : "", s->arms[i].name);
    }
    jr_fail(jr_get(root, "baseline"), E_SCHEMA, "found \"%s\", expected the name of an arm: %s",
            base, names);
}

static void read_arms(const loader *l, jr root, scenario *s) {
    jr list = jr_need(root, "arms");
    jr common_card = jr_get(root, "card");
    (void)jr_str_or(root, "card", NULL);
    size_t common_n;
    const assumption *common = read_assumptions(l, root, &common_n);
    bool *assumed = ARENA_ARRAY(l->mem, bool, common_n);
    if (!assumed) {
        jr_fail(list, E_LIMIT, "does not fit the memory budget");
        return;
    }
    *l->taken = (taken){.common = common, .common_n = common_n, .assumed = assumed};
    size_t listed = jr_len(list);
    if (jr_ok(root) && (listed == 0 || 2 * listed > SCENARIO_ARMS_MAX))
        jr_fail(list, E_RANGE, "found %zu arms, expected 1 to %d", listed, SCENARIO_ARMS_MAX / 2);
    arm *arms = ARENA_ARRAY(l->mem, arm, 2 * listed);
    if (!arms) jr_fail(list, E_LIMIT, "does not fit the memory budget");
    for (jr o = {0}; jr_each(list, &o);) {
        arm *a = &arms[s->arms_n];
        bool unknown = false;
        read_arm(l, o, s, common_card, a, &unknown);
        merge_assumptions(l, o, a, common, common_n);
        for (size_t i = 0; i < s->arms_n && jr_ok(o); i++)
            if (strcmp(arms[i].name, a->name) == 0)
                jr_fail(o, E_SCHEMA, "second arm with name \"%s\", expected names to differ",
                        a->name);
        if (unknown && jr_ok(o)) split_unknown(l, o, a, &arms[++s->arms_n]);
        s->arms_n++;
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
    if (!found) fail_baseline(root, s, base);
}

static void read_unmodeled(jr root, scenario *s) {
    s->unmodeled = jr_str_array(root, "unmodeled", &s->unmodeled_n);
}

/* Values that one number of the scenario takes in turn; the caller loads the scenario again with
 * each of them set. */
static void read_sweep(jr root, scenario *s) {
    jr sweep = jr_get(root, "sweep");
    if (!jr_present(sweep)) return;
    jr_keys(sweep, "path values");
    s->sweep_path = jr_str(sweep, "path");
    size_t n;
    const double *v = jr_nonneg_array(sweep, "values", &n);
    if (jr_ok(sweep) && (n == 0 || n > SCENARIO_SWEEP_MAX))
        jr_fail(jr_get(sweep, "values"), E_RANGE, "found %zu values, expected 1 to %d", n,
                SCENARIO_SWEEP_MAX);
    const char **text = ARENA_ARRAY(root.doc->mem, const char *, n);
    for (size_t i = 0; text && i < n && jr_ok(sweep); i++)
        text[i] = arena_printf(root.doc->mem, "%.15g", v[i]);
    if (!text) jr_fail(sweep, E_LIMIT, "does not fit the memory budget");
    s->sweep_values = text;
    s->sweep_n = n;
}

static void read_printed_wall(jr o, const scenario *s, int64_t *wall_ns) {
    jr_keys(o, "arm wall_s");
    const char *name = jr_str(o, "arm");
    double wall_s = jr_pos(o, "wall_s");
    size_t i = 0;
    if (!jr_ok(o)) return;
    while (i < s->arms_n && strcmp(s->arms[i].name, name) != 0) i++;
    if (i == s->arms_n)
        jr_fail(jr_get(o, "arm"), E_SCHEMA, "found \"%s\", expected the name of an arm", name);
    else if (wall_ns[i] >= 0)
        jr_fail(jr_get(o, "arm"), E_SCHEMA, "second wall-clock of arm \"%s\", expected one", name);
    else if (wall_s > PRINTED_MAX_S)
        jr_fail(jr_get(o, "wall_s"), E_RANGE, "found %.15g, expected at most 1e9 s", wall_s);
    else
        wall_ns[i] = seconds_to_ns(wall_s);
}

static void read_printed(jr root, scenario *s) {
    jr at = jr_get(root, "printed");
    if (!jr_present(at) || !jr_ok(root)) return;
    jr_keys(at, "source decimals walls");
    s->printed.source = jr_str(at, "source");
    s->printed.decimals = jr_int(at, "decimals", 0, PRINTED_DECIMALS_MAX);
    jr list = jr_need(at, "walls");
    if (jr_ok(at) && jr_len(list) == 0)
        jr_fail(list, E_RANGE, "found no wall-clock, expected one or more");
    int64_t *wall_ns = ARENA_ARRAY(root.doc->mem, int64_t, s->arms_n);
    if (!wall_ns) jr_fail(at, E_LIMIT, "does not fit the memory budget");
    for (size_t i = 0; wall_ns && i < s->arms_n; i++) wall_ns[i] = -1;
    for (jr o = {0}; jr_ok(at) && jr_each(list, &o);) read_printed_wall(o, s, wall_ns);
    s->printed.wall_ns = wall_ns;
}

static void read_scenario(const loader *l, jr root, scenario *s) {
    jr_schema(root, SCENARIO_SCHEMA);
    jr_keys(root, "schema id title model card workload memory_budget_bytes sweep assumptions arms "
                  "baseline printed unmodeled");
    s->id = jr_str(root, "id");
    s->title = jr_str(root, "title");
    s->model = jr_str_or(root, "model", NULL);
    s->memory_budget_bytes = jr_int_or(root, "memory_budget_bytes", 1, BYTES_MAX, 0);
    read_workload(jr_need(root, "workload"), &s->work);
    if (jr_ok(root)) read_arms(l, root, s);
    read_printed(root, s);
    read_unmodeled(root, s);
    read_sweep(root, s);
}

/* The folder of a path, resolved, so that `cd scenarios/published && ratecast project x.json` is
 * seen too. */
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

/* A value that came from --set is not in the file: its message names the option first. */
static void name_set(err *e, const char *const *sets, size_t sets_n) {
    for (size_t i = 0; e->code && i < sets_n; i++) {
        char pointer[200];
        int n = snprintf(pointer, sizeof pointer, "#/%.*s", (int)strcspn(sets[i], "="), sets[i]);
        for (int k = 0; k < n && k < (int)sizeof pointer; k++)
            if (pointer[k] == '.') pointer[k] = '/';
        const char *at = strchr(e->where, '#');
        if (!at || strcmp(at, pointer) != 0) continue;
        err old = *e;
        *e = (err){0};
        char where[sizeof old.where + 200];
        snprintf(where, sizeof where, "--set %.150s (%s)", sets[i], old.where);
        err_set(e, old.code, where, "%s", old.what);
        return;
    }
}

/* A --set that no arm takes would be printed as if it counted. */
static err_code refuse_idle(const taken *t, const char *set, err *e) {
    char where[200];
    snprintf(where, sizeof where, "--set %.150s", set);
    if (strncmp(set, "card=", 5) == 0 && !t->card)
        return err_set(e, E_USAGE, where,
                       "changes nothing, every arm names a card of its own: expected "
                       "arms.NAME.card=CARD");
    static const char LIST[] = "assumptions.";
    if (strncmp(set, LIST, sizeof LIST - 1) != 0) return OK;
    const char *item = set + sizeof LIST - 1;
    size_t len = strcspn(item, ".=");
    for (size_t i = 0; i < t->common_n; i++) {
        const char *name = TERM_NAMES[t->common[i].what];
        char index[24];
        snprintf(index, sizeof index, "%zu", i);
        bool by_name = strlen(name) == len && strncmp(name, item, len) == 0;
        bool by_index = strlen(index) == len && strncmp(index, item, len) == 0;
        if ((by_name || by_index) && t->assumed[i]) return OK;
        if (by_name || by_index)
            return err_set(e, E_USAGE, where,
                           "changes nothing, every arm declares %s itself: expected "
                           "arms.NAME.assumptions.%s",
                           name, name);
    }
    return OK;
}

static err_code parse_once(const file_bytes *f, card_library *lib, const char *const *sets,
                           size_t sets_n, arena *mem, scenario **out, err *e) {
    scenario *s = ARENA_NEW(mem, scenario);
    taken took = {0};
    loader l = {.lib = lib, .base_dir = folder_of(f->name, mem), .mem = mem, .taken = &took};
    if (!s || !l.base_dir) return err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    l.published = in_published(f->name, l.base_dir);
    jr_doc doc = {0};
    if (jr_parse(&doc, f->name, f->s, f->len, mem, e) == OK) {
        for (size_t i = 0; i < sets_n && !e->code; i++) apply_set(doc.root, sets[i], mem, e);
        l.root = jr_root(&doc);
        if (!e->code) read_scenario(&l, l.root, s);
        name_set(e, sets, sets_n);
        for (size_t i = 0; i < sets_n && !e->code; i++) refuse_idle(&took, sets[i], e);
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

err_code scenario_parse_point(const file_bytes *f, card_library *lib, const char *const *sets,
                              size_t sets_n, const scenario *swept, size_t point, arena *mem,
                              const scenario **out, err *e) {
    const char **all = ARENA_ARRAY(mem, const char *, sets_n + 1);
    scenario *s = NULL;
    if (!all) return err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    for (size_t j = 0; j < sets_n; j++) all[j] = sets[j];
    all[sets_n] = arena_printf(mem, "%s=%s", swept->sweep_path, swept->sweep_values[point]);
    if (!all[sets_n]) return err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    if (parse_once(f, lib, all, sets_n + 1, mem, &s, e) == OK) *out = s;
    return e->code;
}

err_code scenario_parse(const file_bytes *f, card_library *lib, const char *const *sets,
                        size_t sets_n, arena *mem, const scenario **out, err *e) {
    scenario *s = NULL;
    const scenario *ignored;
    if (parse_once(f, lib, sets, sets_n, mem, &s, e) || !s) return e->code;
    for (size_t i = 0; i < s->sweep_n; i++) /* every value of a sweep has to make a scenario */
        if (scenario_parse_point(f, lib, sets, sets_n, s, i, mem, &ignored, e)) return e->code;
    *out = s;
    return OK;
}

err_code scenario_load(const char *path, card_library *lib, const char *const *sets, size_t sets_n,
                       arena *mem, const scenario **out, err *e) {
    file_bytes f = {0};
    if (file_read(path, mem, &f, e)) return e->code;
    return scenario_parse(&f, lib, sets, sets_n, mem, out, e);
}
