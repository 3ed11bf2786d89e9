/* Load generators: vLLM bench serve, SGLang bench_serving, GuideLLM. Here is what is common to
 * them: what a summary over many requests says, and what it cannot say. The rate of a run is an
 * aggregate with prefill and queueing in it, the time to first token contains the queue; only the
 * time per output token of requests that ran alone is a term of a card. */
#include "import_serving.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_GEN = 8, PERCENTILES_MIN = 100 };
static const double TOK_MAX = 1e9;

void serving_clear(serving *s, size_t line) {
    s->run.n = 0;
    s->run.faulty = false;
    s->run.line = line;
}

static const serving_value *find(const serving *s, const char *key) {
    for (size_t i = 0; i < s->run.n; i++)
        if (strcmp(s->run.v[i].key, key) == 0) return &s->run.v[i];
    return NULL;
}

double serving_num(const serving *s, const char *key) {
    const serving_value *v = find(s, key);
    return v && !v->text ? v->v : (double)NAN;
}

const char *serving_text(const serving *s, const char *key) {
    const serving_value *v = find(s, key);
    return v ? v->text : NULL;
}

static serving_value *slot(serving *s, const char *key) {
    serving_value *v = (serving_value *)find(s, key);
    if (v) return v;
    const char *kept = import_keep(s->in, key);
    if (!kept) return NULL;
    if (s->run.n == SERVING_VALUES) {
        import_warn(s->in, s->file, s->run.line, "%s is left out: more than %d values of one run",
                    key, SERVING_VALUES);
        return NULL;
    }
    v = &s->run.v[s->run.n++];
    *v = (serving_value){.key = kept, .v = (double)NAN};
    return v;
}

void serving_set(serving *s, const char *key, double v) {
    serving_value *x = isfinite(v) ? slot(s, key) : NULL;
    if (x) x->v = v, x->text = NULL;
}

void serving_set_text(serving *s, const char *key, const char *text) {
    serving_value *x = text ? slot(s, key) : NULL;
    if (x) x->text = import_keep(s->in, text);
}

bool serving_is_latency(const char *key) {
    static const char *const MEASURES[] = {"_ttft_ms", "_tpot_ms",        "_itl_ms",
                                           "_e2el_ms", "_e2e_latency_ms", "_latency_ms"};
    size_t n = strlen(key);
    for (size_t i = 0; i < sizeof MEASURES / sizeof *MEASURES; i++) {
        size_t m = strlen(MEASURES[i]);
        if (n > m && strcmp(key + n - m, MEASURES[i]) == 0) return true;
    }
    return false;
}

static bool is_count(const char *key) {
    static const char *const COUNTS[] = {"completed",    "failed",       "errored",
                                         "incomplete",   "drafts",       "num_prompts",
                                         "input_tokens", "output_tokens"};
    for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS; i++)
        if (strcmp(key, COUNTS[i]) == 0) return true;
    return false;
}

void serving_state(serving *s, size_t line, const char *name, const char *key, double v) {
    bool good = v >= 0 && v <= 1e15 && (!is_count(key) || v == floor(v));
    if (good) {
        serving_set(s, key, v);
        return;
    }
    import_fault(s->in, s->file, line, "%s is %.6g, expected a finite %s >= 0", name, v,
                 is_count(key) ? "count" : "number");
    s->run.faulty = true;
}

/* ---- derived values and what contradicts ---- */

static void derive(serving *s) {
    double n = serving_num(s, "completed"), in = serving_num(s, "input_tokens"),
           out = serving_num(s, "output_tokens");
    double tpot = serving_num(s, "mean_tpot_ms"), mid = serving_num(s, "median_tpot_ms");
    double rate = serving_num(s, "acceptance_rate"), drafts = serving_num(s, "draft_tokens"),
           accepted = serving_num(s, "accepted_tokens");
    if (n > 0) {
        serving_set(s, "input_tokens_per_request", in / n);
        serving_set(s, "output_tokens_per_request", out / n);
    }
    bool several = !(out / n < 2); /* with one token there is no time between tokens */
    if (several && tpot > 0) serving_set(s, "decode_tok_s_per_request", 1000 / tpot);
    if (several && mid > 0) serving_set(s, "decode_tok_s_per_request_median", 1000 / mid);
    if (rate >= 0)
        serving_set(s, "acceptance", rate / 100); /* stated in percent */
    else if (drafts > 0 && accepted >= 0)
        serving_set(s, "acceptance", accepted / drafts);
}

