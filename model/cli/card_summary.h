/* What a card made of benchmark outputs can project, and which measurements or facts it lacks. */
#ifndef RATECAST_CARD_SUMMARY_H
#define RATECAST_CARD_SUMMARY_H

#include "import.h"

#include <stdbool.h>

/* What a projection needs of a card, and whether it is there. */
typedef struct card_abilities {
    bool decode, batches, prefill; /* curves; several sequences together */
    bool kv, weights;              /* bytes */
} card_abilities;

/* Lines for people, on stderr. `in` is what the card `c` was made of. */
card_abilities card_summary(const import *in, const card *c, arena *mem);

#endif
