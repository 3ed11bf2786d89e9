#include "cli/trace_files.h"

#include "base/file.h"
#include "plots/plot.h"
#include "report_trace.h"
#include "tsv.h"

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

static const char *const FILES[] = {"trace-events", "timeline-tsv", "timeline-plot",
                                    "output",       "packet",       "plot"};
static const char *const OPTIONS[] = {"--trace-events", "--timeline-tsv", "--timeline-plot"};
enum { FILES_N = sizeof FILES / sizeof *FILES, OWN_N = sizeof OPTIONS / sizeof *OPTIONS };

static const char *first_given(const opts *o) {
    for (size_t i = 0; i < OWN_N; i++)
        if (opts_has(o, FILES[i])) return OPTIONS[i];
    return NULL;
}

err_code trace_files_check(const opts *o, bool sweep, span_window *w, err *e) {
    const char *window = opts_get(o, "trace-window"), *any = first_given(o);
    *w = TRACE_ALL;
    if (window && !any)
        return err_set(e, E_USAGE, "--trace-window",
                       "found no --trace-events, --timeline-tsv or --timeline-plot FILE, expected "
                       "one beside it");
    if (window && !read_window(window, w))
        return err_set(e, E_USAGE, "--trace-window",
                       "found \"%s\", expected FROM:TO in seconds, FROM before TO, such as 0:12.5",
                       window);
    if (any && sweep)
        return err_set(e, E_USAGE, any, "the scenario has a sweep: --set one of its values");
    for (size_t i = 0; i < OWN_N; i++) {
        const char *path = opts_get(o, FILES[i]);
        if (path && (path[0] == '\0' || strcmp(path, "-") == 0))
            return err_set(e, E_USAGE, OPTIONS[i], "found \"%s\", expected a file", path);
        for (size_t j = i + 1; j < FILES_N; j++)
            if (cli_same_target(path, opts_get(o, FILES[j])))
                return err_set(e, E_USAGE, OPTIONS[i],
                               "%s is also the file of --%s, expected another one", path, FILES[j]);
    }
    if (cli_plot_check(o, e)) return e->code;
    if (cli_same_target(opts_get(o, "plot"), opts_get(o, "packet")))
        return err_set(e, E_USAGE, "--plot", "found %s, which --packet names too",
                       opts_get(o, "plot"));
    const char *picture = opts_get(o, "timeline-plot");
    return picture ? plot_check_path("--timeline-plot", picture, e) : OK;
}

/* The table has two lines of heading. */
err_code trace_files_compose(const opts *o, const projection *p, span_window w, arena *mem,
                             trace_texts *out, err *e) {
    bool events = opts_has(o, "trace-events"), tsv = opts_has(o, "timeline-tsv");
    trace t;
    if (events || tsv) {
        trace_options how = {.window = w, .most_n = TRACE_EVENTS_MAX, .rows_only = !events};
        if (trace_new(p, how, mem, &t, e) == OK) {
            if (events) report_trace_events(&t, &out->events);
            if (tsv) report_timeline_tsv(&t, &out->tsv);
        }
        trace_done(&t);
    }
    if (e->code || !opts_has(o, "timeline-plot")) return e->code;
    trace_options drawn = {.window = w, .most_n = TRACE_PLOT_SPANS_MAX, .rows_only = true};
    if (trace_new(p, drawn, mem, &t, e) == OK) {
        buf table;
        buf_init(&table);
        report_timeline_tsv(&t, &table);
        tsv_text(table.s, &out->plotted); /* the file that is asked for has names as they are */
        buf_done(&table);
    }
    trace_done(&t);
    if (!e->code && !report_timeline_has_rows(&out->plotted))
        return err_set(e, E_REFUSED, "--timeline-plot", "nothing happens in the window");
    return e->code;
}

err_code trace_files_write(const opts *o, const trace_texts *t, arena *mem, err *e) {
    if (t->events.len && file_write(opts_get(o, "trace-events"), t->events.s, t->events.len, e))
        return e->code;
    if (t->tsv.len && file_write(opts_get(o, "timeline-tsv"), t->tsv.s, t->tsv.len, e))
        return e->code;
    if (t->arms.len &&
        plot_run(cli_data_path(t->script, mem), t->arms.s, t->arms.len, opts_get(o, "plot"), e))
        return e->code;
    if (t->plotted.len)
        return plot_run(cli_data_path("plots/timeline.gp", mem), t->plotted.s, t->plotted.len,
                        opts_get(o, "timeline-plot"), e);
    return OK;
}

void trace_texts_init(trace_texts *t) {
    buf_init(&t->events);
    buf_init(&t->tsv);
    buf_init(&t->plotted);
    buf_init(&t->arms);
    t->script = NULL;
}

void trace_texts_done(trace_texts *t) {
    buf_done(&t->events);
    buf_done(&t->tsv);
    buf_done(&t->plotted);
    buf_done(&t->arms);
}
