#include "audit/audit.h"

typedef void check_fn(auditor *a);

/* In the order in which a reader looks: arithmetic first, physics and populations next, then where
 * the seconds come from. */
static check_fn *const CHECKS[] = {
    check_ratios, check_identities,  check_formulas, check_tokens, check_memory,    check_ceilings,
    check_limits, check_populations, check_accounts, check_rates,  check_statements};

err_code audit_claim(const claim *c, const hardware_catalogue *chips, arena *mem, audit *out,
                     err *e) {
    auditor a = {.mem = mem, .claim = c, .chips = chips};
    *out = (audit){.kind = "claim", .id = c->id, .title = c->title};
    for (size_t i = 0; i < sizeof CHECKS / sizeof *CHECKS; i++) CHECKS[i](&a);
    return audit_close(&a, out, e);
}
