#include "kv.h"

#include <assert.h>

typedef struct slot {
    int64_t owner; /* agent whose tokens it holds; -1: nobody's any more */
    int64_t
        left_tok; /* per_slot: of the shared prefix, what the former owner left for the new one */
    uint64_t used_at; /* logical clock of the last release; 0: never */
    bool busy;
} slot;

typedef struct sequence {
    int64_t slot;         /* while a turn runs; -1 otherwise */
    int64_t held_tok;     /* tokens of this agent that are in the cache, prefix included */
    int64_t unbooked_tok; /* book_at_prompt: generated, to be counted with the next prompt */
    bool counted;         /* held_tok is part of resident_tok */
} sequence;

struct kv {
    const arm *arm;
    const workload *work;
    bool book_at_prompt;
    slot *slots;
    int64_t slots_n;
    sequence *seq;
    uint64_t clock;
    int64_t prefix_sights; /* shared: how often somebody computed it */
    int64_t resident_tok, peak_tok, sequences_n, peak_sequences;
};

kv *kv_new(const arm *a, const workload *w, bool book_at_prompt, arena *mem) {
    kv *c = ARENA_NEW(mem, kv);
    if (!c) return NULL;
    c->arm = a;
    c->work = w;
    c->book_at_prompt = book_at_prompt;
    c->slots_n = a->slots_n < w->K ? a->slots_n : w->K; /* more slots than agents are never used */
    c->slots = ARENA_ARRAY(mem, slot, c->slots_n);
    c->seq = ARENA_ARRAY(mem, sequence, w->K);
    if (!c->slots || !c->seq) return NULL;
    for (int64_t i = 0; i < c->slots_n; i++) c->slots[i].owner = -1;
    for (int64_t k = 0; k < w->K; k++) c->seq[k].slot = -1;
    return c;
}

static void resident_add(kv *c, int64_t tok) {
    c->resident_tok += tok;
    assert(c->resident_tok >= 0);
    if (c->resident_tok > c->peak_tok) c->peak_tok = c->resident_tok;
}

/* Tokens that an agent's sequence adds to the pool: under `shared` the prefix is counted once,
 * apart. */
static int64_t private_tok(const kv *c, const sequence *s) {
    if (c->arm->reuse != REUSE_SHARED) return s->held_tok;
    return s->held_tok > c->work->P ? s->held_tok - c->work->P : 0;
}

static void forget(kv *c, int64_t agent) {
    sequence *s = &c->seq[agent];
    if (s->counted) {
        resident_add(c, -private_tok(c, s));
        c->sequences_n--;
    }
    *s = (sequence){.slot = s->slot};
}

static void hold(kv *c, int64_t agent, int64_t tok) {
    sequence *s = &c->seq[agent];
    int64_t before = s->counted ? private_tok(c, s) : 0;
    s->held_tok = tok;
    if (!s->counted) c->sequences_n++;
    s->counted = true;
    if (c->sequences_n > c->peak_sequences) c->peak_sequences = c->sequences_n;
    resident_add(c, private_tok(c, s) - before);
}

/* ---- slots ---- */

/* The slot changes hands: its former owner's history is gone, the prefix that all prompts begin
 * with is not. */
static void evict_owner(kv *c, slot *s) {
    if (s->owner < 0) return;
    s->left_tok = c->seq[s->owner].held_tok >= c->work->P ? c->work->P : 0;
    forget(c, s->owner);
    s->owner = -1;
}

static int64_t pick_slot(const kv *c, int64_t agent) {
    if (c->slots_n == c->work->K)
        return c->slots[agent].busy ? -1 : agent; /* one for each, no need to look */
    int64_t pick = -1;
    for (int64_t i = 0; i < c->slots_n; i++) {
        const slot *s = &c->slots[i];
        if (s->busy) continue;
        if (s->owner == agent) return i;
        if (pick < 0 || s->used_at < c->slots[pick].used_at) pick = i;
    }
    return pick;
}

bool kv_take_slot(kv *c, int64_t agent) {
    int64_t pick = pick_slot(c, agent);
    if (pick < 0) return false;
    slot *s = &c->slots[pick];
    s->busy = true;
    c->seq[agent].slot = pick;
    if (s->owner != agent && c->arm->reuse == REUSE_PER_SLOT) evict_owner(c, s);
    return true;
}

void kv_release_slot(kv *c, int64_t agent) {
    sequence *s = &c->seq[agent];
    assert(s->slot >= 0);
    slot *sl = &c->slots[s->slot];
    sl->busy = false;
    sl->used_at = ++c->clock;
    sl->owner = agent;
    s->slot = -1;
    if (c->arm->reuse == REUSE_NONE) forget(c, agent);
}

/* ---- reuse ---- */

/* Leading tokens of the agent's prompt that the cache holds for it, before blocks are counted. */
static int64_t held_for(const kv *c, int64_t agent, bool *foreign) {
    const sequence *s = &c->seq[agent];
    int64_t P = c->work->P, own = s->held_tok + s->unbooked_tok;
    *foreign = false;
    switch (c->arm->reuse) {
    case REUSE_NONE:
        return 0;
    case REUSE_SHARED:
        if (own >= P) return own;
        *foreign = c->prefix_sights >= c->arm->cold_sights_n;
        return *foreign ? P : own;
    case REUSE_PER_SLOT:
        if (c->slots[s->slot].owner == agent) return own;
        *foreign = true;
        return c->slots[s->slot].left_tok;
    }
    return 0;
}

kv_match kv_lookup(const kv *c, int64_t agent, int64_t prompt_tok) {
    assert(c->seq[agent].slot >= 0);
    bool foreign;
    int64_t P = c->work->P, have = held_for(c, agent, &foreign);
    /* an engine must run at least one token to get logits; the published forms do not ask for it */
    int64_t most = c->arm->reuse_last_token ? prompt_tok : prompt_tok - 1;
    if (have > most) have = most;
    have -= have % c->arm->block_tok;
    kv_match m = {.reused_tok = have, .reused_cross_tok = foreign ? have : 0};
    m.prefix_tok = have < P ? P - have : 0;
    m.own_tok = prompt_tok - have - m.prefix_tok;
    return m;
}

void kv_book_prompt(kv *c, int64_t agent, int64_t prompt_tok) {
    sequence *s = &c->seq[agent];
    c->slots[s->slot].owner = agent;
    bool computed_prefix =
        s->held_tok + s->unbooked_tok < c->work->P && c->prefix_sights < c->arm->cold_sights_n;
    if (c->arm->reuse == REUSE_SHARED && computed_prefix && c->prefix_sights++ == 0)
        resident_add(c, c->work->P);
    s->unbooked_tok = 0;
    hold(c, agent, prompt_tok);
}

void kv_book_decode(kv *c, int64_t agent, int64_t n_tok) {
    sequence *s = &c->seq[agent];
    if (c->book_at_prompt)
        s->unbooked_tok += n_tok;
    else
        hold(c, agent, s->held_tok + n_tok);
}

int64_t kv_resident_tok(const kv *c) {
    return c->resident_tok;
}

int64_t kv_peak_tok(const kv *c) {
    return c->peak_tok;
}

int64_t kv_peak_sequences(const kv *c) {
    return c->peak_sequences;
}
