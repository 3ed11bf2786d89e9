#include "audit.h"
#include "invariants.h"

static void say(auditor *a, const rule_result *r) {
    static const audit_outcome OUTCOMES[] = {[RULE_HOLDS] = AUDIT_PASS,
                                             [RULE_CANNOT_TELL] = AUDIT_CANNOT_TELL,
                                             [RULE_NEEDS_MORE_RUNS] = AUDIT_CANNOT_TELL,
                                             [RULE_BROKEN_DECLARED] = AUDIT_FAIL,
                                             [RULE_BROKEN] = AUDIT_FAIL};
    const char *by = r->outcome == RULE_BROKEN_DECLARED ? " (by a declared assumption)" : "";
    finding *f = audit_say(a, (rule_id)(r->rule - RULES), r->rule->word, OUTCOMES[r->outcome],
                           r->arm ? r->arm : "", 0, "%s%s", r->why, by);
    if (r->outcome == RULE_NEEDS_MORE_RUNS) f->weight = WEIGHT_NOTE;
}

err_code audit_projection(const projection *p, arena *mem, audit *out, err *e) {
    rule_result worst[RULES_N], of_arm[RULES_N];
    auditor a = {.mem = mem};
    *out = (audit){.kind = "projection", .id = p->scenario->id, .title = p->scenario->title};
    invariants_check(p, worst);
    for (size_t i = 0; i < RULES_N; i++)
        if (worst[i].outcome == RULE_HOLDS || worst[i].outcome == RULE_NEEDS_MORE_RUNS)
            say(&a, &worst[i]);
    for (size_t k = 0; k < p->arms_n; k++) {
        invariants_check_arm(p, k, of_arm);
        for (size_t i = 0; i < RULES_N; i++) /* what does not hold, of every arm */
            if (of_arm[i].outcome != RULE_HOLDS && of_arm[i].outcome != RULE_NEEDS_MORE_RUNS)
                say(&a, &of_arm[i]);
    }
    return audit_close(&a, out, e);
}
