#include "plots/plot.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ENDING_LEN = 4 };

/* What one picture needs for a while: a folder beside the target with the table, the picture and
 * what gnuplot says. */
typedef struct workplace {
    char *folder, *data, *picture, *log;
} workplace;

static const char *ending(const char *path) {
    size_t n = strlen(path);
    const char *end = n > ENDING_LEN ? path + n - ENDING_LEN : "";
    return strcmp(end, ".svg") == 0 || strcmp(end, ".png") == 0 ? end : NULL;
}

err_code plot_check_path(const char *option, const char *path, err *e) {
    if (ending(path)) return OK;
    return err_set(e, E_USAGE, option, "found \"%s\", expected a file name in .svg or .png", path);
}

static char *joined(const char *a, const char *b, const char *c) {
    size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
    char *s = malloc(n);
    if (s) snprintf(s, n, "%s%s%s", a, b, c);
    return s;
}

/* gnuplot takes a name that begins with '<' or '|' for a command: relative names get "./". */
static bool open_workplace(const char *path, workplace *w, err *e) {
    *w = (workplace){.folder = joined(path[0] == '/' ? "" : "./", path, ".XXXXXX")};
    if (w->folder && !mkdtemp(w->folder)) {
        err_set(e, E_IO, path, "cannot be written: %s", strerror(errno));
        free(w->folder);
        w->folder = NULL;
        return false;
    }
    if (w->folder) {
        w->data = joined(w->folder, "/data.tsv", "");
        w->picture = joined(w->folder, "/picture", ending(path));
        w->log = joined(w->folder, "/gnuplot.log", "");
    }
    bool all = w->data && w->picture && w->log;
    if (!all) err_set(e, E_NOMEM, path, "out of memory");
    return all;
}

static void close_workplace(workplace *w) {
    char *const files[] = {w->data, w->picture, w->log};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i]) unlink(files[i]);
        free(files[i]);
    }
    if (w->folder) rmdir(w->folder);
    free(w->folder);
}

/* The environment with LC_ALL=C.UTF-8: under plain C gnuplot warns about its own encoding, under
 * others the decimal point may be a comma. Release with free. */
static char **utf8_environment(void) {
    static char utf8[] = "LC_ALL=C.UTF-8";
    size_t n = 0, m = 0;
    while (environ[n]) n++;
    char **env = malloc((n + 2) * sizeof *env);
    if (!env) return NULL;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "LC_ALL=", 7) != 0) env[m++] = environ[i];
    env[m++] = utf8;
    env[m] = NULL;
    return env;
}

/* The last line that gnuplot printed that is not empty; "" when it was silent. */
static void last_line(const char *log, char *out, size_t cap) {
    char line[512];
    out[0] = '\0';
    FILE *f = fopen(log, "r");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = '\0';
        const char *text = line + strspn(line, " \t");
        if (*text) snprintf(out, cap, "%s", text);
    }
    fclose(f);
}

static err_code not_there(err *e) {
    return err_set(e, E_EXTERN, "gnuplot",
                   "not found, and a picture needs it: `apt-get install gnuplot-nox` or `brew "
                   "install gnuplot`");
}

static err_code judge(int status, const workplace *w, err *e) {
    char said[256];
    struct stat st;
    last_line(w->log, said, sizeof said);
    bool exited = WIFEXITED(status);
    if (exited && WEXITSTATUS(status) == 127) return not_there(e); /* what some C libraries do */
    if (!exited)
        return err_set(e, E_EXTERN, "gnuplot", "ended by signal %d %s", WTERMSIG(status), said);
    if (WEXITSTATUS(status) != 0)
        return err_set(e, E_EXTERN, "gnuplot", "exit code %d: %s", WEXITSTATUS(status), said);
    if (said[0]) return err_set(e, E_EXTERN, "gnuplot", "%s", said);
    if (stat(w->picture, &st) != 0 || st.st_size == 0)
        return err_set(e, E_EXTERN, "gnuplot", "no picture was drawn");
    return OK;
}

static err_code run_gnuplot(const char *script, const workplace *w, err *e) {
    char *argv[] = {(char[]){"gnuplot"},
                    (char[]){"-d"},
                    (char[]){"-c"},
                    joined(script, "", ""),
                    w->data,
                    w->picture,
                    NULL};
    char **env = utf8_environment();
    posix_spawn_file_actions_t files;
    pid_t pid = 0;
    int status = 0, why = ENOMEM;
    if (env && argv[3] && (why = posix_spawn_file_actions_init(&files)) == 0) {
        why = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (why == 0)
            why = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, w->log,
                                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (why == 0) why = posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
        if (why == 0) why = posix_spawnp(&pid, argv[0], &files, NULL, argv, env);
        posix_spawn_file_actions_destroy(&files);
    }
    free(env);
    free(argv[3]);
    if (why == ENOENT) return not_there(e);
    if (why) return err_set(e, E_EXTERN, "gnuplot", "cannot be started: %s", strerror(why));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_set(e, E_EXTERN, "gnuplot", "cannot be waited for: %s", strerror(errno));
    return judge(status, w, e);
}

err_code plot_run(const char *script, const char *tsv, size_t len, const char *path, err *e) {
    workplace w = {0};
    if (plot_check_path("--plot", path, e)) return e->code;
    if (open_workplace(path, &w, e) && file_write(w.data, tsv, len, e) == OK &&
        run_gnuplot(script, &w, e) == OK && rename(w.picture, path) != 0)
        err_set(e, E_IO, path, "cannot be written: %s", strerror(errno));
    close_workplace(&w);
    return e->code;
}
