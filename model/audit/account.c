#include "audit/account.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <string.h>

/* The rate that an arm's wall-clock was computed with: its own before one without an arm. */
static const claim_rate *used_rate(const claim *c, const char *arm_name, rate_phase phase) {
    const claim_rate *common = NULL;
    for (size_t i = 0; i < c->rates_n; i++) {
        const claim_rate *r = &c->rates[i];
        if (r->role != ROLE_USED || r->phase != phase) continue;
        if (claim_same_arm(r->arm, arm_name)) return r;
        if (!r->arm) common = r;
    }
    return common;
}

iv account_term(const claim *c, const claim_term *t) {
    if (!t->has_value) return iv_none();
    double k = (double)c->work.K, h = (double)c->work.H;
    double times = t->per == PER_SESSION ? 1 : t->per == PER_AGENT ? k : k * h;
    times *= 1 + t->growth_per_agent_frac * (k - 1);
    if (t->per != PER_SESSION && !c->has_workload) return iv_none();
    return iv_scale(iv_quantity(&t->q, t->origin), times);
}

static iv terms_of(const claim *c, const char *arm_name, bool delta) {
    iv sum = iv_exact(0, 0);
    bool any = false;
    for (size_t i = 0; i < c->terms_n; i++) {
        const claim_term *t = &c->terms[i];
        bool is_delta = t->kind == TERM_KIND_DELTA;
        bool other = t->kind == TERM_KIND_CONSTANT || t->kind == TERM_KIND_PENALTY ||
                     t->kind == TERM_KIND_QUEUE_WAIT;
        if (!claim_same_arm(t->arm, arm_name) || (delta ? !is_delta : !other)) continue;
        iv one = account_term(c, t);
        if (!one.ok) continue;
        sum = iv_add(sum, one);
        any = true;
    }
    return any || !delta ? sum : iv_none();
}

/* A delta that one arm states holds for the arm that states none: both take the same turns. */
static iv delta_of(const claim *c, const char *arm_name) {
    iv own = terms_of(c, arm_name, true);
    for (size_t i = 0; !own.ok && i < c->terms_n; i++)
        if (c->terms[i].kind == TERM_KIND_DELTA) own = account_term(c, &c->terms[i]);
    return own;
}

static double prefix_evals(const claim *c, prefix_reuse reuse) {
    return reuse == REUSE_SHARED ? 1 : reuse == REUSE_PER_SLOT ? (double)c->work.K : 0;
}

/* The prefill rate that is measured for the arm: its own before one of the whole claim. */
static const claim_rate *stated_prefill(const claim *c, const char *arm_name) {
    const claim_rate *common = NULL;
    for (size_t i = 0; i < c->rates_n; i++) {
        const claim_rate *r = &c->rates[i];
        if (r->role != ROLE_STATED || r->phase != PHASE_PREFILL || !facts_own_model(c, r)) continue;
        if (claim_same_arm(r->arm, arm_name)) return r;
        if (!r->arm && !common) common = r;
    }
    return common;
}

/* The rate at which the claim prefills: declared as used, else what the arm's own cold TTFTs imply,
 * else what it states. What another arm's TTFTs imply is the last resort, except where the arm's
 * decode rate is declared as used: its wall-clock is then computed, and from one set of rates. */
static iv prefill_rate_of(auditor *a, const char *arm_name, prefill_source *from,
                          const claim_rate **rate) {
    const claim *c = a->claim;
    *from = PREFILL_USED;
    *rate = used_rate(c, arm_name, PHASE_PREFILL);
    if (*rate) return iv_quantity(&(*rate)->q, (*rate)->origin);
    iv own = facts_implied_prefill(a, arm_name, NULL);
    *from = PREFILL_OWN_TTFT;
    if (own.ok) return own;
    const claim_rate *stated = stated_prefill(c, arm_name);
    for (size_t i = 0; i < c->arms_n && !(stated && !used_rate(c, arm_name, PHASE_DECODE)); i++) {
        iv implied = facts_implied_prefill(a, c->arms[i].name, NULL);
        *from = PREFILL_OTHER_TTFT;
        if (implied.ok) return implied;
    }
    *from = stated ? PREFILL_STATED : PREFILL_UNKNOWN;
    *rate = stated;
    return stated ? iv_quantity(&stated->q, stated->origin) : iv_none();
}

static iv decode_rate_used(const claim *c, const claim_rate *r) {
    if (!r) return iv_none();
    iv rate = iv_quantity(&r->q, r->origin);
    if (isnan(r->gain_per_seq_frac)) return rate;
    return iv_scale(rate, 1 + r->gain_per_seq_frac * (double)(c->work.K - 1));
}

