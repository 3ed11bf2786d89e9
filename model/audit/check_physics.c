/* Claimed speeds against what the hardware can do: bytes streamed for every token, operations for
 * every prompt token. */
#include "audit/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- decode against bandwidth ---- */

static const char *const DRAFT_WORDS =
    "speculative|speculation|draft|drafter|drafting|mtp|eagle|eagle3|medusa|lookahead|ngram|n gram|"
    "prompt lookup|suffix decoding|spec decode|spec decoding|dflash|nextn|assisted";
static const char *const PLAIN_WORDS =
    "baseline|vanilla|no speculation|without speculation|no draft|without draft|no spec|plain|"
    "autoregressive|target only|spec off|mtp off";

bool physics_speculative(const claim *c, const claim_figure *f) {
    const char *const own[] = {f->name, f->arm, f->conditions};
    for (size_t i = 0; i < 3; i++)
        if (words_have(own[i], PLAIN_WORDS)) return false;
    const workload_fact *w = claim_fact(c, "speculation speculative");
    if (w && w->text && words_have(w->text, "none|off|no|not mentioned")) return false;
    const char *const texts[] = {f->name, f->arm, f->conditions, c->kind, c->title, c->model.name};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (words_have(texts[i], DRAFT_WORDS)) return true;
    for (size_t i = 0; i < c->facts_n; i++)
        if (words_have(c->facts[i].text, DRAFT_WORDS)) return true;
    return w || claim_fact(c, "draft_tokens num_speculative_tokens draft_block") ||
           (claim_fact(c, "block_size") && facts_beside(c, f, METRIC_ROUNDS));
}

iv physics_round_tok(const claim *c, const claim_figure *f) {
    iv tok = iv_figure(facts_beside(c, f, METRIC_ROUND_TOK));
    if (tok.ok) return tok;
    tok = iv_add(iv_figure(facts_beside(c, f, METRIC_MEAN_ACCEPTED)), iv_exact(1, 0));
    if (tok.ok) return tok;
    double block = claim_number(c, "block_size draft_block", 0),
           drafted = claim_number(c, "draft_tokens num_speculative_tokens draft_n",
                                  block > 1 ? block - 1 : 0);
    return drafted > 0 ? iv_exact(drafted + 1, ORIGIN_PRINTED) : iv_none();
}

static bool is_decode_rate(metric m) {
    return m == METRIC_DECODE_RATE || m == METRIC_OUTPUT_RATE || m == METRIC_STREAM_RATE;
}

/* Rates of one sequence, whatever the workload does not say. */
static bool says_decode(const claim_figure *f) {
    static const char *const WORDS =
        "decode|decoding|generation|eval|tg|tg32|tg64|tg128|tg256|tg512";
    return words_have(f->name, WORDS) || words_have(f->conditions, WORDS) ||
           f->metric == METRIC_STREAM_RATE;
}

typedef struct stream {
    bool known;
    audit_outcome outcome;
    iv need_bytes_s;
    double ceiling_bytes_s, bytes;
    bool unstated, one; /* one: nothing says how many sequences ran */
} stream;

/* Passes over the weights in a second for a decode rate: one a token of one stream, one for all
 * streams together, one for a round of a draft. */
static iv passes_s(const claim *c, const claim_figure *f, stream *s) {
    iv n = facts_streams(c, f);
    s->one = !n.ok && !says_decode(f);
    if (n.ok && n.v < 1) return iv_none();
    iv passes = iv_scale(iv_figure(f), n.ok ? 1 / n.v : 1);
    return physics_speculative(c, f) ? iv_div(passes, physics_round_tok(c, f)) : passes;
}

/* The weight stream that a decode rate needs against the bandwidth of its devices. */
static stream weight_stream(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    stream s = {.known = false};
    const claim_chip *chip = facts_chip(a, f);
    if (!is_decode_rate(f->metric) || !chip || chip->mem_bw_bytes_s <= 0) return s;
    iv bytes = facts_pass_bytes(c, f, &s.unstated);
    s.need_bytes_s = iv_mul(passes_s(c, f, &s), bytes);
    if (!s.need_bytes_s.ok) return s;
    s.known = true;
    s.bytes = bytes.v;
    s.ceiling_bytes_s = chip->mem_bw_bytes_s * (double)f->gpus_n;
    s.need_bytes_s.origins |= chip->origin;
    s.outcome = s.need_bytes_s.lo > s.ceiling_bytes_s   ? AUDIT_FAIL
                : s.need_bytes_s.hi > s.ceiling_bytes_s ? AUDIT_CANNOT_TELL
                                                        : AUDIT_PASS;
    if (s.one && s.outcome != AUDIT_PASS) { /* several sequences would explain it */
        s.outcome = AUDIT_CANNOT_TELL;
        s.known = f->metric == METRIC_DECODE_RATE;
    }
    return s;
}

