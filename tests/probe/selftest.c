/* The probe's self-test on the CPU backend as a program of its own: what the mutants of the kernels
 * are linked with. */
#include "probe_test.h"

#include <stdio.h>

int main(void) {
    err e = {0};
    gpu *g = NULL;
    probe_checks c;
    arena *mem = arena_new((size_t)1 << 30);
    if (!mem || gpu_open("cpu", &g, &e) || probe_test_run(g, mem, &c, &e)) {
        fprintf(stderr, "%s: %s\n", e.where, e.what);
        return 1;
    }
    for (size_t i = 0; i < c.n; i++)
        if (c.at[i].failed_n > 0)
            printf("%s: %lld of %lld cases, error %.1e (%s)\n", c.at[i].kernel,
                   (long long)c.at[i].failed_n, (long long)c.at[i].cases_n, c.at[i].error,
                   c.at[i].worst);
    gpu_close(g);
    arena_free(mem);
    return c.failed_n > 0;
}
