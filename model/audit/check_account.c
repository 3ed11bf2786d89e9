/* Where the seconds of a claimed wall-clock come from: terms without evidence, queue wait counted
 * twice, changes without a cause, totals that the claim's own rates do not give. */
#include "audit/account.h"

#include <math.h>
#include <string.h>

/* ---- terms ---- */

/* A time of the same size that another account of the same arm files under another name. */
static const claim_figure *under_another_name(const claim *c, const claim_term *t, iv total) {
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (f->metric != METRIC_QUEUE_TIME || t->kind == TERM_KIND_QUEUE_WAIT) continue;
        if (t->arm && !words_have(f->arm, t->arm)) continue;
        if (quantity_allows(&f->q, total.lo, total.hi)) return f;
    }
    return NULL;
}

static void say_no_evidence(auditor *a, const claim_term *t, iv total, const char *whose) {
    const claim_figure *twin = under_another_name(a->claim, t, total);
    const char *also =
        twin ? arena_printf(a->mem,
                            "; the same %s stand as queue wait in %s: two names for one term",
                            say_s(a, twin->q.v), twin->arm)
             : "";
    finding *f = audit_say(a, R_EVIDENCE, "no-evidence", AUDIT_FAIL, t->name,
                           t->origin | (twin ? (unsigned)twin->origin : 0u),
                           "%s%s: a %s of %s in the wall-clock has no evidence%s",
                           t->arm ? t->arm : "the claim", whose, TERM_KIND_NAMES[t->kind],
                           say_s(a, total.v), also ? also : "");
    audit_numbers(f, 0, total.v, "s");
}

static void say_queue_wait(auditor *a, const claim_term *t, iv total, const char *whose) {
    finding *f = audit_say(
        a, R_WALL, "queue-wait", AUDIT_FAIL, t->name, t->origin | total.origins,
        "%s%s: the wall-clock holds %s of client queue wait, which is already in TTFT: in server "
        "time it is counted twice",
        t->arm ? t->arm : "the claim", whose,
        t->has_value ? say_s(a, total.v)
                     : arena_printf(a->mem, "K (K - 1) / 2 x P / %s tok/s = %s",
                                    say_num(a,
                                            (double)(a->claim->work.K * (a->claim->work.K - 1) / 2 *
                                                     a->claim->work.P) /
                                                total.v,
                                            ""),
                                    say_s(a, total.v)));
    audit_numbers(f, 0, total.v, "s");
}

static iv term_total(auditor *a, const claim_term *t) {
    iv total = account_term(a->claim, t);
    if (!t->has_value && t->kind == TERM_KIND_QUEUE_WAIT) total = account_queue_wait(a, t->arm);
    return total;
}

static void check_term(auditor *a, const claim_term *t, const char *whose) {
    iv total = term_total(a, t);
    if (t->kind == TERM_KIND_QUEUE_WAIT && !total.ok) {
        audit_say(
            a, R_WALL, "queue-wait", AUDIT_FAIL, t->name, t->origin,
            "%s%s: the wall-clock holds client queue wait of a size that is not stated; it is "
            "already in TTFT",
            t->arm ? t->arm : "the claim", whose);
        return;
    }
    if (!total.ok || total.v == 0) return;
    if (t->kind == TERM_KIND_QUEUE_WAIT)
        say_queue_wait(a, t, total, whose);
    else if (!t->evidence && (t->kind == TERM_KIND_CONSTANT || t->kind == TERM_KIND_PENALTY))
        say_no_evidence(a, t, total, whose);
}

/* ---- revisions ---- */

/* Another account of the arm carries queue wait outside its wall-clock: what it says of the terms
 * that were removed. */
