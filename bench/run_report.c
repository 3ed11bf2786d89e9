#include "run_report.h"

#include "base/jsonw.h"

#include <string.h>

static const double GIB = 1024.0 * 1024 * 1024;

/* ---- the plan ---- */

static void add_duration(buf *out, double s) {
    if (s < 90)
        buf_addf(out, "%.0f s", s);
    else
        buf_addf(out, "%.0f min", s / 60);
}

void run_report_plan(const grid *g, buf *out) {
    for (size_t i = 0; i < g->n; i++) {
        const grid_command *c = &g->commands[i];
        buf_addf(out, "# %zu/%zu %s: %zu cells, about ", i + 1, g->n, c->name, c->cells_n);
        add_duration(out, c->estimate_s);
        buf_addf(out, " and %.2f GiB\n", (double)c->memory_bytes / GIB);
        grid_command_line(c, out);
        buf_add(out, "\n");
    }
    for (size_t i = 0; i < g->lost_n; i++)
        buf_addf(out, "# left out for %s: %s\n", g->lost[i].why, g->lost[i].what);
    buf_add(out, "# in all about ");
    add_duration(out, g->estimate_s);
    buf_add(out, "\n");
}

static void lost_json(cJSON *root, const grid *g) {
    cJSON *list = jw_arr(root, "left_out");
    for (size_t i = 0; i < g->lost_n; i++) {
        cJSON *o = jw_item(list);
        jw_str(o, "what", g->lost[i].what);
        jw_str(o, "why", g->lost[i].why);
    }
}

static cJSON *command_json(cJSON *list, const grid_command *c) {
    buf line;
    buf_init(&line);
    grid_command_line(c, &line);
    cJSON *o = jw_item(list);
    jw_str(o, "name", c->name);
    jw_str(o, "command", line.s);
    jw_num(o, "estimate_s", c->estimate_s);
    jw_int(o, "memory_bytes", c->memory_bytes);
    jw_int(o, "cells_requested_n", (int64_t)c->cells_n);
    buf_done(&line);
    return o;
}

void run_report_plan_json(const grid *g, buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", RUN_SUMMARY_SCHEMA);
    jw_bool(root, "dry_run", true);
    jw_num(root, "estimate_s", g->estimate_s);
    cJSON *list = jw_arr(root, "commands");
    for (size_t i = 0; i < g->n; i++) (void)command_json(list, &g->commands[i]);
    lost_json(root, g);
    jw_print(root, out);
    cJSON_Delete(root);
}

/* ---- on the way ---- */

/* What is left by the estimates, corrected by how those have held so far. */
static double left_s(const run_plan *p, size_t at, double elapsed_s) {
    double estimated = 0, took = 0, left = 0;
    for (size_t i = 0; i < p->n; i++) {
        const run_step *s = &p->steps[i];
        if (s->state == RUN_DONE) {
            estimated += s->command.estimate_s;
            took += s->wall_s;
        } else if (s->state == RUN_PENDING) {
            left += s->command.estimate_s;
        }
    }
    double ratio = p->n > 1 && estimated > 0 ? took / estimated : 1;
    double own = p->steps[at].command.estimate_s * ratio;
    left = left * ratio - (elapsed_s < own ? elapsed_s : own);
    return left > 0 ? left : 0;
}

void run_report_progress(const run_plan *p, size_t i, double elapsed_s, buf *out) {
    const run_step *s = &p->steps[i];
    if (p->n == 1) {
        buf_addf(out, "%s: %.0f s (how long all takes is known after it)", s->command.name,
                 elapsed_s);
        return;
    }
    buf_addf(out, "%zu/%zu %s: %.0f s of about %.0f s, about ", i + 1, p->n, s->command.name,
             elapsed_s, s->command.estimate_s);
    add_duration(out, left_s(p, i, elapsed_s));
    buf_add(out, " left");
}

void run_report_step(const run_plan *p, size_t i, buf *out) {
    const run_step *s = &p->steps[i];
    if (p->n > 1)
        buf_addf(out, "%zu/%zu %s: ", i + 1, p->n, s->command.name);
    else
        buf_addf(out, "%s: ", s->command.name);
    if (s->state == RUN_LEFT_OUT) {
        buf_addf(out, "left out, %s\n", s->why);
        return;
    }
    buf_addf(out, "%zu of %zu cells in %.1f s%s%s\n", s->returned_n, s->command.cells_n, s->wall_s,
             s->why ? ", " : "", s->why ? s->why : "");
}

