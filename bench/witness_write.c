#include "witness_write.h"

#include "base/file.h"
#include "base/jsonw.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- lines ---- */

static void add_line(cJSON *o, buf *out) {
    char *s = cJSON_PrintUnformatted(o);
    if (!s) abort();
    buf_add(out, s);
    buf_add(out, "\n");
    cJSON_free(s);
    cJSON_Delete(o);
}

/* Microseconds, what the recordings of other clients have too. */
static void add_ns(cJSON *o, const char *key, int64_t ns) {
    jw_ns_as_s(o, key, (ns + 500) / 1000 * 1000);
}

static void add_ms(cJSON *o, const char *key, double ms) {
    if (ms >= 0) jw_num(o, key, round(ms * 1e3) / 1e3);
}

static void add_turn(const witness_meta *meta, const session_turn *t, buf *out) {
    cJSON *o = cJSON_CreateObject();
    jw_str(o, "run_id", meta->run_id);
    jw_int(o, "agent", t->agent);
    jw_int(o, "turn", t->turn);
    jw_int(o, "prompt_tokens", t->prompt_tok);
    jw_int(o, "cached_tokens", t->cached_tok);
    jw_int(o, "new_prompt_tokens", t->new_tok);
    jw_int(o, "out_tokens", t->out_tok);
    jw_int(o, "out_requested", t->out_requested);
    add_ns(o, "t_send_s", t->send_ns);
    add_ns(o, "t_first_s", t->first_ns);
    add_ns(o, "t_last_s", t->last_ns);
    add_ns(o, "t_done_s", t->done_ns);
    add_ms(o, "prompt_ms", t->prompt_ms);
    add_ms(o, "predicted_ms", t->predicted_ms);
    if (t->slot >= 0) jw_int(o, "id_slot", t->slot);
    cJSON *gaps = jw_arr(o, "itl_ms");
    for (size_t i = 0; i < t->gaps_n; i++) {
        char text[32];
        jw_format(round((double)t->gap_ns[i] / 1e3) / 1e3, text);
        cJSON_AddItemToArray(gaps, cJSON_CreateRaw(text));
    }
    add_line(o, out);
}

static void add_config(cJSON *run, const session_spec *s, const witness_meta *meta) {
    cJSON *c = jw_obj(run, "config");
    jw_str(c, "model", meta->model);
    jw_str(c, "arm", meta->arm);
    jw_int(c, "K", s->K);
    jw_int(c, "H", s->H);
    jw_int(c, "P", s->P);
    jw_int(c, "din", s->din);
    jw_int(c, "out", s->out);
    if (s->result_after) jw_str(c, "turn_shape", "result_after");
    jw_int(c, "rep", meta->rep);
    jw_int(c, "seed", (int64_t)s->seed);
    jw_int(c, "vocab_hi", s->vocab_hi);
    if (s->stagger_s > 0) jw_num(c, "stagger_s", s->stagger_s);
    if (s->tool_s > 0) jw_num(c, "tool_s", s->tool_s);
    if (s->serial) jw_bool(c, "serial", true);
    jw_bool(c, "pin", s->pin);
    jw_bool(c, "cache", s->cache);
}

static void add_server(cJSON *run, const session_spec *s, const witness_meta *meta) {
    cJSON *args = jw_arr(run, "server_args");
    for (size_t i = 0; i < meta->server_args_n; i++)
        cJSON_AddItemToArray(args, cJSON_CreateString(meta->server_args[i]));
    jw_str(run, "server_args_from", meta->server_args_told ? "user" : "server");
    jw_bool(run, "patched_server", meta->patched_server);
    jw_str(run, "api", s->api->name);
    jw_str(run, "url", meta->url);
    if (meta->server) {
        jw_str(run, "server_build", meta->server->build);
        jw_str(run, "model_path", meta->server->model_path);
        if (meta->server->slots_n > 0) jw_int(run, "slots_n", meta->server->slots_n);
        if (meta->server->slot_context_tok > 0)
            jw_int(run, "slot_context_tok", meta->server->slot_context_tok);
    }
    if (s->api->has_slots) jw_bool(run, "slots_erased_before_run", meta->slots_erased);
}

