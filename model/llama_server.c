#include "llama_server.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum slot_state { SLOT_IDLE, SLOT_SENT, SLOT_PROMPT, SLOT_DECODING, SLOT_ENDED } slot_state;

typedef struct slot {
    slot_state state;
    int64_t arrives_ns; /* SENT: when the server can take the request up */
    int64_t turn, prompt_tok;
    int64_t held_tok;   /* cells of this slot, its history while idle */
    int64_t left_tok;   /* PROMPT: rows to go; DECODING: tokens to go */
    int64_t reused_tok; /* of the prompt in work */
    int64_t last_tok_ns;
    int64_t rows; /* in the running batch */
} slot;

/* Rows of one sequence in one micro-batch. */
typedef struct piece {
    int64_t slot, n_tok, depth_tok;
} piece;

typedef struct server {
    const arm *arm;
    const workload *work;
    const cost *cost;
    host_terms host;
    int64_t n_batch, n_ubatch;
    bool unified;
    double pace; /* of device, host and client together: 1 as priced, more is slower */
    slot *slots;
    piece *pieces;    /* of one micro-batch, at most K */
    int64_t *pending; /* rows of each slot that the call has not run yet */
    turn_record *turns;
    int64_t now_ns, ended_n;
    int64_t decoding_before; /* how the decoding slots looked in the last pure decode step: a hash;
                                -1 otherwise */
    int ramp;                /* steps that still pay for a changed set */
    int64_t cells_tok;       /* in use over all slots */
    double gap_s;            /* of the running call, in micro-batches in a wide hole of the card */
    int64_t gap_tok;         /* the fewest prompt rows of these; 0: none */
    bool warm_up_unused;     /* the warm-up's prefix was computed, and no agent has found it yet */
    itl_list itl;
    span_list *device; /* NULL: nothing is recorded */
    sim_result out;
    err *e;
} server;

/* The only way from seconds to the server's clock; what is declared (tool latency, the agents'
 * starts) keeps its time at any pace. */
static int64_t ns_of(const server *s, double seconds) {
    double ns = seconds * s->pace * 1e9;
    return ns < (double)TIME_MAX_NS ? (int64_t)llround(ns) : TIME_MAX_NS;
}

static turn_record *record(server *s, int64_t k) {
    return &s->turns[k * s->work->H + s->slots[k].turn - 1];
}

static void pass(server *s, int64_t ns) {
    if (ns >= TIME_MAX_NS - s->now_ns) {
        err_set(s->e, E_LIMIT, s->arm->name,
                "the projection reaches 2^62 ns (146 years), expected less");
        return;
    }
    s->now_ns += ns;
}

/* Of what has just passed: the piece that began before_ns ago and took ns. */
static void note_span(server *s, span_kind kind, int64_t before_ns, int64_t ns, int64_t batch_n,
                      int64_t tokens) {
    if (kind == SPAN_PREFILL) s->out.prefill_tok += tokens;
    if (!s->device || s->e->code) return;
    int64_t start_ns = s->now_ns - before_ns;
    span_list_add(s->device, (span){start_ns, start_ns + ns, kind, batch_n, tokens});
}

static void pass_host(server *s, double seconds) {
    int64_t ns = ns_of(s, seconds);
    s->out.other_ns += ns;
    pass(s, ns);
    note_span(s, SPAN_HOST, ns, ns, 0, 0);
}

/* ---- clients ---- */

static void send(server *s, int64_t k, int64_t at_ns) {
    slot *sl = &s->slots[k];
    sl->turn++;
    sl->prompt_tok = workload_agent_prompt_tok(s->work, k, sl->turn);
    sl->state = SLOT_SENT;
    sl->arrives_ns =
        at_ns + ns_of(s, s->host.request_s + s->host.request_s_per_tok * (double)sl->prompt_tok);
    record(s, k)->send_ns = at_ns;
    s->out.presented_tok += sl->prompt_tok;
}

static void hold(server *s, slot *sl, int64_t tok) {
    s->cells_tok += tok - sl->held_tok;
    sl->held_tok = tok;
}

/* Cells in use; a prefix that all slots share is held once. */
static int64_t used_cells(const server *s) {
    if (s->arm->warm != WARM_SHARED) return s->cells_tok;
    return s->cells_tok - (s->work->K - 1) * s->work->P;
}

