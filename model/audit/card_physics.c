/* A card against its chip: bandwidth, arithmetic, and the step that no prefill can undercut. */
#include "card_audit.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* weights_bytes may hold an input embedding, of which a step reads a few rows only. */
static const double STREAM_SLACK = 1.08;
/* The card's own step holds time between kernels that a prefill may have less of. */
static const double STEP_SLACK = 0.95;
static const double SAME_FRAC = 0.01;
/* No mixture of experts reads a smaller part of its weights. */
static const double SPARSEST = 64;

/* ---- ceilings ---- */

/* Is one value the other with a prefix lost, or with 2^30 for 10^9? */
static bool unit_slip(double factor) {
    static const double SLIPS[] = {1e3, 1e6, 1e9, 1e12, 0x1p30 / 1e9, 8};
    for (size_t i = 0; i < sizeof SLIPS / sizeof *SLIPS; i++)
        if (fabs(factor / SLIPS[i] - 1) < SAME_FRAC || fabs(factor * SLIPS[i] - 1) < SAME_FRAC)
            return true;
    return false;
}

/* Where the card leaves the size of its chip open, it may have less than the largest. */
static void compare_ceiling(const card_view *v, const char *check, double own, double listed,
                            double scale, const char *unit_name) {
    if (own <= 0 || listed <= 0) return;
    const char *chip = v->chip->chip;
    double factor = own / listed;
    bool whole = strcasecmp(v->c->hardware.chip, chip) == 0, slip = unit_slip(factor);
    bool same = fabs(factor - 1) <= SAME_FRAC;
    if (!same && !slip && !whole && factor < 1) return;
    finding *f =
        audit_say(v->a, slip ? R_UNITS : R_CONSISTENCY, check, same ? AUDIT_PASS : AUDIT_FAIL,
                  v->c->hardware.chip, 0,
                  "%s on the card: %.6g %s; the catalogue has %.6g for %s%s", check, own / scale,
                  unit_name, listed / scale, chip, slip ? ": the same digits in another unit" : "");
    audit_numbers(f, listed / scale, own / scale, unit_name);
}

/* Engines multiply weights of 8 bits and less in integers where the chip is faster so. */
static double arithmetic_ceiling(const card_view *v) {
    const hardware *h = v->chip;
    double own = v->c->hardware.fp16_flop_s;
    if (!h || v->on_cpu) return own;
    if (h->fp16_flop_s <= 0) return 0; /* a card can copy no ceiling that nobody knows */
    double fp16 = own > 0 ? own : h->fp16_flop_s;
    bool small = v->weight_bits < 16;
    return small && h->int8_op_s > fp16 ? h->int8_op_s : fp16;
}

void card_check_ceilings(card_view *v) {
    const card *c = v->c;
    v->on_cpu = hardware_is_cpu(c->hardware.chip) || hardware_is_cpu(c->engine.name) ||
                c->host_threads_n > 0; /* threads that compute */
    v->chip = hardware_find(v->a->chips, c->hardware.chip);
    if (v->on_cpu && v->chip && !v->chip->unified_memory) v->chip = NULL;
    v->bw_bytes_s = c->hardware.mem_bw_bytes_s;
    if (v->bw_bytes_s <= 0 && v->chip) v->bw_bytes_s = v->chip->mem_bw_bytes_s;
    v->flop_s = arithmetic_ceiling(v);
    v->integers = v->chip && !v->on_cpu && v->flop_s > v->chip->fp16_flop_s;
    if (!v->chip) return;
    compare_ceiling(v, "bandwidth", c->hardware.mem_bw_bytes_s, v->chip->mem_bw_bytes_s, 1e9,
                    "GB/s");
    if (v->on_cpu) return;
    compare_ceiling(v, "arithmetic", c->hardware.fp16_flop_s, v->chip->fp16_flop_s, 1e12,
                    "TFLOP/s");
}

/* ---- what an excess over a ceiling means ---- */

static bool count_by_count(const char *text) { /* "8x7B", "A3B" */
    for (const char *p = text; p && *p; p++) {
        bool start = p == text || !isalnum((unsigned char)p[-1]);
        size_t d = strspn(p, "0123456789");
        if (start && d > 0 && tolower((unsigned char)p[d]) == 'x' &&
            isdigit((unsigned char)p[d + 1]))
            return true;
        size_t a = strspn(p + 1, "0123456789.");
        if (start && toupper((unsigned char)*p) == 'A' && a > 0 &&
            toupper((unsigned char)p[1 + a]) == 'B')
            return true;
    }
    return false;
}

