/* `ratecast-bench run`: the plan on paper or for real, and the card. */
#include "cmd_run.h"
#include "commands.h"

#include "cli/card_summary.h"
#include "cli/cli.h"
#include "gguf.h"
#include "machine.h"
#include "process.h"
#include "run_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const opt_spec OPTS[] = {
    {"model", 'm', "FILE", "GGUF to measure", false},
    {"shape", 0, "NAME", "instead: write a GGUF of this shape with random weights, beside the card",
     false},
    {"quant", 0, "NAME", "of --shape: f16, q8_0, q4_0 or q4_k_m (default)", false},
    {"output", 'o', "CARD",
     "the card, CARD.json; raw outputs and the plan go to the folder CARD.raw", false},
    {"minutes", 0, "N", "time budget (default 10); a run ends within one and a half of it", false},
    {"memory-gib", 0, "N",
     "memory budget (default: free memory of the device, as llama-bench says)", false},
    {"dry-run", 0, NULL, "print the commands with estimates, run nothing", false},
    {"resume", 0, NULL, "insist on going on with CARD.raw (it is gone on with anyway)", false},
    OPT_JSON,
    {"llama-bench", 0, "FILE", "the program (default: from PATH)", false},
    {"batched-bench", 0, "FILE", "llama-batched-bench (default: from PATH)", false},
    {"kv-unified", 0, NULL, "one KV buffer for all sequences, as llama-server has by default",
     false},
    {"shared-prompt", 0, NULL, "batched: one prompt for all sequences", false},
    {"batch", 0, "N", "n_batch of the engine", false},
    {"ubatch", 0, "N", "n_ubatch of the engine", false},
    {"flash-attn", 0, "WORD", "on (default), off or auto", false},
    {"gpu-layers", 0, "N", "layers on the device (default 99: all)", false},
    {"threads", 0, "N", "threads of the host", false},
    {"prompts", 0, "LIST", "lengths of prompts", false},
    {"depths", 0, "LIST", "depths, most wanted first", false},
    {"sequences", 0, "LIST", "batch sizes of decode", false},
    {"contexts", 0, "LIST", "contexts of batched decode, most wanted first", false},
    {"samples", 0, "N", "repetitions of a llama-bench test (default 5)", false},
    {"repeats", 0, "N", "runs of a llama-batched-bench command (default 3)", false},
    {"conditions", 0, "TEXT", "conditions for the card, instead of load, power and heat as read",
     false},
    {"machine", 0, "NAME",
     "hardware.id of the card (default: the host's name, as sessions have it)", false},
    {"layers", 0, "N", "layers (default: from the file or the shape; so the next three)", false},
    {"full-attention-layers", 0, "N", "layers that keep KV per token", false},
    {"kv-heads", 0, "N", "KV heads of a layer", false},
    {"head-dim", 0, "N", "size of a KV head", false},
    OPT_HELP};

enum { SEED = 1 };
static const double GIB = 1024.0 * 1024 * 1024;

/* ---- on paper ---- */

static void say_guesses(const run_job *j, const char *memory_source, double bytes, bool guessed) {
    fprintf(stderr, "%s: memory budget %.2f GiB (%s)%s\n", cli_program, bytes / GIB, memory_source,
            guessed ? ": --memory-gib N where there is more or less" : "");
    if (j->kv_guessed)
        fprintf(stderr,
                "%s: the KV bytes of a token are not known, counted as %lld; --layers, --kv-heads "
                "and --head-dim would say them\n",
                cli_program, (long long)RUN_KV_GUESS_BYTES);
}

static err_code dry_run(const run_job *j, err *e) {
    const run_request *r = &j->request;
    machine_memory m = {r->memory_bytes, "--memory-gib", 0};
    if (m.bytes == 0) m = machine_memory_guess(r->model.weights_bytes, j->mem);
    grid_speed speed = grid_speed_guess(&r->model);
    grid g;
    if (grid_make(&r->want, &r->model, &speed, r->time_s, m.bytes, j->mem, &g, e)) return e->code;
    buf out;
    buf_init(&out);
    if (opts_has(j->o, "json"))
        run_report_plan_json(&g, &out);
    else
        run_report_plan(&g, &out);
    say_guesses(j, m.source, (double)m.bytes, m.guessed);
    fprintf(stderr,
            "%s: estimates for a device of %.0f tok/s prefill and %.1f ms a decode step; a run "
            "measures these first, asks the device for its memory, and plans again\n",
            cli_program, speed.prefill_tok_s, 1e3 * speed.step_s);
    (void)file_write(NULL, out.s, out.len, e);
    buf_done(&out);
    return e->code;
}

