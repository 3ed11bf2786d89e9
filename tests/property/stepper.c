#include "property/stepper.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

typedef enum where { THINKING, IN_LINE, PROMPT, RUNNING, FINISHED } where;

typedef struct client {
    where at;
    double send_ns, first_ns;
    long order; /* when it was put where it is: ties and queues go by it */
    int64_t turn, left, context, cached, slot;
    int64_t reused, prefix, own, done; /* of the prompt in work */
    bool looked_up, first_pending;
} client;

typedef struct world {
    const arm *a;
    const workload *w;
    const cost *c;
    client *k;
    int64_t *slot_owner;  /* per slot: agent whose history it holds, -1 */
    int64_t *slot_prefix; /* per slot: prefix tokens left by a former owner */
    long *slot_used;
    bool *slot_busy;
    int64_t slots_n, sights;
    long order;
    double t;
    stepper_result r;
} world;

static int64_t prompt_of(const world *x, int64_t i) {
    return workload_prompt_tok(x->w, x->k[i].turn) + x->w->private_tok[i];
}

/* Of the agents at `at`, the one put there first; -1: none. */
static int64_t first_at(const world *x, where at) {
    int64_t best = -1;
    for (int64_t i = 0; i < x->w->K; i++)
        if (x->k[i].at == at && (best < 0 || x->k[i].order < x->k[best].order)) best = i;
    return best;
}

static int64_t count_at(const world *x, where at) {
    int64_t n = 0;
    for (int64_t i = 0; i < x->w->K; i++) n += x->k[i].at == at;
    return n;
}

static void put(world *x, int64_t i, where at) {
    x->k[i].at = at;
    x->k[i].order = ++x->order;
}

static void look_up(world *x, int64_t i) {
    client *k = &x->k[i];
    int64_t P = x->w->P, prompt = prompt_of(x, i), have = 0;
    if (x->a->reuse == REUSE_SHARED) {
        have = k->cached;
        if (have < P && x->sights >= x->a->cold_sights_n) have = P;
    }
    if (x->a->reuse == REUSE_PER_SLOT)
        have = x->slot_owner[k->slot] == i ? k->cached : x->slot_prefix[k->slot];
    int64_t most = x->a->reuse_last_token ? prompt : prompt - 1;
    if (have > most) have = most;
    have = have / x->a->block_tok * x->a->block_tok;
    k->reused = have;
    k->prefix = have < P ? P - have : 0;
    k->own = prompt - have - k->prefix;
}

/* A free slot: its own, else the one used longest ago. */
static bool take_slot(world *x, int64_t i) {
    int64_t pick = -1;
    for (int64_t s = 0; s < x->slots_n; s++)
        if (!x->slot_busy[s] && (pick < 0 || x->slot_used[s] < x->slot_used[pick])) pick = s;
    for (int64_t s = 0; s < x->slots_n; s++)
        if (!x->slot_busy[s] && x->slot_owner[s] == i) pick = s;
    if (pick < 0) return false;
    int64_t old = x->slot_owner[pick];
    if (x->a->reuse == REUSE_PER_SLOT && old >= 0 && old != i) {
        x->slot_prefix[pick] = x->k[old].cached >= x->w->P ? x->w->P : 0;
        x->k[old].cached = 0;
        x->slot_owner[pick] = -1;
    }
    x->slot_busy[pick] = true;
    x->k[i].slot = pick;
    return true;
}

static int64_t in_flight(const world *x) {
    return count_at(x, PROMPT) + count_at(x, RUNNING);
}

/* `strict`: only what came before now, while the device was still busy with what ends now. */
static void arrive_and_admit(world *x, bool strict) {
    for (;;) { /* requests whose time has come, in the order in which they were scheduled for one
                  instant */
        int64_t best = -1;
        for (int64_t i = 0; i < x->w->K; i++) {
            const client *k = &x->k[i];
            if (k->at != THINKING || k->send_ns < 0 || k->send_ns > x->t ||
                (strict && k->send_ns == x->t))
                continue;
            bool sooner = best < 0 || k->send_ns < x->k[best].send_ns ||
                          (k->send_ns == x->k[best].send_ns && k->order < x->k[best].order);
            if (sooner) best = i;
        }
        if (best < 0) break;
        x->k[best].turn++;
        x->r.presented_tok += prompt_of(x, best);
        put(x, best, IN_LINE);
    }
    int64_t most = x->a->batch == BATCH_SERIAL ? 1 : x->slots_n;
    for (int64_t i; in_flight(x) < most && (i = first_at(x, IN_LINE)) >= 0 && take_slot(x, i);) {
        x->k[i].looked_up = x->a->comers == COMERS_EACH;
        if (x->k[i].looked_up) look_up(x, i);
        x->k[i].done = -1;
        put(x, i, PROMPT);
    }
}

