/* The results of random projections, printed as a claim with seven and more digits, raise no alarm:
 * whatever a device and a policy really do is sound. What is left out of these claims is left out
 * for a reason that is written where it is. */
#include "audit_support.h"

#include "base/buf.h"
#include "invariants.h"
#include "property/random_scenario.h"

enum { SCENARIOS = 600 };

/* ---- scenarios with two arms on one card ---- */

static void two_arms(const random_scenario *gen, buf *out) {
    static const char *const CARDS[] = {
        "qwen2-7b-like-q8_0-h200-split", "qwen2-1.5b-like-q8_0-h200-unified",
        "qwen2.5-7b-instruct-q8_0-m3pro", "qwen2-60m-like-q8_0-cpu-t2"};
    gsl_rng *r = gen->rng;
    int K = draw(r, 1, 9);
    buf one;
    buf_init(&one);
    buf_reset(out);
    buf_addf(out,
             "{\"schema\":\"ratecast.scenario/1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"%s\",",
             pick(r, CARDS, 4));
    random_workload(r, K, out);
    buf_add(out, ",\"arms\":[");
    for (int i = 0; i < 2; i++) {
        buf_reset(&one);
        random_arm(gen, K, &one);
        const char *name = strstr(one.s, "\"a\"");
        buf_addf(out, "%s%.*s\"%s\"%s", i ? "," : "", (int)(name - one.s), one.s,
                 i ? "beta" : "alpha", name + 3);
    }
    buf_add(out, "]}");
    buf_done(&one);
}

/* ---- the claim ---- */

/* At least eight digits, no exponent; counts as they are. */
static const char *print(double v) {
    int whole = v >= 1 ? (int)log10(v) + 1 : 0, decimals = whole >= 8 ? 1 : 9 - whole;
    return arena_printf(support_arena(), "%.*f", v < 1 ? 12 : decimals, v);
}

static void figure(buf *b, const char *name, const char *of, const char *kind, const char *value,
                   const char *in, const char *more) {
    buf_addf(b,
             "%s{\"name\":\"%s%s%s\",\"metric\":\"%s\",\"value\":%s,\"digits_as_printed\":\"%s\","
             "\"unit\":\"%s\"%s",
             b->s[b->len - 1] == '[' ? "" : ",\n", name, of ? "_" : "", of ? of : "", kind, value,
             value, in, more);
    if (of) buf_addf(b, ",\"arm\":\"%s\"", of);
    buf_add(b, "}");
}

static const char *count(int64_t n) {
    return arena_printf(support_arena(), "%lld", (long long)n);
}

/* Does the arm do what the word of its policy says and nothing more? Fewer slots than agents evict,
 * blocks round down, a second cold sight computes again, first comers that do not wait compute as
 * much as their timing makes of it: the claim format has no words for these, so such an arm is
 * claimed without its policy. */
static bool is_plain(const arm *a, const workload *w) {
    bool each = a->reuse == REUSE_SHARED && (a->comers == COMERS_EACH || a->cold_sights_n > 1);
    return a->slots_n >= w->K && a->block_tok <= 1 && !each;
}

static void percentile_figures(buf *b, const char *of, const char *tag, const char *conditions,
                               const char *kind, const percentiles *p) {
    if (p->n == 0) return;
    const char *more =
        conditions[0] ? arena_printf(support_arena(), ",\"conditions\":\"%s\"", conditions) : "";
    figure(b, arena_printf(support_arena(), "%s_p50", tag), of, kind,
           print((double)p->p50_ns / 1e6), "ms",
           arena_printf(support_arena(), ",\"percentile\":50%s", more));
    figure(b, arena_printf(support_arena(), "%s_p95", tag), of, kind,
           print((double)p->p95_ns / 1e6), "ms",
           arena_printf(support_arena(), ",\"percentile\":95%s", more));
}