/* ---- for real ---- */

typedef struct view {
    bool terminal;
    double said_s; /* of the step, when the line was drawn last */
} view;

static bool on_tick(const run_plan *p, size_t i, double elapsed_s, void *arg) {
    view *v = arg;
    if (v->terminal && (elapsed_s < v->said_s || elapsed_s - v->said_s > 0.5)) {
        buf b;
        buf_init(&b);
        run_report_progress(p, i, elapsed_s, &b);
        fprintf(stderr, "\r\033[K%.78s", b.s);
        fflush(stderr);
        buf_done(&b);
        v->said_s = elapsed_s;
    }
    return process_caught() == 0;
}

static void on_end(const run_plan *p, size_t i, void *arg) {
    const view *v = arg;
    buf b;
    buf_init(&b);
    run_report_step(p, i, &b);
    fprintf(stderr, "%s%s: %s", v->terminal ? "\r\033[K" : "", cli_program, b.s);
    buf_done(&b);
}

static bool on_write(int64_t done, int64_t all, void *arg) {
    view *v = arg;
    double now = process_clock_s();
    if (v->terminal && now - v->said_s > 0.5) {
        fprintf(stderr, "\r\033[Kwriting the model: %.1f of %.1f GiB", (double)done / GIB,
                (double)all / GIB);
        fflush(stderr);
        v->said_s = now;
    }
    return process_caught() == 0;
}

/* The GGUF of a shape is written once; only a whole one has its name. */
static err_code write_model(const run_job *j, view *v, err *e) {
    const char *path = j->request.want.model;
    struct stat st;
    if (!j->shape || stat(path, &st) == 0) return OK;
    fprintf(stderr, "%s: writing %s, %.2f GiB of random weights; remove it when you are done\n",
            cli_program, path, (double)j->request.model.weights_bytes / GIB);
    (void)gguf_write(path, j->shape, j->q, SEED, on_write, v, e);
    if (v->terminal) fputs("\r\033[K", stderr);
    return e->code;
}

/* The tools' own log lines stand between results and are nothing to tell one by one. */
static void say_import(const import_notes *notes, const char *kind) {
    size_t skipped = 0;
    for (size_t i = 0; i < notes->n; i++) {
        const import_note *k = &notes->v[i];
        if (strncmp(k->what, "blank line", 10) == 0 || strncmp(k->what, "no JSON", 7) == 0)
            skipped++;
        else if (k->line)
            fprintf(stderr, "%s: %s:%zu: %s%s\n", cli_program, k->file, k->line, kind, k->what);
        else
            fprintf(stderr, "%s: %s: %s%s\n", cli_program, k->file, kind, k->what);
    }
    if (skipped)
        fprintf(stderr, "%s: %zu blank and log lines of the tools skipped\n", cli_program, skipped);
    if (notes->more) fprintf(stderr, "%s: and %zu more notes\n", cli_program, notes->more);
}

/* What a projection on the card would be refused for; the lines above say how to supply it. */
static void say_lacks(const card_abilities *can) {
    const struct {
        const char *what;
        bool there;
    } NEEDS[] = {{"decode", can->decode},
                 {"prefill", can->prefill},
                 {"the KV bytes of a token", can->kv},
                 {"the weights", can->weights}};
    const char *between = "      no `ratecast project` on it yet: it lacks ";
    for (size_t i = 0; i < sizeof NEEDS / sizeof *NEEDS; i++) {
        if (NEEDS[i].there) continue;
        fprintf(stderr, "%s%s", between, NEEDS[i].what);
        between = ", ";
    }
    fputs(" (see above)\n", stderr);
}

static void say_next(const run_job *j, const card_abilities *can) {
    buf b;
    buf_init(&b);
    buf_add_word(&b, j->card_path);
    const char *here = strchr(j->card_path, '/') ? "" : "./";
    fprintf(stderr, "next: ratecast show %s%s\n", here, b.s);
    if (can->decode && can->prefill && can->kv && can->weights)
        fprintf(stderr, "      ratecast project --card %s%s -K %d -H 20 -P 4096\n", here, b.s,
                can->batches ? 4 : 1);
    else
        say_lacks(can);
    if (can->decode || can->prefill) fprintf(stderr, "      ratecast fit %s%s\n", here, b.s);
    buf_done(&b);
}

