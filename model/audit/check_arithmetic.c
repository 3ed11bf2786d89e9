/* Printed figures that follow from other printed figures: ratios, identities, sums. */
#include "audit/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(auditor *a, const claim_figure *f) {
    const char *s = f->arm ? arena_printf(a->mem, "%s (%s)", f->name, f->arm) : f->name;
    return s ? s : f->name;
}

/* ---- ratios ---- */

/* What a printed per cent of two figures may mean: a share, a gain, a reduction. */
static iv percent_meaning(const ratio *r, iv share) {
    const quantity *q = &r->q;
    iv one = iv_exact(1, 0), over = iv_div(one, share);
    iv gain = iv_sub(share, one), cut = iv_sub(one, share);
    /* parts the other way round: a gain of a rate from two times */
    iv gain_over = iv_sub(over, one), cut_over = iv_sub(one, over);
    /* a name may call a share a reduction or a gain; more than the whole is none of either */
    bool said = r->reading_printed || (r->reading != READ_ANY && share.v > 1);
    const iv all[] = {said ? gain : share, gain, cut, said && over.ok ? gain_over : gain,
                      said && over.ok ? cut_over : gain};
    iv best = all[0];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (quantity_allows(q, all[i].lo, all[i].hi)) return all[i];
        if (fabs(all[i].v - q->v) < fabs(best.v - q->v)) best = all[i];
    }
    return best;
}

/* What else two parts may give: per device (the efficiency of a scaling), the other way round (a
 * speedup from new over old time), and, for parts of different kinds, in another multiple than the
 * base units (ms a token, dollars a million). */
static iv other_meaning(const ratio *r, iv v) {
    const claim_figure *f = r->num, *g = r->den;
    const char *const texts[] = {r->name, r->print};
    bool linear = false;
    for (size_t i = 0; i < 2; i++)
        linear |= words_have(texts[i], "efficiency|linear|per gpu|per device|per card");
    double devices = (double)f->gpus_n / (double)g->gpus_n;
    if (linear && devices != 1) return iv_scale(v, 1 / devices);
    iv over = iv_div(iv_exact(1, 0), v);
    if (r->q.u->dim == DIM_RATIO && f->q.u->dim == DIM_TIME && g->q.u->dim == DIM_TIME && over.ok &&
        quantity_allows(&r->q, over.lo, over.hi))
        return over;
    static const double MULTIPLES[] = {1e3,  1e-3,  1e6, 1e-6,    1e9,    1e-9,
                                       3600, 3.6e6, 60,  0x1p-20, 0x1p-30};
    for (size_t i = 0; f->q.u->dim != g->q.u->dim && r->q.u->dim == DIM_OTHER &&
                       i < sizeof MULTIPLES / sizeof *MULTIPLES;
         i++) {
        iv x = iv_scale(v, MULTIPLES[i]);
        if (quantity_allows(&r->q, x.lo, x.hi)) return x;
    }
    return v;
}

/* A ratio of two arms' computed tokens that does not follow may belong to another workload: one
 * whose turns bring another number of tokens. "" when none does. */
static const char *other_workload(auditor *a, const ratio *r) {
    enum { DELTA_MAX = 4096 };
    const claim *c = a->claim;
    const claim_arm *x = claim_arm_of(c, r->num->arm), *y = claim_arm_of(c, r->den->arm);
    if (!c->has_workload || !x || !y || !x->reuse_known || !y->reuse_known ||
        r->num->metric != METRIC_COMPUTED_TOK || r->den->metric != METRIC_COMPUTED_TOK)
        return "";
    workload w = c->work;
    for (w.turn_delta_in_tok = 1; w.turn_delta_in_tok <= DELTA_MAX; w.turn_delta_in_tok++) {
        double v = facts_policy_tok(&w, x->reuse, false) / facts_policy_tok(&w, y->reuse, false);
        if (!quantity_allows(&r->q, v, v) && !quantity_cut(&r->q, v)) continue;
        const char *s =
            arena_printf(a->mem, "; %s would be the ratio at %lld new tokens a turn, not %lld",
                         say_num(a, v, "x"), (long long)w.turn_delta_in_tok,
                         (long long)c->work.turn_delta_in_tok);
        return s ? s : "";
    }
    return "";
}

