/* The JSON side of report_project.h, called by it only. */
#ifndef RATECAST_REPORT_PROJECT_JSON_H
#define RATECAST_REPORT_PROJECT_JSON_H

#include "report_project.h"

void report_project_json(const projection *p, const rule_result rules[RULES_N], buf *out);
void report_sweep_json(const scenario *s, const sweep_point *points, buf *out);

#endif
