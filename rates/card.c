#include "card.h"

#include "base/jsonr.h"
#include "base/stat.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXTENDS_DEPTH_MAX = 8, POINTS_MAX = 200000 };
static const int64_t TOK_MAX = 1000000000;
static const double BYTES_MAX = 9007199254740992.0;

#define TOP_KEYS                                                                                   \
    "schema id title extends method provenance source model quant architecture params "            \
    "weights_bytes "                                                                               \
    "weights_host_bytes overhead_bytes layers full_attention_layers kv_heads head_dim "            \
    "kv_element_bytes "                                                                            \
    "recurrent_state_bytes field_provenance engine hardware host host_terms claim_only "           \
    "simulated_device prefill decode"
static const char *const METHODS[] = {"engine", "probe", "roofline", "import", NULL};
const char *const KV_LAYOUT_NAMES[] = {NULL, "split", "unified", NULL};
/* A child states these itself; everything else it lacks comes from the card that it extends. */
static const char OWN_KEYS[] = " schema id title extends method provenance source note claim_only ";

double card_warm_sample_s(const double *samples_s, size_t n) {
    if (n == 0) return 0;
    double lo = samples_s[0], hi = samples_s[0];
    for (size_t i = 1; i < n; i++) {
        lo = fmin(lo, samples_s[i]);
        hi = fmax(hi, samples_s[i]);
    }
    if ((hi - lo) / lo > 0.20) return lo;
    double *sorted = malloc(n * sizeof *sorted);
    if (!sorted) abort();
    memcpy(sorted, samples_s, n * sizeof *sorted);
    stat_sort_f64(sorted, n);
    double middle =
        sorted[stat_rank(n, 500000)]; /* one that was measured, also of an even number */
    free(sorted);
    return middle;
}

int64_t card_kv_bytes_per_tok(const card *c) {
    double b = 2.0 * (double)c->full_attention_layers * (double)c->kv_heads * (double)c->head_dim *
               c->kv_element_bytes;
    return b < BYTES_MAX ? (int64_t)llround(b) : 0;
}

/* ---- points ---- */

/* Provenance, source, samples; `value_key` is the point's own seconds field. Returns the warm
 * seconds, taken from the value or from the samples, or 0 when the point has only a rate. */
static double read_origin(jr p, const card *c, const char *value_key, point_origin *o) {
    o->samples_s = jr_pos_array(p, "samples_s", &o->samples_n);
    o->shared_prompt = jr_bool_or(p, "shared_prompt", false);
    o->prov = (prov)jr_enum_or(p, "provenance", PROV_NAMES, (int)c->prov);
    o->source = jr_str_or(p, "source", c->source);
    o->excluded = jr_str_or(p, "excluded", NULL);
    double s = jr_pos_or(p, value_key, 0);
    if (s == 0) return card_warm_sample_s(o->samples_s, o->samples_n);
    for (size_t i = 0; i < o->samples_n; i++)
        if (s <= o->samples_s[i] * 1.000001) return s;
    if (o->samples_n > 0)
        jr_fail(p, E_RANGE, "%s %.6g lies above all of its samples, expected a value among them",
                value_key, s);
    return s;
}

/* Seconds and rate of a point name one thing twice: they have to agree within the digits of a
 * printed rate. */
static void reconcile(jr p, double tok, double *s, double *tok_s) {
    if (!jr_ok(p)) return;
    if (*s == 0 && *tok_s == 0) {
        jr_fail(p, E_SCHEMA, "no measurement, expected samples_s, a time or tok_s");
        return;
    }
    if (*s == 0 && tok > 0) *s = tok / *tok_s;
    if (*tok_s == 0) *tok_s = tok / *s;
    if (tok > 0 && fabs(tok / *s / *tok_s - 1) > 0.01)
        jr_fail(p, E_RANGE, "tok_s %.6g and time %.6g s disagree: %.0f tok / time is %.6g tok/s",
                *tok_s, *s, tok, tok / *s);
}

