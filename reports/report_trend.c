#include "report_trend.h"

#include "metric.h"
#include "spark.h"
#include "table.h"

#include <math.h>

static const struct {
    const char *name, *metric;
} TRENDS[] = {
    {"wall-clock", "wall_s"}, {"TTFT cold p50", "ttft_cold_p50_s"}, {"peak memory", "peak_bytes"}};

/* Values of one arm over the sweep; false when it has none. */
static bool series(const scenario *s, const sweep_point *points, size_t arm_i, const char *metric,
                   double *v, double *hi) {
    bool any = false;
    for (size_t i = 0; i < s->sweep_n; i++) {
        const projection *p = points[i].p;
        if (!metric_get(p, &p->arms[arm_i], metric, &v[i])) {
            v[i] = (double)NAN;
            continue;
        }
        any = true;
        if (v[i] > *hi) *hi = v[i];
    }
    return any;
}

void report_trend(const scenario *s, const sweep_point *points, arena *scratch, buf *out) {
    static const char *const HEAD[] = {"trend, from 0", "arm", ""};
    const projection *first = points[0].p;
    double *v = ARENA_ARRAY(scratch, double, s->sweep_n);
    table *t = table_new(scratch, sizeof HEAD / sizeof *HEAD);
    if (s->sweep_n < 2 || !v || !t) return;
    table_left(t, 1);
    table_left(t, 2);
    table_row(t, HEAD);
    for (size_t k = 0; k < sizeof TRENDS / sizeof *TRENDS; k++) {
        double hi = 0; /* one scale for all arms */
        for (size_t a = 0; a < first->arms_n; a++)
            (void)series(s, points, a, TRENDS[k].metric, v, &hi);
        for (size_t a = 0; a < first->arms_n; a++) {
            if (!series(s, points, a, TRENDS[k].metric, v, &hi)) continue;
            buf line;
            buf_init(&line);
            spark(v, s->sweep_n, 0, hi, &line);
            const char *row[] = {TRENDS[k].name, first->arms[a].arm->name,
                                 arena_strdup(scratch, line.s)};
            table_row(t, row);
            buf_done(&line);
        }
    }
    buf_add(out, "\n");
    table_markdown(t, out);
}
