/* --trace-events, --timeline-tsv and --trace-window of `project`. */
#ifndef RATECAST_TRACE_FILES_H
#define RATECAST_TRACE_FILES_H

#include "cli/cli.h"
#include "trace.h"

#define OPTS_TRACE                                                                                 \
    {"trace-events", 0, "FILE",                                                                    \
     "also write what happened when as Trace Event JSON, for Perfetto or chrome://tracing",        \
     false},                                                                                       \
        {"timeline-tsv", 0, "FILE", "also write the same as tab-separated values", false}, {       \
        "trace-window", 0, "FROM:TO", "of both: only what touches these seconds of the session",   \
            false                                                                                  \
    }

/* E_USAGE: a window without a file, not FROM:TO, a sweep, a file named twice. */
MUST_USE err_code trace_files_check(const opts *o, bool sweep, span_window *w, err *e);
/* Composes both texts, writes nothing: E_LIMIT when it is too much. An option that was not given
 * leaves its text empty. */
MUST_USE err_code trace_files_compose(const opts *o, const projection *p, span_window w, arena *mem,
                                      buf *events, buf *tsv, err *e);

#endif
