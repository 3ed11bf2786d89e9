#include "kv.h"

#include <criterion/criterion.h>

static arena *mem;

static void set_up(void) {
    mem = arena_new(64 * 1024 * 1024);
}

static void tear_down(void) {
    arena_free(mem);
}

TestSuite(kv, .init = set_up, .fini = tear_down);

/* An idealised engine (the last token of a turn is cached too) with token granularity, unless a
 * test says otherwise. */
static arm arm_of(prefix_reuse reuse, int64_t slots_n) {
    return (arm){.name = "a",
                 .reuse = reuse,
                 .reuse_last_token = true,
                 .slots_n = slots_n,
                 .block_tok = 1,
                 .cold_sights_n = 1};
}

/* The first document's session: 4 agents, 20 turns, 4,096 shared tokens, 128 in and 64 out a turn.
 */
static const workload HEAD_TO_HEAD = {.K = 4,
                                      .H = 20,
                                      .P = 4096,
                                      .turn_delta_in_tok = 128,
                                      .turn_out_tok = 64,
                                      .shape = SHAPE_DELTA_FIRST};
/* The fleet document's: 5 agents, 200 turns, decode 20, result 12, the first turn without a result.
 */
static const workload FLEET = {.K = 5,
                               .H = 200,
                               .P = 2048,
                               .turn_delta_in_tok = 12,
                               .turn_out_tok = 20,
                               .shape = SHAPE_RESULT_AFTER};

/* One whole turn of an agent; every output token is decoded into the cache. */
static kv_match turn(kv *c, int64_t agent, int64_t prompt_tok, int64_t out_tok) {
    cr_assert(kv_take_slot(c, agent));
    kv_match m = kv_lookup(c, agent, prompt_tok);
    cr_assert_eq(m.reused_tok + m.prefix_tok + m.own_tok, prompt_tok,
                 "presented = reused + computed");
    cr_assert(m.reused_tok >= 0 && m.prefix_tok >= 0 && m.own_tok >= 0);
    cr_assert_leq(m.reused_cross_tok, m.reused_tok);
    kv_book_prompt(c, agent, prompt_tok);
    kv_book_decode(c, agent, out_tok);
    kv_release_slot(c, agent);
    return m;
}

/* Computed tokens of a whole session, the agents' turns one after the other. The prompt is summed
 * here, turn by turn. */
static int64_t computed_of(const arm *a, const workload *w) {
    kv *c = kv_new(a, w, false, mem);
    int64_t computed = 0, prompt = w->P;
    for (int64_t t = 0; t < w->H; t++) {
        if (w->shape == SHAPE_DELTA_FIRST || t > 0) prompt += w->turn_delta_in_tok;
        for (int64_t k = 0; k < w->K; k++) {
            kv_match m = turn(c, k, prompt, w->turn_out_tok);
            computed += m.prefix_tok + m.own_tok;
        }
        prompt += w->turn_out_tok;
    }
    return computed;
}

/* The three figures that the fleet document prints. */
Test(kv, fleet_computed_tokens) {
    arm none = arm_of(REUSE_NONE, 5), own = arm_of(REUSE_PER_SLOT, 5),
        shared = arm_of(REUSE_SHARED, 5);
    cr_assert_eq(computed_of(&none, &FLEET), 5232000);
    cr_assert_eq(computed_of(&own, &FLEET), 22180);
    cr_assert_eq(computed_of(&shared, &FLEET), 13988);
}

/* Shared: P + K H Din; per slot: K P + K H Din; none: all that is presented. */
Test(kv, head_to_head_computed_tokens) {
    arm none = arm_of(REUSE_NONE, 4), own = arm_of(REUSE_PER_SLOT, 4),
        shared = arm_of(REUSE_SHARED, 4);
    cr_assert_eq(computed_of(&none, &HEAD_TO_HEAD), 483840);
    cr_assert_eq(computed_of(&own, &HEAD_TO_HEAD), 4 * 4096 + 4 * 20 * 128);
    cr_assert_eq(computed_of(&shared, &HEAD_TO_HEAD), 4096 + 4 * 20 * 128);
}

