#include "probe_pass.h"

#include <string.h>

const char *const PASS_MATRIX_NAMES[] = {"attn_q",   "attn_k", "attn_v",  "attn_output",
                                         "ffn_gate", "ffn_up", "ffn_down"};

enum { PER_LAYER_MAX = 64, LAYERS_MAX = 64, PATTERN_BLOCKS = 1 << 15, ELEMENT_GROUPS_MAX = 1024 };

struct pass {
    gpu *g;
    const model_shape *s;
    weight_kind kind;
    pass_limits limits;
    int64_t layers, outputs;                   /* of a run */
    gpu_buffer *weights, *output, *k, *v;      /* layer by layer */
    gpu_buffer *in, *out, *q, *parts, *scores; /* of one layer; all layers share them */
    size_t matrix_at[PASS_MATRICES_N], layer_bytes, output_bytes, cache_bytes;
};

/* ---- sizes ---- */

err_code pass_weight_kind(quant q, weight_kind *out, err *e) {
    *out = q == QUANT_Q4_0 ? WEIGHT_Q4_0 : WEIGHT_Q8_0;
    if (q == QUANT_Q8_0 || q == QUANT_Q4_0) return OK;
    return err_set(e, E_USAGE, "--quant", "the probe has kernels for q8_0 and q4_0, not for %s",
                   QUANT_NAMES[q]);
}

static linear_args args_of(const model_shape *s, pass_matrix m, int64_t columns) {
    int64_t q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim;
    const int64_t sizes[PASS_MATRICES_N][2] = {
        {q, s->n_embd},       {kv, s->n_embd},      {kv, s->n_embd},     {s->n_embd, q},
        {s->n_ff, s->n_embd}, {s->n_ff, s->n_embd}, {s->n_embd, s->n_ff}};
    return (linear_args){(uint32_t)sizes[m][0], (uint32_t)sizes[m][1], (uint32_t)columns};
}

linear_args pass_matrix_args(const pass *p, pass_matrix m, int64_t columns) {
    return args_of(p->s, m, columns);
}

static size_t matrix_bytes(const model_shape *s, weight_kind kind, pass_matrix m) {
    linear_args a = args_of(s, m, 1);
    return a.rows_n * weight_row_bytes(kind, a.cols_n);
}

/* Offsets of buffers are wanted at multiples of 256 bytes by some devices. */
static size_t aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static void lay_out(pass *p) {
    const model_shape *s = p->s;
    for (int m = 0; m < PASS_MATRICES_N; m++) {
        p->matrix_at[m] = p->layer_bytes;
        p->layer_bytes += aligned(matrix_bytes(s, p->kind, (pass_matrix)m));
    }
    p->output_bytes = aligned((size_t)s->vocab * weight_row_bytes(p->kind, (size_t)s->n_embd));
    p->cache_bytes = aligned((size_t)(p->limits.cache_tok * s->kv_heads * s->head_dim) * 2);
    int64_t layers = p->limits.cycle_bytes / (int64_t)p->layer_bytes + 1;
    int64_t outputs = p->limits.cycle_bytes / (int64_t)p->output_bytes + 1;
    p->layers = layers > s->layers ? s->layers : layers;
    if (p->layers > LAYERS_MAX) p->layers = LAYERS_MAX;
    p->outputs = outputs > 8 ? 8 : outputs;
}

static int64_t widest(const model_shape *s) {
    int64_t q = s->heads * s->head_dim, w = s->n_embd > s->n_ff ? s->n_embd : s->n_ff;
    return w > q ? w : q;
}

static size_t scores_bytes(const pass *p) {
    int64_t keys = (p->limits.prompt_tok + BLOCK_N) / BLOCK_N * BLOCK_N;
    int64_t rows = p->limits.columns_max * (p->s->heads / p->s->kv_heads);
    return (size_t)(rows * keys) * sizeof(float);
}

static size_t parts_bytes(const pass *p) {
    attention_args a = {.heads_n = (uint32_t)p->s->heads,
                        .head_dim = (uint32_t)p->s->head_dim,
                        .parts_n = (uint32_t)attention_parts_most(p->limits.batch_max)};
    return attention_parts_bytes(&a, 1);
}

typedef struct want {
    gpu_buffer **buffer;
    size_t bytes;
} want;

