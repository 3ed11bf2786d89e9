#include "probe_card.h"

#include "reference.h"

#include "base/jsonw.h"
#include "base/prov.h"
#include "card.h"
#include "table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* ---- the card ---- */

static prov prov_of(const probe_result *r) {
    return r->device->simulated ? PROV_MODELED : PROV_DERIVED;
}

static const char *default_id(const char *model, const char *bits, const char *device, arena *mem) {
    char *id = arena_printf(mem, "%s-%s-%s-probe", model, bits, device), *to = id;
    for (const char *p = id; p && *p; p++) {
        bool kept = isalnum((unsigned char)*p) || strchr("._-", *p);
        if (kept || (to > id && to[-1] != '-'))
            *to++ = kept ? (char)tolower((unsigned char)*p) : '-';
    }
    if (to) *to = '\0';
    return id;
}

static const char *upper(const char *s, arena *mem) {
    char *out = arena_strdup(mem, s);
    for (char *p = out; p && *p; p++) *p = (char)toupper((unsigned char)*p);
    return out;
}

/* The plateau: the largest size that was read. 0: none. */
static double read_bytes_s(const probe_result *r) {
    double bytes_s = 0, most = 0;
    for (size_t i = 0; i < r->kernels_n; i++) {
        const probe_kernel *k = &r->kernels[i];
        if (strcmp(k->name, "read_bandwidth") != 0 || k->bytes < most) continue;
        most = k->bytes;
        bytes_s = k->bytes / k->m.median_s;
    }
    return bytes_s;
}

static const char *note_of(const probe_result *r, arena *mem) {
    const probe_plan *p = r->plan;
    const char *soaked = "";
    if (r->soaked_step_s > 0 && r->decode_n > 0)
        soaked = arena_printf(mem,
                              "; step of one sequence at %lld tokens cold %.4g s, after %.3g "
                              "minutes of steps %.4g s",
                              (long long)r->decode[0].keys_tok, r->decode[0].m.median_s,
                              p->soak_s / 60, r->soaked_step_s);
    return arena_printf(
        mem,
        "kernel probe, no engine: sums of this program's own kernels, %s; a step is %lld x one "
        "layer + the output matrix, a prompt goes in micro-batches of %d with its attention as "
        "matrix products; above 8 columns the faster of the vector and the matrix kernel; all "
        "weights in %s, KV in f16. What an engine does better or worse is not in it: a plausible "
        "floor, no bound. Self-test passed on this device; warm-up until three medians agree "
        "within 2 %% or %g s, %zu samples%s",
        r->device->simulated ? "run by a simulation on the CPU" : "timed by the device's clock",
        (long long)p->shape->layers, PASS_UBATCH_TOK, WEIGHT_NAMES[p->kind], p->how.settle_limit_s,
        p->how.samples_n, soaked ? soaked : "");
}

static void add_model(cJSON *root, const probe_plan *p, arena *mem) {
    static const char *const FIELDS[] = {"params",   "weights_bytes", "layers",
                                         "kv_heads", "head_dim",      NULL};
    const model_shape *s = p->shape;
    jw_str(root, "model", s->name);
    jw_str(root, "quant", upper(QUANT_NAMES[p->quant], mem));
    jw_str(root, "architecture", s->architecture);
    jw_int(root, "params", shape_params(s));
    jw_int(root, "weights_bytes", shape_weights_bytes(s, p->quant));
    jw_int(root, "layers", s->layers);
    jw_int(root, "full_attention_layers", s->layers);
    jw_int(root, "kv_heads", s->kv_heads);
    jw_int(root, "head_dim", s->head_dim);
    jw_int(root, "kv_element_bytes", 2);
    cJSON *by_field = jw_obj(root, "field_provenance");
    for (size_t i = 0; FIELDS[i]; i++) {
        cJSON *f = jw_obj(by_field, FIELDS[i]);
        jw_str(f, "provenance", PROV_NAMES[PROV_DERIVED]);
        jw_str(f, "source", s->source);
    }
}

