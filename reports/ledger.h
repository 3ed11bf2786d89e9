/* Ledgers of prefix reuse -> a roll-up by ISO week.
 *
 * A ledger is a file of lines, one row of `fak-cache-value-ledger/1` a line: what a session of so
 * many turns presented to the prefix cache and what it took from there, in tokens. The format is
 * not ours: keys that this reader does not know are passed over. Reading and folding print nothing;
 * what is loaded lives in the arena.
 *
 * Which rows count: an exact duplicate of another row is dropped, then rows of 0 turns, then rows
 * of 1 turn (nothing was there to be reused). What is left is folded, measured rows into the gate
 * and its weeks, others (provenance derived, modeled, roofline, assumed or claim) apart from it, so
 * that no modeled token can enter a figure called measured. A row that states no provenance counts
 * as measured: the format has no such field, and its rows are by definition counts of a kernel.
 */
#ifndef RATECAST_LEDGER_H
#define RATECAST_LEDGER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/prov.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_SCHEMA "fak-cache-value-ledger/1"
#define ROLLUP_SCHEMA "fak-cache-value-rollup/1"

/* A row counts for the gate from this many turns on; a week of fewer such rows is thin. */
enum { LEDGER_GATE_TURNS = 2, LEDGER_THIN_ROWS = 3, LEDGER_WARNINGS_MAX = 200 };

/* Two ratios at most 1 / LEDGER_BAND_PER_1 = 0.005 apart are flat: both ends belong to the band. */
enum { LEDGER_BAND_PER_1 = 200 };

typedef enum ledger_doubt {
    DOUBT_RATIO,     /* printed reuse_ratio is neither rounded nor cut from the row's tokens */
    DOUBT_RATIO_CUT, /* its last digit was cut where rounding raises it */
    DOUBT_STATS,     /* `stats` says something else than the row */
    DOUBT_DUPLICATE  /* the row is there already */
} ledger_doubt;
extern const char *const LEDGER_DOUBT_NAMES[]; /* "ratio", "ratio_cut", "stats", "duplicate" */

typedef struct ledger_row {
    const char *file; /* as the user wrote it */
    size_t line;      /* from 1 */
    char week[16];    /* ISO 8601: "2026-W36" */
    int64_t turns, prompt_tok, reused_tok;
    bool prov_stated;
    prov prov;                             /* PROV_WITNESSED when not stated */
    const char *ratio_fault, *stats_fault; /* what is doubtful, NULL: nothing */
    bool ratio_cut;                        /* of ratio_fault */
    char digest[65];                       /* of its members in any order, white space apart */
} ledger_row;

typedef struct ledger {
    arena *mem;
    ledger_row *rows; /* in the order read; the arena keeps outgrown blocks */
    size_t n, cap;
} ledger;

/* Adds the rows of one file (up to FILE_MAX_BYTES, 64 MiB). Blank lines are passed over, CRLF and a
 * last line without its end are fine. The first fault ends it, with FILE:LINE#/pointer: E_SYNTAX
 * (not JSON, or a byte order mark), E_SCHEMA (another schema, a key missing, twice or of the wrong
 * type), E_RANGE (bad date, negative or broken count, reused_tokens over prompt_tokens, a ratio
 * outside 0..1), E_LIMIT (memory). */
MUST_USE err_code ledger_read(ledger *l, const file_bytes *f, err *e);

/* Is it a date of the proleptic Gregorian calendar, YYYY-MM-DD, from 1970-01-01 to 9999-12-31?
 * `week` (may be NULL) gets its ISO 8601 week. No clock, no time zone. */
bool ledger_date(const char *date, char week[16]);

/* ---- fold ---- */

typedef struct ledger_sums {
    size_t rows;
    int64_t prompt_tok, reused_tok; /* below 2^53 */
} ledger_sums;

/* Against the bucket before it, however many weeks ago that is. NEW: there is none, or one of the
 * two has no prompt token and so no ratio. */
typedef enum ledger_trend { TREND_NEW, TREND_IMPROVED, TREND_REGRESSED, TREND_FLAT } ledger_trend;
extern const char *const LEDGER_TREND_NAMES[];

typedef struct ledger_week {
    char week[16];
    ledger_sums sum; /* measured rows of LEDGER_GATE_TURNS or more */
    bool thin;
    ledger_trend trend;
} ledger_week;

typedef struct ledger_warning {
    const char *file;
    size_t line;
    ledger_doubt kind;
    const char *what;
} ledger_warning;

typedef struct rollup {
    bool measured;             /* the verdict: gate.prompt_tok > 0; else INSUFFICIENT */
    ledger_sums gate;          /* what the verdict rests on: the sum of the weeks */
    size_t unstated_n;         /* rows of the gate that state no provenance */
    ledger_sums not_measured;  /* folded apart */
    prov not_measured_weakest; /* if there are any */
    /* Every row is exactly one of: duplicate, of 0 turns, of 1 turn, in the gate, not measured. */
    size_t rows_n, duplicates_n, zero_turn_n, single_turn_n;
    const ledger_week *weeks; /* in order of time; weeks without a row of the gate are not there */
    size_t weeks_n;
    ledger_trend trend; /* of the last week; with no week TREND_NEW */
    /* In the order the rows were read; the first LEDGER_WARNINGS_MAX of warnings_n. */
    const ledger_warning *warnings;
    size_t warnings_n, warnings_kept_n;
} rollup;

/* The order of rows and their distribution over files changes nothing but the places and the order
 * of warnings. E_LIMIT: a sum of tokens reaches 2^53, or memory. */
MUST_USE err_code ledger_fold(const ledger *l, arena *mem, rollup *out, err *e);

/* "FILE:LINE" of an equal row before row i; NULL: there is none, or no memory to say so. */
const char *ledger_repeats(const ledger *l, size_t i, arena *mem);

/* reused / prompt; false when there is no prompt token. */
bool ledger_ratio(const ledger_sums *s, double *out);

/* How the second of two ratios of whole numbers compares with the first: exact, no rounding. */
ledger_trend ledger_trend_of(const ledger_sums *before, const ledger_sums *now);

#endif
