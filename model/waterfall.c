#include "waterfall.h"

#include "project.h"

#include "base/jsonr.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { RUN_BUDGET_MIB = 1024 };

/* ---- Shapley values ---- */

static int64_t factorial(size_t n) {
    return n < 2 ? 1 : (int64_t)n * factorial(n - 1);
}

static size_t bits(size_t set) {
    size_t n = 0;
    for (; set; set &= set - 1) n++;
    return n;
}

/* Of n! orders, those in which just the players of `set` come before one that is not in it. */
static int64_t orders_n(size_t set, size_t n) {
    size_t k = bits(set);
    return factorial(k) * factorial(n - 1 - k);
}

/* whole + rest / n!, 0 <= rest < n!. A difference times its weight can be over 2^63, so quotient
 * and remainder by n! are weighted apart: the weights of one player sum to n!, which bounds both
 * sums. */
static void exact_share(const int64_t *v, size_t n, size_t player, int64_t *whole, int64_t *rest) {
    int64_t all = factorial(n);
    *whole = *rest = 0;
    for (size_t set = 0; set < (size_t)1 << n; set++) {
        if (set >> player & 1) continue;
        int64_t d = v[set | (size_t)1 << player] - v[set], w = orders_n(set, n);
        *whole += w * (d / all);
        *rest += w * (d % all);
    }
    *whole += *rest / all;
    *rest %= all;
    if (*rest < 0) {
        *rest += all;
        (*whole)--;
    }
}

void shapley_ns(const int64_t *v, size_t n, int64_t *share) {
    int64_t rest[WATERFALL_TERMS_MAX], left = 0;
    assert(n <= WATERFALL_TERMS_MAX);
    if (n == 0) return;
    left = v[((size_t)1 << n) - 1] - v[0];
    for (size_t i = 0; i < n; i++) {
        exact_share(v, n, i, &share[i], &rest[i]);
        left -= share[i];
    }
    assert(left >= 0 && left < (int64_t)n); /* n remainders below 1 */
    for (; left > 0; left--) {
        size_t most = 0;
        for (size_t i = 1; i < n; i++)
            if (rest[i] > rest[most]) most = i;
        share[most]++;
        rest[most] = -1;
    }
}

void shapley(const double *v, size_t n, double *share) {
    assert(n <= WATERFALL_TERMS_MAX);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t set = 0; set < (size_t)1 << n; set++)
            if (!(set >> i & 1))
                sum += (double)orders_n(set, n) * (v[set | (size_t)1 << i] - v[set]);
        share[i] = sum / (double)factorial(n);
    }
}

/* ---- what differs ---- */

typedef struct work {
    waterfall *f;
    mix_end from[SIDES_N], to[SIDES_N];
    mix_change change[SIDES_N][MIX_N];
    unsigned touched[SIDES_N];                /* kinds that differ */
    waterfall_term term[WATERFALL_TERMS_MAX]; /* in the order of their first kinds */
    size_t n;
    waterfall_wall *wall[SIDES_N]; /* by set of terms that are taken from `to` */
    arena *mem;
} work;

static err_code spent(const work *w, err *e) {
    return err_set(e, E_LIMIT, w->f->from.s->id, "does not fit the memory budget");
}

static err_code compare(work *w, err *e) {
    const char *silent[SIDES_N];
    for (int side = 0; side < SIDES_N; side++) {
        for (mix_kind k = 0; k < MIX_N; k++) {
            mix_change *c = &w->change[side][k];
            if (mix_compare(k, &w->from[side], &w->to[side], w->mem, c, e)) return e->code;
            if (c->text) w->touched[side] |= MIX_BIT(k);
        }
        if (mix_silent(&w->from[side], &w->to[side], w->mem, &silent[side], e)) return e->code;
    }
    const char *a = silent[SIDE_ARM], *b = silent[SIDE_BASE];
    if (strcmp(a, b) == 0 || !b[0] || !a[0]) {
        w->f->silent = a[0] ? a : b;
        return OK;
    }
    w->f->silent = arena_printf(w->mem, "%s (%s); %s (%s)", a, w->from[SIDE_ARM].a->name, b,
                                w->from[SIDE_BASE].a->name);
    return w->f->silent ? OK : spent(w, e);
}

/* ---- terms ---- */

