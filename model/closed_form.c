#include "closed_form.h"

#include "base/stat.h"

#include <math.h>

static bool covered(const arm *a, const workload *w, const cost *c) {
    if (a->batch == BATCH_CONTINUOUS || !a->reuse_last_token || a->slots_n < w->K ||
        a->block_tok != 1)
        return false;
    if (w->tool_latency_ns != 0 || cost_decode(c, w->K).per_context_ns != 0) return false;
    if (!cost_assumes(c, TERM_PREFILL_TOK_S)) return false;
    for (int64_t k = 0; k < w->K; k++)
        if (w->start_offset_ns[k] != 0) return false;
    return true;
}

/* Tokens of an agent's own that turn t brings: its prompt less the previous prompt and output, less
 * the prefix in turn 1. */
static int64_t own_tok(const workload *w, int64_t t) {
    if (t == 1) return workload_prompt_tok(w, 1) - w->P;
    return workload_prompt_tok(w, t) - workload_prompt_tok(w, t - 1) - w->turn_out_tok;
}

static void add_prompts(const arm *a, const workload *w, const cost *c, closed_form *f) {
    for (int64_t t = 1; t <= w->H; t++) {
        int64_t prompt = workload_prompt_tok(w, t), own = own_tok(w, t);
        bool whole =
            a->reuse == REUSE_NONE || t == 1; /* the prefix is computed in this turn, by somebody */
        int64_t with_prefix = !whole ? 0 : a->reuse == REUSE_SHARED ? 1 : w->K;
        if (a->reuse == REUSE_NONE) own = prompt - w->P;
        f->prefill_ns += with_prefix * cost_prefill_ns(c, w->P, own, 0);
        f->prefill_ns += (w->K - with_prefix) * cost_prefill_ns(c, 0, own, prompt - own);
        f->computed_tok += with_prefix * w->P + w->K * own;
        f->presented_tok += w->K * prompt;
        f->prefix_evals += w->P > 0 ? with_prefix : 0;
    }
}

bool closed_form_of(const arm *a, const workload *w, const cost *c, closed_form *out) {
    *out = (closed_form){0};
    if (!covered(a, w, c)) return false;
    add_prompts(a, w, c, out);
    out->reused_tok = out->presented_tok - out->computed_tok;
    int64_t steps = w->H * w->turn_out_tok;
    bool lockstep = a->batch == BATCH_LOCKSTEP;
    decode_price step = cost_decode(c, lockstep ? w->K : 1);
    if (!lockstep) steps *= w->K;
    out->host_ns = steps * step.host_ns;
    out->decode_ns = steps * step.fixed_ns - out->host_ns;
    out->constant_ns = cost_constant_ns(c, true) + cost_constant_ns(c, false);
    out->wall_ns = out->prefill_ns + out->decode_ns + out->host_ns + out->constant_ns;
    int64_t last = workload_prompt_tok(w, w->H);
    if (!cost_memory(c).kv_excludes_last_output) last += w->turn_out_tok;
    out->kv_tok = a->reuse == REUSE_SHARED ? w->P + w->K * (last - w->P) : w->K * last;
    return true;
}

/* The document's warm TTFT: 12 ms + 0.3 ms ((k + t) mod 4); agents 2..K start 12 + 1.2 + 0.1 (k mod
 * 3) ms; agent 1 computes the prefix and its delta. Agents and turns count from 1. */
static int64_t claimed_warm_ns(const ttft_claim *q, const workload *w, const cost *c, int64_t k,
                               int64_t t) {
    if (t == 1 && k == 1) {
        const assumption *flat = cost_assumes(c, TERM_PREFILL_TOK_S);
        return (int64_t)llround((double)workload_prompt_tok(w, 1) / flat->value * 1e9);
    }
    double s = t == 1 ? q->first_base_s + q->first_step_s * (double)(k % q->first_mod)
                      : q->warm_base_s + q->warm_step_s * (double)((k + t) % q->warm_mod);
    return (int64_t)llround(s * 1e9);
}

bool closed_form_ttft(const arm *a, const workload *w, const cost *c, arena *scratch,
                      percentiles *out) {
    const assumption *claim = cost_assumes(c, TERM_TTFT_CLAIM);
    if (!claim || !cost_assumes(c, TERM_PREFILL_TOK_S)) return false;
    int64_t *v = ARENA_ARRAY(scratch, int64_t, w->K * w->H);
    if (!v) return false;
    size_t n = 0;
    if (a->reuse == REUSE_SHARED) {
        for (int64_t k = 1; k <= w->K; k++)
            for (int64_t t = 1; t <= w->H; t++) v[n++] = claimed_warm_ns(&claim->ttft, w, c, k, t);
    } else {
        int64_t prefix = cost_prefill_ns(c, w->P, 0, 0);
        for (int64_t k = 1; k <= w->K; k++)
            v[n++] = k * prefix; /* k P / rate, the delta left out */
    }
    stat_sort_i64(v, n);
    *out = percentiles_of_sorted(v, n);
    return true;
}
