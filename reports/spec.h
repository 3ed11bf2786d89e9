/* What a report is made from: `ratecast.report/1` (reports/report.schema.json; fields in
 * reports/README.md), and everything that it names, loaded and run. Lives in the arena. */
#ifndef RATECAST_SPEC_H
#define RATECAST_SPEC_H

#include "audit/audit.h"
#include "calib/score.h"
#include "figures.h"
#include "reference.h"
#include "trace.h"
#include "waterfall.h"

#define REPORT_SCHEMA "ratecast.report/1"

enum { SPEC_LIST_MAX = 64 };

typedef struct spec_claim {
    const char *path;
    const claim *claim;
    audit audit;
} spec_claim;

typedef struct spec_explain {
    const char *name;
    const waterfall *const *links;
    size_t n;
} spec_explain;

typedef struct spec_witness {
    const char *name, *path, *title;
    bool summaries;
    witness witness;
    score score;
    const card *const *cards;
    size_t cards_n;
} spec_witness;

/* A picture: its kind says what its data are, and by its name which script, plots/NAME.gp, draws
 * them. */
typedef enum plot_kind {
    PLOT_STACK,     /* of a run: wall-clock by what the device did */
    PLOT_SWEEP,     /* of a run with a sweep */
    PLOT_TIMELINE,  /* of a run: what happened when */
    PLOT_CARD,      /* of a card: points and curves */
    PLOT_WATERFALL, /* of an explanation */
    PLOT_VALIDATE   /* of witnessed runs */
} plot_kind;
extern const char *const PLOT_KIND_NAMES[];

typedef struct spec_plot {
    const char *name; /* and its files: NAME.tsv, NAME.svg */
    plot_kind kind;
    const char *of;     /* name of the run, explanation, witness; id of the card */
    span_window window; /* timeline */
} spec_plot;

/* A file that the report rests on. */
typedef struct spec_input {
    const char *what; /* "scenario", "card", ... */
    const char *name; /* its path as the report names it; of a card: its id */
    const char *path; /* where it was read; NULL: no file of its own */
    const char *sha256;
} spec_input;

typedef struct spec {
    const char *path, *id, *title;
    file_bytes template;
    reference_base base;
    spec_claim claims[SPEC_LIST_MAX];
    size_t claims_n;
    spec_explain explains[SPEC_LIST_MAX];
    size_t explains_n;
    spec_witness witness[SPEC_LIST_MAX];
    size_t witness_n;
    spec_plot plots[SPEC_LIST_MAX];
    size_t plots_n;
    const char *figures_of; /* document of the list of figures; NULL: none is asked for */
    figure_list figures;
    const spec_input *inputs;
    size_t inputs_n;
} spec;

/* Where a file that a specification names is looked for: beside the specification, then below each
 * of `roots`. */
typedef struct spec_places {
    const char *const *roots;
    size_t n;
    card_library *lib;
} spec_places;

MUST_USE err_code spec_parse(const file_bytes *f, const spec_places *where, arena *mem,
                             const spec **out, err *e);

const spec_explain *spec_explain_named(const spec *s, const char *name);
const spec_witness *spec_witness_named(const spec *s, const char *name);
const spec_plot *spec_plot_named(const spec *s, const char *name);

#endif
