/* The agentic-comparison packet (`fak.macbench.agentic-comparison.v1`): its published rules, all
 * fail-closed and all reported together, and the packet as a claim, so that the rules which the
 * format does not know judge it too.
 *
 * The packet's MB are mebibytes, as in the document that prints them.
 */
#ifndef RATECAST_AUDIT_PACKET_H
#define RATECAST_AUDIT_PACKET_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "claim.h"

#include <stdbool.h>
#include <stddef.h>

#define PACKET_SCHEMA "fak.macbench.agentic-comparison.v1"
#define PACKET_VALIDATION_SCHEMA "fak.macbench.agentic-comparison.validation.v1"

typedef struct violation {
    const char *rule;  /* "boundary", or the name of the field that is off */
    const char *where; /* JSON pointer */
    const char *what;  /* found, expected */
} violation;

typedef struct packet_check {
    const char *path, *campaign_id;
    char sha256[65]; /* of the file's bytes */
    bool valid;
    bool legacy;          /* an arm's wall-clock holds its queue contention */
    double speedup_ratio; /* as the summary prints it; 0: it does not */
    double gate;
    const violation *violations;
    size_t n;
    const claim *claim; /* what the packet states, for audit_claim; NULL: not enough of it */
} packet_check;

/* E_SYNTAX, E_SCHEMA: not JSON, or no object. A packet that breaks rules is no error. */
MUST_USE err_code packet_parse(const file_bytes *f, arena *mem, packet_check *out, err *e);

#endif
