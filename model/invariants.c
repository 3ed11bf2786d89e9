#include "invariants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A catalogue's TFLOPS are known to about 8 %, a printed rate to its digits: excess within it
 * proves nothing. */
static const double CEILING_SLACK = 1.08;
static const double FLOOR_SLACK = 0.95;
static const double SAME_RATE_FRAC = 0.005;

#define SAY(r, ...) snprintf((r)->why, sizeof(r)->why, __VA_ARGS__)

static void numbers(rule_result *r, double expected, double found, const char *unit) {
    r->expected = expected;
    r->found = found;
    r->unit = unit;
}

static double s_of(int64_t ns) {
    return (double)ns / 1e9;
}

/* Time terms of an arm that somebody declared. */
static bool prefill_declared(const arm_result *a) {
    return cost_assumes(a->cost, TERM_PREFILL_TOK_S) || cost_assumes(a->cost, TERM_DELTA_PREFILL_S);
}

static bool decode_declared(const arm_result *a) {
    return cost_assumes(a->cost, TERM_DECODE_TOK_S) || cost_assumes(a->cost, TERM_DECODE_GAIN_CARD);
}

static bool memory_declared(const arm_result *a) {
    static const term TERMS[] = {TERM_WEIGHTS_BYTES, TERM_OVERHEAD_BYTES, TERM_KV_BYTES_PER_TOK,
                                 TERM_RECURRENT_STATE_BYTES};
    for (size_t i = 0; i < sizeof TERMS / sizeof *TERMS; i++)
        if (cost_assumes(a->cost, TERMS[i])) return true;
    return false;
}

static void broken(rule_result *r, bool by_assumption) {
    r->outcome = by_assumption ? RULE_BROKEN_DECLARED : RULE_BROKEN;
}

/* ---- engine rules ---- */

static void check_wall(const arm_result *a, const projection *p, rule_result *r) {
    (void)p;
    int64_t last = 0, busy = a->sim.prefill_ns + a->sim.decode_ns + a->sim.other_ns;
    for (int64_t i = 0; i < a->sim.turns_n; i++)
        if (a->sim.turns[i].done_ns > last) last = a->sim.turns[i].done_ns;
    int64_t tail = cost_constant_ns(a->cost, false); /* a declared event after the last token */
    if (a->sim.wall_ns != last + tail || busy + a->sim.idle_ns != a->sim.wall_ns ||
        a->sim.idle_ns < 0)
        broken(r, false);
    const assumption *wait = cost_assumes(a->cost, TERM_QUEUE_WAIT_IN_WALL);
    if (wait) {
        broken(r, true);
        SAY(r,
            "the wall-clock contains %.1f s of client queue wait, which is already in TTFT: "
            "counted twice",
            s_of(cost_constant_of_ns(a->cost, wait)));
        numbers(r, 0, s_of(cost_constant_of_ns(a->cost, wait)), "s");
        return;
    }
    numbers(r, s_of(busy + a->sim.idle_ns), s_of(a->sim.wall_ns), "s");
    SAY(r, "busy %.6f s + idle %.6f s = wall %.6f s, the end of the last event", s_of(busy),
        s_of(a->sim.idle_ns), s_of(a->sim.wall_ns));
}

static void check_evidence(const arm_result *a, const projection *p, rule_result *r) {
    (void)p;
    int64_t constants = cost_constant_ns(a->cost, true) + cost_constant_ns(a->cost, false);
    if (a->sim.other_ns - a->sim.host_ns != constants) {
        broken(r, false);
        SAY(r, "%.6f s of device time have no source",
            s_of(a->sim.other_ns - a->sim.host_ns - constants));
        return;
    }
    int64_t bare_ns = 0;
    for (size_t i = 0; i < a->arm->assume_n; i++)
        if (!a->arm->assume[i].source && a->arm->assume[i].what == TERM_CONSTANT_S)
            bare_ns += cost_constant_of_ns(a->cost, &a->arm->assume[i]);
    if (bare_ns > 0) {
        broken(r, true);
        numbers(r, 0, s_of(bare_ns), "s");
        SAY(r, "constant_s adds %.1f s to the wall-clock and names no evidence", s_of(bare_ns));
        return;
    }
    SAY(r, "every second is priced by the card or by a declared assumption with a source");
}

