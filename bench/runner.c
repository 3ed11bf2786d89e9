#include "runner.h"

#include "machine.h"
#include "plan_file.h"
#include "process.h"

#include "base/file.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const RUN_STATES[] = {"pending", "done", "failed", "left_out", NULL};

/* A command may take this many times its estimate, which is coarse, and a quarter of the budget
 * even where the estimate is small; all together one and a half budgets. */
static const double SLOW = 4, SHARE = 0.25, OVERRUN = 1.5;

err_code runner_tool_missing(const char *tool, const char *option, err *e) {
    return err_set(
        e, E_EXTERN, tool,
        "not found. `brew install llama.cpp` (macOS, Linux), `apt-get install llama.cpp` "
        "where the distribution has it, or from source: `git clone "
        "https://github.com/ggml-org/llama.cpp && cd llama.cpp && cmake -B build && "
        "cmake --build build -t llama-bench llama-batched-bench` (NVIDIA: cmake "
        "-DGGML_CUDA=ON); then put it in PATH or say %s FILE",
        option);
}

/* ---- what a command has printed ---- */

static bool is_cell(const run_step *s, const grid_cell *c, const import_row *r) {
    if (s->command.tool == GRID_BATCHED)
        return r->phase == IMPORT_DECODE && r->n_prompt == c->prompt_tok &&
               r->n_gen == c->gen_tok && r->batch_n == c->batch_n;
    return r->n_prompt == c->prompt_tok && r->n_gen == c->gen_tok && r->depth_tok == c->depth_tok;
}

/* Each row answers one request; the tools leave out cells that do not fit without a word. */
static err_code compare_cells(run_plan *p, run_step *s, const import *in, err *e) {
    bool *used = ARENA_ARRAY(p->mem, bool, in->rows_n);
    s->missing = ARENA_ARRAY(p->mem, const grid_cell *, s->command.cells_n);
    s->missing_n = s->returned_n = 0;
    if (!used || !s->missing) return plan_no_memory(e);
    for (size_t c = 0; c < s->command.cells_n; c++) {
        size_t i = 0;
        while (i < in->rows_n && (used[i] || !is_cell(s, &s->command.cells[c], &in->rows[i]))) i++;
        if (i < in->rows_n) {
            used[i] = true;
            s->returned_n++;
        } else {
            s->missing[s->missing_n++] = &s->command.cells[c];
        }
    }
    return OK;
}

static bool has_text(const char *path) {
    struct stat st;
    return path && stat(path, &st) == 0 && st.st_size > 0;
}

static const char *format_of(const run_step *s) {
    return s->command.tool == GRID_BATCHED ? "batched_bench_jsonl" : "llama_bench_jsonl";
}

/* Rows of one step and which of its cells they are. *in is usable even where a line is faulty. */
static err_code read_step(run_plan *p, run_step *s, import *in, err *e) {
    const char *path = plan_path(p, s->command.name, ".jsonl");
    *in = import_new(p->mem, e);
    if (has_text(path) && import_add_path(in, path, format_of(s))) return e->code;
    return compare_cells(p, s, in, e);
}

/* Speeds of `start`, which price the rest. */
static err_code read_speed(const run_plan *p, const import *in, grid_speed *out, err *e) {
    const char *where = plan_path(p, "start", ".jsonl");
    *out = (grid_speed){0};
    for (size_t i = 0; i < in->rows_n; i++) {
        const import_row *r = &in->rows[i];
        if (r->refused || r->samples_n == 0) continue;
        double s = card_warm_sample_s(r->samples_s, r->samples_n);
        if (r->phase == IMPORT_PREFILL) out->prefill_tok_s = (double)r->n_prompt / s;
        if (r->phase == IMPORT_DECODE) out->step_s = s / (double)r->n_gen;
    }
    if (!(out->prefill_tok_s > 0) || !(out->step_s > 0) || !isfinite(out->prefill_tok_s))
        return err_set(e, E_EXTERN, where ? where : "start", "holds no %s that can be used%s%s",
                       out->prefill_tok_s > 0 ? "decode" : "prompt", in->errors.n ? ": " : "",
                       in->errors.n ? in->errors.v[0].what : "");
    return OK;
}

