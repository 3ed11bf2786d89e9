#include "audit/packet_claim.h"

#include "base/jsonw.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct field_map {
    const char *field, *metric, *unit;
    double percentile; /* 0: none */
} field_map;

/* Where the packet keeps what; its MB are mebibytes. */
static const field_map FIGURES[] = {
    {"total_wall_ms", "wall_clock", "ms", 0},
    {"prefill_ms", "prefill_time", "ms", 0},
    {"decode_ms", "decode_time", "ms", 0},
    {"queue_contention_ms", "queue_wait", "ms", 0},
    {"p50_ttft_ms", "ttft", "ms", 50},
    {"p95_ttft_ms", "ttft", "ms", 95},
    {"peak_memory_mb", "memory", "MiB", 0},
    {"agents_per_gb", "density", "agents/GiB", 0},
    {"effective_tok_s", "output_rate", "tok/s", 0},
    {"prompt_tokens", "prompt_tok", "tokens", 0},
    {"reuse_ratio", "reuse_frac", "fraction", 0},
    {"prefix_eval_count", "prefix_evals", "evaluations", 0},
};

static const cJSON *member(const cJSON *o, const char *key) {
    return cJSON_IsObject(o) ? cJSON_GetObjectItemCaseSensitive(o, key) : NULL;
}

static bool usable(const cJSON *v) {
    return cJSON_IsNumber(v) && isfinite(v->valuedouble) && v->valuedouble >= 0 &&
           v->valuedouble < 1e15;
}

static cJSON *add_figure(cJSON *list, const char *name, double value, const char *unit_name,
                         const char *metric_name) {
    cJSON *f = jw_item(list);
    jw_str(f, "name", name);
    jw_num(f, "value", value);
    jw_str(f, "unit", unit_name);
    jw_str(f, "metric", metric_name);
    jw_str(f, "origin", "printed");
    return f;
}

static void add_arm(cJSON *claim_root, const cJSON *a, const char *arm_name, const char *reuse) {
    cJSON *arms = cJSON_GetObjectItem(claim_root, "arms"),
          *figures = cJSON_GetObjectItem(claim_root, "figures");
    cJSON *policy = jw_item(arms);
    char name[96];
    jw_str(policy, "name", arm_name);
    jw_str(policy, "prefix_reuse", reuse);
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++) {
        const cJSON *v = member(a, FIGURES[i].field);
        if (!usable(v)) continue;
        snprintf(name, sizeof name, "%s of %s", FIGURES[i].field, arm_name);
        cJSON *f = add_figure(figures, name, v->valuedouble, FIGURES[i].unit, FIGURES[i].metric);
        jw_str(f, "arm", arm_name);
        if (FIGURES[i].percentile > 0) jw_num(f, "percentile", FIGURES[i].percentile);
    }
    /* an isolated slot's reuse of its own history is not counted by the format */
    const cJSON *reused = member(a, "reused_tokens");
    if (usable(reused) && reused->valuedouble > 0) {
        snprintf(name, sizeof name, "reused_tokens of %s", arm_name);
        cJSON *f = add_figure(figures, name, reused->valuedouble, "tokens", "reused_tok");
        jw_str(f, "arm", arm_name);
    }
}

static void add_ratio(cJSON *root, const char *name, const cJSON *printed, const char *field) {
    char num[96], den[96], text[40];
    if (!usable(printed)) return;
    snprintf(num, sizeof num, "%s of llama.cpp", field);
    snprintf(den, sizeof den, "%s of fak-native", field);
    const cJSON *f = cJSON_GetObjectItem(root, "figures")->child;
    int seen = 0;
    for (; f; f = f->next) {
        const char *s = cJSON_GetObjectItem(f, "name")->valuestring;
        seen += strcmp(s, num) == 0 || strcmp(s, den) == 0;
    }
    if (seen != 2) return;
    snprintf(text, sizeof text, "%.10gx", printed->valuedouble);
    if (strchr(text, 'e')) return;
    cJSON *r = jw_item(cJSON_GetObjectItem(root, "ratios"));
    jw_str(r, "name", name);
    jw_str(r, "printed", text);
    jw_str(r, "numerator_figure", num);
    jw_str(r, "denominator_figure", den);
    jw_str(r, "origin", "printed");
}

