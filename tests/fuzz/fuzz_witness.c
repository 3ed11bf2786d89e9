/* Any bytes as witnessed runs: runs.jsonl, then, behind a byte 0x1e each, session files. Loaded or
 * refused; a complete run can be measured and what comes out is finite and ordered. */
#include "fuzz.h"

#include "calib/witness.h"

#include <math.h>
#include <string.h>

static bool sane(const witness_summary *s) {
    return isfinite(s->p50_s) && isfinite(s->p95_s) && s->p50_s <= s->p95_s;
}

static void check_run(const witness_run *r, arena *mem) {
    EXPECT(r->id && r->model && r->machine && r->arm);
    EXPECT(r->K >= 1 && r->H >= 1 && r->slots_n >= 1 && r->n_batch >= 1 && r->n_ubatch >= 1);
    EXPECT(r->layout == KV_LAYOUT_SPLIT || r->layout == KV_LAYOUT_UNIFIED);
    for (size_t i = 0; i < r->turns_n; i++) {
        const witness_turn *t = &r->turns[i];
        if (i > 0)
            EXPECT(t[-1].agent < t->agent || (t[-1].agent == t->agent && t[-1].turn <= t->turn));
        EXPECT(r->excluded || (t->agent < r->K && t->t_send_s >= 0 && t->t_first_s >= t->t_send_s));
    }
    double wall = 0, p50 = 0, p99 = 0;
    witness_summary cold = {0}, warm = {0}, all = {0};
    if (!witness_measure(r, mem, &wall, &cold, &warm, &all, &p50, &p99)) return;
    EXPECT(r->complete && all.n == (int64_t)r->turns_n && cold.n + warm.n == all.n);
    EXPECT(sane(&cold) && sane(&warm) && sane(&all));
    EXPECT(isfinite(wall) && wall >= 0 && p50 >= 0 && p50 <= p99);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    arena *mem = arena_new((size_t)64 << 20);
    char *text = arena_alloc(mem, size + 1, 1); /* a NUL behind the bytes, as file_read gives */
    if (text) {
        if (size) memcpy(text, data, size);
        char *cut = size ? memchr(text, 0x1e, size) : NULL;
        file_bytes runs = {
            .name = "runs.jsonl", .s = text, .len = cut ? (size_t)(cut - text) : size};
        file_bytes sessions[4];
        size_t n = 0;
        while (cut && n < 4) {
            char *from = cut + 1;
            size_t left = size - (size_t)(from - text);
            *cut = '\0';
            cut = n < 3 && left ? memchr(from, 0x1e, left) : NULL;
            sessions[n++] = (file_bytes){
                .name = "sessions/x.jsonl", .s = from, .len = cut ? (size_t)(cut - from) : left};
        }
        witness w;
        err e = {0};
        err_code code = witness_parse(&runs, sessions, n, mem, &w, &e);
        EXPECT_ONE_OF(code, w.runs, e);
        for (size_t i = 0; i < w.n; i++) check_run(&w.runs[i], mem);
        for (size_t i = 0; i < w.warnings_n; i++) EXPECT(w.warnings[i][0] != '\0');
    }
    arena_free(mem);
    return 0;
}
