#include "claim.h"

#include "base/jsonr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const METRIC_NAMES[] = {"other",
                                    "wall_clock",
                                    "ttft",
                                    "prefill_time",
                                    "decode_time",
                                    "queue_wait",
                                    "itl",
                                    "tpot",
                                    "latency",
                                    "decode_rate",
                                    "prefill_rate",
                                    "output_rate",
                                    "total_rate",
                                    "input_rate",
                                    "stream_rate",
                                    "ceiling_rate",
                                    "request_rate",
                                    "output_tok",
                                    "prompt_tok",
                                    "reused_tok",
                                    "computed_tok",
                                    "context_tok",
                                    "kv_tok",
                                    "kv_blocks",
                                    "reuse_frac",
                                    "acceptance",
                                    "rounds",
                                    "mean_accepted",
                                    "round_tok",
                                    "kv",
                                    "kv_per_tok",
                                    "weights",
                                    "memory",
                                    "memory_saved",
                                    "memory_budget",
                                    "density",
                                    "agents_max",
                                    "prefix_evals",
                                    "requests",
                                    "concurrency",
                                    "speedup",
                                    "bandwidth",
                                    "utilisation",
                                    "compute",
                                    "price",
                                    "tok_per_money",
                                    "money_per_tok",
                                    "power",
                                    "energy",
                                    "energy_per_tok",
                                    "tok_per_energy",
                                    NULL};
const char *const TERM_KIND_NAMES[] = {"prefill",    "delta",   "decode", "constant",
                                       "queue_wait", "penalty", NULL};
static const char *const ORIGIN_WORDS[] = {"printed", "recovered", "external", NULL};
static const origin ORIGINS[] = {ORIGIN_PRINTED, ORIGIN_RECOVERED, ORIGIN_EXTERNAL};
static const char *const PHASE_WORDS[] = {"prefill", "decode", NULL};
static const char *const ROLE_WORDS[] = {"stated", "used", NULL};
static const char *const PER_WORDS[] = {"session", "agent", "turn", NULL};

typedef struct loader {
    claim *c;
    arena *mem;
    unsigned without;
    bool strict; /* "schema" is there: unknown keys are errors */
} loader;

/* ---- small readers ---- */

/* Members that are null count as absent everywhere in a claim. Returns the length of the longest
 * text. */
static size_t drop_nulls(cJSON *node) {
    size_t longest = cJSON_IsString(node) ? strlen(node->valuestring) : 0;
    if (node->string && strlen(node->string) > longest) longest = strlen(node->string);
    for (cJSON *c = node->child, *next; c; c = next) {
        next = c->next;
        if (cJSON_IsNull(c) && cJSON_IsObject(node))
            cJSON_Delete(cJSON_DetachItemViaPointer(node, c));
        else {
            size_t n = drop_nulls(c);
            if (n > longest) longest = n;
        }
    }
    return longest;
}

static void keys(const loader *l, jr at, const char *known) {
    if (l->strict) jr_keys(at, known);
}

/* A string that may be absent; of another type it is passed over in the older shape. */
static const char *text_or_null(const loader *l, jr obj, const char *key) {
    jr m = jr_get(obj, key);
    if (!l->strict && m.node && (!cJSON_IsString(m.node) || m.node->valuestring[0] == '\0'))
        return NULL;
    return jr_str_or(obj, key, NULL);
}

static double number_or(const loader *l, jr obj, const char *key, double otherwise) {
    jr m = jr_get(obj, key);
    if (!l->strict && m.node && !cJSON_IsNumber(m.node)) return otherwise;
    return jr_num_or(obj, key, 0, 1e21, otherwise);
}

static int64_t count_or_unstated(const loader *l, jr obj, const char *key) {
    jr m = jr_get(obj, key);
    if (!l->strict && m.node && !cJSON_IsNumber(m.node)) return NOT_STATED;
    return jr_int_or(obj, key, 0, 1000000000000, NOT_STATED);
}

static origin origin_of(jr item) {
    return ORIGINS[jr_enum_or(item, "origin", ORIGIN_WORDS, 0)];
}

/* An item whose origin was asked away. */
static bool left_out(const loader *l, jr item) {
    return (origin_of(item) & l->without) != 0;
}

/* The unit of an item: an unknown one is kept as such, a bare multiple is refused. */
static const unit *unit_of(const loader *l, jr item, const char *key, const char *otherwise) {
    static const unit *other;
    const char *name = jr_str_or(item, key, otherwise);
    const unit *u = unit_find(name);
    if (!u && unit_is_bare(name))
        jr_fail(jr_get(item, key), E_SCHEMA,
                "found \"%s\", expected a unit that says what is counted: \"MiB\", \"GB\", ...",
                name);
    if (u) return u;
    if (!other) other = unit_find("");
    unit *own = ARENA_NEW(l->mem, unit);
    if (!own) return other;
    *own = (unit){.name = name, .dim = DIM_OTHER, .scale = 1};
    return own;
}

static quantity read_quantity(const loader *l, jr item, const char *value_key, const char *unit_key,
                              const char *otherwise) {
    double v = jr_num(item, value_key, -1e21, 1e21);
    return quantity_of(v, unit_of(l, item, unit_key, otherwise),
                       text_or_null(l, item, "digits_as_printed"));
}

