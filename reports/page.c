#include "page.h"

#include <md4c-html.h>
#include <stdlib.h>
#include <string.h>

/* ---- text into HTML ---- */

static void add_escaped(buf *out, const char *s) {
    for (; *s; s++) {
        switch (*s) {
        case '&':
            buf_add(out, "&amp;");
            break;
        case '<':
            buf_add(out, "&lt;");
            break;
        case '>':
            buf_add(out, "&gt;");
            break;
        case '"':
            buf_add(out, "&quot;");
            break;
        default:
            buf_add_n(out, s, 1);
        }
    }
}

static void collect(const MD_CHAR *s, MD_SIZE n, void *to) {
    buf_add_n(to, s, n);
}

/* ---- pictures ---- */

/* The SVG element of gnuplot's file, its ids and what refers to them made its own: several pictures
 * stand in one page, and they all call their point types alike. */
static void add_svg(buf *out, const char *svg, size_t index) {
    static const char *const REFS[] = {" id=\"", " id='", "\"#", "'#", "url(#"};
    const char *s = strstr(svg, "<svg");
    while (s && *s) {
        size_t best = strlen(s), which = sizeof REFS / sizeof *REFS;
        for (size_t i = 0; i < sizeof REFS / sizeof *REFS; i++) {
            const char *at = strstr(s, REFS[i]);
            /* fill="#0072b2" is a colour */
            while (at && strspn(at + strlen(REFS[i]), "0123456789abcdefABCDEF") >= 3 && i >= 2)
                at = strstr(at + 1, REFS[i]);
            if (at && (size_t)(at - s) < best) {
                best = (size_t)(at - s);
                which = i;
            }
        }
        if (which == sizeof REFS / sizeof *REFS) {
            buf_add(out, s);
            break;
        }
        size_t n = best + strlen(REFS[which]);
        buf_add_n(out, s, n);
        buf_addf(out, "p%zu-", index);
        s += n;
    }
}

static void add_figure(buf *out, const mark *m, const char *svg, size_t index) {
    buf_add(out, "<figure role=\"img\" aria-label=\"");
    add_escaped(out, m->title);
    buf_add(out, "\">\n<div class=\"scroll\" tabindex=\"0\">\n");
    if (svg)
        add_svg(out, svg, index);
    else
        buf_add(out, "<p class=\"missing\">no picture was drawn: gnuplot was not there</p>");
    buf_add(out, "\n</div>\n<figcaption>");
    add_escaped(out, m->title);
    buf_addf(out, " <span class=\"file\">(data: %s.tsv)</span></figcaption>\n</figure>\n",
             m->picture);
}

/* ---- marks ---- */

/* In a tag, as the text of an image is: nothing but text may stand there. */
static int in_tag(const buf *out) {
    for (size_t i = out->len; i > 0; i--)
        if (out->s[i - 1] == '<' || out->s[i - 1] == '>') return out->s[i - 1] == '<';
    return 0;
}

static void add_number(buf *out, const mark *m, const mark_found *f) {
    size_t word = strcspn(m->title, ": ");
    buf_add(out, "<span class=\"number ");
    for (size_t i = 0; i < word; i++) {
        char c = m->title[i];
        buf_add_n(out, (char[]){(char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c)}, 1);
    }
    buf_add(out, "\" title=\"");
    add_escaped(out, m->title);
    buf_add(out, "\">");
    buf_add_n(out, f->text, f->text_n);
    buf_add(out, "</span>");
}

static void add_marked(const composed *c, const page_parts *parts, const char *html, buf *out) {
    static const char P[] = "<p>", P_END[] = "</p>\n";
    mark_found f;
    while (mark_next(&html, c->marks_n, &f)) {
        const mark *m = &c->marks[f.index];
        if (m->kind == MARK_NUMBER) {
            buf_add_n(out, f.plain, f.plain_n);
            if (in_tag(out))
                buf_add_n(out, f.text, f.text_n);
            else
                add_number(out, m, &f);
            continue;
        }
        /* a picture stands alone in its paragraph, which a figure may not */
        bool alone = f.plain_n >= 3 && strncmp(f.plain + f.plain_n - 3, P, 3) == 0 &&
                     strncmp(html, P_END, strlen(P_END)) == 0;
        buf_add_n(out, f.plain, f.plain_n - (alone ? 3 : 0));
        if (!alone) buf_add(out, P_END);
        add_figure(out, m, parts->svg[f.index], f.index);
        if (alone)
            html += strlen(P_END);
        else
            buf_add(out, P);
    }
    buf_add_n(out, f.plain, f.plain_n);
}

