/* A rate card of a machine that nobody measured, from the roofline. */
#ifndef RATECAST_ROOFLINE_CARD_H
#define RATECAST_ROOFLINE_CARD_H

#include "base/buf.h"
#include "base/prov.h"
#include "roofline.h"

typedef struct roofline_request {
    const char *id;                           /* NULL: made of model, quant and chip */
    const char *model, *quant, *architecture; /* the last may be NULL */
    const char *sizes_source;                 /* where the work is from */
    roofline_work work;
    const hardware *chip;
    double efficiency;  /* > 0: declared, instead of a fit */
    double peak_flop_s; /* > 0: declared, where the catalogue has no arithmetic */
} roofline_request;

/* What a request gets. */
typedef struct roofline_answer {
    roofline_rates rates;
    roofline_fit fit; /* family NULL: declared */
    prov prov;        /* of every point: roofline; assumed where something was declared */
} roofline_answer;

/* E_REFUSED: no bandwidth of the chip, no fit for it, or weights that its memory cannot hold. */
MUST_USE err_code roofline_ask(const roofline_points *p, const roofline_request *q, arena *mem,
                               roofline_answer *out, err *e);
/* The card as JSON text (ratecast.rate-card/1). */
MUST_USE err_code roofline_card_write(const roofline_request *q, const roofline_answer *a,
                                      arena *mem, buf *out, err *e);
/* The terms of a fit in words, for the card and for people. */
const char *roofline_fit_text(const roofline_fit *f, arena *mem);

#endif
