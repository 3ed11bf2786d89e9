/* Traces of random sessions on both engines: the device's spans account for its time exactly, a
 * turn's for its own, and both files tell the same. */
#include "llama_server.h"
#include "report_trace.h"
#include "trace.h"

#include "random_scenario.h"
#include "support.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

enum { SEEDS = 300 };

/* ---- scenarios ---- */

static void server_text(gsl_rng *r, buf *out) {
    static const char *const CARDS[] = {"qwen2-7b-like-q8_0-h200-split",
                                        "qwen2-1.5b-like-q8_0-h200-unified"},
                             *const LAYOUT[] = {"split", "unified"};
    int K = draw(r, 1, 7), c = draw(r, 0, 1), warm = draw(r, 0, 2);
    buf_reset(out);
    buf_addf(out,
             "{\"schema\":\"ratecast.scenario/1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"%s\",",
             CARDS[c]);
    random_workload(r, K, out);
    buf_addf(out,
             ",\"arms\":[{\"name\":\"a\",\"engine\":\"llama-server\",\"kv_layout\":\"%s\","
             "\"prefix_reuse\":\"%s\",\"batching\":\"continuous\"",
             LAYOUT[c], warm || draw(r, 0, 1) ? "per_slot" : "none");
    if (warm) buf_addf(out, ",\"warm\":\"%s\"", warm == 1 ? "first_slot" : "restored");
    if (draw(r, 0, 1)) buf_addf(out, ",\"n_batch\":%d", draw(r, 16, 4096));
    if (draw(r, 0, 1)) buf_addf(out, ",\"n_ubatch\":%d", draw(r, 16, 1024));
    buf_add(out, "}],\"assumptions\":[");
    if (draw(r, 0, 2) == 0) random_host_step(r, false, out);
    buf_add(out, "]}");
}

static void for_each(void (*check)(const projection *, gsl_rng *, int)) {
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
    buf text;
    buf_init(&text);
    for (int seed = 1; seed <= SEEDS; seed++)
        for (int server = 0; server < 2; server++) {
            gsl_rng_set(r, (unsigned long)seed);
            if (server)
                server_text(r, &text);
            else
                random_scenario_text(&(random_scenario){.rng = r, .host_step = true}, &text);
            check(support_project_text(text.s), r, seed);
        }
    buf_done(&text);
    gsl_rng_free(r);
}

static trace traced(const projection *p, span_window w, bool rows_only) {
    err e = {0};
    trace t;
    trace_options o = {.window = w, .most_n = TRACE_EVENTS_MAX, .rows_only = rows_only};
    cr_assert_eq(trace_new(p, o, support_arena(), &t, &e), OK, "%s: %s", e.where, e.what);
    return t;
}

/* ---- time ---- */

static void device_adds_up(const projection *p, gsl_rng *r, int seed) {
    (void)r;
    const arm_result *a = &p->arms[0];
    trace t = traced(p, TRACE_ALL, false);
    int64_t ns[SPAN_KINDS_N] = {0}, tok[SPAN_KINDS_N] = {0}, end = 0, all = 0;
    for (size_t i = 0; i < t.device[0].n; i++) {
        const span *s = &t.device[0].v[i];
        cr_assert(s->start_ns >= end && s->end_ns >= s->start_ns, "seed %d", seed);
        cr_assert((s->batch_n > 0) == (s->tokens > 0), "seed %d", seed);
        end = s->end_ns;
        ns[s->kind] += s->end_ns - s->start_ns;
        tok[s->kind] += s->tokens;
        all += s->end_ns - s->start_ns;
    }
    cr_assert_eq(ns[SPAN_PREFILL], a->sim.prefill_ns, "seed %d", seed);
    cr_assert_eq(ns[SPAN_DECODE], a->sim.decode_ns, "seed %d", seed);
    cr_assert_eq(ns[SPAN_CONSTANT] + ns[SPAN_HOST], a->sim.other_ns, "seed %d", seed);
    cr_assert_eq(ns[SPAN_HOST], a->sim.host_ns, "seed %d", seed);
    cr_assert_eq(a->sim.wall_ns - all, a->sim.idle_ns, "seed %d", seed);
    /* a prefill gives the first token of each turn, and an idealised engine runs the last one's
     * step as well */
    int64_t steps = a->sim.output_tok - (a->arm->reuse_last_token ? 0 : a->sim.turns_n);
    cr_assert_eq(tok[SPAN_PREFILL], a->sim.computed_tok, "seed %d", seed);
    cr_assert_eq(tok[SPAN_DECODE], steps, "seed %d", seed);
    trace_done(&t);
}

