/* What the fuzz targets share. A broken expectation stops the process, so that the fuzzer keeps the
 * input. */
#ifndef RATECAST_FUZZ_H
#define RATECAST_FUZZ_H

#include "card.h"
#include "hardware.h"

#include <gsl/gsl_errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EXPECT(cond)                                                                               \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #cond);                    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The shipped cards, scanned once: reading them for every input would be most of the time. */
static inline card_library *fuzz_library(void) {
    static card_library lib = {.dirs = {RATECAST_REPO "/rates"}, .n = 1};
    static arena *mem;
    if (mem) return &lib;
    gsl_set_error_handler_off();
    mem = arena_new((size_t)64 << 20);
    const card *c = NULL;
    err e = {0};
    EXPECT(card_find(&lib, "qwen2-60m-like-q8_0-cpu-t1", NULL, mem, &c, &e) == OK);
    return &lib;
}

/* The shipped catalogue of chips, likewise. */
static inline const hardware_catalogue *fuzz_chips(void) {
    static hardware_catalogue c;
    static arena *mem;
    if (mem) return &c;
    mem = arena_new((size_t)16 << 20);
    err e = {0};
    EXPECT(hardware_load(RATECAST_REPO "/rates/hardware.json", mem, &c, &e) == OK);
    return &c;
}

/* A loader's result and its error go together: OK and something, or a code and nothing. */
#define EXPECT_ONE_OF(code, out, e)                                                                \
    do {                                                                                           \
        EXPECT((code) == (e).code);                                                                \
        EXPECT(((code) == OK) == ((out) != NULL));                                                 \
        EXPECT((code) == OK || (e).what[0] != '\0');                                               \
    } while (0)

#endif