enum { WANTS_N = 9 };

static void list_buffers(pass *p, want w[WANTS_N]) {
    const model_shape *s = p->s;
    size_t columns = (size_t)p->limits.columns_max, wide = (size_t)widest(s);
    size_t logits = (size_t)(p->limits.batch_max * s->vocab);
    size_t out = columns * wide > logits ? columns * wide : logits;
    const want all[WANTS_N] = {{&p->weights, (size_t)p->layers * p->layer_bytes},
                               {&p->output, (size_t)p->outputs * p->output_bytes},
                               {&p->k, (size_t)p->layers * p->cache_bytes},
                               {&p->v, (size_t)p->layers * p->cache_bytes},
                               {&p->in, columns * wide * sizeof(float)},
                               {&p->out, out * sizeof(float)},
                               {&p->q, columns * wide * sizeof(float)},
                               {&p->parts, parts_bytes(p)},
                               {&p->scores, scores_bytes(p)}};
    memcpy(w, all, sizeof all);
}

err_code pass_bytes(const model_shape *s, weight_kind kind, const pass_limits *l, int64_t *out,
                    err *e) {
    pass p = {.s = s, .kind = kind, .limits = *l};
    want w[WANTS_N];
    if ((s->head_dim != 64 && s->head_dim != 128) || s->heads % s->kv_heads ||
        s->heads / s->kv_heads > ATTENTION_RATIO_MAX)
        return err_set(e, E_USAGE, "--shape",
                       "%s has heads that the probe has no kernel for: expected 64 or 128 values, "
                       "and at most %d query heads a KV head",
                       s->name, ATTENTION_RATIO_MAX);
    lay_out(&p);
    list_buffers(&p, w);
    *out = 0;
    for (size_t i = 0; i < WANTS_N; i++) *out += (int64_t)w[i].bytes;
    return OK;
}

/* ---- buffers ---- */

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 24;
}

/* Blocks of random bytes with a scale of their own; never zeros, which take less power. One stretch
 * again and again: no cache sees that two addresses hold the same. */
static void fill_weights(gpu_buffer *b, weight_kind kind) {
    unsigned char *to = gpu_buffer_contents(b);
    size_t block = weight_row_bytes(kind, BLOCK_N), n = gpu_buffer_bytes(b);
    size_t pattern = block * PATTERN_BLOCKS < n ? block * PATTERN_BLOCKS : n;
    uint64_t random = 1;
    for (size_t i = 0; i < pattern; i++) to[i] = (unsigned char)(next_random(&random) | 1);
    for (size_t i = 0; i + 2 <= pattern; i += block) {
        uint16_t scale = (uint16_t)(0x1800 | (next_random(&random) & 0x3ff)); /* 2^-9 to 2^-8 */
        memcpy(to + i, &scale, sizeof scale);
    }
    for (size_t i = pattern; i < n; i += pattern)
        memcpy(to + i, to, n - i < pattern ? n - i : pattern);
}

/* 2^-3 to 2^-2, both signs: halves, or floats. */
static void fill_halves(gpu_buffer *b) {
    uint16_t *to = gpu_buffer_contents(b);
    uint64_t random = 2;
    for (size_t i = 0; i < gpu_buffer_bytes(b) / 2; i++)
        to[i] = (uint16_t)(0x3000 | (next_random(&random) & 0x83ff));
}

static void fill_floats(gpu_buffer *b) {
    float *to = gpu_buffer_contents(b);
    uint64_t random = 3;
    for (size_t i = 0; i < gpu_buffer_bytes(b) / sizeof *to; i++)
        to[i] = (float)half_value((uint16_t)(0x3000 | (next_random(&random) & 0x83ff)));
}

err_code pass_new(gpu *g, const model_shape *s, weight_kind kind, const pass_limits *l, arena *mem,
                  pass **out, err *e) {
    pass *p = ARENA_NEW(mem, pass);
    want w[WANTS_N];
    if (!p) return err_set(e, E_LIMIT, "probe", "does not fit the memory budget");
    *p = (pass){.g = g, .s = s, .kind = kind, .limits = *l};
    lay_out(p);
    list_buffers(p, w);
    *out = p;
    for (size_t i = 0; i < WANTS_N; i++)
        if (!(*w[i].buffer = gpu_buffer_new(g, w[i].bytes, e))) return e->code;
    fill_weights(p->weights, kind);
    fill_weights(p->output, kind);
    fill_halves(p->k);
    fill_halves(p->v);
    fill_floats(p->in);
    fill_floats(p->q);
    fill_floats(p->out);
    return OK;
}