static void read_prefill(jr p, const card *c, prefill_point *out) {
    jr_keys(p, "n_prompt_tok depth_tok batch_n samples_s s tok_s n_ubatch shared_prompt provenance "
               "source excluded");
    out->n_prompt_tok = jr_int_or(p, "n_prompt_tok", 1, TOK_MAX, 0);
    out->depth_tok = jr_int_or(p, "depth_tok", 0, TOK_MAX, 0);
    out->batch_n = jr_int_or(p, "batch_n", 1, 100000, 1);
    out->n_ubatch = jr_int_or(p, "n_ubatch", 1, TOK_MAX, 0);
    out->tok_s = jr_pos_or(p, "tok_s", 0);
    out->s = read_origin(p, c, "s", &out->origin);
    if (jr_ok(p) && out->n_prompt_tok == 0 && out->s > 0)
        jr_fail(p, E_SCHEMA,
                "a time without n_prompt_tok says nothing, expected n_prompt_tok beside it, or "
                "tok_s alone");
    reconcile(p, (double)(out->n_prompt_tok * out->batch_n), &out->s, &out->tok_s);
}

static void read_decode(jr p, const card *c, decode_point *out) {
    jr_keys(p,
            "batch_n context_tok samples_s step_s tok_s shared_prompt provenance source excluded");
    out->batch_n = jr_int(p, "batch_n", 1, 100000);
    out->context_tok = jr_int_or(p, "context_tok", 0, TOK_MAX, -1);
    out->tok_s = jr_pos_or(p, "tok_s", 0);
    out->step_s = read_origin(p, c, "step_s", &out->origin);
    reconcile(p, (double)out->batch_n, &out->step_s, &out->tok_s);
}

static void read_points(jr root, card *c) {
    jr prefill = jr_need(root, "prefill"), decode = jr_need(root, "decode");
    size_t n_prefill = jr_len(prefill), n_decode = jr_len(decode);
    if (n_prefill + n_decode > POINTS_MAX)
        jr_fail(root, E_LIMIT, "more than %d points", POINTS_MAX);
    prefill_point *pp = ARENA_ARRAY(root.doc->mem, prefill_point, n_prefill);
    decode_point *dp = ARENA_ARRAY(root.doc->mem, decode_point, n_decode);
    if (!pp || !dp) {
        jr_fail(root, E_LIMIT, "does not fit the memory budget");
        return;
    }
    for (jr p = {0}; jr_each(prefill, &p);) read_prefill(p, c, &pp[p.index]);
    for (jr p = {0}; jr_each(decode, &p);) read_decode(p, c, &dp[p.index]);
    c->prefill = pp;
    c->prefill_n = n_prefill;
    c->decode = dp;
    c->decode_n = n_decode;
    if (jr_ok(root) && n_prefill + n_decode == 0 && !c->claim_only)
        jr_fail(root, E_SCHEMA,
                "no prefill and no decode point, expected at least one (or \"claim_only\": true)");
}

/* ---- the rest of a card ---- */

static prov field_prov(jr root, const card *c, const char *const *fields) {
    jr table = jr_get(root, "field_provenance");
    prov weakest = PROV_WITNESSED;
    for (; *fields; fields++) {
        jr f = jr_get(table, *fields);
        prov p = jr_present(f) ? (prov)jr_enum(f, "provenance", PROV_NAMES) : c->prov;
        weakest = prov_weakest(weakest, p);
    }
    return weakest;
}

static void read_model(jr root, card *c) {
    static const char *const KV_FIELDS[] = {"full_attention_layers", "kv_heads", "head_dim",
                                            "kv_element_bytes", NULL};
    static const char *const WEIGHT_FIELDS[] = {"weights_bytes", NULL};
    const int64_t max = (int64_t)BYTES_MAX;
    c->model = jr_str(root, "model");
    c->quant = jr_str(root, "quant");
    c->architecture = jr_str_or(root, "architecture", NULL);
    c->params = jr_int_or(root, "params", 1, max, 0);
    c->weights_bytes = jr_int_or(root, "weights_bytes", 1, max, 0);
    c->weights_host_bytes = jr_int_or(root, "weights_host_bytes", 0, max, 0);
    c->overhead_bytes = jr_int_or(root, "overhead_bytes", 0, max, -1);
    c->recurrent_state_bytes = jr_int_or(root, "recurrent_state_bytes", 0, max, -1);
    c->layers = jr_int_or(root, "layers", 1, 100000, 0);
    c->full_attention_layers = jr_int_or(root, "full_attention_layers", 0, 100000, 0);
    c->kv_heads = jr_int_or(root, "kv_heads", 1, 100000, 0);
    c->head_dim = jr_int_or(root, "head_dim", 1, 100000, 0);
    c->kv_element_bytes = jr_num_or(root, "kv_element_bytes", 0.125, 16, 0);
    if (jr_ok(root) && c->layers > 0 && c->full_attention_layers > c->layers)
        jr_fail(jr_get(root, "full_attention_layers"), E_RANGE,
                "found %lld, expected at most layers = %lld", (long long)c->full_attention_layers,
                (long long)c->layers);
    jr fp = jr_get(root, "field_provenance");
    if (jr_present(fp)) {
        jr_keys(fp,
                "model quant architecture params weights_bytes weights_host_bytes overhead_bytes "
                "layers "
                "full_attention_layers kv_heads head_dim kv_element_bytes recurrent_state_bytes");
        for (const cJSON *f = fp.node ? fp.node->child : NULL; f && jr_ok(fp); f = f->next) {
            jr field = jr_get(fp, f->string);
            if (strcmp(f->string, "note") == 0) continue;
            jr_keys(field, "provenance source");
            (void)jr_enum(field, "provenance", PROV_NAMES);
            (void)jr_str(field, "source");
        }
    }
    c->kv_prov = field_prov(root, c, KV_FIELDS);
    c->weights_prov = field_prov(root, c, WEIGHT_FIELDS);
}

