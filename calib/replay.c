#include "replay.h"

#include "llama_server.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* No session is shorter: its relative errors would say nothing. */
static const double SHORTEST_WALL_S = 1e-6;

enum { WHY_CAP = 512 };

/* Is the card of this run? If not, `why` says in what the run differs. */
static bool fits(const witness_run *r, const card *c, char why[WHY_CAP]) {
    if (strcmp(c->model, r->model) != 0)
        snprintf(why, WHY_CAP, "model %s, the card %s is of %s", r->model, c->id, c->model);
    else if (!c->hardware.id)
        snprintf(why, WHY_CAP, "machine %s, the card %s states no hardware.id", r->machine, c->id);
    else if (strcmp(c->hardware.id, r->machine) != 0)
        snprintf(why, WHY_CAP, "machine %s, the card %s is of %s", r->machine, c->id,
                 c->hardware.id);
    else if (c->engine.layout != KV_LAYOUT_UNSTATED && c->engine.layout != r->layout)
        snprintf(why, WHY_CAP, "%s KV, the card %s is of %s KV", KV_LAYOUT_NAMES[r->layout], c->id,
                 KV_LAYOUT_NAMES[c->engine.layout]);
    else if (c->host_threads_n > 0 && r->threads_n > 0 && c->host_threads_n != r->threads_n)
        /* a card that states its compute threads holds for those only */
        snprintf(why, WHY_CAP, "%lld threads, the card %s is of %lld", (long long)r->threads_n,
                 c->id, (long long)c->host_threads_n);
    else
        return true;
    return false;
}

static const card *match(const witness_run *r, const card *const *cards, size_t n, const char **why,
                         arena *mem) {
    const card *found[2] = {NULL, NULL}, *second[2] = {NULL, NULL};
    char differs[WHY_CAP] = "";
    for (size_t i = 0; i < n; i++) {
        if (!fits(r, cards[i], differs)) continue;
        bool stated = cards[i]->engine.layout != KV_LAYOUT_UNSTATED;
        *(found[stated] ? &second[stated] : &found[stated]) = cards[i];
    }
    /* a card that states no layout holds for any, where none states the run's */
    bool stated = found[true] != NULL;
    if (second[stated]) {
        const char *a = found[stated]->id, *b = second[stated]->id;
        *why = strcmp(a, b) == 0 ? arena_printf(mem, "card %s is given twice", a)
                                 : arena_printf(mem, "two cards match: %s and %s", a, b);
        return NULL;
    }
    if (found[stated]) return found[stated];
    if (n == 1)
        *why = arena_printf(mem, "no card: %s", differs);
    else if (r->threads_n > 0)
        *why = arena_printf(mem, "no card for model %s, machine %s, %s KV, %lld threads", r->model,
                            r->machine, KV_LAYOUT_NAMES[r->layout], (long long)r->threads_n);
    else
        *why = arena_printf(mem, "no card for model %s, machine %s, %s KV", r->model, r->machine,
                            KV_LAYOUT_NAMES[r->layout]);
    return NULL;
}

static warm_up warm_of(const witness_run *r) {
    if (!r->warm) return WARM_NONE;
    if (strcmp(r->warm, "save_restore") == 0) return WARM_RESTORED;
    return r->patched ? WARM_SHARED
                      : WARM_FIRST_SLOT; /* a fork: stock servers keep the prefix in slot 0 only */
}

static arm *arm_of(const witness_run *r, const card *c, arena *mem) {
    arm *a = ARENA_NEW(mem, arm);
    if (!a) return NULL;
    *a = (arm){.name = r->id,
               .title = r->arm,
               .card = c,
               .card_ref = c->id,
               .engine = ENGINE_LLAMA_SERVER,
               .batch = BATCH_CONTINUOUS,
               .n_batch = r->n_batch,
               .n_ubatch = r->n_ubatch,
               .warm = warm_of(r),
               .slots_n = r->slots_n,
               .block_tok = 1,
               .cold_sights_n = 1,
               .layout = r->layout,
               .slot_pad_tok = 1,
               .context_tok = r->context_tok};
    a->reuse = !r->cache_prompt         ? REUSE_NONE
               : a->warm == WARM_SHARED ? REUSE_SHARED
                                        : REUSE_PER_SLOT;
    return a;
}

/* Output lengths turn by turn, as requested. false: they vary and no record states them. */
static bool lengths(const witness_run *r, workload *w, int64_t *out) {
    for (int64_t i = 0; i < w->K * w->H; i++) out[i] = r->out;
    if (r->turns_n == 0 || !r->complete) return r->out_jitter == 0;
    for (size_t i = 0; i < r->turns_n; i++)
        out[r->turns[i].agent * w->H + r->turns[i].turn - 1] =
            r->turns[i].out_requested > 0 ? r->turns[i].out_requested : r->turns[i].out_tok;
    return true;
}

