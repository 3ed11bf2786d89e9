/* Adapters: what each event says. The events are those that llama-server and vLLM send, shortened.
 */
#include "server.h"

#include <criterion/criterion.h>
#include <string.h>

static bool hear(const server_api *api, const char *data, turn_said *t, char why[SERVER_WHY]) {
    sse_event ev = {.data = data, .len = strlen(data)};
    why[0] = '\0';
    return server_hear(api, &ev, t, why);
}

static void hears(const server_api *api, const char *data, turn_said *t) {
    char why[SERVER_WHY];
    cr_assert(hear(api, data, t, why), "%s", why);
}

static void refuses(const server_api *api, const char *data, const char *says) {
    turn_said t;
    char why[SERVER_WHY];
    turn_said_init(&t);
    cr_assert_not(hear(api, data, &t, why), "%s", data);
    cr_assert_not_null(strstr(why, says), "%s: %s", data, why);
    turn_said_done(&t);
}

Test(server, llama_stream) {
    turn_said t;
    turn_said_init(&t);
    hears(&SERVER_LLAMA, "{\"content\":\"a\",\"tokens\":[17],\"stop\":false,\"id_slot\":2}", &t);
    hears(&SERVER_LLAMA, "{\"content\":\"bc\",\"tokens\":[4,5],\"stop\":false,\"id_slot\":2}", &t);
    hears(&SERVER_LLAMA, "{\"content\":\"\",\"tokens\":[],\"stop\":false,\"prompt_progress\":{}}",
          &t);
    cr_assert_eq(t.tokens_n, 3);
    cr_assert_not(t.ended);
    cr_assert_eq(t.prompt_tok, -1);
    hears(&SERVER_LLAMA,
          "{\"content\":\"\",\"tokens\":[],\"id_slot\":2,\"stop\":true,\"tokens_predicted\":3,"
          "\"tokens_evaluated\":2092,\"tokens_cached\":2094,\"stop_type\":\"limit\",\"timings\":{"
          "\"cache_n\":2079,\"prompt_n\":13,\"prompt_ms\":24.5,\"predicted_ms\":1.5}}",
          &t);
    cr_assert(t.ended);
    cr_assert_eq(t.tokens_n, 3);
    cr_assert_str_eq(t.ids.s, "17,4,5");
    cr_assert_eq(t.ids_n, 3);
    cr_assert_eq(t.prompt_tok, 2092);
    cr_assert_eq(t.cached_tok, 2079); /* of timings: tokens_cached is something else here */
    cr_assert_eq(t.new_tok, 13);
    cr_assert_eq(t.out_tok, 3);
    cr_assert_eq(t.slot, 2);
    cr_assert_eq(t.prompt_ms, 24.5);
    cr_assert_eq(t.predicted_ms, 1.5);
    cr_assert_str_eq(t.stop, "limit");
    turn_said_reset(&t);
    cr_assert(t.tokens_n == 0 && t.ids.len == 0 && !t.ended && t.slot == -1);
    turn_said_done(&t);
}

Test(server, llama_before_cache_n_and_before_ids) {
    turn_said t;
    turn_said_init(&t);
    hears(&SERVER_LLAMA, "{\"content\":\"a\",\"stop\":false}", &t);
    hears(&SERVER_LLAMA, "{\"content\":\"\",\"stop\":false}", &t);
    hears(&SERVER_LLAMA,
          "{\"content\":\"\",\"stop\":true,\"tokens_evaluated\":20,\"timings\":{"
          "\"prompt_n\":5}}",
          &t);
    cr_assert_eq(t.tokens_n, 2);
    cr_assert_eq(t.ids_n, 0);
    cr_assert_eq(t.cached_tok, 15);
    cr_assert_eq(t.out_tok, -1);
    cr_assert_eq(t.prompt_ms, -1);
    turn_said_done(&t);
}

Test(server, openai_stream) {
    turn_said t;
    turn_said_init(&t);
    hears(&SERVER_OPENAI,
          "{\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":null,\"token_ids\":[7],"
          "\"prompt_token_ids\":[1,2]}],\"usage\":null}",
          &t);
    hears(&SERVER_OPENAI,
          "{\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\",\"token_ids\":[8]}"
          "]}",
          &t);
    cr_assert(t.ended);
    hears(&SERVER_OPENAI,
          "{\"choices\":[],\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":2,"
          "\"prompt_tokens_details\":{\"cached_tokens\":32}}}",
          &t);
    hears(&SERVER_OPENAI, "[DONE]", &t);
    cr_assert_eq(t.tokens_n, 2);
    cr_assert_str_eq(t.ids.s, "7,8");
    cr_assert_eq(t.prompt_tok, 40);
    cr_assert_eq(t.cached_tok, 32);
    cr_assert_eq(t.new_tok, 8);
    cr_assert_eq(t.out_tok, 2);
    cr_assert_eq(t.slot, -1);
    turn_said_done(&t);
}

