/* The hardware catalogue (rates/hardware.json): what chips can do at most, with sources.
 *
 * Bandwidth and memory are vendor specifications; arithmetic of Apple chips follows from core
 * counts and a clock measured by third parties and is known to a few per cent only
 * (flop_uncertainty_frac): an excess within that proves nothing.
 */
#ifndef RATECAST_HARDWARE_H
#define RATECAST_HARDWARE_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>

#define HARDWARE_SCHEMA "ratecast.hardware/1"

typedef struct hardware {
    const char *chip, *source;
    double mem_bw_bytes_s, fp16_flop_s, memory_bytes; /* 0: not published */
    double flop_uncertainty_frac;                     /* 0: as specified */
} hardware;

typedef struct hardware_catalogue {
    const char *path;
    const hardware *chips;
    size_t n;
} hardware_catalogue;

MUST_USE err_code hardware_load(const char *path, arena *mem, hardware_catalogue *out, err *e);

/* The chip that `text` names: the whole name, or the only entry whose words all stand in the text
 * ("H100 x1 TensorRT-LLM" with "80GB" unstated matches no single H100: NULL). Of several entries
 * that differ in size only (core counts, memory) and are not told apart, the one with the highest
 * ceilings: what it cannot do, none of them can. NULL: none. */
const hardware *hardware_find(const hardware_catalogue *c, const char *text);

#endif
