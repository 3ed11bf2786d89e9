/* import_family.h says what holds. */
#include "import.h"

#define FAMILY IMPORT_TRACE_FORMATS
#include "import_family.h"