/* `a` per `b` against the stated rate, within 1 % and the two decimals of a table. */
static void check_rate(serving *s, const char *count, const char *rate) {
    double n = serving_num(s, count), t = serving_num(s, "duration_s"), r = serving_num(s, rate);
    if (!(n > 0 && t > 0 && isfinite(r))) return;
    double computed = n / t, open = computed * (0.01 + 0.005 / t) + 0.006;
    if (fabs(r - computed) <= open) return;
    import_fault(s->in, s->file, s->run.line,
                 "%s is %.6g, but %s %.0f in %.6g s is %.6g: they contradict each other", rate, r,
                 count, n, t, computed);
    s->run.faulty = true;
}

static void check_order(serving *s, const char *measure) {
    char key[48];
    snprintf(key, sizeof key, "median_%s_ms", measure);
    double median = serving_num(s, key);
    snprintf(key, sizeof key, "p99_%s_ms", measure);
    double p99 = serving_num(s, key);
    if (!(median > p99 * 1.0001 + 0.01)) return;
    import_fault(s->in, s->file, s->run.line,
                 "the median of %s, %.6g ms, is above its p99, %.6g ms: cannot be", measure, median,
                 p99);
    s->run.faulty = true;
}

static void check_acceptance(serving *s) {
    double stated = serving_num(s, "acceptance"), drafts = serving_num(s, "draft_tokens"),
           counted = serving_num(s, "accepted_tokens") / drafts;
    if (!(drafts > 0 && fabs(stated - counted) > 0.001)) return;
    import_fault(s->in, s->file, s->run.line,
                 "an acceptance rate of %.4g %% contradicts its counts, which give %.4g %%",
                 stated * 100, counted * 100);
    s->run.faulty = true;
}

static void check(serving *s) {
    double n = serving_num(s, "completed"), ttft = serving_num(s, "mean_ttft_ms"),
           e2e = serving_num(s, "mean_e2el_ms"), t = serving_num(s, "duration_s");
    if (!isfinite(e2e)) e2e = serving_num(s, "mean_e2e_latency_ms");
    if (n == 0) {
        import_fault(s->in, s->file, s->run.line, "no request succeeded: nothing was measured");
        s->run.faulty = true;
    }
    if (t == 0) {
        import_fault(s->in, s->file, s->run.line, "a duration of 0 s: nothing was measured");
        s->run.faulty = true;
    }
    check_rate(s, "output_tokens", "output_tok_s_aggregate");
    check_rate(s, "input_tokens", "input_tok_s_aggregate");
    check_rate(s, "completed", "req_s");
    check_acceptance(s);
    check_order(s, "ttft");
    check_order(s, "tpot");
    check_order(s, "itl");
    if (ttft > e2e * 1.0001 + 0.01) {
        import_fault(s->in, s->file, s->run.line,
                     "mean TTFT %.6g ms is above the mean latency of whole requests, %.6g ms", ttft,
                     e2e);
        s->run.faulty = true;
    }
}

/* ---- warnings ---- */

#define WARN(s, ...) import_warn((s)->in, (s)->file, (s)->run.line, __VA_ARGS__)

static void warn_requests(serving *s) {
    double n = serving_num(s, "completed"), failed = serving_num(s, "failed"),
           asked = serving_num(s, "num_prompts");
    double out = serving_num(s, "output_tokens_per_request"),
           again = serving_num(s, "output_tokens_retokenized"),
           total = serving_num(s, "output_tokens");
    if (failed > 0)
        WARN(s, "%.0f of %.0f requests failed: the figures are of the others", failed, n + failed);
    else if (asked > n)
        WARN(s, "%.0f requests were sent, %.0f completed: the figures are of these", asked, n);
    if (out < 2)
        WARN(s, "%.3g output tokens per request: no time between tokens, 0 ms is not measured",
             out);
    if (total == 0) WARN(s, "no output tokens: empty answers");
    if (again >= 0 && fabs(again - total) > total * 0.001)
        WARN(s,
             "the output rate counts %.0f tokens as requested or reported; the texts retokenize to "
             "%.0f",
             total, again);
}