/* ---- at the end ---- */

static void add_skipped(const run_plan *p, buf *out) {
    enum { NAMED = 40 };
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const run_step *s = &p->steps[i];
        for (size_t k = 0; s->state == RUN_DONE && k < s->missing_n; k++)
            if (n++ < NAMED)
                buf_addf(out, "  not printed, though asked for: %s: %s\n", s->command.name,
                         grid_cell_text(&s->command, s->missing[k], p->mem));
    }
    if (n > NAMED) buf_addf(out, "  and %zu more\n", n - NAMED);
}

static void add_failed(const run_plan *p, buf *out) {
    for (size_t i = 0; i < p->n; i++) {
        const run_step *s = &p->steps[i];
        if (s->state == RUN_FAILED)
            buf_addf(out, "  failed: %s: %s (see %s/%s.stderr.txt)\n", s->command.name, s->why,
                     p->asked->folder, s->command.name);
        else if (s->state == RUN_LEFT_OUT)
            buf_addf(out, "  left out: %s: %s\n", s->command.name, s->why);
    }
}

/* Steps and cells that only the time budget kept out. */
static size_t short_of_time(const run_plan *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += p->steps[i].state == RUN_LEFT_OUT;
    for (size_t i = 0; i < p->grid.lost_n; i++) n += strcmp(p->grid.lost[i].why, "time") == 0;
    return n;
}

void run_report_end(const run_plan *p, const run_cold *cold, buf *out) {
    run_cells c = runner_cells(p);
    buf_addf(out, "%zu of %zu cells measured in %.0f s\n", c.returned_n, c.requested_n, p->used_s);
    add_failed(p, out);
    add_skipped(p, out);
    for (size_t i = 0; i < p->grid.lost_n; i++)
        buf_addf(out, "  left out for %s: %s\n", p->grid.lost[i].why, p->grid.lost[i].what);
    if (short_of_time(p))
        buf_addf(out,
                 "  the same command with more than --minutes %g measures what time left out\n",
                 p->asked->time_s / 60);
    if (cold->samples_n)
        buf_addf(out,
                 "  cold: %zu samples of %zu points are over 20 %% slower than the fastest of "
                 "their point; the card keeps them and takes the fastest\n",
                 cold->samples_n, cold->rows_n);
    if (cold->excluded_n)
        buf_addf(out, "  cold: %zu points of first cells of batched runs stay unused in the card\n",
                 cold->excluded_n);
}

static void step_json(cJSON *list, const run_plan *p, const run_step *s) {
    cJSON *o = command_json(list, &s->command);
    jw_str(o, "state", RUN_STATES[s->state]);
    jw_str(o, "why", s->why);
    jw_num(o, "wall_s", s->wall_s);
    jw_int(o, "cells_returned_n", (int64_t)s->returned_n);
    cJSON *missing = jw_arr(o, "missing");
    for (size_t i = 0; i < s->missing_n; i++) {
        const char *text = grid_cell_text(&s->command, s->missing[i], p->mem);
        if (text) cJSON_AddItemToArray(missing, cJSON_CreateString(text));
    }
}

void run_report_json(const run_plan *p, const run_cold *cold, const char *card_path, buf *out) {
    run_cells c = runner_cells(p);
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", RUN_SUMMARY_SCHEMA);
    jw_str(root, "card", card_path);
    jw_str(root, "folder", p->asked->folder);
    jw_str(root, "conditions", p->conditions);
    jw_int(root, "memory_bytes", p->memory_bytes);
    jw_str(root, "memory_source", p->memory_source);
    jw_num(root, "seconds", p->used_s);
    jw_int(root, "cells_requested_n", (int64_t)c.requested_n);
    jw_int(root, "cells_returned_n", (int64_t)c.returned_n);
    jw_int(root, "cells_skipped_n", (int64_t)c.skipped_n);
    jw_int(root, "cold_samples_n", (int64_t)cold->samples_n);
    jw_int(root, "cold_points_excluded_n", (int64_t)cold->excluded_n);
    cJSON *list = jw_arr(root, "commands");
    for (size_t i = 0; i < p->n; i++) step_json(list, p, &p->steps[i]);
    lost_json(root, &p->grid);
    jw_print(root, out);
    cJSON_Delete(root);
}
