#include "project.h"

#include "capacity.h"
#include "llama_server.h"

#include "base/jsonr.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NOTES_MAX = 16, K_SEARCH_MAX = 4096, RUN_BUDGET_MIB = 1024 };

static int64_t batch_max(const arm *a, int64_t agents_n) {
    if (a->batch == BATCH_SERIAL) return 1;
    return a->slots_n < agents_n ? a->slots_n : agents_n;
}

static err_code run_recorded(const arm *a, const workload *w, const cost *c, span_list *device,
                             arena *mem, sim_result *out, err *e) {
    if (a->engine == ENGINE_LLAMA_SERVER)
        return llama_server_run_recorded(a, w, c, &a->card->fitted_host, device, mem, out, e);
    return sim_run_recorded(a, w, c, device, mem, out, e);
}

static err_code run_engine(const arm *a, const workload *w, const cost *c, arena *mem,
                           sim_result *out, err *e) {
    return run_recorded(a, w, c, NULL, mem, out, e);
}

/* ---- what was priced outside the card's measurements, or without one ---- */

typedef struct note_list {
    const char **s;
    size_t n;
} note_list;

static void note(note_list *l, const char *text) {
    if (text && l->n < NOTES_MAX) l->s[l->n++] = text;
}

static void note_extrapolations(const arm_result *r, arena *mem, note_list *l) {
    const sim_usage *u = &r->sim.used;
    int64_t lo = 0, hi = 0;
    if (u->decode_extrapolated_ns > 0 && cost_batch_range(r->cost, &lo, &hi))
        note(l, arena_printf(mem, "decode of %lld sequences together (measured: %lld to %lld)",
                             (long long)u->batch_max, (long long)lo, (long long)hi));
    if (u->beyond_context_tok > 0)
        note(l, arena_printf(mem,
                             "decode of %lld sequences at contexts of %lld tokens (measured at "
                             "that batch: up to %lld)",
                             (long long)u->beyond_batch_n, (long long)u->beyond_context_tok,
                             (long long)u->beyond_reach_tok));
    int64_t pool = cost_pool_reach_tok(r->cost);
    if (pool > 0 && u->decode_cells_tok > pool)
        note(l, arena_printf(mem,
                             "decode that scans %lld cells of the pool, those of others included "
                             "(measured: up to %lld)",
                             (long long)u->decode_cells_tok, (long long)pool));
    const prefill_curve *p = cost_prefill_curve(r->cost);
    if (!p || cost_assumes(r->cost, TERM_PREFILL_TOK_S)) return;
    if (u->prefill_cells_tok > p->context_max_tok)
        note(l, arena_printf(mem,
                             "prefill that scans %lld cells of the pool, those of others included "
                             "(measured: up to %lld)",
                             (long long)u->prefill_cells_tok, (long long)p->context_max_tok));
    if (u->prefill_context_max_tok > p->context_max_tok)
        note(l, arena_printf(mem, "prefill up to position %lld (measured: up to %lld)",
                             (long long)u->prefill_context_max_tok, (long long)p->context_max_tok));
    if (u->gap_prefill_ns > 0)
        note(l, arena_printf(mem,
                             "prefill of %lld tokens and more below the shortest measured prompt "
                             "(%lld): %.1f s of %.1f s of "
                             "prefill, drawn as a line between a decode step and a prefill step",
                             (long long)u->gap_prefill_tok, (long long)p->rows_min_tok,
                             (double)u->gap_prefill_ns / 1e9, (double)r->sim.prefill_ns / 1e9));
}

/* What is known of the time outside the device. */
static void note_host(const arm_result *r, arena *mem, note_list *l) {
    const assumption *step = cost_assumes(r->cost, TERM_HOST_STEP_S);
    bool server = r->arm->engine == ENGINE_LLAMA_SERVER,
         fitted = server && r->arm->card->fitted_host.known;
    if (step)
        note(l, arena_printf(mem,
                             "time outside the device is what host_step_s declares, %.10g s a "
                             "decode step%s",
                             step->value,
                             fitted ? ", on top of the card's host terms"
                                    : ": sampling, scheduling and HTTP beyond it are counted as "
                                      "0"));
    else if (!server)
        note(l, "time outside the device (sampling, scheduling, HTTP) is not priced: counted as 0");
    else if (!fitted)
        note(
            l,
            "the card has no host terms (`ratecast fit`): time outside the device is counted as 0");
}

