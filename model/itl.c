#include "itl.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 256 };

err_code itl_list_add(itl_list *l, int64_t gap_ns, int64_t n, const char *where, err *e) {
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : FIRST_CAP;
        itl_run *grown = realloc(l->v, cap * sizeof *grown);
        if (!grown) return err_set(e, E_NOMEM, where, "out of memory");
        l->v = grown;
        l->cap = cap;
    }
    l->v[l->n++] = (itl_run){gap_ns, n};
    return OK;
}

const itl_run *itl_list_copy(const itl_list *l, arena *mem) {
    itl_run *v = ARENA_ARRAY(mem, itl_run, l->n);
    if (v && l->n) memcpy(v, l->v, l->n * sizeof *v);
    return v;
}

void itl_list_free(itl_list *l) {
    free(l->v);
    *l = (itl_list){0};
}
