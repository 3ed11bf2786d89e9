#include "session_plan.h"

#include "calib/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the server's command line ---- */

/* The next word of a command line into `out`, which has room for all of it; false at its end. */
static bool next_word(const char **at, char *out, bool *open) {
    const char *s = *at + strspn(*at, " \t\r\n");
    char quote = '\0';
    if (!*s) return false;
    for (; *s && (quote || !strchr(" \t\r\n", *s)); s++) {
        if (quote && *s == quote)
            quote = '\0';
        else if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
        else if (*s == '\\' && quote != '\'' && s[1])
            *out++ = *++s;
        else
            *out++ = *s;
    }
    *out = '\0';
    *open = quote != '\0';
    *at = s;
    return true;
}

err_code plan_split_args(const char *text, arena *mem, server_args *out, err *e) {
    size_t len = strlen(text);
    const char **arg = ARENA_ARRAY(mem, const char *, len / 2 + 1); /* a word and a blank each */
    char *word = arena_alloc(mem, len + 1, 1);
    bool open = false;
    *out = (server_args){.arg = arg};
    if (!arg || !word)
        return err_set(e, E_LIMIT, "--server-args", "does not fit the memory budget");
    while (!open && next_word(&text, word, &open)) {
        arg[out->n] = arena_strdup(mem, word);
        if (!arg[out->n++])
            return err_set(e, E_LIMIT, "--server-args", "does not fit the memory budget");
    }
    if (open) return err_set(e, E_USAGE, "--server-args", "found a quote that is not closed");
    if (out->n == 0)
        return err_set(e, E_USAGE, "--server-args",
                       "found nothing, expected the server's command line");
    return OK;
}

err_code plan_args_of(const server_info *server, arena *mem, server_args *out, err *e) {
    const char **arg = ARENA_ARRAY(mem, const char *, 8);
    *out = (server_args){.arg = arg};
    if (!arg) return err_set(e, E_LIMIT, "--server-args", "does not fit the memory budget");
    if (server->slots_n == 0) return OK;
    arg[out->n++] = "llama-server";
    if (server->model_path) {
        arg[out->n++] = "-m";
        arg[out->n++] = server->model_path;
    }
    arg[out->n++] = "--parallel";
    arg[out->n++] = arena_printf(mem, "%lld", (long long)server->slots_n);
    if (server->slot_context_tok > 0) {
        /* with split KV, which is what --parallel N without another flag gives */
        arg[out->n++] = "-c";
        arg[out->n++] =
            arena_printf(mem, "%lld", (long long)(server->slot_context_tok * server->slots_n));
    }
    for (size_t i = 0; i < out->n; i++)
        if (!arg[i]) return err_set(e, E_LIMIT, "--server-args", "does not fit the memory budget");
    return OK;
}

/* The number behind the last of the flags `a` and `b`; -1: not there. */
static int64_t flag_value(const server_args *args, const char *a, const char *b) {
    int64_t value = -1;
    for (size_t i = 0; i + 1 < args->n; i++) {
        if (strcmp(args->arg[i], a) != 0 && strcmp(args->arg[i], b) != 0) continue;
        char *end;
        errno = 0;
        long long v = strtoll(args->arg[i + 1], &end, 10);
        if (errno == 0 && *args->arg[i + 1] && *end == '\0') value = v;
    }
    return value;
}

static bool has_flag(const server_args *args, const char *a, const char *b) {
    for (size_t i = 0; i < args->n; i++)
        if (strcmp(args->arg[i], a) == 0 || strcmp(args->arg[i], b) == 0) return true;
    return false;
}

/* ---- scenarios ---- */

static const arm *find_arm(const scenario *s, const char *name, err *e) {
    for (size_t i = 0; i < s->arms_n; i++)
        if (!name ? s->arms_n == 1 : strcmp(s->arms[i].name, name) == 0) return &s->arms[i];
    char names[400] = "";
    for (size_t i = 0; i < s->arms_n && strlen(names) < 300; i++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%.80s", i ? ", " : "", s->arms[i].name);
    }
    err_set(e, E_USAGE, "--arm", "found %s%s%s, expected one of: %s", name ? "\"" : "nothing",
            name ? name : "", name ? "\"" : "", names);
    return NULL;
}

