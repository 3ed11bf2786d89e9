/* Any bytes as a scenario: loaded or refused; what loads and is small is projected and its books
 * must balance. */
#include "fuzz.h"

#include "project.h"
#include "scenario.h"

#include <string.h>

static bool is_small(const scenario *s) {
    int64_t longest = 0;
    for (int64_t k = 0; k < s->work.K; k++) {
        int64_t context = workload_max_context_tok(&s->work, k);
        if (context > longest) longest = context;
    }
    return s->work.K * s->work.H <= 200 && longest <= 20000;
}

static void check_arm(const scenario *s, const sim_result *r) {
    int64_t presented = 0;
    for (int64_t k = 0; k < s->work.K; k++)
        for (int64_t t = 1; t <= s->work.H; t++)
            presented += workload_agent_prompt_tok(&s->work, k, t);
    EXPECT(r->presented_tok == presented);
    EXPECT(r->presented_tok == r->reused_tok + r->computed_tok);
    EXPECT(r->reused_tok >= 0 && r->computed_tok >= 0 && r->reused_cross_tok <= r->reused_tok);
    EXPECT(r->output_tok == s->work.K * s->work.H * s->work.turn_out_tok);
    EXPECT(r->prefill_ns >= 0 && r->decode_ns >= 0 && r->other_ns >= 0 && r->idle_ns >= 0);
    EXPECT(r->prefill_ns + r->decode_ns + r->other_ns + r->idle_ns == r->wall_ns);
    for (int64_t i = 0; i < r->turns_n; i++) {
        const turn_record *t = &r->turns[i];
        EXPECT(t->send_ns <= t->start_ns && t->start_ns <= t->first_ns &&
               t->first_ns <= t->done_ns);
        EXPECT(t->done_ns <= r->wall_ns);
    }
}

static void project(const scenario *loaded, arena *mem) {
    scenario s = *loaded;
    s.memory_budget_bytes = 0; /* the search for the largest K runs up to 65,536 agents: not here */
    const projection *p = NULL;
    err e = {0};
    err_code code = project_run(&s, NULL, 0, mem, &p, &e);
    EXPECT_ONE_OF(code, p, e);
    for (size_t i = 0; p && i < p->arms_n; i++) check_arm(&s, &p->arms[i].sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    card_library *lib = fuzz_library();
    arena *mem = arena_new((size_t)128 << 20);
    char *text = arena_alloc(mem, size + 1, 1);
    if (text) {
        if (size) memcpy(text, data, size);
        /* the place of the file decides whether claimed cards may be used: here they may */
        file_bytes f = {
            .name = RATECAST_REPO "/scenarios/published/fuzz.json", .s = text, .len = size};
        const scenario *s = NULL;
        err e = {0};
        err_code code = scenario_parse(&f, lib, NULL, 0, mem, &s, &e);
        EXPECT_ONE_OF(code, s, e);
        if (s && is_small(s)) project(s, mem);
    }
    arena_free(mem);
    return 0;
}