static void warn_lengths(serving *s) {
    static const char *const LENGTHS[][2] = {{"random_input_len", "input_tokens_per_request"},
                                             {"random_output_len", "output_tokens_per_request"}};
    for (size_t i = 0; i < 2; i++) {
        double asked = serving_num(s, LENGTHS[i][0]), got = serving_num(s, LENGTHS[i][1]);
        if (asked > 0 && fabs(got - asked) > asked * 0.1)
            WARN(s, "%s says %.0f, the totals give %.1f a request: the totals count", LENGTHS[i][0],
                 asked, got);
    }
}

static void warn_ttft(serving *s) {
    double mean = serving_num(s, "mean_ttft_ms"), median = serving_num(s, "median_ttft_ms"),
           n = serving_num(s, "completed"), t = serving_num(s, "duration_s");
    const char *rate = serving_text(s, "request_rate");
    double typical = isfinite(mean) ? mean : median;
    if (mean > 2 * median)
        WARN(s, "mean TTFT %.6g ms is %.1f times the median: a cold start or a queue is in it",
             mean, mean / median);
    bool at_once = rate && strcmp(rate, "inf") == 0 && !(serving_num(s, "max_concurrency") > 0);
    if (n > 1 && isfinite(typical) && (at_once || typical / 1000 > t * 0.2))
        WARN(s, "%.0f requests%s: the TTFT of %.6g ms is queueing more than prefill", n,
             at_once ? " at once" : "", typical);
    if (n < PERCENTILES_MIN &&
        (isfinite(serving_num(s, "p99_ttft_ms")) || isfinite(serving_num(s, "p99_itl_ms")) ||
         isfinite(serving_num(s, "p99_tpot_ms"))))
        WARN(s, "a p99 over %.0f requests is the maximum", n);
}

static void warn_decode(serving *s) {
    double tpot = serving_num(s, "mean_tpot_ms"), itl = serving_num(s, "mean_itl_ms"),
           mid = serving_num(s, "median_tpot_ms"), accept = serving_num(s, "acceptance_length");
    double peak = serving_num(s, "peak_output_tok_s"),
           average = serving_num(s, "output_tok_s_aggregate"),
           most = serving_num(s, "max_concurrent_requests"),
           limit = serving_num(s, "max_concurrency");
    if (accept > 1 || itl > 1.3 * tpot)
        WARN(s,
             "mean ITL %.6g ms is the gap between pieces of the stream, of %.3g tokens each; TPOT "
             "%.6g ms is per token",
             itl, accept > 1 ? accept : itl / tpot, tpot);
    else if (itl > 0 && tpot > 1.3 * itl)
        WARN(s,
             "mean TPOT %.6g ms (over requests) is %.2f times the mean ITL (over tokens): the "
             "requests differ",
             tpot, tpot / itl);
    if (mid > 0 && (tpot > 1.3 * mid || mid > 1.3 * tpot))
        WARN(s,
             "decode per request is %.4g tok/s from the mean and %.4g from the median: a large "
             "spread",
             1000 / tpot, 1000 / mid);
    if (peak < average * 0.99)
        WARN(s,
             "a peak of %.6g tok/s below the average of %.6g is impossible for tokens: it counts "
             "pieces of the stream",
             peak, average);
    if (most > limit && limit > 0)
        WARN(s,
             "max_concurrent_requests %.0f is above the limit of %.0f: it counts requests within "
             "one second",
             most, limit);
    if (!isfinite(tpot) && isfinite(serving_num(s, "median_itl_ms")) &&
        !(serving_num(s, "output_tokens_per_request") < 2))
        WARN(s, "no TPOT: the ITL is of pieces of the stream, no decode rate is derived from it");
}

/* ---- runs of one file ---- */

static bool same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static bool near(double a, double b) {
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 0.1 * fmax(fabs(a), fabs(b));
}

static const import_value *value_of(const import_record *r, const char *key) {
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->v[i].key, key) == 0) return &r->v[i];
    return NULL;
}

static double num_of(const import_record *r, const char *key) {
    const import_value *v = value_of(r, key);
    return v && !v->text ? v->v : (double)NAN;
}

static const char *text_of(const import_record *r, const char *key) {
    const import_value *v = value_of(r, key);
    return v ? v->text : NULL;
}

