/* llama-server: GET /props, /slots, /v1/models; POST /completion (tools/server/README.md of
 * llama.cpp). */
#include "server.h"

#include "base/jsonw.h"

#include <stdio.h>
#include <string.h>

/* /v1/models has the size of the vocabulary, in versions of 2025 and later. */
static void read_models(http *h, double timeout_s, arena *mem, server_info *out) {
    err none = {0};
    long status;
    cJSON *o = server_get(h, "/v1/models", timeout_s, &status, &none);
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(o, "data"), 0);
    const char *id = server_str(first, "id");
    if (id) out->model_id = arena_strdup(mem, id);
    int64_t n = server_int(cJSON_GetObjectItemCaseSensitive(first, "meta"), "n_vocab");
    if (n > 0) out->vocab_n = n;
    cJSON_Delete(o);
}

/* A server started with --no-slots says nothing here. */
static void read_slots(http *h, double timeout_s, server_info *out) {
    err none = {0};
    long status;
    cJSON *o = server_get(h, "/slots", timeout_s, &status, &none);
    const cJSON *slot;
    cJSON_ArrayForEach(slot, o) {
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(slot, "is_processing"))) out->busy = true;
        int64_t n = server_int(slot, "n_ctx");
        if (out->slot_context_tok == 0 && n > 0) out->slot_context_tok = n;
    }
    cJSON_Delete(o);
}

static const char *keep(const char *s, arena *mem) {
    return s && *s ? arena_strdup(mem, s) : NULL;
}

static err_code discover(http *h, double timeout_s, arena *mem, server_info *out, err *e) {
    long status;
    *out = (server_info){0};
    cJSON *o = server_get(h, "/props", timeout_s, &status, e);
    int64_t slots = server_int(o, "total_slots");
    if (o && slots < 1)
        err_set(e, E_EXTERN, http_url(h),
                "/props has no total_slots, expected a llama-server (or --api openai)");
    if (e->code == OK) {
        int64_t context =
            server_int(cJSON_GetObjectItemCaseSensitive(o, "default_generation_settings"), "n_ctx");
        *out = (server_info){.slots_n = slots,
                             .slot_context_tok = context > 0 ? context : 0,
                             .model_path = keep(server_str(o, "model_path"), mem),
                             .build = keep(server_str(o, "build_info"), mem)};
        read_models(h, timeout_s, mem, out);
        read_slots(h, timeout_s, out);
    }
    cJSON_Delete(o);
    return e->code;
}

static void ask(const turn_ask *a, buf *body) {
    buf_add(body, "{\"prompt\":[");
    buf_add_n(body, a->prompt->s, a->prompt->len);
    buf_addf(body,
             "],\"n_predict\":%lld,\"stream\":true,\"temperature\":0,\"ignore_eos\":true,"
             "\"cache_prompt\":%s,\"return_tokens\":true",
             (long long)a->out_tok, a->cache ? "true" : "false");
    if (a->slot >= 0) buf_addf(body, ",\"id_slot\":%lld", (long long)a->slot);
    buf_add(body, "}");
}

/* The last event: the server's counts. `tokens_cached` is not the reused part of the prompt in
 * every version; `timings` are what the reused and the computed part were. */
static void read_end(const cJSON *o, turn_said *t) {
    const cJSON *timings = cJSON_GetObjectItemCaseSensitive(o, "timings");
    const char *why = server_str(o, "stop_type");
    t->ended = true;
    t->prompt_tok = server_int(o, "tokens_evaluated");
    t->out_tok = server_int(o, "tokens_predicted");
    t->new_tok = server_int(timings, "prompt_n");
    t->cached_tok = server_int(timings, "cache_n");
    if (t->cached_tok < 0 && t->new_tok >= 0 && t->prompt_tok >= t->new_tok)
        t->cached_tok = t->prompt_tok - t->new_tok; /* versions before cache_n */
    t->prompt_ms = server_num(timings, "prompt_ms");
    t->predicted_ms = server_num(timings, "predicted_ms");
    snprintf(t->stop, sizeof t->stop, "%s", why ? why : "");
}

static bool read_event(const cJSON *o, turn_said *t, char why[SERVER_WHY]) {
    const cJSON *ids = cJSON_GetObjectItemCaseSensitive(o, "tokens");
    bool stop = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "stop"));
    bool text = !stop && server_str(o, "content") &&
                !cJSON_GetObjectItemCaseSensitive(o, "prompt_progress");
    if (!server_take_tokens(ids, text, t, why)) return false;
    int64_t slot = server_int(o, "id_slot");
    if (slot >= 0) t->slot = slot;
    if (stop) read_end(o, t);
    return true;
}

static bool forget(http *h, double timeout_s, int64_t slots_n) {
    buf reply;
    bool all = true;
    buf_init(&reply);
    for (int64_t i = 0; i < slots_n && all; i++) {
        char path[64];
        long status = 0;
        err none = {0};
        snprintf(path, sizeof path, "/slots/%lld?action=erase", (long long)i);
        all = http_fetch(h, path, "{}", timeout_s, &reply, &status, &none) == OK && status == 200;
    }
    buf_done(&reply);
    return all;
}

const server_api SERVER_LLAMA = {.name = "llama",
                                 .path = "/completion",
                                 .has_slots = true,
                                 .can_skip_cache = true,
                                 .discover = discover,
                                 .ask = ask,
                                 .read = read_event,
                                 .forget = forget};
