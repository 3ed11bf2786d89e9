/* vLLM (benchmark_serving.py, then `vllm bench serve`) and SGLang (bench_serving), which comes from
 * it: JSON, one object a run (laid out, sorted, appended, one a line), and the table that both
 * print between lines of '='. From 2023 (no percentiles, no concurrency, no TPOT in SGLang) to
 * today (failed requests, peaks, speculation); keys and labels by name, whatever their order. */
#include "import_local.h"
#include "import_number.h"
#include "import_serving.h"
#include "import_table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct field {
    const char *key;      /* of the record */
    const char *json[3];  /* names through the years; NULL: not in JSON */
    const char *label[3]; /* of the table, in any case */
} field;

static const field FIELDS[] = {
    {"completed", {"completed"}, {"Successful requests"}},
    {"failed", {"failed"}, {"Failed requests"}},
    {"num_prompts", {"num_prompts"}, {NULL}},
    {"duration_s", {"duration"}, {"Benchmark duration (s)", "Benchmark duration"}},
    {"input_tokens", {"total_input_tokens", "total_input"}, {"Total input tokens"}},
    {"input_text_tokens", {"total_input_text_tokens"}, {"Total input text tokens"}},
    {"input_vision_tokens", {"total_input_vision_tokens"}, {"Total input vision tokens"}},
    {"output_tokens", {"total_output_tokens", "total_output"}, {"Total generated tokens"}},
    {"output_tokens_retokenized",
     {"total_output_tokens_retokenized"},
     {"Total generated tokens (retokenized)"}},
    {"req_s", {"request_throughput"}, {"Request throughput (req/s)", "Request throughput"}},
    {"req_goodput_s", {"request_goodput", "request_goodput:"}, {"Request goodput (req/s)"}},
    {"input_tok_s_aggregate",
     {"input_throughput"},
     {"Input token throughput (tok/s)", "Input token throughput"}},
    {"output_tok_s_aggregate",
     {"output_throughput"},
     {"Output token throughput (tok/s)", "Output token throughput"}},
    {"total_tok_s_aggregate",
     {"total_token_throughput", "total_throughput"},
     {"Total token throughput (tok/s)"}},
    {"peak_output_tok_s", {"max_output_tokens_per_s"}, {"Peak output token throughput (tok/s)"}},
    {"max_concurrent_requests", {"max_concurrent_requests"}, {"Peak concurrent requests"}},
    {"request_rate", {"request_rate"}, {"Traffic request rate", "Request rate configured (RPS)"}},
    {"max_concurrency",
     {"max_concurrency"},
     {"Maximum request concurrency", "Max request concurrency", "Max reqeuest concurrency"}},
    {"concurrency", {"concurrency"}, {"Concurrency"}},
    {"burstiness", {"burstiness"}, {NULL}},
    {"acceptance_rate", {"spec_decode_acceptance_rate"}, {"Acceptance rate (%)"}},
    {"acceptance_length",
     {"spec_decode_acceptance_length", "accept_length"},
     {"Acceptance length", "Accept length"}},
    {"drafts", {"spec_decode_num_drafts"}, {"Drafts"}},
    {"draft_tokens", {"spec_decode_draft_tokens"}, {"Draft tokens"}},
    {"accepted_tokens", {"spec_decode_accepted_tokens"}, {"Accepted tokens"}},
    {"random_input_len", {"random_input_len"}, {NULL}},
    {"random_output_len", {"random_output_len"}, {NULL}},
    {"random_range_ratio", {"random_range_ratio"}, {NULL}},
    {"sharegpt_output_len", {"sharegpt_output_len"}, {NULL}},
};
enum { FIELDS_N = sizeof FIELDS / sizeof *FIELDS, NAMES_N = 3, KEY_BYTES = 64 };

static const struct {
    const char *key, *json[2];
} TEXTS[] = {{"backend", {"backend"}},
             {"model", {"model_id", "model"}},
             {"dataset_name", {"dataset_name"}},
             {"date", {"date"}},
             {"label", {"label", "tag"}}};

