/* What the checks of a rate card share. */
#ifndef RATECAST_CARD_AUDIT_H
#define RATECAST_CARD_AUDIT_H

#include "audit.h"

#include <stdbool.h>
#include <stddef.h>

/* A card with the ceilings of its chip. */
typedef struct card_view {
    auditor *a;
    const card *c;
    const hardware *chip;      /* the catalogue's entry; NULL: none is meant */
    double bw_bytes_s, flop_s; /* from the card, else from the catalogue; 0: not known */
    bool integers;             /* flop_s is the rate of 8-bit integers */
    bool on_cpu;               /* the engine runs on the CPU: a GPU's arithmetic is no ceiling */
    /* of weights that the card names; 0: not known */
    double weight_bits;
    bool mixed_bits; /* some tensors have more: the smaller the model, the more that counts */
} card_view;

/* Points that a check looked at, those that break it, and the worst of them. */
typedef struct tally {
    size_t seen, broken;
    double worst;   /* larger is worse */
    const void *at; /* prefill_point or decode_point */
} tally;

void tally_add(tally *t, bool broken, double how_bad, const void *point);

/* "decode of 4 sequences at context 2048 (file:line)", in the memory of the audit. */
const char *decode_name(const card_view *v, const decode_point *p);
const char *prefill_name(const card_view *v, const prefill_point *p);
/* The text holds the part, in any case. NULL holds nothing. */
bool text_holds(const char *text, const char *part);

/* card_physics.c */
void card_check_ceilings(card_view *v); /* also fills the view's ceilings */
void card_check_roofline(const card_view *v);
void card_check_floor(const card_view *v);
void card_check_time_unit(const card_view *v);
/* card_memory.c */
void card_check_weights(card_view *v); /* also fills weight_bits: first of all */
void card_check_kv(const card_view *v);
void card_check_fits(const card_view *v);
/* card_points.c */
void card_check_batches(const card_view *v);
void card_check_lengths(const card_view *v);
void card_check_cold_samples(const card_view *v);
/* card_curves.c */
void card_check_curves(const card_view *v);

#endif
