#include "runs.h"

#include <string.h>

bool runs_is_set(const char *const *sets, size_t sets_n, const char *path) {
    size_t n = strlen(path);
    for (size_t i = 0; i < sets_n; i++)
        if (strncmp(sets[i], path, n) == 0 && sets[i][n] == '=') return true;
    return false;
}

err_code runs_read(const file_bytes *f, card_library *lib, const char *const *sets, size_t sets_n,
                   arena *mem, run_set *out, err *e) {
    *out = (run_set){.n = 1};
    if (scenario_parse(f, lib, sets, sets_n, mem, &out->s, e)) return e->code;
    out->sweep = out->s->sweep_path && !runs_is_set(sets, sets_n, out->s->sweep_path);
    if (out->sweep) out->n = out->s->sweep_n;
    return OK;
}

static err_code run_once(const scenario *s, const char *const *only, size_t only_n, arena *mem,
                         sweep_point *out, err *e) {
    rule_result *rules = ARENA_ARRAY(mem, rule_result, RULES_N);
    if (!rules) return err_set(e, E_LIMIT, s->id, "does not fit the memory budget");
    if (project_run(s, only, only_n, mem, &out->p, e)) return e->code;
    invariants_check(out->p, rules);
    out->rules = rules;
    return OK;
}

err_code runs_project(run_set *r, const file_bytes *f, card_library *lib, const char *const *sets,
                      size_t sets_n, const char *const *only, size_t only_n, arena *mem, err *e) {
    sweep_point *points = ARENA_ARRAY(mem, sweep_point, r->n);
    if (!points) return err_set(e, E_LIMIT, r->s->id, "does not fit the memory budget");
    for (size_t i = 0; i < r->n; i++) {
        const scenario *one = r->s;
        if (r->sweep && scenario_parse_point(f, lib, sets, sets_n, r->s, i, mem, &one, e))
            return e->code;
        if (run_once(one, only, only_n, mem, &points[i], e)) return e->code;
    }
    r->points = points;
    return OK;
}
