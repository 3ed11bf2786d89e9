/* A claim whose figures all follow from one physical model raises nothing; change one of its
 * figures by a printed unit, or write its unit as another one, and the right rule says so. */
#include "audit_support.h"

#include "base/buf.h"

/* ---- the model: all that the claim states follows from these ---- */

/* K agents of H turns over a prefix of P tokens; D new ones and O output tokens a turn. */
static const double K = 4, H = 10, P = 2000, D = 100, O = 50;
/* A device of 2,000 GB/s, 400 TFLOP/s and 80 GB; 8e9 parameters of two bytes; 32 layers of 8 heads
 * of 128 in two bytes. */
static const double BUS = 2000e9, WEIGHTS = 16e9;
static const double KV = 2.0 * 32 * 8 * 128 * 2;
/* Prefill at 10,000 tok/s (160 TFLOP/s); four agents decode in steps of 9.7 ms (one pass takes
 * 8 ms), one alone in steps of 8.9 ms. */
static const double PREFILL = 10000, STEP4 = 0.0097, STEP1 = 0.0089;
static const double WATT = 640, USD_H = 2.4;

typedef struct figure {
    const char *name, *arm, *metric, *unit, *more;
    double scale; /* of the unit */
    int decimals;
    double v; /* in base units */
} figure;

enum { FIGURES_MAX = 96 };
static figure figures[FIGURES_MAX];
static size_t figures_n;

static void add(const char *name, const char *of, const char *kind, double v, const char *in,
                double scale, int decimals, const char *more) {
    figures[figures_n++] = (figure){name, of, kind, in, more, scale, decimals, v};
}

static const char *tagged(const char *base, const char *tag) {
    return arena_printf(support_arena(), "%s_%s", base, tag);
}

static void add_arm(const char *of, const char *tag, bool shared) {
    double presented = K * (H * P + D * H * (H + 1) / 2 + O * H * (H - 1) / 2);
    double computed = (shared ? 1 : K) * P + K * H * D, out = K * H * O;
    double prefill = computed / PREFILL, decode = out / K * STEP4, wall = prefill + decode;
    double held = shared ? P + K * (H * D + H * O) : K * (P + H * D + H * O);
    double memory = WEIGHTS + KV * held, rate = out / wall;
    double printed_rate = round(rate * 10) / 10; /* what the prices are computed with */
    /* cold first turns in a row: the first agent computes the prefix and its delta, the next ones
     * a delta (shared) or both; nearest rank: p50 of four is the second, p95 the fourth */
    double first = (P + D) / PREFILL, next = shared ? D / PREFILL : first;
    add(tagged("wall", tag), of, "wall_clock", wall, "s", 1, 3, "");
    add(tagged("prefill", tag), of, "prefill_time", prefill, "ms", 1e-3, 1, "");
    add(tagged("decode", tag), of, "decode_time", decode, "s", 1, 4, "");
    add(tagged("rate", tag), of, "output_rate", rate, "tok/s", 1, 1, ", \"agents_n\": 4");
    add(tagged("total_rate", tag), of, "total_rate", (presented + out) / wall, "ktok/s", 1e3, 2,
        "");
    add(tagged("prompt", tag), of, "prompt_tok", presented, "tokens", 1, 0, "");
    add(tagged("reused", tag), of, "reused_tok", presented - computed, "tokens", 1, 0, "");
    add(tagged("computed", tag), of, "computed_tok", computed, "tokens", 1, 0, "");
    add(tagged("output", tag), of, "output_tok", out, "tokens", 1, 0, "");
    add(tagged("reuse", tag), of, "reuse_frac", 1 - computed / presented, "%", 0.01, 2, "");
    add(tagged("evals", tag), of, "prefix_evals", shared ? 1 : K, "evaluations", 1, 0, "");
    add(tagged("ttft50", tag), of, "ttft", first + next, "ms", 1e-3, 1,
        ", \"percentile\": 50, \"conditions\": \"cold first turn\"");
    add(tagged("ttft95", tag), of, "ttft", first + 3 * next, "ms", 1e-3, 1,
        ", \"percentile\": 95, \"conditions\": \"cold first turn\"");
    add(tagged("memory", tag), of, "memory", memory, "GiB", 0x1p30, 4, "");
    add(tagged("memory_mib", tag), of, "memory", memory, "MiB", 0x1p20, 2, "");
    add(tagged("density", tag), of, "density", K / memory, "agents/GiB", 0x1p-30, 4, "");
    add(tagged("usd_tok", tag), of, "money_per_tok", USD_H / 3600 / rate, "USD/Mtok", 1e-6, 3, "");
    add(tagged("tok_usd", tag), of, "tok_per_money", printed_rate * 3600 / USD_H, "tok/USD", 1, 0,
        arena_printf(support_arena(), ", \"conditions\": \"uses %.12g tok/s\"", printed_rate));
    add(tagged("j_tok", tag), of, "energy_per_tok", WATT / rate, "J/tok", 1, 3, "");
    add(tagged("tok_j", tag), of, "tok_per_energy", rate / WATT, "tok/J", 1, 3, "");
    add(tagged("decode_rate", tag), of, "decode_rate", out / decode, "tok/s", 1, 1,
        ", \"agents_n\": 4");
    add(tagged("prefill_rate", tag), of, "prefill_rate", PREFILL, "tok/s", 1, 0, "");
    add(tagged("queue50", tag), of, "queue_wait", first, "ms", 1e-3, 1,
        ", \"percentile\": 50, \"conditions\": \"cold first turn\"");
}

