/* Random scenarios as JSON texts, from a seed: the same seed gives the same text on every machine.
 */
#ifndef RATECAST_TESTS_RANDOM_SCENARIO_H
#define RATECAST_TESTS_RANDOM_SCENARIO_H

#include "base/buf.h"

#include <gsl/gsl_rng.h>
#include <stdbool.h>

typedef struct random_scenario {
    gsl_rng *rng;
    bool declared;   /* prices from declared rates (idealised policies) instead of a card */
    bool continuous; /* continuous batching only */
    bool host_step;  /* some declare host time */
    const char *reuse, *batching, *prefill; /* forced, or NULL: drawn */
} random_scenario;

static inline int draw(gsl_rng *r, int lo, int hi) {
    return lo + (int)gsl_rng_uniform_int(r, (unsigned long)(hi - lo + 1));
}

static inline const char *pick(gsl_rng *r, const char *const *words, int n) {
    return words[draw(r, 0, n - 1)];
}

static inline void random_workload(gsl_rng *r, int K, buf *out) {
    buf_addf(out,
             "\"workload\":{\"K\":%d,\"H\":%d,\"P\":%d,\"turn_delta_in_tok\":%d,\"turn_out_tok\":%"
             "d,\"turn_shape\":\"%s\"",
             K, draw(r, 1, 7), draw(r, 1, 9) > 1 ? draw(r, 1, 6000) : 1, draw(r, 1, 300),
             draw(r, 1, 70), draw(r, 0, 1) ? "delta_first" : "result_after");
    if (draw(r, 0, 1)) buf_addf(out, ",\"tool_latency_s\":%.7f", gsl_rng_uniform(r) * 0.8);
    if (draw(r, 0, 1)) buf_addf(out, ",\"stagger_s\":%.7f", gsl_rng_uniform(r) * 0.6);
    if (draw(r, 0, 1)) {
        buf_add(out, ",\"private_tok\":[");
        for (int k = 0; k < K; k++) buf_addf(out, "%s%d", k ? "," : "", draw(r, 0, 900));
        buf_add(out, "]");
    }
    buf_add(out, "}");
}

static inline void random_arm(const random_scenario *s, int K, buf *out) {
    static const char *const REUSE[] = {"none", "per_slot", "shared"}, *const BATCH[] = {
                                                                           "serial", "lockstep",
                                                                           "continuous"};
    gsl_rng *r = s->rng;
    const char *reuse = s->reuse ? s->reuse : pick(r, REUSE, 3);
    const char *batch = s->batching     ? s->batching
                        : s->continuous ? "continuous"
                                        : pick(r, BATCH, 3);
    bool continuous = batch[0] == 'c',
         mixed = s->prefill ? s->prefill[0] == 'm' : continuous && draw(r, 0, 1);
    int slots = batch[0] != 'l' && draw(r, 0, 2) == 0 ? draw(r, 1, K) : K;
    buf_addf(out,
             "{\"name\":\"a\",\"prefix_reuse\":\"%s\",\"batching\":\"%s\",\"slots_n\":%d,\"reuse_"
             "last_token\":%s",
             reuse, batch, slots, draw(r, 0, 1) ? "true" : "false");
    if (mixed && continuous)
        buf_addf(out, ",\"prefill\":\"mixed\",\"max_batch_tok\":%d", draw(r, K + 1, 2500));
    if (reuse[0] == 's') {
        buf_addf(out, ",\"first_comers\":\"%s\"", draw(r, 0, 1) ? "wait" : "each");
        if (draw(r, 0, 3) == 0) buf_addf(out, ",\"cold_sights_n\":%d", draw(r, 1, 3));
    }
    if (draw(r, 0, 2) == 0) buf_addf(out, ",\"block_tok\":%d", draw(r, 1, 64));
    buf_add(out, "}");
}

static inline void random_host_step(gsl_rng *r, bool behind_others, buf *out) {
    buf_addf(
        out,
        "%s{\"term\":\"host_step_s\",\"value\":%.9f,\"provenance\":\"assumed\",\"reason\":\"t\"}",
        behind_others ? "," : "", gsl_rng_uniform(r) * 0.02);
}

static inline void random_scenario_text(const random_scenario *s, buf *out) {
    static const char *const CARDS[] = {
        "qwen2-7b-like-q8_0-h200-split", "qwen2-1.5b-like-q8_0-h200-unified",
        "qwen2.5-7b-instruct-q8_0-m3pro", "qwen2-60m-like-q8_0-cpu-t2"};
    gsl_rng *r = s->rng;
    int K = draw(r, 1, 9);
    buf_reset(out);
    buf_addf(out,
             "{\"schema\":\"ratecast.scenario/1\",\"id\":\"t\",\"title\":\"t\",\"card\":\"%s\",",
             pick(r, CARDS, 4));
    random_workload(r, K, out);
    buf_add(out, ",\"arms\":[");
    random_arm(s, K, out);
    buf_add(out, "],\"assumptions\":[");
    bool rates = s->declared || draw(r, 0, 2) == 0;
    if (rates)
        buf_addf(
            out,
            "{\"term\":\"prefill_tok_s\",\"value\":%d,\"provenance\":\"assumed\",\"reason\":\"t\"},"
            "{\"term\":\"decode_tok_s\",\"value\":%d,\"gain_per_seq_frac\":%.3f,\"provenance\":"
            "\"assumed\",\"reason\":\"t\"}",
            draw(r, 50, 20000), draw(r, 5, 300), gsl_rng_uniform(r));
    if (s->host_step && draw(r, 0, 2) == 0) random_host_step(r, rates, out);
    buf_add(out, "]}");
}

#endif
