#include "base/jsonr.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static arena *mem;
static jr_doc doc;
static err e;

static void set_up(void) {
    mem = arena_new(16 * 1024 * 1024);
}

static void tear_down(void) {
    jr_free(&doc);
    arena_free(mem);
}

TestSuite(jsonr, .init = set_up, .fini = tear_down);

static err_code parse_n(const char *s, size_t len) {
    jr_free(&doc);
    e = (err){0};
    return jr_parse(&doc, "f.json", s, len, mem, &e);
}

/* The document's root; the test ends when it does not parse. */
static jr root_of(const char *s) {
    cr_assert_eq(parse_n(s, strlen(s)), OK, "%s: %s at %s", s, e.what, e.where);
    return jr_root(&doc);
}

static void has(const char *text, const char *part, const char *what) {
    cr_assert_not_null(strstr(text, part), "%s: \"%s\" lacks \"%s\"", what, text, part);
}

/* ---- bytes that are not what the format asks for ---- */

typedef struct bad {
    const char *s;
    err_code code;
    const char *where, *what;
} bad;

static void refuse_all(const bad *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        err_code code = parse_n(cases[i].s, strlen(cases[i].s));
        cr_assert_eq(code, cases[i].code, "case %zu: code %d, %s", i, (int)code, e.what);
        cr_assert_null(doc.root, "case %zu", i);
        has(e.where, cases[i].where, cases[i].s);
        has(e.what, cases[i].what, cases[i].s);
    }
}

#define REFUSE(cases) refuse_all(cases, sizeof(cases) / sizeof *(cases))

Test(jsonr, trailing_bytes) {
    static const bad CASES[] = {{"{} x", E_SYNTAX, "f.json:1:4", "behind the"},
                                {"{}{}", E_SYNTAX, "f.json:1:3", "behind the"},
                                {"[1],", E_SYNTAX, "f.json:1:4", "behind the"},
                                {"{}\n\n}", E_SYNTAX, "f.json:3:1", "behind the"}};
    REFUSE(CASES);
    root_of(" \r\n\t{} \r\n\t");
}

Test(jsonr, empty_input) {
    static const bad CASES[] = {{"", E_SYNTAX, "f.json:1:1", "empty"},
                                {" \n\t ", E_SYNTAX, "f.json", "empty"}};
    REFUSE(CASES);
}

Test(jsonr, byte_order_mark) {
    static const bad CASES[] = {{"\xEF\xBB\xBF{}", E_SYNTAX, "f.json:1:1", "byte order mark"}};
    REFUSE(CASES);
}

/* RFC 3629: every kind of ill-formed sequence, and the neighbours that are well-formed. */
Test(jsonr, invalid_utf8) {
    static const bad CASES[] = {
        {"[\"\x80\"]", E_SYNTAX, "f.json:1:3", "UTF-8"},     /* continuation alone */
        {"[\"\xC0\xAF\"]", E_SYNTAX, "f.json:1:3", "UTF-8"}, /* overlong, two bytes */
        {"[\"\xC1\xBF\"]", E_SYNTAX, "f.json:1:3", "UTF-8"},
        {"[\"\xE0\x9F\xBF\"]", E_SYNTAX, "f.json:1:3", "UTF-8"},     /* overlong, three */
        {"[\"\xF0\x8F\xBF\xBF\"]", E_SYNTAX, "f.json:1:3", "UTF-8"}, /* overlong, four */
        {"[\"\xED\xA0\x80\"]", E_SYNTAX, "f.json:1:3", "UTF-8"},     /* surrogates */
        {"[\"\xED\xBF\xBF\"]", E_SYNTAX, "f.json:1:3", "UTF-8"},
        {"[\"\xF4\x90\x80\x80\"]", E_SYNTAX, "f.json:1:3", "UTF-8"}, /* above U+10FFFF */
        {"[\"\xF5\x80\x80\x80\"]", E_SYNTAX, "f.json:1:3", "UTF-8"},
        {"[\"\xFF\"]", E_SYNTAX, "f.json:1:3", "UTF-8"},
        {"[\"\xC3\"]", E_SYNTAX, "f.json:1:3", "UTF-8"}, /* cut short by a quote */
        {"[\"\xE2\x82\"]", E_SYNTAX, "f.json:1:3", "UTF-8"},
        {"[\"\xC3", E_SYNTAX, "f.json:1:3", "UTF-8"}, /* cut short by the end */
        {"[\"\xE2\x82", E_SYNTAX, "f.json:1:3", "UTF-8"},
        {"[\"\xF0\x9F\x98", E_SYNTAX, "f.json:1:3", "UTF-8"},
    };
    REFUSE(CASES);
    root_of("[\"\xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBF "
            "\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF\"]");
}

