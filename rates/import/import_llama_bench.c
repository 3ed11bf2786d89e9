/* llama-bench -o json and -o jsonl, from 2023 (no n_depth, no n_ubatch, a bool for each backend) to
 * today. One object is one test; its times are of all n_prompt or n_gen tokens. */
#include "import_llama.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t TOK_MAX = 1000000000;
static const double NS_MAX = 1e18;
/* A step of so few rows runs the kernels of decode: pp1 can beat pp2. Such a time is no rate of
 * prefill; the decode points say what it costs. */
enum { FEW_ROWS = 8 };

static bool is_row(jr o) {
    return jr_present(jr_get(o, "n_prompt")) && jr_present(jr_get(o, "n_gen"));
}

static bool is_part(jr o) {
    return jr_present(jr_get(o, "n_prompt")) || jr_present(jr_get(o, "samples_ns")) ||
           jr_present(jr_get(o, "avg_ts"));
}

/* Scripts wrap the object into one of their own and repeat its figures outside: the inner one
 * counts. */
static jr unwrap(jr root) {
    if (is_part(root)) return root;
    for (const cJSON *m = root.node->child; m; m = m->next) {
        jr inner = jr_get(root, m->string);
        if (cJSON_IsObject(inner.node) && is_part(inner)) return inner;
    }
    return root;
}

static const char *stem(jr o, arena *mem) {
    const char *path = import_str(o, "model_filename");
    if (!path) return NULL;
    const char *base = path;
    for (const char *p = path; *p; p++)
        if ((*p == '/' || *p == '\\') && p[1]) base = p + 1;
    size_t n = strlen(base);
    if (n > 5 && strcmp(base + n - 5, ".gguf") == 0) n -= 5;
    return arena_printf(mem, "%.*s", (int)n, base);
}

