#include "contrast_verify.h"

#include "calib/replay.h"
#include "contrast_rates.h"

#include <inttypes.h>
#include <string.h>

/* llama-bench and llama-batched-bench decode so many tokens behind the context that is asked for: a
 * point stands in the middle of them (bench/grid.h). */
enum { BENCH_GEN_TOK = 64 };
/* llama-server rounds a slot's part of the context up to a multiple. */
enum { SLOT_PAD_TOK = 256 };

static bool is_llama(const card *c) {
    return strstr(c->engine.name, "llama") != NULL;
}

/* ---- rates ---- */

typedef struct numbers {
    int64_t v[2 * SCENARIO_ARMS_MAX];
    size_t n;
} numbers;

static void add_once(numbers *l, int64_t v) {
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i] == v) return;
    if (l->n < sizeof l->v / sizeof *l->v) l->v[l->n++] = v;
}

static void put_list(const char *option, const numbers *l, buf *out) {
    for (size_t i = 0; i < l->n; i++) buf_addf(out, "%s%" PRId64, i ? "," : option, l->v[i]);
}

/* Is the batched point that stands beside the arm one of a shared prompt? */
static bool shares_prompt(const workload *w, const arm *a) {
    int64_t most = rates_together_n(w, a);
    rates_decode d = rates_decode_near(a->card, a, w, most);
    return most > 1 && (d.p ? d.p->origin.shared_prompt : a->reuse == REUSE_SHARED);
}

/* Arms whose rates one command measures: of one card and KV layout, with or without a shared
 * prompt. */
static bool together(const workload *w, const arm *a, const arm *b) {
    return strcmp(a->card->id, b->card->id) == 0 && rates_layout(a) == rates_layout(b) &&
           shares_prompt(w, a) == shares_prompt(w, b);
}

/* What the rows above compare at: those contexts, batches and prompts. */
static void wanted_of(const workload *w, const arm *a, numbers *contexts, numbers *batches,
                      numbers *prompts) {
    int64_t most = rates_together_n(w, a);
    for (int64_t b = 1;; b = most) {
        rates_decode d = rates_decode_near(a->card, a, w, b);
        int64_t at = d.p && d.p->context_tok >= 0 ? d.p->context_tok : rates_mean_context_tok(w);
        at -= BENCH_GEN_TOK / 2;
        add_once(batches, b);
        add_once(contexts, at > 0 ? at : 1);
        if (b == most) break;
    }
    rates_prefill p = rates_prefill_near(a->card, w);
    add_once(prompts, p.p && p.p->n_prompt_tok > 0 ? p.p->n_prompt_tok : workload_prompt_tok(w, 1));
}

static void put_rates(const projection *p, size_t first, buf *out) {
    const workload *w = &p->scenario->work;
    const arm *a = p->arms[first].arm;
    const card *c = a->card;
    numbers contexts = {.n = 0}, batches = {.n = 0}, prompts = {.n = 0};
    for (size_t i = first; i < p->arms_n; i++)
        if (together(w, a, p->arms[i].arm))
            wanted_of(w, p->arms[i].arm, &contexts, &batches, &prompts);
    buf_addf(out, "# %s: %s %s on %s\n", c->id, c->model, c->quant, c->hardware.chip);
    if (!is_llama(c)) {
        put_list("# no benchmark of its engine is known here: prompts of ", &prompts, out);
        put_list(" tokens; contexts of ", &contexts, out);
        put_list(" tokens; sequences: ", &batches, out);
        buf_add(out, " (`ratecast import --formats`)\nratecast import rates.jsonl -o card.json\n");
        return;
    }
    buf_add(out, "ratecast-bench run --model MODEL.gguf");
    if (rates_layout(a) == KV_LAYOUT_UNIFIED) buf_add(out, " --kv-unified");
    if (shares_prompt(w, a)) buf_add(out, " --shared-prompt");
    put_list(" --prompts ", &prompts, out);
    put_list(" --contexts ", &contexts, out);
    put_list(" --sequences ", &batches, out);
    buf_add(out, " -o card.json\n");
}

/* ---- the session ---- */

/* The context that the server is started with: that of the arm, else what the longest agents need.
 */