/* Two parts of one kind may be printed with different multiples; their ratio is in plain times. A
 * ratio of different kinds is in base units (tokens per second from tokens and ms). */
void check_ratios(auditor *a) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->ratios_n; i++) {
        const ratio *r = &c->ratios[i];
        iv v = iv_div(iv_figure(r->num), iv_figure(r->den));
        if (!v.ok) continue;
        if (r->q.bound && !(isfinite(v.lo) && isfinite(v.hi)))
            continue; /* of a bound: says nothing */
        bool percent = r->q.u->dim == DIM_FRAC;
        if (!quantity_allows(&r->q, v.lo, v.hi)) v = other_meaning(r, v);
        if (percent) v = percent_meaning(r, v);
        double scale = percent ? 100 : 1;
        const char *how = arena_printf(a->mem, "%s / %s = %s", say_in(a, r->num->q.v, r->num->q.u),
                                       say_in(a, r->den->q.v, r->den->q.u),
                                       say_num(a, v.v * scale, percent ? "%" : ""));
        if (!audit_follows(a, R_RATIO, "ratio", r->name, &r->q, v.v, v.lo, v.hi,
                           r->origin | v.origins, how ? how : ""))
            audit_add(a, other_workload(a, r));
    }
}

/* ---- identities ---- */

typedef struct identity {
    const char *check;
    rule_id rule;
    metric gives;
    iv (*value)(auditor *a, const claim_figure *f, const char **how);
} identity;

static const char *how2(auditor *a, const char *fmt, const char *x, const char *y) {
    char out[300];
    const char *p = strchr(fmt, '#'), *q = p ? strchr(p + 1, '#') : NULL;
    if (!p || !q) return fmt;
    snprintf(out, sizeof out, "%.*s%s%.*s%s%s", (int)(p - fmt), fmt, x, (int)(q - p - 1), p + 1, y,
             q + 1);
    const char *s = arena_strdup(a->mem, out);
    return s ? s : "";
}

static const char *num(auditor *a, iv x, const char *unit_name) {
    return say_num(a, x.v, unit_name);
}

static iv output_rate_of_wall(auditor *a, const claim_figure *f, const char **how) {
    iv tok = facts_run_output_tok(a->claim, f),
       wall = iv_figure(facts_beside(a->claim, f, METRIC_WALL));
    *how = how2(a, "# output tokens / # s of wall-clock", num(a, tok, ""), num(a, wall, ""));
    if (facts_output_is_limit(a->claim, f)) tok.lo = 0;
    return iv_div(tok, wall);
}

static iv decode_rate_of_time(auditor *a, const claim_figure *f, const char **how) {
    const claim_figure *n = facts_beside(a->claim, f, METRIC_OUTPUT_TOK),
                       *t = facts_beside(a->claim, f, METRIC_DECODE_TIME);
    iv r = iv_div(iv_figure(n), iv_figure(t));
    if (!r.ok) return r;
    /* the first token of each request may be the prefill's: n - requests in the decode time */
    const claim *c = a->claim;
    double requests = c->work.K > 0 && c->work.H > 0 ? (double)c->work.K * (double)c->work.H : 1;
    iv less = iv_div(iv_add(iv_figure(n), iv_exact(-requests, 0)), iv_figure(t));
    bool first_apart = !quantity_allows(&f->q, r.lo, r.hi) && less.ok && less.v > 0 &&
                       quantity_allows(&f->q, less.lo, less.hi) && (requests > 1 || n->q.v < 200);
    *how = how2(a, first_apart ? "# tokens behind each request's first / #" : "# tokens / #",
                say_num(a, first_apart ? n->q.v - requests : n->q.v, ""), say_s(a, t->q.v));
    return first_apart ? less : r;
}

