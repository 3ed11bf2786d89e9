#include "report_audit.h"

#include "base/jsonw.h"
#include "table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    origin bit;
    const char *word;
} ORIGINS[] = {
    {ORIGIN_PRINTED, "printed"}, {ORIGIN_RECOVERED, "recovered"}, {ORIGIN_EXTERNAL, "external"}};

static const char *origins_text(unsigned origins, arena *mem) {
    const char *s = "";
    for (size_t i = 0; i < sizeof ORIGINS / sizeof *ORIGINS; i++)
        if (origins & (unsigned)ORIGINS[i].bit) {
            const char *more = arena_printf(mem, "%s%s%s", s, s[0] ? ", " : "", ORIGINS[i].word);
            if (more) s = more;
        }
    return s;
}

static size_t count(const audit *a, audit_outcome o) {
    size_t n = 0;
    for (size_t i = 0; i < a->findings_n; i++) n += a->findings[i].outcome == o;
    return n;
}

/* Six digits, and never an exponent where people would not write one. */
static const char *number(double v, arena *mem) {
    const char *s = fabs(v) >= 1e6 && fabs(v) < 1e15 ? arena_printf(mem, "%.0f", v)
                                                     : arena_printf(mem, "%.6g", v);
    return s ? s : "";
}

static void add_verdict(const audit *a, bool markdown, buf *out) {
    static const char *const SAYS[] = {"SOUND", "CANNOT TELL", "DEFECT"};
    size_t fails = count(a, AUDIT_FAIL), open = count(a, AUDIT_CANNOT_TELL);
    buf_addf(out, markdown ? "**%s** · %s `%s`: %s\n\n" : "%s  %s %s: %s\n\n", SAYS[a->verdict],
             a->kind, a->id, a->title);
    buf_addf(out, "%zu checks: %zu hold, %zu do not, %zu cannot be told from what is stated.\n",
             a->passes_n + a->findings_n, a->passes_n, fails, open);
    if (a->not_compared_n > 0)
        buf_addf(out, "%zu of %zu figures %s in none of them.\n", a->not_compared_n, a->figures_n,
                 a->not_compared_n == 1 ? "is" : "are");
}

static void add_finding(const finding *f, size_t n, bool markdown, arena *mem, buf *out) {
    const char *word = f->outcome == AUDIT_FAIL ? "FAIL" : "CANNOT TELL";
    const char *rests = origins_text(f->origins, mem);
    buf_addf(out, markdown ? "%zu. **%s** %s (%s)%s%s" : "%2zu. %s  %s (%s)%s%s", n, word,
             f->rule->id, f->check, f->about[0] ? ", " : "", f->about);
    if (f->weight == WEIGHT_NOTE) buf_add(out, ", a note");
    if (f->has_expected && f->has_found)
        buf_addf(out, ": expected %s, found %s%s%s", number(f->expected, mem),
                 number(f->found, mem), f->unit[0] ? " " : "", f->unit);
    buf_addf(out, "\n    %s.\n", f->why);
    if (rests[0]) buf_addf(out, "    Rests on: %s.\n", rests);
}

static void add_passes(const audit *a, buf *out) {
    if (a->passes_n == 0) return;
    buf_add(out, "\n");
    buf_addf(out, "What holds (%zu)\n\n", a->passes_n);
    for (size_t i = 0; i < a->passes_n; i++) {
        const finding *f = &a->passes[i];
        buf_addf(out, "- %s%s%s: %s\n", f->rule->id, f->about[0] ? ", " : "", f->about, f->why);
    }
}

/* Figures that no check used: a verdict says nothing about them. */
static void add_not_compared(const audit *a, arena *mem, buf *out) {
    if (a->not_compared_n == 0) return;
    buf_addf(out, "\nNot compared with anything (%zu)\n\n", a->not_compared_n);
    for (size_t i = 0; i < a->not_compared_n; i++) {
        const claim_figure *f = a->not_compared[i];
        buf_addf(out, "- %s%s%s%s: %s %s\n", f->name, f->arm ? " (" : "", f->arm ? f->arm : "",
                 f->arm ? ")" : "", number(f->q.v / f->q.u->scale, mem), f->q.u->name);
    }
}

