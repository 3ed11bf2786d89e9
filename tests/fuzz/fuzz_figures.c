/* Any bytes as a list of figures over the shipped scenarios: regenerated or refused, and a number
 * in an expression is never taken. */
#include "fuzz.h"

#include "figures.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* A "set" may ask for a million turns, which takes its time: values of three digits or with an
 * exponent are left to fuzz_set and fuzz_scenario. */
static bool is_small(const char *text) {
    for (const char *at = text; (at = strchr(at, '=')) != NULL; at++)
        for (size_t i = 1, run = 0; at[i] && at[i] != ','; i++) {
            run = isdigit((unsigned char)at[i]) ? run + 1 : 0;
            if (run >= 3 || (i > 1 && isdigit((unsigned char)at[i - 1]) && strchr("eE", at[i])))
                return false;
        }
    return true;
}

static void check(const figure_list *l) {
    size_t sum = 0;
    for (size_t i = 0; i < FIGURE_STATUS_N; i++) sum += l->count[i];
    EXPECT(sum == l->n);
    for (size_t i = 0; i < l->n; i++) {
        const figure *f = &l->figures[i];
        EXPECT(f->id && f->document && f->what && f->printed && f->unit);
        EXPECT((f->status == FIGURE_GIVEN) == (f->regenerated == NULL));
        EXPECT(f->status != FIGURE_GIVEN || f->reason);
        EXPECT(f->status != FIGURE_NOT || f->reason);
        EXPECT(!f->regenerated || isfinite(f->value));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    card_library *lib = fuzz_library();
    arena *mem = arena_new((size_t)128 << 20);
    char *text = arena_alloc(mem, size + 1, 1);
    if (text) {
        if (size) memcpy(text, data, size);
        file_bytes f = {.name = "<fuzz>", .s = text, .len = size};
        figure_list l;
        err e = {0};
        if (is_small(text)) {
            err_code code = figures_parse(&f, RATECAST_REPO "/scenarios", NULL, lib, mem, &l, &e);
            EXPECT(code == e.code);
            EXPECT(code == OK || e.what[0] != '\0');
            if (code == OK) {
                buf out;
                buf_init(&out);
                check(&l);
                figures_json(&l, &out);
                figures_text(&l, true, mem, &out);
                buf_done(&out);
            }
        }
    }
    arena_free(mem);
    return 0;
}
