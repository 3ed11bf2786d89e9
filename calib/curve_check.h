/* How well the curves of a card say what they have not seen: points are left out, the curves are
 * fitted to the rest, and the points are compared with what these curves say of them. */
#ifndef RATECAST_CURVE_CHECK_H
#define RATECAST_CURVE_CHECK_H

#include "curve.h"

typedef struct left_out {
    size_t n; /* points said by a curve that has not seen them; 0: nothing can be left out */
    double median_frac, worst_frac; /* of |said / measured - 1| */
    const char *worst_at;
} left_out;

typedef struct curve_check {
    left_out decode_batch;   /* a whole batch size, between two others */
    left_out decode_context; /* one context of a batch size that has others */
    left_out prefill_depth;  /* one depth of a length that has others */
    left_out prefill_length; /* a whole length, between two others */
} curve_check;

/* E_REFUSED when the card gives neither curve; a refit that is refused counts as nothing to leave
 * out. Tens of milliseconds for a hundred points. */
MUST_USE err_code curve_check_run(const card *c, arena *mem, curve_check *out, err *e);

#endif
