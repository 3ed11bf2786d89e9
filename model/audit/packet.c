#include "audit/packet.h"

#include "audit/packet_claim.h"
#include "base/jsonr.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- violations ---- */

enum { VIOLATIONS_MAX = 512 };

typedef struct checker {
    arena *mem;
    violation *list;
    size_t n;
} checker;

static const char *shown(const cJSON *v, char *out, size_t cap) {
    if (!v)
        snprintf(out, cap, "nothing");
    else if (cJSON_IsString(v))
        snprintf(out, cap, "\"%.60s\"", v->valuestring);
    else if (cJSON_IsNumber(v))
        snprintf(out, cap, "%.12g", v->valuedouble);
    else
        snprintf(out, cap, "%s",
                 cJSON_IsBool(v)     ? cJSON_IsTrue(v) ? "true" : "false"
                 : cJSON_IsNull(v)   ? "null"
                 : cJSON_IsObject(v) ? "an object"
                                     : "an array");
    return out;
}

static void violate(checker *c, const char *rule, const char *where, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
static void violate(checker *c, const char *rule, const char *where, const char *fmt, ...) {
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (c->n == VIOLATIONS_MAX) return;
    const char *kept_rule = arena_strdup(c->mem, rule), *kept_where = arena_strdup(c->mem, where),
               *kept = arena_strdup(c->mem, text);
    c->list[c->n++] = (violation){.rule = kept_rule ? kept_rule : "",
                                  .where = kept_where ? kept_where : "",
                                  .what = kept ? kept : ""};
}

/* ---- one field ---- */

typedef enum field_kind {
    FIELD_TEXT,   /* not empty */
    FIELD_EXACT,  /* `text` */
    FIELD_PREFIX, /* `text`, or `text`-...; any case */
    FIELD_DIGEST, /* 64 hex digits */
    FIELD_TIME,   /* RFC 3339 */
    FIELD_CLASS,  /* a provenance class */
    FIELD_BOOL,   /* any */
    FIELD_TRUE,
    FIELD_POSITIVE, /* > 0 */
    FIELD_AT_LEAST, /* number >= `low` */
    FIELD_COUNT,    /* whole number >= `low` */
    FIELD_SHARE,    /* 0 to 1, >= `low` */
    FIELD_AT_MOST,  /* > 0 and <= `low` */
    FIELD_LIST,     /* at least one entry */
    FIELD_NUMBER    /* any finite number */
} field_kind;

typedef struct field_rule {
    const char *path; /* keys with '/' */
    field_kind kind;
    const char *text;
    double low;
} field_rule;

static const cJSON *at(const cJSON *node, const char *path) {
    char key[64];
    while (node && *path) {
        size_t n = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        node = cJSON_IsObject(node) ? cJSON_GetObjectItemCaseSensitive(node, key) : NULL;
        path += n + (path[n] == '/');
    }
    return node;
}

static bool is_digest(const char *s) {
    size_t n = 0;
    while (isxdigit((unsigned char)s[n])) n++;
    return n == 64 && s[n] == '\0';
}

/* Two digits as a number; -1: none there. */
static int pair(const char *s) {
    if (!isdigit((unsigned char)s[0]) || !isdigit((unsigned char)s[1])) return -1;
    return (s[0] - '0') * 10 + (s[1] - '0');
}

static bool is_zone(const char *s) {
    if ((s[0] == 'Z' || s[0] == 'z') && s[1] == '\0') return true;
    if (s[0] != '+' && s[0] != '-') return false;
    int h = pair(s + 1);
    return h >= 0 && h < 24 && s[3] == ':' && pair(s + 4) >= 0 && pair(s + 4) < 60 && s[6] == '\0';
}

/* 2026-09-05T12:00:00Z, with a fraction of a second and an offset if need be. */
static bool is_time(const char *s) {
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    static const char SHAPE[] = "dddd-dd-ddTdd:dd:dd";
    for (size_t i = 0; SHAPE[i]; i++)
        if (SHAPE[i] == 'd'
                ? !isdigit((unsigned char)s[i])
                : s[i] != SHAPE[i] && !(SHAPE[i] == 'T' && (s[i] == 't' || s[i] == ' ')))
            return false;
    int year = pair(s) * 100 + pair(s + 2), month = pair(s + 5), day = pair(s + 8);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month < 1 || month > 12 || day < 1) return false;
    if (day > DAYS[month - 1] + (month == 2 && leap)) return false;
    if (pair(s + 11) > 23 || pair(s + 14) > 59 || pair(s + 17) > 60) return false;
    s += strlen(SHAPE);
    if (*s == '.') {
        if (!isdigit((unsigned char)s[1])) return false;
        for (s++; isdigit((unsigned char)*s); s++) continue;
    }
    return is_zone(s);
}

