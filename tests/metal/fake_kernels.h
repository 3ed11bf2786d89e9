/* What the double of Metal runs in place of compiled kernels: functions on the CPU, by name. */
#ifndef RATECAST_TESTS_FAKE_KERNELS_H
#define RATECAST_TESTS_FAKE_KERNELS_H

#include <stddef.h>

enum { FAKE_SLOTS = 31 }; /* buffer arguments that an encoder holds, as documented */

typedef struct fake_launch {
    void *slots[FAKE_SLOTS];       /* buffers, at their offsets, and copied bytes */
    size_t slot_bytes[FAKE_SLOTS]; /* from there on */
    size_t group_memory_bytes;     /* of threadgroup memory 0 */
    size_t groups[3], group[3];    /* thread groups, threads of a group */
} fake_launch;

typedef struct fake_kernel {
    const char *name;
    void (*run)(const struct fake_kernel *k, const fake_launch *l);
    const void *own; /* run's */
} fake_kernel;

/* NULL: no such kernel. */
const fake_kernel *fake_kernel_named(const char *name);

#endif
