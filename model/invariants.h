/* The rules of rules.h that every projection runs through.
 *
 * Engine rules: broken, the projection is a bug or an illegal input (exit 1). Plausibility rules:
 * broken by a declared assumption they are a finding, printed; broken by the card itself they say
 * that the card is off, or that an arm does not fit the memory.
 */
#ifndef RATECAST_INVARIANTS_H
#define RATECAST_INVARIANTS_H

#include "project.h"
#include "rules.h"

#include <stddef.h>

typedef enum outcome {
    RULE_HOLDS,
    RULE_CANNOT_TELL,     /* something it needs is not known */
    RULE_NEEDS_MORE_RUNS, /* not decidable from one run: the test suite decides it */
    RULE_BROKEN_DECLARED, /* by an assumption that says so itself */
    RULE_BROKEN
} outcome;

typedef struct rule_result {
    const rule *rule;
    outcome outcome;
    const char *arm;  /* where the worst outcome was seen; NULL: no single arm */
    char why[400];    /* one sentence with the numbers compared */
    const char *unit; /* of these two; NULL: the rule compares no single number */
    double expected, found;
} rule_result;

enum { RULES_N = 11 }; /* the others judge claims and cards only */

/* One result a rule, in the order of rules.h; the worst over the arms. */
void invariants_check(const projection *p, rule_result out[RULES_N]);
/* The same of one arm of the projection. */
void invariants_check_arm(const projection *p, size_t arm_at, rule_result out[RULES_N]);
/* "9 checked: 7 hold, 2 broken by declared assumptions (I-ROOFLINE, I-FLOOR); 2 not decidable from
 * one run (...)" */
void invariants_summary(const rule_result r[RULES_N], char *out, size_t cap);

#endif
