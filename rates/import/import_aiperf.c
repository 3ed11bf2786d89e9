/* AIPerf and genai-perf: the JSON summary of a run, and one JSON object a request.
 *
 * The summary is an object of metrics, each {"unit", "avg", "p50", ...}; the first versions of
 * AIPerf put them into "records". What the run was made with stands in "input_config", in one of
 * four forms. CSV and console table are read in import_aiperf_table.c. */
#include "import_aiperf.h"
#include "import_head.h"
#include "import_metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t TOK_MAX = 1000000000;

/* ---- members that may be of any type: only the expected one counts ---- */

static const cJSON *member(const cJSON *o, const char *key) {
    return cJSON_IsObject(o) ? cJSON_GetObjectItemCaseSensitive(o, key) : NULL;
}

static const char *text_of(const cJSON *v) {
    if (cJSON_IsArray(v) && cJSON_GetArraySize(v) == 1) v = v->child;
    return cJSON_IsString(v) ? v->valuestring : NULL;
}

static double number_of(const cJSON *v) {
    return v && cJSON_IsNumber(v) ? v->valuedouble : (double)NAN;
}

/* A list of one run's values has one element. */
static double setting_of(const cJSON *v) {
    return number_of(cJSON_IsArray(v) && cJSON_GetArraySize(v) == 1 ? v->child : v);
}

/* ---- the summary ---- */

static void read_metric(import_cursor *c, size_t line, metric_set *s, const cJSON *m) {
    int i = metric_of(m->string);
    const char *unit = text_of(member(m, "unit"));
    if (i < 0 || !cJSON_IsObject(m)) return;
    for (const cJSON *v = m->child; v; v = v->next) {
        int stat = metric_stat_of(v->string);
        if (stat >= 0 && cJSON_IsNumber(v))
            metric_put(c->in, c->name, line, s, i, stat, v->valuedouble, unit);
    }
}

/* A number that several places may state; they have to agree. */
static void agree(import_cursor *c, size_t line, const char *what, double *known, double v,
                  bool *conflict) {
    if (!isfinite(v)) return;
    if (isfinite(*known) && *known != v) {
        import_warn(c->in, c->name, line, "%s is %.6g and %.6g in one input_config: not used", what,
                    *known, v);
        *conflict = true;
    }
    *known = v;
}

static const cJSON *models_of(const cJSON *config) {
    const cJSON *endpoint = member(config, "endpoint"),
                *items = member(member(config, "models"), "items");
    if (cJSON_IsArray(items) && cJSON_GetArraySize(items) == 1) return member(items->child, "name");
    const cJSON *names = member(endpoint, "model_names");
    if (!names) names = member(config, "model_names");
    return names ? names : member(config, "model");
}

static void read_config(import_cursor *c, size_t line, metric_set *s, const cJSON *config) {
    bool conflict = false;
    static const char *const HOLDERS[] = {"loadgen", "stimulus", NULL};
    const char *model = text_of(models_of(config));
    s->model = import_keep(c->in, model);
    agree(c, line, "concurrency", &s->concurrency, setting_of(member(config, "concurrency")),
          &conflict);
    for (size_t i = 0; HOLDERS[i]; i++) {
        const cJSON *h = member(config, HOLDERS[i]);
        agree(c, line, "concurrency", &s->concurrency, setting_of(member(h, "concurrency")),
              &conflict);
        s->request_rate = fmax(s->request_rate, setting_of(member(h, "request_rate")));
    }
    const cJSON *inner = member(member(config, "perf_analyzer"), "stimulus");
    agree(c, line, "concurrency", &s->concurrency, setting_of(member(inner, "concurrency")),
          &conflict);
    const cJSON *phases = member(config, "phases");
    for (const cJSON *p = cJSON_IsArray(phases) ? phases->child : NULL; p; p = p->next) {
        const char *name = text_of(member(p, "name"));
        if (name && strcmp(name, "warmup") == 0) continue;
        agree(c, line, "concurrency", &s->concurrency, setting_of(member(p, "concurrency")),
              &conflict);
    }
    if (conflict) s->concurrency = (double)NAN;
    s->streaming_off = cJSON_IsFalse(member(member(config, "endpoint"), "streaming")) ||
                       cJSON_IsFalse(member(config, "streaming"));
}

