/* The rates that a claim's results were computed with, against those that were measured, and the
 * time of one pass over the weights. */
#include "audit/account.h"

#include <math.h>
#include <string.h>

static const double SAME_FRAC = 0.005;

static bool differ(iv x, iv y) {
    return x.hi < y.lo * (1 - SAME_FRAC) || x.lo > y.hi * (1 + SAME_FRAC);
}

static iv rate_iv(const claim_rate *r) {
    return iv_quantity(&r->q, r->origin);
}

static const char *rate_words(auditor *a, const claim_rate *r) {
    const char *s =
        arena_printf(a->mem, "%s%s%s%s%s", say_num(a, r->q.v, "tok/s"), r->model ? " of " : "",
                     r->model ? r->model : "", r->quant ? " " : "", r->quant ? r->quant : "");
    return s ? s : "";
}

/* ---- used against stated ---- */

/* The prefill rate that isolated slots' TTFTs imply, against the measured one. */
static void check_implied(auditor *a, const char *arm_name) {
    const claim *c = a->claim;
    const claim_figure *from = NULL;
    iv used = facts_implied_prefill(a, arm_name, &from);
    const claim_rate *stated = facts_stated(c, arm_name, PHASE_PREFILL, NOT_STATED);
    if (!used.ok || !stated) return;
    /* slower is no fault: new tokens, attention and waiting come on top of the prefixes */
    bool same = used.lo <= stated->q.hi * 1.05;
    if (used.hi < stated->q.lo * 0.9) return;
    finding *f = audit_say(
        a, R_CARD, "prefill-used", same ? AUDIT_PASS : AUDIT_FAIL, from->name,
        used.origins | stated->origin,
        "%s: %s is as long as %s prefixes of %s tokens in a row at %s; measured is %s", arm_name,
        say_s(a, from->q.v), say_num(a, round(from->q.v * used.v / (double)c->work.P), ""),
        say_num(a, (double)c->work.P, ""), say_num(a, used.v, "tok/s"), rate_words(a, stated));
    audit_numbers(f, stated->q.v, used.v, "tok/s");
}

static bool same_point(const claim_rate *u, const claim_rate *r) {
    return r->role == ROLE_STATED && r->phase == u->phase &&
           (claim_same_arm(r->arm, u->arm) || !r->arm || !u->arm) &&
           (u->batch_n < 0 || r->batch_n < 0 || u->batch_n == r->batch_n) &&
           (u->context_tok < 0 || r->context_tok < 0 || u->context_tok == r->context_tok);
}

/* A rate measured with another model or another quantisation prices this one. */
static bool foreign(auditor *a, const claim_rate *u) {
    const claim *c = a->claim;
    if (facts_own_model(c, u)) return false;
    const claim_chip *chip = facts_chip(a, NULL);
    double top =
        chip && c->model.weight_bytes > 0 ? chip->mem_bw_bytes_s / c->model.weight_bytes : 0;
    const char *ceiling =
        top > 0 && u->phase == PHASE_DECODE
            ? arena_printf(a->mem, "; the bandwidth ceiling of its own weights would be %s",
                           say_num(a, top, "tok/s"))
            : "";
    finding *f = audit_say(
        a, R_CARD, "other-model", AUDIT_FAIL, u->name ? u->name : "rate used",
        u->origin | c->model.origin, "%s, measured on %s%s%s, prices %s of %s %s%s",
        say_num(a, u->q.v, "tok/s"), u->model ? u->model : "", u->model && u->quant ? " " : "",
        u->quant ? u->quant : "", u->phase == PHASE_DECODE ? "decode" : "prefill",
        c->model.name ? c->model.name : "another model", c->model.quant ? c->model.quant : "",
        ceiling ? ceiling : "");
    audit_numbers(f, top, u->q.v, "tok/s");
    if (top <= 0) f->has_expected = false;
    return true;
}

