#include "expression.h"

#include "number.h"
#include "template.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- operands ---- */

enum { WORDS_MAX = 16 };

typedef struct word_value {
    const char *word;
    struct {
        double v;
        prov prov;
    } value;
} word_value;

/* Who asks for a word of something, and where the answer goes. */
typedef struct request {
    const spec *s;
    const char *word;
    arena *mem;
    ref_value *out;
    err *e;
} request;

static err_code pick(const request *q, const char *what, const word_value *words, size_t n) {
    const char *names[WORDS_MAX];
    for (size_t i = 0; i < n && i < WORDS_MAX; i++) {
        names[i] = words[i].word;
        if (strcmp(words[i].word, q->word) != 0) continue;
        *q->out = (ref_value){.v = words[i].value.v, .prov = words[i].value.prov};
        if (units_of_name(q->word, &q->out->of)) return OK;
        return err_set(q->e, E_SCHEMA, "", "\"%s\" does not say its unit", q->word);
    }
    return err_set(q->e, E_SCHEMA, "", "found \"%s\", which is no value of %s%s", q->word, what,
                   reference_near(q->mem, q->word, names, n));
}
#define PICK(q, what, words) pick((q), (what), (words), sizeof(words) / sizeof *(words))

static err_code score_word(const score *s, const request *q) {
    const word_value words[] = {
        {"runs_n", {(double)s->wall.n, PROV_DERIVED}},
        {"wall_mean_abs_frac", {s->wall.mean_abs_frac, PROV_DERIVED}},
        {"wall_median_abs_frac", {s->wall.median_abs_frac, PROV_DERIVED}},
        {"wall_max_abs_frac", {s->wall.max_abs_frac, PROV_DERIVED}},
        {"wall_bias_frac", {s->wall.bias_frac, PROV_DERIVED}},
        {"card_only_mean_abs_frac", {s->wall_card_only.mean_abs_frac, PROV_DERIVED}},
        {"warm_p50_median_abs_frac", {s->warm_p50.median_abs_frac, PROV_DERIVED}},
        {"covered_frac", {s->covered_frac, PROV_DERIVED}},
        {"half_width_frac", {s->median_half_width_frac, PROV_DERIVED}},
    };
    return PICK(q, "a score", words);
}

static err_code run_score_word(const score_run *r, const request *q) {
    const word_value words[] = {
        {"witnessed_s", {r->seen_wall_s, PROV_WITNESSED}},
        {"projected_s", {r->wall_s, PROV_MODELED}},
        {"lo_s", {r->lo_s, PROV_MODELED}},
        {"hi_s", {r->hi_s, PROV_MODELED}},
        {"card_only_s", {r->card_only_wall_s, PROV_MODELED}},
        {"error_frac", {r->wall_s / r->seen_wall_s - 1, PROV_DERIVED}},
        {"witnessed_warm_p50_s", {r->seen_warm_p50_s, PROV_WITNESSED}},
        {"projected_warm_p50_s", {r->warm.p50_s, PROV_MODELED}},
    };
    if (r->seen_wall_s > 0) return PICK(q, "a scored run", words);
    return err_set(q->e, E_SCHEMA, "",
                   "found a run without a wall-clock, expected one that has it");
}

static err_code audit_word(const audit *a, const request *q) {
    size_t fails = 0;
    for (size_t i = 0; i < a->findings_n; i++) fails += a->findings[i].outcome == AUDIT_FAIL;
    const word_value words[] = {
        {"checks_n", {(double)(a->findings_n + a->passes_n), PROV_DERIVED}},
        {"fails_n", {(double)fails, PROV_DERIVED}},
        {"passes_n", {(double)a->passes_n, PROV_DERIVED}},
        {"cannot_tell_n", {(double)(a->findings_n - fails), PROV_DERIVED}},
    };
    return PICK(q, "an audit", words);
}

