/* What ratecast-bench reads of a machine and of a model's file. */
#include "machine.h"

#include "temp.h"
#include "model_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static arena *mem;
static char path[TEMP_MAX];

static void set_up(void) {
    mem = arena_new((size_t)16 << 20);
    temp_name(path, "model");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
}

static void tear_down(void) {
    unlink(path);
    arena_free(mem);
}

TestSuite(bench_machine, .init = set_up, .fini = tear_down);

static const int64_t MIB = 1 << 20;

Test(bench_machine, devices) {
    static const struct {
        const char *text, *name;
        int64_t mib;
    } CASES[] = {
        {"Available devices:\n  CUDA0: NVIDIA H200 (143155 MiB, 142500 MiB free)\n", "NVIDIA H200",
         142500},
        {"ggml_cuda_init: found 1 CUDA devices (Total VRAM: 143155 MiB):\n"
         "  Device 0: NVIDIA H200, compute capability 9.0, VMM: yes, VRAM: 143155 MiB\n",
         NULL, 0},
        {"Available devices:\n  Metal: Apple M3 Pro (27648 MiB, 27647 MiB free)\n"
         "  BLAS: Accelerate (0 MiB, 0 MiB free)\n",
         "Apple M3 Pro", 27647},
        {"  Vulkan0: AMD Radeon 780M (RADV PHOENIX) (8000 MiB, 7000 MiB free)",
         "AMD Radeon 780M (RADV PHOENIX)", 7000},
        {"  Vulkan0: Intel Graphics (32000 MiB, 9000 MiB free)\n"
         "  CUDA0: RTX 4090 (24000 MiB, 23000 MiB free)\n  CUDA1: RTX 4090 (24000 MiB, 22000 MiB "
         "free)\n",
         "RTX 4090", 45000},
        {"Available devices:\n  (none)\n", NULL, 0},
        {"", NULL, 0},
        {": (1 MiB, 2 MiB free)", NULL, 0},
        {"x: y (1 MiB, -2 MiB free)", NULL, 0},
        {"x: y (1 MiB, 99999999999999999999 MiB free)", NULL, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *name = "?";
        cr_assert_eq(machine_devices_bytes(CASES[i].text, mem, &name), CASES[i].mib * MIB, "%s",
                     CASES[i].text);
        if (CASES[i].name)
            cr_assert_str_eq(name, CASES[i].name);
        else
            cr_assert_null(name);
    }
}

Test(bench_machine, guesses_hold_the_model) {
    machine_memory m = machine_memory_guess((int64_t)100 << 30, mem);
    cr_assert(m.guessed);
    cr_assert_gt(m.bytes, (int64_t)102 << 30);
    m = machine_memory_guess(1, mem);
    cr_assert_leq(m.bytes, (int64_t)8 << 30);
    cr_assert_gt(m.bytes, 0);
}

Test(bench_machine, conditions_are_one_line) {
    const char *text = machine_conditions("/tmp", mem);
    cr_assert(*text && !strchr(text, '\n'), "%s", text);
}

/* ---- the header of a GGUF ---- */

typedef struct bytes {
    unsigned char v[4096];
    size_t n;
} bytes;

static void number(bytes *b, uint64_t v, int size) {
    for (int i = 0; i < size; i++) b->v[b->n++] = (unsigned char)(v >> 8 * i);
}

static void text(bytes *b, const char *s) {
    number(b, strlen(s), 8);
    memcpy(b->v + b->n, s, strlen(s));
    b->n += strlen(s);
}

static void count(bytes *b, const char *key, uint64_t v) {
    text(b, key);
    number(b, 4, 4);
    number(b, v, 4);
}

static void start(bytes *b, uint64_t pairs, const char *architecture) {
    *b = (bytes){.v = "GGUF", .n = 4};
    number(b, 3, 4);
    number(b, 0, 8);
    number(b, pairs, 8);
    text(b, "general.architecture");
    number(b, 8, 4);
    text(b, architecture);
}

static err_code read_bytes(const bytes *b, size_t n, model_file *out, err *e) {
    FILE *f = fopen(path, "wb");
    cr_assert(f && fwrite(b->v, 1, n, f) == n);
    fclose(f);
    *e = (err){0};
    return model_file_read(path, mem, out, e);
}

static void qwen(bytes *b) {
    start(b, 8, "qwen2");
    count(b, "qwen2.block_count", 28);
    count(b, "qwen2.embedding_length", 3584);
    text(b, "tokenizer.ggml.tokens"); /* an array of texts, to be stepped over */
    number(b, 9, 4);
    number(b, 8, 4);
    number(b, 2, 8);
    text(b, "<unk>");
    text(b, "");
    count(b, "qwen2.attention.head_count", 28);
    count(b, "llama.attention.head_count_kv", 99); /* of another architecture */
    count(b, "qwen2.attention.head_count_kv", 4);
    count(b, "qwen2.context_length", 131072);
}

Test(bench_machine, model_header) {
    bytes b;
    model_file f;
    err e;
    qwen(&b);
    cr_assert_eq(read_bytes(&b, b.n, &f, &e), OK, "%s", e.what);
    cr_assert_str_eq(f.architecture, "qwen2");
    cr_assert(f.layers == 28 && f.full_attention_layers == 28 && f.kv_heads == 4);
    cr_assert_eq(f.head_dim, 128, "3584 / 28 heads");
    cr_assert_eq(f.context_train_tok, 131072);
    cr_assert_eq(f.file_bytes, (int64_t)b.n);
    cr_assert_not(f.kv_differs);
}

/* Heads of each layer (0: a layer without KV), a stated head size, every fourth layer, a window. */
Test(bench_machine, other_models) {
    static const uint64_t HEADS[] = {0, 2, 0, 2, 2};
    bytes b;
    model_file f;
    err e;
    start(&b, 4, "hybrid");
    count(&b, "hybrid.block_count", 5);
    count(&b, "hybrid.attention.key_length", 256);
    text(&b, "hybrid.attention.head_count_kv");
    number(&b, 9, 4);
    number(&b, 5, 4);
    number(&b, 5, 8);
    for (size_t i = 0; i < 5; i++) number(&b, HEADS[i], 4);
    cr_assert_eq(read_bytes(&b, b.n, &f, &e), OK, "%s", e.what);
    cr_assert(f.layers == 5 && f.full_attention_layers == 3 && f.kv_heads == 2);
    cr_assert_eq(f.head_dim, 256);
    start(&b, 4, "next");
    count(&b, "next.block_count", 64);
    count(&b, "next.full_attention_interval", 4);
    count(&b, "next.attention.sliding_window", 1024);
    cr_assert_eq(read_bytes(&b, b.n, &f, &e), OK, "%s", e.what);
    cr_assert_eq(f.full_attention_layers, 16);
    cr_assert(f.kv_differs);
}

/* Cut anywhere it is an error, never a crash; so is any byte that says something else. */
Test(bench_machine, damaged_headers) {
    bytes b;
    model_file f;
    err e;
    qwen(&b);
    for (size_t n = 0; n < b.n; n++)
        cr_assert_eq(read_bytes(&b, n, &f, &e), E_SYNTAX, "cut at %zu", n);
    for (size_t i = 0; i < b.n; i++) {
        bytes damaged = b;
        damaged.v[i] ^= 0xff;
        (void)read_bytes(&damaged, damaged.n, &f, &e);
    }
    cr_assert_eq(model_file_read("/nowhere/m.gguf", mem, &f, &e), E_IO);
}