static void check_used(auditor *a, const claim_rate *u) {
    const claim *c = a->claim;
    const claim_rate *nearest = NULL;
    if (u->role != ROLE_USED || foreign(a, u)) return;
    for (size_t i = 0; i < c->rates_n; i++) {
        const claim_rate *r = &c->rates[i];
        if (!same_point(u, r) || !facts_own_model(c, r)) continue;
        if (!nearest || fabs(r->q.v - u->q.v) < fabs(nearest->q.v - u->q.v)) nearest = r;
    }
    if (!nearest) return;
    bool same = !differ(rate_iv(u), rate_iv(nearest));
    if (!same && u->batch_n > 1 && nearest->context_tok >= 0) return; /* an average over contexts */
    finding *f = audit_say(a, R_CARD, "used", same ? AUDIT_PASS : AUDIT_FAIL,
                           u->name ? u->name : "rate used", u->origin | nearest->origin,
                           "computed with %s, measured is %s", say_num(a, u->q.v, "tok/s"),
                           rate_words(a, nearest));
    audit_numbers(f, nearest->q.v, u->q.v, "tok/s");
}

/* ---- an average over contexts ---- */

/* Step time of one batch size at a context, from stated rates: linear between points, the end
 * segments go on. 0: fewer than two points. */
static double step_s(const claim *c, const claim_rate *u, double context_tok) {
    const claim_rate *lo = NULL, *hi = NULL, *last = NULL;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < c->rates_n; i++) {
            const claim_rate *r = &c->rates[i];
            if (r->role != ROLE_STATED || r->phase != PHASE_DECODE || r->context_tok < 0 ||
                r->batch_n != u->batch_n || !facts_own_model(c, r))
                continue;
            bool below = (double)r->context_tok <= context_tok;
            if (below && (!lo || r->context_tok > lo->context_tok)) {
                last = lo;
                lo = r;
            } else if (!below && (!hi || r->context_tok < hi->context_tok))
                hi = r;
        }
    if (!hi) hi = last;
    if (!lo || !hi || lo->context_tok == hi->context_tok) return 0;
    double b = (double)u->batch_n, x0 = (double)lo->context_tok, x1 = (double)hi->context_tok;
    double t0 = b / lo->q.v, t1 = b / hi->q.v;
    return t0 + (t1 - t0) * (context_tok - x0) / (x1 - x0);
}

/* A used rate against the measured ones at other contexts: at its own context, or the time-weighted
 * mean over the session's. */
static void check_context_mean(auditor *a, const claim_rate *u) {
    enum { SAMPLES = 256 };
    const claim *c = a->claim;
    bool at_one = u->context_tok >= 0;
    if (u->role != ROLE_USED || u->phase != PHASE_DECODE || u->batch_n < (at_one ? 1 : 2) ||
        !(c->has_workload || at_one) || !facts_own_model(c, u))
        return;
    double from = (double)c->work.P,
           turn = (double)(c->work.turn_delta_in_tok + c->work.turn_out_tok);
    double to = from + (double)c->work.H * turn, sum = 0;
    if (at_one) from = to = (double)u->context_tok;
    for (int i = 0; i < SAMPLES; i++) {
        double s = step_s(c, u, from + (to - from) * (i + 0.5) / SAMPLES);
        if (s <= 0) return;
        sum += s;
    }
    double mean = (double)u->batch_n / (sum / SAMPLES);
    iv printed = rate_iv(u);
    bool ok = mean >= printed.lo * (1 - SAME_FRAC) && mean <= printed.hi * (1 + SAME_FRAC);
    finding *f = audit_say(
        a, R_CARD, "context-mean", ok ? AUDIT_PASS : AUDIT_FAIL, u->name ? u->name : "rate used",
        u->origin,
        "%s at %lld sequences: the measured rates averaged by time over contexts of %s to %s "
        "tokens are %s",
        say_num(a, u->q.v, "tok/s"), (long long)u->batch_n, say_num(a, from, ""),
        say_num(a, to, ""), say_num(a, mean, "tok/s"));
    audit_numbers(f, mean, u->q.v, "tok/s");
}

