#include "page.h"

#include <md4c-html.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- text into HTML ---- */

static void add_escaped(buf *out, const char *s) {
    size_t before = out->len;
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
    marks_disarm(out, before);
}

static void collect(const MD_CHAR *s, MD_SIZE n, void *to) {
    buf_add_n(to, s, n);
}

/* ---- pictures ---- */

/* What an id or a reference to one begins with at `s`, or NULL. fill="#0072b2" is a colour. */
static const char *id_prefix(const char *s) {
    static const char *const IDS[] = {" id=\"", " id='", "\"#", "'#", "url(#"};
    for (size_t i = 0; i < sizeof IDS / sizeof *IDS; i++) {
        size_t n = strlen(IDS[i]);
        if (strncmp(s, IDS[i], n) != 0) continue;
        return i >= 2 && strspn(s + n, "0123456789abcdefABCDEF") >= 3 ? NULL : IDS[i];
    }
    return NULL;
}

/* Behind an element that gnuplot names its parts with and a browser would show on hover, or NULL.
 */
static const char *skip_name(const char *s) {
    if (strncmp(s, "<title>", 7) != 0 && strncmp(s, "<desc>", 6) != 0) return NULL;
    const char *end = strstr(s, "</");
    return end ? end + strcspn(end, ">") + 1 : NULL;
}

/* The SVG element of gnuplot's file, its ids and what refers to them made its own: several pictures
 * stand in one page, and they all call their point types alike. */
static void add_svg(buf *out, const char *svg, size_t index, const char *title) {
    const char *s = strstr(svg, "<svg");
    if (!s) return;
    buf_add(out, "<svg role=\"img\" aria-label=\"");
    add_escaped(out, title);
    buf_add(out, "\"");
    for (s += strlen("<svg"); *s;) {
        size_t n = strcspn(s, " \"'u<");
        buf_add_n(out, s, n);
        s += n;
        const char *prefix = id_prefix(s), *behind = skip_name(s);
        if (behind)
            s = behind;
        else if (prefix) {
            buf_addf(out, "%sp%zu-", prefix, index);
            s += strlen(prefix);
        } else if (*s)
            buf_add_n(out, s++, 1);
    }
}

