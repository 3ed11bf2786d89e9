#include "shapes.h"

#include "base/jsonr.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *const QUANT_NAMES[] = {"f16", "q8_0", "q4_0", "q4_k_m", NULL};

const tensor_format TENSOR_FORMATS[] = {
    [TENSOR_F32] = {0, 1, 4},       [TENSOR_F16] = {1, 1, 2},    [TENSOR_Q4_0] = {2, 32, 18},
    [TENSOR_Q5_0] = {6, 32, 22},    [TENSOR_Q8_0] = {8, 32, 34}, [TENSOR_Q4_K] = {12, 256, 144},
    [TENSOR_Q6_K] = {14, 256, 210},
};

static const model_shape SHAPES[] = {
    {.name = "qwen2.5-0.5b",
     .architecture = "qwen2",
     .source = "config.json of Qwen/Qwen2.5-0.5B-Instruct",
     .layers = 24,
     .n_embd = 896,
     .n_ff = 4864,
     .heads = 14,
     .kv_heads = 2,
     .head_dim = 64,
     .vocab = 151936,
     .context_train_tok = 32768,
     .rope_freq_base = 1e6,
     .norm_eps = 1e-6,
     .tied = true,
     .qkv_bias = true},
    {.name = "qwen2.5-1.5b",
     .architecture = "qwen2",
     .source = "config.json of Qwen/Qwen2.5-1.5B-Instruct",
     .layers = 28,
     .n_embd = 1536,
     .n_ff = 8960,
     .heads = 12,
     .kv_heads = 2,
     .head_dim = 128,
     .vocab = 151936,
     .context_train_tok = 32768,
     .rope_freq_base = 1e6,
     .norm_eps = 1e-6,
     .tied = true,
     .qkv_bias = true},
    {.name = "qwen2.5-7b",
     .architecture = "qwen2",
     .source = "config.json of Qwen/Qwen2.5-7B-Instruct",
     .layers = 28,
     .n_embd = 3584,
     .n_ff = 18944,
     .heads = 28,
     .kv_heads = 4,
     .head_dim = 128,
     .vocab = 152064,
     .context_train_tok = 32768,
     .rope_freq_base = 1e6,
     .norm_eps = 1e-6,
     .qkv_bias = true},
    {.name = "qwen2.5-14b",
     .architecture = "qwen2",
     .source = "config.json of Qwen/Qwen2.5-14B-Instruct",
     .layers = 48,
     .n_embd = 5120,
     .n_ff = 13824,
     .heads = 40,
     .kv_heads = 8,
     .head_dim = 128,
     .vocab = 152064,
     .context_train_tok = 32768,
     .rope_freq_base = 1e6,
     .norm_eps = 1e-6,
     .qkv_bias = true},
    {.name = "qwen2.5-32b",
     .architecture = "qwen2",
     .source = "config.json of Qwen/Qwen2.5-32B-Instruct",
     .layers = 64,
     .n_embd = 5120,
     .n_ff = 27648,
     .heads = 40,
     .kv_heads = 8,
     .head_dim = 128,
     .vocab = 152064,
     .context_train_tok = 32768,
     .rope_freq_base = 1e6,
     .norm_eps = 1e-6,
     .qkv_bias = true},
    {.name = "llama3-8b",
     .architecture = "llama",
     .source = "config.json of meta-llama/Meta-Llama-3-8B-Instruct",
     .layers = 32,
     .n_embd = 4096,
     .n_ff = 14336,
     .heads = 32,
     .kv_heads = 8,
     .head_dim = 128,
     .vocab = 128256,
     .context_train_tok = 8192,
     .rope_freq_base = 5e5,
     .norm_eps = 1e-5},
};

const model_shape *shape_at(size_t i) {
    return i < sizeof SHAPES / sizeof *SHAPES ? &SHAPES[i] : NULL;
}

err_code shape_find(const char *name, const model_shape **out, err *e) {
    char words[256] = "", near[64];
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) {
        if (strcmp(name, SHAPES[i].name) == 0) {
            *out = &SHAPES[i];
            return OK;
        }
        size_t n = strlen(words);
        snprintf(words + n, sizeof words - n, "%s%s", n ? " " : "", SHAPES[i].name);
    }
    if (jr_nearest(name, words, near, sizeof near))
        return err_set(e, E_USAGE, "--shape", "no shape \"%s\", nearest is \"%s\"", name, near);
    return err_set(e, E_USAGE, "--shape", "no shape \"%s\", expected one of %s", name, words);
}

err_code quant_find(const char *name, quant *out, err *e) {
    for (quant q = QUANT_F16; q < QUANT_N; q++)
        if (strcasecmp(name, QUANT_NAMES[q]) == 0) {
            *out = q;
            return OK;
        }
    return err_set(e, E_USAGE, "--quant", "no quantisation \"%s\", expected %s, %s, %s or %s", name,
                   QUANT_NAMES[0], QUANT_NAMES[1], QUANT_NAMES[2], QUANT_NAMES[3]);
}

/* What a tensor is to the quantiser. */
typedef enum role { ROLE_ORDINARY, ROLE_SENSITIVE, ROLE_OUTPUT } role;

typedef enum length { LEN_ONE, LEN_EMBD, LEN_FF, LEN_Q, LEN_KV, LEN_VOCAB } length;

typedef struct tensor_row {
    const char *name;
    length cols, rows;
    role role;
} tensor_row;

