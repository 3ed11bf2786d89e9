/* Two results (`ratecast.result/1`) side by side: what changed, and by how much. */
#ifndef RATECAST_REPORT_DIFF_H
#define RATECAST_REPORT_DIFF_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct diff_line {
    const char *path;  /* "arms/naive/ttft/warm/p50_s", "inputs/scenario/sha256" */
    const char *a, *b; /* values as text; NULL: not there */
    bool numeric;
    double va, vb;
} diff_line;

typedef struct diff {
    const diff_line *lines; /* what differs, in the order of A, then what only B has */
    size_t n, same_n;
} diff;

/* Both must be results; E_SCHEMA otherwise. Arms are matched by name. */
MUST_USE err_code diff_results(const file_bytes *a, const file_bytes *b, arena *mem, diff *out,
                               err *e);
void diff_text(const diff *d, const char *name_a, const char *name_b, arena *scratch, buf *out);
void diff_json(const diff *d, buf *out);

#endif
