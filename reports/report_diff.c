#include "report_diff.h"

#include "report_project.h"
#include "table.h"

#include "base/jsonr.h"
#include "base/jsonw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAVES_MAX = 200000 };

/* Every leaf of a result with its path; members of a list go by their name, term or id where they
 * have one. */
typedef struct leaf {
    const char *path;
    const cJSON *node;
    size_t at;                /* place in its document */
    const struct leaf *other; /* the same value of the other result; NULL: it has none */
} leaf;

typedef struct leaves {
    leaf *v;
    size_t n, cap;
    arena *mem;
    err *e;
    const char *file;
} leaves;

static const char *label_of(const cJSON *item, int index, char *out, size_t cap) {
    static const char *const KEYS[] = {"name", "term", "id"};
    for (size_t i = 0; cJSON_IsObject(item) && i < sizeof KEYS / sizeof *KEYS; i++) {
        const cJSON *k = cJSON_GetObjectItemCaseSensitive(item, KEYS[i]);
        if (cJSON_IsString(k)) return k->valuestring;
    }
    snprintf(out, cap, "%d", index);
    return out;
}

static void flatten(leaves *l, const cJSON *node, const char *path) {
    if (l->e->code) return;
    if (!cJSON_IsObject(node) && !cJSON_IsArray(node)) {
        if (cJSON_IsNumber(node) && !isfinite(node->valuedouble)) {
            char where[256];
            snprintf(where, sizeof where, "%s: %s", l->file, path);
            err_set(l->e, E_RANGE, where, "found an infinite number, expected a finite one");
            return;
        }
        if (l->n == l->cap) {
            err_set(l->e, E_LIMIT, l->file, "more than %d values", LEAVES_MAX);
            return;
        }
        l->v[l->n] = (leaf){.path = path, .node = node, .at = l->n};
        l->n++;
        return;
    }
    int index = 0;
    for (const cJSON *c = node->child; c; c = c->next, index++) {
        char number[16];
        const char *label =
            cJSON_IsObject(node) ? c->string : label_of(c, index, number, sizeof number);
        const char *below = arena_printf(l->mem, "%s%s%s", path, path[0] ? "/" : "", label);
        if (!below) {
            err_set(l->e, E_LIMIT, l->file, "does not fit the memory budget");
            return;
        }
        flatten(l, c, below);
    }
}

static err_code read_result(const file_bytes *f, arena *mem, jr_doc *doc, leaves *out, err *e) {
    size_t most = f->len / 2 + 1; /* a value and its comma are two bytes */
    *out = (leaves){.mem = mem, .e = e, .file = f->name};
    out->cap = most < LEAVES_MAX ? most : LEAVES_MAX;
    out->v = ARENA_ARRAY(mem, leaf, out->cap);
    if (!out->v) return err_set(e, E_LIMIT, f->name, "does not fit the memory budget");
    if (jr_parse(doc, f->name, f->s, f->len, mem, e)) return e->code;
    jr_schema(jr_root(doc), RESULT_SCHEMA);
    if (!e->code) flatten(out, doc->root, "");
    return e->code;
}

static const char *text_of(const cJSON *n, arena *mem) {
    char number[32];
    if (!n) return NULL;
    if (cJSON_IsString(n)) return arena_strdup(mem, n->valuestring);
    if (cJSON_IsBool(n)) return cJSON_IsTrue(n) ? "true" : "false";
    if (!cJSON_IsNumber(n)) return "null";
    jw_format(n->valuedouble, number);
    return arena_strdup(mem, number);
}

static int by_path(const void *x, const void *y) {
    const leaf *a = *(leaf *const *)x, *b = *(leaf *const *)y;
    int c = strcmp(a->path, b->path);
    return c ? c : (a->at > b->at) - (a->at < b->at);
}

static leaf **sorted(const leaves *l, arena *mem) {
    leaf **p = ARENA_ARRAY(mem, leaf *, l->n);
    for (size_t i = 0; p && i < l->n; i++) p[i] = &l->v[i];
    if (p && l->n > 1) qsort(p, l->n, sizeof(leaf *), by_path);
    return p;
}

/* Equal paths belong together; where a path stands more than once (two constant_s of an arm), the
 * first with the first. False: no memory. */
