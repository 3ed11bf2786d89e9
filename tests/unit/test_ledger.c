/* Ledgers of prefix reuse: reading and folding. ISO weeks and bands are worked out by hand. */
#include "ledger.h"
#include "ledger_entry.h"

#include "base/jsonr.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static arena *mem;
static err e;
static ledger l;
static rollup r;

static void set_up(void) {
    mem = arena_new((size_t)256 << 20);
    cr_assert_not_null(mem);
    e = (err){0};
    l = (ledger){.mem = mem};
}

static void tear_down(void) {
    arena_free(mem);
}

TestSuite(ledger, .init = set_up, .fini = tear_down);

static err_code put(const char *name, const char *text) {
    file_bytes f = {.name = name, .s = text, .len = strlen(text)};
    return ledger_read(&l, &f, &e);
}

/* One row with its end. `more` begins with a comma. */
static const char *row(const char *date, long turns, long prompt, long reused, const char *ratio,
                       const char *more) {
    return arena_printf(mem,
                        "{\"schema\": \"fak-cache-value-ledger/1\", \"date\": \"%s\", "
                        "\"session_type\": \"run\", \"provider\": \"fak\", \"mechanism\": "
                        "\"kv_prefix_reuse\", \"context\": \"c\", \"turns\": %ld, "
                        "\"prompt_tokens\": %ld, \"reused_tokens\": %ld, \"reuse_ratio\": %s%s}\n",
                        date, turns, prompt, reused, ratio, more);
}

static const char *join(const char *const *rows, size_t n) {
    const char *all = "";
    for (size_t i = 0; i < n; i++) all = arena_printf(mem, "%s%s", all, rows[i]);
    return all;
}

static void fold(void) {
    cr_assert_eq(e.code, OK, "%s: %s", e.where, e.what);
    cr_assert_eq(ledger_fold(&l, mem, &r, &e), OK, "%s: %s", e.where, e.what);
    size_t parts =
        r.gate.rows + r.not_measured.rows + r.duplicates_n + r.zero_turn_n + r.single_turn_n;
    cr_assert_eq(parts, r.rows_n, "every row is exactly one of them");
}

static void fold_text(const char *text) {
    l = (ledger){.mem = mem};
    cr_assert_eq(put("l", text), OK, "%s: %s", e.where, e.what);
    fold();
}

/* Refused with that code, at that place, with that text. */
static void refused(const char *text, err_code code, const char *where, const char *what) {
    l = (ledger){.mem = mem};
    e = (err){0};
    cr_assert_eq(put("l.jsonl", text), code, "%s -> %d %s: %s", text, e.code, e.where, e.what);
    cr_expect_str_eq(e.where, where, "%s -> %s", text, e.where);
    cr_expect_not_null(strstr(e.what, what), "%s -> %s", text, e.what);
    e = (err){0};
}

