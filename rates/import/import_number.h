/* Numbers and cells as benchmark tools print them. */
#ifndef RATECAST_IMPORT_NUMBER_H
#define RATECAST_IMPORT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum number_kind {
    NUMBER_NONE,     /* no number stands here */
    NUMBER_OK,       /* finite */
    NUMBER_NAN,      /* nan, -nan(ind): undefined */
    NUMBER_INF,      /* inf: a division by a time of zero, not measured */
    NUMBER_AMBIGUOUS /* "1,234": thousands or a decimal comma */
} number_kind;

typedef struct number {
    number_kind kind;
    double v; /* NaN unless NUMBER_OK */
    int decimals;
    size_t len; /* bytes it takes, sign and separators too */
} number;

/* The number that begins at s (blanks skipped, which count in len). Thousands separators (1,234,567
 * or 1,234.5) are taken; `decimal_comma`: "106,30" is 106.3, as a program under such a locale
 * prints. Exponents are read. Independent of this process's locale. */
number number_at(const char *s, bool decimal_comma);
/* Does the text hold a number that only a decimal comma explains ("24,61")? */
bool number_text_has_decimal_comma(const char *s, size_t len);

/* "**4918.36** ± 132.23": mean and standard deviation, Markdown bold apart; *std NaN when the cell
 * has none. The kind is that of the mean; trailing other text: NUMBER_NONE. */
number_kind number_cell(const char *cell, bool decimal_comma, double *mean, double *std);

/* A Go duration: "2m27.989997625s", "891.936µs", "1h2m3s". false: none. Seconds. */
bool number_go_duration(const char *s, double *out_s);

#endif
