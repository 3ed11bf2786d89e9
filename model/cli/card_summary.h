/* What a card made of benchmark outputs can project, and which measurements or facts it lacks. */
#ifndef RATECAST_CARD_SUMMARY_H
#define RATECAST_CARD_SUMMARY_H

#include "import.h"

/* Lines for people, on stderr. `in` is what the card `c` was made of. */
void card_summary(const import *in, const card *c, arena *mem);

#endif