/* Checks compare items pairwise and read every text word by word: a claim is what fits on a page,
 * not a log. */
enum { FIGURES_MAX = 512, LIST_MAX = 256, CHIPS_MAX = 64, ARMS_MAX = 64, FACTS_MAX = 256 };

static void too_many(jr at, size_t n, size_t most) {
    if (n > most) jr_fail(at, E_LIMIT, "found %zu items, expected at most %zu", n, most);
}

static void *list_of(const loader *l, jr list, size_t size, size_t most, size_t *n) {
    *n = 0;
    too_many(list, jr_len(list), most);
    void *v = jr_ok(list) ? arena_alloc(l->mem, jr_len(list), size) : NULL;
    if (!jr_ok(list)) return NULL;
    if (!v) jr_fail(list, E_LIMIT, "does not fit the memory budget");
    return v;
}

/* ---- hardware ---- */

/* "H100 SXM 80GB, H200 SXM 141GB": the memory printed behind `name`, before the next comma. */
static double memory_in(const char *text, const char *name) {
    const char *at = name ? strstr(text, name) : text;
    for (const char *p = at; p && *p && (!name || *p != ','); p++) {
        static const char *const UNITS[] = {"GB", "GiB"};
        if (*p < '0' || *p > '9' || (p > text && p[-1] >= '0' && p[-1] <= '9')) continue;
        double v = 0;
        const char *q = p;
        while (*q >= '0' && *q <= '9') v = v * 10 + (*q++ - '0');
        while (*q == ' ') q++;
        for (size_t i = 0; i < 2; i++) {
            size_t n = strlen(UNITS[i]);
            if (strncmp(q, UNITS[i], n) == 0 && q[n] != '/' && (q[n] < 'a' || q[n] > 'z'))
                return v * unit_find(UNITS[i])->scale;
        }
    }
    return 0;
}

/* {"H100": 3350, "H200": 4800}: a chip for each key. */
static void read_chip_table(loader *l, jr table, bool bandwidth) {
    for (const cJSON *m = table.node->child; m; m = m->next) {
        claim_chip *chips = (claim_chip *)l->c->chips;
        size_t i = 0;
        while (i < l->c->chips_n && strcmp(chips[i].name, m->string) != 0) i++;
        if (i == l->c->chips_n) {
            if (!bandwidth || !cJSON_IsNumber(m)) continue;
            const char *name = arena_strdup(l->mem, m->string);
            chips[i].name = name ? name : "";
            l->c->chips_n++;
        }
        double v = jr_num(table, m->string, 0, 1e9);
        if (bandwidth)
            chips[i].mem_bw_bytes_s = v * 1e9;
        else
            chips[i].fp16_flop_s = v * 1e12;
    }
}

static void read_hardware(loader *l, jr root) {
    jr h = jr_get(root, "hardware");
    if (!h.node) return;
    keys(l, h, "chip devices_n mem_bw_GBps fp16_TFLOPS memory_bytes memory_GB host source origin");
    if (left_out(l, h)) return;
    const char *chip = text_or_null(l, h, "chip");
    jr bw = jr_get(h, "mem_bw_GBps"), flops = jr_get(h, "fp16_TFLOPS");
    size_t n = cJSON_IsObject(bw.node) ? (size_t)cJSON_GetArraySize(bw.node) : 1;
    too_many(bw, n, CHIPS_MAX);
    if (!jr_ok(h)) return;
    claim_chip *chips = ARENA_ARRAY(l->mem, claim_chip, n);
    int64_t said = chip && !cJSON_IsObject(bw.node) ? words_gpus(chip) : NOT_STATED;
    l->c->devices_n = jr_int_or(h, "devices_n", 1, 1000000, said > 0 ? said : 1);
    l->c->chips = chips;
    if (!chips) {
        jr_fail(h, E_LIMIT, "does not fit the memory budget");
        return;
    }
    if (cJSON_IsObject(bw.node)) {
        read_chip_table(l, bw, true);
        if (cJSON_IsObject(flops.node)) read_chip_table(l, flops, false);
    } else if (chip || bw.node || flops.node) {
        l->c->chips_n = 1;
        chips[0] = (claim_chip){.name = chip ? chip : "the device",
                                .mem_bw_bytes_s = number_or(l, h, "mem_bw_GBps", 0) * 1e9,
                                .fp16_flop_s = number_or(l, h, "fp16_TFLOPS", 0) * 1e12};
    }
    double memory = number_or(l, h, "memory_bytes", number_or(l, h, "memory_GB", 0) * 1e9);
    for (size_t i = 0; i < l->c->chips_n; i++) {
        chips[i].origin = origin_of(h);
        chips[i].memory_exact = memory > 0;
        chips[i].memory_bytes = memory > 0 ? memory
                                : chip ? memory_in(chip, l->c->chips_n > 1 ? chips[i].name : NULL)
                                       : 0;
    }
}

/* ---- model ---- */

