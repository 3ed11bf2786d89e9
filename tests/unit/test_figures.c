/* The list of the documents' figures, and the loader of such lists. Every "does not follow" has the
 * value that must come out instead, worked out here from the documents' own parts; then P + 1 in
 * all scenarios shows that nothing printed is computed with. */
#include "support.h"

#include "temp.h"

#include "figures.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char LIST[] = RATECAST_REPO "/reports/figures.json";

static figure_list shipped(const char *scenario_dir) {
    figure_list l;
    err e = {0};
    cr_assert_eq(figures_run(LIST, scenario_dir, support_cards(), support_arena(), &l, &e), OK,
                 "%s: %s", e.where, e.what);
    return l;
}

/* ---- the shipped list ---- */

typedef struct refuted {
    const char *id, *regenerated;
    double value; /* in the printed unit */
} refuted;

enum { REFUTED_MAX = 64 };

/* The session of the published 4k: K = 4, H = 20, 64 output tokens a turn. */
static size_t head_to_head(refuted *r) {
    double bytes = 17106775008, prefix = 4096 / 65.0, out = 4 * 20 * 64;
    double fak_rate = 7.61 * (1 + 0.35 * 3), llama_rate = 7.38 * (1 + 0.15 * 3);
    double fak = prefix + 80 * 0.012 + out / fak_rate + 1.6;
    double llama = 4 * prefix + 80 * 0.012 * (1 + 0.25 * 3) + out / llama_rate;
    double legacy = llama + 4 * 3 / 2.0 * prefix + 80 * 7.5;
    const refuted rows[] = {
        {"h056", "8.77", 150e9 / bytes}, {"h057", "114", 1000 * bytes / 150e9},
        {"h058", "15.6", fak_rate},      {"h059", "10.7", llama_rate},
        {"h060", "1.86", llama / fak},   {"h061", "393.8", fak},
        {"h062", "1710.3", legacy},      {"h063", "4.34", legacy / fak},
    };
    memcpy(r, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

static double on_gb(double k) {
    return 0.224 + k * 0.456;
}

static size_t cache_ab(refuted *r) {
    double reused = 15 * 4096.0, presented = 16 * (4096.0 + 256);
    double kv = 28 * 4 * 128 * 2 * 2; /* layers, KV heads, head size, K and V, 2 bytes */
    const refuted rows[] = {
        {"a007", "0.68", on_gb(1)},
        {"a008", "1.5", 1 / on_gb(1)},
        {"a015", "2.05", on_gb(4)},
        {"a016", "2.0", 4 / on_gb(4)},
        {"a023", "3.87", on_gb(8)},
        {"a031", "5.70", on_gb(12)},
        {"a036", "88.24", 100 * reused / presented},
        {"a039", "7.52", on_gb(16)},
        {"a083", "56", floor((26 - 0.224) / 0.456)},
        {"a092", "0.235", 4096 * kv / 1e9},
        {"a093", "7.52", on_gb(16)},
        {"a095", "2.13", 16 / on_gb(16)},
        {"a099", "0.88235", reused / presented},
        {"a100", "0.88235", reused / presented},
    };
    memcpy(r, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* 5 agents, 200 turns, P = 2,048, 20 out and 12 in from the second turn on. */
static size_t fleet(refuted *r) {
    double naive = 5 * (200 * 2048.0 + (20 + 12) * 200 * 199 / 2.0), out = 5 * 200 * 20;
    double shared = 2048 + 5 * 199 * 12;
    const refuted rows[] = {
        {"f007", "374", naive / shared},
        {"f024", "29.56", (naive / 392.1 + out / 17.41) / (shared / 392.1 + out / 44)},
        {"f026", "53", (shared / 16 + out / 8.7) / 60},
    };
    memcpy(r, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

static const refuted *find(const refuted *r, size_t n, const char *id) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(r[i].id, id) == 0) return &r[i];
    return NULL;
}

Test(figures, the_shipped_list_regenerates) {
    refuted r[REFUTED_MAX];
    size_t n = head_to_head(r);
    n += cache_ab(r + n);
    n += fleet(r + n);
    figure_list l = shipped(RATECAST_REPO "/scenarios");
    cr_expect_eq(l.count[FIGURE_DIFFERS], 0);
    cr_expect_geq(l.n, 120);
    cr_expect_eq(l.count[FIGURE_NOT], n, "%zu do not follow, expected %zu", l.count[FIGURE_NOT], n);
    for (size_t i = 0; i < l.n; i++) {
        const figure *f = &l.figures[i];
        if (f->status != FIGURE_NOT) continue;
        const refuted *want = find(r, n, f->id);
        cr_expect_not_null(want, "%s does not follow, the test has no value for it", f->id);
        if (!want) continue;
        cr_expect_str_eq(f->regenerated, want->regenerated, "%s: %s", f->id, f->regenerated);
        cr_expect_float_eq(f->value, want->value, 1e-7 * want->value, "%s: %.12g, expected %.12g",
                           f->id, f->value, want->value);
    }
}

Test(figures, ids_are_unique_and_reasons_are_given) {
    figure_list l = shipped(RATECAST_REPO "/scenarios");
    for (size_t i = 0; i < l.n; i++) {
        const figure *f = &l.figures[i];
        for (size_t j = 0; j < i; j++) cr_expect_str_neq(f->id, l.figures[j].id, "%s", f->id);
        bool reason = f->status == FIGURE_NOT || f->status == FIGURE_GIVEN;
        cr_expect_eq(f->reason != NULL, reason, "%s", f->id);
        cr_expect_eq(f->regenerated == NULL, f->status == FIGURE_GIVEN, "%s", f->id);
    }
}

/* ---- P + 1 ---- */

static char *read_text(const char *path) {
    err e = {0};
    file_bytes f = {0};
    cr_assert_eq(file_read(path, support_arena(), &f, &e), OK, "%s", e.what);
    return arena_strdup(support_arena(), f.s);
}

static void write_text(const char *path, const char *text) {
    err e = {0};
    cr_assert_eq(file_write(path, text, strlen(text), &e), OK, "%s", e.what);
}

static void longer_prefix(const char *root, const char *name) {
    arena *mem = support_arena();
    char *text = read_text(arena_printf(mem, "%s/scenarios/%s", RATECAST_REPO, name));
    char *at = strstr(text, "\"P\": "), *rest;
    cr_assert_not_null(at, "%s", name);
    cr_assert_null(strstr(at + 1, "\"P\": "), "%s", name);
    at += strlen("\"P\": ");
    long long P = strtoll(at, &rest, 10);
    cr_assert(P > 0 && rest > at);
    *at = '\0';
    write_text(arena_printf(mem, "%s/scenarios/%s", root, name),
               arena_printf(mem, "%s%lld%s", text, P + 1, rest));
}

/* The files that the shipped list reads. */
static const char *const FILES[] = {"published/head_to_head_4k.json",
                                    "published/head_to_head_20k.json",
                                    "published/legacy_4k.json",
                                    "published/cache_ab.json",
                                    "published/fleet_5x200.json",
                                    "head_to_head_4k.json",
                                    "cache_ab.json",
                                    "fleet_5x200.json"};
enum { FILES_N = sizeof FILES / sizeof *FILES };

static bool among(const char *word, const char *const *words) {
    for (; *words; words++)
        if (strcmp(*words, word) == 0) return true;
    return false;
}

static bool begins(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

/* Does this reference depend on P? By metric name; where that does not decide, by arm. */
static bool reference_depends(const char *ref) {
    static const char *const ALWAYS[] = {"wall_s",
                                         "prefill_s",
                                         "presented_tok",
                                         "computed_tok",
                                         "effective_tok_s",
                                         "prefix_tok_computed",
                                         "prefix_kv_bytes",
                                         "agents_per_gib",
                                         "decode_mean_tok_s", /* physical: attention over context */
                                         NULL};
    static const char *const NEVER[] = {"prefix_evals",
                                        "output_tok",
                                        "weights_bytes",
                                        "kv_bytes_per_tok",
                                        "turn_constants_s",
                                        "bandwidth_ceiling_tok_s",
                                        "weight_stream_s",
                                        "decode_s", /* of published arms: flat rates */
                                        "decode_used_tok_s",
                                        "reused_across_agents_tok", /* of isolated slots: 0 */
                                        "reused_across_agents_frac",
                                        NULL};
    if (begins(ref, "card ")) return false;
    const char *metric = strrchr(ref, '.') + 1;
    if (among(metric, ALWAYS)) return true;
    if (among(metric, NEVER)) return false;
    /* nobody's prefix is found: cache off, or one agent with one turn */
    if (begins(metric, "reused_")) return !strstr(ref, "/cache-off.") && !begins(ref, "ab1/");
    /* the A/B document counts memory by agents, not by tokens */
    if (strcmp(metric, "peak_bytes") == 0) return !begins(ref, "ab");
    if (strcmp(metric, "agents_per_gb") == 0) return false;
    if (strcmp(metric, "largest_k_in_budget") == 0) return false;
    /* the formula's warm turns are constants, its cold turns are prefixes */
    if (begins(metric, "claimed_ttft_")) return strstr(ref, "/llama.cpp.") != NULL;
    cr_assert_fail("%s: the test does not know this metric", ref);
    return false;
}

static bool depends(const cJSON *value) {
    if (cJSON_IsString(value)) return reference_depends(value->valuestring);
    const cJSON *a = cJSON_GetArrayItem(value, 1), *b = cJSON_GetArrayItem(value, 2);
    return depends(a) || depends(b);
}

/* Card rate over a ratio of presented tokens that is K, whatever P is. */
static const char *const CANCELS[] = {"f029", "f030", NULL};

static char root[TEMP_MAX];

static void drop(void) {
    if (root[0]) temp_remove(root);
}

Test(figures, nothing_printed_is_computed_with, .timeout = 120, .fini = drop) {
    arena *mem = support_arena();
    temp_folder(root, "figures");
    const char *dir = arena_printf(mem, "%s/scenarios", root),
               *published = arena_printf(mem, "%s/published", dir);
    cr_assert(mkdir(dir, 0700) == 0 && mkdir(published, 0700) == 0);
    for (size_t i = 0; i < FILES_N; i++) longer_prefix(root, FILES[i]);
    figure_list before = shipped(RATECAST_REPO "/scenarios"), after = shipped(dir);
    cJSON *list = cJSON_Parse(read_text(LIST));
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(list, "figures"), *o;
    cr_assert_eq((size_t)cJSON_GetArraySize(items), before.n);
    cr_assert_eq(after.n, before.n);
    size_t i = 0, moved_n = 0, still_n = 0;
    cJSON_ArrayForEach(o, items) {
        const figure *a = &before.figures[i], *b = &after.figures[i];
        i++;
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(o, "value");
        if (!value) continue;
        bool must = depends(value) && !among(a->id, CANCELS), moved = a->value != b->value;
        cr_expect_eq(moved, must, "%s (%s): %.15g, with P + 1 %.15g, expected it %s", a->id,
                     a->what, a->value, b->value, must ? "to move" : "to stay");
        moved_n += moved;
        still_n += !moved;
    }
    cr_expect(moved_n > 80 && still_n > 30, "%zu moved, %zu stayed", moved_n, still_n);
    cr_expect_gt(after.count[FIGURE_DIFFERS], 0);
    cJSON_Delete(list);
}

/* ---- lists of figures ---- */

static err_code parse_with(const char *more_scenarios, const char *figures, figure_list *out,
                           err *e) {
    const char *text =
        arena_printf(support_arena(),
                     "{\"schema\": \"ratecast.figures/1\", \"scenarios\": [\n"
                     "  {\"name\": \"h\", \"file\": \"published/head_to_head_4k.json\"},\n"
                     "  {\"name\": \"gone\", \"file\": \"nowhere.json\"},\n"
                     "  {\"name\": \"one\", \"file\": \"published/cache_ab.json\", \"set\": "
                     "[\"workload.K=1\"]}%s],\n"
                     " \"figures\": [%s]}",
                     more_scenarios, figures);
    file_bytes f = {.name = "list.json", .s = text, .len = strlen(text)};
    return figures_parse(&f, RATECAST_REPO "/scenarios", NULL, support_cards(), support_arena(),
                         out, e);
}

static err_code parse(const char *figures, figure_list *out, err *e) {
    return parse_with("", figures, out, e);
}

#define HEAD "{\"id\": \"x\", \"document\": \"d\", \"what\": \"w\", \"printed\": "

static void refused(const char *text, err_code code, const char *where, const char *what) {
    figure_list l;
    err e = {0};
    cr_expect_eq(parse(text, &l, &e), code, "%s: code %d", text, (int)e.code);
    cr_expect_str_eq(e.where, where, "%s: at %s", text, e.where);
    cr_expect(strstr(e.what, what), "%s: \"%s\" lacks \"%s\"", text, e.what, what);
}

static void refused_value(const char *value, err_code code, const char *below, const char *what) {
    arena *mem = support_arena();
    refused(arena_printf(mem, HEAD "\"1\", \"value\": %s}", value), code,
            arena_printf(mem, "list.json#/figures/0/value%s", below), what);
}

Test(figures, numbers_are_refused_in_expressions) {
    refused_value("1", E_SCHEMA, "", "expected a reference");
    refused_value("[\"/\", \"h/fak-native.wall_s\", 2]", E_SCHEMA, "/2", "expected a reference");
    refused_value("[\"*\", 0.5, \"h/fak-native.wall_s\"]", E_SCHEMA, "/1", "expected a reference");
    refused_value("[\"-\", \"h/fak-native.wall_s\", [\"/\", \"h/fak-native.wall_s\", 60]]",
                  E_SCHEMA, "/2/2", "expected a reference");
    refused_value("\"393.8\"", E_SCHEMA, "", "SCENARIO/ARM.METRIC");
}

Test(figures, operators_take_two_values) {
    static const char W[] = "\"h/fak-native.wall_s\"";
    arena *mem = support_arena();
    refused_value(arena_printf(mem, "[\"/\", %s]", W), E_SCHEMA, "", "expected a reference");
    refused_value(arena_printf(mem, "[\"+\", %s, %s]", W, W), E_SCHEMA, "", "expected a reference");
    refused_value(arena_printf(mem, "[\"/x\", %s, %s]", W, W), E_SCHEMA, "",
                  "expected a reference");
    refused_value(arena_printf(mem, "[\"/\", %s, [\"-\", %s, %s]]", W, W, W), E_SCHEMA, "",
                  "with b not 0");
    const char *huge = "\"h/llama.cpp.peak_bytes\"";
    for (int i = 0; i < 5; i++) huge = arena_printf(mem, "[\"*\", %s, %s]", huge, huge);
    refused_value(huge, E_RANGE, "", "not finite");
}

Test(figures, unknown_names_are_refused) {
    refused_value("\"hh/fak-native.wall_s\"", E_SCHEMA, "", "\"hh\"");
    refused_value("\"h/fak.wall_s\"", E_SCHEMA, "", "no arm \"fak\"");
    refused_value("\"h/fak-native.wall\"", E_SCHEMA, "", "metric \"wall\"");
    refused_value("\"h/fak-native.largest_k_in_budget\"", E_SCHEMA, "", "does not have");
    refused_value("\"card nobody decode 1\"", E_SCHEMA, "", "nobody");
    refused_value("\"card qwen2.5-7b-instruct-q8_0-m3pro decode 3\"", E_SCHEMA, "", "used point");
    refused_value("\"card qwen2.5-7b-instruct-q8_0-m3pro decode 5x\"", E_SCHEMA, "", "decode B");
    refused_value("\"card qwen2.5-7b-instruct-q8_0-m3pro decode\"", E_SCHEMA, "", "decode B");
    refused(HEAD "\"1\", \"unit\": \"furlong\", \"value\": \"h/fak-native.wall_s\"}", E_SCHEMA,
            "list.json#/figures/0/unit", "furlong");
    /* a unit of another kind, and a difference of two kinds */
    refused(HEAD "\"1\", \"unit\": \"GB\", \"value\": \"h/fak-native.wall_s\"}", E_SCHEMA,
            "list.json#/figures/0/unit", "s, ms, min, h");
    refused_value("[\"-\", \"h/fak-native.peak_bytes\", \"h/fak-native.wall_s\"]", E_SCHEMA, "",
                  "found bytes - s");
    refused(HEAD "\"1\", \"test\": \"near\", \"value\": \"h/fak-native.wall_s\"}", E_SCHEMA,
            "list.json#/figures/0/test", "near");
    refused(HEAD "\"1\", \"wert\": 1}", E_SCHEMA, "list.json#/figures/0/wert", "wert");
    refused(HEAD "\"1\"}", E_SCHEMA, "list.json#/figures/0/value", "missing");
    refused(HEAD "1, \"given\": \"g\"}", E_SCHEMA, "list.json#/figures/0/printed", "string");
    refused(HEAD "\"1\", \"value\": \"gone/a.wall_s\"}", E_IO,
            RATECAST_REPO "/scenarios/nowhere.json", "cannot be opened");
}

/* Whether a figure asks for that scenario or not. */
Test(figures, a_scenario_sets_strings) {
    figure_list l;
    err e = {0};
    cr_expect_eq(
        parse_with(", {\"name\": \"odd\", \"file\": \"cache_ab.json\", \"set\": [16]}", "", &l, &e),
        E_SCHEMA);
    cr_expect_str_eq(e.where, "list.json#/scenarios/3/set/0");
    cr_expect(strstr(e.what, "string"), "%s", e.what);
}

Test(figures, a_given_figure_is_not_computed) {
    static const char AT[] = "list.json#/figures/0";
    refused(HEAD "\"1\", \"given\": \"g\", \"value\": \"h/fak-native.wall_s\"}", E_SCHEMA, AT,
            "a given figure has no value");
    refused(HEAD "\"1\", \"given\": \"g\", \"does_not_follow\": \"r\"}", E_SCHEMA, AT,
            "a given figure has no value");
    figure_list l;
    err e = {0};
    cr_assert_eq(parse(HEAD "\"7.61\", \"given\": \"measured\"}", &l, &e), OK, "%s", e.what);
    cr_expect_eq(l.figures[0].status, FIGURE_GIVEN);
    cr_expect_str_eq(l.figures[0].reason, "measured");
}

static figure_status status_of(const char *rest) {
    figure_list l;
    err e = {0};
    const char *text = arena_printf(support_arena(), HEAD "%s}", rest);
    cr_assert_eq(parse(text, &l, &e), OK, "%s: %s: %s", text, e.where, e.what);
    cr_assert_eq(l.n, 1);
    cr_expect_eq(l.count[l.figures[0].status], 1);
    return l.figures[0].status;
}

Test(figures, status_is_decided_at_the_printed_digits) {
    /* 4 prefixes of 4,096 tokens; 1 with one */
    cr_expect_eq(status_of("\"16384\", \"value\": \"h/llama.cpp.prefix_tok_computed\""),
                 FIGURE_SAME);
    cr_expect_eq(status_of("\"16385\", \"value\": \"h/llama.cpp.prefix_tok_computed\""),
                 FIGURE_DIFFERS);
    cr_expect_eq(status_of("\"16385\", \"does_not_follow\": \"r\", \"value\": "
                           "\"h/llama.cpp.prefix_tok_computed\""),
                 FIGURE_NOT);
    /* "does not follow" of what does is stale */
    cr_expect_eq(status_of("\"16384\", \"does_not_follow\": \"r\", \"value\": "
                           "\"h/llama.cpp.prefix_tok_computed\""),
                 FIGURE_DIFFERS);
    /* 57,344 bytes for each of 4,096 tokens are 0.21875 GiB: at 2 decimals, and at 4 a tie, to the
     * even digit */
#define KV_OF_PREFIX                                                                               \
    "\"unit\": \"GiB\", \"value\": [\"*\", \"card qwen2.5-7b-instruct-q8_0-m3pro "                 \
    "kv_bytes_per_tok\", "                                                                         \
    "\"one/cache-on.prefix_tok_computed\"]"
    cr_expect_eq(status_of("\"0.22\", " KV_OF_PREFIX), FIGURE_SAME);
    cr_expect_eq(status_of("\"0.2188\", " KV_OF_PREFIX), FIGURE_SAME);
    cr_expect_eq(status_of("\"0.2187\", " KV_OF_PREFIX), FIGURE_DIFFERS);
}

Test(figures, bounds_are_compared_unrounded) {
    static const char P[] = ", \"value\": \"h/llama.cpp.prefix_evals\"";
    arena *mem = support_arena();
    cr_expect_eq(status_of(arena_printf(mem, "\"3\", \"test\": \"above\"%s", P)), FIGURE_SAME);
    cr_expect_eq(status_of(arena_printf(mem, "\"4\", \"test\": \"above\"%s", P)), FIGURE_DIFFERS);
    cr_expect_eq(status_of(arena_printf(mem, "\"5\", \"test\": \"below\"%s", P)), FIGURE_SAME);
    cr_expect_eq(status_of(arena_printf(mem, "\"4\", \"test\": \"below\"%s", P)), FIGURE_DIFFERS);
}
