/* What a GGUF file says of itself in its header: enough for a memory budget and for the KV bytes of
 * a card. Counts that it does not state are 0. */
#ifndef RATECAST_BENCH_MODEL_FILE_H
#define RATECAST_BENCH_MODEL_FILE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct model_file {
    int64_t file_bytes; /* of all parts of a file that is split */
    int64_t mtime_s;    /* of the last change, since the epoch */
    const char *architecture;
    int64_t layers, full_attention_layers, kv_heads, head_dim, context_train_tok;
    bool kv_differs; /* a sliding window or latent KV: layers x heads x size is an upper bound */
} model_file;

/* E_IO: cannot be read; E_SYNTAX: no GGUF, or it ends inside its header. Texts live in `mem`. */
MUST_USE err_code model_file_read(const char *path, arena *mem, model_file *out, err *e);

#endif
