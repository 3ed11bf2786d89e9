/* import_family.h says what holds. */
#include "import.h"

#define FAMILY IMPORT_LLAMA_LOG_FORMATS
#include "import_family.h"
