/* Benchmark outputs of other tools -> records and rows -> a rate card.
 *
 * Every format is one entry of a table: a detector that looks at the content and a reader, which
 * goes through the text once and adds records and rows. A *record* is one measured thing as the
 * tool printed it (a line of a table, a request, the summary of a run): named values, nothing
 * dropped. A *row* is a rate that could become a term of a card, in one vocabulary; nothing is
 * averaged, fitted or guessed. What cannot become a term stays a row and says why (`refused`).
 * Faults are kept with file and line: a warning where the rest can be used as it stands, an error
 * where it cannot. Absent is never zero.
 */
#ifndef RATECAST_IMPORT_H
#define RATECAST_IMPORT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/jsonr.h"
#include "card.h"
#include "import_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORT_SCHEMA "ratecast.import/1"

typedef enum import_phase { IMPORT_PREFILL, IMPORT_DECODE, IMPORT_MIXED } import_phase;
extern const char *const IMPORT_PHASES[]; /* lower case, NULL-terminated */

/* What a row was run with. Rows that differ in one of these do not belong into one card (but see
 * `import_settings`). Values are texts, so that "not stated" (NULL) and 0 stay apart. */
typedef enum import_setting {
    IMPORT_MODEL, /* file name without folder and .gguf */
    IMPORT_MODEL_TYPE,
    IMPORT_MODEL_BYTES,
    IMPORT_PARAMS,
    IMPORT_BUILD,
    IMPORT_BACKEND,
    IMPORT_GPU,
    IMPORT_CPU,
    IMPORT_N_BATCH,
    IMPORT_N_UBATCH,
    IMPORT_TYPE_K,
    IMPORT_TYPE_V,
    IMPORT_FLASH_ATTN, /* 0, 1; -1: the engine chose */
    IMPORT_THREADS,
    IMPORT_GPU_LAYERS,
    IMPORT_CPU_MOE,
    IMPORT_SPLIT_MODE,
    IMPORT_MAIN_GPU,
    IMPORT_TENSOR_SPLIT,
    IMPORT_NO_KV_OFFLOAD,
    IMPORT_OVERRIDES,
    IMPORT_DEVICES,
    IMPORT_ENGINE,      /* llama.cpp, vllm, sglang, mlx, ollama ... */
    IMPORT_KV_LAYOUT,   /* as a text of the source */
    IMPORT_CACHE,       /* state of the prompt cache: cold, warm */
    IMPORT_SPECULATION, /* draft model or method */
    IMPORT_LOAD_MODE,   /* how the file is mapped */
    IMPORT_LABEL,       /* a name that the source gives the run: a branch, a table's caption */
    IMPORT_SIZE_TEXT,   /* of the weights, as a table prints it: "7.54 GiB" */
    IMPORT_PARAMS_TEXT, /* "7.62 B" */
    IMPORT_SETTINGS_N
} import_setting;

extern const struct import_setting_info {
    const char *key;  /* in ratecast.import/1 */
    const char *name; /* in messages */
    bool number;
} IMPORT_SETTINGS[IMPORT_SETTINGS_N];

/* Numbers that the source does not state are -1 (counts) or NaN (times, rates). */
typedef struct import_row {
    const char *file;
    size_t line;
    import_phase phase;
    int64_t n_prompt, n_gen; /* per sequence */
    int64_t depth_tok;       /* in the KV cache before the measurement */
    int64_t batch_n;         /* sequences together */
    bool shared_prompt;      /* one prompt, computed once, for all sequences */
    kv_layout layout;        /* where the output implies it */
    bool per_request;        /* tok_s is of one request, not of the whole batch */
    const double *samples_s; /* of the whole measurement, all n_prompt or n_gen tokens */
    size_t samples_n;
    double tok_s, tok_s_std; /* as printed, else from the samples */
    double per_seq_tok_s;
    const char *const *setting; /* IMPORT_SETTINGS_N, shared by rows that are set alike */
    const char *refused;        /* why no card may hold it; NULL: usable */
    const char *excluded;       /* why a card holds it without using it; NULL: used */
} import_row;

