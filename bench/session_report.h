/* What is said of a recorded session, and of one that would be. */
#ifndef RATECAST_BENCH_SESSION_REPORT_H
#define RATECAST_BENCH_SESSION_REPORT_H

#include "witness_write.h"

typedef struct session_report {
    const char *dir;
    const session_spec *spec;
    const witness_meta *meta;
    const session_log *log;
    const witness_seen *seen;
    const char *const *notes; /* sentences about what the run lacks */
    size_t notes_n;
} session_report;

/* For reading: times, what was reused, and the command that scores it. */
void report_session(const session_report *r, buf *out);
/* The run's line of runs.jsonl with `dir` and `notes`. */
void report_session_json(const session_report *r, const buf *run_line, buf *out);
/* Requests and tokens of a session that is not run, and its first request. */
void report_session_plan(const session_spec *s, const char *url, int64_t warm_up, const buf *first,
                         buf *out);

#endif