static void read_failures(import_cursor *c, size_t line, metric_set *s, const cJSON *root) {
    const cJSON *errors = member(root, "error_summary");
    double n = 0;
    for (const cJSON *x = cJSON_IsArray(errors) ? errors->child : NULL; x; x = x->next)
        n += fmax(0, number_of(member(x, "count")));
    if (cJSON_IsArray(errors)) s->failed = n;
    if (cJSON_IsTrue(member(root, "was_cancelled")))
        import_warn(c->in, c->name, line, "the run was cancelled: it is a part of what was asked");
}

static bool is_summary(const cJSON *root) {
    const cJSON *m = member(root, "records");
    if (!m) m = root;
    return member(member(m, "request_latency"), "unit") ||
           member(member(m, "request_throughput"), "unit") ||
           member(member(m, "time_to_first_token"), "unit");
}

static err_code read_summary(import *in, import_text *t) {
    import_cursor c = import_start(in, t);
    import_piece p;
    while (import_next_element(&c, &p)) {
        jr_doc doc;
        err e;
        if (!import_open(&c, &p, &doc, &e)) continue;
        const cJSON *root = jr_root(&doc).node, *records = member(root, "records");
        if (is_summary(root)) {
            metric_set s = metric_set_new();
            read_config(&c, p.line, &s, member(root, "input_config"));
            read_failures(&c, p.line, &s, root);
            for (const cJSON *m = records ? records->child : root->child; m; m = m->next)
                read_metric(&c, p.line, &s, m);
            metric_set_emit(in, c.name, p.line, &s);
        } else {
            import_warn(in, c.name, p.line,
                        "JSON, but no summary of AIPerf or genai-perf, skipped");
        }
        (void)import_close(&c, &p, &doc);
    }
    import_end(&c);
    return in->e->code;
}

static int detect_summary(const file_bytes *f) {
    static const char *const METRICS[] = {"request_latency", "request_throughput",
                                          "time_to_first_token"};
    bool own = head_has_key(f, "aiperf_version") || head_has_key(f, "input_config");
    for (size_t i = 0; i < sizeof METRICS / sizeof *METRICS; i++)
        if (head_has_inner_key(f, METRICS[i], "unit")) return own ? 95 : 85;
    return own && head_has_key(f, "records") ? 85 : 0;
}

/* ---- one request ---- */

/* The member, unless it stands twice with different values: then it is noted and NULL. */
static const cJSON *once(import_cursor *c, size_t line, const cJSON *o, const char *key) {
    const cJSON *first = NULL;
    for (const cJSON *m = cJSON_IsObject(o) ? o->child : NULL; m; m = m->next) {
        if (strcmp(m->string, key) != 0) continue;
        if (first && !cJSON_Compare(first, m, true)) {
            double a = number_of(member(first, "value")), b = number_of(member(m, "value"));
            import_warn(c->in, c->name, line, "found \"%s\" twice, %.6g and %.6g: neither is used",
                        key, a, b);
            return NULL;
        }
        if (!first) first = m;
    }
    return first;
}

/* A metric of a request in the unit wanted ("ms", or NULL for a count); NaN: not stated. */
static double request_metric(import_cursor *c, size_t line, const cJSON *metrics, const char *key,
                             const char *unit) {
    const cJSON *m = once(c, line, metrics, key);
    double v = number_of(member(m, "value"));
    const char *stated = text_of(member(m, "unit"));
    if (!isfinite(v)) return (double)NAN;
    if (unit && (!stated || strcmp(stated, unit) != 0)) {
        import_warn(c->in, c->name, line, "%s is in \"%.40s\", expected %s: not used", key,
                    stated ? stated : "", unit);
        return (double)NAN;
    }
    if (v >= 0) return v;
    import_fault(c->in, c->name, line, "%s is %.6g, expected a value >= 0", key, v);
    return (double)NAN;
}