static void read_engine_and_machine(jr root, card *c) {
    jr en = jr_need(root, "engine"), hw = jr_need(root, "hardware"), host = jr_get(root, "host");
    jr_keys(en, "name build n_batch n_ubatch type_k type_v kv_layout flash_attention");
    c->engine.name = jr_str(en, "name");
    c->engine.build = jr_str_or(en, "build", NULL);
    c->engine.type_k = jr_str_or(en, "type_k", NULL);
    c->engine.type_v = jr_str_or(en, "type_v", NULL);
    c->engine.n_batch = jr_int_or(en, "n_batch", 1, TOK_MAX, 0);
    c->engine.n_ubatch = jr_int_or(en, "n_ubatch", 1, TOK_MAX, 0);
    c->engine.layout = (kv_layout)(jr_enum_or(en, "kv_layout", KV_LAYOUT_NAMES + 1, -1) + 1);
    c->engine.flash_attention = jr_bool_or(en, "flash_attention", false);
    if (!jr_present(jr_get(en, "flash_attention"))) c->engine.flash_attention = -1;
    jr_keys(hw, "id chip mem_bw_bytes_s fp16_flop_s memory_bytes source");
    c->hardware.id = jr_str_or(hw, "id", NULL);
    c->hardware.chip = jr_str(hw, "chip");
    c->hardware.source = jr_str_or(hw, "source", NULL);
    c->hardware.mem_bw_bytes_s = jr_pos_or(hw, "mem_bw_bytes_s", 0);
    c->hardware.fp16_flop_s = jr_pos_or(hw, "fp16_flop_s", 0);
    c->hardware.memory_bytes = jr_int_or(hw, "memory_bytes", 1, (int64_t)BYTES_MAX, 0);
    if (jr_present(host)) {
        jr_keys(host, "os cpu threads_n");
        (void)jr_str_or(host, "os", NULL);
        (void)jr_str_or(host, "cpu", NULL);
        c->host_threads_n = jr_int_or(host, "threads_n", 1, 100000, 0);
    }
}

const char *const HOST_TERM_NAMES[] = {"sample_s",  "sample_s_per_row",  "shape_s", "graph_s",
                                       "request_s", "request_s_per_tok", NULL};

double *host_term_at(host_terms *t, size_t i) {
    double *const fields[HOST_FITTED_N] = {&t->sample_s,  &t->sample_s_per_row,
                                           &t->shape_s,   &t->graph_s,
                                           &t->request_s, &t->request_s_per_tok};
    return fields[i];
}

/* Which of the terms that are not fitted nobody measured. Without the list: the slot files, whose
 * speed `ratecast fit` takes from one machine. */
static void read_assumed(jr list, host_terms *t) {
    static const char *const NAMES[] = {"client_gap_s", "slot_save_s_per_tok",
                                        "slot_restore_s_per_tok", NULL};
    (void)jr_len(list); /* complains of what is no list */
    t->slot_files_assumed = !jr_present(list);
    for (jr m = {0}; jr_each(list, &m);) {
        int i = jr_enum_of(m, NAMES);
        t->client_gap_assumed |= i == 0;
        t->slot_files_assumed |= i > 0;
    }
}

