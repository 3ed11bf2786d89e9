#include "report_project_json.h"

#include "base/jsonw.h"

#include <stdlib.h>
#include <string.h>

static void add_percentiles(cJSON *parent, const char *key, const percentiles *p) {
    cJSON *o = jw_obj(parent, key);
    jw_int(o, "n", p->n);
    if (p->n == 0) return;
    jw_ns_as_s(o, "p50_s", p->p50_ns);
    jw_ns_as_s(o, "p95_s", p->p95_ns);
    jw_ns_as_s(o, "p99_s", p->p99_ns);
    jw_ns_as_s(o, "max_s", p->max_ns);
    jw_num(o, "mean_s", p->mean_ns / 1e9);
}

static void add_memory(cJSON *parent, const memory_use *m, const memory_fit *fit) {
    static const char *const FITS[] = {
        [MEMORY_FITS] = "yes", [MEMORY_CANNOT_TELL] = "cannot_tell", [MEMORY_TOO_MUCH] = "no"};
    cJSON *o = jw_obj(parent, "memory");
    jw_int(o, "peak_bytes", m->peak_bytes);
    jw_int(o, "weights_bytes", m->weights_bytes);
    jw_int(o, "kv_reserved_bytes", m->kv_reserved_bytes);
    jw_int(o, "kv_resident_bytes", m->kv_resident_bytes);
    jw_int(o, "kv_resident_tok", m->kv_resident_tok);
    jw_int(o, "overhead_bytes", m->overhead_bytes);
    jw_int(o, "recurrent_bytes", m->recurrent_bytes);
    jw_bool(o, "overhead_known", m->overhead_known);
    jw_bool(o, "recurrent_known", m->recurrent_known);
    jw_str(o, "provenance", PROV_NAMES[m->prov]);
    if (fit->outcome == MEMORY_NOT_KNOWN) return;
    jw_int(o, "limit_bytes", fit->limit_bytes);
    jw_str(o, "limit_from", fit->is_budget ? "budget" : "card");
    jw_int(o, "over_bytes", fit->over_bytes);
    jw_str(o, "fits", FITS[fit->outcome]);
}

/* The fields of one assumption as a scenario writes them. */
static void add_term(cJSON *o, const assumption *s) {
    static const char *const PER[] = {"session", "agent", "turn"};
    switch (s->what) {
    case TERM_DECODE_GAIN_CARD:
        jw_str(o, "card", s->gain_card->id);
        jw_str(o, "card_sha256", s->gain_card->sha256);
        jw_int(o, "context_tok", s->context_tok);
        return;
    case TERM_KV_EXCLUDES_LAST_OUTPUT:
    case TERM_QUEUE_WAIT_IN_WALL:
        return;
    case TERM_TTFT_CLAIM:
        jw_num(o, "warm_base_s", s->ttft.warm_base_s);
        jw_num(o, "warm_step_s", s->ttft.warm_step_s);
        jw_int(o, "warm_mod", s->ttft.warm_mod);
        jw_num(o, "first_base_s", s->ttft.first_base_s);
        jw_num(o, "first_step_s", s->ttft.first_step_s);
        jw_int(o, "first_mod", s->ttft.first_mod);
        return;
    default:
        jw_num(o, "value", s->value);
    }
    if (s->what == TERM_DECODE_TOK_S && s->growth_frac >= 0)
        jw_num(o, "gain_per_seq_frac", s->growth_frac);
    if (s->what == TERM_DELTA_PREFILL_S) jw_num(o, "growth_per_agent_frac", s->growth_frac);
    if (s->what == TERM_CONSTANT_S) {
        jw_str(o, "at", s->at_start ? "start" : "end");
        jw_str(o, "per", PER[s->per]);
    }
}

static void add_assumptions(cJSON *parent, const arm *a) {
    cJSON *list = jw_arr(parent, "assumptions");
    for (size_t i = 0; i < a->assume_n; i++) {
        const assumption *s = &a->assume[i];
        cJSON *o = jw_item(list);
        jw_str(o, "term", TERM_NAMES[s->what]);
        add_term(o, s);
        jw_str(o, "provenance", PROV_NAMES[s->prov]);
        jw_str(o, "reason", s->reason);
        jw_str(o, "source", s->source);
    }
}

