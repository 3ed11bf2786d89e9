/* A packet's statements as a claim. */
#ifndef RATECAST_AUDIT_PACKET_CLAIM_H
#define RATECAST_AUDIT_PACKET_CLAIM_H

#include "base/arena.h"
#include "claim.h"

#include <cjson/cJSON.h>

/* NULL: the packet states too little of its own (the fields' own rules then say so). */
const claim *packet_as_claim(const cJSON *root, const char *name, arena *mem);

#endif
