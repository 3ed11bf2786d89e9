#include "scenario.h"

#include "temp.h"

#include "base/file.h"
#include "project.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[TEMP_MAX];
static arena *mem;
static err e;
static const char *path;
static card_library lib;

static void put(const char *name, const char *text) {
    err io = {0};
    cr_assert_eq(file_write(arena_printf(mem, "%s/%s", dir, name), text, strlen(text), &io), OK,
                 "%s", io.what);
}

/* Prices everything that the tests run: two decode contexts at one and four sequences, prefill at
 * two depths. */
static const char CARD[] =
    "{\"schema\": \"ratecast.rate-card/1\", \"id\": \"small\", \"title\": \"t\", \"method\": "
    "\"engine\", "
    "\"provenance\": \"witnessed\", \"source\": \"s\", \"model\": \"m\", \"quant\": \"q\", "
    "\"weights_bytes\": 1000000, "
    "\"layers\": 2, \"full_attention_layers\": 2, \"kv_heads\": 1, \"head_dim\": 64, "
    "\"kv_element_bytes\": 2, "
    "\"engine\": {\"name\": \"e\", \"n_ubatch\": 512}, \"hardware\": {\"chip\": \"c\"}, "
    "\"prefill\": [{\"n_prompt_tok\": 64, \"s\": 0.02}, {\"n_prompt_tok\": 64, \"depth_tok\": "
    "1000, \"s\": 0.03}, "
    "{\"n_prompt_tok\": 512, \"s\": 0.1}], "
    "\"decode\": [{\"batch_n\": 1, \"context_tok\": 100, \"step_s\": 0.010}, {\"batch_n\": 1, "
    "\"context_tok\": 1100, "
    "\"step_s\": 0.012}, {\"batch_n\": 4, \"context_tok\": 100, \"step_s\": 0.016}]}";

static const char CLAIM[] = "{\"schema\": \"ratecast.rate-card/1\", \"id\": \"claim\", \"title\": "
                            "\"t\", \"method\": \"import\", "
                            "\"provenance\": \"claim\", \"source\": \"s\", \"model\": \"m\", "
                            "\"quant\": \"q\", \"claim_only\": true, "
                            "\"engine\": {\"name\": \"e\"}, \"hardware\": {\"chip\": \"c\"}, "
                            "\"prefill\": [], \"decode\": []}";

static const char BASE[] =
    "{\"schema\": \"ratecast.scenario/1\", \"id\": \"base\", \"title\": \"t\", \"model\": \"m\", "
    "\"card\": \"small\", "
    "\"workload\": {\"K\": 4, \"H\": 20, \"P\": 4096, \"turn_delta_in_tok\": 128, "
    "\"turn_out_tok\": 64, "
    "\"turn_shape\": \"delta_first\"}, "
    "\"assumptions\": [{\"term\": \"host_step_s\", \"value\": 0.5, \"provenance\": \"assumed\", "
    "\"reason\": \"r\"}, "
    "{\"term\": \"overhead_bytes\", \"value\": 10, \"provenance\": \"assumed\", \"reason\": "
    "\"r\"}], "
    "\"arms\": [{\"name\": \"naive\", \"prefix_reuse\": \"none\", \"batching\": \"serial\"}, "
    "{\"name\": \"own\", \"prefix_reuse\": \"per_slot\", \"batching\": \"lockstep\", "
    "\"reuse_last_token\": true, "
    "\"assumptions\": [{\"term\": \"overhead_bytes\", \"value\": 77, \"provenance\": \"claim\", "
    "\"reason\": \"own\"}]}, "
    "{\"name\": \"tree\", \"prefix_reuse\": \"shared\", \"batching\": \"continuous\", "
    "\"reuse_last_token\": true}], "
    "\"baseline\": \"own\", \"unmodeled\": [\"heat\", \"paging\"]}";