static bool match(const leaves *a, const leaves *b, arena *mem) {
    leaf **pa = sorted(a, mem), **pb = sorted(b, mem);
    if (!pa || !pb) return false;
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        int c = strcmp(pa[i]->path, pb[j]->path);
        if (c == 0) {
            pa[i]->other = pb[j];
            pb[j]->other = pa[i];
        }
        i += c <= 0;
        j += c >= 0;
    }
    return true;
}

static void add_line(diff_line *lines, diff *d, const char *path, const cJSON *a, const cJSON *b,
                     arena *mem) {
    const char *ta = text_of(a, mem), *tb = text_of(b, mem);
    if (ta && tb && strcmp(ta, tb) == 0) {
        d->same_n++;
        return;
    }
    bool numeric = a && b && cJSON_IsNumber(a) && cJSON_IsNumber(b);
    lines[d->n++] = (diff_line){
        path, ta, tb, numeric, numeric ? a->valuedouble : 0, numeric ? b->valuedouble : 0};
}

err_code diff_results(const file_bytes *a, const file_bytes *b, arena *mem, diff *out, err *e) {
    *out = (diff){0};
    jr_doc da = {0}, db = {0};
    leaves la, lb;
    diff_line *lines = NULL;
    if (read_result(a, mem, &da, &la, e) == OK && read_result(b, mem, &db, &lb, e) == OK)
        lines = ARENA_ARRAY(mem, diff_line, la.n + lb.n);
    if (!e->code && (!lines || !match(&la, &lb, mem)))
        err_set(e, E_LIMIT, a->name, "does not fit the memory budget");
    for (size_t i = 0; lines && !e->code && i < la.n; i++) {
        const leaf *l = &la.v[i];
        add_line(lines, out, l->path, l->node, l->other ? l->other->node : NULL, mem);
    }
    for (size_t i = 0; lines && !e->code && i < lb.n; i++)
        if (!lb.v[i].other) add_line(lines, out, lb.v[i].path, NULL, lb.v[i].node, mem);
    out->lines = lines;
    jr_free(&da);
    jr_free(&db);
    return e->code;
}

static const char *change_of(const diff_line *l, arena *mem) {
    if (!l->numeric) return l->a && l->b ? "" : l->a ? "only in the first" : "only in the second";
    double percents = l->va != 0 ? 100 * (l->vb / l->va - 1) : 0;
    bool has = l->va != 0 && isfinite(percents);
    const char *percent = has ? arena_printf(mem, " (%+.2f %%)", percents) : "";
    return arena_printf(mem, "%+.6g%s", l->vb - l->va, percent);
}

void diff_text(const diff *d, const char *name_a, const char *name_b, arena *mem, buf *out) {
    const char *const HEAD[] = {"value", name_a, name_b, "change"};
    table *t = table_new(mem, 4);
    table_left(t, 3);
    table_row(t, HEAD);
    for (size_t i = 0; i < d->n; i++) {
        const diff_line *l = &d->lines[i];
        const char *row[] = {l->path, l->a ? l->a : "–", l->b ? l->b : "–", change_of(l, mem)};
        table_row(t, row);
    }
    if (d->n > 0) table_markdown(t, out);
    buf_addf(out, "%s%zu values differ, %zu are the same\n", d->n ? "\n" : "", d->n, d->same_n);
}

void diff_json(const diff *d, buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", "ratecast.diff/1");
    cJSON *list = jw_arr(root, "changes");
    for (size_t i = 0; i < d->n; i++) {
        const diff_line *l = &d->lines[i];
        cJSON *o = jw_item(list);
        jw_str(o, "path", l->path);
        if (l->numeric) {
            jw_num(o, "a", l->va);
            jw_num(o, "b", l->vb);
            double change = l->vb - l->va, ratio = l->va != 0 ? l->vb / l->va : 0;
            if (isfinite(change)) jw_num(o, "change", change);
            if (l->va != 0 && isfinite(ratio)) jw_num(o, "change_frac", ratio - 1);
        } else {
            jw_str(o, "a", l->a);
            jw_str(o, "b", l->b);
        }
    }
    jw_int(root, "same_n", (int64_t)d->same_n);
    jw_print(root, out);
    cJSON_Delete(root);
}
