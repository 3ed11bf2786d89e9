#include "report_packet.h"

#include "base/jsonr.h"
#include "base/jsonw.h"
#include "metric.h"
#include "report_audit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- validation ---- */

static void add_head(const packet_check *p, bool markdown, buf *out) {
    buf_addf(out, markdown ? "**%s** · packet `%s`\n\n" : "%s  packet %s\n\n",
             p->valid ? "VALID" : "INVALID", p->campaign_id);
    buf_addf(out, "sha256     %s\n", p->sha256);
    if (p->speedup_ratio > 0)
        buf_addf(out, "speedup    %.2fx, the gate is %.2fx\n", p->speedup_ratio, p->gate);
    buf_addf(out, "accounting %s\n",
             p->legacy ? "LEGACY: queue contention stands inside a wall-clock (gate 4.0)"
                       : "prefill + decode = wall-clock");
}

void report_packet_text(const packet_check *p, const audit *a, bool markdown, arena *mem,
                        buf *out) {
    add_head(p, markdown, out);
    if (p->n > 0) buf_addf(out, "\nViolations of the format's own rules (%zu)\n\n", p->n);
    for (size_t i = 0; i < p->n; i++)
        buf_addf(out, "- %s at %s: %s\n", p->violations[i].rule, p->violations[i].where,
                 p->violations[i].what);
    if (!a) {
        buf_add(out, "\nToo little is stated for any other rule.\n");
        return;
    }
    buf_add(out, "\nWhat the format does not check\n\n");
    report_audit_text(a, markdown, mem, out);
}

void report_packet_json(const packet_check *p, const audit *a, buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", PACKET_VALIDATION_SCHEMA);
    jw_bool(root, "valid", p->valid);
    jw_str(root, "packet_sha256", p->sha256);
    jw_num(root, "speedup_ratio", p->speedup_ratio);
    cJSON *list = jw_arr(root, "violations");
    for (size_t i = 0; i < p->n; i++) {
        cJSON *o = jw_item(list);
        jw_str(o, "rule", p->violations[i].rule);
        jw_str(o, "where", p->violations[i].where);
        jw_str(o, "what", p->violations[i].what);
    }
    jw_str(root, "accounting", p->legacy ? "legacy" : "boundary");
    jw_num(root, "min_speedup_ratio", p->gate);
    if (a) report_audit_lists(a, root);
    jw_print(root, out);
    cJSON_Delete(root);
}

/* ---- writing ---- */

static const double MIB = 1048576.0;

typedef struct writer {
    const projection *p;
    const cJSON *identity;
    const char *result_path, *result_sha256, *command;
    const char *lacks; /* first thing that `identity` does not say */
    char lacks_at[96];
} writer;

static const cJSON *member(const cJSON *o, const char *key) {
    return cJSON_IsObject(o) ? cJSON_GetObjectItemCaseSensitive(o, key) : NULL;
}

/* Copies a member of the identity; notes the first that is not there. */
static void copy(writer *w, cJSON *to, const cJSON *from, const char *where, const char *key) {
    const cJSON *v = member(from, key);
    if (v)
        cJSON_AddItemToObject(to, key, cJSON_Duplicate(v, true));
    else if (!w->lacks) {
        snprintf(w->lacks_at, sizeof w->lacks_at, "%s/%s", where, key);
        w->lacks = w->lacks_at;
    }
}

static double value(const writer *w, const arm_result *r, const char *name) {
    double v = 0;
    return metric_get(w->p, r, name, &v) ? v : 0;
}

/* The TTFT that the scenario claims, else that of all turns of the replay. */
static double ttft_s(const writer *w, const arm_result *r, bool p95) {
    double v;
    if (metric_get(w->p, r, p95 ? "claimed_ttft_p95_s" : "claimed_ttft_p50_s", &v)) return v;
    return (double)(p95 ? r->m.ttft_all.p95_ns : r->m.ttft_all.p50_ns) / 1e9;
}

static const cJSON *identity_arm(const writer *w, const char *name) {
    const cJSON *list = member(w->identity, "arms");
    for (const cJSON *a = cJSON_IsArray(list) ? list->child : NULL; a; a = a->next) {
        const cJSON *n = member(a, "name");
        if (cJSON_IsString(n) && strcmp(n->valuestring, name) == 0) return a;
    }
    return NULL;
}

/* Milliseconds to the microsecond: the format's own resolution is coarser. */
static double ms(double s) {
    return round(s * 1e6) / 1e3;
}

static void add_times(const writer *w, const arm_result *r, cJSON *o) {
    double wall = value(w, r, "wall_s"), prefill = value(w, r, "prefill_s"),
           decode = value(w, r, "decode_s");
    jw_num(o, "total_wall_ms", ms(wall));
    jw_num(o, "prefill_ms", ms(prefill));
    /* the format knows two parts: declared constants, host time and idle go with decode, and the
     * next field says how much of it they are */
    jw_num(o, "decode_ms", ms(wall - prefill));
    jw_num(o, "other_in_decode_ms", ms(wall - prefill - decode));
    jw_num(o, "queue_contention_ms", 0);
    jw_num(o, "p50_ttft_ms", ms(ttft_s(w, r, false)));
    jw_num(o, "p95_ttft_ms", ms(ttft_s(w, r, true)));
}