static void check_other_account(auditor *a, const revision *r, iv valued, iv wait) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (f->metric != METRIC_QUEUE_TIME || !r->arm || !words_have(f->arm, r->arm) ||
            claim_same_arm(f->arm, r->arm) || f->q.v <= valued.v || !wait.ok)
            continue;
        double theirs = f->q.v - valued.v;
        const claim_figure *wall = facts_beside(c, f, METRIC_WALL),
                           *p = facts_beside(c, f, METRIC_PREFILL_TIME),
                           *d = facts_beside(c, f, METRIC_DECODE_TIME);
        account now = account_of(a, r->arm);
        const char *rates =
            wall && p && d && now.prefill.ok && now.decode.ok
                ? arena_printf(a->mem,
                               "; before less these %s is its %s, and the way to %s is a change of "
                               "rates (prefill %s to %s, decode %s to %s) that is not mentioned",
                               say_s(a, f->q.v), say_s(a, wall->q.v), say_s(a, r->after.v),
                               say_s(a, p->q.v), say_s(a, now.prefill.v + now.delta.v),
                               say_s(a, d->q.v), say_s(a, now.decode.v))
                : "";
        finding *say = audit_say(
            a, R_CONSISTENCY, "two-accounts", AUDIT_FAIL, r->name ? r->name : r->arm,
            r->origin | f->origin | wait.origins,
            "%s carries %s outside its wall-clock: %s of queue wait beside the %s, where the "
            "formula gives %s: %s between the two%s",
            f->arm, say_s(a, f->q.v), say_s(a, theirs), say_s(a, valued.v), say_s(a, wait.v),
            say_s(a, fabs(wait.v - theirs)), rates ? rates : "");
        audit_numbers(say, wait.v, theirs, "s");
        return;
    }
}

static void check_revision(auditor *a, const revision *r) {
    iv removed = iv_exact(0, r->origin), valued = iv_exact(0, 0), wait = iv_none();
    for (size_t i = 0; i < r->removed_n; i++) {
        const claim_term *t = &r->removed[i];
        iv total = term_total(a, t);
        check_term(a, t, ", before the revision");
        if (!total.ok) return; /* what was taken out cannot be added up */
        if (t->has_value) valued = iv_add(valued, total);
        if (t->kind == TERM_KIND_QUEUE_WAIT) wait = total;
        removed = iv_add(removed, total);
    }
    iv before = iv_quantity(&r->before, r->origin), after = iv_quantity(&r->after, r->origin);
    iv left = iv_sub(iv_sub(before, removed), after);
    bool ok = left.lo <= 0 && left.hi >= 0;
    const char *arm_name = r->arm ? r->arm : "the arm";
    finding *f = audit_say(
        a, R_EVIDENCE, "revision", ok ? AUDIT_PASS : AUDIT_FAIL, r->name ? r->name : arm_name,
        removed.origins | r->origin,
        ok ? "%s: %s less the %s that were removed is the new %s"
           : "%s: %s less the %s that were removed is %s, printed is %s: %s of the change have no "
             "stated cause",
        arm_name, say_s(a, before.v), say_s(a, removed.v),
        ok ? say_s(a, after.v) : say_s(a, before.v - removed.v), say_s(a, after.v),
        say_s(a, fabs(left.v)));
    audit_numbers(f, before.v - removed.v, after.v, "s");
    check_other_account(a, r, valued, wait);
}

/* ---- totals from rates ---- */

/* "22 min" that follows only when another arm's decode rate takes the place of this one's. */
static const char *mixed_rates(auditor *a, const account *x, const claim_figure *f) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->arms_n; i++) {
        account y = account_of(a, c->arms[i].name);
        if (strcmp(c->arms[i].name, x->arm) == 0 || !y.decode_used) continue;
        account mix = *x;
        mix.decode = y.decode;
        iv v = account_wall(&mix);
        if (v.ok && quantity_allows(&f->q, v.lo, v.hi)) {
            const char *s =
                arena_printf(a->mem,
                             "; it follows only with this arm's prefill (%s) and the "
                             "decode of %s (%s)",
                             say_in(a, x->prefill.v, f->q.u), y.arm, say_in(a, y.decode.v, f->q.u));
            return s ? s : "";
        }
    }
    return "";
}

