/* Folders and files of a test, below TMPDIR: tests/run.sh looks there for what tests leave behind.
 * A test that may be skipped makes none in its .init: a skipped test has no .fini. */
#ifndef RATECAST_TESTS_TEMP_H
#define RATECAST_TESTS_TEMP_H

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEMP_MAX = 256 };

static inline void temp_name(char path[TEMP_MAX], const char *what) {
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(path, TEMP_MAX, "%s/ratecast-%s-XXXXXX", tmp && *tmp ? tmp : "/tmp", what);
    cr_assert_lt(n, (int)TEMP_MAX, "TMPDIR is too long a name");
}

static inline void temp_folder(char path[TEMP_MAX], const char *what) {
    temp_name(path, what);
    cr_assert_not_null(mkdtemp(path));
}

static inline int temp_remove_one(const char *path, const struct stat *st, int kind,
                                  struct FTW *at) {
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* With all that is in it. */
static inline void temp_remove(const char *path) {
    cr_assert_eq(nftw(path, temp_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0, "%s stays", path);
}

#endif
