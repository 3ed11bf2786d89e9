/* Values of a report's template. Expected texts are worked out here from the inputs (K, H, P, rates
 * and sizes of the cards), from scores written by hand, or compare two ways to one value. */
#include "support.h"

#include "expression.h"
#include "metric.h"

#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>

#define FAK "card qwen3.8-27b-q4_k_m-m3pro-fak"
#define LLAMA "card qwen3.8-27b-q4_k_m-m3pro-llamacpp"

static const char SPEC[] =
    "{\"schema\": \"ratecast.report/1\", \"id\": \"t\", \"title\": \"t\","
    " \"figures\": \"head-to-head\","
    " \"runs\": [{\"name\": \"h\", \"file\": \"scenarios/head_to_head_4k.json\"},"
    " {\"name\": \"ab\", \"file\": \"scenarios/cache_ab.json\"},"
    " {\"name\": \"one\", \"file\": \"scenarios/cache_ab.json\", \"set\": [\"workload.K=3\"]},"
    " {\"name\": \"pub\", \"file\": \"scenarios/published/head_to_head_4k.json\"}],"
    " \"claims\": [\"scenarios/claims/head_to_head_4k.json\"],"
    " \"explain\": [{\"name\": \"why\", \"scenarios\": [\"scenarios/head_to_head_4k.json\"]}]}";

/* Two scored runs, 110 s and 40 s seen for 99 s and 50 s projected. */
static void add_witness(spec *s) {
    static const witness_run RUNS[] = {{.id = "r.1-a"}, {.id = "r2"}};
    static const replay REPLAYS[] = {{.run = &RUNS[0]}, {.run = &RUNS[1]}};
    static const score_run SCORED[] = {
        {.r = &REPLAYS[0], .wall_s = 99, .lo_s = 90, .hi_s = 108, .seen_wall_s = 110},
        {.r = &REPLAYS[1], .wall_s = 50, .card_only_wall_s = 48, .seen_wall_s = 40}};
    s->witness[0] =
        (spec_witness){.name = "m",
                       .score = {.runs = SCORED,
                                 .n = 2,
                                 .wall = {.n = 2, .mean_abs_frac = 0.175, .bias_frac = HUGE_VAL}}};
    s->witness_n = 1;
}

static const spec *report(void) {
    static spec s;
    static const char *const ROOTS[] = {RATECAST_REPO};
    if (s.id) return &s;
    spec_places where = {.roots = ROOTS, .n = 1, .lib = support_cards()};
    file_bytes f = {.name = "t.json", .s = SPEC, .len = strlen(SPEC)};
    const spec *parsed;
    err e = {0};
    cr_assert_eq(spec_parse(&f, &where, support_arena(), &parsed, &e), OK, "%s: %s", e.where,
                 e.what);
    s = *parsed;
    add_witness(&s);
    return &s;
}

/* ---- what comes out ---- */

typedef struct value {
    const char *field, *text, *title;
} value;

