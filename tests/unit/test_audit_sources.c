/* The audit of the three source documents, as claims in scenarios/claims: everything that is known
 * to be wrong with them is found, with the right numbers, and nothing else is. The numbers are
 * derived here from the documents' printed figures, by arithmetic that is written out. */
#include "audit_support.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <strings.h>

enum { H4K, H20K, CACHE, FLEET, CLAIMS_N };
static const char *const FILES[] = {
    "scenarios/claims/head_to_head_4k.json", "scenarios/claims/head_to_head_20k.json",
    "scenarios/claims/cache_ab.json", "scenarios/claims/fleet_5x200.json"};

#define NONE (double)NAN
static const double MIB = 1048576, GIB = 1073741824;

/* What the documents print, and nothing else. */
static const double K = 4, H = 20, P4 = 4096, P20 = 20000, DELTA = 128, OUT = 64;
static const double BUS = 150e9, WEIGHTS = 17106775008.0;
static const double PREFILL = 48.54;      /* witnessed */
static const double TTFT50 = 126.0308;    /* s, llama.cpp: the second of four prefixes in a row */
static const double PACKET_QUEUE = 946.4; /* s, outside the packet's wall-clock */
static const double M7B = 7.6e9;

typedef struct expectation {
    const char *id; /* of the golden file */
    int claim;
    rule_id rule;
    const char *check, *about;
    double expected, found; /* NONE: not compared */
    double within;          /* of both */
    const char *says;       /* texts that the sentence holds, separated by | */
    bool pass;              /* a confirmation, no finding */
    bool printed;           /* found from printed and external items alone */
} expectation;