void pass_free(pass *p) {
    want w[WANTS_N];
    if (!p) return;
    list_buffers(p, w);
    for (size_t i = 0; i < WANTS_N; i++) gpu_buffer_free(*w[i].buffer);
}

int64_t pass_layers(const pass *p) {
    return p->layers;
}

/* ---- a list of dispatches ---- */

typedef struct builder {
    pass *p;
    arena *mem;
    dispatches *out;
    linear_by by;
    int64_t columns;
    err *e;
} builder;

static gpu_dispatch *next(builder *b) {
    static gpu_dispatch spill[2]; /* after an error; never run */
    return b->e->code ? spill : &b->out->d[b->out->n];
}

static err_code start(pass *p, linear_by by, int64_t columns, size_t per_layer, int64_t layers,
                      arena *mem, dispatches *out, builder *b, err *e) {
    *out = (dispatches){.layers_n = layers};
    *b = (builder){.p = p, .mem = mem, .out = out, .by = by, .columns = columns, .e = e};
    out->d = ARENA_ARRAY(mem, gpu_dispatch, per_layer * (size_t)layers);
    return out->d ? OK : err_set(e, E_LIMIT, "probe", "does not fit the memory budget");
}

static void add_matrix(builder *b, pass_matrix m, int64_t layer) {
    pass *p = b->p;
    linear_args a = args_of(p->s, m, b->columns);
    size_t at = (size_t)layer * p->layer_bytes + p->matrix_at[m];
    if (!launch_linear(p->g, p->kind, b->by, (slice){p->weights, at}, (slice){p->in, 0},
                       (slice){p->out, 0}, &a, b->mem, next(b), b->e))
        b->out->n++;
}

/* n floats a token, read once and written once. */
static void add_elements(builder *b, int64_t n) {
    int64_t vectors = b->columns * n / 4, groups = LINEAR_GROUPS(vectors, STREAM_GROUP_N);
    if (groups > ELEMENT_GROUPS_MAX) groups = ELEMENT_GROUPS_MAX;
    if (!launch_stream(b->p->g, "copy_bandwidth", (slice){b->p->in, 0}, (slice){b->p->out, 0},
                       vectors, groups, b->mem, next(b), b->e))
        b->out->n++;
}

static attention_args attention_of(const pass *p, int64_t context_tok, int64_t sequences) {
    return (attention_args){.heads_n = (uint32_t)p->s->heads,
                            .kv_heads_n = (uint32_t)p->s->kv_heads,
                            .head_dim = (uint32_t)p->s->head_dim,
                            .keys_n = (uint32_t)context_tok,
                            .parts_n = attention_parts(context_tok, sequences),
                            .scale = 0.125f};
}

static void add_attention(builder *b, int64_t context_tok, int64_t layer) {
    pass *p = b->p;
    attention_args a = attention_of(p, context_tok, b->columns);
    size_t at = (size_t)layer * p->cache_bytes;
    if (!launch_attention(p->g, (slice){p->q, 0}, (slice){p->k, at}, (slice){p->v, at},
                          (slice){p->parts, 0}, (slice){p->out, 0}, &a, b->columns, b->mem, next(b),
                          b->e))
        b->out->n += 2;
}