/* The first agent that finds the prefix of the warm-up is the one that it was computed for: in the
 * session's sums these tokens were computed once, by the warm-up, and are reused by the others
 * only. The turn's own record keeps what its request found. */
static void take_over_warm_up(server *s, int64_t found_tok) {
    if (!s->warm_up_unused || found_tok == 0) return;
    s->warm_up_unused = false;
    s->out.presented_tok -= found_tok;
    s->out.reused_tok -= found_tok;
    s->out.reused_cross_tok -= found_tok;
}

/* Requests that have arrived get their slot: what its cells hold of the prompt is not computed
 * again, but for the last token, whose logits are needed. */
static void take_up(server *s) {
    for (int64_t k = 0; k < s->work->K; k++) {
        slot *sl = &s->slots[k];
        if (sl->state != SLOT_SENT || sl->arrives_ns > s->now_ns) continue;
        int64_t have = s->arm->reuse == REUSE_NONE ? 0 : sl->held_tok;
        if (have > sl->prompt_tok - 1) have = sl->prompt_tok - 1;
        hold(s, sl, have);
        sl->state = SLOT_PROMPT;
        sl->reused_tok = have;
        sl->left_tok = sl->prompt_tok - have;
        turn_record *r = record(s, k);
        r->start_ns = s->now_ns;
        r->reused_tok = have;
        r->reused_cross_tok = sl->turn == 1 ? have : 0;
        r->computed_tok = sl->left_tok;
        s->out.reused_tok += have;
        s->out.reused_cross_tok += r->reused_cross_tok;
        s->out.computed_tok += sl->left_tok;
        if (sl->turn == 1) take_over_warm_up(s, have);
        if (have == 0 && s->work->P > 0) s->out.prefix_evals++;
    }
}

/* ---- one decode call ---- */

/* Rows for this iteration: decoding slots first, then prompts in slot order until n_batch is full.
 */
static int64_t fill_batch(server *s) {
    int64_t used = 0;
    for (int64_t k = 0; k < s->work->K; k++) {
        s->slots[k].rows = s->slots[k].state == SLOT_DECODING;
        used += s->slots[k].rows;
    }
    for (int64_t k = 0; k < s->work->K && used < s->n_batch; k++) {
        slot *sl = &s->slots[k];
        if (sl->state != SLOT_PROMPT) continue;
        sl->rows = sl->left_tok < s->n_batch - used ? sl->left_tok : s->n_batch - used;
        used += sl->rows;
    }
    return used;
}

/* Cells that one sequence of a micro-batch scans, others' included. */
static void note_cells(server *s, bool decoding, int64_t cells_tok) {
    int64_t *most = decoding ? &s->out.used.decode_cells_tok : &s->out.used.prefill_cells_tok;
    if (cells_tok > *most) *most = cells_tok;
}

static double price(server *s, const piece *p, size_t n) {
    micro_batch m = {0};
    double t = 0;
    int64_t rows = 0, prompt_rows = 0, depth_tok = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t own = s->slots[p[i].slot].held_tok, foreign = s->unified ? used_cells(s) - own : 0;
        rows += p[i].n_tok;
        if (foreign < 0) foreign = 0;
        bool decoding = s->slots[p[i].slot].state == SLOT_DECODING;
        if (foreign > 0) note_cells(s, decoding, p[i].depth_tok + foreign + p[i].n_tok);
        if (decoding) {
            m.decode_rows_n++;
            m.own_tok += p[i].depth_tok;
            m.foreign_tok += foreign;
        } else {
            t += cost_prompt_attention_s(s->cost, p[i].n_tok, p[i].depth_tok + foreign);
            prompt_rows += p[i].n_tok;
            if (p[i].depth_tok > depth_tok) depth_tok = p[i].depth_tok;
        }
    }
    m.rows_n = rows;
    t += cost_micro_batch_s(s->cost, &m);
    if (prompt_rows > 0) usage_note_prefill(&s->out.used, prompt_rows, depth_tok, ns_of(s, t));
    if (prompt_rows > 0 && cost_in_gap(s->cost, prompt_rows)) {
        s->gap_s += t;
        if (s->gap_tok == 0 || prompt_rows < s->gap_tok) s->gap_tok = prompt_rows;
    }
    return t;
}