static prov end_prov(const waterfall_state *s) {
    return prov_weakest(s->side[SIDE_ARM].prov, s->side[SIDE_BASE].prov);
}

static err_code term_word(const waterfall_term *t, const request *q) {
    prov p = end_prov(&t->after);
    const word_value words[] = {
        {"step_speedup", {t->step_speedup, p}},
        {"share_speedup", {t->share_speedup, p}},
        {"step_arm_s", {(double)t->step_ns[SIDE_ARM] / 1e9, p}},
        {"step_baseline_s", {(double)t->step_ns[SIDE_BASE] / 1e9, p}},
        {"after_speedup", {t->after.speedup, p}},
    };
    return PICK(q, "a step", words);
}

static err_code ends_word(const spec_explain *x, const request *q) {
    const waterfall_end *from = &x->links[0]->from, *to = &x->links[x->n - 1]->to;
    const word_value words[] = {
        {"from_speedup", {from->at.speedup, end_prov(&from->at)}},
        {"to_speedup", {to->at.speedup, end_prov(&to->at)}},
    };
    return PICK(q, "an explanation", words);
}

static const char *near(const request *q, const char *got, const char *const *names, size_t n) {
    return reference_near(q->mem, got, names, n);
}

static err_code explain_value(const spec_explain *x, const char *item, const request *q) {
    if (!item) return ends_word(x, q);
    const char *names[SPEC_LIST_MAX];
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->links[i]->n; k++) {
            const waterfall_term *t = &x->links[i]->terms[k];
            if (strcmp(t->name, item) == 0) return term_word(t, q);
            if (n < SPEC_LIST_MAX) names[n++] = t->name;
        }
    return err_set(q->e, E_SCHEMA, "",
                   "found step \"%s\", which explanation \"%s\" does not have%s", item, x->name,
                   near(q, item, names, n));
}

static err_code witness_value(const spec_witness *w, const char *item, const request *q) {
    if (!item) return score_word(&w->score, q);
    const char *names[SPEC_LIST_MAX];
    size_t n = 0;
    for (size_t i = 0; i < w->score.n; i++) {
        const char *id = w->score.runs[i].r->run->id;
        if (strcmp(id, item) == 0) return run_score_word(&w->score.runs[i], q);
        if (n < SPEC_LIST_MAX) names[n++] = id;
    }
    return err_set(q->e, E_SCHEMA, "", "found run \"%s\", which \"%s\" does not score%s", item,
                   w->name, near(q, item, names, n));
}

/* No such name in the list of the report that `ref` speaks of by its first letter. */
static err_code no_name(const request *q, const char *ref, const char *name) {
    const char *names[SPEC_LIST_MAX];
    const spec *s = q->s;
    size_t n = ref[0] == 'w' ? s->witness_n : ref[0] == 'e' ? s->explains_n : s->claims_n;
    for (size_t i = 0; i < n; i++)
        names[i] = ref[0] == 'w'   ? s->witness[i].name
                   : ref[0] == 'e' ? s->explains[i].name
                                   : s->claims[i].claim->id;
    return err_set(q->e, E_SCHEMA, "", "found \"%s\", expected a name that the report lists%s", ref,
                   near(q, name, names, n));
}

/* "witness NAME[/ITEM].WORD", "explain ...", "audit ID.WORD": the name ends at the first '/', the
 * word starts behind the last '.'. */
static err_code named_value(const spec *s, const char *ref, arena *mem, ref_value *out, err *e) {
    const char *space = strchr(ref, ' ');
    char *name = arena_strdup(mem, space + 1), *word = name ? strrchr(name, '.') : NULL;
    if (!word)
        return err_set(e, E_SCHEMA, "", "found \"%s\", expected \"%.*s NAME.WORD\"", ref,
                       (int)(space - ref), ref);
    *word++ = '\0';
    char *item = strchr(name, '/');
    if (item) *item++ = '\0';
    request q = {.s = s, .word = word, .mem = mem, .out = out, .e = e};
    const spec_witness *w = ref[0] == 'w' ? spec_witness_named(s, name) : NULL;
    const spec_explain *x = ref[0] == 'e' ? spec_explain_named(s, name) : NULL;
    if (w) return witness_value(w, item, &q);
    if (x) return explain_value(x, item, &q);
    for (size_t i = 0; ref[0] == 'a' && i < s->claims_n; i++)
        if (strcmp(s->claims[i].claim->id, name) == 0) return audit_word(&s->claims[i].audit, &q);
    return no_name(&q, ref, name);
}

