#include "report_diff.h"

#include "report_project.h"
#include "table.h"

#include "base/jsonr.h"
#include "base/jsonw.h"

#include <stdio.h>
#include <string.h>

enum { LEAVES_MAX = 200000, PATH_MAX_BYTES = 240 };

/* Every leaf of a result with its path; members of a list go by their name, term or id where they
 * have one. */
typedef struct leaf {
    const char *path;
    const cJSON *node;
} leaf;

typedef struct leaves {
    leaf *v;
    size_t n;
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
        if (l->n == LEAVES_MAX) {
            err_set(l->e, E_LIMIT, l->file, "more than %d values", LEAVES_MAX);
            return;
        }
        l->v[l->n++] = (leaf){arena_strdup(l->mem, path), node};
        return;
    }
    int index = 0;
    for (const cJSON *c = node->child; c; c = c->next, index++) {
        char number[16], below[PATH_MAX_BYTES];
        const char *label =
            cJSON_IsObject(node) ? c->string : label_of(c, index, number, sizeof number);
        snprintf(below, sizeof below, "%s%s%s", path, path[0] ? "/" : "", label);
        flatten(l, c, below);
    }
}

static err_code read_result(const file_bytes *f, arena *mem, jr_doc *doc, leaves *out, err *e) {
    *out = (leaves){.mem = mem, .e = e, .file = f->name, .v = ARENA_ARRAY(mem, leaf, LEAVES_MAX)};
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
    if (!cJSON_IsNumber(n) || n->valuedouble - n->valuedouble != 0)
        return "null"; /* nothing, or not finite */
    jw_format(n->valuedouble, number);
    return arena_strdup(mem, number);
}

static const leaf *find(const leaves *l, const char *path, size_t hint) {
    if (hint < l->n && strcmp(l->v[hint].path, path) == 0)
        return &l->v[hint]; /* results of one tool stand in one order */
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].path, path) == 0) return &l->v[i];
    return NULL;
}

static void add_line(diff_line *lines, diff *d, const char *path, const cJSON *a, const cJSON *b,
                     arena *mem) {
    const char *ta = text_of(a, mem), *tb = text_of(b, mem);
    if (ta && tb && strcmp(ta, tb) == 0) {
        d->same_n++;
        return;
    }
    bool numeric = cJSON_IsNumber(a) && cJSON_IsNumber(b);
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
    if (!e->code && !lines) err_set(e, E_LIMIT, a->name, "does not fit the memory budget");
    for (size_t i = 0; lines && i < la.n; i++) {
        const leaf *other = find(&lb, la.v[i].path, i);
        add_line(lines, out, la.v[i].path, la.v[i].node, other ? other->node : NULL, mem);
    }
    for (size_t i = 0; lines && i < lb.n; i++)
        if (!find(&la, lb.v[i].path, i))
            add_line(lines, out, lb.v[i].path, NULL, lb.v[i].node, mem);
    out->lines = lines;
    jr_free(&da);
    jr_free(&db);
    return e->code;
}

static const char *change_of(const diff_line *l, arena *mem) {
    if (!l->numeric) return l->a && l->b ? "" : l->a ? "only in the first" : "only in the second";
    const char *percent =
        l->va != 0 ? arena_printf(mem, " (%+.2f %%)", 100 * (l->vb / l->va - 1)) : "";
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
            jw_num(o, "change", l->vb - l->va);
            if (l->va != 0) jw_num(o, "change_frac", l->vb / l->va - 1);
        } else {
            jw_str(o, "a", l->a);
            jw_str(o, "b", l->b);
        }
    }
    jw_int(root, "same_n", (int64_t)d->same_n);
    jw_print(root, out);
    cJSON_Delete(root);
}
