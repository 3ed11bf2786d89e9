/* Arms that do not fit the memory there is: their mark in a table of peaks, and what stands below
 * it. */
#ifndef RATECAST_REPORT_MEMORY_H
#define RATECAST_REPORT_MEMORY_H

#include "report_project.h"

/* The peak in MiB, marked where it is more than there is. */
const char *report_peak(const arm_result *a, arena *mem);
/* What fits no budget and no device, with the numbers, and what that makes of the gains; nothing
 * when all arms fit. Of a sweep every point: `points` are `n`. */
void report_misfits(const scenario *s, const sweep_point *points, size_t n, buf *out);

#endif