static int64_t context_tok(const workload *w, const arm *a) {
    if (a->context_tok > 0)
        return a->context_per_slot ? a->context_tok * a->slots_n : a->context_tok;
    int64_t most = 0;
    for (int64_t k = 0; k < w->K; k++)
        if (workload_max_context_tok(w, k) > most) most = workload_max_context_tok(w, k);
    return a->slots_n * ((most + SLOT_PAD_TOK - 1) / SLOT_PAD_TOK * SLOT_PAD_TOK);
}

static const char *server_line(const workload *w, const arm *a, arena *mem) {
    static const char *const LAYOUTS[] = {
        [KV_LAYOUT_UNSTATED] = "", [KV_LAYOUT_SPLIT] = " -no-kvu", [KV_LAYOUT_UNIFIED] = " -kvu"};
    const card *c = a->card;
    int64_t batch = a->n_batch > 0 ? a->n_batch : c->engine.n_batch,
            ubatch = a->n_ubatch > 0 ? a->n_ubatch : c->engine.n_ubatch;
    const char *line = arena_printf(mem, "llama-server -m MODEL.gguf -np %" PRId64 "%s -c %" PRId64,
                                    a->slots_n, LAYOUTS[rates_layout(a)], context_tok(w, a));
    if (line && batch > 0) line = arena_printf(mem, "%s -b %" PRId64, line, batch);
    if (line && ubatch > 0) line = arena_printf(mem, "%s -ub %" PRId64, line, ubatch);
    if (line && c->host_threads_n > 0)
        line = arena_printf(mem, "%s -t %" PRId64, line, c->host_threads_n);
    return line ? arena_printf(mem, "%s --cache-ram 0 --slot-save-path .", line) : NULL;
}

/* What the server has to be, in words where no command line says it. */
static void put_server(const arm *a, const char *line, const char *running, buf *out) {
    if (a->reuse == REUSE_SHARED)
        buf_addf(out,
                 "# %s: needs a server whose slots find the prefix in one another, which a stock "
                 "llama-server's do not\n",
                 a->name);
    if (a->batch == BATCH_LOCKSTEP)
        buf_addf(out, "# %s: needs a server that batches in lockstep\n", a->name);
    if (a->batch == BATCH_SERIAL)
        buf_addf(out,
                 "# %s: --serial sends one agent behind another: the device's work, without the "
                 "queue wait in TTFT\n",
                 a->name);
    if (line && running && strcmp(line, running) == 0) return;
    if (running) buf_add(out, "# stop the server above\n");
    if (line)
        buf_addf(out, "%s &\n", line);
    else
        buf_addf(out, "# %s: on %s with %" PRId64 " slots, its whole command line in COMMAND\n",
                 a->name, a->card->engine.name, a->slots_n);
}

