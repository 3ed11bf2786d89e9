/* `project --explain-assumptions`: what each declared assumption means, and what the answer would
 * be if it were 10 % more. */
#ifndef RATECAST_REPORT_EXPLAIN_H
#define RATECAST_REPORT_EXPLAIN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "project.h"

/* Runs the projection again for every numeric assumption. */
MUST_USE err_code report_explain(const projection *p, arena *mem, buf *out, err *e);

#endif