static void arm_figures(buf *b, const projection *p, const arm_result *r, bool only_cold) {
    const char *of = r->arm->name;
    const workload *w = &p->scenario->work;
    double wall = (double)r->sim.wall_ns / 1e9, prefill = (double)r->sim.prefill_ns / 1e9,
           decode = (double)r->sim.decode_ns / 1e9;
    double out = (double)r->sim.output_tok, in = (double)r->sim.presented_tok;
    figure(b, "wall", of, "wall_clock", print(wall), "s", "");
    figure(b, "prefill", of, "prefill_time", print(prefill), "s", "");
    if (decode > 0) figure(b, "decode", of, "decode_time", print(decode), "s", "");
    figure(b, "rate", of, "output_rate", print(out / wall), "tok/s", "");
    figure(b, "total_rate", of, "total_rate", print((in + out) / wall), "tok/s", "");
    figure(b, "prompt", of, "prompt_tok", count(r->sim.presented_tok), "tokens", "");
    figure(b, "output", of, "output_tok", count(r->sim.output_tok), "tokens", "");
    figure(b, "computed", of, "computed_tok", count(r->sim.computed_tok), "tokens", "");
    figure(b, "reused", of, "reused_tok", count(r->sim.reused_tok), "tokens", "");
    figure(b, "reuse", of, "reuse_frac", print(100 * (double)r->sim.reused_tok / in), "%", "");
    /* prefill mixed into decode passes is booked as one or the other: no rate of its own */
    if (r->arm->prefill != PREFILL_MIXED && prefill > 0)
        figure(b, "prefill_rate", of, "prefill_rate", print((double)r->sim.computed_tok / prefill),
               "tok/s", "");
    double later = out - (double)(w->K * w->H); /* the prefill emits each turn's first token */
    if (r->arm->prefill != PREFILL_MIXED && decode > 0 && later > 0)
        figure(b, "decode_rate", of, "decode_rate", print(later / decode), "tok/s", "");
    double peak = (double)r->m.memory.peak_bytes;
    figure(b, "memory", of, "memory", print(peak / 0x1p20), "MiB", "");
    figure(b, "density", of, "density", print((double)w->K / (peak / 0x1p30)), "agents/GiB", "");
    figure(b, "kv", of, "kv", print((double)r->m.memory.kv_resident_bytes / 0x1p20), "MiB",
           arena_printf(support_arena(), ",\"agents_n\":1,\"context_tok\":%lld",
                        (long long)r->m.memory.kv_resident_tok));
    percentile_figures(b, of, "ttft_cold", "cold first turn", "ttft", &r->m.ttft_cold);
    if (only_cold) return; /* then a percentile's population is not told apart by its neighbours */
    percentile_figures(b, of, "ttft_warm", "warm", "ttft", &r->m.ttft_warm);
    percentile_figures(b, of, "ttft_all", "", "ttft", &r->m.ttft_all);
    percentile_figures(b, of, "queue_all", "", "queue_wait", &r->m.queue_wait);
}

static void claim_workload(buf *b, const workload *w) {
    buf_addf(
        b,
        "\"workload\":{\"K\":%lld,\"H\":%lld,\"P\":%lld,\"turn_delta_in_tok\":%lld,"
        "\"turn_out_tok\":%lld,\"turn_shape\":\"%s\",\"tool_latency_s\":%.7f,\"stagger_s\":%.7f",
        (long long)w->K, (long long)w->H, (long long)w->P, (long long)w->turn_delta_in_tok,
        (long long)w->turn_out_tok, w->shape == SHAPE_DELTA_FIRST ? "delta_first" : "result_after",
        (double)w->tool_latency_ns / 1e9,
        w->K > 1 ? (double)(w->start_offset_ns[1] - w->start_offset_ns[0]) / 1e9 : 0);
    buf_add(b, ",\"private_tok\":[");
    for (int64_t k = 0; k < w->K; k++)
        buf_addf(b, "%s%lld", k ? "," : "", (long long)w->private_tok[k]);
    buf_add(b, "]},\n");
}

/* Prices beyond a card's measured range may be above what the chip can do: the projection's own
 * rules say so, and the claim then names no chip. */
