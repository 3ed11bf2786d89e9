#include "mix.h"

#include "base/jsonw.h"

#include <inttypes.h>
#include <string.h>

const char *const MIX_NAMES[] = {"agents",      "turns",
                                 "prefix",      "turn",
                                 "pace",        "queue_wait",
                                 "constants",   "prefix_reuse",
                                 "prefill",     "delta_prefill",
                                 "decode",      "host_step",
                                 "batching",    "reuse_last_token",
                                 "kv_capacity", "engine",
                                 "card",        NULL};

/* The kind that a term belongs to. Memory goes with the card: a card may lack what the other end
 * declares. */
static const mix_kind KIND_OF[TERM_N] = {
    [TERM_PREFILL_TOK_S] = MIX_PREFILL,
    [TERM_DELTA_PREFILL_S] = MIX_DELTA,
    [TERM_PREFILL_CONTEXT_S_PER_TOK2] = MIX_PREFILL,
    [TERM_DECODE_TOK_S] = MIX_DECODE,
    [TERM_DECODE_GAIN_CARD] = MIX_DECODE,
    [TERM_DECODE_CONTEXT_S_PER_TOK] = MIX_DECODE,
    [TERM_HOST_STEP_S] = MIX_HOST_STEP,
    [TERM_CONSTANT_S] = MIX_CONSTANT,
    [TERM_WEIGHTS_BYTES] = MIX_CARD,
    [TERM_OVERHEAD_BYTES] = MIX_CARD,
    [TERM_KV_BYTES_PER_TOK] = MIX_CARD,
    [TERM_RECURRENT_STATE_BYTES] = MIX_CARD,
    [TERM_KV_EXCLUDES_LAST_OUTPUT] = MIX_CARD,
    [TERM_TTFT_CLAIM] = MIX_CARD,
    [TERM_QUEUE_WAIT_IN_WALL] = MIX_QUEUE_WAIT,
};

/* ---- one end of a comparison as a list of named values ---- */

typedef struct item {
    const char *name;
    const char *exact; /* equal exactly where the values are */
    const char *shown; /* for readers; may leave out what `exact` has */
    int prov;
    bool matched;
} item;

enum { ITEMS_MAX = 160 }; /* the assumptions of an arm are at most 64 of its own and 64 common */
typedef struct items {
    item v[ITEMS_MAX];
    size_t n;
    arena *mem;
    bool spent; /* the arena is */
} items;

static void add(items *l, const char *name, const char *exact, const char *shown, int class) {
    if (!exact || !shown || l->n == ITEMS_MAX) {
        l->spent = true;
        return;
    }
    l->v[l->n++] = (item){.name = name, .exact = exact, .shown = shown, .prov = class};
}

static void add_word(items *l, const char *name, const char *word) {
    add(l, name, word, word, -1);
}

static void add_int(items *l, const char *name, int64_t v) {
    add_word(l, name, arena_printf(l->mem, "%" PRId64, v));
}

static const char *number(arena *mem, double v) {
    char text[32];
    jw_format(v, text);
    return arena_strdup(mem, text);
}

/* One value of every agent: itself where all are equal. */
static void add_each(items *l, const char *name, const int64_t *v, int64_t n, double unit) {
    bool equal = true, absent = true;
    buf all;
    buf_init(&all);
    for (int64_t k = 0; k < n; k++) {
        equal &= v[k] == v[0];
        absent &= v[k] == 0;
        buf_addf(&all, "%s%" PRId64, k ? " " : "", v[k]);
    }
    const char *exact = arena_strdup(l->mem, absent ? "0" : all.s);
    const char *first = number(l->mem, n > 0 ? (double)v[0] / unit : 0);
    const char *last = number(l->mem, n > 0 ? (double)v[n - 1] / unit : 0);
    if (equal)
        add(l, name, exact, first, -1);
    else if (first && last)
        add(l, name, exact, arena_printf(l->mem, "%s to %s", first, last), -1);
    else
        l->spent = true;
    buf_done(&all);
}

