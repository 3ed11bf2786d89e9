/* Labels, settings and repeated rows of llama.cpp's benchmarks. */
#include "import_llama.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const int64_t TOK_MAX = 1000000000;
/* As in the JSON of llama-bench: a step of so few rows runs the kernels of decode. */
enum { FEW_ROWS = 8 };

/* ---- tests ---- */

const char *bench_plain(const char *cell, char *out, size_t size) {
    size_t n = strlen(cell);
    while (n > 0 && strchr("*` ", cell[n - 1])) n--;
    while (n > 0 && strchr("*` ", *cell)) cell++, n--;
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), cell);
    return out;
}

/* WORD DIGITS at *p, blanks between them allowed. */
static bool count_behind(const char **p, const char *word, int64_t *out) {
    const char *s = *p;
    size_t n = strlen(word);
    if (strncasecmp(s, word, n) != 0) return false;
    s += n;
    s += strspn(s, " ");
    size_t d = strspn(s, "0123456789");
    if (d == 0 || d > 9) return false;
    *out = 0;
    for (size_t i = 0; i < d; i++) *out = *out * 10 + (s[i] - '0');
    s += d;
    s += strspn(s, " ");
    *p = s;
    return true;
}

static bool is_unit(const char *s) {
    static const char *const UNITS[] = {"",      "t/s",     "(t/s)",   "[t/s]",
                                        "tok/s", "(tok/s)", "[tok/s]", "tokens/s"};
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
        if (strcasecmp(s, UNITS[i]) == 0) return true;
    return false;
}

void bench_label(bench_test *t) {
    if (t->pp > 0 && t->tg > 0)
        snprintf(t->label, sizeof t->label, "pp%lld+tg%lld", (long long)t->pp, (long long)t->tg);
    else
        snprintf(t->label, sizeof t->label, "%s%lld", t->pp > 0 ? "pp" : "tg",
                 (long long)(t->pp > 0 ? t->pp : t->tg));
}

bool bench_test_parse(const char *cell, bench_test *out) {
    char text[96];
    const char *p = bench_plain(cell, text, sizeof text);
    *out = (bench_test){0};
    bool pp = count_behind(&p, "pp", &out->pp), tg = false;
    if (!pp || *p == '+') {
        if (pp) p += 1 + strspn(p + 1, " ");
        tg = count_behind(&p, "tg", &out->tg);
        if (!tg) return false;
    }
    if (*p == '@') {
        p += 1 + strspn(p + 1, " ");
        /* behind a prompt that is not in the time ("tg64@pp512") is a depth as well */
        out->depth_stated =
            count_behind(&p, "d", &out->depth) || (!pp && count_behind(&p, "pp", &out->depth));
        if (!out->depth_stated) return false;
    }
    if (!is_unit(p) || (pp && out->pp == 0) || (tg && out->tg == 0)) return false;
    bench_label(out);
    return out->pp <= TOK_MAX && out->tg <= TOK_MAX;
}

import_row *bench_row(import *in, const char *file, size_t line, const bench_test *t, double tok_s,
                      double std) {
    import_row *r = import_row_new(in, file, line);
    if (!r) return NULL;
    r->phase = t->tg == 0 ? IMPORT_PREFILL : t->pp == 0 ? IMPORT_DECODE : IMPORT_MIXED;
    r->n_prompt = t->pp;
    r->n_gen = t->tg;
    r->depth_tok = t->depth;
    r->per_request = true;
    r->tok_s = r->per_seq_tok_s = tok_s;
    if (std >= 0) r->tok_s_std = std;
    if (r->phase == IMPORT_MIXED)
        r->refused = "prompt and generation in one time (pp+tg): neither can be told from it, "
                     "measure them with -p and -n";
    else if (r->phase == IMPORT_PREFILL && r->n_prompt <= FEW_ROWS)
        r->refused = "a step of so few rows runs the kernels of decode: no prefill rate";
    return r;
}

bool bench_rate_usable(import *in, import_row *r, number_kind kind, double v, const char *what) {
    if (kind == NUMBER_OK && v > 0 && v <= 1e15) return true;
    r->tok_s = r->per_seq_tok_s = r->tok_s_std = (double)NAN;
    import_refuse(in, r, "%.60s is %s, expected a rate > 0", what,
                  kind == NUMBER_NAN         ? "nan: undefined"
                  : kind == NUMBER_INF       ? "inf: not measured"
                  : kind == NUMBER_AMBIGUOUS ? "ambiguous (thousands or a decimal comma)"
                  : kind == NUMBER_OK        ? "zero, negative or beyond a clock"
                                             : "no number");
    return false;
}