/* ---- batching ---- */

/* Decode of all agents together as the wall-clock has it, against what is stated for that batch. */
static void say_batched(auditor *a, const account *x, const claim_rate *stated) {
    bool same = !differ(x->decode_rate, rate_iv(stated));
    finding *f =
        audit_say(a, R_CARD, "batched-decode", same ? AUDIT_PASS : AUDIT_FAIL,
                  stated->name ? stated->name : x->arm, x->decode_rate.origins | stated->origin,
                  "%s: stated %s at %lld sequences, the wall-clock was computed with %s", x->arm,
                  say_num(a, stated->q.v, "tok/s"), (long long)a->claim->work.K,
                  say_num(a, x->decode_rate.v, "tok/s"));
    audit_numbers(f, stated->q.v, x->decode_rate.v, "tok/s");
}

/* Where no decode rate is declared as used, what prefill leaves of the wall-clock bounds it: more
 * than is stated cannot be, at the contexts that it is stated for; less may be host time, waiting
 * or longer contexts. What another arm's TTFT implies of the prefill settles nothing. */
static void say_left_for_decode(auditor *a, const account *x, const claim_rate *stated) {
    static const char *const FROM[] = {[PREFILL_USED] = "the rate used",
                                       [PREFILL_OWN_TTFT] = "the rate of its own TTFT",
                                       [PREFILL_STATED] = "the stated rate",
                                       [PREFILL_OTHER_TTFT] = "the rate of another arm's TTFT"};
    iv rate = x->decode_rate;
    bool same = !differ(rate, rate_iv(stated)), faster = rate.lo > stated->q.hi * 1.05;
    bool other_context = stated->context_tok > a->claim->work.P;
    audit_outcome o = same ? AUDIT_PASS
                      : faster && !other_context && x->prefix_from != PREFILL_OTHER_TTFT
                          ? AUDIT_FAIL
                          : AUDIT_CANNOT_TELL;
    const char *so = same     ? "as stated"
                     : faster ? "faster than stated"
                              : "slower than stated; host time, waiting, new tokens in small "
                                "batches or longer contexts may take the rest";
    finding *f = audit_say(
        a, R_CARD, "batched-decode", o, stated->name ? stated->name : x->arm,
        rate.origins | stated->origin,
        "%s: prefill of %s tokens takes %s at %s (%s) and leaves %s of %s for decode: %s against "
        "the stated %s at %lld sequences, %s",
        x->arm, say_num(a, x->computed_tok.v, ""), say_s(a, x->prefill.v), FROM[x->prefix_from],
        say_num(a, x->prefix_rate.v, "tok/s"), say_s(a, x->residual.v), say_s(a, x->wall->q.v),
        say_num(a, rate.v, "tok/s"), say_num(a, stated->q.v, "tok/s"), (long long)a->claim->work.K,
        so);
    audit_numbers(f, stated->q.v, rate.v, "tok/s");
}

static void check_batched(auditor *a, const account *x) {
    const claim *c = a->claim;
    const claim_rate *stated = facts_stated(c, x->arm, PHASE_DECODE, c->work.K);
    if (!x->decode_rate.ok || !stated || stated->batch_n != c->work.K || c->work.K < 2 ||
        !claim_same_arm(stated->arm, x->arm) || x->wall == NULL)
        return;
    if (x->decode_used)
        say_batched(a, x, stated);
    else
        say_left_for_decode(a, x, stated);
}

/* A wall-clock holds its own prefill at least. Shorter prompts than the rate is stated for run no
 * faster; longer ones may. */