static kv_shape read_shape(const loader *l, jr m) {
    const char *name = text_or_null(l, m, "name");
    return (kv_shape){.name = name ? name : "",
                      .layers = count_or_unstated(l, m, "layers"),
                      .full_attention_layers = count_or_unstated(l, m, "full_attention_layers"),
                      .kv_heads = count_or_unstated(l, m, "kv_heads"),
                      .head_dim = count_or_unstated(l, m, "head_dim"),
                      .params = number_or(l, m, "params", 0),
                      .active_params = number_or(l, m, "active_params", 0),
                      .weight_bytes = number_or(l, m, "weight_bytes", 0)};
}

static void read_precisions(loader *l, jr m) {
    jr table = jr_get(m, "weight_bytes_by_precision");
    enum { CAP = sizeof l->c->model.by_precision / sizeof *l->c->model.by_precision };
    if (!cJSON_IsObject(table.node)) return;
    for (const cJSON *p = table.node->child; p && l->c->model.by_precision_n < CAP; p = p->next) {
        const char *name = arena_strdup(l->mem, p->string);
        size_t i = l->c->model.by_precision_n++;
        l->c->model.by_precision[i].name = name ? name : "";
        l->c->model.by_precision[i].bytes = jr_num(table, p->string, 0, 1e15);
    }
}

/* Weight bytes that nobody states, from the parameters and a precision that the name tells. */
static void guess_weights(loader *l) {
    double bits = words_precision_bits(l->c->model.quant);
    if (bits == 0) bits = words_precision_bits(l->c->model.name);
    if (bits == 0) return;
    if (l->c->model.weight_bytes == 0 && l->c->model.params > 0) {
        l->c->model.weight_bytes = l->c->model.params * bits / 8;
        l->c->model.weights_guessed = true;
    }
    if (l->c->model.active_params > 0)
        l->c->model.active_weight_bytes = l->c->model.active_params * bits / 8;
}

/* Where a part of the model's facts comes from, when that is another place than the rest. */
static origin part_origin(jr m, const char *key) {
    return jr_present(jr_get(m, key)) ? ORIGINS[jr_enum_or(m, key, ORIGIN_WORDS, 0)] : origin_of(m);
}

static void read_model(loader *l, jr root) {
    jr m = jr_get(root, "model"), list = jr_get(m, "variants");
    if (!m.node) return;
    keys(l, m,
         "name quant architecture params active_params weight_bytes weight_bytes_by_precision "
         "layers full_attention_layers kv_heads head_dim kv_bytes_per_element variants source "
         "origin weights_origin weights_source shape_origin shape_source");
    l->c->model.name = text_or_null(l, m, "name");
    l->c->model.quant = text_or_null(l, m, "quant");
    l->c->model.params = number_or(l, m, "params", 0);
    l->c->model.active_params = number_or(l, m, "active_params", 0);
    l->c->model.weight_bytes = number_or(l, m, "weight_bytes", 0);
    l->c->model.kv_element_bytes = number_or(l, m, "kv_bytes_per_element", 0);
    l->c->model.sliding_window = number_or(l, m, "sliding_window", 0) > 0 ||
                                 words_have(l->c->model.name, "sliding|sliding window|SWA");
    l->c->model.origin = origin_of(m);
    l->c->model.shape_origin = part_origin(m, "shape_origin");
    bool shape_known = !(l->c->model.shape_origin & l->without);
    if (shape_known) l->c->model.shape = read_shape(l, m);
    l->c->model.weights_origin = part_origin(m, "weights_origin");
    if (l->c->model.weights_origin & l->without) { /* what is guessed instead is the model's */
        l->c->model.weight_bytes = 0;
        l->c->model.weights_origin = l->c->model.origin;
    }
    if (left_out(l, m)) { /* the parts that come from elsewhere stay */
        l->c->model.params = l->c->model.active_params = 0;
        l->c->model.quant = NULL;
    }
    if (!(l->c->model.weights_origin & l->without)) read_precisions(l, m);
    size_t n;
    kv_shape *v = list_of(l, list, sizeof *v, CHIPS_MAX, &n);
    for (jr it = {0}; v && shape_known && jr_each(list, &it); n++) v[n] = read_shape(l, it);
    l->c->model.variants = v;
    l->c->model.variants_n = n;
    if (l->c->model.active_params == 0)
        l->c->model.active_params = words_active_params(l->c->model.name);
    l->c->model.experts =
        l->c->model.active_params == 0 && (words_experts(l->c->model.name) ||
                                           words_experts(l->c->title) || words_experts(l->c->kind));
    guess_weights(l);
}

/* ---- workload ---- */

static void read_fact(loader *l, const cJSON *m, workload_fact *out) {
    const char *key = arena_strdup(l->mem, m->string);
    *out = (workload_fact){.key = key ? key : ""};
    if (cJSON_IsString(m)) out->text = arena_strdup(l->mem, m->valuestring);
    const cJSON *first = cJSON_IsArray(m) ? m->child : m;
    for (const cJSON *x = first; x; x = cJSON_IsArray(m) ? x->next : NULL)
        if (cJSON_IsNumber(x) && isfinite(x->valuedouble)) out->n++;
    double *v = ARENA_ARRAY(l->mem, double, out->n);
    size_t n = 0;
    for (const cJSON *x = first; v && x; x = cJSON_IsArray(m) ? x->next : NULL)
        if (cJSON_IsNumber(x) && isfinite(x->valuedouble)) v[n++] = x->valuedouble;
    out->v = v;
    out->n = n;
}