/* Terms that `ratecast fit` wrote; a card may live without them. */
static void read_host_terms(jr root, card *c) {
    jr h = jr_get(root, "host_terms"), se = jr_get(h, "stderr_frac");
    if (!jr_present(h)) return;
    jr_keys(h, "sample_s sample_s_per_row shape_s graph_s request_s request_s_per_tok stderr_frac "
               "client_gap_s "
               "slot_save_s_per_tok slot_restore_s_per_tok device_overhead_bytes "
               "repeat_spread_frac runs assumed provenance "
               "source");
    static const double MAX_S = 100;
    host_terms *t = &c->fitted_host;
    t->known = true;
    for (size_t i = 0; i < HOST_FITTED_N; i++) {
        *host_term_at(t, i) = jr_num_or(h, HOST_TERM_NAMES[i], 0, MAX_S, 0);
        t->stderr_frac[i] = jr_present(se) ? jr_num_or(se, HOST_TERM_NAMES[i], 0, 1000, 0) : 0;
    }
    if (jr_present(se))
        jr_keys(se, "sample_s sample_s_per_row shape_s graph_s request_s request_s_per_tok");
    t->client_gap_s = jr_num_or(h, "client_gap_s", 0, MAX_S, 0);
    t->slot_save_s_per_tok = jr_num_or(h, "slot_save_s_per_tok", 0, MAX_S, 0);
    t->slot_restore_s_per_tok = jr_num_or(h, "slot_restore_s_per_tok", 0, MAX_S, 0);
    t->device_overhead_bytes =
        (double)jr_int_or(h, "device_overhead_bytes", 0, (int64_t)BYTES_MAX, 0);
    t->repeat_spread_frac = jr_num_or(h, "repeat_spread_frac", 0, 10, 0);
    size_t n;
    (void)jr_str_array(h, "runs", &n);
    read_assumed(jr_get(h, "assumed"), t);
    t->prov = (prov)jr_enum(h, "provenance", PROV_NAMES);
    t->source = jr_str(h, "source");
}

static bool valid_id(const char *id) {
    return id[0] && id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789._-")] == '\0';
}

static void read_card(jr root, card *c) {
    jr_schema(root, CARD_SCHEMA);
    jr_keys(root, TOP_KEYS);
    (void)jr_str(root, "schema");
    c->id = jr_str(root, "id");
    if (jr_ok(root) && !valid_id(c->id))
        jr_fail(jr_get(root, "id"), E_RANGE,
                "found \"%s\", expected lower-case letters, digits and . _ -", c->id);
    c->title = jr_str(root, "title");
    c->extends = jr_str_or(root, "extends", NULL);
    c->method = METHODS[jr_enum(root, "method", METHODS)];
    c->prov = (prov)jr_enum(root, "provenance", PROV_NAMES);
    c->source = jr_str(root, "source");
    c->claim_only = jr_bool_or(root, "claim_only", false);
    /* a child cannot take its parent's word back */
    c->simulated_device |= jr_bool_or(root, "simulated_device", false);
    if (!jr_ok(root)) return;
    read_model(root, c);
    read_engine_and_machine(root, c);
    read_host_terms(root, c);
    read_points(root, c);
}

/* ---- files, ids and `extends` ---- */

/* Ids on the way from a card to what it extends, to see a cycle. */
typedef struct chain {
    const struct chain *up;
    const char *id;
    int depth;
} chain;

static err_code find_path(card_library *lib, const char *id, arena *mem, const char **path, err *e);

/* A point that moves into another card keeps where it came from. */
static void stamp_points(cJSON *points, const cJSON *parent) {
    static const char *const KEYS[] = {"provenance", "source"};
    for (cJSON *p = points ? points->child : NULL; p; p = p->next)
        for (size_t k = 0; k < 2; k++) {
            const cJSON *v = cJSON_GetObjectItemCaseSensitive(parent, KEYS[k]);
            if (v && cJSON_IsObject(p) && !cJSON_GetObjectItemCaseSensitive(p, KEYS[k]))
                cJSON_AddItemToObject(p, KEYS[k], cJSON_Duplicate(v, 1));
        }
}

static void inherit(cJSON *child, const cJSON *parent) {
    char word[96];
    for (const cJSON *m = parent->child; m; m = m->next) {
        snprintf(word, sizeof word, " %s ", m->string);
        if (strstr(OWN_KEYS, word) || cJSON_GetObjectItemCaseSensitive(child, m->string)) continue;
        cJSON *copy = cJSON_Duplicate(m, 1);
        stamp_points(cJSON_IsArray(copy) ? copy : NULL, parent);
        cJSON_AddItemToObject(child, m->string, copy);
    }
}

