#include "number.h"

#include <inttypes.h>
#include <string.h>

const char *number_seconds(arena *mem, double s) {
    return arena_printf(mem, s == 0 ? "%.0f" : s >= 100 ? "%.1f" : s >= 1 ? "%.2f" : "%.4f", s);
}

const char *number_grouped(arena *mem, const char *digits) {
    size_t sign = digits[0] == '-', whole = strspn(digits + sign, "0123456789"),
           len = strlen(digits);
    char *out = arena_alloc(mem, 2 * len + 1, 1);
    if (!out) return digits;
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        size_t left = sign + whole - i; /* digits of the whole part from here on */
        if (i > sign && i < sign + whole && left % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    return out;
}

const char *number_count(arena *mem, int64_t v) {
    const char *digits = arena_printf(mem, "%" PRId64, v);
    return digits ? number_grouped(mem, digits) : "";
}

const char *number_mib(arena *mem, int64_t bytes) {
    return arena_printf(mem, "%.1f", (double)bytes / 1048576.0);
}
