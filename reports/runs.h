/* A scenario as it is run: one projection, or one for each value of its sweep. */
#ifndef RATECAST_RUNS_H
#define RATECAST_RUNS_H

#include "report_project.h"

#include "base/file.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct run_set {
    const scenario *s; /* with `sets` applied; of a sweep: before a value is set */
    bool sweep;
    const sweep_point *points; /* n of them; 1 when there is no sweep */
    size_t n;
} run_set;

/* Is one of the "PATH=VALUE" in `sets` about `path`? */
bool runs_is_set(const char *const *sets, size_t sets_n, const char *path);

/* Reads and checks, runs nothing yet: a sweep whose path is among `sets` is none. */
MUST_USE err_code runs_read(const file_bytes *f, card_library *lib, const char *const *sets,
                            size_t sets_n, arena *mem, run_set *out, err *e);
/* Projects the arms named in `only` (all when only_n is 0) and checks the invariants. The same
 * `f`, `lib` and `sets` as before. */
MUST_USE err_code runs_project(run_set *r, const file_bytes *f, card_library *lib,
                               const char *const *sets, size_t sets_n, const char *const *only,
                               size_t only_n, arena *mem, err *e);

#endif