/* Before `backends` there was a bool for each. */
static const char *backend(jr o) {
    static const char *const FLAGS[][2] = {
        {"cuda", "CUDA"}, {"metal", "Metal"}, {"vulkan", "Vulkan"}, {"kompute", "Kompute"},
        {"sycl", "SYCL"}, {"rpc", "RPC"},     {"opencl", "OpenCL"}, {"blas", "BLAS"}};
    const char *name = import_str(o, "backends");
    for (size_t i = 0; !name && i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (cJSON_IsTrue(jr_get(o, FLAGS[i][0]).node)) name = FLAGS[i][1];
    return name;
}

static void read_settings(jr o, const char **s) {
    import_common_settings(o, s);
    s[IMPORT_MODEL] = stem(o, o.doc->mem);
    s[IMPORT_MODEL_TYPE] = import_str(o, "model_type");
    s[IMPORT_MODEL_BYTES] = import_num_text(o, "model_size");
    s[IMPORT_PARAMS] = import_num_text(o, "model_n_params");
    s[IMPORT_BUILD] = import_str(o, "build_commit");
    s[IMPORT_BACKEND] = backend(o);
    s[IMPORT_GPU] = import_str(o, "gpu_info");
    s[IMPORT_CPU] = import_str(o, "cpu_info");
    bool f16 = cJSON_IsTrue(jr_get(o, "f16_kv").node);
    s[IMPORT_TYPE_K] = f16 ? "f16" : import_str(o, "type_k");
    s[IMPORT_TYPE_V] = f16 ? "f16" : import_str(o, "type_v");
    s[IMPORT_CPU_MOE] = import_num_text(o, "n_cpu_moe");
    s[IMPORT_SPLIT_MODE] = import_str(o, "split_mode");
    s[IMPORT_MAIN_GPU] = import_num_text(o, "main_gpu");
    s[IMPORT_TENSOR_SPLIT] = import_str(o, "tensor_split");
    s[IMPORT_NO_KV_OFFLOAD] = import_num_text(o, "no_kv_offload");
    s[IMPORT_OVERRIDES] = import_str(o, "tensor_buft_overrides");
    s[IMPORT_DEVICES] = import_str(o, "devices");
}

/* samples_ns as seconds. A time that no clock gives refuses the row. */
static void read_samples(import *in, jr o, import_row *r) {
    jr arr = jr_get(o, "samples_ns");
    size_t n = jr_len(arr);
    double *v = ARENA_ARRAY(in->mem, double, n);
    if (!v) {
        jr_fail(arr, E_LIMIT, "does not fit the memory budget");
        return;
    }
    for (jr m = {0}; jr_each(arr, &m);) {
        double ns = cJSON_IsNumber(m.node) ? m.node->valuedouble : (double)NAN;
        if (!(ns > 0 && ns <= NS_MAX)) {
            import_refuse(in, r, "samples_ns[%zu] is %s, expected a time > 0", m.index,
                          cJSON_IsNumber(m.node) ? "zero, negative or beyond a clock"
                                                 : "no number");
            return;
        }
        v[m.index] = ns / 1e9;
    }
    r->samples_s = v;
    r->samples_n = n;
}

/* The averages have to follow from the samples: avg_ts is the mean of the rates, not a rate of the
 * mean. */
static void check_rates(import *in, jr o, import_row *r) {
    double tok = (double)(r->n_prompt + r->n_gen), sum_s = 0, sum_rate = 0;
    jr arr = jr_get(o, "samples_ts");
    for (size_t i = 0; i < r->samples_n; i++) {
        sum_s += r->samples_s[i];
        sum_rate += tok / r->samples_s[i];
    }
    double n = (double)r->samples_n, mean_s = sum_s / n, mean_rate = sum_rate / n;
    double avg_s = import_num(o, "avg_ns") / 1e9;
    if (import_contradicts(r->tok_s, mean_rate, mean_s, 1e-9))
        import_refuse(in, r, "avg_ts %.6g tok/s contradicts samples_ns, which give %.6g tok/s",
                      r->tok_s, mean_rate);
    else if (import_contradicts(avg_s, mean_s, mean_s, 1e-9))
        import_refuse(in, r, "avg_ns %.6g s contradicts samples_ns, whose mean is %.6g s", avg_s,
                      mean_s);
    if (jr_present(arr) && jr_len(arr) != r->samples_n)
        import_warn(in, r->file, r->line, "samples_ts has %zu values, samples_ns %zu", jr_len(arr),
                    r->samples_n);
    for (jr m = {0}; !r->refused && jr_each(arr, &m) && m.index < r->samples_n;) {
        double printed = cJSON_IsNumber(m.node) ? m.node->valuedouble : (double)NAN;
        double computed = tok / r->samples_s[m.index];
        if (import_contradicts(printed, computed, r->samples_s[m.index], 1e-9))
            import_refuse(in, r,
                          "samples_ts[%zu] %.6g tok/s contradicts its time, which gives %.6g tok/s",
                          m.index, printed, computed);
    }
    if (!isfinite(r->tok_s)) r->tok_s = mean_rate;
}

static void read_rate(import *in, jr o, import_row *r) {
    double avg_ts = import_num(o, "avg_ts"), std = import_num(o, "stddev_ts");
    if (avg_ts > 0 && avg_ts <= 1e15)
        r->tok_s = avg_ts;
    else if (jr_present(jr_get(o, "avg_ts")))
        import_refuse(in, r, "avg_ts is zero, negative or no finite number, expected a rate > 0");
    if (std >= 0 && std <= 1e15) r->tok_s_std = std;
    read_samples(in, o, r);
    if (r->samples_n > 0)
        check_rates(in, o, r);
    else if (!isfinite(r->tok_s) && !r->refused)
        import_refuse(in, r, "neither samples_ns nor avg_ts, expected a measurement");
    r->per_seq_tok_s = r->tok_s;
}

static void say_usable(import_row *r) {
    if (r->refused) return;
    if (r->phase == IMPORT_MIXED)
        r->refused =
            "prompt and generation in one time (-pg): neither can be told from it, measure "
            "them with -p and -n";
    else if (r->phase == IMPORT_PREFILL && r->n_prompt <= FEW_ROWS)
        r->refused = "a step of so few rows runs the kernels of decode: no prefill rate";
}

static void stated(import *in, jr o, const char *key) {
    const cJSON *v = jr_get(o, key).node;
    if (cJSON_IsNumber(v) && !bench_record_has(in, key)) import_record_num(in, key, v->valuedouble);
}

/* What was measured, and what a script around it repeats: one measurement all the same. What it was
 * measured with stands in the row. */
static void add_record(import_cursor *c, const import_piece *p, jr root, jr o,
                       const import_row *r) {
    import *in = c->in;
    double avg = r->tok_s, std = r->tok_s_std;
    const char *model = r->setting[IMPORT_MODEL_TYPE];
    bench_test t = {.pp = r->n_prompt, .tg = r->n_gen, .depth = r->depth_tok};
    bench_label(&t);
    static const char *const MEASURED[] = {"n_prompt",  "n_gen",  "n_depth",   "avg_ns",
                                           "stddev_ns", "avg_ts", "stddev_ts", "model_size"};
    enum { MEASURED_N = sizeof MEASURED / sizeof *MEASURED };
    if (!import_record_new(in, c->name, p->line, IMPORT_TEST, MEASURED_N + 12)) return;
    import_record_text(in, "test", t.label);
    import_record_num(in, "depth", (double)t.depth);
    import_record_stated(in, "tok_s", avg);
    import_record_stated(in, "std", std);
    for (size_t i = 0; i < MEASURED_N; i++) stated(in, o, MEASURED[i]);
    if (jr_present(jr_get(o, "samples_ns")) && !bench_record_has(in, "samples"))
        import_record_num(in, "samples", (double)jr_len(jr_get(o, "samples_ns")));
    if (model && !bench_record_has(in, "model")) import_record_text(in, "model", model);
    if (t.pp > 0 && t.tg > 0 && !bench_record_has(in, "kind"))
        import_record_text(in, "kind", "mixed");
    if (root.node == o.node) return;
    const cJSON *mode = jr_get(root, "mode").node, *outer = jr_get(root, "tokens_per_sec").node;
    if (cJSON_IsString(mode) && !bench_record_has(in, "mode"))
        import_record_text(in, "mode", mode->valuestring);
    stated(in, root, "value");
    stated(in, root, "tokens_per_sec");
    import_record_stated(in, "inner_avg_ts", avg);
    if (cJSON_IsNumber(outer) && import_contradicts(outer->valuedouble, avg, 1, 0))
        import_warn(in, c->name, p->line,
                    "tokens_per_sec %.6g around the object contradicts its avg_ts %.6g: the inner "
                    "one counts",
                    outer->valuedouble, avg);
}

/* All that it was run with, so that the same test twice is seen. */
static void add_key(import_cursor *c, jr o, bench_keys *keys) {
    static const char *const MEASURED[] = {"test_time", "build_number", "avg_ns",
                                           "avg_ts",    "stddev_ns",    "stddev_ts"};
    buf key;
    buf_init(&key);
    for (const cJSON *m = o.node->child; m; m = m->next) {
        bool measured = false;
        for (size_t i = 0; i < sizeof MEASURED / sizeof *MEASURED; i++)
            measured = measured || strcmp(m->string, MEASURED[i]) == 0;
        if (measured) continue;
        if (cJSON_IsString(m))
            buf_addf(&key, "%s=\"%s\"|", m->string, m->valuestring);
        else if (cJSON_IsNumber(m))
            buf_addf(&key, "%s=%.17g|", m->string, m->valuedouble);
        else if (cJSON_IsBool(m))
            buf_addf(&key, "%s=%d|", m->string, cJSON_IsTrue(m));
    }
    bench_keys_add(c->in, keys, key.len ? key.s : "", c->in->rows_n - 1);
    buf_done(&key);
}

static void read_test(import_cursor *c, const import_piece *p, jr root, jr o, bench_keys *keys) {
    import *in = c->in;
    if (!is_row(o)) {
        import_fault(in, c->name, p->line,
                     "n_prompt or n_gen is missing, expected both (a missing one is not 0)");
        return;
    }
    int64_t pp = jr_int(o, "n_prompt", 0, TOK_MAX), tg = jr_int(o, "n_gen", 0, TOK_MAX);
    int64_t depth = import_count(o, "n_depth", TOK_MAX);
    const char *settings[IMPORT_SETTINGS_N] = {0};
    read_settings(o, settings);
    if (jr_ok(o) && pp == 0 && tg == 0)
        import_fault(in, c->name, p->line, "n_prompt and n_gen are 0: nothing was measured");
    if (!jr_ok(o) || (pp == 0 && tg == 0)) return;
    import_row *r = import_row_new(in, c->name, p->line);
    if (!r) return;
    r->phase = tg == 0 ? IMPORT_PREFILL : pp == 0 ? IMPORT_DECODE : IMPORT_MIXED;
    r->n_prompt = pp;
    r->n_gen = tg;
    r->depth_tok = depth > 0 ? depth : 0; /* before -d existed every test began empty */
    r->per_request = true;
    import_settings_keep(in, r, settings);
    read_rate(in, o, r);
    say_usable(r);
    if (!jr_ok(o))
        in->rows_n--; /* wrong types: the note is all that stays */
    else {
        add_record(c, p, root, o, r);
        if (root.node == o.node) add_key(c, o, keys);
    }
}

/* Tests in an object of a script: {"host": ..., "results": [{...}, {...}]}. true: one was found. */
static bool read_inside(import_cursor *c, const import_piece *p, jr root, int depth,
                        bench_keys *keys) {
    bool any = false;
    jr o = cJSON_IsObject(root.node) ? unwrap(root) : root;
    if (cJSON_IsObject(o.node) && is_part(o)) {
        read_test(c, p, root, o, keys);
        return true;
    }
    if (depth == 0) return false;
    if (cJSON_IsArray(root.node)) {
        for (jr m = {0}; jr_each(root, &m);) any = read_inside(c, p, m, depth - 1, keys) || any;
    } else if (cJSON_IsObject(root.node)) {
        for (const cJSON *m = root.node->child; m && jr_ok(root); m = m->next)
            any = read_inside(c, p, jr_get(root, m->string), depth - 1, keys) || any;
    }
    return any;
}

static void read_object(import_cursor *c, const import_piece *p, jr root, bench_keys *keys) {
    enum { DEPTH_MAX = 4 };
    if (!read_inside(c, p, root, DEPTH_MAX, keys))
        import_warn(c->in, c->name, p->line, "JSON, but no llama-bench row, skipped");
}

static err_code read_pieces(import *in, import_text *t,
                            bool (*next)(import_cursor *, import_piece *), import_cursor *c) {
    *c = import_start(in, t);
    bench_keys keys = {.points = true};
    import_piece p;
    while (next(c, &p)) {
        jr_doc doc;
        err e;
        if (!import_open(c, &p, &doc, &e)) continue;
        read_object(c, &p, jr_root(&doc), &keys);
        (void)import_close(c, &p, &doc);
    }
    import_end(c);
    bench_keys_check(in, &keys);
    return in->e->code;
}

static err_code read_lines(import *in, import_text *t) {
    import_cursor c;
    return read_pieces(in, t, import_next_line, &c);
}

static err_code read_array(import *in, import_text *t) {
    import_cursor c;
    if (read_pieces(in, t, import_next_element, &c) == OK && c.opened && !c.closed)
        import_warn(in, import_text_name(t), c.line, "the array has no end: the run was cut off");
    return in->e->code;
}

static bool has_keys(const file_bytes *f) {
    return import_holds(f, "\"n_prompt\"") && import_holds(f, "\"n_gen\"") &&
           (import_holds(f, "\"samples_ns\"") || import_holds(f, "\"avg_ts\""));
}

static int detect_lines(const file_bytes *f) {
    return has_keys(f) && !import_is_array(f) ? 90 : 0;
}

static int detect_array(const file_bytes *f) {
    return has_keys(f) && import_is_array(f) ? 90 : 0;
}

static const import_format JSONL = {
    .name = "llama_bench_jsonl",
    .about = "llama-bench -o jsonl",
    .detect = detect_lines,
    .read = read_lines,
    .engine = "llama.cpp",
};

static const import_format JSON = {
    .name = "llama_bench_json",
    .about = "llama-bench -o json",
    .detect = detect_array,
    .read = read_array,
    .engine = "llama.cpp",
};

const import_format *const IMPORT_LLAMA_BENCH_FORMATS[] = {&JSONL, &JSON, NULL};