static iv prefill_rate_of_time(auditor *a, const claim_figure *f, const char **how) {
    const claim_figure *t = facts_beside(a->claim, f, METRIC_PREFILL_TIME);
    const claim_figure *first = facts_beside(a->claim, f, METRIC_TTFT);
    const claim_figure *n = facts_beside(a->claim, f, METRIC_COMPUTED_TOK);
    if (!n) n = facts_beside(a->claim, f, METRIC_PROMPT_TOK);
    iv tok = iv_figure(n);
    if (!n && f->context_tok > 0) tok = iv_exact((double)f->context_tok, f->origin);
    iv r = iv_div(tok, iv_figure(t ? t : first));
    if (!t && r.ok) { /* a first token takes a little more than its prefill */
        r.lo *= 0.99, r.hi *= 1.01;
        if (!quantity_allows(&f->q, r.lo, r.hi)) return iv_none();
        t = first;
    }
    if (r.ok) *how = how2(a, "# tokens / #", num(a, tok, ""), say_s(a, t->q.v));
    return r;
}

/* Parts of a wall-clock that are printed beside it; prefill and decode have to be there. */
static iv wall_of_parts(auditor *a, const claim_figure *f, const char **how) {
    const claim *c = a->claim;
    const claim_figure *p = facts_beside(c, f, METRIC_PREFILL_TIME),
                       *d = facts_beside(c, f, METRIC_DECODE_TIME);
    iv sum = iv_add(iv_figure(p), iv_figure(d));
    if (!sum.ok || !p->arm != !f->arm || !d->arm != !f->arm) return iv_none();
    *how = how2(a, "prefill # + decode #", say_s(a, p->q.v), say_s(a, d->q.v));
    /* idle time and a server's own time are no error: then the sum is a lower bound */
    bool more = facts_beside(c, f, METRIC_QUEUE_TIME) || c->terms_n > 0 ||
                claim_number(c, "tool_latency_s tool_latency_ms tool_latency", 0) > 0 ||
                claim_number(c, "stagger_s start_stagger_s", 0) > 0;
    if (more) sum.hi = HUGE_VAL;
    return sum;
}

static iv mean_accepted(auditor *a, const claim_figure *f, const char **how) {
    iv acc = iv_figure(facts_beside(a->claim, f, METRIC_ACCEPTANCE));
    double block = claim_number(a->claim, "block_size block draft_block", 0),
           drafted = claim_number(a->claim, "draft_tokens num_speculative_tokens draft_n",
                                  block > 1 ? block - 1 : 0);
    if (drafted <= 0) return iv_none();
    *how = how2(a, "acceptance # x # drafted a round", num(a, acc, ""), say_num(a, drafted, ""));
    return iv_scale(acc, drafted);
}

/* A round emits its accepted tokens and one more; the prefill may have emitted one, and the last
 * round may end early. */
static iv generated_of_rounds(auditor *a, const claim_figure *f, const char **how) {
    iv rounds = iv_figure(facts_beside(a->claim, f, METRIC_ROUNDS)),
       mean = iv_figure(facts_beside(a->claim, f, METRIC_MEAN_ACCEPTED));
    iv r = iv_mul(rounds, iv_add(mean, iv_exact(1, 0)));
    *how =
        how2(a, "# rounds x (1 + # accepted), to one token", num(a, rounds, ""), num(a, mean, ""));
    r.lo -= 1;
    r.hi += 1;
    return r;
}

static const claim_figure *rate_beside(const claim *c, const claim_figure *f) {
    static const metric RATES[] = {METRIC_OUTPUT_RATE, METRIC_DECODE_RATE, METRIC_TOTAL_RATE};
    const claim_figure *g = facts_used(c, f);
    for (size_t i = 0; !g && i < sizeof RATES / sizeof *RATES; i++) {
        g = facts_beside(c, f, RATES[i]);
        if (g && !claim_same_arm(g->arm, f->arm)) g = NULL;
    }
    return g && g->q.u->dim == DIM_TOK_S ? g : NULL;
}

/* A figure that says which rate it uses was computed with that rate as printed. */
static iv rate_used(const claim *c, const claim_figure *f) {
    const claim_figure *g = rate_beside(c, f);
    if (!g) return iv_none();
    return facts_used(c, f) ? iv_exact(g->q.v, g->origin) : iv_figure(g);
}