static bool is_class(const char *s) {
    return strcmp(s, "MODELED") == 0 || strcmp(s, "SIMULATED") == 0 || strcmp(s, "WITNESSED") == 0;
}

static bool has_prefix(const char *s, const char *word) {
    size_t n = strlen(word);
    return strncasecmp(s, word, n) == 0 && (s[n] == '\0' || (s[n] == '-' && s[n + 1] != '\0'));
}

static bool text_holds(const field_rule *r, const char *s) {
    switch (r->kind) {
    case FIELD_EXACT:
        return strcmp(s, r->text) == 0;
    case FIELD_PREFIX:
        return has_prefix(s, r->text);
    case FIELD_DIGEST:
        return is_digest(s);
    case FIELD_TIME:
        return is_time(s);
    case FIELD_CLASS:
        return is_class(s);
    default:
        return s[strspn(s, " \t")] != '\0';
    }
}

static bool number_holds(const field_rule *r, double v) {
    if (!isfinite(v)) return false;
    switch (r->kind) {
    case FIELD_POSITIVE:
        return v > 0;
    case FIELD_AT_LEAST:
        return v >= r->low;
    case FIELD_COUNT:
        return v >= r->low && v == floor(v);
    case FIELD_SHARE:
        return v >= 0 && v <= 1 && v >= r->low;
    case FIELD_AT_MOST:
        return v > 0 && v <= r->low;
    default:
        return true;
    }
}

static const char *expected(const field_rule *r, char *out, size_t cap) {
    static const char *const WORDS[] = {
        [FIELD_TEXT] = "some text",
        [FIELD_DIGEST] = "64 hex digits",
        [FIELD_TIME] = "a time as in RFC 3339",
        [FIELD_CLASS] = "MODELED, SIMULATED or WITNESSED",
        [FIELD_BOOL] = "true or false",
        [FIELD_TRUE] = "true",
        [FIELD_POSITIVE] = "a number > 0",
        [FIELD_LIST] = "a list of at least one entry",
        [FIELD_NUMBER] = "a number",
    };
    switch (r->kind) {
    case FIELD_EXACT:
        snprintf(out, cap, "\"%s\"", r->text);
        break;
    case FIELD_PREFIX:
        snprintf(out, cap, "\"%s\" or \"%s-...\"", r->text, r->text);
        break;
    case FIELD_AT_LEAST:
        snprintf(out, cap, "a number >= %.12g", r->low);
        break;
    case FIELD_COUNT:
        snprintf(out, cap, "a whole number >= %.12g", r->low);
        break;
    case FIELD_SHARE:
        snprintf(out, cap, "a fraction from %.12g to 1", r->low);
        break;
    case FIELD_AT_MOST:
        snprintf(out, cap, "a number > 0 and <= %.12g", r->low);
        break;
    default:
        snprintf(out, cap, "%s", WORDS[r->kind]);
    }
    return out;
}

static bool field_holds(const field_rule *r, const cJSON *v) {
    switch (r->kind) {
    case FIELD_BOOL:
        return cJSON_IsBool(v);
    case FIELD_TRUE:
        return cJSON_IsTrue(v);
    case FIELD_LIST:
        return cJSON_IsArray(v) && cJSON_GetArraySize(v) > 0;
    case FIELD_TEXT:
    case FIELD_EXACT:
    case FIELD_PREFIX:
    case FIELD_DIGEST:
    case FIELD_TIME:
    case FIELD_CLASS:
        return cJSON_IsString(v) && text_holds(r, v->valuestring);
    default:
        return cJSON_IsNumber(v) && number_holds(r, v->valuedouble);
    }
}

