#include "sse.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* What was heard: the data of each event, "!" in front of an error's, "|" behind each. */
static void note_event(void *arg, const sse_event *ev) {
    buf *all = arg;
    cr_assert_eq(ev->data[ev->len], '\0');
    if (ev->error) buf_add(all, "!");
    buf_add_n(all, ev->data, ev->len);
    buf_add(all, "|");
}

static void heard(const char *bytes, size_t n, size_t piece, size_t limit, bool fine,
                  const char *want) {
    buf all;
    sse s;
    buf_init(&all);
    sse_init(&s, limit, note_event, &all);
    bool ok = true;
    for (size_t at = 0; at < n; at += piece)
        ok = sse_feed(&s, bytes + at, at + piece < n ? piece : n - at);
    cr_assert_eq(ok, fine);
    cr_assert_str_eq(all.s, want, "in pieces of %zu: \"%s\"", piece, all.s);
    sse_done(&s);
    buf_done(&all);
}

/* In one piece, and cut at every byte. */
static void streams(const char *bytes, const char *want) {
    size_t n = strlen(bytes);
    heard(bytes, n, n ? n : 1, 1000, true, want);
    heard(bytes, n, 1, 1000, true, want);
    for (size_t cut = 1; cut < n; cut++) {
        buf all;
        sse s;
        buf_init(&all);
        sse_init(&s, 1000, note_event, &all);
        cr_assert(sse_feed(&s, bytes, cut) && sse_feed(&s, bytes + cut, n - cut));
        cr_assert_str_eq(all.s, want, "cut at %zu: \"%s\"", cut, all.s);
        sse_done(&s);
        buf_done(&all);
    }
}

/* WHATWG HTML 9.2.6, with the outcomes that it states. */
Test(sse, examples_of_the_standard) {
    streams("data: YHOO\ndata: +2\ndata: 10\n\n", "YHOO\n+2\n10|");
    streams(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third "
            "event\n\n",
            "first event|second event| third event|");
    streams("data\n\ndata\ndata\n\ndata:", "|\n|");
    streams("data:test\n\ndata: test\n\n", "test|test|");
}

Test(sse, lines_end_in_any_way) {
    streams("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "a|b|c|");
    streams("data: a\r\ndata: b\rdata: c\n\r\n", "a\nb\nc|");
    streams("\r\n\r\n\n\r", "");
}

Test(sse, what_is_unfinished_is_no_event) {
    streams("", "");
    streams("data: a", "");
    streams("data: a\n", "");
    streams("data: a\n\ndata: b\n", "a|");
}

Test(sse, comments_and_other_fields_say_nothing) {
    streams(":\n: ping\n\nretry: 10\nid: 4\nfoo: bar\ndata: a\n:data: b\n\n", "a|");
    streams("Data: a\n\n data: b\n\ndatas: c\n\ndat: d\n\n", "");
}

Test(sse, completions) {
    streams("data: {\"content\":\" a\",\"stop\":false}\n\ndata: [DONE]\n\n",
            "{\"content\":\" a\",\"stop\":false}|[DONE]|");
}

Test(sse, errors) {
    streams("error: {\"code\":500}\n\ndata: a\n\n", "!{\"code\":500}|a|");
    streams("event: error\ndata: b\n\nevent: message\ndata: c\n\n", "!b|c|");
    streams("event: error\n\ndata: d\n\n", "d|");
}

Test(sse, a_byte_order_mark_is_no_part_of_the_first_line) {
    streams("\xEF\xBB\xBF"
            "data: a\n\n\xEF\xBB\xBF"
            "data: b\n\n",
            "a|");
}

Test(sse, data_may_hold_nul_bytes) {
    buf all;
    sse s;
    buf_init(&all);
    sse_init(&s, 100, note_event, &all);
    cr_assert(sse_feed(&s, "data: a\0b\n\n", 11));
    cr_assert_eq(all.len, 4);
    cr_assert_eq(memcmp(all.s, "a\0b|", 4), 0);
    sse_done(&s);
    buf_done(&all);
}

Test(sse, a_line_of_a_megabyte) {
    enum { N = 1048576 };
    buf in, want;
    buf_init(&in);
    buf_init(&want);
    buf_add(&in, "data: ");
    buf_fill(&in, 'x', N);
    buf_add(&in, "\n\ndata: y\n\n");
    buf_fill(&want, 'x', N);
    buf_add(&want, "|y|");
    heard(in.s, in.len, 16384, N + 6, true, want.s);
    heard(in.s, in.len, 1, N + 6, true, want.s);
    heard(in.s, in.len, 16384, N + 5, false, "");
    buf_done(&in);
    buf_done(&want);
}

Test(sse, the_limit_counts_the_lines_of_an_event_together) {
    const char *three = "data: aaaa\ndata: bbbb\ndata: cccc\n\ndata: d\n\n";
    heard(three, strlen(three), 5, 14, true, "aaaa\nbbbb\ncccc|d|");
    heard(three, strlen(three), 5, 13, false, "");
}

Test(sse, reset_begins_a_stream) {
    buf all;
    sse s;
    buf_init(&all);
    sse_init(&s, 20, note_event, &all);
    cr_assert(sse_feed(&s, "data: a\r", 8));
    sse_reset(&s);
    cr_assert(sse_feed(&s, "\ndata: b\n\ndata: c", 17));
    cr_assert_not(sse_feed(&s, "0123456789012345", 16));
    cr_assert_not(sse_feed(&s, "\n\n", 2));
    sse_reset(&s);
    cr_assert(sse_feed(&s, "data: d\n\n", 9));
    cr_assert_str_eq(all.s, "b|d|");
    sse_done(&s);
    buf_done(&all);
}
