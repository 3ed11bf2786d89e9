/* What the readers of llama.cpp's tools share: labels of tests, settings by column name, rows that
 * say the same thing twice, and the state of a text that holds tables. */
#ifndef RATECAST_IMPORT_LLAMA_H
#define RATECAST_IMPORT_LLAMA_H

#include "import.h"
#include "import_number.h"
#include "import_table.h"

/* ---- tests ---- */

/* "pp512", "tg 128", "pp512+tg128", "tg32 @ d4096", "tg64@pp512". */
typedef struct bench_test {
    int64_t pp, tg, depth;
    bool depth_stated;
    char label[64]; /* without the depth, always written one way */
} bench_test;

/* false: no label of a test. A unit behind it ("pp512 t/s") is taken. */
bool bench_test_parse(const char *cell, bench_test *out);
/* Fills `label` from the counts. */
void bench_label(bench_test *t);
/* A row of a test at `tok_s`; NULL: memory. Says why it cannot be a term. */
import_row *bench_row(import *in, const char *file, size_t line, const bench_test *t, double tok_s,
                      double std);
/* Warns that a rate is no finite number > 0 and refuses the row; false: it was refused. */
bool bench_rate_usable(import *in, import_row *r, number_kind kind, double v, const char *what);

/* ---- settings ---- */

/* The setting that a column of llama-bench, of its comparison or of its data base names;
 * IMPORT_SETTINGS_N: none. */
import_setting bench_setting(const char *column);
/* Takes a cell as that setting; texts of numbers come out as JSON writes them. `mem` holds them. */
void bench_set(arena *mem, const char **setting, const char *column, const char *cell);
/* "models/7B/x.gguf" -> "x" */
const char *bench_stem(arena *mem, const char *path);
/* A key of a record from a header: "Main GPU" -> "main_gpu". */
const char *bench_key(import *in, const char *header);
/* Cell without Markdown's bold and code marks, into out. */
const char *bench_plain(const char *cell, char *out, size_t size);
/* Has the record that was begun last a value of that key? */
bool bench_record_has(const import *in, const char *key);
/* A value of a record: a number where the whole cell is one. A key that the record has already is
 * passed over. */
void bench_record_cell(import *in, const char *key, const char *cell);

/* ---- the same thing twice ---- */

typedef struct bench_key_of {
    const char *text;
    size_t row;
} bench_key_of;

typedef struct bench_keys {
    bench_key_of *v;
    size_t n, cap;
    bool points; /* rows with the times of their repetitions: two runs are two points */
} bench_keys;

/* `text` says all that the row was run with. */
void bench_keys_add(import *in, bench_keys *k, const char *text, size_t row);
/* Rows of one key and one build: the same value again counts once; another value is a conflict, and
 * none of them is used (of points both, when they are within a tenth). */
void bench_keys_check(import *in, const bench_keys *k);

/* ---- tables in a text ---- */

typedef enum table_kind {
    TABLE_NONE,
    TABLE_BENCH,
    TABLE_COMPARE,
    TABLE_PIVOT,
    TABLE_BATCHED,
    TABLE_SWEEP
} table_kind;

typedef struct llama_table {
    import *in;
    const char *file;
    table_kind kind;
    cells header;
    size_t header_line, tables_n, rows_n; /* rows_n: of this table */
    size_t first_row;                     /* of in->rows, in this table */
    bool all_std_zero, only_header;       /* no line behind the header yet */
    bool bare;                            /* without the outer pipes */
    buf part; /* the first half of a row that a narrow terminal broke between two cells */
    size_t part_line, part_n;
    buf devices; /* of the banner */
    bool devices_used;
    const char *config[IMPORT_SETTINGS_N]; /* of the line above a batched-bench table */
    int shared, separate;                  /* -1: not stated */
    size_t last_decode;                    /* index + 1 of the decode row before */
    size_t aborted[16], aborted_n;
    bool perf_told, error_told;
    bench_keys keys;
} llama_table;

/* Which table a header begins. */
table_kind table_kind_of(const cells *header);
/* Column whose name is `word`, or begins with it before a blank (a unit); -1: none. */
int table_column(const cells *header, const char *word);
/* One data row with as many cells as the header has (an `ot` cell may hold more pipes). */
void table_bench_row(llama_table *t, size_t line, cells *row);
void table_compare_row(llama_table *t, size_t line, const cells *row);
void table_pivot_row(llama_table *t, size_t line, const cells *row);
void table_batched_row(llama_table *t, size_t line, const char *text, const cells *row);
/* "n_kv_max = 2048, n_batch = 512, ..." */
void table_config(llama_table *t, const char *line);

/* ---- llama-batched-bench ---- */

/* Does n_kv fit? With one prompt for several sequences it tells the KV layouts apart: unified KV
 * holds the prompt once, split KV a copy for each sequence. */
bool batched_layout(int64_t pp, int64_t tg, int64_t pl, int64_t n_kv, bool shared,
                    kv_layout *layout);
/* A measured fall stays as it is; whoever made it may want to know. `before` may be NULL. */
void batched_fall(import *in, const import_row *before, const import_row *r);

/* ---- timings in logs ---- */

typedef enum item_kind {
    ITEM_OTHER,
    ITEM_LOAD,
    ITEM_SAMPLE,
    ITEM_PROMPT,
    ITEM_GEN,
    ITEM_TOTAL
} item_kind;

/* "prompt eval time = 406.30 ms / 10 tokens (40.63 ms per token, 24.61 tokens per second)" */
typedef struct time_item {
    item_kind kind;
    double ms, tok_s;
    int64_t n;
    bool undefined; /* nan or inf tokens per second */
    bool runs;      /* "runs" where others say "tokens" */
} time_item;

/* The next "LABEL time = ..." of a line from *at on. `ended`: the line has its terminator; without
 * it only an item that closes its parenthesis counts. */
bool next_time_item(const char *line, size_t *at, bool comma, bool ended, time_item *out);
/* The whole number behind WORD and any of " =:\"["; -1: not there. */
int64_t number_behind(const char *line, const char *word);
/* The same of a time in ms with a fraction; NaN: not there. */
double time_behind(const char *line, const char *word, bool comma);

/* The name of a device in a line of its backend's banner; false: another line. */
bool banner_device(const char *line, char *out, size_t size);
/* What a program of llama.cpp says of itself at its start: build, model, device, batches, KV. Texts
 * are of `mem`. */
void log_settings(arena *mem, const char *line, const char **setting);

/* ---- requests ---- */

/* One request of llama-server, or the sums of one process. */
typedef struct llama_request {
    int64_t prompt_n, gen_n; /* evaluated, generated; -1: not stated */
    int64_t cached;          /* of the prompt, before it; -1: not stated */
    double prompt_ms, gen_ms, prompt_tok_s, gen_tok_s; /* NaN: not stated */
    bool prompt_undefined, gen_undefined;              /* printed as nan or inf */
    int64_t draft_n, draft_accepted;                   /* -1: not stated */
    bool sums; /* of a process: the prompts in it are not told apart, `cached` is 0 */
    const char *setting[IMPORT_SETTINGS_N];
} llama_request;

/* The values that every source of requests states; up to 12 of a record that is begun. */
void request_record(import *in, const llama_request *q, const char *prompt_key);
/* The rates as rows; what no card may use says why. *few: fewer tokens than tell a rate. */
void request_rows(import *in, const char *file, size_t line, const llama_request *q);

extern const import_format IMPORT_LLAMA_CSV, IMPORT_LLAMA_SQL, IMPORT_SWEEP_JSONL,
    IMPORT_LLAMA_SERVER_JSON;

#endif