static const expectation *table(size_t *n) {
    /* 4 x 3 / 2 waits of one prefix each; the rate is the one behind the printed TTFT */
    double queue4 = K * (K - 1) / 2 * P4 / 65.0, queue20 = K * (K - 1) / 2 * P20 / 85.0;
    double penalty = K * H * 7.5, left = 1732.5 - queue4 - penalty;
    double delta_s = 0.012, delta_tok = K * H * DELTA, out = K * H * OUT;
    /* each arm's rate at four sequences, from its printed total: what prefix, deltas and constant
     * leave of it is 5,120 tokens of decode */
    double fak4 = 7.61 * (1 + 0.35 * (K - 1)), llama4 = 7.38 * (1 + 0.15 * (K - 1));
    cr_assert_float_eq(P4 / 65 + K * H * delta_s + out / fak4 + 1.6, 393.8, 0.05);
    cr_assert_float_eq(K * P4 / 65 + K * H * delta_s * 1.75 + out / llama4, 732.2, 0.05);
    double kv_quarter = (K - 1) * P4 * 65536 / MIB, q2 = 9830 * MIB;
    double tokens_a = 5.0 * (200 * 2048 + 12 * 199 * 200 / 2.0 + 20 * 199 * 200 / 2.0),
           tokens_c = 2048 + 5.0 * 199 * 12;
    cr_assert_float_eq(tokens_a, 5232000, 0.5);
    cr_assert_float_eq(tokens_c, 13988, 0.5);
    double wall_a = tokens_a / 392 + 20000 / 17.41, wall_c = tokens_c / 392 + 20000 / 44.0;
    /* step times of five sequences, linear between 2,048, 5,120 and 8,192 tokens and on to
     * 2,048 + 200 x 32 = 8,448; the mean over that stretch is exact by trapezoids */
    double s0 = 5 / 47.2, s1 = 5 / 44.4, s2 = 5 / 41.9, s3 = s2 + (s2 - s1) * 256 / 3072,
           mean_s = ((s0 + s1) / 2 * 3072 + (s1 + s2) / 2 * 3072 + (s2 + s3) / 2 * 256) / 6400;
    double pass_7b = 7.54 * GIB / BUS * 1e3;
    double cpu = 13988 / 16.0 / 60 + 20000 / 8.7 / 60;

    static expectation t[64];
    const expectation all[] = {
        /* A1: client queue wait inside the wall-clock */
        {"A1", H4K, R_WALL, "queue-wait", "llamaQueueContentionMS", 0, queue4, 0.05,
         "already in TTFT|counted twice|378.1 s", .printed = true},
        {"A1", H20K, R_WALL, "queue-wait", "llamaQueueContentionMS", 0, queue20, 0.05, "1,411.8 s",
         .printed = true},
        {"A1", H4K, R_CONSISTENCY, "two-accounts", "#11855, llama.cpp", queue4,
         PACKET_QUEUE - penalty, 0.05,
         "946.4 s|346.4 s|31.69 s|prefill 504.8 s to 253.7 s|decode 281.3 s to 478.5 s",
         .printed = false},
        /* A2 */
        {"A2", H4K, R_EVIDENCE, "no-evidence", "llamaSlotContentionMS", 0, penalty, 0.001,
         "600 s|no evidence", .printed = true},
        /* A3: 754.4 - 732.2 = 22.2 s, 412.5 - 393.8 = 18.7 s */
        {"A3", H4K, R_EVIDENCE, "revision", "#11855, llama.cpp", left, 732.2, 0.05,
         "22.21 s|no stated cause", .printed = true},
        {"A3", H4K, R_EVIDENCE, "revision", "#11855, fak-native", 412.5, 393.8, 0.05,
         "18.70 s|no stated cause", .printed = true},
        /* A4 */
        {"A4", H4K, R_FLOOR, "delta", "delta of a turn", WEIGHTS / BUS * 1e3, 12, 0.05,
         "10,667 tok/s|220 times|114.0 ms", .printed = true},
        {"A4", H4K, R_CARD, "delta", "delta of a turn", PREFILL, DELTA / delta_s, 0.05, "",
         .printed = true},
        /* A5 */
        {"A5", H4K, R_CARD, "prefill-used", "ttft_p50_llama", PREFILL, 2 * P4 / TTFT50, 0.005,
         "65.00 tok/s|48.54 tok/s", .printed = true},
        /* A6 */
        {"A6", H4K, R_ROOFLINE, "ceiling", "ceiling_decode", BUS / WEIGHTS, 9.68, 0.0005,
         "17,106,775,008 bytes|8.768", .printed = true},
        /* A7 */
        {"A7", H4K, R_CARD, "batched-decode", "fak batched decode", 23.8, fak4, 0.005, "",
         .printed = false},
        {"A7", H4K, R_CARD, "batched-decode", "llama.cpp batched decode", 18.2, llama4, 0.005, "",
         .printed = false},
        /* A8: without the recovered rate, 1.448 from the total that is left */
        {"A8", H4K, R_CARD, "batching-gain", "llama.cpp", 33.92 / 17.41, 1.45, 0.005,
         "1.948x for 2|2.711x at 5", .printed = true},
        /* A9 */
        {"A9", H4K, R_POPULATION, "turns", "ttft_p50", NONE, NONE, 0,
         "10,002.4x|different populations|cold first turns|over 80 turns", .printed = true},
        /* A10 */
        {"A10", H4K, R_CONSISTENCY, "said-twice", "speedup_packet", 1.86, 1.91, 0.0005, "1.86x",
         .printed = true},
        /* A11 */
        {"A11", H4K, R_MEMORY, "saved", "memory_saved", kv_quarter, 3072, 0.05,
         "262,144 bytes a token|65,536|768 MiB|all layers of a hybrid model", .printed = true},
        /* A12 */
        {"A12", H4K, R_EVIDENCE, "delta-charged", "fak-native", delta_tok / PREFILL,
         K * H * delta_s, 0.05, "10,240 new tokens|211.0 s|157.5 s", .printed = false},
        {"A12", H4K, R_EVIDENCE, "delta-charged", "llama.cpp", delta_tok / PREFILL,
         K * H * delta_s * 1.75, 0.05, "211.0 s|157.5 s", .printed = false},
        /* A13 */
        {"A13", H4K, R_EVIDENCE, "no-evidence", "constant of the fak arm", 0, 1.6, 0.005,
         "queue wait|two names for one term", .printed = false},
        /* A14 */
        {"A14", H20K, R_CARD, "other-model", "decode of the fak arm", BUS / q2, 7.61, 0.005,
         "measured on Q4_K_M|UD-Q2_K_XL|14.55 tok/s", .printed = false},

        /* B1: 0.224 + 16 x 0.456; the table is K x 0.476 */
        {"B1", CACHE, R_RATIO, "formula", "memory of Cache ON", 0.224 + 16 * 0.456, 7.62, 0.0005,
         "0.680 GB for memory_on_1, printed 0.480 GB|0.476 GB times the agents", .printed = true},
        /* B2 */
        {"B2", CACHE, R_CARD, "ttft-rate", "ttft_p50_on_1", 391.9, 4352 / 0.18, 0.05,
         "24,178 tok/s|61.69 times", .printed = true},
        {"B2", CACHE, R_ROOFLINE, "flops", "ttft_p50_on_1 (Cache ON)", NONE,
         2 * M7B * 4352 / 0.18 / 1e12, 0.05, "367.5 TFLOP/s", .printed = true},
        /* B3: at 16 agents the mean request computes (4,096 + 16 x 256) / 16 = 512 tokens */
        {"B3", CACHE, R_POPULATION, "flat", "Cache ON", 4352.0 / ((4096 + 16 * 256) / 16.0), 1,
         0.005, "180 ms at 1 and 180 ms at 16|does not depend on the work", .printed = true},
        /* B4 */
        {"B4", CACHE, R_RATIO, "reuse", "ledger_reuse (ledger row)", 61440.0 / 69632, 0.88234, 5e-7,
         "0.882353", .printed = true},
        {"B4", CACHE, R_RATIO, "reuse", "reuse_on_16 (Cache ON)", 6144000.0 / 69632, 88.23, 5e-5,
         "cut, not rounded", .printed = true},
        /* B5 */
        {"B5", CACHE, R_MONO, "saturated", "ttft_p95_off_16", 4352 / 0.18, 69632 / 1.98, 0.5,
         "35,168 tok/s or more|24,178", .printed = true},
        /* B6 */
        {"B6", CACHE, R_RATIO, "formula", "serving budget", 36 - 8, 26, 0.05, "", .printed = true},
        /* B7 */
        {"B7", CACHE, R_UNITS, "kv-bytes", "prefix_kv", 4096 * 57344 / 1e9, 0.224, 0.0005,
         "224 MiB", .printed = true},
        /* B8: (26 - 0.224) / 0.456 = 56.5 */
        {"B8", CACHE, R_MEMORY, "agents-fit", "agents_on", floor((26 - 0.224) / 0.456), 54, 0.05,
         "rounded density 2.100", .printed = true},

        /* C1: with 40 new tokens a turn 8,018,000 / 41,848 */
        {"C1", FLEET, R_RATIO, "ratio", "naive_tokens_shared", tokens_a / tokens_c, 191, 0.05,
         "191.6 x|40 new tokens a turn, not 12", .printed = true},
        /* C2: the quadratic through the three 7B lengths; 31.7 by an independent fit */
        {"C2", FLEET, R_RATIO, "wall-ratio", "naive_wall", wall_a / wall_c, 30, 0.005,
         "31.66 x|29.57 x", .printed = true},
        /* C3 */
        {"C3", FLEET, R_FLOOR, "small-prompt", "B single streams", pass_7b, 12 / 392.0 * 1e3, 0.05,
         "12 tokens ingested alone|57.44 ms measured", .printed = true},
        {"C3", FLEET, R_FLOOR, "small-prompt", "C batched + shared", pass_7b, 60 / 392.0 * 1e3,
         0.05, "for all agents in one pass", .pass = true, .printed = true},
        /* C4 and C5 follow */
        {"C4", FLEET, R_RATIO, "ratio", "under_priced_tail", 676 / 266.0, 2.5, 0.005, "",
         .pass = true, .printed = true},
        {"C5", FLEET, R_CARD, "context-mean", "fleet decode", 5 / mean_s, 44, 0.005, "",
         .pass = true, .printed = true},
        /* C6 */
        {"C6", FLEET, R_RATIO, "total", "wall_cpu_low", cpu, 22, 0.05,
         "prefill (14.57 min)|decode of C batched + shared (7.576 min)", .printed = true},
        {"C6", FLEET, R_RATIO, "total", "wall_cpu_high", cpu, 51, 0.05,
         "prefill 14.57 min + decode 38.31 min", .printed = true},
    };
    memcpy(t, all, sizeof all);
    *n = sizeof all / sizeof *all;
    return t;
}