static workload *workload_of(const witness_run *r, arena *mem, const char **why) {
    bool interference = r->n0 > 0 || r->N > 0;
    int64_t K = interference ? 2 : r->K, H = interference ? 1 : r->H;
    workload *w = ARENA_NEW(mem, workload);
    int64_t *offset = ARENA_ARRAY(mem, int64_t, K), *own = ARENA_ARRAY(mem, int64_t, K),
            *out = ARENA_ARRAY(mem, int64_t, K * H);
    if (!w || !offset || !own || !out) return NULL;
    *w = (workload){.K = K,
                    .H = H,
                    .P = interference ? 0 : r->P,
                    .turn_delta_in_tok = interference ? 0 : r->din,
                    .turn_out_tok = interference ? r->out0 : r->out,
                    .shape =
                        r->result_after && !interference ? SHAPE_RESULT_AFTER : SHAPE_DELTA_FIRST,
                    .tool_latency_ns = llround(r->tool_s * 1e9),
                    .start_offset_ns = offset,
                    .private_tok = own,
                    .out_tok = out,
                    .one_after_another = r->serial};
    for (int64_t k = 0; k < K; k++) offset[k] = llround(r->stagger_s * 1e9 * (double)k);
    if (interference) {
        own[0] = r->n0;
        own[1] = r->N;
        out[0] = r->out0;
        out[1] = r->out1;
        offset[1] = llround(r->delay_s * 1e9);
    } else if (!lengths(r, w, out)) {
        *why = "output lengths vary and no session record states them";
        return NULL;
    }
    for (int64_t i = 0; i < K * H; i++)
        if (out[i] == 0) *why = "a turn of 0 output tokens";
    if (r->warm && strcmp(r->warm, "save_restore") != 0 && strcmp(r->warm, "n_cmpl") != 0)
        *why = arena_printf(mem, "config.warm is \"%s\", expected save_restore or n_cmpl", r->warm);
    if (workload_prompt_tok(w, 1) + own[0] == 0) *why = "an empty prompt";
    return w;
}

static bool measure(const witness_run *r, bool summaries, arena *scratch, measured *m) {
    double p50_ms = 0, p99_ms = 0;
    m->from_turns =
        witness_measure(r, scratch, &m->wall_s, &m->cold, &m->warm, &m->all, &p50_ms, &p99_ms);
    m->itl_p50_s = p50_ms / 1e3;
    m->itl_p99_s = p99_ms / 1e3;
    if (m->from_turns) return true;
    if (!summaries || r->wall_s <= 0) return false;
    *m = (measured){.wall_s = r->wall_s,
                    .cold = r->cold,
                    .warm = r->warm_ttft,
                    .all = r->all,
                    .itl_p50_s = r->itl_p50_ms / 1e3};
    return true;
}

/* An agent whose last turn does not fit its slot's context did not run as the session says. */
static const char *too_long(const witness_run *r, const workload *w, arena *mem) {
    int64_t slot_tok = r->layout == KV_LAYOUT_SPLIT && r->slots_n > 0 ? r->context_tok / r->slots_n
                                                                      : r->context_tok;
    for (int64_t k = 0; k < w->K && r->context_tok > 0; k++) {
        int64_t need = workload_agent_prompt_tok(w, k, w->H) + workload_out_tok(w, k, w->H);
        if (need > slot_tok)
            return arena_printf(mem, "agent %lld needs %lld tokens, a slot has %lld", (long long)k,
                                (long long)need, (long long)slot_tok);
    }
    return NULL;
}

static err_code build(const witness_run *r, const card *const *cards, size_t n, bool summaries,
                      arena *mem, replay *out, err *e) {
    *out = (replay){.run = r, .excluded = r->excluded};
    if (!out->excluded) out->card = match(r, cards, n, &out->excluded, mem);
    if (!out->excluded && !measure(r, summaries, mem, &out->seen))
        out->excluded = summaries && r->wall_s <= 0
                            ? "session records are missing or incomplete, and its summary has no "
                              "wall_s"
                            : "session records are missing or incomplete";
    if (!out->excluded && out->seen.wall_s < SHORTEST_WALL_S)
        out->excluded = arena_printf(mem, "a wall-clock of %g s", out->seen.wall_s);
    if (!out->excluded) out->work = workload_of(r, mem, &out->excluded);
    if (!out->excluded && out->work && r->slots_n < out->work->K)
        out->excluded = arena_printf(mem, "%lld slots for %lld agents", (long long)r->slots_n,
                                     (long long)out->work->K);
    if (!out->excluded && out->work) out->excluded = too_long(r, out->work, mem);
    if (out->excluded) return OK;
    out->arm = arm_of(r, out->card, mem);
    if (!out->arm || !out->work)
        return err_set(e, E_LIMIT, r->id, "does not fit the memory budget");
    err refused = {0};
    if (cost_new(out->arm, out->work, out->work->K, mem, &out->cost, &refused))
        out->excluded = arena_strdup(mem, refused.what);
    return OK;
}

