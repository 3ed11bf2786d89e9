#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, CHUNK_BYTES = 64 * 1024 };

typedef struct chunk {
    struct chunk *next;
    size_t cap, used;
    _Alignas(ALIGN) unsigned char bytes[];
} chunk;

struct arena {
    chunk *head;
    size_t budget, used;
};

arena *arena_new(size_t budget_bytes) {
    arena *a = calloc(1, sizeof *a);
    if (a) a->budget = budget_bytes;
    return a;
}

void arena_free(arena *a) {
    if (!a) return;
    for (chunk *c = a->head; c;) {
        chunk *next = c->next;
        free(c);
        c = next;
    }
    free(a);
}

void arena_reset(arena *a) {
    chunk *kept = NULL;
    for (chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        if (!kept && c->cap == CHUNK_BYTES)
            kept = c;
        else
            free(c);
    }
    if (kept) {
        memset(kept->bytes, 0, kept->used);
        kept->used = 0;
        kept->next = NULL;
    }
    a->head = kept;
    a->used = 0;
}

void *arena_alloc(arena *a, size_t n, size_t size) {
    size_t want;
    if (__builtin_mul_overflow(n, size, &want)) return NULL;
    if (want > SIZE_MAX - 2 * ALIGN) return NULL;
    want = want ? (want + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
    if (want > a->budget - a->used) return NULL;
    if (!a->head || a->head->cap - a->head->used < want) {
        size_t cap = want > CHUNK_BYTES ? want : CHUNK_BYTES;
        if (cap > SIZE_MAX - sizeof(chunk)) return NULL;
        chunk *c = calloc(1, sizeof *c + cap);
        if (!c) return NULL;
        c->cap = cap;
        c->next = a->head;
        a->head = c;
    }
    void *p = a->head->bytes + a->head->used;
    a->head->used += want;
    a->used += want;
    return p;
}

void arena_give_back(arena *a, void *block) {
    for (chunk **at = &a->head; *at; at = &(*at)->next) {
        chunk *c = *at;
        if (c->cap <= CHUNK_BYTES || c->bytes != (unsigned char *)block) continue;
        *at = c->next;
        free(c);
        return;
    }
}

char *arena_strdup(arena *a, const char *s) {
    size_t n = strlen(s) + 1;
    char *p = arena_alloc(a, n, 1);
    if (p) memcpy(p, s, n);
    return p;
}

char *arena_printf(arena *a, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1, 1);
    if (p) vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

size_t arena_used(const arena *a) {
    return a->used;
}