static void finish(serving *s) {
    const char *settings[IMPORT_SETTINGS_N] = {0};
    char accept[64];
    double length = serving_num(s, "acceptance_length");
    settings[IMPORT_MODEL] = serving_text(s, "model");
    settings[IMPORT_ENGINE] = serving_text(s, "backend");
    settings[IMPORT_BUILD] = serving_text(s, "engine_version");
    settings[IMPORT_LABEL] = serving_text(s, "label");
    if (length > 1) {
        snprintf(accept, sizeof accept, "%.3g tokens accepted a step", length);
        settings[IMPORT_SPECULATION] = accept;
    }
    if (serving_text(s, "speculation"))
        settings[IMPORT_SPECULATION] = serving_text(s, "speculation");
    serving_finish(s, settings);
}

/* ---- JSON ---- */

static bool is_result(jr o) {
    return cJSON_IsObject(o.node) && jr_present(jr_get(o, "duration")) &&
           (jr_present(jr_get(o, "completed")) || jr_present(jr_get(o, "output_throughput")) ||
            jr_present(jr_get(o, "total_output_tokens")));
}

/* A number, or a text that holds one, as metadata given on a command line does. */
static void take_number(serving *s, const import_piece *p, const field *f, jr o, const char *name) {
    const cJSON *m = jr_get(o, name).node;
    if (!m || serving_text(s, f->key) || isfinite(serving_num(s, f->key))) return;
    if (cJSON_IsNumber(m)) {
        serving_state(s, p->line, name, f->key, m->valuedouble);
    } else if (cJSON_IsString(m)) {
        number n = number_at(m->valuestring, false);
        bool all = n.kind != NUMBER_NONE && m->valuestring[n.len] == '\0';
        if (all && n.kind == NUMBER_OK)
            serving_state(s, p->line, name, f->key, n.v);
        else if (strcmp(f->key, "request_rate") == 0 && m->valuestring[0])
            serving_set_text(s, f->key, all && n.kind == NUMBER_INF ? "inf" : m->valuestring);
        else if (m->valuestring[0])
            serving_state(s, p->line, name, f->key, (double)NAN);
    }
}

/* Python writes an infinite request rate as a bare Infinity, which reads as null. */
static bool says_infinity(const import_piece *p, const char *name) {
    char key[KEY_BYTES];
    int n = snprintf(key, sizeof key, "\"%s\"", name);
    const char *at = p->s, *end = p->s + p->len;
    while ((at = memchr(at, '"', (size_t)(end - at)))) {
        if (end - at < n + 4) return false;
        if (memcmp(at, key, (size_t)n) != 0) {
            at++;
            continue;
        }
        for (at += n; at < end && strchr(": \t\r\n", *at) && *at;) at++;
        return end - at >= 3 && strncasecmp(at, "inf", 3) == 0;
    }
    return false;
}

static void take_latencies(serving *s, const import_piece *p, jr o) {
    for (const cJSON *m = o.node->child; m; m = m->next) {
        if (!serving_is_latency(m->string) || strlen(m->string) >= KEY_BYTES) continue;
        if (cJSON_IsNumber(m))
            serving_state(s, p->line, m->string, m->string, m->valuedouble);
        else if (cJSON_IsNull(m))
            import_warn(s->in, s->file, p->line, "%s is null or not finite: not measured",
                        m->string);
    }
}

/* SGLang keeps what the server said of itself. */
static void take_server(serving *s, jr o) {
    static const char *const NAMES[][2] = {{"model", "model_path"},
                                           {"engine_version", "version"},
                                           {"speculation", "speculative_algorithm"}};
    jr info = jr_get(o, "server_info");
    if (!cJSON_IsObject(info.node)) return;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (cJSON_IsString(jr_get(info, NAMES[i][1]).node) && !serving_text(s, NAMES[i][0]))
            serving_set_text(s, NAMES[i][0], import_str(info, NAMES[i][1]));
}

