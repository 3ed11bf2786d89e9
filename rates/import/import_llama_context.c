/* What programs of llama.cpp say of themselves before they measure: devices, build, model, context.
 */
#include "import_llama.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool banner_device(const char *line, char *out, size_t size) {
    static const char *const BEGINS[] = {
        "Device ", "ggml_vulkan: ", "ggml_opencl: device: '",
        "ggml_metal_init: GPU name:", "ggml_metal_device_init: GPU name:"};
    line += strspn(line, " \t");
    for (size_t i = 0; i < sizeof BEGINS / sizeof *BEGINS; i++) {
        size_t n = strlen(BEGINS[i]);
        if (strncmp(line, BEGINS[i], n) != 0) continue;
        const char *p = line + n;
        if (i < 2) { /* "0: NAME, ..." and "0 = NAME (driver) | ..." */
            size_t d = strspn(p, "0123456789");
            if (d == 0 || strncmp(p + d, i == 0 ? ": " : " = ", i == 0 ? 2 : 3) != 0) return false;
            p += d + (i == 0 ? 2 : 3);
        }
        p += strspn(p, " ");
        size_t len = strcspn(p, i == 1 ? "|" : ",'");
        const char *paren = i == 1 ? strstr(p, " (") : NULL;
        /* "(TM)" and "(R)" belong to the name, a driver behind a blank does not */
        if (paren && (size_t)(paren - p) < len) len = (size_t)(paren - p);
        while (len > 0 && p[len - 1] == ' ') len--;
        snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), p);
        return len > 0;
    }
    return false;
}

/* The word behind NAME and " = ", without quotes; false: not in the line. */
static bool word_behind(const char *line, const char *name, char *out, size_t size) {
    const char *p = strstr(line, name);
    if (!p || (p > line && p[-1] != ' ')) return false;
    p += strlen(name);
    p += strspn(p, " ");
    if (*p++ != '=') return false;
    p += strspn(p, " '");
    size_t n = strcspn(p, " ,'");
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), p);
    return n > 0;
}

/* "build: 5315 (8c83449c) with ..." */
static const char *build_of(arena *mem, const char *line) {
    const char *v = label_value(line, "build");
    if (!v) v = label_value(line, "main: build");
    const char *open = v && *v >= '0' && *v <= '9' ? strchr(v, '(') : NULL;
    size_t n = open ? strspn(open + 1, "0123456789abcdef") : 0;
    return n >= 6 && open[1 + n] == ')' ? arena_printf(mem, "%.*s", (int)n, open + 1) : NULL;
}

/* "... loading model '/x/tiny.gguf'" or "... loaded meta data ... from /x/tiny.gguf (version" */
static const char *model_of(arena *mem, const char *line) {
    const char *p = strstr(line, "loading model '");
    p = p ? p + 15 : strstr(line, "loaded meta data") ? strstr(line, " from ") : NULL;
    if (!p) return NULL;
    p += strspn(p, " ");
    if (strncmp(p, "from ", 5) == 0) p += 5;
    const char *end = strstr(p, ".gguf");
    const char *path = end ? arena_printf(mem, "%.*s", (int)(end - p + 5), p) : NULL;
    return path ? bench_stem(mem, path) : NULL;
}

void log_settings(arena *mem, const char *line, const char **setting) {
    static const char *const NAMES[] = {"n_batch", "n_ubatch", "flash_attn"};
    char word[200];
    const char *build = build_of(mem, line), *model = model_of(mem, line);
    if (build) setting[IMPORT_BUILD] = build;
    if (model) setting[IMPORT_MODEL] = model;
    if (banner_device(line, word, sizeof word)) {
        const char *before = setting[IMPORT_GPU];
        if (!before || (!strstr(before, word) && strlen(before) < 1000))
            setting[IMPORT_GPU] =
                before ? arena_printf(mem, "%s, %s", before, word) : arena_strdup(mem, word);
    }
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strstr(line, "context") && word_behind(line, NAMES[i], word, sizeof word))
            bench_set(mem, setting, NAMES[i], word);
    if (word_behind(line, "kv_unified", word, sizeof word))
        setting[IMPORT_KV_LAYOUT] =
            strcmp(word, "true") == 0 || strcmp(word, "1") == 0 ? "unified" : "split";
}