/* Scores, weights, values; K and the transposed V stand where a matrix of halves would. */
static void add_prompt_attention(builder *b, int64_t depth_tok, int64_t layer) {
    pass *p = b->p;
    int64_t ratio = p->s->heads / p->s->kv_heads, dim = p->s->head_dim;
    int64_t keys = LINEAR_GROUPS(depth_tok + b->columns, BLOCK_N) * BLOCK_N;
    uint32_t rows = (uint32_t)(b->columns * ratio);
    linear_args scores = {(uint32_t)keys, (uint32_t)dim, rows};
    linear_args values = {(uint32_t)dim, (uint32_t)keys, rows};
    softmax_args softmax = {(uint32_t)keys, (uint32_t)ratio, (uint32_t)depth_tok, 0.125f};
    for (int64_t h = 0; h < p->s->kv_heads; h++) {
        size_t at = (size_t)layer * p->cache_bytes + (size_t)(h * keys * dim) * 2;
        slice q = {p->q, (size_t)(h * (int64_t)rows * dim) * sizeof(float)}, s = {p->scores, 0};
        if (!launch_linear(p->g, WEIGHT_F16, LINEAR_MATRIX, (slice){p->k, at}, q, s, &scores,
                           b->mem, next(b), b->e))
            b->out->n++;
        if (!launch_softmax(p->g, s, rows, &softmax, b->mem, next(b), b->e)) b->out->n++;
        if (!launch_linear(p->g, WEIGHT_F16, LINEAR_MATRIX, (slice){p->v, at}, s,
                           (slice){p->out, 0}, &values, b->mem, next(b), b->e))
            b->out->n++;
    }
}

static void add_layer(builder *b, int64_t layer, int64_t keys, bool prompt) {
    const model_shape *s = b->p->s;
    add_elements(b, s->n_embd); /* norm */
    add_matrix(b, PASS_Q, layer);
    add_matrix(b, PASS_K, layer);
    add_matrix(b, PASS_V, layer);
    add_elements(b, s->heads * s->head_dim);    /* rotary, queries */
    add_elements(b, s->kv_heads * s->head_dim); /* rotary, keys */
    add_elements(b, s->kv_heads * s->head_dim); /* K and V into the cache */
    if (prompt)
        add_prompt_attention(b, keys, layer);
    else
        add_attention(b, keys, layer);
    add_matrix(b, PASS_O, layer);
    add_elements(b, s->n_embd); /* residual */
    add_elements(b, s->n_embd); /* norm */
    add_matrix(b, PASS_GATE, layer);
    add_matrix(b, PASS_UP, layer);
    add_elements(b, s->n_ff); /* activation, product */
    add_matrix(b, PASS_DOWN, layer);
    add_elements(b, s->n_embd); /* residual */
}

err_code pass_decode(pass *p, int64_t batch, int64_t context_tok, linear_by by, arena *mem,
                     dispatches *out, err *e) {
    builder b;
    if (start(p, by, batch, PER_LAYER_MAX, p->layers, mem, out, &b, e)) return e->code;
    for (int64_t l = 0; l < p->layers; l++) add_layer(&b, l, context_tok, false);
    return e->code;
}

err_code pass_prefill(pass *p, int64_t n, int64_t depth_tok, linear_by by, arena *mem,
                      dispatches *out, err *e) {
    builder b;
    size_t most = PER_LAYER_MAX + 3 * (size_t)p->s->kv_heads;
    if (start(p, by, n, most, p->layers, mem, out, &b, e)) return e->code;
    for (int64_t l = 0; l < p->layers; l++) add_layer(&b, l, depth_tok, true);
    return e->code;
}

err_code pass_output(pass *p, int64_t columns, linear_by by, arena *mem, dispatches *out, err *e) {
    builder b;
    linear_args a = {(uint32_t)p->s->vocab, (uint32_t)p->s->n_embd, (uint32_t)columns};
    if (start(p, by, columns, 1, p->outputs, mem, out, &b, e)) return e->code;
    for (int64_t i = 0; i < p->outputs; i++)
        if (!launch_linear(p->g, p->kind, by, (slice){p->output, (size_t)i * p->output_bytes},
                           (slice){p->in, 0}, (slice){p->out, 0}, &a, mem, next(&b), e))
            out->n++;
    return e->code;
}

err_code pass_one_matrix(pass *p, pass_matrix m, int64_t columns, linear_by by, arena *mem,
                         dispatches *out, err *e) {
    builder b;
    if (start(p, by, columns, 1, p->layers, mem, out, &b, e)) return e->code;
    for (int64_t l = 0; l < p->layers; l++) add_matrix(&b, m, l);
    return e->code;
}

err_code pass_attention(pass *p, int64_t batch, int64_t context_tok, arena *mem, dispatches *out,
                        err *e) {
    builder b;
    if (start(p, LINEAR_1, batch, 2, p->layers, mem, out, &b, e)) return e->code;
    for (int64_t l = 0; l < p->layers; l++) add_attention(&b, context_tok, l);
    return e->code;
}