static iv price_of(const claim *c, const claim_figure *f) {
    const claim_figure *p = facts_beside(c, f, METRIC_PRICE);
    return p ? iv_exact(p->q.v, p->origin) : iv_none();
}

static iv tok_per_money(auditor *a, const claim_figure *f, const char **how) {
    iv rate = rate_used(a->claim, f), price = price_of(a->claim, f);
    *how =
        how2(a, "# tok/s x 3600 / # an hour", num(a, rate, ""), say_num(a, price.v * 3600, "USD"));
    return iv_div(rate, price);
}

static iv money_per_tok(auditor *a, const claim_figure *f, const char **how) {
    iv rate = rate_used(a->claim, f), price = price_of(a->claim, f);
    *how = how2(a, "# an hour / (# tok/s x 3600)", say_num(a, price.v * 3600, "USD"),
                num(a, rate, ""));
    return iv_div(price, rate);
}

static iv reuse_fraction(auditor *a, const claim_figure *f, const char **how) {
    iv reused = iv_figure(facts_beside(a->claim, f, METRIC_REUSED_TOK)),
       prompt = iv_figure(facts_beside(a->claim, f, METRIC_PROMPT_TOK));
    *how = how2(a, "# reused / # prompt tokens", num(a, reused, ""), num(a, prompt, ""));
    return iv_div(reused, prompt);
}

static iv density(auditor *a, const claim_figure *f, const char **how) {
    iv n = facts_agents(a->claim, f),
       mem = iv_figure(facts_beside(a->claim, f, METRIC_MEMORY_BYTES));
    *how =
        how2(a, "# agents / #", num(a, n, ""), say_num(a, mem.v * f->q.u->scale, f->q.u->name + 7));
    return iv_div(n, mem);
}

static iv itl_of_rate(auditor *a, const claim_figure *f, const char **how) {
    const claim_figure *r = facts_beside(a->claim, f, METRIC_STREAM_RATE);
    iv n = facts_streams(a->claim, f);
    if (!r && (!n.ok || n.v == 1)) r = facts_beside(a->claim, f, METRIC_DECODE_RATE);
    if (!r || f->percentile_ppm || !claim_same_arm(r->arm, f->arm)) return iv_none();
    *how = how2(a, "# / # tok/s of one stream", "1", say_num(a, r->q.v, ""));
    return iv_div(iv_exact(1, 0), iv_figure(r));
}

/* Requests at once: what the cache has room for, or what latency and request rate imply. */
static iv concurrency(auditor *a, const claim_figure *f, const char **how) {
    static const char *const LIMIT = "max|maximum|peak|limit|target";
    const claim *c = a->claim;
    iv room = facts_kv_room_tok(c, f);
    if (room.ok && f->context_tok > 0) {
        *how = how2(a, "# tokens of cache / # tokens a request", num(a, room, ""),
                    say_num(a, (double)f->context_tok, ""));
        iv n = iv_scale(room, 1 / (double)f->context_tok);
        if (f->q.v == floor(f->q.v)) n.lo = fmin(n.lo, floor(n.v));
        return n;
    }
    const claim_figure *t = facts_beside(c, f, METRIC_LATENCY);
    if (words_have(f->name, LIMIT) || words_have(f->conditions, LIMIT) || !t || t->percentile_ppm)
        return iv_none();
    iv wall = iv_figure(facts_beside(c, f, METRIC_WALL)),
       rate = iv_div(iv_figure(facts_beside(c, f, METRIC_REQUESTS)), wall);
    if (!rate.ok) rate = iv_figure(facts_beside(c, f, METRIC_REQUEST_RATE));
    *how = how2(a, "# requests a second x # each", num(a, rate, ""), say_s(a, t->q.v));
    iv n = iv_mul(rate, iv_figure(t));
    n.lo *= 0.998; /* requests that were under way at the ends */
    n.hi *= 1.002;
    return n;
}

static iv input_rate(auditor *a, const claim_figure *f, const char **how) {
    iv tok = iv_figure(facts_beside(a->claim, f, METRIC_PROMPT_TOK)),
       wall = iv_figure(facts_beside(a->claim, f, METRIC_WALL));
    *how = how2(a, "# prompt tokens / # s", num(a, tok, ""), num(a, wall, ""));
    return iv_div(tok, wall);
}

