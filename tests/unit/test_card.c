#include "card.h"

#include "temp.h"

#include "base/file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[TEMP_MAX];
static arena *mem;
static err e;

static void set_up(void) {
    temp_folder(dir, "card");
    mem = arena_new(256 * 1024 * 1024);
    e = (err){0};
}

static void tear_down(void) {
    DIR *d = opendir(dir);
    for (const struct dirent *it; (it = readdir(d));)
        if (it->d_name[0] != '.') unlink(arena_printf(mem, "%s/%s", dir, it->d_name));
    closedir(d);
    rmdir(dir);
    arena_free(mem);
}

TestSuite(card, .init = set_up, .fini = tear_down);

static card_library library(void) {
    return (card_library){.dirs = {dir}, .n = 1};
}

static void put(const char *name, const char *text) {
    err io = {0};
    cr_assert_eq(file_write(arena_printf(mem, "%s/%s", dir, name), text, strlen(text), &io), OK,
                 "%s", io.what);
}

/* A small card; `more` is spliced in, each member with its comma behind it. */
static const char *card_text(const char *id, const char *more) {
    return arena_printf(
        mem,
        "{\"schema\": \"ratecast.rate-card/1\", \"id\": \"%s\", \"title\": \"t\", \"method\": "
        "\"engine\", "
        "\"provenance\": \"witnessed\", \"source\": \"s\", %s \"model\": \"m\", \"quant\": \"q\"}",
        id, more);
}

#define PARTS "\"engine\": {\"name\": \"e\"}, \"hardware\": {\"chip\": \"c\"}, "
#define NO_PREFILL "\"prefill\": [], "
#define ONE_DECODE "\"decode\": [{\"batch_n\": 1, \"context_tok\": 64, \"tok_s\": 20}], "

static err_code parse(const char *text, const card **out) {
    card_library lib = library();
    file_bytes f = {.name = "c.json", .s = text, .len = strlen(text)};
    e = (err){0};
    return card_parse(&lib, &f, mem, out, &e);
}

static const card *good(const char *more) {
    const card *c = NULL;
    cr_assert_eq(parse(card_text("x", more), &c), OK, "%s: %s", e.where, e.what);
    return c;
}

/* ---- the warm sample, by hand from rates/README.md ---- */