/* A good row with one text in it replaced. */
static const char *with(const char *from, const char *to) {
    const char *good = row("2026-09-03", 10, 100, 50, "0.5", ""), *at = strstr(good, from);
    cr_assert_not_null(at, "%s", from);
    return arena_printf(mem, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
}

/* ---- the document's row ---- */

static const char STATS[] = ", \"stats\": {\"turns\": 10, \"prompt_tokens\": 69632, "
                            "\"reused_tokens\": 61440, \"reuse_ratio\": 0.88234}";

Test(ledger, the_documents_row) {
    fold_text(row("2026-09-03", 10, 69632, 61440, "0.88234", STATS));
    cr_expect(r.measured);
    cr_expect_eq(r.gate.prompt_tok, 69632);
    cr_expect_eq(r.gate.reused_tok, 61440);
    double ratio = 0;
    cr_expect(ledger_ratio(&r.gate, &ratio));
    /* 61440 / 69632 = 15 * 4096 / (17 * 4096) = 15/17 = 0.88235294... */
    cr_expect_float_eq(ratio, 15.0 / 17, 1e-15);
    cr_expect_eq(r.weeks_n, 1);
    cr_expect_str_eq(r.weeks[0].week, "2026-W36"); /* Thursday; 2026-01-01 is one too: 35 weeks */
    cr_expect(r.weeks[0].thin);
    cr_expect_eq(r.trend, TREND_NEW);
    cr_expect_eq(r.unstated_n, 1);
    cr_assert_eq(r.warnings_n, 1);
    cr_expect_eq(r.warnings[0].kind, DOUBT_RATIO);
    cr_expect_eq(r.warnings[0].line, 1);
    cr_expect_str_eq(r.warnings[0].file, "l");
    cr_expect_not_null(strstr(r.warnings[0].what, "0.88234 is neither rounded nor cut"));
    cr_expect_not_null(strstr(r.warnings[0].what, "61440 / 69632 = 0.882353"));
}

/* ---- printed ratios ---- */

static void ratio_is(const char *print, long reused, long prompt, int kind) {
    fold_text(row("2026-09-03", 2, prompt, reused, print, ""));
    cr_expect_eq(r.warnings_n, (size_t)(kind >= 0), "%s of %ld / %ld: %zu warnings", print, reused,
                 prompt, r.warnings_n);
    if (kind >= 0 && r.warnings_n)
        cr_expect_eq((int)r.warnings[0].kind, kind, "%s: %s", print, r.warnings[0].what);
}

Test(ledger, ratios_at_their_printed_digits) {
    ratio_is("0.88235", 15, 17, -1);
    ratio_is("0.882", 15, 17, -1);
    ratio_is("0.9", 15, 17, -1);
    ratio_is("8.8235e-1", 15, 17, -1);
    ratio_is("8.8234e-1", 15, 17, DOUBT_RATIO);
    ratio_is("88E-2", 15, 17, -1);
    ratio_is("1e-05", 1, 100000, -1);
    ratio_is("1e-05", 2, 100000, DOUBT_RATIO);
    ratio_is("1e-300", 0, 8, -1);
    ratio_is("0e9", 0, 8, -1);
    ratio_is("0.8823529411764706", 15, 17, -1);
    ratio_is("0.88235294117", 15, 17, DOUBT_RATIO_CUT); /* 0.882352941176: rounds to ...118 */
    ratio_is("0.88234", 15, 17, DOUBT_RATIO);
    ratio_is("0.88236", 15, 17, DOUBT_RATIO);
    ratio_is("0.882350", 15, 17, DOUBT_RATIO); /* 0.882353 */
    ratio_is("0.66", 2, 3, DOUBT_RATIO_CUT);
    ratio_is("0.67", 2, 3, -1);
    ratio_is("0.68", 2, 3, DOUBT_RATIO);
    ratio_is("0.12", 1, 8, -1); /* half either way */
    ratio_is("0.13", 1, 8, -1);
    ratio_is("0", 0, 8, -1);
    ratio_is("0", 1, 1000, -1); /* 0.001: 0.00 */
    ratio_is("0", 1, 3, DOUBT_RATIO);
    ratio_is("1", 8, 8, -1);
    ratio_is("1.0", 96, 100, -1);
    ratio_is("1", 3, 5, DOUBT_RATIO);
    ratio_is("0.5", 0, 0, DOUBT_RATIO); /* of nothing */
    ratio_is("0", 0, 0, -1);
}

Test(ledger, stats_that_disagree) {
    const char *more = ", \"stats\": {\"turns\": 9, \"prompt_tokens\": 69632, \"reused_tokens\": "
                       "61439, \"reuse_ratio\": 0.882}";
    fold_text(row("2026-09-03", 10, 69632, 61440, "0.88235", more));
    cr_assert_eq(r.warnings_n, 1);
    cr_expect_eq(r.warnings[0].kind, DOUBT_STATS);
    cr_expect_str_eq(r.warnings[0].what, "stats.turns is 9, the row has 10; stats.reused_tokens is "
                                         "61439, the row has 61440");
    cr_expect_eq(r.gate.reused_tok, 61440, "the row counts, not its stats");
    more = ", \"stats\": {\"turns\": 10, \"prompt_tokens\": 69632, \"reused_tokens\": 61440, "
           "\"reuse_ratio\": 0.89}";
    fold_text(row("2026-09-03", 10, 69632, 61440, "0.88235", more));
    cr_assert_eq(r.warnings_n, 1);
    cr_expect_str_eq(r.warnings[0].what, "stats.reuse_ratio is 0.89, the row has 0.88235");
    fold_text(row("2026-09-03", 10, 69632, 61440, "0.88235", ", \"stats\": null"));
    cr_expect_eq(r.warnings_n, 0);
}

/* ---- dates ---- */

Test(ledger, iso_weeks) {
    /* A week belongs to the year of its Thursday. 1 January: 2021 Friday, 2025 Wednesday, 2026
     * Thursday, 2027 Friday, 2000 Saturday; 2020 and 2024 are leap years. */
    static const char *const CASES[][2] = {
        {"2020-12-31", "2020-W53"}, {"2021-01-01", "2020-W53"}, {"2021-01-03", "2020-W53"},
        {"2021-01-04", "2021-W01"}, {"2024-12-29", "2024-W52"}, {"2024-12-30", "2025-W01"},
        {"2025-01-05", "2025-W01"}, {"2025-01-06", "2025-W02"}, {"2025-12-28", "2025-W52"},
        {"2025-12-29", "2026-W01"}, {"2026-12-31", "2026-W53"}, {"2027-01-01", "2026-W53"},
        {"2027-01-03", "2026-W53"}, {"2027-01-04", "2027-W01"}, {"2024-02-29", "2024-W09"},
        {"2000-01-01", "1999-W52"}, {"2000-02-29", "2000-W09"}, {"2026-09-03", "2026-W36"},
        {"1970-01-01", "1970-W01"}, {"9999-12-31", "9999-W52"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char week[16] = "";
        cr_expect(ledger_date(CASES[i][0], week), "%s", CASES[i][0]);
        cr_expect_str_eq(week, CASES[i][1], "%s -> %s", CASES[i][0], week);
    }
}

/* Every day of 130 years against a count of days: the week goes up on Mondays, and is 01 again
 * where 4 January is in it. */
Test(ledger, weeks_go_up_on_mondays) {
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int weekday = 3, week = 1, year_of_week = 1970; /* 1970-01-01 is a Thursday of week 01 */
    for (int y = 1970; y < 2100; y++) {
        bool leap = y % 4 == 0; /* 2000 too, 2100 is not reached */
        for (int m = 1; m <= 12; m++)
            for (int d = 1; d <= DAYS[m - 1] + (m == 2 && leap); d++) {
                bool holds_4_january = (m == 12 && d >= 29) || (m == 1 && d <= 4);
                if (weekday == 0) {
                    week++;
                    if (holds_4_january) {
                        week = 1;
                        year_of_week = m == 12 ? y + 1 : y;
                    }
                }
                char date[40], want[40], got[16] = "";
                snprintf(date, sizeof date, "%04d-%02d-%02d", y, m, d);
                snprintf(want, sizeof want, "%04d-W%02d", year_of_week, week);
                cr_assert(ledger_date(date, got), "%s", date);
                cr_assert_str_eq(got, want, "%s", date);
                weekday = (weekday + 1) % 7;
            }
    }
}

Test(ledger, no_locale_no_time_zone) {
    setenv("TZ", "Pacific/Kiritimati", 1);
    tzset();
    setlocale(LC_ALL, "C.UTF-8");
    char week[16];
    cr_expect(ledger_date("2021-01-03", week));
    cr_expect_str_eq(week, "2020-W53");
}

Test(ledger, bad_dates) {
    static const char *const BAD[] = {"2026-02-30",
                                      "2026-13-01",
                                      "2026-00-10",
                                      "2026-01-00",
                                      "2026-01-32",
                                      "2026-04-31",
                                      "2025-02-29",
                                      "2100-02-29",
                                      "2026-9-3",
                                      "2026-9-03",
                                      "26-09-03",
                                      "2026/09/03",
                                      "2026-09-03T00:00:00Z",
                                      "2026-09-3 ",
                                      " 2026-09-3",
                                      "+026-09-03",
                                      "1969-12-31",
                                      "0000-01-01",
                                      "yesterday",
                                      "2026-0a-01",
                                      "20260903",
                                      "2026-09-03 and a long story behind it"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        cr_expect_not(ledger_date(BAD[i], NULL), "%s", BAD[i]);
        refused(row(BAD[i], 2, 10, 5, "0.5", ""), E_RANGE, "l.jsonl:1#/date",
                "expected a date YYYY-MM-DD");
    }
    cr_expect_not(ledger_date("", NULL));
}

/* ---- faults ---- */

Test(ledger, faulty_rows) {
    refused(with("\"turns\": 10", "\"turns\": -1"), E_RANGE, "l.jsonl:1#/turns", "found -1");
    refused(with("\"turns\": 10", "\"turns\": 2.5"), E_RANGE, "l.jsonl:1#/turns",
            "found 2.5, expected a whole number");
    refused(with("\"turns\": 10", "\"turns\": \"10\""), E_SCHEMA, "l.jsonl:1#/turns", "string");
    refused(with("\"turns\": 10, ", ""), E_SCHEMA, "l.jsonl:1#/turns", "missing");
    refused(with("\"prompt_tokens\": 100", "\"prompt_tokens\": -100"), E_RANGE,
            "l.jsonl:1#/prompt_tokens", "found -100");
    refused(with("\"prompt_tokens\": 100", "\"prompt_tokens\": 9007199254740992"), E_RANGE,
            "l.jsonl:1#/prompt_tokens", "2^53");
    refused(with("\"prompt_tokens\": 100", "\"prompt_tokens\": 1e999"), E_RANGE,
            "l.jsonl:1#/prompt_tokens", "2^53");
    refused(with("\"reused_tokens\": 50", "\"reused_tokens\": 50.5"), E_RANGE,
            "l.jsonl:1#/reused_tokens", "50.5");
    refused(with("\"reused_tokens\": 50", "\"reused_tokens\": 101"), E_RANGE,
            "l.jsonl:1#/reused_tokens", "found 101, expected at most prompt_tokens, 100");
    refused(with("\"reuse_ratio\": 0.5", "\"reuse_ratio\": 1.01"), E_RANGE,
            "l.jsonl:1#/reuse_ratio", "found 1.01, expected a number from 0 to 1");
    refused(with("\"reuse_ratio\": 0.5", "\"reuse_ratio\": -0.1"), E_RANGE,
            "l.jsonl:1#/reuse_ratio", "-0.1");
    refused(with("\"reuse_ratio\": 0.5", "\"reuse_ratio\": null"), E_SCHEMA,
            "l.jsonl:1#/reuse_ratio", "null");
    refused(with("ledger/1", "ledger/2"), E_SCHEMA, "l.jsonl:1#/schema",
            "expected \"fak-cache-value-ledger/1\"");
    refused(with("\"schema\": \"fak-cache-value-ledger/1\", ", ""), E_SCHEMA, "l.jsonl:1#/schema",
            "missing");
    refused(with("\"provider\": \"fak\"", "\"provider\": 7"), E_SCHEMA, "l.jsonl:1#/provider",
            "found the number 7");
    refused(with("\"context\": \"c\"", "\"context\": []"), E_SCHEMA, "l.jsonl:1#/context",
            "expected a string");
    refused(with("\"turns\": 10", "\"turns\": 10, \"turns\": 11"), E_SCHEMA, "l.jsonl:1#/turns",
            "twice");
    refused(with("\"turns\"", "\"provenance\": \"measured\", \"turns\""), E_SCHEMA,
            "l.jsonl:1#/provenance", "\"witnessed\"");
    refused(with("\"turns\"", "\"stats\": 1, \"turns\""), E_SCHEMA, "l.jsonl:1#/stats", "object");
    refused(with("\"turns\"", "\"stats\": {\"turns\": -1}, \"turns\""), E_RANGE,
            "l.jsonl:1#/stats/turns", "-1");
    refused(with("\"turns\"",
                 "\"stats\": {\"turns\": 1, \"prompt_tokens\": 1, \"reused_tokens\": 2, "
                 "\"reuse_ratio\": 1}, \"turns\""),
            E_RANGE, "l.jsonl:1#/stats/reused_tokens", "found 2");
}

Test(ledger, faulty_text) {
    const char *good = row("2026-09-03", 10, 100, 50, "0.5", "");
    refused(arena_printf(mem, "%s\n%s", good, "{\"schema\":"), E_SYNTAX, "l.jsonl:3:10",
            "expected more of a JSON value");
    refused("{} {\n", E_SYNTAX, "l.jsonl:1:4", "expected the end of the line");
    refused(arena_printf(mem, "%snot json\n", good), E_SYNTAX, "l.jsonl:2:1", "found \"not json\"");
    refused(arena_printf(mem, "%s[]\n", good), E_SCHEMA, "l.jsonl:2#", "found an array");
    refused(arena_printf(mem, "\xEF\xBB\xBF%s", good), E_SYNTAX, "l.jsonl:1:1", "byte order mark");
    refused("{\n  \"schema\": 1\n}\n", E_SYNTAX, "l.jsonl:1", "spread over several lines");
    /* columns count bytes from 1: the opening quote stands at offset n, what is wrong behind it */
    size_t n = (size_t)(strstr(good, "\"c\"") - good);
    const char *where = arena_printf(mem, "l.jsonl:1:%zu", n + 2);
    refused(with("\"c\"", "\"\xFF\""), E_SYNTAX, where, "UTF-8");
    refused(with("\"c\"", "\"\\u0000\""), E_SYNTAX, where, "u0000");
    refused(with("\"c\"", "\"\x01\""), E_SYNTAX, where, "control character");
    file_bytes f = {.name = "l.jsonl", .s = "\0\n", .len = 2};
    cr_expect_eq(ledger_read(&l, &f, &e), E_SYNTAX);
    cr_expect_str_eq(e.where, "l.jsonl:1:1");
}

Test(ledger, the_first_fault_ends_it) {
    cr_expect_eq(put("l", "nonsense\n"), E_SYNTAX);
    cr_expect_eq(put("m", row("2026-09-03", 2, 4, 2, "0.5", "")), E_SYNTAX);
    cr_expect_eq(l.n, 0);
    cr_expect_eq(ledger_fold(&l, mem, &r, &e), E_SYNTAX);
    cr_expect_eq(r.rows_n, 0);
}

/* ---- what is passed over ---- */

Test(ledger, lines_and_keys_that_do_not_matter) {
    const char *one =
        row("2026-09-03", 2, 10, 5, "0.5", ", \"host\": {\"turns\": [1, {\"a\": 2}]}");
    char crlf[1024];
    snprintf(crlf, sizeof crlf, "\n \t\n%.*s\r\n\r\n", (int)strlen(one) - 1, one);
    fold_text(crlf);
    cr_expect_eq(r.gate.prompt_tok, 10);
    cr_expect_eq(r.warnings_n, 0);
    fold_text(arena_printf(mem, "%.*s", (int)strlen(one) - 1, one)); /* no end of its last line */
    cr_expect_eq(r.gate.prompt_tok, 10);
    fold_text("");
    cr_expect_eq(r.rows_n, 0);
    cr_expect_not(r.measured);
    cr_expect_eq(r.weeks_n, 0);
    fold_text("\n\r\n");
    cr_expect_eq(r.rows_n, 0);
}

Test(ledger, context_may_be_missing_empty_or_null) {
    static const char *const CONTEXTS[] = {"\"context\": \"\", ", "\"context\": null, ", ""};
    for (size_t i = 0; i < 3; i++) {
        fold_text(with("\"context\": \"c\", ", CONTEXTS[i]));
        cr_expect_eq(r.gate.rows, 1);
    }
}

/* ---- which rows count ---- */

Test(ledger, zero_and_single_turns) {
    const char *rows[] = {
        row("2026-09-03", 0, 1000, 900, "0.9", ""), row("2026-09-03", 1, 2000, 100, "0.05", ""),
        row("2026-09-03", 2, 40, 10, "0.25", ""), row("2026-09-04", 3, 60, 40, "0.66667", "")};
    fold_text(arena_printf(mem, "%s%s", join(rows, 4), row("2026-09-03", 0, 7, 7, "1", "")));
    cr_expect_eq(r.zero_turn_n, 2);
    cr_expect_eq(r.single_turn_n, 1);
    cr_expect_eq(r.gate.rows, 2);
    cr_expect_eq(r.gate.prompt_tok, 100);
    cr_expect_eq(r.gate.reused_tok, 50);
    cr_expect_eq(r.weeks_n, 1);
    cr_expect_eq(r.weeks[0].sum.rows, 2);
    fold_text(join(rows, 2));
    cr_expect_not(r.measured, "no row of two turns");
    cr_expect_eq(r.weeks_n, 0);
    cr_expect_eq(r.trend, TREND_NEW);
}

Test(ledger, no_prompt_tokens) {
    fold_text(row("2026-09-03", 2, 0, 0, "0", ""));
    double v;
    cr_expect_not(r.measured);
    cr_expect_not(ledger_ratio(&r.gate, &v));
    cr_expect_eq(r.weeks_n, 1);
}

Test(ledger, duplicates) {
    const char *one = row("2026-09-03", 2, 10, 5, "0.5", ", \"id\": 12345678901234567890"),
               *other = row("2026-09-03", 2, 10, 5, "0.5", ", \"id\": 12345678901234567891"),
               *moved = "{\"id\":12345678901234567890,\"reuse_ratio\":0.5,\"reused_tokens\":5,"
                        "\"prompt_tokens\":10,\"turns\":2,\"context\":\"c\",\"mechanism\":"
                        "\"kv_prefix_reuse\",\"provider\":\"fak\",\"session_type\":\"run\","
                        "\"date\":\"2026-09-03\",\"schema\":\"fak-cache-value-ledger/1\"}\n";
    cr_assert_eq(put("a", join((const char *[]){one, other, one}, 3)), OK);
    cr_assert_eq(put("b", moved), OK);
    fold();
    cr_expect_eq(r.duplicates_n, 2);
    cr_expect_eq(r.gate.rows, 2, "an id over 2^53 tells rows apart by its last digit");
    cr_expect_eq(r.gate.prompt_tok, 20);
    cr_assert_eq(r.warnings_n, 2);
    cr_expect_eq(r.warnings[0].kind, DOUBT_DUPLICATE);
    cr_expect_eq(r.warnings[0].line, 3);
    cr_expect_str_eq(r.warnings[0].what, "the row of a:1 again, not counted");
    cr_expect_str_eq(r.warnings[1].file, "b");
    cr_expect_str_eq(ledger_repeats(&l, 2, mem), "a:1");
    cr_expect_null(ledger_repeats(&l, 1, mem));
}

/* Braces, commas and quotes inside strings are no structure. */
Test(ledger, members_of_awkward_text) {
    const char *a = row("2026-09-03", 2, 10, 5, "0.5",
                        ", \"x\": \"a,}\\\"{[\", \"y\": [1,{\"z\":2}]"),
               *b = row("2026-09-03", 2, 10, 5, "0.5",
                        ", \"y\": [1, {\"z\": 2}],\t\"x\": \"a,}\\\"{[\""),
               *c = row("2026-09-03", 2, 10, 5, "0.5",
                        ", \"y\": [1, {\"z\": 2}], \"x\": \"a, }\\\"{[\"");
    fold_text(join((const char *[]){a, b, c}, 3));
    cr_expect_eq(r.duplicates_n, 1, "white space inside a string is text");
    cr_expect_eq(r.warnings[0].line, 2);
    /* the order within a member is no order of members */
    a = row("2026-09-03", 2, 10, 5, "0.5", ", \"y\": [1, 2, 3, 4]");
    b = row("2026-09-03", 2, 10, 5, "0.5", ", \"y\": [1, 3, 2, 4]");
    fold_text(join((const char *[]){a, b}, 2));
    cr_expect_eq(r.duplicates_n, 0);
    /* the digits of the row's own ratio count, not those of a nested one before it: 50 / 100 */
    fold_text(with("\"turns\"", "\"more\": {\"a\": 1, \"reuse_ratio\": 0.51}, \"turns\""));
    cr_expect_eq(r.warnings_n, 0);
}

Test(ledger, rows_that_nobody_measured) {
    const char *rows[] = {row("2026-09-03", 4, 100, 25, "0.25", ""),
                          row("2026-09-03", 4, 100, 75, "0.75", ", \"provenance\": \"witnessed\""),
                          row("2026-09-03", 4, 1000, 1000, "1", ", \"provenance\": \"modeled\""),
                          row("2026-09-10", 4, 500, 500, "1", ", \"provenance\": \"CLAIM\""),
                          row("2026-09-10", 1, 70, 7, "0.1", ", \"provenance\": \"modeled\"")};
    fold_text(join(rows, 5));
    cr_expect(r.measured);
    cr_expect_eq(r.gate.prompt_tok, 200);
    cr_expect_eq(r.gate.reused_tok, 100);
    cr_expect_eq(r.unstated_n, 1);
    cr_expect_eq(r.weeks_n, 1, "a week of modeled rows only is no week of the roll-up");
    cr_expect_eq(r.not_measured.rows, 2);
    cr_expect_eq(r.not_measured.prompt_tok, 1500);
    cr_expect_eq(r.not_measured_weakest, PROV_CLAIM);
    fold_text(rows[2]);
    cr_expect_not(r.measured, "modeled rows alone are never MEASURED");
    cr_expect_eq(r.gate.prompt_tok, 0);
    fold_text(row("2026-09-03", 4, 10, 5, "0.5", ", \"provenance\": \"derived\""));
    cr_expect_not(r.measured);
    fold_text(row("2026-09-03", 4, 10, 5, "0.5", ", \"provenance\": null"));
    cr_expect(r.measured);
}

/* ---- weeks and trend ---- */

static ledger_trend trend(int64_t reused0, int64_t prompt0, int64_t reused1, int64_t prompt1) {
    ledger_sums before = {.prompt_tok = prompt0, .reused_tok = reused0},
                now = {.prompt_tok = prompt1, .reused_tok = reused1};
    return ledger_trend_of(&before, &now);
}

Test(ledger, trend_bands) {
    /* 0.5 and 0.505: in doubles their difference is over 0.005 */
    cr_expect_eq(trend(500, 1000, 505, 1000), TREND_FLAT);
    cr_expect_eq(trend(505, 1000, 500, 1000), TREND_FLAT);
    cr_expect_eq(trend(1, 2, 101, 200), TREND_FLAT);
    cr_expect_eq(trend(101, 200, 1, 2), TREND_FLAT);
    cr_expect_eq(trend(500000, 1000000, 505001, 1000000), TREND_IMPROVED);
    cr_expect_eq(trend(505001, 1000000, 500000, 1000000), TREND_REGRESSED);
    cr_expect_eq(trend(0, 7, 0, 9), TREND_FLAT);
    cr_expect_eq(trend(7, 7, 9, 9), TREND_FLAT);
    cr_expect_eq(trend(0, 200, 1, 200), TREND_FLAT);
    cr_expect_eq(trend(0, 200, 2, 200), TREND_IMPROVED);
    cr_expect_eq(trend(200, 200, 199, 200), TREND_FLAT);
    cr_expect_eq(trend(200, 200, 198, 200), TREND_REGRESSED);
    cr_expect_eq(trend(0, 0, 1, 2), TREND_NEW);
    cr_expect_eq(trend(1, 2, 0, 0), TREND_NEW);
    /* at the largest counts, one token decides: p = 200 q, q = 45035996273704 */
    const int64_t q = 45035996273704, p = 200 * q;
    cr_expect_eq(trend(100 * q, p, 101 * q, p), TREND_FLAT);
    cr_expect_eq(trend(100 * q, p, 101 * q + 1, p), TREND_IMPROVED);
    cr_expect_eq(trend(101 * q, p, 100 * q, p), TREND_FLAT);
    cr_expect_eq(trend(101 * q, p, 100 * q - 1, p), TREND_REGRESSED);
}

/* The same by products, which fit for small numbers: |s p - r q| * 200 against p q. */
Test(ledger, trend_against_products) {
    for (int64_t p = 1; p < 60; p++)
        for (int64_t q = 1; q < 60; q += 3)
            for (int64_t a = 0; a <= p; a++)
                for (int64_t b = 0; b <= q; b++) {
                    int64_t d = (b * p - a * q) * 200;
                    ledger_trend want = d > p * q    ? TREND_IMPROVED
                                        : -d > p * q ? TREND_REGRESSED
                                                     : TREND_FLAT;
                    cr_assert_eq(trend(a, p, b, q), want, "%d/%d then %d/%d", (int)a, (int)p,
                                 (int)b, (int)q);
                }
}

Test(ledger, weeks_in_order_thin_and_trend) {
    const char *rows[] = {row("2027-01-02", 2, 100, 90, "0.9", ""),           /* 2026-W53 */
                          row("2026-09-07", 2, 100, 60, "0.6", ", \"n\": 1"), /* Monday of W37 */
                          row("2026-09-06", 2, 100, 50, "0.5", ""),           /* Sunday of W36 */
                          row("2026-09-09", 2, 100, 60, "0.6", ", \"n\": 2"),
                          row("2026-09-13", 2, 100, 60, "0.6", ", \"n\": 3"),
                          row("2026-09-14", 2, 1000, 596, "0.596", ""), /* W38: 0.004 less */
                          row("2027-01-04", 2, 100, 10, "0.1", ""),
                          row("2026-09-13", 1, 100, 60, "0.6", ", \"n\": 4")};
    fold_text(join(rows, 8));
    static const struct {
        const char *week;
        size_t rows;
        int64_t prompt, reused;
        bool thin;
        ledger_trend trend;
    } WANT[] = {{"2026-W36", 1, 100, 50, true, TREND_NEW},
                {"2026-W37", 3, 300, 180, false, TREND_IMPROVED},
                {"2026-W38", 1, 1000, 596, true, TREND_FLAT},
                {"2026-W53", 1, 100, 90, true, TREND_IMPROVED},
                {"2027-W01", 1, 100, 10, true, TREND_REGRESSED}};
    cr_assert_eq(r.weeks_n, 5);
    for (size_t i = 0; i < 5; i++) {
        cr_expect_str_eq(r.weeks[i].week, WANT[i].week);
        cr_expect_eq(r.weeks[i].sum.rows, WANT[i].rows);
        cr_expect_eq(r.weeks[i].sum.prompt_tok, WANT[i].prompt);
        cr_expect_eq(r.weeks[i].sum.reused_tok, WANT[i].reused);
        cr_expect_eq(r.weeks[i].thin, WANT[i].thin, "%s", WANT[i].week);
        cr_expect_eq(r.weeks[i].trend, WANT[i].trend, "%s", WANT[i].week);
    }
    cr_expect_eq(r.trend, TREND_REGRESSED);
}

/* ---- limits ---- */

Test(ledger, sums_stay_whole) {
    const char *big = "\"prompt_tokens\": 9007199254740991, \"reused_tokens\": 9007199254740991";
    const char *one = with("\"prompt_tokens\": 100, \"reused_tokens\": 50", big);
    cr_assert_eq(put("l", one), OK, "%s: %s", e.where, e.what);
    fold();
    cr_expect_eq(r.gate.prompt_tok, 9007199254740991);
    cr_assert_eq(put("l", row("2026-09-03", 2, 1, 0, "0", "")), OK);
    cr_expect_eq(ledger_fold(&l, mem, &r, &e), E_LIMIT);
    cr_expect_str_eq(e.where, "l:1");
    cr_expect_not_null(strstr(e.what, "2^53"));
}

Test(ledger, warnings_are_counted_beyond_those_kept) {
    for (int i = 0; i < LEDGER_WARNINGS_MAX + 50; i++)
        cr_assert_eq(put("l", row("2026-09-03", 2, 10, 5, "0.4", "")), OK);
    fold();
    cr_expect_eq(r.warnings_kept_n, LEDGER_WARNINGS_MAX);
    cr_expect_eq(r.warnings_n, LEDGER_WARNINGS_MAX + 50); /* one of the ratio, then duplicates */
    cr_expect_eq(r.gate.rows, 1);
}

Test(ledger, a_small_budget_is_an_error) {
    for (size_t kib = 1; kib < 48; kib++) {
        arena *small = arena_new(kib << 10);
        ledger s = {.mem = small};
        err se = {0};
        rollup sr;
        const char *text = row("2026-09-03", 2, 10, 5, "0.4", STATS);
        file_bytes f = {.name = "l", .s = text, .len = strlen(text)};
        for (int i = 0; i < 100 && se.code == OK; i++) (void)ledger_read(&s, &f, &se);
        if (se.code == OK) (void)ledger_fold(&s, small, &sr, &se);
        cr_expect(se.code == E_LIMIT || (kib > 40 && se.code == OK), "%zu KiB: %d", kib, se.code);
        arena_free(small);
    }
}

/* ---- metamorphic ---- */

static uint64_t seed = 1;

static size_t pick(size_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % n;
}

static const char *random_row(void) {
    static const char *const PROVS[] = {"", ", \"provenance\": \"witnessed\"",
                                        ", \"provenance\": \"modeled\""};
    char date[40], ratio[16];
    snprintf(date, sizeof date, "2026-%02zu-%02zu", 1 + pick(12), 1 + pick(28));
    long prompt = (long)pick(50), reused = (long)pick((size_t)prompt + 1);
    snprintf(ratio, sizeof ratio, "0.%zu", pick(10));
    return row(date, (long)pick(4), prompt, reused, ratio, PROVS[pick(3)]);
}

static void same_figures(const rollup *a, const rollup *b) {
    cr_assert_eq(a->measured, b->measured);
    cr_assert_eq(a->gate.rows, b->gate.rows);
    cr_assert_eq(a->gate.prompt_tok, b->gate.prompt_tok);
    cr_assert_eq(a->gate.reused_tok, b->gate.reused_tok);
    cr_assert_eq(a->not_measured.rows, b->not_measured.rows);
    cr_assert_eq(a->not_measured.prompt_tok, b->not_measured.prompt_tok);
    cr_assert_eq(a->rows_n, b->rows_n);
    cr_assert_eq(a->duplicates_n, b->duplicates_n);
    cr_assert_eq(a->zero_turn_n, b->zero_turn_n);
    cr_assert_eq(a->single_turn_n, b->single_turn_n);
    cr_assert_eq(a->warnings_n, b->warnings_n);
    cr_assert_eq(a->trend, b->trend);
    cr_assert_eq(a->weeks_n, b->weeks_n);
    for (size_t i = 0; i < a->weeks_n; i++) {
        cr_assert_str_eq(a->weeks[i].week, b->weeks[i].week);
        cr_assert_eq(a->weeks[i].sum.prompt_tok, b->weeks[i].sum.prompt_tok);
        cr_assert_eq(a->weeks[i].sum.reused_tok, b->weeks[i].sum.reused_tok);
        cr_assert_eq(a->weeks[i].trend, b->weeks[i].trend);
        cr_assert_eq(a->weeks[i].thin, b->weeks[i].thin);
    }
}

Test(ledger, order_and_files_do_not_matter) {
    enum { N = 60 };
    for (int round = 0; round < 30; round++) {
        const char *rows[N];
        for (size_t i = 0; i < N; i++) rows[i] = i && pick(5) == 0 ? rows[pick(i)] : random_row();
        fold_text(join(rows, N));
        rollup whole = r;
        int64_t prompt = 0;
        for (size_t i = 0; i < r.weeks_n; i++) prompt += r.weeks[i].sum.prompt_tok;
        cr_assert_eq(prompt, r.gate.prompt_tok, "the weeks add up to the gate");
        size_t cut = pick(N + 1); /* two files */
        l = (ledger){.mem = mem};
        cr_assert_eq(put("a", join(rows, cut)), OK);
        cr_assert_eq(put("b", join(rows + cut, N - cut)), OK);
        fold();
        same_figures(&whole, &r);
        for (size_t i = N - 1; i > 0; i--) { /* another order */
            size_t j = pick(i + 1);
            const char *kept = rows[i];
            rows[i] = rows[j];
            rows[j] = kept;
        }
        fold_text(join(rows, N));
        same_figures(&whole, &r);
    }
}

Test(ledger, more_rows_that_are_not_counted_change_nothing_measured) {
    const char *base = join((const char *[]){row("2026-09-03", 2, 100, 50, "0.5", ""),
                                             row("2026-09-10", 2, 100, 60, "0.6", "")},
                            2);
    fold_text(base);
    rollup a = r;
    fold_text(arena_printf(
        mem, "%s%s%s%s%s", row("2026-09-10", 9, 9999, 9999, "1", ", \"provenance\": \"modeled\""),
        base, base, row("2026-10-01", 1, 9999, 0, "0", ""), row("2026-10-01", 0, 9, 9, "1", "")));
    cr_expect_eq(r.gate.prompt_tok, a.gate.prompt_tok);
    cr_expect_eq(r.gate.reused_tok, a.gate.reused_tok);
    cr_expect_eq(r.weeks_n, a.weeks_n);
    cr_expect_eq(r.trend, TREND_IMPROVED);
}

/* ---- new rows ---- */

static const char RESULT[] =
    "{\"schema\": \"ratecast.result/1\", \"scenario\": \"s\", \"workload\": {\"K\": 3, \"H\": 5}, "
    "\"arms\": [{\"name\": \"on\", \"tokens\": {\"presented\": 100, \"reused\": 40, \"computed\": "
    "60}}, {\"name\": \"off\", \"tokens\": {\"presented\": 100, \"reused\": 0, \"computed\": "
    "99}}]}";

static err_code of_result(const char *text, const char *name, ledger_entry *x) {
    file_bytes f = {.name = "r.json", .s = text, .len = strlen(text), .sha256 = "ab"};
    e = (err){0};
    return ledger_of_result(&f, name, mem, x, &e);
}

Test(ledger, a_row_of_a_projection) {
    ledger_entry x;
    cr_assert_eq(of_result(RESULT, "on", &x), OK, "%s: %s", e.where, e.what);
    cr_expect_eq(x.turns, 15);
    cr_expect_eq(x.prompt_tok, 100);
    cr_expect_eq(x.reused_tok, 40);
    cr_expect_eq(x.prov, PROV_MODELED);
    x.date = "2026-09-03";
    x.provider = "ratecast";
    x.context = "c \"quoted\"";
    buf line;
    buf_init(&line);
    ledger_entry_line(&x, &line);
    cr_expect_str_eq(strchr(line.s, '\n'), "\n", "one line");
    fold_text(line.s);
    cr_expect_eq(r.not_measured.prompt_tok, 100);
    cr_expect_not(r.measured);
    cr_expect_eq(r.warnings_n, 0);
    buf_done(&line);
}

Test(ledger, results_that_give_no_row) {
    ledger_entry x;
    cr_expect_eq(of_result(RESULT, "onn", &x), E_USAGE);
    cr_expect_not_null(strstr(e.what, "nearest is \"on\""));
    cr_expect_eq(of_result(RESULT, NULL, &x), E_USAGE);
    cr_expect_not_null(strstr(e.what, "on off"));
    cr_expect_eq(of_result(RESULT, "off", &x), E_RANGE);
    cr_expect_str_eq(e.where, "r.json#/arms/1/tokens");
    cr_expect_eq(of_result("{\"schema\": \"ratecast.sweep/1\"}", "on", &x), E_SCHEMA);
    cr_expect_str_eq(e.where, "r.json#/schema");
    cr_expect_eq(of_result("{\"schema\": \"ratecast.result/1\", \"scenario\": \"s\"}", "on", &x),
                 E_SCHEMA);
    cr_expect_eq(of_result("nothing", "on", &x), E_SYNTAX);
}

/* Every digit of a written ratio survives its own check. */
Test(ledger, written_ratios_pass) {
    for (int i = 0; i < 3000; i++) {
        ledger_entry x = {.date = "2026-09-03",
                          .session_type = "run",
                          .provider = "p",
                          .mechanism = "m",
                          .context = "c",
                          .turns = 2};
        x.prompt_tok = 1 + (int64_t)pick(1u << 30) * (i % 7 ? 1 : 100003);
        x.reused_tok = (int64_t)pick((size_t)x.prompt_tok + 1);
        buf line;
        buf_init(&line);
        ledger_entry_line(&x, &line);
        fold_text(line.s);
        cr_assert_eq(r.warnings_n, 0, "%s", line.s);
        buf_done(&line);
    }
}

static const witness *runs(const char *line, const char *turns) {
    witness *w = ARENA_NEW(mem, witness);
    file_bytes f = {.name = "runs.jsonl", .s = line, .len = strlen(line)},
               s = {.name = "sessions/a.jsonl", .s = turns, .len = strlen(turns)};
    cr_assert_eq(witness_parse(&f, &s, 1, mem, w, &e), OK, "%s: %s", e.where, e.what);
    return w;
}

static const char *turn(int number, int cached, int fresh) {
    return arena_printf(mem,
                        "{\"run_id\":\"a\",\"agent\":0,\"turn\":%d,\"prompt_tokens\":%d,"
                        "\"cached_tokens\":%d,\"new_prompt_tokens\":%d,\"out_tokens\":3,"
                        "\"t_send_s\":%d,\"t_first_s\":%d.5,\"t_last_s\":%d.75}\n",
                        number, cached + fresh, cached, fresh, number, number, number);
}

Test(ledger, a_row_of_a_witnessed_run) {
    const char *line = "{\"run_id\":\"a\",\"machine\":\"x\",\"config\":{\"model\":\"m\",\"arm\":"
                       "\"iso\",\"K\":1,\"H\":2,\"P\":100,\"din\":10,\"out\":3}}\n";
    ledger_entry x;
    const witness *w = runs(line, join((const char *[]){turn(1, 0, 110), turn(2, 112, 11)}, 2));
    cr_assert_eq(ledger_of_witness(w, "a", mem, &x, &e), OK, "%s: %s", e.where, e.what);
    cr_expect_eq(x.turns, 2);
    cr_expect_eq(x.prompt_tok, 110 + 123);
    cr_expect_eq(x.reused_tok, 112);
    cr_expect_eq(x.prov, PROV_WITNESSED);
    cr_expect_eq(ledger_of_witness(w, "b", mem, &x, &e), E_USAGE);
    e = (err){0};
    w = runs(line, turn(1, 0, 110));
    cr_expect_eq(ledger_of_witness(w, "a", mem, &x, &e), E_REFUSED);
    cr_expect_not_null(strstr(e.what, "found records of 1 turns"));
    e = (err){0};
    w = runs(line, join((const char *[]){turn(1, 0, 110), turn(2, 112, 11), turn(2, 112, 11)}, 3));
    cr_expect_eq(ledger_of_witness(w, "a", mem, &x, &e), E_REFUSED);
    cr_expect_not_null(strstr(e.what, "excluded"));
}