/* Blocks of a cache times their size. */
static iv kv_room(auditor *a, const claim_figure *f, const char **how) {
    iv blocks = iv_figure(facts_beside(a->claim, f, METRIC_KV_BLOCKS));
    double size =
        claim_number(a->claim, "block_size_tokens tokens_per_block kv_block_size block_size", 0);
    *how = how2(a, "# blocks of # tokens", num(a, blocks, ""), say_num(a, size, ""));
    return size > 0 ? iv_scale(blocks, size) : iv_none();
}

static iv round_tok(auditor *a, const claim_figure *f, const char **how) {
    iv n = iv_figure(facts_beside(a->claim, f, METRIC_MEAN_ACCEPTED));
    iv tok = iv_add(n, iv_exact(1, 0));
    if (!tok.ok) {
        n = mean_accepted(a, f, how);
        tok = iv_add(n, iv_exact(1, 0));
        if (n.ok && quantity_allows(&f->q, n.lo, n.hi)) tok = n; /* counted without the target's */
    }
    *how = how2(a, "# accepted a round and one of the target itself#", num(a, n, ""), "");
    return tok;
}

static iv latency_of_parts(auditor *a, const claim_figure *f, const char **how) {
    const claim *c = a->claim;
    if (f->percentile_ppm) return iv_none(); /* percentiles do not add */
    const claim_figure *ttft = facts_beside(c, f, METRIC_TTFT), *itl = facts_tok_time(c, f);
    iv n = iv_div(iv_figure(facts_beside(c, f, METRIC_OUTPUT_TOK)),
                  iv_figure(facts_beside(c, f, METRIC_REQUESTS)));
    if (!n.ok) n = facts_output_tok(c, f);
    if (facts_output_is_limit(c, f)) n.lo = 1;
    iv gaps = iv_mul(iv_figure(itl), iv_add(n, iv_exact(-1, 0)));
    if (n.ok && n.v != floor(n.v)) { /* answers of several lengths: a mean times a mean */
        gaps.lo *= 0.8;
        gaps.hi *= 1.2;
    }
    iv r = iv_add(iv_figure(ttft), gaps);
    r.lo *= 0.9995; /* the end of a stream takes a moment */
    r.hi *= 1.0005;
    if (r.ok)
        *how = how2(a, "first token # + later tokens #", say_s(a, ttft->q.v), say_s(a, gaps.v));
    return r;
}

static iv request_rate(auditor *a, const claim_figure *f, const char **how) {
    iv n = iv_figure(facts_beside(a->claim, f, METRIC_REQUESTS)),
       wall = iv_figure(facts_beside(a->claim, f, METRIC_WALL));
    *how = how2(a, "# requests / # s", num(a, n, ""), num(a, wall, ""));
    return iv_div(n, wall);
}

static iv energy_per_tok(auditor *a, const claim_figure *f, const char **how) {
    iv p = iv_figure(facts_beside(a->claim, f, METRIC_POWER)), r = rate_used(a->claim, f);
    *how = how2(a, "# W / # tok/s", num(a, p, ""), num(a, r, ""));
    return iv_div(p, r);
}

static iv tok_per_energy(auditor *a, const claim_figure *f, const char **how) {
    iv p = iv_figure(facts_beside(a->claim, f, METRIC_POWER)), r = rate_used(a->claim, f);
    *how = how2(a, "# tok/s / # W", num(a, r, ""), num(a, p, ""));
    return iv_div(r, p);
}

static iv bandwidth_share(auditor *a, const claim_figure *f, const char **how) {
    bool unstated;
    const claim_chip *chip = facts_chip(a, f);
    const claim_figure *r = facts_beside(a->claim, f, METRIC_DECODE_RATE);
    iv bytes = facts_pass_bytes(a->claim, f, &unstated);
    if (!chip || chip->mem_bw_bytes_s <= 0 || !r || unstated) return iv_none();
    iv need = iv_mul(iv_figure(r), bytes);
    double ceiling = chip->mem_bw_bytes_s * (double)f->gpus_n;
    *how = how2(a, "# GB/s streamed of #", num(a, iv_scale(need, 1e-9), ""),
                say_num(a, ceiling / 1e9, "GB/s"));
    return iv_scale(need, 1 / ceiling);
}