static const char *string_at(const cJSON *o, const char *key) {
    const cJSON *v = member(o, key);
    return cJSON_IsString(v) && v->valuestring[0] ? v->valuestring : NULL;
}

/* Billions of parameters that a model's id names ("Qwen3.8-27B"); 0: none. */
static double billions_in(const char *id) {
    for (const char *p = id; p && *p; p++) {
        double v = 0;
        if (p > id && p[-1] != '-' && p[-1] != ' ') continue;
        const char *q = p;
        while (isdigit((unsigned char)*q)) v = v * 10 + (*q++ - '0');
        if (q > p && q - p < 6 && (*q == 'B' || *q == 'b') && !isalnum((unsigned char)q[1]))
            return v;
    }
    return 0;
}

static void add_workload(cJSON *root, const cJSON *packet) {
    static const char *const KEYS[][2] = {{"concurrency", "K"},
                                          {"horizon", "H"},
                                          {"shared_prefix_tokens", "P"},
                                          {"turn_delta_tokens", "turn_delta_in_tok"},
                                          {"turn_output_tokens", "turn_out_tok"}};
    cJSON *w = jw_obj(root, "workload");
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        const cJSON *v = member(member(packet, "workload"), KEYS[i][0]);
        if (usable(v)) jw_num(w, KEYS[i][1], v->valuedouble);
    }
    jw_str(w, "turn_shape", "delta_first"); /* each turn brings its delta, the first one too */
}

static cJSON *tree_of(const cJSON *packet) {
    static const char *const ARMS[][2] = {{"fak-native", "shared"}, {"llama.cpp", "per_slot"}};
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", CLAIM_SCHEMA);
    const char *id = string_at(packet, "campaign_id");
    jw_str(root, "id", id ? id : "packet");
    jw_str(root, "title", "an agentic-comparison packet");
    cJSON *h = jw_obj(root, "hardware"), *m = jw_obj(root, "model");
    jw_str(h, "chip", string_at(member(packet, "hardware"), "chip"));
    if (usable(member(member(packet, "hardware"), "memory_bytes")))
        jw_num(h, "memory_bytes", member(member(packet, "hardware"), "memory_bytes")->valuedouble);
    const char *model_id = string_at(member(packet, "model"), "id");
    jw_str(m, "name", model_id);
    jw_str(m, "quant", string_at(member(packet, "model"), "quant"));
    if (billions_in(model_id) > 0) jw_num(m, "params", billions_in(model_id) * 1e9);
    add_workload(root, packet);
    jw_arr(root, "arms");
    jw_arr(root, "figures");
    jw_arr(root, "ratios");
    const cJSON *list = member(packet, "arms");
    for (size_t k = 0; k < 2; k++)
        for (const cJSON *a = cJSON_IsArray(list) ? list->child : NULL; a; a = a->next) {
            const char *name = string_at(a, "name");
            if (!name || strcmp(name, ARMS[k][0]) != 0) continue;
            add_arm(root, a, ARMS[k][0], ARMS[k][1]);
            break; /* a second arm of the name is a violation already */
        }
    const cJSON *s = member(packet, "summary");
    add_ratio(root, "speedup_ratio", member(s, "speedup_ratio"), "total_wall_ms");
    add_ratio(root, "ttft_speedup_p50", member(s, "ttft_speedup_p50"), "p50_ttft_ms");
    if (usable(member(s, "memory_saved_mb")))
        add_figure(cJSON_GetObjectItem(root, "figures"), "memory_saved_mb",
                   member(s, "memory_saved_mb")->valuedouble, "MiB", "memory_saved");
    return root;
}

const claim *packet_as_claim(const cJSON *root, const char *name, arena *mem) {
    buf text;
    const claim *c = NULL;
    err ignored = {0};
    cJSON *tree = tree_of(root);
    buf_init(&text);
    jw_print(tree, &text);
    cJSON_Delete(tree);
    char *kept = arena_strdup(mem, text.s);
    buf_done(&text);
    if (!kept) return NULL;
    file_bytes f = {.name = name, .s = kept, .len = strlen(kept)};
    /* what the packet lacks or has wrong is a violation already */
    if (claim_parse(&f, 0, mem, &c, &ignored)) return NULL;
    return c;
}