/* K = 4, H = 20, P = 4,096, 128 in and 64 out a turn, weights of 17,106,775,008 bytes, 150 GB/s */
static const value VALUES[] = {
    /* words of a workload are declared; 4 (20 x 4096 + 192 x 20 x 19 / 2 + 20 x 128) */
    {"h.K", "4", "ASSUMED: h.K"},
    {"h.H :", "20", "ASSUMED: h.H"},
    {"h.P", "4096", "ASSUMED: h.P"},
    {"h.P:,", "4,096", "ASSUMED: h.P"},
    {"h.P :,.1", "4,096.0", "ASSUMED: h.P"},
    {"h.turn_delta_in_tok", "128", "ASSUMED: h.turn_delta_in_tok"},
    {"h.turn_out_tok", "64", "ASSUMED: h.turn_out_tok"},
    {"h.tool_latency_s:.3", "0.000", "ASSUMED: h.tool_latency_s"},
    {"h.presented_tok:,", "483,840", "ASSUMED: h.presented_tok"},
    {"one.K", "3", "ASSUMED: one.K"},
    /* metrics of arms: counts are derived, times take the weakest input, ceilings are rooflines */
    {"h/fak-native.output_tok:,", "5,120", "DERIVED: h/fak-native.output_tok"},
    {"h/llama.cpp.prefix_evals", "4", "DERIVED: h/llama.cpp.prefix_evals"},
    {"h/fak-native.bandwidth_ceiling_tok_s:.2", "8.77",
     "ROOFLINE: h/fak-native.bandwidth_ceiling_tok_s"},
    {"h/fak-native.weight_stream_s in ms:.1", "114.0",
     "ROOFLINE: h/fak-native.weight_stream_s in ms"},
    /* one value of a sweep: presented is K (4096 + 256) */
    {"ab@16/cache-on.presented_tok:,", "69,632", "DERIVED: ab@16/cache-on.presented_tok"},
    {"ab@1/cache-off.presented_tok:,", "4,352", "DERIVED: ab@1/cache-off.presented_tok"},
    {"ab@12/cache-off.prefix_evals", "12", "DERIVED: ab@12/cache-off.prefix_evals"},
    {"ab.P", "4096", "ASSUMED: ab.P"},
    /* cards */
    {FAK " decode 1:.2", "7.61", "WITNESSED: " FAK " decode 1"},
    {FAK " prefill 0:.2", "48.54", "WITNESSED: " FAK " prefill 0"},
    {FAK " weights_bytes:,", "17,106,775,008", "WITNESSED: " FAK " weights_bytes"},
    {FAK " weights_bytes in GB :.3", "17.107", "WITNESSED: " FAK " weights_bytes in GB"},
    {FAK " weights_bytes in MiB:,.1", "16,314.3", "WITNESSED: " FAK " weights_bytes in MiB"},
    {FAK " weights_bytes in GiB:.2", "15.93", "WITNESSED: " FAK " weights_bytes in GiB"},
    {FAK " kv_bytes_per_tok:,", "65,536", "ASSUMED: " FAK " kv_bytes_per_tok"},
    {FAK " mem_bw_bytes_s in GB/s", "150", "ROOFLINE: " FAK " mem_bw_bytes_s in GB/s"},
    /* units combine: 128 tokens for each of 20 turns, 17,106,775,008 bytes at 150 GB/s, 65,536
     * bytes for each of 4,096 tokens, and a tenth of a second */
    {"h.turn_delta_in_tok * h.H in tok:,", "2,560", "ASSUMED: h.turn_delta_in_tok * h.H in tok"},
    {FAK " weights_bytes / " FAK " mem_bw_bytes_s in ms:.2", "114.05",
     "ROOFLINE: " FAK " weights_bytes / " FAK " mem_bw_bytes_s in ms"},
    {FAK " kv_bytes_per_tok * h.P in MiB", "256", "ASSUMED: " FAK " kv_bytes_per_tok * h.P in MiB"},
    {FAK " kv_bytes_per_tok in KiB/tok", "64", "ASSUMED: " FAK " kv_bytes_per_tok in KiB/tok"},
    {"h.K / h.K / " FAK " decode 1 in ms/tok:.2", "131.41",
     "ASSUMED: h.K / h.K / " FAK " decode 1 in ms/tok"},
    {"h.P / witness m/r.1-a.witnessed_s in tok/s:.3", "37.236",
     "ASSUMED: h.P / witness m/r.1-a.witnessed_s in tok/s"},
    {"h.P / witness m/r.1-a.witnessed_s + " FAK " decode 1 in tok/s:.2", "44.85",
     "ASSUMED: h.P / witness m/r.1-a.witnessed_s + " FAK " decode 1 in tok/s"},
    /* operators from left to right; 7.61 / 7.38 = 1.0312 */
    {"h.K + h.H * h.K", "96", "ASSUMED: h.K + h.H * h.K"},
    {"h.H - h.K / h.K", "4", "ASSUMED: h.H - h.K / h.K"},
    {"h.H / h.K / h.K:.2", "1.25", "ASSUMED: h.H / h.K / h.K"},
    {"h.K - h.H", "-16", "ASSUMED: h.K - h.H"},
    {"h.turn_out_tok - h.P:,", "-4,032", "ASSUMED: h.turn_out_tok - h.P"},
    {"h.K - h.K:.2", "0.00", "ASSUMED: h.K - h.K"},
    {"h.K / h.H in %", "20", "ASSUMED: h.K / h.H in %"},
    {"h.K / h.H in %:.1", "20.0", "ASSUMED: h.K / h.H in %"},
    {"h.K / h.H:.9", "0.200000000", "ASSUMED: h.K / h.H"},
    {"h.K / h.H in x:.1", "0.2", "ASSUMED: h.K / h.H in x"},
    /* no minus before nothing: -4 / 483840 */
    {"h.K - h.K - h.K / h.presented_tok:.2", "0.00", "ASSUMED: h.K - h.K - h.K / h.presented_tok"},
    /* arithmetic on measurements is no measurement; a mixture is its weakest */
    {FAK " decode 1 / " LLAMA " decode 1:.4", "1.0312",
     "DERIVED: " FAK " decode 1 / " LLAMA " decode 1"},
    {"h/fak-native.output_tok / h/llama.cpp.output_tok", "1",
     "DERIVED: h/fak-native.output_tok / h/llama.cpp.output_tok"},
    {"h/fak-native.output_tok / h.K", "1280", "ASSUMED: h/fak-native.output_tok / h.K"},
    {"h.K * h/fak-native.prefix_evals", "4", "ASSUMED: h.K * h/fak-native.prefix_evals"},
    {FAK " mem_bw_bytes_s / " FAK " weights_bytes:.2", "8.77",
     "ROOFLINE: " FAK " mem_bw_bytes_s / " FAK " weights_bytes"},
    /* witnessed runs by hand: 99 / 110 - 1, 50 - 48 */
    {"witness m.runs_n", "2", "DERIVED: witness m.runs_n"},
    {"witness m.wall_mean_abs_frac in %:.1", "17.5", "DERIVED: witness m.wall_mean_abs_frac in %"},
    {"witness m/r.1-a.witnessed_s", "110", "WITNESSED: witness m/r.1-a.witnessed_s"},
    {"witness m/r.1-a.projected_s:.1", "99.0", "MODELED: witness m/r.1-a.projected_s"},
    {"witness m/r.1-a.error_frac in %:.1", "-10.0", "DERIVED: witness m/r.1-a.error_frac in %"},
    {"witness m/r2.projected_s - witness m/r2.card_only_s", "2",
     "MODELED: witness m/r2.projected_s - witness m/r2.card_only_s"},
    {"witness m/r2.witnessed_s in min:.3", "0.667", "WITNESSED: witness m/r2.witnessed_s in min"},
    {"witness m/r2.witnessed_s * witness m/r2.witnessed_s:,", "1,600",
     "DERIVED: witness m/r2.witnessed_s * witness m/r2.witnessed_s"},
    /* sums that have to be 0 and ratios that have to be 1, however they come about */
    {"audit head_to_head_4k.fails_n + audit head_to_head_4k.passes_n + audit "
     "head_to_head_4k.cannot_tell_n - audit head_to_head_4k.checks_n",
     "0",
     "DERIVED: audit head_to_head_4k.fails_n + audit head_to_head_4k.passes_n + audit "
     "head_to_head_4k.cannot_tell_n - audit head_to_head_4k.checks_n"},
    {"explain why.from_speedup", "1", "ASSUMED: explain why.from_speedup"},
    {"h/llama.cpp.wall_s / h/fak-native.wall_s / explain why.to_speedup:.7", "1.0000000",
     "ASSUMED: h/llama.cpp.wall_s / h/fak-native.wall_s / explain why.to_speedup"},
    {"explain why/card.after_speedup / explain why.to_speedup:.7", "1.0000000",
     "ASSUMED: explain why/card.after_speedup / explain why.to_speedup"},
    /* words by value: 4 agents, 20 % */
    {"h.K < 5 ? few : many", "few", "ASSUMED: h.K"},
    {"h.K < 4 ? few : many", "many", "ASSUMED: h.K"},
    {"h.K / h.H in % < 20.5 ? under : over", "under", "ASSUMED: h.K / h.H in %"},
    {"h.K - h.H < -15.5 ? a : b : c", "a", "ASSUMED: h.K - h.H"},
    {"h.K - h.H < -16.5 ? a : b : c", "b : c", "ASSUMED: h.K - h.H"},
    {"h.K < 5 ?  : over", "", "ASSUMED: h.K"},
    {"h/fak-native.output_tok < 1e4 ? *less*, **really** : more", "*less*, **really**",
     "DERIVED: h/fak-native.output_tok"},
    /* figures: as the document prints them, and at its digits again */
    {"printed h056", "9.68", "printed, single-stream decode ceiling (h056, does not follow)"},
    {"figure h056", "8.77", "regenerated, single-stream decode ceiling (h056, does not follow)"},
    {"figure h064", "7.61", "printed, fak decode B = 1 (#2723) (h064, given)"},
    {"figure h001", "1", "regenerated, 4k prefix evaluations, fak (h001, same)"},
    {"printed h010:,", "3,072.0", "printed, 4k memory saved (h010, same)"},
};

