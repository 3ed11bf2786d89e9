/* The table of rules, the statements of an audit, their order and the verdict, and projections as
 * audits. */
#include "support.h"

#include "audit/audit.h"
#include "invariants.h"

#include <ctype.h>
#include <string.h>

/* ---- the table ---- */

Test(rules, every_rule_is_written_out) {
    for (size_t i = 0; i < R_N; i++) {
        const rule *r = &RULES[i];
        cr_assert(strncmp(r->id, "I-", 2) == 0, "%zu", i);
        cr_assert(r->word[0] && r->says[0] && r->needs[0] && r->decides[0] && r->source[0], "%s",
                  r->id);
        for (const char *p = r->word; *p; p++) cr_assert(islower((unsigned char)*p), "%s", r->word);
        for (size_t k = 0; k < i; k++)
            cr_assert(strcmp(RULES[k].id, r->id) != 0 && strcmp(RULES[k].word, r->word) != 0, "%s",
                      r->id);
    }
}

/* Design model, section 6: "Two kinds", and the words under which findings are filed. */
Test(rules, kinds_and_words) {
    static const struct {
        rule_id rule;
        const char *id, *word;
        rule_kind kind;
    } WANT[] = {{R_WALL, "I-WALL", "wall", RULE_ENGINE},
                {R_EVIDENCE, "I-EVIDENCE", "evidence", RULE_ENGINE},
                {R_QUEUE, "I-QUEUE", "queue", RULE_ENGINE},
                {R_TOKENS, "I-TOKENS", "tokens", RULE_ENGINE},
                {R_POPULATION, "I-POPULATION", "population", RULE_PLAUSIBILITY},
                {R_ROOFLINE, "I-ROOFLINE", "roofline", RULE_PLAUSIBILITY},
                {R_FLOOR, "I-FLOOR", "floor", RULE_PLAUSIBILITY},
                {R_CARD, "I-CARD", "card", RULE_PLAUSIBILITY},
                {R_RATIO, "I-RATIO", "arithmetic", RULE_PLAUSIBILITY},
                {R_CONSISTENCY, "I-CONSISTENCY", "consistency", RULE_PLAUSIBILITY},
                {R_UNITS, "I-UNITS", "units", RULE_PLAUSIBILITY},
                {R_MEMORY, "I-MEMORY", "memory", RULE_PLAUSIBILITY},
                {R_CONDITIONS, "I-CONDITIONS", "conditions", RULE_PLAUSIBILITY},
                {R_MONO, "I-MONO", "mono", RULE_PLAUSIBILITY},
                {R_DETERMINISM, "I-DETERMINISM", "determinism", RULE_ENGINE}};
    cr_assert_eq(sizeof WANT / sizeof *WANT, R_N);
    for (size_t i = 0; i < R_N; i++) {
        cr_expect_str_eq(RULES[WANT[i].rule].id, WANT[i].id);
        cr_expect_str_eq(RULES[WANT[i].rule].word, WANT[i].word);
        cr_expect_eq(RULES[WANT[i].rule].kind, WANT[i].kind, "%s", WANT[i].id);
    }
}

/* ---- statements ---- */

static audit closed(auditor *a) {
    err e = {0};
    audit out = {.kind = "claim", .id = "c", .title = "t"};
    cr_assert_eq(audit_close(a, &out, &e), OK, "%s", e.what);
    return out;
}

