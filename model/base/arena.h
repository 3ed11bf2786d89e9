/* Bump allocator with a byte budget.
 *
 * One arena per loaded set of inputs and one per run; everything in it is freed at once by
 * `arena_free`. A hostile input hits the budget and gets NULL instead of taking the machine down.
 * Memory is zeroed. Not thread-safe: one thread, one arena.
 */
#ifndef RATECAST_ARENA_H
#define RATECAST_ARENA_H

#include <stddef.h>

typedef struct arena arena;

/* NULL when the system has no memory. `budget_bytes` counts what is asked for, padding included. */
arena *arena_new(size_t budget_bytes);
void arena_free(arena *a);

/* Forgets everything in it; one chunk stays, so that the next use costs no allocation. Its whole
 * budget is free again. */
void arena_reset(arena *a);

/* n objects of `size` bytes, zeroed and aligned for any type; NULL when n*size overflows, the
 * budget is spent or the system has no memory. n = 0 gives a valid pointer that may not be read. */
void *arena_alloc(arena *a, size_t n, size_t size);
/* Frees one block early when it is larger than a chunk of the arena (64 KiB), and does nothing
 * otherwise: for arrays that were outgrown. Its budget stays spent. */
void arena_give_back(arena *a, void *block);
char *arena_strdup(arena *a, const char *s);
/* printf into the arena; NULL as above. */
char *arena_printf(arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
size_t arena_used(const arena *a);

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), 1, sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_alloc((a), (size_t)(n), sizeof(type)))

#endif
