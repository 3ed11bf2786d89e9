/* The probe's self-test through the Metal host: every kernel of kernels.metal, found, bound and
 * dispatched by bench/gpu_metal.m, against the references. With an argument: the text that Metal
 * compiles, to stdout. */
#include "kernels_text.h"
#include "probe_test.h"

#include <stdio.h>

static int report(const probe_checks *checks) {
    long long cases_n = 0, failed_n = 0;
    for (size_t i = 0; i < checks->n; i++) {
        const probe_check *c = &checks->at[i];
        cases_n += c->cases_n;
        failed_n += c->failed_n;
        printf("%-20s %4lld cases, error %.2e of %.0e\n", c->kernel, (long long)c->cases_n,
               c->error, c->limit);
        if (c->failed_n > 0) printf("FAILED %s: %s\n", c->kernel, c->worst);
    }
    printf("%lld passed, %lld failed\n", cases_n - failed_n, failed_n);
    return failed_n > 0 || cases_n == 0;
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) return fputs(KERNELS_TEXT, stdout) < 0;
    err e = {0};
    gpu *g = NULL;
    probe_checks checks;
    arena *mem = arena_new((size_t)1 << 28);
    int status = 1;
    if (mem && gpu_open("metal", &g, &e) == OK && probe_test_run(g, mem, &checks, &e) == OK)
        status = report(&checks);
    if (e.code != OK) fprintf(stderr, "%s: %s\n", e.where, e.what);
    gpu_close(g);
    arena_free(mem);
    return status;
}
