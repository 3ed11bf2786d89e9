#include "calib/curve.h"
#include "cli/cli.h"
#include "table.h"

#include "base/jsonw.h"

#include <stdio.h>
#include <string.h>

static const opt_spec OPTS[] = {OPT_JSON, OPT_OUTPUT, OPT_RATES, OPT_HELP};

/* "1-32" for the batch sizes that a card can decode; "" for none. */
static const char *batch_range(const card *c, arena *mem) {
    int64_t lo = 0, hi = 0;
    for (size_t i = 0; i < c->decode_n; i++) {
        if (c->decode[i].origin.excluded) continue;
        int64_t b = c->decode[i].batch_n;
        if (lo == 0 || b < lo) lo = b;
        if (b > hi) hi = b;
    }
    if (lo == 0) return "–";
    return lo == hi ? arena_printf(mem, "%lld", (long long)lo)
                    : arena_printf(mem, "%lld-%lld", (long long)lo, (long long)hi);
}

/* What stands between the card and a projection, if anything. */
static const char *verdict(const card *c, arena *mem) {
    err e = {0};
    decode_curve d;
    prefill_curve p;
    if (c->claim_only) return "claim only: published scenarios";
    if (c->simulated_device) return "simulated device: describes no machine";
    bool memory_known = c->weights_bytes > 0 && card_kv_bytes_per_tok(c) > 0;
    if (memory_known && decode_curve_fit(c, -1, mem, &d, &e) == OK &&
        prefill_curve_fit(c, &d, -1, mem, &p, &e) == OK)
        return d.n > 1 ? "any batch" : "one agent at a time";
    return "needs declared assumptions";
}

static void as_table(const card_entry *list, size_t n, arena *mem, buf *out) {
    static const char *const HEAD[] = {"id",       "model",          "quant",         "engine",
                                       "chip",     "prefill points", "decode points", "batch",
                                       "projects", "provenance"};
    table *t = table_new(mem, sizeof HEAD / sizeof *HEAD);
    for (size_t i = 1; i < 5; i++) table_left(t, i);
    table_left(t, 8);
    table_left(t, 9);
    table_row(t, HEAD);
    for (size_t i = 0; i < n; i++) {
        const card *c = list[i].c;
        if (!c) continue;
        const char *row[] = {c->id,
                             c->model,
                             c->quant,
                             c->engine.name,
                             c->hardware.chip,
                             arena_printf(mem, "%zu", c->prefill_n),
                             arena_printf(mem, "%zu", c->decode_n),
                             batch_range(c, mem),
                             verdict(c, mem),
                             PROV_UPPER[c->prov]};
        table_row(t, row);
    }
    table_markdown(t, out);
}

static void as_json(const card_entry *list, size_t n, arena *mem, buf *out) {
    cJSON *root = cJSON_CreateObject();
    jw_str(root, "schema", "ratecast.cards/1");
    cJSON *cards = jw_arr(root, "cards");
    for (size_t i = 0; i < n; i++) {
        const card *c = list[i].c;
        cJSON *o = jw_item(cards);
        jw_str(o, "file", list[i].path);
        if (!c) {
            jw_str(o, "where", list[i].error.where);
            jw_str(o, "error", list[i].error.what);
            continue;
        }
        jw_str(o, "id", c->id);
        jw_str(o, "title", c->title);
        jw_str(o, "model", c->model);
        jw_str(o, "quant", c->quant);
        jw_str(o, "engine", c->engine.name);
        jw_str(o, "chip", c->hardware.chip);
        jw_int(o, "prefill_n", (int64_t)c->prefill_n);
        jw_int(o, "decode_n", (int64_t)c->decode_n);
        jw_str(o, "projects", verdict(c, mem));
        jw_str(o, "provenance", PROV_NAMES[c->prov]);
        jw_str(o, "sha256", c->sha256);
    }
    jw_print(root, out);
    cJSON_Delete(root);
}

static int run(const opts *o) {
    arena *mem = arena_new((size_t)INPUT_BUDGET_MIB << 20);
    if (!mem) return cli_fail(&(err){.code = E_NOMEM, .what = "out of memory"});
    err e = {0};
    card_library lib = cli_library(o);
    card_entry *list = NULL;
    size_t n = 0;
    int code = 0;
    if (card_list(&lib, mem, &list, &n, &e) == OK) {
        buf out;
        buf_init(&out);
        if (opts_has(o, "json"))
            as_json(list, n, mem, &out);
        else
            as_table(list, n, mem, &out);
        (void)cli_output(o, &out, &lib, NULL, 0, &e);
        buf_done(&out);
        for (size_t i = 0; i < n; i++)
            if (!list[i].c) code = cli_fail(&list[i].error);
    }
    if (e.code) code = cli_fail(&e);
    arena_free(mem);
    return code;
}

const command CMD_CARDS = {
    .name = "cards",
    .operands = "",
    .summary = "list the rate cards and what each can project",
    .example = "example:\n  ratecast cards --json\n",
    .opts = OPTS,
    .opts_n = sizeof OPTS / sizeof *OPTS,
    .run = run,
};
