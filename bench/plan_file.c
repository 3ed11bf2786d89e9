#include "plan_file.h"

#include "base/file.h"
#include "base/jsonr.h"
#include "base/jsonw.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *plan_path(const run_plan *p, const char *name, const char *ending) {
    return arena_printf(p->mem, "%s/%s%s", p->asked->folder, name, ending);
}

err_code plan_no_memory(err *e) {
    return err_set(e, E_LIMIT, "", "the plan does not fit the memory budget");
}

err_code plan_lock(run_plan *p, err *e) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const char *path = plan_path(p, "lock", "");
    if (!path) return plan_no_memory(e);
    p->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (p->lock < 0) return err_set(e, E_IO, path, "cannot be written: %s", strerror(errno));
    if (fcntl(p->lock, F_SETLK, &whole) != 0 && (errno == EACCES || errno == EAGAIN))
        return err_set(e, E_REFUSED, p->asked->folder, "another run is at work here");
    return OK; /* a file system without locks is no reason to stop */
}

static void add_facts(cJSON *root, const run_plan *p) {
    cJSON *asked = jw_obj(root, "asked");
    for (size_t i = 0; i < p->asked->facts_n; i++)
        jw_str(asked, p->asked->facts[i].key, p->asked->facts[i].value);
}

static void add_step(cJSON *list, const run_step *s) {
    buf line;
    buf_init(&line);
    grid_command_line(&s->command, &line);
    cJSON *o = jw_item(list);
    jw_str(o, "name", s->command.name);
    jw_str(o, "command", line.s);
    jw_str(o, "state", RUN_STATES[s->state]);
    jw_str(o, "why", s->why);
    jw_num(o, "wall_s", s->wall_s);
    jw_num(o, "estimate_s", s->command.estimate_s);
    jw_int(o, "memory_bytes", s->command.memory_bytes);
    jw_int(o, "cells_requested_n", (int64_t)s->command.cells_n);
    if (s->state == RUN_DONE || s->state == RUN_FAILED)
        jw_int(o, "cells_returned_n", (int64_t)s->returned_n);
    buf_done(&line);
}

err_code plan_save(const run_plan *p, err *e) {
    cJSON *root = cJSON_CreateObject();
    buf text;
    buf_init(&text);
    jw_str(root, "schema", RUN_PLAN_SCHEMA);
    add_facts(root, p);
    jw_int(root, "memory_bytes", p->memory_bytes);
    jw_str(root, "memory_source", p->memory_source);
    jw_bool(root, "memory_guessed", p->memory_guessed);
    jw_str(root, "conditions", p->conditions);
    cJSON *steps = jw_arr(root, "commands");
    for (size_t i = 0; i < p->n; i++) add_step(steps, &p->steps[i]);
    cJSON *lost = jw_arr(root, "left_out");
    for (size_t i = 0; i < p->grid.lost_n; i++) {
        cJSON *o = jw_item(lost);
        jw_str(o, "what", p->grid.lost[i].what);
        jw_str(o, "why", p->grid.lost[i].why);
    }
    jw_print(root, &text);
    cJSON_Delete(root);
    const char *path = plan_path(p, "plan", ".json");
    if (path)
        (void)file_write(path, text.s, text.len, e);
    else
        plan_no_memory(e);
    buf_done(&text);
    return e->code;
}

static void read_steps(jr root, run_plan *p, saved_plan *old) {
    jr list = jr_need(root, "commands");
    size_t n = jr_len(list);
    old->steps = ARENA_ARRAY(p->mem, saved_step, n);
    if (!old->steps) {
        jr_fail(list, E_LIMIT, "does not fit the memory budget");
        return;
    }
    for (jr o = {0}; jr_each(list, &o);)
        old->steps[old->n++] = (saved_step){.name = jr_str(o, "name"),
                                            .command = jr_str(o, "command"),
                                            .why = jr_str_or(o, "why", NULL),
                                            .state = jr_enum(o, "state", RUN_STATES),
                                            .wall_s = jr_num(o, "wall_s", 0, 1e9)};
}

static bool any_done(const saved_plan *old) {
    size_t done = 0;
    for (size_t i = 0; i < old->n; i++) done += old->steps[i].state == RUN_DONE;
    return done > 0;
}

/* Is the plan of the same facts? The first that differs is said. */
static void compare_facts(jr root, const run_plan *p) {
    jr asked = jr_need(root, "asked");
    for (size_t i = 0; i < p->asked->facts_n && jr_ok(root); i++) {
        const run_fact *f = &p->asked->facts[i];
        const char *was = jr_str_or(asked, f->key, "not there");
        if (jr_ok(root) && strcmp(was, f->value ? f->value : "not there") != 0)
            jr_fail(asked, E_REFUSED,
                    "is the plan of another run: %s was %.120s, now it is %.120s; the same options "
                    "continue it, another -o or a removed folder begins anew",
                    f->key, was, f->value ? f->value : "not there");
    }
}

err_code plan_load(run_plan *p, saved_plan *old, err *e) {
    const char *path = plan_path(p, "plan", ".json");
    struct stat st;
    file_bytes f;
    jr_doc doc;
    if (!path) return plan_no_memory(e);
    if (stat(path, &st) != 0) {
        if (p->asked->must_resume)
            err_set(e, E_REFUSED, path, "is not there: nothing can be resumed");
        return e->code;
    }
    if (file_read(path, p->mem, &f, e) || jr_parse(&doc, path, f.s, f.len, p->mem, e))
        return e->code;
    jr root = jr_root(&doc);
    jr_schema(root, RUN_PLAN_SCHEMA);
    read_steps(root, p, old);
    if (jr_ok(root) && !any_done(old) && !p->asked->must_resume) {
        *old = (saved_plan){0}; /* nothing was measured: whatever it was of, it is begun anew */
        jr_free(&doc);
        return OK;
    }
    compare_facts(root, p);
    p->memory_bytes = jr_int(root, "memory_bytes", 1, (int64_t)1 << 53);
    p->memory_source = jr_str(root, "memory_source");
    p->memory_guessed = jr_bool_or(root, "memory_guessed", false);
    p->conditions = jr_str(root, "conditions");
    old->there = p->resumed = true;
    jr_free(&doc);
    return e->code;
}