/* Parses one file and merges what it extends into the tree. The parent is validated as a card of
 * its own first, so that its faults are reported in its file. */
static err_code load_tree(card_library *lib, const file_bytes *f, const chain *up, arena *mem,
                          jr_doc *doc, card *c, err *e) {
    if (jr_parse(doc, f->name, f->s, f->len, mem, e)) return e->code;
    jr root = jr_root(doc);
    jr ext = jr_get(root, "extends");
    if (cJSON_IsObject(root.node) && cJSON_IsString(ext.node)) {
        const char *ref = ext.node->valuestring;
        const cJSON *id = cJSON_GetObjectItemCaseSensitive(root.node, "id");
        chain here = {up, cJSON_IsString(id) ? id->valuestring : "", up ? up->depth + 1 : 0};
        for (const chain *k = &here; k; k = k->up)
            if (strcmp(k->id, ref) == 0)
                jr_fail(ext, E_SCHEMA, "card \"%s\" extends itself in the end (cyclic reference)",
                        ref);
        if (here.depth >= EXTENDS_DEPTH_MAX)
            jr_fail(ext, E_LIMIT, "more than %d cards extend each other", EXTENDS_DEPTH_MAX);
        const char *path = NULL;
        err inner = {0};
        if (jr_ok(root) && find_path(lib, ref, mem, &path, &inner))
            jr_fail(ext, inner.code, "%s%s%s", inner.what, inner.where[0] ? "; " : "", inner.where);
        file_bytes pf = {0};
        jr_doc pdoc = {0};
        card *parent = ARENA_NEW(mem, card);
        if (!parent) jr_fail(ext, E_LIMIT, "does not fit the memory budget");
        if (jr_ok(root) && file_read(path, mem, &pf, e) == OK &&
            load_tree(lib, &pf, &here, mem, &pdoc, parent, e) == OK)
            inherit(doc->root, pdoc.root);
        if (parent) c->simulated_device = parent->simulated_device;
        jr_free(&pdoc);
    }
    if (jr_ok(root)) read_card(root, c);
    return e->code;
}

err_code card_parse(card_library *lib, const file_bytes *f, arena *mem, const card **out, err *e) {
    card *c = ARENA_NEW(mem, card);
    if (!c) return err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    jr_doc doc = {0};
    load_tree(lib, f, NULL, mem, &doc, c, e);
    jr_free(&doc);
    if (e->code) return e->code;
    c->path = f->name;
    memcpy(c->sha256, f->sha256, sizeof c->sha256);
    *out = c;
    return OK;
}