static void add_machine(cJSON *root, const probe_result *r) {
    cJSON *engine = jw_obj(root, "engine"), *hw = jw_obj(root, "hardware");
    struct utsname os;
    double bytes_s = read_bytes_s(r);
    jw_str(engine, "name", "ratecast-bench kernel probe");
    jw_str(engine, "build", RATECAST_VERSION);
    jw_int(engine, "n_ubatch", PASS_UBATCH_TOK);
    jw_str(engine, "type_k", "f16");
    jw_str(engine, "type_v", "f16");
    jw_str(hw, "chip", r->device->name);
    if (bytes_s > 0 && !r->device->simulated) {
        jw_num(hw, "mem_bw_bytes_s", bytes_s);
        jw_str(hw, "source", "read bandwidth of the same run, largest size");
    }
    if (uname(&os) < 0) return;
    char text[sizeof os.sysname + sizeof os.release + sizeof os.machine];
    snprintf(text, sizeof text, "%s %s %s", os.sysname, os.release, os.machine);
    jw_str(jw_obj(root, "host"), "os", text);
}

static void add_samples(cJSON *o, const char *key, const double *s, size_t n) {
    cJSON *samples = jw_arr(o, key);
    for (size_t i = 0; i < n; i++) {
        char text[32];
        jw_format(s[i], text);
        cJSON_AddItemToArray(samples, cJSON_CreateRaw(text));
    }
}

static void add_points(cJSON *root, const probe_result *r) {
    cJSON *prefill = jw_arr(root, "prefill"), *decode = jw_arr(root, "decode");
    for (size_t i = 0; i < r->prefill_n; i++) {
        const probe_cell *c = &r->prefill[i];
        cJSON *p = jw_item(prefill);
        jw_int(p, "n_prompt_tok", c->n);
        jw_int(p, "depth_tok", c->keys_tok);
        add_samples(p, "samples_s", c->m.gpu_s, c->m.samples_n);
        jw_num(p, "s", c->m.median_s);
    }
    for (size_t i = 0; i < r->decode_n; i++) {
        const probe_cell *c = &r->decode[i];
        cJSON *p = jw_item(decode);
        jw_int(p, "batch_n", c->n);
        jw_int(p, "context_tok", c->keys_tok);
        add_samples(p, "samples_s", c->m.gpu_s, c->m.samples_n);
        jw_num(p, "step_s", c->m.median_s);
    }
}

static err_code check_steady(const probe_result *r, err *e) {
    const probe_cell *worst = probe_worst(r);
    if (!worst) return err_set(e, E_REFUSED, "probe", "no cell was measured: no card");
    double percent = 100 * (measure_spread(&worst->m) - 1);
    if (percent <= PROBE_SPREAD_PERCENT_MAX) return OK;
    return err_set(e, E_REFUSED, "probe",
                   "its times spread too far for a card: p90 is %.0f %% above p10 (%s of %lld at "
                   "%lld tokens), expected at most %d %%; quit other programs, plug in the power, "
                   "run again, or --force",
                   percent,
                   worst < r->prefill || worst >= r->prefill + r->prefill_n ? "a step" : "a prompt",
                   (long long)worst->n, (long long)worst->keys_tok, PROBE_SPREAD_PERCENT_MAX);
}

err_code probe_card_write(const probe_result *r, const char *id, bool force, arena *mem, buf *out,
                          err *e) {
    const probe_plan *p = r->plan;
    if ((!force || !probe_worst(r)) && check_steady(r, e)) return e->code;
    const char *bits = QUANT_NAMES[p->quant];
    const char *title =
        arena_printf(mem, "%s %s, %s, kernel probe%s", p->shape->name, upper(bits, mem),
                     r->device->name, r->device->simulated ? " (SIMULATED DEVICE)" : "");
    const char *asked = p->tiny ? "--tiny" : arena_printf(mem, "--shape %s", p->shape->name);
    const char *source =
        arena_printf(mem, "kernel probe: ratecast-bench probe %s --quant %s", asked, bits);
    const char *note = note_of(r, mem);
    if (!id) id = default_id(p->shape->name, bits, r->device->name, mem);
    cJSON *root = cJSON_CreateObject();
    if (!title || !asked || !source || !note || !id || !root) {
        cJSON_Delete(root);
        return err_set(e, E_LIMIT, "probe", "the card does not fit the memory budget");
    }
    jw_str(root, "schema", CARD_SCHEMA);
    jw_str(root, "id", id);
    jw_str(root, "title", title);
    jw_str(root, "method", "probe");
    jw_str(root, "provenance", PROV_NAMES[prov_of(r)]);
    jw_str(root, "source", source);
    jw_str(root, "note", note);
    if (r->device->simulated) jw_bool(root, "simulated_device", true);
    add_model(root, p, mem);
    add_machine(root, r);
    add_points(root, r);
    jw_print(root, out);
    cJSON_Delete(root);
    return OK;
}

