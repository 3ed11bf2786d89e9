#include "hardware.h"

#include "base/jsonr.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the file ---- */

#define DEVICE_KEYS                                                                                \
    "chip vendor kind gpu_family gpu_cores mem_bw_GBps max_memory_GB unified_memory "              \
    "gpu_clock_MHz fp32_TFLOPS fp16_TFLOPS fp16_matrix_TFLOPS fp16_TFLOPS_is_floor int8_TOPS "     \
    "fp8_TFLOPS tflops_derivation gpu_budget_rule slc_MB source confidence "                       \
    "flop_uncertainty_frac decode_fit prefill_mfu_f16 measured"

/* A specification in units of `scale`; null: not published. */
static double spec(jr d, const char *key, double scale) {
    jr v = jr_need(d, key);
    return cJSON_IsNull(v.node) ? 0 : jr_pos(d, key) * scale;
}

/* What stands there for readers: of the right type, and not kept. */
static void read_remarks(jr d) {
    static const char *const TEXTS[] = {
        "vendor", "kind", "gpu_family", "tflops_derivation", "confidence", "gpu_budget_rule", NULL};
    static const char *const SPECS[] = {"slc_MB", "fp32_TFLOPS", "fp8_TFLOPS", NULL};
    static const char *const OBJECTS[] = {"decode_fit", "measured", NULL};
    for (size_t i = 0; TEXTS[i]; i++) (void)jr_str_or(d, TEXTS[i], NULL);
    for (size_t i = 0; SPECS[i]; i++)
        if (jr_present(jr_get(d, SPECS[i]))) (void)spec(d, SPECS[i], 1);
    for (size_t i = 0; OBJECTS[i]; i++) {
        jr o = jr_get(d, OBJECTS[i]);
        if (jr_present(o) && !cJSON_IsObject(o.node)) jr_fail(o, E_SCHEMA, "expected an object");
    }
    (void)jr_int_or(d, "gpu_cores", 1, 100000, 0);
    (void)jr_pos_or(d, "gpu_clock_MHz", 0);
    (void)jr_pos_or(d, "prefill_mfu_f16", 0);
}

static void read_device(jr d, hardware *h) {
    jr_keys(d, DEVICE_KEYS);
    h->chip = jr_str(d, "chip");
    h->source = jr_str(d, "source");
    h->mem_bw_bytes_s = spec(d, "mem_bw_GBps", 1e9);
    h->memory_bytes = spec(d, "max_memory_GB", 0x1p30);
    double alu = spec(d, "fp16_TFLOPS", 1e12), matrix = spec(d, "fp16_matrix_TFLOPS", 1e12);
    /* beside a matrix unit of unknown rate, the other rate is no ceiling */
    if (jr_bool_or(d, "fp16_TFLOPS_is_floor", false)) alu = 0;
    h->fp16_flop_s = alu > matrix ? alu : matrix;
    h->int8_op_s = spec(d, "int8_TOPS", 1e12);
    h->flop_uncertainty_frac = jr_num_or(d, "flop_uncertainty_frac", 0, 1, 0);
    h->unified_memory = jr_bool_or(d, "unified_memory", false);
    read_remarks(d);
}

static void read_catalogue(jr root, hardware_catalogue *out) {
    jr_schema(root, HARDWARE_SCHEMA);
    jr_keys(root, "schema devices");
    jr list = jr_need(root, "devices");
    size_t n = jr_len(list);
    hardware *chips = ARENA_ARRAY(root.doc->mem, hardware, n);
    if (!chips) {
        jr_fail(list, E_LIMIT, "does not fit the memory budget");
        return;
    }
    for (jr d = {0}; jr_each(list, &d);) {
        read_device(d, &chips[d.index]);
        for (size_t i = 0; i < d.index && jr_ok(d); i++)
            if (strcasecmp(chips[i].chip, chips[d.index].chip) == 0)
                jr_fail(jr_get(d, "chip"), E_SCHEMA,
                        "found \"%s\" twice, expected one entry a chip", chips[i].chip);
    }
    *out = (hardware_catalogue){.path = root.doc->name, .chips = chips, .n = n};
}

