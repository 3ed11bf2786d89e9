/* Rows -> the text of a rate card. Points carry what was measured: all samples, in order, with file
 * and line; which sample is believed is the card's business. */
#include "import.h"

#include "import_number.h"

#include "base/jsonw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- do the rows belong together? ---- */

const import_row *import_stated(const import *in, import_setting s) {
    for (size_t i = 0; i < in->rows_n; i++)
        if (!in->rows[i].refused && in->rows[i].setting[s]) return &in->rows[i];
    return NULL;
}

/* Tools write "all layers" as -1 or as any number from 99 on. */
static bool same_value(import_setting s, const char *a, const char *b) {
    if (s == IMPORT_GPU_LAYERS) {
        long x = strtol(a, NULL, 10), y = strtol(b, NULL, 10);
        return x == y || ((x < 0 || x >= 99) && (y < 0 || y >= 99));
    }
    if (s == IMPORT_FLASH_ATTN && (strcmp(a, "-1") == 0 || strcmp(b, "-1") == 0))
        return true; /* the engine chose, and does not say what */
    return strcmp(a, b) == 0;
}

/* A point has a micro-batch of its own; threads of the host matter where the host computes. */
static bool may_differ(const import *in, import_setting s) {
    return s == IMPORT_N_UBATCH || (s == IMPORT_THREADS && import_stated(in, IMPORT_GPU));
}

static err_code one_setting(const import *in, import_setting s, err *e) {
    const import_row *first = import_stated(in, s);
    if (!first || may_differ(in, s)) return OK;
    for (size_t i = 0; i < in->rows_n; i++) {
        const import_row *r = &in->rows[i];
        if (r->refused || !r->setting[s] || same_value(s, first->setting[s], r->setting[s]))
            continue;
        char where[256];
        snprintf(where, sizeof where, "%s:%zu", r->file, r->line);
        return err_set(e, E_REFUSED, where,
                       "%s is %.60s, on %.100s:%zu it is %.60s: one card holds one of them, import "
                       "the files apart",
                       IMPORT_SETTINGS[s].name, r->setting[s], first->file, first->line,
                       first->setting[s]);
    }
    return OK;
}

/* The layout of the rows that imply one; what was asked for may not contradict them. */
static err_code one_layout(const import *in, kv_layout *layout, err *e) {
    const import_row *first = NULL;
    for (size_t i = 0; i < in->rows_n; i++) {
        const import_row *r = &in->rows[i];
        if (r->refused || r->layout == KV_LAYOUT_UNSTATED) continue;
        char where[256];
        snprintf(where, sizeof where, "%s:%zu", r->file, r->line);
        if (first && r->layout != first->layout)
            return err_set(e, E_REFUSED, where,
                           "n_kv is of %s KV, on %.100s:%zu of %s KV: one card holds one of them",
                           KV_LAYOUT_NAMES[r->layout], first->file, first->line,
                           KV_LAYOUT_NAMES[first->layout]);
        if (*layout != KV_LAYOUT_UNSTATED && r->layout != *layout)
            return err_set(e, E_REFUSED, where, "n_kv is of %s KV, --kv-layout says %s",
                           KV_LAYOUT_NAMES[r->layout], KV_LAYOUT_NAMES[*layout]);
        first = r;
    }
    if (first) *layout = first->layout;
    return OK;
}

/* ---- what the card says about the whole ---- */

