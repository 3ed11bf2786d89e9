/* Writes models that are too small to be any real one, for the real loader: both architectures,
 * tied and not, rows that fill blocks of 256 and rows that do not, in every quantisation. usage:
 * make_models FOLDER; prints a line a model: its path, parameters and weight bytes. */
#include "gguf.h"

#include <stdio.h>

static const model_shape SHAPES[] = {
    {.name = "tiny-qwen2",
     .architecture = "qwen2",
     .source = "made for tests",
     .layers = 9,
     .n_embd = 256,
     .n_ff = 512,
     .heads = 4,
     .kv_heads = 2,
     .head_dim = 64,
     .vocab = 1024,
     .context_train_tok = 1024,
     .rope_freq_base = 1e6,
     .norm_eps = 1e-6,
     .qkv_bias = true},
    {.name = "tiny-tied-qwen2",
     .architecture = "qwen2",
     .source = "made for tests",
     .layers = 9,
     .n_embd = 96,
     .n_ff = 256,
     .heads = 3,
     .kv_heads = 1,
     .head_dim = 32,
     .vocab = 512,
     .context_train_tok = 1024,
     .rope_freq_base = 1e6,
     .norm_eps = 1e-6,
     .tied = true,
     .qkv_bias = true},
    {.name = "tiny-llama",
     .architecture = "llama",
     .source = "made for tests",
     .layers = 8,
     .n_embd = 512,
     .n_ff = 768,
     .heads = 8,
     .kv_heads = 2,
     .head_dim = 64,
     .vocab = 700,
     .context_train_tok = 1024,
     .rope_freq_base = 5e5,
     .norm_eps = 1e-5},
};

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
        for (quant q = QUANT_F16; q < QUANT_N; q++) {
            char path[1024];
            err e = {0};
            snprintf(path, sizeof path, "%s/%s-%s.gguf", argv[1], SHAPES[i].name, QUANT_NAMES[q]);
            if (gguf_write(path, &SHAPES[i], q, 1, NULL, NULL, &e)) {
                fprintf(stderr, "%s: %s\n", e.where, e.what);
                return 1;
            }
            printf("%s %lld %lld\n", path, (long long)shape_params(&SHAPES[i]),
                   (long long)shape_weights_bytes(&SHAPES[i], q));
        }
    return 0;
}
