/* mlx_lm.benchmark: first without batch_size, then with it, then with total_time; its rates are of
 * the whole batch. Often only its averages are quoted, below the command. mlx_lm.generate (and
 * batch_generate): with the number of tokens, or older without. Memory is in GB of 10^9 bytes. */
#include "import_local.h"
#include "import_number.h"
#include "import_table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TRIALS_MAX = 256, LINE_KEPT = 160 };

/* ---- mlx_lm.benchmark ---- */

typedef struct trial {
    size_t line;
    double prompt_tok_s, gen_tok_s, memory_gb, total_s;
} trial;

typedef struct bench {
    import *in;
    const char *file;
    size_t line, averages_line;
    double prompt_tok, gen_tok, batch;
    /* the lengths: printed, or of a command that goes on in the next line */
    bool timing, command, goes_on, averages, faulty;
    const char *model, *label;
    trial average, trials[TRIALS_MAX];
    size_t trials_n;
    char last[LINE_KEPT];
} bench;

/* The number behind "key="; a line that the file ends in has whole numbers only where all three
 * decimals are there. */
static double keyed(bench *b, const import_line *l, const char *key) {
    size_t n = strlen(key);
    bool comma = number_text_has_decimal_comma(l->s, l->len);
    for (const char *p = l->s; (p = strstr(p, key)); p++) {
        bool starts = p == l->s || (!isalnum((unsigned char)p[-1]) && p[-1] != '_');
        if (!starts || p[n] != '=') continue;
        number v = number_at(p + n + 1, comma);
        if (!l->ended && v.decimals < 3) return (double)NAN;
        if (v.kind == NUMBER_OK && v.v >= 0) return v.v;
        import_fault(b->in, b->file, l->number, "%s is \"%.24s\", expected a finite number >= 0",
                     key, p + n + 1);
        b->faulty = true;
        return (double)NAN;
    }
    return (double)NAN;
}

static trial trial_of(bench *b, const import_line *l) {
    return (trial){.line = l->number,
                   .prompt_tok_s = keyed(b, l, "prompt_tps"),
                   .gen_tok_s = keyed(b, l, "generation_tps"),
                   .memory_gb = keyed(b, l, "peak_memory"),
                   .total_s = keyed(b, l, "total_time")};
}

static void add_values(import *in, const trial *t) {
    import_record_stated(in, "prompt_tok_s", t->prompt_tok_s);
    import_record_stated(in, "gen_tok_s", t->gen_tok_s);
    import_record_stated(in, "peak_memory_gb", t->memory_gb);
    import_record_stated(in, "total_s", t->total_s);
}

static void add_records(bench *b) {
    import *in = b->in;
    if (b->averages && import_record_new(in, b->file, b->averages_line, IMPORT_SUMMARY, 10)) {
        if (b->model) import_record_text(in, "model", b->model);
        if (b->label) import_record_text(in, "label", b->label);
        import_record_stated(in, "prompt_tokens", b->prompt_tok);
        import_record_stated(in, "gen_tokens", b->gen_tok);
        import_record_stated(in, "batch", b->batch);
        if (b->timing || b->trials_n) import_record_num(in, "trials", (double)b->trials_n);
        add_values(in, &b->average);
    }
    for (size_t i = 0; i < b->trials_n; i++)
        if (import_record_new(in, b->file, b->trials[i].line, IMPORT_TRIAL, 5)) {
            import_record_num(in, "trial", (double)(i + 1));
            add_values(in, &b->trials[i]);
        }
}