static err_code operand(const spec *s, const char *ref, arena *mem, ref_value *out, err *e) {
    static const char *const LISTS[] = {"witness ", "explain ", "audit "};
    for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++)
        if (strncmp(ref, LISTS[i], strlen(LISTS[i])) == 0) return named_value(s, ref, mem, out, e);
    reference_base base = s->base;
    return reference_get(&base, ref, out, e);
}

/* ---- expressions ---- */

/* Cuts `text` at its first " / ", " * ", " - " or " + "; the operator, or 0 at the end. */
static char cut_operand(char *text, char **rest) {
    for (char *c = text; *c; c++)
        if (c[0] == ' ' && c[1] && strchr("/*-+", c[1]) && c[2] == ' ') {
            char op = c[1];
            *c = '\0';
            *rest = c + 3;
            return op;
        }
    return 0;
}

static err_code evaluate(const spec *s, char *text, arena *mem, ref_value *out, err *e) {
    char op = 0;
    for (size_t n = 0;; n++) {
        ref_value v = {0};
        char *rest = NULL, next = cut_operand(text, &rest);
        if (operand(s, text, mem, &v, e)) return e->code;
        if (n == 0)
            *out = v;
        else if (reference_combine(out, op, &v, mem, e))
            return e->code;
        if (!next) break;
        op = next;
        text = rest;
    }
    if (isfinite(out->v)) return OK;
    return err_set(e, E_RANGE, "", "is not finite, expected a number (a division by 0?)");
}

/* ".2", ",", ",.1"; "" for a whole number. */
static err_code print_number(double v, const char *format, arena *mem, const char **out, err *e) {
    bool grouped = format[0] == ',';
    const char *digits = format + grouped;
    char *end = NULL;
    long decimals = digits[0] == '.' ? strtol(digits + 1, &end, 10) : 0;
    bool known = digits[0] == '\0' || (digits[0] == '.' && digits[1] >= '0' && digits[1] <= '9' &&
                                       !*end && decimals < 10);
    if (!known)
        return err_set(e, E_SCHEMA, "", "found format \":%s\", expected :.N, :, or :,.N", format);
    if (digits[0] == '\0' && fabs(v - round(v)) > fmax(1e-9, 1e-12 * fabs(v)))
        return err_set(e, E_SCHEMA, "",
                       "found %.6g, which is no whole number, expected :.N decimals behind it", v);
    const char *text = arena_printf(mem, "%.*f", (int)decimals, v);
    if (text && text[0] == '-' && !text[strspn(text, "-0.")]) text++; /* no -0.0 */
    *out = text && grouped ? number_grouped(mem, text) : text;
    return *out ? OK : err_set(e, E_LIMIT, "", "does not fit the memory budget");
}

/* ---- figures of a document ---- */

