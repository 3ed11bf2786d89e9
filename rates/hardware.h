/* The hardware catalogue (rates/hardware.json): what chips can do at most, with sources.
 *
 * Bandwidth and memory are vendor specifications; arithmetic of Apple chips follows from core
 * counts and a clock measured by third parties and is known to a few per cent only
 * (flop_uncertainty_frac): an excess within that proves nothing. Vendors' GB of memory are counted
 * as 2^30 bytes: chips are made so, and a ceiling must not be too low.
 */
#ifndef RATECAST_HARDWARE_H
#define RATECAST_HARDWARE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"

#include <stdbool.h>
#include <stddef.h>

#define HARDWARE_SCHEMA "ratecast.hardware/1"

typedef struct hardware {
    const char *chip, *source;
    double mem_bw_bytes_s, memory_bytes; /* 0: not published */
    double fp16_flop_s;                  /* 0: not published, or known as a lower bound only */
    double int8_op_s; /* 0: not published; engines run weights of 8 bits and less on it */
    double flop_uncertainty_frac; /* 0: as specified */
    bool unified_memory;          /* its CPU reads the same memory */
} hardware;

typedef struct hardware_catalogue {
    const char *path;
    const hardware *chips;
    size_t n;
} hardware_catalogue;

MUST_USE err_code hardware_load(const char *path, arena *mem, hardware_catalogue *out, err *e);
/* The same from bytes already read. */
MUST_USE err_code hardware_parse(const file_bytes *f, arena *mem, hardware_catalogue *out, err *e);

/* The chip that `text` names: the whole name, or the only entry whose words all stand in the text
 * ("H100 x1 TensorRT-LLM" names no form factor and matches no single H100: NULL). Maker, core count
 * and memory may be left out: of several entries that differ in size only and are not told apart,
 * the one with the highest ceilings: what it cannot do, none of them can. A stated size above all
 * that are listed is none of them. NULL: none, or several chips are named. */
const hardware *hardware_find(const hardware_catalogue *c, const char *text);

/* The same for who wants that chip and not a ceiling: one entry, or a refusal that names those it
 * may be. What tells entries apart has to be stated, and stated as it is. E_USAGE; `where`: the
 * option. */
MUST_USE err_code hardware_pick(const hardware_catalogue *c, const char *text, const char *where,
                                const hardware **out, err *e);

/* Does the text name a CPU and no GPU ("Apple M3 Pro (12-core CPU)")? The arithmetic of the
 * catalogue is that of GPUs. */
bool hardware_is_cpu(const char *text);

#endif