static void list_workload(mix_kind kind, const workload *w, items *l) {
    switch (kind) {
    case MIX_AGENTS:
        add_int(l, "K", w->K);
        add_each(l, "private_tok", w->private_tok, w->K, 1);
        add_each(l, "start_offsets_s", w->start_offset_ns, w->K, 1e9);
        break;
    case MIX_TURNS:
        add_int(l, "H", w->H);
        break;
    case MIX_PREFIX:
        add_int(l, "P", w->P);
        break;
    case MIX_TURN:
        add_int(l, "turn_delta_in_tok", w->turn_delta_in_tok);
        add_int(l, "turn_out_tok", w->turn_out_tok);
        add_word(l, "turn_shape", TURN_SHAPE_NAMES[w->shape]);
        break;
    default: /* MIX_PACE */
        add_word(l, "tool_latency_s", number(l->mem, (double)w->tool_latency_ns / 1e9));
        add_word(l, "client_order", CLIENT_ORDER_NAMES[w->one_after_another]);
    }
}

static bool slot_each(const mix_end *x) {
    return x->a->slots_n == x->w->K;
}

static void list_batching(const mix_end *x, items *l) {
    const arm *a = x->a;
    add_word(l, "batching", BATCHING_NAMES[a->batch]);
    add_word(l, "prefill", PREFILL_MODE_NAMES[a->prefill]);
    if (a->prefill == PREFILL_MIXED) add_int(l, "max_batch_tok", a->max_batch_tok);
    if (slot_each(x))
        add_word(l, "slots_n", "one an agent");
    else
        add_int(l, "slots_n", a->slots_n);
}

static void list_reuse(const arm *a, items *l) {
    add_word(l, "prefix_reuse", PREFIX_REUSE_NAMES[a->reuse]);
    if (a->comers != COMERS_WAIT) add_word(l, "first_comers", COMERS_NAMES[a->comers]);
    if (a->cold_sights_n != 1) add_int(l, "cold_sights_n", a->cold_sights_n);
    if (a->block_tok != 1) add_int(l, "block_tok", a->block_tok);
    if (a->warm != WARM_NONE) add_word(l, "warm", WARM_NAMES[a->warm]);
}

static void list_capacity(const arm *a, items *l) {
    if (a->context_tok > 0) {
        add_int(l, "context_tok", a->context_tok);
        add_word(l, "context_scope", SCOPE_NAMES[a->context_per_slot]);
    }
    if (a->layout != KV_LAYOUT_UNSTATED) add_word(l, "kv_layout", KV_LAYOUT_NAMES[a->layout]);
    if (a->slot_pad_tok != 1) add_int(l, "slot_pad_tok", a->slot_pad_tok);
}

static void list_card(const card *c, items *l) {
    add(l, "card", arena_printf(l->mem, "%s %s", c->id, c->sha256), c->id, (int)c->prov);
}

/* ---- assumptions ---- */

static int weaker(int a, int b) {
    return a > b ? a : b;
}

static int points_prov(const card *c, bool prefill) {
    int p = -1;
    for (size_t i = 0; prefill && i < c->prefill_n; i++)
        if (!c->prefill[i].origin.excluded) p = weaker(p, (int)c->prefill[i].origin.prov);
    for (size_t i = 0; !prefill && i < c->decode_n; i++)
        if (!c->decode[i].origin.excluded) p = weaker(p, (int)c->decode[i].origin.prov);
    return p;
}

static int64_t together_n(const mix_end *x) {
    if (x->a->batch == BATCH_SERIAL) return 1;
    return x->a->slots_n < x->w->K ? x->a->slots_n : x->w->K;
}

/* A published gain is a rule over the batch; readers want the factor that it comes to. */
static const char *shown_rate(const mix_end *x, const assumption *a, const char *v, arena *mem) {
    int64_t b = together_n(x);
    if (a->growth_frac < 0 || b == 1) return v;
    const char *gain = arena_printf(mem, "%.4g", 1 + a->growth_frac * (double)(b - 1));
    return gain ? arena_printf(mem, "%s x %s for %" PRId64 " together", v, gain, b) : NULL;
}

static const char *shown_delta(const mix_end *x, const assumption *a, const char *v, arena *mem) {
    if (a->growth_frac == 0) return arena_printf(mem, "%s a turn", v);
    return arena_printf(mem, "%s x %.4g for %" PRId64 " agents, a turn", v,
                        1 + a->growth_frac * (double)(x->w->K - 1), x->w->K);
}

