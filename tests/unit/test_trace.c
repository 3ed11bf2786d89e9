/* Traces of sessions small enough to draw by hand: prefill 1000 tok/s, a decode step 0.1 s at any
 * batch. Every time below follows from that. */
#include "report_trace.h"
#include "trace.h"

#include "support.h"

#include <stdio.h>

#define ARM "\"prefix_reuse\":\"per_slot\",\"batching\":\"continuous\""
#define IDEAL ",\"reuse_last_token\":true"

static const projection *session(const char *name, const char *work, const char *engine,
                                 const char *more) {
    char json[4096];
    snprintf(json, sizeof json,
             "{\"schema\":\"ratecast.scenario/"
             "1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"qwen2.5-7b-instruct-q8_0-m3pro\","
             "\"workload\":{\"P\":0,\"turn_delta_in_tok\":1000,\"turn_out_tok\":3,\"turn_shape\":"
             "\"delta_first\",%s},\"arms\":[{\"name\":\"%s\",%s}],\"assumptions\":["
             "{\"term\":\"prefill_tok_s\",\"value\":1000,\"provenance\":\"assumed\",\"reason\":"
             "\"test\"},{\"term\":\"decode_tok_s\",\"value\":10,\"gain_per_seq_frac\":1,"
             "\"provenance\":\"assumed\",\"reason\":\"test\"}%s]}",
             work, name, engine, more);
    return support_project_text(json);
}

static trace whole(const projection *p) {
    err e = {0};
    trace t;
    trace_options o = {.window = TRACE_ALL, .most_n = TRACE_EVENTS_MAX};
    cr_assert_eq(trace_new(p, o, support_arena(), &t, &e), OK, "%s: %s", e.where, e.what);
    return t;
}

static void expect_text(void (*report)(const trace *, buf *), const trace *t, const char *begins,
                        const char *ends) {
    buf out;
    buf_init(&out);
    report(t, &out);
    cr_assert_eq(strncmp(out.s, begins, strlen(begins)), 0, "%s", out.s);
    cr_assert_geq(out.len, strlen(ends));
    cr_expect_str_eq(out.s + out.len - strlen(ends), ends, "%s", out.s);
    buf_done(&out);
}

#define HEAD                                                                                       \
    "# [ASSUMED PROJECTION] replayed by a simulator; no part of this session ran on silicon\n"     \
    "arm\ttrack\tkind\tturn\tstart_s\tend_s\ttokens\n"

/* Both send at 0. Prompts go first, one after the other; then two steps together: the prefill has
 * already given one of the three tokens. */
static const projection *two_agents(void) {
    return session("a", "\"K\":2,\"H\":1", ARM, "");
}

Test(trace, rows_of_two_agents) {
    trace t = whole(two_agents());
    expect_text(report_timeline_tsv, &t, HEAD,
                HEAD "a\tdevice\tprefill\t0\t0.000000000\t1.000000000\t1000\n"
                     "a\tdevice\tprefill\t0\t1.000000000\t2.000000000\t1000\n"
                     "a\tdevice\tdecode\t0\t2.000000000\t2.200000000\t4\n"
                     "a\tagent 1\tprefill\t1\t0.000000000\t1.000000000\t1000\n"
                     "a\tagent 1\tdecode\t1\t1.000000000\t2.200000000\t2\n"
                     "a\tagent 2\tqueue\t1\t0.000000000\t1.000000000\t0\n"
                     "a\tagent 2\tprefill\t1\t1.000000000\t2.000000000\t1000\n"
                     "a\tagent 2\tdecode\t1\t2.000000000\t2.200000000\t2\n");
    trace_done(&t);
}

#define X(tid, name, cat, ts, dur) /* a complete event without its args */                         \
    "{\"ph\":\"X\",\"pid\":1,\"tid\":" #tid ",\"name\":\"" name "\",\"cat\":\"" cat                \
    "\",\"ts\":" #ts ",\"dur\":" #dur
