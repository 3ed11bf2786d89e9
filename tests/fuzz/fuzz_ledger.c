/* Any bytes as a ledger: folded or refused; a fold accounts for every row, and neither a second
 * copy of the file nor its lines in another order change a measured token. */
#include "fuzz.h"

#include "ledger.h"
#include "ledger_entry.h"
#include "report_ledger.h"

#include <math.h>
#include <string.h>

static void check(const rollup *r) {
    double v = 0;
    int64_t prompt = 0, reused = 0;
    size_t rows = 0;
    EXPECT(r->gate.rows + r->not_measured.rows + r->duplicates_n + r->zero_turn_n +
               r->single_turn_n ==
           r->rows_n);
    EXPECT(r->measured == (r->gate.prompt_tok > 0));
    EXPECT(!ledger_ratio(&r->gate, &v) || (v >= 0 && v <= 1));
    for (size_t i = 0; i < r->weeks_n; i++) {
        const ledger_week *w = &r->weeks[i];
        EXPECT(w->sum.rows > 0 && w->sum.reused_tok <= w->sum.prompt_tok);
        EXPECT(w->thin == (w->sum.rows < LEDGER_THIN_ROWS));
        EXPECT(i > 0 || w->trend == TREND_NEW);
        EXPECT(i == 0 || strcmp(r->weeks[i - 1].week, w->week) < 0);
        rows += w->sum.rows;
        prompt += w->sum.prompt_tok;
        reused += w->sum.reused_tok;
    }
    EXPECT(rows == r->gate.rows && prompt == r->gate.prompt_tok && reused == r->gate.reused_tok);
    EXPECT(r->warnings_n >= r->duplicates_n && r->warnings_kept_n <= r->warnings_n);
    for (size_t i = 0; i < r->warnings_kept_n; i++)
        EXPECT(r->warnings[i].line >= 1 && r->warnings[i].what[0] != '\0');
}

static void print(const rollup *r, const file_bytes *f, arena *mem) {
    buf out;
    buf_init(&out);
    report_rollup_json(r, f, 1, &out);
    report_rollup_text(r, mem, &out);
    EXPECT(out.len > 0);
    buf_done(&out);
}

static bool same_gate(const rollup *a, const rollup *b) {
    return a->gate.rows == b->gate.rows && a->gate.prompt_tok == b->gate.prompt_tok &&
           a->gate.reused_tok == b->gate.reused_tok && a->weeks_n == b->weeks_n &&
           a->trend == b->trend && a->not_measured.prompt_tok == b->not_measured.prompt_tok;
}

/* The file twice, and its rows from the last to the first. */
static void fold_again(const file_bytes *f, const rollup *once, arena *mem) {
    ledger l = {.mem = mem};
    err e = {0};
    rollup r;
    EXPECT(ledger_read(&l, f, &e) == OK && ledger_read(&l, f, &e) == OK);
    EXPECT(ledger_fold(&l, mem, &r, &e) == OK && same_gate(once, &r));
    EXPECT(r.duplicates_n == once->duplicates_n + once->rows_n);
    l.n /= 2;
    for (size_t i = 0; i < l.n / 2; i++) {
        ledger_row kept = l.rows[i];
        l.rows[i] = l.rows[l.n - 1 - i];
        l.rows[l.n - 1 - i] = kept;
    }
    EXPECT(ledger_fold(&l, mem, &r, &e) == OK && same_gate(once, &r));
    EXPECT(r.duplicates_n == once->duplicates_n && r.warnings_n == once->warnings_n);
}

/* The same bytes as a projection's result. */
static void as_result(const file_bytes *f, arena *mem) {
    ledger_entry x;
    err e = {0};
    if (ledger_of_result(f, NULL, mem, &x, &e) != OK) {
        EXPECT(e.what[0] != '\0');
        return;
    }
    x.date = "2026-09-03";
    x.provider = x.context = "c";
    buf line;
    buf_init(&line);
    ledger_entry_line(&x, &line);
    file_bytes made = {.name = "made", .s = line.s, .len = line.len};
    ledger l = {.mem = mem};
    EXPECT(ledger_read(&l, &made, &e) == OK && l.n == 1);
    EXPECT(!l.rows[0].ratio_fault && !l.rows[0].stats_fault);
    buf_done(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    arena *mem = arena_new((size_t)256 << 20);
    char *text = arena_alloc(mem, size + 1, 1); /* a NUL behind the bytes, as file_read gives */
    if (text) {
        if (size) memcpy(text, data, size);
        file_bytes f = {.name = "ledger.jsonl", .s = text, .len = size};
        file_sha256_hex(text, size, f.sha256);
        ledger l = {.mem = mem};
        err e = {0};
        rollup r;
        err_code code = ledger_read(&l, &f, &e);
        EXPECT(code == e.code && (code == OK || (e.what[0] && e.where[0])));
        code = ledger_fold(&l, mem, &r, &e);
        EXPECT(code == e.code);
        if (code == OK) {
            check(&r);
            print(&r, &f, mem);
            fold_again(&f, &r, mem);
        } else
            EXPECT(r.warnings_n == 0 || code == E_LIMIT);
        as_result(&f, mem);
    }
    arena_free(mem);
    return 0;
}