static iv total_rate(auditor *a, const claim_figure *f, const char **how) {
    const claim *c = a->claim;
    iv out = facts_run_output_tok(c, f), in = iv_figure(facts_beside(c, f, METRIC_PROMPT_TOK)),
       wall = iv_figure(facts_beside(c, f, METRIC_WALL));
    iv all = iv_add(in, out);
    if (facts_output_is_limit(c, f)) all.lo = in.lo;
    *how = how2(a, "# prompt and output tokens / # s", num(a, all, ""), num(a, wall, ""));
    return iv_div(all, wall);
}

static const identity IDENTITIES[] = {
    {"rate", R_RATIO, METRIC_OUTPUT_RATE, output_rate_of_wall},
    {"rate", R_RATIO, METRIC_DECODE_RATE, decode_rate_of_time},
    {"rate", R_RATIO, METRIC_PREFILL_RATE, prefill_rate_of_time},
    {"rate", R_RATIO, METRIC_TOTAL_RATE, total_rate},
    {"wall", R_RATIO, METRIC_WALL, wall_of_parts},
    {"accepted", R_RATIO, METRIC_MEAN_ACCEPTED, mean_accepted},
    {"rounds", R_CONSISTENCY, METRIC_OUTPUT_TOK, generated_of_rounds},
    {"price", R_RATIO, METRIC_TOK_PER_MONEY, tok_per_money},
    {"price", R_RATIO, METRIC_MONEY_PER_TOK, money_per_tok},
    {"reuse", R_RATIO, METRIC_REUSE_FRAC, reuse_fraction},
    {"density", R_MEMORY, METRIC_DENSITY, density},
    {"rate", R_RATIO, METRIC_INPUT_RATE, input_rate},
    {"itl", R_RATIO, METRIC_ITL, itl_of_rate},
    {"itl", R_RATIO, METRIC_TPOT, itl_of_rate},
    {"room", R_CONSISTENCY, METRIC_KV_TOK, kv_room},
    {"concurrency", R_RATIO, METRIC_CONCURRENCY, concurrency},
    {"accepted", R_RATIO, METRIC_ROUND_TOK, round_tok},
    {"latency", R_RATIO, METRIC_LATENCY, latency_of_parts},
    {"requests", R_RATIO, METRIC_REQUEST_RATE, request_rate},
    {"energy", R_RATIO, METRIC_ENERGY_PER_TOK, energy_per_tok},
    {"energy", R_RATIO, METRIC_TOK_PER_ENERGY, tok_per_energy},
    {"utilisation", R_RATIO, METRIC_UTILISATION, bandwidth_share},
};

/* Tokens per dollar that follow from tokens a second times 3,600 over dollars an hour are in the
 * unit that they claim. */
static void derived_unit(auditor *a, const claim_figure *f) {
    if (f->metric == METRIC_TOK_PER_ENERGY)
        audit_say(a, R_UNITS, "energy", AUDIT_PASS, name_of(a, f), f->origin,
                  "tokens a second over watts gives %s: tokens per joule", f->q.u->name);
    if (f->metric != METRIC_TOK_PER_MONEY) return;
    audit_say(a, R_UNITS, "price", AUDIT_PASS, name_of(a, f), f->origin,
              "rate x 3,600 s / price of an hour gives %s as the unit says", f->q.u->name);
}

void check_identities(auditor *a) {
    const claim *c = a->claim;
    size_t hold = 0, fail = 0;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        for (size_t k = 0; k < sizeof IDENTITIES / sizeof *IDENTITIES; k++) {
            const identity *id = &IDENTITIES[k];
            const char *how = "";
            if (id->gives != f->metric) continue;
            iv v = id->value(a, f, &how);
            if (!v.ok || !isfinite(v.v)) continue;
            bool ok = audit_follows(a, id->rule, id->check, name_of(a, f), &f->q, v.v, v.lo, v.hi,
                                    v.origins | f->origin, how);
            if (ok) derived_unit(a, f);
            hold += ok;
            fail += !ok;
        }
    }
    if (hold < 2 || fail > 0) return;
    finding *say =
        audit_say(a, R_CONSISTENCY, "identities", AUDIT_PASS, c->id, ORIGIN_PRINTED,
                  "%zu printed figures follow from others beside them, none does not", hold);
    audit_numbers(say, (double)hold, (double)hold, "figures");
}

