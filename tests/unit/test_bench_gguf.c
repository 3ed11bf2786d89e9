/* Written models, read back by a reader of their own: the format from ggml's docs/gguf.md, the
 * blocks from the published descriptions of the quantisations. */
#include "gguf.h"

#include "temp.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

/* Rows of 256 and of 96; 8 layers, of which 0, 3, 6 and 7 get more bits. */
static const model_shape TINY = {.name = "tiny",
                                 .architecture = "qwen2",
                                 .source = "made for tests",
                                 .layers = 8,
                                 .n_embd = 256,
                                 .n_ff = 512,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .head_dim = 64,
                                 .vocab = 300,
                                 .context_train_tok = 1024,
                                 .rope_freq_base = 1e6,
                                 .norm_eps = 1e-6,
                                 .qkv_bias = true};
static const model_shape TIED = {.name = "tiny-tied",
                                 .architecture = "llama",
                                 .source = "made for tests",
                                 .layers = 8,
                                 .n_embd = 96,
                                 .n_ff = 256,
                                 .heads = 3,
                                 .kv_heads = 1,
                                 .head_dim = 32,
                                 .vocab = 300,
                                 .context_train_tok = 2048,
                                 .rope_freq_base = 5e5,
                                 .norm_eps = 1e-5,
                                 .tied = true};

static char dir[TEMP_MAX], path[TEMP_MAX + 16];

static void setup(void) {
    temp_folder(dir, "gguf");
    snprintf(path, sizeof path, "%s/model.gguf", dir);
}

static size_t entries(bool remove_them) {
    DIR *d = opendir(dir);
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(d));) {
        if (entry->d_name[0] == '.') continue;
        n++;
        char full[600];
        snprintf(full, sizeof full, "%s/%s", dir, entry->d_name);
        if (remove_them) remove(full);
    }
    closedir(d);
    return n;
}

static void teardown(void) {
    entries(true);
    rmdir(dir);
}

TestSuite(gguf, .init = setup, .fini = teardown);

/* ---- the reader ---- */

typedef struct reader {
    uint8_t *bytes;
    size_t len, at;
} reader;

static reader load(void) {
    reader r = {0};
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f);
    struct stat st;
    cr_assert_eq(fstat(fileno(f), &st), 0);
    r.len = (size_t)st.st_size;
    r.bytes = malloc(r.len);
    cr_assert_eq(fread(r.bytes, 1, r.len, f), r.len);
    fclose(f);
    return r;
}

static uint64_t number(reader *r, size_t n) {
    uint64_t v = 0;
    cr_assert_leq(r->at + n, r->len);
    for (size_t i = 0; i < n; i++) v |= (uint64_t)r->bytes[r->at + i] << (8 * i);
    r->at += n;
    return v;
}