/* Real engines: the last sampled token is not in the cache, so a warm turn computes Din + 1. */
Test(kv, last_token_is_computed_again) {
    static const prefix_reuse POLICIES[] = {REUSE_PER_SLOT, REUSE_SHARED};
    for (size_t i = 0; i < 2; i++) {
        arm a = arm_of(POLICIES[i], 4);
        a.reuse_last_token = false;
        kv *c = kv_new(&a, &HEAD_TO_HEAD, false, mem);
        turn(c, 0, 4096 + 128, 63); /* 64 tokens out, 63 of them decoded into the cache */
        kv_match m = turn(c, 0, 4096 + 128 + 64 + 128, 63);
        cr_assert_eq(m.own_tok, 129, "policy %zu", i);
        cr_assert_eq(m.prefix_tok, 0, "policy %zu", i);
    }
}

/* Logits need at least one computed token, even when the whole prompt is held. */
Test(kv, a_prompt_that_is_held_whole) {
    workload w = {.K = 2, .H = 2, .P = 100, .turn_out_tok = 1};
    arm a = arm_of(REUSE_SHARED, 2);
    a.reuse_last_token = false;
    kv *c = kv_new(&a, &w, false, mem);
    turn(c, 0, 100, 0);
    kv_match engine = turn(c, 1, 100, 0);
    cr_assert_eq(engine.reused_tok, 99);
    cr_assert_eq(engine.prefix_tok + engine.own_tok, 1);
    a.reuse_last_token = true;
    kv_match published = turn(c, 1, 100, 0);
    cr_assert_eq(published.reused_tok, 100);
}

Test(kv, none_keeps_nothing) {
    arm a = arm_of(REUSE_NONE, 2);
    kv *c = kv_new(&a, &HEAD_TO_HEAD, false, mem);
    for (int i = 0; i < 3; i++) {
        kv_match m = turn(c, 0, 4224, 64);
        cr_assert_eq(m.reused_tok, 0);
        cr_assert_eq(m.prefix_tok, 4096);
        cr_assert_eq(m.own_tok, 128);
        cr_assert_eq(kv_resident_tok(c), 0);
    }
    cr_assert_eq(kv_peak_tok(c), 4224 + 64);
    cr_assert_eq(kv_peak_sequences(c), 1);
}

Test(kv, shared_prefix_is_computed_once_and_held_once) {
    arm a = arm_of(REUSE_SHARED, 4);
    kv *c = kv_new(&a, &HEAD_TO_HEAD, false, mem);
    kv_match first = turn(c, 2, 4224, 64), other = turn(c, 0, 4224, 64),
             again = turn(c, 2, 4416, 64);
    cr_assert_eq(first.prefix_tok, 4096);
    cr_assert_eq(first.reused_cross_tok, 0);
    cr_assert_eq(other.prefix_tok, 0);
    cr_assert_eq(other.reused_tok, 4096);
    cr_assert_eq(other.reused_cross_tok, 4096, "computed by another agent");
    cr_assert_eq(again.reused_tok, 4224 + 64);
    cr_assert_eq(again.reused_cross_tok, 0, "its own history");
    cr_assert_eq(kv_resident_tok(c), 4096 + (4416 + 64 - 4096) + (4224 + 64 - 4096));
    cr_assert_eq(kv_peak_sequences(c), 2);
}

/* An engine that keeps a prefix only after it was computed n times: the (n + 1)th comer is the
 * first to find it. */