/* All trials as times of one measurement: the average stays what the tool printed. */
static void add_samples(bench *b, import_row *row) {
    bool prefill = row->phase == IMPORT_PREFILL;
    double tok = (prefill ? b->prompt_tok : b->gen_tok) * (double)row->batch_n, sum = 0;
    double *v = ARENA_ARRAY(b->in->mem, double, b->trials_n);
    for (size_t i = 0; v && i < b->trials_n; i++) {
        double rate = prefill ? b->trials[i].prompt_tok_s : b->trials[i].gen_tok_s;
        if (!(rate > 0 && isfinite(tok / rate))) return;
        v[i] = tok / rate;
        sum += rate;
    }
    if (!v || b->trials_n == 0) return;
    double mean = sum / (double)b->trials_n;
    if (fabs(mean - row->tok_s) > mean * 0.001 + 0.001) {
        import_refuse(b->in, row, "the average %.6g tok/s contradicts its trials, %.6g tok/s",
                      row->tok_s, mean);
        return;
    }
    row->samples_s = v;
    row->samples_n = b->trials_n;
}

/* The lengths of a command are those of all that follows it; printed ones of one run. */
static void forget(bench *b) {
    if (!b->command) b->prompt_tok = b->gen_tok = b->batch = (double)NAN;
    b->timing = b->averages = b->faulty = false;
    b->label = NULL;
    b->trials_n = 0;
}

static void finish_bench(bench *b) {
    import *in = b->in;
    size_t first = in->rows_n;
    if (b->trials_n + b->averages == 0 && !b->timing) return;
    add_records(b);
    if (!b->averages)
        import_warn(in, b->file, b->trials_n ? b->trials[b->trials_n - 1].line : b->line,
                    "no averages: the run was cut off, its trials make no row");
    bool known = b->timing || b->command;
    if (!known)
        import_warn(in, b->file, b->averages_line,
                    "no \"Timing with\" line: the lengths are unknown, no row");
    if (b->averages && known) {
        local_run r = {.file = b->file,
                       .line = b->averages_line,
                       .batch_n = b->batch >= 1 && b->batch <= 1e6 ? (int64_t)b->batch : 1,
                       .prompt_tok = b->prompt_tok,
                       .prompt_s = (double)NAN,
                       .prompt_tok_s = b->average.prompt_tok_s,
                       .gen_tok = b->gen_tok,
                       .gen_s = (double)NAN,
                       .gen_tok_s = b->average.gen_tok_s};
        r.setting[IMPORT_ENGINE] = "mlx";
        r.setting[IMPORT_MODEL] = b->model;
        r.setting[IMPORT_LABEL] = b->label;
        local_run_rows(in, &r, !b->faulty);
        for (size_t i = first; i < in->rows_n; i++)
            if (!in->rows[i].refused) add_samples(b, &in->rows[i]);
    }
    forget(b);
}

/* The word behind one of two options, whose names end in a blank or in '='; NULL: not given. */
static const char *option(const char *line, const char *brief, const char *full) {
    const char *const names[] = {brief, full};
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(names[i]);
        for (const char *p = line; (p = strstr(p, names[i])); p++) {
            if (p != line && p[-1] != ' ' && p[-1] != '\t') continue;
            if (p[n] == ' ' || p[n] == '=') return p + n + 1 + strspn(p + n + 1, " ");
        }
    }
    return NULL;
}

static void take_length(const char *word, double *to) {
    if (!word) return;
    number n = number_at(word, false);
    bool whole = n.kind == NUMBER_OK && n.v >= 1 && n.v == floor(n.v) && n.decimals == 0;
    char next = word[n.len];
    *to = whole && !isalnum((unsigned char)next) && next != ',' && next != '.' ? n.v : (double)NAN;
}

/* "mlx_lm.benchmark --model M -p 128 -g 128 -b 32": one sequence where no -b is given. */
static bool take_command(bench *b, const import_line *l) {
    const char *at = strstr(l->s, "mlx_lm.benchmark ");
    if (!at) at = strstr(l->s, "mlx_lm benchmark ");
    if (!at && !b->goes_on) return false;
    const char *line = at ? at : l->s, *model = option(line, "-m", "--model"),
               *prompt = option(line, "-p", "--prompt-tokens"),
               *gen = option(line, "-g", "--generation-tokens"),
               *batch = option(line, "-b", "--batch-size");
    bool goes_on = l->len > 0 && l->s[l->len - 1] == '\\';
    if (at && !model && !prompt && !gen && !batch && !goes_on) return false; /* a word of a text */
    if (at) {
        finish_bench(b);
        b->prompt_tok = b->gen_tok = (double)NAN;
        b->batch = 1;
        b->command = true;
        b->model = NULL;
    }
    b->goes_on = goes_on;
    take_length(prompt, &b->prompt_tok);
    take_length(gen, &b->gen_tok);
    take_length(batch, &b->batch);
    if (model) {
        char word[LINE_KEPT];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(model, " \t`\"')\\"), model);
        b->model = import_keep(b->in, word);
    }
    return true;
}

