/* A rate card for reading: every point with what it implies (bytes/s, FLOP/s) against the
 * hardware's ceiling, and the step times that a projection would take from it. */
#ifndef RATECAST_REPORT_CARD_H
#define RATECAST_REPORT_CARD_H

#include "base/arena.h"
#include "base/buf.h"
#include "calib/curve_check.h"
#include "card.h"

void report_card_text(const card *c, arena *scratch, buf *out);
/* The step times of a card and how well its curves say points that they have not seen. */
void report_curves_text(const card *c, const curve_check *check, arena *scratch, buf *out);
void report_card_json(const card *c, arena *scratch, buf *out);

#endif
