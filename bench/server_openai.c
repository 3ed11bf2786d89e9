/* OpenAI-compatible servers that take token ids as a prompt (vLLM, SGLang, llama-server): GET
 * /v1/models, POST /v1/completions. `ignore_eos`, `min_tokens` and `return_token_ids` are vLLM's;
 * servers without them ignore them. */
#include "server.h"

#include "base/jsonw.h"

#include <stdio.h>
#include <string.h>

static err_code discover(http *h, double timeout_s, arena *mem, server_info *out, err *e) {
    long status;
    *out = (server_info){0};
    cJSON *o = server_get(h, "/v1/models", timeout_s, &status, e);
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(o, "data"), 0);
    const char *id = server_str(first, "id");
    if (o && !id)
        err_set(e, E_EXTERN, http_url(h),
                "/v1/models names no model, expected an OpenAI-compatible server");
    if (e->code == OK) {
        int64_t context = server_int(first, "max_model_len"); /* vLLM, SGLang */
        int64_t vocab =
            server_int(cJSON_GetObjectItemCaseSensitive(first, "meta"), "n_vocab"); /* llama.cpp */
        out->model_id = arena_strdup(mem, id);
        out->slot_context_tok = context > 0 ? context : 0;
        out->vocab_n = vocab > 0 ? vocab : 0;
        if (!out->model_id) err_set(e, E_LIMIT, http_url(h), "does not fit the memory budget");
    }
    cJSON_Delete(o);
    return e->code;
}

static void ask(const turn_ask *a, buf *body) {
    cJSON *head = cJSON_CreateObject();
    jw_str(head, "model", a->model_id);
    char *text = cJSON_PrintUnformatted(head); /* for the escapes of the name */
    cJSON_Delete(head);
    if (text && strlen(text) > 2)
        buf_addf(body, "%.*s,", (int)strlen(text) - 1, text);
    else
        buf_add(body, "{");
    cJSON_free(text);
    buf_add(body, "\"prompt\":[");
    buf_add_n(body, a->prompt->s, a->prompt->len);
    buf_addf(body,
             "],\"max_tokens\":%lld,\"min_tokens\":%lld,\"ignore_eos\":true,\"temperature\":0,"
             "\"stream\":true,\"stream_options\":{\"include_usage\":true},"
             "\"return_token_ids\":true}",
             (long long)a->out_tok, (long long)a->out_tok);
}

static void read_usage(const cJSON *o, turn_said *t) {
    const cJSON *usage = cJSON_GetObjectItemCaseSensitive(o, "usage");
    const cJSON *timings = cJSON_GetObjectItemCaseSensitive(o, "timings"); /* llama-server */
    if (cJSON_IsObject(usage)) {
        const cJSON *details = cJSON_GetObjectItemCaseSensitive(usage, "prompt_tokens_details");
        t->prompt_tok = server_int(usage, "prompt_tokens");
        t->out_tok = server_int(usage, "completion_tokens");
        if (server_int(details, "cached_tokens") >= 0)
            t->cached_tok = server_int(details, "cached_tokens");
    }
    if (!cJSON_IsObject(timings)) return;
    t->prompt_ms = server_num(timings, "prompt_ms");
    t->predicted_ms = server_num(timings, "predicted_ms");
    if (t->cached_tok < 0) t->cached_tok = server_int(timings, "cache_n");
}

/* One choice: its new tokens, and whether it is finished. */
static bool read_choice(const cJSON *c, turn_said *t, char why[SERVER_WHY]) {
    const cJSON *ids = cJSON_GetObjectItemCaseSensitive(c, "token_ids");
    const char *text = server_str(c, "text"), *end = server_str(c, "finish_reason");
    /* an empty one at the end is none */
    if (!server_take_tokens(ids, text && (*text || !end), t, why)) return false;
    if (end) {
        t->ended = true;
        snprintf(t->stop, sizeof t->stop, "%s", end);
    }
    return true;
}

static bool read_event(const cJSON *o, turn_said *t, char why[SERVER_WHY]) {
    const cJSON *choice = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(o, "choices"), 0);
    if (choice && !read_choice(choice, t, why)) return false;
    read_usage(o, t);
    if (t->prompt_tok >= 0 && t->cached_tok >= 0 && t->prompt_tok >= t->cached_tok)
        t->new_tok = t->prompt_tok - t->cached_tok;
    return true;
}

const server_api SERVER_OPENAI = {.name = "openai",
                                  .path = "/v1/completions",
                                  .discover = discover,
                                  .ask = ask,
                                  .read = read_event};