Test(rules, heaviest_first_else_as_said) {
    auditor a = {.mem = support_arena()};
    audit_say(&a, R_RATIO, "minor-1", AUDIT_CANNOT_TELL, "x", 0, "y");
    audit_say(&a, R_RATIO, "major-1", AUDIT_FAIL, "x", ORIGIN_PRINTED | ORIGIN_EXTERNAL, "is %d",
              7);
    audit_say(&a, R_RATIO, "pass-1", AUDIT_PASS, NULL, 0, "y");
    audit_say(&a, R_RATIO, "note-1", AUDIT_FAIL, "x", 0, "y")->weight = WEIGHT_NOTE;
    for (int i = 0; i < 100; i++) audit_say(&a, R_RATIO, "pass-n", AUDIT_PASS, "x", 0, "y");
    audit_say(&a, R_RATIO, "major-2", AUDIT_FAIL, "x", 0, "y");
    audit_say(&a, R_RATIO, "minor-2", AUDIT_CANNOT_TELL, "x", 0, "y");
    audit out = closed(&a);
    static const char *const ORDER[] = {"major-1", "major-2", "minor-1", "minor-2", "note-1"};
    cr_assert_eq(out.findings_n, 5);
    for (size_t i = 0; i < 5; i++) cr_expect_str_eq(out.findings[i].check, ORDER[i]);
    cr_assert_eq(out.passes_n, 101);
    cr_expect_str_eq(out.passes[0].check, "pass-1");
    cr_expect_str_eq(out.passes[0].about, "");
    cr_expect_str_eq(out.findings[0].why, "is 7");
    cr_expect_eq(out.findings[0].origins, ORIGIN_PRINTED | ORIGIN_EXTERNAL);
    cr_expect(!out.findings[0].has_expected && !out.findings[0].has_found);
}

Test(rules, verdicts) {
    static const struct {
        const char *said; /* p pass, F fail, f fail as a note (a defect all the same), C cannot tell
                             MAJOR, c MINOR */
        verdict want;
    } CASES[] = {{"", VERDICT_CANNOT_TELL}, {"p", VERDICT_SOUND},   {"c", VERDICT_CANNOT_TELL},
                 {"pc", VERDICT_SOUND},     {"pf", VERDICT_DEFECT}, {"pC", VERDICT_CANNOT_TELL},
                 {"f", VERDICT_DEFECT},     {"F", VERDICT_DEFECT},  {"pCF", VERDICT_DEFECT},
                 {"ppcF", VERDICT_DEFECT},  {"Fp", VERDICT_DEFECT}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        auditor a = {.mem = support_arena()};
        for (const char *p = CASES[i].said; *p; p++) {
            audit_outcome o = *p == 'p'                ? AUDIT_PASS
                              : *p == 'F' || *p == 'f' ? AUDIT_FAIL
                                                       : AUDIT_CANNOT_TELL;
            finding *f = audit_say(&a, R_CARD, "x", o, "x", 0, "x");
            if (*p == 'f') f->weight = WEIGHT_NOTE;
            if (*p == 'C') f->weight = WEIGHT_MAJOR;
        }
        cr_expect_eq(closed(&a).verdict, CASES[i].want, "\"%s\"", CASES[i].said);
    }
}

/* What a printed figure allows, against what its parts give. */
Test(rules, printed_figures_follow_or_do_not) {
    static const struct {
        double value;
        const char *unit, *print;
        double v, lo, hi; /* in `unit` */
        bool follows;
        audit_weight weight;
    } CASES[] = {
        {1.86, "x", "1.86x", 1.8594, 1.8594, 1.8594, true, WEIGHT_NOTE},
        {1.86, "x", "1.86x", 1.88, 1.865, 1.9, true, WEIGHT_NOTE}, /* the parts' digits reach it */
        {1.86, "x", "1.86x", 1.867, 1.867, 1.868, false, WEIGHT_NOTE}, /* cut */
        {1.86, "x", "1.86x", 1.88, 1.88, 1.88, false, WEIGHT_MAJOR},
        {1.86, "x", "1.86x", 1.85, 1.85, 1.854, false, WEIGHT_MAJOR}, /* below: no cut */
        {12.6, "ms", "12.6 ms", 12.64, 12.64, 12.64, true, WEIGHT_NOTE},
        {100, "tok/s", ">100", 140, 140, 140, true, WEIGHT_NOTE},
        {100, "tok/s", ">100", 90, 90, 90, false, WEIGHT_MAJOR},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        auditor a = {.mem = support_arena()};
        const unit *u = unit_find(CASES[i].unit);
        quantity q = quantity_of(CASES[i].value, u, CASES[i].print);
        bool ok =
            audit_follows(&a, R_RATIO, "ratio", "speedup", &q, CASES[i].v * u->scale,
                          CASES[i].lo * u->scale, CASES[i].hi * u->scale, ORIGIN_PRINTED, "a / b");
        const finding *f = &a.list[0];
        cr_assert_eq(a.n, 1);
        cr_expect_eq(ok, CASES[i].follows, "case %zu: %s", i, f->why);
        cr_expect_eq(f->outcome, ok ? AUDIT_PASS : AUDIT_FAIL, "case %zu", i);
        cr_expect_eq(f->weight, CASES[i].weight, "case %zu: %s", i, f->why);
        bool cut = !ok && CASES[i].weight == WEIGHT_NOTE;
        cr_expect_eq(strstr(f->why, "cut, not rounded") != NULL, cut, "case %zu", i);
        cr_expect(f->has_expected && f->has_found);
        cr_expect_float_eq(f->expected, CASES[i].v, 1e-9, "case %zu", i);
        cr_expect_float_eq(f->found, CASES[i].value, 1e-9, "case %zu", i);
        cr_expect_str_eq(f->unit, CASES[i].unit);
    }
}