/* The card is loaded again before it is written: no file that `check` would refuse. */
static err_code write_card(run_job *j, const run_plan *p, const import *in, err *e) {
    const card *c = NULL;
    card_library none = {0};
    buf text;
    buf_init(&text);
    j->card.note = arena_printf(
        j->mem, "measured by ratecast-bench " RATECAST_VERSION " run%s; conditions: %s",
        j->shape ? " on random weights of this shape" : "", p->conditions);
    if (import_card_text(in, &j->card, &text, e) == OK) {
        file_bytes f = {.name = j->card_path, .s = text.s, .len = text.len};
        if (card_parse(&none, &f, j->mem, &c, e) == OK &&
            file_write(j->card_path, text.s, text.len, e) == OK) {
            const card_abilities can = card_summary(in, c, j->mem);
            say_next(j, &can);
        }
    }
    buf_done(&text);
    return e->code;
}

static bool any_failed(const run_plan *p) {
    for (size_t i = 0; i < p->n; i++)
        if (p->steps[i].state == RUN_FAILED) return true;
    return false;
}

/* What was measured becomes a card, and what was not is said. Returns the exit code. */
static int conclude(run_job *j, run_plan *p, err *e) {
import in = import_new(j->mem, e);
    buf b;
    buf_init(&b);
    int code = 0;
    if (runner_import(p, &in, e) == OK) {
        say_import(&in.warnings, "warning: ");
        say_import(&in.errors, "");
        run_cold cold = runner_cold(&in);
        run_report_end(p, &cold, &b);
        fprintf(stderr, "%s: %s", cli_program, b.s);
        bool written = write_card(j, p, &in, e) == OK;
        if (opts_has(j->o, "json")) {
            buf_reset(&b);
            run_report_json(p, &cold, written ? j->card_path : NULL, &b);
            (void)file_write(NULL, b.s, b.len, e);
        }
        code = any_failed(p) || in.errors.n ? 4 : 0;
    }
    buf_done(&b);
    return e->code ? cli_fail(e) : code;
}

static int interrupted(const run_job *j, const run_plan *p, const view *v) {
    size_t done = 0;
    for (size_t i = 0; i < p->n; i++) done += p->steps[i].state == RUN_DONE;
    fprintf(stderr,
            "%s%s: interrupted; %zu commands are measured and kept in %s, the same command goes "
            "on from there\n",
            v->terminal ? "\r\033[K" : "", cli_program, done, j->folder);
    return 128 + process_caught();
}

static int measure(run_job *j, err *e) {
    view v = {.terminal = isatty(STDERR_FILENO) == 1};
    run_watch w = {on_tick, on_end, &v};
    run_plan p = {0};
    bool stopped = false;
    process_catch_signals();
    if (runner_open(&j->request, j->mem, &p, e)) {
        runner_close(&p);
        return cli_fail(e);
    }
    say_guesses(j, p.memory_source, (double)p.memory_bytes, p.memory_guessed);
    if (machine_load_per_core() > 0.5)
        fprintf(stderr, "%s: warning: this machine is busy (load %.1f a core), which costs speed\n",
                cli_program, machine_load_per_core());
    if (p.resumed) fprintf(stderr, "%s: going on with %s\n", cli_program, j->folder);
    bool wrote = write_model(j, &v, e) == OK;
    if (wrote) (void)runner_measure(&p, &w, &stopped, e);
    int code = stopped || process_caught() ? interrupted(j, &p, &v)
               : e->code                   ? cli_fail(e)
                                           : conclude(j, &p, e);
    runner_close(&p);
    return code;
}

static int run(const opts *o) {
    run_job *j = calloc(1, sizeof *j);
    arena *mem = j ? arena_new((size_t)OUTPUT_BUDGET_MIB << 20) : NULL;
    err e = {0};
    int code = 0;
    if (!mem) {
        free(j);
        return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    }
    j->o = o;
    j->mem = mem;
    if (run_job_make(j, &e))
        code = cli_fail(&e);
    else if (opts_has(o, "dry-run"))
        code = dry_run(j, &e) ? cli_fail(&e) : 0;
    else
        code = measure(j, &e);
    arena_free(mem);
    free(j);
    return code;
}

const command CMD_RUN = {
    .name = "run",
    .operands = "",
    .summary = "measure llama.cpp on this machine, make a rate card of it",
    .example =
        "examples:\n"
        "  ratecast-bench run --model model.gguf -o my-gpu.json --dry-run\n"
        "  ratecast-bench run --shape qwen2.5-7b --quant q4_k_m -o my-gpu.json --minutes 20\n\n"
        "Ctrl-C keeps what was measured; the same command goes on. Exit code 4: a tool is missing\n"
        "or failed (the card then holds what was measured), 130: interrupted.\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
