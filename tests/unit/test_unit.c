/* Units and printed numbers. Expected values: definitions of the units, and what rounds to a print,
 * worked out here. */
#include "base/unit.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(unit, names_in_base_units) {
    static const struct {
        const char *name;
        dimension dim;
        double scale;
    } U[] = {{"s", DIM_TIME, 1},
             {"ms", DIM_TIME, 0.001},
             {"µs", DIM_TIME, 0.000001},
             {"min", DIM_TIME, 60},
             {"h", DIM_TIME, 3600},
             {"ms/tok", DIM_TIME, 0.001},
             {"GB", DIM_BYTES, 1000000000},
             {"GiB", DIM_BYTES, 1073741824},
             {"MB", DIM_BYTES, 1000000},
             {"MiB", DIM_BYTES, 1048576},
             {"KiB", DIM_BYTES, 1024},
             {"TB", DIM_BYTES, 1e12},
             {"bytes", DIM_BYTES, 1},
             {"tokens", DIM_TOK, 1},
             {"tok/s", DIM_TOK_S, 1},
             {"t/s", DIM_TOK_S, 1},
             {"ktok/s", DIM_TOK_S, 1000},
             {"tok/min", DIM_TOK_S, 1 / 60.0},
             {"%", DIM_FRAC, 0.01},
             {"fraction", DIM_FRAC, 1},
             {"x", DIM_RATIO, 1},
             {"×", DIM_RATIO, 1},
             {"agents", DIM_COUNT, 1},
             {"rounds", DIM_COUNT, 1},
             {"GB/s", DIM_BYTES_S, 1e9},
             {"TFLOPS", DIM_FLOP_S, 1e12},
             {"bytes/token", DIM_BYTES_PER_TOK, 1},
             {"KiB/token", DIM_BYTES_PER_TOK, 1024},
             {"agents/GB", DIM_AGENTS_PER_BYTE, 1e-9},
             {"agents/GiB", DIM_AGENTS_PER_BYTE, 1 / 1073741824.0},
             {"req/s", DIM_REQ_S, 1},
             {"tokens/round", DIM_TOK_PER_ROUND, 1},
             {"USD/h", DIM_MONEY_PER_TIME, 1 / 3600.0},
             {"$/hr", DIM_MONEY_PER_TIME, 1 / 3600.0},
             {"tok/USD", DIM_TOK_PER_MONEY, 1},
             {"USD/Mtok", DIM_MONEY_PER_TOK, 1e-6},
             {"W", DIM_POWER, 1},
             {"kWh", DIM_ENERGY, 3600000},
             {"J/tok", DIM_ENERGY_PER_TOK, 1},
             {"tok/J", DIM_TOK_PER_ENERGY, 1}};
    for (size_t i = 0; i < sizeof U / sizeof *U; i++) {
        const unit *u = unit_find(U[i].name);
        cr_assert_not_null(u, "%s", U[i].name);
        cr_expect_str_eq(u->name, U[i].name);
        cr_expect_eq(u->dim, U[i].dim, "%s", U[i].name);
        cr_expect_float_eq(u->scale / U[i].scale, 1, 1e-15, "%s", U[i].name);
    }
    static const char *const NONE[] = {"Gb", "gb", "GIB", "M", "tok/ s", "tok s", "second", "GB "};
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++)
        cr_expect_null(unit_find(NONE[i]), "%s", NONE[i]);
}

Test(unit, a_bare_multiple_counts_nothing) {
    static const char *const BARE[] = {"k", "K", "M", "G", "T", "Ki", "Mi", "Gi"};
    static const char *const GOOD[] = {"", "MB", "MiB", "B", "s", "x", "kW", "m/s"};
    for (size_t i = 0; i < sizeof BARE / sizeof *BARE; i++) {
        cr_expect(unit_is_bare(BARE[i]), "%s", BARE[i]);
        cr_expect_null(unit_find(BARE[i]), "%s", BARE[i]);
    }
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++)
        cr_expect(!unit_is_bare(GOOD[i]), "%s", GOOD[i]);
}

