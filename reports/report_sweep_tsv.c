#include "report_sweep_tsv.h"

#include "metric.h"
#include "tsv.h"

static void cell(const projection *p, const arm_result *r, const char *metric, double per,
                 buf *out) {
    double v;
    buf_add(out, "\t");
    if (metric_get(p, r, metric, &v)) buf_addf(out, "%.9g", v * per);
}

void report_sweep_tsv(const scenario *s, const sweep_point *points, buf *out) {
    const double mib = 1024 * 1024;
    const projection *first = points[0].p;
    prov worst = PROV_MODELED;
    for (size_t i = 0; i < s->sweep_n; i++)
        worst = prov_weakest(worst, projection_prov(points[i].p));
    bool simulated = false;
    for (size_t i = 0; i < s->sweep_n; i++) simulated |= projection_simulated(points[i].p);
    tsv_banner(worst, simulated, out);
    tsv_text(s->id, out);
    buf_add(out, "\t");
    tsv_text(s->sweep_path, out);
    buf_add(out, "\t");
    if (s->memory_budget_bytes > 0)
        buf_addf(out, "%.9g", (double)s->memory_budget_bytes / mib);
    else
        buf_add(out, "-");
    buf_add(out, "\t");
    tsv_text(first->arms[first->baseline].arm->name, out);
    buf_add(out, "\nvalue\tarm\twall_s\tspeedup\tttft_cold_p50_ms\tttft_warm_p50_ms\tpeak_"
                 "mib\textrapolated\n");
    for (size_t i = 0; i < s->sweep_n; i++) {
        const projection *p = points[i].p;
        for (size_t a = 0; a < p->arms_n; a++) {
            const arm_result *r = &p->arms[a];
            buf_addf(out, "%s\t", s->sweep_values[i]);
            tsv_text(r->arm->name, out);
            cell(p, r, "wall_s", 1, out);
            buf_add(out, "\t");
            if (r->sim.wall_ns > 0)
                buf_addf(out, "%.9g",
                         (double)p->arms[p->baseline].sim.wall_ns / (double)r->sim.wall_ns);
            cell(p, r, "ttft_cold_p50_s", 1e3, out);
            cell(p, r, "ttft_warm_p50_s", 1e3, out);
            cell(p, r, "peak_bytes", 1 / mib, out);
            buf_addf(out, "\t%d\n", r->extrapolations_n > 0);
        }
    }
}
