/* Timings that llama.cpp prints: of a process (llama_print_timings, llama_perf_context_print; 2023
 * without tokens per second) and of each request of llama-server (2023 print_timings, 2024 with
 * id_slot=, since then "slot print_timing: id N | task N |", on the line before or on the same
 * one). "prompt eval ... tokens" are those evaluated; what came from the cache follows from the
 * slot's other lines. Items are found anywhere in a line, as a collapsed paste leaves them.
 * llama-speculative prints two models, the draft and the target: rates of drafting and checking. */
#include "import_llama.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SLOTS_MAX = 64, DONE_MAX = 128 };

/* What the lines before said of the task in a slot. */
typedef struct slot {
    int64_t id, task;                    /* -1: none */
    int64_t prompt, reused, common, end; /* -1: not stated */
    bool busy, truncated, shared;        /* shared: another slot was busy meanwhile */
} slot;

typedef struct request {
    bool any, perf, have_prompt, have_gen, runs, warm;
    bool old;         /* print_timings of 2023: of a request, without the slot's name */
    const char *role; /* "draft" or "target" of a speculative run, "" if not said; NULL: none */
    size_t line;
    int64_t slot, task; /* -1: not stated */
    double load_ms, sample_ms, total_ms;
    int64_t sample_n;
    llama_request q;
} request;

typedef struct done {
    int64_t slot, task;
    size_t row, rows_n;
} done;

typedef struct log_reader {
    import *in;
    const char *file;
    slot slots[SLOTS_MAX];
    size_t slots_n;
    request now;
    int64_t slot, task; /* of the line at hand, else of the last print_timing */
    done done[DONE_MAX];
    size_t done_n, runs_n, requests_n;
    const char *setting[IMPORT_SETTINGS_N];
    bool warm;              /* the next process of the log takes part of its prompt from a cache */
    bool old;               /* the line at hand is of print_timings of 2023 */
    bool serves;            /* a server of 2023: what it prints of a process is of a request */
    const char *role;       /* of the next process */
    size_t models_left;     /* processes that belong to the speculative run at hand */
    int64_t drafted, taken; /* tokens of that run; -1: not stated */
} log_reader;

/* "slot NAME: id  1 | task 2209 |", or id_slot and id_task with '=' or as JSON. */
static bool ids_of(const char *line, int64_t *slot_id, int64_t *task) {
    const char *t = strstr(line, "| task "), *id = strstr(line, ": id ");
    if (t && id && id < t) {
        *slot_id = number_behind(id, ": id ");
        *task = number_behind(t, "| task ");
        return *slot_id >= 0;
    }
    bool newer = strstr(line, "id_slot") != NULL;
    if (!newer && !strstr(line, "slot_id")) return false;
    *slot_id = number_behind(line, newer ? "id_slot" : "slot_id");
    *task = number_behind(line, newer ? "id_task" : "task_id");
    return *slot_id >= 0;
}

/* ---- slots ---- */

static slot *slot_of(log_reader *r, int64_t id) {
    for (size_t i = 0; i < r->slots_n; i++)
        if (r->slots[i].id == id) return &r->slots[i];
    size_t at = r->slots_n < SLOTS_MAX ? r->slots_n++ : (size_t)id % SLOTS_MAX;
    r->slots[at] = (slot){id, -1, -1, -1, -1, -1, false, false, false};
    return &r->slots[at];
}

/* The slot's facts, new when another task begins in it. */
static slot *slot_with(log_reader *r, int64_t id, int64_t task) {
    slot *s = slot_of(r, id);
    if (task >= 0 && s->task != task) *s = (slot){id, task, -1, -1, -1, -1, false, false, false};
    return s;
}

static void begin_task(log_reader *r, slot *s) {
    s->busy = true;
    for (size_t i = 0; i < r->slots_n; i++)
        if (r->slots[i].busy && r->slots[i].id != s->id) r->slots[i].shared = s->shared = true;
}

