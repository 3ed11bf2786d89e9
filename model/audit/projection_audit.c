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
                           r->arm ? r->arm : "the projection", 0, "%s%s", r->why, by);
    if (r->unit) audit_numbers(f, r->expected, r->found, r->unit);
    if (r->outcome == RULE_NEEDS_MORE_RUNS) f->weight = WEIGHT_NOTE;
}

err_code audit_projection(const projection *p, arena *mem, audit *out, err *e) {
    rule_result results[RULES_N];
    auditor a = {.mem = mem};
    *out = (audit){.kind = "projection", .id = p->scenario->id, .title = p->scenario->title};
    for (size_t arm_at = 0; arm_at < p->arms_n; arm_at++) {
        invariants_check_arm(p, arm_at, results);
        for (size_t i = 0; i < RULES_N; i++)
            if (results[i].arm || arm_at == 0) say(&a, &results[i]); /* what no run decides: once */
    }
    return audit_close(&a, out, e);
}