static const char *label(auditor *a, const claim_figure *f) {
    const char *s = f->arm ? arena_printf(a->mem, "%s (%s)", f->name, f->arm) : f->name;
    return s ? s : f->name;
}

static void say_stream(auditor *a, const claim_figure *f, const stream *s) {
    double top = s->ceiling_bytes_s / s->bytes;
    const char *many =
        f->gpus_n > 1 ? arena_printf(a->mem, " of %lld devices", (long long)f->gpus_n) : "";
    const char *which = s->unstated ? " at the lightest precision that the claim lists" : "";
    finding *say = audit_say(
        a, R_FLOOR, "weight-stream", s->outcome, label(a, f), s->need_bytes_s.origins,
        "%s needs %s of weights%s, the bandwidth%s is %s: one pass over %s a token allows %s%s",
        say_in(a, f->q.v, f->q.u), say_num(a, s->need_bytes_s.v / 1e9, "GB/s"), which,
        many ? many : "", say_num(a, s->ceiling_bytes_s / 1e9, "GB/s"),
        say_num(a, s->bytes / 1e9, "GB"), say_num(a, top, "passes/s"),
        s->outcome != AUDIT_CANNOT_TELL ? ""
        : s->one ? ": possible with several sequences at once; how many ran is not stated"
                 : ": too close to tell");
    if (s->outcome == AUDIT_CANNOT_TELL && s->one) say->weight = WEIGHT_MAJOR;
    audit_numbers(say, s->ceiling_bytes_s / 1e9, s->need_bytes_s.v / 1e9, "GB/s");
    if (s->outcome == AUDIT_PASS) {
        say = audit_say(a, R_ROOFLINE, "bandwidth", AUDIT_PASS, label(a, f),
                        s->need_bytes_s.origins, "%s of weights a second, %s is the ceiling",
                        say_num(a, s->need_bytes_s.v / 1e9, "GB"),
                        say_num(a, s->ceiling_bytes_s / 1e9, "GB/s"));
        audit_numbers(say, s->ceiling_bytes_s / 1e9, s->need_bytes_s.v / 1e9, "GB/s");
    }
}

/* A figure computed from a rate that no device reaches. */
static void check_inherited(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    if (f->metric != METRIC_TOK_PER_MONEY && f->metric != METRIC_MONEY_PER_TOK) return;
    const claim_figure *rate = facts_used(c, f);
    if (!rate) rate = facts_beside(c, f, METRIC_DECODE_RATE);
    if (!rate) return;
    stream s = weight_stream(a, rate);
    if (!s.known || s.outcome != AUDIT_FAIL) return;
    double top = s.ceiling_bytes_s / s.need_bytes_s.v;
    double most = f->metric == METRIC_TOK_PER_MONEY ? f->q.v * top : f->q.v / top;
    finding *say = audit_say(
        a, R_CARD, "inherited", AUDIT_FAIL, f->name, f->origin | s.need_bytes_s.origins,
        "rests on %s of %s, which the device cannot reach: at most %s give %s %s",
        say_in(a, rate->q.v, rate->q.u), rate->name, say_in(a, rate->q.v * top, rate->q.u),
        f->metric == METRIC_TOK_PER_MONEY ? "at most" : "at least", say_in(a, most, f->q.u));
    audit_numbers(say, most / f->q.u->scale, f->q.v / f->q.u->scale, f->q.u->name);
}

/* Speculative decoding emits several tokens a pass: its rounds are bound, not its tokens. */
static void check_rounds(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    const claim_figure *t = facts_beside(c, f, METRIC_DECODE_TIME);
    const claim_chip *chip = facts_chip(a, f);
    bool unstated;
    iv bytes = facts_pass_bytes(c, f, &unstated), round = iv_div(iv_figure(t), iv_figure(f));
    if (!round.ok || !chip || chip->mem_bw_bytes_s <= 0) return;
    double bits = words_precision_bits(c->model.name);
    if (f->arm && bits > 0) { /* several models in one claim: the one that the arm names */
        double billions = 0;
        for (const char *p = f->arm; *p; p++)
            if (*p >= '0' && *p <= '9' && (p == f->arm || p[-1] == ' ')) {
                double v = 0;
                while (*p >= '0' && *p <= '9') v = v * 10 + (*p++ - '0');
                if (*p == 'B') billions = v;
                if (!*p) break;
            }
        if (billions > 0) bytes = iv_exact(billions * 1e9 * bits / 8, f->origin);
    }
    if (!bytes.ok) return;
    double floor_s = bytes.v / chip->mem_bw_bytes_s;
    audit_outcome o = round.hi < floor_s * 0.9 ? AUDIT_FAIL
                      : round.lo < floor_s     ? AUDIT_CANNOT_TELL
                                               : AUDIT_PASS;
    finding *say =
        audit_say(a, R_FLOOR, "round", o, label(a, f), round.origins | bytes.origins | chip->origin,
                  "a round takes %s, one pass over about %s of weights %s", say_s(a, round.v),
                  say_num(a, bytes.v / 1e9, "GB"), say_s(a, floor_s));
    audit_numbers(say, floor_s * 1e3, round.v * 1e3, "ms");
}

