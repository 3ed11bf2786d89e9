/* The blocks of a report (compose.h lists them): tables and lists, as Markdown. */
#ifndef RATECAST_BLOCKS_H
#define RATECAST_BLOCKS_H

#include "base/buf.h"
#include "spec.h"

#include <stdbool.h>

typedef struct block_context {
    const spec *s;
    const char *command;
    arena *mem;
} block_context;

/* Writes the block that `field` ("table h4k") names; false: it names none. A name that the report
 * does not list is an E_SCHEMA without a place. */
bool block_put(const block_context *c, const char *field, buf *out, err *e);
/* ", nearest is \"table\"" for a field that may be a slip of a block's name, "" for all others. */
const char *block_near(const char *field, arena *mem);

#endif