ParameterizedTestParameters(expression, values) {
    static size_t index[sizeof VALUES / sizeof *VALUES];
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++) index[i] = i;
    return cr_make_param_array(size_t, index, sizeof VALUES / sizeof *VALUES);
}

ParameterizedTest(const size_t *index, expression, values) {
    const value *v = &VALUES[*index];
    expressed x;
    err e = {0};
    cr_assert_eq(expression_get(report(), v->field, support_arena(), &x, &e), OK, "%s: %s",
                 v->field, e.what);
    cr_expect_str_eq(x.text, v->text, "%s is %s", v->field, x.text);
    cr_expect_str_eq(x.title, v->title, "%s: %s", v->field, x.title);
}

static void expect_weakest(const char *left, const char *right, char op, size_t weakest) {
    const char *field = arena_printf(support_arena(), "%s %c %s:.1", left, op, right);
    expressed x;
    err e = {0};
    cr_assert_eq(expression_get(report(), field, support_arena(), &x, &e), OK, "%s: %s", field,
                 e.what);
    cr_expect_eq(strncmp(x.title, PROV_UPPER[weakest], strlen(PROV_UPPER[weakest])), 0, "%s: %s",
                 field, x.title);
}

/* Weakest first is last: a mixture of all kinds is as its weakest, in any order. Sums are of one
 * unit, here tok/s. */
