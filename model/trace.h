/* What happened when, in every arm of a projection: the spans of each turn and of the device.
 *
 * A turn's spans follow from its record: queue is sent until taken up, prefill taken up until the
 * first token, decode first token until the last, so that they sum to done - send. Behind a turn
 * comes its tool: the tool latency before the request that waited for it. The device's spans are
 * recorded by replaying the arm. A window keeps what touches it, uncut.
 *
 * Agents and turns count from 1. */
#ifndef RATECAST_TRACE_H
#define RATECAST_TRACE_H

#include "base/arena.h"
#include "base/err.h"
#include "project.h"
#include "spans.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_TURN_SPANS_MAX = 4, TRACE_EVENTS_MAX = 1000000 };
/* A picture of more spans is refused: it would show no single one. */
enum { TRACE_PLOT_SPANS_MAX = 100000 };

typedef struct trace_options {
    span_window window;
    int64_t most_n; /* events at most: spans, both ends of each flow, names of arms and tracks */
    bool rows_only; /* only spans are written, and counted */
} trace_options;

/* The window that leaves out nothing. */
#define TRACE_ALL ((span_window){0, TIME_MAX_NS})

typedef struct trace {
    const projection *p;
    trace_options o;
    span_list *device; /* of each arm */
    size_t arms_n;     /* recorded so far */
} trace;

/* The request of a turn, from the span of its agent that begins when it is sent to the device's
 * span that takes it up, or, when that computes nothing, to the agent's own prefill. */
typedef struct trace_flow {
    int64_t from_ns, to_ns;
    bool to_device;
} trace_flow;

/* E_LIMIT: more than most_n events; names the window that would fit. Free with trace_done also on
 * failure. */
MUST_USE err_code trace_new(const projection *p, trace_options o, arena *mem, trace *out, err *e);
void trace_done(trace *t);

/* The spans of one turn that the window keeps, in order of time. */
size_t trace_turn(const trace *t, size_t arm_i, int64_t agent, int64_t turn,
                  span out[TRACE_TURN_SPANS_MAX]);
/* False: the turn has none, or the window lacks one of its ends. */
bool trace_turn_flow(const trace *t, size_t arm_i, int64_t agent, int64_t turn, trace_flow *out);

#endif
