/* The catalogue of chips: what it takes, what it refuses, and which chip a text names. */
#include "hardware_support.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static err_code parse(const char *text, hardware_catalogue *out, err *e) {
    file_bytes f = {.name = "h.json", .s = text, .len = strlen(text)};
    *e = (err){0};
    return hardware_parse(&f, support_arena(), out, e);
}

/* A device with `more` spliced in, each member with its comma behind it. */
static const char *device(const char *chip, const char *more) {
    return arena_printf(support_arena(), "{\"chip\": \"%s\", %s \"source\": \"s\"}", chip, more);
}

static const char *catalogue(const char *devices) {
    return arena_printf(support_arena(), "{\"schema\": \"ratecast.hardware/1\", \"devices\": [%s]}",
                        devices);
}

#define SPECS                                                                                      \
    "\"mem_bw_GBps\": 100, \"max_memory_GB\": 24, \"fp16_TFLOPS\": 3, "                            \
    "\"fp16_matrix_TFLOPS\": null, \"int8_TOPS\": null, "

/* Every entry against the file itself, read by another parser. */
Test(hardware, shipped_catalogue_in_base_units) {
    err e = {0};
    file_bytes f;
    cr_assert_eq(file_read(RATECAST_REPO "/rates/hardware.json", support_arena(), &f, &e), OK);
    cJSON *root = cJSON_Parse(f.s);
    const hardware_catalogue *c = support_chips();
    cr_assert_eq(c->n, 49);
    size_t i = 0;
    for (const cJSON *d = cJSON_GetObjectItem(root, "devices")->child; d; d = d->next, i++) {
        const hardware *h = &c->chips[i];
        const cJSON *alu = cJSON_GetObjectItem(d, "fp16_TFLOPS"),
                    *matrix = cJSON_GetObjectItem(d, "fp16_matrix_TFLOPS"),
                    *note = cJSON_GetObjectItem(d, "confidence");
        bool floor = cJSON_IsTrue(cJSON_GetObjectItem(d, "fp16_TFLOPS_is_floor"));
        double want = fmax(cJSON_IsNumber(alu) && !floor ? alu->valuedouble : 0,
                           cJSON_IsNumber(matrix) ? matrix->valuedouble : 0);
        const char *chip = cJSON_GetObjectItem(d, "chip")->valuestring;
        cr_assert_str_eq(h->chip, chip);
        cr_assert_float_eq(h->mem_bw_bytes_s / 1e9,
                           cJSON_GetObjectItem(d, "mem_bw_GBps")->valuedouble, 1e-9, "%s", chip);
        cr_assert_float_eq(h->fp16_flop_s / 1e12, want, 1e-9, "%s", chip);
        cr_assert_float_eq(h->memory_bytes / 1073741824,
                           cJSON_GetObjectItem(d, "max_memory_GB")->valuedouble, 1e-9, "%s", chip);
        const char *pm = note ? strstr(note->valuestring, "+-") : NULL;
        double uncertain = pm ? strtod(pm + 2, NULL) / 100 : 0;
        cr_assert_float_eq(h->flop_uncertainty_frac, uncertain, 1e-12, "%s: %g", chip, uncertain);
        cr_assert_eq(hardware_find(c, h->chip), h, "%s finds itself", chip);
    }
    cJSON_Delete(root);
}