/* The session as it was projected, whatever a scenario's file says: --set may have changed it. */
static void put_session(const workload *w, const arm *a, const char *line, const char *runs,
                        buf *out) {
    bool serial = a->batch == BATCH_SERIAL || w->one_after_another;
    buf_addf(out,
             "ratecast-bench session -K %" PRId64 " -H %" PRId64 " -P %" PRId64
             " --delta-in %" PRId64 " --turn-out %" PRId64 " --turn-shape %s",
             w->K, w->H, w->P, w->turn_delta_in_tok, w->turn_out_tok, TURN_SHAPE_NAMES[w->shape]);
    if (w->tool_latency_ns > 0)
        buf_addf(out, " --tool-latency %.10g", (double)w->tool_latency_ns / 1e9);
    if (w->K > 1 && w->start_offset_ns[1] > 0 && !serial)
        buf_addf(out, " --stagger %.10g", (double)w->start_offset_ns[1] / 1e9);
    if (a->reuse == REUSE_NONE) buf_add(out, " --no-cache");
    if (serial) buf_add(out, " --serial");
    if (line) buf_add(out, a->slots_n < w->K ? " --free-slots" : " --pin");
    if (a->reuse == REUSE_SHARED && line) buf_add(out, " --patched-server");
    const struct {
        const char *option, *word;
    } words[] = {{"arm-name", a->name},
                 {"model", a->card->model},
                 {"machine", a->card->hardware.id ? a->card->hardware.id : "MACHINE"},
                 {"server-args", line ? line : "COMMAND"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        buf_addf(out, " --%s ", words[i].option);
        buf_add_word(out, words[i].word);
    }
    buf_add(out, " -o ");
    buf_add_word(out, runs);
    buf_add(out, "\n");
}

/* Why `validate` cannot score a run of this arm with the arm's card; NULL: it can. */
static const char *not_scored(const workload *w, const arm *a, arena *mem) {
    if (!is_llama(a->card))
        return arena_printf(mem, "`ratecast validate` replays llama-server's loop, not %s",
                            a->card->engine.name);
    if (a->reuse == REUSE_SHARED)
        return "a run has no field for a prefix that is found in another slot";
    if (!a->card->hardware.id) return "the card states no hardware.id, which finds a run's card";
    if (rates_other_layout(a->card, a))
        return arena_printf(mem, "the card is of %s KV, and a run's KV layout finds its card",
                            KV_LAYOUT_NAMES[a->card->engine.layout]);
    if (a->slots_n < w->K) return "a run with fewer slots than agents is left out";
    arm bare = *a; /* `validate` projects from the card, and assumes nothing */
    const cost *priced = NULL;
    err why = {0};
    bare.assume = NULL;
    bare.assume_n = 0;
    if (cost_new(&bare, w, w->K, mem, &priced, &why)) return arena_strdup(mem, why.what);
    return NULL;
}

static bool one_card(const projection *p) {
    for (size_t i = 1; i < p->arms_n; i++)
        if (strcmp(p->arms[i].arm->card->id, p->arms[0].arm->card->id) != 0) return false;
    return true;
}

/* A folder for each card, as two of one model and machine would both match a run; what `validate`
 * would take for something else stands apart. */
static const char *runs_of(const projection *p, const arm *a, arena *mem) {
    const char *dir = not_scored(&p->scenario->work, a, mem)
                          ? arena_printf(mem, "by-hand-%s", a->name)
                      : one_card(p) ? "runs"
                                    : arena_printf(mem, "runs-%s", a->card->id);
    return dir ? dir : "runs";
}

static void put_scores(const projection *p, arena *mem, buf *out) {
    const workload *w = &p->scenario->work;
    for (size_t i = 0; i < p->arms_n; i++) {
        const arm *a = p->arms[i].arm;
        if (replay_not_recorded(w, a)) continue;
        const char *why = not_scored(w, a, mem);
        bool said = false;
        for (size_t k = 0; k < i; k++) {
            const arm *b = p->arms[k].arm;
            said |= strcmp(b->card->id, a->card->id) == 0 && !replay_not_recorded(w, b) &&
                    !not_scored(w, b, mem);
        }
        if (why)
            buf_addf(out, "# %s: not scored, the wall-clock above is to be compared by hand: %s\n",
                     a->name, why);
        if (why || said) continue;
        buf_add(out, "ratecast validate ");
        buf_add_word(out, runs_of(p, a, mem));
        buf_addf(out, " --card %s\n", a->card->id);
    }
}

void contrast_verify(const projection *p, arena *mem, buf *out) {
    const workload *w = &p->scenario->work;
    buf_add(out, "\nVerify the rates, by a card of your own:\n\n```sh\n");
    for (size_t i = 0; i < p->arms_n; i++) {
        bool done = false;
        for (size_t k = 0; k < i; k++) done |= together(w, p->arms[k].arm, p->arms[i].arm);
        if (!done) put_rates(p, i, out);
    }
    buf_add(out,
            "```\n\nVerify the session, each arm against a server of its own (bench/README.md):\n\n"
            "```sh\n");
    const char *running = NULL;
    for (size_t i = 0; i < p->arms_n; i++) {
        const arm *a = p->arms[i].arm;
        const char *lacks = replay_not_recorded(w, a);
        const char *line = is_llama(a->card) ? server_line(w, a, mem) : NULL;
        if (lacks) {
            buf_addf(out, "# %s: `ratecast-bench session` cannot record it: %s\n", a->name, lacks);
            continue;
        }
        put_server(a, line, running, out);
        if (line) running = line;
        put_session(w, a, line, runs_of(p, a, mem), out);
    }
    put_scores(p, mem, out);
    buf_add(out, "```\n");
}
