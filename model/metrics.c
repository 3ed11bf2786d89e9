#include "metrics.h"

#include "capacity.h"

#include "base/stat.h"

#include <stdlib.h>
#include <string.h>

static const double GIB = 1073741824.0;

percentiles percentiles_of_sorted(const int64_t *v, size_t n) {
    percentiles p = {.n = (int64_t)n};
    if (n == 0) return p;
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)v[i];
    p.mean_ns = sum / (double)n;
    p.p50_ns = v[stat_rank(n, 500000)];
    p.p95_ns = v[stat_rank(n, 950000)];
    p.p99_ns = v[stat_rank(n, 990000)];
    p.max_ns = v[n - 1];
    return p;
}

typedef enum population { COLD, WARM, ALL } population;

/* `v` has room for all turns. */
static percentiles ttft_of(const sim_result *r, const workload *w, population which, int64_t *v) {
    size_t n = 0;
    for (int64_t i = 0; i < r->turns_n; i++) {
        bool cold = i % w->H == 0;
        if ((which == COLD && !cold) || (which == WARM && cold)) continue;
        v[n++] = r->turns[i].first_ns - r->turns[i].send_ns;
    }
    stat_sort_i64(v, n);
    return percentiles_of_sorted(v, n);
}

static percentiles queue_wait_of(const sim_result *r, int64_t *v) {
    for (int64_t i = 0; i < r->turns_n; i++) v[i] = r->turns[i].start_ns - r->turns[i].send_ns;
    stat_sort_i64(v, (size_t)r->turns_n);
    return percentiles_of_sorted(v, (size_t)r->turns_n);
}

static int by_gap(const void *a, const void *b) {
    const itl_run *x = a, *y = b;
    return (x->gap_ns > y->gap_ns) - (x->gap_ns < y->gap_ns);
}

/* The value at 0-based rank `rank` of a sorted run-length list. */
static int64_t run_at(const itl_run *runs, size_t n, size_t rank) {
    size_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        seen += (size_t)runs[i].n;
        if (rank < seen) return runs[i].gap_ns;
    }
    return n ? runs[n - 1].gap_ns : 0;
}

static err_code itl_of(const sim_result *r, arena *scratch, percentiles *out, err *e) {
    *out = (percentiles){0};
    itl_run *runs = ARENA_ARRAY(scratch, itl_run, r->itl_n);
    if (!runs) return err_set(e, E_LIMIT, "", "does not fit the memory budget");
    if (r->itl_n == 0) return OK;
    memcpy(runs, r->itl, r->itl_n * sizeof *runs);
    qsort(runs, r->itl_n, sizeof *runs, by_gap);
    double sum = 0;
    for (size_t i = 0; i < r->itl_n; i++) {
        out->n += runs[i].n;
        sum += (double)runs[i].gap_ns * (double)runs[i].n;
    }
    size_t n = (size_t)out->n;
    out->mean_ns = sum / (double)n;
    out->p50_ns = run_at(runs, r->itl_n, stat_rank(n, 500000));
    out->p95_ns = run_at(runs, r->itl_n, stat_rank(n, 950000));
    out->p99_ns = run_at(runs, r->itl_n, stat_rank(n, 990000));
    out->max_ns = runs[r->itl_n - 1].gap_ns;
    return OK;
}

/* All factors are bounded by the loaders (2^53 bytes, 1e9 tokens); the products may not be. */
static err_code add_product(int64_t *sum, int64_t a, int64_t b, err *e) {
    int64_t p;
    if (__builtin_mul_overflow(a, b, &p) || __builtin_add_overflow(*sum, p, sum))
        return err_set(e, E_LIMIT, "", "memory of %lld x %lld bytes is beyond 2^63", (long long)a,
                       (long long)b);
    return OK;
}

static err_code memory_of(const sim_result *r, const arm *a, const cost *c, memory_use *out,
                          err *e) {
    memory_terms t = cost_memory(c);
    *out = (memory_use){.weights_bytes = t.weights_bytes,
                        .overhead_bytes = t.overhead_bytes,
                        .kv_resident_tok = r->kv_peak_tok,
                        .overhead_known = t.overhead_known,
                        .recurrent_known = t.recurrent_known,
                        .prov = t.prov};
    add_product(&out->kv_resident_bytes, r->kv_peak_tok, t.kv_bytes_per_tok, e);
    if (a->context_tok)
        add_product(&out->kv_reserved_bytes, capacity_reserved_tok(a), t.kv_bytes_per_tok, e);
    else
        out->kv_reserved_bytes = out->kv_resident_bytes;
    add_product(&out->recurrent_bytes, r->kv_peak_sequences, t.recurrent_state_bytes, e);
    int64_t kv = out->kv_reserved_bytes > out->kv_resident_bytes ? out->kv_reserved_bytes
                                                                 : out->kv_resident_bytes;
    add_product(&out->peak_bytes, 1, t.weights_bytes, e);
    add_product(&out->peak_bytes, 1, t.overhead_bytes, e);
    add_product(&out->peak_bytes, 1, kv, e);
    add_product(&out->peak_bytes, 1, out->recurrent_bytes, e);
    return e->code;
}

err_code metrics_of(const sim_result *r, const arm *a, const workload *w, const cost *c,
                    arena *scratch, metrics *out, err *e) {
    *out = (metrics){0};
    int64_t *v = ARENA_ARRAY(scratch, int64_t, r->turns_n);
    if (!v) return err_set(e, E_LIMIT, a->name, "does not fit the memory budget");
    out->ttft_cold = ttft_of(r, w, COLD, v);
    out->ttft_warm = ttft_of(r, w, WARM, v);
    out->ttft_all = ttft_of(r, w, ALL, v);
    out->queue_wait = queue_wait_of(r, v);
    if (itl_of(r, scratch, &out->itl, e) || memory_of(r, a, c, &out->memory, e)) return e->code;
    if (r->wall_ns > 0) out->effective_tok_s = (double)r->output_tok / ((double)r->wall_ns / 1e9);
    if (out->memory.peak_bytes > 0)
        out->agents_per_gib = (double)w->K / ((double)out->memory.peak_bytes / GIB);
    return OK;
}