static void check_prefill_fits(auditor *a, const account *x) {
    const claim *c = a->claim;
    const claim_rate *r = x->prefix_stated;
    bool lengths = r && (r->n_prompt_tok < 0 || r->n_prompt_tok >= c->work.P);
    if (!x->wall || !x->prefill.ok || x->prefix_from != PREFILL_STATED || x->decode_used) return;
    bool ok = x->prefill.lo <= x->wall->q.hi * 1.05;
    finding *f =
        audit_say(a, R_CARD, "prefill-fits",
                  ok        ? AUDIT_PASS
                  : lengths ? AUDIT_FAIL
                            : AUDIT_CANNOT_TELL,
                  x->wall->name, x->prefill.origins | x->wall->origin,
                  "%s: prefill of %s tokens at the stated %s takes %s, the whole wall-clock is %s",
                  x->arm, say_num(a, x->computed_tok.v, ""), say_num(a, x->prefix_rate.v, "tok/s"),
                  say_s(a, x->prefill.v), say_s(a, x->wall->q.v));
    audit_numbers(f, x->prefill.v, x->wall->q.v, "s");
}

/* Rate over the B = 1 rate of the same model, of a stated rate. 0: no B = 1 rate. */
static double measured_gain(const claim *c, const claim_rate *r) {
    for (size_t i = 0; i < c->rates_n; i++) {
        const claim_rate *one = &c->rates[i];
        if (one->role == ROLE_STATED && one->phase == PHASE_DECODE && one->batch_n == 1 &&
            claim_same_arm(one->model, r->model) && claim_same_arm(one->quant, r->quant) &&
            (claim_same_arm(one->arm, r->arm)) &&
            (one->context_tok < 0 || r->context_tok < 0 || one->context_tok == r->context_tok))
            return r->q.v / one->q.v;
    }
    return 0;
}

/* How much K sequences gain over one in the claim, against measured gains of the same engine at
 * fewer and at more sequences. */
static void check_gain(auditor *a, const account *x) {
    const claim *c = a->claim;
    const claim_rate *one = facts_stated(c, x->arm, PHASE_DECODE, 1);
    if (!x->decode_rate.ok || !one || !x->wall || !claim_same_arm(one->arm, x->arm)) return;
    iv gain = iv_div(x->decode_rate, rate_iv(one));
    const claim_rate *fewer = NULL, *more = NULL;
    double at_fewer = 0, at_more = 0;
    for (size_t i = 0; i < c->rates_n; i++) {
        const claim_rate *r = &c->rates[i];
        if (r->role != ROLE_STATED || r->phase != PHASE_DECODE || r->batch_n < 2 ||
            !claim_same_arm(r->arm, x->arm) || facts_own_model(c, r))
            continue;
        double g = measured_gain(c, r);
        if (g <= 0) continue;
        if (r->batch_n <= c->work.K && g > at_fewer) {
            fewer = r;
            at_fewer = g;
        }
        if (r->batch_n > c->work.K && g > at_more) {
            more = r;
            at_more = g;
        }
    }
    if (!fewer || gain.hi >= at_fewer) return;
    const char *also = more ? arena_printf(a->mem, " and %sx at %lld", say_num(a, at_more, ""),
                                           (long long)more->batch_n)
                            : "";
    bool own = x->prefix_from != PREFILL_OTHER_TTFT;
    finding *f = audit_say(
        a, R_CARD, "batching-gain", own ? AUDIT_FAIL : AUDIT_CANNOT_TELL, x->arm,
        gain.origins | fewer->origin | one->origin,
        "%s batches at %sx for %lld sequences, the same engine is measured at %sx for %lld%s (%s)",
        x->arm, say_num(a, gain.v, ""), (long long)c->work.K, say_num(a, at_fewer, ""),
        (long long)fewer->batch_n, also ? also : "", fewer->model ? fewer->model : "");
    audit_numbers(f, at_fewer, gain.v, "x");
}

/* ---- new tokens of a turn ---- */

static double pass_floor_s(auditor *a, unsigned *origins) {
    const claim *c = a->claim;
    const claim_chip *chip = facts_chip(a, NULL);
    if (!chip || chip->mem_bw_bytes_s <= 0 || c->model.weight_bytes <= 0) return 0;
    *origins |= chip->origin | c->model.weights_origin;
    return c->model.weight_bytes / chip->mem_bw_bytes_s;
}

