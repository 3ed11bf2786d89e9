/* llama.cpp perf logs, llama-server log lines and timings JSON. */
#include "import.h"

const import_format *const IMPORT_LLAMA_LOG_FORMATS[] = {NULL};