static err_code figure_value(const spec *s, const char *id, const char *format, bool printed,
                             arena *mem, expressed *out, err *e) {
    if (format[0] && strcmp(format, ",") != 0)
        return err_set(e, E_SCHEMA, "",
                       "found format \":%s\", expected \":,\" or none: a figure "
                       "has the digits of its document",
                       format);
    for (size_t i = 0; i < s->figures.n; i++) {
        const figure *f = &s->figures.figures[i];
        if (strcmp(f->id, id) != 0) continue;
        bool again = !printed && f->regenerated;
        const char *digits = again ? f->regenerated : f->printed;
        *out = (expressed){.text = format[0] ? number_grouped(mem, digits) : digits,
                           .title = arena_printf(mem, "%s, %s (%s, %s)",
                                                 again ? "regenerated" : "printed", f->what, f->id,
                                                 FIGURE_STATUS_NAMES[f->status])};
        return out->title ? OK : err_set(e, E_LIMIT, "", "does not fit the memory budget");
    }
    const char **ids = ARENA_ARRAY(mem, const char *, s->figures.n + 1);
    for (size_t i = 0; ids && i < s->figures.n; i++) ids[i] = s->figures.figures[i].id;
    return err_set(e, E_SCHEMA, "",
                   "found figure \"%s\", which the report's document does not have%s", id,
                   ids ? reference_near(mem, id, ids, s->figures.n) : "");
}

/* ---- words that depend on a value ---- */

/* "EXPR [in UNIT] < NUMBER ? WORDS : WORDS": what a verdict says follows from the value, too. */
typedef struct choice {
    double limit;
    const char *below, *otherwise;
} choice;

static bool has_digit(const char *words) {
    for (; *words; words++)
        if (template_digit(words)) return true;
    return false;
}

/* Cuts the tail off `text`; *any: there was one. */
static err_code cut_choice(char *text, choice *out, bool *any, err *e) {
    char *less = strstr(text, " < "), *ask = less ? strstr(less, " ? ") : NULL,
         *colon = ask ? strstr(ask + 3, " : ") : NULL, *end = NULL;
    *any = less != NULL;
    if (!less) return OK;
    if (colon) {
        *less = *ask = *colon = '\0';
        *out = (choice){strtod(less + 3, &end), ask + 3, colon + 3};
    }
    if (!colon || end == less + 3 || *end || !isfinite(out->limit))
        return err_set(e, E_SCHEMA, "", "expected EXPR < NUMBER ? WORDS : WORDS");
    if (has_digit(out->below) || has_digit(out->otherwise))
        return err_set(e, E_SCHEMA, "", "found a digit in the words, expected none");
    return OK;
}

static err_code value_of(const spec *s, char *text, arena *mem, ref_value *out, err *e) {
    char *in = strstr(text, " in ");
    const char *unit_name = in ? in + strlen(" in ") : "";
    if (in) *in = '\0';
    if (evaluate(s, text, mem, out, e) || reference_in_unit(out, unit_name, mem, e)) return e->code;
    return OK;
}

err_code expression_get(const spec *s, const char *field, arena *mem, expressed *out, err *e) {
    choice words = {0};
    bool chooses = false;
    ref_value v = {0};
    char *text = arena_strdup(mem, field), *format = NULL;
    if (!text) return err_set(e, E_LIMIT, "", "does not fit the memory budget");
    if (cut_choice(text, &words, &chooses, e)) return e->code;
    if (!chooses) format = strrchr(text, ':');
    if (format) *format++ = '\0';
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--) text[n - 1] = '\0';
    bool a_figure = strncmp(text, "figure ", 7) == 0 || strncmp(text, "printed ", 8) == 0;
    if (a_figure && chooses)
        return err_set(e, E_SCHEMA, "", "found a figure before <, expected a value");
    if (a_figure)
        return figure_value(s, strchr(text, ' ') + 1, format ? format : "", text[0] == 'p', mem,
                            out, e);
    const char *shown = arena_strdup(mem, text); /* evaluation cuts the text */
    if (value_of(s, text, mem, &v, e)) return e->code;
    if (chooses)
        out->text = v.v < words.limit ? words.below : words.otherwise;
    else if (print_number(v.v, format ? format : "", mem, &out->text, e))
        return e->code;
    out->title = arena_printf(mem, "%s: %s", PROV_UPPER[v.prov], shown ? shown : field);
    return out->title ? OK : err_set(e, E_LIMIT, "", "does not fit the memory budget");
}