/* A declared time for a turn's new tokens: never under one pass over the weights. */
static void check_delta_term(auditor *a, const claim_term *t) {
    const claim *c = a->claim;
    if (t->kind != TERM_KIND_DELTA || !t->has_value || t->per != PER_TURN || !c->has_workload ||
        c->work.turn_delta_in_tok < 1 || t->q.v <= 0)
        return;
    double grown = 1 + t->growth_per_agent_frac * (double)(c->work.K - 1);
    double tok = (double)c->work.turn_delta_in_tok, took = t->q.v * grown, rate = tok / took;
    unsigned origins = t->origin;
    double floor_s = pass_floor_s(a, &origins);
    const claim_rate *stated = facts_stated(c, t->arm, PHASE_PREFILL, NOT_STATED);
    const char *times =
        stated ? arena_printf(a->mem, ", %s times the measured %s",
                              say_num(a, round(rate / stated->q.v), ""), rate_words(a, stated))
               : "";
    if (floor_s > 0) {
        bool ok = t->q.hi * grown >= floor_s * 0.95;
        finding *f = audit_say(
            a, R_FLOOR, "delta", ok ? AUDIT_PASS : AUDIT_FAIL, t->name,
            origins | (stated ? (unsigned)stated->origin : 0u),
            "%s for the %s new tokens of a turn is %s%s; streaming the weights once takes %s",
            say_s(a, took), say_num(a, tok, ""), say_num(a, rate, "tok/s"), times ? times : "",
            say_s(a, floor_s));
        audit_numbers(f, floor_s * 1e3, took * 1e3, "ms");
    }
    if (!stated) return;
    bool same = rate <= stated->q.hi * 1.05;
    finding *f = audit_say(a, R_CARD, "delta", same ? AUDIT_PASS : AUDIT_FAIL, t->name,
                           t->origin | stated->origin, "%s new tokens in %s is %s, measured is %s",
                           say_num(a, tok, ""), say_s(a, took), say_num(a, rate, "tok/s"),
                           rate_words(a, stated));
    audit_numbers(f, stated->q.v, rate, "tok/s");
}

/* What all new tokens of a session are charged, against their time at a measured rate. */
static void check_delta_total(auditor *a, const account *x) {
    const claim *c = a->claim;
    const claim_rate *stated = facts_stated(c, x->arm, PHASE_PREFILL, NOT_STATED);
    bool charged_apart = x->delta.ok && x->delta.v > 0;
    if (!charged_apart || !stated || !x->wall) return;
    double tok = (double)(c->work.K * c->work.H * c->work.turn_delta_in_tok);
    double right = tok / stated->q.v;
    bool ok = x->delta.hi >= right * 0.95;
    const char *also =
        x->prefix_rate.ok && differ(x->prefix_rate, rate_iv(stated))
            ? arena_printf(a->mem, " (%s at the %s that prices the prefix)",
                           say_s(a, tok / x->prefix_rate.v), say_num(a, x->prefix_rate.v, "tok/s"))
            : "";
    finding *f =
        audit_say(a, R_EVIDENCE, "delta-charged", ok ? AUDIT_PASS : AUDIT_FAIL, x->arm,
                  x->delta.origins | stated->origin,
                  "%s charges %s for prefilling %s new tokens; at the measured %s they take %s%s",
                  x->arm, say_s(a, x->delta.v), say_num(a, tok, ""), rate_words(a, stated),
                  say_s(a, right), also ? also : "");
    audit_numbers(f, right, x->delta.v, "s");
}