/* Terms on the card that nobody measured, with what they make up. The class of the arm's times says
 * the slot files (time_prov_of); a client's gap of milliseconds would say nothing of the rest. */
static void note_assumed_host(const arm_result *r, const workload *w, arena *mem, note_list *l) {
    const host_terms *h = &r->arm->card->fitted_host;
    int64_t gaps = (w->one_after_another ? w->K * w->H : w->H) - 1;
    if (r->arm->engine != ENGINE_LLAMA_SERVER || !h->known) return;
    if (h->slot_files_assumed && r->sim.slot_files_ns > 0)
        note(l, arena_printf(mem,
                             "saving and restoring slots takes %.4g s, at speeds that are assumed, "
                             "not measured",
                             (double)r->sim.slot_files_ns / 1e9));
    if (h->client_gap_assumed && h->client_gap_s > 0 && gaps > 0)
        note(l, arena_printf(mem,
                             "the client's gap between two turns is assumed, not measured: %.4g s, "
                             "%.4g s %s",
                             h->client_gap_s, (double)gaps * h->client_gap_s,
                             w->one_after_another ? "over the session"
                                                  : "over the turns of each agent"));
}

/* An arm's KV layout against the one that its card was measured with: what the card has no price
 * of. Alone there are no cells of others. */
static void note_layout(const arm_result *r, const workload *w, arena *mem, note_list *l) {
    kv_layout own = r->arm->layout, measured = r->arm->card->engine.layout;
    bool decodes = cost_card_decodes(r->cost), server = r->arm->engine == ENGINE_LLAMA_SERVER;
    if (own == KV_LAYOUT_UNSTATED || w->K == 1) return;
    if (own == KV_LAYOUT_UNIFIED && decodes && cost_pool_reach_tok(r->cost) == 0)
        note(l, arena_printf(mem,
                             "KV is unified, and card %s has no price of the cells of others that "
                             "a decoding sequence scans then (%s): counted as 0",
                             r->arm->card->id,
                             measured == KV_LAYOUT_SPLIT     ? "measured with split KV"
                             : measured == KV_LAYOUT_UNIFIED ? "not measured apart"
                                                             : "its KV layout is not stated"));
    if (own == KV_LAYOUT_UNIFIED && !server && cost_prefill_curve(r->cost) &&
        !cost_assumes(r->cost, TERM_PREFILL_TOK_S))
        note(l, "the cells of others that a prompt scans under unified KV are not priced by this "
                "engine (llama-server's loop does): counted as 0");
    if (own == KV_LAYOUT_SPLIT && decodes && measured != KV_LAYOUT_SPLIT)
        note(l, arena_printf(mem,
                             measured == KV_LAYOUT_UNIFIED
                                 ? "KV is split, and card %s was measured with unified KV: its "
                                   "times without the cells of others are taken"
                                 : "KV is split, and card %s does not state its KV layout: its "
                                   "times are taken as of split KV",
                             r->arm->card->id));
}

/* Arms present the same tokens, but for what a warm-up computes and no agent finds. */
static void note_warm_up(const arm_result *r, const workload *w, arena *mem, note_list *l) {
    int64_t on_top = r->sim.presented_tok - workload_presented_tok(w);
    if (on_top <= 0) return;
    note(l, arena_printf(mem,
                         "the warm-up computes %lld prefix token%s that no agent finds: presented "
                         "on top of the agents' prompts",
                         (long long)on_top, on_top == 1 ? "" : "s"));
}