/* The cost of a shape's first use: a call that brings prompt rows and is not a full batch hardly
 * ever repeats. It grows with the rows and levels off (12-token deltas hardly pay it, full batches
 * of a long prompt do not at all). */
static double shape_s(const server *s, int64_t prompt_rows) {
    static const double HALF_ROWS = 64;
    if (prompt_rows == 0 || prompt_rows >= s->n_batch - s->work->K) return 0;
    return s->host.shape_s * (double)prompt_rows / ((double)prompt_rows + HALF_ROWS);
}

/* Unified KV: rows in order, decoding slots first. */
static size_t next_simple(server *s, piece *p) {
    int64_t room = s->n_ubatch;
    size_t n = 0;
    for (int pass_prompts = 0; pass_prompts < 2; pass_prompts++)
        for (int64_t k = 0; k < s->work->K && room > 0; k++) {
            bool decoding = s->slots[k].state == SLOT_DECODING;
            if (s->pending[k] == 0 || decoding == (pass_prompts == 1)) continue;
            int64_t take = s->pending[k] < room ? s->pending[k] : room;
            p[n++] = (piece){k, take, s->slots[k].held_tok + s->slots[k].rows - s->pending[k]};
            s->pending[k] -= take;
            room -= take;
        }
    return n;
}

/* Split KV: equal rows from each of a run of consecutive slots, starting with the first that has
 * rows left. */
static size_t next_equal(server *s, piece *p) {
    int64_t first = 0, last, each = s->n_ubatch;
    while (first < s->work->K && s->pending[first] == 0) first++;
    if (first == s->work->K) return 0;
    for (last = first; last + 1 < s->work->K && s->pending[last + 1] > 0; last++) {
    }
    int64_t seqs = last - first + 1;
    if (seqs > s->n_ubatch) seqs = s->n_ubatch;
    if (s->n_ubatch / seqs < each) each = s->n_ubatch / seqs;
    for (int64_t k = first; k < first + seqs; k++)
        if (s->pending[k] < each) each = s->pending[k];
    for (int64_t k = first; k < first + seqs; k++) {
        p[k - first] = (piece){k, each, s->slots[k].held_tok + s->slots[k].rows - s->pending[k]};
        s->pending[k] -= each;
    }
    return (size_t)seqs;
}

/* Micro-batches of the call: device seconds. */
static double run_call(server *s) {
    double device_s = 0;
    size_t n;
    s->gap_s = 0;
    s->gap_tok = 0;
    for (int64_t k = 0; k < s->work->K; k++) s->pending[k] = s->slots[k].rows;
    while ((n = s->unified ? next_simple(s, s->pieces) : next_equal(s, s->pieces)) > 0)
        device_s += price(s, s->pieces, n);
    return device_s;
}

/* A changed set of decoding slots costs on the next two pure decode steps (2 : 5 as seen), where
 * graphs are captured again. */
static double graph_s(server *s, bool any_prompt) {
    if (any_prompt) {
        s->decoding_before = -1;
        return 0;
    }
    int64_t set = 7;
    for (int64_t k = 0; k < s->work->K; k++)
        set = (set * 31 + (s->slots[k].state == SLOT_DECODING)) % 1000000007;
    if (set != s->decoding_before) s->ramp = 2;
    s->decoding_before = set;
    double share = s->ramp == 2 ? 2.0 / 7 : s->ramp == 1 ? 5.0 / 7 : 0;
    if (s->ramp > 0) s->ramp--;
    return share * s->host.graph_s;
}

/* ---- sampling ---- */

static void end_turn(server *s, int64_t k) {
    slot *sl = &s->slots[k];
    record(s, k)->done_ns = s->now_ns;
    int64_t next_ns = s->now_ns + ns_of(s, s->host.client_gap_s) + s->work->tool_latency_ns;
    if (sl->turn < s->work->H) {
        send(s, k, next_ns);
        return;
    }
    sl->state = SLOT_ENDED;
    s->ended_n++;
    if (s->work->one_after_another && k + 1 < s->work->K) send(s, k + 1, next_ns);
}