err_code hardware_parse(const file_bytes *f, arena *mem, hardware_catalogue *out, err *e) {
    jr_doc doc = {0};
    *out = (hardware_catalogue){0};
    if (jr_parse(&doc, f->name, f->s, f->len, mem, e)) return e->code;
    read_catalogue(jr_root(&doc), out);
    jr_free(&doc);
    if (e->code) *out = (hardware_catalogue){0};
    return e->code;
}

err_code hardware_load(const char *path, arena *mem, hardware_catalogue *out, err *e) {
    file_bytes f = {0};
    if (file_read(path, mem, &f, e)) return e->code;
    return hardware_parse(&f, mem, out, e);
}

/* ---- names ---- */

enum { WORDS_MAX = 48, LETTERS_MAX = 24, SIZES_MAX = 8, FORMS_N = 3 };

/* Where a chip sits: entries that differ in it are different chips, but people leave it out. */
static const char *const FORMS[FORMS_N] = {"sxm", "pcie", "nvl"};
/* Behind a chip's name these make it another chip: an M3 Pro is no M3. */
static const char *const VARIANTS[] = {"pro", "max", "ultra", "ti", "super", NULL};
static const char *const MAKERS[] = {"apple",   "nvidia", "amd",   "instinct",
                                     "geforce", "tesla",  "intel", NULL};

/* A name or a text, taken apart: words in order, and apart from them what is a size or a form
 * factor. */
typedef struct words {
    char w[WORDS_MAX][LETTERS_MAX];
    size_t n;
    double cores[SIZES_MAX], memory_gb[SIZES_MAX];
    size_t cores_n, memory_n;
    bool form[FORMS_N], any_form;
} words;

static bool is_one_of(const char *w, const char *const *list) {
    for (; *list; list++)
        if (strcmp(w, *list) == 0) return true;
    return false;
}

static bool is_number(const char *w) {
    return w[0] && w[strspn(w, "0123456789.")] == '\0';
}

/* The next run of letters, digits, '+' and inner points, in lower case; false: no more. */
static bool next_word(const char **text, const char *end, char out[LETTERS_MAX]) {
    const char *p = *text;
    size_t n = 0;
    while (p < end && !isalnum((unsigned char)*p)) p++;
    for (; p < end; p++) {
        bool inner = *p == '.' && p + 1 < end && isalnum((unsigned char)p[1]);
        if (!isalnum((unsigned char)*p) && *p != '+' && !inner) break;
        if (n + 1 < LETTERS_MAX) out[n++] = (char)tolower((unsigned char)*p);
    }
    out[n] = '\0';
    *text = p;
    return n > 0;
}

static void add_size(double *list, size_t *n, const char *digits) {
    if (*n < SIZES_MAX) list[(*n)++] = strtod(digits, NULL);
}

/* "80gb" is a size; so is "18" before "core gpu", "gpu cores" or "gb". Returns how many words it
 * takes. A "12-core CPU" says nothing about the size of the GPU. */
static size_t size_at(words *out, const words *in, size_t i) {
    const char *w = in->w[i], *next = i + 1 < in->n ? in->w[i + 1] : "",
               *then = i + 2 < in->n ? in->w[i + 2] : "";
    size_t digits = strspn(w, "0123456789.");
    bool gb = strcmp(w + digits, "gb") == 0 || strcmp(w + digits, "gib") == 0;
    if (digits > 0 && gb) {
        add_size(out->memory_gb, &out->memory_n, w);
        return 1;
    }
    if (!is_number(w)) return 0;
    if (strcmp(next, "gb") == 0 || strcmp(next, "gib") == 0) {
        add_size(out->memory_gb, &out->memory_n, w);
        return 2;
    }
    bool cores = strcmp(next, "core") == 0 || strcmp(next, "cores") == 0;
    bool gpu_cores = strcmp(next, "gpu") == 0 && strncmp(then, "core", 4) == 0;
    if (!cores && !gpu_cores) return 0;
    if (strcmp(then, "cpu") == 0) return 3;
    add_size(out->cores, &out->cores_n, w);
    return gpu_cores || strcmp(then, "gpu") == 0 ? 3 : 2;
}