Test(jsonr, control_characters) {
    static const bad CASES[] = {{"[\"a\nb\"]", E_SYNTAX, "f.json:1:4", "control character"},
                                {"[\"\x01\"]", E_SYNTAX, "f.json:1:3", "control character"},
                                {"[\"\x1F\"]", E_SYNTAX, "f.json:1:3", "control character"},
                                {"[\"a\tb\"]", E_SYNTAX, "f.json:1:4", "control character"}};
    REFUSE(CASES);
    root_of("[\"\\n\\t\\u0001\x7F\"]");
}

/* cJSON takes any byte up to a space for white space; JSON knows four. */
Test(jsonr, control_characters_between_tokens) {
    for (char c = 1; c < 0x20; c++) {
        char text[] = "{?\"a\": 1}";
        text[1] = c;
        bool white = c == '\t' || c == '\n' || c == '\r';
        err_code code = parse_n(text, strlen(text));
        cr_assert_eq(code, white ? OK : E_SYNTAX, "byte 0x%02x", (unsigned)c);
    }
}

Test(jsonr, nul_bytes) {
    static const char RAW[] = "{\"a\": 1}\0";
    cr_assert_eq(parse_n(RAW, sizeof RAW - 1), E_SYNTAX);
    has(e.what, "NUL", "behind the value");
    static const char INSIDE[] = "[\"a\0b\"]";
    cr_assert_eq(parse_n(INSIDE, sizeof INSIDE - 1), E_SYNTAX);
    static const bad CASES[] = {{"[\"a\\u0000b\"]", E_SYNTAX, "f.json:1:4", "\\u0000"},
                                {"{\"\\u0000\": 1}", E_SYNTAX, "f.json:1:3", "\\u0000"},
                                {"[\"\\\\\\u0000\"]", E_SYNTAX, "f.json:1:5", "\\u0000"}};
    REFUSE(CASES);
    jr r = root_of("{\"s\": \"\\\\u0000\"}"); /* an escaped backslash, then plain text */
    cr_assert_str_eq(jr_str(r, "s"), "\\u0000");
}

Test(jsonr, numbers_that_json_does_not_know) {
    static const bad CASES[] = {{"[01]", E_SYNTAX, "f.json:1:3", "number"},
                                {"[-01]", E_SYNTAX, "f.json:1:4", "number"},
                                {"[00]", E_SYNTAX, "f.json:1:3", "number"},
                                {"[1.]", E_SYNTAX, "f.json:1:2", "number"},
                                {"[1.e5]", E_SYNTAX, "f.json:1:2", "number"},
                                {"[1e]", E_SYNTAX, "f.json:1:2", "number"},
                                {"[1e+]", E_SYNTAX, "f.json:1:2", "number"},
                                {"[-]", E_SYNTAX, "f.json:1:2", "number"},
                                {"[1.2.3]", E_SYNTAX, "f.json:1:5", "number"},
                                {"[-.5]", E_SYNTAX, "f.json:1:2", "number"},
                                {"[.5]", E_SYNTAX, "f.json", ""},
                                {"[+1]", E_SYNTAX, "f.json", ""},
                                {"[0x10]", E_SYNTAX, "f.json", ""},
                                {"[1_000]", E_SYNTAX, "f.json", ""},
                                {"[NaN]", E_SYNTAX, "f.json", ""},
                                {"[Infinity]", E_SYNTAX, "f.json", ""},
                                {"[-Infinity]", E_SYNTAX, "f.json:1:2", ""},
                                {"[1 2]", E_SYNTAX, "f.json", ""}};
    REFUSE(CASES);
    root_of("[0, -0, 0.5, 10, -1.25e-3, 1E5, 1e05]");
}

