#include "session.h"

#include <assert.h>
#include <gsl/gsl_rng.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { EVENT_MAX_BYTES = 64 * 1024 * 1024, HEAD_CAP = 200 };

typedef enum agent_state { AGENT_WAITS, AGENT_SENT, AGENT_DONE } agent_state;

typedef struct agent {
    struct run *run;
    int64_t k, turn; /* the turn that is sent next, or in flight */
    agent_state state;
    int64_t wake_ns;
    gsl_rng *ids;
    buf prompt, body; /* of the turn */
    int64_t prompt_tok;
    sse events;
    turn_said said;
    int64_t send_ns, first_ns, last_ns;
    int64_t event_ns; /* of the bytes that are being read */
    int64_t *gap_ns;  /* room for out - 1 */
    size_t gaps_n;
    char head[HEAD_CAP]; /* how the reply begins */
    size_t head_n;
    char why[SERVER_WHY]; /* what is wrong with it; empty: nothing so far */
} agent;

typedef struct run {
    const session_spec *s;
    http *h;
    arena *mem;
    err *e;
    agent *agents;
    int64_t start_ns;
    int64_t left_n; /* turns that have not ended */
    session_turn *turns;
    size_t turns_n;
    const char **errors;
    size_t errors_n;
    int64_t foreign_ids_n, uncounted_n;
    session_progress *progress;
    void *progress_arg;
} run;

/* ---- prompts ---- */

static gsl_rng *ids_of(uint64_t seed, uint64_t stream) {
    gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
    /* odd and large: neighbouring seeds do not meet in neighbouring streams */
    if (r) gsl_rng_set(r, (unsigned long)((seed * 1000003 + stream) & 0xffffffff));
    return r;
}

static void add_ids(const session_spec *s, gsl_rng *r, int64_t n, buf *prompt) {
    unsigned long span = (unsigned long)(s->vocab_hi - SESSION_VOCAB_LO + 1);
    for (int64_t i = 0; i < n; i++)
        buf_addf(prompt, "%s%lu", prompt->len > 0 ? "," : "",
                 SESSION_VOCAB_LO + gsl_rng_uniform_int(r, span));
}

static bool add_prefix(const session_spec *s, buf *prompt) {
    gsl_rng *r = ids_of(s->seed, 0);
    if (!r) return false;
    add_ids(s, r, s->P, prompt);
    gsl_rng_free(r);
    return true;
}

/* What a turn brings comes with its prompt, or with the prompt of the turn behind it. */
static int64_t first_delta_tok(const session_spec *s) {
    return s->result_after ? 0 : s->din;
}

int64_t session_first_tok(const session_spec *s) {
    return s->P + first_delta_tok(s);
}

int64_t session_context_tok(const session_spec *s) {
    return session_first_tok(s) + (s->H - 1) * (s->din + s->out) + s->out;
}

int64_t session_presented_tok(const session_spec *s) {
    return s->K * (s->H * session_first_tok(s) + (s->din + s->out) * (s->H * (s->H - 1) / 2));
}

static void write_body(agent *a) {
    const session_spec *s = a->run->s;
    buf_reset(&a->body);
    s->api->ask(&(turn_ask){.prompt = &a->prompt,
                            .out_tok = s->out,
                            .slot = s->pin ? a->k : -1,
                            .cache = s->cache,
                            .model_id = s->model_id},
                &a->body);
}

/* ---- what comes back ---- */

static void on_event(void *arg, const sse_event *ev) {
    agent *a = arg;
    const session_spec *s = a->run->s;
    int64_t before = a->said.tokens_n;
    if (a->why[0]) return;
    if (!server_hear(s->api, ev, &a->said, a->why)) {
        if (!a->why[0]) snprintf(a->why, sizeof a->why, "an event that cannot be read");
        return;
    }
    for (int64_t i = before; i < a->said.tokens_n; i++) {
        if (i == 0)
            a->first_ns = a->event_ns;
        else if (i < s->out)
            a->gap_ns[a->gaps_n++] = a->event_ns - a->last_ns;
        a->last_ns = a->event_ns;
    }
    if (a->said.tokens_n > s->out)
        snprintf(a->why, sizeof a->why, "more tokens than the %lld that were asked for",
                 (long long)s->out);
}