/* One slot after the other: a prompt that was completed gives its first token, a decoding slot its
 * next one. */
static void sample(server *s, double sample_s) {
    for (int64_t k = 0; k < s->work->K && !s->e->code; k++) {
        slot *sl = &s->slots[k];
        if (sl->rows == 0) continue;
        hold(s, sl, sl->held_tok + sl->rows);
        if (used_cells(s) > s->out.kv_peak_tok) s->out.kv_peak_tok = used_cells(s);
        if (sl->state == SLOT_PROMPT) {
            sl->left_tok -= sl->rows;
            if (sl->left_tok > 0) continue;
        }
        pass_host(s, sample_s);
        s->out.output_tok++;
        if (sl->state == SLOT_PROMPT) {
            record(s, k)->first_ns = s->now_ns;
            sl->state = SLOT_DECODING;
            sl->left_tok = workload_out_tok(s->work, k, sl->turn) - 1;
        } else {
            (void)itl_list_add(&s->itl, s->now_ns - sl->last_tok_ns, 1, s->arm->name, s->e);
            sl->left_tok--;
        }
        sl->last_tok_ns = s->now_ns;
        if (sl->left_tok == 0) end_turn(s, k);
    }
}

/* Of a call's prefill time, what its micro-batches in a hole of the card have: never more than all
 * of it. */
static int64_t gap_share_ns(const server *s, double device_s, int64_t prefill_ns) {
    return s->gap_s < device_s ? llround((double)prefill_ns * (s->gap_s / device_s)) : prefill_ns;
}

static void iterate(server *s) {
    int64_t prompts = 0, decoding = 0, sampled = 0, prompt_rows = 0;
    (void)fill_batch(s);
    for (int64_t k = 0; k < s->work->K; k++) {
        const slot *sl = &s->slots[k];
        prompts += sl->state == SLOT_PROMPT && sl->rows > 0;
        prompt_rows += sl->state == SLOT_PROMPT ? sl->rows : 0;
        decoding += sl->state == SLOT_DECODING;
        sampled +=
            sl->state == SLOT_DECODING || (sl->state == SLOT_PROMPT && sl->rows == sl->left_tok);
    }
    double device_s = run_call(s);
    int64_t device_ns = ns_of(s, device_s), decode_ns = 0;
    if (decoding > 0) { /* beside prompts, what the decoding rows alone would take is decode */
        decode_price p = cost_decode(s->cost, decoding);
        int64_t sum = 0;
        for (int64_t k = 0; k < s->work->K; k++)
            if (s->slots[k].state == SLOT_DECODING) sum += s->slots[k].held_tok;
        int64_t alone_ns = prompts > 0 ? cost_decode_run_ns(&p, sum, 1) : device_ns;
        if (prompts > 0) alone_ns -= cost_decode_host_ns(&p, 1, alone_ns);
        decode_ns = alone_ns < device_ns ? alone_ns : device_ns;
        usage_note_decode(&s->out.used, &p, sum, decode_ns, decode_ns);
    }
    s->out.decode_ns += decode_ns;
    s->out.prefill_ns += device_ns - decode_ns;
    if (s->gap_tok > 0) /* its micro-batches give to decode what the whole call gives */
        usage_note_gap(&s->out.used, s->cost, s->gap_tok,
                       gap_share_ns(s, device_s, device_ns - decode_ns));
    pass(s, device_ns);
    /* one call, recorded as its two shares; the prompts' first, since it took them up */
    note_span(s, SPAN_PREFILL, device_ns, device_ns - decode_ns, prompts, prompt_rows);
    note_span(s, SPAN_DECODE, decode_ns, decode_ns, decoding, decoding);
    double declared_s = decoding > 0 ? cost_host_step_s(s->cost) : 0;
    pass_host(s, shape_s(s, prompt_rows) + graph_s(s, prompts > 0) + declared_s);
    s->out.events_n++;
    if (!s->e->code) sample(s, s->host.sample_s + s->host.sample_s_per_row * (double)sampled);
}

/* ---- the session ---- */