static void check_fields(checker *c, const cJSON *node, const char *base, const field_rule *rules,
                         size_t n) {
    for (size_t i = 0; i < n; i++) {
        const cJSON *v = at(node, rules[i].path);
        char where[200], found[100], want[100];
        if (field_holds(&rules[i], v)) continue;
        snprintf(where, sizeof where, "%s/%s", base, rules[i].path);
        violate(c, where + 1, where, "found %s, expected %s", shown(v, found, sizeof found),
                expected(&rules[i], want, sizeof want));
    }
}

static const field_rule PACKET_FIELDS[] = {
    {"schema", FIELD_EXACT, PACKET_SCHEMA, 0},
    {"generated_at", FIELD_TIME, NULL, 0},
    {"campaign_id", FIELD_TEXT, NULL, 0},
    {"host_id", FIELD_DIGEST, NULL, 0},
    {"provenance", FIELD_CLASS, NULL, 0},
    {"is_physical_silicon", FIELD_BOOL, NULL, 0},
    {"model/family", FIELD_EXACT, "Qwen3.8", 0},
    {"model/id", FIELD_PREFIX, "qwen3.8", 0},
    {"model/source_revision", FIELD_TEXT, NULL, 0},
    {"model/canonical_weights_sha256", FIELD_DIGEST, NULL, 0},
    {"model/quant", FIELD_EXACT, "Q4_K_M", 0},
    {"hardware/model", FIELD_TEXT, NULL, 0},
    {"hardware/chip", FIELD_TEXT, NULL, 0},
    {"hardware/memory_bytes", FIELD_POSITIVE, NULL, 0},
    {"os/name", FIELD_TEXT, NULL, 0},
    {"os/version", FIELD_TEXT, NULL, 0},
    {"os/build", FIELD_TEXT, NULL, 0},
    {"workload/concurrency", FIELD_COUNT, NULL, 2},
    {"workload/horizon", FIELD_COUNT, NULL, 5},
    {"workload/shared_prefix_tokens", FIELD_COUNT, NULL, 1024},
    {"workload/turn_delta_tokens", FIELD_COUNT, NULL, 1},
    {"workload/turn_output_tokens", FIELD_COUNT, NULL, 1},
    {"quality_policy/id", FIELD_TEXT, NULL, 0},
    {"quality_policy/version", FIELD_TEXT, NULL, 0},
    {"quality_policy/sha256", FIELD_DIGEST, NULL, 0},
    {"quality_policy/minimum_score", FIELD_POSITIVE, NULL, 0},
    {"summary/speedup_ratio", FIELD_POSITIVE, NULL, 0},
    {"summary/memory_saved_mb", FIELD_POSITIVE, NULL, 0},
    {"summary/ttft_speedup_p50", FIELD_POSITIVE, NULL, 0},
    {"summary/verified", FIELD_TRUE, NULL, 0},
};

/* Of either arm. */
static const field_rule ARM_FIELDS[] = {
    {"runtime_revision", FIELD_TEXT, NULL, 0},    {"prompt_tokens", FIELD_COUNT, NULL, 1},
    {"total_wall_ms", FIELD_POSITIVE, NULL, 0},   {"prefill_ms", FIELD_AT_LEAST, NULL, 0},
    {"decode_ms", FIELD_AT_LEAST, NULL, 0},       {"queue_contention_ms", FIELD_AT_LEAST, NULL, 0},
    {"p95_ttft_ms", FIELD_POSITIVE, NULL, 0},     {"peak_memory_mb", FIELD_POSITIVE, NULL, 0},
    {"agents_per_gb", FIELD_POSITIVE, NULL, 0},   {"effective_tok_s", FIELD_POSITIVE, NULL, 0},
    {"quality/passed", FIELD_TRUE, NULL, 0},      {"quality/result_sha256", FIELD_DIGEST, NULL, 0},
    {"raw_result/sha256", FIELD_DIGEST, NULL, 0}, {"repro", FIELD_LIST, NULL, 0},
};

static const field_rule FAK_FIELDS[] = {
    {"engine", FIELD_EXACT, "fak-native", 0},
    {"runtime", FIELD_EXACT, "inkernel", 0},
    {"prefix_strategy", FIELD_EXACT, "radix-shared", 0},
    {"reused_tokens", FIELD_COUNT, NULL, 1},
    {"reuse_ratio", FIELD_SHARE, NULL, 0.70},
    {"p50_ttft_ms", FIELD_AT_MOST, NULL, 25},
};