/* Fails that no entry of the golden file names, and why each is right. */
static const struct {
    int claim;
    rule_id rule;
    const char *check, *about;
} ALSO[] = {
    /* A4 in the other arm: its delta is 12 ms x 1.75 = 21 ms, also below the 114 ms of one pass and
     * 126 times the witnessed prefill rate */
    {H4K, R_FLOOR, "delta", "delta of a turn, llama.cpp"},
    {H4K, R_CARD, "delta", "delta of a turn, llama.cpp"},
    /* A4 at 20k: 12 and 21 ms against 9,830 MiB / 150 GB/s = 68.7 ms */
    {H20K, R_FLOOR, "delta", "delta of a turn"},
    {H20K, R_FLOOR, "delta", "delta of a turn, llama.cpp"},
    /* A11 at 20k: 15,000 MiB saved are 3 x 20,000 tokens at 262,144 bytes; at 65,536 3,750 MiB */
    {H20K, R_MEMORY, "saved", "memory_saved"},
    /* A13 at 20k: the same constant of 1.6 s */
    {H20K, R_EVIDENCE, "no-evidence", "constant of the fak arm"},
    /* A14 in the other arm: 7.38 tok/s was measured on Q4_K_M too */
    {H20K, R_CARD, "other-model", "decode of the llama.cpp arm"},
    /* a first token after 12.6 ms takes a pass over the weights: 17,106,775,008 B / 150 GB/s =
     * 114.0 ms, and 68.7 ms of the other file */
    {H4K, R_FLOOR, "first-token", "ttft_p50_fak (fak-native)"},
    {H20K, R_FLOOR, "first-token", "ttft_p50_fak (fak-native)"},
};

