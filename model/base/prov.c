#include "base/prov.h"

#include <stddef.h>

const char *const PROV_NAMES[] = {"witnessed", "derived", "modeled", "roofline",
                                  "assumed",   "claim",   NULL};
const char *const PROV_UPPER[] = {"WITNESSED", "DERIVED", "MODELED", "ROOFLINE",
                                  "ASSUMED",   "CLAIM",   NULL};
