/* Ollama: the block that `ollama run --verbose` prints behind an answer, in all versions the same
 * eight lines (the count of a cached prompt is missing), and the closing object of /api/generate
 * and /api/chat, alone, as a stream of objects or laid out by jq. Times are nanoseconds there; the
 * time of the generation does not contain the prompt. */
#include "import_local.h"
#include "import_number.h"
#include "import_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef enum figure {
    TOTAL,
    LOAD,
    PROMPT_N,
    PROMPT_S,
    PROMPT_RATE,
    GEN_N,
    GEN_S,
    GEN_RATE,
    FIGURES_N
} figure;
enum { VALUE_BYTES = 96 };

typedef enum figure_kind { SECONDS, COUNT, RATE } figure_kind;

static const struct {
    const char *label, *json, *key;
    figure_kind kind;
} FIGURES[FIGURES_N] = {
    [TOTAL] = {"total duration", "total_duration", "total_s", SECONDS},
    [LOAD] = {"load duration", "load_duration", "load_s", SECONDS},
    [PROMPT_N] = {"prompt eval count", "prompt_eval_count", "prompt_tokens", COUNT},
    [PROMPT_S] = {"prompt eval duration", "prompt_eval_duration", "prompt_s", SECONDS},
    [PROMPT_RATE] = {"prompt eval rate", NULL, "prompt_tok_s", RATE},
    [GEN_N] = {"eval count", "eval_count", "gen_tokens", COUNT},
    [GEN_S] = {"eval duration", "eval_duration", "gen_s", SECONDS},
    [GEN_RATE] = {"eval rate", NULL, "gen_tok_s", RATE},
};

typedef struct answer {
    const char *file, *model;
    size_t line;
    bool any, faulty, text;
    double v[FIGURES_N];
    bool told_cache; /* once a file is enough */
} answer;

static void clear(answer *a) {
    a->any = a->faulty = false;
    a->model = NULL;
    a->line = 0;
    for (size_t i = 0; i < FIGURES_N; i++) a->v[i] = (double)NAN;
}

/* ---- an answer -> record and rows ---- */

static void add_record(import *in, const answer *a, const local_run *r) {
    if (!import_record_new(in, a->file, a->line, IMPORT_REQUEST, FIGURES_N + 1)) return;
    if (a->model) import_record_text(in, "model", a->model);
    for (size_t i = 0; i < FIGURES_N; i++) {
        double v = i == PROMPT_RATE ? r->prompt_tok_s : i == GEN_RATE ? r->gen_tok_s : a->v[i];
        import_record_stated(in, FIGURES[i].key, v);
    }
}

static void warn_parts(import *in, answer *a, const local_run *r) {
    double load = isfinite(a->v[LOAD]) ? a->v[LOAD] : 0;
    double prompt = isfinite(a->v[PROMPT_S]) ? a->v[PROMPT_S] : 0;
    double gen = isfinite(a->v[GEN_S]) ? a->v[GEN_S] : 0;
    if (load + prompt + gen > a->v[TOTAL] * 1.01 + 0.01) {
        import_fault(in, a->file, a->line,
                     "load %.6g s, prompt %.6g s and generation %.6g s exceed the total of %.6g s",
                     load, prompt, gen, a->v[TOTAL]);
        a->faulty = true;
    }
    if (!isfinite(a->v[PROMPT_N]) && (isfinite(a->v[PROMPT_S]) || isfinite(a->v[GEN_N])))
        import_warn(in, a->file, a->line,
                    "no prompt count: the prompt was cached, its rate is unknown");
    else if (a->v[PROMPT_N] == 0)
        import_warn(in, a->file, a->line, "no prompt token was evaluated: no prefill rate");
    else if (r->prompt_tok_s < r->gen_tok_s)
        import_warn(in, a->file, a->line,
                    "prompt %.6g tok/s is below generation %.6g tok/s over %.0f tokens: a cold "
                    "start is in it, not for planning",
                    r->prompt_tok_s, r->gen_tok_s, a->v[PROMPT_N]);
    else if (!a->told_cache && r->prompt_tok >= 32) {
        import_warn(in, a->file, a->line,
                    "Ollama does not say how much of a prompt was cached: a repeated prompt would "
                    "look faster than it is");
        a->told_cache = true;
    }
    if (a->v[GEN_N] == 0) import_warn(in, a->file, a->line, "an empty answer: no decode rate");
}