static void record_fact(log_reader *r, const slot *s, size_t line) {
    import *in = r->in;
    import_warn(in, r->file, line,
                "task %lld: the whole prompt is computed again although %lld tokens of it were "
                "there: plan for this model without reuse",
                (long long)s->task, (long long)(s->common > 0 ? s->common : 0));
    if (!import_record_new(in, r->file, line, IMPORT_SUMMARY, 6)) return;
    import_record_num(in, "slot", (double)s->id);
    if (s->task >= 0) import_record_num(in, "task", (double)s->task);
    if (s->prompt >= 0) import_record_num(in, "prompt_tokens", (double)s->prompt);
    if (s->common >= 0) import_record_num(in, "common_prefix", (double)s->common);
    import_record_num(in, "reused", 0);
}

static void slot_facts(log_reader *r, const char *line, size_t at) {
    slot *s = slot_with(r, r->slot, r->task);
    if (strstr(line, "launch_slot") && r->task >= 0) begin_task(r, s);
    if (strstr(line, "new prompt")) {
        int64_t n = number_behind(line, "task.n_tokens");
        s->prompt = n >= 0 ? n : number_behind(line, "n_prompt_tokens");
    }
    if (strstr(line, "prompt.tokens.size") || strstr(line, "cache_tokens.size"))
        s->common = number_behind(line, "n_past");
    if (strstr(line, "forcing full prompt re-processing")) {
        record_fact(r, s, at);
        s->reused = 0;
    }
    int64_t from = number_behind(line, "memory_seq_rm [");
    if (from < 0) from = number_behind(line, "kv cache rm [");
    if (from < 0 && strstr(line, "kv cache rm [p0"))
        from = number_behind(line, strstr(line, "p0=") ? "p0=" : "\"p0\"");
    if (from >= 0 && s->reused < 0) s->reused = from; /* later ones follow the prompt's batches */
    if (!strstr(line, "stop processing") && !strstr(line, "slot released")) return;
    int64_t end = number_behind(line, "n_tokens");
    s->end = end >= 0 ? end : number_behind(line, "n_past");
    s->truncated = number_behind(line, "truncated") > 0 || strstr(line, "truncated=true");
    s->busy = false;
}

/* 2023: "slot 0 is processing [task id: 7]", "slot 0 : in cache: 10 tokens | to process: 20
 * tokens", "slot 0 : kv cache rm - [10, end)", "slot 0 released (31 tokens in cache)". true: the
 * slot is done. */
static bool old_slot_facts(log_reader *r, const char *line, int64_t *id) {
    const char *p = strstr(line, "slot ");
    *id = p && p[5] >= '0' && p[5] <= '9' ? number_behind(p, "slot ") : -1;
    if (*id < 0) return false;
    if (strstr(p, "is processing [task id:")) {
        begin_task(r, slot_with(r, *id, number_behind(p, "task id:")));
        return false;
    }
    slot *s = slot_of(r, *id);
    int64_t from = number_behind(p, "kv cache rm - [");
    if (from < 0) from = number_behind(p, ": in cache:");
    if (from >= 0 && s->reused < 0) s->reused = from;
    if (!strstr(p, "released (")) return false;
    s->busy = false;
    return true;
}

/* print_timings of 2023 does not name its slot: it is told when one is busy alone. */
static void the_busy_slot(log_reader *r) {
    size_t n = 0;
    r->slot = r->task = -1;
    for (size_t i = 0; i < r->slots_n; i++)
        if (r->slots[i].busy && n++ == 0) r->slot = r->slots[i].id, r->task = r->slots[i].task;
    if (n > 1) r->slot = r->task = -1;
}

/* ---- a request is complete ---- */