/* A value of a record: a number (NaN: printed as undefined, null in JSON) or a text. */
typedef struct import_value {
    const char *key;
    double v;
    const char *text; /* NULL: a number */
} import_value;

/* What a record tells of. */
typedef enum import_kind {
    IMPORT_TEST,    /* a row of a benchmark table */
    IMPORT_REQUEST, /* one request */
    IMPORT_SUMMARY, /* of a run of many requests */
    IMPORT_TRIAL    /* one of several repetitions that a summary stands for */
} import_kind;
extern const char *const IMPORT_KINDS[]; /* lower case, NULL-terminated */

typedef struct import_record {
    const char *file;
    size_t line;
    import_kind kind;
    const import_value *v;
    size_t n;
} import_record;

typedef struct import_note {
    const char *file;
    size_t line; /* 0: the whole file */
    const char *what;
} import_note;

typedef struct import_notes {
    import_note *v;
    size_t n, cap;
    size_t more; /* found, but not kept */
} import_notes;

typedef struct import_source {
    const char *file;
    const char *format; /* NULL: none found */
    char sha256[65];
    size_t rows_n, records_n;
} import_source;

enum { SETS_KEPT = 16 };

typedef struct import {
    arena *mem;
    err *e; /* memory only: a faulty input is a note */
    import_source *files;
    size_t files_n, files_cap;
    import_row *rows;
    size_t rows_n, rows_cap;
    import_record *records;
    size_t records_n, records_cap;
    size_t record_max;     /* values that the last record has room for */
    import_value *pending; /* those values, until the next record begins */
    size_t pending_cap;
    const char **words; /* every kept text once */
    size_t words_n, words_cap;
    const char *const *sets[SETS_KEPT]; /* sets of settings that were kept last: tests take turns */
    size_t sets_n;
    const char *engine; /* of the format that is being read */
    import_notes warnings, errors;
} import;

typedef struct import_format {
    const char *name;
    const char *about;
    int (*detect)(const file_bytes *head); /* how sure, 0: not this one; the surest wins */
    err_code (*read)(import *in, import_text *t);
    const char
        *engine; /* whose rows these are, where they do not say it themselves; NULL: unknown */
    const char *refuse; /* recognised, and refused with these words: a trace; NULL: read */
} import_format;

/* The formats of one family, NULL-terminated; one file a family. */
extern const import_format *const IMPORT_LLAMA_BENCH_FORMATS[],
    *const IMPORT_BATCHED_BENCH_FORMATS[], *const IMPORT_LLAMA_TABLE_FORMATS[],
                                               *const IMPORT_LLAMA_LOG_FORMATS[],
                                                   *const IMPORT_LOCAL_FORMATS[],
                                                       *const IMPORT_SERVING_FORMATS[],
                                                           *const IMPORT_AIPERF_FORMATS[],
                                                               *const IMPORT_TRACE_FORMATS[];
/* All of them in a fixed order; NULL behind the last. */
const import_format *import_format_at(size_t i);

import import_new(arena * mem, err * e);
/* Adds what one file holds; `path` "-" is standard input. `format` NULL: found by content. E_USAGE:
 * no such format (nearest named); E_LIMIT: memory; E_IO. A file of no known format, or without a
 * row or record, is an entry of `errors`. */
MUST_USE err_code import_add_path(import *in, const char *path, const char *format);
/* The same of bytes in memory. */
MUST_USE err_code import_add(import *in, const file_bytes *f, const char *format);
/* ratecast.import/1 */
void import_json(const import *in, buf *out);

/* ---- rows -> card ---- */

/* What the outputs cannot say, or say otherwise than wanted: NULL or 0 takes what they say. */
typedef struct import_card_options {
    const char *id, *title, *source, *model, *quant, *chip, *machine;
    const char *method;  /* NULL: "import" */
    const char *note;    /* more for the card's note */
    const char *kv_type; /* of K and V, where no row states them */
    kv_layout layout;
    int64_t weights_bytes, layers, full_attention_layers, kv_heads, head_dim;
} import_card_options;

