#include "capacity.h"

#include "base/stat.h"

#include <stdio.h>

static int64_t round_up(int64_t v, int64_t to) {
    return (v + to - 1) / to * to;
}

/* What all slots share in one; a unified pool takes no padding. */
static bool is_pool(const arm *a) {
    return a->layout == KV_LAYOUT_UNIFIED;
}

int64_t capacity_slot_tok(const arm *a) {
    int64_t all = a->context_per_slot ? a->context_tok * a->slots_n : a->context_tok;
    return is_pool(a) ? all : round_up(all / a->slots_n, a->slot_pad_tok);
}

int64_t capacity_reserved_tok(const arm *a) {
    if (a->context_tok == 0) return 0;
    return is_pool(a) ? capacity_slot_tok(a) : capacity_slot_tok(a) * a->slots_n;
}

static int64_t neediest(const workload *w) {
    int64_t k_max = 0;
    for (int64_t k = 1; k < w->K; k++)
        if (workload_max_context_tok(w, k) > workload_max_context_tok(w, k_max)) k_max = k;
    return k_max;
}

static err_code check_split(const arm *a, const workload *w, err *e) {
    int64_t k = neediest(w), need = workload_max_context_tok(w, k), has = capacity_slot_tok(a);
    if (need <= has) return OK;
    int64_t all = a->context_per_slot ? a->context_tok * a->slots_n : a->context_tok,
            fit = all / need;
    char padded[96] = "", slots[96];
    if (a->slot_pad_tok > 1)
        snprintf(padded, sizeof padded, " (padded to %lld: %lld slots of %lld, %lld cells)",
                 (long long)a->slot_pad_tok, (long long)a->slots_n,
                 (long long)round_up(need, a->slot_pad_tok),
                 (long long)(round_up(need, a->slot_pad_tok) * a->slots_n));
    if (fit > 0)
        snprintf(slots, sizeof slots, "at most %lld slot%s", (long long)fit, fit == 1 ? "" : "s");
    else
        snprintf(slots, sizeof slots, "no slot is large enough");
    return err_set(e, E_REFUSED, a->name,
                   "agent %lld needs %lld tokens (prompt %lld + output %lld), a slot has %lld of "
                   "%lld: %lld slots need a "
                   "total context of %lld%s; with %lld, %s",
                   (long long)k + 1, (long long)need, (long long)(need - w->turn_out_tok),
                   (long long)w->turn_out_tok, (long long)has, (long long)all,
                   (long long)a->slots_n, (long long)(need * a->slots_n), padded, (long long)all,
                   slots);
}

/* Tokens of the m neediest agents together, the shared prefix counted once where it is held once.
 * NULL scratch: 0. */
static int64_t together(const arm *a, const workload *w, const int64_t *sorted, int64_t m) {
    int64_t sum = 0, once = a->reuse == REUSE_SHARED ? w->P : 0;
    for (int64_t i = 0; i < m; i++) sum += sorted[w->K - 1 - i] - once;
    return m > 0 ? sum + once : 0;
}

static const int64_t *sorted_needs(const workload *w, arena *scratch) {
    int64_t *v = ARENA_ARRAY(scratch, int64_t, w->K);
    for (int64_t k = 0; v && k < w->K; k++) v[k] = workload_max_context_tok(w, k);
    if (v) stat_sort_i64(v, (size_t)w->K);
    return v;
}

/* Sequences that hold tokens at one time: a slot each, or all agents of a tree that forgets nobody.
 */
static int64_t holders(const arm *a, const workload *w) {
    if (a->reuse == REUSE_SHARED) return w->K;
    int64_t slots = a->batch == BATCH_SERIAL && a->reuse == REUSE_NONE ? 1 : a->slots_n;
    return slots < w->K ? slots : w->K;
}

static err_code check_pool(const arm *a, const workload *w, arena *scratch, err *e) {
    const int64_t *sorted = sorted_needs(w, scratch);
    if (!sorted) return err_set(e, E_LIMIT, a->name, "does not fit the memory budget");
    int64_t n = holders(a, w), has = capacity_slot_tok(a), need = together(a, w, sorted, n);
    if (need <= has) return OK;
    int64_t safe = n;
    while (safe > 0 && together(a, w, sorted, safe) > has) safe--;
    char most[160];
    if (safe == 0)
        snprintf(most, sizeof most, "agent %lld alone needs %lld", (long long)neediest(w) + 1,
                 (long long)sorted[w->K - 1]);
    else
        snprintf(most, sizeof most, "%lld of them fit together with %lld to spare", (long long)safe,
                 (long long)(has - together(a, w, sorted, safe)));
    return err_set(e, E_REFUSED, a->name,
                   "the KV pool overflows by %lld tokens: %lld requests at their longest need "
                   "%lld, the pool has %lld; up to "
                   "%lld requests fail together. %s; all need context_tok %lld",
                   (long long)(need - has), (long long)n, (long long)need, (long long)has,
                   (long long)n, most, (long long)need);
}

err_code capacity_check(const arm *a, const workload *w, arena *scratch, err *e) {
    if (a->context_tok == 0) return OK;
    return is_pool(a) ? check_pool(a, w, scratch, e) : check_split(a, w, e);
}

int64_t capacity_spare_tok(const arm *a, const workload *w, arena *scratch) {
    if (a->context_tok == 0) return -1;
    if (!is_pool(a)) return capacity_slot_tok(a) - workload_max_context_tok(w, neediest(w));
    const int64_t *sorted = sorted_needs(w, scratch);
    return sorted ? capacity_slot_tok(a) - together(a, w, sorted, holders(a, w)) : -1;
}