static void check_queue(const arm_result *a, const projection *p, rule_result *r) {
    (void)p;
    double wait_s = 0;
    for (int64_t i = 0; i < a->sim.turns_n; i++) {
        const turn_record *t = &a->sim.turns[i];
        wait_s += s_of(t->start_ns - t->send_ns);
        if (t->start_ns < t->send_ns || t->first_ns < t->start_ns || t->done_ns < t->first_ns)
            broken(r, false);
    }
    if (a->sim.prefill_ns + a->sim.decode_ns + a->sim.other_ns > a->sim.wall_ns) broken(r, false);
    SAY(r, "%.3f s of queue wait (summed over turns) stand in TTFT and in no busy time", wait_s);
}

/* The warm-up computes it, and so does every agent whose slot it does not reach. */
static int64_t expected_warm_evals(const arm *a, const workload *w) {
    if (a->reuse == REUSE_NONE) return 1 + w->K * w->H;
    return a->warm == WARM_FIRST_SLOT ? w->K : 1;
}

static int64_t expected_prefix_evals(const arm_result *a, const workload *w) {
    if (w->P == 0) return 0;
    if (w->P <= a->arm->block_tok) return -1; /* too short to be found again as a whole */
    if (a->arm->warm != WARM_NONE) return expected_warm_evals(a->arm, w);
    if (a->arm->reuse == REUSE_NONE) return w->K * w->H;
    if (a->arm->reuse == REUSE_PER_SLOT) return a->arm->slots_n >= w->K ? w->K : -1;
    return a->arm->comers == COMERS_WAIT && a->arm->cold_sights_n == 1 ? 1 : -1;
}

/* Of a warm-up's prefix, what no agent finds: all of it without reuse, and the last token where the
 * agent that comes first presents the prefix alone. It is presented by the warm-up itself. */
static int64_t warm_only_tok(const arm_result *a, const workload *w) {
    if (a->arm->warm == WARM_NONE || w->P == 0) return 0;
    if (a->arm->reuse == REUSE_NONE) return w->P;
    int64_t first = 0;
    for (int64_t k = 1; k < w->K && a->arm->warm != WARM_FIRST_SLOT; k++)
        if (a->sim.turns[k * w->H].start_ns < a->sim.turns[first * w->H].start_ns) first = k;
    int64_t most = workload_agent_prompt_tok(w, first, 1) - 1;
    return w->P > most ? w->P - most : 0;
}

static void check_tokens(const arm_result *a, const projection *p, rule_result *r) {
    const workload *w = &p->scenario->work;
    int64_t output = 0, presented = workload_presented_tok(w) + warm_only_tok(a, w);
    for (int64_t k = 0; k < w->K; k++)
        for (int64_t t = 1; t <= w->H; t++) output += workload_out_tok(w, k, t);
    int64_t evals = expected_prefix_evals(a, w);
    bool ok = a->sim.presented_tok == presented &&
              a->sim.reused_tok + a->sim.computed_tok == presented && a->sim.output_tok == output &&
              a->sim.computed_tok == a->sim.prefill_tok &&
              (evals < 0 || a->sim.prefix_evals == evals);
    if (!ok) broken(r, false);
    SAY(r,
        "presented %lld = reused %lld + computed %lld, which the device prefilled; %lld output "
        "tokens; %lld prefix evaluations",
        (long long)presented, (long long)a->sim.reused_tok, (long long)a->sim.computed_tok,
        (long long)a->sim.output_tok, (long long)a->sim.prefix_evals);
    if (a->sim.computed_tok != a->sim.prefill_tok)
        SAY(r, "computed %lld prompt tokens, the device prefilled %lld",
            (long long)a->sim.computed_tok, (long long)a->sim.prefill_tok);
}

/* ---- plausibility rules ---- */

static void check_population(const arm_result *a, const projection *p, rule_result *r) {
    const arm_result *b = &p->arms[p->baseline];
    if (a->m.ttft_cold.n != b->m.ttft_cold.n || a->m.ttft_warm.n != b->m.ttft_warm.n)
        broken(r, false);
    SAY(r, "TTFT is compared cold with cold (%lld requests) and warm with warm (%lld)",
        (long long)a->m.ttft_cold.n, (long long)a->m.ttft_warm.n);
}