/* Rules that found nothing to decide: said, so that silence is not taken for a pass. */
static void add_silent(const audit *a, buf *out) {
    const char *sep = "\nNothing to decide for: ";
    for (size_t r = 0; r < R_N; r++) {
        bool said = false;
        for (size_t i = 0; i < a->findings_n; i++) said |= a->findings[i].rule == &RULES[r];
        for (size_t i = 0; i < a->passes_n; i++) said |= a->passes[i].rule == &RULES[r];
        if (said) continue;
        buf_addf(out, "%s%s", sep, RULES[r].id);
        sep = ", ";
    }
    if (sep[0] == ',') buf_add(out, "\n");
}

void report_audit_text(const audit *a, bool markdown, arena *mem, buf *out) {
    add_verdict(a, markdown, out);
    if (a->findings_n > 0) buf_add(out, "\nFindings, the heaviest first\n\n");
    for (size_t i = 0; i < a->findings_n; i++)
        add_finding(&a->findings[i], i + 1, markdown, mem, out);
    add_passes(a, out);
    add_not_compared(a, mem, out);
    add_silent(a, out);
}

/* ---- JSON ---- */

static void add_json(const finding *f, cJSON *list) {
    static const char *const WEIGHTS[] = {"note", "minor", "major"};
    cJSON *o = jw_item(list);
    jw_str(o, "rule", f->rule->word);
    jw_str(o, "id", f->rule->id);
    jw_str(o, "check", f->check);
    jw_str(o, "outcome", AUDIT_OUTCOME_NAMES[f->outcome]);
    jw_str(o, "weight", WEIGHTS[f->weight]);
    jw_str(o, "about", f->about);
    if (f->has_expected && isfinite(f->expected))
        jw_num(o, "expected", f->expected);
    else
        cJSON_AddNullToObject(o, "expected");
    if (f->has_found && isfinite(f->found))
        jw_num(o, "found", f->found);
    else
        cJSON_AddNullToObject(o, "found");
    jw_str(o, "unit", f->unit);
    cJSON *list_of = jw_arr(o, "origins");
    for (size_t i = 0; i < sizeof ORIGINS / sizeof *ORIGINS; i++)
        if (f->origins & (unsigned)ORIGINS[i].bit)
            cJSON_AddItemToArray(list_of, cJSON_CreateString(ORIGINS[i].word));
    jw_str(o, "why", f->why);
}

void report_audit_lists(const audit *a, cJSON *root) {
    cJSON *findings = jw_arr(root, "findings"), *passes = jw_arr(root, "passes");
    for (size_t i = 0; i < a->findings_n; i++) add_json(&a->findings[i], findings);
    for (size_t i = 0; i < a->passes_n; i++) add_json(&a->passes[i], passes);
    if (strcmp(a->kind, "claim") != 0) return; /* cards and scenarios print no figures */
    cJSON *rest = jw_arr(root, "not_compared");
    for (size_t i = 0; i < a->not_compared_n; i++) {
        const claim_figure *f = a->not_compared[i];
        cJSON *o = jw_item(rest);
        jw_str(o, "figure", f->name);
        if (f->arm) jw_str(o, "arm", f->arm);
        jw_num(o, "value", f->q.v / f->q.u->scale);
        jw_str(o, "unit", f->q.u->name);
    }
}

void report_audit_json(const audit *a, const char *sha256, buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", "ratecast.audit/1");
    jw_str(root, "kind", a->kind);
    jw_str(root, "id", a->id);
    jw_str(root, "title", a->title);
    jw_str(root, "input_sha256", sha256);
    jw_str(root, "verdict", VERDICT_NAMES[a->verdict]);
    report_audit_lists(a, root);
    jw_print(root, out);
    cJSON_Delete(root);
}

void report_rules(arena *mem, buf *out) {
    (void)mem;
    for (size_t i = 0; i < R_N; i++) {
        const rule *r = &RULES[i];
        buf_addf(out, "%s (%s, %s)\n    %s\n    needs: %s\n    decides: %s\n    source: %s\n",
                 r->id, r->word, r->kind == RULE_ENGINE ? "engine" : "plausibility", r->says,
                 r->needs, r->decides, r->source);
    }
}