static double wall_of(bool shared) {
    return ((shared ? 1 : K) * P + K * H * D) / PREFILL + H * O * STEP4;
}

static void add_single(void) {
    const char *one = "one request";
    double ttft = (P + D) / PREFILL;
    add("ttft_one", one, "ttft", ttft, "ms", 1e-3, 1, ", \"agents_n\": 1");
    add("itl_one", one, "itl", STEP1, "ms", 1e-3, 2, ", \"agents_n\": 1");
    add("latency_one", one, "latency", ttft + (O - 1) * STEP1, "ms", 1e-3, 0, ", \"agents_n\": 1");
    add("decode_rate_one", one, "decode_rate", 1 / STEP1, "tok/s", 1, 2, ", \"agents_n\": 1");
    add("bandwidth_one", one, "utilisation", WEIGHTS / STEP1 / BUS, "%", 0.01, 1,
        ", \"agents_n\": 1");
}

static void build(void) {
    figures_n = 0;
    add_arm("shared", "s", true);
    add_arm("isolated", "i", false);
    add_single();
    add("price", NULL, "price", USD_H / 3600, "USD/h", 1 / 3600.0, 2, "");
    add("power", NULL, "power", WATT, "W", 1, 1, "");
    add("kv_tok", NULL, "kv_per_tok", KV, "bytes/token", 1, 0, "");
    add("kv_2k", NULL, "kv", KV * 2000, "MiB", 0x1p20, 1,
        ", \"context_tok\": 2000, \"agents_n\": 1");
    add("kv_32k", NULL, "kv", KV * 32768 * 8, "GiB", 0x1p30, 1,
        ", \"context_tok\": 32768, \"agents_n\": 8");
    add("weights", NULL, "weights", WEIGHTS, "GB", 1e9, 2, "");
    add("saved", NULL, "memory_saved", (K - 1) * P * KV, "MiB", 0x1p20, 0, "");
    add("saved_gib", NULL, "memory_saved", (K - 1) * P * KV, "GiB", 0x1p30, 4, "");
    add("ceiling", NULL, "ceiling_rate", BUS / WEIGHTS, "tok/s", 1, 1, "");
    /* 80 GB less the weights, in agents of 10,000 tokens: 64e9 / 131,072 / 10,000 = 48.8 */
    add("agents", NULL, "agents_max", floor(floor((80e9 - WEIGHTS) / KV) / 10000), "agents", 1, 0,
        ", \"context_tok\": 10000");
    add("speedup", NULL, "speedup", wall_of(false) / wall_of(true), "x", 1, 3, "");
    add("setup_total", "setup", "other", 3.5, "s", 1, 1, "");
    add("setup_load", "setup", "other", 2.3, "s", 1, 2, "");
    add("setup_warm", "setup", "other", 0.6, "s", 1, 2, "");
}