Test(kv, prefix_is_found_after_it_was_seen_often_enough) {
    for (int64_t sights = 1; sights <= 5; sights++) {
        workload w = {.K = 8, .H = 2, .P = 100, .turn_delta_in_tok = 5, .turn_out_tok = 5};
        arm a = arm_of(REUSE_SHARED, 8);
        a.cold_sights_n = sights;
        kv *c = kv_new(&a, &w, false, mem);
        for (int64_t k = 0; k < 8; k++)
            cr_assert_eq(turn(c, k, 105, 5).prefix_tok, k < sights ? 100 : 0, "sights %d agent %d",
                         (int)sights, (int)k);
        for (int64_t k = 0; k < 8; k++)
            cr_assert_eq(turn(c, k, 115, 5).own_tok, 5, "its own history is found at once");
    }
}

/* Reuse is block granular: floor(match / block) x block, for own history and for the prefix alike.
 */
Test(kv, blocks_are_floored) {
    for (int64_t block = 1; block <= 300; block++) {
        workload w = {.K = 2, .H = 4, .P = 100, .turn_delta_in_tok = 37, .turn_out_tok = 11};
        arm a = arm_of(REUSE_SHARED, 2);
        a.block_tok = block;
        kv *c = kv_new(&a, &w, false, mem);
        turn(c, 0, 137, 11);
        kv_match prefix = turn(c, 1, 137, 11), own = turn(c, 0, 137 + 11 + 37, 11);
        cr_assert_eq(prefix.reused_tok, 100 / block * block, "block %d", (int)block);
        cr_assert_eq(prefix.prefix_tok, 100 - 100 / block * block, "block %d", (int)block);
        cr_assert_eq(prefix.own_tok, 37, "block %d", (int)block);
        cr_assert_eq(own.reused_tok, 148 / block * block, "block %d", (int)block);
    }
}

/* Round robin of N + 1 agents over N slots under LRU: whoever comes next has just been evicted.
 * Only the shared prefix, left by the slot's former owner, is found. */
Test(kv, one_agent_too_many_always_misses) {
    for (int64_t n = 1; n <= 6; n++) {
        workload w = {.K = n + 1, .H = 30, .P = 1000, .turn_delta_in_tok = 50, .turn_out_tok = 20};
        arm a = arm_of(REUSE_PER_SLOT, n);
        kv *c = kv_new(&a, &w, false, mem);
        for (int64_t t = 1; t <= w.H; t++)
            for (int64_t k = 0; k <= n; k++) {
                kv_match m = turn(c, k, 1000 + 50 * t + 20 * (t - 1), 20);
                bool empty_slot = t == 1 && k < n;
                cr_assert_eq(m.reused_tok, empty_slot ? 0 : 1000, "N %d turn %d agent %d", (int)n,
                             (int)t, (int)k);
                cr_assert_eq(m.reused_cross_tok, m.reused_tok);
                cr_assert_eq(m.own_tok, 50 * t + 20 * (t - 1), "its own history is gone");
            }
        cr_assert_eq(kv_peak_sequences(c), n, "no more sequences than slots");
    }
}

/* With as many slots as agents nobody is evicted, in whatever order they come. */
Test(kv, a_slot_each_never_misses) {
    workload w = {.K = 5, .H = 40, .P = 64, .turn_delta_in_tok = 7, .turn_out_tok = 3};
    arm a = arm_of(REUSE_PER_SLOT, 5);
    kv *c = kv_new(&a, &w, false, mem);
    int64_t held[5] = {0};
    for (int i = 0; i < 200; i++) {
        int64_t k = (i * 7 + i / 5) % 5, prompt = (held[k] ? held[k] : 64) + 7;
        cr_assert_eq(turn(c, k, prompt, 3).reused_tok, held[k], "request %d", i);
        held[k] = prompt + 3;
    }
}

