/* An audit as text, Markdown and JSON (`ratecast.audit/1`). Verdict first, findings by weight. */
#ifndef RATECAST_REPORT_AUDIT_H
#define RATECAST_REPORT_AUDIT_H

#include "audit/audit.h"
#include "base/arena.h"
#include "base/buf.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

void report_audit_text(const audit *a, bool markdown, arena *mem, buf *out);
void report_audit_json(const audit *a, const char *sha256, buf *out);
/* Its findings and passes as members of an object. */
void report_audit_lists(const audit *a, cJSON *root);
/* The table of rules: what each says, needs, and how it decides. */
void report_rules(arena *mem, buf *out);

#endif
