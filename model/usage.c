#include "usage.h"

void usage_note_context(sim_usage *u, const decode_price *p, int64_t mean_context_tok) {
    int64_t over = mean_context_tok - p->reach_tok;
    if (p->reach_tok == 0 || over <= 0 || over <= u->beyond_context_tok - u->beyond_reach_tok)
        return;
    u->beyond_batch_n = p->batch_n;
    u->beyond_context_tok = mean_context_tok;
    u->beyond_reach_tok = p->reach_tok;
}

static void note_pool(sim_usage *u, const decode_price *p, int64_t sum_context_tok) {
    int64_t pool_tok = sum_context_tok - (p->batch_n - 1) * p->once_tok;
    if (p->scans_pool && pool_tok > u->decode_cells_tok) u->decode_cells_tok = pool_tok;
}

void usage_note_gap(sim_usage *u, const cost *c, int64_t n_tok, int64_t prefill_ns) {
    if (!cost_in_gap(c, n_tok)) return;
    u->gap_prefill_ns += prefill_ns;
    if (u->gap_prefill_tok == 0 || n_tok < u->gap_prefill_tok) u->gap_prefill_tok = n_tok;
}

void usage_note_prefill(sim_usage *u, int64_t n_tok, int64_t depth_tok, int64_t ns) {
    if (n_tok + depth_tok > u->prefill_context_max_tok)
        u->prefill_context_max_tok = n_tok + depth_tok;
    if (u->prefill_shortest_tok == 0 || ns < u->prefill_shortest_ns) {
        u->prefill_shortest_ns = ns;
        u->prefill_shortest_tok = n_tok;
    }
    /* tokens per ns, compared without dividing: n / ns > best_n / best_ns */
    if (u->prefill_fastest_tok == 0 || (double)n_tok * (double)u->prefill_fastest_ns >
                                           (double)u->prefill_fastest_tok * (double)ns) {
        u->prefill_fastest_ns = ns;
        u->prefill_fastest_tok = n_tok;
    }
}

void usage_note_decode(sim_usage *u, const decode_price *p, int64_t sum_context_tok,
                       int64_t one_step_ns, int64_t ns) {
    if (p->batch_n > u->batch_max) u->batch_max = p->batch_n;
    if (u->step_shortest_batch_n == 0 || one_step_ns < u->step_shortest_ns) {
        u->step_shortest_ns = one_step_ns;
        u->step_shortest_batch_n = p->batch_n;
    }
    if (p->extrapolated) u->decode_extrapolated_ns += ns;
    usage_note_context(u, p, sum_context_tok / p->batch_n);
    note_pool(u, p, sum_context_tok);
}