/* What happens to the prefix before the agents start, at the session's beginning. */
static void warm_up_prefix(server *s) {
    int64_t P = s->work->P, K = s->work->K;
    if (s->arm->warm == WARM_NONE || P == 0) return;
    int64_t ns = ns_of(s, (double)cost_prefill_ns(s->cost, P, 0, 0) / 1e9);
    s->out.prefill_ns += ns;
    s->out.prefix_evals++;
    s->out.presented_tok += P; /* by its own request, until an agent takes them over */
    s->out.computed_tok += P;
    s->warm_up_unused = true;
    usage_note_prefill(&s->out.used, P, 0, ns);
    usage_note_gap(&s->out.used, s->cost, P, ns);
    pass(s, ns);
    note_span(s, SPAN_PREFILL, ns, ns, 1, P);
    pass_host(s, s->host.request_s + s->host.request_s_per_tok * (double)P + s->host.sample_s);
    int64_t holders = s->arm->warm == WARM_FIRST_SLOT ? 1 : K;
    if (s->arm->warm == WARM_RESTORED) {
        int64_t before_ns = s->out.other_ns;
        pass_host(s, (double)P * (s->host.slot_save_s_per_tok +
                                  (double)(K - 1) * s->host.slot_restore_s_per_tok));
        s->out.slot_files_ns = s->out.other_ns - before_ns;
    }
    for (int64_t k = 0; k < holders; k++) hold(s, &s->slots[k], P);
    s->out.kv_peak_tok = used_cells(s);
}

static bool next_arrival(const server *s, int64_t *at_ns) {
    bool any = false;
    for (int64_t k = 0; k < s->work->K; k++)
        if (s->slots[k].state == SLOT_SENT && (!any || s->slots[k].arrives_ns < *at_ns)) {
            *at_ns = s->slots[k].arrives_ns;
            any = true;
        }
    return any;
}

static bool busy(const server *s) {
    for (int64_t k = 0; k < s->work->K; k++)
        if (s->slots[k].state == SLOT_PROMPT || s->slots[k].state == SLOT_DECODING) return true;
    return false;
}

static void run_session(server *s) {
    enum { ITERATIONS_MAX = 50000000 };
    warm_up_prefix(s);
    int64_t start_ns = s->now_ns;
    for (int64_t k = 0; k < s->work->K && !(s->work->one_after_another && k > 0); k++)
        send(s, k, start_ns + s->work->start_offset_ns[k]);
    while (!s->e->code && s->ended_n < s->work->K) {
        take_up(s);
        int64_t at_ns = s->now_ns;
        if (busy(s))
            iterate(s);
        else if (next_arrival(s, &at_ns)) {
            s->out.idle_ns += at_ns - s->now_ns;
            s->now_ns = at_ns;
        }
        if (s->out.events_n > ITERATIONS_MAX)
            err_set(s->e, E_LIMIT, s->arm->name, "more than %d server iterations", ITERATIONS_MAX);
    }
}

static err_code collect(server *s, arena *mem, sim_result *out) {
    const itl_run *itl = itl_list_copy(&s->itl, mem);
    if (!itl) return err_set(s->e, E_LIMIT, s->arm->name, "does not fit the memory budget");
    int64_t busy_ns = s->out.prefill_ns + s->out.decode_ns + s->out.other_ns;
    *out = s->out;
    out->itl = itl;
    out->itl_n = s->itl.n;
    out->turns = s->turns;
    out->turns_n = s->work->K * s->work->H;
    out->wall_ns = s->now_ns;
    out->host_ns = s->out.other_ns;
    out->kv_peak_sequences = s->work->K;
    assert(busy_ns + s->out.idle_ns == s->now_ns);
    return OK;
}

