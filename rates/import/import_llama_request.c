/* A request of llama-server -> a record and rows, and the server's JSON: a response, an array of
 * them, one a line, or an event stream ("data: {...}"). `timings` counts evaluated tokens only;
 * what came from the cache stands apart (cache_n, or tokens_evaluated in 2023 and 2024, which is
 * the whole prompt). */
#include "import_llama.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const int64_t TOK_MAX = 1000000000;
static const double MS_MAX = 1e12;
/* Below these the fixed costs of a step are most of the time. */
enum { FEW_PROMPT = 32, FEW_GEN = 8 };

/* ---- record ---- */

static void stated_count(import *in, const char *key, int64_t v) {
    if (v >= 0) import_record_num(in, key, (double)v);
}

static void stated_or_null(import *in, const char *key, double v, bool undefined) {
    if (undefined || isfinite(v)) import_record_num(in, key, undefined ? (double)NAN : v);
}

void request_record(import *in, const llama_request *q, const char *prompt_key) {
    stated_count(in, prompt_key, q->prompt_n);
    import_record_stated(in, "prompt_ms", q->prompt_ms);
    stated_or_null(in, "prompt_tok_s", q->prompt_tok_s, q->prompt_undefined);
    stated_count(in, "gen_tokens", q->gen_n);
    import_record_stated(in, "gen_ms", q->gen_ms);
    stated_or_null(in, "gen_tok_s", q->gen_tok_s, q->gen_undefined);
    if (!q->sums) {
        stated_count(in, "cached", q->cached);
        if (q->cached >= 0 && q->prompt_n >= 0)
            stated_count(in, "prompt_tokens", q->cached + q->prompt_n);
    }
    stated_count(in, "draft_n", q->draft_n);
    stated_count(in, "draft_n_accepted", q->draft_accepted);
}

/* ---- rows ---- */

static void refuse(import *in, import_row *r, int64_t n, const char *why) {
    char text[256];
    snprintf(text, sizeof text, "%lld %s", (long long)n, why);
    import_warn(in, r->file, r->line, "%s", text);
    if (!r->refused) r->refused = import_keep(in, text);
}

static import_row *phase_row(import *in, const char *file, size_t line, const llama_request *q,
                             import_phase ph) {
    bool decode = ph == IMPORT_DECODE;
    int64_t n = decode ? q->gen_n : q->prompt_n;
    double ms = decode ? q->gen_ms : q->prompt_ms, rate = decode ? q->gen_tok_s : q->prompt_tok_s;
    bool undefined = decode ? q->gen_undefined : q->prompt_undefined;
    const char *what = decode ? "generation" : "prompt";
    if (n <= 0 || n > TOK_MAX || (!isfinite(ms) && !isfinite(rate) && !undefined)) return NULL;
    import_row *r = import_row_new(in, file, line);
    if (!r) return NULL;
    r->phase = ph;
    r->n_prompt = decode ? 0 : n;
    r->n_gen = decode ? n : 0;
    r->per_request = true;
    int64_t before =
        (q->cached > 0 ? q->cached : 0) + (decode && q->prompt_n > 0 ? q->prompt_n : 0);
    r->depth_tok = before;
    const char *layout = q->setting[IMPORT_KV_LAYOUT];
    if (layout) r->layout = strcmp(layout, "unified") == 0 ? KV_LAYOUT_UNIFIED : KV_LAYOUT_SPLIT;
    import_settings_keep(in, r, q->setting);
    if (undefined) {
        r->refused = "nan or inf: a phase of 0 ms, not measured";
        import_warn(in, file, line, "the rate of the %s is nan or inf: not measured", what);
        return r;
    }
    double computed = (double)n / ms * 1000;
    bool timed = ms > 0 && ms <= MS_MAX, rated = rate > 0 && rate <= 1e15;
    if ((!timed && !rated) || (isfinite(ms) && !timed) || (isfinite(rate) && !rated))
        import_refuse(in, r, "time or rate of the %s is zero, negative or beyond a clock", what);
    else if (timed && rated && fabs(rate - computed) > 0.006 &&
             import_contradicts(rate, computed, ms, 0.006))
        import_refuse(in, r, "%.6g tok/s contradicts %lld tokens in %.6g ms, %.6g tok/s", rate,
                      (long long)n, ms, computed);
    else
        r->tok_s = r->per_seq_tok_s = rated ? rate : computed;
    return r;
}

