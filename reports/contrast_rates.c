#include "contrast_rates.h"

#include <math.h>
#include <stdlib.h>

int64_t rates_mean_context_tok(const workload *w) {
    double sum = 0, steps = 0;
    for (int64_t k = 0; k < w->K; k++)
        for (int64_t t = 1; t <= w->H; t++) {
            double out = (double)workload_out_tok(w, k, t);
            sum += out * ((double)workload_agent_prompt_tok(w, k, t) + out / 2);
            steps += out;
        }
    return steps > 0 ? (int64_t)llround(sum / steps) : w->P;
}

int64_t rates_together_n(const workload *w, const arm *a) {
    if (a->batch == BATCH_SERIAL || w->one_after_another) return 1;
    return a->slots_n < w->K ? a->slots_n : w->K;
}

kv_layout rates_layout(const arm *a) {
    return a->layout != KV_LAYOUT_UNSTATED ? a->layout : a->card->engine.layout;
}

bool rates_other_layout(const card *c, const arm *a) {
    return a->layout != KV_LAYOUT_UNSTATED && c->engine.layout != KV_LAYOUT_UNSTATED &&
           a->layout != c->engine.layout;
}

/* ---- decode ---- */

/* Below 0: x is the better one; 0: they have one key. */
static int64_t compare_decode(const decode_point *x, const decode_point *y, bool shared,
                              int64_t context_tok) {
    if ((x->context_tok < 0) != (y->context_tok < 0)) return x->context_tok < 0 ? 1 : -1;
    /* one sequence alone shares with nobody */
    if (x->batch_n > 1 && x->origin.shared_prompt != y->origin.shared_prompt)
        return x->origin.shared_prompt == shared ? -1 : 1;
    if (x->context_tok == y->context_tok) return 0;
    int64_t a = llabs(x->context_tok - context_tok), b = llabs(y->context_tok - context_tok);
    return a != b ? a - b : x->context_tok - y->context_tok;
}

rates_decode rates_decode_near(const card *c, const arm *a, const workload *w, int64_t batch_n) {
    int64_t context_tok = rates_mean_context_tok(w);
    bool shared = a->reuse == REUSE_SHARED, other = rates_other_layout(c, a);
    rates_decode best = {0};
    for (size_t i = 0; i < c->decode_n; i++) {
        const decode_point *p = &c->decode[i];
        if (p->origin.excluded || p->batch_n != batch_n) continue;
        if (other) return (rates_decode){.other_layout = true};
        int64_t by = best.p ? compare_decode(p, best.p, shared, context_tok) : -1;
        if (by < 0) best = (rates_decode){p, p->tok_s, p->tok_s, p->origin.prov, false};
        if (by != 0) continue;
        best.lo_tok_s = fmin(best.lo_tok_s, p->tok_s);
        best.hi_tok_s = fmax(best.hi_tok_s, p->tok_s);
        best.prov = prov_weakest(best.prov, p->origin.prov);
    }
    return best;
}

/* ---- prefill ---- */

static int64_t compare_prefill(const prefill_point *x, const prefill_point *y, int64_t n_tok) {
    if (x->n_prompt_tok == y->n_prompt_tok) return 0;
    if (x->n_prompt_tok == 0 || y->n_prompt_tok == 0) return x->n_prompt_tok == 0 ? 1 : -1;
    int64_t a = llabs(x->n_prompt_tok - n_tok), b = llabs(y->n_prompt_tok - n_tok);
    return a != b ? a - b : x->n_prompt_tok - y->n_prompt_tok;
}

rates_prefill rates_prefill_near(const card *c, const workload *w) {
    int64_t first_tok = workload_prompt_tok(w, 1), own = c->engine.n_ubatch;
    rates_prefill best = {0};
    for (size_t i = 0; i < c->prefill_n; i++) {
        const prefill_point *p = &c->prefill[i];
        /* another micro-batch is another engine setting, which the curve does not say */
        bool other = p->n_ubatch > 0 && own > 0 && p->n_ubatch != own;
        if (p->origin.excluded || p->depth_tok != 0 || p->batch_n > 1 || other) continue;
        int64_t by = best.p ? compare_prefill(p, best.p, first_tok) : -1;
        if (by < 0) best = (rates_prefill){p, p->tok_s, p->tok_s, p->origin.prov};
        if (by != 0) continue;
        best.lo_tok_s = fmin(best.lo_tok_s, p->tok_s);
        best.hi_tok_s = fmax(best.hi_tok_s, p->tok_s);
        best.prov = prov_weakest(best.prov, p->origin.prov);
    }
    return best;
}