Test(kv, own_slot_first_then_least_recently_used) {
    workload w = {.K = 4, .H = 9, .P = 10, .turn_delta_in_tok = 5, .turn_out_tok = 1};
    arm a = arm_of(REUSE_PER_SLOT, 3);
    kv *c = kv_new(&a, &w, false, mem);
    turn(c, 0, 15, 1);
    turn(c, 1, 15, 1);
    turn(c, 2, 15, 1);
    cr_assert_eq(turn(c, 1, 21, 1).reused_tok, 16, "its own, though 0 was used longest ago");
    turn(c, 3, 15, 1); /* takes 0's slot */
    cr_assert_eq(turn(c, 2, 21, 1).reused_tok, 16, "2 was not touched");
    cr_assert_eq(turn(c, 1, 27, 1).reused_tok, 22, "nor was 1");
    cr_assert_eq(turn(c, 0, 21, 1).reused_tok, 10, "0 was evicted: the prefix only");
    cr_assert_eq(turn(c, 3, 21, 1).reused_tok, 10,
                 "0 took the slot of 3, least recently used by then");
}

Test(kv, all_slots_busy) {
    workload w = {.K = 3, .H = 1, .P = 10, .turn_delta_in_tok = 5, .turn_out_tok = 1};
    arm a = arm_of(REUSE_PER_SLOT, 2);
    kv *c = kv_new(&a, &w, false, mem);
    cr_assert(kv_take_slot(c, 0));
    cr_assert(kv_take_slot(c, 1));
    cr_assert_not(kv_take_slot(c, 2));
    kv_book_prompt(c, 1, 15);
    kv_release_slot(c, 1);
    cr_assert(kv_take_slot(c, 2));
    cr_assert_eq(kv_lookup(c, 2, 15).reused_tok, 10);
}

/* Peak of resident tokens as the first document counts it: H deltas but only H - 1 outputs of each
 * agent. */
Test(kv, booking_at_the_prompt_leaves_out_the_last_output) {
    static const prefix_reuse POLICIES[] = {REUSE_PER_SLOT, REUSE_SHARED};
    for (size_t i = 0; i < 2; i++)
        for (int book = 0; book < 2; book++) {
            const workload *w = &HEAD_TO_HEAD;
            arm a = arm_of(POLICIES[i], 4);
            kv *c = kv_new(&a, w, book, mem);
            for (int64_t t = 1; t <= w->H; t++)
                for (int64_t k = 0; k < w->K; k++) {
                    kv_match m = turn(c, k, 4096 + 128 * t + 64 * (t - 1), 64);
                    if (t > 1) cr_assert_eq(m.own_tok, 128, "what is booked late is still reused");
                }
            int64_t prefixes = POLICIES[i] == REUSE_SHARED ? 1 : w->K,
                    outputs = book ? w->H - 1 : w->H;
            cr_assert_eq(kv_peak_tok(c), prefixes * 4096 + w->K * (w->H * 128 + outputs * 64));
        }
}

/* ---- a second, slower bookkeeping beside the cache, over random interleavings ---- */

enum { AGENTS = 7 };

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

typedef struct shadow {
    int64_t held[AGENTS];   /* tokens each agent has in the cache */
    int64_t prompt[AGENTS]; /* its next prompt */
    int place[AGENTS];      /* slot whose content is the agent's; -1: none */
    bool busy[AGENTS];      /* a turn runs */
    int slot_of_turn[AGENTS];
    int user[AGENTS]; /* per slot: whose content; -1: none */
    int age[AGENTS];  /* per slot: turns released since */
    bool prefix;      /* shared: somebody computed it */
} shadow;

/* Slots by the words of kv.h: the own one, else a never used one, else the least recently released
 * free one. */
static int shadow_pick(const shadow *s, int slots_n, int agent) {
    bool taken[AGENTS] = {false};
    for (int k = 0; k < AGENTS; k++)
        if (s->busy[k]) taken[s->slot_of_turn[k]] = true;
    if (s->place[agent] >= 0 && !taken[s->place[agent]]) return s->place[agent];
    int pick = -1;
    for (int i = 0; i < slots_n; i++)
        if (!taken[i] && (pick < 0 || s->age[i] > s->age[pick])) pick = i;
    return pick;
}