static const tensor_row LAYER[] = {
    {"attn_norm.weight", LEN_EMBD, LEN_ONE, ROLE_ORDINARY},
    {"attn_q.weight", LEN_EMBD, LEN_Q, ROLE_ORDINARY},
    {"attn_k.weight", LEN_EMBD, LEN_KV, ROLE_ORDINARY},
    {"attn_v.weight", LEN_EMBD, LEN_KV, ROLE_SENSITIVE},
    {"attn_output.weight", LEN_Q, LEN_EMBD, ROLE_ORDINARY},
    {"ffn_norm.weight", LEN_EMBD, LEN_ONE, ROLE_ORDINARY},
    {"ffn_gate.weight", LEN_EMBD, LEN_FF, ROLE_ORDINARY},
    {"ffn_up.weight", LEN_EMBD, LEN_FF, ROLE_ORDINARY},
    {"ffn_down.weight", LEN_FF, LEN_EMBD, ROLE_SENSITIVE},
    /* last, so that a model without biases has the first rows */
    {"attn_q.bias", LEN_Q, LEN_ONE, ROLE_ORDINARY},
    {"attn_k.bias", LEN_KV, LEN_ONE, ROLE_ORDINARY},
    {"attn_v.bias", LEN_KV, LEN_ONE, ROLE_ORDINARY},
};
enum { LAYER_N = sizeof LAYER / sizeof *LAYER, BIASES_N = 3 };

static const tensor_row EMBEDDING = {"token_embd.weight", LEN_EMBD, LEN_VOCAB, ROLE_ORDINARY};
/* llama.cpp gives the embedding the type of the output when it is both. */
static const tensor_row TIED = {"token_embd.weight", LEN_EMBD, LEN_VOCAB, ROLE_OUTPUT};
static const tensor_row OUTPUT_NORM = {"output_norm.weight", LEN_EMBD, LEN_ONE, ROLE_ORDINARY};
static const tensor_row OUTPUT = {"output.weight", LEN_EMBD, LEN_VOCAB, ROLE_OUTPUT};

static int64_t length_of(const model_shape *s, length l) {
    switch (l) {
    case LEN_EMBD:
        return s->n_embd;
    case LEN_FF:
        return s->n_ff;
    case LEN_Q:
        return s->heads * s->head_dim;
    case LEN_KV:
        return s->kv_heads * s->head_dim;
    case LEN_VOCAB:
        return s->vocab;
    case LEN_ONE:
        break;
    }
    return 1;
}

/* The layers whose sensitive tensors get more bits in a "medium" K-quantisation: the first and last
 * eighth and every third between them (llama.cpp, src/llama-quant.cpp). */
static bool more_bits(int64_t layer, int64_t layers) {
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

static tensor_type matrix_type(const model_shape *s, quant q, role r, int64_t layer, int64_t cols) {
    tensor_type t = TENSOR_F16;
    if (q == QUANT_Q8_0) t = TENSOR_Q8_0;
    if (q == QUANT_Q4_0) t = r == ROLE_OUTPUT ? TENSOR_Q6_K : TENSOR_Q4_0;
    if (q == QUANT_Q4_K_M) {
        bool more = r == ROLE_OUTPUT || (r == ROLE_SENSITIVE && more_bits(layer, s->layers));
        t = more ? TENSOR_Q6_K : TENSOR_Q4_K;
    }
    /* a row that blocks of 256 do not fill: llama.cpp's choice of the next larger type of 32 */
    if (cols % TENSOR_FORMATS[t].block_weights) t = t == TENSOR_Q4_K ? TENSOR_Q5_0 : TENSOR_Q8_0;
    assert(cols % TENSOR_FORMATS[t].block_weights == 0);
    return t;
}

bool shape_tensor_at(const model_shape *s, quant q, size_t i, shape_tensor *out) {
    size_t per_layer = s->qkv_bias ? LAYER_N : LAYER_N - BIASES_N;
    size_t in_layers = per_layer * (size_t)s->layers;
    int64_t layer = -1;
    const tensor_row *row;
    if (i == 0) {
        row = s->tied ? &TIED : &EMBEDDING;
    } else if (i <= in_layers) {
        layer = (int64_t)((i - 1) / per_layer);
        row = &LAYER[(i - 1) % per_layer];
    } else if (i == in_layers + 1) {
        row = &OUTPUT_NORM;
    } else if (i == in_layers + 2 && !s->tied) {
        row = &OUTPUT;
    } else {
        return false;
    }
    if (layer >= 0)
        snprintf(out->name, sizeof out->name, "blk.%d.%s", (int)layer, row->name);
    else
        snprintf(out->name, sizeof out->name, "%s", row->name);
    out->cols = length_of(s, row->cols);
    out->rows = length_of(s, row->rows);
    /* norms and biases are never quantised */
    out->type = row->rows == LEN_ONE ? TENSOR_F32 : matrix_type(s, q, row->role, layer, out->cols);
    return true;
}

int64_t shape_tensor_bytes(const shape_tensor *t) {
    const tensor_format *f = &TENSOR_FORMATS[t->type];
    return t->cols / f->block_weights * t->rows * f->block_bytes;
}

int64_t shape_params(const model_shape *s) {
    int64_t sum = 0;
    shape_tensor t;
    for (size_t i = 0; shape_tensor_at(s, QUANT_F16, i, &t); i++) sum += t.cols * t.rows;
    return sum;
}

int64_t shape_weights_bytes(const model_shape *s, quant q) {
    int64_t sum = 0;
    shape_tensor t;
    for (size_t i = 0; shape_tensor_at(s, q, i, &t); i++) sum += shape_tensor_bytes(&t);
    return sum;
}

int64_t shape_kv_bytes_per_tok(const model_shape *s) {
    const int64_t f16_bytes = 2, k_and_v = 2;
    return s->layers * s->kv_heads * s->head_dim * k_and_v * f16_bytes;
}
