/* Tables that llama.cpp tools print: llama-bench Markdown, CSV, SQL, compare-llama-bench,
 * llama-batched-bench and sweep-bench tables. */
#include "import.h"

const import_format *const IMPORT_LLAMA_TABLE_FORMATS[] = {NULL};