Test(expression, a_mixture_is_as_its_weakest) {
    static const char *const BY_CLASS[] = {
        FAK " decode 1",                    /* WITNESSED */
        "h/fak-native.output_tok",          /* DERIVED */
        "one/cache-on.wall_s",              /* MODELED: a card's rates, nothing declared */
        FAK " mem_bw_bytes_s",              /* ROOFLINE */
        "h.K",                              /* ASSUMED */
        "pub/llama.cpp.claimed_ttft_p50_s", /* CLAIM */
    };
    static const char *const RATES[] = {
        FAK " decode 1",
        FAK " decode 1 + " FAK " decode 1",
        "one/cache-on.effective_tok_s",
        "h/fak-native.bandwidth_ceiling_tok_s",
        "h/fak-native.effective_tok_s",
        "pub/llama.cpp.effective_tok_s",
    };
    for (size_t i = 0; i <= PROV_CLAIM; i++)
        for (size_t k = 0; k <= PROV_CLAIM; k++) {
            size_t weakest = i > k ? i : k;
            if (weakest < PROV_DERIVED) weakest = PROV_DERIVED;
            expect_weakest(BY_CLASS[i], BY_CLASS[k], '*', weakest);
            expect_weakest(BY_CLASS[i], BY_CLASS[k], '/', weakest);
            expect_weakest(RATES[i], RATES[k], '+', weakest);
            expect_weakest(RATES[i], RATES[k], '-', weakest);
        }
}

/* ---- what does not ---- */

typedef struct wrong {
    const char *field;
    err_code code;
    const char *what;
} wrong;

