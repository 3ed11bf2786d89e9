/* Ollama and MLX on a desk: ollama --verbose and JSON, mlx_lm benchmark and generate. */
#include "import_local.h"

#include <math.h>
#include <stdlib.h>

enum { FEW_PROMPT = 32, FEW_GEN = 8, LARGE_PROMPT = 512 };
static const double TOK_MAX = 1e9, S_MAX = 1e9;
static const double NOISE = 1.1; /* repetitions of one measurement rarely differ by more */
/* A prompt that takes no longer than one or two decode steps was not computed as a whole. */
static const double CACHED_STEPS = 1.5;

static const double *one_sample(import *in, double s) {
    double *v = ARENA_NEW(in->mem, double);
    if (v)
        *v = s;
    else
        err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
    return v;
}

static bool complete(import *in, const local_run *r, const char *what, double tok, double s,
                     double *rate) {
    bool measured = tok > 0 && isfinite(s);
    if (measured && s <= 0) {
        import_fault(in, r->file, r->line, "%.0f %s tokens in a time of zero or less", tok, what);
        *rate = (double)NAN;
        return false;
    }
    if (!measured) return true;
    double computed = tok / s;
    if (!isfinite(*rate)) {
        *rate = computed;
        return true;
    }
    /* rates are printed with two decimals at least */
    if (fabs(*rate - computed) <= computed * 0.01 + 0.006) return true;
    import_fault(in, r->file, r->line,
                 "%s rate %.6g tok/s contradicts %.0f tokens in %.6g s, %.6g tok/s", what, *rate,
                 tok, s, computed);
    return false;
}

bool local_run_rates(import *in, local_run *r) {
    bool prompt = complete(in, r, "prompt", r->prompt_tok, r->prompt_s, &r->prompt_tok_s);
    bool gen = complete(in, r, "generated", r->gen_tok, r->gen_s, &r->gen_tok_s);
    return prompt && gen;
}

static bool is_count(double v) {
    return v >= 1 && v <= TOK_MAX && v == floor(v);
}

static import_row *add_row(import *in, const local_run *r, import_phase phase, double rate,
                           double s) {
    import_row *row = import_row_new(in, r->file, r->line);
    if (!row) return NULL;
    row->phase = phase;
    row->batch_n = r->batch_n;
    row->n_prompt = is_count(r->prompt_tok) ? (int64_t)r->prompt_tok : 0;
    row->n_gen = phase == IMPORT_DECODE ? (int64_t)r->gen_tok : 0;
    row->per_request = r->batch_n == 1;
    import_settings_keep(in, row, r->setting);
    if (!(rate > 0 && rate <= 1e15)) {
        row->refused = "neither a rate nor a time is stated";
        return row;
    }
    row->tok_s = rate;
    row->per_seq_tok_s = rate / (double)r->batch_n;
    if (s > 0 && s <= S_MAX && (row->samples_s = one_sample(in, s))) row->samples_n = 1;
    return row;
}

static void refuse(import_row *row, const char *why) {
    if (!row->refused) row->refused = why;
}

void local_run_rows(import *in, const local_run *r, bool sound) {
    static const char FAULTY[] = "its figures contradict each other";
    if (is_count(r->prompt_tok)) {
        import_row *row = add_row(in, r, IMPORT_PREFILL, r->prompt_tok_s, r->prompt_s);
        if (!row) return;
        double step = isfinite(r->gen_tok_s) ? (double)r->batch_n / r->gen_tok_s : (double)NAN;
        double took = r->prompt_tok * (double)r->batch_n / r->prompt_tok_s;
        if (!sound) refuse(row, FAULTY);
        if (r->prompt_tok < FEW_PROMPT) refuse(row, "too few prompt tokens for a prefill rate");
        if (r->prompt_tok_s < r->gen_tok_s)
            refuse(row, "slower than decode: a cold start or swapping is in this time");
        if (r->prompt_tok > LARGE_PROMPT && took < CACHED_STEPS * step)
            refuse(row, "took no longer than a step of decode: most of this prompt was cached");
    }
    if (is_count(r->gen_tok)) {
        import_row *row = add_row(in, r, IMPORT_DECODE, r->gen_tok_s, r->gen_s);
        if (!row) return;
        if (!sound) refuse(row, FAULTY);
        if (r->gen_tok < FEW_GEN) refuse(row, "too few generated tokens for a decode rate");
        if (!is_count(r->prompt_tok))
            refuse(row, "the length of the prompt is not stated: at what context is unknown");
    }
}

static int by_key(const void *a, const void *b) {
    const import_row *x = *(import_row *const *)a, *y = *(import_row *const *)b;
    const int64_t d[][2] = {{x->phase, y->phase},
                            {x->n_prompt, y->n_prompt},
                            {x->n_gen, y->n_gen},
                            {x->batch_n, y->batch_n}};
    for (size_t i = 0; i < sizeof d / sizeof *d; i++)
        if (d[i][0] != d[i][1]) return d[i][0] < d[i][1] ? -1 : 1;
    if (x->setting[IMPORT_MODEL] != y->setting[IMPORT_MODEL]) /* kept once: a pointer is a name */
        return x->setting[IMPORT_MODEL] < y->setting[IMPORT_MODEL] ? -1 : 1;
    return 0;
}

static void check_group(import *in, import_row **v, size_t n) {
    import_row *least = v[0], *most = v[0];
    for (size_t i = 1; i < n; i++) {
        if (v[i]->tok_s < least->tok_s) least = v[i];
        if (v[i]->tok_s > most->tok_s) most = v[i];
    }
    if (most->tok_s <= NOISE * least->tok_s) return;
    const import_row *later = most->line > least->line ? most : least;
    import_warn(in, later->file, later->line,
                "%.6g tok/s on line %zu and %.6g on line %zu for the same %s: another state of the "
                "prompt cache or of the machine; neither is used",
                least->tok_s, least->line, most->tok_s, most->line,
                later->phase == IMPORT_PREFILL ? "prompt length" : "prompt and output length");
    for (size_t i = 0; i < n; i++)
        v[i]->refused = "another run of the same lengths gives another rate: choose one";
}

void local_run_conflicts(import *in, size_t first) {
    size_t n = 0;
    import_row **v = ARENA_ARRAY(in->mem, import_row *, in->rows_n - first);
    if (!v) return;
    for (size_t i = first; i < in->rows_n; i++)
        if (!in->rows[i].refused) v[n++] = &in->rows[i];
    qsort(v, n, sizeof *v, by_key);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && by_key(&v[i], &v[k]) == 0;) k++;
        check_group(in, v + i, k - i);
    }
}

const import_format *const IMPORT_LOCAL_FORMATS[] = {
    &IMPORT_OLLAMA_VERBOSE, &IMPORT_OLLAMA_JSON, &IMPORT_MLX_BENCHMARK, &IMPORT_MLX_GENERATE, NULL};