static const field_rule LLAMA_FIELDS[] = {
    {"engine", FIELD_EXACT, "llama.cpp", 0},
    {"runtime", FIELD_EXACT, "reference", 0},
    {"prefix_strategy", FIELD_EXACT, "slot-isolated", 0},
    {"reused_tokens", FIELD_COUNT, NULL, 0},
    {"reuse_ratio", FIELD_SHARE, NULL, 0},
    {"p50_ttft_ms", FIELD_POSITIVE, NULL, 0},
};

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

/* ---- rules over several fields: only where each of them holds by itself ---- */

static bool number(const cJSON *node, const char *path, double *out) {
    const cJSON *v = at(node, path);
    if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble)) return false;
    *out = v->valuedouble;
    return true;
}

static bool positive(const cJSON *node, const char *path, double *out) {
    return number(node, path, out) && *out > 0;
}

static const char *text_at(const cJSON *node, const char *path) {
    const cJSON *v = at(node, path);
    return cJSON_IsString(v) ? v->valuestring : NULL;
}

static void check_silicon(checker *c, const cJSON *root) {
    const char *class = text_at(root, "provenance");
    if (!cJSON_IsFalse(at(root, "is_physical_silicon"))) return;
    if (class && strcmp(class, "WITNESSED") == 0)
        violate(c, "provenance_physical", "/provenance",
                "found WITNESSED with is_physical_silicon false, expected MODELED or SIMULATED");
    const cJSON *effects = at(root, "unmodeled_effects");
    int n = cJSON_IsArray(effects) ? cJSON_GetArraySize(effects) : 0;
    if (n < 3)
        violate(c, "unmodeled_effects", "/unmodeled_effects",
                "found %d entries, expected at least 3 where nothing ran on silicon", n);
}

/* An arm is judged by the packet's policy: same id, version and digest. */
static void check_policy(checker *c, const cJSON *root, const cJSON *a, const char *base) {
    static const char *const PAIRS[][2] = {{"quality_policy/id", "quality/policy_id"},
                                           {"quality_policy/version", "quality/policy_version"},
                                           {"quality_policy/sha256", "quality/policy_sha256"}};
    for (size_t i = 0; i < 3; i++) {
        const char *policy = text_at(root, PAIRS[i][0]), *own = text_at(a, PAIRS[i][1]);
        char where[200], found[100];
        bool digest = i == 2;
        if (!policy || !policy[0] || (digest && !is_digest(policy))) continue;
        if (own && strcmp(own, policy) == 0) continue;
        snprintf(where, sizeof where, "%s/%s", base, PAIRS[i][1]);
        violate(c, where + 1, where, "found %s, expected the packet's \"%.70s\"",
                shown(at(a, PAIRS[i][1]), found, sizeof found), policy);
    }
}

static void check_arm_relations(checker *c, const cJSON *a, const char *base) {
    double p50, p95, reused, prompt;
    char where[200];
    if (positive(a, "p50_ttft_ms", &p50) && positive(a, "p95_ttft_ms", &p95) && p95 < p50) {
        snprintf(where, sizeof where, "%s/p95_ttft_ms", base);
        violate(c, "p95_at_least_p50", where, "found %.12g, expected at least the p50 of %.12g",
                p95, p50);
    }
    if (number(a, "reused_tokens", &reused) && positive(a, "prompt_tokens", &prompt) &&
        reused > prompt) {
        snprintf(where, sizeof where, "%s/reused_tokens", base);
        violate(c, "reused_within_prompt", where,
                "found %.12g, expected at most the %.12g prompt tokens", reused, prompt);
    }
}

