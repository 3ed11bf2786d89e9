/* One quantity said twice, sentences that compare two figures, and what a comparison leaves unsaid.
 */
#include "audit/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- said twice ---- */

static bool same_text(const char *x, const char *y) {
    return claim_same_arm(x, y);
}

/* Two figures of one quantity: same metric, arm and conditions. */
static bool one_quantity(const claim_figure *f, const claim_figure *g) {
    return f->metric != METRIC_OTHER && f->metric == g->metric && same_text(f->arm, g->arm) &&
           same_text(f->conditions, g->conditions) && f->streams_n == g->streams_n &&
           f->context_tok == g->context_tok && f->percentile_ppm == g->percentile_ppm &&
           f->gpus_n == g->gpus_n && f->weight_bits == g->weight_bits && f->warm == g->warm &&
           f->cold == g->cold;
}

/* A range is printed as its two ends. */
static bool ends_of_range(const claim_figure *f, const claim_figure *g) {
    static const char *const ENDS =
        "low|high|lower|upper|min|max|first|last|lowest|highest|best|worst";
    return words_have(f->name, ENDS) || words_have(g->name, ENDS);
}

static void check_warmth(auditor *a, const claim_figure *f, const claim_figure *g) {
    double times = fmax(f->q.v, g->q.v) / fmin(f->q.v, g->q.v);
    double tok = (double)f->context_tok;
    const char *rates =
        tok > 0 ? arena_printf(a->mem, " (%s and %s of implied prefill)",
                               say_num(a, tok / f->q.v, "tok/s"), say_num(a, tok / g->q.v, "tok/s"))
                : "";
    finding *say = audit_say(
        a, R_CONSISTENCY, "warm-cache", AUDIT_CANNOT_TELL, f->name, f->origin | g->origin,
        "same length, TTFT differs %sx: %s and %s%s: warm cache? never to be merged or averaged",
        say_num(a, round(times), ""), say_s(a, f->q.v), say_s(a, g->q.v), rates ? rates : "");
    audit_numbers(say, f->q.v, g->q.v, "s");
    say->weight = WEIGHT_MAJOR;
}

static void check_twice(auditor *a) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->figures_n; i++)
        for (size_t k = i + 1; k < c->figures_n; k++) {
            const claim_figure *f = &c->figures[i], *g = &c->figures[k];
            if (!one_quantity(f, g) || ends_of_range(f, g) || f->q.bound || g->q.bound) continue;
            bool ok = f->q.lo <= g->q.hi && g->q.lo <= f->q.hi;
            bool cut = !ok && (quantity_cut(&f->q, g->q.v) || quantity_cut(&g->q, f->q.v));
            bool one_name =
                facts_one_name(f->name, g->name, "") || (f->metric_stated && g->metric_stated);
            if (!ok && f->metric == METRIC_TTFT && f->q.v > 0 && g->q.v > 0 &&
                fmax(f->q.v, g->q.v) > 5 * fmin(f->q.v, g->q.v)) {
                check_warmth(a, f, g);
                continue;
            }
            if (!ok && !one_name) continue; /* two names, two things */
            finding *say =
                audit_say(a, R_CONSISTENCY, "said-twice", ok ? AUDIT_PASS : AUDIT_FAIL, f->name,
                          f->origin | g->origin, "%s is printed as %s and as %s%s", f->name,
                          say_in(a, f->q.v, f->q.u), say_in(a, g->q.v, g->q.u),
                          cut ? ": cut, not rounded" : "");
            audit_numbers(say, f->q.v / f->q.u->scale, g->q.v / f->q.u->scale, f->q.u->name);
            if (cut) say->weight = WEIGHT_NOTE;
        }
}

/* ---- the same run twice ---- */

/* Runs of one input with one seed ("seed 7, run 1") count the same, and a model's take the same
 * time. */