static void holds_texts(const expectation *x, const char *why) {
    for (const char *p = x->says; *p;) {
        size_t n = strcspn(p, "|");
        const char *one = arena_printf(support_arena(), "%.*s", (int)n, p);
        cr_expect_not_null(strstr(why, one), "%s: \"%s\" lacks \"%s\"", x->id, why, one);
        p += n + (p[n] == '|');
    }
}

static void check_expectation(const audit *a, const expectation *x, bool numbers) {
    audit_outcome o = x->pass ? AUDIT_PASS : AUDIT_FAIL;
    const finding *f = support_finding(a, o, x->rule, x->check, x->about);
    cr_expect_not_null(f, "%s: no %s %s/%s %s in %s:%s", x->id, AUDIT_OUTCOME_NAMES[o],
                       RULES[x->rule].word, x->check, x->about, FILES[x->claim], support_told(a));
    if (!f) return;
    if (numbers) holds_texts(x, f->why);
    if (!isnan(x->expected))
        cr_expect(f->has_expected && fabs(f->expected - x->expected) <= x->within,
                  "%s %s: expected value %.10g, by hand %.10g", x->id, x->about, f->expected,
                  x->expected);
    if (!isnan(x->found))
        cr_expect(f->has_found && fabs(f->found - x->found) <= x->within,
                  "%s %s: found %.10g, by hand %.10g", x->id, x->about, f->found, x->found);
}

Test(audit_sources, every_expected_finding) {
    size_t n;
    const expectation *t = table(&n);
    for (int c = 0; c < CLAIMS_N; c++) {
        const audit *a = support_audit_file(FILES[c], 0);
        cr_expect_eq(a->verdict, VERDICT_DEFECT, "%s", FILES[c]);
        for (size_t i = 0; i < n; i++)
            if (t[i].claim == c) check_expectation(a, &t[i], true);
    }
}

/* Without the constants that were worked out from printed totals, what rests on printed figures
 * alone is still there. */
Test(audit_sources, from_printed_figures_alone) {
    size_t n;
    const expectation *t = table(&n);
    for (int c = 0; c < CLAIMS_N; c++) {
        const audit *a = support_audit_file(FILES[c], ORIGIN_RECOVERED);
        for (size_t i = 0; i < a->findings_n; i++)
            cr_expect((a->findings[i].origins & ORIGIN_RECOVERED) == 0, "%s: %s rests on %u",
                      FILES[c], a->findings[i].about, a->findings[i].origins);
        for (size_t i = 0; i < n; i++)
            if (t[i].claim == c && t[i].printed) check_expectation(a, &t[i], false);
    }
    /* the ones that must not hang on anything recovered */
    static const char *const MUST[] = {"A2", "A3", "A5", "A6", "A8", "A9", "A10", "B1",
                                       "B2", "B3", "B4", "B5", "B6", "B7", "B8",  "C1"};
    for (size_t m = 0; m < sizeof MUST / sizeof *MUST; m++) {
        size_t hits = 0;
        for (size_t i = 0; i < n; i++) hits += strcmp(t[i].id, MUST[m]) == 0 && t[i].printed;
        cr_expect(hits > 0, "%s", MUST[m]);
    }
}