/* --save-detailed: the lengths of every request, of which one that failed has no output. */
static bool differ(jr o, const char *key) {
    double first = (double)NAN;
    jr lens = jr_get(o, key);
    if (!cJSON_IsArray(lens.node)) return false;
    for (const cJSON *m = lens.node->child; m; m = m->next) {
        if (!cJSON_IsNumber(m) || m->valuedouble == 0) continue;
        if (isfinite(first) && m->valuedouble != first) return true;
        first = m->valuedouble;
    }
    return false;
}

static void read_result(serving *s, const import_piece *p, jr o) {
    serving_clear(s, p->line);
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        for (size_t k = 0; k < 2 && TEXTS[i].json[k]; k++)
            if (cJSON_IsString(jr_get(o, TEXTS[i].json[k]).node) && !serving_text(s, TEXTS[i].key))
                serving_set_text(s, TEXTS[i].key, import_str(o, TEXTS[i].json[k]));
    for (size_t i = 0; i < FIELDS_N; i++)
        for (size_t k = 0; k < NAMES_N && FIELDS[i].json[k]; k++)
            take_number(s, p, &FIELDS[i], o, FIELDS[i].json[k]);
    if (cJSON_IsNull(jr_get(o, "request_rate").node) && says_infinity(p, "request_rate"))
        serving_set_text(s, "request_rate", "inf");
    take_latencies(s, p, o);
    take_server(s, o);
    if (differ(o, "input_lens") || differ(o, "output_lens")) serving_set(s, "lengths_differ", 1);
    finish(s);
}

/* The object itself, or results that a script has put into it. */
static bool read_results(serving *s, const import_piece *p, jr o) {
    bool any = is_result(o);
    if (any) {
        read_result(s, p, o);
        return true;
    }
    for (const cJSON *m = o.node->child; m; m = m->next) {
        jr inner = jr_get(o, m->string);
        if (is_result(inner)) {
            read_result(s, p, inner);
            any = true;
        } else if (cJSON_IsArray(inner.node)) {
            for (jr item = {0}; jr_each(inner, &item);)
                if (is_result(item)) {
                    read_result(s, p, item);
                    any = true;
                }
        }
    }
    return any;
}

/* Is an object laid out over lines? One line that is cut off is not, when another object follows.
 */
static bool spans_lines(const file_bytes *f) {
    const char *s = f->s, *end = f->s + f->len;
    if (import_is_array(f)) return true;
    while (s < end && *s != '{') {
        const char *line = memchr(s, '\n', (size_t)(end - s));
        s = line ? line + 1 : end;
        while (s < end && (*s == ' ' || *s == '\t')) s++;
    }
    size_t depth = 0;
    bool in_string = false;
    for (; s < end && *s != '\n'; s++) {
        if (in_string && *s == '\\' && s + 1 < end)
            s++;
        else if (*s == '"')
            in_string = !in_string;
        else if (!in_string && *s == '{')
            depth++;
        else if (!in_string && *s == '}' && depth > 0)
            depth--;
    }
    while (s < end && isspace((unsigned char)*s)) s++;
    return depth > 0 && s < end && *s != '{';
}

err_code serving_read_json(import *in, import_text *t) {
    bool spread = spans_lines(import_text_head(t));
    serving *s = serving_new(in, t);
    size_t first = in->rows_n;
    if (!s) return in->e->code;
    import_cursor c = import_start(in, t);
    import_piece p;
    while (spread ? import_next_element(&c, &p) : import_next_line(&c, &p)) {
        jr_doc doc;
        err e;
        if (!import_open(&c, &p, &doc, &e)) continue;
        if (!read_results(s, &p, jr_root(&doc)))
            import_warn(in, c.name, p.line, "JSON, but no result of a serving benchmark, skipped");
        (void)import_close(&c, &p, &doc);
    }
    import_end(&c);
    local_run_conflicts(in, first);
    return in->e->code;
}

/* ---- text ---- */

static const char BANNER[] = "Serving Benchmark Result";