Test(trace_random, device_spans_account_for_all_time) {
    for_each(device_adds_up);
}

static void turns_add_up(const projection *p, gsl_rng *r, int seed) {
    (void)r;
    const workload *w = &p->scenario->work;
    const arm_result *a = &p->arms[0];
    trace t = traced(p, TRACE_ALL, false);
    span s[TRACE_TURN_SPANS_MAX];
    trace_flow f;
    for (int64_t k = 1; k <= w->K; k++)
        for (int64_t h = 1; h <= w->H; h++) {
            const turn_record *rec = &a->sim.turns[(k - 1) * w->H + h - 1];
            int64_t ns = 0, at = rec->send_ns, tool = 0;
            for (size_t i = 0, n = trace_turn(&t, 0, k, h, s); i < n; i++) {
                bool is_tool = s[i].kind == SPAN_TOOL;
                cr_assert(is_tool ? s[i].start_ns >= at : s[i].start_ns == at, "seed %d", seed);
                at = s[i].end_ns;
                *(is_tool ? &tool : &ns) += s[i].end_ns - s[i].start_ns;
            }
            cr_assert_eq(ns, rec->done_ns - rec->send_ns, "seed %d", seed);
            cr_assert_eq(tool, h < w->H ? w->tool_latency_ns : 0, "seed %d", seed);
            if (h < w->H && tool > 0) cr_assert_eq(at, rec[1].send_ns, "seed %d", seed);
            /* a prompt that fills a device step of its own is pointed at */
            bool has = trace_turn_flow(&t, 0, k, h, &f),
                 alone = a->arm->prefill == PREFILL_EXCLUSIVE;
            if (a->arm->engine == ENGINE_GENERAL && alone && rec->computed_tok > 0)
                cr_assert(has && f.to_device, "seed %d", seed);
            if (has) cr_assert(f.from_ns == rec->send_ns && f.to_ns == rec->start_ns);
        }
    trace_done(&t);
}

Test(trace_random, spans_of_a_turn_account_for_it) {
    for_each(turns_add_up);
}

/* Recording changes nothing. */
static void same_with_it(const projection *p, gsl_rng *r, int seed) {
    (void)r;
    const arm_result *a = &p->arms[0];
    const workload *w = &p->scenario->work;
    span_list l = span_list_new(TRACE_ALL, TRACE_EVENTS_MAX);
    sim_result x = {0}, y = a->sim;
    err e = {0};
    if (a->arm->engine == ENGINE_GENERAL)
        (void)sim_run_recorded(a->arm, w, a->cost, &l, support_arena(), &x, &e);
    else
        (void)llama_server_run_recorded(a->arm, w, a->cost, &a->arm->card->fitted_host, &l,
                                        support_arena(), &x, &e);
    cr_assert_eq(e.code, OK, "seed %d: %s", seed, e.what);
    cr_assert_eq(memcmp(x.turns, y.turns, (size_t)x.turns_n * sizeof *x.turns), 0, "seed %d", seed);
    cr_assert_eq(x.itl_n, y.itl_n, "seed %d", seed);
    if (x.itl_n) cr_assert_eq(memcmp(x.itl, y.itl, x.itl_n * sizeof *x.itl), 0, "seed %d", seed);
    x.turns = y.turns = NULL;
    x.itl = y.itl = NULL;
    cr_assert_eq(memcmp(&x.used, &y.used, sizeof x.used), 0, "seed %d", seed);
    cr_assert(x.wall_ns == y.wall_ns && x.prefill_ns == y.prefill_ns &&
                  x.decode_ns == y.decode_ns && x.other_ns == y.other_ns &&
                  x.idle_ns == y.idle_ns && x.host_ns == y.host_ns && x.events_n == y.events_n &&
                  x.stretches_n == y.stretches_n && x.kv_peak_tok == y.kv_peak_tok &&
                  x.computed_tok == y.computed_tok && x.output_tok == y.output_tok,
              "seed %d", seed);
    span_list_free(&l);
}

Test(trace_random, recording_changes_nothing) {
    for_each(same_with_it);
}

/* ---- both files, read back ---- */

typedef struct row {
    int64_t agent, turn, start_ns, end_ns, tokens; /* agent 0: the device */
    char kind[16];
} row;

typedef struct rows {
    row *v;
    size_t n;
} rows;

static int64_t ns_of_digits(const char *s) {
    long long whole = 0, frac = 0;
    cr_assert_eq(sscanf(s, "%lld.%9lld", &whole, &frac), 2, "%s", s);
    cr_assert_eq(strlen(strchr(s, '.')), 10, "%s", s);
    return whole * 1000000000 + frac;
}