/* What stands between tags: a link may not hold another. */
static void add_tagless(buf *out, const char *s, size_t n) {
    int tag = 0;
    for (size_t i = 0; i < n; i++) {
        tag |= s[i] == '<';
        if (!tag) buf_add_n(out, &s[i], 1);
        tag &= s[i] != '>';
    }
}

/* The text of marks alone, for the list of contents. */
static void add_unmarked(const composed *c, const char *html, buf *out) {
    mark_found f;
    while (mark_next(&html, c->marks_n, &f)) {
        buf_add_n(out, f.plain, f.plain_n);
        if (c->marks[f.index].kind == MARK_NUMBER) buf_add_n(out, f.text, f.text_n);
    }
    buf_add_n(out, f.plain, f.plain_n);
}

/* ---- the page ---- */

/* Wide tables scroll in a box of their own; headings get ids for the list of contents; an image of
 * the text is not fetched, its words stand in its place. */
static void add_structured(const char *html, buf *out, buf *contents) {
    size_t sections = 0;
    for (const char *s = html; *s;) {
        if (strncmp(s, "<table>", 7) == 0)
            buf_add(out, "<div class=\"scroll\" tabindex=\"0\"><table>");
        else if (strncmp(s, "</table>", 8) == 0)
            buf_add(out, "</table></div>");
        else if (strncmp(s, "<img ", 5) == 0) {
            buf_add(out, "<img data-"); /* src= follows */
            s += 5;
            continue;
        } else if (strncmp(s, "<h2>", 4) == 0) {
            const char *end = strstr(s, "</h2>");
            size_t n = end ? (size_t)(end - s) - 4 : 0;
            buf_addf(out, "<h2 id=\"s%zu\">", ++sections);
            buf_addf(contents, "<li><a href=\"#s%zu\">", sections);
            add_tagless(contents, s + 4, n);
            buf_add(contents, "</a></li>\n");
        } else {
            buf_add_n(out, s, 1);
            s++;
            continue;
        }
        s = strchr(s, '>') + 1;
    }
}

static void add_arms(const composed *c, buf *out) {
    buf_add(out, "<div id=\"arms\" hidden>\n");
    for (size_t i = 0; i < c->arms_n; i++) {
        buf_add(out, "<label><input type=\"checkbox\" checked value=\"");
        add_escaped(out, c->arms[i]);
        buf_add(out, "\"> ");
        add_escaped(out, c->arms[i]);
        buf_add(out, "</label>\n");
    }
    buf_add(out, "</div>\n");
}

static void add_head(const page_parts *parts, buf *out) {
    buf_add(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "style-src 'unsafe-inline'; script-src 'nonce-page'; base-uri 'none'; form-action "
                 "'none'\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    add_escaped(out, parts->title);
    buf_addf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n", parts->css);
}

err_code page_html(const composed *c, const page_parts *parts, buf *out, err *e) {
    buf html, marked, body, contents;
    buf_init(&html);
    buf_init(&marked);
    buf_init(&body);
    buf_init(&contents);
    if (md_html(c->text.s, (MD_SIZE)c->text.len, collect, &html,
                MD_FLAG_TABLES | MD_FLAG_NOHTML | MD_FLAG_STRIKETHROUGH |
                    MD_FLAG_PERMISSIVEURLAUTOLINKS,
                0) != 0)
        err_set(e, E_SYNTAX, parts->title, "the report is no Markdown that can be read");
    if (!e->code) {
        /* structure first: a picture holds elements of its own */
        add_structured(html.s, &body, &contents);
        add_marked(c, parts, body.s, &marked);
        add_head(parts, out);
        add_arms(c, out);
        buf_add(out, "<nav>\n<ul>\n");
        add_unmarked(c, contents.s, out);
        buf_add(out, "</ul>\n</nav>\n");
        buf_add_n(out, marked.s, marked.len);
        buf_addf(out, "</main>\n<script nonce=\"page\">\n%s</script>\n</body>\n</html>\n",
                 parts->js);
    }
    buf_done(&html);
    buf_done(&marked);
    buf_done(&body);
    buf_done(&contents);
    return e->code;
}