#define TURN(n) ",\"args\":{\"turn\":1,\"tokens\":" #n "}},\n"
#define BATCH(b, n) ",\"args\":{\"batch_n\":" #b ",\"tokens\":" #n "}},\n"
#define NAMED(tid, name)                                                                           \
    "{\"ph\":\"M\",\"pid\":1,\"tid\":" #tid ",\"name\":\"thread_name\",\"args\":{\"name\":\"" name \
    "\"}},\n"
#define FLOW(end, tid, n, at)                                                                      \
    "{\"ph\":\"" end "\",\"pid\":1,\"tid\":" #tid                                                  \
    ",\"name\":\"request\",\"cat\":\"request\",\"id\":" #n ",\"ts\":" #at "}"

Test(trace, events_of_two_agents) {
    trace t = whole(two_agents());
    expect_text(
        report_trace_events, &t, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"schema\":",
        "\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"a\"}},\n"
        "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_labels\",\"args\":{\"labels\":\"assumed\"}},"
        "\n" NAMED(1, "device") NAMED(2, "agent 1") NAMED(3, "agent 2") X(1, "prefill", "device",
                                                                          0.000, 1000000.000)
            BATCH(1, 1000) X(1, "prefill", "device", 1000000.000, 1000000.000) BATCH(1, 1000)
                X(1, "decode", "device", 2000000.000,
                  200000.000) BATCH(2, 4) X(2, "prefill", "agent", 0.000, 1000000.000) TURN(1000)
                    X(2, "decode", "agent", 1000000.000, 1200000.000) TURN(2)
                        FLOW("s", 2, 1, 0.000) ",\n" FLOW("f\",\"bp\":\"e", 1, 1, 0.000) ",\n" X(
                            3, "queue", "agent", 0.000, 1000000.000) TURN(0)
                            X(3, "prefill", "agent", 1000000.000, 1000000.000) TURN(1000)
                                X(3, "decode", "agent", 2000000.000, 200000.000) TURN(2)
                                    FLOW("s", 3, 2, 0.000) ",\n" FLOW("f\",\"bp\":\"e", 1, 2,
                                                                      1000000.000) "\n]}\n");
    trace_done(&t);
}

/* One agent: 1 s, three steps (the last token is cached too), 0.5 s of tool, and again. The device
 * waits for the tool: nothing is drawn. */
Test(trace, tool_and_idle) {
    trace t = whole(session("a", "\"K\":1,\"H\":2,\"tool_latency_s\":0.5", ARM IDEAL, ""));
    expect_text(report_timeline_tsv, &t, HEAD,
                HEAD "a\tdevice\tprefill\t0\t0.000000000\t1.000000000\t1000\n"
                     "a\tdevice\tdecode\t0\t1.000000000\t1.300000000\t3\n"
                     "a\tdevice\tprefill\t0\t1.800000000\t2.800000000\t1000\n"
                     "a\tdevice\tdecode\t0\t2.800000000\t3.100000000\t3\n"
                     "a\tagent 1\tprefill\t1\t0.000000000\t1.000000000\t1000\n"
                     "a\tagent 1\tdecode\t1\t1.000000000\t1.300000000\t2\n"
                     "a\tagent 1\ttool\t1\t1.300000000\t1.800000000\t0\n"
                     "a\tagent 1\tprefill\t2\t1.800000000\t2.800000000\t1000\n"
                     "a\tagent 1\tdecode\t2\t2.800000000\t3.100000000\t2\n");
    trace_done(&t);
}