Test(rules, a_full_memory_is_an_error_and_no_silence) {
    arena *small = arena_new(3000);
    auditor a = {.mem = small};
    for (int i = 0; i < 100; i++)
        audit_numbers(audit_say(&a, R_CARD, "x", AUDIT_FAIL, "about", 0, "why"), 1, 2, "s");
    cr_assert(a.full);
    err e = {0};
    audit out = {.id = "c"};
    cr_assert_eq(audit_close(&a, &out, &e), E_LIMIT);
    arena_free(small);
}

/* ---- projections ---- */

/* Every arm by every rule, what no single run decides once. */
Test(rules, projection_as_audit) {
    const projection *p = support_project("scenarios/published/head_to_head_4k.json", NULL, 0);
    audit a;
    err e = {0};
    cr_assert_eq(audit_projection(p, support_arena(), &a, &e), OK);
    cr_expect_str_eq(a.kind, "projection");
    cr_expect_str_eq(a.id, p->scenario->id);
    cr_expect_eq(a.verdict, VERDICT_DEFECT, "12 ms for 128 tokens is below one pass");
    size_t want[3] = {0}, got[3] = {a.passes_n}, declared = 0, said = 0;
    for (size_t k = 0; k < p->arms_n; k++) {
        rule_result r[RULES_N];
        invariants_check_arm(p, k, r);
        for (size_t i = 0; i < RULES_N; i++) {
            bool open = r[i].outcome == RULE_CANNOT_TELL, holds = r[i].outcome == RULE_HOLDS;
            if (r[i].outcome == RULE_NEEDS_MORE_RUNS && k > 0) continue;
            open |= r[i].outcome == RULE_NEEDS_MORE_RUNS;
            declared += r[i].outcome == RULE_BROKEN_DECLARED;
            want[holds ? AUDIT_PASS : open ? AUDIT_CANNOT_TELL : AUDIT_FAIL]++;
        }
    }
    for (size_t i = 0; i < a.findings_n; i++) {
        const finding *f = &a.findings[i];
        got[f->outcome]++;
        said += strstr(f->why, "by a declared assumption") != NULL;
        if (f->outcome == AUDIT_FAIL) cr_expect_eq(f->weight, WEIGHT_MAJOR, "%s", f->why);
        bool several = f->rule == &RULES[R_MONO] || f->rule == &RULES[R_DETERMINISM];
        cr_expect_eq(f->weight == WEIGHT_NOTE, several, "%s", f->rule->id);
    }
    for (size_t o = 0; o < 3; o++)
        cr_expect_eq(got[o], want[o], "%s: %zu, not %zu", AUDIT_OUTCOME_NAMES[o], got[o], want[o]);
    cr_expect_eq(said, declared);
    cr_expect_gt(declared, 0);
    p = support_project("scenarios/llama_server_h200.json", NULL, 0);
    cr_assert_eq(audit_projection(p, support_arena(), &a, &e), OK);
    cr_expect_eq(a.verdict, VERDICT_SOUND, "a projection from witnessed rates breaks nothing");
}

