#include "sim.h"

#include "evq.h"
#include "kv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef enum op_kind { OP_NONE, OP_CONSTANT, OP_PREFILL, OP_DECODE, OP_MIXED } op_kind;

typedef struct agent {
    int64_t turn;        /* 1..H */
    int64_t steps_left;  /* decode steps until the turn is over */
    int64_t context_tok; /* tokens in its KV while it decodes */
    int64_t last_tok_ns;
    kv_match match; /* of the prompt in work */
    /* mixed prefill: whether the prompt was taken up, tokens of it computed so far and in this
     * iteration */
    bool taken_up;
    int64_t done_tok, piece_tok;
    bool first_due; /* the first output token comes with the next decode step (nothing was
                       prefilled) */
} agent;

/* First in, first out over agents; an agent is in a queue at most once, so K places do. */
typedef struct fifo {
    int64_t *a;
    int64_t cap, head, n;
} fifo;

typedef struct sim {
    const arm *arm;
    const workload *work;
    const cost *cost;
    evq *events;
    kv *cache;
    agent *agents;
    turn_record *turns;
    fifo waiting; /* for a slot */
    fifo prompts; /* have a slot, wait for the device */
    int64_t *running, running_n;
    int64_t running_context_tok;             /* sum over the running sequences */
    int64_t in_flight_n, in_flight_max;      /* requests between slot and last token */
    int64_t round_prefilled_n, round_done_n; /* lockstep: of this turn */
    int64_t turns_done_n;
    int64_t now_ns;
    op_kind op;
    int64_t op_agent, op_steps_n, op_ns, op_decode_ns;
    int64_t op_host_ns; /* decode, mixed: behind the device's share, the declared host time */
    int64_t op_prompts_n, op_prompt_tok; /* mixed: prompts in the running iteration, their rows */
    prompt_piece *pieces;                /* mixed: of the running iteration, at most K */
    int64_t prefixes_in_work_n; /* mixed: prompts taken up that compute the shared prefix */
    int64_t mixed_n;
    bool start_constant_due, end_constant_due;
    itl_list itl;
    span_list *device; /* NULL: nothing is recorded */
    sim_result out;
    err *e;
} sim;

static void fifo_push(fifo *f, int64_t k) {
    assert(f->n < f->cap);
    f->a[(f->head + f->n++) % f->cap] = k;
}

static int64_t fifo_pop(fifo *f) {
    assert(f->n > 0);
    int64_t k = f->a[f->head];
    f->head = (f->head + 1) % f->cap;
    f->n--;
    return k;
}

static turn_record *record(sim *s, int64_t k) {
    return &s->turns[k * s->work->H + s->agents[k].turn - 1];
}

static int64_t prompt_tok(const sim *s, int64_t k) {
    return workload_agent_prompt_tok(s->work, k, s->agents[k].turn);
}

/* ---- the device ---- */

static void device_start(sim *s, op_kind op, int64_t ns) {
    if (ns >= TIME_MAX_NS - s->now_ns) {
        err_set(s->e, E_LIMIT, s->arm->name,
                "the projection reaches 2^62 ns (146 years), expected less");
        return;
    }
    s->op = op;
    s->op_ns = ns;
    evq_push(s->events, (event){.t_ns = s->now_ns + ns, .kind = EV_DEVICE_DONE});
}

/* Of what ends now: the piece that began before_ns ago and took ns. */
static void note_span(sim *s, span_kind kind, int64_t before_ns, int64_t ns, int64_t batch_n,
                      int64_t tokens) {
    if (kind == SPAN_PREFILL) s->out.prefill_tok += tokens;
    if (!s->device) return;
    int64_t start_ns = s->now_ns - before_ns;
    span_list_add(s->device, (span){start_ns, start_ns + ns, kind, batch_n, tokens});
}

static int64_t computed_tok(const agent *a) {
    return a->match.prefix_tok + a->match.own_tok;
}

/* The device takes up a prompt: it finds out what it can reuse, and its queue wait is over. */
static void take_up(sim *s, int64_t k) {
    agent *a = &s->agents[k];
    turn_record *r = record(s, k);
    if (s->arm->comers == COMERS_WAIT) a->match = kv_lookup(s->cache, k, prompt_tok(s, k));
    r->start_ns = s->now_ns;
    r->reused_tok = a->match.reused_tok;
    r->reused_cross_tok = a->match.reused_cross_tok;
    r->computed_tok = computed_tok(a);
    if (a->match.prefix_tok == s->work->P && s->work->P > 0) s->out.prefix_evals++;
}

