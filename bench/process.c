#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static const long POLL_NS = 50000000, SOON_NS = 2000000;
static const double GRACE_S = 3;

double process_clock_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- signals to this program ---- */

static volatile sig_atomic_t caught;

static void remember(int sig) {
    if (!caught) caught = sig;
}

void process_catch_signals(void) {
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction a = {.sa_handler = remember};
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++) {
        struct sigaction before;
        bool nohup = SIGNALS[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 &&
                     before.sa_handler == SIG_IGN;
        if (!nohup) sigaction(SIGNALS[i], &a, NULL);
    }
}

int process_caught(void) {
    return caught;
}

/* ---- the child ---- */

/* It starts with no signal blocked and none ignored, whatever this program does with them. */
static int set_attributes(posix_spawnattr_t *a) {
    static const int DEFAULTS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (size_t i = 0; i < sizeof DEFAULTS / sizeof *DEFAULTS; i++)
        sigaddset(&defaults, DEFAULTS[i]);
    int why = posix_spawnattr_setpgroup(a, 0);
    if (!why) why = posix_spawnattr_setsigmask(a, &none);
    if (!why) why = posix_spawnattr_setsigdefault(a, &defaults);
    if (!why)
        why = posix_spawnattr_setflags(a, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    return why;
}

static int set_files(posix_spawn_file_actions_t *f, const process_call *c) {
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    bool same = strcmp(c->stdout_path, c->stderr_path) == 0;
    int why = posix_spawn_file_actions_addopen(f, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!why) why = posix_spawn_file_actions_addopen(f, STDOUT_FILENO, c->stdout_path, flags, 0666);
    if (!why)
        why = same
                  ? posix_spawn_file_actions_adddup2(f, STDOUT_FILENO, STDERR_FILENO)
                  : posix_spawn_file_actions_addopen(f, STDERR_FILENO, c->stderr_path, flags, 0666);
    return why;
}

/* posix_spawn takes pointers to non-const texts and promises not to write them. */
static char **argv_copy(const char *const *argv) {
    size_t n = 0;
    while (argv[n]) n++;
    char **copy = malloc((n + 1) * sizeof *copy);
    if (copy) memcpy(copy, argv, (n + 1) * sizeof *copy);
    return copy;
}

static int start(const process_call *c, pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    char **argv = argv_copy(c->argv);
    int why = argv ? posix_spawn_file_actions_init(&files) : ENOMEM;
    if (!why) {
        why = posix_spawnattr_init(&attributes);
        if (!why) {
            why = set_files(&files, c);
            if (!why) why = set_attributes(&attributes);
            if (!why) why = posix_spawnp(pid, argv[0], &files, &attributes, argv, environ);
            posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&files);
    }
    free(argv);
    return why;
}

/* Has it ended? It is left a zombie, so that its id and its group cannot be anybody else's yet. */
static bool ended(pid_t pid) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    int got = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return got != 0 ? errno != EINTR : info.si_pid == pid;
}

/* Most answers come at once or take long. */
static void nap(double elapsed_s) {
    nanosleep(&(struct timespec){.tv_nsec = elapsed_s < 0.2 ? SOON_NS : POLL_NS}, NULL);
}

static void end_group(pid_t pid, double grace_s) {
    double begin = process_clock_s();
    kill(-pid, SIGTERM);
    while (!ended(pid) && process_clock_s() - begin < grace_s) nap(process_clock_s() - begin);
}

err_code process_run(const process_call *c, process_result *out, err *e) {
    pid_t pid = 0;
    int status = 0;
    double begin = process_clock_s(), elapsed = 0;
    *out = (process_result){.end = PROCESS_EXITED};
    int why = start(c, &pid);
    if (why) return err_set(e, E_EXTERN, c->argv[0], "cannot be started: %s", strerror(why));
    while (!ended(pid)) {
        elapsed = process_clock_s() - begin;
        if (c->tick && !c->tick(elapsed, c->arg))
            out->end = PROCESS_STOPPED;
        else if (elapsed > c->timeout_s)
            out->end = PROCESS_TIMED_OUT;
        if (out->end != PROCESS_EXITED) {
            end_group(pid, c->grace_s > 0 ? c->grace_s : GRACE_S);
            break;
        }
        nap(elapsed);
    }
    kill(-pid, SIGKILL); /* what it has left running, and itself when it would not end */
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_set(e, E_EXTERN, c->argv[0], "cannot be waited for: %s", strerror(errno));
    out->wall_s = process_clock_s() - begin;
    if (out->end != PROCESS_EXITED) return OK;
    out->end = WIFEXITED(status) ? PROCESS_EXITED : PROCESS_KILLED;
    out->code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    return OK;
}

/* ---- names and words ---- */

static bool is_program(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *process_find(const char *name, arena *mem) {
    if (strchr(name, '/')) return is_program(name) ? name : NULL;
    const char *path = getenv("PATH");
    for (const char *p = path ? path : ""; *p;) {
        size_t n = strcspn(p, ":");
        const char *full =
            n ? arena_printf(mem, "%.*s/%s", (int)n, p, name) : arena_printf(mem, "./%s", name);
        if (full && is_program(full)) return full;
        p += n + (p[n] == ':');
    }
    return NULL;
}