Test(jsonr, broken_structure) {
    static const bad CASES[] = {{"{", E_SYNTAX, "f.json:1:", ""},
                                {"[1,]", E_SYNTAX, "f.json:1:", ""},
                                {"{\"a\":1,}", E_SYNTAX, "f.json:1:", ""},
                                {"{\"a\" 1}", E_SYNTAX, "f.json:1:", ""},
                                {"{a: 1}", E_SYNTAX, "f.json:1:", ""},
                                {"[1}", E_SYNTAX, "f.json:1:", ""},
                                {"]", E_SYNTAX, "f.json:1:", ""},
                                {"\"abc", E_SYNTAX, "f.json:1:1", "without an end"},
                                {"[\"\\", E_SYNTAX, "f.json:1:2", "without an end"},
                                {"[\"\\q\"]", E_SYNTAX, "f.json:1:", ""},
                                {"[\"\\u12\"]", E_SYNTAX, "f.json:1:", ""},
                                {"[\"\\ud800\"]", E_SYNTAX, "f.json:1:", ""},
                                {"[\"\\udc00\"]", E_SYNTAX, "f.json:1:", ""},
                                {"['a']", E_SYNTAX, "f.json:1:", ""},
                                {"// c\n{}", E_SYNTAX, "f.json:1:", ""},
                                {"[tru]", E_SYNTAX, "f.json:1:", ""},
                                {"[True]", E_SYNTAX, "f.json:1:", ""}};
    REFUSE(CASES);
}

/* 32 open brackets are allowed, the 33rd is not; brackets inside strings do not count. */
Test(jsonr, depth) {
    char text[80];
    for (size_t depth = 31; depth <= 34; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        err_code code = parse_n(text, 2 * depth);
        cr_assert_eq(code, depth <= 32 ? OK : E_LIMIT, "depth %zu", depth);
        if (code) has(e.where, "f.json:1:33", "place of the 33rd");
    }
    root_of("[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"]");
    root_of("[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],["
            "],[],[],"
            "[],[],[],[],[],[]]");
}

Test(jsonr, line_and_column) {
    static const bad CASES[] = {
        {"{\n  \"a\": 1,\n  \"b\": 02\n}", E_SYNTAX, "f.json:3:9", "number"}};
    REFUSE(CASES);
}

Test(jsonr, a_set_error_is_not_parsed_over) {
    e = (err){0};
    err_set(&e, E_IO, "before", "kept");
    cr_assert_eq(jr_parse(&doc, "f.json", "{}", 2, mem, &e), E_IO);
    cr_assert_null(doc.root);
    cr_assert_str_eq(e.what, "kept");
}

/* ---- keys ---- */

Test(jsonr, unknown_key_names_the_nearest) {
    jr r = root_of("{\"workload\": {\"K\": 4, \"turn_out_tk\": 64}}");
    jr_keys(jr_get(r, "workload"), "K H P turn_out_tok tool_latency_s");
    cr_assert_eq(e.code, E_SCHEMA);
    cr_assert_str_eq(e.where, "f.json#/workload/turn_out_tk");
    has(e.what, "\"turn_out_tk\"", "found");
    has(e.what, "\"turn_out_tok\"", "nearest");
}

Test(jsonr, unknown_key_far_from_all_lists_them) {
    jr_keys(root_of("{\"zzzzzzzzzz\": 1}"), "model quant");
    cr_assert_eq(e.code, E_SCHEMA);
    has(e.what, "model quant", "known keys");
}

Test(jsonr, keys_are_case_sensitive) {
    jr r = root_of("{\"ID\": \"x\"}");
    cr_assert_not(jr_present(jr_get(r, "id")));
    jr_keys(r, "id title");
    has(e.what, "\"id\"", "the nearest differs by case only");
}

Test(jsonr, duplicate_key) {
    jr_keys(root_of("{\"a\": 1, \"b\": 2, \"a\": 3}"), "a b");
    cr_assert_eq(e.code, E_SCHEMA);
    cr_assert_str_eq(e.where, "f.json#/a");
    has(e.what, "twice", "reason");
    /* the same key, once spelt with an escape */
    jr_keys(root_of("{\"a\": 1, \"\\u0061\": 3}"), "a");
    cr_assert_eq(e.code, E_SCHEMA);
    jr_keys(root_of("{\"note\": \"x\", \"note\": \"y\"}"), "a");
    cr_assert_eq(e.code, E_SCHEMA, "a note may stand once");
}