static void start_prefill(sim *s) {
    int64_t k = fifo_pop(&s->prompts);
    agent *a = &s->agents[k];
    take_up(s, k);
    int64_t ns =
        cost_prefill_ns(s->cost, a->match.prefix_tok, a->match.own_tok, a->match.reused_tok);
    if (computed_tok(a) > 0) {
        usage_note_prefill(&s->out.used, computed_tok(a), a->match.reused_tok, ns);
        usage_note_gap(&s->out.used, s->cost, computed_tok(a), ns);
    }
    s->op_agent = k;
    device_start(s, OP_PREFILL, ns);
}

/* Steps until something can change: a sequence ends, or a request arrives that a free slot can
 * take. */
static int64_t stretch_steps(const sim *s, const decode_price *p, int64_t sum_context) {
    int64_t steps = INT64_MAX;
    for (int64_t i = 0; i < s->running_n; i++) {
        int64_t left = s->agents[s->running[i]].steps_left;
        if (left < steps) steps = left;
    }
    const event *next = evq_peek(s->events);
    if (!next || s->in_flight_n >= s->in_flight_max) return steps;
    int64_t until = next->t_ns - s->now_ns, lo = 1, hi = steps;
    if (cost_decode_run_ns(p, sum_context, steps) <= until) return steps;
    while (lo < hi) { /* fewest whole steps that reach the arrival: the running step is never cut */
        int64_t mid = lo + (hi - lo) / 2;
        if (cost_decode_run_ns(p, sum_context, mid) >= until)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static void itl_add(sim *s, int64_t gap_ns, int64_t n) {
    itl_list *l = &s->itl;
    if (n == 0) return;
    if (l->n > 0 && l->v[l->n - 1].gap_ns == gap_ns)
        l->v[l->n - 1].n += n;
    else
        (void)itl_list_add(l, gap_ns, n, s->arm->name, s->e);
}

/* The first token of every running sequence in this piece of device time comes at first_ns. */
static void note_first_tokens(sim *s, int64_t first_ns) {
    for (int64_t i = 0; i < s->running_n; i++) {
        agent *a = &s->agents[s->running[i]];
        if (a->first_due)
            record(s, s->running[i])->first_ns = first_ns;
        else
            itl_add(s, first_ns - a->last_tok_ns, 1);
        a->first_due = false;
    }
}

static void start_decode(sim *s) {
    decode_price p = cost_decode(s->cost, s->running_n);
    int64_t sum = s->running_context_tok, steps = stretch_steps(s, &p, sum);
    int64_t ns = cost_decode_run_ns(&p, sum, steps), one = cost_decode_run_ns(&p, sum, 1);
    int64_t one_host = cost_decode_host_ns(&p, 1, one);
    s->op_host_ns = cost_decode_host_ns(&p, steps, ns);
    usage_note_decode(&s->out.used, &p, sum + (steps - 1) * s->running_n, one - one_host,
                      ns - s->op_host_ns);
    s->op_steps_n = steps;
    s->out.stretches_n++;
    device_start(s, OP_DECODE, ns);
    if (s->e->code) return;
    note_first_tokens(s, s->now_ns + one);
    if (steps > 1) itl_add(s, (ns - one) / (steps - 1), (steps - 1) * s->running_n);
}

/* ---- mixed prefill: running rows first, then prompt rows first come first served, up to the
 * budget ---- */

/* Under first_comers wait a prompt holds still while somebody computes the prefix that it would
 * have to compute. */
static bool waits_for_prefix(const sim *s, int64_t k) {
    if (s->arm->reuse != REUSE_SHARED || s->arm->comers != COMERS_WAIT ||
        s->prefixes_in_work_n == 0)
        return false;
    return kv_lookup(s->cache, k, prompt_tok(s, k)).prefix_tok > 0;
}

static size_t fill_batch(sim *s) {
    int64_t rows = s->arm->max_batch_tok - s->running_n;
    size_t n = 0;
    for (int64_t i = 0; i < s->prompts.n; i++) {
        int64_t k = s->prompts.a[(s->prompts.head + i) % s->prompts.cap];
        agent *a = &s->agents[k];
        a->piece_tok = 0;
        if (rows <= 0 || (!a->taken_up && waits_for_prefix(s, k))) continue;
        if (!a->taken_up) {
            take_up(s, k);
            a->taken_up = true;
            a->done_tok = 0;
            s->prefixes_in_work_n += a->match.prefix_tok > 0;
        }
        int64_t left = computed_tok(a) - a->done_tok;
        a->piece_tok = left < rows ? left : rows;
        rows -= a->piece_tok;
        if (a->piece_tok > 0)
            s->pieces[n++] = (prompt_piece){a->piece_tok, a->match.reused_tok + a->done_tok};
    }
    return n;
}

static void start_mixed(sim *s) {
    enum { ITERATIONS_MAX = 20000000 };
    if (++s->mixed_n > ITERATIONS_MAX) {
        err_set(s->e, E_LIMIT, s->arm->name,
                "more than %d mixed iterations, expected a larger max_batch_tok", ITERATIONS_MAX);
        return;
    }
    size_t n = fill_batch(s);
    int64_t sum = s->running_context_tok,
            ns = cost_mixed_ns(s->cost, s->running_n, sum, s->pieces, n), rows = 0, depth = 0;
    for (size_t i = 0; i < n; i++) {
        rows += s->pieces[i].n_tok;
        if (s->pieces[i].depth_tok > depth) depth = s->pieces[i].depth_tok;
    }
    /* of the iteration, what a decode step alone would take counts as decode */
    s->op_decode_ns = s->op_host_ns = 0;
    if (s->running_n > 0) {
        decode_price p = cost_decode(s->cost, s->running_n);
        int64_t one = cost_decode_run_ns(&p, sum, 1), step = one < ns ? one : ns;
        s->op_host_ns = cost_decode_host_ns(&p, 1, step);
        s->op_decode_ns = step - s->op_host_ns;
        usage_note_decode(&s->out.used, &p, sum, one - cost_decode_host_ns(&p, 1, one),
                          s->op_decode_ns);
    }
    if (rows > 0) {
        usage_note_prefill(&s->out.used, rows, depth, ns - s->op_host_ns);
        usage_note_gap(&s->out.used, s->cost, rows, ns - s->op_host_ns - s->op_decode_ns);
    }
    s->op_prompts_n = (int64_t)n;
    s->op_prompt_tok = rows;
    device_start(s, OP_MIXED, ns);
    if (!s->e->code) note_first_tokens(s, s->now_ns + ns);
}

/* What the free device does next. Prefill goes first, alone; in lockstep nobody decodes before all
 * have prefilled. */
static void dispatch(sim *s) {
    if (s->start_constant_due || (s->end_constant_due && s->turns_done_n == s->out.turns_n)) {
        bool at_start = s->start_constant_due;
        s->start_constant_due = false;
        if (!at_start) s->end_constant_due = false;
        device_start(s, OP_CONSTANT, cost_constant_ns(s->cost, at_start));
    } else if (s->prompts.n > 0) {
        if (s->arm->prefill == PREFILL_MIXED)
            start_mixed(s);
        else
            start_prefill(s);
    } else if (s->running_n > 0) {
        bool gate = s->arm->batch != BATCH_LOCKSTEP || s->round_prefilled_n == s->work->K;
        if (gate) start_decode(s);
    }
}

/* ---- requests ---- */

/* Gives free slots to those who wait, in order. */
static void admit(sim *s) {
    while (s->waiting.n > 0 && s->in_flight_n < s->in_flight_max) {
        int64_t k = s->waiting.a[s->waiting.head];
        if (!kv_take_slot(s->cache, k)) return;
        fifo_pop(&s->waiting);
        s->in_flight_n++;
        if (s->arm->comers == COMERS_EACH)
            s->agents[k].match = kv_lookup(s->cache, k, prompt_tok(s, k));
        fifo_push(&s->prompts, k);
    }
}

static void send(sim *s, int64_t k) {
    s->agents[k].turn++;
    record(s, k)->send_ns = s->now_ns;
    s->out.presented_tok += prompt_tok(s, k);
    fifo_push(&s->waiting, k);
    admit(s);
}

static void schedule_send(sim *s, int64_t k, int64_t at_ns) {
    if (at_ns >= TIME_MAX_NS) {
        err_set(s->e, E_LIMIT, s->arm->name,
                "the projection reaches 2^62 ns (146 years), expected less");
        return;
    }
    evq_push(s->events, (event){.t_ns = at_ns, .kind = EV_SEND, .agent = k});
}

static void finish_turn(sim *s, int64_t k) {
    agent *a = &s->agents[k];
    record(s, k)->done_ns = s->now_ns;
    s->out.output_tok += workload_out_tok(s->work, k, a->turn);
    s->turns_done_n++;
    kv_release_slot(s->cache, k);
    s->in_flight_n--;
    int64_t next_ns = s->now_ns + s->work->tool_latency_ns;
    if (s->arm->batch != BATCH_LOCKSTEP) {
        if (a->turn < s->work->H)
            schedule_send(s, k, next_ns);
        else if (s->work->one_after_another && k + 1 < s->work->K)
            schedule_send(s, k + 1, next_ns);
        return;
    }
    if (++s->round_done_n < s->work->K)
        return; /* lockstep: the next turn starts for all or for nobody */
    s->round_done_n = s->round_prefilled_n = 0;
    for (int64_t i = 0; i < s->work->K && a->turn < s->work->H; i++) schedule_send(s, i, next_ns);
}

static void prompt_done(sim *s, int64_t k) {
    agent *a = &s->agents[k];
    s->out.reused_tok += a->match.reused_tok;
    s->out.reused_cross_tok += a->match.reused_cross_tok;
    s->out.computed_tok += computed_tok(a);
    kv_book_prompt(s->cache, k, prompt_tok(s, k));
    a->context_tok = prompt_tok(s, k);
    a->last_tok_ns = s->now_ns;
    a->taken_up = false;
    a->first_due = computed_tok(a) == 0;
    if (!a->first_due) record(s, k)->first_ns = s->now_ns;
    /* the prefill's last row yields token 1; an idealised engine runs one more step, to cache the
     * last token */
    a->steps_left = workload_out_tok(s->work, k, a->turn) - (s->arm->reuse_last_token ? 0 : 1);
    s->round_prefilled_n++;
    if (a->steps_left == 0) {
        finish_turn(s, k);
        return;
    }
    s->running[s->running_n++] = k;
    s->running_context_tok += a->context_tok;
}

static void steps_done(sim *s, int64_t steps_n) {
    int64_t kept = 0, n = s->running_n;
    s->running_context_tok += n * steps_n;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = s->running[i];
        agent *a = &s->agents[k];
        a->steps_left -= steps_n;
        a->context_tok += steps_n;
        a->last_tok_ns = s->now_ns;
        kv_book_decode(s->cache, k, steps_n);
        if (a->steps_left > 0) {
            s->running[kept++] = k; /* those who go on move to the front */
            continue;
        }
        s->running_context_tok -= a->context_tok;
        finish_turn(s, k);
    }
    s->running_n = kept;
}

/* Decode that ends now, of decode_ns and behind it the declared host time of its steps. */
static void decode_passed(sim *s, int64_t decode_ns, int64_t tokens) {
    int64_t host_ns = s->op_host_ns;
    s->out.decode_ns += decode_ns;
    s->out.other_ns += host_ns;
    s->out.host_ns += host_ns;
    note_span(s, SPAN_DECODE, decode_ns + host_ns, decode_ns, s->running_n, tokens);
    note_span(s, SPAN_HOST, host_ns, host_ns, 0, 0);
}

static void mixed_done(sim *s) {
    int64_t prefill_ns = s->op_ns - s->op_decode_ns - s->op_host_ns;
    s->out.prefill_ns += prefill_ns;
    /* one pass, recorded as its two shares; the prompts' first, since it took them up */
    note_span(s, SPAN_PREFILL, s->op_ns, prefill_ns, s->op_prompts_n, s->op_prompt_tok);
    decode_passed(s, s->op_decode_ns, s->running_n);
    int64_t prompts_n = s->prompts.n;
    steps_done(s, 1);
    for (int64_t i = 0; i < prompts_n; i++) {
        int64_t k = fifo_pop(&s->prompts);
        agent *a = &s->agents[k];
        a->done_tok += a->piece_tok;
        if (!a->taken_up || a->done_tok < computed_tok(a)) {
            fifo_push(&s->prompts, k);
            continue;
        }
        s->prefixes_in_work_n -= a->match.prefix_tok > 0;
        prompt_done(s, k);
    }
}

static void device_done(sim *s) {
    op_kind op = s->op;
    s->op = OP_NONE;
    if (op == OP_CONSTANT) {
        s->out.other_ns += s->op_ns;
        note_span(s, SPAN_CONSTANT, s->op_ns, s->op_ns, 0, 0);
    } else if (op == OP_PREFILL) {
        s->out.prefill_ns += s->op_ns;
        note_span(s, SPAN_PREFILL, s->op_ns, s->op_ns, 1, computed_tok(&s->agents[s->op_agent]));
        prompt_done(s, s->op_agent);
    } else if (op == OP_DECODE) {
        decode_passed(s, s->op_ns - s->op_host_ns, s->running_n * s->op_steps_n);
        steps_done(s, s->op_steps_n);
    } else {
        mixed_done(s);
    }
    admit(s);
}

/* ---- set-up and result ---- */

static bool set_up(sim *s, arena *mem) {
    int64_t K = s->work->K;
    bool excludes_last = cost_memory(s->cost).kv_excludes_last_output;
    s->events = evq_new(mem, (size_t)K + 1);
    s->cache = kv_new(s->arm, s->work, excludes_last, mem);
    s->agents = ARENA_ARRAY(mem, agent, K);
    s->turns = ARENA_ARRAY(mem, turn_record, K * s->work->H);
    s->waiting = (fifo){.a = ARENA_ARRAY(mem, int64_t, K), .cap = K};
    s->prompts = (fifo){.a = ARENA_ARRAY(mem, int64_t, K), .cap = K};
    s->running = ARENA_ARRAY(mem, int64_t, K);
    s->pieces = ARENA_ARRAY(mem, prompt_piece, K);
    s->in_flight_max = s->arm->batch == BATCH_SERIAL ? 1
                       : s->arm->slots_n < K         ? s->arm->slots_n
                                                     : K;
    s->out.turns_n = K * s->work->H;
    s->start_constant_due = cost_constant_ns(s->cost, true) > 0;
    s->end_constant_due = cost_constant_ns(s->cost, false) > 0;
    return s->events && s->cache && s->agents && s->turns && s->waiting.a && s->prompts.a &&
           s->running && s->pieces;
}

static err_code collect(sim *s, arena *mem, sim_result *out) {
    assert(s->turns_done_n == s->out.turns_n);
    const itl_run *itl = itl_list_copy(&s->itl, mem);
    if (!itl) return err_set(s->e, E_LIMIT, s->arm->name, "does not fit the memory budget");
    *out = s->out;
    out->itl = itl;
    out->itl_n = s->itl.n;
    out->turns = s->turns;
    out->wall_ns = s->now_ns;
    out->idle_ns = s->now_ns - s->out.prefill_ns - s->out.decode_ns - s->out.other_ns;
    out->kv_peak_tok = kv_peak_tok(s->cache);
    out->kv_peak_sequences = kv_peak_sequences(s->cache);
    return OK;
}

err_code sim_run(const arm *a, const workload *w, const cost *c, arena *mem, sim_result *out,
                 err *e) {
    return sim_run_recorded(a, w, c, NULL, mem, out, e);
}

err_code sim_run_recorded(const arm *a, const workload *w, const cost *c, span_list *device,
                          arena *mem, sim_result *out, err *e) {
    sim s = {.arm = a, .work = w, .cost = c, .device = device, .e = e};
    if (!set_up(&s, mem))
        return err_set(e, E_LIMIT, a->name, "K x H = %lld turns do not fit the memory budget",
                       (long long)(w->K * w->H));
    for (int64_t k = 0; k < (w->one_after_another ? 1 : w->K); k++)
        schedule_send(&s, k, w->start_offset_ns[k]);
    if (s.start_constant_due) dispatch(&s);
    while (!e->code && evq_size(s.events) > 0) {
        event ev = evq_pop(s.events);
        s.now_ns = ev.t_ns;
        s.out.events_n++;
        if (ev.kind == EV_DEVICE_DONE)
            device_done(&s);
        else
            send(&s, ev.agent);
        const event *next = evq_peek(s.events);
        bool instant_over = !next || next->t_ns > s.now_ns;
        if (instant_over && s.op == OP_NONE && !e->code) dispatch(&s);
    }
    if (!e->code && device) (void)span_list_end(device, a->name, e);
    if (!e->code) collect(&s, mem, out);
    itl_list_free(&s.itl);
    return e->code;
}
