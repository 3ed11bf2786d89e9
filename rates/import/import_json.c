/* ratecast.import/1: what was read, row by row, before anybody fits or drops anything. */
#include "import.h"

#include "base/jsonw.h"

#include <math.h>
#include <string.h>

const struct import_setting_info IMPORT_SETTINGS[IMPORT_SETTINGS_N] = {
    [IMPORT_MODEL] = {"model", "model", false},
    [IMPORT_MODEL_TYPE] = {"model_type", "model type", false},
    [IMPORT_MODEL_BYTES] = {"model_bytes", "model size", true},
    [IMPORT_PARAMS] = {"params", "number of parameters", true},
    [IMPORT_BUILD] = {"build", "engine build", false},
    [IMPORT_BACKEND] = {"backend", "backend", false},
    [IMPORT_GPU] = {"gpu", "device", false},
    [IMPORT_CPU] = {"cpu", "CPU", false},
    [IMPORT_N_BATCH] = {"n_batch", "n_batch", true},
    [IMPORT_N_UBATCH] = {"n_ubatch", "n_ubatch", true},
    [IMPORT_TYPE_K] = {"type_k", "KV type K", false},
    [IMPORT_TYPE_V] = {"type_v", "KV type V", false},
    [IMPORT_FLASH_ATTN] = {"flash_attn", "flash attention", true},
    [IMPORT_THREADS] = {"threads", "threads", true},
    [IMPORT_GPU_LAYERS] = {"n_gpu_layers", "layers on the device", true},
    [IMPORT_CPU_MOE] = {"n_cpu_moe", "expert layers on the CPU", true},
    [IMPORT_SPLIT_MODE] = {"split_mode", "split mode", false},
    [IMPORT_MAIN_GPU] = {"main_gpu", "main device", true},
    [IMPORT_TENSOR_SPLIT] = {"tensor_split", "tensor split", false},
    [IMPORT_NO_KV_OFFLOAD] = {"no_kv_offload", "KV offload", true},
    [IMPORT_OVERRIDES] = {"tensor_buft_overrides", "tensor placement", false},
    [IMPORT_DEVICES] = {"devices", "device list", false},
    [IMPORT_ENGINE] = {"engine", "engine", false},
    [IMPORT_KV_LAYOUT] = {"kv_layout_stated", "KV layout", false},
    [IMPORT_CACHE] = {"cache", "state of the prompt cache", false},
    [IMPORT_SPECULATION] = {"speculation", "speculative decoding", false},
    [IMPORT_LOAD_MODE] = {"load_mode", "load mode", false},
    [IMPORT_LABEL] = {"label", "label", false},
    [IMPORT_SIZE_TEXT] = {"model_size_printed", "printed model size", false},
    [IMPORT_PARAMS_TEXT] = {"params_printed", "printed number of parameters", false},
};

static void count(cJSON *o, const char *key, int64_t v) {
    if (v >= 0) jw_int(o, key, v);
}

static void number(cJSON *o, const char *key, double v) {
    if (isfinite(v)) jw_num(o, key, v);
}

static void text_or_null(cJSON *o, const char *key, const char *s) {
    if (s)
        jw_str(o, key, s);
    else
        cJSON_AddNullToObject(o, key);
}

static void add_row(cJSON *rows, const import_row *r) {
    cJSON *o = jw_item(rows);
    jw_str(o, "file", r->file);
    jw_int(o, "line", (int64_t)r->line);
    jw_str(o, "phase", IMPORT_PHASES[r->phase]);
    count(o, "n_prompt", r->n_prompt);
    count(o, "n_gen", r->n_gen);
    jw_int(o, "depth_tok", r->depth_tok);
    jw_int(o, "batch_n", r->batch_n);
    if (r->shared_prompt) jw_bool(o, "shared_prompt", true);
    jw_str(o, "kv_layout", KV_LAYOUT_NAMES[r->layout]);
    cJSON *samples = jw_arr(o, "samples_s");
    for (size_t i = 0; i < r->samples_n; i++) {
        char text[32];
        jw_format(r->samples_s[i], text);
        cJSON_AddItemToArray(samples, cJSON_CreateRaw(text));
    }
    number(o, "tok_s", r->tok_s);
    number(o, "tok_s_std", r->tok_s_std);
    jw_str(o, "scope", r->per_request ? "per_request" : "aggregate");
    number(o, "per_seq_tok_s", r->per_seq_tok_s);
    for (size_t i = 0; i < IMPORT_SETTINGS_N; i++) {
        const struct import_setting_info *s = &IMPORT_SETTINGS[i];
        if (!r->setting[i]) continue;
        if (s->number)
            cJSON_AddRawToObject(o, s->key, r->setting[i]);
        else
            jw_str(o, s->key, r->setting[i]);
    }
    jw_bool(o, "used", r->refused == NULL && r->excluded == NULL);
    text_or_null(o, "refused", r->refused);
    jw_str(o, "excluded", r->excluded);
}