/* One change: printed units added to a figure, another unit written, or one text of the claim
 * replaced; and the rule that has to notice. */
typedef struct mutant {
    const char *figure;
    int steps;
    const char *in; /* unit; NULL: as it is */
    const char *from, *to;
    rule_id caught_by;
} mutant;

static const char *digits_of(const figure *f, int steps) {
    double v = f->v / f->scale, place = pow(10, -f->decimals), print = round(v / place) * place;
    /* away from the true value: the print is then wrong by half a unit and more */
    double sign = print < v ? -1 : 1;
    return arena_printf(support_arena(), "%.*f", f->decimals, print + sign * steps * place);
}

static const char *replaced(const char *s, const char *from, const char *to) {
    const char *at = strstr(s, from);
    cr_assert_not_null(at, "%s", from);
    return arena_printf(support_arena(), "%.*s%s%s", (int)(at - s), s, to, at + strlen(from));
}

static const char *claim_text(const mutant *m) {
    buf b;
    buf_init(&b);
    buf_add(
        &b,
        "{\"schema\": \"ratecast.claim/1\", \"id\": \"clean\", \"title\": \"t\",\n"
        "\"hardware\": {\"chip\": \"a device\", \"mem_bw_GBps\": 2000, \"fp16_TFLOPS\": 400, "
        "\"memory_GB\": 80},\n"
        "\"model\": {\"name\": \"m\", \"quant\": \"FP16\", \"params\": 8e9, \"weight_bytes\": "
        "16e9, "
        "\"layers\": 32, \"full_attention_layers\": 32, \"kv_heads\": 8, \"head_dim\": 128, "
        "\"kv_bytes_per_element\": 2},\n"
        "\"workload\": {\"K\": 4, \"H\": 10, \"P\": 2000, \"turn_delta_in_tok\": 100, "
        "\"turn_out_tok\": 50, \"turn_shape\": \"delta_first\"},\n"
        "\"arms\": [{\"name\": \"shared\", \"prefix_reuse\": \"shared\", \"batching\": "
        "\"lockstep\"}, "
        "{\"name\": \"isolated\", \"prefix_reuse\": \"per_slot\", \"batching\": \"lockstep\"}],\n"
        "\"figures\": [\n");
    for (size_t i = 0; i < figures_n; i++) {
        const figure *f = &figures[i];
        bool mine = m && m->figure && strcmp(m->figure, f->name) == 0;
        const char *digits = digits_of(f, mine ? m->steps : 0);
        buf_addf(&b,
                 "%s{\"name\": \"%s\", \"value\": %s, \"digits_as_printed\": \"%s\", \"unit\": "
                 "\"%s\", \"metric\": \"%s\"%s",
                 i ? ",\n" : "", f->name, digits, digits, mine && m->in ? m->in : f->unit,
                 f->metric, f->more);
        if (f->arm) buf_addf(&b, ", \"arm\": \"%s\"", f->arm);
        buf_add(&b, "}");
    }
    double ttft = 4200.0 / 2200; /* p50: two first turns in a row against one and a delta */
    buf_addf(
        &b,
        "],\n\"ratios\": [{\"name\": \"wall_ratio\", \"printed\": \"%.4fx\", "
        "\"numerator_figure\": \"wall_i\", \"denominator_figure\": \"wall_s\"}, {\"name\": "
        "\"rate_ratio\", \"printed\": \"%.2fx\", \"numerator_figure\": \"rate_s\", "
        "\"denominator_figure\": \"rate_i\"}, {\"name\": \"ttft_ratio\", \"printed\": \"%.4fx\", "
        "\"numerator_figure\": \"ttft50_i\", \"denominator_figure\": \"ttft50_s\"}],\n",
        wall_of(false) / wall_of(true), wall_of(false) / wall_of(true), ttft);
    buf_addf(
        &b,
        "\"rates\": [{\"name\": \"bench prefill\", \"value\": 10000, \"phase\": \"prefill\", "
        "\"role\": \"stated\"}, {\"name\": \"used prefill\", \"value\": 10000, "
        "\"digits_as_printed\": \"10000.0\", \"phase\": "
        "\"prefill\", \"role\": \"used\"}, {\"name\": \"bench decode\", \"value\": %.2f, "
        "\"phase\": \"decode\", \"role\": \"stated\", \"batch_n\": 4}, {\"name\": \"used decode\", "
        "\"value\": %.4f, \"phase\": \"decode\", \"role\": \"used\", \"batch_n\": 4}],\n"
        "\"formulas\": [{\"name\": \"setup\", \"gives\": \"setup_total\", \"parts\": [{\"figure\": "
        "\"setup_load\"}, {\"figure\": \"setup_warm\", \"times\": 2}]}],\n"
        "\"statements\": [\"the KV cache of 8 users at 32,768 tokens exceeds the weights\"]}\n",
        K / STEP4, K / STEP4);
    const char *s = arena_strdup(support_arena(), b.s);
    buf_done(&b);
    return m && m->from ? replaced(s, m->from, m->to) : s;
}