/* prefill + decode = wall, or the legacy sum with the queue contention in it. */
static void check_boundary(checker *c, const cJSON *a, const char *base, bool *legacy) {
    double wall, prefill, decode, queue;
    if (!positive(a, "total_wall_ms", &wall) || !number(a, "prefill_ms", &prefill) ||
        !number(a, "decode_ms", &decode) || prefill < 0 || decode < 0)
        return;
    double slack = fmax(0.1, 0.001 * wall), sum = prefill + decode;
    if (fabs(sum - wall) <= slack * (1 + 1e-12)) return;
    bool queued = number(a, "queue_contention_ms", &queue) && queue > 0;
    if (queued && fabs(sum + queue - wall) <= slack * (1 + 1e-12)) {
        *legacy = true;
        return;
    }
    char where[200];
    snprintf(where, sizeof where, "%s/total_wall_ms", base);
    violate(c, "boundary", where, "found %.12g, expected prefill + decode = %.12g within %.6g%s",
            wall, sum, slack, queued ? ", or that and the queue contention" : "");
}

static void check_evals(checker *c, const cJSON *root, const cJSON *a, const char *base, bool fak) {
    double evals, agents;
    const cJSON *v = at(a, "prefix_eval_count");
    char where[200], found[100];
    snprintf(where, sizeof where, "%s/prefix_eval_count", base);
    bool whole =
        cJSON_IsNumber(v) && v->valuedouble == floor(v->valuedouble) && v->valuedouble >= 1;
    if (!whole || !number(a, "prefix_eval_count", &evals) || (fak && evals != 1)) {
        violate(c, where + 1, where, "found %s, expected %s", shown(v, found, sizeof found),
                fak ? "1" : "a whole number, the concurrency at least");
        return;
    }
    if (!fak && number(root, "workload/concurrency", &agents) && agents >= 2 && evals < agents)
        violate(c, where + 1, where, "found %.12g, expected at least the concurrency of %.12g",
                evals, agents);
}

static void check_arm(checker *c, const cJSON *root, const cJSON *a, size_t index, bool fak,
                      bool *legacy) {
    char base[40];
    snprintf(base, sizeof base, "/arms/%zu", index);
    check_fields(c, a, base, ARM_FIELDS, COUNT_OF(ARM_FIELDS));
    if (fak)
        check_fields(c, a, base, FAK_FIELDS, COUNT_OF(FAK_FIELDS));
    else
        check_fields(c, a, base, LLAMA_FIELDS, COUNT_OF(LLAMA_FIELDS));
    check_evals(c, root, a, base, fak);
    check_policy(c, root, a, base);
    check_arm_relations(c, a, base);
    check_boundary(c, a, base, legacy);
}

/* The two arms by name; NULL where the packet does not have exactly these. */
static void find_arms(checker *c, const cJSON *root, const cJSON *out[2], size_t index[2]) {
    static const char *const NAMES[] = {"fak-native", "llama.cpp"};
    const cJSON *arms = at(root, "arms");
    size_t n = cJSON_IsArray(arms) ? (size_t)cJSON_GetArraySize(arms) : 0, i = 0;
    out[0] = out[1] = NULL;
    for (const cJSON *a = n ? arms->child : NULL; a; a = a->next, i++)
        for (size_t k = 0; k < 2; k++) {
            const char *name = text_at(a, "name");
            if (name && strcmp(name, NAMES[k]) == 0 && !out[k]) {
                out[k] = a;
                index[k] = i;
            }
        }
    if (n == 2 && out[0] && out[1]) return;
    violate(c, "arms", "/arms", "found %zu arms%s%s, expected exactly fak-native and llama.cpp", n,
            out[0] ? "" : ", none named fak-native", out[1] ? "" : ", none named llama.cpp");
}

static void check_summary(checker *c, const cJSON *root, const cJSON *const arms[2]) {
    double fak, llama, v;
    if (!arms[0] || !arms[1]) return;
    if (positive(arms[0], "total_wall_ms", &fak) && positive(arms[1], "total_wall_ms", &llama) &&
        positive(root, "summary/speedup_ratio", &v) && fabs(v - llama / fak) > 0.05 + 1e-9)
        violate(c, "summary/speedup_ratio", "/summary/speedup_ratio",
                "found %.12g, expected %.6g (%.12g / %.12g) within 0.05", v, llama / fak, llama,
                fak);
    if (positive(arms[0], "peak_memory_mb", &fak) && positive(arms[1], "peak_memory_mb", &llama) &&
        positive(root, "summary/memory_saved_mb", &v) && fabs(v - (llama - fak)) > 0.5 + 1e-9)
        violate(c, "summary/memory_saved_mb", "/summary/memory_saved_mb",
                "found %.12g, expected %.12g (%.12g - %.12g) within 0.5", v, llama - fak, llama,
                fak);
    if (positive(arms[0], "p50_ttft_ms", &fak) && positive(arms[1], "p50_ttft_ms", &llama) &&
        positive(root, "summary/ttft_speedup_p50", &v) && fabs(v - llama / fak) > 0.5 + 1e-9)
        violate(c, "summary/ttft_speedup_p50", "/summary/ttft_speedup_p50",
                "found %.12g, expected %.12g (%.12g / %.12g) within 0.5", v, llama / fak, llama,
                fak);
}

