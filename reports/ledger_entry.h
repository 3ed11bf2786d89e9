/* A new row for a ledger: of a projection (provenance modeled) or of a witnessed run.
 *
 * Token counts are what the prefix cache was presented with and what was taken from it. Everything
 * lives in the arena that made it, or in the witness it is of. */
#ifndef RATECAST_LEDGER_ENTRY_H
#define RATECAST_LEDGER_ENTRY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/prov.h"
#include "calib/witness.h"

typedef struct ledger_entry {
    const char *date; /* YYYY-MM-DD */
    const char *session_type, *provider, *mechanism, *context;
    int64_t turns, prompt_tok, reused_tok;
    prov prov;
    /* Where it comes from: keys of "source", which tell two rows of equal counts apart. */
    const char *source_schema, *source_id, *source_arm;
    const char *source_sha256; /* NULL: left out */
} ledger_entry;

/* Of one arm of a `ratecast.result/1` (a sweep is refused): turns are K x H. `arm_name` NULL: the
 * only one. E_USAGE: no such arm (nearest named); E_SYNTAX, E_SCHEMA, E_RANGE: not such a result,
 * or tokens that do not add up. date, provider and context are left for the caller. */
MUST_USE err_code ledger_of_result(const file_bytes *f, const char *arm_name, arena *mem,
                                   ledger_entry *out, err *e);

/* Of one run: sums over its recorded turns, the server's own counts. E_USAGE: no such run (nearest
 * named); E_REFUSED: it is excluded, or turns are missing (the summary of a run counts no prompt
 * tokens, so nothing can stand in for them). */
MUST_USE err_code ledger_of_witness(const witness *w, const char *run_id, arena *mem,
                                    ledger_entry *out, err *e);

/* The row as one line with its end. */
void ledger_entry_line(const ledger_entry *x, buf *out);

#endif
