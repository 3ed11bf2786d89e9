#include "report_memory.h"

#include "number.h"

static const char MARK[] = "‡";

const char *report_peak(const arm_result *a, arena *mem) {
    const char *mib = number_mib(mem, a->m.memory.peak_bytes);
    return a->fit.over_bytes > 0 ? arena_printf(mem, "%s %s", mib, MARK) : mib;
}

/* What follows for a reader of the gains. */
static const char *consequence(const projection *p, size_t arm_i) {
    const arm_result *a = &p->arms[arm_i];
    bool gains = p->arms_n > 1, may = a->fit.outcome == MEMORY_CANNOT_TELL;
    if (gains && arm_i == p->baseline)
        return may ? "a gain over it may be over an arm that cannot run"
                   : "it cannot run, and a gain over it is over an arm that cannot run";
    if (gains && arm_i == 0)
        return may ? "its gain may be of an arm that cannot run"
                   : "it cannot run, and its gain is of an arm that cannot run";
    return may ? "it may not run" : "it cannot run";
}

void report_misfits(const scenario *s, const sweep_point *points, size_t n, buf *out) {
    bool any = false;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < points[k].p->arms_n; i++) {
            const arm_result *a = &points[k].p->arms[i];
            char text[160];
            memory_fit_say(a, text, sizeof text);
            if (!text[0]) continue;
            if (!any) buf_addf(out, "\n%s Does not fit the memory\n\n", MARK);
            any = true;
            buf_addf(out, "- %s", a->arm->name);
            if (n > 1) buf_addf(out, ", %s = %s", s->sweep_path, s->sweep_values[k]);
            buf_addf(out, ": %s; %s\n", text, consequence(points[k].p, i));
        }
}
