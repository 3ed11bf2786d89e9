#include "spark.h"

#include <math.h>

void spark(const double *v, size_t n, double lo, double hi, buf *out) {
    static const char *const BLOCKS[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    enum { TOP = sizeof BLOCKS / sizeof *BLOCKS - 1 };
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) {
            buf_add(out, " ");
            continue;
        }
        double part = hi > lo ? (v[i] - lo) / (hi - lo) : 0;
        part = part < 0 ? 0 : part > 1 ? 1 : part;
        buf_add(out, BLOCKS[(size_t)lround(part * TOP)]);
    }
}