/* Kinds that are replaced together, tried from the finest: a rate that only the one end declares
 * cannot be left out beside a card that lacks it, and slots or capacity may fit one session only.
 */
enum { JOINS_MAX = 2 };
static const unsigned PLANS[][JOINS_MAX] = {
    {0, 0},
    {MIX_RATES, 0},
    {MIX_SIZES, 0},
    {MIX_RATES, MIX_SIZES},
    {MIX_RATES | MIX_POLICIES, 0},
    {MIX_ALL, 0},
};
enum { PLANS_N = sizeof PLANS / sizeof *PLANS };

/* llama-server's loop allows some policies only, so they come and go with it. */
static bool engine_differs(const work *w) {
    return ((w->touched[SIDE_ARM] | w->touched[SIDE_BASE]) & MIX_BIT(MIX_ENGINE)) != 0;
}

static unsigned group_of(const work *w, mix_kind k, const unsigned joins[JOINS_MAX]) {
    unsigned g = MIX_BIT(k);
    bool grown = true;
    while (grown) {
        unsigned before = g;
        for (size_t i = 0; i < JOINS_MAX; i++)
            if (g & joins[i]) g |= joins[i];
        if (engine_differs(w) && g & MIX_POLICIES) g |= MIX_POLICIES;
        grown = g != before;
    }
    return g;
}

static const char *name_of(unsigned kinds, arena *mem) {
    const char *name = "";
    for (mix_kind k = 0; k < MIX_N && name; k++)
        if (kinds & MIX_BIT(k))
            name = arena_printf(mem, "%s%s%s", name, name[0] ? "+" : "", MIX_NAMES[k]);
    return name;
}

static err_code describe(work *w, waterfall_term *t, unsigned differing, err *e) {
    enum { CHANGES_MAX = MIX_N * SIDES_N };
    waterfall_change *c = ARENA_ARRAY(w->mem, waterfall_change, CHANGES_MAX);
    t->name = name_of(t->kinds & differing, w->mem);
    if (!c || !t->name) return spent(w, e);
    t->changes = c;
    t->prov_before = t->prov_after = -1;
    for (mix_kind k = 0; k < MIX_N; k++) {
        const mix_change *a = &w->change[SIDE_ARM][k], *b = &w->change[SIDE_BASE][k];
        if (!(t->kinds & MIX_BIT(k))) continue;
        bool same = a->text && b->text && strcmp(a->text, b->text) == 0;
        if (a->text) c[t->changes_n++] = (waterfall_change){k, same ? SIDES_N : SIDE_ARM, *a};
        if (b->text && !same) c[t->changes_n++] = (waterfall_change){k, SIDE_BASE, *b};
    }
    for (size_t i = 0; i < t->changes_n; i++) {
        const mix_change *m = &c[i].what;
        if (m->prov_before > t->prov_before) t->prov_before = m->prov_before;
        if (m->prov_after > t->prov_after) t->prov_after = m->prov_after;
    }
    return OK;
}

static err_code too_many(const work *w, size_t n, unsigned differing, err *e) {
    return err_set(e, E_USAGE, w->f->to.s->path,
                   "differs from %s in %zu terms (%s), expected at most %d: bring them closer "
                   "with --set, or go through a scenario between them",
                   w->f->from.s->path, n, name_of(differing, w->mem), (int)WATERFALL_TERMS_MAX);
}

static err_code make_terms(work *w, const unsigned joins[JOINS_MAX], err *e) {
    unsigned differing = w->touched[SIDE_ARM] | w->touched[SIDE_BASE], done = 0;
    size_t n = 0;
    w->n = 0;
    for (mix_kind k = 0; k < MIX_N; k++) {
        unsigned g = group_of(w, k, joins);
        if (!(differing & MIX_BIT(k)) || done & MIX_BIT(k)) continue;
        done |= g;
        if (n++ >= WATERFALL_TERMS_MAX) continue;
        waterfall_term *t = &w->term[w->n++];
        *t = (waterfall_term){.kinds = g};
        if (describe(w, t, differing, e)) return e->code;
    }
    return n > WATERFALL_TERMS_MAX ? too_many(w, n, differing, e) : OK;
}

/* ---- projecting the subsets ---- */

