#include "cli/trace_files.h"

#include "base/file.h"
#include "report_trace.h"

#include <string.h>

/* Seconds as digits with at most nine decimals, exactly; false: something else, or 2^62 ns and
 * more. */
static bool read_seconds(const char *s, size_t n, int64_t *ns) {
    int64_t v = 0;
    int decimals = -1;
    if (n == 0 || s[0] == '.' || s[n - 1] == '.') return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (s[i] < '0' || s[i] > '9' || v > TIME_MAX_NS / 10 - 1) return false;
        v = 10 * v + (s[i] - '0');
        if (decimals >= 0 && ++decimals > 9) return false;
    }
    for (int i = decimals < 0 ? 0 : decimals; i < 9; i++) {
        if (v > TIME_MAX_NS / 10 - 1) return false;
        v *= 10;
    }
    *ns = v;
    return true;
}

static bool read_window(const char *s, span_window *w) {
    const char *colon = strchr(s, ':');
    return colon && read_seconds(s, (size_t)(colon - s), &w->from_ns) &&
           read_seconds(colon + 1, strlen(colon + 1), &w->to_ns) && w->from_ns < w->to_ns;
}

static bool same_target(const char *a, const char *b) {
    return a && b && (strcmp(a, b) == 0 || file_same(a, b));
}

err_code trace_files_check(const opts *o, bool sweep, span_window *w, err *e) {
    static const char *const FILES[] = {"trace-events", "timeline-tsv", "output", "packet"};
    enum { FILES_N = sizeof FILES / sizeof *FILES, OWN_N = 2 };
    const char *window = opts_get(o, "trace-window");
    bool any = opts_has(o, FILES[0]) || opts_has(o, FILES[1]);
    *w = TRACE_ALL;
    if (window && !any)
        return err_set(e, E_USAGE, "--trace-window",
                       "found no --trace-events FILE or --timeline-tsv FILE, expected one beside "
                       "it");
    if (window && !read_window(window, w))
        return err_set(e, E_USAGE, "--trace-window",
                       "found \"%s\", expected FROM:TO in seconds, FROM before TO, such as 0:12.5",
                       window);
    if (any && sweep)
        return err_set(e, E_USAGE, opts_has(o, FILES[0]) ? "--trace-events" : "--timeline-tsv",
                       "the scenario has a sweep: --set one of its values");
    for (size_t i = 0; i < OWN_N; i++) {
        const char *path = opts_get(o, FILES[i]);
        if (path && (path[0] == '\0' || strcmp(path, "-") == 0))
            return err_set(e, E_USAGE, i ? "--timeline-tsv" : "--trace-events",
                           "found \"%s\", expected a file", path);
        for (size_t j = i + 1; j < FILES_N; j++)
            if (same_target(path, opts_get(o, FILES[j])))
                return err_set(e, E_USAGE, i ? "--timeline-tsv" : "--trace-events",
                               "%s is also the file of --%s, expected another one", path, FILES[j]);
    }
    return OK;
}

err_code trace_files_compose(const opts *o, const projection *p, span_window w, arena *mem,
                             buf *events, buf *tsv, err *e) {
    trace t;
    trace_options how = {
        .window = w, .most_n = TRACE_EVENTS_MAX, .rows_only = !opts_has(o, "trace-events")};
    if (!opts_has(o, "trace-events") && !opts_has(o, "timeline-tsv")) return OK;
    if (trace_new(p, how, mem, &t, e) == OK) {
        if (opts_has(o, "trace-events")) report_trace_events(&t, events);
        if (opts_has(o, "timeline-tsv")) report_timeline_tsv(&t, tsv);
    }
    trace_done(&t);
    return e->code;
}