Test(hardware, names_in_texts) {
    static const struct {
        const char *text, *chip; /* NULL: no single chip */
    } CASES[] = {
        /* the whole name, in any case and punctuation */
        {"Apple M3 Pro (18-core GPU)", "Apple M3 Pro (18-core GPU)"},
        {"apple m3 pro (14-CORE gpu)", "Apple M3 Pro (14-core GPU)"},
        {"Apple M3-Pro, 14-core-GPU", "Apple M3 Pro (14-core GPU)"},
        {"NVIDIA H100 SXM 80GB", "NVIDIA H100 SXM 80GB"},
        {"NVIDIA-H100-SXM5-80GB", "NVIDIA H100 SXM 80GB"},
        {"A100 SXM 80GB", "NVIDIA A100 SXM 80GB"},
        {"NVIDIA A100-SXM4-80GB", "NVIDIA A100 SXM 80GB"},
        {"8xA100 SXM 80 GB", "NVIDIA A100 SXM 80GB"},
        /* size unstated: the highest ceilings */
        {"Apple M3 Pro", "Apple M3 Pro (18-core GPU)"},
        {"M1 Ultra", "Apple M1 Ultra (64-core GPU)"},
        {"Apple M1 Ultra (GPU core count not stated)", "Apple M1 Ultra (64-core GPU)"},
        {"Apple M5 Max, 128 GB (GPU core count not stated)", "Apple M5 Max (40-core GPU)"},
        {"A100 80GB", "NVIDIA A100 SXM 80GB"},
        {"NVIDIA H200", "NVIDIA H200 SXM"},
        /* size stated in other words */
        {"Apple M1 Max (24 GPU cores)", "Apple M1 Max (24-core GPU)"},
        {"M3 Max, 14-core CPU, 30-core GPU", "Apple M3 Max (30-core GPU)"},
        {"Apple M3 Pro (12-core CPU)", "Apple M3 Pro (18-core GPU)"},
        {"Apple M1 (10-core CPU)", "Apple M1 (8-core GPU)"},
        {"M5 Ultra (60-core GPU)", "Apple M5 Ultra (80-core GPU)"}, /* smaller than listed */
        {"M3 Pro (20-core GPU)", NULL},                             /* larger than listed */
        {"H100 SXM 96GB", NULL},
        /* a longer name is another chip */
        {"M1", "Apple M1 (8-core GPU)"},
        {"M1 Pro", "Apple M1 Pro (16-core GPU)"},
        {"MacBook Pro with M1", "Apple M1 (8-core GPU)"},
        {"M1, MacBook Pro", "Apple M1 (8-core GPU)"},
        {"RTX 4090", "NVIDIA RTX 4090"},
        {"GeForce RTX 4090 (24 GB)", "NVIDIA RTX 4090"},
        {"RTX 3090 Ti", NULL},
        {"H100 NVL", NULL},
        {"RTX 40900", NULL},
        {"4090", NULL},
        /* other names */
        {"GB10", "NVIDIA DGX Spark (GB10)"},
        {"MI300X", "AMD Instinct MI300X"},
        {"Strix Halo, 128 GB", "AMD Ryzen AI Max+ 395 (Strix Halo, Radeon 8060S 40 CU)"},
        {"AMD Ryzen AI Max+ 395 (Strix Halo, 40 CU)",
         "AMD Ryzen AI Max+ 395 (Strix Halo, Radeon 8060S 40 CU)"},
        /* the form factor tells two chips apart */
        {"H100", NULL},
        {"H100 x1 vLLM", NULL},
        {"H100 x1 TensorRT-LLM", NULL},
        {"H100 PCIe", "NVIDIA H100 PCIe 80GB"},
        {"H100 SXM x1 vLLM", "NVIDIA H100 SXM 80GB"},
        /* several chips */
        {"H100 SXM 80GB, H200 SXM 141GB, A100 SXM 80GB, L40S 48GB", NULL},
        {"M1 Pro or M1 Max", NULL},
        {"unknown", NULL},
        {"80 GB card (class only)", NULL},
        {"2 virtual EPYC cores", NULL},
        {"pro max ultra", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const hardware *h = hardware_find(support_chips(), CASES[i].text);
        cr_expect_str_eq(h ? h->chip : "none", CASES[i].chip ? CASES[i].chip : "none", "\"%s\"",
                         CASES[i].text);
    }
    cr_expect_null(hardware_find(support_chips(), NULL));
    cr_expect_null(hardware_find(&(hardware_catalogue){0}, "Apple M1"));
    cr_expect_null(hardware_find(NULL, "Apple M1"));
}

Test(hardware, higher_of_two_rates_and_floors) {
    static const struct {
        const char *rates;
        double want;
    } CASES[] = {
        {"\"fp16_TFLOPS\": 3, \"fp16_matrix_TFLOPS\": null, ", 3e12},
        {"\"fp16_TFLOPS\": 3, \"fp16_matrix_TFLOPS\": 12, ", 12e12},
        {"\"fp16_TFLOPS\": null, \"fp16_matrix_TFLOPS\": null, ", 0},
        {"\"fp16_TFLOPS\": 3, \"fp16_matrix_TFLOPS\": null, \"fp16_TFLOPS_is_floor\": true, ", 0},
        {"\"fp16_TFLOPS\": 3, \"fp16_matrix_TFLOPS\": 9, \"fp16_TFLOPS_is_floor\": true, ", 9e12},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        hardware_catalogue c;
        err e;
        const char *specs = arena_printf(
            support_arena(), "\"mem_bw_GBps\": 1, \"max_memory_GB\": 1, \"int8_TOPS\": 7, %s",
            CASES[i].rates);
        cr_assert_eq(parse(catalogue(device("c", specs)), &c, &e), OK, "%s: %s", e.where, e.what);
        cr_assert_float_eq(c.chips[0].fp16_flop_s, CASES[i].want, 1, "case %zu", i);
        cr_assert_float_eq(c.chips[0].int8_op_s, 7e12, 1);
    }
}

Test(hardware, faults_have_their_place) {
    const char *twice =
        arena_printf(support_arena(), "%s, %s", device("Chip A", SPECS), device("chip a", SPECS));
    const struct {
        const char *text, *where;
        err_code code;
    } CASES[] = {
        {"{", "h.json:1:1", E_SYNTAX},
        {"[]", "h.json#", E_SCHEMA},
        {"{\"devices\": []}", "h.json#/schema", E_SCHEMA},
        {"{\"schema\": \"ratecast.hardware/1\"}", "h.json#/devices", E_SCHEMA},
        {"{\"schema\": \"ratecast.hardware/1\", \"devices\": [], \"chips\": []}", "h.json#/chips",
         E_SCHEMA},
        {catalogue("1"), "h.json#/devices/0", E_SCHEMA},
        {catalogue("{\"chip\": \"c\"}"), "h.json#/devices/0/source", E_SCHEMA},
        {catalogue(device("c", "")), "h.json#/devices/0/mem_bw_GBps", E_SCHEMA},
        {catalogue(device("c", SPECS "\"bw\": 1, ")), "h.json#/devices/0/bw", E_SCHEMA},
        {catalogue(device("c", "\"mem_bw_GBps\": \"100\", ")), "h.json#/devices/0/mem_bw_GBps",
         E_SCHEMA},
        {catalogue(device("c", "\"mem_bw_GBps\": 0, ")), "h.json#/devices/0/mem_bw_GBps", E_RANGE},
        {catalogue(device("c", SPECS "\"flop_uncertainty_frac\": 8, ")),
         "h.json#/devices/0/flop_uncertainty_frac", E_RANGE},
        {catalogue(device("c", SPECS "\"decode_fit\": 1, ")), "h.json#/devices/0/decode_fit",
         E_SCHEMA},
        {catalogue(twice), "h.json#/devices/1/chip", E_SCHEMA},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        hardware_catalogue c;
        err e;
        cr_assert_eq(parse(CASES[i].text, &c, &e), CASES[i].code, "case %zu: %s", i, e.what);
        cr_expect_str_eq(e.where, CASES[i].where, "case %zu: %s", i, e.where);
        cr_expect_eq(c.n, 0);
    }
    hardware_catalogue c;
    err e = {0};
    cr_assert_eq(hardware_load("/no/such/file", support_arena(), &c, &e), E_IO);
}

Test(hardware, a_cpu_is_told_from_a_gpu) {
    cr_expect(hardware_is_cpu("Apple M3 Pro (12-core CPU)"));
    cr_expect(hardware_is_cpu("fak-cpu"));
    cr_expect(hardware_is_cpu("2 CPUs"));
    cr_expect_not(hardware_is_cpu("M3 Max, 14-core CPU, 30-core GPU"));
    cr_expect_not(hardware_is_cpu("Apple M3 Pro (18-core GPU)"));
    cr_expect_not(hardware_is_cpu("llama.cpp"), "a word, not letters");
    cr_expect_not(hardware_is_cpu(NULL));
}

/* A ceiling may be the highest of several; a chip that something is projected for may not. */
Test(hardware, one_chip_or_a_refusal_that_names_them) {
    static const struct {
        const char *text, *chip;        /* NULL: refused */
        const char *names[3], *unnamed; /* in the refusal, and not in it */
    } CASES[] = {
        {"Apple M4 Pro (20-core GPU)", "Apple M4 Pro (20-core GPU)", {0}, NULL},
        {"m4 pro, 16 GPU cores", "Apple M4 Pro (16-core GPU)", {0}, NULL},
        {"M3 Max, 14-core CPU, 30-core GPU", "Apple M3 Max (30-core GPU)", {0}, NULL},
        {"RTX 4090", "NVIDIA RTX 4090", {0}, NULL},
        {"NVIDIA H200", "NVIDIA H200 SXM", {0}, NULL}, /* there is no other H200 */
        {"A100 80GB", "NVIDIA A100 SXM 80GB", {0}, NULL},
        {"GB10", "NVIDIA DGX Spark (GB10)", {0}, NULL},
        {"Apple M4 Pro", NULL, {"M4 Pro (16-core GPU)", "M4 Pro (20-core GPU)"}, "M4 (8-core"},
        {"M4", NULL, {"M4 (8-core GPU)", "M4 (10-core GPU)"}, "Pro"},
        {"NVIDIA H100", NULL, {"H100 SXM 80GB", "H100 PCIe 80GB"}, "H200"},
        {"M5 Ultra (60-core GPU)", NULL, {"M5 Ultra (80-core GPU)"}, NULL}, /* another size */
        {"A100 40GB", NULL, {"A100 SXM 80GB"}, NULL},
        {"Apple M6 (9-core CPU)", NULL, {"M6 (12-core GPU)"}, NULL}, /* names no GPU */
        {"M1 Pro or M1 Max", NULL, {"M1 Pro (14-core GPU)", "M1 Max (24-core GPU)"}, "M1 (7"},
        {"RTX 3090 Ti", NULL, {"none is named so"}, "RTX 3090,"},
        {"", NULL, {"none is named so"}, NULL},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        err e = {0};
        const hardware *h = NULL;
        err_code code = hardware_pick(support_chips(), CASES[i].text, "--chip", &h, &e);
        cr_expect_eq(code, CASES[i].chip ? OK : E_USAGE, "\"%s\": %s", CASES[i].text, e.what);
        if (CASES[i].chip) cr_expect_str_eq(h->chip, CASES[i].chip, "\"%s\"", CASES[i].text);
        for (size_t k = 0; k < 3 && CASES[i].names[k]; k++)
            cr_expect_not_null(strstr(e.what, CASES[i].names[k]), "\"%s\": %s", CASES[i].text,
                               e.what);
        if (CASES[i].unnamed)
            cr_expect_null(strstr(e.what, CASES[i].unnamed), "\"%s\": %s", CASES[i].text, e.what);
    }
}

/* However many it may be, no name is cut. */
Test(hardware, a_long_list_of_chips_ends_with_a_whole_name) {
    err e = {0};
    const hardware *h = NULL;
    const char *all = "M1, M2, M3, M4, M5, M1 Pro, M2 Pro, M3 Pro, M4 Pro";
    cr_assert_eq(hardware_pick(support_chips(), all, "--chip", &h, &e), E_USAGE);
    cr_expect_str_eq(e.what + strlen(e.what) - strlen("-core GPU)"), "-core GPU)", "%s", e.what);
}