const workload_fact *claim_fact(const claim *c, const char *names) {
    char word[64];
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        for (size_t i = 0; i < c->facts_n; i++)
            if (strcmp(c->facts[i].key, word) == 0) return &c->facts[i];
        p += n + strspn(p + n, " ");
    }
    return NULL;
}

double claim_number(const claim *c, const char *names, double otherwise) {
    const workload_fact *f = claim_fact(c, names);
    return f && f->n == 1 ? f->v[0] : otherwise;
}

static int64_t whole_fact(const claim *c, const char *names, int64_t otherwise) {
    double v = claim_number(c, names, -1);
    return v >= 0 && v < 1e12 && v == floor(v) ? (int64_t)v : otherwise;
}

static void read_workload(loader *l, jr root) {
    jr w = jr_get(root, "workload");
    if (!w.node) return;
    if (!cJSON_IsObject(w.node)) {
        keys(l, w, "");
        return;
    }
    size_t n = (size_t)cJSON_GetArraySize(w.node);
    too_many(w, n, FACTS_MAX);
    if (!jr_ok(w)) return;
    workload_fact *facts = ARENA_ARRAY(l->mem, workload_fact, n);
    if (!facts) {
        jr_fail(w, E_LIMIT, "does not fit the memory budget");
        return;
    }
    for (const cJSON *m = w.node->child; m; m = m->next) read_fact(l, m, &facts[l->c->facts_n++]);
    l->c->facts = facts;
    int64_t devices = whole_fact(
        l->c, "tensor_parallel tensor_parallel_size tp tp_size gpus gpus_n n_gpus num_gpus", 1);
    if (devices > l->c->devices_n && devices < 1000000) l->c->devices_n = devices;
    workload *k = &l->c->work;
    *k = (workload){
        .K = whole_fact(l->c, "K agents concurrency concurrent_agents", NOT_STATED),
        .H = whole_fact(l->c, "H turns horizon turns_per_agent", NOT_STATED),
        .P = whole_fact(l->c, "P shared_prefix_tokens shared_prefix_tok prefix_tokens", NOT_STATED),
        .turn_delta_in_tok = whole_fact(
            l->c, "turn_delta_in_tok turn_delta_tokens delta_in_tokens new_tokens_per_turn",
            NOT_STATED),
        .turn_out_tok =
            whole_fact(l->c, "turn_out_tok turn_output_tokens output_tokens_per_turn", NOT_STATED),
    };
    /* tokens of its own in every prompt of an agent: no session of the closed form */
    const workload_fact *own = claim_fact(l->c, "private_tok private_tokens");
    for (size_t i = 0; own && i < own->n; i++)
        if (own->v[i] > 0) k->P = NOT_STATED;
    static const char *const SHAPES[] = {"delta_first", "result_after"};
    const workload_fact *shape = claim_fact(l->c, "turn_shape");
    for (size_t i = 0; shape && shape->text && i < 2; i++)
        if (strcmp(shape->text, SHAPES[i]) == 0) {
            k->shape = (turn_shape)i;
            l->c->has_workload = k->K > 0 && k->H > 0 && k->P >= 0 && k->turn_delta_in_tok >= 0 &&
                                 k->turn_out_tok >= 0 && k->K < 1000000 && k->H < 1000000 &&
                                 k->P < 1000000000 && k->turn_delta_in_tok < 1000000000 &&
                                 k->turn_out_tok < 1000000000;
        }
}

/* ---- lists ---- */

static void read_arms(loader *l, jr root) {
    jr list = jr_get(root, "arms");
    if (!l->strict && !cJSON_IsArray(list.node)) return;
    size_t n;
    claim_arm *v = list_of(l, list, sizeof *v, ARMS_MAX, &n);
    for (jr it = {0}; v && jr_each(list, &it);) {
        keys(l, it, "name title prefix_reuse first_comers batching source origin");
        if (left_out(l, it)) continue;
        claim_arm a = {.name = jr_str(it, "name")};
        a.reuse_known = jr_present(jr_get(it, "prefix_reuse"));
        a.reuse = (prefix_reuse)jr_enum_or(it, "prefix_reuse", PREFIX_REUSE_NAMES, 0);
        a.comers = (first_comers)jr_enum_or(it, "first_comers", COMERS_NAMES, COMERS_WAIT);
        a.batch_known = jr_present(jr_get(it, "batching"));
        a.batch = (batching)jr_enum_or(it, "batching", BATCHING_NAMES, 0);
        v[n++] = a;
    }
    l->c->arms = v;
    l->c->arms_n = n;
}

