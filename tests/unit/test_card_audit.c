/* A sound card, and the same card with one thing broken at a time: each fault is found by its rule,
 * and nothing else is called wrong. The figures of the base card:
 *   weights 7e9 x 8.5 / 8 = 7.4375e9 bytes; one pass at 150 GB/s = 49.583 ms
 *   KV 2 x 28 x 4 x 128 x 2 = 57,344 bytes a token
 *   arithmetic 2 x 7e9 = 14 GFLOP a token; 512 tokens in 1.3 s = 5.51 TFLOP/s of 6.36 (+-8 %) */
#include "hardware_support.h"

#include "audit/audit.h"

#include <criterion/parameterized.h>
#include <string.h>

static const char BASE[] =
    "{\"schema\": \"ratecast.rate-card/1\", \"id\": \"base\", \"title\": \"t\", \"method\": "
    "\"engine\", \"provenance\": \"witnessed\", \"source\": \"s\", \"model\": \"m-7b\", \"quant\": "
    "\"Q8_0\", \"architecture\": \"dense\", \"params\": 7000000000, \"weights_bytes\": 7437500000, "
    "\"layers\": 28, \"full_attention_layers\": 28, \"kv_heads\": 4, \"head_dim\": 128, "
    "\"kv_element_bytes\": 2, "
    "\"engine\": {\"name\": \"e\", \"build\": \"b1\", \"n_ubatch\": 512, \"type_k\": \"f16\", "
    "\"type_v\": \"f16\", \"kv_layout\": \"split\", \"flash_attention\": true}, "
    "\"hardware\": {\"chip\": \"Apple M3 Pro (18-core GPU)\", \"mem_bw_bytes_s\": 150e9, "
    "\"fp16_flop_s\": 6.36e12, \"memory_bytes\": 38654705664}, "
    "\"prefill\": [{\"n_prompt_tok\": 16, \"samples_s\": [0.061, 0.06, 0.06]}, "
    "{\"n_prompt_tok\": 512, \"samples_s\": [1.3, 1.3, 1.31]}, "
    "{\"n_prompt_tok\": 1024, \"samples_s\": [2.7, 2.7, 2.7]}], "
    "\"decode\": [{\"batch_n\": 1, \"context_tok\": 1000, \"samples_s\": [0.055, 0.055, 0.0551]}, "
    "{\"batch_n\": 2, \"context_tok\": 1000, \"samples_s\": [0.058, 0.058, 0.058]}, "
    "{\"batch_n\": 4, \"context_tok\": 1000, \"samples_s\": [0.066, 0.066, 0.066]}, "
    "{\"batch_n\": 8, \"context_tok\": 1000, \"samples_s\": [0.08, 0.08, 0.08]}]}";