/* ---- the steps ---- */

static err_code make_steps(run_plan *p, const grid_speed *speed, err *e) {
    const run_request *r = p->asked;
    if (grid_make(&r->want, &r->model, speed, r->time_s, p->memory_bytes, p->mem, &p->grid, e))
        return e->code;
    p->steps = ARENA_ARRAY(p->mem, run_step, p->grid.n);
    if (!p->steps) return plan_no_memory(e);
    for (size_t i = 0; i < p->grid.n; i++) p->steps[i] = (run_step){.command = p->grid.commands[i]};
    return OK;
}

/* A step is done if it was, by the same command line, and its output is still there. */
static err_code take_over(run_plan *p, run_step *s, const saved_plan *old, err *e) {
import in;
    buf line;
    buf_init(&line);
    grid_command_line(&s->command, &line);
    for (size_t i = 0; i < old->n && !e->code; i++) {
        const saved_step *o = &old->steps[i];
        if (strcmp(o->name, s->command.name) != 0 || strcmp(o->command, line.s) != 0) continue;
        if (o->state == RUN_DONE && has_text(plan_path(p, o->name, ".jsonl"))) {
            p->used_s += o->wall_s;
            s->wall_s = o->wall_s;
            s->state = RUN_DONE;
            (void)read_step(p, s, &in, e);
        }
    }
    buf_done(&line);
    return e->code;
}

/* All steps, once the speeds are known; `start` keeps what it has. */
static err_code plan_rest(run_plan *p, const saved_plan *old, err *e) {
import in;
    grid_speed speed;
    run_step start = p->steps[0];
    if (read_step(p, &start, &in, e) || read_speed(p, &in, &speed, e) || make_steps(p, &speed, e))
        return e->code;
    start.command = p->steps[0].command;
    p->steps[0] = start;
    p->n = p->grid.n;
    for (size_t i = 1; i < p->n; i++)
        if (take_over(p, &p->steps[i], old, e)) return e->code;
    return OK;
}

static err_code find_memory(run_plan *p, err *e) {
    machine_memory m = {p->asked->memory_bytes, "--memory-gib", 0};
    if (m.bytes == 0)
        m = machine_memory_ask(p->asked->want.bench, p->asked->folder,
                               p->asked->model.weights_bytes, p->mem);
    p->memory_bytes = m.bytes;
    p->memory_source = m.source;
    p->memory_guessed = m.guessed;
    p->conditions = p->asked->conditions;
    if (!p->conditions) p->conditions = machine_conditions(p->asked->folder, p->mem);
    return p->memory_source && p->conditions ? OK : plan_no_memory(e);
}

void runner_close(run_plan *p) {
    if (p->lock >= 0) close(p->lock);
    p->lock = -1;
}

/* An output of `start` that is there, but damaged, is measured again. */
static err_code plan_known(run_plan *p, const saved_plan *old, err *e) {
    err why = {0};
    if (plan_rest(p, old, &why) != E_EXTERN)
        return why.code ? err_set(e, why.code, why.where, "%s", why.what) : OK;
    p->steps[0].state = RUN_PENDING;
    p->n = 1;
    return OK;
}

err_code runner_open(const run_request *r, arena *mem, run_plan *out, err *e) {
    saved_plan old = {0};
    *out = (run_plan){.asked = r, .mem = mem, .lock = -1};
    if (mkdir(r->folder, 0777) != 0 && errno != EEXIST)
        return err_set(e, E_IO, r->folder, "cannot be made: %s", strerror(errno));
    if (plan_lock(out, e) || plan_load(out, &old, e)) return e->code;
    if (!old.there && find_memory(out, e)) return e->code;
    grid_speed guess = grid_speed_guess(&r->model);
    if (make_steps(out, &guess, e)) return e->code;
    out->n = 1;
    out->grid.lost_n = 0; /* guesses until `start` is measured */
    if (take_over(out, &out->steps[0], &old, e)) return e->code;
    if (out->steps[0].state == RUN_DONE && plan_known(out, &old, e)) return e->code;
    return plan_save(out, e);
}

