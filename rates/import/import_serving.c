/* Load generators: vLLM bench serve, SGLang bench_serving, GuideLLM. */
#include "import.h"

const import_format *const IMPORT_SERVING_FORMATS[] = {NULL};
