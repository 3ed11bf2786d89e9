/* What no run can show: shares above the whole, more accepted than drafted, more used than is
 * there.
 */
#include "audit/facts.h"

#include <math.h>
#include <string.h>

static void say_beyond(auditor *a, rule_id id, const char *check, const claim_figure *f,
                       double limit, const char *what) {
    finding *say = audit_say(a, id, check, AUDIT_FAIL, f->name, f->origin,
                             "printed %s, %s is %s: no run shows more", say_in(a, f->q.v, f->q.u),
                             what, say_in(a, limit, f->q.u));
    audit_numbers(say, limit / f->q.u->scale, f->q.v / f->q.u->scale, f->q.u->name);
}

/* ---- shares ---- */

static void check_share(auditor *a, const claim_figure *f) {
    bool share = f->metric == METRIC_ACCEPTANCE || f->metric == METRIC_REUSE_FRAC;
    if (f->metric == METRIC_UTILISATION && f->q.lo > 1)
        say_beyond(a, R_ROOFLINE, "share", f, 1, "the whole");
    if (share && f->q.u->dim == DIM_FRAC && f->q.lo > 1)
        say_beyond(a, R_CONSISTENCY, "share", f, 1, "the whole");
}

/* ---- drafts ---- */

static double drafted(const claim *c) {
    double block = claim_number(c, "block_size draft_block", 0);
    return claim_number(c, "draft_tokens num_speculative_tokens draft_n",
                        block > 1 ? block - 1 : 0);
}

static void check_accepted(auditor *a, const claim_figure *f) {
    double n = drafted(a->claim);
    if (n <= 0) return;
    if (f->metric == METRIC_MEAN_ACCEPTED && f->q.lo > n)
        say_beyond(a, R_CONSISTENCY, "drafted", f, n, "what a round drafts");
    if (f->metric == METRIC_ROUND_TOK && f->q.lo > n + 1)
        say_beyond(a, R_CONSISTENCY, "drafted", f, n + 1, "what a round can emit");
}

/* A round costs a pass over the weights at least, as a token without a draft does. */
static void check_draft_speedup(auditor *a, const ratio *r) {
    static const double SLACK = 1.05;
    const claim *c = a->claim;
    const claim_figure *f = r->num, *g = r->den;
    if (f->q.u->dim != DIM_TOK_S || g->q.u->dim != DIM_TOK_S || !physics_speculative(c, f) ||
        physics_speculative(c, g) || f->metric != g->metric || f->streams_n != g->streams_n)
        return;
    iv most = physics_round_tok(c, f), v = iv_div(iv_figure(f), iv_figure(g));
    if (!most.ok || !v.ok) return;
    bool ok = v.lo <= most.hi * SLACK;
    finding *say = audit_say(
        a, R_FLOOR, "draft-speedup", ok ? AUDIT_PASS : AUDIT_FAIL, r->name,
        v.origins | most.origins | r->origin,
        ok ? "%s times as fast with rounds of %s tokens at most"
           : "%s times as fast, but a round emits %s tokens at most and costs a pass over the "
             "weights, as a token without a draft does",
        say_num(a, v.v, ""), say_num(a, most.v, ""));
    audit_numbers(say, most.v, v.v, "x");
}

/* ---- devices ---- */

static void check_device(auditor *a, const claim_figure *f) {
    static const char *const SEEN = "achieved|effective|measured|sustained|observed|reached";
    static const char *const USED = "peak|used|usage|in use|resident";
    const claim_chip *chip = facts_chip(a, f);
    if (!chip) return;
    double n = (double)f->gpus_n;
    bool seen = words_have(f->name, SEEN) || words_have(f->conditions, SEEN);
    bool used = words_have(f->name, USED) || words_have(f->conditions, USED);
    if (f->metric == METRIC_BANDWIDTH && seen && chip->mem_bw_bytes_s > 0 &&
        f->q.lo > chip->mem_bw_bytes_s * n * 1.01)
        say_beyond(a, R_ROOFLINE, "device", f, chip->mem_bw_bytes_s * n, "the device's bandwidth");
    /* what is sold as GB may be GiB */
    if (f->metric == METRIC_MEMORY_BYTES && used && chip->memory_bytes > 0 &&
        f->q.lo > chip->memory_bytes * n * 0x1p30 / 1e9)
        say_beyond(a, R_MEMORY, "device", f, chip->memory_bytes * n, "the device's memory");
}

/* ---- times ---- */

static void check_first_in_whole(auditor *a, const claim_figure *f) {
    const claim_figure *whole = facts_beside(a->claim, f, METRIC_LATENCY);
    if (f->metric != METRIC_TTFT || !whole || whole->percentile_ppm != f->percentile_ppm ||
        !claim_same_arm(f->arm, whole->arm) || f->q.lo <= whole->q.hi)
        return;
    say_beyond(a, R_CONSISTENCY, "first-in-whole", f, whole->q.v, "the whole request");
}

/* Tokens that come out of a cache are not prefilled. */
static void check_cached_prefill(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    const claim_figure *n = facts_beside(c, f, METRIC_PROMPT_TOK),
                       *reused = facts_beside(c, f, METRIC_REUSED_TOK),
                       *t = facts_beside(c, f, METRIC_PREFILL_TIME);
    if (!t) t = facts_beside(c, f, METRIC_TTFT);
    if (f->metric != METRIC_PREFILL_RATE || !n || !reused || !t || reused->q.v <= 0 ||
        reused->q.v > n->q.v)
        return;
    iv all = iv_div(iv_figure(n), iv_figure(t)),
       fresh = iv_div(iv_sub(iv_figure(n), iv_figure(reused)), iv_figure(t));
    bool counts = all.ok && fabs(f->q.v / all.v - 1) < 0.02 && fabs(fresh.v / all.v - 1) > 0.05;
    if (!counts) return;
    finding *say = audit_say(a, R_POPULATION, "cached-prefill", AUDIT_FAIL, f->name,
                             all.origins | fresh.origins | f->origin,
                             "%s counts %s tokens that come out of the cache; the %s computed ones "
                             "are %s",
                             say_in(a, f->q.v, f->q.u), say_num(a, reused->q.v, ""),
                             say_num(a, n->q.v - reused->q.v, ""), say_num(a, fresh.v, "tok/s"));
    audit_numbers(say, fresh.v, f->q.v, "tok/s");
}

void check_limits(auditor *a) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        check_share(a, f);
        check_accepted(a, f);
        check_device(a, f);
        check_first_in_whole(a, f);
        check_cached_prefill(a, f);
    }
    for (size_t i = 0; i < c->ratios_n; i++) check_draft_speedup(a, &c->ratios[i]);
}
