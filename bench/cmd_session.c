#include "commands.h"
#include "machine.h"
#include "session_plan.h"
#include "session_report.h"

#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const opt_spec OPTS[] = {
    {"url", 0, "URL", "the server (default http://127.0.0.1:8080)", false},
    {"api", 0, "NAME", "llama, openai or auto: llama if it has /props (default auto)", false},
    {"agents", 'K', "N", "agents (default 4)", false},
    {"turns", 'H', "N", "turns of each agent (default 20)", false},
    {"prefix", 'P', "N", "shared prefix tokens (default 4096)", false},
    {"delta-in", 0, "N", "new prompt tokens a turn (default 128)", false},
    {"turn-out", 0, "N", "output tokens a turn (default 64)", false},
    {"turn-shape", 0, "SHAPE",
     "delta_first (default), or result_after: the first prompt is the prefix alone", false},
    {"scenario", 0, "FILE", "take the workload from a scenario; options above win", false},
    {"arm", 0, "NAME", "arm of the scenario: its cache policy, and the run's name", false},
    {"pin", 0, NULL, "agent k has slot k (default where there are slots)", false},
    {"free-slots", 0, NULL, "the server chooses the slots", false},
    {"no-cache", 0, NULL, "cache_prompt false: whole prompts are computed", false},
    {"serial", 0, NULL, "one agent after another", false},
    {"tool-latency", 0, "S", "pause between a turn and the next (default 0)", false},
    {"stagger", 0, "S", "agent k starts k times that late (default 0)", false},
    {"seed", 0, "N", "of the token ids (default 1000 + the number of runs in RUNS_DIR)", false},
    {"vocab-hi", 0, "N", "largest token id of a prompt (default: the server's, else 31999)", false},
    {"model", 0, "NAME", "as the rate card has it (default: the model file's name)", false},
    {"machine", 0, "NAME", "the card's hardware.id (default: the host's name)", false},
    {"use", 0, "WORD", "score (default), or calibrate: `fit` may read it", false},
    {"arm-name", 0, "NAME", "of the run (default: by what is asked for)", false},
    {"run-id", 0, "ID", "default MODEL-K4-P4096-ARM-rN", false},
    {"server-args", 0, "TEXT", "the server's whole command line", false},
    {"patched-server", 0, NULL, "the server is not a stock one", false},
    {"warm-up", 0, "N", "turns of each agent before the run, not recorded (default 0)", false},
    {"timeout", 0, "S", "of a turn (default 600)", false},
    {"output", 'o', "RUNS_DIR", "folder that the run is added to", false},
    OPT_RATES,
    {"dry-run", 0, NULL, "say what would be sent, and send nothing", false},
    OPT_JSON,
    OPT_HELP};

typedef struct plan {
    const opts *o;
    session_spec spec;
    witness_meta meta;
    server_info server;
    server_args args;
    bool api_given, pin_given, seed_given, vocab_given;
    int64_t warm_up;
    const char *notes[PLAN_NOTES_MAX];
    size_t notes_n;
} plan;

static const int64_t TURNS_MAX = WORKLOAD_TURNS_MAX, TOK_MAX = WORKLOAD_TOK_MAX;
static const double TIME_MAX_S = 1e6, DISCOVER_S = 10;

static volatile sig_atomic_t interrupted;

static void on_signal(int sig) {
    (void)sig;
    interrupted = 1;
}

/* ---- options ---- */

static void where_of(const char *name, char out[64]) {
    snprintf(out, 64, "--%s", name);
}

static void whole(const opts *o, const char *name, int64_t min, int64_t max, int64_t *out, err *e) {
    const char *s = opts_get(o, name);
    char where[64], *end;
    if (!s) return;
    where_of(name, where);
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (errno || end == s || *end || v < min || v > max)
        err_set(e, E_USAGE, where, "found \"%s\", expected a whole number from %lld to %lld", s,
                (long long)min, (long long)max);
    else
        *out = v;
}

static void seconds(const opts *o, const char *name, double min, double *out, err *e) {
    const char *s = opts_get(o, name);
    char where[64], *end;
    if (!s) return;
    where_of(name, where);
    double v = strtod(s, &end);
    if (end == s || *end || !(v >= min && v <= TIME_MAX_S))
        err_set(e, E_USAGE, where, "found \"%s\", expected seconds from %g to %g", s, min,
                TIME_MAX_S);
    else
        *out = v;
}

