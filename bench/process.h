/* One child process at a time: its output into files, a time limit, and nothing left behind.
 *
 * The child is the leader of a process group of its own, so that Ctrl-C reaches this program alone
 * and whatever the child has started ends with it. Standard input is /dev/null. */
#ifndef RATECAST_BENCH_PROCESS_H
#define RATECAST_BENCH_PROCESS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

typedef enum process_end {
    PROCESS_EXITED,    /* by itself, with an exit code */
    PROCESS_KILLED,    /* by a signal that was not sent from here */
    PROCESS_TIMED_OUT, /* ended from here after timeout_s */
    PROCESS_STOPPED    /* ended from here because `tick` said so */
} process_end;

typedef struct process_call {
    const char *const *argv; /* NULL-terminated; argv[0] without a '/' is looked for in PATH */
    const char *stdout_path, *stderr_path; /* created or emptied; the same path for both is fine */
    double timeout_s;                      /* > 0 */
    double grace_s; /* between SIGTERM and SIGKILL to the whole group; 0: 3 s */
    bool (*tick)(double elapsed_s,
                 void *arg); /* about 20 times a second; false stops; may be NULL */
    void *arg;
} process_call;

typedef struct process_result {
    process_end end;
    int code; /* exit code, or the signal of PROCESS_KILLED */
    double wall_s;
} process_result;

/* Runs it to its end. E_EXTERN: cannot be started (not there, not executable, no process left);
 * an unsuccessful end is a result, no error. */
MUST_USE err_code process_run(const process_call *c, process_result *out, err *e);

/* The file that a program name stands for: itself when it holds a '/', else the first executable
 * in PATH. NULL: none. */
const char *process_find(const char *name, arena *mem);

/* From now on SIGINT, SIGTERM and SIGHUP (not under nohup) are remembered instead of ending the
 * program. */
void process_catch_signals(void);
/* The first of them that came; 0: none yet. */
int process_caught(void);

/* Seconds of a clock that only runs forward. */
double process_clock_s(void);

#endif
