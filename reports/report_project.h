/* A projection as a head-to-head table (text, Markdown, CSV) and as `ratecast.result/1` (JSON).
 * The shape of the JSON is in reports/result.schema.json. */
#ifndef RATECAST_REPORT_PROJECT_H
#define RATECAST_REPORT_PROJECT_H

#include "base/arena.h"
#include "base/buf.h"
#include "invariants.h"
#include "project.h"

#define RESULT_SCHEMA "ratecast.result/1"

typedef enum report_format { REPORT_TEXT, REPORT_MD, REPORT_CSV, REPORT_JSON } report_format;

/* Writes the report; `scratch` holds its strings. */
void report_project(const projection *p, const rule_result rules[RULES_N], report_format f,
                    arena *scratch, buf *out);

/* Parts of the Markdown form, for reports that put them in places of their own; together they are
 * the whole. */
typedef enum project_part {
    PART_HEAD,  /* banner, workload, cards, arms */
    PART_TABLE, /* the head-to-head, and the arms in it that do not fit the memory */
    PART_EXTRAPOLATIONS,
    PART_ASSUMPTIONS,
    PART_TAKEN, /* as given, without a measurement */
    PART_UNMODELED,
    PART_RULES
} project_part;
void report_project_part(const projection *p, const rule_result rules[RULES_N], project_part part,
                         arena *scratch, buf *out);
/* A sweep: one row for each value and arm (text, Markdown, CSV), or `ratecast.sweep/1` (JSON),
 * which holds the result of every value. `points[i]` was run with `sweep_values[i]` of `s`. */
typedef struct sweep_point {
    const projection *p;
    const rule_result *rules; /* RULES_N */
} sweep_point;
void report_sweep(const scenario *s, const sweep_point *points, report_format f, arena *scratch,
                  buf *out);
/* The table of a sweep, as the Markdown form has it, with what does not fit the memory. */
void report_sweep_table(const scenario *s, const sweep_point *points, arena *scratch, buf *out);

#endif