static void end_turn(world *x, int64_t i) {
    client *k = &x->k[i];
    x->r.output_tok += x->w->turn_out_tok;
    x->slot_busy[k->slot] = false;
    x->slot_owner[k->slot] = i;
    x->slot_used[k->slot] = ++x->order;
    if (x->a->reuse == REUSE_NONE) k->cached = 0;
    k->send_ns = x->t + (double)x->w->tool_latency_ns;
    put(x, i, k->turn < x->w->H ? THINKING : FINISHED);
    if (x->a->batch != BATCH_LOCKSTEP) return;
    if (k->at == THINKING) k->send_ns = -1; /* held until the last agent has ended its turn */
    for (int64_t j = 0; j < x->w->K; j++)
        if (x->k[j].turn < k->turn || x->k[j].at == IN_LINE || x->k[j].at == PROMPT ||
            x->k[j].at == RUNNING)
            return;
    for (int64_t j = 0; j < x->w->K; j++)
        if (x->k[j].at == THINKING) {
            x->k[j].send_ns = x->t + (double)x->w->tool_latency_ns;
            x->k[j].order = ++x->order;
        }
}

static void note_start(world *x, int64_t i) {
    client *k = &x->k[i];
    if (!k->looked_up) look_up(x, i);
    k->looked_up = true;
    k->done = 0;
    x->r.wait_sum_ns += x->t - k->send_ns;
    x->r.reused_tok += k->reused;
    x->r.computed_tok += k->prefix + k->own;
    if (x->w->P > 0 && k->prefix == x->w->P) x->r.prefix_evals++;
}

static void note_first(world *x, client *k) {
    double ttft = x->t - k->send_ns;
    x->r.ttft_sum_ns += ttft;
    if (ttft > x->r.ttft_max_ns) x->r.ttft_max_ns = ttft;
    k->first_pending = false;
}

static void end_prompt(world *x, int64_t i) {
    client *k = &x->k[i];
    if (x->a->reuse == REUSE_SHARED && k->cached < x->w->P && x->sights < x->a->cold_sights_n)
        x->sights++;
    x->slot_owner[k->slot] = i;
    k->cached = k->context = prompt_of(x, i);
    k->left = x->w->turn_out_tok - (x->a->reuse_last_token ? 0 : 1);
    k->first_pending = true;
    if (k->prefix + k->own > 0) note_first(x, k);
    if (k->left > 0)
        put(x, i, RUNNING);
    else
        end_turn(x, i);
}

static double step_ns(const world *x, int64_t *running) {
    int64_t sum = 0;
    *running = 0;
    for (int64_t i = 0; i < x->w->K; i++)
        if (x->k[i].at == RUNNING) {
            sum += x->k[i].context;
            ++*running;
        }
    if (*running == 0) return 0;
    decode_price p = cost_decode(x->c, *running);
    return (double)p.fixed_ns + p.per_context_ns * (double)sum;
}

/* Every running sequence gets one token; those that end do so in the order in which they began to
 * run. */
static void emit_tokens(world *x, const bool *was_running) {
    long done_up_to = -1;
    for (;;) {
        int64_t next = -1;
        for (int64_t i = 0; i < x->w->K; i++)
            if (was_running[i] && x->k[i].at == RUNNING && x->k[i].order > done_up_to &&
                (next < 0 || x->k[i].order < x->k[next].order))
                next = i;
        if (next < 0) return;
        client *k = &x->k[next];
        done_up_to = k->order;
        k->left--;
        k->context++;
        k->cached++;
        if (k->first_pending) note_first(x, k);
        if (k->left == 0) end_turn(x, next);
    }
}

static void mark_running(const world *x, bool *was_running) {
    for (int64_t i = 0; i < x->w->K; i++) was_running[i] = x->k[i].at == RUNNING;
}

/* Of a step's time, what the host was declared to take. */
static double host_of(const world *x, double step) {
    double host = round(cost_host_step_s(x->c) * 1e9);
    return host < step ? host : step;
}

static void decode_once(world *x, bool *was_running) {
    int64_t n;
    double ns = step_ns(x, &n);
    x->t += ns;
    x->r.decode_ns += ns - host_of(x, ns);
    x->r.other_ns += host_of(x, ns);
    mark_running(x, was_running);
    arrive_and_admit(x, true);
    emit_tokens(x, was_running);
}

static void prefill_once(world *x) {
    int64_t i = first_at(x, PROMPT);
    note_start(x, i);
    double ns = (double)cost_prefill_ns(x->c, x->k[i].prefix, x->k[i].own, x->k[i].reused);
    x->t += ns;
    x->r.prefill_ns += ns;
    arrive_and_admit(x, true);
    end_prompt(x, i);
}

static bool someone_computes_prefix(const world *x) {
    for (int64_t i = 0; i < x->w->K; i++)
        if (x->k[i].at == PROMPT && x->k[i].done >= 0 && x->k[i].prefix > 0) return true;
    return false;
}

/* May this prompt get rows now? Under "wait" not while somebody computes the prefix that it would
 * compute too. */
static bool may_start(world *x, int64_t i) {
    if (x->k[i].done >= 0) return true;
    if (x->a->reuse != REUSE_SHARED || x->a->comers != COMERS_WAIT || !someone_computes_prefix(x))
        return true;
    look_up(x, i);
    return x->k[i].prefix == 0;
}