static void finish(import *in, answer *a) {
    bool told = a->told_cache;
    local_run r = {.file = a->file,
                   .line = a->line,
                   .batch_n = 1,
                   .prompt_tok = a->v[PROMPT_N],
                   .prompt_s = a->v[PROMPT_S],
                   .prompt_tok_s = a->v[PROMPT_RATE],
                   .gen_tok = a->v[GEN_N],
                   .gen_s = a->v[GEN_S],
                   .gen_tok_s = a->v[GEN_RATE]};
    r.setting[IMPORT_ENGINE] = "ollama";
    r.setting[IMPORT_MODEL] = a->model;
    if (!a->any) return;
    bool sound = local_run_rates(in, &r);
    if (a->text) { /* every version prints its rates: without the line the block is cut off */
        r.prompt_tok_s = a->v[PROMPT_RATE];
        r.gen_tok_s = a->v[GEN_RATE];
    }
    if (!isfinite(r.gen_tok_s) && !isfinite(r.prompt_tok_s) && !isfinite(a->v[GEN_N])) {
        import_warn(in, a->file, a->line, "cut off: neither a rate nor a count, not used");
    } else {
        warn_parts(in, a, &r);
        told = a->told_cache;
        if (!isfinite(a->v[PROMPT_N]) && !isfinite(a->v[GEN_N]))
            import_warn(in, a->file, a->line,
                        "rates without a number of tokens: at what length is unknown, no row");
        add_record(in, a, &r);
        local_run_rows(in, &r, sound && !a->faulty);
    }
    clear(a);
    a->told_cache = told;
}

/* ---- text ---- */

static bool only_blanks(const char *s) {
    return s[strspn(s, " \t")] == '\0';
}

/* What stands behind a label; false: it is no such value, which is a note. */
static bool parse(const char *text, figure_kind kind, double *v) {
    if (kind == SECONDS) return number_go_duration(text, v);
    number n = number_at(text, number_text_has_decimal_comma(text, strlen(text)));
    if (n.kind != NUMBER_OK || n.v < 0) return false;
    text += n.len;
    text += strspn(text, " \t");
    if (strncasecmp(text, "token", 5) != 0 && !(kind == COUNT && only_blanks(text))) return false;
    if (kind == RATE && !strstr(text, "/s")) return false;
    if (kind == COUNT && n.v != floor(n.v)) return false;
    *v = n.v;
    return true;
}

/* A line that the file ends in may have lost its end: only a unit shows that it has not. */
static bool whole(const import_line *l, figure_kind kind) {
    return l->ended || (kind == RATE && strstr(l->s, "tokens/s")) ||
           (kind == COUNT && strstr(l->s, "token(s)"));
}

typedef struct verbose {
    answer a;
    size_t last; /* label of the line before, + 1 */
    char last_value[VALUE_BYTES];
} verbose;

static void take(import *in, verbose *b, const import_line *l, figure f, const char *value) {
    double v = (double)NAN;
    bool again = b->last == (size_t)f + 1, good = parse(value, FIGURES[f].kind, &v);
    if (again && strncmp(b->last_value, value, VALUE_BYTES - 1) == 0) {
        import_warn(in, b->a.file, l->number, "\"%s\" twice, counted once", FIGURES[f].label);
        return;
    }
    if (again) {
        import_fault(in, b->a.file, l->number, "\"%s\" twice with two values: neither is used",
                     FIGURES[f].label);
        b->a.v[f] = (double)NAN;
        b->a.faulty = true;
        return;
    }
    if (f < b->last) finish(in, &b->a);
    if (!b->a.any) b->a.line = l->number;
    b->a.any = true;
    b->last = (size_t)f + 1;
    snprintf(b->last_value, sizeof b->last_value, "%s", value);
    if (good)
        b->a.v[f] = v;
    else
        import_fault(in, b->a.file, l->number, "\"%s\" is \"%.40s\", expected a finite %s",
                     FIGURES[f].label, value,
                     FIGURES[f].kind == SECONDS ? "duration such as 1.5s"
                     : FIGURES[f].kind == COUNT ? "number of token(s)"
                                                : "rate in tokens/s");
}

static err_code read_verbose(import *in, import_text *t) {
    verbose b = {.a = {.file = import_keep(in, import_text_name(t)), .text = true}};
    size_t first = in->rows_n;
    import_line l;
    clear(&b.a);
    while (!in->e->code && import_text_line(t, &l))
        for (figure f = 0; f < FIGURES_N; f++) {
            const char *value = label_value(l.s + strspn(l.s, " \t>-*"), FIGURES[f].label);
            if (!value) continue;
            if (whole(&l, FIGURES[f].kind))
                take(in, &b, &l, f, value);
            else
                import_warn(in, b.a.file, l.number, "cut off: the file ends inside \"%s\"",
                            FIGURES[f].label);
            break;
        }
    finish(in, &b.a);
    local_run_conflicts(in, first);
    return in->e->code;
}

