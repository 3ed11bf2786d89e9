#include "base/file.h"

#include "temp.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[TEMP_MAX];
static arena *mem;

static void set_up(void) {
    temp_folder(dir, "file");
    mem = arena_new(80 * 1024 * 1024);
}

static size_t entries(void) {
    size_t n = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *it; (it = readdir(d));) n += it->d_name[0] != '.';
    closedir(d);
    return n;
}

static const char *in_dir(const char *name) {
    return arena_printf(mem, "%s/%s", dir, name);
}

static void tear_down(void) {
    DIR *d = opendir(dir);
    for (const struct dirent *it; (it = readdir(d));) {
        const char *path = in_dir(it->d_name);
        if (it->d_name[0] != '.' && unlink(path) != 0) rmdir(path);
    }
    closedir(d);
    rmdir(dir);
    arena_free(mem);
}

TestSuite(file, .init = set_up, .fini = tear_down);

static void write_ok(const char *path, const char *s, size_t len) {
    err e = {0};
    cr_assert_eq(file_write(path, s, len, &e), OK, "%s: %s", e.where, e.what);
}

static void holds(const char *path, const char *want, size_t len) {
    err e = {0};
    file_bytes f = {0};
    cr_assert_eq(file_read(path, mem, &f, &e), OK, "%s: %s", e.where, e.what);
    cr_assert_eq(f.len, len);
    cr_assert_eq(memcmp(f.s, want, len), 0);
    cr_assert_eq(f.s[len], '\0', "a NUL stands behind the bytes");
}

