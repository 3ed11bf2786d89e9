/* What tests of whole projections share: load a scenario of the repository with --set texts, run
 * it, or fail loudly. */
#ifndef RATECAST_TESTS_SUPPORT_H
#define RATECAST_TESTS_SUPPORT_H

#include "project.h"

#include <criterion/criterion.h>
#include <gsl/gsl_errno.h>

/* One for a test process: nothing is freed, the process ends. */
static inline arena *support_arena(void) {
    static arena *mem;
    gsl_set_error_handler_off();
    if (!mem) mem = arena_new((size_t)2 << 30);
    cr_assert_not_null(mem);
    return mem;
}

/* Scanned once for the process. */
static inline card_library *support_cards(void) {
    static card_library lib = {.dirs = {RATECAST_REPO "/rates"}, .n = 1};
    return &lib;
}

/* For tests that want a library of their own. */
static inline card_library support_library(void) {
    return (card_library){.dirs = {RATECAST_REPO "/rates"}, .n = 1};
}

static inline const projection *support_run(const scenario *s) {
    err e = {0};
    const projection *p = NULL;
    cr_assert_eq(project_run(s, NULL, 0, support_arena(), &p, &e), OK, "%s: %s", e.where, e.what);
    return p;
}

/* `path` relative to the repository. */
static inline const projection *support_project(const char *path, const char *const *sets,
                                                size_t sets_n) {
    err e = {0};
    const scenario *s = NULL;
    arena *mem = support_arena();
    const char *full = arena_printf(mem, "%s/%s", RATECAST_REPO, path);
    cr_assert_eq(scenario_load(full, support_cards(), sets, sets_n, mem, &s, &e), OK, "%s: %s",
                 e.where, e.what);
    return support_run(s);
}

/* A scenario given as JSON text. */
static inline err_code support_parse(const char *json, const scenario **s, err *e) {
    file_bytes f = {.name = "<test>", .s = json, .len = strlen(json)};
    return scenario_parse(&f, support_cards(), NULL, 0, support_arena(), s, e);
}

static inline const projection *support_project_text(const char *json) {
    err e = {0};
    const scenario *s = NULL;
    cr_assert_eq(support_parse(json, &s, &e), OK, "%s: %s", e.where, e.what);
    return support_run(s);
}

static inline const arm_result *support_arm(const projection *p, const char *name) {
    for (size_t i = 0; i < p->arms_n; i++)
        if (strcmp(p->arms[i].arm->name, name) == 0) return &p->arms[i];
    cr_assert_fail("no arm %s", name);
    return NULL;
}

#endif