err_code card_load(card_library *lib, const char *path, arena *mem, const card **out, err *e) {
    file_bytes f = {0};
    if (file_read(path, mem, &f, e)) return e->code;
    return card_parse(lib, &f, mem, out, e);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Paths of all *.json files of the library's folders, in name order within each. */
static err_code list_files(card_library *lib, arena *mem, err *e) {
    enum { MAX = 4096 };
    lib->paths = ARENA_ARRAY(mem, const char *, MAX);
    if (!lib->paths) return err_set(e, E_LIMIT, "", "does not fit the memory budget");
    for (size_t d = 0; d < lib->n; d++) {
        DIR *dir = opendir(lib->dirs[d]);
        if (!dir)
            return err_set(e, E_IO, lib->dirs[d], "folder of rate cards cannot be opened: %s",
                           strerror(errno));
        size_t first = lib->files_n;
        for (const struct dirent *it; lib->files_n < MAX && (it = readdir(dir));) {
            size_t len = strlen(it->d_name);
            if (len < 6 || it->d_name[0] == '.' || strcmp(it->d_name + len - 5, ".json") != 0)
                continue;
            const char *path = arena_printf(mem, "%s/%s", lib->dirs[d], it->d_name);
            if (path) lib->paths[lib->files_n++] = path;
        }
        closedir(dir);
        qsort(lib->paths + first, lib->files_n - first, sizeof *lib->paths, by_name);
    }
    return OK;
}

/* The id of a file that says it is a rate card; NULL for any other file. A broken file is nobody's
 * card, but a file that does not fit the memory budget is an error: its card would seem to be
 * missing. */
static const char *peek_id(const char *path, arena *mem, err *e) {
    err broken = {0};
    file_bytes f = {0};
    jr_doc doc = {0};
    const char *id = NULL;
    if (file_read(path, mem, &f, &broken) == OK && strstr(f.s, CARD_SCHEMA) &&
        jr_parse(&doc, path, f.s, f.len, mem, &broken) == OK) {
        const cJSON *s = cJSON_GetObjectItemCaseSensitive(doc.root, "schema");
        const cJSON *i = cJSON_GetObjectItemCaseSensitive(doc.root, "id");
        if (cJSON_IsString(s) && strcmp(s->valuestring, CARD_SCHEMA) == 0 && cJSON_IsString(i))
            id = arena_strdup(mem, i->valuestring);
    }
    jr_free(&doc);
    if (broken.code == E_LIMIT || broken.code == E_NOMEM)
        err_set(e, broken.code, broken.where, "%s", broken.what);
    return id;
}

static err_code scan(card_library *lib, arena *mem, err *e) {
    if (lib->scanned) return OK;
    if (list_files(lib, mem, e)) return e->code;
    lib->ids = ARENA_ARRAY(mem, const char *, lib->files_n);
    if (!lib->ids) return err_set(e, E_LIMIT, "", "does not fit the memory budget");
    for (size_t i = 0; i < lib->files_n && !e->code; i++)
        lib->ids[i] = peek_id(lib->paths[i], mem, e);
    if (e->code) return e->code;
    lib->scanned = true;
    return OK;
}

static err_code find_path(card_library *lib, const char *id, arena *mem, const char **path,
                          err *e) {
    if (scan(lib, mem, e)) return e->code;
    const char *known = "";
    *path = NULL;
    for (size_t i = 0; i < lib->files_n; i++) {
        if (!lib->ids[i]) continue;
        const char *more = arena_printf(mem, "%s %s", known, lib->ids[i]);
        if (more) known = more;
        if (strcmp(lib->ids[i], id) != 0) continue;
        if (*path)
            return err_set(e, E_SCHEMA, lib->paths[i],
                           "second card with id \"%s\", the first is %s", id, *path);
        *path = lib->paths[i];
    }
    if (*path) return OK;
    char near[64];
    if (jr_nearest(id, known, near, sizeof near))
        return err_set(e, E_SCHEMA, "", "no card with id \"%s\", nearest id is \"%s\"", id, near);
    return err_set(e, E_SCHEMA, "", "no card with id \"%s\" (`ratecast cards` lists them)", id);
}

static bool is_path(const char *ref) {
    size_t n = strlen(ref);
    return strchr(ref, '/') || (n > 5 && strcmp(ref + n - 5, ".json") == 0);
}

err_code card_find(card_library *lib, const char *ref, const char *base_dir, arena *mem,
                   const card **out, err *e) {
    const char *path = ref;
    if (!is_path(ref)) {
        if (find_path(lib, ref, mem, &path, e)) return e->code;
    } else if (ref[0] != '/' && base_dir && strcmp(base_dir, ".") != 0) {
        path = arena_printf(mem, "%s/%s", base_dir, ref);
        if (!path) return err_set(e, E_LIMIT, ref, "does not fit the memory budget");
    }
    return card_load(lib, path, mem, out, e);
}

err_code card_usable(const card_library *lib, const card *c, err *e) {
    if (!c->simulated_device || lib->allow_simulated) return OK;
    return err_set(e, E_REFUSED, c->path,
                   "card \"%s\" was timed on a simulated device (%s): its times are those of the "
                   "simulation and say nothing of any machine; --allow-simulated-device takes it "
                   "all the same (project, fit, validate)",
                   c->id, c->hardware.chip);
}

err_code card_list(card_library *lib, arena *mem, card_entry **out, size_t *n, err *e) {
    if (scan(lib, mem, e)) return e->code;
    card_entry *list = ARENA_ARRAY(mem, card_entry, lib->files_n);
    if (!list) return err_set(e, E_LIMIT, "", "does not fit the memory budget");
    *n = 0;
    for (size_t i = 0; i < lib->files_n; i++) {
        if (!lib->ids[i]) continue;
        card_entry *it = &list[(*n)++];
        it->path = lib->paths[i];
        (void)card_load(lib, it->path, mem, &it->c, &it->error);
    }
    *out = list;
    return OK;
}