static err_code run_mix(const work *w, int side, unsigned kinds, waterfall_wall *out, err *e) {
    arena *scratch = arena_new((size_t)RUN_BUDGET_MIB << 20);
    if (!scratch) return err_set(e, E_NOMEM, w->f->from.s->id, "out of memory");
    scenario s = *w->f->from.s;
    arm a;
    const projection *p = NULL;
    s.arms = &a;
    s.arms_n = 1;
    s.baseline = 0;
    s.memory_budget_bytes = 0; /* no search for the largest K: only time is asked for */
    if (mix_take(&w->from[side], &w->to[side], kinds, scratch, &s.work, &a, e) == OK &&
        project_run(&s, NULL, 0, scratch, &p, e) == OK) {
        const sim_result *r = &p->arms[0].sim;
        *out = (waterfall_wall){.wall_ns = r->wall_ns,
                                .prefill_ns = r->prefill_ns,
                                .decode_ns = r->decode_ns,
                                .other_ns = r->other_ns,
                                .idle_ns = r->idle_ns,
                                .prov = p->arms[0].time_prov,
                                .extrapolated = p->arms[0].extrapolations_n > 0};
        if (r->wall_ns == 0)
            err_set(e, E_REFUSED, a.name, "the session takes no time, so there is no speedup");
    }
    arena_free(scratch);
    return e->code;
}

/* Every set of terms once an arm; terms that do not touch an arm leave its wall as it is. */
static err_code run_all(work *w, int side, err *e) {
    size_t touching = 0;
    for (size_t i = 0; i < w->n; i++)
        if (w->term[i].kinds & w->touched[side]) touching |= (size_t)1 << i;
    waterfall_wall *wall = ARENA_ARRAY(w->mem, waterfall_wall, (size_t)1 << w->n);
    if (!wall) return spent(w, e);
    w->wall[side] = wall;
    for (size_t set = 0; set < (size_t)1 << w->n; set++) {
        unsigned kinds = 0;
        for (size_t i = 0; i < w->n; i++)
            if (set >> i & 1) kinds |= w->term[i].kinds;
        if (set & ~touching)
            wall[set] = wall[set & touching]; /* smaller, so it is there */
        else if (run_mix(w, side, kinds, &wall[set], e))
            return e->code;
    }
    return OK;
}

static err_code run_plans(work *w, err *e) {
    for (size_t p = 0; p < PLANS_N; p++) {
        err refused = {0};
        if (make_terms(w, PLANS[p], e)) return e->code;
        if (run_all(w, SIDE_ARM, &refused) == OK && run_all(w, SIDE_BASE, &refused) == OK)
            return OK;
        /* one term alone has nothing left to be joined with: an end itself is refused */
        if (refused.code != E_REFUSED || w->n <= 1)
            return err_set(e, refused.code, refused.where, "%s", refused.what);
        if (!w->f->joined)
            w->f->joined = arena_printf(w->mem, "%s: %s", refused.where, refused.what);
        if (!w->f->joined) return spent(w, e);
    }
    return err_set(e, E_REFUSED, w->f->to.s->path, "%s", w->f->joined);
}

/* ---- steps and shares ---- */

static waterfall_state state_at(const work *w, size_t set) {
    waterfall_state s = {.side = {w->wall[SIDE_ARM][set], w->wall[SIDE_BASE][set]}};
    s.speedup = (double)s.side[SIDE_BASE].wall_ns / (double)s.side[SIDE_ARM].wall_ns;
    return s;
}

static err_code share(work *w, err *e) {
    size_t sets_n = (size_t)1 << w->n;
    int64_t *ns = ARENA_ARRAY(w->mem, int64_t, sets_n), part[WATERFALL_TERMS_MAX];
    double *x = ARENA_ARRAY(w->mem, double, sets_n), xpart[WATERFALL_TERMS_MAX];
    if (!ns || !x) return spent(w, e);
    for (int side = 0; side < SIDES_N; side++) {
        for (size_t set = 0; set < sets_n; set++) ns[set] = w->wall[side][set].wall_ns;
        shapley_ns(ns, w->n, part);
        for (size_t i = 0; i < w->n; i++) w->term[i].share_ns[side] = part[i];
    }
    for (size_t set = 0; set < sets_n; set++) x[set] = state_at(w, set).speedup;
    shapley(x, w->n, xpart);
    for (size_t i = 0; i < w->n; i++) w->term[i].share_speedup = xpart[i];
    return OK;
}

