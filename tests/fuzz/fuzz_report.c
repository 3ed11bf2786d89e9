/* Any bytes as a template over a fixed specification, or, when they are a JSON object, as a
 * specification over the shipped files: refused with a message, or a report whose marks are all
 * found again. No file outside the repository is read. */
#include "fuzz.h"

#include "compose.h"
#include "page.h"

#include <ctype.h>
#include <string.h>

/* Every byte of a template may name a block of ten thousand. */
enum { TEMPLATE_MAX = 4096, RUNS_MAX = 6 };

static const char *const ROOTS[] = {RATECAST_REPO};

static const char SPEC[] =
    "{\"schema\": \"ratecast.report/1\", \"id\": \"t\", \"title\": \"a `title` of <b>4\",\n"
    "\"figures\": \"head-to-head\",\n"
    "\"runs\": [{\"name\": \"h\", \"file\": \"scenarios/head_to_head_4k.json\"},\n"
    "{\"name\": \"ab\", \"file\": \"scenarios/cache_ab.json\"}],\n"
    "\"claims\": [\"scenarios/claims/head_to_head_4k.json\"],\n"
    "\"explain\": [{\"name\": \"why\", \"scenarios\": [\"scenarios/head_to_head_4k.json\"]}],\n"
    "\"plots\": [{\"name\": \"wall\", \"kind\": \"stack\", \"of\": \"h\"},\n"
    "{\"name\": \"sweep\", \"kind\": \"sweep\", \"of\": \"ab\"}]}";

static err_code read_spec(const char *text, size_t len, arena *mem, const spec **out, err *e) {
    spec_places where = {.roots = ROOTS, .n = 1, .lib = fuzz_library()};
    file_bytes f = {.name = "<fuzz>", .s = text, .len = len};
    return spec_parse(&f, &where, mem, out, e);
}

static const spec *fixed_spec(void) {
    static const spec *s;
    if (s) return s;
    arena *mem = arena_new((size_t)256 << 20);
    err e = {0};
    EXPECT(read_spec(SPEC, strlen(SPEC), mem, &s, &e) == OK);
    return s;
}

static size_t times(const char *text, const char *what) {
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what)) n++;
    return n;
}

static void check_page(const composed *c, arena *mem) {
    const char **svg = ARENA_ARRAY(mem, const char *, c->marks_n ? c->marks_n : 1);
    buf html;
    err e = {0};
    if (!svg) return;
    for (size_t i = 0; i < c->marks_n; i++) svg[i] = i % 2 ? "<svg><g id=\"a\"/></svg>" : NULL;
    page_parts parts = {.title = "t", .css = "", .js = "", .svg = svg};
    buf_init(&html);
    EXPECT(page_html(c, &parts, &html, &e) == OK);
    EXPECT(strlen(html.s) == html.len);
    EXPECT(strstr(html.s, "</html>\n"));
    EXPECT(!strstr(html.s, "<img src"));
    EXPECT(times(html.s, "<script") == 1);
    buf_done(&html);
}

static void check_report(const spec *s, arena *mem, err_code *code, err *e) {
    composed c;
    *code = compose(s, "ratecast report t", mem, &c, e);
    EXPECT(*code == e->code);
    EXPECT(*code == OK || e->what[0] != '\0');
    if (*code == OK) {
        const char *from = c.text.s;
        mark_found f;
        buf md;
        EXPECT(strlen(c.text.s) == c.text.len);
        for (size_t i = 0; mark_next(&from, c.marks_n, &f); i++) EXPECT(f.index == i);
        buf_init(&md);
        marks_markdown(c.text.s, c.marks, c.marks_n, &md);
        from = md.s;
        EXPECT(!mark_next(&from, c.marks_n, &f));
        buf_done(&md);
        check_page(&c, mem);
    }
    composed_done(&c);
}

/* ---- specifications ---- */

/* Stays in the repository, and takes no longer than the fuzzer waits: no absolute path, none that
 * goes up, no escape that could spell one, nothing set to a value of three digits. */
static bool is_tame(const char *text) {
    if (strchr(text, '\\') || strstr(text, "..") || strstr(text, "\"/")) return false;
    if (times(text, ".json") > RUNS_MAX) return false;
    for (const char *at = text; (at = strchr(at, '=')) != NULL; at++)
        for (size_t i = 1, run = 0; at[i] && at[i] != '"'; i++) {
            run = isdigit((unsigned char)at[i]) ? run + 1 : 0;
            if (run >= 3 || (i > 1 && isdigit((unsigned char)at[i - 1]) && strchr("eE", at[i])))
                return false;
        }
    return true;
}

static void as_spec(const char *text, size_t len, arena *mem) {
    const spec *s = NULL;
    err e = {0};
    if (!is_tame(text)) return;
    err_code code = read_spec(text, len, mem, &s, &e);
    EXPECT(code == e.code);
    EXPECT(code == OK || e.what[0] != '\0');
    if (code != OK) return;
    for (size_t i = 0; i < s->plots_n; i++) {
        buf tsv;
        err inner = {0};
        buf_init(&tsv);
        code = compose_plot(s, &s->plots[i], mem, &tsv, &inner);
        EXPECT(code == OK ? tsv.len > 0 : inner.what[0] != '\0');
        buf_done(&tsv);
    }
    for (size_t i = 0; i < s->inputs_n; i++) EXPECT(s->inputs[i].what && s->inputs[i].name);
    check_report(s, mem, &code, &e);
}

/* ---- templates ---- */

static void as_template(const char *text, size_t len, arena *mem) {
    spec s = *fixed_spec();
    err e = {0};
    err_code code;
    if (len > TEMPLATE_MAX) return;
    s.template = (file_bytes){.name = "<fuzz>", .s = text, .len = len};
    check_report(&s, mem, &code, &e);
    EXPECT(code == OK || strncmp(e.where, "<fuzz>", 6) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)fixed_spec();
    arena *mem = arena_new((size_t)256 << 20);
    char *text = arena_alloc(mem, size + 1, 1);
    if (text) {
        if (size) memcpy(text, data, size);
        if (text[0] == '{' && text[1] != '{')
            as_spec(text, size, mem);
        else
            as_template(text, size, mem);
    }
    arena_free(mem);
    return 0;
}
