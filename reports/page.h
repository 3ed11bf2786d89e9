/* A report as one HTML page that needs nothing else: style, script and pictures stand inside, and a
 * policy in its head forbids it to fetch anything. */
#ifndef RATECAST_PAGE_H
#define RATECAST_PAGE_H

#include "compose.h"

typedef struct page_parts {
    const char *title;
    const char *css, *js;   /* reports/page/page.css, page.js */
    const char *const *svg; /* by mark: the picture's SVG; NULL for numbers, or when none was
                               drawn */
} page_parts;

/* E_SYNTAX: the Markdown could not be read. */
MUST_USE err_code page_html(const composed *c, const page_parts *parts, buf *out, err *e);

#endif