static const wrong WRONG[] = {
    {"", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    {"x", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    {"5", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    {"1.86", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    {"h.K * 2", E_SCHEMA, "\"2\""},
    {"h.K * 2.5", E_SCHEMA, "\"2.5\""},
    /* names */
    {"hh.K", E_SCHEMA, "scenario \"hh\""},
    {"H.K", E_SCHEMA, "scenario \"H\""},
    {"h.k", E_SCHEMA, "\"k\""},
    {"h.K.H", E_SCHEMA, "\"K.H\""},
    {"h/fak.wall_s", E_SCHEMA, "no arm \"fak\""},
    {"h/.wall_s", E_SCHEMA, "no arm \"\""},
    {"h/fak-native.wall", E_SCHEMA, "metric \"wall\""},
    {"h/fak-native.", E_SCHEMA, "metric \"\""},
    {"h/fak-native", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    {"h/fak-native.largest_k_in_budget", E_SCHEMA, "does not have"},
    {"h.x/fak-native.wall_s", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    {"h.K/fak-native.wall_s", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    /* sweeps */
    {"ab/cache-on.wall_s", E_SCHEMA, "is a sweep"},
    {"ab@5/cache-on.wall_s", E_SCHEMA, "ab@5"},
    {"ab@/cache-on.wall_s", E_SCHEMA, "ab@"},
    {"ab@16.wall_s", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    {"ab@016/cache-on.wall_s", E_SCHEMA, "ab@016"},
    {"h@4/fak-native.wall_s", E_SCHEMA, "h@4"},
    {"one@3/cache-on.wall_s", E_SCHEMA, "one@3"},
    {"ab.K", E_SCHEMA, "sweeps workload.K"},
    {"ab.presented_tok", E_SCHEMA, "sweeps workload.K"},
    /* cards */
    {"card nobody decode 1:.2", E_SCHEMA, "nobody"},
    {FAK " decode 3:.2", E_SCHEMA, "used point"},
    {FAK " decode", E_SCHEMA, "decode B"},
    {FAK " decode one", E_SCHEMA, "decode B"},
    {FAK " decode 1 1", E_SCHEMA, "decode B"},
    {FAK " weights", E_SCHEMA, "a word of that card"},
    {"card ", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    {"card", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    /* lists of the report */
    {"witness n.runs_n", E_SCHEMA, "a name that the report lists"},
    {"witness m.runs", E_SCHEMA, "\"runs\""},
    {"witness m", E_SCHEMA, "witness NAME.WORD"},
    {"witness ", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    {"witness m/r3.witnessed_s", E_SCHEMA, "\"r3\""},
    {"witness m/r2.wall_s", E_SCHEMA, "\"wall_s\""},
    {"witness m.bias_frac", E_SCHEMA, "bias_frac"},
    {"witness m.wall_bias_frac:.1", E_RANGE, "not finite"},
    {"explain how.to_speedup", E_SCHEMA, "a name that the report lists"},
    {"explain why.speedup", E_SCHEMA, "\"speedup\""},
    {"explain why/nothing.step_speedup", E_SCHEMA, "step \"nothing\""},
    {"explain why/card.speedup", E_SCHEMA, "\"speedup\""},
    {"audit nobody.fails_n", E_SCHEMA, "a name that the report lists"},
    {"audit head_to_head_4k.failures", E_SCHEMA, "\"failures\""},
    {"figure h999", E_SCHEMA, "\"h999\""},
    {"figure f024", E_SCHEMA, "\"f024\""}, /* of another document */
    {"figure ", E_SCHEMA, "figure"},
    {"figure h056:.1", E_SCHEMA, "digits of its document"},
    {"figure h056 in ms", E_SCHEMA, "\"h056 in ms\""},
    /* units and formats */
    {"h.K in furlongs", E_SCHEMA, "\"furlongs\""},
    {"h.K in S", E_SCHEMA, "unit \"S\""},
    {"h.K in s in ms", E_SCHEMA, "unit"},
    {"h.K in  ms", E_SCHEMA, "unit"},
    {"h.K:x", E_SCHEMA, "\":x\""},
    {"h.K:.", E_SCHEMA, "\":.\""},
    {"h.K:.x", E_SCHEMA, "\":.x\""},
    {"h.K:.-1", E_SCHEMA, "\":.-1\""},
    {"h.K:. 1", E_SCHEMA, "\":. 1\""},
    {"h.K:.10", E_SCHEMA, "\":.10\""},
    {"h.K:.99999999999999999999", E_SCHEMA, "\":.9"},
    {"h.K:.1,", E_SCHEMA, "\":.1,\""},
    {"h.K:,,", E_SCHEMA, "\":,,\""},
    {"h.K:2", E_SCHEMA, "\":2\""},
    {"h.K: .2", E_SCHEMA, "\": .2\""},
    {"h.K / h.H", E_SCHEMA, "no whole number"},
    {"h.K / h.H:,", E_SCHEMA, "no whole number"},
    /* 17,106,775,008 / 20 = ...750.4: large, and no whole number all the same */
    {FAK " weights_bytes / h.H", E_SCHEMA, "no whole number"},
    /* words by value */
    {"h.K < 5", E_SCHEMA, "EXPR < NUMBER ? WORDS : WORDS"},
    {"h.K < 5 ? a", E_SCHEMA, "EXPR < NUMBER ? WORDS : WORDS"},
    {"h.K < 5 ? : b", E_SCHEMA, "EXPR < NUMBER ? WORDS : WORDS"},
    {"h.K < 5 : a ? b", E_SCHEMA, "EXPR < NUMBER ? WORDS : WORDS"},
    {"h.K < h.H ? a : b", E_SCHEMA, "EXPR < NUMBER ? WORDS : WORDS"},
    {"h.K < 5x ? a : b", E_SCHEMA, "EXPR < NUMBER ? WORDS : WORDS"},
    {"h.K <  ? a : b", E_SCHEMA, "EXPR < NUMBER ? WORDS : WORDS"},
    {"h.K < inf ? a : b", E_SCHEMA, "EXPR < NUMBER ? WORDS : WORDS"},
    {"h.K < nan ? a : b", E_SCHEMA, "EXPR < NUMBER ? WORDS : WORDS"},
    {"h.K < 5 ? 1.86x : b", E_SCHEMA, "digit"},
    {"h.K < 5 ? a : twice²", E_SCHEMA, "digit"},
    {"h.k < 5 ? a : b", E_SCHEMA, "\"k\""},
    {"h.K:.1 < 5 ? a : b", E_SCHEMA, "\"K:.1\""},
    {"h.K / h.tool_latency_s < 5 ? a : b", E_RANGE, "not finite"},
    {"figure h056 < 5 ? a : b", E_SCHEMA, "figure"},
    {"printed h056 < 5 ? a : b", E_SCHEMA, "figure"},
    /* a unit of another kind: what it is, and the units that it may be given in */
    {"h/fak-native.wall_s in GB:.9", E_SCHEMA,
     "\"GB\" of a value that is s, expected s, ms, min, h"},
    {"h/fak-native.wall_s in %:.1", E_SCHEMA, "expected s, ms, min, h"},
    {"h/fak-native.wall_s in x:.1", E_SCHEMA, "expected s, ms, min, h"},
    {"h/fak-native.wall_s in minutes:.1", E_SCHEMA, "\"minutes\""},
    {"h/fak-native.peak_bytes in ms:.1", E_SCHEMA, "bytes, KiB, MiB, GiB, GB"},
    {"h/fak-native.peak_bytes in GB/s:.1", E_SCHEMA, "bytes, KiB, MiB, GiB, GB"},
    {"h/fak-native.output_tok in tok/s:.1", E_SCHEMA, "expected tok"},
    {"h/fak-native.effective_tok_s in tok:.1", E_SCHEMA, "expected tok/s"},
    {"h/fak-native.reused_frac in s:.1", E_SCHEMA, "a plain number, expected x, %, agents"},
    {"h/fak-native.agents_per_gib in agents/GB:.1", E_SCHEMA, "expected agents/GiB"},
    {"h/fak-native.agents_per_gib * h/fak-native.peak_bytes in agents:.1", E_SCHEMA, "\"agents\""},
    {"h.K in ms", E_SCHEMA, "a plain number"},
    {"h.P in agents", E_SCHEMA, "of a value that is tok"},
    {"card qwen2.5-7b-instruct-q8_0-m3pro decode 1 in ms:.1", E_SCHEMA, "expected tok/s"},
    {"witness m.runs_n in min:.1", E_SCHEMA, "a plain number"},
    {"witness m/r2.witnessed_s in MiB:.1", E_SCHEMA, "expected s, ms, min, h"},
    {"explain why/card.step_arm_s in %:.1", E_SCHEMA, "expected s, ms, min, h"},
    {"explain why.to_speedup in s:.1", E_SCHEMA, "a plain number"},
    {"h.P / h.tool_latency_s in GB:.1", E_RANGE, "not finite"},
    {"h.P * h.P in tok:.1", E_SCHEMA, "tok^2, expected none"},
    {"h/fak-native.wall_s / h/fak-native.wall_s in s:.1", E_SCHEMA, "a plain number"},
    {FAK " mem_bw_bytes_s / " FAK " weights_bytes in tok/s:.2", E_SCHEMA, "1/s, expected none"},
    {"h/fak-native.wall_s in GB < 5 ? a : b", E_SCHEMA, "expected s, ms, min, h"},
    /* sums of two kinds */
    {"h/fak-native.peak_bytes + h/fak-native.wall_s:.1", E_SCHEMA, "found bytes + s"},
    {"h/fak-native.wall_s - h/fak-native.peak_bytes:.1", E_SCHEMA, "found s - bytes"},
    {"h.K - h.P:,", E_SCHEMA, "found a plain number - tok"},
    {"h/fak-native.effective_tok_s + h/fak-native.output_tok:.1", E_SCHEMA, "found tok/s + tok"},
    {"h/fak-native.agents_per_gib - h/fak-native.agents_per_gb:.1", E_SCHEMA,
     "found agents/GiB - agents/GB"},
    {"h.P / h/fak-native.wall_s + h/fak-native.wall_s:.1", E_SCHEMA, "found tok/s + s"},
    {"h/fak-native.wall_s + h.K < 5 ? a : b", E_SCHEMA, "found s + a plain number"},
    /* a slip of the keys: the nearest name */
    {"h/fak-native.wal_s:.1", E_SCHEMA, "nearest is \"wall_s\""},
    {"h/fak-nativ.wall_s:.1", E_SCHEMA, "nearest is \"fak-native\""},
    {"oen.K", E_SCHEMA, "nearest is \"one\""},
    {"h.turn_delta_tok", E_SCHEMA, "nearest is \"turn_delta_in_tok\""},
    {FAK " weight_bytes", E_SCHEMA, "nearest is \"weights_bytes\""},
    {"witness m.run_n", E_SCHEMA, "nearest is \"runs_n\""},
    {"witness m/r.1-b.witnessed_s", E_SCHEMA, "nearest is \"r.1-a\""},
    {"explain wy.to_speedup", E_SCHEMA, "nearest is \"why\""},
    {"explain why/crad.step_speedup", E_SCHEMA, "nearest is \"card\""},
    {"audit head_to_head_4.fails_n", E_SCHEMA, "nearest is \"head_to_head_4k\""},
    {"audit head_to_head_4k.check_n", E_SCHEMA, "nearest is \"checks_n\""},
    {"figure h0566", E_SCHEMA, "nearest is \"h056\""},
    /* operators */
    {"h.K /", E_SCHEMA, ""},
    {"h.K / ", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    {" / h.K", E_SCHEMA, "SCENARIO/ARM.METRIC"},
    {"h.K / / h.K", E_SCHEMA, "scenario \"\""},
    {"h.K  / h.K", E_SCHEMA, "\"K \""},
    {"h.K ^ h.K", E_SCHEMA, "\"K ^ h.K\""},
    {"(h.K)", E_SCHEMA, "\"(h\""},
    {"h.K / h.tool_latency_s:.1", E_RANGE, "not finite"},
    {"h.tool_latency_s / h.tool_latency_s:.1", E_RANGE, "not finite"},
    {"h.K / h.tool_latency_s * h.tool_latency_s:.1", E_RANGE, "not finite"},
};

ParameterizedTestParameters(expression, refused) {
    static size_t index[sizeof WRONG / sizeof *WRONG];
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) index[i] = i;
    return cr_make_param_array(size_t, index, sizeof WRONG / sizeof *WRONG);
}

ParameterizedTest(const size_t *index, expression, refused) {
    const wrong *w = &WRONG[*index];
    expressed x;
    err e = {0};
    cr_assert_eq(expression_get(report(), w->field, support_arena(), &x, &e), w->code,
                 "\"%s\": code %d, %s", w->field, (int)e.code, e.what);
    cr_expect_str_eq(e.where, "", "the caller knows where: %s", e.where);
    cr_expect(strstr(e.what, w->what), "\"%s\": \"%s\" lacks \"%s\"", w->field, e.what, w->what);
}

/* A metric whose name does not say its unit would add and convert as anything. */
Test(expression, every_metric_says_its_unit) {
    static const struct {
        const char *ending;
        units_base base;
    } ENDINGS[] = {{"_s", BASE_TIME}, {"_bytes", BASE_BYTES}, {"_tok", BASE_TOK}};
    units kv;
    size_t n = 0, seen[3] = {0};
    for (; metric_name(n); n++) {
        units u;
        const char *name = metric_name(n);
        cr_assert(units_of_name(name, &u), "%s", name);
        for (size_t i = 0; i < 3; i++) {
            size_t all = strlen(name), k = strlen(ENDINGS[i].ending);
            bool rate = strstr(name, "_tok_s") || strstr(name, "_per_tok");
            if (rate || all < k || strcmp(name + all - k, ENDINGS[i].ending) != 0) continue;
            seen[i]++;
            for (int b = 0; b < BASE_N; b++)
                cr_expect_eq(u.power[b], b == (int)ENDINGS[i].base, "%s: power %d of base %d", name,
                             u.power[b], b);
        }
    }
    cr_expect_gt(n, 40);
    cr_expect(seen[0] > 10 && seen[1] > 4 && seen[2] > 4);
    cr_assert(units_of_name("kv_bytes_per_tok", &kv));
    cr_expect(kv.power[BASE_BYTES] == 1 && kv.power[BASE_TOK] == -1 && kv.power[BASE_TIME] == 0);
    cr_expect_not(units_of_name("wall", &(units){{0}}));
}

/* ---- hostile lengths ---- */

static const char *repeated(const char *before, char c, size_t n, const char *behind) {
    char *text = arena_alloc(support_arena(), n + 1, 1);
    memset(text, c, n);
    return arena_printf(support_arena(), "%s%s%s", before, text, behind);
}

Test(expression, hostile_lengths) {
    static const size_t SIZES[] = {94, 95, 96, 97, 200, 511, 512, 513, 5000, 100000};
    static const struct {
        const char *before, *behind;
    } AROUND[] = {{"", ".K"},
                  {"h.", ""},
                  {"h/", ".wall_s"},
                  {"h/fak-native.", ""},
                  {"ab@", "/cache-on.wall_s"},
                  {"card ", " decode 1"},
                  {FAK " decode ", ""},
                  {"card x ", ""},
                  {"witness ", ".runs_n"},
                  {"witness m/", ".runs_n"},
                  {"explain why/", ".x"},
                  {"audit ", ".x"},
                  {"figure ", ""},
                  {"h.K in ", ""},
                  {"h.K:", ""},
                  {"h.K:.", ""},
                  {"h.K / ", ""}};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        for (size_t k = 0; k < sizeof AROUND / sizeof *AROUND; k++)
            for (const char *c = "a9 /.@:"; *c; c++) {
                const char *field = repeated(AROUND[k].before, *c, SIZES[i], AROUND[k].behind);
                expressed x;
                err e = {0};
                err_code code = expression_get(report(), field, support_arena(), &x, &e);
                cr_expect_eq(code, e.code);
                cr_expect(code != OK || x.text, "%.40s", field);
            }
}

/* 4 x 4 x ... 300 times is 4^300, with all its digits; 600 times is beyond a double. */
Test(expression, long_chains) {
    arena *mem = support_arena();
    const char *field = "h.K";
    for (int i = 1; i < 300; i++) field = arena_printf(mem, "%s * h.K", field);
    expressed x;
    err e = {0};
    cr_assert_eq(expression_get(report(), field, mem, &x, &e), OK, "%s", e.what);
    cr_expect_str_eq(x.text, arena_printf(mem, "%.0f", ldexp(1, 600)));
    field = arena_printf(mem, "%s * %s", field, field);
    cr_expect_eq(expression_get(report(), field, mem, &x, &e), E_RANGE);
}