/* Nanoseconds since 1970 are beyond the 53 bits of a double: the digits as they stand. 0: the key
 * does not stand there exactly once, with a whole number. */
static uint64_t exact(const import_piece *p, const char *key) {
    char quoted[48];
    int n = snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *found = NULL, *end = p->s + p->len;
    for (const char *s = p->s; s + n < end; s++) {
        if (memcmp(s, quoted, (size_t)n) != 0 || (s > p->s && s[-1] == '\\')) continue;
        if (found) return 0;
        found = s + n;
    }
    if (!found) return 0;
    while (found < end && strchr(" \t:", *found)) found++;
    uint64_t v = 0;
    int digits = 0;
    for (; found < end && *found >= '0' && *found <= '9' && digits < 19; found++, digits++)
        v = v * 10 + (uint64_t)(*found - '0');
    return digits > 0 && found < end && strchr(",} \t\r\n", *found) ? v : 0;
}

typedef struct request {
    double input, output, ttft_ms, itl_ms, latency_ms, duration_ms;
    const char *phase;
    double code; /* of its error; NaN: none stated */
    const char *error;
    bool failed;
} request;

static request read_request(import_cursor *c, const import_piece *p, const cJSON *root) {
    const cJSON *metadata = member(root, "metadata"), *metrics = member(root, "metrics"),
                *error = member(root, "error");
    request r = {.code = number_of(member(error, "code")),
                 .error = text_of(member(error, "type")),
                 .failed = cJSON_IsObject(error) || cJSON_IsString(error) ||
                           cJSON_IsTrue(member(metadata, "was_cancelled")),
                 .phase = text_of(member(metadata, "benchmark_phase"))};
    uint64_t start = exact(p, "request_start_ns"), end = exact(p, "request_end_ns");
    r.duration_ms = start > 0 && end > start ? (double)(end - start) / 1e6 : (double)NAN;
    if (start > 0 && end > 0 && end < start)
        import_fault(c->in, c->name, p->line, "request_end_ns lies before request_start_ns");
    r.input = request_metric(c, p->line, metrics, "input_sequence_length", NULL);
    r.output = request_metric(c, p->line, metrics, "output_sequence_length", NULL);
    r.ttft_ms = request_metric(c, p->line, metrics, "time_to_first_token", "ms");
    r.itl_ms = request_metric(c, p->line, metrics, "inter_token_latency", "ms");
    r.latency_ms = request_metric(c, p->line, metrics, "request_latency", "ms");
    return r;
}

static void record_request(import_cursor *c, const import_piece *p, const cJSON *metadata,
                           const request *r) {
    import *in = c->in;
    if (!import_record_new(in, c->name, p->line, IMPORT_REQUEST, 16)) return;
    import_record_stated(in, "session", number_of(once(c, p->line, metadata, "session_num")));
    import_record_stated(in, "turn", number_of(once(c, p->line, metadata, "turn_index")));
    if (r->phase) import_record_text(in, "phase", r->phase);
    if (r->failed) {
        import_record_stated(in, "code", r->code);
        import_record_text(in, "error", r->error ? r->error : "cancelled");
        import_warn(in, c->name, p->line, "a request that failed (%.60s): no sample",
                    r->error ? r->error : "cancelled");
        return;
    }
    import_record_stated(in, "input_tokens", r->input);
    import_record_stated(in, "output_tokens", r->output);
    import_record_stated(in, "ttft_ms", r->ttft_ms);
    import_record_stated(in, "itl_ms", r->itl_ms);
    import_record_stated(in, "request_latency_ms", r->latency_ms);
    import_record_stated(in, "duration_from_ns_ms", r->duration_ms);
    if (r->output >= 2 && r->itl_ms > 0)
        import_record_stated(in, "decode_tok_s_per_request", 1e3 / r->itl_ms);
}