static void set_up(void) {
    temp_folder(dir, "scenario");
    mem = arena_new((size_t)512 * 1024 * 1024);
    lib = (card_library){.dirs = {dir}, .n = 1};
    put("small.json", CARD);
    put("claim.json", CLAIM);
    put("base.json", BASE);
    path = arena_printf(mem, "%s/base.json", dir);
}

static void tear_down(void) {
    static const char *const NAMES[] = {"small.json", "claim.json", "base.json", "other.json"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        unlink(arena_printf(mem, "%s/%s", dir, NAMES[i]));
    rmdir(dir);
    arena_free(mem);
}

TestSuite(scenario, .init = set_up, .fini = tear_down);

static const scenario *load(const char *const *sets, size_t n) {
    const scenario *s = NULL;
    e = (err){0};
    if (scenario_load(path, &lib, sets, n, mem, &s, &e) != OK) cr_assert_null(s);
    return s;
}

/* The base scenario with one change; it has to load. */
static const scenario *with(const char *set) {
    const char **sets = ARENA_ARRAY(mem, const char *, 1); /* borrowed by the scenario */
    sets[0] = set;
    const scenario *s = load(sets, 1);
    cr_assert_not_null(s, "%s: %s: %s", set, e.where, e.what);
    return s;
}

static const scenario *base(void) {
    const scenario *s = load(NULL, 0);
    cr_assert_not_null(s, "%s: %s", e.where, e.what);
    return s;
}

static void refuses(const char *set, err_code code, const char *where, const char *what) {
    cr_assert_null(load(&set, 1), "%s loads", set);
    cr_assert_eq(e.code, code, "%s: code %d: %s: %s", set, (int)e.code, e.where, e.what);
    cr_assert_not_null(strstr(e.where, where), "%s: place is %s", set, e.where);
    cr_assert_not_null(strstr(e.what, what), "%s: %s", set, e.what);
}

/* ---- token accounting, summed here turn by turn ---- */

typedef struct tally {
    int64_t presented, naive, own, shared, longest;
} tally;

/* Follows the words of the two documents: what an agent sends, what was there before, what is new.
 */
static tally follow(int64_t K, int64_t H, int64_t P, const int64_t *own, int64_t in_tok,
                    int64_t out_tok, bool delta_first) {
    tally t = {0};
    for (int64_t k = 0; k < K; k++) {
        int64_t mine = own ? own[k] : 0, context = 0; /* of this agent, after its last turn */
        for (int64_t turn = 0; turn < H; turn++) {
            int64_t fresh = delta_first || turn > 0 ? in_tok : 0;
            int64_t prompt = (turn == 0 ? P + mine : context) + fresh;
            t.presented += prompt;
            t.naive += prompt;
            t.own += turn == 0 ? P + mine + fresh : fresh;
            t.shared += fresh + (turn == 0 ? mine : 0) + (turn == 0 && k == 0 ? P : 0);
            context = prompt + out_tok;
            if (context > t.longest) t.longest = context;
        }
    }
    return t;
}

Test(scenario, the_tally_gives_the_documents_figures) {
    tally first = follow(4, 20, 4096, NULL, 128, 64, true),
          fleet = follow(5, 200, 2048, NULL, 12, 20, false);
    cr_assert_eq(first.presented, 483840);
    cr_assert_eq(fleet.naive, 5232000);
    cr_assert_eq(fleet.own, 22180);
    cr_assert_eq(fleet.shared, 13988);
}

static void check_sums(const workload *w) {
    tally t = follow(w->K, w->H, w->P, w->private_tok, w->turn_delta_in_tok, w->turn_out_tok,
                     w->shape == SHAPE_DELTA_FIRST);
    int64_t sum = 0, longest = 0;
    for (int64_t k = 0; k < w->K; k++) {
        for (int64_t i = 1; i <= w->H; i++) sum += workload_agent_prompt_tok(w, k, i);
        int64_t context = workload_max_context_tok(w, k);
        if (context > longest) longest = context;
    }
    cr_assert_eq(sum, t.presented);
    cr_assert_eq(workload_presented_tok(w), t.presented);
    cr_assert_eq(longest, t.longest);
}

Test(scenario, prompts_add_up) {
    static const int64_t NONE[3], OWN[] = {17, 0, 900};
    for (int64_t H = 1; H < 60; H += 7)
        for (int64_t P = 0; P < 5000; P += 1237)
            for (int64_t in_tok = 0; in_tok < 300; in_tok += 71)
                for (int i = 0; i < 4; i++) {
                    workload w = {.K = 3,
                                  .H = H,
                                  .P = P,
                                  .turn_delta_in_tok = in_tok,
                                  .turn_out_tok = in_tok + 5,
                                  .shape = i % 2 ? SHAPE_RESULT_AFTER : SHAPE_DELTA_FIRST,
                                  .private_tok = i < 2 ? NONE : OWN};
                    check_sums(&w);
                }
}

static void runs_as(const char *const *sets, size_t n, const tally *want) {
    const scenario *s = load(sets, n);
    const projection *p = NULL;
    cr_assert_not_null(s, "%s: %s", e.where, e.what);
    cr_assert_eq(project_run(s, NULL, 0, mem, &p, &e), OK, "%s: %s", e.where, e.what);
    int64_t computed[] = {want->naive, want->own, want->shared};
    for (size_t i = 0; i < 3; i++) {
        const sim_result *r = &p->arms[i].sim;
        cr_assert_eq(r->presented_tok, want->presented, "arm %zu", i);
        cr_assert_eq(r->computed_tok, computed[i], "arm %zu computes %lld", i,
                     (long long)r->computed_tok);
        cr_assert_eq(r->reused_tok, want->presented - computed[i], "arm %zu", i);
    }
}

Test(scenario, engine_computes_what_the_tally_says) {
    static const char *const FLEET[] = {"workload.K=5",
                                        "workload.H=200",
                                        "workload.P=2048",
                                        "workload.turn_delta_in_tok=12",
                                        "workload.turn_out_tok=20",
                                        "workload.turn_shape=result_after"};
    tally first = follow(4, 20, 4096, NULL, 128, 64, true),
          fleet = follow(5, 200, 2048, NULL, 12, 20, false);
    static const char *const PRIVATE[] = {"workload.private_tok=[100, 0, 7, 2000]"};
    static const int64_t OWN[] = {100, 0, 7, 2000};
    tally private_too = follow(4, 20, 4096, OWN, 128, 64, true);
    runs_as(NULL, 0, &first);
    runs_as(PRIVATE, 1, &private_too);
    runs_as(FLEET, sizeof FLEET / sizeof *FLEET, &fleet);
}

/* ---- what a good scenario becomes ---- */

Test(scenario, base_is_read_as_written) {
    const scenario *s = base();
    cr_assert_str_eq(s->id, "base");
    cr_assert_eq(strlen(s->sha256), 64);
    cr_assert_eq(s->work.K, 4);
    cr_assert_eq(s->work.shape, SHAPE_DELTA_FIRST);
    cr_assert_eq(s->work.tool_latency_ns, 0);
    for (int i = 0; i < 4; i++) cr_assert_eq(s->work.start_offset_ns[i], 0);
    cr_assert_eq(s->arms_n, 3);
    cr_assert_eq(s->baseline, 1);
    cr_assert_eq(s->memory_budget_bytes, 0);
    cr_assert_eq(s->unmodeled_n, 2);
    cr_assert_str_eq(s->unmodeled[1], "paging");
    const arm *naive = &s->arms[0];
    cr_assert_eq(naive->reuse, REUSE_NONE);
    cr_assert_eq(naive->batch, BATCH_SERIAL);
    cr_assert_eq(naive->slots_n, 4, "a slot for each agent");
    cr_assert_eq(naive->block_tok, 1);
    cr_assert_not(naive->reuse_last_token);
    cr_assert_str_eq(naive->title, "naive");
    cr_assert_str_eq(naive->card->id, "small");
}

Test(scenario, own_assumptions_come_before_common_ones) {
    const scenario *s = base();
    cr_assert(arm_assumes(&s->arms[0], TERM_OVERHEAD_BYTES)->value == 10);
    cr_assert(arm_assumes(&s->arms[1], TERM_OVERHEAD_BYTES)->value == 77, "the arm's own");
    cr_assert_eq(arm_assumes(&s->arms[1], TERM_OVERHEAD_BYTES)->prov, PROV_CLAIM);
    cr_assert(arm_assumes(&s->arms[1], TERM_HOST_STEP_S)->value == 0.5, "the rest is common");
    cr_assert_eq(s->arms[1].assume_n, 2);
    cr_assert_null(arm_assumes(&s->arms[0], TERM_CONSTANT_S));
}

Test(scenario, start_times) {
    const int64_t *off = with("workload.stagger_s=0.25")->work.start_offset_ns;
    for (int64_t k = 0; k < 4; k++) cr_assert_eq(off[k], k * 250000000);
    off = with("workload.start_offsets_s=[0, 1.5, 0.000000001, 2]")->work.start_offset_ns;
    cr_assert(off[0] == 0 && off[1] == 1500000000 && off[2] == 1 && off[3] == 2000000000);
    cr_assert_eq(with("workload.tool_latency_s=0.1")->work.tool_latency_ns, 100000000);
}

Test(scenario, the_last_arm_is_the_baseline_when_none_is_named) {
    static const char TEXT[] = "{\"schema\": \"ratecast.scenario/1\", \"id\": \"o\", \"title\": "
                               "\"t\", \"workload\": {\"K\": 1, \"H\": 1, "
                               "\"P\": 8, \"turn_delta_in_tok\": 1, \"turn_out_tok\": 1, "
                               "\"turn_shape\": \"result_after\"}, \"arms\": ["
                               "{\"name\": \"a\", \"card\": \"small.json\", \"prefix_reuse\": "
                               "\"none\", \"batching\": \"serial\"}, "
                               "{\"name\": \"b\", \"card\": \"small\", \"prefix_reuse\": \"none\", "
                               "\"batching\": \"serial\"}]}";
    put("other.json", TEXT);
    path = arena_printf(mem, "%s/other.json", dir);
    cr_assert_eq(base()->baseline, 1);
    cr_assert_str_eq(base()->arms[0].card->id, "small",
                     "a path is relative to the scenario's file");
}

/* ---- --set PATH=VALUE ---- */

Test(scenario, set_changes_what_it_names) {
    cr_assert_eq(with("workload.K=8")->work.K, 8);
    cr_assert_eq(with("arms.tree.slots_n=3")->arms[2].slots_n, 3);
    cr_assert_eq(with("arms.2.slots_n=3")->arms[2].slots_n, 3, "by index");
    cr_assert_eq(with("arms.tree.block_tok=16")->arms[2].block_tok, 16,
                 "a member that was not there");
    cr_assert_eq(with("arms.own.reuse_last_token=false")->arms[1].reuse_last_token, false);
    cr_assert_eq(with("arms.naive.batching=continuous")->arms[0].batch, BATCH_CONTINUOUS);
    cr_assert_str_eq(with("title=two words")->title, "two words");
    cr_assert_str_eq(with("title=\"quoted\"")->title, "quoted");
    cr_assert_str_eq(with("title=a=b")->title, "a=b", "the first = ends the path");
    cr_assert_eq(with("baseline=tree")->baseline, 2);
    cr_assert_eq(with("memory_budget_bytes=1e9")->memory_budget_bytes, 1000000000);
    const scenario *s = with("assumptions.host_step_s.value=0.125");
    cr_assert(arm_assumes(&s->arms[0], TERM_HOST_STEP_S)->value == 0.125,
              "assumptions by their term");
    s = with("arms.own.assumptions.overhead_bytes.value=5");
    cr_assert(arm_assumes(&s->arms[1], TERM_OVERHEAD_BYTES)->value == 5);
    s = with("unmodeled=[\"one\"]");
    cr_assert_eq(s->unmodeled_n, 1);
    s = with("arms.2={\"name\": \"new\", \"prefix_reuse\": \"none\", \"batching\": \"serial\"}");
    cr_assert_eq(s->arms_n, 3);
}

/* The last of several wins, and all are recorded. */
Test(scenario, sets_are_applied_in_order) {
    static const char *const SETS[] = {"workload.K=8", "workload.H=3", "workload.K=2"};
    const scenario *s = load(SETS, 3);
    cr_assert_not_null(s, "%s", e.what);
    cr_assert_eq(s->work.K, 2);
    cr_assert_eq(s->work.H, 3);
    cr_assert_eq(s->overrides_n, 3);
    cr_assert_str_eq(s->overrides[1], "workload.H=3");
}

Test(scenario, set_that_names_nothing) {
    static const struct {
        const char *set, *what;
        err_code code;
    } CASES[] = {{"workload.K", "PATH=VALUE", E_USAGE},
                 {"=8", "PATH=VALUE", E_USAGE},
                 {"", "PATH=VALUE", E_USAGE},
                 {"work.K=8", "\"work\"", E_USAGE},
                 {"arms.trea.slots_n=1", "\"trea\"", E_USAGE},
                 {"arms.9.slots_n=1", "\"9\"", E_USAGE},
                 {"arms.-1.slots_n=1", "\"-1\"", E_USAGE},
                 {"arms.9={}", "\"9\"", E_USAGE},
                 {"workload.K.x=1", "\"x\"", E_USAGE},
                 {"title.x.y=1", "\"x\"", E_USAGE},
                 {"workload..K=1", "\"\"", E_USAGE},
                 {"workload.K=8x", "not JSON", E_USAGE},
                 {"workload.K=08", "not JSON", E_USAGE},
                 {"unmodeled=[1", "not JSON", E_USAGE},
                 {"title=\"open", "not JSON", E_USAGE},
                 {"workload.K={\"a\":}", "not JSON", E_USAGE}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        refuses(CASES[i].set, CASES[i].code, "--set ", CASES[i].what);
        cr_assert_not_null(strstr(e.where, CASES[i].set), "the text is quoted: %s", e.where);
    }
}

Test(scenario, set_of_an_unknown_key_is_found_by_the_reader) {
    refuses("workload.k=8", E_SCHEMA, "base.json#/workload/k", "\"K\"");
    refuses("arms.tree.slots=8", E_SCHEMA, "base.json#/arms/2/slots", "\"slots_n\"");
    refuses("tittle=x", E_SCHEMA, "base.json#/tittle", "\"title\"");
}

/* What goes in as text comes out in reports, which are UTF-8 and JSON. */
Test(scenario, set_text_is_as_strict_as_a_file) {
    const char *set = "title=\xFF\xFE";
    cr_assert_null(load(&set, 1), "invalid UTF-8 is accepted");
    set = "title=\xC0\xAF";
    cr_assert_null(load(&set, 1), "overlong UTF-8 is accepted");
    cr_assert_str_eq(with("title=\xC2\xB1 30 %")->title, "\xC2\xB1 30 %");
}

/* ---- every fault has its place ---- */

typedef struct fault {
    const char *set, *where, *what;
    err_code code;
} fault;

Test(scenario, faults_of_the_workload) {
    static const fault CASES[] = {
        {"workload.K=0", "base.json#/workload/K", "from 1", E_RANGE},
        {"workload.K=1.5", "base.json#/workload/K", "whole number", E_RANGE},
        {"workload.K=four", "base.json#/workload/K", "the string \"four\"", E_SCHEMA},
        {"workload.K=null", "base.json#/workload/K", "null", E_SCHEMA},
        {"workload.H=0", "base.json#/workload/H", "from 1", E_RANGE},
        {"workload.P=-1", "base.json#/workload/P", "from 0", E_RANGE},
        {"workload.turn_delta_in_tok=-1", "base.json#/workload/turn_delta_in_tok", "from 0",
         E_RANGE},
        {"workload.turn_out_tok=0", "base.json#/workload/turn_out_tok", "from 1", E_RANGE},
        {"workload.turn_shape=delta", "base.json#/workload/turn_shape", "\"result_after\"",
         E_SCHEMA},
        {"workload.tool_latency_s=-1", "base.json#/workload/tool_latency_s", "from 0", E_RANGE},
        {"workload.tool_latency_s=1e400", "base.json#/workload/tool_latency_s", "finite", E_RANGE},
        {"workload.stagger_s=true", "base.json#/workload/stagger_s", "expected a number", E_SCHEMA},
        {"workload.stagger_s=9e6", "base.json#/workload", "late", E_RANGE},
        {"workload.start_offsets_s=[1, 2]", "base.json#/workload/start_offsets_s", "expected K = 4",
         E_RANGE},
        {"workload.start_offsets_s=[0, 0, 0, -1]", "base.json#/workload/start_offsets_s/3",
         "from 0", E_RANGE},
        {"workload.private_tok=[1, 2]", "base.json#/workload/private_tok", "expected K = 4",
         E_RANGE},
        {"workload.private_tok=[1, 2, 3, 0.5]", "base.json#/workload/private_tok", "whole number",
         E_RANGE},
        {"workload.private_tok=-1", "base.json#/workload/private_tok", "from 0", E_RANGE},
        {"workload.private_tok=999999999", "base.json#/workload/private_tok", "contexts grow",
         E_LIMIT},
        {"workload={}", "base.json#/workload", "\"K\" is missing", E_SCHEMA},
        {"workload=[]", "base.json#/workload", "expected an object", E_SCHEMA},
        {"workload.H=1000001", "base.json#/workload/H", "to 1000000", E_RANGE},
        {"workload.P=999999999", "base.json#/workload", "contexts grow", E_LIMIT},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        refuses(CASES[i].set, CASES[i].code, CASES[i].where, CASES[i].what);
}

Test(scenario, too_many_turns) {
    static const char *const SETS[] = {"workload.K=5", "workload.H=800001"};
    cr_assert_null(load(SETS, 2));
    cr_assert_eq(e.code, E_LIMIT);
    cr_assert_not_null(strstr(e.what, "4000005 turns"), "%s", e.what);
    cr_assert_not_null(strstr(e.where, "base.json#/workload"), "%s", e.where);
}

Test(scenario, faults_of_arms) {
    static const fault CASES[] = {
        {"arms=[]", "base.json#/arms", "found 0 arms", E_RANGE},
        {"arms={}", "base.json#/arms", "expected an array", E_SCHEMA},
        {"arms.1=7", "base.json#/arms/1", "expected an object", E_SCHEMA},
        {"arms.tree.name=own", "base.json#/arms/2", "second arm with name \"own\"", E_SCHEMA},
        {"arms.tree.name=\"\"", "base.json#/arms/2/name", "empty", E_RANGE},
        {"arms.tree.prefix_reuse=radix", "base.json#/arms/2/prefix_reuse", "\"shared\"", E_SCHEMA},
        {"arms.tree.batching=batch", "base.json#/arms/2/batching", "\"continuous\"", E_SCHEMA},
        {"arms.tree.slots_n=0", "base.json#/arms/2/slots_n", "from 1", E_RANGE},
        {"arms.tree.block_tok=0", "base.json#/arms/2/block_tok", "from 1", E_RANGE},
        {"arms.tree.context_tok=0", "base.json#/arms/2/context_tok", "from 1", E_RANGE},
        {"arms.tree.context_tok=9", "base.json#/arms/2/context_tok", "context_scope", E_SCHEMA},
        {"arms.tree.context_scope=total", "base.json#/arms/2/context_scope", "context_tok",
         E_SCHEMA},
        {"arms.tree.prefill=mixed", "base.json#/arms/2", "\"max_batch_tok\" is missing", E_SCHEMA},
        {"arms.tree.max_batch_tok=9", "base.json#/arms/2/max_batch_tok", "prefill mixed", E_SCHEMA},
        {"arms.naive.prefill=mixed", "base.json#/arms/0/prefill", "continuous", E_SCHEMA},
        {"arms.own.cold_sights_n=2", "base.json#/arms/1/cold_sights_n", "prefix_reuse shared",
         E_SCHEMA},
        {"arms.tree.reuse_last_token=1", "base.json#/arms/2/reuse_last_token", "true or false",
         E_SCHEMA},
        {"arms.own.first_comers=each", "base.json#/arms/1/first_comers", "prefix_reuse shared",
         E_SCHEMA},
        {"arms.own.slots_n=3", "base.json#/arms/1/slots_n", "lockstep", E_REFUSED},
        {"arms.tree.card=smal", "base.json#/arms/2/card", "\"small\"", E_SCHEMA},
        {"arms.tree.card=none.json", "base.json#/arms/2/card", "cannot be opened", E_IO},
        {"arms.tree.card=claim", "base.json#/arms/2/card", "scenarios/published/", E_REFUSED},
        {"model=other", "base.json#/card", "model \"m\"", E_SCHEMA},
        {"baseline=nobody", "base.json#/baseline", "found \"nobody\", expected the name of an arm",
         E_SCHEMA},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        refuses(CASES[i].set, CASES[i].code, CASES[i].where, CASES[i].what);
}

Test(scenario, faults_of_assumptions) {
    static const fault CASES[] = {
        {"assumptions.0.term=magic", "base.json#/assumptions/0/term", "\"host_step_s\"", E_SCHEMA},
        {"assumptions.0.value=-1", "base.json#/assumptions/0/value", "from 0", E_RANGE},
        {"assumptions.0.provenance=guess", "base.json#/assumptions/0/provenance", "\"assumed\"",
         E_SCHEMA},
        {"assumptions.0.provenance=witnessed", "base.json#/assumptions/0/provenance", "\"source\"",
         E_SCHEMA},
        {"assumptions.0.provenance=derived", "base.json#/assumptions/0/provenance", "\"source\"",
         E_SCHEMA},
        {"assumptions.0.provenance=modeled", "base.json#/assumptions/0/provenance", "\"source\"",
         E_SCHEMA},
        {"assumptions.0.provenance=roofline", "base.json#/assumptions/0/provenance", "\"source\"",
         E_SCHEMA},
        {"arms.own.assumptions.0.provenance=witnessed",
         "base.json#/arms/1/assumptions/0/provenance", "\"source\"", E_SCHEMA},
        {"assumptions.0.reason=\"\"", "base.json#/assumptions/0/reason", "empty", E_RANGE},
        {"assumptions.0.at=end", "base.json#/assumptions/0/at", "unknown key", E_SCHEMA},
        {"assumptions.1.value=1.5", "base.json#/assumptions/1/value", "whole number", E_RANGE},
        {"assumptions.1.term=host_step_s", "base.json#/assumptions/1", "twice", E_SCHEMA},
        {"assumptions.0=3", "base.json#/assumptions/0", "", E_SCHEMA},
        {"assumptions.0={\"term\": \"prefill_tok_s\", \"value\": 0, \"provenance\": \"claim\", "
         "\"reason\": \"r\"}",
         "base.json#/assumptions/0/value", "> 0", E_RANGE},
        {"assumptions.0={\"term\": \"decode_gain_card\", \"context_tok\": 1, \"card\": \"x\", "
         "\"provenance\": \"claim\", "
         "\"reason\": \"r\"}",
         "base.json#/assumptions/0/card", "no card", E_SCHEMA},
        {"assumptions.0={\"term\": \"constant_s\", \"value\": 1, \"per\": \"hour\", "
         "\"provenance\": \"claim\", "
         "\"reason\": \"r\"}",
         "base.json#/assumptions/0/per", "\"turn\"", E_SCHEMA},
        {"arms.own.assumptions.0.value=x", "base.json#/arms/1/assumptions/0/value", "the string",
         E_SCHEMA},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        refuses(CASES[i].set, CASES[i].code, CASES[i].where, CASES[i].what);
}

Test(scenario, faults_of_the_rest) {
    static const fault CASES[] = {
        {"schema=ratecast.scenario/2", "base.json#/schema", "ratecast.scenario/1", E_SCHEMA},
        {"id=7", "base.json#/id", "expected a string", E_SCHEMA},
        {"unmodeled.0=7", "base.json#/unmodeled/0", "expected a string", E_SCHEMA},
        {"memory_budget_bytes=0", "base.json#/memory_budget_bytes", "from 1", E_RANGE},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        refuses(CASES[i].set, CASES[i].code, CASES[i].where, CASES[i].what);
    with("note=fine");
}

Test(scenario, an_empty_first_prompt_is_refused) {
    static const char *const NOTHING[] = {"workload.P=0", "workload.turn_delta_in_tok=0"};
    static const char *const LATER[] = {"workload.P=0", "workload.turn_shape=result_after"};
    cr_assert_null(load(NOTHING, 2));
    cr_assert_eq(e.code, E_RANGE);
    cr_assert_null(load(LATER, 2));
    cr_assert_eq(e.code, E_RANGE);
    with("workload.P=0");
}

Test(scenario, two_ways_to_say_the_start_exclude_each_other) {
    static const char *const BOTH[] = {"workload.stagger_s=1",
                                       "workload.start_offsets_s=[0,0,0,0]"};
    cr_assert_null(load(BOTH, 2));
    cr_assert_eq(e.code, E_SCHEMA);
    cr_assert_not_null(strstr(e.where, "#/workload/start_offsets_s"), "%s", e.where);
}

Test(scenario, a_constant_may_be_assumed_twice) {
    const scenario *s = with(
        "assumptions=[{\"term\": \"constant_s\", \"value\": 1, \"provenance\": \"claim\", "
        "\"reason\": "
        "\"a\"}, {\"term\": \"constant_s\", \"value\": 2, \"at\": \"start\", \"per\": \"agent\", "
        "\"provenance\": \"claim\", \"reason\": \"b\"}]");
    cr_assert_eq(s->arms[0].assume_n, 2);
    cr_assert_eq(s->arms[0].assume[1].per, PER_AGENT);
    cr_assert(s->arms[0].assume[1].at_start && !s->arms[0].assume[0].at_start);
}

/* ---- what is shipped ---- */

static void loads(const char *file) {
    card_library rates = {.dirs = {RATECAST_REPO "/rates"}, .n = 1};
    const scenario *s = NULL;
    err why = {0};
    cr_assert_eq(scenario_load(file, &rates, NULL, 0, mem, &s, &why), OK, "%s: %s", why.where,
                 why.what);
}

Test(scenario, shipped_scenarios_load) {
    loads(RATECAST_REPO "/scenarios/head_to_head_4k.json");
    loads(RATECAST_REPO "/scenarios/published/head_to_head_4k.json");
    loads(RATECAST_REPO "/scenarios/published/head_to_head_20k.json");
}