static rows read_tsv(const trace *t) {
    buf out;
    buf_init(&out);
    report_timeline_tsv(t, &out);
    rows r = {.v = calloc(out.len / 20 + 1, sizeof *r.v)};
    const char *line = strchr(strchr(out.s, '\n') + 1, '\n') + 1;
    for (; *line; line = strchr(line, '\n') + 1) {
        row *x = &r.v[r.n++];
        char track[32], from[40], to[40];
        long long turn, tokens, agent = 0;
        cr_assert_eq(sscanf(line, "a\t%31[^\t]\t%15s\t%lld\t%39s\t%39s\t%lld\n", track, x->kind,
                            &turn, from, to, &tokens),
                     6, "%.100s", line);
        if (strcmp(track, "device") != 0) cr_assert_eq(sscanf(track, "agent %lld", &agent), 1);
        x->agent = agent;
        x->turn = turn;
        x->start_ns = ns_of_digits(from);
        x->end_ns = ns_of_digits(to);
        x->tokens = tokens;
    }
    buf_done(&out);
    return r;
}

static double number(const cJSON *o, const char *key) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    cr_assert(cJSON_IsNumber(v), "%s", key);
    return v->valuedouble;
}

static const char *word(const cJSON *o, const char *key) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    cr_assert(cJSON_IsString(v), "%s", key);
    return v->valuestring;
}

/* 2^53 ns are 104 days: a double holds every microsecond's third decimal of these sessions. */
static int64_t ns_of_us(double us) {
    return llround(us * 1000);
}

static cJSON *read_events(const trace *t) {
    buf out;
    const char *end = NULL;
    buf_init(&out);
    report_trace_events(t, &out);
    cJSON *root = cJSON_ParseWithOpts(out.s, &end, true);
    cr_assert_not_null(root, "%.80s", end);
    size_t n = (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "traceEvents"));
    cr_assert_lt(out.len, 600 + 160 * n, "about 110 bytes an event");
    buf_done(&out);
    return root;
}

static rows spans_of_events(const cJSON *events) {
    rows r = {.v = calloc((size_t)cJSON_GetArraySize(events) + 1, sizeof *r.v)};
    const cJSON *ev;
    cJSON_ArrayForEach(ev, events) {
        if (strcmp(word(ev, "ph"), "X") != 0) continue;
        row *x = &r.v[r.n++];
        const cJSON *args = cJSON_GetObjectItemCaseSensitive(ev, "args");
        x->agent = (int64_t)number(ev, "tid") - 1;
        cr_assert_eq(number(ev, "pid"), 1);
        snprintf(x->kind, sizeof x->kind, "%s", word(ev, "name"));
        x->start_ns = ns_of_us(number(ev, "ts"));
        x->end_ns = x->start_ns + ns_of_us(number(ev, "dur"));
        x->turn = x->agent ? (int64_t)number(args, "turn") : 0;
        x->tokens = args ? (int64_t)number(args, "tokens") : 0;
    }
    return r;
}

static bool same_row(const row *a, const row *b) {
    return a->agent == b->agent && a->turn == b->turn && a->start_ns == b->start_ns &&
           a->end_ns == b->end_ns && a->tokens == b->tokens && strcmp(a->kind, b->kind) == 0;
}

static void expect_same(const rows *a, const rows *b, int seed) {
    cr_assert_eq(a->n, b->n, "seed %d: %zu, %zu", seed, a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        cr_assert(same_row(&a->v[i], &b->v[i]), "seed %d row %zu", seed, i);
}

/* Does some span of that track hold the instant? */
static bool held(const rows *r, int64_t agent, int64_t ns) {
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].agent == agent && r->v[i].start_ns <= ns &&
            (r->v[i].end_ns > ns || r->v[i].start_ns == ns))
            return true;
    return false;
}

/* An end follows its beginning at once, has its id, is not before it, and both lie in spans. */
static int64_t flows_have_both_ends(const cJSON *events, const rows *r, int seed) {
    int64_t n = 0;
    double id = 0;
    const cJSON *ev, *from = NULL;
    cJSON_ArrayForEach(ev, events) {
        char ph = word(ev, "ph")[0];
        cr_assert((ph == 'f') == (from != NULL), "seed %d", seed);
        if (ph != 's' && ph != 'f') continue;
        int64_t agent = (int64_t)number(ev, "tid") - 1, ns = ns_of_us(number(ev, "ts"));
        cr_assert(held(r, agent, ns), "seed %d", seed);
        if (ph == 's') {
            cr_assert(agent > 0 && number(ev, "id") > id, "seed %d", seed);
            id = number(ev, "id");
            from = ev;
            continue;
        }
        cr_assert_eq(number(ev, "id"), id, "seed %d", seed);
        cr_assert_geq(ns, ns_of_us(number(from, "ts")), "seed %d", seed);
        cr_assert_str_eq(word(ev, "bp"), "e");
        from = NULL;
        n++;
    }
    cr_assert_null(from);
    return n;
}

