#include "roofline_card.h"

#include "base/jsonw.h"
#include "card.h"

#include <ctype.h>
#include <string.h>

/* ---- asking ---- */

static const char *fitted_families(const roofline_points *p, arena *mem) {
    const char *list = "";
    for (size_t i = 0; list && i < p->n; i++)
        list = arena_printf(mem, "%s%s%s", list, i ? ", " : "", p->families[i].title);
    return list ? list : "";
}

err_code roofline_ask(const roofline_points *p, const roofline_request *q, arena *mem,
                      roofline_answer *out, err *e) {
    const hardware *chip = q->chip;
    const roofline_family *f = roofline_family_of(p, chip);
    double bits = roofline_weight_bits(&q->work);
    *out = (roofline_answer){.prov = PROV_ROOFLINE};
    if (chip->mem_bw_bytes_s <= 0)
        return err_set(e, E_REFUSED, chip->chip,
                       "the catalogue has no memory bandwidth of it: no roofline");
    if (chip->memory_bytes > 0 && (double)q->work.weights_bytes > chip->memory_bytes)
        return err_set(e, E_REFUSED, chip->chip,
                       "the weights are %.1f GiB, its largest memory is %.0f GiB",
                       (double)q->work.weights_bytes / 0x1p30, chip->memory_bytes / 0x1p30);
    if (!f && q->efficiency <= 0)
        return err_set(e, E_REFUSED, chip->chip,
                       "no efficiencies are fitted for this maker (there are: %s), and those of "
                       "another do not carry over; --efficiency FRAC declares one",
                       fitted_families(p, mem));
    if (q->efficiency > 0) {
        out->prov = PROV_ASSUMED;
        out->rates = roofline_rates_declared(chip, q->efficiency, q->peak_flop_s);
        return OK;
    }
    if (roofline_fit_family(f, mem, &out->fit, e)) return e->code;
    out->rates = roofline_rates_of(&out->fit, chip, bits, q->peak_flop_s);
    double listed = roofline_rates_of(&out->fit, chip, bits, 0).flop_s;
    if (out->rates.flop_s > listed) out->prov = PROV_ASSUMED;
    return OK;
}

/* ---- words ---- */

static const char *errors_text(const roofline_errors *x, const char *what, arena *mem) {
    if (x->n == 0) return "";
    return arena_printf(mem,
                        "; %s of chips left out of the fit: %zu points, off by %.1f %% "
                        "(median), %.1f %% (worst, %s %s)",
                        what, x->n, 100 * x->median_frac, 100 * x->worst_frac, x->worst->chip->chip,
                        x->worst->quant);
}

const char *roofline_fit_text(const roofline_fit *f, arena *mem) {
    const char *text = arena_printf(
        mem,
        "%s: bandwidth efficiency %.2f to %.2f from chip to chip%s%s%s; KV is read at %.2f of the "
        "bandwidth (one chip), a further row of a step costs %.1f times its arithmetic (one chip)",
        f->family->title, f->eta_min, f->eta_max,
        f->mfu_max > 0
            ? arena_printf(mem, ", arithmetic efficiency %.2f to %.2f", f->mfu_min, f->mfu_max)
            : "",
        errors_text(&f->decode_error, "decode steps", mem),
        errors_text(&f->prefill_error, "prefill", mem), f->kv_eta, f->row_cost);
    return text ? text : "";
}

static const char *rates_text(const roofline_request *q, const roofline_answer *a, arena *mem) {
    const roofline_rates *r = &a->rates;
    const char *decode =
        arena_printf(mem, "a pass streams %.2f of %.0f GB/s and takes %.3f ms more a layer", r->eta,
                     r->bw_bytes_s / 1e9, 1e3 * r->layer_s);
    const char *prefill =
        r->mfu > 0 ? arena_printf(mem, "prefill computes at %.2f of %.1f TFLOP/s%s", r->mfu,
                                  r->flop_s / 1e12,
                                  a->prov == PROV_ASSUMED && q->peak_flop_s > 0
                                      ? " (declared, not in the catalogue)"
                                      : "")
                   : "no prefill and one sequence only: the chip's arithmetic for such weights is "
                     "not known";
    const char *fit = a->fit.family ? roofline_fit_text(&a->fit, mem) : "";
    return arena_printf(mem, "%s; %s%s%s", decode, prefill, fit[0] ? ". " : "", fit);
}

/* ---- JSON ---- */

/* Reports name a point by its source: the card's own is too long for that. */
static const char POINT_SOURCE[] = "roofline";

/* "Q8_0", as other cards write it. */
static const char *upper(const char *s, arena *mem) {
    char *out = arena_strdup(mem, s);
    for (char *p = out; p && *p; p++) *p = (char)toupper((unsigned char)*p);
    return out;
}

static const char *default_id(const roofline_request *q, arena *mem) {
    char *id = arena_printf(mem, "%s-%s-%s)roofline", q->model, q->quant, q->chip->chip), *to = id;
    for (const char *p = id; p && *p; p++) {
        bool kept = isalnum((unsigned char)*p) || strchr("._-", *p);
        if (kept || (to > id && to[-1] != '-'))
            *to++ = kept ? (char)tolower((unsigned char)*p) : '-';
    }
    if (to) *to = '\0';
    return id;
}

