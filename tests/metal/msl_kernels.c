/* The kernels of the product for the double of Metal: kernels.metal itself, a fiber a GPU thread
 * (bench/msl). */
#include "fake_kernels.h"

#include "msl/fibers.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(MSL_BINDINGS_MAX <= FAKE_SLOTS, "every binding of a kernel is a slot");

static void run(const fake_kernel *k, const fake_launch *l) {
    const char *seed = getenv("RATECAST_PROBE_SEED");
    msl_launch launch = {.kernel = k->own,
                         .group_memory_bytes = l->group_memory_bytes,
                         .seed = seed ? strtoull(seed, NULL, 10) : 1};
    for (int i = 0; i < MSL_BINDINGS_MAX; i++) launch.bindings.buffer[i] = l->slots[i];
    for (int a = 0; a < 3; a++) {
        launch.groups[a] = (uint32_t)l->groups[a];
        launch.group[a] = (uint32_t)l->group[a];
    }
    msl_run(&launch);
}

const fake_kernel *fake_kernel_named(const char *name) {
    static fake_kernel made[64]; /* as MSL_KERNELS */
    for (size_t i = 0; i < sizeof made / sizeof *made && MSL_KERNELS[i].name; i++)
        if (strcmp(MSL_KERNELS[i].name, name) == 0) {
            made[i] =
                (fake_kernel){.name = MSL_KERNELS[i].name, .run = run, .own = &MSL_KERNELS[i]};
            return &made[i];
        }
    return NULL;
}
