/* A GGUF of a real shape with random weights: speed does not depend on their values (power does,
 * so they are never zeros), and nothing is downloaded. */
#ifndef RATECAST_BENCH_GGUF_H
#define RATECAST_BENCH_GGUF_H

#include "shapes.h"

/* Writes beside `path`, then renames. The same shape, quant and seed give the same bytes. E_IO.
 * `progress` (may be NULL) is told bytes written and bytes in all; false stops: E_EXTERN,
 * "interrupted". */
MUST_USE err_code gguf_write(const char *path, const model_shape *s, quant q, uint64_t seed,
                             bool (*progress)(int64_t done, int64_t all, void *arg), void *arg,
                             err *e);

#endif
