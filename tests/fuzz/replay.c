/* Without a fuzzer: runs a target over every file of a folder, so that the seeds are a test with
 * any compiler. */
#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    size_t n = 0;
    for (const struct dirent *it; dir && (it = readdir(dir));) {
        if (it->d_name[0] == '.') continue;
        arena *mem = arena_new(2 * (size_t)FILE_MAX_BYTES);
        file_bytes f = {0};
        err e = {0};
        if (file_read(arena_printf(mem, "%s/%s", argv[1], it->d_name), mem, &f, &e)) {
            fprintf(stderr, "%s: %s\n", e.where, e.what);
            return 1;
        }
        LLVMFuzzerTestOneInput((const uint8_t *)f.s, f.len);
        n++;
        arena_free(mem);
    }
    if (dir) closedir(dir);
    printf("%zu inputs replayed\n", n);
    return n == 0;
}
