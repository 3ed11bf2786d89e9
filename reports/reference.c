#include "reference.h"

#include "metric.h"

#include "base/jsonr.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_CHARS = 96 };

/* ---- names that are near ---- */

const char *reference_near(arena *mem, const char *got, const char *const *names, size_t n) {
    const char *words = "", *text = NULL;
    char near[64];
    for (size_t i = 0; i < n && words; i++)
        if (!strchr(names[i], ' ')) words = arena_printf(mem, "%s %s", words, names[i]);
    if (words && jr_nearest(got, words, near, sizeof near))
        text = arena_printf(mem, ", nearest is \"%s\"", near);
    return text ? text : "";
}

const named_run *reference_run(reference_base *b, const char *name, err *e) {
    for (size_t i = 0; i < b->runs_n; i++) {
        named_run *it = &b->runs[i];
        if (strcmp(it->name, name) != 0) continue;
        if (!it->loaded) {
            if (file_read(it->path, b->mem, &it->file, e) ||
                runs_read(&it->file, b->lib, it->set, it->set_n, b->mem, &it->r, e) ||
                runs_project(&it->r, &it->file, b->lib, it->set, it->set_n, NULL, 0, b->mem, e))
                return NULL;
            it->loaded = true;
        }
        return it;
    }
    const char *names[64];
    size_t n = 0;
    for (; n < b->runs_n && n < sizeof names / sizeof *names; n++) names[n] = b->runs[n].name;
    err_set(e, E_SCHEMA, "", "found scenario \"%s\", expected one that is listed%s", name,
            reference_near(b->mem, name, names, n));
    return NULL;
}

static err_code named_units(const char *name, units *out, err *e) {
    if (units_of_name(name, out)) return OK;
    return err_set(e, E_SCHEMA, "", "\"%s\" does not say its unit, expected a name that does",
                   name);
}

/* ---- cards ---- */

static bool card_rate(const card *c, const char *phase, int64_t n, ref_value *out) {
    bool decode = strcmp(phase, "decode") == 0;
    for (size_t i = 0; i < (decode ? c->decode_n : c->prefill_n); i++) {
        const point_origin *o = decode ? &c->decode[i].origin : &c->prefill[i].origin;
        if ((decode ? c->decode[i].batch_n : c->prefill[i].n_prompt_tok) != n || o->excluded)
            continue;
        *out = (ref_value){.v = decode ? c->decode[i].tok_s : c->prefill[i].tok_s, .prov = o->prov};
        (void)units_of_name("rate_tok_s", &out->of);
        return true;
    }
    return false;
}

static err_code card_word(const card *c, const char *word, arena *mem, ref_value *out, err *e) {
    const struct {
        const char *word;
        double v;
        prov prov;
    } words[] = {{"weights_bytes", (double)c->weights_bytes, c->weights_prov},
                 {"params", (double)c->params, c->prov},
                 {"kv_bytes_per_tok", (double)card_kv_bytes_per_tok(c), c->kv_prov},
                 {"mem_bw_bytes_s", c->hardware.mem_bw_bytes_s, PROV_ROOFLINE},
                 {"memory_bytes", (double)c->hardware.memory_bytes, PROV_ROOFLINE}};
    const char *names[sizeof words / sizeof *words];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        names[i] = words[i].word;
        if (strcmp(words[i].word, word) != 0 || words[i].v <= 0) continue;
        *out = (ref_value){.v = words[i].v, .prov = words[i].prov};
        return named_units(word, &out->of, e);
    }
    return err_set(e, E_SCHEMA, "", "found \"%s\", expected a word of that card%s", word,
                   reference_near(mem, word, names, sizeof names / sizeof *names));
}

