#include "server.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double ID_MAX = 2147483647;

void turn_said_init(turn_said *t) {
    *t = (turn_said){0};
    buf_init(&t->ids);
    turn_said_reset(t);
}

void turn_said_done(turn_said *t) {
    buf_done(&t->ids);
}

void turn_said_reset(turn_said *t) {
    buf ids = t->ids;
    buf_reset(&ids);
    *t = (turn_said){.prompt_tok = -1,
                     .cached_tok = -1,
                     .new_tok = -1,
                     .out_tok = -1,
                     .slot = -1,
                     .prompt_ms = -1,
                     .predicted_ms = -1,
                     .ids = ids};
}

void server_excerpt(const char *s, size_t len, char *out, size_t cap) {
    size_t n = 0;
    bool space = false;
    for (size_t i = 0; i < len && n + 1 < cap; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c <= ' ' || c == 0x7f) {
            space = n > 0;
            continue;
        }
        if (space && n + 2 < cap) out[n++] = ' ';
        space = false;
        out[n++] = c < 0x80 ? (char)c : '?'; /* a cut character would be no UTF-8 */
    }
    out[n] = '\0';
}

cJSON *server_json(const char *s, size_t len, char why[SERVER_WHY]) {
    const char *end = NULL;
    cJSON *o = cJSON_ParseWithLengthOpts(s, len, &end, false);
    size_t used = o ? (size_t)(end - s) : 0;
    while (o && used < len && strchr(" \t\r\n", s[used]) && s[used]) used++;
    if (o && used == len && (cJSON_IsObject(o) || cJSON_IsArray(o))) return o;
    char head[120];
    server_excerpt(s, len, head, sizeof head);
    snprintf(why, SERVER_WHY, "expected a JSON object, found: %s", head[0] ? head : "nothing");
    cJSON_Delete(o);
    return NULL;
}

double server_num(const cJSON *o, const char *key) {
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(m) && m->valuedouble >= 0 && m->valuedouble < 1e15 ? m->valuedouble : -1;
}

int64_t server_int(const cJSON *o, const char *key) {
    double v = server_num(o, key);
    return v >= 0 && v == floor(v) && v <= ID_MAX ? (int64_t)v : -1;
}

const char *server_str(const cJSON *o, const char *key) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
}

bool server_take_tokens(const cJSON *ids, bool text, turn_said *t, char why[SERVER_WHY]) {
    const cJSON *m;
    cJSON_ArrayForEach(m, ids) {
        double v = cJSON_IsNumber(m) ? m->valuedouble : -1;
        if (!(v >= 0 && v <= ID_MAX && v == floor(v))) {
            snprintf(why, SERVER_WHY, "expected token ids, found something else among them");
            return false;
        }
        buf_addf(&t->ids, "%s%lld", t->ids_n > 0 ? "," : "", (long long)v); /* -0 is 0 */
        t->ids_n++;
        t->tokens_n++;
    }
    if (cJSON_GetArraySize(ids) == 0 && text) t->tokens_n++; /* ids are not sent: one an event */
    return true;
}

void server_error(const cJSON *o, const char *s, size_t len, char why[SERVER_WHY]) {
    const cJSON *inner = cJSON_GetObjectItemCaseSensitive(o, "error");
    const char *text = cJSON_IsObject(inner) ? server_str(inner, "message")
                       : inner               ? cJSON_GetStringValue(inner)
                                             : server_str(o, "message");
    char head[240];
    server_excerpt(text ? text : s, text ? strlen(text) : len, head, sizeof head);
    snprintf(why, SERVER_WHY, "the server says: %s", head[0] ? head : "nothing");
}

bool server_hear(const server_api *api, const sse_event *ev, turn_said *t, char why[SERVER_WHY]) {
    if (strcmp(ev->data, "[DONE]") == 0) return true;
    cJSON *o = server_json(ev->data, ev->len, why);
    if (!o) return false;
    const cJSON *inner = cJSON_GetObjectItemCaseSensitive(o, "error");
    bool is_error = ev->error || (inner && !cJSON_IsNull(inner));
    if (is_error) server_error(o, ev->data, ev->len, why);
    bool fine = !is_error && api->read(o, t, why);
    cJSON_Delete(o);
    return fine;
}

cJSON *server_get(http *h, const char *path, double timeout_s, long *status, err *e) {
    buf reply;
    char why[SERVER_WHY] = "";
    cJSON *o = NULL;
    buf_init(&reply);
    *status = 0;
    if (http_fetch(h, path, NULL, timeout_s, &reply, status, e) == OK) {
        o = server_json(reply.s, reply.len, why);
        if (*status != 200) {
            server_error(o, reply.s, reply.len, why);
            err_set(e, E_EXTERN, http_url(h), "%s: HTTP status %ld: %s", path, *status, why);
        } else if (!o) {
            err_set(e, E_EXTERN, http_url(h), "%s: %s", path, why);
        }
    }
    buf_done(&reply);
    if (e->code == OK) return o;
    cJSON_Delete(o);
    return NULL;
}
