/* Every figure of a claim is in a statement of its audit, or is listed as compared with nothing:
 * by hand, and for all claims of the repository by other values written into their files. */
#include "audit_support.h"

#include <dirent.h>

static const audit *compared(const claim *c) {
    err e = {0};
    audit *a = (audit *)support_audit(c);
    cr_assert_eq(audit_not_compared(c, support_chips(), support_arena(), a, &e), OK, "%s: %s",
                 e.where, e.what);
    return a;
}

static bool listed(const audit *a, const claim_figure *f) {
    for (size_t i = 0; i < a->not_compared_n; i++)
        if (a->not_compared[i] == f) return true;
    return false;
}

static const char *list_of(const audit *a) {
    const char *s = "";
    for (size_t i = 0; i < a->not_compared_n; i++)
        s = arena_printf(support_arena(), "%s%s%s", s, s[0] ? " " : "", a->not_compared[i]->name);
    return s;
}

/* ---- by hand ---- */

/* Two walls and their ratio; a cache without an architecture, a power without energy. */
Test(audit_compared, by_hand) {
    static const struct {
        const char *model, *list;
    } CASES[] = {{"", "kv power"},
                 {"\"model\": {\"name\": \"m\", \"layers\": 28, \"full_attention_layers\": 28, "
                  "\"kv_heads\": 4, \"head_dim\": 128, \"kv_bytes_per_element\": 2},",
                  "power"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const claim *c = support_claim(arena_printf(
            support_arena(),
            "{\"schema\": \"ratecast.claim/1\", \"id\": \"c\", \"title\": \"t\", %s \"figures\": "
            "[{\"name\": \"wall_a\", \"arm\": \"a\", \"value\": 30.0, \"digits_as_printed\": "
            "\"30.0\", \"unit\": \"s\", \"metric\": \"wall_clock\"}, {\"name\": \"wall_b\", "
            "\"arm\": \"b\", \"value\": 20.0, \"digits_as_printed\": \"20.0\", \"unit\": \"s\", "
            "\"metric\": \"wall_clock\"}, {\"name\": \"kv\", \"arm\": \"a\", \"value\": 224, "
            "\"digits_as_printed\": \"224\", \"unit\": \"MiB\", \"metric\": \"kv\", "
            "\"context_tok\": 4096, \"agents_n\": 1}, {\"name\": \"power\", \"arm\": \"a\", "
            "\"value\": 400, \"unit\": \"W\", \"metric\": \"power\"}], \"ratios\": [{\"name\": "
            "\"r\", \"printed\": \"1.5x\", \"numerator_figure\": \"wall_a\", "
            "\"denominator_figure\": \"wall_b\"}]}",
            CASES[i].model));
        const audit *a = compared(c);
        cr_expect_eq(a->verdict, VERDICT_SOUND, "%s", support_told(a));
        cr_expect_str_eq(list_of(a), CASES[i].list);
        cr_expect_eq(a->figures_n, 4);
    }
}

/* KV of a shared arm that names no context is held against the end of the session: 6,000 + 8 x
 * 30 x 150 tokens, the last token of each agent written or not. */
Test(audit_compared, kv_without_a_context) {
    const double each = 2.0 * 28 * 4 * 128 * 2, mib = 1048576, tok = 6000 + 8 * 30 * 150;
    const struct {
        double mib;
        audit_outcome outcome;
        verdict verdict;
    } CASES[] = {{tok * each / mib, AUDIT_PASS, VERDICT_SOUND},
                 {(tok - 8) * each / mib, AUDIT_PASS, VERDICT_SOUND},
                 {tok * each / mib / 2, AUDIT_CANNOT_TELL, VERDICT_SOUND},
                 {9999, AUDIT_CANNOT_TELL, VERDICT_CANNOT_TELL},
                 {50, AUDIT_CANNOT_TELL, VERDICT_CANNOT_TELL}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const claim *c = support_claim(arena_printf(
            support_arena(),
            "{\"schema\": \"ratecast.claim/1\", \"id\": \"c\", \"title\": \"t\", \"model\": "
            "{\"name\": \"m\", \"layers\": 28, \"full_attention_layers\": 28, \"kv_heads\": 4, "
            "\"head_dim\": 128, \"kv_bytes_per_element\": 2}, \"workload\": {\"K\": 8, \"H\": 30, "
            "\"P\": 6000, \"turn_delta_in_tok\": 100, \"turn_out_tok\": 50, \"turn_shape\": "
            "\"delta_first\"}, \"arms\": [{\"name\": \"a\", \"prefix_reuse\": \"shared\"}], "
            "\"figures\": [{\"name\": \"kv\", \"arm\": \"a\", \"metric\": \"kv\", \"value\": %.1f, "
            "\"digits_as_printed\": \"%.1f\", \"unit\": \"MiB\"}, {\"name\": \"out\", \"metric\": "
            "\"output_tok\", \"value\": 12000, \"unit\": \"tokens\"}]}",
            CASES[i].mib, CASES[i].mib));
        const audit *a = compared(c);
        const finding *f = support_finding(a, CASES[i].outcome, R_MEMORY, "kv-at-end", "kv");
        cr_assert_not_null(f, "%.1f MiB:%s", CASES[i].mib, support_told(a));
        cr_expect_float_eq(f->expected, tok * each / mib, 1e-6, "%.10g", f->expected);
        cr_expect_eq(a->verdict, CASES[i].verdict, "%.1f MiB", CASES[i].mib);
        cr_expect_eq(a->not_compared_n, 0, "%s", list_of(a));
    }
}

/* ---- all claims of the repository ---- */

static bool among(const finding *f, const finding *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (f->rule == list[i].rule && f->outcome == list[i].outcome &&
            strcmp(f->why, list[i].why) == 0 && strcmp(f->about, list[i].about) == 0)
            return true;
    return false;
}

static bool all_said(const audit *was, const audit *is) {
    for (size_t i = 0; i < was->findings_n; i++)
        if (!among(&was->findings[i], is->findings, is->findings_n)) return false;
    for (size_t i = 0; i < was->passes_n; i++)
        if (!among(&was->passes[i], is->passes, is->passes_n)) return false;
    return true;
}

/* The claim's file with another value of one figure; NULL: the claim then is refused. */
static const audit *with_value(cJSON *root, cJSON *of, double v) {
    cJSON *value = cJSON_GetObjectItem(of, "value");
    double was = value->valuedouble;
    cJSON *printed = cJSON_DetachItemFromObject(of, "digits_as_printed");
    cJSON_SetNumberValue(value, v);
    char *text = cJSON_PrintUnformatted(root);
    const claim *c = NULL;
    err e;
    const audit *a = support_claim_parse(text, 0, &c, &e) == OK ? support_audit(c) : NULL;
    cJSON_free(text);
    cJSON_SetNumberValue(value, was);
    if (printed) cJSON_AddItemToObject(of, "digits_as_printed", printed);
    return a;
}

static size_t check_claim(const char *path, size_t *listed_n) {
    static const double BY[] = {1100, 1 / 900.0};
    file_bytes f = {0};
    err e = {0};
    cr_assert_eq(file_read(path, support_arena(), &f, &e), OK, "%s", path);
    cJSON *file = cJSON_Parse(f.s), *inner = cJSON_GetObjectItem(file, "claim");
    cJSON *root = inner ? inner : file, *figures = cJSON_GetObjectItem(root, "figures"), *of;
    char *text = cJSON_PrintUnformatted(root);
    const claim *c = support_claim(text);
    cJSON_free(text);
    const audit *a = compared(c);
    cr_assert_eq((size_t)cJSON_GetArraySize(figures), c->figures_n, "%s", path);
    size_t i = 0;
    cJSON_ArrayForEach(of, figures) {
        bool changed = false, tried = false;
        for (size_t k = 0; k < 2; k++) {
            double v = cJSON_GetObjectItem(of, "value")->valuedouble;
            double at = v == 0 ? BY[k] : v * BY[k];
            /* things that are counted come in whole numbers */
            const audit *is = with_value(root, of, v == floor(v) ? ceil(at) : at);
            tried |= is != NULL;
            changed |= is && !all_said(a, is);
        }
        cr_expect(tried, "%s: %s", path, c->figures[i].name);
        cr_expect_neq(changed, listed(a, &c->figures[i]), "%s: %s is %s, but what is said %s", path,
                      c->figures[i].name, changed ? "listed" : "not listed",
                      changed ? "changes with it" : "does not change with it");
        i++;
    }
    cJSON_Delete(file);
    *listed_n += a->not_compared_n;
    return c->figures_n;
}

Test(audit_compared, all_claims, .timeout = 300) {
    static const char *const FOLDERS[] = {"scenarios/claims", "scenarios/claims/broken",
                                          "tests/unit/claims"};
    size_t figures = 0, lists = 0;
    for (size_t i = 0; i < sizeof FOLDERS / sizeof *FOLDERS; i++) {
        const char *folder = arena_printf(support_arena(), "%s/%s", RATECAST_REPO, FOLDERS[i]);
        DIR *d = opendir(folder);
        cr_assert_not_null(d, "%s", folder);
        for (struct dirent *x; (x = readdir(d));) {
            size_t len = strlen(x->d_name);
            if (len < 5 || strcmp(x->d_name + len - 5, ".json") != 0) continue;
            figures +=
                check_claim(arena_printf(support_arena(), "%s/%s", folder, x->d_name), &lists);
        }
        closedir(d);
    }
    cr_expect_gt(figures, 200);
    cr_expect_gt(lists, 10);
    cr_expect_lt(lists, figures / 4);
}