/* What was in the slot before the prompt: stated, or what the counts at the end leave. */
static int64_t cached_of(log_reader *r, const request *q, const slot *s) {
    int64_t left = s && s->end >= 0 && !s->truncated && q->q.prompt_n >= 0 && q->q.gen_n > 0
                       ? s->end - q->q.prompt_n - (q->q.gen_n - 1)
                       : -1;
    int64_t whole = s && s->prompt >= 0 && q->q.prompt_n >= 0 ? s->prompt - q->q.prompt_n : -1;
    int64_t stated = whole >= 0 ? whole : s ? s->reused : -1;
    if (stated >= 0 && left >= 0 && stated != left && q->q.draft_n <= 0)
        import_warn(r->in, r->file, q->line,
                    "task %lld: %lld tokens came from the cache by its prompt, %lld by the tokens "
                    "at its end",
                    (long long)q->task, (long long)stated, (long long)left);
    return stated >= 0 ? stated : left;
}

static void share_rows(log_reader *r, const done *d) {
    for (size_t i = d->row; i < d->row + d->rows_n; i++)
        if (!r->in->rows[i].refused)
            r->in->rows[i].refused = "another slot computed meanwhile: how many sequences shared "
                                     "the steps is not stated";
}

/* A task that began later and ended before this one ran beside it. */
static void find_overlap(log_reader *r, const done *d, bool shared) {
    for (size_t i = 0; i < DONE_MAX && i < r->done_n; i++) {
        const done *other = &r->done[i];
        if (other->slot == d->slot || other->task <= d->task || d->task < 0) continue;
        share_rows(r, other);
        shared = true;
    }
    if (shared) share_rows(r, d);
    r->done[r->done_n++ % DONE_MAX] = *d;
}

/* Tokens were thrown out when the slot was full: the steps behind that are at no stated depth. */
static void say_truncated(log_reader *r, const request *q, size_t row) {
    static const char WHY[] = "the slot was full and its context was cut (truncated = 1): the "
                              "depth of the steps is not stated";
    import_warn(r->in, r->file, q->line, "%s", WHY);
    for (size_t i = row; i < r->in->rows_n; i++)
        if (!r->in->rows[i].refused) r->in->rows[i].refused = WHY;
}

static void finish_request(log_reader *r, request *q) {
    import *in = r->in;
    const slot *s = NULL;
    for (size_t i = 0; i < r->slots_n && q->slot >= 0; i++)
        if (r->slots[i].id == q->slot && r->slots[i].task == q->task) s = &r->slots[i];
    q->q.cached = cached_of(r, q, s);
    size_t rows = in->rows_n;
    r->requests_n++;
    if (!import_record_new(in, r->file, q->line, IMPORT_REQUEST, 18)) return;
    if (q->slot >= 0) import_record_num(in, "slot", (double)q->slot);
    if (q->task >= 0) import_record_num(in, "task", (double)q->task);
    request_record(in, &q->q, "prompt_tokens_evaluated");
    import_record_stated(in, "total_ms", q->total_ms);
    if (s && s->end >= 0) import_record_num(in, "n_tokens_end", (double)s->end);
    if (s && s->truncated) import_record_num(in, "truncated", 1);
    request_rows(in, r->file, q->line, &q->q);
    if (s && s->truncated) say_truncated(r, q, rows);
    done d = {q->slot, q->task, rows, in->rows_n - rows};
    find_overlap(r, &d, s && s->shared);
}

/* Of the draft, the target or the only model of a run that guesses tokens and checks them. */
static void say_role(log_reader *r, const request *q, size_t row) {
    static const char WHY[] = "a speculative run: its steps draft or check tokens, so this is no "
                              "rate of a prompt or of plain decoding";
    bool any = false;
    for (size_t i = row; i < r->in->rows_n; i++) {
        any = any || !r->in->rows[i].refused;
        r->in->rows[i].refused = WHY;
    }
    if (any) import_warn(r->in, r->file, q->line, "%s", WHY);
}

