/* Any bytes as a hardware catalogue: loaded or refused; every chip of what loads has finite
 * ceilings and is found by its own name. The bytes are also a text in which chips are looked up. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

static bool sane(double v) {
    return isfinite(v) && v >= 0;
}

static void check_chips(const hardware_catalogue *c) {
    for (size_t i = 0; i < c->n && i < 64; i++) {
        const hardware *h = &c->chips[i];
        EXPECT(h->chip[0] && h->source[0]);
        EXPECT(sane(h->mem_bw_bytes_s) && sane(h->fp16_flop_s) && sane(h->memory_bytes));
        EXPECT(sane(h->int8_op_s) && h->flop_uncertainty_frac >= 0 &&
               h->flop_uncertainty_frac <= 1);
        EXPECT(hardware_find(c, h->chip) == h);
        (void)hardware_find(c, h->source);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    arena *mem = arena_new((size_t)64 << 20);
    char *text = arena_alloc(mem, size + 1, 1); /* a NUL behind the bytes, as file_read gives */
    if (text) {
        if (size) memcpy(text, data, size);
        file_bytes f = {.name = "<fuzz>", .s = text, .len = size};
        hardware_catalogue c;
        err e = {0};
        err_code code = hardware_parse(&f, mem, &c, &e);
        EXPECT(code == e.code && (code == OK || (c.n == 0 && e.what[0] != '\0')));
        check_chips(&c);
        if (size < 4096) (void)hardware_find(fuzz_chips(), text);
    }
    arena_free(mem);
    return 0;
}