static void note_gaps(const arm_result *r, const workload *w, arena *mem, note_list *l) {
    const prefill_curve *p = cost_prefill_curve(r->cost);
    if (p && !cost_assumes(r->cost, TERM_PREFILL_TOK_S)) {
        if (p->n_ubatch_assumed)
            note(l, arena_printf(mem,
                                 "the card does not state n_ubatch: %lld is taken (assumed, "
                                 "llama.cpp's default)",
                                 (long long)p->n_ubatch));
        if (p->n_ubatch == PREFILL_WHOLE)
            note(l, arena_printf(mem,
                                 "no micro-batch is known of engine %s: a prompt is taken as one "
                                 "step",
                                 r->arm->card->engine.name));
    }
    if (r->arm->card->simulated_device)
        note(l, arena_printf(mem,
                             "card %s was timed on a simulated device, which was allowed: its "
                             "times, and all that follows from them, describe no machine",
                             r->arm->card->id));
    note_host(r, mem, l);
    note_assumed_host(r, w, mem, l);
    note_layout(r, w, mem, l);
    note_warm_up(r, w, mem, l);
    if (r->k_note) note(l, r->k_note);
    if (capacity_spare_tok(r->arm, w, mem) == 0)
        note(l, "the KV capacity fits with 0 tokens to spare");
    if (r->arm->reuse != REUSE_NONE && r->arm->block_tok > 1 && w->P > 0 &&
        w->P < r->arm->block_tok)
        note(l, arena_printf(mem,
                             "the prefix of %lld tokens is shorter than a cache block of %lld: "
                             "nothing of it is reused",
                             (long long)w->P, (long long)r->arm->block_tok));
    if (!r->m.memory.overhead_known)
        note(l, "runtime overhead on the device is not on the card: counted as 0");
    if (!r->m.memory.recurrent_known)
        note(l, "recurrent state per sequence is not on the card: counted as 0");
}

static err_code collect_notes(arm_result *r, const workload *w, arena *mem, err *e) {
    note_list out = {.s = ARENA_ARRAY(mem, const char *, NOTES_MAX)};
    note_list gaps = {.s = ARENA_ARRAY(mem, const char *, NOTES_MAX)};
    if (!out.s || !gaps.s)
        return err_set(e, E_LIMIT, r->arm->name, "does not fit the memory budget");
    note_extrapolations(r, mem, &out);
    note_gaps(r, w, mem, &gaps);
    r->extrapolations = out.s;
    r->extrapolations_n = out.n;
    r->notes = gaps.s;
    r->notes_n = gaps.n;
    return OK;
}

/* ---- largest K in a memory budget ---- */

/* A card may not know batches of that size; memory does not ask how long they take, only in which
 * order things happen. */
static const assumption STAND_IN[] = {
    {.what = TERM_PREFILL_TOK_S, .value = 1000, .reason = "memory search"},
    {.what = TERM_DECODE_TOK_S, .value = 10, .growth_frac = 1, .reason = "memory search"}};

static err_code price_or_stand_in(arm *a, const workload *w, arena *scratch, const cost **c,
                                  err *e) {
    err refused = {0};
    if (cost_new(a, w, batch_max(a, w->K), scratch, c, &refused) == OK) return OK;
    assumption *more = ARENA_ARRAY(scratch, assumption, a->assume_n + 2);
    if (!more) return err_set(e, E_LIMIT, a->name, "does not fit the memory budget");
    memcpy(more, STAND_IN, sizeof STAND_IN);
    if (a->assume_n) memcpy(more + 2, a->assume, a->assume_n * sizeof *more);
    a->assume = more; /* the first of a kind counts */
    a->assume_n += 2;
    return cost_new(a, w, batch_max(a, w->K), scratch, c, e);
}

/* Peak memory of the same arm with K agents; agents beyond the given ones repeat the last. */
static err_code peak_with(const scenario *s, const arm *a, int64_t K, int64_t *peak_bytes, err *e) {
    arena *scratch = arena_new((size_t)RUN_BUDGET_MIB << 20);
    if (!scratch) return err_set(e, E_NOMEM, a->name, "out of memory");
    workload w = s->work;
    int64_t *off = ARENA_ARRAY(scratch, int64_t, K), *own = ARENA_ARRAY(scratch, int64_t, K);
    for (int64_t k = 0; off && own && k < K; k++) {
        off[k] = w.start_offset_ns[k < w.K ? k : w.K - 1];
        own[k] = w.private_tok[k < w.K ? k : w.K - 1];
    }
    arm b = *a;
    if (a->slots_n == w.K) b.slots_n = K; /* one slot an agent stays one slot an agent */
    if (b.prefill == PREFILL_MIXED && b.max_batch_tok <= K) b.max_batch_tok = K + 1;
    w.K = K;
    w.start_offset_ns = off;
    w.private_tok = own;
    const cost *c = NULL;
    sim_result r;
    metrics m;
    if (!off || !own) err_set(e, E_LIMIT, a->name, "does not fit the memory budget");
    if (!e->code) (void)capacity_check(&b, &w, scratch, e);
    if (!e->code && price_or_stand_in(&b, &w, scratch, &c, e) == OK &&
        run_engine(&b, &w, c, scratch, &r, e) == OK &&
        metrics_of(&r, &b, &w, c, scratch, &m, e) == OK)
        *peak_bytes = m.memory.peak_bytes;
    arena_free(scratch);
    return e->code;
}

