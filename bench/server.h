/* Completion servers as the recorder sees them: what they say about themselves, how a turn is asked
 * for, and what each event of the streamed reply says. One adapter an API. */
#ifndef RATECAST_BENCH_SERVER_H
#define RATECAST_BENCH_SERVER_H

#include "http.h"
#include "sse.h"

#include "base/arena.h"

struct cJSON;

enum { SERVER_WHY = 320 };

/* What a server tells of itself. 0 or NULL: not told. */
typedef struct server_info {
    const char *model_id, *model_path, *build;
    int64_t slots_n, slot_context_tok, vocab_n;
    bool busy; /* somebody else's request is in it */
} server_info;

typedef struct turn_ask {
    const buf *prompt; /* token ids in decimal, commas between them */
    int64_t out_tok;
    int64_t slot; /* -1: the server chooses */
    bool cache;
    const char *model_id;
} turn_ask;

/* What the events of one reply have said so far. */
typedef struct turn_said {
    int64_t tokens_n; /* streamed so far */
    bool ended;       /* the server said that this was all */
    /* the server's counts, -1: not stated */
    int64_t prompt_tok, cached_tok, new_tok, out_tok, slot;
    double prompt_ms, predicted_ms; /* the server's times, below 0: not stated */
    buf ids;                        /* the token ids that were sent, as in a prompt */
    int64_t ids_n;
    char stop[32]; /* why it ended, the server's word; empty: not said */
} turn_said;

void turn_said_init(turn_said *t);
void turn_said_done(turn_said *t);
void turn_said_reset(turn_said *t);

typedef struct server_api {
    const char *name; /* "llama", "openai" */
    const char *path; /* of a completion */
    bool has_slots, can_skip_cache;
    /* E_EXTERN: no answer, or one of another kind. */
    err_code (*discover)(http *h, double timeout_s, arena *mem, server_info *out, err *e);
    void (*ask)(const turn_ask *a, buf *body); /* appends the request's body */
    /* What the object of an event says; false: not what it should, with the reason in `why`. */
    bool (*read)(const struct cJSON *o, turn_said *t, char why[SERVER_WHY]);
    /* Empties the slots; false: this server cannot be asked to. NULL: no slots. */
    bool (*forget)(http *h, double timeout_s, int64_t slots_n);
} server_api;

/* llama-server's own POST /completion; any OpenAI-compatible POST /v1/completions that takes token
 * ids. */
extern const server_api SERVER_LLAMA, SERVER_OPENAI;

/* Takes an event of the reply. False: it is an error or not what it should be, with the reason. */
bool server_hear(const server_api *api, const sse_event *ev, turn_said *t, char why[SERVER_WHY]);

/* ---- for adapters ---- */

/* The object that an event or a reply holds; NULL with the reason. Free with cJSON_Delete. */
struct cJSON *server_json(const char *s, size_t len, char why[SERVER_WHY]);
/* A whole number >= 0 of an object, else -1; a number >= 0, else -1; a string, else NULL. */
int64_t server_int(const struct cJSON *o, const char *key);
double server_num(const struct cJSON *o, const char *key);
const char *server_str(const struct cJSON *o, const char *key);
/* Takes the tokens of an event: the ids of an array or, where there are none, one if `text` says
 * that the event holds some. False: the array holds something else. */
bool server_take_tokens(const struct cJSON *ids, bool text, turn_said *t, char why[SERVER_WHY]);
/* "the server says: ..." from {"error": {"message": ...}} or {"message": ...}, else from the bytes.
 */
void server_error(const struct cJSON *o, const char *s, size_t len, char why[SERVER_WHY]);
/* The bytes in one printable line of at most cap - 1 bytes. */
void server_excerpt(const char *s, size_t len, char *out, size_t cap);
/* A GET that has to give 200 and an object or an array. Free with cJSON_Delete. */
struct cJSON *server_get(http *h, const char *path, double timeout_s, long *status, err *e);

#endif
