#include "report_stack_tsv.h"

#include "tsv.h"

#include <inttypes.h>

static void add_arm(const projection *p, const arm_result *r, buf *out) {
    const int64_t parts[] = {r->sim.wall_ns, r->sim.prefill_ns, r->sim.decode_ns, r->sim.other_ns,
                             r->sim.idle_ns};
    tsv_text(r->arm->name, out);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buf_add(out, "\t");
        tsv_ns_as_s(parts[i], out);
    }
    buf_add(out, "\t");
    if (r->wall.known) tsv_ns_as_s(r->wall.lo_ns, out);
    buf_add(out, "\t");
    if (r->wall.known) tsv_ns_as_s(r->wall.hi_ns, out);
    buf_add(out, "\t");
    if (r->sim.wall_ns > 0)
        buf_addf(out, "%.12f", (double)p->arms[p->baseline].sim.wall_ns / (double)r->sim.wall_ns);
    buf_addf(out, "\t%d\n", r->extrapolations_n > 0);
}

void report_stack_tsv(const projection *p, buf *out) {
    const scenario *s = p->scenario;
    size_t by_scatter = 0, with_host = 0;
    for (size_t i = 0; i < p->arms_n; i++) {
        by_scatter += p->arms[i].wall.known && !p->arms[i].wall.with_host;
        with_host += p->arms[i].wall.known && p->arms[i].wall.with_host;
    }
    tsv_banner(projection_prov(p), projection_simulated(p), out);
    tsv_text(s->id, out);
    buf_addf(out, "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t", s->work.K, s->work.H, s->work.P);
    tsv_text(p->arms[p->baseline].arm->name, out);
    buf_addf(out, "\t%s", interval_name(by_scatter, with_host));
    buf_add(out, "\narm\twall_s\tprefill_s\tdecode_s\tother_s\tidle_s\tlo_s\thi_s\tspeedup\t"
                 "extrapolated\n");
    for (size_t i = 0; i < p->arms_n; i++) add_arm(p, &p->arms[i], out);
}
