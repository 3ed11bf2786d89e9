/* What `project` writes beside its report: --plot, --trace-events, --timeline-tsv,
 * --timeline-plot and --trace-window. */
#ifndef RATECAST_TRACE_FILES_H
#define RATECAST_TRACE_FILES_H

#include "cli/cli.h"
#include "trace.h"

#define OPTS_TRACE                                                                                 \
    {"trace-events", 0, "FILE",                                                                    \
     "also write what happened when as Trace Event JSON, for Perfetto or chrome://tracing",        \
     false},                                                                                       \
        {"timeline-tsv", 0, "FILE", "also write the same as tab-separated values", false},         \
        {"timeline-plot", 0, "FILE", "also draw it: .svg or .png, by gnuplot", false}, {           \
        "trace-window", 0, "FROM:TO", "of these: only what touches these seconds of the session",  \
            false                                                                                  \
    }

/* E_USAGE: a window without a file, not FROM:TO, a sweep, a file named
 * twice, a picture neither .svg nor .png. */
MUST_USE err_code trace_files_check(const opts *o, bool sweep, span_window *w, err *e);
/* What is written beside the report; a text is empty when its option was not given. */
typedef struct trace_texts {
    buf events, tsv;
    buf plotted;        /* the table that the timeline is drawn from */
    buf arms;           /* the table of --plot: the arms, or a sweep of them */
    const char *script; /* and what draws it, "plots/stack.gp" */
} trace_texts;

void trace_texts_init(trace_texts *t);
void trace_texts_done(trace_texts *t);

/* Composes, writes nothing: E_LIMIT when it is too much. */
MUST_USE err_code trace_files_compose(const opts *o, const projection *p, span_window w, arena *mem,
                                      trace_texts *out, err *e);
/* E_IO; E_EXTERN: gnuplot. */
MUST_USE err_code trace_files_write(const opts *o, const trace_texts *t, arena *mem, err *e);

#endif