/* New tokens of a turn priced at a flat prefill rate, ingested alone: one pass at least. */
static void check_small_prompts(auditor *a, const account *x) {
    const claim *c = a->claim;
    const claim_arm *policy = claim_arm_of(c, x->arm);
    unsigned origins = 0;
    double floor_s = pass_floor_s(a, &origins);
    bool together = policy && policy->batch_known && policy->batch == BATCH_LOCKSTEP;
    if (!policy || !policy->reuse_known || policy->reuse == REUSE_NONE || x->delta.v > 0 ||
        !x->prefill_stated || !x->prefill.ok || floor_s <= 0 || c->work.turn_delta_in_tok < 1)
        return;
    double tok = (double)c->work.turn_delta_in_tok * (together ? (double)c->work.K : 1);
    double got = tok / x->prefix_rate.v;
    const claim_rate *one = facts_stated(c, x->arm, PHASE_DECODE, 1);
    const char *measured =
        one ? arena_printf(a->mem, ", %s measured (%s)", say_s(a, 1 / one->q.v), rate_words(a, one))
            : "";
    bool ok = got >= floor_s * 0.95;
    finding *f =
        audit_say(a, R_FLOOR, "small-prompt", ok ? AUDIT_PASS : AUDIT_FAIL, x->arm,
                  origins | x->prefix_rate.origins | (one ? (unsigned)one->origin : 0u),
                  "%s: %s tokens ingested %s are charged %s; one pass over the weights takes %s%s",
                  x->arm, say_num(a, tok, ""), together ? "for all agents in one pass" : "alone",
                  say_s(a, got), say_s(a, floor_s), measured ? measured : "");
    audit_numbers(f, floor_s * 1e3, got * 1e3, "ms");
}

/* ---- TTFT against measured prefill ---- */

static const claim_rate *fastest_prefill(const claim *c) {
    const claim_rate *best = NULL;
    for (size_t i = 0; i < c->rates_n; i++) {
        const claim_rate *r = &c->rates[i];
        if (r->role == ROLE_STATED && r->phase == PHASE_PREFILL && facts_own_model(c, r) &&
            (!best || r->q.v > best->q.v))
            best = r;
    }
    return best;
}

/* Prompt tokens of a request over its time to first token, against the fastest measured prefill of
 * the model. */
static void check_ttft_rate(auditor *a) {
    const claim_rate *best = fastest_prefill(a->claim);
    iv tok, rate;
    const claim_figure *f = facts_fastest_ttft(a->claim, &tok, &rate);
    if (!f || !best) return;
    bool ok = rate.lo <= best->q.hi * 1.05;
    finding *say = audit_say(a, R_CARD, "ttft-rate", ok ? AUDIT_PASS : AUDIT_FAIL, f->name,
                             rate.origins | best->origin,
                             "%s tokens in %s is %s of prefill, %s times the measured %s",
                             say_num(a, tok.v, ""), say_s(a, f->q.v), say_num(a, rate.v, "tok/s"),
                             say_num(a, rate.v / best->q.v, ""), rate_words(a, best));
    audit_numbers(say, best->q.v, rate.v, "tok/s");
}

/* Figures of another model beside the claim's: they may explain, they price nothing. */
static void check_other_models(auditor *a) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (!f->model || f->q.u->dim != DIM_TOK_S) continue;
        for (size_t k = 0; k < c->rates_n; k++)
            if (c->rates[k].role == ROLE_USED && claim_same_arm(c->rates[k].model, f->model))
                return;
        audit_say(a, R_CARD, "other-model", AUDIT_PASS, f->name, f->origin,
                  "rates of %s are of another model and price nothing of %s here", f->model,
                  c->model.name ? c->model.name : "the claim");
        return;
    }
}

void check_rates(auditor *a) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->rates_n; i++) {
        check_used(a, &c->rates[i]);
        check_context_mean(a, &c->rates[i]);
    }
    for (size_t i = 0; i < c->terms_n; i++) check_delta_term(a, &c->terms[i]);
    for (size_t i = 0; i < c->arms_n; i++) {
        account x = account_of(a, c->arms[i].name);
        check_implied(a, c->arms[i].name);
        check_prefill_fits(a, &x);
        check_batched(a, &x);
        check_gain(a, &x);
        check_delta_total(a, &x);
        check_small_prompts(a, &x);
    }
    check_ttft_rate(a);
    check_other_models(a);
}
