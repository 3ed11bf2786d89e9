/* GGUF, versions 2 and 3: "GGUF", u32 version, u64 tensors, u64 pairs, then the pairs: a key, u32
 * type, a value; texts are u64 length and bytes; all little-endian (ggml-org/ggml, docs/gguf.md).
 */
#include "model_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef enum gguf_type {
    G_U8,
    G_I8,
    G_U16,
    G_I16,
    G_U32,
    G_I32,
    G_F32,
    G_BOOL,
    G_TEXT,
    G_ARRAY,
    G_U64,
    G_I64,
    G_F64,
    G_TYPES_N
} gguf_type;

static const int64_t SIZE[G_TYPES_N] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
enum { KEY_MAX = 256, PAIRS_MAX = 100000 };

typedef struct reader {
    FILE *f;
    bool bad;
} reader;

static uint64_t number(reader *r, int64_t bytes) {
    unsigned char b[8] = {0};
    if (!r->bad && fread(b, 1, (size_t)bytes, r->f) != (size_t)bytes) r->bad = true;
    uint64_t v = 0;
    for (int i = 7; i >= 0 && !r->bad; i--) v = v << 8 | b[i];
    return v;
}

static void skip(reader *r, uint64_t bytes) {
    if (r->bad || bytes > (uint64_t)1 << 40 || fseeko(r->f, (off_t)bytes, SEEK_CUR) != 0)
        r->bad = true;
}

/* A text of less than `cap` bytes; a longer one reads as "". */
static void text(reader *r, char *out, size_t cap) {
    uint64_t n = number(r, 8);
    out[0] = '\0';
    if (n >= cap) {
        skip(r, n);
        return;
    }
    if (!r->bad && fread(out, 1, (size_t)n, r->f) != (size_t)n) r->bad = true;
    out[r->bad ? 0 : n] = '\0';
}

typedef struct raw_facts {
    char architecture[KEY_MAX];
    int64_t layers, heads, kv_heads, kv_layers, key_length, n_embd, context, interval, window,
        latent;
} raw_facts;

/* The count that a key stands for; NULL: one that is not asked for. */
static int64_t *wanted(raw_facts *k, const char *key) {
    const struct {
        const char *name;
        int64_t *at;
    } KEYS[] = {{"block_count", &k->layers},
                {"attention.head_count", &k->heads},
                {"attention.head_count_kv", &k->kv_heads},
                {"attention.key_length", &k->key_length},
                {"embedding_length", &k->n_embd},
                {"context_length", &k->context},
                {"full_attention_interval", &k->interval},
                {"attention.sliding_window", &k->window},
                {"attention.kv_lora_rank", &k->latent}};
    size_t n = strlen(k->architecture);
    if (n == 0 || strncmp(key, k->architecture, n) != 0 || key[n] != '.') return NULL;
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (strcmp(key + n + 1, KEYS[i].name) == 0) return KEYS[i].at;
    return NULL;
}

static bool is_whole(uint64_t type) {
    return type != G_F32 && type != G_F64 && type < G_TYPES_N && SIZE[type] > 0;
}

static int64_t count_of(uint64_t v) {
    return v < (uint64_t)1 << 53 ? (int64_t)v : 0;
}

/* Of an array of counts (heads of each layer) the largest, and how many are not 0. */
static void array(reader *r, raw_facts *k, int64_t *into) {
    uint64_t type = number(r, 4), n = number(r, 8);
    if (type >= G_TYPES_N || type == G_ARRAY || n > (uint64_t)1 << 32) r->bad = true;
    if (r->bad) return;
    if (type == G_TEXT) {
        for (uint64_t i = 0; i < n && !r->bad; i++) skip(r, number(r, 8));
    } else if (into && is_whole(type)) {
        int64_t used = 0;
        for (uint64_t i = 0; i < n && !r->bad; i++) {
            int64_t v = count_of(number(r, SIZE[type]));
            used += v > 0;
            if (v > *into) *into = v;
        }
        if (into == &k->kv_heads) k->kv_layers = used;
    } else {
        skip(r, n * (uint64_t)SIZE[type]);
    }
}

