/* Request traces: recognised, and refused by name. */
#include "import.h"

const import_format *const IMPORT_TRACE_FORMATS[] = {NULL};
