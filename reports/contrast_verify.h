/* The commands that would verify a session's figures: its rates, then the session itself. */
#ifndef RATECAST_CONTRAST_VERIFY_H
#define RATECAST_CONTRAST_VERIFY_H

#include "base/buf.h"
#include "project.h"

void contrast_verify(const projection *p, arena *mem, buf *out);

#endif
