/* The audit: a claim, a rate card or a projection, taken apart by the rules of rules.h.
 *
 * A check is a function that looks at one kind of input and says what it found: every statement
 * names its rule, its outcome, the numbers compared and the origins they rest on. No check knows a
 * document.
 */
#ifndef RATECAST_AUDIT_H
#define RATECAST_AUDIT_H

#include "base/arena.h"
#include "base/err.h"
#include "claim.h"
#include "hardware.h"
#include "project.h"
#include "rules.h"

#include <stddef.h>

typedef enum audit_outcome { AUDIT_PASS, AUDIT_CANNOT_TELL, AUDIT_FAIL } audit_outcome;
extern const char *const AUDIT_OUTCOME_NAMES[]; /* "pass", "cannot_tell", "fail" */

/* How much hangs on a finding; the report lists the heaviest first. */
typedef enum audit_weight {
    WEIGHT_NOTE, /* a last digit that was cut, a gap in what is stated */
    WEIGHT_MINOR,
    WEIGHT_MAJOR
} audit_weight;

typedef struct finding {
    const rule *rule;
    const char *check; /* "kv-bytes": which check of the rule */
    audit_outcome outcome;
    audit_weight weight;
    const char *about; /* figure, rate, term or point that it is about */
    bool has_expected, has_found;
    double expected, found; /* in `unit` */
    const char *unit;
    unsigned origins; /* bits of `origin`; 0: no claim (card, projection) */
    const char *why;  /* one sentence with the numbers */
} finding;

typedef enum verdict { VERDICT_SOUND, VERDICT_CANNOT_TELL, VERDICT_DEFECT } verdict;
extern const char *const VERDICT_NAMES[];

typedef struct audit {
    const char *kind; /* "claim", "card", "projection" */
    const char *id, *title;
    verdict verdict;
    const finding *findings; /* fail and cannot_tell, heaviest first */
    size_t findings_n;
    const finding *passes;
    size_t passes_n;
    /* figures of a claim that no statement rests on, and how many it has (audit_not_compared) */
    const claim_figure *const *not_compared;
    size_t not_compared_n, figures_n;
} audit;

/* ---- what checks use ---- */

typedef struct auditor {
    arena *mem;
    const claim *claim; /* NULL: a card or a projection is audited */
    const hardware_catalogue *chips;
    finding *list;
    size_t n, cap;
    bool full; /* memory budget spent: findings are missing */
    /* by arm of the claim, worked out once: checks ask for them in loops */
    struct implied_memo *implied;  /* facts.c */
    struct account_memo *accounts; /* account.c */
} auditor;

/* Appends a statement and returns it to be filled further, before the next one is said; never NULL.
 * Its weight is MAJOR for a fail, MINOR for cannot_tell and NOTE for a pass, unless the caller sets
 * another. `about` and the text are copied, `check` is not. */
finding *audit_say(auditor *a, rule_id rule, const char *check, audit_outcome outcome,
                   const char *about, unsigned origins, const char *why, ...) PRINTF_LIKE(7, 8);
/* The numbers compared, in `unit`; one that is not finite is left out. */
void audit_numbers(finding *f, double expected, double found, const char *unit);

/* Adds to the sentence of what was said last. */
void audit_add(auditor *a, const char *more);

/* Compares the printed q with what its parts allow, [lo, hi] around v (base units): pass, fail, or
 * fail as a cut digit (a note). Returns true when it passes. `how` says how v comes about: "5,120
 * tokens / 393.8 s". */
bool audit_follows(auditor *a, rule_id rule, const char *check, const char *about,
                   const quantity *q, double v, double lo, double hi, unsigned origins,
                   const char *how);

/* Sorts what was said into findings (heaviest first, else in the order said) and passes, and gives
 * the verdict. DEFECT: a fail. CANNOT_TELL: nothing passes, or a cannot_tell
 * of weight MAJOR. Else SOUND. The caller has set kind, id and title. E_LIMIT: statements are
 * missing. */
MUST_USE err_code audit_close(const auditor *a, audit *out, err *e);

/* ---- checks, by file; each looks at the whole claim ---- */
void check_ratios(auditor *a); /* check_arithmetic.c */
void check_identities(auditor *a);
void check_formulas(auditor *a);
void check_tokens(auditor *a);      /* check_tokens.c */
void check_memory(auditor *a);      /* check_memory.c */
void check_ceilings(auditor *a);    /* check_physics.c */
void check_limits(auditor *a);      /* check_limits.c */
void check_populations(auditor *a); /* check_population.c */
void check_accounts(auditor *a);    /* check_account.c */
void check_rates(auditor *a);       /* check_rates.c */
void check_statements(auditor *a);  /* check_consistency.c */

/* E_LIMIT: does not fit the memory budget. */
MUST_USE err_code audit_claim(const claim *c, const hardware_catalogue *chips, arena *mem,
                              audit *out, err *e);
/* Fills not_compared of the audit `a` of claim `c`: audits it twice more for every figure. */
MUST_USE err_code audit_not_compared(const claim *c, const hardware_catalogue *chips, arena *mem,
                                     audit *a, err *e);
MUST_USE err_code audit_card(const card *c, const hardware_catalogue *chips, arena *mem, audit *out,
                             err *e);
/* The outcomes of invariants_check as an audit. */
MUST_USE err_code audit_projection(const projection *p, arena *mem, audit *out, err *e);

#endif