Test(audit_mutants, the_clean_claim_is_sound) {
    build();
    const char *text = claim_text(NULL);
    const audit *a = support_audit_text(text);
    cr_expect_eq(a->verdict, VERDICT_SOUND, "%s\n%s", support_told(a), text);
    cr_expect_eq(a->findings_n, 0, "%s", support_told(a));
    cr_expect_geq(a->passes_n, 80, "%zu", a->passes_n); /* silence because nothing was looked at */
    static const rule_id LOOKED_AT[] = {R_TOKENS, R_POPULATION, R_ROOFLINE,    R_FLOOR,
                                        R_CARD,   R_RATIO,      R_CONSISTENCY, R_UNITS,
                                        R_MEMORY, R_CONDITIONS, R_MONO,        R_QUEUE};
    for (size_t i = 0; i < sizeof LOOKED_AT / sizeof *LOOKED_AT; i++)
        cr_expect_not_null(support_finding(a, AUDIT_PASS, LOOKED_AT[i], NULL, NULL), "%s",
                           RULES[LOOKED_AT[i]].id);
}

/* By one printed unit: to the side on which the print lies already, so that the figure is wrong by
 * one half to one and a half of them. */
static const mutant MUTANTS[] = {
    {"wall_s", 1, NULL, NULL, NULL, R_RATIO},
    {"wall_i", 1, NULL, NULL, NULL, R_RATIO},
    {"prefill_s", 1, NULL, NULL, NULL, R_RATIO},
    {"prefill_i", 1, NULL, NULL, NULL, R_RATIO},
    {"decode_s", 1, NULL, NULL, NULL, R_RATIO},
    {"rate_s", 1, NULL, NULL, NULL, R_RATIO},
    {"rate_i", 1, NULL, NULL, NULL, R_RATIO},
    {"total_rate_s", 1, NULL, NULL, NULL, R_RATIO},
    {"decode_rate_s", 1, NULL, NULL, NULL, R_RATIO},
    {"prefill_rate_i", 1, NULL, NULL, NULL, R_RATIO},
    {"prompt_s", 1, NULL, NULL, NULL, R_TOKENS},
    {"reused_i", 1, NULL, NULL, NULL, R_TOKENS},
    {"computed_s", 1, NULL, NULL, NULL, R_TOKENS},
    {"output_i", 1, NULL, NULL, NULL, R_TOKENS},
    {"evals_i", 1, NULL, NULL, NULL, R_TOKENS},
    {"evals_s", 1, NULL, NULL, NULL, R_TOKENS},
    {"reuse_s", 1, NULL, NULL, NULL, R_RATIO},
    {"reuse_i", 1, NULL, NULL, NULL, R_RATIO},
    {"ttft50_s", 1, NULL, NULL, NULL, R_RATIO},
    {"memory_s", 1, NULL, NULL, NULL, R_CONSISTENCY},
    {"density_s", 1, NULL, NULL, NULL, R_MEMORY},
    {"density_i", 1, NULL, NULL, NULL, R_MEMORY},
    {"usd_tok_s", 1, NULL, NULL, NULL, R_RATIO},
    {"tok_usd_s", 1, NULL, NULL, NULL, R_RATIO},
    {"tok_usd_i", 1, NULL, NULL, NULL, R_RATIO},
    {"j_tok_s", 1, NULL, NULL, NULL, R_RATIO},
    {"tok_j_s", 1, NULL, NULL, NULL, R_RATIO},
    {"itl_one", 1, NULL, NULL, NULL, R_RATIO},
    {"bandwidth_one", 1, NULL, NULL, NULL, R_RATIO},
    {"kv_tok", 1, NULL, NULL, NULL, R_MEMORY},
    {"kv_2k", 1, NULL, NULL, NULL, R_MEMORY},
    {"kv_32k", 1, NULL, NULL, NULL, R_MEMORY},
    {"saved", 1, NULL, NULL, NULL, R_MEMORY},
    {"saved_gib", 1, NULL, NULL, NULL, R_MEMORY},
    {"agents", 1, NULL, NULL, NULL, R_MEMORY},
    {"speedup", 1, NULL, NULL, NULL, R_CONSISTENCY},
    {"setup_total", 1, NULL, NULL, NULL, R_RATIO},
    /* to half a per cent: a ceiling (0.7 of 125), a latency of means (5 of 646) */
    {"latency_one", 5, NULL, NULL, NULL, R_RATIO},
    {"ceiling", 7, NULL, NULL, NULL, R_ROOFLINE},
    /* units */
    {"wall_i", 0, "min", NULL, NULL, R_RATIO},
    {"prefill_s", 0, "s", NULL, NULL, R_RATIO},
    {"decode_s", 0, "ms", NULL, NULL, R_RATIO},
    {"rate_i", 0, "ktok/s", NULL, NULL, R_RATIO},
    {"decode_rate_one", 0, "ktok/s", NULL, NULL, R_FLOOR},
    {"prefill_rate_s", 0, "ktok/s", NULL, NULL, R_ROOFLINE},
    {"ttft50_i", 0, "s", NULL, NULL, R_RATIO},
    {"queue50_i", 0, "s", NULL, NULL, R_QUEUE},
    {"itl_one", 0, "s", NULL, NULL, R_RATIO},
    {"latency_one", 0, "s", NULL, NULL, R_RATIO},
    {"kv_2k", 0, "MB", NULL, NULL, R_UNITS},
    {"kv_32k", 0, "GB", NULL, NULL, R_UNITS},
    {"kv_tok", 0, "KiB/token", NULL, NULL, R_MEMORY},
    {"saved", 0, "MB", NULL, NULL, R_MEMORY},
    {"memory_s", 0, "GB", NULL, NULL, R_CONSISTENCY},
    {"density_s", 0, "agents/GB", NULL, NULL, R_MEMORY},
    {"weights", 0, "MB", NULL, NULL, R_MEMORY},
    {"reuse_s", 0, "fraction", NULL, NULL, R_RATIO},
    {"usd_tok_s", 0, "USD/tok", NULL, NULL, R_RATIO},
    {"power", 0, "kW", NULL, NULL, R_RATIO},
    {"setup_total", 0, "ms", NULL, NULL, R_RATIO},
    /* ratios, rates, facts, sentences */
    {NULL, 0, NULL, "\"printed\": \"1.1101x\"", "\"printed\": \"1.1102x\"", R_RATIO},
    {NULL, 0, NULL, "\"printed\": \"1.11x\"", "\"printed\": \"1.12x\"", R_RATIO},
    {NULL, 0, NULL, "\"used prefill\", \"value\": 10000, \"digits_as_printed\": \"10000.0\"",
     "\"used prefill\", \"value\": 10100", R_CARD},
    {NULL, 0, NULL, "\"used decode\", \"value\": 412", "\"used decode\", \"value\": 416", R_CARD},
    {NULL, 0, NULL, "exceeds the weights", "is below the weights", R_CONSISTENCY},
    {NULL, 0, NULL, "\"P\": 2000", "\"P\": 2001", R_TOKENS},
    {NULL, 0, NULL, "\"turn_out_tok\": 50", "\"turn_out_tok\": 51", R_TOKENS},
    {NULL, 0, NULL, "delta_first", "result_after", R_TOKENS},
    {NULL, 0, NULL, "per_slot", "none", R_TOKENS},
    {NULL, 0, NULL, "\"layers\": 32, \"full_attention_layers\": 32",
     "\"layers\": 32, \"full_attention_layers\": 31", R_MEMORY},
    {NULL, 0, NULL, "\"mem_bw_GBps\": 2000", "\"mem_bw_GBps\": 1750", R_FLOOR},
    {NULL, 0, NULL, "\"fp16_TFLOPS\": 400", "\"fp16_TFLOPS\": 150", R_ROOFLINE},
    {NULL, 0, NULL, "\"memory_GB\": 80", "\"memory_GB\": 15", R_MEMORY},
};

