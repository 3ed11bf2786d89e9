/* Formats of the family import_aiperf.c that have files of their own. */
#ifndef RATECAST_IMPORT_AIPERF_H
#define RATECAST_IMPORT_AIPERF_H

#include "import.h"

extern const import_format IMPORT_AIPERF_CSV, IMPORT_AIPERF_TEXT; /* import_aiperf_table.c */
extern const import_format IMPORT_PROFILE_CSV;                    /* import_profile.c */

#endif