typedef struct table {
    serving *s;
    bool inside;      /* behind the banner */
    bool any;         /* a label of results was read */
    bool early;       /* of the first versions, without any ruler */
    bool banner;      /* one was seen in this text */
    const char *last; /* name of the field that was read last */
    size_t last_line;
    size_t prefix; /* bytes of a log before every line of the table */
    char prefix_end;
} table;

static bool ruler(const char *line) {
    size_t n = strspn(line, "=");
    return n >= 10 && line[n + strspn(line + n, " \t")] == '\0';
}

/* "Mean E2E Latency (ms)" -> "mean_e2e_latency_ms", with the unit behind the value at first;
 * false: no such label. */
static bool latency_key(const char *label, size_t len, char out[KEY_BYTES]) {
    static const char END[] = " (ms)";
    size_t n = sizeof END - 1;
    if (len <= n || strncmp(label + len - n, END, n) != 0) n = 0;
    if (len - n + 4 > KEY_BYTES) return false;
    for (size_t i = 0; i < len - n; i++)
        out[i] = label[i] == ' ' ? '_' : (char)tolower((unsigned char)label[i]);
    snprintf(out + len - n, 4, "_ms");
    return serving_is_latency(out);
}

static bool not_set(const char *value) {
    return strncasecmp(value, "not set", 7) == 0 || strncasecmp(value, "none", 4) == 0;
}

static void store(table *t, const import_line *l, const char *key, double v) {
    const serving_value *old = NULL;
    for (size_t i = 0; i < t->s->run.n; i++)
        if (strcmp(t->s->run.v[i].key, key) == 0) old = &t->s->run.v[i];
    if (old && old->inside && !old->text && old->v == v) {
        import_warn(t->s->in, t->s->file, l->number, "%s twice, counted once", key);
    } else if (old && !old->text && isfinite(old->v) && old->v != v) {
        import_fault(t->s->in, t->s->file, l->number,
                     "%s is %.6g, above it is %.6g: neither is used", key, v, old->v);
        ((serving_value *)old)->v = (double)NAN;
        t->s->run.faulty = true;
    } else if (!old) {
        serving_state(t->s, l->number, key, key, v);
    }
    for (size_t i = 0; i < t->s->run.n; i++)
        if (strcmp(t->s->run.v[i].key, key) == 0) t->s->run.v[i].inside = t->inside;
}

/* An arrow or the like that somebody wrote behind a value: no unit and no second number. */
static bool is_remark(const char *s) {
    size_t gap = strspn(s, " \t");
    s += gap;
    return gap >= 2 && *s != '%' && !isalnum((unsigned char)*s) && !strpbrk(s, "0123456789");
}

/* How the first versions write the unit of a field, behind its value. */
static const char *unit_of(const char *key) {
    size_t n = strlen(key);
    if (strcmp(key, "duration_s") == 0) return "s";
    if (strcmp(key, "req_s") == 0) return "requests/s";
    if (n > 3 && strcmp(key + n - 3, "_ms") == 0) return "ms";
    return strstr(key, "_tok_s_aggregate") ? "tokens/s" : NULL;
}

/* Behind the unit of a value whose label names none; NULL: it has another one or none. */
static const char *behind_unit(const char *rest, const char *line, const char *key) {
    const char *unit = unit_of(key), *paren = strchr(line, '('), *colon = strchr(line, ':');
    if (!unit || (paren && paren < colon)) return rest;
    const char *at = rest + strspn(rest, " \t");
    size_t n = strlen(unit);
    return strncmp(at, unit, n) == 0 ? at + n : NULL;
}

/* A label of the first versions: no line of a text that has a later table. */
static bool is_early(table *t, const char *line, const char *key, const char *value) {
    const char *paren = strchr(line, '('), *colon = strchr(line, ':');
    if (!unit_of(key) || (paren && paren < colon)) return true; /* of all versions */
    const char *rest = value + number_at(value, false).len;
    if (t->banner || (!t->early && !behind_unit(rest, line, key))) return false;
    return t->early = true;
}