static bool has_experts(const card *c) {
    static const char *const WORDS[] = {"moe", "expert", "mixtral"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (text_holds(c->architecture, WORDS[i]) || text_holds(c->model, WORDS[i])) return true;
    return count_by_count(c->model);
}

/* All weights, or all parameters, against a ceiling: `excess` times it, of which `slack` proves
 * nothing. */
static audit_outcome judge(const card_view *v, double excess, double slack, bool of_weights,
                           audit_weight *weight, const char **because) {
    const card *c = v->c;
    *because = "";
    *weight = excess <= 1 ? WEIGHT_NOTE : WEIGHT_MINOR;
    if (excess <= 1) return AUDIT_PASS;
    if (excess <= slack) {
        *because = "; within what is not known of it";
        return AUDIT_CANNOT_TELL;
    }
    if (excess < SPARSEST && has_experts(c)) {
        *because = "; a mixture of experts uses a part of its weights, and no card says how many";
        return AUDIT_CANNOT_TELL;
    }
    *weight = WEIGHT_MAJOR;
    if (excess < SPARSEST && !c->architecture) {
        *because = "; possible only for a mixture of experts, and the card states no architecture";
        return AUDIT_CANNOT_TELL;
    }
    if (of_weights && c->weights_prov >= PROV_ASSUMED) {
        *because = "; the weights are assumed";
        return AUDIT_CANNOT_TELL;
    }
    return AUDIT_FAIL;
}

/* ---- roofline ---- */

/* KV counts only where its shape is known; one shared prompt may be read once for all. */
static double stream_bytes(const card *c, const decode_point *p) {
    double kv = 0;
    if (p->context_tok > 0 && c->kv_prov < PROV_ASSUMED)
        kv = (double)card_kv_bytes_per_tok(c) * (double)p->context_tok *
             (double)(p->origin.shared_prompt ? 1 : p->batch_n);
    return (double)c->weights_bytes + kv;
}

static void roofline_decode(const card_view *v) {
    const card *c = v->c;
    tally t = {0};
    for (size_t i = 0; i < c->decode_n; i++) {
        const decode_point *p = &c->decode[i];
        double use = stream_bytes(c, p) / p->step_s / v->bw_bytes_s;
        if (!p->origin.excluded) tally_add(&t, use > 1, use, p);
    }
    if (t.seen == 0) return;
    audit_weight weight;
    const char *because, *name = decode_name(v, t.at);
    audit_outcome o = judge(v, t.worst, STREAM_SLACK, true, &weight, &because);
    double gb_s = t.worst * v->bw_bytes_s / 1e9;
    finding *f = audit_say(
        v->a, R_ROOFLINE, "decode-stream", o, name, 0,
        "%zu of %zu decode points stream more than the chip can; the highest is %s: %.4g GB/s of "
        "weights and KV, the chip has %.4g (%.0f %%)%s",
        t.broken, t.seen, name, gb_s, v->bw_bytes_s / 1e9, 100 * t.worst, because);
    f->weight = weight;
    audit_numbers(f, v->bw_bytes_s / 1e9, gb_s, "GB/s");
}

static void roofline_prefill(const card_view *v) {
    const card *c = v->c;
    tally t = {0};
    for (size_t i = 0; i < c->prefill_n; i++) {
        const prefill_point *p = &c->prefill[i];
        double use = 2 * (double)c->params * p->tok_s / v->flop_s;
        if (!p->origin.excluded) tally_add(&t, use > 1, use, p);
    }
    if (t.seen == 0) return;
    audit_weight weight;
    const char *because, *name = prefill_name(v, t.at);
    audit_outcome o = judge(v, t.worst, 1 + (v->chip ? v->chip->flop_uncertainty_frac : 0), false,
                            &weight, &because);
    double tflop_s = t.worst * v->flop_s / 1e12;
    finding *f = audit_say(
        v->a, R_ROOFLINE, "prefill-arithmetic", o, name, 0,
        "%zu of %zu prefill points compute more than the chip can; the highest is %s: %.4g TFLOP/s "
        "at two operations a parameter and token, the chip has %.4g%s (%.0f %%)%s",
        t.broken, t.seen, name, tflop_s, v->flop_s / 1e12, v->integers ? " at 8 bits" : "",
        100 * t.worst, because);
    f->weight = weight;
    audit_numbers(f, v->flop_s / 1e12, tflop_s, "TFLOP/s");
}

static void cannot(const card_view *v, rule_id id, const char *check, const char *lacks) {
    audit_say(v->a, id, check, AUDIT_CANNOT_TELL, v->c->hardware.chip, 0, "not known: %s", lacks);
}

void card_check_roofline(const card_view *v) {
    const card *c = v->c;
    if (c->decode_n > 0 && (v->bw_bytes_s <= 0 || c->weights_bytes == 0))
        cannot(v, R_ROOFLINE, "decode-stream",
               v->bw_bytes_s <= 0 ? "the memory bandwidth of the chip"
                                  : "the bytes of the weights");
    else
        roofline_decode(v);
    if (c->prefill_n > 0 && (v->flop_s <= 0 || c->params == 0))
        cannot(v, R_ROOFLINE, "prefill-arithmetic",
               v->flop_s > 0 ? "the parameters"
               : v->on_cpu   ? "the arithmetic ceiling of the CPU (the catalogue's is the GPU's)"
                             : "the arithmetic ceiling of the chip");
    else
        roofline_prefill(v);
}

/* ---- floor ---- */

/* The fastest measured step of one sequence: one pass over the weights, as this engine does it. */
static const decode_point *own_step(const card *c) {
    const decode_point *best = NULL;
    for (size_t i = 0; i < c->decode_n; i++) {
        const decode_point *p = &c->decode[i];
        if (p->batch_n != 1 || p->origin.excluded) continue;
        if (!best || p->step_s < best->step_s) best = p;
    }
    return best;
}

static const prefill_point *shortest_prefill(const card *c) {
    const prefill_point *best = NULL;
    for (size_t i = 0; i < c->prefill_n; i++) {
        const prefill_point *p = &c->prefill[i];
        if (p->s <= 0 || p->origin.excluded) continue;
        if (!best || p->s < best->s) best = p;
    }
    return best;
}

static const decode_point *shortest_step(const card *c) {
    const decode_point *best = NULL;
    for (size_t i = 0; i < c->decode_n; i++)
        if (!c->decode[i].origin.excluded && (!best || c->decode[i].step_s < best->step_s))
            best = &c->decode[i];
    return best;
}

static void floor_by_bandwidth(const card_view *v, const char *check, const char *name, double s) {
    double pass_s = (double)v->c->weights_bytes / v->bw_bytes_s;
    audit_weight weight;
    const char *because;
    audit_outcome o = judge(v, pass_s / s, STREAM_SLACK, true, &weight, &because);
    finding *f =
        audit_say(v->a, R_FLOOR, check, o, name, 0,
                  "the shortest is %s: %.4g ms; one pass over the weights takes %.4g ms at the "
                  "chip's bandwidth%s",
                  name, s * 1e3, pass_s * 1e3, because);
    f->weight = weight;
    audit_numbers(f, pass_s * 1e3, s * 1e3, "ms");
}

static void floor_by_own_step(const card_view *v, const prefill_point *p,
                              const decode_point *step) {
    const char *name = prefill_name(v, p);
    bool ok = p->s >= step->step_s * STEP_SLACK;
    finding *f = audit_say(v->a, R_FLOOR, "prefill-step", ok ? AUDIT_PASS : AUDIT_FAIL, name, 0,
                           "the shortest is %s: %.4g ms; the card's own step of one sequence takes "
                           "%.4g ms",
                           name, p->s * 1e3, step->step_s * 1e3);
    audit_numbers(f, step->step_s * 1e3, p->s * 1e3, "ms");
}

void card_check_floor(const card_view *v) {
    const prefill_point *p = shortest_prefill(v->c);
    const decode_point *step = own_step(v->c), *any = shortest_step(v->c);
    bool pass_known = v->bw_bytes_s > 0 && v->c->weights_bytes > 0;
    if (any && pass_known) floor_by_bandwidth(v, "decode-pass", decode_name(v, any), any->step_s);
    if (p && pass_known) floor_by_bandwidth(v, "prefill-pass", prefill_name(v, p), p->s);
    if (p && step) floor_by_own_step(v, p, step);
    if (p && !pass_known && !step)
        cannot(v, R_FLOOR, "prefill-pass",
               "a decode step of one sequence, or weights and bandwidth");
}

/* ---- units ---- */

/* Bytes, seconds and bandwidth say together how much of the bandwidth a step uses. Below a
 * thousandth of it one of them is off, or the model is too small for the chip to tell; above all of
 * it the roofline has failed, and a unit is to blame only where a prefix makes it fit. */
void card_check_time_unit(const card_view *v) {
    static const double LEAST = 1e-3, FITS = 0.02;
    const decode_point *step = own_step(v->c);
    if (!step || v->bw_bytes_s <= 0 || v->c->weights_bytes == 0) return;
    double use = (double)v->c->weights_bytes / step->step_s / v->bw_bytes_s, prefix = 0;
    bool low = use<LEAST, high = use> STREAM_SLACK;
    static const double PREFIXES[] = {1e3, 1e6, 1e9, 1e12};
    for (size_t i = 0; (low || high) && i < sizeof PREFIXES / sizeof *PREFIXES; i++) {
        double read = low ? use * PREFIXES[i] : use / PREFIXES[i];
        if (read > FITS && read <= STREAM_SLACK) prefix = PREFIXES[i];
    }
    if (high && prefix == 0) return;
    const char *name = decode_name(v, step);
    finding *f =
        audit_say(v->a, R_UNITS, "time-unit", low || high ? AUDIT_CANNOT_TELL : AUDIT_PASS, name, 0,
                  "%s: a step of %.4g s reads weights at %.3g %% of the bandwidth", name,
                  step->step_s, 100 * use);
    if (!low && !high) return;
    f->weight = WEIGHT_MAJOR;
    const char *fits = arena_printf(v->a->mem,
                                    "; with a prefix of %.0e on the step, the weights or the "
                                    "bandwidth it would fit the chip",
                                    prefix);
    if (prefix > 0 && fits) audit_add(v->a, fits);
    if (prefix <= 0) audit_add(v->a, "; no chip is so idle in a step that has to read them");
}
