#include "roofline_points.h"

#include "base/jsonr.h"

#include <string.h>

enum { POINTS_MAX = 4096, COUNT_MAX = 1 << 30 };
static const double WHOLE_MAX = 9007199254740992; /* 2^53 */

typedef struct named_model {
    const char *name;
    roofline_work work;
} named_model;

static const named_model *read_models(jr root, size_t *n) {
    jr list = jr_need(root, "models");
    *n = jr_len(list);
    named_model *out = ARENA_ARRAY(root.doc->mem, named_model, *n);
    if (!out) {
        jr_fail(list, E_LIMIT, "does not fit the memory budget");
        return NULL;
    }
    for (jr m = {0}; jr_each(list, &m);) {
        jr_keys(m, "name params layers heads kv_heads head_dim");
        out[m.index] = (named_model){
            .name = jr_str(m, "name"),
            .work = {.params = jr_int(m, "params", 1, (int64_t)WHOLE_MAX),
                     .layers = jr_int(m, "layers", 1, COUNT_MAX),
                     .heads = jr_int(m, "heads", 1, COUNT_MAX),
                     .kv_heads = jr_int(m, "kv_heads", 1, COUNT_MAX),
                     .head_dim = jr_int(m, "head_dim", 1, COUNT_MAX)},
        };
    }
    return out;
}

typedef struct reading {
    const hardware_catalogue *chips;
    const named_model *models;
    size_t models_n;
} reading;

static const hardware *read_chip(jr p, const hardware_catalogue *chips) {
    const char *name = jr_str(p, "chip");
    for (size_t i = 0; jr_ok(p) && i < chips->n; i++)
        if (strcmp(chips->chips[i].chip, name) == 0) return &chips->chips[i];
    jr_fail(jr_get(p, "chip"), E_RANGE, "found \"%s\", expected a chip of %s by its whole name",
            name, chips->path);
    return NULL;
}

static roofline_work read_work(jr p, const reading *r, const char **name) {
    *name = jr_str(p, "model");
    for (size_t i = 0; jr_ok(p) && i < r->models_n; i++)
        if (strcmp(r->models[i].name, *name) == 0) return r->models[i].work;
    jr_fail(jr_get(p, "model"), E_RANGE, "found \"%s\", expected one of the models above", *name);
    return (roofline_work){0};
}

static void read_point(jr p, const reading *r, roofline_point *out) {
    jr_keys(p, "chip model quant weights_bytes slopes batch_n context_tok decode_tok_s "
               "prefill_tok depth_tok prefill_tok_s source");
    *out = (roofline_point){.chip = read_chip(p, r->chips),
                            .quant = jr_str(p, "quant"),
                            .source = jr_str(p, "source"),
                            .slopes = jr_bool_or(p, "slopes", false),
                            .batch_n = jr_int_or(p, "batch_n", 1, COUNT_MAX, 1)};
    out->work = read_work(p, r, &out->model);
    out->work.weights_bytes = jr_int(p, "weights_bytes", 1, (int64_t)WHOLE_MAX);
    if (jr_present(jr_get(p, "decode_tok_s"))) {
        out->context_tok = jr_int(p, "context_tok", 0, COUNT_MAX);
        out->decode_s = (double)out->batch_n / jr_pos(p, "decode_tok_s");
    }
    if (jr_present(jr_get(p, "prefill_tok_s"))) {
        out->prefill_tok = jr_int(p, "prefill_tok", 1, COUNT_MAX);
        out->depth_tok = jr_int_or(p, "depth_tok", 0, COUNT_MAX, 0);
        out->prefill_s = (double)out->prefill_tok / jr_pos(p, "prefill_tok_s");
    }
    if (jr_ok(p) && out->decode_s <= 0 && out->prefill_s <= 0)
        jr_fail(p, E_SCHEMA, "found no rate, expected decode_tok_s or prefill_tok_s");
    if (jr_ok(p) && out->chip->mem_bw_bytes_s <= 0)
        jr_fail(p, E_RANGE, "the catalogue has no bandwidth of %s", out->chip->chip);
}

static void read_classes(jr f, roofline_family *out) {
    jr list = jr_get(f, "classes");
    size_t n = jr_len(list);
    if (n > ROOFLINE_CLASSES_MAX) {
        jr_fail(list, E_LIMIT, "found %zu classes, expected at most %d", n, ROOFLINE_CLASSES_MAX);
        return;
    }
    for (jr c = {0}; jr_each(list, &c);) {
        roofline_class *k = &out->classes[c.index];
        jr_keys(c, "name chips");
        k->name = jr_str(c, "name");
        k->chips = jr_str_array(c, "chips", &k->chips_n);
    }
    out->classes_n = n;
}

static void read_family(jr f, const reading *r, roofline_family *out) {
    static const char *const ARITHMETIC[] = {"fp16", "int8", NULL};
    jr_keys(f, "name title chips classes arithmetic points");
    out->name = jr_str(f, "name");
    out->title = jr_str(f, "title");
    out->chips = jr_str_array(f, "chips", &out->chips_n);
    out->arithmetic = (roofline_arithmetic)jr_enum(f, "arithmetic", ARITHMETIC);
    read_classes(f, out);
    jr list = jr_need(f, "points");
    out->n = jr_len(list);
    roofline_point *points =
        out->n <= POINTS_MAX ? ARENA_ARRAY(f.doc->mem, roofline_point, out->n) : NULL;
    if (!points) {
        jr_fail(list, E_LIMIT, "found %zu points, expected at most %d", out->n, POINTS_MAX);
        return;
    }
    for (jr p = {0}; jr_ok(f) && jr_each(list, &p);) read_point(p, r, &points[p.index]);
    out->points = points;
}

err_code roofline_points_load(const char *path, const hardware_catalogue *chips, arena *mem,
                              roofline_points *out, err *e) {
    file_bytes f = {0};
    jr_doc doc = {0};
    *out = (roofline_points){0};
    if (file_read(path, mem, &f, e) || jr_parse(&doc, f.name, f.s, f.len, mem, e)) return e->code;
    jr root = jr_root(&doc);
    jr_schema(root, ROOFLINE_SCHEMA);
    jr_keys(root, "schema models families");
    reading r = {.chips = chips};
    r.models = read_models(root, &r.models_n);
    jr list = jr_need(root, "families");
    size_t n = jr_len(list);
    roofline_family *families = ARENA_ARRAY(mem, roofline_family, n);
    if (!families) jr_fail(list, E_LIMIT, "does not fit the memory budget");
    for (jr i = {0}; !e->code && jr_each(list, &i);) read_family(i, &r, &families[i.index]);
    jr_free(&doc);
    if (!e->code) *out = (roofline_points){.path = f.name, .families = families, .n = n};
    return e->code;
}

bool roofline_in_class(const roofline_class *c, const hardware *chip) {
    for (size_t i = 0; i < c->chips_n; i++)
        if (strstr(chip->chip, c->chips[i])) return true;
    return false;
}

const roofline_family *roofline_family_of(const roofline_points *p, const hardware *chip) {
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->families[i].chips_n; k++) {
            const char *start = p->families[i].chips[k];
            if (strncmp(chip->chip, start, strlen(start)) == 0) return &p->families[i];
        }
    return NULL;
}
