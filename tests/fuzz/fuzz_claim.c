/* Any bytes as a claim: refused with a message, or loaded and audited. What an audit says is whole:
 * finite numbers or none, a sentence, a verdict that follows from the outcomes, reports that are
 * text and JSON; and nothing rests on items that were left out. */
#include "fuzz.h"

#include "audit/audit.h"
#include "base/buf.h"
#include "claim.h"
#include "hardware.h"
#include "report_audit.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* Does the text hold the word, in any case? */
static bool has(const char *text, const char *word) {
    for (; *text; text++)
        if (strncasecmp(text, word, strlen(word)) == 0) return true;
    return false;
}

static void check_finding(const finding *f, unsigned without, bool wordless) {
    EXPECT(f->rule >= RULES && f->rule < RULES + R_N && f->check[0]);
    EXPECT(f->why[0] && f->about && f->unit);
    EXPECT(!f->has_expected || isfinite(f->expected));
    EXPECT(!f->has_found || isfinite(f->found));
    EXPECT((f->origins & without & (unsigned)ORIGIN_RECOVERED) == 0);
    /* no number is printed as inf or nan, unless the claim has the letters */
    EXPECT(!wordless || !(has(f->why, "nan") || has(f->why, "inf")));
}

static void check_audit(const audit *a, unsigned without, bool wordless) {
    size_t fails = 0, open = 0;
    for (size_t i = 0; i < a->findings_n; i++) {
        const finding *f = &a->findings[i];
        check_finding(f, without, wordless);
        EXPECT(f->outcome == AUDIT_FAIL || f->outcome == AUDIT_CANNOT_TELL);
        EXPECT(i == 0 || a->findings[i - 1].weight >= f->weight);
        fails += f->outcome == AUDIT_FAIL;
        open += f->outcome == AUDIT_CANNOT_TELL && f->weight == WEIGHT_MAJOR;
    }
    for (size_t i = 0; i < a->passes_n; i++) {
        check_finding(&a->passes[i], without, wordless);
        EXPECT(a->passes[i].outcome == AUDIT_PASS);
    }
    EXPECT((a->verdict == VERDICT_DEFECT) == (fails > 0));
    EXPECT((a->verdict == VERDICT_SOUND) == (fails == 0 && open == 0 && a->passes_n > 0));
}

static void check_reports(const audit *a, arena *mem) {
    buf b;
    buf_init(&b);
    report_audit_text(a, false, mem, &b);
    EXPECT(b.len > 0);
    buf_reset(&b);
    report_audit_json(a, "", &b);
    cJSON *root = cJSON_Parse(b.s);
    EXPECT(cJSON_IsObject(root));
    cJSON_Delete(root);
    buf_done(&b);
}

static void audit_one(const file_bytes *f, unsigned without) {
    arena *mem = arena_new((size_t)256 << 20);
    const claim *c = NULL;
    err e = {0};
    err_code code = claim_parse(f, without, mem, &c, &e);
    EXPECT_ONE_OF(code, c, e);
    if (c) {
        bool wordless = !has(f->s, "nan") && !has(f->s, "inf") && !strchr(f->s, '\\');
        audit a;
        code = audit_claim(c, fuzz_chips(), mem, &a, &e);
        EXPECT(code == OK || (code == E_LIMIT && e.what[0] != '\0'));
        if (code == OK) check_audit(&a, without, wordless);
        if (code == OK && c->figures_n <= 16) { /* audits twice more for each */
            err_code again = audit_not_compared(c, fuzz_chips(), mem, &a, &e);
            EXPECT(again == OK || (again == E_LIMIT && e.what[0] != '\0'));
            EXPECT(a.not_compared_n <= c->figures_n);
        }
        if (code == OK && a.findings_n + a.passes_n < 2000) check_reports(&a, mem);
    }
    arena_free(mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gsl_set_error_handler_off();
    char *text = malloc(size + 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    file_bytes f = {.name = "<fuzz>", .s = text, .len = size};
    audit_one(&f, 0);
    audit_one(&f, ORIGIN_RECOVERED);
    free(text);
    return 0;
}
