/* A report's text: its template, with values and blocks put in (reports/README.md lists both).
 *
 * A value is EXPR [in UNIT] [:FORMAT]. EXPR is a reference (reference.h) or several, joined by
 * " / ", " * ", " - ", " + " from left to right, sums of one unit; UNIT is one of what EXPR is a
 * value of (units.h). Beside those of reference.h there are
 *
 *   witness NAME.WORD, witness NAME/RUN_ID.WORD
 *   explain NAME.WORD, explain NAME/TERM.WORD
 *   audit CLAIM_ID.WORD
 *
 * FORMAT is .N (decimals), "," (thousands) or both ",.N"; without decimals the value has to be a
 * whole number. "figure ID [:,]" is a source's figure, regenerated at its printed digits (one that
 * is given: as printed), "printed ID [:,]" the same as the document prints it.
 *
 * "EXPR [in UNIT] < NUMBER ? WORDS : WORDS" puts the words that are true; they hold no digit.
 *
 * A template that places no banner gets it below its title.
 *
 * The text is Markdown; where its numbers come from stands in marks (marks.h), which become what a
 * page shows on hover, and pictures. */
#ifndef RATECAST_COMPOSE_H
#define RATECAST_COMPOSE_H

#include "base/buf.h"
#include "marks.h"
#include "spec.h"

typedef struct composed {
    buf text; /* Markdown with marks */
    mark *marks;
    size_t marks_n;
    const char *const *arms; /* names of all arms, each once */
    size_t arms_n;
} composed;

/* `command`: how the report is made again, as it is printed. E_SYNTAX, E_SCHEMA at
 * FILE:LINE:COLUMN of the template. Free with composed_done. */
MUST_USE err_code compose(const spec *s, const char *command, arena *mem, composed *out, err *e);
void composed_done(composed *c);

/* The data of a picture, for its script. E_REFUSED: there is nothing to draw. */
MUST_USE err_code compose_plot(const spec *s, const spec_plot *p, arena *mem, buf *tsv, err *e);

#endif