static void take_value(table *t, const import_line *l, const char *line, const char *key,
                       const char *value) {
    number n = number_at(value, number_text_has_decimal_comma(value, strlen(value)));
    const char *rest = behind_unit(value + n.len, line, key);
    bool rate = strcmp(key, "request_rate") == 0;
    if (rate && rest && strncmp(rest, " RPS", 4) == 0) rest += rest[4] == '.' ? 5 : 4;
    bool all =
        n.kind != NUMBER_NONE && rest && (rest[strspn(rest, " \t")] == '\0' || is_remark(rest));
    if (t->s->run.line == 0) t->s->run.line = l->number;
    t->last = import_keep(t->s->in, key);
    t->last_line = l->number;
    if (value[0] == '\0' || !l->ended) {
        import_warn(t->s->in, t->s->file, l->number, "cut off: the file ends inside %s", key);
        return;
    }
    if (not_set(value)) return;
    if (all && n.kind == NUMBER_OK) {
        store(t, l, key, n.v);
    } else if (rate) {
        serving_set_text(t->s, key, all && n.kind == NUMBER_INF ? "inf" : value);
    } else {
        import_fault(t->s->in, t->s->file, l->number, "%s is \"%.32s\", expected a finite number",
                     key, value);
        t->s->run.faulty = true;
    }
}

static bool take_label(table *t, const import_line *l, const char *line) {
    char key[KEY_BYTES];
    const char *colon = strchr(line, ':');
    if (!colon) return false;
    size_t len = (size_t)(colon - line);
    while (len > 0 && line[len - 1] == ' ') len--;
    for (size_t i = 0; i < FIELDS_N; i++)
        for (size_t k = 0; k < NAMES_N && FIELDS[i].label[k]; k++) {
            const char *value = label_value(line, FIELDS[i].label[k]);
            if (!value) continue;
            if (!is_early(t, line, FIELDS[i].key, value)) return false;
            bool load = strcmp(FIELDS[i].key, "request_rate") == 0 ||
                        strcmp(FIELDS[i].key, "max_concurrency") == 0;
            if (!load) t->any = true;
            take_value(t, l, line, FIELDS[i].key, value);
            return true;
        }
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    if (latency_key(line, len, key) && is_early(t, line, key, value)) {
        t->any = true;
        take_value(t, l, line, key, value);
        return true;
    }
    const char *backend = label_value(line, "Backend");
    if (!backend || !l->ended) return false;
    char word[KEY_BYTES];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(backend, " \t"), backend);
    serving_set_text(t->s, "backend", word);
    return true;
}

/* The arguments of the tool, which it prints before it begins. */
static void take_arguments(table *t, const char *line) {
    static const char *const NAMES[][2] = {
        {"model", " model='"}, {"backend", "backend='"}, {"dataset_name", "dataset_name='"}};
    char word[256];
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const char *at = strstr(line, NAMES[i][1]);
        if (!at) continue;
        at += strlen(NAMES[i][1]);
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "'"), at);
        serving_set_text(t->s, NAMES[i][0], word);
    }
}

static void close_table(table *t, bool cut) {
    if (t->any && cut && !t->early)
        import_warn(t->s->in, t->s->file, t->last_line,
                    "cut off behind %s: the closing line is missing", t->last);
    if (t->any) finish(t->s);
    serving_clear(t->s, 0);
    t->any = t->inside = t->early = false;
    t->prefix = 0;
}

/* Tables are quoted in scripts and mails, and printed into logs. */
static const char *unquoted(const table *t, const import_line *l) {
    bool logged = t->prefix && l->len >= t->prefix && l->s[t->prefix - 1] == t->prefix_end;
    const char *line = logged ? l->s + t->prefix : l->s;
    return line + strspn(line, " \t#>");
}