Test(jsonr, note_is_always_allowed_and_prefixes_are_not_keys) {
    jr_keys(root_of("{\"note\": \"why\"}"), "model");
    cr_assert_eq(e.code, OK);
    jr_keys(root_of("{\"mod\": 1}"), "model modem");
    cr_assert_eq(e.code, E_SCHEMA);
    jr_keys(root_of("{\"model quant\": 1}"), "model quant");
    cr_assert_eq(e.code, E_SCHEMA, "a key with a space is not two keys");
    jr_keys(root_of("{\"\": 1}"), "model");
    cr_assert_eq(e.code, E_SCHEMA, "nor is the empty key known");
}

Test(jsonr, keys_want_an_object) {
    static const char *const NOT_OBJECTS[] = {"[]", "1", "\"x\"", "null", "true"};
    for (size_t i = 0; i < 5; i++) {
        jr_keys(root_of(NOT_OBJECTS[i]), "a");
        cr_assert_eq(e.code, E_SCHEMA, "%s", NOT_OBJECTS[i]);
        has(e.what, "expected an object", NOT_OBJECTS[i]);
    }
}

Test(jsonr, nearest_word) {
    char out[64];
    cr_assert_str_eq(jr_nearest("per_slt", "none per_slot shared", out, sizeof out), "per_slot");
    cr_assert_str_eq(jr_nearest("Shared", "none per_slot shared", out, sizeof out), "shared");
    cr_assert_str_eq(jr_nearest("slots", "slots_n context_tok", out, sizeof out), "slots_n");
    cr_assert_null(jr_nearest("qqqqqqqq", "none per_slot shared", out, sizeof out));
    cr_assert_null(jr_nearest("x", "", out, sizeof out));
}

/* RFC 6901: ~ becomes ~0 and / becomes ~1, so that the pointer can be followed back. */
Test(jsonr, pointers_are_escaped) {
    jr r = root_of("{\"a/b~c\": {\"~1\": [1, \"x\"]}}");
    jr list = jr_get(jr_get(r, "a/b~c"), "~1"), item = {0};
    cr_assert_eq(jr_len(list), 2);
    while (jr_each(list, &item)) continue;
    jr_fail(item, E_RANGE, "here");
    cr_assert_str_eq(e.where, "f.json#/a~1b~0c/~01/1");
}

Test(jsonr, long_pointer_stays_inside) {
    char text[400] = "{\"";
    memset(text + 2, '/', 300);
    strcpy(text + 302, "\": 1}");
    jr r = root_of(text);
    jr_keys(r, "a");
    cr_assert_eq(e.code, E_SCHEMA);
    cr_assert_lt(strlen(e.where), sizeof e.where);
    has(e.where, "f.json#/~1~1", "its head");
}

/* ---- values ---- */

static const char *const WORDS[] = {"none", "per_slot", "shared", NULL};

Test(jsonr, good_values) {
    jr r = root_of("{\"s\": \"text\", \"x\": -2.5e-3, \"p\": 48.54, \"i\": 64, \"b\": true, \"w\": "
                   "\"shared\", "
                   "\"a\": [0.5, 1, 2], \"z\": [0, 3]}");
    size_t n;
    cr_assert_str_eq(jr_str(r, "s"), "text");
    cr_assert(jr_num(r, "x", -1, 1) == -2.5e-3);
    cr_assert(jr_pos(r, "p") == 48.54);
    cr_assert_eq(jr_int(r, "i", 64, 64), 64, "bounds are inclusive");
    cr_assert(jr_bool_or(r, "b", false));
    cr_assert_eq(jr_enum(r, "w", WORDS), 2);
    const double *a = jr_pos_array(r, "a", &n);
    cr_assert(n == 3 && a[0] == 0.5 && a[1] == 1 && a[2] == 2);
    const double *z = jr_nonneg_array(r, "z", &n);
    cr_assert(n == 2 && z[0] == 0 && z[1] == 3);
    cr_assert_eq(e.code, OK, "%s %s", e.where, e.what);
}