static void list_ttft(const assumption *a, items *l) {
    const ttft_claim *t = &a->ttft;
    double v[] = {t->warm_base_s,  t->warm_step_s,  (double)t->warm_mod,
                  t->first_base_s, t->first_step_s, (double)t->first_mod};
    const char *all = "";
    for (size_t i = 0; all && i < sizeof v / sizeof *v; i++) {
        const char *one = number(l->mem, v[i]);
        all = one ? arena_printf(l->mem, "%s %s", all, one) : NULL;
    }
    add(l, TERM_NAMES[a->what], all, all, (int)a->prov);
}

static void list_assumption(const mix_end *x, const assumption *a, items *l) {
    static const char *const PER[] = {"", " per agent", " per turn"};
    const char *name = TERM_NAMES[a->what], *v = number(l->mem, a->value);
    const char *growth = number(l->mem, a->growth_frac);
    if (!v || !growth) {
        l->spent = true;
        return;
    }
    const char *exact = arena_printf(l->mem, "%s %s", v, growth), *shown = v;
    switch (a->what) {
    case TERM_DELTA_PREFILL_S:
        shown = shown_delta(x, a, v, l->mem);
        break;
    case TERM_DECODE_TOK_S:
        shown = shown_rate(x, a, v, l->mem);
        break;
    case TERM_DECODE_GAIN_CARD:
        exact = arena_printf(l->mem, "%s %s %" PRId64, a->gain_card->id, a->gain_card->sha256,
                             a->context_tok);
        shown = arena_printf(l->mem, "%s at %" PRId64 " tokens", a->gain_card->id, a->context_tok);
        break;
    case TERM_CONSTANT_S:
        exact = shown =
            arena_printf(l->mem, "%s%s%s", v, PER[a->per], a->at_start ? " at the start" : "");
        break;
    case TERM_TTFT_CLAIM:
        list_ttft(a, l);
        return;
    case TERM_QUEUE_WAIT_IN_WALL:
    case TERM_KV_EXCLUDES_LAST_OUTPUT:
        exact = shown = "";
        break;
    default:
        break;
    }
    add(l, name, exact, shown, (int)a->prov);
}

/* What prices the work where nothing is declared. */
static void list_undeclared(mix_kind kind, const mix_end *x, items *l) {
    const assumption *rate = arm_assumes(x->a, TERM_PREFILL_TOK_S);
    int prefill = rate ? (int)rate->prov : points_prov(x->a->card, true);
    if (kind == MIX_PREFILL && !rate) add(l, "the card's prefill points", "", "", prefill);
    if (kind == MIX_DELTA && !arm_assumes(x->a, TERM_DELTA_PREFILL_S))
        add(l, "the prefill rate", "", "", prefill);
    if (kind == MIX_DECODE && !arm_assumes(x->a, TERM_DECODE_TOK_S))
        add(l,
            arm_assumes(x->a, TERM_DECODE_GAIN_CARD) ? "the card's B = 1 step"
                                                     : "the card's decode points",
            "", "", points_prov(x->a->card, false));
}

static void list_kind(mix_kind kind, const mix_end *x, items *l) {
    switch (kind) {
    case MIX_AGENTS:
    case MIX_TURNS:
    case MIX_PREFIX:
    case MIX_TURN:
    case MIX_PACE:
        list_workload(kind, x->w, l);
        return;
    case MIX_REUSE:
        list_reuse(x->a, l);
        return;
    case MIX_BATCHING:
        list_batching(x, l);
        return;
    case MIX_LAST_TOKEN:
        add_word(l, "reuse_last_token", x->a->reuse_last_token ? "true" : "false");
        return;
    case MIX_CAPACITY:
        list_capacity(x->a, l);
        return;
    case MIX_ENGINE:
        add_word(l, "engine", ENGINE_NAMES[x->a->engine]);
        if (x->a->n_batch > 0) add_int(l, "n_batch", x->a->n_batch);
        if (x->a->n_ubatch > 0) add_int(l, "n_ubatch", x->a->n_ubatch);
        return;
    case MIX_CARD:
        list_card(x->a->card, l);
        return;
    default:
        list_undeclared(kind, x, l);
        for (size_t i = 0; i < x->a->assume_n; i++)
            if (KIND_OF[x->a->assume[i].what] == kind) list_assumption(x, &x->a->assume[i], l);
    }
}