/* What a metric is counted in; a figure of another dimension would be computed with as nonsense. */
static bool fits(metric m, dimension d) {
    static const struct {
        metric first, last;
        dimension dim;
    } OF[] = {{METRIC_WALL, METRIC_LATENCY, DIM_TIME},
              {METRIC_DECODE_RATE, METRIC_CEILING_RATE, DIM_TOK_S},
              {METRIC_REQUEST_RATE, METRIC_REQUEST_RATE, DIM_REQ_S},
              {METRIC_OUTPUT_TOK, METRIC_CONTEXT_TOK, DIM_TOK},
              {METRIC_REUSE_FRAC, METRIC_ACCEPTANCE, DIM_FRAC},
              {METRIC_ROUNDS, METRIC_ROUNDS, DIM_COUNT},
              {METRIC_MEAN_ACCEPTED, METRIC_MEAN_ACCEPTED, DIM_TOK_PER_ROUND},
              {METRIC_KV_BYTES, METRIC_KV_BYTES, DIM_BYTES},
              {METRIC_KV_BYTES_PER_TOK, METRIC_KV_BYTES_PER_TOK, DIM_BYTES_PER_TOK},
              {METRIC_WEIGHTS_BYTES, METRIC_BUDGET_BYTES, DIM_BYTES},
              {METRIC_DENSITY, METRIC_DENSITY, DIM_AGENTS_PER_BYTE},
              {METRIC_AGENTS_MAX, METRIC_REQUESTS, DIM_COUNT},
              {METRIC_SPEEDUP, METRIC_SPEEDUP, DIM_RATIO},
              {METRIC_BANDWIDTH, METRIC_BANDWIDTH, DIM_BYTES_S},
              {METRIC_UTILISATION, METRIC_UTILISATION, DIM_FRAC},
              {METRIC_COMPUTE, METRIC_COMPUTE, DIM_FLOP_S},
              {METRIC_PRICE, METRIC_PRICE, DIM_MONEY_PER_TIME},
              {METRIC_TOK_PER_MONEY, METRIC_TOK_PER_MONEY, DIM_TOK_PER_MONEY},
              {METRIC_MONEY_PER_TOK, METRIC_MONEY_PER_TOK, DIM_MONEY_PER_TOK},
              {METRIC_POWER, METRIC_POWER, DIM_POWER},
              {METRIC_ENERGY, METRIC_ENERGY, DIM_ENERGY},
              {METRIC_ENERGY_PER_TOK, METRIC_ENERGY_PER_TOK, DIM_ENERGY_PER_TOK},
              {METRIC_TOK_PER_ENERGY, METRIC_TOK_PER_ENERGY, DIM_TOK_PER_ENERGY}};
    for (size_t i = 0; i < sizeof OF / sizeof *OF; i++)
        if (m >= OF[i].first && m <= OF[i].last)
            return OF[i].dim == d || (m == METRIC_KV_BYTES_PER_TOK && d == DIM_BYTES);
    return true;
}

static void read_figure(loader *l, jr it, claim_figure *f) {
    keys(l, it,
         "name value unit digits_as_printed arm conditions metric model agents_n context_tok "
         "percentile origin source");
    *f = (claim_figure){.name = jr_str(it, "name"),
                        .arm = text_or_null(l, it, "arm"),
                        .conditions = text_or_null(l, it, "conditions"),
                        .source = text_or_null(l, it, "source"),
                        .model = text_or_null(l, it, "model"),
                        .q = read_quantity(l, it, "value", "unit", ""),
                        .metric = l->strict ? (metric)jr_enum_or(it, "metric", METRIC_NAMES, 0) : 0,
                        .origin = origin_of(it)};
    bool signed_one =
        f->q.u->dim == DIM_OTHER || f->q.u->dim == DIM_FRAC || f->q.u->dim == DIM_RATIO;
    if (f->q.v < 0 && !signed_one)
        jr_fail(jr_get(it, "value"), E_RANGE, "found %g, expected 0 or more %s",
                f->q.v / f->q.u->scale, f->q.u->name);
    bool stated = l->strict && jr_present(jr_get(it, "metric"));
    metric said = f->metric;
    if (stated && !fits(said, f->q.u->dim))
        jr_fail(jr_get(it, "unit"), E_SCHEMA, "found \"%s\", expected a unit of %s", f->q.u->name,
                METRIC_NAMES[said]);
    claim_read_words(l->c, f);
    if (stated) f->metric = said; /* "other" too */
    f->metric_stated = stated;
    f->streams_n = jr_int_or(it, "agents_n", 0, 1000000, f->streams_n);
    f->context_tok = jr_int_or(it, "context_tok", 0, 1000000000, f->context_tok);
    double pct = jr_num_or(it, "percentile", 0, 100, 0);
    if (pct > 0) f->percentile_ppm = (uint32_t)(pct * 1e4 + 0.5);
}

static void read_figures(loader *l, jr root) {
    jr list = l->strict ? jr_need(root, "figures") : jr_get(root, "figures");
    size_t n;
    claim_figure *v = list_of(l, list, sizeof *v, FIGURES_MAX, &n);
    l->c->figures = v;
    for (jr it = {0}; v && jr_each(list, &it);) {
        if (left_out(l, it)) continue;
        if (!l->strict && !cJSON_IsNumber(jr_get(it, "value").node)) continue;
        read_figure(l, it, &v[n]);
        for (size_t i = 0; i < n; i++)
            if (l->strict && strcmp(v[i].name, v[n].name) == 0)
                jr_fail(jr_get(it, "name"), E_SCHEMA, "found \"%s\" twice, expected a name once",
                        v[n].name);
        n++;
        l->c->figures_n = n;
    }
    if (v && !l->strict) claim_settle_words(v, n);
}