static bool unequal(double a, double b) {
    return isfinite(a) && isfinite(b) && a != b;
}

static void take_timing(bench *b, const import_line *l) {
    double prompt = keyed(b, l, "prompt_tokens"), gen = keyed(b, l, "generation_tokens"),
           batch = keyed(b, l, "batch_size");
    if (!isfinite(batch)) batch = 1; /* before it existed there was one sequence */
    if (unequal(prompt, b->prompt_tok) || unequal(gen, b->gen_tok) || unequal(batch, b->batch)) {
        b->command = false; /* of another run */
        b->model = NULL;
    }
    b->line = l->number;
    b->prompt_tok = prompt;
    b->gen_tok = gen;
    b->batch = batch;
    b->timing = l->ended;
}

/* What is written before the figures: "Pre: Averages: prompt_tps=..." */
static void take_label(bench *b, const import_line *l) {
    char word[LINE_KEPT];
    const char *end = strstr(l->s, "Averages:"), *s = l->s + strspn(l->s, " \t>#*-");
    if (!end) end = strstr(l->s, "prompt_tps=");
    while (end > s && strchr(": \t,", end[-1])) end--;
    if (end <= s) return;
    snprintf(word, sizeof word, "%.*s", (int)(end - s), s);
    b->label = import_keep(b->in, word);
}

static void take_averages(bench *b, const import_line *l) {
    trial t = trial_of(b, l);
    if (b->averages && strcmp(b->last, l->s) == 0) {
        import_warn(b->in, b->file, l->number, "the same averages twice, counted once");
        return;
    }
    if (b->averages && (b->timing || b->trials_n)) {
        import_fault(b->in, b->file, l->number, "averages twice with two values");
        b->faulty = true;
        return;
    }
    if (b->averages) finish_bench(b);
    if (!isfinite(t.gen_tok_s) || !isfinite(t.prompt_tok_s)) {
        import_warn(b->in, b->file, l->number, "cut off or faulty: these averages are not used");
        return;
    }
    b->average = t;
    b->averages = true;
    b->averages_line = l->number;
    take_label(b, l);
    if (!b->timing && b->label && strpbrk(b->label, "0123456789")) { /* "-b 16: ..." */
        b->command = false;
        b->prompt_tok = b->gen_tok = b->batch = (double)NAN;
    }
}

static void take_trial(bench *b, const import_line *l) {
    trial t = trial_of(b, l);
    if (!isfinite(t.gen_tok_s)) {
        import_warn(b->in, b->file, l->number, "cut off or faulty: this trial is not used");
    } else if (strcmp(b->last, l->s) == 0) {
        import_warn(b->in, b->file, l->number, "the same line twice, counted once");
    } else if (b->trials_n == TRIALS_MAX) {
        import_fault(b->in, b->file, l->number, "more than %d trials", TRIALS_MAX);
        b->faulty = true;
    } else {
        b->trials[b->trials_n++] = t;
    }
}

static void take_bench_line(bench *b, const import_line *l) {
    bool rates = strstr(l->s, "prompt_tps=") && strstr(l->s, "generation_tps=");
    if (take_command(b, l)) return;
    if (strstr(l->s, "Timing with ") && strstr(l->s, "prompt_tokens")) {
        if (b->timing && strcmp(b->last, l->s) == 0) return;
        finish_bench(b);
        take_timing(b, l);
    } else if (strstr(l->s, "Trial ") && strstr(l->s, "_tps=")) {
        if (b->averages) finish_bench(b);
        take_trial(b, l);
    } else if (rates || (strstr(l->s, "Averages:") && strstr(l->s, "_tps="))) {
        take_averages(b, l);
    } else {
        return;
    }
    snprintf(b->last, sizeof b->last, "%s", l->s);
}

