/* Values of a report's template, and their formats (the grammar is in compose.h). */
#ifndef RATECAST_EXPRESSION_H
#define RATECAST_EXPRESSION_H

#include "spec.h"

typedef struct expressed {
    const char *text;  /* as printed */
    const char *title; /* "MODELED: h4k/fak-native.wall_s" */
} expressed;

/* E_SCHEMA, without a place. */
MUST_USE err_code expression_get(const spec *s, const char *field, arena *mem, expressed *out,
                                 err *e);

#endif