/* FIPS 180-4 examples. */
Test(file, sha256_known_answers) {
    static const char ABC[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    static const char NONE[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    static const char TWO[] = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
    char hex[65];
    file_sha256_hex("abc", 3, hex);
    cr_assert_str_eq(hex, ABC);
    file_sha256_hex("", 0, hex);
    cr_assert_str_eq(hex, NONE);
    file_sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
    cr_assert_str_eq(hex, TWO);
}

Test(file, bytes_come_back) {
    static const char BYTES[] = {'a', '\0', '\r', '\n', (char)0xFF, 'z'};
    const char *path = in_dir("x");
    write_ok(path, BYTES, sizeof BYTES);
    holds(path, BYTES, sizeof BYTES);
    write_ok(path, "", 0);
    holds(path, "", 0);
    err e = {0};
    file_bytes f = {0};
    write_ok(path, "abc", 3);
    cr_assert_eq(file_read(path, mem, &f, &e), OK);
    cr_assert_str_eq(f.name, path);
    cr_assert_eq(strncmp(f.sha256, "ba7816bf", 8), 0, "the hash is that of the bytes");
    cr_assert_eq(entries(), 1, "no temporary file is left");
}

Test(file, mode_is_that_of_any_new_file) {
    struct stat st;
    mode_t old = umask(027);
    write_ok(in_dir("m"), "x", 1);
    umask(old);
    cr_assert_eq(stat(in_dir("m"), &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0640);
}

Test(file, missing_file) {
    err e = {0};
    file_bytes f = {0};
    cr_assert_eq(file_read(in_dir("missing"), mem, &f, &e), E_IO);
    cr_assert_str_eq(e.where, in_dir("missing"));
    cr_assert_not_null(strstr(e.what, "No such file"), "%s", e.what);
}

Test(file, directory_is_no_file) {
    err e = {0};
    file_bytes f = {0};
    cr_assert_eq(file_read(dir, mem, &f, &e), E_IO);
    cr_assert_not_null(strstr(e.what, "directory"), "%s", e.what);
}

Test(file, size_limit) {
    const char *path = in_dir("big");
    int fd = open(path, O_WRONLY | O_CREAT, 0600); /* sparse: takes no disk */
    cr_assert_eq(ftruncate(fd, (off_t)FILE_MAX_BYTES + 1), 0);
    err e = {0};
    file_bytes f = {0};
    cr_assert_eq(file_read(path, mem, &f, &e), E_LIMIT);
    cr_assert_not_null(strstr(e.what, "64 MiB"), "%s", e.what);
    cr_assert_eq(ftruncate(fd, FILE_MAX_BYTES), 0);
    close(fd);
    err ok = {0};
    cr_assert_eq(file_read(path, mem, &f, &ok), OK, "the limit itself is allowed: %s", ok.what);
    cr_assert_eq(f.len, FILE_MAX_BYTES);
}

Test(file, over_the_memory_budget) {
    static char text[5000];
    memset(text, 'x', sizeof text);
    write_ok(in_dir("t"), text, sizeof text);
    arena *tiny = arena_new(1024);
    err e = {0};
    file_bytes f = {0};
    cr_assert_eq(file_read(in_dir("t"), tiny, &f, &e), E_LIMIT);
    arena_free(tiny);
}

Test(file, dash_reads_standard_input) {
    write_ok(in_dir("in"), "from stdin", 10);
    int fd = open(in_dir("in"), O_RDONLY);
    cr_assert_eq(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    err e = {0};
    file_bytes f = {0};
    cr_assert_eq(file_read("-", mem, &f, &e), OK);
    cr_assert_str_eq(f.name, "<stdin>");
    cr_assert_str_eq(f.s, "from stdin");
    close(fd);
}

/* A file size limit stands in for a full disk: the write fails half-way. */
Test(file, failed_write_keeps_the_good_file) {
    static char big[1 << 16];
    memset(big, 'b', sizeof big);
    const char *path = in_dir("result.json");
    write_ok(path, "good", 4);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit was, small;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = (struct rlimit){4096, was.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    err e = {0};
    err_code code = file_write(path, big, sizeof big, &e);
    setrlimit(RLIMIT_FSIZE, &was);
    cr_assert_eq(code, E_IO);
    cr_assert_str_eq(e.where, path);
    cr_assert_not_null(strstr(e.what, "File too large"), "the reason is told: %s", e.what);
    holds(path, "good", 4);
    cr_assert_eq(entries(), 1, "the half-written temporary file is gone");
}

Test(file, write_over_a_folder_fails_and_leaves_nothing) {
    err e = {0};
    cr_assert_eq(mkdir(in_dir("sub"), 0700), 0);
    cr_assert_eq(file_write(in_dir("sub"), "x", 1, &e), E_IO);
    cr_assert_eq(entries(), 1);
}

Test(file, write_into_a_missing_folder_fails) {
    err e = {0};
    cr_assert_eq(file_write(in_dir("no/such/out.json"), "x", 1, &e), E_IO);
    cr_assert_str_eq(e.where, in_dir("no/such/out.json"));
    cr_assert_eq(entries(), 0);
}

/* A device must not be replaced by a file. */
Test(file, device_is_written_not_replaced) {
    struct stat st;
    write_ok("/dev/null", "x", 1);
    cr_assert_eq(stat("/dev/null", &st), 0);
    cr_assert(S_ISCHR(st.st_mode));
}

/* In a suite of its own, since a skipped test has no .fini. */
Test(file_device, full) {
    if (access("/dev/full", W_OK) != 0) cr_skip_test("no /dev/full here");
    err e = {0};
    cr_assert_eq(file_write("/dev/full", "x", 1, &e), E_IO);
}

Test(file, same_file_by_any_name) {
    write_ok(in_dir("a"), "x", 1);
    write_ok(in_dir("b"), "x", 1);
    cr_assert_eq(link(in_dir("a"), in_dir("hard")), 0);
    cr_assert_eq(symlink("a", in_dir("soft")), 0);
    cr_assert(file_same(in_dir("a"), in_dir("a")));
    cr_assert(file_same(in_dir("a"), in_dir("hard")));
    cr_assert(file_same(in_dir("a"), in_dir("./soft")));
    cr_assert_not(file_same(in_dir("a"), in_dir("b")), "equal content is not one file");
    cr_assert_not(file_same(in_dir("none"), in_dir("none")),
                  "a file that does not exist is no file");
}