static err_code read_benchmark(import *in, import_text *t) {
    bench *b = ARENA_NEW(in->mem, bench);
    if (!b) return err_set(in->e, E_LIMIT, "", "the import does not fit the memory budget");
    *b = (bench){.in = in, .file = import_keep(in, import_text_name(t))};
    forget(b);
    size_t first = in->rows_n;
    import_line l;
    while (!in->e->code && import_text_line(t, &l)) take_bench_line(b, &l);
    finish_bench(b);
    local_run_conflicts(in, first);
    return in->e->code;
}

static int detect_benchmark(const file_bytes *f) {
    return import_holds(f, "prompt_tps=") && import_holds(f, "generation_tps=") ? 90 : 0;
}

/* ---- mlx_lm.generate ---- */

static const char UNIT[] = "tokens-per-sec";

typedef struct summary {
    import *in;
    const char *file;
    size_t line, runs_n;
    bool any, faulty;
    local_run r;
    double memory_gb;
    char last[LINE_KEPT];
} summary;

static void start_run(summary *s, size_t line) {
    s->any = s->faulty = false;
    s->memory_gb = (double)NAN;
    s->line = line;
    s->r = (local_run){.file = s->file, .batch_n = 1};
    s->r.prompt_tok = s->r.prompt_s = s->r.prompt_tok_s = (double)NAN;
    s->r.gen_tok = s->r.gen_s = s->r.gen_tok_s = (double)NAN;
    s->r.setting[IMPORT_ENGINE] = "mlx";
}

static void finish_run(summary *s) {
    import *in = s->in;
    if (!s->any) return;
    s->r.line = s->line;
    s->runs_n++;
    if (import_record_new(in, s->file, s->line, IMPORT_REQUEST, 7)) {
        import_record_num(in, "run", (double)s->runs_n);
        import_record_stated(in, "prompt_tokens", s->r.prompt_tok);
        import_record_stated(in, "prompt_tok_s", s->r.prompt_tok_s);
        import_record_stated(in, "gen_tokens", s->r.gen_tok);
        import_record_stated(in, "gen_tok_s", s->r.gen_tok_s);
        import_record_stated(in, "peak_memory_gb", s->memory_gb);
    }
    if (!isfinite(s->r.gen_tok_s))
        import_warn(in, s->file, s->line, "no decode rate: its Generation line is missing");
    if (!isfinite(s->r.prompt_tok) && isfinite(s->r.prompt_tok_s))
        import_warn(in, s->file, s->line,
                    "rates without a number of tokens: at what length is unknown, no row");
    local_run_rows(in, &s->r, !s->faulty);
}

/* "33898 tokens, 676.212 tokens-per-sec", or the rate alone. False: a text of that beginning, as a
 * prompt can be. */
static bool parse_rate(const char *s, double *tok, double *rate) {
    bool comma = number_text_has_decimal_comma(s, strlen(s));
    number n = number_at(s, comma);
    *tok = *rate = (double)NAN;
    const char *p = s + n.len;
    if (n.kind == NUMBER_NONE) return false;
    p += strspn(p, " ");
    if (strncmp(p, "token", 5) == 0 && strncmp(p, UNIT, sizeof UNIT - 1) != 0) {
        p += strcspn(p, ",");
        if (n.kind == NUMBER_OK && n.v == floor(n.v)) *tok = n.v;
        n = number_at(*p ? p + 1 : p, comma);
        if (n.kind == NUMBER_NONE) return false;
        p += 1 + n.len;
        p += strspn(p, " ");
    }
    if (strncmp(p, UNIT, sizeof UNIT - 1) != 0) return false;
    if (n.kind == NUMBER_OK) *rate = n.v;
    return true;
}

