/* Random weights in the block formats of a GGUF.
 *
 * They look like an untrained model's: mean about 0, standard deviation 0.02 (the initializer_range
 * of the models' config.json), every block with a scale of its own, no block of zeros; norms are 1.
 * A byte depends on the seed, the tensor and its place alone, never on how the file is cut into
 * pieces, and no stretch of it repeats. */
#ifndef RATECAST_BENCH_WEIGHTS_H
#define RATECAST_BENCH_WEIGHTS_H

#include "shapes.h"

typedef struct weights weights;

/* NULL: memory. */
weights *weights_new(uint64_t seed);
void weights_free(weights *w);

/* Writes bytes [from, from + n) of tensor number `index`, which is `t`. `from` is a multiple of
 * both 8 and the bytes of a block, n of the latter; `out` has room for n rounded up to 8. */
void weights_fill(const weights *w, const shape_tensor *t, size_t index, int64_t from, size_t n,
                  uint8_t *out);

#endif
