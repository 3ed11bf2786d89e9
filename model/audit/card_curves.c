/* A card against what a projection takes from it: does the curve make more work shorter? */
#include "card_audit.h"

#include "calib/curve.h"

/* A fall that is kept is measured, not wrong: it is said, because projections inherit it. */
static void say_falls(const card_view *v, const char *check, const char *what, size_t falls,
                      size_t of, const curve_fall *worst) {
    if (of == 0) return;
    if (falls == 0) {
        audit_say(v->a, R_MONO, check, AUDIT_PASS, v->c->id, 0,
                  "none of %zu steps of the %s curve to more rows gets shorter", of, what);
        return;
    }
    finding *f = audit_say(
        v->a, R_MONO, check, AUDIT_CANNOT_TELL, v->c->id, 0,
        "in %zu of %zu steps of the %s curve to more rows the time gets shorter, most from %.0f to "
        "%.0f rows: %.4g to %.4g ms; it was measured so, and a projection can say that more work "
        "takes less time",
        falls, of, what, worst->few_n, worst->many_n, worst->few_s * 1e3, worst->many_s * 1e3);
    audit_numbers(f, worst->few_s * 1e3, worst->many_s * 1e3, "ms");
    f->weight = WEIGHT_NOTE;
}

/* What cannot be fitted prices nothing; too many points to fit are said. */
static bool fitted(const card_view *v, const char *check, const err *e) {
    if (e->code == E_LIMIT)
        audit_say(v->a, R_MONO, check, AUDIT_CANNOT_TELL, v->c->id, 0, "%s", e->what)->weight =
            WEIGHT_NOTE;
    return e->code == OK;
}

void card_check_curves(const card_view *v) {
    err no_decode = {0}, no_prefill = {0};
    decode_curve d;
    prefill_curve p;
    curve_fall worst = {0};
    (void)decode_curve_fit(v->c, -1, v->a->mem, &d, &no_decode);
    bool decodes = fitted(v, "decode-curve", &no_decode);
    if (decodes)
        say_falls(v, "decode-curve", "decode", decode_curve_falls(&d, &worst), d.n - 1, &worst);
    (void)prefill_curve_fit(v->c, decodes ? &d : NULL, -1, v->a->mem, &p, &no_prefill);
    if (fitted(v, "prefill-curve", &no_prefill))
        say_falls(v, "prefill-curve", "prefill", prefill_curve_falls(&p, &worst), p.n - 1, &worst);
}