/* The base card with each `old` that stands in it exactly once replaced. */
static const char *edited(const char *text, const char *old, const char *new) {
    const char *at = strstr(text, old);
    cr_assert(at && !strstr(at + 1, old), "\"%s\" has to stand in the card once", old);
    return arena_printf(support_arena(), "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

static audit audit_text(const char *text) {
    file_bytes f = {.name = "<card>", .s = text, .len = strlen(text)};
    err e = {0};
    const card *c = NULL;
    audit out;
    cr_assert_eq(card_parse(support_cards(), &f, support_arena(), &c, &e), OK, "%s: %s", e.where,
                 e.what);
    cr_assert_eq(audit_card(c, support_chips(), support_arena(), &out, &e), OK, "%s", e.what);
    return out;
}

static const finding *find(const audit *a, const char *check) {
    for (size_t i = 0; i < a->findings_n; i++)
        if (strcmp(a->findings[i].check, check) == 0) return &a->findings[i];
    for (size_t i = 0; i < a->passes_n; i++)
        if (strcmp(a->passes[i].check, check) == 0) return &a->passes[i];
    return NULL;
}

/* The checks with this outcome that are heavier than a note, "a b". */
static const char *heavy(const audit *a, audit_outcome o) {
    const char *list = "";
    for (size_t i = 0; i < a->findings_n; i++) {
        const finding *f = &a->findings[i];
        if (f->outcome == o && f->weight > WEIGHT_NOTE)
            list = arena_printf(support_arena(), "%s%s%s", list, list[0] ? " " : "", f->check);
    }
    return list;
}

Test(card_audit, base_card_is_sound_and_complete) {
    audit a = audit_text(BASE);
    for (size_t i = 0; i < a.findings_n; i++)
        cr_expect_fail("%s: %s", a.findings[i].check, a.findings[i].why);
    cr_assert_eq(a.verdict, VERDICT_SOUND);
    cr_assert_str_eq(a.kind, "card");
    cr_assert_str_eq(a.id, "base");
    const finding *f = find(&a, "decode-stream");
    /* the step of one sequence: 7.4375e9 + 57,344,000 bytes in 55 ms */
    cr_assert_float_eq(f->found, (7.4375e9 + 57344000) / 0.055 / 1e9, 1e-9);
    cr_assert_float_eq(f->expected, 150, 1e-9);
    f = find(&a, "prefill-arithmetic");
    cr_assert_float_eq(f->found, 512 * 14e9 / 1.3 / 1e12, 1e-9, "512 tokens are the fastest");
    f = find(&a, "fits"); /* 8 sequences of 1000 tokens */
    cr_assert_float_eq(f->found, (7.4375e9 + 8000 * 57344.0) / 1073741824, 1e-9);
}

typedef struct edit {
    const char *what, *old, *new;
    rule_id rule;
    const char *check;
    audit_outcome outcome;
    verdict verdict;
    const char *fails, *opens; /* checks that fail, and that cannot tell, notes apart */
} edit;

#define B1 "[0.055, 0.055, 0.0551]"
#define B2 "[0.058, 0.058, 0.058]"
#define P16 "[0.061, 0.06, 0.06]"
#define P512 "[1.3, 1.3, 1.31]"
#define DENSE "\"architecture\": \"dense\", "

static const edit EDITS[] = {
    /* 7.4949e9 / 0.045 = 166.6 GB/s, 111 %; the weights alone 165.3 */
    {"decode above the bandwidth", B1, "[0.045, 0.045, 0.045]", R_ROOFLINE, "decode-stream",
     AUDIT_FAIL, VERDICT_DEFECT, "decode-stream decode-pass", ""},
    /* 156.1 GB/s, 104 %: an embedding that is not read can be that much */
    {"decode a little above it", B1, "[0.048, 0.048, 0.048]", R_ROOFLINE, "decode-stream",
     AUDIT_CANNOT_TELL, VERDICT_SOUND, "", "decode-stream decode-pass"},
    {"step below one pass", B1, "[0.045, 0.045, 0.045]", R_FLOOR, "decode-pass", AUDIT_FAIL,
     VERDICT_DEFECT, "decode-stream decode-pass", ""},
    /* 7.17 of 6.36 TFLOP/s: 113 %; at 1.08 s 6.64, 104 % */
    {"prefill above the arithmetic", P512, "[1.0, 1.0, 1.0]", R_ROOFLINE, "prefill-arithmetic",
     AUDIT_FAIL, VERDICT_DEFECT, "prefill-arithmetic", ""},
    {"prefill within its uncertainty", P512, "[1.08, 1.08, 1.08]", R_ROOFLINE, "prefill-arithmetic",
     AUDIT_CANNOT_TELL, VERDICT_SOUND, "", "prefill-arithmetic"},
    {"prefill below one pass", P16, "[0.04, 0.04, 0.04]", R_FLOOR, "prefill-pass", AUDIT_FAIL,
     VERDICT_DEFECT, "prefill-pass prefill-step", ""},
    /* 51.5 ms is above 49.6 and below 0.95 x 55 */
    {"prefill below the own step", P16, "[0.0515, 0.0515, 0.0515]", R_FLOOR, "prefill-step",
     AUDIT_FAIL, VERDICT_DEFECT, "prefill-step", ""},
    {"prefill as short as a step", P16, "[0.0525, 0.0525, 0.0525]", R_FLOOR, "prefill-step",
     AUDIT_PASS, VERDICT_SOUND, "", ""},
    {"a chip's figures left out", "\"mem_bw_bytes_s\": 150e9, \"fp16_flop_s\": 6.36e12, ", "",
     R_ROOFLINE, "decode-stream", AUDIT_PASS, VERDICT_SOUND, "", ""},
    {"bandwidth of another chip", "150e9", "200e9", R_CONSISTENCY, "bandwidth", AUDIT_FAIL,
     VERDICT_DEFECT, "bandwidth", ""},
    {"bandwidth of the catalogue, rounded", "150e9", "151e9", R_CONSISTENCY, "bandwidth",
     AUDIT_PASS, VERDICT_SOUND, "", ""},
    {"bandwidth in bits", "150e9", "1200e9", R_UNITS, "bandwidth", AUDIT_FAIL, VERDICT_DEFECT,
     "bandwidth", ""},
    {"bandwidth in GB/s", "150e9", "150", R_UNITS, "bandwidth", AUDIT_FAIL, VERDICT_DEFECT,
     "bandwidth decode-stream decode-pass prefill-pass", "time-unit"},
    {"arithmetic of another chip", "6.36e12", "7.4e12", R_CONSISTENCY, "arithmetic", AUDIT_FAIL,
     VERDICT_DEFECT, "arithmetic", ""},
    {"a chip that nobody lists", "Apple M3 Pro (18-core GPU)", "Z80", R_ROOFLINE, "decode-stream",
     AUDIT_PASS, VERDICT_SOUND, "", ""},
    /* B = 1 in milliseconds: a step of 55 s is 0.09 % of the bandwidth */
    {"milliseconds", B1, "[55, 55, 55.1]", R_UNITS, "time-unit", AUDIT_CANNOT_TELL, VERDICT_DEFECT,
     "prefill-step superlinear", "time-unit"},
    /* 8 sequences at 9 tok/s, one alone has 18.18 */
    {"rate of one sequence", "\"samples_s\": [0.08, 0.08, 0.08]", "\"tok_s\": 9", R_UNITS,
     "per-request", AUDIT_FAIL, VERDICT_DEFECT, "per-request", ""},
    {"a slow batch that was timed", "[0.08, 0.08, 0.08]", "[0.9, 0.9, 0.9]", R_MONO, "rate-fall",
     AUDIT_CANNOT_TELL, VERDICT_SOUND, "", ""},
    /* two sequences in 30 ms: 3.67 times the rate of one */
    {"more than B times one", "\"samples_s\": " B2, "\"tok_s\": 66.7", R_POPULATION, "superlinear",
     AUDIT_FAIL, VERDICT_DEFECT, "decode-stream decode-pass superlinear", ""},
    {"the same among points that are not used", "\"decode\": [",
     "\"decode\": [{\"batch_n\": 16, \"context_tok\": 1000, \"tok_s\": 2000, \"excluded\": "
     "\"x\"}, ",
     R_POPULATION, "superlinear", AUDIT_PASS, VERDICT_SOUND, "", ""},
    /* the mean of 116, 58 and 58 ms */
    {"mean over a cold sample", "\"samples_s\": " B2,
     "\"samples_s\": [0.116, 0.058, 0.058], \"step_s\": 0.0773", R_POPULATION, "cold-sample",
     AUDIT_FAIL, VERDICT_DEFECT, "cold-sample", ""},
    {"a cold sample left aside", B2, "[0.116, 0.058, 0.058]", R_POPULATION, "cold-sample",
     AUDIT_PASS, VERDICT_SOUND, "", ""},
    {"step that falls with the batch", "[0.08, 0.08, 0.08]", "[0.06, 0.06, 0.06]", R_MONO,
     "step-fall", AUDIT_CANNOT_TELL, VERDICT_SOUND, "", ""},
    {"longer prompt in less time", "[2.7, 2.7, 2.7]", "[1.2, 1.2, 1.2]", R_MONO, "prefill-fall",
     AUDIT_CANNOT_TELL, VERDICT_DEFECT, "prefill-arithmetic", ""},
    {"two values of one key", "\"decode\": [",
     "\"decode\": [{\"batch_n\": 2, \"context_tok\": 1000, \"samples_s\": [0.07, 0.07, 0.07]}, ",
     R_CONSISTENCY, "same-key", AUDIT_FAIL, VERDICT_DEFECT, "same-key", ""},
    {"two values, one of a single sample", "\"decode\": [",
     "\"decode\": [{\"batch_n\": 2, \"context_tok\": 1000, \"samples_s\": [0.07]}, ", R_CONSISTENCY,
     "same-key", AUDIT_CANNOT_TELL, VERDICT_SOUND, "", "same-key"},
    {"two values, one not used", "\"decode\": [",
     "\"decode\": [{\"batch_n\": 2, \"context_tok\": 1000, \"tok_s\": 20, \"excluded\": \"x\"}, ",
     R_CONSISTENCY, "same-key", AUDIT_CANNOT_TELL, VERDICT_SOUND, "", "same-key"},
    {"two values that agree", "\"decode\": [",
     "\"decode\": [{\"batch_n\": 2, \"context_tok\": 1000, \"samples_s\": [0.06, 0.06, 0.06]}, ",
     R_CONSISTENCY, "same-key", AUDIT_PASS, VERDICT_SOUND, "", ""},
    {"weights of another precision", "\"Q8_0\"", "\"Q4_0\"", R_MEMORY, "weight-bits", AUDIT_FAIL,
     VERDICT_DEFECT, "weight-bits", ""},
    /* 7437 bytes over 55 ms: a millionth of 90 % of the bandwidth */
    {"weights in MB", "7437500000", "7437", R_UNITS, "time-unit", AUDIT_CANNOT_TELL, VERDICT_DEFECT,
     "weight-bits", "time-unit"},
    {"bandwidth in GB/s", "150e9", "150", R_UNITS, "time-unit", AUDIT_CANNOT_TELL, VERDICT_DEFECT,
     "bandwidth decode-stream decode-pass prefill-pass", "time-unit"},
    /* 5e-6 of it: a thousand times that is idle still, a million times is more than all */
    {"a bandwidth that no prefix mends", "150e9", "27e15", R_UNITS, "time-unit", AUDIT_CANNOT_TELL,
     VERDICT_DEFECT, "bandwidth", "time-unit"},
    /* 7e9 parameters in 437.5e6 bytes are half a bit each */
    {"half a bit of a precision nobody knows",
     "\"Q8_0\", \"architecture\": \"dense\", \"params\": 7000000000, \"weights_bytes\": "
     "7437500000",
     "\"UD-X\", \"architecture\": \"dense\", \"params\": 7000000000, \"weights_bytes\": "
     "437500000",
     R_MEMORY, "weight-bits", AUDIT_FAIL, VERDICT_DEFECT, "weight-bits", ""},
    /* 28 layers x 4 heads x 128 x 128 are 1,835,008 parameters; 229,375 bytes are one bit less 1 */
    {"fewer bytes than the keys alone take",
     "\"params\": 7000000000, \"weights_bytes\": 7437500000", "\"weights_bytes\": 229375", R_MEMORY,
     "weight-shape", AUDIT_FAIL, VERDICT_DEFECT, "weight-shape", "time-unit prefill-arithmetic"},
    {"a precision nobody knows", "\"Q8_0\"", "\"UD-X\"", R_MEMORY, "weight-bits", AUDIT_CANNOT_TELL,
     VERDICT_SOUND, "", ""},
    {"weights above the memory", "38654705664", "7000000000", R_MEMORY, "fits", AUDIT_FAIL,
     VERDICT_DEFECT, "fits", ""},
    {"KV of the layers that keep none", DENSE, "\"architecture\": \"hybrid Gated-DeltaNet\", ",
     R_MEMORY, "kv-layers", AUDIT_FAIL, VERDICT_DEFECT, "kv-layers", ""},
    {"KV bytes of another type", "\"type_k\": \"f16\", \"type_v\": \"f16\"",
     "\"type_k\": \"q8_0\", \"type_v\": \"q8_0\"", R_MEMORY, "kv-element", AUDIT_FAIL,
     VERDICT_DEFECT, "kv-element", ""},
    {"no measurement behind it", "\"method\": ", "\"claim_only\": true, \"method\": ", R_EVIDENCE,
     "measured", AUDIT_CANNOT_TELL, VERDICT_CANNOT_TELL, "", "measured"},
    {"one claim among the points", "\"samples_s\": " B2,
     "\"tok_s\": 34.4, \"provenance\": \"claim\"", R_EVIDENCE, "measured", AUDIT_CANNOT_TELL,
     VERDICT_SOUND, "", "measured"},
    {"claims only", "\"provenance\": \"witnessed\"", "\"provenance\": \"claim\"", R_EVIDENCE,
     "measured", AUDIT_CANNOT_TELL, VERDICT_CANNOT_TELL, "", "measured"},
    {"build not stated", "\"build\": \"b1\", ", "", R_CONDITIONS, "settings", AUDIT_CANNOT_TELL,
     VERDICT_SOUND, "", ""},
    {"flash attention not stated", ", \"flash_attention\": true", "", R_CONDITIONS, "settings",
     AUDIT_CANNOT_TELL, VERDICT_SOUND, "", ""},
    {"flash attention off is stated", "\"flash_attention\": true", "\"flash_attention\": false",
     R_CONDITIONS, "settings", AUDIT_PASS, VERDICT_SOUND, "", ""},
    {"context not stated", "\"batch_n\": 8, \"context_tok\": 1000", "\"batch_n\": 8", R_CONDITIONS,
     "context", AUDIT_CANNOT_TELL, VERDICT_SOUND, "", ""},
    {"length not stated", "{\"n_prompt_tok\": 16, \"samples_s\": " P16 "}", "{\"tok_s\": 390}",
     R_CONDITIONS, "length", AUDIT_CANNOT_TELL, VERDICT_SOUND, "", ""},
};

/* The parameter is an index: each test runs in a process of its own, where pointers say nothing. */
ParameterizedTestParameters(card_audit, one_edit) {
    static size_t index[sizeof EDITS / sizeof *EDITS];
    for (size_t i = 0; i < sizeof EDITS / sizeof *EDITS; i++) index[i] = i;
    return cr_make_param_array(size_t, index, sizeof EDITS / sizeof *EDITS);
}

ParameterizedTest(const size_t *index, card_audit, one_edit) {
    const edit *t = &EDITS[*index];
    audit a = audit_text(edited(BASE, t->old, t->new));
    const finding *f = find(&a, t->check);
    cr_assert_not_null(f, "%s: no %s", t->what, t->check);
    cr_expect_str_eq(f->rule->id, RULES[t->rule].id, "%s: %s", t->what, f->why);
    cr_expect_eq(f->outcome, t->outcome, "%s: %s", t->what, f->why);
    cr_expect_eq(a.verdict, t->verdict, "%s: verdict %s", t->what, VERDICT_NAMES[a.verdict]);
    cr_expect_str_eq(heavy(&a, AUDIT_FAIL), t->fails, "%s: fails \"%s\"", t->what,
                     heavy(&a, AUDIT_FAIL));
    cr_expect_str_eq(heavy(&a, AUDIT_CANNOT_TELL), t->opens, "%s: opens \"%s\"", t->what,
                     heavy(&a, AUDIT_CANNOT_TELL));
}

/* ---- what decides between a fault and a mixture of experts ---- */

Test(card_audit, experts_read_a_part_of_their_weights) {
    static const struct {
        const char *architecture, *model;
        audit_outcome outcome;
        audit_weight weight;
    } CASES[] = {
        {DENSE, "m-7b", AUDIT_FAIL, WEIGHT_MAJOR},
        {"\"architecture\": \"qwen3moe\", ", "m-7b", AUDIT_CANNOT_TELL, WEIGHT_MINOR},
        {"\"architecture\": \"Mixture of Experts\", ", "m-7b", AUDIT_CANNOT_TELL, WEIGHT_MINOR},
        {"", "Qwen3-7B-A3B", AUDIT_CANNOT_TELL, WEIGHT_MINOR},
        {"", "Mixtral-8x7B", AUDIT_CANNOT_TELL, WEIGHT_MINOR},
        {"", "m-7b", AUDIT_CANNOT_TELL, WEIGHT_MAJOR}, /* nothing says that it is dense */
        {DENSE, "A-7B", AUDIT_FAIL, WEIGHT_MAJOR},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *text = edited(BASE, B1, "[0.03, 0.03, 0.03]");
        text = edited(text, DENSE, CASES[i].architecture);
        audit a = audit_text(edited(text, "m-7b", CASES[i].model));
        const finding *f = find(&a, "decode-stream");
        cr_expect_eq(f->outcome, CASES[i].outcome, "case %zu: %s", i, f->why);
        cr_expect_eq(f->weight, CASES[i].weight, "case %zu: %s", i, f->why);
    }
    /* 55 us: over 64 times the bandwidth; no expert is that small */
    const char *text = edited(BASE, B1, "[0.00055, 0.00055, 0.00055]");
    audit a = audit_text(edited(text, DENSE, ""));
    cr_expect_eq(find(&a, "decode-stream")->outcome, AUDIT_FAIL);
}

/* An RTX 4090 has 165.2 TFLOP/s in fp16 and 660.6 TOPS in int8: 200 T are possible for 8-bit
 * weights only. */
Test(card_audit, small_weights_run_on_integers) {
    const char *text = edited(BASE, "\"mem_bw_bytes_s\": 150e9, \"fp16_flop_s\": 6.36e12, ", "");
    text = edited(text, "Apple M3 Pro (18-core GPU)", "RTX 4090");
    text = edited(text, P512, "[0.03584, 0.03584, 0.03584]"); /* 512 x 14e9 / 0.03584 = 200e12 */
    audit a = audit_text(text);
    cr_expect_eq(find(&a, "prefill-arithmetic")->outcome, AUDIT_PASS);
    text = edited(text, "\"Q8_0\"", "\"F16\"");
    text = edited(text, "7437500000", "14000000000");
    a = audit_text(text);
    const finding *f = find(&a, "prefill-arithmetic");
    cr_expect_eq(f->outcome, AUDIT_FAIL);
    cr_expect_float_eq(f->expected, 165.2, 1e-9);
    cr_expect_float_eq(f->found, 200, 1e-9);
}

Test(card_audit, bytes_that_the_keys_leave_room_for) {
    const char *text = edited(BASE, "\"params\": 7000000000, ", "");
    audit a = audit_text(edited(text, "7437500000", "229376")); /* one bit for each, exactly */
    cr_expect_null(find(&a, "weight-shape"));
}

/* The catalogue's 6.36 TFLOP/s are the GPU's; its 150 GB/s are the whole chip's, one memory for
 * both. A graphics card's memory is no ceiling of a CPU beside it. */
Test(card_audit, a_cpu_is_not_held_against_the_gpu) {
    const char *text = edited(BASE, "\"mem_bw_bytes_s\": 150e9, \"fp16_flop_s\": 6.36e12, ", "");
    const char *by_engine = edited(text, "\"name\": \"e\"", "\"name\": \"e-cpu\"");
    const char *by_chip = edited(text, "18-core GPU", "12-core CPU");
    const char *by_threads =
        edited(text, "\"prefill\": [", "\"host\": {\"threads_n\": 6}, \"prefill\": [");
    const char *const CPUS[] = {by_engine, by_chip, by_threads};
    for (size_t i = 0; i < 3; i++) {
        audit a = audit_text(CPUS[i]);
        cr_expect_eq(find(&a, "prefill-arithmetic")->outcome, AUDIT_CANNOT_TELL, "case %zu", i);
        cr_expect_not_null(strstr(find(&a, "prefill-arithmetic")->why, "CPU"), "case %zu", i);
        cr_expect_float_eq(find(&a, "decode-stream")->expected, 150, 1e-9, "case %zu", i);
    }
    audit gpu = audit_text(text);
    cr_expect_float_eq(find(&gpu, "prefill-arithmetic")->expected, 6.36, 1e-9);
    audit own = audit_text(edited(BASE, "\"name\": \"e\"", "\"name\": \"e-cpu\""));
    cr_expect_float_eq(find(&own, "prefill-arithmetic")->expected, 6.36, 1e-9, "its own statement");
    cr_expect_null(find(&own, "arithmetic"), "nothing to compare it with");
    audit beside = audit_text(edited(by_engine, "Apple M3 Pro (18-core GPU)", "RTX 4090"));
    cr_expect_eq(find(&beside, "decode-stream")->outcome, AUDIT_CANNOT_TELL);
}

/* An M5 has a matrix unit that nobody states: its listed 4.15 TFLOP/s are no ceiling, not even when
 * a card copies them. */
Test(card_audit, a_lower_bound_is_no_ceiling) {
    const char *text = edited(BASE, "Apple M3 Pro (18-core GPU)", "Apple M5 (10-core GPU)");
    text = edited(text, "6.36e12", "4.15e12");
    text = edited(text, "150e9", "153e9");
    audit a = audit_text(text);
    cr_expect_eq(find(&a, "prefill-arithmetic")->outcome, AUDIT_CANNOT_TELL);
    cr_expect_eq(a.verdict, VERDICT_SOUND);
}

/* Small models keep embeddings at more bits than the name says. */
Test(card_audit, bits_of_small_mixes) {
    static const struct {
        const char *quant, *bytes;
        audit_outcome outcome;
    } CASES[] = {
        {"\"Q4_K_M\"", "606250000", AUDIT_PASS},        /* 4.85 bits of 1e9 */
        {"\"Q4_K - Medium\"", "606250000", AUDIT_PASS}, /* as llama.cpp writes it */
        {"\"Q4_K_M\"", "850000000", AUDIT_CANNOT_TELL}, /* 6.8: 40 % more */
        {"\"Q4_K_M\"", "1062500000", AUDIT_FAIL},       /* 8.5: 75 % more */
        {"\"Q4_K_M\"", "450000000", AUDIT_FAIL},        /* 3.6: 26 % less */
        {"\"F16\"", "2000000000", AUDIT_PASS},          {"\"F16\"", "2400000000", AUDIT_FAIL},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *text = edited(BASE, "\"params\": 7000000000", "\"params\": 1000000000");
        text = edited(text, "\"Q8_0\"", CASES[i].quant);
        audit a = audit_text(edited(text, "7437500000", CASES[i].bytes));
        const finding *f = find(&a, "weight-bits");
        cr_expect_eq(f->outcome, CASES[i].outcome, "case %zu: %s", i, f->why);
    }
}

/* ---- the shipped cards ---- */

Test(card_audit, no_shipped_card_is_a_defect) {
    card_entry *list;
    size_t n = 0, claims = 0;
    err e = {0};
    card_library lib = support_library();
    cr_assert_eq(card_list(&lib, support_arena(), &list, &n, &e), OK, "%s", e.what);
    cr_assert_geq(n, 11);
    for (size_t i = 0; i < n; i++) {
        audit a;
        cr_assert_not_null(list[i].c, "%s", list[i].error.what);
        cr_assert_eq(audit_card(list[i].c, support_chips(), support_arena(), &a, &e), OK);
        cr_expect_eq(a.verdict, list[i].c->claim_only ? VERDICT_CANNOT_TELL : VERDICT_SOUND,
                     "%s: %s", a.id, VERDICT_NAMES[a.verdict]);
        cr_expect_str_eq(heavy(&a, AUDIT_FAIL), "", "%s", a.id);
        claims += list[i].c->claim_only;
    }
    cr_expect_eq(claims, 1);
}

Test(card_audit, without_catalogue_and_without_memory) {
    file_bytes f = {.name = "<card>", .s = BASE, .len = sizeof BASE - 1};
    err e = {0};
    const card *c = NULL;
    audit a;
    cr_assert_eq(card_parse(support_cards(), &f, support_arena(), &c, &e), OK);
    cr_assert_eq(audit_card(c, NULL, support_arena(), &a, &e), OK);
    cr_expect_null(find(&a, "bandwidth"), "nothing to compare with");
    cr_expect_eq(a.verdict, VERDICT_SOUND);
    for (size_t budget = 64; budget < 16000; budget += 256) {
        arena *small = arena_new(budget);
        err full = {0};
        err_code code = audit_card(c, NULL, small, &a, &full);
        cr_expect(code == OK || code == E_LIMIT, "budget %zu", budget);
        arena_free(small);
    }
}