static account account_worked_out(auditor *a, const char *arm_name) {
    const claim *c = a->claim;
    const claim_arm *policy = claim_arm_of(c, arm_name);
    account x = {.arm = arm_name};
    if (!c->has_workload || !policy || !policy->reuse_known) return x;
    claim_figure probe = {.arm = arm_name,
                          .name = "",
                          .streams_n = NOT_STATED,
                          .context_tok = NOT_STATED,
                          .gpus_n = 1};
    x.wall = facts_beside(c, &probe, METRIC_WALL);
    if (x.wall && !claim_same_arm(x.wall->arm, arm_name)) x.wall = NULL;
    x.computed_tok = iv_exact(
        facts_policy_tok(&c->work, policy->reuse, policy->comers == COMERS_EACH), ORIGIN_PRINTED);
    x.prefix_rate = prefill_rate_of(a, arm_name, &x.prefix_from, &x.prefix_stated);
    x.delta = delta_of(c, arm_name);
    x.other = terms_of(c, arm_name, false);
    double evals = prefix_evals(c, policy->reuse);
    iv tok = x.delta.ok && evals > 0 ? iv_exact(evals * (double)c->work.P, ORIGIN_PRINTED)
                                     : x.computed_tok;
    /* what TTFTs imply is the rate of whole prefixes, no price of a turn's few new tokens */
    x.prefill_stated = used_rate(c, arm_name, PHASE_PREFILL) || (x.delta.ok && x.delta.v > 0);
    if (!x.delta.ok) x.delta = iv_exact(0, 0);
    x.prefill = iv_div(tok, x.prefix_rate);
    iv out = iv_exact((double)(c->work.K * c->work.H * c->work.turn_out_tok), ORIGIN_PRINTED);
    x.residual = iv_sub(iv_figure(x.wall), iv_add(x.prefill, iv_add(x.delta, x.other)));
    x.decode_used = used_rate(c, arm_name, PHASE_DECODE);
    x.decode_rate = decode_rate_used(c, x.decode_used);
    if (!x.decode_rate.ok && x.residual.ok && x.residual.lo > 0)
        x.decode_rate = iv_div(out, x.residual);
    x.decode = iv_div(out, x.decode_rate);
    return x;
}

struct account_memo {
    bool known;
    account of;
};

account account_of(auditor *a, const char *arm_name) {
    const claim_arm *arm_is = claim_arm_of(a->claim, arm_name);
    if (!arm_is) return (account){.arm = arm_name};
    if (!a->accounts) a->accounts = ARENA_ARRAY(a->mem, struct account_memo, a->claim->arms_n);
    if (!a->accounts) {
        a->full = true;
        return (account){.arm = arm_name};
    }
    struct account_memo *m = &a->accounts[arm_is - a->claim->arms];
    if (!m->known) {
        m->of = account_worked_out(a, arm_name);
        m->known = true;
    }
    return m->of;
}

iv account_wall(const account *x) {
    return iv_add(iv_add(x->prefill, x->delta), iv_add(x->other, x->decode));
}

iv account_queue_wait(auditor *a, const char *arm_name) {
    const claim *c = a->claim;
    prefill_source from;
    const claim_rate *stated;
    iv rate = prefill_rate_of(a, arm_name, &from, &stated);
    if (!c->has_workload) return iv_none();
    double k = (double)c->work.K;
    return iv_div(iv_exact(k * (k - 1) / 2 * (double)c->work.P, ORIGIN_PRINTED), rate);
}

/* ---- the measured curve over length ---- */

static size_t lengths(const claim *c, double *len, double *s, size_t cap) {
    size_t n = 0;
    for (size_t i = 0; i < c->rates_n && n < cap; i++) {
        const claim_rate *r = &c->rates[i];
        if (r->role != ROLE_STATED || r->phase != PHASE_PREFILL || r->n_prompt_tok <= 0 ||
            r->batch_n > 1 || !facts_own_model(c, r))
            continue;
        bool known = false;
        for (size_t k = 0; k < n; k++) known |= len[k] == (double)r->n_prompt_tok;
        if (known) continue;
        len[n] = (double)r->n_prompt_tok;
        s[n] = len[n] / r->q.v;
        n++;
    }
    return n;
}

static bool fit_quadratic(const double *len, const double *s, size_t n, double *lin, double *quad) {
    gsl_error_handler_t *old = gsl_set_error_handler_off();
    gsl_matrix *X = gsl_matrix_alloc(n, 2), *cov = gsl_matrix_alloc(2, 2);
    gsl_vector *y = gsl_vector_alloc(n), *b = gsl_vector_alloc(2);
    gsl_multifit_linear_workspace *w = gsl_multifit_linear_alloc(n, 2);
    double chisq = 0;
    bool ok = X && cov && y && b && w;
    for (size_t i = 0; ok && i < n; i++) {
        gsl_matrix_set(X, i, 0, len[i]);
        gsl_matrix_set(X, i, 1, len[i] * len[i]);
        gsl_vector_set(y, i, s[i]);
    }
    ok = ok && gsl_multifit_linear(X, y, b, cov, &chisq, w) == GSL_SUCCESS;
    if (ok) {
        *lin = gsl_vector_get(b, 0);
        *quad = gsl_vector_get(b, 1);
    }
    if (w) gsl_multifit_linear_free(w);
    if (X) gsl_matrix_free(X);
    if (cov) gsl_matrix_free(cov);
    if (y) gsl_vector_free(y);
    if (b) gsl_vector_free(b);
    gsl_set_error_handler(old);
    return ok;
}

iv account_curve_prefill(auditor *a, const char *arm_name) {
    enum { LENGTHS_MAX = 64 };
    const claim *c = a->claim;
    const claim_arm *policy = claim_arm_of(c, arm_name);
    double len[LENGTHS_MAX], s[LENGTHS_MAX], lin = 0, quad = 0;
    size_t n = lengths(c, len, s, LENGTHS_MAX);
    if (n < 3 || !policy || policy->reuse != REUSE_NONE || !c->has_workload ||
        !fit_quadratic(len, s, n, &lin, &quad))
        return iv_none();
    /* prompts grow by d from turn to turn: sums of tok and tok^2 in closed form */
    double h = (double)c->work.H, first = (double)workload_prompt_tok(&c->work, 1),
           d = (double)(c->work.turn_delta_in_tok + c->work.turn_out_tok);
    double steps = h * (h - 1) / 2, squares = (h - 1) * h * (2 * h - 1) / 6;
    double sum = lin * (h * first + d * steps) +
                 quad * (h * first * first + 2 * first * d * steps + d * d * squares);
    return iv_exact((double)c->work.K * sum, ORIGIN_PRINTED | ORIGIN_EXTERNAL);
}
