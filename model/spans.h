/* What the device did when: an optional recording of an engine's run, and the kinds of time that a
 * trace shows (trace.h).
 *
 * An engine that is given no list records nothing and pays a comparison for each piece of device
 * time. A list keeps what touches its window, uncut, and at most `most_n` of it: memory is bounded
 * whatever the session.
 */
#ifndef RATECAST_SPANS_H
#define RATECAST_SPANS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum span_kind {
    SPAN_QUEUE,    /* an agent's: the request is sent, the device has not taken it up */
    SPAN_PREFILL,  /* an agent's: taken up until its first token; the device's: prompt rows */
    SPAN_DECODE,   /* an agent's: first token until the last one; the device's: decode rows */
    SPAN_TOOL,     /* an agent's: its tool runs, behind a turn */
    SPAN_CONSTANT, /* the device's: a declared constant (engine general) */
    SPAN_HOST,     /* the device's: the host works, the device waits */
    SPAN_KINDS_N
} span_kind;

extern const char *const SPAN_KIND_NAMES[SPAN_KINDS_N];

typedef struct span {
    int64_t start_ns, end_ns;
    span_kind kind;
    int64_t batch_n; /* the device's: sequences in it; 0: not of sequences */
    int64_t tokens;  /* prefill: prompt tokens computed; decode: output tokens */
} span;

/* Half open, in nanoseconds of the session. */
typedef struct span_window {
    int64_t from_ns, to_ns;
} span_window;

typedef struct span_list {
    span_window window;
    size_t most_n; /* kept at most */
    span *v;       /* in order of time, none overlaps the next */
    size_t n, cap;
    bool more;   /* something in the window was not kept: most_n was reached */
    bool failed; /* out of memory */
    bool open;   /* `last` may still grow */
    span last;
} span_list;

/* Does any of it lie in the window? What has no length lies where it starts. */
bool span_in(const span *s, span_window w);
/* Owned by the caller, freed by span_list_free. */
span_list span_list_new(span_window w, size_t most_n);
/* The device worked; `l` may be NULL. Starts never go back. Host time that follows on host time is
 * one span; what has neither length nor tokens is left out. */
void span_list_add(span_list *l, span s);
/* After the run. E_NOMEM at `where`. */
MUST_USE err_code span_list_end(span_list *l, const char *where, err *e);
void span_list_free(span_list *l);

#endif
