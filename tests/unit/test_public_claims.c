/* Published claims with what an auditor has to conclude, worked out by hand in each file: the
 * verdict, every finding that is expected, every check that has to hold, and no other alarm. */
#include "hardware_support.h"

#include "audit/audit.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLAIMS RATECAST_REPO "/tests/unit/claims"

/* Is there a statement of this rule and outcome in the list? */
static bool said(const finding *list, size_t n, const char *word, const char *outcome) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].rule->word, word) == 0 &&
            strcmp(AUDIT_OUTCOME_NAMES[list[i].outcome], outcome) == 0)
            return true;
    return false;
}

static const char *text(const cJSON *item, const char *key) {
    const cJSON *m = cJSON_GetObjectItem(item, key);
    cr_assert(cJSON_IsString(m), "%s", key);
    return m->valuestring;
}

static bool expected_fail(const cJSON *findings, const finding *f) {
    for (const cJSON *x = findings->child; x; x = x->next)
        if (strcmp(text(x, "outcome"), "fail") == 0 && strcmp(text(x, "rule"), f->rule->word) == 0)
            return true;
    return false;
}

static void judge(const char *name) {
    err e = {0};
    file_bytes f;
    const claim *c = NULL;
    audit got;
    arena *mem = support_arena();
    const char *path = arena_printf(mem, "%s/%s", CLAIMS, name);
    cr_assert_eq(file_read(path, mem, &f, &e), OK, "%s: %s", e.where, e.what);
    cJSON *root = cJSON_Parse(f.s);
    const cJSON *want = cJSON_GetObjectItem(root, "expected");
    const cJSON *findings = cJSON_GetObjectItem(want, "findings"),
                *passes = cJSON_GetObjectItem(want, "passes");
    cr_assert(cJSON_IsArray(findings) && cJSON_IsArray(passes), "%s", name);
    cr_assert_eq(claim_parse(&f, 0, mem, &c, &e), OK, "%s: %s", e.where, e.what);
    cr_assert_eq(audit_claim(c, support_chips(), mem, &got, &e), OK, "%s: %s", e.where, e.what);
    cr_expect_str_eq(VERDICT_NAMES[got.verdict], text(want, "verdict"), "%s", name);
    for (const cJSON *x = findings->child; x; x = x->next)
        cr_expect(said(got.findings, got.findings_n, text(x, "rule"), text(x, "outcome")),
                  "%s: no finding %s %s", name, text(x, "rule"), text(x, "outcome"));
    for (const cJSON *x = passes->child; x; x = x->next)
        cr_expect(said(got.passes, got.passes_n, text(x, "rule"), "pass"), "%s: no pass of %s",
                  name, text(x, "rule"));
    for (size_t i = 0; i < got.findings_n; i++)
        cr_expect(got.findings[i].outcome != AUDIT_FAIL ||
                      expected_fail(findings, &got.findings[i]),
                  "%s: false alarm: %s: %s", name, got.findings[i].rule->word, got.findings[i].why);
    cJSON_Delete(root);
}

Test(public_claims, each_as_worked_out_by_hand) {
    DIR *d = opendir(CLAIMS);
    size_t n = 0;
    cr_assert_not_null(d);
    for (struct dirent *x; (x = readdir(d));) {
        const char *dot = strrchr(x->d_name, '.');
        if (!dot || strcmp(dot, ".json") != 0) continue;
        judge(x->d_name);
        n++;
    }
    closedir(d);
    cr_assert_geq(n, 25);
}