/* The ratio that a packet has to reach: its own, else 4.0 for a policy called 4x, else 1.5. Legacy
 * accounting raises it to 4.0 in any case: there the reference carries its queue wait. */
static void check_gate(checker *c, const cJSON *root, bool legacy, packet_check *out) {
    const cJSON *own = at(root, "min_speedup_ratio");
    const char *policy = text_at(root, "quality_policy/id");
    char found[100];
    if (own && !cJSON_IsNumber(own))
        violate(c, "min_speedup_ratio", "/min_speedup_ratio", "found %s, expected a number",
                shown(own, found, sizeof found));
    bool given = own && cJSON_IsNumber(own) && own->valuedouble > 0;
    bool four = policy && strstr(policy, "4x");
    out->gate = given ? own->valuedouble : four ? 4.0 : 1.5;
    if (legacy) out->gate = fmax(out->gate, 4.0);
    if (positive(root, "summary/speedup_ratio", &out->speedup_ratio) &&
        out->speedup_ratio < out->gate)
        violate(c, "gate", "/summary/speedup_ratio", "found %.12g, expected at least %.12g (%s)",
                out->speedup_ratio, out->gate,
                legacy  ? "legacy accounting: queue contention inside the wall-clock"
                : given ? "min_speedup_ratio"
                : four  ? "the policy is a 4x one"
                        : "the default gate");
}

/* One key twice in an object: which of them counts is anybody's guess. */
static void check_doubles(checker *c, const cJSON *node, const char *where) {
    for (const cJSON *v = node->child; v; v = v->next) {
        char path[200];
        snprintf(path, sizeof path, "%.120s/%.60s", where, v->string ? v->string : "-");
        for (const cJSON *w = v->string ? node->child : v; w != v; w = w->next)
            if (w->string && strcmp(w->string, v->string) == 0)
                violate(c, "duplicate", path, "found the key twice, expected it once");
        if (cJSON_IsObject(v) || cJSON_IsArray(v)) check_doubles(c, v, path);
    }
}

err_code packet_parse(const file_bytes *f, arena *mem, packet_check *out, err *e) {
    jr_doc doc = {0};
    *out = (packet_check){.path = f->name, .campaign_id = ""};
    memcpy(out->sha256, f->sha256, sizeof out->sha256);
    if (jr_parse(&doc, f->name, f->s, f->len, mem, e)) return e->code;
    if (!cJSON_IsObject(doc.root))
        jr_fail(jr_root(&doc), E_SCHEMA, "found no object, expected a packet");
    checker c = {.mem = mem, .list = ARENA_ARRAY(mem, violation, VIOLATIONS_MAX)};
    if (!c.list) err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    if (!e->code) {
        const cJSON *arms[2];
        size_t index[2] = {0, 0};
        const char *id = text_at(doc.root, "campaign_id");
        const char *kept = id ? arena_strdup(mem, id) : NULL;
        if (kept) out->campaign_id = kept;
        check_doubles(&c, doc.root, "");
        check_fields(&c, doc.root, "", PACKET_FIELDS, COUNT_OF(PACKET_FIELDS));
        check_silicon(&c, doc.root);
        find_arms(&c, doc.root, arms, index);
        for (size_t k = 0; k < 2; k++)
            if (arms[k]) check_arm(&c, doc.root, arms[k], index[k], k == 0, &out->legacy);
        check_summary(&c, doc.root, arms);
        check_gate(&c, doc.root, out->legacy, out);
        out->violations = c.list;
        out->n = c.n;
        out->valid = c.n == 0;
        out->claim = packet_as_claim(doc.root, f->name, mem);
    }
    jr_free(&doc);
    return e->code;
}
