/* Witnessed runs made by the engine itself: what a server with known host terms would have
 * recorded. */
#ifndef RATECAST_TESTS_WITNESS_MAKER_H
#define RATECAST_TESTS_WITNESS_MAKER_H

#include "calib/replay.h"

#include "support.h"

#include "base/buf.h"

#include <sys/stat.h>

typedef struct made {
    buf runs, sessions;
} made;

typedef struct made_run {
    const char *id, *arm, *use; /* use: calibrate or score */
    int K, H, P, din, out;
    bool unified;
    const char *config; /* more of it, beginning with a comma; NULL: none */
    const char *args;   /* server_args; NULL: a slot for each agent, layout as `unified` says */
    double scale;       /* of every measured time; 0: as the engine says */
} made_run;

static inline void made_init(made *m) {
    buf_init(&m->runs);
    buf_init(&m->sessions);
}

static inline void made_done(made *m) {
    buf_done(&m->runs);
    buf_done(&m->sessions);
}

static inline void made_run_line(const made_run *s, const char *more, buf *out) {
    char args[128];
    snprintf(args, sizeof args, "\"-np\",\"%d\",\"%s\",\"-c\",\"65536\"", s->K,
             s->unified ? "-kvu" : "-no-kvu");
    buf_addf(out,
             "{\"run_id\":\"%s\",\"machine\":\"gpu-h200\",\"config\":{\"model\":\"qwen2-7b-like\","
             "\"arm\":\"%s\",\"K\":%d,\"H\":%d,\"P\":%d,\"din\":%d,\"out\":%d%s},\"server_args\":"
             "[%s],\"use\":\"%s\"%s}\n",
             s->id, s->arm, s->K, s->H, s->P, s->din, s->out, s->config ? s->config : "",
             s->args ? s->args : args, s->use, more);
}

static inline file_bytes made_bytes(const char *name, const buf *b) {
    return (file_bytes){.name = name, .s = b->len ? b->s : "", .len = b->len};
}

/* One run line, read back alone. */
static inline const replay *made_replay(const made_run *s, const card *const *cards, size_t n) {
    buf line;
    witness w;
    err e = {0};
    replay *r = NULL;
    buf_init(&line);
    made_run_line(s, ",\"wall_s\":1", &line);
    file_bytes f = made_bytes("runs.jsonl", &line);
    cr_assert_eq(witness_parse(&f, NULL, 0, support_arena(), &w, &e), OK, "%s: %s", e.where,
                 e.what);
    cr_assert_eq(replay_set(&w, cards, n, true, support_arena(), &r, &e), OK, "%s: %s", e.where,
                 e.what);
    cr_assert_null(r->excluded, "%s", r->excluded);
    buf_done(&line);
    return r;
}

static inline void made_turns(const made_run *s, const replay *r, const sim_result *sim,
                              double scale, buf *out) {
    size_t gap = 0;
    for (int64_t i = 0; i < sim->turns_n; i++) {
        const turn_record *t = &sim->turns[i];
        int64_t k = i / r->work->H, h = i % r->work->H + 1, n = workload_out_tok(r->work, k, h);
        double ns = scale / 1e9, last_s = (double)t->done_ns * ns;
        buf_addf(out,
                 "{\"run_id\":\"%s\",\"agent\":%lld,\"turn\":%lld,\"prompt_tokens\":%lld,"
                 "\"cached_tokens\":%lld,\"new_prompt_tokens\":%lld,\"out_tokens\":%lld,"
                 "\"t_send_s\":%.9f,\"t_first_s\":%.9f,\"t_last_s\":%.9f,\"t_done_s\":%.9f,"
                 "\"itl_ms\":[",
                 s->id, (long long)k, (long long)h, (long long)(t->reused_tok + t->computed_tok),
                 (long long)t->reused_tok, (long long)t->computed_tok, (long long)n,
                 (double)t->send_ns * ns, (double)t->first_ns * ns, last_s, last_s);
        for (int64_t j = 1; j < n; j++)
            buf_addf(out, "%s%.6f", j > 1 ? "," : "", (double)sim->itl[gap++].gap_ns * scale / 1e6);
        buf_add(out, "]}\n");
    }
}

/* Appends the run with its turns, as `host` would have it. */
static inline void made_add(made *m, const made_run *s, const card *const *cards, size_t n,
                            const host_terms *host) {
    const replay *r = made_replay(s, cards, n);
    sim_result sim;
    metrics met;
    err e = {0};
    char seen[160];
    double scale = s->scale > 0 ? s->scale : 1;
    cr_assert_eq(replay_run(r, host, support_arena(), &sim, &met, &e), OK, "%s: %s", e.where,
                 e.what);
    snprintf(seen, sizeof seen,
             ",\"wall_s\":%.9f,\"gpu_mem_before_server_mib\":600,\"gpu_mem_peak_mib\":%.1f",
             (double)sim.wall_ns / 1e9 * scale, 12000 * scale);
    made_run_line(s, seen, &m->runs);
    made_turns(s, r, &sim, scale, &m->sessions);
}

/* Reads them and is done with `m`. */
static inline replay *made_set(made *m, const card *const *cards, size_t n, bool summaries,
                               size_t *runs_n) {
    witness w;
    err e = {0};
    replay *r = NULL;
    file_bytes runs = made_bytes("runs.jsonl", &m->runs),
               sessions = made_bytes("sessions/a.jsonl", &m->sessions);
    cr_assert_eq(witness_parse(&runs, &sessions, 1, support_arena(), &w, &e), OK, "%s: %s", e.where,
                 e.what);
    cr_assert_eq(replay_set(&w, cards, n, summaries, support_arena(), &r, &e), OK, "%s: %s",
                 e.where, e.what);
    *runs_n = w.n;
    made_done(m);
    return r;
}

/* Writes them as a folder and is done with `m`. */
static inline void made_write(made *m, const char *dir) {
    arena *mem = support_arena();
    err e = {0};
    mkdir(dir, 0777);
    mkdir(arena_printf(mem, "%s/sessions", dir), 0777);
    cr_assert_eq(file_write(arena_printf(mem, "%s/runs.jsonl", dir), m->runs.s, m->runs.len, &e),
                 OK, "%s", e.what);
    cr_assert_eq(file_write(arena_printf(mem, "%s/sessions/a.jsonl", dir), m->sessions.s,
                            m->sessions.len, &e),
                 OK, "%s", e.what);
    made_done(m);
}

static inline const card *made_card(const char *id) {
    err e = {0};
    const card *c = NULL;
    cr_assert_eq(card_find(support_cards(), id, NULL, support_arena(), &c, &e), OK, "%s: %s",
                 e.where, e.what);
    return c;
}

#endif
