#include "units.h"

#include <string.h>

#define TIME(n) .power[BASE_TIME] = (n)
#define BYTES(n) .power[BASE_BYTES] = (n)
#define TOK(n) .power[BASE_TOK] = (n)

typedef struct named {
    const char *name;
    units d;
} named;

bool units_of_name(const char *name, units *out) {
    /* the longer before what it ends with */
    static const named ENDINGS[] = {{"_bytes_per_tok", {BYTES(1), TOK(-1)}},
                                    {"_bytes_s", {BYTES(1), TIME(-1)}},
                                    {"_tok_s", {TOK(1), TIME(-1)}},
                                    {"_tok_computed", {TOK(1)}},
                                    {"_per_gib", {.power[BASE_PER_GIB] = 1}},
                                    {"_per_gb", {.power[BASE_PER_GB] = 1}},
                                    {"_s", {TIME(1)}},
                                    {"_bytes", {BYTES(1)}},
                                    {"_tok", {TOK(1)}},
                                    {"_frac", {{0}}},
                                    {"_n", {{0}}},
                                    {"_speedup", {{0}}}};
    static const named WHOLE[] = {{"P", {TOK(1)}},
                                  {"K", {{0}}},
                                  {"H", {{0}}},
                                  {"params", {{0}}},
                                  {"prefix_evals", {{0}}},
                                  {"largest_k_in_budget", {{0}}}};
    for (size_t i = 0; i < sizeof WHOLE / sizeof *WHOLE; i++)
        if (strcmp(WHOLE[i].name, name) == 0) {
            *out = WHOLE[i].d;
            return true;
        }
    for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++) {
        size_t n = strlen(ENDINGS[i].name), all = strlen(name);
        if (all <= n || strcmp(name + all - n, ENDINGS[i].name) != 0) continue;
        *out = ENDINGS[i].d;
        return true;
    }
    return false;
}

bool units_same(units a, units b) {
    for (size_t i = 0; i < BASE_N; i++)
        if (a.power[i] != b.power[i]) return false;
    return true;
}

units units_product(units a, units b, int times) {
    for (size_t i = 0; i < BASE_N; i++) a.power[i] += times * b.power[i];
    return a;
}

/* "tok", "bytes^2 tok": the bases of one sign, "" when there are none. */
static const char *bases(units d, int sign, arena *mem) {
    static const char *const NAMES[BASE_N] = {"s", "bytes", "tok", "agents/GiB", "agents/GB"};
    const char *text = "";
    for (size_t i = 0; i < BASE_N && text; i++) {
        int n = sign * d.power[i];
        const char *blank = text[0] ? " " : "";
        if (n == 1) text = arena_printf(mem, "%s%s%s", text, blank, NAMES[i]);
        if (n > 1) text = arena_printf(mem, "%s%s%s^%d", text, blank, NAMES[i], n);
    }
    return text ? text : "";
}

const char *units_text(units d, arena *mem) {
    const char *over = bases(d, 1, mem), *under = bases(d, -1, mem);
    if (!over[0] && !under[0]) return "a plain number";
    if (!under[0]) return over;
    const char *text = arena_printf(mem, "%s/%s", over[0] ? over : "1", under);
    return text ? text : "";
}

static const struct {
    const char *unit;
    double factor; /* SI value times this is the printed unit */
    units d;
} UNITS[] = {{"s", 1, {TIME(1)}},
             {"ms", 1000, {TIME(1)}},
             {"min", 1.0 / 60, {TIME(1)}},
             {"h", 1.0 / 3600, {TIME(1)}},
             {"bytes", 1, {BYTES(1)}},
             {"KiB", 1.0 / 1024, {BYTES(1)}},
             {"MiB", 1.0 / 1048576, {BYTES(1)}},
             {"GiB", 1.0 / 1073741824, {BYTES(1)}},
             {"GB", 1e-9, {BYTES(1)}},
             {"tok", 1, {TOK(1)}},
             {"tok/s", 1, {TOK(1), TIME(-1)}},
             {"ms/tok", 1000, {TIME(1), TOK(-1)}},
             {"GB/s", 1e-9, {BYTES(1), TIME(-1)}},
             {"bytes/tok", 1, {BYTES(1), TOK(-1)}},
             {"KiB/tok", 1.0 / 1024, {BYTES(1), TOK(-1)}},
             {"agents/GiB", 1, {.power[BASE_PER_GIB] = 1}},
             {"agents/GB", 1, {.power[BASE_PER_GB] = 1}},
             {"x", 1, {{0}}},
             {"%", 100, {{0}}},
             {"agents", 1, {{0}}}};
enum { UNITS_N = sizeof UNITS / sizeof *UNITS };

bool units_find(const char *unit, double *factor, units *d, bool *any) {
    *any = unit[0] == '\0';
    *factor = 1;
    *d = (units){{0}};
    if (*any) return true;
    for (size_t i = 0; i < UNITS_N; i++)
        if (strcmp(UNITS[i].unit, unit) == 0) {
            *factor = UNITS[i].factor;
            *d = UNITS[i].d;
            return true;
        }
    return false;
}

const char *units_list(units d, arena *mem) {
    const char *text = "";
    for (size_t i = 0; i < UNITS_N && text; i++)
        if (units_same(UNITS[i].d, d))
            text = arena_printf(mem, "%s%s%s", text, text[0] ? ", " : "", UNITS[i].unit);
    return text && text[0] ? text : "none";
}
