/* Gaps between two output tokens of one sequence, as a list that grows while a run goes on. */
#ifndef RATECAST_ITL_H
#define RATECAST_ITL_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* `n` gaps of `gap_ns` each. */
typedef struct itl_run {
    int64_t gap_ns, n;
} itl_run;

/* {0} is empty. Owned by the engine that runs, freed by itl_list_free. */
typedef struct itl_list {
    itl_run *v;
    size_t n, cap;
} itl_list;

/* E_NOMEM at `where`. */
MUST_USE err_code itl_list_add(itl_list *l, int64_t gap_ns, int64_t n, const char *where, err *e);
/* The list in `mem`; NULL when it does not fit. */
const itl_run *itl_list_copy(const itl_list *l, arena *mem);
void itl_list_free(itl_list *l);

#endif