static void exclude(const opts *o, const char *a, const char *b, err *e) {
    if (opts_has(o, a) && opts_has(o, b))
        err_set(e, E_USAGE, "session", "--%s and --%s exclude each other", a, b);
}

static void read_scenario(plan *p, card_library *lib, arena *mem, err *e) {
    const char *path = opts_get(p->o, "scenario");
    const scenario *s = NULL;
    if (!path && opts_has(p->o, "arm"))
        err_set(e, E_USAGE, "--arm", "expected --scenario FILE, whose arm it is");
    if (!path || e->code || scenario_load(path, lib, NULL, 0, mem, &s, e)) return;
    (void)plan_from_scenario(s, opts_get(p->o, "arm"), &p->spec, &p->meta.arm, e);
}

static void read_api(plan *p, err *e) {
    const char *name = opts_get(p->o, "api");
    p->spec.api = &SERVER_LLAMA;
    if (!name || strcmp(name, "auto") == 0) return;
    p->api_given = true;
    if (strcmp(name, "openai") == 0)
        p->spec.api = &SERVER_OPENAI;
    else if (strcmp(name, "llama") != 0)
        err_set(e, E_USAGE, "--api", "found \"%s\", expected llama, openai or auto", name);
}

static void read_shape(plan *p, err *e) {
    const char *name = opts_get(p->o, "turn-shape");
    if (!name) return;
    p->spec.result_after = strcmp(name, TURN_SHAPE_NAMES[SHAPE_RESULT_AFTER]) == 0;
    if (!p->spec.result_after && strcmp(name, TURN_SHAPE_NAMES[SHAPE_DELTA_FIRST]) != 0)
        err_set(e, E_USAGE, "--turn-shape", "found \"%s\", expected delta_first or result_after",
                name);
}

static void read_workload(plan *p, err *e) {
    const opts *o = p->o;
    session_spec *s = &p->spec;
    whole(o, "agents", 1, 1000, &s->K, e);
    whole(o, "turns", 1, TURNS_MAX, &s->H, e);
    whole(o, "prefix", 0, TOK_MAX, &s->P, e);
    whole(o, "delta-in", 0, TOK_MAX, &s->din, e);
    whole(o, "turn-out", 1, TOK_MAX, &s->out, e);
    read_shape(p, e);
    seconds(o, "tool-latency", 0, &s->tool_s, e);
    seconds(o, "stagger", 0, &s->stagger_s, e);
    seconds(o, "timeout", 0.001, &s->timeout_s, e);
    s->serial |= opts_has(o, "serial");
    if (opts_has(o, "no-cache")) s->cache = false;
    if (e->code == OK && session_first_tok(s) == 0)
        err_set(e, E_USAGE, "session", "an empty first prompt: expected --prefix%s > 0",
                s->result_after ? "" : " or --delta-in");
    if (e->code == OK && (s->K > TURNS_MAX / s->H || s->H > TOK_MAX / (s->din + s->out)))
        err_set(e, E_USAGE, "session", "too many turns or tokens");
    if (e->code == OK && session_context_tok(s) > TOK_MAX)
        err_set(e, E_USAGE, "session", "a context of more than %lld tokens", (long long)TOK_MAX);
    if (e->code == OK && s->serial && s->stagger_s > 0)
        err_set(e, E_USAGE, "session", "--serial and --stagger exclude each other");
}