static void expect_caught(const audit *a, rule_id by, const char *what) {
    cr_expect_eq(a->verdict, VERDICT_DEFECT, "%s survives", what);
    cr_expect_not_null(support_finding(a, AUDIT_FAIL, by, NULL, NULL), "%s: no fail of %s:%s", what,
                       RULES[by].id, support_told(a));
}

Test(audit_mutants, every_mutant_is_caught) {
    build();
    for (size_t i = 0; i < sizeof MUTANTS / sizeof *MUTANTS; i++) {
        const mutant *m = &MUTANTS[i];
        const char *what = m->figure ? arena_printf(support_arena(), "%s + %d %s", m->figure,
                                                    m->steps, m->in ? m->in : "units")
                                     : m->to;
        expect_caught(support_audit_text(claim_text(m)), m->caught_by, what);
    }
}

/* ---- speculation, streams and requests: small claims of their own ---- */

/* 100 rounds of 30 ms draft 3 and accept 1.8 of them: 280 tokens in 3 s. 64 requests in 8 s. Eight
 * streams of 200 tokens at 30 tok/s after 0.5 s: 8 x 200 / (0.5 + 200 / 30) = 223.3 tok/s. */
static const char SPECULATION[] =
    "{\"schema\": \"ratecast.claim/1\", \"id\": \"s\", \"title\": \"t\", \"kind\": \"speculative "
    "decoding\", \"workload\": {\"block_size\": 4}, \"figures\": ["
    "{\"name\": \"acceptance\", \"value\": 0.6, \"digits_as_printed\": \"0.600\", \"unit\": "
    "\"fraction\", \"metric\": \"acceptance\"},"
    "{\"name\": \"mean\", \"value\": 1.8, \"digits_as_printed\": \"1.800\", \"unit\": "
    "\"tokens/round\", \"metric\": \"mean_accepted\"},"
    "{\"name\": \"rounds\", \"value\": 100, \"unit\": \"rounds\", \"metric\": \"rounds\"},"
    "{\"name\": \"generated\", \"value\": 280, \"unit\": \"tokens\", \"metric\": \"output_tok\"},"
    "{\"name\": \"decode\", \"value\": 3000.0, \"digits_as_printed\": \"3000.0\", \"unit\": "
    "\"ms\", "
    "\"metric\": \"decode_time\"},"
    "{\"name\": \"rate\", \"value\": 93.3, \"unit\": \"tok/s\", \"metric\": \"decode_rate\"}]}";