/* ---- running ---- */

typedef struct ticker {
    const run_plan *p;
    const run_watch *w;
    size_t i;
} ticker;

static bool tick(double elapsed_s, void *arg) {
    const ticker *t = arg;
    return !t->w->tick || t->w->tick(t->p, t->i, elapsed_s, t->w->arg);
}

static double limit_s(const run_plan *p, const run_step *s) {
    double budget = p->asked->time_s, left = OVERRUN * budget - p->used_s;
    double own = SLOW * s->command.estimate_s;
    if (own < SHARE * budget) own = SHARE * budget;
    bool first = s == &p->steps[0]; /* its estimate is a guess */
    double most = first || left < own ? left : own;
    return most > 1 ? most : 1;
}

/* The last line of a text file that is not empty. */
static void last_line(const char *path, char *out, size_t cap) {
    char line[512];
    out[0] = '\0';
    FILE *f = path ? fopen(path, "r") : NULL;
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = '\0';
        for (char *c = line; *c; c++)
            if ((unsigned char)*c < ' ') *c = ' ';
        const char *text = line + strspn(line, " ");
        if (*text) snprintf(out, cap, "%s", text);
    }
    fclose(f);
}

static const char *why_failed(const run_plan *p, const run_step *s, const process_result *r,
                              double timeout_s) {
    char said[200];
    last_line(plan_path(p, s->command.name, ".stderr.txt"), said, sizeof said);
    const char *colon = said[0] ? ": " : "";
    if (r->end == PROCESS_TIMED_OUT)
        return arena_printf(p->mem,
                            "did not end within %.0f s and was stopped; more --minutes give it "
                            "longer",
                            timeout_s);
    if (r->end == PROCESS_KILLED)
        return arena_printf(p->mem, "was killed by signal %d (%s)%s%s", r->code,
                            r->code == SIGKILL ? "out of memory?" : strsignal(r->code), colon,
                            said);
    if (r->code == 127) /* what some C libraries make of a program that cannot be started */
        return arena_printf(p->mem, "cannot be started%s%s", colon, said);
    if (r->code) return arena_printf(p->mem, "exit code %d%s%s", r->code, colon, said);
    if (s->returned_n == 0) return arena_printf(p->mem, "printed no result%s%s", colon, said);
    return NULL;
}

/* The outputs of a command that has ended take their place. */
static err_code keep_outputs(const run_plan *p, const char *name, err *e) {
    static const char *const ENDINGS[][2] = {{".part.jsonl", ".jsonl"},
                                             {".part.stderr.txt", ".stderr.txt"}};
    for (size_t i = 0; i < 2; i++) {
        const char *from = plan_path(p, name, ENDINGS[i][0]),
                   *to = plan_path(p, name, ENDINGS[i][1]);
        if (!from || !to) return plan_no_memory(e);
        if (rename(from, to) != 0)
            return err_set(e, E_IO, to, "cannot be written: %s", strerror(errno));
    }
    return OK;
}

static void drop_parts(const run_plan *p, const char *name) {
    const char *out = plan_path(p, name, ".part.jsonl"),
               *messages = plan_path(p, name, ".part.stderr.txt");
    if (out) unlink(out);
    if (messages) unlink(messages);
}

