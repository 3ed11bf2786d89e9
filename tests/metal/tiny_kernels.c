/* tiny.metal in C: enough to see what a host binds where, in which order its dispatches run and
 * that their grids are whole. */
#include "fake_kernels.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t volume(const size_t n[3]) {
    return n[0] * n[1] * n[2];
}

static void tiny_copy(const fake_kernel *k, const fake_launch *l) {
    (void)k;
    memcpy(l->slots[1], l->slots[0], 4 * volume(l->groups) * volume(l->group));
}

static void tiny_add(const fake_kernel *k, const fake_launch *l) {
    (void)k;
    const uint32_t *args = l->slots[1];
    uint32_t *out = l->slots[0];
    for (size_t i = 0; i < volume(l->groups) * volume(l->group); i++) out[args[0] + i] += args[1];
}

static void tiny_group_sum(const fake_kernel *k, const fake_launch *l) {
    (void)k;
    const uint32_t *in = l->slots[0];
    uint32_t *out = l->slots[1];
    if (l->group_memory_bytes < 4 * volume(l->group)) abort();
    for (size_t g = 0; g < volume(l->groups); g++) {
        out[g] = 0;
        for (size_t i = 0; i < volume(l->group); i++) out[g] += in[g * volume(l->group) + i];
    }
}

static void tiny_overrun(const fake_kernel *k, const fake_launch *l) {
    (void)k;
    ((uint32_t *)l->slots[0])[((const uint32_t *)l->slots[1])[0]] = 1;
}

const fake_kernel *fake_kernel_named(const char *name) {
    static const fake_kernel KERNELS[] = {
        {"tiny_copy", tiny_copy, NULL},
        {"tiny_add", tiny_add, NULL},
        {"tiny_group_sum", tiny_group_sum, NULL},
        {"tiny_overrun", tiny_overrun, NULL},
    };
    for (size_t i = 0; i < sizeof KERNELS / sizeof *KERNELS; i++)
        if (strcmp(KERNELS[i].name, name) == 0) return &KERNELS[i];
    return NULL;
}