static void say_prefill(import *in, import_row *r, const llama_request *q) {
    if (q->cached > 0)
        r->refused = "warm: part of the prompt came from the cache, so this is the rate behind it";
    else if (q->cached < 0)
        r->refused = "how much of the prompt came from the cache is not stated";
    if (r->n_prompt < FEW_PROMPT)
        refuse(in, r, r->n_prompt, "prompt tokens evaluated: too few for a rate of prefill");
    else if (q->sums && q->gen_n <= 1)
        refuse(in, r, r->n_prompt,
               "tokens of a run that generates nothing (perplexity, in chunks): each at small "
               "depth, no prompt of that length");
}

static void say_decode(import *in, import_row *r, const llama_request *q) {
    if (r->n_gen < FEW_GEN)
        refuse(in, r, r->n_gen, "generated tokens: too few for a rate of decode");
    else if (q->draft_n > 0)
        refuse(in, r, q->draft_n,
               "drafted tokens (speculative decoding): the rate holds for this text only");
    else if (q->cached < 0 || q->prompt_n < 0)
        r->refused = "the depth it began at is not stated";
}

void request_rows(import *in, const char *file, size_t line, const llama_request *given) {
    llama_request q = *given;
    if (q.draft_n > 0) q.setting[IMPORT_SPECULATION] = "draft";
    const char *cache = q.sums || q.cached < 0 ? NULL : q.cached > 0 ? "warm" : "cold";
    q.setting[IMPORT_CACHE] = cache;
    import_row *r = phase_row(in, file, line, &q, IMPORT_PREFILL);
    if (r && !r->refused) say_prefill(in, r, &q);
    q.setting[IMPORT_CACHE] = NULL; /* decode does not depend on it */
    r = phase_row(in, file, line, &q, IMPORT_DECODE);
    if (r && !r->refused) say_decode(in, r, &q);
}

/* ---- llama-server's JSON ---- */

typedef struct stream {
    bool any, stopped;
    size_t line;
    llama_request q;
    int64_t cache_n;
    int slot;
    const char *model;
} stream;

/* The object that holds the timings: the response, or one level inside it. */
static jr holder_of(jr root) {
    if (jr_present(jr_get(root, "timings"))) return root;
    for (const cJSON *m = root.node->child; m; m = m->next) {
        jr inner = jr_get(root, m->string);
        if (cJSON_IsObject(inner.node) && jr_present(jr_get(inner, "timings"))) return inner;
    }
    return root;
}

/* `jq .timings` leaves the object alone. */
static bool is_bare(jr o) {
    return jr_present(jr_get(o, "predicted_n")) &&
           (jr_present(jr_get(o, "predicted_ms")) || jr_present(jr_get(o, "predicted_per_second")));
}

/* A count that servers before 2024 may write as a number with a fraction of zero. */
static int64_t tokens(jr o, const char *key) {
    return import_count(o, key, TOK_MAX);
}

static const char *build_of(jr o) {
    const char *print = import_str(o, "system_fingerprint");
    if (!print || print[0] != 'b' || strspn(print + 1, "0123456789") == 0) return NULL;
    const char *dash = strchr(print, '-');
    return dash && dash[1] ? dash + 1 : NULL;
}

static void read_timings(import *in, jr o, size_t line, stream *s) {
    jr t = is_bare(o) ? o : jr_get(o, "timings");
    llama_request q = {.prompt_n = tokens(t, "prompt_n"),
                       .gen_n = tokens(t, "predicted_n"),
                       .prompt_ms = import_num(t, "prompt_ms"),
                       .gen_ms = import_num(t, "predicted_ms"),
                       .prompt_tok_s = import_num(t, "prompt_per_second"),
                       .gen_tok_s = import_num(t, "predicted_per_second"),
                       .draft_n = tokens(t, "draft_n"),
                       .draft_accepted = tokens(t, "draft_n_accepted")};
    q.prompt_undefined = jr_present(jr_get(t, "prompt_per_second")) && isnan(q.prompt_tok_s);
    q.gen_undefined = jr_present(jr_get(t, "predicted_per_second")) && isnan(q.gen_tok_s);
    s->cache_n = tokens(t, "cache_n");
    int64_t whole =
        cJSON_IsNumber(jr_get(o, "tokens_evaluated").node) ? tokens(o, "tokens_evaluated") : -1;
    q.cached = s->cache_n >= 0                                        ? s->cache_n
               : whole >= 0 && q.prompt_n >= 0 && whole >= q.prompt_n ? whole - q.prompt_n
                                                                      : -1;
    if (!jr_ok(o)) return;
    s->any = true;
    s->line = line;
    s->q = q;
    const char *model = cJSON_IsString(jr_get(o, "model").node) ? import_str(o, "model") : NULL;
    s->model = import_keep(in, model);
    if (cJSON_IsString(jr_get(o, "system_fingerprint").node))
        s->q.setting[IMPORT_BUILD] = import_keep(in, build_of(o));
}