static void pair(reader *r, raw_facts *k) {
    char key[KEY_MAX];
    text(r, key, sizeof key);
    uint64_t type = number(r, 4);
    int64_t *into = wanted(k, key);
    if (type >= G_TYPES_N)
        r->bad = true;
    else if (type == G_ARRAY)
        array(r, k, into);
    else if (type == G_TEXT && strcmp(key, "general.architecture") == 0)
        text(r, k->architecture, sizeof k->architecture);
    else if (type == G_TEXT)
        skip(r, number(r, 8));
    else if (into && is_whole(type))
        *into = count_of(number(r, SIZE[type]));
    else
        skip(r, (uint64_t)SIZE[type]);
}

/* What no model has is a damaged header, and counts as not stated. */
static int64_t sane(int64_t v) {
    return v > 0 && v <= 100000 ? v : 0;
}

static void conclude(const raw_facts *k, model_file *out) {
    out->layers = sane(k->layers);
    out->context_train_tok = k->context;
    out->kv_heads = sane(k->kv_heads ? k->kv_heads : k->heads);
    out->head_dim = sane(k->key_length ? k->key_length : k->heads ? k->n_embd / k->heads : 0);
    out->full_attention_layers = k->kv_layers      ? k->kv_layers
                                 : k->interval > 0 ? k->layers / k->interval
                                                   : k->layers;
    out->full_attention_layers = sane(out->full_attention_layers);
    out->kv_differs = k->window > 0 || k->latent > 0;
}

/* "x-00001-of-00003.gguf": the sizes of the other parts. */
static int64_t other_parts_bytes(const char *path, arena *mem) {
    static const char FIRST[] = "-00001-of-";
    const char *at = strstr(path, FIRST);
    if (!at) return 0;
    long n = strtol(at + sizeof FIRST - 1, NULL, 10);
    int64_t bytes = 0;
    for (long i = 2; i <= n && i < 1000; i++) {
        struct stat st;
        const char *part =
            arena_printf(mem, "%.*s-%05ld-of-%s", (int)(at - path), path, i, at + sizeof FIRST - 1);
        if (part && stat(part, &st) == 0) bytes += st.st_size;
    }
    return bytes;
}

static err_code read_head(reader *r, const char *path, arena *mem, model_file *out, err *e) {
    raw_facts k = {0};
    char magic[4] = "";
    if (fread(magic, 1, 4, r->f) != 4 || memcmp(magic, "GGUF", 4) != 0)
        return err_set(e, E_SYNTAX, path, "is no GGUF file");
    uint64_t version = number(r, 4);
    (void)number(r, 8);
    uint64_t pairs = number(r, 8);
    if (!r->bad && (version < 2 || version > 3 || pairs > PAIRS_MAX))
        return err_set(e, E_SYNTAX, path, "is GGUF version %llu, expected 2 or 3",
                       (unsigned long long)version);
    for (uint64_t i = 0; i < pairs && !r->bad; i++) pair(r, &k);
    /* a seek may go beyond the end without a word */
    if (r->bad || ftello(r->f) > out->file_bytes)
        return err_set(e, E_SYNTAX, path, "is cut off: the file ends inside its header");
    conclude(&k, out);
    out->architecture = arena_strdup(mem, k.architecture);
    return OK;
}

err_code model_file_read(const char *path, arena *mem, model_file *out, err *e) {
    struct stat st;
    *out = (model_file){0};
    reader r = {.f = fopen(path, "rb")};
    if (!r.f || fstat(fileno(r.f), &st) != 0) {
        int why = errno;
        if (r.f) fclose(r.f);
        return err_set(e, E_IO, path, "cannot be read: %s", strerror(why));
    }
    if (!S_ISREG(st.st_mode)) {
        fclose(r.f);
        return err_set(e, E_IO, path, "is %s, expected a file",
                       S_ISDIR(st.st_mode) ? "a directory" : "a device or a pipe");
    }
    out->file_bytes = st.st_size;
    out->mtime_s = st.st_mtime;
    if (read_head(&r, path, mem, out, e) == OK) out->file_bytes += other_parts_bytes(path, mem);
    fclose(r.f);
    return e->code;
}