/* The time between tokens is what the latency leaves behind the first token. */
static void check_request(import_cursor *c, size_t line, const request *r) {
    double want = r->ttft_ms + (r->output - 1) * r->itl_ms;
    if (fabs(want - r->latency_ms) > 0.01 * r->latency_ms)
        import_warn(c->in, c->name, line,
                    "request_latency %.6g ms contradicts the first token after %.6g and %.0f more "
                    "every %.6g ms",
                    r->latency_ms, r->ttft_ms, r->output - 1, r->itl_ms);
}

static void request_row(import_cursor *c, size_t line, const request *r) {
    bool whole = r->output >= 2 && r->output <= (double)TOK_MAX;
    double rate = 1e3 / r->itl_ms;
    if (r->failed || !whole || !(rate > 0 && rate <= 1e12)) return;
    import_row *row = import_row_new(c->in, c->name, line);
    if (!row) return;
    row->phase = IMPORT_DECODE;
    if (r->input <= (double)TOK_MAX) row->n_prompt = (int64_t)llround(r->input);
    row->n_gen = (int64_t)llround(r->output);
    row->per_request = true;
    row->tok_s = row->per_seq_tok_s = rate;
    row->refused = r->phase && strcmp(r->phase, "warmup") == 0
                       ? "of the warm-up"
                       : "of one request among others: how many decoded together is not stated";
}

static bool is_request(const cJSON *root) {
    return cJSON_IsObject(member(root, "metadata")) && cJSON_IsObject(member(root, "metrics"));
}

static err_code read_requests(import *in, import_text *t) {
    import_cursor c = import_start(in, t);
    import_piece p;
    bool spread = import_is_array(import_text_head(t));
    while (spread ? import_next_element(&c, &p) : import_next_line(&c, &p)) {
        jr_doc doc;
        err e;
        if (!import_open_twice(&c, &p, &doc, &e)) continue;
        const cJSON *root = jr_root(&doc).node;
        if (is_request(root)) {
            request r = read_request(&c, &p, root);
            record_request(&c, &p, member(root, "metadata"), &r);
            if (!r.failed) check_request(&c, p.line, &r);
            request_row(&c, p.line, &r);
        } else {
            import_warn(in, c.name, p.line, "JSON, but no request of AIPerf, skipped");
        }
        (void)import_close(&c, &p, &doc);
    }
    import_end(&c);
    return in->e->code;
}

static int detect_requests(const file_bytes *f) {
    bool own = head_has_inner_key(f, "metadata", "request_start_ns") ||
               head_has_inner_key(f, "metadata", "session_num") ||
               head_has_inner_key(f, "metadata", "benchmark_phase");
    return own && head_has_key(f, "metrics") ? 95 : 0;
}

/* perf_analyzer's file of time stamps, which genai-perf leaves beside its summary. */
static int detect_stamps(const file_bytes *f) {
    return head_has_inner_key(f, "experiments", "requests") &&
                   import_holds(f, "\"response_timestamps\"")
               ? 90
               : 0;
}

static const import_format SUMMARY = {.name = "aiperf_json",
                                      .about = "AIPerf and genai-perf, profile_export_*.json",
                                      .detect = detect_summary,
                                      .read = read_summary};
static const import_format REQUESTS = {.name = "aiperf_jsonl",
                                       .about = "AIPerf, profile_export.jsonl",
                                       .detect = detect_requests,
                                       .read = read_requests};
static const import_format STAMPS = {
    .name = "perf_analyzer_json",
    .about = "perf_analyzer, profile_export.json",
    .detect = detect_stamps,
    .read = read_summary,
    .refuse = "time stamps of perf_analyzer, without token counts: use the summary beside it "
              "(profile_export_genai_perf.json)"};

const import_format *const IMPORT_AIPERF_FORMATS[] = {
    &SUMMARY, &REQUESTS, &STAMPS, &IMPORT_AIPERF_CSV, &IMPORT_AIPERF_TEXT, &IMPORT_PROFILE_CSV,
    NULL};