static void flush(import_cursor *c, stream *s) {
    import *in = c->in;
    bool any = s->any && !in->e->code;
    s->any = false;
    if (!any || !import_record_new(in, c->name, s->line, IMPORT_REQUEST, 16)) return;
    stated_count(in, "cache_n", s->cache_n);
    stated_count(in, "prompt_n", s->q.prompt_n);
    request_record(in, &s->q, "prompt_tokens_evaluated");
    if (s->model) import_record_text(in, "model", s->model);
    request_rows(in, c->name, s->line, &s->q);
}

static void read_object(import_cursor *c, const import_piece *p, bool events, stream *s) {
    jr_doc doc;
    err e;
    if (!import_open(c, p, &doc, &e)) return;
    jr o = holder_of(jr_root(&doc));
    if (cJSON_IsObject(jr_get(o, "timings").node) || is_bare(o)) {
        int64_t before = s->any ? s->q.gen_n : -1;
        stream next = *s;
        read_timings(c->in, o, p->line, &next);
        if (!events || (s->any && next.q.gen_n < before)) flush(c, s); /* another stream */
        if (jr_ok(o)) *s = next;
    } else if (jr_present(jr_get(o, "error"))) {
        import_warn(c->in, c->name, p->line, "the server answered with an error: no request");
    } else if (!events) {
        import_warn(c->in, c->name, p->line, "JSON without timings, skipped");
    }
    (void)import_close(c, p, &doc);
}

/* "data: {...}" -> the object; NULL: another line. */
static const char *event_of(const char *line) {
    line += strspn(line, " \t");
    if (strncmp(line, "data:", 5) != 0) return NULL;
    return line + 5 + strspn(line + 5, " ");
}

static void read_events(import_cursor *c, stream *s) {
    import_line l;
    while (!c->in->e->code && import_text_line(c->t, &l)) {
        const char *p = event_of(l.s);
        c->line = l.number;
        if (!p) continue;
        if (strncmp(p, "[DONE]", 6) == 0)
            flush(c, s);
        else if (*p == '{') {
            import_piece piece = {p, strlen(p), l.number, !l.ended};
            read_object(c, &piece, true, s);
        } else
            import_warn(c->in, c->name, l.number, "an event without a JSON object, skipped");
    }
}

static bool has_events(const file_bytes *f) {
    for (size_t at = 0; at < f->len;) {
        const char *s = f->s + at, *end = memchr(s, '\n', f->len - at);
        size_t n = end ? (size_t)(end - s) : f->len - at;
        if (n > 6 && strncmp(s, "data:", 5) == 0) return true;
        at += n + 1;
    }
    return false;
}

static err_code read_server(import *in, import_text *t) {
    import_cursor c = import_start(in, t);
    import_piece p;
    stream s = {0};
    const file_bytes *head = import_text_head(t);
    size_t rows = in->rows_n;
    if (head->s && has_events(head))
        read_events(&c, &s);
    else
        while (import_next_element(&c, &p)) read_object(&c, &p, false, &s);
    flush(&c, &s);
    for (size_t i = rows; i < in->rows_n; i++)
        if (!in->rows[i].refused) {
            import_warn(in, c.name, in->rows[i].line,
                        "a response does not say what else the server computed meanwhile: its "
                        "rates are of one request alone only if it was alone");
            break;
        }
    import_end(&c);
    return in->e->code;
}

static int detect_server(const file_bytes *f) {
    return (import_holds(f, "\"predicted_n\"") || import_holds(f, "\"predicted_ms\"")) &&
                   (import_holds(f, "\"timings\"") || import_holds(f, "\"prompt_n\"")) &&
                   !import_holds(f, "print_timing")
               ? 75
               : 0;
}

const import_format IMPORT_LLAMA_SERVER_JSON = {
    .name = "llama_server_json",
    .about = "llama-server responses with timings",
    .detect = detect_server,
    .read = read_server,
    .engine = "llama.cpp",
};