static bool physical(const projection *p) {
    rule_result rules[RULES_N];
    invariants_check(p, rules);
    for (size_t i = 0; i < RULES_N; i++)
        if (rules[i].outcome == RULE_BROKEN || rules[i].outcome == RULE_BROKEN_DECLARED)
            return false;
    return true;
}

static void claim_of(const projection *p, bool only_cold, buf *b) {
    const card *c = p->arms[0].arm->card;
    const workload *w = &p->scenario->work;
    buf_reset(b);
    buf_add(b, "{\"schema\":\"ratecast.claim/1\",\"id\":\"p\",\"title\":\"t\",\n");
    if (physical(p))
        buf_addf(b, "\"hardware\":{\"chip\":\"%s\",\"mem_bw_GBps\":%s,\"memory_bytes\":%lld},\n",
                 c->hardware.chip, print(c->hardware.mem_bw_bytes_s / 1e9),
                 (long long)c->hardware.memory_bytes);
    buf_addf(b,
             "\"model\":{\"name\":\"%s\",\"quant\":\"%s\",\"params\":%lld,\"weight_bytes\":%lld,"
             "\"layers\":%lld,\"full_attention_layers\":%lld,\"kv_heads\":%lld,\"head_dim\":%lld,"
             "\"kv_bytes_per_element\":%g},\n",
             c->model, c->quant, (long long)c->params, (long long)c->weights_bytes,
             (long long)c->layers, (long long)c->full_attention_layers, (long long)c->kv_heads,
             (long long)c->head_dim, c->kv_element_bytes);
    claim_workload(b, w);
    buf_add(b, "\"arms\":[");
    for (size_t i = 0; i < p->arms_n; i++) {
        const arm *a = p->arms[i].arm;
        buf_addf(b, "%s{\"name\":\"%s\"", i ? "," : "", a->name);
        if (is_plain(a, w)) buf_addf(b, ",\"prefix_reuse\":\"%s\"", PREFIX_REUSE_NAMES[a->reuse]);
        buf_add(b, "}");
    }
    buf_add(b, "],\n\"figures\":[");
    for (size_t i = 0; i < p->arms_n; i++) arm_figures(b, p, &p->arms[i], only_cold);
    figure(b, "kv_per_tok", NULL, "kv_per_tok",
           count(llround(2 * (double)(c->full_attention_layers * c->kv_heads * c->head_dim) *
                         c->kv_element_bytes)),
           "bytes/token", "");
    double ratio_is = (double)p->arms[1].sim.wall_ns / (double)p->arms[0].sim.wall_ns;
    buf_addf(b,
             "],\n\"ratios\":[{\"name\":\"speedup\",\"printed\":\"%sx\",\"numerator_figure\":"
             "\"wall_beta\",\"denominator_figure\":\"wall_alpha\"}]}",
             print(ratio_is));
}

Test(audit_physical, projections_are_sound) {
    buf scenario_text, text;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    buf_init(&scenario_text);
    buf_init(&text);
    size_t passes = 0, with_chip = 0;
    int bad = 0;
    for (int seed = 1; seed <= SCENARIOS && bad < 10; seed++) {
        gsl_rng_set(rng, (unsigned long)seed);
        two_arms(&(random_scenario){.rng = rng}, &scenario_text);
        const projection *p = support_project_text(scenario_text.s);
        claim_of(p, seed % 2 == 0, &text);
        const audit *a = support_audit_text(text.s);
        bad += support_fails(a) > 0;
        cr_expect_eq(support_fails(a), 0, "seed %d:%s\n%s\n%s", seed, support_told(a),
                     scenario_text.s, text.s);
        passes += a->passes_n;
        with_chip += strstr(text.s, "\"hardware\"") != NULL;
    }
    cr_expect_gt(passes, 20 * SCENARIOS, "%zu", passes);
    cr_expect_gt(with_chip, SCENARIOS / 2, "%zu", with_chip);
    buf_done(&scenario_text);
    buf_done(&text);
    gsl_rng_free(rng);
}
