/* The points of a rate card beside the curves that a projection takes from them, as a table for
 * plots/card.gp: a point or a piece of a curve a row. */
#ifndef RATECAST_REPORT_CARD_TSV_H
#define RATECAST_REPORT_CARD_TSV_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "card.h"

#include <stddef.h>

/* Columns: phase (decode, prefill), kind (measured, excluded, curve), series (from 1; 0: a context
 * that has no curve of its own, or a prompt at another micro-batch than the curve's), context_tok
 * (decode: mean KV length of a sequence, prefill: depth; empty: not stated), x (decode: sequences
 * in the batch, prefill: new tokens), ms, tok_s (of all sequences). Curves keep to what was
 * measured at their context: nothing is continued beyond. Prefill points are the cells that the fit
 * sees: prompts alone, repetitions pooled. Points that nothing uses are `excluded`, of no series.
 * Returns the number of points. */
size_t report_card_tsv(const card *c, arena *scratch, buf *out);

/* The points that have no place in it, in words; "": all have one. */
const char *report_card_undrawn(const card *c, arena *mem);
/* The refusal of a picture without points: E_REFUSED. */
err_code report_card_no_points(const card *c, const char *where, arena *mem, err *e);

#endif
