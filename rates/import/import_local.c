/* Ollama and MLX on a desk: ollama --verbose and JSON, mlx_lm benchmark and generate. */
#include "import.h"

const import_format *const IMPORT_LOCAL_FORMATS[] = {NULL};
