/* The shipped catalogue of chips, for tests. */
#ifndef RATECAST_TESTS_HARDWARE_SUPPORT_H
#define RATECAST_TESTS_HARDWARE_SUPPORT_H

#include "support.h"

#include "hardware.h"

/* Read once for the process. */
static inline const hardware_catalogue *support_chips(void) {
    static hardware_catalogue c;
    err e = {0};
    if (c.n == 0)
        cr_assert_eq(hardware_load(RATECAST_REPO "/rates/hardware.json", support_arena(), &c, &e),
                     OK, "%s: %s", e.where, e.what);
    return &c;
}

#endif
