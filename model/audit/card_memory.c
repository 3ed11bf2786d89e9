/* What a card says of its memory: weights from parameters and bits, KV from the architecture. */
#include "card_audit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const double BITS_FRAC = 0.15;
/* Below this many parameters, tensors kept at more bits than the name says count for much. */
static const double LARGE_PARAMS = 5e9;
static const double MIXED_SMALL_FRAC = 0.60;

/* ---- weights ---- */

typedef struct precision {
    const char *name;
    double bits; /* a weight, scales included; of mixes: as llama.cpp prints it for 7B and 8B */
    bool mixed;
} precision;

static const precision PRECISIONS[] = {
    {"F32", 32, false},     {"FP32", 32, false},   {"F16", 16, false},     {"FP16", 16, false},
    {"BF16", 16, false},    {"FP8", 8, false},     {"INT8", 8, false},     {"Q8_0", 8.5, false},
    {"Q6_K", 6.57, true},   {"Q5_0", 5.5, true},   {"Q5_1", 6, true},      {"Q5_K_S", 5.54, true},
    {"Q5_K_M", 5.69, true}, {"Q4_0", 4.5, true},   {"Q4_1", 5, true},      {"Q4_K_S", 4.58, true},
    {"Q4_K", 4.5, true},    {"Q5_K", 5.5, true},   {"Q4_K_M", 4.85, true}, {"IQ4_XS", 4.25, true},
    {"IQ4_NL", 4.5, true},  {"Q3_K_S", 3.5, true}, {"Q3_K_M", 3.91, true}, {"Q3_K_L", 4.27, true},
    {"Q2_K", 3.35, true},   {"MXFP4", 4.25, true},
};

/* "Q4_K - Medium", as llama.cpp says it, is Q4_K_M. */
static const precision *precision_of(const char *quant) {
    char name[64];
    const char *dash = strstr(quant, " - ");
    snprintf(name, sizeof name, "%.*s%s%.1s", (int)(dash ? dash - quant : 40), quant,
             dash ? "_" : "", dash ? dash + 3 : "");
    for (size_t i = 0; i < sizeof PRECISIONS / sizeof *PRECISIONS; i++)
        if (strcasecmp(PRECISIONS[i].name, name) == 0) return &PRECISIONS[i];
    return NULL;
}

static audit_outcome judge_bits(const card_view *v, double off) {
    if (fabs(off) <= BITS_FRAC) return AUDIT_PASS;
    bool small = v->mixed_bits && (double)v->c->params < LARGE_PARAMS;
    return small && off > 0 && off <= MIXED_SMALL_FRAC ? AUDIT_CANNOT_TELL : AUDIT_FAIL;
}

/* What no name of a precision can change. */
static const double BITS_LEAST = 1, BITS_MOST = 32 * 1.15;

/* Where the parameters are not stated, the shape says how many there are at least: the keys of each
 * layer that keeps KV come from a matrix of kv_heads x head_dim by the width of the model, and no
 * model is narrower than one head. */
static void check_against_shape(const card_view *v) {
    const card *c = v->c;
    double least = (double)c->full_attention_layers * (double)c->kv_heads * (double)c->head_dim *
                   (double)c->head_dim;
    if (c->weights_bytes == 0 || least <= 0) return;
    double bytes = (double)c->weights_bytes + (double)c->weights_host_bytes;
    double bits = 8 * bytes / least;
    if (bits >= BITS_LEAST) return; /* a bound this low says nothing for the rest */
    finding *f = audit_say(v->a, R_MEMORY, "weight-shape", AUDIT_FAIL, "weights_bytes", 0,
                           "%.0f bytes of weights; layers, KV heads and head size take %.4g "
                           "parameters at least, which leaves %.3g bits for each",
                           bytes, least, bits);
    audit_numbers(f, BITS_LEAST, bits, "bits");
}

void card_check_weights(card_view *v) {
    const card *c = v->c;
    const precision *p = precision_of(c->quant);
    v->weight_bits = p ? p->bits : 0;
    v->mixed_bits = p && p->mixed;
    if (c->params == 0) check_against_shape(v);
    if (c->params == 0 || c->weights_bytes == 0) return; /* said among the conditions */
    double bits = 8 * (double)(c->weights_bytes + c->weights_host_bytes) / (double)c->params;
    if (!p) {
        bool none = bits < BITS_LEAST || bits > BITS_MOST;
        finding *open =
            audit_say(v->a, R_MEMORY, "weight-bits", none ? AUDIT_FAIL : AUDIT_CANNOT_TELL,
                      c->quant, 0, "%.2f bits a parameter; the bits of %s are not known%s", bits,
                      c->quant, none ? ", and no weights have that many" : "");
        if (!none) open->weight = WEIGHT_NOTE;
        return;
    }
    audit_outcome o = judge_bits(v, bits / p->bits - 1);
    finding *f = audit_say(
        v->a, R_MEMORY, "weight-bits", o, c->quant, 0,
        "weights_bytes over params is %.2f bits a parameter, %s has %.2f%s", bits, c->quant,
        p->bits, o == AUDIT_CANNOT_TELL ? "; small models keep large parts at more bits" : "");
    audit_numbers(f, p->bits, bits, "bits");
}

