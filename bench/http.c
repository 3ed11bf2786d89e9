#include "http.h"

#include "base/file.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Connecting takes as long as the kernel likes where packets are dropped; a server that is there
 * answers at once. */
static const long CONNECT_MS = 10000;
static const int64_t STEP_MAX_NS = 1000000000;

typedef struct flight {
    http *h;
    http_call call;
    CURL *easy;
    char *url;
    char error[CURL_ERROR_SIZE];
    struct flight *prev, *next;
} flight;

struct http {
    char *url; /* without a slash at its end */
    CURLM *multi;
    struct curl_slist *headers;
    flight *flights;
};

int64_t http_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct curl_slist *header(struct curl_slist *list, const char *line) {
    struct curl_slist *longer = curl_slist_append(list, line);
    if (!longer) curl_slist_free_all(list);
    return longer;
}

err_code http_new(const char *url, http **out, err *e) {
    *out = NULL;
    size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
    if (scheme == 0 || url[scheme] == '\0' || strpbrk(url, " ?#"))
        return err_set(e, E_USAGE, "--url",
                       "found \"%s\", expected a server such as http://127.0.0.1:8080", url);
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return err_set(e, E_EXTERN, "libcurl", "cannot be initialised");
    http *h = calloc(1, sizeof *h);
    if (!h) return err_set(e, E_NOMEM, url, "out of memory");
    h->url = strdup(url);
    h->multi = curl_multi_init();
    h->headers = header(NULL, "Content-Type: application/json");
    /* no "Expect: 100-continue": libcurl sends it with long bodies, and waits a second */
    if (h->headers) h->headers = header(h->headers, "Expect:");
    if (!h->url || !h->multi || !h->headers) {
        http_free(h);
        return err_set(e, E_NOMEM, url, "out of memory");
    }
    for (size_t n = strlen(h->url); n > scheme && h->url[n - 1] == '/'; n--) h->url[n - 1] = '\0';
    *out = h;
    return OK;
}

const char *http_url(const http *h) {
    return h->url;
}

static void land(flight *f) {
    if (f->prev)
        f->prev->next = f->next;
    else
        f->h->flights = f->next;
    if (f->next) f->next->prev = f->prev;
    curl_multi_remove_handle(f->h->multi, f->easy);
    curl_easy_cleanup(f->easy);
    free(f->url);
    free(f);
}

void http_cancel(http *h) {
    for (flight *f = h->flights, *next; f; f = next) {
        next = f->next;
        land(f);
    }
}

void http_free(http *h) {
    if (!h) return;
    http_cancel(h);
    curl_slist_free_all(h->headers);
    if (h->multi) curl_multi_cleanup(h->multi);
    free(h->url);
    free(h);
    curl_global_cleanup();
}

static size_t on_data(char *s, size_t size, size_t n, void *arg) {
    const flight *f = arg;
    return f->call.data(f->call.arg, s, size * n, http_now_ns()) ? size * n : 0;
}

static CURLcode set_up(const flight *f) {
    CURL *c = f->easy;
    long ms = f->call.timeout_s < 1e6 ? (long)(f->call.timeout_s * 1e3) : 1000000000;
    CURLcode bad = curl_easy_setopt(c, CURLOPT_URL, f->url);
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_PRIVATE, (void *)f);
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_ERRORBUFFER, (char *)f->error);
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_data);
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_WRITEDATA, (void *)f);
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_HTTPHEADER, f->h->headers);
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L);
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, ms > 0 ? ms : 1);
    if (bad || !f->call.body) return bad;
    bad = curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)f->call.body_len);
    return bad ? bad : curl_easy_setopt(c, CURLOPT_POSTFIELDS, f->call.body);
}