/* One command to its end. */
static err_code run_step_once(run_plan *p, size_t i, const run_watch *w, bool *stopped, err *e) {
    run_step *s = &p->steps[i];
    ticker t = {p, w, i};
import in;
    process_result r;
    process_call c = {.argv = s->command.argv,
                      .stdout_path = plan_path(p, s->command.name, ".part.jsonl"),
                      .stderr_path = plan_path(p, s->command.name, ".part.stderr.txt"),
                      .timeout_s = limit_s(p, s),
                      .tick = tick,
                      .arg = &t};
    if (!c.stdout_path || !c.stderr_path) return plan_no_memory(e);
    if (process_run(&c, &r, e)) {
        drop_parts(p, s->command.name);
        return e->code;
    }
    if (r.end == PROCESS_STOPPED) {
        drop_parts(p, s->command.name);
        *stopped = true;
        return OK;
    }
    s->wall_s += r.wall_s;
    p->used_s += r.wall_s;
    if (keep_outputs(p, s->command.name, e) || read_step(p, s, &in, e)) return e->code;
    s->why = why_failed(p, s, &r, c.timeout_s);
    s->state = s->why ? RUN_FAILED : RUN_DONE;
    return plan_save(p, e);
}

static bool out_of_time(const run_plan *p, const run_step *s) {
    return p->used_s + s->command.estimate_s / 2 > p->asked->time_s;
}

static err_code one(run_plan *p, size_t i, const run_watch *w, bool *stopped, err *e) {
    run_step *s = &p->steps[i];
    if (s->state == RUN_DONE) return OK;
    if (i > 0 && out_of_time(p, s)) {
        s->state = RUN_LEFT_OUT;
        s->why = "the time budget is spent";
    } else if (run_step_once(p, i, w, stopped, e) || *stopped) {
        return e->code;
    }
    if (w->ended) w->ended(p, i, w->arg);
    return OK;
}

err_code runner_measure(run_plan *p, const run_watch *w, bool *stopped, err *e) {
    const saved_plan none = {0};
    bool planned = p->steps[0].state == RUN_DONE;
    *stopped = false;
    if (one(p, 0, w, stopped, e) || *stopped) return e->code;
    if (p->steps[0].state == RUN_FAILED)
        return err_set(e, E_EXTERN, p->steps[0].command.argv[0], "%s (see %s)", p->steps[0].why,
                       plan_path(p, "start", ".stderr.txt"));
    if (!planned && (plan_rest(p, &none, e) || plan_save(p, e))) return e->code;
    for (size_t i = 1; i < p->n && !e->code && !*stopped; i++) (void)one(p, i, w, stopped, e);
    return e->code ? e->code : plan_save(p, e);
}

/* ---- after the run ---- */

err_code runner_import(const run_plan *p, import *in, err *e) {
    for (size_t i = 0; i < p->n; i++) {
        const run_step *s = &p->steps[i];
        const char *path = plan_path(p, s->command.name, ".jsonl");
        if ((s->state == RUN_DONE || s->state == RUN_FAILED) && s->returned_n > 0 &&
            import_add_path(in, path, format_of(s)))
            return err_set(e, in->e->code, in->e->where, "%s", in->e->what);
    }
    return OK;
}

run_cold runner_cold(const import *in) {
    run_cold c = {0};
    for (size_t i = 0; i < in->rows_n; i++) {
        const import_row *r = &in->rows[i];
        size_t slow = 0;
        if (r->refused) continue;
        c.excluded_n += r->excluded != NULL;
        double best = r->samples_n ? r->samples_s[0] : 0;
        for (size_t k = 0; k < r->samples_n; k++)
            if (r->samples_s[k] < best) best = r->samples_s[k];
        for (size_t k = 0; k < r->samples_n; k++) slow += r->samples_s[k] > 1.2 * best;
        c.samples_n += slow;
        c.rows_n += slow > 0;
    }
    return c;
}

run_cells runner_cells(const run_plan *p) {
    run_cells c = {0};
    for (size_t i = 0; i < p->n; i++) {
        const run_step *s = &p->steps[i];
        c.requested_n += s->command.cells_n;
        c.returned_n += s->returned_n;
        if (s->state == RUN_DONE) c.skipped_n += s->missing_n;
    }
    return c;
}