static serving_mark mark_of(const import_record *r) {
    double ttft = num_of(r, "median_ttft_ms");
    return (serving_mark){
        .file = r->file,
        .line = r->line,
        .dataset = text_of(r, "dataset_name"),
        .rate_text = text_of(r, "request_rate"),
        .model = text_of(r, "model"),
        .rate = num_of(r, "request_rate"),
        .concurrency = num_of(r, "max_concurrency"),
        .completed = num_of(r, "completed"),
        .in_tok = num_of(r, "input_tokens_per_request"),
        .out_tok = num_of(r, "output_tokens_per_request"),
        .ttft_ms = isfinite(ttft) ? ttft : num_of(r, "mean_ttft_ms"),
        .out_tok_s = num_of(r, "output_tok_s_aggregate"),
        .duration_s = num_of(r, "duration_s"),
    };
}

static void remember(serving *s, const serving_mark *m) {
    if (s->seen_n < SERVING_SEEN) s->seen[s->seen_n++] = *m;
}

serving *serving_new(import *in, import_text *t) {
    serving *s = ARENA_NEW(in->mem, serving);
    if (!s) {
        err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
        return NULL;
    }
    *s = (serving){.in = in, .file = import_keep(in, import_text_name(t))};
    for (size_t i = 0; i < in->records_n; i++) {
        const import_record *r = &in->records[i];
        if (r->kind != IMPORT_SUMMARY || !value_of(r, "duration_s") || !value_of(r, "completed"))
            continue;
        serving_mark m = mark_of(r);
        if (isfinite(m.ttft_ms)) remember(s, &m);
    }
    return s;
}

/* Texts are kept once, so that a pointer is a name. */
static bool same_load(const serving_mark *a, const serving_mark *b) {
    bool paced = isfinite(a->rate) || isfinite(a->concurrency);
    return a->rate_text == b->rate_text && same_number(a->rate, b->rate) &&
           same_number(a->concurrency, b->concurrency) && a->model == b->model &&
           (paced || same_number(a->completed, b->completed)); /* all at once: how many it is */
}

static void compare(serving *s, const serving_mark *old, const serving_mark *now) {
    bool lengths = near(old->in_tok, now->in_tok) && near(old->out_tok, now->out_tok);
    if (old->dataset != now->dataset || !lengths) {
        WARN(s,
             "the same load as %s:%zu, but another workload (%s, %.1f and %.1f tokens a request, "
             "there %s, %.1f and %.1f): not to be merged",
             old->file, old->line, now->dataset ? now->dataset : "-", now->in_tok, now->out_tok,
             old->dataset ? old->dataset : "-", old->in_tok, old->out_tok);
        return;
    }
    double ratio = now->ttft_ms / old->ttft_ms;
    if (ratio > 3 || ratio < 1.0 / 3)
        WARN(s, "same lengths and load as %s:%zu, TTFT differs %.1f times: a warm prompt cache?",
             old->file, old->line, ratio > 1 ? ratio : 1 / ratio);
    else if (!near(old->out_tok_s, now->out_tok_s))
        WARN(s,
             "%.6g tok/s where %s:%zu has %.6g for what is stated as the same load: both stay, "
             "neither is "
             "averaged",
             now->out_tok_s, old->file, old->line, old->out_tok_s);
}

/* False: this run stands in the file already, figure for figure. */
static bool is_new(serving *s, const import_record *r) {
    serving_mark now = mark_of(r);
    for (size_t i = 0; i < s->seen_n; i++) {
        const serving_mark *old = &s->seen[i];
        if (!same_load(old, &now)) continue;
        if (same_number(old->duration_s, now.duration_s) && old->dataset == now.dataset &&
            same_number(old->completed, now.completed) && same_number(old->ttft_ms, now.ttft_ms) &&
            same_number(old->out_tok_s, now.out_tok_s)) {
            WARN(s, "the same run as %s:%zu, counted once", old->file, old->line);
            return false;
        }
    }
    for (size_t i = s->seen_n; i-- > 0;)
        if (same_load(&s->seen[i], &now)) {
            compare(s, &s->seen[i], &now);
            break; /* with the latest: all of them would say it again and again */
        }
    remember(s, &now);
    return true;
}

/* ---- record and rows ---- */

static int64_t tokens(double per_request) {
    return per_request >= 0.5 && per_request <= TOK_MAX ? llround(per_request) : 0;
}