Test(unit, the_other_kind_of_multiple) {
    static const char *const PAIRS[][2] = {{"GB", "GiB"},
                                           {"MB", "MiB"},
                                           {"KB", "KiB"},
                                           {"TB", "TiB"},
                                           {"agents/GB", "agents/GiB"},
                                           {"GB/s", "GiB/s"},
                                           {"MB/token", "MiB/token"}};
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
        const unit *a = unit_find(PAIRS[i][0]), *b = unit_find(PAIRS[i][1]);
        cr_assert(a && b, "%s", PAIRS[i][0]);
        cr_expect_eq(unit_other_prefix(a), b, "%s", PAIRS[i][0]);
        cr_expect_not_null(unit_other_prefix(b), "%s", PAIRS[i][1]);
        cr_expect_eq(unit_other_prefix(b)->scale, a->scale, "%s", PAIRS[i][1]);
    }
    cr_expect_null(unit_other_prefix(unit_find("B")));
    cr_expect_null(unit_other_prefix(unit_find("s")));
    cr_expect_null(unit_other_prefix(unit_find("tok/s")));
}

/* ---- what a print stands for ---- */

typedef struct printed {
    double value;
    const char *in, *text; /* text NULL: none */
    double lo, hi;         /* in units */
    bool about, bound;
} printed;

static const printed PRINTED[] = {
    /* decimals: half a unit of the last one */
    {8.2, "min", "8.2 min", 8.15, 8.25, false, false},
    {13.0, "tok/s", "13.00 tok/s", 12.995, 13.005, false, false},
    {13.0, "tok/s", NULL, 12.5, 13.5, false, false},
    {0.529, "fraction", NULL, 0.5285, 0.5295, false, false},
    {393.8, "s", "393.8", 393.75, 393.85, false, false},
    {36, "s", "36 s", 35.5, 36.5, false, false},
    {42, "GB", "42 GB", 41.5, 42.5, false, false},
    /* thousands commas; a number that ends in zeros and says "about" is rounded to them */
    {126030.8, "ms", "126,030.8 ms", 126030.75, 126030.85, false, false},
    {132400, "tok/USD", "~132,400", 132350, 132450, true, false},
    {132400, "tok/USD", "132,400", 132399.5, 132400.5, false, false},
    {140, "GB", "~140 GB (2 GPU)", 135, 145, true, false},
    {1.8, "x", "~1.8x", 1.75, 1.85, true, false},
    {85, "tok/s", "about 85", 84.5, 85.5, true, false},
    {85, "tok/s", "≈ 85", 84.5, 85.5, true, false},
    /* a range holds the number somewhere */
    {0.55, "s", "0.52-0.55s", 0.545, 0.555, false, false},
    {0.52, "s", "0.52-0.55s", 0.515, 0.525, false, false},
    {2.99, "USD/h", "$2.99/hr", 2.985, 2.995, false, false},
    {20000, "ms", "~$20,000", 15000, 25000, true, false},
    /* bounds */
    {19500, "x", ">19,500x", 19500, (double)INFINITY, false, true},
    {30, "x", "≥30x", 30, (double)INFINITY, false, true},
    {30, "x", ">= 30x", 30, (double)INFINITY, false, true},
    {10, "min", "< 10 min", -(double)INFINITY, 10, false, true},
    {25, "ms", "≤ 25 ms", -(double)INFINITY, 25, false, true},
    /* whole things and whole bytes are exact, unless "about" or a bound */
    {13988, "tokens", "13,988", 13988, 13988, false, false},
    {54, "agents", "54", 54, 54, false, false},
    {57344, "bytes/token", "57,344 bytes", 57344, 57344, false, false},
    {50, "agents", "~50", 45, 55, true, false},
    {7, "tokens", "> 7", 7, (double)INFINITY, false, true},
    {1.5, "tokens", "1.5", 1.45, 1.55, false, false},
    {2560, "MiB", "2560 MiB", 2559.5, 2560.5, false, false}, /* a multiple is a measure */
    /* per cent */
    {88.23, "%", "88.23%", 88.225, 88.235, false, false},
    {97.0, "%", "97.0%", 96.95, 97.05, false, false},
    /* digits that are not the value's are not its digits: the shortest ones count */
    {410.9, "s", "410900.0", 410.85, 410.95, false, false},
    {-2.5, "x", "-2.5", -2.55, -2.45, false, false},
};