static void add_summary(cJSON *ttft, const char *population, const witness_summary *s) {
    cJSON *o = jw_obj(ttft, population);
    jw_int(o, "n", s->n);
    if (s->n == 0) return;
    jw_num(o, "p50", round(s->p50_s * 1e6) / 1e6);
    jw_num(o, "p95", round(s->p95_s * 1e6) / 1e6);
}

static void add_measured(cJSON *run, const witness_seen *seen) {
    jw_num(run, "wall_s", seen->wall_s);
    if (seen->itl_mean_ms > 0) {
        add_ms(run, "itl_mean_ms", seen->itl_mean_ms);
        add_ms(run, "itl_p50_ms", seen->itl_p50_ms);
    }
    cJSON *ttft = jw_obj(run, "ttft_s");
    add_summary(ttft, "cold", &seen->cold);
    add_summary(ttft, "warm", &seen->warm);
    add_summary(ttft, "all", &seen->all);
}

static void add_run(const session_spec *s, const session_log *log, const witness_meta *meta,
                    const witness_seen *seen, buf *out) {
    cJSON *run = cJSON_CreateObject();
    char at[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", &utc);
    int64_t out_tok = 0;
    for (size_t i = 0; i < log->n; i++) out_tok += log->turns[i].out_tok;
    jw_str(run, "schema", WITNESS_SCHEMA);
    jw_str(run, "run_id", meta->run_id);
    jw_str(run, "machine", meta->machine);
    add_config(run, s, meta);
    jw_str(run, "use", meta->use == USE_CALIBRATE ? "calibrate" : "score");
    if (seen->measured) add_measured(run, seen);
    jw_int(run, "n_turns", (int64_t)log->n);
    jw_int(run, "out_tokens", out_tok);
    cJSON *errors = jw_arr(run, "errors");
    for (size_t i = 0; i < log->errors_n; i++)
        cJSON_AddItemToArray(errors, cJSON_CreateString(log->errors[i]));
    if (log->foreign_ids_n > 0) jw_int(run, "foreign_ids_n", log->foreign_ids_n);
    if (log->uncounted_n > 0) jw_int(run, "uncounted_turns_n", log->uncounted_n);
    jw_int(run, "warmup_turns_n", meta->warm_up_turns_n);
    add_server(run, s, meta);
    jw_str(run, "client", meta->client);
    if (at[0]) jw_str(run, "recorded_at", at);
    add_line(run, out);
}

/* ---- read back ---- */

static double mean_gap_ms(const witness_run *r) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->turns_n; i++)
        for (size_t j = 0; j < r->turns[i].itl_n; j++, n++) sum += r->turns[i].itl_ms[j];
    return n > 0 ? sum / (double)n : 0;
}

static err_code read_back(const buf *run_line, const buf *turn_lines, arena *mem,
                          witness_seen *seen, err *e) {
    file_bytes runs = {.name = "runs.jsonl", .s = run_line->s, .len = run_line->len};
    file_bytes turns = {.name = "sessions", .s = turn_lines->s, .len = turn_lines->len};
    witness w;
    *seen = (witness_seen){0};
    if (witness_parse(&runs, &turns, 1, mem, &w, e)) return e->code;
    seen->run = w.runs;
    seen->measured = witness_measure(seen->run, mem, &seen->wall_s, &seen->cold, &seen->warm,
                                     &seen->all, &seen->itl_p50_ms, &seen->itl_p99_ms);
    seen->itl_mean_ms = mean_gap_ms(seen->run);
    return OK;
}

err_code witness_text(const session_spec *s, const session_log *log, const witness_meta *meta,
                      arena *mem, buf *run_line, buf *turn_lines, witness_seen *seen, err *e) {
    *seen = (witness_seen){0};
    for (size_t i = 0; i < log->n; i++) add_turn(meta, &log->turns[i], turn_lines);
    add_run(s, log, meta, seen, run_line);
    /* the summary is what the reader makes of the turns, so that both say the same */
    if (read_back(run_line, turn_lines, mem, seen, e)) return e->code;
    buf_reset(run_line);
    add_run(s, log, meta, seen, run_line);
    return read_back(run_line, turn_lines, mem, seen, e);
}

/* ---- the folder ---- */

static const char *path_in(const char *dir, const char *name, arena *mem, err *e) {
    const char *path = arena_printf(mem, "%s/%s", dir, name);
    if (!path) err_set(e, E_LIMIT, dir, "does not fit the memory budget");
    return path;
}