static void add_arm(writer *w, cJSON *list, const arm_result *r, bool fak) {
    cJSON *o = jw_item(list);
    const char *name = r->arm->name;
    const cJSON *own = identity_arm(w, name);
    char where[64];
    snprintf(where, sizeof where, "/arms/%s", name);
    jw_str(o, "name", name);
    jw_str(o, "engine", name);
    jw_str(o, "runtime", fak ? "inkernel" : "reference");
    copy(w, o, own, where, "runtime_revision");
    jw_str(o, "evidence_kind", "modeled");
    jw_str(o, "prefix_strategy",
           r->arm->reuse == REUSE_SHARED     ? "radix-shared"
           : r->arm->reuse == REUSE_PER_SLOT ? "slot-isolated"
                                             : "none");
    jw_int(o, "prefix_eval_count", r->sim.prefix_evals);
    jw_int(o, "prompt_tokens", r->sim.presented_tok);
    /* the format counts reuse across slots only */
    int64_t reused = r->arm->reuse == REUSE_SHARED ? r->sim.reused_tok : r->sim.reused_cross_tok;
    jw_int(o, "reused_tokens", reused);
    jw_num(o, "reuse_ratio",
           r->sim.presented_tok ? round(1e5 * (double)reused / (double)r->sim.presented_tok) / 1e5
                                : 0);
    add_times(w, r, o);
    jw_num(o, "peak_memory_mb", round((double)r->m.memory.peak_bytes / MIB * 1e3) / 1e3);
    jw_num(o, "agents_per_gb", round(r->m.agents_per_gib * 1e2) / 1e2);
    jw_num(o, "effective_tok_s", round(r->m.effective_tok_s * 1e2) / 1e2);
    copy(w, o, own, where, "quality");
    cJSON *raw = jw_obj(o, "raw_result");
    jw_str(raw, "path", w->result_path);
    jw_str(raw, "sha256", w->result_sha256);
    cJSON_AddItemToArray(jw_arr(o, "repro"), cJSON_CreateString(w->command));
}

static void add_summary(const writer *w, cJSON *root, const arm_result *fak,
                        const arm_result *llama) {
    cJSON *s = jw_obj(root, "summary");
    double wf = value(w, fak, "wall_s"), wl = value(w, llama, "wall_s");
    double saved = (double)(llama->m.memory.peak_bytes - fak->m.memory.peak_bytes) / MIB;
    double tf = ttft_s(w, fak, false), tl = ttft_s(w, llama, false);
    jw_num(s, "speedup_ratio", wf > 0 ? round(wl / wf * 1e2) / 1e2 : 0);
    jw_num(s, "memory_saved_mb", round(saved * 1e3) / 1e3);
    jw_num(s, "ttft_speedup_p50", tf > 0 ? round(tl / tf * 1e2) / 1e2 : 0);
    jw_bool(s, "verified", true);
}

static void add_head_fields(writer *w, cJSON *root) {
    const scenario *s = w->p->scenario;
    const cJSON *id = w->identity;
    jw_str(root, "schema", PACKET_SCHEMA);
    copy(w, root, id, "", "generated_at");
    copy(w, root, id, "", "campaign_id");
    copy(w, root, id, "", "host_id");
    jw_str(root, "provenance", "MODELED");
    jw_bool(root, "is_physical_silicon", 0);
    cJSON *effects = jw_arr(root, "unmodeled_effects");
    for (size_t i = 0; i < s->unmodeled_n; i++)
        cJSON_AddItemToArray(effects, cJSON_CreateString(s->unmodeled[i]));
    copy(w, root, id, "", "model");
    copy(w, root, id, "", "hardware");
    copy(w, root, id, "", "os");
    cJSON *k = jw_obj(root, "workload");
    jw_int(k, "concurrency", s->work.K);
    jw_int(k, "horizon", s->work.H);
    jw_int(k, "shared_prefix_tokens", s->work.P);
    jw_int(k, "turn_delta_tokens", s->work.turn_delta_in_tok);
    jw_int(k, "turn_output_tokens", s->work.turn_out_tok);
    copy(w, root, id, "", "quality_policy");
}

static const arm_result *arm_named(const projection *p, const char *name) {
    for (size_t i = 0; i < p->arms_n; i++)
        if (strcmp(p->arms[i].arm->name, name) == 0) return &p->arms[i];
    return NULL;
}

err_code report_packet_write(const projection *p, const file_bytes *identity,
                             const char *result_path, const char *result_sha256,
                             const char *command, arena *mem, buf *out, err *e) {
    const arm_result *fak = arm_named(p, "fak-native"), *llama = arm_named(p, "llama.cpp");
    if (!fak || !llama || p->arms_n != 2)
        return err_set(e, E_REFUSED, p->scenario->id,
                       "found other arms, expected exactly fak-native and llama.cpp: a packet has "
                       "no others");
    jr_doc doc = {0};
    if (jr_parse(&doc, identity->name, identity->s, identity->len, mem, e)) return e->code;
    writer w = {.p = p,
                .identity = doc.root,
                .result_path = result_path,
                .result_sha256 = result_sha256,
                .command = command};
    cJSON *root = cJSON_CreateObject();
    add_head_fields(&w, root);
    cJSON *arms = jw_arr(root, "arms");
    add_arm(&w, arms, fak, true);
    add_arm(&w, arms, llama, false);
    add_summary(&w, root, fak, llama);
    if (member(w.identity, "min_speedup_ratio"))
        copy(&w, root, w.identity, "", "min_speedup_ratio");
    const cJSON *model = member(member(root, "model"), "id");
    if (w.lacks) {
        char where[200];
        snprintf(where, sizeof where, "%.90s#%s", identity->name, w.lacks);
        err_set(e, E_REFUSED, where, "is missing, expected it: a projection cannot know it");
    } else if (!cJSON_IsString(model) || !p->scenario->model ||
               strcmp(model->valuestring, p->scenario->model) != 0)
        err_set(e, E_REFUSED, identity->name, "found another model than the scenario's %s",
                p->scenario->model ? p->scenario->model : "(it names none)");
    else
        jw_print(root, out);
    cJSON_Delete(root);
    jr_free(&doc);
    return e->code;
}