err_code replay_set(const witness *w, const card *const *cards, size_t cards_n, bool summaries,
                    arena *mem, replay **out, err *e) {
    replay *r = ARENA_ARRAY(mem, replay, w->n);
    size_t matched = 0;
    if (!r) return err_set(e, E_LIMIT, "", "does not fit the memory budget");
    for (size_t i = 0; i < w->n; i++) {
        if (build(&w->runs[i], cards, cards_n, summaries, mem, &r[i], e)) return e->code;
        matched += r[i].card != NULL;
    }
    if (matched == 0)
        return err_set(e, E_SCHEMA, "runs.jsonl",
                       "found no run that matches a card by model, machine, threads and KV layout "
                       "(%s: %s)",
                       w->runs[0].id, r[0].excluded);
    *out = r;
    return OK;
}

err_code replay_run(const replay *r, const host_terms *host, arena *scratch, sim_result *sim,
                    metrics *m, err *e) {
    if (llama_server_run(r->arm, r->work, r->cost, host, scratch, sim, e)) return e->code;
    return metrics_of(sim, r->arm, r->work, r->cost, scratch, m, e);
}

/* ---- what a recorder can make ---- */

const char *replay_not_recorded(const workload *w, const arm *a) {
    int64_t stagger = w->K > 1 ? w->start_offset_ns[1] : 0;
    for (int64_t k = 0; k < w->K; k++) {
        if (w->private_tok[k] != 0)
            return "agents have private prompt tokens, which a recorded run has no field for";
        if (w->start_offset_ns[k] != k * stagger)
            return "start offsets are not multiples of one stagger, which is all that a recorded "
                   "run can say";
    }
    if (w->out_tok) return "output lengths vary from turn to turn";
    if (a->warm != WARM_NONE)
        return "the prefix is prepared before the agents start, which is not recorded";
    return NULL;
}

/* ---- repeats ---- */

static bool same_server(const witness_run *a, const witness_run *b) {
    bool same_warm = a->warm && b->warm ? strcmp(a->warm, b->warm) == 0 : a->warm == b->warm;
    return same_warm && a->serial == b->serial && a->pinned == b->pinned &&
           a->cache_prompt == b->cache_prompt && a->patched == b->patched &&
           a->slots_n == b->slots_n;
}

bool replay_siblings(const witness_run *a, const witness_run *b) {
    bool same_text = strcmp(a->model, b->model) == 0 && strcmp(a->machine, b->machine) == 0 &&
                     strcmp(a->arm, b->arm) == 0;
    return same_text && a->K == b->K && a->H == b->H && a->P == b->P && a->din == b->din &&
           a->out == b->out && a->result_after == b->result_after && a->stagger_s == b->stagger_s &&
           a->tool_s == b->tool_s && a->out_jitter == b->out_jitter && a->layout == b->layout &&
           a->threads_n == b->threads_n && a->n_batch == b->n_batch && a->n_ubatch == b->n_ubatch &&
           a->N == b->N && a->n0 == b->n0 && a->out0 == b->out0 && a->out1 == b->out1 &&
           a->delay_s == b->delay_s && a->context_tok == b->context_tok && same_server(a, b);
}

/* Pooled: squared deviations of log walls from the mean of their group, over the degrees of
 * freedom of all groups. */
static double pooled_spread(const replay *all, size_t n, const card *only, size_t *free_n) {
    double sum = 0;
    *free_n = 0;
    for (size_t i = 0; i < n; i++) {
        double mean = 0;
        size_t members = 0;
        bool first = true;
        if (all[i].excluded || (only && all[i].card != only)) continue;
        for (size_t j = 0; j < n; j++) {
            if (all[j].excluded || !replay_siblings(all[i].run, all[j].run)) continue;
            if (j < i) first = false;
            mean += log(all[j].seen.wall_s);
            members++;
        }
        mean /= (double)members;
        double off = log(all[i].seen.wall_s) - mean;
        sum += off * off;
        *free_n += !first; /* a group of m gives m - 1 */
    }
    return *free_n > 0 ? sqrt(sum / (double)*free_n) : 0;
}

double replay_repeat_spread(const replay *all, size_t n, const card *c, size_t *free_n) {
    enum { ENOUGH = 8 };
    double own = pooled_spread(all, n, c, free_n);
    return *free_n >= ENOUGH ? own : pooled_spread(all, n, NULL, free_n);
}