static void finish_process(log_reader *r, request *q) {
    import *in = r->in;
    if (r->requests_n > 0) {
        import_warn(in, r->file, q->line,
                    "sums of the whole server process behind its requests: no request, skipped");
        return;
    }
    q->q.sums = true;
    q->q.cached = q->warm || r->serves ? -1 : 0;
    if (!import_record_new(in, r->file, q->line, IMPORT_SUMMARY, 20)) return;
    import_record_num(in, "run", (double)++r->runs_n);
    if (q->role && *q->role) import_record_text(in, "model", q->role);
    request_record(in, &q->q, "prompt_tokens");
    import_record_stated(in, "load_ms", q->load_ms);
    import_record_stated(in, "sample_ms", q->sample_ms);
    if (q->sample_n >= 0) import_record_num(in, "sample_runs", (double)q->sample_n);
    import_record_stated(in, "total_ms", q->total_ms);
    if (q->load_ms > 0.1 * q->total_ms)
        import_warn(in, r->file, q->line,
                    "load time is %.0f %% of the total: not part of a request",
                    100 * q->load_ms / q->total_ms);
    size_t rows = in->rows_n;
    request_rows(in, r->file, q->line, &q->q);
    if (q->role) say_role(r, q, rows);
    for (size_t i = rows; i < in->rows_n; i++)
        if (!in->rows[i].refused) {
            import_warn(in, r->file, q->line,
                        "sums of a process: a rate at this prompt length and depth only if it ran "
                        "one prompt");
            break;
        }
}

static void flush(log_reader *r) {
    request q = r->now;
    r->now.any = false;
    if (!q.any || (!q.have_prompt && !q.have_gen)) return;
    if (!q.old && (q.perf || (q.runs && q.slot < 0)))
        finish_process(r, &q);
    else
        finish_request(r, &q);
}

/* ---- lines ---- */

/* The process that begins belongs to a speculative run: the counts of it are the target's. */
static void take_role(log_reader *r) {
    bool target = r->role && strcmp(r->role, "target") == 0;
    r->now.role = r->role ? r->role : r->models_left > 0 ? "" : NULL;
    r->role = NULL;
    if (r->models_left > 0) r->models_left--;
    if (!target) return;
    r->now.q.draft_n = r->drafted;
    r->now.q.draft_accepted = r->taken;
    r->models_left = 0;
    r->drafted = r->taken = -1;
}

static void begin_request(log_reader *r, size_t line, bool perf) {
    flush(r);
    r->now = (request){.any = true,
                       .perf = perf,
                       .line = line,
                       .warm = r->warm,
                       .old = r->old,
                       .slot = perf ? -1 : r->slot,
                       .task = perf ? -1 : r->task,
                       .sample_n = -1,
                       .load_ms = (double)NAN,
                       .sample_ms = (double)NAN,
                       .total_ms = (double)NAN};
    r->warm = false;
    const char *const *setting = r->setting;
    r->now.q = (llama_request){.prompt_n = -1,
                               .gen_n = -1,
                               .cached = -1,
                               .draft_n = -1,
                               .draft_accepted = -1,
                               .prompt_ms = (double)NAN,
                               .gen_ms = (double)NAN,
                               .prompt_tok_s = (double)NAN,
                               .gen_tok_s = (double)NAN};
    memcpy(r->now.q.setting, setting, sizeof r->now.q.setting);
    if (perf) take_role(r);
}

/* Does this item belong to a request that the one at hand is not? */
static bool is_new(const log_reader *r, const time_item *it, bool perf) {
    const request *q = &r->now;
    if (!q->any || q->perf != perf) return true;
    if (!perf && (q->slot != r->slot || q->task != r->task)) return true;
    switch (it->kind) {
    case ITEM_LOAD:
        return q->have_prompt || q->have_gen || isfinite(q->load_ms);
    case ITEM_SAMPLE:
        return q->have_gen || isfinite(q->sample_ms);
    case ITEM_PROMPT:
        return q->have_prompt || q->have_gen;
    case ITEM_GEN:
        return q->have_gen;
    case ITEM_TOTAL:
        return isfinite(q->total_ms);
    case ITEM_OTHER:
        break;
    }
    return false;
}

static double rate_of(const time_item *it) {
    if (isfinite(it->tok_s) || it->undefined || it->n <= 0 || !(it->ms > 0)) return it->tok_s;
    return (double)it->n / it->ms * 1000; /* 2023: the line has ms per token only */
}

