/* Values by name: what lists of figures and report templates may refer to.
 *
 *   RUN/ARM.METRIC         a metric (metric.h) of an arm of a named run: h4k/fak-native.wall_s
 *   RUN@VALUE/ARM.METRIC   the same at one value of a sweep: ab@16/cache-on.peak_bytes
 *   RUN.WORD               of its workload: K H P turn_delta_in_tok turn_out_tok tool_latency_s
 *                          presented_tok memory_budget_bytes
 *   card ID decode B, card ID prefill LENGTH
 *                          tok/s of the first used point of that batch or length
 *   card ID WORD           weights_bytes params kv_bytes_per_tok mem_bw_bytes_s memory_bytes
 *
 * SI units and plain counts. */
#ifndef RATECAST_REFERENCE_H
#define RATECAST_REFERENCE_H

#include "units.h"
#include "runs.h"

#include "base/prov.h"

typedef struct named_run {
    const char *name; /* short, for references */
    const char *path;
    const char *const *set; /* "workload.K=8" */
    size_t set_n;
    bool loaded; /* below: at the first use */
    file_bytes file;
    run_set r;
} named_run;

typedef struct reference_base {
    named_run *runs;
    size_t runs_n;
    card_library *lib;
    arena *mem;
} reference_base;

typedef struct ref_value {
    double v;
    prov prov;
    units of;
} ref_value;

/* The run of that name, projected; NULL: E_SCHEMA, none is called so, or what loading or projecting
 * said. */
const named_run *reference_run(reference_base *b, const char *name, err *e);
/* E_SCHEMA: no such value, in words for whoever wrote the reference (the place is left empty). */
MUST_USE err_code reference_get(reference_base *b, const char *ref, ref_value *out, err *e);

/* *a becomes *a `op` b: '/', '*', '-' or '+'. Sums and differences are of one dimension (E_SCHEMA).
 */
MUST_USE err_code reference_combine(ref_value *a, char op, const ref_value *b, arena *mem, err *e);
/* A value in SI becomes a number of `unit`: "%", "ms", "min", "MiB", ... E_SCHEMA: no such unit, or
 * one of another dimension. */
MUST_USE err_code reference_in_unit(ref_value *v, const char *unit, arena *mem, err *e);

/* ", nearest is \"wall_s\"", or "" when none of the names is near; for the end of a message. */
const char *reference_near(arena *mem, const char *got, const char *const *names, size_t n);

#endif