/* Bandwidth and arithmetic are checked apart: either alone can decide. */
static void check_roofline(const arm_result *a, const projection *p, rule_result *r) {
    (void)p;
    const card *c = a->arm->card;
    const sim_usage *u = &a->sim.used;
    double floor_s = cost_bandwidth_floor_s(a->cost);
    double step_s = u->step_shortest_batch_n > 0 ? s_of(u->step_shortest_ns) : HUGE_VAL;
    if (floor_s > 0 && step_s * CEILING_SLACK < floor_s) {
        broken(r, decode_declared(a));
        SAY(r, "a decode step of %.1f ms streams %.4g GB/s of weights, above the %.0f GB/s of %s",
            step_s * 1e3, (double)cost_memory(a->cost).weights_bytes / step_s / 1e9,
            c->hardware.mem_bw_bytes_s / 1e9, c->hardware.chip);
        return;
    }
    /* two operations a parameter and token; attention comes on top */
    bool can = c->hardware.fp16_flop_s > 0 && c->params > 0 && u->prefill_fastest_tok > 0;
    double flop_s =
        can ? 2 * (double)c->params * (double)u->prefill_fastest_tok / s_of(u->prefill_fastest_ns)
            : 0;
    if (can && flop_s > c->hardware.fp16_flop_s * CEILING_SLACK)
        broken(r, prefill_declared(a));
    else if (!can || floor_s <= 0 || flop_s > c->hardware.fp16_flop_s)
        r->outcome = RULE_CANNOT_TELL;
    if (can) numbers(r, c->hardware.fp16_flop_s / 1e12, flop_s / 1e12, "TFLOP/s");
    if (can)
        SAY(r, "prefill of %lld tokens in %.1f ms is %.3g TFLOP/s, the ceiling of %s is %.3g",
            (long long)u->prefill_fastest_tok, s_of(u->prefill_fastest_ns) * 1e3, flop_s / 1e12,
            c->hardware.chip, c->hardware.fp16_flop_s / 1e12);
    else
        SAY(r, "card %s does not state %s", c->id,
            c->params == 0                 ? "params"
            : c->hardware.fp16_flop_s <= 0 ? "fp16_flop_s"
                                           : "mem_bw_bytes_s or weights_bytes");
}

static void check_floor(const arm_result *a, const projection *p, rule_result *r) {
    (void)p;
    double measured_s = cost_measured_floor_s(a->cost),
           bandwidth_s = cost_bandwidth_floor_s(a->cost);
    const sim_usage *u = &a->sim.used;
    double got_s = s_of(u->prefill_shortest_ns),
           floor_s = measured_s > 0 ? measured_s : bandwidth_s;
    if (u->prefill_shortest_tok == 0) {
        SAY(r, "no prompt token was computed");
        return;
    }
    if (floor_s <= 0) {
        r->outcome = RULE_CANNOT_TELL;
        SAY(r, "no B = 1 decode point and no memory bandwidth on the card");
        return;
    }
    numbers(r, floor_s * 1e3, got_s * 1e3, "ms");
    if (got_s < floor_s * FLOOR_SLACK) broken(r, prefill_declared(a));
    SAY(r,
        "shortest prefill %.1f ms (%lld tokens); one pass over the weights: %.1f ms measured (B = "
        "1), %.1f ms by bandwidth",
        got_s * 1e3, (long long)u->prefill_shortest_tok, measured_s * 1e3, bandwidth_s * 1e3);
}

/* Declared values beside what the card says of the same thing. Returns how many differ; appends
 * them to `text`. */
static int differing(const arm_result *a, const term *terms, size_t n, char *text, size_t cap) {
    int found = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const assumption *d = cost_assumes(a->cost, terms[i]);
        double card_value = cost_card_value(a->cost, terms[i]);
        if (!d || card_value <= 0 || fabs(d->value / card_value - 1) <= SAME_RATE_FRAC) continue;
        size_t at = strlen(text);
        snprintf(text + at, cap - at, "%s%s %.10g declared, %.10g on the card", found ? "; " : "",
                 TERM_NAMES[terms[i]], d->value, card_value);
        found++;
    }
    return found;
}

static void check_card(const arm_result *a, const projection *p, rule_result *r) {
    static const term TERMS[] = {TERM_PREFILL_TOK_S, TERM_DECODE_TOK_S};
    (void)p;
    char text[300];
    if (differing(a, TERMS, sizeof TERMS / sizeof *TERMS, text, sizeof text) > 0) {
        broken(r, true);
        SAY(r, "%s", text);
        return;
    }
    SAY(r, "rates used are those of card %s", a->arm->card->id);
}

