/* AIPerf and genai-perf exports; LLMServingSim profiles. */
#include "import.h"

const import_format *const IMPORT_AIPERF_FORMATS[] = {NULL};