static float real(reader *r) {
    uint32_t bits = (uint32_t)number(r, 4);
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void string(reader *r, char *out, size_t cap) {
    uint64_t n = number(r, 8);
    cr_assert_lt(n, cap);
    cr_assert_leq(r->at + n, r->len);
    memcpy(out, r->bytes + r->at, n);
    out[n] = '\0';
    r->at += n;
}

/* Sizes of the value types by their numbers; 0: string (8) and array (9). */
static const size_t VALUE_BYTES[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

static void skip_value(reader *r, uint64_t type) {
    char text[256];
    cr_assert_lt(type, sizeof VALUE_BYTES / sizeof *VALUE_BYTES);
    if (type == 8) {
        string(r, text, sizeof text);
    } else if (type == 9) {
        uint64_t of = number(r, 4), n = number(r, 8);
        cr_assert_neq(of, 9);
        for (uint64_t i = 0; i < n; i++) skip_value(r, of);
    } else {
        r->at += VALUE_BYTES[type];
    }
}

typedef struct info {
    char name[64];
    uint64_t type, offset, cols, rows;
} info;

typedef struct model {
    reader r;
    uint64_t keys, tensors_n;
    size_t keys_at, data_at;
    info tensors[256];
} model;

static void read_infos(model *m) {
    reader *r = &m->r;
    for (uint64_t i = 0; i < m->tensors_n; i++) {
        info *t = &m->tensors[i];
        string(r, t->name, sizeof t->name);
        uint64_t dims = number(r, 4);
        cr_assert(dims == 1 || dims == 2);
        t->cols = number(r, 8);
        t->rows = dims == 2 ? number(r, 8) : 1;
        t->type = number(r, 4);
        t->offset = number(r, 8);
    }
}

static model *read_model(void) {
    model *m = calloc(1, sizeof *m);
    m->r = load();
    cr_assert_eq(number(&m->r, 4), 0x46554747, "the letters GGUF");
    cr_assert_eq(number(&m->r, 4), 3, "version");
    m->tensors_n = number(&m->r, 8);
    m->keys = number(&m->r, 8);
    cr_assert_leq(m->tensors_n, 256);
    m->keys_at = m->r.at;
    for (uint64_t i = 0; i < m->keys; i++) {
        char key[64];
        string(&m->r, key, sizeof key);
        skip_value(&m->r, number(&m->r, 4));
    }
    read_infos(m);
    m->data_at = (m->r.at + 31) / 32 * 32;
    return m;
}

static void free_model(model *m) {
    free(m->r.bytes);
    free(m);
}

/* Places the reader at the value of a key and returns its type. */
static uint64_t find(model *m, const char *wanted) {
    m->r.at = m->keys_at;
    for (uint64_t i = 0; i < m->keys; i++) {
        char key[64];
        string(&m->r, key, sizeof key);
        uint64_t type = number(&m->r, 4);
        if (strcmp(key, wanted) == 0) return type;
        skip_value(&m->r, type);
    }
    cr_assert_fail("no key %s", wanted);
    return 0;
}

static void has_u32(model *m, const char *key, uint64_t want) {
    cr_expect_eq(find(m, key), 4, "%s", key);
    uint64_t got = number(&m->r, 4);
    cr_expect_eq(got, want, "%s is %llu", key, (unsigned long long)got);
}

static void has_f32(model *m, const char *key, double want) {
    cr_expect_eq(find(m, key), 6, "%s", key);
    cr_expect_float_eq((double)real(&m->r), want, want * 1e-7, "%s", key);
}

static void has_string(model *m, const char *key, const char *want) {
    char got[256];
    cr_expect_eq(find(m, key), 8, "%s", key);
    string(&m->r, got, sizeof got);
    cr_expect_str_eq(got, want, "%s", key);
}

static void array(model *m, const char *key, uint64_t of, uint64_t n) {
    cr_assert_eq(find(m, key), 9, "%s", key);
    cr_assert_eq(number(&m->r, 4), of, "%s", key);
    cr_assert_eq(number(&m->r, 8), n, "%s", key);
}

/* ---- the blocks ---- */

static float half(const uint8_t *b) {
    unsigned bits = (unsigned)b[0] | (unsigned)b[1] << 8;
    int exponent = bits >> 10 & 31;
    float fraction = (float)(bits & 1023);
    float v = exponent == 0    ? ldexpf(fraction, -24)
              : exponent == 31 ? (fraction > 0 ? NAN : INFINITY)
                               : ldexpf(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -v : v;
}

static void block_f32(const uint8_t *b, float *w) {
    uint32_t bits =
        (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    memcpy(w, &bits, sizeof *w);
}

static void block_f16(const uint8_t *b, float *w) {
    *w = half(b);
}

/* The low halves of 16 bytes are weights 0 to 15, the high halves 16 to 31. */
static void block_q4_0(const uint8_t *b, float *w) {
    for (int i = 0; i < 16; i++) {
        w[i] = half(b) * (float)((b[2 + i] & 15) - 8);
        w[i + 16] = half(b) * (float)((b[2 + i] >> 4) - 8);
    }
}

/* As Q4_0, with bit i of a 32-bit word as the fifth bit of weight i. */
static void block_q5_0(const uint8_t *b, float *w) {
    for (int i = 0; i < 32; i++) {
        int fifth = b[2 + i / 8] >> (i % 8) & 1;
        int low = b[6 + i % 16] >> (i < 16 ? 0 : 4) & 15;
        w[i] = half(b) * (float)((low | fifth << 4) - 16);
    }
}

static void block_q8_0(const uint8_t *b, float *w) {
    for (int i = 0; i < 32; i++) {
        cr_assert_neq(b[2 + i], 0x80, "-128 is in no file that was quantised");
        w[i] = half(b) * (float)(int8_t)b[2 + i];
    }
}

/* Eight groups of 32. Group 2k is in the low halves of bytes 32k to 32k + 31, 2k + 1 in the high
 * ones. 6-bit scales and mins: of groups 0 to 3 in bytes 0 to 3 and 4 to 7; of 4 to 7 the low bits
 * in the halves of bytes 8 to 11 and the two high bits on top of those of groups 0 to 3. */
static void block_q4_k(const uint8_t *b, float *w) {
    const uint8_t *packed = b + 4, *quants = b + 16;
    for (int g = 0; g < 8; g++) {
        int scale = packed[g % 4] & 63, min = packed[g % 4 + 4] & 63;
        if (g >= 4) {
            scale = (packed[g + 4] & 15) | packed[g - 4] >> 6 << 4;
            min = packed[g + 4] >> 4 | packed[g] >> 6 << 4;
        }
        for (int i = 0; i < 32; i++) {
            int q = quants[g / 2 * 32 + i] >> (g % 2 * 4) & 15;
            w[g * 32 + i] = half(b) * (float)(scale * q) - half(b + 2) * (float)min;
        }
    }
}

/* Two halves of 128 weights, each in four groups of 32: low four bits in 64 bytes (groups 0 and 1
 * in the low halves, 2 and 3 in the high ones), two more bits in 32 bytes; a scale every 16
 * weights. */
static void block_q6_k(const uint8_t *b, float *w) {
    for (int i = 0; i < 256; i++) {
        int part = i / 128, group = i % 128 / 32, l = i % 32;
        int low = b[part * 64 + group % 2 * 32 + l] >> (group / 2 * 4) & 15;
        int high = b[128 + part * 32 + l] >> (group * 2) & 3;
        w[i] = half(b + 208) * (float)(int8_t)b[192 + i / 16] * (float)((low | high << 4) - 32);
    }
}

typedef struct block_format {
    uint64_t id, weights, bytes;
    void (*read)(const uint8_t *b, float *w);
} block_format;

static const block_format FORMATS[] = {
    {0, 1, 4, block_f32},       {1, 1, 2, block_f16},    {2, 32, 18, block_q4_0},
    {6, 32, 22, block_q5_0},    {8, 32, 34, block_q8_0}, {12, 256, 144, block_q4_k},
    {14, 256, 210, block_q6_k},
};

static const block_format *format_of(uint64_t id) {
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        if (FORMATS[i].id == id) return &FORMATS[i];
    cr_assert_fail("type %llu", (unsigned long long)id);
    return NULL;
}

static uint64_t bytes_of(const info *t) {
    const block_format *f = format_of(t->type);
    cr_assert_eq(t->cols % f->weights, 0, "%s: rows of whole blocks", t->name);
    return t->cols / f->weights * t->rows * f->bytes;
}

/* ---- tests ---- */

static void write_seed(const model_shape *s, quant q, uint64_t seed) {
    err e = {0};
    cr_assert_eq(gguf_write(path, s, q, seed, NULL, NULL, &e), OK, "%s: %s", e.where, e.what);
    cr_assert_eq(entries(false), 1, "nothing but the model");
}

/* Tensors one behind the other, each at its next multiple of 32, and the file ends with the last.
 */
static void check_layout(const model *m, const model_shape *s, quant q) {
    uint64_t end = 0, sum = 0, params = 0;
    for (uint64_t i = 0; i < m->tensors_n; i++) {
        const info *t = &m->tensors[i];
        cr_expect_eq(t->offset, end, "%s starts at %llu", t->name, (unsigned long long)t->offset);
        cr_expect_eq(t->offset % 32, 0);
        sum += bytes_of(t);
        params += t->cols * t->rows;
        end = (t->offset + bytes_of(t) + 31) / 32 * 32;
    }
    cr_expect_eq(m->r.len, m->data_at + end);
    cr_expect_eq((int64_t)m->r.len, gguf_file_bytes(s, q, 7));
    cr_expect_eq((int64_t)sum, shape_weights_bytes(s, q));
    cr_expect_eq((int64_t)params, shape_params(s));
}

/* Finite, below 0.1, not all zero in any block; the spread of a matrix is 0.02 and its mean is 0 to
 * the accuracy that blocks of one scale leave. */
static void check_matrix(const model *m, const info *t) {
    const block_format *f = format_of(t->type);
    uint64_t blocks = bytes_of(t) / f->bytes;
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < blocks; i++) {
        float w[256];
        bool zero = true;
        f->read(m->r.bytes + m->data_at + t->offset + i * f->bytes, w);
        for (uint64_t j = 0; j < f->weights; j++) {
            cr_assert(isfinite(w[j]) && fabsf(w[j]) < 0.1F, "%s: %g", t->name, (double)w[j]);
            zero = zero && w[j] == 0.0F;
            sum += (double)w[j];
            squares += (double)w[j] * (double)w[j];
        }
        cr_assert_not(zero, "%s: block %llu", t->name, (unsigned long long)i);
    }
    double n = (double)(blocks * f->weights);
    /* a block has a scale of its own, so it is the blocks that count */
    double off = 0.02 * (0.01 + 1 / sqrt((double)blocks));
    cr_expect_float_eq(sqrt(squares / n), 0.02, off, "%s: %g", t->name, sqrt(squares / n));
    cr_expect_lt(fabs(sum / n), 0.02 * (0.01 + 5 / sqrt(n)), "%s: %g", t->name, sum / n);
}

static void check_vector(const model *m, const info *t) {
    bool norm = strstr(t->name, "norm") != NULL;
    for (uint64_t i = 0; i < t->cols; i++) {
        float w;
        block_f32(m->r.bytes + m->data_at + t->offset + 4 * i, &w);
        if (norm)
            cr_assert_eq(w, 1.0F, "%s", t->name);
        else
            cr_assert(isfinite(w) && fabsf(w) < 0.1F && w != 0.0F, "%s: %g", t->name, (double)w);
    }
}

Test(gguf, every_tensor_of_every_quantisation_reads_back) {
    const model_shape *const shapes[] = {&TINY, &TIED};
    for (size_t i = 0; i < 2; i++)
        for (quant q = QUANT_F16; q < QUANT_N; q++) {
            write_seed(shapes[i], q, 7);
            model *m = read_model();
            check_layout(m, shapes[i], q);
            for (uint64_t k = 0; k < m->tensors_n; k++)
                if (m->tensors[k].rows > 1)
                    check_matrix(m, &m->tensors[k]);
                else
                    check_vector(m, &m->tensors[k]);
            free_model(m);
        }
}

static uint64_t type_of(const model *m, const char *name) {
    for (uint64_t i = 0; i < m->tensors_n; i++)
        if (strcmp(m->tensors[i].name, name) == 0) return m->tensors[i].type;
    cr_assert_fail("no tensor %s", name);
    return 0;
}

Test(gguf, types_of_q4_k_m) {
    enum { Q5_0 = 6, Q8_0 = 8, Q4_K = 12, Q6_K = 14 };
    write_seed(&TINY, QUANT_Q4_K_M, 7);
    model *m = read_model();
    cr_expect_eq(type_of(m, "token_embd.weight"), Q4_K);
    cr_expect_eq(type_of(m, "output.weight"), Q6_K);
    cr_expect_eq(type_of(m, "blk.0.attn_v.weight"), Q6_K);
    cr_expect_eq(type_of(m, "blk.1.ffn_down.weight"), Q4_K);
    cr_expect_eq(type_of(m, "blk.3.ffn_down.weight"), Q6_K);
    cr_expect_eq(type_of(m, "blk.5.attn_v.weight"), Q4_K);
    cr_expect_eq(type_of(m, "blk.7.attn_q.weight"), Q4_K);
    free_model(m);
    write_seed(&TIED, QUANT_Q4_K_M, 7);
    m = read_model();
    cr_expect_eq(type_of(m, "token_embd.weight"), Q8_0);
    cr_expect_eq(type_of(m, "blk.0.attn_v.weight"), Q8_0);
    cr_expect_eq(type_of(m, "blk.1.attn_v.weight"), Q5_0);
    cr_expect_eq(type_of(m, "blk.1.ffn_down.weight"), Q4_K);
    free_model(m);
}

Test(gguf, metadata) {
    write_seed(&TINY, QUANT_Q4_K_M, 7);
    model *m = read_model();
    has_string(m, "general.architecture", "qwen2");
    has_string(m, "general.name", "tiny synthetic");
    has_string(m, "general.description", "random weights, seed 7, in the shape of tiny");
    has_u32(m, "general.file_type", 15);
    has_u32(m, "general.quantization_version", 2);
    has_u32(m, "qwen2.block_count", 8);
    has_u32(m, "qwen2.context_length", 1024);
    has_u32(m, "qwen2.embedding_length", 256);
    has_u32(m, "qwen2.feed_forward_length", 512);
    has_u32(m, "qwen2.attention.head_count", 4);
    has_u32(m, "qwen2.attention.head_count_kv", 2);
    has_f32(m, "qwen2.attention.layer_norm_rms_epsilon", 1e-6);
    has_f32(m, "qwen2.rope.freq_base", 1e6);
    has_u32(m, "qwen2.vocab_size", 300);
    has_string(m, "tokenizer.ggml.model", "llama");
    has_u32(m, "tokenizer.ggml.bos_token_id", 1);
    has_u32(m, "tokenizer.ggml.eos_token_id", 2);
    free_model(m);
}

Test(gguf, vocabulary) {
    static char tokens[300][32];
    write_seed(&TIED, QUANT_Q8_0, 7);
    model *m = read_model();
    array(m, "tokenizer.ggml.tokens", 8, 300);
    for (int i = 0; i < 300; i++) string(&m->r, tokens[i], sizeof tokens[i]);
    cr_expect_str_eq(tokens[0], "<unk>");
    cr_expect_str_eq(tokens[2], "</s>");
    cr_expect_str_eq(tokens[3 + 'A'], "<0x41>");
    cr_expect_str_eq(tokens[259], "\u2581");
    cr_expect_str_eq(tokens[299], "\u2581w299");
    for (int a = 0; a < 300; a++)
        for (int b = 0; b < a; b++) cr_assert_str_neq(tokens[a], tokens[b]);
    array(m, "tokenizer.ggml.scores", 6, 300);
    for (int i = 0; i < 300; i++) cr_assert(isfinite(real(&m->r)));
    array(m, "tokenizer.ggml.token_type", 5, 300);
    for (int i = 0; i < 300; i++) {
        /* unknown, control, bytes, words; bytes above ASCII are words, so that what comes out is
         * UTF-8 */
        uint64_t want = i == 0 ? 2 : i < 3 ? 3 : i < 3 + 128 ? 6 : 1;
        cr_assert_eq(number(&m->r, 4), want, "token %d", i);
    }
    free_model(m);
}

static size_t differing(const reader *a, const reader *b, size_t from) {
    size_t n = 0;
    for (size_t i = from; i < a->len; i++) n += a->bytes[i] != b->bytes[i];
    return n;
}

Test(gguf, same_seed_same_bytes_other_seed_other_bytes) {
    write_seed(&TINY, QUANT_Q4_0, 7);
    model *a = read_model();
    write_seed(&TINY, QUANT_Q4_0, 7);
    reader b = load();
    cr_assert_eq(a->r.len, b.len);
    cr_expect_eq(memcmp(a->r.bytes, b.bytes, b.len), 0);
    free(b.bytes);
    write_seed(&TINY, QUANT_Q4_0, 8);
    b = load();
    cr_assert_eq(a->r.len, b.len);
    size_t data = b.len - a->data_at, other = differing(&a->r, &b, a->data_at);
    cr_expect_gt(other, data * 9 / 10, "%zu of %zu bytes differ", other, data);
    free(b.bytes);
    free_model(a);
}

/* Larger than a piece of the writer, which must not show: no 64 bytes come twice. */
Test(gguf, nothing_repeats) {
    model_shape s = TINY;
    s.layers = 1;
    s.vocab = 70000; /* 9.5 MB of Q4_0 */
    write_seed(&s, QUANT_Q4_0, 7);
    model *m = read_model();
    check_matrix(m, &m->tensors[0]);
    const uint8_t *data = m->r.bytes + m->data_at;
    size_t bytes = bytes_of(&m->tensors[0]), n = bytes / 64;
    uint64_t *first = calloc(1 << 20, sizeof *first);
    for (size_t i = 0; i < n; i++) {
        uint64_t words[8], hash = 0;
        memcpy(words, data + 64 * i, sizeof words);
        for (int k = 0; k < 8; k++) hash = (hash ^ words[k]) * 0x9E3779B97F4A7C15;
        size_t slot = hash >> 44;
        while (first[slot] && memcmp(data + 64 * (first[slot] - 1), words, 64) != 0)
            slot = (slot + 1) % (1 << 20);
        cr_assert_eq(first[slot], 0, "bytes at %zu are those at %zu", 64 * i,
                     64 * ((size_t)first[slot] - 1));
        first[slot] = i + 1;
    }
    free(first);
    free_model(m);
}

typedef struct calls {
    int n;
    int64_t last, all;
    int stop_at;
} calls;

static bool count_calls(int64_t done, int64_t all, void *arg) {
    calls *c = arg;
    cr_assert_gt(done, c->last);
    c->n++;
    c->last = done;
    c->all = all;
    return c->n != c->stop_at;
}

Test(gguf, progress_ends_at_all_bytes) {
    calls c = {0};
    err e = {0};
    cr_assert_eq(gguf_write(path, &TINY, QUANT_F16, 7, count_calls, &c, &e), OK);
    cr_expect_gt(c.n, 1);
    cr_expect_eq(c.last, c.all);
    cr_expect_eq(c.all, gguf_file_bytes(&TINY, QUANT_F16, 7));
}

Test(gguf, stopped_by_progress_leaves_what_was_there) {
    calls c = {.stop_at = 5};
    err e = {0};
    write_seed(&TINY, QUANT_F16, 7);
    reader before = load();
    cr_expect_eq(gguf_write(path, &TINY, QUANT_F16, 8, count_calls, &c, &e), E_EXTERN);
    cr_expect_not_null(strstr(e.what, "interrupted"));
    cr_expect_eq(entries(false), 1);
    reader after = load();
    cr_expect(before.len == after.len && memcmp(before.bytes, after.bytes, after.len) == 0);
    free(before.bytes);
    free(after.bytes);
}

/* As a full disk, but for the reason. */
Test(gguf, failed_write_is_told_and_leaves_nothing) {
    struct rlimit was, now;
    err e = {0};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
    now = was;
    now.rlim_cur = 500000;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &now), 0);
    err_code code = gguf_write(path, &TINY, QUANT_F16, 7, NULL, NULL, &e);
    setrlimit(RLIMIT_FSIZE, &was);
    cr_expect_eq(code, E_IO);
    cr_expect_str_eq(e.where, path);
    cr_expect_not_null(strstr(e.what, "File too large"), "%s", e.what);
    cr_expect_eq(entries(false), 0);
}

/* No file system holds 10^15 bytes. */
Test(gguf, no_room_is_seen_before) {
    model_shape s = TINY;
    s.n_ff = (int64_t)32 << 40;
    err e = {0};
    cr_expect_eq(gguf_write(path, &s, QUANT_F16, 7, NULL, NULL, &e), E_IO);
    cr_expect_not_null(strstr(e.what, "GB free"), "%s", e.what);
    cr_expect_eq(entries(false), 0);
}

Test(gguf, targets_that_cannot_be) {
    err e = {0};
    cr_expect_eq(gguf_write("/dev/null", &TINY, QUANT_F16, 7, NULL, NULL, &e), E_IO);
    e = (err){0};
    cr_expect_eq(gguf_write(dir, &TINY, QUANT_F16, 7, NULL, NULL, &e), E_IO);
    e = (err){0};
    cr_expect_eq(gguf_write("no/such/folder/x.gguf", &TINY, QUANT_F16, 7, NULL, NULL, &e), E_IO);
    cr_expect_not_null(strstr(e.what, "No such file"), "%s", e.what);
}