Test(jsonr, absent_values_take_the_default) {
    jr r = root_of("{}");
    size_t n = 7;
    cr_assert_str_eq(jr_str_or(r, "q", "def"), "def");
    cr_assert_null(jr_str_or(r, "q", NULL));
    cr_assert(jr_num_or(r, "q", 0, 1, -7) == -7, "a default may lie outside the bounds");
    cr_assert(jr_pos_or(r, "q", 0) == 0);
    cr_assert_eq(jr_int_or(r, "q", 1, 2, -1), -1);
    cr_assert(jr_bool_or(r, "q", true));
    cr_assert_eq(jr_enum_or(r, "q", WORDS, 1), 1);
    jr_pos_array(r, "q", &n);
    cr_assert_eq(n, 0);
    cr_assert_eq(jr_len(jr_get(r, "q")), 0);
    cr_assert_eq(e.code, OK);
    jr_need(r, "title");
    cr_assert_eq(e.code, E_SCHEMA);
    has(e.what, "\"title\" is missing", "the missing key is named");
}

Test(jsonr, strings_outlive_the_document) {
    const char *s = jr_str(root_of("{\"s\": \"kept\"}"), "s");
    jr_free(&doc);
    cr_assert_str_eq(s, "kept");
}

/* Every getter against every kind of value that it does not take: an error at the member, never a
 * crash. */
typedef enum getter { G_STR, G_NUM, G_POS, G_INT, G_BOOL, G_ENUM, G_ARRAY, G_NONNEG, G_LEN } getter;

static void call(getter g, jr r) {
    size_t n;
    switch (g) {
    case G_STR:
        jr_str(r, "v");
        return;
    case G_NUM:
        jr_num(r, "v", -10, 10);
        return;
    case G_POS:
        jr_pos(r, "v");
        return;
    case G_INT:
        jr_int(r, "v", -10, 10);
        return;
    case G_BOOL:
        jr_bool_or(r, "v", false);
        return;
    case G_ENUM:
        jr_enum(r, "v", WORDS);
        return;
    case G_ARRAY:
        jr_pos_array(r, "v", &n);
        return;
    case G_NONNEG:
        jr_nonneg_array(r, "v", &n);
        return;
    case G_LEN:
        jr_len(jr_get(r, "v"));
        return;
    }
}

Test(jsonr, bad_values) {
    static const struct {
        getter g;
        const char *v, *where;
        err_code code;
    } CASES[] = {
        {G_STR, "1", "", E_SCHEMA},
        {G_STR, "null", "", E_SCHEMA},
        {G_STR, "\"\"", "", E_RANGE},
        {G_STR, "[\"x\"]", "", E_SCHEMA},
        {G_NUM, "\"1\"", "", E_SCHEMA},
        {G_NUM, "true", "", E_SCHEMA},
        {G_NUM, "1e400", "", E_RANGE},
        {G_NUM, "-1e400", "", E_RANGE},
        {G_NUM, "10.001", "", E_RANGE},
        {G_NUM, "-10.001", "", E_RANGE},
        {G_POS, "0", "", E_RANGE},
        {G_POS, "-0.0", "", E_RANGE},
        {G_POS, "-1", "", E_RANGE},
        {G_POS, "1e400", "", E_RANGE},
        {G_POS, "null", "", E_SCHEMA},
        {G_INT, "1.5", "", E_RANGE},
        {G_INT, "11", "", E_RANGE},
        {G_INT, "-11", "", E_RANGE},
        {G_INT, "1e400", "", E_RANGE},
        {G_INT, "\"1\"", "", E_SCHEMA},
        {G_INT, "{}", "", E_SCHEMA},
        {G_BOOL, "1", "", E_SCHEMA},
        {G_BOOL, "\"true\"", "", E_SCHEMA},
        {G_BOOL, "null", "", E_SCHEMA},
        {G_ENUM, "\"Shared\"", "", E_SCHEMA},
        {G_ENUM, "2", "", E_SCHEMA},
        {G_ENUM, "\"\"", "", E_SCHEMA},
        {G_ARRAY, "[1, 0]", "/1", E_RANGE},
        {G_ARRAY, "[\"1\"]", "/0", E_SCHEMA},
        {G_ARRAY, "1", "", E_SCHEMA},
        {G_ARRAY, "[1, 1e999]", "/1", E_RANGE},
        {G_NONNEG, "[0, -1]", "/1", E_RANGE},
        {G_LEN, "{}", "", E_SCHEMA},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char text[64], where[32];
        snprintf(text, sizeof text, "{\"v\": %s}", CASES[i].v);
        snprintf(where, sizeof where, "f.json#/v%s", CASES[i].where);
        call(CASES[i].g, root_of(text));
        cr_assert_eq(e.code, CASES[i].code, "case %zu, %s: code %d", i, text, (int)e.code);
        cr_assert_str_eq(e.where, where, "case %zu, %s: %s", i, text, e.where);
    }
}