static err_code card_ref(reference_base *b, const char *ref, ref_value *out, err *e) {
    char *text = arena_strdup(b->mem, ref), *more = NULL;
    if (!text) return err_set(e, E_LIMIT, "", "does not fit the memory budget");
    const char *id = strtok_r(text + strlen("card "), " ", &more),
               *word = strtok_r(NULL, " ", &more), *digits = strtok_r(NULL, " ", &more);
    bool phase = word && (strcmp(word, "decode") == 0 || strcmp(word, "prefill") == 0);
    bool number = digits && strlen(digits) < 10 && digits[strspn(digits, "0123456789")] == '\0';
    if (!word || strtok_r(NULL, " ", &more) || phase != number || (digits && !number))
        return err_set(e, E_SCHEMA, "",
                       "found \"%s\", expected \"card ID decode B\", \"card ID prefill LENGTH\" or "
                       "\"card ID WORD\"",
                       ref);
    const card *c = NULL;
    err inner = {0};
    if (card_find(b->lib, id, NULL, b->mem, &c, &inner) || card_usable(b->lib, c, &inner))
        return err_set(e, inner.code, "", "found card \"%s\": %s%s%s", id, inner.where,
                       inner.where[0] ? " " : "", inner.what);
    if (!phase) return card_word(c, word, b->mem, out, e);
    if (card_rate(c, word, strtoll(digits, NULL, 10), out)) return OK;
    return err_set(e, E_SCHEMA, "", "found \"%s\", expected a used point of that card", ref);
}

/* ---- runs ---- */

static err_code no_metric(const char *arm_name, const char *metric, arena *mem, err *e) {
    const char *names[METRICS_MAX];
    size_t n = 0;
    for (; n < METRICS_MAX && metric_name(n); n++) names[n] = metric_name(n);
    const char *near = reference_near(mem, metric, names, n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], metric) == 0) near = ""; /* it means nothing for this arm */
    return err_set(e, E_SCHEMA, "", "found metric \"%s\", which arm \"%s\" does not have%s", metric,
                   arm_name, near);
}

static err_code arm_metric(const projection *p, const char *run, const char *name,
                           const char *metric, arena *mem, ref_value *out, err *e) {
    const char *names[SCENARIO_ARMS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < p->arms_n; i++) {
        if (n < SCENARIO_ARMS_MAX) names[n++] = p->arms[i].arm->name;
        if (strcmp(p->arms[i].arm->name, name) != 0) continue;
        if (!metric_get(p, &p->arms[i], metric, &out->v)) return no_metric(name, metric, mem, e);
        out->prov = metric_prov(&p->arms[i], metric);
        return named_units(metric, &out->of, e);
    }
    return err_set(e, E_SCHEMA, "", "scenario \"%s\" has no arm \"%s\"%s", run, name,
                   reference_near(mem, name, names, n));
}

/* Does the sweep change this word? */
static bool is_swept(const run_set *r, const char *word) {
    static const char IN_WORK[] = "workload.";
    if (!r->sweep) return false;
    const char *path = r->s->sweep_path;
    bool work = strncmp(path, IN_WORK, strlen(IN_WORK)) == 0;
    return work ? strcmp(word, "presented_tok") == 0 || strcmp(word, path + strlen(IN_WORK)) == 0
                : strcmp(word, path) == 0;
}

static err_code run_word(const named_run *r, const char *word, arena *mem, ref_value *out, err *e) {
    const scenario *s = r->r.s;
    const workload *w = &s->work;
    if (is_swept(&r->r, word))
        return err_set(e, E_SCHEMA, "", "\"%s\" sweeps %s: it has no one value of \"%s\"", r->name,
                       s->sweep_path, word);
    const struct {
        const char *word;
        double v;
    } words[] = {{"K", (double)w->K},
                 {"H", (double)w->H},
                 {"P", (double)w->P},
                 {"turn_delta_in_tok", (double)w->turn_delta_in_tok},
                 {"turn_out_tok", (double)w->turn_out_tok},
                 {"tool_latency_s", (double)w->tool_latency_ns / 1e9},
                 {"presented_tok", (double)workload_presented_tok(w)},
                 {"memory_budget_bytes", (double)s->memory_budget_bytes}};
    const char *names[sizeof words / sizeof *words];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        names[i] = words[i].word;
        if (strcmp(words[i].word, word) != 0) continue;
        *out = (ref_value){.v = words[i].v, .prov = PROV_ASSUMED};
        return named_units(word, &out->of, e);
    }
    return err_set(e, E_SCHEMA, "", "found \"%s\", which is no word of a workload%s", word,
                   reference_near(mem, word, names, sizeof names / sizeof *names));
}