/* The figure that an item refers to; NULL when it was left out (with its item, then). */
static const claim_figure *figure_named(const loader *l, jr item, const char *key) {
    const char *name = jr_str(item, key);
    for (size_t i = 0; i < l->c->figures_n; i++)
        if (strcmp(l->c->figures[i].name, name) == 0) return &l->c->figures[i];
    if (!l->without && l->strict)
        jr_fail(jr_get(item, key), E_SCHEMA, "found \"%s\", expected the name of a figure", name);
    return NULL;
}

/* "1.3-1.6x": the second number of a range, p behind the first; 0: none. */
static double range_end(const char *p) {
    if (*p == 'x' || *p == '%') p++;
    while (*p == ' ') p++;
    static const char *const DASHES[] = {"-", "–", "to "};
    for (size_t i = 0; i < sizeof DASHES / sizeof *DASHES; i++) {
        size_t n = strlen(DASHES[i]);
        if (strncmp(p, DASHES[i], n) != 0) continue;
        p += n;
        while (*p == ' ') p++;
        return *p >= '0' && *p <= '9' ? strtod(p, NULL) : 0;
    }
    return 0;
}

/* "1.28x", "~1.8x", "88.2%", ">19,500x", or a bare number whose unit is that of its parts. */
static quantity read_print(jr item, const char *print, const char *bare_unit) {
    double v = 0;
    const char *p = print;
    bool digits = false, minus = false;
    while (*p && (*p < '0' || *p > '9')) minus = *p++ == '-';
    char text[64];
    size_t n = 0;
    for (; (*p >= '0' && *p <= '9') || *p == '.' || *p == ','; p++)
        if (*p != ',' && n + 1 < sizeof text) {
            text[n++] = *p;
            digits = true;
        }
    text[n] = '\0';
    cJSON *number = digits ? cJSON_Parse(text[n - 1] == '.' ? "null" : text) : NULL;
    if (!cJSON_IsNumber(number))
        jr_fail(item, E_SCHEMA, "found \"%s\", expected a printed number such as \"1.86x\"", print);
    else if (number)
        v = minus ? -number->valuedouble : number->valuedouble;
    cJSON_Delete(number);
    while (*p == ' ') p++;
    const char *u = *p == '%'                                        ? "%"
                    : *p == 'x' || strncmp(p, "×", strlen("×")) == 0 ? "x"
                                                                     : bare_unit;
    quantity q = quantity_of(v, unit_find(u), print);
    double end = range_end(p);
    if (end > v && !minus) q.hi = fmax(q.hi, end * q.u->scale + (q.hi - q.lo) / 2);
    return q;
}

static void read_ratios(loader *l, jr root) {
    jr list = jr_get(root, "ratios");
    size_t n;
    ratio *v = list_of(l, list, sizeof *v, FIGURES_MAX, &n);
    for (jr it = {0}; v && jr_each(list, &it);) {
        keys(l, it, "name printed numerator_figure denominator_figure origin source");
        if (left_out(l, it)) continue;
        if (!l->strict && (!jr_present(jr_get(it, "numerator_figure")) ||
                           !jr_present(jr_get(it, "denominator_figure"))))
            continue;
        jr printed = jr_get(it, "printed");
        if (!l->strict && !jr_present(printed)) continue;
        const char *print = cJSON_IsNumber(printed.node)
                                ? arena_printf(l->mem, "%.12g", printed.node->valuedouble)
                                : jr_str(it, "printed");
        ratio r = {.name = jr_str(it, "name"),
                   .print = print ? print : "",
                   .source = text_or_null(l, it, "source"),
                   .num = figure_named(l, it, "numerator_figure"),
                   .den = figure_named(l, it, "denominator_figure"),
                   .origin = origin_of(it)};
        if (!r.num || !r.den) continue;
        if (!l->strict && !strpbrk(r.print, "0123456789")) continue; /* "about half" */
        const char *note = text_or_null(l, it, "note");
        const char *words = arena_printf(l->mem, "%s; %s", r.name, note ? note : "");
        r.reading = strchr(r.print, '+') ? READ_GAIN : words_reading(r.print);
        r.reading_printed = r.reading != READ_ANY;
        if (!r.reading_printed) r.reading = words_reading(words);
        r.q = read_print(printed, r.print, r.num->q.u->dim == r.den->q.u->dim ? "x" : "");
        v[n++] = r;
    }
    l->c->ratios = v;
    l->c->ratios_n = n;
}

