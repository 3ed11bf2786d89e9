/* Pictures: gnuplot draws a `.gp` script from a table that the program writes. No shell is
 * involved.
 */
#ifndef RATECAST_PLOT_H
#define RATECAST_PLOT_H

#include "base/err.h"

#include <stddef.h>

/* E_USAGE, at `option`, unless `path` ends in .svg or .png. */
MUST_USE err_code plot_check_path(const char *option, const char *path, err *e);

/* Runs `gnuplot -d -c SCRIPT DATA.tsv PICTURE` and puts the picture at `path` (checked before); the
 * script picks the format by the ending. Everything temporary lies in one folder beside `path`,
 * which is gone afterwards; the picture is renamed, so a failure leaves an older one as it was.
 * E_EXTERN: gnuplot is not there, failed or said something; E_IO: a file could not be written. */
MUST_USE err_code plot_run(const char *script, const char *tsv, size_t len, const char *path,
                           err *e);

#endif
