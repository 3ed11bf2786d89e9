#include "gguf.h"

#include "weights.h"

#include "base/buf.h"
#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* The format: ggml's docs/gguf.md. Everything is little-endian; data starts, and each tensor of it
 * starts, at a multiple of ALIGNMENT. */
enum { VERSION = 3, ALIGNMENT = 32, PIECE_BYTES = 4 << 20 };

typedef enum value_type {
    VALUE_U32 = 4,
    VALUE_I32 = 5,
    VALUE_F32 = 6,
    VALUE_BOOL = 7,
    VALUE_STRING = 8,
    VALUE_ARRAY = 9
} value_type;

static void put(buf *b, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) {
        char c = (char)(v >> (8 * i) & 0xFF);
        buf_add_n(b, &c, 1);
    }
}

static void put_f32(buf *b, double v) {
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    put(b, bits, 4);
}

static void put_string(buf *b, const char *s) {
    put(b, strlen(s), 8);
    buf_add(b, s);
}

/* The metadata and how many keys it has. */
typedef struct metadata {
    buf text;
    uint64_t keys;
    const char *architecture;
} metadata;

/* A key that starts with a dot belongs to the architecture. */
static buf *key(metadata *m, const char *name, value_type type) {
    char full[96];
    snprintf(full, sizeof full, "%s%s", name[0] == '.' ? m->architecture : "", name);
    put_string(&m->text, full);
    put(&m->text, type, 4);
    m->keys++;
    return &m->text;
}

static void key_u32(metadata *m, const char *name, int64_t v) {
    put(key(m, name, VALUE_U32), (uint64_t)v, 4);
}

static void key_f32(metadata *m, const char *name, double v) {
    put_f32(key(m, name, VALUE_F32), v);
}

static void key_bool(metadata *m, const char *name, bool v) {
    put(key(m, name, VALUE_BOOL), v, 1);
}

static void key_string(metadata *m, const char *name, const char *v) {
    put_string(key(m, name, VALUE_STRING), v);
}

static buf *key_array(metadata *m, const char *name, value_type of, int64_t n) {
    buf *b = key(m, name, VALUE_ARRAY);
    put(b, of, 4);
    put(b, (uint64_t)n, 8);
    return b;
}

/* Kinds of tokens in a GGUF. */
enum { TOKEN_NORMAL = 1, TOKEN_UNKNOWN = 2, TOKEN_CONTROL = 3, TOKEN_BYTE = 6 };
/* The dummy vocabulary, see gguf.h. */
enum { TOKEN_UNK = 0, TOKEN_BOS = 1, TOKEN_EOS = 2, TOKEN_BYTES = 3, TOKEN_BLANK = 259 };

static void token_text(int64_t id, char out[32]) {
    static const char *const SPECIAL[] = {"<unk>", "<s>", "</s>"};
    if (id < TOKEN_BYTES)
        snprintf(out, 32, "%s", SPECIAL[id]);
    else if (id < TOKEN_BLANK)
        snprintf(out, 32, "<0x%02X>", (unsigned)(id - TOKEN_BYTES));
    else if (id == TOKEN_BLANK)
        snprintf(out, 32, "\xE2\x96\x81"); /* how SentencePiece writes it */
    else
        snprintf(out, 32, "\xE2\x96\x81w%" PRId64, id);
}

static int token_kind(int64_t id) {
    if (id == TOKEN_UNK) return TOKEN_UNKNOWN;
    if (id < TOKEN_BYTES) return TOKEN_CONTROL;
    /* Bytes above ASCII are words that look like bytes: text costs the same, and what random
     * weights say stays UTF-8, which llama-server insists on. */
    return id < TOKEN_BYTES + 0x80 ? TOKEN_BYTE : TOKEN_NORMAL;
}

