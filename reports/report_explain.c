#include "report_explain.h"

#include "table.h"

#include <string.h>

static const char *const MEANING[TERM_N] = {
    [TERM_PREFILL_TOK_S] =
        "flat prefill rate: n tokens take n / value seconds at any length and depth",
    [TERM_DELTA_PREFILL_S] = "a turn's own new tokens take this long, however many they are",
    [TERM_PREFILL_CONTEXT_S_PER_TOK2] =
        "prefill attention: seconds per new token and token before it",
    [TERM_DECODE_TOK_S] =
        "decode rate of one sequence at any context; the gain says how batching raises it",
    [TERM_DECODE_GAIN_CARD] = "batched steps grow with the batch as they do on the other card",
    [TERM_DECODE_CONTEXT_S_PER_TOK] = "decode attention: seconds per sequence and context token",
    [TERM_HOST_STEP_S] = "time outside the device added to every decode step",
    [TERM_CONSTANT_S] = "an event that occupies the device and does no work that a card prices",
    [TERM_WEIGHTS_BYTES] = "weights on the device",
    [TERM_OVERHEAD_BYTES] = "runtime buffers on the device",
    [TERM_KV_BYTES_PER_TOK] = "KV cache bytes of one token",
    [TERM_RECURRENT_STATE_BYTES] = "state of one sequence that does not grow with its context",
    [TERM_KV_EXCLUDES_LAST_OUTPUT] = "the last turn's output is not counted in the KV cache",
    [TERM_TTFT_CLAIM] = "a published TTFT formula; no price depends on it",
    [TERM_QUEUE_WAIT_IN_WALL] = "client queue wait added to device time: counts it twice",
};

static bool numeric(term t) {
    return t != TERM_DECODE_GAIN_CARD && t != TERM_KV_EXCLUDES_LAST_OUTPUT &&
           t != TERM_TTFT_CLAIM && t != TERM_QUEUE_WAIT_IN_WALL;
}

/* The scenario with assumption `i` of arm `a` raised by a tenth. */
static const scenario *raised(const projection *p, const arm *a, size_t i, arena *mem) {
    scenario *s = ARENA_NEW(mem, scenario);
    arm *one = ARENA_NEW(mem, arm);
    assumption *all = ARENA_ARRAY(mem, assumption, a->assume_n);
    if (!s || !one || !all) return NULL;
    memcpy(all, a->assume, a->assume_n * sizeof *all);
    all[i].value *= 1.1;
    *one = *a;
    one->assume = all;
    *s = *p->scenario;
    s->arms = one;
    s->arms_n = 1;
    s->baseline = 0;
    s->memory_budget_bytes = 0;
    return s;
}

static const char *effect(const arm_result *before, const arm_result *after, arena *mem) {
    double wall = (double)after->sim.wall_ns / (double)before->sim.wall_ns - 1;
    double peak = (double)after->m.memory.peak_bytes / (double)before->m.memory.peak_bytes - 1;
    if (before->sim.wall_ns == 0 || before->m.memory.peak_bytes == 0) return "";
    if (wall != 0 && peak != 0)
        return arena_printf(mem, "wall-clock %+.2f %%, peak memory %+.2f %%", 100 * wall,
                            100 * peak);
    if (peak != 0) return arena_printf(mem, "peak memory %+.2f %%", 100 * peak);
    return arena_printf(mem, "wall-clock %+.2f %%", 100 * wall);
}

static err_code explain_one(const projection *p, const arm_result *r, size_t i, table *t,
                            arena *mem, err *e) {
    const assumption *a = &r->arm->assume[i];
    const char *change = "not a number";
    const projection *q = NULL;
    if (numeric(a->what) && a->value == 0)
        change = "it is 0";
    else if (numeric(a->what)) {
        const scenario *s = raised(p, r->arm, i, mem);
        if (!s) return err_set(e, E_LIMIT, r->arm->name, "does not fit the memory budget");
        if (project_run(s, NULL, 0, mem, &q, e)) return e->code;
        change = effect(r, &q->arms[0], mem);
    }
    const char *row[] = {r->arm->name, TERM_NAMES[a->what], MEANING[a->what], PROV_UPPER[a->prov],
                         change};
    table_row(t, row);
    return OK;
}

err_code report_explain(const projection *p, arena *mem, buf *out, err *e) {
    static const char *const HEAD[] = {"arm", "term", "meaning", "provenance", "10 % more of it"};
    table *t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    size_t n = 0;
    for (size_t i = 1; i < 5; i++) table_left(t, i);
    table_row(t, HEAD);
    for (size_t a = 0; a < p->arms_n; a++)
        for (size_t i = 0; i < p->arms[a].arm->assume_n; i++, n++)
            if (explain_one(p, &p->arms[a], i, t, mem, e)) return e->code;
    buf_add(out, "\nAssumptions explained\n\n");
    if (n > 0)
        table_markdown(t, out);
    else
        buf_add(out, "- none: every price comes from the card\n");
    return OK;
}