static void check_total(auditor *a, const account *x, const claim_figure *f) {
    iv v = account_wall(x);
    if (!v.ok || !x->decode_used || !x->prefill_stated) return;
    bool ok = quantity_allows(&f->q, v.lo, v.hi);
    finding *say = audit_say(
        a, R_RATIO, "total", ok ? AUDIT_PASS : AUDIT_FAIL, f->name, v.origins | f->origin,
        "%s: printed %s, prefill %s + decode %s%s at the claim's own rates is %s%s", x->arm,
        say_in(a, f->q.v, f->q.u), say_in(a, x->prefill.v + x->delta.v, f->q.u),
        say_in(a, x->decode.v, f->q.u),
        x->other.v > 0 ? arena_printf(a->mem, " + %s", say_in(a, x->other.v, f->q.u)) : "",
        say_in(a, v.v, f->q.u), ok ? "" : mixed_rates(a, x, f));
    audit_numbers(say, v.v / f->q.u->scale, f->q.v / f->q.u->scale, f->q.u->name);
}

/* Printed parts beside the rates. */
static void check_parts(auditor *a, const account *x) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (!claim_same_arm(f->arm, x->arm)) continue;
        if (f->metric == METRIC_WALL) check_total(a, x, f);
        if (f->metric == METRIC_PREFILL_TIME && x->prefill.ok && x->prefill_stated)
            audit_follows(a, R_RATIO, "prefill-time", f->name, &f->q, x->prefill.v, x->prefill.lo,
                          x->prefill.hi, f->origin | x->prefill.origins,
                          "computed tokens / prefill rate");
        if (f->metric == METRIC_DECODE_TIME && x->decode_used && x->decode.ok)
            audit_follows(a, R_RATIO, "decode-time", f->name, &f->q, x->decode.v, x->decode.lo,
                          x->decode.hi, f->origin | x->decode.origins,
                          "output tokens / decode rate");
    }
}

/* A printed ratio of two walls against the walls that the rates give, which are sharper than the
 * printed ones; and with the measured curve over length, where there is one. */
static void check_wall_ratio(auditor *a, const ratio *r) {
    if (r->num->metric != METRIC_WALL || r->den->metric != METRIC_WALL || !r->num->arm ||
        !r->den->arm)
        return;
    account x = account_of(a, r->num->arm), y = account_of(a, r->den->arm);
    iv nx = account_wall(&x), ny = account_wall(&y), v = iv_div(nx, ny);
    if (!v.ok || !x.decode_used || !y.decode_used || !x.prefill_stated || !y.prefill_stated) return;
    iv curve = account_curve_prefill(a, r->num->arm);
    bool ok = quantity_allows(&r->q, v.lo, v.hi);
    account xc = x;
    xc.prefill = curve;
    iv vc = iv_div(account_wall(&xc), ny);
    const char *with_curve =
        vc.ok ? arena_printf(a->mem,
                             "; with the measured prefill over length %s takes %s in all (prefill "
                             "%s), which is %s",
                             r->num->arm, say_s(a, account_wall(&xc).v), say_s(a, curve.v),
                             say_num(a, vc.v, "x"))
              : "";
    finding *f = audit_say(a, R_RATIO, "wall-ratio", ok ? AUDIT_PASS : AUDIT_FAIL, r->name,
                           r->origin | v.origins | (vc.ok ? vc.origins : 0u),
                           "printed %s, the claim's flat rates give %s / %s = %s%s", r->print,
                           say_s(a, nx.v), say_s(a, ny.v), say_num(a, v.v, "x"),
                           with_curve ? with_curve : "");
    audit_numbers(f, v.v, r->q.v, "x");
}

void check_accounts(auditor *a) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->terms_n; i++) check_term(a, &c->terms[i], "");
    for (size_t i = 0; i < c->revisions_n; i++) check_revision(a, &c->revisions[i]);
    for (size_t i = 0; i < c->arms_n; i++) {
        account x = account_of(a, c->arms[i].name);
        check_parts(a, &x);
    }
    for (size_t i = 0; i < c->ratios_n; i++) check_wall_ratio(a, &c->ratios[i]);
}