static void read_rates(loader *l, jr root) {
    jr list = jr_get(root, "rates");
    size_t n;
    claim_rate *v = list_of(l, list, sizeof *v, LIST_MAX, &n);
    for (jr it = {0}; v && jr_each(list, &it);) {
        keys(l, it,
             "name value unit digits_as_printed phase role arm model quant machine batch_n "
             "context_tok n_prompt_tok gain_per_seq_frac origin source");
        if (left_out(l, it)) continue;
        v[n++] =
            (claim_rate){.name = text_or_null(l, it, "name"),
                         .arm = text_or_null(l, it, "arm"),
                         .model = text_or_null(l, it, "model"),
                         .quant = text_or_null(l, it, "quant"),
                         .machine = text_or_null(l, it, "machine"),
                         .source = text_or_null(l, it, "source"),
                         .q = read_quantity(l, it, "value", "unit", "tok/s"),
                         .phase = (rate_phase)jr_enum(it, "phase", PHASE_WORDS),
                         .role = (rate_role)jr_enum(it, "role", ROLE_WORDS),
                         .batch_n = count_or_unstated(l, it, "batch_n"),
                         .context_tok = count_or_unstated(l, it, "context_tok"),
                         .n_prompt_tok = count_or_unstated(l, it, "n_prompt_tok"),
                         .gain_per_seq_frac = jr_num_or(it, "gain_per_seq_frac", 0, 1, (double)NAN),
                         .origin = origin_of(it)};
        if (v[n - 1].q.u->dim != DIM_TOK_S || v[n - 1].q.v <= 0)
            jr_fail(jr_get(it, "value"), E_RANGE, "found no rate, expected tokens per second > 0");
    }
    l->c->rates = v;
    l->c->rates_n = n;
}

static claim_term read_term(const loader *l, jr it, const char *of_arm) {
    keys(l, it,
         "name arm kind value unit digits_as_printed per growth_per_agent_frac evidence origin "
         "source");
    claim_term t = {.name = text_or_null(l, it, "name"),
                    .arm = of_arm ? of_arm : text_or_null(l, it, "arm"),
                    .source = text_or_null(l, it, "source"),
                    .evidence = text_or_null(l, it, "evidence"),
                    .kind = (term_kind)jr_enum(it, "kind", TERM_KIND_NAMES),
                    .has_value = jr_present(jr_get(it, "value")),
                    .per = (constant_per)jr_enum_or(it, "per", PER_WORDS, 0),
                    .growth_per_agent_frac = jr_num_or(it, "growth_per_agent_frac", 0, 1e6, 0),
                    .origin = origin_of(it)};
    if (!t.name) t.name = TERM_KIND_NAMES[t.kind];
    if (!t.has_value) return t;
    t.q = read_quantity(l, it, "value", "unit", "s");
    if (t.q.u->dim != DIM_TIME || t.q.v < 0)
        jr_fail(jr_get(it, "value"), E_RANGE, "found no time, expected seconds >= 0");
    return t;
}

static const claim_term *read_terms(loader *l, jr list, const char *of_arm, size_t *n) {
    claim_term *v = list_of(l, list, sizeof *v, LIST_MAX, n);
    for (jr it = {0}; v && jr_each(list, &it);)
        if (!left_out(l, it)) v[(*n)++] = read_term(l, it, of_arm);
    return v;
}

static void read_revisions(loader *l, jr root) {
    jr list = jr_get(root, "revisions");
    size_t n;
    revision *v = list_of(l, list, sizeof *v, ARMS_MAX, &n);
    for (jr it = {0}; v && jr_each(list, &it);) {
        keys(l, it, "name arm before after unit removed origin source");
        if (left_out(l, it)) continue;
        revision r = {.name = text_or_null(l, it, "name"),
                      .arm = text_or_null(l, it, "arm"),
                      .source = text_or_null(l, it, "source"),
                      .before = read_quantity(l, it, "before", "unit", "s"),
                      .after = read_quantity(l, it, "after", "unit", "s"),
                      .origin = origin_of(it)};
        if (r.before.u->dim != DIM_TIME)
            jr_fail(jr_get(it, "unit"), E_SCHEMA, "found no unit of time, expected \"s\"");
        r.removed = read_terms(l, jr_get(it, "removed"), r.arm, &r.removed_n);
        v[n++] = r;
    }
    l->c->revisions = v;
    l->c->revisions_n = n;
}

/* false: a figure of it was left out. */
static bool read_parts(loader *l, jr list, formula *f) {
    size_t n;
    sum_part *v = list_of(l, list, sizeof *v, ARMS_MAX, &n);
    for (jr it = {0}; v && jr_each(list, &it);) {
        keys(l, it, "figure times");
        jr times = jr_get(it, "times");
        sum_part p = {.figure = figure_named(l, it, "figure"), .times = 1};
        p.times_agents =
            cJSON_IsString(times.node) && strcmp(times.node->valuestring, "agents") == 0;
        if (!p.times_agents) p.times = jr_num_or(it, "times", -1e12, 1e12, 1);
        if (!p.figure) return false;
        v[n++] = p;
    }
    f->parts = v;
    f->parts_n = n;
    return true;
}

