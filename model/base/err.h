/* One error type for the whole product.
 *
 * A wrong *file* or a wrong *argument* is an `err`: a code, the place where it was found and what
 * was found and wanted. A wrong *program* is an assert. Library code never exits and never prints.
 *
 * The caller owns the struct; nothing is allocated on the error path. First error wins: a set `err`
 * is not overwritten, so callers may go on and look once at the end.
 */
#ifndef RATECAST_ERR_H
#define RATECAST_ERR_H

/* A status that must be looked at. Only clang lets a caller say "(void)": I mean it; CI builds with
 * both. */
#ifdef __clang__
#define MUST_USE __attribute__((warn_unused_result))
#else
#define MUST_USE
#endif
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))

typedef enum err_code {
    OK = 0,
    E_IO,      /* a file could not be read or written */
    E_SYNTAX,  /* the bytes are not what the format asks for (not JSON, bad UTF-8) */
    E_SCHEMA,  /* well-formed, but a key is unknown, missing or of the wrong type */
    E_RANGE,   /* a value is outside what it may be */
    E_REFUSED, /* the input is valid, but it cannot answer what was asked (a card lacks a term) */
    E_LIMIT,   /* too large: size, depth, number of turns, time beyond the clock */
    E_USAGE,   /* the command line is off */
    E_NOMEM,   /* memory budget spent */
    E_EXTERN   /* an external program failed */
} err_code;

typedef struct err {
    err_code code;
    char
        where[256]; /* "file#/json/pointer", "file:line:column", "--set workload.K"; may be empty */
    char what[512]; /* "must be > 0, is -3" */
} err;

/* Sets `e` unless it is already set. Returns the code that `e` then holds. `where` may be NULL. */
err_code err_set(err *e, err_code code, const char *where, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Exit code of the process for an error: conventions in docs/commands.md (2, 4 or 70). */
int err_exit_code(err_code code);

#endif