/* ---- KV ---- */

static bool is_hybrid(const card *c) {
    static const char *const WORDS[] = {"hybrid", "deltanet", "mamba", "linear attention",
                                        "state space"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (text_holds(c->architecture, WORDS[i])) return true;
    return false;
}

static void check_layers(const card_view *v) {
    const card *c = v->c;
    if (c->layers == 0 || c->full_attention_layers == 0) return;
    bool all = is_hybrid(c) && c->full_attention_layers == c->layers;
    finding *f = audit_say(
        v->a, R_MEMORY, "kv-layers", all ? AUDIT_FAIL : AUDIT_PASS, "full_attention_layers", 0,
        "%lld of %lld layers keep KV%s", (long long)c->full_attention_layers, (long long)c->layers,
        all ? ", and the architecture is hybrid: only its full-attention layers do" : "");
    f->has_found = true;
    f->found = (double)c->full_attention_layers;
    f->unit = "layers";
}

static double element_bytes(const char *type) {
    static const struct {
        const char *name;
        double bytes;
    } TYPES[] = {{"f32", 4},          {"f16", 2},          {"bf16", 2},
                 {"q8_0", 34 / 32.0}, {"q4_0", 18 / 32.0}, {"q4_1", 20 / 32.0},
                 {"q5_0", 22 / 32.0}, {"q5_1", 24 / 32.0}, {"fp8", 1}};
    for (size_t i = 0; type && i < sizeof TYPES / sizeof *TYPES; i++)
        if (strcasecmp(TYPES[i].name, type) == 0) return TYPES[i].bytes;
    return 0;
}

static void check_element(const card_view *v) {
    const card *c = v->c;
    double k = element_bytes(c->engine.type_k), val = element_bytes(c->engine.type_v);
    if (k <= 0 || val <= 0 || c->kv_element_bytes <= 0) return;
    double want = (k + val) / 2;
    bool ok = fabs(c->kv_element_bytes / want - 1) <= 0.01;
    finding *f =
        audit_say(v->a, R_MEMORY, "kv-element", ok ? AUDIT_PASS : AUDIT_FAIL, "kv_element_bytes", 0,
                  "kv_element_bytes is %.6g; K in %s and V in %s take %.6g on average",
                  c->kv_element_bytes, c->engine.type_k, c->engine.type_v, want);
    audit_numbers(f, want, c->kv_element_bytes, "bytes");
}

void card_check_kv(const card_view *v) {
    check_layers(v);
    check_element(v);
}

/* ---- the device ---- */

/* The largest point needs weights, runtime buffers and its KV at once. A vendor's GB may be 2^30.
 */
void card_check_fits(const card_view *v) {
    const card *c = v->c;
    double have = (double)c->hardware.memory_bytes;
    if (have <= 0 && v->chip) have = v->chip->memory_bytes;
    if (have <= 0 || c->weights_bytes == 0) return;
    const decode_point *largest = NULL;
    double kv = 0;
    for (size_t i = 0; i < c->decode_n && c->kv_prov < PROV_ASSUMED; i++) {
        const decode_point *p = &c->decode[i];
        double need = p->context_tok > 0
                          ? (double)card_kv_bytes_per_tok(c) * (double)p->context_tok *
                                (double)(p->origin.shared_prompt ? 1 : p->batch_n)
                          : 0;
        if (need <= kv) continue;
        kv = need;
        largest = p;
    }
    double need =
        (double)c->weights_bytes + kv + (c->overhead_bytes > 0 ? (double)c->overhead_bytes : 0);
    audit_outcome o = need <= have                  ? AUDIT_PASS
                      : need <= have * 0x1p30 / 1e9 ? AUDIT_CANNOT_TELL
                                                    : AUDIT_FAIL;
    const char *name = largest ? decode_name(v, largest) : "the weights";
    finding *f = audit_say(
        v->a, R_MEMORY, "fits", o, name, 0, "weights%s%s need %.4g GiB, the device has %.4g",
        largest ? " and the KV of " : "", largest ? name : "", need / 0x1p30, have / 0x1p30);
    audit_numbers(f, have / 0x1p30, need / 0x1p30, "GiB");
}