static bool allowed(const expectation *t, size_t n, int c, const finding *f) {
    for (size_t i = 0; i < n; i++)
        if (t[i].claim == c && !t[i].pass && support_is(f, t[i].rule, t[i].check, t[i].about))
            return true;
    for (size_t i = 0; i < sizeof ALSO / sizeof *ALSO; i++)
        if (ALSO[i].claim == c && support_is(f, ALSO[i].rule, ALSO[i].check, ALSO[i].about))
            return true;
    return false;
}

Test(audit_sources, nothing_else_fails) {
    static const unsigned WITHOUT[] = {0, ORIGIN_RECOVERED, ORIGIN_EXTERNAL,
                                       ORIGIN_RECOVERED | ORIGIN_EXTERNAL};
    size_t n;
    const expectation *t = table(&n);
    for (int c = 0; c < CLAIMS_N; c++)
        for (size_t w = 0; w < sizeof WITHOUT / sizeof *WITHOUT; w++) {
            const audit *a = support_audit_file(FILES[c], WITHOUT[w]);
            for (size_t i = 0; i < a->findings_n; i++)
                cr_expect(a->findings[i].outcome != AUDIT_FAIL || allowed(t, n, c, &a->findings[i]),
                          "%s without %u: %s/%s %s: %s", FILES[c], WITHOUT[w],
                          a->findings[i].rule->word, a->findings[i].check, a->findings[i].about,
                          a->findings[i].why);
        }
    for (size_t i = 0; i < sizeof ALSO / sizeof *ALSO; i++) /* no dead entry */
        cr_expect_not_null(support_finding(support_audit_file(FILES[ALSO[i].claim], 0), AUDIT_FAIL,
                                           ALSO[i].rule, ALSO[i].check, ALSO[i].about),
                           "%s", ALSO[i].about);
}

/* ---- against the golden file ---- */

static const double *numbers_of(const expectation *x) {
    static double v[3];
    v[0] = x->expected, v[1] = x->found, v[2] = fabs(x->expected - x->found);
    return v;
}

/* Every number of the golden entry is one of ours (compared value or difference), or stands in a
 * sentence. */
static void check_golden_number(const expectation *t, size_t n, const char *id,
                                const cJSON *number) {
    /* the finding names the two parts of this one: prefill at 16 and decode at 44 tok/s */
    bool there = strcmp(number->string, "mixed_min") == 0 &&
                 fabs(13988 / 16.0 / 60 + 20000 / 44.0 / 60 - number->valuedouble) <= 0.05;
    for (size_t i = 0; i < n && !there; i++) {
        if (strcmp(t[i].id, id) != 0) continue;
        for (int k = 0; k < 3; k++)
            there |= fabs(numbers_of(&t[i])[k] / number->valuedouble - 1) < 2e-3;
        for (const char *p = t[i].says; *p && !there; p++) {
            char *end;
            if (!isdigit((unsigned char)*p)) continue;
            there = fabs(strtod(p, &end) / number->valuedouble - 1) < 2e-3;
            p = end - 1;
        }
    }
    cr_expect(there, "%s: %s = %.10g is nowhere", id, number->string, number->valuedouble);
}

Test(audit_sources, golden_list_is_covered) {
    const char *path = support_shared("golden/source_figures.json");
    file_bytes f = {0};
    err e = {0};
    size_t n, entries = 0;
    if (!path) cr_skip_test("no golden file");
    const expectation *t = table(&n);
    cr_assert_eq(file_read(path, support_arena(), &f, &e), OK);
    cJSON *root = cJSON_Parse(f.s);
    const cJSON *doc, *x, *number;
    cJSON_ArrayForEach(doc, cJSON_GetObjectItem(root, "documents")) {
        cJSON_ArrayForEach(x, cJSON_GetObjectItem(doc, "audit_findings_expected")) {
            const char *id = cJSON_GetObjectItem(x, "id")->valuestring;
            bool follows = strcmp(cJSON_GetObjectItem(x, "status")->valuestring, "follows") == 0;
            size_t hits = 0;
            for (size_t i = 0; i < n; i++) hits += strcmp(t[i].id, id) == 0 && t[i].pass == follows;
            cr_expect(hits > 0, "%s: %s", id, cJSON_GetObjectItem(x, "what")->valuestring);
            cJSON_ArrayForEach(number, cJSON_GetObjectItem(x, "numbers"))
                check_golden_number(t, n, id, number);
            entries++;
        }
    }
    cJSON_Delete(root);
    cr_assert_eq(entries, 28);
}