static void check_same_seed(auditor *a) {
    static const char *const MODELS = "modeled|modelled|simulated|simulation|projected";
    const claim *c = a->claim;
    bool all = words_have(c->kind, MODELS);
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        int64_t seed = words_number_behind(f->conditions, "seed"),
                run = words_number_behind(f->conditions, "run|repeat|repetition");
        bool exact = f->q.lo == f->q.hi || all;
        if (seed < 0 || run < 0 || f->metric == METRIC_OTHER || !exact) continue;
        for (size_t k = i + 1; k < c->figures_n; k++) {
            const claim_figure *g = &c->figures[k];
            if (g->metric != f->metric || !same_text(f->arm, g->arm) ||
                f->streams_n != g->streams_n || f->context_tok != g->context_tok ||
                f->percentile_ppm != g->percentile_ppm || f->warm != g->warm ||
                f->cold != g->cold || words_number_behind(g->conditions, "seed") != seed ||
                words_number_behind(g->conditions, "run|repeat|repetition") == run)
                continue;
            bool ok = f->q.lo <= g->q.hi && g->q.lo <= f->q.hi;
            finding *say =
                audit_say(a, R_DETERMINISM, "same-seed", ok ? AUDIT_PASS : AUDIT_FAIL, f->name,
                          f->origin | g->origin, "two runs with seed %lld give %s and %s",
                          (long long)seed, say_in(a, f->q.v, f->q.u), say_in(a, g->q.v, g->q.u));
            audit_numbers(say, f->q.v / f->q.u->scale, g->q.v / f->q.u->scale, f->q.u->name);
        }
    }
}

/* A speedup figure and a ratio of walls say the same thing. */
static void check_speedup(auditor *a) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (f->metric != METRIC_SPEEDUP) continue;
        for (size_t k = 0; k < c->ratios_n; k++) {
            const ratio *r = &c->ratios[k];
            if (r->num->metric != METRIC_WALL || r->den->metric != METRIC_WALL || f->arm ||
                r->q.u->dim != DIM_RATIO || f->conditions)
                continue;
            bool ok = f->q.lo <= r->q.hi && r->q.lo <= f->q.hi;
            finding *say =
                audit_say(a, R_CONSISTENCY, "said-twice", ok ? AUDIT_PASS : AUDIT_FAIL, f->name,
                          f->origin | r->origin,
                          "the speedup of one session is printed as %s (%s) and as %s (%s)",
                          r->print, r->name, say_num(a, f->q.v, "x"), f->name);
            audit_numbers(say, r->q.v, f->q.v, "x");
        }
    }
}

/* ---- sentences ---- */

static const struct {
    const char *words;
    int sign; /* left - right */
} VERBS[] = {{"exceeds", 1},       {"exceed", 1},           {"is larger than", 1},
             {"is more than", 1},  {"outweighs", 1},        {"is bigger than", 1},
             {"is above", 1},      {"is greater than", 1},  {"is below", -1},
             {"is less than", -1}, {"is smaller than", -1}, {"fits in", -1},
             {"stays under", -1}};

static metric noun_metric(const char *text) {
    static const struct {
        const char *words;
        metric m;
    } NOUNS[] = {{"kv|cache", METRIC_KV_BYTES},
                 {"weights|model", METRIC_WEIGHTS_BYTES},
                 {"memory|footprint", METRIC_MEMORY_BYTES},
                 {"budget", METRIC_BUDGET_BYTES}};
    for (size_t i = 0; i < sizeof NOUNS / sizeof *NOUNS; i++)
        if (words_have(text, NOUNS[i].words)) return NOUNS[i].m;
    return METRIC_OTHER;
}

/* The figure that a half of a sentence speaks of: its noun, with the context and the number of
 * users that the sentence names. */
static const claim_figure *figure_of(const claim *c, metric m, const claim_figure *said) {
    for (size_t i = 0; m != METRIC_OTHER && i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        bool context =
            said->context_tok < 0 || f->context_tok < 0 || f->context_tok == said->context_tok;
        bool users = said->streams_n < 0 || f->streams_n < 0 || f->streams_n == said->streams_n;
        bool stated = m != METRIC_KV_BYTES || (f->context_tok >= 0 && f->streams_n >= 0);
        if (f->metric == m && context && users && stated) return f;
    }
    return NULL;
}

