#include "report_trace.h"

#include "tsv.h"

#include "base/jsonw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const BANNER = "replayed by a simulator; no part of this session ran on silicon";

static bool is_part(const trace *t) {
    return t->o.window.from_ns > TRACE_ALL.from_ns || t->o.window.to_ns < TRACE_ALL.to_ns;
}

static void add_s(buf *out, int64_t ns) {
    enum { NS_PER_S = 1000000000 };
    buf_addf(out, "%" PRId64 ".%09" PRId64, ns / NS_PER_S, ns % NS_PER_S);
}

/* ---- Trace Event JSON ---- */

/* Thread ids differ over all arms: some viewers know a thread by its id alone. */
static int64_t tid_of(const trace *t, size_t arm_i, int64_t agent) {
    return (int64_t)arm_i * (t->p->scenario->work.K + 1) + 1 + agent;
}

static void add_json_str(buf *out, const char *s) {
    cJSON *node = cJSON_CreateString(s);
    char *text = node ? cJSON_PrintUnformatted(node) : NULL;
    cJSON_Delete(node);
    if (!text) abort(); /* out of memory, as in buf.h */
    buf_add(out, text);
    cJSON_free(text);
}

static void add_us(buf *out, const char *key, int64_t ns) {
    buf_addf(out, ",\"%s\":%" PRId64 ".%03" PRId64, key, ns / 1000, ns % 1000);
}

static void add_names(const trace *t, size_t arm_i, buf *out) {
    const arm_result *r = &t->p->arms[arm_i];
    long long pid = (long long)arm_i + 1;
    buf_addf(out, "{\"ph\":\"M\",\"pid\":%lld,\"name\":\"process_name\",\"args\":{\"name\":", pid);
    add_json_str(out, r->arm->name);
    buf_addf(out, "}},\n{\"ph\":\"M\",\"pid\":%lld,\"name\":\"process_labels\",\"args\":", pid);
    buf_addf(out, "{\"labels\":\"%s\"}}", PROV_NAMES[r->time_prov]);
    for (int64_t k = 0; k <= t->p->scenario->work.K; k++) {
        buf_addf(out, ",\n{\"ph\":\"M\",\"pid\":%lld,\"tid\":%" PRId64, pid, tid_of(t, arm_i, k));
        buf_add(out, ",\"name\":\"thread_name\",\"args\":{\"name\":");
        if (k == 0)
            buf_add(out, "\"device\"}}");
        else
            buf_addf(out, "\"agent %" PRId64 "\"}}", k);
    }
}

/* agent 0 is the device */
static void add_span(const trace *t, size_t arm_i, int64_t agent, int64_t turn, const span *s,
                     buf *out) {
    buf_addf(out,
             ",\n{\"ph\":\"X\",\"pid\":%lld,\"tid\":%" PRId64 ",\"name\":\"%s\",\"cat\":\"%s\"",
             (long long)arm_i + 1, tid_of(t, arm_i, agent), SPAN_KIND_NAMES[s->kind],
             agent ? "agent" : "device");
    add_us(out, "ts", s->start_ns);
    add_us(out, "dur", s->end_ns - s->start_ns);
    if (agent)
        buf_addf(out, ",\"args\":{\"turn\":%" PRId64 ",\"tokens\":%" PRId64 "}}", turn, s->tokens);
    else if (s->batch_n)
        buf_addf(out, ",\"args\":{\"batch_n\":%" PRId64 ",\"tokens\":%" PRId64 "}}", s->batch_n,
                 s->tokens);
    else
        buf_add(out, "}");
}

/* bp "e": an end belongs to the span around it, not to the next one. */
static void add_flow(const trace *t, size_t arm_i, int64_t agent, int64_t turn, buf *out) {
    const workload *w = &t->p->scenario->work;
    int64_t id = ((int64_t)arm_i * w->K + agent - 1) * w->H + turn;
    trace_flow f;
    if (!trace_turn_flow(t, arm_i, agent, turn, &f)) return;
    for (int end = 0; end < 2; end++) {
        buf_addf(out,
                 ",\n{\"ph\":\"%s\",\"pid\":%lld,\"tid\":%" PRId64
                 ",\"name\":\"request\",\"cat\":\"request\",\"id\":%" PRId64,
                 end ? "f\",\"bp\":\"e" : "s", (long long)arm_i + 1,
                 tid_of(t, arm_i, end && f.to_device ? 0 : agent), id);
        add_us(out, "ts", end ? f.to_ns : f.from_ns);
        buf_add(out, "}");
    }
}