/* `pace`: see struct server. */
static err_code run_at_pace(const arm *a, const workload *w, const cost *c, const host_terms *host,
                            double pace, span_list *device, arena *mem, sim_result *out, err *e) {
    if (a->slots_n < w->K)
        return err_set(e, E_REFUSED, a->name,
                       "found %lld slots for K = %lld agents: engine llama-server pins an agent to "
                       "a slot, expected a slot for each",
                       (long long)a->slots_n, (long long)w->K);
    server s = {.arm = a,
                .work = w,
                .cost = c,
                .device = device,
                .e = e,
                .unified = a->layout == KV_LAYOUT_UNIFIED,
                .pace = pace,
                .decoding_before = -1};
    if (host && host->known) s.host = *host;
    s.n_batch = a->n_batch ? a->n_batch : a->card->engine.n_batch ? a->card->engine.n_batch : 2048;
    s.n_ubatch = a->n_ubatch                ? a->n_ubatch
                 : a->card->engine.n_ubatch ? a->card->engine.n_ubatch
                                            : 512;
    if (s.n_ubatch > s.n_batch) s.n_ubatch = s.n_batch;
    s.slots = ARENA_ARRAY(mem, slot, w->K);
    s.pieces = ARENA_ARRAY(mem, piece, w->K);
    s.pending = ARENA_ARRAY(mem, int64_t, w->K);
    s.turns = ARENA_ARRAY(mem, turn_record, w->K * w->H);
    if (!s.slots || !s.pieces || !s.pending || !s.turns)
        return err_set(e, E_LIMIT, a->name, "does not fit the memory budget");
    run_session(&s);
    if (!e->code && device) (void)span_list_end(device, a->name, e);
    if (!e->code) (void)collect(&s, mem, out);
    itl_list_free(&s.itl);
    return e->code;
}

err_code llama_server_run(const arm *a, const workload *w, const cost *c, const host_terms *host,
                          arena *mem, sim_result *out, err *e) {
    return run_at_pace(a, w, c, host, 1, NULL, mem, out, e);
}

err_code llama_server_run_recorded(const arm *a, const workload *w, const cost *c,
                                   const host_terms *host, span_list *device, arena *mem,
                                   sim_result *out, err *e) {
    return run_at_pace(a, w, c, host, 1, device, mem, out, e);
}

/* ---- what the wall can be off by ---- */

static err_code wall_at(const arm *a, const workload *w, const cost *c, const host_terms *host,
                        double pace, int64_t *wall_ns, err *e) {
    enum { SCRATCH_MIB = 512 };
    arena *scratch = arena_new((size_t)SCRATCH_MIB << 20);
    sim_result sim = {0};
    if (!scratch) return err_set(e, E_NOMEM, a->name, "out of memory");
    if (run_at_pace(a, w, c, host, pace, NULL, scratch, &sim, e) == OK) *wall_ns = sim.wall_ns;
    arena_free(scratch);
    return e->code;
}

/* Identical runs differ by a share of the time that they take, which was seen on sessions that wait
 * for nothing. Waiting that is declared does not vary, and hides work of other agents: the wall
 * moves by what it does between a slower and a faster run. */
static err_code repeat_spread(const arm *a, const workload *w, const cost *c,
                              const host_terms *host, int64_t wall_ns, double *out, err *e) {
    double f = host->repeat_spread_frac, fast = f < 1 ? 1 - f : 0;
    int64_t slow_ns = 0, fast_ns = 0;
    *out = f;
    if (f <= 0 || workload_waiting_ns(w) == 0) return OK; /* all of the wall goes with the pace */
    if (wall_at(a, w, c, host, 1 + f, &slow_ns, e) || wall_at(a, w, c, host, fast, &fast_ns, e))
        return e->code;
    *out = f * (double)(slow_ns - fast_ns) / ((1 + f - fast) * (double)wall_ns);
    return OK;
}

err_code llama_server_wall_spread_frac(const arm *a, const workload *w, const cost *c,
                                       const host_terms *host, int64_t wall_ns, double *out,
                                       err *e) {
    double sum = 0, repeat = 0;
    *out = 0;
    if (!host->known || wall_ns <= 0) return OK;
    for (size_t i = 0; i < HOST_FITTED_N; i++) {
        host_terms t = *host;
        int64_t ns = 0;
        if (*host_term_at(&t, i) <= 0 || t.stderr_frac[i] <= 0) continue;
        *host_term_at(&t, i) *= 1 + t.stderr_frac[i];
        if (wall_at(a, w, c, &t, 1, &ns, e)) return e->code;
        double moved = (double)ns / (double)wall_ns - 1;
        sum += moved * moved;
    }
    if (repeat_spread(a, w, c, host, wall_ns, &repeat, e)) return e->code;
    *out = sqrt(sum + repeat * repeat);
    return OK;
}