/* ---- I-TOKENS: the counts are those of the work that was priced ---- */

static outcome tokens_rule(const projection *p, const arm_result *of, sim_result sim,
                           const char **why) {
    static rule_result r[RULES_N];
    arm_result arms[1] = {*of};
    projection q = *p;
    arms[0].sim = sim;
    q.arms = arms;
    q.arms_n = 1;
    q.baseline = 0;
    invariants_check_arm(&q, 0, r);
    for (size_t i = 0; i < RULES_N; i++)
        if (r[i].rule == &RULES[R_TOKENS]) {
            *why = r[i].why;
            return r[i].outcome;
        }
    cr_assert_fail("no I-TOKENS");
    return RULE_BROKEN;
}

/* K agents, H turns: the first computes prefix and delta, a warm turn its delta and the last token
 * of the turn before. The warm-up computes the prefix once, for the first agent that finds it. */
Test(rules, tokens_of_a_warm_up) {
    static const struct {
        const char *set;
        int64_t evals;
    } WARM[] = {{"arms.restored.warm=none", 4},
                {"arms.restored.warm=first_slot", 4},
                {"arms.restored.warm=restored", 1}};
    for (size_t i = 0; i < sizeof WARM / sizeof *WARM; i++) {
        const projection *p = support_project("scenarios/llama_server_h200.json", &WARM[i].set, 1);
        const workload *w = &p->scenario->work;
        const arm_result *of = support_arm(p, "restored");
        const sim_result *sim = &of->sim;
        const char *why = NULL;
        int64_t in = w->turn_delta_in_tok,
                computed = WARM[i].evals * w->P + w->K * in + w->K * (w->H - 1) * (in + 1);
        cr_expect_eq(sim->computed_tok, computed, "%s: %lld", WARM[i].set,
                     (long long)sim->computed_tok);
        cr_expect_eq(sim->reused_tok, workload_presented_tok(w) - computed);
        cr_expect_eq(sim->reused_cross_tok, (w->K - WARM[i].evals) * w->P);
        cr_expect_eq(tokens_rule(p, of, *sim, &why), RULE_HOLDS, "%s", why);
        sim_result less = *sim; /* a prefix whose time is there and whose tokens are not */
        less.computed_tok -= w->P;
        less.reused_tok += w->P;
        cr_expect_eq(tokens_rule(p, of, less, &why), RULE_BROKEN, "%s", WARM[i].set);
        cr_expect(strstr(why, "the device prefilled"), "%s", why);
        sim_result again = *sim;
        again.prefix_evals++;
        cr_expect_eq(tokens_rule(p, of, again, &why), RULE_BROKEN, "%s", WARM[i].set);
    }
}

/* ---- I-MEMORY: what does not fit is a finding, of the projection and of its audit ---- */

Test(rules, memory_that_is_not_there) {
    static const char *const SETS[] = {"workload.K=4", "workload.K=100"};
    for (size_t i = 0; i < 2; i++) {
        const projection *p = support_project("scenarios/cache_ab.json", &SETS[i], 1);
        rule_result r[RULES_N];
        invariants_check(p, r);
        for (size_t k = 0; k < RULES_N; k++) {
            if (r[k].rule != &RULES[R_MEMORY]) continue;
            cr_expect_eq(r[k].outcome, i ? RULE_BROKEN : RULE_HOLDS, "%s: %s", SETS[i], r[k].why);
            cr_expect_eq(strstr(r[k].why, "the scenario's budget is 27648.0 MiB") != NULL, i == 1,
                         "%s", r[k].why);
            cr_expect_str_eq(r[k].arm, i ? "cache-off" : p->arms[0].arm->name);
        }
    }
}