/* Does K fit? Not only in memory: a KV pool of fixed size can be full before. */
static err_code fits(const scenario *s, const arm *a, int64_t K, bool *memory_ok, bool *capacity_ok,
                     err *e) {
    int64_t peak = 0;
    err refused = {0};
    *memory_ok = *capacity_ok = true;
    if (peak_with(s, a, K, &peak, &refused) == OK) {
        *memory_ok = peak <= s->memory_budget_bytes;
        return OK;
    }
    *capacity_ok = refused.code != E_REFUSED;
    return *capacity_ok ? err_set(e, refused.code, refused.where, "%s", refused.what) : OK;
}

/* Peak memory never falls when K grows, so a doubling and a bisection find the edge. */
static err_code search_k(const scenario *s, arm_result *r, err *e) {
    r->k_in_budget = -1;
    if (s->memory_budget_bytes == 0) return OK;
    if (r->arm->slots_n < s->work.K && r->arm->reuse != REUSE_SHARED) {
        r->k_note = "its slots bound its memory, not K: no largest K";
        return OK;
    }
    int64_t fit = 0, over = 0, limit = K_SEARCH_MAX;
    bool memory_ok, capacity_ok, by_capacity = false;
    if (s->work.H > 1000000 / limit) limit = 1000000 / s->work.H;
    for (int64_t k = 1; k <= limit && over == 0; k *= 2) {
        if (fits(s, r->arm, k, &memory_ok, &capacity_ok, e)) return e->code;
        by_capacity = !capacity_ok;
        if (memory_ok && capacity_ok)
            fit = k;
        else
            over = k;
    }
    r->k_capped = over == 0;
    while (over - fit > 1) {
        int64_t mid = fit + (over - fit) / 2;
        if (fits(s, r->arm, mid, &memory_ok, &capacity_ok, e)) return e->code;
        if (memory_ok && capacity_ok)
            fit = mid;
        else {
            over = mid;
            by_capacity = !capacity_ok;
        }
    }
    r->k_in_budget = fit;
    if (by_capacity)
        r->k_note = "the largest K is set by the KV capacity, not by the memory budget";
    return OK;
}

/* ---- does it fit at all ---- */

static memory_fit fit_of(const scenario *s, const arm_result *r) {
    static const double VENDOR_GB = 0x1p30 / 1e9; /* what is sold as GB may be GiB */
    bool budget = s->memory_budget_bytes > 0;
    int64_t peak = r->m.memory.peak_bytes,
            limit = budget ? s->memory_budget_bytes : r->arm->card->hardware.memory_bytes;
    memory_fit f = {.limit_bytes = limit, .is_budget = budget};
    if (limit <= 0) return f;
    double most = (double)limit * (budget ? 1 : VENDOR_GB);
    f.over_bytes = peak > limit ? peak - limit : 0;
    f.outcome = peak <= limit          ? MEMORY_FITS
                : (double)peak <= most ? MEMORY_CANNOT_TELL
                                       : MEMORY_TOO_MUCH;
    return f;
}

void memory_fit_say(const arm_result *r, char *out, size_t cap) {
    const double MIB = 1048576;
    out[0] = '\0';
    if (r->fit.over_bytes == 0) return;
    snprintf(out, cap, "peak memory is %.1f MiB, %s %.1f MiB: %.1f MiB too much%s",
             (double)r->m.memory.peak_bytes / MIB,
             r->fit.is_budget ? "the scenario's budget is" : "the device has",
             (double)r->fit.limit_bytes / MIB, (double)r->fit.over_bytes / MIB,
             r->fit.outcome == MEMORY_CANNOT_TELL ? ", unless its GB are GiB" : "");
}

/* ---- arms ---- */

/* Weakest input of the times: curves, host terms, declared constants. */
static prov time_prov_of(const arm_result *r) {
    const arm *a = r->arm;
    const host_terms *h = &a->card->fitted_host;
    prov p = prov_weakest(PROV_MODELED,
                          prov_weakest(cost_prefill_prov(r->cost), cost_decode_prov(r->cost)));
    if (a->engine == ENGINE_LLAMA_SERVER && h->known) {
        p = prov_weakest(p, h->prov);
        if (h->slot_files_assumed && r->sim.slot_files_ns > 0) p = prov_weakest(p, PROV_ASSUMED);
    }
    for (size_t i = 0; i < a->assume_n; i++)
        if (a->assume[i].what == TERM_CONSTANT_S || a->assume[i].what == TERM_QUEUE_WAIT_IN_WALL)
            p = prov_weakest(p, a->assume[i].prov);
    return p;
}