static void open_table(table *t, const import_line *l) {
    const char *banner = strstr(l->s, "====");
    t->inside = t->banner = true;
    t->prefix = banner && banner < strstr(l->s, BANNER) ? (size_t)(banner - l->s) : 0;
    t->prefix_end = t->prefix ? banner[-1] : '\0';
    if (l->s[strspn(l->s, " \t#>")] == '=') t->prefix = 0; /* quoted, not logged */
    if (t->s->run.line == 0) t->s->run.line = l->number;
}

err_code serving_read_text(import *in, import_text *text) {
    table t = {.s = serving_new(in, text)};
    size_t first = in->rows_n;
    import_line l;
    if (!t.s) return in->e->code;
    while (!in->e->code && import_text_line(text, &l)) {
        const char *line = unquoted(&t, &l);
        if (strstr(line, BANNER)) {
            if (t.any) close_table(&t, true);
            open_table(&t, &l);
        } else if (ruler(line)) {
            if (t.any) close_table(&t, false);
        } else if (strncmp(line, "Namespace(", 10) == 0 || strstr(line, "args=Namespace(")) {
            take_arguments(&t, line);
        } else {
            if (t.early && label_value(line, "Successful requests")) close_table(&t, false);
            (void)take_label(&t, &l, line);
        }
    }
    close_table(&t, true);
    local_run_conflicts(in, first);
    return in->e->code;
}

/* ---- formats ---- */

static bool sglang_words(const file_bytes *f) {
    return import_holds(f, "retokenized") || import_holds(f, "E2E Latency (ms)") ||
           import_holds(f, "e2e_latency_ms") || import_holds(f, "Max reqeuest concurrency") ||
           import_holds(f, "Accept length:") || import_holds(f, "\"accept_length\"") ||
           import_holds(f, "\"random_range_ratio\"");
}

static bool json_words(const file_bytes *f) {
    return import_holds(f, "\"duration\"") && import_holds(f, "\"completed\"") &&
           (import_holds(f, "\"output_throughput\"") ||
            import_holds(f, "\"request_throughput\"")) &&
           (import_holds(f, "_ttft_ms\"") || import_holds(f, "_tpot_ms\"") ||
            import_holds(f, "_itl_ms\"") || import_holds(f, "_e2el_ms\"") ||
            import_holds(f, "_e2e_latency_ms\""));
}

static bool text_words(const file_bytes *f) {
    if (import_holds(f, "\"completed\"") && import_holds(f, "\"duration\"")) return false;
    return import_holds(f, "Serving Benchmark Result") ||
           (import_holds(f, "Successful requests:") &&
            (import_holds(f, "Benchmark duration (s):") ||
             import_holds(f, "Benchmark duration: "))) ||
           (import_holds(f, "TTFT (ms):") && import_holds(f, "token throughput (tok/s):"));
}

static int detect_vllm_json(const file_bytes *f) {
    return json_words(f) && !sglang_words(f) ? 85 : 0;
}

static int detect_sglang_jsonl(const file_bytes *f) {
    return json_words(f) && sglang_words(f) ? 85 : 0;
}

static int detect_vllm_text(const file_bytes *f) {
    return text_words(f) && !sglang_words(f) ? 85 : 0;
}

static int detect_sglang_text(const file_bytes *f) {
    return text_words(f) && sglang_words(f) ? 85 : 0;
}

const import_format IMPORT_VLLM_JSON = {
    .name = "vllm_json",
    .about = "vllm bench serve --save-result",
    .detect = detect_vllm_json,
    .read = serving_read_json,
};

const import_format IMPORT_VLLM_TEXT = {
    .name = "vllm_text",
    .about = "the table of vllm bench serve",
    .detect = detect_vllm_text,
    .read = serving_read_text,
};

const import_format IMPORT_SGLANG_JSONL = {
    .name = "sglang_jsonl",
    .about = "sglang.bench_serving --output-file",
    .detect = detect_sglang_jsonl,
    .read = serving_read_json,
};

const import_format IMPORT_SGLANG_TEXT = {
    .name = "sglang_text",
    .about = "the table of sglang.bench_serving",
    .detect = detect_sglang_text,
    .read = serving_read_text,
};