static int64_t shadow_resident(const shadow *s, prefix_reuse reuse, int64_t P) {
    int64_t sum = reuse == REUSE_SHARED && s->prefix ? P : 0;
    for (int k = 0; k < AGENTS; k++)
        if (s->held[k] > 0) sum += reuse == REUSE_SHARED ? s->held[k] - P : s->held[k];
    return sum;
}

static void begin(kv *c, shadow *s, const arm *a, int64_t P, int k, uint64_t seed) {
    int slot = shadow_pick(s, (int)a->slots_n, k);
    cr_assert_eq(kv_take_slot(c, k), slot >= 0, "seed %zu", (size_t)seed);
    if (slot < 0) return;
    int former = s->user[slot];
    int64_t left = former >= 0 && former != k ? P : 0;
    if (a->reuse == REUSE_PER_SLOT && former >= 0 && former != k) {
        s->held[former] = 0;
        s->place[former] = -1;
    }
    int64_t have = a->reuse == REUSE_NONE ? 0 : s->held[k] > 0 ? s->held[k] : 0;
    if (a->reuse == REUSE_PER_SLOT && have == 0) have = left;
    if (a->reuse == REUSE_SHARED && have == 0 && s->prefix) have = P;
    cr_assert_eq(kv_lookup(c, k, s->prompt[k]).reused_tok, have, "seed %zu agent %d", (size_t)seed,
                 k);
    s->busy[k] = true;
    s->slot_of_turn[k] = slot;
    s->user[slot] = k;
    s->place[k] = slot;
    s->held[k] = s->prompt[k];
    s->prefix = true;
    kv_book_prompt(c, k, s->prompt[k]);
}

static void end(kv *c, shadow *s, const arm *a, int k, int64_t out_tok) {
    kv_book_decode(c, k, out_tok);
    kv_release_slot(c, k);
    s->held[k] = a->reuse == REUSE_NONE ? 0 : s->held[k] + out_tok;
    s->prompt[k] += out_tok + 9;
    s->busy[k] = false;
    for (int i = 0; i < AGENTS; i++) s->age[i]++;
    s->age[s->slot_of_turn[k]] = 0;
}

static void run_beside(prefix_reuse reuse, int64_t slots_n, uint64_t seed) {
    workload w = {.K = AGENTS, .H = 1000, .P = 50, .turn_delta_in_tok = 9, .turn_out_tok = 30};
    arm a = arm_of(reuse, slots_n);
    kv *c = kv_new(&a, &w, false, mem);
    shadow s = {.prefix = false};
    int64_t peak = 0;
    for (int i = 0; i < AGENTS; i++) {
        s.place[i] = s.user[i] = -1;
        s.age[i] = 1 << 20; /* never used: older than anything */
        s.prompt[i] = 59;
    }
    for (uint64_t state = seed, op = 0; op < 400; op++) {
        int k = (int)(next(&state) % AGENTS);
        if (s.busy[k])
            end(c, &s, &a, k, (int64_t)(next(&state) % 30));
        else
            begin(c, &s, &a, 50, k, seed);
        int64_t resident = shadow_resident(&s, reuse, 50);
        cr_assert_eq(kv_resident_tok(c), resident, "policy %d seed %zu op %zu", (int)reuse,
                     (size_t)seed, (size_t)op);
        if (resident > peak) peak = resident;
        cr_assert_geq(kv_peak_tok(c), peak);
    }
}

Test(kv, resident_tokens_are_those_of_a_second_bookkeeping) {
    for (int reuse = REUSE_NONE; reuse <= REUSE_SHARED; reuse++)
        for (int64_t slots = 1; slots <= AGENTS; slots++)
            for (uint64_t seed = 1; seed <= 25; seed++)
                run_beside((prefix_reuse)reuse, slots, seed);
}

Test(kv, memory_short_gives_null) {
    arena *tiny = arena_new(300);
    arm a = arm_of(REUSE_SHARED, 1000);
    workload w = {.K = 1000, .H = 1, .P = 1};
    cr_assert_null(kv_new(&a, &w, false, tiny));
    arena_free(tiny);
}