static err_code run_arm(const scenario *s, const arm *a, arena *mem, arm_result *r, err *e) {
    r->arm = a;
    if (capacity_check(a, &s->work, mem, e)) return e->code;
    if (cost_new(a, &s->work, batch_max(a, s->work.K), mem, &r->cost, e)) return e->code;
    if (run_engine(a, &s->work, r->cost, mem, &r->sim, e)) return e->code;
    if (metrics_of(&r->sim, a, &s->work, r->cost, mem, &r->m, e)) return e->code;
    r->fit = fit_of(s, r);
    r->time_prov = time_prov_of(r);
    if (interval_of(r->arm, &s->work, r->cost, &r->sim, &r->wall, e) || search_k(s, r, e))
        return e->code;
    return collect_notes(r, &s->work, mem, e);
}

static err_code unknown_arm(const scenario *s, const char *name, arena *mem, err *e) {
    const char *known = "";
    for (size_t i = 0; i < s->arms_n; i++) {
        const char *more = arena_printf(mem, "%s %s", known, s->arms[i].name);
        if (more) known = more;
    }
    char near[64];
    if (jr_nearest(name, known, near, sizeof near))
        return err_set(e, E_USAGE, "--arm", "the scenario has no arm \"%s\", nearest is \"%s\"",
                       name, near);
    return err_set(e, E_USAGE, "--arm", "the scenario has no arm \"%s\", it has:%s", name, known);
}

static bool wanted(const arm *a, const char *const *only, size_t only_n) {
    for (size_t i = 0; i < only_n; i++)
        if (strcmp(only[i], a->name) == 0) return true;
    return only_n == 0;
}

err_code project_run(const scenario *s, const char *const *only, size_t only_n, arena *mem,
                     const projection **out, err *e) {
    for (size_t i = 0; i < only_n; i++) {
        bool found = false;
        for (size_t j = 0; j < s->arms_n; j++) found |= strcmp(only[i], s->arms[j].name) == 0;
        if (!found) return unknown_arm(s, only[i], mem, e);
    }
    projection *p = ARENA_NEW(mem, projection);
    arm_result *r = ARENA_ARRAY(mem, arm_result, s->arms_n);
    if (!p || !r) return err_set(e, E_LIMIT, s->id, "does not fit the memory budget");
    p->scenario = s;
    p->arms = r;
    for (size_t i = 0; i < s->arms_n; i++) {
        if (!wanted(&s->arms[i], only, only_n)) continue;
        if (i == s->baseline) p->baseline = p->arms_n;
        if (run_arm(s, &s->arms[i], mem, &r[p->arms_n++], e)) return e->code;
    }
    bool baseline_ran = wanted(&s->arms[s->baseline], only, only_n);
    if (!baseline_ran) p->baseline = p->arms_n - 1;
    *out = p;
    return OK;
}

err_code project_record(const projection *p, size_t arm_i, span_list *device, err *e) {
    const arm_result *r = &p->arms[arm_i];
    arena *scratch = arena_new((size_t)RUN_BUDGET_MIB << 20);
    sim_result again = {0};
    if (!scratch) return err_set(e, E_NOMEM, r->arm->name, "out of memory");
    if (run_recorded(r->arm, &p->scenario->work, r->cost, device, scratch, &again, e) == OK)
        assert(again.wall_ns == r->sim.wall_ns); /* an engine is a function of its input */
    arena_free(scratch);
    return e->code;
}

bool arm_simulated(const arm *a) {
    const assumption *gain = arm_assumes(a, TERM_DECODE_GAIN_CARD);
    return a->card->simulated_device || (gain && gain->gain_card->simulated_device);
}

bool projection_simulated(const projection *p) {
    bool any = false;
    for (size_t i = 0; i < p->arms_n; i++) any |= arm_simulated(p->arms[i].arm);
    return any;
}

prov projection_prov(const projection *p) {
    prov worst = PROV_MODELED;
    for (size_t i = 0; i < p->arms_n; i++) worst = prov_weakest(worst, p->arms[i].time_prov);
    return worst;
}