/* ---- JSON ---- */

static void add_measurement(cJSON *o, const measurement *m) {
    jw_num(o, "p10_s", m->p10_s);
    jw_num(o, "median_s", m->median_s);
    jw_num(o, "p90_s", m->p90_s);
    add_samples(o, "samples_s", m->gpu_s, m->samples_n);
    if (!m->wall_s) return;
    add_samples(o, "wall_samples_s", m->wall_s, m->samples_n);
    jw_num(o, "wall_median_s", m->wall_median_s);
    jw_bool(o, "gpu_clock", m->gpu_clock);
    jw_bool(o, "settled", m->settled);
    jw_int(o, "repeats", m->repeats_n);
}

static void add_device(cJSON *root, const gpu_info *d) {
    cJSON *o = jw_obj(root, "device");
    jw_str(o, "backend", d->backend);
    jw_str(o, "name", d->name);
    jw_bool(o, "simulated_device", d->simulated);
    jw_int(o, "working_set_bytes", d->working_set_bytes);
    jw_int(o, "buffer_max_bytes", d->buffer_max_bytes);
    jw_int(o, "simd_width", d->simd_width);
    jw_int(o, "group_max", d->group_max_n);
    jw_int(o, "group_memory_max_bytes", d->group_memory_max_bytes);
}

static void add_checks(cJSON *root, const probe_checks *c) {
    cJSON *o = jw_obj(root, "self_test"), *list;
    jw_bool(o, "passed", c->failed_n == 0);
    list = jw_arr(o, "kernels");
    for (size_t i = 0; i < c->n; i++) {
        cJSON *k = jw_item(list);
        jw_str(k, "kernel", c->at[i].kernel);
        jw_int(k, "cases", c->at[i].cases_n);
        jw_int(k, "failed", c->at[i].failed_n);
        if (isfinite(c->at[i].error)) jw_num(k, "error_max", c->at[i].error);
    }
}

static void add_parts(cJSON *root, const char *key, const probe_part *parts, size_t n,
                      weight_kind kind) {
    cJSON *list = jw_arr(root, key);
    for (size_t i = 0; i < n; i++) {
        cJSON *o = jw_item(list);
        jw_int(o, "n", parts[i].n);
        jw_int(o, "keys_tok", parts[i].keys_tok);
        jw_str(o, "kernel", linear_kernel_name(kind, parts[i].by));
        add_measurement(o, &parts[i].m);
    }
}

err_code probe_json(const probe_result *r, buf *out, err *e) {
    cJSON *root = cJSON_CreateObject();
    if (!root) return err_set(e, E_NOMEM, "probe", "out of memory");
    jw_str(root, "schema", "ratecast.probe/1");
    jw_str(root, "ratecast_version", RATECAST_VERSION);
    jw_str(root, "shape", r->plan->shape->name);
    jw_str(root, "quant", QUANT_NAMES[r->plan->quant]);
    add_device(root, r->device);
    add_checks(root, &r->checks);
    cJSON *list = jw_arr(root, "kernels");
    for (size_t i = 0; i < r->kernels_n; i++) {
        const probe_kernel *k = &r->kernels[i];
        cJSON *o = jw_item(list);
        jw_str(o, "kernel", k->name);
        jw_str(o, "what", k->what);
        if (k->bytes > 0) jw_num(o, "bytes", k->bytes);
        if (k->flops > 0) jw_num(o, "flops", k->flops);
        add_measurement(o, &k->m);
    }
    add_parts(root, "step_layers", r->steps, r->steps_n, r->plan->kind);
    add_parts(root, "micro_batch_layers", r->micro, r->micro_n, r->plan->kind);
    add_parts(root, "output_matrix", r->outputs, r->outputs_n, r->plan->kind);
    const model_shape *s = r->plan->shape;
    jw_int(root, "output_matrix_bytes",
           s->vocab * (int64_t)weight_row_bytes(r->plan->kind, (size_t)s->n_embd));
    if (r->soaked_step_s > 0) {
        cJSON *o = jw_obj(root, "soak");
        jw_num(o, "soak_s", r->plan->soak_s);
        jw_num(o, "cold_step_s", r->decode_n ? r->decode[0].m.median_s : 0);
        jw_num(o, "soaked_step_s", r->soaked_step_s);
    }
    jw_print(root, out);
    cJSON_Delete(root);
    return OK;
}