static bool on_data(void *arg, const char *bytes, size_t n, int64_t at_ns) {
    agent *a = arg;
    size_t room = sizeof a->head - a->head_n, take = n < room ? n : room;
    memcpy(a->head + a->head_n, bytes, take);
    a->head_n += take;
    a->event_ns = at_ns;
    if (!sse_feed(&a->events, bytes, n) && !a->why[0])
        snprintf(a->why, sizeof a->why, "an event of more than %d MiB",
                 EVENT_MAX_BYTES / (1024 * 1024));
    return a->why[0] == '\0';
}

static void head_of(const agent *a, char out[HEAD_CAP + 1]) {
    server_excerpt(a->head, a->head_n, out, HEAD_CAP + 1);
}

/* The reply is whole and says what it has to. */
static void check_counts(agent *a) {
    const session_spec *s = a->run->s;
    turn_said *t = &a->said;
    char stopped[64] = "";
    if (t->stop[0]) snprintf(stopped, sizeof stopped, " (stopped: %s)", t->stop);
    if (t->out_tok < 0) t->out_tok = t->tokens_n;
    if (t->tokens_n == 0)
        snprintf(a->why, sizeof a->why, "no token came%s", stopped);
    else if (t->out_tok != s->out)
        snprintf(a->why, sizeof a->why, "%lld tokens instead of the %lld that were asked for%s",
                 (long long)t->out_tok, (long long)s->out, stopped);
    else if (t->prompt_tok >= 0 && t->prompt_tok != a->prompt_tok)
        snprintf(a->why, sizeof a->why, "the server counts %lld prompt tokens, %lld were sent",
                 (long long)t->prompt_tok, (long long)a->prompt_tok);
    else if (t->cached_tok > a->prompt_tok ||
             (t->new_tok >= 0 && t->cached_tok >= 0 && t->new_tok + t->cached_tok != a->prompt_tok))
        snprintf(a->why, sizeof a->why,
                 "the server counts %lld reused and %lld computed tokens of a prompt of %lld",
                 (long long)t->cached_tok, (long long)t->new_tok, (long long)a->prompt_tok);
}

static void check_reply(agent *a, const http_end *end) {
    char head[HEAD_CAP + 1];
    if (end->status != 0 && end->status != 200) {
        head_of(a, head);
        snprintf(a->why, sizeof a->why, "HTTP status %ld: %s", end->status,
                 head[0] ? head : "(no body)");
        return;
    }
    if (a->why[0]) return;
    if (end->failure && a->said.tokens_n > 0)
        snprintf(a->why, sizeof a->why, "after %lld of %lld tokens: %s",
                 (long long)a->said.tokens_n, (long long)a->run->s->out, end->failure);
    else if (end->failure)
        snprintf(a->why, sizeof a->why, "%s", end->failure);
    else if (a->said.ended)
        check_counts(a);
    else if (a->said.tokens_n > 0)
        snprintf(a->why, sizeof a->why, "the stream ended after %lld of %lld tokens",
                 (long long)a->said.tokens_n, (long long)a->run->s->out);
    else {
        head_of(a, head);
        snprintf(a->why, sizeof a->why, "no event came, the reply begins: %s",
                 head[0] ? head : "(empty)");
    }
}

static void keep_error(agent *a) {
    run *r = a->run;
    assert(r->errors_n < (size_t)r->s->K); /* an agent that failed sends nothing more */
    r->errors[r->errors_n] = arena_printf(r->mem, "agent %lld turn %lld: %s", (long long)a->k,
                                          (long long)a->turn, a->why);
    if (r->errors[r->errors_n])
        r->errors_n++;
    else
        err_set(r->e, E_LIMIT, "session", "does not fit the memory budget");
}

/* Tokens that the server counted and did not stream (llama-server holds an unfinished character
 * back) came with its last event at the latest. */
static void count_held_back(agent *a) {
    if (a->said.tokens_n >= a->said.out_tok) return;
    if (a->event_ns > a->last_ns) a->gap_ns[a->gaps_n++] = a->event_ns - a->last_ns;
    a->last_ns = a->event_ns;
}

