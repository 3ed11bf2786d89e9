/* WITNESSED | MODELED | ROOFLINE: what was measured, what the projection says and what the machine
 * could do at most, side by side, with the commands that would verify each modeled figure.
 *
 * Ceilings: a sequence needs a pass over the weights for each of its tokens, and its tokens come
 * one after another, so a session takes at least (output tokens of its longest agent, or of all
 * agents where one waits for another) x weights / bandwidth; B sequences decode at most B tokens a
 * pass; no token comes before one pass. */
#ifndef RATECAST_CONTRAST_H
#define RATECAST_CONTRAST_H

#include "base/buf.h"
#include "spec.h"

void contrast_put(const spec *s, const named_run *r, arena *mem, buf *out);

#endif