/* ---- tables ---- */

void probe_checks_table(const gpu_info *device, const probe_checks *c, arena *mem, buf *out) {
    static const char *const HEAD[] = {"kernel", "cases", "failed", "largest error", "case"};
    table *t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    if (!t) return;
    table_left(t, 4);
    table_row(t, HEAD);
    for (size_t i = 0; i < c->n; i++) {
        const probe_check *k = &c->at[i];
        const char *row[] = {k->kernel, arena_printf(mem, "%lld", (long long)k->cases_n),
                             arena_printf(mem, "%lld", (long long)k->failed_n),
                             arena_printf(mem, "%.1e", k->error), k->worst};
        table_row(t, row);
    }
    buf_addf(out, "Self-test on %s (%s)%s\n\n", device->name, device->backend,
             device->simulated ? ", a simulation: it tests the kernels, not this machine" : "");
    table_markdown(t, out);
    if (c->failed_n)
        buf_addf(out, "\nself-test: FAILED, %lld of %zu kernels\n", (long long)c->failed_n, c->n);
    else
        buf_addf(out, "\nself-test: passed, %zu kernels\n", c->n);
}

static const char *rate(double amount, double s, double unit, arena *mem) {
    return amount > 0 ? arena_printf(mem, "%.4g", amount / s / unit) : NULL;
}

static const char *micros(double s, arena *mem) {
    return arena_printf(mem, "%.4g", 1e6 * s);
}

static void kernels_table(const probe_result *r, arena *mem, buf *out) {
    static const char *const HEAD[] = {"kernel",  "of",   "us",      "p10",    "p90",
                                       "wall us", "GB/s", "TFLOP/s", "settled"};
    table *t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    if (!t) return;
    table_left(t, 1);
    table_row(t, HEAD);
    for (size_t i = 0; i < r->kernels_n; i++) {
        const probe_kernel *k = &r->kernels[i];
        const char *row[] = {k->name,
                             k->what,
                             micros(k->m.median_s, mem),
                             micros(k->m.p10_s, mem),
                             micros(k->m.p90_s, mem),
                             micros(k->m.wall_median_s, mem),
                             rate(k->bytes, k->m.median_s, 1e9, mem),
                             rate(k->flops, k->m.median_s, 1e12, mem),
                             k->m.settled ? "yes" : "no"};
        table_row(t, row);
    }
    table_markdown(t, out);
}

static void cells_table(const probe_cell *cells, size_t n, bool prompt, arena *mem, buf *out) {
    const char *const head[] = {prompt ? "prompt tokens" : "sequences",
                                prompt ? "depth" : "context", "ms", "tok/s", "p90 / p10"};
    table *t = table_new(mem, sizeof head / sizeof *head);
    if (!t || n == 0) return;
    table_row(t, head);
    for (size_t i = 0; i < n; i++) {
        const probe_cell *c = &cells[i];
        const char *row[] = {arena_printf(mem, "%lld", (long long)c->n),
                             arena_printf(mem, "%lld", (long long)c->keys_tok),
                             arena_printf(mem, "%.4g", 1e3 * c->m.median_s),
                             rate((double)c->n, c->m.median_s, 1, mem),
                             arena_printf(mem, "%.2f", measure_spread(&c->m))};
        table_row(t, row);
    }
    buf_add(out, "\n");
    table_markdown(t, out);
}

void probe_table(const probe_result *r, arena *mem, buf *out) {
    buf_addf(out, "Kernel probe of %s (%s), %s %s\n", r->device->name, r->device->backend,
             r->plan->shape->name, QUANT_NAMES[r->plan->quant]);
    if (r->device->simulated)
        buf_add(out, "[SIMULATED DEVICE] the times are those of a simulation on the CPU and "
                     "describe no machine\n");
    buf_add(out, "\n");
    kernels_table(r, mem, out);
    cells_table(r->prefill, r->prefill_n, true, mem, out);
    cells_table(r->decode, r->decode_n, false, mem, out);
    if (r->soaked_step_s > 0 && r->decode_n > 0)
        buf_addf(out, "\nA step of one sequence: %.4g ms cold, %.4g ms after %.3g minutes\n",
                 1e3 * r->decode[0].m.median_s, 1e3 * r->soaked_step_s, r->plan->soak_s / 60);
}