static void files_agree(const projection *p, gsl_rng *r, int seed) {
    (void)r;
    trace t = traced(p, TRACE_ALL, false);
    cJSON *root = read_events(&t);
    const cJSON *events = cJSON_GetObjectItemCaseSensitive(root, "traceEvents");
    rows a = read_tsv(&t), b = spans_of_events(events);
    expect_same(&a, &b, seed);
    int64_t flows = flows_have_both_ends(events, &b, seed);
    /* a name and a label of the arm, names of the device and of each agent */
    cr_assert_eq(cJSON_GetArraySize(events), (int64_t)b.n + 2 * flows + 3 + p->scenario->work.K);
    cr_assert_leq(flows, p->arms[0].sim.turns_n);
    free(a.v);
    free(b.v);
    cJSON_Delete(root);
    trace_done(&t);
}

Test(trace_random, both_files_tell_the_same) {
    for_each(files_agree);
}

/* ---- windows and limits ---- */

static void window_is_a_part(const projection *p, gsl_rng *r, int seed) {
    int64_t wall = p->arms[0].sim.wall_ns, from = (int64_t)((double)wall * gsl_rng_uniform(r)),
            to = from + 1 + (int64_t)((double)(wall - from) * gsl_rng_uniform(r));
    trace t = traced(p, TRACE_ALL, false), part = traced(p, (span_window){from, to}, false);
    rows all = read_tsv(&t), some = read_tsv(&part);
    size_t n = 0;
    for (size_t i = 0; i < all.n; i++)
        if (all.v[i].start_ns < to && all.v[i].end_ns > from) all.v[n++] = all.v[i];
    all.n = n;
    expect_same(&all, &some, seed);
    cJSON *root = read_events(&part);
    const cJSON *events = cJSON_GetObjectItemCaseSensitive(root, "traceEvents");
    (void)flows_have_both_ends(events, &some, seed);
    free(all.v);
    free(some.v);
    cJSON_Delete(root);
    trace_done(&t);
    trace_done(&part);
}

Test(trace_random, a_window_keeps_what_touches_it) {
    for_each(window_is_a_part);
}

static int64_t events_in(const projection *p, int64_t from_ns, int64_t to_ns) {
    trace t = traced(p, (span_window){from_ns, to_ns}, false);
    cJSON *root = read_events(&t);
    int64_t n = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "traceEvents"));
    cJSON_Delete(root);
    trace_done(&t);
    return n;
}

/* The window that a refusal names fits, and one nanosecond more does not. */
static void refusal_names_the_longest(const projection *p, gsl_rng *r, int seed) {
    int64_t all = events_in(p, 0, TIME_MAX_NS), names = 3 + p->scenario->work.K;
    int64_t most = names + (int64_t)((double)(all - names) * gsl_rng_uniform(r));
    trace t;
    err e = {0};
    trace_options o = {.window = TRACE_ALL, .most_n = most};
    cr_assert_eq(trace_new(p, o, support_arena(), &t, &e), E_LIMIT, "seed %d", seed);
    trace_done(&t);
    const char *at = strstr(e.what, "--trace-window 0:");
    if (!at) {
        cr_assert(strstr(e.what, "in any window"), "seed %d: %s", seed, e.what);
        cr_assert_gt(events_in(p, 0, 1), most, "seed %d", seed);
        return;
    }
    char digits[16] = "000000000";
    const char *dot = at + strlen("--trace-window 0:");
    int64_t fits = strtoll(dot, (char **)&dot, 10) * 1000000000;
    if (*dot == '.') {
        size_t n = strspn(dot + 1, "0123456789");
        cr_assert_leq(n, 9);
        memcpy(digits, dot + 1, n);
        fits += atoll(digits);
    }
    cr_assert_leq(events_in(p, 0, fits), most, "seed %d: %s", seed, e.what);
    cr_assert_gt(events_in(p, 0, fits + 1), most, "seed %d: %s", seed, e.what);
}

Test(trace_random, a_refusal_names_the_longest_window) {
    for_each(refusal_names_the_longest);
}