/* One agent after the other: the second waits for the tool behind the first's last turn. */
Test(trace, tool_of_the_agent_before) {
    trace t = whole(session(
        "a", "\"K\":2,\"H\":1,\"tool_latency_s\":0.5,\"client_order\":\"one_after_another\"",
        ARM IDEAL, ""));
    expect_text(report_timeline_tsv, &t, HEAD,
                "a\tagent 1\tprefill\t1\t0.000000000\t1.000000000\t1000\n"
                "a\tagent 1\tdecode\t1\t1.000000000\t1.300000000\t2\n"
                "a\tagent 1\ttool\t1\t1.300000000\t1.800000000\t0\n"
                "a\tagent 2\tprefill\t1\t1.800000000\t2.800000000\t1000\n"
                "a\tagent 2\tdecode\t1\t2.800000000\t3.100000000\t2\n");
    trace_done(&t);
}

/* A constant of 0.25 s before everything: the device has it, the agent waits. */
Test(trace, constant) {
    trace t = whole(session("a", "\"K\":1,\"H\":1", ARM,
                            ",{\"term\":\"constant_s\",\"value\":0.25,\"at\":\"start\",\"per\":"
                            "\"session\",\"provenance\":\"assumed\",\"reason\":\"t\"}"));
    expect_text(report_timeline_tsv, &t, HEAD,
                HEAD "a\tdevice\tconstant\t0\t0.000000000\t0.250000000\t0\n"
                     "a\tdevice\tprefill\t0\t0.250000000\t1.250000000\t1000\n"
                     "a\tdevice\tdecode\t0\t1.250000000\t1.450000000\t2\n"
                     "a\tagent 1\tqueue\t1\t0.000000000\t0.250000000\t0\n"
                     "a\tagent 1\tprefill\t1\t0.250000000\t1.250000000\t1000\n"
                     "a\tagent 1\tdecode\t1\t1.250000000\t1.450000000\t2\n");
    trace_done(&t);
}

/* From 1.0 to 1.5 s: what ends at 1.0 or starts at 1.5 is out, what touches is whole. Agent 2's
 * request is there (its queue ended at 1.0), its flow lacks its beginning. */
Test(trace, window) {
    err e = {0};
    trace t;
    trace_options o = {.window = {1000000000, 1500000000}, .most_n = 100};
    cr_assert_eq(trace_new(two_agents(), o, support_arena(), &t, &e), OK, "%s", e.what);
    expect_text(report_timeline_tsv, &t,
                "# [ASSUMED PROJECTION] replayed by a simulator; no part of this session ran on "
                "silicon; only what touches 1.000000000 to 1.500000000 s\narm\t",
                "tokens\na\tdevice\tprefill\t0\t1.000000000\t2.000000000\t1000\n"
                "a\tagent 1\tdecode\t1\t1.000000000\t2.200000000\t2\n"
                "a\tagent 2\tprefill\t1\t1.000000000\t2.000000000\t1000\n");
    trace_flow f;
    cr_expect(!trace_turn_flow(&t, 0, 1, 1, &f));
    cr_expect(!trace_turn_flow(&t, 0, 2, 1, &f));
    trace_done(&t);
}

/* 5 names, and of the session's start: the device's and agent 1's prefill, agent 1's flow (2),
 * agent 2's queue: 10 until 1 s. At 1 s begin two prefills, a decode and agent 2's flow. */
Test(trace, limit_names_the_window_that_fits) {
    trace t;
    for (int64_t most = 10; most < 15; most++) {
        err e = {0};
        trace_options o = {.window = TRACE_ALL, .most_n = most};
        cr_expect_eq(trace_new(two_agents(), o, support_arena(), &t, &e), E_LIMIT);
        cr_expect(strstr(e.what, "--trace-window 0:1 fits"), "%lld: %s", (long long)most, e.what);
        trace_done(&t);
    }
    err e = {0};
    trace_options o = {.window = TRACE_ALL, .most_n = 9};
    cr_expect_eq(trace_new(two_agents(), o, support_arena(), &t, &e), E_LIMIT);
    cr_expect(strstr(e.what, "in any window"), "%s", e.what);
    trace_done(&t);
    /* rows alone: 8 in all, 3 that begin before 1 s, 6 before 2 s */
    for (int64_t most = 3; most <= 8; most++) {
        e = (err){0};
        o = (trace_options){.window = TRACE_ALL, .most_n = most, .rows_only = true};
        cr_expect_eq(trace_new(two_agents(), o, support_arena(), &t, &e), most < 8 ? E_LIMIT : OK);
        const char *fits = most < 6 ? "0:1 fits" : most < 8 ? "0:2 fits" : "";
        cr_expect(strstr(e.what, fits), "%lld: %s", (long long)most, e.what);
        trace_done(&t);
    }
}