/* ---- settings ---- */

static const struct {
    const char *column;
    import_setting setting;
} COLUMNS[] = {{"model", IMPORT_MODEL_TYPE},
               {"model_type", IMPORT_MODEL_TYPE},
               {"model_filename", IMPORT_MODEL},
               {"file", IMPORT_MODEL},
               {"model_size", IMPORT_MODEL_BYTES},
               {"model_n_params", IMPORT_PARAMS},
               {"size", IMPORT_SIZE_TEXT},
               {"params", IMPORT_PARAMS_TEXT},
               {"build_commit", IMPORT_BUILD},
               {"backend", IMPORT_BACKEND},
               {"backends", IMPORT_BACKEND},
               {"gpu", IMPORT_GPU},
               {"gpu_info", IMPORT_GPU},
               {"cpu", IMPORT_CPU},
               {"cpu_info", IMPORT_CPU},
               {"n_batch", IMPORT_N_BATCH},
               {"batch_size", IMPORT_N_BATCH},
               {"n_ubatch", IMPORT_N_UBATCH},
               {"microbatch_size", IMPORT_N_UBATCH},
               {"type_k", IMPORT_TYPE_K},
               {"k_type", IMPORT_TYPE_K},
               {"type_v", IMPORT_TYPE_V},
               {"v_type", IMPORT_TYPE_V},
               {"fa", IMPORT_FLASH_ATTN},
               {"flash_attn", IMPORT_FLASH_ATTN},
               {"flashattention", IMPORT_FLASH_ATTN},
               {"threads", IMPORT_THREADS},
               {"n_threads", IMPORT_THREADS},
               {"ngl", IMPORT_GPU_LAYERS},
               {"n_gpu_layers", IMPORT_GPU_LAYERS},
               {"gpu_layers", IMPORT_GPU_LAYERS},
               {"n_cpu_moe", IMPORT_CPU_MOE},
               {"ncmoe", IMPORT_CPU_MOE},
               {"sm", IMPORT_SPLIT_MODE},
               {"split_mode", IMPORT_SPLIT_MODE},
               {"mg", IMPORT_MAIN_GPU},
               {"main_gpu", IMPORT_MAIN_GPU},
               {"ts", IMPORT_TENSOR_SPLIT},
               {"tensor_split", IMPORT_TENSOR_SPLIT},
               {"nkvo", IMPORT_NO_KV_OFFLOAD},
               {"no_kv_offload", IMPORT_NO_KV_OFFLOAD},
               {"ot", IMPORT_OVERRIDES},
               {"tensor_buft_overrides", IMPORT_OVERRIDES},
               {"tensor_overrides", IMPORT_OVERRIDES},
               {"dev", IMPORT_DEVICES},
               {"devices", IMPORT_DEVICES},
               {"lm", IMPORT_LOAD_MODE},
               {"load_mode", IMPORT_LOAD_MODE},
               {"mmap", IMPORT_LOAD_MODE},
               {"use_mmap", IMPORT_LOAD_MODE}};

import_setting bench_setting(const char *column) {
    for (size_t i = 0; i < sizeof COLUMNS / sizeof *COLUMNS; i++)
        if (strcasecmp(COLUMNS[i].column, column) == 0) return COLUMNS[i].setting;
    return IMPORT_SETTINGS_N;
}

/* "99", "-1", "Yes", "on", "auto" as a whole number; NULL: none of them. */
static const char *whole_text(arena *mem, const char *cell) {
    static const char *const YES[] = {"yes", "true", "on", "enabled"}, *const NO[] = {"no", "false",
                                                                                      "off",
                                                                                      "disabled"};
    for (size_t i = 0; i < 4; i++) {
        if (strcasecmp(cell, YES[i]) == 0) return "1";
        if (strcasecmp(cell, NO[i]) == 0) return "0";
    }
    if (strcasecmp(cell, "auto") == 0) return "-1";
    number n = number_at(cell, false);
    if (n.kind != NUMBER_OK || cell[n.len] || n.v != floor(n.v) || fabs(n.v) > 9e15) return NULL;
    return arena_printf(mem, "%.0f", n.v + 0.0); /* + 0: no "-0" */
}

const char *bench_stem(arena *mem, const char *path) {
    const char *base = path;
    for (const char *p = path; *p; p++)
        if ((*p == '/' || *p == '\\') && p[1]) base = p + 1;
    size_t n = strlen(base);
    if (n > 5 && strcmp(base + n - 5, ".gguf") == 0) n -= 5;
    return arena_printf(mem, "%.*s", (int)n, base);
}