static void take_item(log_reader *r, const import_line *l, const time_item *it, bool perf,
                      bool comma) {
    if (is_new(r, it, perf)) {
        if (it->kind == ITEM_TOTAL) return; /* of nothing that was read */
        begin_request(r, l->number, perf);
    }
    request *q = &r->now;
    double exact;
    switch (it->kind) {
    case ITEM_LOAD:
        q->load_ms = it->ms;
        break;
    case ITEM_SAMPLE:
        q->sample_ms = it->ms;
        q->sample_n = it->n;
        break;
    case ITEM_TOTAL:
        q->total_ms = it->ms;
        break;
    case ITEM_PROMPT:
        exact = time_behind(l->s, "t_prompt_processing", comma);
        q->have_prompt = true;
        q->q.prompt_n = it->n;
        q->q.prompt_ms = isfinite(exact) ? exact : it->ms;
        q->q.prompt_tok_s = rate_of(it);
        q->q.prompt_undefined = it->undefined;
        q->line = l->number;
        break;
    case ITEM_GEN:
        exact = time_behind(l->s, "t_token_generation", comma);
        q->have_gen = true;
        q->q.gen_n = it->n;
        q->q.gen_ms = isfinite(exact) ? exact : it->ms;
        q->q.gen_tok_s = rate_of(it);
        q->q.gen_undefined = it->undefined;
        q->runs = it->runs;
        break;
    case ITEM_OTHER:
        break;
    }
}

/* "draft acceptance rate = 0.37500 (    3 accepted /     8 generated)" behind the times. */
static void take_draft(log_reader *r, const char *line) {
    const char *p = strstr(line, "draft acceptance");
    const char *open = p ? strchr(p, '(') : NULL, *slash = open ? strchr(open, '/') : NULL;
    if (!slash || !r->now.any || !strchr(slash, ')')) return;
    r->now.q.draft_accepted = number_behind(open, "(");
    r->now.q.draft_n = number_behind(slash, "/");
}

/* What llama-speculative says before the times of its two models: "n_drafted = 132", "n_accept  =
 * 47", then "draft:" and "target:" alone on their lines. */
static void speculative_line(log_reader *r, const char *line, size_t len) {
    static const char *const ROLES[] = {"draft", "target"};
    if (strstr(line, "n_drafted") && strchr(line, '=')) {
        flush(r);
        r->drafted = number_behind(line, "n_drafted");
        r->models_left = 2;
    }
    if (strstr(line, "n_accept ") && strchr(line, '=')) {
        if (r->models_left == 0) flush(r), r->models_left = 1; /* llama-lookahead: one model */
        r->taken = number_behind(line, "n_accept ");
    }
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t')) len--;
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(ROLES[i]);
        if (len < n + 1 || line[len - 1] != ':' || strncmp(line + len - n - 1, ROLES[i], n) != 0)
            continue;
        size_t before = len - n - 1;
        bool alone = strspn(line, " \t") >= before;
        if (alone || (r->models_left > 0 && line[before - 1] == ' ')) r->role = ROLES[i];
    }
}

/* Another server: its tasks are counted from 0 again. */
static void restart(log_reader *r) {
    flush(r);
    r->slots_n = r->done_n = 0;
    r->slot = r->task = -1;
}

/* print_timings of 2023, and the lines around it. */
static void read_old(log_reader *r, const import_line *l, bool perf) {
    int64_t id;
    r->old = !perf && strstr(l->s, "print_timings:") != NULL;
    if (strstr(l->s, "log_server_request") || strstr(l->s, "server listening")) r->serves = true;
    if (r->old) the_busy_slot(r);
    if (!l->ended || !old_slot_facts(r, l->s, &id)) return;
    if (r->now.any && r->now.old && r->now.slot == id) flush(r);
    slot_of(r, id)->task = -1; /* done, whichever times are its */
}