Test(card, warm_sample) {
    static const struct {
        double s[6];
        size_t n;
        double want;
    } CASES[] = {
        {{0.0089, 0.0155, 0.0074},
         3,
         0.0074},                            /* the README's own cell: spread 109 %, the fastest */
        {{100, 110, 105}, 3, 105},           /* 10 %: the median */
        {{105, 100, 110}, 3, 105},           /* in any order */
        {{100, 120, 110}, 3, 110},           /* exactly 20 % is not more than 20 % */
        {{100, 121, 110}, 3, 100},           /* 21 % is */
        {{1.03, 1.00, 1.02, 1.01}, 4, 1.01}, /* of an even count the lower one */
        {{2, 2.1}, 2, 2},                    /* likewise */
        {{7}, 1, 7},
        {{5, 5, 5, 5, 9}, 5, 5},
        {{1, 1.1, 1.05, 1.06, 1.19, 1.15}, 6, 1.06}, /* sorted: 1 1.05 1.06 1.1 1.15 1.19 */
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        cr_assert(card_warm_sample_s(CASES[i].s, CASES[i].n) == CASES[i].want, "case %zu", i);
}

Test(card, samples_give_time_and_rate) {
    const card *c = good(
        PARTS "\"prefill\": [{\"n_prompt_tok\": 512, \"batch_n\": 2, \"samples_s\": [4, 1, 2]}], "
              "\"decode\": [{\"batch_n\": 4, \"samples_s\": [0.5, 0.25]}], ");
    const prefill_point *p = c->prefill;
    cr_assert(p->s == 1 && p->tok_s == 1024, "two prompts of 512 in one second");
    cr_assert_eq(p->origin.samples_n, 3);
    cr_assert(p->origin.samples_s[0] == 4 && p->origin.samples_s[2] == 2, "in the order measured");
    cr_assert_eq(p->depth_tok, 0);
    cr_assert(c->decode->step_s == 0.25 && c->decode->tok_s == 16, "aggregate over the batch");
    cr_assert_eq(c->decode->context_tok, -1, "not stated");
}

Test(card, rate_gives_time) {
    const card *c =
        good(PARTS "\"prefill\": [{\"n_prompt_tok\": 100, \"tok_s\": 50}, {\"tok_s\": 48.54}], "
                   "\"decode\": [{\"batch_n\": 5, \"tok_s\": 40}], ");
    cr_assert(c->prefill[0].s == 2);
    cr_assert_eq(c->prefill[1].n_prompt_tok, 0);
    cr_assert(c->prefill[1].s == 0 && c->prefill[1].tok_s == 48.54, "no length, no time");
    cr_assert(c->decode->step_s == 0.125);
}

/* 2 (K and V) x layers that keep KV x heads x head_dim x bytes. */
Test(card, kv_bytes_per_token) {
    card c = {.full_attention_layers = 28, .kv_heads = 4, .head_dim = 128, .kv_element_bytes = 2};
    cr_assert_eq(card_kv_bytes_per_tok(&c), 57344, "printed in the document on Qwen2.5-7B");
    c = (card){.full_attention_layers = 64, .kv_heads = 4, .head_dim = 256, .kv_element_bytes = 2};
    cr_assert_eq(card_kv_bytes_per_tok(&c), 262144, "printed in the head-to-head document");
    c.kv_element_bytes = 1.0625; /* Q8_0: 34 bytes for 32 elements */
    cr_assert_eq(card_kv_bytes_per_tok(&c), 139264);
    c.head_dim = 0;
    cr_assert_eq(card_kv_bytes_per_tok(&c), 0, "a factor is missing");
}

/* ---- what a field may be ---- */

Test(card, absent_fields_are_not_zero_where_zero_means_something) {
    const card *c = good(PARTS NO_PREFILL ONE_DECODE);
    cr_assert_eq(c->overhead_bytes, -1);
    cr_assert_eq(c->recurrent_state_bytes, -1);
    cr_assert_eq(c->engine.layout, KV_LAYOUT_UNSTATED);
    cr_assert_eq(c->weights_bytes, 0);
    cr_assert_null(c->extends);
    c = good(PARTS NO_PREFILL ONE_DECODE "\"overhead_bytes\": 0, \"recurrent_state_bytes\": 0, ");
    cr_assert_eq(c->overhead_bytes, 0);
    cr_assert_eq(c->recurrent_state_bytes, 0);
}

Test(card, faults_have_their_place) {
    static const struct {
        const char *more, *where, *what;
        err_code code;
    } CASES[] = {
        {PARTS NO_PREFILL ONE_DECODE "\"wieghts_bytes\": 1, ", "c.json#/wieghts_bytes",
         "weights_bytes", E_SCHEMA},
        {PARTS NO_PREFILL "\"decode\": [], ", "c.json#", "at least one", E_SCHEMA},
        {PARTS ONE_DECODE, "c.json#", "\"prefill\" is missing", E_SCHEMA},
        {NO_PREFILL ONE_DECODE "\"hardware\": {\"chip\": \"c\"}, ", "c.json#",
         "\"engine\" is missing", E_SCHEMA},
        {PARTS NO_PREFILL ONE_DECODE "\"id\": \"y\", ", "c.json#/id", "twice", E_SCHEMA},
        {PARTS NO_PREFILL "\"decode\": [{\"batch_n\": 0, \"tok_s\": 1}], ",
         "c.json#/decode/0/batch_n", "1", E_RANGE},
        {PARTS NO_PREFILL "\"decode\": [{\"batch_n\": 1, \"tok_s\": 0}], ",
         "c.json#/decode/0/tok_s", "> 0", E_RANGE},
        {PARTS NO_PREFILL "\"decode\": [{\"batch_n\": 1}], ", "c.json#/decode/0", "no measurement",
         E_SCHEMA},
        {PARTS NO_PREFILL "\"decode\": [{\"batch_n\": 2, \"step_s\": 1, \"tok_s\": 3}], ",
         "c.json#/decode/0", "disagree", E_RANGE},
        {PARTS NO_PREFILL "\"decode\": [{\"batch_n\": 1, \"step_s\": 3, \"samples_s\": [1, 2]}], ",
         "c.json#/decode/0", "above all of its samples", E_RANGE},
        {PARTS "\"prefill\": [{\"s\": 1}], \"decode\": [], ", "c.json#/prefill/0", "n_prompt_tok",
         E_SCHEMA},
        {PARTS "\"prefill\": [{\"n_prompt_tok\": 5, \"samples_s\": [1, -1]}], \"decode\": [], ",
         "c.json#/prefill/0/samples_s/1", "> 0", E_RANGE},
        {PARTS NO_PREFILL ONE_DECODE "\"layers\": 4, \"full_attention_layers\": 5, ",
         "c.json#/full_attention_layers", "at most layers = 4", E_RANGE},
        {PARTS NO_PREFILL ONE_DECODE
         "\"field_provenance\": {\"layers\": {\"provenance\": \"guess\", \"source\": \"s\"}}, ",
         "c.json#/field_provenance/layers/provenance", "\"witnessed\"", E_SCHEMA},
        {PARTS NO_PREFILL ONE_DECODE
         "\"field_provenance\": {\"layer\": {\"provenance\": \"claim\", \"source\": \"s\"}}, ",
         "c.json#/field_provenance/layer", "layers", E_SCHEMA},
        {"\"engine\": {\"name\": \"e\", \"kv_layout\": \"both\"}, \"hardware\": {\"chip\": "
         "\"c\"}, " NO_PREFILL ONE_DECODE,
         "c.json#/engine/kv_layout", "\"split\", \"unified\"", E_SCHEMA},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const card *c = NULL;
        cr_assert_eq(parse(card_text("x", CASES[i].more), &c), CASES[i].code, "case %zu: %s", i,
                     e.what);
        cr_assert_eq(strncmp(e.where, CASES[i].where, strlen(CASES[i].where)), 0, "case %zu: %s", i,
                     e.where);
        cr_assert_not_null(strstr(e.what, CASES[i].what), "case %zu: %s", i, e.what);
        cr_assert_null(c, "case %zu", i);
    }
}

Test(card, schema_and_id) {
    const card *c = NULL;
    cr_assert_eq(parse("{\"schema\": \"ratecast.rate-card/2\"}", &c), E_SCHEMA);
    cr_assert_str_eq(e.where, "c.json#/schema");
    cr_assert_eq(parse(card_text("Upper", PARTS NO_PREFILL ONE_DECODE), &c), E_RANGE);
    cr_assert_str_eq(e.where, "c.json#/id");
    cr_assert_eq(parse("[]", &c), E_SCHEMA);
    cr_assert_eq(parse("3", &c), E_SCHEMA);
}

/* ---- provenance ---- */

Test(card, points_take_the_cards_provenance) {
    const card *c =
        good(PARTS NO_PREFILL
             "\"decode\": [{\"batch_n\": 1, \"tok_s\": 1}, {\"batch_n\": 2, \"tok_s\": 2, "
             "\"provenance\": \"claim\", \"source\": \"page 3\", \"excluded\": \"why\"}], ");
    cr_assert_eq(c->decode[0].origin.prov, PROV_WITNESSED);
    cr_assert_str_eq(c->decode[0].origin.source, "s");
    cr_assert_null(c->decode[0].origin.excluded);
    cr_assert_eq(c->decode[1].origin.prov, PROV_CLAIM);
    cr_assert_str_eq(c->decode[1].origin.source, "page 3");
    cr_assert_str_eq(c->decode[1].origin.excluded, "why");
}

Test(card, fields_take_the_weakest_of_their_own_and_the_cards) {
    const card *c = good(PARTS NO_PREFILL ONE_DECODE
                         "\"field_provenance\": {\"note\": \"n\", "
                         "\"kv_heads\": {\"provenance\": \"derived\", \"source\": \"a\"}, "
                         "\"head_dim\": {\"provenance\": \"assumed\", \"source\": \"b\"}}, ");
    cr_assert_eq(c->kv_prov, PROV_ASSUMED);
    cr_assert_eq(c->weights_prov, PROV_WITNESSED, "nothing is said about it: the card's");
}

/* ---- extends ---- */

static const card *find_ok(card_library *lib, const char *ref) {
    const card *c = NULL;
    e = (err){0};
    cr_assert_eq(card_find(lib, ref, dir, mem, &c, &e), OK, "%s: %s", e.where, e.what);
    return c;
}

static void put_parent(void) {
    put("parent.json",
        "{\"schema\": \"ratecast.rate-card/1\", \"id\": \"parent\", \"title\": \"p\", \"method\": "
        "\"engine\", "
        "\"provenance\": \"derived\", \"source\": \"parent's source\", \"note\": \"parent's "
        "note\", \"model\": \"m\", "
        "\"quant\": \"q\", \"weights_bytes\": 1000, \"layers\": 10, \"claim_only\": true, " PARTS
        "\"prefill\": [{\"n_prompt_tok\": 8, \"tok_s\": 4}], \"decode\": [{\"batch_n\": 1, "
        "\"tok_s\": 2, "
        "\"source\": \"the point's own\"}]}");
}

#define CHILD_HEAD                                                                                 \
    "{\"schema\": \"ratecast.rate-card/1\", \"id\": \"child\", \"extends\": \"parent\", "          \
    "\"title\": \"c\", "                                                                           \
    "\"method\": \"import\", \"provenance\": \"witnessed\", \"source\": \"child's source\", "

Test(card, extends_takes_whole_fields_that_are_missing) {
    put_parent();
    put("child.json",
        CHILD_HEAD "\"weights_bytes\": 2000, \"engine\": {\"name\": \"other\"}, \"prefill\": []}");
    card_library lib = library();
    const card *c = find_ok(&lib, "child");
    cr_assert_str_eq(c->extends, "parent");
    cr_assert_str_eq(c->title, "c");
    cr_assert_str_eq(c->model, "m", "taken over");
    cr_assert_eq(c->layers, 10, "taken over");
    cr_assert_eq(c->weights_bytes, 2000, "its own");
    cr_assert_str_eq(c->engine.name, "other", "its own object, whole");
    cr_assert_str_eq(c->hardware.chip, "c", "taken over");
    cr_assert_eq(c->prefill_n, 0, "its own, though empty");
    cr_assert_eq(c->decode_n, 1, "taken over");
    cr_assert_not(c->claim_only, "a card says this for itself");
}

/* A child that says "false" would launder its parent's times. */
Test(card, a_simulated_device_stays_one) {
    put("parent.json",
        "{\"schema\": \"ratecast.rate-card/1\", \"id\": \"parent\", \"title\": \"p\", \"method\": "
        "\"probe\", \"provenance\": \"modeled\", \"source\": \"s\", \"simulated_device\": true, "
        "\"model\": \"m\", \"quant\": \"q\", " PARTS
        "\"prefill\": [{\"n_prompt_tok\": 8, \"tok_s\": 4}], \"decode\": []}");
    put("child.json", CHILD_HEAD "\"simulated_device\": false}");
    card_library lib = library();
    const card *c = find_ok(&lib, "child");
    cr_assert(c->simulated_device);
    e = (err){0};
    cr_assert_eq(card_usable(&lib, c, &e), E_REFUSED);
    cr_assert_not_null(strstr(e.what, "--allow-simulated-device"));
    e = (err){0};
    lib.allow_simulated = true;
    cr_assert_eq(card_usable(&lib, c, &e), OK);
}

Test(card, points_taken_over_keep_where_they_came_from) {
    put_parent();
    put("child.json", CHILD_HEAD "\"quant\": \"q2\"}");
    card_library lib = library();
    const card *c = find_ok(&lib, "child");
    cr_assert_eq(c->prov, PROV_WITNESSED);
    cr_assert_eq(c->prefill[0].origin.prov, PROV_DERIVED, "the parent's, not the child's");
    cr_assert_str_eq(c->prefill[0].origin.source, "parent's source");
    cr_assert_str_eq(c->decode[0].origin.source, "the point's own");
    cr_assert_eq(c->decode[0].origin.prov, PROV_DERIVED);
}

Test(card, extends_over_two_steps) {
    put_parent();
    put("child.json", CHILD_HEAD "\"layers\": 20}");
    put("grand.json", "{\"schema\": \"ratecast.rate-card/1\", \"id\": \"grand\", \"extends\": "
                      "\"child\", \"title\": \"g\", "
                      "\"method\": \"engine\", \"provenance\": \"claim\", \"source\": \"g\"}");
    card_library lib = library();
    const card *c = find_ok(&lib, "grand");
    cr_assert_eq(c->layers, 20);
    cr_assert_eq(c->weights_bytes, 1000);
    cr_assert_eq(c->prefill[0].origin.prov, PROV_DERIVED, "still the first card's");
}

static void find_fails(const char *ref, err_code code, const char *what) {
    card_library lib = library();
    const card *c = NULL;
    e = (err){0};
    cr_assert_eq(card_find(&lib, ref, dir, mem, &c, &e), code, "%s: %s", ref, e.what);
    cr_assert_not_null(strstr(e.what, what), "%s: %s", ref, e.what);
    cr_assert_null(c);
}

static const char *extending(const char *id, const char *parent) {
    return card_text(
        id, arena_printf(mem, "\"extends\": \"%s\", " PARTS NO_PREFILL ONE_DECODE, parent));
}

Test(card, extends_in_a_circle) {
    put("a.json", extending("a", "b"));
    put("b.json", extending("b", "c"));
    put("c.json", extending("c", "a"));
    put("self.json", extending("self", "self"));
    find_fails("a", E_SCHEMA, "cyclic");
    find_fails("self", E_SCHEMA, "cyclic");
}

Test(card, extends_what_is_not_there) {
    put_parent();
    put("orphan.json", extending("orphan", "parant"));
    find_fails("orphan", E_SCHEMA, "nearest id is \"parent\"");
    cr_assert_not_null(strstr(e.where, "orphan.json#/extends"), "%s", e.where);
}

Test(card, faults_of_the_parent_are_found_in_its_file) {
    put("parent.json", card_text("parent", PARTS NO_PREFILL ONE_DECODE "\"layers\": -1, "));
    put("child.json", extending("child", "parent"));
    find_fails("child", E_RANGE, "whole number");
    cr_assert_not_null(strstr(e.where, "parent.json#/layers"), "%s", e.where);
}

Test(card, long_chains_are_refused) {
    put("c0.json", card_text("c0", PARTS NO_PREFILL ONE_DECODE));
    for (int i = 1; i < 40; i++)
        put(arena_printf(mem, "c%d.json", i),
            extending(arena_printf(mem, "c%d", i), arena_printf(mem, "c%d", i - 1)));
    card_library lib = library();
    find_ok(&lib, "c5");
    find_fails("c39", E_LIMIT, "extend");
}

/* ---- the library ---- */

Test(card, unknown_id_names_the_nearest) {
    put_parent();
    find_fails("parnt", E_SCHEMA, "\"parent\"");
}

Test(card, two_cards_with_one_id) {
    put("one.json", card_text("twin", PARTS NO_PREFILL ONE_DECODE));
    put("two.json", card_text("twin", PARTS NO_PREFILL ONE_DECODE));
    put("other.json", card_text("other", PARTS NO_PREFILL ONE_DECODE));
    find_fails("twin", E_SCHEMA, "second card with id \"twin\"");
    card_library lib = library();
    find_ok(&lib, "other");
}

Test(card, two_folders_share_one_name_space) {
    char second[TEMP_MAX];
    temp_folder(second, "card2");
    put("one.json", card_text("twin", PARTS NO_PREFILL ONE_DECODE));
    const char *path = arena_printf(mem, "%s/two.json", second),
               *text = card_text("twin", PARTS NO_PREFILL ONE_DECODE);
    cr_assert_eq(file_write(path, text, strlen(text), &e), OK);
    card_library lib = {.dirs = {dir, second}, .n = 2};
    const card *c = NULL;
    err_code code = card_find(&lib, "twin", NULL, mem, &c, &e);
    unlink(path);
    rmdir(second);
    cr_assert_eq(code, E_SCHEMA);
}

Test(card, missing_folder) {
    card_library lib = {.dirs = {"/nonexistent-ratecast"}, .n = 1};
    const card *c = NULL;
    cr_assert_eq(card_find(&lib, "x", NULL, mem, &c, &e), E_IO);
    cr_assert_str_eq(e.where, "/nonexistent-ratecast");
}

Test(card, reference_by_path_is_relative_to_the_base) {
    put("file.json", card_text("some-id", PARTS NO_PREFILL ONE_DECODE));
    card_library lib = library();
    cr_assert_str_eq(find_ok(&lib, "file.json")->id, "some-id");
    cr_assert_str_eq(find_ok(&lib, "./file.json")->id, "some-id");
    cr_assert_str_eq(find_ok(&lib, arena_printf(mem, "%s/file.json", dir))->id, "some-id");
}

Test(card, list_keeps_bad_cards_with_their_error) {
    put("a.json", card_text("a", PARTS NO_PREFILL ONE_DECODE));
    put("b.json", card_text("b", PARTS NO_PREFILL ONE_DECODE "\"layers\": 0, "));
    put("not-a-card.json", "{\"schema\": \"other/1\", \"id\": \"z\"}");
    put("broken.json", "{");
    put("readme.txt", card_text("txt", PARTS NO_PREFILL ONE_DECODE));
    card_library lib = library();
    card_entry *list = NULL;
    size_t n = 0;
    cr_assert_eq(card_list(&lib, mem, &list, &n, &e), OK);
    cr_assert_eq(n, 2);
    cr_assert_str_eq(list[0].c->id, "a");
    cr_assert_null(list[1].c);
    cr_assert_eq(list[1].error.code, E_RANGE);
}

/* ---- what is shipped ---- */

typedef struct shipped {
    const char *id;
    size_t prefill_n, decode_n;
    int64_t kv_bytes;
} shipped;

/* Point counts from the table in rates/README.md; KV bytes from the models' published shapes. */
static const shipped SHIPPED[] = {
    {"qwen3.8-27b-q4_k_m-m3pro-fak", 1, 2, 2 * 16 * 1024 * 2},
    {"qwen3.8-27b-q4_k_m-m3pro-llamacpp", 0, 2, 2 * 16 * 1024 * 2},
    {"qwen3.8-27b-ud-q2_k_xl-m3pro", 1, 0, 2 * 16 * 1024 * 2},
    {"qwen2.5-7b-instruct-q8_0-m3pro", 6, 5, 57344},
    {"smollm2-135m-m3pro-fak-cpu", 5, 0, 0},
    {"qwen2-7b-like-q8_0-h200-split", 140, 101, 57344},
    {"qwen2-7b-like-q8_0-h200-unified", 110, 71, 57344},
    {"qwen2-1.5b-like-q8_0-h200-split", 79, 46, 2 * 28 * 2 * 128 * 2},
    {"qwen2-1.5b-like-q8_0-h200-unified", 89, 56, 2 * 28 * 2 * 128 * 2},
    {"qwen2-60m-like-q8_0-cpu-t1", 34, 16, 2 * 8 * 2 * 64 * 2},
    {"qwen2-60m-like-q8_0-cpu-t2", 34, 16, 2 * 8 * 2 * 64 * 2},
    {"gpt-oss-20b-mxfp4-m2-ultra-192gb", 23, 23, 2 * 12 * 8 * 64 * 2},
    {"gpt-oss-120b-mxfp4-gb10", 23, 23, 2 * 18 * 8 * 64 * 2},
    {"qwen2.5-coder-7b-q8_0-gb10", 23, 23, 57344},
    {"glm-4.7-flash-q8_0-gb10", 23, 23, 47 * 576 * 2}, /* one latent for K and V */
    {"nemotron-3-nano-4b-q8_0-gb10", 23, 23, 0},
    {"qwen2.5-32b-like-q4_k_m-h200", 21, 15, 2 * 64 * 8 * 128 * 2},
    {"meta-llama-3-8b-q4_k_m-rtx4090", 4, 4, 2 * 32 * 8 * 128 * 2},
    {"llama-2-7b-q4_0-h100", 1, 1, 2 * 32 * 32 * 128 * 2},
};

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

Test(card, shipped_cards_all_load) {
    card_library lib = {.dirs = {RATECAST_REPO "/rates"}, .n = 1};
    card_entry *list = NULL;
    size_t n = 0;
    cr_assert_eq(card_list(&lib, mem, &list, &n, &e), OK, "%s", e.what);
    cr_assert_geq(n, sizeof SHIPPED / sizeof *SHIPPED);
    for (size_t i = 0; i < n; i++) {
        cr_assert_not_null(list[i].c, "%s: %s %s", list[i].path, list[i].error.where,
                           list[i].error.what);
        const char *want = arena_printf(mem, "%s.json", list[i].c->id);
        cr_assert_str_eq(file_name(list[i].path), want, "the file is the id with .json");
        cr_assert_eq(strlen(list[i].c->sha256), 64);
    }
}

Test(card, shipped_cards_hold_what_the_readme_says) {
    card_library lib = {.dirs = {RATECAST_REPO "/rates"}, .n = 1};
    for (size_t i = 0; i < sizeof SHIPPED / sizeof *SHIPPED; i++) {
        const card *c = find_ok(&lib, SHIPPED[i].id);
        cr_assert_eq(c->prefill_n, SHIPPED[i].prefill_n, "%s: %zu prefill points", c->id,
                     c->prefill_n);
        cr_assert_eq(c->decode_n, SHIPPED[i].decode_n, "%s: %zu decode points", c->id, c->decode_n);
        cr_assert_eq(card_kv_bytes_per_tok(c), SHIPPED[i].kv_bytes, "%s", c->id);
        cr_assert_eq(c->claim_only, strcmp(c->id, "qwen3.8-27b-ud-q2_k_xl-m3pro") == 0, "%s",
                     c->id);
    }
    const card *fak = find_ok(&lib, SHIPPED[0].id), *llama = find_ok(&lib, SHIPPED[1].id);
    cr_assert_eq(fak->kv_prov, PROV_ASSUMED);
    cr_assert(fak->decode[0].tok_s == 7.61 && llama->decode[0].tok_s == 7.38 &&
              fak->prefill[0].tok_s == 48.54);
    cr_assert_not_null(fak->decode[1].origin.excluded);
    cr_assert_eq(llama->weights_bytes, 17106775008, "inherited");
}

/* The card that rates/README.md prints for its readers has to load as it stands. */
Test(card, readme_example_loads) {
    file_bytes f = {0};
    cr_assert_eq(file_read(RATECAST_REPO "/rates/README.md", mem, &f, &e), OK);
    const char *start = strstr(f.s, "```json\n");
    cr_assert_not_null(start);
    start += 8;
    const char *stop = strstr(start, "```");
    file_bytes block = {.name = "README.md", .s = start, .len = (size_t)(stop - start)};
    card_library lib = library();
    const card *c = NULL;
    cr_assert_eq(card_parse(&lib, &block, mem, &c, &e), OK, "%s: %s", e.where, e.what);
    cr_assert_str_eq(c->id, "my-model-q4_k_m-my-machine");
}

/* Whatever the budget, loading either works or is refused: never a card without what it extends. */
Test(card, any_memory_budget) {
    put_parent();
    /* short parts of its own: it would load without its parent too, only without layers */
    put("child.json", CHILD_HEAD "\"model\": \"m\", \"quant\": \"q\", " PARTS NO_PREFILL
                                 "\"decode\": [{\"batch_n\": 1, \"tok_s\": 1}]}");
    size_t loaded = 0, refused = 0;
    for (size_t budget = 64; budget < 120000; budget += budget < 60000 ? 16 : 4096) {
        arena *small = arena_new(budget);
        card_library lib = library();
        const card *c = NULL;
        err why = {0};
        if (card_find(&lib, "child", dir, small, &c, &why) == OK) {
            loaded++;
            cr_assert_eq(c->layers, 10, "budget %zu: a field that comes from the parent", budget);
        } else {
            refused++;
            cr_assert_neq(why.code, OK, "budget %zu", budget);
            cr_assert_null(c, "budget %zu", budget);
        }
        arena_free(small);
    }
    cr_assert(loaded > 0 && refused > 0, "%zu loaded, %zu refused", loaded, refused);
}