/* A rate that is called a ceiling is bandwidth / weight bytes. */
static void check_ceiling_figure(auditor *a, const claim_figure *f) {
    bool unstated;
    const claim_chip *chip = facts_chip(a, f);
    iv bytes = facts_pass_bytes(a->claim, f, &unstated);
    if (!chip || chip->mem_bw_bytes_s <= 0 || !bytes.ok || unstated || f->streams_n > 1) return;
    double v = chip->mem_bw_bytes_s * (double)f->gpus_n / bytes.v;
    bool ok = quantity_allows(&f->q, v, v) || fabs(f->q.v / v - 1) < 0.005;
    finding *say =
        audit_say(a, R_ROOFLINE, "ceiling", ok ? AUDIT_PASS : AUDIT_FAIL, label(a, f),
                  f->origin | chip->origin | bytes.origins,
                  "printed as the ceiling: %s; %s over %s bytes is %s", say_in(a, f->q.v, f->q.u),
                  say_num(a, chip->mem_bw_bytes_s / 1e9, "GB/s"), say_num(a, bytes.v, ""),
                  say_num(a, v, "tok/s"));
    audit_numbers(say, v, f->q.v, "tok/s");
    if (ok)
        audit_say(a, R_FLOOR, "ceiling", AUDIT_PASS, label(a, f), f->origin | chip->origin,
                  "%s is the ceiling itself, as printed", say_in(a, f->q.v, f->q.u));
}

/* A first token takes at least one pass over the weights, however much of the prompt is cached: at
 * least one token is computed. The fastest of an arm. */
static void check_first_token(auditor *a, const claim_figure *f) {
    const claim *c = a->claim;
    bool unstated;
    const claim_chip *chip = facts_chip(a, f);
    iv bytes = facts_pass_bytes(c, f, &unstated);
    if (f->metric != METRIC_TTFT || !chip || chip->mem_bw_bytes_s <= 0 || !bytes.ok) return;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *g = &c->figures[i];
        if (g->metric == METRIC_TTFT && claim_same_arm(f->arm, g->arm) &&
            (g->q.v < f->q.v || (g->q.v == f->q.v && g < f)))
            return;
    }
    double floor_s = bytes.lo / (chip->mem_bw_bytes_s * (double)f->gpus_n);
    bool ok = f->q.hi >= floor_s;
    finding *say = audit_say(a, R_FLOOR, "first-token", ok ? AUDIT_PASS : AUDIT_FAIL, label(a, f),
                             f->origin | chip->origin | bytes.origins,
                             "a first token after %s; one pass over %s of weights takes %s, and a "
                             "cached prompt still computes its last token",
                             say_s(a, f->q.v), say_num(a, bytes.v / 1e9, "GB"),
                             say_s(a, bytes.v / (chip->mem_bw_bytes_s * (double)f->gpus_n)));
    audit_numbers(say, floor_s * 1e3, f->q.v * 1e3, "ms");
}

/* ---- prefill against arithmetic ---- */

/* Operations a second of the chip in eight-bit arithmetic, for weights of eight bits or less;
 * kernels that convert to it reach it with four-bit files too. 0: 16-bit weights, or no such units.
 */
static double small_flop_s(auditor *a, const claim_figure *f, const claim_chip *chip) {
    const claim *c = a->claim;
    const hardware *h = hardware_find(a->chips, chip->name);
    double bits = f->weight_bits > 0 ? f->weight_bits : words_precision_bits(c->model.quant);
    if (bits <= 0) bits = words_precision_bits(c->model.name);
    double bytes = c->model.weight_bytes, params = c->model.params;
    if (bits <= 0 && params > 0 && bytes > 0) bits = bytes * 8 / params;
    if (bits <= 0 || bits >= 12 || !h || hardware_is_cpu(chip->name)) return 0;
    return h->int8_op_s;
}