static const projection *point_of(const named_run *r, const char *value, err *e) {
    if (!r->r.sweep && !value) return r->r.points[0].p;
    for (size_t i = 0; r->r.sweep && value && i < r->r.n; i++)
        if (strcmp(r->r.s->sweep_values[i], value) == 0) return r->r.points[i].p;
    if (value)
        err_set(e, E_SCHEMA, "", "found %s@%s, which is no value of its sweep", r->name, value);
    else
        err_set(e, E_SCHEMA, "", "\"%s\" is a sweep, expected %s@VALUE/ARM.METRIC", r->name,
                r->name);
    return NULL;
}

/* Names of runs hold no '.', '@' or '/'; names of arms may hold dots, so the metric starts at the
 * last. */
err_code reference_get(reference_base *b, const char *ref, ref_value *out, err *e) {
    char name[NAME_MAX_CHARS], arm_name[NAME_MAX_CHARS], value[NAME_MAX_CHARS];
    if (strncmp(ref, "card ", 5) == 0) return card_ref(b, ref, out, e);
    size_t n = strcspn(ref, ".@/");
    const char *slash = strchr(ref, '/'), *dot = strrchr(ref, '.');
    bool swept = ref[n] == '@', number = ref[strspn(ref, "0123456789.")] == '\0';
    if (!dot || number || n >= sizeof name ||
        (slash && (dot < slash || dot - slash >= NAME_MAX_CHARS)) ||
        (slash && !swept && slash != ref + n) ||
        (swept && (!slash || (size_t)(slash - ref) - n >= sizeof value)))
        return err_set(e, E_SCHEMA, "", "found \"%s\", expected \"SCENARIO/ARM.METRIC\"", ref);
    memcpy(name, ref, n);
    name[n] = '\0';
    const named_run *r = reference_run(b, name, e);
    if (!r) return e->code;
    if (!slash) return run_word(r, ref + n + 1, b->mem, out, e);
    size_t value_n = swept ? (size_t)(slash - ref) - n - 1 : 0, arm_n = (size_t)(dot - slash) - 1;
    memcpy(value, ref + n + 1, value_n);
    value[value_n] = '\0';
    memcpy(arm_name, slash + 1, arm_n);
    arm_name[arm_n] = '\0';
    const projection *p = point_of(r, swept ? value : NULL, e);
    return p ? arm_metric(p, name, arm_name, dot + 1, b->mem, out, e) : e->code;
}

/* ---- arithmetic ---- */

err_code reference_combine(ref_value *a, char op, const ref_value *b, arena *mem, err *e) {
    if (op == '*' || op == '/') {
        a->v = op == '*' ? a->v * b->v : a->v / b->v;
        a->of = units_product(a->of, b->of, op == '*' ? 1 : -1);
    } else {
        if (!units_same(a->of, b->of))
            return err_set(e, E_SCHEMA, "", "found %s %c %s, expected both of one unit",
                           units_text(a->of, mem), op, units_text(b->of, mem));
        a->v = op == '-' ? a->v - b->v : a->v + b->v;
    }
    /* arithmetic is exact, but not a measurement any more */
    a->prov = prov_weakest(PROV_DERIVED, prov_weakest(a->prov, b->prov));
    return OK;
}

err_code reference_in_unit(ref_value *v, const char *unit, arena *mem, err *e) {
    double factor;
    units d;
    bool any;
    if (!units_find(unit, &factor, &d, &any) || (!any && !units_same(d, v->of)))
        return err_set(e, E_SCHEMA, "", "found unit \"%s\" of a value that is %s, expected %s",
                       unit, units_text(v->of, mem), units_list(v->of, mem));
    v->v *= factor;
    return OK;
}