/* ---- what differs, in words ---- */

typedef struct words {
    arena *mem;
    const char *text; /* NULL: the arena is spent */
} words;

static void say(words *w, const char *joint, const char *name, const char *value) {
    if (w->text)
        w->text = arena_printf(w->mem, "%s%s%s%s%s", w->text, w->text[0] ? joint : "", name,
                               value[0] ? " " : "", value);
}

/* Marks what stands at both ends; a constant may stand there more than once. */
static void cancel(items *a, items *b) {
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 0; j < b->n && !a->v[i].matched; j++)
            if (!b->v[j].matched && strcmp(a->v[i].name, b->v[j].name) == 0 &&
                strcmp(a->v[i].exact, b->v[j].exact) == 0)
                a->v[i].matched = b->v[j].matched = true;
}

static int weakest_left(const items *l) {
    int p = -1;
    for (size_t i = 0; i < l->n; i++)
        if (!l->v[i].matched) p = weaker(p, l->v[i].prov);
    return p;
}

/* Values of one name that differ: "K 4 -> 8". */
static void say_changed(items *a, items *b, words *w) {
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 0; j < b->n && !a->v[i].matched; j++) {
            if (b->v[j].matched || strcmp(a->v[i].name, b->v[j].name) != 0) continue;
            say(w, ", ", a->v[i].name, a->v[i].shown);
            say(w, " -> ", b->v[j].shown, "");
            a->v[i].matched = b->v[j].matched = true;
        }
}

static bool say_left(const items *l, const char *joint, words *w) {
    bool any = false;
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].matched) continue;
        say(w, any ? ", " : joint, l->v[i].name, l->v[i].shown);
        any = true;
    }
    return any;
}

static err_code spent(const arm *a, err *e) {
    return err_set(e, E_LIMIT, a->name, "does not fit the memory budget");
}

err_code mix_compare(mix_kind kind, const mix_end *from, const mix_end *to, arena *mem,
                     mix_change *out, err *e) {
    items a = {.mem = mem}, b = {.mem = mem};
    *out = (mix_change){.prov_before = -1, .prov_after = -1};
    list_kind(kind, from, &a);
    list_kind(kind, to, &b);
    if (a.spent || b.spent) return spent(from->a, e);
    cancel(&a, &b);
    out->prov_before = weakest_left(&a);
    out->prov_after = weakest_left(&b);
    words w = {.mem = mem, .text = ""};
    say_changed(&a, &b, &w);
    bool removed = say_left(&a, ", ", &w);
    bool added = say_left(&b, removed ? " -> " : ", ", &w);
    if (removed != added) say(&w, " ", removed ? "removed" : "added", "");
    if (!w.text) return spent(from->a, e);
    out->text = w.text[0] ? w.text : NULL;
    return OK;
}

err_code mix_silent(const mix_end *from, const mix_end *to, arena *mem, const char **out, err *e) {
    words w = {.mem = mem, .text = ""};
    for (int what = 0; what < TERM_N; what++) {
        items a = {.mem = mem}, b = {.mem = mem};
        const assumption *x = arm_assumes(from->a, (term)what), *y = arm_assumes(to->a, (term)what);
        if (KIND_OF[what] != MIX_CARD || (!x && !y)) continue;
        if (x) list_assumption(from, x, &a);
        if (y) list_assumption(to, y, &b);
        if (a.spent || b.spent) return spent(from->a, e);
        cancel(&a, &b);
        if ((a.n && !a.v[0].matched) || (b.n && !b.v[0].matched))
            say(&w, ", ", TERM_NAMES[what], "");
    }
    *out = w.text;
    return w.text ? OK : spent(from->a, e);
}

/* ---- taking some kinds ---- */

static void take_workload(mix_kind kind, const workload *from, workload *w) {
    switch (kind) {
    case MIX_AGENTS:
        w->K = from->K;
        w->private_tok = from->private_tok;
        w->start_offset_ns = from->start_offset_ns;
        break;
    case MIX_TURNS:
        w->H = from->H;
        break;
    case MIX_PREFIX:
        w->P = from->P;
        break;
    case MIX_TURN:
        w->turn_delta_in_tok = from->turn_delta_in_tok;
        w->turn_out_tok = from->turn_out_tok;
        w->shape = from->shape;
        break;
    case MIX_PACE:
        w->tool_latency_ns = from->tool_latency_ns;
        w->one_after_another = from->one_after_another;
        break;
    default:
        break;
    }
}