void bench_set(arena *mem, const char **setting, const char *column, const char *cell) {
    import_setting s = bench_setting(column);
    if (s == IMPORT_SETTINGS_N || !cell || !*cell) return;
    if (s == IMPORT_MODEL)
        setting[s] = bench_stem(mem, cell);
    else if (IMPORT_SETTINGS[s].number)
        setting[s] = whole_text(mem, cell);
    else if (strcasecmp(column, "mmap") == 0 || strcasecmp(column, "use_mmap") == 0) {
        const char *on = whole_text(mem, cell);
        setting[s] = !on ? NULL : strcmp(on, "0") != 0 ? "mmap" : "none";
    } else
        setting[s] = arena_strdup(mem, cell);
}

const char *bench_key(import *in, const char *header) {
    char text[128];
    snprintf(text, sizeof text, "%s", header);
    for (char *p = text; *p; p++) {
        if (*p >= 'A' && *p <= 'Z') *p = (char)(*p - 'A' + 'a');
        if (*p == ' ') *p = '_';
    }
    return import_keep(in, text);
}

bool bench_record_has(const import *in, const char *key) {
    const import_record *r = in->records_n ? &in->records[in->records_n - 1] : NULL;
    for (size_t i = 0; r && i < r->n; i++)
        if (strcmp(r->v[i].key, key) == 0) return true;
    return false;
}

void bench_record_cell(import *in, const char *key, const char *cell) {
    if (!key || !cell || !*cell || bench_record_has(in, key)) return;
    number n = number_at(cell, false);
    if (n.kind == NUMBER_OK && cell[n.len] == '\0')
        import_record_num(in, key, n.v);
    else
        import_record_text(in, key, cell);
}

/* ---- the same thing twice ---- */

void bench_keys_add(import *in, bench_keys *k, const char *text, size_t row) {
    if (k->n == k->cap) {
        size_t cap = k->cap ? 2 * k->cap : 64;
        bench_key_of *v = ARENA_ARRAY(in->mem, bench_key_of, cap);
        if (!v) {
            err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
            return;
        }
        if (k->n) memcpy(v, k->v, k->n * sizeof *v);
        k->v = v;
        k->cap = cap;
    }
    const char *copy = arena_strdup(in->mem, text);
    if (!copy) {
        err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
        return;
    }
    k->v[k->n++] = (bench_key_of){copy, row};
}

static int by_text(const void *a, const void *b) {
    const bench_key_of *x = a, *y = b;
    int d = strcmp(x->text, y->text);
    return d ? d : (x->row > y->row) - (x->row < y->row);
}

static bool same_build(const import_row *a, const import_row *b) {
    const char *x = a->setting[IMPORT_BUILD], *y = b->setting[IMPORT_BUILD];
    return (!x && !y) || (x && y && strcmp(x, y) == 0);
}

static void compare_rows(import *in, import_row *a, import_row *b, bool points) {
    if (!isfinite(a->tok_s) || !isfinite(b->tok_s) || !same_build(a, b)) return;
    bool same = a->tok_s == b->tok_s &&
                (a->tok_s_std == b->tok_s_std || !isfinite(a->tok_s_std - b->tok_s_std));
    if (same) {
        import_warn(in, b->file, b->line, "the row of line %zu again: it counts once", a->line);
        if (!b->refused) b->refused = "the same row again";
        return;
    }
    if (points && fabs(a->tok_s - b->tok_s) <= 0.1 * b->tok_s) return;
    import_warn(in, b->file, b->line,
                "conflict: %.6g tok/s here and %.6g tok/s on line %zu for one test with the same "
                "settings: none is used, and nothing is averaged",
                b->tok_s, a->tok_s, a->line);
    static const char WHY[] = "another row gives another value for the same test and settings";
    if (!a->refused) a->refused = WHY;
    if (!b->refused) b->refused = WHY;
}

void bench_keys_check(import *in, const bench_keys *k) {
    if (in->e->code || k->n == 0) return;
    qsort(k->v, k->n, sizeof *k->v, by_text);
    for (size_t i = 1, first = 0; i < k->n; i++) {
        if (strcmp(k->v[first].text, k->v[i].text) != 0)
            first = i;
        else
            compare_rows(in, &in->rows[k->v[first].row], &in->rows[k->v[i].row], k->points);
    }
}
