#include "audit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const AUDIT_OUTCOME_NAMES[] = {"pass", "cannot_tell", "fail", NULL};
const char *const VERDICT_NAMES[] = {"sound", "cannot_tell", "defect", NULL};

/* ---- statements ---- */

/* Where statements go for which there is no memory: audit_close refuses the audit then. */
static finding *nowhere(auditor *a) {
    static _Thread_local finding spill;
    a->full = true;
    spill = (finding){.unit = ""};
    return &spill;
}

static finding *append(auditor *a) {
    if (a->full) return nowhere(a);
    if (a->n == a->cap) {
        size_t cap = a->cap ? 2 * a->cap : 32;
        finding *list = ARENA_ARRAY(a->mem, finding, cap);
        if (!list) return nowhere(a);
        if (a->n) memcpy(list, a->list, a->n * sizeof *list);
        a->list = list;
        a->cap = cap;
    }
    return &a->list[a->n++];
}

static audit_weight usual_weight(audit_outcome o) {
    return o == AUDIT_FAIL ? WEIGHT_MAJOR : o == AUDIT_CANNOT_TELL ? WEIGHT_MINOR : WEIGHT_NOTE;
}

finding *audit_say(auditor *a, rule_id id, const char *check, audit_outcome outcome,
                   const char *about, unsigned origins, const char *why, ...) {
    char text[1024];
    if (a->full) return nowhere(a);
    va_list args;
    va_start(args, why);
    vsnprintf(text, sizeof text, why, args);
    va_end(args);
    finding *f = append(a);
    const char *kept_why = arena_strdup(a->mem, text);
    const char *kept_about = arena_strdup(a->mem, about ? about : "");
    if (!kept_why || !kept_about) a->full = true;
    *f = (finding){.rule = &RULES[id],
                   .check = check,
                   .outcome = outcome,
                   .weight = usual_weight(outcome),
                   .about = kept_about ? kept_about : "",
                   .unit = "",
                   .origins = origins,
                   .why = kept_why ? kept_why : ""};
    return f;
}

void audit_numbers(finding *f, double expected, double found, const char *unit_name) {
    f->has_expected = isfinite(expected);
    f->has_found = isfinite(found);
    f->expected = expected;
    f->found = found;
    f->unit = unit_name;
}

void audit_add(auditor *a, const char *more) {
    if (a->full || a->n == 0 || !more[0]) return;
    finding *f = &a->list[a->n - 1];
    const char *s = arena_printf(a->mem, "%s%s", f->why, more);
    if (s)
        f->why = s;
    else
        a->full = true;
}

/* Six digits; whole numbers of any size without an exponent. */
static void plain(double v, char *out, size_t cap) {
    snprintf(out, cap, fabs(v) >= 1e5 && fabs(v) < 1e15 ? "%.0f" : "%.6g", v);
}

/* "12.5" or, where the parts leave something open, "12.45 to 12.55". */
static void say_range(double v, double lo, double hi, char *out, size_t cap) {
    char a[40], b[40];
    plain(lo, a, sizeof a);
    plain(hi, b, sizeof b);
    if (strcmp(a, b) == 0 || !isfinite(lo) || !isfinite(hi))
        plain(v, out, cap);
    else
        snprintf(out, cap, "%s to %s", a, b);
}

bool audit_follows(auditor *a, rule_id id, const char *check, const char *about, const quantity *q,
                   double v, double lo, double hi, unsigned origins, const char *how) {
    const char *name = q->u->name;
    double scale = q->u->scale;
    char range[100];
    say_range(v / scale, lo / scale, hi / scale, range, sizeof range);
    bool ok = quantity_allows(q, lo, hi), cut = !ok && quantity_cut(q, v);
    finding *f = audit_say(a, id, check, ok ? AUDIT_PASS : AUDIT_FAIL, about, origins,
                           "printed %.12g %s, %s is %s%s", q->v / scale, name, how, range,
                           cut ? ": cut, not rounded" : "");
    audit_numbers(f, v / scale, q->v / scale, name);
    if (cut) f->weight = WEIGHT_NOTE;
    return ok;
}

/* ---- the audit as a whole ---- */

/* Whatever fails is a defect, a last digit too; what cannot be told matters when much hangs on it.
 */
static verdict judge(const auditor *a) {
    bool pass = false, open = false;
    for (size_t i = 0; i < a->n; i++) {
        const finding *f = &a->list[i];
        if (f->outcome == AUDIT_FAIL) return VERDICT_DEFECT;
        pass |= f->outcome == AUDIT_PASS;
        open |= f->outcome == AUDIT_CANNOT_TELL && f->weight == WEIGHT_MAJOR;
    }
    return !pass || open ? VERDICT_CANNOT_TELL : VERDICT_SOUND;
}

err_code audit_close(const auditor *a, audit *out, err *e) {
    size_t passes_n = 0;
    for (size_t i = 0; i < a->n; i++) passes_n += a->list[i].outcome == AUDIT_PASS;
    finding *findings = ARENA_ARRAY(a->mem, finding, a->n - passes_n);
    finding *passes = ARENA_ARRAY(a->mem, finding, passes_n);
    if (a->full || !findings || !passes)
        return err_set(e, E_LIMIT, out->id, "the audit does not fit the memory budget");
    size_t n = 0, p = 0;
    for (int w = WEIGHT_MAJOR; w >= WEIGHT_NOTE; w--)
        for (size_t i = 0; i < a->n; i++)
            if (a->list[i].outcome != AUDIT_PASS && (int)a->list[i].weight == w)
                findings[n++] = a->list[i];
    for (size_t i = 0; i < a->n; i++)
        if (a->list[i].outcome == AUDIT_PASS) passes[p++] = a->list[i];
    out->verdict = judge(a);
    out->findings = findings;
    out->findings_n = n;
    out->passes = passes;
    out->passes_n = p;
    return OK;
}
