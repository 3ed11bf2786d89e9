/* Profiles of LLMServingSim: the times of single layers and kernels, in CSV.
 *
 * Headers by version: "hardware,model,layer_name,input,kv_cache,latency(ns)", the same without the
 * first two and with tp_size; dense.csv "layer,tokens,time_us", per_sequence.csv
 * "layer,sequences,time_us", attention.csv "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us",
 * moe.csv "tokens,activated_experts,time_us", step.csv with step_us, and tables whose columns are
 * "time_stats.NAME.mean" (ms). Records only: a layer's time is no rate of a model, and a step's
 * lacks what the engine does around it. */
#include "import_aiperf.h"
#include "import_head.h"
#include "import_number.h"

#include <math.h>
#include <string.h>
#include <strings.h>

typedef struct profile {
    import *in;
    const char *name;
    cells header;
    char separator;
    bool twice; /* a column stands twice */
} profile;

/* Columns that make a profile; the last one is its time. */
static const char *const SETS[][7] = {
    {"layer", "tokens", "time_us"},
    {"layer", "sequences", "time_us"},
    {"prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us"},
    {"tokens", "activated_experts", "time_us"},
    {"num_tokens", "n_decode", "kv_decode", "prefill_chunk", "step_us"},
    {"layer_name", "input", "kv_cache", "latency(ns)"},
};

static bool is_time(const char *column) {
    return strcasecmp(column, "time_us") == 0 || strcasecmp(column, "step_us") == 0 ||
           strcasecmp(column, "latency(ns)") == 0 || strncasecmp(column, "time_stats.", 11) == 0;
}

static bool is_profile(const cells *header) {
    bool stats = false;
    for (size_t i = 0; i < header->n; i++)
        stats |= strncasecmp(header->v[i], "time_stats.", 11) == 0;
    if (stats) return true;
    for (size_t i = 0; i < sizeof SETS / sizeof *SETS; i++)
        if (head_has_columns(header, SETS[i])) return true;
    return false;
}

/* A time of zero or below, or one that no clock shows, makes the line none. */
static bool line_holds(profile *p, const cells *c, size_t line) {
    bool any = false;
    for (size_t i = 0; i < c->n; i++) {
        if (!is_time(p->header.v[i]) || c->v[i][0] == '\0') continue;
        number v = number_at(c->v[i], false);
        bool spread = strstr(p->header.v[i], ".std") != NULL;
        bool good =
            v.kind == NUMBER_OK && c->v[i][v.len] == '\0' && (v.v > 0 || (spread && v.v >= 0));
        if (!good) {
            import_fault(p->in, p->name, line, "%.60s is \"%.24s\", expected a time > 0",
                         p->header.v[i], c->v[i]);
            return false;
        }
        any = true;
    }
    if (!any) import_fault(p->in, p->name, line, "states no time");
    return any;
}

static void take_line(profile *p, const cells *c, size_t line) {
    import *in = p->in;
    if (c->n != p->header.n) {
        import_fault(in, p->name, line, "found %zu cells, expected the header's %zu: not used",
                     c->n, p->header.n);
        return;
    }
    if (!line_holds(p, c, line)) return;
    if (!import_record_new(in, p->name, line, IMPORT_TEST, c->n + 1)) return;
    for (size_t i = 0; i < c->n; i++) {
        const char *key = import_keep(in, p->header.v[i]);
        if (!key || c->v[i][0] == '\0') continue;
        number v = number_at(c->v[i], false);
        if (v.kind == NUMBER_OK && c->v[i][v.len] == '\0')
            import_record_num(in, key, v.v);
        else
            import_record_text(in, key, c->v[i]);
        if (strcasecmp(key, "latency(ns)") == 0) import_record_num(in, "time_us", v.v / 1e3);
        if (strcasecmp(key, "step_us") == 0) import_record_num(in, "time_us", v.v);
    }
}

static void take_header(profile *p, size_t line) {
    for (size_t i = 0; i < p->header.n; i++)
        if (cells_count(&p->header, p->header.v[i]) > 1) p->twice = true;
    if (p->twice)
        import_fault(p->in, p->name, line,
                     "a column stands twice in the header: which one counts?");
    else
        import_warn(p->in, p->name, line,
                    "times of layers, kernels or bare steps: no rate of a model follows from them");
}

static err_code read_profile(import *in, import_text *t) {
    cells c;
    profile p = {.in = in, .name = import_keep(in, import_text_name(t)), .separator = ','};
    for (import_line l; !in->e->code && import_text_line(t, &l) && !p.twice;) {
        if (!cells_of_csv(l.s, p.separator, &c)) continue;
        if (!l.ended) {
            import_warn(in, p.name, l.number, "the file ends inside this line, which is not used");
        } else if (c.cut || !c.closed) {
            import_fault(in, p.name, l.number, "a line that is no row: too long, or a quote open");
        } else if (p.header.n == 0) {
            (void)cells_of_csv(l.s, p.separator, &p.header);
            take_header(&p, l.number);
        } else {
            take_line(&p, &c, l.number);
        }
    }
    return in->e->code;
}

static int detect_profile(const file_bytes *f) {
    cells header;
    char separator;
    return head_header(f, &header, &separator) && separator == ',' && is_profile(&header) ? 90 : 0;
}

const import_format IMPORT_PROFILE_CSV = {.name = "llmservingsim_csv",
                                          .about = "LLMServingSim profiles",
                                          .detect = detect_profile,
                                          .read = read_profile};