static const char *value(const import *in, import_setting s) {
    const import_row *r = import_stated(in, s);
    return r ? r->setting[s] : NULL;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* "qwen2 7B Q8_0", "llama 7B mostly Q4_0", "glm4moe 106B.A12B Q4_K - Medium": the type behind
 * architecture and size, in its usual short form. */
static const char *quant_of(const char *model_type, arena *mem) {
    static const char *const SIZES[][2] = {
        {" - Small", "_S"}, {" - Medium", "_M"}, {" - Large", "_L"}};
    if (!model_type) return NULL;
    const char *p = model_type;
    for (int word = 0; word < 2; word++) {
        p += strcspn(p, " ");
        p += strspn(p, " ");
    }
    if (strncmp(p, "mostly ", 7) == 0) p += 7;
    if (!*p) return NULL;
    size_t n = strcspn(p, " ");
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        if (strncmp(p + n, SIZES[i][0], strlen(SIZES[i][0])) == 0)
            return arena_printf(mem, "%.*s%s", (int)n, p, SIZES[i][1]);
    return arena_printf(mem, "%.*s", (int)n, p);
}

/* Bytes of a KV element as ggml packs it; 0: not known. */
static double element_bytes(const char *type) {
    static const struct {
        const char *name;
        double bytes;
    } TYPES[] = {
        {"f32", 4},          {"f16", 2},          {"bf16", 2},           {"q8_0", 34.0 / 32},
        {"q4_0", 18.0 / 32}, {"q4_1", 20.0 / 32}, {"iq4_nl", 18.0 / 32}, {"q5_0", 22.0 / 32},
        {"q5_1", 24.0 / 32}};
    for (size_t i = 0; type && i < sizeof TYPES / sizeof *TYPES; i++)
        if (strcmp(TYPES[i].name, type) == 0) return TYPES[i].bytes;
    return 0;
}

/* The micro-batch of most prefill rows; points with another one say so. */
static const char *usual_ubatch(const import *in) {
    const char *best = value(in, IMPORT_N_UBATCH);
    size_t most = 0;
    const char *seen[16];
    size_t seen_n = 0, votes[16] = {0};
    for (size_t i = 0; i < in->rows_n; i++) {
        const import_row *r = &in->rows[i];
        const char *ub = r->setting[IMPORT_N_UBATCH];
        if (r->refused || r->phase != IMPORT_PREFILL || !ub) continue;
        size_t k = 0;
        while (k < seen_n && strcmp(seen[k], ub) != 0) k++;
        if (k == sizeof seen / sizeof *seen) continue;
        if (k == seen_n) seen[seen_n++] = ub;
        if (++votes[k] > most) {
            most = votes[k];
            best = seen[k];
        }
    }
    return best;
}

typedef struct head {
    const char *id, *title, *source, *note, *model, *quant, *chip, *machine, *ubatch, *engine;
    kv_layout layout;
} head;

static const char *slug(const char *s, arena *mem) {
    char *out = arena_strdup(mem, s);
    for (char *p = out; p && *p; p++) {
        if (*p >= 'A' && *p <= 'Z') *p = (char)(*p - 'A' + 'a');
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", *p)) *p = '-';
    }
    return out;
}

static const char *list_files(const import *in) {
    buf b;
    buf_init(&b);
    for (size_t i = 0; i < in->files_n; i++)
        buf_addf(&b, "%s%s (sha256 %.12s)", i ? ", " : "", base_name(in->files[i].file),
                 in->files[i].sha256);
    const char *all = arena_strdup(in->mem, b.s);
    buf_done(&b);
    return all;
}

/* Formats of the files, each once, whatever the order of the files. */
static const char *list_formats(const import *in) {
    buf b;
    buf_init(&b);
    for (size_t k = 0; import_format_at(k); k++) {
        const char *name = import_format_at(k)->name;
        bool seen = false;
        for (size_t i = 0; i < in->files_n && !seen; i++)
            seen = in->files[i].format && strcmp(in->files[i].format, name) == 0;
        if (seen) buf_addf(&b, "%s%s", b.len ? ", " : "", name);
    }
    const char *all = arena_strdup(in->mem, b.s);
    buf_done(&b);
    return all ? all : "";
}

static const char *pick(const char *given, const char *stated) {
    return given ? given : stated;
}

static err_code make_head(const import *in, const import_card_options *o, head *h, err *e) {
    const char *build = value(in, IMPORT_BUILD);
    h->engine = pick(value(in, IMPORT_ENGINE), "unstated");
    h->model = pick(o->model, value(in, IMPORT_MODEL));
    h->quant = pick(o->quant, quant_of(value(in, IMPORT_MODEL_TYPE), in->mem));
    h->machine = o->machine;
    h->chip = pick(pick(o->chip, value(in, IMPORT_GPU)), value(in, IMPORT_CPU));
    h->ubatch = usual_ubatch(in);
    if (!h->model)
        return err_set(e, E_USAGE, "--model-name",
                       "no row names its model, expected --model-name NAME (or a llama-bench file "
                       "of the same model)");
    if (!h->chip)
        return err_set(e, E_USAGE, "--chip",
                       "no row names its machine, expected --chip NAME (or a llama-bench file of "
                       "the same machine)");
    if (!h->quant) h->quant = "unstated";
    h->note = arena_printf(in->mem, "%s%simported from %s", o->note ? o->note : "",
                           o->note ? "; " : "", list_files(in));
    h->id =
        pick(o->id, slug(arena_printf(in->mem, "%s-%s-%s", h->model, h->quant, h->chip), in->mem));
    h->title = pick(o->title,
                    arena_printf(in->mem, "%s %s, %s, %s", h->model, h->quant, h->chip, h->engine));
    h->source =
        pick(o->source, arena_printf(in->mem, "%s %s: %s", h->engine,
                                     build ? build : "(build not stated)", list_formats(in)));
    if (!h->note || !h->id || !h->title || !h->source)
        return err_set(e, E_LIMIT, "", "the card does not fit the memory budget");
    return OK;
}

static void add_count(cJSON *o, const char *key, const char *text) {
    if (text && strtoll(text, NULL, 10) > 0) cJSON_AddRawToObject(o, key, text);
}

/* "7.54 GiB", "134.52 M" as tables print them: their few digits; 0: another text. GB is left alone:
 * nobody can say which of two sizes it is. */
static double printed(const char *text, const char *units, double base) {
    if (!text) return 0;
    number n = number_at(text, false);
    const char *unit = text + n.len + strspn(text + n.len, " ");
    const char *at = unit[0] ? strchr(units, unit[0]) : NULL;
    bool whole = base == 1024 ? strcmp(unit + (at != NULL), "iB") == 0 : unit[at != NULL] == '\0';
    if (n.kind != NUMBER_OK || !at || !whole) return 0;
    double v = round(n.v * pow(base, (double)(at - units + 1)));
    return v > 0 && v < 0x1p53 ? v : 0;
}

static void field_source(cJSON *root, const char *field, prov p, const char *source) {
    cJSON *all = cJSON_GetObjectItem(root, "field_provenance");
    cJSON *one = jw_obj(all ? all : jw_obj(root, "field_provenance"), field);
    jw_str(one, "provenance", PROV_NAMES[p]);
    jw_str(one, "source", source);
}

/* An option, else the count of a file, else the digits of a table. */
static void add_sizes(cJSON *root, const import *in, const import_card_options *o) {
    const char *bytes = value(in, IMPORT_MODEL_BYTES), *params = value(in, IMPORT_PARAMS),
               *size = value(in, IMPORT_SIZE_TEXT), *count = value(in, IMPORT_PARAMS_TEXT);
    bool counted = bytes && strtoll(bytes, NULL, 10) > 0;
    double b = printed(size, "KMGT", 1024), n = printed(count, "KMBT", 1000);
    if (params)
        add_count(root, "params", params);
    else if (n > 0)
        jw_int(root, "params", (int64_t)n);
    if (o->weights_bytes > 0)
        jw_int(root, "weights_bytes", o->weights_bytes);
    else if (counted)
        add_count(root, "weights_bytes", bytes);
    else if (b > 0)
        jw_int(root, "weights_bytes", (int64_t)b);
    if (!params && n > 0)
        field_source(root, "params", PROV_DERIVED,
                     arena_printf(in->mem, "\"%s\" as the table prints it", count));
    if (o->weights_bytes > 0) return;
    if (counted)
        field_source(root, "weights_bytes", PROV_DERIVED,
                     "model_size printed by llama-bench; it does not say which part stays on the "
                     "host");
    else if (b > 0)
        field_source(root, "weights_bytes", PROV_DERIVED,
                     arena_printf(in->mem,
                                  "\"%s\" as the table prints it; it does not say which part "
                                  "stays on the host",
                                  size));
}

static const char *kv_type(const import *in, const import_card_options *o, import_setting s) {
    return pick(value(in, s), o->kv_type);
}

static err_code check_kv_type(const import *in, const import_card_options *o, err *e) {
    static const import_setting BOTH[] = {IMPORT_TYPE_K, IMPORT_TYPE_V};
    if (!o->kv_type) return OK;
    if (element_bytes(o->kv_type) <= 0)
        return err_set(e, E_USAGE, "--kv-type", "found \"%s\", expected f16, bf16, f32 or q8_0",
                       o->kv_type);
    for (size_t i = 0; i < 2; i++) {
        const import_row *r = import_stated(in, BOTH[i]);
        if (r && strcmp(r->setting[BOTH[i]], o->kv_type) != 0)
            return err_set(e, E_USAGE, "--kv-type", "%s, but %s:%zu has %s %s", o->kv_type, r->file,
                           r->line, IMPORT_SETTINGS[BOTH[i]].name, r->setting[BOTH[i]]);
    }
    return OK;
}

/* Tables name the KV types only where they are not the default. */
static void add_shape(cJSON *root, const import *in, const import_card_options *o) {
    double k = element_bytes(kv_type(in, o, IMPORT_TYPE_K)),
           v = element_bytes(kv_type(in, o, IMPORT_TYPE_V));
    bool stated = kv_type(in, o, IMPORT_TYPE_K) || kv_type(in, o, IMPORT_TYPE_V);
    if (o->layers > 0) {
        jw_int(root, "layers", o->layers);
        jw_int(root, "full_attention_layers",
               o->full_attention_layers > 0 ? o->full_attention_layers : o->layers);
    }
    if (o->kv_heads > 0) jw_int(root, "kv_heads", o->kv_heads);
    if (o->head_dim > 0) jw_int(root, "head_dim", o->head_dim);
    if (k > 0 && v > 0) jw_num(root, "kv_element_bytes", (k + v) / 2);
    if (stated || o->layers == 0 || o->kv_heads == 0 || o->head_dim == 0) return;
    jw_num(root, "kv_element_bytes", element_bytes("f16"));
    field_source(root, "kv_element_bytes", PROV_ASSUMED,
                 "no row states the KV types: f16, the default of llama.cpp");
}

static void add_machine(cJSON *root, const import *in, const import_card_options *o,
                        const head *h) {
    const char *fa = value(in, IMPORT_FLASH_ATTN);
    for (size_t i = 0; i < in->rows_n; i++) { /* one that says it goes before "the engine chose" */
        const char *f = in->rows[i].refused ? NULL : in->rows[i].setting[IMPORT_FLASH_ATTN];
        if (f && strcmp(f, "-1") != 0) fa = f;
    }
    cJSON *en = jw_obj(root, "engine");
    jw_str(en, "name", h->engine);
    jw_str(en, "build", value(in, IMPORT_BUILD));
    add_count(en, "n_batch", value(in, IMPORT_N_BATCH));
    add_count(en, "n_ubatch", h->ubatch);
    jw_str(en, "type_k", kv_type(in, o, IMPORT_TYPE_K));
    jw_str(en, "type_v", kv_type(in, o, IMPORT_TYPE_V));
    jw_str(en, "kv_layout", KV_LAYOUT_NAMES[h->layout]);
    if (fa && strcmp(fa, "-1") != 0) jw_bool(en, "flash_attention", strcmp(fa, "0") != 0);
    cJSON *hardware = jw_obj(root, "hardware");
    if (h->machine) jw_str(hardware, "id", h->machine);
    jw_str(hardware, "chip", h->chip);
    const char *cpu = value(in, IMPORT_CPU), *threads = value(in, IMPORT_THREADS);
    bool computes = cpu && !value(in, IMPORT_GPU);
    if (!cpu) return;
    cJSON *host = jw_obj(root, "host");
    jw_str(host, "cpu", cpu);
    if (computes) add_count(host, "threads_n", threads);
}

/* ---- points ---- */

/* Order of the points: by what was measured, then by place, so that the order of the files on the
 * command line does not matter. */
static int cmp_i64(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int64_t context_of(const import_row *r) {
    /* llama-bench generates behind `depth_tok`, llama-batched-bench behind its own prompt */
    return r->depth_tok + r->n_prompt + r->n_gen / 2;
}

static int64_t ubatch_of(const import_row *r) {
    return r->setting[IMPORT_N_UBATCH] ? strtoll(r->setting[IMPORT_N_UBATCH], NULL, 10) : 0;
}

static int by_place(const import_row *x, const import_row *y) {
    int d = strcmp(base_name(x->file), base_name(y->file));
    if (!d) d = strcmp(x->file, y->file);
    return d ? d : (x->line > y->line) - (x->line < y->line);
}

static int by_cell(const void *a, const void *b) {
    const import_row *x = *(const import_row *const *)a, *y = *(const import_row *const *)b;
    int d = cmp_i64(x->phase, y->phase);
    if (!d && x->phase == IMPORT_PREFILL) {
        d = cmp_i64(x->n_prompt, y->n_prompt);
        if (!d) d = cmp_i64(x->depth_tok, y->depth_tok);
        if (!d) d = cmp_i64(x->batch_n, y->batch_n);
        if (!d) d = cmp_i64(ubatch_of(x), ubatch_of(y));
    } else if (!d) {
        d = cmp_i64(x->batch_n, y->batch_n);
        if (!d) d = cmp_i64(context_of(x), context_of(y));
    }
    if (!d) d = x->shared_prompt - y->shared_prompt;
    return d ? d : by_place(x, y);
}

/* Two operands may have one base name; then the whole path tells them apart. */
static const char *place_name(const import *in, const char *file) {
    size_t same = 0;
    for (size_t i = 0; i < in->files_n; i++)
        same += strcmp(base_name(in->files[i].file), base_name(file)) == 0;
    return same > 1 ? file : base_name(file);
}

/* 12 digits: what a division makes beyond them is noise. */
static double digits_12(double v) {
    char text[32];
    snprintf(text, sizeof text, "%.12g", v);
    return strtod(text, NULL);
}

static cJSON *point(const import *in, const import_row *r, const head *h) {
    cJSON *o = cJSON_CreateObject();
    bool prefill = r->phase == IMPORT_PREFILL;
    if (prefill) {
        jw_int(o, "n_prompt_tok", r->n_prompt);
        if (r->depth_tok > 0) jw_int(o, "depth_tok", r->depth_tok);
        if (r->batch_n != 1) jw_int(o, "batch_n", r->batch_n);
    } else {
        jw_int(o, "batch_n", r->batch_n);
        jw_int(o, "context_tok", context_of(r));
    }
    cJSON *samples = r->samples_n ? jw_arr(o, "samples_s") : NULL;
    for (size_t i = 0; i < r->samples_n; i++) {
        char text[32];
        double steps = prefill ? 1 : (double)r->n_gen;
        jw_format(digits_12(r->samples_s[i] / steps), text);
        cJSON_AddItemToArray(samples, cJSON_CreateRaw(text));
    }
    if (!samples) jw_num(o, "tok_s", r->tok_s);
    const char *ub = r->setting[IMPORT_N_UBATCH];
    if (prefill && ub && strcmp(ub, h->ubatch) != 0) add_count(o, "n_ubatch", ub);
    if (r->shared_prompt) jw_bool(o, "shared_prompt", true);
    char place[300];
    snprintf(place, sizeof place, "%s:%zu", place_name(in, r->file), r->line);
    jw_str(o, "source", place);
    jw_str(o, "excluded", r->excluded);
    return o;
}

static void add_points(cJSON *root, const import *in, const head *h, const import_row **rows,
                       size_t n) {
    cJSON *arrays[] = {jw_arr(root, "prefill"), jw_arr(root, "decode")};
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(arrays[rows[i]->phase], point(in, rows[i], h));
}

/* One field a line, one point a line: a card is read and compared by people. */
static void print_card(const cJSON *root, buf *out) {
    buf_add(out, "{\n");
    for (const cJSON *m = root->child; m; m = m->next) {
        buf_addf(out, "  \"%s\": ", m->string);
        if (cJSON_IsArray(m) && m->child) {
            buf_add(out, "[\n");
            for (const cJSON *p = m->child; p; p = p->next) {
                char *line = cJSON_PrintUnformatted(p);
                if (!line) abort();
                buf_addf(out, "    %s%s\n", line, p->next ? "," : "");
                cJSON_free(line);
            }
            buf_add(out, "  ]");
        } else {
            char *line = cJSON_PrintUnformatted(m);
            if (!line) abort();
            buf_add(out, line);
            cJSON_free(line);
        }
        buf_add(out, m->next ? ",\n" : "\n");
    }
    buf_add(out, "}\n");
}

err_code import_card_text(const import *in, const import_card_options *o, buf *out, err *e) {
    const import_row **rows = ARENA_ARRAY(in->mem, const import_row *, in->rows_n);
    size_t n = 0;
    if (!rows) return err_set(e, E_LIMIT, "", "the card does not fit the memory budget");
    for (size_t i = 0; i < in->rows_n; i++)
        if (!in->rows[i].refused) rows[n++] = &in->rows[i];
    if (n == 0)
        return err_set(e, E_REFUSED, in->files_n ? in->files[0].file : "",
                       "no row can become a term of a card%s%s",
                       in->rows_n ? ", the first because: " : "",
                       in->rows_n ? in->rows[0].refused : "");
    for (import_setting s = 0; s < IMPORT_SETTINGS_N; s++)
        if (one_setting(in, s, e)) return e->code;
    head h = {.layout = o->layout};
    if (check_kv_type(in, o, e) || one_layout(in, &h.layout, e) || make_head(in, o, &h, e))
        return e->code;
    qsort(rows, n, sizeof *rows, by_cell);
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", CARD_SCHEMA);
    jw_str(root, "id", h.id);
    jw_str(root, "title", h.title);
    jw_str(root, "note", h.note);
    jw_str(root, "method", pick(o->method, "import"));
    jw_str(root, "provenance", PROV_NAMES[PROV_WITNESSED]);
    jw_str(root, "source", h.source);
    jw_str(root, "model", h.model);
    jw_str(root, "quant", h.quant);
    add_sizes(root, in, o);
    add_shape(root, in, o);
    add_machine(root, in, o, &h);
    add_points(root, in, &h, rows, n);
    print_card(root, out);
    cJSON_Delete(root);
    return OK;
}