static void mixed_once(world *x, bool *was_running, prompt_piece *pieces, int64_t *given) {
    int64_t running, rows, n = 0, sum = 0;
    double alone = step_ns(x, &running);
    mark_running(x, was_running);
    for (int64_t i = 0; i < x->w->K; i++) {
        given[i] = -1;
        if (was_running[i]) sum += x->k[i].context;
    }
    rows = x->a->max_batch_tok - running;
    long after = -1;
    while (rows > 0) { /* prompts in the order in which they came */
        int64_t next = -1;
        for (int64_t i = 0; i < x->w->K; i++)
            if (x->k[i].at == PROMPT && x->k[i].order > after &&
                (next < 0 || x->k[i].order < x->k[next].order))
                next = i;
        if (next < 0) break;
        client *k = &x->k[next];
        after = k->order;
        if (!may_start(x, next)) continue;
        if (k->done < 0) note_start(x, next);
        int64_t left = k->prefix + k->own - k->done;
        given[next] = left < rows ? left : rows;
        rows -= given[next];
        if (given[next] > 0) pieces[n++] = (prompt_piece){given[next], k->reused + k->done};
    }
    double ns = n > 0 ? (double)cost_mixed_ns(x->c, running, sum, pieces, (size_t)n) : alone;
    double step = running > 0 ? (alone < ns ? alone : ns) : 0;
    double host = running > 0 ? host_of(x, step) : 0;
    x->t += ns;
    x->r.decode_ns += step - host;
    x->r.other_ns += host;
    x->r.prefill_ns += ns - step;
    arrive_and_admit(x, true);
    emit_tokens(x, was_running);
    after = -1;
    long last = x->order;
    for (;;) {
        int64_t next = -1;
        for (int64_t i = 0; i < x->w->K; i++)
            if (x->k[i].at == PROMPT && x->k[i].order > after && x->k[i].order <= last &&
                (next < 0 || x->k[i].order < x->k[next].order))
                next = i;
        if (next < 0) return;
        after = x->k[next].order;
        if (given[next] < 0) continue;
        x->k[next].done += given[next];
        if (x->k[next].done == x->k[next].prefix + x->k[next].own) end_prompt(x, next);
    }
}

/* Lockstep: nobody decodes while somebody of the same turn is still to prefill. */
static bool may_decode(const world *x) {
    if (count_at(x, RUNNING) == 0) return false;
    if (x->a->batch != BATCH_LOCKSTEP) return true;
    int64_t turn = x->k[first_at(x, RUNNING)].turn;
    for (int64_t i = 0; i < x->w->K; i++)
        if (x->k[i].turn < turn || x->k[i].at == IN_LINE || x->k[i].at == PROMPT) return false;
    return true;
}

static bool idle_until_next(world *x) {
    double next = -1;
    for (int64_t i = 0; i < x->w->K; i++)
        if (x->k[i].at == THINKING && x->k[i].send_ns >= 0 && (next < 0 || x->k[i].send_ns < next))
            next = x->k[i].send_ns;
    if (next < 0) return false;
    x->r.idle_ns += next - x->t;
    x->t = next;
    return true;
}

stepper_result stepper_run(const arm *a, const workload *w, const cost *c) {
    size_t K = (size_t)w->K;
    world x = {.a = a, .w = w, .c = c, .slots_n = a->slots_n < w->K ? a->slots_n : w->K};
    x.k = calloc(K, sizeof *x.k);
    x.slot_owner = calloc(K, sizeof *x.slot_owner);
    x.slot_prefix = calloc(K, sizeof *x.slot_prefix);
    x.slot_used = calloc(K, sizeof *x.slot_used);
    x.slot_busy = calloc(K, sizeof *x.slot_busy);
    bool *was_running = calloc(K, sizeof *was_running);
    prompt_piece *pieces = calloc(K, sizeof *pieces);
    int64_t *given = calloc(K, sizeof *given);
    for (size_t s = 0; s < K; s++) x.slot_owner[s] = -1;
    for (int64_t i = 0; i < w->K; i++) {
        x.k[i].send_ns = (double)w->start_offset_ns[i];
        put(&x, i, THINKING);
    }
    x.t += (double)cost_constant_ns(c, true);
    x.r.other_ns = x.t;
    for (;;) {
        arrive_and_admit(&x, false);
        if (count_at(&x, PROMPT) > 0 && a->prefill == PREFILL_MIXED)
            mixed_once(&x, was_running, pieces, given);
        else if (count_at(&x, PROMPT) > 0)
            prefill_once(&x);
        else if (may_decode(&x))
            decode_once(&x, was_running);
        else if (!idle_until_next(&x))
            break;
    }
    x.t += (double)cost_constant_ns(c, false);
    x.r.other_ns += (double)cost_constant_ns(c, false);
    x.r.wall_ns = x.t;
    free(given);
    free(pieces);
    free(was_running);
    free(x.slot_busy);
    free(x.slot_used);
    free(x.slot_prefix);
    free(x.slot_owner);
    free(x.k);
    return x.r;
}
