/* Event queue: a binary heap by value, in a total order.
 *
 * Order: time, then rank (at one instant the device finishes before requests arrive), then first
 * in, first out. Capacity is fixed at creation; a closed-loop session keeps at most one pending
 * event per agent. */
#ifndef RATECAST_EVQ_H
#define RATECAST_EVQ_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum event_kind { EV_DEVICE_DONE, EV_SEND } event_kind; /* the value is the rank */

typedef struct event {
    int64_t t_ns;
    event_kind kind;
    int64_t agent; /* EV_SEND: whose next turn */
    uint64_t seq;  /* set by evq_push */
} event;

typedef struct evq evq;

evq *evq_new(arena *mem, size_t capacity); /* NULL: memory */
void evq_push(evq *q, event ev);           /* asserts that there is room */
event evq_pop(evq *q);                     /* asserts that it is not empty */
const event *evq_peek(const evq *q);       /* NULL when empty */
size_t evq_size(const evq *q);

#endif