static const char REQUESTS[] =
    "{\"schema\": \"ratecast.claim/1\", \"id\": \"r\", \"title\": \"t\", \"workload\": {"
    "\"output_tokens_per_request\": 200}, \"figures\": ["
    "{\"name\": \"served\", \"value\": 64, \"unit\": \"requests\", \"metric\": \"requests\"},"
    "{\"name\": \"took\", \"value\": 8.00, \"digits_as_printed\": \"8.00\", \"unit\": \"s\", "
    "\"metric\": \"wall_clock\"},"
    "{\"name\": \"rps\", \"value\": 8.0, \"digits_as_printed\": \"8.0\", \"unit\": \"req/s\", "
    "\"metric\": \"request_rate\"},"
    "{\"name\": \"all\", \"value\": 223.3, \"unit\": \"tok/s\", \"arm\": \"a\", \"agents_n\": 8, "
    "\"metric\": \"output_rate\"},"
    "{\"name\": \"each\", \"value\": 30.00, \"digits_as_printed\": \"30.00\", \"unit\": \"tok/s\", "
    "\"arm\": \"a\", \"agents_n\": 8, \"metric\": \"stream_rate\"},"
    "{\"name\": \"first\", \"value\": 0.500, \"digits_as_printed\": \"0.500\", \"unit\": \"s\", "
    "\"arm\": \"a\", \"agents_n\": 8, \"metric\": \"ttft\"}]}";

