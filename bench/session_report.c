#include "session_report.h"

#include "base/jsonw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void say_ttft(buf *out, const char *name, const witness_summary *s) {
    if (s->n > 0)
        buf_addf(out, "TTFT %-9s p50 %.1f ms, p95 %.1f ms (%lld turns)\n", name, s->p50_s * 1e3,
                 s->p95_s * 1e3, (long long)s->n);
}

static void say_measured(const witness_seen *seen, const session_log *log, buf *out) {
    int64_t out_tok = 0, cached = 0, prompt = 0;
    for (size_t i = 0; i < log->n; i++) {
        out_tok += log->turns[i].out_tok;
        cached += log->turns[i].cached_tok;
        prompt += log->turns[i].prompt_tok;
    }
    buf_addf(out, "wall-clock     %.3f s, %lld output tokens", seen->wall_s, (long long)out_tok);
    if (seen->wall_s > 0) buf_addf(out, ", %.1f tok/s", (double)out_tok / seen->wall_s);
    buf_add(out, "\n");
    say_ttft(out, "cold", &seen->cold);
    say_ttft(out, "warm", &seen->warm);
    if (seen->itl_mean_ms > 0)
        buf_addf(out, "between tokens mean %.2f ms, p50 %.2f ms, p99 %.2f ms\n", seen->itl_mean_ms,
                 seen->itl_p50_ms, seen->itl_p99_ms);
    buf_addf(out, "prompts        %lld tokens, %lld of them reused (%.1f %%)\n", (long long)prompt,
             (long long)cached, prompt > 0 ? 100.0 * (double)cached / (double)prompt : 0);
}

static void say_server(const session_report *r, buf *out) {
    const witness_meta *m = r->meta;
    buf_addf(out, "server         %s, %s API", m->url, r->spec->api->name);
    if (m->server && m->server->build) buf_addf(out, ", build %s", m->server->build);
    if (r->spec->api->has_slots)
        buf_addf(out, ", slots %s before", m->slots_erased ? "erased" : "not erased");
    buf_add(out, "\n");
}

void report_session(const session_report *r, buf *out) {
    const witness_meta *m = r->meta;
    buf_addf(out, "run            %s: K = %lld agents, H = %lld turns each, %s, in %s\n", m->run_id,
             (long long)r->spec->K, (long long)r->spec->H, m->arm, r->dir);
    say_server(r, out);
    if (r->seen->measured) say_measured(r->seen, r->log, out);
    if (r->log->errors_n == 0 && r->seen->run->excluded)
        buf_addf(out, "excluded       %s\n", r->seen->run->excluded);
    for (size_t i = 0; i < r->notes_n; i++) buf_addf(out, "note           %s\n", r->notes[i]);
    if (r->log->errors_n > 0) return;
    bool fit = m->use == USE_CALIBRATE;
    buf_addf(out, "\nCARD is a rate card of model %s on machine %s (`ratecast cards`):\n  ",
             m->model, m->machine);
    if (fit) buf_addf(out, "ratecast fit CARD --session %s -o CARD.json\n  ", r->dir);
    buf_addf(out, "ratecast validate %s --card CARD%s\n", r->dir, fit ? " --use calibrate" : "");
}

void report_session_json(const session_report *r, const buf *run_line, buf *out) {
    cJSON *o = cJSON_Parse(run_line->s);
    if (!o) abort(); /* it was read back when it was made */
    jw_str(o, "dir", r->dir);
    cJSON *notes = jw_arr(o, "notes");
    for (size_t i = 0; i < r->notes_n; i++)
        cJSON_AddItemToArray(notes, cJSON_CreateString(r->notes[i]));
    jw_print(o, out);
    cJSON_Delete(o);
}

/* Prompts of many ids are shown by their ends. */
static void say_body(const char *body, buf *out) {
    enum { SHOWN = 24 };
    const char *from = strstr(body, "\"prompt\":["), *to = from ? strchr(from, ']') : NULL;
    if (!to || to - from < 3 * SHOWN) {
        buf_add(out, body);
        return;
    }
    const char *cut = strchr(from + SHOWN, ','), *again = to - SHOWN;
    while (*again != ',') again++;
    buf_add_n(out, body, (size_t)(cut - body));
    buf_add(out, ",...");
    buf_add(out, again);
}

void report_session_plan(const session_spec *s, const char *url, int64_t warm_up, const buf *first,
                         buf *out) {
    int64_t context = session_context_tok(s);
    buf_addf(out, "%lld requests: K = %lld agents, H = %lld turns each, POST %s%s\n",
             (long long)(s->K * s->H), (long long)s->K, (long long)s->H, url, s->api->path);
    buf_addf(out,
             "prompts of %lld to %lld tokens, %lld in all; %lld output tokens in all; the longest "
             "context has %lld\n",
             (long long)session_first_tok(s), (long long)(context - s->out),
             (long long)session_presented_tok(s), (long long)(s->K * s->H * s->out),
             (long long)context);
    if (warm_up > 0)
        buf_addf(out, "before them %lld requests that are not recorded\n",
                 (long long)(s->K * warm_up));
    buf_addf(out, "seed %" PRIu64 ", ids from %d to %lld; the first request, %zu bytes:\n  ",
             s->seed, SESSION_VOCAB_LO, (long long)s->vocab_hi, first->len);
    say_body(first->s, out);
    buf_add(out, "\nnothing was sent\n");
}
