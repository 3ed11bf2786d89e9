#include "expression.h"

#include "number.h"
#include "template.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- operands ---- */

static err_code no_word(const char *what, const char *word, err *e) {
    return err_set(e, E_SCHEMA, "", "found \"%s\", which is no value of %s", word, what);
}

typedef struct word_value {
    const char *word;
    ref_value value;
} word_value;

static bool pick(const word_value *words, size_t n, const char *word, ref_value *out) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i].word, word) == 0) {
            *out = words[i].value;
            return true;
        }
    return false;
}
#define PICK(words, word, out) pick((words), sizeof(words) / sizeof *(words), (word), (out))

static bool score_word(const score *s, const char *word, ref_value *out) {
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
    return PICK(words, word, out);
}

static bool run_score_word(const score_run *r, const char *word, ref_value *out) {
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
    return r->seen_wall_s > 0 && PICK(words, word, out);
}

static bool audit_word(const audit *a, const char *word, ref_value *out) {
    size_t fails = 0;
    for (size_t i = 0; i < a->findings_n; i++) fails += a->findings[i].outcome == AUDIT_FAIL;
    const word_value words[] = {
        {"checks_n", {(double)(a->findings_n + a->passes_n), PROV_DERIVED}},
        {"fails_n", {(double)fails, PROV_DERIVED}},
        {"passes_n", {(double)a->passes_n, PROV_DERIVED}},
        {"cannot_tell_n", {(double)(a->findings_n - fails), PROV_DERIVED}},
    };
    return PICK(words, word, out);
}

static prov end_prov(const waterfall_state *s) {
    return prov_weakest(s->side[SIDE_ARM].prov, s->side[SIDE_BASE].prov);
}

static bool term_word(const waterfall_term *t, const char *word, ref_value *out) {
    prov p = end_prov(&t->after);
    const word_value words[] = {
        {"step_speedup", {t->step_speedup, p}},
        {"share_speedup", {t->share_speedup, p}},
        {"step_arm_s", {(double)t->step_ns[SIDE_ARM] / 1e9, p}},
        {"step_baseline_s", {(double)t->step_ns[SIDE_BASE] / 1e9, p}},
        {"after_speedup", {t->after.speedup, p}},
    };
    return PICK(words, word, out);
}

static bool ends_word(const spec_explain *x, const char *word, ref_value *out) {
    const waterfall_end *from = &x->links[0]->from, *to = &x->links[x->n - 1]->to;
    const word_value words[] = {
        {"from_speedup", {from->at.speedup, end_prov(&from->at)}},
        {"to_speedup", {to->at.speedup, end_prov(&to->at)}},
    };
    return PICK(words, word, out);
}

static err_code explain_value(const spec_explain *x, const char *item, const char *word,
                              ref_value *out, err *e) {
    if (!item) return ends_word(x, word, out) ? OK : no_word("an explanation", word, e);
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->links[i]->n; k++) {
            const waterfall_term *t = &x->links[i]->terms[k];
            if (strcmp(t->name, item) == 0)
                return term_word(t, word, out) ? OK : no_word("a step", word, e);
        }
    return err_set(e, E_SCHEMA, "", "found step \"%s\", which explanation \"%s\" does not have",
                   item, x->name);
}

static err_code witness_value(const spec_witness *w, const char *item, const char *word,
                              ref_value *out, err *e) {
    if (!item) return score_word(&w->score, word, out) ? OK : no_word("a score", word, e);
    for (size_t i = 0; i < w->score.n; i++)
        if (strcmp(w->score.runs[i].r->run->id, item) == 0)
            return run_score_word(&w->score.runs[i], word, out) ? OK
                                                                : no_word("a scored run", word, e);
    return err_set(e, E_SCHEMA, "", "found run \"%s\", which \"%s\" does not score", item, w->name);
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
    const spec_witness *w = ref[0] == 'w' ? spec_witness_named(s, name) : NULL;
    const spec_explain *x = ref[0] == 'e' ? spec_explain_named(s, name) : NULL;
    if (w) return witness_value(w, item, word, out, e);
    if (x) return explain_value(x, item, word, out, e);
    for (size_t i = 0; ref[0] == 'a' && i < s->claims_n; i++)
        if (strcmp(s->claims[i].claim->id, name) == 0)
            return audit_word(&s->claims[i].audit, word, out) ? OK : no_word("an audit", word, e);
    return err_set(e, E_SCHEMA, "", "found \"%s\", expected a name that the report lists", ref);
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
        else {
            out->v = op == '/'   ? out->v / v.v
                     : op == '*' ? out->v * v.v
                     : op == '-' ? out->v - v.v
                                 : out->v + v.v;
            /* arithmetic is exact, but not a measurement any more */
            out->prov = prov_weakest(PROV_DERIVED, prov_weakest(out->prov, v.prov));
        }
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
    return err_set(e, E_SCHEMA, "",
                   "found figure \"%s\", which the report's document does not have", id);
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
    if (evaluate(s, text, mem, out, e) || reference_in_unit(unit_name, &out->v)) return e->code;
    return err_set(e, E_SCHEMA, "", "found unit \"%s\", expected one that ratecast knows",
                   unit_name);
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