static void take_rate(summary *s, const import_line *l, double *to_tok, double *to_rate, double tok,
                      double rate) {
    if (s->any && strcmp(s->last, l->s) == 0) {
        import_warn(s->in, s->file, l->number, "the same line twice, counted once");
        return;
    }
    if (to_rate == &s->r.prompt_tok_s || isfinite(*to_rate)) {
        if (to_rate != &s->r.prompt_tok_s) {
            import_fault(s->in, s->file, l->number, "a second Generation line of one run");
            s->faulty = true;
            return;
        }
        finish_run(s);
        start_run(s, l->number);
    }
    if (!s->any) s->line = l->number;
    s->any = true;
    *to_tok = tok;
    *to_rate = rate > 0 ? rate : (double)NAN;
    if (!isfinite(*to_rate)) {
        import_fault(s->in, s->file, l->number, "found \"%.60s\", expected a finite rate > 0",
                     l->s);
        s->faulty = true;
    }
    snprintf(s->last, sizeof s->last, "%s", l->s);
}

static void take_memory(summary *s, const import_line *l, const char *value) {
    number n = number_at(value, number_text_has_decimal_comma(value, strlen(value)));
    const char *unit = value + n.len + strspn(value + n.len, " ");
    bool good = s->any && n.kind == NUMBER_OK && strncmp(unit, "GB", 2) == 0;
    if (good && isfinite(s->memory_gb) && s->memory_gb != n.v)
        import_warn(s->in, s->file, l->number, "a second peak memory of one run, not used");
    else if (good)
        s->memory_gb = n.v;
    else if (s->any)
        import_warn(s->in, s->file, l->number, "peak memory \"%.24s\" is not in GB, not used",
                    value);
}

static void take_line(summary *s, const import_line *l) {
    static const char BATCH[] = "[batch_generate]";
    const char *text = strncmp(l->s, BATCH, sizeof BATCH - 1) == 0 ? l->s + sizeof BATCH - 1 : l->s;
    const char *prompt = label_value(text, "Prompt"), *gen = label_value(text, "Generation"),
               *memory = label_value(text, "Peak memory");
    double tok, rate;
    if (prompt && parse_rate(prompt, &tok, &rate))
        take_rate(s, l, &s->r.prompt_tok, &s->r.prompt_tok_s, tok, rate);
    else if (gen && parse_rate(gen, &tok, &rate))
        take_rate(s, l, &s->r.gen_tok, &s->r.gen_tok_s, tok, rate);
    else if (memory)
        take_memory(s, l, memory);
    else if ((prompt || gen) && !l->ended)
        import_warn(s->in, s->file, l->number, "cut off: the file ends inside this line");
    if (text != l->s && s->any && !s->faulty) {
        import_warn(s->in, s->file, l->number,
                    "a batch of unknown size: its rates are of all sequences together, no row");
        s->faulty = true;
    }
}

static err_code read_generate(import *in, import_text *t) {
    summary s = {.in = in, .file = import_keep(in, import_text_name(t))};
    size_t first = in->rows_n;
    import_line l;
    start_run(&s, 0);
    while (!in->e->code && import_text_line(t, &l)) take_line(&s, &l);
    finish_run(&s);
    local_run_conflicts(in, first);
    return in->e->code;
}

static int detect_generate(const file_bytes *f) {
    return import_holds(f, UNIT) && (import_holds(f, "Prompt:") || import_holds(f, "Generation:"))
               ? 85
               : 0;
}

const import_format IMPORT_MLX_BENCHMARK = {
    .name = "mlx_benchmark",
    .about = "mlx_lm.benchmark",
    .detect = detect_benchmark,
    .read = read_benchmark,
};

const import_format IMPORT_MLX_GENERATE = {
    .name = "mlx_generate",
    .about = "mlx_lm.generate",
    .detect = detect_generate,
    .read = read_generate,
};