/* The engine configuration that was run, every option of it. */
static void add_policy(cJSON *o, const arm *a) {
    static const char *const WARM[] = {"none", "first_slot", "restored", "shared"};
    jw_str(o, "engine", a->engine == ENGINE_LLAMA_SERVER ? "llama-server" : "general");
    if (a->engine == ENGINE_LLAMA_SERVER) {
        if (a->n_batch) jw_int(o, "n_batch", a->n_batch);
        if (a->n_ubatch) jw_int(o, "n_ubatch", a->n_ubatch);
        jw_str(o, "warm", WARM[a->warm]);
        jw_str(o, "kv_layout", KV_LAYOUT_NAMES[a->layout]);
    }
    jw_str(o, "prefix_reuse", PREFIX_REUSE_NAMES[a->reuse]);
    if (a->reuse == REUSE_SHARED) {
        jw_str(o, "first_comers", COMERS_NAMES[a->comers]);
        jw_int(o, "cold_sights_n", a->cold_sights_n);
    }
    jw_str(o, "batching", BATCHING_NAMES[a->batch]);
    jw_str(o, "prefill", PREFILL_MODE_NAMES[a->prefill]);
    if (a->prefill == PREFILL_MIXED) jw_int(o, "max_batch_tok", a->max_batch_tok);
    jw_bool(o, "reuse_last_token", a->reuse_last_token);
    jw_int(o, "slots_n", a->slots_n);
    jw_int(o, "block_tok", a->block_tok);
    if (a->context_tok == 0) return;
    jw_int(o, "context_tok", a->context_tok);
    jw_str(o, "context_scope", a->context_per_slot ? "per_slot" : "total");
    if (a->engine == ENGINE_GENERAL) jw_str(o, "kv_layout", KV_LAYOUT_NAMES[a->layout]);
    jw_int(o, "slot_pad_tok", a->slot_pad_tok);
}

static void add_strings(cJSON *o, const char *key, const char *const *s, size_t n) {
    cJSON *list = jw_arr(o, key);
    for (size_t i = 0; i < n; i++) cJSON_AddItemToArray(list, cJSON_CreateString(s[i]));
}

static void add_time(cJSON *o, const arm_result *r) {
    jw_ns_as_s(o, "wall_s", r->sim.wall_ns);
    if (r->wall.known) {
        cJSON *iv = jw_obj(o, "wall_interval");
        jw_int(iv, "level_pct", 90);
        jw_ns_as_s(iv, "lo_s", r->wall.lo_ns);
        jw_ns_as_s(iv, "hi_s", r->wall.hi_ns);
        jw_str(iv, "from", r->wall.from);
    }
    cJSON *busy = jw_obj(o, "busy_s");
    jw_ns_as_s(busy, "prefill", r->sim.prefill_ns);
    jw_ns_as_s(busy, "decode", r->sim.decode_ns);
    jw_ns_as_s(busy, "other", r->sim.other_ns);
    if (r->arm->engine == ENGINE_LLAMA_SERVER || r->sim.host_ns > 0)
        jw_ns_as_s(busy, "host", r->sim.host_ns);
    jw_ns_as_s(o, "idle_s", r->sim.idle_ns);
    cJSON *ttft = jw_obj(o, "ttft");
    add_percentiles(ttft, "cold", &r->m.ttft_cold);
    add_percentiles(ttft, "warm", &r->m.ttft_warm);
    add_percentiles(ttft, "all", &r->m.ttft_all);
    add_percentiles(o, "itl", &r->m.itl);
    add_percentiles(o, "queue_wait", &r->m.queue_wait);
    if (r->sim.wall_ns > 0) jw_num(o, "effective_tok_s", r->m.effective_tok_s);
    jw_str(o, "provenance", PROV_NAMES[r->time_prov]);
}

static void add_arm(cJSON *list, const arm_result *r) {
    cJSON *o = jw_item(list);
    jw_str(o, "name", r->arm->name);
    jw_str(o, "card", r->arm->card->id);
    add_policy(o, r->arm);
    add_time(o, r);
    cJSON *tok = jw_obj(o, "tokens");
    jw_int(tok, "presented", r->sim.presented_tok);
    jw_int(tok, "reused", r->sim.reused_tok);
    jw_int(tok, "reused_across_agents", r->sim.reused_cross_tok);
    jw_int(tok, "computed", r->sim.computed_tok);
    jw_int(tok, "output", r->sim.output_tok);
    jw_int(o, "prefix_evals", r->sim.prefix_evals);
    add_memory(o, &r->m.memory, &r->fit);
    jw_num(o, "agents_per_gib", r->m.agents_per_gib);
    if (r->k_in_budget >= 0) {
        jw_int(o, "largest_k_in_budget", r->k_in_budget);
        jw_bool(o, "largest_k_capped", r->k_capped);
    }
    add_assumptions(o, r->arm);
    add_strings(o, "extrapolations", r->extrapolations, r->extrapolations_n);
    add_strings(o, "notes", r->notes, r->notes_n);
}