/* Two operations a parameter and token; attention comes on top, so this is a lower bound. */
static void check_flops(auditor *a, const claim_figure *f, iv rate, const char *what) {
    static const double SLACK_FRAC = 0.05; /* boost clocks, parameters without embeddings */
    const claim *c = a->claim;
    const claim_chip *chip = facts_chip(a, f);
    double params = facts_active_params(c, f);
    bool reused =
        f->warm || words_have(f->name, "effective") || words_have(f->conditions, "effective");
    if (!rate.ok || !chip || chip->fp16_flop_s <= 0 || params <= 0 || f->model || reused) return;
    iv need = iv_scale(rate, 2 * params);
    double n = (double)f->gpus_n, ceiling = chip->fp16_flop_s * n;
    double slack = fmax(chip->flop_uncertainty_frac, SLACK_FRAC);
    audit_outcome o = need.lo > ceiling * (1 + slack) ? AUDIT_FAIL
                      : need.hi > ceiling             ? AUDIT_CANNOT_TELL
                                                      : AUDIT_PASS;
    double small = o == AUDIT_PASS ? 0 : small_flop_s(a, f, chip) * n;
    if (small > ceiling && need.hi <= small) {
        o = AUDIT_PASS;
        ceiling = small;
    }
    finding *say = audit_say(
        a, R_ROOFLINE, "flops", o, label(a, f), need.origins | chip->origin | c->model.origin,
        "%s is %s of prefill, at 2 x %s parameters a token %s; the ceiling of "
        "%s is %s%s%s",
        what, say_num(a, rate.v, "tok/s"), say_num(a, params / 1e9, "billion"),
        say_num(a, need.v / 1e12, "TFLOP/s"), chip->name, say_num(a, ceiling / 1e12, "TFLOP/s"),
        small > 0 && ceiling == small ? " in eight-bit arithmetic" : "",
        o == AUDIT_CANNOT_TELL ? ", known to a few per cent only" : "");
    if (o == AUDIT_CANNOT_TELL) say->weight = WEIGHT_MAJOR;
    audit_numbers(say, ceiling / 1e12, need.v / 1e12, "TFLOP/s");
}

/* A time to first token bounds the prefill rate of the tokens computed in it from below. */
static void check_ttft_flops(auditor *a) {
    iv tok, rate;
    const claim_figure *f = facts_fastest_ttft(a->claim, &tok, &rate);
    if (!f) return;
    const char *what =
        arena_printf(a->mem, "%s tokens in %s", say_num(a, tok.v, ""), say_s(a, f->q.v));
    check_flops(a, f, rate, what ? what : "");
}

/* ---- nothing to compare with ---- */

static bool bandwidth_known(auditor *a) {
    for (size_t i = 0; i < a->claim->chips_n; i++)
        if (a->claim->chips[i].mem_bw_bytes_s > 0) return true;
    const claim_chip *chip = facts_chip(a, NULL);
    return chip && chip->mem_bw_bytes_s > 0;
}

static void check_gaps(auditor *a) {
    const claim *c = a->claim;
    bool speeds = false, unstated;
    iv bytes = iv_none();
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (!is_decode_rate(f->metric) && f->metric != METRIC_PREFILL_RATE) continue;
        speeds = true;
        iv one = facts_pass_bytes(c, f, &unstated);
        if (one.ok) bytes = one;
    }
    bool chip = bandwidth_known(a);
    if (!speeds || (chip && bytes.ok)) return;
    finding *say = audit_say(a, R_ROOFLINE, "ceiling", AUDIT_CANNOT_TELL, c->id, ORIGIN_PRINTED,
                             "no ceiling can be formed: %s%s%s not stated",
                             chip ? "" : "the chip's bandwidth", chip || bytes.ok ? "" : " and ",
                             bytes.ok ? "" : "the size or precision of the weights");
    say->weight = WEIGHT_NOTE;
}

void check_ceilings(auditor *a) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        stream s = weight_stream(a, f);
        if (s.known) say_stream(a, f, &s);
        check_first_token(a, f);
        check_inherited(a, f);
        if (f->metric == METRIC_ROUNDS) check_rounds(a, f);
        if (f->metric == METRIC_CEILING_RATE) check_ceiling_figure(a, f);
        if (f->metric == METRIC_PREFILL_RATE) check_flops(a, f, iv_figure(f), "the printed rate");
    }
    check_ttft_flops(a);
    check_gaps(a);
}