static void check_memory(const arm_result *a, const projection *p, rule_result *r) {
    static const term TERMS[] = {TERM_KV_BYTES_PER_TOK, TERM_WEIGHTS_BYTES};
    (void)p;
    char text[220], over[160];
    const memory_use *m = &a->m.memory;
    bool differ = differing(a, TERMS, sizeof TERMS / sizeof *TERMS, text, sizeof text) > 0;
    memory_fit_say(a, over, sizeof over);
    int64_t kv =
        m->kv_reserved_bytes > m->kv_resident_bytes ? m->kv_reserved_bytes : m->kv_resident_bytes;
    if (m->peak_bytes != m->weights_bytes + m->overhead_bytes + kv + m->recurrent_bytes) {
        broken(r, false);
    } else if (differ || a->fit.outcome == MEMORY_TOO_MUCH) {
        broken(r, differ || memory_declared(a));
        SAY(r, "%s%s%s", text, differ && over[0] ? "; " : "", over);
        return;
    } else if (a->fit.outcome == MEMORY_CANNOT_TELL) {
        r->outcome = RULE_CANNOT_TELL;
        SAY(r, "%s", over);
        return;
    }
    SAY(r, "peak = weights + overhead + KV + recurrent state, KV bytes per token as the "
           "architecture says");
}

/* ---- the table ---- */

typedef void check_fn(const arm_result *a, const projection *p, rule_result *r);

static const struct {
    rule_id id;
    check_fn *check; /* NULL: needs several runs */
} CHECKS[RULES_N] = {
    {R_WALL, check_wall},
    {R_EVIDENCE, check_evidence},
    {R_QUEUE, check_queue},
    {R_TOKENS, check_tokens},
    {R_POPULATION, check_population},
    {R_ROOFLINE, check_roofline},
    {R_FLOOR, check_floor},
    {R_CARD, check_card},
    {R_MEMORY, check_memory},
    {R_MONO, NULL},
    {R_DETERMINISM, NULL},
};

void invariants_check_arm(const projection *p, size_t arm_at, rule_result out[RULES_N]) {
    for (size_t i = 0; i < RULES_N; i++) {
        out[i] = (rule_result){.rule = &RULES[CHECKS[i].id], .outcome = RULE_HOLDS};
        if (CHECKS[i].check) {
            CHECKS[i].check(&p->arms[arm_at], p, &out[i]);
            out[i].arm = p->arms[arm_at].arm->name;
        } else {
            out[i].outcome = RULE_NEEDS_MORE_RUNS;
            SAY(&out[i], "compares several runs; the property tests do");
        }
    }
}

void invariants_check(const projection *p, rule_result out[RULES_N]) {
    for (size_t a = 0; a < p->arms_n; a++) {
        rule_result one[RULES_N];
        invariants_check_arm(p, a, one);
        for (size_t i = 0; i < RULES_N; i++)
            if (a == 0 || one[i].outcome > out[i].outcome) out[i] = one[i];
    }
}

static void add_ids(const rule_result r[RULES_N], outcome which, char *out, size_t cap) {
    const char *sep = " (";
    for (size_t i = 0; i < RULES_N; i++) {
        if (r[i].outcome != which) continue;
        size_t n = strlen(out);
        snprintf(out + n, cap - n, "%s%s", sep, r[i].rule->id);
        sep = ", ";
    }
    size_t n = strlen(out);
    if (sep[0] == ',') snprintf(out + n, cap - n, ")");
}

void invariants_summary(const rule_result r[RULES_N], char *out, size_t cap) {
    static const struct {
        outcome which;
        const char *words;
        const char *before;
    } PARTS[] = {{RULE_BROKEN_DECLARED, "broken by declared assumptions", ", "},
                 {RULE_BROKEN, "BROKEN", ", "},
                 {RULE_CANNOT_TELL, "cannot tell", ", "},
                 {RULE_NEEDS_MORE_RUNS, "not decidable from one run", "; "}};
    int count[RULE_BROKEN + 1] = {0};
    for (size_t i = 0; i < RULES_N; i++) count[r[i].outcome]++;
    snprintf(out, cap, "%d checked: %d hold", (int)RULES_N - count[RULE_NEEDS_MORE_RUNS],
             count[RULE_HOLDS]);
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        if (count[PARTS[i].which] == 0) continue;
        size_t n = strlen(out);
        snprintf(out + n, cap - n, "%s%d %s", PARTS[i].before, count[PARTS[i].which],
                 PARTS[i].words);
        add_ids(r, PARTS[i].which, out, cap);
    }
}
