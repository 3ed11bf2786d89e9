/* Any bytes as a rate card: loaded or refused; the curves of what loads are finite and not
 * negative, and its audit comes to a verdict. */
#include "fuzz.h"

#include "audit/audit.h"
#include "calib/curve.h"

#include <math.h>
#include <string.h>

static bool sane(double v) {
    return isfinite(v) && v >= 0;
}

static void check_points(const card *c) {
    for (size_t i = 0; i < c->prefill_n; i++) {
        const prefill_point *p = &c->prefill[i];
        EXPECT(sane(p->s) && p->tok_s > 0 && isfinite(p->tok_s));
        EXPECT(p->s > 0 || p->n_prompt_tok == 0);
    }
    for (size_t i = 0; i < c->decode_n; i++)
        EXPECT(c->decode[i].step_s > 0 && sane(c->decode[i].step_s) && sane(c->decode[i].tok_s));
    EXPECT(card_kv_bytes_per_tok(c) >= 0);
}

static void check_decode(const decode_curve *d) {
    static const int64_t BATCHES[] = {1, 2, 3, 7, 8, 100, 99999};
    EXPECT(d->n > 0);
    for (size_t i = 0; i < sizeof BATCHES / sizeof *BATCHES; i++) {
        decode_step s = decode_curve_at(d, BATCHES[i]);
        EXPECT(sane(s.a_s) && sane(s.own_s));
    }
}

static void check_prefill(const prefill_curve *p) {
    static const int64_t TOKENS[] = {1, 2, 63, 512, 513, 4096, 100000};
    EXPECT(p->n > 0 && sane(p->worst_residual_frac));
    for (size_t i = 0; i < sizeof TOKENS / sizeof *TOKENS; i++)
        for (int64_t depth = 0; depth < 200000; depth = 3 * depth + 500)
            EXPECT(sane(prefill_curve_s(p, TOKENS[i], depth)));
}

static void fit(const card *c, double k_s, double k1_s, arena *mem) {
    decode_curve d = {0};
    prefill_curve p = {0};
    err no_decode = {0}, no_prefill = {0};
    bool decodes = decode_curve_fit(c, k_s, mem, &d, &no_decode) == OK;
    if (decodes) check_decode(&d);
    if (prefill_curve_fit(c, decodes ? &d : NULL, k1_s, mem, &p, &no_prefill) == OK)
        check_prefill(&p);
}

static void check_audit(const card *c, arena *mem) {
    audit a;
    err e = {0};
    EXPECT(audit_card(c, fuzz_chips(), mem, &a, &e) == OK || e.code == E_LIMIT);
    bool fails = false;
    for (size_t i = 0; !e.code && i < a.findings_n; i++) {
        const finding *f = &a.findings[i];
        EXPECT(f->outcome != AUDIT_PASS && f->why[0] != '\0');
        EXPECT(isfinite(f->found) && isfinite(f->expected));
        fails |= f->outcome == AUDIT_FAIL;
    }
    EXPECT(e.code || fails == (a.verdict == VERDICT_DEFECT));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    card_library *lib = fuzz_library();
    arena *mem = arena_new((size_t)64 << 20);
    char *text = arena_alloc(mem, size + 1, 1); /* a NUL behind the bytes, as file_read gives */
    if (text) {
        if (size) memcpy(text, data, size);
        file_bytes f = {.name = "<fuzz>", .s = text, .len = size};
        const card *c = NULL;
        err e = {0};
        err_code code = card_parse(lib, &f, mem, &c, &e);
        EXPECT_ONE_OF(code, c, e);
        if (c) {
            check_points(c);
            check_audit(c, mem);
            fit(c, -1, -1, mem);
            fit(c, 1e-9, 1e-12, mem);
        }
    }
    arena_free(mem);
    return 0;
}
