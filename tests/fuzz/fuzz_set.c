/* Any text as --set, one a line, against a shipped scenario. */
#include "fuzz.h"

#include "scenario.h"

#include <string.h>

enum { SETS_MAX = 8 };

static const file_bytes *fixed_scenario(void) {
    static file_bytes f;
    static arena *mem; /* kept to the end of the process */
    if (mem) return &f;
    err e = {0};
    mem = arena_new((size_t)1 << 20);
    EXPECT(file_read(RATECAST_REPO "/scenarios/published/head_to_head_4k.json", mem, &f, &e) == OK);
    return &f;
}

/* Cuts at line ends, in place. */
static size_t split(char *text, const char **sets) {
    size_t n = 0;
    for (char *line = text; n < SETS_MAX && line; n++) {
        char *end = strchr(line, '\n');
        if (end) *end = '\0';
        sets[n] = line;
        line = end ? end + 1 : NULL;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    card_library *lib = fuzz_library();
    const file_bytes *f = fixed_scenario();
    arena *mem = arena_new((size_t)64 << 20);
    char *text = arena_alloc(mem, size + 1, 1);
    if (text) {
        if (size) memcpy(text, data, size);
        const char *sets[SETS_MAX];
        size_t n = split(text, sets);
        const scenario *s = NULL;
        err e = {0};
        err_code code = scenario_parse(f, lib, sets, n, mem, &s, &e);
        EXPECT_ONE_OF(code, s, e);
        if (s) EXPECT(s->arms_n > 0 && s->baseline < s->arms_n && s->overrides_n == n);
    }
    arena_free(mem);
    return 0;
}