/* A ratecast.rate-card/1 text of all usable rows. E_REFUSED: no usable row, or rows of different
 * models, builds, machines, KV layouts or settings (both lines named); E_USAGE: something that no
 * row states and no option gives. */
MUST_USE err_code import_card_text(const import *in, const import_card_options *o, buf *out,
                                   err *e);
/* First usable row that states a setting; NULL: none does. */
const import_row *import_stated(const import *in, import_setting s);

/* ---- for readers ---- */

/* A piece of a file that should be one JSON object. */
typedef struct import_piece {
    const char *s;
    size_t len, line;
    bool cut; /* the file ends in it, without a line terminator or a closing brace */
} import_piece;

typedef struct import_cursor {
    import *in;
    import_text *t;
    const char *name; /* of the file */
    size_t line;
    bool opened;      /* an array has begun */
    bool closed;      /* the array has ended */
    const char *rest; /* of the line that an array's elements are taken from */
    size_t rest_len;
    buf object;     /* the element that was given away */
    arena *scratch; /* of the piece that is open */
} import_cursor;

import_cursor import_start(import *in, import_text *t);
/* After the last piece: frees the cursor and takes over the text's error. */
void import_end(import_cursor *c);
/* The next line that begins with '{'. Lines of other text, as stderr leaves them, are skipped with
 * a warning. */
bool import_next_line(import_cursor *c, import_piece *p);
/* The next object of a JSON array; the text around it as above. */
bool import_next_element(import_cursor *c, import_piece *p);
/* Parses a piece; nan and inf, which printf writes and JSON does not know, read as null. False: it
 * is a note already. After true: import_close. */
bool import_open(import_cursor *c, const import_piece *p, jr_doc *doc, err *e);
/* The same where keys may stand twice: the reader has to look for them. */
bool import_open_twice(import_cursor *c, const import_piece *p, jr_doc *doc, err *e);
/* Turns an error of the getters into a note (true: there was one) and frees the document. */
bool import_close(import_cursor *c, const import_piece *p, jr_doc *doc);

void import_warn(import *in, const char *file, size_t line, const char *fmt, ...) PRINTF_LIKE(4, 5);
void import_fault(import *in, const char *file, size_t line, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* A fault of one row, which stays and is not used. */
void import_refuse(import *in, import_row *r, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A zeroed row with every number "not stated"; NULL: memory. */
import_row *import_row_new(import *in, const char *file, size_t line);

/* A text that is kept once however often it occurs: settings, keys, file names. Bytes that are no
 * UTF-8 and control characters become '?'. NULL for NULL, or memory. */
const char *import_keep(import *in, const char *s);
/* A set of settings for rows; texts are kept. */
void import_settings_keep(import *in, import_row *r, const char *const *settings);
/* A record of at most `values_max` values; NULL: memory. Fill it with import_record_num and _text
 * before the next one is begun. Keys are literals. */
import_record *import_record_new(import *in, const char *file, size_t line, import_kind kind,
                                 size_t values_max);
void import_record_num(import *in, const char *key, double v);
/* Only when `v` is a number: a value that the source does not state is left out. */
void import_record_stated(import *in, const char *key, double v);
void import_record_text(import *in, const char *key, const char *text);

/* Getters: NULL, NaN or -1 where the member is absent, null or an empty text. */
const char *import_str(jr o, const char *key);
double import_num(jr o, const char *key);
int64_t import_count(jr o, const char *key, int64_t max);
/* A number or a bool, as text. */
const char *import_num_text(jr o, const char *key);
/* Settings that llama-bench and llama-batched-bench name alike. */
void import_common_settings(jr o, const char **setting);

/* Does `printed` contradict what follows from counts and times? By over 1 %, and by over what the
 * digits of a time of `resolution_s` leave open. */
bool import_contradicts(double printed, double computed, double time_s, double resolution_s);
/* Is `word` in the first MiB of the text? */
bool import_holds(const file_bytes *f, const char *word);
/* Does the text hold JSON objects spread over lines (an array of them, say)? */
bool import_is_array(const file_bytes *f);

#endif
