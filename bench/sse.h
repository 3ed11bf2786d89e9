/* Server-sent events, byte by byte (WHATWG HTML, 9.2): what a completion server streams.
 *
 * Lines end in LF, CR or CRLF; lines of `data` are joined by LF; a comment (":...") or an unknown
 * field says nothing; a blank line ends the event; what is unfinished at the end of the stream is
 * no event. Where the stream is cut into pieces makes no difference.
 */
#ifndef RATECAST_BENCH_SSE_H
#define RATECAST_BENCH_SSE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct sse_event {
    const char *data; /* NUL-terminated behind `len` bytes; may hold NULs; lives for the call */
    size_t len;
    bool error; /* its data came in a field or an event named "error" */
} sse_event;

typedef struct sse {
    buf line, data;
    size_t limit; /* bytes of one line, and of the data of one event */
    size_t line_no;
    bool has_data, error, behind_cr, over;
    void (*hear)(void *arg, const sse_event *ev);
    void *arg;
} sse;

/* `hear` is called for each event, in order. Release with sse_done. */
void sse_init(sse *s, size_t limit, void (*hear)(void *arg, const sse_event *ev), void *arg);
void sse_done(sse *s);
/* Forgets what it has read: the next byte begins a stream. */
void sse_reset(sse *s);
/* False once a line or an event is over the limit: nothing more is heard. */
bool sse_feed(sse *s, const char *bytes, size_t n);

#endif
