/* import_family.h says what holds. */
#include "import.h"

#define FAMILY IMPORT_LOCAL_FORMATS
#include "import_family.h"
