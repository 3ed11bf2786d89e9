/* The rules of the audit, as one table (design model, section 6). Projections, claims and rate
 * cards are all judged by them; invariants.c, audit/ hold the checks. */
#ifndef RATECAST_RULES_H
#define RATECAST_RULES_H

typedef enum rule_kind { RULE_ENGINE, RULE_PLAUSIBILITY } rule_kind;

typedef enum rule_id {
    R_WALL,
    R_EVIDENCE,
    R_QUEUE,
    R_TOKENS,
    R_POPULATION,
    R_ROOFLINE,
    R_FLOOR,
    R_CARD,
    R_RATIO,
    R_CONSISTENCY,
    R_UNITS,
    R_MEMORY,
    R_CONDITIONS,
    R_MONO,
    R_DETERMINISM,
    R_N
} rule_id;

typedef struct rule {
    const char *id;   /* "I-WALL" */
    const char *word; /* "wall": what findings are filed under */
    rule_kind kind;
    const char *says;    /* the rule, one sentence */
    const char *needs;   /* what has to be known */
    const char *decides; /* when it passes, fails, cannot tell */
    const char *source;
} rule;

extern const rule RULES[R_N]; /* by rule_id */

#endif