static err_code read_options(plan *p, card_library *lib, arena *mem, err *e) {
    const opts *o = p->o;
    int64_t seed = 0;
    p->spec = (session_spec){
        .K = 4, .H = 20, .P = 4096, .din = 128, .out = 64, .timeout_s = 600, .cache = true};
    p->spec.vocab_hi = 31999; /* the end of the smallest vocabulary in wide use */
    p->meta.use = USE_SCORE;
    exclude(o, "pin", "free-slots", e);
    read_scenario(p, lib, mem, e);
    read_api(p, e);
    read_workload(p, e);
    whole(o, "seed", 0, INT64_C(1) << 32, &seed, e);
    whole(o, "vocab-hi", SESSION_VOCAB_LO, INT32_MAX - 1, &p->spec.vocab_hi, e);
    whole(o, "warm-up", 0, p->spec.H, &p->warm_up, e);
    p->seed_given = opts_has(o, "seed");
    p->vocab_given = opts_has(o, "vocab-hi");
    p->spec.seed = p->seed_given ? (uint64_t)seed : 1000;
    p->spec.pin = !opts_has(o, "free-slots");
    p->meta.patched_server = opts_has(o, "patched-server");
    if (opts_get(o, "arm-name")) p->meta.arm = opts_get(o, "arm-name");
    const char *use = opts_get(o, "use");
    if (use && strcmp(use, "calibrate") == 0)
        p->meta.use = USE_CALIBRATE;
    else if (use && strcmp(use, "score") != 0)
        err_set(e, E_USAGE, "--use", "found \"%s\", expected score or calibrate", use);
    const char *args = opts_get(o, "server-args");
    p->meta.server_args_told = args != NULL;
    if (e->code == OK && args) (void)plan_split_args(args, mem, &p->args, e);
    if (e->code == OK && !opts_has(o, "dry-run") && !opts_get(o, "output"))
        err_set(e, E_USAGE, "session", "expected -o RUNS_DIR, the folder that the run is added to");
    return e->code;
}

/* What the API cannot do is found out before anything is sent. */
static err_code fit_api(plan *p, err *e) {
    session_spec *s = &p->spec;
    if (!s->api->has_slots) {
        if (opts_has(p->o, "pin"))
            return err_set(e, E_USAGE, "--pin", "the %s API has no slots", s->api->name);
        s->pin = false;
    }
    if (!s->cache && !s->api->can_skip_cache)
        return err_set(e, E_USAGE, "--no-cache",
                       "the %s API cannot ask for it: start the server without its prefix cache",
                       s->api->name);
    if (!p->meta.arm)
        p->meta.arm = s->serial                     ? "serial"
                      : !s->cache                   ? "naive"
                      : s->api->has_slots && s->pin ? "slot-isolated"
                                                    : "server-default";
    return OK;
}

/* ---- before the session ---- */

static err_code find_server(plan *p, http *h, arena *mem, err *e) {
    err no_props = {0};
    session_spec *s = &p->spec;
    if (s->api->discover(h, DISCOVER_S, mem, &p->server, &no_props) == OK) return OK;
    /* /props of another server is not found; no answer at all is the same on every path */
    err no_models = {0};
    if (!p->api_given && SERVER_OPENAI.discover(h, DISCOVER_S, mem, &p->server, &no_models) == OK) {
        s->api = &SERVER_OPENAI;
        return OK;
    }
    return err_set(e, no_props.code, no_props.where, "%s", no_props.what);
}

static const char *base_name(const char *path, arena *mem) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base);
    if (n > 5 && strcmp(base + n - 5, ".gguf") == 0) n -= 5;
    return arena_printf(mem, "%.*s", (int)n, base);
}

static err_code name_things(plan *p, arena *mem, err *e) {
    const opts *o = p->o;
    p->spec.model_id = p->server.model_id;
    if (!p->vocab_given && p->server.vocab_n > SESSION_VOCAB_LO + 1)
        p->spec.vocab_hi = p->server.vocab_n - 1;
    p->meta.model = opts_get(o, "model");
    if (!p->meta.model) {
        const char *from = p->server.model_path ? p->server.model_path : p->server.model_id;
        p->meta.model = from ? base_name(from, mem) : "unknown";
    }
    p->meta.machine = opts_get(o, "machine");
    if (!p->meta.machine) p->meta.machine = machine_name(mem);
    if (!p->meta.server_args_told && plan_args_of(&p->server, mem, &p->args, e)) return e->code;
    p->meta.server_args = p->args.arg;
    p->meta.server_args_n = p->args.n;
    p->meta.server = &p->server;
    p->meta.client = arena_printf(mem, "ratecast-bench %s", RATECAST_VERSION);
    if (!p->meta.model || !p->meta.machine || !p->meta.client)
        return err_set(e, E_LIMIT, "session", "does not fit the memory budget");
    if (!*p->meta.model || !*p->meta.machine || !*p->meta.arm)
        return err_set(e, E_USAGE, "session", "found an empty name of model, machine or arm");
    return OK;
}