err_code plan_from_scenario(const scenario *s, const char *arm_name, session_spec *spec,
                            const char **name, err *e) {
    const workload *w = &s->work;
    const arm *a = find_arm(s, arm_name, e);
    if (!a) return e->code;
    const char *lacks = replay_not_recorded(w, a);
    if (lacks) return err_set(e, E_REFUSED, s->path, "arm %s: %s", a->name, lacks);
    spec->K = w->K;
    spec->H = w->H;
    spec->P = w->P;
    spec->din = w->turn_delta_in_tok;
    spec->out = w->turn_out_tok;
    spec->result_after = w->shape == SHAPE_RESULT_AFTER;
    spec->tool_s = (double)w->tool_latency_ns / 1e9;
    spec->stagger_s = w->K > 1 ? (double)w->start_offset_ns[1] / 1e9 : 0;
    spec->serial = w->one_after_another;
    spec->cache = a->reuse != REUSE_NONE;
    *name = a->name;
    return OK;
}

/* ---- against the server ---- */

static void note(const char **notes, size_t *n, const char *text) {
    if (text && *n < PLAN_NOTES_MAX) notes[(*n)++] = text;
}

/* Arguments that were told, against what /props says. */
static err_code check_args(const server_info *server, const server_args *args, arena *mem,
                           const char **notes, size_t *n, err *e) {
    int64_t parallel = flag_value(args, "--parallel", "-np");
    int64_t context = flag_value(args, "-c", "--ctx-size");
    int64_t slots = parallel > 0 ? parallel : 4;
    if (server->slots_n > 0 && server->slots_n != slots)
        return err_set(e, E_REFUSED, "--server-args",
                       "says %lld slots%s, the server has %lld: are these its arguments?",
                       (long long)slots, parallel > 0 ? "" : " (the default)",
                       (long long)server->slots_n);
    bool unified = has_flag(args, "-kvu", "--kv-unified") ||
                   (parallel <= 0 && !has_flag(args, "-no-kvu", "--no-kv-unified"));
    int64_t slot = context > 0 ? (unified ? context : context / slots) : 0;
    /* the engine rounds a slot's part up to a multiple of 256 */
    if (slot > 0 && server->slot_context_tok > 0 &&
        (server->slot_context_tok < slot || server->slot_context_tok > slot + 256))
        note(notes, n,
             arena_printf(mem,
                          "--server-args would give a slot %lld tokens of context, the server's "
                          "has %lld: are they its arguments?",
                          (long long)slot, (long long)server->slot_context_tok));
    return OK;
}

err_code plan_check(const session_spec *spec, const server_info *server, const server_args *args,
                    bool args_told, arena *mem, const char **notes, size_t *n, err *e) {
    int64_t need = session_context_tok(spec);
    if (server->slot_context_tok > 0 && need > server->slot_context_tok)
        return err_set(e, E_REFUSED, "session",
                       "an agent needs %lld tokens of context, the server has %lld for it: fewer "
                       "turns, or a server with a larger context (llama-server: -c, shared by the "
                       "slots)",
                       (long long)need, (long long)server->slot_context_tok);
    if (spec->pin && server->slots_n > 0 && server->slots_n < spec->K)
        return err_set(e, E_REFUSED, "session",
                       "%lld agents cannot have a slot each, the server has %lld: --parallel %lld "
                       "for the server, or --free-slots",
                       (long long)spec->K, (long long)server->slots_n, (long long)spec->K);
    if (server->vocab_n > 0 && spec->vocab_hi >= server->vocab_n)
        return err_set(e, E_REFUSED, "--vocab-hi", "%lld, the server's vocabulary ends at %lld",
                       (long long)spec->vocab_hi, (long long)server->vocab_n - 1);
    if (server->slots_n > 0 && server->slots_n < spec->K)
        note(notes, n, "fewer slots than agents: `ratecast validate` leaves such runs out");
    if (server->busy)
        note(notes, n, "the server was busy with somebody else's request when the session began");
    if (!spec->api->has_slots)
        note(notes, n,
             "`ratecast validate` replays llama-server's loop: it scores no other engine fairly");
    if (args_told) return check_args(server, args, mem, notes, n, e);
    note(
        notes, n,
        "the server's arguments are what it tells of itself, batch sizes and split KV are taken as "
        "its defaults: --server-args \"llama-server -m ...\" states them");
    return OK;
}
