/* A roll-up as text and as `fak-cache-value-rollup/1` (rollup.schema.json). The multiple against a
 * session without reuse is printed by neither: nobody ran that session. */
#ifndef RATECAST_REPORT_LEDGER_H
#define RATECAST_REPORT_LEDGER_H

#include "base/arena.h"
#include "base/buf.h"
#include "ledger.h"

/* Verdict, what it rests on, the weeks as a Markdown table. Warnings are left to the caller. */
void report_rollup_text(const rollup *r, arena *mem, buf *out);
/* `files` are the ledgers in the order they were read. */
void report_rollup_json(const rollup *r, const file_bytes *files, size_t files_n, buf *out);

#endif