static void keep_turn(agent *a, int64_t at_ns) {
    run *r = a->run;
    const turn_said *t = &a->said;
    int64_t from = r->start_ns;
    int64_t *gaps = ARENA_ARRAY(r->mem, int64_t, a->gaps_n);
    if (!gaps) {
        err_set(r->e, E_LIMIT, "session", "does not fit the memory budget");
        return;
    }
    if (a->gaps_n) memcpy(gaps, a->gap_ns, a->gaps_n * sizeof *gaps);
    int64_t cached = t->cached_tok >= 0 ? t->cached_tok : 0;
    if (t->cached_tok < 0) r->uncounted_n++;
    r->turns[r->turns_n++] = (session_turn){.agent = a->k,
                                            .turn = a->turn,
                                            .prompt_tok = a->prompt_tok,
                                            .cached_tok = cached,
                                            .new_tok = a->prompt_tok - cached,
                                            .out_tok = t->out_tok,
                                            .out_requested = r->s->out,
                                            .slot = t->slot,
                                            .send_ns = a->send_ns - from,
                                            .first_ns = a->first_ns - from,
                                            .last_ns = a->last_ns - from,
                                            .done_ns = at_ns - from,
                                            .prompt_ms = t->prompt_ms,
                                            .predicted_ms = t->predicted_ms,
                                            .gap_ns = gaps,
                                            .gaps_n = a->gaps_n};
}

/* The prompt of the next turn. Generated ids that were not told cannot be found again in the
 * server's cache: random ones stand for them, so the prompt keeps its length. */
static void next_prompt(agent *a) {
    const session_spec *s = a->run->s;
    int64_t foreign = s->out - a->said.ids_n;
    if (a->said.ids_n > 0) buf_addf(&a->prompt, "%s%s", a->prompt.len ? "," : "", a->said.ids.s);
    add_ids(s, a->ids, foreign + s->din, &a->prompt);
    a->run->foreign_ids_n += foreign;
    a->prompt_tok += s->out + s->din;
}

static void end_agent(agent *a, int64_t at_ns) {
    run *r = a->run;
    a->state = AGENT_DONE;
    if (r->s->serial && a->k + 1 < r->s->K) r->agents[a->k + 1].wake_ns = at_ns;
}

static void on_done(void *arg, const http_end *end, int64_t at_ns) {
    agent *a = arg;
    run *r = a->run;
    check_reply(a, end);
    r->left_n--;
    if (a->why[0]) {
        keep_error(a);
        a->state = AGENT_DONE;
        return;
    }
    count_held_back(a);
    keep_turn(a, at_ns);
    if (a->turn == r->s->H) {
        end_agent(a, at_ns);
    } else {
        next_prompt(a);
        a->turn++;
        a->state = AGENT_WAITS;
        a->wake_ns = at_ns + (int64_t)(r->s->tool_s * 1e9);
        write_body(a);
    }
    if (r->progress)
        r->progress(r->progress_arg, (int64_t)r->turns_n, r->s->K * r->s->H,
                    (double)(at_ns - r->start_ns) / 1e9);
}

/* ---- the loop ---- */

static void send_turn(agent *a) {
    run *r = a->run;
    sse_reset(&a->events);
    turn_said_reset(&a->said);
    a->gaps_n = a->head_n = 0;
    a->why[0] = '\0';
    a->state = AGENT_SENT;
    a->send_ns = http_now_ns();
    (void)http_start(r->h,
                     &(http_call){.path = r->s->api->path,
                                  .body = a->body.s,
                                  .body_len = a->body.len,
                                  .timeout_s = r->s->timeout_s,
                                  .data = on_data,
                                  .done = on_done,
                                  .arg = a},
                     r->e);
}

/* Sends what is due; when the next one is. */
static int64_t send_due(run *r) {
    int64_t next = INT64_MAX;
    for (int64_t k = 0; k < r->s->K && r->e->code == OK; k++) {
        agent *a = &r->agents[k];
        if (a->state != AGENT_WAITS) continue;
        if (a->wake_ns <= http_now_ns())
            send_turn(a);
        else if (a->wake_ns < next)
            next = a->wake_ns;
    }
    return next;
}