/* ---- no check knows a document ---- */

static bool holds(const char *text, const char *what) {
    size_t n = strlen(what);
    for (const char *p = text; *p; p++) {
        if (strncasecmp(p, what, n) != 0) continue;
        bool left = p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '.' || p[-1] == ','),
             right = !(isalnum((unsigned char)p[n]) ||
                       (p[n] == '.' && isdigit((unsigned char)p[n + 1])));
        if (left && right) return true;
    }
    return false;
}

/* Text without comments: those may give examples. */
static const char *code_of(const char *path) {
    file_bytes f = {0};
    err e = {0};
    cr_assert_eq(file_read(path, support_arena(), &f, &e), OK, "%s", path);
    char *out = arena_alloc(support_arena(), f.len + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < f.len; i++) {
        if (f.s[i] == '/' && f.s[i + 1] == '*') {
            const char *end = strstr(f.s + i + 2, "*/");
            cr_assert_not_null(end);
            i = (size_t)(end - f.s) + 1;
            continue;
        }
        out[n++] = f.s[i];
    }
    out[n] = '\0';
    return out;
}

static const char *const SOURCES[] = {
    "model/audit/account.c",           "model/audit/audit.c",
    "model/audit/check_account.c",     "model/audit/check_arithmetic.c",
    "model/audit/check_consistency.c", "model/audit/check_memory.c",
    "model/audit/check_physics.c",     "model/audit/check_population.c",
    "model/audit/check_rates.c",       "model/audit/check_tokens.c",
    "model/audit/claim_audit.c",       "model/audit/facts.c",
    "model/audit/projection_audit.c",  "scenarios/claim.c",
    "scenarios/claim_words.c"};
/* names and constants of the documents and of the corpus; 0.15, 1.5 and the like are nobody's
 */
static const char *const THEIRS[] = {"fak",
                                     "fak-native",
                                     "llamaSlot",
                                     "llamaSlotContentionMS",
                                     "llamaQueueContentionMS",
                                     "llama.cpp",
                                     "qwen",
                                     "smollm",
                                     "packet",
                                     "head_to_head",
                                     "oMLX",
                                     "mlxlm",
                                     "spheron",
                                     "65.0",
                                     "65",
                                     "85.0",
                                     "48.54",
                                     "7.61",
                                     "7.38",
                                     "0.35",
                                     "0.012",
                                     "1.6",
                                     "9.68",
                                     "23.8",
                                     "18.2",
                                     "393.8",
                                     "732.2",
                                     "566.0",
                                     "1421.3",
                                     "1732.5",
                                     "412.5",
                                     "600",
                                     "7500",
                                     "378.1",
                                     "1.91",
                                     "17106775008",
                                     "9830",
                                     "4352",
                                     "69632",
                                     "0.224",
                                     "0.456",
                                     "0.476",
                                     "391.9",
                                     "392.1",
                                     "17.41",
                                     "13988",
                                     "5232000",
                                     "47.2",
                                     "57344",
                                     "262144",
                                     "65536",
                                     "180",
                                     "24178"};

Test(audit_sources, no_check_knows_a_document) {
    for (size_t i = 0; i < sizeof SOURCES / sizeof *SOURCES; i++) {
        const char *text =
            code_of(arena_printf(support_arena(), "%s/%s", RATECAST_REPO, SOURCES[i]));
        cr_expect_gt(strlen(text), 300, "%s", SOURCES[i]);
        for (size_t k = 0; k < sizeof THEIRS / sizeof *THEIRS; k++)
            cr_expect(!holds(text, THEIRS[k]), "%s knows %s", SOURCES[i], THEIRS[k]);
    }
    /* the search itself works */
    cr_expect(holds("if (rate == 65.0)", "65.0") && holds("\"fak-native\"", "fak"));
    cr_expect(!holds("0.651", "65") && !holds("faktor", "fak") && !holds("165.0", "65.0"));
}