/* A SentencePiece vocabulary, since that kind needs no merges. */
static void vocabulary(metadata *m, int64_t n) {
    key_string(m, "tokenizer.ggml.model", "llama");
    key_string(m, "tokenizer.ggml.pre", "default");
    buf *b = key_array(m, "tokenizer.ggml.tokens", VALUE_STRING, n);
    for (int64_t id = 0; id < n; id++) {
        char text[32];
        token_text(id, text);
        put_string(b, text);
    }
    b = key_array(m, "tokenizer.ggml.scores", VALUE_F32, n);
    for (int64_t id = 0; id < n; id++) put_f32(b, id < TOKEN_BLANK ? 0 : (double)-id);
    b = key_array(m, "tokenizer.ggml.token_type", VALUE_I32, n);
    for (int64_t id = 0; id < n; id++) put(b, (uint64_t)token_kind(id), 4);
    key_u32(m, "tokenizer.ggml.bos_token_id", TOKEN_BOS);
    key_u32(m, "tokenizer.ggml.eos_token_id", TOKEN_EOS);
    key_u32(m, "tokenizer.ggml.unknown_token_id", TOKEN_UNK);
    key_bool(m, "tokenizer.ggml.add_bos_token", false);
    key_bool(m, "tokenizer.ggml.add_eos_token", false);
    key_bool(m, "tokenizer.ggml.add_space_prefix", false);
}

static void describe(metadata *m, const model_shape *s, quant q, uint64_t seed) {
    static const int FILE_TYPES[] = {
        [QUANT_F16] = 1, [QUANT_Q8_0] = 7, [QUANT_Q4_0] = 2, [QUANT_Q4_K_M] = 15};
    char text[160];
    key_string(m, "general.architecture", s->architecture);
    key_string(m, "general.type", "model");
    snprintf(text, sizeof text, "%s synthetic", s->name);
    key_string(m, "general.name", text);
    snprintf(text, sizeof text, "random weights, seed %" PRIu64 ", in the shape of %s", seed,
             s->name);
    key_string(m, "general.description", text);
    key_u32(m, "general.file_type", FILE_TYPES[q]);
    key_u32(m, "general.quantization_version", 2);
    key_u32(m, ".block_count", s->layers);
    key_u32(m, ".context_length", s->context_train_tok);
    key_u32(m, ".embedding_length", s->n_embd);
    key_u32(m, ".feed_forward_length", s->n_ff);
    key_u32(m, ".attention.head_count", s->heads);
    key_u32(m, ".attention.head_count_kv", s->kv_heads);
    key_u32(m, ".attention.key_length", s->head_dim);
    key_u32(m, ".attention.value_length", s->head_dim);
    key_f32(m, ".attention.layer_norm_rms_epsilon", s->norm_eps);
    key_u32(m, ".rope.dimension_count", s->head_dim);
    key_f32(m, ".rope.freq_base", s->rope_freq_base);
    key_u32(m, ".vocab_size", s->vocab);
    vocabulary(m, s->vocab);
}

static int64_t padding(int64_t bytes) {
    return (ALIGNMENT - bytes % ALIGNMENT) % ALIGNMENT;
}

/* Everything in front of the data, padded. Returns the bytes of the data. */
static int64_t header(const model_shape *s, quant q, uint64_t seed, buf *out) {
    assert(s->vocab >= GGUF_VOCAB_MIN);
    metadata m = {.architecture = s->architecture};
    buf tensors;
    buf_init(&m.text);
    buf_init(&tensors);
    describe(&m, s, q, seed);
    shape_tensor t;
    size_t n = 0;
    int64_t offset = 0;
    for (; shape_tensor_at(s, q, n, &t); n++) {
        put_string(&tensors, t.name);
        put(&tensors, t.rows > 1 ? 2 : 1, 4);
        put(&tensors, (uint64_t)t.cols, 8);
        if (t.rows > 1) put(&tensors, (uint64_t)t.rows, 8);
        put(&tensors, TENSOR_FORMATS[t.type].id, 4);
        put(&tensors, (uint64_t)offset, 8);
        offset += shape_tensor_bytes(&t);
        offset += padding(offset);
    }
    buf_add(out, "GGUF");
    put(out, VERSION, 4);
    put(out, n, 8);
    put(out, m.keys, 8);
    buf_add_n(out, m.text.s, m.text.len);
    buf_add_n(out, tensors.s, tensors.len);
    buf_fill(out, '\0', (size_t)padding((int64_t)out->len));
    buf_done(&m.text);
    buf_done(&tensors);
    return offset;
}

