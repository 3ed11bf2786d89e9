#include "shapes.h"

const char *const QUANT_NAMES[] = {"f16", "q8_0", "q4_0", "q4_k_m", NULL};