static err_code name_run(plan *p, arena *mem, err *e) {
    int64_t runs_n = 0;
    const char *stem = arena_printf(mem, "%s-K%lld-P%lld-%s", p->meta.model, (long long)p->spec.K,
                                    (long long)p->spec.P, p->meta.arm);
    if (!stem) return err_set(e, E_LIMIT, "session", "does not fit the memory budget");
    if (witness_next_id(opts_get(p->o, "output"), opts_get(p->o, "run-id"), stem, mem,
                        &p->meta.run_id, &p->meta.rep, &runs_n, e))
        return e->code;
    /* no two runs of a folder by the same ids: a server may still hold those of the one before */
    if (!p->seed_given) p->spec.seed = 1000 + (uint64_t)runs_n;
    return OK;
}

/* ---- the session ---- */

static void show_progress(void *arg, int64_t done, int64_t all, double at_s) {
    fprintf(stderr, "\r%s: %lld of %lld turns, %.1f s ", (const char *)arg, (long long)done,
            (long long)all, at_s);
}

static err_code run_shown(const session_spec *s, http *h, const char *name, arena *mem,
                          session_log *log, err *e) {
    bool shown = isatty(STDERR_FILENO);
    (void)session_run(s, h, &interrupted, shown ? show_progress : NULL, (void *)name, mem, log, e);
    if (shown) fprintf(stderr, "\r%60s\r", "");
    return e->code;
}

/* The same turns with other ids, so that the run finds none of them again. */
static err_code run_warm_up(plan *p, http *h, err *e) {
    session_spec s = p->spec;
    session_log log;
    if (p->warm_up == 0) return OK;
    s.H = p->warm_up;
    s.seed += UINT64_C(1) << 31;
    s.tool_s = s.stagger_s = 0;
    arena *mem = arena_new((size_t)INPUT_BUDGET_MIB << 20);
    if (!mem) return err_set(e, E_NOMEM, "session", "out of memory");
    if (run_shown(&s, h, "warm-up", mem, &log, e) == OK && log.errors_n > 0)
        err_set(e, E_EXTERN, "warm-up", "%s", log.errors[0]);
    p->meta.warm_up_turns_n = s.K * s.H;
    arena_free(mem);
    return e->code;
}

static void catch_signals(void) {
    /* once: whoever presses the keys again means it */
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    struct sigaction old;
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup */
        sigaction(SIGHUP, &act, NULL);
}

static void note(plan *p, const char *text) {
    if (text && p->notes_n < PLAN_NOTES_MAX) p->notes[p->notes_n++] = text;
}

/* What is not as it should be, though nothing failed. */
static void note_log(plan *p, const session_log *log, arena *mem) {
    int64_t found = 0;
    if (log->foreign_ids_n > 0)
        note(p, arena_printf(mem,
                             "the server did not tell %lld of its generated token ids: random ones "
                             "stand for them in the prompts, where reuse ends",
                             (long long)log->foreign_ids_n));
    if (log->uncounted_n > 0)
        note(p, arena_printf(mem,
                             "the server did not say of %lld turns how many tokens it reused: "
                             "recorded as 0 (vLLM: --enable-prompt-tokens-details)",
                             (long long)log->uncounted_n));
    for (size_t i = 0; i < log->n; i++)
        if (log->turns[i].turn == 1 && log->turns[i].agent == 0) found = log->turns[i].cached_tok;
    if (p->spec.cache && found > 1)
        note(p, arena_printf(mem,
                             "the first turn found %lld tokens of its prompt in the server's "
                             "cache, left by another run of the same --seed?",
                             (long long)found));
}

