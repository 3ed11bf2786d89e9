/* The probe's self-test through bench/gpu_cuda.c on the double of the CUDA runtime. */
#include "probe_test.h"

#include <stdio.h>

int main(void) {
    gpu *g = NULL;
    err e = {0};
    probe_checks c = {0};
    arena *mem = arena_new((size_t)64 << 20);
    int code = !mem || gpu_open("cuda", &g, &e) || probe_test_run(g, mem, &c, &e) || c.failed_n > 0;
    for (size_t i = 0; i < c.n; i++)
        if (c.at[i].failed_n) fprintf(stderr, "%s: %s\n", c.at[i].kernel, c.at[i].worst);
    if (e.code) fprintf(stderr, "%s: %s\n", e.where, e.what);
    gpu_close(g);
    arena_free(mem);
    return code || c.n != 17;
}