/* A name that ends a JSON string; a row has it as it is. */
Test(trace, hostile_name) {
    trace t = whole(session("a\\\"b\\\\c", "\"K\":1,\"H\":1", ARM, ""));
    buf out;
    buf_init(&out);
    report_timeline_tsv(&t, &out);
    cr_expect(strstr(out.s, "\na\"b\\c\tdevice\tprefill\t"), "%s", out.s);
    buf_reset(&out);
    report_trace_events(&t, &out);
    cr_expect(strstr(out.s, "\"process_name\",\"args\":{\"name\":\"a\\\"b\\\\c\"}}"), "%s", out.s);
    buf_done(&out);
    trace_done(&t);
}

/* ---- the recorder ---- */

Test(spans, host_time_grows_and_the_rest_does_not) {
    err e = {0};
    span_list l = span_list_new(TRACE_ALL, 10);
    span_list_add(NULL, (span){0, 1, SPAN_HOST, 0, 0});
    span_list_add(&l, (span){0, 5, SPAN_HOST, 0, 0});
    span_list_add(&l, (span){5, 7, SPAN_HOST, 0, 0});
    span_list_add(&l, (span){7, 7, SPAN_DECODE, 1, 0}); /* nothing */
    span_list_add(&l, (span){7, 9, SPAN_HOST, 0, 0});
    span_list_add(&l, (span){10, 11, SPAN_HOST, 0, 0}); /* a gap before it */
    span_list_add(&l, (span){11, 12, SPAN_DECODE, 1, 1});
    span_list_add(&l, (span){12, 13, SPAN_DECODE, 1, 1});
    span_list_add(&l, (span){13, 13, SPAN_PREFILL, 1, 4}); /* no time, but tokens */
    cr_assert_eq(span_list_end(&l, "t", &e), OK);
    static const int64_t STARTS[] = {0, 10, 11, 12, 13}, ENDS[] = {9, 11, 12, 13, 13};
    cr_assert_eq(l.n, 5);
    for (size_t i = 0; i < l.n; i++)
        cr_expect(l.v[i].start_ns == STARTS[i] && l.v[i].end_ns == ENDS[i], "%zu", i);
    cr_expect(!l.more);
    span_list_free(&l);
}

Test(spans, window_and_most) {
    err e = {0};
    span_list l = span_list_new((span_window){10, 20}, 2);
    span_list_add(&l, (span){0, 10, SPAN_DECODE, 1, 1}); /* ends where the window begins */
    span_list_add(&l, (span){10, 11, SPAN_DECODE, 1, 1});
    span_list_add(&l, (span){12, 30, SPAN_DECODE, 1, 1});
    span_list_add(&l, (span){30, 31, SPAN_DECODE, 1, 1}); /* outside: not missed */
    cr_assert_eq(span_list_end(&l, "t", &e), OK);
    cr_expect(l.n == 2 && !l.more && l.v[1].end_ns == 30);
    span_list_free(&l);
    l = span_list_new((span_window){0, 20}, 2);
    for (int64_t i = 0; i < 3; i++) span_list_add(&l, (span){i, i + 1, SPAN_DECODE, 1, 1});
    cr_assert_eq(span_list_end(&l, "t", &e), OK);
    cr_expect(l.n == 2 && l.more);
    span_list_free(&l);
}