Test(jsonr, bad_word_lists_the_good_ones) {
    jr_enum(root_of("{\"w\": \"per-slot\"}"), "w", WORDS);
    has(e.what, "per-slot", "found");
    has(e.what, "\"none\", \"per_slot\", \"shared\"", "expected");
}

/* Beyond 2^53 a double skips integers: 2^53 + 1 reads as 2^53, so a reader cannot tell which was
 * meant. */
Test(jsonr, integers_that_a_double_cannot_hold) {
    static const struct {
        const char *v;
        bool ok;
    } CASES[] = {{"9007199254740991", true},
                 {"-9007199254740991", true},
                 {"9007199254740993", false},
                 {"9007199254740994", false},
                 {"-9007199254740993", false},
                 {"9223372036854775807", false},
                 {"1e300", false},
                 {"1e15", true}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"v\": %s}", CASES[i].v);
        int64_t v = jr_int(root_of(text), "v", INT64_MIN, INT64_MAX);
        cr_assert_eq(e.code, CASES[i].ok ? OK : E_RANGE, "%s gave %lld", CASES[i].v, (long long)v);
    }
    cr_assert_eq(jr_int(root_of("{\"v\": -9007199254740991}"), "v", INT64_MIN, 0),
                 -9007199254740991);
    cr_assert_eq(jr_int(root_of("{\"v\": 3e9}"), "v", 0, INT64_MAX), 3000000000, "no 32-bit clamp");
}

/* ---- errors stick ---- */

Test(jsonr, the_first_error_is_kept_and_getters_go_on) {
    jr r = root_of("{\"a\": \"x\", \"b\": -1, \"list\": [1, 2]}");
    size_t n;
    jr item = {0};
    jr_int(r, "a", 0, 5);
    cr_assert_not(jr_ok(r));
    cr_assert_str_eq(e.where, "f.json#/a");
    err first = e;
    jr_pos(r, "b");
    jr_str(r, "missing");
    jr_keys(r, "nothing");
    jr_fail(r, E_LIMIT, "later");
    cr_assert_not(jr_each(jr_get(r, "list"), &item), "a loop does not go on either");
    cr_assert_not_null(jr_str(r, "missing"), "harmless, not NULL");
    jr_pos_array(r, "b", &n);
    cr_assert_eq(memcmp(&e, &first, sizeof e), 0, "still the first: %s", e.what);
}

Test(jsonr, each_walks_once_over_all) {
    jr list = jr_get(root_of("{\"list\": [10, 20, 30]}"), "list"), item = {0};
    size_t n = 0;
    while (jr_each(list, &item)) {
        cr_assert_eq(item.index, n);
        cr_assert(item.node->valuedouble == 10.0 * (double)++n);
    }
    cr_assert_eq(n, 3);
    jr none = {0};
    cr_assert_not(jr_each(jr_get(jr_root(&doc), "absent"), &none));
}

Test(jsonr, over_the_memory_budget) {
    arena *tiny = arena_new(64);
    static const char TEXT[] =
        "{\"v\": \"a string of more than sixty-four bytes, so that its copy does not fit\", "
        "\"a\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}";
    size_t n = 1;
    e = (err){0};
    cr_assert_eq(jr_parse(&doc, "f.json", TEXT, sizeof TEXT - 1, tiny, &e), OK);
    cr_assert_str_eq(jr_str(jr_root(&doc), "v"), "");
    cr_assert_eq(e.code, E_LIMIT);
    jr_pos_array(jr_root(&doc), "a", &n);
    cr_assert_eq(n, 0, "no array, no length");
    arena_free(tiny);
}