static void check_statement(auditor *a, const char *text) {
    const claim *c = a->claim;
    for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++) {
        const char *at = strstr(text, VERBS[i].words);
        if (!at) continue;
        const char *left = arena_printf(a->mem, "%.*s", (int)(at - text), text);
        const char *right = at + strlen(VERBS[i].words);
        if (!left) return;
        claim_figure said = {.name = text, .arm = NULL, .conditions = NULL, .q.u = unit_find("GB")};
        claim_read_words(c, &said);
        const claim_figure *f = figure_of(c, noun_metric(left), &said),
                           *g = figure_of(c, noun_metric(right), &said);
        if (!f || !g || f == g || f->q.u->dim != g->q.u->dim) continue;
        bool ok = VERBS[i].sign > 0 ? f->q.hi > g->q.lo : f->q.lo < g->q.hi;
        const char *users = "";
        if (f->metric == METRIC_KV_BYTES && f->streams_n > 0) {
            const char *s = arena_printf(a->mem, "; it takes %s users to reach it",
                                         say_num(a, g->q.v / f->q.v * (double)f->streams_n, ""));
            users = s ? s : "";
        }
        finding *say =
            audit_say(a, R_CONSISTENCY, "statement", ok ? AUDIT_PASS : AUDIT_FAIL, f->name,
                      f->origin | g->origin, "\"%s\": the figures are %s and %s (%s of it)%s", text,
                      say_in(a, f->q.v, f->q.u), say_in(a, g->q.v, g->q.u),
                      say_num(a, f->q.v / g->q.v, ""), ok ? "" : users);
        audit_numbers(say, g->q.v / g->q.u->scale, f->q.v / g->q.u->scale, g->q.u->name);
        return;
    }
}

/* ---- percentiles ---- */

static const char *const STATISTICS =
    "p5|p10|p25|p50|p75|p80|p90|p95|p99|p999|p99.9|median|mean|avg";

/* Are f and g percentiles of one quantity, f the lower one? */
static bool lower_percentile(const claim_figure *f, const claim_figure *g) {
    return f->metric == g->metric && f->metric != METRIC_OTHER && f->percentile_ppm > 0 &&
           f->percentile_ppm < g->percentile_ppm && f->q.u->dim == DIM_TIME &&
           same_text(f->arm, g->arm) && facts_one_name(f->name, g->name, STATISTICS) &&
           facts_one_name(f->conditions ? f->conditions : "", g->conditions ? g->conditions : "",
                          STATISTICS);
}

/* A higher percentile of a time is no shorter. */
static void check_order(auditor *a) {
    const claim *c = a->claim;
    size_t hold = 0, fail = 0;
    for (size_t i = 0; i < c->figures_n; i++)
        for (size_t k = 0; k < c->figures_n; k++) {
            const claim_figure *f = &c->figures[i], *g = &c->figures[k];
            if (!lower_percentile(f, g)) continue;
            bool ok = f->q.lo <= g->q.hi;
            hold += ok;
            fail += !ok;
            if (ok) continue;
            finding *say = audit_say(a, R_CONSISTENCY, "percentiles", AUDIT_FAIL, g->name,
                                     f->origin | g->origin, "%s of %s is below the lower %s of %s",
                                     g->name, say_s(a, g->q.v), f->name, say_s(a, f->q.v));
            audit_numbers(say, f->q.v / f->q.u->scale, g->q.v / f->q.u->scale, f->q.u->name);
        }
    if (hold > 0 && fail == 0)
        audit_say(a, R_CONSISTENCY, "percentiles", AUDIT_PASS, c->id, ORIGIN_PRINTED,
                  "%zu pairs of percentiles are in order", hold);
}

/* ---- what a comparison needs ---- */