static int detect_verbose(const file_bytes *f) {
    bool rate = import_holds(f, "eval rate:"), tokens = import_holds(f, "tokens/s");
    if (rate && tokens && import_holds(f, "total duration:")) return 90;
    if (import_holds(f, "total duration:") && import_holds(f, "load duration:")) return 80;
    return rate && tokens ? 60 : 0;
}

/* ---- JSON ---- */

static void read_object(import *in, answer *a, const import_piece *p, jr o) {
    const char *error = cJSON_IsString(jr_get(o, "error").node) ? import_str(o, "error") : NULL;
    bool done = !cJSON_IsFalse(jr_get(o, "done").node);
    if (error) import_warn(in, a->file, p->line, "the server answered: %.200s", error);
    if (!done || error) return; /* a part of a streamed answer */
    for (size_t i = 0; i < FIGURES_N; i++) {
        double v = FIGURES[i].json ? import_num(o, FIGURES[i].json) : (double)NAN;
        if (!isfinite(v)) continue;
        if (v < 0 || v > 1e18 || (FIGURES[i].kind == COUNT && v != floor(v))) {
            import_fault(in, a->file, p->line, "%s is %.6g, expected a %s", FIGURES[i].json, v,
                         FIGURES[i].kind == COUNT ? "count" : "time in nanoseconds");
            a->faulty = true;
            continue;
        }
        a->v[i] = FIGURES[i].kind == SECONDS ? v / 1e9 : v;
        a->any = true;
    }
    a->line = p->line;
    a->model = cJSON_IsString(jr_get(o, "model").node) ? import_str(o, "model") : NULL;
    if (!a->any)
        import_warn(in, a->file, p->line, "no counts and no times: not the end of an answer");
    else if (jr_ok(o))
        finish(in, a);
    bool told = a->told_cache;
    clear(a);
    a->told_cache = told;
}

static bool is_end(jr o) {
    return cJSON_IsObject(o.node) && (jr_present(jr_get(o, "eval_duration")) ||
                                      jr_present(jr_get(o, "prompt_eval_duration")));
}

/* An answer, or answers that a script has put into an object of its own. */
static void read_answers(import *in, answer *a, const import_piece *p, jr o) {
    bool any = false;
    for (const cJSON *m = is_end(o) ? NULL : o.node->child; m; m = m->next) {
        jr inner = jr_get(o, m->string);
        if (is_end(inner)) {
            read_object(in, a, p, inner);
            any = true;
        } else if (cJSON_IsArray(inner.node)) {
            for (jr item = {0}; jr_each(inner, &item);)
                if (is_end(item)) {
                    read_object(in, a, p, item);
                    any = true;
                }
        }
    }
    if (!any) read_object(in, a, p, o);
}

static err_code read_json(import *in, import_text *t) {
    bool array = import_is_array(import_text_head(t));
    import_cursor c = import_start(in, t);
    answer a = {.file = c.name};
    size_t first = in->rows_n;
    import_piece p;
    clear(&a);
    while (array ? import_next_element(&c, &p) : import_next_line(&c, &p)) {
        jr_doc doc;
        err e;
        if (!import_open(&c, &p, &doc, &e)) continue;
        read_answers(in, &a, &p, jr_root(&doc));
        (void)import_close(&c, &p, &doc);
    }
    import_end(&c);
    local_run_conflicts(in, first);
    return in->e->code;
}

static int detect_json(const file_bytes *f) {
    bool ends = import_holds(f, "\"eval_duration\"") || import_holds(f, "\"prompt_eval_duration\"");
    if (ends && (import_holds(f, "\"eval_count\"") || import_holds(f, "\"total_duration\"")))
        return 90;
    bool parts = import_holds(f, "\"created_at\"") && import_holds(f, "\"done\"");
    return parts && (import_holds(f, "\"response\"") || import_holds(f, "\"message\"")) ? 60 : 0;
}

const import_format IMPORT_OLLAMA_VERBOSE = {
    .name = "ollama_verbose",
    .about = "ollama run --verbose",
    .detect = detect_verbose,
    .read = read_verbose,
};

const import_format IMPORT_OLLAMA_JSON = {
    .name = "ollama_json",
    .about = "Ollama /api/generate or /api/chat",
    .detect = detect_json,
    .read = read_json,
};