static void read_line(log_reader *r, const import_line *l) {
    bool perf = strstr(l->s, "llama_print_timings") || strstr(l->s, "llama_perf_") ||
                strstr(l->s, "common_perf_print");
    bool comma = number_text_has_decimal_comma(l->s, l->len);
    int64_t slot_id = -1, task = -1;
    bool ids = ids_of(l->s, &slot_id, &task);
    time_item it;
    size_t at = 0;
    if (strstr(l->s, "starting the main loop")) restart(r);
    if (strstr(l->s, "prefix-match hit")) r->warm = true; /* llama-cpp-python, before the times */
    if (l->ended && !ids && at == 0) log_settings(r->in->mem, l->s, r->setting);
    if (ids) {
        bool other = r->now.slot == slot_id && r->now.task != task && task >= 0;
        if (other && !r->now.perf) flush(r); /* while its slot's facts are there */
        r->slot = slot_id;
        r->task = task;
        if (l->ended) slot_facts(r, l->s, l->number);
    }
    if (!ids) read_old(r, l, perf);
    if (l->ended) take_draft(r, l->s);
    if (l->ended) speculative_line(r, l->s, l->len);
    if (!l->ended && (strstr(l->s, "| tid") || *l->s == '{'))
        return; /* the digits that count come behind */
    while (next_time_item(l->s, &at, comma, l->ended, &it)) take_item(r, l, &it, perf, comma);
    if (ids && strstr(l->s, "print_timing") == NULL && r->now.any && !r->now.perf &&
        (strstr(l->s, "stop processing") || strstr(l->s, "slot released")) &&
        r->now.slot == slot_id && r->now.task == task)
        flush(r);
}

/* A request that a slot still computes when the log ends has no timing, and is none. */
static void tell_unfinished(log_reader *r) {
    for (size_t i = 0; i < r->slots_n; i++) {
        const slot *s = &r->slots[i];
        bool counted = false;
        for (size_t k = 0; k < DONE_MAX && k < r->done_n; k++)
            counted = counted || (r->done[k].slot == s->id && r->done[k].task == s->task);
        if (s->task >= 0 && !counted)
            import_warn(r->in, r->file, 0,
                        "task %lld in slot %lld has no timing: the log ends before it, no request",
                        (long long)s->task, (long long)s->id);
    }
}

static err_code read_log(import *in, import_text *t) {
    log_reader *r = ARENA_NEW(in->mem, log_reader);
    if (!r) return err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
    r->in = in;
    r->file = import_keep(in, import_text_name(t));
    r->slot = r->task = -1;
    r->drafted = r->taken = -1;
    import_line l;
    while (!in->e->code && import_text_line(t, &l)) {
        read_line(r, &l);
        if (!l.ended)
            import_warn(in, r->file, l.number,
                        "the text ends in this line: only what is closed in it is used");
    }
    if (!in->e->code) flush(r);
    if (!in->e->code) tell_unfinished(r);
    return in->e->code;
}

/* ---- detection ---- */

static bool has_times(const file_bytes *f) {
    return import_holds(f, "eval time") && import_holds(f, " ms");
}

static bool of_server(const file_bytes *f) {
    return import_holds(f, "slot print_timing") || import_holds(f, "print_timings]") ||
           import_holds(f, "| task ") || import_holds(f, "id_slot") ||
           import_holds(f, " print_timings:") || import_holds(f, "\nprint_timings:") ||
           import_holds(f, "\"slot_id\"");
}

static int detect_server(const file_bytes *f) {
    return has_times(f) && of_server(f) ? 60 : 0;
}

static int detect_perf(const file_bytes *f) {
    return has_times(f) && !of_server(f) ? 50 : 0;
}

static const import_format PERF = {
    .name = "llama_perf_log",
    .about = "llama.cpp timings (llama_perf_context_print)",
    .detect = detect_perf,
    .read = read_log,
    .engine = "llama.cpp",
};

static const import_format SERVER = {
    .name = "llama_server_log",
    .about = "llama-server logs",
    .detect = detect_server,
    .read = read_log,
    .engine = "llama.cpp",
};

const import_format *const IMPORT_LLAMA_LOG_FORMATS[] = {&PERF, &SERVER, &IMPORT_LLAMA_SERVER_JSON,
                                                         NULL};
