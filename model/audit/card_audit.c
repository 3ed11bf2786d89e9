#include "card_audit.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what the checks share ---- */

void tally_add(tally *t, bool broken, double how_bad, const void *point) {
    t->broken += broken;
    if (t->seen++ == 0 || how_bad > t->worst) {
        t->worst = how_bad;
        t->at = point;
    }
}

const char *decode_name(const card_view *v, const decode_point *p) {
    char context[48] = "unstated context";
    if (p->context_tok >= 0)
        snprintf(context, sizeof context, "context %lld", (long long)p->context_tok);
    const char *name = arena_printf(v->a->mem, "decode of %lld at %s (%s)", (long long)p->batch_n,
                                    context, p->origin.source);
    return name ? name : "";
}

const char *prefill_name(const card_view *v, const prefill_point *p) {
    char tokens[80] = "a prompt of unstated length";
    if (p->n_prompt_tok > 0)
        snprintf(tokens, sizeof tokens, "%lld x %lld tokens at depth %lld", (long long)p->batch_n,
                 (long long)p->n_prompt_tok, (long long)p->depth_tok);
    const char *name = arena_printf(v->a->mem, "prefill of %s (%s)", tokens, p->origin.source);
    return name ? name : "";
}

bool text_holds(const char *text, const char *part) {
    for (; text && *text; text++) {
        size_t n = 0;
        while (part[n] && tolower((unsigned char)text[n]) == tolower((unsigned char)part[n])) n++;
        if (!part[n]) return true;
    }
    return false;
}

/* ---- evidence ---- */

static bool measured(const point_origin *o) {
    return o->prov <= PROV_DERIVED;
}

static void check_evidence(const card_view *v) {
    const card *c = v->c;
    size_t used = 0, no = 0;
    for (size_t i = 0; i < c->prefill_n; i++) {
        if (c->prefill[i].origin.excluded) continue;
        used++;
        no += !measured(&c->prefill[i].origin);
    }
    for (size_t i = 0; i < c->decode_n; i++) {
        if (c->decode[i].origin.excluded) continue;
        used++;
        no += !measured(&c->decode[i].origin);
    }
    if (c->claim_only) {
        audit_say(v->a, R_EVIDENCE, "measured", AUDIT_CANNOT_TELL, c->id, 0,
                  "the card says itself that no measurement stands behind it (claim_only)")
            ->weight = WEIGHT_MAJOR;
        return;
    }
    if (c->simulated_device) {
        audit_say(v->a, R_EVIDENCE, "measured", AUDIT_CANNOT_TELL, c->id, 0,
                  "the card says itself that its device is simulated: its times are no "
                  "measurement of a machine")
            ->weight = WEIGHT_MAJOR;
        return;
    }
    if (no == 0) {
        audit_say(v->a, R_EVIDENCE, "measured", AUDIT_PASS, c->id, 0,
                  "all %zu points used are measured, or derived from measurements", used);
        return;
    }
    finding *f = audit_say(v->a, R_EVIDENCE, "measured", AUDIT_CANNOT_TELL, c->id, 0,
                           "%zu of %zu points used are no measurements (provenance modeled, "
                           "roofline, assumed or claim)",
                           no, used);
    if (no == used) f->weight = WEIGHT_MAJOR;
}

/* ---- conditions ---- */

static void list_add(char *list, size_t cap, bool missing, const char *what) {
    size_t n = strlen(list);
    if (missing) snprintf(list + n, cap - n, "%s%s", n ? ", " : "", what);
}

static void check_settings(const card_view *v) {
    const card *c = v->c;
    char list[400] = "";
    list_add(list, sizeof list, !c->engine.build, "engine build");
    list_add(list, sizeof list, c->engine.n_ubatch == 0, "micro-batch (n_ubatch)");
    list_add(list, sizeof list, c->engine.layout == KV_LAYOUT_UNSTATED, "KV layout");
    list_add(list, sizeof list, !c->engine.type_k || !c->engine.type_v, "KV types");
    list_add(list, sizeof list, c->engine.flash_attention < 0, "flash attention");
    list_add(list, sizeof list, strcmp(c->quant, "unstated") == 0, "quantisation");
    list_add(list, sizeof list, !c->architecture, "architecture (dense or experts)");
    list_add(list, sizeof list, c->params == 0, "parameters");
    list_add(list, sizeof list, c->weights_bytes == 0, "weights_bytes");
    list_add(list, sizeof list, card_kv_bytes_per_tok(c) == 0, "KV shape");
    list_add(list, sizeof list,
             c->layers > c->full_attention_layers && c->full_attention_layers &&
                 c->recurrent_state_bytes < 0,
             "recurrent state");
    if (list[0] == '\0')
        audit_say(v->a, R_CONDITIONS, "settings", AUDIT_PASS, c->id, 0,
                  "engine build, micro-batch, KV layout and types, flash attention, quantisation "
                  "and shape are stated");
    else
        audit_say(v->a, R_CONDITIONS, "settings", AUDIT_CANNOT_TELL, c->id, 0, "not stated: %s",
                  list)
            ->weight = WEIGHT_NOTE;
}

static void say_without(const card_view *v, const char *check, size_t missing, size_t of,
                        const char *points, const char *what, const char *so) {
    if (of == 0) return;
    if (missing == 0)
        audit_say(v->a, R_CONDITIONS, check, AUDIT_PASS, v->c->id, 0, "all %zu %s have %s", of,
                  points, what);
    else
        audit_say(v->a, R_CONDITIONS, check, AUDIT_CANNOT_TELL, v->c->id, 0,
                  "%zu of %zu %s without %s: %s", missing, of, points, what, so)
            ->weight = WEIGHT_NOTE;
}

static void check_keys(const card_view *v) {
    const card *c = v->c;
    size_t no_context = 0, no_length = 0, few = 0;
    for (size_t i = 0; i < c->decode_n; i++) {
        no_context += c->decode[i].context_tok < 0;
        few += c->decode[i].origin.samples_n < 2;
    }
    for (size_t i = 0; i < c->prefill_n; i++) {
        no_length += c->prefill[i].n_prompt_tok == 0;
        few += c->prefill[i].origin.samples_n < 2;
    }
    say_without(v, "context", no_context, c->decode_n, "decode points", "context_tok",
                "what context costs is not known");
    say_without(v, "length", no_length, c->prefill_n, "prefill points", "n_prompt_tok",
                "short prompts are not told from long ones");
    say_without(v, "samples", few, c->decode_n + c->prefill_n, "points", "a second repetition",
                "the first use of a shape may be in them");
}

/* ---- the whole card ---- */

err_code audit_card(const card *c, const hardware_catalogue *chips, arena *mem, audit *out,
                    err *e) {
    auditor a = {.mem = mem, .chips = chips};
    card_view v = {.a = &a, .c = c};
    *out = (audit){.kind = "card", .id = c->id, .title = c->title};
    card_check_weights(&v);
    card_check_ceilings(&v);
    card_check_roofline(&v);
    card_check_floor(&v);
    card_check_time_unit(&v);
    card_check_kv(&v);
    card_check_fits(&v);
    card_check_batches(&v);
    card_check_lengths(&v);
    card_check_cold_samples(&v);
    card_check_curves(&v);
    check_evidence(&v);
    check_settings(&v);
    check_keys(&v);
    return audit_close(&a, out, e);
}