static void add_figure(buf *out, const mark *m, const char *svg, size_t index) {
    buf_addf(out, "<figure%s>\n", m->all_arms ? " class=\"all-arms\"" : "");
    buf_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    buf_addf(out, "picture %s\">\n", m->picture);
    if (svg)
        add_svg(out, svg, index, m->title);
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

/* ---- the page ---- */

/* What a heading says, without its elements and marks. */
static void add_words(buf *out, const char *html, size_t n, size_t marks_n) {
    buf text;
    mark_found f;
    buf_init(&text);
    for (size_t i = 0; i < n; i++) {
        if (html[i] == '<')
            while (i < n && html[i] != '>') i++;
        else
            buf_add_n(&text, html + i, 1);
    }
    const char *s = text.s;
    while (mark_next(&s, marks_n, &f)) {
        buf_add_n(out, f.plain, f.plain_n);
        buf_add_n(out, f.text, f.text_n);
    }
    buf_add_n(out, f.plain, f.plain_n);
    buf_done(&text);
}

/* A link may lead to the web, to mail, or to a place or file beside the page; javascript: and the
 * like may not. `s` is behind href=". */
static bool is_link_safe(const char *s) {
    static const char *const SCHEMES[] = {"http://", "https://", "mailto:"};
    for (size_t i = 0; i < sizeof SCHEMES / sizeof *SCHEMES; i++)
        if (strncmp(s, SCHEMES[i], strlen(SCHEMES[i])) == 0) return true;
    size_t n = strcspn(s, "\"/?#:");
    return s[n] != ':';
}

typedef struct structure {
    buf intro, body, contents; /* before the first section, from there on, list of sections */
    buf section;               /* the words of its heading */
    size_t marks_n, sections, tables, lists;
    bool in_unsafe_link;
} structure;

/* A note that begins with # is no heading of the report: in a list it is as bold as one. */
static bool add_list_heading(structure *t, buf *out, const char *s) {
    bool closes = s[1] == '/';
    const char *name = s + 1 + closes;
    if (strncmp(name, "li>", 3) == 0) t->lists += closes ? (size_t)-1 : 1;
    if (t->lists == 0 || name[0] != 'h' || name[1] < '1' || name[1] > '6') return false;
    buf_add(out, closes ? "</strong>" : "<strong>");
    return true;
}

static void add_section(structure *t, const char *s) {
    const char *end = strstr(s, "</h2>");
    buf_reset(&t->section);
    add_words(&t->section, s + 4, end ? (size_t)(end - s) - 4 : 0, t->marks_n);
    t->tables = 0;
    t->sections++;
    buf_addf(&t->body, "<h2 id=\"s%zu\">", t->sections);
    buf_addf(&t->contents, "<li><a href=\"#s%zu\">%s</a></li>\n", t->sections, t->section.s);
}

static void add_table(structure *t, buf *out) {
    buf_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table: ");
    buf_add(out, t->sections ? t->section.s : "before the first section");
    if (++t->tables > 1) buf_addf(out, " (%zu)", t->tables);
    buf_add(out, "\"><table>");
}

/* A picture from elsewhere would be fetched: its words are left. */
static void add_image_words(buf *out, const char *s) {
    const char *alt = strstr(s, " alt=\""), *end = strchr(s, '>');
    if (!alt || !end || alt > end) return;
    alt += strlen(" alt=\"");
    buf_add_n(out, alt, strcspn(alt, "\""));
}

/* One element, from its '<'; false: it stays as it is. */
static bool add_element(structure *t, buf *out, const char *s) {
    static const char LINK[] = "<a href=\"";
    if (add_list_heading(t, out, s)) return true;
    if (strncmp(s, "<table>", 7) == 0)
        add_table(t, out);
    else if (strncmp(s, "</table>", 8) == 0)
        buf_add(out, "</table></div>");
    else if (strncmp(s, "<th>", 4) == 0 || strncmp(s, "<th ", 4) == 0) {
        buf_add(out, "<th scope=\"col\"");
        buf_add_n(out, s + 3, strcspn(s + 3, ">") + 1);
    } else if (strncmp(s, "<h2>", 4) == 0)
        add_section(t, s);
    else if (strncmp(s, "<img ", 5) == 0)
        add_image_words(out, s);
    else if (strncmp(s, LINK, strlen(LINK)) == 0 && !is_link_safe(s + strlen(LINK)))
        t->in_unsafe_link = true;
    else if (t->in_unsafe_link && strncmp(s, "</a>", 4) == 0)
        t->in_unsafe_link = false;
    else
        return false;
    return true;
}

/* Wide tables scroll in a box of their own; headings get ids for the list of contents. */
static void add_structured(structure *t, const char *html) {
    while (*html) {
        bool section = t->lists == 0 && strncmp(html, "<h2>", 4) == 0;
        buf *out = t->sections || section ? &t->body : &t->intro;
        size_t n = strcspn(html, "<");
        if (n == 0) {
            n = strcspn(html, ">");
            n += html[n] != '\0';
            if (add_element(t, out, html)) {
                html += n;
                continue;
            }
        }
        buf_add_n(out, html, n);
        html += n;
    }
}

static void add_arms(const composed *c, buf *out) {
    if (c->arms_n < 2) return;
    buf_add(out, "<div id=\"arms\" role=\"group\" aria-label=\"arms that are shown\" hidden>\n"
                 "<span>Show</span>\n");
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

static void add_page(const composed *c, const page_parts *parts, structure *t, const char *html,
                     buf *out) {
    /* structure first: a picture holds elements of its own */
    add_structured(t, html);
    add_head(parts, out);
    add_marked(c, parts, t->intro.s, out);
    if (t->contents.len)
        buf_addf(out, "<nav aria-label=\"contents\">\n<ul>\n%s</ul>\n</nav>\n", t->contents.s);
    add_arms(c, out);
    add_marked(c, parts, t->body.s, out);
    buf_addf(out, "</main>\n<script nonce=\"page\">\n%s</script>\n</body>\n</html>\n", parts->js);
}

err_code page_html(const composed *c, const page_parts *parts, buf *out, err *e) {
    buf html;
    structure t = {.marks_n = c->marks_n};
    buf *const parts_of[] = {&html, &t.intro, &t.body, &t.contents, &t.section};
    for (size_t i = 0; i < sizeof parts_of / sizeof *parts_of; i++) buf_init(parts_of[i]);
    if (md_html(c->text.s, (MD_SIZE)c->text.len, collect, &html,
                MD_FLAG_TABLES | MD_FLAG_NOHTML | MD_FLAG_STRIKETHROUGH |
                    MD_FLAG_PERMISSIVEURLAUTOLINKS,
                0) == 0)
        add_page(c, parts, &t, html.s, out);
    else
        err_set(e, E_SYNTAX, parts->title, "the report is no Markdown that can be read");
    for (size_t i = 0; i < sizeof parts_of / sizeof *parts_of; i++) buf_done(parts_of[i]);
    return e->code;
}
