/* The public measurements that the roofline is fitted to (bench/roofline_points.json): rates as
 * their sources print them, by family of chips that share an engine's backend. */
#ifndef RATECAST_ROOFLINE_POINTS_H
#define RATECAST_ROOFLINE_POINTS_H

#include "base/arena.h"
#include "base/err.h"
#include "hardware.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROOFLINE_SCHEMA "ratecast.roofline-points/1"

/* What one forward pass of a model has to do. */
typedef struct roofline_work {
    int64_t params, weights_bytes, layers;
    int64_t kv_heads, head_dim;
    int64_t heads; /* query heads; 0: not known, see roofline.h */
} roofline_work;

typedef struct roofline_point {
    const hardware *chip;
    const char *model, *quant, *source;
    roofline_work work;
    bool slopes; /* prices context, batch and depth only: no efficiency is fitted to it */
    int64_t batch_n, context_tok; /* of decode */
    double decode_s;              /* one step of all sequences; 0: no decode */
    int64_t prefill_tok, depth_tok;
    double prefill_s; /* 0: no prefill */
} roofline_point;

/* Chips that differ from the rest of their family in a way that the catalogue has no number for. */
typedef struct roofline_class {
    const char *name;
    const char *const *chips; /* parts of names */
    size_t chips_n;
} roofline_class;

enum { ROOFLINE_CLASSES_MAX = 2 };
typedef enum roofline_arithmetic { ARITHMETIC_FP16, ARITHMETIC_INT8 } roofline_arithmetic;

typedef struct roofline_family {
    const char *name, *title;
    const char *const *chips; /* the names of its chips start so */
    size_t chips_n;
    roofline_class classes[ROOFLINE_CLASSES_MAX];
    size_t classes_n;
    roofline_arithmetic arithmetic; /* what its engine multiplies weights of 8 bits and less in */
    const roofline_point *points;
    size_t n;
} roofline_family;

typedef struct roofline_points {
    const char *path;
    const roofline_family *families;
    size_t n;
} roofline_points;

/* Chips are looked up in `chips`, which must outlive the points. E_SCHEMA, E_RANGE with the place:
 * unknown chip or model, a point that measures nothing. */
MUST_USE err_code roofline_points_load(const char *path, const hardware_catalogue *chips,
                                       arena *mem, roofline_points *out, err *e);

/* NULL: no family has a fit for it. */
const roofline_family *roofline_family_of(const roofline_points *p, const hardware *chip);
bool roofline_in_class(const roofline_class *c, const hardware *chip);

#endif