static void add_notes(cJSON *root, const char *key, const import_notes *notes) {
    cJSON *arr = jw_arr(root, key);
    for (size_t i = 0; i < notes->n; i++) {
        cJSON *o = jw_item(arr);
        jw_str(o, "file", notes->v[i].file);
        jw_int(o, "line", (int64_t)notes->v[i].line);
        jw_str(o, "what", notes->v[i].what);
    }
}

static void add_record(cJSON *list, const import_record *r) {
    cJSON *o = jw_item(list);
    jw_str(o, "file", r->file);
    jw_int(o, "line", (int64_t)r->line);
    jw_str(o, "kind", IMPORT_KINDS[r->kind]);
    cJSON *values = jw_obj(o, "values");
    for (size_t k = 0; k < r->n; k++) {
        if (r->v[k].text)
            jw_str(values, r->v[k].key, r->v[k].text);
        else if (isfinite(r->v[k].v))
            jw_num(values, r->v[k].key, r->v[k].v);
        else
            cJSON_AddNullToObject(values, r->v[k].key);
    }
}

/* One name when all files have it. */
static const char *common_format(const import *in) {
    const char *name = in->files_n ? in->files[0].format : NULL;
    for (size_t i = 1; i < in->files_n; i++) {
        const char *other = in->files[i].format;
        if (!name || !other) return NULL;
        if (strcmp(name, other) != 0) return "several";
    }
    return name;
}

/* ---- rows and records, printed one by one: a tree of a large file's rows takes ten times its text
 * ---- */

/* The only item of `list`, printed at the depth of a list's item and taken out of it. */
static void print_item(cJSON *list, bool first, buf *scratch, buf *out) {
    buf_reset(scratch);
    jw_print(list->child, scratch);
    buf_add(out, first ? "\n" : ",\n");
    for (const char *p = scratch->s; *p;) {
        size_t n = strcspn(p, "\n");
        buf_add(out, "    ");
        buf_add_n(out, p, n);
        p += n;
        if (*p == '\n' && p[1]) buf_add(out, "\n");
        p += *p == '\n';
    }
    cJSON_DeleteItemFromArray(list, 0);
}

static void print_rows(const import *in, buf *scratch, buf *out) {
    cJSON *one = cJSON_CreateArray();
    for (size_t i = 0; i < in->rows_n; i++) {
        add_row(one, &in->rows[i]);
        print_item(one, i == 0, scratch, out);
    }
    cJSON_Delete(one);
}

static void print_records(const import *in, buf *scratch, buf *out) {
    cJSON *one = cJSON_CreateArray();
    for (size_t i = 0; i < in->records_n; i++) {
        add_record(one, &in->records[i]);
        print_item(one, i == 0, scratch, out);
    }
    cJSON_Delete(one);
}

/* Copies `text` up to behind `"key": [`, whose empty list the items then fill. Quotes inside texts
 * are escaped, so that the key stands once. Returns where the rest begins. */
static const char *up_to_list(const char *text, const char *empty_list, buf *out) {
    const char *at = strstr(text, empty_list) + strlen(empty_list) - 1;
    buf_add_n(out, text, (size_t)(at - text));
    return at;
}

void import_json(const import *in, buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", IMPORT_SCHEMA);
    text_or_null(root, "format", common_format(in));
    cJSON *files = jw_arr(root, "files");
    for (size_t i = 0; i < in->files_n; i++) {
        cJSON *o = jw_item(files);
        jw_str(o, "file", in->files[i].file);
        text_or_null(o, "format", in->files[i].format);
        jw_str(o, "sha256", in->files[i].sha256);
        jw_int(o, "rows_n", (int64_t)in->files[i].rows_n);
        jw_int(o, "records_n", (int64_t)in->files[i].records_n);
    }
    (void)jw_arr(root, "rows");
    (void)jw_arr(root, "records");
    add_notes(root, "warnings", &in->warnings);
    add_notes(root, "errors", &in->errors);
    if (in->warnings.more) jw_int(root, "warnings_not_kept_n", (int64_t)in->warnings.more);
    if (in->errors.more) jw_int(root, "errors_not_kept_n", (int64_t)in->errors.more);
    buf whole, scratch;
    buf_init(&whole);
    buf_init(&scratch);
    jw_print(root, &whole);
    cJSON_Delete(root);
    const char *rest = up_to_list(whole.s, "\"rows\": []", out);
    print_rows(in, &scratch, out);
    if (in->rows_n) buf_add(out, "\n  ");
    rest = up_to_list(rest, "\"records\": []", out);
    print_records(in, &scratch, out);
    if (in->records_n) buf_add(out, "\n  ");
    buf_add(out, rest);
    buf_done(&whole);
    buf_done(&scratch);
}