static void add_arm(const trace *t, size_t arm_i, buf *out) {
    const workload *w = &t->p->scenario->work;
    span own[TRACE_TURN_SPANS_MAX];
    add_names(t, arm_i, out);
    for (size_t i = 0; i < t->device[arm_i].n; i++)
        add_span(t, arm_i, 0, 0, &t->device[arm_i].v[i], out);
    for (int64_t k = 1; k <= w->K; k++)
        for (int64_t h = 1; h <= w->H; h++) {
            size_t n = trace_turn(t, arm_i, k, h, own);
            for (size_t i = 0; i < n; i++) add_span(t, arm_i, k, h, &own[i], out);
            add_flow(t, arm_i, k, h, out);
        }
}

void report_trace_events(const trace *t, buf *out) {
    const scenario *s = t->p->scenario;
    buf_add(out, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"schema\":\"ratecast.trace/1\",");
    buf_addf(out, "\"tool_version\":\"%s\",\"what\":\"[%s PROJECTION%s] %s\",\"scenario\":",
             RATECAST_VERSION, PROV_UPPER[projection_prov(t->p)],
             projection_simulated(t->p) ? ", SIMULATED DEVICE" : "", BANNER);
    add_json_str(out, s->id);
    buf_addf(out, ",\"scenario_sha256\":\"%s\"", s->sha256);
    if (is_part(t)) { /* what is left out is said */
        buf_add(out, ",\"window_s\":[");
        add_s(out, t->o.window.from_ns);
        buf_add(out, ",");
        add_s(out, t->o.window.to_ns);
        buf_add(out, "]");
    }
    buf_add(out, "},\"traceEvents\":[\n");
    for (size_t i = 0; i < t->arms_n; i++) {
        if (i) buf_add(out, ",\n");
        add_arm(t, i, out);
    }
    buf_add(out, "\n]}\n");
}

/* ---- TSV ---- */

static void add_row(const trace *t, size_t arm_i, int64_t agent, int64_t turn, const span *s,
                    buf *out) {
    buf_add(out, t->p->arms[arm_i].arm->name); /* the loader lets no tab or line end into a name */
    if (agent)
        buf_addf(out, "\tagent %" PRId64, agent);
    else
        buf_add(out, "\tdevice");
    buf_addf(out, "\t%s\t%" PRId64 "\t", SPAN_KIND_NAMES[s->kind], turn);
    add_s(out, s->start_ns);
    buf_add(out, "\t");
    add_s(out, s->end_ns);
    buf_addf(out, "\t%" PRId64 "\n", s->tokens);
}

void report_timeline_tsv(const trace *t, buf *out) {
    const workload *w = &t->p->scenario->work;
    span own[TRACE_TURN_SPANS_MAX];
    tsv_banner(projection_prov(t->p), projection_simulated(t->p), out);
    buf_add(out, BANNER);
    if (is_part(t)) {
        buf_add(out, "; only what touches ");
        add_s(out, t->o.window.from_ns);
        buf_add(out, " to ");
        add_s(out, t->o.window.to_ns);
        buf_add(out, " s");
    }
    buf_add(out, "\narm\ttrack\tkind\tturn\tstart_s\tend_s\ttokens\n");
    for (size_t a = 0; a < t->arms_n; a++) {
        for (size_t i = 0; i < t->device[a].n; i++) add_row(t, a, 0, 0, &t->device[a].v[i], out);
        for (int64_t k = 1; k <= w->K; k++)
            for (int64_t h = 1; h <= w->H; h++) {
                size_t n = trace_turn(t, a, k, h, own);
                for (size_t i = 0; i < n; i++) add_row(t, a, k, h, &own[i], out);
            }
    }
}

bool report_timeline_has_rows(const buf *tsv) {
    const char *end = strchr(tsv->s, '\n');
    end = end ? strchr(end + 1, '\n') : NULL;
    return end && end[1];
}