static size_t arms_with(const claim *c, metric m, const char **first) {
    size_t n = 0;
    *first = NULL;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (f->metric != m || !f->arm) continue;
        bool known = false;
        for (size_t k = 0; k < i && !known; k++)
            known = c->figures[k].metric == m && same_text(c->figures[k].arm, f->arm);
        if (!known) n++;
        if (!*first) *first = f->arm;
    }
    return n;
}

/* Acceptance and rounds of a draft say what speculation does; whether it gains anything needs the
 * same run without it. */
static void check_baseline(auditor *a) {
    const claim *c = a->claim;
    const char *first;
    if (arms_with(c, METRIC_ACCEPTANCE, &first) == 0) return;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *f = &c->figures[i];
        if (words_have(f->arm, "baseline|without|off|no draft|plain|autoregressive|target only") ||
            words_have(f->conditions, "baseline|without|off|no draft|plain|target only") ||
            f->metric == METRIC_SPEEDUP)
            return;
    }
    finding *say = audit_say(a, R_CONDITIONS, "baseline", AUDIT_CANNOT_TELL, c->id, ORIGIN_PRINTED,
                             "no run without speculation is printed, so no speedup can be judged");
    say->weight = WEIGHT_NOTE;
}

/* Is the number of streams or the state of a cache what the two arms of a ratio are named for? */
static bool subject(const ratio *r, const char *words) {
    return words_have(r->num->arm, words) || words_have(r->den->arm, words);
}

/* A first call pays for more than its own work: what another cold call takes tells how much. */
static void check_first_call(auditor *a, const ratio *r) {
    const claim *c = a->claim;
    const claim_figure *f = r->num->first_call ? r->num : r->den,
                       *g = f == r->num ? r->den : r->num;
    const claim_figure *control = NULL;
    if (!f->first_call || g->first_call || f->q.u->dim != DIM_TIME || f->q.u->dim != g->q.u->dim)
        return;
    for (size_t i = 0; i < c->figures_n; i++) {
        const claim_figure *x = &c->figures[i];
        if (x->q.u->dim == DIM_TIME && x->metric == f->metric && x->cold && !x->first_call &&
            (!control || x->q.v > control->q.v))
            control = x;
    }
    bool other = control && control->q.v / g->q.v < f->q.v / g->q.v / 2;
    if (control && !other) return;
    finding *say = audit_say(
        a, R_CONDITIONS, "first-call", other ? AUDIT_FAIL : AUDIT_CANNOT_TELL, r->name,
        f->origin | g->origin | (control ? (unsigned)control->origin : 0u),
        control ? "%s of %s is a first call; %s, as cold, takes %s: most of the gap is paid once "
                  "only and is not what is compared"
                : "%s of %s is a first call, which pays for more than its own work%s%s",
        f->name, say_s(a, f->q.v), control ? control->name : "",
        control ? say_s(a, control->q.v) : "");
    audit_numbers(say, (control ? control->q.v : f->q.v) / g->q.v, f->q.v / g->q.v, "x");
}

/* A cached prompt against a cold one, of two arms that are not named for it. */
static void check_cached(auditor *a, const ratio *r) {
    static const char *const CACHE =
        "warm|cold|cache|cached|caching|uncached|hit|miss|prefix|reuse|shared|isolated|turn|"
        "request|call|first|second|repeat|run";
    const claim_figure *f = r->num, *g = r->den;
    bool crossed = (f->warm && !f->cold && g->cold && !g->warm) ||
                   (g->warm && !g->cold && f->cold && !f->warm);
    if (!crossed || !f->arm || !g->arm || same_text(f->arm, g->arm) || subject(r, CACHE) ||
        a->claim->has_workload)
        return;
    audit_say(a, R_POPULATION, "cached", AUDIT_FAIL, r->name, f->origin | g->origin,
              "%s of %s has its prompt cached, %s of %s is cold: the ratio is one of the two "
              "prompts, not of the two systems",
              (f->warm ? f : g)->name, (f->warm ? f : g)->arm, (f->warm ? g : f)->name,
              (f->warm ? g : f)->arm);
}

