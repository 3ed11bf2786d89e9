/* Speed as ratios within one run (`make -f Makefile.verify perf`): a busy machine moves both sides.
 * No test depends on it. */
#include "project.h"

#include "property/stepper.h"

#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static card_library LIB = {.dirs = {RATECAST_REPO "/rates"}, .n = 1};

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const scenario *load(const char *path, const char *const *sets, size_t n, arena *mem) {
    err e = {0};
    const scenario *s = NULL;
    char full[512];
    snprintf(full, sizeof full, "%s/%s", RATECAST_REPO, path);
    if (scenario_load(full, &LIB, sets, n, mem, &s, &e)) {
        fprintf(stderr, "perf: %s: %s\n", e.where, e.what);
        return NULL;
    }
    return s;
}

/* Median CPU seconds of 9 runs of all arms; the first projection is left in *last. */
static double engine_s(const scenario *s, arena *mem, const projection **last) {
    double t[9];
    for (int i = 0; i < 9; i++) {
        err e = {0};
        double start = now_s();
        (void)project_run(s, NULL, 0, mem, last, &e);
        t[i] = now_s() - start;
        for (int j = i; j > 0 && t[j] < t[j - 1]; j--) {
            double swap = t[j];
            t[j] = t[j - 1];
            t[j - 1] = swap;
        }
    }
    return t[4];
}

static double stepper_s(const projection *p) {
    double start = now_s();
    for (size_t a = 0; a < p->arms_n; a++)
        (void)stepper_run(p->arms[a].arm, &p->scenario->work, p->arms[a].cost);
    return now_s() - start;
}

int main(void) {
    gsl_set_error_handler_off();
    arena *mem = arena_new((size_t)8 << 30);
    const char *const H2[] = {"workload.H=400"}, *const OUT10[] = {"workload.turn_out_tok=200"};
    const char *fleet = "scenarios/fleet_5x200_h200.json";
    const scenario *base = load(fleet, NULL, 0, mem), *twice = load(fleet, H2, 1, mem),
                   *longer = load(fleet, OUT10, 1, mem);
    const projection *p = NULL, *q = NULL, *r = NULL;
    if (!mem || !base || !twice || !longer) return 1;
    double t = engine_s(base, mem, &p), t2 = engine_s(twice, mem, &q),
           t10 = engine_s(longer, mem, &r), slow = stepper_s(p);
    int64_t events = 0, tokens = 0;
    for (size_t a = 0; a < p->arms_n; a++) {
        events += p->arms[a].sim.events_n;
        tokens += p->arms[a].sim.output_tok;
    }
    printf("fleet 5 x 200 on an H200, four arms: %lld events, %lld output tokens\n",
           (long long)events, (long long)tokens);
    printf("token-by-token stepper / engine        %6.1fx\n", slow / t);
    printf("twice the turns / once                 %6.2fx   (requests: 2)\n", t2 / t);
    printf("ten times the output tokens / once     %6.2fx   (tokens: 10)\n", t10 / t);
    printf("engine                                 %6.0f ns an event\n", t / (double)events * 1e9);
    arena_free(mem);
    return 0;
}