/* Place of a term among the steps: where the order names one of its kinds, else behind those. */
static size_t place_of(const waterfall_term *t, const char *const *order) {
    size_t n = 0;
    for (; order && order[n]; n++)
        for (mix_kind k = 0; k < MIX_N; k++)
            if (t->kinds & MIX_BIT(k) && strcmp(MIX_NAMES[k], order[n]) == 0) return n;
    return n;
}

static err_code check_order(const work *w, const char *const *order, err *e) {
    const char *words = "";
    char near[64];
    for (mix_kind k = 0; k < MIX_N && words; k++)
        words = arena_printf(w->mem, "%s%s%s", words, k ? " " : "", MIX_NAMES[k]);
    if (!words) return spent(w, e);
    for (size_t i = 0; order && order[i]; i++) {
        bool known = false;
        for (mix_kind k = 0; k < MIX_N; k++) known |= strcmp(MIX_NAMES[k], order[i]) == 0;
        if (known) continue;
        if (jr_nearest(order[i], words, near, sizeof near))
            return err_set(e, E_USAGE, "--order", "found \"%s\", nearest term is \"%s\"", order[i],
                           near);
        return err_set(e, E_USAGE, "--order", "found \"%s\", expected one of: %s", order[i], words);
    }
    return OK;
}

static err_code step(work *w, const char *const *order, err *e) {
    waterfall_term *t = ARENA_ARRAY(w->mem, waterfall_term, w->n);
    size_t at[WATERFALL_TERMS_MAX], set = 0;
    if (!t) return spent(w, e);
    for (size_t i = 0; i < w->n; i++) { /* insertion keeps the order of equal places */
        size_t j = i;
        for (; j > 0 && place_of(&w->term[at[j - 1]], order) > place_of(&w->term[i], order); j--)
            at[j] = at[j - 1];
        at[j] = i;
    }
    waterfall_state before = state_at(w, 0);
    for (size_t i = 0; i < w->n; i++) {
        t[i] = w->term[at[i]];
        set |= (size_t)1 << at[i];
        t[i].after = state_at(w, set);
        for (int side = 0; side < SIDES_N; side++)
            t[i].step_ns[side] = t[i].after.side[side].wall_ns - before.side[side].wall_ns;
        t[i].step_speedup = t[i].after.speedup - before.speedup;
        before = t[i].after;
    }
    w->f->terms = t;
    w->f->n = w->n;
    return OK;
}

/* ---- ends ---- */

static size_t arm_index(const scenario *s, const char *name) {
    size_t i = 0;
    while (i < s->arms_n && strcmp(s->arms[i].name, name) != 0) i++;
    return i;
}

static int64_t power10(int64_t n) {
    return n <= 0 ? 1 : 10 * power10(n - 1);
}

static void set_printed(waterfall_end *end) {
    const printed_walls *p = &end->s->printed;
    end->printed_ns[SIDE_ARM] = end->printed_ns[SIDE_BASE] = -1;
    /* of a scenario that --set changed nothing was printed */
    if (!p->source || end->s->overrides_n > 0) return;
    int64_t half_ns = (int64_t)1000000000 / power10(p->decimals) / 2;
    for (int side = 0; side < SIDES_N; side++) {
        int64_t ns = p->wall_ns[end->arm[side] - end->s->arms];
        end->printed_ns[side] = ns;
        if (ns < 0) continue;
        end->printed_source = p->source;
        int64_t off = ns - end->at.side[side].wall_ns;
        if (off <= half_ns && -off <= half_ns) continue;
        end->unexplained_ns[side] = off;
        end->printed_differs = true;
    }
}

/* What the whole decomposition has to arrive at: the end as it is projected alone. */
static err_code run_end(waterfall_end *end, arena *mem, err *e) {
    for (int side = 0; side < SIDES_N; side++) {
        const char *only[] = {end->arm[side]->name};
        const projection *p = NULL;
        scenario s = *end->s;
        s.memory_budget_bytes = 0;
        if (project_run(&s, only, 1, mem, &p, e)) return e->code;
        end->at.side[side].wall_ns = p->arms[0].sim.wall_ns;
    }
    return OK;
}