static bool streams_differ(const ratio *r) {
    return r->num->streams_n >= 0 && r->den->streams_n >= 0 &&
           r->num->streams_n != r->den->streams_n &&
           !subject(r, "streams|stream|slots|slot|users|user|agents|batch|concurrency|concurrent|"
                       "requests|clients|sequences|c");
}

/* Prompts of other lengths, weights of another precision or another number of devices, which the
 * arms are not named for. NULL: nothing stated differs. */
static const char *differ(auditor *a, const ratio *r) {
    const claim_figure *f = r->num, *g = r->den;
    claim_figure x = {.name = "", .arm = NULL, .conditions = f->arm, .q.u = f->q.u}, y = x;
    y.conditions = g->arm;
    claim_read_words(a->claim, &x); /* what the arms' names say */
    claim_read_words(a->claim, &y);
    bool context = f->context_tok > 0 && g->context_tok > 0 &&
                   fabs((double)f->context_tok / (double)g->context_tok - 1) > 0.1 &&
                   x.context_tok < 0 && y.context_tok < 0 &&
                   !words_have(r->name, "context|length|growth|scaling|prompt|tokens");
    if (context)
        return arena_printf(a->mem, "%lld tokens against %lld", (long long)f->context_tok,
                            (long long)g->context_tok);
    bool bits = f->weight_bits > 0 && g->weight_bits > 0 && x.weight_bits == 0 &&
                y.weight_bits == 0 &&
                fmax(f->weight_bits, g->weight_bits) > 1.5 * fmin(f->weight_bits, g->weight_bits);
    if (bits)
        return arena_printf(a->mem, "weights of %s bits against %s", say_num(a, f->weight_bits, ""),
                            say_num(a, g->weight_bits, ""));
    bool gpus = f->gpus_n != g->gpus_n && words_gpus(f->arm) < 0 && words_gpus(g->arm) < 0 &&
                !words_have(r->name, "scaling|efficiency|gpus|tp");
    if (gpus)
        return arena_printf(a->mem, "%lld devices against %lld", (long long)f->gpus_n,
                            (long long)g->gpus_n);
    return NULL;
}

/* Two arms compared at the same number of streams, the workload stated once for both. */
static void check_same_conditions(auditor *a) {
    const claim *c = a->claim;
    for (size_t i = 0; i < c->ratios_n; i++) {
        const claim_figure *f = c->ratios[i].num, *g = c->ratios[i].den;
        check_first_call(a, &c->ratios[i]);
        check_cached(a, &c->ratios[i]);
        if (f->metric != g->metric || !f->arm || !g->arm || same_text(f->arm, g->arm)) continue;
        bool streams = f->streams_n == g->streams_n, context = f->context_tok == g->context_tok;
        bool rate_or_time = f->q.u->dim == DIM_TOK_S || f->q.u->dim == DIM_TIME;
        if (!rate_or_time) continue;
        const char *other = differ(a, &c->ratios[i]);
        if (other)
            audit_say(a, R_CONDITIONS, "same", AUDIT_FAIL, c->ratios[i].name, f->origin | g->origin,
                      "%s is compared with %s under other conditions: %s", f->arm, g->arm, other);
        else if (streams && context && c->facts_n > 0)
            audit_say(
                a, R_CONDITIONS, "same", AUDIT_PASS, c->ratios[i].name, f->origin | g->origin,
                "%s and %s are compared at the same number of streams and the one stated workload",
                f->arm, g->arm);
        else if (streams_differ(&c->ratios[i]))
            audit_say(a, R_CONDITIONS, "same", AUDIT_FAIL, c->ratios[i].name, f->origin | g->origin,
                      "%s at %lld streams is compared with %s at %lld", f->arm,
                      (long long)f->streams_n, g->arm, (long long)g->streams_n);
    }
}

void check_statements(auditor *a) {
    check_twice(a);
    check_same_seed(a);
    check_order(a);
    check_speedup(a);
    for (size_t i = 0; i < a->claim->statements_n; i++) check_statement(a, a->claim->statements[i]);
    check_baseline(a);
    check_same_conditions(a);
}
