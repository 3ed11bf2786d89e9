#include "tsv.h"

#include <inttypes.h>

void tsv_text(const char *s, buf *out) {
    for (; *s; s++) {
        if (*s == '"')
            buf_add(out, "\xe2\x80\xb3");
        else
            buf_add_n(out, s, 1);
    }
}

void tsv_banner(prov weakest, bool simulated, buf *out) {
    buf_addf(out, "# [%s PROJECTION%s] ", PROV_UPPER[weakest],
             simulated ? ", SIMULATED DEVICE" : "");
}

void tsv_ns_as_s(int64_t ns, buf *out) {
    const int64_t second = 1000000000;
    int64_t n = ns < 0 ? -ns : ns;
    buf_addf(out, "%s%" PRId64 ".%09" PRId64, ns < 0 ? "-" : "", n / second, n % second);
}
