/* Token counts of a session: exact integers that follow from its workload and policy (design model,
 * section 3). */
#include "audit/facts.h"

#include <math.h>
#include <string.h>

/* The session that `f` tells of; false: the claim does not state enough of it. */
static bool session_of(const claim *c, const claim_figure *f, workload *w) {
    const workload_fact *shape = claim_fact(c, "turn_shape");
    *w = c->work;
    if (f->streams_n > 0) w->K = f->streams_n;
    w->shape = shape && shape->text && strcmp(shape->text, "result_after") == 0 ? SHAPE_RESULT_AFTER
                                                                                : SHAPE_DELTA_FIRST;
    if (!shape && w->H != 1) return false;
    if (w->H == 1 && w->turn_out_tok < 0) w->turn_out_tok = 0;
    return w->K > 0 && w->H > 0 && w->P >= 0 && w->turn_delta_in_tok >= 0 && w->turn_out_tok >= 0;
}

/* Tokens an arm computes when a turn's whole history is cached, and with the last sampled token of
 * each warm turn computed again, as engines do. */
static void computed(const workload *w, const claim_arm *by, double *published, double *engine) {
    *published = *engine = facts_policy_tok(w, by->reuse, by->comers == COMERS_EACH);
    if (by->reuse != REUSE_NONE) *engine += (double)w->K * (double)(w->H - 1);
    /* a first prompt that is nothing but the shared prefix is found whole by all but one */
    bool whole = w->shape == SHAPE_RESULT_AFTER || w->turn_delta_in_tok == 0;
    if (by->reuse == REUSE_SHARED && by->comers == COMERS_WAIT && whole && w->P > 0)
        *engine += (double)(w->K - 1);
}

static void exact(auditor *a, const claim_figure *f, double v, double also, const char *how) {
    bool other = also != v && quantity_allows(&f->q, also, also);
    double take = other ? also : v;
    audit_follows(a, R_TOKENS, "session", f->name, &f->q, take, take, take,
                  f->origin | ORIGIN_PRINTED, how);
}

static void check_session(auditor *a, const claim_figure *f) {
    workload w;
    if (!session_of(a->claim, f, &w)) return;
    const claim_arm *arm_of = claim_arm_of(a->claim, f->arm);
    double turns = (double)(w.K * w.H), now, engine;
    switch (f->metric) {
    case METRIC_PROMPT_TOK:
        exact(a, f, facts_presented_tok(&w), facts_presented_tok(&w), "what the workload presents");
        break;
    case METRIC_OUTPUT_TOK:
        if (w.turn_out_tok > 0)
            exact(a, f, turns * (double)w.turn_out_tok, turns * (double)w.turn_out_tok,
                  "agents x turns x output");
        break;
    case METRIC_COMPUTED_TOK:
    case METRIC_REUSED_TOK:
        if (!arm_of || !arm_of->reuse_known) break;
        computed(&w, arm_of, &now, &engine);
        if (f->metric == METRIC_REUSED_TOK) {
            now = facts_presented_tok(&w) - now;
            engine = facts_presented_tok(&w) - engine;
        }
        exact(a, f, now, engine, "what this prefix reuse makes of the workload");
        break;
    case METRIC_PREFIX_EVALS:
        if (!arm_of || !arm_of->reuse_known) break;
        now = arm_of->reuse == REUSE_NONE ? turns : (double)w.K;
        if (arm_of->reuse == REUSE_SHARED && arm_of->comers == COMERS_WAIT) now = 1;
        exact(a, f, now, now, "how often the policy evaluates the prefix");
        break;
    default:
        break;
    }
}

/* presented = reused + computed wherever the three are printed side by side. */
static void check_sum(auditor *a, const claim_figure *f) {
    if (f->metric != METRIC_PROMPT_TOK) return;
    iv reused = iv_figure(facts_beside(a->claim, f, METRIC_REUSED_TOK)),
       fresh = iv_figure(facts_beside(a->claim, f, METRIC_COMPUTED_TOK)),
       sum = iv_add(reused, fresh);
    if (!sum.ok) return;
    audit_follows(a, R_TOKENS, "sum", f->name, &f->q, sum.v, sum.lo, sum.hi,
                  sum.origins | f->origin, "reused + computed");
}

/* Sharing never computes more than isolated slots do; an engine that computes the last cached token
 * of a prompt again computes one more a turn. */
static void check_sharing(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    const claim_arm *mine = claim_arm_of(c, f->arm);
    double turns = c->work.H > 1 && c->work.K > 0 ? (double)c->work.H * (double)c->work.K : 0;
    if (f->metric != METRIC_COMPUTED_TOK || !mine || !mine->reuse_known ||
        mine->reuse != REUSE_SHARED)
        return;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *g = &c->figures[i];
        const claim_arm *other = claim_arm_of(c, g->arm);
        if (g->metric != METRIC_COMPUTED_TOK || !other || !other->reuse_known ||
            other->reuse == REUSE_SHARED || g->streams_n != f->streams_n)
            continue;
        bool ok = f->q.lo <= g->q.hi + turns;
        finding *say =
            audit_say(a, R_MONO, "sharing", ok ? AUDIT_PASS : AUDIT_FAIL, f->name,
                      f->origin | g->origin, "a shared prefix computes %s tokens, %s computes %s",
                      say_num(a, f->q.v, ""), g->arm, say_num(a, g->q.v, ""));
        audit_numbers(say, g->q.v, f->q.v, "tokens");
    }
}

void check_tokens(auditor *a) {
    for (size_t i = 0; i < a->claim->figures_n; i++) {
        check_session(a, &a->claim->figures[i]);
        check_sum(a, &a->claim->figures[i]);
        check_sharing(a, &a->claim->figures[i]);
    }
}