err_code http_start(http *h, const http_call *c, err *e) {
    flight *f = calloc(1, sizeof *f);
    size_t cap = strlen(h->url) + strlen(c->path) + 1;
    if (f) f->url = malloc(cap);
    if (f) f->easy = curl_easy_init();
    if (!f || !f->url || !f->easy) {
        if (f) {
            if (f->easy) curl_easy_cleanup(f->easy);
            free(f->url);
        }
        free(f);
        return err_set(e, E_NOMEM, h->url, "out of memory");
    }
    memcpy(f->url, h->url, strlen(h->url));
    memcpy(f->url + strlen(h->url), c->path, strlen(c->path) + 1);
    f->h = h;
    f->call = *c;
    f->next = h->flights;
    if (f->next) f->next->prev = f;
    h->flights = f;
    CURLcode bad = set_up(f);
    if (!bad && curl_multi_add_handle(h->multi, f->easy)) bad = CURLE_FAILED_INIT;
    if (!bad) return OK;
    err_set(e, E_EXTERN, f->url, "libcurl: %s", curl_easy_strerror(bad));
    land(f);
    return e->code;
}

static void say_done(flight *f, CURLcode result, int64_t at_ns) {
    http_end end = {0};
    curl_easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &end.status);
    if (result) end.failure = f->error[0] ? f->error : curl_easy_strerror(result);
    /* off the list first: `done` may start the next request, or cancel the others */
    http_call call = f->call;
    char failure[CURL_ERROR_SIZE] = "";
    if (end.failure) {
        snprintf(failure, sizeof failure, "%s", end.failure);
        end.failure = failure;
    }
    land(f);
    call.done(call.arg, &end, at_ns);
}

err_code http_step(http *h, int64_t until_ns, err *e) {
    int running = 0, left = 0;
    int64_t wait = until_ns - http_now_ns();
    if (wait > STEP_MAX_NS) wait = STEP_MAX_NS;
    if (wait < 0) wait = 0;
    /* milliseconds, rounded up: nobody may be woken before his time. What was just added is due at
     * once, so waiting first costs it nothing. */
    CURLMcode bad = curl_multi_poll(h->multi, NULL, 0, (int)((wait + 999999) / 1000000), NULL);
    if (!bad) bad = curl_multi_perform(h->multi, &running);
    if (bad) return err_set(e, E_EXTERN, h->url, "libcurl: %s", curl_multi_strerror(bad));
    for (const CURLMsg *m; (m = curl_multi_info_read(h->multi, &left));) {
        flight *f = NULL;
        if (m->msg != CURLMSG_DONE) continue;
        CURLcode result = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&f);
        say_done(f, result, http_now_ns());
    }
    return OK;
}

/* ---- one request alone ---- */

typedef struct fetch {
    buf *reply;
    long status;
    bool done;
    char failure[CURL_ERROR_SIZE];
} fetch;

static bool keep(void *arg, const char *s, size_t n, int64_t at_ns) {
    fetch *f = arg;
    (void)at_ns;
    if (f->reply->len + n > FILE_MAX_BYTES) return false;
    buf_add_n(f->reply, s, n);
    return true;
}

static void fetched(void *arg, const http_end *end, int64_t at_ns) {
    fetch *f = arg;
    (void)at_ns;
    f->status = end->status;
    f->done = true;
    if (end->failure) snprintf(f->failure, sizeof f->failure, "%s", end->failure);
}

err_code http_fetch(http *h, const char *path, const char *body, double timeout_s, buf *reply,
                    long *status, err *e) {
    fetch f = {.reply = reply};
    http_call call = {.path = path,
                      .body = body,
                      .body_len = body ? strlen(body) : 0,
                      .timeout_s = timeout_s,
                      .data = keep,
                      .done = fetched,
                      .arg = &f};
    buf_reset(reply);
    if (http_start(h, &call, e)) return e->code;
    while (!f.done)
        if (http_step(h, http_now_ns() + STEP_MAX_NS, e)) {
            http_cancel(h); /* `f` goes out of scope */
            return e->code;
        }
    *status = f.status;
    if (f.failure[0] && f.status == 0)
        return err_set(e, E_EXTERN, h->url,
                       "no server answers: %s (is it running, and is --url its address?)",
                       f.failure);
    if (f.failure[0]) return err_set(e, E_EXTERN, h->url, "%s: %s", path, f.failure);
    return OK;
}