/* Writes the run and says it; true: it has no errors. */
static bool write_run(plan *p, const session_log *log, arena *mem, err *e) {
    buf run_line, turn_lines, text;
    witness_seen seen;
    session_report r = {.dir = opts_get(p->o, "output"),
                        .spec = &p->spec,
                        .meta = &p->meta,
                        .log = log,
                        .seen = &seen,
                        .notes = p->notes};
    buf_init(&run_line);
    buf_init(&turn_lines);
    buf_init(&text);
    note_log(p, log, mem);
    r.notes_n = p->notes_n;
    if (witness_text(&p->spec, log, &p->meta, mem, &run_line, &turn_lines, &seen, e) == OK &&
        witness_append(opts_get(p->o, "output"), p->meta.run_id, &run_line, &turn_lines, e) == OK) {
        if (opts_has(p->o, "json"))
            report_session_json(&r, &run_line, &text);
        else
            report_session(&r, &text);
        fputs(text.s, stdout);
    }
    buf_done(&run_line);
    buf_done(&turn_lines);
    buf_done(&text);
    return e->code == OK && log->errors_n == 0;
}

static err_code dry_run(const plan *p, err *e) {
    buf first, text;
    buf_init(&first);
    buf_init(&text);
    if (session_first_body(&p->spec, &first, e) == OK) {
        report_session_plan(&p->spec, p->meta.url, p->warm_up, &first, &text);
        fputs(text.s, stdout);
    }
    buf_done(&first);
    buf_done(&text);
    return e->code;
}

static err_code record(plan *p, http *h, arena *mem, bool *fine, err *e) {
    session_log log = {0};
    int made = 0;
    const char *dir = opts_get(p->o, "output");
    if (find_server(p, h, mem, e) || fit_api(p, e) || name_things(p, mem, e) ||
        name_run(p, mem, e) ||
        plan_check(&p->spec, &p->server, &p->args, p->meta.server_args_told, mem, p->notes,
                   &p->notes_n, e) ||
        witness_make(dir, &made, e))
        return e->code;
    catch_signals();
    if (run_warm_up(p, h, e) == OK) {
        p->meta.slots_erased =
            p->spec.api->forget && p->spec.api->forget(h, DISCOVER_S, p->server.slots_n);
        if (run_shown(&p->spec, h, p->meta.run_id, mem, &log, e) == OK)
            *fine = write_run(p, &log, mem, e);
    }
    if (e->code) witness_unmake(dir, made);
    if (e->code == E_EXTERN && interrupted) {
        err dropped = *e;
        *e = (err){0};
        err_set(e, E_EXTERN, dropped.where,
                "interrupted: the run is dropped, what %s had before stays", dir);
    }
    if (e->code == OK && log.errors_n > 0)
        fprintf(stderr, "%s: %s: %s; run %s is recorded with its errors, and no use to score\n",
                cli_program, p->meta.url, log.errors[0], p->meta.run_id);
    return e->code;
}

static err_code body(const opts *o, card_library *lib, arena *mem, bool *fine, err *e) {
    plan p = {.o = o};
    http *h = NULL;
    const char *url = opts_get(o, "url") ? opts_get(o, "url") : "http://127.0.0.1:8080";
    if (read_options(&p, lib, mem, e) || http_new(url, &h, e)) return e->code;
    p.meta.url = http_url(h);
    if (!opts_has(o, "dry-run"))
        (void)record(&p, h, mem, fine, e);
    else if (fit_api(&p, e) == OK)
        *fine = dry_run(&p, e) == OK;
    http_free(h);
    return e->code;
}

static int run(const opts *o) {
    arena *mem = arena_new((size_t)OUTPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    err e = {0};
    bool fine = false;
    card_library lib = cli_library(o);
    int code = body(o, &lib, mem, &fine, &e) ? cli_fail(&e) : fine ? 0 : 1;
    if (e.code == E_EXTERN && interrupted) code = 130; /* as a shell says it of SIGINT */
    arena_free(mem);
    return code;
}

const command CMD_SESSION = {
    .name = "session",
    .operands = "",
    .summary = "drive a running server with K agents over a shared prefix, and record every turn\n"
               "as a witnessed run that `ratecast validate` scores projections on",
    .example =
        "example:\n"
        "  llama-server -m model.gguf -np 4 -no-kvu -c 32768 --cache-ram 0 --slot-save-path . &\n"
        "  ratecast-bench session -K 4 -H 20 -P 4096 --model my-model --machine my-gpu \\\n"
        "    --server-args \"llama-server -m model.gguf -np 4 -no-kvu -c 32768\" -o my-runs\n"
        "  ratecast validate my-runs --card CARD\n"
        "exit codes: 1: a turn failed, the run is recorded with its error, 130: interrupted.\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