static void read_formulas(loader *l, jr root) {
    jr list = jr_get(root, "formulas");
    size_t n;
    formula *v = list_of(l, list, sizeof *v, ARMS_MAX, &n);
    for (jr it = {0}; v && jr_each(list, &it);) {
        keys(l, it, "name arm gives gives_metric parts origin source");
        if (left_out(l, it)) continue;
        formula f = {.name = jr_str(it, "name"),
                     .arm = text_or_null(l, it, "arm"),
                     .source = text_or_null(l, it, "source"),
                     .origin = origin_of(it)};
        if (jr_present(jr_get(it, "gives_metric")))
            f.gives_metric = (metric)jr_enum(it, "gives_metric", METRIC_NAMES);
        else
            f.gives = figure_named(l, it, "gives");
        if (!read_parts(l, jr_need(it, "parts"), &f)) continue;
        if (f.gives || f.gives_metric) v[n++] = f;
    }
    l->c->formulas = v;
    l->c->formulas_n = n;
}

/* ---- */

bool claim_shape(const cJSON *root) {
    return cJSON_IsObject(root) && cJSON_GetObjectItemCaseSensitive(root, "id") &&
           cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(root, "figures")) &&
           (cJSON_GetObjectItemCaseSensitive(root, "hardware") ||
            cJSON_GetObjectItemCaseSensitive(root, "model"));
}

static void read_claim(loader *l, jr root) {
    claim *c = l->c;
    l->strict = jr_present(jr_get(root, "schema"));
    if (l->strict) jr_schema(root, CLAIM_SCHEMA);
    if (!l->strict && !claim_shape(root.node))
        jr_fail(root, E_SCHEMA,
                "found neither \"schema\" nor \"id\", \"figures\" and \"hardware\" or \"model\", "
                "expected a claim");
    keys(l, root,
         "schema id title kind source source_url source_note title_in_own_words hardware model "
         "workload arms figures ratios rates terms revisions formulas statements expected "
         "worked_out_by_hand");
    c->id = jr_str(root, "id");
    c->title = jr_str_or(root, l->strict ? "title" : "title_in_own_words", c->id);
    c->kind = text_or_null(l, root, "kind");
    c->source = text_or_null(l, root, l->strict ? "source" : "source_url");
    read_hardware(l, root);
    read_model(l, root);
    read_workload(l, root);
    read_arms(l, root);
    read_figures(l, root);
    read_ratios(l, root);
    read_rates(l, root);
    c->terms = read_terms(l, jr_get(root, "terms"), NULL, &c->terms_n);
    read_revisions(l, root);
    read_formulas(l, root);
    if (jr_present(jr_get(root, "statements"))) {
        c->statements = jr_str_array(root, "statements", &c->statements_n);
        too_many(jr_get(root, "statements"), c->statements_n, LIST_MAX);
    } else if (!l->strict) {
        const char **title = ARENA_ARRAY(l->mem, const char *, 1);
        if (title) title[0] = c->title;
        c->statements = title;
        c->statements_n = title ? 1 : 0;
    }
}

enum { TEXT_MAX = 4000 }; /* checks look for words in every text */

err_code claim_parse(const file_bytes *f, unsigned without, arena *mem, const claim **out, err *e) {
    jr_doc doc = {0};
    claim *c = ARENA_NEW(mem, claim);
    if (!c) return err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    *out = NULL;
    if (jr_parse(&doc, f->name, f->s, f->len, mem, e)) return e->code;
    size_t longest = drop_nulls(doc.root);
    if (longest > TEXT_MAX) {
        jr_free(&doc);
        return err_set(e, E_LIMIT, f->name, "found a text of %zu bytes, expected at most %d",
                       longest, TEXT_MAX);
    }
    c->path = f->name;
    c->devices_n = 1;
    c->model.shape = (kv_shape){.name = "",
                                .layers = NOT_STATED,
                                .full_attention_layers = NOT_STATED,
                                .kv_heads = NOT_STATED,
                                .head_dim = NOT_STATED};
    memcpy(c->sha256, f->sha256, sizeof c->sha256);
    loader l = {.c = c, .mem = mem, .without = without};
    read_claim(&l, jr_root(&doc));
    jr_free(&doc);
    if (!e->code) *out = c;
    return e->code;
}

err_code claim_load(const char *path, unsigned without, arena *mem, const claim **out, err *e) {
    file_bytes f = {0};
    if (file_read(path, mem, &f, e)) return e->code;
    return claim_parse(&f, without, mem, out, e);
}

double claim_kv_elements_per_tok(const kv_shape *s, bool all_layers) {
    int64_t layers =
        all_layers || s->full_attention_layers < 0 ? s->layers : s->full_attention_layers;
    if (layers <= 0 || s->kv_heads <= 0 || s->head_dim <= 0) return 0;
    return 2 * (double)layers * (double)s->kv_heads * (double)s->head_dim;
}

double claim_kv_bytes_per_tok(const claim *c, const kv_shape *s, bool all_layers) {
    double element = c->model.kv_element_bytes;
    return element > 0 ? claim_kv_elements_per_tok(s, all_layers) * element : 0;
}

const claim_arm *claim_arm_of(const claim *c, const char *name) {
    for (size_t i = 0; name && i < c->arms_n; i++)
        if (strcmp(c->arms[i].name, name) == 0) return &c->arms[i];
    return NULL;
}

bool claim_same_arm(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}