static void take_policy(mix_kind kind, const arm *from, arm *a) {
    switch (kind) {
    case MIX_REUSE:
        a->reuse = from->reuse;
        a->comers = from->comers;
        a->cold_sights_n = from->cold_sights_n;
        a->block_tok = from->block_tok;
        a->warm = from->warm;
        break;
    case MIX_BATCHING:
        a->batch = from->batch;
        a->prefill = from->prefill;
        a->max_batch_tok = from->max_batch_tok;
        break;
    case MIX_LAST_TOKEN:
        a->reuse_last_token = from->reuse_last_token;
        break;
    case MIX_CAPACITY:
        a->context_tok = from->context_tok;
        a->context_per_slot = from->context_per_slot;
        a->layout = from->layout;
        a->slot_pad_tok = from->slot_pad_tok;
        break;
    case MIX_ENGINE:
        a->engine = from->engine;
        a->n_batch = from->n_batch;
        a->n_ubatch = from->n_ubatch;
        break;
    case MIX_CARD:
        a->card = from->card;
        a->card_ref = from->card_ref;
        break;
    default:
        break;
    }
}

static err_code take_assumptions(const mix_end *from, const mix_end *to, unsigned kinds, arena *mem,
                                 arm *a, err *e) {
    assumption *all = ARENA_ARRAY(mem, assumption, from->a->assume_n + to->a->assume_n);
    size_t n = 0;
    if (!all) return spent(from->a, e);
    for (size_t i = 0; i < from->a->assume_n; i++)
        if (!(kinds & MIX_BIT(KIND_OF[from->a->assume[i].what]))) all[n++] = from->a->assume[i];
    for (size_t i = 0; i < to->a->assume_n; i++)
        if (kinds & MIX_BIT(KIND_OF[to->a->assume[i].what])) all[n++] = to->a->assume[i];
    a->assume = all;
    a->assume_n = n;
    return OK;
}

/* What the loader sees to in a file (scenarios/README.md), for what comes from two files. */
static err_code check(const workload *w, const arm *a, err *e) {
    int64_t in_flight = a->slots_n < w->K ? a->slots_n : w->K;
    double context = (double)w->P + (double)w->H * (double)(w->turn_delta_in_tok + w->turn_out_tok);
    if (a->batch == BATCH_LOCKSTEP && (a->slots_n < w->K || w->one_after_another))
        return err_set(e, E_REFUSED, a->name,
                       "lockstep needs a slot for each agent and agents that start together");
    if (a->prefill == PREFILL_MIXED && a->max_batch_tok <= in_flight)
        return err_set(e, E_REFUSED, a->name,
                       "max_batch_tok leaves no row for a prompt beside the running sequences");
    if (w->H > WORKLOAD_TURNS_MAX / w->K)
        return err_set(e, E_REFUSED, a->name, "K x H is over %d turns", (int)WORKLOAD_TURNS_MAX);
    for (int64_t k = 0; k < w->K; k++) {
        if (workload_prompt_tok(w, 1) + w->private_tok[k] == 0)
            return err_set(e, E_REFUSED, a->name, "a first prompt is empty");
        if (context + (double)w->private_tok[k] > (double)WORKLOAD_TOK_MAX)
            return err_set(e, E_REFUSED, a->name, "contexts grow over %d tokens",
                           (int)WORKLOAD_TOK_MAX);
    }
    return OK;
}

err_code mix_take(const mix_end *from, const mix_end *to, unsigned kinds, arena *mem, workload *w,
                  arm *a, err *e) {
    *w = *from->w;
    *a = *from->a;
    for (mix_kind k = 0; k < MIX_N; k++) {
        if (!(kinds & MIX_BIT(k))) continue;
        take_workload(k, to->w, w);
        take_policy(k, to->a, a);
    }
    const mix_end *slots = kinds & MIX_BIT(MIX_BATCHING) ? to : from;
    a->slots_n = slot_each(slots) ? w->K : slots->a->slots_n;
    if (take_assumptions(from, to, kinds, mem, a, e)) return e->code;
    return check(w, a, e);
}