static const struct small_mutant {
    const char *text, *from, *to;
    rule_id caught_by;
} SMALL[] = {
    {SPECULATION, "0.6, \"digits_as_printed\": \"0.600\"",
     "0.601, \"digits_as_printed\": \"0.601\"", R_RATIO},
    {SPECULATION, "\"block_size\": 4", "\"block_size\": 5", R_RATIO},
    {SPECULATION, "\"value\": 100,", "\"value\": 101,", R_CONSISTENCY},
    {SPECULATION, "\"value\": 280,", "\"value\": 282,", R_CONSISTENCY}, /* one is the prefill's */
    {SPECULATION, "\"value\": 93.3", "\"value\": 93.4", R_RATIO},
    {SPECULATION, "\"unit\": \"ms\"", "\"unit\": \"s\"", R_RATIO},
    {REQUESTS, "\"value\": 64", "\"value\": 65", R_RATIO},
    {REQUESTS, "8.0, \"digits_as_printed\": \"8.0\"", "8.1, \"digits_as_printed\": \"8.1\"",
     R_RATIO},
    {REQUESTS, "\"unit\": \"req/s\"", "\"unit\": \"req/min\"", R_RATIO},
    /* more than 8 x 30 tok/s; what one stream has */
    {REQUESTS, "\"value\": 223.3", "\"value\": 243.0", R_POPULATION},
    {REQUESTS, "\"value\": 223.3", "\"value\": 30.0", R_POPULATION},
};

Test(audit_mutants, small_claims) {
    cr_expect_eq(support_audit_text(SPECULATION)->verdict, VERDICT_SOUND, "%s",
                 support_told(support_audit_text(SPECULATION)));
    cr_expect_eq(support_audit_text(REQUESTS)->verdict, VERDICT_SOUND, "%s",
                 support_told(support_audit_text(REQUESTS)));
    for (size_t i = 0; i < sizeof SMALL / sizeof *SMALL; i++)
        expect_caught(support_audit_text(replaced(SMALL[i].text, SMALL[i].from, SMALL[i].to)),
                      SMALL[i].caught_by, SMALL[i].to);
}