static void loop(run *r, const volatile sig_atomic_t *stop) {
    const session_spec *s = r->s;
    r->start_ns = http_now_ns();
    for (int64_t k = 0; k < s->K; k++) {
        int64_t late = (int64_t)(s->stagger_s * 1e9 * (double)k);
        r->agents[k].wake_ns = s->serial && k > 0 ? INT64_MAX : r->start_ns + late;
    }
    while (r->left_n > 0 && r->errors_n == 0 && r->e->code == OK) {
        if (stop && *stop) {
            err_set(r->e, E_EXTERN, "session", "interrupted");
            break;
        }
        (void)http_step(r->h, send_due(r), r->e);
    }
    http_cancel(r->h);
}

static bool new_agent(run *r, int64_t k, const buf *prefix) {
    const session_spec *s = r->s;
    agent *a = &r->agents[k];
    *a = (agent){.run = r, .k = k, .turn = 1, .prompt_tok = session_first_tok(s)};
    buf_init(&a->prompt);
    buf_init(&a->body);
    sse_init(&a->events, EVENT_MAX_BYTES, on_event, a);
    turn_said_init(&a->said);
    a->ids = ids_of(s->seed, (uint64_t)k + 1);
    a->gap_ns = ARENA_ARRAY(r->mem, int64_t, s->out);
    if (!a->ids || !a->gap_ns) return false;
    buf_add_n(&a->prompt, prefix->s, prefix->len);
    add_ids(s, a->ids, first_delta_tok(s), &a->prompt);
    write_body(a);
    return true;
}

static void free_agent(agent *a) {
    if (!a->run) return;
    buf_done(&a->prompt);
    buf_done(&a->body);
    sse_done(&a->events);
    turn_said_done(&a->said);
    if (a->ids) gsl_rng_free(a->ids);
}

static bool new_agents(run *r) {
    buf prefix;
    buf_init(&prefix);
    r->agents = ARENA_ARRAY(r->mem, agent, r->s->K);
    bool fine = r->agents && add_prefix(r->s, &prefix);
    for (int64_t k = 0; fine && k < r->s->K; k++) fine = new_agent(r, k, &prefix);
    buf_done(&prefix);
    if (!fine) err_set(r->e, E_LIMIT, "session", "does not fit the memory budget");
    return fine;
}

static void free_agents(run *r) {
    for (int64_t k = 0; r->agents && k < r->s->K; k++) free_agent(&r->agents[k]);
}

err_code session_first_body(const session_spec *s, buf *out, err *e) {
    session_spec one = *s;
    one.K = 1;
    arena *mem = arena_new((size_t)64 << 20);
    run r = {.s = &one, .mem = mem, .e = e};
    if (!mem)
        err_set(e, E_NOMEM, "session", "out of memory");
    else if (new_agents(&r))
        buf_add_n(out, r.agents[0].body.s, r.agents[0].body.len);
    if (mem) free_agents(&r);
    arena_free(mem);
    return e->code;
}

err_code session_run(const session_spec *s, http *h, const volatile sig_atomic_t *stop,
                     session_progress *progress, void *progress_arg, arena *mem, session_log *log,
                     err *e) {
    *log = (session_log){0};
    run r = {.s = s,
             .h = h,
             .mem = mem,
             .e = e,
             .left_n = s->K * s->H,
             .turns = ARENA_ARRAY(mem, session_turn, s->K * s->H),
             .errors = ARENA_ARRAY(mem, const char *, s->K),
             .progress = progress,
             .progress_arg = progress_arg};
    if (!r.turns || !r.errors)
        return err_set(e, E_LIMIT, "session", "does not fit the memory budget");
    if (new_agents(&r)) loop(&r, stop);
    free_agents(&r);
    if (e->code == OK)
        *log = (session_log){.turns = r.turns,
                             .n = r.turns_n,
                             .errors = r.errors,
                             .errors_n = r.errors_n,
                             .foreign_ids_n = r.foreign_ids_n,
                             .uncounted_n = r.uncounted_n};
    return e->code;
}