/* ---- printed sums ---- */

static iv sum_for(const claim *c, const formula *fm, const claim_figure *of) {
    iv sum = iv_exact(0, fm->origin);
    for (size_t i = 0; i < fm->parts_n; i++) {
        const sum_part *p = &fm->parts[i];
        iv part = iv_scale(iv_figure(p->figure), p->times);
        if (p->times_agents) part = iv_mul(part, facts_agents(c, of));
        sum = iv_add(sum, part);
    }
    return sum;
}

static bool given_by(const formula *fm, const claim_figure *f) {
    if (fm->gives) return f == fm->gives;
    return f->metric == fm->gives_metric && (!fm->arm || claim_same_arm(f->arm, fm->arm));
}

/* Are all figures of the formula one constant times their agents? Then that is what the table is.
 */
static bool proportional(const claim *c, const formula *fm, double *each) {
    double lo = 0, hi = HUGE_VAL;
    size_t n = 0;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (!given_by(fm, f) || f->streams_n <= 0) continue;
        lo = fmax(lo, f->q.lo / (double)f->streams_n);
        hi = fmin(hi, f->q.hi / (double)f->streams_n);
        n++;
    }
    *each = (lo + hi) / 2;
    return n > 1 && lo <= hi;
}

/* Figures of one formula that do not follow, as one finding: the worst in front. */
static void say_formula(auditor *a, const formula *fm, const claim_figure *worst, iv at_worst,
                        const char *others, unsigned origins) {
    double each;
    const char *table = "";
    if (proportional(a->claim, fm, &each)) {
        const char *s = arena_printf(a->mem, "; the printed values are %s times the agents",
                                     say_in(a, each, worst->q.u));
        table = s ? s : "";
    }
    finding *f = audit_say(a, R_RATIO, "formula", AUDIT_FAIL, fm->name, origins,
                           "the printed formula gives %s for %s, printed is %s%s%s",
                           say_in(a, at_worst.v, worst->q.u), name_of(a, worst),
                           say_in(a, worst->q.v, worst->q.u), others, table);
    f->weight = WEIGHT_MAJOR;
    audit_numbers(f, at_worst.v / worst->q.u->scale, worst->q.v / worst->q.u->scale,
                  worst->q.u->name);
}

static void check_formula(auditor *a, const formula *fm) {
    enum { OTHERS_MAX = 8 }; /* named in the sentence */
    const claim *c = a->claim;
    size_t others_n = 0;
    const claim_figure *worst = NULL;
    iv at_worst = iv_none();
    const char *others = "";
    unsigned origins = fm->origin;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (!given_by(fm, f)) continue;
        iv v = sum_for(c, fm, f);
        if (!v.ok) continue;
        origins |= v.origins | f->origin;
        if (quantity_allows(&f->q, v.lo, v.hi)) {
            audit_follows(a, R_RATIO, "formula", name_of(a, f), &f->q, v.v, v.lo, v.hi,
                          v.origins | f->origin, fm->name);
            continue;
        }
        if (worst) {
            const claim_figure *less = f->q.v > worst->q.v ? worst : f;
            iv at = less == f ? v : at_worst;
            const char *s = others_n++ >= OTHERS_MAX
                                ? NULL
                                : arena_printf(a->mem, "%s; %s for %s, printed %s", others,
                                               say_in(a, at.v, less->q.u), less->name,
                                               say_in(a, less->q.v, less->q.u));
            if (s) others = s;
            if (less == f) continue;
        }
        worst = f;
        at_worst = v;
    }
    if (worst) say_formula(a, fm, worst, at_worst, others, origins);
}

void check_formulas(auditor *a) {
    for (size_t i = 0; i < a->claim->formulas_n; i++) check_formula(a, &a->claim->formulas[i]);
}
