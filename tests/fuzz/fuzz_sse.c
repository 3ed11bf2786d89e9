/* Any bytes as a stream of events, cut where the first byte says: the same is heard as in one
 * piece, and both adapters read every event or say what is wrong with it. */
#include "fuzz.h"

#include "server.h"

#include <string.h>

typedef struct ear {
    buf all;
    turn_said said[2];
} ear;

static void sane(const turn_said *t) {
    EXPECT(t->tokens_n >= 0 && t->ids_n >= 0 && t->ids_n <= (int64_t)t->ids.len);
    EXPECT(t->prompt_tok >= -1 && t->cached_tok >= -1 && t->new_tok >= -1 && t->out_tok >= -1);
    EXPECT(t->slot >= -1 && memchr(t->stop, '\0', sizeof t->stop));
    EXPECT(t->ids.s[strspn(t->ids.s, "0123456789,")] == '\0');
}

static void hear(void *arg, const sse_event *ev) {
    static const server_api *const APIS[] = {&SERVER_LLAMA, &SERVER_OPENAI};
    ear *e = arg;
    EXPECT(ev->data[ev->len] == '\0');
    buf_addf(&e->all, "%d %zu ", ev->error, ev->len);
    buf_add_n(&e->all, ev->data, ev->len);
    for (size_t i = 0; i < 2; i++) {
        char why[SERVER_WHY] = "";
        EXPECT(server_hear(APIS[i], ev, &e->said[i], why) == (why[0] == '\0'));
        EXPECT(!strpbrk(why, "\n\r"));
        sane(&e->said[i]);
    }
}

static bool listen(const uint8_t *data, size_t size, size_t piece, ear *e) {
    sse s;
    bool fine = true;
    buf_init(&e->all);
    for (size_t i = 0; i < 2; i++) turn_said_init(&e->said[i]);
    sse_init(&s, 4096, hear, e);
    for (size_t at = 0; at < size; at += piece)
        fine = sse_feed(&s, (const char *)data + at, piece < size - at ? piece : size - at);
    sse_done(&s);
    for (size_t i = 0; i < 2; i++) turn_said_done(&e->said[i]);
    return fine;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ear whole, pieces;
    if (size == 0) return 0;
    bool a = listen(data + 1, size - 1, size, &whole);
    bool b = listen(data + 1, size - 1, (size_t)data[0] % 64 + 1, &pieces);
    EXPECT(a == b);
    EXPECT(whole.all.len == pieces.all.len);
    EXPECT(memcmp(whole.all.s, pieces.all.s, whole.all.len) == 0);
    buf_done(&whole.all);
    buf_done(&pieces.all);
    return 0;
}