static err_code explain(work *w, const char *const *order, err *e) {
    waterfall *f = w->f;
    for (int side = 0; side < SIDES_N; side++) {
        w->from[side] = (mix_end){&f->from.s->work, f->from.arm[side]};
        w->to[side] = (mix_end){&f->to.s->work, f->to.arm[side]};
    }
    if (check_order(w, order, e) || compare(w, e) || run_end(&f->to, w->mem, e) ||
        run_plans(w, e) || share(w, e) || step(w, order, e))
        return e->code;
    waterfall_state last = state_at(w, ((size_t)1 << w->n) - 1);
    for (int side = 0; side < SIDES_N; side++)
        assert(last.side[side].wall_ns == f->to.at.side[side].wall_ns);
    f->from.at = state_at(w, 0);
    f->to.at = last;
    set_printed(&f->from);
    set_printed(&f->to);
    return OK;
}

static err_code start(arena *mem, work **w, err *e) {
    *w = ARENA_NEW(mem, work);
    waterfall *f = ARENA_NEW(mem, waterfall);
    if (!*w || !f) return err_set(e, E_LIMIT, "explain", "does not fit the memory budget");
    (*w)->f = f;
    (*w)->mem = mem;
    return OK;
}

static err_code no_such_arm(const scenario *s, const char *name, arena *mem, err *e) {
    const char *known = "";
    for (size_t i = 0; i < s->arms_n && known; i++)
        if (i != s->baseline) known = arena_printf(mem, "%s %s", known, s->arms[i].name);
    return err_set(e, E_USAGE, s->path,
                   "has no arm \"%s\" beside its baseline \"%s\", it has:%s (--arm picks one that "
                   "every scenario has)",
                   name, s->arms[s->baseline].name, known && known[0] ? known : " none");
}

static err_code set_end(waterfall_end *end, const scenario *s, const char *name, arena *mem,
                        err *e) {
    size_t i = arm_index(s, name);
    if (i == s->arms_n || i == s->baseline) return no_such_arm(s, name, mem, e);
    end->s = s;
    end->arm[SIDE_ARM] = &s->arms[i];
    end->arm[SIDE_BASE] = &s->arms[s->baseline];
    return OK;
}

const char *waterfall_default_arm(const scenario *s, err *e) {
    if (s->arms_n >= 2) return s->arms[s->baseline == 0 ? 1 : 0].name;
    err_set(e, E_USAGE, s->path, "found one arm, expected a second one to set it against");
    return NULL;
}

err_code waterfall_within(const scenario *s, const char *name, const char *const *order, arena *mem,
                          const waterfall **out, err *e) {
    work *w = NULL;
    if (start(mem, &w, e)) return e->code;
    w->f->within = true;
    if (!name) name = waterfall_default_arm(s, e);
    if (!name || set_end(&w->f->to, s, name, mem, e)) return e->code;
    w->f->from = w->f->to;
    w->f->from.arm[SIDE_ARM] = w->f->from.arm[SIDE_BASE];
    if (explain(w, order, e) == OK) *out = w->f;
    return e->code;
}

/* Two baselines of different names are one role; not so when the other scenario has that arm too
 * and measures it against something else. */
static err_code check_baselines(const waterfall_end *a, const waterfall_end *b, err *e) {
    const char *x = a->arm[SIDE_BASE]->name, *y = b->arm[SIDE_BASE]->name;
    if (strcmp(x, y) == 0) return OK;
    if (arm_index(b->s, x) < b->s->arms_n)
        return err_set(e, E_USAGE, b->s->path,
                       "measures against \"%s\", %s against \"%s\", which is here another arm: "
                       "expected one baseline (--set baseline=%s)",
                       y, a->s->path, x, x);
    if (arm_index(a->s, y) < a->s->arms_n)
        return err_set(e, E_USAGE, a->s->path,
                       "measures against \"%s\", %s against \"%s\", which is here another arm: "
                       "expected one baseline (--set baseline=%s)",
                       x, b->s->path, y, y);
    return OK;
}

err_code waterfall_against(const scenario *from, const scenario *to, const char *name,
                           const char *const *order, arena *mem, const waterfall **out, err *e) {
    work *w = NULL;
    if (start(mem, &w, e)) return e->code;
    if (!name) name = waterfall_default_arm(from, e);
    if (!name || set_end(&w->f->from, from, name, mem, e) || set_end(&w->f->to, to, name, mem, e) ||
        check_baselines(&w->f->from, &w->f->to, e))
        return e->code;
    if (explain(w, order, e) == OK) *out = w->f;
    return e->code;
}