Test(unit, what_a_print_stands_for) {
    for (size_t i = 0; i < sizeof PRINTED / sizeof *PRINTED; i++) {
        const printed *p = &PRINTED[i];
        const unit *u = unit_find(p->in);
        quantity q = quantity_of(p->value, u, p->text);
        double k = u->scale;
        cr_expect_float_eq(q.v, p->value * k, 1e-9 * fabs(p->value * k), "%s", p->text);
        cr_expect(q.lo == p->lo * k || fabs(q.lo - p->lo * k) <= 1e-9 * fabs(q.lo),
                  "%g %s \"%s\": from %.10g, by hand %.10g", p->value, p->in, p->text, q.lo / k,
                  p->lo);
        cr_expect(q.hi == p->hi * k || fabs(q.hi - p->hi * k) <= 1e-9 * fabs(q.hi),
                  "%g %s \"%s\": to %.10g, by hand %.10g", p->value, p->in, p->text, q.hi / k,
                  p->hi);
        cr_expect_eq(q.about, p->about, "%s", p->text);
        cr_expect_eq(q.bound, p->bound, "%s", p->text);
        cr_expect_eq(q.u, u);
    }
}

Test(unit, numbers_too_large_or_small_to_print_are_exact) {
    static const double V[] = {1e21, 1e-21, -1e20};
    for (size_t i = 0; i < sizeof V / sizeof *V; i++) {
        quantity q = quantity_of(V[i], unit_find("s"), NULL);
        cr_expect_eq(q.v, V[i]);
        cr_expect_leq(q.lo, q.v);
        cr_expect_geq(q.hi, q.v);
        cr_expect(isfinite(q.lo) && isfinite(q.hi));
    }
}

Test(unit, allows) {
    quantity q = quantity_of(8.2, unit_find("min"), "8.2 min"); /* 489 to 495 s */
    cr_expect(quantity_allows(&q, 489, 489) && quantity_allows(&q, 495, 495));
    cr_expect(!quantity_allows(&q, 488.9, 488.9) && !quantity_allows(&q, 495.1, 495.1));
    cr_expect(quantity_allows(&q, 480, 489.5), "any value of the range is enough");
    cr_expect(quantity_allows(&q, 494, 600) && quantity_allows(&q, 0, 1e9));
    cr_expect(!quantity_allows(&q, 496, 600) && !quantity_allows(&q, 0, 480));
    quantity more = quantity_of(30, unit_find("x"), "≥30x");
    cr_expect(quantity_allows(&more, 30, 30) && quantity_allows(&more, 1e6, 1e6));
    cr_expect(!quantity_allows(&more, 29.57, 29.57));
    quantity exact = quantity_exact(13988, unit_find("tokens"));
    cr_expect(quantity_allows(&exact, 13988, 13988) && !quantity_allows(&exact, 13989, 13989));
    cr_expect(!quantity_allows(&exact, 13987, 13987));
    /* a sum in floating point that misses the edge by its last bits */
    quantity third = quantity_of(0.3, unit_find("s"), "0.30");
    cr_expect(quantity_allows(&third, 0.1 + 0.2 + 0.005, 0.1 + 0.2 + 0.005));
}

/* 42.95 printed 42.9, 343.6 printed 343: cut. 42.95 printed 43.0 is rounded, 42.8 is wrong. */
Test(unit, cut) {
    const unit *gb = unit_find("GB");
    quantity q = quantity_of(42.9, gb, "42.9"), whole = quantity_of(343, gb, "343");
    cr_expect(quantity_cut(&q, 42.96e9) && quantity_cut(&q, 42.999e9));
    cr_expect(!quantity_cut(&q, 43.0e9) && !quantity_cut(&q, 42.89e9));
    cr_expect(quantity_cut(&whole, 343.6e9) && !quantity_cut(&whole, 344.1e9));
    quantity exact = quantity_exact(5, gb), bound = quantity_of(30, unit_find("x"), ">30x");
    cr_expect(!quantity_cut(&exact, 5.5) && !quantity_cut(&bound, 30.2));
}
