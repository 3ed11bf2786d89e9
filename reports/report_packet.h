/* A packet's validation, as text and as `fak.macbench.agentic-comparison.validation.v1`; and a
 * packet written from a projection. */
#ifndef RATECAST_REPORT_PACKET_H
#define RATECAST_REPORT_PACKET_H

#include "audit/audit.h"
#include "audit/packet.h"
#include "base/buf.h"
#include "project.h"

/* `a`: what the rules that the format does not know say of it; NULL: it states too little. */
void report_packet_text(const packet_check *p, const audit *a, bool markdown, arena *mem, buf *out);
void report_packet_json(const packet_check *p, const audit *a, buf *out);

/* Writes a packet from the arms fak-native and llama.cpp of a projection. `identity` is a packet
 * (or a part of one) that says what no projection knows: when and where, revisions, digests, the
 * quality policy and its results. `result` names the projection's JSON and its bytes' digest.
 * E_REFUSED: another model, other arms, or `identity` lacks something. */
MUST_USE err_code report_packet_write(const projection *p, const file_bytes *identity,
                                      const char *result_path, const char *result_sha256,
                                      const char *command, arena *mem, buf *out, err *e);

#endif