static bool form_at(words *out, const char *w) {
    for (size_t f = 0; f < FORMS_N; f++) {
        size_t n = strlen(FORMS[f]);
        if (strncmp(w, FORMS[f], n) != 0 || w[n + strspn(w + n, "0123456789")] != '\0') continue;
        return out->form[f] = out->any_form = true; /* SXM5 is an SXM */
    }
    return false;
}

/* "8xH100" counts devices. */
static const char *without_count(const char *w) {
    size_t digits = strspn(w, "0123456789");
    return digits > 0 && w[digits] == 'x' && w[digits + 1] ? w + digits + 1 : w;
}

static words take_apart(const char *text, const char *end) {
    words raw = {0}, out = {0};
    while (raw.n < WORDS_MAX && next_word(&text, end, raw.w[raw.n])) raw.n++;
    for (size_t i = 0; i < raw.n;) {
        size_t used = size_at(&out, &raw, i);
        if (used == 0 && !form_at(&out, raw.w[i]))
            snprintf(out.w[out.n++], LETTERS_MAX, "%s", without_count(raw.w[i]));
        i += used ? used : 1;
    }
    return out;
}

/* Do the words of `name` stand in `text` one behind the other, and not as part of a longer name? */
static bool stand_in(const words *name, const words *text) {
    size_t from = 0;
    while (from < name->n && is_one_of(name->w[from], MAKERS)) from++;
    size_t n = name->n - from;
    for (size_t at = 0; n > 0 && at + n <= text->n; at++) {
        size_t same = 0;
        while (same < n && strcmp(name->w[from + same], text->w[at + same]) == 0) same++;
        if (same == n && (at + n == text->n || !is_one_of(text->w[at + n], VARIANTS))) return true;
    }
    return false;
}

/* Calls the parts of a name apart: what stands before the parenthesis is the chip, each part in it
 * another name for it, or its size. */
static bool named(const char *chip, const words *text) {
    const char *open = strchr(chip, '('), *end = chip + strlen(chip);
    words whole = take_apart(chip, end), name = take_apart(chip, open ? open : end);
    for (size_t f = 0; f < FORMS_N && text->any_form && whole.any_form; f++)
        if (whole.form[f] && !text->form[f]) return false;
    if (stand_in(&name, text)) return true;
    for (const char *p = open; p && p < end;) {
        const char *part = p + 1;
        p = part + strcspn(part, ",)");
        words other = take_apart(part, p);
        if (stand_in(&other, text)) return true;
    }
    return false;
}

/* Do two entries differ in size only? */
static bool same_but_size(const char *a, const char *b) {
    words wa = take_apart(a, a + strlen(a)), wb = take_apart(b, b + strlen(b));
    if (wa.n != wb.n || memcmp(wa.form, wb.form, sizeof wa.form) != 0) return false;
    for (size_t i = 0; i < wa.n; i++)
        if (strcmp(wa.w[i], wb.w[i]) != 0) return false;
    return true;
}

/* How an entry's size fits what the text says of it. */
typedef enum fit { TOO_SMALL, BOUND, EXACT } fit;

static fit size_fit(const double *stated, size_t stated_n, const double *own, size_t own_n) {
    if (stated_n == 0 || own_n == 0) return BOUND;
    double least = stated[0];
    for (size_t i = 0; i < stated_n; i++) {
        if (stated[i] == own[0]) return EXACT;
        if (stated[i] < least) least = stated[i];
    }
    return least > own[0] ? TOO_SMALL : BOUND;
}