static void add_model(cJSON *root, const roofline_request *q, arena *mem) {
    static const char *const FIELDS[] = {"params",   "weights_bytes", "layers",
                                         "kv_heads", "head_dim",      NULL};
    const roofline_work *w = &q->work;
    jw_str(root, "model", q->model);
    jw_str(root, "quant", upper(q->quant, mem));
    jw_str(root, "architecture", q->architecture);
    jw_int(root, "params", w->params);
    jw_int(root, "weights_bytes", w->weights_bytes);
    jw_int(root, "layers", w->layers);
    jw_int(root, "full_attention_layers", w->layers);
    jw_int(root, "kv_heads", w->kv_heads);
    jw_int(root, "head_dim", w->head_dim);
    jw_int(root, "kv_element_bytes", 2);
    cJSON *by_field = jw_obj(root, "field_provenance");
    for (size_t i = 0; FIELDS[i]; i++) {
        cJSON *p = jw_obj(by_field, FIELDS[i]);
        jw_str(p, "provenance", PROV_NAMES[PROV_DERIVED]);
        jw_str(p, "source", q->sizes_source);
    }
}

static void add_machine(cJSON *root, const roofline_request *q) {
    const hardware *h = q->chip;
    cJSON *engine = jw_obj(root, "engine"), *hw = jw_obj(root, "hardware");
    jw_str(engine, "name", "llama.cpp");
    jw_int(engine, "n_ubatch", ROOFLINE_UBATCH_TOK);
    jw_str(engine, "type_k", "f16");
    jw_str(engine, "type_v", "f16");
    jw_str(hw, "chip", h->chip);
    jw_num(hw, "mem_bw_bytes_s", h->mem_bw_bytes_s);
    if (h->fp16_flop_s > 0) jw_num(hw, "fp16_flop_s", h->fp16_flop_s);
    if (h->memory_bytes > 0) jw_int(hw, "memory_bytes", (int64_t)h->memory_bytes);
    jw_str(hw, "source", h->source);
}

/* Cells that the chip's memory cannot hold are none. */
static bool fits(const roofline_request *q, int64_t tokens) {
    double bytes =
        (double)q->work.weights_bytes + roofline_kv_bytes_per_tok(&q->work) * (double)tokens;
    return q->chip->memory_bytes <= 0 || bytes <= q->chip->memory_bytes;
}

static void add_decode(cJSON *root, const roofline_request *q, const roofline_rates *r) {
    static const int64_t BATCHES[] = {1, 2, 4, 8, 16, 32},
                         CONTEXTS[] = {128, 2048, 8192, 16384, 32768};
    cJSON *list = jw_arr(root, "decode");
    for (size_t b = 0; b < sizeof BATCHES / sizeof *BATCHES; b++)
        for (size_t k = 0; k < sizeof CONTEXTS / sizeof *CONTEXTS; k++) {
            if (!fits(q, BATCHES[b] * CONTEXTS[k])) continue;
            if (BATCHES[b] > 1 && r->flop_s <= 0) continue;
            cJSON *p = jw_item(list);
            jw_int(p, "batch_n", BATCHES[b]);
            jw_int(p, "context_tok", CONTEXTS[k]);
            jw_str(p, "source", POINT_SOURCE);
            jw_num(p, "step_s", roofline_decode_s(r, &q->work, BATCHES[b], (double)CONTEXTS[k]));
        }
}

static void add_prefill(cJSON *root, const roofline_request *q, const roofline_rates *r) {
    static const int64_t LENGTHS[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384},
                         DEPTHS[] = {0, 4096, 16384};
    cJSON *list = jw_arr(root, "prefill");
    for (size_t d = 0; d < sizeof DEPTHS / sizeof *DEPTHS && r->mfu > 0; d++)
        for (size_t i = 0; i < sizeof LENGTHS / sizeof *LENGTHS; i++) {
            if (!fits(q, LENGTHS[i] + DEPTHS[d])) continue;
            cJSON *p = jw_item(list);
            jw_int(p, "n_prompt_tok", LENGTHS[i]);
            jw_int(p, "depth_tok", DEPTHS[d]);
            jw_str(p, "source", POINT_SOURCE);
            jw_num(p, "s", roofline_prefill_s(r, &q->work, LENGTHS[i], DEPTHS[d]));
        }
}

err_code roofline_card_write(const roofline_request *q, const roofline_answer *a, arena *mem,
                             buf *out, err *e) {
    bool declared = !a->fit.family;
    const char *source =
        declared ? arena_printf(mem,
                                "roofline of %s with a declared efficiency of "
                                "%g; nothing was measured and nothing fitted",
                                q->chip->chip, q->efficiency)
                 : arena_printf(mem,
                                "roofline of %s: efficiencies fitted to public measurements of "
                                "%s; nothing of this card was measured",
                                q->chip->chip, a->fit.family->title);
    const char *title = arena_printf(mem, "%s %s, %s, roofline", q->model, upper(q->quant, mem),
                                     q->chip->chip),
               *id = q->id ? q->id : default_id(q, mem), *note = rates_text(q, a, mem);
    cJSON *root = cJSON_CreateObject();
    if (!source || !title || !id || !note || !root) {
        cJSON_Delete(root);
        return err_set(e, E_LIMIT, "roofline", "the card does not fit the memory budget");
    }
    jw_str(root, "schema", CARD_SCHEMA);
    jw_str(root, "id", id);
    jw_str(root, "title", title);
    jw_str(root, "method", "roofline");
    jw_str(root, "provenance", PROV_NAMES[a->prov]);
    jw_str(root, "source", source);
    jw_str(root, "note", note);
    add_model(root, q, mem);
    add_machine(root, q);
    add_prefill(root, q, &a->rates);
    add_decode(root, q, &a->rates);
    jw_print(root, out);
    cJSON_Delete(root);
    return OK;
}