int64_t gguf_file_bytes(const model_shape *s, quant q, uint64_t seed) {
    buf b;
    buf_init(&b);
    int64_t data = header(s, q, seed, &b);
    int64_t all = (int64_t)b.len + data;
    buf_done(&b);
    return all;
}

/* Room is looked at before anything is written: a full disk would show only after minutes. */
static err_code check_target(const char *path, int64_t bytes, err *e) {
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(e, E_IO, path, "is no regular file, expected a path for a new one");
    const char *slash = strrchr(path, '/');
    char *folder = strdup(slash ? path : ".");
    if (!folder) return err_set(e, E_NOMEM, path, "out of memory");
    if (slash) folder[slash == path ? 1 : slash - path] = '\0';
    struct statvfs fs;
    if (statvfs(folder, &fs) != 0) {
        (void)err_set(e, E_IO, path, "cannot be written: %s", strerror(errno));
    } else {
        double room = (double)fs.f_bavail * (double)fs.f_frsize;
        if (room < (double)bytes)
            (void)err_set(e, E_IO, path, "needs %.2f GB, but its file system has %.2f GB free",
                          (double)bytes / 1e9, room / 1e9);
    }
    free(folder);
    return e->code;
}

typedef struct writing {
    file_out file;
    const weights *random;
    uint8_t *piece; /* PIECE_BYTES and room for the padding */
    int64_t done, all;
    bool (*progress)(int64_t done, int64_t all, void *arg);
    void *arg;
} writing;

static err_code add(writing *w, const void *bytes, size_t n, err *e) {
    if (file_out_add(&w->file, bytes, n, e)) return e->code;
    w->done += (int64_t)n;
    if (w->progress && !w->progress(w->done, w->all, w->arg))
        return err_set(e, E_EXTERN, w->file.path, "interrupted, nothing was written");
    return OK;
}

static err_code add_tensor(writing *w, const shape_tensor *t, size_t index, err *e) {
    int64_t block = TENSOR_FORMATS[t->type].block_bytes;
    int64_t step =
        PIECE_BYTES / block / 4 * 4 * block; /* four blocks of any type fill words of 8 */
    int64_t all = shape_tensor_bytes(t);
    for (int64_t at = 0; at < all; at += step) {
        size_t n = (size_t)(all - at < step ? all - at : step), pad = 0;
        weights_fill(w->random, t, index, at, n, w->piece);
        if (at + step >= all) pad = (size_t)padding(all);
        memset(w->piece + n, 0, pad);
        if (add(w, w->piece, n + pad, e)) return e->code;
    }
    return OK;
}

static void write_all(writing *w, const char *path, const model_shape *s, quant q, const buf *head,
                      err *e) {
    if (file_out_open(path, &w->file, e) == OK && add(w, head->s, head->len, e) == OK) {
        shape_tensor t;
        for (size_t i = 0; e->code == OK && shape_tensor_at(s, q, i, &t); i++)
            (void)add_tensor(w, &t, i, e);
    }
    (void)file_out_end(&w->file, e);
}

err_code gguf_write(const char *path, const model_shape *s, quant q, uint64_t seed,
                    bool (*progress)(int64_t done, int64_t all, void *arg), void *arg, err *e) {
    buf head;
    buf_init(&head);
    int64_t data = header(s, q, seed, &head);
    weights *random = weights_new(seed);
    writing w = {.random = random,
                 .piece = malloc(PIECE_BYTES + ALIGNMENT),
                 .all = (int64_t)head.len + data,
                 .progress = progress,
                 .arg = arg};
    if (!random || !w.piece)
        (void)err_set(e, E_NOMEM, path, "out of memory");
    else if (check_target(path, w.all, e) == OK)
        write_all(&w, path, s, q, &head, e);
    free(w.piece);
    weights_free(random);
    buf_done(&head);
    return e->code;
}
