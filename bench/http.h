/* Requests over HTTP, any number in flight, in one thread.
 *
 * Each request has a connection of its own, made for it and closed behind it. Proxies of the
 * environment and redirects are not followed: what is measured is the server that was named. Times
 * are CLOCK_MONOTONIC nanoseconds, taken where bytes arrive.
 */
#ifndef RATECAST_BENCH_HTTP_H
#define RATECAST_BENCH_HTTP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct http http;

typedef struct http_end {
    long status;         /* 0: no reply came */
    const char *failure; /* NULL: the reply is whole; else why not, in words; lives for the call */
} http_end;

typedef struct http_call {
    const char *path; /* below the server's URL, from its slash on */
    /* JSON to POST; NULL: GET. Not copied: has to stay until `done`. */
    const char *body;
    size_t body_len;
    double timeout_s; /* of the whole request, > 0 */
    /* A piece of the reply's body, whatever its status. False: read no more of it. */
    bool (*data)(void *arg, const char *s, size_t n, int64_t at_ns);
    void (*done)(void *arg, const http_end *end, int64_t at_ns);
    void *arg;
} http_call;

int64_t http_now_ns(void);

/* `url`: http or https, with a path in front of all others if it has one. E_USAGE: it is no such
 * URL; E_NOMEM. */
MUST_USE err_code http_new(const char *url, http **out, err *e);
/* Ends what is in flight, without a word. */
void http_free(http *h);
const char *http_url(const http *h);

MUST_USE err_code http_start(http *h, const http_call *c, err *e);
/* Waits until something arrives, a signal comes or `until_ns`, a second at most, and makes the
 * calls that are due. E_EXTERN: libcurl failed as a whole. */
MUST_USE err_code http_step(http *h, int64_t until_ns, err *e);
/* Ends what is in flight, without a word. */
void http_cancel(http *h);

/* One request and its whole reply (up to 64 MiB), with nothing else in flight. E_EXTERN: none came,
 * with a hint where the server refuses to talk. An error status is a reply. */
MUST_USE err_code http_fetch(http *h, const char *path, const char *body, double timeout_s,
                             buf *reply, long *status, err *e);

#endif
