/* A GGUF of a real shape with random weights: speed does not depend on their values (power does,
 * so they are never zeros), and nothing is downloaded.
 *
 * The vocabulary is as large as the model's, and a dummy: 0 to 2 are <unk>, <s> and </s>, 3 to 258
 * the bytes, 259 the blank, each other one a word of its own that only its number reaches. So text
 * costs one token a byte (a blank is one token, too), without a token in front. */
#ifndef RATECAST_BENCH_GGUF_H
#define RATECAST_BENCH_GGUF_H

#include "shapes.h"

enum { GGUF_VOCAB_MIN = 260 };

/* Bytes of the whole file, its header included. */
int64_t gguf_file_bytes(const model_shape *s, quant q, uint64_t seed);

/* Writes beside `path`, then renames; on any failure nothing is left and the target is untouched.
 * The same shape, quant and seed give the same bytes. E_IO: not enough room (looked at before), a
 * target that is no regular file, a write that failed. The shape has a vocabulary of at least
 * GGUF_VOCAB_MIN. Memory: some MiB, whatever the size of the model.
 *
 * `progress` (may be NULL) is told bytes written and bytes in all, every few MiB; false stops:
 * E_EXTERN, "interrupted". */
MUST_USE err_code gguf_write(const char *path, const model_shape *s, quant q, uint64_t seed,
                             bool (*progress)(int64_t done, int64_t all, void *arg), void *arg,
                             err *e);

#endif
