#include "base/arena.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

enum { MIB = 1024 * 1024 };

/* Lets a refused allocation return NULL under AddressSanitizer too, as the system's malloc does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

Test(arena, memory_is_zeroed_and_aligned_for_any_type) {
    arena *a = arena_new(8 * MIB);
    for (size_t size = 1; size < 3000; size += 7) {
        unsigned char *p = arena_alloc(a, 1, size);
        cr_assert_not_null(p);
        cr_assert_eq((uintptr_t)p % _Alignof(max_align_t), 0, "size %zu", size);
        for (size_t i = 0; i < size; i++) cr_assert_eq(p[i], 0, "size %zu byte %zu", size, i);
        memset(p, 0xAA, size); /* the next block must not see this */
    }
    arena_free(a);
}

/* Blocks of all sizes, larger than any chunk too, each filled with its own byte: no two may
 * overlap. */
Test(arena, blocks_do_not_overlap) {
    enum { N = 60 };
    unsigned char *p[N];
    size_t size[N];
    arena *a = arena_new(64 * MIB);
    for (size_t i = 0; i < N; i++) {
        size[i] = (i * 7919 + 1) % 200000;
        p[i] = arena_alloc(a, size[i] + 1, 1);
        cr_assert_not_null(p[i]);
        memset(p[i], (int)i, size[i] + 1);
    }
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= size[i]; j++) cr_assert_eq(p[i][j], i, "block %zu byte %zu", i, j);
    arena_free(a);
}

Test(arena, budget_is_a_hard_limit) {
    arena *a = arena_new(1024);
    cr_assert_null(arena_alloc(a, 1025, 1), "more than everything");
    size_t got = 0;
    while (arena_alloc(a, 1, 64)) got += 64;
    cr_assert_eq(got, 1024, "all of the budget can be used, and no more");
    cr_assert_leq(arena_used(a), 1024);
    cr_assert_null(arena_alloc(a, 1, 1));
    arena_free(a);
}

Test(arena, budget_counts_padding) {
    arena *a = arena_new(64);
    size_t n = 0;
    while (arena_alloc(a, 1, 1)) n++;
    cr_assert_leq(n * _Alignof(max_align_t), 64, "%zu one-byte blocks in 64 bytes", n);
    arena_free(a);
}

/* A refusal leaves the arena usable: a smaller request still fits. */
Test(arena, refusal_changes_nothing) {
    arena *a = arena_new(4096);
    cr_assert_not_null(arena_alloc(a, 1, 100));
    size_t used = arena_used(a);
    cr_assert_null(arena_alloc(a, 1, 1 << 20));
    cr_assert_eq(arena_used(a), used);
    cr_assert_not_null(arena_alloc(a, 1, 1000));
    arena_free(a);
}

Test(arena, overflow_gives_null) {
    arena *a = arena_new(SIZE_MAX);
    cr_assert_null(arena_alloc(a, SIZE_MAX, 2));
    cr_assert_null(arena_alloc(a, SIZE_MAX / 2 + 1, 2));
    cr_assert_null(arena_alloc(a, SIZE_MAX, 1), "rounding up to the alignment must not wrap");
    cr_assert_null(arena_alloc(a, SIZE_MAX - 8, 1));
    cr_assert_null(arena_alloc(a, SIZE_MAX - 64, 1), "nor may the chunk's own header");
    arena_free(a);
}

Test(arena, nothing_asked_gives_a_pointer) {
    arena *a = arena_new(1024);
    cr_assert_not_null(arena_alloc(a, 0, 8));
    cr_assert_not_null(arena_alloc(a, 8, 0));
    arena_free(a);
}

Test(arena, strings) {
    arena *a = arena_new(MIB);
    char text[] = "delta_first";
    char *s = arena_strdup(a, text);
    text[0] = 'X';
    cr_assert_str_eq(s, "delta_first", "a copy, not the caller's bytes");
    cr_assert_str_eq(arena_strdup(a, ""), "");
    cr_assert_str_eq(arena_printf(a, "%s/%d", "dir", 42), "dir/42");
    arena_free(a);
}

Test(arena, strings_over_budget_are_null) {
    arena *a = arena_new(32);
    cr_assert_null(arena_strdup(a, "a string that is longer than thirty-two bytes"));
    cr_assert_null(arena_printf(a, "%0100d", 1));
    cr_assert_not_null(arena_strdup(a, "short"));
    arena_free(a);
}

Test(arena, typed_macros) {
    arena *a = arena_new(MIB);
    int64_t *one = ARENA_NEW(a, int64_t), *many = ARENA_ARRAY(a, int64_t, 1000);
    cr_assert(one && many);
    cr_assert_eq(*one, 0);
    cr_assert_eq(many[999], 0);
    cr_assert_geq(arena_used(a), 1001 * sizeof(int64_t));
    arena_free(a);
}