static fit entry_fit(const char *chip, const words *text) {
    words own = take_apart(chip, chip + strlen(chip));
    fit cores = size_fit(text->cores, text->cores_n, own.cores, own.cores_n);
    fit memory = size_fit(text->memory_gb, text->memory_n, own.memory_gb, own.memory_n);
    if (cores == TOO_SMALL || memory == TOO_SMALL) return TOO_SMALL;
    return cores == EXACT || memory == EXACT ? EXACT : BOUND;
}

static bool higher(const hardware *a, const hardware *b) {
    if (a->mem_bw_bytes_s != b->mem_bw_bytes_s) return a->mem_bw_bytes_s > b->mem_bw_bytes_s;
    return a->fp16_flop_s > b->fp16_flop_s;
}

const hardware *hardware_find(const hardware_catalogue *c, const char *text) {
    if (!c || !text) return NULL;
    for (size_t i = 0; i < c->n; i++)
        if (strcasecmp(c->chips[i].chip, text) == 0) return &c->chips[i];
    const hardware *first = NULL, *best = NULL;
    fit best_fit = TOO_SMALL;
    words w = take_apart(text, text + strlen(text));
    for (size_t i = 0; i < c->n; i++) {
        const hardware *h = &c->chips[i];
        if (!named(h->chip, &w)) continue;
        if (first && !same_but_size(first->chip, h->chip)) return NULL;
        if (!first) first = h;
        fit f = entry_fit(h->chip, &w);
        if (f == TOO_SMALL || f < best_fit || (f == best_fit && !higher(h, best))) continue;
        best = h;
        best_fit = f;
    }
    return best;
}

static bool size_is(const double *stated, size_t stated_n, const double *own, size_t own_n) {
    if (stated_n == 0 || own_n == 0) return true;
    for (size_t i = 0; i < stated_n; i++)
        if (stated[i] == own[0]) return true;
    return false;
}

static bool is_of_size(const char *chip, const words *text) {
    words own = take_apart(chip, chip + strlen(chip));
    return size_is(text->cores, text->cores_n, own.cores, own.cores_n) &&
           size_is(text->memory_gb, text->memory_n, own.memory_gb, own.memory_n);
}

err_code hardware_pick(const hardware_catalogue *c, const char *text, const char *where,
                       const hardware **out, err *e) {
    enum { NAMES_BYTES = 320 };
    char names[NAMES_BYTES] = "";
    size_t fitting = 0, named_n = 0, len = 0;
    words w = take_apart(text, text + strlen(text));
    for (size_t i = 0; i < c->n; i++)
        if (strcasecmp(c->chips[i].chip, text) == 0) {
            *out = &c->chips[i];
            return OK;
        }
    for (size_t i = 0; i < c->n; i++) {
        const char *chip = c->chips[i].chip;
        if (!named(chip, &w)) continue;
        const char *between = named_n++ ? ", " : "";
        int n = snprintf(names + len, sizeof names - len, "%s%s", between, chip);
        if (n > 0 && len + (size_t)n < sizeof names)
            len += (size_t)n;
        else
            names[len] = '\0'; /* no half names */
        if (!is_of_size(chip, &w)) continue;
        *out = &c->chips[i];
        fitting++;
    }
    if (named_n == 0)
        return err_set(e, E_USAGE, where,
                       "\"%.80s\" is no single chip of the catalogue, and none is named so "
                       "(`ratecast-bench roofline --list` names them)",
                       text);
    if (fitting == 1 && !hardware_is_cpu(text)) return OK;
    return err_set(e, E_USAGE, where,
                   "\"%.80s\" is no single chip of the catalogue, expected one of: %s", text,
                   names);
}

bool hardware_is_cpu(const char *text) {
    char w[LETTERS_MAX];
    bool cpu = false, gpu = false;
    for (const char *at = text, *end = text ? text + strlen(text) : NULL;
         at && next_word(&at, end, w);) {
        cpu |= strcmp(w, "cpu") == 0 || strcmp(w, "cpus") == 0;
        gpu |= strcmp(w, "gpu") == 0 || strcmp(w, "gpus") == 0;
    }
    return cpu && !gpu;
}