static bool is_there(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

static bool is_taken(const witness *w, const char *id) {
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->runs[i].id, id) == 0) return true;
    return false;
}

static bool is_file_name(const char *id) {
    static const char SAFE[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return *id && *id != '.' && strlen(id) <= 200 && id[strspn(id, SAFE)] == '\0';
}

err_code witness_next_id(const char *dir, const char *wanted, const char *stem, arena *mem,
                         const char **run_id, int64_t *rep, int64_t *runs_n, err *e) {
    witness w = {0};
    const char *path = dir && *dir ? path_in(dir, "runs.jsonl", mem, e) : NULL;
    file_bytes f;
    if (e->code) return e->code;
    if (path && is_there(path)) {
        if (file_read(path, mem, &f, e)) return e->code;
        if (f.len > 0 && witness_parse(&f, NULL, 0, mem, &w, e)) return e->code;
    }
    *rep = *runs_n = (int64_t)w.n;
    *run_id = wanted;
    if (wanted && !is_file_name(wanted))
        return err_set(e, E_USAGE, "--run-id",
                       "found \"%s\", expected letters, digits, '.', '_' and '-'", wanted);
    if (wanted && is_taken(&w, wanted))
        return err_set(e, E_USAGE, "--run-id", "found \"%s\", which %s has already", wanted, path);
    if (wanted) return OK;
    for (*rep = 0;; ++*rep) {
        char *id = arena_printf(mem, "%s-r%lld", stem, (long long)*rep);
        if (!id) return err_set(e, E_LIMIT, "--run-id", "does not fit the memory budget");
        for (char *c = id; *c; c++)
            if (!strchr("._-", *c) && !(*c >= '0' && *c <= '9') && !(*c >= 'a' && *c <= 'z') &&
                !(*c >= 'A' && *c <= 'Z'))
                *c = '-';
        *run_id = id;
        if (!is_taken(&w, id)) return OK;
    }
}

static err_code make_one(const char *path, int *made, err *e) {
    if (mkdir(path, 0777) == 0)
        ++*made;
    else if (errno != EEXIST)
        err_set(e, E_IO, path, "cannot be made: %s", strerror(errno));
    return e->code;
}

err_code witness_make(const char *dir, int *made, err *e) {
    char sessions[4096];
    *made = 0;
    if (snprintf(sessions, sizeof sessions, "%s/sessions", dir) >= (int)sizeof sessions)
        return err_set(e, E_USAGE, "--output", "found a path that is too long");
    if (make_one(dir, made, e) == OK) (void)make_one(sessions, made, e);
    if (e->code && *made) rmdir(dir); /* the inner one is what failed */
    return e->code;
}

void witness_unmake(const char *dir, int made) {
    char sessions[4096];
    snprintf(sessions, sizeof sessions, "%s/sessions", dir);
    /* the inner one was made if any was; the outer one only if both were */
    if (made > 0) rmdir(sessions);
    if (made > 1) rmdir(dir);
}

err_code witness_append(const char *dir, const char *run_id, const buf *run_line,
                        const buf *turn_lines, err *e) {
    arena *mem = arena_new((size_t)4 * FILE_MAX_BYTES);
    if (!mem) return err_set(e, E_NOMEM, dir, "out of memory");
    const char *runs = path_in(dir, "runs.jsonl", mem, e);
    const char *session = arena_printf(mem, "%s/sessions/%s.jsonl", dir, run_id);
    file_bytes old = {0};
    buf all;
    buf_init(&all);
    if (!session) err_set(e, E_LIMIT, dir, "does not fit the memory budget");
    if (session && is_there(session))
        err_set(e, E_IO, session, "is there already, expected no turns of a run that is new");
    if (e->code == OK && is_there(runs) && file_read(runs, mem, &old, e) == OK) {
        buf_add_n(&all, old.s, old.len);
        if (old.len > 0 && old.s[old.len - 1] != '\n') buf_add(&all, "\n");
    }
    buf_add_n(&all, run_line->s, run_line->len);
    if (session && e->code == OK && file_write(session, turn_lines->s, turn_lines->len, e) == OK &&
        file_write(runs, all.s, all.len, e) != OK)
        unlink(session);
    buf_done(&all);
    arena_free(mem);
    return e->code;
}