Test(server, openai_without_ids_or_details) {
    turn_said t;
    turn_said_init(&t);
    hears(&SERVER_OPENAI, "{\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}", &t);
    hears(&SERVER_OPENAI, "{\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}]}", &t);
    hears(&SERVER_OPENAI,
          "{\"choices\":[],\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":1,"
          "\"prompt_tokens_details\":null}}",
          &t);
    cr_assert_eq(t.tokens_n, 1);
    cr_assert_eq(t.cached_tok, -1);
    cr_assert_eq(t.new_tok, -1);
    turn_said_done(&t);
}

Test(server, wrong_events) {
    const server_api *const APIS[] = {&SERVER_LLAMA, &SERVER_OPENAI};
    for (size_t i = 0; i < 2; i++) {
        refuses(APIS[i], "", "found: nothing");
        refuses(APIS[i], "{", "expected a JSON object, found: {");
        refuses(APIS[i], "{} {}", "expected a JSON object");
        refuses(APIS[i], "17", "expected a JSON object, found: 17");
        refuses(APIS[i], "{\"error\":{\"code\":400,\"message\":\"too\\nlong\"}}",
                "the server says: too long");
        refuses(APIS[i], "{\"error\":\"no\"}", "the server says: no");
        refuses(APIS[i], "{\"error\":{}}", "the server says: {\"error\":{}}");
    }
    refuses(&SERVER_LLAMA, "{\"tokens\":[1.5]}", "token ids");
    refuses(&SERVER_LLAMA, "{\"tokens\":[-1]}", "token ids");
    refuses(&SERVER_LLAMA, "{\"tokens\":[1e300]}", "token ids");
    refuses(&SERVER_OPENAI, "{\"choices\":[{\"text\":\"a\",\"token_ids\":[\"a\"]}]}", "token ids");
}

Test(server, an_error_event_of_old_servers) {
    turn_said t;
    char why[SERVER_WHY] = "";
    const char *data = "{\"code\":500,\"message\":\"context shift\"}";
    turn_said_init(&t);
    sse_event ev = {.data = data, .len = strlen(data), .error = true};
    cr_assert_not(server_hear(&SERVER_LLAMA, &ev, &t, why));
    cr_assert_str_eq(why, "the server says: context shift");
    turn_said_done(&t);
}

Test(server, values_of_other_types_are_not_stated) {
    turn_said t;
    turn_said_init(&t);
    hears(&SERVER_LLAMA,
          "{\"error\":null,\"content\":4,\"tokens\":\"x\",\"stop\":true,"
          "\"tokens_evaluated\":\"9\",\"timings\":[],\"id_slot\":-3}",
          &t);
    cr_assert(t.ended && t.prompt_tok == -1 && t.cached_tok == -1 && t.slot == -1);
    hears(&SERVER_LLAMA, "{\"tokens\":[-0]}", &t);
    cr_assert_str_eq(t.ids.s, "0");
    hears(&SERVER_OPENAI, "{\"choices\":{},\"usage\":4,\"timings\":4}", &t);
    hears(&SERVER_OPENAI, "[]", &t);
    turn_said_done(&t);
}

Test(server, excerpts_are_one_printable_line) {
    char out[12];
    server_excerpt(" a\r\n\t b\x01\xC3\xA9", 10, out, sizeof out);
    cr_assert_str_eq(out, "a b ??");
    server_excerpt("0123456789abcdef", 16, out, sizeof out);
    cr_assert_str_eq(out, "0123456789a");
    server_excerpt("", 0, out, sizeof out);
    cr_assert_str_eq(out, "");
}

Test(server, requests) {
    buf ids, body;
    buf_init(&ids);
    buf_init(&body);
    buf_add(&ids, "5,6");
    turn_ask a = {.prompt = &ids, .out_tok = 9, .slot = 3, .cache = true, .model_id = "a\"b"};
    SERVER_LLAMA.ask(&a, &body);
    cr_assert_str_eq(body.s, "{\"prompt\":[5,6],\"n_predict\":9,\"stream\":true,\"temperature\":0,"
                             "\"ignore_eos\":true,\"cache_prompt\":true,\"return_tokens\":true,"
                             "\"id_slot\":3}");
    buf_reset(&body);
    SERVER_OPENAI.ask(&a, &body);
    cr_assert_str_eq(body.s,
                     "{\"model\":\"a\\\"b\",\"prompt\":[5,6],\"max_tokens\":9,\"min_tokens\":9,"
                     "\"ignore_eos\":true,\"temperature\":0,\"stream\":true,\"stream_options\":{"
                     "\"include_usage\":true},\"return_token_ids\":true}");
    a.slot = -1;
    a.cache = false;
    buf_reset(&body);
    SERVER_LLAMA.ask(&a, &body);
    cr_assert_not_null(strstr(body.s, "\"cache_prompt\":false"));
    cr_assert_null(strstr(body.s, "id_slot"));
    buf_done(&ids);
    buf_done(&body);
}
