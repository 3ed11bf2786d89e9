/* What tests of the audit share: claims from texts and files, their findings by rule and check. */
#ifndef RATECAST_TESTS_AUDIT_SUPPORT_H
#define RATECAST_TESTS_AUDIT_SUPPORT_H

#include "hardware_support.h"

#include "audit/audit.h"
#include "claim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline err_code support_claim_parse(const char *json, unsigned without, const claim **c,
                                           err *e) {
    file_bytes f = {.name = "<test>", .s = json, .len = strlen(json)};
    *e = (err){0};
    return claim_parse(&f, without, support_arena(), c, e);
}

static inline const claim *support_claim(const char *json) {
    err e;
    const claim *c = NULL;
    cr_assert_eq(support_claim_parse(json, 0, &c, &e), OK, "%s: %s\n%s", e.where, e.what, json);
    return c;
}

static inline const audit *support_audit(const claim *c) {
    err e = {0};
    audit *a = ARENA_NEW(support_arena(), audit);
    cr_assert_eq(audit_claim(c, support_chips(), support_arena(), a, &e), OK, "%s: %s", e.where,
                 e.what);
    return a;
}

static inline const audit *support_audit_text(const char *json) {
    return support_audit(support_claim(json));
}

/* `path` as it is, or relative to the repository. */
static inline const audit *support_audit_file(const char *path, unsigned without) {
    err e = {0};
    const claim *c = NULL;
    const char *full =
        path[0] == '/' ? path : arena_printf(support_arena(), "%s/%s", RATECAST_REPO, path);
    cr_assert_eq(claim_load(full, without, support_arena(), &c, &e), OK, "%s: %s", e.where, e.what);
    return support_audit(c);
}

static inline bool support_is(const finding *f, rule_id id, const char *check, const char *about) {
    return f->rule == &RULES[id] && (!check || strcmp(f->check, check) == 0) &&
           (!about || strcmp(f->about, about) == 0);
}

/* The first statement of that outcome, rule, check and subject; check and about may be NULL. */
static inline const finding *support_finding(const audit *a, audit_outcome outcome, rule_id id,
                                             const char *check, const char *about) {
    for (size_t i = 0; i < a->findings_n; i++)
        if (a->findings[i].outcome == outcome && support_is(&a->findings[i], id, check, about))
            return &a->findings[i];
    for (size_t i = 0; i < a->passes_n; i++)
        if (a->passes[i].outcome == outcome && support_is(&a->passes[i], id, check, about))
            return &a->passes[i];
    return NULL;
}

static inline size_t support_fails(const audit *a) {
    size_t n = 0;
    for (size_t i = 0; i < a->findings_n; i++) n += a->findings[i].outcome == AUDIT_FAIL;
    return n;
}

/* All that was found, for the message of a test that fails. */
static inline const char *support_told(const audit *a) {
    const char *all = "";
    for (size_t i = 0; i < a->findings_n; i++) {
        const finding *f = &a->findings[i];
        all = arena_printf(support_arena(), "%s\n%s %s/%s %s: %s", all,
                           AUDIT_OUTCOME_NAMES[f->outcome], f->rule->word, f->check, f->about,
                           f->why);
    }
    return all;
}

/* A path below the shared folder (RATECAST_SHARED, default ../shared beside the repository); NULL,
 * said aloud, when it is not there. */
static inline const char *support_shared(const char *path) {
    const char *root = getenv("RATECAST_SHARED");
    const char *full =
        arena_printf(support_arena(), "%s/%s", root ? root : RATECAST_REPO "/../shared", path);
    if (access(full, R_OK) == 0) return full;
    fprintf(stderr, "SKIPPED: no %s (set RATECAST_SHARED)\n", full);
    return NULL;
}

#endif