static void add_inputs(cJSON *root, const projection *p) {
    const scenario *s = p->scenario;
    cJSON *in = jw_obj(root, "inputs");
    cJSON *sc = jw_obj(in, "scenario");
    jw_str(sc, "id", s->id);
    jw_str(sc, "sha256", s->sha256);
    add_strings(in, "overrides", s->overrides, s->overrides_n);
    cJSON *cards = jw_arr(in, "cards");
    for (size_t i = 0; i < p->arms_n; i++) {
        const card *c = p->arms[i].arm->card;
        bool seen = false;
        for (size_t j = 0; j < i; j++) seen |= strcmp(p->arms[j].arm->card->id, c->id) == 0;
        if (seen) continue;
        cJSON *o = jw_item(cards);
        jw_str(o, "id", c->id);
        jw_str(o, "sha256", c->sha256);
        jw_str(o, "provenance", PROV_NAMES[c->prov]);
        if (c->simulated_device) jw_bool(o, "simulated_device", true);
    }
}

static void add_workload(cJSON *root, const scenario *s) {
    const workload *w = &s->work;
    cJSON *o = jw_obj(root, "workload");
    jw_int(o, "K", w->K);
    jw_int(o, "H", w->H);
    jw_int(o, "P", w->P);
    jw_int(o, "turn_delta_in_tok", w->turn_delta_in_tok);
    jw_int(o, "turn_out_tok", w->turn_out_tok);
    jw_str(o, "turn_shape", TURN_SHAPE_NAMES[w->shape]);
    jw_str(o, "client_order", CLIENT_ORDER_NAMES[w->one_after_another]);
    jw_ns_as_s(o, "tool_latency_s", w->tool_latency_ns);
    cJSON *start = jw_arr(o, "start_offsets_s"), *own = jw_arr(o, "private_tok");
    for (int64_t k = 0; k < w->K; k++) {
        char text[32];
        jw_format((double)w->start_offset_ns[k] / 1e9, text);
        cJSON_AddItemToArray(start, cJSON_CreateRaw(text));
        jw_format((double)w->private_tok[k], text);
        cJSON_AddItemToArray(own, cJSON_CreateRaw(text));
    }
    if (s->memory_budget_bytes > 0) jw_int(root, "memory_budget_bytes", s->memory_budget_bytes);
}

static void add_rules(cJSON *root, const rule_result rules[RULES_N]) {
    static const char *const OUTCOMES[] = {"holds", "cannot_tell", "needs_more_runs",
                                           "broken_by_assumption", "broken"};
    cJSON *list = jw_arr(root, "invariants");
    for (size_t i = 0; i < RULES_N; i++) {
        cJSON *o = jw_item(list);
        jw_str(o, "id", rules[i].rule->id);
        jw_str(o, "kind", rules[i].rule->kind == RULE_ENGINE ? "engine" : "plausibility");
        jw_str(o, "outcome", OUTCOMES[rules[i].outcome]);
        jw_str(o, "arm", rules[i].arm);
        jw_str(o, "why", rules[i].why);
    }
}

static cJSON *result_tree(const projection *p, const rule_result rules[RULES_N]) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", RESULT_SCHEMA);
    jw_str(root, "tool_version", RATECAST_VERSION);
    jw_str(root, "scenario", p->scenario->id);
    jw_str(root, "title", p->scenario->title);
    add_inputs(root, p);
    add_workload(root, p->scenario);
    jw_str(root, "provenance", PROV_NAMES[projection_prov(p)]);
    cJSON *arms = jw_arr(root, "arms");
    for (size_t i = 0; i < p->arms_n; i++) add_arm(arms, &p->arms[i]);
    const arm_result *first = &p->arms[0], *base = &p->arms[p->baseline];
    cJSON *gain = jw_obj(root, "gain");
    jw_str(gain, "arm", first->arm->name);
    jw_str(gain, "baseline", base->arm->name);
    if (first->sim.wall_ns > 0)
        jw_num(gain, "wall_x", (double)base->sim.wall_ns / (double)first->sim.wall_ns);
    add_strings(root, "unmodeled", p->scenario->unmodeled, p->scenario->unmodeled_n);
    add_rules(root, rules);
    return root;
}

void report_project_json(const projection *p, const rule_result rules[RULES_N], buf *out) {
    cJSON *root = result_tree(p, rules);
    jw_print(root, out);
    cJSON_Delete(root);
}

void report_sweep_json(const scenario *s, const sweep_point *points, buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", "ratecast.sweep/1");
    jw_str(root, "tool_version", RATECAST_VERSION);
    jw_str(root, "scenario", s->id);
    jw_str(root, "path", s->sweep_path);
    cJSON *list = jw_arr(root, "points");
    for (size_t i = 0; i < s->sweep_n; i++) {
        cJSON *o = jw_item(list);
        jw_num(o, "value", strtod(s->sweep_values[i], NULL));
        cJSON_AddItemToObject(o, "result", result_tree(points[i].p, points[i].rules));
    }
    jw_print(root, out);
    cJSON_Delete(root);
}
