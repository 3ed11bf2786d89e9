/* The sources' figures, regenerated: `ratecast figures`.
 *
 * The list (reports/figures.json, `ratecast.figures/1`) holds what each document prints and where
 * it should come from: an expression over metrics of scenarios and points of cards. A printed value
 * is compared with, never computed with.
 */
#ifndef RATECAST_FIGURES_H
#define RATECAST_FIGURES_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "card.h"

#include <stdbool.h>
#include <stddef.h>

#define FIGURES_SCHEMA "ratecast.figures/1"

typedef enum figure_status {
    FIGURE_SAME,    /* regenerates to its printed digits */
    FIGURE_NOT,     /* listed as "does not follow", and it does not */
    FIGURE_GIVEN,   /* a measurement or bare claim: nothing to derive it from */
    FIGURE_DIFFERS, /* neither: something is wrong here */
    FIGURE_STATUS_N
} figure_status;

extern const char *const FIGURE_STATUS_NAMES[];

typedef struct figure {
    const char *id, *document, *what, *unit;
    const char *printed;     /* as the document prints it, thousands separators dropped */
    const char *regenerated; /* to the same digits; NULL: given */
    double value;            /* in `unit`; meaningless when given */
    figure_status status;
    const char *reason; /* of "does not follow" and "given"; NULL otherwise */
} figure;

typedef struct figure_list {
    const figure *figures;
    size_t n;
    size_t count[FIGURE_STATUS_N];
    const char *const *inputs; /* the scenario files that were read */
    size_t inputs_n;
} figure_list;

/* Reads the list at `path` and regenerates it from the scenarios below `scenario_dir`. */
MUST_USE err_code figures_run(const char *path, const char *scenario_dir, card_library *lib,
                              arena *mem, figure_list *out, err *e);
/* The same of a list that is in memory; of one document's figures only, or of all (NULL). */
MUST_USE err_code figures_parse(const file_bytes *f, const char *scenario_dir, const char *document,
                                card_library *lib, arena *mem, figure_list *out, err *e);
/* `documents`: with a column that says which document a figure is of. */
void figures_text(const figure_list *l, bool documents, arena *scratch, buf *out);
void figures_json(const figure_list *l, buf *out);

#endif
