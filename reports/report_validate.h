/* `ratecast validate` and `ratecast fit` for reading and as JSON (`ratecast.validate/1`). */
#ifndef RATECAST_REPORT_VALIDATE_H
#define RATECAST_REPORT_VALIDATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "calib/host_fit.h"
#include "calib/score.h"

void report_validate_text(const score *s, const witness *w, arena *scratch, buf *out);
void report_validate_json(const score *s, const witness *w, buf *out);
/* Projected against witnessed walls, one line a run, for plots/validate.gp. */
void report_validate_tsv(const score *s, buf *out);
/* Runs that were left out, by reason; nothing when there are none. */
void report_excluded(const replay *all, size_t n, bool calibrate_only, buf *out);
/* `spread_from`: where the spread of identical runs comes from. */
void report_fit_text(const host_fit *f, const card *c, const char *spread_from, arena *scratch,
                     buf *out);

#endif