static import_row *add_row(serving *s, import_phase phase, const char *const *settings) {
    int64_t in = tokens(serving_num(s, "input_tokens_per_request")),
            out = phase == IMPORT_PREFILL ? 0 : tokens(serving_num(s, "output_tokens_per_request"));
    double together = serving_num(s, "max_concurrency");
    if (!isfinite(together)) together = round(serving_num(s, "concurrency"));
    if (phase == IMPORT_PREFILL ? in == 0 : out == 0) return NULL;
    import_row *r = import_row_new(s->in, s->file, s->run.line);
    if (!r) return NULL;
    r->phase = phase;
    r->n_prompt = in;
    r->n_gen = out;
    r->batch_n = together >= 1 && together <= 1e6 ? (int64_t)together : 1;
    if (settings) import_settings_keep(s->in, r, settings);
    return r;
}

/* Requests one behind the other: their time per token is a step of one sequence. */
static const char *decode_refused(const serving *s) {
    double in = serving_num(s, "input_tokens_per_request"),
           out = serving_num(s, "output_tokens_per_request"),
           limit = serving_num(s, "max_concurrency");
    if (s->run.faulty) return "its figures contradict each other";
    if (out < 2) return "one output token per request: no time between tokens";
    if (!(serving_num(s, "decode_tok_s_per_request") > 0))
        return "no time per output token: the ITL is of pieces of the stream";
    if (serving_num(s, "acceptance_length") > 1 || serving_num(s, "acceptance") >= 0 ||
        serving_num(s, "mean_itl_ms") > 1.3 * serving_num(s, "mean_tpot_ms"))
        return "speculative decoding: a token is no step";
    if (!(limit == 1))
        return "requests ran together: how many in a step is unknown, and their steps contain the "
               "prefill of others";
    if (serving_num(s, "failed") > 0) return "some of the requests failed";
    if (!(out >= FEW_GEN)) return "too few generated tokens for a decode rate";
    if (!(in >= 1) || in != floor(in) || out != floor(out) || serving_num(s, "lengths_differ") == 1)
        return "requests of different lengths: a mean over them is of no one context";
    return NULL;
}

static void add_rows(serving *s, const char *const *settings) {
    import_row *r = add_row(s, IMPORT_PREFILL, settings);
    if (r) {
        r->per_request = true;
        r->refused = "a time to first token contains the queue, and what was cached is unknown: no "
                     "prefill rate";
    }
    r = add_row(s, IMPORT_DECODE, settings);
    if (r) {
        double rate = serving_num(s, "decode_tok_s_per_request");
        r->per_request = true;
        r->refused = decode_refused(s);
        if (rate > 0 && isfinite(rate)) r->tok_s = r->per_seq_tok_s = rate;
    }
    r = add_row(s, IMPORT_MIXED, settings);
    if (r) {
        double rate = serving_num(s, "output_tok_s_aggregate");
        r->refused = "an aggregate over a whole run, with prefill and queueing in its time";
        if (rate > 0 && isfinite(rate)) r->tok_s = rate;
    }
}

static const import_record *add_record(serving *s) {
    const import_record *r =
        import_record_new(s->in, s->file, s->run.line, IMPORT_SUMMARY, s->run.n);
    for (size_t i = 0; r && i < s->run.n; i++) {
        const serving_value *v = &s->run.v[i];
        if (v->text)
            import_record_text(s->in, v->key, v->text);
        else if (strcmp(v->key, "lengths_differ") != 0) /* no figure of the tool */
            import_record_stated(s->in, v->key, v->v);
    }
    return r;
}

void serving_finish(serving *s, const char *const *settings) {
    if (s->run.n == 0) return;
    derive(s);
    const import_record *r = add_record(s);
    if (r && is_new(s, r)) {
        check(s);
        warn_requests(s);
        warn_lengths(s);
        warn_ttft(s);
        warn_decode(s);
        add_rows(s, settings);
    } else if (r) {
        s->in->records_n--;
    }
    serving_clear(s, 0);
}

const import_format *const IMPORT_SERVING_FORMATS[] = {&IMPORT_VLLM_JSON,
                                                       &IMPORT_VLLM_TEXT,
                                                       &IMPORT_SGLANG_JSONL,
                                                       &IMPORT_SGLANG_TEXT,
                                                       &IMPORT_GUIDELLM_JSON,
                                                       &IMPORT_GUIDELLM_TEXT,
                                                       NULL};
